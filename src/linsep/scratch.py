"""Temporary files that are named after the process that made them, and swept once it is dead.

A process that is killed cannot clean up after itself; the next one that looks at the folder does.
The name holds the process's number, when it started (numbers are used again) and where it runs
(containers and machines that share a folder number their processes apart).
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
#: of a process that runs elsewhere, nothing is known but that its files have not changed for long
ABANDONED_SECONDS = 24 * 3600.0


def process_mark() -> str:
    """What begins the names of this process's temporary files: linsep, number, start, place."""
    pid = os.getpid()
    return f"linsep-{pid}-{_started(pid) or 0}-{_place()}-"


def scratch_folder() -> tempfile.TemporaryDirectory:
    """A new temporary folder for this user alone; those of dead processes are removed."""
    sweep(Path(tempfile.gettempdir()))
    return tempfile.TemporaryDirectory(prefix=process_mark())


def scratch_file(folder: Path, stem: str) -> tuple[int, str]:
    """Descriptor and path of a new file in ``folder`` for this user alone, to become ``stem``.

    Those of dead processes are removed. Raises OSError where no file can be made.
    """
    sweep(folder)
    return tempfile.mkstemp(".tmp", f"{stem}.{process_mark()}", folder)


def sweep(folder: Path) -> None:
    """Remove from a folder what dead processes of this user left behind.

    What another process removes at the same moment, or what cannot be removed, is no error.
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
    """When a process started, in clock ticks since the machine did; None for one that has ended.

    0 where the system does not say (all but Linux).
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
    """Eight digits for this run of this machine, and for the container in it."""
    said = platform.node()
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        said = f"{boot}{os.stat('/proc/self/ns/pid').st_ino}"
    return hashlib.sha256(said.encode()).hexdigest()[:8]
