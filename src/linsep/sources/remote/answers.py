"""Responses of servers, checked against the request. Temporary failures are retried; other failures
raise one sentence.
"""

import asyncio
import errno
import random
import re
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from linsep._system.interrupts import signals_so_far
from linsep.errors import DataError
from linsep.sources.remote.address import shown, without_secrets

#: attempts before a request is treated as failed
MOST_TRIES = 5
#: seconds before the second try, doubled before each other one
FIRST_PAUSE = 0.5
#: seconds that a request may take, and that a server may ask to wait for
MOST_SECONDS = 300
#: seconds without a byte from a web server; twice as many until the head of an answer has come
SILENCE = 30
#: seconds until Ctrl-C is noticed by who waits for an answer
MOMENT = 0.2

#: answers that may be others if the request is repeated
_PASSING = {408, 425, 429, *range(500, 600)} - {501, 505}
_RESET = {errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED}
# Errors of aiohttp, botocore and paramiko by name, because these packages may not be installed.
_FINAL = {
    "TooManyRedirects", "ClientConnectorCertificateError", "InvalidURL", "NoCredentialsError",
    "AuthenticationException", "SSLCertVerificationError", "IsADirectoryError",
    "NotADirectoryError",
}  # fmt: skip
_TLS, _NO_TLS = {"ClientConnectorSSLError", "SSLError"}, ("WRONG_VERSION", "RECORD_LAYER")
_DENIED = {"NoCredentialsError", "AuthenticationException"}
_UNKNOWN = {"ClientConnectorDNSError", "gaierror"}
_SILENT = {
    "ClientConnectorError", "ConnectionRefusedError", "NoValidConnectionsError",
    "EndpointConnectionError", "ConnectTimeoutError",
}  # fmt: skip
_CUT = {"ClientPayloadError", "IncompleteReadError", "IncompleteRead"}
_PASSING_ERRORS = {"ClientError", "HTTPClientError", "ConnectionError"}
_PORTS = {"http": 80, "https": 443, "ftp": 21, "sftp": 22, "ssh": 22}

T = TypeVar("T")


class Fault(Exception):
    """A request failed for a reason that may pass; the message says which, ``after`` after how many
    seconds the server wants to be asked again.
    """

    def __init__(self, message: str, after: float = 0.0):
        super().__init__(message)
        self.after = after


async def with_retries(request: Callable[[], Coroutine[Any, Any, T]], address: str) -> T:
    """Make a request, up to :data:`MOST_TRIES` times; FileNotFoundError if there is no such file,
    and DataError if there is no answer.
    """
    pause, what = FIRST_PAUSE, ""
    for tried in range(1, MOST_TRIES + 1):
        try:
            async with asyncio.timeout(MOST_SECONDS):
                return await request()
        except (DataError, FileNotFoundError):
            raise
        except Exception as error:
            found = _passing_fault(error, address)
            if found is None:
                raise unreadable(error, address) from None
            what, after = found, getattr(error, "after", 0.0)
        if after > MOST_SECONDS:
            raise DataError(
                f"{shown(address)} cannot be read ({what}): try again in {after:,.0f} seconds, "
                "as its server requests.",
                code="unreachable",
                path=shown(address),
            )
        if tried < MOST_TRIES:
            # Clients that failed together do not come back together.
            await asyncio.sleep(max(after, pause * random.uniform(0.5, 1)))
            pause *= 2
    raise DataError(
        f"{shown(address)} cannot be read ({what}) after {MOST_TRIES} attempts: try again later, "
        "or copy it to this machine.",
        code="unreachable",
        path=shown(address),
    )


def submit(request: Coroutine[Any, Any, T]) -> "Future[T]":
    """Run a request in fsspec's loop, which has a thread of its own."""
    from fsspec.asyn import get_loop

    return asyncio.run_coroutine_threadsafe(request, get_loop())


def arrived(coming: "Future[T]") -> T:
    """Wait for a request; give up if Ctrl-C comes meanwhile, also where a thread waits that Ctrl-C
    does not reach, because who reads then ends.
    """
    pressed = signals_so_far()
    while not coming.done():
        wait([coming], MOMENT)
        if signals_so_far() != pressed and not coming.done():
            coming.cancel()
    return coming.result()


def run_sync(request: Coroutine[Any, Any, T]) -> T:
    """Wait for a request that runs in fsspec's loop."""
    coming = submit(request)
    try:
        return arrived(coming)
    finally:
        coming.cancel()


