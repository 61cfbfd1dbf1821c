"""The soft margin in the space of a kernel: working sets with their Gram matrix, in rounds.

Rows are known by their kernel values, which are treated as exact. Values of a positive semidefinite
kernel are inner products of rows, so the proof of :mod:`linsep.soft_margins.problem` holds for
them. Each round selects the rows that violate optimality most, the free support vectors and close
rows, as many as fit in a Gram matrix in memory, and solves their part of the dual by descent on
pairs (T. Joachims, Making large-scale SVM learning practical, 1999, with sets of thousands of
rows). All rows form one set if they fit; if descent is slow, an interior point method finishes.
"""

import math
from collections.abc import Callable
from copy import copy
from typing import Any, Self

import numpy as np

from linsep._system.interrupts import interruption_point, interrupts_allowed
from linsep._system.threads import one_blas_thread
from linsep.compiled.soft_margin_kernels import descend_by_one, descend_by_pairs
from linsep.kernels.foreign import GramRows
from linsep.soft_margins.interior_point import interior_point
from linsep.soft_margins.problem import (
    EPS,
    TINY,
    Certificate,
    Problem,
    at_bounds,
    best_intercept,
    feasible,
    of_one_class,
)

#: kernel values computed at once
AT_ONCE = 1 << 21
#: steps of a descent between two looks at Ctrl-C, as kernel values that they read
VALUES_BETWEEN_LOOKS = 1 << 29
#: steps of a descent per row, from which on it crawls
CRAWLS = 40
#: rounds in which the gap must halve, and after which scores are computed anew
PATIENCE, ANEW = 30, 8
#: violations, in units of the margin, at which a descent pauses first, and at last
COARSE, FINEST = 1e-3, 1e-13
#: fewest rows of a working set, whatever the memory, and most that an interior point method takes
LEAST_ROOM, MOST_REFINED = 1000, 3000
#: what is added to the diagonal of a Gram matrix, as a share of the mean, to factor it
FLAT = 1e-13


