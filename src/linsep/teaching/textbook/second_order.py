"""The second-order perceptron in plain Python.

Reference: N. Cesa-Bianchi, A. Conconi and C. Gentile, A second-order perceptron algorithm, SIAM
Journal on Computing 34 (2005), theorem 3.1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from linsep.teaching.textbook.covariance import added_information
from linsep.teaching.textbook.logistic import solve
from linsep.teaching.textbook.machine import Example, Machine, Number, Rule, dot, moved, ratio


class Sums(NamedTuple):
    """Over the mistakes: ``matrix`` A = aI + sum of z z', and ``vector`` v = sum of y z."""

    matrix: list
    vector: list


@dataclass(frozen=True)
class SecondOrderPerceptron(Rule):
    """Update only on mistakes, most strongly for features that occurred in few of them.

    On a mistake A += z z' and v += y z, initially with A = aI and v = 0. The weights are w = A^-1
    v. The paper scores a row by z'(A + z z')^-1 v = <w, z> / (1 + z'A^-1 z), which has the sign of
    <w, z>, so this is a linear classifier. (In LIBOL, A grows with every row, not only with
    mistakes.) AROW with a full covariance and r = a has the same weights after the same updates.
    The weight of a row multiplies z z' and y z.

    Parameters
    ----------
    a : above 0
    """

    a: Number = 1
    native = None

    def __post_init__(self) -> None:
        if not self.a > 0:
            raise ValueError(f"a must be above 0, got {self.a!r}.")

    def update(
        self, machine: Machine, example: Example, y: int, s: Number, importance: Number
    ) -> bool:
        """A += importance z z', v += importance y z, w = A^-1 v."""
        z = example.z
        if not any(z):
            return False
        A, v = machine.memory or self.start(len(z))
        A = [moved(row, z, importance * value) for row, value in zip(A, z, strict=True)]
        machine.memory = Sums(A, moved(v, z, importance * y))
        w = solve([[ratio(p, 1) for p in row] for row in A], machine.memory.vector)
        machine.weights, machine.intercept = w[:-1], w[-1:]
        return True

    def start(self, n: int) -> Sums:
        """Return the sums before the first mistake."""
        return Sums([[self.a * (i == j) for j in range(n)] for i in range(n)], [0] * n)

    def mixed(
        self, before: Machine, shards: Sequence[Machine], amounts: Sequence[Number]
    ) -> Machine:
        """Add the sums of the mistakes of all shards, regardless of their amounts."""
        first = before.memory or self.start(len(before.z))
        own = [((m.memory or first).matrix, m.z) for m in shards]
        A, w = added_information((first.matrix, before.z), *own)
        machine = Machine(w[:-1], w[-1:])
        machine.memory = Sums(A, [dot(row, w) for row in A])
        return machine
