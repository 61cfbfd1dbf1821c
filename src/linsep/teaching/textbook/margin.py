"""The margin perceptron in plain Python: an example too close to the hyperplane is also a mistake.

Reference: A. Blum, 15-859(B) Machine Learning Theory, lecture 4 (2014).
"""

from dataclasses import dataclass, replace

from linsep.teaching.textbook.machine import Example, Machine, Number, Row, Rule, length

#: tolerance for rounding in a sum of weights
ROUNDING = 1 + 1e-9


@dataclass(frozen=True)
class MarginPerceptron(Rule):
    """Update on examples scaled to length 1, also if they are within (1 - epsilon) gamma of the
    plane.

    Parameters
    ----------
    gamma : target margin in (0, 1]; or "auto": 1/2, halved whenever a binary classifier has made
        more updates than this margin allows (row weights relative to the largest), with a restart
        from zero each time
    epsilon : tolerance in (0, 1), relative to gamma; 1/2 in the lecture
    halvings : number of times that "auto" has halved the margin
    """

    gamma: Number | str = "auto"
    epsilon: Number = 0.5
    halvings: int = 0

    @property
    def aim(self) -> Number:
        """The current target margin."""
        return 0.5 ** (self.halvings + 1) if self.gamma == "auto" else self.gamma

    def check(self, row: int, x: Row, one: int) -> None:
        if not one and not any(x):
            raise ValueError(f"Row {row} is all zeros and has no margin: remove it.")

    def asks(self, machine: Machine, example: Example) -> bool:
        """Return whether the example is a (margin) mistake: y s / ||z|| < (1 - epsilon) gamma
        ||w||.
        """
        reached = example.y * example.score / length(example.z)
        return example.wrong or reached < (1 - self.epsilon) * self.aim * machine.length

    def margin(self, machine: Machine, example: Example) -> tuple:
        """Return y s / (||z|| ||w||), the cosine, and its least value; zeros for zero weights."""
        size, m = length(example.z) * machine.length, example.y * example.score
        return (m / size, (1 - self.epsilon) * self.aim) if size else (0.0, 0.0)

    def update(self, machine: Machine, example: Example) -> bool:
        """W += importance * y * z / ||z||."""
        machine.add(example, example.importance * example.y / length(example.z))
        return True

    def again(self, machines: list[Machine]) -> "MarginPerceptron | None":
        """Restart with half the margin if a binary classifier has disproved the current one."""
        most = most_updates(self.aim, self.epsilon) * ROUNDING
        if self.gamma != "auto" or all(m.total <= most * m.heaviest for m in machines):
            return None
        return replace(self, halvings=self.halvings + 1)


def most_updates(gamma: Number, epsilon: Number = 0.5) -> float:
    """Return the most updates on rows separable with margin gamma: 2 / (epsilon gamma)^2.

    It is 8 / gamma^2 for epsilon = 1/2. Every update adds at least gamma to <w, w*>, but at most (1
    - epsilon / 2) gamma to ||w|| once that exceeds 1 / (epsilon gamma). With weighted rows the same
    bound holds for the sum of the weights over all updates, divided by the largest.
    """
    return 2 / (epsilon * gamma) ** 2
