"""Widening a separator to the widest margin in integers, where floats are too short."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Any, NamedTuple

import numpy as np
from flint import fmpz_mat

from linsep.certificate.integers import squared_bound
from linsep.separability.exact.elimination import equality_point
from linsep.separability.problem.data import Data, Pass
from linsep.separability.problem.pieces import Piece
from linsep.separability.problem.questions import Question, Scan
from linsep.separability.problem.whole_numbers import Row, dense_floats, dot, root_above, to_whole
from linsep.separability.problem.working_set import Member, WorkingSet
from linsep.separability.search.search import Separated, as_row, exact_rows, grow
from linsep.separability.time_limit import TooLarge, Work


class Refined(NamedTuple):
    """The shortest convex combination of rows, to a tolerance.

    Attributes
    ----------
    multipliers : {row: Fraction}
        Positive, summing to 1 within each group.
    point : list of int
        Proportional to the combination.
    """

    multipliers: dict[int, Fraction]
    point: list[int]


def common_scale(rows: list[tuple[Row, Fraction]], columns: list[int]) -> tuple[fmpz_mat, Fraction]:
    """Return rows, each integers times a fraction, as one matrix and one fraction."""
    scales = [scale for _, scale in rows]
    one = Fraction(gcd(*(s.numerator for s in scales)), lcm(*(s.denominator for s in scales)))
    times = [int(scale / one) for scale in scales]
    entries = [row.get(j, 0) * m for (row, _), m in zip(rows, times, strict=True) for j in columns]
    return fmpz_mat(len(rows), len(columns), entries), one


def moved(table: fmpz_mat, groups: np.ndarray) -> fmpz_mat:
    """Return reflected rows relative to the first: shorter numbers, same group differences."""
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
    """Return the shortest combination with multipliers that sum to 1 within each group.

    None if ``work`` is used up, or the shortest is zero.
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
    """Return short fractions near the given multipliers, summing to 1 within each group."""
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
    """Return the best multipliers of the active rows; rows with multipliers <= 0 leave."""
    while True:
        used = sorted(x)
        entries = [m for i in used for m in lines[i]]
        bits = max(int(m).bit_length() for m in entries)
        price = len(used) ** 3 * (1e-7 + len(used) * bits * 1e-9) + 1e-4
        work.pay(price, "multipliers")
        exact = equality_point(entries, [sides[i] for i in used])
        if exact is None:  # dependent rows: drop the least
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


#: approximate limit in seconds
MOST_WORK = 4.0
#: numbers of binary digits to try for weights and multipliers; None: all
DIGITS = (53, 160, 640, None)


def widened(data: Data, question: Question, found: Separated, tolerance: float) -> Separated:
    """Return an integer separator, and support rows that prove its margin to the tolerance.

    Returns ``found`` if that would take too long.
    """
    working = WorkingSet(data, question)
    working.include(found.members)
    multipliers: Any = found.multipliers
    work = Work(MOST_WORK)
    while True:
        better = _of_members(working, multipliers, tolerance, work)
        if better is None:
            return found
        weights, multipliers, target = better
        count = len(working.members)
        grow(working, weights, target)
        if len(working.members) == count:
            return Separated(weights, working.members, multipliers)


def _of_members(
    working: WorkingSet, multipliers: Any, tolerance: float, work: Work
) -> tuple[np.ndarray, np.ndarray, float] | None:
    """Return weights of widest margin, multipliers, and the value that all rows should reach."""
    question, rows = working.question, [member.whole for member in working.members]
    columns = sorted({j for row, _ in rows for j in row})
    bits = max(m.bit_length() for row, _ in rows for m in row.values())
    groups = working.groups() if question.intercept else np.ones(len(rows), dtype=int)
    start = np.zeros(len(rows))
    start[: len(multipliers)] = multipliers
    try:
        work.pay(len(rows) * len(columns) * (4e-6 + bits * 1e-9), "rows")
    except TooLarge:
        return None
    table, scale = common_scale(rows, columns)
    features = [k for k, j in enumerate(columns) if j < question.width - question.intercept]
    near = fmpz_mat([[line[k] for k in features] for line in table.tolist()])
    near = moved(near, groups) if question.intercept else near
    exact = refined(near, groups, start, Fraction(tolerance) / 8, work)
    if exact is None:
        return None
    shares, high = _shares(working, exact, tolerance)
    for digits in DIGITS:
        w, lowest = _weights(table, groups, _rounded(exact.point, digits), question.intercept)
        square = Fraction(sum(w[k] ** 2 for k in features))
        wanted = high * square * Fraction(1 - tolerance / 2) ** 2
        if digits is None or (lowest > 0 and lowest**2 * scale**2 >= wanted):
            break
    weights = np.zeros(question.size, dtype=object)
    weights[columns] = w
    top = max(abs(m).bit_length() for m in w)
    return weights, shares, root_above(wanted / Fraction(4) ** top) * (1 - tolerance / 8)


