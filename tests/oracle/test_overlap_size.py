"""How large an overlap is, against all corners of the linear program in fractions, and scipy."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from flint import fmpq, fmpq_mat
from hypothesis import given, strategies as st
from scipy.optimize import linprog
from sklearn.datasets import load_breast_cancer, load_iris

from linsep import separation
from thoroughness import examples

pytestmark = pytest.mark.uncompiled


def reflected(X, y, fit_intercept):
    rows = [[Fraction(v) for v in x] + [Fraction(1)] * fit_intercept for x in X]
    return [[v if label else -v for v in row] for row, label in zip(rows, y, strict=True)]


def matrix(rows):
    return fmpq_mat([[fmpq(v.numerator, v.denominator) for v in row] for row in rows])


def fraction(x):
    return Fraction(int(x.p), int(x.q))


def exact_overlap(rows):
    """The least sum of max(0, 1 - <w, a>): at a corner, where as many rows as the rank have 1."""
    whole = matrix(rows)
    reduced, rank = whole.rref()
    pivots = [next(j for j in range(len(rows[0])) if reduced[i, j]) for i in range(rank)]
    if not pivots:
        return Fraction(len(rows))
    rows = [[row[j] for j in pivots] for row in rows]
    best = None
    for some in combinations(rows, rank):
        square = matrix(some)
        if square.det() == 0:
            continue
        w = [fraction(x) for (x,) in square.solve(matrix([[Fraction(1)]] * rank)).tolist()]
        scores = (sum(a * b for a, b in zip(w, row, strict=True)) for row in rows)
        total = sum(max(Fraction(0), 1 - s) for s in scores)
        best = total if best is None else min(best, total)
    return best


SCALES = {
    "int": 1, "halves": 0.5, "tiny": 2.0**-1000, "huge": 2.0**900, "thirds": Fraction(1, 3),
    "long": 2**60 + 1,
}  # fmt: skip
tables = st.integers(1, 3).flatmap(
    lambda d: st.lists(
        st.tuples(*[st.integers(-2, 2)] * d, st.booleans()), min_size=2, max_size=8
    ).filter(lambda rows: len({row[-1] for row in rows}) == 2)
)


@examples(250)
@given(tables, st.booleans(), st.sampled_from([*SCALES, "sparse"]))
def test_small_sets_agree_with_all_corners(rows, fit_intercept, storage):
    whole, y = [row[:-1] for row in rows], [row[-1] for row in rows]
    wanted = exact_overlap(reflected(whole, y, fit_intercept))
    X = sp.csr_matrix(np.array(whole, dtype=float)) if storage == "sparse" else np.array(
        [[x * SCALES[storage] for x in row] for row in whole]
    )  # fmt: skip
    verdict = separation(X, y, fit_intercept=fit_intercept, details=True)
    if verdict.kind == "separable":
        assert wanted == 0
        assert verdict.overlap is None
        return
    found = verdict.overlap
    assert Fraction(found.low) <= wanted <= Fraction(found.high)
    assert found.high - found.low < 1e-6
    assert 0 <= found.multipliers.min() <= found.multipliers.max() <= 1
    assert found.multipliers.sum() == pytest.approx(found.low)
    assert found.high <= found.most


def of_linprog(X, y):
    """The least sum of hinge losses by scipy."""
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    A = -np.where(y, 1.0, -1.0)[:, None] * np.column_stack([X, np.ones(len(X))])
    n, d = A.shape
    cost = np.repeat([0.0, 1.0], [d, n])
    bounds = [(None, None)] * d + [(0, None)] * n
    found = linprog(cost, np.hstack([A, -np.eye(n)]), -np.ones(n), bounds=bounds)
    assert found.status == 0
    return found.fun


def sets():
    X, y = load_iris(return_X_y=True)
    yield "iris", X[50:], y[50:] == 2
    X, y = load_breast_cancer(return_X_y=True)
    yield "breast cancer", X[:, :10], y == 1
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    yield "noise", X, X[:, 0] + rng.normal(size=400) > 0
    yield "rare", X, (X[:, 0] + rng.normal(size=400) > 0) & (rng.random(400) < 0.05)
    X = rng.normal(size=(200, 3)) * [1, 1e9, 1e-9] + [0, 1e12, 0]
    yield "scales", X, X[:, 0] + 0.1 * rng.normal(size=200) > 0


@pytest.mark.parametrize(
    ("name", "X", "y"), list(sets()), ids=lambda one: one if isinstance(one, str) else ""
)
def test_larger_sets_agree_with_scipy(name, X, y):
    found = separation(X, y, details=True).overlap
    wanted = of_linprog(X, y)
    assert found.low <= wanted * (1 + 1e-6)
    assert found.high == pytest.approx(wanted, rel=1e-6)
    assert found.low == pytest.approx(found.high, rel=1e-6)
    Z = np.column_stack([X, np.ones(len(X))]) * np.where(y, 1, -1)[:, None]
    assert (Z @ found.weights <= 0).sum() <= found.most_errors
    if name != "scales":
        assert np.abs(found.multipliers @ Z).max() < 1e-9 * np.abs(Z).max() * len(Z)
        moved = separation(X @ np.diag(2.0 ** np.arange(X.shape[1])) + 1, y, details=True)
        assert moved.overlap.high == pytest.approx(found.high, rel=1e-6)
