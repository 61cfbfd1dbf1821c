"""Rows of requests, as JSON or files, read exactly like the training data of the model.

Rows in JSON become a table, which the encoder of tables reads, or lines of text. Lines, and files
(CSV, JSON lines, Arrow, svmlight and Vowpal Wabbit's text), are written to a temporary file, which
the sources of :func:`linsep.open_source` read.
"""

import reprlib
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from linsep._system.files import process_mark
from linsep.batches import Batch
from linsep.errors import DataError, LinsepError
from linsep.serving.limits import Budget
from linsep.sources import Source, open_source
from linsep.sources.tables import ReadingOptions, converted, from_recipe
from linsep.sources.tables.columns import Columns, to_recipe
from linsep.sources.tables.encoding import Encoder
from linsep.validation.checks import EXACT
from linsep.words import counted, either

#: the kinds of columns in JSON's words
KINDS = {"number": "number", "bool": "boolean", "text": "string"}
#: which values JSON has for them; Arrow takes true and false for numbers
_FITS: dict[str, Any] = {
    "number": lambda value: type(value) is not bool, "bool": (0, 1, None).__contains__,
    "text": lambda value: True,
}  # fmt: skip
#: bytes of memory of a value: a double
VALUE_BYTES = 8
#: formats of tables by content type
TABLES = {
    b"text/csv": "csv",
    b"text/tab-separated-values": "tsv",
    b"application/jsonl": "jsonl",
    b"application/x-ndjson": "jsonl",
    b"application/vnd.apache.arrow.stream": "arrow",
    b"application/vnd.apache.arrow.file": "arrow",
}
THE_BODY = "the body"

Opened = AbstractContextManager[Source]


class RequestRows(Source):
    """Features of rows in JSON, numbers of unseen values by column, and which rows have gaps."""

    name, kind, unseen = THE_BODY, "json", None  # type: ignore[assignment]

    def __init__(self, X: Any, unseen: dict[str, int], unanswered: np.ndarray | None = None):
        self.X, self.unseen, self._unanswered = X, unseen, unanswered

    def batches(self) -> Iterator[Batch]:
        """Yield all rows."""
        yield Batch(self.X, None, 0, unanswered=self._unanswered)

    def where(self, row: int) -> str:
        """Return the place of the row in the request, such as ``rows[3]``."""
        return row_place(row)

    def options(self) -> dict[str, Any]:
        """Return nothing: these rows are never cached on disk."""
        return {}

    def recipe(self) -> dict[str, Any]:
        """Return that the rows are in memory, already read with the recipe of the model."""
        return {"format": "arrays"}


def row_place(row: int) -> str:
    """Return the place of a row in the JSON of a request."""
    return f"rows[{row}]"


def start_of(value: Any) -> str:
    """Return the first characters of a value, which may be nested deeply."""
    return reprlib.repr(value)[:60]


def bad_row(number: int, what: str, code: str, column: str | None = None) -> DataError:
    """Return the error of a row in JSON."""
    place = row_place(number) + (f", column '{column[:60]}' " if column is not None else " ")
    return DataError(place + what, code=code, row=number, column=column)


