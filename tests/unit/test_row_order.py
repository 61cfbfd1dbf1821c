"""Rows, labels and weights are matched by position; sparse rows that point outside are refused."""

import warnings
from contextlib import suppress
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import linsep
from linsep import (
    GaussianNaiveBayes,
    KernelPerceptron,
    LinearRegression,
    LogisticRegression,
    MarginPerceptron,
    Perceptron,
    descent,
)
from linsep.distributed.collections import _rows
from linsep.errors import DataError
from linsep.plot import DecisionDisplay
from refusals import refused

RNG = np.random.default_rng(3)
N = 24
NAMES = [f"row {k}" for k in range(N)]
X = pd.DataFrame(RNG.normal(size=(N, 2)), index=NAMES, columns=["a", "b"])
Y = pd.Series(np.where(X["a"] + X["b"] > 0, "yes", "no"), index=NAMES)
T = pd.Series(X["a"] * 2 + RNG.normal(size=N), index=NAMES)
ONES = pd.Series(np.ones(N), index=NAMES)
LEARNERS = [
    Perceptron(max_iter=9),
    MarginPerceptron(max_iter=9),
    GaussianNaiveBayes(),
    LogisticRegression(),
]
FITTED = Perceptron().fit(X, Y)
REGRESSION = LinearRegression().fit(X, T)
BAYES = GaussianNaiveBayes().fit(X, Y)
CALLS = {
    **{type(model).__name__: (model.fit, Y) for model in LEARNERS},
    "partial_fit": (lambda X, y: Perceptron().partial_fit(X, y, classes=["no", "yes"]), Y),
    "kernel partial_fit": (
        lambda X, y: KernelPerceptron().partial_fit(X, y, classes=["no", "yes"]), Y
    ),
    "score": (FITTED.score, Y),
    "calibrate": (lambda X, y: linsep.calibrate(Perceptron().fit(X, Y), X, y), Y),
    "separation": (linsep.separation, Y),
    "of an estimator": (FITTED.separation, Y),
    "margin": (lambda X, y: linsep.geometric_margin(FITTED, X, y), Y),
    "bounds": (linsep.bounds, Y),
    "trace": (lambda X, y: linsep.trace(Perceptron(), X, y), Y),
    "reflection": (linsep.reflection, Y),
    "criterion": (descent.perceptron_criterion, Y),
    "decision": (lambda X, y: DecisionDisplay.from_estimator(FITTED, X, y), Y),
    "numbers": (LinearRegression().fit, T),
    "assumptions": (REGRESSION.assumptions, T),
}  # fmt: skip
USUAL = ("Perceptron", "kernel partial_fit", "score", "separation", "trace", "numbers")
every = pytest.mark.parametrize(("call", "y"), [
    pytest.param(*one, id=name, marks=() if name in USUAL else pytest.mark.thorough)
    for name, one in CALLS.items()
])  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*(zero variance|separat|passes|names)")
@every
def test_another_order_is_refused(call, y):
    with refused(DataError, "shape", option="y"):
        call(X, y.iloc[::-1])


@pytest.mark.filterwarnings("ignore:.*(zero variance|separat|passes|names)")
@every
def test_another_order_of_a_fresh_index_is_one_warning(call, y):
    for rows, given in (
        (X.reset_index(drop=True), y.reset_index(drop=True).iloc[::-1]),
        (X.reset_index(drop=True).sample(frac=1, random_state=1), y.reset_index(drop=True)),
    ):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            with suppress(DataError):  # these are not the training rows
                call(rows, given)
        found = [one for one in found if "a different order" in str(one.message)]
        assert len(found) == 1
        assert "y.to_numpy()" in str(found[0].message)


@pytest.mark.filterwarnings("ignore:.*(zero variance|separat|passes|names)")
def test_other_rows_are_matched_by_position():
    for rows, labels in [
        (X, Y.reset_index(drop=True)),  # other labels, such as of rows that were chosen
        (X, Y.iloc[::-1].to_numpy()),
        (X.set_index("a", append=True), Y),
        (X.iloc[::-1], Y.iloc[::-1]),
    ]:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = Perceptron(max_iter=2).fit(rows, labels)
        same = Perceptron(max_iter=2).fit(np.asarray(rows), np.asarray(labels))
        assert model.coef_.tolist() == same.coef_.tolist()


@pytest.mark.filterwarnings("ignore:.*(zero variance|separat|passes|names)")
def test_weights_in_another_order_are_refused():
    for call, y in (
        *((model.fit, Y) for model in LEARNERS),
        (KernelPerceptron(max_iter=2).fit, Y), (FITTED.score, Y), (LinearRegression().fit, T),
    ):  # fmt: skip
        with refused(DataError, "shape", option="sample_weight"):
            call(X, y, sample_weight=ONES.iloc[::-1])
    with refused(DataError, "shape", option="more"):
        REGRESSION.score_test(X, T, ONES.iloc[::-1])
    for model, y in ((LinearRegression(), T), (LogisticRegression(l2=1.0), Y)):
        model.fit(X, y, offset=ONES)
        with refused(DataError, "shape", option="offset"):
            model.predict(X, offset=ONES.iloc[::-1])


