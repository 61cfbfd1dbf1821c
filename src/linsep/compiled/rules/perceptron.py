"""The perceptron, and its learning rate at the k-th update of a binary classifier, k = 1, 2, ..."""

from typing import Any, NamedTuple

import numpy as np

from linsep.compiled.jit import compiled, generic
from linsep.compiled.loop import Binary, Native, OneVsOne, OneVsRest, step
from linsep.compiled.rows import U, add
from linsep.compiled.weights import Column, Deferred, Pair, Vector, begin, machine, nudge


class Constant(NamedTuple):
    """The same rate at every update."""

    first: float


class Inverse(NamedTuple):
    """first / k; ``updates`` counts the updates of each binary classifier."""

    first: float
    updates: np.ndarray


class InverseRoot(NamedTuple):
    """first / sqrt(k)."""

    first: float
    updates: np.ndarray


class Table(NamedTuple):
    """``rates[k]``, precomputed for the largest possible number of updates."""

    rates: np.ndarray
    updates: np.ndarray


@generic(0)
def rate(schedule, m):
    """Return the rate of the next update of binary classifier m, and count it."""


rate.when(Constant)(lambda schedule, m: schedule.first)


@rate.when(Inverse)
def _inverse(schedule, m):
    schedule.updates[m] += 1
    return schedule.first / schedule.updates[m]


@rate.when(InverseRoot)
def _inverse_root(schedule, m):
    schedule.updates[m] += 1
    return schedule.first / np.sqrt(schedule.updates[m])


@rate.when(Table)
def _table(schedule, m):
    schedule.updates[m] += 1
    return schedule.rates[schedule.updates[m]]


@compiled
def apply_batch_update(scheme, keep, W, bias, sums, amounts, now):
    """Add ``amounts[m]`` times ``sums`` to the weights of each binary classifier m with a nonzero
    amount, after ``now`` possible updates; the others are as for
    :func:`linsep.compiled.loop.pass_loop`.
    """
    applied_update(scheme, keep, W, bias, sums, amounts, now)


@generic(0)
def applied_update(scheme, keep, W, bias, sums, amounts, now):
    """Apply a batch update to all binary classifiers (see :func:`apply_batch_update`)."""


@applied_update.when(Binary)
def _binary_applied(scheme, keep, W, bias, sums, amounts, now):
    weights = Vector(W, bias, keep, now)
    begin(weights)
    for j in range(U(W.shape[0])):
        nudge(weights, j, amounts[0] * sums[j])


@applied_update.when(OneVsRest, OneVsOne)
def _columns_applied(scheme, keep, W, bias, sums, amounts, now):
    for k in range(amounts.size):
        if amounts[k] != 0.0:
            weights = Column(W, k, bias, keep, now)
            begin(weights)
            for j in range(U(W.shape[0])):
                nudge(weights, j, amounts[k] * sums[j, k])


@applied_update.when(Native)
def _native_applied(scheme, keep, W, bias, sums, amounts, now):
    begin(Pair(W, U(0), U(0), bias, keep, now, scheme.scores))
    for k in range(scheme.classes):
        weights = Column(W, k, bias, keep, now)
        for j in range(U(W.shape[0])):
            nudge(weights, j, amounts[0] * sums[j, k])


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
    """The batch perceptron: the mistakes of a pass are summed and added at its end.

    ``sums`` has the shape of the weights, ``mistakes`` counts the mistakes of each binary
    classifier, ``criterion[0]`` is J_p, the sum of -y times the score over the misclassified rows.
    R. Duda, P. Hart and D. Stork, Pattern Classification (2001), section 5.5.
    """

    sums: np.ndarray
    mistakes: np.ndarray
    criterion: np.ndarray


@step.when(BatchRule)
def _batch(rule, weights, rows, i, y, score, wrong, importance):
    if not wrong:
        return 0, 0
    rule.criterion[0] -= importance * y * score
    rule.mistakes[machine(weights)] += 1
    sums = Deferred(weights, rule.sums, weights.w, weights.bias)
    add(rows, i, sums, importance * y)
    return 1, 0


class SparingRule(NamedTuple):
    """A rule for which a score of zero is correct if y is -1, and with ``both`` also if y is +1.

    ``spared`` counts such scores of each binary classifier since its last update.
    """

    rule: Any
    both: bool
    spared: np.ndarray


@step.when(SparingRule)
def _sparing(rule, weights, rows, i, y, score, wrong, importance):
    m = machine(weights)
    if score == 0.0 and (rule.both or y < 0.0):
        rule.spared[m] += 1
        return 0, 0
    mistake, updated = step(rule.rule, weights, rows, i, y, score, wrong, importance)
    if updated:
        rule.spared[m] = 0
    return mistake, updated
