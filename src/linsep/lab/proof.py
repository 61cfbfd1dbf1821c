"""Proofs about the points of a scene and its run, as sentences for the page."""

from fractions import Fraction
from math import hypot, lcm
from typing import Any

from linsep.errors import LinsepError
from linsep.lab.declared import SERVED
from linsep.lab.numbers import three_digits
from linsep.lab.run import dense_codes
from linsep.lab.scene import Scene
from linsep.lab.settings import SHOWN
from linsep.lab.verdict import TIME_LIMIT, Kinds, Plain, plain_bounds, plain_verdict

#: kinds of verdicts in plain words, where they differ
SAID = {"quasi-separable": "nearly separable (some points can only be on the boundary)"}
#: titles of the verdict on several classes
TITLES = {
    "separable": "Scores, one per class, can classify every point correctly.",
    "quasi-separable": "No scores of this kind classify every point correctly, but some fail only "
    "by ties.",
    "overlapping": "No scores of this kind classify every point correctly.",
    "undecided": "Undecided",
}
#: more pairs of classes are counted, and only the exceptions listed
MOST_PAIRS = 6


def proof_of(scene: Scene, run: dict[str, Any]) -> dict[str, Any]:
    """Return the verdict on the points and the bounds on the mistakes of the run.

    ``verdict`` has ``kind``, ``title`` and ``sentences``, the numbers of the ``rows`` to mark, and
    for two classes the ``meeting`` point of both hulls or the ``widest`` line. ``kernel`` is the
    verdict in the space of the kernel, None for other learners. The other keys are documented in
    :func:`linsep.lab.library.bounds_of` and :func:`linsep.lab.verdict.plain_bounds`.
    """
    kernel = of_kernel(scene) if scene["learner"] == "kernel" else None
    bounds = plain_bounds(scene)
    if SERVED:
        from linsep.lab.library import bounds_of

        exact = {bound["name"]: bound for bound in bounds["bounds"]}
        bounds = bounds_of(scene, run) | ({"widest": bounds["widest"]} if exact else {})
        bounds["bounds"] = [exact.get(bound["name"], bound) for bound in bounds["bounds"]]
    return {"verdict": in_plane(scene), "kernel": kernel, **bounds}


def in_plane(scene: Scene) -> dict[str, Any]:
    """Return the verdict on separation by a line."""
    intercept = bool(scene["intercept"]) or not SHOWN[scene["learner"]].how.intercept
    try:
        found = verdict_on(scene.rows, dense_codes(scene), intercept)
    except LinsepError as problem:
        return _plain_verdict("undecided", "Undecided", [str(problem)])
    if isinstance(found, Kinds):
        return of_several(scene, found)
    return of_two(scene, found, intercept)


def verdict_on(X: Any, codes: list[int], intercept: bool, margin: bool = True) -> Plain | Kinds:
    """Return the verdict on rows: by the textbook if they are few, else by the library."""
    found = plain_verdict(X, codes, intercept)
    if SERVED and getattr(found, "kind", "") == "undecided":
        from linsep.lab import library

        return library.verdict_on(X, codes, intercept, TIME_LIMIT, margin)
    return found


def of_two(scene: Scene, verdict: Plain, intercept: bool) -> dict[str, Any]:
    """Return the verdict on two classes, in sentences."""
    line = "A line" if intercept else "A line through 0"
    if verdict.kind == "separable":
        low, high = verdict.margin
        rows = verdict.rows
        ends = dict.fromkeys(map(three_digits, (low, high)))  # one, if they look the same
        width = " to ".join(ends)
        said = [f"The widest margin is {width}: {listed(rows)} "
                f"{'rules' if len(rows) == 1 else 'rule'} out a wider one."]  # fmt: skip
        shown = _plain_verdict("separable", f"{line} separates the classes.", said, rows)
        shown["widest"] = _of_unit_length(verdict.weights)
        return shown | {"margin": low}
    if verdict.kind == "undecided":
        return _plain_verdict("undecided", "Undecided", [verdict.reason])
    rows, where = verdict.rows, None
    no = "No line" if intercept else "No line through 0"
    proves = "proves" if len(rows) == 1 else "prove"
    said = [f"{listed(rows).capitalize()} {proves} it."]
    if intercept:
        where = meeting_point(scene, verdict)
        said.append(why_they_meet(scene, rows, where))
    else:
        said.append(
            "Reflect the first class through the origin. A separating line would give every point "
            "a positive score, yet a positive combination of the points is exactly 0."
        )
    if verdict.kind == "quasi-separable":
        title = f"{no} separates the classes, but one nearly does."
        said.append(f"Every line without a point on the wrong side goes through "
                    f"{listed(verdict.boundary)}.")  # fmt: skip
        return _plain_verdict("quasi-separable", title, said, rows) | {"meeting": where}
    shown = _plain_verdict("overlapping", f"{no} separates the classes.", said, rows)
    return shown | {"meeting": where}


def meeting_point(scene: Scene, verdict: Plain) -> list[float]:
    """Return the point that lies in the hulls of the witness rows of both classes."""
    mine = max(scene.codes)
    pairs = [(scene.points[row], m) for row, m in zip(verdict.rows, verdict.multipliers,
                                                      strict=True)]  # fmt: skip
    total = sum(m for point, m in pairs if point[2] == mine)
    return [float(sum(Fraction(point[axis]) * m for point, m in pairs if point[2] == mine) / total)
            for axis in (0, 1)]  # fmt: skip


