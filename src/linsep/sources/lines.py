"""Text files in chunks of whole lines: read on one thread, scanned on others, in reused buffers."""

import re
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np

from linsep._system.threads import thread_count
from linsep.batches import Batch
from linsep.compiled.scanners.numbers import PADDING
from linsep.errors import DataError, Located, NoRows, hint, refuse
from linsep.sources.base import Source, as_matrix
from linsep.sources.formats import DAMAGE, damage, opened
from linsep.sources.limits import MAX_LINE, check_growth, line_too_long
from linsep.sources.remote.file import File, Unchanged, located
from linsep.sources.tables.reading_options import ReadingOptions

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


#: patterns of faults, each with what is said of the text that matches, a code, and a remedy
Faults = Sequence[tuple[bytes, str, str, str]]
NOT_FINITE = rb"[+-]?(?:nan|inf|infinity)(?!\S)"
COMPLETE = "complete the line, which may be truncated"


def refuse_faults(text: bytes, faults: Faults) -> None:
    """Raise DataError for the first fault whose pattern is found in a line, whatever its case."""
    for pattern, said, code, remedy in faults:
        if found := re.search(pattern, text, re.IGNORECASE):
            raise DataError(said.format(quoted(found[0])), remedy, code=code)


def quoted(token: bytes) -> str:
    """Return a token for a message: quoted, escaped, at most 40 characters."""
    text = token.decode("utf-8", "replace")
    return repr(text if len(text) <= 40 else text[:37] + "...")


class Chunk(NamedTuple):
    """Whole lines of one file, of which the last may lack its newline, and newlines as padding;
    ``size`` is without the padding.
    """

    file: int
    text: bytearray
    size: int


class LineReader:
    """Reads files one after the other as chunks of whole lines, in UTF-8: of about ``chunk_bytes``,
    or one longer line, and as many newlines as ``padding`` says.

    Attributes
    ----------
    position : bytes on disk read so far, over all files
    marked : whether a file began with a byte-order mark
    """

    def __init__(
        self, paths: list[File], chunk_bytes: int, padding: int = 1, *, max_line: int = MAX_LINE,
        unchanged: Unchanged | None = None, encoding: str | None = None,
    ):  # fmt: skip
        self.paths, self._encoding, self._max_line = paths, encoding, max_line
        self._unchanged = unchanged or Unchanged(paths)
        self.position, self.marked = 0, False
        # So only the first line of a chunk can be too long.
        self._padding, self._length = padding, min(chunk_bytes, max_line) + padding
        # A deque may be filled and emptied by different threads.
        self._free: deque[bytearray] = deque()

    def chunks(self) -> Generator[Chunk, None, None]:
        """Yield the chunks, a byte-order mark as blanks."""
        before = 0
        for file, path in enumerate(self.paths):
            with opened(path, self._encoding) as (stream, tell):
                self._unchanged.check(path, ended=False)
                tail, ended, read = b"", False, 0
                while not ended:
                    # The first access to fresh memory is slow, so buffers are reused.
                    buffer = self._free.pop() if self._free else bytearray()
                    room = len(tail) + self._length - self._padding  # in a longer buffer, too
                    buffer.extend(bytes(max(0, room + self._padding - len(buffer))))
                    buffer[: len(tail)] = tail
                    end, ended = self._read(path, stream, buffer, len(tail), room)
                    size = end if ended else buffer.rfind(b"\n", 0, end) + 1
                    if end > self._max_line and buffer.find(b"\n", 0, self._max_line) < 0:
                        raise self._too_long(path, read)
                    tail = bytes(memoryview(buffer)[size:end])
                    if ended:  # before what was changed is said to be wrong
                        self._unchanged.check(path)
                    if not size:
                        continue
                    if not read and buffer.startswith(BYTE_ORDER_MARK):
                        buffer[: len(BYTE_ORDER_MARK)] = b" " * len(BYTE_ORDER_MARK)
                        self.marked = True
                    read += size
                    self.position = before + tell()
                    check_growth(path, tell(), read)
                    buffer[size : size + self._padding] = b"\n" * self._padding
                    yield Chunk(file, buffer, size)
                before += tell()

    def give_back(self, text: bytearray) -> None:
        """Let the text of a chunk be used again; it must not be touched any more."""
        self._free.append(text)

    def _too_long(self, path: File, left: int) -> DataError:
        """Return the error for the line after the first ``left`` bytes."""
        line = 1
        with opened(path, self._encoding) as (stream, _):
            while left > 0 and (block := stream.read(min(left, self._length))):
                line, left = line + block.count(b"\n"), left - len(block)
        return line_too_long(path, line, self._max_line)

    def _read(
        self, path: File, stream: Any, buffer: bytearray, end: int, room: int
    ) -> tuple[int, bool]:
        """Fill a buffer up to ``room``; return where its text ends, and whether the file does."""
        with memoryview(buffer) as view:
            while end < room:
                try:
                    count = stream.readinto(view[end:room])
                except UnicodeError:
                    raise DataError(
                        f"{path} is not {self._encoding} text",
                        "correct it", hint("set the encoding with {}", encoding=None),
                        code="encoding", path=path, option="encoding", value=self._encoding,
                    ) from None  # fmt: skip
                except DAMAGE as error:
                    raise damage(path, error) from error
                if not count:
                    return end, True
                end += count
        return end, False


