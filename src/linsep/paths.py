"""Cache folders for compiled code and parsed files, and how they are trimmed."""

import os
import re
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from linsep.errors import LinsepError

MOST_BYTES, DISK_PARTS = 20e9, 5


def is_address(path: Path) -> bool:
    """Return whether a path was an address, such as s3://bucket/x, before it became a Path."""
    first = path.parts[0] if path.parts else ""
    return first.endswith(":") and len(first) > 2 and not Path(first).exists()


def cache_folder() -> Path:
    """Return ``$LINSEP_CACHE_DIR``, else the user's cache folder; it may not exist yet.

    A user without a home folder gets one in the temporary folder.
    """
    try:
        if chosen := os.environ.get("LINSEP_CACHE_DIR"):
            return Path(chosen).expanduser()
        return _platform_folder() / "linsep"
    except RuntimeError:  # the user has no entry and HOME is not set
        user = os.getuid() if hasattr(os, "getuid") else "user"
        return Path(tempfile.gettempdir()) / f"linsep-{user}"


def _platform_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def cache_limit(folder: Path) -> float:
    """Return how many bytes parsed files may take in ``folder``, which must exist.

    That is ``$LINSEP_CACHE_GB`` gigabytes, else 20 GB or a fifth of the disk, whichever is less.
    Raises LinsepError if the variable is not a number of at least 0 (``inf`` sets no limit).
    """
    chosen = os.environ.get("LINSEP_CACHE_GB")
    if not chosen:
        return min(MOST_BYTES, shutil.disk_usage(folder).total / DISK_PARTS)
    with suppress(ValueError):
        if (limit := float(chosen)) >= 0:
            return 1e9 * limit
    raise LinsepError(
        f"LINSEP_CACHE_GB is {chosen!r}: set it to how many gigabytes of parsed rows to keep, "
        "such as 20."
    )


class Kind(NamedTuple):
    """Files of a cache: the pattern of their names and the bytes that each begins with."""

    name: re.Pattern[str]
    mark: bytes

    def files(self, folder: Path) -> list[Path]:
        """Return such files in a folder; no others may be removed from it."""
        with suppress(OSError), os.scandir(folder) as entries:
            named = (entry for entry in entries if self.name.fullmatch(entry.name))
            return [Path(entry.path) for entry in named if self._is_marked(entry)]
        return []

    def _is_marked(self, entry: os.DirEntry) -> bool:
        with suppress(OSError):
            if entry.is_file(follow_symlinks=False):
                with open(entry.path, "rb") as file:
                    return file.read(len(self.mark)) == self.mark
        return False


def trim(entries: list[list[Path]], limit: float, keep: list[Path]) -> None:
    """Remove the oldest entries of a cache until the rest take at most ``limit`` bytes.

    An entry is a list of files, as old as its newest file. ``keep`` is never removed. Files that
    cannot be removed stay; files that another process removes meanwhile are ignored.
    """
    found = []
    for files in entries:
        with suppress(OSError):
            about = [path.stat() for path in files]
            times, sizes = [a.st_mtime_ns for a in about], [a.st_size for a in about]
            found.append((max(times, default=0), sum(sizes), files))
    total = sum(size for _, size, _ in found)
    for _, size, files in sorted(found):
        if total <= limit:
            return
        if files != keep:
            with suppress(OSError):
                for path in files:
                    path.unlink()
                total -= size
