"""Fit an estimator on a cluster."""

from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np

from linsep import GaussianNaiveBayes, LinearRegression, LogisticRegression
from linsep._system import interrupts_allowed, interrupts_deferred
from linsep.distributed.cluster import Cluster, client_given
from linsep.distributed.collections import is_collection, rows_of_collections
from linsep.distributed.online import fit_online
from linsep.distributed.regressions import fit_linear, fit_logistic, fit_naive_bayes
from linsep.distributed.rows import ShardedRows, rows_of_source
from linsep.errors import ParameterError
from linsep.estimators.frames import describe
from linsep.inference.robust import CLUSTERED, check_clusters, refuse_weights
from linsep.learners.mixing import MixingName, refuse_unmixable
from linsep.parameters import check_parameters
from linsep.sources import Source

#: what is fitted as on one machine, and how: to described rows of a source or Dask collections
REGRESSIONS: dict[type, Callable[[Any, ShardedRows, Any, Any], None]] = {
    LinearRegression: fit_linear, GaussianNaiveBayes: fit_naive_bayes,
    LogisticRegression: fit_logistic,
}  # fmt: skip


def fit(
    estimator: Any,
    source: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    clusters: Any = None,
    client: Any = None,
    mixing: MixingName = "uniform",
    shard_mb: float = 64.0,
    coef_init: Any = None,
    intercept_init: Any = None,
    checkpoint: Any = None,
) -> Any:
    """Fit an estimator on a Dask cluster, whose workers read shards of the data.

    The result depends on the data and ``shard_mb``, but not on the number or order of the workers,
    or on lost workers. The workers must have access to the files under the paths of the source.

    Parameters
    ----------
    estimator : a ``mixable`` learner, such as Perceptron; a regression; GaussianNaiveBayes
        Regressions are bit-identical to a fit in one process. Online learners use iterative
        parameter mixing (McDonald, Hall and Mann 2010): in every pass each shard starts from the
        same weights, and the resulting weights of the shards are mixed. ``keep="average"`` mixes
        averages. Variances, scales and other state of the weights are mixed, too
        (docs/how-to/cluster.md).
    source : Source, or Dask Array or DataFrame of shape (rows, features)
        Files, opened with :func:`linsep.open_source`; or Dask collections of numbers, with one
        shard per partition.
    y, sample_weight : Dask Array or Series of shape (rows,)
        For Dask collections, with the partitions of X; default weights are ones.
    clusters : Dask Array or Series of shape (rows,)
        For Dask collections and regressions with ``covariance="CR1"``: the cluster of each row, as
        numbers or text. For files, name the column with ``open_source(group=...)`` instead.
    client : distributed.Client, default None
        None: the current client; in a task on a worker, the client of its cluster.
    mixing : {"uniform", "mistakes"}, default="uniform"
        Shares of the shards in the mixed weights: equal, or proportional to their mistakes in the
        pass.
    shard_mb : float, default=64
        Size of a shard in MB: on disk for text, uncompressed for Parquet.
    coef_init, intercept_init : as for ``estimator.fit``
    checkpoint : path or :class:`linsep.Checkpoint`, default None
        A file on the client where a fit to files saves its progress: an online learner the mixed
        weights after each pass, a logistic regression its passes over the rows. If the client or
        the cluster is lost, the fit resumes from it with bit-identical results.

    Returns
    -------
    estimator : the estimator passed in, fitted
        ``mixture_`` has the mistakes of each shard in each pass, and their shares.

    Raises
    ------
    ParameterError
        If the estimator, or one of its parameters, does not support shards.
    ClusterError
        If no worker answers, versions differ, a task ended more workers than Dask's
        ``allowed-failures``, or the scheduler was lost.
    DataError
        If rows are invalid; the message names the file, and the line or the range.
    """
    check(estimator, source, mixing=mixing, shard_mb=shard_mb)
    covariance, files = getattr(estimator, "covariance", None), isinstance(source, Source)
    if covariance is not None or clusters is not None:
        check_clusters(estimator, source, clusters, sample_weight)
    if files and not (y is None and sample_weight is None):
        raise ParameterError(
            "A source has its own labels: leave out y and weights.", code="conflict"
        )
    if checkpoint is not None and (
        not files or isinstance(estimator, LinearRegression | GaussianNaiveBayes)
    ):
        raise ParameterError(
            "A checkpoint needs an online learner or a logistic regression, which read rows again, "
            "and files, which another process can read: leave it out.",
            code="unsupported", option="checkpoint",
        )  # fmt: skip
    as_here = _as_here(estimator)
    saved = nullcontext() if checkpoint is None else estimator.saving(checkpoint)
    with saved as saving, client_given(client) as found, interrupts_deferred():
        with interrupts_allowed():
            cluster = Cluster(found)
            if saving is not None:
                saving.check_source(source)
                if as_here is None:
                    saving.agree(mixing=mixing, shard_mb=float(shard_mb))
            if files:
                size = max(1, round(shard_mb * 1e6))
                rows = rows_of_source(cluster, source, size, covariance == CLUSTERED)
            else:
                rows = rows_of_collections(cluster, source, y, sample_weight, clusters)
            _describe(estimator, rows, source)
        refuse_weights(covariance, True if rows.weighted else None)
        if as_here is not None:
            as_here(estimator, rows, source, saving)
        else:
            start = {"coef_init": coef_init, "intercept_init": intercept_init}
            fit_online(estimator, rows, mixing, start, saving)
    return estimator


def _as_here(estimator: Any) -> Callable[[Any, ShardedRows, Any, Any], None] | None:
    """Return the function that fits an estimator as in one process; None for online learners."""
    return next((how for kind, how in REGRESSIONS.items() if isinstance(estimator, kind)), None)


def _describe(estimator: Any, rows: ShardedRows, source: Any) -> None:
    """Read all shards on the workers; set the number of features, their names and the recipe."""
    classes, done = not isinstance(estimator, LinearRegression), list[Any]()
    if not isinstance(source, Source):
        rows.describe(classes, done)
        names = [str(name) for name in getattr(source, "columns", [])]
        describe(estimator, SimpleNamespace(feature_names=names, recipe=dict), rows.width)
        del estimator.recipe_
        return
    source.stage, n_shards = "reading", len(rows.names)
    source.doing = lambda: f"{len(done):,} of {n_shards:,} shards read"
    try:
        rows.describe(classes, done)
    finally:
        source.doing = None
    source.dropped, source.filled = rows.dropped, rows.filled
    describe(estimator, source, rows.width)
    source.stage = "fitting"


def check(
    estimator: Any, source: Any, *, mixing: MixingName = "uniform", shard_mb: float = 64.0
) -> None:
    """Raise ParameterError for unsupported parameters or data, before a cluster is needed."""
    if _as_here(estimator) is None:
        refuse_unmixable(estimator, mixing)
    check_parameters(estimator)
    if not isinstance(source, Source) and not is_collection(source):
        raise ParameterError(
            f"source is of type {type(source).__name__}: pass a source of linsep.open_source, or "
            "a Dask Array or DataFrame.", option="source",
        )  # fmt: skip
    if getattr(source, "offsets", False) or getattr(source, "counts", False):
        raise ParameterError(
            f"{source.name} has offsets, or successes and trials, which fits on a cluster do not "
            "support: fit it in one process.", code="unsupported",
        )  # fmt: skip
    if not (isinstance(shard_mb, int | float) and 0 < shard_mb < np.inf):
        raise ParameterError(
            f"shard_mb is {shard_mb!r}: it must be a number above 0.",
            option="shard_mb", value=shard_mb,
        )  # fmt: skip
