"""The user's own points: their columns in a table, and the points of a scene as CSV.

The lab on a server reads CSV as other commands do (``table_scene``). This module also has a reader
in the standard library, for pages on a static host.
"""

import base64
import csv
import io
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import PurePath
from statistics import pstdev
from typing import Any, NamedTuple

from linsep.errors import DataError
from linsep.lab.scene import (
    LONGEST_NAME,
    MOST_CLASSES,
    MOST_POINTS,
    Scene,
    checked_labels,
    default_names,
)
from linsep.lab.settings import LARGEST, plain_number
from linsep.sources.tables.spellings import Spelling, number_options
from linsep.words import counted, csv_text, escaped

#: largest file, in bytes
MOST_BYTES = 1_000_000
#: names of the column of classes in a file that the lab writes: the first that is not an axis
TARGETS = ("class", "label", "target")
#: end of the names of standardized columns
SCALED = " (scaled)"
#: columns are standardized if their standard deviations differ by a larger factor
MOST_UNEQUAL = 5
#: advice after a reason to standardize
KEPT = "“Scale: as in the file” in the reading options keeps the numbers."
NOT_ASKED = "Unknown request: reload the page."
#: options of reading on the page: name, label, and values with their texts
READING: dict[str, tuple[str, dict[str, str]]] = {
    "encoding": ("Encoding", {"utf-8": "UTF-8", "utf-16": "UTF-16", "cp1252": "Windows-1252",
                              "latin-1": "Latin-1"}),
    "delimiter": ("Between columns", {",": "comma", ";": "semicolon", "\t": "tab", " ": "a space",
                                      "whitespace": "blanks", "|": "|"}),
    "decimal": ("Decimal mark", {".": "point", ",": "comma"}),
    "thousands": ("Between thousands", {",": "comma", ".": "point", " ": "space",
                                        "'": "apostrophe"}),
    "header": ("First line", {"yes": "column names", "no": "a point"}),
    "missing": ("Missing values", {"error": "refused", "drop": "left out"}),
    "scale": ("Scale", {"none": "as in the file", "standard": "standardized"}),
}  # fmt: skip
#: descriptions of detected options, with {} for the value
_FOUND = {
    "encoding": "encoding {}", "delimiter": "{} between columns", "decimal": "decimal {}",
    "thousands": "{} between thousands", "units": "percent signs and currencies removed",
    "header": "line 1 as a point",
    "comment": "without lines that begin with {}", "skip_rows": "without line 1",
    "null_values": "{} as a missing value",
}  # fmt: skip


#: cells of a column of numbers that have no value, as for Arrow
MISSING = {"#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
           "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"}  # fmt: skip


class Own(NamedTuple):
    """A text with points, and how to read it.

    Attributes
    ----------
    content : bytes
    name : str
        For messages.
    chosen : dict
        The columns ``x``, ``y`` and ``label`` by number; ``x`` may be "projected".
    reading : dict
        Arguments of :func:`linsep.open_source` that the user has set. ``scale`` is about the two
        coordinates of the points shown.
    """

    content: bytes
    name: str = "The text"
    chosen: dict[str, Any] = {}  # noqa: RUF012  # never changed
    reading: dict[str, Any] = {}  # noqa: RUF012


class Columns(NamedTuple):
    """The columns of a text.

    Attributes
    ----------
    names : tuple of str
        Names of all columns, from the first line or "column_1", ...
    numeric : tuple of int
        The columns that hold numbers.
    x, y : int
        The coordinates; x may be "projected" for the first two principal components of all
        numeric columns, each scaled to standard deviation 1.
    label : int
        The class.
    said : tuple of str
        Sentences: how the text was read, and which rows are not shown.
    """

    names: tuple[str, ...]
    numeric: tuple[int, ...]
    x: int | str
    y: int
    label: int
    said: tuple[str, ...] = ()


