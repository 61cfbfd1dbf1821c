"""Decisions over many features and many rows: no row lies in a color that is not its own."""

import re

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import linsep
from linsep import KernelPerceptron, Perceptron, SoftMargin
from linsep.plot import DecisionDisplay
from linsep.plot.display import MOST_DOTS, colors
from refusals import refused

pytestmark = pytest.mark.compiled
IRIS, SPECIES = load_iris(return_X_y=True)
CELLS, BENIGN = load_breast_cancer(return_X_y=True)
CELLS = (CELLS - CELLS.mean(axis=0)) / CELLS.std(axis=0)


def drawn_at(shown):
    """The class in whose color each row lies, from the pixels of the regions."""
    codes = np.asarray(shown.regions_.get_array()).reshape(shown.ys.size, shown.xs.size)
    column, row = (
        np.abs(axis - shown.points[:, [k]]).argmin(axis=1)
        for k, axis in enumerate((shown.xs, shown.ys))
    )
    return shown.classes[codes[row, column].astype(int)]


def test_two_classes_of_many_features_are_drawn_along_their_scores():
    for model in [
        Perceptron(keep="average"),
        Perceptron(keep="vote", max_iter=2),
        KernelPerceptron(kernel="rbf", gamma=0.1, max_iter=3),
        SoftMargin(),
        SVC(),
        GaussianNB(),
        FixedThresholdClassifier(LogisticRegression(), threshold=0.9),
    ]:
        model.fit(CELLS, BENIGN)
        shown = DecisionDisplay.from_estimator(model, CELLS, BENIGN)
        said = model.predict(CELLS)
        beyond = shown.points @ shown.line[0] + shown.line[1]  # votes may be on the line
        assert np.array_equal(beyond[beyond != 0] > 0, said[beyond != 0] == 1)
        near = np.abs(beyond) < 2 * np.ptp(shown.xs) / shown.xs.size
        assert np.array_equal(drawn_at(shown)[~near], said[~near])
        assert shown.line_ is not None
        scores = shown.points[:, 0]
        if hasattr(model, "coef_") and model.get_params().get("keep") != "vote":
            wanted = model.decision_function(CELLS) / np.linalg.norm(model.coef_[0])
            assert shown.ax_.get_xlabel() == "distance from the boundary"
        elif hasattr(model, "decision_function"):
            wanted = model.decision_function(CELLS)
            assert shown.ax_.get_xlabel() == "score"
        else:
            wanted = model.predict_proba(CELLS)[:, 1] - 0.5
            assert shown.ax_.get_xlabel() == "probability of 1, less 0.5"
        assert scores == pytest.approx(wanted, abs=1e-9)


def test_sticks_and_other_intercepts_are_of_a_line_in_two_features():
    model, rows = Perceptron.from_weights([3, 4], 5), [(1, 2), (-3, -1), (0, -1)]
    shown = DecisionDisplay.from_estimator(model, rows, [1, -1, 1], margin=10, intercepts=[-5])
    assert shown.lengths.tolist() == [0, 2, 9]
    sticks = np.array(shown.sticks_.get_segments())
    assert np.linalg.norm(sticks[:, 1] - sticks[:, 0], axis=1) == pytest.approx([0, 0.4, 1.8])
    (line,) = shown.shifted_
    assert line.get_xydata() @ [3, 4] == pytest.approx([5, 5])
    for X, y in ((rows, None), (np.ones((3, 3)), [1, -1, 1])):
        model = Perceptron.from_weights(np.ones(np.shape(X)[1]))
        with refused(ValueError, "unsupported"):
            DecisionDisplay.from_estimator(model, X, y, projections=True)
    with refused(ValueError, "shape", option="coef_init"):
        Perceptron.from_weights([(1, 2), (3, 4)])


def test_a_vote_has_no_line():
    model = Perceptron(keep="vote", max_iter=3).fit(IRIS[:, :2], SPECIES == 1)
    shown = DecisionDisplay.from_estimator(model, IRIS[:, :2], SPECIES == 1)
    assert shown.line_ is None
    assert shown.curve_ is not None


def test_a_threshold_moves_the_line_of_many_features():
    model = linsep.LogisticRegression(l2=1.0).fit(CELLS, BENIGN)
    linsep.set_threshold(model, "cost=20:1", CELLS, BENIGN)
    shown = DecisionDisplay.from_estimator(model, CELLS, BENIGN)
    side = shown.points @ shown.line[0] + shown.line[1] > 0
    assert np.array_equal(side.astype(int), model.predict(CELLS))
    assert shown.line_.get_xdata() == pytest.approx([0.0, 0.0], abs=1e-9)


class Inside(ClassifierMixin, BaseEstimator):
    """Inside or outside of a sphere, without scores."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[(np.square(np.asarray(X)).sum(axis=1) < 2).astype(int)]


def test_a_slice_says_how_many_rows_it_misplaces():
    for labeled, features in [(False, None), (True, [0, 2])]:
        for model in [Inside(), DecisionTreeClassifier(random_state=0), GaussianNB(), SVC()]:
            X = np.random.default_rng(0).normal(size=(300, 4))
            several = not isinstance(model, Inside)
            y = (np.square(X).sum(axis=1) < 2) + 2 * (X[:, 0] > 1) * several
            model.fit(X, y)
            shown = DecisionDisplay.from_estimator(
                model, X, y if labeled else None, features=features, regions=True
            )
            share = float((drawn_at(shown) != model.predict(X)).mean())
            said = re.search(r"slice: ([\d.]+)% of the rows", shown.ax_.get_title())
            assert (float(said[1]) if said else 0.0) == pytest.approx(100 * share, abs=0.01)
            assert shown.misplaced == pytest.approx(share)
            usual = DecisionDisplay.from_estimator(model, X, features=features)
            assert (usual.regions_ is None) == (features is None and share > 0.05)


def many_rows(n=40_000):
    rng = np.random.default_rng(0)
    y = np.where(rng.uniform(size=n) < 0.02, 2, rng.integers(0, 2, n))
    return rng.normal(size=(n, 2)) + np.array([[0, 0], [3, 0], [1.5, 5]])[y], y


def test_many_rows_are_densities_by_class_with_mistakes_over_them():
    X, y = many_rows()
    model = Perceptron(keep="average", max_iter=2).fit(X, y)
    shown = DecisionDisplay.from_estimator(model, X, y)
    assert len(shown.points_) == 3
    drawn = [~np.ma.getmaskarray(cells.get_array()) for cells in shown.points_]
    assert (np.sum(drawn, axis=0) <= 1).all()  # a cell has one color
    for k, (cells, there) in enumerate(zip(shown.points_, drawn, strict=True)):
        own = cells.get_offsets()[there]
        assert np.linalg.norm(own.mean(axis=0) - X[y == k].mean(axis=0)) < 1.0
        assert cells.get_cmap()(1.0)[:3] == pytest.approx(to_rgba(colors(3)[k])[:3])
    wrong = X[model.predict(X) != y]
    dots = shown.mistakes_.get_offsets()
    assert len(dots) == MOST_DOTS
    assert np.isin(np.asarray(dots)[:, 0], wrong[:, 0]).all()
    texts = [text.get_text() for text in shown.legend_.get_texts()]
    assert texts == ["0", "1", "2", f"mistakes (1,000 of {len(wrong):,})"]
    alike = DecisionDisplay.from_estimator(model, X)
    assert len(alike.points_) == 1
    assert alike.points_[0].get_array().sum() == len(X)
