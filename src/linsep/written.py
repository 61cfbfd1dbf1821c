"""Write files whole or not at all: a temporary file beside, synced, then renamed."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from linsep.errors import ModelFileError, hint
from linsep.interrupts import held
from linsep.paths import is_address
from linsep.scratch import process_mark, sweep, sync_folder


def check_free(path: Path, force: bool) -> None:
    """Raise ModelFileError if :func:`written_whole` could not write, to fail before the work.

    An existing file may be replaced only with ``force``, and only if it is a regular file.
    """
    try:
        folder = Path(os.path.realpath(path)).parent
        if path.is_dir():
            raise ModelFileError(f"{path} is a directory; name a file.")
        if path.exists() and not path.is_file():
            raise ModelFileError(f"{path} is a device or a pipe; name a file.")
        if path.exists() and not force:
            raise _exists(path)
        if not folder.exists():
            if is_address(path):
                raise ModelFileError(f"{path.parts[0]}// is read, not written; name a local file.")
            raise ModelFileError(f"The folder {path.parent} does not exist; make it first.")
        if not folder.is_dir():
            raise ModelFileError(f"{path.parent} is not a folder; choose another.")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise ModelFileError(f"The folder {folder} cannot be written to; choose another.")
    except OSError as problem:
        raise ModelFileError(f"{path} cannot be written: {problem.strerror}.") from None


@contextmanager
def written_whole(path: Path, mode: str = "wb", *, force: bool) -> Iterator[Any]:
    """Open a file to write that replaces ``path`` atomically at the end, or not at all.

    Others see the old or the new file; without ``force`` a file created at ``path`` meanwhile
    stays. Of a symbolic link the target is replaced. Raises ModelFileError if writing fails, such
    as when the disk is full.
    """
    path = Path(os.path.realpath(path))
    temporary = None
    try:
        with held():
            sweep(path.parent)
            descriptor, temporary = _beside(path)
        with os.fdopen(descriptor, mode, encoding=None if "b" in mode else "utf-8") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with held():
            _put_in_place(temporary, path, force)
            temporary = None
            sync_folder(path.parent)
    except FileExistsError:
        raise _exists(path) from None
    except OSError as problem:
        raise ModelFileError(
            f"{path} cannot be written: {problem.strerror}; nothing was changed."
        ) from None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def _exists(path: Path) -> ModelFileError:
    return ModelFileError(
        f"{path} exists", "choose another name", hint("overwrite it with {}", force=True)
    )


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
