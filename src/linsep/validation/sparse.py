"""Check the indices of sparse matrices, which compiled loops do not check."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.errors import DataError


def as_csr(X: Any, columns: bool = True) -> Any:
    """Return a two-dimensional sparse matrix as CSR, and anything else unchanged.

    Compiled loops, scipy's included, do not check bounds: an index out of range would read or
    write other memory. A CSR matrix is not copied.

    Parameters
    ----------
    X : anything; a sparse matrix or array of shape (rows, features) is checked
    columns : whether to check the column indices of a CSR matrix; ``pass_loop`` checks the indices
        of each row as it reads it and does not need this pass

    Raises
    ------
    DataError
        If indices are negative, beyond the shape, or fewer than ``indptr`` requires.
    """
    if not sp.issparse(X) or X.ndim != 2:
        return X
    if X.format == "coo":
        _check_pairs(X)
    elif X.format in ("csr", "csc", "bsr"):
        _check_starts(X)
        if columns or X.format != "csr":
            _check_places(X)
    given, X = X, X.tocsr()
    if X is not given:  # other formats, such as lists of rows, may hold any index
        _check_starts(X)
        _check_places(X)
    return X


def tidy(X: Any) -> Any:
    """Return CSR rows without repeated entries, and other rows unchanged."""
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _check_pairs(X: Any) -> None:
    for name, places, size in zip(("row", "col"), (X.row, X.col), X.shape, strict=True):
        if (at := _outside(places, size)) is not None:
            raise DataError(
                f"X.{name} has {places[at]}, but X has the shape {X.shape}; build the matrix "
                "again with rows and columns numbered from 0.",
                code="out-of-range",
            )


def _lines_and_width(X: Any) -> tuple[int, int]:
    """Return the number of lines of a matrix compressed by rows, columns or block rows, and the
    number of places in a line.
    """
    if X.format == "csc":
        return X.shape[1], X.shape[0]
    if X.format == "bsr":
        return X.shape[0] // X.blocksize[0], X.shape[1] // X.blocksize[1]
    return X.shape


def _check_starts(X: Any) -> None:
    starts, stored = X.indptr, min(len(X.indices), len(X.data))
    lines, _ = _lines_and_width(X)
    if starts.size != lines + 1 or starts[0] != 0 or starts[-1] > stored or _falls(starts):
        raise DataError(
            "The indptr of X does not increase from 0 to the number of its values; build the "
            "matrix again, such as with scipy.sparse.coo_matrix((values, (rows, columns))).",
            code="bad-value",
        )


def _check_places(X: Any) -> None:
    _, width = _lines_and_width(X)
    if (at := _outside(X.indices[: X.indptr[-1]], width)) is not None:
        line = int(np.searchsorted(X.indptr, at, "right")) - 1
        what = ("Column", "row") if X.format == "csc" else ("Row", "column")
        raise DataError(
            f"{what[0]} {line}: X.indices has {what[1]} {X.indices[at]}, but X has {width} "
            f"{what[1]}s; build the matrix again with {what[1]}s numbered from 0.",
            code="out-of-range",
        )


def _falls(starts: np.ndarray) -> bool:
    return bool((starts[1:] < starts[:-1]).any())


def _outside(places: np.ndarray, size: int) -> int | None:
    """Return the position of the first index that is negative or at least ``size``, or None."""
    found = places.view(f"u{places.itemsize}")  # negative numbers are large as unsigned ones
    if not found.size or found.max() < size:
        return None
    return int(np.argmax(found >= size))
