"""Check the indices of sparse matrices, which compiled loops do not check."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.errors import DataError


def as_csr(X: Any, columns: bool = True) -> Any:
    """Return a two-dimensional sparse matrix as CSR, and anything else unchanged.

    Compiled loops, scipy's included, do not check bounds: an index out of range would read or
    write other memory. So DataError is raised for indices that are negative, beyond the shape, or
    fewer than ``indptr`` requires; without ``columns`` not for the column indices of a CSR matrix,
    which ``pass_loop`` checks as it reads them. A CSR matrix is not copied.
    """
    if not sp.issparse(X) or X.ndim != 2:
        return X
    if X.format not in ("coo", "csr", "csc", "bsr"):  # whose indices are checked once they are CSR
        X = X.tocsr()
    if X.format == "coo":
        places = [(X.row, X.shape[0]), (X.col, X.shape[1])]
    else:
        lines, width = (
            n // b for n, b in zip(X.shape, getattr(X, "blocksize", (1, 1)), strict=True)
        )
        lines, width = (width, lines) if X.format == "csc" else (lines, width)
        starts, stored = X.indptr, min(len(X.indices), len(X.data))
        falls = (starts[1:] < starts[:-1]).any()
        if starts.size != lines + 1 or starts[0] != 0 or starts[-1] > stored or falls:
            raise DataError(
                "The indptr of X does not increase from 0 to the number of its values; build the "
                "matrix again, such as with scipy.sparse.coo_matrix((values, (rows, columns))).",
                code="bad-value",
            )
        places = [(X.indices[: starts[-1]], width)] if columns or X.format != "csr" else []
    for found, size in places:
        unsigned = found.view(f"u{found.itemsize}")  # in which negative numbers are large
        if found.size and unsigned.max() >= size:
            raise DataError(
                f"X has the index {found[np.argmax(unsigned)]}, but the shape {X.shape}; build the "
                "matrix again with rows and columns numbered from 0.",
                code="out-of-range",
            )
    return X.tocsr()


def tidy(X: Any) -> Any:
    """Return CSR rows without repeated entries, and other rows unchanged."""
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
