"""Describe tables: CSV, TSV, JSON lines, Parquet and Arrow files, in one reading."""

from collections import Counter
from collections.abc import Callable
from math import inf, sqrt
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from linsep.errors import DataError, Hint
from linsep.sources.exact import EXACT, WholeNumbers, is_rounded, may_be_rounded, rounded_cells
from linsep.sources.tables.column_types import column_types, find_bytes, first_rows, text_refusal
from linsep.sources.tables.columns import Columns, check_target, columns_of, spelled
from linsep.sources.tables.conversions import converted
from linsep.sources.tables.files import FilesInOrder, kinds_in, rechunked
from linsep.sources.tables.spellings import PLAIN, Spelling
from linsep.sources.tables.table_file import (
    Place,
    TableFile,
    as_text,
    plain_values,
    rows_at_once,
    text_codes,
)

#: options that read text as numbers
SPELLED = {"decimal", "thousands", "units", "numeric", "null_values"}
#: different values that are counted per column, and for labels; different texts
MOST_VALUES, MOST_LABELS, MOST_TEXTS = 1000, 10_000, 100_000
#: rows of the sample on which separability is decided
SAMPLE_ROWS = 8192


class Values:
    """Counts of different values, None beyond ``most``."""

    def __init__(self, most: int):
        self._most = most
        self.counts: Counter[Any] | None = Counter()

    def add(self, values: list[Any], counts: list[int]) -> None:
        """Count values, each so many times."""
        if self.counts is not None:
            self.counts.update(dict(zip(values, counts, strict=True)))
            self.counts = self.counts if len(self.counts) <= self._most else None


class NumberColumn:
    """A column of numbers or booleans."""

    def __init__(self, name: str, kind: str, most: int):
        self.name, self._kind, self._values = name, kind, Values(most)
        self._rows, self._mean, self._squares = 0, 0.0, 0.0
        self._origin: float | None = None
        self._low, self._high = inf, -inf
        self._missing = self._infinite = self.hash = 0
        self._whole, self._long = True, False

    def add(self, table: pa.Table, place: Place, rounded: dict[str, dict[int, Any]]) -> None:
        """Add the rows of a table, in which floats stand for the ``rounded`` numbers."""
        column = plain_values(table.column(self.name))
        X = column.cast(pa.float64(), safe=False).to_numpy() + 0.0  # zeros have one sign
        cells = rounded.get(self.name, {})
        self.hash = hash((self.hash, X.tobytes(), *cells.items()))
        self._missing += int(np.isnan(X).sum())
        self._infinite += int(np.isinf(X).sum())
        self._long |= bool(cells)
        numbers = X.astype(object) if cells else X
        for row, number in cells.items():
            numbers[row] = number
        numbers = numbers[np.isfinite(X)]
        if not numbers.size:
            return
        if self._values.counts is not None:
            found, counts = np.unique(numbers, return_counts=True)
            self._values.add(found.tolist(), counts.tolist())
        low, high = numbers.min(), numbers.max()
        self._low, self._high = min(self._low, low), max(self._high, high)
        self._whole = self._whole and bool((numbers % 1 == 0).all())
        if self._origin is None:  # the spread of long numbers is not lost about their first
            self._origin = float(numbers[0]) if abs(numbers[0]) >= EXACT else 0.0
        origin = int(self._origin) if cells else self._origin
        self._add_moments((numbers - origin).astype(np.float64))

    @np.errstate(over="ignore", invalid="ignore")
    def _add_moments(self, X: np.ndarray) -> None:
        """Add the squares about the mean of both parts (Chan, Golub and LeVeque, 1979)."""
        mean, rows = X.mean(), self._rows + X.size
        apart = mean - self._mean
        self._squares += np.square(X - mean).sum() + apart**2 * self._rows * X.size / rows
        self._mean, self._rows = self._mean + apart * X.size / rows, rows

    def described(self) -> dict[str, Any]:
        """Return what is known of the column."""
        low, high, counts = self._low, self._high, self._values.counts
        mean = float(self._mean + (self._origin or 0))
        deviation = sqrt(self._squares / max(1, self._rows))
        known = low <= high and np.isfinite(mean)
        same, complete = low == high, not self._missing and not self._infinite
        return {
            "type": "bool" if self._kind == "bool" else "int" if self._whole else "number",
            "missing": self._missing,
            "infinite": self._infinite,
            "min": _json(low) if low <= high else None,
            "max": _json(high) if low <= high else None,
            "mean": (float(low) if same else mean) if known else None,
            "std": (0.0 if same else deviation) if known and np.isfinite(deviation) else None,
            "values": None if counts is None else len(counts),
            "constant": bool(same) and complete,
            "refused": self._long,
            "counts": counts,
        }


