"""The signs of coefficients that have no finite estimate."""

import numpy as np
import pytest
import scipy.sparse as sp

from linsep import LogisticRegression, separation
from linsep.errors import SeparationWarning
from parameters_in_order import last


def test_a_verdict_tells_the_signs_of_its_regression():
    rng = np.random.default_rng(0)
    X = rng.integers(-1, 2, (40, 4)).astype(float)
    y = np.where(X[:, 0] != 0, X[:, 0] > 0, rng.random(40) < 0.5)
    with pytest.warns(SeparationWarning):
        models = [LogisticRegression(reference=side).fit(X, y) for side in (False, True)]
    words = [last(model, "limits_")[0].tolist() for model in models]
    assert words[0] == list(models[0].separation_.limits().values())
    assert (words[0][0], words[1][0]) == ("+inf", "-inf")


def test_signs_beside_a_boundary_of_any_size():
    scale, intercept = 1e90, True
    rng = np.random.default_rng(7)
    for _ in range(10):
        X = rng.integers(-2, 3, (12, 3)).astype(float)
        y = np.where(X[:, 0] != 0, X[:, 0] > 0, rng.random(12) < 0.5)
        y[:2], X[:2] = [0, 1], 0.0
        expected = separation(X, y, fit_intercept=intercept)
        found = separation(X * [scale, 1 / scale, scale], y, fit_intercept=intercept)
        assert expected.kind == found.kind != "separable"
        assert found.limits() == expected.limits()
        assert found.verify(X * [scale, 1 / scale, scale], y)


def rare_columns(seed, n_rows, common, rare, scale=1.0, pairs=False):
    """Sparse rows of which rare columns are in one class only, alone or in sums and differences."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    left = sp.random(
        n_rows, common, 0.1, random_state=rng, data_rvs=lambda k: rng.choice([1.0, 2.0, -3.0], k)
    )
    right, negative = np.zeros((n_rows, rare)), rng.permutation(np.flatnonzero(y == 0))
    for j in range(rare):
        some = np.append(negative[j], rng.choice(negative[rare:], 3))  # the first has no other
        right[some, j] = 1.0
        if pairs:
            right[some[:2], j ^ 1] = 1.0
            right[some[2:], j ^ 1] = -0.5
    return sp.csr_matrix(sp.hstack([left, sp.csr_matrix(right * scale)])), y


def test_signs_that_one_row_decides_do_not_depend_on_a_budget():
    X, y = rare_columns(0, 4000, 30, 150)
    verdicts = []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(4000)
        verdicts.append((order, separation(X[order], y[order])))
    for order, verdict in verdicts:
        assert verdict.unchecked == ()
        assert list(verdict.limits().values()) == ["finite"] * 30 + ["-inf"] * 150 + ["finite"]
        assert verdict.verify(X[order], y[order])
        assert {len(part.rows) for part in verdict.signs.values()} == {1}
