"""Weights as a step uses them: one vector, one column of several, or a pair of columns.

A step is written once for all of them. Binary learning changes one vector; one-vs-rest and
one-vs-one change one column per binary classifier; the native multiclass rule adds to the true
class what it subtracts from its rival, which is the binary rule on the difference of the two
columns (Kesler).

``keep`` determines the record of earlier weights (:class:`Last`, :class:`Average`, :class:`Vote`,
:class:`Best`), and ``now`` is the number of earlier examples of the binary classifier.
"""

from typing import Any, NamedTuple

import numpy as np

from linsep.compiled.jit import generic, inlined


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
    """The difference of two columns: what is added to ``plus`` is subtracted from ``minus``.

    ``scores`` are the scores of all columns, for rules that learn from more than two.
    """

    w: np.ndarray
    plus: np.uint64
    minus: np.uint64
    bias: float
    keep: Any
    now: int
    scores: np.ndarray


@generic(0)
def value(weights, array, j):
    """Return the number in ``array`` where ``weights`` has its weight of feature j."""


value.when(Vector)(lambda weights, array, j: array[j])
value.when(Column)(lambda weights, array, j: array[j, weights.k])


@generic(0)
def put(weights, array, j, number):
    """Write a number there."""


@put.when(Vector)
def _put_in_vector(weights, array, j, number):
    array[j] = number


@put.when(Column)
def _put_in_column(weights, array, j, number):
    array[j, weights.k] = number


@generic(0)
def shift(weights, array, j, amount):
    """Add ``amount`` to ``array`` where ``weights`` has its weight of feature j."""


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
    """Return the index of the binary classifier of these weights; the native rule counts one."""


machine.when(Vector, Pair)(lambda weights: 0)
machine.when(Column)(lambda weights: weights.k)


@generic(0)
def copied(weights, array):
    """Copy all weights of the binary classifier to their position in ``array``."""


@copied.when(Vector, Column)
def _copied_column(weights, array):
    for j in range(array.shape[0]):
        put(weights, array, j, value(weights, weights.w, j))


@copied.when(Pair)
def _copied_pair(weights, array):
    # Plain loops: numba takes half a minute to compile a copy of a whole matrix in here.
    for j in range(array.shape[0]):
        for k in range(array.shape[1]):
            array[j, k] = weights.w[j, k]


@generic(0)
def vectors(weights):
    """Return how many vectors an update changes, a factor of the example's squared norm."""


vectors.when(Vector, Column)(lambda weights: 1.0)
vectors.when(Pair)(lambda weights: 2.0)


class Last(NamedTuple):
    """Record nothing: predict with the last weights."""


class Average(NamedTuple):
    """``sums``, of the shape of the weights, of each change times its round.

    A change in step t applies to the T - t steps from then on, so the mean of the weights over T
    steps is weights - sums / T.
    """

    sums: np.ndarray


class Vote(NamedTuple):
    """Every change of every version of the weights, in order.

    Change n adds ``amounts[n]`` to the weight of ``features[n]`` in column ``columns[n]``. Version
    v was created in step ``rounds[v]`` of binary classifier ``machines[v]`` by the changes from
    ``starts[v]`` on. ``used`` counts changes and versions; the arrays may be longer.
    """

    features: np.ndarray
    columns: np.ndarray
    amounts: np.ndarray
    starts: np.ndarray
    rounds: np.ndarray
    machines: np.ndarray
    used: np.ndarray


class Best(NamedTuple):
    """The replaced ``weights`` that survived most steps (``record``, one per binary classifier).

    ``created`` is the step in which each binary classifier's current weights were created.
    """

    weights: np.ndarray
    record: np.ndarray
    created: np.ndarray


class Deferred(NamedTuple):
    """``weights`` whose changes are added to ``sums``, to be applied later all at once."""

    weights: Vector
    sums: np.ndarray
    w: np.ndarray
    bias: float


@generic(0)
def replaced(keep, weights):
    """Record the weights of a binary classifier before they change."""


replaced.when(Last, Average)(lambda keep, weights: None)


@replaced.when(Vote)
def _vote_replaced(keep, weights):
    version = keep.used[1]
    keep.starts[version], keep.rounds[version] = keep.used[0], weights.now
    keep.machines[version] = machine(weights)
    keep.used[1] += 1


@replaced.when(Best)
def _best_replaced(keep, weights):
    m = machine(weights)
    if weights.now - keep.created[m] > keep.record[m]:
        keep.record[m] = weights.now - keep.created[m]
        copied(weights, keep.weights)
    keep.created[m] = weights.now


@generic(0)
def noted(keep, weights, j, amount):
    """Record that ``amount`` was added to the weight of feature j."""


noted.when(Last, Best)(lambda keep, weights, j, amount: None)
noted.when(Average)(lambda keep, weights, j, a: shift(weights, keep.sums, j, weights.now * a))


@inlined
def _write(keep, j, k, amount):
    if amount != 0.0:
        n = keep.used[0]
        keep.features[n], keep.columns[n], keep.amounts[n] = j, k, amount
        keep.used[0] += 1


@generic(0)
def written(weights, keep, j, amount):
    """Record a change of feature j."""


@written.when(Vector, Column)
def _column_written(weights, keep, j, amount):
    _write(keep, j, machine(weights), amount)


@written.when(Pair)
def _pair_written(weights, keep, j, amount):
    _write(keep, j, weights.plus, amount)
    _write(keep, j, weights.minus, -amount)


noted.when(Vote)(lambda keep, weights, j, amount: written(weights, keep, j, amount))


@generic(0)
def begin(weights):
    """Begin a new version of these weights."""


@generic(0)
def nudge(weights, j, amount):
    """Add ``amount`` to the weight of feature j."""


begin.when(Vector, Column, Pair)(lambda weights: replaced(weights.keep, weights))
begin.when(Deferred)(lambda weights: None)
nudge.when(Deferred)(lambda weights, j, a: shift(weights.weights, weights.sums, j, a))


@nudge.when(Vector, Column, Pair)
def _nudge(weights, j, amount):
    shift(weights, weights.w, j, amount)
    noted(weights.keep, weights, j, amount)


@generic(0)
def scattered(weights):
    """Return whether weights of neighboring features are far apart in memory, so that it pays to
    skip zeros; adjacent ones are added faster than tested.
    """


scattered.when(Vector)(lambda weights: False)
scattered.when(Column, Pair)(lambda weights: True)
scattered.when(Deferred)(lambda weights: scattered(weights.weights))


@inlined
def add_constant(weights, amount):
    """Add ``amount`` times the constant feature to the last weight."""
    nudge(weights, np.uint64(weights.w.shape[0] - 1), amount * weights.bias)
