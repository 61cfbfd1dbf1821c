"""What becomes of a logistic regression whose likelihood seems to have no maximum."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from linsep.certificate.verdicts import Separations, Undecided
from linsep.errors import DataError
from linsep.estimators.fitted_classes import NO_WEIGHT, FittedClasses
from linsep.estimators.logistic_rows import Rows
from linsep.estimators.logistic_source import StreamRows
from linsep.regression.firth import Data, firth, profile
from linsep.regression.logistic import Fit, Task, fitted
from linsep.regression.separated import Contrasts, limit, proves
from linsep.theory.data import data_of
from linsep.theory.deciding import separation

LEVEL = 0.95


@dataclass(frozen=True)
class Settled:
    """What a regression takes for its result.

    Attributes
    ----------
    weights, limits, log_likelihood, covariance, reason : as of a fit
    verdict : of :func:`linsep.separation`
    lost : array of str, what becomes of each weight without Firth's penalty
    method : "Firth" or ""
    intervals : {level: (low, high, p)} by profile
    gained : float, twice what the features add to the penalised log-likelihood
    at_limit : bool, False where finite weights are only those where the climb was broken off
    """

    weights: np.ndarray
    limits: np.ndarray
    log_likelihood: float
    covariance: np.ndarray | None
    reason: str
    verdict: Any = None
    lost: np.ndarray = field(default_factory=lambda: np.zeros(0))
    method: str = ""
    intervals: dict[float, Any] = field(default_factory=dict)
    gained: float = float("nan")
    at_limit: bool = True


def settled(
    task: Task, given: Rows | StreamRows, fit: Fit, limits: np.ndarray, by_firth: bool
) -> Settled:
    """Ask theory; where there is a maximum climb on, else take the limit or Firth's estimates.

    Beyond the weights that a Hessian is made for, and the rows that a source may keep in memory,
    the weights where the climb was broken off stay. Dependent features stay left out, and are not
    part of the verdict; those that are nearly dependent are, as they may separate the classes.
    """
    rows = given.in_memory(task)
    if rows is None:
        assert isinstance(given, StreamRows)
        return _settled_afar(task, given, fit, limits)
    counted = rows.counted()
    kept = np.setdiff1d(np.arange(task.n_features), exactly(fit))
    everything = len(counted) == len(rows.places) and len(kept) == task.n_features
    # a data frame brings its names
    named = everything and hasattr(rows.given, "columns")
    X = rows.given if named else rows.X if everything else rows.X[counted][:, kept]
    data = data_of(X, rows.known.labels[rows.places[counted]])
    answer: Any = separation(data, fit_intercept=task.intercept, senses=("multinomial",))
    verdict: Any = answer.multinomial if isinstance(answer, Separations) else answer
    if not proves(verdict):
        return _climbed_on(task, fit, limits, verdict)
    if not task.factored:  # the limit needs a matrix for all weights
        return _broken_off(task, Contrasts(verdict, data, rows.known.ranks, task.width), fit)
    columns = np.concatenate([kept, [task.n_features] * task.intercept]).astype(int)
    Z = rows.augmented(counted, kept, task.intercept)
    weights = rows.weights[counted] if rows.weights.size else np.ones(len(counted))
    places = rows.places[counted]
    contrasts = Contrasts(verdict, data, rows.known.ranks, len(columns))
    found = limit(contrasts, Z, places, weights, fit.weights[:, columns])
    wide = Wide(task, columns)
    lost = limits.copy()
    lost[:, columns] = found.limits
    if not by_firth:
        covariance = wide.square(found.covariance)
        return Settled(
            wide.flat(found.weights), lost, found.log_likelihood, covariance, str(verdict.kind),
            verdict, lost,
        )  # fmt: skip
    b, covariance, value, intervals, gained = _by_firth(Z, places, weights, task)
    shape = task.q, len(columns)
    wide_intervals = {LEVEL: tuple(wide.flat(part.reshape(shape), np.nan) for part in intervals)}
    return Settled(
        wide.flat(b.reshape(shape)), limits, value, wide.square(covariance), str(verdict.kind),
        verdict, lost, "Firth", wide_intervals, gained,
    )  # fmt: skip


def exactly(fit: Fit) -> list[int]:
    """The features that others add up to exactly."""
    return sorted(set(fit.seen.dependent) - set(fit.seen.nearly))


def widened(found: Settled, known: FittedClasses) -> Settled:
    """Return the same with weights for all classes, those without weight among them."""
    if known.complete:
        return found
    width, covariance = found.weights.shape[1], found.covariance
    return replace(
        found,
        weights=known.wide(found.weights, 0.0),
        limits=known.wide(found.limits, NO_WEIGHT),
        lost=known.wide(found.lost, NO_WEIGHT) if found.lost.size else found.lost,
        covariance=None if covariance is None else known.wide_square(covariance, width),
        intervals={
            level: tuple(known.wide(end, np.nan) for end in ends)
            for level, ends in found.intervals.items()
        },
    )


def _settled_afar(task: Task, rows: StreamRows, fit: Fit, limits: np.ndarray) -> Settled:
    """The same of rows that are read again for the verdict."""
    if exactly(fit):  # columns of a source cannot be left out of the question
        return Settled(fit.weights, limits, fit.log_likelihood, fit.covariance, "suspect")
    data = data_of(rows.feed.source)
    answer: Any = separation(data, fit_intercept=task.intercept, senses=("multinomial",))
    verdict: Any = answer.multinomial if isinstance(answer, Separations) else answer
    if not proves(verdict):
        return _climbed_on(task, fit, limits, verdict)
    return _broken_off(task, Contrasts(verdict, data, rows.known.ranks, task.width), fit)


def _climbed_on(task: Task, fit: Fit, limits: np.ndarray, verdict: Any) -> Settled:
    """The maximum that there is; where that is undecided, the weights so far."""
    reason = "undecided"
    if fit.reason == "converged":  # all but nearly dependent features
        reason = fit.reason
    elif not isinstance(verdict, Undecided):
        fit = fitted(replace(task, start=fit.weights), suspicious=False)
        reason = fit.reason
    return Settled(fit.weights, limits, fit.log_likelihood, fit.covariance, reason, verdict)


def _broken_off(task: Task, contrasts: Contrasts, fit: Fit) -> Settled:
    """The weights so far of a likelihood that has no maximum."""
    verdict, lost = contrasts.verdict, contrasts.limits()
    kind = str(verdict.kind)
    return Settled(fit.weights, lost, fit.log_likelihood, None, kind, verdict, lost, at_limit=False)


class Wide:
    """Puts numbers of the weights that were estimated into arrays of all weights."""

    def __init__(self, task: Task, columns: np.ndarray):
        self.task, self.columns = task, columns

    def flat(self, some: np.ndarray, rest: float = 0.0) -> np.ndarray:
        """Of shape (q, width)."""
        found = np.full((self.task.q, self.task.width), rest)
        found[:, self.columns] = some
        return found

    def square(self, some: np.ndarray) -> np.ndarray:
        """Of shape (q width, q width)."""
        found = np.zeros((self.task.q * self.task.width,) * 2)
        places = (np.arange(self.task.q)[:, None] * self.task.width + self.columns).ravel()
        found[np.ix_(places, places)] = some
        return found


def _by_firth(
    Z: np.ndarray, places: np.ndarray, weights: np.ndarray, task: Task
) -> tuple[np.ndarray, np.ndarray, float, tuple[np.ndarray, ...], float]:
    """Firth's estimates, their covariance, the log-likelihood, profile intervals, and what the
    features gain.
    """
    column = np.sqrt((Z**2).mean(axis=0))
    data, scale = Data(Z / column, places, weights, task.q), np.tile(column, task.q)
    found = firth(data)
    ends = [profile(data, found, j, LEVEL) for j in range(len(scale))]
    low, high, p = (np.array(part) for part in zip(*ends, strict=True))
    covariance = found.covariance / scale / scale[:, None]
    width = len(column)
    features = (k * width + j for k in range(task.q) for j in range(width - task.intercept))
    none = firth(data, dict.fromkeys(features, 0.0))
    gained = 2.0 * (found.penalised - none.penalised)
    intervals = low / scale, high / scale, p
    return found.weights / scale, covariance, found.log_likelihood, intervals, gained


def refuse_unclimbed(reason: str, log_likelihood: float, null: float) -> None:
    """Raise DataError where a fit ended where it began, but not at a maximum."""
    if reason in ("stuck", "suspect", "undecided") and log_likelihood <= null * (1.0 - 1e-12):
        raise DataError(
            "No step from zero makes the likelihood larger in floating point, so nothing was "
            "learnt: scale the features, or leave out those that nearly depend on others."
        )
