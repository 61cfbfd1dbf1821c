"""Winnow: multiplicative updates. Mistakes grow with the logarithm of the irrelevant features.

N. Littlestone, Learning quickly when irrelevant attributes abound, Machine Learning 2 (1988).
"""

from typing import NamedTuple

import numpy as np

from linsep.compiled.jit import generic
from linsep.compiled.loop import step
from linsep.compiled.rows import Csr, Dense, U, Unit
from linsep.compiled.weights import Column, Pair, Vector, begin, noted, put, value

# Weights are clipped to [1 / this, this], so that nothing overflows.
MOST = 1e150
MOST_LOG = np.log(MOST)


class WinnowRule(NamedTuple):
    """On a mistake, multiply weight j by promotion to the power of y x_j."""

    promotion: float


class BalancedWinnowRule(NamedTuple):
    """Winnow with weights of either sign, w = u - v, where u and v = 1 / u are learned by Winnow.

    So w = 2 sinh(L), and L changes by log(promotion) y x_j.
    """

    promotion: float


@generic(0)
def multiplied(rule, weight, power):
    """Return a weight multiplied by the promotion to this power."""


@multiplied.when(WinnowRule)
def _winnow_multiplied(rule, weight, power):
    return min(max(weight * rule.promotion**power, 1.0 / MOST), MOST)


@multiplied.when(BalancedWinnowRule)
def _balanced_multiplied(rule, weight, power):
    if power == 0.0:
        return weight
    log = np.arcsinh(0.5 * weight) + power * np.log(rule.promotion)
    return 2.0 * np.sinh(min(max(log, -MOST_LOG), MOST_LOG))


@generic(0)
def multiply(weights, j, rule, power):
    """Multiply weight j by ``rule``."""


@multiply.when(Vector, Column)
def _multiply_column(weights, j, rule, power):
    before = value(weights, weights.w, j)
    after = multiplied(rule, before, power)
    put(weights, weights.w, j, after)
    noted(weights.keep, weights, j, after - before)


@multiply.when(Pair)
def _multiply_pair(weights, j, rule, power):
    w, bias, keep, now = weights.w, weights.bias, weights.keep, weights.now
    multiply(Column(w, weights.plus, bias, keep, now), j, rule, power)
    multiply(Column(w, weights.minus, bias, keep, now), j, rule, -power)


@generic(0)
def promote(rows, i, weights, rule, power):
    """Multiply the weights of all features of row i, without the constant one."""


@promote.when(Dense)
def _dense_promote(rows, i, weights, rule, power):
    for j in range(U(rows.values.shape[1])):
        if rows.values[i, j] != 0.0:
            multiply(weights, j, rule, power * rows.values[i, j])


@promote.when(Csr)
def _sparse_promote(rows, i, weights, rule, power):
    for at in range(U(rows.starts[i]), U(rows.starts[i + U(1)])):
        multiply(weights, U(rows.columns[at]), rule, power * rows.values[at])


@promote.when(Unit)
def _scaled_promote(rows, i, weights, rule, power):
    promote(rows.rows, i, weights, rule, power * rows.scales[i])


@step.when(WinnowRule)
def _winnow(rule, weights, rows, i, y, score, wrong, importance):
    if not wrong:
        return 0, 0
    begin(weights)
    promote(rows, i, weights, rule, importance * y)
    return 1, 1


@step.when(BalancedWinnowRule)
def _balanced_winnow(rule, weights, rows, i, y, score, wrong, importance):
    if not wrong:
        return 0, 0
    power = importance * y
    begin(weights)
    promote(rows, i, weights, rule, power)
    multiply(weights, U(weights.w.shape[0] - 1), rule, power * weights.bias)
    return 1, 1
