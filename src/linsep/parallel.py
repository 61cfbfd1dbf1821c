"""Work on blocks of rows by all processors that this process may use."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from joblib import cpu_count
from threadpoolctl import threadpool_limits

MOST_THREADS = 8
#: blocks a thread, so that none waits long for the slowest
TURNS = 4


def thread_count() -> int:
    """How many threads share work: one a processor, as far as affinity and limits of a container
    allow, and no more than eight.
    """
    return min(MOST_THREADS, cpu_count())


@contextmanager
def workers() -> Iterator[ThreadPoolExecutor]:
    """Threads for blocks of rows, with BLAS kept to one thread meanwhile: blocks that fit in the
    cache are too small to share, and its threads would wait for each other.
    """
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(thread_count()) as pool:
        yield pool


def spread(work: Callable[[int, int], None], n_rows: int, cost: float) -> None:
    """Call ``work(start, stop)`` for blocks that cover all rows, which take ``cost`` ns together.

    The work must let go of the interpreter, as compiled loops do. Less than a millisecond of it
    is done at once.
    """
    threads = thread_count()
    if threads == 1 or n_rows < 2 or cost < 1e6:
        work(0, n_rows)
        return
    blocks = min(n_rows, TURNS * threads)
    edges = [n_rows * block // blocks for block in range(blocks + 1)]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, edges[:-1], edges[1:]))


def in_order(work: Callable[[Any], Any], items: Iterator[Any]) -> Iterator[Any]:
    """Yield ``work(item)`` of every item, in order, so that sums come out the same to the bit.

    To be read to its end.
    """
    running: deque[Future[Any]] = deque()
    with workers() as pool:
        for item in items:
            running.append(pool.submit(work, item))
            if len(running) > 2 * thread_count():
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