def own_of(request: dict[str, Any]) -> Own:
    """Return what the page sends: ``text``, or ``file`` in base 64 and its ``name``."""
    text, chosen, given = (request.get(name) for name in ("text", "columns", "reading"))
    size = request.get("size", 0)
    named = PurePath(str(request.get("name") or "").replace("\\", "/")).name[-60:]
    name = "The text" if isinstance(text, str) else escaped(named).replace("\\", "_")
    name, content = name or "points.csv", b""
    if isinstance(text, str):
        content = text.encode("utf-8", "surrogatepass")
    elif not size:
        try:
            content = base64.b64decode(str(request.get("file", "-")), validate=True)
        except ValueError:
            raise DataError(NOT_ASKED, code="bad-request") from None
    size = max(len(content), size if isinstance(size, int) else 0)
    if size > MOST_BYTES:
        raise DataError(
            f"{name} has {size:,} bytes, and this page reads at most {MOST_BYTES:,}: remove rows, "
            f"or use the command “linsep lab FILE”, which shows the first {MOST_POINTS} rows.",
            code="too-large",
        )
    reading = {}
    for option, value in (given if isinstance(given, dict) else {}).items():
        if option not in READING or str(value) not in READING[option][1]:
            raise DataError(NOT_ASKED, code="bad-request", option=option, value=value)
        reading[option] = value == "yes" if option == "header" else str(value)
    return Own(content, name, chosen if isinstance(chosen, dict) else {}, reading)


def how_said(found: dict[str, Any]) -> tuple[str, ...]:
    """Return a sentence on detected options of reading, or nothing."""
    texts = []
    for option in filter(found.__contains__, _FOUND):
        value = found[option]
        words = READING.get(option, ("", {}))[1]
        shown = value[0] if isinstance(value, list) else words.get(value, value)
        texts.append(_FOUND[option].format(shown))
    return (f"Read with: {', '.join(texts)}.",) if texts else ()


def chosen_columns(
    names: Sequence[str], numeric: Sequence[int], own: Own, others: Sequence[int]
) -> Columns:
    """Return the columns of both coordinates and of the class.

    Without a choice the first two columns of numbers are the coordinates, and the last of the
    ``others`` is the class.
    """
    width, chosen = range(len(names)), own.chosen
    if len(names) < 3:
        raise DataError(
            f"{own.name} has {counted(len(names), 'column')}, and every row needs two coordinates "
            "and a class, as in 1.5, 2, a: add columns, or check “Between columns”.",
            code="no-columns",
        )
    # The class may be a number too: then it is the last column.
    label: Any = chosen.get("label", others[-1] if others else numeric[-1] if numeric else 0)
    usual = [j for j in numeric if j != label]
    if len(usual) < 2:
        have = ", ".join(f"'{names[j]}'" for j in usual) or "none"
        raise DataError(
            f"{own.name} needs two numeric columns besides the class '{names[label]}', for the "
            f"coordinates, and has {have}: add a column of numbers.",
            code="no-columns",
        )
    x, y = chosen.get("x", usual[0]), chosen.get("y", usual[1])
    for j in (label, y, *([] if x == "projected" else [x])):
        if not isinstance(j, int) or isinstance(j, bool) or j not in width:
            raise DataError(f"Choose columns from 1 to {len(width)}.", code="unknown-column")
    for j in [] if x == "projected" else [x, y]:
        if j not in numeric:
            raise DataError(
                f"Column '{names[j]}' is not numeric: choose another column.",
                code="column-type",
                column=names[j],
            )
    if x == y or label in (() if x == "projected" else (x, y)):
        raise DataError(
            "Choose different columns for the coordinates and the class.", code="column-role"
        )
    return Columns(tuple(name.strip() for name in names), tuple(numeric), x, y, label)


def standardized(
    axes: Sequence[str], places: Sequence[Sequence[float]], scene: Scene, scale: str | None
) -> tuple[Sequence[str], Sequence[Sequence[float]], str]:
    """Return both coordinates with mean 0 and standard deviation 1, or unchanged, with the names
    of their axes, and the reason if nobody asked for it.

    Parameters
    ----------
    axes : the names of both columns
    places : their numbers
    scene : Scene
        Its mode; lines and curves have axes of their own, for columns of any unit.
    scale : "standard", "none" or None
        None standardizes columns in the plane, whose axes are equal, if their standard deviations
        differ by a factor above 5.
    """
    columns = list(zip(*places, strict=True))
    free = scale is None and scene["room"] in ("line", "curve")
    if scale == "none" or free or not all(abs(v) <= LARGEST for place in places for v in place):
        return axes, places, ""
    spreads = [pstdev(column) for column in columns]
    if not all(spreads) or (scale is None and max(spreads) <= MOST_UNEQUAL * min(spreads)):
        return axes, places, ""
    means = [sum(map(Fraction, column)) / len(column) for column in columns]
    scaled = [[float(Fraction(v) - m) / s for v in column]
              for column, m, s in zip(columns, means, spreads, strict=True)]  # fmt: skip
    first, second = (f"{name.strip()} {spread:.3g}"
                     for name, spread in zip(axes, spreads, strict=True))  # fmt: skip
    why = "" if scale else (
        "Both coordinates are standardized, since their standard deviations differ: "
        f"{first}, {second}"
    )  # fmt: skip
    names = [f"{name.strip()[: LONGEST_NAME - len(SCALED)]}{SCALED}" for name in axes]
    return names, list(zip(*scaled, strict=True)), why


