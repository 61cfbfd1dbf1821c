"""Online logistic regression: one step per row, with a separate rate for each weight."""

from typing import NamedTuple

import numpy as np

from linsep.compiled.jit import generic, inlined
from linsep.compiled.loop import NO_STEP, step
from linsep.compiled.rows import U, entry, plain, scale, span
from linsep.compiled.weights import Column, Pair, Vector, begin, machine, nudge, put, value

#: largest value of a row, whose square is in floats
LARGEST = 1e150
#: largest sum of squares of gradients that is kept
MOST = 1e300


class OnlineLogisticRule(NamedTuple):
    """Steps on the logistic loss: AdaGrad, normalized, importance invariant.

    ``squares`` G_j and ``scales`` s_j have the shape of the weights: sums of the squares of
    gradients, and largest absolute values (in the first column for a joint rule). Per binary
    classifier: ``seen`` t, the examples, and ``lengths`` N, their sum of x_j^2 / s_j^2. ``signs``
    is a buffer for the factor of the row in each class.

    J. Duchi, E. Hazan and Y. Singer, JMLR 12 (2011), theorem 5; S. Ross, P. Mineiro and J.
    Langford, Normalized online learning, UAI (2013), algorithm 2; N. Karampatziakis and J.
    Langford, Online importance weight aware updates, UAI (2011), table 1.
    """

    learning_rate: float
    adaptive: bool
    rescale: bool
    invariant: bool
    l2: float
    squares: np.ndarray
    scales: np.ndarray
    seen: np.ndarray
    lengths: np.ndarray
    signs: np.ndarray


class Stride(NamedTuple):
    """The update of the weights by a row: w_j += ``move`` r_j v_j for the feature v_j of each part,
    and then w_j is divided by 1 + ``l2`` r_j. ``share`` is the probability of the wrong side, and
    ``rate`` the part of r_j that features have in common.
    """

    share: float
    importance: float
    rate: float
    move: float
    l2: float


@generic(0)
def parts(weights, rule):
    """Return the number of vectors that a row moves."""


@generic(0)
def part(weights, k):
    """Return the k-th vector that a row moves."""


@generic(0)
def sign(weights, rule, y, k):
    """Return the factor of a row in vector k."""


parts.when(Vector, Column)(lambda weights, rule: U(1))
part.when(Vector, Column)(lambda weights, k: weights)
sign.when(Vector, Column)(lambda weights, rule, y, k: y)
parts.when(Pair)(lambda weights, rule: U(rule.signs.size))
part.when(Pair)(lambda weights, k: Column(weights.w, k, weights.bias, weights.keep, weights.now))
sign.when(Pair)(lambda weights, rule, y, k: rule.signs[k])


@inlined
def _feature(values, factor, i, at, end, weights):
    """Return feature and value at a position of row i, the constant feature after the last."""
    if at < end:
        j, x = entry(values, i, at)
        return U(j), factor * x
    return U(weights.w.shape[0] - 1), weights.bias


@inlined
def _shrunk(rule, s, z):
    """Return the factor of a weight when the scale s of its feature grows to \\|z\\|."""
    if not rule.rescale or s == 0.0 or abs(z) <= s:
        return 1.0
    factor = s / abs(z)
    return factor if rule.adaptive else factor * factor


@inlined
def _seen(rule, weights, rows, i):
    """Return the largest size in row i, its sum of x_j^2 / s_j^2, and whether weights shrink."""
    values, factor, largest, total, shrinks = plain(rows), scale(rows, i), 0.0, 0.0, False
    at, end = span(values, i)
    while at <= end:
        j, z = _feature(values, factor, i, at, end, weights)
        if z != 0.0:
            s = value(part(weights, 0), rule.scales, j)
            largest = max(largest, abs(z))
            total += 1.0 if abs(z) >= s else (z / s) ** 2
            shrinks |= _shrunk(rule, s, z) != 1.0
        at += U(1)
    return largest, total, shrinks


@inlined
def _score(rule, weights, rows, i, k):
    """Return the score of row i in vector k after weights have shrunk."""
    values, factor, total = plain(rows), scale(rows, i), 0.0
    at, end = span(values, i)
    while at <= end:
        j, z = _feature(values, factor, i, at, end, weights)
        if z != 0.0:
            f = _shrunk(rule, value(part(weights, 0), rule.scales, j), z)
            own = part(weights, k)
            total += f * value(own, own.w, j) * z
        at += U(1)
    return total


@generic(0)
def margin(weights, rule, rows, i, y, score, shrinks):
    """Return the logit of the probability of the class of row i."""


@margin.when(Vector, Column)
def _margin_of_one(weights, rule, rows, i, y, score, shrinks):
    return y * (_score(rule, weights, rows, i, 0) if shrinks else score)


