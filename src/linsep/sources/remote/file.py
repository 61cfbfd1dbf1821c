"""A remote file, which the readers of formats use as they use a path."""

import asyncio
import os
import re
import time
import weakref
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from glob import has_magic
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from linsep._system.files import scratch_folder
from linsep.errors import DataError
from linsep.sources.remote.address import (
    SERVERS,
    WEB,
    is_chain,
    is_remote,
    name_of,
    normal,
    protocol_of,
    shown,
)
from linsep.sources.remote.answers import Answer, Version, run_sync, submit, with_retries
from linsep.sources.remote.stores import filesystem, ranges_of, request_lock

if TYPE_CHECKING:
    from concurrent.futures import Future

    from linsep.sources.remote.streams import AheadCache, Block

#: seconds for which a file is assumed not to change after it was inspected
FRESH = 5.0
#: bytes of a request, at most
PIECE = 8 << 20
#: endings of files that say at their end what they hold
_ENDS = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
#: what programs leave beside data files, to say that these are whole or in a folder
_MARKERS = re.compile(r"_SUCCESS|_(started|committed)_.*|_(common_)?metadata|.*_\$folder\$")


class Stat(NamedTuple):
    """What is known of a file without reading it."""

    st_size: int


class RemoteFile:
    """A file with an address, such as s3://bucket/rows.csv; it has the reading half of a Path.

    It must not change after it was first seen: the size and ETag of every response, or the date
    without an ETag, must match the first response.

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
                f"{shown(address)} is a chain of URLs, or a part of one, which linsep does not "
                "support: name the file itself.",
                code="bad-url",
                path=shown(address),
            )
        self.address = address = normal(address)
        self._name = name_of(address)
        self._fs = filesystem(address)
        self._range = ranges_of(self._fs, address)
        self._seen: Version | None = None
        self._looked = -FRESH
        self._cache: weakref.ref[AheadCache] | None = None
        self._whole_only = False
        self._copy: Path | None = None

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
        return not self._whole_only

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
    def reading(self) -> Iterator[Any]:
        """Open the file, of which more is requested than is read, in the order of its bytes.

        A file of a server that sends whole files only is copied to a temporary folder first.

        Raises DataError if the file is not there any more, cannot be read, or has changed.
        """
        with self._if_there():
            cache = self._look()
        self._size()
        if self._copy is not None:
            with self._copy.open("rb", buffering=0) as copy:
                yield copy
            return
        from linsep.sources.remote.streams import RemoteStream

        with RemoteStream(cache or self._new_cache()) as stream:
            yield stream

    def open(self, mode: str = "rb") -> Any:
        """Do as :meth:`reading`."""
        return self.reading()

    @contextmanager
    def reading_parts(self, parts: "list[Block]") -> Iterator[Any]:
        """Open the file to read some parts of it, which are requested in their order; nothing else
        is, unless it is read.
        """
        from linsep.sources.remote.streams import AheadCache, Chosen, RemoteStream

        with self._if_there():
            self._look()
        with RemoteStream(AheadCache(self._requested, self._size(), Chosen(parts))) as stream:
            yield stream

    def copied(self) -> Path:
        """Return a copy of the file in a temporary folder, which ends with this object."""
        with self._if_there():
            cache = self._look()
            if cache is not None:  # which would keep this object, and with it the copy
                cache.forget_all()
            return self._copied()

    def _size(self) -> int:
        with self._if_there():
            self._look()
            assert self._seen is not None
            if self._seen.size is None or self._whole_only:
                self._copied()
        return self._seen.size or 0

    @contextmanager
    def _if_there(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise self._removed() from None

    def _look(self) -> "AheadCache | None":
        """Look at the file, unless it was looked at a moment ago; return the cache in which its
        head is, if there is one.
        """
        if time.monotonic() - self._looked < FRESH:
            return None if self._cache is None else self._cache()
        from linsep.sources.remote import streams

        answer = run_sync(self._checked(lambda: self._range(0, streams.HEAD)))
        self._looked, self._cache = time.monotonic(), None
        if answer.data is None or answer.version.size is None:
            self._whole_only = True
            return None
        cache = self._new_cache()
        if len(answer.data) == min(streams.HEAD, cache.size):
            cache.put(0, answer.data)
        return cache

    def _new_cache(self) -> "AheadCache":
        from linsep.sources.remote.streams import HEAD, TAIL, AheadCache, Sequence, kept

        assert self._seen is not None
        size = self._seen.size or 0
        tail = max(min(HEAD, size), size - TAIL) if self.suffix.lower() in _ENDS else size
        cache = AheadCache(self._requested, size, Sequence(size, tail))
        self._cache = weakref.ref(cache)
        kept.append(cache)
        return cache

    def _copied(self) -> Path:
        if self._copy is None:
            folder = scratch_folder()
            weakref.finalize(self, folder.cleanup)
            path = Path(folder.name) / "copy"
            if self._whole_only:
                run_sync(self._checked(lambda: self._copy_whole(path)))
            else:
                run_sync(self._copy_parts(path))
            self._copy = path
        return self._copy

    async def _copy_whole(self, path: Path) -> Answer:
        with path.open("wb", buffering=0) as out:
            return Answer(None, await self._fs.copy_whole(self.address, _Room(out, self)))

    async def _copy_parts(self, path: Path) -> None:
        assert self._seen is not None
        edges = [*range(0, self._seen.size or 0, 4 * PIECE), self._seen.size or 0]
        with path.open("wb", buffering=0) as out:
            for start, end in pairwise(edges):
                _Room(out, self).write(await self._get(start, end))

    def _requested(self, start: int, end: int) -> "Future[bytes]":
        """Request some bytes, whose future raises as :meth:`reading` does."""
        kept = None if self._cache is None else self._cache()
        if kept is not None and (known := kept.known(start, end)) is not None:
            return _done(known)

        return submit(self._get(start, end))

    async def _get(self, start: int, end: int) -> bytes:
        """Return the bytes between two places, of which pieces come at the same time."""
        edges = [*range(start, end, PIECE), end]
        return b"".join(await asyncio.gather(*map(self._piece, edges, edges[1:])))

    async def _piece(self, start: int, end: int) -> bytes:
        """Return the bytes between two places; servers may send fewer at once."""
        parts: list[bytes] = []
        while start < end:
            try:
                answer = await self._checked(partial(self._range, start, end))
            except FileNotFoundError:
                raise self._removed() from None
            if answer.data is None:
                raise DataError(
                    f"The server of {self} honors range requests inconsistently: copy the file "
                    "to this machine.",
                    code="unreachable",
                    path=self,
                )
            if not answer.data:
                raise self._changed(answer.version)
            parts.append(answer.data)
            start += len(answer.data)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _checked(self, request: Callable[[], Coroutine[Any, Any, Answer]]) -> Answer:
        """Make a request, and check that the file is the same."""
        answer = await with_retries(request, self.address)
        self._check(answer.version)
        return answer

    def _check(self, seen: Version) -> None:
        """Raise DataError if the file is another one than at first."""
        first = self._seen or seen
        tags = (first.tag, seen.tag) if first.tag or seen.tag else (first.date, seen.date)
        if tags[0] != tags[1]:
            raise self._changed(seen)
        if None not in (first.size, seen.size) and first.size != seen.size:
            raise self._changed(seen)
        size = seen.size if first.size is None else first.size
        self._seen = Version(size, first.tag or seen.tag, first.date or seen.date)

    def _changed(self, seen: Version) -> DataError:
        first, sizes = self._seen, ""
        if first and bool(first.tag) != bool(seen.tag):
            sizes = f" ({'its ETag is gone' if first.tag else 'it has an ETag now'})"
        if first and first.size is not None and seen.size is not None and first.size != seen.size:
            sizes = f" ({first.size:,} bytes at first, now {seen.size:,})"
        return changed(self, sizes)

    def _removed(self) -> DataError:
        if self._seen is None:
            return no_file(self)
        return removed(self)


def _done(data: bytes) -> "Future[bytes]":
    from concurrent.futures import Future

    found: Future[bytes] = Future()
    found.set_result(data)
    return found


class _Room:
    """A temporary file; the disk may be full."""

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
                "free some space there", "set TMPDIR to another folder",
                code="cannot-write", path=self._file,
            ) from None  # fmt: skip


#: a file on this machine, or a remote one
File = Path | RemoteFile


def no_file(file: File) -> DataError:
    """Return the error for a file that is not there."""
    advice = ": check the URL." if isinstance(file, RemoteFile) else "."
    return DataError(f"There is no file {file}{advice}", code="no-file", path=file)


def changed(file: File, how: str) -> DataError:
    """Return the error for a file that has changed; ``how`` describes the difference."""
    return DataError(
        f"{file} changed while it was read{how}: start again when nothing writes to it.",
        code="file-changed",
        path=file,
    )


def removed(file: File) -> DataError:
    """Return the error for a file that was there."""
    return DataError(
        f"{file} was removed while it was read: restore it and start again.",
        code="file-changed",
        path=file,
    )


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
            raise DataError(
                f"{file} is not local: copy it to this machine.", code="unsupported", path=file
            )
    return [file for file in files if isinstance(file, Path)]


def is_marker(name: str) -> bool:
    """Return whether a file of this name describes the data files beside it."""
    return _MARKERS.fullmatch(name) is not None


def find_remote(address: str) -> tuple[list[RemoteFile], bool]:
    """Return the file of a URL, or the files of a folder or a wildcard, sorted by name, and whether
    it was a folder.

    As in a shell, hidden files are left out; ``**`` matches any depth of folders. Web servers list
    nothing, so each of their addresses is one file.

    Raises DataError if there is no such file, or it may not be read.
    """
    file = RemoteFile(address)
    address = file.address
    bucket_only = "/" not in address.partition("://")[2]
    is_folder = (address.endswith("/") or bucket_only) and protocol_of(address) not in WEB
    if not is_folder and file.exists():
        inside = (
            _inside(file) if protocol_of(address) not in SERVERS and not file.stat().st_size else []
        )
        return (inside, True) if inside else ([file], False)
    if protocol_of(address) in WEB:
        raise no_file(file)
    fs = filesystem(address)
    if has_magic(address):
        found = _listed(fs, address, fs.glob)
        if not found:
            raise DataError(f"No file matches {file}.", code="no-file", path=file)
        return found, False
    found = _listed(fs, address, fs.ls)
    if not found:
        raise no_file(file)
    return found, True


def _inside(file: RemoteFile) -> list[RemoteFile]:
    """Return the files in the folder that an empty object stands for, if it does."""
    fs = filesystem(file.address)
    return _listed(fs, file.address + "/", fs.ls)


def _may_be_data(name: str) -> bool:
    """Return whether a name is not a folder, a hidden file or a marker."""
    return bool(name) and name[0] != "." and not is_marker(name)


def _listed(fs: Any, address: str, listing: Any) -> list[RemoteFile]:
    """Return the files that a listing of fsspec yields."""

    async def names() -> list[str]:
        try:
            async with request_lock(fs):
                found = await asyncio.to_thread(listing, fs._strip_protocol(address), detail=True)
        except FileNotFoundError:
            return []
        entries = found.values() if isinstance(found, dict) else found
        return [entry["name"] for entry in entries if entry["type"] == "file"]

    paths = run_sync(with_retries(names, address))
    own = fs._strip_protocol(address).rstrip("/")
    shown_paths = [path for path in sorted(paths) if _may_be_data(path.rpartition("/")[2])]
    files = [RemoteFile(_named(fs, path, address)) for path in shown_paths if path != own]
    for file in files:
        if "?" in file.address and file.address != str(file):
            raise DataError(
                f"{file.address} is read as {file} with options, because of '?' and '=': rename "
                "the file.",
                code="bad-url",
                path=file,
            )
    return files


def _named(fs: Any, path: str, address: str) -> str:
    """Return the address of a path in the store of another address, whose server it may name."""
    protocol, _, rest = address.partition("://")
    server, said = f"{protocol}://{rest.partition('/')[0]}/", fs._get_kwargs_from_urls(address)
    inside = path.lstrip("/")
    for name in (fs.unstrip_protocol(path), server + inside, server + inside.partition("/")[2]):
        if fs._strip_protocol(name) == path and fs._get_kwargs_from_urls(name) == said:
            return name
    raise DataError(
        f"The server does not list {shown(address)}: name each of its files.",
        code="unreachable",
        path=shown(address),
    )
