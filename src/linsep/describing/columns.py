"""Running statistics of table columns."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from linsep.errors import DataError, Hint
from linsep.sources.exact import EXACT
from linsep.sources.tables.column_types import NUMBER
from linsep.sources.tables.survey import Moments
from linsep.sources.tables.table_file import Place, as_text, plain_values, text_codes

#: options that read text as numbers
SPELLED = {"decimal", "thousands", "units", "numeric", "null_values"}
#: different values that are counted per column, and for labels
MOST_VALUES, MOST_LABELS = 1000, 10_000
#: different texts that are distinguished
MOST_TEXTS = 100_000
#: rows of the sample on which separability is decided
SAMPLE_ROWS = 8192

#: share of numbers in a text column from which other values are reported as invalid
LEAST_NUMERIC = 0.9


class Values:
    """Counts of different values, dropped beyond ``most``."""

    def __init__(self, most: int):
        self._most, self._counts = most, Counter[Any]()
        self.too_many = False

    def add(self, values: list[Any], counts: list[int]) -> None:
        """Count values, each so many times."""
        if not self.too_many:
            self._counts.update(dict(zip(values, counts, strict=True)))
            self.too_many = len(self._counts) > self._most
        if self.too_many:
            self._counts.clear()

    @property
    def counts(self) -> Counter[Any] | None:
        """How often each value occurs; None if there are too many."""
        return None if self.too_many else self._counts


class NumberColumns:
    """The columns of numbers and booleans: ranges, means, missing values, hashes.

    Parameters
    ----------
    kinds : "number" or "bool" by name
    target : name of the label column, or None
    """

    def __init__(self, kinds: dict[str, str], target: str | None):
        self.kinds, n = kinds, len(kinds)
        self._moments, self._origins = Moments(n), np.full(n, np.nan)
        self._low, self._high = np.full(n, np.inf), np.full(n, -np.inf)
        self._missing, self._infinite = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self._whole = np.ones(n, bool)
        #: of what each column holds: columns are equal if these are, but for one pair in 2^64
        self.hashes = [0] * n
        self._ends: dict[int, tuple[Any, Any]] = {}
        self._values = {
            name: Values(MOST_LABELS if name == target else MOST_VALUES) for name in kinds
        }

    def add(self, table: pa.Table, rounded: dict[str, dict[int, Any]]) -> None:
        """Add the rows of a table, in which floats stand for the ``rounded`` numbers (by row)."""
        X = np.empty((table.num_rows, len(self.kinds)), order="F")
        for k, name in enumerate(self.kinds):
            column = plain_values(table.column(name), name)
            X[:, k] = column.cast(pa.float64(), safe=False).to_numpy()
        X += 0.0  # zeros of either sign are equal
        self._missing += np.isnan(X).sum(axis=0)
        self._infinite += np.isinf(X).sum(axis=0)
        for k, (name, values) in enumerate(self._values.items()):
            cells = rounded[name]
            self.hashes[k] = hash((self.hashes[k], X[:, k].tobytes(), *cells.items()))
            if not values.too_many or cells or k in self._ends:
                self._look_at(k, X[:, k], cells, values)
        X[np.isinf(X)] = np.nan
        self._low = np.fmin(self._low, np.fmin.reduce(X, axis=0))
        self._high = np.fmax(self._high, np.fmax.reduce(X, axis=0))
        self._whole &= ((np.floor(X) == X) | np.isnan(X)).all(axis=0)
        self._moments.add(self._about_origins(X, rounded))

    def _look_at(self, k: int, column: np.ndarray, cells: dict[int, Any], values: Values) -> None:
        """Count the values of a column, and note the ends of one that floats do not hold."""
        exact = column.astype(object) if cells else column
        for row, number in cells.items():
            exact[row] = number
        found, counts = np.unique(exact[np.isfinite(column)], return_counts=True)
        values.add(found.tolist(), counts.tolist())
        if found.size and (cells or k in self._ends):
            known = self._ends.get(k, (self._low[k].item(), self._high[k].item()))
            self._ends[k] = min(known[0], found[0]), max(known[1], found[-1])

    def _about_origins(self, X: np.ndarray, rounded: dict[str, dict[int, Any]]) -> np.ndarray:
        """Return rows minus their columns' first numbers where these are large, so that the spread
        of numbers that floats do not hold is not lost.
        """
        new = np.isnan(self._origins)
        if new.any() and len(X):
            first = X[np.argmin(np.isnan(X), axis=0), np.arange(X.shape[1])]
            first = np.where(np.abs(first) < EXACT, 0.0, first)
            self._origins = np.where(new, first, self._origins)
        found = X - np.nan_to_num(self._origins)
        for k, cells in enumerate(rounded[name] for name in self.kinds):
            for row, number in cells.items():
                found[row, k] = float(number - int(self._origins[k]))
        return found

    def described(self) -> dict[str, dict[str, Any]]:
        """Return the description of each column."""
        moments, found = self._moments.close(), {}
        for k, (name, kind) in enumerate(self.kinds.items()):
            some = bool(self._low[k] <= self._high[k])
            low, high = self._ends.get(k, (self._low[k].item(), self._high[k].item()))
            mean = float(np.nan_to_num(self._origins[k]) + moments.means[k])
            deviation, counts = float(moments.deviations[k]), self._values[name].counts
            known = some and np.isfinite(mean)
            spread = known and (low == high or 0 < deviation < np.inf)
            found[name] = {
                "type": "bool" if kind == "bool" else "int" if self._whole[k] else "number",
                "missing": int(self._missing[k]),
                "infinite": int(self._infinite[k]),
                "min": _json(low) if some else None,
                "max": _json(high) if some else None,
                "mean": mean if known else None,
                "std": deviation * float(low < high) if spread else None,
                "values": None if counts is None else len(counts),
                "constant": bool(low == high) and not self._missing[k] and not self._infinite[k],
                "refused": k in self._ends,
                "counts": counts,
            }
        return found


def _json(number: Any) -> int | float:
    return number if isinstance(number, int) else float(number)


class TextColumn:
    """A column of text: different values, missing ones, words in a cell, its hash.

    Parameters
    ----------
    name : of the column
    target : whether it holds the labels
    refused : why `fit` refuses it as a feature, or None
    """

    def __init__(self, name: str, target: bool, refused: DataError | None):
        self.refused = refused
        self.name, self.hash, self.rows, self.missing = name, 0, 0, 0
        self._values = Values(MOST_LABELS if target else MOST_VALUES)
        self._seen: set[int] = set()
        self._spaces = self._numbers = 0
        self.repeats = False
        self._odd: str | None = None

    def add(self, table: pa.Table, place: Place) -> None:
        """Add the rows of a table."""
        column = as_text(table.column(self.name), self.name)
        codes, values = text_codes(column, self.name, place)
        self.hash = hash((self.hash, codes.tobytes(), *values))
        counts = np.bincount(codes[codes >= 0], minlength=len(values))
        self.missing += int(np.count_nonzero(codes < 0))
        self.rows += codes.size
        self._values.add(values, counts.tolist())
        self._spaces += (
            pc.sum(pc.count_substring(pc.utf8_trim_whitespace(column), " ")).as_py() or 0
        )
        if not self.repeats and len(self._seen) <= MOST_TEXTS:
            hashes = set(map(hash, values))
            self.repeats = bool((counts > 1).any()) or not self._seen.isdisjoint(hashes)
            self._seen |= hashes
        self._look_for_numbers(column, place)

    def _look_for_numbers(self, column: pa.ChunkedArray, place: Place) -> None:
        """Count cells that look like numbers, and keep the first that does not."""
        numbers = pc.match_substring_regex(column, f"^(?:{NUMBER})$")
        self._numbers += pc.sum(numbers).as_py() or 0
        if self._odd is None and self._numbers and pc.any(pc.invert(numbers)).as_py():
            row = pc.index(numbers, pa.scalar(False)).as_py()
            self._odd = f"{place(row)}, column '{self.name}' holds '{column[row].as_py()[:60]}'"

    def described(self) -> dict[str, Any]:
        """Return what is known of the column."""
        counts, filled = self._values.counts, self.rows - self.missing
        return {
            "type": "text",
            "missing": self.missing,
            "values": None if counts is None else len(counts),
            "words": 1 + self._spaces / filled if filled else None,
            # None if there were too many texts to compare
            "unique": False if self.repeats or filled < 2 else len(self._seen) == filled or None,
            "refused": self.refused is not None,
            **self._read_with(),
            "constant": not self.missing and counts is not None and len(counts) == 1,
            "invalid": self._odd if self._numbers >= LEAST_NUMERIC * filled else None,
            "counts": counts,
        }

    def _read_with(self) -> dict[str, Any]:
        """Return the options with which `fit` accepts a column of numbers that it refuses by
        default."""
        hints = () if self.refused is None else self.refused.hints
        settings = [hint.settings for hint in hints if isinstance(hint, Hint)]
        found = next((one for one in settings if one.keys() <= SPELLED), None)
        return {} if found is None else {"read_with": found}


class OtherColumn:
    """A column of dates, lists or other values that cannot be features: only missing values are
    counted, except for lists in JSON lines, which are not read.
    """

    def __init__(self, name: str, kind: str):
        self.name, self.kind = name, kind
        self.missing: int | None = None

    def add(self, table: pa.Table) -> None:
        """Add the rows of a table."""
        self.missing = (self.missing or 0) + table.column(self.name).null_count

    def described(self) -> dict[str, Any]:
        """Return what is known of the column."""
        return {"type": self.kind, "missing": self.missing, "constant": False, "counts": None}


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


def equal_columns(hashes: dict[str, int]) -> list[list[str]]:
    """Return the names of columns that are equal in every row, as lists."""
    alike: dict[int, list[str]] = {}
    for name, number in hashes.items():
        alike.setdefault(number, []).append(name)
    return [names for names in alike.values() if len(names) > 1]
