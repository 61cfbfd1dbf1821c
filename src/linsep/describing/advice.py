"""The learner and the next command for data that were described."""

import shlex
from pathlib import Path
from typing import Any

from linsep.catalog import OF_TEXT
from linsep.describing.tables import USABLE
from linsep.sources.remote import shown
from linsep.sources.tables.columns import is_row_label

#: options that name columns or values
LISTS = ("numeric", "date", "null_values")
#: rows and weights up to which a logistic regression is fitted in seconds, and rows for each weight
#: from which it needs no penalty
SMALL_ROWS, SMALL_WEIGHTS, ENOUGH = 200_000, 500, 10
#: words per cell from which text is read word by word
WORDS = 3.0


def spelling_of(columns: list[dict[str, Any]], target: str | None) -> dict[str, Any]:
    """Return the reading options that make columns numbers; where they disagree, of the first."""
    found: dict[str, Any] = {}
    for column in columns:
        options = column["read_with"] if column["name"] != target else {}
        for name, value in options.items():
            known = found.setdefault(name, value)
            found[name] = list(dict.fromkeys([*known, *value])) if name in LISTS else known
    return found


def left_out(columns: list[dict[str, Any]], label: Any) -> tuple[list[str], list[str]]:
    """Return the columns that a fit has to leave out, and those whose words it should read."""
    out, words = [], []
    target, numbers = (label["column"], label["kind"] == "numbers") if label else (None, False)
    options = spelling_of(columns, target)
    for column in columns:
        name, how = column["name"], column["read_with"]
        if name == target or (how and all(options[n] == x or n in LISTS for n, x in how.items())):
            continue
        verbose = column["words"] >= WORDS and column["values"] != 1
        unusable = is_row_label(name) or column["type"] not in USABLE or column["values"] == 0
        if verbose and not unusable and not numbers:
            words.append(name)
        elif verbose or unusable or column["refused"] or column.get("like_id"):
            out.append(name)
    return out, words


def learner_for(found: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the learner for data with a label and its options, and the reason in words."""
    label, seen = found["label"], found["separable"] or {"of_sample": None, "features": 0}
    verdict, weights = seen["of_sample"], seen["features"] * (len(label["classes"]) - 1)
    small = found["rows"] <= SMALL_ROWS and weights <= SMALL_WEIGHTS
    # with rows enough and all columns tested, estimates are finite and have standard errors
    free = weights * ENOUGH <= found["rows"] and {*seen.get("without", ())} <= {*found["left_out"]}
    scale = {} if found["columns"] is None else {"scale": "standard"}
    penalized = {"learner": "logistic", "l2": 1, **scale}
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (label["kind"] == "numbers", {"learner": "linear"}, "the label is a number"),
        (found["words"] or found["like_texts"], {"learner": OF_TEXT},
         "its steps are long for rare features, such as words"),
        (verdict == "separable", {"learner": "perceptron"},
         "it stops when its weights separate the classes"),
        (verdict == "quasi-separable" and small, penalized,
         "no hyperplane separates all rows, and the penalty keeps every weight finite"),
        (verdict and small, {"learner": "logistic"} if free else penalized,
         "the classes overlap, so probabilities are more informative than classes"),
        (True, {"learner": "perceptron"}, "it trains on any number of rows without tuning"),
    ]  # fmt: skip
    return next((learner, reason) for holds, learner, reason in cases if holds)


def next_fit(how: dict[str, Any], found: dict[str, Any]) -> dict[str, Any] | None:
    """Return all options of the next fit; None for a single class, and without a feature."""
    label, columns = found["label"], found["columns"] or []
    given = {name: value for name, value in how.items() if value is not None}
    out = {*found["left_out"], *found["words"], label["column"]}
    features = [column for column in columns if column["name"] not in out]
    useless = columns and not (features or found["words"])
    if useless or len(label["classes"]) == 1:
        return None
    spelling = spelling_of(columns, label["column"])
    gaps = any(c["missing"] for c in features) or "null_values" in spelling
    typed = given | learner_for(found)[0] | spelling | {
        "exclude": [*found["left_out"]], "text": found["words"],
        "unlabeled": "drop" if label["missing"] else None, "missing": "mean" if gaps else None,
    }  # fmt: skip
    return {name: value for name, value in typed.items() if value not in (None, [])}


def next_command(data: list[str], how: dict[str, Any], found: dict[str, Any]) -> str | None:
    """Return the next command, without credentials; None if no column and no fit is possible."""
    data = [shown(str(name)) for name in data]
    if found["label"] is None:
        words = ["linsep", "describe", *data, *_options(how), "--target", "COLUMN"]
        return None if found["columns"] is None else shlex.join(words)
    if (typed := next_fit(how, found)) is None:
        return None
    stem = Path(data[0]).name.split(".")[0]
    model = f"{stem if stem not in ('', '-') else 'model'}.linsep"
    return shlex.join(["linsep", "fit", *data, *_options(typed | {"model": model})])


def next_call(how: dict[str, Any], found: dict[str, Any]) -> str | None:
    """Return the next call in Python for a data frame, as :func:`next_command` does."""
    if found["label"] is None:
        return "linsep.describe(frame, target=...)"
    if (typed := next_fit(how, found)) is None:
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