def why_they_meet(scene: Scene, rows: list[int], where: list[float]) -> str:
    """Return the reason why no line separates the witness rows, as a sentence."""
    present = sorted(set(scene.codes))
    first, second = ([row for row in rows if scene.codes[row] == code] for code in present)
    place = f"({three_digits(where[0])}, {three_digits(where[1])})"
    if len(first) == len(second) == 1:
        return f"They have the same coordinates, {place}, but different classes."
    return (
        f"The position {place} is {place_among(first)} and also {place_among(second)}. A line with "
        "the first on one side and the others on the other would have it on both sides."
    )


def place_among(rows: list[int]) -> str:
    """Return a phrase for the hull of points."""
    if len(rows) == 1:
        return f"at point {rows[0] + 1}"
    return f"between {listed(rows)}" if len(rows) == 2 else f"in the triangle of {listed(rows)}"


def of_several(scene: Scene, found: Kinds) -> dict[str, Any]:
    """Return the verdicts on several classes, in sentences."""
    names = [scene.class_names[code] for code in sorted(set(scene.codes))]
    lines = [f"{name} against the rest: {SAID.get(kind, kind)}."
             for name, kind in zip(names, found.against_rest, strict=True)]  # fmt: skip
    pairs = {f"{names[b]} against {names[a]}": SAID.get(kind, kind)
             for (a, b), kind in found.pairs.items()}  # fmt: skip
    usual = max(pairs.values(), key=list(pairs.values()).count, default="")
    if len(pairs) > MOST_PAIRS:
        n = list(pairs.values()).count(usual)
        lines.append(f"{n} of {len(pairs)} pairs of classes: {usual}.")
        pairs = {pair: kind for pair, kind in pairs.items() if kind != usual}
    lines += [f"{pair}: {kind}." for pair, kind in pairs.items()]
    return _plain_verdict(found.joint, TITLES[found.joint], lines)


def of_kernel(scene: Scene) -> dict[str, Any]:
    """Return the verdict on the images of the points in the space of the scene's kernel."""
    same = contradictions(scene)
    no = "No curve of this kernel separates the classes."
    if same:
        (first, second), more = same[0], len(same) - 1
        place = ", ".join(map(three_digits, scene.points[first][:2]))
        others = f" The same holds for {more} other pairs." if more else ""
        return _plain_verdict("overlapping", no, [
            f"Points {first + 1} and {second + 1} have the same coordinates, ({place}), but "
            f"different classes: no function of the coordinates separates them.{others}"
        ], [first, second])  # fmt: skip
    title = "A curve of this kernel separates the classes."
    if scene["kernel"] == "rbf":
        return _plain_verdict("separable", title, [
            "All points have different coordinates. With a radial kernel their images are then "
            "linearly independent, so a hyperplane separates them whatever their classes are "
            "(Micchelli 1986)."
        ])  # fmt: skip
    images = monomials(scene.points, scene["degree"])
    found = verdict_on(images, dense_codes(scene), False, margin=False)
    if isinstance(found, Kinds):
        return of_several(scene, found)
    if found.kind == "separable":
        return _plain_verdict("separable", title, [
            f"In the space of the kernel, spanned by the {len(images[0])} products of up to "
            f"{scene['degree']} coordinates, a hyperplane has every point on its side."
        ])  # fmt: skip
    if found.kind == "undecided":
        return _plain_verdict("undecided", "Undecided", [found.reason])
    rows = found.rows
    said = [
        "Reflect the images of the first class through the origin. A separating hyperplane would "
        f"give every image a positive score, yet a positive combination of the images of "
        f"{listed(rows)} is exactly 0."
    ]
    if found.kind == "quasi-separable":
        said.append(f"Every curve without a point on the wrong side goes through "
                    f"{listed(found.boundary)}.")  # fmt: skip
    return _plain_verdict(found.kind, no, said, rows)


def monomials(points: Any, degree: int) -> list[list[int]]:
    """Return all products of up to ``degree`` coordinates, exactly.

    They span the space of the polynomial kernel; neither their factors there nor the unit of the
    coordinates, which makes them whole numbers here, changes what a hyperplane can separate.
    """
    exact = [[Fraction(repr(x)), Fraction(repr(y))] for x, y, _ in points]
    units = [lcm(*(row[axis].denominator for row in exact)) for axis in (0, 1)]
    whole = [(int(x * units[0]), int(y * units[1])) for x, y in exact]
    return [[x**a * y**b for a in range(degree + 1) for b in range(degree + 1 - a)]
            for x, y in whole]  # fmt: skip


def contradictions(scene: Scene) -> list[tuple[int, int]]:
    """Return pairs of points with the same coordinates and different classes, one per place."""
    seen: dict[tuple[float, float], int] = {}
    found: dict[tuple[float, float], tuple[int, int]] = {}
    for row, (x, y, code) in enumerate(scene.points):
        first = seen.setdefault((x, y), row)
        if scene.codes[first] != code:
            found.setdefault((x, y), (first, row))
    return list(found.values())


def listed(rows: list[int]) -> str:
    """Return the numbers of points, counted from 1, as a phrase."""
    *first, last = [str(row + 1) for row in rows[:12]]
    if len(rows) > 12:
        return f"points {', '.join([*first, last])} and {len(rows) - 12} others"
    return f"points {', '.join(first)} and {last}" if first else f"point {last}"


def _plain_verdict(
    kind: str, title: str, sentences: list[str], rows: list[int] | None = None
) -> dict[str, Any]:
    return {"kind": kind, "title": title, "sentences": sentences, "rows": rows or [],
            "meeting": None, "widest": None, "margin": None}  # fmt: skip


def _of_unit_length(weights: list[Any]) -> list[float]:
    b, w1, w2 = weights
    length = hypot(w1, w2) or 1.0
    return [b / length, w1 / length, w2 / length]
