"""Parsed rows on disk, read in any order of blocks of 64 rows.

Layout::

    head      magic, where the footer begins, checksum of what follows
    arrays    of each batch: codes of labels, weights, values; of sparse rows also columns, and
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
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
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
from linsep._system.files import written_whole
from linsep.batches import Batch
from linsep.compiled.loop import BLOCK
from linsep.errors import LinsepError, ModelFileError, hint
from linsep.sources.base import Source, as_matrix
from linsep.sources.remote.file import File, located, state_of
from linsep.validation.checks import tidy

MAGIC = b"linsep\0S"
HEAD = struct.Struct("<8sQQ")
#: bytes that are checked at once
PIECE = 1 << 20
#: linsep's folder within a cache folder, and the files in it that may be removed
ROWS = "linsep-rows"
ROW_CACHES = CacheFiles(re.compile(r"[0-9a-f]{32}\.rows"), MAGIC)


class RowCacheError(LinsepError):
    """The cache cannot be written; continue without it."""

    code = "cannot-write"


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


def footer_of(source: Source) -> dict[str, Any]:
    """Return what :meth:`RowCacheWriter.commit` keeps of the reading of a source."""
    return {
        "feature_names": source.feature_names, "recipe": source.recipe(),
        "dropped": source.dropped, "filled": dict(source.filled),
    }  # fmt: skip


class RowCache:
    """Parsed rows on disk, which several threads can read at once; open one with :meth:`open`.

    Block ``b`` holds the rows from ``64 * b`` on; the last block may be short.
    """

    n_features: int
    weighted: bool
    #: in the order of their first appearance: ``labels[code]`` is the label of a row
    labels: list[Any]
    feature_names: list[str] | None
    recipe: dict[str, Any]
    dropped: int
    filled: dict[str, int]

    def __init__(self, path: Path, descriptor: int, footer: dict[str, Any]):
        self.path, self._file = path, os.dup(descriptor)
        self._end = weakref.finalize(self, os.close, self._file)
        self.n_bytes = os.fstat(self._file).st_size
        vars(self).update(footer["about"])
        # Of each batch, the type, the shape and the place of its arrays; and its first row.
        self._chunks = footer["chunks"]
        self._rows = [0, *accumulate(codes[1][0] for codes, *_ in self._chunks)]
        self.n_rows = self._rows[-1]
        self.n_blocks = -(-self.n_rows // BLOCK)

    @classmethod
    def open(cls, path: str | Path, key: dict[str, Any]) -> "RowCache | None":
        """Open the cache at ``path``; return None if there is none, or it is damaged, writable by
        others, or written for another ``key`` or kind of machine. Its time is set to now, because
        the least recently used caches are removed first.
        """
        path = Path(path)
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
        ``y`` are int32 codes, to look up in ``labels``, and ``first`` is the number of the first
        row. OSError when the file is closed. Thread-safe.
        """
        starts = (BLOCK * np.asarray(blocks)).tolist()
        return self._batch([run for start in starts for run in self._runs(start)], starts[0])

    def iterate(self) -> Iterator[Batch]:
        """Yield all rows in order, in the batches that were written, as :meth:`read_blocks` returns
        them.
        """
        for (first, stop), chunk in zip(pairwise(self._rows), self._chunks, strict=True):
            yield self._batch([(chunk, 0, stop - first)], first)

    def _batch(self, runs: list[tuple[Any, int, int]], row: int) -> Batch:
        y, weights = self._read(0, runs), self._read(1, runs) if self.weighted else None
        if len(runs[0][0]) == 3:
            return Batch(self._read(2, runs), y, row, weights)
        starts = [self._read(4, [(chunk, first, end + 1)]) for chunk, first, end in runs]
        held = [(run[0], one[0], one[-1]) for run, one in zip(runs, starts, strict=True)]
        bounds = np.cumsum(np.concatenate([[0], *map(np.diff, starts)]))
        X = as_matrix(self._read(2, held), self._read(3, held), bounds, self.n_features)
        return Batch(X, y, row, weights)

    def _read(self, number: int, runs: list[tuple[Any, int, int]]) -> np.ndarray:
        """Return entries of one array of each chunk, from where to where, as one array."""
        kind, shape, _ = runs[0][0][number]
        joined = np.empty((sum(end - first for _, first, end in runs), *shape[1:]), kind)
        width, at = joined[:1].nbytes, 0
        for chunk, first, end in runs:
            part: Any = joined[at : at + end - first]
            if os.preadv(self._file, [part], chunk[number][2] + width * first) < part.nbytes:
                raise EOFError(f"{self.path} became shorter")
            at += end - first
        return joined

    def _runs(self, start: int) -> Iterator[tuple[Any, int, int]]:
        """Yield the rows of a block: the arrays of a chunk, and from where to where."""
        stop = min(start + BLOCK, self.n_rows)
        first, last = bisect_right(self._rows, start), bisect_left(self._rows, stop)
        edges = [start, *self._rows[first:last], stop]
        for chunk, (begin, end) in enumerate(pairwise(edges), first - 1):
            before = self._rows[chunk]
            yield self._chunks[chunk], begin - before, end - before

    def close(self) -> None:
        """Close the file, as forgetting the object does, while no thread reads it."""
        self._file = -1
        self._end()


