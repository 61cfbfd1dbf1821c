"""Rows of requests, as JSON or files, read exactly like the training data of the model.

Rows in JSON become a table, which the encoder of tables reads; lines of text, and files (CSV, JSON
lines, Arrow, svmlight and Vowpal Wabbit's text), are written to a temporary file, which the sources
of :func:`linsep.open_source` read.
"""

import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from difflib import get_close_matches
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from linsep._system.files import scratch_folder
from linsep.batches import Batch
from linsep.errors import DataError, LinsepError
from linsep.serving.limits import Budget, Refused
from linsep.sources.base import Source
from linsep.sources.exact import EXACT
from linsep.sources.opening import open_source
from linsep.sources.tables.columns import Columns, from_recipe
from linsep.sources.tables.conversions import value_of
from linsep.sources.tables.encoding import Encoder
from linsep.sources.tables.reading_options import WHITESPACE, ReadingOptions
from linsep.sources.tables.spellings import PLAIN, Spelling
from linsep.words import counted

#: how the kinds of columns are called in messages
KINDS_IN_WORDS = {"number": "a number", "bool": "true or false", "text": "text"}
#: and the types of their values in JSON; of true and false also 1 and 0
_TYPES = {"number": (int, float), "bool": (bool, int, float), "text": (str,)}
#: bytes of memory of a value: a double
VALUE_BYTES = 8
#: formats by content type; the format of plain text depends on the model
FORMATS = {
    b"text/csv": "csv",
    b"text/tab-separated-values": "tsv",
    b"application/jsonl": "jsonl",
    b"application/x-ndjson": "jsonl",
    b"application/vnd.apache.arrow.stream": "arrow",
    b"application/vnd.apache.arrow.file": "arrow",
    b"text/plain": "text",
}
THE_BODY = "the body"


class RequestRows(Source):
    """Features of the rows of a request, which are in memory.

    Parameters
    ----------
    X : array of shape (rows, features)
    unseen : dict of column to the number of its values not seen in training
    unanswered : the rows without a prediction, see :class:`Batch`
    """

    name, kind, unseen = THE_BODY, "json", None  # type: ignore[assignment]

    def __init__(
        self, X: Any, unseen: dict[str, int] | None = None, unanswered: np.ndarray | None = None
    ):
        self.X, self.unseen, self._unanswered = X, unseen or {}, unanswered

    def batches(self) -> Iterator[Batch]:
        """Yield all rows."""
        yield Batch(self.X, None, 0, unanswered=self._unanswered)

    def where(self, row: int) -> str:
        """Return the place of the row in the request, such as ``rows[3]``."""
        return row_place(row)

    def options(self) -> dict[str, Any]:
        """Nothing: these rows are never cached on disk."""
        return {}

    def recipe(self) -> dict[str, Any]:
        """Return that the rows are in memory, already read with the recipe of the model."""
        return {"format": "arrays"}


def row_place(row: int) -> str:
    """Return the place of a row in the JSON of a request."""
    return f"rows[{row}]"


