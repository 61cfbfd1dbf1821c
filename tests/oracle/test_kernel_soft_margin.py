"""The soft margin in the space of a kernel: certificates in fractions, libsvm, the linear one."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from test_soft_margin import NOTES, WORKED, exactly

import linsep
from linsep import KernelSoftMargin, SoftMargin, separation
from linsep.kernels import (
    RBF,
    Linear,
    NotPositiveSemidefiniteWarning,
    Polynomial,
    Spectrum,
)
from linsep.soft_margins import decomposition as solving
from linsep.soft_margins.decomposition import KernelRows, certified
from linsep.soft_margins.problem import Problem
from refusals import refused
from thoroughness import examples

MB = 1e6


def problem_of(kernel, X, signs, costs, squared=False, intercept="free"):
    kernel = kernel.fitted(X)
    rows = KernelRows(kernel, kernel.prepare(X), 1.0 * (intercept == "penalized"))
    return Problem(rows, signs, costs, squared, "free" if intercept == "free" else None)


def check(problem, found):
    """The two numbers of a certificate are true of the kernel values, in fractions."""
    everything = np.arange(len(problem.signs))
    K = [exactly(row) for row in problem.X.between(everything, everything)]
    y, u, a = exactly(problem.signs), exactly(problem.costs), exactly(found.dual)
    b = [p * q for p, q in zip(a, y, strict=True)]
    scores = [sum(p * q for p, q in zip(row, b, strict=True)) for row in K]
    square = sum(p * q for p, q in zip(b, scores, strict=True))
    c = Fraction(found.intercept)
    short = [max(Fraction(0), 1 - s * (f + c)) for s, f in zip(y, scores, strict=True)]
    losses = sum(p * (t * t if problem.squared else t) for p, t in zip(u, short, strict=True))
    assert square / 2 + losses <= Fraction(found.primal)
    bound = sum(a) - square / 2
    if problem.squared:
        bound -= sum(p * p / (4 * q) for p, q in zip(a, u, strict=True))
    assert Fraction(found.bound) <= max(bound, 0)  # which no objective is below
    assert all(p >= 0 and (problem.squared or p <= q) for p, q in zip(a, u, strict=True))
    assert not problem.free or sum(b) == 0


@pytest.mark.parametrize(("squared", "intercept"), WORKED)
def test_the_worked_numbers(squared, intercept):
    (b, *w), over, best = WORKED[squared, intercept]
    X, y = NOTES
    model = KernelSoftMargin(
        kernel="linear", loss="squared_hinge" if squared else "hinge",
        penalize_intercept=intercept == "penalized", tol=1e-9,
    ).fit(X, y)  # fmt: skip
    assert model.dual_coef_ @ X[model.support_] == pytest.approx(np.array([w]) / over, abs=1e-5)
    assert model.intercept_ == pytest.approx([b / over], abs=1e-5)
    assert Fraction(model.lower_bound_) <= best <= Fraction(model.objective_)
    assert model.duality_gap_ < 1e-9
    if (squared, intercept) == (False, "free"):
        assert 81 * np.abs(model.dual_coef_[0]) == pytest.approx([68, 81, 71, 78])
        assert model.support_.tolist() == [1, 2, 3, 4]
        assert model.bounded_support_.tolist() == [2]
        assert (model.n_support_.tolist(), model.n_bounded_.tolist()) == ([4], [1])


@st.composite
def problems(draw):
    n, d = draw(st.tuples(st.integers(2, 7), st.integers(1, 3)))
    small = st.integers(-3, 3)
    X = np.array(draw(st.lists(small, min_size=n * d, max_size=n * d)), float).reshape(n, d)
    X *= draw(st.sampled_from([1.0, 0.5, 1e3]))
    signs = np.array(draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=n, max_size=n)))
    signs[:2] = 1.0, -1.0
    costs = np.array(draw(st.lists(st.sampled_from([0.3, 1.0, 2.0, 17.0]), min_size=n, max_size=n)))
    costs *= draw(st.sampled_from([1e-3, 1.0, 1e3]))
    kernel = draw(st.sampled_from([Linear(), Polynomial(2), RBF(0.5), RBF(1e-3), Linear() + 1]))
    squared = draw(st.booleans())
    return problem_of(
        kernel, X, signs, costs, squared, draw(st.sampled_from(["free", "penalized", None]))
    )


@examples(60)
@given(problems())
def test_certificates_are_true_and_near_the_best(problem):
    """Rows that are repeated, contradictory, zero or large."""
    found = solving.decomposition(problem, 1e-6, MB)
    check(problem, found)
    if problem.costs.max() * problem.X.squares.max() < 1e8:  # else digits may run out
        assert found.gap <= 1e-6


@examples(60)
@given(problems(), st.integers(0, 10**6))
def test_any_dual_variables_make_a_true_certificate(problem, seed):
    random, n = np.random.default_rng(seed), len(problem.signs)
    dual = np.abs(random.normal(size=n)) * 10.0 ** random.integers(-4, 4)
    search = solving.Dual(problem)
    search.set(np.arange(n), problem.signs * dual)
    check(problem, search.certificate())
    search.set(np.arange(n)[::2], search.b[::2] * 0.75)
    check(problem, search.certificate())
    roots = np.sqrt(problem.X.squares)
    scores = random.normal(size=n) * roots  # not theirs, but it is known by how much
    K = problem.X.between(np.arange(n), np.arange(n))
    off = np.abs(scores - K @ search.b)[roots > 0] / roots[roots > 0]
    check(problem, certified(problem, np.abs(search.b), scores, 2 * off.max(initial=0.0)))


def two_classes(n=60, d=4, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.7 * random.normal(size=n) > 0.8, "yes", "no")
    return X, y, random.uniform(0.2, 3, n)


def objective(K, signs, costs, a, intercept):
    """P of dual weights, for the hinge loss."""
    scores = K @ a
    return a @ scores / 2 + (costs * np.maximum(0, 1 - signs * (scores + intercept))).sum()


KERNELS = {
    "rbf": ({"kernel": "rbf"}, {"kernel": "rbf"}),
    "poly": ({"kernel": "poly", "gamma": "scale"}, {"kernel": "poly", "coef0": 1.0}),
}


@pytest.mark.parametrize(("kernel", "C", "weighted"), [("rbf", 1.0, True), ("poly", 0.01, False)])
def test_libsvm_is_not_below_the_bound_nor_this_above_it(kernel, C, weighted):
    X, y, weights = two_classes()
    given, theirs = KERNELS[kernel]
    weights = weights if weighted else np.ones(len(y))
    ours = KernelSoftMargin(C=C, **given).fit(X, y, weights)
    signs, K = np.where(y == "yes", 1.0, -1.0), ours.kernel_(X)
    svc = SVC(C=C, tol=1e-10, **theirs).fit(X, y, weights)
    a = np.zeros(len(y))
    a[svc.support_] = svc.dual_coef_[0]
    other = objective(K, signs, C * weights, a, svc.intercept_[0])
    assert ours.duality_gap_ <= 1e-6
    assert ours.lower_bound_ <= other
    assert ours.objective_ <= other * (1 + 1e-6)
    own = np.zeros(len(y))
    own[ours.support_] = ours.dual_coef_[0]
    assert objective(K, signs, C * weights, own, ours.intercept_[0]) == pytest.approx(
        ours.objective_, rel=1e-9
    )
    assert ours.decision_function(X) == pytest.approx(K @ own + ours.intercept_[0])
    assert ours.decision_function(X) == pytest.approx(K @ a + svc.intercept_[0], abs=1e-3)
    assert ours.support_.tolist() == sorted(svc.support_.tolist())


def test_where_descent_is_slow_an_interior_point_finishes(monkeypatch):
    C = 1000.0
    monkeypatch.setattr(solving, "CRAWLS", 2)
    X, y, weights = two_classes()
    for loss, intercept in (("hinge", "f"), ("squared_hinge", "p")):
        how = {
            "loss": loss, "C": C, "fit_intercept": intercept != "n",
            "penalize_intercept": intercept == "p",
        }  # fmt: skip
        ours = KernelSoftMargin(kernel="linear", **how).fit(X, y, weights)
        linear = SoftMargin(tol=1e-9, **how).fit(X, y, weights)
        assert ours.duality_gap_ <= 1e-6
        assert ours.objective_ == pytest.approx(linear.objective_, rel=1e-6)
        assert ours.dual_coef_ @ X[ours.support_] == pytest.approx(linear.coef_, abs=1e-2)
        assert ours.intercept_ == pytest.approx(linear.intercept_, abs=1e-2)


def test_working_sets_find_what_all_rows_at_once_find(monkeypatch):
    squared, intercept = True, "penalized"
    X, y, weights = two_classes(n=150, seed=1)
    signs = np.where(y == "yes", 1.0, -1.0)
    whole = solving.decomposition(
        problem_of(RBF(0.5), X, signs, weights, squared, intercept), 1e-6, MB
    )
    monkeypatch.setattr(solving, "LEAST_ROOM", 60)
    problem = problem_of(RBF(0.5), X, signs, weights, squared, intercept)
    parts = solving.decomposition(problem, 1e-6, 0)
    assert max(whole.gap, parts.gap) <= 1e-6
    assert parts.bound <= whole.primal
    assert whole.bound <= parts.primal
    check(problem, parts)


def test_kernels_of_strings_gram_matrices_and_functions():
    texts = ["abab", "abba", "bbbb", "aaab", "ccdd", "dcdc", "cdcd", "dddc"]
    y = ["x"] * 4 + ["z"] * 4
    model = KernelSoftMargin(kernel=Spectrum(2), C=10).fit(texts, y)
    assert model.predict(["abb", "ccc"]).tolist() == ["x", "z"]
    K = Spectrum(2)(texts)
    given = KernelSoftMargin(kernel="precomputed", C=10).fit(K, y)
    assert given.decision_function(K) == pytest.approx(model.decision_function(texts))
    X, y, _ = two_classes(30)
    product_of = KernelSoftMargin(kernel=lambda a, b: a @ b).fit(X, y)
    linear = KernelSoftMargin(kernel="linear").fit(X, y)
    assert product_of.decision_function(X) == pytest.approx(linear.decision_function(X))
    sparse = KernelSoftMargin(kernel="linear").fit(sp.csr_matrix(X), y)
    assert sparse.decision_function(X) == pytest.approx(linear.decision_function(X))


def test_what_is_no_kernel_proves_nothing():
    K = np.array([[2.0, 1, -1.9], [1, 2, 1], [-1.9, 1, 2]])
    with pytest.warns(NotPositiveSemidefiniteWarning):
        model = KernelSoftMargin(kernel="precomputed").fit(K, [0, 1, 0])
    assert np.isnan([model.duality_gap_, model.lower_bound_]).all()


def test_contradictory_equal_and_huge_rows():
    y = [0, 1] * 3 + [1]
    model = KernelSoftMargin().fit(np.ones((7, 2)), y)  # the heavier class everywhere
    assert model.objective_ == pytest.approx(6)  # 3 (1 + b) + 4 (1 - b) at b = 1
    assert model.predict([[1, 1]]).tolist() == [1]
    X, labels, _ = two_classes(40)
    doubled = KernelSoftMargin(C=1).fit(np.vstack([X, X]), np.append(labels, labels))
    heavy = KernelSoftMargin(C=2, gamma=doubled.kernel_.gamma).fit(X, labels)
    assert doubled.decision_function(X) == pytest.approx(heavy.decision_function(X), abs=1e-4)


def test_as_c_grows_it_becomes_the_widest_margin():
    X, y, _ = two_classes(20)
    products = np.hstack([X, X[:, :1] * X, X[:, 1:2] * X[:, 1:]])
    model = KernelSoftMargin(C=1e5, kernel="linear").fit(products, y)
    low, high = separation(products, y, margin="max").margin
    assert model.lower_bound_ <= 1 / (2 * low**2)
    assert 1 / (2 * high**2) <= model.objective_
    assert model.n_bounded_.tolist() == [0]


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_several_classes(multiclass, tmp_path):
    X, _, weights = two_classes(75, seed=2)
    y = np.digitize(X[:, 0] + X[:, 1] ** 2, [0.2, 1.2])
    model = KernelSoftMargin(multiclass=multiclass, gamma=0.3).fit(X, y, weights)
    for k, (a, b) in enumerate([(0, 1), (0, 2), (1, 2)]):
        rows = np.isin(y, (a, b)) if multiclass == "ovo" else np.full(75, True)
        own = KernelSoftMargin(gamma=0.3).fit(
            X[rows], y[rows] == (b if multiclass == "ovo" else k), weights[rows]
        )
        assert model.n_support_[k] == own.n_support_[0]
        assert model.intercept_[k] == pytest.approx(own.intercept_[0], abs=1e-6)
    if multiclass == "ovo":
        theirs = SVC(gamma=0.3, tol=1e-8).fit(X, y, weights).predict(X)
        assert model.predict(X).tolist() == theirs.tolist()
    again = linsep.load(linsep.save(model, tmp_path / "m.model"))
    assert (again.decision_function(X) == model.decision_function(X)).all()
    assert (again.duality_gap_, again.objective_) == (model.duality_gap_, model.objective_)


def test_a_goal_that_is_not_reached_is_said():
    X, y, _ = two_classes(50)
    with pytest.warns(ConvergenceWarning):
        model = KernelSoftMargin(C=100, tol=1e-16).fit(X, y)
    assert model.stop_reason_ == "max_iter"
    assert 1e-16 < model.duality_gap_ <= 1e-6


def test_bad_input_is_refused():
    with refused(ValueError, "bad-option", option="C"):
        KernelSoftMargin(C=0).fit([[1.0], [2.0]], [0, 1])
    with refused(ValueError, "class-count"):
        KernelSoftMargin().fit([[1.0], [2.0]], [1, 1])