class KernelRows:
    """Rows in the space of a kernel, which has prepared them; ``shift``, the square of a constant
    feature, is added to all kernel values.
    """

    def __init__(self, kernel: Any, prepared: Any, shift: float = 0.0):
        self.kernel, self.prepared, self.shift = kernel, prepared, shift
        self.squares = self.kernel.diagonal(prepared) + shift
        self.roots = np.sqrt(np.maximum(self.squares, 0.0)) * (1 + 4 * EPS)
        given = isinstance(prepared, GramRows) and not shift
        self._whole: np.ndarray | None = prepared.whole if given else None

    def __len__(self) -> int:
        return len(self.squares)

    def some(self, rows: np.ndarray) -> Self:
        """Return the space of some of the rows, by their numbers."""
        if rows.size == len(self):
            return self
        found = copy(self)
        found.squares, found.roots = self.squares[rows], self.roots[rows]
        if self._whole is None:
            found.prepared = self.prepared[rows]
        else:
            found._whole = self._whole[rows[:, None], rows]
        return found

    def between(self, a: Any, b: Any) -> np.ndarray:
        """Return kernel values of two sets of rows, by their numbers or slices."""
        if self._whole is not None:
            return self._whole[a][:, b]
        interruption_point()
        with interrupts_allowed():  # a kernel may be a user's function
            left = self.prepared[a]
            found = self.kernel.gram(left, left if a is b else self.prepared[b])
        return found + self.shift if self.shift else found

    def whole(self) -> np.ndarray:
        """Return kernel values of all pairs of rows (cached)."""
        if self._whole is None:
            everything = np.arange(len(self))
            self._whole = np.ascontiguousarray(self.between(everything, everything))
        return self._whole

    def scores(self, b: np.ndarray, kind: Any = np.float64) -> tuple[np.ndarray, float]:
        """Return the products of all rows with sum_j b_j x_j, summed as numbers of a kind; their
        errors are at most the second times sqrt(K(x, x)), and a rounding.
        """
        columns = np.flatnonzero(b)
        amounts, found = b[columns].astype(kind), np.zeros(len(self), kind)
        # BLAS may add so many terms of a sum in any order; such partial sums are added in order
        terms = max(16, math.isqrt(columns.size))
        unit = 1.1 * (terms + columns.size // terms + 5) * float(np.finfo(kind).eps)
        step = max(1, AT_ONCE // max(1, columns.size))
        for start in range(0, len(self) if columns.size else 0, step):
            part = slice(start, min(start + step, len(self)))
            values = self.between(part, columns)
            for first in range(0, columns.size, terms):
                among = slice(first, first + terms)
                found[part] += values[:, among] @ amounts[among]
        return found.astype(np.float64), unit * float(np.abs(amounts) @ self.roots[columns])


def certified(problem: Problem, dual: np.ndarray, scores: np.ndarray, error: float) -> Certificate:
    """Return the certificate of dual variables, made feasible, and of their implicit weights sum_i
    a_i y_i phi(x_i), given the scores sum_j a_j y_j K(x_j, x_i), whose errors are at most ``error``
    times sqrt(K(x_i, x_i)).
    """
    roots, y, rows = problem.X.roots, problem.signs, len(dual)
    with np.errstate(over="ignore", invalid="ignore"):
        multiple = problem.best_multiple(dual, float((dual * y) @ scores))
        found, total = feasible(problem, dual * multiple)
        scores = scores * multiple
        # the products of what was added to the dual variables, by the inequality of Cauchy
        moved = np.abs(found - multiple * dual) + 2 * EPS * multiple * dual * (multiple != 1.0)
        error = (multiple * error + float(moved @ roots)) * (1 + 2 * (rows + 4) * EPS)
        slack = error * roots * (1 + 8 * EPS) + 4 * EPS * np.abs(scores) + TINY
        near = 1.0 + 2 * (rows + 16) * EPS
        square = float((found * y) @ scores) + float(found @ slack) * near
        square += 2 * (rows + 4) * EPS * float(found @ np.abs(scores))
        intercept = best_intercept(problem, scores) if problem.free else 0.0
        short = 1.0 - y * (scores + intercept) + slack
        short += 8 * EPS * (1.0 + abs(intercept) + np.abs(scores))
        primal = square / 2 + float(problem.losses(short).sum()) * near
        bound = total - (square / 2 + problem.penalty(found) * near)
        primal += 4 * EPS * abs(primal) + TINY
        bound = max(0.0, bound - 4 * EPS * (abs(total) + abs(square)) - TINY)
    return Certificate(np.empty(0), float(intercept), found, primal, bound)


class Boxes:
    """Variables b_i = y_i a_i of rows, between ``low`` and ``high``, with what a squared loss adds
    to their curvature, and the gradient ``slopes`` of the objective in them.
    """

    def __init__(self, problem: Problem, rows: Any = slice(None)):
        self.signs, costs = problem.signs[rows], problem.costs[rows]
        large, up = (np.inf if problem.squared else costs), self.signs > 0
        self.low, self.high = np.where(up, 0.0, -large), np.where(up, large, 0.0)
        self.ridge = 0.5 / costs if problem.squared else np.zeros(len(costs))
        self.b, self.slopes, self.sum_is_fixed = np.zeros(len(costs)), -self.signs, problem.free

    @property
    def free(self) -> np.ndarray:
        """Whether each variable is between its bounds."""
        return (self.b > self.low) & (self.b < self.high)

    def violation(self) -> float:
        """Return by how much the variables violate optimality.

        If their sum is fixed, the slope of variables between their bounds is minus the intercept.
        """
        up, down, level = self.b < self.high, self.b > self.low, 0.0
        if self.sum_is_fixed:
            ends = self.slopes[up].min(initial=np.inf), self.slopes[down].max(initial=-np.inf)
            level = float(self.slopes[up & down].mean()) if (up & down).any() else sum(ends) / 2
            level = level if np.isfinite(level) else 0.0
        far = self.slopes - level
        return float(max((-far[up]).max(initial=-np.inf), far[down].max(initial=-np.inf)))


class PairDescent(Boxes):
    """Variables of rows whose Gram matrix is in memory, improved one or two at a time."""

    def __init__(self, K: np.ndarray, problem: Problem, rows: Any = slice(None)):
        super().__init__(problem, rows)
        self.K, self.curvatures = K, K.diagonal() + self.ridge
        self.flat = 1e-14 * float(np.abs(self.curvatures).max(initial=0.0)) + 1e-300

    def descend(self, tolerance: float) -> bool:
        """Descend until the violation is at most ``tolerance``; return whether that was soon."""
        descend = descend_by_pairs if self.sum_is_fixed else descend_by_one
        steps = CRAWLS * len(self.b)
        at_once, taken = max(1, VALUES_BETWEEN_LOOKS // len(self.b)), 0
        while True:
            some, violation = descend(
                self.K, self.curvatures, self.slopes, self.b, self.low, self.high, self.ridge,
                self.flat, tolerance, min(at_once, steps - taken),
            )  # fmt: skip
            taken += some
            interruption_point()
            if violation <= tolerance or taken >= steps:
                return bool(violation <= tolerance)

    def polish(self) -> bool:
        """Solve the equations of the variables between their bounds, if these are few; return
        whether they stay there.
        """
        free = np.flatnonzero(self.free)
        if free.size > MOST_REFINED:
            return False
        # without rounding of many steps
        self.slopes = self.K @ self.b - self.signs + self.ridge * self.b
        flat = FLAT * float(self.curvatures.mean()) + TINY
        A = np.eye(free.size + 1)
        A[:-1, :-1] = self.K[free[:, None], free]
        A.flat[: -1 : free.size + 2] += self.ridge[free] + flat
        if self.sum_is_fixed:
            A[-1], A[:, -1], A[-1, -1] = 1.0, 1.0, 0.0
        try:
            moved = np.linalg.solve(A, -np.append(self.slopes[free], 0.0))[:-1]
        except np.linalg.LinAlgError:
            return False
        b = self.b[free] + moved
        stay = bool(((b > self.low[free]) & (b < self.high[free])).all())
        if stay:
            self.b[free] = b
            self.slopes += moved @ self.K[free]
            self.slopes[free] += moved * self.ridge[free]
        return stay


class Dual(Boxes):
    """Variables of all rows, and their scores; errors of scores are at most ``error`` times
    sqrt(K(x, x)).
    """

    def __init__(self, problem: Problem):
        super().__init__(problem)
        self.problem, self.scores, self.error = problem, np.zeros(len(self.b)), 0.0

    def certificate(self) -> Certificate:
        """Return the certificate of these variables."""
        return certified(self.problem, np.abs(self.b), self.scores, self.error)

    def set(self, rows: np.ndarray, b: np.ndarray, anew: bool = False) -> bool:
        """Set the variables of ``rows`` and update the scores of all, or compute them ``anew``,
        without the rounding of many changes; return whether any variable moved.
        """
        before = self.b.copy()
        self.b[rows] = b
        old = np.zeros_like(before) if anew else before
        if not old.any():
            self.scores, self.error = old, 0.0  # which are without an error
        change, error = self.problem.X.scores(self.b - old)
        self.scores = self.scores + change
        # |w| is below this length, and bounds scores as shares of the lengths of their rows
        self.error += error + 2 * EPS * float(np.abs(self.b) @ self.problem.X.roots)
        self.slopes = self.scores - self.problem.signs + self.ridge * self.b
        return bool((self.b != before).any())

    def chosen(self, room: int) -> np.ndarray:
        """Return the rows of the next round: rows between their bounds, and the rows that violate
        optimality most, or satisfy it least, in either direction.
        """
        chosen = self.free
        inside = np.flatnonzero(chosen)
        if inside.size > room // 2:
            chosen[:] = False
            far = np.abs(self.slopes[inside] - self.slopes[inside].mean())
            chosen[inside[np.argpartition(-far, room // 2)[: room // 2]]] = True
        up = np.where(self.b < self.high, self.slopes, np.inf)
        down = np.where(self.b > self.low, -self.slopes, np.inf)
        for side, share in ((up, 2), (down, 1)):
            many = (room - int(chosen.sum())) // share
            side[chosen] = np.inf
            if many:
                chosen[np.argpartition(side, many - 1)[:many]] = True
        return np.flatnonzero(chosen)


def decomposition(
    problem: Problem, tol: float, cache_bytes: float, rounds: int = 200,
    told: Callable[[Certificate], bool] = lambda found: False, seed: int = 0,
) -> Certificate:  # fmt: skip
    """Return dual variables whose gap is at most ``tol``, or the best found in as many rounds, each
    of which ends with a certificate.

    ``problem.X`` are :class:`KernelRows`, which include the constant feature of a penalized
    intercept; ``cache_bytes`` is the memory for a Gram matrix, and ``told`` a function of the best
    certificate so far, which returns whether to stop.
    """
    if (alone := of_one_class(problem, 0)) is not None:
        return alone
    with one_blas_thread:
        search = Search(problem, tol, told)
        search.run(rounds, max(LEAST_ROOM, int((cache_bytes / 8) ** 0.5)), seed)
    return search.best


class Search:
    """The state of the decomposition: the best certificate, and the gap of the last."""

    def __init__(self, problem: Problem, tol: float, told: Callable[[Certificate], bool]) -> None:
        self.problem, self.tol, self.told = problem, tol, told
        none = np.zeros(len(problem.signs))
        self.best, self.gap = Certificate(np.empty(0), 0.0, none, math.inf, 0.0), 1.0

    def is_over(self, found: Certificate) -> bool:
        """Return whether a certificate, or the user, ends the fit. Of few rows it is computed once
        more, as they are feasible, with longer floats: the gap may be one of rounding.
        """
        p = self.problem
        if found.gap > self.tol and len(found.dual) <= MOST_REFINED:
            found = certified(p, found.dual, *p.X.scores(p.signs * found.dual, np.longdouble))
        self.gap = found.gap
        if found.gap <= self.best.gap:
            self.best = found
        return self.told(self.best) or self.best.gap <= self.tol

    def run(self, rounds: int, room: int, seed: int) -> None:
        """Find the optimal variables of as many rows as there is room for, again and again."""
        p, n, gaps = self.problem, len(self.problem.signs), []
        dual, whole, few = Dual(p), n <= room, n <= MOST_REFINED
        rows, tolerance = np.arange(n), COARSE
        if not whole:  # a sample, half of it of each class
            dual.slopes = dual.slopes + 1e-9 * np.random.RandomState(seed).uniform(size=n)
            rows = dual.chosen(room)
        K = p.X.whole() if whole else p.X.between(rows, rows)
        for number in range(rounds):
            some = PairDescent(K, p, rows)
            some.b, some.slopes = dual.b[rows], dual.slopes[rows]
            if not whole:
                share = min(3e-3, max(1e-4, 0.03 * self.tol / self.gap))
                tolerance = dual.violation() * share
            soon = some.descend(tolerance)
            if whole:
                some.polish()
            moved = dual.set(rows, some.b, anew=whole or number % ANEW == ANEW - 1)
            if self.is_over(dual.certificate()):
                return
            gaps.append(self.gap)
            if number > PATIENCE and gaps[-1] > 0.5 * gaps[-PATIENCE]:
                return
            if whole and (tolerance <= FINEST or (few and not soon)):
                break
            if whole:
                tolerance *= min(0.3, max(1e-3, 0.5 * self.tol / self.gap))
            elif not moved:
                return
            else:
                chosen = dual.chosen(room)
                places = np.flatnonzero(~np.isin(rows, chosen))
                rows[places] = np.setdiff1d(chosen, rows)
                K[places] = p.X.between(rows[places], rows)
                K[:, places] = K[places].T
        if whole and few:
            self.finish(some, dual)

    def finish(self, everything: PairDescent, dual: Dual) -> None:
        """Solve for all variables at once by the interior point method of linear soft margins,
        whose rows have the same products.
        """
        p, K = self.problem, everything.K
        try:
            X = np.linalg.cholesky(K + FLAT * float(np.trace(K)) / len(K) * np.eye(len(K)))
        except np.linalg.LinAlgError:  # the kernel is not positive semidefinite
            return
        same = Problem(X, p.signs, p.costs, p.squared, "free" if p.free else None)
        found = interior_point(same, self.tol / 10, own=True)
        everything.b = p.signs * at_bounds(same, found)
        everything.polish()
        for b in (everything.b, p.signs * found.dual):
            dual.set(np.arange(len(b)), b, anew=True)
            if self.is_over(dual.certificate()):
                return
