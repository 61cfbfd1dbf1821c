"""Profiles of a likelihood: its maximum with one weight fixed.

The profile at a value v is the largest (penalized) log-likelihood with one weight fixed at v. Twice
its difference to the maximum is approximately chi-squared with one degree of freedom, which tests a
value; the values that are not rejected form an interval (D. Venzon and S. Moolgavkar, A method for
computing profile-likelihood-based confidence intervals, Applied Statistics 37, 1988; with Firth's
penalty: G. Heinze and M. Schemper, A solution to the problem of separation in logistic regression,
Statistics in Medicine 21, 2002).
"""

from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtrc, chdtri

from linsep.logistic.firth import LONGEST, Flat, begun, in_memory, maximum, opened
from linsep.logistic.newton import DAMPINGS, ROUNDING, inverse_of, inverses, updated
from linsep.logistic.objective import Point
from linsep.logistic.solution import SEPARATED, Solution, State, Steps, limits_without
from linsep.logistic.task import Task

#: error of an end found by bracketing, as a share of the half-width of Wald's interval
CLOSE = 1e-9
#: distance to a constrained maximum from which the last step begins: precise, and rough
PRECISE, ROUGH = 3e-5, 1e-3
MOST_POINTS, MOST_STEPS, MOST_HALVINGS = 100, 500, 60
#: loss of a value at which there is none
MOST_LOST = 1e12
#: factor by which squared lengths of Newton steps to an end shrink at least, and of the last step,
#: in standard errors
SHRINKS, LAST_LENGTH = 4.0, 1e-12
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


