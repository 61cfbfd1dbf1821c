"""Checked rows and classes of a logistic regression."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.compiled.rows import as_rows
from linsep.errors import DataError
from linsep.logistic.classes import FittedClasses
from linsep.logistic.fitting import MOST_WEIGHTS, Task
from linsep.logistic.lanes import Batch
from linsep.logistic.steps import Steps
from linsep.rows.arrays import RowBatch
from linsep.sources.base import Source

#: dense rows with a smaller share of nonzeros are copied into a CSR matrix
SPARSE = 0.3


class Rows:
    """Rows in memory with their classes and weights.

    Parameters
    ----------
    given : X as passed to fit, with its names
    X : array or CSR matrix
    known : FittedClasses
    places : array of shape (rows,), the place of the class of each row
    weights : array of shape (rows,), empty where all are 1
    """

    steps: Steps | None = None

    def __init__(
        self, given: Any, X: Any, known: FittedClasses, places: np.ndarray, weights: np.ndarray
    ):
        self.given, self.X, self.known, self.weights = given, X, known, weights
        self.places = places

    def task(self, model: Any) -> Task:
        """Return the task of fitting these rows."""
        q, width = len(self.known.codes) - 1, self.X.shape[1] + bool(model.fit_intercept)
        many = q * width > MOST_WEIGHTS
        standardization: Any = as_rows(
            sp.csr_matrix(self.X) if many and _mostly_zeros(self.X) else self.X
        )
        batch = Batch(standardization, self.places, self.weights)
        n_rows = int((self.weights > 0).sum()) if self.weights.size else len(self.places)
        return Task(
            lambda: [batch], self.X.shape[1], q, self.known.totals, n_rows,
            bool(model.fit_intercept), float(model.l2), model.solver, model.tol,
            int(model.max_iter), len(self.known.order) > 2,
        )  # fmt: skip

    def in_memory(self, task: Task) -> "Rows | None":
        """Return self."""
        return self

    def counted(self) -> np.ndarray:
        """Return the indices of the rows with nonzero weight."""
        return np.flatnonzero(self.weights) if self.weights.size else np.arange(len(self.places))

    def augmented(self, rows: np.ndarray, kept: np.ndarray, intercept: bool) -> np.ndarray:
        """Return some columns of some rows as float64, with a column of ones for an intercept."""
        X = self.X[rows][:, kept]
        X = X.toarray() if sp.issparse(X) else X
        X = X.astype(np.float64)
        return np.column_stack([X, np.ones(len(X))]) if intercept else X


def _mostly_zeros(X: Any) -> bool:
    """Return whether dense rows, such as images, are processed faster as CSR."""
    return not sp.issparse(X) and np.count_nonzero(X) < SPARSE * X.size


def order_of(reference: Any, classes: np.ndarray) -> list[int]:
    """Return the codes of the classes, that of the reference last."""
    codes = list(range(classes.size))
    if reference is None:
        return [1, 0] if classes.size == 2 else codes
    found = np.flatnonzero(classes == reference)
    if not found.size:
        known = ", ".join(map(repr, classes.tolist()[:8]))
        raise DataError(f"reference is {reference!r}, which is no class of y: {known}.")
    return [code for code in codes if code != found[0]] + [int(found[0])]


class BatchRows:
    """Base class of rows that are read batch by batch, with the interface of :class:`Rows`.

    Attributes
    ----------
    steps : Steps of the fit to these rows, None before the fit
    known : FittedClasses
    n_features : int
    source : Source that can be read again, or None
    memory_bytes : largest size of rows that may be kept in memory
    """

    steps: Steps | None = None
    known: FittedClasses
    n_features: int
    memory_bytes: int
    _n_rows: int

    def __init__(self, model: Any, source: Source | None):
        self._max_iter, self.source = int(model.max_iter), source
        self.memory_bytes = Source.memory_bytes if source is None else source.memory_bytes

    def doing(self) -> str:
        """Return the current stage of the fit."""
        return "fitting" if self.steps is None else self.steps.doing(self._max_iter)

    def batches(self) -> Iterator[Batch]:
        """Yield all rows in their order."""
        raise NotImplementedError

    def task(self, model: Any) -> Task:
        """Return the task of fitting these rows."""
        return Task(
            self.batches, self.n_features, len(self.known.codes) - 1, self.known.totals,
            self._n_rows, bool(model.fit_intercept), float(model.l2), model.solver, model.tol,
            int(model.max_iter), len(self.known.order) > 2,
        )  # fmt: skip

    def in_memory(self, task: Task) -> Rows | None:
        """Return the rows in memory; None if they need more than may be kept there."""
        if 8 * task.n_rows * task.width > self.memory_bytes:
            return None
        parts, places, weights = [], [], []
        for batch in self.batches():
            parts.append(matrix_of(batch, task.n_features))
            places.append(batch.codes)
            weights.append(batch.weights)
        stacked = sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.vstack(parts)
        return Rows(stacked, stacked, self.known, np.concatenate(places), np.concatenate(weights))


def matrix_of(batch: Batch | RowBatch, n_features: int) -> Any:
    """Return the rows of a batch as an array, or as a CSR matrix of this width."""
    rows: Any = batch.rows
    if not hasattr(rows, "starts"):
        return rows.values
    inside, shape = slice(rows.starts[0], rows.starts[-1]), (len(batch.codes), n_features)
    starts = rows.starts - rows.starts[0]
    return sp.csr_matrix((rows.values[inside], rows.columns[inside], starts), shape=shape)
