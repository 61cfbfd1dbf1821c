"""Interleaving blocks of rows: a few blocks at a time, one row from each in turn."""

import numpy as np

from linsep.compiled.core.jit import compiled


@compiled
def interleave(starts, sizes, group_size):
    """Return row numbers in visiting order: ``group_size`` blocks at a time, a row of each in turn.

    Parameters
    ----------
    starts, sizes : int64, first row and number of rows of each block, in the order of the blocks
    group_size : blocks interleaved at a time; the first group takes the remainder, so that a pass
        never ends with a badly mixed one
    """
    rows = np.empty(sizes.sum(), np.int64)
    block = n = 0
    while block < starts.size:
        stop = block + (
            group_size if (starts.size - block) % group_size == 0 else starts.size % group_size
        )
        for turn in range(sizes[block:stop].max()):
            for k in range(block, stop):
                if turn < sizes[k]:
                    rows[n] = starts[k] + turn
                    n += 1
        block = stop
    return rows
