"""JSON lines files: Arrow reads blocks of lines, and Python looks for the row of a fault."""

import json
import sys
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import closing
from typing import Any

import pyarrow as pa
import pyarrow.json

from linsep._system.threads import thread_count
from linsep.errors import DataError, hint
from linsep.sources.lines import scanned_chunks
from linsep.sources.tables.column_types import family_of
from linsep.sources.tables.table_file import SAMPLE_ROWS, Kinds, Others, first_line, reading
from linsep.sources.tables.text_file import ARROW_TYPES, Guess, TextFile, misfit
from linsep.validation.checks import check_names

#: brackets that may be open at once: Arrow's parser calls itself for each, until its stack is full
MOST_DEPTH = 100
#: names of fields that are not read, after which no more are looked for
MOST_NAMES = 3_000


class JsonFile(TextFile):
    """JSON lines: one object per line, its fields the columns. Blank lines are skipped."""

    #: fields that the last reading left out, each with the row where it first occurs
    others: dict[str, int] = {}  # noqa: RUF012 - set by each reading

    def columns(self) -> dict[str, pa.DataType | None]:
        """Return the fields of the objects in the first block."""
        return dict.fromkeys(self.sample().schema.names)

    def head(self) -> pa.RecordBatch:
        """Return the rows of the first block with the types Arrow guesses."""
        with closing(self.blocks()) as blocks:
            first = next((block for block in blocks if not block.isspace()), None)
        if first is None:
            return pa.record_batch([], names=[])
        table = _parsed(first, None, "infer")
        if not isinstance(table, pa.Table):
            raise self._explained(first, table, 0, {}, False)
        with reading(self.path, "UTF-8 text"):
            check_names(self.path, table.schema.names)
        return table.slice(0, SAMPLE_ROWS).combine_chunks().to_batches()[0]

    def _guesses(self, names: list[str]) -> Generator[Guess, None, None]:
        with closing(self.blocks()) as blocks:
            for block in blocks:
                found = None if block.isspace() else _parsed(block, None, "infer")
                if isinstance(found, pa.Table):  # else the fault is said by who reads the rows
                    types = zip(found.schema.names, found.schema.types, strict=True)
                    yield defaultdict(pa.null, types).__getitem__

    def kind_as_written(self, name: str) -> str:
        """Return the kind of the first values: Arrow reads a field of JSON as nothing else."""
        schema = self.sample().schema
        family = family_of(schema.field(name).type) if name in schema.names else None
        return family or "text"

    def chunks(self, kinds: Kinds, others: Others = None) -> Iterator[pa.RecordBatch]:
        """Yield the columns block by block; a field that is not there is null."""
        behavior = "error" if others == [] else "infer"
        known, self.others = {*kinds, *(others or ())}, {}
        for table, block, done in self._tables(kinds, behavior):
            if new := set(table.schema.names) - known - self.others.keys():
                self._place_names(new, block, done)
            if others and self.others:
                name, row = next(iter(self.others.items()))
                raise self._new_field(row, name)
            yield from table.select(list(kinds)).to_batches()

    def _tables(
        self, kinds: Kinds, behavior: str
    ) -> Generator[tuple[pa.Table, bytes, int], None, None]:
        """Yield the rows of each block, several of which are parsed at the same time, with the
        block and how many rows come before it.
        """
        schema = pa.schema([(name, ARROW_TYPES[kind]) for name, kind in kinds.items()])

        def parse(coming: "Future[bytes | None]") -> tuple[bytes, Any] | None:
            block = coming.result()
            return None if block is None else (block, _parsed(block, schema, behavior))

        done, threads = 0, thread_count()
        blocks = (block for block in self.blocks() if not block.isspace())
        with closing(scanned_chunks(blocks, parse, threads, lambda: threads + 2)) as parts:
            for block, table in parts:
                if not isinstance(table, pa.Table):
                    raise self._explained(block, table, done, kinds, behavior == "error")
                yield table, block, done
                done += table.num_rows

    def _place_names(self, names: set[str], block: bytes, done: int) -> None:
        """Note the first row of each of these fields."""
        for row, line in enumerate(_filled(block), done + 1):
            if not names or len(self.others) >= MOST_NAMES:
                return
            here = names & json.loads(line).keys()
            self.others |= dict.fromkeys(sorted(here), row)
            names = names - here

    def present(self, names: Iterable[str]) -> dict[str, pa.DataType | None]:
        """Return the `names` that objects of the first block have; the types of other fields may
        change from row to row.
        """
        with closing(self.blocks()) as blocks:
            missing = _never_in(next(blocks, b""), set(names))
        return {name: None for name in names if name not in missing}

    def absent(self, names: Iterable[str]) -> list[str]:
        """Return the `names` that no record has; reads as far as needed to find them."""
        names = list(names)
        missing = set(names)
        with closing(self.blocks()) as blocks:
            for block in blocks:
                if not (missing := _never_in(block, missing)):
                    break
        return [name for name in names if name in missing]

    def written(self) -> Iterator[dict[str, str]]:
        """Yield the whole numbers of every row, as text by column."""
        for line in self._lines():
            values = json.loads(line, parse_int=_Digits)
            yield {name: value for name, value in values.items() if isinstance(value, _Digits)}

    def _cells(self) -> Iterator[dict[str, Any]]:
        return map(json.loads, self._lines())

    def _lines(self) -> Iterator[bytes]:
        with closing(self.blocks()) as blocks:
            for block in blocks:
                yield from _filled(block)

    def _explained(
        self, block: bytes, error: str, done: int, kinds: Kinds, only: bool
    ) -> DataError:
        """Return the error for a block that cannot be read, after so many rows. With ``only``,
        fields other than ``kinds`` are errors.
        """
        inferred = dict(kinds)
        for row, line in enumerate(_filled(block), done + 1):
            where: dict[str, Any] = {"path": self.path, "row": row}
            fields = _fields(line)
            if fields is None:
                comment = line.lstrip().startswith((b"#", b"//"))
                what = "is a comment, which JSON lines do not have" if comment else error
                return no_object(f"{self.path} row {row}", what, **where)
            if twice := repeated(line):
                return DataError(
                    f"{self.path} row {row} has the field '{twice}' twice", "remove one",
                    code="duplicate-name", column=twice, **where,
                )  # fmt: skip
            for name, value in fields.items():
                if only and name not in kinds:
                    return self._new_field(row, name)
                if value is None or (kinds and name not in kinds):
                    continue
                kind = inferred.setdefault(name, _kind_of(value)).replace("digits", "number")
                if _kind_of(value) != kind:
                    place = f"{self.path} row {row}"
                    return misfit(place, name, json.dumps(value), kind, value=value, **where)
        return no_object(f"{self.path} row {done + 1}", error, path=self.path, row=done + 1)

    def _new_field(self, row: int, name: str) -> DataError:
        return DataError(
            f"{self.path} row {row} has a field '{name}' that the first rows do not have",
            "add it to the first row (null will do)", hint("leave it out with {}", exclude=[name]),
            code="unknown-column", path=self.path, row=row, column=name,
        )  # fmt: skip


