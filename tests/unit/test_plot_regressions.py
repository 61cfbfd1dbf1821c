"""Pictures of regressions and descents: their artists hold the numbers that they show."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from linsep import GaussianNaiveBayes, LinearRegression, LogisticRegression, Perceptron, descent
from linsep.errors import SeparationWarning
from linsep.plot import CoefficientDisplay, DescentDisplay, RegressionDisplay
from refusals import refused

pytestmark = pytest.mark.compiled
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
    for of in ["confidence", "prediction"]:
        rng = np.random.default_rng(0)
        x = rng.standard_normal(40)[:, None]
        y = 3 * x[:, 0] + rng.standard_normal(40)
        model = LinearRegression().fit(x, y)
        shown = RegressionDisplay.from_estimator(model, x, y, level=0.9)
        drawn = shown.bands_[f"90% {of} band"].get_paths()[0].vertices
        found = model.predict(shown.grid[:, None], interval=of, level=0.9)
        for ends in (found.low, found.high):
            assert all(
                np.isclose(drawn, pair).all(axis=1).any()
                for pair in zip(shown.grid, ends, strict=True)
            )


def test_one_of_several_features_keeps_the_residuals():
    target = IRIS.iloc[:, 3].rename("width")
    model = LinearRegression().fit(IRIS.iloc[:, :3], target)
    shown = RegressionDisplay.from_estimator(
        model, IRIS.iloc[:, :3], target, feature="sepal width (cm)", residuals=True
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


def test_coefficients_without_an_estimate_are_arrows_and_words():
    X = np.column_stack([IRIS.iloc[:, 0], SPECIES == 0, IRIS.iloc[:, 0]])
    with pytest.warns(SeparationWarning, match="no maximum"):
        model = LogisticRegression().fit(X, (SPECIES == 0) | (IRIS.iloc[:, 0] > 7))
    shown = CoefficientDisplay.from_estimator(model)
    said = {row.name: row.status for row in model.summary().coefficients if row.name != "intercept"}
    words = {"+inf": "\u221e", "-inf": "\u2212\u221e", "infinite": "\u2212\u221e or \u221e"}
    assert [text.get_text() for text in shown.words_] == [
        words.get(word, word) for word in said.values() if word
    ]
    assert len(shown.arrows_) == sum(word in ("+inf", "-inf") for word in said.values()) > 0
    assert shown._repr_png_().startswith(PNG)


def test_models_without_inference_have_no_intervals_to_draw():
    for model in [GaussianNaiveBayes(), Perceptron()]:
        with refused(ValueError, "unsupported"):
            CoefficientDisplay.from_estimator(model.fit(IRIS, SPECIES))


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


def test_descents_that_cannot_be_drawn():
    def J(x):
        return float(x @ x)

    with refused(ValueError, "unsupported"):
        DescentDisplay.from_descent(descent.minimize(J, [1.0], lambda x: 2 * x, trace=False), J)
    three = descent.minimize(J, np.ones(3), lambda x: 2 * x, trace=True)
    with refused(ValueError, "unsupported"):
        DescentDisplay.from_descent(three, J)


def test_frames_and_series_name_the_axes():
    frame = pd.DataFrame({"age": [1.0, 2.0, 4.0, 5.0]})
    pressure = pd.Series([1.0, 2.5, 3.5, 5.0], name="pressure")
    shown = RegressionDisplay.from_estimator(
        LinearRegression().fit(frame, pressure), frame, pressure
    )
    assert (shown.ax_.get_xlabel(), shown.ax_.get_ylabel()) == ("age", "pressure")