class ScannedChunk(NamedTuple):
    """Content of a chunk of so many lines: labels (NaN where there is none), the arrays of a CSR
    matrix, the first invalid line and its number, weights of rows if the format has weights, the
    number of columns, and the index that became column 0 of svmlight text.
    """

    file: int
    lines: int
    labels: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    starts: np.ndarray
    refused: tuple[int, bytes] | None
    importance: np.ndarray | None
    width: int
    base: int = 0


#: measured: smaller chunks cost handing over, larger ones fall out of the caches
CHUNK_BYTES = 2 << 20


class ScannedFiles(Source):
    """Rows of text files, as one stream; a few chunks are in memory at a time.

    ``chunk_bytes`` of text are scanned at once by each of ``threads`` threads (None: one for each
    processor, at most 8), while one more reads; a line may have ``max_line`` bytes.
    """

    #: a line as it should be, for messages
    example: str
    #: matches the beginning of a line that holds a row
    row: re.Pattern[bytes]

    def __init__(
        self, paths: Sequence[str | File], chunk_bytes: int, threads: int | None, max_line: int
    ):
        self.paths = [located(path) for path in paths]
        self._unchanged = Unchanged(self.paths)
        self.name = str(self.paths[0]) + f" and {len(paths) - 1} more" * (len(paths) > 1)
        self._chunk_bytes, self.reading = chunk_bytes, ReadingOptions(max_line=max_line)
        self.threads, self._width = threads or thread_count(), 0
        self._reader: LineReader | None = None

    @abstractmethod
    def _scan(self, chunk: Chunk) -> ScannedChunk:
        """Return what a chunk holds."""

    @abstractmethod
    def _explain(self, line: bytes, part: ScannedChunk) -> None:
        """Raise DataError that says what is wrong with a line of a chunk, if that is known."""

    def check_files(self) -> None:
        for path in self.paths:
            self._unchanged.check(path)

    def options(self) -> dict[str, Any]:
        return self.recipe()

    def _ahead(self) -> int:
        """Return how many chunks may be at work now."""
        # One is read and one is learned while each thread scans another.
        return self.threads + 2

    @property
    def size(self) -> int | None:
        with suppress(OSError):  # of a file that is gone
            return sum(path.stat().st_size for path in self.paths)
        return None

    @property
    def position(self) -> int:
        return 0 if self._reader is None else self._reader.position

    def _read(self) -> Iterator[Batch]:
        first = 0
        with closing(self._parts()) as parts:
            for part in parts:
                self._width, y = max(self._width, part.width), part.labels
                X = as_matrix(part.values, part.columns, part.starts, self._width)
                if part.importance is not None:
                    self.weighted = self.weighted or bool((part.importance != 1).any())
                if y.size:
                    yield Batch(X, None if np.isnan(y).any() else y, first, part.importance)
                first += y.size
        if first == 0:
            raise NoRows(f"There are no rows in {self.name}: give lines such as '{self.example}'.")
        self.n_rows = first

    def _parts(self) -> Generator[ScannedChunk, None, None]:
        """Yield what each chunk holds, in file order; DataError for a line that is refused."""
        lines = [0] * len(self.paths)
        self._reader = reader = LineReader(
            self.paths, self._chunk_bytes, PADDING, max_line=self.reading.max_line,
            unchanged=self._unchanged,
        )  # fmt: skip

        def scan(chunk: Chunk) -> ScannedChunk:
            scanned = self._scan(chunk)
            reader.give_back(chunk.text)
            return scanned

        with closing(scanned_chunks(reader.chunks(), scan, self.threads, self._ahead)) as parts:
            for part in parts:
                if part.refused is not None:
                    number, line = part.refused
                    path, row = self.paths[part.file], lines[part.file] + number + 1
                    try:
                        refuse(
                            DataError,
                            (b"\0" in line or "\ufffd" in line.decode(errors="replace"),
                             "this is not UTF-8 text", "encoding", None, "save it as UTF-8",
                             "check the name of the file"),
                        )  # fmt: skip
                        self._explain(line, part)
                        way = f"write it like '{self.example}'"
                        raise DataError("this line cannot be read", way, code="bad-line")
                    except DataError as error:
                        raise error.at(f"{path} line {row}: ", path=path, row=row) from None
                lines[part.file] += part.lines
                yield part

    def _place(self, row: int) -> str:
        file, number, _ = self.line(row)
        path = self.paths[file]
        return Located(f"{path} line {number + 1}", path=path, row=number + 1)

    def line(self, row: int) -> tuple[int, int, bytes]:
        """Return the line of a row: its file, its number there from 0, and its bytes."""
        for found in islice(self._data_lines(), row, None):
            return found
        raise IndexError(f"{self.name} has no row {row}.")

    def _data_lines(self) -> Generator[tuple[int, int, bytes], None, None]:
        """Yield the lines that hold rows, each with its file and its number there, from 0."""
        lines = [0] * len(self.paths)
        reader = LineReader(self.paths, self._chunk_bytes, max_line=self.reading.max_line)
        for file, text, size in reader.chunks():
            found = bytes(memoryview(text)[:size]).split(b"\n")
            yield from ((file, n, x) for n, x in enumerate(found, lines[file]) if self.row.match(x))
            lines[file] += len(found) - 1
            reader.give_back(text)


