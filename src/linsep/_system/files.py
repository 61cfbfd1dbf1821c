"""Files that are written atomically, and temporary files that the next process removes.

A killed process cannot clean up; the next process that uses the folder does. So the names of
temporary files hold the process that created them: its id, its start time (ids are reused) and its
place (containers and machines that share a folder have their own ids).
"""

import hashlib
import os
import platform
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from linsep._system.interrupts import interrupts_deferred
from linsep.errors import ModelFileError, hint

SCRATCH_NAME = re.compile(r"(?:.*\.)?linsep-(\d+)-(\d+)-([0-9a-f]{8})-\w{8}(?:\.tmp)?")
#: age at which files of a process in another container or machine are treated as abandoned
ABANDONED_SECONDS = 24 * 3600.0


def check_free(path: Path, force: bool) -> None:
    """Raise ModelFileError if :func:`written_whole` could not write, to fail before the work.

    An existing file may be replaced only with ``force``, and only if it is a regular file.
    """
    try:
        folder = Path(os.path.realpath(path)).parent
        if path.exists() and not path.is_file():
            what = "directory" if path.is_dir() else "device or a pipe"
            raise ModelFileError(f"{path} is a {what}; name a file.", code="not-a-file", path=path)
        if path.exists() and not force:
            raise _exists(path)
        if not folder.exists():
            if is_address(path):
                raise ModelFileError(
                    f"{path.parts[0]}// URLs can only be read; name a local file.",
                    code="bad-url", path=path,
                )  # fmt: skip
            raise ModelFileError(
                f"The folder {path.parent} does not exist; create it first.",
                code="no-file", path=path.parent,
            )  # fmt: skip
        if not folder.is_dir():
            raise ModelFileError(
                f"{path.parent} is not a folder; choose another.",
                code="not-a-file", path=path.parent,
            )  # fmt: skip
        if not os.access(folder, os.W_OK | os.X_OK):
            raise ModelFileError(
                f"The folder {folder} cannot be written to; choose another.",
                code="cannot-write", path=folder,
            )  # fmt: skip
    except OSError as problem:
        raise ModelFileError(
            f"{path} cannot be written: {problem.strerror}.", code="cannot-write", path=path
        ) from None


@contextmanager
def written_whole(path: Path, mode: str = "wb", *, force: bool) -> Iterator[Any]:
    """Open a file to write that replaces ``path`` atomically at the end.

    Others see the old or the new file; without ``force`` a file created at ``path`` meanwhile
    stays. Of a symbolic link the target is replaced. Raises ModelFileError if writing fails, such
    as when the disk is full.
    """
    path = Path(os.path.realpath(path))
    temporary = None
    try:
        with interrupts_deferred():
            remove_abandoned(path.parent)
            descriptor, temporary = _beside(path)
        with os.fdopen(descriptor, mode, encoding=None if "b" in mode else "utf-8") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with interrupts_deferred():
            _put_in_place(temporary, path, force)
            temporary = None
            sync_folder(path.parent)
    except FileExistsError:
        raise _exists(path) from None
    except OSError as problem:
        raise ModelFileError(
            f"{path} cannot be written: {problem.strerror}; nothing was changed.",
            code="cannot-write", path=path,
        ) from None  # fmt: skip
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def _exists(path: Path) -> ModelFileError:
    return ModelFileError(
        f"{path} exists", "choose another name", hint("overwrite it with {}", force=True),
        code="file-exists", path=path,
    )  # fmt: skip


def _beside(path: Path) -> tuple[int, Path]:
    """Create a temporary file in the same folder; return its descriptor and path.

    It gets the permissions of the file it will replace, else the default ones, which the system
    determines: reading this process's umask would change it for a moment.
    """
    temporary = path.parent / f".{path.name[:40]}.{process_mark()}{secrets.token_hex(4)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, 0o666)
    if path.exists():
        os.chmod(temporary, path.stat().st_mode & 0o777)
    return descriptor, temporary


def _put_in_place(temporary: Path, path: Path, force: bool) -> None:
    """Rename the finished file; raise FileExistsError if ``path`` exists, unless ``force``."""
    if not force:
        try:
            os.link(temporary, path)
        except FileExistsError:
            raise
        except OSError:  # no hard links on this file system: create the name, then replace it
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            try:
                os.replace(temporary, path)
            except OSError:
                path.unlink()
                raise
        else:
            temporary.unlink()
        return
    os.replace(temporary, path)


def is_address(path: Path) -> bool:
    """Return whether a path was an address, such as s3://bucket/x, before it became a Path."""
    first = path.parts[0] if path.parts else ""
    return first.endswith(":") and len(first) > 2 and not Path(first).exists()


def process_mark() -> str:
    """Return the prefix of this process's temporary files: linsep, process id, start, place."""
    pid = os.getpid()
    return f"linsep-{pid}-{_started(pid) or 0}-{_place()}-"


def scratch_folder() -> tempfile.TemporaryDirectory:
    """Create a private temporary folder; folders of ended processes are removed."""
    remove_abandoned(Path(tempfile.gettempdir()))
    return tempfile.TemporaryDirectory(prefix=process_mark())


def scratch_file(folder: Path, stem: str) -> tuple[int, str]:
    """Create a private file in ``folder``, to be renamed to ``stem``; return descriptor and path.

    Files of ended processes are removed. Raises OSError if no file can be created.
    """
    remove_abandoned(folder)
    return tempfile.mkstemp(".tmp", f"{stem}.{process_mark()}", folder)


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that the new name of a file is on disk."""
    # Windows cannot open folders and some file systems cannot sync them; the file is in place.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def remove_abandoned(folder: Path) -> None:
    """Remove temporary files of this user's ended processes from a folder.

    Files that cannot be removed, or that another process removes meanwhile, are ignored.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            found = SCRATCH_NAME.fullmatch(entry.name)
            if found and _abandoned(entry, int(found[1]), int(found[2]), found[3]):
                _remove(entry)


def _abandoned(entry: os.DirEntry, pid: int, started: int, place: str) -> bool:
    with suppress(OSError):
        about = entry.stat(follow_symlinks=False)
        if hasattr(os, "geteuid") and about.st_uid != os.geteuid():
            return False
        if place == _place() and os.name != "nt":  # Windows does not say whether a process runs
            return _started(pid) != started
        return time.time() - about.st_mtime > ABANDONED_SECONDS
    return False


def _remove(entry: os.DirEntry) -> None:
    with suppress(OSError):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)


def _started(pid: int) -> int | None:
    """Return the start time of a process in clock ticks since boot; None if it has ended.

    The time is 0 where the system does not provide it (all but Linux).
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0 if not Path("/proc/self/stat").exists() and _runs(pid) else None
    state, *numbers = text.rpartition(")")[2].split()  # the name before it may hold anything
    return None if state in "ZX" else int(numbers[18])


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@cache
def _place() -> str:
    """Return eight hexadecimal digits that identify this boot of the machine and the container."""
    text = platform.node()
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        text = f"{boot}{os.stat('/proc/self/ns/pid').st_ino}"
    return hashlib.sha256(text.encode()).hexdigest()[:8]
