"""Folders for compiled code and parsed files, which are run as code or used as training data: so
they are private to their owner (mode 0700), and not used if another user could have changed them.
"""

import os
import re
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from linsep.errors import Hint, LinsepError, warn_caller

_warned: set[str] = set()


def cache_folder() -> Path:
    """Return ``$LINSEP_CACHE_DIR``, else the user's cache folder; it may not exist yet."""
    try:
        if chosen := os.environ.get("LINSEP_CACHE_DIR"):
            return Path(chosen).expanduser()
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "linsep"
    except RuntimeError:  # the user has no entry and HOME is not set
        return Path(tempfile.gettempdir()) / f"linsep-{os.getuid()}"


def cache_limit(folder: Path) -> float:
    """Return how many bytes parsed files may take in a folder: ``$LINSEP_CACHE_GB`` gigabytes, else
    20 or a fifth of the disk, whichever is less.
    """
    chosen = os.environ.get("LINSEP_CACHE_GB") or min(20, shutil.disk_usage(folder).total / 5e9)
    with suppress(ValueError):
        if (limit := float(chosen)) >= 0:
            return 1e9 * limit
    raise LinsepError(
        f"LINSEP_CACHE_GB is {chosen!r}: set it to the gigabytes of parsed rows to keep, such as "
        "20.", code="bad-option", value=chosen,
    )  # fmt: skip


class CacheFiles(NamedTuple):
    """Files of a cache: the pattern of their names and the bytes that each begins with."""

    name: re.Pattern[str]
    mark: bytes

    def files(self, folder: Path) -> list[Path]:
        """Return such files in a folder; no others may be removed from it."""
        files = []
        for path in folder.glob("*"):
            if self.name.fullmatch(path.name):
                with suppress(OSError), os.fdopen(open_own(path), "rb") as file:
                    if file.read(len(self.mark)) == self.mark:
                        files.append(path)
        return files


def trim_cache(entries: list[list[Path]], limit: float, keep: list[Path]) -> None:
    """Remove the oldest lists of files, but ``keep``, until the rest take ``limit`` bytes."""
    ages = []
    for files in entries:
        with suppress(OSError):
            about = [path.stat() for path in files]
            ages.append((max(a.st_mtime_ns for a in about), sum(a.st_size for a in about), files))
    total = sum(size for _, size, _ in ages)
    for _, size, files in sorted(ages):
        if total > limit and files != keep:
            with suppress(OSError):
                for path in files:
                    path.unlink()
                total -= size


class UnsafeFolder(Exception):
    """Others can write in a folder, so its files cannot be trusted; the message says why."""


class CacheWarning(UserWarning):
    """Warn that no cache is used. ``refusal`` is the same as an error with separate hints."""

    def __init__(self, refusal: LinsepError):
        super().__init__(str(refusal))
        self.refusal = refusal


def private_folder(path: Path) -> Path:
    """Return the resolved ``path`` of a folder, made so that only this user can enter it.

    Raises UnsafeFolder if others can write in it or replace it: it or a folder above it belongs to
    another user (other than root), or is writable by others without a sticky bit.
    """
    path = Path(os.path.realpath(path))
    for folder in (*reversed(path.parents), path):
        folder.mkdir(stat.S_IRWXU, exist_ok=True)
        about = folder.stat()
        mode, owner = about.st_mode, about.st_uid
        if owner != os.geteuid() and (folder == path or owner != 0):
            raise UnsafeFolder(f"{folder} belongs to user {owner}")
        sticky = folder != path and mode & stat.S_ISVTX
        if mode & 0o022 and not sticky and not _only_own_group(about):
            raise UnsafeFolder(f"others can write in {folder} (its mode is {stat.S_IMODE(mode):o})")
        if folder == path and mode & 0o077:
            path.chmod(mode & 0o700)
    return path


def _only_own_group(about: os.stat_result) -> bool:
    """Return whether only a group of the owner alone may write, which many systems give users."""
    import grp
    import pwd

    with suppress(KeyError):
        owner, group = pwd.getpwuid(about.st_uid).pw_name, grp.getgrgid(about.st_gid)
        own = group.gr_name == owner and set(group.gr_mem) <= {owner}
        return own and not about.st_mode & stat.S_IWOTH
    return False


def open_own(path: Path) -> int:
    """Open a file that no other user can have written; OSError for others, links and pipes."""
    # Without O_NONBLOCK, opening a pipe would wait for ever.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    about = os.fstat(descriptor)
    own = about.st_uid == os.geteuid() and not about.st_mode & 0o022
    if not (own and stat.S_ISREG(about.st_mode)):
        os.close(descriptor)
        raise PermissionError(f"{path} is not a file that only this user can write")
    return descriptor


def warn_without(message: str, *hints: str | Hint) -> None:
    """Warn that no cache is used, once per process for each reason."""
    if message not in _warned:
        _warned.add(message)
        warn_caller(CacheWarning(LinsepError(message, *hints, code="cannot-write")))
