"""URLs of remote files: what they name, and how they are shown without credentials."""

import re
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

_ADDRESS = re.compile(r"([a-z][a-z0-9+._-]*)://(.*)", re.IGNORECASE | re.DOTALL)
_IN_TEXT = re.compile(r"\b([a-z][a-z0-9+._-]+):/{1,2}([^\s'\"]*)", re.IGNORECASE)
#: what stands between the links of a chain, such as zip://rows.csv::https://host/rows.zip
_LINK = re.compile(r"::(?=[a-z][a-z0-9+._-]*://)", re.IGNORECASE)
#: protocols whose addresses may have a query, and name one file each
WEB = ("http", "https")
#: a user and a password, which may have a slash
_PASSWORD = re.compile(r"^([^/:@\[]*):(?:[^/]*|(?!\d*/).*)@")
#: protocols with a container, not a user, before @
_CONTAINERS = ("abfs", "abfss", "wasb", "wasbs")


def is_remote(data: Any) -> bool:
    """Return whether data are named by a URL such as s3://bucket/rows.csv."""
    return isinstance(data, str) and (protocol_of(data) not in ("", "file") or is_chain(data))


def protocol_of(address: str) -> str:
    """Return the protocol of a URL in lower case; "" for other text."""
    found = _ADDRESS.fullmatch(address)
    return found[1].lower() if found else ""


def normal(address: str) -> str:
    protocol = protocol_of(address)
    return protocol + address[len(protocol) :]


def is_chain(address: str) -> bool:
    """Return whether a URL is a chain of several, as in fsspec."""
    return len(_links(address)) > 1


def _links(address: str) -> list[str]:
    """Return the addresses of a chain; the query of a web address goes to the end of the text."""
    return [address] if protocol_of(address) in WEB and "?" in address else _LINK.split(address)


def shown(address: str) -> str:
    """Return a URL without user, password and query, which may hold a signature.

    A query is shown as ``?...``. This is the only form that messages, files and caches hold.
    """
    return "::".join(map(_shown, _links(address)))


def _shown(address: str) -> str:
    found = _ADDRESS.fullmatch(address)
    if found is None:
        return address
    protocol, rest = found[1].lower(), _PASSWORD.sub("", found[2])
    if protocol not in _CONTAINERS:
        rest = re.sub(r"^[^/@]*@", "", rest)
    if protocol in WEB:
        place, mark, _ = rest.partition("#")[0].partition("?")
        return f"{protocol}://{place}" + "?..." * bool(mark)
    place, _, options = rest.partition("?")  # a version of an object; elsewhere a part of a name
    return f"{protocol}://{place if '=' in options else rest}"


def identified(address: str) -> str:
    """Return a URL as :func:`shown`, followed by a hash of all of it if that hides something. URLs
    that differ in query, version or user name different files. The password is left out, because
    its hash would allow guessing it.
    """
    seen, full = shown(address), normal(address)
    if seen == full:
        return seen
    whole = _PASSWORD.sub(r"\1@", full.partition("://")[2])
    return f"{seen} ({sha256(whole.encode()).hexdigest()[:16]})"


def name_of(address: str) -> PurePosixPath:
    """Return the last part of the path of a URL."""
    path = shown(address).removesuffix("?...").partition("://")[2].partition("/")[2]
    return PurePosixPath(PurePosixPath(unquote(path)).name)


def all_shown(text: str) -> str:
    """Return a text with each URL in it as :func:`shown`; URLs made into paths have one slash."""
    return _IN_TEXT.sub(_as_shown, text)


def _as_shown(found: re.Match) -> str:
    rest = found[2].rstrip(".,;:)")
    if "@" not in rest and re.search(r"\?(?!\.\.\.)", found[2]) is None:
        return found[0]
    return shown(f"{found[1]}://{rest}") + found[2][len(rest) :]


def without_secrets(text: str, address: str) -> str:
    """Return the first line of a library's message without the secrets of a URL."""
    found = text.strip().partition("\n")[0].replace(address, shown(address))
    for secret in (address.partition("?")[2], address.partition("://")[2].rpartition("@")[0]):
        found = found.replace(secret or "\n", "...")
    found = re.sub(r"(://)[^/\s@'\"]*@", r"\1", found)
    return re.sub(r"\?[^\s'\")]+", "?...", found).rstrip(".")[:200]
