"""svmlight and libsvm text: scanned by compiled code on several threads, yielded in file order."""

import re
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.compiled.scanners.numbers import PADDING
from linsep.compiled.scanners.svmlight import DONE, INDEX_ZERO, count, scan
from linsep.errors import DataError, LinsepError
from linsep.parallel import thread_count
from linsep.sources.base import Batch, Source
from linsep.sources.chunks import Chunk, LineReader, bytes_on_disk
from linsep.sources.exact import EXACT, is_rounded, rounded
from linsep.sources.limits import MAX_LINE, Unchanged
from linsep.sources.svmlight.plain import LABELS_BELOW, LARGEST_INDEX, parse_line
from linsep.sources.threads import scanned_chunks

#: measured: smaller chunks cost handing over, larger ones fall out of the caches
CHUNK_BYTES = 2 << 20

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


class SvmlightSource(Source):
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
    is_text = True

    def __init__(
        self,
        paths: Sequence[str | Path],
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
        self.paths = [Path(path) for path in paths]
        self._unchanged = Unchanged(self.paths)
        others = len(paths) - 1
        self.name = str(self.paths[0]) + (f" and {others} more" if others else "")
        self._base = index_base
        self._chunk_bytes = chunk_bytes
        self.threads = threads or thread_count()
        self._dtype = np.dtype(dtype).type
        self._width = 0
        self._max_line = max_line
        self._bare = [
            not require_labels and _begins_with_pair(path, max_line) for path in self.paths
        ]
        self._reader: LineReader | None = None

    @property
    def index_base(self) -> int:
        """The index of the first feature, 0 or 1; reads the first chunk if it must find out."""
        if self._base is None:
            with closing(self.batches()) as batches:
                while self._base is None:
                    next(batches, None)
        return self._base

    @property
    def size(self) -> int | None:
        """Bytes on disk of all files; None when one of them is missing."""
        return bytes_on_disk(self.paths)

    @property
    def position(self) -> int:
        """Bytes on disk read so far, ahead of the last batch by the chunks in memory."""
        return 0 if self._reader is None else self._reader.position

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
        memory. The width is kept between calls. Raises DataError naming file and line.
        """
        first = lines = file = 0
        self._reader = reader = LineReader(
            self.paths,
            self._chunk_bytes,
            PADDING,
            max_line=self._max_line,
            unchanged=self._unchanged,
        )
        with closing(self._scanned(reader)) as scanned:
            for part in scanned:
                if part.file != file:
                    file, lines = part.file, 0
                if part.refused is not None:
                    raise self._explain(part, lines)
                lines += part.lines
                if part.columns.size:
                    self._base = part.base
                self._width = max(self._width, part.width)
                if part.labels.size:
                    labels = None if self._bare[file] else part.labels
                    yield Batch(self._matrix(part), labels, first)
                first += part.labels.size
        if first == 0:
            what = "holds" if len(self.paths) == 1 else "hold"
            raise DataError(f"{self.name} {what} no rows: give lines such as '+1 3:0.5 17:1'.")
        if self._base is None:
            self._base = 1
        self.n_rows = first

    def exactly(self) -> Iterator[Batch]:
        """Yield the rows; raise DataError for a whole number that no double equals."""
        lines, passed = self._data_lines(), 0
        for batch in self.batches():
            X: Any = batch.X
            long = np.flatnonzero(np.abs(X.data) >= EXACT)
            for row in np.unique(np.searchsorted(X.indptr, long, "right") - 1).tolist():
                file, number, line = next(islice(lines, batch.first + row - passed, None))
                passed = batch.first + row + 1
                for index, value in WRITTEN.findall(
                    line.decode(errors="replace").partition("#")[0]
                ):
                    if is_rounded(value):
                        place = f"{self.paths[file]} line {number + 1}"
                        raise rounded(place, f"feature {index}", value)
            yield batch

    def where(self, row: int) -> str:
        """Return "file line N" of the row; reads the files up to it. IndexError beyond the last."""
        rows = 0
        for rows, (file, line, _) in enumerate(self._data_lines(), 1):
            if rows == row + 1:
                return f"{self.paths[file]} line {line + 1}"
        raise IndexError(f"{self.name} has {rows} rows, no row {row}.")

    def _data_lines(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield the lines that hold rows, each with its file and its number there, from 0."""
        lines = file = 0
        reader = LineReader(self.paths, self._chunk_bytes, max_line=self._max_line)
        for chunk in reader.chunks():
            if chunk.file != file:
                file, lines = chunk.file, 0
            text = bytes(memoryview(chunk.text)[: chunk.size]).split(b"\n")
            yield from ((file, n, x) for n, x in enumerate(text, lines) if DATA_LINE.match(x))
            lines += len(text) - 1
            reader.give_back(chunk)

    def _scanned(self, reader: LineReader) -> Generator[Scanned, None, None]:
        """Yield what the chunks hold, in file order."""

        def ahead() -> int:
            # Before the index base is known, a second chunk could not be scanned.
            return 1 if self._base is None else self.threads + 1

        scan = partial(self._scan, reader)
        yield from scanned_chunks(reader.chunks(), scan, self.threads, ahead)

    def _scan(self, reader: LineReader, coming: "Future[Chunk | None]") -> Scanned | None:
        chunk = coming.result()
        if chunk is None:
            return None
        text = _with_labels(chunk) if self._bare[chunk.file] else chunk
        scanned = scan_chunk(text, self._base, self._dtype)
        reader.give_back(chunk)
        return scanned

    def _matrix(self, part: Scanned) -> sp.csr_matrix:
        # Set one by one, the arrays are neither copied nor checked.
        X = sp.csr_matrix((part.labels.size, self._width), dtype=self._dtype)
        X.data, X.indices, X.indptr = part.values, part.columns, part.indptr
        X.has_sorted_indices = X.has_canonical_format = True
        return X

    def _explain(self, part: Scanned, lines: int) -> LinsepError:
        assert part.refused is not None
        number, line = part.refused
        advice = "write it like '+1 3:0.5 17:1'"
        problem: LinsepError = DataError("this line cannot be read", advice)
        try:
            parse_line(line, part.base, self._dtype)
        except DataError as error:
            problem = error.of_model() if self.by_recipe else error
        return problem.at(f"{self.paths[part.file]} line {lines + number + 1}: ")


def _begins_with_pair(path: Path, max_line: int) -> bool:
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


def line_at(chunk: Chunk, at: int) -> tuple[int, bytes]:
    """Return the line around a position, and how many lines come before it."""
    start = chunk.text.rfind(b"\n", 0, at) + 1
    end = chunk.text.find(b"\n", at)
    return chunk.text.count(b"\n", 0, start), bytes(chunk.text[start:end])


def load_svmlight(
    paths: str | Path | Sequence[str | Path], **options: Any
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
    if isinstance(paths, (str, Path)):
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
