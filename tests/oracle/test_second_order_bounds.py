"""Bounds of AROW with a whole matrix, the second-order perceptron and ALMA: worked numbers, balls
of FLINT as an oracle of rounding, and runs of the plain-Python twins, which break none.
"""

from math import log, sqrt

import numpy as np
import pytest
import scipy.sparse as sp

import linsep
from linsep.mistake_bounds.alma import corrections_of_any, corrections_of_separable
from linsep.mistake_bounds.bounds import Unknown
from linsep.mistake_bounds.problems import Problem
from linsep.mistake_bounds.second_order import Seen, second_order_bound, sum_of_bounds
from linsep.teaching import textbook

pytestmark = pytest.mark.uncompiled

X = np.array([(1.0, 1.0), (3.0, 2.0), (2.0, 4.0), (3.0, 4.0), (2.0, 3.0)])
y = np.array([0, 1, 1, 1, 0])
U = np.array([12.0, 2.0, -31.0])  # all margins are 1 or more; the intercept is last


def reflected(X, y):
    return np.column_stack([X, np.ones(len(X))]) * np.where(y == 1, 1.0, -1.0)[:, None]


def exact_log_det(A, rounds, r):
    from flint import arb, arb_mat, ctx

    with ctx.workprec(400):
        rows = arb_mat(A.tolist())
        whole = rows.transpose() * rows * (arb(rounds) / arb(r))
        return (arb_mat(np.eye(A.shape[1]).tolist()) + whole).det().log()


def test_the_worked_bound_of_arow():
    updated = Seen.of(Problem(reflected(X, y)[[0, 1, 2, 4]]), 1, 1.0)
    assert updated.log_det() == pytest.approx(log(216), rel=1e-11)
    found = second_order_bound(updated, 1, U)
    assert found >= sqrt(1481 * (log(216) + 1)) - 1
    assert found == pytest.approx(96.1689, abs=5e-5)


def test_the_worked_bound_of_the_second_order_perceptron():
    wrong = Seen.of(Problem(reflected(X, y)[[0, 1, 4]]), 1, 1.0)
    found = second_order_bound(wrong, 0, U)
    assert found >= sqrt(1480 * log(80))
    assert found == pytest.approx(80.5320, abs=5e-5)


def test_the_worked_bound_of_alma():
    A = reflected(X, y)
    unit = Problem(A / np.linalg.norm(A, axis=1)[:, None])
    assert unit.margin[0] == pytest.approx(0.015893422839, abs=1e-9)
    assert int(corrections_of_separable([unit], 0.9)) == 11832


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("seed", range(4))
def test_logarithms_of_determinants_are_rounded_up(seed, storage):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((40, 6)) * 10.0 ** rng.integers(-3, 3, 6)
    rounds, r = int(rng.integers(1, 50)), float(10.0 ** rng.integers(-3, 3))
    found = Seen.of(Problem(storage(A)), rounds, r).log_det()
    exact = exact_log_det(A, rounds, r)
    assert not found < exact
    assert found == pytest.approx(float(exact.mid()), rel=1e-3)


def test_rows_too_long_for_a_decomposition_have_hadamards_inequality():
    A = np.diag([1e9, 1e8])
    found = Seen.of(Problem(A), 1, 1e-3).log_det()
    assert not found < exact_log_det(A, 1, 1e-3)
    assert found == pytest.approx(log(1e21) + log(1e19), rel=1e-9)


@pytest.mark.parametrize("exponent", [-200, 200])
def test_the_unit_of_the_rows_does_not_matter(exponent):
    A, r = reflected(X, y), 2.0
    plain = second_order_bound(Seen.of(Problem(A), 3, r), 2)
    other = Seen.of(Problem(np.ldexp(A, exponent)), 3, np.ldexp(r, 2 * exponent))
    assert second_order_bound(other, 2) == pytest.approx(plain, rel=1e-6)
    far = np.ldexp(1.0, -4 * exponent)
    with pytest.raises(Unknown, match="overflows float64"):
        Seen.of(Problem(np.ldexp(A, exponent)), 1, far)


