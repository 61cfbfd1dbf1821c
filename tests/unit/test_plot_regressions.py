"""Pictures of regressions and descents hold the numbers of statsmodels and scipy."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import probplot
from sklearn.datasets import load_iris

from linsep import LinearRegression, LogisticRegression, descent
from linsep.plot import AssumptionsDisplay, CoefficientDisplay, DescentDisplay, RegressionDisplay
from linsep.plot.regression import log_odds, smooth
from refusals import refused

IRIS, SPECIES = load_iris(return_X_y=True, as_frame=True)
PNG = b"\x89PNG"


def test_the_line_of_the_notes_with_its_residuals():
    x, y = np.array([1.0, 2, -1, 3, 4]), np.array([2.0, 4, 0, 4, 6])
    model = LinearRegression().fit(x[:, None], y)
    shown = RegressionDisplay.from_estimator(model, x[:, None], y, squares=True)
    left, right = np.column_stack(shown.line_.get_data())[[0, -1]]
    assert (right[1] - left[1]) / (right[0] - left[0]) == pytest.approx(1.16216, abs=1e-5)
    assert left[1] - 1.16216216 * left[0] == pytest.approx(1.10811, abs=1e-5)
    sticks = np.array([stick[1, 1] - stick[0, 1] for stick in shown.residuals_.get_segments()])
    assert sticks == pytest.approx(y - model.predict(x[:, None]))
    assert (sticks**2).sum() == pytest.approx(0.81081, abs=1e-5)
    areas = [path.get_extents() for path in shown.squares_.get_paths()]
    assert sum(box.width * box.height for box in areas) == pytest.approx((sticks**2).sum())
    assert np.array_equal(shown.points_.get_offsets(), np.column_stack([x, y]))


def test_bands_are_the_intervals_of_the_estimator():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(40)[:, None]
    y = 3 * x[:, 0] + rng.standard_normal(40)
    model = LinearRegression().fit(x, y)
    shown = RegressionDisplay.from_estimator(model, x, y, level=0.9)
    for of in ["confidence", "prediction"]:
        found = model.predict(shown.grid[:, None], interval=of, level=0.9)
        assert np.array_equal(shown.bands[f"90% {of} band"], (found.low, found.high))
        box = shown.bands_[f"90% {of} band"].get_paths()[0].get_extents()
        assert (box.y0, box.y1) == (found.low.min(), found.high.max())


def test_one_of_several_features_keeps_the_residuals():
    target = IRIS.iloc[:, 3].rename("width")
    model = LinearRegression().fit(IRIS.iloc[:, :3], target)
    shown = RegressionDisplay.from_estimator(
        model, IRIS.iloc[:, :3], target, feature="sepal width (cm)"
    )
    sticks = [stick[1, 1] - stick[0, 1] for stick in shown.residuals_.get_segments()]
    assert sticks == pytest.approx(target - model.predict(IRIS.iloc[:, :3]))
    slope = np.polyfit(shown.grid, shown.line, 1)[0]
    assert slope == pytest.approx(model.coef_[1])
    assert np.interp(shown.x, shown.grid, shown.line) == pytest.approx(shown.fitted)
    assert shown.ax_.get_ylabel() == "width"
    with refused(ValueError, "needs-option", option="feature"):
        RegressionDisplay.from_estimator(model, IRIS.iloc[:, :3], target)


def test_coefficients_are_those_of_the_summary():
    two = SPECIES > 0
    model = LogisticRegression().fit(IRIS[two], SPECIES[two])
    rows = [row for row in model.summary().coefficients if row.name != "intercept"]
    shown = CoefficientDisplay.from_estimator(model)
    assert np.array_equal(shown.points_.get_xdata(), [row.estimate for row in rows])
    ends = [segment[:, 0].tolist() for segment in shown.intervals_.get_segments()]
    assert ends == [[row.low, row.high] for row in rows]
    odds = CoefficientDisplay.from_estimator(model, odds=True)
    assert np.array_equal(odds.points_.get_xdata(), np.exp(shown.points_.get_xdata()))
    assert odds.ax_.get_xscale() == "log"
    assert odds.zero_.get_xdata()[0] == 1.0
    few = CoefficientDisplay.from_estimator(model, top=2)
    statistics = np.abs([row.statistic for row in rows])
    assert few.names == [
        row.name for row, s in zip(rows, statistics, strict=True) if s >= np.sort(statistics)[-2]
    ]
    assert few.ax_.get_title() == "2 coefficients not shown"


def test_a_descent_is_drawn_on_its_function():
    def J(x):
        return float((x**2).sum())

    one = descent.minimize(J, [3.0], lambda x: 2 * x, learning_rate=0.3, trace=True)
    shown = DescentDisplay.from_descent(one, J)
    assert np.array_equal(shown.paths_[0].get_xdata(), one.path[:, 0])
    assert np.array_equal(shown.paths_[0].get_ydata(), one.values)
    assert shown.curve_.get_ydata() == pytest.approx(shown.curve_.get_xdata() ** 2)
    two = descent.minimize(J, [3.0, 1.0], lambda x: 2 * x, learning_rate=0.3, trace=True)
    shown = DescentDisplay.from_descent({"first": two, "again": two}, J)
    assert np.array_equal(np.column_stack(shown.paths_[1].get_data()), two.path)
    x, y = np.meshgrid(*shown.grid)
    assert shown.values == pytest.approx(x**2 + y**2)
    assert len(shown.legend_.get_texts()) == 2
    shown = DescentDisplay.from_descent(two, J, view=([-4, -4], [4, 4]), surface=True)
    assert np.array_equal(np.ravel(shown.ends_[0].get_data_3d()), [*two.x, two.value])
    assert [axis[[0, -1]].tolist() for axis in shown.grid] == [[-4, 4], [-4, 4]]
    with refused(ValueError, "unsupported"):
        DescentDisplay.from_descent(one, J, surface=True)
    three = descent.minimize(J, np.ones(3), lambda x: 2 * x, trace=True)
    for untraced in (three, descent.minimize(J, [1.0], lambda x: 2 * x, trace=False)):
        with refused(ValueError, "unsupported"):
            DescentDisplay.from_descent(untraced, J)


STACKLOSS = sm.datasets.stackloss.load_pandas()
X, Y = STACKLOSS.exog, STACKLOSS.endog


def test_points_are_those_of_statsmodels():
    for weights in (np.ones(len(Y)), 0.5 + np.arange(len(Y)) % 3):
        model = LinearRegression().fit(X, Y, weights)
        shown = AssumptionsDisplay.from_estimator(model, X, Y, sample_weight=weights)
        root, Z = np.sqrt(weights), sm.add_constant(X)
        fit = sm.OLS(root * Y, Z.mul(root, axis=0)).fit()
        influence = fit.get_influence()
        internal = influence.resid_studentized_internal
        wanted = {
            "linearity": (Z @ fit.params, fit.resid),
            "equal variance": (Z @ fit.params, np.sqrt(np.abs(internal))),
            "independence": (np.arange(len(Y)), fit.resid),
            "influence": (influence.hat_matrix_diag, internal),
        }
        for panel, (x, y) in wanted.items():
            drawn = np.asarray(shown.points_[panel].get_offsets())
            assert drawn == pytest.approx(np.column_stack([x, y]), abs=1e-9), panel
        normal, ordered = probplot(internal, fit=False)
        drawn = np.column_stack(shown.points_["normality"].get_data())
        assert drawn == pytest.approx(np.column_stack([normal, ordered]), abs=1e-9)
        assert shown.normal_.get_slope() == 1.0
        named = [int(note.get_text()) for note in shown.named_]
        assert named == np.argsort(influence.cooks_distance[0])[::-1][:3].tolist()
        assert "smooth" in [line.get_label() for line in shown.smooth_.values()]
        for finding in shown.found.findings:
            assert f"{finding.statistic:.4g}"[-4:] in (
                shown.conclusions_[finding.assumption].get_text()
            )


def test_lines_of_equal_distance_are_at_that_distance():
    shown = AssumptionsDisplay.from_estimator(LinearRegression().fit(X, Y), X, Y)
    for distance, pair in shown.distances_.items():
        for line in pair:
            h, r = line.get_data()
            assert r**2 / 4 * h / (1 - h) == pytest.approx(distance)  # Cook 1977, four weights
    names = [text.get_text() for text in shown.legend_.get_texts()]
    assert "Cook's distance 1" in names
    rows = np.arange(40.0)[:, None]
    small = AssumptionsDisplay.from_estimator(
        LinearRegression().fit(rows, rows[:, 0] % 3), rows, rows[:, 0] % 3
    )
    names = [text.get_text() for text in small.legend_.get_texts()]
    assert not any("Cook" in name for name in names)  # both lines are beyond the picture


def test_a_perfect_fit_says_that_nothing_is_defined():
    rows, y = [[1.0], [2.0], [4.0]], [1.0, 2.0, 4.0]
    shown = AssumptionsDisplay.from_estimator(LinearRegression().fit(rows, y), rows, y)
    assert "fit is perfect" in " ".join(shown.conclusions_["normality"].get_text().split())
    assert "normality" not in shown.points_
    assert shown.named_ == []
    assert shown._repr_png_().startswith(PNG)


def test_a_hundred_thousand_rows_are_a_density():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((100_000, 2))
    y = rows @ [1.0, 2.0] + rng.standard_normal(100_000)
    shown = AssumptionsDisplay.from_estimator(LinearRegression().fit(rows, y), rows, y)
    assert shown.figure_.get_suptitle() == "density of 100,000 rows"
    for panel in ("linearity", "equal variance", "independence", "influence"):
        assert shown.points_[panel].get_array().sum() == 100_000
    assert shown.points_["normality"].get_linestyle() == "-"


def test_what_cannot_be_drawn_is_one_sentence():
    model = LinearRegression().fit(X.to_numpy(), Y)
    with pytest.raises(ValueError, match="2 features, but LinearRegression is expecting 3"):
        AssumptionsDisplay.from_estimator(model, X.to_numpy()[:, :2], Y)
    with refused(ValueError, "other-rows"):
        AssumptionsDisplay.from_estimator(model, X.to_numpy()[:9], Y[:9])
    other = LogisticRegression().fit(X, Y > 13)
    for display in (AssumptionsDisplay, RegressionDisplay):
        with refused(ValueError, "unsupported"):
            display.from_estimator(other, X, Y)


SPECTOR = sm.datasets.spector.load_pandas()
GRADES, PASSED = SPECTOR.exog, SPECTOR.endog.astype(int)


def test_points_are_the_diagnostics_of_each_class():
    model = LogisticRegression().fit(GRADES, PASSED)
    found = model.diagnostics(GRADES, PASSED)
    shown = found.plot(feature="PSI")
    assert list(shown.axes_) == ["residuals", "influence", "partial", "calibration"]
    scores = model.decision_function(GRADES)
    wanted = {
        "residuals": (scores, found.deviance),
        "influence": (found.leverage, found.standardized),
        "partial": (GRADES["PSI"], found.partial[:, 2]),
    }
    for panel, (x, y) in wanted.items():
        for code, points in enumerate(shown.points_[panel]):
            drawn = np.asarray(points.get_offsets())
            assert drawn == pytest.approx(np.column_stack([x, y])[code == PASSED]), panel
    ends, line = shown.fitted_.get_data()
    assert np.ptp(line) / np.ptp(ends) == pytest.approx(model.coef_[0, 2])
    named = [int(note.get_text()) for note in shown.named_]
    assert named == found.most_influential(3).tolist()
    x, share = shown.points_["calibration"].get_data()
    test = found.hosmer_lemeshow().tidy()
    assert x == pytest.approx(test["expected"] / test["rows"])
    assert share == pytest.approx(test["observed"] / test["rows"])
    names = [text.get_text() for text in shown.legends_["residuals"].get_texts()]
    assert names == ["0", "1"]
    texts = [text.get_text() for text in shown.axes_["calibration"].texts]
    assert any("chi-squared 6.09482" in text for text in texts)


def test_intervals_of_the_groups_are_wilsons():
    from statsmodels.stats.proportion import proportion_confint

    found = LogisticRegression().fit(GRADES, PASSED).diagnostics(GRADES, PASSED)
    shown, test = found.plot(), found.hosmer_lemeshow().tidy()
    low, high = proportion_confint(test["observed"], test["rows"], method="wilson")
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
    assert smooth(np.array([0.0, 1, 2, 2]), np.zeros(4), np.ones(4))[0].size == 0


def test_log_odds_keep_their_digits():
    x = np.array([-1.0] * 4 + [1.0] * 4 + [300.0, -300.0])[:, None]
    y = np.array([0, 0, 0, 1, 1, 1, 1, 0, 1, 0])
    for reference in (0, 1):
        model = LogisticRegression(reference=reference).fit(x, y)
        scores = model.decision_function(x) * (1 if reference == 0 else -1)
        assert log_odds(model.diagnostics(x, y)) == pytest.approx(scores)


def test_what_is_not_defined_is_said_in_its_panel():
    ridge = LogisticRegression(l2=1.0).fit(GRADES, PASSED).diagnostics(GRADES, PASSED).plot()
    (text,) = ridge.axes_["influence"].texts
    assert text.get_text().split() == ridge.found.notes[0].split()
    firth = (
        LogisticRegression(penalty="firth").fit(GRADES, PASSED).diagnostics(GRADES, PASSED).plot()
    )
    assert firth.distances_ == {}  # its distances are of other residuals
    assert len(firth.named_) == 3
    assert firth._repr_png_().startswith(PNG)
    line = GRADES["GPA"] * 2
    perfect = LinearRegression().fit(GRADES, line).diagnostics(GRADES, line).plot()
    assert perfect.axes_["influence"].texts[0].get_text().split() == perfect.found.notes[0].split()
