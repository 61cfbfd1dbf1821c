"""Classes without a finite estimate are predicted by the limit of a ridge that vanishes."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import linsep
from linsep import LogisticRegression
from linsep.errors import SeparationWarning
from linsep.logistic.vanishing import RIDGES
from parameters_in_order import last

pytestmark = [pytest.mark.compiled, pytest.mark.filterwarnings("ignore::UserWarning")]


def text(n_rows, n_words, classes, seed=0):
    """Rows of common and rare words, with noisy classes, to learn and to test."""
    rng = np.random.default_rng(seed)
    p = 1.0 / np.arange(1, n_words + 1) ** 0.9
    words = [rng.choice(n_words, 60, p=p / p.sum()) for _ in range(n_rows)]
    X = np.array([np.bincount(row, minlength=n_words) > 0 for row in words], dtype=float)
    scores = X @ rng.normal(size=(n_words, classes))
    y = (scores + rng.normal(size=scores.shape)).argmax(axis=1)
    half = n_rows // 2
    return sp.csr_matrix(X[:half]), y[:half], sp.csr_matrix(X[half:]), y[half:]


@pytest.mark.thorough
@pytest.mark.parametrize(("n_words", "classes"), [(2600, 2), (600, 8), (300, 2)])
def test_new_rows_are_predicted_as_well_as_by_a_tiny_ridge(n_words, classes):
    X, y, new, truth = text(700, n_words, classes)
    model = LogisticRegression().fit(X, y)
    assert model.stop_reason_ == "separable"
    theirs = Theirs(C=1e6, max_iter=3000).fit(X, y)
    assert model.score(new, truth) > theirs.score(new, truth) - 0.02


def standardized(seed, classes):
    rng = np.random.default_rng(seed)
    X = StandardScaler().fit_transform(rng.normal(size=(60, 5)) * 10.0 ** rng.integers(-2, 3, 5))
    return X, (X @ rng.normal(size=(5, classes))).argmax(axis=1)


@pytest.mark.parametrize("classes", [2, 3])
def test_weights_are_those_of_the_last_ridge_in_any_units(classes):
    X, y = standardized(1, classes)
    theirs = Theirs(C=1.0 / (RIDGES[-1] * len(y)), tol=1e-10, max_iter=100_000).fit(X, y)
    scores = theirs.decision_function(X)
    if classes > 2:
        scores = scores - scores[:, -1:]
    units = np.array([1e-4, 1.0, 3.0, 1e5, 1e3])
    for Z in (X, X * units + 7.0 * units):
        ours = LogisticRegression().fit(Z, y)
        assert ours.stop_reason_ == "separable"
        assert np.allclose(ours.decision_function(Z), scores, rtol=0.02, atol=0.02)


def test_weights_of_rows_and_repeated_rows_are_the_same():
    X, y = standardized(2, 2)
    weights = np.arange(60) % 3 + 1
    one = LogisticRegression().fit(X, y, sample_weight=weights)
    many = LogisticRegression().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert np.allclose(one.decision_function(X), many.decision_function(X), rtol=0.05)


def test_the_reference_level_of_a_text_column_does_not_matter():
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.choice(list("acgt"), (50, 12)), columns=[f"at {k}" for k in range(12)])
    table["kind"] = np.where((table == "a").sum(axis=1) > 3, "many", "few")
    rows, new = table[:35], table[35:].drop(columns="kind")
    hot = OneHotEncoder(sparse_output=False).fit(rows.drop(columns="kind"))
    C = 1.0 / (RIDGES[-1] * len(rows))
    theirs = Theirs(C=C, tol=1e-10, max_iter=100_000)
    theirs.fit(hot.transform(rows.drop(columns="kind")), rows["kind"])
    expected = theirs.decision_function(hot.transform(new))
    for levels in ({}, {"at 1": "t", "at 2": "g"}):
        model = linsep.fit(rows, target="kind", learner="logistic", reference_level=levels)
        assert model.stop_reason_ == "separable"
        assert np.allclose(model.decision_function(new), expected, rtol=0.02, atol=0.02)


def test_rows_on_a_boundary_have_the_scores_of_the_limit():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 3))
    mark = rng.random((200, 2)) < 0.15
    y = np.where(mark.any(axis=1), 1, rng.random(200) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    rows = np.column_stack([X, mark])
    with pytest.warns(SeparationWarning):
        model = LogisticRegression().fit(rows, y)
    assert last(model, "limits_")[0].tolist() == ["finite"] * 3 + ["+inf"] * 2 + ["finite"]
    bound = ~mark.any(axis=1)
    inside = LogisticRegression().fit(X[bound], y[bound])
    assert np.allclose(model.decision_function(rows[bound]), inside.decision_function(X[bound]))
    assert (model.predict_proba(rows[~bound])[:, 1] > 1 - 1e-5).all()
    assert model.log_likelihood_ == pytest.approx(inside.log_likelihood_, rel=1e-12)


def test_hundreds_of_separable_classes_are_fitted():
    rng = np.random.default_rng(5)
    middle = rng.normal(size=(200, 12))
    y = np.arange(1000) % 200
    X = middle[y] + 0.1 * rng.normal(size=(1000, 12))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression().fit(X[:600], y[:600])
    assert model.score(X[600:], y[600:]) > 0.97
