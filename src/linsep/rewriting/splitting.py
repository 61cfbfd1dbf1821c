"""Split data into files: rows are copied as they stand, in their order."""

from collections.abc import Iterator
from fractions import Fraction
from math import isnan
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from linsep.errors import DataError
from linsep.rewriting.parts import ByClass, ByGroup, ByTime
from linsep.rewriting.records import TextRecords, time_of
from linsep.sources.limits import MAX_LINE
from linsep.sources.remote.file import File
from linsep.sources.tables.arrow import TableFile
from linsep.sources.tables.csv_records import Fields
from linsep.sources.tables.encoding import plain
from linsep.sources.tables.files import check_separated, open_table
from linsep.sources.tables.roles import check_target

#: names of the parts
PARTS = ("train", "test", "validation")
#: formats whose files hold lines
TEXT = ("csv", "tsv", "jsonl", "svmlight", "vw")


class Split:
    """Splits files of one format.

    Parameters
    ----------
    paths : files, in reading order
    format : what they are, of :data:`linsep.sources.formats.FORMATS`
    shares : Fractions of the rows (or groups) for the test part, and the validation part if any
    seed : of the draws
    target : label column of a table, of whose classes each part gets the same share; None to draw
        from all rows alike (svmlight text and Vowpal Wabbit's have their labels)
    group : column of groups, which stay whole
    time : column of times, numbers or dates; the latest rows are held out
    in_order : whether the last rows are held out
    fields, max_line : of CSV, and of lines

    Attributes
    ----------
    rows : number of rows written to each part
    name, size, position, stage, doing : for progress displays
    """

    doing = None

    def __init__(
        self, paths: list[File], format: str, shares: list[Fraction], *, seed: int,
        target: str | None = None, group: str | None = None, time: str | None = None,
        in_order: bool = False, fields: Fields | None = None, max_line: int | None = None,
    ):  # fmt: skip
        self._column = group or time or (None if in_order else target)
        self._target, self._time, self._in_order = target, time, in_order
        self.stage, self.name = "reading", str(paths[0])
        self._by: Any = ByClass(shares, seed)
        if time is not None or in_order:
            self._by = ByTime(shares)
        elif group is not None:
            self._by = ByGroup(shares, seed)
        self.rows = [0] * (len(shares) + 1)
        fields = fields or Fields()
        check_separated(paths[0], [format], fields)
        how = format, fields, self._column, max_line or MAX_LINE
        self._files: list[Any] = [
            TextRecords(path, *how) if format in TEXT else open_table(path, format)
            for path in paths
        ]
        self._is_text, self._format, self._running = format in TEXT, format, 0
        self.size = sum(path.stat().st_size for path in paths)
        if not self._is_text and self._column is not None:
            for file in self._files:
                check_target(file.path, file.columns(), self._column, [])

    @property
    def position(self) -> int:
        """Bytes on disk read so far."""
        done = sum(file.path.stat().st_size for file in self._files[: self._running])
        return done + self._files[self._running].position

    def write(self, files: list[Any]) -> None:
        """Write each row to the binary file of its part.

        Raises DataError for a row that cannot be read, and for a part without rows.
        """
        if isinstance(self._by, ByTime):
            self.stage = "surveying"
            for time in self._times():
                self._by.add(time)
            self._by.cut(self.name if self._in_order else f"{self.name}, column '{self._time}'")
            self.stage = "reading"
        if self._is_text:
            self._write_text(files)
        else:
            self._write_tables(files)
        if not sum(self.rows):
            raise DataError(f"{self.name} has no rows: give a file with rows.")
        self._by.check(self._column)
        for name, rows in zip(PARTS, self.rows, strict=False):
            if not rows:
                raise DataError(
                    f"No row of {self.name} falls into the {name} part: bring more rows, or choose "
                    "another share."
                )

    def _each_file(self) -> Iterator[Any]:
        for number, file in enumerate(self._files):
            self._running = number
            yield file

    def _times(self) -> Iterator[float]:
        """Yield the time of each row, or its number."""
        for number, key in enumerate(self._keys()):
            yield float(number) if self._in_order else key

    def _keys(self) -> Iterator[Any]:
        for file in self._each_file():
            if self._is_text:
                yield from (self._key(r.cell, file, r.line) for r in file if r.row)
            else:
                for table, start in self._tables(file):
                    yield from self._keys_of(table, file, start)

    def _key(self, cell: Any, file: Any, number: int) -> Any:
        """Return what decides the part of a row; DataError if it has none.

        ``number`` is that of its line, or of its row in a file without lines, from 1.
        """
        if self._in_order or (self._column is None and self._format not in ("svmlight", "vw")):
            return None
        if self._time is not None:
            time = time_of(cell)
            if time is None:
                raise DataError(
                    f"{self._place(file, number)}, column '{self._time}' holds {cell!r:.60}, which "
                    "is no number and no date such as 2025-05-31: correct it."
                )
            return time
        if self._format in ("svmlight", "vw"):
            return cell
        if isinstance(cell, list | dict):
            raise DataError(
                f"{self._place(file, number)}, column '{self._column}' holds {cell!r:.60}, which "
                "is no number and no text: choose another column."
            )
        if cell in (None, "") or (isinstance(cell, float) and isnan(cell)):
            raise DataError(
                f"{self._place(file, number)} has no value in column '{self._column}': fill it in."
            )
        return cell

    def _place(self, file: Any, number: int) -> str:
        return f"{file.path} line {number}" if self._is_text else file.where(number - 1)

    def _write_text(self, files: list[Any]) -> None:
        number, header = 0, None
        for file in self._each_file():
            for record in file:
                if header is None:
                    header = file.header
                    for out in files:
                        out.write(_bytes(header))
                elif file.header.strip() != header.strip():
                    raise DataError(
                        f"{file.path} has another header than {self._files[0].path}: split it on "
                        "its own."
                    )
                part = 0
                if record.row:
                    key = self._key(record.cell, file, record.line)
                    part = self._by.part(float(number) if self._in_order else key)
                    number += 1
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
                else plain(pa.chunked_array([column]), name).cast(kind)
                for (name, kind), column in zip(stored.items(), batch.columns, strict=True)
            ]
            yield pa.table(columns, schema), start
            start += batch.num_rows

    def _keys_of(self, table: pa.Table, file: TableFile, start: int) -> Iterator[Any]:
        if self._column is None:
            yield from [None] * table.num_rows
            return
        for row, cell in enumerate(table.column(self._column).to_pylist()):
            yield self._key(cell, file, start + row + 1)

    def _write_tables(self, files: list[Any]) -> None:
        writers: list[Any] = []
        number, schema = 0, None
        try:
            for file in self._each_file():
                for table, start in self._tables(file):
                    if schema is None:
                        schema = table.schema
                        make = pq.ParquetWriter if self._format == "parquet" else pa.ipc.new_file
                        writers = [make(out, schema) for out in files]
                    elif table.schema != schema:
                        raise DataError(
                            f"{file.path} has other columns than {self._files[0].path}: split it "
                            "on its own."
                        )
                    keys = self._keys_of(table, file, start)
                    parts = np.empty(table.num_rows, np.int8)
                    for row, key in enumerate(keys):
                        parts[row] = self._by.part(float(number) if self._in_order else key)
                        number += 1
                    for part, writer in enumerate(writers):
                        chosen = parts == part
                        self.rows[part] += int(chosen.sum())
                        writer.write_table(table.filter(pa.array(chosen)))
        finally:
            for writer in writers:
                writer.close()


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
