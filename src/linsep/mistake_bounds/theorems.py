"""The bounds, each a short function of the problems of the machines.

A run of p passes is a sequence of p times as many rows: Novikoff's bound is the same, and hinge
losses count p times. Bounds of several machines are summed. All are rounded up: no value is below
the theorem's in real arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from flint import arb
from scipy.optimize import Bounds, LinearConstraint, milp

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
    as_ball,
    balls,
    float_above,
    length,
    parameter_readings,
    shown,
)
from linsep.separability.programs import COARSE, solved
from linsep.separability.time_limit import Task, TooLarge, limited

#: most entries of the program for Winnow's margin: two variables per weight, a constraint per row
MOST_ENTRIES = 20_000_000
#: squares of larger ratios overflow
HUGE = 1e153
#: Winnow clips its weights to [1 / this, this]
MOST_WEIGHT = 1e150
#: most promotions that are counted one by one
FEW = 10_000
#: relative rounding error of a weight after millions of updates
DRIFT = 1e-9
#: time limit in seconds of the search for a disjunction
SEARCH_SECONDS = 5.0


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
    """Return the perceptron's comparators, one per machine, the best for so many passes."""
    found = []
    for problem in problems:
        square = problem.longest**2 * (1 + ROUNDING) or 1.0
        best = best_comparator(problem, 2 * passes / square, _brought(problem, given))
        found.append(Compared(square, best))
    return found


def moved(problem: Problem, gamma: float, given: np.ndarray | None = None) -> Compared:
    """Return the comparator of length 1/gamma: its hinge loss is TD_gamma/gamma, so that the linear
    bound is R^2/gamma^2 + 2 TD_gamma/gamma.
    """
    long = float(np.ldexp(1.0 / gamma, problem.exponent))
    if not 0 < long * problem.longest < HUGE:
        raise Unknown("a margin of such a size is beyond floating point")
    found = comparator_of_length(problem, long, _brought(problem, given))
    return Compared(problem.longest**2 * (1 + ROUNDING) or 1.0, found)


def distance(weights: Comparator) -> float | None:
    """Return hinge(w)/||w||, the total distance that rows must be moved for the margin 1/||w||."""
    long = length(weights.w)
    return weights.hinge / long * (1 + ROUNDING) if long else None


def _brought(problem: Problem, given: np.ndarray | None) -> np.ndarray | None:
    """Return weights with the same values on the rescaled rows of the problem, or None."""
    if given is None or not problem.exponent:
        return given
    with np.errstate(over="ignore"):
        brought = np.ldexp(given, problem.exponent)
    return brought if np.isfinite(brought).all() else given


def margin_learner(problems: Sequence[Problem], gamma: float, epsilon: float) -> float:
    """Return 2 / (epsilon gamma)^2 per machine, if every machine's margin is at least gamma.

    The larger of two values: with the parameters as floats, and as the decimals that they print as.
    """
    low, high = widest(problems)
    if gamma > low:
        raise Unknown(f"the margin aimed at is {gamma:.4g}, that of the rows below {shown(high)}")
    pairs = product(parameter_readings(gamma), parameter_readings(epsilon))
    return float_above(len(problems) * max(2 / (one * other) ** 2 for one, other in pairs))


def passive_aggressive(
    problems: Sequence[Problem], passes: int, C: float, soft: float, given: np.ndarray | None = None
) -> float:
    """Return the bound on errors of PA-I (``soft`` 0) and PA-II (infinite ``C``)."""
    total = 0.0
    for problem in problems:
        square, w = problem.longest**2 * (1 + ROUNDING), _brought(problem, given)
        # Rows over 2^e and C times 4^e make the same mistakes.
        most, softened = np.ldexp(C, 2 * problem.exponent), np.ldexp(soft, -2 * problem.exponent)
        if not 0 < most < np.inf and np.isfinite(C):
            raise Unknown("C relative to the length of the rows is beyond floating point")
        if softened:
            # The bound is in squared losses; weights that minimise the hinge are good enough.
            best = best_comparator(problem, passes / softened, w)
            loss = passes / softened * best.squared_hinge
            total += (square + softened) * (best.square + loss)
        elif np.isfinite(most):
            best = best_comparator(problem, 2 * most * passes, w)
            total += max(square, 1 / most) * (best.square + 2 * most * passes * best.hinge)
        else:
            total += novikoff([problem])
    return total * (1 + ROUNDING)


