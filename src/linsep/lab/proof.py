"""What can be proved about the points of a scene and its run, in words for the page."""

from fractions import Fraction
from math import lcm, sqrt
from typing import Any

import numpy as np

import linsep
from linsep.errors import LinsepError
from linsep.lab.run import arguments_of, dense_codes
from linsep.lab.scene import Scene
from linsep.lab.settings import SHOWN
from linsep.learners.proofs import run_to_come
from linsep.mistake_bounds.bounding import Case, RunSummary, bounds_of_run, novikoff
from linsep.mistake_bounds.bounds import Bound, Bounds, Unknown
from linsep.teaching import short_number

#: seconds that the exact arithmetic of a verdict may take
TIME_LIMIT = 3.0
#: what is said beside a bound, in place of its source; {passes} are those of the run
ABOUT = {
    "Novikoff": "(R/margin)², for any number of passes",
    "hinge": "for points that overlap too; {passes}",
    "hinge, sharp": "the same proof, without its last estimate",
    "8/gamma^2": "updates, of points scaled to length 1",
}
#: a larger (R/margin)² in a kernel's space may come of rounding the features
CLEAR = 1e10
#: most dimensions of a kernel's space in which hinge bounds are computed
MOST_DIMENSIONS = 12
#: relative size of an eigenvalue of a Gram matrix that counts as zero
ROUNDING = 1e-12


def proof_of(scene: Scene, run: dict[str, Any]) -> dict[str, Any]:
    """Return the verdict on the points and the bounds on the mistakes of the run.

    ``verdict`` has ``kind``, ``title`` and ``sentences``, the numbers of ``rows`` to light up,
    and of two classes the ``meeting`` point of both hulls or the ``widest`` line. ``kernel`` is the
    verdict in the space of the kernel, None for other learners; the rest is that of
    :func:`bounds_of`.
    """
    kernel = of_kernel(scene) if scene["learner"] == "kernel" else None
    return {"verdict": in_plane(scene), "kernel": kernel, **bounds_of(scene, run)}


