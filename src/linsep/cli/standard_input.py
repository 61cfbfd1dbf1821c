"""DATA of commands: standard input, which ``-`` stands for, and formats that are inferred."""

import shutil
import sys
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import wraps
from pathlib import Path
from typing import Any

import click

from linsep._system.files import is_address, scratch_folder
from linsep.cli.errors import NAME, copies, note
from linsep.errors import DataError, LinsepError
from linsep.sources.formats import format_by_content, named_vaguely

#: formats that first lines show, in words
_WORDS = {"svmlight": "svmlight text", "vw": "Vowpal Wabbit's text"}


def as_given(data: list[str]) -> list[str]:
    """Return the names of data with ``-`` for the copy of standard input."""
    return ["-" if item in copies else item for item in data]


def reads_data(command: Callable) -> Callable:
    """Let ``-`` among ``data`` and ``test`` of a command stand for standard input.

    It is copied to a temporary file, so that it can be read several times.
    """

    @wraps(command)
    def run(**given: Any) -> Any:
        named = [name for name in ("data", "test") if given.get(name)]
        count = [item for name in named for item in given[name]].count("-")
        if count > 1:
            raise click.BadParameter("- is standard input, which can be read only once.")
        with scratch_folder() if count else nullcontext() as folder:
            if count:
                path = _filled(Path(str(folder)) / NAME)
                copies[:] = [str(path)]
                for name in named:
                    given[name] = [str(path) if item == "-" else item for item in given[name]]
                if "no_cache" in given:
                    given["no_cache"] = True  # its rows are never read again
                if given["format"] is None and format_by_content(path) is None:
                    flag = "--data-format" if "written" in given else "--format"
                    raise click.BadParameter(
                        f"The format of - cannot be inferred from its first lines: add {flag}."
                    )
            if given.get("format") is None and "data" in given:
                _tell_recognized([item for name in named for item in given[name]])
            return command(**given)

    return run


def _tell_recognized(names: list[str]) -> None:
    """Report the files whose format is inferred from their first lines, because their names do not
    determine it.
    """
    from linsep.sources.opening import find_files

    found: dict[str, list[str]] = {}
    for name in names:
        if not is_address(Path(name)):
            with suppress(LinsepError, OSError):  # the command reports the error
                for path in filter(named_vaguely, find_files([name])):
                    if (format := format_by_content(path)) is not None:
                        found.setdefault(format, []).append(str(path))
    for format, (first, *more) in found.items():
        others = f" and {len(more):,} more" * bool(more)
        are, their = ("are", "their") if more else ("is", "its")
        note(f"{first}{others} {are} read as {_WORDS[format]}, inferred from {their} first lines.")


def _filled(path: Path) -> Path:
    if sys.stdin is None:
        raise DataError("There is no standard input: name a file.", code="no-file")
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
    return path
