"""Requests through fsspec: which packages they need, and how often they are tried."""

import asyncio
import logging
import os
import random
from collections.abc import Callable, Coroutine
from functools import cache, partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

from linsep.errors import DataError
from linsep.sources.remote.address import SERVERS, WEB, protocol_of, shown, without_secrets
from linsep.sources.remote.servers import fault_of, unreadable

#: how often a request is made before it counts as failed
TRIES = 5
#: seconds before the second try, doubled before each other one
WAIT = 0.5
#: seconds that a request may take, and that a server may ask to wait for
MOST_SECONDS = 300
#: what addresses in Google Storage begin with
GOOGLE = ("gs", "gcs")
#: parts of an address that are no settings of its store
_NO_SETTINGS = {"url_query", "url_fragment"}

T = TypeVar("T")


async def asked(request: Callable[[], Coroutine[Any, Any, T]], address: str) -> T:
    """Make a request, up to :data:`TRIES` times; FileNotFoundError if there is no such file, and
    DataError if there is no answer.
    """
    wait, what = WAIT, ""
    for tried in range(1, TRIES + 1):
        try:
            async with asyncio.timeout(MOST_SECONDS):
                return await request()
        except (DataError, FileNotFoundError):
            raise
        except Exception as error:
            found = fault_of(error, address)
            if found is None:
                raise unreadable(error, address) from None
            what, after = found, getattr(error, "after", 0.0)
        if after > MOST_SECONDS:
            raise DataError(
                f"{shown(address)} cannot be read ({what}): its server asks to try again in "
                f"{after:,.0f} seconds."
            )
        if tried < TRIES:
            await asyncio.sleep(max(after, wait * random.uniform(0.5, 1)))
            wait *= 2
    raise DataError(
        f"{shown(address)} cannot be read ({what}), tried {TRIES} times: try again later, or copy "
        "it to this machine."
    )


def waited(request: Coroutine[Any, Any, T]) -> T:
    """Wait for a request that runs in the loop of fsspec."""
    coming = asyncio.run_coroutine_threadsafe(request, loop())
    try:
        return coming.result()
    except BaseException:
        coming.cancel()
        raise


def loop() -> asyncio.AbstractEventLoop:
    """Return the loop of fsspec, which runs in a thread of its own."""

    from fsspec.asyn import get_loop

    return get_loop()


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
                f"{protocol}:// is no protocol that fsspec knows: check the address."
            ) from None
        raise DataError(f"{shown(address)} is not a valid address: check it.") from None
    if protocol in SERVERS and not (named or "host" in fsspec.config.conf.get(protocol, {})):
        raise DataError(f"{shown(address)} names no server: write {protocol}://HOST/FILE.")
    told = tuple(sorted((name, said[name]) for name in said.keys() - _NO_SETTINGS))
    if not kind.async_impl:  # it connects to its server at once
        return waited(_connected(protocol, told, address))
    return _filesystem(protocol, told, os.getpid())


async def _connected(protocol: str, told: tuple[tuple[str, Any], ...], address: str) -> Any:
    def connect() -> Coroutine[Any, Any, Any]:
        return asyncio.to_thread(_filesystem, protocol, told, os.getpid())

    try:
        return await asked(connect, address)
    except FileNotFoundError as error:
        raise unreadable(error, address) from None


@cache
def _filesystem(protocol: str, told: tuple[tuple[str, Any], ...], process: int) -> Any:
    """Return the access to the store that an address and fsspec's configuration tell of."""
    import fsspec

    given: dict[str, Any] = dict(told)
    if protocol not in ("sftp", "ssh", "smb"):  # which keep none, and take it for another setting
        given["use_listings_cache"] = False
    settings = fsspec.config.conf.get(protocol, {})
    if protocol in WEB:
        given["client_kwargs"] = {**settings.get("client_kwargs", {}), "auto_decompress": False}
    if protocol in ("s3", "s3a"):  # which would try again themselves, many times
        given["config_kwargs"] = {
            **settings.get("config_kwargs", {}), "retries": {"total_max_attempts": 1},
        }  # fmt: skip
    try:
        fs = fsspec.filesystem(protocol, **given)
    except ImportError as error:
        raise _missing(protocol, error) from None
    except (TypeError, ValueError) as error:
        what = without_secrets(str(error), f"{protocol}://")
        if isinstance(error, TypeError):  # such as a host that is not named
            what = "its address and fsspec's configuration do not say enough"
        raise DataError(f"{protocol}:// cannot be read ({what}): check its settings.") from None
    if protocol in ("s3", "s3a"):
        fs.retries = 1
    if protocol in GOOGLE:  # which tries each request six times within half a minute, and logs that
        fs._request = partial(type(fs)._request.__wrapped__, fs)
        logging.getLogger("gcsfs").addHandler(logging.NullHandler())
    return fs


def _missing(protocol: str, error: ImportError | None = None) -> DataError:
    """Return the error for a missing package."""
    extra = f"pip install 'linsep[{'gs' if protocol in GOOGLE else 'remote'}]'"
    if error is not None and protocol not in (*WEB, *GOOGLE, "s3", "s3a"):
        return DataError(
            f"{protocol}:// cannot be read ({str(error).partition(chr(10))[0].rstrip('.')}): "
            "install that package."
        )
    return DataError(f"{protocol}:// needs fsspec and what reads {protocol}: {extra}.")
