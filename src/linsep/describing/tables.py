"""Describe tables: CSV, TSV, JSON lines, Parquet and Arrow files, in one reading."""

import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from math import inf, isclose, isfinite, sqrt
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from linsep.errors import DataError, Hint
from linsep.sources import tables
from linsep.sources.tables.columns import check_target, spelled, text_refusal
from linsep.sources.tables.spellings import Spelling
from linsep.sources.tables.table_file import Place, as_text, plain_values
from linsep.validation.checks import EXACT

#: kinds of columns that can be features
USABLE = ("text", "number", "bool", "int")
#: options that read text as numbers
SPELLED = {"decimal", "thousands", "units", "numeric", "null_values", "date"}
#: different values that are counted per column, and for labels; different texts
MOST_VALUES, MOST_LABELS, MOST_TEXTS = 1000, 10_000, 100_000
#: rows up to which a text column has to repeat a value only, or integers may be consecutive
FEW_ROWS = 100
#: names of columns of identifiers
ID_NAME = re.compile(r"(.*[\W_])?(id|ID|Id)|.*[a-z](Id|ID)")
#: rows of the sample on which separability is decided
SAMPLE_ROWS = 8192


class Column:
    """A column of text or dates, or of values that are not read, such as lists; up to ``most``
    different values are counted, and ``refused`` is why `fit` refuses it as a feature.
    """

    def __init__(self, name: str, kind: str, most: int, refused: DataError | None = None):
        self.name, self.kind, self._most, self._refused = name, kind, most, refused
        self._counts: Counter[Any] | None = Counter()
        self._missing = self._filled = self._spaces = 0
        self._seen = set[int]()

    def add(self, table: pa.Table, place: Place) -> None:
        """Add the rows of a table."""
        column = as_text(table.column(self.name))
        codes, values = tables.text_codes(column, self.name, place)
        self._missing += column.null_count
        self._filled += len(column) - column.null_count
        self._count(values, np.bincount(codes[codes >= 0], minlength=len(values)))
        blanks = pc.count_substring(pc.utf8_trim_whitespace(column), " ")
        self._spaces += pc.sum(blanks).as_py() or 0
        if len(self._seen) <= MOST_TEXTS:
            self._seen.update(map(hash, values))

    def _count(self, values: Any, counts: np.ndarray) -> None:
        if self._counts is not None:
            self._counts.update(dict(zip(values, counts.tolist(), strict=True)))
            self._counts = self._counts if len(self._counts) <= self._most else None

    def described(self) -> dict[str, Any]:
        """Return what is known of the column."""
        error, filled, different = self._refused, self._filled, len(self._seen)
        values = None if self._counts is None else len(self._counts)
        every, half = different == filled > 1, 2 * different > min(filled, MOST_TEXTS)
        settings = [h.settings for h in (error.hints if error else ()) if isinstance(h, Hint)]
        once = Counter(map(tuple, settings))  # dates may be of two formats
        ways = [one for one in settings if one.keys() & SPELLED and once[tuple(one)] == 1]
        if self.kind == "date":
            ways = [{"date": [self.name]}]
        odd, alike = error is not None and error.code == "not-a-number", dict[str, list[str]]()
        for value in map(str, self._counts or ()):
            alike.setdefault(" ".join(value.split()).casefold(), []).append(value)
        return {
            "name": self.name,
            "type": self.kind,
            "missing": self._missing if self.kind in (*USABLE, "date") else None,
            "values": values,
            "counts": self._counts,
            "constant": values == 1 and not self._missing,
            "words": 1 + self._spaces / filled if filled else 0.0,
            "marks": [mark for mark in tables.NO_NUMBER if mark and mark in (self._counts or ())],
            "alike": next((of for of in alike.values() if len(of) > 1), []),
            "refused": error is not None or (every if filled <= FEW_ROWS else half),
            "invalid": str(error).split(", but ")[0] if odd else None,
            "read_with": ways[0] if ways else {},
        }


