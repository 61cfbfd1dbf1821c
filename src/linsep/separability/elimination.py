"""Exact linear algebra by FLINT: reduced rows, and combinations that vanish exactly.

Signs and zeros do not change when a row, or all weights, are multiplied by a positive number. So
rows and weight vectors are scaled to integers, which are added and multiplied exactly.
"""

from collections.abc import Iterable
from fractions import Fraction
from math import gcd, lcm
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from flint import fmpz_mat, nmod_mat
from scipy.linalg import qr

from linsep.certificate.integers import Row, Space, combination, in_lowest_terms
from linsep.separability.elimination_process import elsewhere, reduced_form, solved_form
from linsep.separability.time_limit import check_time

#: primes below 2^61; one is nearly always enough
PRIMES = (2**61 - 1, 2**61 - 31, 2**61 - 45)
#: approximate seconds of elimination allowed in this process, which Ctrl-C cannot interrupt
SHORT = 0.3


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


def shortened(row: Row) -> Row:
    """Return the smallest integers in the same proportion, without zeros."""
    common = common_divisor(row.values())
    return {j: m // common for j, m in row.items() if m}


def common_divisor(numbers: Iterable[int]) -> int:
    """Return the greatest common divisor, or 1 if all numbers are zero."""
    found = 0
    for number in numbers:
        check_time()
        found = gcd(found, number)
        if found == 1:
            break
    return found or 1


def rref(matrix: fmpz_mat) -> tuple[fmpz_mat, int, int]:
    """Return the reduced echelon form of a matrix, scaled to integers, the scale, and the rank."""
    check_time()
    seconds = seconds_of(matrix.nrows(), matrix.ncols(), _bits(matrix))
    return elsewhere("reduced_form", matrix) if seconds >= SHORT else reduced_form(matrix)


def seconds_of(rows: int, columns: int, bits: int) -> float:
    """Estimate the seconds that the elimination of a matrix of ``bits``-bit numbers takes."""
    rank = min(rows, columns)
    return float(4e-11 * rank**2.7 * bits**1.75 * max(1.0, columns / (rank + 1)))


def _bits(matrix: fmpz_mat) -> int:
    entries = matrix.entries()
    ends = max(entries, default=0), min(entries, default=0)
    return max(int(end).bit_length() for end in ends)


def solution(square: fmpz_mat, right: fmpz_mat) -> tuple[fmpz_mat, int] | None:
    """Return the X with ``square X = right`` times a positive number, and that number.

    None if the matrix is singular.
    """
    check_time()
    both = fmpz_mat([[*a, *b] for a, b in zip(square.tolist(), right.tolist(), strict=True)])
    seconds = 1e-9 * square.nrows() ** 3 * _bits(both) * right.ncols() ** 0.5
    found = elsewhere("solved_form", both) if seconds >= SHORT else solved_form(both)
    return found[:2] if found[2] else None


def reduced(rows: list[Row]) -> Space:
    """Return the space of some rows, in reduced echelon form."""
    columns = sorted({j for row in rows for j in row})
    if not columns:
        return Space({})
    matrix = _matrix(rows, columns)
    if len(rows) >= len(columns) and _has_rank(matrix, len(columns)):
        return Space({j: {j: 1} for j in columns})
    matrix, below, rank = rref(matrix)
    pivots = _pivots(matrix, rank)
    others = sorted(set(range(len(columns))) - set(pivots))
    side = 1 if below > 0 else -1
    return Space({
        columns[pivot]: shortened(
            {columns[pivot]: side * below}
            | {columns[k]: side * int(m) for k in others if (m := matrix[i, k]) != 0}
        )
        for i, pivot in enumerate(pivots)
    })  # fmt: skip


def _has_rank(matrix: fmpz_mat, rank: int) -> bool:
    """Return whether a matrix surely has this rank: the rank modulo a prime never exceeds it."""
    return nmod_mat(matrix, PRIMES[0]).rank() >= rank


def _pivots(matrix: Any, rank: int) -> list[int]:
    """Return the pivot columns of a reduced echelon form, line by line."""
    found: list[int] = []
    for i in range(rank):
        start = found[-1] + 1 if found else 0
        found.append(next(k for k in range(start, matrix.ncols()) if matrix[i, k] != 0))
    return found


def _matrix(rows: list[Row], columns: list[int]) -> fmpz_mat:
    place = {j: k for k, j in enumerate(columns)}
    entries = [0] * (len(rows) * len(columns))
    for i, row in enumerate(rows):
        start = i * len(columns)
        for j, m in row.items():
            if j in place:
                entries[start + place[j]] = m
    return fmpz_mat(len(rows), len(columns), entries)


def independent(rows: list[Row]) -> list[int]:
    """Return the indices of the first rows that span the row space, by elimination modulo primes.

    They are certainly independent. They span the other rows unless each of the primes divides the
    same minors; callers check their results.
    """
    columns = sorted({j for row in rows for j in row})
    best: list[int] = []
    matrix = _matrix(rows, columns).transpose()
    for prime in PRIMES if columns else ():
        found, rank = nmod_mat(matrix, prime).rref()
        if rank > len(best):
            best = _pivots(found, rank)
        if rank == min(len(rows), len(columns)):
            break
    return best


def remainders(rows: list[Row], span: Space) -> list[tuple[Row, Fraction]]:
    """Return the remainders of some rows modulo a space, as integers in lowest terms and a factor.

    The remainder is the row minus the vector of the space that agrees with it in the pivot columns.
    """
    if not span.rows:
        return [(row, Fraction(1)) for row in rows]
    pivots = sorted(span.rows)
    free = sorted({j for row in rows for j in row} | {j for r in span.rows.values() for j in r})
    free = [j for j in free if j not in span.rows]
    one = span.one
    lines = [
        {j: one // span.rows[p][p] * m for j, m in span.rows[p].items() if j != p} for p in pivots
    ]
    if not free:
        return [({}, Fraction(1))] * len(rows)
    left = _matrix(rows, free) * one - _matrix(rows, pivots) * _matrix(lines, free)
    found = []
    for line in left.tolist():
        numbers = [int(m) for m in line]
        common = common_divisor(numbers)
        row = {j: m // common for j, m in zip(free, numbers, strict=True) if m}
        found.append((row, Fraction(one, common)))
    return found


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


def vanishing(
    rows: list[Row], multipliers: list[Fraction], span: Space, basis: list[int]
) -> list[Fraction] | None:
    """Return multipliers near the given ones, up to scale, whose combination of the rows is zero.

    Those of the ``basis``, as many rows as the rank, are changed. None if it is not a basis.
    """
    error = combination(zip(*_over_one(multipliers, rows), strict=True))
    below = lcm(*(x.denominator for x in multipliers))
    columns = sorted(span.rows)
    square = _matrix([rows[i] for i in basis], columns).transpose()
    right = fmpz_mat(len(columns), 1, [-error.get(j, 0) for j in columns])
    solved = solution(square, right)
    if solved is None:
        return None
    changes, one = solved
    exact = [int(x * below) * one for x in multipliers]
    for k, i in enumerate(basis):
        exact[i] += int(changes[k, 0])
    return [Fraction(x) for x in exact]


def _over_one(multipliers: list[Fraction], rows: list[Row]) -> tuple[list[int], list[Row]]:
    below = lcm(*(x.denominator for x in multipliers))
    return [int(x * below) for x in multipliers], rows


def null_combination(rows: list[Row]) -> list[Fraction] | None:
    """Return the multipliers of a vanishing combination if it is unique up to scale, else None."""
    columns = sorted({j for row in rows for j in row})
    if not columns:
        return [Fraction(1)] if len(rows) == 1 else None
    matrix, below, rank = rref(_matrix(rows, columns).transpose())
    if rank != len(rows) - 1:
        return None
    pivots = _pivots(matrix, rank)
    (free,) = set(range(len(rows))) - set(pivots)
    found = [Fraction(0)] * len(rows)
    found[free] = Fraction(below)
    for i, k in enumerate(pivots):
        found[k] = Fraction(-int(matrix[i, free]))
    return found


class EqualityPoint(NamedTuple):
    """The exact shortest combination of rows with multipliers that sum to 1 within each group."""

    multipliers: list[Fraction]
    #: proportional to the combination
    point: list[int]


def equality_point(entries: list[int], groups: list[int]) -> EqualityPoint | None:
    """Return that combination, with multipliers of any sign; None if it is not unique.

    ``entries`` are the rows one after another. At the optimum all rows of a group have equal
    products with the point, which gives a linear system in the rows' Gram matrix.
    """
    n = len(groups)
    rows = fmpz_mat(n, len(entries) // n, entries)
    products = (rows * rows.transpose()).tolist()
    numbers = sorted(set(groups))
    sides = [[int(g == group) for group in groups] for g in numbers]
    table: list[list[Any]] = [line + [side[i] for side in sides] for i, line in enumerate(products)]
    table += [side + [0] * len(numbers) for side in sides]
    size = n + len(numbers)
    right = fmpz_mat(size, 1, [0] * n + [1] * len(numbers))
    solved = solution(fmpz_mat(size, size, [m for line in table for m in line]), right)
    if solved is None:
        return None
    found, one = solved
    multipliers = [Fraction(int(found[i, 0]), one) for i in range(n)]
    whole = in_lowest_terms(dict(enumerate(multipliers)))
    weights = fmpz_mat(1, n, [whole.get(i, 0) for i in range(n)])
    return EqualityPoint(multipliers, [int(m) for m in (weights * rows).entries()])


def common_scale(rows: list[tuple[Row, Fraction]], columns: list[int]) -> tuple[fmpz_mat, Fraction]:
    """Return rows, each integers times a fraction, as one matrix and one fraction."""
    scales = [scale for _, scale in rows]
    one = Fraction(gcd(*(s.numerator for s in scales)), lcm(*(s.denominator for s in scales)))
    times = [int(scale / one) for scale in scales]
    entries = [row.get(j, 0) * m for (row, _), m in zip(rows, times, strict=True) for j in columns]
    return fmpz_mat(len(rows), len(columns), entries), one
