"""Animations of runs: every frame is a step of a perceptron run by hand, and of no other run."""

import io
import re

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_iris, make_moons

import linsep
from linsep import (
    AROW,
    KernelPerceptron,
    LogisticRegression,
    PassiveAggressive,
    Perceptron,
    datasets,
    trace,
)
from linsep.errors import DataError
from linsep.plot import RunDisplay
from refusals import refused

pytestmark = pytest.mark.compiled
IRIS, SPECIES = load_iris(return_X_y=True)


def by_hand(X, y, passes):
    """The updates of a perceptron: the row, its score, the intercept and weights before and after;
    and the number of rows on the wrong side after it."""
    w, b, found = np.zeros(X.shape[1]), 0.0, []
    for _ in range(passes):
        for i, (x, sign) in enumerate(zip(X, y, strict=True)):
            score = float(x @ w + b)
            if sign * score <= 0:
                old = np.append(b, w)
                w, b = w + sign * x, b + sign
                found.append((i, score, old, np.append(b, w), int((y * (X @ w + b) <= 0).sum())))
    return found


def drawn_line(contours):
    return np.concatenate([path.vertices for path in contours.get_paths()])


def frames_of(gif):
    picture = Image.open(io.BytesIO(gif))
    durations = []
    for k in range(picture.n_frames):
        picture.seek(k)
        durations.append(picture.info["duration"])
    return picture, durations


def test_every_frame_is_a_step_of_the_run():
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(-5, 6, (14, 2)).astype(float), rng.choice([-1, 1], 14)
        expected = by_hand(X, y, 2)
        shown = trace(Perceptron(shuffle=False, max_iter=2), X, y).animate(max_frames=100)
        assert len(shown.frames) == len(expected) + 2
        for k, (row, score, old, new, wrong) in enumerate(expected, start=1):
            frame = shown.show(k).frames[k]
            assert (frame.rows, frame.before.tolist(), frame.after.tolist()) == (
                [row], [old.tolist()], [new.tolist()]
            )  # fmt: skip
            assert np.asarray(shown.example_.get_offsets()).tolist() == [X[row].tolist()]
            assert len(shown.wrong_.get_offsets()) == wrong
            assert shown.legend_.get_texts()[-1].get_text() == f"on the wrong side: {wrong}"
            for line, weights in ((shown.line_, new), (shown.old_line_, old)):
                if line is None:
                    continue
                ends = drawn_line(line)
                assert np.abs(ends @ weights[1:] + weights[0]).max() < 1e-9
                assert np.linalg.norm(np.ptp(ends, axis=0)) > 1
            title = shown.ax_.get_title(loc="left").replace("−", "-")
            assert f"Update {k} of {len(expected)} " in title
            assert f"row {row} (class {y[row]})" in title
            assert f"score {score:.3g}." in title
            numbers = re.findall(r"\[([^]]*)\]", title)
            assert [list(map(float, text.split(","))) for text in numbers] == [
                [float(f"{v:.3g}") for v in w] for w in (old, new)
            ]
        assert shown.show(0).line_ is None
        assert shown.regions_ is None
        assert "no boundary yet" in shown.ax_.get_title(loc="left")
        last = shown.show(-1).frames[-1]
        assert last.after.tolist() == [expected[-1][3].tolist()]
        assert "The end: " in shown.ax_.get_title(loc="left")


def test_shaded_sides_are_those_of_the_scores():
    X, y = datasets.load_five_points(return_X_y=True)
    for reference in (None, 1):
        model = Perceptron(shuffle=False, max_iter=3, reference=reference).fit(X, y)
        shown = RunDisplay.from_estimator(model, X, y)
        low, high = shown.regions_.get_facecolors()
        colors = {k: points.get_facecolor()[0] for k, points in enumerate(shown.points_)}
        positive = 0 if reference == 1 else 1
        assert high[:3].tolist() == colors[positive][:3].tolist()
        assert low[:3].tolist() == colors[1 - positive][:3].tolist()
        wrong = np.asarray(shown.wrong_.get_offsets())
        assert len(wrong) == np.count_nonzero(model.predict(X) != y)


