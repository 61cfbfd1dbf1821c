"""Whether a Gram matrix can be one: symmetric, and without a negative square length."""

from typing import Any

import numpy as np

from linsep.errors import DataError

#: rows up to which all eigenvalues are computed
MOST_ROWS = 2000
BLOCK = 512
#: what rounding may leave of zero, in parts of the largest value
ROUNDING = 1e-8


class NotPositiveSemidefiniteWarning(UserWarning):
    """A Gram matrix gives some combination of rows a negative square length: no kernel has it."""


def check_gram(K: Any) -> str | None:
    """Look for a sign that a matrix is no Gram matrix of a kernel.

    Parameters
    ----------
    K : array of shape (rows, rows)

    Returns
    -------
    str or None
        A sentence for :class:`NotPositiveSemidefiniteWarning`; None where no sign was found. Up to
        2,000 rows that is a proof but for rounding (no eigenvalue is negative). For more rows the
        diagonal is looked at and |K_ij| <= sqrt(K_ii K_jj), of which all pairs may hold although
        an eigenvalue is negative.

    Raises
    ------
    DataError
        Where K is not square or has a value that is not finite.
    """
    K = np.asarray(K)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise DataError(
            f"A precomputed Gram matrix must be square, one row and one column for every row of "
            f"the data, but it has shape {K.shape}."
        )
    if not np.isfinite(K).all():
        raise DataError("The Gram matrix has NaN or infinity: compute it again without them.")
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
                f"is {K[j, i]:.6g}; learning goes on, without the promises of a kernel."
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
        f"The Gram matrix is not positive semidefinite, as that of a kernel is: {why}; learning "
        "goes on, without the promises of a kernel."
    )
