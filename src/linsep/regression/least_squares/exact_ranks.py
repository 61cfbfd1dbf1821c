"""Sums of products in integers: exact for values of any range, with exact ranks."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from flint import arb, fmpz, fmpz_mat

from linsep.regression.blocks import Block, columns
from linsep.regression.least_squares.columns import NONE, Ranges, digits_of

#: largest range, in powers of two, of the values of a column and of weights that slices of floats
#: hold, and the largest weights
MOST_SPAN, MOST_EXPONENT = 150, 400


def slices_suffice(ranges: Ranges, blocks: Iterable[Block]) -> bool:
    """Return whether :func:`linsep.regression.least_squares.slices.products` is exact for these
    rows.
    """
    ends = [0]
    for block in blocks:
        if block.weights is not None:
            ends += np.frexp([block.weights.min(), block.weights.max()])[1].tolist()
    span = int((ranges.tops - ranges.bottoms).max()) + max(ends) - min(ends)
    return span <= MOST_SPAN and max(map(abs, ends)) <= MOST_EXPONENT


def whole_products(blocks: list[Block], exponents: np.ndarray) -> np.ndarray:
    """Return the sums over rows of w z z' as exact balls, with columns z = (1, y, features).

    Parameters
    ----------
    blocks : list of Block
    exponents : int array of shape (width,)
        Column j is multiplied by 2^-exponents[j].
    """
    width = len(exponents)
    rows = [_whole(columns(block, width)) for block in blocks]
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


def _weights(block: Block) -> np.ndarray:
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


def _matrix(whole: np.ndarray) -> fmpz_mat:
    rows, width = whole.shape
    return fmpz_mat(rows, width, whole.ravel().tolist())


def independent(G: np.ndarray, some: list[int]) -> bool:
    """Return whether some columns are independent; G has their products as exact balls."""
    return _whole_part(G, some, some).rank() == len(some)


def exact_zeros(G: np.ndarray, kept: list[int]) -> np.ndarray:
    """Return which coefficients of the kept columns in the combination for the last are zero."""
    kept = [j for j in kept if j < len(G) - 1]
    both = _whole_part(G, kept, [*kept, len(G) - 1])
    n = len(kept)
    left = fmpz_mat(n, n, [both[i, j] for i in range(n) for j in range(n)])
    right = fmpz_mat(n, 1, [both[i, n] for i in range(n)])
    zeros = np.zeros(len(G), dtype=bool)
    zeros[kept] = [entry == 0 for entry in left.solve(right).entries()]
    return zeros


def _whole_part(G: np.ndarray, some: list[int], others: list[int]) -> fmpz_mat:
    """Return a submatrix of exact balls, scaled by a power of two to integers."""
    parts = [G[i, j].mid().man_exp() for i in some for j in others]
    least = min(int(exponent) for _, exponent in parts)
    return fmpz_mat(len(some), len(others), [man << (int(e) - least) for man, e in parts])
