"""Rows of arrays as a source, for code that requires sources."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.batches import Batch
from linsep.certificate.canonical import exact_rows
from linsep.errors import DataError
from linsep.sources.base import WeighedSource
from linsep.validation.checks import as_csr, refuse_masked, refuse_rounded
from linsep.words import row_text


class ArraySource(WeighedSource):
    """Batches of rows in memory.

    Parameters
    ----------
    X : array or sparse matrix of shape (rows, features)
        Not copied where it is C-contiguous or CSR, float32 or float64.
    y : array of shape (rows,) or None
    weights : array of shape (rows,) or None
        The weight of each row, already checked.
    batch_rows : rows in a batch
    unanswered : bool array of shape (rows,) or None
        Which rows do not get a prediction, see :class:`Batch`.
    offset : array of shape (rows,) or None
        Offsets of the linear predictors of the rows, already checked.

    Raises
    ------
    DataError
        If X and y differ in length or there are no rows; from :meth:`batches` at NaN or infinity.
    """

    name = kind = "arrays"

    def __init__(
        self, X: Any, y: Any = None, weights: Any = None, *, batch_rows: int = 1 << 16,
        unanswered: np.ndarray | None = None, offset: np.ndarray | None = None,
    ):  # fmt: skip
        if batch_rows < 1:
            raise DataError(
                f"batch_rows must be at least 1, got {batch_rows}.",
                code="bad-option", option="batch_rows", value=batch_rows,
            )  # fmt: skip
        self.paths = []
        self._given = X
        self._X = sp.csr_matrix(as_csr(X)) if sp.issparse(X) else np.ascontiguousarray(X)
        if self._X.dtype not in (np.float32, np.float64):
            self._X = self._X.astype(np.float64)
        self.n_rows = self._X.shape[0] if self._X.ndim else 0
        for name, values in (("Input X", X), ("Input y", y), ("weights", weights)):
            refuse_masked(values, name)
        self._y = None if y is None else np.asarray(y)
        self._weights = None if weights is None else np.asarray(weights)
        self.weighted, self._unanswered = weights is not None, unanswered
        self._offset, self.offsets = offset, offset is not None
        self._batch_rows = batch_rows
        if self._X.ndim != 2 or self._X.shape[0] == 0:
            raise DataError(
                f"X has shape {self._X.shape}: pass an array of shape (rows, features) with "
                "at least one row.",
                code="shape",
            )
        if self._y is not None and self._y.shape != (self._X.shape[0],):
            raise DataError(
                f"X has {self._X.shape[0]} rows, but y has shape {self._y.shape}: pass one label "
                "per row.",
                code="shape",
            )

    def batches(self) -> Iterator[Batch]:
        """Yield the rows from the first to the last; DataError for a number that is rounded."""
        refuse_rounded(self._given)
        return super().batches()

    def _batches(self) -> Iterator[Batch]:
        return self._batches_of(self._X)

    def _exact_batches(self) -> Iterator[Batch]:
        floats = getattr(self._given, "dtype", None) in (np.float32, np.float64)
        return self._batches_of(self._X if floats else exact_rows(self._given))

    def _batches_of(self, rows: Any) -> Iterator[Batch]:
        for first in range(0, rows.shape[0], self._batch_rows):
            span = slice(first, first + self._batch_rows)
            if rows is self._X:
                self._check_finite(rows[span], first)
            given = self._y, self._weights, self._unanswered, self._offset
            y, weights, unanswered, offset = (a if a is None else a[span] for a in given)
            yield Batch(rows[span], y, first, weights, unanswered=unanswered, offset=offset)

    def _check_finite(self, X: Any, first: int) -> None:
        values = X.data if sp.issparse(X) else X
        if np.isfinite(values).all():
            return
        X = X.tocoo() if sp.issparse(X) else sp.coo_array(X)
        at = int(np.argmin(np.isfinite(X.data)))
        row = first + int(X.row[at])
        raise DataError(
            row_text(row) + f", feature {X.col[at]} is {X.data[at]}: replace "
            "the value or leave out the row.",
            code="not-finite", row=row + 1, column=int(X.col[at]),
        )  # fmt: skip

    def _place(self, row: int) -> str:
        return row_text(row)

    def options(self) -> dict[str, Any]:
        """Nothing: rows in memory are never cached on disk."""
        return {}

    def recipe(self) -> dict[str, Any]:
        """Return the recipe of arrays: a model trained on them cannot read files."""
        return {"format": "arrays"}
