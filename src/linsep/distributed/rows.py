"""Rows of shards on the workers of a cluster, with a description for the client."""

from collections import Counter
from collections.abc import Callable
from copy import copy
from math import fsum
from typing import Any, NamedTuple

import numpy as np

from linsep.batches import Batch, weight_totals
from linsep.distributed.cluster import Cluster, given, refuse_others, versions
from linsep.distributed.shards import Reading, Shard, ShardRows, read_shard, shards_of
from linsep.errors import NoRows
from linsep.rows.label_book import LabelBook
from linsep.sources.arrays import ArraySource
from linsep.sources.base import Source
from linsep.sources.tables.files import all_dropped

#: importance of tasks: what uses rows comes before reading more
FIRST = 10
#: returns the rows of a shard with labels, given a fitted estimator
Labeled = Callable[[Any, Any], Batch]


class Described(NamedTuple):
    """Description of the rows of a shard for the client.

    Attributes
    ----------
    rows, width, dropped : int
    filled : dict, missing values that were replaced, by column
    counted : int, rows of positive weight
    labels, totals : the labels and the summed weights of each; empty for a regression
    weighted : bool
    """

    rows: int
    width: int
    dropped: int
    filled: dict[str, int]
    counted: int
    labels: list[Any]
    totals: np.ndarray
    weighted: bool


def _read(shard: Shard, reading: Reading, known: dict[str, str]) -> ShardRows:
    refuse_others(known, "The client")
    return read_shard(shard, reading)


def described(rows: ShardRows, name: str, classes: bool) -> Described:
    """Describe the rows of a shard, with their labels if these are ``classes``."""
    n_rows, weights, book = rows.batch.size, rows.batch.weights, LabelBook()
    totals = np.zeros(0)
    if classes and n_rows:
        numbers = book.numbers(rows.batch.y, lambda row: f"{name}, row {row + 1:,} of it")
        totals = weight_totals(totals, numbers, rows.batch.importance)
    counted = n_rows if weights is None else int(np.count_nonzero(weights))
    width = rows.batch.X.shape[1]
    return Described(
        n_rows, width, rows.dropped, rows.filled, counted, book.labels, totals, weights is not None
    )


class ShardedRows:
    """Rows on the workers: futures of :class:`linsep.distributed.shards.ShardRows`, in order.

    Attributes
    ----------
    names : list of str, of the shards
    name : str, of all of them together
    rows : list of futures
    about : list of Described
    """

    def __init__(self, cluster: Cluster, names: list[str], rows: list[Any], name: str):
        self.cluster, self.names, self.rows, self.name = cluster, names, rows, name
        self.about: list[Described] = []

    def describe(self, classes: bool, done: Callable[[int], None] | None = None) -> None:
        """Read all shards and describe them."""
        futures = [
            self.cluster.submit("describe shard", described, rows, name, classes, priority=FIRST)
            for rows, name in zip(self.rows, self.names, strict=True)
        ]
        self.about = self.cluster.results(futures, done)
        if not self.n_rows:
            if self.dropped:
                raise all_dropped(self.name)
            raise NoRows(f"{self.name} has no usable rows.")

    @property
    def n_rows(self) -> int:
        """Number of rows in all shards."""
        return sum(about.rows for about in self.about)

    @property
    def dropped(self) -> int:
        """Rows of all shards left out for missing values."""
        return sum(about.dropped for about in self.about)

    @property
    def filled(self) -> dict[str, int]:
        """Missing values of all shards that were replaced, by column."""
        return dict(sum((Counter(about.filled) for about in self.about), Counter[str]()))

    @property
    def width(self) -> int:
        """Number of features: the largest index of any shard."""
        return max(about.width for about in self.about)

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return any(about.weighted for about in self.about)

    def classes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the sorted labels of all shards, and the summed weight of each."""
        book, totals = LabelBook(), np.zeros(0)
        for about, name in zip(self.about, self.names, strict=True):
            if about.labels:
                numbers = book.numbers(np.array(about.labels), lambda _: name)  # noqa: B023
                totals = weight_totals(totals, numbers, about.totals)
        order = np.argsort(book.codes)
        return book.classes, totals[order]


def rows_of_source(
    cluster: Cluster, source: Source, shard_bytes: int, clustered: bool = False
) -> ShardedRows:
    """Read the shards of a source on the workers; ``clustered``: with groups.

    Facts about all rows (scales, words, values of text columns) are collected first, in one reading
    by this process.
    """
    shards = shards_of(source, shard_bytes)
    recipe = source.recipe() | (source.of_groups() if clustered else {})
    reading = Reading(recipe, source.reading)
    source.check_files()
    known = versions()
    futures = [cluster.submit("read shard", _read, shard, reading, known) for shard in shards]
    return ShardedRows(cluster, [str(shard) for shard in shards], futures, source.name)


def measure(
    estimator: Any, rows: ShardedRows, futures: list[Any], labeled: Labeled, totals: np.ndarray
) -> None:
    """Set the training accuracy on all rows, and the share of the most frequent class.

    Parameters
    ----------
    futures : of objects that ``labeled``, given the estimator, converts to rows with labels
    totals : array of shape (classes,), summed row weights
    """
    model = copy(estimator)
    for name in ("progress_", "mixture_"):
        model.__dict__.pop(name, None)
    shared = rows.cluster.submit("share model", given, model, priority=FIRST)
    tasks = [
        rows.cluster.submit("score shard", _right, shared, labeled, future, at=at)
        for future, at in zip(futures, rows.cluster.holders(futures), strict=True)
    ]
    right, total = fsum(rows.cluster.results(tasks)), float(totals.sum())
    estimator.training_accuracy_ = right / total if total else None
    estimator.training_rows_, estimator.training_sampled_ = rows.n_rows, False
    estimator.training_baseline_ = float(totals.max() / (total or 1.0))


def _right(model: Any, labeled: Labeled, part: Any) -> float:
    """Return the weight of the rows of a shard that are predicted correctly."""
    rows = labeled(model, part)
    if not rows.y.size:
        return 0.0
    compared = model.predictions(ArraySource(rows.X, rows.y, rows.weights)).compared()
    return fsum(float(weights[right].sum()) for right, _, weights in compared)