def masked(values, hidden=3):
    found = np.ma.array(np.asarray(values), copy=True)
    found[hidden] = np.ma.masked
    return found


@pytest.mark.filterwarnings("ignore:.*(zero variance|separat|passes|names)")
@every
def test_masked_rows_and_labels_are_refused(call, y):
    for rows, labels in ((masked(X), y.to_numpy()), (X.to_numpy(), masked(y))):
        with refused(DataError, "missing-value", row=4):
            call(rows, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = told(call(X.to_numpy(), y.to_numpy()))
        assert told(call(np.ma.array(X.to_numpy()), np.ma.array(y.to_numpy()))) == plain


def told(found):
    """Weights, numbers, or what else can be compared of a result."""
    if getattr(found, "coef_", None) is not None:  # displays have artists of this name
        return found.coef_.tolist()
    return found.tolist() if hasattr(found, "tolist") else found if np.isscalar(found) else None


@pytest.mark.filterwarnings("ignore:.*(zero variance|separat|passes|names)")
def test_masked_rows_have_no_prediction():
    for model in [FITTED, BAYES, REGRESSION, KernelPerceptron().fit(X, Y)]:
        for rows in (masked(X), [*X.to_numpy()[:3], masked(X.to_numpy()[3], 1)]):
            with refused(DataError, "missing-value", row=4):
                model.predict(rows)


@pytest.mark.filterwarnings("ignore:.*(zero variance|separat|passes|names)")
def test_partitions_of_collections_are_checked_too():
    with refused(DataError, "shape", option="y"):
        _rows(X, Y.iloc[::-1])
    with refused(DataError, "shape", option="sample_weight"):
        _rows(X, Y, ONES.iloc[::-1])
    for parts in ((masked(X), Y), (X.to_numpy(), masked(Y)), (X, Y, masked(ONES))):
        with refused(DataError, "missing-value", row=4):
            _rows(*parts)


ROWS = np.eye(4)[[0, 1, 2, 3, 0, 1]] + 2 * np.eye(4)[[1, 2, 3, 3, 2, 0]]
ROWS[0, 0] = 5.0
CODES = np.array([0, 1, 0, 1, 1, 0])


def csr(**changes):
    X = sp.csr_matrix(ROWS)
    X.sort_indices()
    vars(X).update(changes)
    return X


def with_99(form, name):
    X = sp.coo_matrix(ROWS).asformat(form)
    getattr(X, name)[1] = [1, 99] if form == "lil" else 99
    return X


COLUMNS = csr().indices
BAD = {
    "beyond": lambda: csr(indices=np.append(COLUMNS[:-1], 4)),
    "below": lambda: csr(indices=np.append(COLUMNS[:-1], -1)),
    "falling": lambda: csr(indptr=np.array([0, 2, 9, 6, 8, 10, 11], np.int32)),
    "long": lambda: csr(indptr=np.array([0, 2, 4, 6, 8, 10, 99], np.int32)),
    "values": lambda: csr(data=csr().data[:5]),
    **{form: partial(with_99, form, name) for form, name in [
        ("csc", "indices"), ("bsr", "indices"), ("coo", "row"), ("lil", "rows"),
    ]},
}  # fmt: skip
ESTIMATORS = {
    "linear": Perceptron(max_iter=2),
    "rbf": KernelPerceptron(max_iter=2),
    "poly": KernelPerceptron(kernel="poly", max_iter=2),
    "function": KernelPerceptron(kernel=lambda a, b: float(a @ b.T), max_iter=2),
    "logistic": LogisticRegression(l2=1.0),
    "least squares": LinearRegression(),
    "bayes": GaussianNaiveBayes(),
}


@pytest.mark.parametrize(("bad", "name"), list(zip(BAD, [*ESTIMATORS] * 2, strict=False)))
def test_every_method_of_every_estimator_refuses_them(name, bad):
    make = BAD[bad]
    model = ESTIMATORS[name].fit(csr() if name != "function" else ROWS, CODES)
    calls = [lambda X, y: model.predict(X), model.score]
    if hasattr(model, "partial_fit"):
        model.partial_fit(csr(), CODES)
        calls.append(model.partial_fit)
    for method in ("decision_function", "predict_proba"):
        if hasattr(model, method):
            calls.append(lambda X, y, method=method: getattr(model, method)(X))
    for call in (*calls, model.fit):
        with refused(ValueError, "out-of-range"):
            call(make(), CODES)


def test_winnow_sums_duplicates_before_it_looks_at_signs():
    for index in [np.int32, np.int64]:
        values, columns, starts = [1.0, -0.25, 1.0, 2.0], [0, 0, 1, 1], [0, 2, 3, 4]
        X = sp.csr_matrix((values, np.array(columns, index), np.array(starts, index)), shape=(3, 2))
        same = sp.csr_matrix([[0.75, 0.0], [0.0, 1.0], [0.0, 2.0]])
        scores = [
            linsep.Winnow().fit(rows, [1, 0, 0]).decision_function(same) for rows in (X, same)
        ]
        assert np.array_equal(*scores)
        X.data[1] = -1.25
        with refused(ValueError, "out-of-range", row=1, column=0):
            linsep.Winnow().fit(X, [1, 0, 0])
