"""The solution of a logistic regression, its progress step by step, and sentences about both."""

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from linsep._system.interrupts import interruption_point, interrupts_allowed
from linsep.errors import Hint, LinsepError, ParameterError, hint
from linsep.inference.robust import refuse_robust
from linsep.logistic.task import NO_WEIGHT, FittedClasses

if TYPE_CHECKING:
    from linsep.logistic.objective import Point, Terms

#: called after each step with the weights, the log-likelihood there, and the distance to the
#: maximum, in standard errors, from where the step began (NaN: unknown)
Report = Callable[[np.ndarray, float, float], None]

#: value of ``limits_`` where the existence of a maximum, or a limit, was not checked
UNKNOWN = "not checked"
#: limit of a coefficient that diverges, if the work limit ended before its sign was found
UNSIGNED = "sign not checked"
#: limits of coefficients that diverge
DIVERGING = ("+inf", "-inf", "infinite", UNSIGNED)
#: digits of standard errors that are enough to say nothing
ENOUGH_DIGITS = 4
#: distance, in standard errors, beyond which the Newton decrement says nothing
NEAR = 10.0


class State(StrEnum):
    """How a fit ended; equal to its name."""

    CONVERGED = "converged"
    MAX_ITER = "max_iter"
    STUCK = "stuck"
    SEPARABLE = "separable"
    QUASI_SEPARABLE = "quasi-separable"
    UNDECIDED = "undecided"
    SUSPECT = "suspect"
    INTERRUPTED = "interrupted"
    EARLY_STOP = "early_stop"
    IMPLIED = "implied"


#: states of fits to classes that are proved to be separable, or quasi-separable
SEPARATED = (State.SEPARABLE, State.QUASI_SEPARABLE)
#: all states without inference, and those that cause a warning
UNINFERRED = (State.INTERRUPTED, State.EARLY_STOP, State.SUSPECT, State.UNDECIDED)
UNFINISHED = (State.MAX_ITER, State.STUCK, State.SUSPECT, State.UNDECIDED)

#: hints to get finite estimates although there is no maximum
BY_L2 = hint("use {} for finite estimates", l2=None)
FINITE = (hint("use {}", l2=None), hint("{} for finite estimates", penalty="firth"))
#: how fits end, with what to do; in place of {} the distance to the maximum
ENDINGS: dict[Any, tuple[Any, ...]] = {
    State.MAX_ITER: (
        "The fit reached the iteration limit before the maximum{}", hint("raise {}", max_iter=None),
    ),
    State.STUCK: (
        "The fit stopped before the maximum{}: rounding errors exceed the gain of another step",
        "scale the features",
    ),
    State.SUSPECT: ("The likelihood probably has no maximum, but this was not checked",),
    State.UNDECIDED: ("Whether the likelihood has a maximum is undecided",),
    State.SEPARABLE: ("The classes are separable: no coefficient has a finite estimate",),
    State.QUASI_SEPARABLE: (
        "The classes are quasi-separable: coefficients shown as a status code have no finite "
        "estimate; the others are estimated in the limit",
    ),
    "ridge": (
        "The classes are quasi-separable: coefficients shown as a status code have no finite "
        "estimate; the others come from a very small ridge",
    ),
    "digits": (
        "A maximum exists, but float64 determines hardly a digit of the estimates and standard "
        "errors", *FINITE,
    ),
    "ascent": ("{who} before the maximum was reached{}: nothing can be inferred from the weights",),
    "verdict": ("{who} before it was decided whether the likelihood has a maximum",),
    "intervals": ("{who} while computing intervals",),
}  # fmt: skip


class Stopped(Exception):
    """A callback has asked the fit to stop."""


