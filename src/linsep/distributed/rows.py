"""Rows of shards on the workers of a cluster, with a description for the client."""

from collections import Counter
from collections.abc import Callable
from copy import copy
from math import fsum
from typing import Any, NamedTuple

import numpy as np

from linsep.batches import Batch, weight_totals
from linsep.distributed.cluster import Cluster, at_shard
from linsep.distributed.shards import Reading, ShardRows, read_shard, shards_of
from linsep.errors import NoRows
from linsep.lanes import lane_rows, no_weight
from linsep.rows.source_stream import LabelBook
from linsep.sources import ArraySource, Source
from linsep.sources.tables.files import all_dropped


class Described(NamedTuple):
    """Description of the rows of a shard for the client: how many there are, of positive weight
    (``counted``), in a lane, and ``dropped`` for missing values; how many features (``width``) and,
    by column, values that were ``filled``; the labels with the summed weights of each.
    """

    rows: int
    width: int
    dropped: int
    lane: int
    filled: dict[str, int]
    counted: int
    labels: list[Any]
    totals: np.ndarray
    weighted: bool


def described(rows: ShardRows, classes: bool) -> Described:
    """Describe the rows of a shard, with their labels if these are ``classes``."""
    batch, book, totals = rows.batch, LabelBook(), np.zeros(0)
    if classes and batch.size:
        totals = weight_totals(totals, book.numbers(batch.y), batch.importance)
    weights = batch.weights
    counted = batch.size if weights is None else int(np.count_nonzero(weights))
    return Described(
        batch.size, batch.X.shape[1], rows.dropped, lane_rows(batch.X), rows.filled, counted,
        book.labels, totals, weights is not None,
    )  # fmt: skip


class ShardedRows:
    """Rows on the workers: futures of :class:`linsep.distributed.shards.ShardRows`, in order.

    ``names`` are those of the shards, ``name`` that of all of them together. :meth:`describe` sets
    ``about``, a list of Described without the shards without rows, and what all shards have.
    """

    def __init__(self, cluster: Cluster, names: list[str], rows: list[Any], name: str):
        self.cluster, self.names, self.rows, self.name = cluster, names, rows, name

    def describe(self, classes: bool, done: list[Any]) -> None:
        """Read all shards and describe them; ``done`` grows with each."""
        tasks = [
            self.cluster.submit("describe shard", at_shard, name, described, rows, classes)
            for name, rows in zip(self.names, self.rows, strict=True)
        ]
        every = self.cluster.results(tasks, done.append)
        self.dropped = sum(about.dropped for about in every)
        self.filled = dict(sum((Counter(about.filled) for about in every), Counter[str]()))
        some = [k for k, about in enumerate(every) if about.rows]
        if not some:
            empty = NoRows(f"{self.name} has no usable rows.")
            raise all_dropped(self.name) if self.dropped else empty
        self.about: list[Described] = [every[k] for k in some]
        self.names, self.rows = [self.names[k] for k in some], [self.rows[k] for k in some]
        self.sizes = [about.rows for about in self.about]
        self.width = max(about.width for about in self.about)
        self.weighted = any(about.weighted for about in self.about)
        if not any(about.counted for about in self.about):
            raise no_weight()
        self.cluster.stay(self.rows)

    def prepare(self, as_block: Callable[[Batch], Batch]) -> None:
        """Replace the rows by the blocks that a function makes of them; it can be pickled."""
        shared = self.cluster.share(as_block)
        self.rows = [
            self.cluster.submit("prepare shard", at_shard, name, _prepared, shared, rows)
            for name, rows in zip(self.names, self.rows, strict=True)
        ]

    def classes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the sorted labels of all shards, and the summed weight of each."""
        book, totals = LabelBook(), np.zeros(0)
        for about, name in zip(self.about, self.names, strict=True):
            numbers = book.numbers(np.array(about.labels), lambda _: name)  # noqa: B023
            totals = weight_totals(totals, numbers, about.totals)
        return book.classes, totals[np.argsort(book.codes)]


def _prepared(as_block: Callable[[Batch], Batch], rows: ShardRows) -> Batch:
    return as_block(rows.batch)


def rows_of_source(
    cluster: Cluster, source: Source, shard_bytes: int, clustered: bool = False
) -> ShardedRows:
    """Read the shards of a source on the workers; ``clustered``: with groups.

    Facts about all rows (scales, words, values of text columns) are collected first, in one reading
    by this process.
    """
    shards = shards_of(source, shard_bytes)
    recipe = source.recipe() | (source.of_groups() if clustered else {})
    source.check_files()
    reading = Reading(recipe, source.reading)
    futures = [cluster.submit("read shard", read_shard, s, reading, priority=-1) for s in shards]
    return ShardedRows(cluster, [str(shard) for shard in shards], futures, source.name)


def measure(estimator: Any, rows: ShardedRows, labels: np.ndarray, totals: np.ndarray) -> None:
    """Set the training accuracy on all rows, and the share of the most frequent class.

    Parameters
    ----------
    rows : prepared, with y as indices of ``labels``
    totals : array of shape (classes,), summed row weights
    """
    model = copy(estimator)
    for name in ("progress_", "mixture_"):
        model.__dict__.pop(name, None)
    shared, submit = rows.cluster.share(model), rows.cluster.submit
    tasks = [submit("score shard", _right, shared, labels, block) for block in rows.rows]
    right, total = fsum(rows.cluster.results(tasks)), float(totals.sum())
    estimator.training_accuracy_ = right / total if total else None
    estimator.training_rows_, estimator.training_sampled_ = sum(rows.sizes), False
    estimator.training_baseline_ = float(totals.max() / (total or 1.0))


def _right(model: Any, labels: np.ndarray, rows: Batch) -> float:
    """Return the weight of the rows of a shard that are predicted correctly."""
    source = ArraySource(rows.X, labels[rows.y], rows.weights)
    return fsum(float(w[right].sum()) for right, _, w in model.predictions(source).compared())
