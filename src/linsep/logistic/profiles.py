"""Profile-likelihood intervals and tests of single weights.

The profile at a value v is the largest (penalised) log-likelihood with one weight fixed at v. Twice
its difference to the maximum is approximately chi-squared with one degree of freedom, which tests a
value; the values that are not rejected form an interval (D. Venzon and S. Moolgavkar, A method for
computing profile-likelihood-based confidence intervals, Applied Statistics 37, 1988; with Firth's
penalty: G. Heinze and M. Schemper, A solution to the problem of separation in logistic regression,
Statistics in Medicine 21, 2002).
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtrc, chdtri

from linsep.errors import ParameterError, hint
from linsep.logistic.firth import Maximum, Objective, inverse_of, maximised
from linsep.logistic.fitting import lanes_as
from linsep.logistic.likelihood import Likelihood, Terms
from linsep.logistic.outcomes import Around, Ends, FitOutcome, Steps, ends_of, limits_without
from linsep.logistic.preparing import Standardization, sampled, standardization
from linsep.logistic.rows import MOST_WEIGHTS, BatchRows, Rows, Task

#: largest last step towards an end, as a share of the half-width of Wald's interval; its error is
#: about the square
CLOSE = 1e-5
#: largest gain of the last step of a constrained maximisation
ENOUGH = 1e-11
MOST_POINTS = 100
#: largest factor by which the distance from the estimate grows per step
FARTHER = 4.0
#: an end further away than this, in half-widths of Wald's interval, is infinite: a plain likelihood
#: falls ever faster or not at all
FARTHEST = 1e6
#: log-likelihood below the maximum at which other starting weights are tried
FAR = 50.0


class Interval(NamedTuple):
    """Profile interval and test of a weight.

    Attributes
    ----------
    low, high : float, ends of the interval, -inf or inf if the profile does not fall enough, NaN if
        rounding hides them
    p : float, p-value of the hypothesis that the weight is zero
    """

    low: float
    high: float
    p: float


class Point(NamedTuple):
    """A value, twice the loss of log-likelihood there, its derivative, and the maximum."""

    value: float
    loss: float
    slope: float
    top: Maximum


class Profile:
    """The profile of one linear function of the weights.

    Parameters
    ----------
    objective : Objective
    top : Maximum over all weights; if there is none, weights near the supremum
    of : array of shape (weights,), the coefficients of the function
    supremum : float, the largest log-likelihood; default: that of ``top``
    """

    def __init__(
        self, objective: Objective, top: Maximum, of: np.ndarray, supremum: float | None = None
    ):
        self.objective, self.top, self.of = objective, top, of
        self.supremum = top.value if supremum is None else supremum
        self.free = _orthogonal(of)
        inverse = inverse_of(top.known.information)
        self.tangent = of if inverse is None else inverse @ of
        self.error = 0.0 if inverse is None else float(np.sqrt(of @ self.tangent))

    def at(self, value: float, near: Maximum) -> Point:
        """Return the profile at a value, maximised starting from ``near``."""
        aside, start = value - self.of @ near.b, near.b
        start = start + aside / (self.of @ self.tangent) * self.tangent
        known = self.objective.at(start)
        if not known.value > self.supremum - FAR:
            plain = near.b + aside / (self.of @ self.of) * self.of
            starts = [start, plain, value / (self.of @ self.of) * self.of]
            all_known = [known, *map(self.objective.at, starts[1:])]
            best = int(np.argmax([known.value for known in all_known]))
            start, known = starts[best], all_known[best]
        top = maximised(
            self.objective, start, self.free, known=known, bend=near.bend, enough=ENOUGH
        )
        loss = max(0.0, 2.0 * (self.supremum - top.value))
        slope = -2.0 * float(self.of @ top.known.slope) / float(self.of @ self.of)
        return Point(value, loss, slope, top)

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
        if runs == "+inf":
            return Interval(self._end(zero, -1.0, unit, high), np.inf, p)
        if runs == "-inf":
            return Interval(-np.inf, self._end(zero, 1.0, unit, high), p)
        middle = Point(float(self.of @ self.top.b), 0.0, 0.0, self.top)
        stride = self.error * np.sqrt(high) or unit
        low, top = (self._end(middle, side, stride, high) for side in (-1.0, 1.0))
        return Interval(low, top, p)

    def _end(self, start: Point, side: float, stride: float, high: float) -> float:
        """Return the value on one side of the estimate where twice the loss is ``high``.

        Uses Newton's method on the square root of the loss, which is nearly linear, bracketed by
        points with smaller and larger loss.
        """
        inner, outer = (start, None) if start.loss < high else (None, start)
        value = start.value + (side if outer is None else -side) * stride
        for _ in range(MOST_POINTS):
            point = self.at(value, (inner or start).top)
            inner, outer = (point, outer) if point.loss < high else (inner, point)
            if outer is None and high - point.loss > side * point.slope * FARTHEST * stride:
                return side * np.inf
            before, value = value, self._next(point, (start, inner, outer), high)
            if abs(value - before) <= CLOSE * stride:
                return value
        return np.nan

    def _next(
        self, point: Point, between: tuple[Point, Point | None, Point | None], high: float
    ) -> float:
        """Return the next value: by a Newton step, by bisection, or further out."""
        start, inner, outer = between
        root = np.sqrt(point.loss)
        with np.errstate(all="ignore"):
            value = point.value + (np.sqrt(high) - root) * 2.0 * root / point.slope
        if inner is not None and outer is not None:
            low, top = sorted((inner.value, outer.value))
            return float(value) if low < value < top else (low + top) / 2.0
        away = point.value - start.value
        farther = float(np.clip((value - start.value) / away, 1.5, FARTHER))
        return start.value + away * (FARTHER if np.isnan(farther) else farther)


def _orthogonal(of: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of a vector's orthogonal complement (Householder reflection)."""
    u = of / np.linalg.norm(of)
    u[0] += 1.0 if u[0] >= 0 else -1.0
    return (np.eye(len(of)) - 2.0 / (u @ u) * np.outer(u, u))[:, 1:]


