"""CSV and TSV files."""

import csv
import io
import re
from collections.abc import Generator, Iterator
from concurrent.futures import Future
from contextlib import closing, suppress
from functools import partial, reduce
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from linsep._system.threads import thread_count
from linsep.errors import DataError, NoRows, hint
from linsep.sources.formats import codec_of
from linsep.sources.lines import LineReader, scanned_chunks
from linsep.sources.remote.file import File
from linsep.sources.tables import text_file
from linsep.sources.tables.column_types import missing_mark
from linsep.sources.tables.conversions import NULL_VALUES
from linsep.sources.tables.csv_numbers import WORTHWHILE, NumberColumns
from linsep.sources.tables.csv_records import (
    CsvRecord,
    csv_records,
    follow_quotes,
    names_of,
    no_header,
    no_names,
    whole_records,
)
from linsep.sources.tables.reading_options import WHITESPACE, ReadingOptions
from linsep.sources.tables.table_file import SAMPLE_ROWS, Kinds, Others
from linsep.sources.tables.text_file import ARROW_TYPES, LARGEST_BLOCK, Guess, TextFile, misfit
from linsep.validation.values import check_names

#: columns of a small file that Arrow reads at a time: each takes 9 kB, however few its rows
STRIP = 2048
#: advice where rows have names, but their column has none
ROW_NAMES = (
    "name the column of row names in line 1, or write the file without it (in R, row.names = FALSE)"
)
#: rows in which another encoding is searched for
MANY_ROWS = 100_000
#: bytes at the end of a file in which labels are inspected
LAST_BYTES = 1 << 16


