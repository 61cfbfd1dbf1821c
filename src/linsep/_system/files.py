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


def check_free(path: Path, force: bool) -> None:
    """Raise ModelFileError if :func:`written_whole` could not write, to fail before the work.

    An existing file may be replaced only with ``force``, and only if it is a regular file.
    """
    try:
        if path.exists() and not path.is_file():
            raise ModelFileError(
                f"{path} is not a regular file; name a file.", code="not-a-file", path=path
            )
        if path.exists() and not force:
            raise _exists(path)
        folder = Path(os.path.realpath(path)).parent
        if not folder.exists() and is_address(path):
            raise ModelFileError(
                f"{path.parts[0]}// URLs can only be read; name a local file.",
                code="bad-url", path=path,
            )  # fmt: skip
        if not folder.is_dir():
            code = "not-a-file" if folder.exists() else "no-file"
            raise ModelFileError(
                f"There is no folder {path.parent}; create it first.", code=code, path=path.parent
            )
        if not os.access(folder, os.W_OK | os.X_OK):
            raise ModelFileError(
                f"The folder {folder} cannot be written to; choose another.",
                code="cannot-write", path=folder,
            )  # fmt: skip
    except OSError as problem:
        raise _unwritable(path, problem) from None


@contextmanager
def written_whole(path: Path, mode: str = "wb", *, force: bool) -> Iterator[Any]:
    """Open a file to write that replaces ``path`` atomically at the end.

    Others see the old or the new file; without ``force`` a file created at ``path`` meanwhile
    stays. Of a symbolic link the target is replaced. The file has the permissions of the one that
    it replaces, else the default ones. Raises ModelFileError if writing fails, such as when the
    disk is full.
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
            if force:
                os.replace(temporary, path)
            else:
                _put_in_free_place(temporary, path)
            sync_folder(path.parent)
    except FileExistsError:
        raise _exists(path) from None
    except OSError as problem:
        raise _unwritable(path, problem) from None
    finally:
        with suppress(OSError):
            temporary.unlink()


def _put_in_free_place(temporary: Path, path: Path) -> None:
    """Give the finished file its name; raise FileExistsError if ``path`` exists."""
    try:
        os.link(temporary, path)
    except OSError:
        if path.exists():
            raise FileExistsError from None
        os.replace(temporary, path)  # this file system has no hard links


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
    """Return the prefix of this process's temporary files: linsep, process id, start, place."""
    pid = os.getpid()
    return f"linsep-{pid}-{_started(pid)}-{_place()}-"


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
    """Sync a folder, so that the new name of a file is on disk, where the system can do that."""
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
            name = SCRATCH_NAME.fullmatch(entry.name)
            with suppress(OSError):
                if name and _abandoned(entry, int(name[1]), int(name[2]), name[3]):
                    if entry.is_dir(follow_symlinks=False):
                        shutil.rmtree(entry.path)
                    else:
                        os.unlink(entry.path)


def _abandoned(entry: os.DirEntry, pid: int, started: int, place: str) -> bool:
    about = entry.stat(follow_symlinks=False)
    if hasattr(os, "geteuid") and about.st_uid != os.geteuid():
        return False
    if started and place == _place():
        return _started(pid) != started
    return time.time() - about.st_mtime > 24 * 3600  # nobody says whether the process runs


def _started(pid: int) -> int:
    """Return the start of a process in clock ticks since boot; 0 if it has ended.

    Only Linux provides it; for other systems it is 0.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    state, *numbers = text.rpartition(")")[2].split()  # the name before it may hold anything
    return 0 if state in "ZX" else int(numbers[18])


@cache
def _place() -> str:
    """Return eight hexadecimal digits that identify this boot of the machine and the container."""
    text = platform.node()
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        text = f"{boot}{os.stat('/proc/self/ns/pid').st_ino}"
    return hashlib.sha256(text.encode()).hexdigest()[:8]