def scene_of_rows(
    scene: Scene, axes: Sequence[str], places: Sequence[Sequence[float]], labels: Sequence[Any],
    where: Callable[[int], str], column: str = "class",
) -> Scene:  # fmt: skip
    """Return the scene with these points; other settings stay, but for initial weights.

    Parameters
    ----------
    scene : Scene
    axes : the names of both columns of coordinates
    places : their numbers
    labels : the class of every row, numbers or text
    where : function from a row to its place in the file, for errors
    column : the name of the column of classes
    """
    shown = [_label_shown(label, partial(where, row), column) for row, label in enumerate(labels)]
    for row, place in enumerate(places):
        for axis, value in zip(axes, place, strict=True):
            if not abs(value) <= LARGEST:
                raise DataError(
                    f"{where(row)}, column '{axis}' holds {value:g}, and the lab shows numbers "
                    f"from {-LARGEST:,.0f} to {LARGEST:,.0f}: rescale the column.",
                    code="out-of-range",
                    column=axis,
                    value=value,
                )
    written: dict[str, Any] = {}
    for row, (label, name) in enumerate(zip(labels, shown, strict=True)):
        if written.setdefault(name, label) != label:
            raise DataError(
                f"{where(row)}, column '{column}' holds {label!r}, and an earlier row holds "
                f"{written[name]!r}: spell each class in one way.",
                code="bad-value",
                column=column,
                value=label,
            )
    names = sorted(written, key=_order)
    if len(names) > MOST_CLASSES:
        raise DataError(
            f"Column '{column}' has {len(names)} different values in {counted(len(labels), 'row')},"
            f" and the lab shows at most {MOST_CLASSES} classes: choose another column, or leave "
            "rows out.",
            code="class-count",
            column=column,
        )
    points = tuple((x + 0.0, y + 0.0, names.index(name))  # a zero has no sign
                   for (x, y), name in zip(places, shown, strict=True))  # fmt: skip
    usual = names in (["-1"], ["-1", "1"]) or names == list(default_names(len(names)))
    found = replace(scene, points=points, name="", labels=() if usual else checked_labels(names),
                    features=_axes_shown(axes), at=0)  # fmt: skip
    return found.with_settings(start=Scene()["start"])


def _label_shown(label: Any, where: Callable[[], str], column: str) -> str:
    """Return the name of a class: 1 rather than 1.0, true rather than True."""
    if isinstance(label, bool):
        return str(label).lower()
    if isinstance(label, int | float):
        return plain_number(label)
    name = str(label).strip()
    if not name.isprintable() or not 1 <= len(name) <= LONGEST_NAME:
        raise DataError(
            f"{where()}, column '{column}' holds {escaped(name)[:20]!r}... of {len(name)} "
            f"characters, and names have 1 to {LONGEST_NAME} printable characters: shorten it.",
            code="bad-value",
            column=column,
            value=label,
        )
    return name


def _axes_shown(axes: Sequence[str]) -> tuple[str, str]:
    """Return the names of axes, long ones with an ellipsis."""
    first, second = (escaped(name.strip()) or f"column {k}" for k, name in enumerate(axes, 1))
    first, second = (name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
                     for name in (first, second))  # fmt: skip
    return (first, second) if first != second else (f"{first[:36]} (1)", f"{second[:36]} (2)")


def _order(name: str) -> tuple[bool, float, str]:
    """Return a key that sorts numbers by value, before words."""
    number = Spelling().number(name)
    return (True, 0.0, name) if number is None else (False, number, name)


def points_csv(scene: Scene) -> tuple[str, str]:
    """Return the points of a scene as CSV, and the name of the column of their classes."""
    target = next(name for name in TARGETS if name not in scene.features)
    names = [name.removeprefix("+") if _is_number(name) else name for name in scene.class_names]
    rows = [[plain_number(x), plain_number(y), names[code]] for x, y, code in scene.points]
    return csv_text([[*scene.features, target], *rows]), target


def is_header(cells: Sequence[str]) -> bool:
    """Return whether a first line names columns: it has no number, or the lab wrote it."""
    return not any(map(_is_number, cells)) or cells[-1].strip() in TARGETS


