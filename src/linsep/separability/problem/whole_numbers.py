"""Exact arithmetic: numbers as integers times a fraction (floats: times a power of two).

Signs and zeros do not change when a row, or all weights, are multiplied by a positive number. So
rows and weight vectors are scaled to integers, which Python adds and multiplies exactly.
"""

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from math import gcd, lcm
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.separability.problem.pieces import Piece
from linsep.separability.problem.questions import Question
from linsep.separability.time_limit import check_time

#: the nonzero entries of a row: {column: integer}
Row = dict[int, int]


def whole_numbers(numbers: Any) -> tuple[list[int], int]:
    """Return integers m and an exponent e with ``numbers == m * 2**e`` exactly."""
    numbers = np.asarray(numbers)
    if numbers.dtype.kind in "iu":
        return numbers.tolist(), 0
    if numbers.dtype == object:
        return [int(number) for number in numbers], 0
    mantissas, exponents = np.frexp(numbers.astype(np.float64))
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    used = exponents[whole != 0]
    if not used.size:
        return [0] * len(whole), 0
    lowest = int(used.min())
    shifts = np.where(whole != 0, exponents - lowest, 0)
    pairs = zip(whole.tolist(), shifts.tolist(), strict=True)
    return [m << shift for m, shift in pairs], lowest - 53


@cache
def power_of_two(exponent: int) -> Fraction:
    """Return ``2**exponent`` as a fraction."""
    return Fraction(2) ** exponent


def constraint(question: Question, piece: Piece, row: int, which: int) -> tuple[Row, Fraction]:
    """Return a constraint as integers and the positive fraction to multiply them by."""
    signs = question.coefficients[piece.codes[row]][which]
    return whole_row(*piece.row(row), signs, question.width, question.intercept)


def whole_row(
    columns: np.ndarray, numbers: np.ndarray, signs: np.ndarray, width: int, intercept: bool
) -> tuple[Row, Fraction]:
    """Return ``signs (x) [x; 1]`` for a row x, as integers and a positive fraction."""
    one = [1] if intercept else []
    scale = Fraction(1)
    if numbers.dtype.kind in "iu":
        whole = numbers.tolist() + one
    elif numbers.dtype == object:
        exact = [Fraction(x) for x in (*numbers.tolist(), *one)]
        below = lcm(*(x.denominator for x in exact))
        whole, scale = [int(x * below) for x in exact], Fraction(1, below)
    else:
        whole, exponent = whole_numbers(np.append(numbers.astype(np.float64), one))
        scale = power_of_two(exponent)
    places = [*columns.tolist(), width - 1] if intercept else columns.tolist()
    z = [(j, m) for j, m in zip(places, whole, strict=True) if m]
    blocks = [(b * width, s) for b, s in enumerate(signs.tolist()) if s]
    return {shift + j: s * m for shift, s in blocks for j, m in z}, scale


def dot(a: Row, w: Row) -> int:
    """Return ``<a, w>`` exactly."""
    return sum(m * w[j] for j, m in a.items() if j in w)


def combination(rows: Iterable[tuple[int, Row]]) -> Row:
    """Return the sum of the rows times their numbers, without zeros."""
    total: Row = {}
    for number, row in rows:
        for j, m in row.items():
            total[j] = total.get(j, 0) + number * m
    return {j: m for j, m in total.items() if m}


def root_above(square: Fraction) -> float:
    """Return the square root rounded up, for numbers of any size."""
    half = (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    try:
        root = math.ldexp(math.sqrt(square / Fraction(4) ** half) * (1 + 1e-15), half)
    except OverflowError:
        return math.inf
    return math.nextafter(root, math.inf) if square else 0.0


def dense_floats(row: Row, size: int) -> np.ndarray:
    """Return a row as floats, divided by a power of two near the largest entry."""
    dense = np.zeros(size)
    dense[list(row)] = _floats(row)
    return dense


def sparse_floats(rows: list[Row], size: int) -> sp.csr_matrix:
    """Return rows as floats, each divided by a power of two near its largest entry."""
    starts = np.cumsum([0, *map(len, rows)])
    columns = [j for row in rows for j in row]
    return sp.csr_matrix(
        ([x for row in rows for x in _floats(row)], columns, starts), shape=(len(rows), size)
    )


def _floats(row: Row) -> list[float]:
    top = max((abs(m).bit_length() for m in row.values()), default=0)
    spare = [max(0, abs(m).bit_length() - 128) for m in row.values()]
    return [math.ldexp(m >> k, k - top) for m, k in zip(row.values(), spare, strict=True)]


class Reduced(NamedTuple):
    """A row space in reduced echelon form, which does not depend on the rows that span it.

    The row ``rows[p]`` has its first entry, ``one`` > 0, in the pivot column p. Stored are its
    other entries, {column: number}, all in columns without pivot.
    """

    rows: dict[int, Row]
    one: int = 1

    def basis(self) -> list[Row]:
        """Return the rows in lowest terms."""
        return [shortened({p: self.one, **line}) for p, line in self.rows.items()]

    def remainder(self, a: Row) -> Row:
        """Return the remainder of a row, times ``one``: empty if it lies in the row space."""
        left = {j: self.one * m for j, m in a.items() if j not in self.rows}
        for pivot in a.keys() & self.rows.keys():
            check_time()
            for j, number in self.rows[pivot].items():
                left[j] = left.get(j, 0) - a[pivot] * number
        return {j: number for j, number in left.items() if number}

    def orthogonal(self, w: Row) -> Row:
        """Extend ``w`` by integers in the pivot columns so that it is orthogonal to every row.

        ``w`` has no entries in pivot columns; the result may be scaled by a positive number.
        """
        found = {j: self.one * m for j, m in w.items()}
        for pivot, row in self.rows.items():
            check_time()
            found[pivot] = -sum(x * w[j] for j, x in row.items() if j in w)
        return shortened(found)


def to_whole(numbers: dict[int, Fraction]) -> Row:
    """Return the smallest integers in the same proportion, without zeros."""
    below = lcm(*(x.denominator for x in numbers.values())) if numbers else 1
    return {j: int(x * below) for j, x in numbers.items() if x}


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
