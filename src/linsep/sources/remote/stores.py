"""Stores of files, accessed through fsspec: the packages they need, and ranges of their files.

Web servers and S3 send the version of the file with each range. Other stores are asked for it
afterwards.
"""

import asyncio
import logging
import os
from collections.abc import Coroutine
from contextlib import suppress
from functools import cache, partial
from typing import Any
from urllib.parse import urlsplit

from linsep.errors import DataError
from linsep.sources.remote.address import SERVERS, WEB, protocol_of, shown, without_secrets
from linsep.sources.remote.answers import (
    CONTENT_RANGE,
    OTHER_BYTES,
    Answer,
    Fault,
    GetRange,
    Version,
    complete,
    kinds_of,
    promised,
    refused,
    run_sync,
    s3_head,
    unreadable,
    with_retries,
)

#: protocols of Google Storage and S3
GOOGLE, S3 = ("gs", "gcs"), ("s3", "s3a")
#: parts of a URL that are not settings of its store
_NO_SETTINGS = {"url_query", "url_fragment"}
#: names of the version and the date of a file in stores
_TAGS = ("ETag", "etag", "generation", "content_md5", "md5Hash")
_DATES = ("LastModified", "last_modified", "updated", "mtime", "modified", "modify", "created")


def ranges_of(fs: Any, address: str) -> GetRange:
    """Return the function that asks for ranges of the file that an address names."""
    protocol = protocol_of(address)
    if protocol in WEB:
        return partial(fs.get_range, address)
    if protocol in S3:
        bucket, key, version = fs.split_path(address)
        where = {"Bucket": bucket, "Key": key}
        named = where if version is None else where | {"VersionId": version}
        return partial(_s3_range, fs, address, named)
    return partial(_any_range if fs.async_impl else _sync_range, fs, fs._strip_protocol(address))


async def _s3_range(fs: Any, address: str, where: dict[str, str], start: int, end: int) -> Answer:
    """Ask S3 directly, whose responses include the version; ``cat_file`` of fsspec drops it."""
    try:
        answer = await fs._call_s3("get_object", **where, Range=f"bytes={start}-{end - 1}")
    except OSError as error:
        head = s3_head(error)
        if head.get("HTTPStatusCode") == 416:  # empty, or shorter than it was
            about = await fs._call_s3("head_object", **where)
            return Answer(b"", Version(about["ContentLength"], about.get("ETag")))
        if "HTTPStatusCode" in head:
            raise refused(head["HTTPStatusCode"], address, head.get("HTTPHeaders")) from None
        raise
    async with answer["Body"] as body:
        due, size = promised(CONTENT_RANGE.fullmatch(answer.get("ContentRange", "")), start, end)
        data = complete(await body.read(), due)
    if size is None:
        raise Fault(OTHER_BYTES)
    return Answer(data, Version(size, answer.get("ETag"), str(answer.get("LastModified"))))


async def _any_range(fs: Any, path: str, start: int, end: int) -> Answer:
    data = await fs._cat_file(path, start=start, end=end)
    about = await fs._info(path)  # afterwards: what was read is not newer
    size = about["size"]
    due = len(data) if size is None else max(0, min(end, size) - start)
    return Answer(complete(data, due), _version(about))


async def _sync_range(fs: Any, path: str, start: int, end: int) -> Answer:
    """Ask a store without a loop, in a thread."""
    try:
        async with request_lock(fs):
            about = await asyncio.to_thread(fs.info, path)
            if about["type"] == "directory":
                raise FileNotFoundError
            size = about["size"] or 0
            data = await asyncio.to_thread(
                fs.cat_file, path, start=min(start, size), end=min(end, size)
            )
    except Exception as error:
        lost = isinstance(error, (EOFError, OSError)) or "error_temp" in kinds_of(error)
        known = isinstance(error, (FileNotFoundError, PermissionError))
        if not lost or known or not hasattr(fs, "_connect"):
            raise
        with suppress(Exception):
            fs.ftp.close()
        await asyncio.to_thread(fs._connect)  # the server has hung up since it was asked
        raise Fault("the connection was reset") from None
    return Answer(complete(data, max(0, min(end, size) - start)), _version(about))


