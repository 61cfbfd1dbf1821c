"""The picture of diagnostics holds their numbers; its smooth line is lowess."""

import numpy as np
import pytest
import statsmodels.api as sm

from linsep import GaussianNaiveBayes, LinearRegression, LogisticRegression
from linsep.plot import DiagnosticsDisplay
from linsep.plot.diagnostics import log_odds, smooth
from refusals import refused

pytestmark = pytest.mark.compiled
SPECTOR = sm.datasets.spector.load_pandas()
X, Y = SPECTOR.exog, SPECTOR.endog.astype(int)
STACKLOSS = sm.datasets.stackloss.load_pandas()
PNG = b"\x89PNG"


def test_points_are_the_diagnostics_of_each_class():
    model = LogisticRegression().fit(X, Y)
    found = model.diagnostics(X, Y)
    shown = found.plot(feature="PSI")
    assert list(shown.axes_) == ["residuals", "influence", "partial", "calibration"]
    scores = model.decision_function(X)
    wanted = {
        "residuals": (scores, found.deviance),
        "influence": (found.leverage, found.standardized),
        "partial": (X["PSI"], found.partial[:, 2]),
    }
    for panel, (x, y) in wanted.items():
        for code, points in enumerate(shown.points_[panel]):
            drawn = np.asarray(points.get_offsets())
            assert drawn == pytest.approx(np.column_stack([x, y])[code == Y]), panel
    ends, line = shown.fitted_.get_data()
    assert np.ptp(line) / np.ptp(ends) == pytest.approx(model.coef_[0, 2])
    named = [int(note.get_text()) for note in shown.named_]
    assert named == found.most_influential(3)
    x, share = shown.points_["calibration"].get_data()
    test = found.hosmer_lemeshow()
    assert x == pytest.approx(test.expected / test.rows)
    assert share == pytest.approx(test.observed / test.rows)
    names = [text.get_text() for text in shown.legends_["residuals"].get_texts()]
    assert names == ["0", "1"]
    texts = [text.get_text() for text in shown.axes_["calibration"].texts]
    assert any("chi-squared 6.09482" in text for text in texts)


def test_intervals_of_the_groups_are_wilsons():
    from statsmodels.stats.proportion import proportion_confint

    found = LogisticRegression().fit(X, Y).diagnostics(X, Y)
    shown, test = found.plot(), found.hosmer_lemeshow()
    low, high = proportion_confint(test.observed, test.rows, method="wilson")
    (bars,) = shown.intervals_.lines[2]
    ends = np.array([bar[:, 1] for bar in bars.get_segments()])
    assert ends == pytest.approx(np.column_stack([low, high]), abs=1e-9)


def test_the_smooth_line_is_lowess():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(120)
    y = np.sin(2 * x) + rng.standard_normal(120) / 3
    places, line = smooth(x, y, np.ones(120))
    wanted = sm.nonparametric.lowess(y, x, frac=2 / 3, it=0, xvals=places)
    assert line == pytest.approx(wanted, abs=2e-3)  # its reach is a little shorter
    flat, straight = smooth(x, 2 * x - 1, rng.random(120))
    assert straight == pytest.approx(2 * flat - 1)
    many = np.linspace(0, 1, 50_000)
    at, curve = smooth(many, many**2, np.ones(50_000))
    few = smooth(many[::50], many[::50] ** 2, np.ones(1000))
    assert curve == pytest.approx(np.interp(at, *few), abs=2e-3)
    assert smooth(np.array([0.0, 1, 2, 2]), np.zeros(4), np.ones(4))[0].size == 0


def test_log_odds_keep_their_digits():
    x = np.array([-1.0] * 4 + [1.0] * 4 + [300.0, -300.0])[:, None]
    y = np.array([0, 0, 0, 1, 1, 1, 1, 0, 1, 0])
    for reference in (0, 1):
        model = LogisticRegression(reference=reference).fit(x, y)
        scores = model.decision_function(x) * (1 if reference == 0 else -1)
        assert log_odds(model.diagnostics(x, y)) == pytest.approx(scores)


def test_lines_of_equal_distance_are_at_that_distance():
    rows, y = STACKLOSS.exog, STACKLOSS.endog
    shown = LinearRegression().fit(rows, y).diagnostics(rows, y).plot()
    assert list(shown.axes_) == ["residuals", "influence", "partial"]
    for distance, pair in shown.distances_.items():
        for line in pair:
            h, r = line.get_data()
            assert r**2 / 4 * h / (1 - h) == pytest.approx(distance)
    assert next(int(note.get_text()) for note in shown.named_) == 20


def test_what_is_not_defined_is_said_in_its_panel():
    ridge = LogisticRegression(l2=1.0).fit(X, Y).diagnostics(X, Y).plot()
    (text,) = ridge.axes_["influence"].texts
    assert "not defined with l2" in " ".join(text.get_text().split())
    firth = LogisticRegression(penalty="firth").fit(X, Y).diagnostics(X, Y).plot()
    assert firth.distances_ == {}  # its distances are of other residuals
    assert len(firth.named_) == 3
    assert firth._repr_png_().startswith(PNG)
    line = X["GPA"] * 2
    perfect = LinearRegression().fit(X, line).diagnostics(X, line).plot()
    assert "the fit is perfect" in " ".join(perfect.axes_["influence"].texts[0].get_text().split())


def test_refusals_are_one_sentence():
    model = LogisticRegression().fit(X, Y)
    with refused(ValueError, "unsupported"):
        DiagnosticsDisplay.from_estimator(GaussianNaiveBayes().fit(X, Y), X, Y)
    with refused(ValueError, "unknown-column", column="IQ"):
        DiagnosticsDisplay.from_estimator(model, X, Y, feature="IQ")
    with refused(ValueError, "other-rows"):
        DiagnosticsDisplay.from_estimator(model, X[:9], Y[:9])
