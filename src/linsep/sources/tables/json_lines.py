"""JSON lines files."""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import closing, suppress
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json

from linsep._system.threads import thread_count
from linsep.errors import DataError, hint
from linsep.sources.lines import scanned_chunks
from linsep.sources.remote.file import File
from linsep.sources.tables.column_types import family_of
from linsep.sources.tables.table_file import SAMPLE_ROWS, Kinds, Others, first_line, reading
from linsep.sources.tables.text_file import ARROW_TYPES, Guess, TextFile, misfit
from linsep.validation.values import check_names

#: brackets that may be open at once: parsers call themselves for each, until their stack is full
MOST_DEPTH = 100
#: names other than known ones, after which no more are looked for
MOST_NAMES = 3_000
#: the rest of a string, without its closing quote
_STRING = re.compile(rb'(?:[^"\\]|\\.)*', re.DOTALL)


class FieldNames:
    """Names of fields other than known ones, as they turn up in blocks of lines.

    Attributes
    ----------
    rows : dict of name to the row that it is first in
    """

    def __init__(self, known: Iterable[str]):
        self.rows: dict[str, int] = {}
        names = list(known)
        self._known = frozenset(names)
        self._hashes = np.array([_hash(name.encode()) for name in names], np.uint64)

    def look_at(self, block: bytes, row_at: Callable[[int], int]) -> None:
        """Take the names in a block of lines that are one object each."""
        from linsep.compiled.scanners.json_lines import next_field

        text, at = np.frombuffer(block, np.uint8), 0
        while len(self.rows) < MOST_NAMES:
            at = next_field(text, at, len(block), self._hashes)
            if at == len(block):
                return
            written = _STRING.match(block, at)[0]  # type: ignore[index]
            self._hashes = np.append(self._hashes, np.uint64(_hash(written)))
            with suppress(ValueError):  # which the parser explains
                name = json.loads(b'"%b"' % written)
                if name not in self._known:  # as it is where letters are escaped
                    self.rows.setdefault(name, row_at(at))
            at = block.rfind(b"\n", 0, at) + 1


