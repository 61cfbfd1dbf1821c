"""The page as one script, and as one HTML file that needs no server."""

import json
import re
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

#: the modules of the page, each after those that it imports
MODULES = (
    "dom", "geometry", "looks", "run", "regions", "fit", "handle", "kept", "start", "plane",
    "weights", "clock", "table", "proof", "lesson", "controls", "sharing", "lab",
)  # fmt: skip
_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)


def _read(name: str) -> str:
    return (files("linsep.lab") / "page" / name).read_text(encoding="utf-8")


@cache
def script(entry: str) -> str:
    """Return all modules of the page in one, ``entry`` last.

    Imports are dropped, as all names are in one scope, and so are exports, but for the entry's.
    """
    parts = [re.sub(r"^export ", "", _IMPORT.sub("", _read(f"{name}.js")), flags=re.MULTILINE)
             for name in MODULES]  # fmt: skip
    return "\n".join([*parts, _IMPORT.sub("", _read(f"{entry}.js"))])


@cache
def style() -> str:
    """Return the style sheet of the page."""
    return _read("style.css")


def standalone(answer: dict[str, Any], title: str = "linsep lab") -> str:
    """Return an HTML file that shows an answer with scene, run and proof, and asks nothing."""
    # Nothing in the data can end the script element that holds it.
    data = json.dumps(answer, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}'
        '</title>\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<style>\nbody {{ margin: 0 }}\n{style()}</style>\n</head>\n<body>\n"
        '<div id="page"></div>\n'
        f'<script type="application/json" id="answer">{data}</script>\n'
        f'<script type="module">\n{script("standalone")}</script>\n</body>\n</html>\n'
    )