def _holds_its_names(records: list[list[str]]) -> bool:
    """Return whether a column holds its own name again, so that the first line is a row."""
    columns = zip(*records[1:], strict=True)
    return any(
        name in cells and not _is_missing(name)
        for name, cells in zip(records[0], columns, strict=False)
    )


def rows_said(shown: int, rows: int, dropped: int, classes: tuple[int, int]) -> tuple[str, ...]:
    """Return sentences on rows that are not shown, and on ``classes``: shown, and in all rows."""
    said = []
    if rows > shown:
        few = f", with {classes[0]} of {classes[1]} classes" if classes[0] < classes[1] else ""
        said.append(f"The first {shown} of {rows:,} rows are shown{few}.")
    if dropped:
        have, are = ("has", "is") if dropped == 1 else ("have", "are")
        said.append(f"{counted(dropped, 'row')} {have} a missing value and {are} left out.")
    return tuple(said)


def plain_scene_of_csv(own: Own, scene: Scene) -> tuple[Scene, Columns]:
    """Return the scene with the points of a CSV text, read by the standard library, and the
    columns that they come from.
    """
    text, found = _decoded(own)
    lines, records, mark = _records(text, own)
    if mark != "," and "delimiter" not in own.reading:
        found["delimiter"] = mark
    if own.reading.get("header", is_header(records[0]) and not _holds_its_names(records)):
        names = [cell.strip() for cell in records[0]]
        lines, records = lines[1:], records[1:]
    else:
        names = [f"column_{j + 1}" for j in range(len(records[0]))]
        found |= {} if "header" in own.reading else {"header": False}
    if again := [name for name in names if names.count(name) > 1]:
        raise DataError(
            f"{own.name} has {names.count(again[0])} columns named '{again[0]}': rename all but "
            "one.",
            code="duplicate-name",
            column=again[0],
        )
    if not records:
        raise DataError(
            f"{own.name} has no rows: add a row per point, as in 1.5, 2, a.", code="no-rows"
        )
    numbers, how = _numbers(names, records, own)
    found |= how
    others = _others(names, numbers, records, lines, own)
    columns = chosen_columns(names, list(numbers), own, others)
    x, y, label = columns.x, columns.y, columns.label
    if isinstance(x, str):
        raise DataError(
            "This page does not project columns: choose two columns.", code="unsupported"
        )
    kept, rows = [], len(records)
    # NA may be the name of a class, beside others that are text
    named = label not in numbers and not all(_is_missing(cells[label]) for cells in records)
    for row, cells in enumerate(records):
        empty = [j for j in (x, y, label) if _is_missing(cells[j], named and j == label)]
        if empty and own.reading.get("missing") != "drop":
            raise DataError(
                f"{own.name} line {lines[row]}, column '{names[empty[0]]}' has no value: fill it "
                "in or leave out such rows with “Missing values: left out”.",
                code="missing-value",
                row=lines[row],
                column=names[empty[0]],
            )
        kept += [] if empty else [row]
    if records and not kept:
        raise DataError(
            f"{own.name} has a missing value in every row: choose columns with values.",
            code="no-rows",
        )
    classes = _classes([records[row][label] for row in kept])
    first = kept[:MOST_POINTS]
    axes, places, why = standardized(
        [names[x], names[y]], [(numbers[x][row], numbers[y][row]) for row in first], scene,
        own.reading.get("scale"),
    )  # fmt: skip
    found_scene = scene_of_rows(
        scene, axes, places, classes[:MOST_POINTS],
        lambda row: f"{own.name} line {lines[first[row]]}", names[label],
    )  # fmt: skip
    several = len({*classes[:MOST_POINTS]}), len({*classes})
    said = rows_said(len(first), len(kept), rows - len(kept), several)
    if why:
        said += (f"{why}. {KEPT}",)
    return found_scene, columns._replace(said=(*how_said(found), *said))


def _decoded(own: Own) -> tuple[str, dict[str, Any]]:
    """Return the text, and its encoding if it was detected."""
    content, told = own.content, own.reading.get("encoding")
    if told:
        ways = [told]
    elif content.startswith((b"\xff\xfe", b"\xfe\xff")):
        ways = ["utf-16"]
    else:  # between 80 and 9F, Latin-1 has no characters
        windows = any(0x80 <= byte <= 0x9F for byte in content)
        ways = ["utf-8", "cp1252" if windows else "latin-1"]
    for way in ways:
        try:
            text = content.decode("utf-8-sig" if way == "utf-8" else way)
        except UnicodeDecodeError:
            continue
        if "\0" in text:
            break
        return text, {} if told or way == "utf-8" else {"encoding": way}
    raise DataError(
        f"{own.name} is not text in {' or '.join(ways)}: save it as UTF-8.", code="encoding"
    )


