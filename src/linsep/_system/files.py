"""Files that are written atomically, and temporary files that the next process removes.

A killed process cannot clean up; the next one that uses the folder does. So the names of temporary
files hold the id and the place of their process (containers and machines have their own ids).

Folders for compiled code and parsed files, which are run as code or used as training data, are
private to their owner (mode 0700), and not used if another user could have changed them.
"""

import hashlib
import os
import platform
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from linsep._system.interrupts import interrupts_deferred
from linsep.errors import Hint, LinsepError, ModelFileError, hint, warn_caller

SCRATCH_NAME = re.compile(r"(?:.*\.)?linsep-(\d+)-([0-9a-f]{8})-\w{8}(?:\.tmp)?")


def check_free(path: Path, force: bool) -> None:
    """Raise ModelFileError if :func:`written_whole` could not write, to fail before the work."""
    try:
        folder = Path(os.path.realpath(path)).parent
        if path.exists() and not path.is_file():
            code, place, why = "not-a-file", path, f"{path} is not a regular file; name a file."
        elif path.exists() and not force:
            raise _exists(path)
        elif not folder.exists() and is_address(path):
            code, place = "bad-url", path
            why = f"{path.parts[0]}// URLs can only be read; name a local file."
        elif not folder.is_dir():
            code, place = "not-a-file" if folder.exists() else "no-file", path.parent
            why = f"There is no folder {place}; create it first."
        elif not os.access(folder, os.W_OK | os.X_OK):
            code, place = "cannot-write", folder
            why = f"The folder {folder} cannot be written to; choose another."
        else:
            return
    except OSError as problem:
        raise _unwritable(path, problem) from None
    raise ModelFileError(why, code=code, path=place)


@contextmanager
def written_whole(path: Path, mode: str = "wb", *, force: bool) -> Iterator[Any]:
    """Open a file to write that replaces ``path``, or what the link names, atomically at the end,
    with the same permissions; ModelFileError if that fails, or without ``force`` if it exists then.
    """
    path = Path(os.path.realpath(path))
    temporary = path.parent / f".{path.name[:40]}.{process_mark()}{secrets.token_hex(4)}.tmp"
    encoding = None if "b" in mode else "utf-8"
    remove_abandoned(path.parent)
    try:
        with temporary.open(mode.replace("w", "x"), encoding=encoding) as file:
            if path.exists():
                temporary.chmod(path.stat().st_mode & 0o777)
            yield file
            file.flush()
            os.fsync(file.fileno())
        with interrupts_deferred():
            if not force and path.exists():
                raise _exists(path)
            os.replace(temporary, path)
            sync_folder(path.parent)
    except OSError as problem:
        raise _unwritable(path, problem) from None
    finally:
        with suppress(OSError):
            temporary.unlink()


def _exists(path: Path) -> ModelFileError:
    return ModelFileError(
        f"{path} exists", "choose another name", hint("overwrite it with {}", force=True),
        code="file-exists", path=path,
    )  # fmt: skip


def _unwritable(path: Path, problem: OSError) -> ModelFileError:
    return ModelFileError(
        f"{path} cannot be written: {problem.strerror}; nothing was changed.",
        code="cannot-write", path=path,
    )  # fmt: skip


def is_address(path: Path) -> bool:
    """Return whether a path was an address, such as s3://bucket/x, before it became a Path."""
    first = path.parts[0] if path.parts else ""
    return first.endswith(":") and len(first) > 2 and not Path(first).exists()


def process_mark() -> str:
    """Return the prefix of this process's temporary files: linsep, process id, place."""
    return f"linsep-{os.getpid()}-{_place()}-"


def scratch_folder() -> tempfile.TemporaryDirectory:
    """Create a private temporary folder; folders of ended processes are removed."""
    remove_abandoned(Path(tempfile.gettempdir()))
    return tempfile.TemporaryDirectory(prefix=process_mark())


def scratch_file(folder: Path, stem: str) -> tuple[int, str]:
    """Create a private file in ``folder`` that will be ``stem``; return descriptor and path."""
    remove_abandoned(folder)
    return tempfile.mkstemp(".tmp", f"{stem}.{process_mark()}", folder)


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that the new name of a file is on disk."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def remove_abandoned(folder: Path) -> None:
    """Remove temporary files of this user's ended processes from a folder, as far as possible."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not (name := SCRATCH_NAME.fullmatch(entry.name)):
                continue
            with suppress(OSError):
                about = entry.stat(follow_symlinks=False)
                # Where nobody says whether the process runs, it does for a day.
                ended = time.time() - about.st_mtime > 24 * 3600
                if name[2] == _place() and os.path.exists("/proc/self"):
                    ended = not os.path.exists(f"/proc/{name[1]}")
                if ended and about.st_uid == os.geteuid():
                    remove = shutil.rmtree if entry.is_dir(follow_symlinks=False) else os.unlink
                    remove(entry.path)


@cache
def _place() -> str:
    """Return eight hexadecimal digits that identify this boot of the machine and the container."""
    text = platform.node()
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        text = f"{boot}{os.stat('/proc/self/ns/pid').st_ino}"
    return hashlib.sha256(text.encode()).hexdigest()[:8]


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
