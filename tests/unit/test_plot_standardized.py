"""Pictures of models that standardize the columns of tables: what the axes show, and its names."""

import numpy as np
import pandas as pd
import pytest

import linsep
from command_line import here
from linsep.plot import (
    AugmentationDisplay,
    CoefficientDisplay,
    CycleDisplay,
    DecisionDisplay,
    DiagnosticsDisplay,
    KernelDisplay,
    LogisticDisplay,
    MarginDisplay,
    RegressionDisplay,
    RunDisplay,
    UpdateDisplay,
)

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")
DISTANCE = "distance from the boundary"
HEIGHT, WEIGHT = "height_m (standardized)", "weight_kg (standardized)"


def people(n=60, noise=3.0):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"height_m": rng.normal(1.7, 0.1, n), "weight_kg": rng.normal(70, 10, n)})
    score = 50 * frame.height_m + frame.weight_kg + rng.normal(0, noise, n)
    return frame.assign(y=np.where(score > 155, "big", "small"))


FRAME = people()
X, Y = FRAME[["height_m", "weight_kg"]], FRAME.y


def standardized(frame):
    return ((frame - frame.mean()) / frame.std(ddof=0)).to_numpy()


def fitted(frame=FRAME, **how):
    return linsep.fit(frame, target="y", **how)


def labels(display):
    return display.ax_.get_xlabel(), display.ax_.get_ylabel()


def test_the_line_is_where_predictions_change():
    for learner in ("perceptron", "kernel"):
        model = fitted(learner=learner)
        drawn = DecisionDisplay.from_estimator(model, X, Y)
        assert labels(drawn) == (HEIGHT, WEIGHT)
        np.testing.assert_allclose(drawn.points, standardized(X), atol=1e-9)
        assert drawn.wrong.sum() == (model.predict(X) != Y).sum()
        if drawn.line is not None:
            side = drawn.points @ drawn.line[0] + drawn.line[1] > 0
            assert (side == (model.predict(X) == model.classes_[1])).all()


def test_three_features_are_chosen_by_their_own_names():
    rows = FRAME.assign(age=np.arange(60.0))[["height_m", "weight_kg", "age"]]
    model = fitted(rows.assign(y=Y))
    drawn = DecisionDisplay.from_estimator(model, rows, features=["age", "height_m"])
    assert labels(drawn) == ("age (standardized)", HEIGHT)
    far = DecisionDisplay.from_estimator(model, rows, Y)
    np.testing.assert_allclose(far.points @ far.line[0], model.decision_function(rows), atol=1e-9)


def test_distances_are_of_standardized_columns():
    X = FRAME.assign(age=np.arange(60.0) % 17)[["height_m", "weight_kg", "age"]]
    for scale, end in (("standard", " (standardized)"), ("none", "")):
        model = fitted(X.assign(y=Y), scale=scale, shuffle=False, keep="last", max_iter=2)
        assert DecisionDisplay.from_estimator(model, X, Y).plane.names[0] == f"{DISTANCE}{end}"
        assert MarginDisplay.from_estimator(model, X, Y).name == f"geometric margin{end}"
        assert RunDisplay.from_estimator(model, X, Y).names[0] == f"{DISTANCE}{end}"
        updates = UpdateDisplay.from_estimator(model, X, Y)
        assert updates.axes_[0].get_xlabel().replace("\n", " ") == f"along the update{end}"


def test_columns_that_are_not_standardized_keep_their_names():
    assert labels(DecisionDisplay.from_estimator(fitted(scale="none"), X, Y)) == tuple(X.columns)
    rows = X.assign(color=np.where(np.arange(60) % 3, "red", "blue"))
    model = fitted(rows.assign(y=Y))
    drawn = DecisionDisplay.from_estimator(model, rows, features=["weight_kg", "color=red"])
    assert labels(drawn) == (WEIGHT, "color=red")


def test_weights_kernels_and_paths_name_the_columns():
    model, both = fitted(shuffle=False, max_iter=3, keep="last"), {HEIGHT, WEIGHT}
    for display in (AugmentationDisplay, UpdateDisplay, RunDisplay):
        assert {*display.from_estimator(model, X, Y).names} == both
    assert {*KernelDisplay.from_estimator(fitted(learner="kernel"), X, Y).names} == both
    assert {*CoefficientDisplay.from_estimator(fitted(learner="arow")).names} == both
    model = fitted(learner="logistic", scale="standard")
    for drawn in (CoefficientDisplay.from_estimator(model, odds=True), model.summary().plot()):
        assert {*drawn.names} == both
    three = FRAME.assign(y=np.arange(60) % 3, town=np.where(np.arange(60) % 5, "Ulm", "Bonn"))
    several = fitted(three, learner="logistic", scale="standard").summary().plot()
    assert {f"1: {HEIGHT}", f"0: {WEIGHT}", "1: town=Ulm"} < {*several.names}
    rows = pd.DataFrame(
        {"height_m": [1, 1, -1, -1], "weight_kg": [1, -1, 1, -1], "y": list("abba")}
    )
    model = fitted(rows, shuffle=False, fit_intercept=False, keep="last")
    drawn = CycleDisplay.from_estimator(model, rows.drop(columns="y"), rows.y)
    assert {*drawn.names} == both


def test_the_curve_and_its_band_are_those_of_the_columns():
    frame = FRAME[["height_m", "y"]]
    plain = fitted(frame, learner="logistic", scale="none")
    scaled = fitted(frame, learner="logistic", scale="standard")
    raw, drawn = (LogisticDisplay.from_estimator(m, X[["height_m"]], Y) for m in (plain, scaled))
    assert (raw.names[0], drawn.names[0]) == ("height_m", HEIGHT)
    np.testing.assert_allclose(drawn.values, raw.values, atol=1e-6)
    for one, other in zip(drawn.band, raw.band, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    frame = X.assign(y=2 * FRAME.height_m + np.sin(np.arange(60)))
    lines = [RegressionDisplay.from_estimator(
        linsep.fit(frame, target="y", learner="linear", scale=scale), X, frame.y,
        feature="height_m",
    ) for scale in ("none", "standard")]  # fmt: skip
    assert [line.names[0] for line in lines] == ["height_m", HEIGHT]
    np.testing.assert_allclose(lines[1].y, lines[0].y, atol=1e-9)
    np.testing.assert_allclose(lines[1].line, lines[0].line, atol=1e-9)
    model = linsep.fit(frame, target="y", learner="linear", scale="standard")
    drawn = DiagnosticsDisplay.from_estimator(model, frame)
    assert HEIGHT in drawn.axes_["partial"].get_xlabel()


def test_the_command_draws_the_same(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    assert here("fit", "t.csv", "--target", "y", "--model", "m", cwd=tmp_path).returncode == 0
    done = here("plot", "decision", "m", "t.csv", "--output", "p.svg", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    drawn = (tmp_path / "p.svg").read_text()
    assert f"<!-- {HEIGHT} -->" in drawn
    assert "<!-- height_m -->" not in drawn
