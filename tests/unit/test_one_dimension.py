"""A column given for rows: a Series of pandas, or what behaves like that of polars."""

import numpy as np
import pandas as pd
import pytest

import linsep
from linsep import (
    GaussianNaiveBayes,
    KernelPerceptron,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    Winnow,
)
from refusals import refused

pytestmark = pytest.mark.uncompiled

X, Y = np.array([[0.1], [0.2], [0.9], [0.7], [0.3], [0.4]]), np.array([0, 0, 1, 1, 1, 0])
ESTIMATORS = [
    Perceptron, Winnow, LinearRegression, LogisticRegression, GaussianNaiveBayes, KernelPerceptron,
]  # fmt: skip


class Series:
    """As in polars: no ``ndim``, no ``iloc``, and ``to_frame``."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def __len__(self):
        return len(self.values)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)

    def to_frame(self):
        return pd.DataFrame({"x": self.values})


COLUMNS = [pd.Series(X[:, 0]), pd.Series(X[:, 0], name="width"), Series(X[:, 0])]
FITTED = Perceptron().fit(X, Y)
ASKED = {
    "separation": lambda x: linsep.separation(x, Y),
    "bounds": lambda x: linsep.bounds(x, Y),
    "bounds of a run": lambda x: FITTED.bounds(x, Y),
    "margin": lambda x: linsep.geometric_margin(FITTED, x, Y),
    "reflection": lambda x: linsep.reflection(x, Y),
    "trace": lambda x: linsep.trace(Perceptron(), x, Y),
    "plot": lambda x: FITTED.plot(x, Y),
    "verify": lambda x: linsep.separation(X, Y).verify(x, Y),
}


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_series_is_no_table(estimator, column):
    with refused(ValueError, "shape"):
        estimator().fit(column, Y)
    model = estimator().fit(X, Y)
    with refused(ValueError, "shape"):
        model.predict(column)


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("what", ASKED)
def test_nor_is_it_anywhere_else(what, column):
    with refused(ValueError, "shape"):
        ASKED[what](column)


def test_a_series_of_strings_is_for_kernels_of_strings():
    words = pd.Series(["ab", "ba", "abab", "bb", "aa", "b"])
    assert (
        KernelPerceptron(kernel=linsep.kernels.Spectrum(2)).fit(words, Y).predict(words).shape
        == Y.shape
    )
