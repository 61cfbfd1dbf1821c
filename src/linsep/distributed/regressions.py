"""Regressions and Gaussian naive Bayes on a cluster, bit-identical to one process."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from linsep import naive_bayes
from linsep.batches import Batch, weight_totals
from linsep.distributed.lanes import ClusterLanes
from linsep.distributed.rows import ShardedRows, measure
from linsep.errors import DataError
from linsep.estimators import labels
from linsep.linear import estimator as linear
from linsep.logistic.estimator import fit_task
from linsep.logistic.task import FittedClasses, Task, order_of, with_head
from linsep.sources import Source
from linsep.validation.checks import tidy


def numbers(whole: bool, rows: Batch) -> Batch:
    """Return rows of positive weight whose y are numbers; ``whole`` refuses other weights."""
    if rows.y.dtype.kind not in "biuf":
        raise DataError(
            "The labels are text. A regression needs one number per row; for class labels, use a "
            "classifier.", code="label-type",
        )  # fmt: skip
    return linear.rows_of_weight(rows._replace(y=rows.y.astype(np.float64)), whole)


def places_of(classes: np.ndarray, places: np.ndarray, rows: Batch) -> Batch:
    """Return rows whose y are the places of their labels among the sorted classes."""
    return rows._replace(X=tidy(rows.X), y=places[labels.codes_in(classes, rows.y)])


def fit_linear(estimator: Any, rows: ShardedRows, source: Any, saving: Any) -> None:
    """Fit a linear regression to described rows."""
    rows.prepare(partial(numbers, estimator.weight_type == "frequency"))
    sizes = [about.counted for about in rows.about]
    linear.fit_lanes(estimator, ClusterLanes(rows, rows.rows, sizes))


def fit_naive_bayes(estimator: Any, rows: ShardedRows, source: Any, saving: Any) -> None:
    """Fit Gaussian naive Bayes to described rows."""
    classes, totals = rows.classes()
    labels.check_two_classes(classes, rows.name)
    rows.prepare(partial(places_of, classes, np.arange(classes.size)))
    naive_bayes.fit_lanes(estimator, classes, ClusterLanes(rows, rows.rows, rows.sizes))
    measure(estimator, rows, classes, totals)


def added_totals(totals: np.ndarray, block: Batch) -> np.ndarray:
    """Return the summed weights of each class with those of one more block, as in one process."""
    return weight_totals(totals, block.y, block.importance)


def weighed(class_weights: np.ndarray | None, block: Batch) -> Batch:
    """Return rows whose weights are multiplied by those of their classes."""
    if class_weights is None:
        return block
    of_classes = class_weights[block.y]
    own = block.weights
    return block._replace(weights=of_classes if own is None else of_classes * own)


def fit_logistic(estimator: Any, rows: ShardedRows, source: Any, saving: Any) -> None:
    """Fit a logistic regression to described rows: the client takes the steps of the ascent, and
    reads files again where a fit needs more than sums; workers evaluate the likelihood.
    """
    classes, totals = rows.classes()
    labels.check_two_classes(classes, rows.name)
    order = order_of(estimator.reference, classes)
    places = np.argsort(order).astype(np.int32)
    as_block = partial(places_of, classes, places)
    rows.prepare(as_block)
    cluster, blocks = rows.cluster, rows.rows

    def in_order() -> np.ndarray:
        found: Any = np.zeros(classes.size)
        for block in blocks:
            found = cluster.submit("count classes", added_totals, found, block)
        return cluster.results([found])[0][places]

    totals, weights = in_order() if rows.weighted else totals, None
    counted = totals
    if (given := estimator.class_weight) is not None:
        weights = labels.weigh_classes(given, classes, totals, path=rows.name)[order]
        blocks = [cluster.submit("prepare shard", weighed, weights, block) for block in blocks]
        counted = in_order()
    labels.warn_of_weightless(classes, counted)
    known = FittedClasses(classes, estimator.reference, counted)
    files = source if isinstance(source, Source) else None
    n_features = estimator.n_features_in_

    def batches() -> Iterator[Batch]:
        """Yield all rows in their order, of files or else from the workers."""
        read = map(as_block, files.batches()) if files else map(received, rows.rows)
        return with_head((weighed(weights, block) for block in read), n_features)

    def received(block: Any) -> Batch:
        return cluster.results([block])[0]

    n_rows = sum(about.counted for about in rows.about)  # the weight of each class is positive
    lanes = ClusterLanes(rows, blocks, rows.sizes, batches)
    task = Task(estimator, known, batches, n_features, n_rows, source=files, lanes=lanes)
    fit_task(estimator, task, saving)
    measure(estimator, rows, known.labels, totals)
