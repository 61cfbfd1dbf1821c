"""Least squares from exact sums of products, column by column, in numbers of many digits."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linsep.regression.least_squares.slices import floats

#: a feature may be dependent if changes of its values and others' by so many roundings make it so,
#: and a fit perfect; the latter if y is rounded, and was the rounded sum of rounded products
ROUNDINGS, ROUNDINGS_OF_Y = 8.0, 2.0


class Elimination(NamedTuple):
    """What each column leaves when those before it are subtracted as well as they can be.

    Attributes
    ----------
    parts : numbers of shape (columns, columns), lower triangular
        Row j: the multipliers of columns 0 to j that give what is left of column j; 1 at j.
    left : numbers of shape (columns,)
        The squared lengths of what is left.
    taken : array of shape (columns,)
        The squared lengths of what each column took from the last; zero for those not kept.
    sizes : array of shape (columns,)
        What was subtracted from what, in sums of lengths: rounding errors are relative to it.
    kept : list of int
        The columns that something is left of. The others are combinations of those before.
    """

    parts: Any
    left: Any
    taken: np.ndarray
    sizes: np.ndarray
    kept: list[int]


class Rules(NamedTuple):
    """When a column is a combination of those before it. The last column is y.

    If nothing is left of it; or if rounding its values and theirs can have left as much, and that
    is next to nothing of its own. A fit is perfect if no more is left of y than one rounding of
    each value and one of its share in y can leave: residuals are their projection, not longer.

    Attributes
    ----------
    roundings : array of shape (columns,)
        By what length rounding can have changed each column; zero where values are exact.
    next_to_nothing : array of shape (columns,)
        Squared lengths that are so little of the columns' own, about the means with an intercept.
    noise : float
        The length, relative to ``sizes``, below which sums of products cannot tell.
    nothing : function of the columns kept and another
        Decides exactly whether nothing is left of it where the sums of products are exact.
    """

    roundings: np.ndarray
    next_to_nothing: np.ndarray
    noise: float
    nothing: Callable[[list[int], int], bool] | None = None

    def dependent(self, kept: list[int], row: np.ndarray, left: float, size: float) -> bool:
        """Whether the column after those of ``row`` is; the row has its multipliers, itself 1."""
        j = row.size - 1
        if left <= (self.noise * size) ** 2:
            return self.nothing is None or self.nothing(kept, j)
        allowed = float(np.abs(row) @ self.roundings[: j + 1])
        if j == self.roundings.size - 1:
            return left <= (ROUNDINGS_OF_Y * allowed) ** 2
        return left <= min((ROUNDINGS * allowed) ** 2, self.next_to_nothing[j])


def eliminate(G: Any, zeros: Callable[[tuple[int, ...]], Any], rules: Rules) -> Elimination:
    """Gram and Schmidt's process, on the products of the columns alone.

    A column that is a combination of those before is left out, as R's ``lm`` does it, rather than
    an earlier one.

    Parameters
    ----------
    G : numbers of shape (columns, columns), symmetric
        :class:`linsep.regression.least_squares.slices.Pair` or an array of balls.
    zeros : makes such numbers of a shape
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
