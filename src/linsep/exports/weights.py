"""Weights as tables for people and programs: JSON, and CSV."""

import json
from typing import Any

import linsep
from linsep.escaping import csv_text
from linsep.exports.scoring import NumericColumn, Scoring, kind_of, read_scoring

#: columns of the CSV file, before one column of weights for each score
HEADER = ("kind", "column", "value", "missing", "subtract", "divide")


def as_json(model: Any) -> str:
    """Return the weights of a model as JSON.

    A score is ``intercept`` plus the weights times the columns: numbers less ``subtract``, divided
    by ``divide``, and 1 for the value of a text column. ``missing`` replaces a missing number; null
    says that none may be missing.
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
    """Return how a column of numbers is read."""
    return {
        "column": column.name,
        "missing": column.fill,
        "subtract": column.subtract,
        "divide": 1.0 if column.divide is None else column.divide,
    }


def _weights(scoring: Scoring, k: int) -> dict[str, Any]:
    """Return the weights of score ``k`` by column, of a text column by value."""
    coef, columns = scoring.coef[k].tolist(), scoring.columns
    weights: dict[str, Any] = {
        str(column.name): coef[j] for j, column in enumerate(columns.numeric)
    }
    for name, values in columns.text.items():
        weights[name] = {value: coef[j] for value, j in values.items()}
    return weights


def as_csv(model: Any) -> str:
    """Return the weights of a model as CSV: a row for each feature, a column for each score."""
    scoring, kind = read_scoring(model), kind_of(model)
    rule, columns, coef = scoring.rule, scoring.columns, scoring.coef.T.tolist()
    rows: list[list[Any]] = [[*HEADER, *rule.names()]]
    none = [""] * (len(HEADER) - 3)
    may = "yes" if columns.fill_text else "no"
    for about, text in (
        ("learner", kind),
        ("rule", rule.sentence()),
        ("ties", "last class" if rule.ties_high else "first class"),
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