def overlapping(seed, n=60, d=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, (X @ rng.standard_normal(d) + rng.standard_normal(n) > 0).astype(int)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("r", [0.1, 10.0])
def test_no_run_breaks_a_bound(seed, passes, r):
    X, y = overlapping(seed)
    problem, rows, labels = Problem(reflected(X, y)), X.tolist(), y.tolist()
    for rule in (textbook.AROW(r, "full"), textbook.SecondOrderPerceptron(r)):
        steps = list(textbook.run(rule, "binary", rows, labels, max_iter=passes))
        mistakes = sum(step.mistakes for step in steps)
        others = sum(step.updates for step in steps) - mistakes
        rounds = steps[-1].pass_number + 1
        seen = Seen.of(problem, rounds, r)
        found = second_order_bound(seen, others)
        assert mistakes <= found <= len(steps) * 3
        assert found <= sum_of_bounds([seen], others) * (1 + 1e-9)


def test_the_search_finds_weights_near_the_best():
    X, y = overlapping(9)
    seen = Seen.of(Problem(reflected(X, y)), 1, 1.0)
    best = second_order_bound(seen, 5)
    rng = np.random.default_rng(0)
    tried = [second_order_bound(seen, 5, rng.standard_normal(5)) for _ in range(200)]
    assert best < min(tried)


@pytest.mark.parametrize("seed", range(3))
def test_alma_breaks_no_bound_on_overlapping_rows(seed):
    X, y = overlapping(seed)
    A = reflected(X, y)
    problem = Problem(A / np.linalg.norm(A, axis=1)[:, None])
    alpha, C = 0.5, 0.5  # C^2 + 2 (1 - alpha) B C = 1
    steps = list(
        textbook.run(textbook.ALMA(alpha, B=1.5, C=C), "binary", X.tolist(), y.tolist(), max_iter=2)
    )
    found = corrections_of_any([problem], 2, alpha, 1.5, C)
    assert sum(step.updates for step in steps) <= found < 10 * len(steps)
    with pytest.raises(Unknown, match="is not 1"):
        corrections_of_any([problem], 2, alpha, 2.0, C)


def learners(r=1.0, **how):
    return linsep.AROW(r=r, covariance_type="full", **how), linsep.SecondOrderPerceptron(a=r, **how)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_bounds_beside_runs(storage):
    X, y = overlapping(3)
    for model in learners(max_iter=4):
        found = model.fit(storage(X), y).bounds(storage(X), y)
        bound = found["second order"]
        assert bound.kept
        assert (bound.what, bound.counted) == ("mistakes", int(model.mistakes_.sum()))
        others = model.n_updates_ - int(model.mistakes_.sum())
        seen = Seen.of(Problem(reflected(X, y)), model.n_iter_, 1.0)
        assert bound.value == pytest.approx(second_order_bound(seen, others), rel=1e-6)
        assert f"kept: {bound.counted} of at most {int(bound.value):,} mistakes" in str(found)


@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
def test_bounds_of_several_machines_add_up(multiclass):
    X, y = overlapping(4)
    y = y + (X[:, 0] > 1)
    for model in learners(multiclass=multiclass, max_iter=2):
        bound = model.fit(X, y).bounds(X, y)["second order"]
        assert bound.kept
        assert bound.value > bound.counted


def test_what_no_bound_is_proved_of():
    X, y = overlapping(5)
    of_variances = linsep.AROW(max_iter=2).fit(X, y).bounds(X, y)
    assert "variances without covariances" in of_variances.left_out["mistake bounds"]
    three = y + (X[:, 0] > 1)
    arow, second = learners(max_iter=2)
    joint = arow.fit(X, three).bounds(X, three)
    assert "one matrix for the weights of all classes" in joint.left_out["second order"]
    whole = linsep.SCW(covariance_type="full", max_iter=2).fit(X, y).bounds(X, y)
    assert "SCW has no known theorem" in whole.left_out["mistake bounds"]
    weighted = second.fit(X, y, sample_weight=np.arange(1.0, len(y) + 1)).bounds(X, y)
    assert "have weights" in weighted.left_out["mistake bounds"]
    X[0] = 0.0
    zeros = second.set_params(fit_intercept=False).fit(X, y).bounds(X, y)
    assert "rows of zeros" in zeros.left_out["second order"]
    tiny = second.set_params(fit_intercept=True).fit(X[1:] * 1e-170, y[1:])
    assert tiny.bounds(X[1:] * 1e-170, y[1:])["second order"].kept  # the intercept is long
    alone = second.set_params(fit_intercept=False).fit(X[1:] * 1e-170, y[1:])
    assert "rounded to zero" in alone.bounds(X[1:] * 1e-170, y[1:]).left_out["second order"]