Piece = TypeVar("Piece")


def scanned_chunks(
    chunks: Generator[Piece, None, None], scan: Callable[[Piece], Any], threads: int,
    ahead: Callable[[], int],
) -> Generator[Any, None, None]:  # fmt: skip
    """Read on one thread, scan on others, up to ``ahead()`` chunks at a time; yield in order."""
    pending: deque[Future[Any]] = deque()

    def scanned(coming: Future[Any]) -> Any:
        return None if (chunk := coming.result()) is None else scan(chunk)

    # Reading ends first: a scan may be waiting for its chunk.
    with (
        closing(chunks),
        ThreadPoolExecutor(threads, "linsep-scan") as scanning,
        ThreadPoolExecutor(1, "linsep-read") as reading,
    ):
        while True:
            while len(pending) < ahead():
                pending.append(scanning.submit(scanned, reading.submit(next, chunks, None)))
            if (part := pending.popleft().result()) is None:
                return
            yield part


def line_at(chunk: Chunk, at: int) -> tuple[int, bytes]:
    """Return the line around a position, and how many lines come before it."""
    start = chunk.text.rfind(b"\n", 0, at) + 1
    end = chunk.text.find(b"\n", at)
    return chunk.text.count(b"\n", 0, start), bytes(chunk.text[start:end])
