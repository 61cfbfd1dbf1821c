"""Labeled rows and their predictions, collected in one reading."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils import check_consistent_length

from linsep.batches import check_summable
from linsep.errors import DataError
from linsep.estimators import labels
from linsep.estimators.predicting import probabilities_of
from linsep.sources.base import Source
from linsep.validation.checks import check_beside, numbers_beside, refuse_faults

#: rows and scores up to which all rows are kept
MOST_ROWS, MOST_SCORES = 1 << 21, 1 << 24


class Scored(NamedTuple):
    """Predictions for labeled rows, in their order.

    Attributes
    ----------
    classes : array of shape (k,), the sorted labels; None for a regression of numbers
    truth : int array of shape (rows,), codes of the labels, k for one that is not in `classes`; or
    numbers
    predicted : array of shape (rows,), codes of the predictions, or numbers
    weights : float array of shape (rows,), ones for rows without weights
    scores : decision values, for two classes of shape (rows,) and positive for the second, else
    (rows, k); None for numbers
    probabilities : array of shape (rows, k), or None if the model has none
    groups : array of shape (rows,), the same value for rows of one group, or None
    positive : code of the positive class, for metrics of two classes
    step : 1 if these are all rows, 2 if they are every second one, and so on
    """

    classes: Any
    truth: np.ndarray
    predicted: np.ndarray
    weights: np.ndarray
    scores: Any = None
    probabilities: Any = None
    groups: np.ndarray | None = None
    positive: int = 1
    step: int = 1

    def _columns(self) -> dict[str, Any]:
        whole = {"classes", "positive", "step"}
        return {n: v for n, v in self._asdict().items() if n not in whole and v is not None}

    @property
    def n_classes(self) -> int:
        """Number of classes; 1 for numbers."""
        return np.size(self.classes)

    def rows(self, chosen: Any) -> Self:
        """Return the rows that a mask, a slice or an array of indices selects."""
        return self._replace(**{name: values[chosen] for name, values in self._columns().items()})

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the rows of several parts."""
        names = parts[0]._columns()
        columns: Any = {name: np.concatenate([getattr(p, name) for p in parts]) for name in names}
        return parts[0]._replace(**columns)

    def column(self, code: int) -> np.ndarray:
        """Return what ranks the rows of a class: of several, its probabilities if there are any."""
        if self.scores.ndim == 1:
            return np.asarray(self.scores if code else -self.scores)
        scores = self.scores if self.probabilities is None else self.probabilities
        return np.asarray(scores[:, code])


def _scored(
    model: Any, truth: np.ndarray, predicted: np.ndarray, weights: np.ndarray | None,
    groups: np.ndarray | None, scores: np.ndarray | None,
) -> Scored:  # fmt: skip
    weights = np.ones(truth.size) if weights is None else weights
    if scores is None:
        return Scored(None, truth, predicted, weights, groups=groups)
    found = probabilities_of(model, scores) if hasattr(model, "predict_proba") else None
    positive = labels.positive_code(model) if model.classes_.size == 2 else 1
    return Scored(model.classes_, truth, predicted, weights, scores, found, groups, positive)


def answers(prediction: Any, unknown: list[str] | None = None) -> Iterator[Scored]:
    """Yield the rows of a prediction; ``unknown`` takes the first unknown label, with its place."""
    model = prediction.model
    if not hasattr(model, "classes_"):
        for batch, truth, predicted in prediction.with_targets():
            yield _scored(model, truth, predicted, batch.weights, batch.groups, None)
        return
    for batch, scores, codes in prediction.codes():
        truth = prediction.true_codes(batch.y)
        if unknown == [] and (odd := truth == model.classes_.size).any():
            row = int(np.argmax(odd))
            place = prediction.source.where(batch.first + row)
            unknown.append(f"{labels.label_text(batch.y[row])!r} in {place}")
        yield _scored(model, truth, codes, batch.weights, batch.groups, scores)


def answers_in_memory(
    model: Any, X: Any, y: Any, sample_weight: Any, groups: Any, offset: Any
) -> Scored:
    """Return the rows of X with their labels y and what else is given for each row, or None."""
    check_beside(X, y=y, sample_weight=sample_weight, groups=groups, offset=offset)
    more = {} if offset is None else {"offset": offset}
    predicted = model.predict(X, **more)
    y = labels.label_a_row(model, y, len(predicted))
    if sample_weight is not None:
        sample_weight = labels.check_sample_weight(sample_weight, y.size, all_may_be_zero=True)
    if groups is not None:
        groups = np.asarray(groups)
        refuse_faults(groups, {"missing-value"}, "groups", "give a group")
        check_consistent_length(y, groups)
    if not hasattr(model, "classes_"):
        truth = numbers_beside(y, y.size, "y")
        return _scored(model, truth, predicted, sample_weight, groups, None)
    codes, truth = (labels.codes_in(model.classes_, given, "y") for given in (predicted, y))
    scores = model.decision_function(X, **more)
    return _scored(model, truth, codes, sample_weight, groups, scores)


def collected(parts: Iterable[Scored], name: str) -> Scored:
    """Return the parts as one, as :func:`scored`."""
    kept, seen, step = list[Scored](), 0, 1
    for part in parts:
        kept.append(part.rows(slice(-seen % step, None, step)))
        seen += part.truth.size
        while -(-seen // step) > min(MOST_ROWS, MOST_SCORES // part.n_classes):
            kept, step = [Scored.joined(kept).rows(slice(None, None, 2))], 2 * step
    rows = Scored.joined(kept)._replace(step=step)
    rows = rows if rows.weights.all() else rows.rows(rows.weights > 0)
    check_summable(rows.weights)
    if not rows.weights.size:
        raise DataError(
            f"{name} has no rows to score: all rows have weight 0.", code="no-rows", path=name
        )
    return rows


def scored(model: Any, source: Source) -> Scored:
    """Return the predictions of a model for the rows of a source with a weight, in one reading:
    of more than 2^21 rows, or 2^24 scores, for every second, fourth, eighth row and so on.
    """
    return collected(answers(model.predictions(source)), source.name)
