"""The page: its script, its data, and an HTML file of a scene that needs no server."""

import json
import re
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from linsep.lab.course import titles
from linsep.lab.declared import READY, SERVED
from linsep.lab.own_points import MOST_BYTES, READING
from linsep.lab.scene import MOST_CLASSES, MOST_POINTS, Scene
from linsep.lab.scene_sources import url_of
from linsep.lab.settings import for_page

#: what a page on a static host does not have
OFFERS = (
    "This page computes runs, verdicts and Novikoff's bound. The command linsep lab also has fits, "
    "soft margins, gradient descent and other bounds."
)
#: the modules of the page, each after those that it imports
MODULES = (
    "dom", "geometry", "looks", "run", "regions", "fit", "descent", "handle", "points", "legend",
    "kept", "start", "view", "tools", "plane", "weights", "clock", "story", "table", "proof",
    "lesson", "stage", "undo", "keys", "controls", "sharing", "lab",
)  # fmt: skip
_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)


def _page_file(name: str) -> str:
    return (files("linsep.lab") / "page" / name).read_text(encoding="utf-8")


@cache
def script(entry: str, modules: tuple[str, ...] = MODULES) -> str:
    """Return modules of the page as one script, by default all modules, ``entry`` last.

    Imports are removed, since all names are in one scope, and so are exports, except the entry's.
    """
    parts = [re.sub(r"^export ", "", _IMPORT.sub("", _page_file(f"{name}.js")), flags=re.MULTILINE)
             for name in modules]  # fmt: skip
    return "\n".join([*parts, _IMPORT.sub("", _page_file(f"{entry}.js"))])


@cache
def style_sheet() -> str:
    """Return the style sheet of the page."""
    return _page_file("style.css") + _page_file("lecture.css")


def standalone(answer: dict[str, Any], title: str = "linsep lab") -> str:
    """Return an HTML file that shows an answer with scene, run and proof without a server."""
    return html_page(answer, title, script("standalone"))


def html_page(answer: dict[str, Any], title: str, script: str) -> str:
    """Return an HTML file with an answer, which its script shows."""
    # Nothing in the data can end the script element that holds it.
    data = json.dumps(answer, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}'
        '</title>\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<style>\nbody {{ margin: 0 }}\n{style_sheet()}</style>\n</head>\n<body>\n"
        '<div id="page"></div>\n'
        f'<script type="application/json" id="answer">{data}</script>\n'
        f'<script type="module">\n{script}</script>\n</body>\n</html>\n'
    )


def plain_scene(scene: Scene) -> dict[str, Any]:
    """Return a scene as plain data, with its URL and the names that the page shows."""
    return {
        "scene": {
            "points": [list(point) for point in scene.points],
            "name": scene.name,
            "labels": list(scene.labels),
            "features": list(scene.features),
            "settings": {
                name: list(value) if isinstance(value, tuple) else value
                for name, value in scene.settings.items()
            },
            "at": scene.at,
        },
        "url": url_of(scene),
        "classNames": list(scene.class_names),
    }


def for_controls() -> dict[str, Any]:
    """Return the data of the controls of a page."""
    return {
        "fields": for_page(),
        "ready": [
            {"name": name, "group": ready.group, "title": ready.title}
            for name, ready in READY.items()
            if SERVED or ready.settings.get("room", "classes") == "classes"
        ],
        "lessons": titles(),
        "reading": [
            {"name": name, "label": label, "choices": list(choices.items())}
            for name, (label, choices) in READING.items()
        ],
        "offers": "" if SERVED else OFFERS,
        "limits": {"points": MOST_POINTS, "classes": MOST_CLASSES, "file": MOST_BYTES},
    }
