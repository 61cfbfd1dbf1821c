"""What can be proved about the points of a scene and its run, in words for the page."""

from math import sqrt
from typing import Any

import numpy as np

import linsep
from linsep.errors import LinsepError
from linsep.lab.run import dense_codes
from linsep.lab.scene import Scene
from linsep.teaching.trace.table import short

#: seconds that the exact arithmetic of a verdict may take
TIME_LIMIT = 3.0
#: classes of linsep.bounds for each learner
BOUNDED = {
    "perceptron": "Perceptron", "margin": "MarginPerceptron", "winnow": "Winnow",
    "balanced-winnow": "BalancedWinnow",
}  # fmt: skip


def proof_of(scene: Scene, run: dict[str, Any]) -> dict[str, Any]:
    """Return the verdict on the points and the bounds on the mistakes of the run.

    ``verdict`` has ``kind``, ``title`` and ``sentences``, the numbers of ``rows`` to light up,
    and of two classes the ``meeting`` point of both hulls or the ``widest`` line; ``bounds`` is a
    list of name, value and sentence, ``unbounded`` says why there is none.
    """
    intercept = bool(scene["intercept"]) or scene["learner"] in ("winnow", "balanced-winnow")
    try:
        found = linsep.separation(
            scene.X, np.array(dense_codes(scene)), fit_intercept=intercept, margin="max",
            time_limit=TIME_LIMIT,
        )  # fmt: skip
    except LinsepError as problem:
        return {"verdict": _plain_verdict("undecided", "Not known", [str(problem)]),
                **bounds_of(scene, run)}  # fmt: skip
    several = hasattr(found, "against_rest")
    verdict = of_several(scene, found) if several else of_two(scene, found, intercept)
    return {"verdict": verdict, **bounds_of(scene, run)}


def of_two(scene: Scene, verdict: Any, intercept: bool) -> dict[str, Any]:
    """Return the verdict on two classes in words."""
    line = "A line" if intercept else "A line through 0"
    if verdict.kind == "separable":
        low, high = verdict.margin
        rows = list(verdict.support.rows)
        width = short(low) if short(low) == short(high) else f"{short(low)} to {short(high)}"
        said = [f"The nearest point can be at most {width} away from it: {listed(rows)} "
                f"{'rules' if len(rows) == 1 else 'rule'} out a wider margin."]  # fmt: skip
        shown = _plain_verdict("separable", f"{line} separates the classes.", said, rows)
        shown["widest"] = _unit([verdict.intercept[0], *verdict.coef[0]] if intercept
                                else [0.0, *verdict.coef[0]])  # fmt: skip
        return shown | {"margin": low}
    if verdict.kind == "undecided":
        return _plain_verdict("undecided", "Not known", [verdict.reason])
    witness, where = verdict.witness, None
    rows = list(witness.rows)
    no = "No line" if intercept else "No line through 0"
    said = [f"{no} separates {'these two points' if len(rows) == 2 else 'them'}: look at "
            f"{listed(rows)}."]  # fmt: skip
    if intercept:
        where = meeting_point(scene, witness)
        said.append(why_they_meet(scene, witness, where))
    else:
        said.append(
            "Turn the points of the first class round 0: now each would have to be on the positive "
            "side. But times positive numbers they add up to exactly 0, which is on no side."
        )
    if verdict.kind == "quasi-separable":
        title = f"{no} separates the classes, but one nearly does."
        said.append(
            f"A line has no point on its wrong side, but {listed(list(verdict.boundary))} "
            "must lie on it."
        )
        return _plain_verdict("quasi-separable", title, said, rows) | {"meeting": where}
    shown = _plain_verdict("overlapping", f"{no} separates the classes.", said, rows)
    return shown | {"meeting": where}


def meeting_point(scene: Scene, witness: Any) -> list[float]:
    """Return the point that lies in the hulls of the witness rows of both classes."""
    mine = max(scene.codes)
    pairs = [(scene.points[row], m) for row, m in zip(witness.rows, witness.multipliers,
                                                      strict=True)]  # fmt: skip
    total = sum(m for point, m in pairs if point[2] == mine)
    return [sum(point[axis] * (m / total) for point, m in pairs if point[2] == mine)
            for axis in (0, 1)]  # fmt: skip


