"""Where scenes come from: a name, an address, the page, and CSV text of one's own."""

import csv
import io
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from linsep.errors import DataError
from linsep.lab.declared import READY, SERVED
from linsep.lab.scene import (
    LONGEST_NAME,
    MOST_CHARACTERS,
    MOST_CLASSES,
    MOST_POINTS,
    Scene,
    checked_features,
    checked_labels,
    checked_point,
    checked_scene,
    short_name,
)
from linsep.lab.settings import SETTINGS, number_of, plain_number
from linsep.sources.tables.spellings import Spelling, number_options

#: longest text, in characters
MOST_TEXT = 1_000_000


@cache
def ready_made(name: str) -> Scene:
    """Return a ready-made scene with its settings; DataError if there is none of this name."""
    if name not in READY:
        raise DataError(
            f"There is no ready-made scene {name[:LONGEST_NAME]!r}: choose one of the list."
        )
    X, codes, labels, features = READY[name].make()
    points = [
        (round(float(x), 2), round(float(y), 2), int(code))
        for (x, y), code in zip(X, codes, strict=True)
    ]
    settings = {key: SETTINGS[key].checked(value) for key, value in READY[name].settings.items()}
    scene = Scene(tuple(points), name, labels, features)
    return scene.with_settings(**settings)


def scene_of(given: Any) -> Scene:
    """Return the scene that the page sends as plain data; DataError if it is not valid."""
    if not isinstance(given, dict):
        raise DataError("A scene is an object with points and settings.")
    known = {"points", "name", "labels", "features", "settings", "at"}
    if not set(given) <= known:
        raise DataError(f"A scene has nothing but {', '.join(sorted(known))}.")
    points, settings = given.get("points", []), given.get("settings", {})
    if not isinstance(points, list) or not isinstance(settings, dict):
        raise DataError("The points are a list, and the settings an object.")
    scene = checked_scene(
        [point if isinstance(point, list) else [] for point in points],
        given.get("name", ""), given.get("labels", []), given.get("features", ["x1", "x2"]),
        settings, given.get("at", 0),
    )  # fmt: skip
    return scene if scene.name == "" or _is_ready_made(scene) else replace(scene, name="")


def _is_ready_made(scene: Scene) -> bool:
    if scene.name not in READY:
        return False
    ready = ready_made(scene.name)
    mine = (scene.points, scene.labels, scene.features)
    return mine == (ready.points, ready.labels, ready.features)


def url_of(scene: Scene) -> str:
    """Return the scene as the fragment of a URL, without the ``#``."""
    parts = []
    if scene.name:
        parts.append(f"data={quote(scene.name)}")
    else:
        texts = (f"{plain_number(x)},{plain_number(y)},{code}" for x, y, code in scene.points)
        parts.append("points=" + ";".join(texts))
        if scene.labels:
            parts.append("labels=" + ",".join(quote(name, safe="") for name in scene.labels))
        if scene.features != Scene.features:
            parts.append("features=" + ",".join(quote(name, safe="") for name in scene.features))
    for one in SETTINGS.values():
        if scene[one.name] != one.default:
            parts.append(f"{one.name}={one.spell(scene[one.name])}")
    if scene.at:
        parts.append(f"at={scene.at}")
    return "&".join(parts)


def scene_of_url(text: str) -> Scene:
    """Return the scene of a URL's fragment; DataError if it is not valid."""
    if len(text) > MOST_CHARACTERS:
        raise DataError(
            f"The address has {len(text):,} characters: at most {MOST_CHARACTERS:,} are read."
        )
    pairs = dict(part.partition("=")[::2] for part in text.lstrip("#").split("&") if part)
    named, points = pairs.pop("data", None), pairs.pop("points", "")
    labels, features = pairs.pop("labels", ""), pairs.pop("features", "")
    at = number_of(pairs.pop("at", "0"))
    settings = {}
    for key, value in pairs.items():
        if key not in SETTINGS:
            raise DataError(f"The address has an unknown part {short_name(key)!r}.")
        settings[key] = SETTINGS[key].parse(unquote(value))
    if named is not None:
        scene = ready_made(unquote(named))
        return replace(
            scene, settings=checked_scene([], "", [], ["x", "y"], settings, at).settings,
            at=checked_scene([], "", [], ["x", "y"], {}, at).at,
        )  # fmt: skip
    return checked_scene(
        [[number_of(part) for part in one.split(",", 4)] for one in points.split(";") if one],
        "",
        [unquote(name) for name in labels.split(",")] if labels else [],
        [unquote(name) for name in features.split(",")] if features else list(Scene.features),
        settings,
        at,
    )


def named_scene(text: str) -> Scene:
    """Return the scene that a command names: ready-made, or by the fragment of a URL."""
    return scene_of_url(text) if "=" in text else ready_made(text)


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
    spelled : str
        How numbers are written, if not as 1.5, in words.
    """

    names: tuple[str, ...]
    numeric: tuple[int, ...]
    x: int | str
    y: int
    label: int
    rows: int
    spelled: str = ""


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
    lines, spelled = _plain_numbers(lines)
    columns = _columns(lines, head, rows, chosen)._replace(spelled=spelled)
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
    if not SERVED:
        raise DataError("This page projects no columns: choose two of them.")
    import numpy as np

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


def _lines(text: str) -> list[list[str]]:
    """Return the cells of every line that has some."""
    first = text.lstrip().partition("\n")[0]
    # A comma may be within numbers.
    mark = next((c for c in "\t;," if c in first), " ")
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


def _plain_numbers(lines: list[list[str]]) -> tuple[list[list[str]], str]:
    """Return the cells with columns of numbers in another spelling, such as 1,5 or 5 %, as plain
    ones, and how these are written, in words.
    """
    found, said = [list(column) for column in zip(*lines, strict=True)], dict[str, None]()
    for j, cells in enumerate(found):
        options = None if all(map(_is_number, cells)) else number_options(cells)
        numbers = [Spelling(**options).number(cell) for cell in cells] if options else [None]
        if options and None not in numbers:
            found[j] = [plain_number(number) for number in numbers if number is not None]
            words = [f"{name} {mark}" for name, mark in options.items() if mark is not True]
            said |= dict.fromkeys(words + ["without units"] * ("units" in options))
    return [list(line) for line in zip(*found, strict=True)], ", ".join(said)


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
