"""Text that came from data, made harmless for screens and spreadsheets."""

import re

_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")


def escaped(text: str, lines: bool = False) -> str:
    """Write out all that would move the cursor, change colours or the direction of reading.

    ``lines`` keeps line ends as they are.
    """
    if text.isprintable():
        return text
    if lines:
        return "\n".join(map(escaped, text.split("\n")))
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def cell(text: str) -> str:
    """A cell of CSV that no spreadsheet takes for a formula: one that begins like it gets a quote
    before it, as OWASP advises against CSV injection. Numbers and single signs stay as they are.
    """
    formula = len(text) > 1 and text[0] in "=+-@\t\r" and not _NUMBER.fullmatch(text)
    return "'" + text if formula else text
