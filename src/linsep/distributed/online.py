"""Online learners on a cluster: iterative parameter mixing, one task per shard and pass."""

from typing import Any

import numpy as np

from linsep.compiled.loop import ROWS
from linsep.distributed.cluster import at_shard
from linsep.distributed.rows import ShardedRows, measure
from linsep.lanes import in_tree
from linsep.learners.mixing import (
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
    rows.prepare(setting.coded)
    cluster, shared = rows.cluster, rows.cluster.share(setting)

    def learn(start: Arrays, number: int) -> ShardSums:
        progress = estimator.progress_
        progress.stream.n_rows = sum(rows.sizes)
        weights = cluster.share(start)
        parts = [
            cluster.submit(
                "learn shard", at_shard, name, Setting.learn, shared, k, block, weights, number
            )
            for k, (block, name) in enumerate(zip(rows.rows, rows.names, strict=True))
        ]
        sizes = dict(zip(parts, rows.sizes, strict=True))

        def finished(part: Any) -> None:
            progress.tally[ROWS] += sizes.get(part, 0)

        total = in_tree(parts, lambda some: cluster.submit("mix weights", added_sums, some))
        cluster.wait([*parts, total], finished)
        return cluster.results([total])[0]

    fit_mixed(estimator, setting, learn, len(rows.rows), rows.weighted, **start, saving=saving)
    codes = estimator.codes_turned(np.arange(classes.size))
    measure(estimator, rows, estimator.classes_[codes], totals)
