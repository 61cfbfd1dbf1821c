"""Folders and files that no other user can have written, checked as ssh checks its own.

Cached files are run as code or used as training data. So a cache folder is private to its owner
(mode 0700), and one that another user could have changed is not used. Windows separates the
folders of users by itself, so nothing is checked there.
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
    """Another user can write in a folder, so its files cannot be trusted; the message says why."""


class UnsafeFile(OSError):
    """A file of another user, or one that other users can write."""


class CacheWarning(UserWarning):
    """Warn that no cache is used. ``refusal`` is the same as an error with separate hints."""

    def __init__(self, refusal: LinsepError):
        super().__init__(str(refusal))
        self.refusal = refusal


def private_folder(path: Path) -> Path:
    """Return the resolved ``path`` of a folder that only this user can enter, created if missing.

    A folder of this user that others can read but not write is made private. Raises UnsafeFolder
    if others can write in it or replace it: it or a folder above it belongs to another user (other
    than root), or is writable by others without a sticky bit. Raises OSError if the folder cannot
    be created.
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
    """Create a folder and its missing parents, private to this user whatever the umask."""
    if not path.exists():
        _make(path.parent)
        path.mkdir(stat.S_IRWXU, exist_ok=True)
    elif not path.is_dir():
        raise NotADirectoryError(20, "Not a directory", str(path))


def _check(folder: Path, inner: bool) -> None:
    """Raise UnsafeFolder if others could change the files in a folder."""
    about, user = folder.stat(), os.geteuid()
    if about.st_uid != user and (inner or about.st_uid != ROOT):
        raise UnsafeFolder(f"{folder} belongs to {user_name(about.st_uid)}")
    sticky = not inner and about.st_mode & stat.S_ISVTX
    if about.st_mode & OTHERS_WRITE and not sticky and not _only_own_group(about):
        mode = stat.S_IMODE(about.st_mode)
        raise UnsafeFolder(f"others can write in {folder} (its mode is {mode:o})")


def _only_own_group(about: os.stat_result) -> bool:
    """Return whether only the group may write and the owner is its only member.

    Many systems give each user such a group, with write access to the user's files.
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
    """Return the name of a user, or "user 1234" if there is none."""
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def open_own(path: Path) -> int:
    """Open a regular file for reading and return its descriptor.

    Raises UnsafeFile if it belongs to another user, is writable by others, or is a link, a pipe or
    a device; OSError if it cannot be opened.
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


def warn_without(message: str, *hints: str | Hint) -> None:
    """Warn that no cache is used, once per process for each reason."""
    if message not in _warned:
        _warned.add(message)
        warnings.warn(CacheWarning(LinsepError(message, *hints)), stacklevel=3)


#: reasons that this process has warned of
_warned: set[str] = set()
