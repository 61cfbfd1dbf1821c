"""Split data into files: rows are copied unchanged and in order.

Parts depend only on the seed, the order of the rows and their class, group or time, not on batches
or the machine. Part 0 is for training, 1 and 2 are held out.
"""

import csv
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, count, islice, repeat
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from linsep.errors import DataError
from linsep.sources import tables
from linsep.sources.lines import BYTE_ORDER_MARK, LineReader
from linsep.sources.remote import File
from linsep.sources.tables.columns import check_may_become
from linsep.sources.tables.csv import CsvFile
from linsep.sources.tables.reading_options import AS_USUAL
from linsep.sources.tables.spellings import canonical
from linsep.sources.tables.text_file import BLOCK_BYTES, whole_lines

#: names of the parts
PARTS = ("train", "test", "validation")
#: most classes to draw from at a time, since regressions have many
MOST_CLASSES = 10_000
#: formats of lines without a header
OTHER_LINES = ("jsonl", "svmlight", "vw")


def draws(share: Fraction, seed: int, salt: bytes) -> Iterator[bool]:
    """Yield whether each row is drawn: one row of each window of 1 / share rows, at random."""
    key, end = blake2b(b"%d " % seed + salt, digest_size=32).digest(), 0
    for window in count():
        start, end = end, (window + 1) * share.denominator // share.numerator
        # Not from a generator: the draw of a window does not depend on other windows.
        number = blake2b(b"%d" % window, digest_size=8, key=key).digest()
        drawn = start + (int.from_bytes(number, "little") * (end - start) >> 64)
        yield from (row == drawn for row in range(start, end))


def drawn_parts(shares: list[Fraction], seed: int, salt: bytes) -> Iterator[int]:
    """Yield the part of each row; the rows of a held-out part are drawn from those left."""
    left, held = Fraction(1), []
    for number, share in enumerate(shares):
        held.append(draws(share / left, seed, b"%d " % number + salt))
        left -= share
    while True:
        yield next((part for part, drawn in enumerate(held, 1) if next(drawn)), 0)


class Lines(LineReader):
    """A text file whose rows are copied unchanged.

    Attributes
    ----------
    header : bytes before the first row of CSV, which are known with that row
    """

    def __init__(self, path: File, format: str, reading: tables.ReadingOptions):
        self.path, self.size, self.header = path, path.stat().st_size, b""
        self._format, self._reading, self._is_csv = format, reading, format in ("csv", "tsv")
        super().__init__([path], BLOCK_BYTES, max_line=reading.max_line)
        if "utf-16" in (reading.encoding or "").lower().replace("_", "-"):
            raise DataError(
                f"{path} is UTF-16 text", "save it as UTF-8", code="encoding", path=path
            )

    def pieces(self) -> Iterator[tuple[bytes, int]]:
        """Yield rows with the number 1, comments and blank lines with 0."""
        lines = (line for _, block in whole_lines(self) for line in block.splitlines(keepends=True))
        if self._is_csv:
            yield from self._records(lines)
        others = (b"", b"#") if self._format == "svmlight" else (b"",)
        for line in lines:
            yield line, int(not self._is_csv and line.strip()[:1] not in others)

    def _records(self, lines: Iterator[bytes]) -> Iterator[tuple[bytes, int]]:
        """Yield the records of CSV behind the header: as many lines as the reader finds in each."""
        file = CsvFile(self.path, replace(self._reading, header=False), self._format)
        options, self.header = self._reading.of(self._format), b""
        quoting: Any = csv.QUOTE_MINIMAL if options.quotes else csv.QUOTE_NONE
        csv.field_size_limit(options.max_line)  # lines are short enough
        rows = -(options.header is not False)
        for block in file.records():
            seen = (x.decode(errors="surrogateescape") for x in block.splitlines(keepends=True))
            reader, before = csv.reader(seen, delimiter=options.separator, quoting=quoting), 0
            for fields in reader:
                text = b"".join(islice(lines, reader.line_num - before))
                rows, before = rows + bool(fields), reader.line_num
                if rows > 0:
                    yield text, int(bool(fields))
                else:
                    self.header += text