def test_of_many_updates_some_are_drawn_evenly_and_the_last():
    X, y = datasets.load_five_points(return_X_y=True)
    t = trace(Perceptron(shuffle=False), X, y, coef_init=[0, 0], intercept_init=-1, max_rounds=2000)
    shown = t.animate(max_frames=5)
    updates = [row.round for row in t if row.updates]
    numbers = [1, 112, 224, 335, 446]
    assert [frame.round for frame in shown.frames] == [
        0, *(updates[number - 1] for number in numbers), len(t)
    ]  # fmt: skip
    assert "Update 224 of 446 (5 drawn)" in shown.show(3).ax_.get_title(loc="left")
    assert shown.frames[3].before.tolist() == list(map(list, t[updates[223] - 2].weights))
    assert len(t.animate().frames) == 42
    with refused(DataError, "bad-option", option="max_frames"):
        t.animate(max_frames=0)


@pytest.mark.uncompiled  # a loop for each of the models takes longer
def test_the_run_is_the_one_that_made_the_model(tmp_path):
    for model in [
        Perceptron(keep="vote", max_iter=5, class_weight={0: 2.0, 1: 1.0, 2: 1.0}),
        Perceptron(multiclass="ovo", max_iter=4, random_state=3),
        Perceptron(update="batch", max_iter=6),
        PassiveAggressive(max_iter=4, keep="average"),
        AROW(max_iter=4),
    ]:
        X, weights = IRIS[:, 2:], np.resize([0.5, 1.0, 2.0], len(IRIS))  # whose products are exact
        for y in (SPECIES, SPECIES == 1):
            two = y.dtype == bool
            if two and getattr(model, "class_weight", None):
                continue
            model.fit(X, y, sample_weight=weights)
            linsep.save(model, tmp_path / "model.linsep", force=True)
            loaded = linsep.load(tmp_path / "model.linsep")
            shown = RunDisplay.from_estimator(loaded, X, y, sample_weight=weights)
            coef, intercept = model.fitted_run().state.split(model.fitted_run().state.W)
            assert shown.frames[-1].after == pytest.approx(
                np.column_stack([intercept.ravel(), coef]), rel=1e-12, abs=1e-12
            )
            if isinstance(model, Perceptron):
                assert (shown.frames[-1].after[:, 1:] == coef).all()
            for rows, labels, given in ((X[::-1], y[::-1], weights), (X, y, None)):
                if given is None and isinstance(model, PassiveAggressive):
                    continue  # whose updates do not depend on weights without a limit C
                with refused(DataError, "other-rows"):
                    RunDisplay.from_estimator(loaded, rows, labels, sample_weight=given)


def test_regions_of_several_classes_are_the_predictions():
    for scheme in ["native", "ovr", "ovo"]:
        X = IRIS[:, :2]
        model = Perceptron(multiclass=scheme, max_iter=6).fit(X, SPECIES)
        shown = RunDisplay.from_estimator(model, X, SPECIES)
        codes = shown.regions_.get_array()
        xs, ys = np.meshgrid(shown.xs, shown.ys)
        assert (model.predict(np.column_stack([xs.ravel(), ys.ravel()])) == codes.ravel()).all()
        wrong = np.count_nonzero(model.predict(X) != SPECIES)
        assert shown.legend_.get_texts()[-1].get_text() == f"on the wrong side: {wrong}"
        said = shown.show(5).ax_.get_title(loc="left")
        assert re.search(r"is predicted as [012]\.|equal scores|predicted right", said)


