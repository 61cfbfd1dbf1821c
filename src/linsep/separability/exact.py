"""The decision between separating weights and a combination that vanishes, in whole numbers.

Whatever floats cannot decide, the shortest convex combination of rows does (Wolfe, Finding the
nearest point in a polytope, 1976): it is zero, or weights that are positive on every row (Gordan
1873). By repeating this in the space orthogonal to the rows of a combination that vanishes (facial
reduction: Borwein and Wolkowicz, 1981), rows are split as Goldman and Tucker (1956) prove that they
can be: some weights are positive on the *free* rows and zero on the *bound* ones, and a combination
of all bound rows with positive multipliers vanishes.
"""

from collections.abc import Callable
from fractions import Fraction
from math import gcd
from typing import Any

import numpy as np
from flint import fmpq, fmpz_mat

from linsep.certificate.constraints import Row, Space, dot
from linsep.separability.data import sparse_floats
from linsep.separability.integers import (
    bits_of,
    columns_of,
    joined_multipliers,
    matrix_of,
    null_combination,
    orthogonal,
    reduced,
    remainders,
    solution,
)
from linsep.separability.programs import equilibrated, few_rows
from linsep.separability.time_limit import TooLarge, Work
from linsep.separability.working_set import nearest

#: how much shorter a combination may be that separates: any share below 1 will do
ENOUGH = Fraction(9, 10)
#: binary digits of rows, scaled to numbers near 1, with which shortest combinations are looked for
DIGITS = (64, 256, 1024, 4096, 16384)


def corner(
    table: Any, prices: np.ndarray | None, whole: Callable[[int], Row]
) -> dict[int, Fraction] | None:
    """Return positive multipliers {row: multiplier} of few rows, whose combination vanishes and is
    unique up to scale, by a linear program and then exactly; None if floats find none.

    ``table`` has the floats of the rows and ``whole`` their whole numbers; ``prices`` say which
    rows to prefer.
    """
    n = table.shape[0]
    floats = few_rows(table, np.zeros(n), prices) if n else None
    if floats is None:
        return None
    used = np.flatnonzero(floats).tolist()
    exact = null_combination([whole(k) for k in used])
    return None if exact is None else dict(zip(used, exact, strict=True))


def shortest(
    table: fmpz_mat, groups: list[int], start: np.ndarray, tolerance: Fraction, work: Work
) -> tuple[dict[int, Fraction], list[int]]:
    """Return the positive multipliers of the shortest combination of rows, which sum to 1 within
    each group, and integers proportional to it. It is no more than a ``tolerance`` from the
    shortest, relative to the square of its length. TooLarge if that would take too long.
    """
    lines, few = table.tolist(), fmpq(tolerance.numerator, tolerance.denominator)
    x = {i: fmpq(int(m)) for i, m in enumerate(np.rint(np.ldexp(start, 20))) if m > 0}
    for group in set(groups) - {groups[i] for i in x}:
        x[groups.index(group)] = fmpq(1)
    x = _shares(x, groups)
    while True:
        x, point = _of_active(lines, groups, x, work)
        values = (table * fmpz_mat(len(point), 1, point)).entries()
        level = {groups[i]: values[i] for i in x}
        lowest = {g: min((v, i) for i, v in enumerate(values) if groups[i] == g) for g in level}
        behind = {g: level[g] - lowest[g][0] for g in level}
        total = sum(level.values())
        if total <= 0 or sum(behind.values()) <= few * total:
            return {i: Fraction(int(m.p), int(m.q)) for i, m in x.items()}, point
        x = {**x, lowest[max(behind, key=lambda g: behind[g])][1]: fmpq(0)}


def _shares(x: dict[int, fmpq], groups: list[int]) -> dict[int, fmpq]:
    sums = dict.fromkeys(groups, fmpq(0))
    for i, m in x.items():
        sums[groups[i]] += m
    return {i: m / sums[groups[i]] for i, m in x.items()}


