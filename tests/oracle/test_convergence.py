"""The convergence proof update by update, and the adversary that meets its bound."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.linear_model import Perceptron as TheirPerceptron
from sklearn.tree import DecisionTreeClassifier

from linsep import (
    Adversary,
    MarginPerceptron,
    PassiveAggressive,
    Perceptron,
    Winnow,
    bounds,
    convergence,
    datasets,
    geometric_margin,
)
from linsep.plot import ConvergenceDisplay
from refusals import refused

IRIS, SPECIES = load_iris(return_X_y=True)


def run(Z, y, rate, w, rounds):
    """The weights at the start and after every mistake, and the rows of the mistakes."""
    found, rows = [w], []
    for t in range(rounds):
        i = t % len(y)
        if y[i] * (w @ Z[i]) <= 0:
            w = w + rate * y[i] * Z[i]
            found.append(w)
            rows.append(i)
    return np.array(found), rows


def test_the_quantities_are_those_of_the_run():
    seed, fit_intercept = 1, True
    rng = np.random.default_rng(seed)
    X, y = make_blobs(30, centers=[[0, 0, 0], [3, 2, 1]], random_state=seed)
    y = 2 * y - 1
    Z = np.column_stack([X, np.ones(30)])
    u, start, rate = rng.standard_normal(Z.shape[1]), rng.standard_normal(Z.shape[1]), 0.25
    W, rows = run(Z, y, rate, start, 90)
    model = Perceptron(fit_intercept=fit_intercept, learning_rate=rate, shuffle=False)
    first = {"coef_init": start[:3], "intercept_init": start[3]}
    found = convergence(model, X, y, weights=u, max_rounds=90, **first)
    unit = u / np.linalg.norm(u)
    assert found.rows.tolist() == rows
    n = len(rows) + 1
    assert found.products == pytest.approx(W @ unit)
    assert found.lengths == pytest.approx(np.linalg.norm(W, axis=1))
    slack = np.minimum(y * (Z @ unit), found.gamma)
    least = W[0] @ unit + rate * np.append(0, np.cumsum(slack[found.rows]))
    assert found.least == pytest.approx(least)
    R = np.linalg.norm(Z, axis=1).max()
    assert found.most == pytest.approx(np.sqrt(W[0] @ W[0] + (rate * R) ** 2 * np.arange(n)))
    assert (found.least <= found.products + 1e-9).all()
    assert (found.products <= found.lengths + 1e-9).all()
    assert (found.lengths <= found.most + 1e-9).all()


def test_the_separator_is_the_widest_and_the_limit_is_that_of_novikoff():
    y = SPECIES == 0
    found = convergence(Perceptron(fit_intercept=False), IRIS, y)
    novikoff = bounds(IRIS, y, fit_intercept=False)["Novikoff"]
    assert found.separates
    assert found.limit == pytest.approx(novikoff.value)
    margins = np.where(y, 1, -1) * (IRIS @ found.comparator)
    assert margins.min() == pytest.approx(found.gamma)
    assert np.linalg.norm(found.comparator) == pytest.approx(1.0)
    assert (found.products / found.gamma >= np.arange(len(found.rows) + 1) - 1e-6).all()


def test_the_curves_meet_at_the_limit():
    X, y = datasets.load_four_points(return_X_y=True)
    model = Perceptron(fit_intercept=False, shuffle=False, learning_rate=0.5)
    found = convergence(model, X, y, coef_init=np.array([3.0, -1.0]))
    least, most = found.curves(found.limit)
    assert least == pytest.approx(most)
    beyond, within = found.curves([found.limit + 1, found.limit - 1]), len(found.rows)
    assert (np.subtract(*beyond) > 0).tolist() == [True, False]
    assert within <= found.limit


def test_rows_that_no_weights_separate_have_a_comparator_of_the_hinge_bound():
    X, y = datasets.load_inseparable_points(return_X_y=True)
    found = convergence(Perceptron(shuffle=False), X, y, max_rounds=40)
    assert found.limit is None
    assert not found.separates
    with refused(ValueError, "needs-option", option="weights"):
        convergence(Perceptron(), *datasets.load_exclusive_or(return_X_y=True))


def test_the_adversary_leaves_no_room():
    game = Adversary(0.25)
    game.run(Perceptron(fit_intercept=False))
    y = np.resize([1, -1], 16)
    model = Perceptron(fit_intercept=False, shuffle=False)
    shown = ConvergenceDisplay.from_estimator(model, game.X, y, weights=y)
    assert len(shown.convergence.rows) == 16
    assert shown.limit_.get_xdata()[0] == pytest.approx(16)
    assert shown.lengths_.get_ydata() == pytest.approx(np.sqrt(np.arange(17)))
    assert shown.products_.get_ydata() == pytest.approx(np.arange(17) / 4)
    for curve, expected in ((shown.least_, lambda k: k / 4), (shown.most_, np.sqrt)):
        k, height = curve.get_data()
        assert height == pytest.approx(expected(k))


OURS = [
    Perceptron(fit_intercept=False),
    MarginPerceptron(fit_intercept=False, gamma=0.125),
    Winnow(),
]


@pytest.mark.parametrize("learner", [*OURS, TheirPerceptron(fit_intercept=False)])
def test_every_learner_makes_all_mistakes(learner):
    m = 64
    game = Adversary(m**-0.5)
    learner = clone(learner)
    assert game.run(learner) == game.n_rows == m
    assert set(game.y.tolist()) <= {-1, 1}
    assert np.linalg.norm(game.separator) == pytest.approx(1)
    assert geometric_margin(game.separator, game.X, game.y) == pytest.approx(game.gamma)
    if isinstance(learner, Perceptron) and learner.keep == "last":
        assert learner.n_updates_ == m
        # Novikoff's bound is met with equality; the one on the margin, too.
        found = learner.bounds(game.X, game.y)
        assert found["Novikoff"].ratio == pytest.approx(1)
        assert found["||w||/M"].value == pytest.approx(game.gamma)
        assert found.kept


def test_the_proof_of_the_margin_perceptron():
    for gamma in (0.02, 0.05):
        model = MarginPerceptron(gamma=gamma, epsilon=0.4, fit_intercept=False)
        found = convergence(model, IRIS, SPECIES == 0)
        before = found.lengths[1:-1]
        assert found.most[2:] == pytest.approx(before + 0.6 * gamma + 1 / (2 * before))
        least, most = found.curves(np.arange(len(found.rows) + 1))
        assert (found.products >= least - 1e-9).all()
        assert (found.lengths <= np.minimum(most, found.most + 1e-12)).all()
        assert len(found.rows) <= found.limit <= 2 / (0.4 * gamma) ** 2
        assert found.cosines[1:] == pytest.approx(np.cos(np.radians(found.angles[1:])))
    assert convergence(MarginPerceptron(gamma=0.9), IRIS, SPECIES == 0).limit is None


def test_what_the_proof_is_not_about_is_refused():
    for model, y, options in (
        (Perceptron(update="batch"), SPECIES == 0, {}),
        (MarginPerceptron(), SPECIES == 0, {}),
        (Perceptron(learning_rate=1e200), SPECIES == 0, {}),
        (Perceptron(), SPECIES, {}),
        (Perceptron(), SPECIES == 0, {"weights": [1, 2]}),
        (PassiveAggressive(), SPECIES == 0, {}),
    ):
        with pytest.raises((ValueError, TypeError)):
            convergence(model, IRIS, y, **options)
    with refused(ValueError, "bad-option", option="gamma"):
        Adversary(1.5)
    with refused(TypeError, "bad-argument"):
        Adversary(0.5).run(DecisionTreeClassifier())
