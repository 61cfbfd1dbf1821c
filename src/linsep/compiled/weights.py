"""Weight vectors as a step sees them: one vector, one column of several, or a pair of columns.

A step is written once for all of them. Binary learning changes one vector; one-vs-rest and
one-vs-one change a column per machine; the native multiclass rule adds to the true class what it
takes from its rival, which is the binary rule on the difference of the two columns (Kesler).
"""

from typing import NamedTuple

import numpy as np

from linsep.compiled.jit import generic


class Vector(NamedTuple):
    """One weight vector of length features + 1."""

    w: np.ndarray
    bias: float


class Column(NamedTuple):
    """Column k of a matrix of shape (features + 1, columns)."""

    w: np.ndarray
    k: int
    bias: float


class Pair(NamedTuple):
    """The difference of two columns: what is added to ``plus`` is taken from ``minus``."""

    w: np.ndarray
    plus: np.uint64
    minus: np.uint64
    bias: float


@generic(0)
def nudge(weights, j, amount):
    """Add ``amount`` to the weight of feature j."""


@nudge.when(Vector)
def _nudge_vector(weights, j, amount):
    weights.w[j] += amount


@nudge.when(Column)
def _nudge_column(weights, j, amount):
    weights.w[j, weights.k] += amount


@nudge.when(Pair)
def _nudge_pair(weights, j, amount):
    weights.w[j, weights.plus] += amount
    weights.w[j, weights.minus] -= amount
