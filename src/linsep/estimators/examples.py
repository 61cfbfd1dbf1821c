"""Rows that a kernel is asked about, as they were given: numbers, strings, anything."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from linsep.errors import DataError
from linsep.kernels.rows import listed

FLOATS = (np.float64, np.float32)


def checked(estimator: Any, kernel: Any, X: Any, *, reset: bool) -> Any:
    """X as an array or a CSR matrix where its rows are of numbers, else as an array of objects.

    Raises
    ------
    DataError, ValueError
        For NaN, infinity, another number of features than before, or no rows.
    """
    table = hasattr(X, "shape") or hasattr(X, "__dataframe__")
    if kernel.takes in ("vectors", "gram") or (kernel.takes == "anything" and table):
        if kernel.takes == "gram" and sp.issparse(X):
            raise DataError(
                "A precomputed Gram matrix must be dense, not sparse: give X.toarray()."
            )
        return validate_data(
            estimator, X, accept_sparse="csr", dtype=FLOATS, order="C", reset=reset
        )
    rows = listed(X)
    if not len(rows):
        raise DataError("X has no rows to learn from or to score.")
    return rows


def joined(first: Any, second: Any) -> Any:
    """The rows of both, one after the other."""
    if sp.issparse(first) or sp.issparse(second):
        return sp.vstack([first, second], format="csr")
    return np.concatenate([first, second])
