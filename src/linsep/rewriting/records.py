"""The rows of text files as they stand, byte by byte, each with the cell that decides its part."""

import io
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

from linsep.errors import DataError
from linsep.sources.chunks import LineReader
from linsep.sources.remote.file import File
from linsep.sources.tables.csv_records import Fields, csv_records, names_of, no_header
from linsep.sources.tables.roles import WHITESPACE, check_target

#: bytes read at a time
_CHUNK = 1 << 20
_MARK = "\ufeff"


class Record(NamedTuple):
    """A row: its text, the number of its first line, and a cell; without ``row`` no row is there
    but a comment or a blank line.
    """

    text: str
    line: int
    cell: Any
    row: bool = True


class TextRecords:
    """Records of a file in one of the text formats.

    Parameters
    ----------
    path : Path
    format : "csv", "tsv", "jsonl", "svmlight" or "vw"
    fields : of CSV
    column : the column whose cells are wanted, None for none; of svmlight text and Vowpal Wabbit's
        it is ignored, and the cell is the label
    max_line : bytes that a line may have

    Attributes
    ----------
    header : the header of CSV, else empty; known when the first record is
    """

    def __init__(self, path: File, format: str, fields: Fields, column: str | None, max_line: int):
        self.path, self._format, self._column = path, format, column
        self._fields = fields.of(format)
        self._max_line, self.header = max_line, ""
        self._reader: LineReader | None = None

    @property
    def position(self) -> int:
        """Bytes on disk read so far."""
        return 0 if self._reader is None else self._reader.position

    def __iter__(self) -> Iterator[Record]:
        if self._format in ("csv", "tsv"):
            return self._of_csv()
        return self._of_lines({"jsonl": self._of_json}.get(self._format, _label))

    def lines(self) -> Iterator[str]:
        """Yield the lines with their ends; bytes that are not UTF-8 are half surrogates."""
        self._reader = reader = LineReader(
            [self.path], _CHUNK, max_line=self._max_line, returns=self._format in ("csv", "tsv")
        )
        first = True
        for chunk in reader.chunks():
            text = bytes(memoryview(chunk.text)[: chunk.size]).decode(errors="surrogateescape")
            reader.give_back(chunk)
            if first and reader.marked:
                text = _MARK + text[3:]
            first = False
            yield from io.StringIO(text, newline="" if self._format in ("csv", "tsv") else "\n")

    def _of_lines(self, cell_of: Any) -> Iterator[Record]:
        for number, line in enumerate(self.lines(), 1):
            plain = line.removeprefix(_MARK).strip()
            comment = self._format == "svmlight" and plain.startswith("#")
            if not plain or comment:
                yield Record(line, number, None, row=False)
            else:
                yield Record(line, number, cell_of(plain, number))

    def _of_json(self, line: str, number: int) -> Any:
        if self._column is None:
            return None
        try:
            found = json.loads(line)
            return found.get(self._column)
        except (ValueError, AttributeError, RecursionError):
            place = f"{self.path} line {number}"
            raise DataError(
                f"{place} is not one JSON object", "write one object per line"
            ) from None

    def _of_csv(self) -> Iterator[Record]:
        taken: list[str] = []
        number, at, width, self.header = 1, None, 0, ""
        for fields in self._split(taken):
            text, line = "".join(taken), number
            number += len(taken)
            taken.clear()
            if not fields:
                if width:
                    yield Record(text, line, None, row=False)
                continue
            if not width:
                width, headed = len(fields), self._fields.header is not False
                names = [fields[0].removeprefix(_MARK), *fields[1:]] if headed else names_of(width)
                if self._column is not None:
                    check_target(self.path, names, self._column, [])
                    at = names.index(self._column)
                if headed:
                    self.header = text
                    continue
            if len(fields) != width:
                first = "header" if self.header else "first row"
                raise DataError(
                    f"{self.path} line {line} has {len(fields)} fields where the {first} has "
                    f"{width}",
                    "correct the line",
                )
            cell = None if at is None else fields[at]
            if cell and cell == self._column and self._fields.header is None:
                said = f"seems to be no header row: '{cell}' is a value of its column, too"
                raise no_header(self.path, said)
            yield Record(text, line, cell)
        if not width:
            raise DataError(f"{self.path} is empty: give a file with rows.")

    def _split(self, taken: list[str]) -> Iterator[list[str]]:
        """Yield the fields of each record, whose lines are added to ``taken``."""

        def noted() -> Iterator[str]:
            for line in self.lines():
                taken.append(line)
                yield line

        if self._fields.delimiter == WHITESPACE:
            yield from (line.split() for line in noted())
            return
        for _, fields in csv_records(noted(), self._fields, self.path, self._max_line):
            yield fields


def _label(line: str, number: int) -> str:
    """Return the label of a line of svmlight text or of Vowpal Wabbit's."""
    return line.partition("|")[0].split()[0] if line[0] != "|" else ""


def time_of(cell: Any) -> float | None:
    """Return the number that a cell holds, or the seconds of an ISO date; None if neither."""
    if isinstance(cell, bool) or cell is None:
        return None
    if isinstance(cell, datetime):
        return (cell if cell.tzinfo else cell.replace(tzinfo=UTC)).timestamp()
    if isinstance(cell, date):
        return time_of(datetime(cell.year, cell.month, cell.day))
    try:
        found = float(cell)
        return found if abs(found) < float("inf") else None
    except (TypeError, ValueError):
        pass
    try:
        return time_of(datetime.fromisoformat(cell.strip()))
    except (AttributeError, ValueError):
        return None
