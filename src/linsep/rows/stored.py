"""Storage of a stream's rows after the first pass: in memory if they fit, else in a row cache."""

import mmap
import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.compiled.loop import BLOCK, interleave
from linsep.errors import LinsepError
from linsep.rows.arrays import SMALL, block_sizes, shuffled, shuffled_blocks
from linsep.rows.weights import NO_IMPORTANCE
from linsep.sources.base import Batch, Source
from linsep.sources.row_cache.reading import RowCache
from linsep.sources.row_cache.writing import RowCacheWriter, footer_of

#: smallest array with a memory map of its own: a process may have some 65,000 maps
LARGE = 1 << 20


def nbytes(X: Any) -> int:
    """Return the size in bytes of an array or CSR matrix."""
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sp.issparse(X) else X.nbytes


def join(parts: list[Any], n_features: int) -> Any:
    """Stack row blocks of equal or growing width to one matrix of ``n_features`` columns.

    The list is emptied while its blocks are copied, so that the rows are in memory about once.
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
    """Yield each block with the number of rows before it, and remove it from the list."""
    first = 0
    parts.reverse()
    while parts:
        part = parts.pop()
        yield first, part
        first += part.shape[0]


def apart(X: Any) -> Any:
    """Return a copy of a row block whose memory is returned to the system when it is freed.

    Other memory that is freed piece by piece stays with the process, so joining rows would hold
    them twice.
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


def weights_of(batch: Batch) -> np.ndarray:
    """Return the weights of a batch, an empty array if it has none."""
    return NO_IMPORTANCE if batch.weights is None else batch.weights


class StartAgain(LinsepError):
    """The first pass must be restarted: a new class turned up late, or a cache was damaged.

    When raised, the stream knows every class, or has removed the cache.
    """


class Parsed(NamedTuple):
    """Rows of a batch: X, label numbers, weights if any, and the number of the first row."""

    X: Any
    numbers: np.ndarray
    weights: np.ndarray
    first: int


class Keeper:
    """Keeps the batches of the first pass for later passes.

    Up to ``memory_bytes`` they stay in memory; beyond that, everything goes to a row cache created
    by ``writer()``. :meth:`finish` returns them.
    """

    def __init__(self, writer: Callable[[], RowCacheWriter], memory_bytes: int):
        self._start_row_cache, self._memory_bytes = writer, memory_bytes
        self._parts: list[Batch] = []
        self._held = 0
        self._row_cache: RowCacheWriter | None = None

    def keep(self, batch: Batch) -> None:
        """Keep the rows of one batch; on RowCacheError no file is left."""
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
        self, n_features: int, source: Source
    ) -> RowCache | tuple[Any, np.ndarray, np.ndarray]:
        """Return the finished row cache, or all rows, labels and weights (if any) in memory."""
        if self._row_cache is not None:
            return self._row_cache.commit(n_features, **footer_of(source))
        y = np.concatenate([np.asarray(part.y) for part in self._parts])
        weights = np.concatenate([weights_of(part) for part in self._parts])
        blocks = [part.X for part in self._parts]
        self._parts = []
        return join(blocks, n_features), y, weights

    def abort(self) -> None:
        """Drop everything and remove files."""
        self._parts = []
        if self._row_cache is not None:
            self._row_cache.abort()


#: most batches of memory for whole blocks to interleave
MOST_BATCHES = 4


class Shuffled(NamedTuple):
    """Rows of a row cache: row numbers, X, label numbers, weights if any, and their order."""

    rows: np.ndarray
    X: Any
    numbers: np.ndarray
    weights: np.ndarray
    order: np.ndarray


def shuffled_batches(
    row_cache: RowCache, batch_bytes: int, seed: int, pass_number: int, group_size: int
) -> Iterator[Shuffled]:
    """Yield every row of a row cache once, in the order of
    :func:`linsep.rows.arrays.shuffled`.

    Parameters
    ----------
    batch_bytes : approximate size of a batch in memory
    seed, pass_number, group_size : as in :func:`linsep.rows.arrays.shuffled`
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
        found = row_cache.read_blocks(chosen)
        sizes = block_sizes(n, chosen)
        order = interleave(np.cumsum(sizes) - sizes, sizes, group_size)
        yield Shuffled(_rows_of(chosen, n), *found, order)


def _picked(row_cache: RowCache, order: np.ndarray, at_once: int) -> Iterator[Shuffled]:
    """Yield batches of ``at_once`` rows, for few or very wide rows.

    Each batch reads the blocks that contain its rows one after another.
    """
    n = order.size
    for start in range(0, n, at_once):
        wanted = order[start : start + at_once]
        rows = np.sort(wanted)
        blocks = np.unique(rows // BLOCK)
        parts, numbers, weights = [], [], []
        for piece in np.array_split(blocks, -(-BLOCK * blocks.size // at_once)):
            found = row_cache.read_blocks(piece)
            asked = np.isin(_rows_of(piece, n), rows)
            parts.append(found.X[asked])
            numbers.append(found.codes[asked])
            weights.append(found.weights[asked] if row_cache.weighted else found.weights)
        X, places = join(parts, row_cache.n_features), np.searchsorted(rows, wanted)
        yield Shuffled(rows, X, np.concatenate(numbers), np.concatenate(weights), places)


def _rows_of(blocks: np.ndarray, n_rows: int) -> np.ndarray:
    """Return the numbers of the rows in these blocks."""
    rows = (blocks[:, None] * BLOCK + np.arange(BLOCK)).ravel()
    return rows[rows < n_rows]
