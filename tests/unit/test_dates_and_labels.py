"""Columns of dates, and labels that are missing or of several types, are refused by name."""

from datetime import time
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import linsep
from linsep.errors import DataError
from refusals import refused

MODELS = (
    linsep.LinearRegression,
    linsep.LogisticRegression,
    linsep.GaussianNaiveBayes,
    linsep.Perceptron,
    linsep.PassiveAggressive,
    linsep.KernelPerceptron,
)
CLASSIFIERS = MODELS[1:]
DAYS = pd.date_range("2020-01-01", periods=6)
NUMBERS = np.arange(6.0)
Y = np.array([0, 1] * 3)
TABLES = {
    "dates": (pd.DataFrame({"d": DAYS}), "dates in column 'd'"),
    "a missing one": (pd.DataFrame({"d": [pd.NaT, *DAYS[1:]]}), "dates in column 'd'"),
    "with a zone": (pd.DataFrame({"d": DAYS.tz_localize("UTC")}), "dates in column 'd'"),
    "durations": (pd.DataFrame({"d": DAYS - DAYS[0]}), "durations in column 'd'"),
    "numpy's dates": (DAYS.to_numpy()[:, None], "dates in feature 0"),
    "numpy's durations": ((DAYS - DAYS[0]).to_numpy()[:, None], "durations in feature 0"),
    "Arrow's dates": (pa.table({"a": NUMBERS, "d": DAYS}), "dates in column 'd'"),
    "Arrow's in pandas": (
        pd.DataFrame({"d": pd.array(DAYS, dtype="timestamp[us][pyarrow]")}),
        "dates in column 'd'",
    ),
    "times": (pd.DataFrame({"t": [time(1, k) for k in range(6)]}), "times of day in column 't'"),
    "periods": (pd.DataFrame({"p": pd.period_range("2020", periods=6)}), "periods in column 'p'"),
}
LABELS = {
    "None": (np.array(["a", None, "b"] * 2, dtype=object), "missing-value"),
    "nan": (np.array(["a", "b", np.nan] * 2, dtype=object), "missing-value"),
    "float": (np.array([0.0, 1.0, np.nan] * 2), "missing-value"),
    "categories": (pd.Categorical(["a", None, "b"] * 2), "missing-value"),
    "strings": (pd.Series(["a", None, "b"] * 2, dtype="string"), "missing-value"),
    "integers": (pd.array([1, None, 2] * 2, dtype="Int64"), "missing-value"),
    "a date": (pd.Series([DAYS[0], pd.NaT, DAYS[1]] * 2), "missing-value"),
    "mixed": (np.array([0, "a", 1] * 2, dtype=object), "label-type"),
    "decimals": (np.array([Decimal(1), Decimal(2)] * 3), "label-type"),
    "bins": (pd.cut(NUMBERS, 2), "label-type"),
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", TABLES)
def test_columns_of_dates_are_named(model, kind):
    X, _words = TABLES[kind]
    with refused(DataError, "column-type"):
        model().fit(X, Y)


@pytest.mark.parametrize("values", [DAYS, DAYS - DAYS[0]])
def test_a_regression_of_dates_is_refused(values):
    with pytest.raises(ValueError, match=r"y holds (dates|durations): give one number per row"):
        linsep.LinearRegression().fit(NUMBERS[:, None], values)


@pytest.mark.parametrize("model", CLASSIFIERS)
@pytest.mark.parametrize("kind", LABELS)
def test_labels_that_are_missing_or_of_several_types_are_named(model, kind):
    y, code = LABELS[kind]
    with refused(DataError, code):
        model().fit(NUMBERS[:, None], y)


@pytest.mark.parametrize("model", CLASSIFIERS)
def test_numbers_that_are_objects_are_labels(model):
    X = NUMBERS[:, None]
    given = model().fit(X, Y.astype(object))
    assert given.classes_.tolist() == [0, 1]
    assert np.array_equal(given.decision_function(X), model().fit(X, Y).decision_function(X))
