"""What a Parquet file says of the sizes of its parts, checked before Arrow makes room for them.

The footer says how large a column of a row group is; each page of it begins with a header that says
it again, of the page, and may say something else. Both are structures in Thrift's compact protocol,
read here because Arrow shows no page headers, and because its own objects of the parts of a footer
end the process where the footer is damaged.
"""

import struct
from collections.abc import Callable
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from linsep.sources.declared import INSTEAD
from linsep.sources.limits import check_growth
from linsep.sources.remote.file import File

#: bytes of a page header that are looked at; most have some fifty, or with statistics hundreds
_MOST_HEADERS, _HEADER = 1 << 10, 1 << 16
#: fields of a page header: bytes of the page after decompression, and in the file
_PAGE_SIZE, _PAGE_COMPRESSED = 2, 3
#: fields of a footer on the way to a column of a row group
_ROW_GROUPS, _COLUMNS, _METADATA = 4, 1, 3
#: kinds of fields in Thrift's compact protocol
_STOP, _TRUE, _FALSE, _BYTE, _INTEGERS, _DOUBLE, _TEXT = 0, 1, 2, 3, (4, 5, 6), 7, 8
_LISTS, _MAP, _STRUCT, _UUID = (9, 10), 11, 12, 13
#: deeper structures are damaged ones
_DEEPEST = 16
#: fields of a column: its bytes after decompression and in the file, and where its pages begin
_SIZE, _COMPRESSED, _DATA_PAGE, _DICTIONARY_PAGE = 6, 7, 9, 11


class Column(NamedTuple):
    """A column of a row group: where its pages begin, its bytes in the file and decompressed."""

    first: int
    compressed: int
    size: int


def check_sizes(path: File, pages: bool = True) -> None:
    """Check the columns of every row group, and the pages of each unless told otherwise.

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
            if pages:
                first, end = column.first, column.first + column.compressed
                left -= check_pages(path, first, end, size, read_at) - first
            if left < 0:  # or few bytes of a file could be looked at for ever
                raise pa.ArrowInvalid("its columns overlap")


def check_pages(
    path: File, first: int, end: int, size: int, read_at: Callable[[int, int], bytes]
) -> int:
    """Check the pages from a place up to another one of a file; return where the last one ends.
    Raises as :func:`check_sizes` does.
    """
    at, swollen = first, 0
    while 0 < at < end and (header := _page_header(at, read_at)) is not None:
        length, compressed, larger = header
        at += length + compressed
        swollen += larger
        if compressed < 0 or larger < 0 or at > size:
            raise pa.ArrowInvalid("a page is larger than the file")
        check_growth(path, max(1, at - first), swollen, INSTEAD)
    return at


def _page_header(at: int, read_at: Callable[[int, int], bytes]) -> tuple[int, int, int] | None:
    """Return the bytes of a header, and those of its page in the file and decompressed."""
    for size in (_MOST_HEADERS, _HEADER):
        try:
            found, length = read_struct(read_at(at, size))
            larger, compressed = _integers(found, _PAGE_SIZE, _PAGE_COMPRESSED)
            return length, compressed, larger
        except (LookupError, ValueError):
            continue
    return None


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


def read_struct(data: bytes, at: int = 0, depth: int = 0) -> tuple[dict[int, Any], int]:
    """Return the fields of a structure by their numbers, and where it ends.

    Integers, lists and structures keep their values; everything else becomes None.

    Raises
    ------
    LookupError, ValueError
        If there is no structure.
    """
    found: dict[int, Any] = {}
    field = 0
    while data[at] != _STOP:
        kind, step, at = data[at] & 15, data[at] >> 4, at + 1
        if step:
            field += step
        else:
            field, at = _integer(data, at)
        if kind in {_TRUE, _FALSE}:  # the kind is the value
            found[field] = None
        else:
            found[field], at = _value(data, at, kind, depth)
    return found, at + 1


def _value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if depth > _DEEPEST:
        raise ValueError("values in values without end")
    if kind in _INTEGERS:
        return _integer(data, at)
    if kind == _STRUCT:
        return read_struct(data, at, depth + 1)
    if kind in _LISTS:
        return _list(data, at, depth)
    if kind == _TEXT:
        length, at = _varint(data, at)
        return None, _inside(data, at + length)
    if kind == _MAP:
        return None, _after_map(data, at, depth)
    sizes = {_TRUE: 1, _FALSE: 1, _BYTE: 1, _DOUBLE: 8, _UUID: 16}
    return None, _inside(data, at + sizes[kind])


def _list(data: bytes, at: int, depth: int) -> tuple[list[Any], int]:
    kind, count, at = data[at] & 15, data[at] >> 4, at + 1
    if count == 15:
        count, at = _varint(data, at)
    values = []
    for _ in range(_inside(data, count)):  # each takes a byte at least
        value, at = _value(data, at, kind, depth + 1)
        values.append(value)
    return values, at


def _after_map(data: bytes, at: int, depth: int) -> int:
    count, at = _varint(data, at)
    if count:
        kinds, at = data[at], at + 1
        for _ in range(_inside(data, count)):
            for kind in (kinds >> 4, kinds & 15):
                _, at = _value(data, at, kind, depth + 1)
    return at


def _inside(data: bytes, at: int) -> int:
    if at > len(data):
        raise IndexError("beyond the end")
    return at


def _integer(data: bytes, at: int) -> tuple[int, int]:
    """Return a signed integer in zigzag form, and where it ends."""
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return an integer in groups of seven bits, and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        byte, at = data[at], at + 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise ValueError("no end of an integer")
