"""Describe svmlight text and Vowpal Wabbit's text, whose features have numbers."""

from collections import Counter
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.batches import Batch, joined
from linsep.describing.columns import SpreadSample
from linsep.sources.base import Source

#: features that are described one by one, at 40 bytes each
MOST_FEATURES = 1 << 22
#: constant features, and sets of equal ones, that are listed
MOST_LISTED = 20


_FACTORS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_HALF = np.uint64(32)


def mixed(bits: np.ndarray) -> np.ndarray:
    """Return uint64 numbers with their bits mixed; 0 stays 0."""
    bits = (bits ^ bits >> _HALF) * _FACTORS[0]
    bits = (bits ^ bits >> _HALF) * _FACTORS[1]
    return bits ^ bits >> _HALF


def of_rows(first: int, n_rows: int) -> np.ndarray:
    """Return an odd factor for each row by its number: sums of hashes times these are equal for
    equal columns, and for others once in 2^64.
    """
    return mixed(np.arange(first + 1, first + 1 + n_rows, dtype=np.uint64)) | np.uint64(1)


def of_numbers(values: np.ndarray) -> np.ndarray:
    """Return a hash of each number, 0 for zeros of either sign; all NaN are equal."""
    values = np.asarray(values, np.float64) + 0.0
    bits = values.view(np.uint64).copy()
    bits[np.isnan(values)] = np.uint64(1)
    return mixed(bits)


class VectorDescription:
    """Reads a source of sparse rows once.

    Attributes
    ----------
    rows : number of rows read
    weighed : how many of them have labels and a weight above 0
    sample : X, labels and feature names of some of these, spread evenly; None without labels
    """

    def __init__(self, source: Source):
        self._source = source
        self.rows, self.weighed, self._stored = 0, 0, 0
        self._low, self._high = np.inf, -np.inf
        self._features = Features()
        self._sample = SpreadSample(Batch.rows)
        self._labels: Counter[float] = Counter()
        self._unlabeled = 0
        self._weights = [np.inf, -np.inf]

    def describe(self) -> dict[str, Any]:
        """Return the description of the features; DataError if the files cannot be read."""
        for batch in self._source.batches():
            X: Any = batch.X if sp.issparse(batch.X) else sp.csr_matrix(batch.X)
            n = X.shape[0]
            self._stored += X.nnz
            if X.nnz:
                self._low = min(self._low, float(X.data.min()))
                self._high = max(self._high, float(X.data.max()))
            self._features.add(X, self.rows)
            if batch.y is None:
                self._unlabeled += n
            else:
                values, counts = np.unique(batch.y, return_counts=True)
                self._labels.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
                self._draw(batch._replace(X=X))
            if batch.weights is not None:
                self._weights[0] = min(self._weights[0], float(batch.weights.min()))
                self._weights[1] = max(self._weights[1], float(batch.weights.max()))
            self.rows += n
        names = self._named
        features = self._features
        constant, alike = features.constant(self.rows), features.alike(self.rows)
        return {
            "rows": self.rows,
            "features": features.width,
            "used": features.used,
            "stored": self._stored / self.rows,
            "min": self._low if self._stored else None,
            "max": self._high if self._stored else None,
            "constant": None if constant is None else [names(k) for k in constant[:MOST_LISTED]],
            "n_constant": None if constant is None else len(constant),
            "duplicates": [[names(k) for k in each] for each in alike[:MOST_LISTED]],
            "n_duplicates": len(alike),
            "weights": self._weights if self._source.weighted else None,
        }

    @property
    def labels(self) -> Counter[float] | None:
        """How often each label occurs; None if rows have none."""
        return None if self._unlabeled else self._labels

    def _named(self, column: int) -> str:
        known = self._source.feature_names
        if known is not None:
            return known[column]
        recipe = self._source.recipe()
        return str(column + recipe.get("index_base", 0))

    def _draw(self, batch: Batch) -> None:
        """Add the rows of a weight above 0 to the sample."""
        if batch.weights is not None and not batch.weights.all():
            batch = batch.rows(batch.weights > 0)
        self._sample.add(batch, batch.size)
        self.weighed += batch.size

    @property
    def sample(self) -> tuple[sp.csr_matrix, np.ndarray, list[str]] | None:
        """X, y and feature names of every k-th row, or of all rows if they are few, without unused
        features."""
        if self.labels is None:
            return None
        X, y, *_ = joined(self._sample.parts)
        used = np.unique(X.indices)
        mark = "x" if self._source.feature_names is None else ""
        return X[:, used], y, [f"{mark}{self._named(column)}" for column in used.tolist()]


class Features:
    """Counts, ranges and hashes of each feature, dropped if there are very many."""

    def __init__(self) -> None:
        self.width = 0
        self._given_up = False
        self._counts, self._hashes = np.zeros(0, np.int64), np.zeros(0, np.uint64)
        self._low, self._high = np.zeros(0), np.zeros(0)

    def add(self, X: sp.csr_matrix, first: int) -> None:
        """Add rows, of which ``first`` come before."""
        self.width = max(self.width, X.shape[1])
        self._given_up = self._given_up or self.width > MOST_FEATURES
        if self._given_up:
            self._counts, self._hashes = self._counts[:0], self._hashes[:0]
            self._low = self._high = np.zeros(0)
            return
        if self.width > self._counts.size:
            more = (
                0,
                max(self.width, min(2 * self._counts.size, MOST_FEATURES)) - self._counts.size,
            )
            self._counts, self._hashes = np.pad(self._counts, more), np.pad(self._hashes, more)
            self._low = np.pad(self._low, more, constant_values=np.inf)
            self._high = np.pad(self._high, more, constant_values=-np.inf)
        rows = np.repeat(of_rows(first, X.shape[0]), np.diff(X.indptr))
        np.add.at(self._hashes, X.indices, of_numbers(X.data) * rows)
        self._counts[: X.shape[1]] += np.bincount(X.indices, minlength=X.shape[1])
        np.minimum.at(self._low, X.indices, X.data)
        np.maximum.at(self._high, X.indices, X.data)

    @property
    def used(self) -> int | None:
        """Number of features that some row has; None if there were too many to count."""
        return None if self._given_up else int(np.count_nonzero(self._counts))

    def constant(self, n_rows: int) -> list[int] | None:
        """Return the features with the same value in every row, without unused features."""
        if self._given_up:
            return None
        same = (self._low == self._high) & ((self._counts == n_rows) | (self._low == 0))
        return np.flatnonzero(same & (self._counts > 0)).tolist()

    def alike(self, n_rows: int) -> list[list[int]]:
        """Return the features that are equal in every row and not constant."""
        if self._given_up:
            return []
        various = self._hashes != 0
        various[self.constant(n_rows)] = False
        used = np.flatnonzero(various)
        order = used[np.argsort(self._hashes[used], kind="stable")]
        edges = np.flatnonzero(np.diff(self._hashes[order])) + 1
        return [part.tolist() for part in np.split(order, edges) if part.size > 1]
