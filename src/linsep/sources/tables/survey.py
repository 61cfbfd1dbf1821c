"""Survey of a table: means, spreads and text values of all rows, needed before the first batch.

The results do not depend on how rows are cut into batches and files: values are sorted, and moments
are summed in blocks of fixed size.
"""

from collections import Counter
from typing import Any

import numpy as np

from linsep.errors import DataError, hint
from linsep.sources.tables.columns import FIRST_LEVEL, Columns

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
            self._open = self._open[:0]
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
    """Reads all rows of a table once and completes its columns."""

    def __init__(self, columns: Columns, moments: bool, min_count: int = 1):
        self._columns = columns
        self._moments = Moments(len(columns.numeric)) if moments else None
        self._min_count = min_count
        named = [*columns.text, *(p.name for p in columns.products if p.texts)]
        named = named if columns.hash_bits is None else []
        self._counts: dict[str, Any] = {name: Counter() for name in named}

    def take(self, X: np.ndarray, counts: dict[str, dict[Any, int]]) -> None:
        """Add rows: their numbers (NaN if missing), and how many rows have each value of the text
        columns and of products.
        """
        if self._moments is not None and self._columns.formula is None:
            self._moments.add(X)
        for name, known in self._counts.items():
            known.update(counts[name])
            if len(known) > MOST_VALUES:
                what = "Column" if name in self._columns.text else "The product"
                raise DataError(
                    f"{what} '{name}' has more than {MOST_VALUES} different values",
                    hint("leave it out with {}", exclude=[name]),
                    hint("hash the values with {}", hash_bits=20),
                    code="too-large", column=name,
                )  # fmt: skip

    def finish(self, who: str, scale: bool, reference_level: Any) -> None:
        """Complete the columns; ``who`` is the name of the table in errors."""
        for name, counter in self._columns.words.items():
            try:
                counter.finish()
            except DataError as error:
                raise error.at(f"{who}, column '{name}': ", column=name) from None
        if self._columns.formula is not None:
            features = self._columns.formula.learn()
            self._columns.numeric = dict.fromkeys(self._columns.formula.names, "number")
            if self._moments is not None:
                self._moments = Moments(len(self._columns.numeric))
                for X in features:
                    self._moments.add(X)
        if self._moments is not None and self._columns.numeric:
            self._describe_numbers(self._moments.close(), who, scale)
        texts = {name: rows for name, rows in self._counts.items() if name in self._columns.text}
        levels = self._columns.gather_rare(texts, self._min_count)
        references = self._references(who, levels, reference_level)
        keys = {name: {*rows} for name, rows in self._counts.items()}
        self._columns.order_values(levels, keys, references)
        if not self._columns.width and self._columns.formula is None:
            said = f"{who} has no features: every column has the same text in all rows"
            raise DataError(said, code="no-columns")

    def _describe_numbers(self, moments: Moments, who: str, scale: bool) -> None:
        columns, names = self._columns, list(self._columns.numeric)
        means, spreads = moments.means.tolist(), moments.spreads.tolist()
        if columns.missing == "mean":
            if not moments.counts.all():
                name = names[int(np.argmin(moments.counts))]
                raise DataError(
                    f"{who}, column '{name}' has no values and therefore no mean",
                    hint("leave it out with {}", exclude=[name]),
                    code="missing-value", column=name,
                )  # fmt: skip
            columns.means = dict(zip(names, means, strict=True))
        if scale:
            columns.scale = {
                name: [mean, spread]
                for name, mean, spread in zip(names, means, spreads, strict=True)
            }

    def _references(
        self, who: str, levels: dict[str, set[str]], reference_level: Any
    ) -> dict[str, str]:
        """Return the reference level of each text column, which has no indicator."""
        if reference_level is None:
            return {}
        in_order = self._columns.in_order
        first = {name: in_order(name, known)[0] for name, known in levels.items() if known}
        if reference_level == FIRST_LEVEL:
            return first
        for name, value in reference_level.items():
            if value not in levels[name]:
                some = ", ".join(f"'{known}'" for known in in_order(name, levels[name])[:20])
                raise DataError(
                    f"{who}, column '{name}' has no value '{value}' to be the reference level, "
                    f"only {some}",
                    hint("choose one of these with {}", reference_level=None),
                    code="unknown-value", column=name, option="reference_level", value=value,
                )  # fmt: skip
        return first | reference_level
