"""Outcome of a logistic regression, in particular if its likelihood seems to have no maximum."""

import sys
import warnings
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from linsep.certificate.verdicts import TIME_LIMIT, Separable, Separations, Undecided
from linsep.errors import DataError, Hint, LinsepError, hint
from linsep.estimators._common.centred import FAR
from linsep.estimators._common.fitted_classes import NO_WEIGHT, FittedClasses
from linsep.estimators._common.stop_reasons import StopReason
from linsep.estimators._logistic.rows import BatchRows, Rows, data_of_batches
from linsep.interrupts import window
from linsep.regression.logistic.fitting import Fit, Task, climbed_on
from linsep.regression.logistic.separated import (
    UNSIGNED,
    Contrasts,
    limit,
    proves,
    question_weights,
)
from linsep.regression.logistic.sharpness import Sharpness, sharpened
from linsep.regression.logistic.steps import Around, Steps
from linsep.separability.deciding import separated_by, separation
from linsep.separability.problem.data import Data, data_of
from linsep.separability.search.search import MOST_WEIGHTS
from linsep.separability.time_limit import Task as Timed, limited


@dataclass(frozen=True)
class FitOutcome:
    """Result of a fit.

    Attributes
    ----------
    weights, limits, log_likelihood, covariance, reason, n_iter : as in the estimator
    verdict : of :func:`linsep.separation`
    distance : float, to the maximum from where the last step began, in standard errors; NaN if
        unknown
    intervals : {level: (low, high, p)} of profiles
    gained : float, twice what the features add to the penalised log-likelihood
    at_limit : bool, False if finite weights are those of the last iteration, not of the limit
    sharpness : Sharpness of a maximum that barely exists, or None
    stopped_in : "ascent", "verdict" or "intervals" if the fit was stopped from outside; else empty
    around : a centre and the scores there, None if the raw weights are all there is
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
    sharpness: Sharpness | None = None
    stopped_in: str = ""
    around: Around = None


class Asked(NamedTuple):
    """The data of a verdict on a likelihood that seems to have no maximum.

    Attributes
    ----------
    task : Task
    data : Data
    columns : int array, the numbers of the weights of each class that the verdict is about
    order : class codes of the data in the order of the regression, the reference last
    rows : the rows in memory, or None
    dependent : bool, whether some of the columns are exact linear combinations of others
    """

    task: Task
    data: Data
    columns: np.ndarray
    order: list[int]
    rows: Rows | None
    dependent: bool

    @property
    def quick(self) -> bool:
        """Whether the search for a separator is quick; it also bounds the margin."""
        few = self.task.q == 1 and len(self.columns) <= MOST_WEIGHTS
        return self.rows is not None and few

    def contrasts(self, verdict: Any) -> Contrasts:
        """Return the converter from the weights of a verdict."""
        return Contrasts(verdict, self.data, self.order, len(self.columns))

    def by_weights(self, fit: Fit) -> Any:
        """Return the verdict that the weights of the fit prove, or None."""
        weights = question_weights(fit.weights[:, self.columns], self.order)
        with window():
            return separated_by(self.data, weights, self.task.intercept)

    def by_search(self) -> Any:
        """Return the multinomial verdict; Ctrl-C takes effect at any time."""
        joint = ("multinomial",)
        with window():
            answer: Any = separation(
                self.data, fit_intercept=self.task.intercept, formulations=joint
            )
        return answer.multinomial if isinstance(answer, Separations) else answer


def outcome_of_suspect(
    task: Task, given: Rows | BatchRows, fit: Fit, limits: np.ndarray, steps: Steps
) -> FitOutcome:
    """Decide separability; if there is a maximum, go on maximising, else compute the limit.

    With too many weights for a Hessian, or more rows than a source may keep in memory, the weights
    of the last iteration stay. Exactly dependent features are left out of the verdict; nearly
    dependent ones are not, because they may separate the classes.

    Unless a search is quick, the weights at hand are checked exactly first, in one pass. The
    search, with the limit of the weights, takes no longer than the time limit of a verdict.
    """
    steps.suspect = fit, limits
    asked = _asked(task, given, fit)
    if asked is None:
        return without_proof(fit, limits)
    verdict = None if asked.quick else asked.by_weights(fit)
    if verdict is None and asked.dependent:
        return without_proof(fit, limits)
    with limited(Timed(TIME_LIMIT)):
        verdict = verdict or asked.by_search()
        if proves(verdict):
            return _without_maximum(asked, fit, limits, verdict)
    steps.suspect = None
    if fit.reason == "suspect":
        fit = climbed_on(task, fit, steps)
    if not isinstance(verdict, Undecided):
        sharp = None
        if task.factored and fit.reason in ("converged", "stuck"):
            fit, sharp = sharpened(task, fit)
        return replace(outcome_of(fit, limits), verdict=verdict, sharpness=sharp)
    separated = asked.by_weights(fit)
    if separated is None:
        return replace(without_proof(fit, limits), verdict=verdict, reason="undecided")
    with limited(Timed(TIME_LIMIT)):
        return _without_maximum(asked, fit, limits, separated)


def _asked(task: Task, given: Rows | BatchRows, fit: Fit) -> Asked | None:
    """Return the data to decide about; None if they are not those of the fit."""
    rows, order = given.in_memory(task), given.known.ranks
    dependent = exactly_dependent(fit)
    if rows is not None:
        counted = rows.counted()
        kept = np.setdiff1d(np.arange(task.n_features), dependent)
        everything = len(counted) == len(rows.places) and len(kept) == task.n_features
        # keeps the names of a data frame
        named = everything and hasattr(rows.given, "columns")
        X = rows.given if named else rows.X if everything else rows.X[counted][:, kept]
        data = data_of(X, rows.known.labels[rows.places[counted]])
        columns = np.concatenate([kept, [task.n_features] * task.intercept]).astype(int)
        return Asked(task, data, columns, order, rows, False)
    assert isinstance(given, BatchRows)
    with window():
        data = data_of_batches(given) if given.source is None else data_of(given.source)
    if len(data.classes) != len(order):  # a weight of 0 leaves out a class that the data have
        return None
    # columns of a source cannot be left out; those of zeros, as in very many, need not be
    return Asked(task, data, np.arange(task.width), order, None, task.factored and bool(dependent))


def _around(task: Task, fit: Fit, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of some columns around a centre, which is zero but for columns that are
    far from zero against their spread.
    """
    weights, kept = fit.weights[:, columns], columns[: len(columns) - task.intercept]
    if fit.around is None:
        return weights, np.zeros(len(kept))
    (middle, at), scales = fit.around, fit.standardization.scales
    centre = np.where(np.abs(middle * scales) > FAR, middle, 0.0)
    near = np.where(centre, 0.0, middle)
    if centre.any():
        weights[:, -1] = at - fit.weights[:, : task.n_features] @ near
    return weights, centre[kept]


