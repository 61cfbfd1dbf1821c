"""Input that is no rows or no labels: one sentence with the column, the row and what to do."""

import re
from contextlib import contextmanager
from datetime import date, time, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import linsep
from linsep import (
    GaussianNaiveBayes,
    KernelPerceptron,
    KernelSoftMargin,
    LinearRegression,
    LogisticRegression,
    MarginPerceptron,
    Perceptron,
)
from linsep.errors import DataError
from linsep.parameters import parameters_of
from refusals import refused
from storages import SCHEMES, STORAGES, blobs, classes_of, store, weights
from thoroughness import THOROUGH, met

STORED = ("dense32", "dense64", "csr32", "csr64")


@contextmanager
def assert_refuses(*words):
    """What happens inside raises a ValueError whose message has all these words."""
    with (
        np.errstate(all="ignore"),
        pytest.raises(ValueError, match=re.escape(words[0])) as caught,
    ):
        yield
    for word in words:
        assert word in str(caught.value)


# Values that are not numbers.


@pytest.mark.parametrize(
    ("scheme", "storage", "bad"), met(SCHEMES, STORED, [np.nan, np.inf, -np.inf])
)
def test_values_that_are_not_finite(scheme, storage, bad):
    k, multiclass = classes_of(scheme)
    values, y = blobs(20, 3, k)
    good = store(values, storage)
    for row, column in ((0, 0), (19, 2)):
        spoilt = values.copy()
        spoilt[row, column] = bad
        X = store(spoilt, storage)
        word = "NaN" if np.isnan(bad) else "infinity"
        model = Perceptron(multiclass=multiclass, max_iter=2)
        with assert_refuses("Input X contains", word):
            model.fit(X, y)
        assert not hasattr(model, "coef_")
        model.fit(good, y)
        before = weights(model)
        with assert_refuses("Input X contains", word):
            model.partial_fit(X, y)
        assert weights(model) == before
        with assert_refuses("Input X contains", word):
            model.predict(X)
        with assert_refuses("Input X contains", word):
            model.decision_function(X)


def test_values_that_are_not_finite_are_seen_among_the_held_out_rows():
    X, y = blobs(40, 3, 2)
    for row in range(40):
        spoilt = X.copy()
        spoilt[row, 1] = np.nan
        model = Perceptron(early_stopping=True, validation_fraction=0.5, max_iter=1)
        with assert_refuses("NaN"):
            model.fit(spoilt, y)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_scores_beyond_floating_point(scheme, storage):
    k, multiclass = classes_of(scheme)
    X = np.full((8, 3), 1.0)
    y = np.arange(8) % k
    huge = store(X * 1e38, storage)
    model = Perceptron(multiclass=multiclass, learning_rate=1e308, max_iter=3)
    with assert_refuses("Row ", "the score overflows", "choose a smaller learning rate"):
        model.fit(huge, y)
    assert not hasattr(model, "coef_")
    with assert_refuses("Row ", "the score overflows", "rows before it were used"):
        model.partial_fit(huge, y, classes=range(k))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_row_that_cannot_be_scored_is_named_and_leaves_no_trace(scheme):
    k, multiclass = classes_of(scheme)
    X, y = np.ones((6, 2)), np.arange(6) % k
    X[4] = 1.5e308
    model = Perceptron(multiclass=multiclass).partial_fit(X[:4], y[:4], classes=range(k))
    # The scores of all machines but the last stay finite; one of them would ask for an update.
    model.fitted_run().state.split(model.fitted_run().state.W)[0][:] = 0.0
    model.fitted_run().state.split(model.fitted_run().state.W)[0][-1] = 1000.0
    before, updates = weights(model), model.n_updates_
    with assert_refuses("Row 1 (index 0): the score", "scale the features"):
        model.partial_fit(X[4:], y[4:])
    assert weights(model) == before
    assert model.n_updates_ == updates
    with assert_refuses("Row 5 (index 4): the score", "scale the features"):
        Perceptron(multiclass=multiclass, shuffle=False).fit(X, y, coef_init=model.coef_)


# Labels.


@pytest.mark.parametrize("y", [[1, 1, 1], ["a"] * 3, [True] * 3])
def test_one_class_only(y):
    X = np.eye(3)
    with assert_refuses("Only one class", repr(y[0]), "at least two classes"):
        Perceptron().fit(X, y)
    with assert_refuses("Only one class"):
        Perceptron().partial_fit(X, y, classes=y[:1])


