"""Logistic fits of so many rows and weights that a Hessian is slow to sum."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.preprocessing import StandardScaler

import linsep
from linsep import LogisticRegression
from linsep.batches import Batch
from linsep.logistic import ascent, vanishing
from linsep.logistic.ascent import Penalty, Preconditioner
from linsep.logistic.existence import column_without_maximum
from linsep.logistic.likelihood import Likelihood, Terms
from linsep.logistic.outcomes import UnfinishedWarning
from linsep.logistic.rows import RowLanes
from parameters_in_order import last, weights_of
from thoroughness import examples

pytestmark = [
    pytest.mark.both,
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

STORAGES = [np.asarray, sp.csr_matrix]


def lower_limits(patch):
    """Any number of rows and weights is large."""
    patch.setattr(vanishing, "MOST_FACTORED", 0)
    patch.setattr(vanishing, "MOST_PRODUCTS", 0)
    patch.setattr(ascent, "MOST_AT_ONCE", 0)


@pytest.fixture
def many(monkeypatch):
    lower_limits(monkeypatch)


def overlapping(classes, seed=0):
    """Rows with a maximum, with columns of any unit, and their weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 4)) * [1.0, 1e3, 1e-3, 1.0] + [0.0, 5e3, 0.0, 1.0]
    y = ((X - [0.0, 5e3, 0.0, 1.0]) / [1.0, 1e3, 1e-3, 1.0]) @ rng.normal(size=(4, classes))
    y = (y + 2.0 * rng.gumbel(size=y.shape)).argmax(axis=1)
    return X, y, rng.integers(0, 4, 300).astype(float)


def fitted_both_ways(monkeypatch, X, y, weights=None, **how):
    few = LogisticRegression(**how).fit(X, y, weights)
    lower_limits(monkeypatch)
    return few, LogisticRegression(**how).fit(X, y, weights)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("l2", [0.0, 1.0, 1e-6])
def test_the_maximum_is_the_same(monkeypatch, storage, classes, l2):
    X, y, weights = overlapping(classes)
    few, found = fitted_both_ways(monkeypatch, storage(X), y, weights, l2=l2)
    assert found.stop_reason_ == "converged"
    assert np.allclose(weights_of(found), weights_of(few), rtol=1e-8, atol=0.0)
    assert found.log_likelihood_ == pytest.approx(few.log_likelihood_, rel=1e-12)
    assert last(found, "limits_").tolist() == last(few, "limits_").tolist()
    if l2:
        assert found.covariance_ is None
    else:
        assert np.allclose(found.covariance_, few.covariance_, rtol=1e-6, atol=0.0)


@pytest.mark.parametrize("classes", [2, 3])
def test_scikit_learn_agrees(many, classes):
    X, y, weights = overlapping(classes)
    Z = StandardScaler().fit_transform(X)
    theirs = Theirs(C=0.5, tol=1e-10, max_iter=10_000).fit(Z, y, weights)
    ours = LogisticRegression(l2=2.0).fit(Z, y, weights)
    assert np.allclose(ours.predict_proba(Z), theirs.predict_proba(Z), atol=1e-7)


def test_too_few_steps_are_said(many):
    X, y, _ = overlapping(3)
    for l2 in (0.0, 1e-3):
        assert LogisticRegression(l2=l2, max_iter=1).fit(X, y).stop_reason_ == "max_iter"


@pytest.mark.compiled
@pytest.mark.parametrize("gap", [0.2, 1.5])
def test_separable_rows_are_predicted_by_the_first_ridge_that_separates_them(many, gap):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 6))
    scores = X @ rng.normal(size=(6, 4))
    top = np.sort(scores, axis=1)
    wide = top[:, -1] > top[:, -2] + gap
    Z, y = StandardScaler().fit_transform(X[wide]), scores[wide].argmax(axis=1)
    for ridge in vanishing.RIDGES[: vanishing.FIRST]:
        theirs = Theirs(C=1.0 / (ridge * len(y)), tol=1e-10, max_iter=100_000).fit(Z, y)
        if theirs.score(Z, y) == 1.0:
            break
    expected = theirs.decision_function(Z)
    for units in (1.0, np.array([1e-4, 1.0, 3.0, 1e5, 1e3, 0.2])):
        ours = LogisticRegression().fit(Z * units, y)
        assert ours.stop_reason_ == "separable"
        assert ours.separation_.verify(Z * units, y)
        found = ours.decision_function(Z * units)
        assert np.allclose(found, expected - expected[:, -1:], rtol=0.05, atol=0.5)


