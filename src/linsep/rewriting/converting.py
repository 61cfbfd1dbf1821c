"""Rows of any source in another format: Parquet, svmlight text with as many digits as every number
needs, and rows that are read without parsing.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import scipy.sparse as sp

from linsep._system.interrupts import interruption_point
from linsep.batches import Batch
from linsep.errors import DataError, hint
from linsep.sources.base import Source
from linsep.sources.exact import EXACT, WholeNumbers
from linsep.sources.row_cache import ROWS_FILE_KEY, RowCacheWriter, footer_of
from linsep.sources.tables.column_types import column_types, first_rows
from linsep.sources.tables.columns import check_column, columns_of
from linsep.sources.tables.files import FilesInOrder, kinds_in, rechunked
from linsep.sources.tables.table_file import TableFile, plain_values, rows_at_once


class RowsWriter:
    """Writes the rows of a source, their labels, weights and recipe.

    Attributes
    ----------
    rows : number of rows written
    lost : what the format has no place for, in sentences
    """

    def __init__(self, source: Source):
        self._source, self.rows = source, 0
        self.lost: list[str] = []

    def write_to(self, path: Path) -> None:
        """Write all rows; the file appears when it is complete.

        Raises DataError if rows have no labels, RowCacheError if the disk is full.
        """
        source, width = self._source, 0
        with RowCacheWriter(path, ROWS_FILE_KEY) as writer:
            for batch in unrounded(source):
                interruption_point()
                if batch.y is None:
                    raise DataError(
                        f"{source.name} has no labels, which a file of rows needs.",
                        code="no-labels",
                    )
                writer.write(batch)
                self.rows, width = self.rows + batch.X.shape[0], max(width, batch.X.shape[1])
            writer.commit(width, **footer_of(source)).close()
        self.lost = ["groups of rows are not written"] if source.grouped else []


#: most features of sparse rows, each of which becomes a column
MOST_FEATURES = 10_000
#: values in a row group
_VALUES = 1 << 22


class TableWriter(FilesInOrder):
    """Writes the columns of a table unchanged; in text, numbers are doubles.

    Parameters
    ----------
    files : the files of the table
    exclude : columns to leave out
    needed : columns that must exist: labels, weights, groups

    Raises DataError for a missing column, or for values that Parquet written from text cannot hold.
    """

    def __init__(self, files: list[TableFile], exclude: list[str], needed: list[str]):
        super().__init__(files)
        self.rows, self.lost = 0, list[str]()
        self._first, _ = first_rows(files)
        stored = self._first.columns()
        for name in [*exclude, *needed]:
            check_column(self._first.path, stored, name)
        types = column_types(files, exclude)
        types = {n: stored[n] or kind for n, kind in types.items() if n not in exclude}
        types |= dict.fromkeys(_codes(self._first, types), pa.string())
        self._columns, others = columns_of(types)
        self._columns.exclude = exclude
        #: columns of other types, which only files that state them have
        self._others: dict[str, pa.DataType] = {}
        for name, kind in others.items():
            if stored[name] is not None:
                self._others[name] = kind
            elif pa.types.is_temporal(kind):
                self._columns.text[name] = {}  # text that looks like dates stays text
            else:
                raise DataError(
                    f"{self._first.path}, column '{name}' holds lists or objects ({kind})",
                    "flatten it",
                    hint("leave it out with {}", exclude=[name]),
                    code="column-type", path=self._first.path, column=name,
                )  # fmt: skip
        if not (self._columns.numeric or self._columns.text or self._others):
            raise DataError(
                f"{self._first.path} has no columns left to write.",
                code="no-columns", path=self._first.path,
            )  # fmt: skip

    def write(self, file: Any) -> None:
        """Write all rows to a binary file."""
        columns = self._columns
        known = {**columns.numeric, **dict.fromkeys([*columns.text, *self._others], "text")}
        names = [name for name in self._first.columns() if name in known]
        columns.exclude = [*columns.exclude, *self._others]
        writer = None
        try:
            for each in self.each_file():
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
            plain_values(column) if pa.types.is_dictionary(column.type) else column
            for column in table.columns
        ]
        table = pa.table(made, table.column_names)
        if writer is None or table.schema.equals(writer.schema):
            return table
        try:
            return table.cast(writer.schema)
        except pa.ArrowException as error:
            raise DataError(
                f"{file.path} holds other types than {self._first.path} "
                f"({str(error).splitlines()[0].rstrip('.')}): convert it separately.",
                code="mixed-formats", path=file.path,
            ) from None  # fmt: skip


def _codes(file: TableFile, types: dict[str, pa.DataType]) -> list[str]:
    """Return the columns of whole numbers of CSV whose first rows have zeros before digits, which
    are codes such as 01067.
    """
    names = [name for name, kind in types.items() if pa.types.is_integer(kind)]
    if not file.marks_missing or not names:
        return []
    first = next(iter(file.cells(names)), None)
    code = r"^[ \t]*[-+]?0[0-9]"
    found = {} if first is None else dict(zip(names, first.columns, strict=True))
    return [n for n, x in found.items() if pc.any(pc.match_substring_regex(x, code)).as_py()]


class VectorWriter:
    """Writes sparse rows as columns: ``label``, ``weight`` if rows have weights, and one column per
    feature, named by its number. The source is read twice, first for its width.
    """

    def __init__(self, source: Source):
        self._source, self.rows = source, 0
        self.lost: list[str] = []

    def write(self, file: Any) -> None:
        """Write all rows to a binary file; DataError for too many features."""
        source, width, labeled, weighted = self._source, 0, True, False
        for batch in unrounded(source):
            width, labeled = max(width, batch.X.shape[1]), labeled and batch.y is not None
            weighted = weighted or (batch.weights is not None and bool((batch.weights != 1).any()))
            if width > MOST_FEATURES:
                raise DataError(
                    f"{source.name} has {width:,} features, more than the {MOST_FEATURES:,} "
                    "columns allowed: write svmlight text, or choose fewer hash bits.",
                    code="too-large", value=width,
                )  # fmt: skip
        base = source.recipe().get("index_base", 0)
        names = ["label"] * labeled + ["weight"] * weighted + [str(k + base) for k in range(width)]
        writer = None
        rows = rows_at_once(len(names), _VALUES, _VALUES)
        try:
            for batch in source.batches():
                for start in range(0, batch.X.shape[0], rows):
                    part = slice(start, start + rows)
                    table = pa.table(_columns(batch, part, width, labeled, weighted), names)
                    writer = writer or pq.ParquetWriter(file, table.schema)
                    writer.write_table(table)
                self.rows += batch.X.shape[0]
        finally:
            if writer is not None:
                writer.close()


def _columns(batch: Any, part: slice, width: int, labeled: bool, weighted: bool) -> list[Any]:
    dense = np.zeros((batch.X[part].shape[0], width), batch.X.dtype, order="F")
    some = batch.X[part]
    dense[:, : some.shape[1]] = some.toarray() if sp.issparse(some) else some
    found: list[Any] = [batch.y[part]] if labeled else []
    if weighted:
        found.append(batch.weights[part])
    return [*found, *dense.T]


#: rows that are formatted at a time
_ROWS = 4096


class SvmlightWriter:
    """Writes the rows of a source as svmlight text.

    Parameters
    ----------
    source : Source
        With labels. Text as labels becomes numbers by order: -1 and 1 for two classes, else 0, 1,
        2, ...; the source is then read twice.

    Attributes
    ----------
    rows : number of rows written
    labels : the number of each label that is text or boolean, empty for numbers
    lost : what the format has no place for, in sentences
    """

    def __init__(self, source: Source):
        self._source, self.rows = source, 0
        self.labels: dict[Any, int] = {}

    def write(self, file: Any) -> None:
        """Write all rows to a binary file; DataError if they cannot be read or have no labels."""
        for batch in unrounded(self._source):
            if batch.y is None:
                raise DataError(
                    f"{self._source.name} has no labels, which svmlight text needs.",
                    code="no-labels",
                )
            if batch.y.dtype.kind not in "iuf" and not self.labels:
                self._number_labels()
            self._check_labels(batch)
            self._write(file, batch)
            self.rows += batch.X.shape[0]

    def _check_labels(self, batch: Batch) -> None:
        """Raise DataError for a whole number that a double does not distinguish from the next."""
        y = np.asarray(batch.y)
        if y.dtype.kind in "iu" and (long := (y >= EXACT) | (y <= -EXACT)).any():
            row = int(np.argmax(long))
            raise DataError(
                self._source.where(batch.first + row) + f" has the label {y[row]}, which svmlight "
                "text, read as floats, cannot represent: shorten the labels.",
                code="not-exact", value=y[row],
            )  # fmt: skip

    def _number_labels(self) -> None:
        """Read all labels, and number them in order."""
        found: set[Any] = set()
        for batch in self._source.batches():
            if batch.y is not None:
                found.update(np.unique(batch.y).tolist())
        ordered = sorted(found)
        codes = [-1, 1] if len(ordered) == 2 else range(len(ordered))
        self.labels = dict(zip(ordered, codes, strict=True))

    def _write(self, file: Any, batch: Batch) -> None:
        y = np.asarray(batch.y)
        if self.labels:
            values, places = np.unique(y, return_inverse=True)
            y = np.array([self.labels[label] for label in values.tolist()])[places]
        for start in range(0, len(y), _ROWS):
            X = batch.X[start : start + _ROWS]
            file.write(
                svmlight_lines(
                    sp.csr_matrix(X) if sp.issparse(X) else stored(X), y[start : start + _ROWS]
                )
            )

    @property
    def lost(self) -> list[str]:
        """What was left out or changed, after writing."""
        source, found = self._source, []
        names = source.feature_names
        if names is not None:
            shown = ", ".join(f"{k} = {name}" for k, name in enumerate(names[:3], 1))
            more = " and so on" if len(names) > 3 else ""
            found.append(f"feature names are not written; the feature numbers are {shown}{more}")
        if self.labels:
            pairs = [f"{number} = {label}" for label, number in [*self.labels.items()][:6]]
            more = " and so on" if len(self.labels) > 6 else ""
            found.append(f"labels are written as numbers: {', '.join(pairs)}{more}")
        if source.weighted:
            found.append("row weights are not written")
        if source.grouped:
            found.append("groups of rows are not written")
        return found


def stored(X: np.ndarray) -> sp.csr_matrix:
    """Return dense rows as a CSR matrix of what is not 0.0; -0.0 is stored."""
    rows, columns = np.nonzero((X != 0) | np.signbit(X))
    starts = np.searchsorted(rows, np.arange(X.shape[0] + 1))
    return sp.csr_matrix((X[rows, columns], columns, starts), shape=X.shape)


def svmlight_lines(X: sp.csr_matrix, y: np.ndarray) -> memoryview:
    """Return rows as lines; a number is the shortest decimal that is read as the same double."""
    indices = pa.array(X.indices.astype(np.int64) + 1).cast(pa.string())
    values = pa.array(X.data.astype(np.float64)).cast(pa.string())
    pairs = pc.binary_join_element_wise(indices, values, ":")
    rows = pc.binary_join(pa.ListArray.from_arrays(pa.array(X.indptr, pa.int32()), pairs), " ")
    whole = y.dtype.kind in "iu" or bool((np.trunc(y) == y).all() and (np.abs(y) < 2**53).all())
    labels = pa.array(y.astype(np.int64) if whole else y).cast(pa.string())
    lines = pc.binary_join_element_wise(labels, rows, " ")
    text = pc.binary_join_element_wise(lines, pa.scalar(""), "\n")
    return _bytes_of(text)


def _bytes_of(text: pa.StringArray) -> memoryview:
    """Return the bytes of all texts, one after the other."""
    offsets, data = text.buffers()[1:]
    first, last = np.frombuffer(offsets, np.int32)[[text.offset, text.offset + len(text)]].tolist()
    return memoryview(data)[first:last]


def unrounded(source: Source) -> Iterator[Batch]:
    """Yield all rows of a source as floats; raise DataError for a number that no double equals."""
    for batch in source.exactly(weightless=True):
        if batch.X.dtype != object:
            yield batch
            continue
        X = batch.X.astype(np.float64)
        if (long := X != batch.X).any():
            row, column = np.argwhere(long)[0].tolist()
            raise DataError(
                source.where(batch.first + row) + f", {source.feature(column)} is "
                f"{batch.X[row, column]}, which is not exactly representable as float64: shorten "
                "it.",
                code="not-exact",
                value=batch.X[row, column],
            )
        yield batch._replace(X=X)
