"""Gram matrices without rounding: integers over one denominator.

A verdict must not depend on how kernel values are rounded: rounded values nearly always make a Gram
matrix nonsingular, and a nonsingular matrix separates any labels.
"""

from __future__ import annotations

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

    def times(self, other: Ratio) -> Ratio:
        """Return the elementwise product."""
        return Ratio(self.above * other.above, self.below * other.below).reduced()

    def power(self, degree: int) -> Ratio | None:
        """Return a power of every value, or None if values are too long."""
        bits = int(np.abs(self.above).max()).bit_length() + self.below.bit_length()
        if not fits(len(self.above), bits * degree):
            return None
        return Ratio(self.above**degree, self.below**degree)

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
    exact = Fraction(value)
    return Ratio(np.full((n, n), exact.numerator, object), exact.denominator)


def whole_rows(X: Any) -> tuple[Any, np.ndarray, int]:
    """Return rows with their stored numbers as integers over a denominator."""
    from linsep.certificate.canonical import exact_rows
    from linsep.certificate.constraints import whole_numbers

    X = exact_rows(X)
    whole, scale = whole_numbers(X.data if sp.issparse(X) else X.ravel())
    numbers = np.array([m * scale.numerator for m in whole], dtype=object)
    common = gcd(scale.denominator, *numbers.tolist())
    return X, numbers // common, scale.denominator // common


def _dense(X: Any, numbers: np.ndarray) -> np.ndarray:
    if not sp.issparse(X):
        return numbers.reshape(X.shape)
    found = np.zeros(X.shape, dtype=object)
    found[np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), X.indices] = numbers
    return found


def products(X: Any) -> Ratio:
    """Return <x, y> of every pair of rows."""
    X, numbers, below = whole_rows(X)
    n, d = X.shape
    longest = max((abs(m).bit_length() for m in numbers.tolist()), default=0)
    if sp.issparse(X) and 2 * longest + d.bit_length() < 63:
        A = sp.csr_matrix((numbers.astype(np.int64), X.indices, X.indptr), X.shape)
        found = (A @ A.T).toarray().astype(object)
    else:
        from flint import fmpz_mat

        B = fmpz_mat(n, d, _dense(X, numbers).ravel().tolist())
        rows = [[int(m) for m in row] for row in (B * B.transpose()).tolist()]
        found = np.array(rows, dtype=object).reshape(n, n)
    return Ratio(found, below**2).reduced()


def subsets(X: Any) -> Ratio | None:
    """Return prod (1 + x_i y_i) of every pair of rows, or None if they are too long."""
    X, numbers, denominator = whole_rows(X)
    n, below, bits = X.shape[0], 1, np.zeros(X.shape[0], dtype=int)
    K = constant(n, 1).above
    for whole in _dense(X, numbers).T:
        common = gcd(denominator, *whole.tolist())
        column, square = whole // common, (denominator // common) ** 2
        bits += [(square + m * m).bit_length() if m or square > 1 else 0 for m in column.tolist()]
        below *= square
        if not fits(n, int(bits.max()) + 2 * below.bit_length()):
            return None
        rows = np.flatnonzero(column) if square == 1 else np.arange(n)
        K[np.ix_(rows, rows)] *= square + np.outer(column[rows], column[rows])
    return Ratio(K, below).reduced()


def weighted_counts(found: tuple[np.ndarray, Any, np.ndarray]) -> Ratio:
    """Return sums of weight * count * count, from the result of :meth:`Kernel.counts`."""
    _, counts, weights = found
    total = constant(counts.shape[0], 0.0)
    for weight in np.unique(weights):
        inner = products(sp.csr_matrix(counts[:, np.flatnonzero(weights == weight)]))
        total = total.plus(inner.times(constant(len(inner.above), weight)))
    return total
