"""Learners that know how sure they are of each weight: the smaller its variance, the shorter its
steps.
"""

from typing import NamedTuple

import numpy as np

from linsep.compiled.jit import generic, inlined
from linsep.compiled.loop import NO_STEP, step
from linsep.compiled.rows import Csr, Dense, U, Unit, entry, span
from linsep.compiled.weights import Column, Pair, Vector, begin, nudge, shift

#: what one row adds to what is known of a weight, at most: sums stay finite
MOST = 1e300


class AROWRule(NamedTuple):
    """Adaptive regularization of weights with a diagonal covariance.

    ``r`` is the variance of the noise of a row. ``known`` has the shape of the weights: weight j
    has the variance 1 / (1 + known_j), and known_j is the sum of z_j^2 / r over its updates.
    With ``drop`` an update leaves the variance that the update of a whole matrix would.
    K. Crammer, A. Kulesza and M. Dredze, Adaptive regularization of weight vectors, NIPS (2009).
    """

    r: float
    drop: bool
    known: np.ndarray


@generic(0)
def plain(rows):
    """Return rows without their scales."""


@generic(0)
def scale(rows, i):
    """Return what the values of row i are multiplied by."""


@plain.when(Dense)
@plain.when(Csr)
def _plain_as_is(rows):
    return rows


@plain.when(Unit)
def _plain_of_unit(rows):
    return rows.rows


@scale.when(Dense)
@scale.when(Csr)
def _no_scale(rows, i):
    return 1.0


@scale.when(Unit)
def _scale_of_unit(rows, i):
    return rows.scales[i]


@generic(0)
def variance(weights, known, j):
    """Return the variance of the weight of feature j."""


@variance.when(Vector)
def _variance_in_vector(weights, known, j):
    return 1.0 / (1.0 + known[j])


@variance.when(Column)
def _variance_in_column(weights, known, j):
    return 1.0 / (1.0 + known[j, weights.k])


@inlined
def _score_variance(rows, i, weights, known):
    """Return z'Sigma z of row i with its constant feature."""
    values, factor, total = plain(rows), scale(rows, i), 0.0
    at, end = span(values, i)
    while at < end:
        j, x = entry(values, i, at)
        total += (factor * x) * (factor * x) * variance(weights, known, j)
        at += U(1)
    last = U(weights.w.shape[0] - 1)
    return total + weights.bias * weights.bias * variance(weights, known, last)


@generic(0)
def score_variances(weights, rows, i, known):
    """Return z'Sigma z of row i in the one or the two vectors of ``weights``."""


def _of_one(weights, rows, i, known):
    return _score_variance(rows, i, weights, known), 0.0


score_variances.when(Vector)(_of_one)
score_variances.when(Column)(_of_one)


@score_variances.when(Pair)
def _of_pair(weights, rows, i, known):
    plus, minus = _sides(weights)
    return _score_variance(rows, i, plus, known), _score_variance(rows, i, minus, known)


@inlined
def _sides(pair):
    plus = Column(pair.w, pair.plus, pair.bias, pair.keep, pair.now)
    return plus, Column(pair.w, pair.minus, pair.bias, pair.keep, pair.now)


class Gain(NamedTuple):
    """What an update of :class:`AROWRule` does with a feature z: w += ``amount`` s z, and then z
    counts as observed with noise of variance ``r``; ``own`` are the variances of the score.
    """

    rule: AROWRule
    amount: float
    r: float
    own: tuple


@inlined
def _move(weights, gain, j, z, amount, own):
    s = variance(weights, gain.rule.known, j)
    nudge(weights, j, amount * s * z)
    more = z * z / gain.r
    if gain.rule.drop:
        # 1 / (s - s^2 z^2 / (own + r)) - 1 / s, where own is at least s z^2 but for rounding.
        more = z * z / max(own + gain.r - s * z * z, gain.r)
    shift(weights, gain.rule.known, j, min(more, MOST))


@generic(0)
def move(weights, gain, j, z):
    """Change the weight of feature j, and what is known of it."""


def _move_one(weights, gain, j, z):
    _move(weights, gain, j, z, gain.amount, gain.own[0])


move.when(Vector)(_move_one)
move.when(Column)(_move_one)


@move.when(Pair)
def _move_both(weights, gain, j, z):
    plus, minus = _sides(weights)
    _move(plus, gain, j, z, gain.amount, gain.own[0])
    _move(minus, gain, j, z, -gain.amount, gain.own[1])


@step.when(AROWRule)
def _arow(rule, weights, rows, i, y, score, wrong, importance):
    left = 1.0 - y * score
    if left <= 0.0:
        return 0, 0
    own = score_variances(weights, rows, i, rule.known)
    v, r = own[0] + own[1], rule.r / importance
    if not v < np.inf:
        return NO_STEP
    if v == 0.0:
        return int(wrong), 0
    gain = Gain(rule, y * left / (v + r), r, own)
    begin(weights)
    values, factor = plain(rows), scale(rows, i)
    at, end = span(values, i)
    while at < end:
        j, x = entry(values, i, at)
        if x != 0.0:
            move(weights, gain, j, factor * x)
        at += U(1)
    if weights.bias != 0.0:
        move(weights, gain, U(weights.w.shape[0] - 1), weights.bias)
    return int(wrong), 1
