"""Profiles of a likelihood: its maximum with one weight fixed.

The profile at a value v is the largest (penalized) log-likelihood with one weight fixed at v. Twice
its difference to the maximum is approximately chi-squared with one degree of freedom, which tests a
value; the values that are not rejected form an interval (D. Venzon and S. Moolgavkar, A method for
computing profile-likelihood-based confidence intervals, Applied Statistics 37, 1988; with Firth's
penalty: G. Heinze and M. Schemper, A solution to the problem of separation in logistic regression,
Statistics in Medicine 21, 2002).
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtrc, chdtri

from linsep.logistic.firth import LONGEST, Flat, begun, in_memory, maximum, opened
from linsep.logistic.newton import Goal, inverse_of, newton, updated
from linsep.logistic.solution import SEPARATED, Solution, State, Steps, ends_of, limits_without
from linsep.logistic.task import BatchRows, Rows, Task

#: largest last step toward an end, as a share of the half-width of Wald's interval; its error is
#: about the square
CLOSE = 1e-5
#: distance to a constrained maximum from which the last step begins: precise, and rough
PRECISE, ROUGH = 3e-6, 1e-3
MOST_POINTS, MOST_STEPS = 100, 500
#: factor by which squared lengths of Newton steps to an end shrink at least, and of the last step,
#: in standard errors
SHRINKS, LAST_LENGTH = 4.0, 1e-12
#: largest factor by which the distance from the estimate grows per step
FARTHER = 4.0
#: an end further away than this, in half-widths of Wald's interval, is infinite: a plain likelihood
#: falls ever faster or not at all
FARTHEST = 1e6
#: most rows and weights of a small fit, where Firth's likelihood may have several local maxima with
#: one weight fixed
SMALL_ROWS, SMALL_SIZE = 500, 16
#: a loss lower by this is of another maximum, how often the search continues, and from how many
#: other points
OTHER_BRANCH, MOST_BRANCHES, MOST_STARTS = 1e-4, 20, 8
#: log-likelihood below the maximum at which other starting weights are tried
FAR = 50.0
#: limits of weights without a finite estimate
RUNAWAY = ("+inf", "-inf", "infinite")


class Interval(NamedTuple):
    """Profile interval of a weight and p-value of the hypothesis that it is zero: ends are -inf or
    inf if the profile does not fall enough, NaN if rounding hides them or they are not bracketed.
    """

    low: float
    high: float
    p: float


class ProfilePoint(NamedTuple):
    """A value, twice the loss of log-likelihood there, its derivative, and the maximum."""

    value: float
    loss: float
    slope: float
    top: Solution


class Profile:
    """The profile of one linear function of the weights.

    Parameters
    ----------
    flat : Flat
    top : Solution over all weights; if there is no maximum, weights near the supremum, with that
    of : array of shape (weights,), the coefficients of the function
    """

    def __init__(self, flat: Flat, top: Solution, of: np.ndarray):
        self.flat, self.top, self.of = flat, top, of
        u = of / np.linalg.norm(of)  # an orthonormal basis of its complement, by a reflection
        u[0] += 1.0 if u[0] >= 0 else -1.0
        self.free = (np.eye(len(of)) - 2.0 / (u @ u) * np.outer(u, u))[:, 1:]
        inverse = inverse_of(top.point.hessian)
        self.tangent = of if inverse is None else inverse @ of
        self.error = 0.0 if inverse is None else float(np.sqrt(of @ self.tangent))
        self.small = flat.penalized and flat.rows <= SMALL_ROWS and flat.size <= SMALL_SIZE

    def at(self, value: float, near: Solution) -> ProfilePoint:
        """Return the profile at a value, maximized starting from ``near``."""
        aside = value - self.of @ near.B
        start = near.B + aside / (self.of @ self.tangent) * self.tangent
        known = self.flat.at(start)
        if not known.value > self.top.point.value - FAR:
            shortest = self.of / (self.of @ self.of)
            for other in (near.B + aside * shortest, value * shortest):
                there = self.flat.at(other)
                if not there.value <= known.value:
                    start, known = other, there
        return self._point(value, self._maximized(start, PRECISE, known=known, bend=near.bend))

    def _maximized(self, start: np.ndarray, tol: float, **more: Any) -> Solution:
        """Return the maximum of the weights with this value of the function."""
        if not self.free.shape[1]:
            return self.top._replace(B=start, point=self.flat.at(start))
        bend = more.pop("bend", np.zeros((len(start),) * 2))
        goal = Goal(tol, MOST_STEPS, longest=LONGEST)
        return newton(self.flat, start, goal, free=self.free, bend=bend, **more)

    def _point(self, value: float, top: Solution) -> ProfilePoint:
        loss = max(0.0, 2.0 * (self.top.point.value - top.point.value))
        slope = -2.0 * float(self.of @ top.point.gradient) / float(self.of @ self.of)
        return ProfilePoint(value, loss, slope, top)

    def interval(self, level: float, runs: str = "") -> Interval:
        """Return the interval and the test.

        Parameters
        ----------
        level : float between 0 and 1
        runs : "+inf", "-inf" or "infinite" (to both sides) if the estimate of the function
            diverges, else empty
        """
        high = float(chdtri(1, 1.0 - level))
        if runs == "infinite":  # the supremum is reached at every value
            return Interval(-np.inf, np.inf, 1.0)
        zero, unit = self.at(0.0, self.top), float(np.linalg.norm(self.of))
        p = float(chdtrc(1, zero.loss))
        if runs:
            side = 1.0 if runs == "-inf" else -1.0
            end = self._end(zero, side, unit, high)
            return Interval(-np.inf, end, p) if side > 0 else Interval(end, np.inf, p)
        middle = ProfilePoint(float(self.of @ self.top.B), 0.0, 0.0, self.top)
        stride = self.error * np.sqrt(high) or unit
        ends = []
        for side in (-1.0, 1.0):
            end = self._newton_end(side, high) or self._end(middle, side, stride, high)
            ends.append(self._beyond(end, side, stride, high) if self.small else end)
        return Interval(ends[0], ends[1], p)

    def _beyond(self, end: float, side: float, stride: float, high: float) -> float:
        """Return an end beyond which other maxima of the penalized likelihood lose more, too.

        It is not concave: with one weight fixed it may have several local maxima, and the one that
        the search followed from the estimate need not be the largest. The maximization is repeated
        from both sides and from other points; the search continues from a larger maximum.
        """
        for _ in range(MOST_BRANCHES):
            if not np.isfinite(end):
                return end
            outside = self.at(end + side * stride, self.top).top
            found = [self.at(end, near).top for near in (self.top, outside)]
            found += [self._maximized(start, ROUGH) for start in self._starts(end)]
            point = self._point(end, max(found, key=lambda top: top.point.value))
            if not point.loss < high - OTHER_BRANCH:
                return end
            end = self._end(point, side, stride, high)
        return np.nan

    def _starts(self, value: float) -> list[np.ndarray]:
        """Return weights where the function has a value, the most likely of: multiples of the
        estimate and of the function, and the latter with half, once and four times as much added in
        each other direction.
        """
        b, shortest = self.top.B, self.of * (value / float(self.of @ self.of))
        aside = np.ascontiguousarray(self.free.T) * max(float(np.linalg.norm(shortest)), 1.0)
        at = float(self.of @ b)
        scaled = b * (value / at) if at else shortest
        some = [shortest + by * aside for by in (0.5, 1.0, 4.0, -0.5, -1.0, -4.0)]
        starts = [scaled, shortest, *np.concatenate(some)]
        return sorted(starts, key=lambda start: -self.flat.at(start).value)[:MOST_STARTS]

    def _newton_end(self, side: float, high: float) -> float | None:
        """Return the value on one side of the estimate where twice the loss is ``high``; None if
        Newton's method does not find it at once.

        A step is to the point where a quadratic model of the objective has that loss and is
        greatest among points of its value (Venzon and Moolgavkar 1988): the Newton step less a
        multiple of the information's inverse times the function.
        """
        b, known, bend, length = self.top.B, self.top.point, self.top.bend, np.inf
        while True:
            inverse = inverse_of(known.hessian + bend)
            if inverse is None:  # what is known of the penalty's curvature is noise
                bend, inverse = np.zeros_like(bend), inverse_of(known.hessian)
            if inverse is None:
                return None
            step, tangent = inverse @ known.gradient, inverse @ self.of
            size, gain = float(self.of @ tangent), float(known.gradient @ step)
            over = 2.0 * (known.value - self.top.point.value) + high + gain
            if not over > 0.0:
                return None
            by = side * np.sqrt(over / size)
            before, length = length, gain + by * (2.0 * float(self.of @ step) + by * size)
            step = step + by * tangent
            if not length < before / SHRINKS:
                return None
            b = b + step
            if length <= LAST_LENGTH:
                return float(self.of @ b)
            there = self.flat.at(b)
            if there.pull is not None:
                bend = updated(bend, step, known.pull - there.pull)
            known = there

    def _end(self, start: ProfilePoint, side: float, stride: float, high: float) -> float:
        """Return the value on one side of the estimate where twice the loss is ``high``.

        Uses Newton's method on the square root of the loss, which is nearly linear, bracketed by
        points with smaller and larger loss.
        """
        inner, outer = (start, None) if start.loss < high else (None, start)
        value = start.value + (side if outer is None else -side) * stride
        for _ in range(MOST_POINTS):
            point = self.at(value, (inner or start).top)
            inner, outer = (point, outer) if point.loss < high else (inner, point)
            flat = high - point.loss > side * point.slope * FARTHEST * stride
            if outer is None and flat and not self.flat.penalized:
                return side * np.inf
            before, root = value, np.sqrt(point.loss)
            with np.errstate(all="ignore"):
                value = point.value + (np.sqrt(high) - root) * 2.0 * root / point.slope
            if inner is not None and outer is not None:
                low, top = sorted((inner.value, outer.value))
                value = float(value) if low < value < top else (low + top) / 2.0
            else:
                away = point.value - start.value
                farther = float(np.clip((value - start.value) / away, 1.5, FARTHER))
                value = start.value + away * (FARTHER if np.isnan(farther) else farther)
            if abs(value - before) <= CLOSE * stride:
                return value
        return np.nan


def profiled(
    flat: Flat, top: Solution, raw: np.ndarray, level: float, limits: np.ndarray, steps: Steps
) -> None:
    """Compute the intervals of all weights, one after another; NaN for those left out.

    Parameters
    ----------
    flat, top : the objective and its maximum, or weights near the supremum
    raw : matrix that converts flat weights to those of the raw features
    level : of the intervals
    limits : array of str, the limit of each weight
    steps : Steps, which collects the intervals
    """
    for of, limit in zip(raw, limits.ravel().tolist(), strict=True):
        one = Interval(np.nan, np.nan, np.nan)
        if of.any():
            one = Profile(flat, top, of).interval(level, limit if limit in RUNAWAY else "")
        steps.intervals.append(one)


def by_firth(model: Any, task: Task, rows: Rows | BatchRows, steps: Steps) -> Solution:
    """Maximize Firth's penalized likelihood, which always has a maximum."""
    task = in_memory(model, task, rows)
    flat, how, raw = opened(task, penalized=True)
    start, shape = begun(task, flat), (task.q, task.width)
    report = steps.of(lambda b: (raw @ b).reshape(shape), how.dependent)
    top = maximum(flat, start, task, report=report)
    constant = flat.used % task.width == task.n_features
    none = maximum(flat, start * constant, task, np.eye(flat.size)[:, constant])
    inverse = inverse_of(top.point.hessian)
    covariance = np.full(2 * (len(raw),), np.nan) if inverse is None else raw @ inverse @ raw.T
    found = top._replace(
        columns=how, weights=(raw @ top.B).reshape(shape), covariance=covariance,
        limits=limits_without(how.dependent, shape), log_likelihood=top.point.log_likelihood,
        gained=2.0 * (top.point.value - none.point.value),
    )  # fmt: skip
    if model.intervals == "wald":
        return found
    steps.finished = found
    if top.state is State.CONVERGED:
        profiled(flat, top, raw, model.level, np.full(shape, ""), steps)
    return found._replace(intervals={model.level: ends_of(steps, shape)})


def with_profiles(
    model: Any, task: Task, rows: Rows | BatchRows, found: Solution, steps: Steps
) -> Solution:
    """Add profile intervals and tests of the plain likelihood to a solution, NaN if the fit did not
    end at a maximum or at the limit of a likelihood without one.
    """
    steps.finished = found
    task, shape = in_memory(model, task, rows), found.weights.shape
    ends: Any = tuple(np.full(shape, np.nan) for _ in range(3))
    if found.state in (State.CONVERGED, *SEPARATED) and found.at_limit:
        flat, how, raw = opened(task, penalized=False)
        b = how.standard(found.weights, task.intercept).ravel()[flat.used]
        if np.isin(found.limits, RUNAWAY).any():
            known = flat.at(b)._replace(value=found.log_likelihood)
            top = Solution(b, known, State.CONVERGED, 0, bend=np.zeros((len(b),) * 2))
        else:
            top = maximum(flat, b, task)
        profiled(flat, top, raw, model.level, found.limits, steps)
        ends = ends_of(steps, shape)
    return found._replace(intervals={model.level: ends})
