"""A remote file, used by the readers of formats as a path is: fsspec opens and caches it."""

import io
import os
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from glob import has_magic
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

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
    without_secrets,
)

#: seconds for which a file is assumed not to change after it was inspected
FRESH = 5.0
#: bytes of a request for text that is read from its start to its end, and how many are kept
BLOCK, BLOCKS = 8 << 20, 3
#: seconds without a byte from a web server
SILENCE = 30
#: names of the version of a file in stores, the best first
_VERSIONS = (
    "ETag", "etag", "generation", "content_md5", "md5Hash", "Last-Modified", "LastModified",
    "last_modified", "updated", "mtime", "modified", "modify", "created",
)  # fmt: skip
_GOOGLE, _PACKAGED = ("gs", "gcs"), ("http", "https", "s3", "s3a", "gs", "gcs")
#: parts of a URL that are not settings of its store
_NO_SETTINGS = {"url_query", "url_fragment"}


class Stat(NamedTuple):
    """What is known of a file without reading it."""

    st_size: int


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

    def __init__(self, address: str):
        if is_chain(address):
            raise DataError(
                f"{shown(address)} is a chain of URLs, or a part of one, which linsep does not "
                "support: name the file itself.",
                code="bad-url",
                path=shown(address),
            )
        self.address = address = normal(address)
        name = name_of(address)
        self.name, self.stem, self.suffix, self.suffixes = (
            name.name, name.stem, name.suffix, name.suffixes,
        )  # fmt: skip
        self._fs = filesystem(address)
        self._path = self._fs._strip_protocol(address)
        self._seen: tuple[int | None, str | None] | None = None
        self._looked, self._whole_only = -FRESH, False
        self._copy: Path | None = None
        self._idle: Any = None

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

    def stat(self) -> Stat:
        """Return the size; raises as :meth:`reading` does."""
        return Stat(self.state[1])

    @property
    def state(self) -> tuple[str, int, str | None]:
        """Address without credentials, size, and ETag or date: what a row cache is known by."""
        size, version = self._known()
        if size is None:
            size = self._copied().stat().st_size
        return str(self), size, version

    def check(self) -> None:
        """Raise DataError if the file is not what was seen of it."""
        self._looked = -FRESH
        self._known()

    @contextmanager
    def reading(self, parts: bool = False) -> Iterator[Any]:
        """Open the file: blocks of it in the order of its bytes, or with ``parts`` only what is
        asked for. From a server that sends whole files only, it is copied to a temporary folder.

        Raises DataError if the file is not there any more, cannot be read, or has changed.
        """
        size, _ = self._known()
        if self._whole_only:
            with self._copied().open("rb", buffering=0) as copy:
                yield copy
            return
        how: dict[str, Any] = {"size": size} if protocol_of(self.address) in WEB else {}
        opened, self._idle = None if parts else self._idle, None
        if opened is None:
            if parts:
                how |= {"cache_type": "none"}
            elif self._fs.async_impl:
                how |= {"cache_type": "background", "cache_options": {"maxblocks": BLOCKS}}
            with self._told():
                opened = self._fs.open(self._path, "rb", block_size=BLOCK, **how)
        opened.seek(0)
        stream, failed = _Stream(opened, self, size), True
        try:
            yield stream
            failed = False
        except GeneratorExit:  # of who has read enough
            failed = False
            raise
        finally:
            if parts or failed or self._idle is not None:
                opened.close()
            else:  # its blocks serve who opens the file again
                self._idle = opened
                _keep(self)

    def open(self, mode: str = "rb") -> Any:
        """Do as :meth:`reading`, of some parts."""
        return self.reading(parts=True)

    def close(self) -> None:
        """Forget the blocks that were read."""
        idle, self._idle = self._idle, None
        if idle is not None:
            idle.close()

    def _known(self) -> tuple[int | None, str | None]:
        """Return size and version, as :meth:`_look` does; DataError if there is no such file."""
        try:
            return self._look()
        except FileNotFoundError:
            raise (no_file if self._seen is None else removed)(self) from None

    def _look(self) -> tuple[int | None, str | None]:
        """Inspect the file, unless that was a moment ago; return its size and its version."""
        if self._seen is not None and time.monotonic() - self._looked < FRESH:
            return self._seen
        with self._told():
            about = self._fs.info(self._path)
        if about["type"] == "directory":
            raise FileNotFoundError(str(self))
        # A weak tag and a strong one of the same text are of one version.
        version = next((str(about[name]) for name in _VERSIONS if about.get(name)), None)
        seen = about["size"], version and version.removeprefix("W/")
        if self._seen is not None and self._seen != seen:
            sizes = "" if None in (seen[0], self._seen[0]) or seen[0] == self._seen[0] else (
                f" ({self._seen[0]:,} bytes at first, now {seen[0]:,})"
            )  # fmt: skip
            raise changed(self, sizes)
        first, self._seen, self._looked = self._seen is None, seen, time.monotonic()
        if first and protocol_of(self.address) in WEB:
            self._whole_only = not (seen[0] and about.get("partial", True) and self._in_parts())
        return seen

    def _in_parts(self) -> bool:
        """Return whether a web server sends a part of the file."""
        size = self._seen[0] if self._seen else 0
        if not size or size == 1:
            return True
        how = {"size": size, "block_size": BLOCK, "cache_type": "none"}
        with self._told(), self._fs.open(self._path, "rb", **how) as file:
            try:
                file._fetch_range(1, 2)
            except ValueError:
                return False
        return True

    def _copied(self) -> Path:
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
        """Raise what goes wrong as a DataError, without secrets."""
        try:
            yield
        except DataError:
            raise
        except Exception as error:
            raise failure(error, self.address, self._seen is not None) from None


