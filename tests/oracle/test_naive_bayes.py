import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from sklearn.datasets import load_breast_cancer, load_iris

from linsep import GaussianNaiveBayes
from linsep.batches import Batch
from linsep.errors import DataError, SeparationWarning
from linsep.lanes import Lanes
from linsep.naive_bayes import InClasses, added_moments, class_moments
from refusals import refused

pytestmark = pytest.mark.compiled


def by_hand(X, y, rows):
    """P(y | x) of the definition, in plain numpy."""
    classes = np.unique(y)
    means = np.array([X[y == k].mean(axis=0) for k in classes])
    variance = sum(((X[y == k] - X[y == k].mean(axis=0)) ** 2).sum(axis=0) for k in classes) / len(
        X
    )
    logs = [
        np.log((y == k).mean()) - 0.5 * ((rows - m) ** 2 / variance).sum(axis=1)
        for k, m in zip(classes, means, strict=True)
    ]
    P = np.exp(np.array(logs).T - np.max(logs, axis=0)[:, None])
    return P / P.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
def test_probabilities_are_those_of_the_definition(storage, load):
    X, y = load(return_X_y=True)
    model = GaussianNaiveBayes().fit(storage(X), y)
    assert np.allclose(model.predict_proba(storage(X)), by_hand(X, y, X), atol=1e-12)
    for reference in (None, 0, 1):
        implied = model.to_logistic(reference)
        assert np.allclose(implied.predict_proba(X), by_hand(X, y, X), atol=1e-12)
        assert implied.coef_.shape == (len(model.classes_) - 1, X.shape[1])
    assert "naive Bayes" in str(implied.summary())


def test_the_weights_are_those_of_the_lecture():
    X, y = load_breast_cancer(return_X_y=True)
    model = GaussianNaiveBayes().fit(X, y)
    m, p, s2 = model.means_, model.priors_, model.variances_
    implied = model.to_logistic()
    assert np.allclose(implied.coef_[0], (m[1] - m[0]) / s2)
    w0 = np.log(p[1] / p[0]) + ((m[0] ** 2 - m[1] ** 2) / (2 * s2)).sum()
    assert implied.intercept_[0] == pytest.approx(w0, rel=1e-10)


@given(st.integers(0, 1000))
def test_weights_count_rows_and_batches_are_merged(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((30, 3)) + 1e6, np.arange(30) % 3
    counts = rng.integers(1, 4, 30)
    weighted = GaussianNaiveBayes().fit(X, y, counts)
    repeated = GaussianNaiveBayes().fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert np.allclose(weighted.variances_, repeated.variances_, rtol=1e-8)
    assert np.allclose(weighted.means_, repeated.means_, rtol=1e-14)
    cut = int(rng.integers(1, 29))
    parts = [Batch(X[:cut], y[:cut]), Batch(X[cut:], y[cut:])]
    whole = GaussianNaiveBayes().fit(X, y)
    merged = class_moments(Lanes(lambda: iter(parts)), 3)
    assert np.array_equal(merged.squares / 30, whole.variances_)
    singly = [InClasses(3)(part) for part in parts]
    assert np.allclose(added_moments(*singly).squares / 30, whole.variances_, rtol=1e-8)


def test_a_constant_feature_has_no_weight():
    X = np.array([[1.0, 5.0], [2.0, 5.0], [2.5, 5.0], [4.0, 5.0]])
    model = GaussianNaiveBayes().fit(X, [0, 0, 1, 1])
    assert model.to_logistic().coef_[0, 1] == 0.0


def test_a_feature_without_width_is_said():
    X = [[1.0, 0.0], [2.0, 0.0], [3.0, 1.0]]
    with pytest.warns(SeparationWarning, match="1 varies between the classes, but has zero"):
        model = GaussianNaiveBayes().fit(X, [0, 0, 1])
    assert model.predict(X).tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("X", "y", "weights", "said"),
    [
        ([[1.0], [2.0], [3.0]], [0.5, 1.5, 2.2], None, "continuous.*LinearRegression"),
        ([[1.0], [2.0], [3.0]], [1, 1, 1], None, "Only one class"),
        ([[1.0], [np.nan], [3.0]], [1, 1, 0], None, "NaN"),
        ([[1.0], [2.0], [3.0]], [1, 1, 0], [1, 1, -1], "sample_weight of row 3"),
    ],
)
def test_bad_input_is_refused(X, y, weights, said):
    with pytest.raises(ValueError, match=said):
        GaussianNaiveBayes().fit(X, y, weights)


@pytest.mark.parametrize("scale", [1e-160, 1e-170, 1e-200])
def test_squares_that_floats_do_not_hold_are_refused(scale):
    X, y = np.array([[1.0], [2.0], [2.0], [4.0]]), [0, 0, 1, 1]
    with refused(DataError, "overflow", column="x0"):
        GaussianNaiveBayes().fit(X * scale, y)
    one, other = (GaussianNaiveBayes().fit(X * s, y) for s in (1.0, 1e-150))
    assert other.predict_proba(X * 1e-150) == pytest.approx(one.predict_proba(X))


def test_sparse_rows_far_from_zero_with_fractions_as_weights():
    rng = np.random.default_rng(1)
    X, y = 1e12 + np.round(rng.normal(size=(200, 2)) * 100), rng.integers(0, 3, 200)
    for weights in (np.full(200, 0.1), rng.uniform(0, 2, 200)):
        dense = GaussianNaiveBayes().fit(X, y, sample_weight=weights)
        sparse = GaussianNaiveBayes().fit(sp.csr_matrix(X), y, sample_weight=weights)
        assert sparse.variances_ == pytest.approx(dense.variances_, rel=1e-6)


def test_entries_that_are_stored_twice_are_summed():
    X, y = np.array([[0.75, 1], [1, 0], [0, 0.5], [0.25, 0.25]]), [0, 1, 0, 1]
    once = sp.csr_matrix(X)
    parts = np.column_stack([once.data - 1, np.ones(once.nnz)]).ravel()
    twice = sp.csr_matrix((parts, np.repeat(once.indices, 2), once.indptr * 2), shape=X.shape)
    dense, sparse = (GaussianNaiveBayes().fit(Z, y) for Z in (X, twice))
    assert sparse.variances_ == pytest.approx(dense.variances_)
    assert twice.nnz == 2 * once.nnz  # as it was given


def test_probabilities_of_huge_log_odds_sum_to_one():
    X = np.array([-1.0, 0.0, 1.0, 3.0, 4.0, 5.0, 1e8, 1e8 + 1, 1e8 + 2])[:, None]
    P = GaussianNaiveBayes().fit(X, np.repeat(["a", "b", "c"], 3)).predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1)
