"""What becomes of a logistic regression whose likelihood seems to have no maximum."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from linsep.certificate.verdicts import TIME_LIMIT, Separations, Undecided
from linsep.estimators.fitted_classes import NO_WEIGHT, FittedClasses
from linsep.estimators.logistic_rows import Rows
from linsep.estimators.logistic_source import StreamRows
from linsep.interrupts import window
from linsep.regression.logistic import Fit, Task, climbed_on
from linsep.regression.separated import Contrasts, limit, proves
from linsep.regression.steps import Steps
from linsep.theory.data import Data, data_of
from linsep.theory.deciding import separation
from linsep.theory.work import Task as Timed
from linsep.theory.work import limited


@dataclass(frozen=True)
class Settled:
    """What a regression takes for its result.

    Attributes
    ----------
    weights, limits, log_likelihood, covariance, reason, n_iter : as of a fit
    verdict : of :func:`linsep.separation`
    distance : float, of the maximum in standard errors where the last step began, NaN: not known
    intervals : {level: (low, high, p)} by profile
    gained : float, twice what the features add to the penalised log-likelihood
    at_limit : bool, False where finite weights are only those where the climb was broken off
    broken_off : "climb", "question" or "intervals", where somebody ended the fit; else empty
    """

    weights: np.ndarray
    limits: np.ndarray
    log_likelihood: float
    covariance: np.ndarray | None
    reason: str
    n_iter: int
    verdict: Any = None
    intervals: dict[float, Any] = field(default_factory=dict)
    gained: float = float("nan")
    at_limit: bool = True
    distance: float = float("nan")
    broken_off: str = ""


def settled(
    task: Task, given: Rows | StreamRows, fit: Fit, limits: np.ndarray, steps: Steps
) -> Settled:
    """Ask theory; where there is a maximum climb on, else take the limit.

    Beyond the weights that a Hessian is made for, and the rows that a source may keep in memory,
    the weights where the climb was broken off stay. Dependent features stay left out, and are not
    part of the verdict; those that are nearly dependent are, as they may separate the classes.

    All of it ends within the time limit of a verdict.
    """
    steps.asked = fit, limits
    with limited(Timed(TIME_LIMIT)):
        return _settled(task, given, fit, limits, steps)


def _settled(
    task: Task, given: Rows | StreamRows, fit: Fit, limits: np.ndarray, steps: Steps
) -> Settled:
    rows = given.in_memory(task)
    if rows is None:
        assert isinstance(given, StreamRows)
        return _settled_afar(task, given, fit, limits, steps)
    counted = rows.counted()
    kept = np.setdiff1d(np.arange(task.n_features), exactly(fit))
    everything = len(counted) == len(rows.places) and len(kept) == task.n_features
    # a data frame brings its names
    named = everything and hasattr(rows.given, "columns")
    X = rows.given if named else rows.X if everything else rows.X[counted][:, kept]
    data = data_of(X, rows.known.labels[rows.places[counted]])
    verdict = _asked(data, task)
    if not proves(verdict):
        return _climbed_on(task, fit, limits, verdict, steps)
    if not task.factored:  # the limit needs a matrix for all weights
        return _broken_off(Contrasts(verdict, data, rows.known.ranks, task.width), fit)
    columns = np.concatenate([kept, [task.n_features] * task.intercept]).astype(int)
    Z = rows.augmented(counted, kept, task.intercept)
    weights = rows.weights[counted] if rows.weights.size else np.ones(len(counted))
    places = rows.places[counted]
    contrasts = Contrasts(verdict, data, rows.known.ranks, len(columns))
    with window():
        found = limit(contrasts, Z, places, weights, fit.weights[:, columns])
    wide = Wide(task, columns)
    lost = limits.copy()
    lost[:, columns] = found.limits
    return Settled(
        wide.flat(found.weights), lost, found.log_likelihood, wide.square(found.covariance),
        str(verdict.kind), fit.n_iter, verdict,
    )  # fmt: skip


def exactly(fit: Fit) -> list[int]:
    """The features that others add up to exactly."""
    return sorted(set(fit.seen.dependent) - set(fit.seen.nearly))


def unsettled(fit: Fit, limits: np.ndarray) -> Settled:
    """A fit as it is."""
    return Settled(
        fit.weights, limits, fit.log_likelihood, fit.covariance, fit.reason, fit.n_iter,
        distance=fit.distance,
    )  # fmt: skip


def unchecked(limits: np.ndarray) -> np.ndarray:
    """What is said of weights where it was not checked that there is a maximum."""
    return np.where(limits == "finite", "not checked", limits)


def widened(found: Settled, known: FittedClasses) -> Settled:
    """Return the same with weights for all classes, those without weight among them."""
    if known.complete:
        return found
    width, covariance = found.weights.shape[1], found.covariance
    return replace(
        found,
        weights=known.wide(found.weights, 0.0),
        limits=known.wide(found.limits, NO_WEIGHT),
        covariance=None if covariance is None else known.wide_square(covariance, width),
        intervals={
            level: tuple(known.wide(end, np.nan) for end in ends)
            for level, ends in found.intervals.items()
        },
    )


def _asked(data: Data, task: Task) -> Any:
    """The verdict about the likelihood's maximum; Ctrl-C is heard at any time."""
    with window():
        answer: Any = separation(data, fit_intercept=task.intercept, senses=("multinomial",))
    return answer.multinomial if isinstance(answer, Separations) else answer


def _settled_afar(
    task: Task, rows: StreamRows, fit: Fit, limits: np.ndarray, steps: Steps
) -> Settled:
    """The same of rows that are read again for the verdict."""
    if exactly(fit):  # columns of a source cannot be left out of the question
        return unsettled(fit, unchecked(limits))
    with window():
        data = data_of(rows.feed.source)
    verdict = _asked(data, task)
    if not proves(verdict):
        return _climbed_on(task, fit, limits, verdict, steps)
    return _broken_off(Contrasts(verdict, data, rows.known.ranks, task.width), fit)


def _climbed_on(task: Task, fit: Fit, limits: np.ndarray, verdict: Any, steps: Steps) -> Settled:
    """The maximum that there is, or may be, where the climb was broken off."""
    steps.asked = None
    if fit.reason == "suspect":
        fit = climbed_on(task, fit, steps)
    found = replace(unsettled(fit, limits), verdict=verdict)
    if not isinstance(verdict, Undecided):
        return found
    return replace(found, limits=unchecked(limits), reason="undecided")


def _broken_off(contrasts: Contrasts, fit: Fit) -> Settled:
    """The weights so far of a likelihood that has no maximum."""
    with window():
        found = unsettled(fit, contrasts.limits())
    verdict = contrasts.verdict
    reason = str(verdict.kind)
    return replace(found, covariance=None, verdict=verdict, reason=reason, at_limit=False)


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
