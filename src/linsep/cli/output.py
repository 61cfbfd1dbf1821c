"""Writing results to the screen, or atomically to a file."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from linsep.errors import DataError
from linsep.interrupts import held, window
from linsep.sources.remote.file import File
from linsep.written import check_free, written_whole


@contextmanager
def open_output(path: Path | None, force: bool) -> Iterator[TextIO]:
    """Open standard output for None, else a file that replaces ``path`` at the end."""
    if path is None:
        if sys.stdout is None:
            raise DataError("There is no output to write to; name a file with --output.")
        yield sys.stdout
        return
    check_free(path, force)
    with held() as pressed:
        with written_whole(path, "w", force=force) as file, window():
            yield file
        pressed.forget()  # it came after everything was done


def check_all_free(force: bool, *paths: Path | None) -> None:
    """Raise DataError if a file to write exists, unless --force is given; None is no file."""
    for path in filter(None, paths):
        check_free(path, force)


def never_overwrite(read: Sequence[File], *paths: Path | None) -> None:
    """Raise DataError if a file to write, with --force, is one of the files to read or to write."""
    written = [os.path.realpath(path) for path in paths if path is not None]
    for path in filter(None, paths):
        if written.count(os.path.realpath(path)) > 1:
            raise DataError(f"{path} is to be two files at once; give each a name of its own.")
    for path in filter(None, paths):
        if path.exists() and any(_same(path, file) for file in read if isinstance(file, Path)):
            raise DataError(f"{path} is read by this command; give the result another name.")


def _same(path: Path, file: Path) -> bool:
    """Return whether an existing path is this file; one that is missing is refused when read."""
    try:
        return path.samefile(file)
    except OSError:
        return False
