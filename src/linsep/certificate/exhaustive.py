"""The fewest errors of any weights, in whole numbers, by enumeration: for proofs in few dimensions.

Rows are normals of planes through 0. A cell between planes has a side on one of them, a, where it
is a cell between those lines in which the other planes meet a's: the same problem with one
dimension less. So the fewest errors are the minimum over all planes of the fewest errors in the
plane plus (strictly) the errors of the rows along a that a step off the plane cannot remove.
Weakly, with ``<a, w> == 0`` not an error and w not zero, moving to a corner of the cell never adds
errors. Two dimensions are a circle, which a sweep of sorted slopes goes round.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, inf, lcm
from typing import Any

import numpy as np

Vector = tuple[int, ...]
#: errors on the negative side and on the positive side of planes, by their normals in lowest terms,
#: the first number of which that is not zero is positive
Planes = dict[Vector, tuple[int, int]]
#: products of two smaller numbers, and sums of two such products, fit in 64 bits
SMALL = 2**31


def enumerated_minimum(
    rows: Sequence[Sequence[int]], weights: Sequence[Fraction | int], strict: bool = True,
    each: Any = iter,
) -> Fraction:  # fmt: skip
    """Return the least total weight of errors of any w on sign-flipped rows.

    Strictly an error is ``<row, w> <= 0``; weakly it is ``<row, w> < 0``, and w is not zero. The
    work grows as n^(rank - 1) log n for n different rows. ``each`` wraps the loops over planes.
    """
    below = lcm(*(Fraction(c).denominator for c in weights))
    planes: Planes = {}
    zeros = 0
    for row, weight in zip(rows, weights, strict=True):
        if not any(row):
            zeros += int(weight * below)
        elif weight:
            _add(planes, tuple(row), (int(weight * below), 0))
    return Fraction(zeros * strict + _fewest(planes, len(rows[0]), strict, each), below)


def _add(planes: Planes, normal: Vector, errors: tuple[int, int]) -> None:
    common = gcd(*normal)
    if next(x for x in normal if x) < 0:
        common, errors = -common, errors[::-1]
    normal = tuple(x // common for x in normal)
    there = planes.get(normal, (0, 0))
    planes[normal] = there[0] + errors[0], there[1] + errors[1]


def _fewest(planes: Planes, size: int, strict: bool, each: Any) -> int:
    """Return the fewest errors of planes in a space."""
    if size < 2 or not planes:
        return min(map(min, planes.values()), default=0)
    best = sum(map(sum, planes.values()))
    table = np.array([*planes], dtype=object)
    errors = np.array([*planes.values()], dtype=object)
    if max(best, np.abs(table).max()) < SMALL:
        table, errors = table.astype(np.int64), errors.astype(np.int64)
    if size == 2:
        return _round(table[:, 0], table[:, 1], errors, strict)
    for k, plane in enumerate(each(planes)):
        pivot = max(range(size), key=lambda c: abs(plane[c]))
        others = [c for c in range(size) if c != pivot]
        across = np.array([plane[c] for c in others], table.dtype)  # of large integers no floats
        lines = np.delete(plane[pivot] * table[:, others] - table[:, [pivot]] * across, k, axis=0)
        rest = np.delete(errors, k, axis=0)
        if size == 3 and len(lines):
            found = _round(lines[:, 0], lines[:, 1], rest, strict)
        else:
            there: Planes = {}
            for line, both in zip(lines.tolist(), rest.tolist(), strict=True):
                _add(there, tuple(line), tuple(both))
            found = _fewest(there, size - 1, strict, each)
        best = min(best, found + strict * min(planes[plane]))
    return best


def _round(x: np.ndarray, y: np.ndarray, errors: np.ndarray, strict: bool) -> int:
    """Return the fewest errors round a circle: between lines (strict), or on one of them.

    From one slope to the next, w crosses the lines of that slope. Slopes of small integers are
    divided with rounding, which is right if those it makes equal are; else they are fractions.
    """
    floats = max(np.abs(x).max(), np.abs(y).max()) < SMALL
    while True:
        if floats:
            slopes = np.where(x != 0, y / np.where(x != 0, x, 1), inf)
        else:
            slopes = np.array([Fraction(int(b), int(a)) if a else inf
                               for a, b in zip(x, y, strict=True)])  # fmt: skip
        order = np.argsort(slopes)
        one, other = order[1:], order[:-1]
        new = slopes[one] != slopes[other]
        if not floats or (x[one] * y[other] == y[one] * x[other])[~new].all():
            break
        floats = False
    up = (x > 0) | ((x == 0) & (y > 0))
    errors = np.where(up[:, None], errors, errors[:, ::-1])[order]  # of normals to the right
    n, p = np.add.reduceat(errors, np.flatnonzero(np.append(True, new))).T
    total = n.sum() + p.sum()
    between = p.sum() + np.append(0, np.cumsum(n - p))  # at first w is on the positive sides
    if strict:
        return int(min(between.min(), total - between.max()))
    return int(min((between[:-1] - p).min(), (total - between[:-1] - n).min()))
