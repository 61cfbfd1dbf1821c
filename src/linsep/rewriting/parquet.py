"""Tables, and rows of numbers, as Parquet files."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp

from linsep.errors import DataError, hint
from linsep.sources.base import Source
from linsep.sources.exact import WholeNumbers, unrounded
from linsep.sources.tables.arrow import TableFile, rows_at_once
from linsep.sources.tables.cells import plain
from linsep.sources.tables.encoding import Columns
from linsep.sources.tables.files import kinds_in, rechunked
from linsep.sources.tables.roles import check_column, column_types, family_of, first_rows

#: most features of sparse rows, each of which becomes a column
MOST_FEATURES = 10_000
#: values in a row group
_VALUES = 1 << 22


class TableWriter:
    """Writes the columns of a table as they are; in text, numbers are doubles.

    Parameters
    ----------
    files : the files of the table
    exclude : columns to leave out
    needed : columns that must be there: labels, weights, groups

    Raises DataError if a column is not there, or holds what Parquet written from text cannot.
    """

    def __init__(self, files: list[TableFile], exclude: list[str], needed: list[str]):
        self._files, self._running, self.rows = files, 0, 0
        self.name, self.size = str(files[0].path), sum(file.size for file in files)
        self.lost: list[str] = []
        self._first, _ = first_rows(files)
        stored = self._first.columns()
        for name in [*exclude, *needed]:
            check_column(self._first.path, stored, name)
        self._columns = Columns(numeric={}, text={}, target=None, target_kind=None)
        self._columns.exclude = exclude
        self._others: dict[str, pa.DataType] = {}
        for name, kind in column_types(files, exclude).items():
            if name not in exclude:
                self._take(name, stored[name], kind)
        if not (self._columns.numeric or self._columns.text or self._others):
            raise DataError(f"{self._first.path} has no column left to write.")

    stage, doing = "reading", None

    @property
    def position(self) -> int:
        """Bytes on disk read so far."""
        done = sum(file.size for file in self._files[: self._running])
        return done + self._files[self._running].position

    def _take(self, name: str, stored: pa.DataType | None, guessed: pa.DataType) -> None:
        family = family_of(stored or guessed)
        if family in ("number", "bool"):
            self._columns.numeric[name] = family
        elif family == "text" or (stored is None and pa.types.is_temporal(guessed)):
            self._columns.text[name] = {}  # text that looks like dates stays text
        elif stored is not None:
            self._others[name] = stored
        else:
            raise DataError(
                f"{self._first.path}, column '{name}' holds lists or objects ({guessed})",
                "flatten it",
                hint("leave it out with {}", exclude=[name]),
            )

    def write(self, file: Any) -> None:
        """Write all rows to a binary file."""
        columns = self._columns
        known = {**columns.numeric, **dict.fromkeys([*columns.text, *self._others], "text")}
        names = [name for name in self._first.columns() if name in known]
        columns.exclude = [*columns.exclude, *self._others]
        writer = None
        try:
            for number, each in enumerate(self._files):
                self._running = number
                kinds_in(each, columns, False, self._first.path)
                exact = None if each.typed else WholeNumbers(each)
                start, kinds = 0, {name: known[name] for name in names}
                rows = rows_at_once(len(names), _VALUES, _VALUES)
                for table in rechunked(each.chunks(kinds, columns.exclude), rows):
                    if exact is not None:
                        exact.check(start, table.select(list(columns.numeric)), None, proof=True)
                    start += table.num_rows
                    whole = self._same_types(each, table.select(names), writer)
                    writer = writer or pq.ParquetWriter(file, whole.schema)
                    writer.write_table(whole)
                self.rows += start
        finally:
            if writer is not None:
                writer.close()

    def _same_types(self, file: TableFile, table: pa.Table, writer: Any) -> pa.Table:
        """Return a table with the types of the first, and without dictionaries of text."""
        made = [
            plain(column, name) if pa.types.is_dictionary(column.type) else column
            for name, column in zip(table.column_names, table.columns, strict=True)
        ]
        table = pa.table(made, table.column_names)
        if writer is None or table.schema.equals(writer.schema):
            return table
        try:
            return table.cast(writer.schema)
        except pa.ArrowException as error:
            raise DataError(
                f"{file.path} holds other types than {self._first.path} "
                f"({str(error).splitlines()[0].rstrip('.')}): convert it on its own."
            ) from None


class VectorWriter:
    """Writes sparse rows as columns: ``label``, ``weight`` if rows have weights, and one column for
    each feature, named by its number. The source is read twice, first for its width.
    """

    def __init__(self, source: Source):
        self._source, self.rows = source, 0
        self.lost: list[str] = []

    def write(self, file: Any) -> None:
        """Write all rows to a binary file; DataError for too many features."""
        source, width, labelled, weighted = self._source, 0, True, False
        for batch in unrounded(source):
            width, labelled = max(width, batch.X.shape[1]), labelled and batch.y is not None
            weighted = weighted or (batch.weights is not None and bool((batch.weights != 1).any()))
            if width > MOST_FEATURES:
                raise DataError(
                    f"{source.name} has {width:,} features, more than {MOST_FEATURES:,}, which "
                    "would be columns: write svmlight text, or choose fewer hash bits."
                )
        base = source.recipe().get("index_base", 0)
        names = ["label"] * labelled + ["weight"] * weighted + [str(k + base) for k in range(width)]
        writer = None
        rows = rows_at_once(len(names), _VALUES, _VALUES)
        try:
            for batch in source.batches():
                for start in range(0, batch.X.shape[0], rows):
                    part = slice(start, start + rows)
                    table = pa.table(_columns(batch, part, width, labelled, weighted), names)
                    writer = writer or pq.ParquetWriter(file, table.schema)
                    writer.write_table(table)
                self.rows += batch.X.shape[0]
        finally:
            if writer is not None:
                writer.close()


def _columns(batch: Any, part: slice, width: int, labelled: bool, weighted: bool) -> list[Any]:
    dense = np.zeros((batch.X[part].shape[0], width), batch.X.dtype, order="F")
    some = batch.X[part]
    dense[:, : some.shape[1]] = some.toarray() if sp.issparse(some) else some
    found: list[Any] = [batch.y[part]] if labelled else []
    if weighted:
        found.append(batch.weights[part])
    return [*found, *dense.T]
