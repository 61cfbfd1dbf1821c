"""The bounds themselves, each a short function of the problems that machines have.

A run of p passes is a sequence of p times as many rows, on which Novikoff's bound is the same and
a hinge loss counts p times. Bounds of several machines add up. All are rounded up: what is given
is no less than the theorem says, in real arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from flint import arb
from scipy.optimize import Bounds, LinearConstraint, milp

from linsep.certificate.verdicts import TIME_LIMIT
from linsep.mistake_bounds.bounds import Unknown
from linsep.mistake_bounds.comparators import Comparator, best_comparator
from linsep.mistake_bounds.problems import Problem
from linsep.mistake_bounds.rounding import ROUNDING, above, balls, exact, shown, typed
from linsep.separability.programs import COARSE, solved
from linsep.separability.time_limit import Task, TooLarge, limited

#: the program for Winnow's margin has two variables a weight and a constraint a row
MOST_ENTRIES = 20_000_000
#: squares of larger ratios are beyond floating point
HUGE = 1e153
#: Winnow keeps its weights between the inverse of this and it
MOST_WEIGHT = 1e150
#: promotions that are counted one by one
FEW = 10_000
#: seconds that the search for a disjunction of so many features may take
SEARCH_SECONDS = 5.0


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
    ratios = [p.longest / p.margin[0] for p in problems if p.margin]
    return sum(ratio**2 for ratio in ratios) * (1 + ROUNDING) if max(ratios) < HUGE else np.inf


class Compared(NamedTuple):
    """A problem, R^2 and the passes made, and the weights that the learner is compared with."""

    square: float
    passes: int
    weights: Comparator

    def linear(self) -> float:
        """||w||^2 R^2 + 2 hinge(w)."""
        loss = self.passes * self.weights.hinge
        return (self.weights.square * self.square + 2 * loss) * (1 + ROUNDING)

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
        square = problem.longest**2 * (1 + ROUNDING) or 1.0
        best = best_comparator(problem, 2 * passes / square, _brought(problem, given))
        found.append(Compared(square, passes, best))
    return found


def _brought(problem: Problem, given: np.ndarray | None) -> np.ndarray | None:
    """Weights that give the rows as the problem has them the same values, if floats allow."""
    if given is None or not problem.exponent:
        return given
    with np.errstate(over="ignore"):
        brought = np.ldexp(given, problem.exponent)
    return brought if np.isfinite(brought).all() else given


def margin_learner(problems: Sequence[Problem], gamma: float, epsilon: float) -> float:
    """2 / (epsilon gamma)^2 a machine, where every machine's margin is gamma or more.

    For numbers that are typed as decimals it is computed of these, and of the floats they are: the
    larger of both.
    """
    low, high = widest(problems)
    if gamma > low:
        raise Unknown(f"the margin aimed at is {gamma:.4g}, that of the rows below {shown(high)}")
    most = max(
        2 / (one * other) ** 2 for one in typed(gamma) for other in typed(epsilon)
    )  # fmt: skip
    return above(len(problems) * most)


def passive_aggressive(
    problems: Sequence[Problem], passes: int, C: float, soft: float, given: np.ndarray | None = None
) -> float:
    """Prediction mistakes of PA-I (``soft`` 0) and PA-II (infinite ``C``) against any weights."""
    total = 0.0
    for problem in problems:
        square, w = problem.longest**2 * (1 + ROUNDING), _brought(problem, given)
        # Rows over 2^e and C times 4^e make the same mistakes.
        most, softened = np.ldexp(C, 2 * problem.exponent), np.ldexp(soft, -2 * problem.exponent)
        if not 0 < most < np.inf and np.isfinite(C):
            raise Unknown("C beside the length of rows is beyond floating point")
        if softened:
            # Its price is on squares; the hinge finds weights that are good enough for a bound.
            best = best_comparator(problem, passes / softened, w)
            loss = passes / softened * best.squared_hinge
            total += (square + softened) * (best.square + loss)
        elif np.isfinite(most):
            best = best_comparator(problem, 2 * most * passes, w)
            total += max(square, 1 / most) * (best.square + 2 * most * passes * best.hinge)
        else:
            total += novikoff([problem])
    return total * (1 + ROUNDING)


def winnow(d: int, k: int, promotion: float, threshold: float) -> float:
    """Mistakes of Winnow on a disjunction of k of d features of 0 and 1, weights 1 at first.

    Each promotion multiplies a relevant weight, which is at most the threshold then, and relevant
    weights never shrink: u <= k (floor(log_a(theta)) + 1) of them. A promotion adds at most
    (a - 1) theta to the sum of all weights, d at first; a demotion takes at least (1 - 1/a) theta,
    and the sum stays above 0: fewer than a d / ((a - 1) theta) + a u of them. Weights that cannot
    shrink below 1 / MOST make a demotion take as little as (1 - 1/a) (theta - a d / MOST).
    """
    if threshold <= 0:
        raise Unknown("the threshold is not above 0")
    a, theta = Fraction(promotion), Fraction(threshold)
    taken = theta - a * d / Fraction(MOST_WEIGHT)
    if theta >= MOST_WEIGHT or taken <= 0:
        raise Unknown(
            f"a threshold of {threshold:.3g} is beyond what weights that are kept between "
            f"{1 / MOST_WEIGHT:.0e} and {MOST_WEIGHT:.0e} reach by promotions of {promotion:.3g}"
        )
    promotions = k * promoted(promotion, threshold)

    def most(taken: Fraction) -> Fraction:
        return promotions * (1 + a * theta / taken) + a * d / ((a - 1) * taken)

    # So many mistakes may be too few for any weight to shrink so far.
    fewest = most(theta)
    reached = fewest <= math.log(MOST_WEIGHT) / math.log(promotion) - 1
    return above(fewest if reached else most(taken))


def promoted(promotion: float, threshold: float) -> int:
    """How often a weight of 1 can be multiplied before it is above the threshold, at most."""
    estimate = math.log(threshold) / math.log(promotion)
    if estimate < FEW:  # as floats multiply, and as real numbers do
        weight, whole, times = 1.0, 0, 0
        while weight <= threshold:
            weight, times = weight * promotion, times + 1
        a, theta = typed(promotion)[1], typed(threshold)[1]
        while a**whole <= theta:
            whole += 1
        return max(times, whole)
    with balls():  # a float product is off by a share of 2^-53
        ratios = [
            exact(theta).log() / (exact(a).log() - arb(2) ** -52)
            for theta, a in zip(typed(threshold), typed(promotion), strict=True)
        ]
        if not all(ratio > 0 for ratio in ratios):
            raise Unknown("a promotion so near to 1 is lost in rounding")
        return max(math.floor(above(ratio)) + 1 for ratio in ratios)


def disjunction(X: np.ndarray, positive: np.ndarray, most: int | None = None) -> list[int]:
    """Few features, one of which is on in every positive row and none in a negative one.

    Greedily: the fewest are NP-hard to find, and any disjunction gives a valid bound. Where
    ``most`` features are allowed and the greedy ones are more, an integer program looks for them.
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
    if most is not None and len(chosen) > most:
        chosen = _fewest(X[positive], np.flatnonzero(allowed), most)
    return chosen


