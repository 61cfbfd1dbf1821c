"""CSV and TSV files, which Arrow reads: it names the row of a fault."""

import csv
import io
import re
import sys
from collections.abc import Generator, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from functools import partial, reduce
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from linsep._system.threads import thread_count
from linsep.errors import DataError, Hint, NoRows, hint
from linsep.sources.formats import codec_of
from linsep.sources.lines import scanned_chunks
from linsep.sources.remote.file import File
from linsep.sources.tables import text_file
from linsep.sources.tables.column_types import missing_mark
from linsep.sources.tables.conversions import NULL_VALUES
from linsep.sources.tables.csv_numbers import WORTHWHILE, NumberColumns
from linsep.sources.tables.reading_options import WHITESPACE, ReadingOptions
from linsep.sources.tables.table_file import SAMPLE_ROWS, Kinds, Others, header_again
from linsep.sources.tables.text_file import ARROW_TYPES, LARGEST_BLOCK, Guess, TextFile, misfit
from linsep.validation.checks import check_names
from linsep.words import counted

#: advice where rows have names, but their column has none
ROW_NAMES = (
    "name the column of row names in line 1, or write the file without it (in R, row.names = FALSE)"
)
#: bytes at the end of a file in which labels are inspected
LAST_BYTES = 1 << 16
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
_FIELDS = Lock()