def exactly_dependent(fit: Fit) -> list[int]:
    """Return the features that are exact linear combinations of others."""
    return sorted(set(fit.standardization.dependent) - set(fit.standardization.nearly))


def outcome_of(fit: Fit, limits: np.ndarray) -> FitOutcome:
    """Return a fit as an outcome."""
    return FitOutcome(
        fit.weights, limits, fit.log_likelihood, fit.covariance, fit.reason, fit.n_iter,
        distance=fit.distance, around=fit.around,
    )  # fmt: skip


def unchecked(limits: np.ndarray) -> np.ndarray:
    """Return the limits with "not checked" instead of "finite"."""
    return np.where(limits == "finite", "not checked", limits)


def widened(found: FitOutcome, known: FittedClasses) -> FitOutcome:
    """Return the outcome with weights for all classes, including those without weight."""
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


def without_proof(fit: Fit, limits: np.ndarray) -> FitOutcome:
    """Return a fit whose likelihood may have no maximum, so that nothing can be inferred."""
    reason = "suspect" if fit.suspect and fit.reason == "converged" else fit.reason
    return replace(outcome_of(fit, unchecked(limits)), covariance=None, reason=reason)


def _without_maximum(asked: Asked, fit: Fit, limits: np.ndarray, verdict: Any) -> FitOutcome:
    """Return the limit for a likelihood that has no maximum, by the verdict.

    Rows that are not in memory, and too many weights, keep the weights of the last iteration.
    """
    task, rows, columns = asked.task, asked.rows, asked.columns
    contrasts, lost = asked.contrasts(verdict), limits.astype("U16")
    if rows is None or not task.factored:
        found = _of_last_iteration(fit, verdict)
        with window():
            lost[:, columns] = UNSIGNED if asked.dependent else contrasts.limits()
        lost[limits == "dependent"] = "dependent"
        return replace(found, limits=lost)
    counted = rows.counted()
    kept = columns[columns < task.n_features]
    Z = rows.augmented(counted, kept, task.intercept)
    weights = rows.weights[counted] if rows.weights.size else np.ones(len(counted))
    last, centre = _around(task, fit, columns)
    Z[:, : len(kept)] -= centre
    with window():
        end = limit(contrasts, Z, rows.places[counted], weights, last, centre)
    wide, middle = Wide(task, columns), np.zeros(task.n_features)
    middle[kept] = centre
    lost[:, columns] = end.limits
    return FitOutcome(
        wide.flat(end.weights), lost, end.log_likelihood, wide.square(end.covariance),
        str(verdict.kind), fit.n_iter, verdict, around=(middle, end.at) if middle.any() else None,
    )  # fmt: skip


