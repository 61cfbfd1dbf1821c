"""Items made by another thread, so that an interrupt of this one never tears what makes them."""

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

from linsep.interrupts import checkpoint

#: how long a Ctrl-C may wait to be noticed while an item is made
SECONDS = 0.1


def elsewhere(items: Iterator[Any], ahead: bool = False) -> Generator[Any, None, None]:
    """The same items, each made by another thread; with ``ahead``, while the last one is used.

    Within :class:`linsep.interrupts.held`, Ctrl-C takes effect between waits, never in them: a
    KeyboardInterrupt in the midst of a wait would leave a lock in disorder.
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
                del item  # or it would be in memory beside the next
                if not ahead:
                    coming = pool.submit(next, items, None)
        finally:  # after what the thread may be making still
            if isinstance(items, Generator):
                pool.submit(items.close).result()
