"""Rows of any source as Parquet, or as svmlight text with as many digits as every number needs.
Each writer returns how many rows it has written, and what the format has no place for, in
sentences.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, count
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import scipy.sparse as sp

from linsep.errors import DataError, hint
from linsep.sources import Source, tables
from linsep.sources.tables.encoding import forbid
from linsep.sources.tables.table_file import reading
from linsep.sources.tables.text_file import ARROW_TYPES
from linsep.validation.checks import EXACT

#: most features of sparse rows, each of which becomes a column
MOST_FEATURES = 10_000
#: values in a row group, and rows of svmlight text that are formatted at a time
_VALUES, _ROWS = 1 << 22, 4096
#: a whole number with zeros before its digits, which is a code such as 01067
_CODE = r"^[ \t]*[-+]?0[0-9]"


class Table(tables.FilesInOrder):
    """The columns of a table, unchanged; in text, numbers are doubles.

    Parameters
    ----------
    files : the files of the table
    exclude : columns to leave out
    needed : columns that must exist: labels, weights, groups

    Raises DataError for a missing column, or for values that Parquet written from text cannot hold.
    """

    def __init__(self, files: list[tables.TableFile], exclude: list[str], needed: list[str]):
        super().__init__(files)
        self._first, _ = tables.first_rows(files)
        path, stored = self._first.path, self._first.columns()
        for name in [*exclude, *needed]:
            tables.check_column(path, stored, name)
        types = {n: t for n, t in tables.column_types(files, exclude).items() if n not in exclude}
        if not types:
            raise DataError(f"{path} has no columns left to write.", code="no-columns", path=path)
        codes = dict.fromkeys(self._codes(types), pa.string())
        #: columns of text that seem to be whole numbers
        self._whole = [] if self._first.typed else [
            name for name, kind in types.items() if pa.types.is_integer(kind) and name not in codes
        ]  # fmt: skip
        for name, kind in types.items() if not self._first.typed else ():
            family = "text" if pa.types.is_temporal(kind) else tables.family_of(kind)
            if family is None:
                raise tables.no_feature(self._first, name, kind)
            types[name] = codes.get(name, ARROW_TYPES[family])
        self._schema, (self._columns, others) = (
            pa.schema([*types.items()]),
            tables.columns_of(types),
        )
        self._columns.exclude = [*exclude, *others]

    def _codes(self, types: dict[str, pa.DataType]) -> set[str]:
        """Return the columns of CSV that seem to be whole numbers, but have codes in any row."""
        names, found = [n for n, kind in types.items() if pa.types.is_integer(kind)], set[str]()
        for file in self._files if names else ():
            for cells in file.cells(names) if file.marks_missing else ():
                found |= {
                    name for name, column in zip(names, cells.columns, strict=True)
                    if name not in found and pc.any(pc.match_substring_regex(column, _CODE)).as_py()
                }  # fmt: skip
        return found

    def tables(self) -> Iterator[pa.Table]:
        """Yield all rows; DataError for a number that no double equals, and for other types."""
        columns, schema = self._columns, self._schema
        for each in self.each_file():
            tables.kinds_in(each, columns, False, self._first.path)
            kinds = {field.name: tables.family_of(field.type) or "text" for field in schema}
            rows = tables.rows_at_once(len(kinds), _VALUES, _VALUES)
            start = 0
            for table in tables.rechunked(each.chunks(kinds, columns.exclude), rows):
                for name in self._whole:
                    numbers, place = tables.numbers_in(table, name), each.places_from(start)
                    far, leave = (
                        np.abs(numbers) >= EXACT,
                        hint("leave it out with {}", exclude=[name]),
                    )
                    forbid(far, place, name, "has too many digits", leave, code="not-exact")
                start += table.num_rows
                with reading(each.path, f"of the types in {self._first.path}"):
                    whole = table.cast(schema)
                yield whole


def write_parquet(source: Table | Source, file: Any) -> tuple[int, list[str]]:
    """Write the columns of a table, or sparse rows as columns, to a binary file."""
    parts = source.tables() if isinstance(source, Table) else _columns(source)
    first, rows = next(parts), 0
    with pq.ParquetWriter(file, first.schema) as writer:
        for table in chain([first], parts):
            writer.write_table(table)
            rows += table.num_rows
    return rows, []


def _columns(source: Source) -> Iterator[pa.Table]:
    """Yield rows as columns: ``label``, ``weight`` if rows have weights, and one for each feature,
    named by its number. The source is read twice, first for its width.
    """
    width, labeled = 0, True
    for batch in source.batches():
        width, labeled = max(width, batch.X.shape[1]), labeled and batch.y is not None
        if width > MOST_FEATURES:
            raise DataError(
                f"{source.name} has {width:,} features, more than the {MOST_FEATURES:,} "
                "columns allowed: write svmlight text, or choose fewer hash bits.",
                code="too-large", value=width,
            )  # fmt: skip
    base = source.recipe().get("index_base", 0)
    names = [str(number + base) for number in range(width)]
    for batch in source.batches():
        for part in batch.cut(tables.rows_at_once(width, _VALUES, _VALUES)):
            X = np.pad(part.dense(), [(0, 0), (0, width - part.X.shape[1])])
            found: dict[str, Any] = {"label": part.y} if labeled else {}
            if source.weighted:
                found["weight"] = part.weights
            yield pa.table(found | dict(zip(names, X.T, strict=True)))


def write_svmlight(source: Source, file: Any) -> tuple[int, list[str]]:
    """Write the rows of a source with labels to a binary file.

    Text as labels becomes numbers by order: -1 and 1 for two classes, else 0, 1, 2, ...; the source
    is then read twice.
    """
    rows, labels, numbers = 0, np.empty(0), np.empty(0, int)
    for batch in source.batches():
        y = np.asarray(batch.y)
        if y.dtype.kind not in "iuf":
            if not labels.size:
                labels = np.unique(np.concatenate([np.unique(x.y) for x in source.batches()]))
                numbers = np.array([-1, 1]) if labels.size == 2 else np.arange(labels.size)
            y = numbers[np.searchsorted(labels, y)]
        for part in batch._replace(y=y).cut(_ROWS):
            X = sp.csr_matrix(part.X) if sp.issparse(part.X) else stored(part.X)
            file.write(svmlight_lines(X, part.y))
        rows += batch.size
    names = source.feature_names or []
    lost = {
        f"feature names are not written; the feature numbers are {_shown(count(1), names)}": names,
        f"labels are written as numbers: {_shown(numbers, labels)}": labels.size,
        "row weights are not written": source.weighted,
        "groups of rows are not written": source.grouped,
    }
    return rows, [sentence for sentence, is_lost in lost.items() if is_lost]


def _shown(numbers: Iterable[int], names: Any) -> str:
    pairs = [f"{number} = {name}" for number, name in zip(numbers, names, strict=False)]
    return ", ".join(pairs[:3]) + " and so on" * (len(pairs) > 3)


def stored(X: np.ndarray) -> sp.csr_matrix:
    """Return dense rows as a CSR matrix of what is not 0.0; -0.0 is stored."""
    places = np.nonzero((X != 0) | np.signbit(X))
    return sp.csr_matrix((X[places], places), shape=X.shape)


def svmlight_lines(X: sp.csr_matrix, y: np.ndarray) -> bytes:
    """Return rows as lines; a number is the shortest decimal that is read as the same double."""
    indices = pa.array(X.indices.astype(np.int64) + 1).cast(pa.string())
    values = pa.array(X.data.astype(np.float64)).cast(pa.string())
    pairs = pc.binary_join_element_wise(indices, values, ":")
    rows = pc.binary_join(pa.ListArray.from_arrays(pa.array(X.indptr, pa.int32()), pairs), " ")
    lines = pc.binary_join_element_wise(pa.array(y).cast(pa.string()), rows, " ")
    whole = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
    return pc.binary_join(whole, "\n")[0].as_buffer().to_pybytes() + b"\n"
