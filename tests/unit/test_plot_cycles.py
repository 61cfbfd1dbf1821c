"""Pictures of cycles: the walk is that of a perceptron run by hand."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA

from linsep import GaussianNaiveBayes, KernelPerceptron, Perceptron, datasets
from linsep.plot import CycleDisplay
from refusals import refused

pytestmark = pytest.mark.compiled
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


@pytest.mark.parametrize("multiclass", ["native", "ovo"])
def test_several_classes(multiclass):
    rng = np.random.default_rng(0)
    X, y = rng.integers(-3, 4, (30, 3)).astype(float), rng.integers(0, 3, 30)
    model = Perceptron(shuffle=False, max_iter=9999, multiclass=multiclass).fit(X, y)
    assert model.stop_reason_ == "cycle"
    if multiclass == "native":
        shown = CycleDisplay.from_estimator(model, sp.csr_matrix(X), y)
        weights = np.column_stack([model.coef_, model.intercept_]).ravel()
        assert np.array_equal(shown.path[0], weights)
        assert np.array_equal(shown.path[-1], weights)
        steps = np.abs(np.diff(shown.path, axis=0)).sum(axis=1)
        assert np.isin(steps, 2 * (np.abs(X).sum(axis=1) + 1)).all()
        assert shown.numbers_ == []
        assert len(shown.arrows_) == 40
        return
    with refused(ValueError, "unsupported"):
        CycleDisplay.from_estimator(model, X, y)
    for k, cycle in enumerate(model.cycle_.cycles):
        shown = CycleDisplay.from_cycle(cycle, X, y)
        assert np.array_equal(shown.path[0], np.append(model.coef_[k], model.intercept_[k]))
        assert np.array_equal(shown.path[0], shown.path[-1])


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
    assert kernel.stop_reason_ == "cycle"
    with refused(ValueError, "unsupported"):
        CycleDisplay.from_estimator(kernel, POINTS, GROUPS)
    line = Perceptron(shuffle=False, fit_intercept=False).fit([[1.0], [1.0]], [1, -1])
    with refused(ValueError, "unsupported"):
        CycleDisplay.from_estimator(line, [[1.0], [1.0]], [1, -1])
