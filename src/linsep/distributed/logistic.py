"""Logistic regression on a cluster, bit-identical to a fit in one process.

The client takes the steps of the ascent; workers evaluate the likelihood of their rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from linsep.batches import Batch, weight_totals
from linsep.checkpoints.saving import Saving
from linsep.distributed.lanes import ClusterLanes
from linsep.distributed.regressions import Codes, check_shards, labeled
from linsep.distributed.rows import ShardedRows, measure
from linsep.estimators._common import labels
from linsep.inference.robust import CLUSTERED
from linsep.lanes import Add, Work, in_lanes
from linsep.learners.from_source import class_importance
from linsep.logistic.estimator import fit_rows
from linsep.logistic.task import (
    Batches,
    BatchRows,
    FittedClasses,
    RowLanes,
    Task,
    order_of,
    with_head,
)
from linsep.sources.base import Source


class Placed(NamedTuple):
    """From blocks of rows and class codes to batches.

    Attributes
    ----------
    places : array, the place of each class in the order of the regression
    class_weights : array of one weight per class, or None
    """

    places: np.ndarray
    class_weights: np.ndarray | None

    def batch(self, block: Batch) -> Batch:
        """Return the rows of a block."""
        weights = self.weights(block)
        weighted = weights if weights.size else None
        return Batch(block.X, self.places[block.y], weights=weighted, groups=block.groups)

    def weights(self, block: Batch) -> np.ndarray:
        """Return the products of class weights and row weights; empty if all are 1."""
        own = labels.NO_IMPORTANCE if block.weights is None else block.weights
        if self.class_weights is None:
            return own
        of_classes = self.class_weights[block.y]
        return of_classes * own if own.size else of_classes


@dataclass(frozen=True)
class BatchCut:
    """Lanes of ``size`` rows."""

    size: int
    placed: Placed

    def __call__(self, parts: list[Batch], start: int) -> Iterator[Batch]:
        """Yield the lanes that begin at row ``start`` of the first part."""
        batches = [self.placed.batch(block) for block in parts]
        batches[0] = batches[0].between(start, batches[0].size)
        return in_lanes(batches, self.size)


class LogisticLanes(RowLanes):
    """The rows of a logistic regression in lanes, summed by workers.

    Parameters
    ----------
    shards : ClusterLanes
    batches : function that returns all rows, for work of the client itself
    placed : Placed
    """

    def __init__(self, shards: ClusterLanes, batches: Batches, placed: Placed):
        super().__init__(batches)
        self._shards, self._placed = shards, placed

    def _cut(self, size: int) -> BatchCut:
        return BatchCut(size, self._placed)

    def sum(self, work: Work, add: Add, size: int) -> Any:
        """Return the sum of ``work(lane)`` over all lanes, of ``size`` rows each."""
        return self._shards.sum_of(self._cut(size), size, work, add)

    def sum_and_keep(self, work: Work, add: Add, size: int) -> tuple[Any, list[Any]]:
        """Return the sum of the first of two results of ``work(lane)``, and futures of the others,
        for :meth:`sum_with`.
        """
        return self._shards.sum_and_keep(self._cut(size), size, work, add)

    def sum_with(self, kept: list[Any], work: Work, add: Add, size: int) -> Any:
        """Return the sum of ``work(lane, what was kept of it)``."""
        return self._shards.sum_with(kept, self._cut(size), size, work, add)


class Counted(NamedTuple):
    """Number of rows with weight, and the summed weights of each class."""

    rows: int
    totals: np.ndarray


@dataclass(frozen=True)
class Counting:
    """Counts the rows of one more block, in order, as in one process."""

    class_weights: np.ndarray | None

    def __call__(self, before: Counted, block: Batch) -> Counted:
        """Return the counts plus the counts of the block."""
        weights = Placed(labels.NO_IMPORTANCE, self.class_weights).weights(block)
        rows = int((weights > 0).sum()) if weights.size else block.y.size
        return Counted(before.rows + rows, weight_totals(before.totals, block.y, weights))


class ClusterRows(BatchRows):
    """Rows of shards: workers sum them, and the client reads files again where a fit needs more
    than sums.

    Parameters
    ----------
    model : LogisticRegression
    known : FittedClasses
    counted : Counted
    lanes : ClusterLanes, whose y are class codes
    source : Source or None; without a source the client gets the rows from the workers
    class_weights : array of one weight per class, or None
    """

    def __init__(
        self, model: Any, known: FittedClasses, counted: Counted, lanes: ClusterLanes,
        source: Source | None, class_weights: np.ndarray | None,
    ):  # fmt: skip
        super().__init__(model, source)
        self._clustered = model.covariance == CLUSTERED
        self.known, self._n_rows, self._shards = known, counted.rows, lanes
        self._placed = Placed(known.places, class_weights)
        self._first: Batch | None = None
        names = [] if source is None else source.feature_names or []
        self.n_features = max(lanes.width, len(names))

    def task(self, model: Any) -> Task:
        """Return the task of fitting these rows."""
        lanes = LogisticLanes(self._shards, self.batches, self._placed)
        return replace(super().task(model), lanes=lanes)

    def batches(self) -> Iterator[Batch]:
        """Yield all rows in their order; the first of them are read once."""
        if self._first is not None:
            yield self._first
        read = with_head(map(self._placed.batch, self._blocks()), self.n_features)
        for number, batch in enumerate(read):
            if number or self._first is None:
                self._first = self._first or batch
                yield batch

    def _blocks(self) -> Iterator[Batch]:
        if self.source is None:
            yield from self._shards.each()
            return
        as_block = Codes(self.known.classes, self._clustered)
        for batch in self.source.batches():
            assert batch.y is not None
            yield as_block(batch, self.source.name)


def fit_logistic(estimator: Any, rows: ShardedRows, source: Any, saving: Saving) -> None:
    """Fit a logistic regression to described rows of a source, or of Dask collections."""
    files = source if isinstance(source, Source) else None
    name, weight = rows.name, estimator.class_weight
    classes, totals = rows.classes()
    labels.check_two_classes(classes, name)
    lanes = ClusterLanes(rows, Codes(classes, check_shards(estimator, rows)))
    none = Counted(0, np.zeros(classes.size))
    if rows.weighted:
        totals = lanes.in_order(Counting(None), none).totals
    class_weights = None if weight is None else class_importance(weight, name)(classes, totals)
    counted = Counted(rows.n_rows, totals)
    if rows.weighted or weight is not None:
        counted = lanes.in_order(Counting(class_weights), none)
    known = FittedClasses(classes, order_of(estimator.reference, classes), counted.totals)
    found = ClusterRows(estimator, known, counted, lanes, files, class_weights)
    if files is not None:
        files.doing = found.doing
    try:
        fit_rows(estimator, found, saving)
    finally:
        if files is not None:
            files.doing = None
    measure(estimator, rows, lanes.blocks, labeled, totals)
