"""Parquet files."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from linsep.sources.limits import check_growth
from linsep.sources.remote.file import RemoteFile
from linsep.sources.tables.table_file import (
    SAMPLE_ROWS,
    UNCOMPRESSED,
    Kinds,
    Others,
    TableFile,
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


class ParquetFile(TableFile):
    """A Parquet file, read page by page within its row groups; of a server, the columns of a row
    group at once.
    """

    #: the row groups to read; None reads all
    row_groups: Sequence[int] | None = None
    #: the footer, and the names of columns of text
    _about: tuple[Any, list[str]] | None = None

    def columns(self) -> dict[str, pa.DataType | None]:
        """Return names and types from the file's footer."""
        with self._open() as file:
            self.n_rows = file.metadata.num_rows
            return typed_columns(self.path, file.schema_arrow)

    def head(self) -> pa.RecordBatch:
        """Return the first rows of all columns."""
        with self._open(coded=True) as file:
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
        with self._open(coded=True) as file:
            about, remote = file.metadata, isinstance(self.path, RemoteFile)
            total, groups = max(1, about.num_rows), self.row_groups
            rows = min(rows, max(64, _ROWS_BYTES * total // max(1, _bytes_of(about, kinds))))
            if remote and groups is None:
                groups = range(about.num_row_groups)
            for some in [[group] for group in groups or []] if remote else [groups]:
                # Threads would wait for each other to read from a server, through Python.
                for batch in file.iter_batches(rows, some, list(kinds), not remote):
                    _check_codes(batch)
                    read += batch.num_rows
                    self._done = read / total
                    yield batch.select(list(kinds))

    @contextmanager
    def _open(self, coded: bool = False) -> "Iterator[pq.ParquetFile]":
        """Open the file, if ``coded`` with text columns as dictionaries."""
        import pyarrow.parquet as pq  # with all stores of Arrow's own, which other tables need not

        remote = isinstance(self.path, RemoteFile)
        with (
            reading(self.path, "a Parquet file", self.unchanged),
            opened_raw(self.path, parts=True) as raw,
        ):
            if self._about is None:
                file = pq.ParquetFile(raw)
                about = file.metadata
                groups = map(about.row_group, range(about.num_row_groups))
                read = sum(group.total_byte_size for group in groups)
                check_growth(self.path, self.size, read, UNCOMPRESSED)
                self._about = about, text_columns(file.schema_arrow)
            about, texts = self._about
            # pre_buffer holds whole row groups; a small buffer reads their pages as they come.
            yield pq.ParquetFile(
                raw, pre_buffer=remote, buffer_size=0 if remote else _BUFFER,
                read_dictionary=texts if coded else [], metadata=about,
            )  # fmt: skip


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
