"""The soft margin in the space of a kernel: working sets with their Gram matrix, in rounds.

Each round selects the rows that violate optimality most, the free support vectors and close rows,
as many as fit in a Gram matrix in memory, and solves their part of the dual by descent on pairs (T.
Joachims, Making large-scale SVM learning practical, 1999, with sets of thousands of rows). All rows
form one set if they fit; if descent is slow, an interior point method finishes.
"""

from collections.abc import Callable

import numpy as np

from linsep._system.interrupts import interruption_point
from linsep._system.threads import one_blas_thread
from linsep.compiled.soft_margin_kernels import descend_by_one, descend_by_pairs
from linsep.soft_margins.in_kernel_space import KernelProblem, certified, unit_of
from linsep.soft_margins.interior_point import interior_point
from linsep.soft_margins.problem import EPS, TINY, Certificate, Problem, best_intercept, purified

#: steps of a descent between two looks at Ctrl-C, as kernel values that they read
VALUES_BETWEEN_LOOKS = 1 << 29
#: steps of a descent per row, from which on it crawls
CRAWLS = 40
#: rounds at most
MOST_ROUNDS = 200
#: share of a gap that rounding may be before scores are computed anew
BLURRED = 0.2
#: rounds in which the gap must halve
PATIENCE = 30
#: violations, in units of the margin, at which a descent pauses first, and at last
COARSE, FINEST = 1e-2, 1e-13
#: the same of the sample to begin with
ROUGH = 5e-2
#: fewest rows of a working set, whatever the memory, and most that an interior point method takes
LEAST_ROOM, MOST_REFINED = 1000, 3000
#: what is added to the diagonal of a Gram matrix, as a share of the mean, to factor it
FLAT = 1e-13


class Dual:
    """Dual variables b_i = y_i a_i of all rows, between ``low`` and ``high``, and their scores."""

    def __init__(self, problem: KernelProblem):
        self.problem, y, u = problem, problem.signs, problem.costs
        large = np.full(len(y), np.inf) if problem.squared else u
        self.low, self.high = np.where(y > 0, 0.0, -large), np.where(y > 0, large, 0.0)
        self.ridge = 0.5 / u if problem.squared else np.zeros(len(y))
        self.curvatures = problem.X.squares + self.ridge
        self.flat = 1e-14 * float(np.abs(self.curvatures).max(initial=0.0)) + 1e-300
        self.b, self.scores = np.zeros(len(y)), np.zeros(len(y))
        #: errors of scores are at most this many times sqrt(K(x, x))
        self.error = 0.0
        self._roots = np.sqrt(np.maximum(problem.X.squares, 0.0))

    @property
    def slopes(self) -> np.ndarray:
        """The gradient of the objective in b, without the free intercept."""
        return self.scores - self.problem.signs + self.ridge * self.b

    def certificate(self) -> Certificate:
        """Return the certificate of these variables."""
        return certified(self.problem, np.abs(self.b), self.scores, self.error)

    def set(self, rows: np.ndarray, b: np.ndarray) -> bool:
        """Set the variables of ``rows`` and update the scores of all; return whether any moved."""
        moved = b - self.b[rows]
        some = np.flatnonzero(moved)
        self.b[rows] = b
        self._add(rows[some], moved[some])
        return bool(some.size)

    def score_anew(self, careful: bool = False) -> None:
        """Recompute the scores, without accumulated rounding; if ``careful``, in twice the
        precision.
        """
        some = np.flatnonzero(self.b)
        self.scores[:], self.error = 0.0, 0.0
        if not careful:
            self._add(some, self.b[some])
            return
        self.problem.X.add_products(None, some, self.b[some], self.scores, careful=True)
        self.error = self._careful_error

    def _add(self, rows: np.ndarray, amounts: np.ndarray) -> None:
        self.problem.X.add_products(None, rows, amounts, self.scores)
        length = float(np.abs(amounts) @ self._roots[rows])
        # |w| is below the other length, and bounds scores as shares of the lengths of their rows
        self.error += 1.1 * unit_of(rows.size) * length + 2.0**-52 * self._length

    @property
    def _length(self) -> float:
        return float(np.abs(self.b) @ self._roots)

    @property
    def _careful_error(self) -> float:
        """The error of scores in twice the precision: two roundings of |w|, whose square is the
        product of b and the scores, but for this error.
        """
        unit, length = 2 * (len(self.b) + 4) * EPS, self._length
        size = float(np.abs(self.b) @ np.abs(self.scores)) ** 0.5 + 2 * unit * length
        return 4 * EPS * size + unit * unit * length

    def is_blurred(self, gap: float) -> bool:
        """Return whether more careful scores would reduce a gap, in units of the objective."""
        part = float(self.problem.costs @ self._roots) * self.error
        return part > BLURRED * gap and self.error > 4 * self._careful_error

    def violations(self) -> np.ndarray:
        """Return by how much each variable violates optimality; negative values are slack."""
        return _violations(self.slopes, self.b, self.low, self.high, self.problem.free)

    @property
    def free(self) -> np.ndarray:
        """Whether each variable is between its bounds."""
        return (self.b > self.low) & (self.b < self.high)


