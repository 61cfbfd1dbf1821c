"""What becomes of a logistic regression whose likelihood seems to have no maximum."""

import sys
import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from linsep.certificate.verdicts import TIME_LIMIT, Separations, Undecided
from linsep.errors import DataError, Hint, LinsepError, hint
from linsep.estimators._common.fitted_classes import NO_WEIGHT, FittedClasses
from linsep.estimators._logistic.rows import Rows, StreamRows
from linsep.interrupts import window
from linsep.online.passes import StopReason
from linsep.regression.logistic.fitting import Fit, Task, climbed_on
from linsep.regression.logistic.separated import Contrasts, limit, proves
from linsep.regression.logistic.steps import Steps
from linsep.separability.deciding import separation
from linsep.separability.problem.data import Data, data_of
from linsep.separability.time_limit import Task as Timed, limited


@dataclass(frozen=True)
class FitOutcome:
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
) -> FitOutcome:
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
) -> FitOutcome:
    rows = given.in_memory(task)
    if rows is None:
        assert isinstance(given, StreamRows)
        return _outcome_afar(task, given, fit, limits, steps)
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
    return FitOutcome(
        wide.flat(found.weights), lost, found.log_likelihood, wide.square(found.covariance),
        str(verdict.kind), fit.n_iter, verdict,
    )  # fmt: skip


def exactly(fit: Fit) -> list[int]:
    """The features that others add up to exactly."""
    return sorted(set(fit.standardization.dependent) - set(fit.standardization.nearly))


def unsettled(fit: Fit, limits: np.ndarray) -> FitOutcome:
    """A fit as it is."""
    return FitOutcome(
        fit.weights, limits, fit.log_likelihood, fit.covariance, fit.reason, fit.n_iter,
        distance=fit.distance,
    )  # fmt: skip


def unchecked(limits: np.ndarray) -> np.ndarray:
    """What is said of weights where it was not checked that there is a maximum."""
    return np.where(limits == "finite", "not checked", limits)


def widened(found: FitOutcome, known: FittedClasses) -> FitOutcome:
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
        answer: Any = separation(data, fit_intercept=task.intercept, formulations=("multinomial",))
    return answer.multinomial if isinstance(answer, Separations) else answer


def _outcome_afar(
    task: Task, rows: StreamRows, fit: Fit, limits: np.ndarray, steps: Steps
) -> FitOutcome:
    """The same of rows that are read again for the verdict."""
    if exactly(fit):  # columns of a source cannot be left out of the question
        return unsettled(fit, unchecked(limits))
    with window():
        data = data_of(rows.stream.source)
    verdict = _asked(data, task)
    if not proves(verdict):
        return _climbed_on(task, fit, limits, verdict, steps)
    return _broken_off(Contrasts(verdict, data, rows.known.ranks, task.width), fit)


def _climbed_on(task: Task, fit: Fit, limits: np.ndarray, verdict: Any, steps: Steps) -> FitOutcome:
    """The maximum that there is, or may be, where the climb was broken off."""
    steps.asked = None
    if fit.reason == "suspect":
        fit = climbed_on(task, fit, steps)
    found = replace(unsettled(fit, limits), verdict=verdict)
    if not isinstance(verdict, Undecided):
        return found
    return replace(found, limits=unchecked(limits), reason="undecided")


def _broken_off(contrasts: Contrasts, fit: Fit) -> FitOutcome:
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


SEPARABLE = "The classes are separable: no coefficient has a finite estimate."
SENTENCES = {
    "converged": "",
    "suspect": "The likelihood seems to have no maximum, but that was not checked.",
    "undecided": "Whether the likelihood has a maximum is undecided.",
    "separable": SEPARABLE,
    "separable, broken off": SEPARABLE,
    "quasi-separable": "The classes are quasi-separable: coefficients with a word for a number "
    "have no finite estimate; the others are those of the limit.",
    "quasi-separable, broken off": "The classes are quasi-separable: coefficients with a word for "
    "a number have no finite estimate; the others are where the climb was broken off.",
}

#: modules that a warning is not about
LIBRARIES = ("linsep.", "sklearn.")
#: reason of a fit that Ctrl-C ended, and all reasons of fits that nothing can be inferred from
INTERRUPTED, UNINFERRED = StopReason.INTERRUPTED, (StopReason.INTERRUPTED, StopReason.EARLY_STOP)
#: reasons to warn of
UNFINISHED = ("max_iter", "stuck", "suspect", "undecided")
#: what gives finite estimates where there is no maximum
FINITE = (
    hint("take {}", l2=None),
    hint("{} for finite estimates", penalty="firth"),
)
#: further away, in standard errors, than a Newton step can tell
NEAR = 10.0
#: what helps a climb that did not arrive
MORE = (hint("raise {}", max_iter=None),)
OTHERWISE = (*MORE, hint("take {}", solver="newton"))