#: values of ``limits`` for weights without finite estimate
RUNAWAY = ("+inf", "-inf", "infinite")


def _opened(task: Task, penalised: bool) -> tuple[Objective, Standardization, np.ndarray]:
    """Return the objective of a task, the standardisation, and the matrix that converts weights to
    the raw features.
    """
    sample, whole = sampled(task.batches, max(20_000, 20 * task.q * task.width))
    form = task.n_features, task.intercept
    how = standardization(sample, task.batches, whole, *form, True)
    terms = Terms(task.q, how.centres, how.scales, task.intercept)
    likelihood = Likelihood(lanes_as(task, how), terms, journal=task.journal)
    used = np.append(how.scales > 0.0, [True] * task.intercept)
    objective = Objective(likelihood, used, penalised)
    return objective, how, np.kron(np.eye(task.q), how.matrix(task.intercept))[:, objective.used]


def firth_fitted(task: Task, level: float | None, steps: Steps) -> FitOutcome:
    """Maximise Firth's penalised likelihood.

    Parameters
    ----------
    task : Task, with rows in memory and few enough weights for a Hessian
    level : of the profile intervals, None for none
    steps : Steps; ``finished`` becomes the fit without intervals
    """
    objective, how, raw = _opened(task, penalised=True)
    start = np.zeros((task.q, task.width))
    if task.intercept:
        start[:, -1] = np.log(task.totals[:-1] / task.totals[-1])
    flat = start.ravel()[objective.used]
    tol = task.tol * float(task.totals.sum())
    report = steps.of(
        lambda b: (raw @ b).reshape(task.q, task.width), how.dependent,
        lambda b: how.around(objective.wide(b)),
    )  # fmt: skip
    top = maximised(objective, flat, tol=tol, max_iter=task.max_iter, report=report)
    constant = objective.used % task.width == task.n_features
    none = maximised(objective, flat * constant, np.eye(objective.size)[:, constant])
    inverse = inverse_of(top.known.information)
    shape = task.q, task.width
    covariance = np.full(2 * (len(raw),), np.nan) if inverse is None else raw @ inverse @ raw.T
    found = FitOutcome(
        (raw @ top.b).reshape(shape), limits_without(how.dependent, shape),
        top.known.log_likelihood, covariance, top.reason, top.n_iter,
        gained=2.0 * (top.value - none.value), around=how.around(objective.wide(top.b)),
    )  # fmt: skip
    if level is None:
        return found
    steps.finished = found
    if top.reason == "converged":
        _profile(objective, top, raw, level, np.full(shape, ""), steps)
    return replace(found, intervals={level: ends_of(steps, shape)})


