"""The widest margin: the shortest convex combination of rows, in floats and then in integers.

Wolfe, "Finding the nearest point in a polytope" (1976), for one polytope or for the difference of
two. For sign-flipped rows a_i let ``p = sum x_i a_i`` be the shortest vector with x >= 0 and x
summing to 1 within each group. Then ``<p, a> >= |p|^2`` for all rows, and no weights of length 1
have a margin above |p| over the number of groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from flint import fmpz_mat
from scipy.linalg import eigh, lapack, lstsq

from linsep.certificate.constraints import Question
from linsep.certificate.integers import (
    Row,
    dot,
    in_lowest_terms,
    squared_bound,
)
from linsep.separability.data import Data, Scan, dense_floats, root_above
from linsep.separability.elimination import common_scale, equality_point
from linsep.separability.time_limit import TooLarge, Work, check_time
from linsep.separability.working_set import Member, WorkingSet, as_row, exact_rows, grow

#: most rows that enter the active set at once
MOST_ENTERING = 16
#: ridge, relative to the longest row, which makes dependent rows harmless
RIDGE = 1e-11
#: approximate limit in seconds
MOST_WORK = 4.0
#: numbers of binary digits to try for weights and multipliers; None: all
DIGITS = (53, 160, 640, None)


class Nearest(NamedTuple):
    """The shortest combination found.

    Attributes
    ----------
    multipliers : float array
        Nonnegative, summing to 1 within each group.
    point : float array
        The rows times the multipliers.
    gap : float
        Bound on how much shorter any combination can be, relative to the length of ``point``.
    """

    multipliers: np.ndarray
    point: np.ndarray
    gap: float


def nearest(
    rows: np.ndarray,
    groups: np.ndarray,
    tolerance: float,
    start: np.ndarray | None = None,
    most_steps: int = 5_000,
) -> Nearest:
    """Return the shortest combination of rows, to a ``tolerance`` relative to its length."""
    given, rows = rows, _rotated(rows)
    size = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    sides = {g: np.flatnonzero(groups == g) for g in np.unique(groups)}
    if start is None or not all(start[side].sum() > 0 for side in sides.values()):
        start = np.zeros(len(rows))
        start[[side[size[side].argmin()] for side in sides.values()]] = 1.0
    x = start.copy()
    for side in sides.values():
        x[side] /= x[side].sum()
    floor = 64 * np.finfo(float).eps * size.max()
    affine: ByProducts | ByLeastSquares = ByProducts(rows, groups)
    length, bold = np.inf, True
    for _ in range(most_steps):
        check_time()
        before, point = length, x @ rows
        length = float(np.sqrt(point @ point))
        scores = rows @ point
        lowest = {g: int(side[scores[side].argmin()]) for g, side in sides.items()}
        behind = {g: x[side] @ scores[side] - scores[lowest[g]] for g, side in sides.items()}
        gap = sum(behind.values()) / length**2 if length > floor else 0.0
        if gap <= tolerance:
            break
        if length >= before * (1 - 1e-14):
            if isinstance(affine, ByLeastSquares):
                break
            affine, length = ByLeastSquares(rows, groups), np.inf
        group = max(behind, key=lambda g: behind[g])
        more = _with_rows(affine, x, scores, sides[group]) if bold else None
        bold = more is not None and float(np.linalg.norm(more @ rows)) < length * (1 - 1e-3)
        x = more if bold and more is not None else _with_row(affine, x, lowest[group])
    return Nearest(x, x @ given, gap)


def _rotated(rows: np.ndarray) -> np.ndarray:
    """Return rows with the same lengths and angles, in fewer columns if there are many."""
    if rows.shape[1] <= 2 * len(rows):
        return rows
    sizes, vectors = eigh(rows @ rows.T)
    return vectors * np.sqrt(np.maximum(sizes, 0.0))


def _with_rows(
    affine: ByProducts | ByLeastSquares, x: np.ndarray, scores: np.ndarray, side: np.ndarray
) -> np.ndarray | None:
    """Return the shortest combination of the active rows and the farthest behind on one side.

    All rows with multipliers <= 0 leave at once, which is fast but may fail: the result is then
    None or a longer combination.
    """
    behind = side[scores[side] < x[side] @ scores[side]]
    entering = behind[np.argsort(scores[behind], kind="stable")[:MOST_ENTERING]]
    chosen = x != 0
    chosen[entering] = True
    used = np.flatnonzero(chosen)
    for _ in range(MOST_ENTERING):
        target = affine.shortest(used)
        if (target > 0).all():
            found = np.zeros(len(x))
            found[used] = target
            return found
        used = used[target > 0]
        if len(np.unique(affine.groups[used])) < len(np.unique(affine.groups)):
            return None
    return None


def _with_row(affine: ByProducts | ByLeastSquares, x: np.ndarray, entering: int) -> np.ndarray:
    """Return the shortest combination of the active rows and one more (Wolfe's minor cycle)."""
    chosen = x != 0
    chosen[entering] = True
    used = np.flatnonzero(chosen)
    x = x.copy()
    while True:
        target = affine.shortest(used)
        now = x[used]
        bad = target <= 0
        if not bad.any():
            x[used] = target
            return x
        falling = bad & (now > target)
        if not falling.any():
            return x
        step = min(1.0, (now[falling] / (now[falling] - target[falling])).min())
        now = now + step * (target - now)
        now[np.flatnonzero(falling)[now[falling].argmin()]] = 0.0
        now[now < 0] = 0.0
        x[used] = now
        left = used[now > 0]
        if len(left) == len(used) or not len(left):
            return x
        used = left


class ByProducts:
    """Shortest affine combinations from the rows' Gram matrix: fast, to half of the digits.

    With E the group indicators and ``M = A A^T + s E E^T``, which changes no optimum, the
    multipliers are ``M^-1 E (E^T M^-1 E)^-1 1``.
    """

    def __init__(self, rows: np.ndarray, groups: np.ndarray) -> None:
        self.rows, self.groups = rows, groups
        self.sides = (groups[:, None] == np.unique(groups)).astype(float)
        self.precise = ByLeastSquares(rows, groups)
        self._weight = float(np.einsum("ij,ij->i", rows, rows).max(initial=0.0))
        self._known = np.zeros(0, dtype=int)
        self._place = np.full(len(rows), -1)
        self._products = np.zeros((0, 0))

    def shortest(self, used: np.ndarray) -> np.ndarray:
        """Return multipliers of any sign, summing to 1 within each group."""
        places, sides = self._place[used], self.sides[used]
        if places.min() < 0:
            self._learn(used[places < 0])
            places = self._place[used]
        # LAPACK itself, which checks nothing: the systems are small and many.
        table = self._products[places[:, None], places]
        table.flat[:: len(table) + 1] += self._weight * RIDGE
        _, found, failed = lapack.dposv(table.T, sides, overwrite_a=True)
        if failed:
            return self.precise.shortest(used)
        _, _, shares, failed = lapack.dgesv(sides.T @ found, np.ones(sides.shape[1]))
        return self.precise.shortest(used) if failed else found @ shares

    def _learn(self, new: np.ndarray) -> None:
        """Add the products of new active rows with each other and with the known ones."""
        before, n = len(self._known), len(self._known) + len(new)
        self._place[new] = np.arange(before, n)
        self._known = np.append(self._known, new)
        fresh = self.rows[self._known] @ self.rows[new].T
        fresh += self._weight * (self.sides[self._known] @ self.sides[new].T)
        if n > len(self._products):
            table = np.zeros((2 * n, 2 * n))
            table[:before, :before] = self._products[:before, :before]
            self._products = table
        self._products[:n, before:n] = fresh
        self._products[before:n, :n] = fresh.T


class ByLeastSquares:
    """Shortest affine combinations by an orthogonal factorization: slower, in full precision."""

    def __init__(self, rows: np.ndarray, groups: np.ndarray) -> None:
        self.rows, self.groups = rows, groups

    def shortest(self, used: np.ndarray) -> np.ndarray:
        """Return multipliers of any sign, summing to 1 within each group."""
        rows, groups = self.rows[used], self.groups[used]
        base = {g: int(np.flatnonzero(groups == g)[0]) for g in np.unique(groups)}
        bases = np.array([base[g] for g in groups])
        others = np.flatnonzero(bases != np.arange(len(rows)))
        origin = rows[list(base.values())].sum(axis=0)
        found = np.zeros(len(rows))
        found[list(base.values())] = 1.0
        if others.size:
            differences = (rows[others] - rows[bases[others]]).T
            part = lstsq(differences, -origin, lapack_driver="gelsy", check_finite=False)[0]
            found[others] = part
            np.subtract.at(found, bases[others], part)
        return found


class Separated(NamedTuple):
    """Weights that are positive on every constraint, and rows that bound every margin.

    ``w`` has the size of the question: floats, or Python integers if floats are too short. The
    length of ``members`` times ``multipliers``, which sum to 1 within each side, over the number of
    sides is an upper bound on every margin.
    """

    w: np.ndarray
    members: list[Member]
    multipliers: np.ndarray


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


def relative_to_first(table: fmpz_mat, groups: np.ndarray) -> fmpz_mat:
    """Return sign-flipped rows relative to the first: shorter numbers, same group differences."""
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
            found = _minor_cycle(lines, sides, x, work)
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


def _minor_cycle(
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
    near = relative_to_first(near, groups) if question.intercept else near
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
        whole = list(in_lowest_terms(dict(enumerate(shares))).values())
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


def _bounds_of_smallest(scan: Scan, data: Data) -> tuple[float, float]:
    """Return two numbers between which the smallest value of all constraints lies."""
    low, high = np.inf, np.inf
    for _, values in scan.values(data):
        low = min(low, float(np.nan_to_num(values.value - values.bound, nan=-np.inf).min()))
        high = min(high, float(np.nan_to_num(values.value + values.bound, nan=np.inf).min()))
    return low, high


def _smallest(scan: Scan, whole: Row, high: float, data: Data) -> Fraction | None:
    """Return the exact smallest product of weights with rows that may lie below a number; None if
    there are none.
    """
    found: Fraction | None = None
    for lane, values in scan.values(data):
        places = np.flatnonzero(~(values.value - values.bound > high))
        for _, (row, scale) in exact_rows(scan.question, lane, values, places):
            value = dot(row, whole) * scale
            found = value if found is None else min(found, value)
    return found


def lowest_margin(data: Data, question: Question, weights: np.ndarray) -> float:
    """Return a lower bound on the margin of the weights, by floats if they give nine digits."""
    whole, _ = as_row(weights)
    w = dense_floats(whole, question.size)
    squares = sum(m * m for j, m in whole.items() if j < data.n_features)
    if not squares:
        return 0.0
    scan = Scan(question, w)
    with np.errstate(all="ignore"):
        low, high = _bounds_of_smallest(scan, data)
        if 0 < high * (1 - 1e-9) < low:
            return low / (float(np.linalg.norm(w[: data.n_features])) * (1 + 1e-14)) * (1 - 1e-12)
        exact = _smallest(scan, whole, high, data)
    assert exact is not None
    square = max(exact, Fraction(0)) ** 2 / squares
    found = root_above(square)
    while Fraction(found) ** 2 > square:
        found = math.nextafter(found * (1 - 1e-15), 0.0)
    return found
