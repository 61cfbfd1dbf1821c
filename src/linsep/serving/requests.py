"""Reading requests: hosts, tokens, bodies, JSON and query parameters."""

import hmac
import re
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import orjson

from linsep.serving.limits import Budget, Limits, Refused, beyond
from linsep.words import counted, size_text

JSON = b"application/json"
#: a host as requests name it: a name or an address, perhaps with a port
_HOST = re.compile(rb"(\[[0-9a-f:.]+\]|[^:@\[\]/]+)(?::\d+)?")

Headers = list[tuple[bytes, bytes]]


class Wanted(NamedTuple):
    """Optional parts of an answer, see `QUERY`."""

    scores: bool = False
    probabilities: bool = False
    explanations: bool = False
    missing: str = "error"


FLAG = dict.fromkeys(("", "1", "true", "yes"), True) | dict.fromkeys(("0", "false", "no"), False)
#: query parameters: the values by how they are written, and what they ask for
QUERY: dict[str, tuple[dict[str, Any], str]] = {
    "scores": (FLAG, "The score of each class; of two, one, positive for the second."),
    "probabilities": (FLAG, "The probability of each class, if the model has any."),
    "explanations": (FLAG, "Each feature's value, weight and product, largest first."),
    "missing": (
        {"error": "error", "skip": "skip"},
        "A row with a missing value is an error, or its prediction is null (skip).",
    ),
}


def check_host(known: set[bytes] | None, headers: Headers, version: str) -> None:
    """Raise Refused unless there is one Host header, with one of the ``known`` hosts (None: any).

    A malicious page can make the name of its own host resolve to this machine (DNS rebinding), so
    that the browser lets it read answers. Only the Host header still has the other name.
    """
    hosts = [value for name, value in headers if name == b"host"]
    if len(hosts) > 1 or (not hosts and version != "1.0"):
        raise Refused(400, "A request needs exactly one Host header.")
    if known is None or not hosts:  # which no browser leaves out
        return
    found = _HOST.fullmatch(hosts[0].lower())
    if found is None or found[1] not in known:
        host = ascii(hosts[0][:60].decode("latin-1"))
        raise Refused(421, f"The host {host} is not this server: allow it with --allowed-host.")


def check_bearer(token: str | None, headers: Headers) -> None:
    """Raise Refused if a token is required and not in the request; compares in constant time."""
    scheme, _, shown = dict(headers).get(b"authorization", b"").partition(b" ")
    bearer = shown.strip() if scheme.lower() == b"bearer" else b""
    if token is not None and not hmac.compare_digest(bearer, token.encode()):
        why = "This server requires a token: send the header Authorization: Bearer TOKEN."
        raise Refused(401, why, (b"www-authenticate", b"Bearer"))


async def read_body(headers: Headers, receive: Any, limit: int) -> tuple[bytes, bytes]:
    """Return the media type (without parameters) and the body; raise Refused."""
    found, body, more = dict(headers), bytearray(), True
    if found.get(b"content-encoding", b"identity").lower() != b"identity":
        raise Refused(415, "The body is compressed: send it without Content-Encoding.")
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused(400, "The client is gone.")
        body += message["body"]
        more = message["more_body"]
        if len(body) > limit:  # uvicorn drops the rest
            raise beyond(f"a body of {size_text(limit)}", "--max-body")
    return found.get(b"content-type", JSON).partition(b";")[0].strip().lower(), bytes(body)


@lru_cache(maxsize=100)
def wanted_of(query: bytes) -> Wanted:
    """Return the query parameters; raise Refused for unknown ones."""
    asked: dict[str, Any] = {}
    for name, value in parse_qsl(query.decode("ascii", "replace"), keep_blank_values=True):
        if name not in QUERY:
            known = ", ".join(QUERY)
            raise Refused(422, f"Unknown query parameter {name[:60]!r}: choose from {known}.")
        values, _ = QUERY[name]
        if value.lower() not in values:
            words = ", ".join(filter(None, values))
            raise Refused(422, f"{name} is {value[:60]!r}: choose from {words}.")
        asked[name] = values[value.lower()]
    return Wanted(**asked)


def fields_of(body: bytes, names: tuple[str, ...], limits: Limits) -> list[list[Any]]:
    """Return the lists of a JSON object, nonempty and equally long, in the order of ``names``."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as problem:
        raise Refused(400, f"The body is not JSON ({problem}).") from None
    lists: list[Any] = [found.get(name) for name in names] if type(found) is dict else []
    if {*map(type, lists)} != {list} or len(found) > len(names):
        example = ", ".join(f'"{name}": [...]' for name in names)
        raise Refused(422, f"The body must be an object of lists: {{{example}}}.")
    if len({*map(len, lists)}) > 1 or not lists[0]:
        sizes = " and ".join(counted(len(found[name]), name[:-1]) for name in names)
        raise Refused(422, f"The body has {sizes}: send at least one row, and one of each per row.")
    Budget(limits).check_rows(len(lists[0]))
    return lists
