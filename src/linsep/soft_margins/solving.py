"""The soft margin of two classes by whichever method is quicker, to a certified gap."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from linsep._system.threads import one_blas_thread
from linsep.soft_margins.coordinate_descent import coordinate_descent
from linsep.soft_margins.decomposition import PairDescent
from linsep.soft_margins.interior_point import cost_of_steps, interior_point
from linsep.soft_margins.problem import Certificate, Problem, certified, of_one_class, purified

#: most rows whose Gram matrix takes no time that is felt; the gap that is wanted of its descent,
#: and the violations at which that looks at it
FEW, SMALL, VIOLATIONS = 600, 1e-9, (1e-3, 1e-5, 1e-7)
#: an interior point method of so few seconds is not worse than a descent, whatever the data, and
#: its last steps, each of which gives more digits than the one before, cost nothing that is felt
QUICK, DIGITS = 0.05, 1e-12
#: the goal of longer ones
FEWER_DIGITS = 1e-8
#: the remaining gap at which support vectors are determined, after either
PURER, PURE = 1e-9, 1e-6


def solve(
    problem: Problem, tol: float, passes: int, start: np.ndarray | None = None,
    told: Callable[[Certificate], bool] = lambda found: False, seed: int = 0,
) -> Certificate:  # fmt: skip
    """Return weights whose gap is at most ``tol``, or the best found.

    Few rows are solved with their Gram matrix. Coordinate descent is fast at first and slow for
    large C; once it has taken half as long as an interior point method would, and for few rows or
    features, this replaces it. The choice depends on counts, not on time. ``told`` gets the best
    certificate so far, and returns whether to stop.
    """
    if (alone := of_one_class(problem, problem.X.shape[1])) is not None:
        return alone
    with one_blas_thread:
        if len(problem.signs) <= FEW and (found := _of_few(problem, min(tol, SMALL), told)):
            return found
        cost = cost_of_steps(problem.X)
        if cost <= QUICK:
            goal = min(tol, DIGITS)
            return purified(problem, interior_point(problem, goal, told), min(tol, PURER))
        stored = problem.X.nnz if sp.issparse(problem.X) else problem.X.size
        patience = cost / (2 * stored / len(problem.signs) + 60.0) * 5e8  # nanoseconds a row
        best, slow = coordinate_descent(problem, tol, passes, start, told, patience, seed)
        if not slow:
            return best
        goal = min(tol, FEWER_DIGITS)
        found = purified(problem, interior_point(problem, goal, told), min(tol, PURE))
        return min(best, found, key=lambda each: each.gap)


def _of_few(
    problem: Problem, tol: float, told: Callable[[Certificate], bool]
) -> Certificate | None:
    """Return weights found by descent on pairs of rows, unless it is slow or too rough."""
    X = problem.X
    if problem.free and isinstance(X, np.ndarray):
        X = X - X.mean(axis=0)  # which changes the free intercept alone
    K = X @ X.T if isinstance(X, np.ndarray) else (X @ X.T).toarray()
    K = np.ascontiguousarray(K + problem.bias, np.float64)
    rows = PairDescent(K, problem)
    for violation in VIOLATIONS:
        if not rows.descend(violation):
            return None
        if rows.polish():
            found = certified(problem, np.abs(rows.b), enough=tol)
            if told(found) or found.gap <= tol:
                return found
    return None
