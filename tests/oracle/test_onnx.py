"""Linear models as ONNX, run by onnxruntime: the labels and scores of linsep."""

import sys
import warnings

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import Perceptron as Theirs
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
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
    kernels,
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


@pytest.mark.parametrize("how", [{"reference": "d"}, {"tie": "positive"}, {"normalize": True}])
def test_two_classes(how, tmp_path):
    X, y = rows(4, 2, False)
    model = Perceptron(max_iter=3, **how).fit(np.round(X * 4), LABELS[1:][y])
    assert_same(model, unseen(), tmp_path / "m.onnx")


@pytest.mark.parametrize("k", [2, 3])
def test_probabilities(k, tmp_path):
    X, y = rows(6, k, False, n=60)
    for number, model in enumerate((GaussianNaiveBayes(), LogisticRegression(l2=1.0, reference=1))):
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


@pytest.mark.parametrize("labels", [[False, True], [-1, 1], [1.0, 2.0], [0.5, 1.5]])
def test_types_of_labels(labels, tmp_path):
    X, y = rows(4, 2, False)
    model = Perceptron(max_iter=3).fit(X, y)
    model.classes_ = np.array(labels)
    found = of_onnx(export(model, tmp_path / "m.onnx"), X)[0]
    assert found.tolist() == model.predict(X).tolist()
    whole = labels == [1.0, 2.0]  # as linsep predict prints them
    assert found.dtype == (np.int64 if whole else model.classes_.dtype)


def test_what_onnx_cannot_hold():
    X, y = rows(4, 2, False)
    for model in (Perceptron(tie="random"), Perceptron(keep="vote"), KernelPerceptron()):
        with refused(LinsepError, "unsupported"):
            to_onnx(model.set_params(max_iter=2).fit(X, y))
    with refused(LinsepError, "unsupported"):
        to_onnx(KernelPerceptron(kernel=kernels.Spectrum(2)).fit(["ab", "ba", "aab"], [0, 1, 0]))
    with refused(LinsepError, "unsupported"):
        to_onnx(Theirs())
    mixed = Perceptron().fit([[0.0], [1.0]], [0, 1])
    for labels in ([b"a", b"b"], [2**63, 2**64 - 1]):
        mixed.classes_ = np.array(labels)
        with refused(LinsepError, "label-type"):
            to_onnx(mixed)


