"""Fits have the same bits for any number of BLAS threads."""

import warnings

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from linsep import GaussianNaiveBayes, LinearRegression, LogisticRegression

pytestmark = pytest.mark.compiled
rng = np.random.default_rng(0)
WIDE, LONG = rng.normal(size=(400, 300)), rng.normal(size=(3000, 60))
LONG[:, 2] = np.arange(3000) % 9 == 0
Y = (LONG[:, 0] + LONG[:, 1] + 2 * rng.logistic(size=3000) > 0).astype(int)
Y[LONG[:, 2] > 0] = 1  # quasi-separable
FITS = {
    "linear": lambda: LinearRegression().fit(WIDE, WIDE[:, 0] + WIDE[:, 1] ** 2),
    "logistic": lambda: LogisticRegression().fit(LONG[:, 3:], Y),
    "quasi-separable": lambda: LogisticRegression().fit(LONG, Y),
    "bayes": lambda: GaussianNaiveBayes().fit(LONG, Y),
}


def bits(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = FITS[name]()
    if name == "bayes":
        return [model.means_, model.variances_]
    if name == "linear":
        return [model.coef_, model._fitted.root]
    return [model.coef_, model.intercept_, model.covariance_]


@pytest.mark.parametrize("name", FITS)
def test_the_bits_do_not_depend_on_the_threads_of_blas(name):
    alone = bits(name)
    with threadpool_limits(1, "blas"):
        one = bits(name)
    for a, b in zip(alone, one, strict=True):
        assert np.array_equal(a, b, equal_nan=True)
