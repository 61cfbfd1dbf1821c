"""Where linsep keeps what it can always make again: compiled code and parsed files."""

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


def cache_folder() -> Path:
    """``$LINSEP_CACHE_DIR``, else the platform's cache folder of the user; it may not exist yet.

    A user without a home folder has one among the temporary files.
    """
    try:
        if chosen := os.environ.get("LINSEP_CACHE_DIR"):
            return Path(chosen).expanduser()
        return _platform_folder() / "linsep"
    except RuntimeError:  # there is no entry of this user, and no HOME
        user = os.getuid() if hasattr(os, "getuid") else "user"
        return Path(tempfile.gettempdir()) / f"linsep-{user}"


def _platform_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def cache_limit(folder: Path) -> float:
    """Bytes that parsed files may take in ``folder``, which exists.

    ``$LINSEP_CACHE_GB`` gigabytes, else 20 GB or a fifth of the disk, whichever is less. Raises
    LinsepError where the variable is no number of at least 0 (``inf`` sets no limit).
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
    """Files of a cache: how their names look, and the bytes that each begins with."""

    name: re.Pattern[str]
    mark: bytes

    def files(self, folder: Path) -> list[Path]:
        """Those in a folder; nothing else may ever be removed from there."""
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
    """Remove entries of a cache, each some files, until all take at most ``limit`` bytes.

    The one goes first whose newest file was modified longest ago. ``keep`` stays in any case, and
    so does what cannot be removed; what another process removes at the same moment is no error.
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
