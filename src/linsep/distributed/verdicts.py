"""Verdicts of separation on a cluster: workers compute the queries over all rows.

A worker keeps the lanes of rows that begin in its shard. Its part of an answer is merged with its
neighbors' parts on the workers, eight at a time; the client gets the merged answer.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp

from linsep._system.threads import one_blas_thread
from linsep.batches import Batch
from linsep.certificate.canonical import read_whole, sha256_of
from linsep.certificate.checking import TIME_LIMIT
from linsep.certificate.constraints import FORMULATIONS
from linsep.certificate.numbers import padded
from linsep.certificate.verdicts import Separations, Verdict
from linsep.distributed.cluster import Cluster, client_given, given
from linsep.distributed.collections import exact_numbers, names_of, rows_of_collections
from linsep.distributed.fitting import check_data
from linsep.distributed.lanes import Unit, units_of
from linsep.distributed.rows import FIRST, ShardedRows, rows_of_source
from linsep.distributed.shards import ShardRows
from linsep.errors import DataError, ParameterError
from linsep.lanes import in_lanes, in_tree
from linsep.separability.data import Data, check_two_classes, lane_rows, weights_of
from linsep.separability.deciding import decide, with_details, with_fewest_errors
from linsep.separability.fewest.claim import asked
from linsep.separability.time_limit import Task, TooLarge, check_time, limited, seconds_left
from linsep.sources.base import Source
from linsep.validation.labels import refuse_continuous

Answer = TypeVar("Answer")


def separation(
    source: Any,
    y: Any = None,
    *,
    client: Any = None,
    fit_intercept: bool = True,
    margin: str | None = None,
    formulations: tuple[str, ...] = FORMULATIONS,
    errors: bool = False,
    strict: bool = True,
    details: bool = False,
    time_limit: float | None = TIME_LIMIT,
    shard_mb: float = 64.0,
) -> Verdict | Separations:
    """Decide whether a hyperplane separates the classes of shards of files, and prove it.

    The verdict is bit-identical to the one of :func:`linsep.separation` for any shards and workers.
    Exception: if eight rounds do not decide on more than 400 columns, a single process continues
    with coordinate descent over all rows. The client reads the files once, for their hash.

    Parameters
    ----------
    source : Source, or Dask Array or DataFrame of shape (rows, features)
        Files, opened with :func:`linsep.open_source`; or Dask collections of numbers, with one
        shard per partition.
    y : Dask Array or Series of shape (rows,)
        For Dask collections, with the partitions of X.
    client : distributed.Client, default None
        None: the current client; in a task on a worker, the client of its cluster.
    fit_intercept, margin, formulations, errors, strict, details, time_limit
        As for :func:`linsep.separation`. The time limit starts with the first reading. The fewest
        errors and details are computed on the client, with all rows in its memory; errors are
        weighted by the weights of a source.
    shard_mb : float, default=64
        Size of a shard in MB: on disk for text, uncompressed for Parquet.

    Returns
    -------
    Separable, QuasiSeparable, Overlapping or Undecided; for more than two classes Separations

    Raises
    ------
    ClusterError
        If no worker answers, versions differ, a task ended more workers than Dask allows, or the
        scheduler was lost.
    DataError
        If rows are invalid; the message names the file, and the line or the range.
    """
    task = Task(time_limit)
    check_data(source, shard_mb)
    with client_given(client) as found:
        data = opened_by(found, source, y, shard_mb)
        claim = decide(data, fit_intercept, margin, formulations, task=task)
        if errors:
            wanted = asked(strict, weights_of(source), data.n_rows)
            claim = with_fewest_errors(data, claim, wanted, task)
        return with_details(data, claim, task) if details else claim


class About(NamedTuple):
    """Description of the rows of a shard for the client.

    Attributes
    ----------
    rows, width : int
    sparse, rounded : bool
        Whether some numbers are not exactly representable as float64.
    labels : set
    """

    rows: int
    width: int
    sparse: bool
    rounded: bool
    labels: set[Any]


def _about(rows: ShardRows) -> About:
    X, labels = rows.batch.X, set(rows.batch.y.tolist())
    return About(rows.batch.size, X.shape[1], sp.issparse(X), X.dtype == object, labels)


def opened_by(client: Any, source: Any, y: Any, shard_mb: float) -> "ShardedData":
    """Read the rows of a source, or of Dask collections, on the workers of a client."""
    cluster = Cluster(client)
    if isinstance(source, Source):
        if y is not None:
            raise ParameterError(
                "A source has its own labels: leave out y.", code="conflict", option="y"
            )
        rows = rows_of_source(cluster, source, max(1, round(shard_mb * 1e6)), exact=True)
    else:
        rows = rows_of_collections(cluster, source, y, None, exact_numbers)
    tasks = [cluster.submit("describe shard", _about, each, priority=FIRST) for each in rows.rows]
    whole = None
    if isinstance(source, Source):  # while the workers read
        whole = read_whole(source)
    known = cluster.results(tasks)
    some = [about for about in known if about.rows]
    if not some:
        raise DataError(f"{rows.name} has no rows.", code="no-rows")
    classes = np.array(sorted(set().union(*(about.labels for about in some))))
    refuse_continuous(classes)
    check_two_classes(classes)
    shape = sum(about.rows for about in some), max(about.width for about in some)
    if whole is None:
        names = names_of(source) or None
        sha256 = sha256_of(Gathered(rows, classes, names))
    else:
        names, sha256 = source.feature_names, whole.sha256()
        if (whole.n_rows, whole.n_features) != shape:
            raise DataError(
                f"{source.name} has {whole.n_rows:,} rows of {whole.n_features:,} features for "
                f"the client, but {shape[0]:,} rows of {shape[1]:,} for the workers: all machines "
                "need the same files.", code="file-changed",
            )  # fmt: skip
    data = ShardedData(classes, shape, names)
    data.sparse, data.rounded = some[0].sparse, any(about.rounded for about in some)
    data.hold(rows, [about.rows for about in known], sha256)
    return data


class Gathered:
    """Rows of shards that the client fetches from the workers one shard after the other, for their
    hash; directly if it can reach them.
    """

    def __init__(self, rows: ShardedRows, classes: np.ndarray, names: list[str] | None):
        self._rows, self.classes, self.names = rows, classes, names

    def coded(self) -> Iterator[tuple[Any, np.ndarray]]:
        """Yield the rows of each shard, with the codes of their labels."""
        cluster = self._rows.cluster
        for future in self._rows.rows:
            (rows,) = cluster.results([future], direct=True)
            if rows.batch.size:
                yield rows.batch.X, np.searchsorted(self.classes, rows.batch.y)


class ShardedData(Data):
    """Rows of shards, which workers hold in lanes."""

    def hold(self, rows: ShardedRows, sizes: list[int], sha256: str) -> None:
        """Split the rows of shards, of these sizes, into lanes on the workers."""
        self._cluster, self._sha256 = rows.cluster, sha256
        size = lane_rows(self.sparse, self.n_features)
        cut = _Cut(size, self.n_features, self.classes)
        shared = self._cluster.submit("share setting", given, cut, priority=FIRST)
        #: futures of lists of parts, each a lane
        self._lanes = []
        for shard, unit in units_of(sizes, size).items():
            parts = [rows.rows[shard]]
            for other, count in unit.others:
                head = partial(_head, count) if count < sizes[other] else None
                part = rows.rows[other]
                parts.append(
                    part if head is None else
                    self._cluster.submit("send first rows", head, part, priority=FIRST)
                )  # fmt: skip
            self._lanes.append(
                self._cluster.submit(
                    "prepare shard", _lanes_of, shared, unit, parts, priority=FIRST
                )
            )
        rows.rows = []  # the lanes take their place
        self._cluster.wait(list(self._lanes))
        self._holders = self._cluster.holders(self._lanes)

    def ask(
        self, part: Callable[[Iterable[Batch]], Answer], merge: Callable[[list[Answer]], Answer]
    ) -> Answer:
        """Return the answer of one reading of all rows on the workers."""
        cluster, work = self._cluster, (part, merge, seconds_left())
        shared = cluster.submit("share question", given, work, priority=FIRST)
        parts = [
            cluster.submit("ask shard", _answer, shared, lanes, at=at)
            for lanes, at in zip(self._lanes, self._holders, strict=True)
        ]
        whole = in_tree(
            parts, lambda group: cluster.submit("merge answers", _merged, shared, group)
        )
        try:
            (found,) = cluster.results([whole], check=check_time)
        except TooLarge:  # of a worker, whose limit is what was left
            check_time()
            raise
        return found

    def sha256(self) -> str:
        """Return the hash of rows and labels."""
        return self._sha256


class _Cut(NamedTuple):
    """Rows in a lane, features, and the sorted labels."""

    rows: int
    width: int
    classes: np.ndarray


def _head(count: int, rows: ShardRows) -> ShardRows:
    return ShardRows(rows.batch.between(0, count))


def _lanes_of(cut: _Cut, unit: Unit, shards: list[ShardRows]) -> list[Batch]:
    """Return the lanes of a unit, which begin in the first shard."""
    parts, first = [], unit.first * cut.rows
    for number, rows in enumerate(shards):
        start = 0 if number else unit.start
        codes = np.searchsorted(cut.classes, rows.batch.y[start:])
        parts.append(Batch(padded(rows.batch.X[start:], cut.width), codes, first))
        first += len(codes)
    return list(in_lanes(parts, cut.rows))


def _answer(shared: tuple[Callable, Callable, float], lanes: list[Batch]) -> Any:
    """Return the part of an answer that some lanes give."""
    part, _, seconds = shared
    task = Task(max(seconds, 1e-3))
    with limited(task), one_blas_thread, np.errstate(all="ignore"):
        return part(lanes)


def _merged(shared: tuple[Callable, Callable, float], parts: list[Any]) -> Any:
    return shared[1](parts)
