"""svmlight and libsvm text: scanned by compiled code on several threads, yielded in file order."""

import re
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.compiled.scanners.numbers import PADDING
from linsep.compiled.scanners.svmlight import DONE, INDEX_ZERO, count, scan
from linsep.sources.base import Batch
from linsep.sources.chunks import Chunk, LineReader
from linsep.sources.exact import check_written, far_rows
from linsep.sources.limits import MAX_LINE
from linsep.sources.remote.file import File, RemoteFile
from linsep.sources.scanned_files import CHUNK_BYTES, ScannedFiles, line_at
from linsep.sources.svmlight.plain import LABELS_BELOW, LARGEST_INDEX, parse_line

TOKEN = re.compile(rb"[^\0- :#]*")
PAIR = re.compile(rb"[0-9]+:")
WRITTEN = re.compile(r"([0-9]+):([-+]?[0-9]+)(?=\s|$)")
DATA_LINE = re.compile(rb"^[ \t]*[^ \t\r\n#]", re.MULTILINE)


class Scanned(NamedTuple):
    """What a chunk held: the arrays of a CSR matrix, or the first line that was refused.

    ``refused`` is the 0-based number of that line in the chunk, and the line. ``lines`` counts
    newlines, ``base`` is the index that became column 0, ``width`` the highest column plus 1.
    """

    file: int
    lines: int
    base: int
    labels: np.ndarray
    indptr: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    width: int
    refused: tuple[int, bytes] | None


class SvmlightSource(ScannedFiles):
    """Rows of svmlight text files, as one stream.

    A line is ``label index:value index:value ...`` with growing indices, all numbers finite;
    ``#`` begins a comment, ``qid:N`` after the label is ignored. A few chunks are in memory at a
    time, whatever the size of the files.

    Parameters
    ----------
    paths : list of Path
        Text files; those ending in .gz, .bz2 and .zst are decompressed while reading.
    index_base : 0, 1 or None
        The index of the first feature, which becomes column 0. None (the default) finds out: 0
        when the first chunk with any pair holds an index 0, else 1.
    chunk_bytes : int
        Bytes of text scanned at once, 2 MiB by default.
    threads : int or None
        Threads that scan; None takes one for each processor, at most 8. One more reads.
    dtype : numpy float type
        Of X: float64 or float32. Labels are always float64.
    require_labels : bool
        False takes files whose lines all begin with a pair, too; their Batch.y is None.
    max_line : int
        Bytes that a line may have.
    """

    kind = "svmlight"
    example = "+1 3:0.5 17:1"

    def __init__(
        self,
        paths: Sequence[str | File],
        *,
        index_base: int | None = None,
        chunk_bytes: int = CHUNK_BYTES,
        threads: int | None = None,
        dtype: type = np.float64,
        require_labels: bool = True,
        max_line: int = MAX_LINE,
    ):
        if not paths:
            raise ValueError("paths must name at least one file.")
        if index_base not in {None, 0, 1}:
            raise ValueError(f"index_base must be 0, 1 or None, not {index_base!r}.")
        if chunk_bytes < 1 or (threads is not None and threads < 1):
            raise ValueError("chunk_bytes and threads must be at least 1.")
        super().__init__(paths, chunk_bytes, threads, max_line)
        self._base = index_base
        self._dtype = np.dtype(dtype).type
        self._width = 0
        self._bare = [
            not require_labels and _begins_with_pair(path, max_line) for path in self.paths
        ]

    @property
    def index_base(self) -> int:
        """The index of the first feature, 0 or 1; reads the first chunk if it must find out."""
        if self._base is None:
            with closing(self.batches()) as batches:
                while self._base is None:
                    next(batches, None)
        return self._base

    def recipe(self) -> dict[str, Any]:
        """Return the format and the index base."""
        return {"format": "svmlight", "index_base": self.index_base}

    def feature(self, column: int) -> str:
        """By its index in the file."""
        return f"feature {column + self.index_base}"

    def options(self) -> dict[str, Any]:
        """Return the recipe and the type of the values."""
        return self.recipe() | {"dtype": self._dtype.__name__}

    def batches(self) -> Generator[Batch, None, None]:
        """Yield the rows, one batch a chunk.

        X has shape (rows, highest column so far + 1), ``has_canonical_format`` and its own
        memory. The width is kept between calls. Raises DataError naming file and line, also for a
        whole number that no double equals.
        """
        lines, passed = self._data_lines(), 0
        for batch in self._batches():
            for row in far_rows(batch.X):
                file, number, line = next(islice(lines, batch.first + row - passed, None))
                passed = batch.first + row + 1
                text = line.decode(errors="replace").partition("#")[0]
                check_written(f"{self.paths[file]} line {number + 1}", "feature {}", text, WRITTEN)
            yield batch

    def _batches(self) -> Generator[Batch, None, None]:
        with closing(self._parts()) as parts:
            for first, part in parts:
                if part.columns.size:
                    self._base = part.base
                self._width = max(self._width, part.width)
                if part.labels.size:
                    labels = None if self._bare[part.file] else part.labels
                    yield Batch(self._matrix(part), labels, first)
        if self._base is None:
            self._base = 1

    def _is_row(self, line: bytes) -> bool:
        return DATA_LINE.match(line) is not None

    def _ahead(self) -> int:
        # Before the index base is known, a second chunk could not be scanned.
        return 1 if self._base is None else super()._ahead()

    def _scan(self, chunk: Chunk) -> Scanned:
        text = _with_labels(chunk) if self._bare[chunk.file] else chunk
        return scan_chunk(text, self._base, self._dtype)

    def _parse(self, line: bytes, part: Scanned) -> None:
        parse_line(line, part.base, self._dtype)

    def _matrix(self, part: Scanned) -> sp.csr_matrix:
        # Set one by one, the arrays are neither copied nor checked.
        X = sp.csr_matrix((part.labels.size, self._width), dtype=self._dtype)
        X.data, X.indices, X.indptr = part.values, part.columns, part.indptr
        X.has_sorted_indices = X.has_canonical_format = True
        return X


