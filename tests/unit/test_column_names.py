"""Whatever takes a fitted model and rows compares the names of columns as ``predict`` does."""

import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression as Theirs

import linsep
from linsep import (
    GaussianNaiveBayes,
    KernelPerceptron,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    plot,
)
from linsep.errors import DataError
from refusals import refused

mpl.use("agg")
ROWS = [[1.0, 1], [2, 8], [1, 2], [4, 9], [0, 3], [5, 5], [3, 1], [6, 7], [2, 2], [3, 9]]
X, Y = pd.DataFrame(ROWS, columns=["a", "b"]), np.array([0, 1, 0, 1, 1, 0, 0, 1, 0, 1])
LEARNED = Perceptron(max_iter=9)
NORMAL = LogisticRegression(l2=1)
LINE = LinearRegression()
KERNEL = KernelPerceptron()
BAYES = GaussianNaiveBayes()
FOREIGN = Theirs()

#: what is called with the model, rows and labels
FUNCTIONS = {
    "predict": (LEARNED, lambda m, X, y: m.predict(X)),
    "score": (LEARNED, lambda m, X, y: m.score(X, y)),
    "bounds": (LEARNED, lambda m, X, y: m.bounds(X, y)),
    "calibrate": (LEARNED, linsep.calibrate),
    "predict_proba": (NORMAL, lambda m, X, y: m.predict_proba(X)),
    "decision_function of naive Bayes": (BAYES, lambda m, X, y: m.decision_function(X)),
    "kernel": (KERNEL, lambda m, X, y: m.predict(X)),
    "interval": (LINE, lambda m, X, y: m.predict(X, interval="prediction")),
    "assumptions": (LINE, lambda m, X, y: m.assumptions(X, y)),
    "margin": (LEARNED, linsep.geometric_margin),
    "margin of scikit-learn": (FOREIGN, linsep.geometric_margin),
    "margins": (NORMAL, linsep.margin_distribution),
    "unsigned margin": (LEARNED, lambda m, X, y: linsep.unsigned_margin(m, X)),
}
#: pictures, and the model that they draw
PICTURES = {
    "AssumptionsDisplay": LINE,
    "AugmentationDisplay": LEARNED,
    "BoundDisplay": LEARNED,
    "DecisionDisplay": LEARNED,
    "KernelDisplay": KERNEL,
    "LogisticDisplay": NORMAL,
    "MarginDisplay": LEARNED,
    "ReliabilityDisplay": NORMAL,
}
FUNCTIONS |= {
    name: (model, lambda m, X, y, name=name: getattr(plot, name).from_estimator(m, X, y))
    for name, model in PICTURES.items()
}
plain = pytest.mark.filterwarnings("ignore:X does not have valid feature names")


@plain
def test_names_are_compared():
    for model, call in FUNCTIONS.values():
        model.fit(X, Y)
        call(model, X, Y)
        model.fit(X, Y)  # without a calibration
        for other in (X[["b", "a"]], X.rename(columns={"b": "c"})):
            with pytest.raises(ValueError, match="feature names should match"):
                call(model, other, Y)
        call(model, X.to_numpy(), Y)
        if model is not FOREIGN:
            with refused(DataError, "duplicate-name", column="a"):
                call(clone(model).fit(X, Y), X.set_axis(["a", "a"], axis=1), Y)


def test_rows_without_names_warn_as_predict_does():
    model = Perceptron(max_iter=9).fit(X, Y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        linsep.geometric_margin(model, X.to_numpy(), Y)
    model.fit(X.to_numpy(), Y)
    with pytest.warns(UserWarning, match="X has feature names, but Perceptron was fitted without"):
        linsep.geometric_margin(model, X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wanted = linsep.geometric_margin(model, ROWS, Y)
        assert linsep.geometric_margin(model.coef_[0], X[["b", "a"]], Y) != wanted


def test_two_columns_of_one_name_are_refused_in_fits():
    for fit in (LEARNED.fit, LINE.fit, linsep.separation):
        with refused(DataError, "duplicate-name", column="a"):
            fit(X.set_axis(["a", "a"], axis=1), Y)
