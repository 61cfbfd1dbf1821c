"""JSON lines files: Arrow reads blocks of lines, and Python looks for the row of a fault."""

import json
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from linsep.errors import DataError, hint
from linsep.sources.formats import first_line
from linsep.sources.tables.columns import family_of
from linsep.sources.tables.table_file import Kinds, Others, reading
from linsep.sources.tables.text_file import ARROW_TYPES, TextFile
from linsep.validation.checks import check_names

#: where Arrow's errors name a row of the block
_ROW = re.compile(r"in row (\d+)$")
_KINDS = {bool: "bool", str: "text", int: "number", float: "number"}


class JsonFile(TextFile):
    """JSON lines: one object per line, its fields the columns. Blank lines are skipped."""

    others: dict[str, int] = {}  # noqa: RUF012 - set by each reading

    @cached_property
    def _names(self) -> dict[str, Any]:
        rows = map(_fields, _filled(next(self.records(), b"")))
        return dict.fromkeys(chain.from_iterable(fields or () for fields in rows))

    def columns(self) -> dict[str, pa.DataType | None]:
        return dict(self._names)

    def head(self) -> pa.RecordBatch:
        with reading(self.path, "UTF-8 text"):
            if (found := self._first()) is None:
                return pa.record_batch([], names=[])
            check_names(self.path, found.schema.names)
            return found

    def _parsed(self, rows: bytes, names: list[str] | None = None) -> pa.Table:
        return _parsed(rows, None)

    def kind_as_written(self, name: str) -> str:
        """Return the kind of the first values: Arrow reads a field of JSON as nothing else."""
        schema = self.sample().schema
        family = family_of(schema.field(name).type) if name in schema.names else None
        return family or "text"

    def chunks(self, kinds: Kinds, others: Others = None) -> Iterator[pa.RecordBatch]:
        known, self.others = {*kinds, *(others or ())}, {}
        schema = pa.schema([(name, ARROW_TYPES[kind]) for name, kind in kinds.items()])
        for table, done in self._tables(lambda rows: _parsed(rows, schema), kinds):
            for name in sorted(set(table.schema.names) - known - self.others.keys()):
                first = pc.index(table.column(name).is_valid(), True).as_py()
                self.others[name] = done + 1 + max(0, first)
            if others is not None and self.others:
                name = min(self.others, key=self.others.__getitem__)
                raise self.error(
                    f" has a field '{name}' that the first rows do not have",
                    "add it to the first row (null will do)",
                    hint("leave it out with {}", exclude=[name]),
                    code="unknown-column", row=self.others[name], column=name,
                )  # fmt: skip
            yield from table.select(list(kinds)).to_batches()

    def cells(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        for block in self.records():
            rows = [*map(json.loads, _filled(block))]
            yield pa.RecordBatch.from_pydict(
                {name: _together([row.get(name) for row in rows]) for name in names}
            )

    def _explained(self, rows: bytes, error: str, done: int, kinds: Any) -> DataError:
        inferred = dict(kinds)
        for row, line in enumerate(_filled(rows), done + 1):
            if (fields := _fields(line)) is None:
                said, one = " is not one JSON object", "write one object per line"
                return self.error(said, one, code="bad-line", row=row)
            names = [name for name, _ in json.loads(line, object_pairs_hook=list)]
            for name in sorted({*names}, key=names.count)[-1:] if len(names) > len(fields) else ():
                said = f" has the field '{name}' twice"
                return self.error(said, "remove one", code="duplicate-name", row=row, column=name)
            for name, value in fields.items():
                if value is None or (kinds and name not in kinds):
                    continue
                kind = inferred.setdefault(name, _kind_of(value)).replace("digits", "number")
                if _kind_of(value) != kind:
                    return self._misfit(row, name, json.dumps(value), kind, value=value)
        found = _ROW.search(error)
        said = f" cannot be read ({first_line(error)})"
        row = done + 1 + int(found[1] if found else 0)
        return self.error(said, "write one object per line", code="bad-line", row=row)


def _filled(block: bytes) -> Iterator[bytes]:
    return filter(None, (line.strip(b" \t") for line in block.splitlines()))


def _parsed(rows: bytes, schema: pa.Schema | None) -> pa.Table:
    # Arrow takes two objects in a line, and some lines without an object end the process.
    count = rows.count(b"}\n{") + 1
    if count <= rows.strip().count(b"\n") or not _is_enclosed(rows.strip()):
        lines = [*_filled(rows)]
        if not all(map(_is_enclosed, lines)):
            raise pa.ArrowInvalid("a line is no object")
        count = len(lines)

    def by_arrow(others: str) -> pa.Table:
        return pa.json.read_json(
            pa.BufferReader(rows),
            read_options=pa.json.ReadOptions(use_threads=False, block_size=len(rows) + 1),
            parse_options=pa.json.ParseOptions(
                explicit_schema=schema, unexpected_field_behavior=others
            ),
        )

    try:
        table = by_arrow("infer")
    except pa.ArrowInvalid:
        if schema is None:
            raise
        table = by_arrow("ignore")  # fields that are not read may change their types
        objects = [_fields(line) or {} for line in _filled(rows)][: table.num_rows]
        for name in set[str]().union(*objects) - {*schema.names}:
            there = pa.array([True if name in fields else None for fields in objects])
            table = table.append_column(name, there)
    if table.num_rows != count:
        raise pa.ArrowInvalid("a line has two objects")
    return table


def _is_enclosed(line: bytes) -> bool:
    return line.startswith(b"{") and line.endswith(b"}")


def _fields(line: bytes) -> dict[str, Any] | None:
    """Return the object in a line; None for anything else."""
    with suppress(ValueError, RecursionError):
        return json.loads(line) if _is_enclosed(line) else None
    return None


def _together(cells: list[Any]) -> pa.Array:
    """Return the cells of a column, as JSON if their types differ."""
    try:
        return pa.array(cells)
    except (pa.ArrowException, OverflowError):  # a whole number beyond 64 bits
        return pa.array([c if isinstance(c, str | None) else json.dumps(c) for c in cells])


def _kind_of(value: object) -> str:
    """Return the kind of a JSON value; "other" for lists, objects and numbers out of range."""
    # A number that overflows float64 is read as infinity or as a very long whole number.
    if isinstance(value, int | float) and abs(value) > sys.float_info.max:
        return "other"
    return _KINDS.get(type(value), "other")
