"""CSV and TSV files, which Arrow reads: it names the row of a fault."""

import csv
import io
import re
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from linsep.errors import DataError, Hint, NoRows, hint
from linsep.sources.remote.file import File
from linsep.sources.tables import text_file
from linsep.sources.tables.column_types import missing_mark
from linsep.sources.tables.conversions import NULL_VALUES
from linsep.sources.tables.csv_numbers import WORTHWHILE, NumberColumns
from linsep.sources.tables.reading_options import WHITESPACE, ReadingOptions
from linsep.sources.tables.table_file import SAMPLE_ROWS, Kinds, Others, first_line, header_again
from linsep.sources.tables.text_file import ARROW_TYPES, TextFile, misfit
from linsep.validation.checks import check_names
from linsep.words import counted

#: advice where rows have names, but their column has none
ROW_NAMES = (
    "name the column of row names in line 1, or write the file without it (in R, row.names = FALSE)"
)
#: characters of a name that a message shows
SHOWN = 40

_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
_EXCEL = re.compile(r"sep=.?")
_COMMENT = re.compile(r"#+|//|%+(?!\w)")
#: what Arrow says of a row with more or fewer fields
_COUNT = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+): (.*)", re.DOTALL)
#: what Arrow says of a cell that it cannot convert, and of its row
_CELL = re.compile(
    r"In CSV column #(\d+): Row #(\d+): .*?(?:invalid value '(.*)'|invalid UTF8 data)$", re.DOTALL
)
_OPEN = "a quote that is not closed"
#: a quoted field
_QUOTED = re.compile(rb'"[^"]*+(?:""[^"]*+)*+"')
#: text, a quoted field of one line, one whose quote closes at its end, or a quote within a field;
#: # is for the separator, @ for what text does not hold
_WHOLE = (
    rb'(?:[^"@]++|(?<![^#\n\r])"[^"\n\r]*+(?:""[^"\n\r]*+)*+"|'
    rb'(?<![^#\n\r])"[^"]*+(?:""[^"]*+)*+"(?=[#\r\n]|\Z)|(?<=[^#\n\r])")*+'
)
#: whole lines of these
_LINES = rb"(?:" + _WHOLE.replace(b"@", rb"\n\r") + rb"[\n\r]++)*+"


class OpenQuote(bytes):
    """Rows with a quoted field that never ends, or in the middle of a field in a later line."""

    __slots__ = ()


