"""Rows that stand in the data many times change no verdict, margin or estimate."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from linsep import LogisticRegression, separation
from linsep.separability import data as rows_of_data, working_set
from parameters_in_order import last

COPIES = 10


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    """Rows are looked at a few at a time, and few are added in a round, as with large data."""
    monkeypatch.setattr(rows_of_data, "LANE_VALUES", 64)
    monkeypatch.setattr(rows_of_data, "SPARSE_ROWS", 16)
    monkeypatch.setattr(working_set, "LEAST_ADDED", 4)
    monkeypatch.setattr(working_set, "MOST_ADDED", 4)


def drawn(seed, n_classes=2):
    """Some rows on a coarse grid, classes that overlap for odd seeds."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.choice([40, 100, 200])), int(rng.integers(1, 5))
    X = rng.normal(size=(n, d)).round(1)
    scores = X @ rng.normal(size=d) + (seed % 2) * 0.1 * rng.normal(size=n)
    y = np.searchsorted(np.quantile(scores, np.arange(1, n_classes) / n_classes), scores)
    y[:n_classes] = np.arange(n_classes)
    return X, y


def verdicts_of(claim):
    return claim.verdicts() if hasattr(claim, "verdicts") else [claim]


def same(claim, repeated, n, X, y):
    """The same answers, and they hold of the rows that are repeated."""
    for one, many in zip(verdicts_of(claim), verdicts_of(repeated), strict=True):
        assert one.kind == many.kind
        if one.kind == "quasi-separable":
            assert {row % n for row in many.boundary} == set(one.boundary)
            assert len(many.boundary) == len(one.boundary) * COPIES
    check = repeated.verify(X, y, exact=True)
    assert check, check.reason


@pytest.mark.parametrize(("seed", "margin"), [(0, "max"), (3, None)])
def test_two_classes(seed, margin):
    X, y = drawn(seed)
    many, labels = np.vstack([X] * COPIES), np.tile(y, COPIES)
    claim, repeated = separation(X, y, margin=margin), separation(many, labels, margin=margin)
    same(claim, repeated, len(X), many, labels)
    if claim.kind == "separable" and margin:
        assert repeated.margin == pytest.approx(claim.margin, rel=2e-6)


def test_several_classes_and_sparse_rows():
    X, y = drawn(0, 3)
    many, labels = np.repeat(X[:40], COPIES, axis=0), np.repeat(y[:40], COPIES)
    kinds = [one.kind for one in separation(X[:40], y[:40]).verdicts()]
    repeated = separation(sp.csr_matrix(many), labels)
    assert [one.kind for one in repeated.verdicts()] == kinds
    assert repeated.verify(sp.csr_matrix(many), labels, exact=True)


@pytest.mark.compiled
def test_logistic_fits(monkeypatch):
    monkeypatch.setattr("linsep.logistic.limits.TIME_LIMIT", 300.0)
    X, y = drawn(5)
    # a column that is on in one class only, often
    X = np.column_stack([X, (y == 1) & (np.arange(len(y)) % 3 == 0)])
    many, labels = np.vstack([X] * COPIES), np.tile(y, COPIES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, repeated = LogisticRegression().fit(X, y), LogisticRegression().fit(many, labels)
    assert last(one, "limits_").tolist() == last(repeated, "limits_").tolist()
    finite = last(one, "limits_")[0, :-1] == "finite"
    assert repeated.coef_[0, finite] == pytest.approx(one.coef_[0, finite], rel=1e-5)
    assert repeated.log_likelihood_ == pytest.approx(COPIES * one.log_likelihood_, rel=1e-6)
