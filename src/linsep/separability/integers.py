"""Rows in whole numbers by FLINT: their rank and spaces, and combinations of them that vanish.

Signs and zeros do not change when a row, or all weights, are multiplied by a positive number. So
rows and weights are scaled to integers. What is independent is found modulo a prime, where all else
is a system of equations: whatever a prime hides makes a result that the callers' checks refuse.
"""

import subprocess
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import gcd, lcm

import numpy as np
import scipy.sparse as sp
from flint import fmpz_mat, nmod_mat
from scipy.linalg import qr

from linsep.certificate.constraints import Row, Space, combination, dot, whole_numbers
from linsep.separability.exact_process import solved_elsewhere
from linsep.separability.time_limit import check_time, doing, seconds_left

#: primes below 2^61; one is nearly always enough
PRIMES = (2**61 - 1, 2**61 - 31, 2**61 - 45)
#: approximate seconds that a system may take in this process, which Ctrl-C cannot interrupt
SHORT = 0.3


def shortened(row: Row) -> Row:
    """Return the smallest integers in the same proportion, without zeros."""
    common = gcd(*row.values()) or 1
    return {j: m // common for j, m in row.items() if m}


def columns_of(rows: Iterable[Row]) -> list[int]:
    """Return the columns in which rows have numbers."""
    return sorted({j for row in rows for j in row})


def matrix_of(rows: Sequence[Row], columns: Sequence[int]) -> fmpz_mat:
    """Return some columns of rows."""
    place = {j: k for k, j in enumerate(columns)}
    found = fmpz_mat(len(rows), len(columns))
    for i, row in enumerate(rows):
        for j, m in row.items():
            if j in place:
                found[i, place[j]] = m
    return found


def bits_of(matrix: fmpz_mat) -> int:
    """Return the number of binary digits of the largest entry."""
    entries = matrix.entries()
    return max(int(end).bit_length() for end in (max(entries, default=0), min(entries, default=0)))


def seconds_of(size: int, bits: int, right: int = 1) -> float:
    """Estimate the seconds that a system of equations with ``bits``-bit numbers takes."""
    return float(1e-9 * size**3 * bits * right**0.5)


def solution(square: fmpz_mat, right: fmpz_mat) -> tuple[fmpz_mat, int] | None:
    """Return the X with ``square X = right`` times a positive number, and that number; None if the
    matrix is singular. Ends in time, and on Ctrl-C. By Dixon's p-adic expansions.
    """
    check_time()
    n, bits = square.nrows(), max(bits_of(square), bits_of(right))
    if seconds_of(n, bits, right.ncols()) < SHORT:
        try:
            above, below = square.solve(right).numer_denom()  # type: ignore[attr-defined]
        except ZeroDivisionError:
            return None
        return above, int(below)
    doing(f"exact elimination of {n:,} rows and {n + right.ncols():,} columns")
    try:
        return solved_elsewhere(square, right, seconds_left())
    except subprocess.TimeoutExpired:
        check_time()
        raise


# Spaces.


def pivots(matrix: fmpz_mat) -> list[int]:
    """Return the columns that are no combination of those before them: these are certainly
    independent, and span the others unless each of the primes divides the same minors.
    """
    best: list[int] = []
    for prime in PRIMES if matrix.ncols() else ():
        found, rank = nmod_mat(matrix, prime).rref()
        if rank > len(best):
            best = []
            for i in range(rank):
                start = best[-1] + 1 if best else 0
                best.append(next(k for k in range(start, matrix.ncols()) if found[i, k] != 0))
        if rank == min(matrix.nrows(), matrix.ncols()):
            break
    return best


def independent(rows: Sequence[Row]) -> list[int]:
    """Return the indices of the first rows that span the row space."""
    return pivots(matrix_of(rows, columns_of(rows)).transpose())


def reduced(rows: Sequence[Row]) -> Space:
    """Return the space of some rows, in reduced echelon form."""
    columns = columns_of(rows)
    basis = [rows[i] for i in independent(rows)]
    if len(basis) == len(columns):
        return Space({j: {j: 1} for j in columns})
    chosen = [columns[k] for k in pivots(matrix_of(basis, columns))]
    free = sorted(set(columns).difference(chosen))
    system = solution(matrix_of(basis, chosen), matrix_of(basis, free))
    assert system is not None
    lines = zip(chosen, system[0].tolist(), strict=True)
    return Space({p: shortened({p: system[1], **_row(free, line)}) for p, line in lines})


def _row(columns: Sequence[int], line: Iterable[object]) -> Row:
    return {j: int(m) for j, m in zip(columns, line, strict=True) if m}  # type: ignore[call-overload]


def remainders(rows: list[Row], span: Space) -> list[tuple[Row, Fraction]]:
    """Return the remainders of some rows modulo a space, as integers in lowest terms and a factor.

    The remainder is the row minus the vector of the space that agrees with it in the pivot columns.
    """
    if not span.rows:
        return [(row, Fraction(1)) for row in rows]
    chosen, one = sorted(span.rows), span.one
    free = [j for j in columns_of([*rows, *span.rows.values()]) if j not in span.rows]
    lines = [{j: one // span.rows[p][p] * m for j, m in span.rows[p].items()} for p in chosen]
    left = matrix_of(rows, free) * one - matrix_of(rows, chosen) * matrix_of(lines, free)
    whole = [_row(free, line) for line in left.tolist()]
    return [(shortened(row), Fraction(one, gcd(*row.values()) or 1)) for row in whole]


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


def positive_rounding(weights: np.ndarray, space: Space, rows: list[Row]) -> Row | None:
    """Return integers near weights, orthogonal to a space and positive on all rows, or None."""
    weights = weights.copy()
    weights[list(space.rows)] = 0.0
    mantissas, exponents = np.frexp(weights / 2)  # rounding must not overflow
    for bits in (4, 10, 24, 53):
        whole, _ = whole_numbers(np.ldexp(np.round(np.ldexp(mantissas, bits)), exponents - bits))
        found = orthogonal(space, {j: m for j, m in enumerate(whole) if m})
        if all(dot(row, found) > 0 for row in rows):
            return found
    return None


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


# Combinations that vanish.


def vanishing(
    rows: list[Row], multipliers: list[Fraction], basis: list[int]
) -> list[Fraction] | None:
    """Return multipliers near the given ones, up to scale, whose combination of the rows is zero.

    Those of the ``basis``, as many rows as the rank, are changed. None if it is not a basis.
    """
    below = lcm(*(x.denominator for x in multipliers))
    exact = [int(x * below) for x in multipliers]
    columns, whole = columns_of(rows), [rows[i] for i in basis]
    chosen = [columns[k] for k in pivots(matrix_of(whole, columns))]
    if len(chosen) < len(basis):
        return None
    near = combination((m, row) for m, row in zip(exact, rows, strict=True) if m)
    right = matrix_of([near], chosen).transpose()
    system = solution(matrix_of(whole, chosen).transpose(), right)
    assert system is not None
    exact = [m * system[1] for m in exact]
    for i, change in zip(basis, system[0].entries(), strict=True):
        exact[i] -= int(change)
    if len(chosen) < len(columns) and combination(zip(exact, rows, strict=True)):
        return None
    return [Fraction(x) for x in exact]


def null_combination(rows: list[Row]) -> list[Fraction] | None:
    """Return the positive multipliers of a vanishing combination of all rows if it is unique up to
    scale and there are such multipliers, else None.
    """
    basis = independent(rows)
    if len(basis) != len(rows) - 1:
        return None
    (last,) = set(range(len(rows))) - set(basis)
    start = [Fraction(int(i == last)) for i in range(len(rows))]
    found = vanishing(rows, start, basis)
    return found if found is not None and min(found) > 0 else None


def joined_multipliers(
    rows: dict[int, Row], old: dict[int, Fraction], new: dict[int, Fraction]
) -> dict[int, Fraction]:
    """Return positive vanishing multipliers of old and new rows; ``new`` vanish modulo the old."""
    inside = [i for i in old if rows[i]]
    basis = [inside[k] for k in independent([rows[i] for i in inside])]
    start = [Fraction(0)] * len(basis) + list(new.values())
    exact = vanishing([rows[i] for i in (*basis, *new)], start, list(range(len(basis))))
    assert exact is not None
    change = dict(zip(basis, exact, strict=False))
    more = dict(zip(new, exact[len(basis) :], strict=True))
    most = max((-x / old[i] for i, x in change.items()), default=Fraction(0))
    factor = max(Fraction(1), most + 1)
    return {i: x * factor + change.get(i, 0) for i, x in old.items()} | more
