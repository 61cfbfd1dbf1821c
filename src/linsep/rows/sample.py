"""An evenly spread sample of the rows of a stream, to measure accuracy on."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.rows.stored import join
from linsep.rows.weights import added


class Part(NamedTuple):
    """Rows, their class codes, weights (empty if all are 1), and numbers in the stream."""

    X: Any
    codes: np.ndarray
    weights: np.ndarray
    places: np.ndarray

    def chosen(self, rows: np.ndarray) -> "Part":
        """Return some of the rows."""
        weights = self.weights[rows] if self.weights.size else self.weights
        return Part(self.X[rows], self.codes[rows], weights, self.places[rows])

    def bytes_of(self, rows: np.ndarray) -> int:
        """Return how large some of the rows are, with one row start each."""
        X = self.X
        if not sp.issparse(X):
            return int(rows.size * X[:1].nbytes)
        values = int((X.indptr[rows + 1] - X.indptr[rows]).sum())
        return values * (X.data.itemsize + X.indices.itemsize) + rows.size * X.indptr.itemsize


class Sample:
    """Every k-th row, learnt or not, and of each class the number and the weight of all rows.

    ``k`` is a power of two that grows with the stream, so that the sample does not depend on the
    batches.

    Parameters
    ----------
    n_classes : int
    most_rows, most_bytes : limits of the sample
    """

    def __init__(self, n_classes: int, most_rows: int = 1 << 15, most_bytes: int = 8 << 20):
        self.counts, self.totals = np.zeros(n_classes, dtype=np.int64), np.zeros(n_classes)
        self._most_rows, self._most_bytes = most_rows, most_bytes
        self._every, self._seen = 1, 0
        self._size = 0
        self._parts: list[Part] = []

    def take(self, X: Any, codes: np.ndarray, weights: np.ndarray) -> None:
        """Add the rows of X, with class codes ``codes`` and weights (empty if all are 1)."""
        fresh = np.bincount(codes, minlength=self.counts.size)
        self.counts += fresh
        self.totals = added(self.totals, codes, weights) if weights.size else self.totals + fresh
        given = Part(X, codes, weights, np.arange(self._seen, self._seen + codes.size))
        self._seen += codes.size
        rows, before = self._kept(given.places), self._every
        while self._too_many(rows.size, given.bytes_of(rows)):  # without a copy of so much
            self._every *= 2
            rows = self._kept(given.places)
        if self._every > before:
            self._thin()
        self._add(given, rows)
        while self._too_many(sum(part.codes.size for part in self._parts), self._size):
            self._every *= 2
            self._thin()

    def rows(self, n_features: int) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return the sample, with ``n_features`` columns, its class codes and its weights."""
        X, codes, weights, _ = self._joined(n_features)
        return X, codes, weights

    @property
    def whole(self) -> bool:
        """Whether the sample has all rows."""
        return self._every == 1

    def _kept(self, places: np.ndarray) -> np.ndarray:
        """Return which of some places in the stream are in the sample."""
        return np.flatnonzero(places & (self._every - 1) == 0)

    def _add(self, part: Part, rows: np.ndarray) -> None:
        if rows.size:
            self._parts.append(part.chosen(rows))
            self._size += part.bytes_of(rows)

    def _thin(self) -> None:
        """Keep every k-th row of the sample, for a new k."""
        if self._parts:
            whole, self._parts, self._size = self._joined(), [], 0
            self._add(whole, self._kept(whole.places))

    def _joined(self, n_features: int = 0) -> Part:
        """Return all parts as one, with at least ``n_features`` columns."""
        width = max(n_features, *(part.X.shape[1] for part in self._parts))
        X, codes, weights, places = (list(column) for column in zip(*self._parts, strict=True))
        return Part(join(X, width), *map(np.concatenate, (codes, weights, places)))

    def _too_many(self, rows: int, size: int) -> bool:
        return rows > 1 and (rows > self._most_rows or size > self._most_bytes)
