"""Survey of a table: means, spreads and text values of all rows, needed before the first batch.

The results do not depend on how rows are cut into batches and files: values are sorted, and moments
are summed in blocks of fixed size.
"""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa

from linsep.errors import DataError, hint
from linsep.sources.tables.columns import FIRST_LEVEL, Rare
from linsep.sources.tables.encoding import Encoder, told
from linsep.sources.tables.products import cells_of, placed
from linsep.sources.tables.table_file import Place

#: the level of all values of few rows
RARE = "(rare)"
#: text columns with more values than this are hashed or left out, so that memory stays flat
MOST_VALUES = 1 << 20


class Moments:
    """Counts, means and spreads of ``width`` columns, ignoring NaN.

    Rows are summed in blocks of :attr:`BLOCK` rows from the first one, so that no digit depends on
    the batches.
    """

    BLOCK = 1024

    def __init__(self, width: int):
        self.counts = np.zeros(width, np.int64)
        self._sums, self._squares = np.zeros(width), np.zeros(width)
        self._lows, self._highs = np.full(width, np.inf), np.full(width, -np.inf)
        self._open = np.empty((0, width))

    def add(self, X: np.ndarray) -> None:
        rows = np.concatenate([self._open, X]) if len(self._open) else X
        whole = len(rows) // self.BLOCK * self.BLOCK
        for first in range(0, whole, self.BLOCK):
            self._add(rows[first : first + self.BLOCK])
        self._open = rows[whole:].copy()

    def close(self) -> "Moments":
        """Add the rows of an unfinished block; call it last."""
        if len(self._open):
            self._add(self._open)
        return self

    def _add(self, X: np.ndarray) -> None:
        X = X.astype(np.float64, copy=False)
        self._lows = np.fmin(self._lows, np.fmin.reduce(X, axis=0))
        self._highs = np.fmax(self._highs, np.fmax.reduce(X, axis=0))
        with np.errstate(all="ignore"):
            counts = len(X) - np.isnan(X).sum(axis=0)
            sums = np.nansum(X, axis=0)
            means = sums / np.maximum(counts, 1)
            # Chan, Golub and LeVeque (1979): squares about the mean of both parts.
            between = (means - self._means()) ** 2 * counts * self.counts
            self._squares += np.nansum((X - means) ** 2, axis=0)
            self._squares += between / np.maximum(counts + self.counts, 1)
        self._sums += sums
        self.counts += counts

    def _means(self) -> np.ndarray:
        return self._sums / np.maximum(self.counts, 1)

    @property
    def means(self) -> np.ndarray:
        """The mean of each column, 0 for one without values."""
        # A sum of equal values is rounded: their mean is that value.
        return np.where(self._lows == self._highs, self._lows, self._means())

    @property
    def spreads(self) -> np.ndarray:
        """The standard deviation of each column, 1 if it is 0 or overflows float64."""
        found = np.sqrt(self._squares / np.maximum(self.counts, 1))
        usable = (self._lows < self._highs) & (found > 0) & np.isfinite(found)
        return np.where(usable, found, 1.0)


