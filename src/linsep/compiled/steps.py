"""One rule, one step: what a learner does when it has seen one example and its score.

A rule is a NamedTuple of its numbers; its step is chosen by that class while compiling. A step
gets the example (row i, target y = -1 or +1, score y is compared with), whether the prediction
was wrong, and the example's importance. It returns whether it asked for an update (a mistake by
its own rule) and whether it changed the weights, as 0 or 1.
"""

from typing import Any, NamedTuple

import numpy as np

from linsep.compiled.jit import generic
from linsep.compiled.keep import Aside
from linsep.compiled.rates import rate
from linsep.compiled.rows import add, square
from linsep.compiled.weights import machine, vectors


@generic(0)
def step(rule, weights, rows, i, y, score, wrong, importance):
    """Learn from one example by ``rule``; returns (mistake, updated)."""


class Watch(NamedTuple):
    """Learn nothing, but sum what the ``mistakes`` of each machine count, weights as they are."""

    mistakes: np.ndarray


@step.when(Watch)
def _watch(rule, weights, rows, i, y, score, wrong, importance):
    rule.mistakes[machine(weights)] += importance * wrong
    return int(wrong), 0


class PerceptronRule(NamedTuple):
    """Rosenblatt's perceptron: on a mistake add the example, times its label, to the weights.

    F. Rosenblatt, The perceptron, Psychological Review 65 (1958).
    """

    schedule: Any


@step.when(PerceptronRule)
def _perceptron(rule, weights, rows, i, y, score, wrong, importance):
    if not wrong:
        return 0, 0
    add(rows, i, weights, rate(rule.schedule, machine(weights)) * importance * y)
    return 1, 1


class BatchRule(NamedTuple):
    """The batch perceptron: all mistakes of a pass are summed, and added at its end.

    ``sums`` has the shape of the weights, ``asked`` counts the mistakes of each machine,
    ``criterion[0]`` is J_p, how far the misclassified rows are on the wrong side, summed.
    R. Duda, P. Hart and D. Stork, Pattern Classification (2001), section 5.5.
    """

    sums: np.ndarray
    asked: np.ndarray
    criterion: np.ndarray


@step.when(BatchRule)
def _batch(rule, weights, rows, i, y, score, wrong, importance):
    if not wrong:
        return 0, 0
    rule.criterion[0] -= importance * y * score
    rule.asked[machine(weights)] += 1
    add(rows, i, Aside(weights, rule.sums), importance * y)
    return 1, 0


# Such a row has no length to divide by: the walk stops before it.
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


class PassiveAggressiveRule(NamedTuple):
    """The least change that makes the example right by 1, at most ``C``, or softened by ``soft``.

    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz and Y. Singer, Online passive-aggressive
    algorithms, JMLR 7 (2006): PA has an infinite C, PA-I a finite one, PA-II soft = 1 / (2C).
    The importance multiplies C; above 1 it takes the score to 1 at most, or as far as an importance
    of 1 does (N. Karampatziakis and J. Langford, Online importance weight aware updates, UAI 2011).
    """

    C: float
    soft: float


@step.when(PassiveAggressiveRule)
def _passive_aggressive(rule, weights, rows, i, y, score, wrong, importance):
    loss = 1.0 - y * score
    if loss <= 0.0:
        return 0, 0
    length = square(rows, i) * vectors(weights)
    if length == np.inf:
        return NO_LENGTH, 0
    # scikit-learn's length leaves the constant feature out, which moves the score as well.
    whole = length + weights.bias**2 * vectors(weights)
    if whole == 0.0 or (length == 0.0 and rule.soft == 0.0):
        return 1, 0
    amount = min(rule.C * importance, loss / (length + rule.soft / importance))
    if importance > 1.0:
        alone = min(rule.C, loss / (length + rule.soft))
        amount = min(amount, max(alone, loss / whole))
    add(rows, i, weights, amount * y)
    return 1, 1
