"""Input that is no rows or no labels: an error with a code, the row, the column or the option."""

from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.dtypes import StringDType
from sklearn.base import clone

from linsep import (
    GaussianNaiveBayes,
    KernelPerceptron,
    KernelSoftMargin,
    LinearRegression,
    LogisticRegression,
    Perceptron,
)
from linsep.parameters import parameters_of
from refusals import refused
from storages import SCHEMES, blobs, classes_of, store, weights
from thoroughness import met

N = 12
Y = np.arange(N) % 2
GOOD = np.random.default_rng(0).normal(size=(N, 2))
ESTIMATORS = [
    Perceptron(), Perceptron(early_stopping=True), KernelPerceptron(), KernelSoftMargin(),
    LinearRegression(), LogisticRegression(l2=1.0), GaussianNaiveBayes(),
]  # fmt: skip
CLASSIFIERS = [Perceptron(), KernelPerceptron(), LogisticRegression(l2=1.0), GaussianNaiveBayes()]
DAYS = pd.date_range("2020-01-01", periods=N)
#: columns of frames, with the code and the row of the error
VALUES = [
    ([*range(11), "x"], "not-a-number", 12),
    (DAYS, "column-type", 1),
    (DAYS - DAYS[0], "column-type", 1),
    ([date(2020, 1, 1)] * N, "column-type", 1),
    (np.ones(N) * 1j, "column-type", 1),
    (pd.array([1, None] * 6, dtype="Int64"), "missing-value", 2),
    (np.array([1.0, 2.0, None] * 4, dtype=object), "missing-value", 3),
    ([*range(11), np.nan], "missing-value", 12),
    ([*range(9), -np.inf, 1, 2], "not-finite", 10),
]


@pytest.fixture(autouse=True)
def quiet():
    """Loops that are not compiled warn of what they refuse."""
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_a_column_of_a_data_frame_is_named(estimator):
    for values, code, row in VALUES:
        X = pd.DataFrame({"a": GOOD[:, 0], "b": values}, index=np.arange(N) + 100)
        with refused(ValueError, code, row=row, column="b"):
            estimator.fit(X, Y)
    model = estimator.fit(pd.DataFrame(GOOD, columns=["a", "b"]), Y)
    with refused(ValueError, code, row=row, column="b"):
        model.predict(X)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_a_feature_of_an_array_is_numbered(estimator):
    X = GOOD.copy()
    X[7, 1] = np.nan
    for made in (np.array, sp.csr_array, sp.csc_array):
        with refused(ValueError, "missing-value", row=8, column=1):
            estimator.fit(made(X), Y)
    with refused(ValueError, "column-type"):
        estimator.fit(DAYS.to_numpy()[:, None], Y)
    with refused(ValueError, "column-type", column="d"):
        estimator.fit(pa.table({"a": Y, "d": DAYS}), Y)


@pytest.mark.parametrize(
    ("scheme", "storage", "bad"),
    met(SCHEMES, ("dense32", "dense64", "csr32", "csr64"), [np.nan, np.inf, -np.inf]),
)
def test_values_that_are_not_finite_leave_no_trace(scheme, storage, bad):
    k, multiclass = classes_of(scheme)
    values, y = blobs(20, 3, k)
    model = Perceptron(multiclass=multiclass, max_iter=2).fit(store(values, storage), y)
    before, code = weights(model), "missing-value" if np.isnan(bad) else "not-finite"
    for row, column in ((0, 0), (19, 2)):
        spoilt = values.copy()
        spoilt[row, column] = bad
        X = store(spoilt, storage)
        for call in (lambda X, y: clone(model).fit(X, y), model.partial_fit):
            with refused(ValueError, code, row=row + 1, column=column):
                call(X, y)
        for call in (model.predict, model.decision_function):
            with refused(ValueError, code, row=row + 1, column=column):
                call(X)
        assert weights(model) == before


