"""The learner and the next command for data that were described."""

import shlex
from pathlib import Path
from typing import Any

from linsep.catalog import OF_TEXT
from linsep.sources.remote.address import shown
from linsep.sources.tables.columns import is_row_label

#: types of columns that can be features, and flags of those that `fit` refuses or cannot use
USABLE, UNUSABLE = ("text", "number", "int", "bool"), ("unique", "refused", "infinite", "various")
#: share of a column that may be missing where rows with a missing value are dropped
MOST_DROPPED = 0.5
#: rows and weights up to which a logistic regression is fitted in seconds
SMALL_ROWS, SMALL_WEIGHTS = 200_000, 500
#: words per cell from which text is read word by word
WORDS = 3.0


def spelling_of(columns: list[dict[str, Any]], target: str | None) -> dict[str, Any]:
    """Return the reading options that turn columns into numbers, as far as they agree."""
    found: dict[str, Any] = {}
    for column in columns:
        options = {} if column["name"] == target else column.get("read_with") or {}
        for name, value in options.items():
            if isinstance(value, list):
                found[name] = list(dict.fromkeys([*found.get(name, ()), *value]))
            elif found.setdefault(name, value) != value:
                return {}
    return found


def left_out(columns: list[dict[str, Any]], target: str | None) -> tuple[list[str], list[str]]:
    """Return the columns that a fit has to leave out, and those whose words it should read."""
    out, words = [], []
    options = spelling_of(columns, target)
    for column in columns:
        name, read_with = column["name"], column.get("read_with")
        if name == target or (read_with and read_with.keys() <= options.keys()):
            continue
        text = column["type"] == "text"
        empty = column["missing"] and column.get("min", 0) is None
        if is_row_label(name):
            out.append(name)
        elif text and (column["words"] or 0) >= WORDS and not column["constant"]:
            words.append(name)
        elif column["type"] not in USABLE or empty or any(map(column.get, UNUSABLE)):
            out.append(name)
    return out, words


def learner_for(found: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the learner for data with a label and its options, and the reason in words."""
    label, verdict = found["label"], (found["separable"] or {}).get("of_sample")
    if label["kind"] == "numbers":
        return {"learner": "linear"}, "the label is a number"
    if found["words"] or found["like_texts"]:
        return {"learner": OF_TEXT}, "its steps are long for rare features, such as words"
    if verdict == "separable":
        return {"learner": "perceptron"}, "it stops when its weights separate the classes"
    weights = _features_in(found) * (len(label["classes"] or ()) - 1)
    if verdict and found["rows"] <= SMALL_ROWS and 0 < weights <= SMALL_WEIGHTS:
        reason = "the classes overlap, so probabilities are more informative than classes"
        if verdict == "quasi-separable":  # the sample's verdict holds for all rows
            reason = "no hyperplane separates all rows, and the penalty keeps every weight finite"
        scale = {} if found["columns"] is None else {"scale": "standard"}
        return {"learner": "logistic", "l2": 1, **scale}, reason
    return {"learner": "perceptron"}, "it trains on any number of rows without tuning"


def _features(found: dict[str, Any]) -> list[dict[str, Any]]:
    out = {*found["left_out"], *found["words"], found["label"]["column"]}
    return [column for column in found["columns"] or [] if column["name"] not in out]


def _features_in(found: dict[str, Any]) -> int:
    """Return the number of features, 0 if it is not known or there are none."""
    if found["columns"] is None:
        return found["used"] or 0
    each = [
        c["values"] if c["type"] == "text" and not c.get("read_with") else 1
        for c in _features(found)
    ]
    return 0 if None in each else sum(each)


def next_fit(how: dict[str, Any], found: dict[str, Any]) -> dict[str, Any] | None:
    """Return the options of the next fit; None for a single class, and without a feature.

    Parameters
    ----------
    how : options that were given, by name
    found : the description
    """
    typed, label = {name: value for name, value in how.items() if value is not None}, found["label"]
    if label["classes"] is not None and len(label["classes"]) == 1:
        return None
    chosen, _ = learner_for(found)
    if found["separable"] is not None or chosen["learner"] == "linear":
        typed |= chosen
    # least squares cannot handle so many features
    words_as = "exclude" if chosen["learner"] == "linear" else "text"
    features, sparse = _features(found), []
    if label["missing"]:  # rows without a label can only be dropped
        sparse = [c["name"] for c in features if c["missing"] > MOST_DROPPED * found["rows"]]
    words_read = words_as == "text" and found["words"]
    if found["columns"] and len(sparse) == len(features) and not words_read:
        return None
    spelling = spelling_of(found["columns"] or [], label["column"])
    typed |= spelling
    for option, names in (("exclude", [*found["left_out"], *sparse]), (words_as, found["words"])):
        if names:
            typed[option] = [*typed.get(option, []), *names]
    if label["missing"]:
        typed["missing"] = "drop"
    elif any(c["missing"] for c in features) or "null_values" in spelling:
        typed["missing"] = "mean"
    return typed


def next_command(data: list[str], how: dict[str, Any], found: dict[str, Any]) -> str | None:
    """Return the next command; None for rows without labels and columns, and without a next fit.

    Parameters
    ----------
    data : names of the files, as they were typed; credentials are left out
    how, found : as of :func:`next_fit`
    """
    data = [shown(str(name)) for name in data]
    if found["label"] is None:
        if found["columns"] is None:
            return None
        return shlex.join(["linsep", "describe", *data, *_options(how), "--target"]) + " COLUMN"
    if (typed := next_fit(how, found)) is None:
        return None
    stem = Path(data[0]).name.split(".")[0]
    model = f"{stem if stem not in ('', '-') else 'model'}.linsep"
    return shlex.join(["linsep", "fit", *data, *_options(typed | {"model": model})])


def next_call(target: str | None, found: dict[str, Any]) -> str | None:
    """Return the next call in Python for a data frame, as :func:`next_command` does."""
    if found["label"] is None:
        return "linsep.describe(frame, target=...)"
    typed = next_fit({"target": target}, found)
    if typed is None:
        return None
    return f"linsep.fit({', '.join(['frame', *(f'{n}={x!r}' for n, x in typed.items())])})"


def _options(typed: dict[str, Any]) -> list[str]:
    words: list[str] = []
    for name, value in typed.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        elif value is not None:
            for each in value if isinstance(value, list) else [value]:
                words += [f"--{flag}", str(each)]
    return words
