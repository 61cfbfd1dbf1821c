"""Pairs of floats for logistic regression."""

from typing import Any

import numpy as np

from linsep.linear.least_squares import two_product, two_sum

__all__ = ["Pair", "pairs", "two_product", "two_sum"]


class Pair:
    """Arrays of double-double numbers hi + lo with about 106 bits.

    Supports ``+ - * /`` with broadcasting, indexing and ``sum``.
    """

    def __init__(self, hi: np.ndarray, lo: np.ndarray):
        self.hi, self.lo = hi, lo

    def __len__(self) -> int:
        return len(self.hi)

    def __getitem__(self, at: Any) -> "Pair":
        return Pair(self.hi[at], self.lo[at])

    def __setitem__(self, at: Any, value: "Pair") -> None:
        self.hi[at], self.lo[at] = value.hi, value.lo

    @property
    def T(self) -> "Pair":
        """The transpose."""
        return Pair(self.hi.T, self.lo.T)

    def __add__(self, other: Any) -> "Pair":
        other = _paired(other)
        hi, error = two_sum(self.hi, other.hi)
        lo, lost = two_sum(self.lo, other.lo)
        hi, error = _quick(hi, error + lo)
        return Pair(*_quick(hi, error + lost))

    def __neg__(self) -> "Pair":
        return Pair(-self.hi, -self.lo)

    def __sub__(self, other: Any) -> "Pair":
        return self + -_paired(other)

    def __mul__(self, other: Any) -> "Pair":
        other = _paired(other)
        hi, error = two_product(self.hi, other.hi)
        return Pair(*_quick(hi, error + (self.hi * other.lo + self.lo * other.hi)))

    def __matmul__(self, other: "Pair") -> "Pair":
        """Return the products with a vector, by whose elements columns are multiplied."""
        return (self * other).sum()

    def __truediv__(self, other: "Pair") -> "Pair":
        first = _paired(self.hi / other.hi)
        rest = self - first * other
        second = _paired(rest.hi / other.hi)
        rest = rest - second * other
        return first + second + _paired(rest.hi / other.hi)

    def sum(self, axis: int = -1) -> "Pair":
        """Sum along one axis, pairwise."""
        hi, lo = np.moveaxis(self.hi, axis, 0), np.moveaxis(self.lo, axis, 0)
        if not len(hi):
            return _paired(np.zeros(hi.shape[1:]))
        whole = Pair(hi, lo)
        while (n := len(whole.hi)) > 1:
            half = n // 2
            rest = whole[2 * half :]
            whole = whole[:half] + whole[half : 2 * half]
            if n % 2:
                whole = Pair(
                    np.concatenate([whole.hi, rest.hi]), np.concatenate([whole.lo, rest.lo])
                )
        return whole[0]


def _paired(value: Any) -> Pair:
    return value if isinstance(value, Pair) else Pair(np.asarray(value), np.zeros_like(value))


def _quick(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum of a and the smaller b, and its rounding error."""
    whole = a + b
    return whole, b - (whole - a)


def pairs(shape: tuple[int, ...]) -> Pair:
    """Return zeros as a :class:`Pair`."""
    return Pair(np.zeros(shape), np.zeros(shape))
