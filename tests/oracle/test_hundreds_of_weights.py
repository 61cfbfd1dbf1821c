"""Logistic fits of so many rows and weights that a Hessian is slow to sum."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.preprocessing import StandardScaler

import linsep
from linsep import LogisticRegression
from linsep.batches import Batch
from linsep.logistic import fitting, limits, newton
from linsep.logistic.newton import Preconditioner
from linsep.logistic.objective import Objective, Penalty, Terms
from linsep.logistic.task import RowLanes
from parameters_in_order import last, weights_of
from thoroughness import examples

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def lower_limits(patch):
    """Any number of rows and weights is large."""
    patch.setattr(fitting, "MOST_FACTORED", 0)
    patch.setattr(fitting, "MOST_PRODUCTS", 0)
    patch.setattr(newton, "MOST_AT_ONCE", 0)


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


@pytest.mark.parametrize(
    ("storage", "classes", "l2"),
    [(np.asarray, 2, 0.0), (sp.csr_matrix, 3, 1.0), (np.asarray, 3, 1e-6)],
)
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


def test_too_few_steps_are_said(many):
    X, y, _ = overlapping(3)
    for l2 in (0.0, 1e-3):
        assert LogisticRegression(l2=l2, max_iter=1).fit(X, y).stop_reason_ == "max_iter"


@pytest.mark.parametrize("gap", [0.2, 1.5])
def test_separable_rows_are_predicted_by_the_first_ridge_that_separates_them(many, gap):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 6))
    scores = X @ rng.normal(size=(6, 4))
    top = np.sort(scores, axis=1)
    wide = top[:, -1] > top[:, -2] + gap
    Z, y = StandardScaler().fit_transform(X[wide]), scores[wide].argmax(axis=1)
    for ridge in limits.RIDGES[: limits.FIRST]:
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


def preconditioned(X, codes, penalty):
    """The preconditioner at zero, times the gradient there, and the exact step."""
    terms = Terms(2, np.zeros(4), np.ones(4), True)
    likelihood = Objective(RowLanes(lambda: [Batch(X, codes.astype(np.int32))]), terms, penalty)
    point = likelihood.at(np.zeros((2, 5)), shares=True)
    inverse, _ = Preconditioner(likelihood).at(point)
    exact, _ = newton.solved(point.hessian, point.gradient)
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
