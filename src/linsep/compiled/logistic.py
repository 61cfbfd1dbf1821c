"""Loops of logistic regression over blocks of rows.

With q rows of weights, class code q is the reference, whose scores are zero.
"""

import numpy as np

from linsep.compiled.jit import compiled, generic, inlined
from linsep.compiled.rows import Csr, Dense, U


@generic(0)
def standardize(rows, first, Z, centers, scales):
    """Write (x - center) * scale of the rows from ``first`` on to Z.

    The difference is computed first, so that a spread far below the center keeps its digits.
    """


@standardize.when(Dense)
def _standardize_dense(rows, first, Z, centers, scales):
    for i in range(U(Z.shape[0])):
        for j in range(U(rows.values.shape[1])):
            Z[i, j] = (rows.values[U(first) + i, j] - centers[j]) * scales[j]


@standardize.when(Csr)
def _standardize_sparse(rows, first, Z, centers, scales):
    Z[:] = 0.0
    for i in range(Z.shape[0]):
        for at in range(U(rows.starts[first + i]), U(rows.starts[first + i + 1])):
            Z[U(i), U(rows.columns[at])] += rows.values[at]
        for j in range(U(centers.size)):
            Z[U(i), j] = (Z[U(i), j] - centers[j]) * scales[j]


@compiled
def standardized(rows, first, Z, centers, scales):
    """Fill Z with (x - center) * scale for every feature, and 1 in a column beyond the last."""
    standardize(rows, first, Z, centers, scales)
    for i in range(U(Z.shape[0])):
        for j in range(U(centers.size), U(Z.shape[1])):
            Z[i, j] = 1.0


@inlined
def _sides(score):
    """Return ln(1 + exp(-|score|)), and 1 / (1 + exp(-|score|)) with its complement."""
    small = np.exp(-abs(score))
    large = 1.0 / (1.0 + small)
    return np.log1p(small), large, small * large


@compiled
def two_classes(scores, codes, weights, first, residuals, curvature):
    """Return the log-likelihood of rows of class 0 or reference 1; write residuals and curvature.

    Residuals are w (y - p), curvature w p (1 - p). Empty ``weights`` are all 1.
    """
    total = 0.0
    for i in range(scores.size):
        weight = weights[first + i] if weights.size else 1.0
        log_sum, large, small = _sides(scores[i])
        p, rest = (large, small) if scores[i] >= 0.0 else (small, large)
        own = codes[first + i] == 0
        total -= weight * (log_sum + (0.0 if own == (scores[i] >= 0.0) else abs(scores[i])))
        residuals[i] = weight * (rest if own else -p)
        curvature[i] = weight * large * small
    return total


@compiled
def times(Z, factors, out):
    """Write every row of Z times its factor to ``out``, which may be Z."""
    for i in range(Z.shape[0]):
        for j in range(Z.shape[1]):
            out[i, j] = Z[i, j] * factors[i]


@inlined
def inverse_of_few(matrix, least):
    """Return the inverse of a positive definite matrix of few columns and the logarithm of its
    determinant, by the Cholesky factor of the matrix scaled to a unit diagonal, and whether all
    pivots of that are at least ``least``.
    """
    n, log_det = matrix.shape[0], 0.0
    factor, inverse, roots = np.zeros((n, n)), np.zeros((n, n)), np.empty(n)
    for j in range(n):
        if not 0.0 < matrix[j, j] < np.inf:
            return inverse, log_det, False
        roots[j] = 1.0 / np.sqrt(matrix[j, j])
    for j in range(n):
        for i in range(j, n):
            left = matrix[i, j] * roots[i] * roots[j]
            for k in range(j):
                left -= factor[i, k] * factor[j, k]
            if i > j:
                factor[i, j] = left / factor[j, j]
            elif left >= least * least:
                factor[j, j] = np.sqrt(left)
                log_det += np.log(left) - 2.0 * np.log(roots[j])
            else:
                return inverse, log_det, False
    for j in range(n):  # the inverse of the factor, in its place
        factor[j, j] = 1.0 / factor[j, j]
        for i in range(j + 1, n):
            left = 0.0
            for k in range(j, i):
                left -= factor[i, k] * factor[k, j]
            factor[i, j] = left / factor[i, i]
    for i in range(n):
        for j in range(i + 1):
            whole = 0.0
            for k in range(i, n):
                whole += factor[k, i] * factor[k, j]
            inverse[i, j] = inverse[j, i] = whole * roots[i] * roots[j]
    return inverse, log_det, np.isfinite(inverse).all()


