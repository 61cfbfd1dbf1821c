"""Describe tables: CSV, TSV, JSON lines, Parquet and Arrow files."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from linsep.describing.columns import (
    NumberColumns,
    OtherColumn,
    SpreadSample,
    TextColumn,
    equal_columns,
)
from linsep.errors import DataError
from linsep.sources.exact import (
    EXACT,
    WholeNumbers,
    is_rounded,
    may_be_rounded,
    rounded_cells,
)
from linsep.sources.tables.column_types import column_types, find_bytes, first_rows, text_refusal
from linsep.sources.tables.columns import Columns, check_target, columns_of, spelled
from linsep.sources.tables.conversions import converted
from linsep.sources.tables.files import FilesInOrder, kinds_in, rechunked
from linsep.sources.tables.spellings import PLAIN, Spelling
from linsep.sources.tables.table_file import TableFile, plain_values, rows_at_once


class TableDescription(FilesInOrder):
    """Reads a table once.

    Parameters
    ----------
    files : the files of the table
    target : name of the label column, or None
    spelling : how numbers are written

    Attributes
    ----------
    sample : some of the rows, spread evenly
    rows : number of rows read
    """

    def __init__(self, files: list[TableFile], target: str | None, spelling: Spelling = PLAIN):
        super().__init__(files)
        self._spelling = spelling
        self._units: dict[str, tuple[str, str]] = {}
        self.target, self.kind, self.rows = target, "table", 0
        self._sample = SpreadSample(_chosen)

    def describe(self) -> dict[str, Any]:
        """Return the descriptions of the columns; DataError if the files cannot be read."""
        first, columns, others, refused = self._columns()
        numbers = NumberColumns(columns.numeric, self.target)
        texts = [TextColumn(name, name == self.target, refused[name]) for name in columns.text]
        rest = [OtherColumn(name, kind) for name, kind in others.items()]
        columns.exclude = list(others)
        for file in self.each_file():
            kinds = kinds_in(file, columns, False, first.path)
            stored = file.columns()
            kinds |= {
                name: "text"
                for name, kind in others.items()
                if name in stored and (file.typed or kind == "date")
            }
            start, whole = 0, None if file.typed else WholeNumbers(file)
            at_once = rows_at_once(len(kinds), 1 << 19, 1 << 21)
            for as_stored in rechunked(file.chunks(kinds), at_once):
                place, how = file.places_from(start), columns.converted
                table = converted(as_stored, how, self._spelling, place, self._units)
                as_written = [name for name in columns.numeric if name not in how]
                rounded: dict[str, dict[int, Any]] = {name: {} for name in how}
                rounded |= _rounded(table, as_written, whole, start)
                numbers.add(table, rounded)
                for text in texts:
                    text.add(table, place)
                for other in rest:
                    if other.name in kinds:
                        other.add(table)
                self._sample.add(table.select([*columns.numeric, *columns.text]), table.num_rows)
                start += table.num_rows
                self.rows += table.num_rows
        if not self.rows:
            raise DataError(f"{self.name} has no rows: give a file with rows.", code="no-rows")
        found = numbers.described()
        found |= {column.name: column.described() for column in texts}
        found |= {column.name: column.described() for column in rest}
        hashes = dict(zip(columns.numeric, numbers.hashes, strict=True))
        hashes |= {text.name: text.hash for text in texts}
        alike = equal_columns({n: h for n, h in hashes.items() if not found[n]["constant"]})
        order = [name for name in first.columns() if name in found]
        return {
            "rows": self.rows,
            "columns": [{"name": name} | found[name] for name in order],
            "duplicates": alike,
        }

    def _columns(self) -> tuple[TableFile, Columns, dict[str, str], dict[str, DataError | None]]:
        """Return the first file with rows, its columns, the types of columns that cannot be
        features, and why `fit` refuses text columns.
        """
        file, head = first_rows(self._files)
        stored = file.columns()
        if self.target is not None:
            check_target(file.path, stored, self.target)
        types = column_types(self._files)
        columns, rest = columns_of(types)
        for name, kind in rest.items():
            if pa.types.is_binary(kind) and not file.typed:
                find_bytes(file, name)
        others = {
            n: "date" if pa.types.is_temporal(kind) else str(kind) for n, kind in rest.items()
        }
        for name, kind in types.items():
            if name in columns.text and spelled(
                file, name, kind, head.column(name), self._spelling
            ):
                del columns.text[name]
                columns.numeric[name] = columns.converted[name] = "number"
        refused = {name: text_refusal(file, name, head.column(name)) for name in columns.text}
        return file, columns, others, refused

    @property
    def sample(self) -> pa.Table:
        """Every k-th row, or all rows if they are few."""
        return pa.concat_tables(self._sample.parts, promote_options="permissive")


def _rounded(
    table: pa.Table, names: Iterable[str], whole: WholeNumbers | None, start: int
) -> dict[str, dict[int, Any]]:
    """Return the numbers that no double equals, by column and row of the table; ``whole`` finds
    them in a text file, after ``start`` rows.
    """
    found: dict[str, dict[int, Any]] = {name: {} for name in names}
    if whole is not None:
        for row, name, text in whole.long(start, table.select(list(names))):
            if is_rounded(text):
                found[name][row] = int(text)
        return found
    for name in names:
        column = table.column(name)
        if may_be_rounded(column.type):
            floats = plain_values(column, name).cast(pa.float64(), safe=False).to_numpy()
            found[name] = rounded_cells(column, floats, least=EXACT)
    return found


def _chosen(table: pa.Table, chosen: np.ndarray) -> pa.Table:
    """Return some rows without dictionaries, which hold the values of more rows than these."""
    few = table if chosen.all() else table.filter(pa.array(chosen))
    named = zip(few.column_names, few.columns, strict=True)
    return pa.table([plain_values(column, name) for name, column in named], few.column_names)
