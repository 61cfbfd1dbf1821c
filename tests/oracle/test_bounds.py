"""No run breaks a bound, bounds are tight, rounded outward, and of runs that theorems are about."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError

import linsep
from linsep import (
    BalancedWinnow,
    MarginPerceptron,
    PassiveAggressive,
    Perceptron,
    Winnow,
    bounds,
    load,
    save,
)
from linsep.errors import DataError
from linsep.mistake_bounds.theorems import Comparator, Problem, best_comparator, most_mistakes
from refusals import refused
from thoroughness import examples

PERCEPTRON = ["Novikoff", "hinge", "hinge, sharp"]


LEARNERS = {
    "perceptron": (Perceptron, {}),
    "ovr": (Perceptron, {"multiclass": "ovr"}),
    "batch": (Perceptron, {"update": "batch", "max_iter": 40}),
    "margin": (MarginPerceptron, {"gamma": 0.05, "epsilon": 0.7}),
    "balanced": (BalancedWinnow, {"promotion": 1.05}),
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
@example(46982, "bits", 2, False, False, 1)  # the squared length of weights is rounded below 0
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
    if widest and "Novikoff" in [one.name for one in found]:
        assert found.margin[0] <= widest[0]


def test_a_bound_tells_for_how_many_passes_it_holds():
    X, y = [[10], [11]], [-1, 1]
    run = Perceptron(shuffle=False, max_iter=1000).fit(X, y)
    first, passes, mistakes = run.mistakes_[0], run.n_iter_, run.mistakes_.sum()
    once, whole = bounds(X, y), bounds(X, y, passes=passes)
    for name in PERCEPTRON:
        assert first <= once[name].value
        assert mistakes <= whole[name].value
        assert whole[name].passes == run.bounds(X, y)[name].passes
        if mistakes > once[name].value:  # it is not for the whole run
            assert (once[name].passes, whole[name].passes) == (1, passes)
            assert f" {passes} " in str(whole[name])
    assert mistakes > once["hinge"].value
    assert {one.name for one in whole if one.passes is not None} == {"hinge", "hinge, sharp"}
    assert bounds(X, y, passes=10**6)["hinge"].passes == 10**6  # too many for the bound of each


def unit_vectors(m=36):
    """Answers as of the adversary, but for one, so that there are two classes."""
    y = np.ones(m)
    y[0] = -1
    return np.eye(m), y


def test_half_of_a_bound_would_be_broken():
    X, y = unit_vectors()
    run = Perceptron(fit_intercept=False).fit(X, y)
    found = run.bounds(X, y)
    for name in PERCEPTRON:
        assert found[name].kept
        assert found[name].ratio > 0.9
    assert found["||w||/M"].ratio > 0.99
    margin = MarginPerceptron(fit_intercept=False, gamma=0.999 / 6, epsilon=0.99).fit(X, y)
    assert 0.45 < margin.bounds(X, y)["2/(epsilon gamma)^2"].ratio < 1
    balanced = BalancedWinnow(fit_intercept=False, promotion=2.0, max_iter=50)
    X, y = np.ones((2, 1)) * [[1.0], [-1.0]], [1, 0]
    found = balanced.fit(X, y).bounds(X, y)["L1 margin"]
    assert found.value == pytest.approx(np.log(2) / (np.log(2) - np.log(1.25)))
    assert 0.5 < found.ratio <= 1


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_novikoff_by_the_definition(fit_intercept):
    X, y = load_iris(return_X_y=True)
    found = bounds(X, y == 0, fit_intercept=fit_intercept)
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
    scaled = MarginPerceptron(gamma=0.1, fit_intercept=False).fit(X, [0, 1, 2])
    assert scaled.bounds(X, [0, 1, 2]).margin[0] == pytest.approx(gamma / np.sqrt(2))
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
    assert "Novikoff" in wrong.left_out
    assert "hinge" in [one.name for one in wrong]


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
    assert "disjunction" in bounds(X / 2, y).left_out
    assert "disjunction" in bounds(X, ~y).left_out


def test_the_number_of_literals_is_checked():
    # Six rows that two features cover; a third covers four of them.
    X = np.array(
        [[1, 0, 1], [1, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 1], [0, 1, 0], [0, 0, 0]], float
    )
    y = X[:, 0] + X[:, 1] > 0
    assert bounds(X, y)["disjunction"].value == most_mistakes(3, 2, 2.0, 1.5)
    assert bounds(X, y, literals=2)["disjunction"].value == most_mistakes(3, 2, 2.0, 1.5)
    assert bounds(X, y, literals=4)["disjunction"].value == most_mistakes(3, 4, 2.0, 1.5)
    assert "disjunction" in bounds(X, y, literals=1).left_out


def test_what_a_run_alone_proves(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = Perceptron(fit_intercept=False, learning_rate=0.25).fit(X, y == 0)
    (bound,) = model.report_
    expected = np.linalg.norm(model.coef_) / (0.25 * model.n_updates_)
    assert bound.value == pytest.approx(expected)
    assert (model.report_.mistakes, model.report_.passes) == (model.n_updates_, model.n_iter_)
    back = load(save(model, tmp_path / "m"))
    assert back.report_ == model.report_


def test_early_stopping_and_partial_fit():
    X, y = (part[::4] for part in load_breast_cancer(return_X_y=True))
    model = Perceptron(early_stopping=True).fit(X, y)
    assert "||w||/M" in model.report_.left_out
    assert model.bounds(X, y).kept
    parts = Perceptron(fit_intercept=False).partial_fit(X[:100], y[:100], classes=[0, 1])
    parts.partial_fit(X[100:], y[100:])
    found = parts.bounds(X, y)
    assert found.kept
    assert found["hinge"].counted == parts.mistakes_.sum()


def test_other_rows_than_those_of_the_fit_are_refused(tmp_path):
    X, y = (part[::4] for part in load_breast_cancer(return_X_y=True))
    for learner, options in ((Perceptron, {"early_stopping": True}), (MarginPerceptron, {})):
        model = learner(max_iter=2, **options).fit(X, y)
        load(save(model, tmp_path / "m", force=True)).bounds(X, y)
        changed = X.copy()
        changed[:, 3] += 1.0
        for rows_given, labels in ((changed, y), (X[::-1], y[::-1]), (X[1:], y[1:]), (X, 1 - y)):
            with refused(DataError, "other-rows"):
                model.bounds(rows_given, labels)


def test_margin_intervals_speak_of_all_rows_or_not_at_all(tmp_path):
    X, y = load_iris(return_X_y=True)
    y = y == 0
    model = MarginPerceptron().fit(X, y)
    assert 0 < model.margin_interval_[0] < model.margin_interval_[1]
    back = load(save(model, tmp_path / "m"))
    assert back.margin_interval_ == model.margin_interval_
    model = MarginPerceptron().fit(X, y, sample_weight=np.arange(150) != 7)
    assert (model.stop_reason_, model.margin_interval_[0]) == ("converged", None)
    rng = np.random.default_rng(0)
    for seed in range(6):
        w = rng.standard_normal(3)
        rows = rng.standard_normal((30, 3)) + w * rng.choice([-1, 1], (30, 1))
        model = MarginPerceptron(random_state=seed, fit_intercept=False).fit(rows, rows @ w > 0)
        low, _ = model.margin_interval_
        exact = [Fraction(float(v)) for v in model.coef_[0]]
        norm = sum(v * v for v in exact)
        for row, side in zip(rows, rows @ w > 0, strict=True):
            values = [Fraction(float(v)) * (1 if side else -1) for v in row]
            score = sum(p * q for p, q in zip(exact, values, strict=True))
            assert score**2 >= Fraction(low) ** 2 * norm * sum(v * v for v in values)


SIDES = np.array([[1.0], [-1.0]])


def test_the_bound_of_the_margin_perceptron_is_rounded_up():
    """8 / 0.1^2 is 799.9999999999999 in floats."""
    found = (
        MarginPerceptron(gamma=0.1, fit_intercept=False).fit(SIDES, [1, 0]).bounds(SIDES, [1, 0])
    )
    assert found["8/gamma^2"].value == 800
    for gamma, epsilon in product((0.1, 0.05, 0.025, 0.3, 0.7, 1 / 3), (0.5, 0.1, 0.3, 0.99)):
        model = MarginPerceptron(gamma=gamma, epsilon=epsilon, fit_intercept=False)
        bound = next(iter(model.fit(SIDES, [1, 0]).bounds(SIDES, [1, 0])))
        for read in (Fraction, lambda number: Fraction(str(number))):
            exact = 2 / (read(epsilon) * read(gamma)) ** 2
            assert exact <= bound.value <= exact * (1 + Fraction(1, 10**14))


@examples(40)
@given(st.integers(0, 10**6), st.integers(1, 4), st.booleans())
def test_bounds_are_no_less_than_in_exact_arithmetic(seed, d, separable):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    X = rng.choice([0.1, 0.3, 1.0, 7.0, 1e-8], (n, d)) * rng.integers(-3, 4, (n, d))
    w = rng.integers(-2, 3, d) * 0.7
    y = (X @ w > 0) if separable else np.arange(n) % 2 == 0
    if len(set(y.tolist())) < 2 or not X.any():
        return
    A = [[Fraction(v) * (1 if side else -1) for v in x] for x, side in zip(X, y, strict=True)]
    R = max(sum(v * v for v in a) for a in A)
    found = bounds(X, y, fit_intercept=False, weights=w, passes=2)
    assert Fraction(found.longest) ** 2 >= R
    values = [sum(Fraction(p) * q for p, q in zip(w, a, strict=True)) for a in A]
    square = sum(Fraction(p) ** 2 for p in w)
    if "Novikoff" in [one.name for one in found]:
        assert found["Novikoff"].value >= R * square / min(values) ** 2
    given_w = Comparator(Problem(np.where(y, 1.0, -1.0)[:, None] * X), w)
    losses = [max(0, 1 - value) for value in values]
    assert given_w.square >= square
    assert given_w.hinge >= sum(losses)


def test_runs_that_no_theorem_is_about():
    X, y = np.array([[4, 0], [1, 1], [0, 1], [-2, -2]]), [1, 0, 0, 1]
    for learner, fit in (
        (Perceptron(), {"coef_init": [[1.0, 1.0]]}),
        (Perceptron(), {"sample_weight": [1.0, 2.0, 1.0, 1.0]}),
        (Perceptron(class_weight={0: 2.0}), {}),
        (Perceptron(schedule="inverse"), {}),
        (Perceptron(update="batch"), {}),
        (PassiveAggressive(C=2.0), {}),
    ):
        found = learner.fit(X, y, **fit).bounds(X, y)
        assert "mistake bounds" in found.left_out
        assert not found.bounds


@pytest.mark.parametrize(("X", "y", "options", "code"), [
    ([[1.0], [2.0]], [1, 1], {}, "class-count"),
    ([[1.0], [2.0], [3.0]], [0, 1, 2], {"weights": [1, 2]}, "class-count"),
    ([[1.0], [2.0]], [0, 1], {"passes": 0}, "bad-option"),
    ([[1.0], [2.0]], [0, 1], {"majority": 3, "literals": 2}, "bad-option"),
    ([[1e200], [1e-200]], [0, 1], {"fit_intercept": False}, "overflow"),
])  # fmt: skip
def test_bad_input(X, y, options, code):
    with np.errstate(over="ignore"), refused(ValueError, code):
        bounds(X, y, **options)


def test_bounds_need_a_fit_and_rows_in_memory():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(NotFittedError):
        Perceptron().bounds(X, y)
    with refused(DataError, "unsupported"):
        Perceptron(max_iter=2).fit(X, y).bounds(linsep.sources.ArraySource(X, y), None)


def test_a_broken_bound_is_told():
    X, y = load_iris(return_X_y=True)
    assert not bounds(X, y == 0, mistakes=10**6).kept
