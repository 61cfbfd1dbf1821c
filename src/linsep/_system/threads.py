"""Threads: rows in blocks on all processors available to this process, and items that are made
in advance by a thread that Ctrl-C never interrupts midway.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ContextDecorator
from contextvars import Context
from functools import cache
from itertools import chain, islice
from typing import Any

from joblib import cpu_count
from threadpoolctl import ThreadpoolController

from linsep._system.interrupts import interruption_point, interrupts_deferred

#: longest time before a Ctrl-C is noticed while an item is computed
SECONDS = 0.1


def thread_count() -> int:
    """Return one per processor that affinity and container limits allow, at most eight."""
    return min(8, cpu_count())


class _OneBlasThread(ContextDecorator):
    """Limits BLAS to one thread while requested, from any number of threads."""

    def __init__(self) -> None:
        self._lock, self._users = threading.Lock(), 0
        self._mine = threading.local()
        #: libraries that had more threads, and how many
        self._before: list[tuple[Any, int]] = []
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def __enter__(self) -> None:
        begun = False
        try:
            # threadpoolctl looks for libraries in a callback of C, where Ctrl-C is lost.
            with interrupts_deferred(), self._lock:
                if not self._users:
                    for library in _blas_libraries():
                        if (threads := library.get_num_threads()) not in (None, 1):
                            self._before.append((library, threads))
                            _set(library, 1)
                self._users += 1
                self._mine.depth = getattr(self._mine, "depth", 0) + 1
                begun = True
        except KeyboardInterrupt:
            if begun:
                self._end()
            raise

    def __exit__(self, *_: Any) -> None:
        with interrupts_deferred():
            self._end()

    def _end(self) -> None:
        with self._lock:
            self._users -= 1
            self._mine.depth -= 1
            if not self._users:
                self._restore()

    def _restore(self) -> None:
        while self._before:
            _set(*self._before.pop())

    def _forked(self) -> None:
        """Forget other threads, which a forked process does not have."""
        self._lock, self._users = threading.Lock(), getattr(self._mine, "depth", 0)
        if not self._users:
            self._restore()


@cache
def _blas_libraries() -> list[Any]:
    """Return the libraries of numpy and scipy; to look for them takes milliseconds."""
    import scipy.linalg  # noqa: F401 - includes its own BLAS

    return ThreadpoolController().select(user_api="blas").lib_controllers


def _set(library: Any, threads: int) -> None:
    """Set the number of threads, which threadpoolctl 3.8 and later grant to one thread of the
    process only: the last fit to end need not be in the thread of the first.
    """
    free = getattr(library, "clear_controlling_thread", lambda force: None)
    free(force=True)
    library.set_num_threads(threads)
    free(force=True)


#: with one thread, BLAS is bit-identical on any number of processors
one_blas_thread = _OneBlasThread()


def split_rows(work: Callable[[int, int], None], n_rows: int, cost: float) -> None:
    """Call ``work(start, stop)`` in threads for blocks that cover all rows.

    ``work`` must release the interpreter lock, as compiled loops do. ``cost`` is its estimated
    total time in ns; below a millisecond no threads are used.
    """
    if n_rows < 2 or cost < 1e6 or (threads := thread_count()) == 1:  # counting takes 0.1 ms
        work(0, n_rows)
        return
    blocks = min(n_rows, 4 * threads)  # several each, so that none waits long for the slowest
    edges = [n_rows * block // blocks for block in range(blocks + 1)]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, edges[:-1], edges[1:]))


def map_in_order(work: Callable[[Any], Any], items: Iterator[Any]) -> Iterator[Any]:
    """Yield ``work(item)`` for every item, in order, so that sums do not depend on the threads.

    The iterator must be exhausted. A single item is worked on by this thread: to start another
    takes longer than a few rows, on a busy machine many times as long.
    """
    first = list(islice(items, 2))
    if len(first) == 1:
        with one_blas_thread:
            value = Context().run(work, first[0])  # numpy's own errstate, as in any other thread
        yield value
        return
    running: deque[Future[Any]] = deque()
    with one_blas_thread, ThreadPoolExecutor(thread_count()) as pool:
        for item in chain(first, items):
            running.append(pool.submit(work, item))
            if len(running) > 2 * thread_count():
                yield running.popleft().result()
        while running:
            yield running.popleft().result()


def in_background(items: Iterator[Any]) -> Generator[Any, None, None]:
    """Yield the same items, each computed in another thread while the one before is used.

    Within ``interrupts_deferred``, Ctrl-C takes effect between waits and never during one, because
    a KeyboardInterrupt during a wait could leave a lock held.
    """
    with ThreadPoolExecutor(1) as pool:
        try:
            coming = pool.submit(next, items, None)
            while True:
                while wait([coming], SECONDS).not_done:
                    interruption_point()
                interruption_point()
                item = coming.result()
                if item is None:
                    return
                coming = pool.submit(next, items, None)
                yield item
                del item  # frees its memory before the next one is yielded
        finally:  # runs after the item that the thread may still be computing
            if isinstance(items, Generator):
                try:
                    pool.submit(items.close).result()
                except RuntimeError:  # Python ends, and with it the thread
                    items.close()
