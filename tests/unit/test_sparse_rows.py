"""Sparse matrices that point outside themselves are refused by whatever takes rows."""

import numpy as np
import pytest
import scipy.sparse as sp

import linsep
from linsep import (
    GaussianNaiveBayes,
    KernelPerceptron,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    kernels,
)
from linsep.validation.sparse import as_csr
from refusals import refused

pytestmark = pytest.mark.compiled

ROWS = np.eye(4)[[0, 1, 2, 3, 0, 1]] + 2 * np.eye(4)[[1, 2, 3, 3, 2, 0]]
ROWS[0, 0] = 5.0
Y = np.array([0, 1, 0, 1, 1, 0])


def csr():
    X = sp.csr_matrix(ROWS)
    X.sort_indices()
    return X


def with_column(column, kind=np.int32):
    X = csr()
    X.indices, X.indptr = X.indices.astype(kind), X.indptr.astype(kind)
    X.indices[3] = column
    return X


def with_starts(indptr):
    X = csr()
    X.indptr = np.array(indptr, np.int32)
    return X


def with_values_missing():
    X = csr()
    X.data = X.data[:5]
    return X


def by_column():
    X = sp.csc_matrix(ROWS)
    X.indices[2] = 99
    return X


def by_block():
    X = sp.bsr_matrix(ROWS, blocksize=(2, 2))
    X.indices[1] = 99
    return X


def by_pairs():
    X = sp.coo_matrix(ROWS)
    X.row[2] = -3
    return X


def by_lists():
    X = sp.lil_matrix(ROWS)
    X.rows[1] = [1, 99]
    return X


BAD = {
    "beyond": (lambda: with_column(4), "out-of-range"),
    "far": (lambda: with_column(2**60, np.int64), "out-of-range"),
    "below": (lambda: with_column(-1), "out-of-range"),
    "falling": (lambda: with_starts([0, 2, 9, 6, 8, 10, 11]), "bad-value"),
    "late": (lambda: with_starts([1, 2, 4, 6, 8, 10, 11]), "bad-value"),
    "long": (lambda: with_starts([0, 2, 4, 6, 8, 10, 99]), "bad-value"),
    "few rows": (lambda: with_starts([0, 2, 4, 11]), "bad-value"),
    "values": (with_values_missing, "bad-value"),
    "csc": (by_column, "out-of-range"),
    "bsr": (by_block, "out-of-range"),
    "coo": (by_pairs, "out-of-range"),
    "lil": (by_lists, "out-of-range"),
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


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_method_of_every_estimator_refuses_them(name, bad):
    make, code = BAD[bad]
    model = ESTIMATORS[name].fit(csr() if name != "function" else ROWS, Y)
    calls = [lambda X, y: model.predict(X), model.score]
    if hasattr(model, "partial_fit"):
        model.partial_fit(csr(), Y)
        calls.append(model.partial_fit)
    for method in ("decision_function", "predict_proba"):
        if hasattr(model, method):
            calls.append(lambda X, y, method=method: getattr(model, method)(X))
    for call in (*calls, model.fit):
        with refused(ValueError, code):
            call(make(), Y)


FUNCTIONS = {
    "separation": linsep.separation,
    "bounds": linsep.bounds,
    "margin": lambda X, y: linsep.geometric_margin(np.ones(4), X, y),
    "verify": lambda X, y: linsep.separation(csr(), Y).verify(X, y),
    "bounds of a fit": lambda X, y: Perceptron().fit(csr(), Y).bounds(X, y),
    "linear": lambda X, y: kernels.Linear()(X),
    "polynomial": lambda X, y: kernels.Polynomial(2)(X, csr()),
    "rbf": lambda X, y: kernels.RBF()(csr(), X),
    "subsets": lambda X, y: kernels.AllSubsets()(X),
    "sum": lambda X, y: (kernels.Linear() + kernels.Polynomial(2))(X),
    "source": lambda X, y: Perceptron().fit(linsep.sources.ArraySource(X, y)),
}


@pytest.mark.parametrize("bad", ["beyond", "below", "falling", "csc"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_of_rows_refuses_them(name, bad):
    make, code = BAD[bad]
    with refused(ValueError, code):
        FUNCTIONS[name](make(), Y)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array])
def test_sound_ones_are_read_whatever_their_form(form, kind):
    X = kind(ROWS).asformat(form)
    found = as_csr(X)
    assert found.format == "csr"
    assert np.array_equal(found.toarray(), ROWS)
    assert form != "csr" or found is X
    assert as_csr(ROWS) is ROWS
    assert as_csr(sp.csr_matrix((0, 3))).shape == (0, 3)


def test_more_places_than_indptr_says_are_nothing():
    """As scipy has it: what stands beyond the last row is room to grow."""
    X = csr()
    X.indices, X.data = np.append(X.indices, 99), np.append(X.data, 1.0)
    assert as_csr(X) is X


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_winnow_sums_duplicates_before_it_looks_at_signs(index):
    values, columns, starts = [1.0, -0.25, 1.0, 2.0], [0, 0, 1, 1], [0, 2, 3, 4]
    X = sp.csr_matrix((values, np.array(columns, index), np.array(starts, index)), shape=(3, 2))
    same = sp.csr_matrix([[0.75, 0.0], [0.0, 1.0], [0.0, 2.0]])
    scores = [linsep.Winnow().fit(rows, [1, 0, 0]).decision_function(same) for rows in (X, same)]
    assert np.array_equal(*scores)
    X.data[1] = -1.25
    with refused(ValueError, "out-of-range", row=1, column=0):
        linsep.Winnow().fit(X, [1, 0, 0])
