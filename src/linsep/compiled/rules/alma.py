"""ALMA: steps of decreasing size, with weights of length at most 1.

Scaling the weights at each step would cost a pass over all of them. The weights of a binary
classifier are therefore stored divided by a ``factor``, and only the factor is scaled.
"""

from typing import Any, NamedTuple

import numpy as np

from linsep.compiled.jit import generic, inlined
from linsep.compiled.loop import NO_STEP, factor, step
from linsep.compiled.rows import U, add, square
from linsep.compiled.weights import (
    Average,
    Best,
    Last,
    Vote,
    add_constant,
    begin,
    copied,
    elapsed,
    machine,
    noted,
    nudge,
    put,
    replaced,
    scattered,
    shift,
    value,
    written,
)

#: smaller factors are multiplied into the weights, before sums of changes lose digits; that is
#: seldom, as steps get smaller
SMALL = 1e-3
#: the smallest factor of weights that all vote
SMALLEST = 1e-100


class ALMARule(NamedTuple):
    """Correct rows of length 1 whose margin is small: w += C y x / sqrt(k), w /= max(1, ||w||).

    The margin of correction k is small if it is at most ``reach`` / sqrt(k). Per binary classifier:
    ``corrections``, their number so far; ``squares`` ||w||^2; ``factors`` of the stored weights;
    ``elapsed``, the sum of the factors over all steps up to the last correction, which was in step
    ``since``. C. Gentile, A new approximate maximal margin classification algorithm, JMLR 2 (2001).
    """

    reach: float
    C: float
    corrections: np.ndarray
    squares: np.ndarray
    factors: np.ndarray
    elapsed: np.ndarray
    since: np.ndarray


@factor.when(ALMARule)
def _factor(rule, k):
    return rule.factors[k]


class Scaled(NamedTuple):
    """The ``weights`` of a binary classifier, stored divided by ``factor``."""

    weights: Any
    factor: float
    elapsed: float
    keep: Any
    now: int


@machine.when(Scaled)
def _machine(scaled):
    return machine(scaled.weights)


@elapsed.when(Scaled)
def _elapsed(scaled):
    return scaled.elapsed


@scattered.when(Scaled)
def _scattered(scaled):
    return scattered(scaled.weights)


@shift.when(Scaled)
def _shift(scaled, array, j, amount):
    shift(scaled.weights, array, j, amount)


@written.when(Scaled)
def _written(scaled, keep, j, amount):
    written(scaled.weights, keep, j, amount)


@copied.when(Scaled)
def _copied(scaled, array):
    own = scaled.weights
    for j in range(U(own.w.shape[0])):
        put(own, array, j, scaled.factor * value(own, own.w, j))


@begin.when(Scaled)
def _begin(scaled):
    replaced(scaled.keep, scaled)


@nudge.when(Scaled)
def _nudge(scaled, j, amount):
    own = scaled.weights
    shift(own, own.w, j, amount)
    noted(scaled.keep, scaled, j, amount)


@add_constant.when(Scaled)
def _add_constant(scaled, amount):
    own = scaled.weights
    nudge(scaled, U(own.w.shape[0] - 1), amount * own.bias)


@generic(0)
def folded(keep, weights, rule, m):
    """Multiply the factor of a binary classifier into its weights, unless all versions vote; return
    whether the factor is large enough.
    """


@inlined
def _multiplied(weights, rule, m):
    for j in range(U(weights.w.shape[0])):
        put(weights, weights.w, j, rule.factors[m] * value(weights, weights.w, j))
    rule.factors[m] = 1.0
    return True


def _fold(keep, weights, rule, m):
    return _multiplied(weights, rule, m)


folded.when(Last)(_fold)
folded.when(Best)(_fold)


@folded.when(Average)
def _fold_average(keep, weights, rule, m):
    # The sum of the weights over all rounds so far, minus which the new sums begin.
    for j in range(U(weights.w.shape[0])):
        shift(weights, keep.sums, j, -rule.elapsed[m] * value(weights, weights.w, j))
    rule.elapsed[m] = 0.0
    return _multiplied(weights, rule, m)


@folded.when(Vote)
def _not_folded(keep, weights, rule, m):
    # Versions are sums of changes, which cannot be multiplied afterwards; they need no digits more
    # than their signs do.
    return rule.factors[m] > SMALLEST


@step.when(ALMARule)
def _alma(rule, weights, rows, i, y, score, wrong, importance):
    m, length = machine(weights), np.sqrt(square(rows, i) + weights.bias**2)
    if not 0.0 < length < np.inf:
        return NO_STEP
    reached, root = y * score / length, np.sqrt(rule.corrections[m] + 1.0)
    if not wrong and reached > rule.reach / root:
        return 0, 0
    rule.elapsed[m] += (weights.now - rule.since[m]) * rule.factors[m]
    rule.since[m] = weights.now
    if rule.factors[m] < SMALL and not folded(weights.keep, weights, rule, m):
        return NO_STEP
    rate, own = importance * rule.C / root, rule.factors[m]
    scaled = Scaled(weights, own, rule.elapsed[m], weights.keep, weights.now)
    add(rows, i, scaled, y * rate / length / own)
    rule.corrections[m] += 1
    rule.squares[m] += 2.0 * rate * reached + rate * rate
    if rule.squares[m] > 1.0:
        rule.factors[m] /= np.sqrt(rule.squares[m])
        rule.squares[m] = 1.0
    return 1, 1
