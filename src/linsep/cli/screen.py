"""Plain aligned text; long lines are folded on terminals only."""

import os
import shutil
import sys
import textwrap
from typing import Any

from rich.cells import cell_len

from linsep.cli.standard_input import named
from linsep.escaping import escaped
from linsep.estimators._common.checking import label_text


def percent(share: float) -> str:
    """Return a share as a percentage with two decimals."""
    return f"{100 * share:.2f} %"


def count(number: int, what: str) -> str:
    """Return a count with its noun: 1 row, 1,200 rows."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def labels_text(labels: list[Any], most: int = 8) -> str:
    """Return a few labels, comma separated."""
    shown = ", ".join(label_text(label) for label in labels[:most])
    return shown + (", ..." if len(labels) > most else "")


def on_terminal() -> bool:
    """Return whether stdout is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def print_pairs(pairs: list[tuple[str, str]]) -> None:
    """Print aligned ``name  text`` lines, with bold names on a terminal."""
    pairs = [(escaped(name), escaped(named(text))) for name, text in pairs]
    indent = max(cell_len(name) for name, _ in pairs) + 2
    for name, text in pairs:
        first, *more = _folded(text, indent)
        print(_bold(padded(name, indent)) + first)
        for line in more:
            print(" " * indent + line)


def print_table(header: list[str], rows: list[list[str]]) -> None:
    """Print a plain table: the first column left-aligned, numbers right-aligned."""
    lines = [[escaped(named(cell)) for cell in line] for line in (header, *rows)]
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    for number, (first, *cells) in enumerate(lines):
        text = "  ".join(
            [padded(first, widths[0])]
            + [
                " " * (width - cell_len(cell)) + cell
                for width, cell in zip(widths[1:], cells, strict=True)
            ]
        )
        print(_bold(text) if number == 0 else text)


def padded(text: str, width: int) -> str:
    """Pad text with spaces to ``width`` terminal cells."""
    return text + " " * (width - cell_len(text))


def _folded(text: str, indent: int) -> list[str]:
    if not on_terminal():
        return [text]
    room = max(20, shutil.get_terminal_size().columns - indent)
    return textwrap.wrap(text, room, break_on_hyphens=False) or [""]


def _bold(text: str) -> str:
    plain = not on_terminal() or os.environ.get("TERM", "dumb") == "dumb"
    return text if plain else f"\033[1m{text}\033[0m"
