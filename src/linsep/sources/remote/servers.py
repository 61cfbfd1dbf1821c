"""One request for some bytes of a remote file, and what the answer says of the file.

A web server and S3 say with each range what the file is at that moment. Of other stores that
fsspec reads it is asked beside.
"""

import asyncio
import errno
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import cache
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from linsep.errors import DataError
from linsep.sources.remote.address import WEB, protocol_of, shown, without_secrets
from linsep.sources.remote.answers import (
    OTHERS,
    RANGE,
    Answer,
    Fault,
    Seen,
    length_in,
    promised,
    put,
    range_header,
    seen_in,
    wait_in,
    whole,
)
from linsep.sources.remote.direct import Fetch, Place, Unlike, place_of

#: answers that may be others if the request is repeated
_PASSING = {408, 425, 429, *range(500, 600)} - {501, 505}
_RESET = {errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED}
#: errors of aiohttp and botocore: those that come again, and those that may not
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
_PORTS = {"http": 80, "https": 443, "ftp": 21, "sftp": 22, "ssh": 22}
_PASSING_ERRORS = {"ClientError", "HTTPClientError", "ConnectionError"}
#: seconds without a byte from a web server
SILENCE = 30


#: answers that name another address, and how many of them are followed
_REDIRECTS, MOST_REDIRECTS = {301, 302, 303, 307, 308}, 10


class WebFile:
    """A file of a web server."""

    def __init__(self, fs: Any, address: str):
        self._fs, self._address = fs, address
        self._asked = self._redirected = False
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
        async with self._ask({"Range": range_header(start, room)}) as answer:
            if not self._asked:
                self._asked = True
                self._place = None if self._redirected else place_of(answer, self._fs)
            status, found = answer.status, RANGE.match(answer.headers.get("Content-Range", ""))
            if status == 416 and found and found[3].isdecimal() and int(found[3]) <= start:
                return Answer(0, seen_in(answer.headers, int(found[3])))
            self._check(answer)
            if status != 206 or found is None or found[1] is None:
                return Answer(None, seen_in(answer.headers, length_in(answer.headers)))
            due, size = promised(found, start, room)
            came = 0
            async for part in answer.content.iter_any():
                came = put(part, room, came)
            return Answer(whole(came, due), seen_in(answer.headers, size))

    async def _received(self, place: Place, start: int, room: memoryview) -> Answer:
        """Do as :meth:`get` without aiohttp; Unlike if that is the one to do it."""
        due, seen = 0, Seen(None)

        def begun(status: int, headers: Any) -> int | None:
            nonlocal due, seen
            if status >= 400 and status != 416:
                raise refused(status, self._address, headers)
            if status not in (200, 206) or headers.get("Content-Encoding"):
                raise Unlike
            found = RANGE.match(headers.get("Content-Range", ""))
            if status == 200 or found is None or found[1] is None:
                seen = seen_in(headers, length_in(headers))
                return None
            due, size = promised(found, start, room)
            seen = seen_in(headers, size)
            return due

        came = await Fetch(place, range_header(start, room), room, begun, SILENCE).received()
        return Answer(None if came is None else whole(came, due), seen)

    async def copy(self, out: Any) -> Seen:
        """Write the whole file to ``out``."""
        async with self._ask({}) as answer:
            self._check(answer)
            length, written = length_in(answer.headers), 0
            if length is None and answer.headers.get("Transfer-Encoding", "") != "chunked":
                raise DataError(
                    f"{shown(self._address)} comes from a server that does not say how long it is: "
                    "copy it to this machine."
                )
            async for part in answer.content.iter_chunked(1 << 20):
                written += out.write(part)
            if length not in (None, written):
                raise Fault(f"{written:,} bytes came in place of {length:,}")
            return seen_in(answer.headers, written)

    @asynccontextmanager
    async def _ask(self, headers: dict[str, str]) -> AsyncIterator[Any]:
        """Ask for the file where its server says that it is."""
        import aiohttp

        fs, url = self._fs, self._fs.encode_url(self._address)
        for number in range(MOST_REDIRECTS + 1):
            async with await _request(fs, url, headers) as answer:
                if answer.status not in _REDIRECTS or "Location" not in answer.headers:
                    self._redirected = number > 0
                    yield answer
                    return
                place = self._place_named(url, answer.headers["Location"])
            fs, url = (fs if place.origin() == url.origin() else _stranger(fs)), place
        raise aiohttp.TooManyRedirects(answer.request_info, (answer,))

    def _place_named(self, url: Any, location: str) -> Any:
        """Return the address that a redirect from an address names."""
        try:
            place = url.join(type(url)(location))
            if place.scheme not in WEB or not place.host:
                raise ValueError
        except ValueError:
            raise DataError(
                f"{shown(self._address)} cannot be read (its server names another address, which "
                "is not one of a web server): check the address."
            ) from None
        if place.origin() == url.origin() and place.user is None:
            place = place.with_user(url.user).with_password(url.password)
        return place

    def _check(self, answer: Any) -> None:
        """Raise for an answer without the bytes."""
        if answer.status not in (200, 206):
            raise refused(answer.status, self._address, answer.headers)
        encoding = answer.headers.get("Content-Encoding", "identity")
        path = shown(self._address).removesuffix("?...").lower()
        if encoding not in ("", "identity") and not path.endswith((".gz", ".bz2", ".zst")):
            raise DataError(
                f"{shown(self._address)} comes compressed ({encoding[:20]!r}), which its name does "
                "not say: copy it to this machine."
            )


