"""svmlight and libsvm text: scanned by compiled code on several threads, yielded in file order.

Every line is a label and ``index:value`` pairs, blanks between them, and perhaps a comment::

    +1 qid:7 3:0.5 17:1e-3  # the features that are not 0

The format is that of T. Joachims' SVMlight (1999) and of LIBSVM's tools. The parser in plain
Python, one line at a time, explains what the scanner refuses.
"""

import re
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
import scipy.sparse as sp

from linsep.batches import Batch
from linsep.compiled.scanners.numbers import PADDING
from linsep.compiled.scanners.svmlight import DONE, INDEX_ZERO, count, scan
from linsep.errors import DataError, hint
from linsep.sources.exact import check_written, far_rows
from linsep.sources.limits import MAX_LINE
from linsep.sources.lines import CHUNK_BYTES, Chunk, LineReader, ScannedFiles, line_at
from linsep.sources.remote.file import File, RemoteFile

#: so that the number of features still fits into 32 bits
LARGEST_INDEX = 2**31 - 2

#: from here on, floats no longer tell whole numbers apart
LABELS_BELOW = 2.0**53

BLANKS = re.compile(rb"[ \t]+")
#: what Python's float() reads, without underscores, surrounding space, nan and inf
DECIMAL = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
NOT_FINITE = re.compile(rb"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
WHOLE = re.compile(rb"[0-9]+")
NEGATIVE = re.compile(rb"-[0-9]+")
QUERY = re.compile(rb"qid:[0-9]+")

Pairs = list[tuple[int, float]]


def parse_svmlight(
    text: bytes, index_base: int = 0, dtype: type = np.float64
) -> tuple[list[float], list[Pairs]]:
    """Read whole svmlight text.

    Parameters
    ----------
    text : bytes
        Lines; the last may lack its newline.
    index_base : int
        1 refuses the index 0.
    dtype : numpy float type
        In which every value must be finite.

    Returns
    -------
    labels : list of float
    rows : list of lists of (index, value)
        With the indices as they stand in the text.

    Raises
    ------
    DataError
        With the number of the first line that cannot be read, and why.
    """
    labels, rows = [], []
    for number, line in enumerate(text.split(b"\n"), start=1):
        try:
            parsed = parse_line(line, index_base, dtype)
        except DataError as error:
            raise error.at(f"line {number}: ") from None
        if parsed is not None:
            labels.append(parsed[0])
            rows.append(parsed[1])
    return labels, rows


def parse_line(
    line: bytes, index_base: int = 0, dtype: type = np.float64
) -> tuple[float, Pairs] | None:
    """Read one line without its newline: its label and pairs, or None when it holds no row."""
    content = line.removesuffix(b"\r").split(b"#")[0].strip(b" \t")
    if not content:
        return None
    try:
        label, *fields = BLANKS.split(content)
        parsed_label = parse_label(label)
        while fields and QUERY.fullmatch(fields[0]):
            del fields[0]
        pairs: Pairs = []
        for field in fields:
            index = parse_index(field, index_base, pairs[-1][0] if pairs else -1)
            pairs.append((index, parse_value(field, dtype)))
    except DataError:
        refuse_binary(line)
        raise
    return parsed_label, pairs


def parse_label(token: bytes) -> float:
    """Return the label, a finite number that a float holds to its last digit."""
    if b"," in token:
        refuse(f"the label {show(token)} lists several labels: keep one label a row")
    if NOT_FINITE.fullmatch(token) or (DECIMAL.fullmatch(token) and not isfinite(float(token))):
        refuse(f"the label {show(token)} is not finite: give a finite number, such as +1")
    if WHOLE.match(token) and b":" in token:
        refuse(f"the line has no label before {show(token)}: begin it with one, such as +1")
    if not DECIMAL.fullmatch(token):
        refuse(f"the label {show(token)} is not a number: begin the line with one, such as +1")
    if abs(float(token)) >= LABELS_BELOW:
        refuse(f"the label {show(token)} has too many digits: shorten the labels")
    return float(token)


def parse_index(field: bytes, index_base: int, previous: int) -> int:
    """Return the index of a pair, larger than the ``previous`` one of its row (-1: none)."""
    token, colon, _ = field.partition(b":")
    if not colon:
        refuse(f"{show(field)} is not an index:value pair: write it like 3:0.5")
    if NEGATIVE.fullmatch(token):
        refuse(f"the index {show(token)} is negative: number the features from 0 or 1")
    if not WHOLE.fullmatch(token):
        refuse(f"the index {show(token)} is not a whole number: number the features from 0 or 1")
    token = token.lstrip(b"0")
    if len(token) > 10 or int(token or b"0") > LARGEST_INDEX:
        refuse(
            f"the index {show(token)} is larger than {LARGEST_INDEX}, the largest allowed: "
            "renumber or hash the features"
        )
    index = int(token or b"0")
    if index < index_base:
        raise DataError(
            "the index is 0 where the features are taken to be numbered from 1",
            hint("count from 0 with {}", index_base=0),
        )
    if index == previous:
        refuse(f"the index {index} stands twice: keep one value for each feature")
    if index < previous:
        refuse(f"the index {index} comes after {previous}: sort each line by index")
    return index


def parse_value(field: bytes, dtype: type) -> float:
    """Return the value of a pair, finite in ``dtype``."""
    index, _, token = field.partition(b":")
    if not token:
        refuse(f"the value after {show(index + b':')} is missing: complete the line, it may be cut")
    if NOT_FINITE.fullmatch(token):
        refuse(f"the value {show(token)} is not finite: leave the pair out or give a number")
    if not DECIMAL.fullmatch(token):
        refuse(f"the value {show(token)} is not a number: write the pair like 3:0.5")
    value = float(token)
    with np.errstate(over="ignore"):
        if not np.isfinite(dtype(value)):
            refuse(f"the value {show(token)} is too large for {dtype.__name__}: scale the feature")
    return value


def refuse_binary(line: bytes) -> None:
    """Say so when a line that cannot be read is no text at all."""
    try:
        line.decode("utf-8")
        text = b"\0" not in line
    except UnicodeDecodeError:
        text = False
    if not text:
        refuse("this does not look like svmlight text: give lines such as '+1 3:0.5 17:1'")


def refuse(sentence: str) -> NoReturn:
    """Raise the DataError of one sentence; whoever knows the file and line puts them in front."""
    raise DataError(sentence + ".")


def show(token: bytes) -> str:
    """Return a token for a message: quoted, escaped, at most 40 characters."""
    text = token.decode("utf-8", "replace")
    return repr(text if len(text) <= 40 else text[:37] + "...")


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
