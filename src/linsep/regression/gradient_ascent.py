"""Gradient ascent on the log-likelihood as it is taught: w += eta sum of x (y - p)."""

from typing import Any

import numpy as np

from linsep.descent import Descent, minimize
from linsep.errors import DataError
from linsep.regression import ascent
from linsep.regression.likelihood import Likelihood, Point, working
from linsep.regression.logistic import LAST, Fit, Task, inverted
from linsep.regression.penalty import Penalty
from linsep.regression.preparing import Seen, refuse_overflow


def climbed(task: Task, learning_rate: Any, schedule: str, trace: bool) -> tuple[Fit, Descent]:
    """Climb from zero, in the features as they are, and see whether that is the top.

    Raises
    ------
    ValueError
        Where the learning rate is so large that the climb diverges or goes in a circle.
    """
    plain = Seen(np.zeros(task.n_features), np.ones(task.n_features))
    refuse_overflow(task.batches, task.n_features, task.intercept)
    with working() as pool:
        likelihood = Likelihood(
            task.batches, task.q, plain.centres, plain.scales, task.intercept, pool
        )
        factors = np.zeros(task.width)
        factors[: task.n_features] = task.l2
        penalty = Penalty(factors, task.share)
        if isinstance(learning_rate, str):
            learning_rate = 1.0 / _steepest(task, likelihood)
        once = _Once(likelihood)
        found = minimize(
            lambda B: once(B).value - penalty.value(B),
            np.zeros(likelihood.shape) if task.start is None else task.start,
            lambda B: once(B).gradient - penalty.times(B),
            learning_rate=learning_rate, schedule=schedule, tol=task.tol, maximize=True,
            trace=trace, max_iter=task.max_iter,
        )  # fmt: skip
        if found.reason in {"cycle", "diverged"}:
            raise DataError(f"Gradient ascent diverged: {found.sentence}.")
        return _told(task, likelihood, penalty, found, plain), found


def _told(task: Task, likelihood: Likelihood, penalty: Penalty, found: Descent, plain: Seen) -> Fit:
    """The fit, suspect where Newton's method would go on from there for ever."""
    B, reason, covariance = found.x, found.reason, None
    point = likelihood.at(B, hessian=task.factored)
    if point.hessian is not None:
        H = point.hessian + penalty.matrix(task.q)
        if reason == "converged" and not task.l2:
            given = float(task.totals.sum()), 1e-8, LAST
            reason = ascent.newton(likelihood, penalty, B, *given).reason
            reason = "suspect" if reason == "suspect" else "converged"
        covariance = inverted(H)
    largest = float(np.abs(found.gradient).max()) / float(task.totals.sum())
    return Fit(B, point.value, covariance, found.n_iter, reason, largest, plain)


def _steepest(task: Task, likelihood: Likelihood) -> float:
    """A bound on the curvature of what is maximised: that of Böhning (1992)."""
    if not task.factored:
        total = sum(float((Z**2).sum()) for b in task.batches() for _, Z in
                    likelihood.blocks(b, 0, b.size))  # fmt: skip
        return 0.5 * total + task.l2
    plain = Likelihood(
        task.batches, 1, likelihood.centres, likelihood.scales, task.intercept, likelihood.pool
    )
    quarter = plain.at(np.zeros(plain.shape)).hessian
    assert quarter is not None
    top = float(np.linalg.eigvalsh(quarter)[-1])
    return (1.0 if task.q == 1 else 2.0) * top + task.l2


class _Once:
    """Value and gradient at a point, worked out once for both."""

    def __init__(self, likelihood: Likelihood):
        self.likelihood = likelihood
        self.last: tuple[np.ndarray, Point] | None = None

    def __call__(self, B: np.ndarray) -> Point:
        if self.last is None or not np.array_equal(self.last[0], B):
            self.last = B, self.likelihood.at(B, hessian=False)
        return self.last[1]
