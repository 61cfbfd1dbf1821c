"""Pictures: their artists hold the numbers that they show."""

import importlib.util
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris, make_blobs

import linsep
from linsep import (
    GaussianNaiveBayes,
    KernelPerceptron,
    LogisticRegression,
    Perceptron,
    separation,
)
from linsep.plot import (
    DecisionDisplay,
    LearningCurveDisplay,
    MarginDisplay,
    WeightImageDisplay,
    WeightSpaceDisplay,
)
from refusals import refused
from thoroughness import some

pytestmark = pytest.mark.compiled
PNG = b"\x89PNG"
IRIS, SPECIES = load_iris(return_X_y=True)
CLASSIFIERS = {
    "ovr": Perceptron(multiclass="ovr"),
    "ovo": Perceptron(multiclass="ovo", keep="average"),
    "vote": Perceptron(keep="vote", max_iter=3),
    "kernel": KernelPerceptron(kernel="poly", degree=2, max_iter=5),
    "logistic": LogisticRegression(l2=1.0),
    "bayes": GaussianNaiveBayes(),
}


def assert_as_predicted(shown, model):
    """Each place of the grid has the color of the class predicted there."""
    places = np.stack(np.meshgrid(shown.xs, shown.ys), axis=-1).reshape(-1, 2)
    said = np.searchsorted(model.classes_, model.predict(shown.plane.points(places)))
    assert np.array_equal(np.ravel(shown.regions_.get_array()), said)


def test_regions_have_the_color_of_the_class_predicted():
    for name, classes in some([(name, k) for k in (2, 3) for name in CLASSIFIERS], 2):
        chosen = classes > SPECIES
        X, y = IRIS[chosen][:, [0, 2]], SPECIES[chosen]
        model = CLASSIFIERS[name].fit(X, y)
        shown = DecisionDisplay.from_estimator(model, X, y)
        assert_as_predicted(shown, model)
        assert sum(len(p.get_offsets()) for p in shown.points_) == len(y)
        wrong = int((model.predict(X) != y).sum())
        assert wrong == (0 if shown.mistakes_ is None else len(shown.mistakes_.get_offsets()))
        assert shown._repr_png_().startswith(PNG)


def test_the_line_is_where_the_score_is_zero():
    for scale in [0.1, 1e6]:
        for target in [0, 1]:
            X = scale * IRIS[:, :2]
            model = Perceptron(keep="average").fit(X, target == SPECIES)
            shown = DecisionDisplay.from_estimator(model, X, target == SPECIES)
            ends = np.column_stack(shown.line_.get_data())
            scores = model.decision_function(ends)
            largest = np.abs(ends) @ np.abs(model.coef_[0]) + np.abs(model.intercept_)
            assert (np.abs(scores) <= 1e-9 * largest).all()
            tip, foot = np.array(shown.normal_.xy), np.array(shown.normal_.xyann)
            across = tip - foot
            assert across @ model.coef_[0] == pytest.approx(
                np.linalg.norm(across) * np.linalg.norm(model.coef_[0])
            )


def test_the_band_of_the_margin_touches_the_nearest_rows():
    X, y = IRIS[:, :2], SPECIES == 0
    model = linsep.LogisticRegression(l2=1e-3).fit(X[y | (SPECIES == 2)], y[y | (SPECIES == 2)])
    chosen = model.predict(X) == y
    shown = DecisionDisplay.from_estimator(model, X[chosen], y[chosen])
    nearest = np.abs(model.decision_function(X[chosen])).min()
    assert len(shown.margin_lines_) == 2
    for line in shown.margin_lines_:
        ends = np.column_stack(line.get_data())
        assert np.abs(model.decision_function(ends)) == pytest.approx(nearest)


