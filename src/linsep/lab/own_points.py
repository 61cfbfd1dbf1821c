"""Points of one's own: two columns and a class, as CSV text."""

import csv
import io
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from linsep.errors import DataError
from linsep.escaping import csv_text
from linsep.lab.fields import number_of, plain
from linsep.lab.scene import (
    LONGEST_NAME,
    MOST_CLASSES,
    MOST_POINTS,
    Scene,
    checked_features,
    checked_labels,
    checked_point,
)

#: longest text, in characters
MOST_TEXT = 1_000_000


class Columns(NamedTuple):
    """What is taken from a CSV text.

    Attributes
    ----------
    names : tuple of str
        Of all columns, those of the head or "column 1", ...
    numeric : tuple of int
        Those that hold a number in every row.
    x, y : int
        The coordinates; x may be "projected" for the first two principal components of all
        numeric columns, each scaled to standard deviation 1.
    label : int
        The class.
    rows : int
        Number of rows, of which the first 500 are shown.
    """

    names: tuple[str, ...]
    numeric: tuple[int, ...]
    x: int | str
    y: int
    label: int
    rows: int


def scene_of_csv(text: str, scene: Scene, chosen: Any = None) -> tuple[Scene, Columns]:
    """Return the scene with the points of a CSV text, and the columns that they come from.

    Other settings stay, but for initial weights, which were for other points.

    ``chosen`` names the columns by ``x``, ``y`` and ``label``. Without it the first two columns of
    numbers are the coordinates and the last other column is the class. A first line without
    numbers names the columns.
    """
    if len(text) > MOST_TEXT:
        raise DataError(f"The text has {len(text):,} characters: at most {MOST_TEXT:,} are read.")
    lines = _lines(text)
    head = None if any(_is_number(cell) for cell in lines[0]) else lines.pop(0)
    rows, lines = len(lines), lines[:MOST_POINTS]
    if not lines:
        raise DataError("The text has no rows: give a row for each point, as in 1.5, 2, a.")
    columns = _columns(lines, head, rows, chosen)
    x, y, label = columns.x, columns.y, columns.label
    names = sorted({line[label][:LONGEST_NAME] for line in lines}, key=_order)
    if len(names) > MOST_CLASSES:
        raise DataError(
            f"Column {label + 1} has {len(names)} different values: at most {MOST_CLASSES} classes "
            "can be shown."
        )
    if isinstance(x, str):
        features, places = _projected(lines, columns)
    else:
        features = (columns.names[x], columns.names[y]) if head else Scene.features
        places = [(number_of(line[x]), number_of(line[y])) for line in lines]
    points = tuple(
        checked_point(number, [*place, names.index(line[label][:LONGEST_NAME])])
        for number, (place, line) in enumerate(zip(places, lines, strict=True), start=1)
    )
    labels = checked_labels(names) if len(names) > 1 else ()
    axes = checked_features(features)
    found = replace(scene, points=points, name="", labels=labels, features=axes, at=0)
    return found.with_settings(start=Scene()["start"]), columns


def _projected(
    lines: list[list[str]], columns: Columns
) -> tuple[tuple[str, str], list[tuple[float, float]]]:
    """Return the first two principal components of the numeric columns, and their names."""
    numbers = [j for j in columns.numeric if j != columns.label]
    X = np.array([[number_of(line[j]) for j in numbers] for line in lines])
    with np.errstate(over="ignore", invalid="ignore"):
        wide = X.std(axis=0)
    vary = np.isfinite(wide) & (wide > 0)
    if vary.sum() < 2:
        raise DataError("A projection needs two columns of numbers that vary.")
    Z = ((X - X.mean(axis=0)) / np.where(vary, wide, 1.0))[:, vary]
    _, sizes, directions = np.linalg.svd(Z, full_matrices=False)
    # A direction and its opposite are as good: the largest part of each points up.
    largest = np.abs(directions).argmax(axis=1)
    directions *= np.sign(directions[np.arange(len(directions)), largest])[:, None]
    shares = 100 * sizes**2 / (sizes**2).sum()
    places = [(float(f"{a:.6g}"), float(f"{b:.6g}")) for a, b in Z @ directions[:2].T]
    names = [f"component {k + 1} ({shares[k]:.0f} %)" for k in (0, 1)]
    return (names[0], names[1]), places


def csv_of(scene: Scene) -> str:
    """Return the points of a scene as CSV text that :func:`scene_of_csv` reads."""
    names = scene.class_names
    points = ([plain(a), plain(b), names[code]] for a, b, code in scene.points)
    return csv_text([[*scene.features, "class"], *points])


def _lines(text: str) -> list[list[str]]:
    """Return the cells of every line that has some."""
    first = text.lstrip().partition("\n")[0]
    mark = max(",;\t", key=first.count) if any(c in first for c in ",;\t") else " "
    try:
        read = csv.reader(io.StringIO(text), delimiter=mark, skipinitialspace=True, strict=True)
        lines = [[cell.strip() for cell in line] for line in read]
    except csv.Error as problem:
        raise DataError(f"The text is no CSV: {problem}.") from None
    found = [line for line in lines if any(line)]
    if not found:
        raise DataError("The text has no rows: give a row for each point, as in 1.5, 2, a.")
    for number, line in enumerate(found, start=1):
        if len(line) != len(found[0]):
            raise DataError(
                f"Row {number} has {len(line)} cells, and the first one has {len(found[0])}."
            )
    if len(found[0]) < 3:
        raise DataError("Every row needs two coordinates and a class, as in 1.5, 2, a.")
    return found


def _columns(lines: list[list[str]], head: list[str] | None, rows: int, chosen: Any) -> Columns:
    """Return the columns of both coordinates and of the class."""
    width = range(len(lines[0]))
    numeric = [j for j in width if all(_is_number(line[j]) for line in lines)]
    if len(numeric) < 2:
        raise DataError("Two columns must be numbers in every row: they are the coordinates.")
    others = [j for j in width if j not in numeric]
    # The class may be a number too: then it is the last column.
    label: Any = others[-1] if others else numeric[-1]
    x: Any
    y: Any
    x, y = [j for j in numeric if j != label][:2]
    if isinstance(chosen, dict):
        x, y, label = (chosen.get(name) for name in ("x", "y", "label"))
    for j in (label, y, *([] if x == "projected" else [x])):
        if not isinstance(j, int) or isinstance(j, bool) or j not in width:
            raise DataError(f"There are columns 1 to {len(width)}: choose among them.")
    for j in [] if x == "projected" else [x, y]:
        if j not in numeric:
            raise DataError(f"Column {j + 1} does not hold a number in every row: choose another.")
    if x == y:
        raise DataError("Choose two different columns for the coordinates.")
    if any(not line[label] for line in lines):
        raise DataError(f"Column {label + 1} is the class, and it is empty in some row.")
    names = tuple(head or (f"column {j + 1}" for j in width))
    return Columns(names, tuple(numeric), x, y, label, rows)


def _is_number(cell: str) -> bool:
    return number_of(cell) == number_of(cell)


def _order(name: str) -> tuple[bool, float, str]:
    """Return a key that sorts numbers by value, before words."""
    return (not _is_number(name), number_of(name) if _is_number(name) else 0.0, name)