class _Stream(io.RawIOBase):
    """A remote file, open for reading."""

    def __init__(self, opened: Any, file: RemoteFile, size: int | None):
        self._opened, self._file, self._size = opened, file, size or 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the place of the next byte."""
        return self._opened.tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place in the file."""
        return self._opened.seek(offset, whence)

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes, fewer only at the end of the file."""
        with self._file._told():
            size = -1 if size is None else size
            left = self._size - self._opened.tell()
            due = left if size < 0 else min(size, left)
            data = self._opened.read(due) if due > 0 else b""
        if len(data) < due:
            self._file.check()
            raise _unreachable(self._file, f"{len(data):,} bytes came instead of {due:,}")
        return data

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as the file goes."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


#: the files whose blocks are kept, the one used last at the end
_kept: "list[weakref.ref[RemoteFile]]" = []


def _keep(file: RemoteFile) -> None:
    """Keep the blocks of a file, and of three used before."""
    _kept[:] = [other for other in _kept if other() not in (None, file)] + [weakref.ref(file)]
    if len(_kept) > 4 and (oldest := _kept.pop(0)()) is not None:
        oldest.close()


def failure(error: Exception, address: str, seen: bool) -> Exception:
    """Return what to raise for an error of fsspec or of the library behind it; FileNotFoundError if
    there is no such file.
    """
    missing = isinstance(error, FileNotFoundError) and protocol_of(address) in WEB
    cause = error.__cause__ if missing and error.__cause__ else error  # of a web server anything
    names = {kind.__name__ for kind in type(cause).__mro__}
    status = vars(cause).get("status", vars(cause).get("code"))
    what = without_secrets(str(cause), address) or type(cause).__name__
    if names & {"FileExpired"} or status == 412:
        return changed(shown(address), "")
    if isinstance(cause, PermissionError) or status in (401, 403) or what.startswith("530"):
        return DataError(
            f"Access to {shown(address)} is denied ({what}): check the credentials in fsspec's "
            "configuration.",
            code="access-denied",
            path=shown(address),
        )
    if isinstance(cause, FileNotFoundError) or status in (404, 410):
        return removed(shown(address)) if seen else FileNotFoundError(shown(address))
    if names & {"InvalidURL"}:
        return _bad_url(address)
    return _unreachable(shown(address), what)


def _unreachable(file: Any, what: str) -> DataError:
    return DataError(
        f"{file} cannot be read ({what}): check the URL, or copy it to this machine.",
        code="unreachable",
        path=file,
    )


def _bad_url(address: str) -> DataError:
    return DataError(
        f"{shown(address)} is not a valid URL: check it.", code="bad-url", path=shown(address)
    )


#: a file on this machine, or a remote one
File = Path | RemoteFile


def no_file(file: File) -> DataError:
    """Return the error for a file that is not there."""
    advice = ": check the URL." if isinstance(file, RemoteFile) else "."
    return DataError(f"There is no file {file}{advice}", code="no-file", path=file)


def changed(file: File | str, how: str) -> DataError:
    """Return the error for a file that has changed; ``how`` describes the difference."""
    return DataError(
        f"{file} changed while it was read{how}: start again when nothing writes to it.",
        code="file-changed",
        path=file,
    )


def removed(file: File | str) -> DataError:
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
    if name.startswith("_"):
        return name[1:] in ("SUCCESS", "metadata", "common_metadata") or name.startswith(
            ("_started_", "_committed_")
        )
    return name.endswith("_$folder$")


def find_remote(address: str) -> tuple[list[RemoteFile], bool]:
    """Return the file of a URL, or the files of a folder or a wildcard, sorted by name, and whether
    it was a folder.

    As in a shell, hidden files are left out; ``**`` matches any depth of folders. Web servers list
    nothing, so each of their addresses is one file.

    Raises DataError if there is no such file, or it may not be read.
    """
    file = RemoteFile(address)
    web, pattern = protocol_of(file.address) in WEB, has_magic(file.address)
    with suppress(DataError) if pattern and not web else nullcontext():  # it may be a name
        if (web or not file.address.endswith("/")) and file.exists():
            return [file], False
    fs, path = file._fs, file._path
    entries: Any = []
    with suppress(FileNotFoundError), file._told():
        if not web:
            entries = (fs.glob if pattern else fs.ls)(path, detail=True)
    entries = entries.values() if isinstance(entries, dict) else entries
    names = sorted(entry["name"] for entry in entries if entry["type"] == "file")
    lasts = [(name, name.rpartition("/")[2]) for name in names]
    chosen = [
        name for name, last in lasts
        if last and last[0] != "." and not is_marker(last) and name != path.rstrip("/")
    ]  # fmt: skip
    if not chosen:
        raise no_file(file)
    return [RemoteFile(_named(fs, name, file.address)) for name in chosen], not pattern


def _named(fs: Any, path: str, address: str) -> str:
    """Return the address of a path in the store of another address, whose server it may name."""
    protocol, _, rest = address.partition("://")
    server, said = f"{protocol}://{rest.partition('/')[0]}/", fs._get_kwargs_from_urls(address)
    inside = path.lstrip("/")
    for name in (fs.unstrip_protocol(path), server + inside, server + inside.partition("/")[2]):
        if fs._strip_protocol(name) == path and fs._get_kwargs_from_urls(name) == said:
            return name
    raise _unreachable(shown(address), "its server does not list it")


def filesystem(address: str) -> Any:
    """Return fsspec's access to the store of an address.

    Raises DataError if a package for it is missing, or the store does not let us in.
    """
    protocol = protocol_of(address)
    try:
        import fsspec

        kind = fsspec.get_filesystem_class(protocol)
        place = urlsplit(address)
        named = bool(place.hostname) and place.port != 0
        said = kind._get_kwargs_from_urls(address)
    except ImportError as error:
        raise _missing(protocol, error) from None
    except ValueError as error:
        if "not known" in str(error):
            raise DataError(
                f"{protocol}:// is not a protocol of fsspec: check the URL.", code="bad-url"
            ) from None
        raise _bad_url(address) from None
    if protocol in SERVERS and not (named or "host" in fsspec.config.conf.get(protocol, {})):
        raise _bad_url(address)
    told = tuple(sorted((name, said[name]) for name in said.keys() - _NO_SETTINGS))
    packed = address.partition("?")[0].lower().endswith((".gz", ".bz2", ".zst"))
    try:
        return _filesystem(protocol, told, packed, os.getpid())
    except ImportError as error:
        raise _missing(protocol, error) from None
    except DataError:
        raise
    except (TypeError, ValueError):
        raise DataError(
            f"{protocol}:// cannot be read (its URL and fsspec's configuration are incomplete): "
            "check its settings.",
            code="bad-url",
        ) from None
    except Exception as error:
        raise failure(error, address, True) from None


@cache
def _filesystem(
    protocol: str, told: tuple[tuple[str, Any], ...], packed: bool, process: int
) -> Any:
    """Return the access to the store that a URL and fsspec's configuration define.

    fsspec keeps one for each thread, and each of them would connect. ``packed`` is whether a file's
    name says that it is compressed: then it is not decompressed on the way.
    """
    import fsspec

    given: dict[str, Any] = dict(told)
    if protocol not in ("sftp", "ssh", "smb"):  # which keep no instance
        given["use_listings_cache"] = False
    if protocol in WEB:
        settings = fsspec.config.conf.get(protocol, {})
        client = {"auto_decompress": not packed, **settings.get("client_kwargs", {})}
        import aiohttp

        client.setdefault("timeout", aiohttp.ClientTimeout(None, None, SILENCE, SILENCE))
        given["client_kwargs"] = client
    return fsspec.filesystem(protocol, **given)


def _missing(protocol: str, error: ImportError) -> DataError:
    """Return the error for a missing package."""
    if "fsspec" not in str(error) and protocol not in _PACKAGED:
        return DataError(
            f"{protocol}:// cannot be read ({str(error).partition(chr(10))[0].rstrip('.')}): "
            "install that package.",
            code="missing-package",
        )
    extra = f"pip install 'linsep[{'gs' if protocol in _GOOGLE else 'remote'}]'"
    return DataError(
        f"{protocol}:// needs fsspec and its package for {protocol}: {extra}.",
        code="missing-package",
    )
