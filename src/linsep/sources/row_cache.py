"""A binary cache of parsed rows on disk, which can be read in any order of blocks of 64 rows; and
such a file as a source.

Layout, in the byte order of the machine::

    head      magic, format, nonce
    records   one per block of 64 rows (see compiled/row_records.py), each with its checksum
    table     int64 offset of every record, and of the end of the last
    footer    JSON: key, labels, sizes, types, names, recipe
    trailer   entries of the table, bytes of the footer, checksum of table to here, magic

Every byte is compared with a constant or covered by a checksum, so damaged rows are never used. The
nonce goes into each checksum: a record of an earlier file at the same place cannot pass.
"""

import contextlib
import copy
import hashlib
import json
import os
import re
import struct
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import suppress
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
from linsep.compiled.row_records import (
    HEADER,
    WEIGHT,
    checksum,
    pack_csr,
    pack_dense,
    plan_reads,
    unpack_csr,
    unpack_dense,
)
from linsep.errors import DataError, LinsepError, Located, hint
from linsep.sources.base import Source, WeighedSource
from linsep.sources.fingerprints import state_of
from linsep.sources.remote.file import File, local, located

FORMAT = 1
MAGIC, END = b"linsep\0S", b"S\0pesnil"
HEAD = struct.Struct("=8sQQ")
LENGTHS = struct.Struct("=QQ")
TRAILER = struct.Struct("=QQQ8s")
# Bytes per buffer, which should fit in the processor's second-level cache.
BUFFER_BYTES = 1 << 19
INT32_MAX = np.iinfo(np.int32).max
#: linsep's folder within a cache folder, and the files in it that may be removed
ROWS = "linsep-rows"
ROW_CACHES = CacheFiles(re.compile(r"[0-9a-f]{32}\.rows"), MAGIC)


class RowCacheError(LinsepError):
    """The cache cannot be written; continue without it."""

    code = "cannot-write"


class RowCacheDamaged(RowCacheError):
    """The cache is damaged; remove it and read the source again."""

    code = "damaged-file"


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


def end_of_file(offsets: np.ndarray, footer: dict[str, Any], nonce: np.uint64) -> bytes:
    """Return the end of a file with records between consecutive ``offsets``."""
    text = json.dumps(footer).encode()
    text += b" " * (-len(text) % 8)
    lengths = LENGTHS.pack(len(offsets), len(text))
    covered = bytearray(offsets.tobytes() + text + lengths)
    seal = checksum(np.frombuffer(covered, np.uint64), nonce)
    return bytes(covered) + TRAILER.pack(len(offsets), len(text), int(seal), END)[LENGTHS.size :]