class Profiles:
    """The profiles of linear functions of the weights, with intervals at a level; ``top``: the
    maximum over all weights, or weights near the supremum, with that.
    """

    def __init__(self, flat: Flat, top: Solution, level: float):
        self.flat, self.top, self.high = flat, top, float(chdtri(1, 1.0 - level))
        inverse = inverse_of(top.point.hessian)
        self.inverse = np.eye(flat.size) if inverse is None else inverse
        self.known = inverse is not None
        self.several = flat.penalized and flat.leverage(top.B) > LIKELY

    def intervals(self, of: np.ndarray, limits: list[str]) -> list[tuple[float, float, float]]:
        """Return the intervals of functions, whose coefficients are rows of ``of``, each with the
        p-value of the hypothesis that the function is zero.

        Ends are -inf or inf if the profile does not fall enough, NaN if rounding hides them or they
        are not bracketed. Of functions that diverge one end or none is finite.
        """
        found = [(np.nan, np.nan, np.nan)] * len(of)
        plain = [k for k, limit in enumerate(limits) if of[k].any() and limit not in RUNAWAY]
        for k in np.flatnonzero(of.any(axis=1)).tolist():
            if limits[k] == "infinite":  # the supremum is reached at every value
                found[k] = -np.inf, np.inf, 1.0
            elif limits[k] in RUNAWAY:
                side = 1.0 if limits[k] == "-inf" else -1.0
                b, lost, _ = self._at(of[k], 0.0, self.top.B)
                end, _ = self._end(of[k], 0.0, lost, b, side, float(np.linalg.norm(of[k])))
                ends = (-np.inf, end) if side > 0 else (end, np.inf)
                found[k] = *ends, float(chdtrc(1, lost))
        if plain:
            some = of[plain]
            _, point = self._on_planes(some, np.zeros(len(some)), self.top.B)
            pairs = self._ends(np.repeat(some, 2, axis=0)).reshape(-1, 2).tolist()
            for k, pair, p in zip(plain, pairs, chdtrc(1, self._lost(point.value)), strict=True):
                found[k] = *pair, float(p)
        return found

    def _lost(self, value: Any) -> Any:
        return np.maximum(0.0, 2.0 * (self.top.point.value - value))

    def _at(self, of: np.ndarray, value: float, near: np.ndarray) -> tuple[Any, float, float]:
        """Return the weights of the profile at a value, maximized starting from ``near``, twice the
        loss there, and its derivative.
        """
        (b,), point = self._on_planes(of[None], np.array([value]), near)
        slope = -2.0 * float(of @ point.gradient[0]) / float(of @ of)
        return b, float(self._lost(point.value[0])), slope

    def _on_planes(
        self, of: np.ndarray, values: np.ndarray, near: np.ndarray
    ) -> tuple[np.ndarray, Point]:
        """Return the maxima where functions have these values, starting from ``near``."""
        tangents = of @ self.inverse
        aside = ((values - of @ near) / (of * tangents).sum(axis=1))[:, None]
        start = near + aside * tangents
        point = self.flat.many(start)
        far = np.flatnonzero(~(point.value > self.top.point.value - FAR))
        if far.size:
            shortest = of / (of * of).sum(axis=1)[:, None]
            parallel = near + (values - of @ near)[:, None] * shortest
            for other in (parallel, values[:, None] * shortest):
                there = self.flat.many(other[far])
                better = np.flatnonzero(~(there.value <= point.value[far]))
                start[far[better]] = other[far[better]]
                _put(point, far[better], _chosen(there, better))
        return self._maximized(of, start, point, PRECISE, self.top.bend)

    def _maximized(
        self, of: np.ndarray, B: np.ndarray, point: Point, tol: float, bend: np.ndarray
    ) -> tuple[np.ndarray, Point]:
        """Return the maxima of the weights with the same values of functions, side by side, from
        weights and the objective there.
        """
        bend = np.repeat(bend[None], len(B), axis=0)
        left = np.flatnonzero(np.isfinite(point.value))
        for _ in range(MOST_STEPS):
            if not left.size:
                break
            here = _chosen(point, left)
            step, tangent, size = _steps(here, bend, left, of)
            step -= ((of[left] * step).sum(axis=1) / size)[:, None] * tangent
            gain = (step * here.gradient).sum(axis=1)
            longest = np.abs(step).max(axis=1, initial=1e-300)
            step *= np.minimum(1.0, LONGEST / longest)[:, None]
            least = here.value - ROUNDING * np.maximum(1.0, np.abs(here.value))
            there = self.flat.many(B[left] + step)
            for halving in range(MOST_HALVINGS):
                worse = np.flatnonzero(~(there.value >= least))
                if not worse.size:
                    break
                if halving == MOST_HALVINGS - 1:  # only rounding errors are left
                    gain[worse] = step[worse] = 0.0
                step[worse] *= 0.25
                _put(there, worse, self.flat.many(B[left[worse]] + step[worse]))
            bend[left] = updated(bend[left], step, here.pull - there.pull)
            B[left] += step
            _put(point, left, there)
            left = left[gain > tol * tol]
        return B, point

    def _ends(self, of: np.ndarray) -> np.ndarray:
        """Return the lower and the upper end of functions, which are in ``of`` twice each."""
        sides, top = np.tile([-1.0, 1.0], len(of) // 2), self.top.B
        errors = np.sqrt(((of @ self.inverse) * of).sum(axis=1)) if self.known else 0.0
        strides = np.where(errors > 0.0, errors * np.sqrt(self.high), np.linalg.norm(of, axis=1))
        ends, B = self._newton_ends(of, sides)
        for k, (own, side, stride) in enumerate(zip(of, sides, strides, strict=True)):
            if np.isnan(ends[k]):
                ends[k], B[k] = self._end(own, float(own @ top), 0.0, top, side, stride)
            if self.several and np.isfinite(ends[k]):
                ends[k] = self._beyond(own, ends[k], B[k], side, stride)
        return ends

    def _newton_ends(self, of: np.ndarray, sides: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the values on one side of the estimate where twice the loss is ``high``, side by
        side, with the weights there; NaN where Newton's method does not find it at once.

        A step is to the point where a quadratic model of the objective has that loss and is
        greatest among points of its value (Venzon and Moolgavkar 1988): the Newton step less a
        multiple of the information's inverse times the function.
        """
        many, ends, left = len(of), np.full(len(of), np.nan), np.arange(len(of))
        B, length = np.repeat(self.top.B[None], many, axis=0), np.full(many, np.inf)
        bend, top = np.repeat(self.top.bend[None], many, axis=0), self.top.point
        parts: Any = top.value, top.gradient, top.hessian, None, top.log_likelihood, top.pull
        here = Point._make(x if x is None else np.repeat(np.array([x]), many, 0) for x in parts)
        while left.size:
            step, tangent, size = _steps(here, bend, left, of)
            gain = (here.gradient * step).sum(axis=1)
            over = 2.0 * (here.value - top.value) + self.high + gain
            with np.errstate(invalid="ignore"):
                by = sides[left] * np.sqrt(over / size)
            now = gain + by * (2.0 * (of[left] * step).sum(axis=1) + by * size)
            good, step = now < length[left] / SHRINKS, step + by[:, None] * tangent
            length[left] = now
            B[left[good]] += step[good]
            done, going = good & (now <= LAST_LENGTH), good & (now > LAST_LENGTH)
            ends[left[done]] = (of[left[done]] * B[left[done]]).sum(axis=1)
            before, step, left = here.pull[going], step[going], left[going]
            if left.size:
                here = self.flat.many(B[left])
                bend[left] = updated(bend[left], step, before - here.pull)
        return ends, B

    def _end(
        self, of: np.ndarray, value: float, lost: float, b: np.ndarray, side: float, stride: float
    ) -> tuple[float, np.ndarray]:
        """Return the value on one side of the estimate where twice the loss is ``high``, and
        weights near it; searched from a value with the loss and the weights there.

        The root of the loss is nearly linear; steps become longer until it is bracketed.
        """
        root, inner, near = np.sqrt(self.high), lost < self.high, [b]
        known = {value: (np.sqrt(lost) - root, 0.0)}

        def excess(value: float) -> float:
            if value not in known:
                there, found, slope = self._at(of, value, near[0])
                known[value] = np.sqrt(np.fmin(found, MOST_LOST)) - root, side * slope
                if found < self.high:  # others may be of another maximum
                    near[0] = there
            return float(known[value][0])

        step = side * (stride if inner else -stride)
        for _ in range(MOST_POINTS):
            before, value, step = value, value + step, 2.0 * step
            left = -excess(value)
            if (left > 0.0) != inner:
                end = brentq(excess, before, value, xtol=CLOSE * stride, rtol=1e-14)
                return float(end), near[0]
            if 2.0 * root * left > known[value][1] * FARTHEST * stride and not self.flat.penalized:
                return side * np.inf, near[0]
        return np.nan, b

    def _beyond(
        self, of: np.ndarray, end: float, near: np.ndarray, side: float, stride: float
    ) -> float:
        """Return an end beyond which other maxima of the penalized likelihood lose more, too.

        It is not concave: with one weight fixed it may have several local maxima, and the one that
        the search followed from the estimate need not be the largest. The maximization is repeated
        from other points; the search continues from a larger maximum.
        """
        none: np.ndarray = np.zeros_like(self.top.bend)
        for _ in range(MOST_BRANCHES):
            outside, *_ = self._at(of, end + side * stride, self.top.B)
            starts = self._starts(of, end, np.array([self.top.B, outside, near]))
            along = np.repeat(of[None], len(starts), axis=0)
            B, point = self._maximized(along, starts, self.flat.many(starts), ROUGH, none)
            best = int(np.argmax(point.value))
            lost = float(self._lost(point.value[best]))
            if lost >= self.high - OTHER_BRANCH:
                return end
            end, near = self._end(of, end, lost, B[best], side, stride)
            if not np.isfinite(end):
                return end
        return np.nan

    def _starts(self, of: np.ndarray, value: float, known: np.ndarray) -> np.ndarray:
        """Return weights where a function has a value: those known, multiples of the estimate and
        of the function, and the latter and the last known with anything, small or large, added.
        """
        b, shortest, draw = self.top.B, of * (value / float(of @ of)), np.random.default_rng(0)
        scaled = b * (value / at) if (at := float(of @ b)) else shortest
        centers = np.repeat([shortest, known[-1]], STARTS // 2, axis=0)
        sizes = np.maximum(np.linalg.norm(centers, axis=1, keepdims=True), 1.0)
        aside = sizes * 10.0 ** draw.uniform(-1.0, 0.8, (STARTS, 1))
        found = [known, [scaled, shortest], centers + aside * draw.normal(size=centers.shape)]
        starts = np.vstack(found)
        return starts + (value - starts @ of)[:, None] * of / float(of @ of)


def _chosen(point: Point, rows: np.ndarray) -> Point:
    return Point._make(part if part is None else part[rows] for part in point)


def _put(point: Point, rows: np.ndarray, new: Point) -> None:
    for old, part in zip(point, new, strict=True):
        if old is not None:
            old[rows] = part


def _steps(
    here: Point, bend: np.ndarray, left: np.ndarray, of: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the Newton steps from points, the inverses of the negative Hessian times the
    functions, and the functions of these. Where the penalty's curvature is noise, it is forgotten,
    and where the rest is singular, its diagonal is increased.
    """
    inverse, _, fine = inverses(here.hessian + bend[left])
    for k in np.flatnonzero(~fine):
        bend[left[k]] = 0.0
        diagonal = np.diag(np.diagonal(here.hessian[k]) + 1e-300)
        tried = (inverse_of(here.hessian[k] + more * diagonal) for more in (0.0, *DAMPINGS))
        inverse[k] = next((some for some in tried if some is not None), np.eye(len(diagonal)))
    step, tangent = (np.matmul(inverse, x[:, :, None])[:, :, 0] for x in (here.gradient, of[left]))
    return step, tangent, (of[left] * tangent).sum(axis=1)


def profiled(
    model: Any, flat: Flat | None, top: Solution, found: Solution, words: list[str], steps: Steps
) -> Solution:
    """Return a solution with the intervals of all weights, given their limits; NaN for those left
    out, and for all without an objective. ``steps`` has those so far.
    """
    shape, size = found.weights.shape, found.weights.size
    ends = np.full((3, size), np.nan)
    found = found._replace(intervals={model.level: tuple(ends.reshape(3, *shape))})
    steps.begin("intervals", found)
    if flat is not None:
        profiles = Profiles(flat, top, model.level)
        some = size if flat.few is not None else 1  # of many rows one after another
        for k in range(0, size, some):
            own = profiles.intervals(flat.raw[k : k + some], words[k : k + some])
            ends[:, k : k + some] = np.transpose(own)
            steps.n_intervals = k + some
    return found


def by_firth(model: Any, task: Task, steps: Steps) -> Solution:
    """Maximize Firth's penalized likelihood, which always has a maximum."""
    task = in_memory(task)
    flat = opened(task, penalized=True)
    shape, raw, terms = (task.q, task.width), flat.raw, flat.objective.terms
    none = begun(task, flat)
    report = steps.of(lambda b: (raw @ b).reshape(shape), terms.dependent)
    top = maximum(flat, none.B, task, report=report)
    inverse = inverse_of(top.point.hessian)
    covariance = np.full(2 * (len(raw),), np.nan) if inverse is None else raw @ inverse @ raw.T
    found = top._replace(
        terms=terms, weights=(raw @ top.B).reshape(shape), covariance=covariance,
        limits=limits_without(terms.dependent, shape), log_likelihood=top.point.log_likelihood,
        gained=2.0 * (top.point.value - none.point.value),
    )  # fmt: skip
    if model.intervals == "wald":
        return found
    known = flat if top.state is State.CONVERGED else None
    return profiled(model, known, top, found, [""] * len(raw), steps)


def with_profiles(model: Any, task: Task, found: Solution, steps: Steps) -> Solution:
    """Add profile intervals and tests of the plain likelihood to a solution, NaN if the fit did not
    end at a maximum or at the limit of a likelihood without one.
    """
    task, flat, top = in_memory(task), None, found
    if found.state in (State.CONVERGED, *SEPARATED) and found.at_limit:
        flat = opened(task, penalized=False)
        b = flat.standard(found.weights)
        if np.isin(found.limits, RUNAWAY).any():
            known = flat.at(b)._replace(value=found.log_likelihood)
            top = Solution(b, known, State.CONVERGED, 0, bend=np.zeros((len(b),) * 2))
        else:
            top = maximum(flat, b, task)
    return profiled(model, flat, top, found, found.limits.ravel().tolist(), steps)
