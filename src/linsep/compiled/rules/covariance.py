"""The uncertainty of weights: their variances, or a full covariance matrix."""

from typing import NamedTuple

import numpy as np

from linsep.compiled.jit import generic, inlined
from linsep.compiled.rows import Csr, Dense, U, dot, entry, plain, scale, span
from linsep.compiled.weights import Column, Pair, Vector, begin, machine, nudge, shift

#: what one row adds to what is known of a weight, at most: sums stay finite
MOST = 1e300
#: least noise of a row beside a matrix: what divides by it stays finite
LEAST = 1e-300


class Diagonal(NamedTuple):
    """Variances without covariances: weight j has variance 1 / (1 + known_j).

    ``known`` has the shape of the weights: known_j is the sum of z_j^2 / r over the rows observed
    with noise of variance r. With ``drop``, variances follow the diagonal of a full-matrix update.
    """

    known: np.ndarray
    drop: bool


class Full(NamedTuple):
    """The covariance U D U' of the weights of each binary classifier, with a unit upper triangular
    U.

    D_j is 1 / (1 + known_j), where ``known`` has the shape of the weights. ``mixed`` has one square
    for every column of the weights, with U_ij in row j and column i, zeros where i >= j. The
    factors make a variance that is a sum of squares: rounding cannot make it negative. A row of
    ``projected`` (with room for two) is U'z; ``gain`` becomes Sigma z. G. J. Bierman, Measurement
    updating using the U-D factorization, Automatica 12 (1976).
    """

    known: np.ndarray
    mixed: np.ndarray
    projected: np.ndarray
    gain: np.ndarray


@generic(0)
def variance(weights, known, j):
    """Return the variance of the weight of feature j; with a matrix, D_j."""


@variance.when(Vector)
def _variance_in_vector(weights, known, j):
    return 1.0 / (1.0 + known[j])


@variance.when(Column)
def _variance_in_column(weights, known, j):
    return 1.0 / (1.0 + known[j, weights.k])


@inlined
def _sides(pair):
    plus = Column(pair.w, pair.plus, pair.bias, pair.keep, pair.now)
    return plus, Column(pair.w, pair.minus, pair.bias, pair.keep, pair.now)


@generic(0)
def spread(covariance, weights, rows, i):
    """Return z'Sigma z of row i in the one or the two vectors of ``weights``."""


@generic(0)
def observe(covariance, weights, rows, i, amount, r, own):
    """Add ``amount`` Sigma z to the weights, and then update the covariance by an observation of
    row i with noise of variance ``r``; ``own`` is the result of :func:`spread` for it.
    """


# Variances.


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


@spread.when(Diagonal)
def _diagonal_spread(covariance, weights, rows, i):
    return score_variances(weights, rows, i, covariance.known)


class Gain(NamedTuple):
    """The update of a feature z: w += ``amount`` s z, and then z is observed with noise of variance
    ``r``; ``own`` are the variances of the score.
    """

    covariance: Diagonal
    amount: float
    r: float
    own: tuple


@inlined
def _move(weights, gain, j, z, amount, own):
    known = gain.covariance.known
    s = variance(weights, known, j)
    nudge(weights, j, amount * s * z)
    more = z * z / gain.r
    if gain.covariance.drop:
        # 1 / (s - s^2 z^2 / (own + r)) - 1 / s, where own is at least s z^2 but for rounding.
        more = z * z / max(own + gain.r - s * z * z, gain.r)
    shift(weights, known, j, min(more, MOST))


@generic(0)
def move(weights, gain, j, z):
    """Change the weight of feature j and its variance."""


def _move_one(weights, gain, j, z):
    _move(weights, gain, j, z, gain.amount, gain.own[0])


move.when(Vector)(_move_one)
move.when(Column)(_move_one)


@move.when(Pair)
def _move_both(weights, gain, j, z):
    plus, minus = _sides(weights)
    _move(plus, gain, j, z, gain.amount, gain.own[0])
    _move(minus, gain, j, z, -gain.amount, gain.own[1])


