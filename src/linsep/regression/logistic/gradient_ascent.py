"""Gradient ascent on the log-likelihood: w += eta sum of x (y - p)."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from operator import add
from typing import Any

import numpy as np

from linsep.descent import Descent, minimize
from linsep.errors import DataError
from linsep.parallel import workers
from linsep.regression.logistic.ascent import Ascent
from linsep.regression.logistic.fitting import (
    Fit,
    Task,
    answered,
    fit_of,
    lanes_as,
    looked,
    problem_of,
)
from linsep.regression.logistic.journal import recalled
from linsep.regression.logistic.likelihood import Likelihood
from linsep.regression.logistic.preconditioning import Penalty
from linsep.regression.logistic.preparing import Standardization, refuse_overflow, sampled
from linsep.regression.logistic.steps import Report, Steps
from linsep.regression.logistic.terms import Point, Terms


def climbed(
    task: Task, learning_rate: Any, schedule: str, trace: bool, steps: Steps
) -> tuple[Fit, Descent]:
    """Maximise from zero, in the raw features, then check that there is a maximum.

    Weights of dependent features stay at zero.

    Raises
    ------
    ValueError
        If the learning rate is so large that the ascent diverges or cycles.
    """
    refuse_overflow(task.batches, task.n_features, task.intercept)
    with workers() as pool:
        how = looked(task, *sampled(task.batches, 20 * task.q * task.width + 20_000), pool)
        free = np.ones(task.width, dtype=bool)
        free[list(how.dependent)] = False
        report = steps.of(lambda W: W, how.dependent)
        found = _ascended(task, learning_rate, schedule, trace, free, pool, report)
        if found.reason in {"cycle", "diverged"}:
            raise DataError(f"Gradient ascent diverged: {found.sentence}.")
        problem = problem_of(task, how, pool)
        B = how.standard(found.x, task.intercept)
        there = problem[0].at(B, hessian=task.factored)
        information = None
        if there.hessian is not None:
            information = there.hessian + problem[1].matrix(task.q)
        reason = "converged" if found.reason == "converged" else "max_iter"
        ended = Ascent(B, there.value, information, found.n_iter, reason, np.nan, task.l2 > 0.0)
        fit = fit_of(task, how, answered(*problem, ended, task.goal))
        return replace(fit, weights=found.x), found


def _ascended(
    task: Task, learning_rate: Any, schedule: str, trace: bool, free: np.ndarray,
    pool: ThreadPoolExecutor, report: Report,
) -> Descent:  # fmt: skip
    """Run gradient ascent on the free columns."""
    plain = Standardization(np.zeros(task.n_features), np.ones(task.n_features))
    terms = Terms(task.q, plain.centres, plain.scales, task.intercept)
    likelihood = recalled(Likelihood(lanes_as(task, plain, pool), terms), task.journal)
    factors = np.zeros(task.width)
    factors[: task.n_features] = task.l2
    penalty = Penalty(factors, task.share)
    if isinstance(learning_rate, str):
        learning_rate = 1.0 / (_steepest(task, likelihood) or 1.0)
    once = _Once(likelihood, report)
    return minimize(
        lambda B: once(B).value - penalty.value(B),
        np.zeros(likelihood.shape),
        lambda B: free * (once(B).gradient - penalty.times(B)),
        learning_rate=learning_rate, schedule=schedule, tol=task.tol, maximize=True,
        trace=trace, max_iter=task.max_iter,
    )  # fmt: skip


def _steepest(task: Task, likelihood: Likelihood) -> float:
    """Return Böhning's (1992) bound on the curvature of the objective."""
    if not task.factored:
        return 0.5 * likelihood.sum(likelihood.terms.squares, add) + task.l2
    plain = Likelihood(likelihood.lanes, replace(likelihood.terms, q=1))
    quarter = plain.at(np.zeros(plain.shape)).hessian
    assert quarter is not None
    top = float(np.linalg.eigvalsh(quarter)[-1])
    return (1.0 if task.q == 1 else 2.0) * top + task.l2


class _Once:
    """Value and gradient at a point, computed together; reports each step."""

    def __init__(self, likelihood: Likelihood, report: Report):
        self.likelihood, self.report = likelihood, report
        self.last: tuple[np.ndarray, Point] | None = None

    def __call__(self, B: np.ndarray) -> Point:
        if self.last is None or not np.array_equal(self.last[0], B):
            begun, self.last = self.last is not None, (B, self.likelihood.at(B, hessian=False))
            if begun and np.isfinite(self.last[1].value):
                self.report(B, self.last[1].value, np.nan)
        return self.last[1]
