"""Logistic regressions that begin at the weights of the last fit."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris

from linsep import LogisticRegression
from linsep.errors import SeparationWarning
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


@pytest.mark.thorough
def test_a_path_over_penalties_needs_fewer_iterations():
    X, y = CANCER
    path = 10.0 ** -np.arange(6)
    model, warm = LogisticRegression(warm_start=True), []
    for l2 in path:
        warm.append((model.set_params(l2=l2).fit(X, y).n_iter_, model.coef_))
    cold = [LogisticRegression(l2=l2).fit(X, y) for l2 in path]
    assert sum(steps for steps, _ in warm) < 0.8 * sum(one.n_iter_ for one in cold)
    for (_, coef), one in zip(warm, cold, strict=True):
        assert np.allclose(coef, one.coef_, rtol=1e-6, atol=1e-9)


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


def test_columns_far_from_zero():
    X, y = OVERLAPPING[0] + 1e9, OVERLAPPING[1]
    model = LogisticRegression(warm_start=True).fit(X, y)
    coef = model.coef_
    assert model.fit(X, y).n_iter_ <= 2
    assert np.allclose(model.coef_, coef, rtol=1e-6)


@pytest.mark.thorough
def test_separation_is_found_from_everywhere():
    X, y = CANCER
    model = LogisticRegression(warm_start=True)
    for _ in range(3):
        with pytest.warns(SeparationWarning):
            model.fit(X, y)
        assert model.stop_reason_ == "separable"
        assert model.score(X, y) == 1.0
    few = LogisticRegression(warm_start=True)
    with pytest.warns(SeparationWarning):
        few.fit(X[:20, :4], y[:20])
    few.fit(*OVERLAPPING)  # the last weights are far from the maximum
    assert np.allclose(few.params_, LogisticRegression().fit(*OVERLAPPING).params_, rtol=1e-6)


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