class Split(tables.FilesInOrder):
    """Splits files of one format.

    Parameters
    ----------
    paths : files, in reading order
    format : their format, one of :data:`linsep.sources.formats.FORMATS`
    shares : Fractions of the rows (or groups) for the test part, and the validation part if any
    seed : seed of the draws
    target : label column of a table, by whose classes the parts are stratified; None to draw from
    all rows equally (svmlight and Vowpal Wabbit's text have labels)
    group : column of groups, which are never divided
    time : column of times, numbers or dates; the latest rows are held out
    in_order : whether the last rows are held out
    reading : ReadingOptions

    Attributes
    ----------
    rows : number of rows written to each part
    """

    def __init__(
        self, paths: list[File], format: str, shares: list[Fraction], *, seed: int,
        target: str | None = None, group: str | None = None, time: str | None = None,
        in_order: bool = False, reading: tables.ReadingOptions = AS_USUAL,
    ):  # fmt: skip
        self._shares, self._seed, self._format = shares, seed, format
        self._group, self._time, self._in_order = group, time, in_order
        self._column = group or time or (None if in_order else target)
        self.rows, self._numbers = [0] * (len(shares) + 1), count()
        tables.check_separated(paths[0], [format], reading)
        self._is_text, alike = format not in ("parquet", "arrow"), format not in OTHER_LINES
        keyed = paths if alike or (format == "jsonl" and self._column is not None) else []
        self._tables = {path: tables.open_table(path, format, reading) for path in keyed}
        texts = [Lines(path, format, reading) for path in paths] if self._is_text else None
        super().__init__(texts or [self._tables[path] for path in paths])
        if keyed:
            self._check_columns([*self._tables.values()], alike)

    def _check_columns(self, files: list[tables.TableFile], alike: bool) -> None:
        name, first = self._column, files[0].columns()
        for table in files:
            if name is not None:
                tables.check_column(table.path, table.columns(), name)
            if alike and [*table.columns().items()] != [*first.items()]:
                said = f"{table.path} has other columns or types than {files[0].path}"
                raise DataError(said, "split it separately", code="mixed-formats", path=table.path)
        types = tables.column_types(files, [other for other in first if other != name])
        if name is not None:
            self._numeric = tables.family_of(types[name]) == "number"
            how = "categorical" if self._time is None else "date"
            check_may_become(files[0], name, types[name], how)

    def write(self, files: list[Any]) -> None:
        """Write each row to the binary file of its part.

        Raises DataError for a row that cannot be read, and for a part without rows.
        """
        (self._write_lines if self._is_text else self._write_tables)(files, self._part_of())
        for name, rows in zip(PARTS, self.rows, strict=False):
            if not rows:
                said = f"No row of {self.name} falls into the {name} part"
                raise DataError(said, "add rows", "choose another share", code="too-few-rows")

    def _part_of(self) -> Callable[[Any], int]:
        """Return what gives the next row its part, by its class, group or time."""
        if self._time is not None or self._in_order:
            return self._by_time()
        shares, seed = self._shares, self._seed
        if self._group is not None:
            parts = drawn_parts(shares, seed, b"")
            return defaultdict(lambda: next(parts)).__getitem__
        salted = lru_cache(MOST_CLASSES)(
            lambda key: drawn_parts(shares, seed, (key or "").encode(errors="surrogateescape"))
        )
        return lambda key: next(salted(key))

    def _by_time(self) -> Callable[[Any], int]:
        """Return what gives a row of this time its part, after reading all times."""
        self.stage = "surveying"
        keys = chain.from_iterable(map(self._keys, self.each_file()))
        times = np.fromiter(keys, np.float64)
        times.sort()
        edges = np.flatnonzero(times[1:] != times[:-1])
        edges += 1  # the first row of each later time
        if edges.size < len(self._shares):
            what = "rows" if self._time is None else f"different times in column '{self._time}'"
            said = f"{self.name} has too few {what} for {len(self.rows)} parts"
            raise DataError(said, "add rows", code="too-few-rows")
        held, last, cuts = Fraction(0), edges.size, list[float]()
        for number, share in enumerate(self._shares, 1):
            held += share
            least = len(self._shares) - number  # edges to leave for the parts before
            gaps = edges[least:last] - float((1 - held) * times.size)
            last = least + int(np.abs(gaps, out=gaps).argmin())
            cuts.append(float(times[edges[last]]))
        self.stage, self._numbers = "reading", count()
        return lambda time: next((part for part, cut in enumerate(cuts, 1) if time >= cut), 0)

    def _keys(self, file: Any) -> Generator[Any, None, None]:
        """Yield the class, group or time of each row, its number with ``in_order``, else None."""
        others = self._numbers if self._in_order else repeat(None)
        if (table := self._tables.get(file.path)) is None:
            labeled = not self._in_order and self._format != "jsonl"
            for line, _ in filter(itemgetter(1), file.pieces()):
                label, *_ = line.decode(errors="surrogateescape").partition("|")[0].split() or [""]
                yield canonical(label) if labeled else next(others)
            return
        if self._column is None:
            for batch in table.chunks({next(iter(table.columns())): "text"}):
                yield from islice(others, batch.num_rows)
            return
        name, start, read = self._column, 0, table.kind_as_written(self._column)
        if self._time is not None and self._numeric:
            read = "number"
        elif self._group is not None and read == "number":
            read = "digits"
        for batch in table.chunks({name: read}):
            cells, place = pa.Table.from_batches([batch]), table.places_from(start)
            start += batch.num_rows
            if self._time is not None:
                how = {name: "number" if self._numeric else "date"}
                keys = tables.numbers_in(
                    tables.converted(cells, how, tables.PLAIN, place, {}), name
                )
                missing = np.isnan(keys)
            else:
                codes, values = tables.text_codes(cells.column(name), name, place)
                texts = np.array([*(canonical(value.strip()) for value in values), ""], object)
                empty = [not text or (self._numeric and text in tables.NO_NUMBER) for text in texts]
                keys, missing = texts[codes], np.array(empty)[codes]
            if missing.any():
                said = place(int(np.argmax(missing))) + f" has no value in column '{name}'"
                raise DataError(said, "fill it in", code="missing-value", column=name)
            yield from keys.tolist()

    def _write_lines(self, files: list[Any], part_of: Callable[[Any], int]) -> None:
        header = None
        for file in self.each_file():
            with closing(self._keys(file)) as keys:
                for text, row in file.pieces():
                    if header is None:
                        header = BYTE_ORDER_MARK * file.marked + file.header
                        for out in files:
                            out.write(header)
                    part = part_of(next(keys)) if row else 0
                    self.rows[part] += row
                    files[part].write(text if text.endswith((b"\n", b"\r")) else text + b"\n")

    def _write_tables(self, files: list[Any], part_of: Callable[[Any], int]) -> None:
        schema = pa.schema([*self._files[0].columns().items()])
        make = pq.ParquetWriter if self._format == "parquet" else pa.ipc.new_file
        with ExitStack() as stack:
            writers = [stack.enter_context(make(out, schema)) for out in files]
            for file in self.each_file():
                keys = stack.enter_context(closing(self._keys(file)))
                for batch in file.chunks(dict.fromkeys(schema.names, "text")):
                    table = pa.Table.from_batches([batch]).cast(schema)
                    parts = np.fromiter(map(part_of, islice(keys, len(table))), np.int8, len(table))
                    for part, writer in enumerate(writers):
                        chosen = parts == part
                        self.rows[part] += int(chosen.sum())
                        writer.write_table(table.filter(pa.array(chosen)))
