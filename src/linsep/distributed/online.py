"""Online learners on a cluster: iterative parameter mixing, one task per shard and pass."""

from typing import Any

from linsep.batches import Batch
from linsep.compiled.loop import ROWS
from linsep.distributed.cluster import given
from linsep.distributed.rows import FIRST, ShardedRows, measure
from linsep.distributed.shards import ShardRows
from linsep.errors import DataError
from linsep.lanes import in_tree
from linsep.learners.mixing import (
    LearnAll,
    MixingName,
    Setting,
    ShardSums,
    added_sums,
    fit_mixed,
    setting_of,
)
from linsep.learners.state import Arrays


def fit_online(
    estimator: Any, rows: ShardedRows, mixing: MixingName, start: dict[str, Any], saving: Any
) -> None:
    """Fit an online estimator to described rows."""
    classes, totals = rows.classes()
    setting = setting_of(estimator, classes, totals, estimator.n_features_in_, mixing, saving)
    shared = rows.cluster.submit("share setting", given, setting)
    holders = rows.cluster.holders(rows.rows)
    coded = [
        rows.cluster.submit(
            "prepare shard", _coded, shared, each, rows.width, name, priority=FIRST, at=at
        )
        for each, name, at in zip(rows.rows, rows.names, holders, strict=True)
    ]
    rows.rows = []  # the prepared rows take their place
    learn = _learning(estimator, rows, shared, coded, holders)
    fit_mixed(estimator, setting, learn, len(coded), rows.weighted, **start, saving=saving)
    measure(estimator, rows, coded, _labeled, totals)


def _coded(setting: Setting, rows: ShardRows, width: int, name: str) -> Batch:
    X = rows.batch.X
    if not hasattr(X, "indptr") and X.shape[1] != width:
        raise DataError(
            f"{name} has {X.shape[1]:,} columns, others {width:,}: make them alike.", code="shape"
        )
    return setting.coded(rows.batch)


def _learned(
    setting: Setting, k: int, rows: Batch, start: Arrays, number: int, name: str
) -> ShardSums:
    try:
        return setting.learn(k, rows, start, number)
    except DataError as problem:
        raise DataError(f"{name}: {problem.message}", code=problem.code, **problem.fields) from None


def _learning(
    estimator: Any, rows: ShardedRows, shared: Any, coded: list[Any], holders: list[list[str]]
) -> LearnAll:
    """Return a function that makes one pass: its tasks get the mixed weights and return sums."""
    cluster, sizes = rows.cluster, [about.rows for about in rows.about]

    def learn(start: Arrays, number: int) -> ShardSums:
        progress = estimator.progress_
        progress.stream.n_rows = sum(sizes)
        weights = cluster.submit("mixed weights", given, start, priority=FIRST)
        parts = [
            cluster.submit("learn shard", _learned, shared, k, each, weights, number, name, at=at)
            for k, (each, name, at) in enumerate(zip(coded, rows.names, holders, strict=True))
        ]

        def finished(k: int) -> None:
            if k < len(sizes):
                progress.tally[ROWS] += sizes[k]

        total = in_tree(parts, lambda group: cluster.submit("mix weights", added_sums, group))
        cluster.wait([*parts, total], finished)
        return cluster.results([total])[0]

    return learn


def _labeled(model: Any, rows: Batch) -> Batch:
    """Return the rows of a shard with their labels."""
    return rows._replace(y=model.classes_[model.codes_turned(rows.y)])
