"""What a logistic fit claims about finite estimates is proved, whatever the solver."""

import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.exceptions import ConvergenceWarning

import linsep
from linsep import LogisticRegression
from linsep.batches import Batch
from linsep.errors import SeparationWarning
from linsep.logistic import existence
from linsep.logistic.newton import Goal, direction, newton
from linsep.logistic.objective import Objective, Terms
from linsep.logistic.task import RowLanes
from parameters_in_order import last, weights_of
from published import ENDOMETRIAL
from thoroughness import examples

pytestmark = pytest.mark.compiled

SOLVERS = ("newton", "gradient_ascent")


def verdict_of(X, y):
    found = linsep.separation(X, y, formulations=("multinomial",))
    return getattr(found, "multinomial", None) or found


def likelihood_of(X, codes, weights, q):
    codes, weights = codes.astype(np.int32), weights if weights.size else None
    batch = Batch(np.ascontiguousarray(X), codes, weights=weights)
    terms = Terms(q, np.zeros(X.shape[1]), np.ones(X.shape[1]), True)
    return Objective(RowLanes(lambda: [batch]), terms)


@examples(80, 25)
@given(st.integers(0, 10**6), st.integers(2, 3), st.integers(4, 14), st.integers(1, 3))
def test_no_step_proves_a_maximum_that_is_not_there(seed, classes, rows, d):
    """At any weights, by any step, of rows that weigh little or much."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (rows, d)).astype(float)
    codes = np.concatenate([np.arange(classes), rng.integers(0, classes, rows - classes)])
    weights = 10.0 ** rng.integers(-12, 3, rows) if seed % 2 else np.empty(0)
    verdict = verdict_of(X, codes)
    there = verdict.kind == "overlapping" and "dependent" not in verdict.limits().values()
    likelihood = likelihood_of(X, codes, weights, classes - 1)
    goal = Goal(1e-8, 60, proved=False)
    found = newton(likelihood, np.zeros(likelihood.shape), goal)
    assert found.proved is there or (there and weights.size)
    for _ in range(5):
        B = rng.standard_normal(likelihood.shape) * rng.choice([0.1, 1.0, 10.0])
        point = likelihood.at(B)
        for step in (direction(point, None, None, np.inf)[0], np.zeros_like(B), B):
            assert there or not existence.examined(likelihood, point, step)[0]


def test_endometrial_data_as_r_prints_them():
    X, y = ENDOMETRIAL
    with pytest.warns(SeparationWarning) as caught:
        found = LogisticRegression().fit(X, y)
    assert caught[0].message.verdict.kind == "quasi-separable"
    assert last(found, "limits_")[0].tolist() == ["+inf", "finite", "finite", "finite"]
    assert np.round(weights_of(found)[0, 1:], 4).tolist() == [-0.0422, -2.9026, 4.3045]
    assert np.round(last(found, "standard_errors_")[0, 1:], 4).tolist() == [0.0443, 0.8456, 1.6373]


@examples(60, 10)
@given(st.integers(0, 10**6), st.sampled_from(SOLVERS))
def test_every_solver_ends_in_the_same_question(seed, solver):
    """Indicators of rare properties: most of these data sets are quasi-separable."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 60))
    X = np.column_stack([rng.standard_normal(n).round(1), rng.random((n, 2)) < 0.15])
    y = rng.integers(0, 2 + seed % 2, n)
    y[:3] = [0, 1, y.max()]
    verdict = verdict_of(X, y)
    more = {"max_iter": 30, "tol": 1e-3} if solver == "gradient_ascent" else {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = LogisticRegression(solver=solver, **more).fit(X, y)
    warned = [w for w in caught if issubclass(w.category, SeparationWarning)]
    assert bool(warned) == (verdict.kind != "overlapping")
    if verdict.kind == "overlapping":
        assert last(found, "limits_").ravel().tolist() == expected(verdict, found)


def expected(verdict, found):
    """The verdict's words, the reference being the class whose weights it has not."""
    said = verdict.limits()
    assert sorted(said) == sorted(found.param_names_)
    return list(said.values())


def test_an_ascent_that_ends_too_soon_is_said():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 2))
    y = (rng.random(80) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    with pytest.warns(ConvergenceWarning):
        found = LogisticRegression(solver="gradient_ascent", max_iter=3).fit(X, y)
    assert (last(found, "limits_") == "finite").all()
    assert found.stop_reason_ == "max_iter"
