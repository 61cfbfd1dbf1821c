"""A space of rows in reduced echelon form: plain fractions."""

from collections.abc import Mapping
from fractions import Fraction
from math import lcm
from typing import NamedTuple

import numpy as np

from linsep.theory.whole import Row

#: primes: products of two numbers below them fit 64 bits
PRIMES = (2147483647, 2147483629, 1073741789)


class Reduced(NamedTuple):
    """Rows in reduced echelon form: what one row space looks like, whatever rows span it.

    ``rows[p]`` is the row whose first entry is 1 in column p, a pivot; its other entries, none in
    a pivot column, are given: {column: number}.
    """

    rows: dict[int, dict[int, Fraction]]

    def basis(self) -> list[Row]:
        """The rows, in whole numbers."""
        return [to_whole({p: Fraction(1), **line}) for p, line in self.rows.items()]

    def remainder(self, a: Mapping[int, int | Fraction]) -> dict[int, Fraction]:
        """What is left of a row: empty where it lies in the row space."""
        left = {j: Fraction(m) for j, m in a.items() if j not in self.rows}
        for pivot in a.keys() & self.rows.keys():
            for j, number in self.rows[pivot].items():
                left[j] = left.get(j, Fraction(0)) - a[pivot] * number
        return {j: number for j, number in left.items() if number}

    def orthogonal(self, w: Row) -> Row:
        """The whole numbers, in the pivot columns, that make ``w`` a normal of every row.

        ``w`` has no pivot columns; all of it may be multiplied by one positive number.
        """
        exact: dict[int, Fraction] = {j: Fraction(m) for j, m in w.items()}
        for pivot, row in self.rows.items():
            exact[pivot] = -sum((x * w[j] for j, x in row.items() if j in w), Fraction(0))
        return to_whole(exact)

    def coefficients(self, width: int, intercept: bool) -> dict[int, dict[int, Fraction]]:
        """The weights that rows of this space determine, where columns depend on others.

        Of columns that depend on each other the first is kept and the others' weights are zero; the
        constant one, the last of each ``width``, goes before all others. Given are the numbers of
        those kept, each as a function on all weights: what the product with a row of the space is.
        """
        found = {p: {p: Fraction(1), **line} for p, line in self.rows.items()}
        top = max((j for line in found.values() for j in line), default=-1)
        for one in range(width - 1, top + 1, width) if intercept else ():
            holders = [p for p, line in found.items() if one in line and p != one]
            if not holders:
                continue
            last = max(holders)
            out = found.pop(last)
            kept = {j: x / out[one] for j, x in out.items()}
            for p in (p for p in holders if p != last):
                share = found[p][one]
                less = {j: found[p].get(j, 0) - share * x for j, x in kept.items()}
                found[p] = {j: x for j, x in (found[p] | less).items() if x}
            found[one] = kept
        return found


def to_whole(numbers: dict[int, Fraction]) -> Row:
    """The smallest whole numbers in the same proportion, without the zeros."""
    below = lcm(*(x.denominator for x in numbers.values())) if numbers else 1
    return {j: int(x * below) for j, x in numbers.items() if x}


def rank_at_least(rows: list[Row], columns: list[int], rank: int) -> bool:
    """Whether some rows, in some columns, have this rank: elimination modulo a prime.

    Yes is certain: a rank modulo a prime is never more than the rank. No can only be wrong where
    each of the primes divides the same numbers.
    """
    return any(_rank_modulo(rows, columns, prime) >= rank for prime in PRIMES)


def _rank_modulo(rows: list[Row], columns: list[int], prime: int) -> int:
    left = np.array([[row.get(j, 0) % prime for j in columns] for row in rows], dtype=np.int64)
    left = left.reshape(len(rows), len(columns))
    found = 0
    for column in range(len(columns)):
        places = np.flatnonzero(left[found:, column])
        if not places.size:
            continue
        place = found + int(places[0])
        left[[found, place]] = left[[place, found]]
        pivot = left[found] * pow(int(left[found, column]), -1, prime) % prime
        below = left[found + 1 :]
        below -= below[:, column : column + 1] * pivot % prime
        below %= prime
        found += 1
    return found
