"""The perceptron in the space of a kernel: weights are sums of examples, w = sum_j a_j phi(x_j).

The a_j are ordinary weights: <w, phi(x)> = sum_j a_j K(x_j, x), so a row is presented as its kernel
values with all rows. But a mistake on row i adds 1 to a_i alone. To identify the row, the kernel
values are followed by the row's unit vector, whose weights stay 0.

References: M. Aizerman, E. Braverman and L. Rozonoer, Theoretical foundations of the potential
function method in pattern recognition learning, Automation and Remote Control 25 (1964).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from linsep.teaching.textbook.machine import Example, Machine, Number, Row, Rule


@dataclass(frozen=True)
class KernelPerceptron(Rule):
    """On a mistake add 1, times the label, to the dual weight of the row.

    Parameters
    ----------
    n_rows : int
        Number of training rows, in the format of :func:`dual_rows`.
    """

    n_rows: int
    learns_intercept = False

    def update(self, machine: Machine, example: Example) -> bool:
        """Add importance * y to a_i, in each part of a joint example."""
        n = self.n_rows
        for start in range(0, len(example.x), 2 * n):
            for j in range(n):
                unit = example.x[start + n + j]
                machine.weights[start + j] += example.importance * example.y * unit
        return True


def dual_rows(kernel: Callable[[Any, Any], Number], rows: Sequence[Any]) -> list[list]:
    """Return the training rows: kernel values with all rows, then the row's unit vector."""
    n = len(rows)
    return [
        [*(kernel(x, z) for z in rows), *(int(i == j) for j in range(n))]
        for i, x in enumerate(rows)
    ]


def dual_row(kernel: Callable[[Any, Any], Number], x: Any, rows: Sequence[Any]) -> Row:
    """Return a row for prediction, as its kernel values with the training rows."""
    return [*(kernel(x, z) for z in rows), *(0 for _ in rows)]
