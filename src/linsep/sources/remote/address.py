"""URLs of remote files: what they name, and how they are shown without credentials."""

import re
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

_ADDRESS = re.compile(r"^([a-z][a-z0-9+._-]*)://(.*)", re.IGNORECASE | re.DOTALL)
#: a URL with a user or a query in a text; URLs made into paths have one slash
_IN_TEXT = re.compile(r"\b([a-z][a-z0-9+._-]+):/{1,2}([^\s'\"]*[@?][^\s'\"]*)", re.IGNORECASE)
#: what stands between the links of a chain, such as zip://rows.csv::https://host/rows.zip
_LINK = re.compile(r"::(?=[a-z][a-z0-9+._-]*://)", re.IGNORECASE)
#: protocols whose addresses may have a query, and name one file each
WEB = ("http", "https")
#: a user and a password, which may have a slash
_USER = re.compile(r"^(?:[^/]*|[^/:@\[]*:(?!\d*/).*)@")
_QUERY = re.compile(r"\?[^\s'\"]*[^\s'\".,:;)]")
#: protocols with a container, not a user, before @
_CONTAINERS = ("abfs", "abfss", "wasb", "wasbs")


def is_remote(data: Any) -> bool:
    """Return whether data are named by a URL such as s3://bucket/rows.csv."""
    return isinstance(data, str) and (protocol_of(data) not in ("", "file") or is_chain(data))


def protocol_of(address: str) -> str:
    """Return the protocol of a URL in lower case; "" for other text."""
    found = _ADDRESS.match(address)
    return found[1].lower() if found else ""


def normal(address: str) -> str:
    protocol = protocol_of(address)
    return protocol + address[len(protocol) :]


def is_chain(address: str) -> bool:
    """Return whether a URL is a chain of several, as in fsspec."""
    return _LINK.search(address) is not None


def shown(address: str) -> str:
    """Return a URL without user, password and query, which may hold a signature.

    A query is shown as ``?...``. This is the only form that messages, files and caches hold.
    """
    return "::".join(_ADDRESS.sub(_shown, link) for link in _LINK.split(address))


def all_shown(text: str) -> str:
    """Return a text with each URL in it as :func:`shown`."""
    return _IN_TEXT.sub(_shown, text)


def _shown(found: re.Match) -> str:
    protocol, rest = found[1].lower(), found[2]
    if protocol not in _CONTAINERS:
        rest = _USER.sub("", rest)
    if protocol in WEB or "=" in rest.partition("?")[2]:  # elsewhere ? is a wildcard
        rest = _QUERY.sub("?...", rest)
    return f"{protocol}://{rest}"


def identified(address: str) -> str:
    """Return a URL as :func:`shown`, followed by a hash of its query or version, because URLs that
    differ in it name different files.
    """
    query = address.partition("?")[2]
    return shown(address) + (f" ({sha256(query.encode()).hexdigest()[:16]})" if query else "")


def name_of(address: str) -> PurePosixPath:
    """Return the last part of the path of a URL."""
    path = shown(address).removesuffix("?...").partition("://")[2].partition("/")[2]
    return PurePosixPath(PurePosixPath(unquote(path)).name)


def without_secrets(text: str, address: str) -> str:
    """Return the first line of a library's message without the secrets of a URL."""
    found = text.strip().partition("\n")[0].replace(address, shown(address))
    for secret in (address.partition("?")[2], address.partition("://")[2].rpartition("@")[0]):
        found = found.replace(secret or "\n", "...")
    return all_shown(found).rstrip(".")[:200]
