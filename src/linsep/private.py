"""Folders and files that nobody else can have written, checked as ssh checks its own.

What lies in a cache is run as code or learnt from as data. So a cache folder is made for its owner
alone (mode 0700), and one that somebody else could have changed is not used. Windows keeps the
folders of users apart by itself; nothing is checked there.
"""

import os
import stat
import warnings
from pathlib import Path

from linsep.errors import Hint, LinsepError

ROOT = 0
OTHERS = stat.S_IRWXG | stat.S_IRWXO
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class UnsafeFolder(Exception):
    """Somebody else can write in a folder, so what lies in it cannot be trusted; says why."""


class UnsafeFile(OSError):
    """A file that is not this user's own, or that others can write."""


class CacheWarning(UserWarning):
    """Work goes on without a cache. ``refusal`` says the same with its advice kept apart."""

    def __init__(self, refusal: LinsepError):
        super().__init__(str(refusal))
        self.refusal = refusal


def private_folder(path: Path) -> Path:
    """Return ``path`` resolved: a folder that only this user can enter, made if it is missing.

    A folder of this user that others can only read is closed to them. Raises UnsafeFolder where
    others can write in it or replace it: it belongs to somebody else, or a folder above it does
    (other than root), or can be written by others and has no sticky bit. Raises OSError where the
    folder cannot be made.
    """
    path = Path(os.path.realpath(path))
    _make(path)
    if hasattr(os, "geteuid"):
        for folder in (path, *path.parents):
            _check(folder, inner=folder == path)
        if (mode := path.stat().st_mode) & OTHERS:
            path.chmod(stat.S_IMODE(mode) & ~OTHERS)
    return path


def _make(path: Path) -> None:
    """Make a folder and those above it, each for this user alone, whatever the umask says."""
    if not path.exists():
        _make(path.parent)
        path.mkdir(stat.S_IRWXU, exist_ok=True)
    elif not path.is_dir():
        raise NotADirectoryError(20, "Not a directory", str(path))


def _check(folder: Path, inner: bool) -> None:
    """Raise UnsafeFolder where others could change what lies in a folder."""
    about, user = folder.stat(), os.geteuid()
    if about.st_uid != user and (inner or about.st_uid != ROOT):
        raise UnsafeFolder(f"{folder} belongs to {user_name(about.st_uid)}")
    sticky = not inner and about.st_mode & stat.S_ISVTX
    if about.st_mode & OTHERS_WRITE and not sticky and not _only_own_group(about):
        mode = stat.S_IMODE(about.st_mode)
        raise UnsafeFolder(f"others can write in {folder} (its mode is {mode:o})")


def _only_own_group(about: os.stat_result) -> bool:
    """Whether the group may write but nobody else, and has no member but the owner.

    Many systems give each user such a group, and let it write whatever its user makes.
    """
    if about.st_mode & stat.S_IWOTH:
        return False
    import grp

    try:
        group = grp.getgrgid(about.st_gid)
    except KeyError:
        return False
    owner = user_name(about.st_uid)
    return group.gr_name == owner and set(group.gr_mem) <= {owner}


def user_name(number: int) -> str:
    """The name of a user, or "user 1234" where the system has none."""
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def open_own(path: Path) -> int:
    """Open a regular file for reading, and return its descriptor.

    Raises UnsafeFile where it belongs to somebody else, can be written by others, or is a link, a
    pipe or a device; OSError where it cannot be opened.
    """
    # Without O_NONBLOCK, opening a pipe would wait for ever.
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0))
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise UnsafeFile(f"{path} is not a regular file")
        if hasattr(os, "geteuid"):
            if about.st_uid != os.geteuid():
                raise UnsafeFile(f"{path} belongs to {user_name(about.st_uid)}")
            if about.st_mode & OTHERS_WRITE:
                raise UnsafeFile(f"others can write {path}")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def warn_without(said: str, *hints: str | Hint) -> None:
    """Warn that work goes on without a cache, once a process for each reason."""
    if said not in _warned:
        _warned.add(said)
        warnings.warn(CacheWarning(LinsepError(said, *hints)), stacklevel=3)


#: what this process has warned of
_warned: set[str] = set()