@pytest.mark.parametrize("scheme", SCHEMES)
def test_scores_beyond_floating_point(scheme):
    k, multiclass = classes_of(scheme)
    X = np.ones((6, 2))
    X[4] = 1.5e308
    y = np.arange(6) % k
    model = Perceptron(multiclass=multiclass).partial_fit(X[:4], y[:4], classes=range(k))
    # The scores of all machines but the last stay finite; one of them would ask for an update.
    model.fitted_run().state.split(model.fitted_run().state.W)[0][:] = 0.0
    model.fitted_run().state.split(model.fitted_run().state.W)[0][-1] = 1000.0
    before, updates = weights(model), model.n_updates_
    with refused(ValueError, "overflow", row=1):
        model.partial_fit(X[4:], y[4:])
    assert (weights(model), model.n_updates_) == (before, updates)


#: labels of twelve rows, and the code of the error
LABELS = [
    (["a"] * N, "class-count"), ([True] * N, "class-count"),
    (np.array(["a", None, "b"] * 4, dtype=object), "missing-value"),
    (np.array([0.0, 1.0, np.nan] * 4), "missing-value"),
    (pd.Categorical(["a", None, "b"] * 4), "missing-value"),
    (pd.array([1, None, 2] * 4, dtype="Int64"), "missing-value"),
    (np.array([0, "a", 1] * 4, dtype=object), "label-type"),
    (np.array([Decimal(1), Decimal(2)] * 6), "label-type"),
    (pd.cut(np.arange(float(N)), 2), "label-type"),
    ([0.5, 1.7, 2.2] * 4, "label-type"), ([0, 1, 1j] * 4, "label-type"),
    ([b"no", b"yes"] * 6, "label-type"), ([1, "no"] * 6, "label-type"),
    (np.array(["no", np.nan] * 6, dtype=StringDType(na_object=np.nan)), "missing-value"),
    ([-1, 2**63 + 1] * 6, "not-exact"),
    (None, "no-labels"), (Y[:-1], "shape"),
]  # fmt: skip


def test_labels_that_are_missing_or_no_labels():
    for model in CLASSIFIERS:
        for y, code in LABELS:
            with refused(ValueError, code):
                clone(model).fit(GOOD, y)
        given = clone(model).fit(GOOD, Y.astype(object))
        assert given.classes_.tolist() == [0, 1]
        same = clone(model).fit(GOOD, Y)
        assert np.array_equal(given.decision_function(GOOD), same.decision_function(GOOD))
    with pytest.raises(ValueError, match="1d array"):
        Perceptron().fit(np.eye(3), np.eye(3))
    with refused(ValueError, "not-a-number"):
        LinearRegression().fit(GOOD, DAYS)


@pytest.mark.parametrize("classes", [["a", "b"], ["a", "b", "c"]])
def test_labels_that_are_not_in_classes(classes):
    X = np.eye(3)
    model = Perceptron().partial_fit(X, ["a", "b", "a"], classes=classes)
    before = weights(model)
    for y, more in ((["a", "new", "b"], {}), ([0, 1, 1], {}), (["a"] * 3, {"classes": ["a", "z"]})):
        with refused(ValueError, "unknown-label"):
            model.partial_fit(X, y, **more)
    assert weights(model) == before
    with refused(ValueError, "needs-option", option="classes"):
        Perceptron().partial_fit(X, ["a", "b", "a"])
    with refused(ValueError, "unknown-label"):
        Perceptron().partial_fit(X, [5, 6, 7], classes=["a", "b", "c"])
    with refused(ValueError, "class-count"):
        Perceptron().partial_fit(X, [1, 1, 1], classes=[1])


