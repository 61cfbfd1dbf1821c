"""Words of messages: counts and sizes; escaping of foreign text for terminals and CSV."""

import csv
import re
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

from linsep.errors import Located

_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")


def counted(number: int, what: str) -> str:
    """Return a count with its noun: 1 row, 1,200 rows."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def a(name: str, first: bool = False) -> str:
    """Return a name with its article: a Perceptron, an AROW; at the start, "An AROW"."""
    return f"{'Aa'[not first]}{'n' * (name[0] in 'AEIOaeio')} {name}"


def either(names: Sequence[str]) -> str:
    """Return a list in words: "a", "a or b", "a, b or c"."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def row_text(row: int) -> str:
    """Return the name of the row with this index: "row 28 (index 27)"."""
    return Located(f"row {row + 1} (index {row})", row=row + 1)


def size_text(size: int) -> str:
    """Return a number of bytes in the largest unit that it fills, as in "64 MB"."""
    for unit, name in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB")):
        if size >= unit:
            return f"{size / unit:.4g} {name}"
    return f"{size} bytes"


def percent(share: float) -> str:
    return f"{100 * share:.2f}%"


def escaped(text: str, lines: bool = False) -> str:
    """Escape characters that move the cursor, change colors or reverse the text direction.

    ``lines`` keeps line ends.
    """
    if text.isprintable():
        return text
    if lines:
        return "\n".join(map(escaped, text.split("\n")))
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def csv_cell(text: str) -> str:
    """Return a CSV cell that no spreadsheet evaluates: a leading quote is added to text that looks
    like a formula, as OWASP recommends. Numbers and single signs are unchanged.
    """
    formula = len(text) > 1 and text[0] in "=+-@\t\r" and not _NUMBER.fullmatch(text)
    return "'" + text if formula else text


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Return rows of cells as CSV text whose lines end in line feeds."""
    lines: list[str] = []
    # the module quotes carriage returns in cells only if its own lines end in them
    out = SimpleNamespace(write=lambda line: lines.append(line.removesuffix("\r\n") + "\n"))
    csv.writer(out).writerows(rows)
    return "".join(lines)
