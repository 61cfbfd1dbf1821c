"""Sums of products without rounding errors, in double-double or ball arithmetic.

A column is cut into slices of 22 bits on one grid: products of slices and sums of 2,048 of them fit
in the 53 bits of a float, so that BLAS computes them exactly, in any order (Ozaki, Ogita, Oishi and
Rump, Numerical Algorithms 59, 2012, 95-118). The few matrices are then added in pairs of floats
(Dekker, Numerische Mathematik 18, 1971, 224-242) or in FLINT's balls.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.batches import Batch

#: 2 * BITS + log2(ROWS) is the number of bits of a float
BITS, ROWS = 21, 2048
#: most slices of a column: values below 2^-260 of the largest in a block are dropped
MOST_SLICES = 12
SPLIT = float(2**27 + 1)


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


def two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rounded sum and its exact rounding error (Knuth)."""
    whole = a + b
    part = whole - a
    return whole, (a - (whole - part)) + (b - part)


def two_product(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rounded product and its exact rounding error (Dekker)."""
    whole = a * b
    a_up, b_up = SPLIT * a, SPLIT * b
    a_hi, b_hi = a_up - (a_up - a), b_up - (b_up - b)
    a_lo, b_lo = a - a_hi, b - b_hi
    return whole, ((a_hi * b_hi - whole) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo


def pairs(shape: tuple[int, ...]) -> Pair:
    """Return zeros as a :class:`Pair`."""
    return Pair(np.zeros(shape), np.zeros(shape))


@cache
def _to_balls() -> np.ufunc:
    """Return the conversion to balls; FLINT is loaded when it is first needed."""
    from flint import arb

    return np.frompyfunc(lambda value: arb(float(value)), 1, 1)


@cache
def _from_ball() -> Callable[[Any], float]:
    """Return the conversion from a ball; a ball that contains zero has no meaningful midpoint."""
    from flint import arb

    zero = arb(0)
    return lambda ball: 0.0 if ball.contains(zero) else float(ball)


@cache
def _from_balls() -> np.ufunc:
    """Return the conversion from balls."""
    return np.frompyfunc(_from_ball(), 1, 1)


def balls(shape: tuple[int, ...]) -> np.ndarray:
    """Return zeros as an array of FLINT's balls, with its current precision."""
    balls_of: Any = _to_balls()(np.zeros(shape))
    return balls_of


def floats(numbers: Any) -> np.ndarray:
    """Return numbers of either kind as floats."""
    if isinstance(numbers, Pair):
        return numbers.hi
    return np.asarray(_from_balls()(numbers), dtype=np.float64)


def design_matrix(block: Batch, width: int) -> Any:
    """Return the columns 1, y and the features, ``width`` in all, as one array or CSR matrix."""
    ones = np.ones(block.y.size)
    if block.sparse:
        X = sp.csr_array(block.X)
        X.resize(X.shape[0], width - 2)
        return sp.csr_array(sp.hstack([sp.csr_array(np.column_stack([ones, block.y])), X]))
    Z = np.zeros((block.y.size, width), np.promote_types(block.X.dtype, np.float64))
    Z[:, 0], Z[:, 1] = ones, block.y
    Z[:, 2 : 2 + block.X.shape[1]] = block.dense()
    return Z


def products(
    block: Batch, exponents: np.ndarray, centers: np.ndarray, zeros: Callable[[Any], Any]
) -> Any:
    """Return the sums over rows of w z z' for the columns z = (1, y, features).

    Parameters
    ----------
    block : Batch
        At most ``ROWS`` rows.
    exponents : int array of shape (width,)
        Column j is multiplied by 2^-exponents[j], which scales its values to about 1.
    centers : array of shape (width,)
        Subtracted from the columns first, without rounding; zero for columns with zeros.
    zeros : :func:`pairs` or :func:`balls`

    Returns
    -------
    numbers of shape (width, width), rounded only where pairs or balls are added
    """
    Z = _scaled(design_matrix(block, len(exponents)), exponents, centers)
    left, total = list(slices(Z)), zeros((len(exponents), len(exponents)))
    if block.weights is not None:
        for b in _weighted(Z, block.weights):
            for a in left:
                total = total + _dense(a.T @ b)
        return total
    for i, a in enumerate(left):
        for j, b in enumerate(left[i:], i):
            product = _dense(a.T @ b)
            total = total + product
            if j > i:
                total = total + product.T
    return total


def slices(Z: Any) -> Iterator[Any]:
    """Yield slices of Z with few bits that sum to it, each column of a slice on one grid."""
    rest = Z.copy()
    values, column = (rest.data, rest.indices) if sp.issparse(rest) else (rest, slice(None))
    top = abs(rest).max(axis=0)
    top = np.asarray(top.todense()).ravel() if sp.issparse(rest) else top
    _, exponents = np.frexp(np.where(top > 0, top, 1))
    for _ in range(MOST_SLICES):
        unit = np.ldexp(1.0, np.maximum(exponents - BITS, -1000))[column]
        part = np.rint(values / unit) * unit
        values -= part
        exponents -= BITS + 1
        part = part.astype(np.float64)
        if sp.issparse(rest):
            part = _like(rest, part)
        yield part
        if not values.any():
            break


def _weighted(Z: Any, weights: np.ndarray) -> Iterator[Any]:
    """Yield the slices of the rows times their weights, without rounding errors."""
    sparse = sp.issparse(Z)
    values = Z.data if sparse else Z
    factor = np.repeat(weights, np.diff(Z.indptr)) if sparse else weights[:, None]
    first = values.astype(np.float64)
    for part in (first, (values - first).astype(np.float64)):
        for product in two_product(part, factor):
            if product.any():
                yield from slices(_like(Z, product) if sparse else product)


def _like(Z: Any, values: np.ndarray) -> Any:
    """Return Z with other values; of a CSR matrix, at the same places."""
    return sp.csr_array((values, Z.indices, Z.indptr), shape=Z.shape)


def _scaled(Z: Any, exponents: np.ndarray, centers: np.ndarray) -> Any:
    if sp.issparse(Z):
        return _like(Z, np.ldexp(Z.data - centers[Z.indices], -exponents[Z.indices]))
    return np.ldexp(Z - centers if centers.any() else Z, -exponents)


def _dense(product: Any) -> np.ndarray:
    return product.toarray() if sp.issparse(product) else product


#: roundings of the data that may separate a feature from exact dependence, and a fit from a perfect
#: one; the latter if y is rounded, as a rounded sum of rounded products
ROUNDINGS, ROUNDINGS_OF_Y = 8.0, 2.0
#: unexplained share of the variance of y above which a fit is not perfect
UNEXPLAINED = 2.0**-40


class Elimination(NamedTuple):
    """Residual of each column after regression on the columns before it.

    Attributes
    ----------
    parts : numbers of shape (columns, columns), lower triangular
        Row j: the coefficients of columns 0 to j that give the residual of column j; 1 at j.
    left : numbers of shape (columns,)
        Squared lengths of the residuals.
    taken : array of shape (columns,)
        Reduction of the last column's squared length by each column; zero for those not kept.
    sizes : array of shape (columns,)
        Sums of the lengths of the terms of each residual, to which rounding errors are relative.
    kept : list of int
        The independent columns. The others are combinations of those before.
    """

    parts: Any
    left: Any
    taken: np.ndarray
    sizes: np.ndarray
    kept: list[int]


class Rules(NamedTuple):
    """Rules for when a column is a linear combination of those before it. The last column is y.

    It is if its residual is zero, or so small that rounding of the data can explain it, and
    negligible relative to the column. A fit is perfect if rounding of each value and of its product
    in y can explain the residual of y, and R^2 is 1 to 12 digits.

    Attributes
    ----------
    roundings : array of shape (columns,)
        Length by which rounding may have changed each column; zero for exact values.
    next_to_nothing : array of shape (columns,)
        Negligible squared lengths, relative to the columns (centered with an intercept).
    noise : float
        Length, relative to ``sizes``, below which sums of products are rounding errors.
    nothing : function of the columns kept and another
        Decides exactly whether the residual is zero, for exact sums of products.
    """

    roundings: np.ndarray
    next_to_nothing: np.ndarray
    noise: float
    nothing: Callable[[list[int], int], bool] | None = None

    def dependent(self, kept: list[int], row: np.ndarray, left: float, size: float) -> bool:
        """Return whether a column is dependent; ``row`` has its coefficients, 1 for itself."""
        j = row.size - 1
        if left <= (self.noise * size) ** 2:
            return self.nothing is None or self.nothing(kept, j)
        last = j == self.roundings.size - 1
        if left > self.next_to_nothing[j]:
            return False
        allowed = float(np.abs(row) @ self.roundings[: j + 1])
        return left <= ((ROUNDINGS_OF_Y if last else ROUNDINGS) * allowed) ** 2


def eliminate(G: Any, zeros: Callable[[tuple[int, ...]], Any], rules: Rules) -> Elimination:
    """Run the Gram-Schmidt process on the products of the columns.

    A column that is a combination of those before it is left out, as in R's ``lm``.

    Parameters
    ----------
    G : numbers of shape (columns, columns), symmetric
        :class:`linsep.linear.extended_precision.Pair` or an array of balls.
    zeros : function from a shape to such zeros
    rules : Rules
    """
    if not isinstance(G, Pair):
        return _eliminate_balls(G, rules)
    n = len(G)
    lengths = np.sqrt(floats(G[np.arange(n), np.arange(n)]))
    parts, left, taken = zeros((n, n)), zeros((n,)), np.zeros(n)
    one = zeros((1,)) + 1.0
    sizes = np.zeros(n)
    kept: list[int] = []
    for j in range(n):
        before = parts[kept][:, kept]
        products = before @ G[kept, j]
        shares = products / left[kept]
        if kept:
            parts[j, kept] = -(before.T @ shares)
        parts[j, j] = one[0]
        left[j] = G[j, j] - products @ shares if kept else G[j, j]
        row = floats(parts[j, : j + 1])
        sizes[j] = np.abs(row) @ lengths[: j + 1]
        if j == n - 1:
            taken[kept] = floats(products * shares)
        if not rules.dependent(kept, row, float(floats(left[j])), sizes[j]):
            kept.append(j)
    return Elimination(parts, left, taken, sizes, kept)


def _eliminate_balls(G: np.ndarray, rules: Rules) -> Elimination:
    """Do the same with balls, of which arrays cost more than their arithmetic."""
    from flint import arb

    n, number, entries = len(G), _from_ball(), G.tolist()
    lengths = np.sqrt([number(entries[j][j]) for j in range(n)])
    parts = [[arb(0)] * n for _ in range(n)]
    left, taken, in_floats = [arb(0)] * n, np.zeros(n), np.zeros((n, n))
    kept: list[int] = []
    for j, row in enumerate(parts):
        rest, column = entries[j][j], [entries[i][j] for i in range(j)]
        for at, k in enumerate(kept):
            earlier = parts[k]
            product = sum((earlier[i] * column[i] for i in kept[:at]), column[k])
            share = product / left[k]
            rest -= product * share
            for i in kept[:at]:
                row[i] -= earlier[i] * share
            row[k] -= share
            if j == n - 1:
                taken[k] = number(product * share)
        row[j], left[j] = arb(1), rest
        known = in_floats[j, : j + 1]
        known[:] = [number(ball) for ball in row[: j + 1]]
        size = float(np.abs(known) @ lengths[: j + 1]) if rules.noise else 0.0
        if not rules.dependent(kept, known, number(rest), size):
            kept.append(j)
    sizes = np.abs(in_floats) @ lengths
    return Elimination(np.array(parts, object), np.array(left, object), taken, sizes, kept)
