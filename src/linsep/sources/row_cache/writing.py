"""Writes the binary cache of parsed rows that :mod:`linsep.sources.row_cache.reading` reads."""

import contextlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep._system.caches import cache_limit, trim_cache
from linsep._system.files import scratch_file, sync_folder
from linsep._system.interrupts import interrupts_deferred
from linsep.compiled.loop import BLOCK
from linsep.compiled.row_records import HEADER, WEIGHT, pack_csr, pack_dense
from linsep.errors import hint
from linsep.sources.base import Batch, Source
from linsep.sources.fingerprints import Known, hashes
from linsep.sources.row_cache.reading import (
    FORMAT,
    GULP,
    HEAD,
    INT32_MAX,
    MAGIC,
    ROW_CACHES,
    RowCache,
    RowCacheError,
    plain,
    tail,
)


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
        self.path, self._key = Path(path), plain(key)
        self._nonce = np.uint64(int.from_bytes(os.urandom(8), "little"))
        self._kind, self._value, self._index = "", np.dtype(np.float64), np.dtype(np.int32)
        self._labels: dict[Any, int] = {}
        self._sizes: list[np.ndarray] = []
        self._rest: tuple[Any, np.ndarray, np.ndarray] | None = None
        self._weighted = False
        self._blocks = self._rows = self._width = 0
        self._buffer = np.empty(GULP // 8, np.uint64)
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
            weights = np.empty(0) if batch.weights is None else batch.weights
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
        n_features : width of all rows; by default that of the widest batch
        feature_names, recipe, dropped, filled : plain JSON, kept for later; see
            :func:`footer_of`

        Raises RowCacheError when no row was written or ``n_features`` is less than was seen.
        """
        self._must_be_open()
        try:
            width = self._width if n_features is None else int(n_features)
            if self._rows == 0 or width < self._width:
                raise RowCacheError(
                    f"{self._rows} rows of {self._width} features cannot be cached in {self.path} "
                    f"as rows of {width}: go on without a cache."
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
                "hashes": hashes([Known(*file) for file in self._key.get("files", ())]),
            }
            offsets = np.cumsum(np.concatenate([[HEAD.size], *self._sizes]), dtype=np.int64)
            self._send(tail(offsets, footer, self._nonce))
            self._publish()
        except BaseException:
            self.abort()
            raise
        row_cache = RowCache.open(self.path, self._key)
        if row_cache is None:
            raise RowCacheError(
                f"The cache {self.path} was replaced by another process: go on without a cache."
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
                f"The cache {self.path} is finished or given up: start a new writer."
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
                f"Rows from {self._rows} on ({kind}, {X.dtype}, {X.shape[1]} features) do not fit "
                f"in a cache of {self._kind} {self._value} rows with {self._index} columns: "
                "go on without a cache."
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
            f"Labels from row {self._rows} on cannot be cached ({what}): give each row a number, "
            "a boolean or a string, or go on without a cache."
        )

    def _joined(
        self, rest: tuple[Any, np.ndarray, np.ndarray], more: Any, *lists: np.ndarray
    ) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return the rows of an unfinished block and more rows, all as wide as the widest."""
        X, codes, weights = rest
        both = np.concatenate([codes, lists[0]]), np.concatenate([weights, lists[1]])
        if self._kind == "csr":
            parts = [
                sp.csr_matrix((part.data, part.indices, part.indptr), (part.shape[0], self._width))
                for part in (X, more)
            ]
            return sp.vstack(parts, format="csr"), *both
        joined = np.zeros((len(both[0]), self._width), self._value)
        joined[: len(codes), : X.shape[1]] = X
        joined[len(codes) :, : more.shape[1]] = more
        return joined, *both

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
            stop = int(np.searchsorted(ends, ends[start] + GULP, "right")) - 1
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
            "make room there",
            hint("choose another folder with {}", cache=None),
        )
