"""Writers of predictions: lines, JSON, CSV or Parquet, with columns of the input."""

import csv
import json
import math
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import pyarrow as pa

from linsep._system.files import written_whole
from linsep.cli.output import check_all_free, finishing, label_text, on_terminal, open_output
from linsep.errors import DataError
from linsep.sources.base import Source
from linsep.words import escaped

#: endings of output with column names
TABLES = {".csv": ",", ".tsv": "\t", ".parquet": None, ".pq": None}


class Answers(NamedTuple):
    """Predictions of some rows.

    Attributes
    ----------
    kept : columns of the input by name, as Arrow has them
    predicted : the label or number of each row, None if it has no prediction
    beside : one list per row of what else is predicted; may be empty
    """

    kept: dict[str, pa.ChunkedArray]
    predicted: list[Any]
    beside: list[list[float]]


class Form(NamedTuple):
    """What is predicted, and the columns beside each prediction.

    Attributes
    ----------
    labels : the classes, None for numbers
    names : of the columns of ``beside``
    together : the name of their list in JSON, None if each has its own name
    """

    labels: list[Any] | None
    names: list[str]
    together: str | None = None

    def text(self, label: Any) -> str:
        """Return a prediction as text: empty where there is none."""
        if label is None:
            return ""
        return repr(label) if self.labels is None else label_text(label)


class KeptColumns:
    """Columns of the input, taken in the order of its rows."""

    def __init__(self, source: Source, patterns: list[str] | None):
        self._tables = source.cells(patterns) if patterns else None
        self._held: list[pa.Table] = []

    def take(self, rows: int) -> dict[str, pa.ChunkedArray]:
        """Return the cells of the next rows by column."""
        if self._tables is None:
            return {}
        while sum(table.num_rows for table in self._held) < rows:
            self._held.append(next(self._tables))
        try:
            whole = pa.concat_tables(self._held, promote_options="permissive")
        except pa.ArrowException:  # some have numbers and some text
            whole = pa.concat_tables(map(_as_text, self._held), promote_options="permissive")
        self._held = [whole.slice(rows)]
        some = whole.slice(0, rows)
        return dict(zip(some.column_names, some.columns, strict=True))


def _as_text(table: pa.Table) -> pa.Table:
    """Return the cells of a table as text."""
    cells = [[None if x is None else cell_text(x) for x in c.to_pylist()] for c in table.columns]
    return pa.table([pa.array(column, pa.string()) for column in cells], table.column_names)


