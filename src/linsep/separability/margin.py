"""The widest margin in integers, where floats miss it, and the margin that weights have."""

from __future__ import annotations

import math
from fractions import Fraction
from math import gcd, lcm
from typing import Any, NamedTuple

import numpy as np
from flint import fmpz_mat

from linsep.certificate.constraints import Subject, Weights, dot, in_lowest_terms, squared_bound
from linsep.separability.data import Data, root_above, scan
from linsep.separability.exact import shortest
from linsep.separability.integers import matrix_of
from linsep.separability.time_limit import TooLarge, Work
from linsep.separability.working_set import Member, WorkingSet, as_row, grow

#: approximate limit in seconds
MOST_WORK = 4.0
#: numbers of binary digits to try for weights and multipliers; None: all
DIGITS = (53, 160, 640, None)


class Separated(NamedTuple):
    """Weights that are positive on every constraint: floats, or Python integers if these are too
    short. The length of ``members`` times ``multipliers``, which sum to 1 within each side, over
    the number of sides is an upper bound on every margin.
    """

    w: np.ndarray
    members: list[Member]
    multipliers: np.ndarray


def widened(data: Data, subject: Subject, found: Separated, tolerance: float) -> Separated:
    """Return an integer separator, and support rows that prove its margin to the tolerance;
    TooLarge if that would take too long.
    """
    working, work = WorkingSet(data, subject), Work(MOST_WORK)
    working.include(found.members)
    multipliers: Any = found.multipliers
    count = -1
    while len(working.members) > count:
        count = len(working.members)
        weights, multipliers, target = _of_members(working, multipliers, tolerance, work)
        grow(working, weights, target)
    return Separated(weights, working.members, multipliers)


def _of_members(
    working: WorkingSet, multipliers: Any, tolerance: float, work: Work
) -> tuple[np.ndarray, np.ndarray, Fraction]:
    """Return weights of widest margin, multipliers, and the value that all rows should reach."""
    subject, rows = working.subject, [member.whole for member in working.members]
    columns = sorted({j for row, _ in rows for j in row})
    bits = max(m.bit_length() for row, _ in rows for m in row.values())
    groups = working.groups() if subject.fit_intercept else np.ones(len(rows), dtype=int)
    start = np.zeros(len(rows))
    start[: len(multipliers)] = multipliers
    work.pay(len(rows) * len(columns) * (4e-6 + bits * 1e-9), "rows")
    # one scale for all rows
    scales = [factor for _, factor in rows]
    scale = Fraction(gcd(*(s.numerator for s in scales)), lcm(*(s.denominator for s in scales)))
    whole = [{j: int(factor / scale) * m for j, m in row.items()} for row, factor in rows]
    table = matrix_of(whole, columns)
    features = [k for k, j in enumerate(columns) if j < subject.n_features]
    near = np.array(table.tolist(), dtype=object)[:, features]
    if subject.fit_intercept:  # relative to the first row: shorter numbers, the same differences
        near = near - np.outer(groups * groups[0], near[0])
    few = Fraction(tolerance) / 8
    best, point = shortest(fmpz_mat(near.tolist()), groups.tolist(), start, few, work)
    if not any(point):
        raise TooLarge("the margin is zero")
    shares, high = _shares(working, best, tolerance)
    for digits in DIGITS:
        spare = 0 if digits is None else max(m.bit_length() for m in point) - digits
        short = [m >> max(spare, 0) for m in point]
        w, lowest = _weights(table, groups, short, subject.fit_intercept)
        square = Fraction(sum(w[k] ** 2 for k in features))
        wanted = high * square * Fraction(1 - tolerance / 2) ** 2
        if digits is None or (lowest > 0 and lowest**2 * scale**2 >= wanted):
            break
    weights = np.zeros(subject.size, dtype=object)
    weights[columns] = w
    near = 2 ** max(m.bit_length() for m in w)  # floats end
    root = Fraction(root_above(wanted / near**2)) * near
    return weights, shares, root * Fraction(1 - tolerance / 8)


def _weights(
    table: fmpz_mat, groups: np.ndarray, point: list[int], intercept: bool
) -> tuple[list[int], int]:
    """Return weights proportional to a point, the intercept half way between the groups, and
    the smallest product with a row.
    """
    lines = fmpz_mat(len(point) + intercept, 1, point + [0] * intercept)
    values = [int(v) for v in (table * lines).entries()]
    if not intercept:
        return point, min(values)
    one = abs(int(table[0, len(point)]))
    above, below = (
        min(v for v, group in zip(values, groups.tolist(), strict=True) if group == side)
        for side in (1, -1)
    )
    return [*(2 * one * m for m in point), below - above], one * (above + below)


def _shares(
    working: WorkingSet, exact: dict[int, Fraction], tolerance: float
) -> tuple[np.ndarray, Fraction]:
    """Return the shortest sufficient multipliers, and the squared upper bound of the margin."""
    rows = [working.members[i].whole for i in exact]
    found = np.zeros(len(working.members), dtype=object)

    def square(shares: list[Fraction]) -> Fraction:
        whole = in_lowest_terms(dict(enumerate(shares)))
        return squared_bound(working.subject, rows, list(whole.values()))

    shares = list(exact.values())
    least = square(shares)
    for digits in DIGITS[:-1]:
        short = [Fraction(round(x * 2**digits), 2**digits) for x in shares]
        if all(short) and square(short) <= least * Fraction(1 + tolerance / 16) ** 2:
            shares, least = short, square(short)
            break
    found[list(exact)] = shares
    return found, least


def lowest_margin(data: Data, subject: Subject, weights: np.ndarray) -> float:
    """Return a lower bound on the margin of the weights, by floats if they give nine digits."""
    whole = as_row(weights)
    w = Weights(subject, whole)
    if not w.square:
        return 0.0
    low, high = np.inf, np.inf  # the smallest value lies between
    for seen in scan(data, w):
        low = min(low, float((seen.value - seen.bound).min()))
        high = min(high, float((seen.value + seen.bound).min()))
    if 0 < high * (1 - 1e-9) < low:
        return low / w.length[1] * (1 - 1e-12)
    smallest = min(
        dot(row, whole) * scale
        for seen in scan(data, w)
        for _, (row, scale) in seen.exactly(np.flatnonzero(seen.value - seen.bound <= high))
    )
    square = max(smallest, Fraction(0)) ** 2 / w.square
    found = root_above(square)
    while Fraction(found) ** 2 > square:
        found = math.nextafter(found * (1 - 1e-15), 0.0)
    return found
