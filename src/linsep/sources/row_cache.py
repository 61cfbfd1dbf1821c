"""Parsed rows on disk, read in any order of blocks of 64 rows.

Layout::

    head      magic, where the footer begins, checksum of what follows
    arrays    of each batch: numbers of labels, weights, values; of sparse rows also columns, and
              where rows start
    footer    JSON: key, types, shapes and places of the arrays, labels, names, recipe

A file is used if its checksum is right when it is opened.
"""

import hashlib
import json
import os
import re
import struct
import weakref
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep._system.files import (
    CacheFiles,
    UnsafeFolder,
    cache_limit,
    open_own,
    private_folder,
    scratch_file,
    trim_cache,
    warn_without,
)
from linsep.batches import Batch
from linsep.compiled.loop import BLOCK
from linsep.errors import hint
from linsep.sources.base import Source, as_matrix
from linsep.sources.remote.file import File, located, state_of
from linsep.validation.checks import tidy

MAGIC = b"linsep\0T"
HEAD = struct.Struct("<8sQQ")
#: arrays of a batch, by name, and which of their rows or values to read: from where to where
Run = tuple[dict[str, Any], int, int]
#: bytes that are checked at once
PIECE = 1 << 20
#: linsep's folder within a cache folder, and the files in it that may be removed
ROWS = "linsep-rows"
ROW_CACHES = CacheFiles(re.compile(r"[0-9a-f]{32}\.rows"), MAGIC)


def source_key(paths: Iterable[str | File], options: dict[str, Any]) -> dict[str, Any]:
    """Return the key of a cache of these files, before they are read: a file that changes meanwhile
    makes it stale.
    """
    return {"files": [state_of(located(path)) for path in paths], "options": options}


def row_folder(cache: Path) -> Path | None:
    """Return linsep's folder within ``cache``, private to this user; None with a warning if others
    could write in it, because their rows would be used.
    """
    folder = Path(cache).expanduser() / ROWS
    try:
        return private_folder(folder)
    except UnsafeFolder as why:
        message = f"Parsed rows are not kept in {folder}, because {why}"
        warn_without(message, hint("choose another folder with {}", cache=None))
        return None
    except OSError:  # reported when a cache is written
        return folder


def row_cache_path(folder: Path, key: dict[str, Any]) -> Path:
    """Return the path for a key. It depends on paths and options only, so that a changed file
    replaces its own stale cache.
    """
    name = json.dumps([[file[0] for file in key["files"]], key["options"]], sort_keys=True)
    return Path(folder) / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.rows"