def start_of(value: Any) -> str:
    """Return the first 60 characters of a value as JSON, of a list or an object what it is."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    return json.dumps(value, ensure_ascii=False)[:60]


def rows_of_one_kind(rows: list[Any], kinds: dict[type, str]) -> type:
    """Return the type of all rows; raise DataError if they differ or are not in ``kinds``."""
    first = type(rows[0])
    for number, row in enumerate(rows):
        if type(row) is not first or first not in kinds:
            wanted = kinds[first] if number and first in kinds else " or ".join(kinds.values())
            raise DataError(
                f"{row_place(number)} is {start_of(row)}: give {wanted}.",
                code="bad-value", row=number,
            )  # fmt: skip
    return first


class TableReader:
    """Reads JSON rows of a model trained on a table or on arrays.

    Parameters
    ----------
    columns : Columns
        The columns of the recipe.
    others : names of columns that are allowed and ignored: labels, weights, columns left out
    named : whether the columns have names, so that rows may be objects
    spelling : how numbers are written in text
    """

    def __init__(self, columns: Columns, others: set[str], named: bool, spelling: Spelling = PLAIN):
        if columns.missing == "drop":
            columns.missing = "error"  # there is one prediction per row
        dates = [name for name, how in columns.converted.items() if how != "number"]
        self.columns, self._spelling = columns, spelling
        self.kinds = columns.inputs | dict.fromkeys(dates, "text")
        self.names, self._known = list(self.kinds), others | set(self.kinds)
        made = (columns.text, columns.words, dates, columns.formula, columns.products)
        self._plain = not any(made) and "bool" not in self.kinds.values()
        self._forms: dict[type, str] = {list: f"a list of {counted(len(self.names), 'value')}"}
        if named:
            self._forms[dict] = "an object of values by column name"
        dtype = np.dtype(columns.dtype)
        self._scale = np.array(list(columns.scale.values()), dtype).T if columns.scale else None

    def read(self, rows: list[Any], budget: Budget, missing: str = "error") -> RequestRows:
        """Return the features of rows, lists of values or objects; raise DataError for invalid
        rows. With ``missing`` "skip", rows with a missing value get no prediction.
        """
        # A row without values is two bytes of the body, whatever the width of the model.
        budget.hold(len(rows) * len(self.names) * VALUE_BYTES)
        if self._plain and (X := self._numbers(rows)) is not None:
            return RequestRows(X)
        columns = replace(self.columns, missing=missing) if missing == "skip" else self.columns
        encoder = Encoder(columns, False)
        batch, _ = encoder.encode(self._table(rows, budget), row_place)
        return RequestRows(batch.X, encoder.unseen, batch.unanswered)

    def _numbers(self, rows: list[Any]) -> np.ndarray | None:
        """Return the features of complete rows of numbers, like :class:`Encoder`; None for other
        rows, which the encoder reads or refuses with a message.
        """
        width = len(self.names)
        try:
            if type(rows[0]) is dict:
                if dict not in self._forms or any(len(row) != width for row in rows):
                    return None
                rows = [[row[name] for name in self.names] for row in rows]
            X = np.array(rows)
            truths = any(bool in map(type, row) for row in rows)
        except (ValueError, TypeError, KeyError, AttributeError):
            return None
        if truths or X.dtype.kind not in "fiu" or X.shape != (len(rows), width):
            return None
        with np.errstate(over="ignore"):
            X = X.astype(self.columns.dtype, copy=False)
        if not np.isfinite(X).all() or max(X.max(), -X.min()) >= EXACT:
            return None
        return X if self._scale is None else (X - self._scale[0]) / self._scale[1]

    def _table(self, rows: list[Any], budget: Budget) -> pa.Table:
        if rows_of_one_kind(rows, self._forms) is dict:
            for number, row in enumerate(rows):
                self._check_names(number, row)
        else:
            for number, row in enumerate(rows):
                budget.check_width(row_place(number), len(row), len(self.names))
                if len(row) != len(self.names):
                    raise DataError(
                        f"{row_place(number)} has {counted(len(row), 'value')}, but the model has "
                        f"{counted(len(self.names), 'column')}: give one for each.",
                        code="shape", row=number,
                    )  # fmt: skip
            rows = [dict(zip(self.names, row, strict=True)) for row in rows]
        return pa.table({name: self._column(name, rows) for name in self.names})

    def values(self, row: Any) -> Any:
        """Return the values of a row by column; equal for the same row written differently."""
        return [row.get(name) for name in self.names] if type(row) is dict else row

    def _check_names(self, number: int, row: dict[str, Any]) -> None:
        if row.keys() <= self._known:
            return
        unknown = next(name for name in row if name not in self._known)
        near = get_close_matches(unknown, self.names, 1)
        advice = f"did you mean {near[0]!r}?" if near else "GET /model lists its columns."
        raise DataError(
            f"{row_place(number)} has a column {unknown[:60]!r}, which the model does not have: "
            f"{advice}", code="unknown-column", row=number, column=unknown[:60],
        )  # fmt: skip

    def _column(self, name: str, rows: list[dict[str, Any]]) -> pa.Array:
        kind = self.kinds[name]
        values = [row.get(name) for row in rows]
        if name in self.columns.converted:
            values = [self._converted(name, k, value) for k, value in enumerate(values)]
            kind = "number"
        elif name in self.columns.categorical:
            values = [_category(value) for value in values]
        for number, value in enumerate(values):
            place = {"row": number, "column": name}
            if value is None:
                continue
            truth = kind != "bool" or value in (0, 1)
            if type(value) not in _TYPES[kind] or not truth:
                raise DataError(
                    f"{row_place(number)}, column '{name}' holds {start_of(value)}, not "
                    f"{KINDS_IN_WORDS[kind]} as in training: correct it.",
                    code="bad-value",
                    **place,
                )
            if type(value) is int and float(value) != value:
                raise DataError(
                    f"{row_place(number)}, column '{name}' is {value}, which is not exactly "
                    "representable as float64: round it.", code="not-exact", **place,
                )  # fmt: skip
        if kind != "text":
            return pa.array([None if v is None else float(v) for v in values], pa.float64())
        return pa.array(values, pa.string())

    def _converted(self, name: str, number: int, value: Any) -> Any:
        """Convert text to a number, as in training; return other values unchanged."""
        how, place = self.columns.converted[name], {"row": number, "column": name}
        if type(value) is str:
            try:
                found = value_of(value, how, self._spelling, name)
            except DataError as error:
                here = f"{row_place(number)}, column '{name}' "
                raise error.at(here, **place) from None
            return None if math.isnan(found) else found
        if how != "number" and value is not None:
            raise DataError(
                f"{row_place(number)}, column '{name}' holds {start_of(value)}, not a date in "
                "text: correct it.", code="bad-value", **place,
            )  # fmt: skip
        return value


def _category(value: Any) -> Any:
    """Return the text of a category given as a number or a boolean."""
    if type(value) is float:
        return pa.array([value]).cast(pa.string())[0].as_py()
    return str(value).lower() if type(value) in (int, bool) else value


class PairReader:
    """Writes JSON rows of a model trained on svmlight text as such text: lines, objects of values
    by index, or lists of all values.
    """

    def __init__(self, width: int, base: int):
        self.width, self.base = width, base
        self._forms: dict[type, str] = {
            dict: "an object of values by index of the feature",
            list: f"a list of {counted(width, 'value')}",
            str: "a line of svmlight text",
        }

    def lines(self, rows: list[Any], budget: Budget) -> list[str]:
        """Return rows as lines of text; raise DataError for invalid rows."""
        if rows_of_one_kind(rows, self._forms) is str:
            return rows
        return [self._line(number, row, budget) for number, row in enumerate(rows)]

    def _line(self, number: int, row: Any, budget: Budget) -> str:
        budget.check_width(row_place(number), len(row), self.width)
        if type(row) is list:
            if len(row) != self.width:
                raise DataError(
                    f"{row_place(number)} has {counted(len(row), 'value')}, but the model has "
                    f"{counted(self.width, 'feature')}: give one for each, or an object of values "
                    "by index.", code="shape", row=number,
                )  # fmt: skip
            row = {str(j): value for j, value in enumerate(row, self.base) if value != 0}
        for key, value in row.items():
            if not key.isdecimal() or str(int(key[:11])) != key or int(key) < self.base:
                raise DataError(
                    f"{row_place(number)} has a feature {key[:60]!r}: features of this model are "
                    f"numbered from {self.base}.",
                    code="unknown-column", row=number, column=key[:60],
                )  # fmt: skip
            if type(value) not in (int, float):
                raise DataError(
                    f"{row_place(number)}, feature {key} is {start_of(value)}: give a number.",
                    code="not-a-number", row=number, column=key,
                )  # fmt: skip
        pairs = sorted((int(key), value) for key, value in row.items())
        return "0 " + " ".join(f"{key}:{value!r}" for key, value in pairs)

    def values(self, row: Any) -> Any:
        """Return the nonzero values of a row by index; return a line of text unchanged."""
        if type(row) is str:
            return row
        pairs = row.items() if type(row) is dict else enumerate(row, self.base)
        return {int(index): value for index, value in pairs if value}


def columns_of(model: Any) -> tuple[Columns, set[str]] | None:
    """Return the columns of a model trained on a table or arrays, and the names of columns to
    ignore; None for svmlight or Vowpal Wabbit text.
    """
    recipe = getattr(model, "recipe_", None) or {"format": "arrays"}
    if recipe["format"] == "table":
        columns = from_recipe(recipe)
        others = {*columns.exclude, columns.target, *columns.beside}
        return columns, {name for name in others if name is not None}
    if recipe["format"] != "arrays":
        return None
    names = getattr(model, "feature_names_in_", None)
    names = [f"feature {j}" for j in range(model.n_features_in_)] if names is None else names
    numeric = {str(name): "number" for name in names}
    return Columns(numeric=numeric, text={}, target=None, target_kind=None), set()


class Bodies:
    """A temporary folder for bodies of requests, for one thread."""

    def __init__(self) -> None:
        self._folder, self._numbers = scratch_folder(), count()

    def close(self) -> None:
        """Remove the folder."""
        self._folder.cleanup()

    @contextmanager
    def opened(
        self, content: bytes, format: str, recipe: dict[str, Any], budget: Budget,
        missing: str = "error",
    ) -> Iterator[Source]:  # fmt: skip
        """Write a body to a file and open it like the training data of the model.

        Its name in errors is "the body". Raises Refused if it has too many columns or exceeds the
        budget, LinsepError if it cannot be read.
        """
        path = Path(self._folder.name) / f"body-{next(self._numbers)}"
        try:
            path.write_bytes(content)
            _check_size(content, format, recipe, budget)
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
            message = _without(path, problem.render(lambda hint: None))
            raise problem.with_message(message, (), path=None) from None
        except OSError as problem:
            raise Refused(503, f"The body cannot be stored: {problem.strerror}.") from None
        finally:
            path.unlink(missing_ok=True)


def _check_size(content: bytes, format: str, recipe: dict[str, Any], budget: Budget) -> None:
    """Refuse tables that are too wide or too long, before a reader allocates memory."""
    known, width, rows = sum(len(recipe.get(k) or ()) for k in ("numeric", "text", "words")), 0, 0
    if format in ("csv", "tsv"):
        told = "\t" if format == "tsv" else recipe.get("delimiter")
        delimiter = ReadingOptions(told).of(format).delimiter or ""
        line = content.partition(b"\n")[0]
        width = len(line.split()) if delimiter == WHITESPACE else line.count(delimiter.encode())
    elif format == "jsonl":
        rows = sum(not line.isspace() for line in content.splitlines())
    elif format == "arrow":
        with suppress(pa.ArrowException, OSError, ValueError):  # its reader says what is wrong
            opened = pa.ipc.open_file if content.startswith(b"ARROW1") else pa.ipc.open_stream
            width = len(opened(content).schema)
    budget.check_rows(rows)
    budget.hold(rows * known * VALUE_BYTES)
    budget.check_width("The table", width, 2 * known)


def _without(path: Path, message: str) -> str:
    """Return a message with the name of the file that users know."""
    message = message.replace(str(path), THE_BODY)
    message = re.sub(rf"{THE_BODY} (line|row) (\d+)", rf"\1 \2 of {THE_BODY}", message)
    message = message.replace("give a file with rows", "send at least one")
    message = message.replace("give a file with", "send")
    return message[0].upper() + message[1:]


def text_of(rows: list[Any], format: str) -> bytes:
    """Return rows that are lines of text as a body; raise DataError for other rows."""
    kind = "svmlight text" if format == "svmlight" else "Vowpal Wabbit's text"
    rows_of_one_kind(rows, {str: f"a line of {kind}"})
    for number, row in enumerate(rows):
        line = row.partition("#")[0] if format == "svmlight" else row
        if not line.strip() or set(line) & set("\r\n"):
            raise DataError(
                f"{row_place(number)} is not one line of {kind}: give one line per row.",
                code="bad-line", row=number,
            )  # fmt: skip
    return "\n".join(rows).encode() + b"\n"