def test_more_features_are_drawn_by_their_distances():
    y = np.where(SPECIES == 1, 1, -1)
    shown = trace(Perceptron(max_iter=6), IRIS, y).animate(max_frames=12)
    reach = shown.ax_.get_xlim()[1] / 1.08
    assert shown.ax_.get_xlabel() == "distance from the boundary"
    for k in range(1, len(shown.frames)):
        (weights,) = shown.show(k).frames[k].after
        away = (IRIS @ weights[1:] + weights[0]) / np.linalg.norm(weights[1:])
        places = np.concatenate([np.asarray(one.get_offsets()) for one in shown.points_])
        expected = np.concatenate([away[y == -1], away[y == 1]])
        assert places[:, 0] == pytest.approx(np.clip(expected, -reach, reach))
        assert (np.sign(places[:, 0]) == np.sign(expected)).all()
    named = trace(Perceptron(max_iter=2), IRIS, SPECIES).animate(features=[3, "x2"])
    assert (named.ax_.get_xlabel(), named.ax_.get_ylabel()) == ("x3", "x2")
    assert "the other 2 features fixed" in named.ax_.get_title(loc="left")
    with refused(DataError, "needs-option", option="features"):
        trace(Perceptron(max_iter=2), IRIS, SPECIES).animate()


def test_a_single_feature_is_drawn_on_lines():
    X, y = IRIS[:, 3:], SPECIES > 0
    shown = trace(Perceptron(max_iter=3), X, y).animate()
    ((b, w),) = shown.frames[-1].after
    line = drawn_line(shown.line_)
    assert line[:, 0] == pytest.approx(np.full(len(line), -b / w))
    heights = [set(points.get_offsets()[:, 1].tolist()) for points in shown.points_]
    assert heights == [{0.0}, {1.0}]
    assert shown.ax_.get_ylabel() == "class"
    assert [text.get_text() for text in shown.ax_.get_yticklabels()] == ["False", "True"]


def test_a_kernel_perceptron_has_curves():
    X, y = make_moons(60, noise=0.2, random_state=0)
    model = KernelPerceptron(kernel="rbf", gamma=2.0, max_iter=9).fit(X, y)
    shown = RunDisplay.from_estimator(model, X, y)
    duals = np.zeros(60)
    duals[model.support_] = model.fitted_run().state.W[:-1]
    assert shown.frames[-1].after[0, 1:].tolist() == duals.tolist()
    curve = drawn_line(shown.line_)
    gram = np.exp(-2.0 * ((curve[:, None] - X[None]) ** 2).sum(axis=2))
    assert np.abs(gram @ duals).max() < 0.02 * np.abs(gram @ np.abs(duals)).max()
    assert "Support vectors: 1." in shown.show(1).ax_.get_title(loc="left")
    three = KernelPerceptron(kernel="poly", degree=2, max_iter=3).fit(IRIS[:, :2], SPECIES)
    regions = RunDisplay.from_estimator(three, IRIS[:, :2], SPECIES)
    xs, ys = np.meshgrid(regions.xs, regions.ys)
    predicted = three.predict(np.column_stack([xs.ravel(), ys.ravel()]))
    assert (regions.regions_.get_array().ravel() == predicted).mean() > 0.9999


def test_the_batch_rule_corrects_the_mistakes_of_a_pass():
    X, y = datasets.load_five_points(return_X_y=True)
    shown = trace(Perceptron(update="batch", max_iter=4, shuffle=False), X, y).animate()
    w = np.zeros(3)
    Z = np.where(y == 1, 1, -1)[:, None] * np.column_stack([np.ones(5), X])
    for frame in shown.frames[1:-1]:
        wrong = np.flatnonzero(Z @ w <= 0)
        assert frame.rows == wrong.tolist()
        w = w + Z[wrong].sum(axis=0)
        assert frame.after[0].tolist() == w.tolist()


