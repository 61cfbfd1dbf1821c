"""A scene: points, what they are called, and how to learn from them; as data and as a URL.

A scene comes from a browser or from a shared link, so nothing in it is trusted: every value is
parsed by a type of its own, sizes are limited, and a fault is one sentence.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from urllib.parse import quote, unquote

import numpy as np

from linsep.errors import DataError
from linsep.lab.fields import BY_NAME, DEFAULTS, FIELDS, LARGEST, as_number, number_of, plain

MOST_POINTS, MOST_CLASSES = 500, 4
#: longest URL, in characters, and longest name in it
MOST_CHARACTERS, LONGEST_NAME = 40_000, 40

Point = tuple[float, float, int]


@dataclass(frozen=True)
class Scene:
    """Points and settings.

    Attributes
    ----------
    points : tuple of (x, y, class)
        Classes are counted from 0; of two classes the second is +1.
    name : str
        Of the ready-made points, or "" for points of one's own.
    labels : tuple of str
        The names of the classes; empty: -1 and +1, or A, B, C, D.
    features : tuple of two str
        The names of the axes.
    settings : dict
        A value for every field of :mod:`linsep.lab.fields`.
    at : int
        The round that is shown.
    """

    points: tuple[Point, ...] = ()
    name: str = ""
    labels: tuple[str, ...] = ()
    features: tuple[str, str] = ("x1", "x2")
    settings: dict[str, Any] = field(default_factory=lambda: dict(DEFAULTS))
    at: int = 0

    def __getitem__(self, name: str) -> Any:
        return self.settings[name]

    @cached_property
    def X(self) -> np.ndarray:
        """The coordinates, an array of shape (points, 2)."""
        return np.array([point[:2] for point in self.points], dtype=float).reshape(-1, 2)

    @cached_property
    def codes(self) -> list[int]:
        """The class of every point."""
        return [point[2] for point in self.points]

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        """The names of all classes up to the largest in use, at least two."""
        used = max([1, *self.codes]) + 1
        if self.labels:
            more = tuple("ABCD"[k] for k in range(len(self.labels), used))
            return self.labels + more
        return ("-1", "+1") if used == 2 else tuple("ABCD"[:used])

    def with_settings(self, **settings: Any) -> "Scene":
        """Return the scene with other settings, which are checked."""
        new = {name: BY_NAME[name].checked(value) for name, value in settings.items()}
        return replace(self, settings=self.settings | new)


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
    from linsep.lab.ready import READY, ready_made

    if scene.name not in READY:
        return False
    ready = ready_made(scene.name)
    mine = (scene.points, scene.labels, scene.features)
    return mine == (ready.points, ready.labels, ready.features)


def checked_scene(
    points: list[Any], name: Any, labels: Any, features: Any, settings: dict[str, Any], at: Any
) -> Scene:
    """Return a scene of values that were checked; DataError for the first that is not valid."""
    if len(points) > MOST_POINTS:
        raise DataError(f"There are {len(points):,} points: at most {MOST_POINTS} can be shown.")
    for key in settings:
        if key not in BY_NAME:
            raise DataError(f"There is no setting {short_name(key)!r}.")
    values = {key: BY_NAME[key].checked(value) for key, value in settings.items()}
    where = as_number(at)
    if not (0 <= where <= 10_000 and where == int(where)):
        raise DataError("The round is a whole number from 0 to 10,000.")
    return Scene(
        tuple(checked_point(number, point) for number, point in enumerate(points, start=1)),
        checked_names([name], 1, "name", empty=True)[0],
        checked_labels(labels),
        checked_features(features),
        DEFAULTS | values,
        int(where),
    )


def checked_point(number: int, point: Any) -> Point:
    """Return a point of two coordinates and a class."""
    if len(point) != 3:
        raise DataError(f"Point {number} needs two coordinates and a class.")
    x, y, code = map(as_number, point)
    if not (abs(x) <= LARGEST and abs(y) <= LARGEST):
        raise DataError(f"Point {number} needs coordinates from {-LARGEST:,.0f} to {LARGEST:,.0f}.")
    if code not in range(MOST_CLASSES):
        raise DataError(f"Point {number} needs a class from 0 to {MOST_CLASSES - 1}.")
    return x, y, int(code)


def checked_labels(labels: Any) -> tuple[str, ...]:
    """Return the names of classes: none, or two to four different ones."""
    names = checked_names(labels, MOST_CLASSES, "classes")
    if len(names) == 1 or len(set(names)) < len(names):
        raise DataError("Name two to four classes, each differently.")
    return names


def checked_features(features: Any) -> tuple[str, str]:
    """Return the names of both axes."""
    names = checked_names(features, 2, "axes")
    if len(set(names)) != 2:
        raise DataError("Name both axes, each differently.")
    return names[0], names[1]


def checked_names(given: Any, most: int, what: str, empty: bool = False) -> tuple[str, ...]:
    """Return a few short printable texts."""
    fine = isinstance(given, list | tuple) and len(given) <= most
    if not fine or not all(
        isinstance(name, str) and (name or empty) and len(name) <= LONGEST_NAME
        and name.isprintable() for name in given
    ):  # fmt: skip
        raise DataError(
            f"The names of {what} are at most {most} texts of 1 to {LONGEST_NAME} characters."
        )
    return tuple(given)


def short_name(text: Any) -> str:
    """Return the start of a text that somebody else wrote."""
    return str(text)[:LONGEST_NAME]


def url_of(scene: Scene) -> str:
    """Return the scene as the fragment of a URL, without the ``#``."""
    parts = []
    if scene.name:
        parts.append(f"data={quote(scene.name)}")
    else:
        texts = (f"{plain(x)},{plain(y)},{code}" for x, y, code in scene.points)
        parts.append("points=" + ";".join(texts))
        if scene.labels:
            parts.append("labels=" + ",".join(quote(name, safe="") for name in scene.labels))
        if scene.features != Scene.features:
            parts.append("features=" + ",".join(quote(name, safe="") for name in scene.features))
    for one in FIELDS:
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
        if key not in BY_NAME:
            raise DataError(f"The address has an unknown part {short_name(key)!r}.")
        settings[key] = BY_NAME[key].parse(unquote(value))
    if named is not None:
        from linsep.lab.ready import ready_made

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
