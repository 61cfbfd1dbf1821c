"""Least squares from exact sums of products, column by column, in numbers of many digits."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linsep.regression.precise import floats


class Elimination(NamedTuple):
    """What each column leaves when those before it are subtracted as well as they can be.

    Attributes
    ----------
    parts : numbers of shape (columns, columns), lower triangular
        Row j: the multipliers of columns 0 to j that give what is left of column j; 1 at j.
    left : numbers of shape (columns,)
        The squared lengths of what is left.
    sizes : array of shape (columns,)
        What was subtracted from what, in sums of lengths: rounding errors are relative to it.
    kept : list of int
        The columns that something is left of. The others are combinations of those before.
    """

    parts: Any
    left: Any
    sizes: np.ndarray
    kept: list[int]


def eliminate(G: Any, zeros: Callable[[tuple[int, ...]], Any], tolerance: float) -> Elimination:
    """Gram and Schmidt's process, on the products of the columns alone.

    A column is taken for a combination of those before if changes of its values and theirs by
    ``tolerance`` of their size can make it one. It is left out, as R's ``lm`` does it, rather than
    an earlier one.

    Parameters
    ----------
    G : numbers of shape (columns, columns), symmetric
        :class:`linsep.regression.precise.Pair` or an array of balls.
    zeros : makes such numbers of a shape
    tolerance : relative to the lengths of the columns
    """
    n = len(G)
    lengths = np.sqrt(floats(G[np.arange(n), np.arange(n)]))
    parts, left = zeros((n, n)), zeros((n,))
    one = zeros((1,)) + 1.0
    sizes = np.zeros(n)
    kept: list[int] = []
    for j in range(n):
        before = parts[kept][:, :j]
        products = (before * G[:j, j]).sum(axis=1)
        shares = products / left[kept]
        parts[j, :j] = -(before.T * shares).sum(axis=1) if kept else zeros((j,))
        parts[j, j] = one[0]
        left[j] = G[j, j] - (products * shares).sum(axis=0) if kept else G[j, j]
        sizes[j] = np.abs(floats(parts[j, : j + 1])) @ lengths[: j + 1]
        if float(floats(left[j])) > (tolerance * sizes[j]) ** 2:
            kept.append(j)
    return Elimination(parts, left, sizes, kept)
