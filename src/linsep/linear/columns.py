"""Exact ranges of columns, whether their values are rounded, and exact scaling."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from linsep.batches import Batch
from linsep.linear.extended_precision import (
    UNEXPLAINED,
    Elimination,
    Rules,
    design_matrix,
    floats,
)
from linsep.linear.result import LeastSquares, Targets

#: values with this many bits fewer than floats hold are exact; rounded decimals use all bits
SPARE_BITS = 12
#: exponent of the power of two that divides zero: larger than any other
NONE = 1 << 20
#: values that are copied in less time than it takes to look at two arrays
FEW = 1 << 16
#: rows that usually suffice to decide whether a column is rounded
FIRST = 64


class Ranges(NamedTuple):
    """Exact ranges of columns, arrays of shape (columns,).

    Attributes
    ----------
    low, high : the smallest and the largest value
    bottoms : exponents of the power of two above the smallest nonzero absolute value
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
        """Which columns are constant."""
        return self.low == self.high

    def rounded(self, digits: Any) -> np.ndarray:
        """Return which columns may hold values rounded to ``digits`` bits.

        Whole numbers that floats hold exactly are not rounded, nor are short fractions such as
        12.75. If any value of a column uses all bits, all values are treated as rounded, as
        decimals are.
        """
        whole = (self.grids >= 0) & (self.tops <= digits)
        return ~(whole | (self.tops - self.grids <= digits - SPARE_BITS))

    def centers(self) -> np.ndarray:
        """Floats that can be subtracted from all values without rounding; 0 if unknown.

        Sterbenz's lemma (Floating-Point Computation, 1974): x - c is exact for c/2 <= x <= 2c.
        """
        middle = ((self.low + self.high) / 2).astype(np.float64)
        near, far = np.minimum(abs(self.low), abs(self.high)), np.maximum(self.high, -self.low)
        alike = (np.sign(self.low) == np.sign(self.high)) & (far <= 2.9 * near)
        return np.where(alike, middle, 0.0)

    def wider(self, width: int) -> "Ranges":
        """Return the ranges with columns of zeros added up to this width."""
        more = (0, width - self.low.size)
        ends = [np.pad(end, more) for end in self[:2]]
        return Ranges(*ends, *(np.pad(e, more, constant_values=NONE) for e in self[2:]))


def ranges_of(block: Batch) -> Ranges:
    """Return the ranges of y and the features of some rows."""
    X, y = block.X, block.y
    if not sp.issparse(X) and X.dtype == y.dtype and X.size <= FEW:
        return _dense(np.column_stack([y, X]))
    return _joined(_dense(block.y[:, None]), _features(block))


def added_ranges(a: Ranges, b: Ranges) -> Ranges:
    """Return the ranges over the rows of both; missing features are zero."""
    width = max(a.low.size, b.low.size)
    a, b = a.wider(width), b.wider(width)
    lows = [np.minimum(p, q) for p, q in zip(a, b, strict=True)]
    return Ranges(lows[0], np.maximum(a.high, b.high), *lows[2:])


def _joined(first: Ranges, second: Ranges) -> Ranges:
    return Ranges(*(np.concatenate(pair) for pair in zip(first, second, strict=True)))


def _features(block: Batch) -> Ranges:
    return _sparse(sp.csr_array(block.X)) if block.sparse else _dense(block.dense())


def _dense(X: np.ndarray) -> Ranges:
    """Return the ranges of dense rows.

    A column known to be rounded stays so, and few rows usually show it; only the others are
    examined.
    """
    sizes = np.abs(X)
    low, high, least = X.min(axis=0), X.max(axis=0), sizes.min(axis=0)
    if not least.all():
        some = sizes[:, least == 0]
        least[least == 0] = np.where(some == 0, np.inf, some).min(axis=0)
    bottoms = np.where(np.isfinite(least), np.frexp(least)[1], NONE)
    grids = _grids(sizes[:FIRST]).min(axis=0)
    known = Ranges(low, high, bottoms, grids).rounded(digits_of(X.dtype))
    if not known.all():
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
    """Return the exponent of the largest power of two that divides each value."""
    digits = digits_of(sizes.dtype)
    shares, tops = np.frexp(sizes)
    whole = np.ldexp(shares, digits).astype(np.uint64)
    lowest = np.frexp((whole & (~whole + np.uint64(1))).astype(np.float64))[1] - 1
    return np.where(whole == 0, NONE, tops - digits + lowest)


def digits_of(dtype: np.dtype) -> int:
    """Return the number of bits in the significand of a float type."""
    return int(np.finfo(dtype).nmant) + 1


#: means, their rounding errors, and squared lengths about them
AboutMeans: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]


