"""Row weights and class weights: what counts, and what counts nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import linear_model
from sklearn.base import clone
from sklearn.utils.class_weight import compute_class_weight

from linsep import (
    BalancedWinnow,
    KernelPerceptron,
    LogisticRegression,
    MarginPerceptron,
    PassiveAggressive,
    Perceptron,
    Winnow,
)
from linsep.estimators import labels
from linsep.sources.arrays import ArraySource
from storages import blobs

FEW = {"max_iter": 4, "shuffle": False}
ONLINE = [
    *(Perceptron(multiclass=how, **FEW) for how in ("native", "ovr", "ovo")),
    Perceptron(update="batch", **FEW),
    MarginPerceptron(gamma=0.1, **FEW),
    PassiveAggressive(**FEW),
    Winnow(**FEW),
    BalancedWinnow(**FEW),
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
@settings(max_examples=30)
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


@pytest.mark.parametrize("model", [Perceptron(update="batch", **FEW), LOGISTIC], ids=str)
def test_balanced_counts_whole_weights_as_repeated_rows(model):
    X, y, weight = unequal()
    times = weight.astype(int)
    model = clone(model).set_params(class_weight="balanced")
    weighted = clone(model).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert np.allclose(weighted.coef_, repeated.coef_, rtol=1e-9, atol=1e-9)
    assert np.allclose(weighted.intercept_, repeated.intercept_, rtol=1e-9, atol=1e-9)


def test_balanced_logistic_regression_is_that_of_scikit_learn():
    X, y, weight = unequal()
    ours = LogisticRegression(l2=1.0, class_weight="balanced").fit(X, y, weight)
    theirs = linear_model.LogisticRegression(class_weight="balanced", tol=1e-10, max_iter=10_000)
    theirs.fit(X, y, weight)
    assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-7)


def test_a_hundred_rows_of_weight_zero_change_nothing():
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    four = LogisticRegression(l2=1.0, class_weight="balanced").fit(X, y)
    weight = [1.0] * 4 + [0.0] * 100
    many = LogisticRegression(l2=1.0, class_weight="balanced")
    many.fit(X + [[5.0]] * 100, y + [1] * 100, weight)
    assert many.intercept_ == pytest.approx(four.intercept_, abs=1e-9)


def test_winnow_counts_class_weights_of_a_source_as_given():
    X, y, _ = unequal(k=2)
    model = Winnow(class_weight={0: 0.5, 1: 0.25}, **FEW)
    streamed = clone(model).fit(ArraySource(X, y))
    assert streamed.coef_.tolist() == model.fit(X, y).coef_.tolist()
