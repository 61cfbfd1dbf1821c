"""The information of a logistic regression of several classes, summed over blocks of rows."""

import numpy as np
import pytest

from linsep.logistic import objective as terms
from linsep.logistic.objective import Information


@pytest.mark.parametrize("q", [1, 2, terms.FEW, terms.FEW + 1, 23])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_sum_over_rows_and_pairs_of_classes(q, weighted, monkeypatch):
    """Checked with the definition, in long double, for blocks of any size."""
    monkeypatch.setattr(terms, "SPREAD_VALUES", 20 * q * 3)
    rng = np.random.default_rng(q)
    found = Information(q, 3)
    expected = np.zeros((3 * q, 3 * q), np.longdouble)
    for n in (1, 70, 7):
        Z, scores = rng.normal(size=(n, 3)), 4.0 * rng.normal(size=(n, q + 1))
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        P, rest = np.ascontiguousarray(shares[:, :q]), 1.0 - shares.max(axis=1)
        weights = rng.random(n) * (rng.random(n) > 0.2) if weighted else np.empty(0)
        w = weights if weighted else np.ones(n)
        if q == 1:
            rest = w * P[:, 0] * (1.0 - P[:, 0])
        for z, p, amount in zip(Z.astype(np.longdouble), P.astype(np.longdouble), w, strict=True):
            expected += amount * np.kron(np.diag(p) - np.outer(p, p), np.outer(z, z))
        found.add(Z.copy(), P, rest, weights)
    H = found.matrix()
    assert np.abs(H - expected).max() < 1e-14 * np.abs(expected).max()
    assert np.array_equal(H[:3, 3:], H[3:, :3].T)


def test_a_row_that_is_nearly_certain_keeps_its_curvature():
    """p (1 - p) of p = 1 - 1e-20 is 1e-20, which p - p p would lose."""
    for q in (2, terms.FEW + 1):
        P = np.full((1, q), 1e-30)
        P[0, 0] = 1.0
        found = Information(q, 1)
        found.add(np.ones((1, 1)), P, np.array([1e-20]), np.empty(0))
        assert found.matrix()[0, 0] == 1e-20
