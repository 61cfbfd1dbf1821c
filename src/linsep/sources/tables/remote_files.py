"""Parquet and Arrow files on servers: what is read ahead, and the checks of what comes.

Locally the sizes that a file declares are checked before it is read. From afar that would fetch
each page and each record batch twice, so they are checked as they pass.
"""

import io
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from linsep.sources.declared import checked_batches
from linsep.sources.remote.ahead import AHEAD, BLOCK, PAGE, Blocks, ReadAhead
from linsep.sources.remote.file import RemoteFile
from linsep.sources.tables.parquet_sizes import Column, Pages


@contextmanager
def parquet_stream(
    path: RemoteFile, metadata: Any, names: Collection[str], columns: Sequence[Column]
) -> Iterator[Any]:
    """Open a Parquet file to read some columns of it.

    Parameters
    ----------
    metadata : of the file; None reads nothing ahead
    names : of the columns
    columns : of all row groups, whose pages are checked
    """
    plan = [] if metadata is None else parquet_plan(metadata, names, path.stat().st_size)
    with path.reading(plan) as stream:
        if metadata is None or not isinstance(stream, ReadAhead):
            yield pa.PythonFile(stream, "r")
            return
        yield pa.PythonFile(_CheckedPages(path, stream, columns), "r")


@contextmanager
def arrow_stream(path: RemoteFile) -> Iterator[tuple[Any, Iterator[None]]]:
    """Open an Arrow file; also yields checks, of which one is due before each record batch."""
    with path.reading() as stream, path.open() as other:
        looking: Any = _Peeking(stream) if isinstance(stream, ReadAhead) else other
        checks = checked_batches(path, looking, path.stat().st_size)
        yield pa.PythonFile(stream, "r"), checks


def parquet_plan(metadata: pq.FileMetaData, names: Collection[str], size: int) -> Blocks:
    """Return blocks of the columns of a file in the order in which rows need them.

    Columns of a row group are read side by side. A small group is fetched whole; of a large one
    come pieces of each column in turn, so that memory does not grow with it.
    """
    plan: Blocks = []
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        found = (group.column(k) for k in range(metadata.num_columns))
        ends = sorted(_ends(column) for column in found if column.path_in_schema in names)
        if sum(end - start for start, end in ends) <= AHEAD // 2:
            for start, end in _joined(ends):
                plan += [(at, min(at + BLOCK, end)) for at in range(start, end, BLOCK)]
            continue
        piece = max(2 * PAGE, min(BLOCK, AHEAD // (2 * len(ends))))
        pieces = [
            ((at - start) / (end - start), at, min(at + piece, end))
            for start, end in ends
            for at in range(start, end, piece)
        ]
        plan += [(start, end) for _, start, end in sorted(pieces)]
    inside = sorted(plan)
    overlap = any(b > c for (_, b), (c, _) in pairwise(inside))
    if overlap or (inside and (inside[0][0] < 0 or inside[-1][1] > size)):
        return []  # damaged: Arrow will say so
    return plan


def _ends(column: pq.ColumnChunkMetaData) -> tuple[int, int]:
    start = column.data_page_offset
    if column.has_dictionary_page and column.dictionary_page_offset:
        start = min(start, column.dictionary_page_offset)
    return start, start + max(0, column.total_compressed_size)


def _joined(ends: Blocks) -> Blocks:
    """Return neighbours as one."""
    found: Blocks = []
    for start, end in ends:
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


class _CheckedPages(io.RawIOBase):
    """A Parquet file whose pages are checked before they are handed out."""

    def __init__(self, path: RemoteFile, stream: ReadAhead, columns: Sequence[Column]):
        self._stream, self._path = stream, path
        self._columns = sorted(columns)
        self._starts = [column.first for column in self._columns]
        self._pages: dict[int, Pages] = {}

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

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes; raises as :func:`check_sizes` does."""
        at = self._stream.tell()
        k = bisect_right(self._starts, at) - 1
        if k >= 0 and at < self._columns[k].first + self._columns[k].compressed:
            if k not in self._pages:
                self._pages[k] = Pages(self._path, self._columns[k], self._stream.size)
            end = self._stream.size if size is None or size < 0 else at + size
            self._pages[k].check(self._stream.peek_at, end)
        return self._stream.read(size)

    def close(self) -> None:
        """Close it; the stream is closed by who opened it."""
        super().close()


class _Peeking(io.RawIOBase):
    """A file on a server, as a file to look at what will be read later."""

    def __init__(self, stream: ReadAhead):
        self._stream, self._at = stream, 0

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place, counted from the start."""
        self._at = offset
        return offset

    def read(self, size: int | None = -1) -> bytes:
        """Return the next ``size`` bytes."""
        data = self._stream.peek_at(self._at, size or 0)
        self._at += len(data)
        return data
