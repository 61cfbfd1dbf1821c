"""Answers of servers: some bytes of a file, and what is said of it; checked against the request."""

import re
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from linsep.sources.remote.faults import Fault

#: where the bytes of an answer are in the file; no file has more digits
CONTENT_RANGE = re.compile(r"bytes (?:(\d{1,19})-(\d{1,19})|\*)/(\d{1,19}|\*)")
OTHER_BYTES = "other bytes came than those asked for"


class Version(NamedTuple):
    """What an answer says of a file: its bytes, its ETag and its date, each None if unsaid."""

    size: int | None
    tag: str | None = None
    date: str | None = None


class Answer(NamedTuple):
    """Bytes of a file, None if its server sends the whole file only, and its version."""

    data: bytes | None
    version: Version


#: asks for the bytes of a file from a start to an end, of which the answer may have the first only
GetRange = Callable[[int, int], Coroutine[Any, Any, Answer]]


def promised(found: re.Match | None, start: int, end: int) -> tuple[int, int | None]:
    """Return how many bytes an answer with this Content-Range has, and the size of the file, if it
    is said; Fault if they are not those asked for.
    """
    if found is None or found[1] is None or int(found[1]) != start:
        raise Fault(OTHER_BYTES)
    size = int(found[3]) if found[3] != "*" else None
    end = min(int(found[2]) + 1, end if size is None else min(end, size))
    if end <= start:
        raise Fault(OTHER_BYTES)
    return end - start, size


def whole(data: bytes, due: int) -> bytes:
    """Return bytes of an answer; Fault if they are not all."""
    if len(data) != due:
        raise Fault(f"{len(data):,} bytes came in place of {due:,}")
    return data
