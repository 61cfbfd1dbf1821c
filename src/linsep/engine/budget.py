"""Giving up support vectors: fewer of them, and weights as near to what they were as can be.

Weights w = sum_j a_j phi(x_j) are replaced by the nearest point of the space that the support
vectors kept span. Which are kept is decided one after the other: the one whose part a_j phi(x_j)
is represented worst by the ones before. Both come out of one Cholesky factorisation with pivots.

References: F. Orabona, J. Keshet and B. Caputo, Bounded kernel-based online learning, JMLR 10
(2009), for the projection (of one support vector at a time); Z. Wang, K. Crammer and S. Vucetic,
Breaking the curse of kernelization, JMLR 13 (2012), for the loss that giving one up makes.
"""

import numpy as np
from scipy.linalg import lapack, solve_triangular

#: what is left of a support vector that others represent but for rounding, in squares
ROUNDING = 1e-10


def given_up(gram: np.ndarray, weights: np.ndarray, budget: int) -> tuple[np.ndarray, np.ndarray]:
    """Which support vectors to keep, and what represents each.

    Parameters
    ----------
    gram : shape (supports, supports)
    weights : shape (supports, columns), of which none is all zero in its row
    budget : most to keep, at least 1

    Returns
    -------
    kept : int array of at most ``budget`` numbers
    represents : array of shape (kept, supports)
        Weights A become ``represents @ A`` of those kept.
    """
    scale = np.sqrt(np.einsum("jk,jk->j", weights, weights))
    scaled = scale[:, None] * gram * scale
    tolerance = ROUNDING * scaled.diagonal().max()
    factor, pivots, rank, _ = lapack.dpstrf(scaled, tol=tolerance, lower=1)
    many, order = min(budget, rank), pivots - 1
    corner, rest = factor[:many, :many], factor[many:, :many]
    represents = np.empty((many, len(gram)))
    represents[:, order[:many]] = np.eye(many)
    away = solve_triangular(corner, rest.T, lower=True, trans="T")
    represents[:, order[many:]] = scale[order[:many], None] * away / scale[order[many:]]
    return order[:many], represents
