"""Running statistics of table columns."""

from collections import Counter
from collections.abc import Callable
from hashlib import blake2b
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
#: numbers from here on are summed as they are: their differences could overflow float64
FAR = 2.0**1000
#: rows of the sample on which separability is decided
SAMPLE_ROWS = 8192

#: rows with numbers that floats cannot represent, by column
Exact = dict[int, dict[int, Any]]

#: share of numbers in a text column from which other values are reported as invalid
LEAST_NUMERIC = 0.9

_FACTORS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_HALF = np.uint64(32)


def mixed(bits: np.ndarray) -> np.ndarray:
    """Return uint64 numbers with their bits mixed; 0 stays 0."""
    bits = (bits ^ bits >> _HALF) * _FACTORS[0]
    bits = (bits ^ bits >> _HALF) * _FACTORS[1]
    return bits ^ bits >> _HALF


def of_rows(first: int, n_rows: int) -> np.ndarray:
    """Return an odd factor for each row by its number, for sums that distinguish columns."""
    return mixed(np.arange(first + 1, first + 1 + n_rows, dtype=np.uint64)) | np.uint64(1)


def of_numbers(values: np.ndarray) -> np.ndarray:
    """Return a hash of each number, 0 for zeros of either sign; all NaN are equal."""
    values = np.asarray(values, np.float64) + 0.0
    bits = values.view(np.uint64).copy()
    bits[np.isnan(values)] = np.uint64(1)
    return mixed(bits)


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
        self.kinds, self.rows = kinds, 0
        n = len(kinds)
        self._moments = Moments(n)
        self._low, self._high = np.full(n, np.inf), np.full(n, -np.inf)
        self._missing, self._infinite = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self._whole, self.hashes = np.ones(n, bool), np.zeros(n, np.uint64)
        self._origins: np.ndarray | None = None
        self._ends: dict[int, tuple[Any, Any]] = {}
        self._values = {
            name: Values(MOST_LABELS if name == target else MOST_VALUES) for name in kinds
        }

    def add(self, table: pa.Table, rounded: dict[str, dict[int, Any]]) -> None:
        """Add the rows of a table, in which floats stand for the ``rounded`` numbers (by row)."""
        X = np.empty((table.num_rows, len(self.kinds)))
        for k, name in enumerate(self.kinds):
            X[:, k] = (
                plain_values(table.column(name), name).cast(pa.float64(), safe=False).to_numpy()
            )
        # Sums of hashes times random factors of the rows: columns with equal sums are equal, but
        # for one pair in 2^64, and no row has to be kept to compare them.
        factors = of_rows(self.rows, len(X))
        self.hashes += (of_numbers(X) * factors[:, None]).sum(axis=0, dtype=np.uint64)
        exact = {list(self.kinds).index(name): cells for name, cells in rounded.items() if cells}
        for k, cells in exact.items():
            rows = np.array(list(cells))
            remains = np.array([hash(cells[row]) for row in rows.tolist()]).view(np.uint64)
            self.hashes[k : k + 1] += (mixed(remains) * factors[rows]).sum(dtype=np.uint64)
        self._missing += np.isnan(X).sum(axis=0)
        self._infinite += np.isinf(X).sum(axis=0)
        X[np.isinf(X)] = np.nan
        low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
        self._widen(X, low, high, exact)
        self._low, self._high = np.fmin(self._low, low), np.fmax(self._high, high)
        self._whole &= ((np.floor(X) == X) | np.isnan(X)).all(axis=0)
        for k, values in enumerate(self._values.values()):
            if not values.too_many:
                found, counts = np.unique(_present(X, k, exact), return_counts=True)
                values.add(found.tolist(), counts.tolist())
        self._moments.add(self._about_origins(X, exact))
        self.rows += len(X)

    def _widen(self, X: np.ndarray, low: np.ndarray, high: np.ndarray, exact: Exact) -> None:
        """Take rows, whose floats lie between ``low`` and ``high``, into the exact ends of columns
        some of whose numbers are rounded.
        """
        for k in {*self._ends, *exact}:
            values = _present(X, k, exact) if k in exact else np.array([low[k], high[k]])
            before = self._ends.get(k, (self._low[k].item(), self._high[k].item()))
            if not np.isnan(low[k]):
                self._ends[k] = min(values.min(), before[0]), max(values.max(), before[1])

    def _about_origins(self, X: np.ndarray, exact: Exact) -> np.ndarray:
        """Return rows minus their columns' first numbers where these are large, so that the spread
        of numbers that floats do not hold is not lost.
        """
        if self._origins is None:
            self._origins = np.zeros(X.shape[1])
            for k in range(X.shape[1]):
                first = X[np.argmin(np.isnan(X[:, k])), k] if len(X) else 0.0
                self._origins[k] = first if EXACT <= abs(first) < FAR else 0.0
        if not self._origins.any():
            return X
        with np.errstate(over="ignore"):
            found = X - self._origins
        for k, cells in exact.items():
            origin = int(self._origins[k])
            for row, value in cells.items():
                found[row, k] = float(value - origin)
        return found

    def described(self) -> dict[str, dict[str, Any]]:
        """Return the description of each column."""
        moments, found = self._moments.close(), {}
        for k, (name, kind) in enumerate(self.kinds.items()):
            low, high, missing = self._low[k], self._high[k], int(self._missing[k])
            some = bool(low <= high)
            low, high = self._ends.get(k, (float(low), float(high)))
            origin = 0.0 if self._origins is None else float(self._origins[k])
            mean, deviation = origin + float(moments.means[k]), float(moments.deviations[k])
            known = some and np.isfinite(mean)
            spread = known and (low == high or 0 < deviation < np.inf)
            counts = self._values[name].counts
            found[name] = {
                "type": "bool" if kind == "bool" else "int" if self._whole[k] else "number",
                "missing": missing,
                "infinite": int(self._infinite[k]),
                "min": _json(low) if some else None,
                "max": _json(high) if some else None,
                "mean": mean if known else None,
                "std": deviation * float(low < high) if spread else None,
                "values": None if counts is None else len(counts),
                "constant": bool(low == high) and not missing and not self._infinite[k],
                "refused": k in self._ends,
                "counts": counts,
            }
        return found


