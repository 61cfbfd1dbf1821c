"""Reading ahead: the blocks of a remote file are requested before they are read."""

import io
from bisect import bisect_right
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from itertools import accumulate, pairwise
from typing import Any

from linsep.interrupts import signals_so_far

#: bytes of a request; the first is smaller, because some read only the head of a file
BLOCK, FIRST = 4 << 20, 1 << 20
#: bytes that are requested and not yet read; so many blocks are under way at once
AHEAD = 32 << 20
#: seconds until Ctrl-C is noticed by who waits for an answer
MOMENT = 0.2
#: bytes of a request that nothing announced, such as for the end of a Parquet file
PAGE = 1 << 16


class Pieces:
    """Bytes of a file from a place on, in pieces as they came.

    Attributes
    ----------
    start, end : int
    """

    def __init__(self, start: int, parts: list[bytes]):
        self._parts = parts
        *self._starts, self.end = accumulate(map(len, parts), initial=start)
        self.start = start

    def around(self, offset: int) -> tuple[int, bytes]:
        """Return the piece that has a byte, and where it starts."""
        k = bisect_right(self._starts, offset) - 1
        return self._starts[k], self._parts[k]

    def cut(self, start: int, end: int) -> "Pieces":
        """Return some of the bytes."""
        parts, at = [], start
        while at < end:
            begin, piece = self.around(at)
            parts.append(piece[at - begin : end - begin])
            at += len(parts[-1])
        return Pieces(start, parts)


#: requests the bytes from a start to an end
Request = Callable[[int, int], "Future[Pieces]"]
#: takes a request from a start to an end that was not read to its end
Leave = Callable[[int, int, "Future[Pieces]"], None]
Blocks = list[tuple[int, int]]


def in_order(size: int) -> Blocks:
    """Return the blocks of a file that is read from its start to its end."""
    edges = [0, *range(min(FIRST, size), size, BLOCK), size]
    return [(a, b) for a, b in pairwise(edges) if a < b]


def _arrived(coming: "Future[Pieces]") -> Pieces:
    """Wait for a request; give up if Ctrl-C comes meanwhile, because who reads then ends."""
    pressed = signals_so_far()
    while not coming.done():
        wait([coming], MOMENT)
        if signals_so_far() != pressed and not coming.done():
            coming.cancel()
    return coming.result()


class ReadAhead(io.RawIOBase):
    """A remote file, open for reading.

    Parameters
    ----------
    size : int
        Bytes in the file.
    request : function that requests bytes
    plan : list of (start, end), or None
        The blocks, in the order in which they will be read; none overlap. Other bytes can be read,
        too, but nothing is requested ahead of them. None is the order of the file.
    leave : function that takes the requests that are left over

    What is under way grows with what was read, so that a look at the head of a file costs little.
    """

    def __init__(self, size: int, request: Request, plan: Blocks | None, leave: Leave):
        self.size, self._request, self._leave = size, request, leave
        self._forward = plan is None
        self._plan = plan = in_order(size) if plan is None else plan
        self._order = sorted(range(len(plan)), key=plan.__getitem__)
        self._starts = [plan[k][0] for k in self._order]
        self._coming: dict[int, Future[Pieces]] = {}
        self._unread: dict[int, int] = {}
        self._done: set[int] = set()
        self._next = self._bytes_coming = self._bytes_read = self._at = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the place of the next byte."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place in the file."""
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        """Return the next ``size`` bytes, fewer only at the end of the file."""
        left = max(0, self.size - self._at)
        size = left if size is None or size < 0 else min(size, left)
        parts = list(self._parts(self._at, size, peek=False))
        self._at += size
        return parts[0].tobytes() if len(parts) == 1 else b"".join(parts)

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as the file goes."""
        done = 0
        for part in self._parts(self._at, min(len(buffer), max(0, self.size - self._at)), False):
            buffer[done : done + len(part)] = part
            done += len(part)
        self._at += done
        return done

    def peek_at(self, offset: int, size: int) -> bytes:
        """Return bytes that will be read later; they stay in memory if they have come already."""
        return b"".join(self._parts(offset, min(size, self.size - offset), peek=True))

    def close(self) -> None:
        """Leave what is under way to who opens the file next."""
        for k, coming in self._coming.items():
            self._leave(*self._plan[k], coming)
        self._coming.clear()
        super().close()

    def _parts(self, at: int, size: int, peek: bool) -> Iterator[memoryview]:
        """Yield the bytes of a stretch that lies in the file."""
        while size > 0:
            start, data = self._part_at(at, peek)
            part = memoryview(data)[at - start :][:size]
            at, size = at + len(part), size - len(part)
            yield part
            if not peek:
                self._count(at - 1, len(part))

    def _part_at(self, offset: int, peek: bool) -> tuple[int, bytes]:
        """Return bytes around a place, and where they start."""
        k = self._block_at(offset)
        if k is None or (peek and k not in self._coming and k > self._next):
            return self._page_at(offset)
        if k not in self._coming:
            self._next = k + 1
            self._ask(k)
            self._ask_ahead()
        return _arrived(self._coming[k]).around(offset)

    def _block_at(self, offset: int) -> int | None:
        place = bisect_right(self._starts, offset) - 1
        if place < 0:
            return None
        k = self._order[place]
        return k if offset < self._plan[k][1] else None

    def _page_at(self, offset: int) -> tuple[int, bytes]:
        """Return bytes that nothing announced."""
        start = offset // PAGE * PAGE
        return _arrived(self._request(start, min(start + PAGE, self.size))).around(offset)

    def _ask(self, k: int) -> None:
        start, end = self._plan[k]
        if self._bytes_coming > 2 * AHEAD:  # some were passed over
            self._drop(next(iter(self._coming)))
        self._coming[k] = self._request(start, end)
        self._unread[k] = end - start
        self._bytes_coming += end - start

    def _ask_ahead(self) -> None:
        allowed = min(AHEAD, FIRST + 4 * self._bytes_read)
        while self._next < len(self._plan) and self._bytes_coming < allowed:
            if self._next not in self._coming and self._next not in self._done:
                self._ask(self._next)
            self._next += 1

    def _count(self, last: int, size: int) -> None:
        """Note that bytes were read; forget the blocks that will not be read any more."""
        self._bytes_read += size
        k = self._block_at(last)
        if k is not None and k in self._coming:
            self._unread[k] -= size
            if self._unread[k] <= 0:
                self._drop(k)
                self._done.add(k)
            if self._forward:  # there may be gaps that nobody reads
                for passed in [j for j in self._coming if j < k]:
                    self._drop(passed)
        self._ask_ahead()

    def _drop(self, k: int) -> None:
        self._coming.pop(k).cancel()
        start, end = self._plan[k]
        self._bytes_coming -= end - start
