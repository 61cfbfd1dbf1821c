"""The least total distance of rows from a margin, against linear programs and brute force."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.datasets import load_iris

import linsep
from linsep import total_distance
from refusals import refused

FIVE = np.array([(2, 1), (4, 3), (3, 5), (1, 3), (5, 6)], float), np.array([1, 1, 1, 0, 0])
EXCLUSIVE = np.array([(1, 1), (1, -1), (-1, 1), (-1, -1)], float), np.array([1, 0, 0, 1])


def program(A, costs, gamma, length):
    """The least sum by a linear program, of weights in a box, in a cross-polytope, or any."""
    n, d = A.shape
    cost = np.r_[np.zeros(2 * d), costs]
    rows, right = np.hstack([-A, A, -np.eye(n)]), np.full(n, -gamma)
    if length == "sum":
        rows = np.vstack([rows, np.r_[np.ones(2 * d), np.zeros(n)]])
        right = np.append(right, 1.0)
    top = 1.0 if length == "box" else None
    found = linprog(cost, rows, right, bounds=[(0, top)] * (2 * d) + [(0, None)] * n)
    assert found.status == 0
    return found.fun


def reflected(X, y, fit_intercept=True):
    Z = np.hstack([X, np.ones((len(X), 1))]) if fit_intercept else X
    return Z * (2.0 * y - 1)[:, None]


def narrow(found, share=1e-6):
    assert 0 <= found.low <= found.high
    assert found.high - found.low <= share * found.high
    return found


def test_five_points_by_the_exact_hinge_of_free_weights():
    # Short margins leave the length of u free, so that the distance is gamma times the least hinge.
    found = narrow(total_distance(*FIVE, 1e-3))
    assert found.low <= Fraction(22, 9) * Fraction(1e-3) <= found.high
    assert program(reflected(*FIVE), np.ones(5), 1.0, "any") == pytest.approx(22 / 9)
    assert found.most_errors < 3
    assert found.verify(*FIVE)


def test_rows_with_the_margin_need_not_be_moved():
    X, y = load_iris(return_X_y=True)
    y = y == 0
    widest = linsep.bounds(X, y).margin
    below = total_distance(X, y, widest[0] * 0.999)
    assert below.low == below.high == below.most_errors == 0
    above = total_distance(X, y, widest[1] * 1.001)
    assert 0 < above.low <= above.high < 150 * 1e-3
    assert above.verify(X, y)


def test_more_features_than_rows():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((12, 60)), np.arange(12) % 2
    for rows in (X, sp.csr_matrix(X)):
        assert total_distance(rows, y, 0.5).high == 0
        found = narrow(total_distance(rows, y, 20.0))
        assert found.low > 0
        assert found.verify(rows, y)


def test_far_and_ill_conditioned_columns():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((24, 4)) * [1e-6, 1e6, 1, 1e3] + [0, 1e8, 0, 0]
    y = np.arange(24) % 2
    assert narrow(total_distance(X, y, 1e4)).verify(X, y)


def test_repeated_rows_count_as_weights():
    X, y = FIVE
    weights = np.array([1, 2, 0, 3, 1])
    found = narrow(total_distance(X, y, 2.0, sample_weight=weights))
    often = narrow(total_distance(X.repeat(weights, axis=0), y.repeat(weights), 2.0))
    assert found.high == pytest.approx(often.high, rel=1e-6)
    assert found.multipliers[2] == 0
    assert found.multipliers.max() > 1


def test_false_intervals_are_refused():
    found = total_distance(*FIVE, 1.0)
    for forged in (
        replace(found, low=found.low * (1 + 1e-6)),
        replace(found, high=found.high * (1 - 1e-6)),
        replace(found, coef=found.coef * 1.001),
        replace(found, multipliers=found.multipliers * 2),
    ):
        assert forged.verify(*FIVE).holds is False


def test_frames():
    X, y = FIVE
    found = total_distance(X, y, 1.0)
    frame = pd.DataFrame(X, columns=["a", "b"])
    assert total_distance(frame, y, 1.0).high == found.high


def test_exclusive_or_is_four_margins_away():
    for gamma in (1e-3, 64.0):
        found = narrow(total_distance(*EXCLUSIVE, gamma))
        assert found.low <= 4 * Fraction(gamma) <= found.high
        assert found.verify(*EXCLUSIVE)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_between_two_linear_programs(seed):
    rng = np.random.default_rng(seed)
    fit_intercept = seed % 3 > 0
    n, d = int(rng.integers(3, 40)), int(rng.integers(1, 6))
    X, y = rng.standard_normal((n, d)) * 10 ** rng.uniform(-1, 1, d), rng.random(n) < 0.5
    y[:2] = 0, 1
    costs, gamma = rng.integers(0, 4, n) + 0.25, 10 ** rng.uniform(-2, 1)
    given = sp.csr_matrix(X) if seed % 2 else X
    found = narrow(
        total_distance(given, y, gamma, fit_intercept=fit_intercept, sample_weight=costs)
    )
    A = reflected(X, y, fit_intercept)
    lowest, highest = (program(A, costs, gamma, kind) for kind in ("box", "sum"))
    assert lowest * (1 - 1e-7) <= found.high
    assert found.low <= highest * (1 + 1e-7)
    assert found.verify(given, y, costs)
    u = np.append(found.coef, found.intercept)[: A.shape[1]]
    assert sum(Fraction(one) ** 2 for one in u.tolist()) <= 1
    assert costs[A @ u <= 0].sum() <= found.most_errors * (1 + 1e-12)


@pytest.mark.parametrize(
    ("X", "y", "gamma", "code"),
    [(*FIVE, 0, "bad-option"), (FIVE[0], [1, 2, 3, 1, 2], 1.0, "class-count")],
)
def test_bad_input_is_refused(X, y, gamma, code):
    with refused(ValueError, code):
        total_distance(X, y, gamma)
