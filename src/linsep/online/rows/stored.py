"""Where a stream's rows stay after the first pass: in memory if they fit, else in a row cache."""

import mmap
import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.compiled.core.interleave import interleave
from linsep.compiled.row_records import BLOCK
from linsep.online.rows.array import SMALL, block_sizes, shuffled, shuffled_blocks
from linsep.sources.base import Batch
from linsep.sources.row_cache.reading import RowCache
from linsep.sources.row_cache.writing import RowCacheWriter

#: bytes of arrays that are worth memory of their own: a process may have some 65,000 maps
LARGE = 1 << 20


def nbytes(X: Any) -> int:
    """Bytes of the rows of an array or CSR matrix."""
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sp.issparse(X) else X.nbytes


def join(parts: list[Any], n_features: int) -> Any:
    """Row blocks of equal or growing width as one matrix of ``n_features`` columns.

    The list is emptied as its blocks are copied, so that the rows are in memory about once.
    """
    rows, dtype = sum(part.shape[0] for part in parts), parts[0].dtype
    if not sp.issparse(parts[0]):
        whole = np.empty((rows, n_features), dtype)
        for first, part in _taken(parts):
            whole[first : first + part.shape[0], : part.shape[1]] = part
            whole[first : first + part.shape[0], part.shape[1] :] = 0
        return whole
    size = sum(part.nnz for part in parts)
    index = np.int64 if size >= 2**31 else parts[0].indices.dtype
    data, indices = np.empty(size, dtype), np.empty(size, index)
    indptr = np.zeros(rows + 1, index)
    begin = 0
    for first, part in _taken(parts):
        end = begin + part.nnz
        data[begin:end], indices[begin:end] = part.data, part.indices
        ends = indptr[first + 1 : first + 1 + part.shape[0]]
        np.add(part.indptr[1:], begin, out=ends, dtype=index)
        begin = end
    return sp.csr_matrix((data, indices, indptr), shape=(rows, n_features))


def _taken(parts: list[Any]) -> Iterator[tuple[int, Any]]:
    """Each block with the number of rows before it, forgotten by the list."""
    first = 0
    parts.reverse()
    while parts:
        part = parts.pop()
        yield first, part
        first += part.shape[0]


def apart(X: Any) -> Any:
    """A copy of a row block whose memory goes back to the system when it is forgotten.

    What is freed piece by piece elsewhere stays with the process: rows that are joined would be in
    memory twice.
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


class Keeper:
    """Takes batches as they stream by and keeps them for later passes.

    Up to ``memory_bytes`` they stay in memory; beyond, everything goes to a row cache that
    ``writer()`` starts. :meth:`finish` says where they are.
    """

    def __init__(self, writer: Callable[[], RowCacheWriter], memory_bytes: int):
        self._start_row_cache, self._memory_bytes = writer, memory_bytes
        self._parts: list[Batch] = []
        self._held = 0
        self._row_cache: RowCacheWriter | None = None

    def keep(self, batch: Batch) -> None:
        """Keep the rows of one batch; may raise RowCacheError, leaving nothing behind."""
        if self._row_cache is not None:
            self._row_cache.write(batch)
            return
        self._parts.append(batch._replace(X=apart(batch.X)))
        self._held += nbytes(batch.X)
        if self._held > self._memory_bytes:
            self._row_cache = self._start_row_cache()
            for part in self._parts:
                self._row_cache.write(part)
            self._parts = []

    def finish(
        self, n_features: int, names: list[str] | None, recipe: dict[str, Any], dropped: int
    ) -> RowCache | tuple[Any, np.ndarray]:
        """The finished row cache, or all rows and labels in memory."""
        if self._row_cache is not None:
            return self._row_cache.commit(n_features, names, recipe, dropped)
        y = np.concatenate([np.asarray(part.y) for part in self._parts])
        blocks = [part.X for part in self._parts]
        self._parts = []
        return join(blocks, n_features), y

    def abort(self) -> None:
        """Forget everything; no file is left behind."""
        self._parts = []
        if self._row_cache is not None:
            self._row_cache.abort()


#: blocks are interleaved whole while those at hand take at most so many batches of memory
MOST_BATCHES = 4


class Shuffled(NamedTuple):
    """Rows of a row cache: their numbers, X, label numbers, and in which order to visit them."""

    rows: np.ndarray
    X: Any
    numbers: np.ndarray
    order: np.ndarray


def shuffled_batches(
    row_cache: RowCache, batch_bytes: int, seed: int, pass_number: int, group_size: int
) -> Iterator[Shuffled]:
    """Every row of ``row cache`` once, in the very order of
    :func:`linsep.online.rows.array.shuffled`.

    Parameters
    ----------
    batch_bytes : about what a batch may take in memory
    seed, pass_number, hands : as in :func:`linsep.online.rows.array.shuffled`
    """
    n, per_block = row_cache.n_rows, max(1, row_cache.n_bytes // row_cache.n_blocks)
    fit = max(1, batch_bytes // per_block)
    if n <= SMALL or group_size > MOST_BATCHES * fit:
        yield from _picked(row_cache, shuffled(n, seed, pass_number, group_size), BLOCK * fit)
        return
    at_once = max(group_size, fit // group_size * group_size)
    blocks = shuffled_blocks(n, seed, pass_number)
    odd = blocks.size % at_once
    for start in range(odd - at_once if odd else 0, blocks.size, at_once):
        chosen = blocks[max(0, start) : start + at_once]
        X, numbers = row_cache.read_blocks(chosen)
        sizes = block_sizes(n, chosen)
        order = interleave(np.cumsum(sizes) - sizes, sizes, group_size)
        yield Shuffled(_rows_of(chosen, n), X, numbers, order)


def _picked(row_cache: RowCache, order: np.ndarray, at_once: int) -> Iterator[Shuffled]:
    """Batches of ``at_once`` rows, for few or very wide rows.

    Each batch picks its rows from all the blocks that hold one, read piece by piece.
    """
    n = order.size
    for start in range(0, n, at_once):
        wanted = order[start : start + at_once]
        rows = np.sort(wanted)
        blocks = np.unique(rows // BLOCK)
        parts, numbers = [], []
        for piece in np.array_split(blocks, -(-BLOCK * blocks.size // at_once)):
            X, found = row_cache.read_blocks(piece)
            asked = np.isin(_rows_of(piece, n), rows)
            parts.append(X[asked])
            numbers.append(found[asked])
        X, found = join(parts, row_cache.n_features), np.concatenate(numbers)
        yield Shuffled(rows, X, found, np.searchsorted(rows, wanted))


def _rows_of(blocks: np.ndarray, n_rows: int) -> np.ndarray:
    """Numbers of the rows in these blocks."""
    rows = (blocks[:, None] * BLOCK + np.arange(BLOCK)).ravel()
    return rows[rows < n_rows]
