"""Numbers as what they are, whole numbers times a fraction: arithmetic without rounding.

Floats are whole numbers times a power of two.

Signs and zeros do not change when a row, or all weights, are multiplied by a positive number. So
each row and each weight vector becomes whole numbers, which Python adds and multiplies exactly.
"""

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from math import gcd, lcm
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.separability.problem.data import Piece
from linsep.separability.problem.questions import Question
from linsep.separability.time_limit import check_time

#: the entries of a row that are not zero: {column: whole number}
Row = dict[int, int]


def whole_numbers(numbers: Any) -> tuple[list[int], int]:
    """Whole numbers m and an exponent e with ``numbers == m * 2**e`` exactly."""
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
    """``2**exponent``."""
    return Fraction(2) ** exponent


def constraint(question: Question, piece: Piece, row: int, which: int) -> tuple[Row, Fraction]:
    """The whole numbers of one constraint, and the positive fraction that they are times of."""
    signs = question.coefficients[piece.codes[row]][which]
    return whole_row(question, *piece.row(row), signs)


def whole_row(
    question: Question, columns: np.ndarray, numbers: np.ndarray, signs: np.ndarray
) -> tuple[Row, Fraction]:
    """``signs (x) [x; 1]`` for a row x: whole numbers, and what they are times of."""
    one = [1] if question.intercept else []
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
    places = [*columns.tolist(), question.width - 1] if question.intercept else columns.tolist()
    z = [(j, m) for j, m in zip(places, whole, strict=True) if m]
    blocks = [(b * question.width, s) for b, s in enumerate(signs.tolist()) if s]
    return {shift + j: s * m for shift, s in blocks for j, m in z}, scale


def dot(a: Row, w: Row) -> int:
    """``<a, w>``, exactly; ``w`` another row."""
    return sum(m * w[j] for j, m in a.items() if j in w)


def combination(rows: Iterable[tuple[int, Row]]) -> Row:
    """The sum of the rows times their numbers, without its zeros."""
    total: Row = {}
    for number, row in rows:
        for j, m in row.items():
            total[j] = total.get(j, 0) + number * m
    return {j: m for j, m in total.items() if m}


def root_above(square: Fraction) -> float:
    """The square root, or a float a little above it, whatever the size of the numbers."""
    half = (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    try:
        root = math.ldexp(math.sqrt(square / Fraction(4) ** half) * (1 + 1e-15), half)
    except OverflowError:
        return math.inf
    return math.nextafter(root, math.inf) if square else 0.0


def dense_floats(row: Row, size: int) -> np.ndarray:
    """The whole numbers of a row, over a power of two near the largest, rounded."""
    dense = np.zeros(size)
    dense[list(row)] = _floats(row)
    return dense


def sparse_floats(rows: list[Row], size: int) -> sp.csr_matrix:
    """The whole numbers of some rows, each over a power of two near its largest, rounded."""
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
    """Rows in reduced echelon form: what one row space looks like, whatever rows span it.

    ``rows[p]`` is the row whose first entry, in column p, a pivot, is ``one``, a positive number;
    its other entries, none in a pivot column, are given: {column: number}.
    """

    rows: dict[int, Row]
    one: int = 1

    def basis(self) -> list[Row]:
        """The rows, in small numbers."""
        return [shortened({p: self.one, **line}) for p, line in self.rows.items()]

    def remainder(self, a: Row) -> Row:
        """What is left of a row, times ``one``: empty where it lies in the row space."""
        left = {j: self.one * m for j, m in a.items() if j not in self.rows}
        for pivot in a.keys() & self.rows.keys():
            check_time()
            for j, number in self.rows[pivot].items():
                left[j] = left.get(j, 0) - a[pivot] * number
        return {j: number for j, number in left.items() if number}

    def orthogonal(self, w: Row) -> Row:
        """The whole numbers, in the pivot columns, that make ``w`` a normal of every row.

        ``w`` has no pivot columns; all of it may be multiplied by one positive number.
        """
        found = {j: self.one * m for j, m in w.items()}
        for pivot, row in self.rows.items():
            check_time()
            found[pivot] = -sum(x * w[j] for j, x in row.items() if j in w)
        return shortened(found)


def to_whole(numbers: dict[int, Fraction]) -> Row:
    """The smallest whole numbers in the same proportion, without the zeros."""
    below = lcm(*(x.denominator for x in numbers.values())) if numbers else 1
    return {j: int(x * below) for j, x in numbers.items() if x}


def shortened(row: Row) -> Row:
    """The smallest whole numbers in the same proportion, without the zeros."""
    common = common_divisor(row.values())
    return {j: m // common for j, m in row.items() if m}


def common_divisor(numbers: Iterable[int]) -> int:
    """The greatest common divisor, 1 where all numbers are zero; looks no further than a 1."""
    found = 0
    for number in numbers:
        check_time()
        found = gcd(found, number)
        if found == 1:
            break
    return found or 1