@pytest.mark.parametrize("classes", [["a", "b"], ["a", "b", "c"]])
def test_labels_that_are_not_in_classes(classes):
    X = np.eye(3)
    model = Perceptron().partial_fit(X, ["a", "b", "a"], classes=classes)
    before = weights(model)
    words = ("not in classes", "'new'", "list every label in the first call")
    with assert_refuses(*words):
        model.partial_fit(X, ["a", "new", "b"])
    with assert_refuses("classes differ"):
        model.partial_fit(X, ["a", "a", "b"], classes=["a", "z"])
    with assert_refuses("not in classes", "0, 1"):
        model.partial_fit(X, [0, 1, 1])
    assert weights(model) == before
    with assert_refuses("classes must be passed"):
        Perceptron().partial_fit(X, ["a", "b", "a"])
    with assert_refuses("not in classes"):
        Perceptron().partial_fit(X, [5, 6, 7], classes=["a", "b", "c"])


def test_labels_that_are_missing_or_no_labels():
    X = np.eye(3)
    with assert_refuses("requires y", "None"):
        Perceptron().fit(X, None)
    with assert_refuses("requires y", "None"):
        Perceptron().fit(X)
    with assert_refuses("requires y", "None"):
        Perceptron().partial_fit(X, None, classes=[0, 1])
    with assert_refuses("Unknown label type", "continuous"):
        Perceptron().fit(X, [0.5, 1.7, 2.2])
    with assert_refuses("Complex data not supported: y holds complex numbers: give real numbers."):
        Perceptron().fit(X, [0, 1, 1j])
    with assert_refuses("Input y contains NaN"):
        Perceptron().fit(X, [0.0, np.nan, 1.0])
    with assert_refuses("1d array"):
        Perceptron().fit(X, np.eye(3))
    with assert_refuses("X has 3 rows, y has 2"):
        Perceptron().fit(X, [0, 1])
    with assert_refuses("X has 3 rows, y has 2"):
        Perceptron().partial_fit(X, [0, 1], classes=[0, 1])


# The shape of things.


@pytest.mark.parametrize("storage", STORED)
def test_a_feature_count_that_changes(storage):
    X, y = blobs(12, 3)
    model = Perceptron().fit(store(X, storage), y)
    for width in (2, 4):
        other = store(np.ones((2, width)), storage)
        words = (f"X has {width} features", "expecting 3 features")
        with assert_refuses(*words):
            model.predict(other)
        with assert_refuses(*words):
            model.partial_fit(other, y[:2])


def test_rows_that_are_no_table_of_numbers():
    with assert_refuses("Expected 2D array", "reshape"):
        Perceptron().fit(np.ones(3), [0, 1, 0])
    with assert_refuses("dim 3"):
        Perceptron().fit(np.ones((2, 2, 2)), [0, 1])
    with assert_refuses("0 sample(s)", "minimum of 1"):
        Perceptron().fit(np.ones((0, 2)), [])
    with assert_refuses("0 feature(s)", "minimum of 1"):
        Perceptron().fit(np.ones((2, 0)), [0, 1])
    words = np.array([["1", "x"], ["2", "y"]], dtype=object)
    with assert_refuses("holds text in feature 1 ('x' in row 1"):
        Perceptron().fit(words, [0, 1])
    with assert_refuses("Complex data not supported"):
        Perceptron().fit(np.ones((2, 2)) * 1j, [0, 1])


@pytest.mark.parametrize("multiclass", ["native", "ovr", "ovo"])
def test_initial_weights_of_the_wrong_shape(multiclass):
    X, y = blobs(40, 5, 4)
    machines = 6 if multiclass == "ovo" else 4
    for coef in (np.ones((3, 5)), np.ones((machines, 4)), np.ones(5), np.ones((1, 5)), 1.0):
        words = ("coef_init has shape", str(np.shape(np.atleast_1d(coef))), f"({machines}, 5)")
        model = Perceptron(multiclass=multiclass)
        with assert_refuses(*words):
            model.fit(X, y, coef_init=coef)
        assert not hasattr(model, "coef_")
    for intercept in (np.ones(3), np.ones((1, machines)), 1.0):
        words = ("intercept_init has shape", f"({machines},)")
        with assert_refuses(*words):
            Perceptron(multiclass=multiclass).fit(X, y, intercept_init=intercept)
    bad = np.full((machines, 5), np.nan)
    with assert_refuses("coef_init", "NaN"):
        Perceptron(multiclass=multiclass).fit(X, y, coef_init=bad)


# Parameters, from the table of specs.


