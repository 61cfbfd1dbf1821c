"""Blocks of rows dealt like cards: a few at a time, one row from each in turn."""

import numpy as np

from linsep.compiled.core.jit import compiled


@compiled
def deal(starts, sizes, hands):
    """Row numbers in visiting order: ``hands`` blocks at a time, one row from each in turn.

    Parameters
    ----------
    starts, sizes : int64 first row and number of rows of each block, in the order of the blocks
    hands : blocks dealt at a time; fewer in the first deal where they do not come out even, so
        that a pass never ends with a badly mixed one
    """
    rows = np.empty(sizes.sum(), np.int64)
    block = n = 0
    while block < starts.size:
        stop = block + (hands if (starts.size - block) % hands == 0 else starts.size % hands)
        for turn in range(sizes[block:stop].max()):
            for k in range(block, stop):
                if turn < sizes[k]:
                    rows[n] = starts[k] + turn
                    n += 1
        block = stop
    return rows