class ScaledColumns:
    """The columns 1, y and the features.

    Parameters
    ----------
    ranges : Ranges, of y and the features
    fit_intercept : bool
    digits : int, number of reliable bits in the values of features
    centered : bool
        Whether to subtract centers, where that is exact.

    Attributes
    ----------
    exponents : int array of shape (width,), exponents of the powers of two that divide the columns
    centers : array of shape (width,), subtracted before that
    order : list of int
        The order of elimination: the intercept, if any, the features, y.
    """

    def __init__(
        self, ranges: Ranges, fit_intercept: bool, digits: int, *, centered: bool = False
    ) -> None:
        self.fit_intercept = fit_intercept
        width = 1 + ranges.low.size
        self.centers = np.zeros(width)
        if centered and fit_intercept:
            self.centers[1:] = ranges.centers()
        ends = [np.abs(end - self.centers[1:]) for end in (ranges.low, ranges.high)]
        tops = np.concatenate([[0.0], np.maximum(*ends)])
        self.exponents = np.where(tops > 0, np.frexp(tops)[1], 0)
        self.order = [*([0] if fit_intercept else []), *range(2, width), 1]
        self._same = np.concatenate([[False], ranges.same])
        bits = np.array([53, 53, *[digits] * (width - 2)])
        self._units = np.ldexp(1.0, -bits)
        self._rounded = np.concatenate([[False], ranges.rounded(bits[1:])])

    def ordered(self, G: Any) -> Any:
        """Return the products of the columns in the order of elimination."""
        return G[self.order][:, self.order]

    def penalized(self, ordered: Any, l2: float) -> Any:
        """Return ordered products, with the penalty of a ridge added to the products of the
        features.
        """
        if l2:
            first, exponents = int(self.fit_intercept), self.exponents[2:]
            at = np.arange(first, first + exponents.size)
            ordered[at, at] = ordered[at, at] + self._ridge(l2)
        return ordered

    def _ridge(self, l2: float) -> np.ndarray:
        """Return the penalty on the squared coefficients of the scaled features."""
        return l2 * np.ldexp(1.0, -2 * self.exponents[2:])

    def rules(
        self, G: Any, about: AboutMeans, *, noise: float = 0.0,
        nothing: Callable[..., bool] | None = None,
    ) -> Rules:  # fmt: skip
        """Return the dependence rules for these columns, whose products are G."""
        means, _, own = about
        lengths = np.sqrt(own + means**2 * float(floats(G[0, 0])))
        roundings = self._rounded * self._units * lengths
        next_to_nothing = own * self._units**1.5
        next_to_nothing[1] = own[1] * UNEXPLAINED
        return Rules(roundings[self.order], next_to_nothing[self.order], noise, nothing)

    def fit(
        self,
        done: Elimination,
        G: Any,
        about: AboutMeans,
        y: Targets,
        method: str,
        l2: float = 0.0,
    ) -> LeastSquares:
        """Return the result in floats, for the original columns."""
        d, first = len(G) - 2, int(self.fit_intercept)
        units, unit_y = np.ldexp(1.0, self.exponents[2:]), np.ldexp(1.0, self.exponents[1])
        parts, left = self._of_given(done.parts), floats(done.left)
        means, rest, own = about
        kept = [j for j in done.kept if j < d + first]
        is_kept = np.zeros(first + d, dtype=bool)
        is_kept[kept] = True
        is_kept = is_kept[first:]
        perfect = done.kept[-1:] != [d + first]
        residual = 0.0 if perfect else np.sqrt(left[-1])
        explained = np.sqrt(own[1] if perfect else done.taken[first:].sum())
        if l2 and not perfect:  # what is left is the squared residuals and the penalty
            scaled = done.parts[-1, first:-1]
            rest = floats(done.left[-1:] - (scaled * scaled * self._ridge(l2)).sum())[0]
            residual = np.sqrt(max(rest, 0.0))
            explained = np.sqrt(max(own[1] - rest, 0.0))
        return LeastSquares(
            coef=np.where(is_kept, (0.0 - parts[-1, 1:]) * unit_y, 0.0),  # no negative zero
            intercept=float((0.0 - parts[-1, 0]) * unit_y),
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
            n_rows=y.rows,
            total_weight=float(floats(G[0, 0])),
            log_weights=y.log_weights,
            two_values=y.both,
            deviation=y.deviation,
            signature=y.signature.text,
            fit_intercept=self.fit_intercept,
            method=method,
            l2=l2,
            combinations={
                j: self._combination(parts[j + first], j) for j in np.flatnonzero(~is_kept).tolist()
            },
        )

    def _combination(self, part: np.ndarray, feature: int) -> np.ndarray:
        """Return the coefficients of the combination of other columns that equals a feature."""
        row = -part * np.ldexp(1.0, self.exponents[2 + feature])
        row[1 + feature] = 0.0
        return row

    def _of_given(self, parts: Any) -> np.ndarray:
        """Return the coefficients of the original intercept and features, in floats."""
        n, first = len(parts), int(self.fit_intercept)
        given = np.zeros((n, n - first))  # the column of y itself is not needed
        given[:, 1:] = floats(parts)[:, first:-1] * np.ldexp(1.0, -self.exponents[2:])
        if first:
            # Centering a column subtracts a multiple of the intercept.
            centers = np.ldexp(self.centers, -self.exponents)[self.order]
            shifted = (parts * centers).sum(axis=1) if centers.any() else 0.0
            given[:, 0] = floats(parts[:, 0] - shifted)
        return given

    def about_means(self, G: Any) -> AboutMeans:
        """Return the means of all columns, their rounding errors, and centered squared lengths.

        All are scaled; without an intercept the means are zero and nothing is centered.
        """
        diagonal = np.arange(len(G))
        if not self.fit_intercept:
            return np.zeros(len(G)), np.zeros(len(G)), floats(G[diagonal, diagonal])
        means = G[0] / G[0, 0]
        own = floats(G[diagonal, diagonal] - G[0] * means)
        means = means + np.ldexp(self.centers, -self.exponents)
        return floats(means), floats(means - floats(means)), np.where(self._same, 0.0, own)


