"""Dask Arrays and DataFrames as shards, one per partition."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.batches import Batch
from linsep.distributed.cluster import Cluster
from linsep.distributed.rows import ShardedRows
from linsep.distributed.shards import ShardRows
from linsep.errors import DataError, ParameterError
from linsep.inference.robust import cluster_numbers
from linsep.validation.checks import as_csr, check_beside, labels_of, refuse_masked, refuse_rounded

#: collections of a fit, in this order
BESIDE = ("X", "y", "sample_weight", "clusters")


def is_collection(X: Any) -> bool:
    """Return whether X is a Dask Array, DataFrame or Series."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def rows_of_collections(
    cluster: Cluster, X: Any, y: Any, sample_weight: Any, clusters: Any = None
) -> ShardedRows:
    """Compute the partitions of X and y, and of weights and cluster labels, on the workers."""
    if not is_collection(y):
        raise ParameterError(
            "y must be a Dask Array or Series, with the partitions of X.", option="y"
        )
    parts = {}
    for name, collection in zip(BESIDE, (X, y, sample_weight, clusters), strict=True):
        if collection is None:
            continue
        if not is_collection(collection):
            raise ParameterError(f"{name} must be a Dask collection, like X.", option=name)
        if getattr(collection, "numblocks", ())[1:2] > (1,):
            collection = collection.rechunk({1: -1})  # noqa: PLW2901  whole rows
        parts[name] = np.ravel(collection.to_delayed()).tolist()
        if len(parts[name]) != len(parts["X"]):
            raise DataError(
                f"{name} has {len(parts[name]):,} partitions, but X has "
                f"{len(parts['X']):,}: repartition them alike.", code="shape", option=name,
            )  # fmt: skip
    if X.shape[1:] == (0,):
        raise DataError("X has no columns: give at least one feature.", code="no-columns")
    names = [f"partition {k:,}" for k in range(len(parts["X"]))]
    computed = {name: cluster.client.compute(delayed) for name, delayed in parts.items()}
    futures = []
    for k, name in enumerate(names):
        given = [computed[of][k] if of in computed else None for of in BESIDE]
        futures.append(cluster.submit("read shard", _rows, name, *given))
    return ShardedRows(cluster, names, futures, "X")


def names_of(X: Any) -> list[str]:
    """Return the column names of a DataFrame; an empty list for an Array."""
    return [str(name) for name in getattr(X, "columns", [])]


def _rows(name: str, X: Any, y: Any, sample_weight: Any = None, clusters: Any = None) -> ShardRows:
    """Return the rows of a partition; DataError names the partition, and a column."""
    weights = sample_weight
    check_beside(X, **{f"{name}: y": y, f"{name}: sample_weight": weights})
    refuse_masked(X, f"{name} of X")
    values = _numbers(name, X)
    labels = np.asarray(y)
    if labels.dtype.kind == "O" and labels.ndim == 1:
        labels = _plain_labels(name, labels)
    if labels.ndim != 1 or len(labels) != values.shape[0]:
        raise DataError(
            f"{name} has {values.shape[0]:,} rows of X, but y of shape {labels.shape}: give one "
            "label per row.", code="shape",
        )  # fmt: skip
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise DataError(
            f"{name} has a missing or infinite y: leave these rows out.", code="missing-value"
        )
    if weights is None:
        return ShardRows(Batch(values, labels, groups=_clusters(name, values, clusters)))
    counts = np.asarray(weights, dtype=np.float64)
    if counts.shape != labels.shape or not np.isfinite(counts).all() or (counts < 0).any():
        raise DataError(
            f"{name} has invalid weights: give one number of at least 0 per row.", code="bad-value"
        )
    return ShardRows(Batch(values, labels, weights=counts))


def _clusters(name: str, X: Any, clusters: Any) -> np.ndarray | None:
    """Return numbers of the clusters of a partition, the same in all partitions."""
    if clusters is None:
        return None
    try:
        return cluster_numbers(X, clusters, hashed=True)
    except DataError as problem:
        raise problem.at(f"{name}: ") from None


def _plain_labels(name: str, y: np.ndarray) -> np.ndarray:
    """Return object labels, such as text or categories of pandas, as an array of text or numbers;
    raise DataError if one is missing, or text and numbers are mixed.
    """
    try:
        labels = labels_of(y)
    except DataError as problem:
        raise problem.at(f"{name}: ") from None
    return np.array(labels.tolist())


def _numbers(name: str, X: Any) -> Any:
    try:
        refuse_rounded(X)
    except DataError as problem:
        raise problem.at(f"{name}: ") from None
    labels: Any = range(X.shape[1]) if X.ndim == 2 else []
    if hasattr(X, "dtypes") and hasattr(X, "columns"):
        for column, kind in zip(X.columns, X.dtypes, strict=True):
            if getattr(kind, "kind", "O") not in "biuf":
                raise DataError(
                    f"{name}, column '{column}' holds {kind}: encode it as numbers, or use files, "
                    "whose text linsep encodes.", code="column-type", column=column,
                )  # fmt: skip
        labels = [f"'{column}'" for column in X.columns]
        X = X.to_numpy(dtype=np.float64, na_value=np.nan)
    X = sp.csr_matrix(as_csr(X)) if sp.issparse(X) else np.ascontiguousarray(X)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise DataError(
            f"{name} of X has shape {X.shape} of {X.dtype}: give rows of numbers.",
            code="shape", value=X.shape,
        )  # fmt: skip
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    if sp.issparse(X):
        X.sum_duplicates()
    values = X.data if sp.issparse(X) else X
    if not np.isfinite(values).all():
        first = int(np.argmin(np.isfinite(values).ravel()))
        stored = X.tocoo() if sp.issparse(X) else None
        row, column = divmod(first, X.shape[1])
        if stored is not None:
            row, column = stored.row[first], stored.col[first]
        absent = np.isnan(values.ravel()[first])
        what = "a missing value" if absent else "an infinite value"
        raise DataError(
            f"{name} of X holds {what} in row {row}, column {labels[column]}: fill it, or leave "
            "the row out.", code="missing-value" if absent else "not-finite", row=int(row),
        )  # fmt: skip
    return X
