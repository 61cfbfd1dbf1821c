"""A file of parsed rows on disk, which can be read in any order of blocks of 64 rows; and such a
file as a source.

Layout, in the byte order of the machine::

    head      magic, format
    chunks    arrays, each padded to 8 bytes: codes of labels, weights, values; of sparse rows also
              where rows start, and columns. A chunk holds whole blocks, the last one perhaps fewer
    footer    JSON: key, labels, types, names, recipe, sizes of chunks, checksum of the arrays
    trailer   bytes of the footer, its checksum, magic

A file is used if its checksums are right when it is opened; then it is mapped into memory.
"""

import hashlib
import json
import mmap
import os
import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep._system.caches import (
    CacheFiles,
    UnsafeFolder,
    cache_limit,
    open_own,
    private_folder,
    trim_cache,
    warn_without,
)
from linsep._system.files import remove_abandoned, scratch_file, sync_folder
from linsep._system.interrupts import interrupts_deferred
from linsep.batches import Batch, join
from linsep.compiled.loop import BLOCK
from linsep.errors import DataError, LinsepError, Located, hint
from linsep.sources.base import Source, WeighedSource
from linsep.sources.fingerprints import state_of
from linsep.sources.remote.file import File, local, located

FORMAT = 2
MAGIC, END = b"linsep\0S", b"S\0pesnil"
HEAD, TRAILER = struct.Struct("=8sQ"), struct.Struct("=QQ8s")
#: blocks that are copied before the memory of the file is let go
MAPPED = 16
#: 64-bit words that are summed before their sums are told apart by their place
SECTOR = 512
#: linsep's folder within a cache folder, and the files in it that may be removed
ROWS = "linsep-rows"
ROW_CACHES = CacheFiles(re.compile(r"[0-9a-f]{32}\.rows"), MAGIC)


class RowCacheError(LinsepError):
    """The cache cannot be written; continue without it."""

    code = "cannot-write"


def source_key(paths: Iterable[str | File], options: dict[str, Any]) -> dict[str, Any]:
    """Return the key of a cache of these files: the :func:`state_of` each, and ``options``.

    Parameters
    ----------
    paths : paths of existing files, in the order they are read
    options : everything that affects parsing, as plain JSON

    Raises OSError when a file cannot be looked at. Take the key before reading the files: then a
    file that changes meanwhile makes the cache stale.
    """
    return {"files": [state_of(located(path)) for path in paths], "options": options}


def row_folder(cache: Path) -> Path | None:
    """Return linsep's folder within ``cache``, created private to this user.

    Returns None and warns if others could write in it, because their rows would be used.
    """
    folder = Path(cache).expanduser() / ROWS
    try:
        folder = private_folder(folder)
    except UnsafeFolder as why:
        message = f"Parsed rows are not kept in {folder}, because {why}"
        warn_without(message, hint("choose another folder with {}", cache=None))
        return None
    except OSError:  # reported when a cache is written
        return folder
    remove_abandoned(folder)
    return folder


def row_cache_path(folder: Path, key: dict[str, Any]) -> Path:
    """Return the path in ``folder`` for this :func:`source_key`.

    It depends on paths and options only, so that a changed file replaces its own stale cache.
    """
    name = json.dumps([[file[0] for file in key["files"]], key["options"]], sort_keys=True)
    return Path(folder) / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.rows"


def as_read_back(key: dict[str, Any]) -> Any:
    """Return ``key`` as read from a footer, with lists for tuples."""
    return json.loads(json.dumps(key))


def footer_of(source: Source) -> dict[str, Any]:
    """Return what :meth:`RowCacheWriter.commit` keeps of the reading of a source."""
    return {
        "feature_names": source.feature_names, "recipe": source.recipe(),
        "dropped": source.dropped, "filled": dict(source.filled),
    }  # fmt: skip


