"""Learners with a variance for each weight: the smaller the variance, the shorter the steps.

Weight j has the variance 1 / (1 + known_j), where ``known`` has the shape of the weights: known_j
is the sum of z_j^2 / r over the rows observed with noise of variance r.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from linsep.compiled.jit import generic, inlined
from linsep.compiled.loop import NO_STEP, step
from linsep.compiled.rows import U, entry, plain, scale, span
from linsep.compiled.weights import Column, Pair, Vector, begin, nudge, shift, value

#: what one row adds to what is known of a weight, at most: sums stay finite
MOST = 1e300


class AROWRule(NamedTuple):
    """Adaptive regularization of weights; ``r`` is the variance of the noise of a row.

    K. Crammer, A. Kulesza and M. Dredze, Adaptive regularization of weight vectors, NIPS (2009).
    """

    r: float
    known: np.ndarray


class SCWRule(NamedTuple):
    """Soft confidence-weighted learning.

    A row is right with the required probability if its margin is ``phi`` standard deviations. J.
    Wang, P. Zhao and S. Hoi, Exact soft confidence-weighted learning, ICML (2012).
    """

    phi: float
    C: float
    known: np.ndarray


@inlined
def _sides(pair):
    plus = Column(pair.w, pair.plus, pair.bias, pair.keep, pair.now)
    return plus, Column(pair.w, pair.minus, pair.bias, pair.keep, pair.now)


@inlined
def _variance(weights, known, j):
    return 1.0 / (1.0 + value(weights, known, j))


@inlined
def _score_variance(weights, rows, i, known):
    """Return the variance of the score of row i with its constant feature."""
    values, factor, total = plain(rows), scale(rows, i), 0.0
    at, end = span(values, i)
    while at < end:
        j, x = entry(values, i, at)
        total += (factor * x) * (factor * x) * _variance(weights, known, j)
        at += U(1)
    last = U(weights.w.shape[0] - 1)
    return total + weights.bias * weights.bias * _variance(weights, known, last)


@generic(0)
def score_variances(weights, rows, i, known):
    """Return the variance of the score of row i in the one or the two vectors of ``weights``."""


@score_variances.when(Vector, Column)
def _of_one(weights, rows, i, known):
    return _score_variance(weights, rows, i, known), 0.0


@score_variances.when(Pair)
def _of_pair(weights, rows, i, known):
    plus, minus = _sides(weights)
    return _score_variance(plus, rows, i, known), _score_variance(minus, rows, i, known)


@generic(0)
def move(weights, known, j, z, amount, r):
    """Change the weight of feature j and its variance, as :func:`_observe` says."""


@move.when(Vector, Column)
def _move_one(weights, known, j, z, amount, r):
    nudge(weights, j, amount * _variance(weights, known, j) * z)
    shift(weights, known, j, min(z * z / r, MOST))


@move.when(Pair)
def _move_both(weights, known, j, z, amount, r):
    plus, minus = _sides(weights)
    move(plus, known, j, z, amount, r)
    move(minus, known, j, z, -amount, r)


@inlined
def _observe(weights, rows, i, known, amount, r):
    """Add ``amount`` times variance times feature to the weights; observe row i with noise r."""
    begin(weights)
    values, factor = plain(rows), scale(rows, i)
    at, end = span(values, i)
    while at < end:
        j, x = entry(values, i, at)
        if x != 0.0:
            move(weights, known, j, factor * x, amount, r)
        at += U(1)
    if weights.bias != 0.0:
        move(weights, known, U(weights.w.shape[0] - 1), weights.bias, amount, r)


@step.when(AROWRule)
def _arow(rule, weights, rows, i, y, score, wrong, importance):
    if y * score >= 1.0:
        return 0, 0
    plus, minus = score_variances(weights, rows, i, rule.known)
    v, r = plus + minus, rule.r / importance
    if not v < np.inf:
        return NO_STEP
    if v == 0.0:
        return int(wrong), 0
    _observe(weights, rows, i, rule.known, y * (1.0 - y * score) / (v + r), r)
    return int(wrong), 1


@step.when(SCWRule)
def _scw(rule, weights, rows, i, y, score, wrong, importance):
    v = _score_variance(weights, rows, i, rule.known)
    if not v < np.inf:
        return NO_STEP
    deviation, phi, C = sqrt(v), rule.phi, rule.C * importance
    if deviation == 0.0 or phi * deviation <= y * score:
        return int(wrong), 0
    # The margin in standard deviations: proposition 1, divided by a power of the deviation.
    t = y * score / deviation
    root = phi * sqrt(phi * phi * t * t + 4.0 * (1.0 + phi * phi))
    slope = (2.0 + phi * phi) * t
    if t > 0.0:  # the same without a difference of almost equal numbers
        alpha = 2.0 * (phi - t) * (phi + t) / (deviation * (root + slope))
    else:
        alpha = (root - slope) / (2.0 * deviation * (1.0 + phi * phi))
    alpha = min(C, alpha)
    if alpha == 0.0:
        return int(wrong), 0
    # What a row teaches of the variances, alpha phi / sqrt(u), is one over the noise of AROW's.
    part = alpha * deviation * phi
    after = 2.0 * deviation / (sqrt(part * part + 4.0) + part)  # sqrt(u)
    _observe(weights, rows, i, rule.known, y * alpha, after / (alpha * phi))
    return int(wrong), 1