def _filled(block: bytes) -> Iterator[bytes]:
    """Return the lines that are not blank."""
    return filter(bytes.strip, block.splitlines())


def _parsed(block: bytes, schema: pa.Schema | None, behavior: str) -> pa.Table | str:
    """Return the rows of a block of whole lines, or why they cannot be read."""
    text = block.rstrip()
    breaks = text.count(b"\n")
    filled = breaks + 1
    if not _is_enclosed(text) or breaks != text.count(b"}\n{"):  # blank lines, or faults
        lines = list(_filled(block))
        filled = len(lines)
        if not all(map(_is_enclosed, lines)):
            return "is not one JSON object"
    if block.count(b"[") + block.count(b"{") - filled >= MOST_DEPTH and any(
        _fields(line) is None
        for line in _filled(block)
        if line.count(b"[") + line.count(b"{") > MOST_DEPTH
    ):
        return f"has values nested more than {MOST_DEPTH} deep"
    try:
        table = _by_arrow(block, schema, behavior)
    except pa.ArrowInvalid as error:
        if schema is None or behavior == "error":
            return f"cannot be read ({first_line(error)})"
        try:  # fields that are not read may change their types
            table = _by_arrow(block, schema, "ignore")
        except pa.ArrowInvalid as other:
            return f"cannot be read ({first_line(other)})"
        names = {name for line in _filled(block) for name in _fields(line) or ()}
        for name in names - set(schema.names):
            table = table.append_column(name, pa.nulls(table.num_rows))
    # Arrow takes two objects in a line.
    return table if table.num_rows == filled else "is not one JSON object"


def _by_arrow(block: bytes, schema: pa.Schema | None, behavior: str) -> pa.Table:
    return pa.json.read_json(
        pa.BufferReader(block),
        read_options=pa.json.ReadOptions(use_threads=False, block_size=len(block) + 1),
        parse_options=pa.json.ParseOptions(
            explicit_schema=schema, unexpected_field_behavior=behavior
        ),
    )


def _is_enclosed(line: bytes) -> bool:
    plain = line.strip(b" \t\r")
    return plain.startswith(b"{") and plain.endswith(b"}")


def _fields(line: bytes) -> dict[str, Any] | None:
    """Return the object in a line; None for anything else, or values that are nested too deep."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and _depth(found) <= MOST_DEPTH else None


def _depth(value: Any) -> int:
    level, depth = [value], 0
    while level := [one for one in level if isinstance(one, dict | list)]:
        depth += 1
        level = [x for one in level for x in (one.values() if isinstance(one, dict) else one)]
    return depth


class _Digits(str):
    """A whole number as it is written."""

    __slots__ = ()


def _never_in(block: bytes, names: set[str]) -> set[str]:
    """Return the `names` that are not a field of any object in the block."""
    for line in _filled(block):
        if not names:
            break
        names = names - (_fields(line) or {}).keys()
    return names


def no_object(place: str, what: str = "is not one JSON object", **fields: Any) -> DataError:
    """Return the error for a line that holds something else."""
    return DataError(f"{place} {what}", "write one object per line", code="bad-line", **fields)


def repeated(line: bytes | str) -> str | None:
    """Return a name that an object in a line of JSON has twice; parsers keep only one of them."""
    found: list[str] = []

    def look(pairs: list[tuple[str, object]]) -> dict[str, object]:
        names = [name for name, _ in pairs]
        found.extend(name for name in names if names.count(name) > 1)
        return dict(pairs)

    json.loads(line, object_pairs_hook=look)
    return found[0] if found else None


def _kind_of(value: object) -> str:
    """Return the kind of a JSON value; "other" for lists, objects and numbers out of range."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "text"
    # A number that overflows float64 is read as infinity or as a very long whole number.
    if isinstance(value, int | float) and -sys.float_info.max <= value <= sys.float_info.max:
        return "number"
    return "other"
