"""Describe svmlight text and Vowpal Wabbit's text, whose features have numbers."""

from collections import Counter
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.batches import Batch, joined
from linsep.describing.tables import SpreadSample
from linsep.sources.base import Source

#: features that are described one by one, at 24 bytes each
MOST_FEATURES = 1 << 22
#: constant features that are listed
MOST_LISTED = 20


class VectorDescription:
    """Reads a source of sparse rows once.

    Attributes
    ----------
    weighed : how many rows have labels and a weight above 0
    labels : how often each label occurs; None if rows have none
    """

    def __init__(self, source: Source):
        self._source, self._sample = source, SpreadSample(Batch.rows)
        self.weighed = 0
        self.labels: Counter[float] | None = None
        self._counts = np.zeros(0, np.int64)
        self._low, self._high = np.zeros(0), np.zeros(0)

    def describe(self) -> dict[str, Any]:
        """Return the description of the features; DataError if the files cannot be read."""
        labels, unlabeled, rows, stored, width = Counter[float](), 0, 0, 0, 0
        ends, weights = [np.inf, -np.inf], [np.inf, -np.inf]
        for batch in self._source.batches():
            X: Any = batch.X if sp.issparse(batch.X) else sp.csr_matrix(batch.X)
            stored, width = stored + X.nnz, max(width, X.shape[1])
            _widen(ends, X.data)
            if width <= MOST_FEATURES:
                self._add(X)
            if batch.y is None:
                unlabeled += batch.size
            else:
                values, counts = np.unique(batch.y, return_counts=True)
                labels.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
                weighed = batch._replace(X=X)
                if batch.weights is not None:
                    weighed = weighed.rows(batch.weights > 0)
                self._sample.add(weighed, weighed.size)
                self.weighed += weighed.size
            if batch.weights is not None:
                _widen(weights, batch.weights)
            rows += batch.size
        self.labels = None if unlabeled else labels
        known = width <= MOST_FEATURES
        same = (self._low == self._high) & ((self._counts == rows) | (self._low == 0))
        constant = np.flatnonzero(same & (self._counts > 0)).tolist()
        return {
            "rows": rows,
            "features": width,
            "used": int(np.count_nonzero(self._counts)) if known else None,
            "stored": stored / rows,
            "min": ends[0] if stored else None,
            "max": ends[1] if stored else None,
            "constant": [self._named(k) for k in constant[:MOST_LISTED]] if known else None,
            "n_constant": len(constant) if known else None,
            "weights": weights if self._source.weighted else None,
        }

    def _add(self, X: sp.csr_matrix) -> None:
        """Add rows to the counts and ranges of the features."""
        more = 0, max(X.shape[1], 2 * self._counts.size) - self._counts.size
        if X.shape[1] > self._counts.size:
            self._counts = np.pad(self._counts, more)
            self._low = np.pad(self._low, more, constant_values=np.inf)
            self._high = np.pad(self._high, more, constant_values=-np.inf)
        self._counts += np.bincount(X.indices, minlength=self._counts.size)
        np.minimum.at(self._low, X.indices, X.data)
        np.maximum.at(self._high, X.indices, X.data)

    def _named(self, column: int) -> str:
        known = self._source.feature_names
        base = self._source.recipe().get("index_base", 0) if known is None else 0
        return str(column + base) if known is None else known[column]

    @property
    def sample(self) -> tuple[sp.csr_matrix, np.ndarray, list[str]]:
        """X, y and feature names of every k-th row, or of all rows if they are few, without unused
        features.
        """
        X, y, *_ = joined(self._sample.parts)
        used = np.unique(X.indices)
        mark = "x" if self._source.feature_names is None else ""
        return X[:, used], y, [f"{mark}{self._named(column)}" for column in used.tolist()]


def _widen(ends: list[float], values: np.ndarray) -> None:
    """Let the smallest and largest value so far include these."""
    ends[0] = min(ends[0], float(values.min(initial=np.inf)))
    ends[1] = max(ends[1], float(values.max(initial=-np.inf)))
