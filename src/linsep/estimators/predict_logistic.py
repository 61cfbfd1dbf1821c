"""Predicting the rows of a source by logistic regression; classes and probabilities of log-odds."""

from collections.abc import Iterator

import numpy as np

from linsep.estimators.predict_source import Prediction
from linsep.sources.base import Batch


class LogisticPrediction(Prediction):
    """The rows of a source as a fitted regression sees them."""

    def decisions(self) -> Iterator[tuple[Batch, np.ndarray]]:
        """Each batch with its log-odds."""
        for batch in self.source.batches():
            yield batch, self.model._scores(self._fitted_width(batch.X, self.model.n_features_in_))

    def codes(self) -> Iterator[tuple[Batch, np.ndarray, np.ndarray]]:
        """Each batch with its log-odds and class codes."""
        for batch, scores in self.decisions():
            yield batch, scores, codes_of(scores)


def log_probabilities(scores: np.ndarray) -> np.ndarray:
    """Logarithms of the probabilities of the classes, shape (rows, classes), from log-odds."""
    if scores.ndim == 1:
        return -np.column_stack([np.logaddexp(0.0, scores), np.logaddexp(0.0, -scores)])
    return scores - np.logaddexp.reduce(scores, axis=1)[:, None]


def codes_of(scores: np.ndarray) -> np.ndarray:
    """The class of the highest score."""
    return (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
