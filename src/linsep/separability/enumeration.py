"""The fewest errors of any hyperplane, exactly, where rows span at most four dimensions.

Weights w err on a sign-flipped row a if ``<a, w> <= 0`` (strict), or if ``<a, w> < 0`` and w is not
zero (weak). Rows are normals of planes through 0, which cut the space into cells of equal errors.
In r dimensions every cell reaches a circle in which r - 2 of the planes meet. Strictly, the fewest
errors near a circle are the errors of the rows that it cuts, on one of its arcs, plus the fewest
errors of the other rows in their span, which a small rotation of w decides. Weakly, the fewest are
where a plane cuts a circle. A sweep of sorted angles takes O(n log n) steps for a circle and n
rows, and O(n^(r-1) log n) for all circles.

Floats give a lower bound on the errors of every circle: exact where angles surely differ, or where
numbers are so small that no product is rounded. Whole numbers then go through the circles, lowest
bound first, until no bound is below the best hyperplane found.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm
from operator import mul
from typing import NamedTuple

import numpy as np

from linsep.certificate.integers import Row, floats_of
from linsep.compiled.circles import HALF, MANY, enumerate_circles, projected, projected_noise
from linsep.separability.time_limit import seconds_left

#: the most dimensions that rows may span
MOST_RANK = 4
#: integers below which sweeps are exact, by rank: products of two normals have less than 63 bits,
#: two rows have less than 53
EXACT_BELOW = {3: 30_000, 4: 600}
#: bits of the integers by which rows are brought to a better basis
BASIS_BITS = 53
#: circles between two looks at the clock
AT_ONCE = 64

Vector = tuple[int, ...]


class Enumerated(NamedTuple):
    """The fewest errors.

    Attributes
    ----------
    errors : Fraction
        Errors of ``weights``, exactly.
    at_least : Fraction
        No weights err less; less than ``errors`` only if the time was up.
    weights : tuple of ints
    """

    errors: Fraction
    at_least: Fraction
    weights: Vector


class Lines:
    """Different lines, each with the errors of rows on either side.

    Attributes
    ----------
    normals : list of tuples of ints
        In lowest terms; none is a multiple of another, and they span their space.
    plus, minus : lists of ints
        Errors where ``<normal, w>`` is not positive, and where it is not negative: of rows along
        the normal and against it.
    """

    def __init__(self, normals: list[Vector], plus: list[int], minus: list[int]) -> None:
        self.normals, self.plus, self.minus = normals, plus, minus

    def __len__(self) -> int:
        return len(self.normals)

    @cached_property
    def rank(self) -> int:
        """Dimensions of the space."""
        return len(self.normals[0]) if self.normals else 0

    def best(self, strict: bool) -> tuple[int, Vector]:
        """Return the fewest errors of lines of rank 0 to 2, and weights."""
        if self.rank == 0:
            return 0, ()
        if self.rank == 1:
            (plus,), (minus,), side = self.plus, self.minus, self.normals[0][0]
            return min((minus, (side,)), (plus, (-side,)))
        return self.on_circle((), strict, (sum(self.plus) + sum(self.minus) + 1, ()))

    def on_circle(
        self, chosen: Sequence[int], strict: bool, best: tuple[int, Vector]
    ) -> tuple[int, Vector]:
        """Return the fewest errors on the circle across some lines, rank - 2 independent ones, or
        (strict) near it, and weights, if they are fewer than the best so far; else these.
        """
        u, v = self.across(chosen)
        left, right = ([_dot(a, side) for a in self.normals] for side in (u, v))
        across = list(zip(left, right, strict=True))
        errors, (x, y) = self._sweep(across, strict)
        if errors >= best[0]:
            return best
        w = tuple(x * p + y * q for p, q in zip(u, v, strict=True))
        on = [k for k, q in enumerate(across) if q == (0, 0)]
        if not strict or not on:
            return errors, w
        among, turn = self.some(on)
        more, there = among.best(strict)
        if errors + more >= best[0]:
            return best
        near = dict(zip(turn, there, strict=True))
        aside = tuple(near.get(c, 0) for c in range(self.rank))
        values = [x * p + y * q for p, q in across]
        return errors + more, _turned(self.normals, values, w, aside)

    def one_sided(self) -> tuple["Lines", list[int]]:
        """Return the lines whose sides differ, less the errors that they have on both, and the
        columns that they are in.
        """
        different = [
            k for k, (p, m) in enumerate(zip(self.plus, self.minus, strict=True)) if p != m
        ]
        lines, columns = self.some(different)
        both = [min(self.plus[k], self.minus[k]) for k in different]
        lines.plus = [p - least for p, least in zip(lines.plus, both, strict=True)]
        lines.minus = [m - least for m, least in zip(lines.minus, both, strict=True)]
        return lines, columns

    def across(self, chosen: Sequence[int]) -> list[Vector]:
        """Return independent vectors orthogonal to the chosen lines."""
        basis = [tuple(int(i == c) for i in range(self.rank)) for c in range(self.rank)]
        for k in chosen:
            values = [_dot(self.normals[k], b) for b in basis]
            at = next(i for i, value in enumerate(values) if value)
            basis = [
                _lowest(
                    tuple(p * values[at] - q * values[i] for p, q in zip(b, basis[at], strict=True))
                )
                for i, b in enumerate(basis)
                if i != at
            ]
        return basis

    def _sweep(self, across: list[tuple[int, int]], strict: bool) -> tuple[int, tuple[int, int]]:
        """Return the fewest errors of lines that are not 0 across a circle, and where."""
        bits = 2 * max(max(abs(x), abs(y)) for x, y in across).bit_length() + 2
        tied: dict[int, list[tuple[int, int, int, int]]] = {}
        errors = total = 0
        for (x, y), plus, minus in zip(across, self.plus, self.minus, strict=True):
            if x == y == 0:
                continue
            if x < 0 or (x == 0 and y < 0):
                x, y, plus, minus = -x, -y, minus, plus  # noqa: PLW2901
            # Different slopes differ by more than the error of these.
            slope = (y << bits) // x if x else 1 << 2 * bits
            tied.setdefault(slope, []).append((x, y, plus, minus))
            errors, total = errors + minus, total + plus + minus
        order = [tied[slope] for slope in sorted(tied)]
        best = total + 1, (0, 0)
        for at, group in enumerate(order):
            x, y = group[0][:2]
            ahead = errors - sum(minus for *_, minus in group)
            errors = ahead + sum(plus for _, _, plus, _ in group)
            if strict:
                # Half way to the next normal: to the first one's opposite after the last.
                side = 1 if at + 1 < len(order) else -1
                p, q = order[(at + 1) % len(order)][0][:2]
                x, y, here, there = x + side * p, y + side * q, errors, total - errors
            else:
                here, there = ahead, total - errors - sum(minus for *_, minus in group)
            # Across the normal (x, y).
            best = min(best, (here, (-y, x)), (there, (y, -x)))
        return best

    def some(self, chosen: list[int]) -> tuple["Lines", list[int]]:
        """Return some lines in columns that span their space, and these columns."""
        _, columns = independent([self.normals[k] for k in chosen])
        normals = [tuple(self.normals[k][c] for c in columns) for k in chosen]
        plus, minus = [self.plus[k] for k in chosen], [self.minus[k] for k in chosen]
        return Lines(normals, plus, minus), columns


def fewest_errors(
    rows: Sequence[Row], amounts: Sequence[Fraction | int], width: int, strict: bool = True
) -> Enumerated | None:
    """Return the fewest errors of any weights, or None if rows span too many dimensions.

    Within the time limit (:mod:`linsep.separability.time_limit`) it is the minimum; later the best
    found, and a lower bound.

    Parameters
    ----------
    rows : sequence of Row
        Sign-flipped rows, each times any positive number.
    amounts : sequence of numbers
        What an error on each row costs, at least 0.
    width : int
        The number of weights, also of columns in which no row has a number.
    strict : bool, default True
        Whether rows with ``<a, w> == 0`` are errors; if not, w is not zero.
    """
    below = lcm(*(Fraction(c).denominator for c in amounts))
    lines, zeros = _lines(rows, [int(c * below) for c in amounts], width)
    chosen, _ = independent(lines.normals, MOST_RANK + 1)
    if len(chosen) > MOST_RANK:
        return None
    if not strict and len(chosen) < width:
        lines.normals = lines.normals or [(0,) * width]
        return Enumerated(Fraction(0), Fraction(0), lines.across(chosen)[0])
    every, surely = lines.normals, 0
    if strict:
        surely = zeros + sum(map(min, lines.plus, lines.minus))
        lines, columns = lines.one_sided()
    errors, at_least, w = _search(lines, strict)
    if strict:
        placed = dict(zip(columns, w, strict=True))
        w = _off(every, tuple(placed.get(c, 0) for c in range(width)))
    return Enumerated(
        Fraction(errors + surely, below), (math.ceil(at_least) + surely) / Fraction(below), w
    )


def _lines(rows: Sequence[Row], costs: list[int], width: int) -> tuple[Lines, int]:
    found: dict[Vector, list[int]] = {}
    zeros = 0
    for row, cost in zip(rows, costs, strict=True):
        normal = _lowest(tuple(row.get(c, 0) for c in range(width)))
        against = next((x for x in normal if x), 0) < 0
        if not any(normal):
            zeros += cost
        elif cost:
            line = found.setdefault(tuple(-x for x in normal) if against else normal, [0, 0])
            line[against] += cost
    return Lines(list(found), [p for p, _ in found.values()], [m for _, m in found.values()]), zeros


def _off(normals: list[Vector], w: Vector) -> Vector:
    """Return weights near w, or w, that no line is orthogonal to."""
    values = [_dot(a, w) for a in normals]
    on = [a for a, value in zip(normals, values, strict=True) if not value]
    if not on:
        return w
    curve = (tuple(t**c for c in range(len(w))) for t in range(1, len(w) * len(on) + 2))
    aside = next(v for v in curve if all(_dot(a, v) for a in on))
    return _turned(normals, values, w, aside)


def _turned(normals: list[Vector], values: Sequence[int], w: Vector, aside: Vector) -> Vector:
    """Return w, as many times as needed, and ``aside``: of no line that has a value other than 0
    this changes the sign.
    """
    most = (abs(_dot(a, aside)) // abs(x) for a, x in zip(normals, values, strict=True) if x)
    times = 1 + max(most, default=0)
    return tuple(times * p + q for p, q in zip(w, aside, strict=True))


def _search(lines: Lines, strict: bool) -> tuple[int, Fraction | int, Vector]:
    """Return the fewest errors, a lower bound, and weights."""
    if lines.rank < 3:
        errors, w = lines.best(strict)
        return errors, errors, w
    bounds, unit = _bounds(lines, strict)
    complete = bounds.min() >= 0
    bounds = np.where(bounds < 0, MANY, bounds)
    best: tuple[int, Vector] = sum(lines.plus) + sum(lines.minus) + 1, ()
    for t in np.argsort(bounds, axis=None, kind="stable").tolist():
        low = int(bounds.flat[t]) * unit
        if low >= best[0]:
            break
        if best[1] and seconds_left() < 0:
            return best[0], low if complete else 0, best[1]
        circle = [int(k) for k in np.unravel_index(t, bounds.shape)]
        best = lines.on_circle(circle, strict, best)
    return best[0], best[0] if complete else 0, best[1]


def _bounds(lines: Lines, strict: bool) -> tuple[np.ndarray, Fraction]:
    """Return a lower bound on the errors of every circle, and its unit.

    Circles are numbered by lines whose planes meet there: one of rank 3, two of rank 4. The bound
    is -1 if the time was up before, and it is ``MANY`` if the circle has been counted before.
    """
    unit = Fraction(max(1, (sum(lines.plus) + sum(lines.minus)) >> 60))
    plus, minus = (np.array([int(c / unit) for c in side]) for side in (lines.plus, lines.minus))
    points, noise = _floats(lines.normals)
    n, rank = points.shape
    bounds = np.full((n,) * (rank - 2), -1)
    if rank == 3:
        for begin in range(0, n, AT_ONCE):
            if begin and seconds_left() < 0:
                break
            end = min(n, begin + AT_ONCE)
            enumerate_circles(
                points, noise, 1.0, -1, points, begin, end, plus, minus, strict, bounds
            )
        return bounds, unit
    across, size = np.empty((n, 3)), np.abs(points).max(axis=1)
    for one in range(n):
        if one and seconds_left() < 0:
            break
        divisor, off = projected(points, one, across), noise
        if noise.any():
            divisor, off = 1.0, projected_noise(size[one], noise[one], size, noise)
        bounds[one, : one + 1] = MANY
        enumerate_circles(
            across, off, divisor, one, points, one + 1, n, plus, minus, strict, bounds[one]
        )
    return bounds, unit


def _floats(normals: list[Vector]) -> tuple[np.ndarray, np.ndarray]:
    """Return normals in some basis as floats, and bounds on the errors of their numbers: zeros if
    the numbers are integers so small that sweeps of them are exact.
    """
    n, rank = len(normals), len(normals[0])
    if all(a[-1] for a in normals):
        # From the middle of every column, as a multiple of the last: numbers get smaller.
        middle = [sorted(a[c] // a[-1] for a in normals)[n // 2] for c in range(rank - 1)]
        small = [
            (*(x - m * a[-1] for x, m in zip(a[:-1], middle, strict=True)), a[-1]) for a in normals
        ]
    else:
        small = normals
    if max(abs(x) for a in small for x in a) < EXACT_BELOW[rank]:
        return np.array(small, dtype=float), np.zeros(n)
    basis = _basis(np.array([floats_of(a) for a in normals]))
    turned = [tuple(_dot(a, column) for column in basis) for a in normals]
    points = np.array([floats_of(a) for a in turned])
    return points, 1.1 * HALF * np.abs(points).max(axis=1)


def _basis(rows: np.ndarray) -> list[Vector]:
    """Return vectors of integers, so that products of rows with them differ as much as they can."""
    rank = rows.shape[1]
    rows = rows / np.sqrt((rows**2).sum(axis=1, keepdims=True))
    scale = np.frexp(np.abs(rows).max(axis=0))[1]
    triangle = np.linalg.qr(np.ldexp(rows, -scale), mode="r")
    with np.errstate(all="ignore"):
        solved = np.linalg.inv(triangle) if np.diag(triangle).all() else np.eye(rank)
        columns = solved.T / np.abs(solved).max(axis=0)[:, None]
    columns = np.where(np.isfinite(columns), columns, 0.0)
    shift = (scale.max() - scale).tolist()
    basis = [
        tuple(int(x) << s for x, s in zip(column, shift, strict=True))
        for column in np.ldexp(columns, BASIS_BITS).tolist()
    ]
    if len(independent(basis)[0]) < rank:
        return [tuple(int(i == c) for i in range(rank)) for c in range(rank)]
    return basis


def independent(vectors: Sequence[Vector], most: int | None = None) -> tuple[list[int], list[int]]:
    """Return as many independent vectors as there are, and columns in which they are independent.

    With ``most`` it ends when it has so many.
    """
    chosen: list[int] = []
    reduced: dict[int, Vector] = {}
    for k, vector in enumerate(vectors):
        if len(chosen) in (len(vector), most):
            break
        left = vector
        for column, row in reduced.items():
            if left[column]:
                left = tuple(
                    x * row[column] - y * left[column] for x, y in zip(left, row, strict=True)
                )
        if any(left):
            chosen.append(k)
            reduced[next(c for c, x in enumerate(left) if x)] = _lowest(left)
    return chosen, sorted(reduced)


def _lowest(vector: Vector) -> Vector:
    common = gcd(*vector) or 1
    return tuple(x // common for x in vector)


def _dot(a: Vector, b: Vector) -> int:
    return sum(map(mul, a, b))