class UnfinishedWarning(ConvergenceWarning):
    """A fit ended before it reached a maximum. ``refusal`` keeps the advice apart."""

    def __init__(self, said: str, *hints: str | Hint):
        self.refusal = LinsepError(said, *hints)
        super().__init__(str(self.refusal))


def ending(reason: str, distance: float, climb: str = "") -> tuple[str, tuple[Any, ...]]:
    """What happened, in a sentence without its full stop, and what to do.

    Parameters
    ----------
    reason : why the fit ended
    distance : in standard errors, from the maximum; NaN where it is not known
    climb : of gradient ascent "auto", or what is said of its own learning rate
    """
    away = "" if np.isnan(distance) else f", {_near(distance)} from it"
    if reason == "max_iter" and climb not in ("", "auto"):
        return f"Gradient ascent ended before the maximum{away}: {climb}", ()
    if reason == "max_iter":
        said = f"All iterations allowed were made before the maximum was reached{away}"
        return said, OTHERWISE if climb else MORE
    if reason == "stuck":
        said = f"No step makes the likelihood larger in floating point before the maximum{away}"
        return said, ("scale the features",)
    return SENTENCES[reason].removesuffix("."), ()


def broken_off(found: Any) -> tuple[str, tuple[Any, ...]]:
    """The same of a fit that somebody ended."""
    who = "The fit was interrupted" if found.reason == INTERRUPTED else "A callback ended the fit"
    if found.broken_off == "intervals":
        (ends,) = found.intervals.values()
        missing = int(np.isnan(ends[2][found.limits != "dependent"]).sum())
        said = f"The fit was interrupted while intervals were worked out: {missing} have no numbers"
    elif found.broken_off == "question":
        said = f"{who} before it was decided whether the likelihood has a maximum"
    else:
        away = "" if np.isnan(found.distance) else f", {_near(found.distance)} from it"
        said = (
            f"{who} before the maximum was reached{away}: the weights are those after "
            f"{found.n_iter} {'iteration' if found.n_iter == 1 else 'iterations'}, and nothing can "
            "be inferred from them"
        )
    return said, ()


def warn_caller(warning: Warning) -> None:
    """Warn in the code that called linsep, whatever lies between."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(LIBRARIES):
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)


def ended(model: Any, found: Any) -> tuple[str, Warning | None]:
    """The sentence of how a fit ended, and what to warn of where that is not at a maximum.

    Parameters
    ----------
    model : LogisticRegression
    found : Settled
    """
    if found.broken_off:
        said, hints = broken_off(found)
        return f"{said}.", UnfinishedWarning(f"{said}.", *hints)
    climb = ""
    if model.solver == "gradient_ascent" and not model.penalty and hasattr(model, "ascent_"):
        automatic = isinstance(model.learning_rate, str)
        climb = model.learning_rate if automatic else model.ascent_.sentence
    reason = found.reason if found.at_limit else f"{found.reason}, broken off"
    said, hints = ending(reason, found.distance, climb)
    warning = UnfinishedWarning(said if hints else f"{said}.", *hints)
    return f"{said}." if said else "", warning if reason in UNFINISHED else None


def _near(distance: float) -> str:
    return f"about {distance:.2g} standard errors away" if distance <= NEAR else "far away"


def refuse_unclimbed(reason: str, log_likelihood: float, null: float) -> None:
    """Raise DataError where a fit ended where it began, but not at a maximum."""
    if reason in ("stuck", "suspect", "undecided") and log_likelihood <= null * (1.0 - 1e-12):
        raise DataError(
            "No step from zero makes the likelihood larger in floating point, so nothing was "
            "learnt: scale the features, or leave out those that nearly depend on others."
        )


def separation_sentence(kind: str, limits: dict[str, str]) -> str:
    """What is said of data whose likelihood has no maximum."""
    shown = [
        f"{name} ({word})" for name, word in limits.items() if word in ("+inf", "-inf", "infinite")
    ]
    if not shown:
        return (
            f"The data are {kind}, so the likelihood has no maximum: it grows for ever as some "
            "coefficients run away, and which they are was not found in time"
        )
    listed = ", ".join(shown[:8]) + (", ..." if len(shown) > 8 else "")
    finite = sum(word == "finite" for word in limits.values())
    rest = f"; the other {finite} are finite" if finite else ""
    return (
        f"The data are {kind}, so the likelihood has no maximum: it grows for ever as these "
        f"coefficients run away: {listed}{rest}"
    )
