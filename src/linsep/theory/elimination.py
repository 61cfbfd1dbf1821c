"""Linear algebra without rounding, by FLINT: reduced rows, and combinations that vanish exactly."""

from fractions import Fraction
from math import gcd, lcm
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from flint import fmpz_mat, nmod_mat
from scipy.linalg import qr

from linsep.theory.row_space import Reduced, to_whole
from linsep.theory.whole import Row, combination

#: a prime below 2^61
PRIME = 2**61 - 1


def reduced(rows: list[Row]) -> Reduced:
    """The reduced echelon form of some rows."""
    columns = sorted({j for row in rows for j in row})
    if not columns:
        return Reduced({})
    matrix = _matrix(rows, columns)
    if len(rows) >= len(columns) and _has_rank(matrix, len(columns)):
        return Reduced({j: {} for j in columns})
    matrix, below, rank = matrix.rref()
    pivots = _pivots(matrix, rank)
    others = sorted(set(range(len(columns))) - set(pivots))
    return Reduced(
        {
            columns[pivot]: {
                columns[k]: Fraction(int(m), int(below)) for k in others if (m := matrix[i, k]) != 0
            }
            for i, pivot in enumerate(pivots)
        }
    )


def _has_rank(matrix: fmpz_mat, rank: int) -> bool:
    """Whether a matrix surely has this rank: elimination modulo a prime, which never finds more."""
    return nmod_mat(matrix, PRIME).rank() >= rank


def _pivots(matrix: fmpz_mat, rank: int) -> list[int]:
    """The first columns with an entry, line by line, of a reduced echelon form."""
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
    """The numbers of the first rows that span the row space."""
    columns = sorted({j for row in rows for j in row})
    if not columns:
        return []
    matrix = _matrix(rows, columns).transpose()
    if len(rows) <= len(columns) and _has_rank(matrix, len(rows)):
        return list(range(len(rows)))
    matrix, _, rank = matrix.rref()
    return _pivots(matrix, rank)


def remainders(rows: list[Row], span: Reduced) -> list[tuple[Row, Fraction]]:
    """What a space leaves of some rows, the smallest whole numbers, and how many times it.

    That is a row less the combination of the space that agrees with it in the pivot columns.
    """
    if not span.rows:
        return [(row, Fraction(1)) for row in rows]
    pivots = sorted(span.rows)
    free = sorted({j for row in rows for j in row} | {j for r in span.rows.values() for j in r})
    free = [j for j in free if j not in span.rows]
    below = lcm(*(x.denominator for line in span.rows.values() for x in line.values()))
    lines = [{j: int(x * below) for j, x in span.rows[p].items()} for p in pivots]
    if not free:
        return [({}, Fraction(1))] * len(rows)
    left = _matrix(rows, free) * below - _matrix(rows, pivots) * _matrix(lines, free)
    found = []
    for line in left.tolist():
        common = gcd(*(int(m) for m in line)) or 1
        row = {j: int(m) // common for j, m in zip(free, line, strict=True) if m}
        found.append((row, Fraction(below, common)))
    return found


def far_apart(rows: sp.csr_matrix) -> np.ndarray:
    """The numbers of rows that span the others as far as floats can tell: QR with pivoting."""
    used = np.unique(rows.indices)
    if not used.size:
        return np.zeros(0, dtype=int)
    dense = rows[:, used].toarray()
    scale = np.abs(dense).max(axis=1, keepdims=True)
    triangle, order = qr((dense / np.where(scale > 0, scale, 1)).T, mode="r", pivoting=True)
    sizes = np.abs(np.diagonal(triangle))
    return order[: int((sizes > 1e-10 * sizes[0]).sum())]


def vanishing(
    rows: list[Row], multipliers: list[Fraction], span: Reduced, basis: list[int]
) -> list[Fraction] | None:
    """Multipliers near the given ones whose combination of the rows is exactly zero.

    Those of the ``basis``, as many rows as the rank, are changed. None where the basis is none.
    """
    error = combination(zip(*_over_one(multipliers, rows), strict=True))
    below = lcm(*(x.denominator for x in multipliers))
    columns = sorted(span.rows)
    square = _matrix([rows[i] for i in basis], columns).transpose()
    right = fmpz_mat(len(columns), 1, [-error.get(j, 0) for j in columns])
    try:
        change = square.solve(right)
    except ZeroDivisionError:
        return None
    exact = list(multipliers)
    for k, i in enumerate(basis):
        x = change[k, 0]
        exact[i] += Fraction(int(x.p), int(x.q)) / below
    return exact


def _over_one(multipliers: list[Fraction], rows: list[Row]) -> tuple[list[int], list[Row]]:
    below = lcm(*(x.denominator for x in multipliers))
    return [int(x * below) for x in multipliers], rows


def null_combination(rows: list[Row]) -> list[Fraction] | None:
    """The multipliers of a combination that vanishes, where there is one but for its length."""
    columns = sorted({j for row in rows for j in row})
    if not columns:
        return [Fraction(1)] if len(rows) == 1 else None
    matrix, below, rank = _matrix(rows, columns).transpose().rref()
    if rank != len(rows) - 1:
        return None
    pivots = independent(rows)
    (free,) = set(range(len(rows))) - set(pivots)
    found = [Fraction(0)] * len(rows)
    found[free] = Fraction(1)
    for i, k in enumerate(pivots):
        found[k] = -Fraction(int(matrix[i, free]), int(below))
    return found


class EqualityPoint(NamedTuple):
    """The shortest combination of rows whose multipliers add up to 1 within each group, exactly."""

    multipliers: list[Fraction]
    #: proportional to the combination
    point: list[int]


def equality_point(entries: list[int], groups: list[int]) -> EqualityPoint | None:
    """That combination, multipliers of any sign; None where it is not the only one.

    ``entries`` are the rows one after another. The optimum has equal products with all rows of a
    group: one linear system of the rows' products with each other.
    """
    n = len(groups)
    rows = fmpz_mat(n, len(entries) // n, entries)
    products = (rows * rows.transpose()).tolist()
    numbers = sorted(set(groups))
    sides = [[int(g == group) for group in groups] for g in numbers]
    table: list[list[Any]] = [line + [side[i] for side in sides] for i, line in enumerate(products)]
    table += [side + [0] * len(numbers) for side in sides]
    size = n + len(numbers)
    try:
        found = fmpz_mat(size, size, [m for line in table for m in line]).solve(
            fmpz_mat(size, 1, [0] * n + [1] * len(numbers))
        )
    except ZeroDivisionError:
        return None
    multipliers = [Fraction(int(found[i, 0].p), int(found[i, 0].q)) for i in range(n)]
    whole = to_whole(dict(enumerate(multipliers)))
    weights = fmpz_mat(1, n, [whole.get(i, 0) for i in range(n)])
    return EqualityPoint(multipliers, [int(m) for m in (weights * rows).entries()])
