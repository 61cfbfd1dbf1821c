"""Rows, labels and weights are matched by position: no other order, and no mask, is overlooked."""

import warnings
from contextlib import suppress

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
    kernels,
    objectives,
)
from linsep.distributed.collections import _rows
from linsep.errors import DataError
from linsep.plot import DecisionDisplay, ReliabilityDisplay
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
    **{type(model).__name__: model.fit for model in LEARNERS},
    "kernel": KernelPerceptron(max_iter=2).fit,
    "partial_fit": lambda X, y: Perceptron().partial_fit(X, y, classes=["no", "yes"]),
    "kernel partial_fit": lambda X, y: KernelPerceptron().partial_fit(X, y, classes=["no", "yes"]),
    "score": FITTED.score,
    "score of Bayes": BAYES.score,
    "calibrate": lambda X, y: linsep.calibrate(Perceptron().fit(X, Y), X, y),
    "separation": linsep.separation,
    "of an estimator": FITTED.separation,
    "normalized": Perceptron(normalize=True).separation,
    "of a kernel": KernelPerceptron().separation,
    "margin": lambda X, y: linsep.geometric_margin(FITTED, X, y),
    "bounds": linsep.bounds,
    "bounds of a run": FITTED.bounds,
    "trace": lambda X, y: linsep.trace(Perceptron(), X, y),
    "convergence": lambda X, y: linsep.convergence(Perceptron(), X, y),
    "reflection": linsep.reflection,
    "criterion": objectives.perceptron_criterion,
    "decision": lambda X, y: DecisionDisplay.from_estimator(FITTED, X, y),
    "reliability": lambda X, y: ReliabilityDisplay.from_estimator(BAYES, X, y),
}
NUMBERS = {
    "fit": LinearRegression().fit,
    "score": REGRESSION.score,
    "assumptions": REGRESSION.assumptions,
    "plot": lambda X, y: REGRESSION.plot(X, y, feature="a"),
    "squares": objectives.squared_error,
}
EVERY = [(call, Y) for call in CALLS.values()] + [(call, T) for call in NUMBERS.values()]
every = pytest.mark.parametrize(("call", "y"), EVERY, ids=[*CALLS, *map("y as {}".format, NUMBERS)])
pytestmark = pytest.mark.filterwarnings("ignore:.*(zero variance|separat|passes|names)")


@every
def test_another_order_is_refused(call, y):
    with refused(DataError, "shape", option="y"):
        call(X, y.iloc[::-1])


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


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        (X, Y),
        (X, Y.reset_index(drop=True)),  # other labels, such as of rows that were chosen
        (X.reset_index(drop=True), Y),
        (X.iloc[::-1].reset_index(drop=True), Y.reset_index(drop=True)),
        (X, Y.iloc[::-1].to_numpy()),
        (X.to_numpy(), Y.iloc[::-1]),
        (X.set_index("a", append=True), Y),
        (X.iloc[::-1], Y.iloc[::-1]),
    ],
)
def test_other_rows_are_matched_by_position(rows, labels):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = Perceptron(max_iter=2).fit(rows, labels)
    same = Perceptron(max_iter=2).fit(np.asarray(rows), np.asarray(labels))
    assert model.coef_.tolist() == same.coef_.tolist()


@pytest.mark.parametrize("model", [*LEARNERS, KernelPerceptron(max_iter=2)])
def test_weights_in_another_order_are_refused(model):
    with refused(DataError, "shape", option="sample_weight"):
        model.fit(X, Y, sample_weight=ONES.iloc[::-1])
    with refused(DataError, "shape", option="sample_weight"):
        FITTED.score(X, Y, sample_weight=ONES.iloc[::-1])
    with refused(DataError, "shape", option="sample_weight"):
        LinearRegression().fit(X, T, sample_weight=ONES.iloc[::-1])


def masked(values, hidden=3):
    found = np.ma.array(np.asarray(values), copy=True)
    found[hidden] = np.ma.masked
    return found


@every
def test_masked_rows_are_refused(call, y):
    with refused(DataError, "missing-value", row=4):
        call(masked(X), y.to_numpy())


@every
def test_masked_labels_are_refused(call, y):
    with refused(DataError, "missing-value", row=4):
        call(X.to_numpy(), masked(y))


@every
def test_what_no_mask_hides_is_a_plain_array(call, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = told(call(X.to_numpy(), y.to_numpy()))
        assert told(call(np.ma.array(X.to_numpy()), np.ma.array(y.to_numpy()))) == plain


def told(found):
    """Weights, numbers, or what else can be compared of a result."""
    if hasattr(found, "coef_"):
        return found.coef_.tolist()
    return found.tolist() if hasattr(found, "tolist") else found if np.isscalar(found) else None


@pytest.mark.parametrize("model", [FITTED, BAYES, REGRESSION, KernelPerceptron().fit(X, Y)])
def test_masked_rows_have_no_prediction(model):
    for rows in (masked(X), [*X.to_numpy()[:3], masked(X.to_numpy()[3], 1)]):
        with refused(DataError, "missing-value", row=4):
            model.predict(rows)


def test_masked_weights_are_refused():
    weights = masked(ONES)
    for call in (
        lambda: Perceptron().fit(X, Y, sample_weight=weights),
        lambda: LinearRegression().fit(X, T, sample_weight=weights),
        lambda: FITTED.score(X, Y, sample_weight=weights),
        lambda: Perceptron().partial_fit(X, Y, ["no", "yes"], sample_weight=weights),
        lambda: linsep.sources.ArraySource(X.to_numpy(), Y.to_numpy(), weights),
    ):
        with refused(DataError, "missing-value", row=4):
            call()
    with refused(DataError, "missing-value", row=4):
        linsep.sources.ArraySource(masked(X), Y)


def test_a_masked_gram_matrix_is_refused():
    K = masked(kernels.Linear()(X.to_numpy()))
    for call in (
        lambda: linsep.separation(K=K, y=Y),
        lambda: KernelPerceptron(kernel="precomputed").fit(K, Y),
    ):
        with refused(DataError, "missing-value", row=4):
            call()


def test_partitions_of_collections_are_checked_too():
    with refused(DataError, "shape", option="partition 7: y"):
        _rows("partition 7", X, Y.iloc[::-1])
    with refused(DataError, "shape", option="partition 7: sample_weight"):
        _rows("partition 7", X, Y, ONES.iloc[::-1])
    for parts in ((masked(X), Y), (X.to_numpy(), masked(Y)), (X, Y, masked(ONES))):
        with refused(DataError, "missing-value", row=4):
            _rows("partition 7", *parts)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
def test_sparse_rows_of_every_form_are_checked(form):
    rows = sp.coo_array(X.to_numpy()).asformat(form)
    assert Perceptron(max_iter=2).fit(rows, Y).n_features_in_ == 2
    long = sp.coo_array(np.array([[1], [2**53 + 1]])).asformat(form)
    with refused(DataError, "not-exact"):
        Perceptron(max_iter=2).fit(long, [0, 1])
