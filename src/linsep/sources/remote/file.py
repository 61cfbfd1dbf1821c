"""A remote file, used by the readers of formats as a path is: fsspec opens and caches it; and how
changes of any file are detected.
"""

import io
import os
import re
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from glob import has_magic
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from linsep._system.files import scratch_folder
from linsep.errors import DataError
from linsep.sources.remote.address import (
    WEB,
    identified,
    is_chain,
    is_remote,
    name_of,
    normal,
    protocol_of,
    shown,
    without_secrets,
)

#: bytes of a request for text that is read from its start to its end, and how many are kept
BLOCK, BLOCKS = 8 << 20, 3
#: seconds without a byte from a web server
SILENCE = 30
#: names of the version of a file in stores, the best first
_VERSIONS = (
    "ETag", "etag", "Last-Modified", "LastModified", "last_modified", "updated", "mtime",
    "modified", "modify", "created",
)  # fmt: skip
#: names of files that are hidden, or describe the data files beside them
_HIDDEN = re.compile(
    r"(\.|_started_|_committed_).*|.*_\$folder\$|_SUCCESS|_(common_)?metadata", re.DOTALL
)
#: the file that was read last, open, whose blocks serve who opens the same version again
_last: dict[tuple[Any, ...], Any] = {}


class RemoteFile:
    """A file with an address, such as s3://bucket/rows.csv; it has the reading half of a Path.

    It must not change after it was first seen: size and ETag (or else the date) are compared when
    it is opened and after it was read. ``str()`` of the object shows no credentials.
    """

    #: the folder where files made of it go: the current one
    parent = Path()

    def __init__(self, address: str):
        self.address = address = normal(address)
        if is_chain(address):
            raise _bad_url(address)
        name = name_of(address)
        self.name, self.stem = name.name, name.stem
        self.suffix, self.suffixes = name.suffix, name.suffixes
        self._fs, self._path = filesystem(address)
        self._seen: tuple[int | None, str | None] | None = None
        self._copy: Path | None = None

    def __str__(self) -> str:
        return shown(self.address)

    def __repr__(self) -> str:
        return f"RemoteFile({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemoteFile) and other.address == self.address

    def __hash__(self) -> int:
        return hash(self.address)

    def __reduce__(self) -> Any:
        # What was seen of it goes along: whoever gets the file must find the same.
        return RemoteFile, (self.address,), {"_seen": self._seen}

    def exists(self) -> bool:
        try:
            self.check()
        except DataError as problem:
            if problem.code != "no-file":
                raise
            return False
        return True

    is_file = exists  # folders are listed instead

    def is_dir(self) -> bool:
        return False

    def stat(self) -> Any:
        return SimpleNamespace(st_size=self.state[1])

    @property
    def state(self) -> tuple[str, int, str | None]:
        """Address without credentials, size, and ETag or date, as first seen: what a row cache is
        known by.
        """
        size, version = self._seen or self.check()
        return str(self), self.copied().stat().st_size if size is None else size, version

    def check(self) -> tuple[int | None, str | None]:
        """Return size and version of the file; DataError if they are not what was first seen."""
        with self._told():
            self._fs.invalidate_cache()
            about = self._fs.info(self._path)
            if about["type"] == "directory":
                raise FileNotFoundError
        # A weak tag and a strong one of the same text are of one version.
        version = next((str(about[name]) for name in _VERSIONS if about.get(name)), None)
        seen = about["size"], version and version.removeprefix("W/")
        if self._seen not in (None, seen):
            raise changed(self)
        self._seen = seen
        return seen

    @contextmanager
    def reading(self, parts: bool = False) -> Iterator[Any]:
        """Open the file: blocks in the order of its bytes, or with ``parts`` what is asked for."""
        size, version = self.check()
        key = os.getpid(), self.address, size, version
        opened = None if parts else _last.pop(key, None)
        while _last:  # fsspec's own end of an open file waits for a thread
            _last.popitem()[1].close()
        stream = _Stream(opened or self._opened(size, parts), self)
        stream.seek(0)
        try:
            yield stream
        except Exception:
            parts = True  # what failed is not used again
            raise
        finally:
            if parts:
                stream.opened.close()
            else:
                _last[key] = stream.opened

    def _opened(self, size: int | None, parts: bool) -> Any:
        how: dict[str, Any] = {"size": size} if protocol_of(self.address) in WEB else {}
        if parts:
            how["cache_type"] = "none"
        elif self._fs.async_impl:
            how |= {"cache_type": "background", "cache_options": {"maxblocks": BLOCKS}}
        if size and self._copy is None:
            with self._told():
                return self._fs.open(self._path, "rb", block_size=BLOCK, **how)
        return pa.OSFile(str(self.copied()))

    def copied(self) -> Path:
        """Return a copy on this machine, for a server that sends whole files only."""
        if self._copy is None:
            folder = scratch_folder()
            weakref.finalize(self, folder.cleanup)
            path = Path(folder.name) / "copy"
            with self._told():
                self._fs.get_file(self._path, str(path))
            self._copy = path
        return self._copy

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except DataError:
            raise
        except Exception as error:
            raise failure(error, self.address, self._seen is not None) from None


