"""Sums over fixed-size blocks of rows (lanes) on the workers of a cluster, bit-identical to one
process.

A worker adds up the lanes that begin in its shard. The last of them may end in the next shards,
whose first rows are sent to it.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from linsep._system.threads import one_blas_thread
from linsep.batches import Batch
from linsep.distributed.cluster import Cluster, given
from linsep.distributed.rows import FIRST, ShardedRows
from linsep.distributed.shards import ShardRows
from linsep.lanes import (
    FAN,
    Add,
    Lanes,
    Piece,
    Tree,
    Work,
    lane_rows,
    lanes_of,
    merged,
    no_weight,
)

#: a function from the rows of a shard, and its name for errors, to their block
AsBlock: TypeAlias = Any
#: yields the lanes that begin at a row of the first of some blocks
Cut = Callable[[list[Batch], int], Iterator[Any]]


class Known(NamedTuple):
    """Description of the block of a shard for the client: rows, features, and rows per lane."""

    rows: int
    width: int
    lane: int


def _block(as_block: AsBlock, rows: ShardRows, name: str) -> Batch:
    return as_block(rows.batch, name)


def _known(block: Batch) -> Known:
    return Known(block.y.size, block.X.shape[1], lane_rows(block.X))


def whole_lanes(parts: list[Batch], start: int) -> Iterator[Batch]:
    """Yield the lanes that begin at row ``start`` of the first part."""
    return lanes_of([parts[0].between(start, parts[0].size), *parts[1:]])


def _pieces(
    shared: tuple[Cut, Work, Add, bool], first: int, start: int, parts: list[Batch],
    kept: tuple[Any, list[Any]] | None = None,
) -> Any:  # fmt: skip
    """Return the sums of the lanes from number ``first`` on; they begin at row ``start`` of the
    first part.

    ``work`` also gets the values that an earlier call kept for each lane. With ``keeps``, it
    returns a value to keep beside its result, and all of them are returned beside the sums.
    """
    cut, work, add, keeps = shared
    tree, keep = Tree(add, first), []
    with one_blas_thread:
        lanes = cut(parts, start)
        for each in zip(lanes) if kept is None else zip(lanes, kept[1], strict=True):
            value = work(*each)
            if keeps:
                value, other = value
                keep.append(other)
            tree.push(value)
    return (tree.rest, keep) if keeps else tree.rest


def _merged(add: Add, first: int, parts: list[list[Piece]]) -> list[Piece]:
    return merged(add, first, parts).rest


class Unit(NamedTuple):
    """Lanes that begin in a shard: the number of the first, the row of the shard where it begins,
    and the first rows of other shards that the last one needs, as (shard, rows).
    """

    first: int
    start: int
    others: list[tuple[int, int]]


def units_of(sizes: list[int], lane: int) -> dict[int, Unit]:
    """Return the unit of each shard in which a lane begins."""
    starts = np.cumsum([0, *sizes]).tolist()
    units = {}
    for shard, (begin, end) in enumerate(pairwise(starts)):
        first = -(-begin // lane)
        if first * lane >= end:
            continue
        left, others = -end % lane, []
        for other in range(shard + 1, len(sizes)):
            if not left:
                break
            taken = min(left, sizes[other])
            if taken:
                others.append((other, taken))
            left -= taken
        units[shard] = Unit(first, first * lane - begin, others)
    return units


class ClusterLanes(Lanes):
    """The rows of shards in lanes, summed by workers.

    Parameters
    ----------
    rows : ShardedRows
    as_block : function that returns the block of a shard; it can be pickled
    """

    def __init__(self, rows: ShardedRows, as_block: AsBlock):
        self._cluster: Cluster = rows.cluster
        shared = self._cluster.submit("share setting", given, as_block, priority=FIRST)
        #: futures of blocks
        self.blocks = [
            self._cluster.submit("prepare shard", _block, shared, each, name, priority=FIRST)
            for each, name in zip(rows.rows, rows.names, strict=True)
        ]
        rows.rows = []  # the blocks take their place
        known = self._cluster.results(
            [self._cluster.submit("describe shard", _known, b) for b in self.blocks]
        )
        self._holders = self._cluster.holders(self.blocks)
        some = [about for about in known if about.rows]
        if not some:
            raise no_weight()
        self.width = max(about.width for about in some)
        self._sizes = [about.rows for about in known]
        self._lane = some[0].lane
        self._units: dict[int, dict[int, Unit]] = {}
        self._heads: dict[tuple[int, int], Any] = {}

    def sum(self, work: Work, add: Add) -> Any:
        """Return the sum of ``work(lane)`` over all lanes."""
        return self.sum_of(whole_lanes, self._lane, work, add)

    def sum_of(
        self, cut: Cut, size: int, work: Work, add: Add, kept: list[Any] | None = None
    ) -> Any:
        """Return the sum over lanes of ``size`` rows, which ``cut`` makes of blocks, with what was
        kept of them, if anything.
        """
        return self._added(self._submitted(cut, size, work, add, kept), size, add)

    def sum_and_keep(self, cut: Cut, size: int, work: Work, add: Add) -> tuple[Any, list[Any]]:
        """Return the sum of the first of two results of ``work(lane)``. The others stay with the
        workers, for :meth:`sum_of`.
        """
        kept = self._submitted(cut, size, work, add, keeps=True)
        sums = [self._cluster.submit("sum lanes", itemgetter(0), task) for task in kept]
        return self._added(sums, size, add), kept

    def units(self, size: int) -> dict[int, Unit]:
        """Return the unit of each shard in which a lane of ``size`` rows begins."""
        if size not in self._units:
            self._units[size] = units_of(self._sizes, size)
        return self._units[size]

    def _submitted(
        self, cut: Cut, size: int, work: Work, add: Add, kept: list[Any] | None = None,
        keeps: bool = False,
    ) -> list[Any]:  # fmt: skip
        """Return the tasks of :func:`_pieces`, one for each unit."""
        setting = cut, work, add, keeps
        shared = self._cluster.submit("share weights", given, setting, priority=FIRST)
        tasks = []
        for k, (shard, unit) in enumerate(self.units(size).items()):
            parts = [self.blocks[shard], *(self._head(*other) for other in unit.others)]
            more = [] if kept is None else [kept[k]]
            where = unit.first, unit.start
            tasks.append(
                self._cluster.submit(
                    "sum lanes", _pieces, shared, *where, parts, *more, at=self._holders[shard]
                )
            )
        return tasks

    def _added(self, tasks: list[Any], size: int, add: Add) -> Any:
        """Return the sum; workers add the sums of neighbors first, so the client receives few."""
        firsts = [unit.first for unit in self.units(size).values()]
        while len(tasks) > FAN:
            groups = [slice(k, k + FAN) for k in range(0, len(tasks), FAN)]
            tasks = [
                self._cluster.submit("add sums", _merged, add, firsts[at.start], tasks[at])
                for at in groups
            ]
            firsts = firsts[::FAN]
        return merged(add, 0, self._cluster.results(tasks)).total()

    def in_order(self, work: Callable[[Any, Batch], Any], start: Any) -> Any:
        """Return ``work(... work(work(start, first block), second) ..., last block)``."""
        found = start
        for block in self.blocks:
            found = self._cluster.submit("count classes", work, found, block, priority=FIRST)
        return self._cluster.results([found])[0]

    def each(self) -> Iterator[Batch]:
        """Yield the blocks of all shards, one after the other."""
        for block in self.blocks:
            (found,) = self._cluster.results([block])
            if found.y.size:
                yield found

    def _head(self, shard: int, rows: int) -> Any:
        """Return the first rows of a shard, which are sent once."""
        if rows == self._sizes[shard]:
            return self.blocks[shard]
        if (shard, rows) not in self._heads:
            self._heads[shard, rows] = self._cluster.submit(
                "send first rows", Batch.between, self.blocks[shard], 0, rows, priority=FIRST,
                at=self._holders[shard],
            )  # fmt: skip
        return self._heads[shard, rows]

    def first(self) -> Batch:
        """Return the first lane."""
        (shard, unit), *_ = self.units(self._lane).items()
        parts = [self.blocks[shard], *(self._head(*other) for other in unit.others)]
        task = self._cluster.submit("send first rows", _first_lane, parts)
        return self._cluster.results([task])[0]


def _first_lane(parts: list[Batch]) -> Batch:
    return next(lanes_of(parts))
