"""A scene: points, their names, and settings.

A scene comes from a browser or from a shared link, so nothing in it is trusted: every value is
checked, sizes are limited, and errors are one sentence.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from linsep.errors import DataError
from linsep.lab.settings import DEFAULTS, LARGEST, SETTINGS, as_number

MOST_POINTS, MOST_CLASSES = 500, 10
#: what several classes without names are called
LETTERS = "ABCDEFGHIJ"
#: longest URL, in characters, and longest name in it
MOST_CHARACTERS, LONGEST_NAME = 40_000, 40

Point = tuple[float, float, int]


@dataclass(frozen=True)
class Scene:
    """Points and settings.

    Attributes
    ----------
    points : tuple of (x, y, class)
        Classes are counted from 0; with two classes the second is +1.
    name : str
        The name of the ready-made points, or "" for the user's own points.
    labels : tuple of str
        The names of the classes; empty: -1 and +1, or A, B, C and so on.
    features : tuple of two str
        The names of the axes.
    settings : dict
        A value for each of :mod:`linsep.lab.settings`.
    at : int
        The step that is shown.
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
    def rows(self) -> list[list[float]]:
        """The coordinates of every point."""
        return [[x, y] for x, y, _ in self.points]

    @cached_property
    def X(self) -> Any:
        """The coordinates, a NumPy array of shape (points, 2)."""
        from numpy import array

        return array(self.rows, dtype=float).reshape(-1, 2)

    @cached_property
    def codes(self) -> list[int]:
        """The class of every point."""
        return [point[2] for point in self.points]

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        """The names of all classes up to the largest in use, at least two."""
        used = max([1, *self.codes]) + 1
        more = tuple(LETTERS[len(self.labels) : used])
        return self.labels + more if self.labels else default_names(used)

    def with_settings(self, **settings: Any) -> "Scene":
        """Return the scene with other settings, which are checked."""
        new = {name: SETTINGS[name].checked(value) for name, value in settings.items()}
        return replace(self, settings=self.settings | new)


def default_names(count: int) -> tuple[str, ...]:
    """Return the default names of so many classes."""
    return ("-1", "+1")[:count] if count <= 2 else tuple(LETTERS[:count])


def checked_scene(
    points: list[Any], name: Any, labels: Any, features: Any, settings: dict[str, Any], at: Any
) -> Scene:
    """Return a scene of checked values; DataError for the first invalid value."""
    if len(points) > MOST_POINTS:
        raise DataError(
            f"There are {len(points):,} points: at most {MOST_POINTS} can be shown.",
            code="too-large",
        )
    for key in settings:
        if key not in SETTINGS:
            raise DataError(f"Unknown setting {short_name(key)!r}.", code="bad-scene")
    values = {key: SETTINGS[key].checked(value) for key, value in settings.items()}
    where = as_number(at)
    if not (0 <= where <= 10_000 and where == int(where)):
        raise DataError(
            "The step must be a whole number from 0 to 10,000.", code="bad-scene", value=at
        )
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
        raise DataError(f"Point {number} needs two coordinates and a class.", code="bad-scene")
    x, y, code = map(as_number, point)
    if not (abs(x) <= LARGEST and abs(y) <= LARGEST):
        raise DataError(
            f"Point {number} needs coordinates from {-LARGEST:,.0f} to {LARGEST:,.0f}.",
            code="bad-scene",
        )
    if code not in range(MOST_CLASSES):
        raise DataError(
            f"Point {number} needs a class from 0 to {MOST_CLASSES - 1}.",
            code="bad-scene",
            value=code,
        )
    return x + 0.0, y + 0.0, int(code)  # a zero has no sign


def checked_labels(labels: Any) -> tuple[str, ...]:
    """Return the names of classes; they must be different."""
    names = checked_names(labels, MOST_CLASSES, "classes")
    if len(set(names)) < len(names):
        raise DataError("The names of the classes must be different.", code="bad-scene")
    return names


def checked_features(features: Any) -> tuple[str, str]:
    """Return the names of both axes."""
    names = checked_names(features, 2, "axes")
    if len(set(names)) != 2:
        raise DataError("The axes need two different names.", code="bad-scene")
    return names[0], names[1]


def checked_names(given: Any, most: int, what: str, empty: bool = False) -> tuple[str, ...]:
    """Return a few short printable texts."""
    fine = isinstance(given, list | tuple) and len(given) <= most
    if not fine or not all(
        isinstance(name, str) and (name or empty) and len(name) <= LONGEST_NAME
        and name.isprintable() for name in given
    ):  # fmt: skip
        raise DataError(
            f"The names of {what} must be at most {most} texts of 1 to {LONGEST_NAME} characters.",
            code="bad-scene",
        )
    return tuple(given)


def short_name(text: Any) -> str:
    """Return the start of an untrusted text."""
    return str(text)[:LONGEST_NAME]
