"""The soft margin: certificates in fractions, exact optima of small sets, other libraries."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from sklearn.svm import SVC, LinearSVC

from exact_solve import solved
from linsep import SoftMargin, separation
from linsep.soft_margins.coordinate_descent import coordinate_descent
from linsep.soft_margins.interior_point import interior_point
from linsep.soft_margins.problem import Problem, certified, feasible
from linsep.soft_margins.solving import solve
from thoroughness import examples

NOTES = np.array([(2, 1), (4, 3), (3, 5), (1, 3), (5, 6)], float), np.array([1.0, 1, 1, -1, -1])
KINDS = [*product((False, True), ("free", "penalized", None))]


def exactly(array):
    return [Fraction(x) for x in np.ravel(array).tolist()]


def objectives(problem, coef, intercept, dual):
    """P of weights and D of dual variables in fractions, and whether these are feasible."""
    X = problem.X.toarray() if sp.issparse(problem.X) else problem.X
    rows, y, costs = [exactly(row) for row in X], exactly(problem.signs), exactly(problem.costs)
    w, b, a = exactly(coef), Fraction(intercept), exactly(dual)
    short = [
        max(Fraction(0), 1 - s * (sum(p * q for p, q in zip(row, w, strict=True)) + b))
        for row, s in zip(rows, y, strict=True)
    ]
    losses = [c * (t * t if problem.squared else t) for c, t in zip(costs, short, strict=True)]
    primal = sum(p * p for p in w) / 2 + sum(losses) + (b * b / 2 if problem.bias else 0)
    amounts = [p * q for p, q in zip(a, y, strict=True)]
    own = [sum(p * row[j] for p, row in zip(amounts, rows, strict=True)) for j in range(len(w))]
    bound = sum(a) - sum(p * p for p in own) / 2
    bound -= sum(amounts) ** 2 / 2 if problem.bias else 0
    if problem.squared:
        bound -= sum(p * p / (4 * c) for p, c in zip(a, costs, strict=True))
    fits = all(p >= 0 and (problem.squared or p <= c) for p, c in zip(a, costs, strict=True))
    return primal, bound, fits and (not problem.free or sum(amounts) == 0)


def check(problem, found):
    """The two numbers of a certificate are true."""
    primal, bound, fits = objectives(problem, found.coef, found.intercept, found.dual)
    assert fits
    assert bound >= Fraction(found.bound)
    assert primal <= Fraction(found.primal)
    assert found.primal - found.bound <= found.gap * found.primal * (1 + 1e-9) or found.gap == 1.0


def exact_optimum(problem, found):
    """Return the best objective in fractions: the active set of a solution, its equations solved,
    and its conditions checked.
    """
    X, y, u = problem.X, exactly(problem.signs), exactly(problem.costs)
    Z = [[s * v for v in exactly(row)] for row, s in zip(X, y, strict=True)]
    Q = [[sum(p * q for p, q in zip(a, b, strict=True)) for b in Z] for a in Z]
    for i, j in product(range(len(y)), repeat=2):
        Q[i][j] += y[i] * y[j] if problem.bias else 0
        Q[i][j] += 1 / (2 * u[i]) if problem.squared and i == j else 0
    share = found.dual / problem.costs
    free = [
        i for i in range(len(y)) if share[i] > 1e-9 and (problem.squared or share[i] < 1 - 1e-9)
    ]
    full = [i for i in range(len(y)) if not problem.squared and share[i] >= 1 - 1e-9]
    n = len(free)
    rows = [[Q[i][j] for j in free] + [y[i]] * problem.free for i in free]
    right = [1 - sum(Q[i][j] * u[j] for j in full) for i in free]
    if problem.free:
        rows.append([y[j] for j in free] + [Fraction(0)])
        right.append(-sum(y[j] * u[j] for j in full))
    solution = solved(rows, right)
    a = [Fraction(0)] * len(y)
    for i in full:
        a[i] = u[i]
    for i, value in zip(free, solution, strict=False):
        a[i] = value
    b = solution[n] if problem.free else Fraction(0)
    slopes = [sum(Q[i][j] * a[j] for j in range(len(y))) + y[i] * b - 1 for i in range(len(y))]
    for i, slope in enumerate(slopes):
        assert a[i] >= 0
        assert problem.squared or a[i] <= u[i]
        assert slope == 0 or (a[i] == 0 and slope > 0) or (i in full and slope < 0)
    quadratic = sum(a[i] * Q[i][j] * a[j] for i in range(len(y)) for j in range(len(y)))
    return sum(a) - quadratic / 2


WORKED = {
    (False, "free"): ((9, 6, -8), 9, Fraction(248, 81)),
    (False, "penalized"): ((1, 2, -2), 3, Fraction(19, 6)),
    (True, "free"): ((1397, 576, -756), 2017, Fraction(6960, 2017)),
    (True, "penalized"): ((2794, 2118, -2256), 6529, Fraction(23497, 6529)),
}


@pytest.mark.parametrize(("squared", "intercept"), WORKED)
def test_the_worked_numbers(squared, intercept):
    (b, *w), over, best = WORKED[squared, intercept]
    problem = Problem(*NOTES, np.ones(5), squared, intercept)
    found = solve(problem, 1e-12, 100)
    assert found.coef == pytest.approx(np.array(w) / over)
    assert found.intercept == pytest.approx(b / over)
    assert Fraction(found.bound) <= best <= Fraction(found.primal)
    assert found.gap < 1e-12
    assert exact_optimum(problem, found) == best
    check(problem, found)


#: rows, signs and costs whose optimum is found in fractions
EXACT = {
    "the notes": (*NOTES, [1, 1, 1, 1, 1]),
    "a line": ([[0.0], [1], [2], [4]], [-1, 1, -1, 1], [2, 1, 1, 1]),
    "far from zero": (
        [[1000.5, 1], [1001, 3], [999, 2], [1002.5, 0]],
        [1, 1, -1, -1],
        [1, 4, 2, 1],
    ),
    # where steps with second-order terms alone come back to where they were
    "a cycle of steps": ([[3.0], [2], [3], [2]], [1, -1, -1, 1], [1, 2, 17, 0.3]),
    "separable": ([[3.0, 1], [4, 0], [0, 1], [1, -2]], [1, 1, -1, -1], [8, 8, 8, 8]),
}


@pytest.mark.parametrize(("squared", "intercept"), KINDS)
@pytest.mark.parametrize("name", EXACT)
def test_optima_in_fractions(name, squared, intercept):
    X, signs, costs = (np.array(part, float) for part in EXACT[name])
    problem = Problem(X, signs, costs, squared, intercept)
    found = solve(problem, 1e-12, 100)
    best = exact_optimum(problem, found)
    assert Fraction(found.bound) <= best <= Fraction(found.primal)
    assert found.primal == pytest.approx(float(best), rel=1e-9)
    check(problem, found)


small = st.integers(-3, 3)
sizes = st.tuples(st.integers(2, 7), st.integers(1, 3))


@st.composite
def problems(draw):
    n, d = draw(sizes)
    X = np.array(draw(st.lists(small, min_size=n * d, max_size=n * d)), float).reshape(n, d)
    X *= draw(st.sampled_from([1.0, 1e-3, 0.1, 1e5]))
    X += draw(st.sampled_from([0.0, 7.0, 1e4]))
    signs = np.array(draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=n, max_size=n)))
    signs[:2] = 1.0, -1.0
    costs = np.array(draw(st.lists(st.sampled_from([0.3, 1.0, 2.0, 17.0]), min_size=n, max_size=n)))
    costs *= draw(st.sampled_from([1e-3, 1.0, 1e3]))
    return Problem(X, signs, costs, *draw(st.sampled_from(KINDS)))


@examples(60)
@given(problems())
def test_certificates_are_true_and_near_the_best(problem):
    """Rows that are repeated, contradictory, zero, far from zero or huge."""
    found = solve(problem, 1e-9, 1000)
    check(problem, found)
    if problem.costs.max() * np.square(problem.X).max() < 1e13:  # else digits run out
        assert found.gap <= 1e-6


@examples(60)
@given(problems(), st.integers(0, 10**6))
def test_any_dual_variables_make_a_true_certificate(problem, seed):
    random = np.random.default_rng(seed)
    dual = random.normal(size=len(problem.signs)) * 10.0 ** random.integers(-5, 5)
    check(problem, certified(problem, dual))
    weights = random.normal(size=problem.X.shape[1] + 1) * (
        np.arange(problem.X.shape[1], -1, -1) > 0
    )
    check(problem, certified(problem, dual, weights))
    kept, total = feasible(problem, dual)
    assert Fraction(total) <= sum(exactly(kept))


@examples(30)
@given(problems())
def test_both_methods_agree(problem):
    descent, _ = coordinate_descent(problem, 1e-3, 200)
    point = interior_point(problem, 1e-8)
    check(problem, descent)
    check(problem, point)
    assert point.bound <= descent.primal
    assert descent.bound <= point.primal


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [0.01, 100.0])
def test_no_other_library_comes_below_the_bound_nor_is_this_above_it(loss, C):
    random = np.random.default_rng(0)
    X = random.normal(size=(150, 6)) * [1, 2, 1, 0.1, 3, 1] + [0, 0, 5, 0, 0, -2]
    y = np.where(X @ random.normal(size=6) + random.normal(size=150) > 0, "yes", "no")
    weights = random.uniform(0.2, 3, 150)
    signs = np.where(y == "yes", 1.0, -1.0)

    def objective(coef, intercept, penalized):
        short = np.maximum(0, 1 - signs * (X @ coef.ravel() + intercept))
        losses = weights * (short if loss == "hinge" else short**2)
        return coef.ravel() @ coef.ravel() / 2 + C * losses.sum() + penalized * intercept**2 / 2

    how = {"loss": loss, "C": C, "tol": 1e-8}
    ours = SoftMargin(penalize_intercept=True, **how).fit(X, y, weights)
    theirs = LinearSVC(loss=loss, C=C, dual=True, tol=1e-9, max_iter=10**6).fit(X, y, weights)
    other = objective(theirs.coef_, theirs.intercept_[0], 1)
    assert ours.lower_bound_ <= other
    assert ours.objective_ == pytest.approx(other, rel=1e-5)
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-3)
    ours = SoftMargin(**how).fit(X, y, weights)
    assert ours.objective_ == pytest.approx(objective(ours.coef_, ours.intercept_[0], 0))
    if loss == "hinge":
        theirs = SVC(kernel="linear", C=C, tol=1e-9).fit(X, y, weights)
        assert objective(theirs.coef_, theirs.intercept_[0], 0) >= ours.lower_bound_
        assert ours.n_support_.sum() == theirs.n_support_.sum()


def test_sparse_and_dense_rows_have_the_same_margin():
    random = np.random.default_rng(1)
    X = random.normal(size=(60, 80)) * (random.uniform(size=(60, 80)) < 0.2)
    y = random.integers(0, 2, 60)
    dense, sparse = SoftMargin().fit(X, y), SoftMargin().fit(sp.csr_matrix(X), y)
    assert dense.coef_ == pytest.approx(sparse.coef_, abs=1e-9)


def test_as_c_grows_it_becomes_the_widest_margin():
    random = np.random.default_rng(2)
    X = random.normal(size=(40, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.3 > 0
    low, high = separation(X, y, margin="max").margin
    model = SoftMargin(C=1e6).fit(X, y)
    assert 1 / np.linalg.norm(model.coef_) == pytest.approx(low, rel=1e-6)
    assert model.lower_bound_ <= 1 / (2 * low**2)
    assert 1 / (2 * high**2) <= model.objective_


def test_weights_are_repeats_and_rows_of_weight_zero_are_left_out():
    X, y = NOTES
    repeated = SoftMargin().fit(
        np.repeat(X, [1, 2, 0, 3, 1], axis=0), np.repeat(y, [1, 2, 0, 3, 1])
    )
    weighted = SoftMargin().fit(X, y, sample_weight=[1, 2, 0, 3, 1])
    assert weighted.coef_ == pytest.approx(repeated.coef_, abs=1e-9)
    assert weighted.support_.tolist() == [i for i in weighted.support_ if i != 2]