def _of_last_iteration(fit: Fit, verdict: Any) -> FitOutcome:
    """Return the weights of the last iteration; the supremum is known of separable classes only."""
    value = 0.0 if isinstance(verdict, Separable) else fit.log_likelihood
    return replace(
        outcome_of(fit, np.zeros(0)), log_likelihood=value, covariance=None, verdict=verdict,
        reason=str(verdict.kind), at_limit=False,
    )  # fmt: skip


class Wide:
    """Embeds arrays of the estimated weights into arrays of all weights."""

    def __init__(self, task: Task, columns: np.ndarray):
        self.task, self.columns = task, columns

    def flat(self, some: np.ndarray, rest: float = 0.0) -> np.ndarray:
        """Return an array of shape (q, width)."""
        found = np.full((self.task.q, self.task.width), rest)
        found[:, self.columns] = some
        return found

    def square(self, some: np.ndarray) -> np.ndarray:
        """Return an array of shape (q width, q width)."""
        found = np.zeros((self.task.q * self.task.width,) * 2)
        places = (np.arange(self.task.q)[:, None] * self.task.width + self.columns).ravel()
        found[np.ix_(places, places)] = some
        return found


SEPARABLE = "The classes are separable: no coefficient has a finite estimate."
SENTENCES = {
    "converged": "",
    "suspect": "The likelihood seems to have no maximum, but that was not checked.",
    "undecided": "Whether the likelihood has a maximum is undecided.",
    "separable": SEPARABLE,
    "separable, not at limit": SEPARABLE,
    "quasi-separable": "The classes are quasi-separable: coefficients with a word for a number "
    "have no finite estimate; the others are those of the limit.",
    "quasi-separable, not at limit": "The classes are quasi-separable: coefficients with a word "
    "for a number have no finite estimate; the others are those of the last iteration.",
}

#: limits of coefficients that diverge
DIVERGING = ("+inf", "-inf", "infinite", UNSIGNED)
#: reasons of fits to classes that are proved to be separable, or quasi-separable
SEPARATED = ("separable", "quasi-separable")
#: modules that are skipped to find the caller to warn
LIBRARIES = ("linsep.", "sklearn.")
#: reason of a fit stopped by Ctrl-C, and all reasons without inference
INTERRUPTED = StopReason.INTERRUPTED
UNINFERRED = (StopReason.INTERRUPTED, StopReason.EARLY_STOP, "suspect", "undecided")
#: reasons that cause a warning
UNFINISHED = ("max_iter", "stuck", "suspect", "undecided")
#: hints to get finite estimates although there is no maximum
BY_L2 = hint("take {} for finite estimates", l2=None)
FINITE = (hint("take {}", l2=None), hint("{} for finite estimates", penalty="firth"))
#: beyond this distance, in standard errors, the Newton decrement means no more than "far"
NEAR = 10.0
#: hints after max_iter
MORE = (hint("raise {}", max_iter=None),)
OTHERWISE = (*MORE, hint("take {}", solver="newton"))


class UnfinishedWarning(ConvergenceWarning):
    """The fit stopped before a maximum, or floats do not determine its digits.

    ``refusal`` is the same as an error with separate hints.
    """

    def __init__(self, message: str, *hints: str | Hint):
        self.refusal = LinsepError(message, *hints)
        super().__init__(str(self.refusal))