@compiled
def inverses_of_few(matrices, least):
    """Return what :func:`inverse_of_few` returns of every matrix of a stack, as three arrays."""
    found, log_dets = np.empty_like(matrices), np.empty(len(matrices))
    fine = np.empty(len(matrices), dtype=np.bool_)
    for k in range(len(matrices)):
        found[k], log_dets[k], fine[k] = inverse_of_few(matrices[k], least)
    return found, log_dets, fine


@compiled
def terms_of_few(Z, codes, weights, offset, B, least, penalized):
    """Return the log-likelihoods of few rows and columns of two classes at each row of weights of
    B, with Firth's penalty if ``penalized``, their gradients, the information matrices, the
    likelihoods without the penalty, and the penalty's part of the gradients. A penalized value is
    -inf where the information is singular.
    """
    many, n = B.shape
    plain, values, gradients = np.zeros(many), np.zeros(many), np.zeros((many, n))
    curvatures, pulls = np.zeros((many, n, n)), np.zeros((many, n))
    residuals, curvature, room = np.empty(len(Z)), np.empty(len(Z)), np.empty_like(Z)
    for k in range(many):
        scores = np.dot(Z, B[k])
        if offset.size:
            scores += offset
        plain[k] = two_classes(scores, codes, weights, 0, residuals, curvature)
        times(Z, curvature, room)
        curvatures[k] = np.dot(room.T, Z)
        gradients[k] = np.dot(residuals, Z)
        values[k] = plain[k]
        if not penalized:
            continue
        inverse, log_det, fine = inverse_of_few(curvatures[k], least)
        values[k] = plain[k] + 0.5 * log_det if fine else -np.inf
        if not fine:
            gradients[k] = 0.0
            continue
        parts = np.dot(Z, inverse)
        for i in range(len(Z)):  # the derivative of half the logarithm of the determinant
            length = 0.0
            for j in range(n):
                length += parts[i, j] * Z[i, j]
            small = np.exp(-abs(scores[i]))
            half = 0.5 * (1.0 - small) / (1.0 + small)
            residuals[i] = curvature[i] * length * (-half if scores[i] >= 0.0 else half)
        pulls[k] = np.dot(residuals, Z)
        gradients[k] += pulls[k]
    return values, gradients, curvatures, plain, pulls


@inlined
def _shares(scores, code, weight):
    """Turn the scores of a row into probabilities.

    Returns weight times its log-likelihood; the probability of all classes but its own, and of all
    but the likeliest, both without cancellation.
    """
    top, at = 0.0, scores.size
    for k in range(scores.size):
        if scores[k] > top:
            top, at = scores[k], k
    own = scores[code] if code < scores.size else 0.0
    of_reference = np.exp(-top)
    others = of_reference if code < scores.size else 0.0
    below = of_reference if at < scores.size else 0.0
    for k in range(scores.size):
        share = np.exp(scores[k] - top)
        scores[k] = share
        others += share if k != code else 0.0
        below += share if k != at else 0.0
    total = 1.0 + below
    for k in range(scores.size):
        scores[k] /= total
    value = weight * (own - top - np.log1p(below))
    return value, others / total, below / total


@compiled
def several_classes(scores, codes, weights, first, residuals, rest):
    """Return the log-likelihood of rows; turn scores into probabilities and write residuals.

    ``rest`` gets 1 - p of the likeliest class.
    """
    total = 0.0
    for i in range(scores.shape[0]):
        weight = weights[first + i] if weights.size else 1.0
        code = codes[first + i]
        value, others, rest[i] = _shares(scores[i], code, weight)
        total += value
        for k in range(scores.shape[1]):
            residuals[i, k] = -weight * scores[i, k]
        if code < scores.shape[1]:
            residuals[i, code] = weight * others
    return total


@compiled
def extents(Z, weights, first, reach, squares):
    """Update the largest absolute value of every column, and its weighted sum of squares."""
    for i in range(Z.shape[0]):
        weight = weights[first + i] if weights.size else 1.0
        for j in range(Z.shape[1]):
            reach[j] = max(reach[j], abs(Z[i, j]))
            squares[j] += weight * Z[i, j] * Z[i, j]


@compiled
def moves(scores, codes, weights, first):
    """Return the largest moves of rows with positive weight: of their class ahead of another, or
    behind another, and of any two classes apart. ``scores`` are the scores of a step.
    """
    forward, backward, apart, q = 0.0, 0.0, 0.0, scores.shape[1]
    for i in range(scores.shape[0]):
        if weights.size and weights[first + i] == 0.0:
            continue
        own = scores[i, codes[first + i]] if codes[first + i] < q else 0.0
        low = high = 0.0
        for k in range(q):
            low, high = min(low, scores[i, k]), max(high, scores[i, k])
        forward, backward = max(forward, own - low), max(backward, high - own)
        apart = max(apart, high - low)
    return forward, backward, apart
