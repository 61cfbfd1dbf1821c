"""Split data into files: rows are copied unchanged and in order.

Parts depend only on the seed, the order of the rows and their class, group or time, not on batches
or the machine. Part 0 is for training, 1 and 2 are held out.
"""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from hashlib import blake2b
from itertools import count
from math import isnan
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from linsep._system.interrupts import cached_property
from linsep.errors import DataError
from linsep.rewriting.records import TextRecords, one_spelling, time_of
from linsep.sources.remote.file import File
from linsep.sources.tables.column_types import column_types, family_of
from linsep.sources.tables.columns import check_column
from linsep.sources.tables.csv import NULL_VALUES
from linsep.sources.tables.files import FilesInOrder, check_separated, open_table
from linsep.sources.tables.reading_options import AS_USUAL, ReadingOptions
from linsep.sources.tables.table_file import Place, TableFile, plain_values, text_codes

#: most classes to stratify by; other labels form one class, since regressions have many
MOST_CLASSES = 100_000


class Draw:
    """Draws one row of each window of 1 / share rows: an exact share, at random.

    Parameters
    ----------
    share : Fraction, above 0 and at most 1
    seed, salt : the draws depend on these
    """

    __slots__ = ("_chosen", "_end", "_key", "_share", "_turn", "_window")

    def __init__(self, share: Fraction, seed: int, salt: bytes):
        self._share, self._key = share, blake2b(b"%d " % seed + salt, digest_size=32).digest()
        self._turn = self._end = 0
        self._window, self._chosen = -1, -1

    def next(self) -> bool:
        """Return whether the next row is drawn."""
        if self._turn == self._end:
            self._window += 1
            start = self._end
            self._end = (self._window + 1) * self._share.denominator // self._share.numerator
            # Not from a generator: the draw of a window does not depend on other windows.
            number = blake2b(b"%d" % self._window, digest_size=8, key=self._key).digest()
            self._chosen = start + (int.from_bytes(number, "little") * (self._end - start) >> 64)
        drawn = self._turn == self._chosen
        self._turn += 1
        return drawn


class Draws:
    """Draws for several held-out parts, one after the other."""

    def __init__(self, shares: list[Fraction], seed: int, salt: bytes):
        left, self._draws = Fraction(1), []
        for number, share in enumerate(shares):
            self._draws.append(Draw(share / left, seed, b"%d " % number + salt))
            left -= share

    def next(self) -> int:
        """Return the part of the next row."""
        for part, draw in enumerate(self._draws, 1):
            if draw.next():
                return part
        return 0


class ByClass:
    """The same share of every class, or of all rows if all have the same key."""

    def __init__(self, shares: list[Fraction], seed: int):
        self._shares, self._seed = shares, seed
        self._draws: dict[Any, Draws] = {}

    def part(self, key: Any) -> int:
        """Return the part of the next row, of this class."""
        draws = self._draws.get(key)
        if draws is None:
            if len(self._draws) >= MOST_CLASSES:
                key = None
            salt = b"" if key is None else str(key).encode(errors="surrogateescape")
            draws = self._draws.setdefault(key, Draws(self._shares, self._seed, salt))
        return draws.next()

    def check(self, column: str | None) -> None:
        """Raise DataError if all rows have one label, of a column that was named."""
        if column is not None and len(self._draws) == 1:
            (only,) = self._draws
            raise DataError(
                f"All rows have the label {only} in column '{column}': choose another column, or "
                "none.", code="class-count", column=column, value=only,
            )  # fmt: skip


class ByGroup:
    """The same share of groups, each kept together. Memory grows with the number of groups."""

    def __init__(self, shares: list[Fraction], seed: int):
        self._draws, self._parts = Draws(shares, seed, b""), dict[Any, int]()

    def part(self, key: Any) -> int:
        """Return the part of the next row, of this group."""
        found = self._parts.get(key)
        if found is None:
            found = self._parts[key] = self._draws.next()
        return found

    def check(self, column: str | None) -> None:
        """Raise DataError if there are too few groups for all parts."""
        if len(self._parts) < 2:
            (only,) = self._parts
            raise DataError(
                f"All rows belong to one group, {only} in column '{column}': a split needs at "
                "least two groups.", code="too-few-rows", column=column, value=only,
            )  # fmt: skip


