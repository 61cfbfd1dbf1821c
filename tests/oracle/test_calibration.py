"""Calibrated probabilities against scikit-learn's, and where they are kept."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import brier_score_loss

import linsep
from command_line import assert_refused, here, table
from linsep import (
    GaussianNaiveBayes,
    KernelSoftMargin,
    PassiveAggressive,
    Perceptron,
)
from linsep.errors import DataError, ModelFileError, ParameterError
from linsep.plot import ReliabilityDisplay
from linsep.sources import ArraySource
from refusals import refused

pytestmark = pytest.mark.filterwarnings("ignore:Since FrozenEstimator does not appear")

MODELS = {
    "binary": Perceptron(keep="average", max_iter=10),
    "reference": Perceptron(max_iter=5, reference="a"),
    "native": Perceptron(keep="average", max_iter=10),
    "ovo": PassiveAggressive(multiclass="ovo", max_iter=5),
    "kernel margin": KernelSoftMargin(gamma=1e-4),
}


def rows(name):
    load = load_iris if name in ("native", "ovo", "ovr") else load_breast_cancer
    X, y = load(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], np.array(["a", "b", "c"])[y[order]]


def learned(name):
    X, y = rows(name)
    return MODELS[name].fit(X[::2], y[::2]), X[1::2], y[1::2]


def theirs(model, X, y, method, weight=None):
    return CalibratedClassifierCV(FrozenEstimator(model), method=method).fit(X, y, weight)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("name", MODELS)
def test_probabilities_are_those_of_scikit_learn(name, method):
    model, X, y = learned(name)
    before = model.predict(X)
    assert not hasattr(model, "predict_proba")
    for weight in (None, np.arange(len(y)) % 3 + 0.5):
        expected = theirs(model, X, y, method, weight).predict_proba(X)
        assert linsep.calibrate(model, X, y, method=method, sample_weight=weight) is model
        found = model.predict_proba(X)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert np.array_equal(model.predict(X), before)


@pytest.mark.parametrize(("name", "method"), [("binary", "isotonic"), ("native", "sigmoid")])
def test_sources_and_files_have_the_same_probabilities(name, method, tmp_path):
    model, X, y = learned(name)
    expected = linsep.calibrate(model, X, y, method=method).predict_proba(X)
    streamed = linsep.calibrate(model, ArraySource(X, y, batch_rows=7), method=method)
    assert np.array_equal(streamed.predict_proba(X), expected)
    assert np.array_equal(streamed.predict_proba(ArraySource(X, y, batch_rows=5)), expected)
    back = linsep.load(linsep.save(model, tmp_path / "m"))
    assert np.array_equal(back.predict_proba(X), expected)


def test_other_weights_have_no_probabilities_yet():
    model, X, y = learned("binary")
    linsep.calibrate(model, X, y).partial_fit(X[:1], y[:1])
    assert not hasattr(model, "predict_proba")
    assert not hasattr(linsep.calibrate(model, X, y).fit(X, y), "predict_proba")


def test_a_damaged_calibration_is_no_model(tmp_path):
    model, X, y = learned("binary")
    for method, bad in (
        ("isotonic", np.array([[0.0, 1.0], [0.0, 2.0]])),
        ("isotonic", np.array([[0.0, 1.0], [1.0, 0.0]])), ("other", np.zeros(2)),
    ):  # fmt: skip
        linsep.calibrate(model, X, y)
        model.calibration_ = model.calibration_._replace(method=method, curves=[bad])
        linsep.save(model, tmp_path / "m", force=True)
        with pytest.raises(ModelFileError):
            linsep.load(tmp_path / "m")


def test_what_cannot_be_calibrated_is_said():
    model, X, y = learned("native")
    with refused(ParameterError, "bad-option", option="method"):
        linsep.calibrate(model, X, y, method="platt")
    with refused(DataError, "class-count"):
        linsep.calibrate(model, X[y != "c"], y[y != "c"])
    with refused(DataError, "unknown-label", row=1):
        linsep.calibrate(model, X, np.arange(len(y)))
    with refused(DataError, "unsupported"):
        linsep.calibrate(GaussianNaiveBayes().fit(X, y), X, y)
    assert not hasattr(model, "predict_proba")


@pytest.fixture
def folder(tmp_path):
    X, y = rows("native")
    for name, part in (
        ("train", slice(0, 80)),
        ("held", slice(80, 120)),
        ("test", slice(120, 150)),
    ):
        table(tmp_path, f"{name}.csv", ["w", "x", "y", "z", "kind"],
              [[*row, label] for row, label in zip(X[part], y[part], strict=True)])  # fmt: skip
    return tmp_path


def test_the_command_line_calibrates_keeps_and_scores(folder):
    fit = ("fit", "train.csv", "--target", "kind", "--keep", "average", "--scale", "none")
    done = here(*fit, "--model", "m", "--calibrate", "held.csv", "--test", "test.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    model = linsep.load(folder / "m")
    test, held = (pd.read_csv(folder / f"{name}.csv") for name in ("test", "held"))
    X, y = test.drop(columns="kind"), test["kind"]
    expected = model.predict_proba(X)
    same = theirs(model, held.drop(columns="kind"), held["kind"], "sigmoid")
    np.testing.assert_allclose(expected, same.predict_proba(X), rtol=1e-12)
    lines = here("predict", "m", "test.csv", "--probabilities", cwd=folder).stdout.splitlines()
    shown = [[float(cell) for cell in line.split("\t")[1:]] for line in lines]
    np.testing.assert_allclose(shown, expected, rtol=1e-15)
    scored = json.loads(here("score", "m", "test.csv", "--json", cwd=folder).stdout)
    assert scored["metrics"]["brier"]["value"] == pytest.approx(
        brier_score_loss(y, expected), rel=1e-12
    )
    fit += ("--model", "m", "--force", "--calibrate", "held.csv")
    told = json.loads(here(*fit, "--calibration", "isotonic", "--json", cwd=folder).stdout)
    assert told["calibration"] == {"method": "isotonic", "rows": 40, "data": ["held.csv"]}
    assert linsep.load(folder / "m").calibration_.method == "isotonic"


def test_probabilities_need_a_calibration(folder):
    fit = ("fit", "train.csv", "--target", "kind", "--model", "m")
    assert_refused(*fit, "--calibration", "isotonic", cwd=folder, exit_code=2)
    assert here(*fit, cwd=folder).returncode == 0
    assert_refused("predict", "m", "test.csv", "--probabilities", cwd=folder, code="unsupported")


def test_the_picture_shows_what_scikit_learn_counts():
    model, X, y = learned("native")
    linsep.calibrate(model, X[::2], y[::2])
    shown = ReliabilityDisplay.from_estimator(model, X[1::2], y[1::2], n_bins=4)
    found, shares = model.predict_proba(X[1::2]), []
    labels = model.classes_
    for curve, label in zip(shown.curves_, labels, strict=True):
        column = found[:, model.classes_.tolist().index(label)]
        observed, predicted = calibration_curve(
            y[1::2] == label, column, n_bins=4, strategy="quantile"
        )
        assert np.array_equal(curve.get_xydata(), np.column_stack([predicted, observed]))
        shares.append(brier_score_loss(y[1::2] == label, column))
        assert curve.get_label() == f"{label}: Brier score {shares[-1]:.3g}"
