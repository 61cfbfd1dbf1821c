"""Firth's penalized likelihood, and profiles of both likelihoods.

Firth's likelihood is l*(b) = l(b) + ln |I(b)| / 2, whose maximum is finite whatever the data (D.
Firth, Biometrika 80, 1993; I. Kosmidis and D. Firth, Jeffreys-prior penalty, finiteness and
shrinkage in binomial-response generalized linear models, Biometrika 108, 2021; several classes: S.
Bull, C. Mak and C. Greenwood, Computational Statistics and Data Analysis 39, 2002).

The profile at a value v is the largest (penalized) log-likelihood with one weight fixed at v. Twice
its difference to the maximum is approximately chi-squared with one degree of freedom, which tests a
value; the values that are not rejected form an interval (D. Venzon and S. Moolgavkar, A method for
computing profile-likelihood-based confidence intervals, Applied Statistics 37, 1988; with Firth's
penalty: G. Heinze and M. Schemper, Statistics in Medicine 21, 2002).
"""

from functools import partial
from itertools import islice
from operator import add
from typing import Any

import numpy as np
from scipy.linalg import null_space
from scipy.optimize import brentq
from scipy.special import chdtrc, chdtri, softmax

from linsep._system.interrupts import interruption_point
from linsep.batches import Batch
from linsep.compiled import logistic
from linsep.errors import DataError, ParameterError, hint
from linsep.inference.results import SEPARATED
from linsep.logistic.newton import (
    FEW,
    LEAST_PIVOT,
    ROUNDING,
    Goal,
    damped_inverse,
    inverse_of,
    inverses,
    newton,
    objective_of,
    updated,
)
from linsep.logistic.objective import Objective, Point, columns_of
from linsep.logistic.task import (
    MOST_WEIGHTS,
    Solution,
    State,
    Steps,
    Task,
    block_rows,
    limits_without,
)

#: longest step of a weight, in standardized features, far from which a quadratic model is poor
LONGEST = 5.0
#: distance to the maximum, in standard errors, from which the last step begins at the latest
NEAREST = 1e-8


class Flat:
    """An objective of flat weights, with Firth's penalty or without. ``rows`` are the
    standardized rows in one block with few columns, their codes, weights and offsets, or None;
    ``few`` these of two classes, unless columns are left out, whose weights the objective keeps at
    zero; ``size`` is the number of the other weights; ``raw`` converts to the raw features.
    """

    def __init__(self, objective: Objective, penalized: bool):
        self.objective, self.penalized, self.rows = objective, penalized, None
        self.shape, terms = objective.shape, objective.terms
        self.raw, self.size = terms.matrix(), objective.q * int(objective.used.sum())
        first, *more = islice(objective.lanes.batches(), 2)
        if self.size <= FEW and first.size <= block_rows(len(terms.scales)) and not more:
            ((_, Z),) = terms.blocks(first)
            offset = np.empty(0) if first.offset is None else first.offset.ravel()
            self.rows = Z, first.y, first.importance, offset
        self.few: Any = self.rows if objective.q == 1 and objective.used.all() else None

    def leverage(self, b: np.ndarray) -> float:
        """Return the largest leverage of a row, weighted by its variance; 0 for many rows."""
        if self.rows is None:
            return 0.0
        Z, _, weights, offset = self.rows
        shares = _shares(Z, b.reshape(self.shape), offset)
        spread = (1.0 - np.square(shares).sum(axis=1)) * (weights if weights.size else 1.0)
        inverse = inverse_of((Z * spread[:, None]).T @ Z)
        return 1.0 if inverse is None else float((((Z @ inverse) * Z).sum(axis=1) * spread).max())

    def standard(self, weights: np.ndarray) -> np.ndarray:
        """Return weights of the raw features, shape (q, width), as those of this objective."""
        return self.objective.terms.standard(weights).ravel()

    def in_units(self, value: float) -> float:
        """Return a penalized value with the information of the weights of the raw features."""
        own = self.raw.any(axis=1)
        return value - float(np.linalg.slogdet(self.raw[np.ix_(own, own)])[1])

    def at(self, b: np.ndarray, **_: Any) -> Point:
        """Evaluate the objective; its value is -inf where the information is singular."""
        return Point._make(None if part is None else part[0] for part in self.many(b[None]))

    def many(self, B: np.ndarray) -> Point:
        """Evaluate the objective at weights of shape (points, weights), in arrays."""
        interruption_point()
        if self.few is not None:
            found = logistic.terms_of_few(
                *self.few, np.ascontiguousarray(B), LEAST_PIVOT, self.penalized
            )
            value, slope, information, plain, pull = found
            return Point(value, slope, information, None, plain, pull)
        points = [self.objective.at(b.reshape(self.shape)) for b in B]
        value, plain = np.array([(point.value, point.log_likelihood) for point in points]).T
        slope = np.array([point.gradient.ravel() for point in points])
        information = np.array([point.hessian for point in points])
        if not self.penalized:
            return Point(value, slope, information, None, plain, np.zeros_like(slope))
        inverse, log_det, fine = inverses(information)
        pull = np.zeros_like(slope)
        for k in np.flatnonzero(fine):
            pull[k] = self._pull(B[k].reshape(self.shape), inverse[k]).ravel()
        penalized = np.where(fine, value + log_det / 2, -np.inf)
        return Point(penalized, slope * fine[:, None] + pull, information, None, plain, pull)

    def _pull(self, B: np.ndarray, inverse: np.ndarray) -> np.ndarray:
        """Return the gradient of ln |I| / 2."""
        blocks = inverse.reshape(*B.shape, *B.shape)

        def of_lane(lane: Batch) -> np.ndarray:
            found = np.zeros(B.shape)
            for start, Z in self.objective.terms.blocks(lane):
                here = slice(start, start + len(Z))
                p = _shares(Z, B, None if lane.offset is None else lane.offset[here])[:, : len(B)]
                # z' (block of classes k and l) z, and its derivative by the scores: the sum of the
                # third cumulants of the classes times H; of two p (1 - p) h (1/2 - p)
                H = np.einsum("nklj,nj->nkl", np.tensordot(Z, blocks, (1, 1)), Z)
                own, Hp = np.einsum("nkk->nk", H), np.einsum("nkl,nl->nk", H, p)
                both = 2.0 * (p * Hp).sum(axis=1, keepdims=True)
                pull = p * (own - 2.0 * Hp - (p * own).sum(axis=1, keepdims=True) + both) / 2.0
                found += (pull if lane.weights is None else pull * lane.weights[here, None]).T @ Z
            return found

        return np.asarray(self.objective.sum(of_lane, add))


