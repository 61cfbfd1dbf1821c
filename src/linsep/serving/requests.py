"""Reading requests: hosts, tokens, bodies, JSON and query parameters."""

import hmac
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

import orjson

from linsep.serving.limits import Limits, Refused, beyond
from linsep.serving.model import Wanted
from linsep.words import counted, size_text

JSON = b"application/json"
#: how a query string says yes and no
YES, NO = ("", "1", "true", "yes"), ("0", "false", "no")
#: a host as requests name it: a name or an address, perhaps with a port
_HOST = re.compile(rb"(\[[0-9a-f:.]+\]|[^:@\[\]/]+)(?::\d+)?")
#: how this machine is called from itself
LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")

Headers = list[tuple[bytes, bytes]]


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
        self._known = None if names is None else {_bracketed(n).lower().encode() for n in names}

    def check(self, headers: Headers, version: str) -> None:
        """Raise Refused unless the request has one Host header, with a host of this server."""
        hosts = [value for name, value in headers if name == b"host"]
        if len(hosts) > 1 or (not hosts and version != "1.0"):
            raise Refused(400, "A request needs exactly one Host header.")
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


def check_bearer(token: str | None, headers: Headers) -> None:
    """Raise Refused if a token is required and not in the request; compares in constant time."""
    if token is None:
        return
    for name, value in headers:
        scheme, _, shown = value.partition(b" ")
        bearer = name == b"authorization" and scheme.lower() == b"bearer"
        if bearer and hmac.compare_digest(shown.strip(), token.encode()):
            return
    raise Refused(
        401,
        "This server requires a token: send the header Authorization: Bearer TOKEN.",
        (b"www-authenticate", b"Bearer"),
    )


async def read_body(headers: Headers, receive: Any, limit: int) -> tuple[bytes, bytes]:
    """Return the media type (without parameters) and the body; raise Refused or ClientGone."""
    kind, body, more = b"", bytearray(), True
    for name, value in headers:
        if name == b"content-type":
            kind = value.partition(b";")[0].strip().lower()
        elif name == b"content-encoding" and value.lower() != b"identity":
            raise Refused(415, "The body is compressed: send it without Content-Encoding.")
    size = 0
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        size, more = size + len(message["body"]), message["more_body"]
        if size <= limit:
            body += message["body"]
        elif size > 16 * limit:  # many clients read the answer only after sending all
            break
    if size > limit:
        raise beyond("The body has", size_text(limit), "--max-body")
    return kind, bytes(body)


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


def fields_of(body: bytes, names: tuple[str, ...], limits: Limits) -> list[list[Any]]:
    """Return the lists of a JSON object, nonempty and equally long, in the order of ``names``."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as problem:
        raise Refused(400, f"The body is not JSON ({problem}).") from None
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
        raise beyond("The request has", counted(limits.rows, "row"), "--max-rows")
    for name, values in zip(names, lists, strict=True):
        if len(values) != len(lists[0]):
            raise Refused(
                422,
                f"The body has {counted(len(lists[0]), names[0][:-1])} and "
                f"{counted(len(values), name[:-1])}: send one of each per row.",
            )
    return lists
