"""Sums over rows in blocks of a fixed number of rows ("lanes"), counted from the first row of the
data, whatever the batches in which rows arrive.

Sums of lanes are added in groups of eight neighbors, the sums of groups again, and so on. The total
is therefore bit-identical whether one thread, several threads or the workers of a cluster compute
the sums.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from itertools import chain
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp

from linsep._system.threads import map_in_order
from linsep.batches import Batch, Batches, joined
from linsep.errors import NoRows


def no_weight() -> NoRows:
    """Return the error for rows without a positive weight."""
    return NoRows("Every row has weight 0: check the weights.")


#: sums, or what takes their place, that are added at once
FAN = 8
T = TypeVar("T")


def in_lanes(parts: Iterable[Batch], rows: int) -> Iterator[Batch]:
    """Yield the rows of neighbors in lanes of ``rows`` rows; the last may have fewer."""
    held: list[Batch] = []
    count = 0
    for part in parts:
        start = 0
        while count + part.size - start >= rows:
            stop = start + rows - count
            yield joined([*held, part.between(start, stop)])
            held, count, start = [], 0, stop
        if start < part.size:
            held.append(part.between(start, part.size))
            count += part.size - start
    if held:
        yield joined(held)


def in_tree(parts: list[T], add: Callable[[list[T]], T]) -> T:
    """Return the sum of all parts, in groups of :data:`FAN` neighbors, then groups of groups."""
    while len(parts) > 1:
        groups = [parts[k : k + FAN] for k in range(0, len(parts), FAN)]
        parts = [group[0] if len(group) == 1 else add(group) for group in groups]
    return parts[0]


#: rows of a lane of sparse rows
SPARSE_ROWS = 1 << 15
#: values of a lane of dense rows, which fits in the cache, and the fewest rows
DENSE_VALUES, LEAST_ROWS = 1 << 18, 512

#: the sum of two sums
Add = Callable[[Any, Any], Any]
#: from a lane to its sum
Work: TypeAlias = Any


class Piece(NamedTuple):
    """The sum of ``many`` neighbors at a level of the tree. The first neighbor is the first of its
    group unless ``many`` is 1.
    """

    level: int
    many: int
    value: Any


class Tree:
    """Adds the sums of lanes, from lane number ``first`` on.

    Not yet added up are sums of the first neighbors of a group, which later ones are added to, and
    single neighbors of groups that began before ``first``, which are added where these began.
    """

    def __init__(self, add: Add, first: int = 0):
        self._add, self._lane = add, first
        #: what is not yet added up, in order
        self.rest: list[Piece] = []

    def push(self, value: Any, level: int = 0, count: int = 1) -> None:
        """Add the sum of the next lane, or of a group, or of the first ``count`` of a group."""
        size = FAN**level
        before = self._lane // size % FAN  # in its group
        if before and self.rest and self.rest[-1][:2] == (level, before):
            value = self._add(self.rest.pop().value, value)
            count += before
            self._lane -= before * size
        if count == FAN:
            self.push(value, level + 1)
        else:
            self.rest.append(Piece(level, count, value))
            self._lane += count * size

    def total(self) -> Any:
        """Return the sum of all, or None if there is nothing to add."""
        left = [piece.value for piece in reversed(self.rest)]
        return reduce(lambda total, value: self._add(value, total), left) if left else None


def merged(add: Add, first: int, parts: Iterable[list[Piece]]) -> Tree:
    """Return the sums of neighbors, each of which sent its pieces, from lane ``first`` on."""
    tree = Tree(add, first)
    for pieces in parts:
        for level, many, value in pieces:
            tree.push(value, level, many)
    return tree


class Lanes:
    """Rows in lanes, summed by threads; ``width`` is the number of features so far."""

    def __init__(self, blocks: Batches):
        self._blocks, self.width = blocks, 0
        self._begun: Iterator[Batch] | None = None

    def sum(self, work: Work, add: Add) -> Any:
        """Return the sum of ``work(lane)`` over all lanes; ``work`` and ``add`` can be pickled."""
        lanes, self._begun = self._begun or lanes_of(self._seen()), None
        tree = Tree(add)
        for value in map_in_order(work, lanes):
            tree.push(value)
        return tree.total()

    def first(self) -> Batch:
        """Return the first lane; the next sum continues with this reading."""
        lanes = lanes_of(self._seen())
        lane = next(lanes, None)
        if lane is None:
            raise no_weight()
        self._begun = chain([lane], lanes)
        return lane

    def _seen(self) -> Iterator[Batch]:
        for block in self._blocks():
            self.width = max(self.width, block.X.shape[1])
            yield block


def lane_rows(X: Any) -> int:
    """Return the number of rows in a lane of such rows."""
    return SPARSE_ROWS if sp.issparse(X) else max(LEAST_ROWS, DENSE_VALUES // (2 + X.shape[1]))


def lanes_of(blocks: Iterable[Batch]) -> Iterator[Batch]:
    """Yield the rows of blocks in lanes; the last may be shorter."""
    given = iter(blocks)
    first = next((block for block in given if block.size), None)
    if first is not None:
        yield from map(alike, in_lanes(chain([first], given), lane_rows(first.X)))


def alike(lane: Batch) -> Batch:
    """Return rows in one form: dense rows one after the other, as sums by BLAS depend on it, and
    sparse rows up to the last column in use, whatever columns other rows have.
    """
    X = lane.X
    if not sp.issparse(X):
        return lane if X.flags.c_contiguous else lane._replace(X=np.ascontiguousarray(X))
    width = int(X.indices.max(initial=-1)) + 1
    return lane._replace(X=sp.csr_matrix((X.data, X.indices, X.indptr), (lane.size, width)))