def why_they_meet(scene: Scene, witness: Any, where: list[float]) -> str:
    """Return in words why no line separates the witness rows."""
    present = sorted(set(scene.codes))
    first, second = ([row for row in witness.rows if scene.codes[row] == code] for code in present)
    place = f"({short(where[0])}, {short(where[1])})"
    if len(first) == len(second) == 1:
        return f"They are at the same place, {place}, and of different classes."
    return (
        f"The place {place} lies {among(first)} and also {among(second)}. A line with the "
        "first on one side and the others on the other would have this place on both sides."
    )


def among(rows: list[int]) -> str:
    """Return in words where the hull of points is."""
    if len(rows) == 1:
        return f"at point {rows[0] + 1}"
    return f"between {listed(rows)}" if len(rows) == 2 else f"in the triangle of {listed(rows)}"


def of_several(scene: Scene, found: Any) -> dict[str, Any]:
    """Return the verdicts on several classes in words."""
    names = [scene.class_names[code] for code in sorted(set(scene.codes))]
    lines = [
        f"{names[int(label)]} against the rest: {verdict.kind}."
        for label, verdict in found.against_rest.items()
    ]
    lines += [
        f"{names[int(b)]} against {names[int(a)]}: {verdict.kind}."
        for (a, b), verdict in found.pairs.items()
    ]
    joint = found.multinomial
    fine = joint is not None and joint.kind == "separable"
    title = (
        "A score for each class can put every point in its class."
        if fine
        else "No scores of this kind put every point in its class."
    )
    return _plain_verdict(joint.kind if joint is not None else "undecided", title, lines)


def bounds_of(scene: Scene, run: dict[str, Any]) -> dict[str, Any]:
    """Return the bounds on the mistakes of the run, or why none is stated."""
    reason = why_unbounded(scene)
    if reason:
        return {"bounds": [], "unbounded": reason}
    passes = run["pass"][-1]
    try:
        found = linsep.bounds(
            scene.X, np.array(dense_codes(scene)), fit_intercept=scene["intercept"],
            multiclass=scene["classes"], passes=passes,
        )  # fmt: skip
    except (ValueError, LinsepError) as problem:
        return {"bounds": [], "unbounded": str(problem)}
    learner = BOUNDED[scene["learner"]]
    said = {"Novikoff": "(R/margin)², for any number of passes",
            "hinge": f"for points that overlap too; {passes:,} passes",
            "hinge, sharp": "the same proof, without its last estimate",
            "squared hinge": "Freund and Schapire 1999"}  # fmt: skip
    bounds = [
        {"name": bound.name, "value": float(bound.value), "what": bound.what,
         "about": said.get(bound.name, "")}
        for bound in found.bounds
        if bound.learner == learner and bound.what in ("mistakes", "updates")
    ]  # fmt: skip
    why = "" if bounds else next(iter(found.left_out.values()), "No bound is known.")
    return {"bounds": bounds, "unbounded": why}


def why_unbounded(scene: Scene) -> str:
    """Return why no bound is stated for a scene, "" if one is."""
    learner = scene["learner"]
    if learner not in BOUNDED:
        return f"No bound is stated here for the learner {learner}."
    if learner == "margin" and not scene["gamma"]:
        return "The bound 8/gamma² needs a target margin."
    if any(scene["start"]) and learner != "margin":
        return "The bounds hold for runs that start at 0; this one does not."
    if learner == "perceptron" and scene["schedule"] != "constant":
        return "The bounds hold for a constant learning rate."
    return ""


def listed(rows: list[int]) -> str:
    """Return the numbers of points, counted from 1, in words."""
    *first, last = [str(row + 1) for row in rows[:12]]
    if len(rows) > 12:
        return f"points {', '.join([*first, last])} and {len(rows) - 12} others"
    return f"points {', '.join(first)} and {last}" if first else f"point {last}"


def _plain_verdict(
    kind: str, title: str, sentences: list[str], rows: list[int] | None = None
) -> dict[str, Any]:
    return {"kind": kind, "title": title, "sentences": sentences, "rows": rows or [],
            "meeting": None, "widest": None, "margin": None}  # fmt: skip


def _unit(weights: list[Any]) -> list[float]:
    b, w1, w2 = map(float, weights)
    length = sqrt(w1 * w1 + w2 * w2) or 1.0
    return [b / length, w1 / length, w2 / length]
