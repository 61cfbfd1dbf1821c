"""Row weights and class weights: what counts, and what counts nothing."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from sklearn.base import clone
from sklearn.utils.class_weight import compute_class_weight

import linsep
from linsep import (
    GaussianNaiveBayes,
    KernelPerceptron,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    Winnow,
)
from linsep.errors import DataError
from linsep.estimators import labels
from linsep.sources.arrays import ArraySource
from refusals import refused
from storages import blobs
from thoroughness import examples

FEW = {"max_iter": 4, "shuffle": False}
ONLINE = [
    Perceptron(multiclass="ovo", **FEW),
    Perceptron(update="batch", **FEW),
    Winnow(**FEW),
    KernelPerceptron(gamma=0.1, **FEW),
]
LOGISTIC = LogisticRegression(l2=1.0)


def unequal(k=3, n=40, seed=0):
    """Positive rows of k classes that overlap and differ in size, and whole weights."""
    X, y = blobs(n, k=k, spread=3.0, seed=seed)
    y[: n // 3] = 0
    y[-k:] = np.arange(k)
    weight = np.random.default_rng(seed).integers(0, 4, n).astype(float)
    weight[-k:] = 1.0
    return np.abs(X), y, weight


# Balanced class weights.


@given(st.integers(0, 1000), st.integers(2, 5))
@examples(30)
def test_balanced_weights_are_those_of_scikit_learn(seed, k):
    _, y, weight = unequal(k, seed=seed)
    for given_weight in (None, weight):
        ours = labels.weigh_classes("balanced", np.arange(k), np.bincount(y, given_weight))
        theirs = compute_class_weight(
            "balanced", classes=np.arange(k), y=y, sample_weight=given_weight
        )
        assert np.allclose(ours, theirs, rtol=1e-14)


@pytest.mark.parametrize("model", [*ONLINE, LOGISTIC], ids=str)
def test_balanced_does_not_count_rows_of_weight_zero(model):
    X, y, weight = unequal()
    kept = weight > 0
    model = clone(model).set_params(class_weight="balanced")
    whole = clone(model).fit(X, y, sample_weight=weight)
    part = clone(model).fit(X[kept], y[kept], sample_weight=weight[kept])
    assert np.allclose(whole.decision_function(X), part.decision_function(X), rtol=1e-9, atol=1e-9)


# Classes whose rows all have weight 0.

WITHOUT = "All rows of class.* have weight 0, so the model learns nothing about it"


def test_a_class_of_no_weight_has_probability_zero(tmp_path):
    gone, (X, y) = 1, blobs(60, d=2, k=3, spread=5.0)
    rest, model = y != gone, GaussianNaiveBayes()
    with pytest.warns(UserWarning, match=WITHOUT):
        found = clone(model).fit(X, y, sample_weight=rest.astype(float))
    assert found.classes_.tolist() == [0, 1, 2]
    P = found.predict_proba(X)
    assert (P[:, gone] == 0.0).all()
    assert gone not in found.predict(X)
    assert np.isneginf(found.predict_log_proba(X)[:, gone]).all()
    assert np.allclose(P[:, [0, 2]], model.fit(X[rest], y[rest]).predict_proba(X), atol=1e-6)
    again = linsep.load(linsep.save(found, tmp_path / "model"))
    assert again.predict_proba(X).tobytes() == P.tobytes()


def test_a_class_alone_is_certain(tmp_path):
    X, y = blobs(20, d=2, k=2)
    for k in (2, 3):
        labels = np.where(np.arange(20) % 4 == 3, 2, y) if k == 3 else y
        with pytest.warns(UserWarning, match="have weight 0"):
            found = GaussianNaiveBayes().fit(X, labels, sample_weight=(labels == 1).astype(float))
        assert found.predict_proba(X).tolist() == [[0.0, 1.0, 0.0][:k]] * 20
        again = linsep.load(linsep.save(found, tmp_path / str(k)))
        assert again.decision_function(X).tolist() == found.decision_function(X).tolist()
        assert (found.to_logistic().predict(X) == 1).all()


@pytest.mark.filterwarnings("ignore:All rows of class")
def test_a_regression_refuses_a_class_of_no_weight():
    X, y = blobs(60, d=2, k=3, spread=5.0)
    model = LogisticRegression(class_weight={1: 0.0})
    for data in ((ArraySource(X, y, batch_rows=7),), (X, y), (sp.csr_matrix(X), y)):
        with refused(DataError, "class-count"):
            model.fit(*data)


@pytest.mark.parametrize("model", ONLINE, ids=str)
def test_online_learners_do_not_predict_a_class_of_no_weight(model):
    X, y, _ = unequal()
    for gone in range(3):
        with pytest.warns(UserWarning, match=WITHOUT):
            found = clone(model).fit(X, y, sample_weight=(y != gone).astype(float))
        assert found.classes_.tolist() == [0, 1, 2]
        assert gone not in found.predict(X[y != gone])


@pytest.mark.parametrize("model", [
    Perceptron(max_iter=3, class_weight="balanced"), KernelPerceptron(max_iter=3),
    LinearRegression(weight_type="frequency"), LOGISTIC, GaussianNaiveBayes(),
])  # fmt: skip
def test_weights_that_are_nothing_or_too_large_are_refused(model):
    X, y = blobs(20, d=2, k=2)
    with refused(ValueError, "overflow"):
        model.fit(X, y, sample_weight=np.full(20, 1e308))
    with refused(ValueError, "no-rows"):
        clone(model).fit(X, y, sample_weight=np.zeros(20))
    with refused(ValueError, "no-rows", option="sample_weight"):
        clone(model).fit(X, y, sample_weight=2.0).score(X, y, np.zeros(20))


def test_class_weights_that_are_nothing_or_too_large_are_refused():
    X, y = blobs(20, k=2)
    for model in (LogisticRegression(l2=1.0), Perceptron()):
        for weight, code in ((1e308, "overflow"), (0.0, "no-rows")):
            with refused(ValueError, code):
                model.set_params(class_weight={0: weight, 1: weight}).fit(X, y)
        with refused(ValueError, "no-rows"):
            model.fit(ArraySource(X, y))
