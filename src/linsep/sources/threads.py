"""Chunks of text read on one thread and scanned on others."""

from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from linsep.sources.chunks import Chunk


def scanned_chunks(
    chunks: Generator[Chunk, None, None],
    scan: Callable[["Future[Chunk | None]"], Any],
    threads: int,
    ahead: Callable[[], int],
) -> Generator[Any, None, None]:
    """Read on one thread, scan on others, a few chunks ahead; yield in file order.

    Parameters
    ----------
    chunks : closed at the end
    scan : what to do with a chunk that is coming; returns None where none is left
    threads : how many threads scan
    ahead : how many chunks may be at work now
    """
    reading = ThreadPoolExecutor(1, "linsep-read")
    scanning = ThreadPoolExecutor(threads, "linsep-scan")
    pending: deque[Future[Any]] = deque()
    try:
        while True:
            while len(pending) < ahead():
                chunk = reading.submit(next, chunks, None)
                pending.append(scanning.submit(scan, chunk))
            part = pending.popleft().result()
            if part is None:
                return
            yield part
    finally:
        # Reading ends first: a scan may be waiting for its chunk.
        reading.shutdown(wait=True, cancel_futures=True)
        scanning.shutdown(wait=True, cancel_futures=True)
        chunks.close()
