"""Rows of a source for a logistic regression: walked again and again, in flat memory."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.engine.feed import Visit
from linsep.engine.stream import SourceFeed, StartAgain
from linsep.estimators.fitted_classes import FittedClasses
from linsep.estimators.from_source import class_importance, refuse_one_class
from linsep.estimators.logistic_rows import Rows
from linsep.estimators.measured import measure
from linsep.interrupts import held
from linsep.regression.likelihood import Batch
from linsep.regression.logistic import Task
from linsep.sources.base import Source


class StreamRows:
    """The rows of a feed, as :class:`Rows` are those in memory.

    Parameters
    ----------
    model : LogisticRegression
    feed : SourceFeed that has begun
    """

    def __init__(self, model: Any, feed: SourceFeed):
        self.feed = feed
        while True:
            try:
                feed.start()
                self._count()
                break
            except StartAgain:  # a class turned up late, or a cache was damaged
                continue
        refuse_one_class(feed)
        self.known = FittedClasses(feed.classes, model._order(feed.classes), self._totals)

    def _count(self) -> None:
        """Read all rows once: what the rows of each class count, and how many do."""
        self._totals: Any = np.zeros(0)
        self._n_rows = 0
        for visit in self.feed.visits(0):
            weights = visit.importance if visit.importance.size else np.ones(len(visit.codes))
            fresh = np.bincount(visit.codes, weights, minlength=self.feed.classes.size)
            self._totals = fresh + np.pad(self._totals, (0, len(fresh) - len(self._totals)))
            self._n_rows += int((weights > 0).sum())

    def batches(self) -> Iterator[Batch]:
        """All rows in their order."""
        for visit in self.feed.visits(1):
            yield Batch(visit.rows, self.known.places[visit.codes], visit.importance)

    def task(self, model: Any) -> Task:
        """What is to be fitted."""
        names = self.feed.feature_names or []
        width = max(self.feed.n_features, len(names))
        return Task(
            self.batches, width, len(self.known.codes) - 1, self.known.totals, self._n_rows,
            bool(model.fit_intercept), float(model.l2), model.solver, model.tol,
            int(model.max_iter), len(self.known.order) > 2,
        )  # fmt: skip

    def in_memory(self, task: Task) -> Rows | None:
        """The same rows in memory; None where they take more than the source may keep there."""
        if 8 * task.n_rows * task.width > self.feed.source.memory_bytes:
            return None
        parts, codes, weights = [], [], []
        for visit in self.feed.visits(1):
            parts.append(matrix_of(visit, task.n_features))
            codes.append(visit.codes)
            weights.append(visit.importance)
        stacked = sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.vstack(parts)
        return Rows(stacked, stacked, self.known, np.concatenate(codes), np.concatenate(weights))


def matrix_of(visit: Visit, n_features: int) -> Any:
    """The rows of a visit as an array, or as a CSR matrix of this width."""
    rows = visit.rows
    if not hasattr(rows, "starts"):
        return rows.values
    shape = (len(visit.codes), n_features)
    return sp.csr_matrix((rows.values, rows.columns, rows.starts), shape=shape)


def fit_source(model: Any, source: Source) -> None:
    """Fit a logistic regression to the rows of a source; sets ``recipe_``, too."""
    weight = model.class_weight
    feed = SourceFeed(
        source, seed=0, shuffle=False, keep=True,
        importance=None if weight is None else class_importance(weight, source.name),
        counts=weight == "balanced", expected=list(weight) if isinstance(weight, dict) else [],
        lengths=True,
    )  # fmt: skip
    with held(), closing(feed):
        feed.begin()
        rows = StreamRows(model, feed)
        names = feed.feature_names or []
        model.n_features_in_ = max(feed.n_features, len(names))
        model.__dict__.pop("feature_names_in_", None)
        if names:
            model.feature_names_in_ = np.array(names, dtype=object)
        model.recipe_ = feed.recipe()
        source.stage = "fitting"
        model._fit(rows, {"X": None, "y": None, "metadata": None})
        measure(model, feed)
