"""The fewest errors of any weights, in whole numbers, by enumeration: for proofs in few dimensions.

Rows are normals of planes through 0 in a space that they span. A cell between planes has a side on
one of them, a, where it is a cell between those lines in which the other planes meet a's: the same
problem with one dimension less. So the fewest errors are the minimum over all planes of the fewest
errors in the plane plus (strictly) the errors of the rows along a that a step off the plane cannot
remove. Weakly, with ``<a, w> == 0`` not an error and w not zero, moving to a corner of the cell
never adds errors. Two dimensions are a circle, which a sweep of sorted slopes goes round.
"""

from collections.abc import Container, Sequence
from fractions import Fraction
from itertools import accumulate, groupby
from math import gcd, inf, lcm
from sys import float_info
from typing import Any

import numpy as np

Vector = tuple[int, ...]
#: errors on the negative side and on the positive side of planes, by their normals in lowest terms,
#: the first number of which that is not zero is positive
Planes = dict[Vector, tuple[int, int]]
#: products of two smaller numbers, and sums of two such products, fit in 64 bits
SMALL = 2**31


def enumerated_minimum(
    rows: Sequence[Sequence[int]],
    weights: Sequence[Fraction | int],
    strict: bool = True,
    each: Any = iter,
) -> Fraction:
    """Return the least total weight of errors of any w on sign-flipped rows.

    Strictly an error is ``<row, w> <= 0``; weakly it is ``<row, w> < 0``, and w is not zero. The
    work grows as n^(rank - 1) log n for n different rows.

    Parameters
    ----------
    rows : sequence of vectors of integers of one length
        Each may be multiplied by any positive number.
    weights : sequence of numbers, at least 0
    each : function, default=iter
        Wraps the loops over planes.
    """
    below = lcm(*(Fraction(c).denominator for c in weights))
    planes: Planes = {}
    zeros = 0
    for row, weight in zip(rows, weights, strict=True):
        if not any(row):
            zeros += int(weight * below)
        elif weight:
            _add(planes, tuple(row), (int(weight * below), 0))
    planes, rank = _in_their_span(planes)
    if not strict:
        return Fraction(_fewest(planes, rank, False, each) if rank == len(rows[0]) else 0, below)
    # Where both sides err, the lighter one is lost anywhere; only the difference is to be decided.
    surely = zeros + sum(map(min, planes.values()))
    rest = {a: (n - min(n, p), p - min(n, p)) for a, (n, p) in planes.items() if n != p}
    return Fraction(surely + _fewest(*_in_their_span(rest), True, each), below)