def profiled(
    task: Task, weights: np.ndarray, limits: np.ndarray, log_likelihood: float, level: float,
    steps: Steps, around: Around = None,
) -> Ends:  # fmt: skip
    """Return profile intervals and tests of every weight, of the plain likelihood.

    Parameters
    ----------
    task : as for :func:`firth_fitted`
    weights : array of shape (q, width)
        At the maximum; if there is none, large enough to saturate separated rows.
    limits : array of str of that shape, the limit of each weight
    log_likelihood : float, the maximum or the supremum
    level : of the intervals
    steps : Steps
    around : a point and the scores there, if they are known
    """
    objective, how, raw = _opened(task, penalised=False)
    flat = how.standard(weights, task.intercept, around).ravel()[objective.used]
    if np.isin(limits, RUNAWAY).any():
        known = objective.at(flat)._replace(value=log_likelihood)
        top = Maximum(flat, known, np.zeros(2 * (len(flat),)), "converged", 0)
    else:
        top = maximised(objective, flat, tol=task.tol * float(task.totals.sum()))
    _profile(objective, top, raw, level, limits, steps)
    return ends_of(steps, limits.shape)


def _profile(
    objective: Objective, top: Maximum, raw: np.ndarray, level: float, limits: np.ndarray,
    steps: Steps,
) -> None:  # fmt: skip
    """Compute the intervals of all weights, one after another; NaN for those left out."""
    found = steps.intervals
    for of, limit in zip(raw, limits.ravel().tolist(), strict=True):
        if not of.any():
            found.append(Interval(np.nan, np.nan, np.nan))
            continue
        runs = limit if limit in RUNAWAY else ""
        found.append(Profile(objective, top, of).interval(level, runs))


#: reasons of fits that reached a maximum, or the limit of a likelihood without one
FINISHED = ("converged", "separable", "quasi-separable")


def _in_memory(model: Any, task: Task, rows: Rows | BatchRows) -> Task:
    """Return the task with its rows in memory; raise ParameterError if they do not fit."""
    kept = rows.in_memory(task) if task.factored else None
    if kept is None:
        what = "Firth's penalised likelihood is" if model.penalty else "Profile intervals are"
        instead = (
            hint("take {} instead", l2=None) if model.penalty else hint("take {}", intervals="wald")
        )
        raise ParameterError(
            f"{what} for rows that fit in memory and at most {MOST_WEIGHTS:,} weights, and these "
            f"are {task.n_rows:,} rows and {task.q * task.width:,} weights",
            instead,
        )
    return task if kept is rows else kept.task(model)


def by_firth(model: Any, task: Task, rows: Rows | BatchRows, steps: Steps) -> FitOutcome:
    """Maximise Firth's penalised likelihood, which always has a maximum."""
    profiles = model.intervals in (None, "profile")
    return firth_fitted(_in_memory(model, task, rows), model.level if profiles else None, steps)


def with_profiles(
    model: Any, task: Task, rows: Rows | BatchRows, found: FitOutcome, steps: Steps
) -> FitOutcome:
    """Add profile intervals and tests to an outcome, NaN if the fit did not end at a maximum."""
    steps.finished = found
    known = _in_memory(model, task, rows)
    ends = tuple(np.full(found.weights.shape, np.nan) for _ in range(3))
    if found.reason in FINISHED and found.at_limit:
        ends = profiled(
            known, found.weights, found.limits, found.log_likelihood, model.level, steps,
            found.around,
        )  # fmt: skip
    return replace(found, intervals={model.level: ends})
