"""Text files whose lines are rows: read on one thread, scanned in chunks on others."""

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any

from linsep._system.interrupts import count_signal
from linsep._system.threads import thread_count
from linsep.compiled.scanners.numbers import PADDING
from linsep.errors import DataError, LinsepError, NoRows
from linsep.sources.base import Source
from linsep.sources.chunks import Chunk, LineReader, bytes_on_disk
from linsep.sources.limits import Unchanged
from linsep.sources.remote.file import File, located

#: measured: smaller chunks cost handing over, larger ones fall out of the caches
CHUNK_BYTES = 2 << 20


class ScannedFiles(Source):
    """Rows of text files, as one stream; a few chunks are in memory at a time.

    Parameters
    ----------
    paths : list of Path
        Text files; those ending in .gz, .bz2 and .zst are decompressed while reading.
    chunk_bytes : int
        Bytes of text scanned at once.
    threads : int or None
        Threads that scan; None takes one for each processor, at most 8. One more reads.
    max_line : int
        Bytes that a line may have.
    """

    is_text = True
    #: a line as it should be, for messages
    example: str

    def __init__(
        self, paths: Sequence[str | File], chunk_bytes: int, threads: int | None, max_line: int
    ):
        self.paths = [located(path) for path in paths]
        self._unchanged = Unchanged(self.paths)
        others = len(paths) - 1
        self.name = str(self.paths[0]) + (f" and {others} more" if others else "")
        self._chunk_bytes, self._max_line = chunk_bytes, max_line
        self.threads = threads or thread_count()
        self._reader: LineReader | None = None

    @abstractmethod
    def _scan(self, chunk: Chunk) -> Any:
        """Return what a chunk holds: its ``file``, ``labels``, number of ``lines``, and the first
        line that is ``refused``, with its number from 0, or None.
        """

    @abstractmethod
    def _parse(self, line: bytes, part: Any) -> Any:
        """Read a line of a chunk that was scanned, by the plain parser; DataError if it cannot."""

    @abstractmethod
    def _is_row(self, line: bytes) -> bool:
        """Return whether a line holds a row."""

    def check_files(self) -> None:
        """Raise DataError if a file on this machine is another than when the source was opened."""
        for path in self.paths:
            self._unchanged.check(path)

    def _ahead(self) -> int:
        """Return how many chunks may be at work now."""
        return self.threads + 2

    @property
    def size(self) -> int | None:
        """Bytes on disk of all files; None when one of them is missing."""
        return bytes_on_disk(self.paths)

    @property
    def position(self) -> int:
        """Bytes on disk read so far, ahead of the last batch by the chunks in memory."""
        return 0 if self._reader is None else self._reader.position

    def _parts(self) -> Generator[tuple[int, Any], None, None]:
        """Yield how many rows come before each chunk, and what it holds, in file order."""
        first = lines = file = 0
        self._reader = reader = LineReader(
            self.paths, self._chunk_bytes, PADDING, max_line=self._max_line,
            unchanged=self._unchanged,
        )  # fmt: skip

        def scan(coming: "Future[Chunk | None]") -> Any:
            chunk = coming.result()
            if chunk is None:
                return None
            scanned = self._scan(chunk)
            reader.give_back(chunk)
            return scanned

        with closing(scanned_chunks(reader.chunks(), scan, self.threads, self._ahead)) as parts:
            for part in parts:
                if part.file != file:
                    file, lines = part.file, 0
                if part.refused is not None:
                    raise self._explained(part, lines)
                lines += part.lines
                yield first, part
                first += part.labels.size
        if first == 0:
            what = "holds" if len(self.paths) == 1 else "hold"
            raise NoRows(f"{self.name} {what} no rows: give lines such as '{self.example}'.")
        self.n_rows = first

    def _explained(self, part: Any, lines: int) -> LinsepError:
        number, line = part.refused
        advice = f"write it like '{self.example}'"
        problem: LinsepError = DataError("this line cannot be read", advice)
        try:
            self._parse(line, part)
        except DataError as error:
            problem = error.of_model() if self.by_recipe else error
        return problem.at(f"{self.paths[part.file]} line {lines + number + 1}: ")

    def where(self, row: int) -> str:
        """Return "file line N" of the row; reads the files up to it. IndexError beyond the last."""
        file, number, _ = self.line(row)
        return f"{self.paths[file]} line {number + 1}"

    def line(self, row: int) -> tuple[int, int, bytes]:
        """Return the line of a row: its file, its number there from 0, and its bytes."""
        rows = 0
        for rows, found in enumerate(self._data_lines(), 1):
            if rows == row + 1:
                return found
        raise IndexError(f"{self.name} has {rows} rows, no row {row}.")

    def _data_lines(
        self, is_row: Callable[[bytes], bool] | None = None
    ) -> Generator[tuple[int, int, bytes], None, None]:
        """Yield the lines that hold rows, each with its file and its number there, from 0."""
        lines = file = 0
        is_row = is_row or self._is_row
        reader = LineReader(self.paths, self._chunk_bytes, max_line=self._max_line)
        for chunk in reader.chunks():
            if chunk.file != file:
                file, lines = chunk.file, 0
            text = bytes(memoryview(chunk.text)[: chunk.size]).split(b"\n")
            yield from ((file, n, x) for n, x in enumerate(text, lines) if is_row(x))
            lines += len(text) - 1
            reader.give_back(chunk)


def scanned_chunks(
    chunks: Generator[Chunk, None, None],
    scan: Callable[["Future[Chunk | None]"], Any],
    threads: int,
    ahead: Callable[[], int],
) -> Generator[Any, None, None]:
    """Read on one thread, scan on others, a few chunks ahead; yield in file order.

    Parameters
    ----------
    chunks : closed at the end
    scan : what to do with a chunk that is coming; returns None where none is left
    threads : how many threads scan
    ahead : how many chunks may be at work now
    """
    reading = ThreadPoolExecutor(1, "linsep-read")
    scanning = ThreadPoolExecutor(threads, "linsep-scan")
    pending: deque[Future[Any]] = deque()
    try:
        while True:
            while len(pending) < ahead():
                chunk = reading.submit(next, chunks, None)
                pending.append(scanning.submit(scan, chunk))
            part = pending.popleft().result()
            if part is None:
                return
            yield part
    except KeyboardInterrupt:
        count_signal()
        raise
    finally:
        # Reading ends first: a scan may be waiting for its chunk.
        reading.shutdown(wait=True, cancel_futures=True)
        scanning.shutdown(wait=True, cancel_futures=True)
        chunks.close()


def line_at(chunk: Chunk, at: int) -> tuple[int, bytes]:
    """Return the line around a position, and how many lines come before it."""
    start = chunk.text.rfind(b"\n", 0, at) + 1
    end = chunk.text.find(b"\n", at)
    return chunk.text.count(b"\n", 0, start), bytes(chunk.text[start:end])
