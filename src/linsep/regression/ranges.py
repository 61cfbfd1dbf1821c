"""What values columns have, seen exactly: their ends, and whether they were ever rounded."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.regression.blocks import Block

#: values that need this many bits less than floats have were not rounded: decimals need them all
SPARE_BITS = 12
#: exponent of what divides zeros: larger than any
NONE = 1 << 20
#: so many rows tell whether the values of a column are rounded, mostly
FIRST = 64


class Ranges(NamedTuple):
    """Exact facts about columns, arrays of shape (columns,).

    Attributes
    ----------
    low, high : the least and the largest value
    bottoms : exponents of the power of two above the least absolute value that is not zero
    grids : exponents of the largest power of two that divides all values
    """

    low: np.ndarray
    high: np.ndarray
    bottoms: np.ndarray
    grids: np.ndarray

    @property
    def tops(self) -> np.ndarray:
        """Exponents of the power of two above all absolute values; 0 for columns of zeros."""
        largest = np.maximum(np.abs(self.low), np.abs(self.high))
        return np.where(largest > 0, np.frexp(largest)[1], 0)

    @property
    def same(self) -> np.ndarray:
        """Which columns have one value only."""
        return self.low == self.high

    def rounded(self, digits: Any) -> np.ndarray:
        """Which columns have values that floats of so many bits may have rounded.

        Whole numbers that floats hold exactly were not rounded, nor were short ones such as 12.75;
        where any value of a column uses all bits, all were, as decimals are.
        """
        whole = (self.grids >= 0) & (self.tops <= digits)
        return ~(whole | (self.tops - self.grids <= digits - SPARE_BITS))

    def centres(self) -> np.ndarray:
        """Floats that can be subtracted from all values without rounding; 0 where none is sure.

        Sterbenz's lemma (Floating-Point Computation, 1974): x - c is exact for c/2 <= x <= 2c.
        """
        middle = ((self.low + self.high) / 2).astype(np.float64)
        near, far = np.minimum(abs(self.low), abs(self.high)), np.maximum(self.high, -self.low)
        alike = (np.sign(self.low) == np.sign(self.high)) & (far <= 2.9 * near)
        return np.where(alike, middle, 0.0)

    def wider(self, width: int) -> "Ranges":
        """With columns of zeros up to this width."""
        more = (0, width - self.low.size)
        ends = [np.pad(end, more) for end in self[:2]]
        return Ranges(*ends, *(np.pad(e, more, constant_values=NONE) for e in self[2:]))


def ranges_of(blocks: Iterable[Block]) -> Ranges:
    """Of the columns y and the features, over all rows; features not seen in a block are zeros."""
    found: Ranges | None = None
    for block in blocks:
        for part in block.cut(8192):
            more = _joined(_dense(part.y[:, None], found, 0), _features(part, found))
            if found is not None:
                width = max(found.low.size, more.low.size)
                a, b = found.wider(width), more.wider(width)
                lows = [np.minimum(p, q) for p, q in zip(a, b, strict=True)]
                more = Ranges(lows[0], np.maximum(a.high, b.high), *lows[2:])
            found = more
    assert found is not None
    return found


def _joined(first: Ranges, second: Ranges) -> Ranges:
    return Ranges(*(np.concatenate(pair) for pair in zip(first, second, strict=True)))


def _features(block: Block, before: Ranges | None) -> Ranges:
    return _sparse(sp.csr_array(block.X)) if block.sparse else _dense(block.dense(), before, 1)


def _dense(X: np.ndarray, before: Ranges | None, first: int) -> Ranges:
    """Of some rows; ``first`` says where their columns are among those ``before``.

    A column that was rounded stays so, and few rows tell: others are not looked at closer.
    """
    sizes = np.abs(X)
    low, high, least = X.min(axis=0), X.max(axis=0), sizes.min(axis=0)
    some = sizes[:, least == 0]
    least[least == 0] = np.where(some == 0, np.inf, some).min(axis=0)
    bottoms = np.where(np.isfinite(least), np.frexp(least)[1], NONE)
    grids = _grids(sizes[:FIRST]).min(axis=0)
    known = Ranges(low, high, bottoms, grids).rounded(digits_of(X.dtype))
    if before is not None:
        seen = before.rounded(digits_of(X.dtype))[first : first + X.shape[1]]
        known[: seen.size] |= seen
    grids[~known] = _grids(sizes[:, ~known]).min(axis=0)
    return Ranges(low, high, bottoms, grids)


def _sparse(X: Any) -> Ranges:
    low, high = X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
    sizes, stored = np.abs(X.data), X.data != 0
    bottoms, grids = np.full(X.shape[1], NONE), np.full(X.shape[1], NONE)
    np.minimum.at(bottoms, X.indices[stored], np.frexp(sizes[stored])[1])
    np.minimum.at(grids, X.indices, _grids(sizes))
    return Ranges(low, high, bottoms, grids)


def _grids(sizes: np.ndarray) -> np.ndarray:
    """Of each value, the exponent of the largest power of two that divides it."""
    digits = digits_of(sizes.dtype)
    shares, tops = np.frexp(sizes)
    whole = np.ldexp(shares, digits).astype(np.uint64)
    lowest = np.frexp((whole & (~whole + np.uint64(1))).astype(np.float64))[1] - 1
    return np.where(whole == 0, NONE, tops - digits + lowest)


def digits_of(dtype: np.dtype) -> int:
    """How many bits the values of a type of floats have."""
    return int(np.finfo(dtype).nmant) + 1
