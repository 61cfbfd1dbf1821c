"""Files whose names do not determine their format: how commands read them."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from linsep._system.files import is_address
from linsep.cli.errors import note
from linsep.errors import LinsepError
from linsep.sources.formats import format_by_content, named_vaguely

#: formats that first lines show, in words
_WORDS = {"svmlight": "svmlight text", "vw": "Vowpal Wabbit's text"}


def tell_recognized(given: dict[str, Any]) -> None:
    """Report the files whose format is inferred from their first lines, because their names do not
    determine it.
    """
    if given.get("format") is not None or "data" not in given:
        return
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
