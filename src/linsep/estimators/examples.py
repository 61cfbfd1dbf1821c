"""Rows that a kernel is asked about, as they were given: numbers, strings, anything."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from linsep.errors import DataError
from linsep.kernels.rows import listed, refuse_text
from linsep.sparse_rows import as_csr

FLOATS = (np.float64, np.float32)


def checked(estimator: Any, kernel: Any, X: Any, *, reset: bool) -> Any:
    """X as an array or a CSR matrix where its rows are of numbers, else as an array of objects.

    Raises
    ------
    DataError, ValueError
        For NaN, infinity, another number of features than before, no rows, strings where numbers
        are taken or a table where strings are.
    """
    if kernel.takes in ("vectors", "gram") and getattr(X, "ndim", 1) == 1:
        refuse_text(X, kernel)
    if kernel.takes == "strings" and getattr(X, "ndim", 1) != 1:
        raise DataError(
            f"X is a table of shape {X.shape}, but {kernel!r} takes a list of strings: give one "
            "column of it."
        )
    if kernel.takes in ("vectors", "gram") or (kernel.takes == "anything" and _is_table(X)):
        if kernel.takes == "gram" and sp.issparse(X):
            raise DataError(
                "A precomputed Gram matrix must be dense, not sparse: give X.toarray()."
            )
        return validate_data(
            estimator, as_csr(X), accept_sparse="csr", dtype=FLOATS, order="C", reset=reset
        )
    rows = listed(X)
    if not len(rows):
        raise DataError("X has no rows to learn from or to score.")
    return rows


def _is_table(X: Any) -> bool:
    """Whether X has rows of numbers; an array of strings or objects is a list of rows."""
    if getattr(X, "ndim", 0) == 1 and not sp.issparse(X):
        return getattr(getattr(X, "dtype", None), "kind", "") not in "OSU"
    return hasattr(X, "shape") or hasattr(X, "__dataframe__")


def joined(first: Any, second: Any) -> Any:
    """The rows of both, one after the other."""
    if sp.issparse(first) or sp.issparse(second):
        return sp.vstack([first, second], format="csr")
    return np.concatenate([first, second])