def _add(planes: Planes, normal: Vector, errors: tuple[int, int]) -> Vector:
    common = gcd(*normal)
    if next(x for x in normal if x) < 0:
        common, errors = -common, errors[::-1]
    normal = tuple(x // common for x in normal)
    there = planes.get(normal, (0, 0))
    planes[normal] = there[0] + errors[0], there[1] + errors[1]
    return normal


def _in_their_span(planes: Planes) -> tuple[Planes, int]:
    """Return the planes by their numbers in columns that span their space, and its dimensions."""
    reduced: dict[int, Vector] = {}
    for left in planes:
        for column, row in reduced.items():
            if left[column]:
                left = tuple(  # noqa: PLW2901
                    x * row[column] - y * left[column] for x, y in zip(left, row, strict=True)
                )
        if any(left):
            common = gcd(*left)
            column = next(c for c, x in enumerate(left) if x)
            reduced[column] = tuple(x // common for x in left)
            if len(reduced) == len(left):
                break
    found: Planes = {}
    for normal, errors in planes.items():
        _add(found, tuple(normal[c] for c in sorted(reduced)), errors)
    return found, len(reduced)


def _fewest(
    planes: Planes, rank: int, strict: bool, each: Any, done: Container[Vector] = ()
) -> int:
    """Return the fewest errors of planes that span a space, near those that are not done."""
    if rank == 0:
        return 0
    if rank == 1:
        return min(map(min, planes.values()))
    if rank == 2:
        return _round([x for x, _ in planes], [y for _, y in planes], [*planes.values()], strict)
    best = sum(map(sum, planes.values()))
    before: set[Vector] = set()
    small = max(best, *(abs(x) for plane in planes for x in plane)) < SMALL and rank == 3
    table = np.array([*planes], dtype=np.int64) if small else None
    sides = np.array([*planes.values()], dtype=np.int64) if small else None
    for plane, errors in each(planes.items()):
        if plane in done:
            continue
        lost = min(errors) if strict else 0
        if rank == 3:
            quick = None if table is None else _round_quickly(table, sides, plane, strict)
            found = _round(*_across(planes, plane), strict) if quick is None else quick
        else:
            there, seen = _within(planes, plane, before)
            found = _fewest(there, rank - 1, strict, each, seen)
        best = min(best, lost + found)
        before.add(plane)
    return best


def _within(planes: Planes, plane: Vector, before: set[Vector]) -> tuple[Planes, set[Vector]]:
    """Return where other planes meet one, and which of these places lie on one other plane only and
    this is one of those before: they have been looked at in it.
    """
    found: Planes = {}
    seen: set[Vector] = set()
    pivot = max(range(len(plane)), key=lambda c: abs(plane[c]))
    others = [c for c in range(len(plane)) if c != pivot]
    for other, errors in planes.items():
        if other == plane:
            continue
        normal = tuple(plane[pivot] * other[c] - plane[c] * other[pivot] for c in others)
        count = len(found)
        normal = _add(found, normal, errors)
        if len(found) > count and other in before:
            seen.add(normal)
        else:
            seen.discard(normal)
    return found, seen


def _across(planes: Planes, plane: Vector) -> tuple[list[int], list[int], list[tuple[int, int]]]:
    """Return where other planes of three dimensions meet one, as x and y of the normals of lines,
    and their errors.
    """
    pivot = max(range(3), key=lambda c: abs(plane[c]))
    a, b = (pivot + 1) % 3, (pivot + 2) % 3
    one, left, right = plane[pivot], plane[a], plane[b]
    others = [other for other in planes if other != plane]
    x = [one * other[a] - left * other[pivot] for other in others]
    y = [one * other[b] - right * other[pivot] for other in others]
    return x, y, [errors for other, errors in planes.items() if other != plane]


def _round_quickly(table: np.ndarray, sides: Any, plane: Vector, strict: bool) -> int | None:
    """Return what :func:`_round` returns across a plane of three dimensions, by 64-bit integers;
    None if numbers get too large, or if rounding made different slopes equal.
    """
    pivot = max(range(3), key=lambda c: abs(plane[c]))
    a, b = (pivot + 1) % 3, (pivot + 2) % 3
    x = plane[pivot] * table[:, a] - plane[a] * table[:, pivot]
    y = plane[pivot] * table[:, b] - plane[b] * table[:, pivot]
    if max(np.abs(x).max(), np.abs(y).max()) >= SMALL:
        return None
    others = (x != 0) | (y != 0)
    x, y, sides = x[others], y[others], sides[others]
    right = (x > 0) | ((x == 0) & (y > 0))
    with np.errstate(divide="ignore"):
        slopes = np.where(x != 0, y / x, inf)
    order = np.argsort(slopes)
    x, y, slopes = x[order], y[order], slopes[order]
    new = slopes[1:] != slopes[:-1]
    if (x[1:] * y[:-1] != y[1:] * x[:-1])[~new].any():
        return None
    crossed = np.where(right[:, None], sides, sides[:, ::-1])[order]
    n, p = np.add.reduceat(crossed, np.flatnonzero(np.append(True, new))).T
    here, total = int(p.sum()), int(crossed.sum())
    between = np.append(here, here + np.cumsum(n - p))
    if strict:
        return int(min(between.min(), total - between.max()))
    return int(min((between[:-1] - p).min(), (total - between[:-1] - n).min()))


def _round(x: list[int], y: list[int], errors: list[tuple[int, int]], strict: bool) -> int:
    """Return the fewest errors round a circle: between lines (strict), or on one of them.

    From one slope to the next, w crosses the lines of that slope. Division rounds correctly, so the
    slopes that it makes equal are neighbors; exact slopes separate these.
    """
    # Of normals to the right: at first, w is on their positive side.
    right = [
        e if a > 0 or (a == 0 and b > 0) else (e[1], e[0])
        for a, b, e in zip(x, y, errors, strict=True)
    ]
    slopes = [_slope(a, b) for a, b in zip(x, y, strict=True)]
    order = sorted(range(len(x)), key=slopes.__getitem__)
    crossed = [right[k] for k in order]
    if len(set(slopes)) < len(slopes):
        groups = [[*group] for _, group in groupby(order, key=slopes.__getitem__)]
        crossed = [e for group in groups for e in _merged(x, y, right, group)]
    here = sum(p for _, p in right)
    total = here + sum(n for n, _ in right)
    between = list(accumulate((n - p for n, p in crossed), initial=here))
    if strict:
        return min(*between, total - max(between))
    on = zip(between, crossed, strict=False)
    return min(min(e - p, total - e - n) for e, (n, p) in on)


def _merged(
    x: list[int], y: list[int], right: list[tuple[int, int]], group: list[int]
) -> list[tuple[int, int]]:
    """Return the errors of lines whose rounded slopes are equal by their exact slopes, in order."""
    # Different slopes differ by more than one part in the square of the largest x.
    bits = 2 * max(abs(x[k]) for k in group).bit_length()
    exact: dict[int, tuple[int, int]] = {}
    for k in group:
        slope = (y[k] << bits) // x[k] if x[k] else 0
        n, p = exact.get(slope, (0, 0))
        exact[slope] = n + right[k][0], p + right[k][1]
    return [exact[slope] for slope in sorted(exact)]


def _slope(x: int, y: int) -> float:
    """Return y / x, rounded: as near as it gets to infinity if it is larger, infinity if x is 0."""
    if not x:
        return inf
    try:
        return y / x
    except OverflowError:
        return float_info.max if (x > 0) == (y > 0) else -float_info.max
