"""Gram matrices without rounding: integers over one denominator.

A verdict must not depend on how kernel values are rounded: rounded values nearly always make a Gram
matrix nonsingular, and a nonsingular matrix separates any labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import gcd
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

#: most bits of a value, so that fractions are made in no time, and of all: half a gigabyte
LONGEST, MOST_BITS = 1 << 14, 1 << 32


class Ratio(NamedTuple):
    """The matrix ``above / below``: an array of Python's integers, and a positive integer."""

    above: np.ndarray
    below: int

    def plus(self, other: Ratio) -> Ratio:
        """Return the sum."""
        return Ratio(
            self.above * other.below + other.above * self.below, self.below * other.below
        ).reduced()

    def times(self, other: Ratio) -> Ratio | None:
        """Return the elementwise product, or None if values are too long."""
        if not fits(len(self.above), self.bits() + other.bits()):
            return None
        return Ratio(self.above * other.above, self.below * other.below).reduced()

    def power(self, degree: int) -> Ratio | None:
        """Return a power of every value, or None if values are too long."""
        if not fits(len(self.above), self.bits() * degree):
            return None
        return Ratio(self.above**degree, self.below**degree)

    def bits(self) -> int:
        """Return the number of bits of the longest value."""
        return int(np.abs(self.above).max()).bit_length() + self.below.bit_length()

    def reduced(self) -> Ratio:
        """Return the same matrix with smaller integers, if they have a common divisor."""
        common = gcd(self.below, *self.above.ravel().tolist())
        return Ratio(self.above // common, self.below // common) if common > 1 else self

    def values(self) -> np.ndarray:
        """Return the values: int if all are whole numbers, else Fraction."""
        if self.below == 1:
            return self.above
        K = np.empty(self.above.shape, dtype=object)
        for i, line in enumerate(self.above):
            K[i, i:] = K[i:, i] = [Fraction(m, self.below) for m in line[i:].tolist()]
        return K


def fits(n: int, bits: int) -> bool:
    """Return whether n x n numbers of this many bits are few and short enough."""
    return bits <= LONGEST and n * n * bits <= MOST_BITS


def constant(n: int, value: float) -> Ratio:
    """Return n x n times the same value."""
    exact, K = Fraction(value), np.empty((n, n), dtype=object)
    K[:] = exact.numerator
    return Ratio(K, exact.denominator)


class WholeRows:
    """Rows as integers over one denominator."""

    def __init__(self, X: Any) -> None:
        from linsep.certificate.integers import whole_numbers
        from linsep.certificate.numbers import exact_rows, tidy

        self.X = tidy(exact_rows(X))
        values = self.X.data if sp.issparse(self.X) else self.X.ravel()
        whole, scale = whole_numbers(values)
        numbers = np.array([m * scale.numerator for m in whole], dtype=object)
        common = gcd(scale.denominator, *numbers.tolist())
        self.numbers, self.below = numbers // common, scale.denominator // common

    def products(self) -> Ratio | None:
        """Return <x, y> of every pair of rows, or None if they are too long."""
        n, d = self.X.shape
        longest = max((abs(m).bit_length() for m in self.numbers.tolist()), default=0)
        if not fits(n, 2 * (longest + self.below.bit_length()) + d.bit_length()):
            return None
        if not sp.issparse(self.X):
            from flint import fmpz_mat

            A = fmpz_mat(n, d, self.numbers.tolist())
            found = [[int(m) for m in row] for row in (A * A.transpose()).tolist()]
            return Ratio(np.array(found, dtype=object).reshape(n, n), self.below**2).reduced()
        P = constant(n, 0).above
        for rows, column in self._columns():
            P[np.ix_(rows, rows)] += np.outer(column, column)
        return Ratio(P, self.below**2).reduced()

    def subsets(self) -> Ratio | None:
        """Return prod (1 + x_i y_i) of every pair of rows, or None if they are too long."""
        n, parts, below = self.X.shape[0], [], 1
        bits = np.zeros(n, dtype=int)
        for rows, numbers in self._columns():
            common = gcd(self.below, *numbers.tolist())
            column, square = numbers // common, (self.below // common) ** 2
            parts.append((rows, column, square))
            bits[rows] += [(square + m * m).bit_length() for m in column.tolist()]
            below *= square
            if not fits(n, int(bits.max()) + 2 * below.bit_length()):
                return None
        K = constant(n, 1).above
        for rows, column, square in parts:
            if square > 1:
                inside = np.zeros(n, dtype=bool)
                inside[rows] = True
                K[~np.outer(inside, inside)] *= square
            K[np.ix_(rows, rows)] *= square + np.outer(column, column)
        return Ratio(K, below).reduced()

    def _columns(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the rows and integers of every column with stored values."""
        if not sp.issparse(self.X):
            every = np.arange(self.X.shape[0])
            yield from ((every, column) for column in self.numbers.reshape(self.X.shape).T)
            return
        rows = np.repeat(np.arange(self.X.shape[0]), np.diff(self.X.indptr))
        order = np.argsort(self.X.indices, kind="stable")
        columns, starts = np.unique(self.X.indices[order], return_index=True)
        for places in np.split(order, starts[1:]) if columns.size else ():
            yield rows[places], self.numbers[places]


def weighted_counts(found: tuple[np.ndarray, Any, np.ndarray]) -> Ratio | None:
    """Return sums of weight * count * count, from the result of :meth:`Kernel.counts`."""
    _, counts, weights = found
    total: Ratio | None = None
    for weight in np.unique(weights):
        some = counts[:, np.flatnonzero(weights == weight)]
        products = WholeRows(sp.csr_matrix(some)).products()
        part = products and products.times(constant(some.shape[0], weight))
        if part is None:
            return None
        total = part if total is None else total.plus(part)
    return total
