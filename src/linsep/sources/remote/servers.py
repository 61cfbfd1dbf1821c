"""One request for some bytes of a remote file, and what the answer says of the file.

A web server and S3 say with each range what the file is at that moment. Of other stores that
fsspec reads it is asked beside.
"""

import asyncio
import errno
import re
from contextlib import suppress
from functools import cache
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from linsep.errors import DataError
from linsep.sources.remote.address import WEB, protocol_of, shown, without_secrets
from linsep.sources.remote.direct import Fetch, Place, Unlike, place_of

#: answers that may be others if the request is repeated
_PASSING = {408, 425, 429, *range(500, 600)} - {501, 505}
_RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")
_RESET = {errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED}
#: errors of aiohttp and botocore: those that come again, and those that may not
_FINAL = {
    "TooManyRedirects", "ClientConnectorCertificateError", "InvalidURL", "NoCredentialsError",
    "AuthenticationException",
}  # fmt: skip
_TLS, _NO_TLS = {"ClientConnectorSSLError", "SSLError"}, ("WRONG_VERSION", "RECORD_LAYER")
_DENIED = {"NoCredentialsError", "AuthenticationException"}
_UNKNOWN = {"ClientConnectorDNSError", "gaierror"}
_SILENT = {
    "ClientConnectorError", "ConnectionRefusedError", "NoValidConnectionsError",
    "EndpointConnectionError", "ConnectTimeoutError",
}  # fmt: skip
_PORTS = {"http": 80, "https": 443, "ftp": 21, "sftp": 22, "ssh": 22}
_PASSING_ERRORS = {"ClientError", "HTTPClientError", "ConnectionError"}
_OTHERS = "other bytes came than those asked for"
#: seconds without a byte from a web server
SILENCE = 30


class Fault(Exception):
    """A request failed for a reason that may pass; the message says which."""


class Seen(NamedTuple):
    """What an answer says of a file: its bytes, its ETag and its date, each None if unsaid."""

    size: int | None
    tag: str | None = None
    date: str | None = None


class Answer(NamedTuple):
    """How many bytes came; None if the server sends the whole file only."""

    size: int | None
    seen: Seen


class WebFile:
    """A file of a web server."""

    def __init__(self, fs: Any, address: str):
        self._fs, self._address = fs, address
        self._asked = False
        self._place: Place | None = None

    async def get(self, start: int, room: memoryview) -> Answer:
        """Fill the room with the bytes from ``start`` on, as far as the file goes; with the last
        bytes of the file if ``start`` is below 0.
        """
        if self._place is not None:
            try:
                return await self._received(self._place, start, room)
            except Unlike:
                self._place = None if start >= 0 else self._place
        async with await self._ask({"Range": _range(start, room)}) as answer:
            if not self._asked:
                self._asked, self._place = True, place_of(answer, self._fs)
            status, found = answer.status, _RANGE.match(answer.headers.get("Content-Range", ""))
            if status == 416 and found and found[3].isdecimal() and int(found[3]) <= start:
                return Answer(0, _seen(answer.headers, int(found[3])))
            self._check(answer)
            if status != 206 or found is None or found[1] is None:
                return Answer(None, _seen(answer.headers, _length(answer.headers)))
            due, size = _promised(found, start, room)
            came = 0
            async for part in answer.content.iter_any():
                came = _put(part, room, came)
            return Answer(_whole(came, due), _seen(answer.headers, size))

    async def _received(self, place: Place, start: int, room: memoryview) -> Answer:
        """Do as :meth:`get` without aiohttp; Unlike if that is the one to do it."""
        due, seen = 0, Seen(None)

        def begun(status: int, headers: Any) -> int | None:
            nonlocal due, seen
            if status >= 400 and status != 416:
                raise refused(status, self._address)
            if status not in (200, 206) or headers.get("Content-Encoding"):
                raise Unlike
            found = _RANGE.match(headers.get("Content-Range", ""))
            if status == 200 or found is None or found[1] is None:
                seen = _seen(headers, _length(headers))
                return None
            due, size = _promised(found, start, room)
            seen = _seen(headers, size)
            return due

        came = await Fetch(place, _range(start, room), room, begun, SILENCE).received()
        return Answer(None if came is None else _whole(came, due), seen)

    async def copy(self, out: Any) -> Seen:
        """Write the whole file to ``out``."""
        async with await self._ask({}) as answer:
            self._check(answer)
            length, written = _length(answer.headers), 0
            if length is None and answer.headers.get("Transfer-Encoding", "") != "chunked":
                raise DataError(
                    f"{shown(self._address)} comes from a server that does not say how long it is: "
                    "copy it to this machine."
                )
            async for part in answer.content.iter_chunked(1 << 20):
                written += out.write(part)
            if length not in (None, written):
                raise Fault(f"{written:,} bytes came in place of {length:,}")
            return _seen(answer.headers, written)

    async def _ask(self, headers: dict[str, str]) -> Any:
        import aiohttp

        session, given = await self._fs.set_session(), dict(self._fs.kwargs)
        headers = {**given.pop("headers", {}), **headers, "Accept-Encoding": "identity"}
        given.setdefault("timeout", aiohttp.ClientTimeout(None, None, SILENCE, SILENCE))
        return session.get(
            self._fs.encode_url(self._address), headers=headers, read_bufsize=1 << 20, **given
        )

    def _check(self, answer: Any) -> None:
        """Raise for an answer without the bytes."""
        if answer.status not in (200, 206):
            raise refused(answer.status, self._address)
        encoding = answer.headers.get("Content-Encoding", "identity")
        path = shown(self._address).removesuffix("?...").lower()
        if encoding not in ("", "identity") and not path.endswith((".gz", ".bz2", ".zst")):
            raise DataError(
                f"{shown(self._address)} comes compressed ({encoding[:20]!r}), which its name does "
                "not say: copy it to this machine."
            )


