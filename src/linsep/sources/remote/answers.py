"""What the head of an answer says: of the file, of the bytes that come, and when to ask again."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")
OTHERS = "other bytes came than those asked for"


class Fault(Exception):
    """A request failed for a reason that may pass; the message says which, ``after`` after how many
    seconds the server wants to be asked again.
    """

    def __init__(self, message: str, after: float = 0.0):
        super().__init__(message)
        self.after = after


class Seen(NamedTuple):
    """What an answer says of a file: its bytes, its ETag and its date, each None if unsaid."""

    size: int | None
    tag: str | None = None
    date: str | None = None


class Answer(NamedTuple):
    """How many bytes came; None if the server sends the whole file only."""

    size: int | None
    seen: Seen


def range_header(start: int, room: memoryview) -> str:
    """Return the header that asks for bytes from a start on, or for the last ones."""
    return f"bytes=-{len(room)}" if start < 0 else f"bytes={start}-{start + len(room) - 1}"


def promised(found: re.Match | None, start: int, room: memoryview) -> tuple[int, int | None]:
    """Return how many bytes an answer with these headers has, which may be fewer than the room,
    and the size of the file, if it is said; Fault if they are not those asked for.
    """
    size = int(found[3]) if found is not None and found[3].isdecimal() else None
    from_end = start < 0
    if from_end and size is not None:
        start = max(0, size - len(room))
    if found is None or found[1] is None or int(found[1]) != start:
        raise Fault(OTHERS)
    most = start + len(room) if size is None else min(start + len(room), size)
    end = min(int(found[2]) + 1, most)
    if end <= start or (from_end and end != size):
        raise Fault(OTHERS)
    return end - start, size


def put(data: bytes, room: memoryview, at: int) -> int:
    """Put bytes into the room at a place; return where they end."""
    end = at + len(data)
    if end > len(room):
        raise Fault(OTHERS)
    room[at:end] = data
    return end


def whole(came: int, due: int) -> int:
    """Return how many bytes came; Fault if they are not all."""
    if came != due:
        raise Fault(f"{came:,} bytes came in place of {due:,}")
    return came


def seen_in(headers: Any, size: int | None) -> Seen:
    """Return what headers say of a file of this size."""
    # A weak tag and a strong one of the same text are of one version.
    tag = (headers.get("ETag") or "").strip().removeprefix("W/") or None
    return Seen(size, tag, headers.get("Last-Modified"))


def length_in(headers: Any) -> int | None:
    """Return how many bytes come, None if that is not said."""
    found = headers.get("Content-Length", "")
    return int(found) if found.isdecimal() else None


def wait_in(headers: Any) -> float:
    """Return the seconds after which a server wants to be asked again, 0 if it does not say."""
    said = (headers.get("Retry-After") or headers.get("retry-after") or "").strip()
    if said.isdecimal():
        return float(said)
    until, now = _time(said), _time(headers.get("Date") or headers.get("date") or "")
    if until is None:
        return 0.0
    return max(0.0, (until - (now or datetime.now(UTC))).total_seconds())


def _time(text: str) -> datetime | None:
    """Return the time of a header, None if it is not one."""
    try:
        found = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
