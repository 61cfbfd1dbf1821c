"""Work on blocks of rows by as many threads as there are processors."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

MOST_THREADS = 8
#: blocks a thread, so that none waits long for the slowest
TURNS = 4


def spread(work: Callable[[int, int], None], n_rows: int, cost: float) -> None:
    """Call ``work(start, stop)`` for blocks that cover all rows, which take ``cost`` ns together.

    The work must let go of the interpreter, as compiled loops do. Less than a millisecond of it
    is done at once.
    """
    affinity = getattr(os, "sched_getaffinity", None)
    threads = min(MOST_THREADS, len(affinity(0)) if affinity else os.cpu_count() or 1)
    if threads == 1 or n_rows < 2 or cost < 1e6:
        work(0, n_rows)
        return
    blocks = min(n_rows, TURNS * threads)
    edges = [n_rows * block // blocks for block in range(blocks + 1)]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, edges[:-1], edges[1:]))
