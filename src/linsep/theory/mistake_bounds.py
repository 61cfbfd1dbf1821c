"""The bounds themselves, each a short function of the problems that machines have.

A run of p passes is a sequence of p times as many rows, on which Novikoff's bound is the same and
a hinge loss counts p times. Bounds of several machines add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from linsep.theory.claims import Unknown
from linsep.theory.comparators import Comparator, best_comparator
from linsep.theory.problems import ROUNDING, Problem

#: the program for Winnow's margin has two variables a weight and a constraint a row
MOST_ENTRIES = 20_000_000


def widest(problems: Sequence[Problem]) -> tuple[float, float]:
    """The interval of the smallest of the machines' widest margins."""
    margins = [problem.margin for problem in problems]
    for problem, margin in zip(problems, margins, strict=True):
        if margin is None:
            raise Unknown(f"the rows are {problem.verdict}")
    low = min(margin[0] for margin in margins if margin)
    if not low:
        raise Unknown("the margin is beyond floating point")
    return low, min(margin[1] for margin in margins if margin)


def novikoff(problems: Sequence[Problem]) -> float:
    """(R / gamma)^2, summed over the machines."""
    widest(problems)
    return sum((p.longest / p.margin[0]) ** 2 for p in problems if p.margin) * (1 + ROUNDING)


class Compared(NamedTuple):
    """A problem, R^2 and the passes made, and the weights that the learner is compared with."""

    square: float
    passes: int
    weights: Comparator

    def linear(self) -> float:
        """||w||^2 R^2 + 2 hinge(w)."""
        return self.weights.square * self.square + 2 * self.passes * self.weights.hinge

    def sharp(self) -> float:
        """The largest M with M - hinge(w) <= ||w|| R sqrt(M): the same proof, one step earlier.

        From there ``sqrt(ab) <= (a + b) / 2`` leads to :meth:`linear`.
        """
        a = np.sqrt(self.weights.square * self.square)
        loss = self.passes * self.weights.hinge
        return float((a + np.sqrt(a**2 + 4 * loss)) ** 2 / 4) * (1 + ROUNDING)

    def distances(self) -> float:
        """((R + D) / gamma)^2 with gamma = 1 / ||w||, D^2 the sum of squared missing distances."""
        loss = self.passes * self.weights.squared_hinge
        a = np.sqrt(self.weights.square * self.square)
        return float((a + np.sqrt(loss)) ** 2) * (1 + ROUNDING)


def compared(
    problems: Sequence[Problem], passes: int, given: np.ndarray | None = None
) -> list[Compared]:
    """The perceptron's comparators, one a machine."""
    found = []
    for problem in problems:
        square = problem.longest**2 or 1.0
        best = best_comparator(problem, 2 * passes / square, given)
        found.append(Compared(square, passes, best))
    return found


def margin_learner(problems: Sequence[Problem], gamma: float, epsilon: float) -> float:
    """2 / (epsilon gamma)^2 a machine, where every machine's margin is gamma or more."""
    low, high = widest(problems)
    if gamma > low:
        raise Unknown(f"the margin aimed at is {gamma:.4g}, that of the rows below {high:.4g}")
    return len(problems) * 2.0 / (epsilon * gamma) ** 2


def passive_aggressive(
    problems: Sequence[Problem], passes: int, C: float, soft: float, given: np.ndarray | None = None
) -> float:
    """Prediction mistakes of PA-I (``soft`` 0) and PA-II (infinite ``C``) against any weights."""
    total = 0.0
    for problem in problems:
        square = problem.longest**2
        if soft:
            # Its price is on squares; the hinge finds weights that are good enough for a bound.
            w = best_comparator(problem, passes / soft, given)
            total += (square + soft) * (w.square + passes / soft * w.squared_hinge)
        elif np.isfinite(C):
            w = best_comparator(problem, 2 * C * passes, given)
            total += max(square, 1 / C) * (w.square + 2 * C * passes * w.hinge)
        else:
            total += novikoff([problem])
    return total * (1 + ROUNDING)