@observe.when(Diagonal)
def _observe_variances(covariance, weights, rows, i, amount, r, own):
    gain = Gain(covariance, amount, r, own)
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


# Matrices.


@generic(0)
def multiply(rows, i, factor, mixed, f):
    """Turn f, the z of row i of unscaled ``rows``, into U'z."""


@multiply.when(Dense)
def _multiply_dense(rows, i, factor, mixed, f):
    # Backwards, f is still z before j; from there on the row of the square is zero.
    for back in range(U(f.size)):
        j = U(f.size) - U(1) - back
        f[j] += dot(Dense(mixed, f), j, f)


@multiply.when(Csr)
def _multiply_sparse(rows, i, factor, mixed, f):
    begun, end = span(rows, i)
    for j in range(U(f.size)):
        at, total = begun, 0.0
        while at < end:
            k, x = entry(rows, i, at)
            total += mixed[j, k] * (factor * x)
            at += U(1)
        f[j] += total


@inlined
def _project(covariance, weights, rows, i, side):
    """Let a row of ``projected`` be U'z, and return z'Sigma z."""
    f, values, factor = covariance.projected[side], plain(rows), scale(rows, i)
    for j in range(U(f.size)):
        f[j] = 0.0
    at, end = span(values, i)
    while at < end:
        j, x = entry(values, i, at)
        f[j] += factor * x
        at += U(1)
    f[U(f.size - 1)] += weights.bias
    multiply(values, i, factor, covariance.mixed[machine(weights)], f)
    total = 0.0
    for j in range(U(f.size)):
        total += f[j] * variance(weights, covariance.known, j) * f[j]
    return total


@inlined
def _observe(covariance, weights, amount, r, side):
    mixed, f = covariance.mixed[machine(weights)], covariance.projected[side]
    gain = covariance.gain
    total = max(r, LEAST)  # the noise and the variance of the score by the features before j
    for j in range(U(f.size)):
        gain[j] = 0.0
        if f[j] != 0.0:
            own, inverse = f[j] * variance(weights, covariance.known, j), 1.0 / total
            for i in range(j):
                old = mixed[j, i]
                mixed[j, i] = old - f[j] * (gain[i] * inverse)
                gain[i] += old * own
            gain[j] = own
            shift(weights, covariance.known, j, min(f[j] * (f[j] * inverse), MOST))
            total += f[j] * own
    for j in range(U(f.size)):
        if gain[j] != 0.0:
            nudge(weights, j, amount * gain[j])


@generic(0)
def project(weights, covariance, rows, i):
    """Project row i for the one or the two vectors of ``weights``, as :func:`spread` does."""


def _project_one(weights, covariance, rows, i):
    return _project(covariance, weights, rows, i, 0), 0.0


@generic(0)
def learn_projected(weights, covariance, amount, r):
    """Learn the row that was projected last, as :func:`observe` does."""


def _learn_one(weights, covariance, amount, r):
    begin(weights)
    _observe(covariance, weights, amount, r, 0)


for _kind in (Vector, Column):
    project.when(_kind)(_project_one)
    learn_projected.when(_kind)(_learn_one)


@project.when(Pair)
def _project_both(weights, covariance, rows, i):
    plus, minus = _sides(weights)
    own = _project(covariance, plus, rows, i, 0)
    return own, _project(covariance, minus, rows, i, 1)


@learn_projected.when(Pair)
def _learn_both(weights, covariance, amount, r):
    begin(weights)
    plus, minus = _sides(weights)
    _observe(covariance, plus, amount, r, 0)
    _observe(covariance, minus, -amount, r, 1)


@spread.when(Full)
def _full_spread(covariance, weights, rows, i):
    return project(weights, covariance, rows, i)


@observe.when(Full)
def _observe_matrix(covariance, weights, rows, i, amount, r, own):
    learn_projected(weights, covariance, amount, r)