class _Stream(io.RawIOBase):
    """A remote file, open for reading; what goes wrong is a DataError."""

    def __init__(self, opened: Any, file: RemoteFile):
        self.opened, self._file, self._size = opened, file, file.state[1]

    def readable(self) -> bool:
        return True

    def seek(self, place: int, whence: int = 0) -> int:
        return int(self.opened.seek(place, whence))

    def readinto(self, buffer: Any) -> int:
        at = self.tell()
        due = max(0, min(len(buffer), self._size - at))
        with self._file._told():
            try:
                data = self.opened.read(due)
            except ValueError:  # the server sends whole files only
                self.opened.close()
                self.opened = pa.OSFile(str(self._file.copied()))
                self.seek(at)
                data = self.opened.read(due)
        if len(data) < due:
            self._file.check()
            raise _unreachable(str(self._file), f"{len(data):,} bytes came instead of {due:,}")
        buffer[:due] = data
        return due


def failure(error: Exception, address: str, seen: bool) -> DataError:
    """Return what to raise for an error of fsspec, or of the library behind it."""
    missing = isinstance(error, FileNotFoundError) and protocol_of(address) in WEB
    cause = error.__cause__ if missing and error.__cause__ else error  # of a web server anything
    status = vars(cause).get("status", vars(cause).get("code"))
    what, file = without_secrets(str(cause), address) or type(cause).__name__, shown(address)
    if type(cause).__name__ == "FileExpired" or status == 412:
        return changed(file)
    if isinstance(cause, PermissionError) or status in (401, 403) or what.startswith("530"):
        said, check = f"Access to {file} is denied ({what})", "check the credentials of fsspec"
        return DataError(said, check, code="access-denied", path=file)
    if isinstance(cause, FileNotFoundError) or status in (404, 410):
        return (changed if seen else no_file)(file)
    if isinstance(cause, TypeError | ValueError) and not seen:
        return _bad_url(address)
    return _unreachable(file, what)


def _unreachable(file: str, what: str) -> DataError:
    said, copy = f"{file} cannot be read ({what})", "copy it to this machine"
    return DataError(said, "check the URL", copy, code="unreachable", path=file)


def _bad_url(address: str) -> DataError:
    said = f"{shown(address)} is not the URL of a file that fsspec opens"
    check = "check its configuration, and that the URL is no chain of several"
    return DataError(said, check, code="bad-url", path=shown(address))


#: a file on this machine, or a remote one
File = Path | RemoteFile


def no_file(file: File | str) -> DataError:
    return DataError(f"There is no file {file}: check its name.", code="no-file", path=file)


def changed(file: File | str) -> DataError:
    said = f"{file} changed or was removed while it was read"
    return DataError(said, "start again when nothing writes to it", code="file-changed", path=file)