def test_more_features_are_projected_or_chosen():
    frame = pd.DataFrame(IRIS, columns=["a", "b", "c", "d"])
    model = Perceptron(keep="average").fit(frame, SPECIES == 2)
    shown = DecisionDisplay.from_estimator(model, frame, SPECIES == 2)
    assert "projected on w" in shown.ax_.get_title()
    w = model.coef_[0] / np.linalg.norm(model.coef_[0])
    scores = model.decision_function(frame) / np.linalg.norm(model.coef_[0])
    assert shown.plane.across == pytest.approx(w)
    assert abs(shown.plane.up @ w) < 1e-9
    offset = shown.line_.get_xdata()[0]
    assert shown.points[:, 0] - offset == pytest.approx(scores)
    left_over = IRIS - IRIS.mean(axis=0) - np.outer((IRIS - IRIS.mean(axis=0)) @ w, w)
    widest = np.linalg.svd(left_over)[2][0]
    assert abs(shown.plane.up @ widest) == pytest.approx(1.0)
    chosen = DecisionDisplay.from_estimator(model, frame, SPECIES == 2, features=["d", 0])
    assert chosen.ax_.get_xlabel() == "d"
    assert chosen.ax_.get_ylabel() == "a"
    assert "the other 2 features fixed at the mean" in chosen.ax_.get_title()


def test_several_classes_are_drawn_where_their_weights_differ():
    model = Perceptron(keep="average").fit(IRIS, SPECIES)
    shown = DecisionDisplay.from_estimator(model, IRIS, SPECIES)
    assert "weights of classes vary most" in shown.ax_.get_title()
    weights = model.coef_ - model.coef_.mean(axis=0)
    drawn = weights @ np.column_stack([shown.plane.across, shown.plane.up])
    assert np.linalg.norm(drawn) == pytest.approx(np.linalg.norm(weights))  # of three, all of it
    assert_as_predicted(shown, model)
    bayes = DecisionDisplay.from_estimator(GaussianNaiveBayes().fit(IRIS, SPECIES), IRIS, SPECIES)
    centered = IRIS - IRIS.mean(axis=0)
    first = np.linalg.svd(centered)[2][0]
    assert "principal components" in bayes.ax_.get_title()
    assert abs(bayes.plane.across @ first) == pytest.approx(1.0)


def test_undecided_places_of_one_against_the_rest_are_hatched():
    X, y = make_blobs(90, centers=3, random_state=2)
    shown = DecisionDisplay.from_estimator(Perceptron(multiclass="ovr").fit(X, y), X, y)
    assert shown.undecided.any()
    assert shown.undecided_.hatches == ["////"]
    native = DecisionDisplay.from_estimator(Perceptron().fit(X, y), X, y)
    assert native.undecided_ is None


def test_support_vectors_are_marked():
    X, y = IRIS[:, :2], SPECIES == 1
    model = KernelPerceptron(kernel="rbf", max_iter=3).fit(X, y)
    shown = DecisionDisplay.from_estimator(model, X, y)
    (support,) = shown.marked_
    assert np.array_equal(support.get_offsets(), X[np.sort(model.support_)])
    assert shown.curve_ is not None


def test_rows_in_any_storage():
    for store in [sp.csr_matrix, np.asfortranarray, pd.DataFrame]:
        X, y = make_blobs(60, centers=20, random_state=0)
        labels = np.array([f"class {k}" for k in y])
        model = Perceptron().fit(store(X), labels)
        shown = DecisionDisplay.from_estimator(model, store(X), labels, resolution=40)
        assert len(shown.points_) == 20
        assert shown._repr_png_().startswith(PNG)