def wrong_values(parameter):
    """Values just outside what a parameter takes, and of another type."""
    yield from (None, [1], "high")
    if parameter.kind is not bool and True not in parameter.also:
        yield True
    if parameter.kind in (int, float):
        for bound, outside, excluded in (
            (parameter.at_least, -1, False), (parameter.above, -1, True),
            (parameter.at_most, 1, False), (parameter.below, 1, True),
        ):  # fmt: skip
            if np.isfinite(bound):
                yield parameter.kind(bound + outside)
                if excluded:
                    yield bound
        yield from (np.nan, np.inf)
        if parameter.kind is int:
            yield parameter.at_least + 0.5
    if parameter.kind is bool:
        yield 2


@pytest.mark.parametrize("parameter", parameters_of(Perceptron).values(), ids=lambda p: p.name)
def test_parameters_out_of_range(parameter):
    X, y = blobs(12, 3)
    for value in wrong_values(parameter):
        model = Perceptron(**{parameter.name: value})
        words = (f"{parameter.name} of Perceptron must be", repr(value))
        with assert_refuses(*words, *parameter.choices):
            model.fit(X, y)
        with assert_refuses(*words):
            model.partial_fit(X, y, classes=[0, 1, 2])
        assert not hasattr(model, "coef_")


def test_parameters_of_numpy_types_are_taken():
    X, y = blobs(12, 3)
    model = Perceptron(
        max_iter=np.int64(3), shuffle=np.bool_(False), learning_rate=np.float32(0.5), verbose=True
    )
    assert model.fit(X, y).n_iter_ <= 3


def test_a_learner_changed_between_calls():
    X, y = blobs(12, 3)
    model = Perceptron(multiclass="ovr").fit(X, y)
    with assert_refuses("partial_fit needs the multiclass of the last fit; set it back"):
        model.set_params(multiclass="native").partial_fit(X, y)
    with assert_refuses("the multiclass and fit_intercept of the last fit; set them back"):
        model.set_params(fit_intercept=False).partial_fit(X, y)


# Weights of rows and classes.


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (np.ones(5), ("sample_weight has shape (5,)", "12 rows")),
        (np.ones((12, 1)), ("sample_weight has shape (12, 1)",)),
        (np.r_[np.ones(11), -1.0], ("sample_weight of row 12 (index 11) is -1.0", "at least 0")),
        (np.r_[1.0, np.nan, np.ones(10)], ("sample_weight of row 2 (index 1) is nan", "finite")),
        (np.r_[np.inf, np.ones(11)], ("sample_weight of row 1 (index 0) is inf", "finite")),
        (["heavy"] * 12, ("sample_weight holds values that are not numbers: pass numbers",)),
        (["1"] * 12, ("sample_weight holds values that are not numbers",)),
        ([1 + 1j] * 12, ("sample_weight holds values that are not numbers",)),
    ],
)
def test_sample_weight(weight, words):
    X, y = blobs(12, 3)
    with assert_refuses(*words):
        Perceptron().fit(X, y, sample_weight=weight)
    with assert_refuses(*words):
        Perceptron().partial_fit(X, y, classes=[0, 1, 2], sample_weight=weight)


@pytest.mark.parametrize("weight", [np.zeros(12), 0.0])
def test_sample_weight_that_is_zero_everywhere(weight):
    X, y = blobs(12, 3)
    with assert_refuses("All values of sample_weight are zero, so there are no rows to train on."):
        Perceptron().fit(X, y, sample_weight=weight)
    # More rows may come to partial_fit, whose weights are not zero.
    assert Perceptron().partial_fit(X, y, classes=[0, 1, 2], sample_weight=weight).n_updates_ == 0