class Solution(NamedTuple):
    """Weights of standardized features, and what is known of them in the raw features.

    Attributes
    ----------
    point : Point at B, or just before the last step, with the value after it
    n_iter : int, number of steps
    distance : float, to the maximum from where the last step began, in standard errors; NaN if
        unknown
    proved : bool, whether a maximum is proved to exist
    bend : what the negative Hessian is beside the information, approximately, or None
    weights : array of shape (q, width), of the raw features, the intercept last
    limits : array of str of that shape
    log_likelihood : float, without the penalty; without a maximum the supremum, if it is known
    covariance : array of shape (q width, q width) or None, 0 for features left out
    intervals : {level: (low, high, p)} of profiles
    gained : float, twice what the features add to Firth's penalized log-likelihood
    at_limit : bool, False if finite weights come from a small ridge, not from the limit
    digits : int, how many digits of standard errors floats determine
    stopped_in : "ascent", "verdict" or "intervals" if Ctrl-C or a callback stopped it; else empty
    clusters : int or None, their number if the covariance is summed over clusters
    """

    B: np.ndarray | Any
    point: "Point | Any"
    state: State
    n_iter: int
    distance: float = np.nan
    proved: bool = True
    bend: Any = None
    terms: "Terms | Any" = None
    weights: Any = None
    limits: Any = None
    log_likelihood: float = np.nan
    covariance: Any = None
    verdict: Any = None
    intervals: dict[float, Any] = {}  # noqa: RUF012 - never changed
    gained: float = np.nan
    at_limit: bool = True
    digits: int = 16
    stopped_in: str = ""
    clusters: int | None = None

    def unproved(self) -> "Solution":
        """Return the solution if its likelihood may have no maximum: nothing can be inferred."""
        limits = np.where(self.limits == "finite", UNKNOWN, self.limits)
        return self._replace(limits=limits, covariance=None)


def limits_without(dependent: Iterable[int], shape: tuple[int, ...]) -> np.ndarray:
    """Return the limits of weights that are finite, except for dependent features."""
    limits = np.full(shape, "finite", dtype="U16")
    limits[:, list(dependent)] = "dependent"
    return limits


def widened(found: Solution, known: FittedClasses) -> Solution:
    """Return the solution with weights for all classes, including those without weight."""
    (q, width), covariance = found.weights.shape, found.covariance
    if q == len(known.order) - 1:
        return found
    if covariance is not None:
        places = np.add.outer(np.array(known.fitted, dtype=int) * width, np.arange(width)).ravel()
        covariance = np.zeros(((len(known.order) - 1) * width,) * 2)
        covariance[np.ix_(places, places)] = found.covariance
    return found._replace(
        weights=known.wide(found.weights, 0.0), limits=known.wide(found.limits, NO_WEIGHT),
        covariance=covariance,
        intervals={
            level: tuple(known.wide(end, np.nan) for end in ends)
            for level, ends in found.intervals.items()
        },
    )  # fmt: skip


class Steps:
    """Records the progress of one fit; ``after_step`` may raise :class:`Stopped`.

    Attributes
    ----------
    stage : "ascent"; "verdict" while separation is being decided; "intervals" of profiles
    known : function that returns the Solution so far; None before the first step
    n_intervals : int, how many profile intervals are computed
    """

    def __init__(self, after_step: Callable[[], None] = lambda: None) -> None:
        self.after_step, self.stage, self._made = after_step, "ascent", 0
        self.known: Callable[[], Solution] | None = None
        self.n_intervals = 0

    def of(self, raw: Callable[[np.ndarray], np.ndarray], dependent: Iterable[int] = ()) -> Report:
        """Return the callback of an ascent; ``raw`` converts its weights to the raw features."""

        def report(B: np.ndarray, log_likelihood: float, distance: float) -> None:
            self._made += 1
            made, here = self._made, B.copy()

            def so_far() -> Solution:
                weights = raw(here)
                return Solution(
                    here, None, State.MAX_ITER, made, distance, weights=weights,
                    limits=limits_without(dependent, weights.shape),
                    log_likelihood=float(log_likelihood),
                )  # fmt: skip

            self.known = so_far
            self.after_step()

        return report

    def begin(self, stage: str, found: Solution) -> None:
        """Begin a stage, with the solution if it is stopped."""
        self.stage, self.known = stage, lambda: found

    def outcome(self, model: Any, state: State) -> Solution | None:
        """Return the result of a model whose fit is stopped now; None before the first step."""
        if self.known is None:
            return None
        found = self.known()._replace(stopped_in=self.stage)
        if self.stage == "intervals":
            return found
        # With a penalty there is a maximum, without the proof that was not reached.
        return (found if model.l2 or model.penalty else found.unproved())._replace(state=state)

    def doing(self, max_iter: int) -> str:
        """Return the current stage as text; steps beyond ``max_iter`` are possible, to prove that
        there is a maximum.
        """
        if self.stage == "intervals":
            size = 0 if self.known is None else self.known().weights.size
            return f"profile interval {self.n_intervals + 1:,} of {size:,}"
        if self.stage == "verdict":
            return "deciding whether there is a maximum"
        most = f" of at most {max_iter:,}" if self._made < max_iter else ""
        return f"iteration {self._made + 1:,}{most}"