def test_what_cannot_be_drawn_is_refused():
    model = Perceptron().fit(IRIS[:, :2], SPECIES)
    for y, options, code in [
        (SPECIES + 5, {}, "unknown-label"),
        (SPECIES, {"features": [0]}, "bad-option"),
        (SPECIES, {"features": [0, "z"]}, "unknown-column"),
        (SPECIES, {"features": [1, 1]}, "bad-option"),
    ]:
        with refused(ValueError, code):
            DecisionDisplay.from_estimator(model, IRIS[:, :2], y, **options)
    for X, y in ((IRIS[:, :3], SPECIES), (np.full((3, 2), np.nan), [0, 1, 2]), (IRIS, SPECIES[:9])):
        with pytest.raises(ValueError):  # noqa: PT011, as scikit-learn words them
            DecisionDisplay.from_estimator(model, X, y)


def test_the_solution_region_is_exactly_the_weights_without_a_mistake():
    for seed in range(4):
        for fit_intercept in [False, True]:
            rng = np.random.default_rng(seed)
            X = rng.standard_normal((6, 1 if fit_intercept else 2))
            y = (X[:, 0] > 0.1) if seed % 4 else rng.integers(0, 2, 6) > 0
            y[:2] = False, True
            shown = WeightSpaceDisplay.from_data(X, y, fit_intercept=fit_intercept)
            weights = rng.uniform(-1, 1, (2000, 2))
            z = np.column_stack([X, np.ones(6)]) if fit_intercept else X
            clean = (np.where(y, 1, -1) * (weights @ z.T) > 0).all(axis=1)
            assert clean.any() == shown.solvable or not clean.any()
            if shown.region_ is None:
                assert not clean.any()
            else:
                assert np.array_equal(shown.region_.get_path().contains_points(weights), clean)


def test_the_path_of_the_weights_of_the_notes():
    X, y = [[4, 0], [1, 1], [0, 1], [-2, -2]], [1, 0, 0, 1]
    path = [[0, 0], [4, 0], [3, -1], [1, -3]]
    shown = WeightSpaceDisplay.from_data(X, y, path=path)
    assert np.array_equal(np.column_stack(shown.path_.get_data()), path)
    assert shown.region_.get_path().contains_point((1, -3))
    assert not shown.region_.get_path().contains_point((3, -1))
    xor = WeightSpaceDisplay.from_data([[1, 1], [1, -1], [-1, 1], [-1, -1]], [1, 0, 0, 1])
    assert (xor.region_, xor.solvable) == (None, False)
    for rows, labels, code in [(IRIS, SPECIES == 0, "unsupported"), (X, range(4), "class-count")]:
        with refused(ValueError, code):
            WeightSpaceDisplay.from_data(rows, labels)


def test_the_center_of_the_solutions_has_the_largest_cosine_margin():
    X, y = IRIS[:, 2:] - [2.5, 0.8], SPECIES == 0
    shown = WeightSpaceDisplay.from_data(X, y)
    center = np.array([shown.center_.get_xdata()[1], shown.center_.get_ydata()[1]])
    best = linsep.cosine_margin(center, X, np.where(y, 1, -1))
    others = np.random.default_rng(0).standard_normal((500, 2))
    assert best > 0
    assert best >= max(linsep.cosine_margin(w, X, np.where(y, 1, -1)) for w in others)


@pytest.mark.uncompiled
def test_the_learning_curve_is_that_of_the_run():
    model = Perceptron(max_iter=30).fit(IRIS, SPECIES)
    shown = LearningCurveDisplay.from_estimator(model)
    assert np.array_equal(shown.mistakes_.get_ydata(), model.mistakes_)
    assert shown.legend_ is None
    stopped = Perceptron(early_stopping=True, max_iter=30).fit(IRIS, SPECIES)
    shown = LearningCurveDisplay.from_estimator(stopped)
    assert np.array_equal([line.get_ydata() for line in shown.errors_], stopped.validation_curve_.T)
    kept = shown.kept_.get_xdata()[0] - 1
    assert stopped.validation_scores_[kept] == stopped.validation_scores_.max()
    averaged = Perceptron(keep="average", early_stopping=True, max_iter=30).fit(IRIS, SPECIES)
    shown = LearningCurveDisplay.from_estimator(averaged)
    assert np.array_equal(shown.mistakes_.get_ydata(), averaged.mistakes_)
    assert np.array_equal(
        [line.get_ydata() for line in shown.errors_], averaged.validation_curve_.T
    )
    assert shown.kept_ is None
    batch = Perceptron(update="batch", max_iter=9).fit(IRIS, SPECIES == 1)
    shown = LearningCurveDisplay.from_estimator(batch)
    assert np.array_equal(shown.criterion_.get_ydata(), batch.criterion_)
    with refused(ValueError, "unsupported"):
        LearningCurveDisplay.from_estimator(GaussianNaiveBayes().fit(IRIS, SPECIES))


