"""The passive-aggressive learners in plain Python: the smallest change with zero loss.

References: K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz and Y. Singer, Online
passive-aggressive algorithms, JMLR 7 (2006); for rows of unequal weight N. Karampatziakis and
J. Langford, Online importance weight aware updates, UAI (2011).
"""

from dataclasses import dataclass
from math import inf

from linsep.teaching.textbook.machine import Example, Machine, Number, Rule, square


@dataclass(frozen=True)
class PassiveAggressive(Rule):
    """Change the weights at every example with loss 1 - y s > 0 just enough to make it 0.

    Parameters
    ----------
    C : aggressiveness; infinity with "hinge" is plain PA
    loss : "hinge" (PA-I: steps are at most C) or "squared_hinge" (PA-II: all steps are softened)
    """

    C: Number = 1.0
    loss: str = "hinge"

    def asks(self, machine: Machine, example: Example) -> bool:
        return example.wrong or 1 - example.y * example.score > 0

    def update(self, machine: Machine, example: Example) -> bool:
        """W += tau * y * z, where the importance multiplies C.

        An importance above 1 moves the score to at most 1, or as far as an importance of 1 does:
        the lengths below exclude the constant feature, which also changes the score.
        """
        q, whole, importance = square(example.x), square(example.z), example.importance
        loss = 1 - example.y * example.score
        if whole == 0 or (q == 0 and self.loss == "hinge"):
            return False
        tau = self.step(loss, q, self.C * importance)
        if importance > 1:
            tau = min(tau, max(self.step(loss, q, self.C), loss / whole))
        machine.add(example, tau * example.y)
        return True

    def step(self, loss: Number, q: Number, C: Number) -> Number:
        """Return the multiple of an example to add; q is ||x||^2 without the constant feature."""
        if self.loss == "squared_hinge":
            return loss / (q + 1 / (2 * C))
        return loss / q if inf == C else min(C, loss / q)
