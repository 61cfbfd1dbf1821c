"""Gram-Schmidt elimination on sums of products, in extended precision."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linsep.regression.least_squares.slices import floats

#: roundings of the data that may separate a feature from exact dependence, and a fit from a perfect
#: one; the latter if y is rounded, as a rounded sum of rounded products
ROUNDINGS, ROUNDINGS_OF_Y = 8.0, 2.0


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

    It is if its residual is zero, or no larger than rounding of the data can explain and negligible
    relative to the column. A fit is perfect if the residual of y is no larger than the rounding of
    each value and of its product in y can explain.

    Attributes
    ----------
    roundings : array of shape (columns,)
        Length by which rounding may have changed each column; zero for exact values.
    next_to_nothing : array of shape (columns,)
        Negligible squared lengths, relative to the columns (centred with an intercept).
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
        allowed = float(np.abs(row) @ self.roundings[: j + 1])
        if j == self.roundings.size - 1:
            return left <= (ROUNDINGS_OF_Y * allowed) ** 2
        return left <= min((ROUNDINGS * allowed) ** 2, self.next_to_nothing[j])


def eliminate(G: Any, zeros: Callable[[tuple[int, ...]], Any], rules: Rules) -> Elimination:
    """Run the Gram-Schmidt process on the products of the columns.

    A column that is a combination of those before it is left out, as in R's ``lm``.

    Parameters
    ----------
    G : numbers of shape (columns, columns), symmetric
        :class:`linsep.regression.least_squares.slices.Pair` or an array of balls.
    zeros : function from a shape to such zeros
    rules : Rules
    """
    n = len(G)
    lengths = np.sqrt(floats(G[np.arange(n), np.arange(n)]))
    parts, left, taken = zeros((n, n)), zeros((n,)), np.zeros(n)
    one = zeros((1,)) + 1.0
    sizes = np.zeros(n)
    kept: list[int] = []
    for j in range(n):
        before = parts[kept][:, kept]
        products = (before * G[kept, j]).sum(axis=1)
        shares = products / left[kept]
        if kept:
            parts[j, kept] = -(before.T * shares).sum(axis=1)
        parts[j, j] = one[0]
        left[j] = G[j, j] - (products * shares).sum(axis=0) if kept else G[j, j]
        row = floats(parts[j, : j + 1])
        sizes[j] = np.abs(row) @ lengths[: j + 1]
        if j == n - 1:
            taken[kept] = floats(products * shares)
        if not rules.dependent(kept, row, float(floats(left[j])), sizes[j]):
            kept.append(j)
    return Elimination(parts, left, taken, sizes, kept)
