"""Predict the rows of a source batch by batch, in constant memory."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from linsep.batches import Batch, check_summable
from linsep.errors import DataError, NoRows, warn_caller
from linsep.estimators import labels
from linsep.estimators.frames import to_score, warn_of_unknown
from linsep.parameters import fitted_parameter
from linsep.sources.base import Source
from linsep.words import counted

# Keys of a recipe that determine the features; recipes that agree in them give the same columns.
FEATURES = (
    "format", "index_base", "numeric", "text", "hash_bits", "scale", "reference", "rare", "words",
    "bits", "interactions", "ignore_namespaces", "keep_namespaces", "decimal", "thousands", "units",
    "formula", "products", "offset",
)  # fmt: skip


def share_right(model: Any, X: Any, y: Any, sample_weight: Any, offset: Any = None) -> float:
    """Return the accuracy of a classifier on X and y, or on rows with their own labels."""
    if (source := to_score(model, X, y, sample_weight, offset)) is None:
        from sklearn.metrics import accuracy_score

        predicted = model.predict(X, **({} if offset is None else {"offset": offset}))
        y = labels.label_a_row(model, y, len(predicted))
        if sample_weight is not None:
            sample_weight = labels.check_sample_weight(sample_weight, len(y))
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))
    check_is_fitted(model)
    found, _ = model.predictions(source).accuracies()
    if found is None:
        raise NoRows(f"{source.name} has weight 0 in every row to score.", path=source.name)
    return float(found)


def _read_as(recipe: dict[str, Any]) -> Any:
    numeric, converted = recipe.get("numeric", ()), recipe.get("converted", {})
    conversions = {name: how for name, how in converted.items() if name in numeric}
    return [recipe.get(name) for name in FEATURES], conversions


class Prediction:
    """Predictions of a fitted model for the rows of a source, opened by its recipe; of sparse rows,
    features not seen in training are ignored.
    """

    def __init__(self, model: Any, source: Source):
        self.model, self.source = model, source
        self._beyond = 0
        learned, given = getattr(model, "recipe_", None), source.recipe()
        if learned is None or "arrays" in (learned["format"], given["format"]):
            return
        if _read_as(learned) != _read_as(given):
            raise DataError(
                f"{source.name} is not read like the model's training data: open it with "
                "open_source(..., recipe=model.recipe_).", code="other-model", path=source.name,
            )  # fmt: skip

    @property
    def unknown(self) -> dict[str, int]:
        """Number of values so far that are not in the training data, by column or "features"."""
        beyond = {"features": self._beyond} if self._beyond else {}
        return beyond | {name: count for name, count in self.source.unseen.items() if count}

    def batches(self) -> Iterator[Batch]:
        """Yield the rows; warn of values that are not in the training data after the last."""
        yield from self.source.batches()
        warn_of_unknown(self.source, self.unknown)

    def offset_of(self, batch: Batch) -> np.ndarray | None:
        return labels.offset_to_predict(self.model, batch.offset, batch.size, self.source.name)

    def codes(self) -> Iterator[tuple[Batch, np.ndarray, np.ndarray]]:
        """Yield each batch with its decision values and class codes, whatever the batch size."""
        raise NotImplementedError

    def labels(self) -> np.ndarray:
        """Return the predicted classes; None for a row that gets no prediction."""
        parts = []
        for batch, _, codes in self.codes():
            found, gaps = self.model.classes_[codes], batch.unanswered
            some = gaps is not None and gaps.any()
            parts.append(np.where(gaps, None, found) if some else found)  # type: ignore[arg-type]
        return np.concatenate(parts)

    def compared(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield which rows of a batch are predicted right, the codes of labels, and weights."""
        for batch, _, codes in self.codes():
            weights = np.ones(codes.size) if batch.weights is None else batch.weights
            truth = self.true_codes(batch.y)
            yield codes == truth, truth, weights

    def accuracies(self) -> tuple[float | None, float | None]:
        """Return the weighted and the balanced accuracy; None if all weights are zero."""
        right, truth, weights = (np.concatenate(x) for x in zip(*self.compared(), strict=True))
        check_summable(weights)
        if (new := np.flatnonzero(truth == len(self.model.classes_))).size and self.source.warns:
            where = self.source.where(int(new[0]))
            warn_caller(f"{counted(new.size, 'label')} not seen in training, the first in {where}.")
        if not weights.any():
            return None, None
        totals, recalled = np.bincount(truth, weights), np.bincount(truth, weights * right)
        recalls = recalled[totals > 0] / totals[totals > 0]
        return float(np.average(right, weights=weights)), float(recalls.mean())

    def true_codes(self, y: np.ndarray | None) -> np.ndarray:
        """Return the codes of labels, the number of classes for unknown ones."""
        name = self.source.name
        if y is None:
            raise DataError(f"{name} has no labels to compare.", code="no-labels", path=name)
        return labels.codes_in(self.model.classes_, y, name)

    def fitted_width(self, X: Any, n_features: int) -> Any:
        if not sp.issparse(X) and X.shape[1] != n_features:
            why = f"{self.source.name} has {X.shape[1]} features, but the model has {n_features}."
            raise DataError(why, code="shape", path=self.source.name)
        if X.shape[1] <= n_features:
            return X
        known = X[:, :n_features]
        self._beyond += X.nnz - known.nnz
        return known


def decided(model: Any, scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
    threshold = getattr(model, "threshold_", None)
    return codes if threshold is None else threshold.codes(scores)


def log_probabilities(scores: np.ndarray) -> np.ndarray:
    if scores.ndim == 1:
        with np.errstate(invalid="ignore"):  # NaN stands for rows without a prediction
            return -np.column_stack([np.logaddexp(0.0, scores), np.logaddexp(0.0, -scores)])
    below = scores - scores.max(axis=1, keepdims=True)  # huge scores leave no digits for the sum
    return below - np.logaddexp.reduce(below, axis=1)[:, None]


def probabilities_of(model: Any, scores: np.ndarray) -> np.ndarray:
    calibration = getattr(model, "calibration_", None)
    if calibration is not None:
        return calibration.probabilities(scores)
    if scores.ndim > 1 and fitted_parameter(model, "multiclass") == "ovr":
        from scipy.special import expit  # much to import, for few models

        return divided(expit(scores))
    return np.exp(log_probabilities(scores))


def divided(shares: np.ndarray) -> np.ndarray:
    """Return the shares of classes, shape (rows, classes), divided by their sum; equal shares if
    all are 0.
    """
    total = shares.sum(axis=1, keepdims=True)
    equal = np.full_like(shares, 1.0 / shares.shape[1])
    return np.divide(shares, total, out=equal, where=total != 0)


def codes_of(scores: np.ndarray) -> np.ndarray:
    return (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
