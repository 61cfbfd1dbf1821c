"""Rows as integers, and the integer linear algebra that proofs and their check share: sums, spaces,
ranks, lengths. (``linsep.check`` shares no code with either.)
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import gcd, lcm
from operator import or_
from typing import Any

import numpy as np

#: the nonzero entries of a row: {column: integer}
Row = dict[int, int]
#: products of two smaller numbers fit 64 bits; not 2**31 - 1, which divides minors of such rows
PRIME = 1618033961


def whole_numbers(values: Any) -> tuple[list[int], Fraction]:
    """Return integers m and a positive fraction s with ``values == m * s`` exactly.

    For floats, m has no common power of two.
    """
    values = np.asarray(values)
    if values.dtype.kind in "iu":
        return values.tolist(), Fraction(1)
    if values.dtype.kind != "f":
        exact = [Fraction(value) for value in values.tolist()]
        below = lcm(*(x.denominator for x in exact))
        return [int(x * below) for x in exact], Fraction(1, below)
    mantissas, exponents = np.frexp(values.astype(np.float64))
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    used = whole != 0
    lowest = int(exponents[used].min(initial=53))
    shifts = np.where(used, exponents - lowest, 0).tolist()
    numbers = [m << k for m, k in zip(whole.tolist(), shifts, strict=True)]
    bits = reduce(or_, numbers, 0)
    zeros = max(0, (bits & -bits).bit_length() - 1)  # at the end of all numbers
    return [m >> zeros for m in numbers], Fraction(2) ** (lowest + zeros - 53)


def whole_row(
    columns: np.ndarray, values: np.ndarray, signs: np.ndarray, width: int, intercept: bool
) -> tuple[Row, Fraction]:
    """Return ``signs (x) [x; 1]`` for a row x as integers and the positive fraction to multiply
    them by; ``width`` counts the weights of one sign, the intercept last.
    """
    if intercept:
        columns = np.append(columns, width - 1)
        values = np.append(values, np.ones(1, values.dtype))
    used = np.flatnonzero(values)
    whole, scale = whole_numbers(values[used])
    z = list(zip(columns[used].tolist(), whole, strict=True))
    blocks = [(b * width, s) for b, s in enumerate(signs.tolist()) if s]
    return {start + j: s * m for start, s in blocks for j, m in z}, scale


def floats_of(numbers: Iterable[int]) -> list[float]:
    """Return integers of any length as floats, divided by a power of two near the largest."""
    numbers = list(numbers)
    top = max((abs(m).bit_length() for m in numbers), default=0)
    spare = [max(0, abs(m).bit_length() - 128) for m in numbers]
    return [math.ldexp(m >> k, k - top) for m, k in zip(numbers, spare, strict=True)]


def dot(a: Row, w: Row) -> int:
    """``<a, w>``."""
    return sum(m * w[j] for j, m in a.items() if j in w)


def combination(terms: Iterable[tuple[int, Row]]) -> Row:
    """Return the sum of the rows times their numbers, without zeros."""
    total: Row = {}
    for number, row in terms:
        for j, m in row.items():
            total[j] = total.get(j, 0) + number * m
    return {j: m for j, m in total.items() if m}


def in_lowest_terms(numbers: dict[int, Any]) -> Row:
    """Return the smallest integers in the same proportion, without zeros."""
    exact = {j: Fraction(x) for j, x in numbers.items() if x}
    below = lcm(*(x.denominator for x in exact.values()))
    whole = {j: int(x * below) for j, x in exact.items()}
    common = gcd(*whole.values())
    return {j: m // common for j, m in whole.items()}


@dataclass(frozen=True, repr=False)  # no long integers
class Space:
    """A row space in reduced echelon form, which does not depend on the rows that span it.

    ``rows[p]`` has its first entry, which is positive, in the pivot column p; its other entries are
    in columns without pivot. Entries are integers in lowest terms.
    """

    rows: dict[int, Row]

    @property
    def one(self) -> int:
        """The smallest common multiple of all pivots."""
        return lcm(*(row[pivot] for pivot, row in self.rows.items()))

    def remainder(self, a: Row, below: int | None = None) -> Row:
        """Return the remainder of a row, times ``below`` or the smallest positive number that makes
        it whole: empty if it lies in the space.
        """
        used = [(a[j], self.rows[j], self.rows[j][j]) for j in a if j in self.rows]
        below = below or lcm(*(pivot for _, _, pivot in used))
        return combination([(below, a), *((-m * (below // p), row) for m, row, p in used)])

    def coefficients(self, width: int, intercept: bool) -> dict[int, Row]:
        """Return the coefficients that rows of this space determine.

        Of dependent columns the first is kept, and the weights of the others are zero; the
        constant, the last of each ``width``, comes before all others. Returns {number of a kept
        weight: linear function of all weights that gives it, times a positive number}; the
        functions are rows of the space.
        """
        found = dict(self.rows)
        top = max((j for row in found.values() for j in row), default=-1)
        for one in range(width - 1, top + 1, width) if intercept else ():
            holders = [p for p, row in found.items() if one in row and p != one]
            if not holders:
                continue
            out = found.pop(max(holders))
            out = {j: m if out[one] > 0 else -m for j, m in out.items()}
            for p in (p for p in holders if p in found):
                terms = [(out[one], found[p]), (-found[p][one], out)]
                found[p] = in_lowest_terms(combination(terms))
            found[one] = out
        return found


def rank_found(rows: Sequence[Row], columns: Sequence[int], each: Any = iter) -> int:
    """Return a lower bound on the rank of some rows in some columns: the rank modulo a prime.

    It is smaller only if the prime divides certain minors. ``each`` wraps the loop over columns.
    """
    left = np.array([[row.get(j, 0) % PRIME for j in columns] for row in rows], dtype=np.int64)
    left, found = left.reshape(len(rows), len(columns)), 0
    for column in each(range(len(columns))):
        places = np.flatnonzero(left[:, column])
        if places.size:
            pivot = left[places[0]] * pow(int(left[places[0], column]), -1, PRIME) % PRIME
            left = np.delete(left, places[0], axis=0)
            left = (left - left[:, [column]] * pivot % PRIME) % PRIME
            found += 1
    return found
