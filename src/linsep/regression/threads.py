"""Blocks of rows worked on by all processors, with results in the order of the rows."""

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from threadpoolctl import threadpool_limits

MOST_THREADS = 8


def in_order(work: Callable[[Any], Any], items: Iterator[Any]) -> Iterator[Any]:
    """Yield ``work(item)`` of every item, in order, so that sums come out the same to the bit.

    BLAS is kept to one thread meanwhile: blocks that fit in the cache are too small to share, and
    its threads would wait for each other. To be read to its end.
    """
    affinity = getattr(os, "sched_getaffinity", None)
    threads = min(MOST_THREADS, len(affinity(0)) if affinity else os.cpu_count() or 1)
    running: deque[Future[Any]] = deque()
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(threads) as pool:
        for item in items:
            running.append(pool.submit(work, item))
            if len(running) > 2 * threads:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
