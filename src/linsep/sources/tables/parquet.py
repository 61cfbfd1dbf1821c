"""Parquet files: rows, the bytes of those on a server, and the sizes that parts declare, which are
checked before Arrow makes room for them.

The footer states the size of each column of a row group; each page begins with a header that states
the size of the page, and may contradict the footer. Both are structures in Thrift's compact
protocol, read here because Arrow shows no page headers, and because its own objects of the parts of
a footer end the process where the footer is damaged.
"""

import io
import struct
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from linsep.sources.formats import arrow_file
from linsep.sources.limits import check_growth
from linsep.sources.remote.file import File, RemoteFile
from linsep.sources.tables.table_file import (
    SAMPLE_ROWS,
    UNCOMPRESSED,
    Kinds,
    Others,
    TableFile,
    check_ends,
    no_rows,
    opened_raw,
    reading,
    rows_at_once,
    text_columns,
    typed_columns,
)

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_CELLS = 1 << 20
#: bytes that are read of a column at a time
_BUFFER = 1 << 17
#: bytes of rows that are read of a Parquet file at a time
_ROWS_BYTES = 1 << 25
#: bytes of the chosen columns of one row group, in the file, that are held in memory
MOST_GROUP = 256 << 20


class ParquetFile(TableFile):
    """A Parquet file, read page by page within its row groups."""

    #: the row groups to read; None reads all
    row_groups: Sequence[int] | None = None
    _fine = False

    def columns(self) -> dict[str, pa.DataType | None]:
        """Return names and types from the file's footer."""
        with self._open() as file:
            self.n_rows = file.metadata.num_rows
            return typed_columns(self.path, file.schema_arrow)

    def head(self) -> pa.RecordBatch:
        """Return the first rows of all columns."""
        with self._coded(None) as file:
            rows = max(100, _CELLS // max(1, len(file.schema_arrow)))
            for batch in file.iter_batches(min(SAMPLE_ROWS, rows)):
                _check_codes(batch)
                return batch
            return no_rows(file.schema_arrow)

    def chunks(self, kinds: Kinds, others: Others = None) -> Iterator[pa.RecordBatch]:
        """Yield the columns in batches of some hundred thousand values."""
        self._sample = None
        rows = rows_at_once(len(kinds), _CELLS // 8, _CELLS)
        self._done, read = 0.0, 0
        with self._coded(kinds) as file:
            total = max(1, file.metadata.num_rows)
            rows = min(
                rows, max(64, _ROWS_BYTES * total // max(1, _bytes_of(file.metadata, kinds)))
            )
            # Threads would wait for each other to read from a server, which goes through Python.
            threads = not isinstance(self.path, RemoteFile)
            for batch in file.iter_batches(rows, self.row_groups, list(kinds), threads):
                self.unchanged.check(self.path)
                _check_codes(batch)
                read += batch.num_rows
                self._done = read / total
                yield batch.select(list(kinds))

    @contextmanager
    def _coded(self, kinds: Kinds | None) -> "Iterator[pq.ParquetFile]":
        """Open the file with text columns as dictionaries, to read some columns or all."""
        with self._open() as file:
            if not self._fine:
                # Pages of what comes from afar are checked when it comes.
                check_sizes(self.path, pages=not self._afar())
                self._fine = True
            texts, metadata = text_columns(file.schema_arrow), file.metadata
            names = file.schema_arrow.names if kinds is None else list(kinds)
        with self._open(texts, metadata, names) as file:
            yield file

    @contextmanager
    def _open(
        self, coded: Sequence[str] = (), metadata: Any = None, names: Sequence[str] = ()
    ) -> "Iterator[pq.ParquetFile]":
        import pyarrow.parquet as pq  # with all stores of Arrow's own, which other tables need not

        check_ends(self.path, b"PAR1", "a Parquet file")
        # pre_buffer would hold whole row groups; a small buffer reads their pages as they come.
        with (
            reading(self.path, "a Parquet file", self.unchanged),
            self._bytes(metadata, names) as (stream, buffer),
            pq.ParquetFile(
                stream, pre_buffer=False, buffer_size=buffer, read_dictionary=list(coded),
                metadata=metadata,
            ) as file,
        ):  # fmt: skip
            yield file

    def _afar(self) -> bool:
        return isinstance(self.path, RemoteFile) and self.path.in_parts

    @contextmanager
    def _bytes(self, metadata: Any, names: Sequence[str]) -> Iterator[tuple[Any, int]]:
        """Open the bytes of the file; also yield how many to read of a column at a time, 0 all.
        ``metadata`` of the file, if rows are to be read.
        """
        if metadata is not None and isinstance(self.path, RemoteFile) and self.path.in_parts:
            parts, largest = column_parts(metadata, self.row_groups, names, self.size)
            if largest <= MOST_GROUP:
                with self.path.reading_parts(parts) as stream:
                    yield arrow_file(CheckedColumns(self.path, stream)), 0
                return
            self.path.copied()
            check_sizes(self.path)
        with opened_raw(self.path) as raw:
            yield raw, _BUFFER


def _check_codes(batch: pa.RecordBatch) -> None:
    """Raise ArrowInvalid where a damaged dictionary column has codes beyond its values."""
    for column in batch.columns:
        if pa.types.is_dictionary(column.type) and column.null_count < len(column):
            ends = pc.min_max(column.indices).as_py()
            if ends["min"] < 0 or ends["max"] >= len(column.dictionary):
                raise pa.ArrowInvalid("codes beyond the values of a dictionary")


def _bytes_of(metadata: "pq.FileMetaData", kinds: Kinds) -> int:
    """Return how many bytes the columns of ``kinds`` have, without compression."""
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    columns = (group.column(k) for group in groups for k in range(metadata.num_columns))
    return sum(c.total_uncompressed_size for c in columns if c.path_in_schema in kinds)


def column_parts(
    metadata: "pq.FileMetaData", groups: Sequence[int] | None, names: Collection[str], size: int
) -> tuple[list[tuple[int, int]], int]:
    """Return where columns of row groups are, in the order of the file, and the bytes of the
    largest group. Nothing is fetched ahead from a damaged file; Arrow reports the damage.
    """
    chosen = range(metadata.num_row_groups) if groups is None else groups
    columns = [columns_in(metadata.row_group(number), names) for number in chosen]
    parts = sorted(part for group in columns for part in group)
    edges = [0, *(edge for part in parts for edge in part), size]
    if edges != sorted(edges):
        return [], 0
    return parts, max((sum(end - start for start, end in group) for group in columns), default=0)


def columns_in(
    group: "pq.RowGroupMetaData", names: Collection[str] | None = None
) -> list[tuple[int, int]]:
    """Return where columns of a row group, by default all, begin and end in the file."""
    found = []
    for column in map(group.column, range(group.num_columns)):
        if names is None or column.path_in_schema in names:
            start = column.data_page_offset
            if column.has_dictionary_page and column.dictionary_page_offset:
                start = min(start, column.dictionary_page_offset)
            found.append((start, start + max(0, column.total_compressed_size)))
    return found


class CheckedColumns(io.RawIOBase):
    """A Parquet file of which Arrow reads whole columns of row groups, whose pages are checked
    before it gets them: it makes room for what their headers ask for, whatever the footer says. The
    stream is closed by who opened it.
    """

    def __init__(self, path: RemoteFile, stream: Any):
        self._path, self._stream = path, stream

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the place of the next byte."""
        return self._stream.tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place in the file."""
        return self._stream.seek(offset, whence)

    def read(self, size: int | None = -1) -> Any:
        """Return the next bytes; raises as :func:`check_sizes` does."""
        first, data = self._stream.tell(), self._stream.read_buffer(size)

        def read_at(offset: int, length: int) -> bytes:
            return data[offset - first : offset - first + length]

        check_pages(self._path, first, first + len(data), self._stream.size, read_at)
        return data


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

    Unreadable content ends the check, because Arrow reports it.

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
            check_growth(path, max(1, column.compressed), column.size, UNCOMPRESSED)
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
        check_growth(path, max(1, at - first), swollen, UNCOMPRESSED)
    return at


def _page_header(at: int, read_at: Callable[[int, int], bytes]) -> tuple[int, int, int] | None:
    """Return the sizes in bytes of a header, and of its page in the file and decompressed."""
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
    """Return these fields; raise LookupError or ValueError if one is missing or not an integer."""
    values = [found[field] for field in fields]
    if not all(isinstance(value, int) for value in values):
        raise ValueError("a size is not an integer")
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
