"""What can be proved about the points of a scene and its run, in words for the page."""

from fractions import Fraction
from math import lcm, sqrt
from typing import Any

import numpy as np

import linsep
from linsep.errors import LinsepError
from linsep.lab.bounds import bounds_of
from linsep.lab.run import dense_codes
from linsep.lab.scene import Scene
from linsep.teaching.trace.table import short

#: seconds that the exact arithmetic of a verdict may take
TIME_LIMIT = 3.0


def proof_of(scene: Scene, run: dict[str, Any]) -> dict[str, Any]:
    """Return the verdict on the points and the bounds on the mistakes of the run.

    ``verdict`` has ``kind``, ``title`` and ``sentences``, the numbers of ``rows`` to light up,
    and of two classes the ``meeting`` point of both hulls or the ``widest`` line. ``kernel`` is the
    verdict in the space of the kernel, None for other learners; the rest is that of
    :func:`linsep.lab.bounds.bounds_of`.
    """
    kernel = of_kernel(scene) if scene["learner"] == "kernel" else None
    return {"verdict": in_plane(scene), "kernel": kernel, **bounds_of(scene, run)}


def in_plane(scene: Scene) -> dict[str, Any]:
    """Return the verdict on what a line can do."""
    intercept = bool(scene["intercept"]) or scene["learner"] in (
        "winnow", "balanced-winnow", "kernel"
    )  # fmt: skip
    try:
        found = linsep.separation(
            scene.X, np.array(dense_codes(scene)), fit_intercept=intercept, margin="max",
            time_limit=TIME_LIMIT,
        )  # fmt: skip
    except LinsepError as problem:
        return _plain_verdict("undecided", "Not known", [str(problem)])
    several = hasattr(found, "against_rest")
    return of_several(scene, found) if several else of_two(scene, found, intercept)


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


def of_kernel(scene: Scene) -> dict[str, Any]:
    """Return the verdict on the images of the points in the space of the scene's kernel."""
    same = contradictions(scene)
    no = "No curve of this kernel separates the classes."
    if same:
        (first, second), more = same[0], len(same) - 1
        place = ", ".join(map(short, scene.points[first][:2]))
        others = f" So are {more} other pairs." if more else ""
        return _plain_verdict("overlapping", no, [
            f"Points {first + 1} and {second + 1} are at the same place, ({place}), and of "
            f"different classes: no function of the place tells them apart.{others}"
        ], [first, second])  # fmt: skip
    title = "A curve of this kernel separates the classes."
    if scene["kernel"] == "rbf":
        return _plain_verdict("separable", title, [
            "All points are at different places, and under a radial kernel the images of different "
            "places are independent: a hyperplane separates them whatever their classes are "
            "(Micchelli 1986)."
        ])  # fmt: skip
    images = monomials(scene.points, scene["degree"])
    found: Any = linsep.separation(
        images, np.array(dense_codes(scene)), fit_intercept=False, time_limit=TIME_LIMIT
    )
    if hasattr(found, "against_rest"):
        return of_several(scene, found)
    if found.kind == "separable":
        return _plain_verdict("separable", title, [
            f"In the space of the kernel, spanned by the {images.shape[1]} products of up to "
            f"{scene['degree']} coordinates, a hyperplane has every point on its side."
        ])  # fmt: skip
    if found.kind == "undecided":
        return _plain_verdict("undecided", "Not known", [found.reason])
    rows = list(found.witness.rows)
    said = [
        f"Turn the images of the first class round 0: those of {listed(rows)}, times positive "
        "numbers, add up to exactly 0 in the space of the kernel, which is on no side."
    ]
    if found.kind == "quasi-separable":
        said.append(f"A curve has no point on its wrong side, but "
                    f"{listed(list(found.boundary))} must lie on it.")  # fmt: skip
    return _plain_verdict(found.kind, no, said, rows)


def monomials(points: Any, degree: int) -> np.ndarray:
    """Return all products of up to ``degree`` coordinates, exactly.

    They span the space of the polynomial kernel; neither their factors there nor the unit of the
    coordinates, which makes them whole numbers here, changes what a hyperplane can separate.
    """
    exact = [[Fraction(repr(x)), Fraction(repr(y))] for x, y, _ in points]
    units = [lcm(*(row[axis].denominator for row in exact)) for axis in (0, 1)]
    whole = [(int(x * units[0]), int(y * units[1])) for x, y in exact]
    return np.array([[x**a * y**b for a in range(degree + 1) for b in range(degree + 1 - a)]
                     for x, y in whole], dtype=object)  # fmt: skip


def contradictions(scene: Scene) -> list[tuple[int, int]]:
    """Return pairs of points at the same place, of different classes, one for each place."""
    seen: dict[tuple[float, float], int] = {}
    found: dict[tuple[float, float], tuple[int, int]] = {}
    for row, (x, y, code) in enumerate(scene.points):
        first = seen.setdefault((x, y), row)
        if scene.codes[first] != code:
            found.setdefault((x, y), (first, row))
    return list(found.values())


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
