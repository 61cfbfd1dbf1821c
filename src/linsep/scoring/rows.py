"""Labeled rows and their predictions, collected in one reading."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from linsep.batches import check_summable
from linsep.errors import DataError
from linsep.estimators.labels import (
    check_sample_weight,
    codes_in,
    label_a_row,
    label_text,
    positive_code,
)
from linsep.estimators.predicting import probabilities_of
from linsep.sources.base import Source
from linsep.validation.checks import check_beside, is_missing, refuse_masked
from linsep.words import row_text

#: rows and scores up to which all rows are kept
MOST_ROWS, MOST_SCORES = 1 << 21, 1 << 24


class Scored(NamedTuple):
    """Predictions of a classifier for labeled rows, in their order.

    Attributes
    ----------
    classes : array of shape (k,), the sorted labels
    truth : int array of shape (rows,), codes of the labels; k is a label that is not in `classes`
    predicted : int array of shape (rows,), codes of the predictions
    weights : float array of shape (rows,), ones for rows without weights
    scores : decision values, for two classes of shape (rows,) and positive for the second, else
    (rows, k)
    probabilities : array of shape (rows, k), or None if the model has none
    groups : array of shape (rows,), the same value for rows of one group, or None
    positive : code of the positive class, for metrics of two classes
    """

    classes: np.ndarray
    truth: np.ndarray
    predicted: np.ndarray
    weights: np.ndarray
    scores: np.ndarray
    probabilities: np.ndarray | None
    groups: np.ndarray | None
    positive: int = 1

    def rows(self, chosen: Any) -> "Scored":
        """Return the rows that a mask or an array of indices selects."""
        whole = {"classes", "positive"}
        given = {n: v for n, v in self._asdict().items() if n not in whole and v is not None}
        return self._replace(**{name: values[chosen] for name, values in given.items()})

    def column(self, code: int) -> np.ndarray:
        """Return the scores of a class, by which rows are ranked: for several classes its
        probabilities, if there are any.
        """
        if self.scores.ndim == 1:
            return self.scores if code else -self.scores
        scores = self.scores if self.probabilities is None else self.probabilities
        return np.asarray(scores[:, code])


class ScoredNumbers(NamedTuple):
    """Predictions of a regression for rows with known numbers, in their order; or, with scores,
    codes of labels and of predictions of a classifier.

    Attributes
    ----------
    truth, predicted, weights : arrays of shape (rows,)
    groups : array of shape (rows,), or None
    scores : array of decision values; None for a regression
    """

    truth: np.ndarray
    predicted: np.ndarray
    weights: np.ndarray
    groups: np.ndarray | None
    scores: np.ndarray | None = None

    def rows(self, chosen: Any) -> "ScoredNumbers":
        """Return the rows that a mask, a slice or an array of indices selects."""
        values: list[Any] = [None if values is None else values[chosen] for values in self]
        return ScoredNumbers(*values)


class Collector:
    """Keeps all rows, or if there are very many, every second, fourth, eighth row and so on."""

    def __init__(self, model: Any):
        self.model, self.seen, self.step = model, 0, 1
        self._parts: list[ScoredNumbers] = []
        self._rows = 0
        k = model.classes_.size if hasattr(model, "classes_") else 1
        self._most = min(MOST_ROWS, MOST_SCORES // k)

    def take(self, rows: ScoredNumbers) -> None:
        """Take some rows."""
        self._parts.append(rows.rows(slice(-self.seen % self.step, None, self.step)))
        self.seen += rows.truth.size
        self._rows += self._parts[-1].truth.size
        while self._rows > self._most:
            self._parts = [self._joined().rows(slice(None, None, 2))]
            self._rows, self.step = (self._rows + 1) // 2, 2 * self.step

    def _joined(self) -> ScoredNumbers:
        columns: Any = zip(*self._parts, strict=True)
        values: Any = [None if some[0] is None else np.concatenate(some) for some in columns]
        return ScoredNumbers(*values)

    def scored(self, name: str) -> Any:
        """Return :class:`Scored` or :class:`ScoredNumbers`; DataError if no row has weight."""
        rows, model = self._joined(), self.model
        check_summable(rows.weights)
        if not rows.weights.any():
            raise DataError(
                f"{name} has no rows to score: all rows have weight 0.", code="no-rows", path=name
            )
        truth, predicted, weights, groups, scores = rows
        if scores is None:
            return rows
        found = probabilities_of(model, scores) if hasattr(model, "predict_proba") else None
        positive = positive_code(model) if model.classes_.size == 2 else 1
        return Scored(model.classes_, truth, predicted, weights, scores, found, groups, positive)


def answers(
    prediction: Any, beside: "Beside | None" = None, unknown: list[str] | None = None
) -> Iterator[ScoredNumbers]:
    """Yield the rows of a :class:`Prediction`; ``beside`` has weights and groups of all rows, and
    ``unknown`` takes the first label that is no class of the model, with its place.
    """
    classes = hasattr(prediction.model, "classes_")
    rows = 0
    for batch, one, other in prediction.codes() if classes else prediction.with_targets():
        truth = prediction.true_codes(batch.y) if classes else one
        weights, groups = batch.weights, batch.groups
        if beside is not None:
            weights, groups = beside.part(rows, truth.size, weights, groups)
        if classes and unknown == [] and (odd := truth == prediction.model.classes_.size).any():
            row = int(np.argmax(odd))
            place = prediction.source.where(batch.first + row)
            unknown.append(f"{label_text(batch.y[row])!r} in {place}")
        rows += truth.size
        weights = np.ones(truth.size) if weights is None else weights
        yield ScoredNumbers(truth, other, weights, groups, one if classes else None)
    if beside is not None:
        beside.check(rows)


class Beside(NamedTuple):
    """Weights and groups that are passed beside rows, one per row, or None."""

    weights: np.ndarray | None
    groups: np.ndarray | None

    @classmethod
    def of(cls, sample_weight: Any, groups: Any) -> "Beside":
        """Return checked weights and groups; raise ValueError if some cannot be either."""
        refuse_masked(sample_weight, "sample_weight")
        refuse_masked(groups, "groups")
        weights = None if sample_weight is None else np.asarray(sample_weight)
        if weights is not None:
            weights = check_sample_weight(weights, weights.size, all_may_be_zero=True)
        if groups is None:
            return cls(weights, None)
        values = np.asarray(groups)
        plain = values.tolist()
        missing = [is_missing(value) for value in plain]
        if any(missing):
            raise DataError(
                f"groups has no value in {row_text(missing.index(True))}: every row needs a group.",
                code="missing-value", option="groups", row=missing.index(True) + 1,
            )  # fmt: skip
        return cls(weights, values if values.dtype.kind != "O" else np.array(list(map(str, plain))))

    def part(
        self, first: int, rows: int, weights: np.ndarray | None, groups: np.ndarray | None
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Return the values of some rows; ``weights`` and ``groups`` are the rows' own."""
        self.check(first + rows, at_least=True)
        span = slice(first, first + rows)
        return (
            weights if self.weights is None else self.weights[span],
            groups if self.groups is None else self.groups[span],
        )

    def check(self, rows: int, at_least: bool = False) -> None:
        """Raise DataError unless there is one for each of the ``rows``."""
        for name, values in (("sample_weight", self.weights), ("groups", self.groups)):
            if values is None or values.size == rows or (at_least and values.size > rows):
                continue
            more = " or more" if at_least else ""
            raise DataError(
                f"{name} has {values.size:,} values, but {rows:,} rows{more} are scored: pass "
                "one value per row.", code="shape", option=name,
            )  # fmt: skip


