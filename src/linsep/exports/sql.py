"""Models as an SQL query for SQLite and DuckDB."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

import linsep
from linsep.exports.scoring import (
    ExportError,
    ModelColumns,
    NumericColumn,
    Rule,
    Scoring,
    kind_of,
    read_scoring,
)
from linsep.words import escaped

#: most columns of a table in SQLite
MOST_COLUMNS = 2000
#: numbers whose decimal digits SQLite reads back bit-identical
LOW, HIGH = 1e-15, 1e15
#: numbers of the texts of a column of true and false
TRUTHS = " WHEN 'true' THEN 1e0 WHEN 'false' THEN 0e0"
#: a carriage return between two texts; SQLite calls the character char(13), DuckDB chr(13)
RETURN = """ || ('"\\r"' ->> '$') || """
#: terms of a sum on a line
INDENT = "\n        "


def as_sql(model: Any) -> str:
    """Return a query that adds scores and a prediction to the rows of the table ``data``."""
    scoring, kind = read_scoring(model), kind_of(model)
    rule = scoring.rule
    _check(scoring)
    head = [
        f"{kind} of linsep {linsep.__version__}: {rule.sentence()}",
        "Reads the rows of a table or view called data. Where a value is missing that the model",
        "needs, the prediction is NULL. If data has a column with the name of one that the query",
        "adds, the query fails: the name is ambiguous.",
        *(
            f"linsep_score_{k}: {name}"
            for k, name in enumerate(rule.names() if rule.name in ("largest", "pairs") else [], 1)
        ),
    ]
    steps: dict[str, dict[str, str]] = {}
    if rule.normalize:
        steps["linsep_lengths"] = {"linsep_length": f"sqrt({_squares(scoring)})"}
    scores = {name: _score(scoring, k) for k, name in enumerate(_score_names(rule))}
    steps["linsep_scores"] = scores
    if rule.name == "pairs":
        steps["linsep_wins"] = _won(rule)
    if rule.classes:
        steps["linsep_predictions"] = _predictions(rule)
    query = _query(steps, _free_names(scoring, steps))
    comments = "".join(f"-- {escaped(line)}\n" for line in head)
    return f"{comments}{query};\n"


def _check(scoring: Scoring) -> None:
    """Raise ExportError for columns that tables of SQLite and DuckDB cannot have."""
    names = [str(column.name) for column in _used(scoring)] + list(scoring.columns.text)
    lower: dict[str, str] = {}
    for name in names:
        if lower.setdefault(name.lower(), name) != name:
            raise ExportError(
                f"Columns '{lower[name.lower()]}' and '{name}' are the same in SQL, which ignores "
                "case: rename one and train the model again.", code="duplicate-name", column=name,
            )  # fmt: skip
    _check_texts(scoring, names)
    if "" in names:
        raise ExportError("A column without a name cannot be read in SQL: give it a name.")
    # with scores, and what follows from them
    width = len(names) + 3 * len(scoring.coef) + scoring.rule.normalize
    if width > MOST_COLUMNS:
        raise ExportError(
            f"A table in SQLite has at most {MOST_COLUMNS:,} columns, and this model would need "
            f"{width:,}: export it to JSON.", code="too-large", value=width,
        )  # fmt: skip


def _check_texts(scoring: Scoring, names: list[str]) -> None:
    """Raise ExportError for texts and labels that SQLite or DuckDB cannot hold."""
    values = [value for known in scoring.columns.text.values() for value in known]
    labels = [label for label in scoring.rule.classes if isinstance(label, str)]
    for text in (*names, *values, *labels):
        if "\0" in text:
            raise ExportError(
                f"SQL cannot hold {text!r:.80}, which has a NUL character: rename it.", value=text
            )
    for name in names:
        if "\r" in name:  # which Python reads as a line feed
            raise ExportError(
                f"SQL cannot hold the name {name!r:.80}, which has a carriage return: rename the "
                "column and train the model again.", column=name,
            )  # fmt: skip
    for label in scoring.rule.classes:
        if isinstance(label, int) and not -(2**63) <= label < 2**63:
            raise ExportError(
                f"SQLite cannot hold the label {label}, which exceeds 64-bit integers: convert "
                "the labels to text.", code="out-of-range", value=label,
            )  # fmt: skip


def _free_names(scoring: Scoring, steps: dict[str, dict[str, str]]) -> list[str]:
    """Return the names of the columns that the steps add; ExportError if the model reads one."""
    names = [column for made in steps.values() for column in made]
    for name in (*(str(column.name) for column in _used(scoring)), *scoring.columns.text):
        if name.lower() in names:
            raise ExportError(
                f"Column '{name}' has the name of a column that the query adds: rename it and "
                "train the model again.", code="duplicate-name", column=name,
            )  # fmt: skip
    return names


def _used(scoring: Scoring) -> list[NumericColumn]:
    """Return the numeric columns to read; for svmlight text, only columns with a weight."""
    columns, found = scoring.columns, np.any(scoring.coef, axis=0)
    if columns.kind != "svmlight" or scoring.rule.normalize:
        return columns.numeric
    return [column for j, column in enumerate(columns.numeric) if found[j]]


def _query(steps: dict[str, dict[str, str]], names: list[str]) -> str:
    """Return a query whose steps add columns, called ``names``, to the rows of ``data``.

    A table beside ``data`` has every name as well, so that a column of ``data`` with one of them
    is an error instead of being read in place of what the query adds. Steps before the last are
    materialized, else SQLite computes a score wherever it is compared.
    """
    own, listed = ", ".join(f"0 AS {name}" for name in names), ", ".join(names)
    rows = f"FROM data, (SELECT {own}) AS linsep_names\nWHERE 1 NOT IN ({listed})"
    named, parts, source = [f"linsep_rows AS (\nSELECT data.*\n{rows}\n)"], [], "linsep_rows"
    for name, made in steps.items():
        columns = "".join(f",\n    {expression} AS {column}" for column, expression in made.items())
        parts.append(f"SELECT data.*{columns}\nFROM {source} AS data")
        source = name
    *first, last = parts
    named += [
        f"{name} AS MATERIALIZED (\n{part}\n)" for name, part in zip(steps, first, strict=False)
    ]
    return f"WITH {', '.join(named)}\n{last}"


def _score_names(rule: Rule) -> list[str]:
    if rule.name in ("sign", "number"):
        return ["linsep_score" if rule.name == "sign" else "linsep_prediction"]
    return [f"linsep_score_{k}" for k in range(1, len(rule.names()) + 1)]


def _score(scoring: Scoring, k: int) -> str:
    """Return the expression of score ``k``."""
    columns, coef = scoring.columns, scoring.coef[k].tolist()
    used = set(_used(scoring))
    terms = []
    for j, column in enumerate(columns.numeric):
        if column in used and (coef[j] or column.fill is None):
            terms.append(f"{literal(coef[j])} * {_number(column, columns.kind)}")
    for name, values in columns.text.items():
        weights = {value: literal(coef[j]) for value, j in values.items()}
        terms.append(_value(name, weights, columns))
    total = summed(terms)
    if scoring.rule.normalize:
        length = "CASE linsep_length WHEN 0e0 THEN 1e0 ELSE linsep_length END"
        total = f"({total}) * (1e0 / {length})"
    return f"{total}{INDENT}+ {literal(float(scoring.intercept[k]))}"


def _squares(scoring: Scoring) -> str:
    """Return the expression of the sum of the squares of a row's features."""
    columns = scoring.columns
    values = [_number(column, columns.kind) for column in columns.numeric]
    for name, known in columns.text.items():
        values.append(_value(name, dict.fromkeys(known, "1e0"), columns))
    return summed(f"power({value}, 2)" for value in values)


