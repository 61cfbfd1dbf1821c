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

import pyarrow.parquet as pq

from linsep.sources.arrow_files import arrow_file
from linsep.sources.declared import checked_batches, placed_batches
from linsep.sources.remote import ahead
from linsep.sources.remote.ahead import Blocks, ReadAhead, gathered
from linsep.sources.remote.file import RemoteFile
from linsep.sources.tables.parquet_sizes import Column, Pages


@contextmanager
def parquet_stream(
    path: RemoteFile, metadata: Any, plan: Blocks, columns: Sequence[Column]
) -> Iterator[Any]:
    """Open a Parquet file to read some columns of it.

    Parameters
    ----------
    metadata : of the file; None reads nothing ahead
    plan : what is read ahead
    columns : of all row groups, whose pages are checked
    """
    with path.reading(plan) as stream:
        if metadata is None or not isinstance(stream, ReadAhead):
            yield arrow_file(stream)
            return
        yield arrow_file(_CheckedPages(path, stream, columns))


@contextmanager
def arrow_stream(path: RemoteFile, known: int = 0) -> Iterator[tuple[Any, Iterator[None]]]:
    """Open an Arrow file; also yields checks, of which one is due before each record batch. The
    first ``known`` record batches were read before and are not requested.

    Each record batch comes in one block where it can, so that Arrow need not copy it.
    """
    size = path.stat().st_size
    with path.open() as other:
        batches = placed_batches(other, size)
        plan = None
        if batches and _in_turn(batches, size):
            after = batches[known - 1][1] if known else 0
            plan = [block for block in gathered(batches) if block[1] > after]
        with path.reading(plan, forward=True) as stream:
            if isinstance(stream, ReadAhead):
                looking: Any = _Peeking(stream)
                checks = checked_batches(path, looking, size, known)
                yield arrow_file(_Uncopied(stream)), checks
            else:
                yield arrow_file(stream), checked_batches(path, other, size, known)


def parquet_plan(
    metadata: pq.FileMetaData, groups: Sequence[int] | None, names: Collection[str], size: int
) -> tuple[Blocks, bool]:
    """Return blocks of the columns of row groups in the order in which rows need them, and whether
    whole columns are read at once.

    Columns of a row group are read side by side. Small groups are fetched whole; of large ones
    come pieces of each column in turn, so that memory does not grow with them.
    """
    chosen = range(metadata.num_row_groups) if groups is None else groups
    columns = [_columns_in(metadata.row_group(number), names) for number in chosen]
    if not _in_turn(sorted((a, b) for group in columns for a, _, b in group), size):
        return [], False  # damaged: Arrow will say so
    if all(sum(b - a for a, _, b in group) <= ahead.AHEAD // 2 for group in columns):
        return gathered([(a, b) for group in columns for a, _, b in group]), True
    plan: Blocks = []
    for group in columns:
        piece = max(2 * ahead.PAGE, min(ahead.BLOCK, ahead.AHEAD // (2 * len(group))))
        # A column's first rows need its dictionary, which comes before them.
        pieces = [
            (max(0, at - rows) / (end - rows), at, min(at + piece, end))
            for start, rows, end in group
            for at in range(start, end, piece)
        ]
        plan += [(start, end) for _, start, end in sorted(pieces)]
    return plan, False


def _in_turn(blocks: Blocks, size: int) -> bool:
    """Return whether blocks lie in a file of some size, and each behind the one before it."""
    edges = [0, *(edge for block in blocks for edge in block), size]
    return all(a <= b for a, b in pairwise(edges))


def _columns_in(group: pq.RowGroupMetaData, names: Collection[str]) -> list[tuple[int, int, int]]:
    """Return where columns of a row group start, where their rows do, and where they end."""
    found = []
    for column in map(group.column, range(group.num_columns)):
        if column.path_in_schema in names:
            start = rows = column.data_page_offset
            if column.has_dictionary_page and column.dictionary_page_offset:
                start = min(start, column.dictionary_page_offset)
            end = start + max(0, column.total_compressed_size)
            found.append((start, min(rows, end), end))
    return sorted(found)


class _Uncopied(io.RawIOBase):
    """A file on a server for Arrow, which copies what it reads itself."""

    def __init__(self, stream: ReadAhead):
        self._stream = stream

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
        """Return the next bytes, not copied if they lie in one block."""
        return self._stream.read_buffer(size)

    def close(self) -> None:
        """Close it; the stream is closed by who opened it."""
        super().close()


class _CheckedPages(_Uncopied):
    """A Parquet file whose pages are checked before they are handed out."""

    def __init__(self, path: RemoteFile, stream: ReadAhead, columns: Sequence[Column]):
        super().__init__(stream)
        self._path, self._columns = path, sorted(columns)
        self._starts = [column.first for column in self._columns]
        self._pages: dict[int, Pages] = {}

    def read(self, size: int | None = -1) -> Any:
        """Return the next bytes; raises as :func:`check_sizes` does."""
        at = self._stream.tell()
        k = bisect_right(self._starts, at) - 1
        if k >= 0 and at < self._columns[k].first + self._columns[k].compressed:
            if k not in self._pages:
                self._pages[k] = Pages(self._path, self._columns[k], self._stream.size)
            end = self._stream.size if size is None or size < 0 else at + size
            self._pages[k].check(self._stream.peek_at, end)
        return super().read(size)


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
