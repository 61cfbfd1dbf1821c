"""Means and spreads of columns, row after row."""

import numpy as np


class Moments:
    """Counts, means and spreads of ``width`` columns, values that are NaN left out."""

    def __init__(self, width: int):
        self.counts = np.zeros(width, np.int64)
        self._sums, self._squares = np.zeros(width), np.zeros(width)

    def add(self, X: np.ndarray) -> None:
        """Take in the rows of X, shape (rows, width)."""
        there = ~np.isnan(X)
        counts, sums = np.count_nonzero(there, axis=0), np.nansum(X, axis=0, dtype=np.float64)
        with np.errstate(all="ignore"):
            means = sums / np.maximum(counts, 1)
            apart = np.where(there, X - means, 0.0)
            # Chan, Golub and LeVeque (1979): squares about the mean of both parts.
            between = (means - self.means) ** 2 * counts * self.counts
            self._squares += (apart**2).sum(axis=0) + between / np.maximum(counts + self.counts, 1)
        self.counts += counts
        self._sums += sums

    @property
    def means(self) -> np.ndarray:
        """The mean of each column, 0 of one without values."""
        return self._sums / np.maximum(self.counts, 1)

    @property
    def spreads(self) -> np.ndarray:
        """The standard deviation of each column, 1 where it is 0 or beyond floating point."""
        found = np.sqrt(self._squares / np.maximum(self.counts, 1))
        return np.where((found > 0) & np.isfinite(found), found, 1.0)
