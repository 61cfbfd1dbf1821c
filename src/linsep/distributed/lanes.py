"""Sums over fixed-size blocks of rows (lanes) on the workers of a cluster, bit-identical to one
process.

A worker adds up the lanes that begin in its shard. The last of them may end in the next shards,
whose first rows are sent to it.
"""

from bisect import bisect_left
from functools import partial
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import Any

from linsep._system import one_blas_thread
from linsep.batches import Batch
from linsep.distributed.rows import ShardedRows
from linsep.lanes import Add, Lanes, Tree, Work, alike, in_lanes, in_tree, merged
from linsep.logistic.task import Batches, RowLanes


def units_of(sizes: list[int], lane: int) -> list[tuple[int, int, int, list[tuple[int, int]]]]:
    """Return for each shard in which lanes begin: its number, that of the first lane, the row where
    this begins, and the first rows of other shards that the last one needs, as (shard, rows).
    """
    starts, units = [0, *accumulate(sizes)], []
    for shard, (begin, end) in enumerate(pairwise(starts)):
        first, stop = -(-begin // lane), -(-end // lane) * lane
        others = range(shard + 1, bisect_left(starts, stop, hi=len(sizes)))
        if first * lane < end:
            heads = [(k, min(stop, starts[k + 1]) - starts[k]) for k in others]
            units.append((shard, first, first * lane - begin, heads))
    return units


class ClusterLanes(Lanes, RowLanes):
    """The rows of shards in lanes, summed by workers.

    Parameters
    ----------
    rows : ShardedRows, prepared
    blocks : list of futures of batches
    sizes : list of int, rows in each of them
    batches : returns the rows for work of the client itself; only a logistic regression needs them
    """

    def __init__(
        self, rows: ShardedRows, blocks: list[Any], sizes: list[int], batches: Batches = list
    ):
        self._cluster, self._shards, self._sizes = rows.cluster, blocks, sizes
        self.batches, self.width, self._lane = batches, rows.width, rows.about[0].lane
        self._units: dict[int, list[tuple[Any, ...]]] = {}

    def sum(self, work: Work, add: Add, size: int | None = None, kept: Any = None) -> Any:
        """Return the sum of ``work(lane)``, or ``work(lane, what was kept of it)``, over lanes of
        ``size`` rows, by default those of :class:`Lanes`.
        """
        if size is None:
            work, size = partial(_of_alike, work), self._lane
        return self._added(self._submitted((work, add, size, False), kept), add)

    def sum_and_keep(self, work: Work, add: Add, size: int) -> tuple[Any, list[Any]]:
        """Return the sum of the first of two results of ``work(lane)``. The others stay with the
        workers, for :meth:`sum`.
        """
        kept = self._submitted((work, add, size, True))
        sums = [self._cluster.submit("sum lanes", itemgetter(0), task) for task in kept]
        return self._added(sums, add), kept

    def first(self) -> Batch:
        """Return the first lane."""
        parts = self._parts(self._lane)[0]
        task = self._cluster.submit("send first rows", _first, self._lane, *parts[2:])
        return alike(self._cluster.results([task])[0])

    def _parts(self, size: int) -> list[tuple[Any, ...]]:
        """Return for each unit its numbers, its block, and the first rows of others, sent once."""
        if size not in self._units:
            submit, blocks = self._cluster.submit, self._shards
            self._units[size] = [
                (first, start, blocks[shard],
                 [submit("send first rows", Batch.between, blocks[k], 0, n) for k, n in others])
                for shard, first, start, others in units_of(self._sizes, size)
            ]  # fmt: skip
        return self._units[size]

    def _submitted(self, setting: tuple[Work, Add, int, bool], kept: Any = None) -> list[Any]:
        """Return the tasks of :func:`_sums`, one for each unit."""
        shared, parts = self._cluster.share(setting), self._parts(setting[2])
        more = [()] * len(parts) if kept is None else zip(kept)
        return [
            self._cluster.submit("sum lanes", _sums, shared, *part, *one)
            for part, one in zip(parts, more, strict=True)
        ]

    def _added(self, tasks: list[Any], add: Add) -> Any:
        sums = in_tree(tasks, lambda some: self._cluster.submit("add sums", _merged, add, some))
        ((first, pieces),) = self._cluster.results([sums])
        return merged(add, first, [pieces]).total()


def _of_alike(work: Work, lane: Batch) -> Any:
    return work(alike(lane))


def _first(size: int, block: Batch, heads: list[Batch]) -> Batch:
    return next(in_lanes([block, *heads], size))


def _sums(
    setting: tuple[Work, Add, int, bool], first: int, start: int, block: Batch,
    heads: list[Batch], kept: Any = None,
) -> Any:  # fmt: skip
    """Return the number of the first lane and the sums from it on; if the work ``keeps``, beside
    the other results of each lane. The work also gets what an earlier call kept.
    """
    work, add, size, keeps = setting
    tree, keep = Tree(add, first), []
    with one_blas_thread:
        lanes = in_lanes([block.between(start, block.size), *heads], size)
        for lane in zip(lanes) if kept is None else zip(lanes, kept[1], strict=True):
            value = work(*lane)
            if keeps:
                value, other = value
                keep.append(other)
            tree.push(value)
    return ((first, tree.rest), keep) if keeps else (first, tree.rest)


def _merged(add: Add, parts: list[Any]) -> Any:
    first = parts[0][0]
    return first, merged(add, first, (pieces for _, pieces in parts)).rest
