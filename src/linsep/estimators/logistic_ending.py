"""How the fit of a logistic regression ended, in sentences."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

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
    near = f"about {distance:.2g} standard errors away" if distance <= NEAR else "far away"
    away = "" if np.isnan(distance) else f", {near} from it"
    if reason == "max_iter" and climb not in ("", "auto"):
        return f"Gradient ascent ended before the maximum{away}: {climb}", ()
    if reason == "max_iter":
        said = f"All iterations allowed were made before the maximum was reached{away}"
        return said, OTHERWISE if climb else MORE
    if reason == "stuck":
        said = f"No step makes the likelihood larger in floating point before the maximum{away}"
        return said, ("scale the features",)
    return SENTENCES[reason].removesuffix("."), ()


def told_ending(model: Any, found: Any) -> str:
    """The sentence of how a fit ended; warns, in the code that called ``fit``, where that is not at
    a maximum.

    Parameters
    ----------
    model : LogisticRegression
    found : Settled
    """
    climb = ""
    if model.solver == "gradient_ascent" and not model.penalty and hasattr(model, "ascent_"):
        automatic = isinstance(model.learning_rate, str)
        climb = model.learning_rate if automatic else model.ascent_.sentence
    reason = found.reason if found.at_limit else f"{found.reason}, broken off"
    said, ways = ending(reason, found.distance, climb)
    if reason in UNFINISHED:
        warnings.warn(UnfinishedWarning(said if ways else f"{said}.", *ways), stacklevel=5)
    return f"{said}." if said else ""


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
