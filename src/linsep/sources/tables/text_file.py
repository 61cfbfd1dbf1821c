"""Base class of CSV and JSON lines files: text read in blocks, with errors that name the row.

Arrow guesses the types of such files from their first block. The guess is used once, to decide
what each column is; the rows are then read with fixed types, so that a column of whole numbers
may hold 2.5 later on, and text among numbers is an error wherever it comes.
"""

import atexit
import io
import json
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import islice
from threading import Event, Lock
from typing import Any
from weakref import WeakSet

import pyarrow as pa

from linsep._system.interrupts import interrupts_deferred
from linsep.errors import DataError, Hint, hint
from linsep.sources.formats import arrow_file
from linsep.sources.limits import MAX_LINE
from linsep.sources.lines import BYTE_ORDER_MARK, LineReader, utf_16_in
from linsep.sources.remote.file import File
from linsep.sources.tables.table_file import TableFile, first_line, reading

#: bytes read at a time; some ten blocks are in memory at once
BLOCK_BYTES = 1 << 20
#: seconds to wait for a thread that reads ahead to notice the end
MOMENT = 0.05
#: size of Arrow's read requests; it gets the current block
LARGEST_BLOCK = (1 << 31) - 1
#: the Arrow type that a column of each kind is read as
ARROW_TYPES = {"number": pa.float64(), "bool": pa.bool_(), "text": pa.string()}
#: numbers of JSON lines that are categories, with all their digits
ARROW_TYPES["digits"] = pa.decimal256(76, 38)
#: returns the Arrow type of a column by name
Guess = Callable[[str], pa.DataType]
#: rows whose cells are taken at a time
ROWS_OF_CELLS = 4096
_WANTED = {"number": "a number", "bool": "true or false", "text": "text"}