class CsvFile(TextFile):
    """Values separated by commas, tabs or the like, with a header row. Quoted fields may hold the
    delimiter and line breaks. Empty lines are skipped.
    """

    returns = marks_missing = True
    _begin = 0

    def __init__(self, path: File, options: ReadingOptions, format: str = "csv"):
        told = options.delimiter is not None or options.header is not None
        self._options, self.encoding = options.of(format), options.encoding
        super().__init__(path, options.max_line)
        mark = re.escape(self._options.separator.encode())
        self._whole = re.compile(_WHOLE.replace(b"@", b"").replace(b"#", mark))
        self._lines = re.compile(_LINES.replace(b"#", mark))
        records, ends = self._first_records()
        if not records:
            said = "rows" if options.header is False else "header row"
            raise NoRows(
                f"{path} has no {said}: give a file with column names and rows.", path=path
            )
        headed = options.header is not False
        header = records[0] if headed else names_of(len(records[0]))
        self._begin, self._headed = ends[0] if headed else 0, headed
        self._check_lines(records, told)
        try:
            "".join(header).encode()
        except UnicodeEncodeError:
            raise DataError(
                f"{path} line 1 is not UTF-8 text", *ENCODINGS, code="encoding", path=path, row=1
            ) from None
        untold = options.header is None
        if untold and all(_NUMBER.fullmatch(name.strip()) for name in header):
            raise no_header(path, "holds numbers instead of column names", "add column names")
        check_names(path, header, *[hint("read line 1 as data with {}", header=False)] * untold)
        self._header, self._has_rows = header, len(records) > headed
        self._block = max(text_file.BLOCK_BYTES, 4 * max(ends[0], ends[-1] - ends[0]))

    def _first_records(self) -> tuple[list[list[str]], list[int]]:
        """Return the first two records with fields, and at which bytes of the text they end."""
        records, ends, size = list[list[str]](), list[int](), 0
        quoting: Any = csv.QUOTE_MINIMAL if self._options.quotes else csv.QUOTE_NONE
        before = csv.field_size_limit(self._max_line)
        try:
            with closing(self.records()) as blocks:
                for rows in blocks:
                    if isinstance(rows, OpenQuote):
                        raise self._explained(rows, _OPEN, -(self._options.header is not False), {})
                    text = rows.decode(errors="surrogateescape")
                    lines = io.StringIO(text, newline="").readlines()
                    reader = csv.reader(lines, delimiter=self._options.separator, quoting=quoting)
                    for fields in filter(None, reader):
                        records.append(fields)
                        seen = "".join(lines[: reader.line_num])
                        ends.append(size + len(seen.encode(errors="surrogateescape")))
                        if len(records) == 2:
                            return records, ends
                    size += len(rows)
        except csv.Error as error:
            raise DataError(
                f"{self.path} cannot be read ({error}): correct its first lines.",
                code="bad-line",
                path=self.path,
            ) from error
        finally:
            csv.field_size_limit(before)
        return records, ends

    def _check_lines(self, records: list[list[str]], told: bool) -> None:
        """Raise DataError for first lines that are no header: comments, another delimiter."""
        first, place, where = records[0], f"{self.path} line 1", {"path": self.path, "row": 1}
        if _EXCEL.fullmatch("".join(first)):
            skip = hint("skip the line with {}", skip_rows=1)
            raise DataError(f"{place} is Excel's 'sep=' line", skip, code="bad-line", **where)
        mark = _COMMENT.match(first[0])
        odd = len(first) != len(records[-1]) or _COMMENT.match(records[-1][0])
        if mark and odd and self._options.comment is None and len(records) > 1:
            skip = hint("skip lines like it with {}", comment=mark[0])
            raise DataError(f"{place} is a comment", skip, code="bad-line", **where)
        other = self._other_delimiter(records) if len(first) == 1 else None
        if other and not (told and other in (" ", WHITESPACE)):
            raise DataError(
                f"{place} has one column with {_shown(self._options.delimiter)} as delimiter, but "
                f"contains {_shown(other)}",
                hint("set the delimiter with {}", delimiter=other),
                code="wrong-format", option="delimiter", **where,
            )  # fmt: skip

    def _check_first_values(self, first: pa.RecordBatch) -> None:
        """Raise DataError if a name is also a value of its column, as when the first row holds
        data.
        """
        self._check_header_again(first, 0)
        for name, column in zip(first.schema.names, first.columns, strict=True):
            if pa.types.is_string(column.type) and name and pc.index(column, name).as_py() >= 0:
                raise no_names(self.path, name)

    def _check_header_again(self, rows: pa.RecordBatch | pa.Table, before: int) -> None:
        """Raise DataError if one of the rows, all of text, holds the names of its columns."""
        first, names = rows.column(0), rows.schema.names
        at = pc.index(first, names[0]).as_py() if pa.types.is_string(first.type) else -1
        if at >= 0 and [*rows.slice(at, 1).to_pylist()[0].values()] == names:
            row = before + at + 1
            raise header_again(f"{self.path} row {row}", path=self.path, row=row, column=names[0])

    def _other_delimiter(self, records: list[list[str]]) -> str | None:
        """Return the character that seems to separate the fields of the first lines instead."""
        lines = [self._options.separator.join(fields) for fields in records]
        found = next((c for c in ",;\t| " if all(c in line for line in lines)), None)
        runs = any("  " in line or line != line.strip(" ") for line in lines)
        return WHITESPACE if found == " " and runs else found

    def blocks(self) -> Generator[bytes, None, None]:
        """Yield the blocks, with lines that are not rows replaced by empty lines."""
        skip, comment = self._options.skip_rows or 0, self._options.comment
        pattern = (
            None
            if comment is None
            else re.compile(rb"^[ \t]*%b[^\r\n]*" % re.escape(comment.encode()), re.MULTILINE)
        )
        for block in super().blocks():
            end = 0
            while skip and (found := block.find(b"\n", end)) >= 0:
                end, skip = found + 1, skip - 1
            rows = b"\n" * block.count(b"\n", 0, end) + block[end:]
            yield rows if pattern is None else pattern.sub(b"", rows)

    def records(self) -> Generator[bytes, None, None]:
        """Yield the blocks without the header, none of which ends within a quoted field."""
        left, rows = self._begin, b""
        for block in map(self._options.squeezed, self.blocks()):
            rows += block[left:]
            left = max(0, left - len(block))
            cut = self._last_line(rows) if rows.count(b'"') % 2 else 0  # a field is likely open
            end = self._end_of(rows, cut)
            if end == len(rows):
                cut = end
            elif not cut:
                cut = self._last_line(rows)
            if cut:
                yield rows[:cut]
            rows = rows[cut:]
            if len(rows) > self._max_line or _QUOTED.match(rows, end - cut):
                break
        if rows:
            yield OpenQuote(rows)

    def _last_line(self, rows: bytes) -> int:
        """Return where the last line begins that may not be whole."""
        found = self._lines.match(rows)
        return 0 if found is None else found.end()

    def _end_of(self, rows: bytes, begin: int = 0) -> int:
        """Return where a quoted field begins that never ends, or in the middle of a field in a
        later line; the end if there is none. A line begins at ``begin``.
        """
        if not self._options.quotes:
            return len(rows)
        found = self._whole.match(rows, begin)
        return begin if found is None else found.end()

    def columns(self) -> dict[str, pa.DataType | None]:
        return dict.fromkeys(self._header)

    def head(self) -> pa.RecordBatch:
        if not self._has_rows:
            return pa.record_batch([pa.nulls(0)] * len(self._header), names=self._header)
        first = self._first()
        if first is None:
            raise DataError(
                f"{self.path} cannot be read as CSV: check its first rows.",
                code="wrong-format",
                path=self.path,
            )
        if self._options.header is None:
            self._check_first_values(first.slice(0, SAMPLE_ROWS))
        return first

    def _guessed(self, rows: bytes, names: list[str] | None = None) -> pa.Table:
        return self._parsed(rows, {}, names)

    def chunks(self, kinds: Kinds, others: Others = None) -> Generator[pa.RecordBatch, None, None]:
        if not self._has_rows:
            return
        texts = [number for number, kind in enumerate(kinds.values()) if kind == "text"]
        missing = pa.array(["", *self._options.null_cells()], pa.string())
        numbers = None
        if self.size >= WORTHWHILE and self._options.decimal in (None, ".") and not texts:
            numbers = NumberColumns(
                self._header, list(kinds), self._options.separator, bool(self._options.quotes),
                [*NULL_VALUES, *self._options.null_cells()],
            )  # fmt: skip

        def parse(rows: bytes) -> pa.Table:
            if numbers is not None and (batch := numbers.of(rows)) is not None:
                return pa.Table.from_batches([batch])
            table = self._parsed(rows, kinds, list(kinds))
            for number in texts:
                column = table.column(number)
                empty = pc.is_in(column, missing)
                if pc.any(empty).as_py():
                    cells = pc.if_else(empty, pa.scalar(None, pa.string()), column)
                    table = table.set_column(number, table.field(number), cells)
            return table

        for table, done in self._tables(parse, kinds):
            if self._headed and len(texts) == len(kinds) > 1:  # a number would be refused
                self._check_header_again(table, done)
            yield from table.to_batches()

    def written(self) -> Iterator[dict[str, str]]:
        for batch in self.cells(self._header):
            yield from batch.to_pylist()

    def cells(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        kinds = dict.fromkeys(names, "text")
        for table, _ in self._tables(lambda rows: self._parsed(rows, kinds, names), kinds):
            yield from table.to_batches()

    def _parsed(self, rows: bytes, kinds: Kinds, names: list[str] | None) -> pa.Table:
        """Return the columns, None for all; those without a kind have their types guessed. Without
        threads Arrow counts rows.
        """
        if isinstance(rows, OpenQuote):
            raise pa.ArrowInvalid(_OPEN)
        return pa.csv.read_csv(
            pa.BufferReader(rows or b"\n"),
            read_options=pa.csv.ReadOptions(
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

    def _explained(
        self, rows: bytes, error: str, done: int, kinds: Any, only: bool = False
    ) -> DataError:
        if fields := _COUNT.search(error):
            number, expected, found = map(int, fields.groups()[:3])
            return self._field_count(done + number, expected, found, fields[4])
        if isinstance(rows, OpenQuote):
            before = _QUOTED.sub(b"x", rows[: self._end_of(rows)]) + b"x"
            row = done + sum(map(bool, before.splitlines()))
            return DataError(
                f"{self.path} row {row} has a quote that never closes, or only in the middle of a "
                "field in a later line",
                "double the quotes within a field",
                hint("read quotes as ordinary characters with {}", quotes=False),
                code="bad-line", path=self.path, row=row,
            )  # fmt: skip
        if (cell := _CELL.search(error)) is None:
            return DataError(
                f"{self.path} cannot be read after row {done} ({first_line(error)})",
                "correct or remove the data there",
                code="bad-line", path=self.path,
            )  # fmt: skip
        name, row, value = self._header[int(cell[1])], done + int(cell[2]), cell[3]
        place = f"{self.path} row {row}"
        if name not in kinds or kinds[name] == "text" or value is None or "\ufffd" in value:
            return DataError(
                f"{place}, column '{name}' is not UTF-8 text", *ENCODINGS,
                code="encoding", path=self.path, row=row, column=name,
            )  # fmt: skip
        if value == name and self._headed:
            return header_again(place, path=self.path, row=row, column=name)
        return misfit(
            place, name, repr(value), kinds[name], *missing_mark(value),
            path=self.path, row=row, value=value,
        )  # fmt: skip

    def _field_count(self, row: int, expected: int, fields: int, text: str) -> DataError:
        place, where = f"{self.path} row {row}", {"path": self.path, "row": row}
        mark = _COMMENT.match(text) if self._options.comment is None else None
        if mark:
            skip = hint("skip lines like it with {}", comment=mark[0])
            return DataError(f"{place} is a comment", skip, code="bad-line", **where)
        quote = " or close an open quote" if "\n" in text else ""
        first = self._headed and row == 1
        named = first and fields == expected + 1
        return DataError(
            f"{place} has {counted(fields, 'field')}, but the "
            f"{'header' if self._headed else 'first row'} has {expected}",
            f"correct the row{quote}", *[ROW_NAMES] * named,
            *[hint("if lines come before the names, skip them with {}", skip_rows=1)] * first,
            code="field-count", **where,
        )  # fmt: skip


def _shown(delimiter: str | None) -> str:
    named = {"\t": "a tab", " ": "a space", WHITESPACE: "blanks"}
    return named.get(delimiter or "", f"'{delimiter}'")


#: advice for text that is not UTF-8; Windows-1252 has all characters of Latin-1
ENCODINGS = ("save the file as UTF-8", hint("set the encoding, such as with {}", encoding="cp1252"))


def names_of(width: int) -> list[str]:
    return [f"column_{number}" for number in range(1, width + 1)]


def no_header(path: File, said: str, *advice: str | Hint, **fields: Any) -> DataError:
    return DataError(
        f"{path} line 1 {said}",
        *advice, hint("read it as data with {}", header=False),
        hint("as column names with {}", header=True),
        code="bad-line", path=path, row=1, **fields,
    )  # fmt: skip


def no_names(path: File, name: str) -> DataError:
    shown = name if len(name) <= SHOWN else name[:SHOWN] + "..."
    said = f"does not seem to be a header row: '{shown}' is also a value of its column"
    return no_header(path, said, column=name)
