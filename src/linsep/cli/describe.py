"""The command ``describe``: what files hold, on one screen, and what to do next."""

from typing import Any

from linsep.cli import file_options, options, report
from linsep.cli.file_options import Files
from linsep.cli.progress import watching
from linsep.cli.screen import count, label_text, percent, print_pairs, print_table
from linsep.cli.standard_input import as_given, reads_data
from linsep.describing import columns
from linsep.describing.describing import Description
from linsep.estimators._common.checking import plain_labels
from linsep.sources.limits import size_text

#: most columns, and most names in a line; --json has all
MOST_COLUMNS, MOST_NAMES, MOST_CLASSES = 20, 8, 6


@reads_data
@file_options.added
def describe(
    data: options.Data,
    *,
    target: options.Target = None,
    index_base: options.IndexBase = None,
    files: Files,
    as_json: options.AsJson = False,
) -> None:
    """Show what DATA holds: rows, classes, types, ranges, missing values, and the next command.

    Example: linsep describe train.csv --target species
    """
    description = Description(
        data, target=target, index_base=index_base, **files,
        typed=as_given(data),
    )  # fmt: skip
    with watching(description.source):  # type: ignore[arg-type]
        found = description.read()
    if as_json:
        report.print_json(found)
    else:
        print_description(found)


def print_description(found: dict[str, Any]) -> None:
    """Print the output of ``linsep describe``."""
    size = "" if found["bytes"] is None else f", {size_text(found['bytes'])}"
    pairs = [
        ("data", f"{found['data']}, {found['format']}{size}"),
        ("rows", f"{found['rows']:,}"),
    ]
    pairs += _of_table(found) if found["columns"] is not None else _of_vectors(found)
    if found["label"] is not None:
        pairs.append(("label", _label(found["label"], found["rows"])))
    if found["separable"] is not None:
        pairs.append(
            ("separable", _separable(found["separable"], found["rows"], bool(found["words"])))
        )
    if found["next"] is not None:
        pairs.append(("next", found["next"]))
    print_pairs(pairs)
    if found["columns"] is not None:
        print()
        _print_columns(found["columns"])


def _of_table(found: dict[str, Any]) -> list[tuple[str, str]]:
    kinds: dict[str, int] = {}
    names = {"number": "numeric", "int": "numeric", "bool": "true or false"}
    for column in found["columns"]:
        kind = names.get(column["type"], column["type"])
        kinds[kind] = kinds.get(kind, 0) + 1
    types = ", ".join(f"{n:,} {kind}" for kind, n in kinds.items())
    pairs = [("columns", f"{len(found['columns']):,} ({types})")]
    gaps = {c["name"]: c["missing"] for c in found["columns"] if c["missing"]}
    most = sorted(gaps, key=lambda name: -gaps[name])
    missing = _names([f"{_named(name)} {gaps[name]:,}" for name in most])
    if unread := [c["name"] for c in found["columns"] if c["missing"] is None]:
        missing = f"{missing or 'none'}; not counted in {_names(unread)}"
    pairs.append(("missing", missing or "none"))
    infinite = [c["name"] for c in found["columns"] if c.get("infinite")]
    if infinite:
        pairs.append(("infinite", _names(infinite)))
    if long := [c["name"] for c in found["columns"] if c["type"] != "text" and c.get("refused")]:
        pairs.append(("too long", f"{_names(long)}, with digits that float64 does not hold"))
    pairs += [
        ("odd", f"{c['odd']}, where others are numbers") for c in found["columns"] if c.get("odd")
    ]
    if found["constant"]:
        pairs.append(("constant", _names(found["constant"])))
    if found["duplicates"]:
        pairs.append(
            ("equal", _names([" = ".join(map(_named, names)) for names in found["duplicates"]]))
        )
    return pairs


def _of_vectors(found: dict[str, Any]) -> list[tuple[str, str]]:
    used = "" if found["used"] in (None, found["features"]) else f", {found['used']:,} used"
    pairs = [
        ("features", f"{found['features']:,}{used}; {found['stored']:.4g} values a row"),
    ]
    if found["min"] is not None:
        pairs.append(("values", f"from {found['min']:g} to {found['max']:g}"))
    if found["weights"] is not None:
        low, high = found["weights"]
        pairs.append(("weights", f"from {low:g} to {high:g}"))
    if found["n_constant"]:
        pairs.append(("constant", f"{found['n_constant']:,}: {_names(found['constant'])}"))
    if found["n_duplicates"]:
        alike = [" = ".join(names[:MOST_NAMES]) for names in found["duplicates"]]
        pairs.append(("equal", f"{found['n_duplicates']:,} sets: {_names(alike)}"))
    return pairs


def _names(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return ", ".join(map(_named, names[:MOST_NAMES])) + more


def _named(column: str) -> str:
    return column if column.strip() else repr(column)


def _label(label: dict[str, Any], rows: int) -> str:
    column = f"{label['column']}, " if label["column"] is not None else ""
    missing = f"; {count(label['missing'], 'row')} without" if label["missing"] else ""
    if label["kind"] == "numbers":
        ends = "" if label["min"] is None else f" from {label['min']:g} to {label['max']:g}"
        return f"{column}numbers{ends}{missing}"
    classes = label["classes"]
    if classes is None:
        return f"{column}more than {columns.MOST_LABELS:,} classes{missing}"
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
    of = f"{count(found['rows'], 'row')}{without}"
    if found["verdict"] == "overlapping":
        return f"no: no hyperplane separates the classes (proved on {of})"
    if found["verdict"] == "separable":
        return f"yes: a hyperplane separates the classes (all {of})"
    if found["verdict"] == "quasi-separable":
        return f"almost: a hyperplane has no row on the wrong side, but some on it (all {of})"
    if found.get("of_sample"):
        some = f"{count(found['rows'], 'row')} of {rows:,}{without}"
        return f"not decided: {found['of_sample']} are {some}; `linsep separate` decides"
    # The command does not read columns of text word by word.
    return "not decided at a glance" + ("" if words else "; `linsep separate` decides")


def _print_columns(described: list[dict[str, Any]]) -> None:
    rows = []
    for column in described[:MOST_COLUMNS]:
        known, values = column.get("min") is not None, column.get("values")
        cells = [f"{column[key]:.5g}" if known else "" for key in ("min", "max", "mean", "std")]
        if column["type"] == "bool":
            cells[:2] = ["", ""]
        missing = "" if column["missing"] is None else f"{column['missing']:,}"
        various = "" if "values" not in column else "many" if values is None else f"{values:,}"
        rows.append([_named(column["name"]), column["type"], *cells, missing, various])
    print_table(["column", "type", "min", "max", "mean", "std", "missing", "values"], rows)
    if len(described) > MOST_COLUMNS:
        print(f"... and {len(described) - MOST_COLUMNS:,} more columns; --json has all")
