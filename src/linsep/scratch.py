"""Temporary files named after the process that created them, removed once it has ended.

A killed process cannot clean up; the next process that uses the folder does. The name holds the
process id, its start time (ids are reused) and its place (containers and machines that share a
folder have their own ids).
"""

import hashlib
import os
import platform
import re
import shutil
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

NAME = re.compile(r"(?:.*\.)?linsep-(\d+)-(\d+)-([0-9a-f]{8})-\w{8}(?:\.tmp)?")
#: age at which files of a process in another container or machine count as abandoned
ABANDONED_SECONDS = 24 * 3600.0


def process_mark() -> str:
    """Return the prefix of this process's temporary files: linsep, process id, start, place."""
    pid = os.getpid()
    return f"linsep-{pid}-{_started(pid) or 0}-{_place()}-"


def scratch_folder() -> tempfile.TemporaryDirectory:
    """Create a private temporary folder; those of ended processes are removed."""
    sweep(Path(tempfile.gettempdir()))
    return tempfile.TemporaryDirectory(prefix=process_mark())


def scratch_file(folder: Path, stem: str) -> tuple[int, str]:
    """Create a private file in ``folder``, to be renamed to ``stem``; return descriptor and path.

    Files of ended processes are removed. Raises OSError if no file can be created.
    """
    sweep(folder)
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


def sweep(folder: Path) -> None:
    """Remove temporary files of this user's ended processes from a folder.

    Files that cannot be removed, or that another process removes meanwhile, are ignored.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            found = NAME.fullmatch(entry.name)
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