def _present(X: np.ndarray, k: int, exact: Exact) -> np.ndarray:
    """Return the numbers of a column that are not missing, exact ones where some are rounded."""
    column = X[:, k]
    if k in exact:
        column = column.astype(object)
        column[list(exact[k])] = list(exact[k].values())
    return column[~np.isnan(X[:, k])]


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
        digests = [blake2b(value.encode(), digest_size=8).digest() for value in values]
        hashes = np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)
        present = codes >= 0
        rows = of_rows(self.rows, codes.size)[present]
        added = (hashes[codes[present]] * rows).sum(dtype=np.uint64)
        self.hash = (self.hash + int(added)) % 2**64
        self.missing += int(codes.size - present.sum())
        self.rows += codes.size
        counts = np.bincount(codes[present], minlength=len(values))
        self._values.add(values, counts.tolist())
        self._spaces += (
            pc.sum(pc.count_substring(pc.utf8_trim_whitespace(column), " ")).as_py() or 0
        )
        self._look_for_numbers(column, place)
        self._look_for_repeats(hashes.tolist(), bool((counts > 1).any()))

    def _look_for_numbers(self, column: pa.ChunkedArray, place: Place) -> None:
        """Count cells that look like numbers, and keep the first that does not."""
        numbers = pc.match_substring_regex(column, f"^(?:{NUMBER})$")
        self._numbers += pc.sum(numbers).as_py() or 0
        if self._odd is None and self._numbers and pc.any(pc.invert(numbers)).as_py():
            row = pc.index(numbers, pa.scalar(False)).as_py()
            self._odd = f"{place(row)}, column '{self.name}' holds '{column[row].as_py()[:60]}'"

    def _look_for_repeats(self, hashes: list[int], here: bool) -> None:
        """Detect whether a value occurs twice, among the first hundred thousand different
        values."""
        if self.repeats or len(self._seen) > MOST_TEXTS:
            return
        self.repeats = here or not self._seen.isdisjoint(hashes)
        self._seen.update(hashes)

    def described(self) -> dict[str, Any]:
        """Return what is known of the column."""
        counts, filled = self._values.counts, self.rows - self.missing
        return {
            "type": "text",
            "missing": self.missing,
            "values": None if counts is None else len(counts),
            "words": 1 + self._spaces / filled if filled else None,
            "unique": self._unique(filled),
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

    def _unique(self, filled: int) -> bool | None:
        """Return whether every row has a different text; None if there were too many to compare."""
        if self.repeats or filled < 2:
            return False
        return True if len(self._seen) == filled else None


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
        alike.setdefault(int(number), []).append(name)
    return [names for names in alike.values() if len(names) > 1]
