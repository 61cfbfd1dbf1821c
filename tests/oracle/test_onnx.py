"""Linear models as ONNX, run by onnxruntime: the labels and scores of linsep."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import linsep
from exported import of_onnx
from family import LEARNERS, covered, rows
from linsep import (
    GaussianNaiveBayes,
    KernelPerceptron,
    LinearRegression,
    LogisticRegression,
    PassiveAggressive,
    Perceptron,
    export,
    to_onnx,
)
from linsep.errors import LinsepError
from linsep.exports import sklearn_onnx
from linsep.exports.scoring import prediction_rule
from refusals import refused
from thoroughness import THOROUGH

skl2onnx = pytest.importorskip("skl2onnx")
runtime = pytest.importorskip("onnxruntime")
LABELS = np.array(["été", "b 'c'", "d"])
ROWS = 2_000


def unseen(positive=False, d=5):
    """Rows, every second of whole numbers, with which scores tie; the first has zeros only."""
    X = np.random.default_rng(1).standard_normal((ROWS, d)) * 2
    X[::2] = np.round(X[::2])
    X[0] = 0.0
    return np.abs(X) if positive else X


def assert_same(model, X, path):
    """onnxruntime gives the labels of ``predict``, and its scores but for rounding."""
    labels, values = of_onnx(export(model, path), X)
    assert labels.tolist() == model.predict(X).tolist()
    probable = hasattr(model, "predict_proba") and prediction_rule(model).probabilities
    wanted = model.predict_proba(X) if probable else model.decision_function(X)
    assert values.shape == wanted.shape
    assert (np.abs(values - wanted) <= 1e-9 * np.maximum(1.0, np.abs(wanted))).all()


@pytest.mark.parametrize(
    ("learner", "scheme"),
    [(learner, scheme) for learner, scheme, keep in covered() if keep == "average"]
    if THOROUGH
    else [("perceptron", "native"), ("perceptron", "ovo"), ("balanced", "ovr"), ("pa", "binary")],
)
def test_learners_and_schemes(learner, scheme, tmp_path):
    kind, given, _ = LEARNERS[learner]
    X, y = rows(3, 2 if scheme == "binary" else 3, kind.positive_only)
    how = given if scheme == "binary" else given | {"multiclass": scheme}
    model = kind(max_iter=3, **how).fit(np.round(X * 4), LABELS[y])
    assert_same(model, unseen(kind.positive_only), tmp_path / "m.onnx")


@pytest.mark.parametrize("how", [{"reference": "d"}, {"tie": "positive", "normalize": True}])
def test_two_classes(how, tmp_path):
    X, y = rows(4, 2, False)
    model = Perceptron(max_iter=3, **how).fit(np.round(X * 4), LABELS[1:][y])
    assert_same(model, unseen(), tmp_path / "m.onnx")


def test_probabilities(tmp_path):
    X, y = rows(6, 3, False, n=60)
    models = GaussianNaiveBayes(), LogisticRegression(l2=1.0, reference=1)
    for number, model in enumerate(models):
        assert_same(model.fit(X, y), unseen(), tmp_path / f"{number}.onnx")


def test_rows_beside_the_boundary():
    """Labels may differ only where the score is less than the rounding of its sum."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((200, 6))
    y = X @ rng.standard_normal(6) > 0.3
    model = PassiveAggressive(max_iter=5).fit(X, y)
    w, b = model.coef_[0], model.intercept_[0]
    Z = rng.standard_normal((ROWS, 6))
    Z -= np.outer((Z @ w + b) / (w @ w), w)  # on the boundary, but for rounding
    session = runtime.InferenceSession(to_onnx(model).SerializeToString())
    labels, scores = session.run(None, {"X": Z})
    rounding = 8 * np.finfo(float).eps * (np.abs(Z) @ np.abs(w) + abs(b))
    assert (np.abs(scores - model.decision_function(Z)) <= rounding).all()
    assert (labels == (scores > 0)).all()


@pytest.mark.parametrize("labels", [[-1, 1], [1.0, 2.0]])
def test_types_of_labels(labels, tmp_path):
    X, y = rows(4, 2, False)
    model = Perceptron(max_iter=3).fit(X, y)
    model.classes_ = np.array(labels)
    found = of_onnx(export(model, tmp_path / "m.onnx"), X)[0]
    assert found.tolist() == model.predict(X).tolist()


