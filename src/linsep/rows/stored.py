"""Rows kept by a stream: all of them, in memory or in a row cache, or an even sample."""

import mmap
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.batches import Batch, joined, weight_totals
from linsep.compiled.loop import BLOCK, interleave
from linsep.errors import LinsepError
from linsep.rows.arrays import SMALL, block_sizes, permuted, shuffled
from linsep.sources.base import Source
from linsep.sources.row_cache import RowCache, RowCacheWriter

#: smallest array with a memory map of its own: a process may have some 65,000 maps
LARGE = 1 << 20


def copied_apart(X: Any) -> Any:
    """Return a copy of rows whose memory the system gets back. Other memory that is freed piece by
    piece stays with the process, so joining rows would hold them twice.
    """
    if not sp.issparse(X):
        return _copied(X)
    copy = sp.csr_matrix(X.shape, dtype=X.dtype)
    copy.data, copy.indices = _copied(X.data), _copied(X.indices)
    copy.indptr = X.indptr.copy()
    return copy


def _copied(array: np.ndarray) -> np.ndarray:
    if array.nbytes < LARGE:
        return array.copy()
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if os.name == "posix" else {}
    own = np.frombuffer(mmap.mmap(-1, array.nbytes, **private), array.dtype, array.size)
    own = own.reshape(array.shape)
    own[...] = array
    return own


class StartAgain(LinsepError):
    """A new class turned up late: start again, with all classes."""


class Keeper:
    """Keeps the batches of the first pass, whose y are numbers of labels: up to ``memory_bytes`` in
    memory, beyond that all in a row cache created by ``writer()``.
    """

    def __init__(self, writer: Callable[[], RowCacheWriter], memory_bytes: int):
        self._start_row_cache, self._memory_bytes = writer, memory_bytes
        self._parts: list[Batch] = []
        self._held = 0
        self._row_cache: RowCacheWriter | None = None

    def keep(self, batch: Batch) -> None:
        """Keep the rows of one batch."""
        if self._row_cache is not None:
            self._row_cache.write(batch)
            return
        self._parts.append(batch._replace(X=copied_apart(batch.X)))
        self._held += batch.nbytes
        if self._held > self._memory_bytes:
            self._row_cache = self._start_row_cache()
            for part in self._parts:
                self._row_cache.write(part)
            self._parts = []

    def finish(self, n_features: int, labels: list[Any], source: Source) -> RowCache | Batch:
        """Return the finished row cache, or all rows in memory."""
        if self._row_cache is not None:
            return self._row_cache.commit(n_features, labels, source)
        return joined(self._parts, n_features)

    def abort(self) -> None:
        self._parts = []
        if self._row_cache is not None:
            self._row_cache.abort()


#: most batches of memory for whole blocks to interleave
MOST_BATCHES = 4
#: rows of a row cache, the number of each in the data, and the order in which to learn them
Shuffled = tuple[Batch, np.ndarray, np.ndarray]


def shuffled_batches(
    row_cache: RowCache, batch_bytes: int, seed: int, pass_number: int, group_size: int
) -> Iterator[Shuffled]:
    """Yield every row of a row cache once, in the order of :func:`linsep.rows.arrays.shuffled`, in
    batches of about ``batch_bytes``.
    """
    n, per_block = row_cache.n_rows, max(1, row_cache.n_bytes // row_cache.n_blocks)
    fit = max(1, batch_bytes // per_block)
    if n <= SMALL or group_size > MOST_BATCHES * fit:
        yield from _picked(row_cache, shuffled(n, seed, pass_number, group_size), BLOCK * fit)
        return
    at_once = max(group_size, fit // group_size * group_size)
    blocks = permuted(-(-n // BLOCK), seed, pass_number)
    odd = blocks.size % at_once
    for start in range(odd - at_once if odd else 0, blocks.size, at_once):
        chosen = blocks[max(0, start) : start + at_once]
        batch = row_cache.read_blocks(chosen)
        sizes = block_sizes(n, chosen)
        order = interleave(np.cumsum(sizes) - sizes, sizes, group_size)
        yield batch, _rows_of(chosen, n), order


def _picked(row_cache: RowCache, order: np.ndarray, at_once: int) -> Iterator[Shuffled]:
    """Yield batches of ``at_once`` rows, whose blocks are read one after another, for few or very
    wide rows.
    """
    n = order.size
    for start in range(0, n, at_once):
        wanted = order[start : start + at_once]
        rows = np.sort(wanted)
        blocks = np.unique(rows // BLOCK)
        parts = []
        for piece in np.array_split(blocks, -(-BLOCK * blocks.size // at_once)):
            asked = np.isin(_rows_of(piece, n), rows)
            parts.append(row_cache.read_blocks(piece).rows(asked))
        batch = joined(parts, row_cache.n_features)
        yield batch, rows, np.searchsorted(rows, wanted)


def _rows_of(blocks: np.ndarray, n_rows: int) -> np.ndarray:
    """Return the numbers of the rows in these blocks."""
    rows = (blocks[:, None] * BLOCK + np.arange(BLOCK)).ravel()
    return rows[rows < n_rows]


class Sample:
    """Every k-th row, used or not, and for each class the number and the weight of all rows.

    ``k`` is a power of two that grows with the stream, so that the sample does not depend on the
    batches: it has at most ``most_rows`` rows of ``most_bytes``, but at least one.
    """

    def __init__(self, n_classes: int, most_rows: int = 1 << 15, most_bytes: int = 8 << 20):
        self.counts, self.totals = np.zeros(n_classes, dtype=np.int64), np.zeros(n_classes)
        self._most_rows, self._most_bytes = most_rows, most_bytes
        self._every, self._seen, self._size = 1, 0, 0
        self._parts: list[Batch] = []

    def take(self, batch: Batch) -> None:
        """Add the rows of a batch, whose y are class codes."""
        self.counts += np.bincount(batch.y, minlength=self.counts.size)
        self.totals = weight_totals(self.totals, batch.y, batch.importance)
        while True:
            rows = np.arange(-self._seen % self._every, batch.size, self._every)
            # Counted before the rows are copied: a batch may be larger than the sample may become.
            size = self._size + _bytes_of(batch.X, rows)
            n_rows = rows.size + sum(part.size for part in self._parts)
            if n_rows <= 1 or (n_rows <= self._most_rows and size <= self._most_bytes):
                break
            self._every *= 2
            if self._parts:
                half = joined(self._parts).rows(slice(None, None, 2))
                self._parts, self._size = [half], _bytes_of(half.X, np.arange(half.size))
        if rows.size:
            self._parts.append(batch.rows(rows))
        self._size, self._seen = size, self._seen + batch.size

    def rows(self, n_features: int) -> Batch:
        """Return the sample, with at least ``n_features`` columns; y are class codes."""
        width = max(n_features, *(part.X.shape[1] for part in self._parts))
        return joined(list(self._parts), width)


def _bytes_of(X: Any, rows: np.ndarray) -> int:
    """Return the size of some rows, with one row start each."""
    if not sp.issparse(X):
        return int(rows.size * X[:1].nbytes)
    values = int((X.indptr[rows + 1] - X.indptr[rows]).sum())
    return values * (X.data.itemsize + X.indices.itemsize) + rows.size * X.indptr.itemsize
