"""Held-out rows, and which of them a model predicts wrongly."""

from collections.abc import Iterator
from math import sqrt
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.compiled.core.row_arrays import csr_rows, read_only
from linsep.compiled.core.rows import Csr, Dense, Unit
from linsep.errors import DataError, hint
from linsep.rows.arrays import RowBatch
from linsep.rows.source_stream import SourceStream


class Missed:
    """Which held-out rows a model predicts wrongly, added batch by batch, and their weights."""

    def __init__(self) -> None:
        self._wrong: list[np.ndarray] = [np.empty(0)]
        self._weights: list[np.ndarray] = [np.empty(0)]

    def add(self, missed: np.ndarray, weights: np.ndarray) -> None:
        """Add rows; empty ``weights`` are ones."""
        self._wrong.append(missed)
        self._weights.append(weights if weights.size else np.ones(missed.size))

    @property
    def wrong(self) -> np.ndarray:
        """1 for each row predicted wrongly, 0 for the others."""
        self._wrong = [np.concatenate(self._wrong)]
        return self._wrong[0]

    @property
    def weights(self) -> np.ndarray:
        """The weight of each row; DataError if there are none."""
        self._weights = [np.concatenate(self._weights)]
        if not self._weights[0].any():
            raise DataError(
                "No row is held out to compare models on",
                hint("raise {}", validation_fraction=None),
                "bring more rows",
            )
        return self._weights[0]

    @property
    def accuracy(self) -> float:
        """Share of the weight of the rows predicted rightly, summed as a fit does."""
        wrong, weights = self.wrong, self.weights
        missed, right = (float(np.cumsum(weights[wrong == k])[-1:].sum()) for k in (1, 0))
        return 1.0 - missed / (missed + right)

    @property
    def error(self) -> float:
        """Standard error of the accuracy; sqrt(p (1 - p) / n) for n rows of equal weight."""
        return standard_error(self.wrong, self.weights)

    def behind(self, best: "Missed") -> tuple[float, float]:
        """Return how much lower the accuracy is than that of ``best`` on the same rows, and the
        standard error of this difference.
        """
        apart, weights = self.wrong - best.wrong, self.weights
        return float((weights * apart).sum() / weights.sum()), standard_error(apart, weights)


def standard_error(values: np.ndarray, weights: np.ndarray) -> float:
    """Return the standard error of the weighted mean of independent values."""
    total = weights.sum()
    mean = (weights * values).sum() / total
    return sqrt(float(((weights * (values - mean)) ** 2).sum())) / float(total)


def held_out_rows(stream: SourceStream) -> Iterator[RowBatch]:
    """Yield the held-out rows alone, with their weights in scores as ``importance``."""
    for batch in stream.held_out():
        chosen = np.asarray(batch.order, dtype=np.int64)
        if not chosen.size:
            continue
        weights = batch.importance[chosen] if batch.importance.size else batch.importance
        rows = taken(batch.rows, chosen, batch.n_features)
        order = range(chosen.size)
        yield batch._replace(
            rows=rows, codes=batch.codes[chosen], importance=weights, order=order, first=None
        )


def taken(rows: Any, chosen: np.ndarray, n_features: int) -> Any:
    """Return the chosen rows, copied."""
    if isinstance(rows, Unit):
        return Unit(taken(rows.rows, chosen, n_features), rows.scales[chosen])
    if isinstance(rows, Dense):
        return Dense(read_only(rows.values[chosen]), np.empty_like(rows.room))
    shape = rows.starts.size - 1, n_features
    X = sp.csr_matrix(shape, dtype=rows.values.dtype)
    X.data, X.indices, X.indptr = rows.values, rows.columns, rows.starts
    X = X[chosen]
    return csr_rows(X.data, X.indices, X.indptr)


def own_buffer(rows: Any) -> Any:
    """Return the same rows with a buffer of their own, for a thread."""
    if isinstance(rows, Unit):
        return rows._replace(rows=own_buffer(rows.rows))
    if isinstance(rows, Csr):
        return rows
    return rows._replace(room=np.empty_like(rows.room))