def _begins_with_pair(path: File, max_line: int) -> bool:
    """Return whether the first line of a file that holds a row has no label."""
    for chunk in LineReader([path], CHUNK_BYTES, max_line=max_line).chunks():
        if row := DATA_LINE.search(chunk.text, 0, chunk.size):
            return PAIR.match(chunk.text, row.end() - 1) is not None
    return False


def _with_labels(chunk: Chunk) -> Chunk:
    """The same lines with a label 0 before each row."""
    text = DATA_LINE.sub(lambda row: b"0 " + row[0], bytes(chunk.text[: chunk.size]))
    return Chunk(chunk.file, bytearray(text + b"\n" * PADDING), len(text))


def scan_chunk(chunk: Chunk, base: int | None, dtype: type) -> Scanned:
    """Read one chunk, padded by ``PADDING``; a ``base`` of None becomes 0 or 1."""
    text = np.frombuffer(chunk.text, np.uint8)
    with np.errstate(over="ignore"):  # words wrap around, which numpy notes when not compiled
        colons, newlines = count(text, chunk.size)
        index = np.int32 if colons < 2**31 else np.int64
        labels, indptr = np.empty(newlines + 1), np.empty(newlines + 2, index)
        values, columns = np.empty(colons, dtype), np.empty(colons, index)
        doubts = np.empty((newlines + 1 + colons, 2), np.int64)
        numbers = (chunk.size, 1 if base is None else base, LARGEST_INDEX)
        outcome, at, rows, pairs, doubtful, width = scan(
            text, *map(np.uint64, numbers), labels, indptr, values, columns, doubts
        )
        refused_at = None if outcome == DONE else int(at)
        refused = False  # the first one counts, but those after it must not stay unread
        for place, start in doubts[: int(doubtful)].tolist():
            value = float(TOKEN.match(chunk.text, start)[0])  # type: ignore[index]
            array, slot = (values, place) if place >= 0 else (labels, -1 - place)
            array[slot] = value
            if not isfinite(array[slot]) and not refused:
                refused, outcome, refused_at = True, DONE, start
    if outcome == INDEX_ZERO and base is None:
        return scan_chunk(chunk, 0, dtype)
    if (large := _too_large(chunk, labels[:rows])) is not None:
        refused_at = large if refused_at is None else min(large, refused_at)
    return Scanned(
        file=chunk.file,
        lines=newlines,
        base=numbers[1],
        labels=labels[:rows],
        indptr=indptr[: rows + 1],
        columns=columns[:pairs],
        values=values[:pairs],
        width=int(width),
        refused=None if refused_at is None else line_at(chunk, refused_at),
    )


def _too_large(chunk: Chunk, labels: np.ndarray) -> int | None:
    """Return where the first row begins whose label has too many digits, or None."""
    if not labels.size or max(labels.max(), -labels.min()) < LABELS_BELOW:
        return None
    row = int(np.argmax(np.abs(labels) >= LABELS_BELOW))
    return next(islice(DATA_LINE.finditer(chunk.text, 0, chunk.size), row, None)).start()


def load_svmlight(
    paths: str | File | Sequence[str | File], **options: Any
) -> tuple[sp.csr_matrix, np.ndarray]:
    """Read svmlight files whole.

    Parameters
    ----------
    paths : path or sequence of paths
    **options
        Those of :class:`SvmlightSource`.

    Returns
    -------
    X : csr_matrix of shape (rows, highest column + 1)
        Indices are int32, or int64 when there are 2**31 values or more.
    y : float64 array of shape (rows,)
    """
    if isinstance(paths, str | Path | RemoteFile):
        paths = [paths]
    source = SvmlightSource(paths, **options)
    batches: list[Any] = list(source.batches())
    rows = sum(batch.X.shape[0] for batch in batches)
    size = sum(batch.X.nnz for batch in batches)
    index = np.int32 if size < 2**31 else np.int64
    X = sp.csr_matrix((rows, batches[-1].X.shape[1]), dtype=batches[0].X.dtype)
    X.data, X.indices = np.empty(size, X.dtype), np.empty(size, index)
    X.indptr, y = np.zeros(rows + 1, index), np.empty(rows)
    starts = np.cumsum([0] + [batch.X.nnz for batch in batches]).tolist()

    def place(k: int) -> None:
        part, labels, first, *_ = batches[k]
        begin, end, last = starts[k], starts[k + 1], first + len(labels)
        X.data[begin:end], X.indices[begin:end] = part.data, part.indices
        np.add(part.indptr[1:], begin, out=X.indptr[first + 1 : last + 1], dtype=index)
        y[first:last] = labels
        batches[k] = None  # let go once copied, so that the rows are in memory about once

    # Fresh memory is slow to touch for the first time, so every core takes its share.
    with ThreadPoolExecutor(source.threads) as pool:
        list(pool.map(place, range(len(batches))))
    X.has_sorted_indices = X.has_canonical_format = True
    return X, y
