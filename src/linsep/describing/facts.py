"""The description of data, as an object and as text."""

import json
import math
from collections import Counter
from types import SimpleNamespace
from typing import Any

from linsep.describing.describing import Description
from linsep.describing.tables import MOST_LABELS
from linsep.estimators.labels import label_text, plain_labels
from linsep.layout import pair_lines, table_lines
from linsep.words import counted, percent, size_text

#: most columns, and most names in a line; JSON has all
MOST_COLUMNS, MOST_NAMES, MOST_CLASSES = 20, 8, 6


class Facts(SimpleNamespace):
    """Description of data by :func:`linsep.describe`; ``print`` shows it as text.

    Attributes
    ----------
    data, format : str, the name of the data and their format
    bytes, rows : int
    columns : list of dict, of a table, else None
        ``name``, ``type``, ``missing``, ``values`` (number of different values), and for numbers
        ``min``, ``max``, ``mean`` and ``std``.
    label : dict or None, the classes and their rows, or the range of the numbers
    separable : dict or None, whether a hyperplane separates the classes, from a quick test
    left_out, words : list of str, columns that a fit has to leave out, or to read word by word
    like_texts : str or None, how rows without columns resemble rows of texts
    learner : dict or None, the ``name`` of a learner for these data, and the ``reason``
    next : str or None, the next command or call
    """

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain JSON: what ``linsep describe --json`` prints."""
        plain: dict[str, Any] = json.loads(json.dumps(_finite(vars(self)), default=repr))
        return plain

    def __str__(self) -> str:
        found = vars(self)
        lines = pair_lines(pairs_of(found))
        if found["columns"] is not None:
            header, rows, more = table_of(found["columns"])
            lines += ["", *table_lines([header, *rows]), *[more] * bool(more)]
        return "\n".join(lines)

    __repr__ = __str__


def describe(
    data: Any,
    *,
    target: str | None = None,
    index_base: int | None = None,
    format: str | None = None,
    max_line: int | str | None = None,
    **reading: Any,
) -> Facts:
    """Describe files or a data frame, in one reading with bounded memory.

    Parameters
    ----------
    data : a data frame of pandas or polars, an Arrow table; a file, folder, glob or URL, or a list
    of them
    target : name of the label column of a table
    index_base, format, max_line : as for :func:`linsep.open_source`; for files only
    **reading : how CSV is read, such as ``decimal=","``, as for :func:`linsep.open_source`

    Returns
    -------
    Facts
        The contents of ``linsep describe``: rows, columns with their types, ranges and missing
        values, the label, whether the classes are separable, and the next command.

    Raises
    ------
    DataError
        As :func:`linsep.open_source`.
    TypeError
        For anything but files and data frames.

    Examples
    --------
    >>> import pandas as pd
    >>> facts = describe(pd.DataFrame({"size": [1, 2, 8, None], "kind": ["a", "a", "b", "b"]}),
    ...                  target="kind")
    >>> facts.rows, facts.next
    (4, "linsep.fit(frame, target='kind', missing='mean')")
    """
    description = Description(
        data, target=target, index_base=index_base, format=format, max_line=max_line, **reading
    )
    return Facts(**description.read())


def _finite(found: Any) -> Any:
    """Return JSON without NaN and infinity, which become None."""
    if isinstance(found, dict):
        return {name: _finite(value) for name, value in found.items()}
    if isinstance(found, list | tuple):
        return [_finite(value) for value in found]
    plain = found.tolist() if hasattr(found, "tolist") else found
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain


def pairs_of(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the lines about all data, each as its name and its text."""
    size = "" if found["bytes"] is None else f", {size_text(found['bytes'])}"
    pairs = [("data", f"{found['data']}, {found['format']}{size}"), ("rows", f"{found['rows']:,}")]
    pairs += _of_table(found) if found["columns"] is not None else _of_vectors(found)
    if (label := found["label"]) is not None:
        pairs.append(("label", _label(label, found["rows"])))
        if label["marks"]:
            marks = " and ".join(map(repr, label["marks"]))
            pairs.append(("note", f"{marks} may stand for missing labels: name null values"))
    if (separable := found["separable"]) is not None:
        pairs.append(("separable", _separable(separable, found["rows"], bool(found["words"]))))
        if alone := separable.get("alone"):
            what = "separates" if len(alone) == 1 else "each separate"
            pairs.append(
                (
                    "leak",
                    f"{_names(alone)} alone {what} the classes: check that it is known "
                    "before the label",
                )
            )
        if separable.get("chance"):
            pairs.append(("chance", separable["chance"]))
    if found["learner"] is not None:
        pairs.append(("learner", "{name}: {reason}".format(**found["learner"])))
    if found["next"] is not None:
        pairs.append(("next", found["next"]))
    return pairs


def table_of(described: list[dict[str, Any]]) -> tuple[list[str], list[list[str]], str]:
    """Return the heading and the lines of the table of columns, and how many are left out."""
    rows = []
    for column in described[:MOST_COLUMNS]:
        values = column.get("values")
        found = [column.get(key) for key in ("min", "max", "mean", "std")]
        cells = ["" if number is None else f"{number:.5g}" for number in found]
        if column["type"] == "bool":
            cells[:2] = ["", ""]
        missing = "" if column["missing"] is None else f"{column['missing']:,}"
        various = "" if "values" not in column else "many" if values is None else f"{values:,}"
        rows.append([_named(column["name"]), column["type"], *cells, missing, various])
    more = max(0, len(described) - MOST_COLUMNS)
    header = ["column", "type", "min", "max", "mean", "std", "missing", "values"]
    return header, rows, f"... and {counted(more, 'more column')}; --json has all" if more else ""


