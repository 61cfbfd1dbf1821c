"""Rows of arrays as a source, for code that requires sources."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.batches import Batch, weighed
from linsep.certificate.canonical import exact_rows
from linsep.errors import DataError
from linsep.sources.base import Source
from linsep.validation.checks import GAPS, as_csr, refuse_masked, refuse_rounded
from linsep.words import row_text


class ArraySource(Source):
    """Batches of rows in memory.

    Parameters
    ----------
    X : array or sparse matrix of shape (rows, features)
        Not copied where it is C-contiguous or CSR, float32 or float64.
    y : array of shape (rows,) or None
    batch_rows : rows in a batch
    weights, unanswered, offset : arrays of shape (rows,) or None
        As of :class:`Batch`, already checked.

    Raises
    ------
    DataError
        If X and y differ in length or there are no rows; from :meth:`batches` at NaN, infinity,
        and numbers that are rounded.
    """

    name = kind = "arrays"

    def __init__(
        self, X: Any, y: Any = None, weights: Any = None, *, batch_rows: int = 1 << 16,
        unanswered: np.ndarray | None = None, offset: np.ndarray | None = None,
    ):  # fmt: skip
        self.paths, self._given = [], X
        self._X = sp.csr_matrix(as_csr(X)) if sp.issparse(X) else np.ascontiguousarray(X)
        if self._X.dtype not in (np.float32, np.float64):
            self._X = self._X.astype(np.float64)
        for name, values in (("Input X", X), ("Input y", y), ("weights", weights)):
            refuse_masked(values, name)
        shape = np.shape(self._X)
        if len(shape) != 2 or shape[0] == 0 or (y is not None and np.shape(y) != shape[:1]):
            said = f"X has shape {shape}, y {np.shape(y)}"
            way = "pass an array of shape (rows, features) with at least one row, and their labels"
            raise DataError(said, way, code="shape")
        self.n_rows, self._batch_rows = shape[0], batch_rows
        self.weighted, self.offsets = weights is not None, offset is not None
        arrays = {"weights": weights, "unanswered": unanswered, "offset": offset, "y": y}
        self._beside = {k: np.asarray(a) for k, a in arrays.items() if a is not None}

    def _read(self) -> Iterator[Batch]:
        refuse_rounded(self._given)
        refuse_rounded(self._X, codes=GAPS)
        return self._batches_of(self._X)

    def exactly(self) -> Iterator[Batch]:
        floats = getattr(self._given, "dtype", None) in (np.float32, np.float64)
        return weighed(self._read() if floats else self._batches_of(exact_rows(self._given)))

    def _batches_of(self, rows: Any) -> Iterator[Batch]:
        for first in range(0, rows.shape[0], self._batch_rows):
            span = slice(first, first + self._batch_rows)
            beside = {"y": None} | {name: values[span] for name, values in self._beside.items()}
            yield Batch(rows[span], first=first, **beside)

    def _place(self, row: int) -> str:
        return row_text(row)

    def options(self) -> dict[str, Any]:
        return {}

    def recipe(self) -> dict[str, Any]:
        return {"format": "arrays"}
