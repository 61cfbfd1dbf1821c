"""Verdicts by the textbook alone, and the bound that follows from their margin.

Nothing but the standard library is imported, so that a browser can run this.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import inf, nextafter
from time import monotonic
from typing import Any, NamedTuple

from linsep.lab.run import arguments_of, dense_codes
from linsep.lab.scene import Scene
from linsep.lab.settings import SHOWN
from linsep.teaching import short_number
from linsep.teaching.textbook.separation import (
    Multipliers,
    among,
    decided,
    dot,
    joint_rows,
    root,
    separation,
)

#: seconds that the exact arithmetic of a verdict may take
TIME_LIMIT = 3.0
#: most numbers of a point, and most points of several classes, or of more than two numbers, that
#: the textbook decides about
MOST_NUMBERS, MOST_OF_MANY = 15, 150
#: larger bounds are not stated: squares of ratios overflow
MOST = 10**306
#: most points of which the plainest witness is looked for
MOST_SEARCHED = 200
TOO_MANY = (
    "Too many points for this page, which decides at most {} points of several classes or with a "
    "kernel, of at most {} products: use the command linsep lab."
)
TOO_LONG = "Exact arithmetic takes longer than {:g} seconds here."
NO_BOUND = (
    "No bound: this page has only Novikoff's bound, for a perceptron and two clearly separated "
    "classes. The command linsep lab has the bounds of other learners and points."
)


#: the remark beside Novikoff's bound
NOVIKOFF = "(R/margin)², for any number of passes"


class Plain(NamedTuple):
    """A verdict on two classes.

    Attributes
    ----------
    kind : "separable", "quasi-separable", "overlapping" or "undecided"
    rows : list of int
        The support of the widest margin, or a witness that no weights separate the rows.
    multipliers : list
        The multipliers of the witness rows.
    weights : list of float
        The intercept, 0 without one, and the weights of the line of widest margin.
    margin : (float, float)
        Lower and upper bound of the widest margin.
    boundary : list of int
        The rows that must lie on a line without a row on its wrong side.
    reason : str
        Why the verdict is undecided.
    """

    kind: str
    rows: list[int] = []  # noqa: RUF012  # never changed
    multipliers: list[Any] = []  # noqa: RUF012
    weights: list[float] = []  # noqa: RUF012
    margin: tuple[float, float] = (0.0, inf)
    boundary: list[int] = []  # noqa: RUF012
    reason: str = ""


class Kinds(NamedTuple):
    """Verdicts on several classes: each against the rest, pairs, and all jointly."""

    against_rest: list[str]
    pairs: dict[tuple[int, int], str]
    joint: str


def plain_verdict(X: Sequence[Sequence[Any]], codes: list[int], intercept: bool) -> Plain | Kinds:
    """Return the verdict on rows of classes counted from 0; "undecided" if they are many."""
    hard = max(codes) > 1 or len(X[0]) > 2
    if len(X[0]) > MOST_NUMBERS or (hard and len(X) > MOST_OF_MANY):
        return Plain("undecided", reason=TOO_MANY.format(MOST_OF_MANY, MOST_NUMBERS))
    until = monotonic() + TIME_LIMIT
    try:
        return (_kinds if max(codes) > 1 else of_two_classes)(X, codes, intercept, until)
    except TimeoutError:
        return Plain("undecided", reason=TOO_LONG.format(TIME_LIMIT))


def of_two_classes(
    X: Sequence[Sequence[Any]], codes: list[int], intercept: bool, until: float
) -> Plain:
    """Return the verdict on two classes."""
    found = separation(X, [2 * code - 1 for code in codes], fit_intercept=intercept, until=until)
    rows = list(found.multipliers)
    if found.kind != "separable":
        boundary = found.boundary if found.kind == "quasi-separable" else []
        few = intercept and len(X) <= MOST_SEARCHED
        witness = _plainest(X, codes, until) if few else None
        witness = witness or found.multipliers
        return Plain(found.kind, list(witness), list(witness.values()), boundary=boundary)
    most = max(map(abs, found.weights))
    w = [float(v / most) for v in found.weights]
    return Plain(
        "separable", rows, weights=[w[-1], *w[:-1]] if intercept else [0.0, *w],
        margin=root(found.square),
    )  # fmt: skip


def _plainest(X: Sequence[Sequence[Any]], codes: list[int], until: float) -> Multipliers | None:
    """Return multipliers of a point and of as few points of the other class as possible that have
    it in their hull; None if only two crossing segments prove the overlap.

    The point is of the class that has fewer of such points.
    """
    lying: list[list[Multipliers]] = [[], []]
    for row, code in enumerate(codes):
        others = [k for k, other in enumerate(codes) if other != code]
        if found := among(X[row], [X[k] for k in others], until):
            named = {others[k]: m for k, m in found.items()} | {row: Fraction(1)}
            lying[code].append(dict(sorted(named.items())))
    few = min(filter(None, lying), key=len, default=[])
    return min(few, key=len, default=None)


def _kinds(X: Sequence[Any], codes: list[int], intercept: bool, until: float) -> Kinds:
    def kind(X: Sequence[Any], sides: list[int]) -> str:
        signs = [2 * side - 1 for side in sides]
        return separation(X, signs, fit_intercept=intercept, until=until).kind

    classes, pairs = range(max(codes) + 1), {}
    for a, b in combinations(classes, 2):
        both = [row for row, code in enumerate(codes) if code in (a, b)]
        mine = [int(codes[row] == b) for row in both]
        pairs[a, b] = kind([X[row] for row in both], mine)
    rest = [kind(X, [int(code == k) for code in codes]) for k in classes]
    return Kinds(rest, pairs, decided(joint_rows(X, codes, intercept), until).kind)


def plain_bounds(scene: Scene) -> dict[str, Any]:
    """Return Novikoff's bound on the mistakes of a perceptron, or the reason why there is no bound.

    The keys are documented in :func:`linsep.lab.library.bounds_of`.
    """
    called = arguments_of(scene)
    chosen = {name: one.default for name, one in SHOWN[scene["learner"]].parameters.items()}
    why = why_unbounded(scene, chosen | called.parameters, None)
    if not why and (called.estimator != "Perceptron" or len(set(scene.codes)) > 2):
        why = NO_BOUND
    if why:
        return {"bounds": [], "unbounded": why, "widest": None}
    Z = [[*map(Fraction, x), *[Fraction(1)] * scene["intercept"]] for x in scene.rows]
    signed = [[v if code else -v for v in z] for z, code in zip(Z, dense_codes(scene), strict=True)]
    try:
        found = decided(signed, monotonic() + TIME_LIMIT)
    except TimeoutError:
        return {"bounds": [], "unbounded": TOO_LONG.format(TIME_LIMIT), "widest": None}
    square = found.square
    widest = {"rate": scene["rate"], "intercept": scene["intercept"],
              "margin": root(square)[0] if square else None}  # fmt: skip
    if not square:
        return {"bounds": [], "unbounded": NO_BOUND, "widest": widest}
    value = max(dot(z, z) for z in Z) / square
    if value >= MOST:
        return {"bounds": [], "unbounded": NO_BOUND, "widest": widest}
    bound = {"name": "Novikoff", "value": nextafter(float(value), inf), "what": "mistakes",
             "about": NOVIKOFF}  # fmt: skip
    return {"bounds": [bound], "unbounded": "", "widest": widest}


def why_unbounded(scene: Scene, chosen: dict[str, Any], obstacle: str | None) -> str:
    """Return the reason why a scene has no bound, "" if it has one."""
    if chosen.get("update", "single") == "batch":
        return (
            "No bound: the theorems are about rules that update on one point at a time; the batch "
            "rule updates on all points at once."
        )
    if chosen.get("gamma") == "auto":
        return "No bound: 8/gamma² needs a fixed target margin."
    if any(scene["start"]) and SHOWN[scene["learner"]].how.start:
        begun = ", ".join(map(short_number, scene["start"])).replace("-", "−")
        return (
            "The theorems bound the mistakes of a run that starts from zero weights. This run "
            f"starts from [b, w1, w2] = [{begun}]: set the initial weights to 0 to see the bounds."
        )
    if chosen.get("schedule", "constant") != "constant":
        return "No bound: the theorems are about a constant learning rate."
    return f"No bound: {obstacle}." if obstacle else ""