def test_class_weight():
    X, y = blobs(12, 3)
    with assert_refuses("class_weight", "balanced"):
        Perceptron(class_weight="heavy").fit(X, y)
    with assert_refuses("class_weight names", "but the classes are 0, 1, 2"):
        Perceptron(class_weight={9: 1.0}).fit(X, y)
    model = Perceptron(class_weight="balanced")
    with assert_refuses("class_weight='balanced'", "dict"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    for weight in (-1.0, np.nan, np.inf):
        model = Perceptron(class_weight={0: weight, 1: 1.0, 2: 1.0})
        words = ("class weight of 0", "finite and at least 0")
        with assert_refuses(*words):
            model.fit(X, y)
        with assert_refuses(*words):
            model.partial_fit(X, y, classes=[0, 1, 2])
    nothing = Perceptron(class_weight=dict.fromkeys(range(3), 0.0))
    with assert_refuses("No row is left for training"):
        nothing.fit(X, y)


FITS_THAT_LOOK_ELSEWHERE: tuple[dict[str, Any], ...] = (
    {"keep": "vote", "early_stopping": True, "validation_fraction": 0.5},
    {"keep": "best"},
    {"normalize": True},
    {"update": "batch"},
    {"warm_start": True},
)


@pytest.mark.parametrize("index", ["i4", "i8"])
@pytest.mark.parametrize("column", [-1, 3, 2**31 - 1])
def test_columns_outside_a_sparse_matrix_are_refused(index, column):
    X = sp.csr_matrix(np.eye(3))
    X.indices = np.array([0, column, 2], index)
    X.indptr = X.indptr.astype(index)
    model = Perceptron().fit(np.eye(3), [0, 1, 0])
    fits = [clone(model).set_params(**p).fit for p in FITS_THAT_LOOK_ELSEWHERE]
    for call in (lambda X, y: model.predict(X), model.partial_fit, *fits, model.fit):
        with assert_refuses("Row 1: X.indices has column", "but X has 3 columns"):
            call(X, [0, 1, 0])
    with assert_refuses("Row 1: X.indices has column"):
        model.fit(X, [0, 1, 1], sample_weight=[1.0, 0.0, 1.0])


@pytest.mark.parametrize("indptr", [[0, 2, 1, 3], [1, 1, 2, 3], [0, 1, 2, 9]])
def test_starts_of_rows_outside_a_sparse_matrix_are_refused(indptr):
    X = sp.csr_matrix(np.eye(3))
    X.indptr = np.array(indptr, np.int32)
    with assert_refuses("The indptr of X does not increase from 0"):
        Perceptron().fit(X, [0, 1, 0])


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


@pytest.mark.compiled
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


@pytest.mark.compiled
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize("made", [np.array, np.ndarray.tolist, sp.csr_array, sp.csc_array])
def test_a_feature_of_an_array_is_numbered(estimator, made):
    if made is np.ndarray.tolist and isinstance(estimator, KernelPerceptron | KernelSoftMargin):
        pytest.skip("lists are objects to kernels")
    X = GOOD.copy()
    X[7, 1] = np.nan
    assert_refused(lambda: estimator.fit(made(X), Y), "contains NaN in feature 1, row 8 (index 7)")


@pytest.mark.compiled
def test_columns_of_an_array_have_the_names_of_fit():
    model = LogisticRegression(l2=1.0).fit(pd.DataFrame(GOOD, columns=["a", "b"]), Y)
    with pytest.warns(UserWarning, match="valid feature names"):
        assert_refused(
            lambda: model.predict([[1.0, np.inf]]),
            "contains infinity in column 'b', row 1 (index 0)",
        )


@pytest.mark.compiled
def test_other_columns_than_those_of_fit_are_told_first():
    model = Perceptron().fit(pd.DataFrame(GOOD, columns=["a", "b"]), Y)
    other = pd.DataFrame({"a": [1.0], "c": ["red"]})
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(other)


@pytest.mark.compiled
def test_numbers_of_other_types_are_numbers():
    X = np.array([[Fraction(1, 2), Decimal("3.5"), "4"], [1, True, "5"]] * 3, dtype=object)
    model = Perceptron().fit(X, [0, 1] * 3)
    same = Perceptron().fit(X.astype(float), [0, 1] * 3)
    np.testing.assert_array_equal(model.coef_, same.coef_)


@pytest.mark.compiled
def test_what_scikit_learn_says_of_other_objects_stays():
    with pytest.raises(TypeError, match=r"argument must be .* string.* number"):
        Perceptron().fit(np.array([[{}, 1.0], [2.0, 1.0]], dtype=object), [0, 1])
    with pytest.raises(ValueError, match="inhomogeneous"):
        Perceptron().fit([[1.0], [1.0, 2.0]], [0, 1])


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
HALVES = np.array([0, 1] * 3)
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


def test_columns_of_dates_are_named():
    for model in MODELS:
        for X, _words in TABLES.values():
            with refused(DataError, "column-type"):
                model().fit(X, HALVES)


@pytest.mark.parametrize("values", [DAYS, DAYS - DAYS[0]])
def test_a_regression_of_dates_is_refused(values):
    with pytest.raises(ValueError, match=r"y holds (dates|durations): give one number per row"):
        linsep.LinearRegression().fit(NUMBERS[:, None], values)


def test_labels_that_are_missing_or_of_several_types_are_named():
    for model in CLASSIFIERS:
        for y, code in LABELS.values():
            with refused(DataError, code):
                model().fit(NUMBERS[:, None], y)


def test_numbers_that_are_objects_are_labels():
    for model in CLASSIFIERS:
        X = NUMBERS[:, None]
        given = model().fit(X, HALVES.astype(object))
        assert given.classes_.tolist() == [0, 1]
        assert np.array_equal(
            given.decision_function(X), model().fit(X, HALVES).decision_function(X)
        )
