"""Logistic regressions that begin at the weights of the last fit."""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris

from linsep import LogisticRegression
from refusals import refused

CANCER = load_breast_cancer(return_X_y=True)
IRIS = load_iris(return_X_y=True)
OVERLAPPING = CANCER[0][:, :4], CANCER[1]


def test_the_maximum_is_the_same_and_near():
    rows = OVERLAPPING
    cold = LogisticRegression().fit(*rows)
    warm = LogisticRegression(warm_start=True).fit(*rows)
    assert warm.n_iter_ == cold.n_iter_ > 4
    warm.fit(*rows)
    assert warm.n_iter_ <= 2
    assert warm.limits_.tolist() == ["finite"] * 5
    assert np.allclose(warm.params_, cold.params_, rtol=1e-7)
    assert np.allclose(warm.standard_errors_, cold.standard_errors_, rtol=1e-6)


def test_another_reference_and_intercept():
    X, y = IRIS[0][:, :2], IRIS[1]
    model = LogisticRegression(l2=0.1, warm_start=True).fit(X, y)
    model.set_params(reference=0).fit(X, y)
    assert model.n_iter_ <= 2
    assert np.allclose(model.params_, LogisticRegression(l2=0.1, reference=0).fit(X, y).params_)
    model.set_params(fit_intercept=False).fit(X, y)
    cold = LogisticRegression(l2=0.1, reference=0, fit_intercept=False).fit(X, y)
    assert np.allclose(model.params_, cold.params_, rtol=1e-6)


def test_bad_input():
    X, y = OVERLAPPING
    model = LogisticRegression(warm_start=True).fit(X, y)
    with refused(ValueError, "other-model", option="warm_start"):
        model.fit(X[:, :3], y)
    with refused(ValueError, "conflict", option="warm_start"):
        LogisticRegression(penalty="firth", warm_start=True).fit(X, y)
