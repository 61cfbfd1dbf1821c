"""What a Parquet file says of the sizes of its parts, checked before Arrow makes room for them.

The footer says how large a column of a row group is; each page of it begins with a header that says
it again, of the page, and may say something else.
"""

import struct
from collections.abc import Callable
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from linsep.sources.declared import INSTEAD
from linsep.sources.limits import check_growth
from linsep.sources.remote.file import File
from linsep.sources.tables.thrift import read_struct

#: bytes of a page header that are looked at; most have some fifty, or with statistics hundreds
_MOST_HEADERS, _HEADER = 1 << 10, 1 << 16
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


def check_sizes(path: File) -> None:
    """Check the columns of every row group, and the pages of each.

    What cannot be read ends the check, because Arrow will say so.

    Raises
    ------
    DataError
        If a column or a page becomes far too large when it is decompressed.
    ArrowInvalid
        If pages go beyond the file, or overlap.
    """
    left = size = path.stat().st_size
    with path.open("rb") as file:

        def read_at(offset: int, length: int) -> bytes:
            file.seek(offset)
            return file.read(length)

        for column in columns_of(file, size):
            check_growth(path, max(1, column.compressed), column.size, INSTEAD)
            pages = Pages(path, column, size)
            pages.check(read_at, column.first + column.compressed)
            left -= pages.at - column.first
            if left < 0:  # or few bytes of a file could be looked at for ever
                raise pa.ArrowInvalid("its columns overlap")


def checked_columns(path: File) -> list[Column]:
    """Return the columns of every row group; they are checked as by :func:`check_sizes`, but no
    page.
    """
    with path.open("rb") as file:
        columns = columns_of(file, path.stat().st_size)
    for column in columns:
        check_growth(path, max(1, column.compressed), column.size, INSTEAD)
    return columns


def columns_of(file: BinaryIO, size: int) -> list[Column]:
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


class Pages:
    """The pages of a column of a row group, checked one after the other.

    Attributes
    ----------
    at : where the next page begins that was not checked
    """

    def __init__(self, path: File, column: Column, size: int):
        self._path, self._column, self._size = path, column, size
        self.at, self._swollen, self._readable = column.first, 0, True

    def check(self, read_at: Callable[[int, int], bytes], until: int) -> None:
        """Check the pages that begin before a place; raises as :func:`check_sizes` does."""
        first, end = self._column.first, self._column.first + self._column.compressed
        while self._readable and 0 < self.at < min(until, end):
            header = self._header(read_at)
            if header is None:
                self._readable = False
                return
            length, compressed, larger = header
            self.at += length + compressed
            self._swollen += larger
            if compressed < 0 or larger < 0 or self.at > self._size:
                raise pa.ArrowInvalid("a page is larger than the file")
            check_growth(self._path, max(1, self.at - first), self._swollen, INSTEAD)

    def _header(self, read_at: Callable[[int, int], bytes]) -> tuple[int, int, int] | None:
        """Return the bytes of a header, and those of its page in the file and decompressed."""
        for size in (_MOST_HEADERS, _HEADER):
            try:
                found, length = read_struct(read_at(self.at, size))
                larger, compressed = _integers(found, _PAGE_SIZE, _PAGE_COMPRESSED)
                return length, compressed, larger
            except (LookupError, ValueError):
                continue
        return None