class RowCache:
    """Parsed rows on disk, which several threads can read at once; open one with :meth:`open`.

    Block ``b`` holds the rows from ``64 * b`` on; the last block may be short.
    """

    n_features: int
    #: ``labels[number]`` is the label of a row
    labels: list[Any]
    feature_names: list[str] | None
    recipe: dict[str, Any]
    dropped: int
    filled: dict[str, int]

    def __init__(self, path: Path, descriptor: int, footer: dict[str, Any]):
        self.path, self._file = path, os.dup(descriptor)
        #: closes the file, as forgetting the object does, while no thread reads it
        self.close = weakref.finalize(self, os.close, self._file)
        self.n_bytes = os.fstat(self._file).st_size
        vars(self).update(footer["about"])
        # Of each batch, the type, the shape and the place of its arrays; and its first row.
        self._chunks = footer["chunks"]
        self._rows = [0, *accumulate(chunk["y"][1][0] for chunk in self._chunks)]
        self.n_rows = self._rows[-1]
        self.n_blocks = -(-self.n_rows // BLOCK)

    @classmethod
    def open(cls, path: Path, key: dict[str, Any]) -> "RowCache | None":
        """Open the cache at ``path``; return None if there is none, or it is damaged, writable by
        others, or written for another ``key``. Its time is set to now, because the least recently
        used caches are removed first.
        """
        try:
            with os.fdopen(open_own(path), "rb") as file:
                magic, at, sealed = HEAD.unpack(file.read(HEAD.size))
                seal = 0
                while piece := file.read(PIECE):
                    seal = zlib.crc32(piece, seal)
                whole = (magic, sealed) == (MAGIC, zlib.crc32(b"%d" % at, seal))
                file.seek(at)
                if not whole or (footer := json.load(file))["key"] != json.dumps(key):
                    return None
                with suppress(OSError):  # of a folder that may only be read
                    os.utime(path)
                return cls(path, file.fileno(), footer)
        except (OSError, ValueError, struct.error):
            return None

    def read_blocks(self, blocks: np.ndarray) -> Batch:
        """Return the rows of blocks (integers, repeats allowed), in this order, in new memory;
        ``y`` are the numbers of labels, and ``first`` is the number of the first row. Thread-safe.
        """
        starts = (BLOCK * np.asarray(blocks)).tolist()
        return self._batch([run for start in starts for run in self._runs(start)], starts[0])

    def iterate(self) -> Iterator[Batch]:
        """Yield all rows in order, in the batches that were written."""
        for (first, stop), chunk in zip(pairwise(self._rows), self._chunks, strict=True):
            yield self._batch([(chunk, 0, stop - first)], first)

    def _runs(self, start: int) -> Iterator[Run]:
        """Yield the rows of a block."""
        stop = min(start + BLOCK, self.n_rows)
        for chunk in range(bisect_right(self._rows, start) - 1, bisect_left(self._rows, stop)):
            before, after = self._rows[chunk : chunk + 2]
            yield self._chunks[chunk], max(start, before) - before, min(stop, after) - before

    def _batch(self, runs: list[Run], row: int) -> Batch:
        y, weights = self._read("y", runs), None
        if "weights" in runs[0][0]:
            weights = self._read("weights", runs)
        if "starts" not in runs[0][0]:
            return Batch(self._read("values", runs), y, row, weights)
        starts = [self._read("starts", [(chunk, first, end + 1)]) for chunk, first, end in runs]
        held = [(run[0], one[0], one[-1]) for run, one in zip(runs, starts, strict=True)]
        bounds = np.cumsum(np.concatenate([[0], *map(np.diff, starts)]))
        values, columns = self._read("values", held), self._read("columns", held)
        return Batch(as_matrix(values, columns, bounds, self.n_features), y, row, weights)

    def _read(self, name: str, runs: list[Run]) -> np.ndarray:
        """Return one array of some rows, or of some values."""
        kind, shape, _ = runs[0][0][name]
        joined = np.empty((sum(end - first for _, first, end in runs), *shape[1:]), kind)
        width, at = joined[:1].nbytes, 0
        for chunk, first, end in runs:
            part: Any = joined[at : at + end - first]
            if os.preadv(self._file, [part], chunk[name][2] + width * first) < part.nbytes:
                raise EOFError(f"{self.path} became shorter")
            at += end - first
        return joined


class RowCacheWriter:
    """Writes a :class:`RowCache`.

    Until the :meth:`commit` there is only a temporary file beside ``path``, which only this user
    can read, and which :meth:`abort` removes; call it after an OSError, too. Of several processes
    that write the same path, the last commit wins.
    """

    def __init__(self, path: Path, key: dict[str, Any]):
        self.path, self._key, self._seal = path, key, 0
        self._chunks: list[dict[str, Any]] = []
        self._index: Any = None
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._limit = cache_limit(self.path.parent)
        descriptor, self._temporary = scratch_file(self.path.parent, self.path.stem)
        self._file = os.fdopen(descriptor, "wb")
        self._file.write(bytes(HEAD.size))

    def write(self, batch: Batch) -> None:
        """Append rows, whose ``y`` are int32 numbers of labels. Later sparse batches may be wider;
        all are sparse or none, all have weights or none, and their numbers have one type.
        """
        arrays, X = {"y": batch.y}, tidy(batch.X)
        if batch.weights is not None:
            arrays["weights"] = batch.weights
        if sp.issparse(X):
            self._index = self._index or X.indices.dtype
            arrays |= {"values": X.data, "columns": X.indices.astype(self._index)}
            arrays["starts"] = X.indptr.astype(np.int64)
        else:
            arrays["values"] = np.ascontiguousarray(X)
        if batch.size:
            sent = {name: (a.dtype.str, a.shape, self._send(a)) for name, a in arrays.items()}
            self._chunks.append(sent)

    def commit(self, n_features: int, labels: list[Any], source: Source) -> RowCache:
        """Finish the file, put it in its place in one step, and return it with what the ``source``
        tells of its reading. Where all row caches of the folder take more than
        :func:`cache_limit`, those that were used longest ago are removed.
        """
        about = {
            "n_features": n_features, "labels": labels, "feature_names": source.feature_names,
            "recipe": source.recipe(), "dropped": source.dropped, "filled": dict(source.filled),
        }  # fmt: skip
        footer = {"key": json.dumps(self._key), "chunks": self._chunks, "about": about}
        with self._file:
            at = self._send(json.dumps(footer).encode())
            self._file.seek(0)
            self._file.write(HEAD.pack(MAGIC, at, zlib.crc32(b"%d" % at, self._seal)))
            self._file.flush()
            os.fsync(self._file.fileno())
            os.replace(self._temporary, self.path)
            row_cache = RowCache(self.path, self._file.fileno(), footer)
        trim_cache([[it] for it in ROW_CACHES.files(self.path.parent)], self._limit, [self.path])
        return row_cache

    def abort(self) -> None:
        """Remove the temporary file, if there still is one."""
        with suppress(OSError):
            self._file.close()  # which writes what is still to be written
        with suppress(OSError):
            os.unlink(self._temporary)

    def _send(self, data: Any) -> int:
        """Write data and return where they begin."""
        at = self._file.tell()
        self._file.write(data)
        self._seal = zlib.crc32(data, self._seal)
        return at