def test_without_the_packages(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with refused(LinsepError, "missing-package"):
        to_onnx(Perceptron().fit([[0.0], [1.0]], [0, 1]))


@pytest.mark.parametrize(("k", "opset"), [(2, 13), (3, 18)])
def test_pipelines(k, opset):
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    sklearn_onnx.register()
    X, y = rows(7, k, False)
    model = PassiveAggressive(max_iter=3, multiclass="ovo") if k == 3 else LogisticRegression(l2=1)
    piped = make_pipeline(StandardScaler(), model).fit(X, LABELS[y] if k == 3 else y)
    for kind, dtype, near in ((DoubleTensorType, "f8", 1e-9), (FloatTensorType, "f4", 1e-3)):
        made = skl2onnx.to_onnx(
            piped, initial_types=[("X", kind([None, 5]))], options={"zipmap": False},
            target_opset=opset,
        )  # fmt: skip
        session = runtime.InferenceSession(made.SerializeToString())
        Z = unseen().astype(dtype)
        labels, values = session.run(None, {"X": Z})
        assert np.mean(labels == piped.predict(Z)) >= (1.0 if dtype == "f8" else 0.995)
        probable = hasattr(model, "predict_proba")
        wanted = piped.predict_proba(Z) if probable else piped.decision_function(Z)
        assert values.dtype == dtype
        off = np.abs(values - wanted).max(axis=1) > near * max(1.0, np.abs(wanted).max())
        assert np.mean(off) <= (0.0 if dtype == "f8" else 0.005)


def test_pipelines_of_regressions_and_odd_labels(tmp_path):
    sklearn_onnx.register()
    X, y = rows(7, 2, False)
    piped = make_pipeline(StandardScaler(), LinearRegression()).fit(X, X @ np.arange(5.0) + y)
    session = runtime.InferenceSession(skl2onnx.to_onnx(piped, X[:1]).SerializeToString())
    (found,) = session.run(None, {"X": X})
    np.testing.assert_allclose(found[:, 0], piped.predict(X), rtol=1e-9)
    odd = Perceptron().fit(X, y)
    odd.classes_ = np.array([0.5, 1.5])  # as from a table
    with refused(LinsepError, "label-type"):
        skl2onnx.to_onnx(odd, X[:1], options={"zipmap": False})


@pytest.mark.parametrize("learner", ["perceptron", "linear"])
def test_skl2onnx_converts_models_of_tables(learner):
    sklearn_onnx.register()
    frame = load_iris(as_frame=True).frame
    frame.insert(1, "tall", np.where(frame.iloc[:, 0] > 6, "yes", "no"))
    for whole in (frame, frame.drop(columns="tall")):
        model = linsep.fit(whole, target="target", learner=learner, scale="standard")
        X = whole.drop(columns="target").iloc[:, ::-1]
        as_frame = X, {name: X[[name]].to_numpy() for name in X}
        rows = whole.drop(columns="target").to_numpy()
        for given, inputs in [as_frame] if "tall" in X else [as_frame, (rows, {"X": rows})]:
            made = skl2onnx.to_onnx(model, given[:1], target_opset=sklearn_onnx.OPSETS)
            session = runtime.InferenceSession(made.SerializeToString())
            names = [one.name for one in session.get_inputs()]
            found = session.run(None, dict(zip(names, inputs.values(), strict=True)))[0]
            np.testing.assert_allclose(found.ravel(), model.predict(X), rtol=1e-12)
    with pytest.raises(LinsepError):
        skl2onnx.to_onnx(model, X[:1].drop(columns=X.columns[0]))


FINAL = LogisticRegression(l2=1.0)
META = {
    "calibrated": lambda base: CalibratedClassifierCV(base, cv=3),
    "calibrated pipeline": lambda base: CalibratedClassifierCV(
        make_pipeline(StandardScaler(), base), cv=3
    ),
    "stacked": lambda base: StackingClassifier([("a", base)], final_estimator=FINAL),
    "one against one": OneVsOneClassifier,
    "one against the rest": OneVsRestClassifier,
    "bagged": lambda base: BaggingClassifier(base, n_estimators=3, random_state=0),
    "voting": lambda base: VotingClassifier(
        [("a", base), ("b", GaussianNaiveBayes())], voting="soft", flatten_transform=False
    ),
}
#: what skl2onnx cannot do without probabilities, or not for two classes: see docs/how-to/export.md
NOT_ONLINE = {"voting", "bagged", "one against the rest"}


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


@pytest.mark.thorough
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("online", [False, True])
@pytest.mark.parametrize("meta", META)
def test_meta_estimators_of_scikit_learn(meta, online, classes):
    if online and (meta in NOT_ONLINE or (meta == "stacked" and classes == 2)):
        pytest.skip("skl2onnx does not do that: docs/how-to/export.md")
    X, y = rows(7, classes, False, n=300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        base = Perceptron(keep="average", max_iter=5) if online else LogisticRegression()
        model = META[meta](base).fit(X, y)
    assert_same_probabilities(model, X)


@pytest.mark.parametrize(("classes", "method"), [(2, "isotonic"), (3, "sigmoid")])
def test_calibrated_models_have_their_probabilities(classes, method):
    X, y = rows(7, classes, False, n=300)
    own = Perceptron(keep="average", max_iter=5).fit(X[:150], y[:150])
    assert_same_probabilities(linsep.calibrate(own, X[150:], y[150:], method=method), X)


@pytest.mark.parametrize("kind", [LogisticRegression, GaussianNaiveBayes, LinearRegression])
def test_columns_far_from_zero(kind, tmp_path):
    """A base is added to whole numbers without rounding: predictions stay."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    X = np.round(rng.normal(size=(120, 3)) * 4 + y[:, None] * [3, -2, 1]) * 2
    y = X @ [1.0, -2.0, 0.5] + y if kind is LinearRegression else y
    near, far = kind().fit(X, y), kind().fit(X + 1e6, y)
    found = of_onnx(export(far, tmp_path / "m.onnx"), X + 1e6)[-1]
    predict = near.predict if kind is LinearRegression else near.predict_proba
    assert found == pytest.approx(predict(X), abs=1e-9)