class RowCache:
    """Parsed rows on disk, which several threads can read at once.

    Open one with :meth:`open`. The memory it takes is 8 bytes per 64 rows and half a megabyte per
    thread (more when a single block is larger). Each record is checked each time it is read: when
    the file is larger than memory, a later pass reads it from the disk again.

    Attributes
    ----------
    path : Path
    n_rows, n_features, n_blocks, n_bytes : int
        Block ``b`` holds the rows from ``64 * b`` on; the last block may be short. ``n_bytes`` is
        what all of them take on disk.
    kind : "csr" or "dense"
    weighted : bool, whether rows have weights
    labels : list of str, int, float or bool
        In the order of their first appearance: ``labels[code]`` is the label of a row.
    feature_names : list of str, or None
    recipe : dict or None, dropped : int, and filled : dict, as they were given to the writer
    """

    def __init__(self, path: Path, file: Any, footer: dict, offsets: np.ndarray, nonce: np.uint64):
        self.path = path
        self.kind: str = footer["kind"]
        self.weighted: bool = footer.get("weighted", False)
        self.n_rows: int = footer["n_rows"]
        self.n_features: int = footer["n_features"]
        self.labels: list[Any] = footer["labels"]
        self.feature_names: list[str] | None = footer["feature_names"]
        self.recipe: dict[str, Any] | None = footer["recipe"]
        self.dropped: int = footer.get("dropped", 0)
        self.filled: dict[str, int] = footer.get("filled", {})
        self.n_blocks, self.n_bytes = len(offsets) - 1, int(offsets[-1])
        self._value, self._index = np.dtype(footer["value"]), np.dtype(footer["index"])
        self._file, self._offsets, self._nonce = file, offsets, nonce
        self._close = weakref.finalize(self, file.close)
        self._own = threading.local()
        self._lock = threading.Lock()
        self._empty = sp.csr_matrix((BLOCK, self.n_features), dtype=self._value)

    @classmethod
    def open(cls, path: str | Path, key: dict[str, Any], mark: bool = True) -> "RowCache | None":
        """Open the cache at ``path``; return None if there is none, or it is stale, unreadable or
        writable by others.

        It is stale when it was written for another ``key``, by another format or kind of machine,
        or is cut short or damaged in its footer. Rows are checked as they are read. ``mark`` sets
        its time to now, because the least recently used caches are removed first.
        """
        path = Path(path)
        try:
            file = os.fdopen(open_own(path), "rb", buffering=0)
        except OSError:
            return None
        try:
            found = _read_tail(file)
        except (OSError, struct.error):  # struct.error: truncated meanwhile
            found = None
        if found is None or found[0]["key"] != as_read_back(key):
            file.close()
            return None
        if mark:
            with suppress(OSError):  # of a folder that may only be read
                os.utime(path)
        return cls(path, file, *found)

    def read_blocks(self, blocks: np.ndarray) -> Batch:
        """Return the rows of ``blocks``, in this order, in new memory; ``y`` are int32 codes, to
        look up in ``labels``, and ``first`` is the number of the first row.

        Parameters
        ----------
        blocks : integers from 0 to ``n_blocks - 1``, repeats allowed

        Raises RowCacheDamaged when the file does not hold these rows as written, IndexError when
        there is no such block. Neighbors in the file are read together. Thread-safe.
        """
        blocks = np.ascontiguousarray(blocks, np.int64)
        value, index = self._value.itemsize, self._index.itemsize
        per_row, per_value = (8, index + value) if self.kind == "csr" else (4, value)
        per_row += WEIGHT * self.weighted
        runs = np.empty((len(blocks), 4), np.int64)
        count, need, rows, stored = plan_reads(
            blocks, self._offsets, self.n_rows, per_row, per_value, BUFFER_BYTES, runs
        )
        if count < 0:
            raise IndexError(f"The cache {self.path} has no block beyond {self.n_blocks - 1}.")
        codes, done = np.empty(rows, np.int32), np.zeros(2, np.int64)
        weights = np.empty(rows if self.weighted else 0)
        X, unpack, sizes, target = self._destination(rows, stored)
        words, view = self._buffer(need)
        first, plan = 0, runs[:count].tolist()
        for k, (start, size, at, last) in enumerate(plan):
            self._read_at(start, view[at : at + size])
            if k + 1 < count and plan[k + 1][2] > 0:
                continue
            place = words, blocks[first:last], self._offsets, self.n_rows, self._nonce
            bad = unpack(*place, sizes, done, codes, weights, *target)
            if bad >= 0:
                row = BLOCK * int(bad)
                raise self._damaged(
                    f"rows {row} to {min(row + BLOCK, self.n_rows) - 1} are not what was written"
                )
            first = last
        first = BLOCK * int(blocks[0]) if len(blocks) else 0
        return Batch(X, codes, first, weights if self.weighted else None)

    def iterate(self, batch_bytes: int = 1 << 26) -> Iterator[Batch]:
        """Yield all rows in order, as :meth:`read_blocks` returns them.

        ``batch_bytes`` is about what a batch takes in memory (64 MiB by default); there is at
        least one block in each.
        """
        start = 0
        while start < self.n_blocks:
            end = self._offsets[start] + batch_bytes
            stop = int(np.searchsorted(self._offsets, end, "right")) - 1
            if self.kind == "dense":  # blocks written before the rows grew are wider in memory
                row = self.n_features * self._value.itemsize + 4 + WEIGHT * self.weighted
                stop = min(stop, start + batch_bytes // (BLOCK * row))
            stop = max(stop, start + 1)
            yield self.read_blocks(np.arange(start, stop))
            start = stop

    def close(self) -> None:
        """Close the file, as forgetting the object does; reading it then raises ValueError.

        No thread may be reading at that moment.
        """
        self._close()

    def remove(self) -> None:
        """Close and delete the file; raises OSError where that is not allowed."""
        self.close()
        self.path.unlink(missing_ok=True)

    def _destination(self, rows: int, stored: int) -> tuple[Any, Any, tuple, tuple]:
        """Return an unfilled X, the function that fills it, and the arguments of that function."""
        if self.kind == "csr":
            X: Any = self._new_csr(rows, stored)
            target = X.indptr, X.indices.view(np.uint8), X.data.view(np.uint8)
            return X, unpack_csr, (self._index.itemsize, self._value.itemsize), target
        X = np.empty((rows, self.n_features), self._value)
        sizes = self.n_features, self._value.itemsize
        return X, unpack_dense, sizes, (X.reshape(-1).view(np.uint8),)

    def _new_csr(self, rows: int, stored: int) -> sp.csr_matrix:
        """Return an unfilled CSR matrix, copied from an empty one, which avoids checks."""
        if stored > INT32_MAX and self._index == np.int32:
            raise ValueError(
                f"{stored} values of the cache {self.path} do not fit in one matrix of int32 "
                "columns: ask for fewer blocks."
            )
        empty = self._empty
        if empty.shape[0] != rows:
            self._empty = empty = sp.csr_matrix((rows, self.n_features), dtype=self._value)
        X = copy.copy(empty)
        X.data, X.indices = np.empty(stored, self._value), np.empty(stored, self._index)
        X.indptr = np.zeros(rows + 1, self._index)
        X.has_canonical_format = True
        return X

    def _buffer(self, size: int) -> tuple[np.ndarray, memoryview]:
        """Return this thread's own buffer of at least ``size`` bytes, as words and as bytes."""
        words = getattr(self._own, "words", None)
        if words is None or words.nbytes < size:
            words = self._own.words = np.empty(max(size, BUFFER_BYTES) // 8, np.uint64)
            self._own.view = words.view(np.uint8).data
        return words, self._own.view

    def _read_at(self, offset: int, view: memoryview) -> None:
        try:
            while view:
                got = _pread(self._file, view, offset, self._lock)
                if got == 0:
                    raise self._damaged("it is cut short")
                offset, view = offset + got, view[got:]
        except OSError as error:
            raise self._damaged(f"{error.strerror}") from error

    def _damaged(self, what: str) -> RowCacheDamaged:
        return RowCacheDamaged(
            f"The cache {self.path} is damaged ({what}): delete it; linsep writes it again from "
            "the source.",
            path=self.path,
        )


def _pread(file: Any, view: memoryview, offset: int, lock: threading.Lock) -> int:
    if hasattr(os, "preadv"):
        return os.preadv(file.fileno(), [view], offset)
    with lock:  # Windows can only seek and read
        file.seek(offset)
        return file.readinto(view)


def _read_tail(file: Any) -> tuple[dict[str, Any], np.ndarray, np.uint64] | None:
    """Return footer, offsets and nonce of an open file, or None if they are not as written."""
    size = os.fstat(file.fileno()).st_size
    head = file.read(HEAD.size)
    if size < HEAD.size + TRAILER.size or size % 8 or len(head) < HEAD.size:
        return None
    magic, version, nonce = HEAD.unpack(head)
    file.seek(size - TRAILER.size)
    entries, length, seal, end = TRAILER.unpack(file.read(TRAILER.size))
    covered = 8 * entries + length + LENGTHS.size
    start = size - covered - (TRAILER.size - LENGTHS.size)
    if (magic, version, end) != (MAGIC, FORMAT, END) or entries < 2 or start < HEAD.size:
        return None
    data = bytearray(covered)
    file.seek(start)
    if file.readinto(data) != covered:
        return None
    nonce = np.uint64(nonce)
    if length % 8 or checksum(np.frombuffer(data, np.uint64), nonce) != seal:
        return None
    offsets = np.frombuffer(data, np.int64, entries)
    footer = json.loads(data[8 * entries : 8 * entries + length])
    return (footer, offsets, nonce) if offsets[-1] == start else None


def footer_of(source: Source) -> dict[str, Any]:
    """Return what :meth:`RowCacheWriter.commit` keeps of the reading of a source."""
    return {
        "feature_names": source.feature_names, "recipe": source.recipe(),
        "dropped": source.dropped, "filled": dict(source.filled),
    }  # fmt: skip


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
        self._nonce = np.uint64(int.from_bytes(os.urandom(8), "little"))
        self._kind, self._value, self._index = "", np.dtype(np.float64), np.dtype(np.int32)
        self._labels: dict[Any, int] = {}
        self._sizes: list[np.ndarray] = []
        self._rest: tuple[Any, np.ndarray, np.ndarray] | None = None
        self._weighted = False
        self._blocks = self._rows = self._width = 0
        self._buffer = np.empty(BUFFER_BYTES // 8, np.uint64)
        self._fd, self._temporary = -1, ""
        try:
            folder = self.path.parent
            folder.mkdir(parents=True, exist_ok=True)
            self._limit = cache_limit(folder)
            with interrupts_deferred():
                self._fd, self._temporary = scratch_file(folder, self.path.name)
        except OSError as error:
            raise self._unwritable(error) from error
        self._send(HEAD.pack(MAGIC, FORMAT, int(self._nonce)))

    def write(self, batch: Batch) -> None:
        """Append the rows of ``batch``, any number of them; its arrays are not kept.

        Later batches may be wider (earlier rows have zeros there), but not of another kind nor of
        a wider type. Raises RowCacheError when they are, or when labels are missing or NaN.
        """
        self._must_be_open()
        try:
            self._weighted = batch.weights is not None
            X, codes = self._checked(batch.X), self._encoded(batch.y, batch.X.shape[0])
            weights = batch.importance
            start, rows = 0, len(codes)
            if self._rest is not None:
                start = min(BLOCK - len(self._rest[1]), rows)
                self._rest = self._joined(self._rest, X[:start], codes[:start], weights[:start])
                if len(self._rest[1]) == BLOCK:
                    self._put(*self._rest, 0, BLOCK)
                    self._rest = None
            whole = start + (rows - start) // BLOCK * BLOCK
            self._put(X, codes, weights, start, whole)
            if whole < rows:
                self._rest = X[whole:].copy(), codes[whole:].copy(), weights[whole:].copy()
            self._rows += rows
        except BaseException:
            self.abort()
            raise

    def commit(
        self,
        n_features: int | None = None,
        feature_names: list[str] | None = None,
        recipe: dict[str, Any] | None = None,
        dropped: int = 0,
        filled: dict[str, int] | None = None,
    ) -> RowCache:
        """Finish the file, put it in its place in one step, and open it.

        Parameters
        ----------
        n_features : width of all rows; by default the width of the widest batch
        feature_names, recipe, dropped, filled : plain JSON, kept for later; see
            :func:`footer_of`

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
                self._put(*self._rest, 0, len(self._rest[1]))
            footer = {
                "key": self._key,
                "kind": self._kind,
                "weighted": self._weighted,
                "n_rows": self._rows,
                "n_features": width,
                "value": self._value.name,
                "index": self._index.name,
                "labels": list(self._labels),
                "feature_names": feature_names,
                "recipe": recipe,
                "dropped": dropped,
                "filled": filled or {},
            }
            offsets = np.cumsum(np.concatenate([[HEAD.size], *self._sizes]), dtype=np.int64)
            self._send(end_of_file(offsets, footer, self._nonce))
            self._publish()
        except BaseException:
            self.abort()
            raise
        row_cache = RowCache.open(self.path, self._key)
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
        with contextlib.suppress(OSError):
            self._close()
        if self._temporary:
            with contextlib.suppress(OSError):
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
        too_wide = self._kind == "csr" and self._index == np.int32 and self._width > INT32_MAX
        if kind != self._kind or not fits or too_wide:
            raise RowCacheError(
                f"Rows from {self._rows} on ({kind}, {X.dtype}, {X.shape[1]} features) do not "
                f"fit in a cache of {self._kind} {self._value} rows with {self._index} columns: "
                "continue without a cache.",
                code="shape",
            )
        if not sparse:
            return np.ascontiguousarray(X, self._value)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X

    def _encoded(self, y: np.ndarray | None, rows: int) -> np.ndarray:
        """Return labels as int32 codes, numbered by first appearance in the file."""
        if y is None or len(y) != rows:
            raise self._bad_labels("missing")
        try:
            values, first, inverse = np.unique(y, return_index=True, return_inverse=True)
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

    def _joined(
        self, rest: tuple[Any, np.ndarray, np.ndarray], more: Any, *lists: np.ndarray
    ) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return the rows of an unfinished block and more rows, all as wide as the widest."""
        X, codes, weights = rest
        both = np.concatenate([codes, lists[0]]), np.concatenate([weights, lists[1]])
        return join([X, more], self._width), *both

    def _put(self, X: Any, codes: np.ndarray, weights: np.ndarray, lo: int, hi: int) -> None:
        """Write rows ``lo`` to ``hi`` as records: blocks of 64, and a shorter one at the end."""
        edges = np.append(np.arange(lo, hi, BLOCK), hi)
        rows, value, index = np.diff(edges), self._value.itemsize, self._index.itemsize
        if self._kind == "csr":
            sizes = 8 * rows + np.diff(X.indptr[edges].astype(np.int64)) * (index + value)
            indices = np.ascontiguousarray(X.indices, self._index).view(np.uint8)
            data = np.ascontiguousarray(X.data, self._value).view(np.uint8)
        else:
            sizes = rows * (4 + X.shape[1] * value)
            data = X.reshape(-1).view(np.uint8)
        sizes = sizes + WEIGHT * self._weighted * rows
        sizes = (HEADER + sizes + 7) // 8 * 8
        ends = np.append(0, np.cumsum(sizes))
        start = 0
        while start < len(sizes):
            stop = int(np.searchsorted(ends, ends[start] + BUFFER_BYTES, "right")) - 1
            stop = max(stop, start + 1)
            words = self._room(int(ends[stop] - ends[start]))
            first = lo + start * BLOCK
            place = codes[:hi], weights[:hi], first, sizes[start:stop], self._blocks, self._nonce
            if self._kind == "csr":
                pack_csr(X.indptr, indices, data, index, value, *place, words)
            else:
                pack_dense(data, X.shape[1], value, *place, words)
            self._send(words.view(np.uint8).data)
            self._blocks += stop - start
            start = stop
        self._sizes.append(sizes)

    def _room(self, size: int) -> np.ndarray:
        """Return ``size`` bytes of the buffer, which grows to the largest record."""
        if size > self._buffer.nbytes:
            self._buffer = np.empty(size // 8, np.uint64)
        return self._buffer[: size // 8]

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
        self._cache = self._open()
        self.weighted = self._cache.weighted
        self.dropped, self.filled = self._cache.dropped, self._cache.filled
        self.n_rows: int | None = self._cache.n_rows

    def _open(self) -> RowCache:
        (path,) = local(self.paths)
        found = RowCache.open(path, ROWS_FILE_KEY, mark=False)
        if found is None or found.recipe is None:
            raise DataError(
                f"{self.name} is not a complete file written by `linsep convert` on this type of "
                "machine, or other users can write to it: convert the data again.",
                code="damaged-file",
                path=path,
            )
        return found

    def _batches(self) -> Iterator[Batch]:
        labels = np.array(self._cache.labels)
        try:
            for batch in self._cache.iterate(_BATCH_BYTES):
                yield batch._replace(y=labels[batch.y])
                read = batch.first + batch.size
                self._position = self._cache.n_bytes * read // self._cache.n_rows
        except RowCacheDamaged as error:
            raise DataError(
                f"{self.name} is damaged: convert the data again.", code="damaged-file"
            ) from error

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
