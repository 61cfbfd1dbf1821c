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
#: rounds at most
MOST_ROUNDS = 200
#: rounds in which the gap must halve, and after which scores are computed anew
PATIENCE, ANEW = 30, 8
#: violations, in units of the margin, at which a descent pauses first, and at last
COARSE, FINEST = 1e-3, 1e-13
#: fewest rows of a working set, whatever the memory, and most that an interior point method takes
LEAST_ROOM, MOST_REFINED = 1000, 3000
#: what is added to the diagonal of a Gram matrix, as a share of the mean, to factor it
FLAT = 1e-13


class KernelRows:
    """Rows in the space of a kernel.

    Parameters
    ----------
    kernel : a fitted :class:`linsep.kernels.Kernel`
    prepared : rows prepared by it
    shift : float, a constant added to all kernel values: the square of a constant feature
    """

    def __init__(self, kernel: Any, prepared: Any, shift: float = 0.0):
        self.kernel, self.prepared, self.shift = kernel, prepared, shift
        self.squares = self.kernel.diagonal(prepared) + shift
        self.roots = np.sqrt(np.maximum(self.squares, 0.0)) * (1 + 4 * EPS)
        self._whole: np.ndarray | None = None

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
            given = self.prepared.whole if isinstance(self.prepared, GramRows) else None
            if given is None or self.shift:
                everything = np.arange(len(self))
                given = np.ascontiguousarray(self.between(everything, everything))
            self._whole = given
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


class KernelProblem(Problem):
    """A :class:`linsep.soft_margins.problem.Problem` whose rows ``X`` are :class:`KernelRows`; the
    constant feature of a penalized intercept is included in them.
    """

    X: KernelRows