@margin.when(Pair)
def _margin_of_softmax(weights, rule, rows, i, y, score, shrinks):
    signs, own = rule.signs, weights.plus
    most = -np.inf
    for k in range(U(signs.size)):
        signs[k] = _score(rule, weights, rows, i, k) if shrinks else weights.scores[k]
        if k != own:
            most = max(most, signs[k])
    total, found = 0.0, signs[own] - most
    for k in range(U(signs.size)):
        signs[k] = np.exp(signs[k] - most) if k != own else 0.0
        total += signs[k]
    for k in range(U(signs.size)):
        signs[k] = -signs[k] / total if k != own else 1.0
    return found - np.log(total)


@inlined
def wrong_side(m):
    """Return 1 / (1 + exp(m)), the probability of the wrong side at margin m."""
    if m < 0.0:
        return 1.0 / (1.0 + np.exp(m))
    small = np.exp(-m)
    return small / (1.0 + small)


@inlined
def invariant_step(m, q):
    """Return d > 0 with d + e^m (e^d - 1) = q: how far steps of size q in all move a margin m.

    By Newton's method from above: the closed form with Lambert's W cancels and overflows.
    """
    # Both sides times e^-m for a positive m, so that nothing overflows.
    if m > 0.0:
        a, b = np.exp(-m), 1.0
        d = min(q, np.log1p(q * a))
    else:
        a, b = 1.0, np.exp(m)
        d = min(q, np.log(b + q) - m)
    for _ in range(100):
        grown = b * np.expm1(d) if d < 1.0 else np.exp(d + min(m, 0.0)) - b
        closer = d - (a * (d - q) + grown) / (a + b + grown)
        if abs(closer - d) <= 1e-16 * d:
            return closer
        d = closer
    return d


@inlined
def _square(rule, own, stride, j, v):
    """Return G_j after the gradient of this row."""
    grown = value(own, rule.squares, j) + stride.importance * (stride.share * v) ** 2
    return min(grown, MOST)


@inlined
def _rate(rule, stride, G, s):
    """Return r_j of a feature with the sum of squares G and the scale s, 0 for no step."""
    down = np.sqrt(G) if rule.adaptive else 1.0
    if rule.rescale:
        down *= s if rule.adaptive else s * s
    return stride.rate / down if down > 0.0 else 0.0


@inlined
def _slope(rule, weights, rows, i, y, stride):
    """Return the sum of r_j v_j^2 over all features and parts of row i."""
    values, factor, q = plain(rows), scale(rows, i), 0.0
    at, end = span(values, i)
    while at <= end:
        j, z = _feature(values, factor, i, at, end, weights)
        if z != 0.0:
            s = max(abs(z), value(part(weights, 0), rule.scales, j))
            for k in range(parts(weights, rule)):
                v = sign(weights, rule, y, k) * z
                q += _rate(rule, stride, _square(rule, part(weights, k), stride, j, v), s) * v * v
        at += U(1)
    return q


@inlined
def _stride(rule, weights, rows, i, y, stride):
    """Change scales, squares and weights by row i."""
    values, factor, last = plain(rows), scale(rows, i), U(weights.w.shape[0] - 1)
    at, end = span(values, i)
    while at <= end:
        j, z = _feature(values, factor, i, at, end, weights)
        if z != 0.0:
            s = value(part(weights, 0), rule.scales, j)
            f, s = _shrunk(rule, s, z), max(abs(z), s)
            put(part(weights, 0), rule.scales, j, s)
            for k in range(parts(weights, rule)):
                own, v = part(weights, k), sign(weights, rule, y, k) * z
                G = _square(rule, own, stride, j, v)
                rate, before = _rate(rule, stride, G, s), value(own, own.w, j)
                put(own, rule.squares, j, G)
                after = f * before + stride.move * rate * v
                if j != last:
                    after /= 1.0 + stride.l2 * rate
                nudge(own, j, after - before)
        at += U(1)


@step.when(OnlineLogisticRule)
def _online_logistic(rule, weights, rows, i, y, score, wrong, importance):
    largest, length, shrinks = _seen(rule, weights, rows, i)
    m = margin(weights, rule, rows, i, y, score, shrinks)
    if not (largest <= LARGEST and abs(m) < np.inf):
        return NO_STEP
    number = machine(weights)
    seen, length = rule.seen[number] + importance, rule.lengths[number] + importance * length
    rate, share = rule.learning_rate, wrong_side(m)
    if rule.rescale and length > 0.0:
        rate *= np.sqrt(seen / length) if rule.adaptive else seen / length
    still = Stride(share, importance, rate, 0.0, 0.0)
    q = _slope(rule, weights, rows, i, y, still)
    if not q * importance < np.inf:
        return NO_STEP
    rule.seen[number], rule.lengths[number] = seen, length
    moves = q > 0.0
    if moves or shrinks:
        begin(weights)
    move = importance * share
    if moves and rule.invariant:
        move = invariant_step(m, importance * q) / q
    l2 = importance * rule.l2 if moves else 0.0
    _stride(rule, weights, rows, i, y, Stride(share, importance, rate, move, l2))
    return int(wrong), int(moves)
