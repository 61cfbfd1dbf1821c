"""Remote files as streams: a cache of fsspec's kind that requests blocks before they are read.

fsspec's own caches read one block ahead, in a thread that the end of the process waits for
("background"), or cannot give up what is under way ("adaptive"). Loaded when a file is read,
because it needs fsspec.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock
from typing import Any

from fsspec.caching import BaseCache
from fsspec.spec import AbstractBufferedFile

from linsep.sources.remote.answers import arrived

#: bytes of the first block, since some read only the head of a file, and of the largest ones; both
#: are powers of two
HEAD, BLOCK = 1 << 18, 1 << 23
#: bytes of a block at the end of a file, where Parquet and Arrow say what it holds
TAIL = 1 << 19
#: bytes that are requested and not yet read, at most
AHEAD = 64 << 20
#: bytes that are kept after they were read, for who looks back
BEHIND = 24 << 20

#: bytes that are kept of files that are not read now, for who opens them again soon
MOST_KEPT = 64 << 20

Block = tuple[int, int]
Request = Callable[[int, int], "Future[bytes]"]


class Sequence:
    """The blocks of a file that is read from its start to its end: they grow, each as large as all
    before it, up to :data:`BLOCK`. ``tail`` is where the last one begins.
    """

    def __init__(self, size: int, tail: int):
        self._size, self._tail = size, tail

    def around(self, place: int) -> Block | None:
        """Return the block of a place."""
        if place >= self._size:
            return None
        if place >= self._tail:
            return self._tail, self._size
        if place < BLOCK:
            start = 0 if place < HEAD else 1 << (place.bit_length() - 1)
            end = max(HEAD, 2 * start)
        else:
            start = place // BLOCK * BLOCK
            end = start + BLOCK
        return start, min(end, self._tail)

    def after(self, block: Block) -> Block | None:
        """Return the block behind one."""
        return self.around(block[1])


class Chosen:
    """Blocks of some parts of a file, such as columns, in its order: neighbors come together if
    they are small, large ones in pieces.
    """

    def __init__(self, parts: list[Block]):
        blocks: list[Block] = []
        for start, end in parts:
            if blocks and blocks[-1][1] == start and end - blocks[-1][0] <= BLOCK:
                blocks[-1] = blocks[-1][0], end
            else:
                blocks += [(at, min(at + BLOCK, end)) for at in range(start, end, BLOCK)]
        self._blocks, self._starts = blocks, [start for start, _ in blocks]

    def around(self, place: int) -> Block | None:
        """Return the block of a place, None if nobody chose it."""
        k = bisect_right(self._starts, place) - 1
        return self._blocks[k] if k >= 0 and place < self._blocks[k][1] else None

    def after(self, block: Block) -> Block | None:
        """Return the block behind one."""
        k = bisect_right(self._starts, block[0])
        return self._blocks[k] if k < len(self._blocks) else None


class AheadCache(BaseCache):
    """Blocks of a file that are under way, and some that were read.

    What is under way grows with what was read, so that a look at the head of a file costs little.
    Any thread may read; places may be read again while their block is there.
    """

    name = "linsep"

    def __init__(self, request: Request, size: int, blocks: Sequence | Chosen):
        self._request, self._blocks = request, blocks
        self._coming: dict[Block, Future[bytes]] = {}  # the one used last at the end
        self._read, self._lock = 0, Lock()
        super().__init__(BLOCK, lambda start, stop: arrived(request(start, stop)), size)

    def _fetch(self, start: int | None, stop: int | None) -> Any:
        """Return bytes, as fsspec's files ask for them, fewer only at the end of the file; they are
        not copied if they lie in one block.
        """
        at, stop = start or 0, self.size if stop is None else min(stop, self.size)
        parts = []
        while at < stop:
            with self._lock:
                block = self._blocks.around(at)
                coming = None if block is None else self._ask_ahead(block)
            if block is None or coming is None:
                end = stop
                parts.append(self.fetcher(at, end))
            else:
                end = min(stop, block[1])
                try:
                    data = arrived(coming)
                except BaseException:
                    self._coming.pop(block, None)  # who comes back asks again
                    raise
                parts.append(memoryview(data)[at - block[0] : end - block[0]])
                self._read += end - at
            at = end
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _ask_ahead(self, block: Block) -> "Future[bytes]":
        """Request a block, unless it is there, and blocks behind it as far as they may come."""
        coming = self._coming.pop(block, None)
        if coming is None or coming.cancelled():
            coming = self._request(*block)
        self._coming[block] = coming
        allowed, ahead = min(AHEAD, 8 * self._read), 0
        following = self._blocks.after(block)
        while following is not None and (ahead := ahead + following[1] - following[0]) <= allowed:
            # Those that will be read are forgotten after those that were.
            known = self._coming.pop(following, None)
            self._coming[following] = known or self._request(*following)
            following = self._blocks.after(following)
        self._forget(max(AHEAD + BEHIND, block[1] - block[0] + ahead))
        return coming

    def _forget(self, most: int) -> None:
        """Drop what was not used for longest, until there are at most so many bytes."""
        held = self.held
        for block in list(self._coming):
            if held <= most:
                return
            held -= block[1] - block[0]
            self._coming.pop(block).cancel()

    def put(self, start: int, data: bytes) -> None:
        """Keep bytes that have come already."""
        found: Future[bytes] = Future()
        found.set_result(data)
        self._coming[start, start + len(data)] = found

    def known(self, start: int, stop: int) -> bytes | None:
        """Return bytes that have come already, None if they have not."""
        block = self._blocks.around(start)
        coming = None if block is None else self._coming.get(block)
        if block is None or coming is None or stop > block[1] or not coming.done():
            return None
        failed = coming.cancelled() or coming.exception() is not None
        return None if failed else coming.result()[start - block[0] : stop - block[0]]

    def forget_all(self) -> None:
        """Drop everything, and be kept for nobody."""
        with self._lock:
            self._forget(0)
        if self in kept:
            kept.remove(self)

    @property
    def held(self) -> int:
        """The bytes that are there or under way."""
        return sum(end - start for start, end in list(self._coming))

    def keep_ends(self) -> None:
        """Drop what is most behind the head of the file, but not its end: both are often looked at
        again at once.
        """
        with self._lock:
            held = self.held
            for start, end in sorted(self._coming, reverse=True):
                if held > MOST_KEPT // 2 and end != self.size:
                    held -= end - start
                    self._coming.pop((start, end)).cancel()
        while len(kept) > 1 and sum(cache.held for cache in list(kept)) > MOST_KEPT:
            kept.popleft()


#: the caches used last; others are dropped, so that many files do not fill memory
kept: deque[AheadCache] = deque(maxlen=100)


class RemoteStream(AbstractBufferedFile):
    """A remote file, open for reading through a cache, which others may use, too."""

    __hash__ = object.__hash__

    def __init__(self, cache: AheadCache):
        super().__init__(None, "", size=cache.size, cache_type="none")
        self.cache = cache

    def read(self, length: int | None = -1) -> bytes:
        """Return the next bytes, fewer only at the end of the file."""
        return bytes(super().read(length))

    def read_buffer(self, length: int | None = -1) -> Any:
        """Do as :meth:`read` without a copy; pyarrow asks for this."""
        return super().read(length)

    def readinto(self, b: Any) -> int:
        """Fill the buffer as far as the file goes."""
        data = super().read(len(b))
        b[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Leave the ends of the file to who opens it next."""
        if self.cache is not None:
            self.cache.keep_ends()
        super().close()
