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

#: endings of output with column names, and the delimiters
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
    cells = [[None if x is None else _cell(x) for x in c.to_pylist()] for c in table.columns]
    return pa.table([pa.array(column, pa.string()) for column in cells], table.column_names)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _one_line(text: str) -> str:
    """Return a text unchanged, or as a JSON string if it contains tabs or line breaks."""
    return json.dumps(text, ensure_ascii=False) if set(text) & set("\t\n\r\v\f") else text


class Lines:
    """Tab-separated lines without a header: columns of the input, the prediction, the rest."""

    def __init__(self, out: TextIO, form: Form):
        self._out, self._form = out, form
        self._shown = escaped if out is sys.stdout and on_terminal() else str

    def write(self, answers: Answers) -> None:
        """Write a line for each row; all of its answers are empty if it has no prediction."""
        texts = {label: self._text(self._form.text(label)) for label in set(answers.predicted)}
        columns = [
            [self._text(_cell(value)) for value in column.to_pylist()]
            for column in answers.kept.values()
        ]
        columns.append([texts[label] for label in answers.predicted])
        if self._form.names:
            empty = "\t" * (len(self._form.names) - 1)
            columns.append([
                empty if label is None else "\t".join(map(repr, values))
                for label, values in zip(answers.predicted, answers.beside, strict=True)
            ])  # fmt: skip
        self._out.writelines("\t".join(line) + "\n" for line in zip(*columns, strict=True))

    def _text(self, text: str) -> str:
        return self._shown(_one_line(text))


class JsonLines:
    """One JSON object per row, null where it has no prediction or an interval no end."""

    def __init__(self, out: TextIO, form: Form):
        self._out, self._form = out, form

    def write(self, answers: Answers) -> None:
        """Write a line for each row."""
        kept, form = {n: column.to_pylist() for n, column in answers.kept.items()}, self._form
        for row, label in enumerate(answers.predicted):
            line = {name: cells[row] for name, cells in kept.items()} | {"prediction": label}
            values: Any = answers.beside[row] if answers.beside else []
            values = [value if math.isfinite(value) else None for value in values]
            if form.together is None:
                line |= dict(zip(form.names, values, strict=True))
            else:
                together = values[0] if len(values) == 1 else values
                line[form.together] = together if label is not None else None
            self._out.write(json.dumps(line, default=str) + "\n")


def _columns(answers: Answers, form: Form, predicted: pa.Array) -> dict[str, Any]:
    """Return all columns of a table by name; DataError if two have the same."""
    columns = {"prediction": predicted}
    for k, name in enumerate(form.names):
        cells = [
            None if label is None or not math.isfinite(values[k]) else values[k]
            for label, values in zip(answers.predicted, answers.beside, strict=True)
        ]
        columns[name] = pa.array(cells, pa.float64())
    for name in answers.kept:
        if name in columns:
            raise DataError(
                f"--keep-columns names '{name}', which is also a column of the output: leave "
                "it out, or rename it in the input.",
                code="duplicate-name",
                column=name,
                option="keep_columns",
            )
    return answers.kept | columns


class Csv:
    """Comma or tab separated values under a header."""

    def __init__(self, out: TextIO, form: Form, delimiter: str):
        self._writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
        self._form, self._begun = form, False

    def write(self, answers: Answers) -> None:
        """Write the rows, and before the first the names of the columns."""
        predicted = pa.array(map(self._form.text, answers.predicted))
        columns = _columns(answers, self._form, predicted)
        if not self._begun:
            self._begun = True
            self._writer.writerow(columns)
        cells = [map(_cell, column.to_pylist()) for column in columns.values()]
        self._writer.writerows(zip(*cells, strict=True))


class Parquet:
    """A Parquet file, with the types that the columns have in the input."""

    def __init__(self, out: Any, form: Form):
        self._out, self._form = out, form
        self._writer: Any = None

    def write(self, answers: Answers) -> None:
        """Write the rows as a row group."""
        import pyarrow.parquet as pq

        labels = self._form.labels
        kind = pa.float64() if labels is None else pa.array(labels).type
        table = pa.table(_columns(answers, self._form, pa.array(answers.predicted, kind)))
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
    ending = "" if path is None or as_json else path.suffix.lower()
    delimiter = TABLES.get(ending)
    if path is not None and ending in TABLES and delimiter is None:
        check_all_free(force, path)
        with (
            finishing(written_whole(path, force=force)) as (file,),
            closing(Parquet(file, form)) as table,
        ):
            yield table
        return
    with open_output(path, force) as out:
        if delimiter is not None:
            yield Csv(out, form, delimiter)
        else:
            yield (JsonLines if as_json else Lines)(out, form)
