"""Winnow and balanced Winnow in plain Python: multiplicative updates.

Reference: N. Littlestone, Learning quickly when irrelevant attributes abound: a new
linear-threshold algorithm, Machine Learning 2 (1988).
"""

from dataclasses import dataclass
from math import asinh, log, sinh

from linsep.teaching.textbook.machine import Example, Machine, Number, Row, Rule

#: weights are clipped to [1 / this, this]
MOST = 1e150


@dataclass(frozen=True)
class Winnow(Rule):
    """On a mistake multiply every weight by promotion to the power of y x_j.

    Features must be nonnegative. All weights start at 1; the score is <w, x> minus the threshold,
    so the intercept is minus the threshold and is not trained.

    Parameters
    ----------
    promotion : above 1
    threshold : half the number of features if None; native learning compares classes without one
    """

    promotion: Number = 2
    threshold: Number | None = None
    learns_intercept = False

    def first(self, n_features: int, joint: bool) -> tuple[Number, Number]:
        threshold = n_features / 2 if self.threshold is None else self.threshold
        return 1, 0 if joint else -threshold

    def check(self, row: int, x: Row, one: int) -> None:
        if min(x) < 0:
            raise ValueError(f"Row {row} has a negative feature: use BalancedWinnow.")

    def update(self, machine: Machine, example: Example) -> bool:
        """``w_j *= promotion^(importance y x_j)``."""
        factor = example.importance * example.y
        machine.weights = [
            self.multiplied(w, factor * x) if x else w
            for w, x in zip(machine.weights, example.x, strict=True)
        ]
        return True

    def multiplied(self, w: Number, power: Number) -> Number:
        """Return w * promotion^power, clipped."""
        try:
            return min(max(w * self.promotion**power, 1 / MOST), MOST)
        except OverflowError:
            return MOST


@dataclass(frozen=True)
class BalancedWinnow(Rule):
    """Winnow for features and weights of either sign.

    The weights are w = u - v, where u and v are trained by two Winnows, the second on negated
    examples; as both start at 1, v = 1/u at all times. With u = exp(L), w = 2 sinh(L).

    Parameters
    ----------
    promotion : above 1
    """

    promotion: Number = 2

    def update(self, machine: Machine, example: Example) -> bool:
        """L_j += importance y log(promotion) z_j."""
        powers = [example.importance * example.y * z for z in example.z]
        moved = [self.multiplied(w, power) for w, power in zip(machine.z, powers, strict=True)]
        n = len(machine.weights)
        machine.weights, machine.intercept = moved[:n], moved[n:]
        return True

    def multiplied(self, w: Number, power: Number) -> Number:
        """Return w = 2 sinh(L) after u = exp(L) is multiplied by promotion^power, clipped."""
        if power == 0:
            return w
        most = log(MOST)
        L = asinh(w / 2) + power * log(self.promotion)
        return 2 * sinh(min(max(L, -most), most))