def certified(
    problem: KernelProblem, dual: np.ndarray, scores: np.ndarray, error: float
) -> Certificate:
    """Return the certificate of dual variables, made feasible, and of their implicit weights sum_i
    a_i y_i phi(x_i).

    Parameters
    ----------
    problem : KernelProblem
    dual : float64 array of shape (rows,), any numbers
    scores : float64 array of shape (rows,), sum_j a_j y_j K(x_j, x_i) of these dual variables
    error : float, the error of scores is at most this many times sqrt(K(x_i, x_i))
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

    def __init__(self, signs: np.ndarray, costs: np.ndarray, squared: bool, free: bool):
        large = np.full(len(signs), np.inf) if squared else costs
        self.low, self.high = np.where(signs > 0, 0.0, -large), np.where(signs > 0, large, 0.0)
        self.ridge = 0.5 / costs if squared else np.zeros(len(signs))
        self.b, self.slopes = np.zeros(len(signs)), -signs
        self.signs, self.sum_is_fixed = signs, free

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

    def __init__(
        self, K: np.ndarray, signs: np.ndarray, costs: np.ndarray, squared: bool, free: bool
    ):
        super().__init__(signs, costs, squared, free)
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

    def __init__(self, problem: KernelProblem):
        super().__init__(problem.signs, problem.costs, problem.squared, problem.free)
        self.problem, self.scores, self.error = problem, np.zeros(len(self.b)), 0.0

    def certificate(self) -> Certificate:
        """Return the certificate of these variables."""
        return certified(self.problem, np.abs(self.b), self.scores, self.error)

    def set(self, rows: np.ndarray, b: np.ndarray) -> bool:
        """Set the variables of ``rows`` and update the scores of all; return whether any moved."""
        before = self.b.copy()
        self.b[rows] = b
        self.score(before)
        return bool((self.b != before).any())

    def score(self, before: np.ndarray) -> None:
        """Update the scores of the variables ``before``; zeros have scores without an error."""
        X, moved = self.problem.X, self.b - before
        if not before.any():
            self.scores, self.error = np.zeros(len(moved)), 0.0
        change, error = X.scores(moved)
        self.scores = self.scores + change
        # |w| is below this length, and bounds scores as shares of the lengths of their rows
        self.error += error + 2 * EPS * float(np.abs(self.b) @ X.roots)
        self.slopes = self.scores - self.problem.signs + self.ridge * self.b

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
    problem: KernelProblem, tol: float, cache_bytes: float, rounds: int = MOST_ROUNDS,
    told: Callable[[Certificate], bool] = lambda found: False, seed: int = 0,
) -> Certificate:  # fmt: skip
    """Return dual variables whose gap is at most ``tol``, or the best found.

    Parameters
    ----------
    problem : KernelProblem
    tol : float
    cache_bytes : float, memory for a Gram matrix of all rows or of a working set
    rounds : int, maximum number of times that the gap is computed
    told : function of the best certificate so far, which returns whether to stop
    seed : int, of the initial sample of rows if not all fit in memory
    """
    if (alone := of_one_class(problem, 0)) is not None:
        return alone
    room = max(LEAST_ROOM, int((cache_bytes / 8) ** 0.5))
    with one_blas_thread:
        search = Search(problem, tol, told)
        if len(problem.signs) <= room:
            search.all_at_once(rounds)
        else:
            search.in_rounds(rounds, room, seed)
    return search.best


class Search:
    """The state of the decomposition.

    Parameters
    ----------
    problem, tol, told : as in :func:`decomposition`
    """

    def __init__(
        self, problem: KernelProblem, tol: float, told: Callable[[Certificate], bool]
    ) -> None:
        self.problem, self.tol, self.told = problem, tol, told
        none = np.zeros(len(problem.signs))
        self.best, self._gap = Certificate(np.empty(0), 0.0, none, math.inf, 0.0), 1.0

    def is_over(self, found: Certificate) -> bool:
        """Return whether a certificate, or the user, ends the fit."""
        self._gap = found.gap
        if found.gap <= self.best.gap:
            self.best = found
        return self.told(self.best) or self.best.gap <= self.tol

    def all_at_once(self, rounds: int) -> None:
        """Find the optimal variables of all rows, whose Gram matrix is in memory."""
        p, tolerance, few = self.problem, COARSE, len(self.problem.signs) <= MOST_REFINED
        everything = PairDescent(p.X.whole(), p.signs, p.costs, p.squared, p.free)
        for _ in range(rounds):
            soon = everything.descend(tolerance)
            everything.polish()
            if self._take(everything.b):
                return
            if tolerance <= FINEST or (few and not soon):
                break
            tolerance *= min(0.3, max(1e-3, 0.5 * self.tol / self._gap))
        if few:
            self._finish(everything)

    def _take(self, b: np.ndarray) -> bool:
        """Certify the variables of all rows, and return whether that ends the fit; once more, as
        they are feasible, with longer floats, as the gap may be one of rounding.
        """
        p = self.problem
        found = certified(p, np.abs(b), *p.X.scores(b))
        if found.gap > self.tol and len(b) <= MOST_REFINED:
            found = certified(p, found.dual, *p.X.scores(p.signs * found.dual, np.longdouble))
        return self.is_over(found)

    def _finish(self, everything: PairDescent) -> None:
        """Solve for all variables at once by the interior point method of linear soft margins,
        whose rows have the same products.
        """
        p, K = self.problem, self.problem.X.whole()
        try:
            X = np.linalg.cholesky(K + FLAT * float(np.trace(K)) / len(K) * np.eye(len(K)))
        except np.linalg.LinAlgError:  # the kernel is not positive semidefinite
            return
        same = Problem(X, p.signs, p.costs, p.squared, "free" if p.free else None)
        found = interior_point(same, self.tol / 10, own=True)
        everything.b = p.signs * at_bounds(same, found)
        everything.polish()
        if not self._take(everything.b):
            self._take(p.signs * found.dual)

    def in_rounds(self, rounds: int, room: int, seed: int) -> None:
        """Find the optimal variables of as many rows as there is room for, again and again."""
        dual = Dual(self.problem)
        dual.slopes = dual.slopes + 1e-9 * np.random.RandomState(seed).uniform(size=len(dual.b))
        rows = dual.chosen(room)  # a sample, half of it of each class
        X, gaps = self.problem.X, []
        K = X.between(rows, rows)
        for number in range(rounds + 1):
            moved = self._improve(dual, rows, K)
            if number % ANEW == ANEW - 1:  # without rounding of many changes
                dual.score(np.zeros(len(dual.b)))
            over = self.is_over(dual.certificate())
            gaps.append(self.best.gap)
            stuck = number > PATIENCE and gaps[-1] > 0.5 * gaps[-PATIENCE]
            if over or stuck or not moved:
                return
            chosen = dual.chosen(room)
            places = np.flatnonzero(~np.isin(rows, chosen))
            rows[places] = np.setdiff1d(chosen, rows)
            K[places] = X.between(rows[places], rows)
            K[:, places] = K[places].T

    def _improve(self, dual: Dual, rows: np.ndarray, K: np.ndarray) -> bool:
        """Find the optimal variables of some rows, given the others; return whether any moved."""
        p = self.problem
        some = PairDescent(K, p.signs[rows], p.costs[rows], p.squared, p.free)
        some.b, some.slopes = dual.b[rows], dual.slopes[rows]
        some.descend(dual.violation() * min(3e-3, max(1e-4, 0.03 * self.tol / self._gap)))
        return dual.set(rows, some.b)
