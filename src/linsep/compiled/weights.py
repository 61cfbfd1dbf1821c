"""Weight vectors as a step sees them: one vector, one column of several, or a pair of columns.

A step is written once for all of them. Binary learning changes one vector; one-vs-rest and
one-vs-one change a column per machine; the native multiclass rule adds to the true class what it
takes from its rival, which is the binary rule on the difference of the two columns (Kesler).

``keep`` says what is remembered of weights that will not last (:mod:`linsep.compiled.keep`), and
``now`` is the number of examples the machine saw before.
"""

from typing import Any, NamedTuple

import numpy as np

from linsep.compiled.jit import generic


class Vector(NamedTuple):
    """One weight vector of length features + 1."""

    w: np.ndarray
    bias: float
    keep: Any
    now: int


class Column(NamedTuple):
    """Column k of a matrix of shape (features + 1, columns)."""

    w: np.ndarray
    k: int
    bias: float
    keep: Any
    now: int


class Pair(NamedTuple):
    """The difference of two columns: what is added to ``plus`` is taken from ``minus``."""

    w: np.ndarray
    plus: np.uint64
    minus: np.uint64
    bias: float
    keep: Any
    now: int


@generic(0)
def shift(weights, array, j, amount):
    """Add ``amount`` at feature j of ``array``, where ``weights`` has its own weight of j."""


@shift.when(Vector)
def _shift_vector(weights, array, j, amount):
    array[j] += amount


@shift.when(Column)
def _shift_column(weights, array, j, amount):
    array[j, weights.k] += amount


@shift.when(Pair)
def _shift_pair(weights, array, j, amount):
    array[j, weights.plus] += amount
    array[j, weights.minus] -= amount


@generic(0)
def machine(weights):
    """Number of the machine these weights belong to; all classes of the native rule are one."""


@machine.when(Vector)
def _machine_of_vector(weights):
    return 0


@machine.when(Column)
def _machine_of_column(weights):
    return weights.k


@machine.when(Pair)
def _machine_of_pair(weights):
    return 0


@generic(0)
def copied(weights, array):
    """Copy all weights of the machine to where they belong in ``array``."""


@copied.when(Vector)
def _copied_vector(weights, array):
    for j in range(array.shape[0]):
        array[j] = weights.w[j]


@copied.when(Column)
def _copied_column(weights, array):
    for j in range(array.shape[0]):
        array[j, weights.k] = weights.w[j, weights.k]


@copied.when(Pair)
def _copied_pair(weights, array):
    # Plain loops: numba takes half a minute to compile a copy of a whole matrix in here.
    for j in range(array.shape[0]):
        for k in range(array.shape[1]):
            array[j, k] = weights.w[j, k]


@generic(0)
def vectors(weights):
    """How many weight vectors an example is added to: a joint example is as many times longer."""


@vectors.when(Vector)
def _one_vector(weights):
    return 1.0


@vectors.when(Column)
def _one_column(weights):
    return 1.0


@vectors.when(Pair)
def _two_columns(weights):
    return 2.0
