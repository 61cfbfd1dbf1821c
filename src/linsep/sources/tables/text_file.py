"""CSV and JSON lines files: blocks of whole rows, several of which Arrow reads at the same time.

The types of such files are guessed from their first block, once, to decide what each column is; the
rows are then read with fixed types, so that a column of whole numbers may hold 2.5 later on, and
text among numbers is an error wherever it comes.
"""

from abc import abstractmethod
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, suppress
from typing import Any

import pyarrow as pa

from linsep._system.threads import thread_count
from linsep.errors import DataError, Hint, hint
from linsep.sources.limits import MAX_LINE
from linsep.sources.lines import BYTE_ORDER_MARK, LineReader, scanned_chunks
from linsep.sources.remote.file import File
from linsep.sources.tables.table_file import TableFile

#: bytes read at a time; some blocks are in memory at once
BLOCK_BYTES = 1 << 20
#: the Arrow type that a column of each kind is read as
ARROW_TYPES = {"number": pa.float64(), "bool": pa.bool_(), "text": pa.string()}
#: numbers of JSON lines that are categories, with all their digits
ARROW_TYPES["digits"] = pa.decimal256(76, 38)
_WANTED = {"number": "a number", "bool": "true or false", "text": "text"}


class TextFile(TableFile):
    """What CSV and JSON lines share."""

    typed = False
    #: how characters are stored, if not as UTF-8
    encoding: str | None = None

    def __init__(self, path: File, max_line: int = MAX_LINE):
        super().__init__(path)
        self._max_line, self._block = max_line, BLOCK_BYTES
        self._reader: LineReader | None = None
        self._small: list[bytes] | None = None  # of a file of one block

    @property
    def position(self) -> int:
        return 0 if self._reader is None else self._reader.position

    def blocks(self) -> Generator[bytes, None, None]:
        """Yield blocks of whole lines, without byte-order marks, which joined files have within."""
        if self._small is not None:
            yield from self._small
            return
        self._reader = reader = LineReader(
            [self.path], self._block, max_line=self._max_line, unchanged=self.unchanged,
            encoding=self.encoding,
        )  # fmt: skip
        for start, block in whole_lines(reader):
            whole = start <= len(BYTE_ORDER_MARK) and start + len(block) == self.size <= BLOCK_BYTES
            if (zero := block.find(b"\0")) >= 0:
                said = f" has NUL bytes (the first is byte {start + zero + 1:,}), unlike UTF-8 text"
                utf_16 = [hint("read UTF-16 with {}", encoding="utf-16")] * self.marks_missing
                raise self.error(said, "save it as UTF-8", *utf_16, code="encoding")
            if not block.isascii():  # files that were joined have a mark each
                block = (b"\n" + block).replace(b"\n" + BYTE_ORDER_MARK, b"\n")[1:]  # noqa: PLW2901
            self._small = [block] if whole else None
            yield block

    def records(self) -> Generator[bytes, None, None]:
        yield from (block for block in self.blocks() if not block.isspace())

    @abstractmethod
    def _parsed(self, rows: bytes, names: list[str] | None = None) -> pa.Table:
        """Return rows with the types that Arrow guesses; raises ArrowInvalid."""

    @abstractmethod
    def _explained(self, rows: bytes, error: str, done: int, kinds: Any) -> DataError:
        """Return the error for rows that Arrow does not read, after so many others."""

    def _first(self) -> pa.RecordBatch | None:
        """Return the rows of the first block that has any."""
        with closing(self.records()) as blocks:
            for rows in blocks:
                try:
                    table = self._parsed(rows)
                except pa.ArrowInvalid as error:
                    raise self._explained(rows, str(error), 0, {}) from error
                if table.num_rows:
                    return table.combine_chunks().to_batches()[0]
        return None

    def later_types(self, names: list[str]) -> dict[str, pa.DataType]:
        found: dict[str, pa.DataType] = {}
        with closing(self.records()) as blocks, suppress(pa.ArrowInvalid):  # said by later readers
            for schema in (self._parsed(rows, names).schema for rows in blocks):
                kinds = {x.name: x.type for x in schema if not pa.types.is_null(x.type)}
                found = {name: kinds[name] for name in names if name in kinds} | found
                if len(found) == len(names):
                    break
        return found

    def _tables(
        self, parse: Callable[[bytes], pa.Table], kinds: Any
    ) -> Generator[tuple[pa.Table, int], None, None]:
        """Yield what Arrow makes of each block, with how many rows come before it."""

        def read(rows: bytes) -> tuple[bytes, Any]:
            try:
                return rows, parse(rows)
            except pa.ArrowInvalid as error:
                return rows, error

        done, threads = 0, thread_count()
        with closing(scanned_chunks(self.records(), read, threads, lambda: threads + 2)) as parts:
            for rows, table in parts:
                if isinstance(table, pa.ArrowInvalid):
                    raise self._explained(rows, str(table), done, kinds) from table
                yield table, done
                done += table.num_rows

    def _misfit(
        self, row: int, name: str, written: str, kind: str, *more: Hint, value: Any
    ) -> DataError:
        wanted = _WANTED.get(kind, "a value of the same kind as before")
        return self.error(
            f", column '{name}' holds {written[:60]}, not {wanted}", "correct it",
            Hint("read the column as text with {}", {"categorical": [name]}, again=True), *more,
            code="not-a-number" if kind == "number" else "bad-value",
            row=row, column=name, value=value,
        )  # fmt: skip


def whole_lines(reader: LineReader) -> Iterator[tuple[int, bytes]]:
    """Yield blocks of whole lines of a file without its byte-order mark, and where each begins."""
    read = 0
    for chunk in reader.chunks():
        mark = len(BYTE_ORDER_MARK) * (not read and reader.marked)
        block = bytes(memoryview(chunk.text)[mark : chunk.size])
        reader.give_back(chunk.text)
        yield read + mark, block
        read += chunk.size