class ByTime:
    """The latest rows are held out.

    Parameters
    ----------
    shares : of the held-out parts; the first is the latest
    """

    def __init__(self, shares: list[Fraction]):
        self._shares, self._cuts = shares, list[float]()

    def cut(self, given: Iterable[float], what: str) -> None:
        """Find the times that part rows of these times; rows of one time stay together.

        Raises DataError, which names the times as ``what``, if too few differ.
        """
        times = np.fromiter(given, np.float64)
        times.sort()
        if not times.size:
            raise DataError(f"{what} has no rows: give a file with rows.", code="no-rows")
        edges = np.flatnonzero(times[1:] != times[:-1])
        edges += 1  # the first row of each later time
        if edges.size < len(self._shares):
            raise DataError(
                f"{what} has {edges.size + 1} different times in {times.size:,} rows, too few for "
                f"{len(self._shares) + 1} parts.", code="too-few-rows",
            )  # fmt: skip
        held, last = Fraction(0), edges.size
        for number, share in enumerate(self._shares, 1):
            held += share
            least = len(self._shares) - number  # edges to leave for the parts before
            among = edges[least:last]
            goal = float((1 - held) * times.size)
            after = int(np.searchsorted(among, goal))
            near = range(max(0, after - 1), min(after + 1, among.size))
            best = min(near, key=lambda k: abs(among[k] - goal)) + least
            self._cuts.append(float(times[edges[best]]))
            last = best

    def part(self, time: float) -> int:
        """Return the part of a row of this time."""
        for part, cut in enumerate(self._cuts, 1):
            if time >= cut:
                return part
        return 0

    def check(self, column: str | None) -> None:
        """Do nothing: :meth:`cut` has checked the times."""