def winnow(d: int, r: int, promotion: float, threshold: float, k: int = 1) -> float:
    """Return the bound for Winnow on "at least k of r" of d binary features, from weights of 1.

    A promotion multiplies at least k of the r weights, each at most the threshold, and a demotion
    divides at most k - 1: with L = floor(log_a(theta)) + 1, u promotions and v demotions,
    k u - (k - 1) v <= r L. A promotion adds at most (a - 1) theta to the sum of all weights, d at
    first; a demotion subtracts at least (1 - 1/a) theta, and the sum stays above 0: v is less than
    a d / ((a - 1) theta) + a u. Both limit u if k > (k - 1) a; for a disjunction (k = 1) to r L.
    Since weights are clipped at 1 / MOST, a demotion may subtract only (1 - 1/a) (theta - a d /
    MOST).
    """
    if threshold <= 0:
        raise Unknown("the threshold is not above 0")
    a, theta = Fraction(promotion), Fraction(threshold)
    taken = theta - a * d / Fraction(MOST_WEIGHT)
    if theta >= MOST_WEIGHT or taken <= 0:
        raise Unknown(
            f"a threshold of {threshold:.3g} is out of reach of promotions of {promotion:.3g} for "
            f"weights between {1 / MOST_WEIGHT:.0e} and {MOST_WEIGHT:.0e}"
        )
    # Beside promotions also demotions are rounded, where k is not 1.
    reach = r * promoted(promotion, threshold * (1 + DRIFT) if k > 1 else threshold)

    def most(taken: Fraction) -> Fraction:
        first, each = a * d / ((a - 1) * taken), a * theta / taken
        if not (gain := k - (k - 1) * each) > 0:
            raise Unknown(f"for {k} of several it needs a promotion below {k / (k - 1):.4g}")
        return (reach + (k - 1) * first) / gain * (1 + each) + first

    # With few mistakes no weight may have shrunk so far.
    fewest = most(theta)
    reached = fewest <= math.log(MOST_WEIGHT) / math.log(promotion) - 1
    return float_above(fewest if reached else most(taken))


def promoted(promotion: float, threshold: float) -> int:
    """Return how often a weight of 1 can be multiplied until it exceeds the threshold, at most."""
    estimate = math.log(threshold) / math.log(promotion)
    if estimate < FEW:  # in floats and in real numbers
        weight, whole, times = 1.0, 0, 0
        while weight <= threshold:
            weight, times = weight * promotion, times + 1
        a, theta = parameter_readings(promotion)[1], parameter_readings(threshold)[1]
        while a**whole <= theta:
            whole += 1
        return max(times, whole)
    with balls():  # the relative error of a float product is 2^-53
        ratios = [
            as_ball(theta).log() / (as_ball(a).log() - arb(2) ** -52)
            for theta, a in zip(
                parameter_readings(threshold), parameter_readings(promotion), strict=True
            )
        ]
        if not all(ratio > 0 for ratio in ratios):
            raise Unknown("a promotion so close to 1 is lost in rounding")
        return max(math.floor(float_above(ratio)) + 1 for ratio in ratios)


def disjunction(X: np.ndarray, positive: np.ndarray, most: int | None = None) -> list[int]:
    """Return few features of which some is on in every positive row and none in a negative one.

    Greedy, since the fewest are NP-hard to find and any disjunction gives a valid bound. If the
    result has more than ``most`` features, an integer program searches for fewer.
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


def majority(X: np.ndarray, positive: np.ndarray, r: int, k: int) -> None:
    """Raise Unknown unless at least k of some r features are on in exactly the positive rows."""
    if not np.isin(X, (0.0, 1.0)).all():
        raise Unknown("features are not all 0 or 1")
    asked = [
        LinearConstraint(np.ones((1, X.shape[1])), lb=r, ub=r),
        LinearConstraint(np.where(positive[:, None], -X, X), ub=np.where(positive, -k, k - 1)),
    ]
    found = milp(
        np.zeros(X.shape[1]), constraints=asked, integrality=np.ones(X.shape[1]),
        bounds=Bounds(0, 1), options={"time_limit": SEARCH_SECONDS},
    )  # fmt: skip
    on = np.zeros(len(X)) if found.x is None else X[:, found.x > 0.5].sum(axis=1)
    if found.x is None or (found.x > 0.5).sum() != r or not np.array_equal(on >= k, positive):
        raise Unknown(f"no {r} features are known of which {k} are on in exactly the positive rows")


def _fewest(rows: np.ndarray, allowed: np.ndarray, most: int) -> list[int]:
    """Return at most ``most`` of the allowed features, of which some is on in every row."""
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
    """Return the bound for balanced Winnow, and its promotion (None: the best for the margin).

    With eta = ln(promotion), X = max |z_j|, D weights and a target of L1 length 1 and margin
    gamma: P = sum of u_j + v_j starts at 2 D and by convexity of exp grows at most cosh(eta X)
    times a mistake, while the log of its largest term is at least eta gamma times the mistakes.
    So M <= ln(2 D) / (eta gamma - ln cosh(eta X)); with eta = gamma / X^2, 2 X^2 ln(2 D) / gamma^2.
    """
    A = problem.A
    largest, gamma = float(abs(A).max()), l1_margin(problem)
    with balls():
        # The rows are A times a power of two, which scales the rate.
        power = arb(2) ** problem.exponent
        best = arb(gamma) / (arb(largest) ** 2 * power)
        eta = arb(best.mid()) if promotion is None else arb(promotion).log()
        gain = eta * power * arb(gamma) - (eta * power * arb(largest)).cosh().log()
        if not gain.lower() > 0:
            raise Unknown(
                f"the L1 margin {math.ldexp(gamma, problem.exponent):.4g} allows a bound for small "
                f"promotions only, best of all 1 + {float(best.expm1().mid()):.3g}"
            )
        most = float_above(arb(2 * A.shape[1]).log() / gain)
        return most, math.inf if eta > 700 else float(eta.exp().mid())


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
