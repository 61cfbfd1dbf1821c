"""Runs that theorems are not about: where floats may be no real arithmetic but for rounding.

Products below 2^-1074 are rounded to zero, and Winnow keeps its weights below 1e150. In the proofs
a score that is off by 2^-1074 a feature is nothing beside eta R^2, by which a mistake moves it, and
what a change of the weights loses is nothing beside eta times the margin (of hinge bounds eta over
||w||), as long as these are far larger. Sizes are compared as their logarithms, which are floats
where they are not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from linsep.mistake_bounds.linear import lengths
from linsep.mistake_bounds.problems import Problem
from linsep.mistake_bounds.theorems import MOST_WEIGHT, Compared

#: steps must be so far above the smallest number, as a power of two
FAR = -1000.0
TOO_SMALL = (
    "the theorems are about real arithmetic, and products of rows so short, or of steps so small, "
    "may have been rounded to zero"
)
SATURATED = f"weights may have reached {MOST_WEIGHT:.0e}, where they are kept"


def perceptron(
    problems: Sequence[Problem], compared: Sequence[Compared], rate: float
) -> str | None:
    """Why a perceptron at this rate may have left real arithmetic, as a phrase; else None."""
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
    """The same of steps up to C, and as long as a row is short."""
    for problem in problems:
        found = lengths(problem.A)
        shortest = 2 * _log(float(found[found > 0].min(initial=1.0)), problem)
        longest = math.log2(C) + 2 * _log(problem.longest, problem)
        if _too_small([shortest, longest], problem):
            return TOO_SMALL
    return None


def balanced_winnow(problem: Problem, promotion: float, mistakes: int) -> str | None:
    """The same of weights that are multiplied: each mistake moves a logarithm by eta X at most."""
    eta, X = math.log(promotion), float(abs(problem.A).max())
    step = math.log2(eta) + _log(X, problem)
    if mistakes and step + math.log2(mistakes) > math.log2(math.log(MOST_WEIGHT)):
        return SATURATED
    return TOO_SMALL if _too_small([step + _log(X, problem)], problem) else None


def _log(size: float, problem: Problem) -> float:
    """The logarithm of what is a size of the rows, to base 2."""
    return math.log2(size) + problem.exponent if size else 0.0


def _too_small(steps: Any, problem: Problem) -> bool:
    return min(steps) < FAR + math.log2(problem.A.shape[1])
