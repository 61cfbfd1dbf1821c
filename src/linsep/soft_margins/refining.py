"""The optimal variables of a working set by Newton's method, if descent is slow.

An interior point method on the dual of some rows with the others fixed, followed by the exact
solution of the equations for the variables between their bounds.
"""

from collections.abc import Callable

import numpy as np
import scipy.linalg

from linsep._system.interrupts import interruption_point
from linsep.soft_margins.mehrotra import InteriorPoint, Solve
from linsep.soft_margins.problem import TINY

MOST_STEPS = 100
#: steps in which neither the distance from the best point nor one of its parts falls so far: only
#: rounding is left
PATIENCE, FALL = 8, 0.9
#: share of the objective that products of variables and multipliers may still be
GOAL = 1e-11
#: corrections of the variables between their bounds, and the curvature added to them, as a share of
#: the mean: equal rows have none
CORRECTIONS, FLAT = 3, 1e-12


def refined(
    Q: np.ndarray, slope: np.ndarray, upper: np.ndarray, start: np.ndarray, y: np.ndarray | None,
    total: float,
) -> np.ndarray:  # fmt: skip
    """Return the minimum of a'Qa / 2 + slope'a over 0 <= a <= upper with y'a = total.

    Parameters
    ----------
    Q : float64 array of shape (rows, rows), positive semidefinite
    slope : float64 array of shape (rows,)
    upper : float64 array of shape (rows,), or infinity
    start : float64 array of shape (rows,), between these bounds
    y : float64 array of shape (rows,), 1 or -1; None without the constraint
    total : float
    """
    point = _Point(Q, slope, upper, start, y, total)
    best, least, since = point.a, np.inf, 0
    before = np.full(3, np.inf)
    low = high = np.zeros(len(slope), bool)
    for _ in range(MOST_STEPS):
        interruption_point()
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                point.step()
        except scipy.linalg.LinAlgError:
            break
        now = point.distance()
        if not np.isfinite(now):
            break
        signs = np.array([now, point.products(), np.abs(point.residual()).max()])
        since = 0 if (signs < FALL * before).any() else since + 1
        before = np.minimum(before, signs)
        if now < least:
            least, best = now, point.a
            low, high = point.z > point.a, point.v > point.s
        if least <= GOAL or since >= PATIENCE or before[1] < TINY:
            break
    at = np.where(low, 0.0, np.where(high & np.isfinite(upper), upper, best))
    return corrected(Q, slope, upper, y, total, at)


class _Point(InteriorPoint):
    """A point of the program of :func:`refined`."""

    def __init__(
        self, Q: np.ndarray, slope: np.ndarray, upper: np.ndarray, start: np.ndarray,
        y: np.ndarray | None, total: float,
    ):  # fmt: skip
        self.Q, self.slope = Q, slope
        super().__init__(start, upper, y, total)

    def gradient(self) -> np.ndarray:
        """Return the slope of the objective in each variable."""
        found: np.ndarray = self.Q @ self.a + self.slope
        return found

    def solver(self, D: np.ndarray) -> Solve:
        """Return a solver of (Q + D) t = r; no other variables depend on these."""
        solve = _solver(self.Q, D)
        return lambda r, none: (solve(r), none)

    def distance(self) -> float:
        """Return the relative distance from the optimum, as a share of the objective."""
        size = abs(float(self.slope @ self.a)) + float(self.a @ np.abs(self.Q @ self.a)) + 1e-300
        apart = float(self.a @ np.abs(self.residual())) + abs(self.b * self.missing())
        return (self.products() + apart) / size


def _solver(Q: np.ndarray, D: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return a solver of (Q + D) t = r that corrects the rounding of its first solution."""
    root = 1.0 / np.sqrt(D)  # scaled, so that large and small D keep their digits
    M = Q * root
    M *= root[:, None]
    M.flat[:: len(M) + 1] += 1.0
    factor = scipy.linalg.cho_factor(M, lower=True, overwrite_a=True, check_finite=False)

    def once(r: np.ndarray) -> np.ndarray:
        found: np.ndarray = root * scipy.linalg.cho_solve(factor, root * r, check_finite=False)
        return found

    def twice(r: np.ndarray) -> np.ndarray:
        t = once(r)
        return t + once(r - D * t - Q @ t)

    return twice


def corrected(
    Q: np.ndarray, slope: np.ndarray, upper: np.ndarray, y: np.ndarray | None, total: float,
    a: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Return variables near ``a`` whose slopes are zero up to rounding; variables at their bounds
    stay. Parameters are the same as for :func:`refined`.
    """
    free, size = np.flatnonzero((a > 0.0) & (a < upper)), float(Q.trace()) / len(Q)
    if not free.size:
        return a
    a, within, signs = a.copy(), Q[free], None if y is None else y[free]
    try:
        solve = _solver(within[:, free], np.full(free.size, FLAT * size + TINY))
    except scipy.linalg.LinAlgError:
        return a
    of_y = None if signs is None else solve(signs)
    for _ in range(CORRECTIONS):
        slopes = within @ a + slope[free]
        if signs is not None:  # without the intercept, so that there is little to correct
            slopes -= signs * (signs @ slopes) / free.size
        moved = -solve(slopes)
        if signs is not None and of_y is not None and y is not None:
            missing = total - float(y @ a)
            moved -= of_y * ((signs @ moved - missing) / (signs @ of_y))
        then = a[free] + moved
        if not ((then > 0.0) & (then < upper[free])).all():
            break
        a[free] = then
    return a
