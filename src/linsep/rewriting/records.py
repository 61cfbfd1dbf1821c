"""The unchanged rows of text files, each with the cell that decides its part."""

import csv
import io
import json
import re
from collections.abc import Generator, Iterator
from datetime import UTC, datetime
from itertools import chain
from typing import Any, NamedTuple

from linsep.errors import DataError, hint
from linsep.sources.lines import LineReader
from linsep.sources.remote.file import File
from linsep.sources.tables.columns import check_column
from linsep.sources.tables.csv import names_of, no_names
from linsep.sources.tables.json_lines import no_object, repeated
from linsep.sources.tables.reading_options import ReadingOptions
from linsep.sources.tables.table_file import SAMPLE_ROWS
from linsep.sources.tables.text_file import whole_lines
from linsep.words import size_text

#: bytes read at a time
_CHUNK = 1 << 20
_MARK = "\ufeff"
#: a number without an exponent; with a zero before others it is a code
_DECIMAL = re.compile(r"\s*([-+])?(0|[1-9]\d*)(?:\.(\d*?)0*)?\s*")


class Record(NamedTuple):
    """A row: its text, the number of its first line, and a cell; without ``row`` it is a comment or
    a blank line.
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
    reading : ReadingOptions
    column : the column whose cells are wanted, or None; ignored for svmlight and Vowpal Wabbit's
        text, where the cell is the label

    Attributes
    ----------
    header : the header of CSV, else empty; known when the first record is
    """

    def __init__(self, path: File, format: str, reading: ReadingOptions, column: str | None):
        self.path, self._format, self._column = path, format, column
        self.size = path.stat().st_size
        self._reading, self.header = reading.of(format), ""
        if reading.encoding is not None and "utf-16" in reading.encoding.lower().replace("_", "-"):
            raise DataError(
                f"{path} is UTF-16 text, whose bytes are not lines", "save it as UTF-8",
                code="encoding", path=path,
            )  # fmt: skip
        self._nulls = frozenset(reading.null_cells())
        self._reader: LineReader | None = None

    @property
    def position(self) -> int:
        """Bytes on disk read so far."""
        return 0 if self._reader is None else self._reader.position

    def __iter__(self) -> Iterator[Record]:
        if self._format in ("csv", "tsv"):
            return self._of_csv()
        return self._of_lines({"jsonl": self._of_json}.get(self._format, _label))

    def _blocks(self) -> Generator[bytes, None, None]:
        """Yield blocks of whole lines, without a byte-order mark."""
        is_csv = self._format in ("csv", "tsv")
        self._reader = LineReader(
            [self.path], _CHUNK, max_line=self._reading.max_line, returns=is_csv
        )
        yield from (block for _, block in whole_lines(self._reader))

    @property
    def _mark(self) -> str:
        """The byte-order mark of the file, if it has one."""
        return _MARK if self._reader is not None and self._reader.marked else ""

    def _of_lines(self, cell_of: Any) -> Iterator[Record]:
        """Yield the lines with their ends; bytes that are not UTF-8 are half surrogates."""
        for number, line in enumerate(chain.from_iterable(map(_lines_of, self._blocks())), 1):
            plain, mark = line.strip(), self._mark if number == 1 else ""
            comment = self._format == "svmlight" and plain.startswith("#")
            if not plain or comment:
                yield Record(mark + line, number, None, row=False)
            else:
                yield Record(mark + line, number, cell_of(plain, number))

    def _of_json(self, line: str, number: int) -> Any:
        if self._column is None:
            return None
        try:
            found = json.loads(line)
            cell = found.get(self._column)
        except (ValueError, AttributeError, RecursionError):
            raise no_object(f"{self.path} line {number}") from None
        if line.count(":") > len(found) and (name := repeated(line)):
            raise DataError(
                f"{self.path} line {number} has the field '{name}' twice", "remove one",
                code="duplicate-name", path=self.path, row=number, column=name,
            )  # fmt: skip
        return cell

    def _of_csv(self) -> Iterator[Record]:
        at, width, rows, self.header = None, 0, 0, ""
        skip, comment = self._reading.skip_rows or 0, self._reading.comment
        for line, fields, text in self._csv_records():
            aside = line <= skip or (comment is not None and text.lstrip(" \t").startswith(comment))
            if aside or not fields:
                if width:
                    yield Record(text, line, None, row=False)
                elif line <= skip:  # each file is read with the same options
                    self.header += text
                continue
            if not width:
                width, headed = len(fields), self._reading.header is not False
                names = fields if headed else names_of(width)
                if self._column is not None:
                    check_column(self.path, names, self._column)
                    at = names.index(self._column)
                if headed:
                    self.header = self._mark + self.header + text
                    continue
            if len(fields) != width:
                first = "header" if self.header else "first row"
                raise DataError(
                    f"{self.path} line {line} has {len(fields)} fields, but the {first} has "
                    f"{width}",
                    "correct the line", code="field-count", path=self.path, row=line,
                )  # fmt: skip
            cell = None if at is None else fields[at]
            if cell in self._nulls:
                cell = ""
            rows += 1
            untold = self._reading.header is None and rows <= SAMPLE_ROWS
            if cell and cell == self._column and untold:
                raise no_names(self.path, cell)
            yield Record(text, line, cell)
        if not width:
            raise DataError(
                f"{self.path} is empty: give a file with rows.", code="no-rows", path=self.path
            )

    def _csv_records(self) -> Iterator[tuple[int, list[str], str]]:
        """Yield the line that each record starts on, its fields, and its text."""
        reading, taken, end = self._reading, list[str](), list[str]()

        def lines() -> Iterator[str]:
            for block in self._blocks():
                same = reading.squeezed(block)
                for line, seen in zip(_lines_of(block, ""), _lines_of(same, ""), strict=True):
                    taken.append(line)
                    yield seen
            end[:] = ["end", "end"]  # a record of its own unless a quote is open
            yield reading.separator.join(end)

        quoting: Any = csv.QUOTE_MINIMAL if reading.quotes else csv.QUOTE_NONE
        reader = csv.reader(lines(), delimiter=reading.separator, quoting=quoting)
        line = 1
        while True:
            before = csv.field_size_limit(reading.max_line)
            try:
                fields = next(reader)
                if end and fields == end:
                    return
                if end:
                    raise csv.Error
            except csv.Error as error:
                raise DataError(
                    f"{self.path} line {line} opens a quote that is not closed within "
                    f"{size_text(reading.max_line)}", "close it where its field ends",
                    hint("read quotes as ordinary characters with {}", quotes=False),
                    code="bad-line", path=self.path, row=line,
                ) from error  # fmt: skip
            finally:
                csv.field_size_limit(before)
            yield line, fields, "".join(taken)
            taken.clear()
            line = reader.line_num + 1


