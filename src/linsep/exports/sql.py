"""Write a model as an SQL query for SQLite and DuckDB."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import compress
from typing import Any

import numpy as np

import linsep
from linsep.exports.scoring import (
    ExportError,
    ModelColumns,
    NumericColumn,
    Rule,
    Scoring,
    read_scoring,
)
from linsep.sources.tables.spellings import by_spelling, spellings
from linsep.words import escaped

#: most columns of a table in SQLite
MOST_COLUMNS = 2000
#: numbers whose decimal digits SQLite reads back bit-identical
LOW, HIGH = 1e-15, 1e15
#: numbers of the texts of a column of true and false
TRUTHS = " WHEN 'true' THEN 1e0 WHEN 'false' THEN 0e0"
#: whether class {0} has at least the matches and the sum of scores of class {1}
BEATS = (
    "(linsep_wins_{0} > linsep_wins_{1} OR linsep_wins_{0} = linsep_wins_{1} AND "
    "linsep_sum_{0} >= linsep_sum_{1})"
)
#: terms of a sum on a line
INDENT = "\n        "


def as_sql(model: Any) -> str:
    """Return a query that adds scores and a prediction to the rows of the table ``data``."""
    scoring = read_scoring(model)
    rule, columns = scoring.rule, scoring.columns
    if columns.kind == "svmlight" and not rule.normalize:  # only columns with a weight
        found = np.any(scoring.coef, axis=0)
        columns = replace(columns, numeric=list(compress(columns.numeric, found)))
        scoring = replace(scoring, coef=scoring.coef[:, found], columns=columns)
    scores = {"number": ["linsep_prediction"], "sign": ["linsep_score"]}.get(
        rule.name, [f"linsep_score_{k + 1}" for k in range(len(scoring.coef))]
    )
    head = [
        f"{type(model).__name__} of linsep {linsep.__version__}: {rule.sentence()}",
        "Reads the rows of a table or view called data. Where a value is missing that the model",
        "needs, the prediction is NULL. If data has a column with the name of one that the query",
        "adds, the query fails: the name is ambiguous.",
    ]
    if rule.name in ("largest", "pairs"):
        head += map(": ".join, zip(scores, rule.names(), strict=True))
    steps: dict[str, dict[str, str]] = {}
    if rule.normalize:
        values = [_number(column, columns.kind) for column in columns.numeric]
        for name, known in columns.text.items():
            values.append(_value(name, dict.fromkeys(known, "1e0"), columns))
        squares = summed(f"power({value}, 2)" for value in values)
        steps["linsep_lengths"] = {"linsep_length": f"sqrt({squares})"}
    steps["linsep_scores"] = {name: _score(scoring, k) for k, name in enumerate(scores)}
    if rule.name == "pairs":
        steps["linsep_wins"] = _won(rule)
    if rule.classes:
        steps["linsep_predictions"] = _predictions(rule, scores)
    added = [column for made in steps.values() for column in made]
    _check(scoring, added)
    comments = "".join(f"-- {escaped(line)}\n" for line in head)
    return f"{comments}{_query(steps, added)};\n"


def _check(scoring: Scoring, added: list[str]) -> None:
    """Raise ExportError for what SQLite or DuckDB cannot hold beside the columns ``added``."""
    texts, labels = scoring.columns.text, scoring.rule.classes
    names = [*(str(column.name) for column in scoring.columns.numeric), *texts]
    width = len(names) + len(added)
    count = Counter([*added, *(name.lower() for name in names)])
    words = [*names, *(value for known in texts.values() for value in known), *map(str, labels)]
    numbers = [label for label in labels if isinstance(label, int)]
    for code, found, reason in (
        ("too-large", [width] * (width > MOST_COLUMNS), f"columns exceed SQLite's {MOST_COLUMNS}"),
        ("duplicate-name", [name for name in names if count[name.lower()] > 1],
         "is the name of two columns, but for case, or of one that the query adds"),
        ("unsupported", [name for name in names if not name], "is a name without characters"),
        ("unsupported", [word for word in words if "\0" in word or "\r" in word],
         "has a NUL character or a carriage return"),
        ("out-of-range", [x for x in numbers if not -(2**63) <= x < 2**63], "exceeds 64 bits"),
    ):  # fmt: skip
        if found:
            raise ExportError(
                f"SQL cannot hold the model: {found[0]!r:.80} {reason}.", code=code, value=found[0]
            )


def _query(steps: dict[str, dict[str, str]], names: list[str]) -> str:
    """Return a query whose steps add columns, called ``names``, to the rows of ``data``.

    A table beside ``data`` has every name as well, so that a column of ``data`` with one of them
    is an error instead of being read in place of what the query adds. Steps before the last are
    materialized, else SQLite computes a score wherever it is compared.
    """
    own, listed = ", ".join(f"0 AS {name}" for name in names), ", ".join(names)
    rows = f"FROM data, (SELECT {own}) AS linsep_names\nWHERE 1 NOT IN ({listed})"
    named, part, source = [f"linsep_rows AS (\nSELECT data.*\n{rows}\n)"], "", "linsep_rows"
    for name, made in steps.items():
        columns = "".join(f",\n    {expression} AS {column}" for column, expression in made.items())
        part = f"SELECT data.*{columns}\nFROM {source} AS data"
        named.append(f"{name} AS MATERIALIZED (\n{part}\n)")
        source = name
    return f"WITH {', '.join(named[:-1])}\n{part}"


def _score(scoring: Scoring, k: int) -> str:
    columns, coef = scoring.columns, scoring.coef[k].tolist()
    terms = [
        f"{literal(coef[j])} * {_number(column, columns.kind)}"
        for j, column in enumerate(columns.numeric)
        if coef[j] or column.fill is None
    ]
    for name, values in columns.text.items():
        weights = {value: literal(coef[j]) for value, j in values.items()}
        terms.append(_value(name, weights, columns))
    total = summed(terms)
    if scoring.rule.normalize:
        length = "CASE linsep_length WHEN 0e0 THEN 1e0 ELSE linsep_length END"
        total = f"({total}) * (1e0 / {length})"
    return f"{total}{INDENT}+ {literal(float(scoring.intercept[k]))}"


def _number(column: NumericColumn, kind: str) -> str:
    """Return the expression of a number as a feature; NULL if it may not be missing."""
    cell = f"data.{identifier(f'x{column.name}' if kind == 'array' else str(column.name))}"
    # empty text is missing: SQLite would cast it to 0, DuckDB refuse it
    cell = f"CASE WHEN CAST({cell} AS VARCHAR) <> '' THEN {cell} END"
    if column.truth:  # SQLite imports true and false as text, and would cast both to 0
        cell = f"CASE lower(CAST({cell} AS VARCHAR)){TRUTHS} ELSE CAST({cell} AS DOUBLE) END"
    # DuckDB has NaN, and compares the text as a number
    value = f"NULLIF(CAST({cell} AS DOUBLE), 'NaN')"
    if column.fill is not None:
        value = f"COALESCE({value}, {literal(column.fill)})"
    if column.divide is None:
        return f"({value} - {literal(column.subtract)})" if column.subtract else value
    return f"(({value} - {literal(column.subtract)}) / {literal(column.divide)})"


def _value(name: str, weights: dict[str, str], columns: ModelColumns) -> str:
    """Return the expression of the weight of a text column's value; NULL if it may not be missing.

    Empty text is missing unless training has seen it.
    """
    cell = f"data.{identifier(name)}"
    value = f"CAST({cell} AS VARCHAR)"
    if name in columns.categorical:  # the category 1 is 1.0 in a column of floats
        for same, known in by_spelling(weights).items():
            weights = dict.fromkeys(spellings(same), weights[known]) | weights
        value = (  # of decimals, with the zeros of the type
            f"CASE WHEN typeof({cell}) LIKE 'DECIMAL%' AND {value} LIKE '%.%' "
            f"THEN rtrim(rtrim({value}, '0'), '.') ELSE {value} END"
        )
    # a column may be declared to ignore case
    value += ' COLLATE "BINARY"'
    cases = "".join(
        f"{INDENT}    WHEN {text(known)} THEN {weight}" for known, weight in weights.items()
    )
    found = f"CASE {value}{cases} ELSE 0e0 END" if cases else "0e0"
    if columns.fill_text:
        return found
    test = "IS NOT NULL" if name in columns.empty else "<> ''"
    return f"CASE WHEN {value} {test} THEN {found} END"


def _won(rule: Rule) -> dict[str, str]:
    """Return the matches that each class wins, and its sum of scores."""
    above = ">=" if rule.ties_high else ">"
    wins: list[list[str]] = [[] for _ in rule.classes]
    sums: list[list[str]] = [[] for _ in rule.classes]
    for number, (a, b) in enumerate(rule.pairs, 1):
        score = f"linsep_score_{number}"
        for code, won, lost, sign in ((b, 1, 0, ""), (a, 0, 1, "-")):
            wins[code].append(
                f"CASE WHEN {score} {above} 0e0 THEN {won} WHEN {score} IS NOT NULL THEN {lost} END"
            )
            sums[code].append(f"{sign}{score}")
    found = {f"linsep_wins_{k}": summed(own) for k, own in enumerate(wins, 1)}
    # one after the other, as linsep adds them
    return found | {f"linsep_sum_{k}": " + ".join(own) for k, own in enumerate(sums, 1)}


def _predictions(rule: Rule, scores: list[str]) -> dict[str, str]:
    if rule.name == "sign":
        signs = ("<", ">=") if rule.ties_high else ("<=", ">")
        cut = literal(rule.cut) if rule.cut else "0e0"
        tests = [f"linsep_score {sign} {cut}" for sign in signs]
    else:
        beats = BEATS if rule.name == "pairs" else "linsep_score_{0} >= linsep_score_{1}"
        codes = range(1, len(rule.classes) + 1)
        tests = [
            " AND ".join(beats.format(one, other) for other in codes if other != one)
            for one in codes
        ]
    cases = []
    for test, label in zip(tests, rule.classes, strict=True):
        shown = literal(label) if isinstance(label, float) else str(label).upper()
        shown = text(label) if isinstance(label, str) else shown
        cases.append(f"{INDENT}WHEN {test} THEN {shown}")
    if rule.ties_high or rule.name == "sign":
        cases.reverse()
    found = {"linsep_prediction": f"CASE{''.join(cases)}\n    END"}
    if rule.probabilities and rule.name == "sign":
        power = "exp(-abs(linsep_score))"
        found["linsep_probability"] = (
            f"CASE WHEN linsep_score >= 0e0 THEN 1e0 ELSE {power} END / (1e0 + {power})"
        )
    elif rule.probabilities:
        for k, own in enumerate(scores, 1):
            powers = summed(f"exp({name} - {own})" for name in scores)
            found[f"linsep_probability_{k}"] = f"1e0 / ({powers})"
    return found


def summed(terms: Iterable[str]) -> str:
    """Return a sum in balanced parentheses, because SQLite limits the depth of expressions."""
    terms = list(terms)
    if len(terms) <= 8:
        return f"{INDENT}+ ".join(terms) if terms else "0e0"
    middle = len(terms) // 2
    return f"({summed(terms[:middle])}){INDENT}+ ({summed(terms[middle:])})"


def literal(number: float) -> str:
    """Return a float64 as SQL that reads back bit-identical.

    Digits with an exponent are floats in every dialect; without an exponent they are decimals in
    some. SQLite does not round all digits of very large and small numbers correctly, so these are
    written as whole numbers divided or multiplied by powers of 2, which is exact.
    """
    sign, size = "-" if math.copysign(1.0, number) < 0 else "", abs(number)
    if size == 0 or LOW <= size <= HIGH:
        found = repr(size) if "e" in repr(size) else f"{size!r}e0"
        return f"({sign}{found})" if sign else found
    part, power = math.frexp(size)
    power -= 53
    steps = [50] * (abs(power) // 50) + [abs(power) % 50]
    factor = " * " if power > 0 else " / "
    powers = "".join(f"{factor}{1 << step}e0" for step in steps if step)
    return f"({sign}{int(part * 2**53)}e0{powers})"


def identifier(name: str) -> str:
    """Return a name in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """Return text in single quotes."""
    return "'" + value.replace("'", "''") + "'"
