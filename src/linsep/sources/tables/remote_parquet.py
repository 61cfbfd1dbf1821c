"""Parquet files on servers: which bytes are fetched, and the check of what comes."""

import io
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from linsep.sources.remote.file import RemoteFile
from linsep.sources.tables.parquet_sizes import check_pages

if TYPE_CHECKING:
    from linsep.sources.remote.streams import Block

#: bytes of the chosen columns of one row group, in the file, that are held in memory
MOST_GROUP = 256 << 20


def column_parts(
    metadata: pq.FileMetaData, groups: Sequence[int] | None, names: Collection[str], size: int
) -> "tuple[list[Block], int]":
    """Return where columns of row groups are, in the order of the file, and the bytes of the
    largest group. Nothing is fetched ahead of a damaged file, which Arrow will say.
    """
    chosen = range(metadata.num_row_groups) if groups is None else groups
    columns = [_columns_in(metadata.row_group(number), names) for number in chosen]
    parts = sorted(part for group in columns for part in group)
    edges = [0, *(edge for part in parts for edge in part), size]
    if edges != sorted(edges):
        return [], 0
    return parts, max((sum(end - start for start, end in group) for group in columns), default=0)


def _columns_in(group: pq.RowGroupMetaData, names: Collection[str]) -> "list[Block]":
    found = []
    for column in map(group.column, range(group.num_columns)):
        if column.path_in_schema in names:
            start = column.data_page_offset
            if column.has_dictionary_page and column.dictionary_page_offset:
                start = min(start, column.dictionary_page_offset)
            found.append((start, start + max(0, column.total_compressed_size)))
    return found


class CheckedColumns(io.RawIOBase):
    """A Parquet file of which Arrow reads whole columns of row groups, whose pages are checked
    before it gets them: it makes room for what their headers ask for, whatever the footer says.
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

    def close(self) -> None:
        """Close it; the stream is closed by who opened it."""
        super().close()
