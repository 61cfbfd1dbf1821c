"""An evenly spread sample of the rows of a stream, to measure accuracy on."""

from typing import Any

import numpy as np

from linsep.online.rows.stored import join, nbytes


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
        self._parts: list[tuple[Any, np.ndarray, np.ndarray, np.ndarray]] = []

    def take(self, X: Any, codes: np.ndarray, weights: np.ndarray) -> None:
        """Add the rows of X, with class codes ``codes`` and weights (empty if all are 1)."""
        self.counts += np.bincount(codes, minlength=self.counts.size)
        self.totals = added(self.totals, codes, weights)
        places = np.arange(self._seen, self._seen + codes.size)
        self._seen += codes.size
        rows = np.flatnonzero(places % self._every == 0)
        if rows.size:
            own = weights[rows] if weights.size else weights
            self._parts.append((X[rows], codes[rows], own, places[rows]))
        while self._too_many():
            self._every *= 2
            self._parts = [_thinned(*part, self._every) for part in self._parts]

    def rows(self, n_features: int) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return the sample, with ``n_features`` columns, its class codes and its weights."""
        parts, codes, weights, _ = (list(column) for column in zip(*self._parts, strict=True))
        return join(parts, n_features), np.concatenate(codes), np.concatenate(weights)

    @property
    def whole(self) -> bool:
        """Whether the sample has all rows."""
        return self._every == 1

    def _too_many(self) -> bool:
        rows = sum(len(part[1]) for part in self._parts)
        size = sum(nbytes(part[0]) for part in self._parts)
        return rows > 1 and (rows > self._most_rows or size > self._most_bytes)


def _thinned(
    X: Any, codes: np.ndarray, weights: np.ndarray, places: np.ndarray, every: int
) -> tuple:
    chosen = np.flatnonzero(places % every == 0)
    own = weights[chosen] if weights.size else weights
    return X[chosen], codes[chosen], own, places[chosen]


def added(totals: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return ``totals`` plus the weights of the rows of each code, extended by new codes.

    Rows are added one after the other, so that no digit depends on the batches. Empty ``weights``
    are ones.
    """
    found = np.pad(totals, (0, max(0, int(codes.max(initial=-1)) + 1 - totals.size)))
    if weights.size:
        np.add.at(found, codes, weights)
        return found
    return found + np.bincount(codes, minlength=found.size).astype(found.dtype)
