"""Passive-aggressive updates: the smallest change with zero loss on the example."""

from typing import NamedTuple

import numpy as np

from linsep.compiled.loop import NO_STEP, step
from linsep.compiled.rows import add, square
from linsep.compiled.weights import vectors


class PassiveAggressiveRule(NamedTuple):
    """The smallest change that gives a margin of 1, limited by ``C`` or softened by ``soft``.

    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz and Y. Singer, Online passive-aggressive
    algorithms, JMLR 7 (2006): PA has an infinite C, PA-I a finite one, PA-II soft = 1 / (2C).
    The importance multiplies C; above 1 it moves the score to at most 1, or as far as an importance
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
        return NO_STEP
    # As in scikit-learn, the length excludes the constant feature, though it changes the score too.
    whole = length + weights.bias**2 * vectors(weights)
    if whole == 0.0 or (length == 0.0 and rule.soft == 0.0):
        return 1, 0
    amount = min(rule.C * importance, loss / (length + rule.soft / importance))
    if importance > 1.0:
        alone = min(rule.C, loss / (length + rule.soft))
        amount = min(amount, max(alone, loss / whole))
    add(rows, i, weights, amount * y)
    return 1, 1
