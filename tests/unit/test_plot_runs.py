"""Pictures of runs: bounds, cycles and updates are those of a perceptron run by hand."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.linear_model import Perceptron as OtherPerceptron

from linsep import (
    GaussianNaiveBayes,
    KernelPerceptron,
    MarginPerceptron,
    Perceptron,
    datasets,
)
from linsep.mistake_bounds.theorems import Problem, best_comparator
from linsep.plot import BoundDisplay, CycleDisplay, UpdateDisplay
from refusals import refused

pytestmark = pytest.mark.compiled


PNG = b"\x89PNG"
IRIS, SPECIES = load_iris(return_X_y=True)


def test_the_curves_are_the_bounds_of_every_pass():
    y = np.where(SPECIES == 1, 1.0, -1.0)
    model = Perceptron(max_iter=12).fit(IRIS, y)
    shown = BoundDisplay.from_estimator(model, IRIS, y)
    passes = np.arange(1, 13)
    assert np.array_equal(shown.mistakes_.get_xdata(), passes)
    assert np.array_equal(shown.mistakes_.get_ydata(), np.cumsum(model.mistakes_))
    A = y[:, None] * np.column_stack([IRIS, np.ones(150)])
    square = (A**2).sum(axis=1).max()
    w = best_comparator(Problem(A), 2 * 12 / square).w
    short = np.maximum(0, 1 - A @ w)
    long, hinge = w @ w * square, passes * short.sum()
    expected = {
        "hinge": long + 2 * hinge,
        "hinge, sharp": ((np.sqrt(long) + np.sqrt(long + 4 * hinge)) / 2) ** 2,
    }
    assert list(shown.bounds_) == list(expected)
    for name, line in shown.bounds_.items():
        assert line.get_ydata() == pytest.approx(expected[name])
        assert line.get_ydata()[-1] == model.bounds(IRIS, y)[name].value
        assert (np.cumsum(model.mistakes_) <= line.get_ydata()).all()
    said = [text.get_text() for text in shown.legend_.get_texts()]
    numbers = [float(text.split(": ")[1].replace(",", "")) for text in said]
    assert numbers == sorted(numbers, reverse=True)


def test_rounds_are_those_of_the_run():
    X, y = datasets.load_five_points(return_X_y=True)
    model = Perceptron(shuffle=False, max_iter=6).fit(X, y)
    shown = BoundDisplay.from_estimator(model, X, y, rounds=True)
    w, expected = np.zeros(3), []
    for t in range(30):
        z, sign = np.append(X[t % 5], 1.0), y[t % 5]
        expected.append(sign * (w @ z) <= 0)
        w = w + sign * z * expected[-1]
    assert np.array_equal(shown.mistakes_.get_ydata(), np.cumsum(expected))
    assert shown.ax_.get_xlabel() == "round"
    found = model.bounds(X, y)
    hinge = shown.bounds_["hinge"].get_ydata()
    assert np.array_equal(hinge, np.repeat(found["hinge"].by_pass, 5))
    assert (shown.bounds_["Novikoff"].get_ydata() == found["Novikoff"].value).all()
    assert (np.cumsum(expected) <= hinge).all()


@pytest.mark.uncompiled
def test_far_bounds_have_a_logarithmic_axis_and_others_are_refused():
    model = MarginPerceptron(gamma=0.01).fit(IRIS, SPECIES == 0)
    shown = BoundDisplay.from_estimator(model, IRIS, SPECIES == 0)
    bound = model.bounds(IRIS, SPECIES == 0)["8/gamma^2"]
    assert shown.counted_["updates"].get_ydata()[0] == bound.counted
    assert shown.ax_.get_yscale() == "log"
    for model in (Perceptron(schedule="inverse", max_iter=3), OtherPerceptron()):
        model.fit(IRIS, SPECIES == 1)
        with refused(ValueError, "unsupported"):
            BoundDisplay.from_estimator(model, IRIS, SPECIES == 1)


POINTS, GROUPS = datasets.load_inseparable_points(return_X_y=True)


def walk(Z, y, w, passes, batch=False):
    """The weights at the start and after every update, and the updates up to each pass's end."""
    found, ends = [w], []
    for _ in range(passes):
        total = np.zeros_like(w)
        for z, sign in zip(Z, y, strict=True):
            if sign * (w @ z) <= 0 and batch:
                total = total + sign * z
            elif sign * (w @ z) <= 0:
                w = w + sign * z
                found.append(w)
        if batch:
            w = w + total
            found.append(w)
        ends.append(len(found) - 1)
    return np.array(found), ends


@pytest.mark.uncompiled
def test_the_walk_is_that_of_the_weights_and_closes():
    for update in ["single", "batch"]:
        model = Perceptron(shuffle=False, update=update)
        model.fit(POINTS, GROUPS, coef_init=[1, 1], intercept_init=1)
        shown = CycleDisplay.from_estimator(model, POINTS, GROUPS)
        Z, y = np.column_stack([POINTS, np.ones(5)]), np.where(GROUPS == 2, 1, -1)
        start = np.append(model.coef_, model.intercept_)
        passes = model.cycle_.passes
        assert passes == (9 if update == "single" else 14)
        expected, ends = walk(Z, y, start, passes, batch=update == "batch")
        assert np.array_equal(shown.path, expected)
        assert np.array_equal(shown.path[0], shown.path[-1])
        assert shown.ends.tolist() == ends


