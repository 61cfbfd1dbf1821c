"""The approximate maximal margin algorithm for p = 2 (ALMA_2) in plain Python.

Reference: C. Gentile, A new approximate maximal margin classification algorithm, JMLR 2 (2001),
theorem 3.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from linsep.teaching.textbook.machine import Example, Machine, Number, Row, Rule, length


@dataclass(frozen=True)
class ALMA(Rule):
    """Update on examples of length 1 with a small margin, in decreasing steps, with ``|w| <= 1``.

    At correction k = 1, 2, ... the margin of an example is too small if ``y <w, z> / |z|`` is at
    most (1 - alpha) B / sqrt(k). Then ``w += C y z / (|z| sqrt(k))``, and a w longer than 1 is
    scaled to length 1. Such an example is a mistake: on rows separable with margin g, the defaults
    make at most (2 / g^2) (2 / alpha - 1)^2 + 8 / alpha - 4 corrections, after which every row has
    a margin of (1 - alpha) g. (LIBOL and JSAT have B = 1 / alpha and do not scale rows; JSAT
    divides by k.) The weight of a row multiplies its step.

    Parameters
    ----------
    alpha : in (0, 1], the share of the margin that may be lost; with 1, only scores of the wrong
        sign are corrected
    B : factor of the threshold; sqrt(8) / alpha if None
    C : factor of the step, sqrt(2) by default
    """

    alpha: Number = 0.9
    B: Number | None = None
    C: Number = 2**0.5
    native = None

    def __post_init__(self) -> None:
        if not 0 < self.alpha <= 1:
            raise ValueError(f"alpha must be above 0 and at most 1, got {self.alpha!r}.")

    def check(self, row: int, x: Row, one: int) -> None:
        """Refuse rows of length 0, which have no margin."""
        if not one and not any(x):
            raise ValueError(f"Row {row} is all zeros and has no margin: remove it.")

    def threshold(self, k: int) -> float:
        """Return the margin at which correction k is not needed."""
        B = sqrt(8) / self.alpha if self.B is None else self.B
        return (1 - self.alpha) * B / sqrt(k)

    def asks(self, machine: Machine, example: Example, y: int, s: Number, wrong: bool) -> bool:
        """Return whether the margin of the example is too small."""
        reached, least = self.margin(machine, example, y, s)
        return wrong or reached <= least

    def margin(self, machine: Machine, example: Example, y: int, s: Number) -> tuple:
        """Return y s / ||z||, and the value that it must exceed."""
        return y * s / length(example.z), self.threshold((machine.memory or 0) + 1)

    def update(
        self, machine: Machine, example: Example, y: int, s: Number, importance: Number
    ) -> bool:
        """``w += importance C y z / (|z| sqrt(k))``, and ``w /= max(1, |w|)``."""
        k = (machine.memory or 0) + 1
        machine.add(example, importance * self.C / (length(example.z) * sqrt(k)) * y)
        machine.memory = k
        most = max(1.0, machine.length)
        machine.weights = [w / most for w in machine.weights]
        machine.intercept = [b / most for b in machine.intercept]
        return True

    def mixed(
        self, before: Machine, shards: Sequence[Machine], amounts: Sequence[Number]
    ) -> Machine:
        """Return the mean, with the largest number of corrections of a shard."""
        machine = super().mixed(before, shards, amounts)
        machine.memory = max(m.memory or 0 for m in shards)
        return machine