class S3File:
    """An object in S3, or in a store that speaks as S3 does."""

    def __init__(self, fs: Any, address: str):
        self._fs, self._address = fs, address
        bucket, key, version = fs.split_path(address)
        self._where = {"Bucket": bucket, "Key": key}
        if version is not None:
            self._where["VersionId"] = version

    async def get(self, start: int, room: memoryview) -> Answer:
        """Do as :meth:`WebFile.get`."""
        try:
            answer = await self._fs._call_s3("get_object", **self._where, Range=_range(start, room))
        except OSError as error:
            status = _said(error)
            if status == 416:  # empty, or shorter than it was
                about = await self._fs._call_s3("head_object", **self._where)
                return Answer(0, Seen(about["ContentLength"], about.get("ETag")))
            if status is not None:
                raise refused(status, self._address) from None
            raise
        async with answer["Body"] as body:
            found = _RANGE.match(answer.get("ContentRange", ""))
            due, size = _promised(found, start, room)
            if size is None:
                raise Fault(_OTHERS)
            came = _whole(_put(await body.read(), room, 0), due)
        return Answer(came, Seen(size, answer.get("ETag"), str(answer.get("LastModified"))))


class OtherFile:
    """A file of any other store that fsspec reads."""

    def __init__(self, fs: Any, address: str):
        self._fs, self._path = fs, fs._strip_protocol(address)

    async def get(self, start: int, room: memoryview) -> Answer:
        """Fill the room with the bytes from ``start`` on, as far as the file goes."""
        end = start + len(room)
        if self._fs.async_impl:
            about, data = await asyncio.gather(
                self._fs._info(self._path),
                self._fs._cat_file(self._path, start=start, end=end),
            )
        else:
            async with turn(self._fs):
                about, data = await self._in_a_thread(start, end)
        size = about["size"]
        if size is not None and len(data) != max(0, min(end, size) - start):
            raise Fault(f"{len(data):,} bytes came in place of {min(end, size) - start:,}")
        names = ("ETag", "etag", "generation", "content_md5", "md5Hash")
        tag = next((str(about[name]) for name in names if about.get(name)), None)
        dates = (
            "LastModified", "last_modified", "updated", "mtime", "modified", "modify", "created",
        )  # fmt: skip
        date = next((str(about[name]) for name in dates if about.get(name)), None)
        return Answer(_put(data, room, 0), Seen(size, tag, date))

    async def _in_a_thread(self, start: int, end: int) -> tuple[dict[str, Any], bytes]:
        """Return what the store says of the file, and some bytes."""
        try:
            about = await asyncio.to_thread(self._fs.info, self._path)
            if about["type"] == "directory":
                raise FileNotFoundError
            size = about["size"] or 0
            return about, await asyncio.to_thread(
                self._fs.cat_file, self._path, start=min(start, size), end=min(end, size)
            )
        except Exception as error:
            lost = isinstance(error, (EOFError, OSError)) or "error_temp" in _names(error)
            known = isinstance(error, (FileNotFoundError, PermissionError))
            if not lost or known or not hasattr(self._fs, "_connect"):
                raise
            with suppress(Exception):
                self._fs.ftp.close()
            await asyncio.to_thread(self._fs._connect)  # the server has hung up since it was asked
            raise Fault("the connection was reset") from None


@cache
def turn(fs: Any) -> asyncio.Lock:
    """Return what a store that is no store of fsspec's loop is locked with during a request, since
    it may have one connection only.
    """
    return asyncio.Lock()


def file_on(fs: Any, address: str) -> Any:
    """Return the file that an address names."""
    protocol = protocol_of(address)
    if protocol in WEB:
        return WebFile(fs, address)
    return (S3File if protocol in ("s3", "s3a") else OtherFile)(fs, address)


