"""Reading requests within limits: tokens, bodies, JSON and what is asked for."""

import asyncio
import hmac
import json
import re
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import orjson

from linsep.serving.limits import Limits, Refused, count, too_large, too_many_rows
from linsep.serving.model import Wanted

JSON = b"application/json"
#: what is read of a body that is too large: so many times the limit, for so many seconds
DISCARDED, DISCARD_SECONDS = 16, 5.0
#: the end of the name of a field
_FIELD = re.compile(rb'"[ \t\r\n]*:')
ON = ("", "1", "true", "yes")
OFF = ("0", "false", "no")


class Head(NamedTuple):
    """What the head of a request says of its body: its type without parameters, and its length."""

    type: bytes
    length: int | None


class Gone(Exception):
    """The client went away before its request was complete."""


class Guard:
    """Compares tokens in constant time.

    Parameters
    ----------
    token : str or None, that every request must show
    """

    def __init__(self, token: str | None):
        self._expected = None if token is None else token.encode()

    def check(self, headers: list[tuple[bytes, bytes]]) -> None:
        """Raise Refused unless the token is shown, or none is needed."""
        if self._expected is None:
            return
        for name, value in headers:
            scheme, _, shown = value.partition(b" ")
            bearer = name == b"authorization" and scheme.lower() == b"bearer"
            if bearer and hmac.compare_digest(shown.strip(), self._expected):
                return
        raise Refused(
            401,
            "This server needs its token: send it in the header Authorization, as Bearer TOKEN.",
            (b"www-authenticate", b"Bearer"),
        )


class BodyReader:
    """Reads bodies within limits of their size, of their time, and of all bodies together."""

    def __init__(self, limits: Limits):
        self.limits, self._held = limits, 0

    async def read(self, head: Head, receive: Any) -> bytes:
        """Return the body of a request; raises Refused, or Gone."""
        if head.length is not None and head.length > self.limits.body:
            await self._discarded(receive)
            raise too_large(self.limits.body)
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                message = await receive()
                if message["type"] == "http.request" and not message["more_body"]:
                    return self._within(message["body"])
                return await self._rest(message, receive)
        except TimeoutError:
            raise self._slow() from None

    def _within(self, body: bytes) -> bytes:
        if len(body) > self.limits.body:
            raise too_large(self.limits.body)
        return body

    async def _rest(self, message: Any, receive: Any) -> bytes:
        """Return a body that arrives in parts, the first of which is ``message``."""
        parts, size = [], 0
        try:
            while True:
                if message["type"] == "http.disconnect":
                    raise Gone
                parts.append(message["body"])
                size, self._held = size + len(parts[-1]), self._held + len(parts[-1])
                if size > self.limits.body:
                    await self._discarded(receive, message["more_body"])
                    raise too_large(self.limits.body)
                if not message["more_body"]:
                    return b"".join(parts)
                if self._held > self.limits.bodies:
                    raise Refused(
                        503,
                        "Too many large bodies arrive at the same time: try again.",
                        (b"retry-after", b"1"),
                        (b"connection", b"close"),
                    )
                message = await receive()
        finally:
            self._held -= size

    async def _discarded(self, receive: Any, more: bool = True) -> None:
        """Wait for the rest of a body that is refused: many clients read the answer only then, and
        would see a connection that was reset. Not for ever: of endless ones they do.
        """
        size = 0
        try:
            async with asyncio.timeout(DISCARD_SECONDS):
                while more and size < DISCARDED * self.limits.body:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Gone
                    size, more = size + len(message["body"]), message["more_body"]
        except TimeoutError:
            return

    def _slow(self) -> Refused:
        return Refused(
            408,
            f"The body did not arrive within {self.limits.body_seconds:g} seconds, the limit of "
            "this server: send fewer rows at once.",
            (b"connection", b"close"),
        )


def head_of(headers: list[tuple[bytes, bytes]]) -> Head:
    """Return what the headers say of the body; Refused for a compressed one."""
    kind, length = b"", None
    for name, value in headers:
        if name == b"content-type":
            kind = value.partition(b";")[0].strip().lower()
        elif name == b"content-length":
            length = int(value) if value.isdigit() else None
        elif name == b"content-encoding" and value.lower() != b"identity":
            raise Refused(415, "The body is compressed: send it without Content-Encoding.")
    return Head(kind, length)


@lru_cache(maxsize=100)
def wanted_of(query: bytes) -> Wanted:
    """Return what a query string asks for; Refused names what is unknown."""
    asked: dict[str, bool] = {}
    for name, value in parse_qsl(query.decode("ascii", "replace"), keep_blank_values=True):
        if name not in Wanted._fields:
            known = ", ".join(Wanted._fields)
            raise Refused(422, f"The address asks for {name[:60]!r}: known are {known}.")
        if value.lower() not in ON + OFF:
            raise Refused(422, f"{name} is {value[:60]!r}: choose true or false.")
        asked[name] = value.lower() in ON
    return Wanted(**asked)


def _refuse_repeated(body: bytes, found: Any) -> None:
    """Refuse a body in which an object has a field twice, of which parsers take one silently."""
    if type(found) is not dict:
        return
    lists = [each for each in found.values() if type(each) is list]
    fields = len(found) + sum(len(row) for each in lists for row in each if type(row) is dict)
    if len(_FIELD.findall(body)) == fields:  # which texts may look like, too
        return
    try:
        json.loads(body, object_pairs_hook=_once)
    except RecursionError:
        raise Refused(400, "The body is not JSON (too many brackets are open).") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object as a dict; Refused if it has a field twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Refused(422, f"The body has the field {twice[:60]!r} twice in one object: send one.")
    return found


def fields_of(body: bytes, names: tuple[str, ...], limits: Limits) -> list[list[Any]]:
    """Return the lists of a JSON object, of one length and not empty, in the order of ``names``."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as problem:
        raise Refused(400, f"The body is not JSON ({problem}).") from None
    _refuse_repeated(body, found)
    example = "{" + ", ".join(f'"{name}": [...]' for name in names) + "}"
    if type(found) is not dict or any(type(found.get(name)) is not list for name in names):
        raise Refused(422, f"The body must be an object of lists: {example}.")
    if len(found) > len(names):
        unknown = next(name for name in found if name not in names)
        raise Refused(422, f"The body has an unknown field {unknown[:60]!r}: send {example}.")
    lists: list[list[Any]] = [found[name] for name in names]
    if not lists[0]:
        raise Refused(422, f"There are no {names[0]}: send at least one.")
    if len(lists[0]) > limits.rows:
        raise too_many_rows(limits.rows)
    for name, values in zip(names, lists, strict=True):
        if len(values) != len(lists[0]):
            raise Refused(
                422,
                f"The body has {count(len(lists[0]), names[0][:-1])} and "
                f"{count(len(values), name[:-1])}: send one of each for every row.",
            )
    return lists