def _of_table(found: dict[str, Any]) -> list[tuple[str, str]]:
    columns = found["columns"]
    names = {"number": "numeric", "int": "numeric", "bool": "true or false"}
    kinds = Counter(names.get(column["type"], column["type"]) for column in columns)
    types = ", ".join(f"{n:,} {kind}" for kind, n in kinds.items())
    gaps = {c["name"]: c["missing"] for c in columns if c["missing"]}
    most = sorted(gaps, key=lambda name: -gaps[name])
    missing = _names([f"{_named(name)} {gaps[name]:,}" for name in most]) or "none"
    if unread := [c["name"] for c in columns if c["missing"] is None]:
        missing += f"; not counted in {_names(unread)}"
    long = [c["name"] for c in columns if c["type"] != "text" and c.get("refused")]
    told = [
        ("infinite", _names([c["name"] for c in columns if c.get("infinite")])),
        ("too long", f"{_names(long)}, not exactly representable as float64" if long else ""),
        *[("invalid", f"{c['invalid']}; other values are numbers")
          for c in columns if c.get("invalid")],
        ("constant", _names(found["constant"])),
        ("equal", _names([" = ".join(map(_named, names)) for names in found["duplicates"]])),
    ]  # fmt: skip
    pairs = [("columns", f"{len(columns):,} ({types})"), ("missing", missing)]
    return pairs + [(name, text) for name, text in told if text]


def _of_vectors(found: dict[str, Any]) -> list[tuple[str, str]]:
    used = "" if found["used"] in (None, found["features"]) else f", {found['used']:,} used"
    pairs = [("features", f"{found['features']:,}{used}; {found['stored']:.4g} values per row")]
    if found["min"] is not None:
        pairs.append(("values", f"from {found['min']:g} to {found['max']:g}"))
    if found["weights"] is not None:
        pairs.append(("weights", "from {:g} to {:g}".format(*found["weights"])))
    if found["n_constant"]:
        pairs.append(("constant", f"{found['n_constant']:,}: {_names(found['constant'])}"))
    return pairs


def _names(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return ", ".join(map(_named, names[:MOST_NAMES])) + more


def _named(column: str) -> str:
    return column if column.strip() else repr(column)


def _label(label: dict[str, Any], rows: int) -> str:
    column = f"{label['column']}, " if label["column"] is not None else ""
    missing = f"; {counted(label['missing'], 'row')} without" if label["missing"] else ""
    if label["kind"] == "numbers":
        ends = "" if label["min"] is None else f" from {label['min']:g} to {label['max']:g}"
        return f"{column}numbers{ends}{missing}"
    classes = label["classes"]
    if classes is None:
        return f"{column}more than {MOST_LABELS:,} classes{missing}"
    labels = plain_labels([one["label"] for one in classes])
    shown = [
        f"{label_text(name)} {percent(one['rows'] / rows)}"
        for name, one in zip(labels[:MOST_CLASSES], classes, strict=False)
    ]
    more = ", ..." if len(classes) > MOST_CLASSES else ""
    number = "1 class" if len(classes) == 1 else f"{len(classes):,} classes"
    return f"{column}{number}: {', '.join(shown)}{more}{missing}"


def _separable(found: dict[str, Any], rows: int, words: bool) -> str:
    without = f", without {_names(found['without'])}" if found["without"] else ""
    of = f"{counted(found['rows'], 'row')}{without}"
    if found["verdict"] == "overlapping":
        return f"no: no hyperplane separates the classes (proved on {of})"
    if found["verdict"] == "separable":
        return f"yes: a hyperplane separates the classes (all {of})"
    if found["verdict"] == "quasi-separable":
        return f"quasi-separable: {_decided(found)} (proved on {of})"
    if found.get("of_sample"):
        some = f"{found['rows']:,} of {rows:,} rows{without}"
        if found["of_sample"] == "quasi-separable":
            return f"not decided: in {some}, {_decided(found)}; `linsep separate` decides"
        are = f"{',' * bool(without)} are {found['of_sample']}"
        return f"not decided: {some}{are}; `linsep separate` decides"
    # The command does not read columns of text word by word.
    return "not decided by the quick test" + ("" if words else "; `linsep separate` decides")


def _decided(found: dict[str, Any]) -> str:
    """Return which rows are decided by a hyperplane that has other rows on it."""
    decided = found["decided"]
    if not decided["rows"]:  # only some of three or more classes are ruled out
        return f"weights of {_names(decided['columns'])} diverge, but every row is on a boundary"
    rest = found["rows"] - decided["rows"]
    decide = "decides" if len(decided["columns"]) == 1 else "decide"
    return (
        f"{_names(decided['columns'])} {decide} {counted(decided['rows'], 'row')}, and no "
        f"hyperplane separates the other {rest:,}"
    )