class WorkingSet:
    """A subset of the rows, with their Gram matrix.

    Parameters
    ----------
    dual : Dual
    rows : int64 array, the numbers of the rows; changed by :meth:`exchange`
    K : float64 array of shape (rows, rows), also changed
    """

    def __init__(self, dual: Dual, rows: np.ndarray, K: np.ndarray):
        self.dual, self.rows, self.K = dual, rows, K
        self.refresh()

    def refresh(self) -> None:
        """Copy the variables and slopes of the rows from all rows."""
        dual, rows = self.dual, self.rows
        self.b, self.slopes = dual.b[rows].copy(), dual.slopes[rows].copy()
        self.low, self.high, self.ridge = dual.low[rows], dual.high[rows], dual.ridge[rows]
        self.curvatures = dual.curvatures[rows]

    def exchange(self, rows: np.ndarray) -> None:
        """Replace the rows by the same number of other rows."""
        places = np.flatnonzero(~np.isin(self.rows, rows))
        fresh = np.setdiff1d(rows, self.rows)
        self.rows[places] = fresh
        values = self.dual.problem.X.between(fresh, self.rows)
        self.K[places] = values
        self.K[:, places] = values.T
        self.refresh()

    def descend(self, tolerance: float, steps: int) -> tuple[int, float]:
        """Make at most ``steps`` steps, or until the violation is at most ``tolerance``."""
        descend = descend_by_pairs if self.dual.problem.free else descend_by_one
        at_once, taken = max(1, VALUES_BETWEEN_LOOKS // len(self.rows)), 0
        while True:
            some, violation = descend(
                self.K, self.curvatures, self.slopes, self.b, self.low, self.high, self.ridge,
                self.dual.flat, tolerance, min(at_once, steps - taken),
            )  # fmt: skip
            taken += some
            interruption_point()
            if violation <= tolerance or taken >= steps:
                return taken, violation


def _violations(
    slopes: np.ndarray, b: np.ndarray, low: np.ndarray, high: np.ndarray, sum_is_fixed: bool
) -> np.ndarray:
    """Return by how much each variable violates optimality; negative values are slack.

    If their sum is fixed, the slope of variables between their bounds is minus the intercept.
    """
    up, down, level = b < high, b > low, 0.0
    if sum_is_fixed:
        both = up & down
        ends = slopes[up].min(initial=np.inf), slopes[down].max(initial=-np.inf)
        level = float(slopes[both].mean()) if both.any() else sum(ends) / 2
        level = level if np.isfinite(level) else 0.0
    return np.maximum(
        np.where(up, level - slopes, -np.inf), np.where(down, slopes - level, -np.inf)
    )


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
    if problem.free and abs(problem.signs.sum()) == len(problem.signs):  # one class only
        return Certificate(
            np.empty(0), float(problem.signs[0]), np.zeros(len(problem.signs)), 0.0, 0.0
        )
    with one_blas_thread:
        return _decomposed(problem, tol, cache_bytes, rounds, told, seed)


def _decomposed(
    problem: KernelProblem, tol: float, cache_bytes: float, rounds: int,
    told: Callable[[Certificate], bool], seed: int,
) -> Certificate:  # fmt: skip
    rows, room = len(problem.signs), max(LEAST_ROOM, int((cache_bytes / 8) ** 0.5))
    search = Search(Dual(problem), tol, told)
    if search.is_over():
        return search.best
    if rows <= room:
        search.all_at_once(rounds)
        return search.best
    uncertain = _guess(search.dual, room // 2, seed)
    search.round(np.argpartition(uncertain, room - 1)[:room])
    gaps, moved = [search.best.gap], True
    for number in range(rounds):
        stuck = number > PATIENCE and gaps[-1] > 0.5 * gaps[-PATIENCE]
        if search.is_over() or stuck or not moved:
            break
        gaps.append(search.best.gap)
        moved = search.round(search.chosen(room))
    return search.best


class Search:
    """The state of the decomposition.

    Parameters
    ----------
    dual, tol, told : as in :func:`decomposition`
    """

    def __init__(self, dual: Dual, tol: float, told: Callable[[Certificate], bool]):
        self.dual, self.tol, self.told = dual, tol, told
        self.best, self._gap = dual.certificate(), 1.0
        self._set: WorkingSet | None = None

    def is_over(self) -> bool:
        """Compute the certificate, and return whether it, or the user, ends the fit."""
        found = self.dual.certificate()
        if found.gap > self.tol and self.dual.is_blurred(found.primal - found.bound):
            self.dual.score_anew(careful=True)
            found = self.dual.certificate()
        self._gap = found.gap
        if found.gap <= self.best.gap:
            self.best = found
        return self.told(self.best) or self.best.gap <= self.tol

    def all_at_once(self, rounds: int) -> None:
        """Find the optimal variables of all rows, whose Gram matrix is in memory."""
        rows = np.arange(len(self.dual.b))
        everything, tolerance = WorkingSet(self.dual, rows, self.dual.problem.X.whole()), COARSE
        left, few = CRAWLS * rows.size, rows.size <= MOST_REFINED
        for _ in range(rounds):
            if tolerance <= FINEST or (few and left <= 0):
                if few:
                    self._finish(everything)
                break
            left -= everything.descend(tolerance, left if few else CRAWLS * rows.size)[0]
            if self._take(everything):
                break
            tolerance *= min(0.3, max(1e-3, 0.5 * self.tol / self._gap))
        self._polish(everything)

    def _polish(self, everything: WorkingSet) -> None:
        """Solve the equations of the variables between their bounds, if these are few."""
        dual, b = self.dual, everything.b
        free = np.flatnonzero((b > everything.low) & (b < everything.high))
        if not 0 < free.size <= MOST_REFINED:
            return
        sums = np.ones((free.size, 1)) * dual.problem.free
        flat = FLAT * float(dual.curvatures.mean()) + TINY
        A = everything.K[np.ix_(free, free)] + np.diag(everything.ridge[free] + flat)
        A = np.block([[A, sums], [sums.T, np.eye(1) * (not dual.problem.free)]])
        try:
            moved = np.linalg.solve(A, -np.append(everything.slopes[free], 0.0))
        except np.linalg.LinAlgError:
            return
        b = everything.b[free] + moved[:-1]
        if ((b > everything.low[free]) & (b < everything.high[free])).all():
            everything.b[free] = b
            self._take(everything)

    def _finish(self, everything: WorkingSet) -> None:
        """Solve for all variables at once by the interior point method of linear soft margins,
        whose rows have the same products.
        """
        problem, K = self.dual.problem, everything.K
        y = problem.signs
        try:
            ridge = FLAT * float(np.trace(K)) / len(K) * np.eye(len(K))
            X = np.linalg.cholesky(K + ridge)
        except np.linalg.LinAlgError:  # the kernel is not positive semidefinite
            return
        same = Problem(X, y, problem.costs, problem.squared, "free" if problem.free else None)
        found = interior_point(same, self.tol / 10, Q=K * y * y[:, None])
        everything.b[:] = y * purified(same, found, self.tol / 2, own=True).dual
        self._take(everything)

    def _take(self, everything: WorkingSet) -> bool:
        """Copy the variables of all rows from their set, and return whether that ends the fit."""
        self.dual.b[:] = everything.b
        self.dual.score_anew()
        everything.refresh()
        return self.is_over()

    def chosen(self, room: int) -> np.ndarray:
        """Return the rows of the next round: rows between their bounds, and the rows that violate
        optimality most, or satisfy it least, in either direction.
        """
        dual = self.dual
        slopes, chosen = dual.slopes, dual.free
        inside = np.flatnonzero(chosen)
        if inside.size > room // 2:
            chosen[:] = False
            far = np.abs(slopes[inside] - slopes[inside].mean())
            chosen[inside[np.argpartition(-far, room // 2)[: room // 2]]] = True
        up, down = (
            np.where(dual.b < dual.high, slopes, np.inf),
            np.where(dual.b > dual.low, -slopes, np.inf),
        )
        for side, share in ((up, 2), (down, 1)):
            many = (room - int(chosen.sum())) // share
            side[chosen] = np.inf
            if many:
                chosen[np.argpartition(side, many - 1)[:many]] = True
        return np.flatnonzero(chosen)

    def round(self, rows: np.ndarray) -> bool:
        """Find the optimal variables of some rows, as many as in every round; return whether any
        moved.
        """
        if self._set is None:
            self._set = WorkingSet(self.dual, rows, self.dual.problem.X.between(rows, rows))
        else:
            self._set.exchange(rows)
        worst, some = float(self.dual.violations().max()), self._set
        wanted = worst * min(3e-3, max(1e-4, 0.03 * self.tol / self._gap))
        some.descend(wanted, CRAWLS * rows.size)
        return self.dual.set(some.rows, some.b)


def _guess(dual: Dual, size: int, seed: int) -> np.ndarray:
    """Start near the optimum of a sample of the rows, and return its margin for each row: smaller
    values are more uncertain.
    """
    problem, y, u = dual.problem, dual.problem.signs, dual.problem.costs
    sample = np.sort(np.random.RandomState(seed).permutation(len(y))[:size])
    intercept = "free" if problem.free else None
    some = KernelProblem(
        problem.X.some(sample), y[sample], u[sample] * (len(y) / size), problem.squared, intercept
    )
    rough = Dual(some)
    of_sample = WorkingSet(rough, np.arange(size), some.X.whole())
    of_sample.descend(ROUGH, CRAWLS * size)
    scores, used = np.zeros(len(y)), np.flatnonzero(of_sample.b)
    problem.X.add_products(None, sample[used], of_sample.b[used], scores)
    level = best_intercept(some, scores[sample]) if problem.free else 0.0
    short = 1.0 - y * (scores + level)
    a = 2 * u * np.maximum(short, 0.0) if problem.squared else np.where(short > 0, u, 0.0)
    dual.set(np.arange(len(y)), y * (_balanced(a, short, problem) if problem.free else a))
    return np.abs(short)


def _balanced(a: np.ndarray, short: np.ndarray, problem: KernelProblem) -> np.ndarray:
    """Return dual variables with equal sums in both classes, near given ones."""
    y, u = problem.signs, problem.costs
    sides = [np.flatnonzero(y == sign) for sign in (-1.0, 1.0)]
    goal = sum(float(a[side].sum()) for side in sides) / 2
    if not problem.squared:
        goal = min(goal, *(float(u[side].sum()) for side in sides))
    found = np.zeros_like(a)
    for side in sides:
        if problem.squared:
            found[side] = a[side] * (goal / max(float(a[side].sum()), TINY))
        else:
            order = side[np.argsort(-short[side], kind="stable")]
            found[order] = np.clip(goal - (np.cumsum(u[order]) - u[order]), 0.0, u[order])
    return found
