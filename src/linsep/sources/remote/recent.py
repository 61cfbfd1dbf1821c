"""Bytes of remote files that were requested a moment ago, for who opens the same file again.

A file is opened several times before its rows are read: for its format, its header, its types.
"""

import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Lock
from typing import NamedTuple

from linsep.sources.remote.ahead import Stretch

#: seconds for which bytes count as recent
FRESH = 5.0
#: bytes of all files together
MOST = 80 << 20
#: bytes up to which a request may be needed again after it was read
SMALL = 1 << 20


class _Entry(NamedTuple):
    file: int
    start: int
    end: int
    coming: "Future[Stretch]"
    time: float


class Recent:
    """Requests that others may still need, the one asked for last at the end. Files are known by a
    number.
    """

    def __init__(self) -> None:
        self._entries: dict[tuple[int, int], _Entry] = {}
        self._bytes, self._lock = 0, Lock()
        self._dropped: list[Future[Stretch]] = []

    def put(self, file: int, start: int, end: int, coming: "Future[Stretch]") -> None:
        """Keep a request, under way or done, until it is old or there are too many."""
        with self._dropping():
            self._drop((file, start))
            self._entries[file, start] = _Entry(file, start, end, coming, time.monotonic())
            self._bytes += end - start
            while self._bytes > MOST:
                self._drop(next(iter(self._entries)))

    def take(self, file: int, start: int, end: int) -> "Future[Stretch] | None":
        """Return a request of these bytes; a large one is kept no longer."""
        oldest = time.monotonic() - FRESH
        with self._dropping():
            for key, entry in list(self._entries.items()):
                if entry.time < oldest:
                    self._drop(key)
                elif entry.file == file and entry.start <= start and end <= entry.end:
                    if entry.coming.done():
                        return self._part(key, start, end)
                    if (start, end) == (entry.start, entry.end):
                        del self._entries[key]
                        self._bytes -= end - start
                        return entry.coming
        return None

    def forget(self, file: int) -> None:
        """Keep nothing of a file any more."""
        with self._dropping():
            for key in [key for key in self._entries if key[0] == file]:
                self._drop(key)

    def _part(self, key: tuple[int, int], start: int, end: int) -> "Future[Stretch] | None":
        """Return some bytes of a request that is done, None if it failed."""
        self._entries[key] = entry = self._entries.pop(key)  # it goes behind those not asked for
        coming = entry.coming
        failed = coming.cancelled() or coming.exception() is not None
        part: Future[Stretch] = Future()
        if not failed:
            part.set_result(coming.result().cut(start, end))
        if failed or end - start > SMALL:
            self._drop(key)
        return None if failed else part

    def _drop(self, key: tuple[int, int]) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._bytes -= entry.end - entry.start
            self._dropped.append(entry.coming)

    @contextmanager
    def _dropping(self) -> Iterator[None]:
        """Hold the lock; cancel afterwards what was dropped, because that calls who waits for it,
        which may come here again.
        """
        with self._lock:
            yield
            dropped, self._dropped = self._dropped, []
        for coming in dropped:
            coming.cancel()


#: of this process
RECENT = Recent()