def located(name: str | os.PathLike[str] | RemoteFile) -> File:
    """Return the file of a name: a path, or an address with a protocol."""
    if isinstance(name, RemoteFile):
        return name
    if is_remote(name):
        return RemoteFile(str(name))
    return Path(str(name).removeprefix("file://") if isinstance(name, str) else name)


def is_hidden(name: str) -> bool:
    """Return whether a file of this name is left out, as in a shell, or describes the data files
    beside it.
    """
    return _HIDDEN.fullmatch(name) is not None


def find_remote(address: str) -> tuple[list[RemoteFile], bool]:
    """Return the file of a URL, or the files of a folder or a wildcard, sorted by name, and whether
    it was a folder. Web servers list nothing, so each of their addresses is one file.
    """
    file = RemoteFile(address)
    if file.exists():
        return [file], False
    pattern, path, listed = has_magic(file.address), file._path.rstrip("/"), dict[str, Any]()
    if protocol_of(file.address) not in WEB:
        with file._told():
            listed = file._fs.glob(path if pattern else f"{path}/*", detail=True)
    # The names begin with what the protocol makes of the server.
    *server, tail = f"{file.address.rstrip('/')}/".split("/", 3)
    begin = len(path) + 1 - len(tail)
    found = [
        RemoteFile("/".join([*server, name[begin:]]))
        for name, about in sorted(listed.items())
        if about["type"] == "file" and not is_hidden(name.rpartition("/")[2])
    ]
    if not found:
        raise no_file(file)
    return found, not pattern


def filesystem(address: str) -> tuple[Any, str]:
    """Return fsspec's access to the store of an address, and the path in it."""
    protocol, place = protocol_of(address), address.partition("?")[0].lower()
    try:
        import fsspec

        given: dict[str, Any] = {}
        if protocol in WEB:
            import aiohttp

            client = fsspec.config.conf.get(protocol, {}).get("client_kwargs", {})
            # A file whose name says that it is compressed is not decompressed on the way.
            packed = place.endswith((".gz", ".bz2", ".zst"))
            patience = aiohttp.ClientTimeout(None, None, SILENCE, SILENCE)
            given["client_kwargs"] = {"auto_decompress": not packed, "timeout": patience} | client
        return fsspec.core.url_to_fs(address, **given)
    except ImportError as error:
        said = f"{protocol}:// cannot be read ({str(error).splitlines()[0].rstrip('.')})"
        extra = "gs" if protocol == "gs" else "remote"
        advice = f"install that package, such as with pip install 'linsep[{extra}]'"
        raise DataError(said, advice, code="missing-package") from None
    except Exception as error:
        raise failure(error, address, False) from None


def state_of(path: File) -> list[Any]:
    """Return what tells a file and its state, as plain JSON: its resolved path, or its address as
    :func:`identified` shows it; bytes; time of modification in ns, or ETag or date; for a local
    file time of the last change of the status in ns, and inode, which differ for a copy, and after
    a write whose time was put back. OSError if it does not exist.
    """
    if isinstance(path, RemoteFile):
        return [identified(path.address), *path.state[1:]]
    return [str(path.resolve()), *_marks(path)[:4]]


def _marks(path: Path) -> tuple[int, ...]:
    about = path.stat()
    return about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino, about.st_dev


class Unchanged:
    """Files that must not change while they are read, over all passes: they are compared when a
    pass begins and when it has ended, by size, times and inode; remote ones by size and ETag.

    Parameters
    ----------
    paths : files; one that is not there yet is looked at when it is first checked
    """

    def __init__(self, paths: Iterable[File]):
        self._seen: dict[File, tuple[int, ...] | None] = {}
        for path in paths:
            self.check(path, ended=False)

    def check(self, path: File, ended: bool = True) -> None:
        """Raise DataError if the file is another one, or was written since; servers are asked when
        a pass has ``ended``.
        """
        if isinstance(path, RemoteFile):
            if ended:
                path.check()
            return
        now = None
        with suppress(OSError):
            now = _marks(path)
        if now != (self._seen.get(path) or now):
            raise changed(path)
        self._seen[path] = now
