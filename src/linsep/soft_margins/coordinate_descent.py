"""The soft margin by coordinate descent on its dual, for any number of rows and features.

C. Hsieh, K. Chang, C. Lin, S. Keerthi and S. Sundararajan, A dual coordinate descent method for
large-scale linear SVM, ICML 2008, with their shrinking. A free intercept b is penalized by its
squared distance from an earlier value, over 2 rho, which is updated from time to time (the proximal
method of multipliers; R. Rockafellar, Augmented Lagrangians and applications of the proximal point
algorithm, Math. Oper. Res. 1, 1976). It therefore costs no more than a penalized intercept.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

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
    descent = Descent(problem, tol, start, seed)
    best, looked, rows = certified(problem, descent.dual), 0, len(problem.signs)
    number = 0
    while best.gap > tol and descent.visited < passes * rows:
        descent.visit()
        interruption_point()
        number += 1
        since = descent.visited - looked
        if since >= LOOK * rows or (descent.even and since >= SOONER * rows):
            looked = descent.visited
            best = min(best, certified(problem, descent.dual), key=lambda each: each.gap)
            if told(best):
                break
            if descent.visited > patience:
                return best, best.gap > tol
            descent.settle()
        elif number % MOVE == 0 or descent.even:
            descent.move()
    return best, False


class Descent:
    """Dual variables, their weights, and the active rows."""

    def __init__(self, problem: Problem, tol: float, start: np.ndarray | None, seed: int):
        self.problem, self.random = problem, np.random.default_rng(seed)
        costs, squares = problem.costs, problem.squares
        # The place of a free intercept, and how far it may go from there.
        self.place, self.rho = 0.0, float(np.median(squares)) or float(squares.mean()) or 1.0
        self.bias = np.sqrt(self.rho) if problem.free else problem.bias
        self.curvature = squares + self.bias**2 + np.finfo(float).tiny
        if problem.squared:
            self.curvature += 0.5 / costs
        self.dual = np.zeros(len(costs)) if start is None else start.copy()
        #: the rows in the order of visits, and how many of them are not set aside
        self.order = np.arange(len(costs))
        self.active = len(costs)
        self.limits, self.width = (np.inf, -np.inf), WIDE * math.sqrt(tol)
        self.even, self.visited = False, 0
        self.weights = problem.combined(self.dual)
        self.settle()

    def visit(self) -> None:
        """Visit all active rows once, in random order."""
        problem, limits = self.problem, np.array(self.limits)
        whole = self.active == len(self.dual)
        self.visited += self.active
        order = self.order[: self.active]
        self.random.shuffle(order)
        high, low, self.active = descend(
            problem.rows, order, self.dual, problem.signs, problem.costs, self.curvature,
            self.weights, self.bias, problem.squared, limits,
        )  # fmt: skip
        self.limits = (high if high > 0 else np.inf), (low if low < 0 else -np.inf)
        narrow = high - low <= self.width or not self.active
        self.even = narrow and whole
        if self.even:
            self.width *= NARROWER
        elif narrow:  # look at those set aside
            self.active, self.limits = len(self.order), (np.inf, -np.inf)

    def move(self) -> None:
        """Move the center of a free intercept to its current value."""
        if self.problem.free:
            self.place = self.bias * self.weights[-1]
            balance = float(self.problem.signs @ self.dual)
            self.weights[-1] = self.place / self.bias + self.bias * balance

    def settle(self) -> None:
        """Remove accumulated rounding from the weights, and move the free intercept."""
        last = self.weights[-1]
        self.weights = self.problem.combined(self.dual)
        if self.problem.free:
            self.weights[-1] = last
            self.move()


def cost_of_row(X: Any) -> float:
    """Return an estimate of the seconds per row."""
    stored = X.nnz / X.shape[0] if sp.issparse(X) else X.shape[1]
    return (2.0 * stored + 60.0) * 1e-9