class TableReader:
    """Reads JSON rows of a model trained on a table or on arrays.

    Attributes
    ----------
    kinds : dict of column to its kind, see `KINDS`
    formats : dict of media type of a file of rows to its format; empty if columns have no names
    recipe : how such files are read
    """

    def __init__(self, model: Any, recipe: dict[str, Any]):
        names: Any = getattr(model, "feature_names_in_", None)
        others = set[str | None]()
        table = recipe["format"] == "table"
        self._named = table or names is not None
        if table:
            columns = from_recipe(recipe)
            others = {*columns.exclude, columns.target, *dict(columns.beside)}
        else:
            names = names if self._named else [f"feature {j}" for j in range(model.n_features_in_)]
            columns = Columns(dict.fromkeys(map(str, names), "number"), {}, None, None)
        if columns.missing == "drop":
            columns.missing = "error"  # there is one prediction per row
        self.formats = TABLES if self._named else {}
        self.recipe = recipe if table else to_recipe(columns)
        self._columns, self._spelling = columns, ReadingOptions().or_of(recipe).spelling
        dates = [name for name, how in columns.converted.items() if how != "number"]
        self.kinds = columns.inputs | dict.fromkeys(dates, "text")
        self._known = others | set(self.kinds)
        self._plain = "bool" not in self.kinds.values() and not (
            columns.text or columns.words or dates or columns.formula or columns.products
        )
        self._scale = np.array(list(columns.scale.values()), columns.dtype).T

    def normal(self, rows: list[Any], budget: Budget) -> list[Any]:
        """Return rows, lists or objects, as lists of values in the order of the columns."""
        # A row without values is two bytes of the body, whatever the width of the model.
        budget.hold(len(rows) * len(self.kinds) * VALUE_BYTES)
        return [self._values(number, row) for number, row in enumerate(rows)]

    def _values(self, number: int, row: Any) -> list[Any]:
        if type(row) is list and len(row) == len(self.kinds):
            return row
        if type(row) is not dict or not self._named:
            ways = [f"a list of {counted(len(self.kinds), 'value')}"]
            ways += ["an object of values by column name"] * self._named
            raise bad_row(number, f"is {start_of(row)}: give {either(ways)}.", "shape")
        if row.keys() <= self._known:
            return [row.get(name) for name in self.kinds]
        unknown = next(name for name in row if name not in self._known)
        near = get_close_matches(unknown, self.kinds, 1)
        advice = f"did you mean {near[0]!r}?" if near else "GET /model lists its columns."
        what = f"is not a column of the model: {advice}"
        raise bad_row(number, what, "unknown-column", unknown)

    def opened(self, rows: list[Any], budget: Budget, missing: str = "error") -> Opened:
        """Open rows of :meth:`normal`; with ``missing`` "skip", those with gaps stay unanswered."""
        if self._plain and (X := self._numbers(rows)) is not None:
            return nullcontext(RequestRows(X, {}))
        columns = replace(self._columns, missing=missing) if missing == "skip" else self._columns
        values = zip(self.kinds, zip(*rows, strict=True), strict=True)
        table = pa.table({name: self._column(name, cells) for name, cells in values})
        table = converted(table, columns.converted, self._spelling, row_place, {})
        encoder = Encoder(columns, False)
        batch, _ = encoder.encode(table, row_place)
        return nullcontext(RequestRows(batch.X, encoder.unseen, batch.unanswered))

    def _numbers(self, rows: list[Any]) -> np.ndarray | None:
        """Return complete rows of numbers like :class:`Encoder`, but faster; None for others."""
        with suppress(ValueError), np.errstate(over="ignore"):
            X, truths = np.array(rows), any(bool in map(type, row) for row in rows)
            if X.dtype.kind in "fiu" and X.ndim == 2 and not truths:
                X = X.astype(self._columns.dtype, copy=False)
                if np.isfinite(X).all() and max(X.max(), -X.min()) < EXACT:
                    return (X - self._scale[0]) / self._scale[1] if self._scale.size else X
        return None

    def _column(self, name: str, values: Any) -> pa.Array:
        """Return the values of a column; numbers may be in text if they were in training."""
        kind, types = self.kinds[name], {*map(type, values)}
        if name in self._columns.categorical:
            values = [
                pa.scalar(value).cast(pa.string()).as_py()
                if type(value) in (int, float, bool) else value
                for value in values
            ]  # fmt: skip
        elif name in self._columns.converted and str in types:
            kind = "text"
        stored = pa.string() if kind == "text" else pa.float64()
        with suppress(pa.ArrowException):
            if all(map(_FITS[kind], values)):
                return pa.array(values, stored)
        number = 0
        with suppress(pa.ArrowException):
            while _FITS[kind](values[number]) and len(pa.array([values[number]], stored)):
                number += 1
        value, what, code = values[number], f"not a {KINDS[kind]} as in training", "bad-value"
        if type(value) is int and kind == "number":
            what, code = "which is not exactly representable as float64", "not-exact"
        raise bad_row(number, f"holds {start_of(value)}, {what}: correct it.", code, name)

    def example(self) -> Any:
        """Return an example row."""
        row, formula = dict[str, Any](), self._columns.formula
        for name, kind in self.kinds.items():
            format = self._columns.converted.get(name, "").partition("=")[2] or "%Y-%m-%d"
            known = next(iter(self._columns.text.get(name, ())), date(2024, 1, 31).strftime(format))
            level = None if formula is None else formula.example(name)
            row[name] = level or {"number": 0.5, "bool": True, "text": known}[kind]
        return row if self._named else list(row.values())

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of a row."""
        known = {name: {"type": KINDS[kind]} for name, kind in self.kinds.items()}
        width = len(known)
        lists = {"type": ["array", "object"], "minItems": width, "maxItems": width}
        return lists | ({"properties": known} if self._named else {"items": {"type": "number"}})


class LineReader:
    """Reads JSON rows of a model trained on Vowpal Wabbit's or svmlight text: lines, and of
    svmlight text also objects of values by index, or lists of all values.
    """

    def __init__(self, model: Any, recipe: dict[str, Any]):
        self.recipe, self.formats = recipe, {b"text/plain": recipe["format"]}
        self._pairs, self._base = recipe["format"] == "svmlight", recipe.get("index_base", 1)
        self._width = model.n_features_in_
        self._ways = ["a line of " + ("svmlight text" if self._pairs else "Vowpal Wabbit's text")]
        if self._pairs:
            width = counted(self._width, "value")
            self._ways += [f"a list of {width}", "an object of values by index of the feature"]

    def normal(self, rows: list[Any], budget: Budget) -> list[str]:
        """Return rows as lines of text; raise DataError for others."""
        return [self._line(number, row) for number, row in enumerate(rows)]

    def _line(self, number: int, row: Any) -> str:
        line = row
        if self._pairs and type(row) is list and len(row) == self._width:
            row = {str(k): value for k, value in enumerate(row, self._base) if value != 0}
        if self._pairs and type(row) is dict:  # of text in which linsep finds what is wrong
            pairs = sorted(row.items(), key=lambda pair: (len(pair[0]), pair[0]))
            line = "0 " + " ".join(f"{index}:{start_of(value)}" for index, value in pairs)
        if type(line) is not str or {*line} & {*"\r\n"} or not line.partition("#")[0].strip():
            raise bad_row(number, f"is {start_of(row)}: give {either(self._ways)}.", "bad-line")
        return line

    def opened(self, rows: list[str], budget: Budget, missing: str = "error") -> Opened:
        """Open lines as a source."""
        content = "\n".join(rows).encode() + b"\n"
        return opened_file(content, self.recipe["format"], self.recipe, budget)

    def example(self) -> Any:
        """Return an example row."""
        return {str(self._base): 1.0} if self._pairs else "| some words"

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of a row."""
        return {"type": ["string", "array", "object"], "description": either(self._ways)}


@contextmanager
def opened_file(
    content: bytes, format: str, recipe: dict[str, Any], budget: Budget, missing: str = "error"
) -> Iterator[Source]:
    """Write a body to a file and open it like the training data of the model; raise Refused if it
    exceeds the budget, LinsepError if it cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix=process_mark()) as folder:
        path = Path(folder) / "body"
        path.write_bytes(content)
        try:
            # The content type determines tabs; the model determines other delimiters.
            delimiter = "\t" if format == "tsv" else None
            source = open_source(
                path, recipe=recipe, format=format, delimiter=delimiter, labeled=False,
                missing=missing if recipe["format"] == "table" else "error",
            )  # fmt: skip
            source.name, source.before_growth = THE_BODY, budget.hold
            yield source
        except LinsepError as problem:
            # Hints are parameters of Python.
            message = problem.render(lambda hint: None).replace(str(path), THE_BODY)
            message = message[0].upper() + message[1:]
            raise problem.with_message(message, (), path=None) from None