def refused(status: int, address: str, headers: Any = None) -> Exception:
    """Return what to raise for an answer that is an error."""
    try:
        what = f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        what = f"status {status}"
    if status in _PASSING:
        return Fault(what, _retry_after(headers or {}))
    if status in (404, 410):
        return FileNotFoundError(what)
    if status in (401, 403):
        return PermissionError(what)
    return DataError(
        f"{shown(address)} cannot be read ({what}): check the URL.",
        code="unreachable",
        path=shown(address),
    )


def _retry_after(headers: Any) -> float:
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


def _passing_fault(error: Exception, address: str) -> str | None:
    """Return what went wrong if it may pass, else None."""
    names = kinds_of(error)
    if isinstance(error, Fault):
        return str(error)
    if isinstance(error, PermissionError) or _FINAL & names:
        return None
    if _TLS & names and "EOF" not in str(error):  # the server has said why not
        return None
    if isinstance(error, TimeoutError):
        return "no response in time"
    if {"ServerDisconnectedError", "RemoteDisconnected"} & names or getattr(
        error, "errno", None
    ) in _RESET:
        return "the connection was reset"
    if _CUT & names:
        return "the response was truncated"
    if isinstance(error, OSError) or _PASSING_ERRORS & names:
        status = s3_head(error).get("HTTPStatusCode")
        if status is None or status in _PASSING:
            return _told(error, address)
    return None


def unreadable(error: Exception, address: str) -> DataError:
    """Return the sentence for a request that would fail again."""
    what, names = _told(error, address), kinds_of(error)
    if "InvalidURL" in names and "RedirectClientError" not in names:
        return DataError(
            f"{shown(address)} is not a valid URL: check it.", code="bad-url", path=shown(address)
        )
    if isinstance(error, PermissionError) or _DENIED & names or str(error).startswith("530"):
        return DataError(
            f"Access to {shown(address)} is denied ({what}): check the credentials in fsspec's "
            "configuration.",
            code="access-denied",
            path=shown(address),
        )
    return DataError(
        f"{shown(address)} cannot be read ({what}): check the URL.",
        code="unreachable",
        path=shown(address),
    )


def _told(error: Exception, address: str) -> str:
    """Return what went wrong, in words that need no knowledge of the libraries between."""
    names = kinds_of(error)
    if "TooManyRedirects" in names:
        return "too many redirects"
    if "ClientConnectorCertificateError" in names or "CERTIFICATE_VERIFY" in str(error):
        return f"the certificate of {_server(error, address)} is not valid"
    if _TLS & names:
        plain = any(reason in str(error) for reason in _NO_TLS)
        what = "does not speak TLS" if plain else "closed the connection during the TLS handshake"
        if not plain and (
            said := re.search(r"\[SSL: (?:TLSV1_|SSLV3_|ALERT_)*(\w+)\]", str(error))
        ):
            what = f"refuses TLS: {said[1].lower().replace('_', ' ')}"
        return f"{_server(error, address)} {what}"
    if _UNKNOWN & names:
        return f"the host name {_server(error, address).rpartition(':')[0]} is unknown"
    if _SILENT & names:
        return f"no server responds at {_server(error, address)}"
    return without_secrets(str(error), address) or type(error).__name__


def _server(error: Any, address: str) -> str:
    """Return HOST:PORT of the server that was asked."""
    host, port = getattr(error, "host", None), getattr(error, "port", None)
    if host is None:  # S3 says where it looked, other stores are where the address says
        place = getattr(error, "kwargs", {}).get("endpoint_url", address)
        found = urlsplit(shown(place))
        host, port = found.hostname or "", found.port or _PORTS.get(found.scheme)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def kinds_of(error: Exception) -> set[str]:
    """Return the names of the kinds of an error."""
    return {kind.__name__ for kind in type(error).__mro__}


def s3_head(error: BaseException) -> dict[str, Any]:
    """Return status and headers of an answer of S3 behind an error; empty if there is none."""
    answer = getattr(error.__cause__, "response", None) or getattr(error, "response", None)
    return answer.get("ResponseMetadata", {}) if isinstance(answer, dict) else {}


#: where the bytes of an answer are in the file; no file has more digits
CONTENT_RANGE = re.compile(r"bytes (?:(\d{1,19})-(\d{1,19})|\*)/(\d{1,19}|\*)")
OTHER_BYTES = "the server sent different bytes than requested"


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


def complete(data: bytes, due: int) -> bytes:
    """Return bytes of an answer; Fault if they are not all."""
    if len(data) != due:
        raise Fault(f"{len(data):,} bytes came instead of {due:,}")
    return data
