"""Gram matrices: whether a matrix can belong to a kernel (symmetric and positive semidefinite), and
how well it fits labels, without training.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.errors import DataError, ParameterError
from linsep.kernels.base import Kernel
from linsep.validation.labels import check_beside, labels_of, refuse_masked

#: most rows for which eigenvalues are computed
MOST_ROWS = 2000
#: rows that are compared, or aligned with labels, at a time
BLOCK, ALIGNED_ROWS = 512, 1024
#: rounding error of a zero, relative to the largest value
ROUNDING = 1e-8


class NotPositiveSemidefiniteWarning(UserWarning):
    """A Gram matrix is not symmetric or not positive semidefinite, so it belongs to no kernel."""


def check_gram(K: Any) -> str | None:
    """Check whether a matrix can be the Gram matrix of a kernel.

    Parameters
    ----------
    K : array of shape (rows, rows)

    Returns
    -------
    str or None
        A sentence for :class:`NotPositiveSemidefiniteWarning`, or None. For up to 2,000 rows, None
        means that no eigenvalue is negative, up to rounding. For more rows, only the necessary
        conditions ``K_ii >= 0`` and ``|K_ij| <= sqrt(K_ii K_jj)`` are checked.

    Raises
    ------
    DataError
        If K is not square or not finite.
    """
    K = np.asarray(K)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise DataError(
            f"A precomputed Gram matrix must be square, one row and one column for every row of "
            f"the data, but it has shape {K.shape}.",
            code="shape",
        )
    if not np.isfinite(K).all():
        raise DataError(
            "The Gram matrix has NaN or infinity: compute it again without them.", code="not-finite"
        )
    if not len(K):
        return None
    return _asymmetry(K) or _negative_length(K) or (_eigenvalue(K) if len(K) <= MOST_ROWS else None)


def _asymmetry(K: np.ndarray) -> str | None:
    allowed = ROUNDING * np.abs(K).max()
    for start in range(0, len(K), BLOCK):
        part = slice(start, start + BLOCK)
        gaps = np.abs(K[part] - K[:, part].T)
        if gaps.max() > allowed:
            i, j = np.unravel_index(gaps.argmax(), gaps.shape)
            i += start
            return (
                f"The Gram matrix is not symmetric: K[{i}, {j}] is {K[i, j]:.6g} and K[{j}, {i}] "
                f"is {K[j, i]:.6g}; training continues, without the guarantees of a kernel."
            )
    return None


def _negative_length(K: np.ndarray) -> str | None:
    lengths = np.diag(K)
    if lengths.min() < 0:
        i = int(lengths.argmin())
        return _sentence(f"K[{i}, {i}] is {lengths[i]:.6g}")
    roots = np.sqrt(lengths)
    allowed = ROUNDING * np.abs(K).max()
    for start in range(0, len(K), BLOCK):
        part = slice(start, start + BLOCK)
        over = np.abs(K[part]) - roots[part, None] * roots
        if over.max() > allowed:
            i, j = np.unravel_index(over.argmax(), over.shape)
            i += start
            return _sentence(
                f"K[{i}, {j}] is {K[i, j]:.6g}, more than sqrt(K[{i}, {i}] K[{j}, {j}]) = "
                f"{roots[i] * roots[j]:.6g}"
            )
    return None


def _eigenvalue(K: np.ndarray) -> str | None:
    values = np.linalg.eigvalsh(K.astype(np.float64, copy=False))
    if values[0] < -ROUNDING * max(values[-1], -values[0]):
        return _sentence(
            f"its smallest eigenvalue is {values[0]:.6g}, its largest {values[-1]:.6g}"
        )
    return None


def _sentence(why: str) -> str:
    return (
        f"The Gram matrix is not positive semidefinite, so it belongs to no kernel: "
        f"{why}; training continues, without the guarantees of a kernel."
    )


def alignment(K: Any, y: Any, X: Any = None, *, centered: bool = True) -> float:
    """Return the alignment of a Gram matrix with labels: its cosine with their ideal matrix.

    The ideal matrix is 1 for two rows of the same class and -1/(classes - 1) for other pairs: y y'
    for classes -1 and +1.

    Parameters
    ----------
    K : array of shape (rows, rows), or a Kernel together with ``X``
    y : array of shape (rows,)
        Labels of two classes or more.
    X : rows of the type that the Kernel supports
    centered : bool, default True
        Center the features first. Without centering, a kernel whose features have a large common
        mean seems to fit any labels, or no labels.

    Returns
    -------
    float
        1 if the Gram matrix is the ideal one, about 0 if it is unrelated to the labels; also 0 if a
        centered matrix is all zeros.

    Raises
    ------
    DataError
        If the matrix is not square or not finite, or the labels do not match its rows or have only
        one class.
    ParameterError
        If a kernel is given without X, or a matrix with X.

    References
    ----------
    N. Cristianini, J. Shawe-Taylor, A. Elisseeff and J. Kandola, On kernel-target alignment,
    NIPS 14 (2001), definition 1; C. Cortes, M. Mohri and A. Rostamizadeh, Algorithms for learning
    kernels based on centered alignment, JMLR 13 (2012), definition 4.

    Examples
    --------
    >>> from linsep.kernels import Linear, Polynomial
    >>> X, y = [[1, 1], [1, -1], [-1, 1], [-1, -1]], [0, 1, 1, 0]
    >>> [round(alignment(kernel, y, X), 3) for kernel in (Linear(), Polynomial(2))]
    [0.0, 0.577]
    """
    if isinstance(K, Kernel) == (X is None):
        raise ParameterError(
            "alignment takes a Gram matrix, alignment(K, y), or a kernel and rows, "
            "alignment(kernel, y, X)."
        )
    check_beside(K if X is None else X, y=y)
    refuse_masked(K, "The Gram matrix")
    K = K(X) if isinstance(K, Kernel) else np.asarray(K, dtype=np.float64)
    classes, codes = np.unique(labels_of(y), return_inverse=True)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or len(K) != len(codes):
        raise DataError(
            f"A Gram matrix of shape {K.shape} and {len(codes)} labels do not match: pass a "
            f"square matrix with one row per label."
        )
    if not np.isfinite(K).all():
        raise DataError("The Gram matrix has NaN or infinity: compute it again without them.")
    if len(classes) < 2:
        raise DataError("All labels are the same: alignment needs rows of two classes.")
    return _cosine(K, codes, len(classes), centered)


def _cosine(K: np.ndarray, codes: np.ndarray, k: int, centered: bool) -> float:
    """Return <K, T> / (||K|| ||T||) without forming the matrix T of the labels."""
    sides = np.eye(k)[codes] * np.sqrt(k / (k - 1))
    shift = 1 / np.sqrt(k - 1)  # T = sides sides' - shift^2
    sums = np.bincount(codes)
    T = (k * np.eye(k) - 1) / (k - 1)
    means, mean = K.mean(axis=0), K.mean()
    if centered:  # T of the classes, its means weighted by their rows taken away
        share = sums / sums.sum()
        T = T - (T @ share)[:, None] - share @ T + share @ T @ share
        sides, shift = sides - sides.mean(axis=0), 0.0
    product = square = 0.0
    for start in range(0, len(K), ALIGNED_ROWS):
        part = slice(start, start + ALIGNED_ROWS)
        block = K[part] - means[part, None] - means + mean if centered else K[part]
        product += float(np.sum((block @ sides) * sides[part])) - shift**2 * float(block.sum())
        square += float(np.sum(block * block))
    length = np.sqrt(square) * np.sqrt(sums @ T**2 @ sums)
    return float(product / length) if length > 0 else 0.0