def _lines_of(block: bytes, newline: str = "\n") -> io.StringIO:
    return io.StringIO(block.decode(errors="surrogateescape"), newline=newline)


def _label(line: str, number: int) -> str:
    """Return the label of a line of svmlight text or of Vowpal Wabbit's."""
    return line.partition("|")[0].split()[0] if line[0] != "|" else ""


def one_spelling(cell: str) -> str:
    """Return the text of a cell; equal numbers, such as 1, 1.0 and +1, have the same text."""
    found = _DECIMAL.fullmatch(cell)
    if found is None:
        return cell
    sign, whole, part = found.groups(default="")
    number = f"{whole}.{part}" if part else whole
    return f"-{number}" if sign == "-" and number != "0" else number


class Time(NamedTuple):
    """A number, or the seconds of a date."""

    value: float
    is_date: bool


def time_of(cell: Any) -> Time | None:
    """Return the number or the ISO date that a cell holds; None if it holds neither."""
    if isinstance(cell, bool) or cell is None:
        return None
    try:
        found = float(cell)
        return Time(found, False) if abs(found) < float("inf") else None
    except (TypeError, ValueError):
        pass
    try:
        date = datetime.fromisoformat(cell.strip())
    except (AttributeError, ValueError):
        return None
    return Time((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp(), True)
