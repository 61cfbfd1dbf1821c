"""The description of data, as an object and as text."""

import shlex
from collections import Counter
from copy import deepcopy
from types import SimpleNamespace
from typing import Any

from linsep.describing.describing import Description
from linsep.describing.tables import SAMPLE_ROWS
from linsep.estimators import label_text, plain_labels
from linsep.layout import pair_lines, table_lines
from linsep.words import counted, percent, size_text

#: most columns, and most names in a line; JSON has all
MOST_COLUMNS, MOST_NAMES, MOST_CLASSES = 20, 8, 6
#: share of the rows of an average class below which a class is rare
RARE = 0.1


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
        return deepcopy(vars(self))

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


def pairs_of(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the lines about all data, each as its name and its text."""
    size = "" if found["bytes"] is None else f", {size_text(found['bytes'])}"
    label, tested, learner = found["label"], found["separable"], found["learner"]
    leak = tested and tested["of_sample"] == "separable"
    known = "; check that it is known before the label" if leak else ""
    pairs = [
        ("data", f"{found['data']}, {found['format']}{size}"),
        ("rows", f"{found['rows']:,}"),
        *(_of_columns if found["columns"] is not None else _of_features)(found),
        *(_of_label(label, found["rows"]) if label else []),
        ("separable", tested and _separable(found)),
        ("alone", tested and tested["alone"] and tested["alone"] + known),
        ("chance", tested and tested["chance"]),
        ("learner", learner and "{name}: {reason}".format(**learner)),
        ("next", found["next"]),
    ]
    return [(name, text) for name, text in pairs if text]


def table_of(described: list[dict[str, Any]]) -> tuple[list[str], list[list[str]], str]:
    """Return the heading and the lines of the table of columns, and how many are left out."""
    rows = []
    for column in described[:MOST_COLUMNS]:
        ends = [column.get(key) for key in ("min", "max", "mean", "std")]
        cells = ["" if number is None else f"{number:.5g}" for number in ends]
        various = "many" if column["values"] is None else f"{column['values']:,}"
        known = ["", ""] if column["missing"] is None else [f"{column['missing']:,}", various]
        rows.append([_named(column["name"]), column["type"], *cells, *known])
    more = max(0, len(described) - MOST_COLUMNS)
    header = ["column", "type", "min", "max", "mean", "std", "missing", "values"]
    return header, rows, f"... and {counted(more, 'more column')}; --json has all" if more else ""


def _of_columns(found: dict[str, Any]) -> list[tuple[str, str]]:
    columns = found["columns"]
    names = {"number": "numeric", "int": "numeric", "bool": "true or false"}
    kinds = Counter(names.get(column["type"], column["type"]) for column in columns)
    gaps = sorted((c for c in columns if c["missing"]), key=lambda c: -c["missing"])
    long = [c["name"] for c in columns if c.get("infinite") == 0 and c["refused"]]
    marks = {mark: f"{mark!r} in {c['name']}" for c in columns for mark in c["marks"]}
    as_null = " ".join(f"--null-values {shlex.quote(mark)}" for mark in marks)
    alike = ["{!r}, {!r} in {}".format(*c["alike"][:2], c["name"]) for c in columns if c["alike"]]
    ids = [c["name"] for c in columns if c.get("like_id") and c["name"] in found["left_out"]]
    units = ": remove the row if it holds units"
    types = ", ".join(f"{n:,} {kind}" for kind, n in kinds.items())
    return [
        ("columns", f"{len(columns):,} ({types})"),
        ("missing", _names([f"{_named(c['name'])} {c['missing']:,}" for c in gaps]) or "none"),
        ("note", f"{_names([*marks.values()])}: read it as missing with {as_null}" * bool(marks)),
        ("note", f"{_names(alike)}: differ only in case or blanks" * bool(alike)),
        ("note", f"{_names(ids)}: whole numbers that look like an ID, left out" * bool(ids)),
        ("infinite", _names([c["name"] for c in columns if c.get("infinite")])),
        ("too long", f"{_names(long)}, integers that float64 may not represent" * bool(long)),
        *[("invalid", f"{odd}; other values are numbers{units * (' row 1,' in odd)}")
          for odd in (c["invalid"] for c in columns) if odd],
        ("constant", _names([c["name"] for c in columns if c["constant"]])),
    ]  # fmt: skip


def _of_features(found: dict[str, Any]) -> list[tuple[str, str]]:
    values = "" if found["min"] is None else "from {min:g} to {max:g}".format(**found)
    stored = "{features:,}; {stored:.4g} values per row".format(**found)
    return [("features", stored), ("values", values)]


def _names(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return ", ".join(map(_named, names[:MOST_NAMES])) + more


def _named(column: str) -> str:
    return column if column.strip() else repr(column)


def _of_label(label: dict[str, Any], rows: int) -> list[tuple[str, str]]:
    column = f"{label['column']}, " if label["column"] is not None else ""
    missing = f"; {counted(label['missing'], 'row')} without" if label["missing"] else ""
    classes = label["classes"]
    if label["kind"] == "numbers":
        of = "" if label["min"] is None else " from {min:g} to {max:g}".format(**label)
        return [("label", f"{column}numbers{of}{missing}")]
    labels = [label_text(one) for one in plain_labels([one["label"] for one in classes])]
    shares = [one["rows"] / rows for one in classes]
    shown = [f"{name} {percent(share)}" for name, share in zip(labels, shares, strict=True)]
    shown[MOST_CLASSES:] = ["..."] * (len(classes) > MOST_CLASSES)
    number = "1 class" if len(classes) == 1 else f"{len(classes):,} classes"
    rare = f"few rows are {labels[-1]}: find them with --class-weight balanced or --threshold"
    return [
        ("label", f"{column}{number}: {', '.join(shown)}{missing}"),
        ("rare", rare if shares[-1] * len(classes) < RARE else ""),
    ]


def _separable(found: dict[str, Any]) -> str:
    tested, several = found["separable"], len(found["label"]["classes"]) > 2
    two, more = "hyperplane separates the classes", "linear scores of the classes predict every row"
    told, gaps = more if several else two, tested["rows"] < found["rows"]
    part = (" of a sample" if found["rows"] > SAMPLE_ROWS else " without missing values") * gaps
    out = f"; columns left out: {_names(tested['without'])}" if tested["without"] else ""
    of = f"{counted(tested['rows'], 'row')}{part}{out}"
    if tested["of_sample"] is None:
        return "not decided by the quick test"
    return {
        "overlapping": f"no: no {told} (proved on {of})",
        "separable": f"yes: {'a ' * (not several)}{told} (all {of})",
        "quasi-separable": f"{tested['finding']} (proved on {of})",
        None: f"not decided: {tested['of_sample']} in a test of {of}; `linsep separate` decides",
    }[tested["verdict"]]
