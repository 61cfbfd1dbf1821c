"""The page: its script, its data, and an HTML file of a scene or a trace that needs no server."""

import json
import re
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from linsep.errors import DataError
from linsep.estimators._common.labels import label_text
from linsep.lab.course import titles
from linsep.lab.proof import proof_of
from linsep.lab.run import arguments_of, columns_of_trace, names_of_vectors, scheme_of
from linsep.lab.scene import MOST_CLASSES, MOST_POINTS, Scene
from linsep.lab.scene_sources import MOST_TEXT, READY, url_of
from linsep.lab.settings import DEFAULTS, SETTINGS, SHOWN, for_page
from linsep.learners.proofs import run_to_come
from linsep.teaching import Trace

#: the modules of the page, each after those that it imports
MODULES = (
    "dom", "geometry", "looks", "run", "regions", "fit", "handle", "kept", "start", "plane",
    "weights", "clock", "table", "proof", "lesson", "controls", "sharing", "lab",
)  # fmt: skip
_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)


def _page_file(name: str) -> str:
    return (files("linsep.lab") / "page" / name).read_text(encoding="utf-8")


@cache
def script(entry: str) -> str:
    """Return all modules of the page in one, ``entry`` last.

    Imports are dropped, as all names are in one scope, and so are exports, but for the entry's.
    """
    parts = [re.sub(r"^export ", "", _IMPORT.sub("", _page_file(f"{name}.js")), flags=re.MULTILINE)
             for name in MODULES]  # fmt: skip
    return "\n".join([*parts, _IMPORT.sub("", _page_file(f"{entry}.js"))])


@cache
def style_sheet() -> str:
    """Return the style sheet of the page."""
    return _page_file("style.css")


def standalone(answer: dict[str, Any], title: str = "linsep lab") -> str:
    """Return an HTML file that shows an answer with scene, run and proof, and asks nothing."""
    # Nothing in the data can end the script element that holds it.
    data = json.dumps(answer, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}'
        '</title>\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<style>\nbody {{ margin: 0 }}\n{style_sheet()}</style>\n</head>\n<body>\n"
        '<div id="page"></div>\n'
        f'<script type="application/json" id="answer">{data}</script>\n'
        f'<script type="module">\n{script("standalone")}</script>\n</body>\n</html>\n'
    )


def plain_scene(scene: Scene) -> dict[str, Any]:
    """Return a scene as plain data, with its address and the names that the page shows."""
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
    """Return what the controls of a page are made of."""
    return {
        "fields": for_page(),
        "ready": [
            {"name": name, "group": ready.group, "title": ready.title}
            for name, ready in READY.items()
        ],
        "lessons": titles(),
        "limits": {"points": MOST_POINTS, "classes": MOST_CLASSES, "file": MOST_TEXT},
    }


def page_of(trace: Trace, X: Any, y: Any) -> str:
    """Return the run of a trace as an HTML file that can be scrubbed without a server.

    Raises
    ------
    DataError
        If the rows have more than two features, or there are too many of them, or of classes.
    """
    scene = scene_of_trace(trace, X, y)
    columns = columns_of_trace(trace, scene.X.tolist(), scene.codes, scheme_of(scene))
    columns |= {"vectors": names_of_vectors(scene), "present": sorted(set(scene.codes))}
    proof = proof_of(scene, columns)
    if not same_learner(trace, scene):
        proof |= {"bounds": [], "widest": None, "unbounded": "No bound is stated here: this page "
                  "does not know all parameters of the learner."}  # fmt: skip
    answer = {**plain_scene(scene), **for_controls(), "run": columns, "idle": "", "proof": proof}
    return standalone(answer, "linsep trace")


def scene_of_trace(trace: Trace, X: Any, y: Any) -> Scene:
    """Return the points of a trace, and of its settings those that a page shows."""
    names = list(X.columns) if hasattr(X, "columns") else None
    values = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float)
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    if values.ndim != 2 or values.shape[1] != 2:
        raise DataError("An interactive page shows rows of two features: choose two columns.")
    if len(values) > MOST_POINTS or len(classes) > MOST_CLASSES:
        raise DataError(
            f"An interactive page shows at most {MOST_POINTS} rows of {MOST_CLASSES} classes."
        )
    points = [(float(a), float(b), int(c)) for (a, b), c in zip(values, codes, strict=True)]
    labels = tuple(label_text(label) for label in classes)
    first, second = trace.columns[-2:] if names is None else map(str, names)
    return Scene(tuple(points), "", labels, (first, second), settings_of(trace))


def same_learner(trace: Trace, scene: Scene) -> bool:
    """Return whether the theorems about a scene's learner are about that of the trace."""
    theirs = arguments_of(scene).make()
    weighted = trace.estimator.class_weight is not None
    return not weighted and _facts_of(trace.estimator) == _facts_of(theirs)


def _facts_of(estimator: Any) -> tuple[Any, ...]:
    """Return what theorems need to know of a run by an estimator."""
    run, obstacle = run_to_come(estimator, 1)
    target = getattr(estimator, "gamma", None)
    return run._replace(learner=type(estimator)), obstacle, estimator.premises(), target


def settings_of(trace: Trace) -> dict[str, Any]:
    """Return the settings of a trace's estimator, where the page has them."""
    estimator: Any = trace.estimator
    learner = next(
        name
        for name, (kind, shown) in SHOWN.items()
        if kind is type(estimator)
        and shown.fixed.items() <= estimator.get_params(deep=False).items()
    )
    start = trace.start[0] if len(trace.start) == 1 else (0.0, 0.0, 0.0)
    found: dict[str, Any] = {"learner": learner, "start": [float(w) for w in start]}
    for name, one in SETTINGS.items():
        if one.sets and (not one.learners or learner in one.learners):
            found[name] = getattr(estimator, one.sets, None)
    valid = {}
    for name, value in found.items():
        try:
            valid[name] = SETTINGS[name].checked(value)
        except DataError:  # such as a function for a rate, which the page cannot show
            continue
    return DEFAULTS | valid
