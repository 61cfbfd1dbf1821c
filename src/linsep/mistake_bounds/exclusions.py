"""Runs that the theorems do not cover, because floats may have underflowed or saturated.

Products below 2^-1074 are rounded to zero, and Winnow clips its weights at 1e150. A score error of
2^-1074 per feature is negligible beside eta R^2, the change of a score by a mistake, and the loss
in an update beside eta times the margin (for hinge bounds eta over ||w||), as long as these are
much larger. Sizes are compared by logarithms, which do not overflow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from linsep.mistake_bounds.linear import lengths
from linsep.mistake_bounds.problems import Problem
from linsep.mistake_bounds.theorems import MOST_WEIGHT, Compared

#: factor by which steps must exceed the smallest number, as a power of two
FAR = -1000.0
TOO_SMALL = (
    "the theorems are about real arithmetic, and with rows so short, or steps so small, products "
    "may have been rounded to zero"
)
SATURATED = f"weights may have reached {MOST_WEIGHT:.0e}, where they are clipped"


def perceptron(
    problems: Sequence[Problem], compared: Sequence[Compared], rate: float
) -> str | None:
    """Return why underflow may have affected a perceptron at this rate, as a phrase, or None."""
    for problem, one in zip(problems, compared, strict=True):
        eta, R = math.log2(rate), _log(problem.longest, problem)
        steps = [eta + 2 * R]
        if problem.margin is not None:
            steps.append(eta + _log(problem.margin[0], problem))
        if one.weights.square:
            steps.append(eta + problem.exponent - math.log2(one.weights.square) / 2)
        if _too_small(steps, problem):
            return TOO_SMALL
    return None


def passive_aggressive(problems: Sequence[Problem], C: float) -> str | None:
    """Return the same for steps up to C, and as long as a row is short."""
    for problem in problems:
        found = lengths(problem.A)
        shortest = 2 * _log(float(found[found > 0].min(initial=1.0)), problem)
        longest = math.log2(C) + 2 * _log(problem.longest, problem)
        if _too_small([shortest, longest], problem):
            return TOO_SMALL
    return None


def balanced_winnow(problem: Problem, promotion: float, mistakes: int) -> str | None:
    """Return why weights may have saturated: each mistake changes a log weight by eta X at most."""
    eta, X = math.log(promotion), float(abs(problem.A).max())
    step = math.log2(eta) + _log(X, problem)
    if mistakes and step + math.log2(mistakes) > math.log2(math.log(MOST_WEIGHT)):
        return SATURATED
    return TOO_SMALL if _too_small([step + _log(X, problem)], problem) else None


def _log(size: float, problem: Problem) -> float:
    """Return the base-2 logarithm of a size in the units of the rows."""
    return math.log2(size) + problem.exponent if size else 0.0


def _too_small(steps: Any, problem: Problem) -> bool:
    return min(steps) < FAR + math.log2(problem.A.shape[1])
