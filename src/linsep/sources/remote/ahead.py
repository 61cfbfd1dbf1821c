"""Reading ahead: the blocks of a remote file are requested before they are read."""

import io
from bisect import bisect_right
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from itertools import pairwise
from typing import Any, NamedTuple

from linsep.interrupts import signals_so_far

#: bytes of a request; the first is smaller, because some read only the head of a file, and so is
#: one for the end of a file, where Parquet and Arrow say what it holds
BLOCK, FIRST, LAST = 8 << 20, 1 << 20, 1 << 19
#: bytes that are requested and not yet read; so many blocks are under way at once
AHEAD = 64 << 20
#: seconds until Ctrl-C is noticed by who waits for an answer
MOMENT = 0.2
#: bytes of a request that nothing announced
PAGE = 1 << 16


class Stretch(NamedTuple):
    """Bytes of a file from a place on."""

    start: int
    data: memoryview

    @property
    def end(self) -> int:
        """Where they end."""
        return self.start + len(self.data)

    def cut(self, start: int, end: int) -> "Stretch":
        """Return some of the bytes, which are not copied."""
        return Stretch(start, self.data[start - self.start : end - self.start])


#: requests the bytes from a start to an end
Request = Callable[[int, int], "Future[Stretch]"]
#: takes a request from a start to an end that was not read to its end
Leave = Callable[[int, int, "Future[Stretch]"], None]
Blocks = list[tuple[int, int]]


def in_order(size: int) -> Blocks:
    """Return the blocks of a file that is read from its start to its end.

    They grow from :data:`FIRST` to :data:`BLOCK`: the second comes as soon as it is wanted.
    """
    edges, step = [0, min(FIRST, size)], FIRST
    while edges[-1] < size:
        edges.append(min(edges[-1] + step, size))
        step = min(2 * step, BLOCK)
    return list(pairwise(edges)) if size else []


def gathered(parts: Blocks) -> Blocks:
    """Return blocks of parts that are each read at once: neighbours together if they are small, and
    those that are too large for that in pieces.
    """
    found: Blocks = []
    for start, end in parts:
        if end - start > AHEAD // 2:
            found += [(at, min(at + BLOCK, end)) for at in range(start, end, BLOCK)]
        elif found and found[-1][1] == start and start - found[-1][0] < BLOCK:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def _arrived(coming: "Future[Stretch]") -> Stretch:
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
    forward : whether no byte of a plan is read after those that come later in it

    What is under way grows with what was read, so that a look at the head of a file costs little.
    Who gives a plan is about to read rows.
    """

    def __init__(
        self, size: int, request: Request, plan: Blocks | None, leave: Leave, forward: bool = False
    ):
        self.size, self._request, self._leave = size, request, leave
        self._forward = forward or plan is None
        self._allowed = FIRST if plan is None else AHEAD // 2
        self._plan = plan = in_order(size) if plan is None else plan
        self._order = sorted(range(len(plan)), key=plan.__getitem__)
        self._starts = [plan[k][0] for k in self._order]
        self._coming: dict[int, Future[Stretch]] = {}
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
        return bytes(self.read_buffer(size))

    def read_buffer(self, size: int | None = -1) -> bytes | memoryview:
        """Do as :meth:`read`, without a copy of what lies in one block; pyarrow asks for this."""
        left = max(0, self.size - self._at)
        size = left if size is None or size < 0 else min(size, left)
        parts = list(self._parts(self._at, size, peek=False))
        self._at += size
        return parts[0] if len(parts) == 1 else b"".join(parts)

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
            found = self._part_at(at, peek)
            part = found.data[at - found.start :][:size]
            at, size = at + len(part), size - len(part)
            yield part
            if not peek:
                self._count(at - 1, len(part))

    def _part_at(self, offset: int, peek: bool) -> Stretch:
        """Return bytes around a place."""
        k = self._block_at(offset)
        if k is None or (peek and k not in self._coming and k > self._next):
            return self._page_at(offset)
        if k not in self._coming:
            self._next = k + 1
            self._ask(k)
            self._ask_ahead()
        return _arrived(self._coming[k])

    def _block_at(self, offset: int) -> int | None:
        place = bisect_right(self._starts, offset) - 1
        if place < 0:
            return None
        k = self._order[place]
        return k if offset < self._plan[k][1] else None

    def _page_at(self, offset: int) -> Stretch:
        """Return bytes that nothing announced."""
        start, end = offset // PAGE * PAGE, self.size
        if offset >= self.size - LAST:
            start = max(0, self.size - LAST)
        else:
            end = min(start + PAGE, end)
        return _arrived(self._request(start, end))

    def _ask(self, k: int) -> None:
        start, end = self._plan[k]
        if self._bytes_coming > 2 * AHEAD:  # some were passed over
            self._drop(next(iter(self._coming)))
        self._coming[k] = self._request(start, end)
        self._unread[k] = end - start
        self._bytes_coming += end - start

    def _ask_ahead(self) -> None:
        allowed = min(AHEAD, self._allowed + 16 * self._bytes_read)
        while self._next < len(self._plan) and self._bytes_coming < allowed:
            start, end = self._plan[self._next]
            if self._bytes_coming and self._bytes_coming + end - start > AHEAD:
                return
            if self._next not in self._coming and self._next not in self._done:
                self._ask(self._next)
            self._next += 1

    def _count(self, last: int, size: int) -> None:
        """Note that bytes were read; forget the blocks that will not be read any more."""
        k = self._block_at(last)
        if k is None:
            return
        self._bytes_read += size
        if k in self._coming:
            self._unread[k] -= size
            if self._unread[k] <= 0:
                if self._plan[k][1] <= 4 * FIRST:  # who looked at the head soon reads from there
                    self._leave(*self._plan[k], self._coming[k])
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