def in_plane(scene: Scene) -> dict[str, Any]:
    """Return the verdict on what a line can do."""
    intercept = bool(scene["intercept"]) or not SHOWN[scene["learner"]][1].intercept
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
        ends = dict.fromkeys(map(short_number, (low, high)))  # one, if they look the same
        width = " to ".join(ends)
        said = [f"The nearest point can be at most {width} away from it: {listed(rows)} "
                f"{'rules' if len(rows) == 1 else 'rule'} out a wider margin."]  # fmt: skip
        shown = _plain_verdict("separable", f"{line} separates the classes.", said, rows)
        shown["widest"] = _of_unit_length([verdict.intercept[0], *verdict.coef[0]] if intercept
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
    place = f"({short_number(where[0])}, {short_number(where[1])})"
    if len(first) == len(second) == 1:
        return f"They are at the same place, {place}, and of different classes."
    return (
        f"The place {place} lies {place_among(first)} and also {place_among(second)}. A line with "
        "the first on one side and the others on the other would have this place on both sides."
    )


def place_among(rows: list[int]) -> str:
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
        place = ", ".join(map(short_number, scene.points[first][:2]))
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


def _of_unit_length(weights: list[Any]) -> list[float]:
    b, w1, w2 = map(float, weights)
    length = sqrt(w1 * w1 + w2 * w2) or 1.0
    return [b / length, w1 / length, w2 / length]


def bounds_of(scene: Scene, run: dict[str, Any]) -> dict[str, Any]:
    """Return the bounds on the mistakes of a run, or why none is stated.

    ``bounds`` is a list of name, value, what is counted and a remark, ``unbounded`` says why it is
    empty; ``widest`` has what ||w||/M is computed from, None if it bounds no margin.
    """
    passes, codes = run["pass"][-1], np.array(dense_codes(scene))
    if scene["learner"] == "kernel":
        return of_kernel_run(scene, passes, codes)
    estimator = arguments_of(scene).make()
    summary, obstacle = run_to_come(estimator, passes)
    why = why_unbounded(scene, estimator, obstacle)
    if why:
        return {"bounds": [], "unbounded": why, "widest": None}
    try:
        found = bounds_of_run(summary, scene.X, codes, np.unique(codes))
    except (ValueError, LinsepError) as problem:
        return {"bounds": [], "unbounded": str(problem), "widest": None}
    widest = None
    if hasattr(estimator, "learning_rate") and len(set(scene.codes)) == 2:
        widest = {"rate": scene["rate"], "intercept": scene["intercept"],
                  "margin": found.margin[0] if found.margin else None}  # fmt: skip
    return listed_bounds(found, passes) | {"widest": widest}


def listed_bounds(found: Bounds, passes: int) -> dict[str, Any]:
    """Return bounds as the page shows them, or why there is none."""
    many = f"{passes:,} pass{'' if passes == 1 else 'es'}"
    reason = next(iter(found.left_out.values()), "no theorem is about it")
    return {
        "bounds": [
            {"name": bound.name, "value": float(bound.value), "what": bound.what,
             "about": remark_on(bound, many)}
            for bound in found.bounds
        ],
        "unbounded": "" if found.bounds else f"No bound: {reason}.",
    }  # fmt: skip


def remark_on(bound: Bound, passes: str) -> str:
    """Return what is said beside a bound: what it counts, where it is proved, and of what run."""
    if bound.name in ABOUT:
        return ABOUT[bound.name].format(passes=passes)
    counted = ["wrong predictions"] * (bound.what == "errors")
    return "; ".join([*counted, bound.source, *[passes] * bool(bound.by_pass)])


def of_kernel_run(scene: Scene, passes: int, codes: np.ndarray) -> dict[str, Any]:
    """Return the bounds in the space of the kernel: Novikoff's, or if nothing separates, hinges.

    The rows are features whose products are the Gram matrix. Hinge bounds need a program in as many
    dimensions, which takes too long in many.
    """
    # The theorems about the perceptron hold in that space.
    learner = linsep.Perceptron(fit_intercept=False)
    summary = RunSummary(learner, scene["classes"], fit_intercept=False, passes=passes)
    features = features_of(gram_of(scene))
    case = Case(summary, features, codes, int(codes.max()) + 1, None)
    try:
        value = novikoff(case.problems)
    except Unknown:
        value = np.inf
    if value < CLEAR:
        bounds = [{"name": "Novikoff", "value": value, "what": "mistakes",
                   "about": ABOUT["Novikoff"]}]  # fmt: skip
        found: dict[str, Any] = {"bounds": bounds, "unbounded": ""}
    elif case.problems[0].A.shape[1] <= MOST_DIMENSIONS:
        found = listed_bounds(bounds_of_run(summary, features, codes, np.unique(codes)), passes)
        found["bounds"] = [bound for bound in found["bounds"] if bound["name"] != "Novikoff"]
    else:
        found = {"bounds": [], "unbounded": "No bound: no curve separates the classes clearly, and "
                 "other bounds are computed here in a space of few dimensions only."}  # fmt: skip
    for bound in found["bounds"][:1]:
        bound["about"] += ", in the space of the kernel"
    return found | {"widest": None}


def why_unbounded(scene: Scene, estimator: Any, obstacle: str | None) -> str:
    """Return why no bound is stated for a scene, "" if one is."""
    if getattr(estimator, "update", "single") == "batch":
        return (
            "No bound: the theorems are about rules that correct one point at a time, and the "
            "batch rule corrects all of them at once."
        )
    if getattr(estimator, "gamma", None) == "auto":
        return "No bound: 8/gamma² needs a target margin, and here each run chooses its own."
    if any(scene["start"]) and SHOWN[scene["learner"]][1].start:
        return "No bound: the theorems are about runs that start at 0, and this one does not."
    if getattr(estimator, "schedule", "constant") != "constant":
        return "No bound: the theorems are about a constant learning rate."
    return f"No bound: {obstacle}." if obstacle else ""


def gram_of(scene: Scene) -> np.ndarray:
    """Return the Gram matrix of a scene's kernel, without compiling anything."""
    X, width = scene.X, scene["width"]
    if scene["kernel"] == "rbf":
        return np.exp(-width * ((X[:, None] - X) ** 2).sum(axis=2))
    return (width * (X @ X.T) + 1.0) ** scene["degree"]


def features_of(K: np.ndarray) -> np.ndarray:
    """Return rows whose products are a Gram matrix, up to rounding."""
    values, vectors = np.linalg.eigh(K)
    kept = values > ROUNDING * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])
