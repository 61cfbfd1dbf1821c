"""Logistic regression on nearly collinear data, against Newton's method in FLINT's balls."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from scipy.special import softmax

from exact_logistic import exact_maximum
from linsep import GaussianNaiveBayes, LogisticRegression
from parameters_in_order import last, weights_of
from thoroughness import examples

pytestmark = pytest.mark.compiled


def overlapping(seed, rows=60):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((rows, 2))
    y = (rng.random(rows) < 1 / (1 + np.exp(A[:, 1] - A[:, 0]))).astype(int)
    return A, y, rng.standard_normal(rows)


@examples(25)
@given(st.integers(0, 10_000), st.integers(0, 10), st.booleans(), st.booleans())
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
    if len(kept) < 3:
        left = X[:, 2].astype(float) - A.astype(float).sum(axis=1)
        assert np.linalg.norm(left) < 2e-12 * np.linalg.norm(X[:, 2])
        assert found.dependent_ == {"x2": ["x0", "x1"]}
    value, w, errors = exact_maximum(X[:, kept], y)
    lost = max(1.0, 10.0 ** (digits - 6))  # as much as rounding of the columns costs
    assert found.log_likelihood_ == pytest.approx(value, rel=1e-10 * lost)
    close = {"rel": 2e-8 * lost, "abs": 1e-7 * lost * min(errors)}
    assert weights_of(found)[0, [*kept, 3]] == pytest.approx(w, **close)
    assert last(found, "standard_errors_")[0, [*kept, 3]] == pytest.approx(errors, rel=1e-8 * lost)


def test_seven_classes_and_a_nearly_dependent_column():
    """Of dyadic numbers, so that the column less the others is exactly a small part of noise."""
    bits = 27
    rng = np.random.default_rng(bits)
    A, noise = rng.integers(-16, 17, (700, 3)) / 8, rng.integers(-64, 65, 700) / 64
    scores = np.column_stack([A, noise]) @ rng.normal(size=(4, 7)) + rng.gumbel(size=(700, 7))
    y = scores.argmax(axis=1)
    X = np.column_stack([A, A.sum(axis=1) + 2.0**-bits * noise])
    assert np.array_equal((X[:, 3] - A.sum(axis=1)) * 2.0**bits, noise)
    plain = LogisticRegression().fit(np.column_stack([A, noise]), y)
    found = LogisticRegression().fit(X, y)
    assert (last(found, "limits_") == "finite").all()
    assert found.log_likelihood_ == pytest.approx(plain.log_likelihood_, rel=1e-8)
    assert found.coef_[:, 3] == pytest.approx(plain.coef_[:, 3] * 2.0**bits, rel=1e-6)
    assert found.predict(X).tolist() == plain.predict(np.column_stack([A, noise])).tolist()


# Columns of values that are large against their spread.


def rows(classes=2, seed=0, n=300):
    """Whole numbers, to which a base is added without rounding, in classes that overlap."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    X = np.round(rng.normal(size=(n, 3)) * 4 + y[:, None] * [3, -2, 1]) * 2
    return X, y


@pytest.mark.parametrize(("classes", "how"), [(3, {}), (2, {"penalty": "firth"})])
def test_estimates_do_not_depend_on_the_base(classes, how):
    X, y = rows(classes, n=150)
    near = LogisticRegression(**how).fit(X, y)
    far = LogisticRegression(**how).fit(X + 1e8, y)
    assert far.coef_ == pytest.approx(near.coef_, rel=1e-7)
    assert far.standard_errors_[..., 1:] == pytest.approx(
        near.standard_errors_[..., 1:], rel=1e-7, nan_ok=True
    )
    assert far.predict_proba(X + 1e8) == pytest.approx(near.predict_proba(X), abs=1e-6)


def test_a_spread_below_that_of_rounding_is_none():
    X, y = rows(2, n=150)
    X[:, 1] += 2.0**52
    found = LogisticRegression().fit(X, y)
    plain = LogisticRegression().fit(X[:, [0, 2]], y)
    assert found.limits_.tolist() == ["finite", "finite", "dependent", "finite"]
    assert found.dependent_ == {"x1": ["intercept"]}
    assert found.coef_[0, [0, 2]] == pytest.approx(plain.coef_[0], rel=1e-9)


def test_naive_bayes_does_not_depend_on_the_base():
    X, y = rows(3)
    near, far = GaussianNaiveBayes().fit(X, y), GaussianNaiveBayes().fit(X + 1e6, y)
    for storage in (np.asarray, sp.csr_matrix):
        Z = storage(X + 1e6)
        assert far.predict_proba(Z) == pytest.approx(near.predict_proba(X), abs=1e-6)
        assert far.decision_function(Z) == pytest.approx(near.decision_function(X), abs=1e-5)
    assert far.to_logistic().predict_proba(Z) == pytest.approx(near.predict_proba(X), abs=1e-6)


def test_a_class_far_away_does_not_spoil_the_others():
    """The definition with the variances of the model, around the origin, where the others are."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 200)
    X = rng.normal(size=(600, 2)) + np.array([[0, 0], [4, 2], [1e8, 0]])[y]
    model = GaussianNaiveBayes().fit(X, y)
    m, s2 = model.means_, model.variances_
    logs = np.array([-0.5 * ((X[:400] - m[k]) ** 2 / s2).sum(axis=1) for k in (0, 1)]).T
    assert model.predict_proba(X[:400])[:, :2] == pytest.approx(softmax(logs, axis=1), abs=1e-7)
