"""Logistic regression of the rows of a source, which are read again in every pass."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np

from linsep._system.interrupts import interrupts_deferred
from linsep.checkpoints.saving import Saving
from linsep.estimators._common.reading import describe
from linsep.learners.from_source import (
    class_importance,
    measure,
    refuse_one_class,
    warn_of_measurements,
)
from linsep.logistic.classes import FittedClasses
from linsep.logistic.lanes import Batch, with_head
from linsep.logistic.rows import BatchRows, order_of
from linsep.rows.source_stream import SourceStream
from linsep.rows.stored import StartAgain
from linsep.rows.weights import added
from linsep.sources.base import Source


class StreamRows(BatchRows):
    """Rows of a stream.

    Parameters
    ----------
    model : LogisticRegression
    stream : SourceStream, already begun
    """

    def __init__(self, model: Any, stream: SourceStream):
        super().__init__(model, stream.source)
        self.stream = stream
        while True:
            try:
                stream.start()
                self._count()
                break
            except StartAgain:  # a class turned up late, or a cache was damaged
                continue
        refuse_one_class(stream)
        self.known = FittedClasses(
            stream.classes, order_of(model.reference, stream.classes), self._totals
        )
        self.n_features = max(stream.n_features, len(stream.feature_names or []))

    def _count(self) -> None:
        """Read all rows once to sum the weights of each class and count the rows with weight."""
        self._totals, self._n_rows = np.zeros(self.stream.classes.size), 0
        for row_batch in self.stream.row_batches(0):
            weights, codes = row_batch.importance, row_batch.codes
            self._totals = added(self._totals, codes, weights)
            self._n_rows += int((weights > 0).sum()) if weights.size else len(codes)

    def batches(self) -> Iterator[Batch]:
        """Yield all rows in their order."""
        places = self.known.places
        return with_head(
            (
                Batch(row_batch.rows, places[row_batch.codes], row_batch.importance)
                for row_batch in self.stream.row_batches(1)
            ),
            self.n_features,
        )


def fit_source(model: Any, source: Source, saving: Saving) -> None:
    """Fit a logistic regression to a source; also sets ``recipe_``."""
    saving.check_source(source)
    weight = model.class_weight
    stream = SourceStream(
        source, seed=0, shuffle=False, keep=True,
        importance=None if weight is None else class_importance(weight, source.name),
        counts=weight == "balanced", expected=list(weight) if isinstance(weight, dict) else [],
        lengths=True,
    )  # fmt: skip
    with interrupts_deferred(), closing(stream):
        stream.begin()
        rows = StreamRows(model, stream)
        warn_of_measurements(stream)
        describe(model, stream, stream.n_features)
        source.stage, source.doing = "fitting", rows.doing
        try:
            model._fit(rows, {"X": None, "y": None, "metadata": None}, saving)
        finally:
            source.doing = None
        measure(model, stream)
