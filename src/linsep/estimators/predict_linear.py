"""Predicting the rows of a source by linear regression, and how far off that is."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from linsep.errors import DataError
from linsep.estimators.predict_source import Prediction
from linsep.sources.base import Batch, Source


class Residuals(NamedTuple):
    """How far predictions are from the truth, over all rows of a source.

    Attributes
    ----------
    rows : int
    squared : float, sum of the squared errors
    absolute : float, sum of the absolute errors
    largest : float, the largest absolute error
    mean : float, of the truth
    spread : float, sum of the squares of the truth around its mean
    """

    rows: int = 0
    squared: float = 0.0
    absolute: float = 0.0
    largest: float = 0.0
    mean: float = 0.0
    spread: float = 0.0

    @property
    def r_squared(self) -> float:
        """1 - squared errors over those of the mean; where the truth is the same everywhere 1 if
        all predictions are right, else 0, as scikit-learn has it.
        """
        if self.spread == 0.0:
            return float(self.squared == 0.0)
        return 1.0 - self.squared / self.spread

    def and_more(self, predicted: np.ndarray, truth: np.ndarray) -> "Residuals":
        """With some more rows; means are merged by their difference, which costs no digits."""
        if not truth.size:
            return self
        errors, rows = np.abs(truth - predicted), self.rows + truth.size
        mean = float(truth.mean())
        shift, share = mean - self.mean, truth.size / rows
        spread = float(((truth - mean) ** 2).sum()) + self.rows * share * shift**2
        return Residuals(
            rows,
            self.squared + float(errors @ errors),
            self.absolute + float(errors.sum()),
            max(self.largest, float(errors.max())),
            self.mean + share * shift,
            self.spread + spread,
        )


class LinearPrediction(Prediction):
    """The rows of a source as a fitted linear regression sees them."""

    def rows(self) -> Iterator[tuple[Batch, Any]]:
        """Each batch with its features as they are known."""
        for batch in self.source.batches():
            yield batch, self._fitted_width(batch.X, self.model.coef_.size)

    def bands(self, interval: str | None, level: float) -> Iterator[Any]:
        """What is predicted for each batch, or its :class:`linsep.regression.inference.Bands`."""
        for _, X in self.rows():
            yield self.model._predict(X, interval, level)

    def residuals(self) -> Residuals:
        """How far off the predictions are from the targets of the source."""
        found = Residuals()
        for batch, X in self.rows():
            truth = numbers(batch.y, self.source, batch.first)
            found = found.and_more(self.model._predict(X, None, 0.5), truth)
        if not found.rows:
            raise DataError(f"{self.source.name} has no rows to score.")
        return found


def numbers(y: np.ndarray | None, source: Source, first: int) -> np.ndarray:
    """The targets of a batch as finite floats; DataError says where one is not."""
    if y is None:
        raise DataError(f"{source.name} has no target: name the column of y.")
    if y.dtype.kind not in "biuf":
        raise DataError(
            f"{source.name} has text for a target, and a regression needs numbers: name another "
            "column, or learn classes with logistic regression."
        )
    y = y.astype(np.float64)
    if not np.isfinite(y).all():
        row = int(np.flatnonzero(~np.isfinite(y))[0])
        raise DataError(
            f"{source.where(first + row)} has a target that is not finite: leave the row out."
        )
    return y