def test_margins_are_those_of_the_rows():
    X, y = IRIS, SPECIES == 0
    model = Perceptron(keep="average").fit(X, y)
    verdict = separation(X, y, margin="max")
    shown = MarginDisplay.from_estimator(model, X, y, verdict=verdict)
    curve = shown.curve_
    margins = np.where(y, 1, -1) * model.decision_function(X) / np.linalg.norm(model.coef_)
    assert curve.get_xdata()[1:] == pytest.approx(np.sort(margins))
    assert curve.get_ydata()[-1] == 1.0
    assert shown.certified_.get_x() == pytest.approx(verdict.margin[0])
    assert margins.min() <= verdict.margin[1]


def test_pyplot_is_not_imported(tmp_path):
    code = (
        "import sys; from linsep import Perceptron; from linsep.plot import DecisionDisplay\n"
        "X, y = [[0.0, 1.0], [1.0, 0.0]], [0, 1]\n"
        "display = DecisionDisplay.from_estimator(Perceptron().fit(X, y), X, y)\n"
        "for path in sys.argv[1:]: display.save(path)\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    starts = {"png": PNG, "svg": b"<?xml", "pdf": b"%PDF"}
    paths = [tmp_path / f"picture.{ending}" for ending in starts]
    subprocess.run([sys.executable, "-c", code, *paths], check=True)
    for path, start in zip(paths, starts.values(), strict=True):
        assert path.read_bytes().startswith(start)


def test_without_matplotlib_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.delitem(sys.modules, "linsep.plot")
    with refused(ImportError, "missing-package"):
        importlib.import_module("linsep.plot")


@pytest.mark.uncompiled
def test_images_are_the_weights_of_each_class_or_pair():
    for multiclass in ["native", "ovo"]:
        X, y = (part[::6] for part in load_digits(n_class=4, return_X_y=True))
        model = Perceptron(multiclass=multiclass, max_iter=3).fit(X, y)
        shown = WeightImageDisplay.from_estimator(model)
        assert np.array_equal(
            [image.get_array() for image in shown.images_], model.coef_.reshape(-1, 8, 8)
        )
        assert len({image.get_clim() for image in shown.images_}) == 1
        low, high = shown.images_[0].get_clim()
        assert high == -low == np.abs(model.coef_).max()
        if multiclass == "native":
            assert shown.titles == ["0", "1", "2", "3"]
        else:
            assert shown.titles[:2] == ["1 against 0", "2 against 0"]
            assert len(shown.titles) == 6
        assert shown._repr_png_().startswith(PNG)


def test_images_need_a_shape_that_fits():
    model = Perceptron().fit(IRIS[:, :3], SPECIES)
    with refused(ValueError, "needs-option", option="shape"):
        WeightImageDisplay.from_estimator(model)
    with refused(ValueError, "shape", option="shape"):
        WeightImageDisplay.from_estimator(model, shape=(2, 2))
    assert WeightImageDisplay.from_estimator(model, shape=(1, 3)).images.shape == (3, 1, 3)
    kernel = KernelPerceptron(max_iter=2).fit(IRIS, SPECIES)
    with refused(ValueError, "unsupported"):
        WeightImageDisplay.from_estimator(kernel)