#: names of the parts
PARTS = ("train", "test", "validation")
#: formats whose files hold lines
TEXT_FORMATS = ("csv", "tsv", "jsonl", "svmlight", "vw")
#: parts of a second in the units of Arrow's times
_PARTS_OF_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class Split(FilesInOrder):
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
        in_order: bool = False, reading: ReadingOptions = AS_USUAL,
    ):  # fmt: skip
        self._column = group or time or (None if in_order else target)
        self._time, self._in_order = time, in_order
        self._dates: bool | None = None  # whether times are dates; None before the first
        self._by: Any = ByClass(shares, seed)
        if time is not None or in_order:
            self._by = ByTime(shares)
        elif group is not None:
            self._by = ByGroup(shares, seed)
        self.rows = [0] * (len(shares) + 1)
        check_separated(paths[0], [format], reading)
        self._reading = reading
        files: list[Any] = [
            TextRecords(path, format, reading, self._column)
            if format in TEXT_FORMATS
            else open_table(path, format)
            for path in paths
        ]
        super().__init__(files)
        self._is_text, self._format = format in TEXT_FORMATS, format
        self._numbers = count()  # of the rows, in the order of all files
        if not self._is_text and self._column is not None:
            for file in self._files:
                check_column(file.path, file.columns(), self._column)
                if time is not None:
                    _check_times(file, time)

    def write(self, files: list[Any]) -> None:
        """Write each row to the binary file of its part.

        Raises DataError for a row that cannot be read, and for a part without rows.
        """
        if isinstance(self._by, ByTime):
            self.stage = "surveying"
            what = self.name if self._in_order else f"{self.name}, column '{self._time}'"
            self._by.cut(self._keys(), what)
            self.stage = "reading"
        if self._is_text:
            self._write_text(files)
        else:
            self._write_tables(files)
        if not sum(self.rows):
            raise DataError(f"{self.name} has no rows: give a file with rows.", code="no-rows")
        self._by.check(self._column)
        for name, rows in zip(PARTS, self.rows, strict=False):
            if not rows:
                raise DataError(
                    f"No row of {self.name} falls into the {name} part: add rows, or choose "
                    "another share.", code="too-few-rows",
                )  # fmt: skip

    def each_file(self) -> Iterator[Any]:
        """Yield the files, from the first row of all."""
        self._numbers = count()
        yield from super().each_file()

    def _keys(self) -> Iterator[Any]:
        for file in self.each_file():
            if self._is_text:
                yield from (self._key(r.cell, file, r.line) for r in file if r.row)
            else:
                for table, start in self._tables(file):
                    yield from self._keys_of(table, file, start)

    def _key(self, cell: Any, file: Any, number: int) -> Any:
        """Return the value that decides the part of the next row; DataError if it is missing.
        ``number`` is the number of its line, or of its row in a file without lines, from 1.
        """
        if self._in_order:
            return float(next(self._numbers))
        if self._column is None and self._format not in ("svmlight", "vw"):
            return None
        if self._time is not None:
            return self._time_of(cell, file, number)
        if self._format in ("svmlight", "vw"):
            return one_spelling(cell)
        if isinstance(cell, list | dict):
            raise DataError(
                f"{self._place(file, number)}, column '{self._column}' holds {cell!r:.60}, which "
                "is neither a number nor text: choose another column.",
                code="bad-value", path=file.path, row=number, column=self._column,
            )  # fmt: skip
        if cell in (None, "") or (isinstance(cell, float) and isnan(cell)) or self._marks(cell):
            raise DataError(
                f"{self._place(file, number)} has no value in column '{self._column}': fill it in.",
                code="missing-value", path=file.path, row=number, column=self._column,
            )  # fmt: skip
        return one_spelling(cell) if self._format in ("csv", "tsv") else cell

    def _marks(self, cell: Any) -> bool:
        """Return whether a cell of CSV is a missing value, as `fit` reads its column."""
        if self._format not in ("csv", "tsv"):
            return False
        return cell in self._reading.null_cells() or (cell in NULL_VALUES and self._of_numbers)

    @cached_property
    def _of_numbers(self) -> bool:
        files = [open_table(each.path, self._format, self._reading) for each in self._files]
        kind = column_types(files)[str(self._column)]
        return family_of(kind) in ("number", "bool")

    def _time_of(self, cell: Any, file: Any, number: int) -> float:
        """Return the time of a row; DataError if it is missing, or numbers and dates are mixed."""
        where, time = f"{self._place(file, number)}, column '{self._time}'", time_of(cell)
        if time is None:
            raise DataError(
                f"{where} holds {cell!r:.60}, which is neither a number nor a date such as "
                "2025-05-31: correct it.",
                code="bad-value", path=file.path, row=number, column=self._time, value=cell,
            )  # fmt: skip
        if self._dates is None:
            self._dates = time.is_date
        if time.is_date != self._dates:
            this, others = ("a date", "numbers") if time.is_date else ("a number", "dates")
            raise DataError(
                f"{where} holds {cell!r:.60}, {this}, but earlier rows hold {others}: write all "
                "times in the same form.",
                code="bad-value", path=file.path, row=number, column=self._time, value=cell,
            )  # fmt: skip
        return time.value

    def _place(self, file: Any, number: int) -> str:
        return f"{file.path} line {number}" if self._is_text else file.where(number - 1)

    def _write_text(self, files: list[Any]) -> None:
        header = None
        for file in self.each_file():
            for record in file:
                if header is None:
                    header = file.header
                    for out in files:
                        out.write(_bytes(header))
                elif file.header.strip() != header.strip():
                    raise DataError(
                        f"{file.path} has a different header than {self._files[0].path}: split "
                        "it separately.", code="mixed-formats", path=file.path,
                    )  # fmt: skip
                part = 0
                if record.row:
                    part = self._by.part(self._key(record.cell, file, record.line))
                    self.rows[part] += 1
                text = record.text if record.text.endswith(("\n", "\r")) else record.text + "\n"
                files[part].write(_bytes(text))

    def _tables(self, file: TableFile) -> Iterator[tuple[pa.Table, int]]:
        """Yield the tables of a file, each with the number of its first row."""
        start, stored = 0, file.columns()
        schema = pa.schema(list(stored.items()))
        for batch in file.chunks(dict.fromkeys(stored, "text")):
            columns = [
                column
                if column.type == kind
                else plain_values(pa.chunked_array([column])).cast(kind)
                for (name, kind), column in zip(stored.items(), batch.columns, strict=True)
            ]
            yield pa.table(columns, schema), start
            start += batch.num_rows

    def _keys_of(self, table: pa.Table, file: TableFile, start: int) -> Iterator[Any]:
        if self._column is None:
            yield from (self._key(None, file, 0) for _ in range(table.num_rows))
            return
        column, name = table.column(self._column), self._column
        dates = self._time is not None and _is_date(column.type)
        place = file.places_from(start)
        cells = _seconds(column) if dates else _cells(column, name, place)
        for row, cell in enumerate(cells):
            yield self._key(cell, file, start + row + 1)

    def _write_tables(self, files: list[Any]) -> None:
        writers: list[Any] = []
        schema = None
        try:
            for file in self.each_file():
                for table, start in self._tables(file):
                    if schema is None:
                        schema = table.schema
                        make = pq.ParquetWriter if self._format == "parquet" else pa.ipc.new_file
                        writers = [make(out, schema) for out in files]
                    elif table.schema != schema:
                        raise DataError(
                            f"{file.path} has different columns than {self._files[0].path}: "
                            "split it separately.", code="mixed-formats", path=file.path,
                        )  # fmt: skip
                    keys = self._keys_of(table, file, start)
                    parts = np.fromiter(map(self._by.part, keys), np.int8, table.num_rows)
                    for part, writer in enumerate(writers):
                        chosen = parts == part
                        self.rows[part] += int(chosen.sum())
                        writer.write_table(table.filter(pa.array(chosen)))
        finally:
            for writer in writers:
                writer.close()


