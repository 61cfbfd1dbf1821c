"""No run breaks a bound, and bounds are tight enough to be broken by half of them."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_iris

from linsep import (
    Adversary,
    BalancedWinnow,
    MarginPerceptron,
    Perceptron,
    Winnow,
    bounds,
)
from linsep.learners.winnow import most_mistakes
from linsep.mistake_bounds.problems import Problem, best_comparator
from thoroughness import THOROUGH, examples

pytestmark = pytest.mark.compiled

PERCEPTRON = ["Novikoff", "hinge", "hinge, sharp"]

LEARNERS = {
    "perceptron": (Perceptron, {}),
    "rate": (Perceptron, {"learning_rate": 0.3}),
    "unit rows": (Perceptron, {"normalize": True}),
    "ovr": (Perceptron, {"multiclass": "ovr"}),
    "ovo": (Perceptron, {"multiclass": "ovo"}),
    "batch": (Perceptron, {"update": "batch", "max_iter": 40}),
    "best": (Perceptron, {"keep": "best"}),
    "margin": (MarginPerceptron, {"gamma": 0.05, "epsilon": 0.7}),
    "halving": (MarginPerceptron, {}),
    "balanced": (BalancedWinnow, {"promotion": 1.05}),
    "winnow": (Winnow, {}),
    "winnow, other numbers": (Winnow, {"promotion": 1.3, "threshold": 2.5}),
}


def rows(seed, k, kind):
    """Random rows: separable by far or hardly, overlapping, or of zeros and ones."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(5, 25)), int(rng.integers(1, 6))
    if kind == "bits":
        X = (rng.random((n, d)) < 0.4).astype(float)
        y = X[:, : 1 + d // 3].any(axis=1).astype(int)
    else:
        X = rng.standard_normal((n, d)) * rng.choice([0.1, 1, 30])
        W = rng.standard_normal((d, k))
        y = (X @ W).argmax(axis=1)
        if kind == "overlapping":
            y = np.where(rng.random(n) < 0.2, rng.integers(0, k, n), y)
    return X, y


@pytest.mark.parametrize("name", LEARNERS)
@examples(15)
@given(
    st.integers(0, 10**6), st.sampled_from(["separable", "overlapping", "bits"]),
    st.sampled_from([2, 2, 3]), st.booleans(), st.booleans(), st.sampled_from([1, 3, 60]),
)  # fmt: skip
def test_no_bound_is_broken(name, seed, kind, k, shuffle, fit_intercept, max_iter):
    X, y = rows(seed, k, kind)
    if len(np.unique(y)) < 2:
        return
    learner, options = LEARNERS[name]
    X = np.abs(X) if learner is Winnow else X
    options = {"shuffle": shuffle, "random_state": seed, "max_iter": max_iter} | options
    if learner is not Winnow:
        options["fit_intercept"] = fit_intercept
    if learner is MarginPerceptron and not fit_intercept:
        X = X + 0.01 * (1 + np.abs(X).max())  # no row of zeros
    model = learner(**options).fit(X, y)
    found = model.bounds(X, y)
    assert found.kept, str(found)
    assert not found.bounds or found.longest > 0
    assert bool(found.bounds) or bool(found.left_out)
    for bound in found:
        if bound.what != "margin":
            assert bound.counted is not None
    widest = [b.value for b in model.report_]
    if widest and "Novikoff" in found.names():
        assert found.margin[0] <= widest[0]


def unit_vectors(m=36):
    """Answers as of the adversary, but for one, so that there are two classes."""
    y = np.ones(m)
    y[0] = -1
    return np.eye(m), y


@pytest.mark.parametrize("name", PERCEPTRON)
def test_half_of_a_bound_would_be_broken(name):
    X, y = unit_vectors()
    bound = Perceptron(fit_intercept=False).fit(X, y).bounds(X, y)[name]
    assert bound.kept
    assert bound.ratio > 0.9


def test_half_of_the_others_would_be_broken():
    X, y = unit_vectors()
    run = Perceptron(fit_intercept=False).fit(X, y)
    assert run.bounds(X, y)["||w||/M"].ratio > 0.99
    margin = MarginPerceptron(fit_intercept=False, gamma=0.999 / 6, epsilon=0.99).fit(X, y)
    assert 0.45 < margin.bounds(X, y)["2/(epsilon gamma)^2"].ratio < 1
    balanced = BalancedWinnow(fit_intercept=False, promotion=2.0, max_iter=50)
    X, y = np.ones((2, 1)) * [[1.0], [-1.0]], [1, 0]
    assert 0.5 < balanced.fit(X, y).bounds(X, y)["L1 margin"].ratio <= 1


def test_overlapping_rows_can_be_near_the_bound():
    X, y = np.array([[1.0], [1.0]]), np.array([1, 0])
    model = Perceptron(fit_intercept=False, shuffle=False, max_iter=40).fit(X, y)
    found = model.bounds(X, y)
    assert found.kept
    assert found["hinge, sharp"].ratio > 0.9
    assert "overlapping" in found.left_out["Novikoff"]


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("y_of", [lambda y: y == 0, lambda y: y], ids=["two", "three"])
def test_novikoff_by_the_definition(y_of, fit_intercept):
    X, y = load_iris(return_X_y=True)
    X, y = (X[y != 2], y[y != 2]) if fit_intercept else (X, y)
    y = y_of(y)
    found = bounds(X, y, fit_intercept=fit_intercept)
    if "Novikoff" not in found.names():
        assert "separable" in found.left_out["Novikoff"] or "over" in found.left_out["Novikoff"]
        return
    Z = np.hstack([X, np.ones((len(X), 1))]) if fit_intercept else X
    assert found.longest == pytest.approx(np.linalg.norm(Z, axis=1).max())
    low, high = found.margin
    assert low <= high <= low * (1 + 1e-5)
    assert found["Novikoff"].value == pytest.approx((found.longest / low) ** 2)


def test_the_joint_rule_has_twice_the_bound():
    X = np.eye(3)
    found = bounds(X, [0, 1, 2], fit_intercept=False)
    # The best weights are 2 on the own class and -1 on the others, over their length.
    gamma = 3 / np.sqrt(18)
    assert found.margin[0] == pytest.approx(gamma)
    assert found["Novikoff"].value == pytest.approx(2 / gamma**2)
    assert "Collins" in found["Novikoff"].source
    parts = bounds(X, [0, 1, 2], fit_intercept=False, multiclass="ovr")
    assert parts["Novikoff"].value == pytest.approx(3 * 3)


def test_the_comparator_is_the_best():
    rng = np.random.default_rng(0)
    a = rng.standard_normal((30, 2)) + 0.4
    best = best_comparator(Problem(a), 0.7)
    grid = np.linspace(-3, 3, 301)
    W = np.array([(u, v) for u in grid for v in grid])
    sums = (W**2).sum(axis=1) + 0.7 * np.maximum(0, 1 - W @ a.T).sum(axis=1)
    assert best.square + 0.7 * best.hinge <= sums.min() * (1 + 1e-3)
    assert best.hinge >= np.maximum(0, 1 - a @ best.w).sum()


def test_given_weights():
    X, y = [[4, 0], [1, 1], [0, 1], [-2, -2]], [1, 0, 0, 1]
    own = bounds(X, y, fit_intercept=False, mistakes=3, passes=2)
    given_w = bounds(X, y, fit_intercept=False, mistakes=3, passes=2, weights=[1, -3])
    assert given_w.kept
    assert given_w.margin == (pytest.approx(2 / np.sqrt(10)), np.inf)
    for name in PERCEPTRON:
        assert given_w[name].value >= own[name].value * (1 - 1e-6)
    wrong = bounds(X, y, fit_intercept=False, weights=[1, 3])
    assert "given weights" in wrong.left_out["Novikoff"]
    assert "hinge" in wrong.names()


# The longest run of mistakes there is with 16 features, of which the first is relevant.
COSTLY = (
    "1111111100000000", "1111000000000000", "1100000000000000", "1000000000000000",
    "0100000000000000", "0110000000000000", "0111000000000000", "0001111000000000",
    "0111111100000000", "0000000111111110", "0111111111111111",
)  # fmt: skip


def test_winnow_can_make_more_mistakes_than_winnow1():
    X = np.array([[float(bit) for bit in row] for row in COSTLY])
    model = Winnow(shuffle=False, max_iter=1).fit(X, X[:, 0])
    bound = model.bounds(X, X[:, 0])["disjunction"]
    assert bound.counted == 11 > 2 * np.log2(16) + 2
    assert bound.kept
    assert bound.value == 3 * np.log2(16) + 4
    assert bound.ratio > 0.5


def test_winnow_on_disjunctions():
    rng = np.random.default_rng(0)
    X = (rng.random((300, 40)) < 0.2).astype(float)
    y = X[:, [3, 7, 20]].any(axis=1)
    model = Winnow().fit(X, y)
    assert model.bounds(X, y)["disjunction"].value == most_mistakes(40, 3, 2.0, 20.0)
    assert model.bounds(X, y, literals=5)["disjunction"].value == most_mistakes(40, 5, 2.0, 20.0)
    assert "not all 0 or 1" in bounds(X / 2, y).left_out["disjunction"]
    assert "no disjunction" in bounds(X, ~y).left_out["disjunction"]


def test_the_number_of_literals_is_checked():
    rng = np.random.default_rng(0)
    X = (rng.random((300, 40)) < 0.2).astype(float)
    y = X[:, [3, 7, 20]].any(axis=1)
    assert (
        "no disjunction of 2 features is known" in bounds(X, y, literals=2).left_out["disjunction"]
    )
    # Six rows that two features cover, the greedy choice being a third that covers four of them.
    X = np.array(
        [[1, 0, 1], [1, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 1], [0, 1, 0], [0, 0, 0]], float
    )
    y = X[:, 0] + X[:, 1] > 0
    assert bounds(X, y)["disjunction"].value == most_mistakes(3, 3, 2.0, 1.5)
    assert bounds(X, y, literals=2)["disjunction"].value == most_mistakes(3, 2, 2.0, 1.5)
    assert bounds(X, y, literals=4)["disjunction"].value == most_mistakes(3, 4, 2.0, 1.5)
    assert (
        "no disjunction of 1 feature is known" in bounds(X, y, literals=1).left_out["disjunction"]
    )


@pytest.mark.parametrize(
    "load_data",
    [load_iris, load_breast_cancer, pytest.param(load_digits, marks=pytest.mark.thorough)],
)
def test_bounds_hold_on_real_data(load_data):
    X, y = load_data(return_X_y=True)
    for labels in (y == 0, y == 1) if THOROUGH else (y == 1,):
        for unit in {False, load_data is not load_digits}:
            model = Perceptron(max_iter=10, normalize=unit).fit(X, labels)
            found = model.bounds(sp.csr_matrix(X), labels)
            assert found.kept
            assert {"hinge", "hinge, sharp"} <= set(found.names())


def test_the_text_for_people():
    X, y = load_iris(return_X_y=True)
    text = str(Perceptron().fit(X, y == 0).bounds(X, y == 0))
    lines = text.splitlines()
    assert lines[0] == "5 mistakes in 3 passes, rows of length at most 11.16, margin 0.7491"
    assert lines[1] == "kept: 5 of at most 221 mistakes (Novikoff)"
    assert lines[-1] == "kept: margin 0.7491 of at most 1.547 (||w||/M)"
    before = bounds(X, y == 0)
    assert str(before["Novikoff"]) == "Perceptron: at most 221 mistakes (Novikoff)"
    with pytest.raises(KeyError, match="features are not all 0 or 1"):
        before["disjunction"]
    with pytest.raises(KeyError, match="known ones are 'Novikoff'"):
        before["nothing"]
    broken = bounds(X, y == 0, mistakes=10**6)
    assert not broken.kept
    assert "BROKEN: 1,000,000 of at most 221" in str(broken)


def test_the_adversary_makes_bounds_tight():
    game = Adversary(0.2)
    game.run(model := Perceptron(fit_intercept=False))
    assert all(bound.ratio == pytest.approx(1, rel=1e-3) for bound in model.bounds(game.X, game.y))
