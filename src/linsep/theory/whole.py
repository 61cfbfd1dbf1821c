"""Floats as what they are, whole numbers times a power of two: arithmetic without rounding.

Signs and zeros do not change when a row, or all weights, are multiplied by a positive number. So
each row and each weight vector becomes whole numbers, which Python adds and multiplies exactly.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from linsep.theory.data import Piece
from linsep.theory.questions import Question

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


def row_of(piece: Piece, row: int, intercept: bool) -> tuple[Row, int]:
    """The whole numbers of [x; 1] and their exponent: [x; 1] is the row times 2**exponent."""
    columns, numbers = piece.row(row)
    ones = [1] if intercept else []
    if numbers.dtype.kind in "iu":
        whole, exponent = numbers.tolist() + ones, 0
    else:
        whole, exponent = whole_numbers(np.append(numbers.astype(np.float64), ones))
    places = columns.tolist() + [piece.X.shape[1]] * intercept
    return {j: m for j, m in zip(places, whole, strict=True) if m}, exponent


def constraint(question: Question, piece: Piece, row: int, which: int) -> tuple[Row, int]:
    """The whole numbers of one constraint, and their exponent."""
    z, exponent = row_of(piece, row, question.intercept)
    signs = question.coefficients[piece.codes[row]][which].tolist()
    width = question.width
    a = {b * width + j: s * m for b, s in enumerate(signs) if s for j, m in z.items()}
    return a, exponent


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


def nearest_floats(numbers: list[int]) -> np.ndarray:
    """The numbers over the largest of them, each rounded once."""
    from fractions import Fraction

    top = max((abs(m) for m in numbers), default=0) or 1
    power = 1 << top.bit_length()
    return np.array([float(Fraction(m, power)) if m else 0.0 for m in numbers])
