"""Tables that state the types of their columns: Parquet files, Arrow IPC files (also called Feather
version 2), Arrow streams, and Arrow tables in memory.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from linsep.errors import DataError
from linsep.sources.fingerprints import Unchanged
from linsep.sources.limits import check_growth
from linsep.sources.remote.file import File, RemoteFile
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
#: rows of a table in memory that are taken at a time
_FRAME_ROWS = 1 << 16
#: what an Arrow file begins with, but not a stream
_MAGIC = b"ARROW1"
#: encodings of text that Arrow does not read as a dictionary
_DELTA = {"DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"}
#: advice for a valid file that becomes very large in memory
_UNCOMPRESSED = "write it without compression"
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
            levels = _categories(schema)
            return {one.name: _plain_type(one.type, one.name in levels) for one in schema}

    def head(self) -> pa.RecordBatch:
        with self._opened(None) as (schema, batches):
            none = [pa.nulls(0, kind) for kind in schema.types]
            rows = (batch for batch in batches if batch.num_rows)
            first = next(rows, pa.RecordBatch.from_arrays(none, schema=schema))
            return _plain(first.slice(0, SAMPLE_ROWS), schema)

    def chunks(self, kinds: Kinds, others: Others = None) -> Iterator[pa.RecordBatch]:
        self._sample, self._done = None, 0.0
        # Rows are counted by a column, also where none is needed.
        with self._opened(list(kinds) or list(self.columns())[:1]) as (schema, batches):
            for batch in batches:
                yield _plain(batch.select(list(kinds)), schema) if kinds else batch.select([])


class ParquetFile(ArrowFile):
    """A Parquet file, read page by page within its row groups; of a server, the columns of a row
    group at once.
    """

    #: the row groups to read; None reads all
    row_groups: Sequence[int] | None = None
    _about: "pq.FileMetaData | None" = None
    _delta: Set[str] = frozenset()

    @contextmanager
    def _opened(self, names: list[str] | None) -> Opened:
        import pyarrow.parquet as pq  # with all stores of Arrow's own, which other tables need not

        remote = isinstance(self.path, RemoteFile)
        with (
            reading(self.path, "a Parquet file", self.unchanged),
            opened_raw(self.path, parts=True) as raw,
        ):
            if self._about is None:
                self._about = pq.read_metadata(raw)
                chunks = list(_chunks(self._about))
                read = sum(chunk.total_uncompressed_size for chunk in chunks)
                check_growth(self.path, self.size, read, _UNCOMPRESSED)
                self._delta = {c.path_in_schema for c in chunks if _DELTA & {*c.encodings}}
            self.n_rows, schema = self._about.num_rows, self._about.schema.to_arrow_schema()
            # pre_buffer holds whole row groups; a small buffer reads their pages as they come.
            file = pq.ParquetFile(
                raw, pre_buffer=remote, buffer_size=0 if remote else _BUFFER,
                read_dictionary=[
                    one.name for one in schema
                    if is_text(one.type) and one.name not in self._delta
                ],
                metadata=self._about,
            )  # fmt: skip
            yield schema, self._batches(file, self._about, names, remote)

    def _batches(
        self, file: "pq.ParquetFile", about: "pq.FileMetaData", names: list[str] | None,
        remote: bool,
    ) -> Iterator[pa.RecordBatch]:  # fmt: skip
        groups, read = self.row_groups, 0
        if names is None:
            rows = min(SAMPLE_ROWS, max(100, _CELLS // max(1, about.num_columns)))
        else:
            rows = rows_at_once(len(names), _CELLS // 8, _CELLS)
            rows = min(
                rows, max(64, _ROWS_BYTES * about.num_rows // max(1, _bytes_of(about, names)))
            )
        if remote and groups is None:
            groups = range(about.num_row_groups)
        for some in [[group] for group in groups or []] if remote else [groups]:
            # Threads would wait for each other to read from a server, through Python.
            for batch in file.iter_batches(rows, some, names, not remote):
                read += batch.num_rows
                self._done = read / about.num_rows
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
            if names is not None and set(schema.names) - set(names):  # Arrow copies what it chooses
                chosen = [i for i, name in enumerate(schema.names) if name in set(names)]
                options = pa.ipc.IpcReadOptions(included_fields=chosen)
                file = pa.ipc.open_file(raw, options=options)
            batches = (file.get_batch(number) for number in range(file.num_record_batches))
            yield schema, self._checked(batches, raw)

    def _checked(self, batches: Any, raw: pa.NativeFile) -> Iterator[pa.RecordBatch]:
        read = 0
        for batch in batches:
            # Arrow trusts what it reads; one wrong text offset would end the process.
            batch.validate(full=True)
            read += batch.get_total_buffer_size()
            check_growth(self.path, self.size, read, _UNCOMPRESSED)
            self._done = min(1.0, raw.tell() / self.size)
            yield batch


class FrameFile(ArrowFile):
    """An Arrow table in memory."""

    def __init__(self, table: pa.Table):
        self.path: Any = "the table"
        self.unchanged = Unchanged([])
        if not table.num_columns:
            raise DataError(
                "the table has no columns", "pass a table with rows and columns", code="no-columns"
            )
        self._table, self.n_rows = table, table.num_rows
        self.size = table.get_total_buffer_size()

    @property
    def files(self) -> list[File]:
        return []

    @contextmanager
    def _opened(self, names: list[str] | None) -> Opened:
        first = self._table.slice(0, SAMPLE_ROWS).combine_chunks()
        table = first if names is None else self._table.select(names)
        yield table.schema, iter(table.to_batches(max_chunksize=_FRAME_ROWS))

    def where(self, row: int) -> str:
        return row_text(row)


def _categories(schema: pa.Schema) -> set[str]:
    """Return the names of columns that were categories of pandas, whose values are levels."""
    columns = (schema.pandas_metadata or {}).get("columns", ())
    return {one["field_name"] for one in columns if one["pandas_type"] == "categorical"}


def _plain_type(kind: pa.DataType, levels: bool = False) -> pa.DataType:
    """Return the type that a column is read as: views of text become text, and categories of pandas
    ordered ones, as in its frames.
    """
    if levels and not pa.types.is_dictionary(kind):
        return pa.dictionary(pa.int32(), kind, ordered=True)
    if pa.types.is_dictionary(kind):
        values = _VIEWS.get(kind.value_type, kind.value_type)
        return pa.dictionary(kind.index_type, values, kind.ordered or levels)
    return _VIEWS.get(kind, kind)


def _plain(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    levels, names = _categories(schema), batch.schema.names
    pairs = zip(names, batch.columns, strict=True)
    return pa.RecordBatch.from_arrays([_read_as(x, name in levels) for name, x in pairs], names)


def _read_as(column: pa.Array, levels: bool) -> pa.Array:
    kind = _plain_type(column.type, levels)
    if not pa.types.is_dictionary(kind):
        return column.cast(kind)
    if pa.types.is_dictionary(column.type):
        codes, values = column.indices, column.dictionary.cast(kind.value_type)
    else:  # Parquet has no categories of numbers
        values = column.unique().drop_null().sort()
        codes = pc.index_in(column, values)
    return pa.DictionaryArray.from_arrays(codes, values, ordered=kind.ordered)  # checks codes


def _chunks(about: "pq.FileMetaData") -> Iterator["pq.ColumnChunkMetaData"]:
    for group in map(about.row_group, range(about.num_row_groups)):
        yield from map(group.column, range(about.num_columns))


def _bytes_of(about: "pq.FileMetaData", names: list[str]) -> int:
    return sum(c.total_uncompressed_size for c in _chunks(about) if c.path_in_schema in names)
