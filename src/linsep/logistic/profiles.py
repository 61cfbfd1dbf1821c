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
from linsep.logistic.newton import DAMPINGS, ROUNDING, inverse_of, inverses, updated
from linsep.logistic.objective import Point
from linsep.logistic.solution import SEPARATED, Solution, State, Steps, ends_of, limits_without
from linsep.logistic.task import Task

#: largest last step toward an end, as a share of the half-width of Wald's interval; its error is
#: about the square
CLOSE = 1e-5
#: distance to a constrained maximum from which the last step begins: precise, and rough
PRECISE, ROUGH = 3e-6, 1e-3
MOST_POINTS, MOST_STEPS = 100, 500
#: smallest part of a step
LEAST_PART = 1e-20
#: factor by which squared lengths of Newton steps to an end shrink at least, and of the last step,
#: in standard errors
SHRINKS, LAST_LENGTH = 4.0, 1e-12
#: largest factor by which the distance from the estimate grows per step
FARTHER = 4.0
#: an end further away than this, in half-widths of Wald's interval, is infinite: a plain likelihood
#: falls ever faster or not at all
FARTHEST = 1e6
#: leverage of a row at the estimate from which Firth's likelihood may have several local maxima
#: with one weight fixed: in 842 tables, a quarter of them separated, none were found below 0.2
LIKELY = 0.17
#: a loss lower by this is of another maximum, how often the search continues, and from how many
#: random points
OTHER_BRANCH, MOST_BRANCHES, STARTS = 1e-4, 20, 40
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
    """A value, twice the loss of log-likelihood there, its derivative, and the weights."""

    value: float
    loss: float
    slope: float
    B: np.ndarray


