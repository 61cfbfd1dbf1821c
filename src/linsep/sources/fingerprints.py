"""Fingerprints, which distinguish two states of a file: size, times and inode."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from linsep.sources.remote.address import identified
from linsep.sources.remote.file import File, RemoteFile, changed


def state_of(path: File) -> list[Any]:
    """Return the state of a file, as plain JSON: its resolved path, or its address as
    :func:`identified` shows it; bytes; time of modification in ns, or ETag or date; for a local
    file time of the last change of the status in ns, and inode, which differ for a copy, and after
    a write whose time was put back.

    Inspect a file before reading it: a change while reading then makes it a different file.
    OSError if it does not exist.
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
