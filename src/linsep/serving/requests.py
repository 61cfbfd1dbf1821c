"""Reading requests within limits: hosts, tokens, bodies, JSON and query parameters."""

import asyncio
import hmac
import json
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import orjson

from linsep.serving.limits import Limits, Refused, too_busy, too_large, too_many_rows
from linsep.serving.model import Wanted
from linsep.words import counted

JSON = b"application/json"
#: what is read of a body that is too large: so many times the limit, for so many seconds
DISCARDED, DISCARD_SECONDS = 16, 5.0
#: the end of the name of a field
_FIELD = re.compile(rb'"[ \t\r\n]*:')
#: how a query string says yes and no
YES, NO = ("", "1", "true", "yes"), ("0", "false", "no")
#: a host as requests name it: a name or an address, perhaps with a port
_HOST = re.compile(rb"(\[[0-9a-f:.]+\]|[^:@\[\]/]+)(?::\d+)?")
#: how this machine is called from itself
LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")

Headers = list[tuple[bytes, bytes]]


class BodyHead(NamedTuple):
    """The media type (without parameters) and the length of a body, from the head of a request."""

    type: bytes
    length: int | None


class ClientGone(Exception):
    """The client went away before its request was complete."""


class HostCheck:
    """Refuses requests for other hosts.

    A malicious page can make the name of its own host resolve to this machine (DNS rebinding): the
    browser then treats this server as part of the page, which may send requests and read the
    answers. Only the Host header still has the other name.

    Parameters
    ----------
    names : host names of this server, without ports; None allows any
    """

    def __init__(self, names: Iterable[str] | None):
        self._known: frozenset[bytes] | None = None
        if names is not None:
            self._known = frozenset(_bracketed(name).lower().encode() for name in names)

    def check(self, headers: Headers, version: str) -> None:
        """Raise Refused unless the request has one Host header, with a host of this server."""
        hosts = [value for name, value in headers if name == b"host"]
        if len(hosts) > 1 or (not hosts and version != "1.0"):
            raise Refused(
                400, "A request needs exactly one Host header.", (b"connection", b"close")
            )
        if self._known is None or not hosts:  # which no browser leaves out
            return
        found = _HOST.fullmatch(hosts[0].lower())
        if found is None or found[1] not in self._known:
            raise Refused(
                421,
                f"The request is for the host {hosts[0][:60].decode('ascii', 'replace')!r}, which "
                "is not this server: allow the name with --allowed-host.",
            )


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


class TokenCheck:
    """Compares tokens in constant time.

    Parameters
    ----------
    token : str or None, required in every request
    """

    def __init__(self, token: str | None):
        self._expected = None if token is None else token.encode()

    def check(self, headers: Headers) -> None:
        """Raise Refused if a token is required and not in the request."""
        if self._expected is None:
            return
        for name, value in headers:
            scheme, _, shown = value.partition(b" ")
            bearer = name == b"authorization" and scheme.lower() == b"bearer"
            if bearer and hmac.compare_digest(shown.strip(), self._expected):
                return
        raise Refused(
            401,
            "This server requires a token: send the header Authorization: Bearer TOKEN.",
            (b"www-authenticate", b"Bearer"),
        )


class BodyReader:
    """Reads bodies within limits on size, time, and the total size of all bodies."""

    def __init__(self, limits: Limits):
        self.limits, self._held = limits, 0

    @asynccontextmanager
    async def reading(self, head: BodyHead, receive: Any) -> AsyncIterator[bytes]:
        """Read the body of a request; its bytes are reserved until it is answered. Raises Refused
        or ClientGone.
        """
        if head.length is not None and head.length > self.limits.body:
            await self._discarded(_parts(receive))
            raise too_large(self.limits.body)
        body = bytearray()
        try:
            try:
                async with asyncio.timeout(self.limits.body_seconds):
                    await self._read(body, receive)
            except TimeoutError:
                raise self._slow() from None
            yield bytes(body)
        finally:
            self._held -= len(body)

    async def _read(self, body: bytearray, receive: Any) -> None:
        arriving = _parts(receive)
        async for part in arriving:
            body += part
            self._held += len(part)
            if len(body) > self.limits.body:
                await self._discarded(arriving)
                raise too_large(self.limits.body)
            if self._held > self.limits.bodies:
                raise too_busy(
                    "Too many large bodies are arriving at the same time", (b"connection", b"close")
                )

    async def _discarded(self, arriving: AsyncIterator[bytes]) -> None:
        """Wait for the rest of a refused body, up to a time limit: many clients read the answer
        only after sending, and would see a reset connection.
        """
        size = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(DISCARD_SECONDS):
                async for part in arriving:
                    size += len(part)
                    if size >= DISCARDED * self.limits.body:
                        return

    def _slow(self) -> Refused:
        return Refused(
            408,
            f"The body did not arrive within {self.limits.body_seconds:g} seconds, the limit of "
            "this server: send fewer rows per request.",
            (b"connection", b"close"),
        )


async def _parts(receive: Any) -> AsyncIterator[bytes]:
    """Yield the parts of a body as they arrive; ClientGone if the client goes away before."""
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        yield message["body"]
        more = message["more_body"]


def head_of(headers: Headers) -> BodyHead:
    """Return the type and length of the body; raise Refused for a compressed one."""
    kind, length = b"", None
    for name, value in headers:
        if name == b"content-type":
            kind = value.partition(b";")[0].strip().lower()
        elif name == b"content-length":
            length = int(value) if value.isdigit() else None
        elif name == b"content-encoding" and value.lower() != b"identity":
            raise Refused(415, "The body is compressed: send it without Content-Encoding.")
    return BodyHead(kind, length)


@lru_cache(maxsize=100)
def wanted_of(query: bytes) -> Wanted:
    """Return the query parameters; raise Refused for unknown ones."""
    asked: dict[str, Any] = {}
    for name, value in parse_qsl(query.decode("ascii", "replace"), keep_blank_values=True):
        if name not in Wanted._fields:
            known = ", ".join(Wanted._fields)
            raise Refused(422, f"Unknown query parameter {name[:60]!r}: choose from {known}.")
        words = ("error", "skip") if name == "missing" else YES + NO
        if value.lower() not in words:
            choices = "error or skip" if name == "missing" else "true or false"
            raise Refused(422, f"{name} is {value[:60]!r}: choose {choices}.")
        asked[name] = value.lower() if name == "missing" else value.lower() in YES
    return Wanted(**asked)


def _refuse_repeated(body: bytes, found: Any) -> None:
    """Refuse a body with a duplicate field in an object, which parsers accept silently."""
    if type(found) is not dict:
        return
    lists = [each for each in found.values() if type(each) is list]
    fields = len(found) + sum(len(row) for each in lists for row in each if type(row) is dict)
    if len(_FIELD.findall(body)) == fields:  # which texts may look like, too
        return
    try:
        json.loads(body, object_pairs_hook=_once)
    except RecursionError:
        raise Refused(400, "The body is nested too deeply.") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object as a dict; raise Refused for a duplicate field."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Refused(
            422, f"The body has the field {twice[:60]!r} twice in one object: send it once."
        )
    return found


def fields_of(body: bytes, declared: type, limits: Limits) -> list[list[Any]]:
    """Return the lists of a JSON object, nonempty and equally long, in the order of a TypedDict."""
    names = tuple(declared.__annotations__)
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
                f"The body has {counted(len(lists[0]), names[0][:-1])} and "
                f"{counted(len(values), name[:-1])}: send one of each per row.",
            )
    return lists