class RowCacheWriter(AbstractContextManager["RowCacheWriter"]):
    """Writes a :class:`RowCache`; as a context manager it aborts unless :meth:`commit` was called.

    Until the commit there is only a temporary file beside ``path``, which only this user can read.
    Every method raises RowCacheError, and leaves no file behind, when the disk does not let it
    write. Of several processes that write the same path, the last commit wins.
    """

    def __init__(self, path: str | Path, key: dict[str, Any]):
        self.path, self._key = Path(path), key
        self._labels: dict[Any, int] = {}
        self._chunks: list[list[Any]] = []
        self._index: Any = None
        self._weighted, self._seal, self._stack = False, 0, ExitStack()
        with self._whole_or_none():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._limit = cache_limit(self.path.parent)
            if self.path.is_symlink():  # what it names stays as it is
                self.path.unlink()
            self._file = self._stack.enter_context(written_whole(self.path, "wb+", force=True))
            os.fchmod(self._file.fileno(), 0o600)
            self._file.write(bytes(HEAD.size))

    @contextmanager
    def _whole_or_none(self) -> Iterator[None]:
        """Abort with a RowCacheError if the disk does not let us write."""
        try:
            yield
        except (OSError, ModelFileError) as error:
            self.abort()
            problem = error if isinstance(error, OSError) else error.__context__
            folder = self.path.parent
            raise RowCacheError(
                f"Parsed rows cannot be kept in {folder} ({getattr(problem, 'strerror', problem)})",
                "free some space there", hint("choose another folder with {}", cache=None),
                path=folder,
            ) from error  # fmt: skip

    def write(self, batch: Batch) -> None:
        """Append rows. Later sparse batches may be wider; all are sparse or none, and their numbers
        have one type. RowCacheError when labels are missing or NaN.
        """
        with self._whole_or_none():
            X, arrays = tidy(batch.X), [self._codes(batch), batch.importance]
            if sp.issparse(X):
                self._index = self._index or X.indices.dtype
                arrays += [X.data, X.indices.astype(self._index), X.indptr.astype(np.int64)]
            else:
                arrays.append(np.ascontiguousarray(X))
            self._weighted = batch.weights is not None
            if batch.size:
                self._chunks.append([(a.dtype.str, a.shape, self._send(a)) for a in arrays])

    def _codes(self, batch: Batch) -> np.ndarray:
        try:
            found = pa.array(batch.y, from_pandas=True).dictionary_encode()  # NaN is null
            labels = found.dictionary.to_pylist()
            numbers = [self._labels.setdefault(one, len(self._labels)) for one in labels]
            return np.array(numbers, np.int32)[found.indices.to_numpy()]
        except (pa.ArrowException, TypeError):  # also of nulls
            said = "Labels cannot be cached: give every row a number, a boolean or a string."
            raise RowCacheError(said, code="label-type") from None

    def commit(self, n_features: int, **about: Any) -> RowCache:
        """Finish the file, put it in its place in one step, and return it; ``about`` is what
        :func:`footer_of` returns. Where all row caches of the folder take more than
        :func:`cache_limit`, those that were used longest ago are removed.
        """
        about |= {"n_features": n_features, "weighted": self._weighted, "labels": [*self._labels]}
        footer = {"key": json.dumps(self._key), "chunks": self._chunks, "about": about}
        with self._whole_or_none():
            at = self._send(json.dumps(footer).encode())
            self._file.seek(0)
            self._file.write(HEAD.pack(MAGIC, at, zlib.crc32(b"%d" % at, self._seal)))
            self._file.flush()
            row_cache = RowCache(self.path, self._file.fileno(), footer)
            self._stack.close()
        caches = [[path] for path in ROW_CACHES.files(self.path.parent)]
        trim_cache(caches, self._limit, [self.path])
        return row_cache

    def abort(self) -> None:
        """Remove the temporary file. Does nothing after a commit or a second time."""
        with suppress(ModelFileError):  # of what is still to be written
            self._stack.__exit__(RowCacheError, RowCacheError(), None)

    def __exit__(self, *exception: object) -> None:
        self.abort()

    def _send(self, data: Any) -> int:
        """Write data and return where they begin."""
        at = self._file.tell()
        self._file.write(data)
        self._seal = zlib.crc32(data, self._seal)
        return at
