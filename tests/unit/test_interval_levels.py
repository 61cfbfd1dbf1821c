"""Levels of intervals: above 0 and below 1, wherever one is given."""

import numpy as np
import pytest

from linsep import LinearRegression, LogisticRegression
from linsep.plot import LogisticDisplay, RegressionDisplay
from refusals import refused

pytestmark = pytest.mark.uncompiled

X = np.array([[1.0], [2.0], [1.5], [1.7], [0.2], [3.0]])
TARGET, LABELS = X[:, 0] + [0.1, -0.2, 0.3, 0.0, 0.2, -0.1], np.array([0, 1, 0, 1, 1, 0])
LINE, CURVE = LinearRegression().fit(X, TARGET), LogisticRegression().fit(X, LABELS)
TAKEN = {
    "intervals": LINE.confidence_intervals,
    "bands": lambda level: LINE._inference.bands(X, LINE.predict(X), "prediction", level),
    "predict": lambda level: LINE.predict(X, "confidence", level),
    "confidence_intervals": CURVE.confidence_intervals,
    "odds_ratios": lambda level: CURVE.odds_ratios(level).to_dict(),
    "marginal_effects": lambda level: CURVE.marginal_effects(X, level=level).to_dict(),
    "predict_proba": lambda level: CURVE.predict_proba(X, interval="confidence", level=level),
    "line": lambda level: RegressionDisplay.from_estimator(LINE, X, TARGET, level=level),
    "curve": lambda level: LogisticDisplay.from_estimator(CURVE, X, LABELS, level=level),
    "fit": lambda level: LogisticRegression(level=level).fit(X, LABELS),
}


@pytest.mark.parametrize("where", TAKEN)
@pytest.mark.parametrize("level", [0, 1, 95, -0.5, np.nan, np.inf, "0.95", [0.95], True])
def test_a_level_is_between_0_and_1(where, level):
    with refused(ValueError, "bad-option", option="level") as caught:
        TAKEN[where](level)
    assert repr(level) in str(caught.value)


@pytest.mark.parametrize(
    "where",
    [
        "intervals",
        "bands",
        "predict",
        "confidence_intervals",
        "odds_ratios",
        "marginal_effects",
        "predict_proba",
    ],
)
def test_a_level_of_numpy_is_taken_as_its_number(where):
    given = np.float32(0.9)
    np.testing.assert_equal(TAKEN[where](given), TAKEN[where](float(given)))
