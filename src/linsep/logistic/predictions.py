"""Predictions of a logistic regression for the rows of a source."""

from collections.abc import Iterator

import numpy as np

from linsep.batches import Batch
from linsep.estimators._common.predicting import (
    Prediction,
    codes_of,
    decided,
)
from linsep.inference.results import Bands
from linsep.logistic.delta import Curves, widened_rows


class LogisticPrediction(Prediction):
    """Predictions of a logistic regression for the rows of a source."""

    def decisions(self) -> Iterator[tuple[Batch, np.ndarray]]:
        """Yield each batch with its log-odds."""
        for batch in self.batches():
            known = self.fitted_width(batch.X, self.model.n_features_in_)
            yield batch, batch.answers(self.model._scores(known, self.offset_of(batch)))

    def codes(self) -> Iterator[tuple[Batch, np.ndarray, np.ndarray]]:
        """Yield each batch with its log-odds and class codes."""
        for batch, scores in self.decisions():
            yield batch, scores, decided(self.model, scores, codes_of(scores))

    def with_bands(self, level: float) -> Iterator[tuple[Batch, np.ndarray, np.ndarray, Bands]]:
        """Yield the same with the probabilities and their confidence intervals."""
        curves = Curves(self.model)
        for batch, scores, codes in self.codes():
            rows = widened_rows(batch.X, curves.n_features)
            bands = curves.bands(rows, level, self.offset_of(batch))
            yield batch, scores, codes, Bands(*map(batch.answers, bands))
