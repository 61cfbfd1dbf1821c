"""Read a binary cache of parsed rows, in any order of blocks of 64 rows.

:mod:`linsep.sources.row_cache.writing` writes it. Layout, in the byte order of the machine::

    head      magic, format, nonce
    records   one per block of 64 rows (see compiled/row_records.py), each with its checksum
    table     int64 offset of every record, and of the end of the last
    footer    JSON: key, labels, sizes, types, names, recipe
    trailer   entries of the table, bytes of the footer, checksum of table to here, magic

Every byte is compared with a constant or covered by a checksum, so no damaged row is ever learnt.
The nonce goes into each checksum: a record of an earlier file at the same place cannot pass.
"""

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
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep._system.caches import CacheFiles, UnsafeFolder, open_own, private_folder, warn_without
from linsep._system.files import remove_abandoned
from linsep.compiled.loop import BLOCK
from linsep.compiled.row_records import WEIGHT, checksum, plan_reads, unpack_csr, unpack_dense
from linsep.errors import LinsepError, hint
from linsep.sources.fingerprints import Known, known, same
from linsep.sources.remote.file import File, located

FORMAT = 1
MAGIC, END = b"linsep\0S", b"S\0pesnil"
HEAD = struct.Struct("=8sQQ")
LENGTHS = struct.Struct("=QQ")
TRAILER = struct.Struct("=QQQ8s")
# Bytes per buffer, which should fit in the processor's second-level cache.
GULP = 1 << 19
INT32_MAX = np.iinfo(np.int32).max
#: linsep's folder within a cache folder, and the files in it that may be removed
ROWS = "linsep-rows"
ROW_CACHES = CacheFiles(re.compile(r"[0-9a-f]{32}\.rows"), MAGIC)


class RowCacheError(LinsepError):
    """The cache cannot be written; continue without it."""


class RowCacheDamaged(RowCacheError):
    """The cache is damaged; remove it and read the source again."""


def source_key(paths: Iterable[str | File], options: dict[str, Any]) -> dict[str, Any]:
    """Return the key of a cache of these files: what is :func:`known` of each, and ``options``.

    Parameters
    ----------
    paths : paths of existing files, in the order they are read
    options : everything that affects parsing, as plain JSON

    Raises OSError when a file cannot be looked at. Take the key before reading the files: then a
    file that changes meanwhile makes the cache stale.
    """
    return {"files": [known(located(path)) for path in paths], "options": options}


def is_of(key: dict[str, Any], footer: dict[str, Any]) -> bool:
    """Return whether a footer is that of a cache with this key."""
    then = footer["key"]
    if then == plain(key):
        return True
    if "files" not in key or then.get("options") != plain(key["options"]):
        return False
    files = [Known(*file) for file in then["files"]]
    return same(files, [Known(*file) for file in plain(key)["files"]], footer["hashes"])


def row_folder(cache: Path) -> Path | None:
    """Return linsep's folder within ``cache``, created private to this user.

    Returns None and warns if others could write in it, because their rows would be learnt.
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


def plain(key: dict[str, Any]) -> Any:
    """Return ``key`` as read from a footer, with lists for tuples."""
    return json.loads(json.dumps(key))


def tail(offsets: np.ndarray, footer: dict[str, Any], nonce: np.uint64) -> bytes:
    """Return the end of a file with records between consecutive ``offsets``."""
    text = json.dumps(footer).encode()
    text += b" " * (-len(text) % 8)
    lengths = LENGTHS.pack(len(offsets), len(text))
    covered = bytearray(offsets.tobytes() + text + lengths)
    seal = checksum(np.frombuffer(covered, np.uint64), nonce)
    return bytes(covered) + TRAILER.pack(len(offsets), len(text), int(seal), END)[LENGTHS.size :]


class Rows(NamedTuple):
    """Rows of a cache, in new memory.

    Attributes
    ----------
    X : C-contiguous array or canonical csr_matrix of shape (rows, n_features)
    codes : int32 array of shape (rows,), to look up in ``labels``
    weights : float64 array of shape (rows,), empty if the rows have none
    """

    X: np.ndarray | sp.csr_matrix
    codes: np.ndarray
    weights: np.ndarray


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
        if found is None or not is_of(key, found[0]):
            file.close()
            return None
        if mark:
            with suppress(OSError):
                os.utime(path)
        return cls(path, file, *found)

    def read_blocks(self, blocks: np.ndarray) -> Rows:
        """Return the rows of ``blocks``, in this order.

        Parameters
        ----------
        blocks : integers from 0 to ``n_blocks - 1``, repeats allowed

        Raises RowCacheDamaged when the file does not hold these rows as written, IndexError when
        there is no such block. Neighbours in the file are read together. Thread-safe.
        """
        blocks = np.ascontiguousarray(blocks, np.int64)
        value, index = self._value.itemsize, self._index.itemsize
        per_row, per_value = (8, index + value) if self.kind == "csr" else (4, value)
        per_row += WEIGHT * self.weighted
        runs = np.empty((len(blocks), 4), np.int64)
        count, need, rows, stored = plan_reads(
            blocks, self._offsets, self.n_rows, per_row, per_value, GULP, runs
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
        return Rows(X, codes, weights)

    def iterate(self, batch_bytes: int = 1 << 26) -> Iterator[Rows]:
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
            words = self._own.words = np.empty(max(size, GULP) // 8, np.uint64)
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
            f"The cache {self.path} is damaged ({what}): delete it, and it is made again from the "
            "source."
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
