"""CSV and TSV files, which Arrow reads: it names the row of a fault. Columns of numbers are scanned
by compiled code, to the values that Arrow reads.
"""

import re
from collections.abc import Generator, Iterator
from contextlib import closing
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from linsep.compiled.scanners.csv import scan
from linsep.compiled.scanners.numbers import PADDING
from linsep.errors import DataError, NoRows, hint
from linsep.sources.formats import WHITESPACE, first_line
from linsep.sources.remote.file import File
from linsep.sources.tables import text_file
from linsep.sources.tables.columns import missing_mark
from linsep.sources.tables.reading_options import ReadingOptions
from linsep.sources.tables.spellings import NULL_VALUES, PLAIN
from linsep.sources.tables.table_file import SAMPLE_ROWS, Kinds, Others
from linsep.sources.tables.text_file import ARROW_TYPES, TextFile
from linsep.validation.checks import check_names
from linsep.words import counted

#: advice for a first line that may be a row
AS_DATA = hint("read line 1 as data with {}", header=False)
AS_NAMES = hint("as column names with {}", header=True)
#: advice for text that is not UTF-8; Windows-1252 has all characters of Latin-1
ENCODINGS = ("save the file as UTF-8", hint("set the encoding, such as with {}", encoding="cp1252"))
#: bytes of a file from which on it is worth while to load, or compile, the scanner
WORTHWHILE = 8 << 20
NO_KINDS: Kinds = MappingProxyType({})

_COMMENT = re.compile(r"#+|//|%+(?!\w)")
#: what Arrow says of a row with more or fewer fields
_COUNT = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+): (.*)", re.DOTALL)
#: what Arrow says of a cell that it cannot convert, and of its row
_CELL = re.compile(
    r"In CSV column #(\d+): Row #(\d+): .*?(?:invalid value '(.*)'|invalid UTF8 data)$", re.DOTALL
)
_OPEN = "a quote that is not closed"
#: a line: text, fields quoted within it, or over several lines, and quotes within fields; # is for
#: the separator
_LINE = (
    rb'(?:[^"\n\r]++|(?<![^#\n\r])"[^"\n\r]*+(?:""[^"\n\r]*+)*+"|'
    rb'(?<![^#\n\r])"[^"]*+(?:""[^"]*+)*+"(?=[#\r\n]|\Z)|(?<=[^#\n\r])")*+'
)


class OpenQuote(bytes):
    """Rows that begin with a quoted field that never ends, or ends within a later field."""

    __slots__ = ()


