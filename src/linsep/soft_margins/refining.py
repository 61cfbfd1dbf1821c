"""The best variables of a working set by Newton's method, where descent crawls.

An interior point method on the dual of some rows beside fixed others (Mehrotra's predictor and
corrector steps, as in :mod:`linsep.soft_margins.interior_point`), and then the exact solution of
the equations that hold for the variables between their bounds.
"""

from collections.abc import Callable

import numpy as np
import scipy.linalg

from linsep._system.interrupts import interruption_point
from linsep.soft_margins.problem import TINY

#: a step ends at this share of the way to the boundary
SHARE = 0.995
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


class _Point:
    """Variables a and their distances s to the upper bounds, with multipliers z and v, and b."""

    def __init__(
        self, Q: np.ndarray, slope: np.ndarray, upper: np.ndarray, start: np.ndarray,
        y: np.ndarray | None, total: float,
    ):  # fmt: skip
        self.Q, self.slope, self.upper, self.y, self.total = Q, slope, upper, y, total
        self.boxed, self.a = bool(np.isfinite(upper).all()), start
        self.s = upper - self.a
        self.b = 0.0
        gradient = self.gradient()
        mean = float(np.abs(gradient).mean()) + 1e-300
        self.z = np.maximum(gradient, 0.0) + mean
        self.v = np.maximum(-gradient, 0.0) + mean if self.boxed else np.zeros_like(slope)

    def gradient(self) -> np.ndarray:
        """Return the slope of the objective in each variable."""
        found: np.ndarray = self.Q @ self.a + self.slope
        return found

    def missing(self) -> float:
        """Return how far the sum is from where it must be."""
        return 0.0 if self.y is None else self.total - float(self.y @ self.a)

    def residual(self) -> np.ndarray:
        """Return how far the gradient is from that of the best point."""
        of_b = 0.0 if self.y is None else self.y * self.b
        return -(self.gradient() + of_b - self.z + self.v)

    def products(self) -> float:
        """Return the sum of the products of variables and multipliers, zero at the best point."""
        return float(self.a @ self.z) + (float(self.s @ self.v) if self.boxed else 0.0)

    def distance(self) -> float:
        """Return how far this is from the best point, as a share of the objective."""
        size = abs(float(self.slope @ self.a)) + float(self.a @ np.abs(self.Q @ self.a)) + 1e-300
        apart = float(self.a @ np.abs(self.residual())) + abs(self.b * self.missing())
        return (self.products() + apart) / size

    def step(self) -> None:
        """Take a step towards the best point."""
        inverse = 1.0 / self.s
        residual, missing, count = self.residual(), self.missing(), len(self.a) * (1 + self.boxed)
        solve = _solver(self.Q, self.z / self.a + self.v * inverse)
        of_y = None if self.y is None else solve(self.y)

        def direction(ra: np.ndarray, rs: np.ndarray) -> tuple[np.ndarray, ...]:
            da, db = solve(residual + ra / self.a - rs * inverse), 0.0
            if of_y is not None and self.y is not None:
                db = float((self.y @ da - missing) / (self.y @ of_y))
                da = da - db * of_y
            return da, (ra - self.z * da) / self.a, (rs + self.v * da) * inverse, np.array(db)

        none, mean = np.zeros_like(self.a), self.products() / count
        da, dz, dv, _ = direction(-self.a * self.z, -self.s * self.v if self.boxed else none)
        share = self.length(da, dz, dv, 1.0)
        ahead = float((self.a + share * da) @ (self.z + share * dz))
        if self.boxed:
            ahead += float((self.s - share * da) @ (self.v + share * dv))
        goal = mean * (ahead / (mean * count)) ** 3
        da, dz, dv, db = direction(
            goal - self.a * self.z - da * dz,
            goal - self.s * self.v + da * dv if self.boxed else none,
        )
        share = self.length(da, dz, dv, SHARE)
        self.a, self.z, self.b = (
            self.a + share * da,
            self.z + share * dz,
            self.b + share * float(db),
        )
        if self.boxed:
            self.s = np.maximum(self.upper - self.a, np.finfo(float).tiny)
            self.v = self.v + share * dv

    def length(self, da: np.ndarray, dz: np.ndarray, dv: np.ndarray, share: float) -> float:
        """Return how far a step may go with all variables above zero."""
        moves = [(self.a, da), (self.z, dz)]
        if self.boxed:
            moves += [(self.s, -da), (self.v, dv)]
        most = 1.0
        for x, dx in moves:
            down = dx < 0
            if down.any():
                most = min(most, share * float((-x[down] / dx[down]).min()))
        return most


def _solver(Q: np.ndarray, D: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return what solves (Q + D) t = r, and corrects the rounding of its first answer."""
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
    """Return variables near ``a`` whose slopes are zero, but for rounding; those of ``a`` at their
    bounds stay. Parameters are those of :func:`refined`.
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