def winnow(d: int, k: int, promotion: float, threshold: float) -> float:
    """Mistakes of Winnow on a disjunction of k of d features of 0 and 1, weights 1 at first.

    Each promotion multiplies a relevant weight, which is at most the threshold then, and relevant
    weights never shrink: u <= k (floor(log_a(theta)) + 1) of them. A promotion adds at most
    (a - 1) theta to the sum of all weights, d at first; a demotion takes at least (1 - 1/a) theta,
    and the sum stays above 0: fewer than a d / ((a - 1) theta) + a u of them.
    """
    if threshold <= 0:
        raise Unknown("the threshold is not above 0")
    times = int(np.floor(np.log(threshold) / np.log(promotion) + 1e-9)) + 1
    promotions = k * max(times, 0)
    return promotions * (1 + promotion) + promotion * d / ((promotion - 1) * threshold)


def disjunction(X: np.ndarray, positive: np.ndarray) -> list[int]:
    """Few features, one of which is on in every positive row and none in a negative one.

    Greedily: the fewest are NP-hard to find, and any disjunction gives a valid bound.
    """
    if not np.isin(X, (0.0, 1.0)).all():
        raise Unknown("features are not all 0 or 1")
    allowed = ~(X[~positive] > 0).any(axis=0)
    left, chosen = X[positive] * allowed, []
    while len(left):
        counts = left.sum(axis=0)
        best = int(counts.argmax())
        if not counts[best]:
            raise Unknown("no disjunction of features is true of exactly the positive rows")
        chosen.append(best)
        left = left[left[:, best] == 0]
    return chosen


def balanced_winnow(problem: Problem, promotion: float | None) -> tuple[float, float]:
    """Mistakes of balanced Winnow, and its promotion: the best for the margin where it is None.

    With eta = ln(promotion), X = max |z_j|, D weights and a target of L1 length 1 and margin
    gamma: P = sum of u_j + v_j starts at 2 D and by convexity of exp grows at most cosh(eta X)
    times a mistake, while the log of its largest term is at least eta gamma times the mistakes.
    So M <= ln(2 D) / (eta gamma - ln cosh(eta X)); with eta = gamma / X^2, 2 X^2 ln(2 D) / gamma^2.
    """
    A = problem.A
    largest = float(abs(A).max())
    gamma = l1_margin(problem)
    rate = partial(_gain, gamma, largest)
    eta = gamma / largest**2 if promotion is None else float(np.log(promotion))
    if rate(eta) <= 0:
        best = np.expm1(gamma / largest**2)
        raise Unknown(
            f"the L1 margin {gamma:.4g} allows a bound for small promotions only, best of all "
            f"1 + {best:.3g}"
        )
    return float(np.log(2 * A.shape[1]) / rate(eta)) * (1 + ROUNDING), float(np.exp(eta))


def _gain(gamma: float, largest: float, eta: float) -> float:
    power = eta * largest
    log_cosh = power + np.log1p(np.exp(-2 * power)) - np.log(2.0)
    return eta * gamma - log_cosh


def l1_margin(problem: Problem) -> float:
    """The widest margin of weights of L1 length 1, as far as a linear program finds it."""
    A = problem.A
    n, d = A.shape
    if n * d > MOST_ENTRIES:
        raise Unknown("so many rows and features would make a linear program of too many entries")
    dense = A.toarray() if hasattr(A, "toarray") else A
    largest = float(abs(dense).max()) or 1.0
    rows = np.hstack([-dense / largest, dense / largest, np.ones((n, 1))])
    cost = np.append(np.zeros(2 * d), -1.0)
    length = np.append(np.ones(2 * d), 0.0)[None, :]
    bounds = [(0, None)] * (2 * d) + [(None, None)]
    found = linprog(cost, rows, np.zeros(n), length, [1.0], bounds, method="highs")
    if found.status != 0:
        raise Unknown("the linear program for the L1 margin found no answer")
    w = found.x[:d] - found.x[d : 2 * d]
    total = float(np.abs(w).sum())
    gamma = float(problem.values(w).min()) / (total * (1 + ROUNDING)) if total else 0.0
    if gamma <= 0:
        raise Unknown("no weights are known that separate the rows")
    return gamma
