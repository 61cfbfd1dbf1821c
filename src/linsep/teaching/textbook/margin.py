"""The margin perceptron in plain Python: an example too close to the plane is a mistake as well.

Reference: A. Blum, 15-859(B) Machine Learning Theory, lecture 4 (2014).
"""

from dataclasses import dataclass, replace

from linsep.teaching.textbook.machine import Example, Machine, Number, Row, Rule, length

#: a sum of weights may be rounded upwards; no bound fails by that
ROUNDING = 1 + 1e-9


@dataclass(frozen=True)
class MarginPerceptron(Rule):
    """Examples scaled to length 1; one within (1 - epsilon) gamma of the plane is added as well.

    Parameters
    ----------
    gamma : the margin aimed at, in (0, 1]; or "auto": 1/2, then half of it whenever a machine has
        made more updates than it could on rows of that margin (rows of unequal weight count by the
        largest), learning anew from zero each time
    epsilon : in (0, 1), how much less than gamma will do; 1/2 in the lecture
    halvings : how often "auto" has halved its margin
    """

    gamma: Number | str = "auto"
    epsilon: Number = 0.5
    halvings: int = 0

    @property
    def aim(self) -> Number:
        """The margin aimed at now."""
        return 0.5 ** (self.halvings + 1) if self.gamma == "auto" else self.gamma

    def check(self, row: int, x: Row, one: int) -> None:
        """A row of length 0 has no margin."""
        if not one and not any(x):
            raise ValueError(f"Row {row} is all zeros and has no margin: leave it out.")

    def asks(self, machine: Machine, example: Example, y: int, s: Number, wrong: bool) -> bool:
        """A mistake, or a margin mistake: y s / ||z|| < (1 - epsilon) gamma ||w||."""
        reached = y * s / length(example.z)
        return wrong or reached < (1 - self.epsilon) * self.aim * machine.length

    def update(
        self, machine: Machine, example: Example, y: int, s: Number, importance: Number
    ) -> bool:
        """W += importance * y * z / ||z||."""
        machine.add(example, importance * y / length(example.z))
        return True

    def again(self, machines: list[Machine]) -> "MarginPerceptron | None":
        """With half the margin, if some machine has shown that the rows do not have this one."""
        most = most_updates(self.aim, self.epsilon) * ROUNDING
        if self.gamma != "auto" or all(m.total <= most * m.heaviest for m in machines):
            return None
        return replace(self, halvings=self.halvings + 1)


def most_updates(gamma: Number, epsilon: Number = 0.5) -> float:
    """Updates on rows that have a separator of margin gamma: 2 / (epsilon gamma)^2 at most.

    That is 8 / gamma^2 for epsilon = 1/2. Every update adds gamma or more to <w, w*>, but to
    ||w||, once that is above 1 / (epsilon gamma), at most (1 - epsilon / 2) gamma. Where rows have
    weights, the same holds of the sum of the weights over all updates, divided by the largest.
    """
    return 2 / (epsilon * gamma) ** 2
