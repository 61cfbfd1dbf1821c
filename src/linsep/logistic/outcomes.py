"""Progress of a logistic regression after each step, its outcome, and sentences about both."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from linsep._system.interrupts import interruption_point, interrupts_allowed
from linsep.errors import DataError, Hint, LinsepError, ParameterError, hint
from linsep.estimators._common.labels import feature_names
from linsep.estimators._common.stop_reasons import StopReason
from linsep.inference.robust import refuse_robust
from linsep.logistic.existence import UNIT
from linsep.logistic.rows import NO_WEIGHT, UNSIGNED, FittedClasses

#: ends of intervals, and p-values of zero
Ends: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]
#: called after each step of an ascent with its weights, the log-likelihood there, and the distance
#: to the maximum, in standard errors, from where the step began (NaN: unknown)
Report = Callable[[np.ndarray, float, float], None]
#: a point of the raw features, and the scores of the classes there; None if weights suffice
Around: TypeAlias = tuple[np.ndarray, np.ndarray] | None


class Stopped(Exception):
    """A callback has asked the fit to stop."""


#: digits of an estimate that are enough to say nothing
ENOUGH = 4
#: larger overlaps of the classes are not the reason for lost digits
BARELY = 1e-3


class Sharpness(NamedTuple):
    """How well floats determine a maximum.

    Attributes
    ----------
    overlap : float
        Upper bound on how far rows are on the wrong side of the boundary, as a share of the largest
        distance of a row on the right side.
    error : float
        Estimate of how much the scores of a row may be off, beside each other.
    """

    overlap: float
    error: float

    @property
    def digits(self) -> int:
        """Number of digits of standard errors that are determined."""
        return int(np.clip(np.floor(-np.log10(max(self.error, UNIT))), 0, 16))

    @property
    def enough(self) -> bool:
        """Whether there is nothing to report."""
        return self.digits >= ENOUGH

    @property
    def sentence(self) -> str:
        """The sentence to report, without the full stop."""
        digits = f"only about {self.digits} digits" if self.digits > 1 else "hardly a digit"
        if self.overlap > BARELY:
            why = "the rows differ so much in weight or in size that"
        else:
            why = (
                f"the classes overlap by at most {self.overlap:.1g} of the largest distance from "
                "the boundary, so"
            )
        return (
            f"A maximum exists, but {why} float64 determines {digits} of the estimates and "
            "standard errors"
        )


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
    gained : float, twice what the features add to the penalized log-likelihood
    at_limit : bool, False if finite weights come from a small ridge, not from the limit
    sharpness : Sharpness of a maximum that barely exists, or None
    stopped_in : "ascent", "verdict" or "intervals" if Ctrl-C or a callback stopped it; else empty
    around : a center and the scores there, None if the raw weights are all there is
    clusters : int or None, their number if the covariance is summed over clusters
    rounded : indices of the features whose rounding errors separate the classes
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
    clusters: int | None = None
    rounded: tuple[int, ...] = ()


def limits_without(dependent: Iterable[int], shape: tuple[int, ...]) -> np.ndarray:
    """Return the limits of weights that are finite, except for dependent features."""
    limits = np.full(shape, "finite", dtype="U11")
    limits[:, list(dependent)] = "dependent"
    return limits


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


class Steps:
    """Records the progress of one fit.

    Parameters
    ----------
    after_step : function without arguments
        Called after each step; may raise :class:`Stopped`.

    Attributes
    ----------
    so_far : FitOutcome of the weights so far, made when it is asked for; None before the first
        step
    suspect : FitOutcome while separation is being decided; else None
    finished : FitOutcome without intervals while these are computed; else None
    intervals : list of the profile intervals computed so far, (low, high, p)
    """

    def __init__(self, after_step: Callable[[], None] = lambda: None) -> None:
        self.after_step = after_step
        self._made = 0
        self._latest: Callable[[], FitOutcome | None] = lambda: None
        self.suspect: FitOutcome | None = None
        self.finished: FitOutcome | None = None
        self.intervals: list[Any] = []

    @property
    def so_far(self) -> FitOutcome | None:
        """The outcome of the weights after the last step."""
        return self._latest()

    def of(
        self, raw: Callable[[np.ndarray], np.ndarray], dependent: tuple[int, ...] = (),
        around: Callable[[np.ndarray], Around] = lambda B: None,
    ) -> Report:  # fmt: skip
        """Return the callback of an ascent; ``raw`` converts its weights to the raw features, and
        ``around`` to scores at a center.
        """

        def report(B: np.ndarray, log_likelihood: float, distance: float) -> None:
            self._made += 1
            made, here = self._made, B.copy()

            def outcome() -> FitOutcome:
                weights = raw(here)
                return FitOutcome(
                    weights, limits_without(dependent, weights.shape), float(log_likelihood), None,
                    "", made, distance=distance, around=around(here),
                )  # fmt: skip

            self._latest = outcome
            self.after_step()

        return report

    def outcome(self, model: Any, reason: StopReason) -> FitOutcome | None:
        """Return the result of a model whose fit is stopped now; None before the first step."""
        if self.finished is not None:
            ends = ends_of(self, self.finished.weights.shape)
            return replace(self.finished, intervals={model.level: ends}, stopped_in="intervals")
        if self.suspect is not None:
            return replace(
                self.suspect, reason=reason, stopped_in="verdict",
                limits=unchecked(self.suspect.limits), covariance=None,
            )  # fmt: skip
        if (found := self.so_far) is None:
            return None
        # With a penalty there is a maximum, without the proof that was not reached.
        limits = found.limits if model.l2 or model.penalty else unchecked(found.limits)
        return replace(found, limits=limits, reason=reason, stopped_in="ascent")

    def doing(self, max_iter: int) -> str:
        """Return the current stage as text; steps beyond ``max_iter`` are possible, to prove that
        there is a maximum.
        """
        if self.finished is not None:
            size = self.finished.weights.size
            return f"profile interval {len(self.intervals) + 1:,} of {size:,}"
        if self.suspect is not None:
            return "deciding whether there is a maximum"
        made = self._made
        most = f" of at most {max_iter:,}" if made < max_iter else ""
        return f"iteration {made + 1:,}{most}"


def no_report(B: np.ndarray, log_likelihood: float, distance: float) -> None:
    """Ignore the step."""


def ends_of(steps: Steps, shape: tuple[int, ...]) -> Ends:
    """Return the intervals as arrays, NaN for those not computed."""
    missing = int(np.prod(shape)) - len(steps.intervals)
    found = [*steps.intervals, *[(np.nan, np.nan, np.nan)] * missing]
    low, high, p = (np.array(part).reshape(shape) for part in zip(*found, strict=True))
    return low, high, p


SEPARABLE = "The classes are separable: no coefficient has a finite estimate."


SENTENCES = {
    "converged": "",
    "suspect": "The likelihood probably has no maximum, but this was not checked.",
    "undecided": "Whether the likelihood has a maximum is undecided.",
    "separable": SEPARABLE,
    "separable, not at limit": SEPARABLE,
    "quasi-separable": (
        "The classes are quasi-separable: coefficients shown as a status code have no finite "
        "estimate; the others are estimated in the limit."
    ),
    "quasi-separable, not at limit": (
        "The classes are quasi-separable: coefficients shown as a status code have no finite "
        "estimate; the others come from a very small ridge."
    ),
}


#: limits of coefficients that diverge
DIVERGING = ("+inf", "-inf", "infinite", UNSIGNED)


#: reasons of fits to classes that are proved to be separable, or quasi-separable
SEPARATED = ("separable", "quasi-separable")


#: reason of a fit stopped by Ctrl-C, and all reasons without inference
INTERRUPTED = StopReason.INTERRUPTED


UNINFERRED = (StopReason.INTERRUPTED, StopReason.EARLY_STOP, "suspect", "undecided")


#: reasons that cause a warning
UNFINISHED = ("max_iter", "stuck", "suspect", "undecided")


#: hints to get finite estimates although there is no maximum
BY_L2 = hint("use {} for finite estimates", l2=None)


FINITE = (hint("use {}", l2=None), hint("{} for finite estimates", penalty="firth"))


#: beyond this distance, in standard errors, the Newton decrement means no more than "far"
NEAR = 10.0


#: hints after max_iter
MORE = (hint("raise {}", max_iter=None),)


OTHERWISE = (*MORE, hint("use {}", solver="newton"))


class UnfinishedWarning(ConvergenceWarning):
    """The fit stopped before a maximum, or floats do not determine its digits.

    ``refusal`` is the same as an error with separate hints.
    """

    def __init__(self, message: str, *hints: str | Hint):
        self.refusal = LinsepError(message, *hints, code="not-converged")
        super().__init__(str(self.refusal))


def ending(reason: str, distance: float, climb: str = "") -> tuple[str, tuple[Any, ...]]:
    """Return a sentence on how the fit ended, without the full stop, and hints.

    Parameters
    ----------
    reason : why the fit ended
    distance : to the maximum, in standard errors; NaN if unknown
    climb : for gradient ascent "auto", or the sentence of :class:`linsep.descent.Descent`
    """
    away = "" if np.isnan(distance) else f", {_distance_text(distance)} from it"
    if reason == "max_iter" and climb not in ("", "auto"):
        return f"Gradient ascent ended before the maximum{away}: {climb}", ()
    if reason == "max_iter":
        message = f"The fit reached the iteration limit before the maximum{away}"
        return message, OTHERWISE if climb else MORE
    if reason == "stuck":
        message = (
            f"The fit stopped before the maximum{away}: rounding errors exceed the gain of "
            "another step"
        )
        return message, ("scale the features",)
    return SENTENCES[reason].removesuffix("."), ()


def stopping_message(found: Any) -> tuple[str, tuple[Any, ...]]:
    """Return the same for a fit stopped by a callback or Ctrl-C."""
    who = "The fit was interrupted" if found.reason == INTERRUPTED else "A callback stopped the fit"
    if found.stopped_in == "intervals":
        (ends,) = found.intervals.values()
        missing = int(np.isnan(ends[2][found.limits != "dependent"]).sum())
        message = f"The fit was interrupted while computing intervals: {missing} have no interval"
    elif found.stopped_in == "verdict":
        message = f"{who} before it was decided whether the likelihood has a maximum"
    else:
        away = "" if np.isnan(found.distance) else f", {_distance_text(found.distance)} from it"
        message = (
            f"{who} before the maximum was reached{away}: the weights are those after "
            f"{found.n_iter} {'iteration' if found.n_iter == 1 else 'iterations'}, and nothing can "
            "be inferred from them"
        )
    return message, ()


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
        if found.sharpness.overlap > BARELY:
            return f"{message}.", UnfinishedWarning(message, "give the rows more equal weights")
        return f"{message}.", UnfinishedWarning(message, *FINITE)
    climb = ""
    if model.solver == "gradient_ascent" and not model.penalty and hasattr(model, "ascent_"):
        automatic = isinstance(model.learning_rate, str)
        climb = model.learning_rate if automatic else model.ascent_.sentence
    reason = found.reason if found.at_limit else f"{found.reason}, not at limit"
    message, hints = ending(reason, found.distance, climb)
    if found.rounded:
        message += f". {by_rounding(found.rounded, model)}"
    warning = UnfinishedWarning(message if hints else f"{message}.", *hints)
    return f"{message}." if message else "", warning if reason in UNFINISHED else None


def _distance_text(distance: float) -> str:
    return f"about {distance:.2g} standard errors away" if distance <= NEAR else "far away"


def refuse_no_progress(reason: str, log_likelihood: float, null: float) -> None:
    """Raise DataError if a fit made no progress from its start, which is not a maximum."""
    if reason in ("stuck", "suspect", "undecided") and log_likelihood <= null * (1.0 - 1e-12):
        raise DataError(
            "The fit made no progress: rounding errors exceed the gain of the first step. Scale "
            "the features, or leave out features that nearly depend on others.",
            code="not-converged",
        )


def separation_sentence(kind: str, limits: dict[str, str]) -> str:
    """Return the message for separable data, whose likelihood has no maximum."""
    shown = [f"{name} ({word})" for name, word in limits.items() if word in DIVERGING]
    if not shown:
        return (
            f"The data are {kind}, so the likelihood has no maximum: it keeps growing as some "
            "coefficients diverge. The time limit ended before it was known which"
        )
    listed = ", ".join(shown[:8]) + (", ..." if len(shown) > 8 else "")
    finite = sum(word == "finite" for word in limits.values())
    rest = f"; the other {finite} are finite" if finite else ""
    return (
        f"The data are {kind}, so the likelihood has no maximum: it keeps growing as these "
        f"coefficients diverge: {listed}{rest}"
    )


def by_rounding(features: tuple[int, ...], model: Any) -> str:
    """Return a sentence, without the full stop, on features whose rounding errors separate."""
    names = feature_names(model)
    which = ", ".join(names[j] for j in features[:3]) + ", ..." * (len(features) > 3)
    are, out = ("is a combination", "it") if len(features) == 1 else ("are combinations", "them")
    return (
        f"{which} {are} of earlier columns up to rounding, and the classes overlap without {out}: "
        f"the separation depends on the last digits of the data, so leave {out} out"
    )


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
        if not hasattr(self.model, "_skl_callbacks"):
            interruption_point()
            return
        task = self.root.subcontext(task_name="iteration")
        with interrupts_allowed():
            task.call_on_fit_task_begin(**self.known)
            if task.call_on_fit_task_end(**self.known, reconstruction_attributes=snapshot):
                raise Stopped

    def ended(self, snapshot: Callable[[], dict[str, Any]]) -> None:
        """Report the end of the fit."""
        self.root.call_on_fit_task_end(**self.known, reconstruction_attributes=snapshot)


def refuse_together(model: Any) -> None:
    """Raise ParameterError for incompatible parameters."""
    if model.on_separation == "firth":
        raise ParameterError(
            "Firth's penalty is not an option of on_separation; its estimates are always finite",
            hint("use {}", penalty="firth"), option="on_separation", value=model.on_separation,
        )  # fmt: skip
    if model.penalty and model.l2:
        raise ParameterError(
            "Firth's penalty and l2 exclude each other",
            "leave one of them out", code="conflict", option="l2",
        )  # fmt: skip
    if model.penalty and model.warm_start:
        raise ParameterError(
            "Firth's penalized likelihood may have several maxima, and its estimates are the "
            "maximum reached from zero", hint("leave {} out", warm_start=None),
            code="conflict", option="warm_start",
        )  # fmt: skip
    if model.penalty and model.solver != "newton":
        raise ParameterError(
            "Only Newton's method maximizes Firth's penalized likelihood",
            hint("use {}", solver="newton"), code="conflict", option="solver", value=model.solver,
        )  # fmt: skip
    refuse_robust(model)
    if model.intervals and model.l2:
        raise ParameterError(
            "Standard errors, tests and intervals are not known with l2", "leave l2 out",
            hint("leave {} out", intervals=None), code="conflict", option="intervals"
        )  # fmt: skip
