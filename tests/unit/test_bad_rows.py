"""Rows with values that are no numbers: one sentence with the column, the row and what to do."""

import re
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from linsep import (
    GaussianNaiveBayes,
    KernelPerceptron,
    KernelSoftMargin,
    LinearRegression,
    LogisticRegression,
    MarginPerceptron,
    Perceptron,
    separation,
)
from linsep.errors import DataError
from thoroughness import THOROUGH

pytestmark = pytest.mark.compiled
N = 12
Y = np.arange(N) % 2
GOOD = np.random.default_rng(0).normal(size=(N, 2))
ESTIMATORS = [
    Perceptron(), Perceptron(keep="vote"), Perceptron(early_stopping=True), MarginPerceptron(),
    KernelPerceptron(), KernelSoftMargin(), LinearRegression(), LogisticRegression(l2=1.0),
    GaussianNaiveBayes(),
]  # fmt: skip
VALUES = {
    "mixed": ([*range(11), "x"], "('x' in row 12 (index 11))"),
    "dates": (pd.date_range("2020-01-01", periods=N), "holds dates in column 'b': give numbers"),
    "days": ([date(2020, 1, 1)] * N, "holds dates in column 'b': give numbers"),
    "durations": (pd.to_timedelta(np.arange(N), unit="D"), "holds durations in column 'b'"),
    "hours": (np.array([timedelta(hours=1)] * N, dtype=object), "holds durations in column 'b'"),
    "complex": (np.ones(N) * 1j, "Complex data not supported: they are in column 'b'"),
    "missing": (pd.array([1, None] * 6, dtype="Int64"), "NaN in column 'b', row 2 (index"),
    "None": (np.array([1.0, 2.0, None] * 4, dtype=object), "NaN in column 'b', row 3 (index"),
    "not a date": ([pd.NaT] * N, "in column 'b'"),
    "nan": ([*range(11), np.nan], "contains NaN in column 'b', row 12 (index 11): fill it"),
    "inf": ([*range(9), -np.inf, 1, 2], "infinity in column 'b', row 10 (index 9): give a"),
}


def assert_refused(call, words):
    with pytest.raises(DataError, match=re.escape(words)) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (estimator, name)
        for (k, estimator), (j, name) in product(enumerate(ESTIMATORS), enumerate(VALUES))
        if THOROUGH or k == 0 or (j + k) % 4 == 0  # every value with the first, some with others
    ],
    ids=str,
)
def test_a_column_of_a_data_frame_is_named(estimator, name):
    values, words = VALUES[name]
    X = pd.DataFrame({"a": GOOD[:, 0], "b": values}, index=np.arange(N) + 100)
    assert_refused(lambda: estimator.fit(X, Y), words)
    model = estimator.fit(pd.DataFrame(GOOD, columns=["a", "b"]), Y)
    assert_refused(lambda: model.predict(X), words)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize("made", [np.array, np.ndarray.tolist, sp.csr_array, sp.csc_array])
def test_a_feature_of_an_array_is_numbered(estimator, made):
    if made is np.ndarray.tolist and isinstance(estimator, KernelPerceptron | KernelSoftMargin):
        pytest.skip("lists are objects to kernels")
    X = GOOD.copy()
    X[7, 1] = np.nan
    assert_refused(lambda: estimator.fit(made(X), Y), "contains NaN in feature 1, row 8 (index 7)")


def test_columns_of_an_array_have_the_names_of_fit():
    model = LogisticRegression(l2=1.0).fit(pd.DataFrame(GOOD, columns=["a", "b"]), Y)
    with pytest.warns(UserWarning, match="valid feature names"):
        assert_refused(
            lambda: model.predict([[1.0, np.inf]]),
            "contains infinity in column 'b', row 1 (index 0)",
        )


def test_other_columns_than_those_of_fit_are_told_first():
    model = Perceptron().fit(pd.DataFrame(GOOD, columns=["a", "b"]), Y)
    other = pd.DataFrame({"a": [1.0], "c": ["red"]})
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(other)


def test_two_columns_of_one_name():
    X = pd.DataFrame(GOOD.astype(object), columns=["a", "a"])
    assert_refused(lambda: Perceptron().fit(X, Y), "has 2 columns named 'a': rename all but one")


def test_numbers_of_other_types_are_numbers():
    X = np.array([[Fraction(1, 2), Decimal("3.5"), "4"], [1, True, "5"]] * 3, dtype=object)
    model = Perceptron().fit(X, [0, 1] * 3)
    same = Perceptron().fit(X.astype(float), [0, 1] * 3)
    np.testing.assert_array_equal(model.coef_, same.coef_)


def test_what_scikit_learn_says_of_other_objects_stays():
    with pytest.raises(TypeError, match=r"argument must be .* string.* number"):
        Perceptron().fit(np.array([[{}, 1.0], [2.0, 1.0]], dtype=object), [0, 1])
    with pytest.raises(ValueError, match="inhomogeneous"):
        Perceptron().fit([[1.0], [1.0, 2.0]], [0, 1])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_separation_names_column_and_row(value):
    X = pd.DataFrame(GOOD, columns=["a", "b"])
    X.loc[5, "b"] = value
    what = "NaN" if np.isnan(value) else "infinity"
    assert_refused(lambda: separation(X, Y), f"{what} in column 'b', row 6 (index 5)")
    assert_refused(lambda: separation(X.to_numpy(), Y), f"{what} in feature 1, row 6 (index 5)")