def _weights(
    table: fmpz_mat, groups: np.ndarray, point: list[int], intercept: bool
) -> tuple[list[int], int]:
    """Return weights proportional to a point, the intercept half way between the groups, and
    the smallest product with a row.
    """
    if not intercept:
        values = (table * fmpz_mat(len(point), 1, point)).entries()
        return point, int(min(values))
    one = abs(int(table[0, len(point)]))
    values = (table * fmpz_mat(len(point) + 1, 1, [*point, 0])).entries()
    above = int(min(v for v, side in zip(values, groups.tolist(), strict=True) if side > 0))
    below = int(min(v for v, side in zip(values, groups.tolist(), strict=True) if side < 0))
    return [*(2 * one * m for m in point), below - above], one * (above + below)


def _rounded(point: list[int], digits: int | None) -> list[int]:
    """Shorten integers so that the largest has ``digits`` binary digits."""
    spare = max(m.bit_length() for m in point) - (digits or 0)
    return point if digits is None or spare <= 0 else [m >> spare for m in point]


def _shares(working: WorkingSet, exact: Refined, tolerance: float) -> tuple[np.ndarray, Fraction]:
    """Return the shortest sufficient multipliers, and the squared upper bound of the margin."""
    question, members = working.question, working.members
    used = [members[i] for i in exact.multipliers]
    best = None
    for digits in reversed(DIGITS):
        shares = list(exact.multipliers.values())
        if digits is not None:
            shares = [Fraction(round(share * 2**digits), 2**digits) for share in shares]
        whole = list(to_whole(dict(enumerate(shares))).values())
        if len(whole) < len(used):
            break
        square = square_of(used, whole, question)
        if best is not None and square > best[1] * Fraction(1 + tolerance / 16) ** 2:
            break
        best = shares, min(square, best[1] if best else square)
    assert best is not None
    found = np.zeros(len(members), dtype=object)
    found[list(exact.multipliers)] = best[0]
    return found, best[1]


def square_of(members: list[Member], multipliers: Sequence[int], question: Question) -> Fraction:
    """Return the square of the upper bound on the margin that these multipliers prove."""
    d = question.width - question.intercept
    rows = [member.whole for member in members]
    features = [({j: m for j, m in row.items() if j < d}, scale) for row, scale in rows]
    groups = [member.group if question.intercept else 0 for member in members]
    return squared_bound(features, groups, multipliers)


@dataclass(frozen=True)
class Ends(Pass[tuple[float, float]]):
    """Two numbers between which the smallest value of all constraints lies."""

    scan: Scan

    def of(self, lanes: Iterable[Piece]) -> tuple[float, float]:
        """Return those of the lanes."""
        low, high = np.inf, np.inf
        for _, values in self.scan.values(lanes):
            low = min(low, float(np.nan_to_num(values.value - values.bound, nan=-np.inf).min()))
            high = min(high, float(np.nan_to_num(values.value + values.bound, nan=np.inf).min()))
        return low, high

    def merged(self, parts: list[tuple[float, float]]) -> tuple[float, float]:
        """Return those of all."""
        return min(low for low, _ in parts), min(high for _, high in parts)


@dataclass(frozen=True)
class Smallest(Pass[Fraction | None]):
    """The exact smallest product of weights with rows that may lie below a number; None if there
    are none.
    """

    scan: Scan
    whole: Row
    high: float

    def of(self, lanes: Iterable[Piece]) -> Fraction | None:
        """Return that of the lanes."""
        found: list[Fraction | None] = []
        for piece, values in self.scan.values(lanes):
            places = np.flatnonzero(~(values.value - values.bound > self.high))
            for _, (row, scale) in exact_rows(self.scan.question, piece, values, places):
                found = [self.merged([*found, dot(row, self.whole) * scale])]
        return self.merged(found)

    def merged(self, parts: list[Fraction | None]) -> Fraction | None:
        """Return the smallest."""
        return min((part for part in parts if part is not None), default=None)


def lowest_margin(data: Data, question: Question, weights: np.ndarray) -> float:
    """Return a lower bound on the margin of the weights, by floats if they give nine digits."""
    whole, _ = as_row(weights)
    w = dense_floats(whole, question.size)
    squares = sum(m * m for j, m in whole.items() if j < data.n_features)
    if not squares:
        return 0.0
    scan = Scan(question, w)
    with np.errstate(all="ignore"):
        low, high = data.ask(Ends(scan))
        if 0 < high * (1 - 1e-9) < low:
            return low / (float(np.linalg.norm(w[: data.n_features])) * (1 + 1e-14)) * (1 - 1e-12)
        exact = data.ask(Smallest(scan, whole, high))
    assert exact is not None
    square = max(exact, Fraction(0)) ** 2 / squares
    found = root_above(square)
    while Fraction(found) ** 2 > square:
        found = math.nextafter(found * (1 - 1e-15), 0.0)
    return found