def cell_text(value: Any) -> str:
    """Return a cell of the input as text: empty where there is none."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def one_line(text: str) -> str:
    """Return a text unchanged, or as a JSON string if it contains tabs or line breaks."""
    return json.dumps(text, ensure_ascii=False) if set(text) & set("\t\n\r\v\f") else text


class Lines:
    """Tab-separated lines without a header: columns of the input, the prediction, the rest."""

    def __init__(self, out: TextIO, form: Form):
        self._out, self._form, self._width = out, form, len(form.names)
        self._shown = escaped if out is sys.stdout and on_terminal() else str
        self._labels: dict[Any, str] = {}

    def write(self, answers: Answers) -> None:
        """Write a line for each row; all of its answers are empty if it has no prediction."""
        if self._labels.keys() != (known := set(answers.predicted)):
            shown = self._shown
            self._labels = {label: shown(one_line(self._form.text(label))) for label in known}
        columns = [
            [self._shown(one_line(cell_text(value))) for value in column.to_pylist()]
            for column in answers.kept.values()
        ]
        columns.append([self._labels[label] for label in answers.predicted])
        if self._width:
            empty = "\t" * (self._width - 1)
            columns.append([
                empty if label is None else "\t".join(map(repr, values))
                for label, values in zip(answers.predicted, answers.beside, strict=True)
            ])  # fmt: skip
        self._out.writelines("\t".join(line) + "\n" for line in zip(*columns, strict=True))


class JsonLines:
    """One JSON object per row, null where it has no prediction."""

    def __init__(self, out: TextIO, form: Form):
        self._out, self._form = out, form

    def write(self, answers: Answers) -> None:
        """Write a line for each row."""
        kept = {name: column.to_pylist() for name, column in answers.kept.items()}
        for row, label in enumerate(answers.predicted):
            line = {name: cells[row] for name, cells in kept.items()} | {"prediction": label}
            values = _known(answers.beside[row]) if answers.beside else []
            if self._form.together is not None:
                line[self._form.together] = _one_or_all(values) if label is not None else None
            else:
                line |= dict(zip(self._form.names, values, strict=True))
            self._out.write(json.dumps(line, default=str) + "\n")


def _known(values: list[float]) -> list[float | None]:
    """Return values with None for NaN: the ends of an interval without degrees of freedom."""
    return [value if math.isfinite(value) else None for value in values]


def _one_or_all(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


class Table:
    """A table with named columns: the base of CSV and Parquet."""

    def __init__(self, out: Any, form: Form):
        self._out, self._form, self._writer = out, form, None

    def columns(self, answers: Answers, predicted: Any) -> dict[str, Any]:
        """Return all columns by name; DataError if two have the same."""
        found: dict[str, Any] = dict(answers.kept)
        parts = [predicted]
        for k in range(len(self._form.names)):
            cells = [
                None if label is None or not math.isfinite(values[k]) else values[k]
                for label, values in zip(answers.predicted, answers.beside, strict=True)
            ]
            parts.append(pa.array(cells, pa.float64()))
        for name, part in zip(("prediction", *self._form.names), parts, strict=True):
            if name in found:
                raise DataError(
                    f"--keep-columns names '{name}', which is also a column of the output: leave "
                    "it out, or rename it in the input.",
                    code="duplicate-name",
                    column=name,
                    option="keep_columns",
                )
            found[name] = part
        return found


class Csv(Table):
    """Comma or tab separated values under a header."""

    _writer: Any

    def __init__(self, out: TextIO, form: Form, delimiter: str):
        super().__init__(out, form)
        self._delimiter = delimiter

    def write(self, answers: Answers) -> None:
        """Write the rows, and before the first the names of the columns."""
        found = self.columns(answers, pa.array(map(self._form.text, answers.predicted)))
        if self._writer is None:
            self._writer = csv.writer(self._out, delimiter=self._delimiter, lineterminator="\n")
            self._writer.writerow(found)
        cells = [map(cell_text, column.to_pylist()) for column in found.values()]
        self._writer.writerows(zip(*cells, strict=True))


class Parquet(Table):
    """A Parquet file, with the types that the columns have in the input."""

    _writer: Any

    def write(self, answers: Answers) -> None:
        """Write the rows as a row group."""
        import pyarrow.parquet as pq

        labels = self._form.labels
        kind = pa.float64() if labels is None else pa.array(labels).type
        table = pa.table(self.columns(answers, pa.array(answers.predicted, kind)))
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._out, table.schema)
        try:
            table = table.cast(self._writer.schema)
        except (pa.ArrowException, ValueError):
            raise DataError(
                "Columns of --keep-columns hold numbers in some rows and text in others: write a "
                ".csv file.",
                code="column-type",
                option="keep_columns",
            ) from None
        self._writer.write_table(table)

    def close(self) -> None:
        """Write the end of the file."""
        if self._writer is not None:
            self._writer.close()


@contextmanager
def writing(path: Path | None, form: Form, *, force: bool, as_json: bool) -> Iterator[Any]:
    """Yield the writer of :class:`Answers` for the format of a file name, or for stdout."""
    ending = "" if path is None else path.suffix.lower()
    if as_json or ending not in TABLES:
        with open_output(path, force) as out:
            yield (JsonLines if as_json else Lines)(out, form)
    elif (delimiter := TABLES[ending]) is not None:
        with open_output(path, force) as out:
            yield Csv(out, form, delimiter)
    else:
        assert path is not None
        check_all_free(force, path)
        with (
            finishing(written_whole(path, force=force)) as (file,),
            closing(Parquet(file, form)) as table,
        ):
            yield table
