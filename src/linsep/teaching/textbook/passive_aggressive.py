"""The passive-aggressive learners in plain Python: the least change that makes an example right.

References: K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz and Y. Singer, Online
passive-aggressive algorithms, JMLR 7 (2006); for rows of unequal weight N. Karampatziakis and
J. Langford, Online importance weight aware updates, UAI (2011).
"""

from dataclasses import dataclass
from math import inf

from linsep.teaching.textbook.machine import Example, Machine, Number, Rule, square


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
        """W += tau * y * z, where the importance multiplies C.

        An importance above 1 takes the score to 1 at most, or as far as an importance of 1 does:
        the lengths below leave the constant feature out, which moves the score as well.
        """
        loss, q, whole = 1 - y * s, square(example.x), square(example.z)
        if whole == 0 or (q == 0 and self.loss == "hinge"):
            return False
        tau = self.step(loss, q, self.C * importance)
        if importance > 1:
            tau = min(tau, max(self.step(loss, q, self.C), loss / whole))
        machine.add(example, tau * y)
        return True

    def step(self, loss: Number, q: Number, C: Number) -> Number:
        """How much of an example with ||x||^2 = q is added, its constant feature left out of q."""
        if self.loss == "squared_hinge":
            return loss / (q + 1 / (2 * C))
        return loss / q if inf == C else min(C, loss / q)
