"""Where linsep keeps what it can always make again: compiled code and parsed files."""

import os
import shutil
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from linsep.errors import LinsepError

MOST_BYTES, DISK_PARTS = 20e9, 5


def cache_folder() -> Path:
    """``$LINSEP_CACHE_DIR``, else the platform's cache folder of the user; it may not exist yet."""
    if chosen := os.environ.get("LINSEP_CACHE_DIR"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "linsep"


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


def trim(entries: Iterable[Path], limit: float, keep: Path) -> None:
    """Remove files and folders until all take at most ``limit`` bytes, oldest modified first.

    ``keep`` stays in any case, and so does what cannot be removed; what another process removes
    at the same moment is no error.
    """
    found = []
    for path in entries:
        with suppress(OSError):
            found.append((path.stat().st_mtime_ns, _bytes_in(path), path))
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= limit:
            return
        if path != keep:
            with suppress(OSError):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
                total -= size


def _bytes_in(path: Path) -> int:
    inside = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in inside if file.is_file())
