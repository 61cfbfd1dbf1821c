"""Base class of CSV and JSON lines files: text read in blocks, with errors that name the line.

Arrow guesses the types of such files from their first block. The guess is used once, to decide
what each column is; the rows are then read with fixed types, so that a column of whole numbers
may hold 2.5 later on, and text among numbers is an error wherever it comes. Arrow's own messages
have no line numbers, so after an error the file is read again in plain Python to find the line.

Arrow receives blocks of whole lines that were checked before: input that its parsers misread at the
edge of a block, or crash on, never reaches them.
"""

import atexit
import io
import json
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from itertools import islice
from threading import Event, Lock
from typing import Any
from weakref import WeakSet

import pyarrow as pa

from linsep._system.interrupts import interrupts_deferred
from linsep.errors import DataError, Hint, Located, hint
from linsep.sources.formats import arrow_file
from linsep.sources.limits import MAX_LINE
from linsep.sources.lines import BYTE_ORDER_MARK, LineReader, is_text, utf_16_in
from linsep.sources.remote.file import File
from linsep.sources.tables.table_file import TableFile, first_line, reading
from linsep.words import counted

#: bytes read at a time; some ten blocks are in memory at once
BLOCK_BYTES = 1 << 20
#: seconds to wait for a thread that reads ahead to notice the end
MOMENT = 0.05
#: size of Arrow's read requests; it gets the current block
LARGEST_BLOCK = (1 << 31) - 1
#: the Arrow type that a column of each kind is read as
ARROW_TYPES = {"number": pa.float64(), "bool": pa.bool_(), "text": pa.string()}
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

    def where(self, row: int) -> str:
        """Return the line on which the 0-based `row` starts."""
        try:
            for line, _ in islice(self._rows(), row, None):
                return Located(f"{self.path} line {line}", path=self.path, row=line)
        except DataError:
            pass
        return super().where(row)

    @abstractmethod
    def _rows(self) -> Iterator[tuple[int, Any]]:
        """Yield the rows as they are written, each with the line that it starts on."""

    def blocks(self) -> Generator[bytes, None, None]:
        """Yield blocks of whole lines."""
        return self._blocks(self._line_reader())

    def _line_reader(self) -> LineReader:
        return LineReader(
            [self.path], self._block, max_line=self._max_line, unchanged=self.unchanged,
            returns=self.returns, encoding=self.encoding,
        )  # fmt: skip

    def _blocks(self, reader: LineReader) -> Generator[bytes, None, None]:
        for number, (start, block) in enumerate(whole_lines(reader)):
            if not number and (encoding := utf_16_in(block)) is not None:
                csv = hint("read it with {}", encoding=encoding) if self.marks_missing else None
                raise DataError(
                    f"{self.path} is UTF-16 text",
                    csv or "save it as UTF-8",
                    code="encoding",
                    path=self.path,
                )
            line_at = partial(self._line_at, reader, start)
            if (zero := block.find(b"\0")) >= 0:
                # Without a line before it the file is something else.
                end = block.find(b"\n", zero)
                line = block[block.rfind(b"\n", 0, zero) + 1 : len(block) if end < 0 else end]
                if is_text(block[:zero]) and is_text(line.replace(b"\0", b"")) and b"\n" in block:
                    row = line_at(zero)
                    raise DataError(
                        f"{self.path} line {row} has {counted(line.count(0), 'NUL byte')}"
                        f" (the first is byte {start + zero + 1:,} of the text)",
                        "remove such bytes", "copy the file again",
                        code="encoding", path=self.path, row=row,
                    )  # fmt: skip
                place = f"{self.path} line {line_at(zero)}" if number else str(self.path)
                raise DataError(
                    f"{place} holds binary data, not UTF-8 text: rename or convert the file.",
                    code="wrong-format",
                    path=self.path,
                )
            self._look_at(block, line_at)
            yield block

    def _line_at(self, reader: LineReader, before: int, at: int) -> int:
        """Return the line that a byte of a block stands in, which comes after so many others."""
        return reader.line_at(self.path, before + at)

    def _look_at(self, block: bytes, line_at: Callable[[int], int]) -> None:
        """Raise DataError for a block that no parser may see; ``line_at`` returns the number of the
        line that a byte of it stands in.
        """

    def _for_parser(self, blocks: Generator[bytes, None, None]) -> Generator[bytes, None, None]:
        """Return the blocks as the parser wants them."""
        return blocks

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

    def _parsed_blocks(self) -> Generator[bytes, None, None]:
        """Yield the blocks for a reading whose :attr:`position` is the position in the file."""
        self._reader = self._line_reader()
        return self._for_parser(self._blocks(self._reader))

    def _first_blocks(self) -> Generator[bytes, None, None]:
        """Yield blocks up to the first with a row: Arrow would read ahead, and guess the types of
        all that.
        """
        with closing(self._parsed_blocks()) as blocks:
            for block in blocks:
                yield block
                if not block.isspace():
                    break

    def _checked(
        self,
        blocks: Generator[bytes, None, None],
        open_reader: Callable[[pa.NativeFile], pa.RecordBatchReader],
        explain: Callable[[pa.ArrowInvalid, int], DataError | None],
        done: int = 0,
    ) -> Generator[pa.RecordBatch, None, None]:
        """Yield what a reader makes of blocks; on an error, find the line behind it, after so many
        rows of the file that are ``done``.
        """
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
        "correct it", hint("leave the column out with {}", exclude=[name]), *more,
        code=code, column=name, **fields,
    )  # fmt: skip