def _of_active(
    lines: list[list[Any]], groups: list[int], x: dict[int, fmpq], work: Work
) -> tuple[dict[int, fmpq], list[int]]:
    """Return the best multipliers of the active rows; rows with multipliers <= 0 leave."""
    while True:
        used = sorted(x)
        rows = fmpz_mat([lines[i] for i in used])
        price = len(used) ** 3 * (1e-7 + len(used) * bits_of(rows) * 1e-9) + 1e-4
        work.pay(price, f"{len(lines):,} rows with {rows.ncols():,} weights")
        exact = _on_plane(rows, [groups[i] for i in used])
        if exact is None:  # dependent rows, with which only a start begins: drop the least
            able = [i for i in used if sum(groups[k] == groups[i] for k in used) > 1]
            del x[min(able, key=lambda i: x[i])]
            x = _shares(x, groups)
            continue
        target = dict(zip(used, exact[0], strict=True))
        if min(target.values()) > 0:
            return target, exact[1]
        steps = [x[i] / (x[i] - target[i]) for i in used if target[i] <= 0 and x[i] > target[i]]
        step = min(steps, default=fmpq(0))
        x = {i: m for i in used if (m := x[i] + step * (target[i] - x[i])) > 0}


def _on_plane(rows: fmpz_mat, groups: list[int]) -> tuple[list[fmpq], list[int]] | None:
    """Return the multipliers of any sign, summing to 1 within each group, of the shortest
    combination, and integers proportional to it; None if it is not unique.

    At the optimum all rows of a group have equal products with the point, which gives a linear
    system in the rows' Gram matrix.
    """
    n, numbers = len(groups), sorted(set(groups))
    sides = [[int(g == group) for group in groups] for g in numbers]
    products = (rows * rows.transpose()).tolist()
    table: list[list[Any]] = [line + [side[i] for side in sides] for i, line in enumerate(products)]
    table += [side + [0] * len(numbers) for side in sides]
    solved = solution(fmpz_mat(table), fmpz_mat(len(table), 1, [0] * n + [1] * len(numbers)))
    if solved is None:
        return None
    whole = solved[0].entries()[:n]
    point = (fmpz_mat(1, n, whole) * rows).entries()
    common = gcd(*(int(m) for m in point)) or 1
    return [fmpq(m, solved[1]) for m in whole], [int(m) // common for m in point]


def alternative(rows: list[Row], work: Work) -> tuple[Row | None, dict[int, Fraction]]:
    """Return a ``w`` that is positive on all rows, or multipliers {row: number} that vanish;
    TooLarge if that would take too long.
    """
    columns = columns_of(rows)
    floats, up, across = equilibrated(sparse_floats(rows, columns[-1] + 1)[:, columns])
    ups = [
        int(k) - max(m.bit_length() for m in row.values()) for k, row in zip(up, rows, strict=True)
    ]
    power = dict(zip(columns, across.tolist(), strict=True))
    start, one = np.zeros(len(rows)), np.ones(len(rows), dtype=int)
    start = nearest(floats.toarray(), one, 1e-12, start)
    for digits in DIGITS:
        scaled = [
            {j: _shifted(m, k + power[j] + digits) for j, m in row.items()}
            for k, row in zip(ups, rows, strict=True)
        ]
        x, point = shortest(matrix_of(scaled, columns), [1] * len(rows), start, ENOUGH, work)
        if any(point):
            least = min(power.values())
            w = {j: m << power[j] - least for j, m in zip(columns, point, strict=True) if m}
            if all(dot(row, w) > 0 for row in rows):
                return w, {}
        multipliers = null_combination([rows[i] for i in x])
        if multipliers is not None:
            return None, dict(zip(x, multipliers, strict=True))
        start = np.zeros(len(rows))
        start[list(x)] = [float(m) for m in x.values()]
    raise TooLarge(f"numbers of {DIGITS[-1]:,} bits do not decide")


def _shifted(m: int, power: int) -> int:
    return m << power if power >= 0 else m >> -power


def exact_split(rows: list[Row], work: Work) -> tuple[Row, dict[int, Fraction], Space]:
    """Return w, which is positive on every row outside the span of the rows with multipliers, the
    multipliers, whose combination vanishes, and that span.
    """
    multipliers: dict[int, Fraction] = {i: Fraction(1) for i, row in enumerate(rows) if not row}
    span = Space({})
    while True:
        left = {i: row for i, row in enumerate(remainders(rows, span)) if row[0]}
        if not left:
            return {}, multipliers, span
        numbers = list(left)
        w, more = alternative([left[i][0] for i in numbers], work)
        if w is not None:
            return orthogonal(span, w), multipliers, span
        # remainders are rows times positive numbers: use the rows themselves
        scaled = {numbers[k]: x * left[numbers[k]][1] for k, x in more.items()}
        whole = {i: rows[i] for i in (*multipliers, *scaled)}
        multipliers = joined_multipliers(whole, multipliers, scaled)
        span = reduced(list(whole.values()))