def _is_date(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_timestamp(kind) or pa.types.is_date(kind)


def _check_times(file: TableFile, name: str) -> None:
    """Raise DataError for a column of a type that holds neither numbers nor dates."""
    kind = file.columns()[name]
    assert kind is not None
    if not _is_date(kind) and family_of(kind) not in ("number", "text"):
        raise DataError(
            f"{file.path}, column '{name}' holds values of type {kind}, which are neither "
            "numbers nor dates: choose another column.",
            code="column-type", path=file.path, column=name,
        )  # fmt: skip


def _seconds(column: pa.ChunkedArray) -> list[float | None]:
    """Return the seconds of dates, also of those that Python's cannot hold."""
    column = plain_values(column)
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("s" if pa.types.is_date32(column.type) else "ms"))
    parts = _PARTS_OF_SECOND[column.type.unit]
    whole = column.cast(pa.int64()).to_pylist()
    return [None if number is None else number / parts for number in whole]


def _cells(column: pa.ChunkedArray, name: str, place: Place) -> list[Any]:
    """Return the cells of a column; times are text, since Python's cannot hold all of them.

    Raises DataError where text is not UTF-8.
    """
    if pa.types.is_dictionary(column.type):
        column = plain_values(column)
    kind = column.type
    if pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp(kind.unit))  # whatever the zone
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        return column.cast(pa.string()).to_pylist()
    if family_of(kind) != "text":
        return column.to_pylist()
    codes, values = text_codes(column, name, place)
    return [values[code] if code >= 0 else None for code in codes.tolist()]


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
