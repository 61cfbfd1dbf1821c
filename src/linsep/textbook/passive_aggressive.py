"""The passive-aggressive learners in plain Python: the least change that makes an example right.

Reference: K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz and Y. Singer, Online
passive-aggressive algorithms, JMLR 7 (2006).
"""

from dataclasses import dataclass
from math import inf

from linsep.textbook.machine import Example, Machine, Number, Rule, square


@dataclass(frozen=True)
class PassiveAggressive(Rule):
    """Every example whose loss 1 - y s is above 0 moves the weights just so far that it is 0.

    Parameters
    ----------
    C : how much one example may count; infinity with "hinge" is the plain PA
    loss : "hinge" (PA-I: no step is longer than C) or "squared_hinge" (PA-II: all are softened)
    """

    C: Number = 1.0
    loss: str = "hinge"

    def asks(self, machine: Machine, example: Example, y: int, s: Number, wrong: bool) -> bool:
        """A mistake, or right by less than 1."""
        return wrong or 1 - y * s > 0

    def update(
        self, machine: Machine, example: Example, y: int, s: Number, importance: Number
    ) -> bool:
        """W += importance * tau * y * z; ||x||^2 leaves the constant feature out."""
        loss, q = 1 - y * s, square(example.x)
        if q == 0:
            return False
        if self.loss == "squared_hinge":
            tau = loss / (q + 1 / (2 * self.C))
        else:
            tau = loss / q if inf == self.C else min(self.C, loss / q)
        machine.add(example, importance * tau * y)
        return True