def _shares(Z: np.ndarray, B: np.ndarray, offset: np.ndarray | None) -> np.ndarray:
    scores = Z @ B.T
    scores += 0.0 if offset is None or not offset.size else offset.reshape(len(Z), -1)
    return np.asarray(softmax(np.column_stack([scores, np.zeros(len(Z))]), axis=1))


def maximum(
    flat: Flat, start: np.ndarray, task: Task, free: np.ndarray | None = None, **more: Any
) -> Solution:
    """Return the maximum of a flat objective that Newton's method reaches."""
    if free is not None and not free.shape[1]:
        return Solution(start, flat.at(start), State.CONVERGED, 0)
    goal = Goal(max(task.tol, NEAREST), int(task.model.max_iter), longest=LONGEST)
    bend = more.pop("bend", np.zeros((len(start),) * 2))
    return newton(flat, start, goal, free=free, bend=bend, **more)


def opened(task: Task, penalized: bool) -> Flat:
    """Return the objective of a task."""
    return Flat(objective_of(task, columns_of(task)), penalized)


def begun(task: Task, flat: Flat) -> Solution:
    """Return the maximum of the model without features, where the maximization begins. Without
    offsets ln |I| is the columns times the sum of log-probabilities, but for a constant.
    """
    start, columns = np.zeros((task.q, task.width)), flat.size / task.q
    if task.intercept:
        totals = task.known.totals + columns / 2.0
        start[:, -1] = np.log(totals[:-1] / totals[-1])
    constant = np.arange(start.size) % task.width == task.n_features
    free = np.eye(start.size)[:, constant & task.offsets]
    return maximum(flat, start.ravel(), task, free)


def in_memory(task: Task) -> Task:
    """Return the task with its rows in memory; raise ParameterError if they do not fit."""
    kept = task.in_memory() if task.factored else None
    if kept is None:
        raise ParameterError(
            f"Firth's penalty and profile intervals are for rows that fit in memory and at most "
            f"{MOST_WEIGHTS:,} weights; this fit has {task.n_rows:,} rows and "
            f"{task.q * task.width:,} weights",
            hint("use {} instead", **{"l2": None} if task.model.penalty else {"intervals": "wald"}),
            code="too-large",
        )
    return kept