def _number(column: NumericColumn, kind: str) -> str:
    """Return the expression of a number as a feature; NULL if it may not be missing."""
    name = f"x{column.name}" if kind == "array" else str(column.name)
    cell = f"data.{identifier(name)}"
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
        value = (
            f"CASE WHEN typeof({cell}) IN ('real', 'DOUBLE', 'FLOAT') AND {value} LIKE '%.0' "
            f"THEN substr({value}, 1, length({value}) - 2) ELSE {value} END"
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
        wins[b].append(f"CASE WHEN {score} {above} 0e0 THEN 1 WHEN {score} IS NOT NULL THEN 0 END")
        wins[a].append(f"CASE WHEN {score} {above} 0e0 THEN 0 WHEN {score} IS NOT NULL THEN 1 END")
        sums[b].append(score)
        sums[a].append(f"-{score}")
    found = {f"linsep_wins_{k}": summed(own) for k, own in enumerate(wins, 1)}
    # one after the other, as linsep adds them
    return found | {f"linsep_sum_{k}": " + ".join(own) for k, own in enumerate(sums, 1)}


def _predictions(rule: Rule) -> dict[str, str]:
    """Return the expressions of the prediction and the probabilities."""
    if rule.name == "number":
        return {}
    found = {"linsep_prediction": f"CASE{''.join(_cases(rule))}\n    END"}
    if not rule.probabilities:
        return found
    if rule.name == "sign":
        power = "exp(-abs(linsep_score))"
        found["linsep_probability"] = (
            f"CASE WHEN linsep_score >= 0e0 THEN 1e0 ELSE {power} END / (1e0 + {power})"
        )
        return found
    names = _score_names(rule)
    for k, own in enumerate(names, 1):
        powers = summed(f"exp({name} - {own})" for name in names)
        found[f"linsep_probability_{k}"] = f"1e0 / ({powers})"
    return found


def _cases(rule: Rule) -> Iterable[str]:
    """Yield a condition and a label for each class."""
    k, labels = len(rule.classes), [_label(label) for label in rule.classes]
    if rule.name == "sign":
        above, below = (">=", "<") if rule.ties_high else (">", "<=")
        cut = literal(rule.cut) if rule.cut else "0e0"
        yield f"{INDENT}WHEN linsep_score {above} {cut} THEN {labels[1]}"
        yield f"{INDENT}WHEN linsep_score {below} {cut} THEN {labels[0]}"
        return
    for one in reversed(range(k)) if rule.ties_high else range(k):
        others = [other for other in range(k) if other != one]
        if rule.name == "largest":
            tests = [f"linsep_score_{one + 1} >= linsep_score_{other + 1}" for other in others]
        else:
            tests = [_beats(one + 1, other + 1) for other in others]
        yield f"{INDENT}WHEN {' AND '.join(tests)} THEN {labels[one]}"


def _beats(one: int, other: int) -> str:
    wins, sums = f"linsep_wins_{one}", f"linsep_sum_{one}"
    same = f"{wins} = linsep_wins_{other} AND {sums} >= linsep_sum_{other}"
    return f"({wins} > linsep_wins_{other} OR {same})"


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
    if not math.isfinite(number):
        raise ExportError(
            "A weight that is not finite cannot be written as SQL: fit the model again.",
            code="not-finite", value=number,
        )  # fmt: skip
    sign, size = "-" if math.copysign(1.0, number) < 0 else "", abs(number)
    if size == 0 or LOW <= size <= HIGH:
        digits = repr(size)
        found = digits if "e" in digits else f"{digits}e0"
        return f"({sign}{found})" if sign else found
    top, bottom = size.as_integer_ratio()
    shift = 0
    while top >= 1 << 53:
        top, shift = top >> 1, shift + 1
    shift -= bottom.bit_length() - 1
    factor = " * " if shift > 0 else " / "
    steps = [50] * (abs(shift) // 50) + [abs(shift) % 50]
    powers = "".join(f"{factor}{1 << step}e0" for step in steps if step)
    return f"({sign}{top}e0{powers})"


def identifier(name: str) -> str:
    """Return a name in double quotes."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def text(value: str) -> str:
    """Return text in single quotes, without carriage returns, which programs may replace by line
    feeds when they read a file as text.
    """
    parts = ["'" + part.replace("'", "''") + "'" for part in value.split("\r")]
    return f"({RETURN.join(parts)})" if len(parts) > 1 else parts[0]


def _label(label: Any) -> str:
    """Return a label as SQL."""
    if isinstance(label, str):
        return text(label)
    if isinstance(label, bool):
        return str(label).upper()
    return str(label) if isinstance(label, int) else literal(label)