def _version(about: dict[str, Any]) -> Version:
    def first(names: tuple[str, ...]) -> str | None:
        return next((str(about[name]) for name in names if about.get(name)), None)

    return Version(about["size"], first(_TAGS), first(_DATES))


@cache
def request_lock(fs: Any) -> "asyncio.Lock":
    """Return the lock of a store outside fsspec's loop, which may have one connection only."""
    return asyncio.Lock()


def filesystem(address: str) -> Any:
    """Return fsspec's access to the store of an address.

    Raises DataError if a package for it is missing, or the store does not let us in.
    """
    protocol = protocol_of(address)
    try:
        import fsspec
    except ImportError:
        raise _missing(protocol) from None
    try:
        kind = fsspec.get_filesystem_class(protocol)
        place = urlsplit(address)
        named = bool(place.hostname) and place.port != 0
        said = kind._get_kwargs_from_urls(address)
    except ImportError as error:
        raise _missing(protocol, error) from None
    except ValueError as error:
        if "not known" in str(error):
            raise DataError(
                f"{protocol}:// is not a protocol of fsspec: check the URL.", code="bad-url"
            ) from None
        raise DataError(
            f"{shown(address)} is not a valid URL: check it.", code="bad-url", path=shown(address)
        ) from None
    if protocol in SERVERS and not (named or "host" in fsspec.config.conf.get(protocol, {})):
        raise DataError(
            f"{shown(address)} names no server: write {protocol}://HOST/FILE.",
            code="bad-url",
            path=shown(address),
        )
    told = tuple(sorted((name, said[name]) for name in said.keys() - _NO_SETTINGS))
    if kind.async_impl:
        return _filesystem(protocol, told, os.getpid())

    def connect() -> Coroutine[Any, Any, Any]:  # which these do at once
        return asyncio.to_thread(_filesystem, protocol, told, os.getpid())

    try:
        return run_sync(with_retries(connect, address))
    except FileNotFoundError as error:
        raise unreadable(error, address) from None


@cache
def _filesystem(protocol: str, told: tuple[tuple[str, Any], ...], process: int) -> Any:
    """Return the access to the store that a URL and fsspec's configuration define.

    fsspec keeps one for each thread, and each of them would connect.
    """
    import fsspec

    given: dict[str, Any] = dict(told)
    settings = fsspec.config.conf.get(protocol, {})
    if protocol not in (
        "sftp",
        "ssh",
        "smb",
    ):  # which keep no instance, and treat it as another setting
        given["use_listings_cache"] = False
    if protocol in WEB:
        given["client_kwargs"] = {**settings.get("client_kwargs", {}), "auto_decompress": False}
    if protocol in S3:  # which would try again themselves, many times
        given["config_kwargs"] = {
            **settings.get("config_kwargs", {}), "retries": {"total_max_attempts": 1},
        }  # fmt: skip
    try:
        if protocol in WEB:
            from linsep.sources.remote.web import WebFileSystem

            return WebFileSystem(**given)
        fs = fsspec.filesystem(protocol, **given)
    except ImportError as error:
        raise _missing(protocol, error) from None
    except (TypeError, ValueError) as error:
        what = without_secrets(str(error), f"{protocol}://")
        if isinstance(error, TypeError):  # such as a host that is not named
            what = "its URL and fsspec's configuration are incomplete"
        raise DataError(
            f"{protocol}:// cannot be read ({what}): check its settings.", code="bad-url"
        ) from None
    if protocol in S3:
        fs.retries = 1
    if protocol in GOOGLE:  # which tries each request six times within half a minute, and logs that
        fs._request = partial(type(fs)._request.__wrapped__, fs)
        logging.getLogger("gcsfs").addHandler(logging.NullHandler())
    return fs


def _missing(protocol: str, error: ImportError | None = None) -> DataError:
    """Return the error for a missing package."""
    extra = f"pip install 'linsep[{'gs' if protocol in GOOGLE else 'remote'}]'"
    if error is not None and protocol not in (*WEB, *GOOGLE, *S3):
        return DataError(
            f"{protocol}:// cannot be read ({str(error).partition(chr(10))[0].rstrip('.')}): "
            "install that package.",
            code="missing-package",
        )
    return DataError(
        f"{protocol}:// needs fsspec and its package for {protocol}: {extra}.",
        code="missing-package",
    )
