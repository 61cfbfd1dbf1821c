"""Progress of a logistic regression fit, and its outcome if it is stopped early.

Ctrl-C or a callback stops it.
"""

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from linsep._system.interrupts import interrupts_allowed
from linsep.errors import DataError, Hint, LinsepError, ParameterError, hint
from linsep.estimators._common.fitted_state import StopReason
from linsep.logistic.classes import NO_WEIGHT, UNSIGNED, FittedClasses
from linsep.logistic.fitting import MOST_WEIGHTS, Fit, Sharpness, Task
from linsep.logistic.profiles import FirthFit, ends_of, firth_fitted, profiled
from linsep.logistic.rows import BatchRows, Rows
from linsep.logistic.steps import Around, SoFar, Steps, Stopped


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


class FitProgress:
    """Progress of a fit.

    Parameters
    ----------
    model : LogisticRegression
    task : Task
    after_step : function without arguments, called after each step

    Attributes
    ----------
    steps : Steps
    """

    def __init__(self, model: Any, task: Task, after_step: Callable[[], None]) -> None:
        self.model, self.task, self.steps = model, task, Steps(after_step)

    def outcome(self, reason: StopReason) -> FitOutcome | None:
        """Return the result of a fit stopped now; None before the first step."""
        if self.steps.finished is not None:
            return self._without_intervals()
        if self.steps.suspect is not None:
            fit, limits = self.steps.suspect
            found = outcome_of(fit, unchecked(limits))
            return replace(found, covariance=None, reason=reason, stopped_in="verdict")
        if self.steps.so_far is None:
            return None
        return self._maximised(self.steps.so_far, reason)

    def _maximised(self, so_far: SoFar, reason: StopReason) -> FitOutcome:
        """Return the weights so far, without inference."""
        limits = np.full(so_far.weights.shape, "finite", dtype="U11")
        limits[:, list(so_far.dependent)] = "dependent"
        sure = self.model.l2 or self.model.penalty
        return FitOutcome(
            so_far.weights, limits if sure else unchecked(limits), so_far.log_likelihood, None,
            reason, so_far.n_iter, distance=so_far.distance, stopped_in="ascent",
            around=so_far.around,
        )  # fmt: skip

    def _without_intervals(self) -> FitOutcome:
        """Return the finished fit with the intervals computed so far."""
        found: Any = self.steps.finished
        if isinstance(found, FirthFit):
            found = firth_outcome(found)
        ends = ends_of(self.steps, found.weights.shape)
        return replace(found, intervals={self.model.level: ends}, stopped_in="intervals")


def firth_outcome(fit: FirthFit) -> FitOutcome:
    """Return Firth's estimates as an outcome, without intervals."""
    limits = np.full(fit.weights.shape, "finite", dtype="U11")
    limits[:, list(fit.dependent)] = "dependent"
    return FitOutcome(
        fit.weights, limits, fit.log_likelihood, fit.covariance, fit.reason, fit.n_iter,
        gained=fit.gained, around=fit.around,
    )  # fmt: skip


class Callbacks:
    """scikit-learn's callbacks of one fit: a task for the fit and one for each iteration.

    Parameters
    ----------
    model : LogisticRegression
    known : other arguments of the hooks: X, y and metadata
    """

    def __init__(self, model: Any, known: dict[str, Any]) -> None:
        self.model, self.known = model, {"estimator": model} | known
        # the number of iterations is unknown, and max_iter alone does not bound it
        self.root = model._init_callback_context(max_subtasks=None)
        with interrupts_allowed():
            self.root.call_on_fit_task_begin(**self.known)

    def iterated(self, snapshot: Callable[[], dict[str, Any]]) -> None:
        """Report one iteration; raise Stopped if a callback asks to stop."""
        task = self.root.subcontext(task_name="iteration")
        with interrupts_allowed():
            task.call_on_fit_task_begin(**self.known)
            if task.call_on_fit_task_end(**self.known, reconstruction_attributes=snapshot):
                raise Stopped

    def ended(self, snapshot: Callable[[], dict[str, Any]]) -> None:
        """Report the end of the fit."""
        self.root.call_on_fit_task_end(**self.known, reconstruction_attributes=snapshot)


#: reasons of fits that reached a maximum, or the limit of a likelihood without one
FINISHED = ("converged", "separable", "quasi-separable")


def refuse_together(model: Any) -> None:
    """Raise ParameterError for incompatible parameters."""
    if model.on_separation == "firth":
        raise ParameterError(
            "Firth's penalty for separable data only biases the estimates; its estimates are "
            "always finite", hint("take {}", penalty="firth"),
        )  # fmt: skip
    if model.penalty and model.l2:
        raise ParameterError("Firth's penalty and l2 exclude each other", "leave one of them out")
    if model.penalty and model.solver != "newton":
        raise ParameterError(
            "Firth's penalised likelihood is maximised by Newton's method only",
            hint("take {}", solver="newton"),
        )
    if model.intervals and model.l2:
        raise ParameterError(
            "Standard errors, tests and intervals are not known with l2", "leave l2 out",
            hint("leave {} out", intervals=None),
        )  # fmt: skip


def by_profile(model: Any) -> bool:
    """Return whether intervals and tests come from profile likelihoods."""
    return model.intervals == "profile" or bool(model.penalty and model.intervals is None)


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
    profiles = by_profile(model)
    fit = firth_fitted(_in_memory(model, task, rows), model.level if profiles else None, steps)
    found = firth_outcome(fit)
    return found if fit.ends is None else replace(found, intervals={model.level: fit.ends})


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