def test_more_weights_are_projected_on_two_principal_components():
    model = Perceptron(shuffle=False).fit(POINTS, GROUPS, coef_init=[1, 1], intercept_init=1)
    shown = CycleDisplay.from_estimator(model, POINTS, GROUPS)
    components = PCA(2).fit(shown.path)
    drawn = shown.path_.get_xydata()
    assert np.abs(drawn) == pytest.approx(np.abs(components.transform(shown.path)))
    share = 100 * components.explained_variance_ratio_.sum()
    assert f"3 weights, projected onto their two principal components\n({share:.3g}%" in (
        shown.ax_.get_title()
    )
    starts = np.append(0, shown.ends[:-1])
    assert np.array_equal(shown.passes_.get_xydata(), drawn[starts])
    assert np.array_equal(shown.start_.get_xydata(), drawn[:1])
    assert len(shown.arrows_) == 22
    for k, arrow in enumerate(shown.arrows_):
        assert (arrow.xyann, arrow.xy) == (tuple(drawn[k]), tuple(drawn[k + 1]))


def test_two_weights_are_drawn_as_they_are_and_numbered():
    frame = pd.DataFrame(datasets.load_exclusive_or().data, columns=["left", "right"])
    labels = np.array(["same", "other", "other", "same"])
    y = np.where(labels == "same", 1, -1)
    model = Perceptron(fit_intercept=False, shuffle=False).fit(frame, labels)
    shown = CycleDisplay.from_estimator(model, frame, labels)
    expected, _ = walk(frame.to_numpy(), y, np.zeros(2), 1)
    assert np.array_equal(shown.path_.get_xydata(), expected)
    assert (shown.ax_.get_xlabel(), shown.ax_.get_ylabel()) == ("weight of left", "weight of right")
    numbers = {tuple(text.xy): text.get_text() for text in shown.numbers_}
    assert numbers == {(0.0, 0.0): "0, 4", (1.0, 1.0): "1, 3", (0.0, 2.0): "2"}


def test_several_classes():
    rng = np.random.default_rng(0)
    X, y = rng.integers(-3, 4, (30, 3)).astype(float), rng.integers(0, 3, 30)
    native, ovo = (
        Perceptron(shuffle=False, max_iter=9999, multiclass=scheme).fit(X, y)
        for scheme in ("native", "ovo")
    )
    shown = CycleDisplay.from_estimator(native, sp.csr_matrix(X), y)
    weights = np.column_stack([native.coef_, native.intercept_]).ravel()
    assert np.array_equal(shown.path[[0, -1]], [weights, weights])
    steps = np.abs(np.diff(shown.path, axis=0)).sum(axis=1)
    assert np.isin(steps, 2 * (np.abs(X).sum(axis=1) + 1)).all()
    assert (len(shown.numbers_), len(shown.arrows_)) == (0, 40)
    with refused(ValueError, "unsupported"):
        CycleDisplay.from_estimator(ovo, X, y)
    shown = CycleDisplay.from_cycle(ovo.cycle_[1], X, y)
    assert np.array_equal(shown.path[0], np.append(ovo.coef_[1], ovo.intercept_[1]))


def test_what_does_not_cycle_is_refused_in_one_sentence():
    X, y = datasets.load_four_points(return_X_y=True)
    cycling = Perceptron(shuffle=False).fit(POINTS, GROUPS)
    for model, rows, labels, code in (
        (Perceptron().fit(X, y), X, y, "unsupported"),
        (GaussianNaiveBayes().fit(X, y), X, y, "unsupported"),
        (cycling, POINTS[::-1], GROUPS[::-1], "bad-proof"),
        (cycling, X, y, "bad-proof"),
    ):
        with refused(ValueError, code):
            CycleDisplay.from_estimator(model, rows, labels)
    kernel = KernelPerceptron(kernel="linear", shuffle=False, max_iter=999).fit(POINTS, GROUPS)
    with refused(ValueError, "unsupported"):
        CycleDisplay.from_estimator(kernel, POINTS, GROUPS)
    line = Perceptron(shuffle=False, fit_intercept=False).fit([[1.0], [1.0]], [1, -1])
    with refused(ValueError, "unsupported"):
        CycleDisplay.from_estimator(line, [[1.0], [1.0]], [1, -1])


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
    for seed in range(2):
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
    assert first.changes_ == first.new_weights_
    several = UpdateDisplay.from_estimator(model, X, y, n_mistakes=3)
    assert len(several.changes_) == len(several.new_weights_) == 3
    for shown, shafts in ((first, 1), (several, 9)):  # the legend names each look once
        arrows = [a for ax in shown.axes_ for a in ax.lines if a.get_zorder() == 4]
        words = [text.get_text() for text in shown.legend_.get_texts()]
        assert len(arrows) == shafts
        assert len(words) == len({*words})
        assert {arrow.get_label() for arrow in arrows} <= {*words}
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


def test_updates_that_cannot_be_drawn_are_refused_in_one_sentence():
    for model, X, y, options, code in [
        (Perceptron(), IRIS, SPECIES, {}, "class-count"),
        (Perceptron(update="batch"), IRIS, SPECIES == 0, {}, "unsupported"),
        (Perceptron(), IRIS, SPECIES == 0, {"mistake": 99}, "bad-option"),
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