def _records(text: str, own: Own) -> tuple[list[int], list[list[str]], str]:
    """Return line number and cells of every record that is not empty, and the separator."""
    first = re.sub('"[^"]*"', "", text.lstrip().partition("\n")[0])
    # A comma may be within numbers.
    mark = own.reading.get("delimiter") or next((c for c in "\t;,|" if c in first), " ")
    if mark == "whitespace":
        text, mark = "\n".join(" ".join(line.split()) for line in text.splitlines()), " "
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    lines, records, line = list[int](), list[list[str]](), 1
    try:
        for cells in reader:
            if cells not in ([], [""]):
                lines.append(line)
                records.append(cells)
            line = reader.line_num + 1
    except csv.Error as problem:
        raise DataError(
            f"{own.name} line {line} cannot be read ({problem}): correct the line.",
            code="bad-line",
            row=line,
        ) from None
    if not records:
        raise DataError(
            f"{own.name} has no rows: add a row per point, as in 1.5, 2, a.", code="no-rows"
        )
    for line, cells in zip(lines, records, strict=True):
        if len(cells) != len(records[0]):
            raise DataError(
                f"{own.name} line {line} has {counted(len(cells), 'field')}, but the first line "
                f"has {len(records[0])}: correct the line.",
                code="field-count",
                row=line,
            )
    return lines, records, mark


def _numbers(
    names: list[str], records: list[list[str]], own: Own
) -> tuple[dict[int, list[float]], dict[str, Any]]:
    """Return the values of every numeric column, NaN if missing, and their spelling if it was
    detected.
    """
    told: dict[str, Any] = {n: own.reading[n] for n in ("decimal", "thousands") if n in own.reading}
    found: dict[int, list[float]] = {}
    how: dict[str, Any] = {}
    for j, cells in enumerate(map(list, zip(*records, strict=True))):
        there = [cell for cell in cells if not _is_missing(cell)]
        options = told
        if not told and not all(map(_is_number, there)):
            options = number_options(there) or {}
        numbers = [Spelling(**options).number(cell) for cell in there]
        if names[j] and numbers and None not in numbers:  # without a name: row numbers
            rest = iter(number for number in numbers if number is not None)
            found[j] = [math.nan if _is_missing(cell) else next(rest) for cell in cells]
            how |= {} if told else options
    return found, how


def _others(
    names: list[str], numbers: dict[int, list[float]], records: list[list[str]],
    lines: list[int], own: Own,
) -> list[int]:  # fmt: skip
    """Return the columns that are not numeric; DataError for a column of mostly numbers, except the
    last.
    """
    others = [j for j, name in enumerate(names) if name and j not in numbers]
    cells = {j: [line[j] for line in records] for j in others}
    j = None if own.chosen else suspect(cells, len(numbers) < 2)
    if j is not None:
        row = next(row for row, cell in enumerate(cells[j]) if not _is_number(cell))
        raise DataError(
            f"{own.name} line {lines[row]}, column '{names[j]}' holds {cells[j][row][:60]!r}, not "
            "a number: correct it.",
            code="not-a-number",
            row=lines[row],
            column=names[j],
            value=cells[j][row],
        )
    return others


def suspect(others: dict[int, list[str]], needed: bool) -> int | None:
    """Return the column that seems to be numeric except for mistakes, or None.

    ``others`` has the cells of columns that are not numeric; the last is the class. If a coordinate
    is ``needed``, the column with the most numbers is returned.
    """
    columns = list(others)[:-1] or list(others)
    counts = {j: sum(map(_is_number, others[j])) for j in columns}
    most = max(columns, key=lambda j: counts[j], default=None)
    fine = most is not None and counts[most] > (0 if needed else len(others[most]) / 2)
    return most if fine else None


def _classes(cells: list[str]) -> list[Any]:
    """Return labels as numbers, or true and false, where all of them are."""
    stripped = [cell.strip() for cell in cells]
    if all(map(_is_number, stripped)):
        return [Spelling().number(cell) for cell in stripped]
    if {cell.lower() for cell in stripped} <= {"true", "false"}:
        return [cell.lower() == "true" for cell in stripped]
    return cells


def _is_number(cell: str) -> bool:
    return Spelling().number(cell) is not None


def _is_missing(cell: str, label: bool = False) -> bool:
    """Return whether a cell has no value; a class may be called NA."""
    return not cell.strip() or (not label and cell.strip() in MISSING)
