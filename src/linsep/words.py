"""Text of others on terminals and in spreadsheets: escaped."""

import csv
import re
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")


def escaped(text: str, lines: bool = False) -> str:
    """Escape characters that move the cursor, change colours or reverse the reading direction.

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
