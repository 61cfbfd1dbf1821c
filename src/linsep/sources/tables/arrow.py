"""Opening table files: what every format shares, and the two binary formats, Parquet and Arrow IPC.

A table file yields the columns asked for as Arrow record batches, from the first row to the last,
holding only a bounded part of the file at a time, and turns what Arrow says about a damaged file
into a DataError. CSV and JSON lines, whose types must be guessed, are in ``csv`` and
``json_lines``.
"""

import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from linsep.errors import DataError
from linsep.sources.arrow_files import arrow_file
from linsep.sources.chunks import opened
from linsep.sources.declared import checked_batches, text_columns
from linsep.sources.limits import Unchanged
from linsep.sources.remote.file import File, RemoteFile
from linsep.sources.tables.parquet_sizes import check_sizes
from linsep.sources.tables.remote_parquet import MOST_GROUP, CheckedColumns, column_parts

#: what each column is read as: "number", "bool" or "text"
Kinds = Mapping[str, str]
#: columns that are not read but may be there; None: any
Others = list[str] | None

#: rows shown to whoever guesses what the columns mean
SAMPLE_ROWS = 10_000

_CELLS = 1 << 20
#: bytes that are read of a column at a time
_BUFFER = 1 << 17
#: bytes of rows that are read of a Parquet file at a time
_ROWS_BYTES = 1 << 25
_OLD_FEATHER = b"FEA1"


class TableFile(ABC):
    """One file with named columns.

    Parameters
    ----------
    path : Path
        Must be a readable file with at least one byte; anything else raises DataError.
    """

    #: the column types are written in the file, not guessed from its first rows
    typed = True
    #: how many rows there are, where the file says so and its columns were asked for
    n_rows: int | None = None
    #: options can say what stands for a missing value
    marks_missing = False

    _sample: pa.RecordBatch | None = None

    def __init__(self, path: File):
        self.path, self.unchanged = path, Unchanged([path])
        with opened(path):
            self.size = path.stat().st_size
        if self.size == 0:
            raise DataError(f"{path} is empty: give a file with rows.")

    @property
    def files(self) -> list[File]:
        """The files on disk that this is read from."""
        return [self.path]

    @property
    def position(self) -> int:
        """Bytes read so far by the running call of :meth:`chunks`, roughly."""
        return 0

    @abstractmethod
    def columns(self) -> dict[str, pa.DataType | None]:
        """Return the column names in file order, with their type where the file states it."""

    @abstractmethod
    def head(self) -> pa.RecordBatch:
        """Return the first rows (at most SAMPLE_ROWS, none in a file without rows)."""

    def sample(self) -> pa.RecordBatch:
        """Return :meth:`head`, which is kept for the next who asks."""
        if self._sample is None:
            self._sample = self.head()
        return self._sample

    def later_types(self, names: list[str]) -> dict[str, pa.DataType]:
        """Return the types of columns without a value in the first rows, as the first rows with one
        say; a column without any is left out. May read the file to find out.
        """
        return {}

    @abstractmethod
    def chunks(self, kinds: Kinds, others: Others = None) -> Iterator[pa.RecordBatch]:
        """Yield the columns named by `kinds`, in that order; formats without types use the kinds.

        `others` are columns that may be there, too. A column that is neither and turns up in some
        row is refused with a DataError, or left out if `others` is None; only JSON lines can have
        one.
        """

    def present(self, names: Iterable[str]) -> dict[str, pa.DataType | None]:
        """Return those of `names` that :meth:`columns` has, as it has them."""
        found = self.columns()
        return {name: found[name] for name in names if name in found}

    def absent(self, names: Iterable[str]) -> list[str]:
        """Return those of `names` that are no column; may read the file to find out."""
        found = self.columns()
        return [name for name in names if name not in found]

    def where(self, row: int) -> str:
        """Return where the 0-based `row` of this file stands; may read the file to find out."""
        return f"{self.path} row {row + 1}"


class ParquetFile(TableFile):
    """A Parquet file, read page by page within its row groups."""

    #: the row groups to read; None reads all
    row_groups: Sequence[int] | None = None
    _done, _fine = 0.0, False

    @property
    def position(self) -> int:
        """Bytes read so far, taken as the share of rows read."""
        return int(self.size * self._done)

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
            return _no_rows(file.schema_arrow)

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
    def _coded(self, kinds: Kinds | None) -> Iterator[pq.ParquetFile]:
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
    ) -> Iterator[pq.ParquetFile]:
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


