"""What a Parquet file says of the sizes of its parts, checked before Arrow makes room for them.

The footer says how large a column of a row group is; each page of it begins with a header that says
it again, of the page, and may say something else.
"""

import struct
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from linsep.sources.declared import INSTEAD
from linsep.sources.limits import check_growth
from linsep.sources.tables.thrift import read_struct

#: bytes of a page header that are looked at; most have some fifty
_HEADER = 1 << 16
#: fields of a page header: bytes of the page after decompression, and in the file
_PAGE_SIZE, _PAGE_COMPRESSED = 2, 3
#: fields of a footer on the way to a column of a row group
_ROW_GROUPS, _COLUMNS, _METADATA = 4, 1, 3
#: fields of a column: its bytes after decompression and in the file, and where its pages begin
_SIZE, _COMPRESSED, _DATA_PAGE, _DICTIONARY_PAGE = 6, 7, 9, 11


class Column(NamedTuple):
    """A column of a row group: where its pages begin, its bytes in the file and decompressed."""

    first: int
    compressed: int
    size: int


def check_sizes(path: Path) -> None:
    """Check the columns of every row group, and the pages of each.

    What cannot be read ends the check, because Arrow will say so.

    Raises
    ------
    DataError
        If a column or a page becomes far too large when it is decompressed.
    ArrowInvalid
        If pages go beyond the file, or overlap.
    """
    left = path.stat().st_size
    with path.open("rb") as file:
        for column in _columns(file, left):
            check_growth(path, max(1, column.compressed), column.size, INSTEAD)
            left -= _check_pages(path, file, column)
            if left < 0:  # or few bytes of a file could be looked at for ever
                raise pa.ArrowInvalid("its columns overlap")


def _columns(file: BinaryIO, size: int) -> list[Column]:
    """Return the columns of all row groups in the footer; none if it cannot be read."""
    file.seek(max(0, size - 8))
    length = struct.unpack("<I", file.read(8)[:4])[0]
    if length > size - 8:
        return []
    file.seek(size - 8 - length)
    try:
        footer, _ = read_struct(file.read(length))
        return [
            _column(column[_METADATA])
            for group in footer[_ROW_GROUPS]
            for column in group[_COLUMNS]
            if column.get(_METADATA)
        ]
    except (LookupError, ValueError, TypeError, AttributeError):
        return []


def _column(found: dict[int, Any]) -> Column:
    first, compressed, size = _integers(found, _DATA_PAGE, _COMPRESSED, _SIZE)
    if found.get(_DICTIONARY_PAGE):
        first = min(first, *_integers(found, _DICTIONARY_PAGE))
    return Column(first, compressed, size)


def _integers(found: dict[int, Any], *fields: int) -> list[int]:
    """Return these fields; raise LookupError or ValueError if one is missing or no integer."""
    values = [found[field] for field in fields]
    if not all(isinstance(value, int) for value in values):
        raise ValueError("a size is no integer")
    return values


def _check_pages(path: Path, file: BinaryIO, column: Column) -> int:
    """Check the pages of a column; return how many bytes they take."""
    first = at = column.first
    end, size, swollen = first + column.compressed, path.stat().st_size, 0
    while 0 < at < end:
        file.seek(at)
        try:
            found, length = read_struct(file.read(_HEADER))
            larger, compressed = _integers(found, _PAGE_SIZE, _PAGE_COMPRESSED)
        except (LookupError, ValueError):
            break
        at += length + compressed
        swollen += larger
        if compressed < 0 or larger < 0 or at > size:
            raise pa.ArrowInvalid("a page is larger than the file")
        check_growth(path, max(1, at - first), swollen, INSTEAD)
    return at - first
