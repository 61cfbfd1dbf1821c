"""A remote file, used by the readers of formats as a path is: fsspec opens and caches it."""

import io
import os
import weakref
from collections.abc import Iterator
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
#: the file that was read last, open, whose blocks serve who opens the same version again
_last: dict[tuple[Any, ...], Any] = {}


class RemoteFile:
    """A file with an address, such as s3://bucket/rows.csv; it has the reading half of a Path.

    It must not change after it was first seen: size and ETag (or else the date) are compared when
    it is opened and after it was read. ``str()`` of the object shows no credentials.

    Raises
    ------
    DataError
        If fsspec, or a package that it needs, is not installed, or it does not know the protocol,
        or cannot connect to the server; if the address is a chain of several.
    """

    #: the folder where files made of it go: the current one
    parent = Path()

    def __init__(self, address: str):
        self.address = address = normal(address)
        if is_chain(address):
            raise _bad_url(address)
        name = name_of(address)
        self.name, self.stem, self.suffix, self.suffixes = (
            name.name, name.stem, name.suffix, name.suffixes,
        )  # fmt: skip
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
        """Return an object with the size as ``st_size``; raises as :meth:`reading` does."""
        return SimpleNamespace(st_size=self.state[1])

    @property
    def state(self) -> tuple[str, int, str | None]:
        """Address without credentials, size, and ETag or date, as first seen: what a row cache is
        known by.
        """
        size, version = self._seen or self.check()
        return str(self), self._copied().stat().st_size if size is None else size, version

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
        """Open the file: blocks in the order of its bytes, or with ``parts`` what is asked for.
        DataError if it is not there any more, cannot be read, or has changed.
        """
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
        cache: dict[str, Any] = {"cache_type": "none"} if parts else {}
        if self._fs.async_impl and not parts:
            cache = {"cache_type": "background", "cache_options": {"maxblocks": BLOCKS}}
        if size and self._copy is None:
            with self._told(), suppress(ValueError):  # of servers that send whole files only
                if how:
                    with self._fs.open(self._path, "rb", cache_type="none", **how) as last:
                        last.seek(size - 1)
                        last.read(1)
                return self._fs.open(self._path, "rb", block_size=BLOCK, **how, **cache)
        return pa.OSFile(str(self._copied()))

    def _copied(self) -> Path:
        """Return a copy on this machine, of a server that sends whole files only."""
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
        self.tell, self.seek = opened.tell, opened.seek  # type: ignore[method-assign]

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        due = max(0, min(len(buffer), self._size - self.tell()))
        with self._file._told():
            data = self.opened.read(due)
        if len(data) < due:
            self._file.check()
            raise _unreachable(str(self._file), f"{len(data):,} bytes came instead of {due:,}")
        buffer[:due] = data
        return due


def failure(error: Exception, address: str, seen: bool) -> DataError:
    """Return what to raise for an error of fsspec or of the library behind it, for a file that was
    ``seen`` before.
    """
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
    if isinstance(cause, ValueError) and not seen:
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
    marks = (".", "_started_", "_committed_")
    described = name in ("_SUCCESS", "_metadata", "_common_metadata") or name.endswith("_$folder$")
    return described or name.startswith(marks)


def find_remote(address: str) -> tuple[list[RemoteFile], bool]:
    """Return the file of a URL, or the files of a folder or a wildcard, sorted by name, and whether
    it was a folder.

    As in a shell, hidden files are left out; ``**`` matches any depth of folders. Web servers list
    nothing, so each of their addresses is one file.

    Raises DataError if there is no such file, or it may not be read.
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
    """Return fsspec's access to the store of an address, and the path in it.

    Raises DataError if a package for it is missing, or the store does not let us in.
    """
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
    except (TypeError, ValueError):
        raise _bad_url(address) from None
    except Exception as error:
        raise failure(error, address, True) from None
