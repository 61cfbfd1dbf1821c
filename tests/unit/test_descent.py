import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from linsep import (
    LogisticRegression,
    Perceptron,
    PerceptronCriterion,
    datasets,
    descent,
    open_source,
    trace,
)
from linsep.descent import minimize
from linsep.errors import DataError
from refusals import refused
from storages import blobs
from thoroughness import examples


def bowl(x):
    return float(x @ (np.array([1.0, 10.0]) * x))


def bowl_slope(x):
    return 2 * np.array([1.0, 10.0]) * x


@pytest.mark.parametrize("trace", [True, False])
def test_every_step_is_the_rate_times_the_gradient(trace):
    found = minimize(bowl, [3.0, -1.0], bowl_slope, learning_rate=0.05, trace=trace)
    assert found.converged
    assert 0.05 * np.linalg.norm(found.gradient) <= 1e-6
    x, steps = np.array([3.0, -1.0]), 0
    while 0.05 * np.linalg.norm(bowl_slope(x)) > 1e-6:
        x, steps = x - 0.05 * bowl_slope(x), steps + 1
    assert np.array_equal(found.x, x)
    assert found.n_iter == steps
    if not trace:
        assert found.path is found.values is found.rates is None
        return
    assert found.path.shape == (steps + 1, 2)
    assert np.array_equal(found.values, [bowl(point) for point in found.path])
    assert np.array_equal(found.rates, np.full(steps, 0.05))


@pytest.mark.parametrize(
    ("rate", "schedule", "said"),
    [
        (0.5, "constant", [0.5, 0.5, 0.5]),
        (0.5, "inverse", [0.5, 0.25, 0.5 / 3]),
        (0.5, "inverse_sqrt", [0.5, 0.5 / 2**0.5, 0.5 / 3**0.5]),
        (lambda k: 0.1 * k, "constant", [0.1, 0.2, 0.1 * 3]),
    ],
)
def test_schedules(rate, schedule, said):
    found = minimize(
        lambda x: x, 0.0, lambda x: np.ones(()), learning_rate=rate, schedule=schedule, max_iter=3
    )
    assert found.rates.tolist() == said
    assert found.reason == "max_iter"


@examples(40)
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=4), st.integers(0, 1000))
def test_without_a_gradient_and_uphill(start, seed):
    A = np.random.default_rng(seed).standard_normal((len(start), len(start)))
    A = A @ A.T + np.eye(len(start))
    rate = 1.0 / np.linalg.eigvalsh(A)[-1]

    def J(x):
        return float(0.5 * x @ A @ x - x.sum())

    down = minimize(J, start, learning_rate=rate, max_iter=5000)
    up = minimize(lambda x: -J(x), start, learning_rate=rate, maximize=True, max_iter=5000)
    assert np.allclose(down.x, up.x, atol=1e-7)
    assert down.converged
    assert np.allclose(down.x, np.linalg.solve(A, np.ones(len(start))), atol=1e-4)


def test_a_rate_that_is_too_large_is_said_long_before_infinity():
    found = minimize(bowl, [1.0, 1.0], bowl_slope, learning_rate=0.11)
    assert found.reason == "diverged"
    assert not found.converged
    assert found.n_iter < 100
    assert np.isfinite(found.path).all()
    steep = minimize(lambda x: float(np.exp(x)), 5.0, learning_rate=1e3, maximize=True)
    assert steep.reason == "diverged"
    assert np.isfinite(steep.path).all()


def square(x):
    return float(x**2)


def square_slope(x):
    return 2 * x


def test_points_that_bounce_for_ever_are_a_cycle():
    found = minimize(square, 1.0, square_slope, learning_rate=1.0)
    assert (found.reason, found.path.tolist()) == ("cycle", [1.0, -1.0, 1.0])
    assert not found.converged


def test_longer_cycles_are_found_without_a_trace():
    # Of x^4 - x^2 at 0.6, points end in a cycle of four (the logistic map's doubling of periods).
    found = minimize(
        lambda x: x**4 - x**2, 0.3, lambda x: 4 * x**3 - 2 * x, learning_rate=0.6, trace=False
    )
    assert found.reason == "cycle"
    x = found.x
    for _ in range(4):
        x = x - 0.6 * (4 * x**3 - 2 * x)
    assert x == found.x


def test_a_falling_rate_may_pass_a_point_twice():
    # 1 -> -1 -> 0 at rates 1 and 1/2: no cycle, for the rate is not the same.
    found = minimize(square, 1.0, square_slope, learning_rate=1.0, schedule="inverse")
    assert (found.reason, found.path.tolist()) == ("converged", [1.0, -1.0, 0.0])


def test_steps_lost_in_rounding_have_arrived():
    # Between two neighbors of 1/3 the points go to and fro, and no rate would help.
    third = np.float64(1) / 3
    found = minimize(
        lambda x: (x - third) ** 2,
        np.nextafter(third, 1),
        lambda x: np.where(x > third, 1e-16, -1e-16),
        learning_rate=1.0,
        tol=0,
    )
    assert found.reason == "converged"


