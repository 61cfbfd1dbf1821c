"""The lab as one HTML file."""

import json
import re
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

from linsep.errors import DataError
from linsep.lab.ready import FIRST, READY

#: the lessons of the package, in the order of the course
LESSONS = ("perceptron", "margin", "support-vectors", "kernels", "regression", "several-classes")
_IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]*?)(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(
    r"^export (?:(?:async )?function\*?|class|const|let) (\w+|\[[^\]]*\])", re.MULTILINE
)


def lab_file(first: str = "", own: str = "", title: str = "linsep lab") -> str:
    """Return the lab as an HTML file, which needs no server and asks for nothing.

    Parameters
    ----------
    first : str
        The scene it begins with: a ready-made name or the fragment of a URL, without the ``#``.
    own : str
        The text of a lesson in Markdown, which it is named "own".
    title : str

    Raises
    ------
    DataError
        For an unknown name, and a lesson without a title or steps.
    """
    lessons = {"own": checked_lesson(own)} if own else {}
    lessons |= {name: _text(f"lessons/{name}.md") for name in LESSONS}
    data = {"first": address(first or FIRST), "ready": ready_points(), "lessons": lessons}
    # nothing in the data can end the element that holds it
    plain = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    style = _text("page/style.css") + _text("page/lecture.css")
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}'
        '</title>\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<link rel="icon" href="data:,">\n<style>\nbody {{ margin: 0 }}\n{style}</style>\n'
        '</head>\n<body>\n<div id="page"></div>\n'
        f'<script type="application/json" id="file">{plain}</script>\n'
        f'<script type="text/plain" id="engine">{joined("engine/answer")}</script>\n'
        f"<script>\n{joined('page/main')}</script>\n</body>\n</html>\n"
    )


def address(scene: str) -> str:
    """Return the fragment of a URL of a scene, which may be a ready-made name."""
    if "=" in scene:
        parts = dict(part.partition("=")[::2] for part in scene.lstrip("#").split("&"))
        settings = re.findall(r'^  field\("(\w+)"', _text("engine/settings.js"), re.MULTILINE)
        known = {"data", "points", "labels", "features", "at", *settings}
        if not (parts.keys() <= known and parts.get("data", FIRST) in READY):
            raise DataError(
                "The setup has an unknown part: copy what follows # in a URL of the lab.",
                code="bad-scene",
            )
        return scene.lstrip("#")
    if scene not in READY:
        raise DataError(
            f"There is no ready-made setup {scene[:40]!r}: choose one of {', '.join(READY)}.",
            code="bad-scene", value=scene,
        )  # fmt: skip
    found = {"data": scene} | READY[scene].settings
    return "&".join(f"{name}={spelled(value)}" for name, value in found.items())


def spelled(value: Any) -> str:
    """Return the text of a setting in a URL."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list):
        return ",".join(map(spelled, value))
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


@cache
def ready_points() -> dict[str, Any]:
    """Return the ready-made points by name, as plain data."""
    found = {}
    for name, ready in READY.items():
        X, codes, labels, features = ready.make()
        points = [[round(float(x), 2) + 0.0, round(float(y), 2) + 0.0, int(code)]
                  for (x, y), code in zip(X, codes, strict=True)]  # fmt: skip
        found[name] = {
            "group": ready.group, "title": ready.title, "points": points, "labels": list(labels),
            "features": list(features), "settings": ready.settings,
        }  # fmt: skip
    return found


def checked_lesson(text: str) -> str:
    """Return the text of a lesson; DataError without a title or steps, or one without a scene."""
    head, *steps = re.split(r"^## +", text, flags=re.MULTILINE)
    if not re.match(r"\s*# +\S", head) or not steps:
        raise DataError(
            "The file is not a lesson: it needs a line '# title', and steps that begin with a line "
            "'## title'.",
            code="bad-scene",
        )
    for number, step in enumerate(steps, start=1):
        if not (link := re.search(r"\[[^\]]*\]\(#([^)\s]*)\)", step)):
            raise DataError(
                f"Step {number} of the lesson has no setup: add a link such as [setup](#data=xor).",
                code="bad-scene",
            )
        name = re.search(r"(?:^|&)data=([^&]*)", link[1])
        if name and name[1] not in READY:
            address(name[1])
    return text


def _text(name: str) -> str:
    return (files("linsep.lab") / name).read_text(encoding="utf-8")


@cache
def joined(entry: str) -> str:
    """Return a module of JavaScript and all that it imports as one script.

    Each becomes a function that returns what it exports, before those that import it.
    """
    made: dict[str, str] = {}

    def add(path: str) -> None:
        text, folder = _text(f"{path}.js"), path.rpartition("/")[0]
        for match in _IMPORT.finditer(text):
            other = f"{'engine' if match[2].startswith('../') else folder}/{match[3]}"
            if other not in made:
                add(other)
        text = _IMPORT.sub(
            lambda m: f"const {{{m[1].replace(' as ', ': ')}}} = module_{m[3]};\n", text
        )
        names = ", ".join(name.strip("[]") for name in _EXPORT.findall(text))
        body = re.sub(r"^export ", "", text, flags=re.MULTILINE)
        made[path] = (
            f"const module_{path.rpartition('/')[2]} = (() => {{\n{body}return {{ {names} "
            f"}};\n}})();\n"
        )

    add(entry)
    return "".join(made.values()) + f"const {{ answer }} = module_{entry.rpartition('/')[2]};\n"


def lesson_of_code(code: str) -> str:
    """Return what the code of a finished lesson says: its name, the student and the right answers.

    Raises
    ------
    DataError
        For a code that no lab gave.
    """
    parts = code.strip().rsplit("-", 1)
    said = parts[0].split("/")
    if len(parts) != 2 or len(said) != 4 or sha256(parts[0].encode()).hexdigest()[:6] != parts[1]:
        raise DataError(
            f"{code!r} is not the code of a finished lesson.", code="bad-value", value=code
        )
    lesson, student, right, asked = said
    return f"{lesson}, {student}: {right} of {asked} answers right at the first try"