class JsonFile(TextFile):
    """JSON lines: one object per line, its fields the columns. Blank lines are skipped."""

    #: fields that are not read, of the last reading; None before it
    _others: FieldNames | None = None

    def columns(self) -> dict[str, pa.DataType | None]:
        """Return the fields of the objects in the first block."""
        return dict.fromkeys(self.sample().schema.names)

    def head(self) -> pa.RecordBatch:
        """Return the rows of the first block with the types Arrow guesses."""
        with closing(self.blocks()) as blocks:
            first = next((block for block in blocks if not block.isspace()), None)
        if first is None:
            return pa.record_batch([], names=[])
        table = self._parse(first, None, "infer")
        if not isinstance(table, pa.Table):
            raise self._explained(first, table, 0, {}, False)
        with reading(self.path, "UTF-8 text"):
            check_names(self.path, table.schema.names)
        return table.slice(0, SAMPLE_ROWS).combine_chunks().to_batches()[0]

    def _guesses(self, names: list[str]) -> Generator[Guess, None, None]:
        with closing(self.blocks()) as blocks, suppress(pa.ArrowInvalid):  # said by who reads it
            for block in blocks:
                if not block.isspace():
                    found = _parsed(block, None, "infer").schema
                    types = zip(found.names, found.types, strict=True)
                    yield defaultdict(pa.null, types).__getitem__

    def kind_as_written(self, name: str) -> str:
        """Return the kind of the first values: Arrow reads a field of JSON as nothing else."""
        schema = self.sample().schema
        family = family_of(schema.field(name).type) if name in schema.names else None
        return family or "text"

    def chunks(self, kinds: Kinds, others: Others = None) -> Iterator[pa.RecordBatch]:
        """Yield the columns block by block; a field that is not there is null."""
        # Arrow detects additional fields fastest, but cannot ignore them.
        behavior = "error" if others == [] else "ignore"
        self._others = None if others == [] else FieldNames([*kinds, *(others or ())])
        schema = pa.schema([(name, ARROW_TYPES[kind]) for name, kind in kinds.items()])
        for table in self._tables(kinds, schema, behavior):
            if others and (found := self.others):
                name, row = next(iter(found.items()))
                raise _new_field(self.path, row, name)
            yield from table.select(list(kinds)).to_batches()

    def _tables(
        self, kinds: Kinds, schema: pa.Schema | None, behavior: str
    ) -> Generator[pa.Table, None, None]:
        """Yield the rows of each block, several of which are parsed at the same time."""

        def parse(
            coming: "Future[bytes | None]",
        ) -> tuple[bytes, pa.Table | pa.ArrowInvalid] | None:
            block = coming.result()
            return None if block is None else (block, self._parse(block, schema, behavior))

        done, threads = 0, thread_count()
        blocks = (block for block in self.blocks() if not block.isspace())
        with closing(scanned_chunks(blocks, parse, threads, lambda: threads + 2)) as parts:
            for block, table in parts:
                if not isinstance(table, pa.Table):
                    raise self._explained(block, table, done, kinds, behavior == "error")
                if self._others is not None:
                    self._others.look_at(block, partial(_row_at, block, done))
                done += table.num_rows
                if table.num_rows:
                    yield table

    def _parse(
        self, block: bytes, schema: pa.Schema | None, behavior: str
    ) -> pa.Table | pa.ArrowInvalid | None:
        """Return the rows of a block, or what Arrow says of it; None where it must not see it."""
        try:
            return None if self._fault(block) else _parsed(block, schema, behavior)
        except pa.ArrowInvalid as error:
            return error

    @property
    def others(self) -> dict[str, int]:
        """Fields that the last reading left out, each with the row where it first occurs."""
        return {} if self._others is None else dict(self._others.rows)

    def present(self, names: Iterable[str]) -> dict[str, pa.DataType | None]:
        """Return the `names` that objects of the first block have.

        Guessing the types of all fields, as :meth:`columns` does, would let Arrow make a column of
        each: of a file with a new field in every line, rows times rows values.
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
                yield from filter(bytes.strip, block.splitlines())

    def _fault(self, block: bytes) -> tuple[int, str] | None:
        """Return the place of a line that Arrow's parser must not see, which may crash, and what
        it is; None if there is none.
        """
        from linsep.compiled.scanners.json_lines import FINE, TOO_DEEP, look_at_lines

        ended, at = look_at_lines(np.frombuffer(block, np.uint8), len(block), MOST_DEPTH)
        if ended == FINE:
            return None
        deep = f"has values nested more than {MOST_DEPTH} deep"
        return at, deep if ended == TOO_DEEP else "is not one JSON object"

    def _explained(
        self, block: bytes, error: pa.ArrowInvalid | None, done: int, kinds: Kinds, only: bool
    ) -> DataError:
        """Return the error for a block that cannot be read, after so many rows. With ``only``,
        fields other than ``kinds`` are errors.
        """
        if error is None:
            at, what = self._fault(block) or (0, "")
            row, line = _row_at(block, done, at), block[block.rfind(b"\n", 0, at + 1) + 1 :][:100]
        elif only and "unexpected field" in str(error):  # without its row
            for row, line in enumerate(filter(bytes.strip, block.splitlines()), done + 1):
                if other := json.loads(line).keys() - kinds.keys():
                    return _new_field(self.path, row, min(other))
            return self._no_object(done + 1, "cannot be read")
        elif (found := _ROW.search(str(error))) is None:
            return self._no_object(done + 1, f"cannot be read ({first_line(error)})")
        else:
            row, what = done + int(found[1]) + 1, f"cannot be read ({first_line(error)})"
            line = next(islice(filter(bytes.strip, block.splitlines()), int(found[1]), None), b"")
        if line.lstrip().startswith((b"#", b"//")):
            what = "is a comment, which JSON lines do not have"
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError):
            fields = None
        if error is None or not isinstance(fields, dict):
            return self._no_object(row, what)
        where: dict[str, Any] = {"path": self.path, "row": row}
        if twice := repeated(line):
            return DataError(
                f"{self.path} row {row} has the field '{twice}' twice", "remove one",
                code="duplicate-name", column=twice, **where,
            )  # fmt: skip
        # Still inferring, Arrow says of which column the kind has changed.
        changed = re.search(r"Column\(/([^/)]*).*\) (?:changed from (\w+)|was)", str(error))
        inferred = {changed[1]: _KINDS.get(changed[2], "other")} if changed and not kinds else {}
        for name, value in fields.items():
            kind = (kinds or inferred).get(name)
            if kind is None and only:
                return _new_field(self.path, row, name)
            if kind is not None and value is not None and _kind_of(value) != kind:
                place = f"{self.path} row {row}"
                return misfit(place, name, json.dumps(value), kind, value=value, **where)
        return self._no_object(row, what)

    def _no_object(self, row: int, what: str) -> DataError:
        return no_object(f"{self.path} row {row}", what, path=self.path, row=row)


#: the row of a block, from 0, that Arrow says
_ROW = re.compile(r" in row (\d+)")
_KINDS = {"number": "number", "string": "text", "boolean": "bool"}


def _parsed(block: bytes, schema: pa.Schema | None, behavior: str) -> pa.Table:
    """Return the rows of a block of whole lines."""
    return pa.json.read_json(
        pa.BufferReader(block),
        read_options=pa.json.ReadOptions(use_threads=False, block_size=len(block) + 1),
        parse_options=pa.json.ParseOptions(
            explicit_schema=schema, unexpected_field_behavior=behavior
        ),
    )


def _row_at(block: bytes, done: int, at: int) -> int:
    """Return the number of the row that has a byte of a block, after so many rows."""
    start = block.rfind(b"\n", 0, at + 1) + 1 if block[at : at + 1] != b"\n" else at
    return done + 1 + sum(1 for line in block[:start].splitlines() if line.strip())


class _Digits(str):
    """A whole number as it is written."""

    __slots__ = ()


def _never_in(block: bytes, names: set[str]) -> set[str]:
    """Return the `names` that are not a field of any object in the block."""
    for line in block.splitlines():
        if not names:
            break
        with suppress(ValueError, RecursionError):  # which the parser explains
            fields = json.loads(line)
            names = names - fields.keys() if isinstance(fields, dict) else names
    return names


def _new_field(path: File, row: int, name: str) -> DataError:
    return DataError(
        f"{path} row {row} has a field '{name}' that the first rows do not have",
        "add it to the first row (null will do)", hint("leave it out with {}", exclude=[name]),
        code="unknown-column", path=path, row=row, column=name,
    )  # fmt: skip


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


def _hash(name: bytes) -> int:
    """Return the hash by which ``next_field`` knows a name."""
    found = 0x811C9DC5
    for byte in name:
        found = ((found ^ byte) * 0x1000193) & ((1 << 39) - 1)
    return found
