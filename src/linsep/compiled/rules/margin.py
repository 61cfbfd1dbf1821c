"""The margin perceptron: an update whenever the margin is too small."""

from typing import NamedTuple

import numpy as np

from linsep.compiled.loop import NO_STEP, step
from linsep.compiled.rows import add, square
from linsep.compiled.weights import machine, vectors


class MarginRule(NamedTuple):
    """The margin perceptron: an example too close to the hyperplane is also a mistake.

    A unit-length example must have a score of at least ``share`` times the length of the weights.
    Per binary classifier: ``squares``, the squared length of the weights; ``total`` and
    ``heaviest``, the sum and the maximum of the importances of its updates. A. Blum, Machine
    Learning Theory, lecture 4 (2014).
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
        # A row of length 0 has no margin.
        return NO_STEP
    reached = y * score / length
    if not wrong and reached >= rule.share * np.sqrt(rule.squares[m]):
        return 0, 0
    add(rows, i, weights, importance * y / length)
    grown = rule.squares[m] + 2.0 * importance * reached + importance**2
    rule.squares[m] = max(grown, 0.0)  # it may be rounded below
    rule.total[m] += importance
    rule.heaviest[m] = max(rule.heaviest[m], importance)
    return 1, 1