def _json(number: Any) -> int | float:
    return number if isinstance(number, int) else float(number)


class TextColumn:
    """A column of text, and why `fit` refuses it as a feature, if it does."""

    def __init__(self, name: str, refused: DataError | None, most: int):
        self.name, self._refused, self._values = name, refused, Values(most)
        self._rows = self._missing = self._spaces = self.hash = 0
        self._seen, self._repeats = set[int](), False

    def add(self, table: pa.Table, place: Place, rounded: dict[str, dict[int, Any]]) -> None:
        """Add the rows of a table."""
        column = as_text(table.column(self.name))
        codes, values = text_codes(column, self.name, place)
        self.hash = hash((self.hash, codes.tobytes(), *values))
        counts = np.bincount(codes[codes >= 0], minlength=len(values))
        self._missing += int(np.count_nonzero(codes < 0))
        self._rows += codes.size
        self._values.add(values, counts.tolist())
        blanks = pc.count_substring(pc.utf8_trim_whitespace(column), " ")
        self._spaces += pc.sum(blanks).as_py() or 0
        if len(self._seen) <= MOST_TEXTS:
            hashes = set(map(hash, values))
            self._repeats |= bool((counts > 1).any()) or not self._seen.isdisjoint(hashes)
            self._seen |= hashes

    def described(self) -> dict[str, Any]:
        """Return what is known of the column."""
        counts, filled, error = self._values.counts, self._rows - self._missing, self._refused
        settings = [h.settings for h in (error.hints if error else ()) if isinstance(h, Hint)]
        spelled = next((one for one in settings if one and one.keys() <= SPELLED), None)
        odd = error is not None and error.code == "not-a-number"
        return {
            "type": "text",
            "missing": self._missing,
            "values": None if counts is None else len(counts),
            "words": 1 + self._spaces / filled if filled else None,
            # None if there were too many texts to compare
            "unique": False if self._repeats or filled < 2 else len(self._seen) == filled or None,
            "various": filled > 100 and 2 * len(self._seen) > min(filled, MOST_TEXTS),
            "refused": error is not None,
            **({} if spelled is None else {"read_with": spelled}),
            "constant": not self._missing and counts is not None and len(counts) == 1,
            "invalid": str(error).split(", but ")[0] if odd else None,
            "counts": counts,
        }


class OtherColumn:
    """A column of dates, lists or other values that are no features as they are: only missing
    values are counted, and not those of lists in JSON lines, which are not read.
    """

    hash = 0

    def __init__(self, name: str, kind: str):
        self.name, self.kind = name, kind
        self._missing: int | None = None

    def add(self, table: pa.Table, place: Place, rounded: dict[str, dict[int, Any]]) -> None:
        """Add the rows of a table."""
        if self.name in table.column_names:
            self._missing = (self._missing or 0) + table.column(self.name).null_count

    def described(self) -> dict[str, Any]:
        """Return what is known of the column."""
        read = {"read_with": {"date": [self.name]}} if self.kind == "date" else {}
        return {
            "type": self.kind,
            "missing": self._missing,
            "constant": False,
            "counts": None,
        } | read


class SpreadSample:
    """Every k-th row of data; k is a power of two that grows with them.

    Parameters
    ----------
    choose : function from some rows and a mask to the rows that it selects
    """

    def __init__(self, choose: Callable[[Any, np.ndarray], Any]):
        self._choose, self._every, self._rows = choose, 1, 0
        self._kept: list[tuple[Any, np.ndarray]] = []

    def add(self, rows: Any, n_rows: int) -> None:
        """Add the next rows."""
        self._keep(rows, np.arange(self._rows, self._rows + n_rows))
        self._rows += n_rows
        while sum(places.size for _, places in self._kept) > SAMPLE_ROWS:
            self._every *= 2
            before, self._kept = self._kept, []
            for part in before:
                self._keep(*part)

    def _keep(self, rows: Any, places: np.ndarray) -> None:
        chosen = places % self._every == 0
        if chosen.any():
            self._kept.append((self._choose(rows, chosen), places[chosen]))

    @property
    def parts(self) -> list[Any]:
        """The rows, in order."""
        return [rows for rows, _ in self._kept]


