"""Rows in the form a kernel works on: arrays, CSR matrices and other sliceable rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from linsep.errors import DataError
from linsep.validation.sparse import as_csr
from linsep.validation.values import faults_named

#: bytes of rows converted or made dense at a time
BLOCK_BYTES = 16_000_000
#: values of a Gram matrix that fit in the processor's cache
CACHED = 8192


class Parts:
    """Several forms of the same rows, sliced together; a repeated form is sliced once."""

    def __init__(self, *parts: Any):
        self.parts = parts

    def __len__(self) -> int:
        return rows_of(self.parts[0])

    def __getitem__(self, key: Any) -> Parts:
        taken = {id(part): part[key] for part in self.parts}
        return Parts(*(taken[id(part)] for part in self.parts))


def rows_of(rows: Any) -> int:
    """Return the number of prepared rows."""
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def is_text(X: Any) -> bool:
    """Return whether X has strings instead of numbers."""
    if isinstance(X, str | bytes):
        return True
    if isinstance(X, np.ndarray) and X.dtype != object:
        return X.dtype.kind in "SU"
    if sp.issparse(X) or getattr(X, "ndim", 1) != 1 or not hasattr(X, "__iter__"):
        return False
    return any(isinstance(row, str | bytes) for row in X)


def listed(X: Any) -> np.ndarray:
    """Return rows of any type as a one-dimensional array of objects, which can be sliced."""
    if isinstance(X, str | bytes) or not hasattr(X, "__iter__"):
        raise DataError(f"X is {X!r:.40}, one thing and not a list of rows: put them in a list.")
    given = list(X)
    rows = np.empty(len(given), dtype=object)
    for i, row in enumerate(given):
        rows[i] = row
    return rows


def refuse_text(X: Any, kernel: Any) -> None:
    """Raise DataError if X has strings."""
    if is_text(X):
        raise DataError(
            f"X has strings, but {kernel!r} takes rows of numbers: choose a string kernel such as "
            "Spectrum(3), or turn every string into numbers."
        )


def vectors(X: Any, kernel: Any, dtype: Any = (np.float64, np.float32)) -> Any:
    """Return X as a C-contiguous array or canonical CSR matrix of finite floats, without a copy if
    possible.

    Raises
    ------
    DataError
        If X has strings.
    ValueError
        If X has NaN or infinity, or is not a table of numbers.
    """
    refuse_text(X, kernel)
    with faults_named(X):
        X = check_array(as_csr(X), accept_sparse="csr", dtype=list(np.atleast_1d(dtype)), order="C")
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def same_width(A: Any, B: Any) -> None:
    """Raise DataError if rows have different numbers of features."""
    if A.shape[1] != B.shape[1]:
        raise DataError(
            f"Rows of {A.shape[1]} features meet rows of {B.shape[1]}: a kernel needs the same "
            "features on both sides."
        )


def dense_blocks(rows: Any) -> Any:
    """Yield (slice, its rows as a float64 array), a few megabytes at a time."""
    step = max(1, BLOCK_BYTES // (8 * max(1, rows.shape[1])))
    for start in range(0, rows.shape[0], step):
        part = slice(start, min(start + step, rows.shape[0]))
        block = rows[part].toarray() if sp.issparse(rows) else rows[part]
        yield part, np.ascontiguousarray(block, dtype=np.float64)