class RowCache:
    """Parsed rows on disk, which several threads can read at once; open one with :meth:`open`.

    Attributes
    ----------
    path : Path
    n_rows, n_features, n_blocks, n_bytes : int
        Block ``b`` holds the rows from ``64 * b`` on; the last block may be short.
    kind : "csr" or "dense"
    weighted : bool, whether rows have weights
    labels : list of str, int, float or bool
        In the order of their first appearance: ``labels[code]`` is the label of a row.
    feature_names : list of str, or None
    recipe : dict or None, dropped : int, and filled : dict, as they were given to the writer
    """

    kind: str
    weighted: bool
    n_rows: int
    n_features: int
    labels: list[Any]
    feature_names: list[str] | None
    recipe: dict[str, Any] | None
    dropped: int
    filled: dict[str, int]

    def __init__(self, path: Path, data: mmap.mmap, footer: dict[str, Any]):
        self.path, self.n_bytes, self._data = path, len(data), data
        vars(self).update(footer["about"])
        self.n_blocks = -(-self.n_rows // BLOCK)
        self._value, self._index = np.dtype(footer["value"]), np.dtype(footer["index"])
        self._chunks = _arrays(footer, data)
        # where the values of blocks start, of sparse rows
        self._edges = [
            np.append(one[3][:-1:BLOCK], one[3][-1]) for one in self._chunks if len(one) > 3
        ]
        _forget(data)
        rows = [0, *(codes.size for codes, *_ in self._chunks)]
        self._first_blocks = np.cumsum(rows)[:-1] // BLOCK

    @classmethod
    def open(
        cls, path: str | Path, key: dict[str, Any], mark: bool = True, check: bool = True
    ) -> "RowCache | None":
        """Open the cache at ``path``; return None if there is none, or it is stale, damaged or
        writable by others.

        It is stale when it was written for another ``key``, by another format or kind of machine.
        ``mark`` sets its time to now, because the least recently used caches are removed first.
        """
        path = Path(path)
        try:
            with os.fdopen(open_own(path), "rb") as file:
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            footer = _footer(data)
        except (OSError, ValueError, struct.error):
            return None
        if footer is None or footer["key"] != as_read_back(key):
            return None
        if check:
            seal, end = 0, HEAD.size
            for arrays in _arrays(footer, data):
                for array in arrays:
                    seal, end = checksum(array, seal), end + len(_padded(array))
                _forget(data)
            if seal != footer["seal"] or data[end : end + 1] != b"{":  # where the footer begins
                return None
        if mark:
            with suppress(OSError):  # of a folder that may only be read
                os.utime(path)
        return cls(path, data, footer)

    def read_blocks(self, blocks: np.ndarray) -> Batch:
        """Return the rows of ``blocks``, in this order, in new memory; ``y`` are int32 codes, to
        look up in ``labels``, and ``first`` is the number of the first row.

        Parameters
        ----------
        blocks : integers from 0 to ``n_blocks - 1``, repeats allowed

        Raises IndexError when there is no such block. Thread-safe.
        """
        blocks = np.ascontiguousarray(blocks, np.int64)
        if blocks.size and not 0 <= blocks.min() <= blocks.max() < self.n_blocks:
            raise IndexError(f"The cache {self.path} has no block beyond {self.n_blocks - 1}.")
        if self._data.closed:
            raise ValueError(f"The cache {self.path} is closed.")
        spans, sparse = list(self._spans(blocks)), self.kind == "csr"
        rows = sum(stop - start for _, start, stop in spans)
        codes, weights = np.empty(rows, np.int32), np.empty(rows if self.weighted else 0)
        row = at = forgotten = 0
        if sparse:
            edges = self._edges
            stored = sum(
                int(edges[chunk][-(-stop // BLOCK)] - edges[chunk][start // BLOCK])
                for chunk, start, stop in spans
            )
            values, indices = np.empty(stored, self._value), np.empty(stored, self._index)
            indptr = np.zeros(rows + 1, self._index)
        else:
            X: Any = np.zeros((rows, self.n_features), self._value)
        for chunk, start, stop in spans:
            own_codes, own_weights, own_values, *others = self._chunks[chunk]
            end = row + stop - start
            codes[row:end] = own_codes[start:stop]
            if self.weighted:
                weights[row:end] = own_weights[start:stop]
            if sparse:
                starts, columns = others[0][start : stop + 1], others[1]
                held = slice(starts[0], starts[-1])
                here = slice(at, at + held.stop - held.start)
                values[here], indices[here] = own_values[held], columns[held]
                indptr[row + 1 : end + 1] = starts[1:] + (at - starts[0])
                at = here.stop
            else:  # narrower where it was written before rows grew
                X[row:end, : own_values.shape[1]] = own_values[start:stop]
            row = end
            if row - forgotten >= BLOCK * MAPPED or row == rows:
                _forget(self._data)
                forgotten = row
        if sparse:
            X = sp.csr_matrix((rows, self.n_features), dtype=self._value)
            # Set one by one, arrays are neither copied nor checked.
            X.data, X.indices, X.indptr = values, indices, indptr
            X.has_canonical_format = True
        first = BLOCK * int(blocks[0]) if blocks.size else 0
        return Batch(X, codes, first, weights if self.weighted else None)

    def _spans(self, blocks: np.ndarray) -> Iterator[tuple[int, int, int]]:
        """Yield neighbors in one chunk: its number, their first row in it, and where they end."""
        chunks = np.searchsorted(self._first_blocks, blocks, "right") - 1
        starts = BLOCK * (blocks - self._first_blocks[chunks])
        apart = (np.diff(blocks) != 1) | (np.diff(chunks) != 0)
        apart[MAPPED - 1 :: MAPPED] = True
        cuts = np.flatnonzero(apart) + 1
        for begin, end in pairwise([0, *cuts.tolist(), blocks.size]):
            if begin < end:
                chunk = int(chunks[begin])
                stop = min(int(starts[end - 1]) + BLOCK, self._chunks[chunk][0].size)
                yield chunk, int(starts[begin]), stop

    def iterate(self, batch_bytes: int = 1 << 26) -> Iterator[Batch]:
        """Yield all rows in order, as :meth:`read_blocks` returns them.

        ``batch_bytes`` is about what a batch takes in memory (64 MiB by default); there is at
        least one block in each.
        """
        each = self._value.itemsize + (self._index.itemsize if self.kind == "csr" else 0)
        sizes = []
        for codes, _, values, *_ in self._chunks:
            rows, blocks = codes.size, -(-codes.size // BLOCK)
            stored = values.size if self.kind == "csr" else rows * self.n_features
            sizes.append(np.full(blocks, (stored * each + 12 * rows) / blocks))
        ends, start = np.cumsum(np.concatenate(sizes)), 0
        while start < self.n_blocks:
            before = ends[start - 1] if start else 0.0
            stop = max(start + 1, int(np.searchsorted(ends, before + batch_bytes, "right")))
            yield self.read_blocks(np.arange(start, stop))
            start = stop

    def close(self) -> None:
        """Close the file, as forgetting the object does; reading it then raises ValueError.

        No thread may be reading at that moment.
        """
        self._chunks.clear()
        self._data.close()

    def remove(self) -> None:
        """Close and delete the file; raises OSError where that is not allowed."""
        self.close()
        self.path.unlink(missing_ok=True)


def checksum(array: np.ndarray, seed: int) -> int:
    """Return a number of 64 bits that depends on every bit of an array, and on the one before."""
    words = np.frombuffer(_padded(array), np.uint64)
    whole = words.size // SECTOR * SECTOR
    sums = words[:whole].reshape(-1, SECTOR).sum(axis=1, dtype=np.uint64)
    sums = np.append(sums, words[whole:].sum(dtype=np.uint64))
    places = np.arange(1, 2 * sums.size, 2, dtype=np.uint64)
    return (seed * 0x9E3779B97F4A7C15 + int((sums * places).sum())) % 2**64


def _padded(array: np.ndarray) -> memoryview | bytes:
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    return bytes(data) + bytes(-len(data) % 8) if len(data) % 8 else data


def _forget(data: mmap.mmap) -> None:
    """Let go of the memory of a mapped file."""
    if hasattr(mmap, "MADV_DONTNEED"):
        data.madvise(mmap.MADV_DONTNEED)


def _footer(data: mmap.mmap) -> dict[str, Any] | None:
    """Return the footer of a file, None if it is not as written."""
    magic, version = HEAD.unpack(data[: HEAD.size])
    length, seal, last = TRAILER.unpack(data[-TRAILER.size :])
    text = data[-TRAILER.size - length : -TRAILER.size]
    whole = (magic, version, last, seal) == (MAGIC, FORMAT, END, zlib.crc32(text))
    return json.loads(text) if whole else None


def _arrays(footer: dict[str, Any], data: mmap.mmap) -> list[list[np.ndarray]]:
    """Return the arrays of each chunk: codes, weights, values, and of sparse rows their starts and
    the columns of values.
    """
    value, index, about = footer["value"], footer["index"], footer["about"]
    chunks, at = [], HEAD.size
    for rows, width, stored in footer["chunks"]:
        sparse = about["kind"] == "csr"
        sizes = [(np.int32, rows), (np.float64, rows * about["weighted"])]
        sizes += [(value, stored if sparse else rows * width)]
        sizes += [(np.int64, rows + 1), (index, stored)] if sparse else []
        arrays = []
        for kind, size in sizes:
            arrays.append(np.frombuffer(data, kind, size, at))
            at += arrays[-1].nbytes + -arrays[-1].nbytes % 8
        if not sparse:
            arrays[2] = arrays[2].reshape(rows, width)
        chunks.append(arrays)
    return chunks


class RowCacheWriter:
    """Writes a :class:`RowCache`; as a context manager it aborts unless :meth:`commit` was called.

    Parameters
    ----------
    path : path of the file; its folder is created if missing. Until the commit there is only a
        temporary file beside it, which only this user can read.
    key : plain JSON that :meth:`RowCache.open` must be given to find the file again

    Every method raises RowCacheError, and leaves no file behind, when the disk does not let it
    write. Several processes may write the same path at once: the last commit wins. A commit removes
    what was used longest ago where the row caches of the folder take more than :func:`cache_limit`.
    """

    def __init__(self, path: str | Path, key: dict[str, Any]):
        self.path, self._key = Path(path), as_read_back(key)
        self._kind, self._value, self._index = "", np.dtype(np.float64), np.dtype(np.int32)
        self._labels: dict[Any, int] = {}
        self._chunks: list[list[int]] = []
        self._rest: Batch | None = None
        self._weighted = False
        self._rows = self._width = self._seal = 0
        self._fd, self._temporary = -1, ""
        try:
            folder = self.path.parent
            folder.mkdir(parents=True, exist_ok=True)
            self._limit = cache_limit(folder)
            with interrupts_deferred():
                self._fd, self._temporary = scratch_file(folder, self.path.name)
        except OSError as error:
            raise self._unwritable(error) from error
        self._send(HEAD.pack(MAGIC, FORMAT))

    def write(self, batch: Batch) -> None:
        """Append the rows of ``batch``, any number of them; its arrays are not kept.

        Later batches may be wider (earlier rows have zeros there), but not of another kind nor of
        a wider type. Raises RowCacheError when they are, or when labels are missing or NaN.
        """
        self._must_be_open()
        try:
            self._weighted = batch.weights is not None
            more = batch._replace(X=self._checked(batch.X), y=self._encoded(batch))
            self._rows += more.size
            if self._rest is not None:
                rest, few = self._rest, more.between(0, BLOCK - self._rest.size)
                more = more.between(few.size, more.size)
                self._rest = Batch(
                    join([rest.X, few.X], self._width),
                    np.concatenate([rest.y, few.y]),
                    weights=np.concatenate([rest.importance, few.importance]),
                )
                if self._rest.size < BLOCK:
                    return
                self._put(self._rest)
                self._rest = None
            whole = more.size // BLOCK * BLOCK
            self._put(more.between(0, whole))
            if whole < more.size:
                X, y, _, weights, *_ = more.between(whole, more.size)
                self._rest = Batch(X.copy(), y.copy(), 0, None if weights is None else weights + 0)
        except BaseException:
            self.abort()
            raise

    def commit(self, n_features: int | None = None, **about: Any) -> RowCache:
        """Finish the file, put it in its place in one step, and open it.

        Parameters
        ----------
        n_features : width of all rows; by default the width of the widest batch
        **about : feature_names, recipe, dropped and filled, see :func:`footer_of`

        Raises RowCacheError when no row was written or ``n_features`` is less than was seen.
        """
        self._must_be_open()
        try:
            width = self._width if n_features is None else int(n_features)
            if self._rows == 0 or width < self._width:
                raise RowCacheError(
                    f"{self._rows} rows of {self._width} features cannot be cached in "
                    f"{self.path} as rows of {width}: continue without a cache.",
                    code="shape",
                    path=self.path,
                )
            if self._rest is not None:
                self._put(self._rest)
            known = {"feature_names": None, "recipe": None, "dropped": 0, "filled": {}} | about
            known |= {
                "kind": self._kind, "weighted": self._weighted, "n_rows": self._rows,
                "n_features": width, "labels": list(self._labels),
            }  # fmt: skip
            footer = {
                "key": self._key, "value": self._value.name, "index": self._index.name,
                "chunks": self._chunks, "seal": self._seal, "about": known,
            }  # fmt: skip
            text = json.dumps(footer).encode()
            self._send(text + TRAILER.pack(len(text), zlib.crc32(text), END))
            self._publish()
        except BaseException:
            self.abort()
            raise
        row_cache = RowCache.open(self.path, self._key, check=False)
        if row_cache is None:
            raise RowCacheError(
                f"The cache {self.path} was replaced by another process: continue without a cache.",
                code="file-changed",
                path=self.path,
            )
        trim_cache(
            [[path] for path in ROW_CACHES.files(self.path.parent)], self._limit, [self.path]
        )
        return row_cache

    def abort(self) -> None:
        """Remove the temporary file. Does nothing after a commit or a second time."""
        with suppress(OSError):
            self._close()
        if self._temporary:
            with suppress(OSError):
                os.unlink(self._temporary)
        self._temporary = ""

    def __enter__(self) -> "RowCacheWriter":
        return self

    def __exit__(self, *exception: object) -> None:
        self.abort()

    def _must_be_open(self) -> None:
        if self._fd < 0:
            raise RowCacheError(
                f"The cache {self.path} is finished or aborted: start a new writer.", path=self.path
            )

    def _checked(self, X: Any) -> Any:
        """Return X in the types of this file, which the first batch sets; copy if needed."""
        sparse = sp.issparse(X)
        kind = "csr" if sparse else "dense"
        if not self._kind:
            self._kind, self._value = kind, X.dtype.newbyteorder("=")
            self._index = X.indices.dtype if sparse else self._index
        self._width = max(self._width, X.shape[1])
        fits = self._value.name in ("float32", "float64") and np.can_cast(X.dtype, self._value)
        if kind != self._kind or not fits:
            raise RowCacheError(
                f"Rows from {self._rows} on ({kind}, {X.dtype}) do not fit in a cache of "
                f"{self._kind} {self._value} rows: continue without a cache.",
                code="shape",
            )
        if not sparse:
            return np.ascontiguousarray(X, self._value)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X

    def _encoded(self, batch: Batch) -> np.ndarray:
        """Return labels as int32 codes, numbered by first appearance in the file."""
        if batch.y is None or len(batch.y) != batch.size:
            raise self._bad_labels("missing")
        try:
            values, first, inverse = np.unique(batch.y, return_index=True, return_inverse=True)
        except TypeError as error:
            raise self._bad_labels(str(error)) from error
        labels = values.tolist()
        codes = np.empty(len(labels), np.int32)
        for k in np.argsort(first).tolist():
            if not isinstance(labels[k], str | int | float) or labels[k] != labels[k]:
                raise self._bad_labels(repr(labels[k]))
            codes[k] = self._labels.setdefault(labels[k], len(self._labels))
        return codes[inverse]

    def _bad_labels(self, what: str) -> RowCacheError:
        return RowCacheError(
            f"Labels from row {self._rows} on cannot be cached ({what}): give every row a "
            "number, a boolean or a string, or continue without a cache.",
            code="label-type",
        )

    def _put(self, batch: Batch) -> None:
        """Write rows as a chunk."""
        if not batch.size:
            return
        X, stored = batch.X, 0
        arrays = [batch.y, batch.importance, X]
        if self._kind == "csr":
            stored, start = int(X.indptr[-1] - X.indptr[0]), int(X.indptr[0])
            held = slice(start, start + stored)
            values = X.data[held].astype(self._value, copy=False)
            indices = X.indices[held].astype(self._index, copy=False)
            arrays[2:] = [values, X.indptr.astype(np.int64) - start, indices]
        self._chunks.append([batch.size, X.shape[1], stored])
        for array in arrays:
            self._seal = checksum(array, self._seal)
            self._send(_padded(array))

    def _send(self, data: bytes | memoryview) -> None:
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(self._fd, left) :]
        except OSError as error:
            self.abort()
            raise self._unwritable(error) from error

    def _publish(self) -> None:
        try:
            os.fsync(self._fd)
            self._close()
            os.replace(self._temporary, self.path)
            sync_folder(self.path.parent)
        except OSError as error:
            raise self._unwritable(error) from error
        self._temporary = ""

    def _close(self) -> None:
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)

    def _unwritable(self, error: OSError) -> RowCacheError:
        return RowCacheError(
            f"The cache of parsed rows cannot be written in {self.path.parent} ({error.strerror})",
            "free some space there",
            hint("choose another folder with {}", cache=None),
            path=self.path.parent,
        )


#: key of such files, which do not depend on others
ROWS_FILE_KEY = {"rows": 1}
_BATCH_BYTES = 16 << 20


class RowsSource(WeighedSource):
    """Rows of one file with the ending .rows: parsed features, labels and weights.

    Its recipe is the recipe of the source it was made from, so a model trained on it also reads
    such files.

    Raises DataError if the file was not written by ``linsep convert``, or others may write to it.
    """

    kind = "rows"

    def __init__(self, paths: list[File]):
        if len(paths) > 1:
            raise DataError(
                f"{paths[0]} holds parsed rows with their own recipe: give it alone.",
                code="conflict",
                path=paths[0],
            )
        self.paths, self.name = paths, str(paths[0])
        self._position = 0
        (path,) = local(paths)
        found = RowCache.open(path, ROWS_FILE_KEY, mark=False)
        if found is None or found.recipe is None:
            raise DataError(
                f"{self.name} is not a complete file written by `linsep convert` on this type of "
                "machine, or other users can write to it: convert the data again.",
                code="damaged-file",
                path=path,
            )
        self._cache, self.weighted = found, found.weighted
        self.dropped, self.filled = found.dropped, found.filled
        self.n_rows: int | None = found.n_rows

    def _batches(self) -> Iterator[Batch]:
        labels = np.array(self._cache.labels)
        for batch in self._cache.iterate(_BATCH_BYTES):
            yield batch._replace(y=labels[batch.y])
            self._position = self.size * (batch.first + batch.size) // self._cache.n_rows

    def _place(self, row: int) -> str:
        return Located(f"{self.name} row {row + 1}", path=self.name, row=row + 1)

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features, if they had any."""
        return self._cache.feature_names

    @property
    def memory_needed(self) -> int:
        """About as many bytes as on disk."""
        return self._cache.n_bytes

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return self._cache.n_bytes

    @property
    def position(self) -> int:
        """Bytes read so far."""
        return self._position

    def options(self) -> dict[str, Any]:
        """Nothing: the file has all."""
        return {}

    def recipe(self) -> dict[str, Any]:
        """Return the recipe of the source that the rows were made from."""
        assert self._cache.recipe is not None
        return self._cache.recipe
