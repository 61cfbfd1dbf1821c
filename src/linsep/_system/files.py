"""Files that are written atomically, and temporary files that the next process removes.

A killed process cannot clean up; the next one that uses the folder does. So the names of temporary
files hold the id and the place of their process (containers and machines have their own ids).
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
