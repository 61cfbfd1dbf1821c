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
from parameters_in_order import last
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
PROBABLE = [
    LogisticRegression(l2=1.0),
    LogisticRegression(l2=1.0, fit_intercept=False),
    LogisticRegression(solver="gradient_ascent", l2=1.0, tol=1e-7, max_iter=100_000),
    GaussianNaiveBayes(),
]


@pytest.mark.parametrize("model", PROBABLE, ids=str)
def test_a_class_of_no_weight_has_probability_zero(model, tmp_path):
    gone, (X, y) = 1, blobs(60, d=2, k=3, spread=5.0)
    rest = y != gone
    with pytest.warns(UserWarning, match=WITHOUT):
        found = clone(model).fit(X, y, sample_weight=rest.astype(float))
    assert found.classes_.tolist() == [0, 1, 2]
    P = found.predict_proba(X)
    assert (P[:, gone] == 0.0).all()
    assert gone not in found.predict(X)
    assert np.isneginf(found.predict_log_proba(X)[:, gone]).all()
    without = clone(model)
    if getattr(model, "l2", 0.0):  # of two classes one carries the difference, of several both do
        without.set_params(l2=model.l2 / 2)
    without.fit(X[rest], y[rest])
    kept = [k for k in range(3) if k != gone]
    assert np.allclose(P[:, kept], without.predict_proba(X), atol=1e-6)
    again = linsep.load(linsep.save(found, tmp_path / "model"))
    assert again.predict_proba(X).tobytes() == P.tobytes()


@pytest.mark.parametrize("model", [PROBABLE[1], PROBABLE[-1]], ids=str)
def test_a_class_alone_is_certain(model, tmp_path):
    gone, (X, y) = 1, blobs(20, d=2, k=2)
    for k in (2, 3):
        labels = np.where(np.arange(20) % 4 == 3, 2, y) if k == 3 else y
        weight = (labels == 1 - gone).astype(float)
        with pytest.warns(UserWarning, match="have weight 0"):
            found = clone(model).fit(X, labels, sample_weight=weight)
        expected = np.zeros((20, k))
        expected[:, 1 - gone] = 1.0
        assert found.predict_proba(X).tolist() == expected.tolist()
        again = linsep.load(linsep.save(found, tmp_path / str(k)))
        assert again.decision_function(X).tolist() == found.decision_function(X).tolist()


@pytest.mark.parametrize("gone", [0, 2])
def test_inference_leaves_a_class_of_no_weight_out(gone):
    X, y = blobs(60, d=2, k=3, spread=5.0)
    rest = y != gone
    with pytest.warns(UserWarning, match=WITHOUT):
        found = LogisticRegression(class_weight={gone: 0.0}).fit(X, y)
    without = LogisticRegression(reference=found.reference_).fit(X[rest], y[rest])
    assert found.reference_ == (1 if gone == 2 else 2)
    row = [label for label in (0, 1, 2) if label != found.reference_].index(
        next(label for label in (0, 1, 2) if label not in (gone, found.reference_))
    )
    assert np.allclose(last(found, "standard_errors_")[row], last(without, "standard_errors_")[0])
    assert np.allclose(found.coef_[row], without.coef_[0])
    assert np.isnan(last(found, "standard_errors_")[1 - row]).all()
    assert last(found, "limits_")[1 - row].tolist() == ["no weight"] * 3
    assert found.intercept_[1 - row] == -np.inf
    assert found.likelihood_ratio_ == pytest.approx(without.likelihood_ratio_)
    assert found.aic_ == pytest.approx(without.aic_)
    ratios = found.odds_ratios().tidy()
    gone = ratios["class"] == str([0, 1, 2][[0, 1, 2].index(gone)])
    assert ratios["estimate"][gone].isna().all()
    assert ratios["status"][gone].tolist() == ["no weight"] * 2


def test_a_source_learns_a_class_of_no_weight():
    X, y = blobs(60, d=2, k=3, spread=5.0)
    for model in (LogisticRegression(), Perceptron(max_iter=3)):
        model.set_params(class_weight={1: 0.0})
        fits = []
        for data in ((ArraySource(X, y, batch_rows=7),), (X, y), (sp.csr_matrix(X), y)):
            with pytest.warns(UserWarning, match=WITHOUT) as told:
                fits.append(clone(model).fit(*data))
            assert len(told) == 1
        assert fits[0].classes_.tolist() == [0, 1, 2]
        for other in fits[1:]:
            assert np.allclose(other.coef_, fits[0].coef_, rtol=1e-9)
            assert np.allclose(other.intercept_, fits[0].intercept_)


@pytest.mark.parametrize("model", ONLINE, ids=str)
def test_online_learners_do_not_predict_a_class_of_no_weight(model):
    X, y, _ = unequal()
    for gone in range(3):
        with pytest.warns(UserWarning, match=WITHOUT):
            found = clone(model).fit(X, y, sample_weight=(y != gone).astype(float))
        assert found.classes_.tolist() == [0, 1, 2]
        assert gone not in found.predict(X[y != gone])


def test_nothing_at_all_is_refused():
    X, y = blobs(20, k=2)
    for model in (LogisticRegression(), Perceptron()):
        model.set_params(class_weight={0: 0.0, 1: 0.0})
        for data in ((X, y), (ArraySource(X, y),)):
            with refused(ValueError, "no-rows"):
                model.fit(*data)


@pytest.mark.parametrize("kind", [Perceptron(max_iter=9), LinearRegression()], ids=repr)
def test_one_number_is_the_weight_of_every_row(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = (X[:, 0] + rng.standard_normal(60) > 0).astype(int)
    one, each = (clone(kind).fit(X, y, sample_weight=weight) for weight in (2.0, np.full(60, 2.0)))
    assert one.score(X, y, sample_weight=2.0) == each.score(X, y, sample_weight=np.full(60, 2.0))
    with refused(DataError, "no-rows", option="sample_weight"):
        one.score(X, y, sample_weight=0)