def _fewest(rows: np.ndarray, allowed: np.ndarray, most: int) -> list[int]:
    """At most so many of the allowed features, one of which is on in every row."""
    covering = LinearConstraint(rows[:, allowed], lb=1)
    found = milp(
        np.ones(allowed.size), constraints=covering, integrality=np.ones(allowed.size),
        bounds=Bounds(0, 1), options={"time_limit": SEARCH_SECONDS},
    )  # fmt: skip
    chosen = [] if found.x is None else allowed[found.x > 0.5].tolist()
    if not chosen or len(chosen) > most or not (rows[:, chosen] > 0).any(axis=1).all():
        features = "feature" if most == 1 else "features"
        raise Unknown(f"no disjunction of {most} {features} is known to be true of these rows")
    return chosen


def balanced_winnow(problem: Problem, promotion: float | None) -> tuple[float, float]:
    """Mistakes of balanced Winnow, and its promotion: the best for the margin where it is None.

    With eta = ln(promotion), X = max |z_j|, D weights and a target of L1 length 1 and margin
    gamma: P = sum of u_j + v_j starts at 2 D and by convexity of exp grows at most cosh(eta X)
    times a mistake, while the log of its largest term is at least eta gamma times the mistakes.
    So M <= ln(2 D) / (eta gamma - ln cosh(eta X)); with eta = gamma / X^2, 2 X^2 ln(2 D) / gamma^2.
    """
    A = problem.A
    largest, gamma = float(abs(A).max()), l1_margin(problem)
    with balls():
        # The rows are A times a power of two, and so is what the rate multiplies.
        power = arb(2) ** problem.exponent
        best = arb(gamma) / (arb(largest) ** 2 * power)
        eta = arb(best.mid()) if promotion is None else arb(promotion).log()
        gain = eta * power * arb(gamma) - (eta * power * arb(largest)).cosh().log()
        if not gain.lower() > 0:
            raise Unknown(
                f"the L1 margin {math.ldexp(gamma, problem.exponent):.4g} allows a bound for small "
                f"promotions only, best of all 1 + {float(best.expm1().mid()):.3g}"
            )
        most = above(arb(2 * A.shape[1]).log() / gain)
        return most, math.inf if eta > 700 else float(eta.exp().mid())


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
