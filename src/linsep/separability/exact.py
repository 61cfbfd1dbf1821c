"""Exact linear algebra by FLINT: spaces, combinations that vanish, and shortest combinations, which
decide between separating weights and a combination that vanishes.

Signs and zeros do not change when a row, or all weights, are multiplied by a positive number. So
rows and weights are scaled to integers.

Whatever floats cannot decide, the shortest convex combination of rows does (Wolfe, Finding the
nearest point in a polytope, 1976), in integers: it is zero, or weights that are positive on every
row (Gordan 1873). By repeating this in the space orthogonal to the rows of a combination that
vanishes (facial reduction: Borwein and Wolkowicz, 1981), rows are split as Goldman and Tucker
(1956) prove that they can be: some weights are positive on the *free* rows and zero on the *bound*
ones, and a combination of all bound rows with positive multipliers vanishes.
"""

import subprocess
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from math import gcd, lcm
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from flint import fmpq, fmpz_mat, nmod_mat
from scipy.linalg import qr

from linsep.certificate.integers import Row, Space, combination, dot, whole_numbers
from linsep.separability.data import sparse_floats
from linsep.separability.exact_process import elsewhere, reduced_form, solved_form
from linsep.separability.nearest import nearest
from linsep.separability.programs import equilibrated
from linsep.separability.time_limit import TooLarge, Work, check_time, doing, seconds_left

#: primes below 2^61; one is nearly always enough
PRIMES = (2**61 - 1, 2**61 - 31, 2**61 - 45)
#: approximate seconds of elimination allowed in this process, which Ctrl-C cannot interrupt
SHORT = 0.3
#: how much shorter a combination may be that separates: any share below 1 will do
ENOUGH = Fraction(9, 10)
#: binary digits of rows, scaled to numbers near 1, with which shortest combinations are looked for
DIGITS = (64, 256, 1024, 4096, 16384)


# Matrices.


