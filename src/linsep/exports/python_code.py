"""Models as Python modules that import nothing."""

from typing import Any

import linsep
from linsep.exports.scoring import Rule, Scoring, kind_of, read_scoring

ROWS = {
    "table": "a mapping of columns to values (None or NaN: missing)",
    "array": "a sequence of numbers",
    "svmlight": "a mapping of numbers of features to values; those left out are zero",
}
READ = {"table": "row[column]", "array": "row[column]", "svmlight": "row.get(column, 0.0)"}

SCORES = '''

def scores(row):
    """Return the scores of a row, {rows}.

    Return None if a value is missing where the model takes none, or infinite.
    """
    found = [0.0] * len(INTERCEPTS){squares}
    for column, (missing, subtract, divide, weights) in NUMBERS.items():
        value = {read}{truths}
        if value is None or value == "" or value != value:
            value = missing
        if value is None or float(value) - float(value) != 0.0:
            return None
        value = (float(value) - subtract) / divide{square}
        for k, weight in enumerate(weights):
            found[k] += weight * value
'''
TEXTS = """    for column, values in TEXTS.items():
        value = row[column]
        if value is None or value != value or {empty}:
{missing}{plain}
        if value in values:{count}
            for k, weight in enumerate(values[value]):
                found[k] += weight
"""
#: categories may be numbers, 1.0 among them where others are missing
CATEGORIES = """
        if column in {names!r} and not isinstance(value, str):
            value = str(value if isinstance(value, int) or value % 1 else int(value)).lower()"""
#: in rows of a CSV file true and false are text
TRUTHS = """
        if column in TRUTHS and isinstance(value, str):
            value = {"true": 1.0, "false": 0.0}.get(value.lower(), value)"""
SQUARE = "\n        features.append(value)\n        squares += value * value"
COUNT = "\n            features.append(1.0)\n            squares += 1.0"
RESULT = "    return [score + intercept for score, intercept in zip(found, INTERCEPTS)]\n"
SCALED = """    unit = 1.0
    if not 1e-280 < squares < 1e280:  # times a power of 2, features have normal squares
        unit, squares = 2.0**700 if squares < 1.0 else 2.0**-700, 0.0
        for value in features:
            squares += value * unit * (value * unit)
    scale = unit / squares**0.5 if squares else 1.0
    return [score * scale + intercept for score, intercept in zip(found, INTERCEPTS)]
"""

PREDICT = '''

def predict(row):
    """Return {what}; None if `scores` does."""
    found = scores(row)
    if found is None:
        return None
{body}
'''
PAIRS = """    wins, sums = [0] * len(CLASSES), [0.0] * len(CLASSES)
    for (a, b), score in zip(PAIRS, found):
        wins[b if score {above} 0.0 else a] += 1
        sums[b] += score
        sums[a] -= score
    return CLASSES[max({order}, key=lambda k: (wins[k], sums[k]))]"""

PROBABILITIES = '''

def probabilities(row):
    """Return the probabilities of the classes as a dict; None if `scores` does."""
    found = scores(row)
    if found is None:
        return None
    found = {found}
    largest = max(found)
    powers = [2.718281828459045 ** (score - largest) for score in found]
    return {{label: power / sum(powers) for label, power in zip(CLASSES, powers)}}
'''


def as_python(model: Any) -> str:
    """Return a model as Python source with the functions ``scores`` and ``predict``, and
    ``probabilities`` where there are some.
    """
    scoring, kind = read_scoring(model), kind_of(model)
    rule, columns = scoring.rule, scoring.columns
    parts = [
        f'"""{kind} of linsep {linsep.__version__}. It imports nothing."""\n',
        *_tables(scoring),
        SCORES.format(
            rows=ROWS[columns.kind],
            read=READ[columns.kind],
            squares="\n    features, squares = [], 0.0" if rule.normalize else "",
            square=SQUARE if rule.normalize else "",
            truths=TRUTHS if any(column.truth for column in columns.numeric) else "",
        ),
    ]
    if columns.text:
        missing = "continue" if columns.fill_text else "return None"
        count = COUNT if rule.normalize else ""
        known, empty = columns.empty, 'value == ""'
        if known:
            empty = f"({empty} and column not in {known!r})"
        named = columns.categorical
        plain = CATEGORIES.format(names=named) if named else ""
        missing = " " * 12 + missing
        parts.append(TEXTS.format(missing=missing, count=count, empty=empty, plain=plain))
    parts.append(SCALED if rule.normalize else RESULT)
    what = "the class of a row" if rule.classes else "the number predicted for a row"
    parts.append(PREDICT.format(what=what, body=_body(rule)))
    if rule.probabilities:
        found = "[0.0, found[0]]" if rule.name == "sign" else "found"
        parts.append(PROBABILITIES.format(found=found))
    return "".join(parts)


def _tables(scoring: Scoring) -> list[str]:
    """Return the constants of a module."""
    rule, columns, coef = scoring.rule, scoring.columns, scoring.coef.T.tolist()
    parts = []
    if rule.classes:
        parts.append(f"\nCLASSES = {list(rule.classes)!r}")
    if rule.name == "pairs":
        parts.append(
            "\n# the classes of each score, which is positive for the second\n"
            f"PAIRS = {rule.pairs!r}"
        )
    parts.append(f"\nINTERCEPTS = {scoring.intercept.tolist()!r}")
    parts.append("\n# column: (replaces a missing value, subtract, divide, weights)\nNUMBERS = {\n")
    for j, column in enumerate(columns.numeric):
        divide = 1.0 if column.divide is None else column.divide
        about = (column.fill, column.subtract, divide, tuple(coef[j]))
        if columns.kind != "svmlight" or rule.normalize or any(coef[j]):
            parts.append(f"    {column.name!r}: {about!r},\n")
    parts.append("}\n")
    if truths := [column.name for column in columns.numeric if column.truth]:
        parts.append(f"# columns of true and false, which are 1 and 0\nTRUTHS = {truths!r}\n")
    if columns.text:
        parts.append("# column: {value: weights}\nTEXTS = {\n")
        for name, values in columns.text.items():
            parts.append(f"    {name!r}: {{\n")
            parts += [f"        {value!r}: {tuple(coef[j])!r},\n" for value, j in values.items()]
            parts.append("    },\n")
        parts.append("}\n")
    return parts


def _body(rule: Rule) -> str:
    """Return the lines that make a prediction of the scores ``found``."""
    if rule.name == "number":
        return "    return found[0]"
    above = ">=" if rule.ties_high else ">"
    if rule.name == "sign":
        return f"    return CLASSES[1 if found[0] {above} {rule.cut!r} else 0]"
    order = "reversed(range(len(CLASSES)))" if rule.ties_high else "range(len(CLASSES))"
    if rule.name == "largest":
        return f"    return CLASSES[max({order}, key=found.__getitem__)]"
    return PAIRS.format(above=above, order=order)
