"""Arrow IPC files, which are also called Feather version 2, and Arrow streams."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from linsep.errors import DataError
from linsep.sources.limits import check_growth
from linsep.sources.tables.table_file import (
    SAMPLE_ROWS,
    UNCOMPRESSED,
    Kinds,
    Others,
    TableFile,
    bytes_of,
    no_rows,
    opened_raw,
    reading,
    typed_columns,
)

_OLD_FEATHER = b"FEA1"
#: what an Arrow file begins and ends with
_MAGIC = b"ARROW1"


class IpcFile(TableFile):
    """An Arrow IPC file (also called Feather version 2) or an Arrow stream.

    A record batch is read whole, in the columns that are needed: a file that is one huge batch
    takes as much memory. It is not mapped, because truncating a mapped file would end the process.
    """

    #: the first record batch, which may be large, from :meth:`head` to :meth:`chunks`
    _first: pa.RecordBatch | None = None

    def columns(self) -> dict[str, pa.DataType | None]:
        """Return names and types from the file's schema."""
        with self._open(None) as (schema, _):
            return typed_columns(self.path, schema)

    def head(self) -> pa.RecordBatch:
        """Return the first rows of all columns."""
        with self._open(None) as (schema, batches):
            for number, batch in enumerate(batches):
                if batch.num_rows:
                    self._first = None if number else batch
                    return batch.slice(0, SAMPLE_ROWS)
            return no_rows(schema)

    def chunks(self, kinds: Kinds, others: Others = None) -> Iterator[pa.RecordBatch]:
        """Yield the columns, one record batch of the file after the other."""
        first, self._first, self._sample = self._first, None, None
        self._done = 0.0
        with self._open(list(kinds), first) as (_, batches):
            read = 0
            for batch in batches:
                read += bytes_of(batch)
                check_growth(self.path, self.size, read, UNCOMPRESSED)
                yield batch.select(list(kinds))

    @contextmanager
    def _open(
        self, names: list[str] | None, first: pa.RecordBatch | None = None
    ) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
        with (
            reading(self.path, "an Arrow file", self.unchanged),
            opened_raw(self.path) as raw,
        ):
            magic = raw.read(len(_MAGIC))
            raw.seek(0)
            if magic[:4] == _OLD_FEATHER:
                raise DataError(
                    f"{self.path} has the old Feather format: write it again as Arrow.",
                    code="wrong-format",
                    path=self.path,
                )
            if magic != _MAGIC:
                stream = pa.ipc.open_stream(raw)
                yield stream.schema, self._stream(stream, raw)
                return
            file = pa.ipc.open_file(raw)
            schema = file.schema
            if names is not None and set(schema.names) - set(names):  # Arrow copies what it chooses
                chosen = [i for i, name in enumerate(schema.names) if name in set(names)]
                options = pa.ipc.IpcReadOptions(included_fields=chosen)
                file = pa.ipc.open_file(raw, options=options)
            yield schema, self._file(file, first)

    def _file(self, file: Any, first: pa.RecordBatch | None) -> Iterator[pa.RecordBatch]:
        for number in range(file.num_record_batches):
            if number == 0 and first is not None:
                yield first
                continue
            # Arrow trusts what it reads; one wrong text offset would end the process.
            batch = file.get_batch(number)
            batch.validate(full=True)
            self._done = (number + 1) / file.num_record_batches
            yield batch

    def _stream(
        self, stream: pa.ipc.RecordBatchStreamReader, raw: pa.NativeFile
    ) -> Iterator[pa.RecordBatch]:
        for batch in stream:
            batch.validate(full=True)
            self._done = raw.tell() / self.size
            yield batch