def held_at_zero(
    task: Task, terms: list[list[int]]
) -> tuple[int, float, float, list[tuple[float, int]]]:
    """Return the number of rows, the log-likelihood at the maximum of Firth's likelihood, this
    maximum, and for each list of features the maximum with their coefficients held at zero, NaN if
    not reached, and the number of these.
    """
    flat = opened(task, penalized=True)
    none = begun(task, flat)
    top, found = maximum(flat, none.B, task), []
    for features in terms:
        places = np.arange(task.q)[:, None] * task.width + np.array(features)
        held = flat.raw[places.ravel()]
        held = held[held.any(axis=1)]  # without features that are left out
        free = null_space(held / np.linalg.norm(held, axis=1, keepdims=True))
        starts = (free @ (free.T @ b) for b in (top.B, none.B))
        start = max(starts, key=lambda b: flat.at(b).value)
        end = maximum(flat, start, task, free, bend=top.bend)
        reached = top.state is State.CONVERGED and end.state is State.CONVERGED
        found.append((flat.in_units(end.point.value if reached else np.nan), len(held)))
    return task.n_rows, top.point.log_likelihood, flat.in_units(top.point.value), found


def scored(model: Any, task: Task) -> tuple[int, float, float, int]:
    """Return the number of rows, the log-likelihood, Rao's score statistic of a model's weights
    for the features beyond its own, and the number of independent parameters.
    """
    if task.known.classes.tolist() != model.classes_.tolist() or not task.factored:
        raise DataError(
            "The rows have other classes than the fit, or the larger model has too many "
            "weights: pass the rows of the fit, and few columns.", code="other-rows",
        )  # fmt: skip
    flat = opened(task, penalized=False)
    d, weights = model.coef_.shape[1], np.zeros((task.q, task.width))
    weights[:, :d] = model.coef_
    if task.intercept:
        weights[:, -1] = model.intercept_
    there = flat.at(flat.standard(weights))
    inverse = inverse_of(there.hessian)
    if inverse is None:
        raise DataError(
            "The information of the larger model is singular at the estimates, so the score test "
            "is not defined: leave out columns that are nearly linear combinations of others.",
            code="no-estimate",
        )
    statistic = float(there.gradient @ inverse @ there.gradient)
    return task.n_rows, there.log_likelihood, statistic, flat.size


#: error of an end found by bracketing, as a share of the half-width of Wald's interval
CLOSE = 1e-9
#: distance to a constrained maximum from which the last step begins: precise, and rough
PRECISE, ROUGH = 3e-5, 1e-3
MOST_POINTS, MOST_STEPS, MOST_HALVINGS = 100, 500, 60
MOST_LOST = 1e12  #: loss of a value at which there is none
#: factor by which squared lengths of steps to an end shrink, and the last of them
SHRINKS, LAST_LENGTH = 4.0, 1e-12
#: an end further away than this, in half-widths of Wald's interval, is infinite
FARTHEST = 1e6
#: leverage of a row from which Firth's likelihood may have several local maxima with one weight
#: fixed: in 842 tables, a quarter of them separated, none were found below 0.2
LIKELY = 0.17
#: a loss lower by this is of another maximum, most of these, and from how many random points
OTHER_BRANCH, MOST_BRANCHES, STARTS = 1e-4, 20, 40
FAR = 50.0  #: log-likelihood below the maximum at which other starting weights are tried
RUNAWAY = ("+inf", "-inf", "infinite")  #: limits of weights without a finite estimate


