"""Dask Arrays and DataFrames as shards, one per partition."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from linsep.batches import Batch
from linsep.distributed.cluster import Cluster, at_shard
from linsep.distributed.rows import ShardedRows
from linsep.distributed.shards import ShardRows
from linsep.errors import DataError, ParameterError
from linsep.estimators import labels
from linsep.inference.robust import cluster_numbers
from linsep.validation.checks import check_beside


def is_collection(X: Any) -> bool:
    """Return whether X is a Dask Array, DataFrame or Series."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def rows_of_collections(
    cluster: Cluster, X: Any, y: Any, sample_weight: Any, clusters: Any
) -> ShardedRows:
    """Compute the partitions of X and y, and of weights and cluster labels, on the workers."""
    given = {"X": X, "y": y, "sample_weight": sample_weight, "clusters": clusters}
    parts: dict[str, list[Any]] = {}
    for name, collection in given.items():
        if collection is None and name != "y":
            continue
        if not is_collection(collection):
            raise ParameterError(
                f"{name} must be a Dask collection, with the partitions of X.", option=name
            )
        if getattr(collection, "numblocks", ())[1:2] > (1,):
            collection = collection.rechunk({1: -1})  # noqa: PLW2901  whole rows
        parts[name] = cluster.client.compute(np.ravel(collection.to_delayed()).tolist())
        if len(parts[name]) != len(parts["X"]):
            raise DataError(
                f"{name} has {len(parts[name]):,} partitions, but X has "
                f"{len(parts['X']):,}: repartition them alike.", code="shape", option=name,
            )  # fmt: skip
    n_parts = len(parts["X"])
    each = zip(*(parts.get(name, [None] * n_parts) for name in given), strict=True)
    names = [f"partition {k:,}" for k in range(n_parts)]
    futures = [
        cluster.submit("read shard", at_shard, name, _rows, *of, priority=-1)
        for name, of in zip(names, each, strict=True)
    ]
    return ShardedRows(cluster, names, futures, "X")


def _rows(X: Any, y: Any, sample_weight: Any = None, clusters: Any = None) -> ShardRows:
    """Return the rows of a partition, checked as those of arrays."""
    if X.shape[0] == len(y) == 0:
        return ShardRows()
    check_beside(X, y=y, sample_weight=sample_weight)
    X, y = labels.checked_rows(BaseEstimator(), X, y)
    y = np.array(y.tolist()) if y.dtype.kind == "O" else y
    weights = labels.check_sample_weight(sample_weight, len(y), all_may_be_zero=True)
    groups = None if clusters is None else cluster_numbers(X, clusters, hashed=True)
    return ShardRows(Batch(X, y, weights=weights if weights.size else None, groups=groups))