def refused(status: int, address: str) -> Exception:
    """Return what to raise for an answer that is an error."""
    try:
        what = f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        what = f"status {status}"
    if status in _PASSING:
        return Fault(what)
    if status in (404, 410):
        return FileNotFoundError(what)
    if status in (401, 403):
        return PermissionError(what)
    return DataError(f"{shown(address)} cannot be read ({what}): check the address.")


def fault_of(error: Exception, address: str) -> str | None:
    """Return what went wrong if it may pass, else None."""
    names = _names(error)
    if isinstance(error, Fault):
        return str(error)
    if isinstance(error, PermissionError) or _FINAL & names:
        return None
    if _TLS & names and any(reason in str(error) for reason in _NO_TLS):
        return None
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if {"ServerDisconnectedError", "RemoteDisconnected"} & names or getattr(
        error, "errno", None
    ) in _RESET:
        return "the connection was reset"
    if {"ClientPayloadError", "IncompleteReadError", "IncompleteRead"} & names:
        return "the answer was cut short"
    if isinstance(error, OSError) or _PASSING_ERRORS & names:
        status = _said(error)
        if status is None or status in _PASSING:
            return _told(error, address)
    return None


def unreadable(error: Exception, address: str) -> DataError:
    """Return the sentence for a request that would fail again."""
    what, names = _told(error, address), _names(error)
    if "InvalidURL" in names and "RedirectClientError" not in names:
        return DataError(f"{shown(address)} is not a valid address: check it.")
    if isinstance(error, PermissionError) or _DENIED & names or str(error).startswith("530"):
        return DataError(
            f"{shown(address)} may not be read ({what}): check the credentials that fsspec has for "
            "it."
        )
    return DataError(f"{shown(address)} cannot be read ({what}): check the address.")


def _told(error: Exception, address: str) -> str:
    """Return what went wrong, in words that need no knowledge of the libraries between."""
    names = _names(error)
    if "TooManyRedirects" in names:
        return "too many redirects"
    if "ClientConnectorCertificateError" in names or "CERTIFICATE_VERIFY" in str(error):
        return f"the certificate of {_server(error, address)} is not valid"
    if _TLS & names:
        plain = any(reason in str(error) for reason in _NO_TLS)
        what = "does not speak TLS" if plain else "ended the start of TLS"
        return f"{_server(error, address)} {what}"
    if _UNKNOWN & names:
        return f"no server of the name {_server(error, address).rpartition(':')[0]} is known"
    if _SILENT & names:
        return f"nobody answers at {_server(error, address)}"
    return without_secrets(str(error), address) or type(error).__name__


def _server(error: Any, address: str) -> str:
    """Return HOST:PORT of the server that was asked."""
    host, port = getattr(error, "host", None), getattr(error, "port", None)
    if host is None:  # S3 says where it looked, other stores are where the address says
        place = getattr(error, "kwargs", {}).get("endpoint_url", address)
        found = urlsplit(shown(place))
        host, port = found.hostname or "", found.port or _PORTS.get(found.scheme)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _names(error: Exception) -> set[str]:
    """Return the names of the kinds of an error, of packages that may not be installed."""
    return {kind.__name__ for kind in type(error).__mro__}


def _said(error: BaseException) -> int | None:
    """Return the status of an answer of S3 behind an error."""
    answer = getattr(error.__cause__, "response", None) or getattr(error, "response", None)
    about = answer.get("ResponseMetadata", {}) if isinstance(answer, dict) else {}
    return about.get("HTTPStatusCode")


def _range(start: int, room: memoryview) -> str:
    """Return the header that asks for bytes from a start on, or for the last ones."""
    return f"bytes=-{len(room)}" if start < 0 else f"bytes={start}-{start + len(room) - 1}"


def _promised(found: re.Match | None, start: int, room: memoryview) -> tuple[int, int | None]:
    """Return how many bytes an answer with these headers has, and the size of the file, if it is
    said; Fault if they are not those asked for.
    """
    size = int(found[3]) if found is not None and found[3].isdecimal() else None
    if start < 0 and size is not None:
        start = max(0, size - len(room))
    if found is None or found[1] is None or int(found[1]) != start:
        raise Fault(_OTHERS)
    end = int(found[2]) + 1 if size is None else min(start + len(room), size)
    return end - start, size


def _put(data: bytes, room: memoryview, at: int) -> int:
    """Put bytes into the room at a place; return where they end."""
    end = at + len(data)
    if end > len(room):
        raise Fault(_OTHERS)
    room[at:end] = data
    return end


def _whole(came: int, due: int) -> int:
    """Return how many bytes came; Fault if they are not all."""
    if came != due:
        raise Fault(f"{came:,} bytes came in place of {due:,}")
    return came


def _seen(headers: Any, size: int | None) -> Seen:
    return Seen(size, headers.get("ETag"), headers.get("Last-Modified"))


def _length(headers: Any) -> int | None:
    found = headers.get("Content-Length", "")
    return int(found) if found.isdecimal() else None
