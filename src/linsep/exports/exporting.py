"""Write a model in the format of the file extension; the weights as JSON and CSV."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import linsep
from linsep._system.files import check_free, written_whole
from linsep.exports.scoring import ExportError, NumericColumn, Scoring, kind_of, read_scoring
from linsep.exports.sklearn_onnx import to_onnx
from linsep.exports.sql import as_sql
from linsep.words import csv_text

#: columns of the CSV file, before one column of weights for each score
HEADER = ("kind", "column", "value", "missing", "subtract", "divide")


def as_json(model: Any) -> str:
    """Return the weights of a model as JSON.

    A score is ``intercept`` plus the weights times the columns. Numeric columns enter as (x -
    ``subtract``) / ``divide``; a text value enters as 1. ``missing`` replaces a missing number;
    null means that no number may be missing.
    """
    scoring, kind = read_scoring(model), kind_of(model)
    rule, columns = scoring.rule, scoring.columns
    found = {
        "learner": kind,
        "linsep": linsep.__version__,
        "rule": rule.name,
        "meaning": rule.sentence(),
        "classes": list(rule.classes),
        "ties": "last" if rule.ties_high else "first",
        **({"threshold": rule.cut} if rule.cut else {}),
        "probabilities": rule.probabilities,
        "rows_of_length_1": rule.normalize,
        "columns": [
            *({"kind": "number"} | _numeric(column) for column in columns.numeric),
            *(
                {"kind": "text", "column": name, "may_be_missing": columns.fill_text}
                for name in columns.text
            ),
        ],
        "scores": [
            {"of": name, "intercept": float(scoring.intercept[k]), "weights": _weights(scoring, k)}
            for k, name in enumerate(rule.names())
        ],
    }
    return json.dumps(found, ensure_ascii=False, indent=1) + "\n"


def _numeric(column: NumericColumn) -> dict[str, Any]:
    """Return the preprocessing of a numeric column."""
    return {
        "column": column.name,
        "missing": column.fill,
        "subtract": column.subtract,
        "divide": 1.0 if column.divide is None else column.divide,
    }


def _weights(scoring: Scoring, k: int) -> dict[str, Any]:
    """Return the weights of score ``k`` by column, or by value for a text column."""
    coef, columns = scoring.coef[k].tolist(), scoring.columns
    weights: dict[str, Any] = {
        str(column.name): coef[j] for j, column in enumerate(columns.numeric)
    }
    for name, values in columns.text.items():
        weights[name] = {value: coef[j] for value, j in values.items()}
    return weights


def as_csv(model: Any) -> str:
    """Return the weights of a model as CSV: one row per feature and one column per score."""
    scoring, kind = read_scoring(model), kind_of(model)
    rule, columns, coef = scoring.rule, scoring.columns, scoring.coef.T.tolist()
    rows: list[list[Any]] = [[*HEADER, *rule.names()]]
    none = [""] * (len(HEADER) - 3)
    may = "yes" if columns.fill_text else "no"
    for about, text in (
        ("learner", kind),
        ("rule", rule.sentence()),
        ("ties", "last class" if rule.ties_high else "first class"),
        *([("threshold", rule.cut)] if rule.cut else []),
        ("rows of length 1", "yes" if rule.normalize else "no"),
        *([("text may be missing", may)] if columns.text else []),
        *(("class", label) for label in rule.classes),
    ):
        rows.append(["about", about, text, *none, *[""] * len(rule.names())])
    rows.append(["intercept", "", "", *none, *scoring.intercept.tolist()])
    for j, column in enumerate(columns.numeric):
        about_number = _numeric(column)
        fill = "" if column.fill is None else column.fill
        scale = [about_number["subtract"], about_number["divide"]]
        rows.append(["number", column.name, "", fill, *scale, *coef[j]])
    for name, values in columns.text.items():
        for value, j in values.items():
            rows.append(["text", name, value, *none, *coef[j]])
    return csv_text(rows)


class Format(NamedTuple):
    """A format: its name, and the function that writes a model."""

    name: str
    content: Callable[[Any], bytes]


FORMATS = {
    ".onnx": Format("ONNX", lambda model: bytes(to_onnx(model).SerializeToString())),
    ".json": Format("JSON", lambda model: as_json(model).encode()),
    ".csv": Format("CSV", lambda model: as_csv(model).encode()),
    ".sql": Format("SQL", lambda model: as_sql(model).encode()),
}


def format_of(path: Path) -> Format:
    """Return the format of a file extension; raise ExportError for an unknown one."""
    found = FORMATS.get(path.suffix.lower())
    if found is None:
        raise ExportError(
            f"{path} has no known extension: use {', '.join(list(FORMATS)[:-1])} or "
            f"{list(FORMATS)[-1]}.", code="wrong-format", path=path,
        )  # fmt: skip
    return found


def export(model: Any, path: str | Path, *, force: bool = False) -> Path:
    """Export a fitted model to the format of the extension of ``path``.

    All formats are for linear scores: .json and .csv are tables of weights, .sql is a query for
    SQLite and DuckDB, .onnx is for onnxruntime. Weights read back bit-identical. Thresholds of
    :func:`linsep.set_threshold` are exported. Probabilities of :func:`linsep.calibrate` and of
    one-vs-rest are not; labels are the same.

    Parameters
    ----------
    model : fitted estimator of this library
    path : the file to write, atomically; an existing file is replaced only with ``force``

    Returns
    -------
    Path

    Raises
    ------
    ExportError
        If the format does not support the model.
    ModelFileError
        If the file exists or cannot be written.
    NotFittedError
        If the model is not fitted.
    """
    path = Path(path)
    made = format_of(path)
    check_free(path, force)
    try:
        content = made.content(model)
    except UnicodeEncodeError:
        raise ExportError(
            "A column, value or label has a lone surrogate (half of a character), which cannot "
            "be written to a file: rename it.", code="encoding",
        ) from None  # fmt: skip
    with written_whole(path, force=force) as file:
        file.write(content)
    return path