class UnfinishedWarning(ConvergenceWarning):
    """The fit stopped before a maximum, or floats do not determine its digits."""

    def __init__(self, message: str, *hints: str | Hint):
        text = LinsepError(message, *hints, code="not-converged") if hints else f"{message}."
        super().__init__(str(text))


def ending_of(model: Any, found: Solution) -> tuple[str, Warning | None]:
    """Return a sentence on how a fit ended, and a warning if not at a maximum."""
    few = found.digits < ENOUGH_DIGITS
    ending: Any = "digits" if few else found.state
    if found.state is State.QUASI_SEPARABLE and not found.at_limit:
        ending = "ridge"
    message, *hints = ENDINGS.get(found.stopped_in or ending, ("",))
    if message and ending is State.MAX_ITER and model.solver == "gradient_ascent":
        hints.append(hint("use {}", solver="newton"))
        if not isinstance(model.learning_rate, str):
            message = f"Gradient ascent ended before the maximum{{}}: {model.ascent_.sentence}"
            hints = []
    by_callback = found.state is State.EARLY_STOP
    who = "A callback stopped the fit" if by_callback else "The fit was interrupted"
    near = f", about {found.distance:.2g} standard errors away from it"
    message = message.replace("{}", near if found.distance <= NEAR else "").replace("{who}", who)
    said = found.stopped_in or found.state in UNFINISHED or few
    return f"{message}." if message else "", UnfinishedWarning(message, *hints) if said else None


def separation_sentence(kind: str, limits: dict[str, str]) -> str:
    """Return the message for separable data, whose likelihood has no maximum."""
    shown = [f"{name} ({word})" for name, word in limits.items() if word in DIVERGING]
    grows = f"The data are {kind}, so the likelihood has no maximum: it keeps growing as"
    if not shown:
        return f"{grows} some coefficients diverge. The time limit ended before it was known which"
    listed = ", ".join(shown[:8]) + (", ..." if len(shown) > 8 else "")
    finite = sum(word == "finite" for word in limits.values())
    rest = f"; the other {finite} are finite" if finite else ""
    return f"{grows} these coefficients diverge: {listed}{rest}"


class Callbacks:
    """scikit-learn's callbacks of one fit: a task for the fit and one for each iteration; ``known``
    are other arguments of the hooks: X, y and metadata.
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
    firth = bool(model.penalty)
    for wrong, message, advice, option in (
        (firth and model.l2, "Firth's penalty and l2 exclude each other", "leave one of them out",
         "l2"),
        (firth and model.warm_start, "Firth's penalized likelihood may have several maxima, and "
         "its estimates are the maximum reached from zero", hint("leave {} out", warm_start=None),
         "warm_start"),
        (firth and model.solver != "newton", "Only Newton's method maximizes Firth's penalized "
         "likelihood", hint("use {}", solver="newton"), "solver"),
        (model.intervals and model.l2, "Standard errors, tests and intervals are not known with l2",
         hint("leave {} out", intervals=None), "intervals"),
    ):  # fmt: skip
        if wrong:
            raise ParameterError(message, advice, code="conflict", option=option)
    refuse_robust(model)
