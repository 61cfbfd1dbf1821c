"""Linear regression and Gaussian naive Bayes on a cluster, bit-identical to one process."""

from typing import Any, NamedTuple

import numpy as np

from linsep import naive_bayes
from linsep.batches import Batch
from linsep.distributed.lanes import ClusterLanes
from linsep.distributed.rows import ShardedRows, measure
from linsep.errors import DataError
from linsep.estimators import labels
from linsep.inference.robust import CLUSTERED, refuse_weights
from linsep.lanes import no_weight
from linsep.linear import estimator as linear
from linsep.validation.checks import tidy


class Numbers(NamedTuple):
    """Batches of rows of positive weight whose y are numbers; ``whole`` refuses weights that are
    not whole numbers, and groups are kept if they are ``clustered``.
    """

    whole: bool
    clustered: bool = False

    def __call__(self, rows: Batch, name: str) -> Batch:
        """Return the block of a shard."""
        if rows.y.dtype.kind not in "biuf":
            raise DataError(
                f"{name} has text as labels. A regression needs one number per row; for class "
                "labels, use a classifier.", code="label-type",
            )  # fmt: skip
        groups = rows.groups if self.clustered else None
        found = Batch(rows.X, rows.y.astype(np.float64), weights=rows.weights, groups=groups)
        return linear.rows_of_weight(
            found, self.whole, lambda row: f"{name}, row {row + 1:,} of it"
        )


class Codes(NamedTuple):
    """Batches of rows whose y are codes of ``classes``, an array of sorted labels; groups are kept
    if they are ``clustered``.
    """

    classes: np.ndarray
    clustered: bool = False

    def __call__(self, rows: Batch, name: str) -> Batch:
        """Return the block of a shard."""
        groups = rows.groups if self.clustered else None
        if not rows.y.size:
            return Batch(rows.X, np.zeros(0, np.int32), weights=rows.weights, groups=groups)
        codes = labels.codes_in(self.classes, rows.y)
        return Batch(tidy(rows.X), codes, weights=rows.weights, groups=groups)


def check_shards(estimator: Any, rows: ShardedRows) -> bool:
    """Return whether clusters are needed; raise ParameterError if rows also have weights."""
    refuse_weights(estimator.covariance, True if rows.weighted else None)
    return bool(estimator.covariance == CLUSTERED)


def fit_linear(estimator: Any, rows: ShardedRows, source: Any, saving: Any) -> None:
    """Fit a linear regression; Dask collections, like arrays, are cheap to read again."""
    clustered = check_shards(estimator, rows)
    lanes = ClusterLanes(rows, Numbers(estimator.weight_type == "frequency", clustered))
    linear.fit_lanes(estimator, lanes)


def fit_naive_bayes(estimator: Any, rows: ShardedRows, source: Any, saving: Any) -> None:
    """Fit Gaussian naive Bayes to described rows."""
    classes, totals = rows.classes()
    labels.check_two_classes(classes, rows.name)
    if not any(about.counted for about in rows.about):
        raise no_weight()
    lanes = ClusterLanes(rows, Codes(classes))
    naive_bayes.fit_lanes(estimator, classes, lanes)
    measure(estimator, rows, lanes.blocks, labeled, totals)


def labeled(model: Any, block: Batch) -> Batch:
    """Return the rows of a block with their labels."""
    return block._replace(y=model.classes_[block.y])
