"""Meta-estimators of scikit-learn around linsep's, by skl2onnx: the probabilities of both."""

import warnings

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import linsep
from linsep import GaussianNaiveBayes, LogisticRegression, Perceptron
from linsep.exports import sklearn_onnx

pytestmark = [pytest.mark.compiled, pytest.mark.thorough]
skl2onnx = pytest.importorskip("skl2onnx")
runtime = pytest.importorskip("onnxruntime")
FINAL = LogisticRegression(l2=1.0)
BASES = {
    "logistic": LogisticRegression(),
    "bayes": GaussianNaiveBayes(),
    "online": Perceptron(keep="average", max_iter=5),
}
META = {
    "calibrated": lambda base: CalibratedClassifierCV(base, cv=3),
    "calibrated as one": lambda base: CalibratedClassifierCV(base, cv=3, ensemble=False),
    "calibrated pipeline": lambda base: CalibratedClassifierCV(
        make_pipeline(StandardScaler(), base), cv=3
    ),
    "pipeline": lambda base: make_pipeline(StandardScaler(), base),
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


def rows(classes):
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, 300)
    return rng.normal(size=(300, 4)) * 2 + y[:, None] * [1, -1, 0.5, 0], y


def assert_same_probabilities(model, X):
    sklearn_onnx.register()
    kind = skl2onnx.common.data_types.DoubleTensorType([None, 4])
    made = skl2onnx.to_onnx(model, initial_types=[("X", kind)], options={"zipmap": False})
    labels, found = runtime.InferenceSession(made.SerializeToString()).run(None, {"X": X})
    assert labels.ravel().tolist() == model.predict(X).tolist()
    if not hasattr(model, "predict_proba"):
        wanted = model.decision_function(X)
        found = found[:, 1] if wanted.ndim == 1 else found
        assert found == pytest.approx(wanted, rel=1e-12, abs=1e-12)
        return
    assert found == pytest.approx(model.predict_proba(X), abs=1e-12)


@pytest.mark.parametrize("labels", ["numbers", "texts"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("meta", META)
def test_probabilities_are_those_of_scikit_learn(meta, base, classes, labels):
    two = meta == "stacked" and classes == 2
    if meta == "one against one" and labels == "texts":
        pytest.skip("skl2onnx takes all labels of OneVsOneClassifier for whole numbers")
    if base == "online" and (meta in NOT_ONLINE or two):
        pytest.skip("skl2onnx does not do that: docs/how-to/export.md")
    X, y = rows(classes)
    y = np.array(["a", "b", "c"])[y] if labels == "texts" else y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = META[meta](BASES[base]).fit(X, y)
    assert_same_probabilities(model, X)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("meta", ["none", "pipeline", "stacked"])
def test_calibrated_models_have_their_probabilities(meta, classes, method):
    X, y = rows(classes)
    own = Perceptron(keep="average", max_iter=5).fit(X[:150], y[:150])
    model = linsep.calibrate(own, X[150:], y[150:], method=method)
    if meta == "pipeline":
        scaler = StandardScaler().fit(X)
        own.fit(scaler.transform(X[:150]), y[:150])
        linsep.calibrate(own, scaler.transform(X[150:]), y[150:], method=method)
        model = make_pipeline(scaler, own)
    elif meta == "stacked":
        stacked = StackingClassifier([("a", own)], final_estimator=FINAL, cv="prefit")
        model = stacked.fit(X, y)
    assert_same_probabilities(model, X)
