"""Logistic regression on nearly collinear data, against Newton's method in FLINT's balls."""

import warnings
from math import inf

import numpy as np
import pytest
import scipy.sparse as sp
from flint import arb, arb_mat, ctx
from hypothesis import given, strategies as st

from linsep import LogisticRegression
from linsep.errors import DataError, SeparationWarning
from parameters_in_order import last, weights_of
from refusals import refused
from thoroughness import examples

pytestmark = pytest.mark.compiled

BITS = 600


def exact_maximum(X, y):
    """Log-likelihood, weights and standard errors of two classes, the intercept last."""
    with ctx.workprec(BITS):
        Z = [[arb(float(x)) for x in row] + [arb(1)] for row in X]
        d = len(Z[0])
        w = [arb(0)] * d
        value, slope, H = known(Z, y, w)
        for _ in range(400):
            step = arb_mat(d, d, H).solve(arb_mat(d, 1, slope))
            gain = sum((slope[j] * step[j, 0] for j in range(d)), arb(0))
            if float(gain) < 1e-60:
                errors = arb_mat(d, d, H).inv()
                roots = [float(errors[j, j].sqrt()) for j in range(d)]
                return float(value), [float(x) for x in w], roots
            share, moved = arb(1), None
            while moved is None or known(Z, y, moved)[0].mid() < value.mid():
                moved = [(a + share * step[j, 0]).mid() for j, a in enumerate(w)]
                share = share / 2
            w = moved
            value, slope, H = known(Z, y, w)
    raise AssertionError("no maximum")


def known(Z, y, w):
    """Log-likelihood, gradient and information."""
    d, value = len(w), arb(0)
    slope, H = [arb(0)] * d, [arb(0)] * (d * d)
    for z, label in zip(Z, y, strict=True):
        score = sum((a * b for a, b in zip(z, w, strict=True)), arb(0))
        p = 1 / (1 + (-score).exp())
        value += (p if label else 1 - p).log()
        for i in range(d):
            slope[i] += z[i] * (int(label) - p)
            for j in range(d):
                H[i * d + j] += p * (1 - p) * z[i] * z[j]
    return value, slope, H


def overlapping(seed, rows=60):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((rows, 2))
    y = (rng.random(rows) < 1 / (1 + np.exp(A[:, 1] - A[:, 0]))).astype(int)
    return A, y, rng.standard_normal(rows)


