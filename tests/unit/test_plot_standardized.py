"""Pictures of models that standardize the columns of tables: what the axes show, and its names."""

import numpy as np
import pandas as pd
import pytest

import linsep
from command_line import here
from linsep import trace
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


@pytest.mark.parametrize("learner", ["perceptron", "soft-margin", "kernel"])
def test_the_line_is_where_predictions_change(learner):
    model, rows = fitted(learner=learner), X
    drawn = DecisionDisplay.from_estimator(model, rows, Y)
    assert labels(drawn) == (HEIGHT, WEIGHT)
    np.testing.assert_allclose(drawn.points, standardized(X), atol=1e-9)
    assert drawn.wrong.sum() == (model.predict(X) != Y).sum()
    if drawn.line is not None:
        side = drawn.points @ drawn.line[0] + drawn.line[1] > 0
        assert (side == (model.predict(X) == model.classes_[1])).all()
    assert labels(DecisionDisplay.from_estimator(model, rows, features=["weight_kg", "height_m"]))


def test_three_features_are_chosen_by_their_own_names():
    frame = FRAME.assign(age=np.arange(60.0))
    model = fitted(frame)
    drawn = DecisionDisplay.from_estimator(model, frame.drop(columns="y"),
                                           features=["age", "height_m"])  # fmt: skip
    assert labels(drawn) == ("age (standardized)", HEIGHT)
    scores = model.decision_function(frame.drop(columns="y"))
    far = DecisionDisplay.from_estimator(model, frame.drop(columns="y"), frame.y)
    distance = far.points @ far.line[0]
    np.testing.assert_allclose(distance, scores, atol=1e-9)
    assert far.plane.names == (f"{DISTANCE} (standardized)", "widest direction (standardized)")


def test_distances_are_of_standardized_columns():
    X = FRAME.assign(age=np.arange(60.0) % 17)[["height_m", "weight_kg", "age"]]
    for scale, end in (("standard", " (standardized)"), ("none", "")):
        model = linsep.fit(X.assign(y=Y), target="y", scale=scale, shuffle=False, keep="last",
                           max_iter=2)  # fmt: skip
        assert DecisionDisplay.from_estimator(model, X, Y).plane.names[0] == f"{DISTANCE}{end}"
        assert MarginDisplay.from_estimator(model, X, Y).name == f"geometric margin{end}"
        assert RunDisplay.from_estimator(model, X, Y).names[0] == f"{DISTANCE}{end}"
        updates = UpdateDisplay.from_estimator(model, X, Y)
        assert updates.axes_[0].get_xlabel().replace("\n", " ") == f"along the update{end}"
        several = linsep.fit(X.assign(y=np.arange(60) % 3), target="y", scale=scale, max_iter=1)
        drawn = DecisionDisplay.from_estimator(several, X)
        assert drawn.plane.names[1] == f"second direction{end}"


def test_columns_that_are_not_standardized_keep_their_names():
    model = fitted(scale="none")
    for rows in (X, X.to_numpy()):
        drawn = DecisionDisplay.from_estimator(model, rows, Y)
        assert labels(drawn) == ("height_m", "weight_kg")
    frame = FRAME.assign(color=np.where(np.arange(60) % 3, "red", "blue"))
    model = fitted(frame)
    rows = frame.drop(columns="y")
    drawn = DecisionDisplay.from_estimator(model, rows, features=["weight_kg", "color=red"])
    assert labels(drawn) == (WEIGHT, "color=red")


def test_weights_and_their_paths_name_the_columns():
    model = fitted(fit_intercept=False, scale="standard")
    rows = X
    drawn = AugmentationDisplay.from_estimator(fitted(), rows, Y)
    assert drawn.names == [HEIGHT, WEIGHT]
    one = linsep.fit(FRAME[["height_m", "y"]], target="y")
    assert AugmentationDisplay.from_estimator(one, FRAME[["height_m"]], Y).names == [HEIGHT]
    assert one.plot(FRAME[["height_m"]], Y).names == [HEIGHT]
    updates = UpdateDisplay.from_estimator(model, rows, Y)
    assert updates.names == [HEIGHT, WEIGHT]
    run = linsep.fit(FRAME, target="y", shuffle=False, max_iter=3, keep="last")
    assert RunDisplay.from_estimator(run, rows, Y).names == (HEIGHT, WEIGHT)
    assert trace(linsep.Perceptron(), X, Y).animate().names == ("height_m", "weight_kg")


def test_a_cycle_names_the_weights_of_a_file(tmp_path):
    rows = [(1, 1, "a"), (1, -1, "b"), (-1, 1, "b"), (-1, -1, "a")]
    frame = pd.DataFrame(rows, columns=["height_m", "weight_kg", "y"])
    model = fitted(frame, shuffle=False, fit_intercept=False, keep="last")
    drawn = CycleDisplay.from_estimator(model, frame[["height_m", "weight_kg"]], frame.y)
    assert list(drawn.names) == [HEIGHT, WEIGHT]


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


def test_kernels_and_coefficients():
    model = fitted(learner="kernel")
    drawn = KernelDisplay.from_estimator(model, X, Y)
    assert list(drawn.names) == [HEIGHT, WEIGHT]
    sure = CoefficientDisplay.from_estimator(fitted(learner="arow"))
    assert sorted(sure.names) == [HEIGHT, WEIGHT]
    model = fitted(learner="logistic", scale="standard")
    for drawn in (CoefficientDisplay.from_estimator(model, odds=True), model.summary().plot()):
        assert sorted(drawn.names) == [HEIGHT, WEIGHT]
    three = FRAME.assign(y=np.arange(60) % 3, town=np.where(np.arange(60) % 5, "Ulm", "Bonn"))
    several = fitted(three, learner="logistic", scale="standard").summary().plot()
    assert {f"1: {HEIGHT}", f"0: {WEIGHT}", "1: town=Ulm"} < {*several.names}


@pytest.mark.parametrize("kind", ["decision", "augmentation", "updates"])
def test_the_command_draws_the_same(tmp_path, kind):
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    assert (
        here("fit", "t.csv", "--target", "y", "--model", "m.linsep", cwd=tmp_path).returncode == 0
    )
    done = here("plot", kind, "m.linsep", "t.csv", "--output", "p.svg", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    drawn = (tmp_path / "p.svg").read_text()
    assert f"<!-- {HEIGHT} -->" in drawn
    assert "<!-- height_m -->" not in drawn
    assert "<!-- x0 -->" not in drawn