def test_rows_that_are_no_table_of_numbers():
    for X in (np.ones(3), np.ones((3, 0)), [[1.0], [1.0, 2.0], [3.0]]):
        with pytest.raises(ValueError, match=r"array|sample|feature"):
            Perceptron().fit(X, [0, 1, 0])
    with refused(ValueError, "not-a-number", row=1, column=1):
        Perceptron().fit(np.array([["1", "x"], ["2", "y"]], dtype=object), [0, 1])
    X = np.array([[Fraction(1, 2), Decimal("3.5"), "4"], [1, True, "5"]] * 3, dtype=object)
    model, same = (Perceptron().fit(rows, [0, 1] * 3) for rows in (X, X.astype(float)))
    np.testing.assert_array_equal(model.coef_, same.coef_)


def test_columns_that_are_others_than_those_of_fit():
    model = LogisticRegression(l2=1.0).fit(pd.DataFrame(GOOD, columns=["a", "b"]), Y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(pd.DataFrame({"a": [1.0], "c": ["red"]}))
    with (
        pytest.warns(UserWarning, match="valid feature names"),
        refused(ValueError, "not-finite", row=1, column="b"),
    ):
        model.predict([[1.0, np.inf]])


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


def test_parameters_out_of_range():
    X, y = blobs(12, 3)
    for parameter in parameters_of(Perceptron).values():
        for value in wrong_values(parameter):
            model = Perceptron(**{parameter.name: value})
            with refused(ValueError, "bad-option", option=parameter.name):
                model.fit(X, y)
            with refused(ValueError, "bad-option", option=parameter.name):
                model.partial_fit(X, y, classes=[0, 1, 2])
            assert not hasattr(model, "coef_")
    model = Perceptron(max_iter=np.int64(3), shuffle=np.bool_(False), learning_rate=np.float32(0.5))
    assert model.fit(X, y).n_iter_ <= 3
    model = Perceptron(multiclass="ovr").fit(X, y)
    with refused(ValueError, "conflict", option="multiclass"):
        model.set_params(multiclass="native").partial_fit(X, y)


def test_weights_of_rows_and_classes():
    X, y = blobs(12, 3)
    for weight, code, row in (
        (np.ones(5), "shape", None), (np.ones((12, 1)), "shape", None),
        (np.r_[np.ones(11), -1.0], "out-of-range", 12),
        (np.r_[1.0, np.nan, np.ones(10)], "out-of-range", 2),
        (np.r_[np.inf, np.ones(11)], "out-of-range", 1),
        (["1"] * 12, "not-a-number", None), ([1 + 1j] * 12, "not-a-number", None),
    ):  # fmt: skip
        with refused(ValueError, code, row=row):
            Perceptron().fit(X, y, sample_weight=weight)
        with refused(ValueError, code, row=row):
            Perceptron().partial_fit(X, y, classes=[0, 1, 2], sample_weight=weight)
    for weight in (np.zeros(12), 0.0):
        with refused(ValueError, "no-rows"):
            Perceptron().fit(X, y, sample_weight=weight)
        # More rows may come to partial_fit, whose weights are not zero.
        model = Perceptron().partial_fit(X, y, classes=[0, 1, 2], sample_weight=weight)
        assert model.n_updates_ == 0
    for weight, code in (
        ("heavy", "bad-option"), ({9: 1.0}, "unknown-label"),
        ({0: -1.0, 1: 1.0, 2: 1.0}, "out-of-range"),
        (dict.fromkeys(range(3), 0.0), "no-rows"),
    ):  # fmt: skip
        with refused(ValueError, code):
            Perceptron(class_weight=weight).fit(X, y)
    with refused(ValueError, "unsupported", option="class_weight"):
        Perceptron(class_weight="balanced").partial_fit(X, y, classes=[0, 1, 2])


def test_initial_weights_of_the_wrong_shape():
    X, y = blobs(40, 5, 4)
    for coef, intercept, option in (
        (np.ones((3, 5)), None, "coef_init"), (np.ones(5), None, "coef_init"),
        (None, np.ones(3), "intercept_init"), (None, 1.0, "intercept_init"),
    ):  # fmt: skip
        model = Perceptron()
        with refused(ValueError, "shape", option=option):
            model.fit(X, y, coef_init=coef, intercept_init=intercept)
        assert not hasattr(model, "coef_")