def test_what_onnx_cannot_hold():
    X, y = rows(4, 2, False)
    for model in (Perceptron(tie="random"), KernelPerceptron()):
        with refused(LinsepError, "unsupported"):
            to_onnx(model.set_params(max_iter=2).fit(X, y))


def test_pipelines():
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    sklearn_onnx.register()
    X, y = rows(7, 3, False)
    model = PassiveAggressive(max_iter=3, multiclass="ovo")
    piped = make_pipeline(StandardScaler(), model).fit(X, LABELS[y])
    for kind, dtype, near in ((DoubleTensorType, "f8", 1e-9), (FloatTensorType, "f4", 1e-3)):
        made = skl2onnx.to_onnx(
            piped, initial_types=[("X", kind([None, 5]))], options={"zipmap": False},
            target_opset=18,
        )  # fmt: skip
        session = runtime.InferenceSession(made.SerializeToString())
        Z = unseen().astype(dtype)
        labels, values = session.run(None, {"X": Z})
        assert np.mean(labels == piped.predict(Z)) >= (1.0 if dtype == "f8" else 0.995)
        wanted = piped.decision_function(Z)
        assert values.dtype == dtype
        off = np.abs(values - wanted).max(axis=1) > near * max(1.0, np.abs(wanted).max())
        assert np.mean(off) <= (0.0 if dtype == "f8" else 0.005)


def test_pipelines_of_regressions():
    sklearn_onnx.register()
    X, y = rows(7, 2, False)
    piped = make_pipeline(StandardScaler(), LinearRegression()).fit(X, X @ np.arange(5.0) + y)
    session = runtime.InferenceSession(skl2onnx.to_onnx(piped, X[:1]).SerializeToString())
    (found,) = session.run(None, {"X": X})
    np.testing.assert_allclose(found[:, 0], piped.predict(X), rtol=1e-9)


def test_skl2onnx_converts_models_of_tables():
    sklearn_onnx.register()
    frame = load_iris(as_frame=True).frame
    frame.insert(1, "tall", np.where(frame.iloc[:, 0] > 6, "yes", "no"))
    for whole in (frame, frame.drop(columns="tall")):
        model = linsep.fit(whole, target="target", learner="perceptron", scale="standard")
        X = whole.drop(columns="target").iloc[:, ::-1]
        as_frame = X, {name: X[[name]].to_numpy() for name in X}
        rows = whole.drop(columns="target").to_numpy()
        for given, inputs in [as_frame] if "tall" in X else [as_frame, (rows, {"X": rows})]:
            made = skl2onnx.to_onnx(model, given[:1], target_opset=sklearn_onnx.OPSETS)
            session = runtime.InferenceSession(made.SerializeToString())
            names = [one.name for one in session.get_inputs()]
            found = session.run(None, dict(zip(names, inputs.values(), strict=True)))[0]
            np.testing.assert_allclose(found.ravel(), model.predict(X), rtol=1e-12)


def assert_same_probabilities(model, X):
    sklearn_onnx.register()
    kind = skl2onnx.common.data_types.DoubleTensorType([None, X.shape[1]])
    made = skl2onnx.to_onnx(model, initial_types=[("X", kind)], options={"zipmap": False})
    labels, found = runtime.InferenceSession(made.SerializeToString()).run(None, {"X": X})
    assert labels.ravel().tolist() == model.predict(X).tolist()
    if hasattr(model, "predict_proba"):
        assert found == pytest.approx(model.predict_proba(X), abs=1e-12)
        return
    wanted = model.decision_function(X)
    found = found[:, 1] if wanted.ndim == 1 else found
    assert found == pytest.approx(wanted, rel=1e-12, abs=1e-12)


def test_calibrated_models_have_their_probabilities():
    classes, method = 3, "sigmoid"
    X, y = rows(7, classes, False, n=300)
    own = Perceptron(keep="average", max_iter=5).fit(X[:150], y[:150])
    assert_same_probabilities(linsep.calibrate(own, X[150:], y[150:], method=method), X)