async def _request(fs: Any, url: Any, headers: dict[str, str]) -> Any:
    import aiohttp

    session, given = await fs.set_session(), dict(fs.kwargs)
    headers = {**given.pop("headers", {}), **headers, "Accept-Encoding": "identity"}
    given.setdefault("timeout", aiohttp.ClientTimeout(None, None, SILENCE, SILENCE))
    given["allow_redirects"] = False
    return session.get(url, headers=headers, read_bufsize=1 << 20, **given)


@cache
def _stranger(fs: Any) -> Any:
    """Return the access that fsspec has to a web server without what its settings say to the server
    of an address: headers, credentials and cookies.
    """
    client = fs.client_kwargs.items()
    unsaid: dict[str, Any] = {"headers": {}, "auth": None, "cookies": None}
    kept = {name: value for name, value in client if name not in (*unsaid, "cookie_jar")}
    return type(fs)(**fs.storage_options | unsaid | {"client_kwargs": kept})


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
            answer = await self._fs._call_s3(
                "get_object", **self._where, Range=range_header(start, room)
            )
        except OSError as error:
            status = _said(error)
            if status == 416:  # empty, or shorter than it was
                about = await self._fs._call_s3("head_object", **self._where)
                return Answer(0, Seen(about["ContentLength"], about.get("ETag")))
            if status is not None:
                raise refused(status, self._address, _about(error).get("HTTPHeaders")) from None
            raise
        async with answer["Body"] as body:
            found = RANGE.match(answer.get("ContentRange", ""))
            due, size = promised(found, start, room)
            if size is None:
                raise Fault(OTHERS)
            came = whole(put(await body.read(), room, 0), due)
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
        return Answer(put(data, room, 0), Seen(size, tag, date))

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


def refused(status: int, address: str, headers: Any = None) -> Exception:
    """Return what to raise for an answer that is an error."""
    try:
        what = f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        what = f"status {status}"
    if status in _PASSING:
        return Fault(what, wait_in(headers or {}))
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
    if _TLS & names and "EOF" not in str(error):  # the server has said why not
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
        if not plain and (
            said := re.search(r"\[SSL: (?:TLSV1_|SSLV3_|ALERT_)*(\w+)\]", str(error))
        ):
            what = f"refuses TLS: {said[1].lower().replace('_', ' ')}"
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
    return _about(error).get("HTTPStatusCode")


def _about(error: BaseException) -> dict[str, Any]:
    """Return the head of an answer of S3 behind an error."""
    answer = getattr(error.__cause__, "response", None) or getattr(error, "response", None)
    return answer.get("ResponseMetadata", {}) if isinstance(answer, dict) else {}