@pytest.mark.parametrize("intercept", [True, False])
def test_ready_made_objectives_have_the_gradients_they_say(intercept):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 3)), rng.integers(0, 2, 20)
    for make in (descent.perceptron_criterion, descent.squared_error, descent.log_likelihood):
        J, grad = make(X, y, fit_intercept=intercept)
        w = rng.standard_normal(3 + intercept)
        descent.check_gradient(J, grad, w)
        assert np.allclose(grad(w), descent.numerical_gradient(J, w), atol=1e-6)


def test_objectives_by_hand():
    X, y = np.array([[1.0], [2.0]]), np.array(["no", "yes"])
    J, grad = descent.perceptron_criterion(X, y)
    assert J(np.array([-4.0, 1.0])) == 2.0
    assert grad(np.array([-4.0, 1.0])).tolist() == [-1.0, -2.0]
    assert grad(np.zeros(2)).tolist() == [0.0, -1.0]
    J, grad = descent.squared_error(X, [1.0, 0.0])
    assert (J(np.array([1.0, 1.0])), grad(np.array([1.0, 1.0])).tolist()) == (10.0, [8.0, 14.0])
    J, grad = descent.log_likelihood(X, y)
    assert J(np.zeros(2)) == pytest.approx(-2 * np.log(2))
    assert grad(np.zeros(2)).tolist() == [0.0, 0.5]


@pytest.mark.parametrize("intercept", [True, False])
def test_the_ascent_of_a_logistic_regression_is_a_descent_of_its_parameters(intercept):
    x, y = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]), np.array([0, 0, 1, 0, 1, 1])
    how = {"solver": "gradient_ascent", "fit_intercept": intercept, "learning_rate": 0.05}
    model = LogisticRegression(trace=True, max_iter=3000, **how).fit(x, y)
    J, grad = descent.log_likelihood(x, y, fit_intercept=intercept)
    found = model.ascent_
    assert found.path.shape == (found.n_iter + 1, 1 + intercept)
    assert found.x.tolist() == model.params_.tolist() == found.path[-1].tolist()
    assert found.values == pytest.approx([J(point) for point in found.path], rel=1e-12)
    assert found.gradient == pytest.approx(grad(found.x), abs=1e-12)
    for shown in (found.plot(), found.plot(J)):
        drawn = np.column_stack(shown.paths_[0].get_data())
        expected = found.path if intercept else np.column_stack([found.path, found.values])
        assert drawn.tolist() == expected.tolist()
    assert (shown.contours_ is not None) == intercept
    again = pickle.loads(pickle.dumps(model))
    assert again.ascent_.path.tolist() == found.path.tolist()


@pytest.mark.parametrize(
    ("action", "code"),
    [
        (lambda: minimize(bowl, [1.0, 1.0], lambda x: x[:1]), "shape"),
        (lambda: minimize(bowl, [1.0, np.nan]), "not-finite"),
        (lambda: minimize(lambda x: np.log(-x), 1.0), "not-finite"),
        (lambda: minimize(bowl, [1.0, 1.0], bowl_slope, learning_rate=0), "bad-option"),
        (
            lambda: minimize(bowl, [1.0, 1.0], lambda x: -bowl_slope(x), check_grad=True),
            "bad-value",
        ),
        (lambda: descent.log_likelihood([[1.0], [2.0]], [1, 1]), "class-count"),
    ],
)
def test_bad_input_is_refused(action, code):
    with refused(ValueError, code):
        action()


# J_p and misclassified rows after every pass.


def by_definition(X, signs, w):
    """J_p and the number of misclassified rows of weights with the intercept first."""
    scores = signs * (X @ w[1:] + w[0])
    return -scores[scores < 0].sum(), (scores <= 0).sum()


def test_both_by_their_definitions():
    X, y = datasets.load_inseparable_points(return_X_y=True)
    model, measured = Perceptron(shuffle=False, max_iter=20), PerceptronCriterion()
    model.set_callbacks(measured)
    for _ in range(2):  # a second fit starts anew
        model.fit(sp.csr_matrix(X), y)
    ends = trace(Perceptron(shuffle=False, max_iter=20), X, y)[4::5]
    expected = [by_definition(X, np.where(y == 2, 1, -1), np.array(r.weights[0])) for r in ends]
    assert measured.criterion_.tolist() == [jp for jp, _ in expected]
    assert measured.misclassified_.tolist() == [count for _, count in expected]
    assert measured.misclassified_.tolist() != model.mistakes_.tolist()


def test_what_is_not_measured_is_refused(tmp_path):
    X, y = blobs(60, k=3, spread=1.5)
    with refused(DataError, "class-count"):
        Perceptron().set_callbacks(PerceptronCriterion()).fit(X, y)
    (tmp_path / "a.svm").write_text("1 1:1\n0 1:2\n")
    with refused(DataError, "unsupported"):
        Perceptron().set_callbacks(PerceptronCriterion()).fit(open_source(tmp_path / "a.svm"))
