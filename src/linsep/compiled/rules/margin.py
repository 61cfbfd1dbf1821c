"""The margin perceptron: an update wherever the margin is too small."""

from typing import NamedTuple

import numpy as np

from linsep.compiled.core.loop import step
from linsep.compiled.core.rows import add, square
from linsep.compiled.core.weights import machine, vectors

# Such a row has no length to divide by: the loop stops before it.
NO_LENGTH = -1


class MarginRule(NamedTuple):
    """The margin perceptron: an example too close to the plane is a mistake as well.

    ``share`` of the length of the weights is how far off a unit-length example has to be. One a
    machine: ``squares``, their squared length; ``total`` and ``heaviest``, the sum and the largest
    of the importances of its updates.
    A. Blum, Machine Learning Theory, lecture 4 (2014).
    """

    share: float
    squares: np.ndarray
    total: np.ndarray
    heaviest: np.ndarray


@step.when(MarginRule)
def _margin(rule, weights, rows, i, y, score, wrong, importance):
    m = machine(weights)
    length = np.sqrt((square(rows, i) + weights.bias**2) * vectors(weights))
    if not 0.0 < length < np.inf:
        return NO_LENGTH, 0
    reached = y * score / length
    if not wrong and reached >= rule.share * np.sqrt(rule.squares[m]):
        return 0, 0
    add(rows, i, weights, importance * y / length)
    rule.squares[m] += 2.0 * importance * reached + importance**2
    rule.total[m] += importance
    rule.heaviest[m] = max(rule.heaviest[m], importance)
    return 1, 1
