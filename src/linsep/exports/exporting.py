"""Write a model in the format of the file extension; the weights as JSON and CSV."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import linsep
from linsep._system import check_free, written_whole
from linsep.exports.scoring import ExportError, read_scoring
from linsep.exports.sklearn_onnx import to_onnx
from linsep.exports.sql import as_sql
from linsep.steps import of_learner
from linsep.words import csv_text

#: columns of the CSV file, before one column of weights for each score
HEADER = ("kind", "column", "value", "missing", "subtract", "divide")
#: how the CSV file says what is true
YES = {True: "yes", False: "no"}


def described(model: Any) -> dict[str, Any]:
    """Return how scores are computed and become predictions, as dicts, lists and numbers."""
    scoring = read_scoring(model)
    rule, columns = scoring.rule, scoring.columns
    listed: list[dict[str, Any]] = [
        {
            "kind": "number",
            "column": column.name,
            "missing": column.fill,
            "subtract": column.subtract,
            "divide": 1.0 if column.divide is None else column.divide,
        }
        for column in columns.numeric
    ]
    for name in columns.text:
        listed.append({"kind": "text", "column": name, "may_be_missing": columns.fill_text})
    scores = []
    for name, intercept, coef in zip(
        rule.names(), scoring.intercept.tolist(), scoring.coef.tolist(), strict=True
    ):
        weights: dict[str, Any] = {str(c.name): coef[j] for j, c in enumerate(columns.numeric)}
        for column, values in columns.text.items():
            weights[column] = {value: coef[j] for value, j in values.items()}
        scores.append({"of": name, "intercept": intercept, "weights": weights})
    return {
        "learner": type(model).__name__,
        "linsep": linsep.__version__,
        "rule": rule.name,
        "meaning": rule.sentence(),
        "classes": list(rule.classes),
        "ties": "last" if rule.ties_high else "first",
        **({"threshold": rule.cut} if rule.cut else {}),
        "probabilities": rule.probabilities,
        "rows_of_length_1": rule.normalize,
        "columns": listed,
        "scores": scores,
    }


def as_json(model: Any) -> str:
    """Return the weights of a model as JSON.

    A score is ``intercept`` plus the weights times the columns. Numeric columns enter as (x -
    ``subtract``) / ``divide``; a text value enters as 1. ``missing`` replaces a missing number;
    null means that no number may be missing.
    """
    return json.dumps(described(model), ensure_ascii=False, indent=1) + "\n"


def as_csv(model: Any) -> str:
    """Return the weights of a model as CSV: one row per feature and one column per score."""
    found = described(model)
    columns, scores = found["columns"], found["scores"]
    texts = [column for column in columns if column["kind"] == "text"]
    about = [
        ("learner", found["learner"]),
        ("rule", found["meaning"]),
        ("ties", f"{found['ties']} class"),
        *([("threshold", found["threshold"])] if "threshold" in found else []),
        ("rows of length 1", YES[found["rows_of_length_1"]]),
        *(("text may be missing", YES[column["may_be_missing"]]) for column in texts[:1]),
        *(("class", label) for label in found["classes"]),
    ]
    none = [""] * (len(HEADER) - 3)
    rows: list[list[Any]] = [[*HEADER, *(score["of"] for score in scores)]]
    rows += [["about", *pair, *none, *[""] * len(scores)] for pair in about]
    rows.append(["intercept", "", "", *none, *(score["intercept"] for score in scores)])
    for column in columns:
        name = column["column"]
        weights = [score["weights"][str(name)] for score in scores]
        if column["kind"] == "number":
            how = [column["missing"], column["subtract"], column["divide"]]
            rows.append(["number", name, "", *how, *weights])
            continue
        for value in weights[0]:
            rows.append(["text", name, value, *none, *(own[value] for own in weights)])
    return csv_text(rows)


#: of each extension: the name of the format, and what writes a model
FORMATS: dict[str, tuple[str, Callable[[Any], bytes]]] = {
    ".onnx": ("ONNX", lambda model: bytes(to_onnx(model).SerializeToString())),
    ".json": ("JSON", lambda model: as_json(model).encode()),
    ".csv": ("CSV", lambda model: as_csv(model).encode()),
    ".sql": ("SQL", lambda model: as_sql(model).encode()),
}


def format_of(path: Path) -> tuple[str, Callable[[Any], bytes]]:
    """Return the name and the writer of a file extension; raise ExportError for an unknown one."""
    if (found := FORMATS.get(path.suffix.lower())) is None:
        said = f"{path} needs one of the extensions {', '.join(FORMATS)}."
        raise ExportError(said, code="wrong-format", path=path)
    return found


@of_learner
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
    _, written = format_of(path)
    check_free(path, force)
    with written_whole(path, force=force) as file:
        file.write(written(model))
    return path
