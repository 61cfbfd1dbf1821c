"""Text whose fields are separated by runs of blanks, as tables for people to read often are."""

import re

#: stands for a delimiter: any run of blanks and tabs
WHITESPACE = "whitespace"
#: a quoted field, which stays as it is, or a run
_RUNS = re.compile(rb'("[^"\n]*")|[ \t]+')
_ENDS = re.compile(rb"^\t|\t(?=\r?$)", re.MULTILINE)


def squeezed(lines: bytes) -> bytes:
    """Whole lines with each run of blanks and tabs as one tab, and none at the ends of lines."""
    return _ENDS.sub(b"", _RUNS.sub(_tab, lines))


def _tab(found: re.Match[bytes]) -> bytes:
    return found[1] or b"\t"
