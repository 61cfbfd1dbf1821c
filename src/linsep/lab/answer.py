"""The answers to a page: stateless, so that tabs cannot disturb each other.

A request is plain data: the URL of the page, or a scene that the user changed.
"""

from dataclasses import replace
from functools import lru_cache
from typing import Any

from linsep.errors import DataError, LinsepError
from linsep.lab.certificate import certified
from linsep.lab.course import lesson
from linsep.lab.declared import FIRST, SERVED
from linsep.lab.own_points import NOT_ASKED, own_of, plain_scene_of_csv, points_csv
from linsep.lab.pages import OFFERS, for_controls, plain_scene, standalone
from linsep.lab.proof import proof_of
from linsep.lab.run import run_of, script_of, trace_of
from linsep.lab.scene import Scene
from linsep.lab.scene_sources import (
    ready_made,
    scene_of,
    scene_of_url,
    url_of,
)


def answer(request: Any) -> dict[str, Any]:
    """Return the answer to a request; for an invalid request it is a sentence."""
    kinds = {
        "open": opened, "scene": changed, "load": loaded, "proof": proved, "table": table_of_scene,
        "script": script_of_request, "html": html_of_scene, "lesson": taught,
        "certificate": certified_scene, "points": points_of_scene,
    }  # fmt: skip
    kind = request.get("kind") if isinstance(request, dict) else None
    if not isinstance(kind, str) or kind not in kinds:
        return {"kind": "fault", "fault": NOT_ASKED}
    number = request.get("number")
    known = {"kind": kind, "number": number if isinstance(number, int) else 0}
    try:
        return known | kinds[kind](request)
    except (LinsepError, ValueError) as problem:
        return known | {"fault": str(problem), "code": getattr(problem, "code", "bad-scene")}


def fits() -> Any:
    """Return the module of fits; DataError if only the standard library is available."""
    if not SERVED:
        raise DataError(OFFERS, code="unsupported")
    from linsep.lab import fits as found

    return found


def opened(request: dict[str, Any]) -> dict[str, Any]:
    """Answer a URL: its scene, or the first ready-made scene with an error."""
    url, fault = request.get("url"), ""
    scene = ready_made(FIRST)
    if isinstance(url, str) and url.lstrip("#"):
        try:
            scene = scene_of_url(url)
        except LinsepError as problem:
            fault = f"This URL cannot be shown. {problem}"
    found = scene_with_result(scene)
    run, fit = found["run"], found["fit"] or {"kind": ""}
    last = run["rounds"] if run else len(fit["rows"]) - 1 if fit["kind"] == "descent" else scene.at
    if scene.at > last:
        fault = f"The last step is {last:,}: for more, see Maximum steps and Beyond a cycle."
    return {**found, **for_controls()} | ({"fault": fault} if fault else {})


def changed(request: dict[str, Any]) -> dict[str, Any]:
    """Answer a scene that the user changed, or the name of a ready-made scene."""
    name = request.get("ready")
    return scene_with_result(
        ready_made(name) if isinstance(name, str) else scene_of(request.get("scene"))
    )


def loaded(request: dict[str, Any]) -> dict[str, Any]:
    """Answer a CSV text with the scene of its points and the present settings."""
    own, before = own_of(request), scene_of(request.get("scene"))
    if SERVED:
        from linsep.lab.table_scene import scene_of_csv

        scene, columns = scene_of_csv(own, before)
    else:
        scene, columns = plain_scene_of_csv(own, before)
    return scene_with_result(scene) | {"columns": columns._asdict()}


def points_of_scene(request: dict[str, Any]) -> dict[str, Any]:
    """Answer with the points as CSV, which the page reads."""
    return {"text": points_csv(scene_of(request.get("scene")))[0]}


def scene_with_result(scene: Scene) -> dict[str, Any]:
    """Return a scene with its run or its fit, or with the reason why it has neither."""
    found: dict[str, Any] = {**plain_scene(scene), "run": None, "fit": None, "idle": ""}
    try:
        if scene["room"] == "classes":
            return found | {"run": cached_run(key_of(scene))}
        return found | {"fit": fits().fit_of(scene)}
    except (LinsepError, ValueError) as problem:
        return found | {"idle": str(problem)}


def proved(request: dict[str, Any]) -> dict[str, Any]:
    """Answer with what can be proved about a scene."""
    scene = scene_of(request.get("scene"))
    return {"proof": proof_of(scene, cached_run(key_of(scene)))}


def certified_scene(request: dict[str, Any]) -> dict[str, Any]:
    """Answer with the proof of the verdict as a file, and the result of its check."""
    return dict(certified(scene_of(request.get("scene"))))


def table_of_scene(request: dict[str, Any]) -> dict[str, Any]:
    """Answer with the table of rounds as CSV, Markdown or LaTeX."""
    scene, form = scene_of(request.get("scene")), request.get("format")
    if form not in ("csv", "markdown", "latex"):
        raise ValueError(NOT_ASKED)
    if scene["room"] != "classes":
        return {"format": form, "text": fits().table_of(fits().fit_of(scene), form)}
    if scene["learner"] == "kernel":
        raise ValueError("The kernel perceptron has weights of points, and no table of steps.")
    return {"format": form, "text": getattr(trace_of(scene), f"to_{form}")()}


def script_of_request(request: dict[str, Any]) -> dict[str, Any]:
    """Answer with the scene as a Python script."""
    scene = scene_of(request.get("scene"))
    if scene["room"] == "classes":
        return {"text": script_of(scene)}
    return {"text": fits().script_of_fit(scene)}


def html_of_scene(request: dict[str, Any]) -> dict[str, Any]:
    """Answer with the run as a page that needs no server."""
    return {"text": standalone(page_without_server(scene_of(request.get("scene"))))}


def page_without_server(scene: Scene) -> dict[str, Any]:
    """Return everything that a page without a server shows."""
    found = {**scene_with_result(scene), **for_controls()}
    if scene["room"] != "classes":
        fits().fit_of(scene)  # which says why there is none
        return found
    return found | {"proof": proof_of(scene, cached_run(key_of(scene)))}


def taught(request: dict[str, Any]) -> dict[str, Any]:
    """Answer with a lesson."""
    return {"lesson": lesson(request.get("name"))}


def key_of(scene: Scene) -> str:
    """Return the URL of a scene without the step that it shows."""
    return url_of(replace(scene, at=0))


@lru_cache(maxsize=8)
def cached_run(url: str) -> dict[str, Any]:
    """Return the run of a URL; picture, table and proof need the same run."""
    return run_of(scene_of_url(url))
