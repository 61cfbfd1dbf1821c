"""Sources of scenes: names, URLs and the page."""

from dataclasses import replace
from functools import cache
from typing import Any
from urllib.parse import quote, unquote

from linsep.errors import DataError
from linsep.lab.declared import READY
from linsep.lab.scene import (
    LONGEST_NAME,
    MOST_CHARACTERS,
    Scene,
    checked_scene,
    short_name,
)
from linsep.lab.settings import SETTINGS, number_of, plain_number


@cache
def ready_made(name: str) -> Scene:
    """Return a ready-made scene with its settings; DataError for an unknown name."""
    if name not in READY:
        raise DataError(
            f"There is no ready-made setup {name[:LONGEST_NAME]!r}: choose one from the list.",
            code="bad-scene",
            value=name,
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
        raise DataError("A setup must be an object with points and settings.", code="bad-scene")
    known = {"points", "name", "labels", "features", "settings", "at"}
    if not set(given) <= known:
        raise DataError(f"A setup may have only {', '.join(sorted(known))}.", code="bad-scene")
    points, settings = given.get("points", []), given.get("settings", {})
    if not isinstance(points, list) or not isinstance(settings, dict):
        raise DataError("Points must be a list, and settings an object.", code="bad-scene")
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
            f"The URL has {len(text):,} characters, and at most {MOST_CHARACTERS:,} are read.",
            code="too-large",
        )
    pairs = dict(part.partition("=")[::2] for part in text.lstrip("#").split("&") if part)
    named, points = pairs.pop("data", None), pairs.pop("points", "")
    labels, features = pairs.pop("labels", ""), pairs.pop("features", "")
    at = number_of(pairs.pop("at", "0"))
    settings = {}
    for key, value in pairs.items():
        if key not in SETTINGS:
            raise DataError(f"The URL has an unknown part {short_name(key)!r}.", code="bad-scene")
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
    """Return the scene of a command: a ready-made name, or the fragment of a URL."""
    if "=" in text:
        return scene_of_url(text)
    if text not in READY:
        raise DataError(
            f"There is no ready-made setup {short_name(text)!r}: choose one of {', '.join(READY)}.",
            code="bad-scene",
            value=text,
        )
    return ready_made(text)
