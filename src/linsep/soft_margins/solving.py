"""The soft margin of two classes by whichever method is quicker, to a certified gap."""

from collections.abc import Callable

import numpy as np

from linsep._system.threads import one_blas_thread
from linsep.soft_margins.coordinate_descent import Outlook, coordinate_descent, cost_of_row
from linsep.soft_margins.interior_point import cost_of_steps, interior_point
from linsep.soft_margins.problem import Certificate, Problem, purified

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

    Coordinate descent is fast at first and slow for large C; then, and for few rows or features, an
    interior point method replaces it. The choice depends on counts, not on time.

    Parameters
    ----------
    problem : Problem
    tol : float
    passes : int, maximum number of passes of coordinate descent
    start : float64 array of shape (rows,), initial dual variables; default zeros
    told : function of the best certificate so far, which returns whether to stop
    seed : int, of the order of the rows
    """
    if problem.free and abs(problem.signs.sum()) == len(problem.signs):  # one class only
        none = np.zeros(problem.X.shape[1]), float(problem.signs[0])
        return Certificate(*none, np.zeros(len(problem.signs)), 0.0, 0.0)
    with one_blas_thread:
        cost = cost_of_steps(problem.X)
        if cost <= QUICK:
            goal = min(tol, DIGITS)
            return purified(problem, interior_point(problem, goal, told), min(tol, PURER))
        outlook = Outlook(tol, cost / cost_of_row(problem.X))
        best, poor = coordinate_descent(problem, tol, passes, start, told, outlook, seed)
        if not poor:
            return best
        goal = min(tol, FEWER_DIGITS)
        found = purified(problem, interior_point(problem, goal, told), min(tol, PURE))
        return min(best, found, key=lambda each: each.gap)
