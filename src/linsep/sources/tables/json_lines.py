"""JSON lines files."""

import io
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, suppress
from itertools import chain, islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json

from linsep.errors import DataError, hint
from linsep.sources.remote.file import File
from linsep.sources.tables.column_types import family_of
from linsep.sources.tables.table_file import SAMPLE_ROWS, Kinds, Others, reading
from linsep.sources.tables.text_file import ARROW_TYPES, LARGEST_BLOCK, Guess, TextFile, misfit
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
    lines : dict of name to the line that it is first in
    """

    def __init__(self, known: Iterable[str]):
        self.lines: dict[str, int] = {}
        names = list(known)
        self._known = frozenset(names)
        self._hashes = np.array([_hash(name.encode()) for name in names], np.uint64)

    def look_at(self, block: bytes, line_at: Callable[[int], int]) -> None:
        """Take the names in a block of lines that are one object each."""
        from linsep.compiled.scanners.json_lines import next_field

        text, at = np.frombuffer(block, np.uint8), 0
        while len(self.lines) < MOST_NAMES:
            at = next_field(text, at, len(block), self._hashes)
            if at == len(block):
                return
            written = _STRING.match(block, at)[0]  # type: ignore[index]
            self._hashes = np.append(self._hashes, np.uint64(_hash(written)))
            with suppress(ValueError):  # which the parser explains
                name = json.loads(b'"%b"' % written)
                if name not in self._known:  # as it is where letters are escaped
                    self.lines.setdefault(name, line_at(at))
            at = block.rfind(b"\n", 0, at) + 1


class JsonFile(TextFile):
    """JSON lines: one object per line, its fields the columns. Blank lines are skipped."""

    #: fields that are not read, of the last reading; None before it
    _others: FieldNames | None = None

    def columns(self) -> dict[str, pa.DataType | None]:
        """Return the fields of the objects in the first block."""
        return dict.fromkeys(self.head().schema.names)

    def head(self) -> pa.RecordBatch:
        """Return the rows of the first block with the types Arrow guesses."""
        options = pa.json.ParseOptions(unexpected_field_behavior="infer")
        with closing(self._read(self._first_blocks(), options, {})) as batches:
            for batch in batches:
                if batch.num_rows:
                    with reading(self.path, "UTF-8 text"):
                        check_names(self.path, batch.schema.names)
                    return batch.slice(0, SAMPLE_ROWS)
        return pa.record_batch([], names=[])

    def _guesses(self, names: list[str]) -> Generator[Guess, None, None]:
        options = pa.json.ReadOptions(block_size=LARGEST_BLOCK)
        with closing(self.blocks()) as blocks, suppress(pa.ArrowInvalid):  # said by who reads it
            for block in blocks:
                found = pa.json.read_json(io.BytesIO(block), read_options=options).schema
                yield defaultdict(pa.null, zip(found.names, found.types, strict=True)).__getitem__

    def kind_as_written(self, name: str) -> str:
        """Return the kind of the first values: Arrow reads a field of JSON as nothing else."""
        schema = self.sample().schema
        family = family_of(schema.field(name).type) if name in schema.names else None
        return family or "text"

    def chunks(self, kinds: Kinds, others: Others = None) -> Iterator[pa.RecordBatch]:
        """Yield the columns block by block; a field that is not there is null."""
        schema = pa.schema([(name, ARROW_TYPES[kind]) for name, kind in kinds.items()])
        options = pa.json.ParseOptions(
            explicit_schema=schema,
            # Arrow detects additional fields fastest, but cannot ignore them.
            unexpected_field_behavior="error" if others == [] else "ignore",
        )
        self._others = None if others == [] else FieldNames([*kinds, *(others or ())])
        for batch in self._read(self._parsed_blocks(), options, kinds):
            if others and (found := self.others):
                name, line = next(iter(found.items()))
                raise _new_field(self.path, line, name)
            yield batch.select(list(kinds))

    @property
    def others(self) -> dict[str, int]:
        """Fields that the last reading left out, each with the line where it first occurs."""
        return {} if self._others is None else dict(self._others.lines)

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
        for _, raw in self._rows():
            values = json.loads(raw, parse_int=_Digits)
            yield {name: value for name, value in values.items() if isinstance(value, _Digits)}

    def _cells(self) -> Iterator[dict[str, Any]]:
        return (json.loads(raw) for _, raw in self._rows())

    def _read(
        self, blocks: Generator[bytes, None, None], options: pa.json.ParseOptions, kinds: Kinds
    ) -> Generator[pa.RecordBatch, None, None]:
        if next(self._rows(), None) is None:
            return
        yield from self._checked(
            blocks,
            lambda stream: pa.json.open_json(
                stream,
                read_options=pa.json.ReadOptions(block_size=LARGEST_BLOCK),
                parse_options=options,
            ),
            lambda error, done: self._explain(
                done, kinds, options.unexpected_field_behavior == "error"
            ),
        )

    def _explain(self, done: int, kinds: Kinds, only: bool) -> DataError | None:
        """Find the first line after `done` rows that does not fit; None when all seem to fit.
        With ``only``, fields other than ``kinds`` are errors.
        """
        known = dict(kinds)
        for line, raw in islice(self._rows(), done, None):
            place = f"{self.path} line {line}"
            try:
                fields = json.loads(raw)
            except (ValueError, RecursionError):
                fields = None
            if not isinstance(fields, dict):
                return no_object(place, raw, path=self.path, row=line)
            if twice := repeated(raw):
                return DataError(
                    f"{place} has the field '{twice}' twice",
                    "remove one",
                    code="duplicate-name", path=self.path, row=line, column=twice,
                )  # fmt: skip
            for name, value in fields.items():
                if (
                    not kinds and value is not None
                ):  # still inferring: the first value determines the kind
                    known.setdefault(name, _kind_of(value))
                kind = known.get(name)
                if kind is None and only:
                    return _new_field(self.path, line, name)
                if kind is not None and value is not None and _kind_of(value) != kind:
                    return misfit(
                        place, name, json.dumps(value), kind,
                        path=self.path, row=line, value=value,
                    )  # fmt: skip
        return None

    def _look_at(self, block: bytes, line_at: Callable[[int], int]) -> None:
        """Refuse text other than one object per line before Arrow's parser reads it, which may
        crash."""
        from linsep.compiled.scanners.json_lines import FINE, TOO_DEEP, look_at_lines

        ended, at = look_at_lines(np.frombuffer(block, np.uint8), len(block), MOST_DEPTH)
        if ended == FINE:
            if self._others is not None:
                self._others.look_at(block, line_at)
            return
        line = line_at(at)
        place = f"{self.path} line {line}"
        if ended == TOO_DEEP:
            raise DataError(
                f"{place} has values nested more than {MOST_DEPTH} deep",
                "leave them out",
                code="bad-line", path=self.path, row=line,
            )  # fmt: skip
        start = block[block.rfind(b"\n", 0, at + 1) + 1 :][:100]
        raise no_object(place, start, path=self.path, row=line)

    def _rows(self) -> Iterator[tuple[int, bytes]]:
        """Yield each line that is not blank with its number."""
        with closing(self.blocks()) as blocks:
            lines = chain.from_iterable(map(io.BytesIO, blocks))
            yield from ((number, line) for number, line in enumerate(lines, 1) if line.strip())


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


def _new_field(path: File, line: int, name: str) -> DataError:
    return DataError(
        f"{path} line {line} has a field '{name}' that the first lines do not have",
        "add it to the first line (null will do)", hint("leave it out with {}", exclude=[name]),
        code="unknown-column", path=path, row=line, column=name,
    )  # fmt: skip


def no_object(place: str, line: bytes = b"", **fields: Any) -> DataError:
    """Return the error for a line that holds something else."""
    if line.lstrip().startswith((b"#", b"//")):
        return DataError(
            f"{place} is a comment, which JSON lines do not have",
            "remove it",
            code="bad-line",
            **fields,
        )
    return DataError(
        f"{place} is not one JSON object", "write one object per line", code="bad-line", **fields
    )


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