#: largest range, in powers of two, of the values of a column and of weights that slices of floats
#: hold, and the largest weights
MOST_SPAN, MOST_EXPONENT = 150, 400


def slices_suffice(ranges: Ranges, blocks: Iterable[Batch]) -> bool:
    """Return whether :func:`linsep.linear.extended_precision.products` is exact for these
    rows.
    """
    ends = [0]
    for block in blocks:
        if block.weights is not None:
            ends += np.frexp([block.weights.min(), block.weights.max()])[1].tolist()
    span = int((ranges.tops - ranges.bottoms).max()) + max(ends) - min(ends)
    return span <= MOST_SPAN and max(map(abs, ends)) <= MOST_EXPONENT


def whole_products(blocks: list[Batch], exponents: np.ndarray) -> np.ndarray:
    """Return the sums over rows of w z z' as exact balls, with columns z = (1, y, features).

    Parameters
    ----------
    blocks : list of Batch
    exponents : int array of shape (width,)
        Column j is multiplied by 2^-exponents[j].
    """
    from flint import arb, fmpz, fmpz_mat

    width = len(exponents)
    rows = [_whole(design_matrix(block, width)) for block in blocks]
    weights = [_whole(_weights(block)) for block in blocks]
    units = np.min([own for _, own in rows], axis=0)
    unit = np.min([own for _, own in weights])
    total = fmpz_mat(width, width)
    for (whole, own), (factors, own_factor) in zip(rows, weights, strict=True):
        Z = whole << (own - units).astype(object)
        weighted = Z * (factors << (own_factor - unit).astype(object))
        total += _matrix(weighted).transpose() * _matrix(Z)
    powers = units - exponents
    G = np.empty((width, width), object)
    for i, j in np.ndindex(width, width):
        G[i, j] = arb((total[i, j], fmpz(int(powers[i] + powers[j] + unit))))
    return G


def _weights(block: Batch) -> np.ndarray:
    """Return the row weights as a column."""
    weights = np.ones(block.y.size) if block.weights is None else block.weights
    return weights[:, None]


def _whole(Z: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the values as Python integers, and the power of two that scales each column."""
    Z = Z.toarray() if sp.issparse(Z) else Z
    digits = digits_of(Z.dtype)
    shares, exponents = np.frexp(Z)
    sizes = np.ldexp(np.abs(shares), digits).astype(np.uint64).astype(object)
    exponents = np.where(Z == 0, NONE, exponents - digits)
    units = np.where((least := exponents.min(axis=0)) == NONE, 0, least)
    shifts = np.where(Z == 0, 0, exponents - units).astype(object)
    return (sizes << shifts) * np.where(Z < 0, -1, 1).astype(object), units


def _matrix(whole: np.ndarray) -> Any:
    """Return FLINT's matrix of integers."""
    from flint import fmpz_mat

    rows, width = whole.shape
    return fmpz_mat(rows, width, whole.ravel().tolist())


def independent(G: np.ndarray, some: list[int]) -> bool:
    """Return whether some columns are independent; G has their products as exact balls."""
    return _whole_part(G, some, some).rank() == len(some)


def exact_zeros(G: np.ndarray, kept: list[int]) -> np.ndarray:
    """Return which coefficients of the kept columns in the combination for the last are zero."""
    from flint import fmpz_mat

    kept = [j for j in kept if j < len(G) - 1]
    both = _whole_part(G, kept, [*kept, len(G) - 1])
    n = len(kept)
    left = fmpz_mat(n, n, [both[i, j] for i in range(n) for j in range(n)])
    right = fmpz_mat(n, 1, [both[i, n] for i in range(n)])
    zeros = np.zeros(len(G), dtype=bool)
    zeros[kept] = [entry == 0 for entry in left.solve(right).entries()]
    return zeros


def _whole_part(G: np.ndarray, some: list[int], others: list[int]) -> Any:
    """Return a submatrix of exact balls, scaled by a power of two to integers."""
    from flint import fmpz_mat

    parts = [G[i, j].mid().man_exp() for i in some for j in others]
    least = min(int(exponent) for _, exponent in parts)
    return fmpz_mat(len(some), len(others), [man << (int(e) - least) for man, e in parts])
