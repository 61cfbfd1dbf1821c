"""Parsed rows on disk, read in any order of blocks of 64 rows; and a file of them as a source.

Layout, in the byte order of the machine, each part padded to 512 bytes::

    head      magic
    arrays    of each batch: codes of labels, weights, values; of sparse rows also columns, and
              where rows start
    footer    JSON: format and key, types, shapes and places of the arrays, labels, names, recipe
    trailer   where the footer begins; checksum of all before it

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
from contextlib import ExitStack, contextmanager, suppress
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
from linsep._system.files import remove_abandoned, written_whole
from linsep.batches import Batch
from linsep.compiled.loop import BLOCK
from linsep.errors import DataError, LinsepError, Located, ModelFileError, hint
from linsep.sources.base import Source, as_matrix
from linsep.sources.fingerprints import state_of
from linsep.sources.remote.file import File, located

FORMAT = 4
MAGIC = b"linsep\0S"
TRAILER = struct.Struct("=QQ")
#: bytes to which parts are padded, and bytes that are checked at once
SECTOR, PIECE = 512, 1 << 20
#: linsep's folder within a cache folder, and the files in it that may be removed
ROWS = "linsep-rows"
ROW_CACHES = CacheFiles(re.compile(r"[0-9a-f]{32}\.rows"), MAGIC)


class RowCacheError(LinsepError):
    """The cache cannot be written; continue without it."""

    code = "cannot-write"


def source_key(paths: Iterable[str | File], options: dict[str, Any]) -> dict[str, Any]:
    """Return the key of a cache of these files: the :func:`state_of` each, and all options that
    affect parsing. Take it before reading them: a file that changes meanwhile makes it stale.
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
    weighted : bool, whether rows have weights
    labels : list of str, int, float or bool
        In the order of their first appearance: ``labels[code]`` is the label of a row.
    feature_names : list of str, or None
    recipe : dict or None, dropped : int, and filled : dict, as they were given to the writer
    """

    n_features: int
    weighted: bool
    labels: list[Any]
    feature_names: list[str] | None = None
    recipe: dict[str, Any] | None = None
    dropped = 0
    filled: dict[str, int]

    def __init__(self, path: Path, descriptor: int, footer: dict[str, Any]):
        self.path, self._file = path, os.dup(descriptor)
        self._end = weakref.finalize(self, os.close, self._file)
        #: of each batch, the type, the shape and the place of its arrays
        self._chunks = footer["chunks"]
        self.n_bytes = os.fstat(self._file).st_size
        vars(self).update({"filled": {}} | footer["about"])
        # the first row of each chunk
        self._rows = [0, *accumulate(codes[1][0] for codes, *_ in self._chunks)]
        self.n_rows = self._rows[-1]
        self.n_blocks = -(-self.n_rows // BLOCK)

    @classmethod
    def open(cls, path: str | Path, key: dict[str, Any], mark: bool = True) -> "RowCache | None":
        """Open the cache at ``path``; return None if there is none, or it is damaged, writable by
        others, or written for another ``key`` or kind of machine. ``mark`` sets its time to now,
        because the least recently used caches are removed first.
        """
        path, seal = Path(path), 0
        try:
            with os.fdopen(open_own(path), "rb", buffering=0) as file:
                end = os.fstat(file.fileno()).st_size - TRAILER.size
                for start in range(0, end, PIECE):
                    seal = checksum(file.read(min(PIECE, end - start)), seal)
                at, sealed = TRAILER.unpack(file.read())
                if sealed != zlib.crc32(b"%d" % at, seal):
                    return None
                footer = json.loads(os.pread(file.fileno(), end - at, at).rstrip(b"\0"))
                if footer["key"] != json.dumps([FORMAT, key]):
                    return None
                if mark:
                    with suppress(OSError):  # of a folder that may only be read
                        os.utime(path)
                return cls(path, file.fileno(), footer)
        except (OSError, ValueError, struct.error):
            return None

    def read_blocks(self, blocks: np.ndarray) -> Batch:
        """Return the rows of blocks (integers, repeats allowed), in this order, in new memory;
        ``y`` are int32 codes, to look up in ``labels``, and ``first`` is the number of the first
        row. IndexError when there is no such block, or the file is closed. Thread-safe.
        """
        blocks = np.ascontiguousarray(blocks, np.int64)
        if not 0 <= blocks.min() <= blocks.max() < self.n_blocks:
            raise IndexError(f"The cache {self.path} has no block beyond {self.n_blocks - 1}.")
        runs = list(self._runs(blocks))
        y, weights = self._read(0, runs), self._read(1, runs) if self.weighted else None
        if len(runs[0][0]) == 3:
            return Batch(self._read(2, runs), y, BLOCK * int(blocks[0]), weights)
        starts = [self._read(4, [(chunk, first, end + 1)]) for chunk, first, end in runs]
        held = [(run[0], one[0], one[-1]) for run, one in zip(runs, starts, strict=True)]
        bounds = np.cumsum(np.concatenate([[0], *map(np.diff, starts)]))
        X = as_matrix(self._read(2, held), self._read(3, held), bounds, self.n_features)
        return Batch(X, y, BLOCK * int(blocks[0]), weights)

    def _read(self, number: int, runs: list[tuple[Any, int, int]]) -> np.ndarray:
        """Return entries of one array of each chunk, from where to where, as one array."""
        kind, shape, _ = runs[0][0][number]
        joined = np.empty((sum(end - first for _, first, end in runs), *shape[1:]), kind)
        left: Any = joined.reshape(-1).view(np.uint8)
        width = joined[:1].nbytes
        for chunk, first, end in runs:
            place, size = chunk[number][2] + width * first, width * (end - first)
            part, left = left[:size], left[size:]
            while part.size:
                if not (count := os.preadv(self._file, [part], place)):
                    raise EOFError(f"{self.path} became shorter")
                part, place = part[count:], place + count
        return joined

    def _runs(self, blocks: np.ndarray) -> Iterator[tuple[Any, int, int]]:
        """Yield neighboring rows of blocks: the arrays of a chunk, and from where to where."""
        starts = BLOCK * blocks
        stops = np.minimum(starts + BLOCK, self.n_rows)
        apart = np.r_[True, starts[1:] != stops[:-1], True]
        for start, stop in zip(starts[apart[:-1]].tolist(), stops[apart[1:]].tolist(), strict=True):
            first, last = bisect_right(self._rows, start), bisect_left(self._rows, stop)
            edges = [start, *self._rows[first:last], stop]
            for chunk, (begin, end) in enumerate(pairwise(edges), first - 1):
                before = self._rows[chunk]
                yield self._chunks[chunk], begin - before, end - before

    def iterate(self, batch_bytes: int = 1 << 26) -> Iterator[Batch]:
        """Yield all rows in order, as :meth:`read_blocks` returns them; at least one block, and
        about ``batch_bytes``, at a time.
        """
        places = [chunk[0][2] for chunk in self._chunks] + [self.n_bytes]
        rows = np.interp(range(places[0], places[-1], batch_bytes), places, self._rows)
        starts = np.unique([*np.ceil(rows / BLOCK).astype(int), self.n_blocks])
        for start, stop in pairwise(starts):
            yield self.read_blocks(np.arange(start, stop))

    def close(self) -> None:
        """Close the file, as forgetting the object does, while no thread reads it."""
        self.n_blocks = 0
        self._end()


def checksum(sectors: Any, seed: int) -> int:
    """Return a number that depends on every bit of sectors, and on the one before.

    The sums of sectors are checked, which is six times as fast as checking their bytes.
    """
    words = np.frombuffer(sectors, np.uint64)
    return zlib.crc32(words.reshape(-1, SECTOR // 8).sum(axis=1), seed)


class RowCacheWriter:
    """Writes a :class:`RowCache`; as a context manager it aborts unless :meth:`commit` was called.

    Until the commit there is only a temporary file beside ``path``, which only this user can read.
    Every method raises RowCacheError, and leaves no file behind, when the disk does not let it
    write. Several processes may write the same path at once: the last commit wins. A commit removes
    what was used longest ago where the row caches of the folder take more than :func:`cache_limit`.
    """

    def __init__(self, path: str | Path, key: dict[str, Any]):
        self.path, self._key = Path(path), key
        self._labels: dict[Any, int] = {}
        self._chunks: list[list[Any]] = []
        self._index: Any = None
        self._weighted = False
        self._width = self._seal = self._at = 0
        self._stack = ExitStack()
        with self._whole_or_none():
            folder = self.path.parent
            folder.mkdir(parents=True, exist_ok=True)
            self._limit = cache_limit(folder)
            if self.path.is_symlink():  # what it names stays as it is
                self.path.unlink()
            self._file = self._stack.enter_context(written_whole(self.path, "wb+", force=True))
            os.fchmod(self._file.fileno(), 0o600)
            self._send(MAGIC)

    @contextmanager
    def _whole_or_none(self) -> Iterator[None]:
        """Abort where something goes wrong; RowCacheError if that is the disk."""
        try:
            yield
        except BaseException as error:
            self.abort()
            if not isinstance(error, OSError | ModelFileError):
                raise
            problem = error if isinstance(error, OSError) else error.__context__
            raise RowCacheError(
                f"The cache of parsed rows cannot be written in {self.path.parent} "
                f"({getattr(problem, 'strerror', problem)})",
                "free some space there",
                hint("choose another folder with {}", cache=None),
                path=self.path.parent,
            ) from error

    def write(self, batch: Batch) -> None:
        """Append rows. Later sparse batches may be wider; all are sparse or none, and their numbers
        have one type. RowCacheError when labels are missing or NaN.
        """
        with self._whole_or_none():
            X, arrays = batch.X, [self._codes(batch), batch.importance]
            if sp.issparse(X):
                if not X.has_canonical_format:
                    X = X.copy()
                    X.sum_duplicates()
                self._index = self._index or X.indices.dtype
                arrays += [X.data, X.indices.astype(self._index, copy=False)]
                arrays.append(X.indptr.astype(np.int64))
            else:
                arrays.append(np.ascontiguousarray(X))
            self._width = max(self._width, X.shape[1])
            self._weighted = batch.weights is not None
            self._chunks.append(
                [(a.dtype.str, a.shape, self._send(a.reshape(-1).view(np.uint8))) for a in arrays]
            )

    def _codes(self, batch: Batch) -> np.ndarray:
        with suppress(pa.ArrowException, TypeError):
            found = pa.array(batch.y, from_pandas=True).dictionary_encode()  # NaN is null
            labels = found.dictionary.to_pylist()
            if not found.null_count and len(found) == batch.size:
                numbers = [self._labels.setdefault(one, len(self._labels)) for one in labels]
                return np.array(numbers, np.int32)[found.indices.to_numpy()]
        raise RowCacheError(
            "Labels cannot be cached: give every row a number, a boolean or a string, or continue "
            "without a cache.",
            code="label-type",
        )

    def commit(self, n_features: int | None = None, **about: Any) -> RowCache:
        """Finish the file, put it in its place in one step, and return it. ``n_features`` is the
        width of all rows, by default of the widest batch; for ``about`` see :func:`footer_of`.
        """
        with self._whole_or_none():
            about |= {"n_features": self._width if n_features is None else n_features}
            about |= {"weighted": self._weighted, "labels": list(self._labels)}
            key = json.dumps([FORMAT, self._key])
            footer = {"key": key, "chunks": self._chunks, "about": about}
            at = self._send(json.dumps(footer).encode())
            self._file.write(TRAILER.pack(at, zlib.crc32(b"%d" % at, self._seal)))
            self._file.flush()
            row_cache = RowCache(self.path, self._file.fileno(), footer)
            self._stack.close()
        trim_cache(
            [[path] for path in ROW_CACHES.files(self.path.parent)], self._limit, [self.path]
        )
        return row_cache

    def abort(self) -> None:
        """Remove the temporary file. Does nothing after a commit or a second time."""
        with suppress(ModelFileError):  # of what is still to be written
            self._stack.__exit__(RowCacheError, RowCacheError(), None)

    def __enter__(self) -> "RowCacheWriter":
        return self

    def __exit__(self, *exception: object) -> None:
        self.abort()

    def _send(self, data: Any) -> int:
        """Write data, padded; return where they begin."""
        whole, at = len(data) // SECTOR * SECTOR, self._at
        for part in (data[:whole], bytes(data[whole:]) + bytes(-len(data) % SECTOR)):
            self._seal = checksum(part, self._seal)
            self._at += self._file.write(part)
        return at


#: key of such files, which do not depend on others
ROWS_FILE_KEY = {"rows": 1}
_BATCH_BYTES = 16 << 20


class RowsSource(Source):
    """Rows of one file with the ending .rows: parsed features, labels and weights.

    Its recipe is the recipe of the source it was made from, so a model trained on it also reads
    such files.

    Raises DataError if the file was not written by ``linsep convert``, or others may write to it.
    """

    kind = "rows"
    #: bytes on disk, and about as many in memory; and those read so far
    size = memory_needed = position = 0
    feature_names = None

    def __init__(self, paths: list[File]):
        if len(paths) > 1:
            raise DataError(
                f"{paths[0]} holds parsed rows with their own recipe: give it alone.",
                code="conflict",
                path=paths[0],
            )
        self.paths, self.name = paths, str(paths[0])
        found = RowCache.open(self.name, ROWS_FILE_KEY, mark=False)
        if found is None or found.recipe is None:
            raise DataError(
                f"{self.name} is not a complete file written by `linsep convert` on this type of "
                "machine, or other users can write to it: convert the data again.",
                code="damaged-file",
                path=paths[0],
            )
        self._cache, self._recipe = found, found.recipe
        self.size = self.memory_needed = found.n_bytes
        for name in ("weighted", "dropped", "filled", "n_rows", "feature_names"):
            setattr(self, name, getattr(found, name))

    def _read(self) -> Iterator[Batch]:
        labels = np.array(self._cache.labels)
        for batch in self._cache.iterate(_BATCH_BYTES):
            yield batch._replace(y=labels[batch.y])
            self.position = self.size * (batch.first + batch.size) // self._cache.n_rows

    def _place(self, row: int) -> str:
        return Located(f"{self.name} row {row + 1}", path=self.name, row=row + 1)

    def options(self) -> dict[str, Any]:
        return {}

    def recipe(self) -> dict[str, Any]:
        return self._recipe