def ending(reason: str, distance: float, climb: str = "") -> tuple[str, tuple[Any, ...]]:
    """Return a sentence on how the fit ended, without its full stop, and hints.

    Parameters
    ----------
    reason : why the fit ended
    distance : to the maximum, in standard errors; NaN if unknown
    climb : for gradient ascent "auto", or the sentence of :class:`linsep.descent.Descent`
    """
    away = "" if np.isnan(distance) else f", {_near(distance)} from it"
    if reason == "max_iter" and climb not in ("", "auto"):
        return f"Gradient ascent ended before the maximum{away}: {climb}", ()
    if reason == "max_iter":
        message = f"All iterations allowed were made before the maximum was reached{away}"
        return message, OTHERWISE if climb else MORE
    if reason == "stuck":
        message = f"No step increases the likelihood in floating point before the maximum{away}"
        return message, ("scale the features",)
    return SENTENCES[reason].removesuffix("."), ()


def stopping_message(found: Any) -> tuple[str, tuple[Any, ...]]:
    """Return the same for a fit that was stopped from outside."""
    who = "The fit was interrupted" if found.reason == INTERRUPTED else "A callback ended the fit"
    if found.stopped_in == "intervals":
        (ends,) = found.intervals.values()
        missing = int(np.isnan(ends[2][found.limits != "dependent"]).sum())
        message = f"The fit was interrupted while computing intervals: {missing} have no numbers"
    elif found.stopped_in == "verdict":
        message = f"{who} before it was decided whether the likelihood has a maximum"
    else:
        away = "" if np.isnan(found.distance) else f", {_near(found.distance)} from it"
        message = (
            f"{who} before the maximum was reached{away}: the weights are those after "
            f"{found.n_iter} {'iteration' if found.n_iter == 1 else 'iterations'}, and nothing can "
            "be inferred from them"
        )
    return message, ()


def warn_caller(warning: Warning) -> None:
    """Warn with the location of the code that called linsep."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(LIBRARIES):
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)


def ending_of(model: Any, found: Any) -> tuple[str, Warning | None]:
    """Return a sentence on how a fit ended, and a warning if not at a maximum.

    Parameters
    ----------
    model : LogisticRegression
    found : FitOutcome
    """
    if found.stopped_in:
        message, hints = stopping_message(found)
        return f"{message}.", UnfinishedWarning(f"{message}.", *hints)
    if found.sharpness is not None and not found.sharpness.enough:
        message = found.sharpness.sentence
        return f"{message}.", UnfinishedWarning(message, *FINITE)
    climb = ""
    if model.solver == "gradient_ascent" and not model.penalty and hasattr(model, "ascent_"):
        automatic = isinstance(model.learning_rate, str)
        climb = model.learning_rate if automatic else model.ascent_.sentence
    reason = found.reason if found.at_limit else f"{found.reason}, not at limit"
    message, hints = ending(reason, found.distance, climb)
    warning = UnfinishedWarning(message if hints else f"{message}.", *hints)
    return f"{message}." if message else "", warning if reason in UNFINISHED else None


def _near(distance: float) -> str:
    return f"about {distance:.2g} standard errors away" if distance <= NEAR else "far away"


def refuse_no_progress(reason: str, log_likelihood: float, null: float) -> None:
    """Raise DataError if a fit made no progress from its start, which is not a maximum."""
    if reason in ("stuck", "suspect", "undecided") and log_likelihood <= null * (1.0 - 1e-12):
        raise DataError(
            "No step from zero increases the likelihood in floating point, so nothing was "
            "learnt: scale the features, or leave out those that nearly depend on others."
        )


def separation_sentence(kind: str, limits: dict[str, str]) -> str:
    """Return the message for separable data, whose likelihood has no maximum."""
    shown = [f"{name} ({word})" for name, word in limits.items() if word in DIVERGING]
    if not shown:
        return (
            f"The data are {kind}, so the likelihood has no maximum: it keeps growing as some "
            "coefficients diverge, and which ones was not found within the time limit"
        )
    listed = ", ".join(shown[:8]) + (", ..." if len(shown) > 8 else "")
    finite = sum(word == "finite" for word in limits.values())
    rest = f"; the other {finite} are finite" if finite else ""
    return (
        f"The data are {kind}, so the likelihood has no maximum: it keeps growing as these "
        f"coefficients diverge: {listed}{rest}"
    )