class Survey:
    """Takes all rows of a table once and completes its columns; ``name`` is that of the table in
    errors.
    """

    def __init__(self, encoder: Encoder, name: str, moments: bool, min_count: int | None):
        self._columns, self._encoder, self._name = encoder.columns, encoder, name
        columns = self._columns
        self._moments = Moments(len(columns.numeric)) if moments else None
        self._min_count = min_count or 1
        named = [*columns.text, *(p.name for p in columns.products if p.texts)]
        named = named if columns.hash_bits is None else []
        self._counts: dict[str, Counter[Any]] = {name: Counter() for name in named}

    def take(self, table: pa.Table, place: Place) -> int:
        """Count values, learn the words of texts, and add up numbers in the rows that an encoder
        keeps; return how many these are. Raises what an encoder would raise.
        """
        columns = self._columns
        table, place, X, rows, _ = self._encoder.selected(table, place)
        for name, counter in columns.words.items():
            if counter.learns:
                told(counter.learn, table, name, place)
        self._encoder.labels(table, place)
        if columns.formula is not None:
            columns.formula.take(table)
        elif self._moments is not None:
            self._moments.add(X)
        cells = self._encoder.cells(table, place)
        cells |= {p.name: cells_of(p, cells, len(rows)) for p in columns.products}
        for name, known in self._counts.items():
            codes, values = cells[name]
            counts = np.bincount(codes[codes >= 0], minlength=len(values)).tolist()
            known.update(dict(zip(values, counts, strict=True)))
            if len(known) > MOST_VALUES:
                what = "Column" if name in columns.text else "The product"
                raise DataError(
                    f"{what} '{name}' has more than {MOST_VALUES} different values",
                    hint("leave it out with {}", exclude=[name]),
                    hint("hash the values with {}", hash_bits=20),
                    code="too-large", column=name,
                )  # fmt: skip
        return len(rows)

    def finish(self, scale: bool, reference_level: Any) -> None:
        columns = self._columns
        for name, counter in columns.words.items():
            try:
                counter.finish()
            except DataError as error:
                raise error.at(f"{self._name}, column '{name}': ", column=name) from None
        if columns.formula is not None:
            features = columns.formula.learn()
            columns.numeric = dict.fromkeys(columns.formula.names, "number")
            if self._moments is not None:
                self._moments = Moments(len(columns.numeric))
                for X in features:
                    self._moments.add(X)
        if self._moments is not None and columns.numeric:
            self._describe_numbers(self._moments.close(), scale)
        place = len(columns.numeric)
        for name in columns.text if columns.hash_bits is None else ():
            levels = self._levels(name, reference_level)
            columns.text[name] = {value: place + k for k, value in enumerate(levels)}
            place += len(levels)
        keys = {name: {*rows} for name, rows in self._counts.items()}
        columns.products = placed(columns, keys, place)
        if not (columns.indicators_end or columns.words or columns.formula):
            said = f"{self._name} has no features: every column has the same text in all rows"
            raise DataError(said, code="no-columns")

    def _describe_numbers(self, moments: Moments, scale: bool) -> None:
        columns, means, spreads = self._columns, moments.means.tolist(), moments.spreads.tolist()
        for name, mean, spread, values in zip(
            columns.numeric, means, spreads, moments.counts, strict=True
        ):
            if columns.missing == "mean":
                if not values:
                    said = f"{self._name}, column '{name}' has no values and therefore no mean"
                    leave = hint("leave it out with {}", exclude=[name])
                    raise DataError(said, leave, code="missing-value", column=name)
                columns.means[name] = mean
            if scale:
                columns.scale[name] = [mean, spread]

    def _levels(self, name: str, reference_level: Any) -> list[str]:
        """Return the values of a text column that have indicators, in the order of these:
        categories in theirs, others by code point, and last the one of all rare values.
        """
        columns, rows, level = self._columns, self._counts[name], RARE
        few = {value for value, n in rows.items() if n < self._min_count}
        ranks = {value: rank for rank, value in enumerate(columns.levels.get(name, ()))}
        levels = sorted(rows.keys() - few, key=lambda v: (ranks.get(v, len(ranks)), v))
        while level in rows:
            level = f"({level})"
        if few:
            columns.rare[name] = Rare(level, frozenset(few), self._min_count)
            levels.append(level)
        if reference_level is None or not levels:
            return levels
        of_column = {} if reference_level == FIRST_LEVEL else reference_level
        value = of_column.get(name, levels[0])
        if value not in levels:
            some = ", ".join(f"'{known}'" for known in levels[:20])
            raise DataError(
                f"{self._name}, column '{name}' has no value '{value}' to be the reference level, "
                f"only {some}",
                hint("choose one of these with {}", reference_level=None),
                code="unknown-value", column=name, option="reference_level", value=value,
            )  # fmt: skip
        columns.reference[name] = value
        return [other for other in levels if other != value]
