"""Web servers: fsspec's file system for HTTP, with every answer checked.

Loaded when a file of a web server is opened, because it needs aiohttp.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Any

import aiohttp
from fsspec.implementations.http import HTTPFileSystem

from linsep.errors import DataError
from linsep.sources.remote import answers
from linsep.sources.remote.address import WEB, shown
from linsep.sources.remote.answers import (
    CONTENT_RANGE,
    OTHER_BYTES,
    Answer,
    Fault,
    Version,
    complete,
    promised,
)

#: redirects, and how many of them are followed
_REDIRECTS, MOST_REDIRECTS = {301, 302, 303, 307, 308}, 10
#: endings of files that are read as compressed, whatever the server calls that
_COMPRESSED = (".gz", ".bz2", ".zst")


class WebFileSystem(HTTPFileSystem):
    """Reads ranges of files of web servers, and their versions.

    fsspec's own reading trusts the answers: it takes other bytes than it asked for, sends headers
    and cookies wherever a redirect leads, and notices neither new versions nor ``Retry-After``.
    """

    async def get_range(self, address: str, start: int, end: int) -> Answer:
        """Return the bytes from ``start`` to ``end``, fewer at the end of the file, or if the
        server says that it sends fewer at once.
        """
        async with self._asked(address, {"Range": f"bytes={start}-{end - 1}"}) as answer:
            found = CONTENT_RANGE.fullmatch(answer.headers.get("Content-Range", ""))
            if answer.status == 416 and found and found[3] != "*" and int(found[3]) <= start:
                return Answer(b"", _version(answer.headers, int(found[3])))
            _check(answer, address)
            if answer.status != 206 or found is None or found[1] is None:
                return Answer(None, _version(answer.headers, _length(answer.headers)))
            due, size = promised(found, start, end)
            parts, came = [], 0
            # No more is read than was asked for, however much a server sends.
            while came <= due and (part := await answer.content.readany()):
                parts.append(part)
                came += len(part)
            if came > due:
                raise Fault(OTHER_BYTES)
            return Answer(complete(b"".join(parts), due), _version(answer.headers, size))

    async def copy_whole(self, address: str, out: Any) -> Version:
        """Write a file to ``out``."""
        async with self._asked(address, {}) as answer:
            _check(answer, address)
            length, written = _length(answer.headers), 0
            if length is None and answer.headers.get("Transfer-Encoding", "") != "chunked":
                raise DataError(
                    f"{shown(address)} comes from a server that does not send its length: copy "
                    "it to this machine.",
                    code="unreachable",
                    path=shown(address),
                )
            async for part in answer.content.iter_chunked(1 << 20):
                written += out.write(part)
            if length not in (None, written):
                raise Fault(f"{written:,} bytes came instead of {length:,}")
            return _version(answer.headers, written)

    @asynccontextmanager
    async def _asked(self, address: str, headers: dict[str, str]) -> AsyncIterator[Any]:
        """Request a file, following redirects."""
        fs, url = self, self.encode_url(address)
        for _ in range(MOST_REDIRECTS + 1):
            answer = await fs._head_of_answer(url, headers)
            async with answer:
                if answer.status not in _REDIRECTS or "Location" not in answer.headers:
                    yield answer
                    return
                place = _redirected(url, answer.headers["Location"], address)
            fs, url = (fs if place.origin() == url.origin() else fs._stranger), place
        raise aiohttp.TooManyRedirects(answer.request_info, (answer,))

    async def _head_of_answer(self, url: Any, headers: dict[str, str]) -> Any:
        session, given = await self.set_session(), dict(self.kwargs)
        headers = {**given.pop("headers", {}), **headers, "Accept-Encoding": "identity"}
        silence = answers.SILENCE
        given.setdefault("timeout", aiohttp.ClientTimeout(None, None, silence, silence))
        given["allow_redirects"] = False
        # aiohttp's limits start anew with each byte, so that a head might come for ever.
        async with asyncio.timeout(2 * silence):
            return await session.get(url, headers=headers, read_bufsize=1 << 20, **given)

    @cached_property
    def _stranger(self) -> "WebFileSystem":
        """The same access without the headers, credentials and cookies of its settings."""
        unsaid: dict[str, Any] = {"headers": {}, "auth": None, "cookies": None}
        kept = {
            name: value
            for name, value in self.client_kwargs.items()
            if name not in (*unsaid, "cookie_jar")
        }
        return type(self)(**self.storage_options | unsaid | {"client_kwargs": kept})


def _redirected(url: Any, location: str, address: str) -> Any:
    """Return the URL that a redirect names."""
    try:
        place = url.join(type(url)(location))
        if place.scheme not in WEB or not place.host:
            raise ValueError
    except ValueError:
        raise DataError(
            f"{shown(address)} cannot be read (its server redirects to a URL that is not a web "
            "address): check the URL.",
            code="unreachable",
            path=shown(address),
        ) from None
    if place.origin() == url.origin() and place.user is None:
        place = place.with_user(url.user).with_password(url.password)
    return place


def _check(answer: Any, address: str) -> None:
    """Raise for a response without the unchanged bytes of the file."""
    if answer.status not in (200, 206):
        raise answers.refused(answer.status, address, answer.headers)
    encoding = answer.headers.get("Content-Encoding", "identity")
    path = shown(address).removesuffix("?...").lower()
    if encoding not in ("", "identity") and not path.endswith(_COMPRESSED):
        raise DataError(
            f"{shown(address)} is sent compressed ({encoding[:20]!r}), but its name has no such "
            "ending: copy it to this machine.",
            code="wrong-format",
            path=shown(address),
        )


def _version(headers: Any, size: int | None) -> Version:
    # A weak tag and a strong one of the same text are of one version.
    tag = (headers.get("ETag") or "").strip().removeprefix("W/") or None
    return Version(size, tag, headers.get("Last-Modified"))


def _length(headers: Any) -> int | None:
    """Return the number of bytes to come, None if unknown."""
    found = headers.get("Content-Length", "")
    return int(found) if found.isdecimal() else None