class IpcFile(TableFile):
    """An Arrow IPC file (also called Feather version 2) or an Arrow stream.

    A record batch is read whole, in the columns that are needed: a file that is one huge batch
    takes as much memory. It is not mapped, because truncating a mapped file would end the process.
    """

    _done = 0.0
    #: the first record batch, which may be large, from :meth:`head` to :meth:`chunks`
    _first: pa.RecordBatch | None = None

    @property
    def position(self) -> int:
        """Bytes read so far, taken as the share of record batches read (streams: the offset)."""
        return int(self.size * self._done)

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
            return _no_rows(schema)

    def chunks(self, kinds: Kinds, others: Others = None) -> Iterator[pa.RecordBatch]:
        """Yield the columns, one record batch of the file after the other."""
        first, self._first, self._sample = self._first, None, None
        self._done = 0.0
        with self._open(list(kinds), first) as (_, batches):
            for batch in batches:
                self.unchanged.check(self.path)
                yield batch.select(list(kinds))

    @contextmanager
    def _open(
        self, names: list[str] | None, first: pa.RecordBatch | None = None
    ) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
        with reading(self.path, "an Arrow file", self.unchanged), self.path.open("rb") as start:
            magic = start.read(6)
        if magic[:4] == _OLD_FEATHER:
            raise DataError(f"{self.path} is in the old Feather format: write it again as Arrow.")
        if magic != b"ARROW1":
            with (
                reading(self.path, "an Arrow file", self.unchanged),
                self._opened() as (raw, checks),
            ):
                stream = pa.ipc.open_stream(raw)
                yield stream.schema, self._stream(stream, raw, checks)
            return
        check_ends(self.path, b"ARROW1", "an Arrow file")
        with (
            reading(self.path, "an Arrow file", self.unchanged),
            self._opened(known=0 if first is None else 1) as (raw, checks),
        ):
            file = pa.ipc.open_file(raw)
            schema = file.schema
            if names is not None and set(schema.names) - set(names):  # Arrow copies what it chooses
                chosen = [i for i, name in enumerate(schema.names) if name in set(names)]
                options = pa.ipc.IpcReadOptions(included_fields=chosen)
                file = pa.ipc.open_file(raw, options=options)
            yield schema, self._file(file, checks, first)

    @contextmanager
    def _opened(self, known: int = 0) -> Iterator[tuple[Any, Iterator[None]]]:
        """Open the bytes of the file, of which some record batches are known; also yields checks,
        one before each record batch.
        """
        with opened_raw(self.path) as raw, self.path.open("rb") as other:
            yield raw, checked_batches(self.path, other, self.size, known)

    def _file(
        self, file: Any, checks: Iterator[None], first: pa.RecordBatch | None
    ) -> Iterator[pa.RecordBatch]:
        for number in range(file.num_record_batches):
            if next(checks, "none"):
                raise OSError("its end names fewer record batches than it has")
            if number == 0 and first is not None:
                yield first
                continue
            # Arrow trusts what it reads; one wrong text offset would end the process.
            batch = file.get_batch(number)
            batch.validate(full=True)
            self._done = (number + 1) / file.num_record_batches
            yield batch

    def _stream(
        self, stream: pa.ipc.RecordBatchStreamReader, raw: pa.NativeFile, checks: Iterator[None]
    ) -> Iterator[pa.RecordBatch]:
        while True:
            next(checks, None)
            batch = next(stream, None)
            if batch is None:
                return
            batch.validate(full=True)
            self._done = raw.tell() / self.size
            yield batch


@contextmanager
def opened_raw(path: File) -> Iterator[pa.NativeFile]:
    """Open a file for Arrow."""
    if isinstance(path, RemoteFile):
        with path.reading() as stream:
            yield arrow_file(stream)
    else:
        with pa.OSFile(os.fsencode(path)) as raw:
            yield raw


@contextmanager
def reading(path: File, what: str, unchanged: Unchanged | None = None) -> Iterator[None]:
    """Turn the errors of opening and reading `path` into a DataError of one sentence.

    Parameters
    ----------
    path : Path
        The file the message names.
    what : str
        What the file should be, such as "an Arrow file".
    unchanged : Unchanged or None
        Asked first whether the file has changed since.
    """
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if unchanged is not None:
            unchanged.check(path)
        raise DataError(
            f"{path} is damaged or not {what} ({first_line(error)}): write it again or rename it."
        ) from error


def rows_at_once(columns: int, few: int, many: int) -> int:
    """Return how many rows of so many columns to take at a time.

    Those of ``few`` values, at most 65,536; of wide rows 1,024 while they are at most ``many``
    values, since each column costs some time whatever its length; never fewer than 64.
    """
    columns = max(1, columns)
    return max(64, min(65_536, max(few // columns, min(1024, many // columns))))


def first_line(error: BaseException) -> str:
    """Return the first line of what `error` says, without its full stop."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].strip().rstrip(".")[:200]


def check_ends(path: File, magic: bytes, what: str) -> None:
    """Raise DataError unless the file starts and ends with `magic`, as whole files do."""
    with reading(path, what), path.open("rb") as file:
        start = file.read(len(magic))
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - len(magic)))
        end = file.read()
    if start != magic:
        raise DataError(f"{path} is not {what}: rename it to what it holds.")
    if end != magic:
        raise DataError(f"{path} is {what} cut short: copy it again from where it is whole.")


def typed_columns(path: File, schema: pa.Schema) -> dict[str, pa.DataType | None]:
    """Return the columns of `schema` by name; two columns of one name raise DataError."""
    check_names(path, schema.names)
    return dict(zip(schema.names, schema.types, strict=True))


def check_names(path: File, names: list[str]) -> None:
    """Raise DataError when two columns have the same name."""
    for name, times in Counter(names).items():
        if times > 1:
            raise DataError(f"{path} has {times} columns named '{name}'", "rename all but one")


def _check_codes(batch: pa.RecordBatch) -> None:
    """Raise ArrowInvalid where a damaged dictionary column has codes beyond its values."""
    for column in batch.columns:
        if pa.types.is_dictionary(column.type) and column.null_count < len(column):
            ends = pc.min_max(column.indices).as_py()
            if ends["min"] < 0 or ends["max"] >= len(column.dictionary):
                raise pa.ArrowInvalid("codes beyond the values of a dictionary")


def _bytes_of(metadata: pq.FileMetaData, kinds: Kinds) -> int:
    """Return how many bytes the columns of ``kinds`` have, without compression."""
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    columns = (group.column(k) for group in groups for k in range(metadata.num_columns))
    return sum(c.total_uncompressed_size for c in columns if c.path_in_schema in kinds)


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(0, kind) for kind in schema.types], schema=schema)