class Profiles:
    """The profiles of linear functions of the weights.

    Parameters
    ----------
    flat : Flat
    top : Solution over all weights; if there is no maximum, weights near the supremum, with that
    level : of the intervals
    """

    def __init__(self, flat: Flat, top: Solution, level: float):
        self.flat, self.top, self.high = flat, top, float(chdtri(1, 1.0 - level))
        inverse = inverse_of(top.point.hessian)
        self.inverse = np.eye(flat.size) if inverse is None else inverse
        self.known = inverse is not None
        self.several = flat.penalized and flat.leverage(top.B) > LIKELY

    def intervals(self, of: np.ndarray, limits: list[str]) -> list[Interval]:
        """Return the intervals and tests of functions, whose coefficients are rows of ``of``; of
        functions that diverge ("+inf", "-inf" or "infinite") one end or none is finite.
        """
        found = [Interval(np.nan, np.nan, np.nan)] * len(of)
        plain = [k for k, limit in enumerate(limits) if of[k].any() and limit not in RUNAWAY]
        for k in np.flatnonzero(of.any(axis=1)).tolist():
            if limits[k] == "infinite":  # the supremum is reached at every value
                found[k] = Interval(-np.inf, np.inf, 1.0)
            elif limits[k] in RUNAWAY:
                zero, side = self.at(of[k], 0.0, self.top.B), 1.0 if limits[k] == "-inf" else -1.0
                (end, _), p = self._end(of[k], zero, side, float(np.linalg.norm(of[k]))), zero.loss
                ends = (-np.inf, end) if side > 0 else (end, np.inf)
                found[k] = Interval(*ends, float(chdtrc(1, p)))
        if plain:
            some = of[plain]
            losses = self._loss(self._on_planes(some, np.zeros(len(some)), self.top.B)[1].value)
            pairs = self._ends(np.repeat(some, 2, axis=0)).reshape(-1, 2)
            for k, (low, high), p in zip(plain, pairs.tolist(), chdtrc(1, losses), strict=True):
                found[k] = Interval(low, high, float(p))
        return found

    def at(self, of: np.ndarray, value: float, near: np.ndarray) -> ProfilePoint:
        """Return the profile of a function at a value, maximized starting from ``near``."""
        B, point = self._on_planes(of[None], np.array([value]), near)
        return self._point(of, value, B[0], point, 0)

    def _point(self, of: np.ndarray, value: float, b: np.ndarray, point: Point, k: int) -> Any:
        slope = -2.0 * float(of @ point.gradient[k]) / float(of @ of)
        return ProfilePoint(value, float(self._loss(point.value[k])), slope, b)

    def _loss(self, value: Any) -> Any:
        return np.maximum(0.0, 2.0 * (self.top.point.value - value))

    def _on_planes(
        self, of: np.ndarray, values: np.ndarray, near: np.ndarray
    ) -> tuple[np.ndarray, Point]:
        """Return the maxima where functions have these values, starting from ``near``."""
        tangents, near = of @ self.inverse, np.broadcast_to(near, of.shape)
        aside = (values - (of * near).sum(axis=1))[:, None]
        start = near + aside / (of * tangents).sum(axis=1)[:, None] * tangents
        known = self.flat.many(start).value
        far = ~(known > self.top.point.value - FAR)
        if far.any():
            shortest = of / (of * of).sum(axis=1)[:, None]
            for other in (near + aside * shortest, values[:, None] * shortest):
                there = self.flat.many(other).value
                better = far & ~(there <= known)
                start, known = (
                    np.where(better[:, None], other, start),
                    np.where(better, there, known),
                )
        return self._maximized(of, start, PRECISE, self.top.bend)

    def _maximized(
        self, of: np.ndarray, start: np.ndarray, tol: float, bend: np.ndarray
    ) -> tuple[np.ndarray, Point]:
        """Return the maxima of the weights with the same values of functions, side by side."""
        B, point, left = start.copy(), self.flat.many(start), np.arange(len(start))
        bend = np.repeat(bend[None], len(start), axis=0)
        for _ in range(MOST_STEPS):
            left = left[np.isfinite(point.value[left])]
            if not len(left):
                break
            here = Point._make(part if part is None else part[left] for part in point)
            inverse = _inverse(here.hessian, bend, left)
            step, tangent = (np.einsum("mij,mj->mi", inverse, x) for x in (here.gradient, of[left]))
            size = (of[left] * tangent).sum(axis=1)
            step -= ((of[left] * step).sum(axis=1) / size)[:, None] * tangent
            gain = (step * here.gradient).sum(axis=1)
            longest = np.abs(step).max(axis=1, initial=1e-300)
            step *= np.minimum(1.0, LONGEST / longest)[:, None]
            slack, part = ROUNDING * np.maximum(1.0, np.abs(here.value)), np.ones(len(left))
            trying = np.arange(len(left))
            while len(trying):
                places = left[trying]
                parts = part[trying, None] * step[trying]
                there = self.flat.many(B[places] + parts)
                better = there.value >= here.value[trying] - slack[trying]
                taken, change = places[better], (here.pull[trying] - there.pull)[better]
                bend[taken] = updated(bend[taken], parts[better], change)
                B[taken] += parts[better]
                for old, new in zip(point, there, strict=True):
                    if old is not None:
                        old[taken] = new[better]
                trying = trying[~better]
                part[trying] *= 0.25
                stuck = part[trying] < LEAST_PART
                gain[trying[stuck]] = 0.0
                trying = trying[~stuck]
            left = left[gain > tol * tol]
        return B, point

    def _ends(self, of: np.ndarray) -> np.ndarray:
        """Return the lower and the upper end of functions, which are in ``of`` twice each."""
        sides = np.tile([-1.0, 1.0], len(of) // 2)
        errors = np.sqrt(((of @ self.inverse) * of).sum(axis=1)) if self.known else 0.0
        strides = np.where(errors > 0.0, errors * np.sqrt(self.high), np.linalg.norm(of, axis=1))
        ends, B = self._newton_ends(of, sides)
        for k in np.flatnonzero(np.isnan(ends)):
            middle = ProfilePoint(float(of[k] @ self.top.B), 0.0, 0.0, self.top.B)
            ends[k], B[k] = self._end(of[k], middle, sides[k], strides[k])
        return self._beyond(of, ends, B, sides, strides) if self.several else ends

    def _newton_ends(self, of: np.ndarray, sides: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the values on one side of the estimate where twice the loss is ``high``, side by
        side, with the weights there; NaN where Newton's method does not find it at once.

        A step is to the point where a quadratic model of the objective has that loss and is
        greatest among points of its value (Venzon and Moolgavkar 1988): the Newton step less a
        multiple of the information's inverse times the function.
        """
        many, ends, left = len(of), np.full(len(of), np.nan), np.arange(len(of))
        B, length = np.repeat(self.top.B[None], many, axis=0), np.full(many, np.inf)
        bend = np.repeat(self.top.bend[None], many, axis=0)
        top = self.top.point._replace(shares=None)
        point = Point._make(
            x if x is None else np.repeat(np.asarray(x)[None], many, 0) for x in top
        )
        while len(left):
            inverse = _inverse(point.hessian, bend, left)
            step, tangent = (
                np.einsum("mij,mj->mi", inverse, x) for x in (point.gradient, of[left])
            )
            size, gain = (of[left] * tangent).sum(axis=1), (point.gradient * step).sum(axis=1)
            over = 2.0 * (point.value - self.top.point.value) + self.high + gain
            with np.errstate(invalid="ignore"):
                by = sides[left] * np.sqrt(over / size)
            before = length[left]
            now = gain + by * (2.0 * (of[left] * step).sum(axis=1) + by * size)
            length[left], step = now, step + by[:, None] * tangent
            good = now < before / SHRINKS
            B[left[good]] += step[good]
            done = good & (now <= LAST_LENGTH)
            ends[left[done]] = (of[left[done]] * B[left[done]]).sum(axis=1)
            going = good & ~done
            before_pull, step, left = point.pull[going], step[going], left[going]
            if len(left):
                point = self.flat.many(B[left])
                bend[left] = updated(bend[left], step, before_pull - point.pull)
        return ends, B

    def _beyond(
        self, of: np.ndarray, ends: np.ndarray, B: np.ndarray, sides: np.ndarray,
        strides: np.ndarray,
    ) -> np.ndarray:  # fmt: skip
        """Return ends beyond which other maxima of the penalized likelihood lose more, too.

        It is not concave: with one weight fixed it may have several local maxima, and the one that
        the search followed from the estimate need not be the largest. The maximization is repeated
        from both sides and from other points; the search continues from a larger maximum.
        """
        ends, left = ends.copy(), np.flatnonzero(np.isfinite(ends))
        none = np.zeros_like(self.top.bend)
        for _ in range(MOST_BRANCHES):
            if not len(left):
                break
            outside, _ = self._on_planes(of[left], (ends + sides * strides)[left], self.top.B)
            again = [self._on_planes(of[left], ends[left], near) for near in (self.top.B, outside)]
            starts = [self._starts(of[k], ends[k], B[k]) for k in left]
            many = np.repeat(left, [len(some) for some in starts])
            tops, point = self._maximized(of[many], np.concatenate(starts), ROUGH, none)
            following = []
            for at, k in enumerate(left):
                own = np.flatnonzero(many == k)
                best = own[np.argmax(point.value[own])]
                known = [self._point(of[k], ends[k], tops[best], point, best)]
                known += [self._point(of[k], ends[k], b[at], p, at) for b, p in again]
                nearest = min(known, key=lambda one: one.loss)
                if nearest.loss < self.high - OTHER_BRANCH:
                    ends[k], B[k] = self._end(of[k], nearest, sides[k], strides[k])
                    following += [k] * bool(np.isfinite(ends[k]))
            left = np.array(following, dtype=int)
        ends[left] = np.nan
        return ends

    def _starts(self, of: np.ndarray, value: float, near: np.ndarray) -> np.ndarray:
        """Return weights where a function has a value: multiples of the estimate and of the
        function, and the latter and ``near`` with anything, small or large, added.
        """
        b, shortest, draw = self.top.B, of * (value / float(of @ of)), np.random.default_rng(0)
        at = float(of @ b)
        scaled = b * (value / at) if at else shortest
        centers = np.repeat([shortest, near], STARTS // 2, axis=0)
        sizes = np.maximum(np.linalg.norm(centers, axis=1, keepdims=True), 1.0)
        aside = sizes * 10.0 ** draw.uniform(-1.0, 0.8, (STARTS, 1))
        starts = np.vstack([scaled, shortest, centers + aside * draw.normal(size=centers.shape)])
        return starts + (value - starts @ of)[:, None] * of / float(of @ of)

    def _end(
        self, of: np.ndarray, start: ProfilePoint, side: float, stride: float
    ) -> tuple[float, np.ndarray]:
        """Return the value on one side of the estimate where twice the loss is ``high``, and
        weights near it.

        Uses Newton's method on the square root of the loss, which is nearly linear, bracketed by
        points with smaller and larger loss.
        """
        high = self.high
        inner, outer = (start, None) if start.loss < high else (None, start)
        value = start.value + (side if outer is None else -side) * stride
        for _ in range(MOST_POINTS):
            point = self.at(of, value, (inner or start).B)
            inner, outer = (point, outer) if point.loss < high else (inner, point)
            flat = high - point.loss > side * point.slope * FARTHEST * stride
            if outer is None and flat and not self.flat.penalized:
                return side * np.inf, point.B
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
                return value, point.B
        return np.nan, start.B


def _inverse(hessian: np.ndarray, bend: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Return the inverses of the information matrices with what is known of the penalty's
    curvature; where that is noise, it is forgotten, and where the rest is singular, its diagonal is
    increased.
    """
    found, _, fine = inverses(hessian + bend[left])
    for k in np.flatnonzero(~fine):
        bend[left[k]] = 0.0
        diagonal = np.diag(np.diagonal(hessian[k]) + 1e-300)
        tried = (inverse_of(hessian[k] + more * diagonal) for more in (0.0, *DAMPINGS))
        found[k] = next((some for some in tried if some is not None), np.eye(len(diagonal)))
    return found


def profiled(
    flat: Flat, top: Solution, raw: np.ndarray, level: float, limits: np.ndarray, steps: Steps
) -> None:
    """Compute the intervals of all weights, NaN for those left out; one after another if there are
    many rows.

    Parameters
    ----------
    flat, top : the objective and its maximum, or weights near the supremum
    raw : matrix that converts flat weights to those of the raw features
    level : of the intervals
    limits : array of str, the limit of each weight
    steps : Steps, which collects the intervals
    """
    profiles, words = Profiles(flat, top, level), limits.ravel().tolist()
    size = len(raw) if flat.few is not None else 1
    for k in range(0, len(raw), size):
        steps.intervals += profiles.intervals(raw[k : k + size], words[k : k + size])


def by_firth(model: Any, task: Task, steps: Steps) -> Solution:
    """Maximize Firth's penalized likelihood, which always has a maximum."""
    task = in_memory(task)
    flat, how, raw = opened(task, penalized=True)
    start, shape = begun(task, flat), (task.q, task.width)
    report = steps.of(lambda b: (raw @ b).reshape(shape), how.dependent)
    top = maximum(flat, start, task, report=report)
    constant = flat.used % task.width == task.n_features
    none = maximum(flat, start * constant, task, np.eye(flat.size)[:, constant])
    inverse = inverse_of(top.point.hessian)
    covariance = np.full(2 * (len(raw),), np.nan) if inverse is None else raw @ inverse @ raw.T
    found = top._replace(
        terms=how, weights=(raw @ top.B).reshape(shape), covariance=covariance,
        limits=limits_without(how.dependent, shape), log_likelihood=top.point.log_likelihood,
        gained=2.0 * (top.point.value - none.point.value),
    )  # fmt: skip
    if model.intervals == "wald":
        return found
    steps.finished = found
    if top.state is State.CONVERGED:
        profiled(flat, top, raw, model.level, np.full(shape, ""), steps)
    return found._replace(intervals={model.level: ends_of(steps, shape)})


def with_profiles(model: Any, task: Task, found: Solution, steps: Steps) -> Solution:
    """Add profile intervals and tests of the plain likelihood to a solution, NaN if the fit did not
    end at a maximum or at the limit of a likelihood without one.
    """
    steps.finished = found
    task, shape = in_memory(task), found.weights.shape
    ends: Any = tuple(np.full(shape, np.nan) for _ in range(3))
    if found.state in (State.CONVERGED, *SEPARATED) and found.at_limit:
        flat, how, raw = opened(task, penalized=False)
        b = how.standard(found.weights).ravel()[flat.used]
        if np.isin(found.limits, RUNAWAY).any():
            known = flat.at(b)._replace(value=found.log_likelihood)
            top = Solution(b, known, State.CONVERGED, 0, bend=np.zeros((len(b),) * 2))
        else:
            top = maximum(flat, b, task)
        profiled(flat, top, raw, model.level, found.limits, steps)
        ends = ends_of(steps, shape)
    return found._replace(intervals={model.level: ends})