_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
_EXCEL = re.compile(r"sep=.?")
_COMMENT = re.compile(r"#+|//|%+(?!\w)")
_INVALID = re.compile(r"invalid value '(.*)'$", re.DOTALL)


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
        self._before = 0 if options.header is False else 1
        found = list(islice(self._records(), 2))
        records = [record.fields for record in found]
        if not records:
            if not self._before:
                raise NoRows(f"{path} has no rows: give a file with rows.", path=path)
            raise DataError(
                f"{path} has no header row: give a file with column names and rows.",
                code="no-rows",
                path=path,
            )
        header = records[0] if self._before else names_of(len(records[0]))
        self._first = f"{path} line {found[0].line}"
        if _EXCEL.fullmatch("".join(records[0])):
            skip = hint("skip the line with {}", skip_rows=found[0].line)
            raise DataError(
                f"{self._first} is Excel's 'sep=' line",
                skip,
                code="bad-line", path=path, row=found[0].line,
            )  # fmt: skip
        mark = _COMMENT.match(records[0][0])
        odd = len(records[0]) != len(records[-1]) or _COMMENT.match(records[-1][0])
        if mark and odd and options.comment is None and len(records) > 1:
            skip = hint("skip lines like it with {}", comment=mark[0])
            raise DataError(
                f"{self._first} is a comment", skip, code="bad-line", path=path, row=found[0].line
            )
        other = self._other_delimiter(records) if len(header) == 1 else None
        if other and not (told and other in (" ", WHITESPACE)):
            raise DataError(
                f"{self._first} has one column with {_shown(self._options.delimiter)} as "
                f"delimiter, but contains {_shown(other)}",
                hint("set the delimiter with {}", delimiter=other),
                code="wrong-format", path=path, row=found[0].line, option="delimiter",
            )  # fmt: skip
        try:
            "".join(header).encode()
        except UnicodeEncodeError as error:
            raise DataError(
                f"{self._first} is not UTF-8 text",
                *_encodings(error.object),
                code="encoding", path=path, row=found[0].line,
            ) from error  # fmt: skip
        self._check_header(header)
        self._header = header
        self._has_rows = len(records) > self._before
        self._block = max(text_file.BLOCK_BYTES, 4 * max(map(_length, records)))
        self._strips = len(header) > STRIP and self._is_one_block()

    def _check_header(self, names: list[str]) -> None:
        untold = self._options.header is None
        if untold and all(_NUMBER.fullmatch(name.strip()) for name in names):
            said = "holds numbers instead of column names"
            raise no_header(self._first, said, "add column names", path=self.path)
        try:
            check_names(self.path, names)
        except DataError as error:
            advice = [hint("read line 1 as data with {}", header=False)] if untold else []
            raise error.with_message(error.message, [*error.hints, *advice]) from None

    def _check_first_values(self, first: pa.RecordBatch) -> None:
        """Raise DataError if a name is also a value of its column, as when the first row holds
        data.
        """
        for name, column in zip(first.schema.names, first.columns, strict=True):
            if pa.types.is_string(column.type) and name and pc.index(column, name).as_py() >= 0:
                raise no_names(self._first, name, path=self.path)

    def _other_delimiter(self, records: list[list[str]]) -> str | None:
        """Return the character that seems to separate the fields of the first lines instead."""
        lines = [self._options.separator.join(fields) for fields in records]
        found = next((c for c in ",;\t| " if all(c in line for line in lines)), None)
        runs = any("  " in line or line != line.strip(" ") for line in lines)
        return WHITESPACE if found == " " and runs else found

    def _blocks(self, reader: LineReader) -> Generator[bytes, None, None]:
        """Yield the blocks, with lines that are not rows replaced by empty lines."""
        skip, comment = self._options.skip_rows or 0, self._options.comment
        pattern = (
            None
            if comment is None
            else re.compile(rb"^[ \t]*%b[^\r\n]*" % re.escape(comment.encode()), re.MULTILINE)
        )
        for block in super()._blocks(reader):
            end = 0
            while skip and (found := block.find(b"\n", end)) >= 0:
                end, skip = found + 1, skip - 1
            rows = b"\n" * block.count(b"\n", 0, end) + block[end:]
            yield rows if pattern is None else pattern.sub(b"", rows)

    def _for_parser(self, blocks: Generator[bytes, None, None]) -> Generator[bytes, None, None]:
        """Yield blocks in each of which a record ends; DataError if a quote is never closed."""
        seen = (self._options.squeezed(block) for block in blocks)
        if self._options.quotes:
            seen = whole_records(
                seen, self._options.separator, self.path, self._max_line,
                lambda: map(self._options.squeezed, self.blocks()),
            )  # fmt: skip
        if self._before:
            first = next(seen, b"")
            yield first[self._end_of_header(first) :]
        yield from seen

    def _end_of_header(self, block: bytes) -> int:
        """Return where the header row ends in the first block."""
        end, options = 0, self._options._replace(delimiter=self._options.separator)
        for record in csv_records([block], options, self.path):
            end += len(record.text.encode(errors="surrogateescape"))
            if record.fields:
                break
        return end

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

    def _first_blocks(self) -> Generator[bytes, None, None]:
        """Yield blocks up to the first that ends with a row."""
        inside = False
        with closing(self._parsed_blocks()) as blocks:
            for block in blocks:
                yield block
                if self._options.quotes:
                    inside = follow_quotes(block, self._options.separator, inside).inside
                if not inside and not block.isspace():
                    break

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
        for batch in self._read(self._parsed_blocks(), kinds, list(kinds)):
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
        plain = isinstance(self.path, Path) and self.encoding is None
        if not plain or codec_of(self.path) is not None or self.size <= self._block:
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
        for _, fields in self._rows():
            yield dict(zip(self._header, fields, strict=True))

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
            scanned_chunks(self._parsed_blocks(), scan, threads, lambda: threads + 2)
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
        open_reader = self._in_strips if self._strips else self._reader_of
        return self._checked(
            blocks,
            lambda stream: open_reader(stream, kinds, names),
            lambda error, done: self._explain(error, done, kinds),
            done,
        )

    def _reader_of(
        self, stream: pa.NativeFile, kinds: Kinds, names: list[str] | None
    ) -> pa.RecordBatchReader:
        """Arrow's reader of the columns, None for all; those without a kind have their types
        guessed.
        """
        return pa.csv.open_csv(
            stream,
            read_options=pa.csv.ReadOptions(block_size=LARGEST_BLOCK, column_names=self._header),
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

    def _in_strips(
        self, stream: pa.NativeFile, kinds: Kinds, names: list[str] | None
    ) -> pa.RecordBatchReader:
        """Return a reader of text that is one block, which parses a few columns at a time."""
        text = pa.py_buffer(b"".join(iter(lambda: stream.read(text_file.BLOCK_BYTES), b"")))
        columns: list[pa.ChunkedArray] = []
        names = self._header if names is None else names
        for start in range(0, len(names), STRIP):
            strip = names[start : start + STRIP]
            of_strip = {name: kinds[name] for name in strip if name in kinds}
            with self._reader_of(pa.BufferReader(text), of_strip, strip) as reader:
                columns += reader.read_all().columns
        table = pa.Table.from_arrays(columns, names)
        return pa.RecordBatchReader.from_batches(table.schema, table.to_batches())

    def _is_one_block(self) -> bool:
        with closing(self.blocks()) as blocks:
            return len(list(islice(blocks, 2))) == 1

    def _explain(self, error: pa.ArrowInvalid, done: int, kinds: Kinds) -> DataError | None:
        """Find the first row after `done` rows that does not fit; None when all seem to fit."""
        found = _INVALID.search(str(error))
        bad = found[1].strip() if found else None
        for line, fields in islice(self._rows(), done, None):
            place = f"{self.path} line {line}"
            mark = _COMMENT.match(fields[0]) if self._options.comment is None else None
            if mark and len(fields) != len(self._header):
                skip = hint("skip lines like it with {}", comment=mark[0])
                return DataError(
                    f"{place} is a comment", skip, code="bad-line", path=self.path, row=line
                )
            if len(fields) != len(self._header):
                quote = " or close an open quote" if any("\n" in field for field in fields) else ""
                first = "header" if self._before else "first row"
                return DataError(
                    f"{place} has {_count(len(fields), 'field')}, but the {first} has "
                    f"{len(self._header)}",
                    f"correct the line{quote}",
                    *[ROW_NAMES] * (self._before == 1 and self._is_named(line, fields)),
                    code="field-count", path=self.path, row=line,
                )  # fmt: skip
            for name, field in zip(self._header, fields, strict=True):
                kind = kinds.get(name)
                if kind not in {None, "text"} and field.strip() == bad:
                    return misfit(
                        place, name, repr(field), kinds[name], *missing_mark(field),
                        path=self.path, row=line, value=field,
                    )  # fmt: skip
                if kind == "text" and not field.isascii() and not _is_utf8(field):
                    said = f"{place}, column '{name}' is not UTF-8 text ({_bad_byte(field)})"
                    if (other := self._utf8_line()) is not None:
                        said += f", but line {other} is"
                        return DataError(
                            said,
                            "save all lines in one encoding",
                            code="encoding", path=self.path, row=line, column=name,
                        )  # fmt: skip
                    return DataError(
                        said,
                        *_encodings(field),
                        code="encoding", path=self.path, row=line, column=name,
                    )  # fmt: skip
        return None

    def _utf8_line(self) -> int | None:
        """Return the first of many lines that has characters beyond ASCII, in UTF-8."""
        for line, fields in islice(self._rows(), MANY_ROWS):
            text = "".join(fields)
            if not text.isascii() and _is_utf8(text):
                return line
        return None

    def _is_named(self, line: int, fields: list[str]) -> bool:
        """Return whether a row seems to begin with a name: the first one has one field more than
        the header.
        """
        first, _ = next(self._rows())
        return line == first and len(fields) == len(self._header) + 1

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        return ((r.line, r.fields) for r in islice(self._records(), self._before, None))

    def _records(self) -> Iterator[CsvRecord]:
        """Yield the header and the rows."""
        with closing(self.blocks()) as blocks:
            found = csv_records(blocks, self._options, self.path)
            yield from (record for record in found if record.fields)


def _and_then(block: bytes, parts: Iterator[tuple[bytes, Any]]) -> Generator[bytes, None, None]:
    """Yield a block, and the blocks of what comes after it."""
    yield block
    for later, _ in parts:
        yield later


def _shown(delimiter: str | None) -> str:
    named = {"\t": "a tab", " ": "a space", WHITESPACE: "blanks"}
    return named.get(delimiter or "", f"'{delimiter}'")


def _length(fields: list[str]) -> int:
    """Return the number of bytes of a row, as it was read."""
    return sum(len(field.encode(errors="surrogateescape")) for field in fields) + len(fields)


def _encodings(text: str) -> tuple[Any, Any]:
    """Return advice for text that is not UTF-8: between 80 and 9F, Latin-1 has no characters."""
    windows = any("\udc80" <= character <= "\udc9f" for character in text)
    how = {"encoding": "cp1252" if windows else "latin-1"}
    return "save the file as UTF-8", hint("set the encoding, such as with {}", **how)


def _is_utf8(field: str) -> bool:
    try:
        field.encode()
    except UnicodeEncodeError:
        return False
    return True


def _bad_byte(field: str) -> str:
    """Return the first byte that is not UTF-8, which stands in the field as half a surrogate."""
    at = next(k for k, letter in enumerate(field) if 0xDC80 <= ord(letter) <= 0xDCFF)
    return f"byte 0x{ord(field[at]) - 0xDC00:02x} after {len(field[:at].encode()):,} others"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