class TextFile(TableFile):
    """What CSV and JSON lines share: blocks of whole lines, and the search for a bad one.

    Parameters
    ----------
    path : Path
        A text file in UTF-8, compressed when its name ends in .gz, .bz2 or .zst.
    max_line : int
        Bytes that a line may have.
    """

    typed = False
    #: whether carriage returns alone may end lines
    returns = False
    #: how characters are stored, if not as UTF-8
    encoding: str | None = None

    def __init__(self, path: File, max_line: int = MAX_LINE):
        super().__init__(path)
        self._max_line, self._block = max_line, BLOCK_BYTES
        self._reader: LineReader | None = None

    @property
    def position(self) -> int:
        """Bytes on disk read so far, ahead of the rows by some blocks."""
        return 0 if self._reader is None else self._reader.position

    def later_types(self, names: list[str]) -> dict[str, pa.DataType]:
        """Return the types Arrow guesses from the first block with a value of each column."""
        found: dict[str, pa.DataType] = {}
        with closing(self._guesses(names)) as blocks:
            for guess in blocks:
                types = {name: guess(name) for name in names if name not in found}
                found |= {name: kind for name, kind in types.items() if not pa.types.is_null(kind)}
                if len(found) == len(names):
                    break
        return found

    @abstractmethod
    def _guesses(self, names: list[str]) -> Generator[Guess, None, None]:
        """Yield for each block what guesses the types of these columns, null without a value."""

    def blocks(self) -> Generator[bytes, None, None]:
        """Yield blocks of whole lines, without a byte-order mark; :attr:`position` follows them."""
        self._reader = reader = LineReader(
            [self.path], self._block, max_line=self._max_line, unchanged=self.unchanged,
            returns=self.returns, encoding=self.encoding,
        )  # fmt: skip
        for start, block in whole_lines(reader):
            if not start and (encoding := utf_16_in(block)) is not None:
                csv = hint("read it with {}", encoding=encoding) if self.marks_missing else None
                raise DataError(
                    f"{self.path} is UTF-16 text",
                    csv or "save it as UTF-8",
                    code="encoding",
                    path=self.path,
                )
            if (zero := block.find(b"\0")) >= 0:
                raise DataError(
                    f"{self.path} has NUL bytes (the first is byte {start + zero + 1:,} of the "
                    "text), so it is damaged or no text",
                    "remove such bytes", "rename or convert the file",
                    code="encoding", path=self.path,
                )  # fmt: skip
            yield block

    @abstractmethod
    def written(self) -> Iterator[dict[str, str]]:
        """Yield the rows as text by column, at least their whole numbers."""

    def cells(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        """Yield columns as they stand in the file, null where a row has none of the name."""
        rows = self._cells()
        while some := list(islice(rows, ROWS_OF_CELLS)):
            yield pa.RecordBatch.from_pydict(
                {name: _together([row.get(name) for row in some]) for name in names}
            )

    def _cells(self) -> Iterator[dict[str, Any]]:
        """Yield the rows as they stand in the file."""
        return self.written()

    def _checked(
        self,
        blocks: Generator[bytes, None, None],
        open_reader: Callable[[pa.NativeFile], pa.RecordBatchReader],
        explain: Callable[[pa.ArrowInvalid, int], DataError | None],
    ) -> Generator[pa.RecordBatch, None, None]:
        """Yield what a reader makes of blocks."""
        done = 0
        try:
            with (
                closing(BlockStream(blocks)) as text,
                reading(self.path, "text of its format"),
                open_reader(arrow_file(text)) as reader,
                _drained(reader, text),
            ):
                for batch in reader:
                    done += batch.num_rows
                    yield batch
        except DataError as error:
            if not isinstance(error.__cause__, pa.ArrowInvalid):
                raise
            found = explain(error.__cause__, done)
            raise found or DataError(
                f"{self.path} cannot be read after row {done} ({first_line(error.__cause__)})",
                "correct or remove the data there",
                code="bad-line",
                path=self.path,
            ) from error.__cause__


def _together(cells: list[Any]) -> pa.Array:
    """Return the cells of a column, as JSON if their types differ."""
    try:
        return pa.array(cells)
    except (pa.ArrowException, OverflowError):  # a whole number beyond 64 bits
        return pa.array([c if isinstance(c, str | None) else json.dumps(c) for c in cells])


def whole_lines(reader: LineReader) -> Iterator[tuple[int, bytes]]:
    """Yield blocks of whole lines of one file, without its byte-order mark, each with the number of
    its first byte.
    """
    read = 0
    for chunk in reader.chunks():
        mark = len(BYTE_ORDER_MARK) if read == 0 and reader.marked else 0
        block = bytes(memoryview(chunk.text)[mark : chunk.size])
        reader.give_back(chunk)
        yield read + mark, block
        read += chunk.size


#: streams that are still open
_open: "WeakSet[BlockStream]" = WeakSet()


@atexit.register
def _stop_all() -> None:
    """End the text for iterators that were never closed: Python deletes them when it is too late
    for Arrow's threads, which then would wait for Python, and Python for them.
    """
    for text in list(_open):
        text.drain()


@contextmanager
def _drained(reader: Any, text: "BlockStream") -> Iterator[None]:
    """Let Arrow's threads come to their end before the reader is closed."""
    text.reader = reader
    try:
        yield
    finally:
        text.drain()


class BlockStream(io.RawIOBase):
    """Blocks of text as a file; a parser that asks for much is given one block at a time.

    Arrow reads ahead in another thread, which may be at it when the file is closed.

    Attributes
    ----------
    reader : the parser, if it is to be drained
    """

    reader: Any = None

    def __init__(self, blocks: Generator[bytes, None, None]):
        self._blocks, self._rest = blocks, memoryview(b"")
        self._lock, self._ended = Lock(), Event()
        _open.add(self)

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the rest of a block, at most ``size`` bytes; none at the end."""
        with self._lock:
            while not self._rest:
                block = next(self._blocks, None)
                if block is None:
                    self._ended.set()
                    return b""
                self._rest = memoryview(block)
            end = len(self._rest) if size < 0 else size
            part, self._rest = self._rest[:end], self._rest[end:]
            whole: Any = part.obj
            return whole if len(part) == len(whole) else bytes(part)

    def stop(self) -> None:
        """Read no more: what is asked for later is the end."""
        with self._lock:
            self._blocks.close()
            self._rest = memoryview(b"")

    def close(self) -> None:
        """Read no more, and be closed."""
        self.stop()
        _open.discard(self)
        super().close()

    def drain(self) -> None:
        """Read no more, and let the thread that reads ahead notice it."""
        with interrupts_deferred():
            self.stop()
            reader, self.reader = self.reader, None
            if reader is not None:
                with suppress(Exception):  # of rows that are no longer requested
                    for _ in reader:
                        pass
            self._ended.wait(MOMENT)


def misfit(place: str, name: str, written: str, kind: str, *more: Hint, **fields: Any) -> DataError:
    """Return the error for a value, as ``written``, that is not of the column's kind."""
    wanted = _WANTED.get(kind, "a value of the same kind as before")
    code = "not-a-number" if kind == "number" else "bad-value"
    return DataError(
        f"{place}, column '{name}' holds {written[:60]}, not {wanted}",
        "correct it", hint("read the column as text with {}", categorical=[name]), *more,
        code=code, column=name, **fields,
    )  # fmt: skip
