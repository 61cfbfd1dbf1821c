"""Run an iterator in another thread, so that Ctrl-C never interrupts it midway."""

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from typing import Any

from linsep.interrupts import checkpoint, count_signal

#: longest time before a Ctrl-C is noticed while an item is computed
SECONDS = 0.1


def elsewhere(items: Iterator[Any], ahead: bool = False) -> Generator[Any, None, None]:
    """Yield the same items, computed in another thread; ``ahead`` computes the next one early.

    Within :class:`linsep.interrupts.held`, Ctrl-C takes effect between waits and never during
    one, because a KeyboardInterrupt during a wait could leave a lock held.
    """
    with ThreadPoolExecutor(1) as pool:
        try:
            coming = pool.submit(next, items, None)
            while True:
                while wait([coming], SECONDS).not_done:
                    checkpoint()
                checkpoint()
                item = coming.result()
                if item is None:
                    return
                if ahead:
                    coming = pool.submit(next, items, None)
                yield item
                del item  # frees its memory before the next one is yielded
                if not ahead:
                    coming = pool.submit(next, items, None)
        except KeyboardInterrupt:
            count_signal()
            raise
        finally:  # runs after the item that the thread may still be computing
            if isinstance(items, Generator):
                _close(items, pool)


def _close(items: Generator[Any, None, None], pool: ThreadPoolExecutor) -> None:
    try:
        closed = pool.submit(items.close)
    except RuntimeError:  # Python ends, and with it the thread
        items.close()
    else:
        closed.result()


def chained(first: Any, rest: Generator[Any, None, None]) -> Generator[Any, None, None]:
    """Yield ``first``, then ``rest``, which is closed at the end."""
    with closing(rest):
        yield first
        yield from rest
