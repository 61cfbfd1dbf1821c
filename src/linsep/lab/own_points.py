"""Points of one's own: two columns and a class, as CSV text."""

import csv
import io
from dataclasses import replace

from linsep.errors import DataError
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


def scene_of_csv(text: str, scene: Scene) -> Scene:
    """Return the scene with the points of a CSV text: the first 500 rows.

    The first two columns of numbers are the coordinates, the last other column is the class. A
    first line without numbers names the columns.
    """
    if len(text) > MOST_TEXT:
        raise DataError(f"The text has {len(text):,} characters: at most {MOST_TEXT:,} are read.")
    lines = _lines(text)
    head = None if any(_is_number(cell) for cell in lines[0]) else lines.pop(0)
    lines = lines[:MOST_POINTS]
    if not lines:
        raise DataError("The text has no rows: give a row for each point, as in 1.5, 2, a.")
    x, y, label = _columns(lines)
    names = sorted({line[label][:LONGEST_NAME] for line in lines}, key=_order)
    if len(names) > MOST_CLASSES:
        raise DataError(
            f"Column {label + 1} has {len(names)} different values: at most {MOST_CLASSES} classes "
            "can be shown."
        )
    points = tuple(
        checked_point(number, [
            number_of(line[x]), number_of(line[y]), names.index(line[label][:LONGEST_NAME])
        ])
        for number, line in enumerate(lines, start=1)
    )  # fmt: skip
    features = checked_features([head[x], head[y]]) if head else Scene.features
    labels = checked_labels(names) if len(names) > 1 else ()
    return replace(scene, points=points, name="", labels=labels, features=features, at=0)


def csv_of(scene: Scene) -> str:
    """Return the points of a scene as CSV text that :func:`scene_of_csv` reads."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*scene.features, "class"])
    names = scene.class_names
    writer.writerows([plain(a), plain(b), names[code]] for a, b, code in scene.points)
    return out.getvalue()


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


def _columns(lines: list[list[str]]) -> tuple[int, int, int]:
    """Return the columns of both coordinates and of the class."""
    width = range(len(lines[0]))
    numbers = [j for j in width if all(_is_number(line[j]) for line in lines)]
    others = [j for j in width if j not in numbers]
    # The class may be a number too: then it is the last column.
    label = others[-1] if others else numbers.pop()
    if len(numbers) < 2:
        raise DataError("Two columns must be numbers in every row: they are the coordinates.")
    if any(not line[label] for line in lines):
        raise DataError(f"Column {label + 1} is the class, and it is empty in some row.")
    return numbers[0], numbers[1], label


def _is_number(cell: str) -> bool:
    return number_of(cell) == number_of(cell)


def _order(name: str) -> tuple[bool, float, str]:
    """Return a key that sorts numbers by value, before words."""
    return (not _is_number(name), number_of(name) if _is_number(name) else 0.0, name)