def test_a_gif_has_every_frame_and_a_pause():
    X, y = datasets.load_four_points(return_X_y=True)
    shown = trace(Perceptron(fit_intercept=False, shuffle=False), X, y).animate()
    canvas, dpi = shown.figure_.canvas, shown.figure_.dpi
    files = [io.BytesIO(), io.BytesIO()]
    for file in files:
        shown.save(file, format="gif")
    assert files[0].getvalue() == files[1].getvalue()
    picture, durations = frames_of(files[0].getvalue())
    assert picture.n_frames == len(shown.frames) == 5
    assert picture.info["loop"] == 0
    assert durations == [2000] * 4 + [5000]
    assert (shown.figure_.canvas, shown.figure_.dpi, shown.frame_) == (canvas, dpi, 4)
    quick = io.BytesIO()
    shown.save(quick, format="gif", dpi=50)
    picture, _ = frames_of(quick.getvalue())
    assert picture.size == pytest.approx(50 * shown.figure_.get_size_inches(), abs=1)


def test_a_notebook_plays_it_unless_nothing_is_to_move():
    X, y = datasets.load_four_points(return_X_y=True)
    html = trace(Perceptron(fit_intercept=False, shuffle=False), X, y).animate()._repr_html_()
    assert re.search(r'media="\(prefers-reduced-motion: reduce\)" srcset="data:image/png', html)
    assert 'src="data:image/gif;base64,' in html


def test_names_are_drawn_as_they_are():
    X, y = datasets.load_four_points(return_X_y=True)
    long = "a class with a name of many words"  # which is not cut
    labels = np.where(y == 1, "$a_1$", long)
    t = trace(Perceptron(shuffle=False), X, labels, row_names=["$x$", "b", "c", "d"])
    shown = t.animate().show(1)
    assert r"Mistake: \$x\$ (class \$a_1\$)" in shown.ax_.get_title(loc="left")
    assert f"(class {long})" in " ".join(shown.frames[2].said.split())
    shown.figure_.draw_without_rendering()


def test_what_is_no_run_of_rows_is_refused():
    X, y = IRIS[:, :2] + np.linspace(0, 0.01, 150)[:, None] ** 2, SPECIES > 0
    texts, words = KernelPerceptron(kernel=linsep.kernels.Spectrum(2)), ["aab", "bba"]
    for model, rows, labels, code in [
        (Perceptron(early_stopping=True).fit(X, y), X, y, "unsupported"),
        (LogisticRegression(l2=1.0).fit(X, y), X, y, "unsupported"),
        (KernelPerceptron(kernel="rbf", budget=9).fit(X, y), X, y, "unsupported"),
        (texts.fit(words, [0, 1]), words, [0, 1], "unsupported"),
        (Perceptron().fit(X, y).partial_fit(X, y), X, y, "unsupported"),
        (Perceptron(max_iter=3, random_state=None).fit(X, y), X, y, "other-rows"),
        (Perceptron(max_iter=3).fit(X, y, coef_init=[9.0, 1.0]), X, y, "other-rows"),
        (KernelPerceptron(kernel="rbf", max_iter=100).fit(X, SPECIES), X, SPECIES, "too-large"),
    ]:
        with refused(DataError, code):
            RunDisplay.from_estimator(model, rows, labels)
    started = Perceptron(max_iter=3).fit(X, y, coef_init=[9.0, 1.0])
    shown = RunDisplay.from_estimator(started, X, y, coef_init=[9.0, 1.0])
    assert shown.frames[0].after.tolist() == [[0.0, 9.0, 1.0]]


def test_many_rows_are_drawn_as_densities():
    for d in [2, 3]:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((20_100, d))
        y = X[:, 0] + 0.3 * rng.standard_normal(20_100) > 0
        shown = trace(Perceptron(max_iter=1), X, y, max_rounds=30).animate(max_frames=3)
        for k in range(len(shown.frames)):
            ((b, *w),) = shown.show(k).frames[k].after
            scores = X @ w + b
            wrong = np.count_nonzero((scores > 0) != y) if any(w) else 20_100
            assert shown.legend_.get_texts()[-1].get_text() == f"on the wrong side: {wrong:,}"
            assert len(shown.wrong_.get_offsets()) == min(wrong, 1000)
            assert len(shown.points_) == 2
        assert "density of 20,100 rows" in shown.ax_.get_title(loc="left")
