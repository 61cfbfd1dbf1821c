"""Threads: blocks of rows on all processors of this process, and items made in advance."""

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ContextDecorator, suppress
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
        self._before: list[tuple[Any, int]] = []  # libraries that had more threads, and how many

    def __enter__(self) -> None:
        begun = False
        try:
            # threadpoolctl looks for libraries in a callback of C, where Ctrl-C is lost.
            with interrupts_deferred(), self._lock:
                for library in [] if self._users else _blas_libraries():
                    if (threads := library.get_num_threads()) not in (None, 1):
                        self._before.append((library, threads))
                        _set(library, 1)
                self._users += 1
                begun = True
        except KeyboardInterrupt:
            if begun:
                self.__exit__()
            raise

    def __exit__(self, *_: Any) -> None:
        with interrupts_deferred(), self._lock:
            self._users -= 1
            while self._before and not self._users:
                _set(*self._before.pop())


@cache
def _blas_libraries() -> list[Any]:
    """Return the libraries of numpy and scipy; to look for them takes milliseconds."""
    import scipy.linalg  # noqa: F401 - includes its own BLAS

    return ThreadpoolController().select(user_api="blas").lib_controllers


def _set(library: Any, threads: int) -> None:
    """Set the number of threads, which threadpoolctl 3.8 lets only the first thread do that did."""
    free = getattr(library, "clear_controlling_thread", lambda force: None)
    free(force=True)
    library.set_num_threads(threads)
    free(force=True)


#: makes BLAS bit-identical on any number of processors
one_blas_thread = _OneBlasThread()


def split_rows(work: Callable[[int, int], None], n_rows: int, cost: float) -> None:
    """Call ``work(start, stop)``, which releases the interpreter lock, in threads for blocks of
    rows; in none if its estimated ``cost`` is below a millisecond (1e6).
    """
    if n_rows < 2 or cost < 1e6 or (threads := thread_count()) == 1:  # counting takes 0.1 ms
        work(0, n_rows)
        return
    blocks = min(n_rows, 4 * threads)  # several each, so that none waits long for the slowest
    edges = [n_rows * block // blocks for block in range(blocks + 1)]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, edges[:-1], edges[1:]))


def map_in_order(work: Callable[[Any], Any], items: Iterator[Any]) -> Iterator[Any]:
    """Yield ``work(item)`` for every item, in order, so that sums do not depend on the threads; the
    iterator must be exhausted. For a single item no thread is started.
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
    """Yield the same items, each computed in another thread while the one before is used. Ctrl-C,
    if deferred, takes effect between waits: during one it could leave a lock held.
    """
    with ThreadPoolExecutor(1) as pool:
        worker = pool.submit(threading.current_thread).result()
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
                with suppress(RuntimeError):  # Python ends, and with it the thread
                    while wait([pool.submit(items.close)], SECONDS).not_done and worker.is_alive():
                        pass  # if items and pool are garbage, the thread has ended with the pool
                items.close()
