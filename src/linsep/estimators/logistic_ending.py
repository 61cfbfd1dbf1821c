"""How the fit of a logistic regression ended, in sentences."""

import sys
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from linsep.engine.stop import StopReason
from linsep.errors import DataError, LinsepError, Way, way

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
    way("take {}", l2=None),
    way("{} for finite estimates", penalty="firth"),
)
#: further away, in standard errors, than a Newton step can tell
NEAR = 10.0
#: what helps a climb that did not arrive
MORE = (way("raise {}", max_iter=None),)
OTHERWISE = (*MORE, way("take {}", solver="newton"))


class UnfinishedWarning(ConvergenceWarning):
    """A fit ended before it reached a maximum. ``refusal`` keeps the advice apart."""

    def __init__(self, said: str, *ways: str | Way):
        self.refusal = LinsepError(said, *ways)
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
        said, ways = broken_off(found)
        return f"{said}.", UnfinishedWarning(f"{said}.", *ways)
    climb = ""
    if model.solver == "gradient_ascent" and not model.penalty and hasattr(model, "ascent_"):
        automatic = isinstance(model.learning_rate, str)
        climb = model.learning_rate if automatic else model.ascent_.sentence
    reason = found.reason if found.at_limit else f"{found.reason}, broken off"
    said, ways = ending(reason, found.distance, climb)
    warning = UnfinishedWarning(said if ways else f"{said}.", *ways)
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