def shortened(row: Row) -> Row:
    """Return the smallest integers in the same proportion, without zeros."""
    common = gcd(*row.values()) or 1
    return {j: m // common for j, m in row.items() if m}


def matrix_of(rows: Sequence[Row], columns: Sequence[int]) -> fmpz_mat:
    """Return some columns of rows."""
    place = {j: k for k, j in enumerate(columns)}
    entries = [0] * (len(rows) * len(columns))
    for i, row in enumerate(rows):
        start = i * len(columns)
        for j, m in row.items():
            if j in place:
                entries[start + place[j]] = m
    return fmpz_mat(len(rows), len(columns), entries)


def shifted(m: int, power: int) -> int:
    """Return an integer times a power of two, rounded down."""
    return m << power if power >= 0 else m >> -power


def columns_of(rows: Iterable[Row]) -> list[int]:
    """Return the columns in which rows have numbers."""
    return sorted({j for row in rows for j in row})


def common_scale(rows: list[tuple[Row, Fraction]], columns: list[int]) -> tuple[fmpz_mat, Fraction]:
    """Return rows, each integers times a fraction, as one matrix and one fraction."""
    scales = [scale for _, scale in rows]
    one = Fraction(gcd(*(s.numerator for s in scales)), lcm(*(s.denominator for s in scales)))
    times = [{j: int(scale / one) * m for j, m in row.items()} for row, scale in rows]
    return matrix_of(times, columns), one


def turned(rows: list[Row]) -> list[Row]:
    """Return the columns of rows as rows."""
    place = {j: k for k, j in enumerate(columns_of(rows))}
    found: list[Row] = [{} for _ in place]
    for i, row in enumerate(rows):
        for j, m in row.items():
            found[place[j]][i] = m
    return found


def rref(matrix: fmpz_mat) -> tuple[fmpz_mat, int, int]:
    """Return the reduced echelon form of a matrix, scaled to integers, the scale, and the rank."""
    seconds = seconds_of(matrix.nrows(), matrix.ncols(), _bits(matrix))
    return _in_time(reduced_form, matrix, seconds)


def seconds_of(rows: int, columns: int, bits: int) -> float:
    """Estimate the seconds that the elimination of a matrix of ``bits``-bit numbers takes."""
    rank = min(rows, columns)
    return float(4e-11 * rank**2.7 * bits**1.75 * max(1.0, columns / (rank + 1)))


def _bits(matrix: fmpz_mat) -> int:
    entries = matrix.entries()
    return max(int(end).bit_length() for end in (max(entries, default=0), min(entries, default=0)))


def _in_time(task: Any, matrix: fmpz_mat, seconds: float) -> tuple[fmpz_mat, int, int]:
    check_time()
    if seconds < SHORT:
        return task(matrix)
    doing(f"exact elimination of {matrix.nrows():,} rows and {matrix.ncols():,} columns")
    try:
        return elsewhere(task.__name__, matrix, seconds_left())
    except subprocess.TimeoutExpired:
        check_time()
        raise


def solution(square: fmpz_mat, right: fmpz_mat) -> tuple[fmpz_mat, int] | None:
    """Return the X with ``square X = right`` times a positive number, and that number.

    None if the matrix is singular.
    """
    both = fmpz_mat([[*a, *b] for a, b in zip(square.tolist(), right.tolist(), strict=True)])
    seconds = 1e-9 * square.nrows() ** 3 * _bits(both) * right.ncols() ** 0.5
    found, below, rank = _in_time(solved_form, both, seconds)
    return (found, below) if rank else None


# Spaces.


def reduced(rows: list[Row]) -> Space:
    """Return the space of some rows, in reduced echelon form."""
    columns = columns_of(rows)
    if not columns:
        return Space({})
    matrix = matrix_of(rows, columns)
    if nmod_mat(matrix, PRIMES[0]).rank() == len(columns):  # it never exceeds the rank
        return Space({j: {j: 1} for j in columns})
    matrix, below, rank = rref(matrix)
    side, found = 1 if below > 0 else -1, {}
    for line in matrix.tolist()[:rank]:
        row = {j: side * int(m) for j, m in zip(columns, line, strict=True) if m}
        found[min(row)] = shortened(row)
    return Space(found)


def _pivots(matrix: Any, rank: int) -> list[int]:
    """Return the pivot columns of a reduced echelon form, line by line."""
    found: list[int] = []
    for i in range(rank):
        start = found[-1] + 1 if found else 0
        found.append(next(k for k in range(start, matrix.ncols()) if matrix[i, k] != 0))
    return found


def independent(rows: list[Row]) -> list[int]:
    """Return the indices of the first rows that span the row space, by elimination modulo primes.

    They are certainly independent. They span the other rows unless each of the primes divides the
    same minors; callers check their results.
    """
    columns = columns_of(rows)
    best: list[int] = []
    matrix = matrix_of(rows, columns).transpose()
    for prime in PRIMES if columns else ():
        found, rank = nmod_mat(matrix, prime).rref()
        if rank > len(best):
            best = _pivots(found, rank)
        if rank == min(len(rows), len(columns)):
            break
    return best


def far_apart(rows: sp.csr_matrix) -> np.ndarray:
    """Return the indices of rows that span the others in floats, by QR with pivoting."""
    used = np.unique(rows.indices)
    if not used.size:
        return np.zeros(0, dtype=int)
    dense = rows[:, used].toarray()
    scale = np.abs(dense).max(axis=1, keepdims=True)
    triangle, order = qr((dense / np.where(scale > 0, scale, 1)).T, mode="r", pivoting=True)
    sizes = np.abs(np.diagonal(triangle))
    return order[: int((sizes > 1e-10 * sizes[0]).sum())]


def remainders(rows: list[Row], span: Space) -> list[tuple[Row, Fraction]]:
    """Return the remainders of some rows modulo a space, as integers in lowest terms and a factor.

    The remainder is the row minus the vector of the space that agrees with it in the pivot columns.
    """
    if not span.rows:
        return [(row, Fraction(1)) for row in rows]
    pivots, one = sorted(span.rows), span.one
    free = [j for j in columns_of([*rows, *span.rows.values()]) if j not in span.rows]
    if not free:
        return [({}, Fraction(1))] * len(rows)
    lines = [{j: one // span.rows[p][p] * m for j, m in span.rows[p].items()} for p in pivots]
    left = matrix_of(rows, free) * one - matrix_of(rows, pivots) * matrix_of(lines, free)
    found = []
    for line in left.tolist():
        row = {j: int(m) for j, m in zip(free, line, strict=True) if m}
        found.append((shortened(row), Fraction(one, gcd(*row.values()) or 1)))
    return found


def orthogonal(space: Space, w: Row) -> Row:
    """Extend ``w`` by integers in the pivot columns so that it is orthogonal to every row.

    ``w`` has no entries in pivot columns; the result may be scaled by a positive number.
    """
    one = space.one
    found = {j: one * m for j, m in w.items()}
    for pivot, row in space.rows.items():
        check_time()
        found[pivot] = -sum(x * w[j] for j, x in row.items() if j in w) * (one // row[pivot])
    return shortened(found)


def roundings(weights: np.ndarray, space: Space) -> Iterator[Row]:
    """Yield integer vectors ever closer to weights, orthogonal to a space."""
    weights = weights.copy()
    weights[list(space.rows)] = 0.0
    mantissas, exponents = np.frexp(weights)
    for bits in (4, 10, 24, 53):
        whole, _ = whole_numbers(np.ldexp(np.round(np.ldexp(mantissas, bits)), exponents - bits))
        yield orthogonal(space, {j: m for j, m in enumerate(whole) if m})


# Combinations that vanish.


def vanishing(
    rows: list[Row], multipliers: list[Fraction], span: Space, basis: list[int]
) -> list[Fraction] | None:
    """Return multipliers near the given ones, up to scale, whose combination of the rows is zero.

    Those of the ``basis``, as many rows as the rank, are changed. None if it is not a basis.
    """
    below = lcm(*(x.denominator for x in multipliers))
    whole = [int(x * below) for x in multipliers]
    error = combination(zip(whole, rows, strict=True))
    columns = sorted(span.rows)
    square = matrix_of([rows[i] for i in basis], columns).transpose()
    solved = solution(square, fmpz_mat(len(columns), 1, [-error.get(j, 0) for j in columns]))
    if solved is None:
        return None
    changes, one = solved
    exact = [m * one for m in whole]
    for k, i in enumerate(basis):
        exact[i] += int(changes[k, 0])
    return [Fraction(x) for x in exact]


def null_combination(rows: list[Row]) -> list[Fraction] | None:
    """Return the multipliers of a vanishing combination if it is unique up to scale, else None."""
    columns = columns_of(rows)
    if not columns:
        return [Fraction(1)] if len(rows) == 1 else None
    matrix, below, rank = rref(matrix_of(rows, columns).transpose())
    if rank != len(rows) - 1:
        return None
    pivots = _pivots(matrix, rank)
    (free,) = set(range(len(rows))) - set(pivots)
    found = [Fraction(0)] * len(rows)
    found[free] = Fraction(below)
    for i, k in enumerate(pivots):
        found[k] = Fraction(-int(matrix[i, free]))
    return found


def signed(multipliers: list[Fraction] | None) -> list[Fraction] | None:
    """Return multipliers of one sign as positive ones, else None."""
    if multipliers is None or not all(multipliers) or min(multipliers) < 0 < max(multipliers):
        return None
    return [abs(x) for x in multipliers]


def joined_multipliers(
    rows: list[Row] | dict[int, Row], old: dict[int, Fraction], new: dict[int, Fraction]
) -> dict[int, Fraction]:
    """Return positive vanishing multipliers of old and new rows; ``new`` vanish modulo the old."""
    inside = [i for i in old if rows[i]]
    if not inside:
        return old | new
    basis = [inside[k] for k in independent([rows[i] for i in inside])]
    numbers = basis + list(new)
    start = [Fraction(0)] * len(basis) + list(new.values())
    span = reduced([rows[i] for i in basis])
    exact = vanishing([rows[i] for i in numbers], start, span, list(range(len(basis))))
    assert exact is not None
    change = dict(zip(basis, exact, strict=False))
    more = dict(zip(new, exact[len(basis) :], strict=True))
    most = max((-x / old[i] for i, x in change.items()), default=Fraction(0))
    factor = max(Fraction(1), most + 1)
    return {i: x * factor + change.get(i, 0) for i, x in old.items()} | more


# Shortest combinations.


class Shortest(NamedTuple):
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


def shortest(
    table: fmpz_mat, groups: list[int], start: np.ndarray, tolerance: Fraction, work: Work
) -> Shortest:
    """Return the shortest combination with multipliers that sum to 1 within each group.

    Parameters
    ----------
    start : float array
        Multipliers to begin with.
    tolerance : Fraction below 1
        By how much, relative to the square of its length, a point may be from the shortest.

    Raises
    ------
    TooLarge
        If the arithmetic would take too long.
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
            return Shortest({i: Fraction(int(m.p), int(m.q)) for i, m in x.items()}, point)
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
        price = len(used) ** 3 * (1e-7 + len(used) * _bits(rows) * 1e-9) + 1e-4
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
    """Return a ``w`` that is positive on all rows, or multipliers {row: number} that vanish.

    Raises
    ------
    TooLarge
        If the arithmetic would take too long.
    """
    columns = columns_of(rows)
    if len(rows) <= len(columns) and len(independent(rows)) == len(rows):
        used = independent(turned(rows))
        square = matrix_of(rows, [columns[k] for k in used])
        solved = solution(square, fmpz_mat(len(rows), 1, [1] * len(rows)))
        if solved is not None:
            values = zip(used, solved[0].entries(), strict=True)
            return {columns[k]: int(m) for k, m in values if m}, {}
    floats, up, across = equilibrated(sparse_floats(rows, columns[-1] + 1)[:, columns])
    ups = [
        int(k) - max(m.bit_length() for m in row.values()) for k, row in zip(up, rows, strict=True)
    ]
    power = dict(zip(columns, across.astype(int).tolist(), strict=True))
    start, one = np.zeros(len(rows)), np.ones(len(rows), dtype=int)
    start = nearest(floats.toarray(), one, 1e-12, start).multipliers
    for digits in DIGITS:
        scaled = [
            {j: shifted(m, k + power[j] + digits) for j, m in row.items()}
            for k, row in zip(ups, rows, strict=True)
        ]
        found = shortest(matrix_of(scaled, columns), [1] * len(rows), start, ENOUGH, work)
        if any(found.point):
            least = min(power.values())
            weights = zip(columns, found.point, strict=True)
            w = {j: m << power[j] - least for j, m in weights if m}
            if all(dot(row, w) > 0 for row in rows):
                return w, {}
        used = list(found.multipliers)
        multipliers = signed(null_combination([rows[i] for i in used]))
        if multipliers is not None:
            return None, dict(zip(used, multipliers, strict=True))
        start = np.zeros(len(rows))
        start[used] = [float(x) for x in found.multipliers.values()]
    raise TooLarge(f"numbers of {DIGITS[-1]:,} bits do not decide")


def exact_split(rows: list[Row], work: Work) -> tuple[Row, dict[int, Fraction], Space]:
    """Return an exact weight vector and combination that split the rows.

    Returns w, which is positive on every row outside the span of the rows with multipliers, the
    multipliers, and that span.
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
        multipliers = joined_multipliers(rows, multipliers, scaled)
        span = reduced([rows[i] for i in multipliers])