class CsvFile(TextFile):
    """Values separated by commas, tabs or the like, with a header row.

    Quoted fields may hold the delimiter and line breaks. Empty lines are skipped.

    Parameters
    ----------
    path : Path
    options : ReadingOptions
    format : "csv" or "tsv"
        Sets the default delimiter.
    """

    returns = marks_missing = True

    def __init__(self, path: File, options: ReadingOptions, format: str = "csv"):
        told = options.delimiter is not None or options.header is not None
        self._options, self.encoding = options.of(format), options.encoding
        super().__init__(path, options.max_line)
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
        lines, records, ends = list[str](), list[list[str]](), list[int]()
        quoting: Any = csv.QUOTE_MINIMAL if self._options.quotes else csv.QUOTE_NONE

        def seen() -> Iterator[str]:
            for block in map(self._options.squeezed, blocks):
                text = io.StringIO(block.decode(errors="surrogateescape"), newline="")
                for line in text.readlines():
                    lines.append(line)
                    yield line

        with _field_size(self._max_line), closing(self.blocks()) as blocks:
            try:
                for fields in csv.reader(
                    seen(), delimiter=self._options.separator, quoting=quoting
                ):
                    if fields:
                        records.append(fields)
                        ends.append(len("".join(lines).encode(errors="surrogateescape")))
                    if len(records) == 2:
                        break
            except csv.Error as error:
                raise DataError(
                    f"{self.path} cannot be read ({error}): correct its first lines.",
                    code="bad-line",
                    path=self.path,
                ) from error
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
        for name, column in zip(first.schema.names, first.columns, strict=True):
            if not pa.types.is_string(column.type) or not name:
                continue
            at = pc.index(column, name).as_py()
            if at >= 0 and [*first.slice(at, 1).to_pylist()[0].values()] == first.schema.names:
                place = f"{self.path} row {at + 1}"
                raise header_again(place, path=self.path, row=at + 1, column=name)
            if at >= 0:
                raise no_names(self.path, name)

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

    def _rows_alone(self) -> Generator[bytes, None, None]:
        """Yield the blocks without the header; DataError if a quote is never closed."""
        left, quotes, unsure = self._begin, 0, bool(self._options.quotes)
        mark = re.escape(self._options.separator.encode())
        # a quote that opens a field, and one that closes in the middle of a field
        swallowed = re.compile(b'[%s\n]"([^"]*+(?:""[^"]*+)*+)"[^%s\r\n"]' % (mark, mark))
        with closing(self.blocks()) as blocks:
            for block in map(self._options.squeezed, blocks):
                found = block.count(b'"')
                fields = swallowed.finditer(b"\n" + block) if found and unsure else ()
                if any(b"\n" in field[1] for field in fields) and self._strays(block, quotes % 2):
                    self._check_quotes()
                    unsure = False
                quotes += found
                if left < len(block):
                    yield block[left:]
                left = max(0, left - len(block))
        if quotes % 2 and self._options.quotes:
            self._check_quotes()

    def _strays(self, block: bytes, inside: int) -> bool:
        """Return whether a quote neither opens nor closes a field, nor is doubled."""
        text = np.frombuffer(b"\n" + block + b"\n", np.uint8)
        quotes = np.flatnonzero(text == ord('"'))
        opening, closing = quotes[inside::2], quotes[1 - inside :: 2]
        beside = np.append(text[opening - 1], text[closing + 1])
        allowed = np.frombuffer(b'\r\n"' + self._options.separator.encode(), np.uint8)
        return not np.isin(beside, allowed).all()

    def _first_blocks(self) -> Generator[bytes, None, None]:
        """Yield blocks up to the first with a row: Arrow would read ahead."""
        quotes = 0
        with closing(self._rows_alone()) as blocks:
            for block in blocks:
                yield block
                quotes += block.count(b'"')
                if quotes % 2 == 0 and not block.isspace():
                    return

    def _lines(self) -> Iterator[str]:
        with closing(self.blocks()) as blocks:
            for block in map(self._options.squeezed, blocks):
                yield from io.StringIO(block.decode(errors="surrogateescape"), newline="")

    def _check_quotes(self) -> None:
        """Raise DataError for a field with line breaks whose quote closes in its middle, or never:
        it began with a quote that is text, and holds the rows up to the next one.
        """
        with _field_size(sys.maxsize):
            rows = csv.reader(self._lines(), delimiter=self._options.separator, strict=True)
            for number in count(1 - self._headed):
                line = rows.line_num
                try:
                    if next(rows, None) is None:
                        return
                except csv.Error as error:
                    if rows.line_num > line + 1 or "unexpected end" in str(error):
                        raise DataError(
                            f"{self.path} row {number} has a quote that never closes, or only in "
                            "the middle of a field in a later line",
                            "double the quotes within a field",
                            hint("read quotes as ordinary characters with {}", quotes=False),
                            code="bad-line", path=self.path, row=number,
                        ) from None  # fmt: skip

    def columns(self) -> dict[str, pa.DataType | None]:
        """Return the names in the header row; the types are unknown."""
        return dict.fromkeys(self._header)

    def head(self) -> pa.RecordBatch:
        """Return the rows of the first block with the types Arrow guesses."""
        if not self._has_rows:
            return pa.record_batch([pa.nulls(0)] * len(self._header), names=self._header)
        with closing(self._read(self._first_blocks(), {}, None)) as batches:
            for batch in batches:
                first = batch.slice(0, SAMPLE_ROWS)
                if self._options.header is None:
                    self._check_first_values(first)
                return first
        raise DataError(
            f"{self.path} cannot be read as CSV: check its first rows.",
            code="wrong-format",
            path=self.path,
        )

    def _guesses(self, names: list[str]) -> Generator[Guess, None, None]:
        with closing(self.chunks(dict.fromkeys(names, "text"))) as batches:
            for batch in batches:
                yield partial(self._type_in, batch)

    def _type_in(self, batch: pa.RecordBatch, name: str) -> pa.DataType:
        """Return the type Arrow guesses for the cells of a column that were read as text."""
        text = io.BytesIO()
        pa.csv.write_csv(pa.table({name: batch.column(name).drop_null()}), text)
        text.seek(0)
        table = pa.csv.read_csv(
            text,
            read_options=pa.csv.ReadOptions(block_size=LARGEST_BLOCK),
            parse_options=pa.csv.ParseOptions(newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(
                null_values=[*NULL_VALUES, *self._options.null_cells()],
                decimal_point=self._options.decimal or ".",
            ),
        )
        return table.schema.types[0]

    def chunks(self, kinds: Kinds, others: Others = None) -> Generator[pa.RecordBatch, None, None]:
        """Yield the columns block by block; empty cells and given marks of missing values are null
        in every column.
        """
        if not self._has_rows:
            return
        numbers = self._options.decimal in (None, ".") and set(kinds.values()) == {"number"}
        if self.size >= WORTHWHILE and numbers:
            yield from self._scanned(kinds)
            return
        texts = [number for number, kind in enumerate(kinds.values()) if kind == "text"]
        missing = ["", *self._options.null_cells()]
        for batch in self._read(self._rows_alone(), kinds, list(kinds)):
            if texts:
                arrays = batch.columns
                for number in texts:
                    # faster than is_in
                    empty = reduce(pc.or_, (pc.equal(arrays[number], cell) for cell in missing))
                    if empty.true_count:
                        none = pa.scalar(None, pa.string())
                        arrays[number] = pc.if_else(empty, none, arrays[number])
                batch = pa.record_batch(arrays, names=list(kinds))  # noqa: PLW2901
            yield batch

    def last_values(self, name: str) -> list[str]:
        """Return values of a column in the last lines of a file on this machine."""
        if not isinstance(self.path, Path) or self.encoding is not None:
            return []
        if codec_of(self.path) is not None or self.size <= self._block:
            return []
        with self.path.open("rb") as file:
            file.seek(max(0, self.size - LAST_BYTES))
            lines = self._options.squeezed(file.read().partition(b"\n")[2])
        text = lines.decode(errors="replace").splitlines()
        quoting: Any = csv.QUOTE_MINIMAL if self._options.quotes else csv.QUOTE_NONE
        rows = csv.reader(text, delimiter=self._options.separator, quoting=quoting)
        column = self._header.index(name)
        with suppress(csv.Error):  # said by who reads the rows
            return [row[column] for row in rows if len(row) == len(self._header)]
        return []

    def written(self) -> Iterator[dict[str, str]]:
        """Yield the cells of every row, as text by column."""
        for batch in self.cells(self._header):
            yield from batch.to_pylist()

    def cells(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        """Yield columns as they stand in the file."""
        for batch in self._read(self._rows_alone(), dict.fromkeys(names, "text"), names):
            yield batch.select(names)

    def _scanned(self, kinds: Kinds) -> Generator[pa.RecordBatch, None, None]:
        """Yield columns of numbers, scanned up to the first block that only Arrow reads."""
        numbers = NumberColumns(
            self._header, list(kinds), self._options.separator, bool(self._options.quotes),
            [*NULL_VALUES, *self._options.null_cells()],
        )  # fmt: skip
        done, plain, threads = 0, True, thread_count()

        def scan(coming: "Future[bytes | None]") -> tuple[bytes, pa.RecordBatch | None] | None:
            block = coming.result()
            return None if block is None else (block, numbers.of(block) if plain else None)

        with closing(
            scanned_chunks(self._rows_alone(), scan, threads, lambda: threads + 2)
        ) as parts:
            for block, batch in parts:
                if batch is None:
                    plain = False
                    rest = _and_then(block, parts)
                    yield from self._read(rest, kinds, list(kinds), done)
                    return
                done += batch.num_rows
                if batch.num_rows:
                    yield batch

    def _read(
        self, blocks: Generator[bytes, None, None], kinds: Kinds, names: list[str] | None,
        done: int = 0,
    ) -> Generator[pa.RecordBatch, None, None]:  # fmt: skip
        """Yield what Arrow makes of blocks that come after so many rows."""
        yield from self._checked(
            blocks,
            lambda stream: self._reader_of(stream, kinds, names),
            lambda error, _: self._explain(error, done, kinds),
        )

    def _reader_of(
        self, stream: pa.NativeFile, kinds: Kinds, names: list[str] | None
    ) -> pa.RecordBatchReader:
        """Arrow's reader of the columns, None for all; those without a kind have their types
        guessed. Without threads it counts rows.
        """
        return pa.csv.open_csv(
            stream,
            read_options=pa.csv.ReadOptions(
                block_size=LARGEST_BLOCK, column_names=self._header, use_threads=False
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

    def _explain(self, error: pa.ArrowInvalid, done: int, kinds: Kinds) -> DataError | None:
        """Return the error for a row, of which Arrow says the number after ``done`` others."""
        if fields := _COUNT.search(str(error)):
            number, expected, found = map(int, fields.groups()[:3])
            return self._field_count(done + number, expected, found, fields[4])
        if "straddles two block boundaries" in str(error) or "out of sync" in str(error):
            return DataError(
                f"{self.path} has a quote that is never closed, or a row of more than a megabyte",
                "close the quote where its field ends",
                hint("read quotes as ordinary characters with {}", quotes=False),
                code="bad-line", path=self.path,
            )  # fmt: skip
        if (cell := _CELL.search(str(error))) is None:
            return None
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
        """Return the error for a row with more or fewer fields than the header."""
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


@contextmanager
def _field_size(most: int) -> Iterator[None]:
    """Let fields of csv's readers have so many bytes, for the whole process, one at a time."""
    with _FIELDS:
        before = csv.field_size_limit(most)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def _and_then(block: bytes, parts: Iterator[tuple[bytes, Any]]) -> Generator[bytes, None, None]:
    """Yield a block, and the blocks of what comes after it."""
    yield block
    for later, _ in parts:
        yield later


def _shown(delimiter: str | None) -> str:
    named = {"\t": "a tab", " ": "a space", WHITESPACE: "blanks"}
    return named.get(delimiter or "", f"'{delimiter}'")


#: advice for text that is not UTF-8; Windows-1252 has all characters of Latin-1
ENCODINGS = ("save the file as UTF-8", hint("set the encoding, such as with {}", encoding="cp1252"))


def names_of(width: int) -> list[str]:
    """Return the names of the columns of a file without a header."""
    return [f"column_{number}" for number in range(1, width + 1)]


def no_header(path: File, said: str, *advice: str | Hint, **fields: Any) -> DataError:
    """Return the error for a first row that does not seem to hold names of columns."""
    return DataError(
        f"{path} line 1 {said}",
        *advice, hint("read it as data with {}", header=False),
        hint("as column names with {}", header=True),
        code="bad-line", path=path, row=1, **fields,
    )  # fmt: skip


def no_names(path: File, name: str) -> DataError:
    """Return the error for a first row with a name that is also a value of its column."""
    shown = name if len(name) <= SHOWN else name[:SHOWN] + "..."
    said = f"does not seem to be a header row: '{shown}' is also a value of its column"
    return no_header(path, said, column=name)
