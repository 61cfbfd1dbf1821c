"""Whether a matrix can be the Gram matrix of a kernel: symmetric and positive semidefinite."""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.errors import DataError

#: most rows for which eigenvalues are computed
MOST_ROWS = 2000
#: rows that are compared at a time
BLOCK = 512
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
