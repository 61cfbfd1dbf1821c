"""Remote files by wildcards and folders."""

import asyncio
import re
from glob import has_magic
from typing import Any

from linsep.errors import DataError
from linsep.sources.remote.address import SERVERS, WEB, protocol_of, shown
from linsep.sources.remote.asking import asked, filesystem, waited
from linsep.sources.remote.file import RemoteFile, no_file
from linsep.sources.remote.servers import turn

#: what programs leave beside data files, to say that these are whole or in a folder
_MARKERS = re.compile(r"_SUCCESS|_(started|committed)_.*|_(common_)?metadata|.*_\$folder\$")


def is_marker(name: str) -> bool:
    """Return whether a file of this name says something of the data files beside it."""
    return _MARKERS.fullmatch(name) is not None


def find_remote(address: str) -> tuple[list[RemoteFile], bool]:
    """Return the file of an address, or those of a folder or a wildcard, sorted by name, and
    whether it was a folder.

    As in a shell, hidden files are left out; ``**`` matches any depth of folders. Web servers list
    nothing, so each of their addresses is one file.

    Raises DataError if there is no such file, or it may not be read.
    """
    file = RemoteFile(address)
    address = file.address
    bucket_only = "/" not in address.partition("://")[2]
    is_folder = (address.endswith("/") or bucket_only) and protocol_of(address) not in WEB
    if not is_folder and file.exists():
        inside = (
            _inside(file) if protocol_of(address) not in SERVERS and not file.stat().st_size else []
        )
        return (inside, True) if inside else ([file], False)
    if protocol_of(address) in WEB:
        raise no_file(file)
    fs = filesystem(address)
    if has_magic(address):
        found = _listed(fs, address, fs.glob)
        if not found:
            raise DataError(f"No file matches {file}.")
        return found, False
    found = _listed(fs, address, fs.ls)
    if not found:
        raise no_file(file)
    return found, True


def _inside(file: RemoteFile) -> list[RemoteFile]:
    """Return the files in the folder that an empty object stands for, if it does."""
    fs = filesystem(file.address)
    return _listed(fs, file.address + "/", fs.ls)


def _may_be_data(name: str) -> bool:
    """Return whether a name is none of a folder, a hidden file or a marker."""
    return bool(name) and name[0] != "." and not is_marker(name)


def _listed(fs: Any, address: str, listing: Any) -> list[RemoteFile]:
    """Return the files that a listing of fsspec yields."""

    async def names() -> list[str]:
        try:
            async with turn(fs):
                found = await asyncio.to_thread(listing, fs._strip_protocol(address), detail=True)
        except FileNotFoundError:
            return []
        entries = found.values() if isinstance(found, dict) else found
        return [entry["name"] for entry in entries if entry["type"] == "file"]

    paths = waited(asked(names, address))
    own = fs._strip_protocol(address).rstrip("/")
    shown_paths = [path for path in sorted(paths) if _may_be_data(path.rpartition("/")[2])]
    files = [RemoteFile(_named(fs, path, address)) for path in shown_paths if path != own]
    for file in files:
        if "?" in file.address and file.address != str(file):
            raise DataError(
                f"{file.address} is taken for {file} with options, because of '?' and '=': give "
                "the file another name."
            )
    return files


def _named(fs: Any, path: str, address: str) -> str:
    """Return the address of a path in the store of another address, whose server it may name."""
    protocol, _, rest = address.partition("://")
    server, said = f"{protocol}://{rest.partition('/')[0]}/", fs._get_kwargs_from_urls(address)
    inside = path.lstrip("/")
    for name in (fs.unstrip_protocol(path), server + inside, server + inside.partition("/")[2]):
        if fs._strip_protocol(name) == path and fs._get_kwargs_from_urls(name) == said:
            return name
    raise DataError(f"{shown(address)} is not listed by its server: name each of its files.")
