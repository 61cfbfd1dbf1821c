"""The rows of sources for least squares, and predictions for them."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.batches import Batch, Batches, check_summable, weight_totals
from linsep.errors import DataError, hint
from linsep.estimators.predicting import Prediction
from linsep.estimators.reading import Reading
from linsep.inference.results import Bands
from linsep.inference.robust import refuse_weights
from linsep.sources.base import Source
from linsep.validation.checks import one_column, refuse_faults
from linsep.words import row_text


def _nth_row(row: int) -> str:
    return row_text(row).capitalize()


def numbers(y: Any, source: Source | None = None, first: int = 0) -> np.ndarray:
    """Return the targets of rows in memory, or of a batch of a source whose first row has a number,
    as finite floats.
    """
    path = None if source is None else source.name
    if y is None:
        raise DataError(
            "This LinearRegression estimator requires y to be passed, but the target y is None."
            if path is None
            else f"{path} has no target: name the column of y.",
            code="no-labels", path=path,
        )  # fmt: skip
    y, found = one_column(np.asarray(y)), None
    if y.dtype.kind not in "mM":
        with suppress(TypeError, ValueError):
            found = y.astype(np.float64, copy=False)
    if found is None:
        raise DataError(
            f"The target{f' of {path}' if path else ' y'} holds values that are not numbers (dates "
            "as numbers are seconds since the first): name another column, or use a classifier.",
            code="not-a-number", path=path,
        )  # fmt: skip
    place = row_text if source is None else lambda row: source.where(first + row)
    refuse_faults(y, {"not-exact"}, advice="subtract a constant from all targets", place=place)
    refuse_faults(found, place=place)
    return found


def source_blocks(model: Any, source: Source, reading: Reading) -> Batches:
    """Return the blocks of a source for a regression."""

    def blocks() -> Iterator[Batch]:
        total = np.zeros(1)
        for read in reading.of(iter(source.batches())):
            batch = read._replace(y=numbers(read.y, source, read.first))
            reading.rows += batch.size
            refuse_weights(model.covariance, batch.weights)
            if batch.weights is not None:
                total = weight_totals(total, np.zeros(batch.size, dtype=np.intp), batch.weights)
            yield rows_of_weight(batch, model.weight_type == "frequency", source.where)
        if not reading.rows:
            raise DataError(f"{source.name} has no usable rows.", code="no-rows", path=source.name)

    return blocks


def rows_of_weight(batch: Batch, whole: bool, place: Callable[[int], str] = _nth_row) -> Batch:
    """Return the rows of positive weight, ``whole`` numbers of rows, with y minus the offset."""
    X, y, weights = batch.X, batch.y, batch.weights
    if whole and weights is not None and (parts := weights % 1 != 0).any():
        row = int(np.argmax(parts))
        raise DataError(
            place(batch.first + row) + f" has the weight {weights[row]:g}, which is not a whole "
            "number of rows",
            hint("use {} if weights are inverse variances", weight_type="precision"),
            code="bad-value", value=weights[row],
        )  # fmt: skip
    y = y if batch.offset is None else y - batch.offset
    rows = Batch(X, y, weights=weights, groups=batch.groups)
    return rows if weights is None or weights.all() else rows.rows(weights > 0)


def widened(X: Any, features: int) -> Any:
    """Return rows in one form: arrays row by row, sparse rows with all features."""
    if not sp.issparse(X):
        return np.ascontiguousarray(X)
    return sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], features))


class Residuals(NamedTuple):
    """Weighted sums over the rows of a source: of the squared and the absolute errors, and of the
    squares of the targets around their mean; the largest error of a row of positive weight.
    """

    rows: int = 0
    weight: float = 0.0
    squared: float = 0.0
    absolute: float = 0.0
    largest: float = 0.0
    mean: float = 0.0
    spread: float = 0.0

    @property
    def r_squared(self) -> float:
        """1 - squared errors / squared errors of the mean; of constant targets 1 if all predictions
        are exact, else 0, as in scikit-learn.
        """
        if self.spread == 0.0:
            return float(self.squared == 0.0)
        return 1.0 - self.squared / self.spread

    def and_more(
        self, predicted: np.ndarray, truth: np.ndarray, weights: np.ndarray | None = None
    ) -> "Residuals":
        """Return the sums with more rows; means are merged by their difference, for accuracy."""
        weights = np.ones(truth.size) if weights is None else weights
        check_summable(np.append(weights, self.weight))
        more, rows = float(weights.sum()), self.rows + truth.size
        if not more:
            return self._replace(rows=rows)
        errors = np.abs(truth - predicted)
        mean = float(np.average(truth, weights=weights))
        shift, share = mean - self.mean, more / (self.weight + more)
        spread = float(weights @ (truth - mean) ** 2) + self.weight * share * shift**2
        return Residuals(
            rows,
            self.weight + more,
            self.squared + float((weights * errors) @ errors),
            self.absolute + float(weights @ errors),
            max(self.largest, float(errors[weights > 0].max())),
            self.mean + share * shift,
            self.spread + spread,
        )


class LinearPrediction(Prediction):
    """Predictions of a linear regression for the rows of a source."""

    def rows(self) -> Iterator[tuple[Batch, Any]]:
        """Yield each batch with its features."""
        for batch in self.batches():
            yield batch, self.fitted_width(batch.X, self.model.coef_.size)

    @np.errstate(over="ignore", invalid="ignore")
    def values(self, X: Any) -> np.ndarray:
        """Return the predictions for features of :meth:`rows`, without offsets."""
        return np.asarray(self.model._fitted.predicted(widened(X, self.model.coef_.size)))

    def predicted(self, interval: str | None = None, level: float = 0.5) -> Iterator[Any]:
        """Yield each batch with its predictions, or :class:`linsep.inference.results.Bands`;
        DataError if one overflows.
        """
        fit = self.model._fitted
        for batch, X in self.rows():
            offset, parts = self.offset_of(batch), [self.values(X)]
            if interval is not None:
                parts = [*fit.bands(widened(X, fit.coef.size), *parts, interval, level)]
            if offset is not None:
                parts = [part + offset for part in parts]
            known = np.isfinite(parts[0 if np.isnan(fit.error) else -1])
            if not known.all():
                row = self.source.where(batch.first + int(np.argmin(known)))
                raise DataError(f"The prediction of {row} overflows float64.", code="overflow")
            yield batch, Bands(*parts) if interval else parts[0]

    def bands(self, interval: str | None, level: float) -> Iterator[Any]:
        """Yield the predictions, or bands, of each batch, NaN for rows that have none."""
        for batch, found in self.predicted(interval, level):
            yield Bands(*map(batch.answers, found)) if interval else batch.answers(found)

    def with_targets(self) -> Iterator[tuple[Batch, np.ndarray, Any]]:
        """Yield each batch with its targets and the predictions."""
        for batch, found in self.predicted():
            yield batch, numbers(batch.y, self.source, batch.first), found

    def residuals(self) -> Residuals:
        """Return the errors of the predictions."""
        found, name = Residuals(), self.source.name
        for batch, truth, predicted in self.with_targets():
            found = found.and_more(predicted, truth, batch.weights)
        if not found.weight:
            raise DataError(f"All rows of {name} have weight 0.", code="no-rows", path=name)
        return found
