"""DATA of commands: standard input, which ``-`` stands for, and formats that are inferred."""

import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any

import click

from linsep._system.files import is_address, scratch_folder
from linsep.cli.errors import NAME, copies, note
from linsep.errors import DataError, LinsepError

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
        count = [item for name in ("data", "test") for item in given.get(name) or ()].count("-")
        if count > 1:
            raise click.BadParameter("- is standard input, which can be read only once.")
        if not count:
            _tell_recognized(given)
            return command(**given)
        with scratch_folder() as folder:
            path = _filled(Path(folder) / NAME)
            copies[:] = [str(path)]
            for name in {"data", "test"} & given.keys():
                given[name] = [str(path) if item == "-" else item for item in given[name] or ()]
            if "no_cache" in given:
                given["no_cache"] = True  # its rows are never read again
            from linsep.sources.formats import format_by_content

            if given["format"] is None and format_by_content(path) is None:
                option = "--data-format" if "written" in given else "--format"
                raise click.BadParameter(
                    f"The format of - cannot be inferred from its first lines: add {option}."
                )
            _tell_recognized(given)
            return command(**given)

    return run


def _tell_recognized(given: dict[str, Any]) -> None:
    """Report the files whose format is inferred from their first lines, because their names do not
    determine it.
    """
    if given.get("format") is not None or "data" not in given:
        return
    from linsep.sources.formats import format_by_content, named_vaguely
    from linsep.sources.opening import find_files

    found: dict[str, list[str]] = {}
    for name in [x for option in ("data", "test") for x in given.get(option) or ()]:
        if is_address(Path(name)):
            continue
        with suppress(LinsepError, OSError):  # the command reports the error
            for path in filter(named_vaguely, find_files([name])):
                if (format := format_by_content(path)) is not None:
                    found.setdefault(format, []).append(str(path))
    for format, paths in found.items():
        others = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
        are, their = ("are", "their") if others else ("is", "its")
        note(
            f"{paths[0]}{others} {are} read as {_WORDS[format]}, inferred from {their} first lines."
        )


def _filled(path: Path) -> Path:
    if sys.stdin is None:
        raise DataError("There is no standard input: name a file.", code="no-file")
    try:
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
    except OSError as problem:
        raise DataError(
            f"Standard input cannot be kept in {path.parent} ({problem.strerror})",
            "free some space there",
            "set TMPDIR to another folder",
            code="cannot-write",
            path=path.parent,
        ) from None
    return path
