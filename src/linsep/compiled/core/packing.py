"""Packing dense rows that are mostly zeros, once for many passes.

A packed row is summed like the dense one (:func:`linsep.compiled.core.rows.dots`): without its
zeros if these are at least half of it, else with them. So the scores are the same to the bit.
"""

import numpy as np

from linsep.compiled.core.jit import compiled
from linsep.compiled.core.row_arrays import csr_rows
from linsep.compiled.core.rows import Csr, Dense, U, picked


@compiled
def _count(rows, n_rows, starts):
    width = rows.values.shape[1]
    for i in range(U(n_rows)):
        count = picked(rows, i)
        starts[i + U(1)] = starts[i] + (width if count < 0 else count)


@compiled
def _fill(rows, n_rows, starts, columns, values):
    for i in range(U(n_rows)):
        at, whole = U(starts[i]), picked(rows, i) < 0
        for q in range(U(starts[i + U(1)]) - at):
            j = U(q) if whole else U(rows.room[q])
            columns[at + q], values[at + q] = j, rows.values[i, j]


#: values from which on packing saves more time than loading its loops takes
WORTH_PACKING = 1 << 16


def packed(rows: Dense) -> Csr | Dense:
    """Pack the rows, or return them unchanged if that would not halve the stored values."""
    if rows.values.size < WORTH_PACKING:
        return rows
    n_rows = rows.values.shape[0]
    starts = np.zeros(n_rows + 1, dtype=np.int64)
    _count(rows, n_rows, starts)
    if 2 * starts[-1] > rows.values.size:
        return rows
    if starts[-1] < 2**31:  # so that the loops for CSR matrices serve these too
        starts = starts.astype(np.int32)
    columns = np.empty(starts[-1], np.int32)
    values = np.empty(starts[-1], rows.values.dtype)
    _fill(rows, n_rows, starts, columns, values)
    return csr_rows(values, columns, starts)
