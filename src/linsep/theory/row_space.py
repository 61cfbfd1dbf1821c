"""A space of rows in reduced echelon form, in whole numbers."""

from collections.abc import Iterable
from fractions import Fraction
from math import gcd, lcm
from typing import NamedTuple

from linsep.theory.whole import Row
from linsep.theory.work import check_time


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
