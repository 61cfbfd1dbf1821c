"""Tables that state the types of their columns: Parquet files, Arrow IPC files (also called Feather
version 2), Arrow streams, and Arrow tables in memory.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from linsep.errors import DataError
from linsep.sources.remote.file import RemoteFile, Unchanged
from linsep.sources.tables.table_file import (
    SAMPLE_ROWS,
    Kinds,
    Others,
    TableFile,
    is_text,
    opened_raw,
    reading,
    rows_at_once,
)
from linsep.validation.checks import check_names
from linsep.words import row_text

if TYPE_CHECKING:
    import pyarrow.parquet as pq

#: values, and bytes of rows, that are read of a Parquet file at a time; bytes of a column
_CELLS, _ROWS_BYTES, _BUFFER = 1 << 20, 1 << 25, 1 << 17
#: what an Arrow file begins with, but not a stream
_MAGIC = b"ARROW1"
_VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}


#: a schema, and record batches of it
Opened = Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]


class ArrowFile(TableFile):
    """What they share: each opens a schema, and record batches of the columns that are needed."""

    @contextmanager
    @abstractmethod
    def _opened(self, names: list[str] | None) -> Opened:
        """Open the file; ``names`` are the columns to read, None for the first rows of all."""
        yield NotImplemented

    def columns(self) -> dict[str, pa.DataType | None]:
        with self._opened(None) as (schema, _):
            check_names(self.path, schema.names)
            return dict(zip(schema.names, _types(schema), strict=True))

    def head(self) -> pa.RecordBatch:
        with self._opened(None) as (schema, batches):
            none = [pa.nulls(0, kind) for kind in schema.types]
            first = next(filter(len, batches), pa.RecordBatch.from_arrays(none, schema=schema))
            return _typed(first.slice(0, SAMPLE_ROWS))

    def chunks(self, kinds: Kinds, others: Others = None) -> Iterator[pa.RecordBatch]:
        self._sample, self._done = None, 0.0
        # Rows are counted by a column, also where none is needed.
        with self._opened(list(kinds) or list(self.columns())[:1]) as (_, batches):
            for batch in batches:
                yield _typed(batch.select(list(kinds))) if kinds else batch.select([])


class ParquetFile(ArrowFile):
    """A Parquet file, read page by page; of a server, the columns of a row group at once."""

    #: the row groups to read; None reads all
    row_groups: Sequence[int] | None = None
    _about: "pq.FileMetaData | None" = None

    @contextmanager
    def _opened(self, names: list[str] | None) -> Opened:
        import pyarrow.parquet as pq  # with all stores of Arrow's own, which other tables need not

        remote = isinstance(self.path, RemoteFile)
        with (
            reading(self.path, "a Parquet file", self.unchanged),
            opened_raw(self.path, parts=True) as raw,
        ):
            about = self._about = self._about or pq.read_metadata(raw)
            self.n_rows, schema = about.num_rows, about.schema.to_arrow_schema()
            groups = [about.row_group(number) for number in range(about.num_row_groups)]
            texts = {field.name for field in schema if is_text(field.type)} & {*(names or ())}
            columns = (g.column(k) for g in groups for k in range(about.num_columns * bool(texts)))
            # Arrow has no codes of texts that are stored as differences.
            texts -= {c.path_in_schema for c in columns if "DELTA" in str(c.encodings)}
            # pre_buffer holds whole row groups; a small buffer reads their pages as they come.
            file = pq.ParquetFile(
                raw, pre_buffer=remote, buffer_size=0 if remote else _BUFFER,
                read_dictionary=[*texts], metadata=about,
            )  # fmt: skip
            size = sum(group.total_byte_size for group in groups)
            rows = rows_at_once(len(names or schema), _CELLS // 8, _CELLS)
            rows = min(rows, max(64, _ROWS_BYTES * about.num_rows // max(1, size)))
            yield schema, self._batches(file, rows, names, remote)

    def _batches(
        self, file: "pq.ParquetFile", rows: int, names: list[str] | None, remote: bool
    ) -> Iterator[pa.RecordBatch]:
        groups = range(file.num_row_groups) if self.row_groups is None else self.row_groups
        read = 0
        for some in [[group] for group in groups] if remote else [groups]:
            # Threads would wait for each other to read from a server, through Python.
            for batch in file.iter_batches(rows, some, names, not remote):
                read += batch.num_rows
                self._done = read / file.metadata.num_rows
                yield batch


class IpcFile(ArrowFile):
    """An Arrow IPC file or an Arrow stream.

    A record batch is read whole, in the columns that are needed: a file that is one huge batch
    takes as much memory. It is not mapped, because truncating a mapped file would end the process.
    """

    @contextmanager
    def _opened(self, names: list[str] | None) -> Opened:
        with reading(self.path, "an Arrow file", self.unchanged), opened_raw(self.path) as raw:
            magic = raw.read(len(_MAGIC))
            raw.seek(0)
            if magic != _MAGIC:
                stream = pa.ipc.open_stream(raw)
                yield stream.schema, self._checked(stream, raw)
                return
            file = pa.ipc.open_file(raw)
            schema = file.schema
            if names is not None and len(names) < len(schema):  # Arrow copies what it chooses
                chosen = [schema.get_field_index(name) for name in names]
                options = pa.ipc.IpcReadOptions(included_fields=chosen)
                file = pa.ipc.open_file(raw, options=options)
            batches = map(file.get_batch, range(file.num_record_batches))
            yield schema, self._checked(batches, raw)

    def _checked(self, batches: Any, raw: pa.NativeFile) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            # Arrow trusts what it reads; one wrong text offset would end the process.
            batch.validate(full=True)
            self._done = min(1.0, raw.tell() / self.size)
            yield batch


class FrameFile(ArrowFile):
    """An Arrow table in memory."""

    files: Any = ()
    marks_missing = True

    def __init__(self, table: pa.Table):
        self.path: Any = "the table"
        self.unchanged = Unchanged([])
        if not table.num_columns:
            raise DataError("the table has no columns", "pass rows and columns", code="no-columns")
        self._table, self.n_rows = table, table.num_rows
        self.size = table.get_total_buffer_size()

    @contextmanager
    def _opened(self, names: list[str] | None) -> Opened:
        first = self._table.slice(0, SAMPLE_ROWS).combine_chunks()
        table = first if names is None else self._table.select(names)
        yield table.schema, iter(table.to_batches())

    def where(self, row: int) -> str:
        return row_text(row)


def _types(schema: pa.Schema) -> list[pa.DataType]:
    """Return the types that columns are read as: views of text as text, and categories of pandas as
    categories with an order, as in its frames.
    """
    columns, found = (schema.pandas_metadata or {}).get("columns", ()), []
    categories = {one["field_name"] for one in columns if one["pandas_type"] == "categorical"}
    for name, kind in zip(schema.names, schema.types, strict=True):
        has_codes = pa.types.is_dictionary(kind)
        value = kind.value_type if has_codes else kind
        value, ordered = _VIEWS.get(value, value), name in categories
        if has_codes or ordered:
            value = pa.dictionary(pa.int32(), value, ordered or kind.ordered)
        found.append(value)
    return found


def _typed(batch: pa.RecordBatch) -> pa.RecordBatch:
    arrays = []
    for column, kind in zip(batch.columns, _types(batch.schema), strict=True):
        # Parquet has categories of numbers without codes.
        if pa.types.is_dictionary(kind) and not pa.types.is_dictionary(column.type):
            values = column.unique().drop_null().sort()
            column = pa.DictionaryArray.from_arrays(pc.index_in(column, values), values)  # noqa: PLW2901
        arrays.append(column if column.type == kind else column.cast(kind))
    return pa.RecordBatch.from_arrays(arrays, batch.schema.names)