class NumberColumn(Column):
    """A column of numbers or booleans."""

    _rows = _infinite = 0
    _mean, _squares, _low, _high = 0.0, 0.0, inf, -inf
    _whole = True

    @np.errstate(over="ignore", invalid="ignore")
    def add(self, table: pa.Table, place: Place) -> None:
        """Add the rows of a table."""
        X = tables.numbers_in(table, self.name) + 0.0  # zeros have one sign
        known = X[~np.isnan(X)]
        numbers = known[np.isfinite(known)]
        self._missing += X.size - known.size
        self._infinite += known.size - numbers.size
        if self._counts is not None:
            values, counts = np.unique(known, return_counts=True)
            self._count((values.astype(bool) if self.kind == "bool" else values).tolist(), counts)
        if not numbers.size:
            return
        self._low, self._high = min(self._low, numbers.min()), max(self._high, numbers.max())
        self._whole = self._whole and bool((numbers % 1 == 0).all())
        # squares about the mean of both parts (Chan, Golub and LeVeque, 1979)
        mean, rows = numbers.mean(), self._rows + numbers.size
        apart = mean - self._mean
        between = apart**2 * self._rows * numbers.size / rows
        self._squares += np.square(numbers - mean).sum() + between
        self._mean, self._rows = self._mean + apart * numbers.size / rows, rows

    def described(self) -> dict[str, Any]:
        """Return what is known of the column; whole numbers from 2^53 on may be rounded."""
        long = self._whole and max(-self._low, self._high) >= EXACT
        known = {"min": self._low, "max": self._high, "mean": self._mean}
        known["std"] = sqrt(self._squares / max(1, self._rows))
        if self._low == self._high:
            known |= {"mean": self._low, "std": 0.0}
        told = {n: float(x) if self._rows and isfinite(x) else None for n, x in known.items()}
        kind = "int" if self._whole and self.kind != "bool" else self.kind
        n, found = self._rows, super().described()
        consecutive = self._high - self._low + 1 == n > FEW_ROWS and isclose(
            self._squares, n * (n**2 - 1) / 12, rel_tol=1e-9
        )
        like_id = consecutive or ID_NAME.fullmatch(self.name) is not None
        return found | told | {
            "type": kind, "infinite": self._infinite, "refused": bool(long or self._infinite),
            "like_id": kind == "int" and found["values"] in (n, None) and bool(like_id),
        }  # fmt: skip


#: what describes a column of a kind, if not :class:`Column`
OF_KIND: dict[str, type[Column]] = {"number": NumberColumn, "bool": NumberColumn}


class SpreadSample:
    """Every k-th of the ``n_rows`` rows that were added; k is a power of two that grows with them.
    ``take`` returns rows of these numbers, ``join`` those of a list as one.
    """

    def __init__(self, take: Callable[[Any, np.ndarray], Any], join: Callable[[list[Any]], Any]):
        self._take, self._join, self._parts = take, join, list[Any]()
        self._every, self.n_rows, self._kept = 1, 0, 0

    def add(self, rows: Any, n_rows: int) -> None:
        """Add the next rows."""
        chosen = np.arange(-self.n_rows % self._every, n_rows, self._every)
        self._parts.append(self._take(rows, chosen))
        self.n_rows, self._kept = self.n_rows + n_rows, self._kept + chosen.size
        while self._kept > SAMPLE_ROWS:
            half = np.arange(0, self._kept, 2)
            self._parts = [self._take(self.rows, half)]
            self._every, self._kept = 2 * self._every, half.size

    @property
    def rows(self) -> Any:
        """The rows, in order."""
        return self._join([*self._parts])


class TableDescription(tables.FilesInOrder):
    """Reads the files of a table once; ``sample`` is every k-th row, or all rows if they are few.

    ``target`` is the name of the label column, or None, and ``spelling`` how numbers are written.
    """

    def __init__(
        self, files: list[tables.TableFile], target: str | None, spelling: Spelling = tables.PLAIN
    ):
        super().__init__(files)
        self._spelling, self._units = spelling, dict[str, tuple[str, str]]()
        self.target, self.kind = target, "table"
        self.sample = SpreadSample(_taken, partial(pa.concat_tables, promote_options="permissive"))

    def describe(self) -> dict[str, Any]:
        """Return the descriptions of the columns; DataError if the files cannot be read."""
        first, head = tables.first_rows(self._files)
        if self.target is not None:
            check_target(first.path, first.columns(), self.target)
        types, each = tables.column_types(self._files), dict[str, Column]()
        columns, others = tables.columns_of(types)
        for name, kind in types.items():
            most = MOST_LABELS if name == self.target else MOST_VALUES
            if spelled(first, name, kind, head.column(name), self._spelling):
                columns.text.pop(name, None)
                columns.numeric[name] = columns.converted[name] = "number"
            error, what = None, columns.numeric.get(name, str(kind))
            if name in columns.text:
                what, error = "text", text_refusal(first, name, head.column(name))
            elif pa.types.is_temporal(kind):
                what = "date"
            undecoded = pa.types.is_binary(kind) and not first.typed
            if undecoded or (name == self.target and what not in USABLE):
                raise tables.no_feature(first, name, kind, "label column", "label-type")
            each[name] = OF_KIND.get(what, Column)(name, what, most, error)
        columns.exclude, rows = list(others), 0
        for file in self.each_file():
            kinds, start = tables.kinds_in(file, columns, False, first.path), 0
            dates = [name for name in file.columns() if each[name].kind == "date"]
            kinds |= dict.fromkeys(dates, "text")
            at_once = tables.rows_at_once(len(kinds), 1 << 19, 1 << 21)
            for stored in tables.rechunked(file.chunks(kinds), at_once):
                place = file.places_from(start)
                table = tables.converted(
                    stored, columns.converted, self._spelling, place, self._units
                )
                for name in table.column_names:
                    each[name].add(table, place)
                self.sample.add(table, table.num_rows)
                start += table.num_rows
            rows += start
        return {"rows": rows, "columns": [column.described() for column in each.values()]}


def _taken(table: pa.Table, rows: np.ndarray) -> pa.Table:
    """Return some rows without dictionaries, which hold the values of more rows than these."""
    few = table.take(pa.array(rows))
    return pa.table([plain_values(column) for column in few.columns], few.column_names)
