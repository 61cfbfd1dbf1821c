"""ONNX files of every learner, run by onnxruntime: the labels and scores of linsep."""

import sys
from itertools import product

import numpy as np
import pytest
from sklearn.datasets import load_iris

import linsep
from exported import of_onnx
from family import KEEPS, LEARNERS, covered, rows, storage_of
from linsep import (
    GaussianNaiveBayes,
    KernelPerceptron,
    KernelSoftMargin,
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
from linsep.exports.scoring import rule_of
from storages import store
from thoroughness import THOROUGH

pytestmark = pytest.mark.compiled
onnx = pytest.importorskip("onnx")
LABELS = np.array(["été", "b 'c'", "d"])
ROWS = 10_000


def unseen(positive, d=5):
    """Rows, every second of whole numbers, with which scores tie; the first has zeros only."""
    X = np.random.default_rng(1).standard_normal((ROWS, d)) * 2
    X[::2] = np.round(X[::2])
    X[0] = 0.0
    return np.abs(X) if positive else X


def assert_same(model, X, path, least=1e-9):
    """onnxruntime gives the labels of ``predict``, and its scores but for rounding."""
    labels, values = of_onnx(export(model, path), X)
    assert labels.tolist() == model.predict(X).tolist()
    probable = hasattr(model, "predict_proba") and rule_of(model).probabilities
    wanted = model.predict_proba(X) if probable else model.decision_function(X)
    assert values.shape == wanted.shape
    size = np.maximum(1.0, np.abs(wanted))
    assert (np.abs(values - wanted) <= least * size).all()


@pytest.mark.parametrize(("learner", "scheme", "keep"), list(covered()))
def test_every_learner_scheme_and_weights(learner, scheme, keep, tmp_path):
    kind, given, _ = LEARNERS[learner]
    positive = kind.positive_only
    X, y = rows(3, 2 if scheme == "binary" else 3, positive)
    how = given if scheme == "binary" else given | {"multiclass": scheme}
    X = store(np.round(X * 4), storage_of(learner, scheme, keep))
    model = kind(keep=keep, max_iter=3, **how).fit(X, LABELS[y])
    assert_same(model, unseen(positive), tmp_path / "m.onnx")


@pytest.mark.parametrize(
    ("keep", "how"),
    [
        *product(KEEPS, [{}, {"reference": "d"}, {"tie": "positive"}]),
        *product(KEEPS if THOROUGH else KEEPS[:1], [{"normalize": True}]),
    ],
)
def test_two_classes(keep, how, tmp_path):
    X, y = rows(4, 2, False)
    model = Perceptron(keep=keep, max_iter=3, **how).fit(np.round(X * 4), LABELS[1:][y])
    # whether a version of a vote scores exactly zero is up to rounding with ``normalize``
    assert_same(model, unseen(False), tmp_path / "m.onnx", 0.1 if keep == "vote" else 1e-9)


@pytest.mark.parametrize(
    "kernel",
    [
        "linear",
        "poly",
        "all-subsets",
        kernels.RBF(0.5) + 1,
        kernels.Normalized(kernels.Polynomial(2)) * kernels.RBF(0.1) + kernels.Linear() * 0.5,
    ],
    ids=str,
)
def test_kernels(kernel, tmp_path):
    X, y = rows(5, 3, False)
    for keep in ("average", "vote"):
        model = KernelPerceptron(kernel=kernel, keep=keep, max_iter=3).fit(X, LABELS[y])
        Z = np.random.default_rng(1).standard_normal((ROWS, 5))
        assert_same(model, Z, tmp_path / f"{keep}.onnx")
    for multiclass in ("ovr", "ovo"):  # machines with intercepts
        machine = KernelSoftMargin(kernel=kernel, multiclass=multiclass).fit(X, LABELS[y])
        assert_same(machine, Z, tmp_path / f"{multiclass}.onnx")
    two = KernelSoftMargin(kernel=kernel, reference=LABELS[1]).fit(X[y < 2], LABELS[y[y < 2]])
    assert_same(two, Z, tmp_path / "two.onnx")


@pytest.mark.parametrize("k", [2, 3])
def test_probabilities(k, tmp_path):
    X, y = rows(6, k, False, n=60)
    for number, model in enumerate(
        (GaussianNaiveBayes(), LogisticRegression(l2=1.0), LogisticRegression(l2=1.0, reference=1))
    ):
        assert_same(model.fit(X, y), unseen(False), tmp_path / f"{number}.onnx")


def test_numbers(tmp_path):
    X, y = rows(6, 3, False, n=60)
    model = LinearRegression().fit(X, y + X[:, 0])
    (found,) = of_onnx(export(model, tmp_path / "m.onnx"), unseen(False))
    np.testing.assert_allclose(found, model.predict(unseen(False)), rtol=1e-12, atol=1e-12)


def test_rows_beside_the_boundary():
    """Labels may differ only where the score is less than the rounding of its sum."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((200, 6))
    y = X @ rng.standard_normal(6) > 0.3
    model = PassiveAggressive(max_iter=5).fit(X, y)
    w, b = model.coef_[0], model.intercept_[0]
    Z = rng.standard_normal((ROWS, 6))
    Z -= np.outer((Z @ w + b) / (w @ w), w)  # on the boundary, but for rounding
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(to_onnx(model).SerializeToString())
    labels, scores = session.run(None, {"X": Z})
    rounding = 8 * np.finfo(float).eps * (np.abs(Z) @ np.abs(w) + abs(b))
    assert (np.abs(scores - model.decision_function(Z)) <= rounding).all()
    differ = labels != model.predict(Z)
    assert 0 < differ.sum() < ROWS / 2
    assert (np.abs(model.decision_function(Z[differ])) <= rounding[differ]).all()
    assert (labels == (scores > 0)).all()


@pytest.mark.parametrize("labels", [[False, True], [-1, 1], [1.0, 2.0], [2**63, 2**64 - 1]])
def test_types_of_labels(labels, tmp_path):
    X, y = rows(4, 2, False)
    model = Perceptron(max_iter=3).fit(X, np.array(labels)[y])
    found = of_onnx(export(model, tmp_path / "m.onnx"), X)[0]
    assert found.tolist() == model.predict(X).tolist()
    whole = model.classes_.dtype.kind == "f"  # as linsep predict prints them
    assert found.dtype == (np.int64 if whole else model.classes_.dtype)


def test_a_model_without_support_vectors(tmp_path):
    model = KernelPerceptron(kernel="linear").partial_fit(
        [[1.0, 2.0]], [0], [0, 1], sample_weight=[0.0]
    )
    assert not len(model.support_)
    assert of_onnx(export(model, tmp_path / "m.onnx"), [[1.0, 2.0]])[0].tolist() == [0]


REFUSED = [
    (Perceptron(tie="random"), 'random ties.*train the model with tie="negative"'),
    (KernelPerceptron(kernel=lambda a, b: float(a @ b)), "kernel Callable.*train with a linear"),
    (KernelPerceptron(kernel=kernels.Normalized(kernels.AllSubsets())), "kernel Normalized"),
]


@pytest.mark.parametrize(("model", "said"), REFUSED, ids=["ties", "callable", "normalized"])
def test_what_onnx_cannot_hold(model, said):
    X, y = rows(4, 2, False)
    with pytest.raises(LinsepError, match=said):
        to_onnx(model.set_params(max_iter=2).fit(X, y))


def test_strings_and_others_are_refused_by_name():
    words = KernelPerceptron(kernel=kernels.Spectrum(2)).fit(["ab", "ba", "aab"], [0, 1, 0])
    with pytest.raises(LinsepError, match="kernel Spectrum"):
        to_onnx(words)
    from sklearn.linear_model import Perceptron as Theirs

    with pytest.raises(LinsepError, match="A Perceptron of sklearn cannot be exported"):
        to_onnx(Theirs())
    with pytest.raises(ValueError, match="call fit before exporting it"):
        to_onnx(Perceptron())
    with pytest.warns(UserWarning, match="weight 0"):
        lost = LogisticRegression(l2=1.0).fit(
            [[0.0], [1.0], [2.0]], [0, 1, 2], sample_weight=[1, 1, 0]
        )
    with pytest.raises(LinsepError, match="class whose rows all have weight 0"):
        to_onnx(lost)
    mixed = Perceptron().fit([[0.0], [1.0]], [0, 1])
    mixed.classes_ = np.array([b"a", b"b"])
    with pytest.raises(LinsepError, match=r"b.a. is a bytes.*convert the labels first"):
        to_onnx(mixed)


def test_without_the_packages(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'linsep\[onnx\]'"):
        sklearn_onnx.register()
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'linsep\[onnx\]'"):
        to_onnx(Perceptron().fit([[0.0], [1.0]], [0, 1]))


PIPED = [
    Perceptron(keep="vote", max_iter=3),
    PassiveAggressive(multiclass="ovo", max_iter=3),
    KernelPerceptron(kernel="all-subsets", max_iter=3),
    GaussianNaiveBayes(),
]


@pytest.mark.parametrize(
    ("model", "k", "opset"),
    [(PIPED[0], 2, 13), *((model, 2 + turn % 2, 18) for turn, model in enumerate(PIPED, 1))],
    ids=str,
)
def test_pipelines(model, k, opset):
    skl2onnx = pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    sklearn_onnx.register()
    X, y = rows(7, k, False)
    piped = make_pipeline(StandardScaler(), model).fit(X, LABELS[y] if k == 3 else y)
    for kind, dtype, near in ((DoubleTensorType, "f8", 1e-9), (FloatTensorType, "f4", 1e-3)):
        made = skl2onnx.to_onnx(
            piped, initial_types=[("X", kind([None, 5]))], options={"zipmap": False},
            target_opset=opset,
        )  # fmt: skip
        session = runtime.InferenceSession(made.SerializeToString())
        Z = unseen(False).astype(dtype)
        labels, values = session.run(None, {"X": Z})
        assert np.mean(labels == piped.predict(Z)) >= (1.0 if dtype == "f8" else 0.999)
        probable = hasattr(model, "predict_proba")
        wanted = piped.predict_proba(Z) if probable else piped.decision_function(Z)
        wanted = np.column_stack([-wanted, wanted]) if wanted.ndim == 1 else wanted
        assert values.dtype == dtype
        assert np.abs(values - wanted).max() <= near * max(1.0, np.abs(wanted).max())


def test_pipelines_of_regressions_and_odd_labels(tmp_path):
    skl2onnx = pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    sklearn_onnx.register()
    X, y = rows(7, 2, False)
    piped = make_pipeline(StandardScaler(), LinearRegression()).fit(X, X @ np.arange(5.0) + y)
    session = runtime.InferenceSession(skl2onnx.to_onnx(piped, X[:1]).SerializeToString())
    (found,) = session.run(None, {"X": X})
    np.testing.assert_allclose(found[:, 0], piped.predict(X), rtol=1e-9)
    odd = Perceptron().fit(X, y)
    odd.classes_ = np.array([0.5, 1.5])  # as from a table
    assert set(of_onnx(export(odd, tmp_path / "m.onnx"), X)[0]) == {0.5, 1.5}
    with pytest.raises(LinsepError, match="skl2onnx supports only text and integer labels"):
        skl2onnx.to_onnx(odd, X[:1], options={"zipmap": False})


@pytest.mark.parametrize("learner", ["perceptron", "linear"])
def test_a_pipeline_of_skl2onnx_cannot_leave_out_the_scale(learner):
    skl2onnx = pytest.importorskip("skl2onnx")
    sklearn_onnx.register()
    frame = load_iris(as_frame=True).frame
    model = linsep.fit(frame, target="target", learner=learner, scale="standard")
    X = frame.drop(columns="target").to_numpy()[:1]
    with pytest.raises(LinsepError):
        skl2onnx.to_onnx(model, X)
    plain = linsep.fit(frame, target="target", learner=learner, scale="none")
    assert skl2onnx.to_onnx(plain, X).graph.output
    assert linsep.to_onnx(model).graph.output
