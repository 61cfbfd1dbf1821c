"""Logistic regression on a cluster, bit-identical to a fit in one process.

The client takes the steps of the ascent; workers evaluate the likelihood of their rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linsep.batches import Batch, weight_totals
from linsep.distributed.lanes import ClusterLanes
from linsep.distributed.regressions import Codes, check_shards, labeled
from linsep.distributed.rows import ShardedRows, measure
from linsep.estimators import labels
from linsep.inference.robust import CLUSTERED
from linsep.lanes import Add, Work, in_lanes
from linsep.logistic.estimator import fit_task
from linsep.logistic.task import (
    Batches,
    FittedClasses,
    RowLanes,
    Task,
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

    def sum(self, work: Work, add: Add, size: int, kept: list[Any] | None = None) -> Any:
        """Return the sum of ``work(lane)``, or ``work(lane, what was kept of it)``, over lanes."""
        return self._shards.sum_of(self._cut(size), size, work, add, kept)

    def sum_and_keep(self, work: Work, add: Add, size: int) -> tuple[Any, list[Any]]:
        """Return the sum of the first of two results of ``work(lane)``, and futures of the others,
        for :meth:`sum`.
        """
        return self._shards.sum_and_keep(self._cut(size), size, work, add)


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


def task_of_shards(
    model: Any, known: FittedClasses, counted: Counted, shards: ClusterLanes, source: Source | None,
    class_weights: np.ndarray | None,
) -> Task:  # fmt: skip
    """Return the task of fitting rows of shards: workers sum them, and the client reads files again
    where a fit needs more than sums; without files it gets the rows from the workers.
    """
    placed, head = Placed(known.places, class_weights), list[Batch]()
    names = [] if source is None else source.feature_names or []
    n_features = max(shards.width, len(names))

    def blocks() -> Iterator[Batch]:
        if source is None:
            yield from shards.each()
            return
        as_block = Codes(known.classes, model.covariance == CLUSTERED)
        for batch in source.batches():
            assert batch.y is not None
            yield as_block(batch, source.name)

    def batches() -> Iterator[Batch]:
        """Yield all rows in their order; the first of them are read once."""
        yield from head
        for number, batch in enumerate(with_head(map(placed.batch, blocks()), n_features)):
            if number or not head:
                head[:] = head or [batch]
                yield batch

    lanes = LogisticLanes(shards, batches, placed)
    return Task(model, known, batches, n_features, counted.rows, source=source, lanes=lanes)


def fit_logistic(estimator: Any, rows: ShardedRows, source: Any, saving: Any) -> None:
    """Fit a logistic regression to described rows of a source, or of Dask collections."""
    files = source if isinstance(source, Source) else None
    name, weight = rows.name, estimator.class_weight
    classes, totals = rows.classes()
    labels.check_two_classes(classes, name)
    lanes = ClusterLanes(rows, Codes(classes, check_shards(estimator, rows)))
    none = Counted(0, np.zeros(classes.size))
    if rows.weighted:
        totals = lanes.in_order(Counting(None), none).totals
    counted, class_weights = Counted(rows.n_rows, totals), None
    if weight is not None:
        class_weights = labels.weigh_classes(weight, classes, totals, path=name)
    if rows.weighted or weight is not None:
        counted = lanes.in_order(Counting(class_weights), none)
    labels.warn_of_weightless(classes, counted.totals)
    known = FittedClasses(classes, estimator.reference, counted.totals)
    fit_task(
        estimator, task_of_shards(estimator, known, counted, lanes, files, class_weights), saving
    )
    measure(estimator, rows, lanes.blocks, labeled, totals)
