"""The rows of sources for least squares, and predictions for them."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from linsep.batches import Batch, Batches, check_summable, weight_totals
from linsep.errors import DataError, hint
from linsep.estimators._common.predicting import Prediction
from linsep.estimators._common.reading import Reading
from linsep.inference.robust import refuse_weights
from linsep.linear.inference import Bands
from linsep.sources.base import Source
from linsep.validation.values import refuse_rounded_targets


def check_whole(weights: np.ndarray, place: Callable[[int], str]) -> None:
    """Raise DataError for a weight that is not a whole number of rows."""
    if (parts := weights % 1 != 0).any():
        row = int(np.argmax(parts))
        raise DataError(
            place(row) + f" has the weight {weights[row]:g}, which is not a whole number of rows",
            hint("use {} if weights are inverse variances", weight_type="precision"),
            code="bad-value", value=weights[row],
        )  # fmt: skip


def _place(source: Source, first: int, row: int) -> str:
    return source.where(first + row)


def refuse_counts(source: Source) -> None:
    """Raise DataError for a source of successes and trials."""
    if source.counts:
        raise DataError(
            f"{source.name} has successes and trials, which least squares does not accept",
            hint("choose another {}", learner=None), code="unsupported", path=source.name,
        )  # fmt: skip


def numbers(y: np.ndarray | None, source: Source, first: int) -> np.ndarray:
    """Return the targets of a batch as finite floats; raise DataError if one is not."""
    if y is None:
        raise DataError(
            f"{source.name} has no target: name the column of y.",
            code="no-labels", path=source.name,
        )  # fmt: skip
    if y.dtype.kind not in "biuf":
        raise DataError(
            f"The target of {source.name} is text, and a regression needs numbers: name another "
            "column, or use logistic regression for classes.",
            code="not-a-number", path=source.name,
        )  # fmt: skip
    refuse_rounded_targets(y, lambda row: source.where(first + row))
    y = y.astype(np.float64)
    if not np.isfinite(y).all():
        row = int(np.flatnonzero(~np.isfinite(y))[0])
        raise DataError(
            source.where(first + row) + " has a target that is not finite: leave the row out.",
            code="not-finite", value=y[row],
        )  # fmt: skip
    return y


def source_blocks(
    source: Source, reading: Reading, whole: bool = False, covariance: str | None = None
) -> Batches:
    """Return the blocks of a source; ``whole`` refuses weights that are not whole numbers, a
    clustered ``covariance`` all weights.
    """

    def blocks() -> Iterator[Batch]:
        total = np.zeros(1)
        for batch in reading.of(iter(source.batches())):
            y = numbers(batch.y, source, batch.first)
            X, weights = batch.X, batch.weights
            y = y if batch.offset is None else y - batch.offset
            reading.count(y.size)
            refuse_weights(covariance, weights)
            if whole and weights is not None:
                check_whole(weights, partial(_place, source, batch.first))
            if weights is not None:
                total = weight_totals(total, np.zeros(y.size, dtype=np.intp), weights)
            if weights is not None and not weights.all():
                X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
            yield Batch(X, y, weights=weights, groups=batch.groups if weights is None else None)
        if not reading.rows:
            raise DataError(f"{source.name} has no usable rows.", code="no-rows", path=source.name)

    return blocks


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
        """1 - squared errors / squared errors of predicting the mean. For constant targets, 1 if
        all predictions are exact, else 0, as in scikit-learn.
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

    def values(self, X: Any) -> np.ndarray:
        """Return the predictions for features of :meth:`rows`."""
        return self.model._predict(X, None, 0.5)

    def bands(self, interval: str | None, level: float) -> Iterator[Any]:
        """Yield the predictions of each batch, or :class:`linsep.linear.inference.Bands`."""
        for batch, X in self.rows():
            found = self._checked(batch, X, interval, level)
            yield Bands(*map(batch.answers, found)) if interval else batch.answers(found)

    def with_targets(self) -> Iterator[tuple[Batch, np.ndarray, Any]]:
        """Yield each batch with its targets and the predictions."""
        for batch, X in self.rows():
            truth = numbers(batch.y, self.source, batch.first)
            yield batch, truth, self._checked(batch, X)

    def residuals(self) -> Residuals:
        """Return the errors of the predictions."""
        found = Residuals()
        for batch, truth, predicted in self.with_targets():
            found = found.and_more(predicted, truth, batch.weights)
        if not found.weight:
            raise DataError(
                f"{self.source.name} has no rows to score: all rows have weight 0.",
                code="no-rows", path=self.source.name,
            )  # fmt: skip
        return found

    def _checked(
        self, batch: Batch, X: Any, interval: str | None = None, level: float = 0.5
    ) -> Any:
        found = plus_offset(self.model._predict(X, interval, level), self.offset_of(batch))
        return self.model._checked(found, batch.first, self.source.where)


def plus_offset(predicted: Any, offset: np.ndarray | None) -> Any:
    """Return predictions, or :class:`linsep.linear.inference.Bands`, plus the offsets."""
    if offset is None:
        return predicted
    with np.errstate(over="ignore", invalid="ignore"):  # see _checked
        if isinstance(predicted, Bands):
            return Bands(*(part + offset for part in predicted))
        return predicted + offset
