"""The space of a kernel, from its Gram matrix."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import lapack
from sklearn.utils import check_array

#: by how much rounding may make a Gram matrix differ from its transpose, in parts of the largest
ASYMMETRY = 1e-8
#: what rounding leaves of a squared length that is zero, in parts of the largest, times the rows
ROUNDING = 2.0**-50


def checked(K: Any) -> np.ndarray:
    """A Gram matrix as float64; ValueError where it is none: not square, not symmetric, NaN."""
    K = check_array(K, dtype=np.float64, input_name="K")
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"K has shape {K.shape}, but a Gram matrix has a row and a column for every row of the "
            "data: give K(X, X)."
        )
    allowed = ASYMMETRY * float(np.abs(K).max())
    if (np.abs(K - K.T) > allowed).any():
        raise ValueError("K is not symmetric, so it is no Gram matrix: give K(X, X) of a kernel.")
    return K


def spanning(K: np.ndarray) -> tuple[int, ...]:
    """Rows whose images span the space but for rounding, by a Cholesky factorisation with pivots.

    Kernel values are rounded, so that the images of many rows nearly always look independent, and
    then any labels are separable: by nothing but the rounding. Over these rows they are not.
    Where K has a negative square length, all rows.
    """
    tolerance = len(K) * ROUNDING * float(np.abs(K.diagonal()).max())
    factor, pivots, rank, _ = lapack.dpstrf(K, tol=tolerance, lower=1)
    order = pivots - 1
    lower = np.tril(factor)[:, :rank]
    left = K.diagonal()[order] - np.einsum("ij,ij->i", lower, lower)
    if rank == 0 or left.min() < -2 * tolerance:
        return tuple(range(len(K)))
    return tuple(sorted(order[:rank].tolist()))


def columns_of(K: Any, columns: Sequence[int]) -> np.ndarray:
    """The kernel values of every row with those that span the space."""
    K = checked(K)
    return K[:, [j for j in columns if j < len(K)]]
