"""Arrays and CSR matrices as rows of compiled loops."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.compiled.core.rows import Csr, Dense, Unit, scales

#: most indices that are copied rather than compiled for
FEW_INDICES = 1 << 20


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a read-only view, so that numba compiles for one array type only."""
    view = array.view()
    view.flags.writeable = False
    return view


def csr_rows(values: np.ndarray, columns: np.ndarray, starts: np.ndarray) -> Csr:
    """Return the arrays of a CSR matrix as rows.

    A few indices of 64 bits are copied to 32, for which loops are compiled anyway: that takes a
    millisecond, and compiling them for 64 bits seconds.
    """
    return Csr(read_only(values), *(read_only(narrow(places)) for places in (columns, starts)))


def narrow(places: np.ndarray) -> np.ndarray:
    """Return at most :data:`FEW_INDICES` indices as int32 if all fit, others as they are."""
    # Negative numbers are large as unsigned ones, and stay for the loops to find.
    if (
        places.dtype != np.int64
        or not 0 < places.size <= FEW_INDICES
        or (places.view(np.uint64).max() > np.iinfo(np.int32).max)
    ):
        return places
    return places.astype(np.int32)


def without_duplicates(rows: Csr) -> Csr:
    """Return the rows with the values of each column summed, in the order of columns."""
    width = int(rows.columns.max(initial=-1)) + 1
    X = sp.csr_array(rows, shape=(rows.starts.size - 1, width), copy=True)
    X.sum_duplicates()
    return csr_rows(X.data, X.indices, X.indptr)


def as_rows(X: Any, unit: bool = False) -> Dense | Csr | Unit:
    """Wrap an array or a CSR matrix as rows, whose values are not copied; ``unit`` scales them to
    length 1.
    """
    if hasattr(X, "indptr"):
        rows: Dense | Csr = csr_rows(X.data, X.indices, X.indptr)
    else:
        rows = Dense(read_only(X), np.empty(X.shape[1] + 1, np.int32))
    return Unit(rows, scales(rows, X.shape[0])) if unit else rows


def values_of(rows: Dense | Csr | Unit, row: int) -> np.ndarray:
    """Return the stored values of one row."""
    if isinstance(rows, Unit):
        return values_of(rows.rows, row)
    if isinstance(rows, Dense):
        return rows.values[row]
    return rows.values[rows.starts[row] : rows.starts[row + 1]]