def answers_in_memory(
    model: Any, X: Any, y: Any, beside: Beside, offset: Any = None
) -> Iterator[ScoredNumbers]:
    """Yield the rows of X with their labels y, as one batch."""
    check_beside(X, y=y, offset=offset)
    more = {} if offset is None else {"offset": offset}
    predicted = model.predict(X, **more)
    labels = label_a_row(model, y, predicted.shape[0])
    beside.check(labels.size)
    weights = np.ones(labels.size) if beside.weights is None else beside.weights
    if not hasattr(model, "classes_"):
        yield ScoredNumbers(_numbers(labels), predicted, weights, beside.groups, None)
        return
    codes, truth = (codes_in(model.classes_, values, "y") for values in (predicted, labels))
    yield ScoredNumbers(truth, codes, weights, beside.groups, model.decision_function(X, **more))


def _numbers(y: np.ndarray) -> np.ndarray:
    if y.dtype.kind not in "biuf":
        raise DataError(
            "y holds text, but the model predicts numbers: pass numbers.", code="not-a-number"
        )
    return y.astype(np.float64)


def scored(model: Any, source: Source) -> Any:
    """Return the predictions of a model for the rows of a source, in one reading.

    Returns
    -------
    :class:`Scored`, or :class:`ScoredNumbers` for a regression. With more than 2^21 rows, or 2^24
    scores, it has every second, fourth, eighth row and so on.

    Raises
    ------
    DataError
        If there are no labels, or all rows have weight 0.
    """
    rows = Collector(model)
    for part in answers(model.predictions(source)):
        rows.take(part)
    return rows.scored(source.name)
