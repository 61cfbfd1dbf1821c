"""Pictures of updates: arrows and lines are those of a perceptron run by hand."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from linsep import MarginPerceptron, Perceptron, Winnow, datasets
from linsep.plot import UpdateDisplay
from refusals import refused

pytestmark = pytest.mark.compiled
PNG = b"\x89PNG"
IRIS, SPECIES = load_iris(return_X_y=True)


def run(X, y, eta, fit_intercept, w, b, passes=3):
    """The mistakes of a perceptron: row, and weights with the intercept before and after."""
    found = []
    for _ in range(passes):
        for i, (x, sign) in enumerate(zip(X, y, strict=True)):
            if sign * (w @ x + b) <= 0:
                old = np.append(w, b)
                w, b = w + eta * sign * x, b + eta * sign * fit_intercept
                found.append((i, old, np.append(w, b)))
    return found


def place(ring):
    return np.asarray(ring.get_offsets())[0]


def tip(shaft):
    return shaft.get_xydata()[1]


def test_the_arrows_and_lines_are_those_of_the_run():
    for seed in range(5):
        for fit_intercept in [False, True]:
            rng = np.random.default_rng(seed)
            X, y = rng.standard_normal((20, 2)), rng.choice([-1, 1], 20)
            w, b, eta = rng.standard_normal(2), float(rng.standard_normal()) * fit_intercept, 0.5
            expected = run(X, y, eta, fit_intercept, w, b)
            model = Perceptron(fit_intercept=fit_intercept, learning_rate=eta, shuffle=False)
            shown = UpdateDisplay.from_estimator(
                model, X, y, coef_init=w, intercept_init=b if fit_intercept else None, mistake=2,
                n_mistakes=4,
            )  # fmt: skip
            for k, (row, old, new) in enumerate(expected[1:5]):
                assert shown.updates[k].row == row
                assert place(shown.examples_[k]) == pytest.approx(X[row])
                scale = float(shown.axes_[k].get_title().partition("× ")[2] or 1)
                both = scale * np.array([old[:2], new[:2]])
                assert tip(shown.old_weights_[k]) == pytest.approx(both[0])
                assert shown.changes_[k].get_xydata() == pytest.approx(both)
                assert tip(shown.reflected_[k]) == pytest.approx(scale * eta * y[row] * X[row])
                assert tip(shown.new_weights_[k]) == pytest.approx(both[1])
                for line, weights in ((shown.old_lines_[k], old), (shown.new_lines_[k], new)):
                    ends = line.get_xydata()
                    sizes = np.abs(ends) @ np.abs(weights[:2]) + abs(weights[2])
                    assert (np.abs(ends @ weights[:2] + weights[2]) <= 1e-12 * sizes).all()
                    assert np.linalg.norm(ends[1] - ends[0]) > 1.0


def test_the_first_mistake_starts_from_nothing_and_is_drawn_in_three_steps():
    X, y = datasets.load_four_points(return_X_y=True)
    model = Perceptron(fit_intercept=False, shuffle=False)
    first = UpdateDisplay.from_estimator(model, X, y)
    assert (first.old_weights_, first.old_lines_, first.reflected_) == ([], [], [])
    assert tip(first.new_weights_[0]).tolist() == [4.0, 0.0]
    steps = UpdateDisplay.from_estimator(model, X, y, mistake=3, steps=True)
    assert [ax.get_title() for ax in steps.axes_] == [
        "mistake 3: before", "mistake 3: update", "mistake 3: after"
    ]  # fmt: skip
    counts = [len(a) for a in (steps.old_weights_, steps.changes_, steps.new_weights_)]
    assert counts == [2, 1, 2]
    assert len(steps.old_lines_) == len(steps.new_lines_) == 1
    assert tip(steps.changes_[0]).tolist() == [1.0, -3.0]


def test_one_feature_is_drawn_with_the_constant_feature():
    frame = pd.DataFrame({"length": [1.0, 3.0, 2.0, 0.5]})
    labels = np.array(["short", "tall", "tall", "short"])
    y = np.where(labels == "tall", 1, -1)
    shown = UpdateDisplay.from_estimator(Perceptron(shuffle=False), frame, labels, mistake=2)
    row, old, new = run(frame.to_numpy(), y, 1.0, True, np.zeros(1), 0.0)[1]
    assert place(shown.examples_[0]).tolist() == [frame.length[row], 1.0]
    assert tip(shown.old_weights_[0]) == pytest.approx(old)
    assert tip(shown.new_weights_[0]) == pytest.approx(new)
    ends = shown.new_lines_[0].get_xydata()
    assert ends @ new == pytest.approx(np.zeros(2))
    assert (shown.ax_.get_xlabel(), shown.ax_.get_ylabel()) == ("length", "constant feature")
    words = [text.get_text() for text in shown.legend_.get_texts()]
    assert words[:3] == ["short", "tall", "the example"]


def test_more_features_are_drawn_in_the_plane_of_the_weights_and_the_update():
    for store in [np.asarray, sp.csr_matrix]:
        y = np.where(SPECIES == 1, 1, -1)
        shown = UpdateDisplay.from_estimator(Perceptron(shuffle=False), store(IRIS), y, mistake=4)
        row, old, new = run(IRIS, y, 1.0, True, np.zeros(4), 0.0)[3]
        example = place(shown.examples_[0])
        for shaft, line, weights in (
            (shown.old_weights_[0], shown.old_lines_[0], old),
            (shown.new_weights_[0], shown.new_lines_[0], new),
        ):
            assert np.linalg.norm(tip(shaft)) == pytest.approx(np.linalg.norm(weights[:4]))
            assert example @ tip(shaft) == pytest.approx(IRIS[row] @ weights[:4])
            assert line.get_xydata() @ tip(shaft) + weights[4] == pytest.approx(
                np.zeros(2), abs=1e-9
            )
        assert "4 features, in the plane of w and the update" in shown.ax_.get_title()


def test_rows_of_length_one_are_drawn_as_they_are_learned():
    X, y = IRIS[:, :2], SPECIES == 0
    model = Perceptron(shuffle=False, normalize=True)
    shown = UpdateDisplay.from_estimator(model, X, y, mistake=2)
    row = shown.updates[0].row
    unit = X[row] / np.linalg.norm(X[row])
    assert place(shown.examples_[0]) == pytest.approx(unit)


def test_long_arrows_are_scaled_and_the_title_says_so():
    X, y = 1e-3 * IRIS[:, :2], SPECIES == 1
    shown = UpdateDisplay.from_estimator(
        Perceptron(shuffle=False), X, y, coef_init=[1.0, 2.0], mistake=2
    )
    scale = tip(shown.new_weights_[0]) / shown.updates[0].after[:2]
    assert f"arrows × {scale[0]:g}" in shown.ax_.get_title()
    assert scale[0] == pytest.approx(scale[1]) == pytest.approx(0.002)


def test_the_update_leads_from_the_old_weights_to_the_new_of_any_learner():
    for model in [MarginPerceptron(gamma=0.1), Winnow(), Perceptron()]:
        X, y = datasets.load_exclusive_or(return_X_y=True)
        shown = UpdateDisplay.from_estimator(model, (X + 1) / 2, y, n_mistakes=2)
        for old, change, new in zip(
            shown.old_weights_[-1:], shown.changes_[-1:], shown.new_weights_[-1:], strict=True
        ):
            assert change.get_xydata() == pytest.approx(np.stack([tip(old), tip(new)]))
        assert shown._repr_png_().startswith(PNG)


def test_updates_that_cannot_be_drawn_are_refused_in_one_sentence():
    for model, X, y, options, code in [
        (Perceptron(), IRIS, SPECIES, {}, "class-count"),
        (Perceptron(update="batch"), IRIS, SPECIES == 0, {}, "unsupported"),
        (
            Perceptron(),
            IRIS,
            SPECIES == 0,
            {"mistake": 99},
            "bad-option",
        ),
        (Perceptron(), IRIS, SPECIES == 0, {"mistake": 0}, "bad-option"),
        (Perceptron(), IRIS, SPECIES == 0, {"n_mistakes": 0}, "bad-option"),
        (Perceptron(fit_intercept=False), IRIS[:, :1], SPECIES == 0, {}, "unsupported"),
        (Perceptron(), IRIS, SPECIES == 0, {"steps": True, "ax": "axes"}, "conflict"),
    ]:
        with refused(ValueError, code):
            UpdateDisplay.from_estimator(model, X, y, **options)


def test_the_row_of_a_mistake_has_the_label_of_the_index():
    X, y = datasets.load_four_points(return_X_y=True)
    frame = pd.DataFrame(X, index=["b", "a$", "d", "c"])
    model = Perceptron(fit_intercept=False, shuffle=False)
    for rows, title in ((X, "row 1"), (frame.set_axis(range(4)), "row 1"), (frame, "row b")):
        shown = UpdateDisplay.from_estimator(model, rows, y)
        assert shown.axes_[0].get_title().split(": ")[1].split(",")[0] == title
