"""The fewest errors of all hyperplanes in few dimensions, against all of them tried one by one."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_iris

from fewest_errors_oracle import dot, fewest_errors, reflected
from fewest_errors_sets import nearly_tied, random_set
from linsep.separability import enumeration
from linsep.separability.time_limit import Task, limited
from thoroughness import some


def enumerated(rows, labels, weights, strict, intercept):
    a = [reflected(x, y, intercept) for x, y in zip(rows, labels, strict=True)]
    c = weights if weights is not None else [1] * len(a)
    sparse = [{j: v for j, v in enumerate(row) if v} for row in a]
    found = enumeration.fewest_errors(sparse, c, len(a[0]), strict)
    values = [dot(row, found.weights) for row in a]
    wrong = [v <= 0 if strict else v < 0 for v in values]
    assert strict or any(found.weights)
    assert found.errors == sum((Fraction(x) for x, bad in zip(c, wrong, strict=True) if bad))
    assert found.at_least == found.errors
    return found.errors


@pytest.mark.parametrize("floats", [False, True])
@pytest.mark.parametrize("seed", some(range(0, 2000, 20), 10))
def test_as_the_oracle_says(seed, floats, monkeypatch):
    if floats:
        monkeypatch.setattr(enumeration, "EXACT_BELOW", {3: 0, 4: 0})
    for one in range(seed, seed + 20):
        rows, labels, weights, intercept = random_set(one)
        if len(rows[0]) + intercept > 4:
            continue
        for strict in (True, False):
            expected = fewest_errors(rows, labels, weights, strict, intercept)
            assert enumerated(rows, labels, weights, strict, intercept) == expected, (one, strict)


def test_rows_of_five_dimensions():
    rows = [{j: 1} for j in range(5)]
    for strict in (True, False):
        assert enumeration.fewest_errors(rows, [1] * 5, 7, strict) is None
        assert enumeration.fewest_errors(rows[:4], [1] * 4, 7, strict).errors == 0


def far_apart(rng, n, d):
    """Rows of decimals that meet in planes by rounding only, near zero and far from it."""
    X = np.round(rng.normal(size=(n, d)), 1) * 10.0 ** rng.integers(-9, 9, d)
    return X + rng.choice([0.0, 1e6, 2.0**40]), np.where(rng.random(n) < 0.5, 1, -1)


@pytest.mark.parametrize("seed", some(range(40), 4))
def test_decimals_that_meet_but_for_rounding(seed):
    rng = np.random.default_rng(seed)
    X, y = far_apart(rng, 12, int(rng.integers(2, 4)))
    for strict in (True, False):
        expected = fewest_errors(X.tolist(), y.tolist(), None, strict)
        assert enumerated(X.tolist(), y.tolist(), None, strict, True) == expected


@pytest.mark.parametrize("seed", some(range(40), 4))
def test_what_floats_cannot_tell_apart(seed):
    rows, labels = nearly_tied(seed)
    for strict in (True, False):
        expected = fewest_errors(rows, labels, None, strict)
        assert enumerated(rows, labels, None, strict, True) == expected


def test_weights_whose_sum_has_more_than_64_bits():
    rows, labels, _, _ = random_set(5, dimensions=2)
    rows = [row[:2] for row in rows]
    weights = [Fraction(3**k, 2**k) ** 3 * 10**12 for k in range(len(rows))]
    for strict in (True, False):
        expected = fewest_errors(rows, labels, weights, strict)
        assert enumerated(rows, labels, weights, strict, True) == expected


@pytest.mark.parametrize("strict", [True, False])
def test_when_the_time_is_up(strict):
    table = np.random.default_rng(0).integers(-99, 99, (30, 4)).tolist()
    rows = [dict(enumerate(row)) for row in table]
    best = enumeration.fewest_errors(rows, [1] * 30, 4, strict).errors
    with limited(Task(1e-9)):
        found = enumeration.fewest_errors(rows, [1] * 30, 4, strict)
    values = [sum(x * found.weights[j] for j, x in row.items()) for row in rows]
    assert found.errors == sum(v <= 0 if strict else v < 0 for v in values)
    assert found.at_least <= best <= found.errors
    assert found.at_least < found.errors


@pytest.mark.compiled
def test_published_data(shared_data):
    table = np.loadtxt(shared_data / "errors" / "voicepath.csv", delimiter=",")
    labels = np.where(table[:, 2] > 0, 1, -1).tolist()
    for strict in (True, False):
        assert enumerated(table[:, :2].tolist(), labels, None, strict, True) == 19


@pytest.mark.parametrize(("columns", "expected"), [((2, 3), (3, 3)), ((0, 1), (25, 24))])
def test_two_columns_of_irises(columns, expected):
    X, y = load_iris(return_X_y=True)
    rows, labels = X[50:][:, columns].tolist(), np.where(y[50:] == 2, 1, -1).tolist()
    for strict, errors in zip((True, False), expected, strict=True):
        assert enumerated(rows, labels, None, strict, True) == errors
