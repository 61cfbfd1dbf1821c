"""Bounds of learners that add examples, and margins: short functions of the machines' problems.

A run of p passes is a sequence of p times as many rows: Novikoff's bound is the same, and hinge
losses count p times. Bounds of several machines are summed. All are rounded up: no value is below
the theorem's in real arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linsep.certificate.checking import TIME_LIMIT
from linsep.mistake_bounds.bounds import Unknown
from linsep.mistake_bounds.problems import (
    Comparator,
    Problem,
    best_comparator,
    comparator_of_length,
)
from linsep.mistake_bounds.rounding import (
    ROUNDING,
    length,
)
from linsep.separability.programs import COARSE, solved
from linsep.separability.time_limit import Task, TooLarge, limited

#: most entries of the program for the L1 margin: two variables per weight, a constraint per row
MOST_ENTRIES = 20_000_000
#: squares of larger ratios overflow
HUGE = 1e153


def widest(problems: Sequence[Problem]) -> tuple[float, float]:
    """Return the interval of the smallest of the machines' widest margins."""
    margins = [problem.margin for problem in problems]
    for problem, margin in zip(problems, margins, strict=True):
        if margin is None:
            raise Unknown(f"the rows are {problem.verdict}")
    low = min(margin[0] for margin in margins if margin)
    if not low:
        raise Unknown("the margin is beyond floating point")
    return low, min(margin[1] for margin in margins if margin)


def novikoff(problems: Sequence[Problem]) -> float:
    """Return (R / gamma)^2, summed over the machines."""
    widest(problems)
    ratios = [p.longest / p.margin[0] for p in problems if p.margin]
    return sum(ratio**2 for ratio in ratios) * (1 + ROUNDING) if max(ratios) < HUGE else np.inf


class Compared(NamedTuple):
    """A problem's R^2, and the comparator; ``passes`` are one or several numbers of passes."""

    square: float
    weights: Comparator

    def linear(self, passes: Any) -> Any:
        """Return ||w||^2 R^2 + 2 hinge(w)."""
        loss = passes * self.weights.hinge
        return (self.weights.square * self.square + 2 * loss) * (1 + ROUNDING)

    def sharp(self, passes: Any) -> Any:
        """Return the largest M with M - hinge(w) <= ||w|| R sqrt(M), one step earlier in the proof.

        From there ``sqrt(ab) <= (a + b) / 2`` gives :meth:`linear`.
        """
        a = np.sqrt(self.weights.square * self.square)
        loss = passes * self.weights.hinge
        return (a + np.sqrt(a**2 + 4 * loss)) ** 2 / 4 * (1 + ROUNDING)

    def distances(self, passes: Any) -> Any:
        """Return ((R + D) / gamma)^2 with gamma = 1 / ||w||, D^2 the sum of squared shortfalls."""
        loss = passes * self.weights.squared_hinge
        a = np.sqrt(self.weights.square * self.square)
        return (a + np.sqrt(loss)) ** 2 * (1 + ROUNDING)


def compared(
    problems: Sequence[Problem], passes: int, given: np.ndarray | None = None
) -> list[Compared]:
    """Return comparators, one per machine, the best for so many passes."""
    found = []
    for problem in problems:
        square = problem.longest**2 * (1 + ROUNDING) or 1.0
        best = best_comparator(problem, 2 * passes / square, brought(problem, given))
        found.append(Compared(square, best))
    return found


def moved(problem: Problem, gamma: float, given: np.ndarray | None = None) -> Compared:
    """Return the comparator of length 1/gamma: its hinge loss is TD_gamma/gamma, so that the linear
    bound is R^2/gamma^2 + 2 TD_gamma/gamma.
    """
    long = float(np.ldexp(1.0 / gamma, problem.exponent))
    if not 0 < long * problem.longest < HUGE:
        raise Unknown("a margin of such a size is beyond floating point")
    found = comparator_of_length(problem, long, brought(problem, given))
    return Compared(problem.longest**2 * (1 + ROUNDING) or 1.0, found)


def distance(weights: Comparator) -> float | None:
    """Return hinge(w)/||w||, the total distance that rows must be moved for the margin 1/||w||."""
    long = length(weights.w)
    return weights.hinge / long * (1 + ROUNDING) if long else None


def brought(problem: Problem, given: np.ndarray | None) -> np.ndarray | None:
    """Return weights with the same values on the rescaled rows of the problem, or None."""
    if given is None or not problem.exponent:
        return given
    with np.errstate(over="ignore"):
        brought = np.ldexp(given, problem.exponent)
    return brought if np.isfinite(brought).all() else given


def l1_margin(problem: Problem) -> float:
    """Return the widest margin of weights of L1 norm 1, by a linear program."""
    A = problem.A
    n, d = A.shape
    if n * d > MOST_ENTRIES:
        raise Unknown("the linear program would have too many entries")
    dense = A.toarray() if hasattr(A, "toarray") else A
    largest = float(abs(dense).max()) or 1.0
    rows = np.hstack([-dense / largest, dense / largest, np.ones((n, 1))])
    cost = np.append(np.zeros(2 * d), -1.0)
    length = np.append(np.ones(2 * d), 0.0)[None, :]
    between = np.append(np.full(n, -np.inf), 1.0), np.append(np.zeros(n), 1.0)
    bounds = np.append(np.zeros(2 * d), -np.inf), np.inf
    try:
        with limited(Task(TIME_LIMIT)):
            found = solved(cost, np.vstack([rows, length]), between, bounds, COARSE)
    except TooLarge:
        raise Unknown(
            f"the linear program for the L1 margin took longer than {TIME_LIMIT:g} s"
        ) from None
    if found is None:
        raise Unknown("the linear program for the L1 margin found no answer")
    w = found.x[:d] - found.x[d : 2 * d]
    total = float(np.abs(w).sum()) * (1 + problem.rounding)
    gamma = float(problem.values(w).min()) / total * (1 - ROUNDING) if total else 0.0
    if gamma <= 0:
        raise Unknown("no weights are known that separate the rows")
    return gamma