def test_a_column_without_a_maximum_ends_the_fit_at_a_small_ridge(many):
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.normal(size=(300, 3)), rng.random((300, 2)) < 0.15])
    odds = 1 / (1 + np.exp(-X[:, :1] * [1.0, -1.0]))
    y = np.where(X[:, 4] > 0, 2, (rng.random((300, 2)) < odds) @ [1, 1])
    with pytest.warns(UnfinishedWarning, match="probably has no maximum"):
        model = LogisticRegression().fit(np.column_stack([X, 2 * X[:, 0]]), y)
    assert model.stop_reason_ == "suspect"
    assert (
        last(model, "limits_").tolist() == [["not checked"] * 5 + ["dependent", "not checked"]] * 2
    )
    assert model.covariance_ is None
    assert np.isnan(last(model, "standard_errors_")).all()
    scaled = StandardScaler().fit_transform(X)
    ridge = vanishing.RIDGES[vanishing.FIRST - 1] * len(y)
    theirs = Theirs(C=1.0 / ridge, tol=1e-10, max_iter=10_000).fit(scaled, y)
    ours = model.predict_proba(np.column_stack([X, 2 * X[:, 0]]))
    assert np.allclose(ours, theirs.predict_proba(scaled), atol=0.01)


def kind_of(X, y, intercept):
    found = linsep.separation(X, y, fit_intercept=intercept, formulations=("multinomial",))
    return getattr(found, "multinomial", found).kind


def whole_numbers(seed, classes, rows, d):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (rows, d)).astype(float)
    return X, np.concatenate([np.arange(classes), rng.integers(0, classes, rows - classes)])


@examples(100, 25)
@given(
    st.integers(0, 10**6), st.integers(2, 4), st.integers(4, 16), st.integers(1, 3), st.booleans()
)  # fmt: skip
def test_nothing_is_claimed_that_exact_arithmetic_denies(seed, classes, rows, d, intercept):
    X, y = whole_numbers(seed, classes, rows, d)
    kind = kind_of(X, y, intercept)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lower_limits(patch)
        model = LogisticRegression(fit_intercept=intercept).fit(X, y)
    allowed = ["converged"] if kind == "overlapping" else [kind, "suspect"]
    assert model.stop_reason_ in allowed
    if model.stop_reason_ == "separable":
        assert model.score(X, y) == 1.0


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize(
    ("columns", "codes", "weights", "intercept", "expected"),
    [
        ([[0, 0, 1, 2]], [0, 0, 1, 1], None, True, True),
        ([[0, 0, 1, 0]], [0, 0, 1, 1], None, False, True),
        ([[0, 0, -1, 0]], [0, 0, 1, 1], None, False, True),
        ([[3, 3, 3, 4]], [0, 0, 1, 1], None, True, True),
        ([[3, 3, 3, 4]], [0, 0, 1, 1], None, False, False),
        ([[3, 3, 3, 3]], [0, 0, 1, 1], None, True, False),
        ([[0, 2, 1, 3]], [0, 0, 1, 1], None, True, False),
        ([[0, 2, 1, 3]], [0, 0, 1, 1], [1, 0, 1, 1], True, True),
        ([[0, 5, 1, 4, 2, 3]], [0, 0, 1, 1, 2, 2], None, True, False),
        ([[0, 2, 1, 3], [1, 0, 1, 1]], [0, 1, 0, 2], None, True, True),
    ],
)
def test_a_column_proves_that_there_is_no_maximum(
    storage, columns, codes, weights, intercept, expected
):
    X = np.array(columns, dtype=float).T
    weights = None if weights is None else np.array(weights, dtype=float)
    batch = Batch(storage(X), np.array(codes, dtype=np.int32), weights=weights)
    counted = np.ones(len(X), dtype=bool) if weights is None else weights > 0
    task = SimpleNamespace(
        batches=lambda: [batch], n_features=X.shape[1], q=max(codes), intercept=intercept
    )
    assert column_without_maximum(task) is expected
    if expected:
        assert kind_of(X[counted], np.array(codes)[counted], intercept) != "overlapping"


def preconditioned(X, codes, penalty):
    """The preconditioner at zero, times the gradient there, and the exact step."""
    terms = Terms(2, np.zeros(4), np.ones(4), True)
    likelihood = Likelihood(RowLanes(lambda: [Batch(X, codes.astype(np.int32))]), terms)
    point = likelihood.at(np.zeros((2, 5)), shares=True)
    inverse, _ = Preconditioner(likelihood, penalty).at(point)
    exact, _ = ascent.solved(point.hessian + penalty.matrix(2), point.gradient)
    return inverse(point.gradient), exact


def test_the_preconditioner_has_a_block_for_every_class():
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(30, 4)), rng.integers(0, 3, 30)
    step, exact = preconditioned(X, codes, Penalty(np.zeros(5), 0.0))
    assert np.allclose(step, 1.5 * exact, atol=0.05 * np.abs(exact).max())
    penalty = Penalty(np.array([3.0, 1.0, 2.0, 3.0, 0.0]), 1.0 / 3.0)
    steps = []
    for shift in range(3):  # whichever class is the reference
        step, _ = preconditioned(X, (codes + shift) % 3, penalty)
        every = np.roll(np.vstack([step, np.zeros(5)]), -shift, axis=0)
        steps.append(every - every.mean(axis=0))
    assert np.allclose(steps, steps[0], rtol=1e-4, atol=1e-6)