class TableDescription(FilesInOrder):
    """Reads a table once.

    Parameters
    ----------
    files : the files of the table
    target : name of the label column, or None
    spelling : how numbers are written
    """

    def __init__(self, files: list[TableFile], target: str | None, spelling: Spelling = PLAIN):
        super().__init__(files)
        self._spelling, self._units = spelling, dict[str, tuple[str, str]]()
        self.target, self.kind, self._sample = target, "table", SpreadSample(_chosen)

    def describe(self) -> dict[str, Any]:
        """Return the descriptions of the columns; DataError if the files cannot be read."""
        first, columns, others, each = self._columns()
        rows = 0
        for file in self.each_file():
            stored, kinds = file.columns(), kinds_in(file, columns, False, first.path)
            kinds |= {
                name: "text" for name, kind in others.items()
                if name in stored and (file.typed or kind == "date")
            }  # fmt: skip
            start, whole = 0, None if file.typed else WholeNumbers(file)
            at_once = rows_at_once(len(kinds), 1 << 19, 1 << 21)
            for as_stored in rechunked(file.chunks(kinds), at_once):
                place, how = file.places_from(start), columns.converted
                table = converted(as_stored, how, self._spelling, place, self._units)
                rounded = _rounded(table, columns.numeric.keys() - how.keys(), whole, start)
                for column in each:
                    column.add(table, place, rounded)
                names = [n for n in table.column_names if others.get(n) in (None, "date")]
                self._sample.add(table.select(names), table.num_rows)
                start += table.num_rows
            rows += start
        if not rows:
            raise DataError(f"{self.name} has no rows: give a file with rows.", code="no-rows")
        described = {column.name: column.described() for column in each}
        alike: dict[int, list[str]] = {}
        for column in each:
            if column.hash and not described[column.name]["constant"]:
                alike.setdefault(column.hash, []).append(column.name)
        order = [name for name in first.columns() if name in described]
        return {
            "rows": rows,
            "columns": [{"name": name} | described[name] for name in order],
            "duplicates": [names for names in alike.values() if len(names) > 1],
        }

    def _columns(self) -> tuple[TableFile, Columns, dict[str, str], list[Any]]:
        """Return the first file with rows, its columns, the types of columns that cannot be
        features, and what describes each column.
        """
        file, head = first_rows(self._files)
        if self.target is not None:
            check_target(file.path, file.columns(), self.target)
        types = column_types(self._files)
        columns, rest = columns_of(types)
        for name, kind in rest.items():
            if pa.types.is_binary(kind) and not file.typed:
                find_bytes(file, name)
        others = {n: "date" if pa.types.is_temporal(k) else str(k) for n, k in rest.items()}
        for name in list(columns.text):
            if spelled(file, name, types[name], head.column(name), self._spelling):
                del columns.text[name]
                columns.numeric[name] = columns.converted[name] = "number"
        columns.exclude = list(others)
        most = {self.target: MOST_LABELS}
        each: list[Any] = [
            NumberColumn(name, kind, most.get(name, MOST_VALUES))
            for name, kind in columns.numeric.items()
        ]
        for name in columns.text:
            refused = text_refusal(file, name, head.column(name))
            each.append(TextColumn(name, refused, most.get(name, MOST_VALUES)))
        return file, columns, others, [*each, *(OtherColumn(*one) for one in others.items())]

    @property
    def sample(self) -> pa.Table:
        """Every k-th row, or all rows if they are few."""
        return pa.concat_tables(self._sample.parts, promote_options="permissive")


def _rounded(
    table: pa.Table, names: set[str], whole: WholeNumbers | None, start: int
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
            floats = plain_values(column).cast(pa.float64(), safe=False).to_numpy()
            found[name] = rounded_cells(column, floats, least=EXACT)
    return found


def _chosen(table: pa.Table, chosen: np.ndarray) -> pa.Table:
    """Return some rows without dictionaries, which hold the values of more rows than these."""
    few = table if chosen.all() else table.filter(pa.array(chosen))
    return pa.table([plain_values(column) for column in few.columns], few.column_names)
