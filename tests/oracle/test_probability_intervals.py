"""Confidence intervals of predicted probabilities, against statsmodels and finite differences."""

import numpy as np
import pytest
import scipy.sparse as sp
import statsmodels.api as sm
from scipy.special import expit, logit, softmax
from scipy.stats import norm

from linsep import LinearRegression, LogisticRegression
from linsep.errors import SeparationWarning
from linsep.plot import LogisticDisplay
from refusals import refused

rng = np.random.default_rng(5)
X = rng.normal(size=(90, 3))
SCORES = X @ [1.0, -1.0, 0.5]
Y = (SCORES + rng.logistic(size=90) > 0).astype(int)
KINDS = np.digitize(SCORES + rng.logistic(size=90), [-0.8, 0.8])
NEW = 2.0 * rng.normal(size=(20, 3))


def test_two_classes_are_those_of_statsmodels():
    """R's recipe: expit of the log-odds -+ z standard errors."""
    level = 0.5
    model = LogisticRegression(reference=1).fit(X, Y)
    found = model.predict_proba(NEW, interval="confidence", level=level)
    theirs = sm.Logit(Y, sm.add_constant(X)).fit(disp=False, tol=1e-13)
    expected = theirs.get_prediction(sm.add_constant(NEW)).summary_frame(alpha=1 - level)
    assert np.allclose(found.prediction[:, 1], expected["predicted"], rtol=1e-8)
    assert np.allclose(found.low[:, 1], expected["ci_lower"], rtol=1e-6)
    assert np.allclose(found.high[:, 1], expected["ci_upper"], rtol=1e-6)


def test_several_classes_by_finite_differences():
    reference = 2
    model = LogisticRegression(reference=reference).fit(X, KINDS)
    found = model.predict_proba(NEW, interval="confidence", level=0.9)
    assert np.allclose(found.prediction, model.predict_proba(NEW), rtol=1e-14)

    def logits(b):
        scores = b.reshape(2, -1) @ np.column_stack([np.ones(20), NEW]).T
        return logit(softmax(np.insert(scores, reference, 0.0, axis=0).T, axis=1))

    b = model.params_.ravel()
    J = np.stack([(logits(b + h) - logits(b - h)) / 2e-5 for h in 1e-5 * np.eye(b.size)], axis=-1)
    spread = np.sqrt(np.einsum("nki,ij,nkj->nk", J, model.covariance_, J))
    reach = norm.ppf(0.95) * spread
    assert np.allclose(found.low, expit(logits(b) - reach), rtol=1e-6)
    assert np.allclose(found.high, expit(logits(b) + reach), rtol=1e-6)


def test_far_rows_stay_between_0_and_1():
    far = np.array([[1e3, 0.0, 0.0], [-1e3, 0.0, 0.0], [1e90, 0.0, 0.0]])
    for y in (Y, KINDS):
        found = LogisticRegression().fit(X, y).predict_proba(far, interval="confidence")
        assert (found.low <= found.prediction).all()
        assert (found.prediction <= found.high).all()
        assert (found.low >= 0).all()
        assert (found.high <= 1).all()


def test_sparse_rows_and_missing_values():
    model = LogisticRegression().fit(X, KINDS)
    expected = model.predict_proba(NEW, interval="confidence")
    found = model.predict_proba(sp.csr_matrix(NEW), interval="confidence")
    assert all(np.allclose(a, b, rtol=1e-12) for a, b in zip(found, expected, strict=True))
    gaps = NEW.copy()
    gaps[3, 1] = np.nan
    found = model.predict_proba(gaps, missing="skip", interval="confidence")
    assert np.isnan([found.low[3], found.prediction[3]]).all()
    assert np.allclose(found.high[4:], expected.high[4:])


def test_without_errors_there_are_no_ends():
    found = LogisticRegression(l2=1.0).fit(X, Y).predict_proba(NEW, interval="confidence")
    assert np.isfinite(found.prediction).all()
    assert np.isnan(found.low).all()
    above = X[:, 1] > 1
    Z, y = np.column_stack([X, above]), np.where(above, 1, Y)
    with pytest.warns(SeparationWarning):
        model = LogisticRegression().fit(Z, y)
    found = model.predict_proba(Z, interval="confidence")
    assert (np.isnan(found.low[:, 1]) == above).all()  # those are 1 in the limit
    inside = LogisticRegression().fit(X[~above], Y[~above])
    expected = inside.predict_proba(X[~above], interval="confidence")
    assert np.allclose(found.low[~above], expected.low, rtol=1e-5)


def test_several_classes_that_are_quasi_separable_have_no_ends():
    above = X[:, 1] > 1.0
    with pytest.warns(SeparationWarning):
        model = LogisticRegression().fit(np.column_stack([X, above]), np.where(above, 1, KINDS))
    bands = model.predict_proba(np.column_stack([X, above]), interval="confidence")
    assert np.isnan(bands.low).all()
    assert np.isnan(bands.high).all()


def test_the_band_of_the_picture_is_the_same():
    model = LogisticRegression().fit(X[:, :1], Y)
    display = LogisticDisplay.from_estimator(model, X[:, :1], Y, level=0.8)
    found = model.predict_proba(display.grid[0][:, None], interval="confidence", level=0.8)
    assert np.array_equal(display.band[0], found.low[:, 1])
    assert np.array_equal(display.band[1], found.high[:, 1])


@pytest.mark.parametrize("level", [0, 95, np.nan, "0.95"])
def test_a_level_is_between_0_and_1(level):
    curve, line = LogisticRegression().fit(X, Y), LinearRegression().fit(X, SCORES)
    for use in (
        line.confidence_intervals, lambda level: line.predict(X, "confidence", level),
        curve.confidence_intervals, curve.odds_ratios,
        lambda level: curve.predict_proba(X, interval="confidence", level=level),
        lambda level: LogisticDisplay.from_estimator(curve, X, Y, level=level),
    ):  # fmt: skip
        with refused(ValueError, "bad-option", option="level"):
            use(level)


def test_other_intervals_are_refused():
    with refused(ValueError, "bad-option", option="interval"):
        LogisticRegression().fit(X, Y).predict_proba(X, interval="prediction")
