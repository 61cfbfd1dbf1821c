"""Predicting the rows of a source: batch by batch, in flat memory."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.engine.decide import decision, predicted
from linsep.errors import DataError
from linsep.sources.base import Batch, Source

# What a recipe says of the features; two that agree here give the same columns.
FEATURES = ("format", "index_base", "numeric", "text", "hash_bits", "scale", "reference")


class Prediction:
    """The rows of a source as a fitted model sees them.

    Rows of sparse sources may be narrower or wider than the model: features that learning never
    saw have no weight.

    Parameters
    ----------
    model : fitted estimator
    source : Source
        Read as the model's training data were, which ``open_source(..., recipe=model.recipe_)``
        does; DataError where its columns would mean something else.
    """

    def __init__(self, model: Any, source: Source):
        self.model, self.source = model, source
        self._beyond = 0
        learnt, given = getattr(model, "recipe_", None), source.recipe()
        if learnt is None or "arrays" in (learnt["format"], given["format"]):
            return
        if any(learnt.get(name) != given.get(name) for name in FEATURES):
            raise DataError(
                f"{source.name} is read otherwise than what the model was learnt from: open it "
                "with open_source(..., recipe=model.recipe_)."
            )

    @property
    def unknown(self) -> dict[str, int]:
        """How many values read so far learning never saw, by column; ``features`` counts those of
        svmlight features beyond the last the model knows.
        """
        beyond = {"features": self._beyond} if self._beyond else {}
        return beyond | {name: count for name, count in self.source.unseen.items() if count}

    def decisions(self) -> Iterator[tuple[Batch, np.ndarray]]:
        """Each batch with its decision values, as decision_function gives them."""
        model, state = self.model, self.model._state
        for batch in self.source.batches():
            known = self._fitted_width(batch.X, model.n_features_in_)
            scores = model._machine_scores(known, batch.X)
            if not np.isfinite(scores).all():
                row = int(np.argwhere(~np.isfinite(scores))[0, 0])
                where = self.source.where(batch.first + row)
                raise DataError(f"{where}: the score is beyond floating point; scale the features.")
            yield batch, decision(state, scores, model.tie)

    def codes(self) -> Iterator[tuple[Batch, np.ndarray, np.ndarray]]:
        """Each batch with its decision values and class codes, the same however it is cut."""
        tie = self.model.tie
        draws = self.model._draws() if tie == "random" else None
        for batch, values in self.decisions():
            yield batch, values, predicted(values, tie, draws and draws(batch.X))

    def compared(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Class codes predicted for each batch, and those of its labels.

        A label that is no class has the number of classes for its code.
        """
        for batch, _, codes in self.codes():
            yield codes, self._true_codes(batch.y)

    def _true_codes(self, y: np.ndarray | None) -> np.ndarray:
        classes, name = self.model.classes_, self.source.name
        if y is None:
            raise DataError(f"{name} has no labels to compare predictions with.")
        text = classes.dtype.kind in "UO", y.dtype.kind in "UO"
        if text[0] != text[1]:
            raise DataError(
                f"{name} has {'text' if text[1] else 'numbers'} for labels, but the model "
                f"learnt {'text' if text[0] else 'numbers'}: is it the right file and column?"
            )
        codes = np.searchsorted(classes, y)
        codes[codes == classes.size] = 0
        return np.where(classes[codes] == y, codes, classes.size)

    def _fitted_width(self, X: Any, n_features: int) -> Any:
        """X with columns beyond the model's left out; missing ones are zeros that need no room."""
        if not sp.issparse(X):
            if X.shape[1] != n_features:
                raise DataError(
                    f"{self.source.name} has {X.shape[1]} features, but the model learnt "
                    f"{n_features}: give it rows of the same features."
                )
            return X
        if X.shape[1] <= n_features:
            return X
        known = X[:, :n_features]
        self._beyond += X.nnz - known.nnz
        return known
