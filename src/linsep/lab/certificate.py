"""The verdict on two classes as a proof file that ``linsep.check`` and ``linsep verify`` read.

Nothing but the standard library is imported, so that a browser can run this.
"""

import json
from fractions import Fraction
from math import gcd, lcm
from time import monotonic
from typing import Any

from linsep import check
from linsep.errors import DataError
from linsep.lab.own_points import points_csv
from linsep.lab.scene import Scene
from linsep.lab.settings import SHOWN
from linsep.lab.verdict import TIME_LIMIT, TOO_LONG
from linsep.teaching.textbook.separation import (
    Multipliers,
    Verdict,
    root,
    separation,
)

#: {column: number}, without zeros
Line = dict[int, Fraction]
Space = dict[int, Line]


def certified(scene: Scene) -> dict[str, str]:
    """Return the proof of a scene's verdict, its points, and the result of the check.

    ``proof`` is JSON, ``points`` CSV with the labels in the column ``target``, and ``said`` the
    output of :func:`linsep.check.check`.

    Raises
    ------
    DataError
        If there are not two classes.
    """
    present = sorted(set(scene.codes))
    if len(present) != 2:
        raise DataError(
            "The lab saves proofs for two classes: use the command linsep separate for more.",
            code="class-count",
        )
    points, target = points_csv(scene)
    intercept = bool(scene["intercept"]) or not SHOWN[scene["learner"]].how.intercept
    rows, labels, columns, width = check.read_csv(points.splitlines(keepends=True), target, [])
    proof = proof_of_rows(rows, labels, columns, width, intercept)
    said = ["It holds.", *check.check(proof, rows, labels, columns, width)]
    return {"proof": proof, "points": points, "target": target, "said": "\n".join(said)}


def proof_of_rows(
    rows: list[dict[int, Any]], labels: Any, names: list[str], width: int, intercept: bool
) -> str:
    """Return the proof about rows as the checker reads them, of two classes."""
    labels = [int(x) if isinstance(x, float) and x.is_integer() else x for x in labels]
    classes = sorted(set(labels))
    X = [[row.get(j, 0) for j in range(width)] for row in rows]
    signs = [1 if label == classes[1] else -1 for label in labels]
    try:
        found = separation(X, signs, fit_intercept=intercept, until=monotonic() + TIME_LIMIT)
    except TimeoutError:
        raise DataError(TOO_LONG.format(TIME_LIMIT), code="not-converged") from None
    verdict = {"kind": found.kind, "positive": [classes[1]], "negative": [classes[0]]}
    exact = [{j: Fraction(x) for j, x in sorted(row.items()) if x} for row in rows]
    if found.kind == "separable":
        verdict |= _separable(found, width)
    else:
        sides = classes[1:], classes[:1]
        about = check.Problem(exact, labels, classes, *sides, width, intercept, None)
        verdict |= _not_separable(found, about)
    plain = {
        "format": "linsep proof 3",
        "recipe": None,
        "data": {
            "rows": len(rows), "features": width, "names": names, "classes": classes,
            "columns": None, "sha256": check.hash_of(exact, labels, width),
        },
        "fit_intercept": intercept,
        "formulations": None,
        "verdicts": [verdict],
    }  # fmt: skip
    return json.dumps(plain, indent=1) + "\n"


def _separable(found: Verdict, width: int) -> dict[str, Any]:
    weights = [hex(v) for v in _whole(found.weights)]
    return {
        "coef": [weights[:width]],
        "intercept": weights[width:] or [hex(0)],
        "margin": list(root(found.square)),
        "support": _combination(found.multipliers),
    }


def _not_separable(found: Verdict, about: check.Problem) -> dict[str, Any]:
    """Return witness and space, and if a direction is left, the direction and its boundary rows."""
    A = [row for row, _ in about.constraints.values()]
    space = echelon([A[i] for i in found.spanning])
    proved: dict[str, Any] = {
        "witness": _combination(found.multipliers),
        "spanning": _combination(found.spanning),
        "space": _plain_space(space),
    }
    if found.kind == "overlapping":
        return proved
    everything = echelon(A)
    kept = about.kept(everything)
    return proved | {
        "direction": {str(j): hex(v) for j, v in enumerate(_whole(found.weights)) if v},
        "boundary": found.boundary,
        "everything": _plain_space(everything),
        "basis": [[i, 0] for i in _basis(A)],
        "signs": {},
        "unchecked": [j for j, row in sorted(kept.items()) if check.left_of(row, space)],
    }


def echelon(rows: list[Line]) -> Space:
    """Return the reduced echelon form of the space of rows, by the columns of its pivots."""
    found: Space = {}
    for row in rows:
        if left := check.left_of(row, found):
            pivot = min(left)
            head = {j: v / left[pivot] for j, v in left.items()}
            found = {p: check.left_of(line, {pivot: head}) for p, line in found.items()}
            found[pivot] = head
    return {p: dict(sorted(line.items())) for p, line in sorted(found.items())}


def _basis(A: list[Line]) -> list[int]:
    """Return the first rows that span the space of all rows."""
    found: list[int] = []
    for i in range(len(A)):
        if len(echelon([A[k] for k in (*found, i)])) > len(found):
            found.append(i)
    return found


def _combination(multipliers: Multipliers) -> dict[str, Any]:
    rows = sorted(multipliers)
    return {
        "rows": rows,
        "which": [0] * len(rows),
        "multipliers": [hex(m) for m in _whole([multipliers[i] for i in rows])],
    }


def _plain_space(space: Space) -> dict[str, dict[str, str]]:
    lines = {p: (list(row), _whole(list(row.values()))) for p, row in space.items()}
    return {str(p): {str(j): hex(v) for j, v in zip(*line, strict=True)}
            for p, line in lines.items()}  # fmt: skip


def _whole(numbers: list[Any]) -> list[int]:
    """Return whole numbers in the proportions of fractions, in lowest terms."""
    exact = [Fraction(v) for v in numbers]
    unit = lcm(*(v.denominator for v in exact))
    found = [int(v * unit) for v in exact]
    common = gcd(*found) or 1
    return [v // common for v in found]
