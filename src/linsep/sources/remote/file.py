"""A remote file, which the readers of formats use as they use a path."""

import asyncio
import itertools
import os
import time
import weakref
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linsep.errors import DataError
from linsep.scratch import scratch_folder
from linsep.sources.remote import ahead, recent
from linsep.sources.remote.address import (
    is_chain,
    is_remote,
    name_of,
    normal,
    shown,
)
from linsep.sources.remote.ahead import Blocks, ReadAhead, Stretch
from linsep.sources.remote.asking import asked, filesystem, loop, waited
from linsep.sources.remote.servers import Answer, OtherFile, Seen, file_on

_numbers = itertools.count()
#: endings of files that say at their end what they hold
_ENDS = (".parquet", ".pq", ".arrow", ".feather", ".ipc")


class Stat(NamedTuple):
    """What is known of a file without reading it."""

    st_size: int


class RemoteFile:
    """A file with an address, such as s3://bucket/rows.csv; it has the reading half of a Path.

    It must stay as it was when it was first seen: every answer is compared with the first one, in
    size and ETag, or in the date where there is no ETag. What the first one says, others say, too.

    Parameters
    ----------
    address : str
        With what fsspec needs to read it; ``str()`` of the object shows no credentials.

    Raises
    ------
    DataError
        If fsspec, or a package that it needs, is not installed, or it does not know the protocol,
        or cannot connect to the server; if the address is a chain of several.
    """

    def __init__(self, address: str):
        if is_chain(address):
            raise DataError(
                f"{shown(address)} is a chain of addresses, or a part of one, which linsep does "
                "not follow: name the file itself."
            )
        self.address = address = normal(address)
        self._name = name_of(address)
        self._file = file_on(filesystem(address), address)
        self._seen: Seen | None = None
        self._looked, self._number = -recent.FRESH, next(_numbers)
        self._copy: Path | None = None
        self._folder: Any = None

    def __str__(self) -> str:
        return shown(self.address)

    def __repr__(self) -> str:
        return f"RemoteFile({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemoteFile) and other.address == self.address

    def __hash__(self) -> int:
        return hash(self.address)

    def __lt__(self, other: "RemoteFile") -> bool:
        return str(self) < str(other)

    def __reduce__(self) -> Any:
        # What was seen of it goes along: whoever gets the file must find the same.
        return RemoteFile, (self.address,), {"_seen": self._seen}

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self._name.name

    @property
    def stem(self) -> str:
        """The name without its last ending."""
        return self._name.stem

    @property
    def suffix(self) -> str:
        """The last ending of the name."""
        return self._name.suffix

    @property
    def suffixes(self) -> list[str]:
        """The endings of the name."""
        return self._name.suffixes

    @property
    def parent(self) -> Path:
        """The folder where files made of it go: the current one."""
        return Path()

    def exists(self) -> bool:
        """Return whether the file is there."""
        try:
            self._look()
        except FileNotFoundError:
            return False
        return True

    def is_file(self) -> bool:
        """Return True; folders are listed instead."""
        return True

    def is_dir(self) -> bool:
        """Return False."""
        return False

    @property
    def in_parts(self) -> bool:
        """Whether the server sends parts of the file; if not, it is copied to this machine."""
        with self._if_there():
            self._look()
        return self._folder is None

    def stat(self) -> Stat:
        """Return the size; raises as :meth:`reading` does."""
        return Stat(self._size())

    @property
    def state(self) -> tuple[str, int, str | None]:
        """Address without credentials, size, and ETag or date: what a row cache is known by."""
        size = self._size()
        assert self._seen is not None
        return str(self), size, self._seen.tag or self._seen.date

    @contextmanager
    def reading(self, plan: Blocks | None = None, forward: bool = False) -> Iterator[Any]:
        """Open the file for reading ahead, in the order of its bytes or of ``plan``; ``forward``
        says that nothing of the plan is read after what comes later in it.

        A file of a server that sends whole files only is copied to a temporary folder first.

        Raises DataError if the file is not there any more, cannot be read, or has changed.
        """
        size = self.stat().st_size
        if self._copy is not None:
            with self._copy.open("rb", buffering=0) as copy:
                yield copy
            return
        with ReadAhead(size, self._requested, plan, self._kept, forward) as stream:
            yield stream

    @contextmanager
    def open(self, mode: str = "rb") -> Iterator[Any]:
        """Open the file to look at some places of it; nothing is read ahead."""
        with self.reading([]) as stream:
            yield stream

    def _size(self) -> int:
        with self._if_there():
            self._look()
            assert self._seen is not None
            if self._seen.size is None or self._folder is not None:
                self._copied()
        return self._seen.size or 0

    @contextmanager
    def _if_there(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise self._removed() from None

    def _look(self) -> None:
        """Look at the file, unless it was looked at a moment ago; keep its head."""
        if time.monotonic() - self._looked < recent.FRESH:
            return
        room = _room(ahead.FIRST)
        answer, end = waited(self._both_ends(room))
        if None in (answer.size, answer.seen.size) and self._folder is None:
            self._folder = scratch_folder()
            weakref.finalize(self, self._folder.cleanup)
        recent.RECENT.forget(self._number)
        if answer.size is not None:
            head: Future[Stretch] = Future()
            head.set_result(Stretch(0, room[: answer.size].toreadonly()))
            recent.RECENT.put(self._number, 0, answer.size, head)
        if end is not None and answer.size is not None and end.end == answer.seen.size:
            tail: Future[Stretch] = Future()
            tail.set_result(end)
            recent.RECENT.put(self._number, end.start, end.end, tail)
        self._looked = time.monotonic()

    async def _both_ends(self, room: memoryview) -> tuple[Answer, Stretch | None]:
        """Ask for the head of the file, and of Parquet and Arrow, which say at their end what they
        hold, at the same time for that; it is asked for again if it does not come.
        """
        ends = self.suffix.lower() in _ENDS and not isinstance(self._file, OtherFile)
        coming = asyncio.create_task(self._last()) if ends else None
        try:
            answer = await self._asked(lambda: self._file.get(0, room))
            end = None if coming is None else await coming
            return answer, end[1] if end is not None and end[0] == answer.seen else None
        finally:
            if coming is not None:
                coming.cancel()

    async def _last(self) -> tuple[Seen, Stretch] | None:
        """Return the last bytes of the file, None if they do not come at once."""
        room = _room(ahead.LAST)
        try:
            answer = await self._file.get(-1, room)
        except Exception:
            return None
        if answer.size is None or answer.seen.size is None:
            return None
        start = answer.seen.size - answer.size
        return answer.seen, Stretch(start, room[: answer.size].toreadonly())

    def _copied(self) -> None:
        if self._copy is not None:
            return
        path = Path(self._folder.name) / "copy"

        async def copy() -> Answer:
            with path.open("wb", buffering=0) as out:
                return Answer(None, await self._file.copy(_Room(out, self)))

        waited(self._asked(copy))
        self._copy = path

    def _kept(self, start: int, end: int, coming: "Future[Stretch]") -> None:
        recent.RECENT.put(self._number, start, end, coming)

    def _requested(self, start: int, end: int) -> "Future[Stretch]":
        """Request some bytes, whose future raises as :meth:`reading` does."""
        if (coming := recent.RECENT.take(self._number, start, end)) is not None:
            return coming

        async def get() -> Stretch:
            room, step = _room(end - start), ahead.BLOCK
            pieces = range(0, end - start, step)
            await asyncio.gather(*(self._fill(start + at, room[at : at + step]) for at in pieces))
            return Stretch(start, room.toreadonly())

        coming = asyncio.run_coroutine_threadsafe(get(), loop())
        last = self._seen is not None and end == self._seen.size
        if end - start <= (ahead.FIRST if last else ahead.PAGE):  # a footer is read again
            coming.add_done_callback(
                lambda done: None if done.cancelled() else self._kept(start, end, done)
            )
        return coming

    async def _fill(self, start: int, room: memoryview) -> None:
        """Fill the room with the bytes from a place on; servers may send fewer at once."""
        came = 0
        while came < len(room):
            rest = partial(self._file.get, start + came, room[came:])
            try:
                answer = await self._asked(rest)
            except FileNotFoundError:
                raise self._removed() from None
            if answer.size is None:
                raise DataError(
                    f"{self} comes from a server that sends parts of it at times, and at times the "
                    "whole: copy it to this machine."
                )
            if answer.size == 0:
                raise self._changed(answer.seen)
            came += answer.size

    async def _asked(self, request: Callable[[], Coroutine[Any, Any, Answer]]) -> Answer:
        """Make a request, and check that the file is the same."""
        answer = await asked(request, self.address)
        self._check(answer.seen)
        return answer

    def _check(self, seen: Seen) -> None:
        """Raise DataError if the file is another one than at first."""
        first = self._seen or seen
        tags = (first.tag, seen.tag) if first.tag or seen.tag else (first.date, seen.date)
        if tags[0] != tags[1]:
            raise self._changed(seen)
        if None not in (first.size, seen.size) and first.size != seen.size:
            raise self._changed(seen)
        size = seen.size if first.size is None else first.size
        self._seen = Seen(size, first.tag or seen.tag, first.date or seen.date)

    def _changed(self, seen: Seen) -> DataError:
        first, sizes = self._seen, ""
        if first and bool(first.tag) != bool(seen.tag):
            sizes = f" ({'its ETag is gone' if first.tag else 'it has an ETag now'})"
        if first and first.size is not None and seen.size is not None and first.size != seen.size:
            sizes = f" ({first.size:,} bytes at first, now {seen.size:,})"
        return DataError(
            f"{self} changed while it was read{sizes}: start again when nothing writes to it."
        )

    def _removed(self) -> DataError:
        if self._seen is None:
            return no_file(self)
        return DataError(f"{self} was removed while it was read: put it back and start again.")


def _room(size: int) -> memoryview:
    """Return memory that nothing has touched yet."""
    return np.empty(size, np.uint8).data


class _Room:
    """A temporary file, which may find no room."""

    def __init__(self, out: Any, file: RemoteFile):
        self._out, self._file = out, file

    def write(self, data: bytes) -> int:
        """Write all bytes; DataError if the disk is full."""
        try:
            return self._out.write(data)
        except OSError as error:
            raise DataError(
                f"{self._file} comes from a server that sends whole files only, and cannot be kept "
                f"in a temporary folder ({error.strerror})",
                "make room there",
                "set TMPDIR to another folder",
            ) from None


#: a file on this machine, or a remote one
File = Path | RemoteFile


def no_file(file: File) -> DataError:
    """Return the error for a file that is not there."""
    advice = ": check the address." if isinstance(file, RemoteFile) else "."
    return DataError(f"There is no file {file}{advice}")


def located(name: str | os.PathLike[str] | RemoteFile) -> File:
    """Return the file of a name: a path, or an address with a protocol."""
    if isinstance(name, RemoteFile):
        return name
    if is_remote(name):
        return RemoteFile(str(name))
    return Path(str(name).removeprefix("file://") if isinstance(name, str) else name)


def local(files: Sequence[File]) -> list[Path]:
    """Return files that are on this machine; DataError if one is not."""
    for file in files:
        if isinstance(file, RemoteFile):
            raise DataError(f"{file} is not on this machine: copy it to read what it holds.")
    return [file for file in files if isinstance(file, Path)]
