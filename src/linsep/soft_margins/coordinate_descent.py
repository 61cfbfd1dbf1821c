"""The soft margin by coordinate descent on its dual, for any number of rows and features.

C. Hsieh, K. Chang, C. Lin, S. Keerthi and S. Sundararajan, A dual coordinate descent method for
large-scale linear SVM, ICML 2008, with their shrinking. A free intercept b is penalized by its
squared distance from an earlier value, over 2 rho, which is updated from time to time (the proximal
method of multipliers; R. Rockafellar, Augmented Lagrangians and applications of the proximal point
algorithm, Math. Oper. Res. 1, 1976). It therefore costs no more than a penalized intercept.
"""

import math
from collections.abc import Callable

import numpy as np

from linsep._system.interrupts import interruption_point
from linsep.compiled.soft_margin import descend
from linsep.soft_margins.problem import Certificate, Problem, certified

#: passes between two moves of the free intercept; rows visited, as a share of all, after which the
#: gap is looked at: always, or if the slopes of all rows are nearly equal
MOVE, LOOK, SOONER = 3, 20, 4
#: slopes are nearly equal if they are apart by this times the root of the wanted gap at first, and
#: by a part of it each time
WIDE, NARROWER = 2.0, 0.2


def coordinate_descent(
    problem: Problem, tol: float, passes: int, start: np.ndarray | None = None,
    told: Callable[[Certificate], bool] = lambda found: False, patience: float = math.inf,
    seed: int = 0,
) -> tuple[Certificate, bool]:  # fmt: skip
    """Return weights whose gap is at most ``tol``, and whether patience is at an end. Return the
    best so far after ``passes`` passes, when ``told`` (called with the best certificate) returns
    True, or after a visit of ``patience`` rows.
    """
    squares, costs, n = problem.squares, problem.costs, len(problem.signs)
    # how far a free intercept may go from where it is
    rho = float(np.median(squares)) or float(squares.mean()) or 1.0
    bias = np.sqrt(rho) if problem.free else problem.bias
    curvature = squares + bias**2 + np.finfo(float).tiny
    if problem.squared:
        curvature += 0.5 / costs
    dual = np.zeros(n) if start is None else start.copy()
    weights, best = problem.combined(dual), certified(problem, dual)
    # the rows in the order of visits, and how many of them are not set aside
    order, active, random = np.arange(n), n, np.random.default_rng(seed)
    limits, width = np.array([np.inf, -np.inf]), WIDE * math.sqrt(tol)
    visited = looked = number = 0
    if problem.free:
        weights[-1] = bias * float(problem.signs @ dual)
    while best.gap > tol and visited < passes * n:
        whole, visited, number = active == n, visited + active, number + 1
        visits = order[:active]
        random.shuffle(visits)
        high, low, active = descend(
            problem.rows, visits, dual, problem.signs, costs, curvature, weights, bias,
            problem.squared, limits,
        )  # fmt: skip
        interruption_point()
        limits = np.array([high if high > 0 else np.inf, low if low < 0 else -np.inf])
        narrow = high - low <= width or not active
        even = narrow and whole
        if even:
            width *= NARROWER
        elif narrow:  # look at those set aside
            active, limits = n, np.array([np.inf, -np.inf])
        look = visited - looked >= (SOONER if even else LOOK) * n
        if look:
            looked = visited
            best = min(best, certified(problem, dual), key=lambda each: each.gap)
            if told(best):
                break
            if visited > patience:
                return best, best.gap > tol
            last, weights = weights[-1], problem.combined(dual)  # without accumulated rounding
            if problem.free:
                weights[-1] = last
        if problem.free and (look or even or number % MOVE == 0):
            weights[-1] += bias * float(problem.signs @ dual)
    return best, False
