"""Logistic regressions that begin at the weights of the last fit."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris

from linsep import LogisticRegression
from linsep.sources.arrays import ArraySource
from refusals import refused

CANCER = load_breast_cancer(return_X_y=True)
IRIS = load_iris(return_X_y=True)
OVERLAPPING = CANCER[0][:, :4], CANCER[1]


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, "source"])
def test_the_maximum_is_the_same_and_near(storage):
    X, y = OVERLAPPING
    rows = (ArraySource(X, y),) if storage == "source" else (storage(X), y)
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
    model.set_params(fit_intercept=True).fit(X, y)
    assert np.allclose(model.params_, LogisticRegression(l2=0.1, reference=0).fit(X, y).params_)


@pytest.mark.thorough
def test_gradient_ascent_goes_on():
    X = OVERLAPPING[0] / OVERLAPPING[0].std(axis=0)
    how = {"solver": "gradient_ascent", "tol": 1e-3, "l2": 1.0, "max_iter": 20_000}
    model = LogisticRegression(warm_start=True, **how).fit(X, OVERLAPPING[1])
    steps = model.n_iter_
    assert model.fit(X, OVERLAPPING[1]).n_iter_ < steps / 10


def test_bad_input():
    X, y = OVERLAPPING
    model = LogisticRegression(warm_start=True).fit(X, y)
    for rows in ((X[:, :3], y), (X, y.astype(str)), (IRIS[0], IRIS[1])):
        with refused(ValueError, "other-model", option="warm_start"):
            model.fit(*rows)
    assert model.set_params(warm_start=False).fit(X[:, :3], y).coef_.shape == (1, 3)
    with refused(ValueError, "conflict", option="warm_start"):
        LogisticRegression(penalty="firth", warm_start=True).fit(X, y)
    with refused(ValueError, "bad-option", option="warm_start"):
        LogisticRegression(warm_start="yes").fit(X, y)
