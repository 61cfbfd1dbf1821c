"""What values columns have, seen exactly: their ends, and whether they were ever rounded."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.regression.blocks import Block
from linsep.regression.least_squares.elimination import Elimination, Rules
from linsep.regression.least_squares.moments import Moments
from linsep.regression.least_squares.result import LeastSquares
from linsep.regression.least_squares.slices import floats

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


class ScaledColumns:
    """The columns 1, y and the features.

    Parameters
    ----------
    ranges : Ranges, of y and the features
    fit_intercept : bool
    digits : int, of how many bits are sure in the values of features
    centred : bool
        Whether to subtract centres, where that is exact.

    Attributes
    ----------
    exponents : int array of shape (width,), of the powers of two that columns are divided by
    centres : array of shape (width,), what is subtracted from them before
    order : list of int
        The columns as they are eliminated: the intercept if there is one, the features, y.
    """

    def __init__(
        self, ranges: Ranges, fit_intercept: bool, digits: int, *, centred: bool = False
    ) -> None:
        self.fit_intercept = fit_intercept
        width = 1 + ranges.low.size
        self.centres = np.zeros(width)
        if centred and fit_intercept:
            self.centres[1:] = ranges.centres()
        ends = [np.abs(end - self.centres[1:]) for end in (ranges.low, ranges.high)]
        tops = np.concatenate([[0.0], np.maximum(*ends)])
        self.exponents = np.where(tops > 0, np.frexp(tops)[1], 0)
        self.order = [*([0] if fit_intercept else []), *range(2, width), 1]
        self._same = np.concatenate([[False], ranges.same])
        bits = np.array([53, 53, *[digits] * (width - 2)])
        self._units = np.ldexp(1.0, -bits)
        self._rounded = np.concatenate([[False], ranges.rounded(bits[1:])])

    def ordered(self, G: Any) -> Any:
        """Products of the columns in the order in which they are eliminated."""
        return G[self.order][:, self.order]

    def rules(
        self, G: Any, *, noise: float = 0.0, nothing: Callable[..., bool] | None = None
    ) -> Rules:
        """What decides about these columns, of which G has the products."""
        means, _, own = self._about_means(G)
        lengths = np.sqrt(own + means**2 * float(floats(G[0, 0])))
        roundings = self._rounded * self._units * lengths
        next_to_nothing = own * self._units**1.5
        return Rules(roundings[self.order], next_to_nothing[self.order], noise, nothing)

    def fit(self, done: Elimination, G: Any, moments: Moments, method: str) -> LeastSquares:
        """Everything in floats, of the columns as they were given."""
        d, first = len(G) - 2, int(self.fit_intercept)
        units, unit_y = np.ldexp(1.0, self.exponents[2:]), np.ldexp(1.0, self.exponents[1])
        parts, left = self._of_given(done.parts), floats(done.left)
        means, rest, own = self._about_means(G)
        kept = [j for j in done.kept if j < d + first]
        is_kept = np.isin(np.arange(d) + first, kept)
        perfect = done.kept[-1:] != [d + first]
        residual = 0.0 if perfect else np.sqrt(left[-1])
        explained = np.sqrt(own[1] - left[-1] if perfect else done.taken[first:].sum())
        return LeastSquares(
            coef=np.where(is_kept, -parts[-1, 1:] * unit_y, 0.0),
            intercept=float(-parts[-1, 0] * unit_y),
            kept=is_kept,
            root=parts[kept] / np.sqrt(left[kept])[:, None],
            means=means[2:] * units,
            mean_y=float(means[1] * unit_y),
            means_rest=np.ldexp(rest, self.exponents)[1:],
            spread=np.sqrt(own[2:]) * units,
            residual_norm=float(residual * unit_y),
            y_norm=float(np.sqrt(own[1]) * unit_y),
            explained_norm=float(explained * unit_y),
            perfect=perfect,
            n_rows=moments.n_rows,
            total_weight=float(floats(G[0, 0])),
            log_weights=moments.log_weights,
            fit_intercept=self.fit_intercept,
            method=method,
            combinations={
                j: self._combination(parts[j + first], j) for j in np.flatnonzero(~is_kept).tolist()
            },
        )

    def _combination(self, part: np.ndarray, feature: int) -> np.ndarray:
        """What multiples of the intercept and the features add up to one."""
        row = -part * np.ldexp(1.0, self.exponents[2 + feature])
        row[1 + feature] = 0.0
        return row

    def _of_given(self, parts: Any) -> np.ndarray:
        """The multipliers of the intercept and the features, as they were given, in floats."""
        n, first = len(parts), int(self.fit_intercept)
        given = np.zeros((n, n - first))  # the column of y itself is not needed
        given[:, 1:] = floats(parts)[:, first:-1] * np.ldexp(1.0, -self.exponents[2:])
        if first:
            # A column less its centre is a column less a multiple of the intercept.
            centres = np.ldexp(self.centres, -self.exponents)[self.order]
            shifted = (parts * centres).sum(axis=1) if centres.any() else 0.0
            given[:, 0] = floats(parts[:, 0] - shifted)
        return given

    def _about_means(self, G: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The means of all columns, what these floats lack, and squared lengths about the means.

        All are scaled; without an intercept zeros, and squared lengths.
        """
        diagonal = np.arange(len(G))
        if not self.fit_intercept:
            return np.zeros(len(G)), np.zeros(len(G)), floats(G[diagonal, diagonal])
        means = G[0] / G[0, 0]
        own = floats(G[diagonal, diagonal] - G[0] * means)
        means = means + np.ldexp(self.centres, -self.exponents)
        return floats(means), floats(means - floats(means)), np.where(self._same, 0.0, own)
