"""What the pages of a Parquet file say of their sizes, checked before Arrow makes room for them.

The footer says how large a column of a row group is; each page of it begins with a header that says
it again, of the page, and may say something else.
"""

import os
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from linsep.sources.declared import INSTEAD
from linsep.sources.limits import check_growth

#: bytes of a header that are looked at; most have some fifty
_HEADER = 1 << 16
#: fields of a header: bytes of the page after decompression, and in the file
_SIZE, _COMPRESSED = 2, 3
#: types of Thrift's compact protocol
_STOP, _TRUE, _FALSE, _BYTE, _INTEGERS, _DOUBLE, _TEXT, _STRUCT = 0, 1, 2, 3, (4, 5, 6), 7, 8, 12


def check_pages(path: Path, metadata: pq.FileMetaData) -> None:
    """Raise ArrowInvalid where pages go beyond the file, DataError where they become far too large.

    A header that cannot be read ends the look at its column: Arrow will say so.
    """
    left = os.stat(path).st_size
    with path.open("rb") as file:
        for group in range(metadata.num_row_groups):
            for number in range(metadata.num_columns):
                left -= _check_column(path, file, metadata.row_group(group).column(number))
                if left < 0:  # or few bytes of a file could be looked at for ever
                    raise pa.ArrowInvalid("its columns overlap")


def _check_column(path: Path, file: BinaryIO, column: pq.ColumnChunkMetaData) -> int:
    """Check one column of a row group; return how many bytes its pages take."""
    starts = column.dictionary_page_offset, column.data_page_offset
    first = at = min((start for start in starts if start), default=0)
    end, size, swollen = first + column.total_compressed_size, os.fstat(file.fileno()).st_size, 0
    while 0 < at < end:
        file.seek(at)
        try:
            length, larger, compressed = _sizes(file.read(_HEADER))
        except (LookupError, ValueError):
            break
        at += length + compressed
        swollen += larger
        if compressed < 0 or larger < 0 or at > size:
            raise pa.ArrowInvalid("a page is larger than the file")
        check_growth(path, max(1, at - first), swollen, INSTEAD)
    return at - first


def _sizes(header: bytes) -> tuple[int, int, int]:
    """Bytes of a page's header, of the page after decompression, and of the page in the file.

    Raises LookupError or ValueError where it is no header.
    """
    found: dict[int, int] = {}
    at, depth, field = 0, 1, 0
    while depth:
        mark, at = header[at], at + 1
        kind, step = mark & 15, mark >> 4
        if kind == _STOP:
            depth -= 1
            continue
        if step == 0:
            raise ValueError("fields in another order")
        field += step * (depth == 1)
        if kind == _STRUCT:
            depth += 1
        elif kind in _INTEGERS or kind == _TEXT:
            value, at = _varint(header, at)
            if kind == _TEXT:
                at += value
            elif depth == 1:
                found[field] = (value >> 1) ^ -(value & 1)
        elif kind in {_BYTE, _DOUBLE}:
            at += 1 if kind == _BYTE else 8
        elif kind not in {_TRUE, _FALSE}:
            raise ValueError("no field of a page's header")
    return at, found[_SIZE], found[_COMPRESSED]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A whole number in groups of seven bits, and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        byte, at = data[at], at + 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise ValueError("no end of a number")