class CsvFile(TextFile):
    """Values separated by commas, tabs or the like. Quoted fields may hold the delimiter and line
    breaks. Empty lines are skipped.
    """

    marks_missing = True
    #: where the header ends, and the columns when they are known
    _begin = 0
    _header: Any = None

    def __init__(self, path: File, options: ReadingOptions, format: str = "csv"):
        self._options, self.encoding = options.of(format), options.encoding
        super().__init__(path, options.max_line)
        line = _LINE.replace(b"#", re.escape(self._options.separator.encode()))
        line = line if self._options.quotes else rb'(?:[^"\n\r]++|")*+'
        matched: Any = re.compile(line).match
        # much faster than lines; its group is the last text outside of quotes that ends a line
        text = rb'(?=[^"]*?[\n\r])([^"]++)|[^"]++'
        self._closed: Any = re.compile(line.replace(rb'[^"\n\r]++', text, 1))
        self._headed = options.header is not False
        with closing(self.records()) as blocks:
            rows = next(filter(bytes.strip, blocks), b"")
        if isinstance(rows, OpenQuote):
            raise self._explained(rows, _OPEN, -self._headed, {})
        if not rows:
            said = f"{path} has no {'header row' if self._headed else 'rows'}"
            raise NoRows(said, "give a file with column names and rows", path=path)
        left = rows.lstrip(b"\r\n")
        line = matched(left)[0]
        self._begin = len(rows) - len(left) + len(line)
        try:
            first = line.decode()
        except UnicodeDecodeError:
            raise self._line_1("is not UTF-8 text", *ENCODINGS, code="encoding") from None
        second = matched(left[len(line) :].lstrip(b"\r\n"))[0].decode(errors="replace")
        header = self._parsed(f"{first}\n".encode()).column_names
        if not self._headed:
            self._begin, header = 0, [f"column_{number + 1}" for number in range(len(header))]
        told = options.delimiter is not None or options.header is not None
        self._check_header(header, first, second, told)
        self._header, self._first_line = header, first
        self._block = max(text_file.BLOCK_BYTES, 4 * len(first))

    def _check_header(self, header: list[str], first: str, second: str, told: bool) -> None:
        """Raise DataError for a first line that is no header, or has another delimiter; blanks are
        none if users have ``told`` how to read it.
        """
        if first.startswith("sep="):
            raise self._line_1("is a line of Excel", hint("skip it with {}", skip_rows=1))
        untold = self._options.header is None
        marks = ",;\t|" if told else ",;\t| "
        known = (mark for mark in marks if mark in first and (mark in second or not second))
        other = next(known, None) if len(header) == 1 and not _COMMENT.match(first) else None
        if other is not None:
            said = f"has only one column, but contains {other!r}"
            way = hint("set the delimiter with {}", delimiter=WHITESPACE if other == " " else other)
            raise self._line_1(said, way, code="wrong-format", option="delimiter")
        if untold and not PLAIN.parts(pa.array(header))[0].null_count:
            said = "holds numbers instead of column names"
            raise self._line_1(said, "add column names", AS_DATA, AS_NAMES)
        check_names(self.path, header, *[AS_DATA] * untold)

    def _line_1(self, said: str, *ways: Any, code: str = "bad-line", **fields: Any) -> DataError:
        place = f"{self.path} line 1 "
        return DataError(place + said, *ways, code=code, path=self.path, row=1, **fields)

    def _check_values(
        self, rows: pa.Table, names: list[str], done: int, untold: bool = False
    ) -> None:
        """Raise DataError for a row, after so many others, that holds the names of the columns; if
        it is ``untold`` whether the first line does, also for a name among its own values.
        """
        for name in filter(None, names):
            if (at := pc.index(rows.column(name), name).as_py()) < 0:
                continue
            if [*rows.slice(at, 1).to_pylist()[0].values()] == rows.schema.names:
                raise self._header_again(done + at + 1, name)
            if untold:
                said = f"seems to be no header: '{name[:60]}' is also a value of its column"
                raise self._line_1(said, AS_DATA, AS_NAMES, column=name)

    def blocks(self) -> Generator[bytes, None, None]:
        """Yield the blocks, with lines that are not rows replaced by empty lines."""
        skip, comment = self._options.skip_rows or 0, self._options.comment
        mark = re.escape((comment or "").encode())
        comments = re.compile(rb"^[ \t]*%b[^\r\n]*" % mark, re.MULTILINE)
        for block in super().blocks():
            end = 0
            while skip and (found := block.find(b"\n", end)) >= 0:
                end, skip = found + 1, skip - 1
            rows = b"\n" * block.count(b"\n", 0, end) + block[end:]
            yield comments.sub(b"", rows) if comment else rows

    def records(self) -> Generator[bytes, None, None]:
        """Yield the blocks without the header, none of which ends within a quoted field."""
        left, rows = self._begin, b""
        for block in map(self._options.squeezed, self.blocks()):
            rows += block[left:]
            left = max(0, left - len(block))
            found: Any = self._closed.match(rows)
            if (cut := found.end()) < len(rows):
                begin, end = found.span(1)
                cut = 1 + max(rows.rfind(b"\n", begin, end), rows.rfind(b"\r", begin, end))
            if cut:
                yield rows[:cut]
            rows = rows[cut:]
            if len(rows) > self._max_line:
                break
        if rows:
            yield OpenQuote(rows)

    def columns(self) -> dict[str, pa.DataType | None]:
        return dict.fromkeys(self._header)

    def head(self) -> pa.RecordBatch:
        if (first := self._first()) is None:
            return pa.record_batch([pa.nulls(0)] * len(self._header), names=self._header)
        if self._options.header is None:
            names = [field.name for field in first.schema if pa.types.is_string(field.type)]
            self._check_values(first.slice(0, SAMPLE_ROWS), names, 0, untold=True)
        return first

    def chunks(self, kinds: Kinds, others: Others = None) -> Generator[pa.RecordBatch, None, None]:
        texts = [name for name, kind in kinds.items() if kind == "text"]
        names, marks, separator = list(kinds), self._options.null_cells(), self._options.separator
        empty = pa.array(["", *marks])
        of_numbers = self.size >= WORTHWHILE and not texts and self._options.decimal in (None, ".")

        def parse(rows: bytes) -> pa.Table:
            if of_numbers and not (self._options.quotes and b'"' in rows):
                batch = scanned(rows, self._header, names, separator, [*NULL_VALUES, *marks])
                if batch is not None:
                    return pa.Table.from_batches([batch])
            table = self._parsed(rows, names, kinds)
            for name in texts:
                missing = pc.is_in(table[name], empty)
                if pc.any(missing).as_py():
                    cells = pc.if_else(missing, pa.scalar(None, pa.string()), table[name])
                    table = table.set_column(table.column_names.index(name), name, cells)
            return table

        for table, done in self._tables(parse, kinds):
            self._check_values(table, texts[:1], done)
            yield from table.to_batches()

    def cells(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        kinds = dict.fromkeys(names, "text")
        for table, _ in self._tables(lambda rows: self._parsed(rows, names, kinds), kinds):
            yield from table.to_batches()

    def _parsed(
        self, rows: bytes, names: list[str] | None = None, kinds: Kinds = NO_KINDS
    ) -> pa.Table:
        """Return the columns, None for all; those without a kind have their types guessed."""
        if isinstance(rows, OpenQuote):
            raise pa.ArrowInvalid(_OPEN)
        return pa.csv.read_csv(
            pa.BufferReader(rows or b"\n"),
            read_options=pa.csv.ReadOptions(  # with threads Arrow does not count rows
                block_size=len(rows) + 1, column_names=self._header, use_threads=False
            ),
            parse_options=pa.csv.ParseOptions(
                delimiter=self._options.separator,
                quote_char='"' if self._options.quotes else False,
                newlines_in_values=self._options.quotes,
            ),
            convert_options=pa.csv.ConvertOptions(
                column_types={name: ARROW_TYPES[kind] for name, kind in kinds.items()},
                include_columns=names,
                null_values=[*NULL_VALUES, *self._options.null_cells()],
                decimal_point=self._options.decimal or ".",
            ),
        )

    def _explained(self, rows: bytes, error: str, done: int, kinds: Any) -> DataError:
        if fields := _COUNT.search(error):
            number, expected, found = map(int, fields.groups()[:3])
            return self._field_count(done + number, expected, found, fields[4])
        if isinstance(rows, OpenQuote):
            return self.error(
                " has a quote that never closes, or only in the middle of a field in a later line",
                "double the quotes within a field",
                hint("read quotes as ordinary characters with {}", quotes=False),
                code="bad-line", row=done + 1,
            )  # fmt: skip
        if (cell := _CELL.search(error)) is None:
            what = f" cannot be read after row {done} ({first_line(error)})"
            return self.error(what, "correct or remove the data there", code="bad-line")
        name, row, value = self._header[int(cell[1])], done + int(cell[2]), cell[3]
        if name not in kinds or kinds[name] == "text" or value is None or "\ufffd" in value:
            what = f", column '{name}' is not UTF-8 text"
            return self.error(what, *ENCODINGS, code="encoding", row=row, column=name)
        if value == name and self._headed:
            return self._header_again(row, name)
        marks = missing_mark(value)
        return self._misfit(row, name, repr(value), kinds[name], *marks, value=value)

    def _header_again(self, row: int, name: str) -> DataError:
        said = " holds the names of the columns again"
        return self.error(said, "remove the row", AS_DATA, code="bad-line", row=row, column=name)

    def _field_count(self, row: int, expected: int, fields: int, text: str) -> DataError:
        first = row == 2 - self._headed
        before = _COMMENT.match(self._first_line) if first or expected == 1 else None
        if (mark := before or _COMMENT.match(text)) and self._options.comment is None:
            way = hint("skip lines like it with {}", comment=mark[0])
            if before:
                return self._line_1("is a comment", way)
            return self.error(" is a comment", way, code="bad-line", row=row)
        quote = " or close an open quote" if "\n" in text else ""
        named = ["name the column of row names"] * (self._headed and fields == expected + 1)
        skip = [hint("if other lines come first, skip them with {}", skip_rows=1)]
        return self.error(
            f" has {counted(fields, 'field')}, but the "
            f"{'header' if self._headed else 'first row'} has {expected}",
            f"correct the row{quote}", *(named + skip) * first,
            code="field-count", row=row,
        )  # fmt: skip


def scanned(
    block: bytes, header: list[str], names: list[str], separator: str, missing: list[str]
) -> pa.RecordBatch | None:
    """Return the columns ``names`` of a block of whole lines without quotes, null where a cell is
    empty or ``missing``; None if a cell is neither, or a line has more or fewer, so that another
    parser must read them, or say why they cannot be read.
    """
    lines = block if block.endswith(b"\n") else block + b"\n"
    numbers = {name: number for number, name in enumerate(names)}
    places = np.array([numbers.get(name, -1) for name in header], np.int32)
    # Arrow's pool gives the memory of one block to the next: to touch fresh memory for the first
    # time takes as long as to read the numbers.
    rows = lines.count(b"\n")
    buffer = pa.allocate_buffer(8 * rows * len(names))
    columns = np.frombuffer(buffer, np.float64).reshape(len(names), rows)
    # Where every fourth cell is something else, Arrow is as fast.
    others = np.empty((columns.size // 4 + 1, 4), np.int64)
    text = np.frombuffer(lines + b"\n" * PADDING, np.uint8)
    with np.errstate(over="ignore"):  # words wrap around, which numpy notes when not compiled
        at, rows, n_others, empty = scan(
            text, np.uint64(len(lines)), np.uint64(ord(separator)), places, columns, others
        )
    cells = {
        lines[begin:end].decode(errors="replace")
        for _, _, begin, end in others[: int(n_others)].tolist()
    }
    if at < len(lines) or cells - {*missing}:
        return None
    arrays = [
        # Cells without a value are rare, and to look for them takes time.
        pa.array(values, mask=np.isnan(values) if empty or n_others else None)
        for values in columns[:, : int(rows)]
    ]
    return pa.RecordBatch.from_arrays(arrays, names)