class Profiles:
    """The profiles of linear functions of the weights; ``top``: the maximum, or near a supremum."""

    def __init__(self, flat: Flat, top: Solution, level: float):
        self.flat, self.top, self.high = flat, top, float(chdtri(1, 1.0 - level))
        self.inverse, self.known = damped_inverse(top.point.hessian)
        self.several = flat.penalized and flat.leverage(top.B) > LIKELY

    def intervals(self, of: np.ndarray, limits: list[str]) -> np.ndarray:
        """Return the intervals of functions, whose coefficients are rows of ``of``, each with the
        p-value of zero, shape (functions, 3). Ends are infinite if the profile does not fall
        enough, NaN if they are not bracketed; of functions that diverge one at most is finite.
        """
        found, known = np.full((len(of), 3), np.nan), of.any(axis=1)
        runaway = np.isin(limits, RUNAWAY)
        for k in np.flatnonzero(known & runaway).tolist():
            found[k] = -np.inf, np.inf, 1.0
            if limits[k] != "infinite":  # else the supremum is reached at every value
                side = 1.0 if limits[k] == "-inf" else -1.0
                b, lost, _ = self._at(of[k], 0.0, self.top.B)
                end, _ = self._end(of[k], 0.0, lost, b, side, float(np.linalg.norm(of[k])))
                found[k, int(side > 0)], found[k, 2] = end, chdtrc(1, lost)
        if (plain := known & ~runaway).any():
            _, point = self._on_planes(of[plain], np.zeros(plain.sum()), self.top.B)
            found[plain, :2] = self._ends(np.repeat(of[plain], 2, axis=0)).reshape(-1, 2)
            found[plain, 2] = chdtrc(1, self._lost(point.value))
        return found

    def _lost(self, value: Any) -> Any:
        return np.maximum(0.0, 2.0 * (self.top.point.value - value))

    def _at(self, of: np.ndarray, value: float, near: np.ndarray) -> tuple[Any, float, float]:
        """Return the weights of the profile at a value, twice the loss, and its derivative."""
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
        """Return the maxima with the same values of functions, side by side, from points."""
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

        A step is to the point where a quadratic model of the objective has that loss and the value
        is greatest (Venzon and Moolgavkar 1988).
        """
        ends, left = np.full(len(of), np.nan), np.arange(len(of))
        B, bend = (np.repeat(x[None], len(of), axis=0) for x in (self.top.B, self.top.bend))
        length, here = np.full(len(of), np.inf), self.flat.many(B)
        while left.size:
            step, tangent, size = _steps(here, bend, left, of)
            gain = (here.gradient * step).sum(axis=1)
            over = 2.0 * (here.value - self.top.point.value) + self.high + gain
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
        weights near it, from a value with the loss and weights there: steps become longer until it
        is bracketed; its root is nearly linear.
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

        With one weight fixed it may have several, and the one followed from the estimate need not
        be the largest: the maximization is repeated from other points.
        """
        size, none = float(of @ of), np.zeros_like(self.top.bend)
        for _ in range(MOST_BRANCHES):
            outside, *_ = self._at(of, end + side * stride, self.top.B)
            draw, length = np.random.default_rng(0), max(1.0, float(np.linalg.norm(near)))
            aside = length * 10.0 ** draw.uniform(-1.0, 0.8, (STARTS, 1))
            random = aside * draw.normal(size=(STARTS, len(of)))
            random[: STARTS // 2] += near
            starts = np.vstack([self.top.B, outside, near, 0.0 * near, random])
            starts += (end - starts @ of)[:, None] * of / size
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
        inverse[k], _ = damped_inverse(here.hessian[k])
    step, tangent = (np.matmul(inverse, x[:, :, None])[:, :, 0] for x in (here.gradient, of[left]))
    return step, tangent, (of[left] * tangent).sum(axis=1)


def profiled(
    model: Any, flat: Flat | None, top: Solution, found: Solution, words: list[str], steps: Steps
) -> Solution:
    """Return a solution with intervals, NaN for weights left out or without an objective."""
    shape, size = found.weights.shape, found.weights.size
    ends = np.full((3, size), np.nan)
    found = found._replace(profile=ends.reshape(3, *shape))
    steps.begin("intervals", found)
    if flat is not None:
        profiles = Profiles(flat, top, model.level)
        some = size if flat.few is not None else 1  # of many rows one after another
        for k in range(0, size, some):
            ends[:, k : k + some] = profiles.intervals(flat.raw[k:][:some], words[k:][:some]).T
            steps.made = k + some
    return found


def by_firth(model: Any, task: Task, steps: Steps) -> Solution:
    """Maximize Firth's penalized likelihood, which always has a maximum."""
    task = in_memory(task)
    flat = opened(task, penalized=True)
    shape, raw, terms = (task.q, task.width), flat.raw, flat.objective.terms
    none = begun(task, flat)
    report = partial(steps.report, lambda b: (raw @ b).reshape(shape), terms)
    top = maximum(flat, none.B, task, report=report)
    inverse = inverse_of(top.point.hessian)
    covariance = np.full(2 * (len(raw),), np.nan) if inverse is None else raw @ inverse @ raw.T
    found = top._replace(
        terms=terms, weights=(raw @ top.B).reshape(shape), covariance=covariance,
        limits=limits_without(terms, shape), log_likelihood=top.point.log_likelihood,
        gained=2.0 * (top.point.value - none.point.value), penalized=flat.in_units(top.point.value),
    )  # fmt: skip
    known = flat if top.state is State.CONVERGED else None
    wald = model.intervals == "wald"
    return found if wald else profiled(model, known, top, found, [""] * len(raw), steps)


def with_profiles(model: Any, task: Task, found: Solution, steps: Steps) -> Solution:
    """Add profile intervals of the plain likelihood, NaN if there is no maximum or limit."""
    task, flat, top = in_memory(task), None, found
    if found.state in (State.CONVERGED, *SEPARATED) and found.covariance is not None:
        flat = opened(task, penalized=False)
        b = flat.standard(found.weights)
        point = flat.at(b)._replace(value=found.log_likelihood)
        top = Solution(b, point, State.CONVERGED, 0, bend=np.zeros((len(b),) * 2))
    return profiled(model, flat, top, found, found.limits.ravel().tolist(), steps)
