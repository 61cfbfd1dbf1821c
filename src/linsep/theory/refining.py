"""The widest margin in whole numbers, for rows that are too near or too far for floats.

Wolfe's method, "Finding the nearest point in a polytope" (1976), from where floats ended: each
step solves one linear system exactly, so it ends, and what it ends with is right.
"""

from fractions import Fraction
from math import gcd, lcm
from typing import Any, NamedTuple

import numpy as np
from flint import fmpz_mat

from linsep.theory.elimination import equality_point
from linsep.theory.whole import Row
from linsep.theory.work import TooLarge, Work


class Refined(NamedTuple):
    """The shortest combination of rows, exactly or to a tolerance.

    Attributes
    ----------
    multipliers : {row: Fraction}
        Positive, adding up to 1 within each group.
    point : list of int
        In proportion to the combination.
    """

    multipliers: dict[int, Fraction]
    point: list[int]


def common_scale(rows: list[tuple[Row, Fraction]], columns: list[int]) -> tuple[fmpz_mat, Fraction]:
    """Rows, whole numbers and what they are times of, as one table times one fraction."""
    scales = [scale for _, scale in rows]
    one = Fraction(gcd(*(s.numerator for s in scales)), lcm(*(s.denominator for s in scales)))
    times = [int(scale / one) for scale in scales]
    entries = [row.get(j, 0) * m for (row, _), m in zip(rows, times, strict=True) for j in columns]
    return fmpz_mat(len(rows), len(columns), entries), one


def moved(table: fmpz_mat, groups: np.ndarray) -> fmpz_mat:
    """Reflected rows seen from the first: shorter numbers, the same differences of the groups."""
    lines = table.tolist()
    first = [groups[0] * m for m in lines[0]]
    return fmpz_mat(
        [
            [m - int(side) * c for m, c in zip(line, first, strict=True)]
            for line, side in zip(lines, groups.tolist(), strict=True)
        ]
    )


def refined(
    table: fmpz_mat, groups: np.ndarray, start: np.ndarray, tolerance: Fraction, work: Work
) -> Refined | None:
    """The shortest combination with multipliers that add up to 1 within each group.

    None where ``work`` does not last, or the shortest is zero.
    """
    lines, sides = table.tolist(), groups.tolist()
    x = _feasible(start, groups)
    try:
        while True:
            found = _minor(lines, sides, x, work)
            if found is None:
                return None
            x, point = found
            values = (table * fmpz_mat(len(point), 1, point)).entries()
            lowest = {
                g: min((v, i) for i, v in enumerate(values) if sides[i] == g) for g in set(sides)
            }
            level = {sides[i]: values[i] for i in x}
            total = sum(int(m) for m in level.values())
            if total <= 0:
                return None
            behind = {g: int(level[g] - lowest[g][0]) for g in level}
            if sum(behind.values()) <= tolerance * total:
                return Refined(x, point)
            x = {**x, lowest[max(behind, key=lambda g: behind[g])][1]: Fraction(0)}
    except TooLarge:
        return None


def _feasible(start: np.ndarray, groups: np.ndarray) -> dict[int, Fraction]:
    """Short fractions near the given multipliers, adding up to 1 within each group."""
    x: dict[int, Fraction] = {}
    for group in np.unique(groups):
        places = np.flatnonzero(groups == group)
        rounded = np.rint(np.ldexp(start[places], 20))
        if not rounded.sum() > 0:
            rounded[0] = 1.0
        total = int(rounded.sum())
        x |= {
            int(i): Fraction(int(m), total) for i, m in zip(places, rounded, strict=True) if m > 0
        }
    return x


def _minor(
    lines: list[list[Any]], sides: list[int], x: dict[int, Fraction], work: Work
) -> tuple[dict[int, Fraction], list[int]] | None:
    """The best multipliers of the rows in use, after those that hinder have left."""
    while True:
        used = sorted(x)
        entries = [m for i in used for m in lines[i]]
        bits = max(int(m).bit_length() for m in entries)
        price = len(used) ** 3 * (1e-7 + len(used) * bits * 1e-9) + 1e-4
        work.pay(price, "multipliers")
        exact = equality_point(entries, [sides[i] for i in used])
        if exact is None:  # dependent rows: the least of them may go
            fewer = _without_least(x, sides)
            if fewer is None:
                return None
            x = fewer
            continue
        target = dict(zip(used, exact.multipliers, strict=True))
        if min(target.values()) > 0:
            return target, exact.point
        work.pay(3 * price, "multipliers")
        steps = {i: x[i] / (x[i] - target[i]) for i in used if target[i] <= 0 and x[i] > target[i]}
        step = min(steps.values(), default=Fraction(0))
        x = {i: x[i] + step * (target[i] - x[i]) for i in used}
        x = {i: m for i, m in x.items() if m > 0}


def _without_least(x: dict[int, Fraction], sides: list[int]) -> dict[int, Fraction] | None:
    counts = {g: sum(sides[i] == g for i in x) for g in {sides[i] for i in x}}
    able = [i for i in x if counts[sides[i]] > 1]
    if not able:
        return None
    least = min(able, key=lambda i: x[i])
    left = {i: m for i, m in x.items() if i != least}
    total = sum(m for i, m in left.items() if sides[i] == sides[least])
    if not total:
        return None
    return {i: m / total if sides[i] == sides[least] else m for i, m in left.items()}
