"""Names of the fields of JSON lines."""

import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress

import numpy as np

#: names other than known ones, after which no more are looked for
MOST_NAMES = 3_000
#: the rest of a string, without its closing quote
_STRING = re.compile(rb'(?:[^"\\]|\\.)*', re.DOTALL)


class FieldNames:
    """Names of fields other than known ones, as they turn up in blocks of lines.

    Attributes
    ----------
    lines : dict of name to the line that it is first in
    """

    def __init__(self, known: Iterable[str]):
        self.lines: dict[str, int] = {}
        names = list(known)
        self._known = frozenset(names)
        self._hashes = np.array([_hash(name.encode()) for name in names], np.uint64)

    def look_at(self, block: bytes, line_at: Callable[[int], int]) -> None:
        """Take the names in a block of lines that are one object each."""
        from linsep.compiled.scanners.json_lines import next_field

        text, at = np.frombuffer(block, np.uint8), 0
        while len(self.lines) < MOST_NAMES:
            at = next_field(text, at, len(block), self._hashes)
            if at == len(block):
                return
            written = _STRING.match(block, at)[0]  # type: ignore[index]
            self._hashes = np.append(self._hashes, np.uint64(_hash(written)))
            with suppress(ValueError):  # which the parser explains
                name = json.loads(b'"%b"' % written)
                if name not in self._known:  # as it is where letters are escaped
                    self.lines.setdefault(name, line_at(at))
            at = block.rfind(b"\n", 0, at) + 1


def _hash(name: bytes) -> int:
    """Return the hash by which ``next_field`` knows a name."""
    found = 0x811C9DC5
    for byte in name:
        found = ((found ^ byte) * 0x1000193) & ((1 << 39) - 1)
    return found