@examples(40)
@given(st.integers(0, 10_000), st.integers(0, 16), st.booleans(), st.booleans())
def test_the_maximum_is_found_whatever_the_condition_number(seed, digits, single, many):
    A, y, noise = overlapping(seed)
    A = A.astype(np.float32) if single else A
    X = np.column_stack([A, (A.sum(axis=1) + 10.0**-digits * noise).astype(A.dtype)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = LogisticRegression().fit(sp.csr_matrix(X) if many else X, y)
    said = last(found, "limits_")[0].tolist()
    assert found.stop_reason_ == "converged"
    kept = [j for j in range(3) if said[j] != "dependent"]
    assert kept[:2] == [0, 1]
    if len(kept) < 3:  # what is left of the column is beyond what weights in floats can use
        left = X[:, 2].astype(float) - A.astype(float).sum(axis=1)
        assert np.linalg.norm(left) < 2e-12 * np.linalg.norm(X[:, 2])
    value, w, errors = exact_maximum(X[:, kept], y)
    assert found.log_likelihood_ == pytest.approx(value, rel=1e-10)
    assert weights_of(found)[0, [*kept, 3]] == pytest.approx(w, rel=1e-6, abs=1e-6 * min(errors))
    assert last(found, "standard_errors_")[0, [*kept, 3]] == pytest.approx(errors, rel=1e-5)


def test_float32_sums_of_columns():
    """The case of the issue: all weights were zero."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((300, 3)).astype(np.float32)
    y = (rng.random(300) < 1 / (1 + np.exp(A[:, 1] - 1.5 * A[:, 0]))).astype(int)
    T = np.c_[A, A.sum(axis=1)]
    found = LogisticRegression().fit(T, y)
    value, w, errors = exact_maximum(T, y)
    assert found.log_likelihood_ == pytest.approx(value, rel=1e-11)
    assert weights_of(found)[0] == pytest.approx(w, rel=1e-7)
    assert last(found, "standard_errors_")[0] == pytest.approx(errors, rel=1e-7)
    without = LogisticRegression().fit(A, y)
    assert without.log_likelihood_ < found.log_likelihood_ < inf


@pytest.mark.parametrize("bits", [10, 20, 27, 33])
def test_seven_classes_and_a_nearly_dependent_column(bits):
    """Of dyadic numbers, so that the column less the others is exactly a small part of noise."""
    rng = np.random.default_rng(bits)
    A, noise = rng.integers(-16, 17, (700, 3)) / 8, rng.integers(-64, 65, 700) / 64
    scores = np.column_stack([A, noise]) @ rng.normal(size=(4, 7)) + rng.gumbel(size=(700, 7))
    y = scores.argmax(axis=1)
    X = np.column_stack([A, A.sum(axis=1) + 2.0**-bits * noise])
    assert np.array_equal((X[:, 3] - A.sum(axis=1)) * 2.0**bits, noise)
    plain = LogisticRegression().fit(np.column_stack([A, noise]), y)
    found = LogisticRegression().fit(X, y)
    assert (last(found, "limits_") == "finite").all()
    assert found.log_likelihood_ == pytest.approx(plain.log_likelihood_, rel=1e-10)
    assert found.coef_[:, 3] == pytest.approx(plain.coef_[:, 3] * 2.0**bits, rel=1e-6)
    assert found.predict(X).tolist() == plain.predict(np.column_stack([A, noise])).tolist()


def test_columns_that_others_nearly_add_up_to_may_separate():
    """What floats take for dependent may be all that tells the classes apart."""
    A, y, _ = overlapping(3)
    X = np.column_stack([A, A[:, 0] + 2.0**-44 * y * (1 + np.abs(A[:, 0]))])
    with pytest.warns(SeparationWarning) as caught:
        found = LogisticRegression().fit(X, y)
    assert caught[0].message.verdict.verify(X, y, exact=True)
    assert (last(found, "limits_")[0, [0, 2]] != "finite").all()


@pytest.mark.parametrize(
    "column",
    [lambda y: 2.0**53 + 2 * y, lambda y: 1e10 + 1e-5 * y, lambda y: 1e-140 * y],
    ids=["long", "far", "tiny"],
)
def test_small_spreads_far_from_zero_separate(column):
    y = np.array([0, 1] * 10)
    with pytest.warns(SeparationWarning) as caught:
        LogisticRegression().fit(column(y)[:, None].astype(float), y)
    assert caught[0].message.verdict.kind == "separable"


def test_spreads_beyond_floating_point_are_refused():
    X = np.array([[1e-200], [-1e200], [3.0], [4.0]])
    for far in (X, X[:1] * [[0], [1], [0], [1]]):
        with refused(DataError, "overflow", column=0):
            LogisticRegression().fit(far, [0, 1, 0, 1])


def test_polynomials_and_indicators():
    """Powers of one number to the third, and indicators of all levels."""
    rng = np.random.default_rng(1)
    x = rng.uniform(50, 51, 80)
    y = (rng.random(80) < 1 / (1 + np.exp(-3 * (x - 50.5)))).astype(int)
    X = x[:, None] ** np.arange(1, 4)
    found = LogisticRegression().fit(X, y)
    value, w, errors = exact_maximum(X, y)
    assert found.log_likelihood_ == pytest.approx(value, rel=1e-10)
    assert weights_of(found)[0] == pytest.approx(w, abs=1e-6 * min(errors), rel=1e-6)
    level = rng.integers(0, 4, 80)
    marked = LogisticRegression().fit(np.column_stack([np.eye(4)[level], x - 50.5]), y)
    assert last(marked, "limits_")[0].tolist() == ["finite"] * 3 + ["dependent"] + ["finite"] * 2
    plain = LogisticRegression().fit(np.column_stack([np.eye(4)[level][:, :3], x - 50.5]), y)
    assert marked.log_likelihood_ == pytest.approx(plain.log_likelihood_, rel=1e-12)


def test_a_fit_that_does_not_climb_is_an_error(monkeypatch):
    """Never a table of zeros: here no step is ever found."""
    A, y, _ = overlapping(0)
    monkeypatch.setattr("linsep.logistic.ascent._searched", lambda *given: None)
    with refused(DataError, "not-converged"):
        LogisticRegression().fit(A, y)
