"""Whether a hyperplane separates rows, in fractions: P. Wolfe's nearest point of a hull.

Rows are used as stored: a float is the fraction that it represents. The nearest point to 0 of the
hull of the sign-flipped rows, or of the differences of two classes, is not 0 if and only if weights
separate the rows, and then it is the separator of widest margin; if it is 0, its multipliers prove
that there is no separator.

Reference: P. Wolfe, Finding the nearest point in a polytope, Mathematical Programming 11 (1976).
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from math import inf, isqrt, lcm, nextafter
from operator import mul
from time import monotonic
from typing import Any, NamedTuple

Vector = list[Any]
Multipliers = dict[Any, Fraction]
#: a vertex of a hull where a linear function is least: its key and its place
Lowest = Callable[[Vector], tuple[Hashable, Vector]]


class Verdict(NamedTuple):
    """Whether weights separate rows, with a proof.

    Attributes
    ----------
    kind : "separable", "quasi-separable" or "overlapping"
        Whether some weights have all sign-flipped rows on the positive side; or no row on the
        negative side, with not all at 0; or neither.
    weights : list of fractions
        The separator of widest margin, or weights that are positive outside the ``boundary`` and 0
        on it; empty if the rows overlap.
    multipliers : dict from the number of a row to a positive fraction
        If the rows are separable, the multipliers of the nearest point: no margin is wider.
        Otherwise the sign-flipped rows times these numbers add up to 0, and no subset of them does.
    square : Fraction
        The square of the widest margin; 0 without a separator.
    boundary : list of int
        The rows that weights without a row on the wrong side have at 0.
    spanning : dict from the number of a row to a positive fraction
        Multipliers of rows that add up to 0 and span the space of the boundary.
    """

    kind: str
    weights: Vector
    multipliers: Multipliers
    square: Fraction = Fraction(0)
    boundary: list[int] = []  # noqa: RUF012  # never changed
    spanning: Multipliers = {}  # noqa: RUF012


def separation(
    X: Sequence[Sequence[Any]], signs: Sequence[int], *, fit_intercept: bool = True,
    until: float = inf,
) -> Verdict:  # fmt: skip
    """Return whether weights separate two classes, with the widest margin.

    Parameters
    ----------
    X : rows of numbers
    signs : the side of each row, -1 or +1, both of them
    fit_intercept : whether there is an intercept, the last of the weights
    until : deadline, as a value of :func:`time.monotonic`

    Raises
    ------
    TimeoutError
    """
    rows, unit = whole(X)
    if not fit_intercept:
        found = decided([[y * v for v in x] for x, y in zip(rows, signs, strict=True)], until)
        return found._replace(square=found.square / unit**2)
    up, down = ([i for i, y in enumerate(signs) if y == side] for side in (1, -1))

    def lowest(v: Vector) -> tuple[Hashable, Vector]:
        i = min(up, key=lambda i: dot(rows[i], v))
        j = max(down, key=lambda j: dot(rows[j], v))
        return (i, j), [p - q for p, q in zip(rows[i], rows[j], strict=True)]

    point, pairs = nearest(lowest, [0] * len(rows[0]), until)
    each: Multipliers = {}
    for pair, m in pairs.items():
        for row in pair:
            each[row] = each.get(row, Fraction(0)) + m
    if any(point):
        least = min(dot(rows[i], point) for i in up)
        most = max(dot(rows[j], point) for j in down)
        return Verdict(
            "separable", [*point, -(least + most) / (2 * unit)], dict(sorted(each.items())),
            dot(point, point) / (2 * unit) ** 2,
        )  # fmt: skip
    reflected = [[y * v for v in (*x, unit)] for x, y in zip(rows, signs, strict=True)]
    return peeled(reflected, minimal(reflected, each), until)


def decided(A: list[Vector], until: float = inf) -> Verdict:
    """Return the verdict on sign-flipped rows: all positive, or none negative, or neither.

    The margin refers to all weights, including the intercept.
    """

    def lowest(v: Vector) -> tuple[Hashable, Vector]:
        i = min(range(len(A)), key=lambda i: dot(A[i], v))
        return i, A[i]

    point, multipliers = nearest(lowest, A[0], until)
    ordered = dict(sorted(multipliers.items()))
    if any(point):
        return Verdict("separable", point, ordered, dot(point, point))
    return peeled(A, ordered, until)


def among(x: Sequence[Any], X: Sequence[Sequence[Any]], until: float = inf) -> Multipliers | None:
    """Return multipliers, which add up to 1, with which the rows have the mean x; None if x lies
    outside their hull.
    """
    (here, *rows), _ = whole([x, *X])
    moved = [[p - q for p, q in zip(row, here, strict=True)] for row in rows]

    def lowest(v: Vector) -> tuple[Hashable, Vector]:
        i = min(range(len(moved)), key=lambda i: dot(moved[i], v))
        return i, moved[i]

    point, multipliers = nearest(lowest, moved[0], until)
    return None if any(point) else dict(sorted(multipliers.items()))


def joint_rows(X: Sequence[Sequence[Any]], codes: Sequence[int], fit_intercept: bool) -> list:
    """Return the sign-flipped rows of the joint rule of several classes, one for each rival.

    They refer to the weights of all classes except the last, whose weights may be 0.
    """
    found, k = [], max(codes) + 1
    rows, unit = whole(X)
    for x, own in zip(rows, codes, strict=True):
        z = [*x, *[unit] * fit_intercept]
        for rival in range(k):
            if rival != own:
                parts = [[((c == own) - (c == rival)) * v for v in z] for c in range(k - 1)]
                found.append([v for part in parts for v in part])
    return found


def whole(X: Sequence[Sequence[Any]]) -> tuple[list[list[int]], int]:
    """Return rows scaled to integers, and the factor."""
    exact = [[Fraction(v) for v in x] for x in X]
    unit = lcm(*(v.denominator for x in exact for v in x))
    return [[v.numerator * (unit // v.denominator) for v in x] for x in exact], unit


def nearest(lowest: Lowest, toward: Vector, until: float = inf) -> tuple[Vector, Multipliers]:
    """Return the point of a hull that is nearest to 0, and the multipliers of its vertices.

    Integer vertices are found by ``lowest``, the first in the direction ``toward``.
    """
    key, point = lowest(toward)
    vertices, weights = {key: point}, {key: Fraction(1)}
    unit = 1
    while True:
        key, found = lowest(point)
        if dot(found, point) * unit >= dot(point, point):
            return [Fraction(v, unit) for v in point], weights
        vertices[key], weights[key] = found, Fraction(0)
        while True:
            if monotonic() > until:
                raise TimeoutError
            goal = _affine_nearest(vertices)
            if min(goal.values()) > 0:
                weights = goal
                break
            # as far as the hull reaches, where a vertex is not needed any more
            share = min(w / (w - goal[k]) for k, w in weights.items() if goal[k] <= 0)
            weights = {k: w + share * (goal[k] - w) for k, w in weights.items()}
            weights = {k: w for k, w in weights.items() if w}
            vertices = {k: vertices[k] for k in weights}
        (point,), unit = whole([combined(vertices.values(), weights.values())])


def combined(rows: Iterable[Vector], numbers: Iterable[Any]) -> Vector:
    """Return the sum of rows times numbers."""
    times = [*numbers]
    return [dot(column, times) for column in zip(*rows, strict=True)]


def _affine_nearest(vertices: dict[Any, Vector]) -> Multipliers:
    """Return the multipliers, which add up to 1 and may be negative, of the nearest point to 0 of
    the plane through independent vertices.
    """
    places = list(vertices.values())
    # <p, v_k> = <p, v_0> for all k: the products of all with the differences vanish.
    first = places[0]
    edges = [[a - b for a, b in zip(place, first, strict=True)] for place in places[1:]]
    found = solved(
        [[dot(one, other) for other in edges] for one in edges], [-dot(one, first) for one in edges]
    )
    assert found is not None
    return dict(zip(vertices, [1 - sum(found), *found], strict=True))


def minimal(A: list[Vector], multipliers: Multipliers) -> Multipliers:
    """Reduce multipliers of rows that add up to 0 to as few rows as possible."""
    found = dict(sorted(multipliers.items()))
    while True:
        keys = list(found)
        for k in range(1, len(keys)):
            times = solved(transposed([A[key] for key in keys[:k]]), A[keys[k]])
            if times is not None:
                break
        if k == len(keys) - 1:
            return found
        other = dict(zip(keys, [*times, Fraction(-1)], strict=False))  # type: ignore[misc]
        if not any(x > 0 for x in other.values()):
            other = {key: -x for key, x in other.items()}
        share = min(found[key] / x for key, x in other.items() if x > 0)
        found = {key: m - share * other.get(key, 0) for key, m in found.items()}
        found = {key: m for key, m in found.items() if m}


def peeled(A: list[Vector], witness: Multipliers, until: float) -> Verdict:
    """Return the verdict on sign-flipped rows that add up to 0 with the multipliers of a
    certificate.

    The rows that add up to 0 are 0 for any weights without a negative row, and so are all rows of
    their space. The other rows are decided in the orthogonal directions.
    """
    spanning = dict(witness)
    while True:
        space = independent([A[i] for i in spanning])
        beside = {i: rest for i, a in enumerate(A) if any(rest := _beside(a, space))}
        left = dict(zip(beside, whole([*beside.values()])[0], strict=True))
        boundary = [i for i in range(len(A)) if i not in left]
        if not left:
            return Verdict("overlapping", [], witness, boundary=boundary, spanning=spanning)

        def lowest(v: Vector, left: dict[int, Vector] = left) -> tuple[Hashable, Vector]:
            i = min(left, key=lambda i: dot(left[i], v))
            return i, left[i]

        point, more = nearest(lowest, next(iter(left.values())), until)
        if any(point):
            return Verdict("quasi-separable", point, witness, Fraction(0), boundary, spanning)
        known = [A[i] for i in spanning]
        total = combined((A[i] for i in more), more.values())
        times = solved(transposed(known), total)
        assert times is not None
        longer = max((t / m for t, m in zip(times, spanning.values(), strict=True)), default=0) + 1
        longer = max(longer, Fraction(1))
        spanning = {i: longer * m - t for (i, m), t in zip(spanning.items(), times, strict=True)}
        spanning = dict(sorted((spanning | more).items()))


def independent(rows: list[Vector]) -> list[Vector]:
    """Return orthogonal rows that span the same space."""
    found: list[Vector] = []
    for row in rows:
        rest = _beside(row, found)
        found += [rest] if any(rest) else []
    return found


def _beside(a: Vector, space: list[Vector]) -> Vector:
    """Return the part of a row orthogonal to a space, which is given by orthogonal rows."""
    for row in space:
        times = Fraction(dot(a, row)) / dot(row, row)
        if times:
            a = [v - times * u for v, u in zip(a, row, strict=True)]
    return a


def solved(M: list[Vector], right: Vector) -> Vector | None:
    """Return numbers x with M x = right, 0 where they are free; None without a solution.

    Whole numbers stay whole numbers (E. Bareiss, Mathematics of Computation 22, 1968).
    """
    lines, _ = whole([[*line, value] for line, value in zip(M, right, strict=True)])
    pivots: list[int] = []
    before = 1
    for column in range(len(M[0]) if M else 0):
        start = len(pivots)
        place = next((i for i in range(start, len(lines)) if lines[i][column]), None)
        if place is None:
            continue
        lines[start], lines[place] = lines[place], lines[start]
        head, pivot = lines[start], lines[start][column]
        for i, line in enumerate(lines):
            if i != start:
                times = line[column]
                lines[i] = [(v * pivot - times * h) // before
                            for v, h in zip(line, head, strict=True)]  # fmt: skip
        before = pivot
        pivots.append(column)
    if any(line[-1] for line in lines[len(pivots) :]):
        return None
    found = [Fraction(0)] * (len(M[0]) if M else 0)
    for line, column in zip(lines, pivots, strict=False):
        found[column] = Fraction(line[-1], line[column])
    return found


def transposed(rows: list[Vector]) -> list[Vector]:
    """Return columns as rows."""
    return [list(column) for column in zip(*rows, strict=True)]


def dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """Return <a, b>."""
    return sum(map(mul, a, b))


def root(square: Fraction) -> tuple[float, float]:
    """Return the nearest floats that are at most and at least the root of a fraction."""
    bits = 128 + max(0, square.denominator.bit_length() - square.numerator.bit_length())
    least = Fraction(isqrt((square.numerator << 2 * bits) // square.denominator), 1 << bits)
    low = float(least)
    if Fraction(low) ** 2 > square:
        low = nextafter(low, 0.0)
    return low, low if Fraction(low) ** 2 == square else nextafter(low, inf)
