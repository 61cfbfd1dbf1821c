"""URLs of remote files: what they name, and how they are shown without credentials."""

import re
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

#: what stands between the links of a chain, such as zip://rows.csv::https://host/rows.zip
_LINK = re.compile(r"::(?=[a-z][a-z0-9+._-]*(?:://|::))", re.IGNORECASE)
_ADDRESS = re.compile(r"([a-z][a-z0-9+._-]*)://(.*)", re.IGNORECASE | re.DOTALL)
_IN_TEXT = re.compile(r"\b([a-z][a-z0-9+._-]+):/{1,2}([^\s'\"]*)", re.IGNORECASE)
#: protocols whose addresses may have a query, and name one file each
WEB = ("http", "https")
#: protocols whose addresses start with a server
SERVERS = (*WEB, "ftp", "sftp", "ssh", "smb", "webhdfs")
#: protocols of fsspec that read what another address names
_PARTS = {
    "zip", "tar", "libarchive", "cached", "blockcache", "filecache", "simplecache", "dir",
    "reference", "generic", "asyncwrapper", "async_wrapper",
}  # fmt: skip
#: what stands between a user and the first "/" of a password
_NO_PORT = re.compile(r":(?!\d*$)[^\]]*$")
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
    """Return a URL with its protocol in lower case."""
    protocol = protocol_of(address)
    return protocol + address[len(protocol) :]


def is_chain(address: str) -> bool:
    """Return whether a URL is a chain of several, as in fsspec, or starts one."""
    links = _links(address)
    return protocol_of(address) in _PARTS or (len(links) > 1 and protocol_of(links[-1]) != "")


def _links(address: str) -> list[str]:
    """Return the addresses of a chain; the query of a web address goes to the end of the text."""
    links = _LINK.split(address)
    for k, link in enumerate(links):
        if protocol_of(link) in WEB and "?" in link:
            return [*links[:k], "::".join(links[k:])]
    return links


def shown(address: str) -> str:
    """Return a URL without user, password and query, which may hold a signature.

    A query is shown as ``?...``. This is the only form that messages, files and caches hold.
    """
    return "::".join(map(_shown, _links(address)))


def _shown(address: str) -> str:
    """Return one link of a chain as :func:`shown` does."""
    found = _ADDRESS.fullmatch(address)
    if found is None:
        return address
    protocol, rest = found[1].lower(), found[2]
    host, slash, path = rest.partition("/")
    if "@" in path and protocol in SERVERS and _NO_PORT.search(host):
        host, slash, path = path.rpartition("@")[2].partition("/")
    user, at, server = host.rpartition("@")
    if at and (protocol not in _CONTAINERS or ":" in user):
        host = server
    query = ""
    if protocol in WEB:
        both, mark, _ = (host + slash + path).partition("#")[0].partition("?")
        host, slash, path = both.partition("/")
        query = "?..." if mark else ""
    else:  # a version of an object, or options of a store; elsewhere ? is a part of a name
        before, _, options = path.partition("?")
        path = before if "=" in options else path
    return f"{protocol}://{host}{slash}{path}{query}"


def identified(address: str) -> str:
    """Return a URL as :func:`shown`, followed by a hash of all of it if that hides something. URLs
    that differ in query, version or user name different files. The password is left out, because
    its hash would allow guessing it.
    """
    seen, full = shown(address), normal(address)
    if seen == full:
        return seen
    rest = full.partition("://")[2]
    server = seen.partition("://")[2].removesuffix("?...")
    user, at, named = rest.partition(f"@{server}")
    whole = f"{user.partition(':')[0]}{at}{named}" if at else rest
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
    hidden = [address.partition("?")[2], address.partition("://")[2].rpartition("@")[0]]
    for secret in filter(None, hidden):
        found = found.replace(secret, "...")
    found = re.sub(r"(://)[^/\s@'\"]*@", r"\1", found)
    return re.sub(r"\?[^\s'\")]+", "?...", found).rstrip(".")[:200]
