"""What is remembered of weights that will not last: nothing, their sum, all changes, the steadiest.

The last weights are a poor choice where classes overlap. References: Y. Freund and R. Schapire,
Large margin classification using the perceptron algorithm, Machine Learning 37 (1999), for average
and vote; S. Gallant, Perceptron-based learning algorithms, IEEE Trans. Neural Networks 1 (1990),
for the pocket.
"""

from typing import NamedTuple

import numpy as np

from linsep.compiled.jit import generic, inlined
from linsep.compiled.weights import Column, Pair, Vector, copied, machine, shift


class Last(NamedTuple):
    """Nothing: the last weights are those to predict with."""


class Average(NamedTuple):
    """``sums`` of the shape of the weights: each change times the round it was made in.

    A change made in round t counts in all T - t rounds from then on, so that the mean of the
    weights over T rounds is weights - sums / T.
    """

    sums: np.ndarray


class Vote(NamedTuple):
    """Every change of every version of the weights, one after the other.

    Change n adds ``amounts[n]`` to the weight of ``features[n]`` in column ``columns[n]``. Version
    v was made in round ``rounds[v]`` of machine ``machines[v]`` by the changes from ``starts[v]``
    on. ``used`` is how many changes and versions there are; the arrays have room for more.
    """

    features: np.ndarray
    columns: np.ndarray
    amounts: np.ndarray
    starts: np.ndarray
    rounds: np.ndarray
    machines: np.ndarray
    used: np.ndarray


class Best(NamedTuple):
    """The ``weights`` that survived most rounds (``record``, one a machine) of those replaced.

    ``born`` is the round in which each machine's present weights were made.
    """

    weights: np.ndarray
    record: np.ndarray
    born: np.ndarray


class Aside(NamedTuple):
    """``weights`` whose changes go to ``sums`` instead, to be made later all at once."""

    weights: Vector
    sums: np.ndarray


@generic(0)
def replaced(keep, weights):
    """Note that the weights of a machine are about to change."""


@replaced.when(Last)
def _last_replaced(keep, weights):
    """Nothing to note."""


@replaced.when(Average)
def _average_replaced(keep, weights):
    """Nothing to note."""


@replaced.when(Vote)
def _vote_replaced(keep, weights):
    version = keep.used[1]
    keep.starts[version], keep.rounds[version] = keep.used[0], weights.now
    keep.machines[version] = machine(weights)
    keep.used[1] += 1


@replaced.when(Best)
def _best_replaced(keep, weights):
    m = machine(weights)
    if weights.now - keep.born[m] > keep.record[m]:
        keep.record[m] = weights.now - keep.born[m]
        copied(weights, keep.weights)
    keep.born[m] = weights.now


@generic(0)
def noted(keep, weights, j, amount):
    """Note that ``amount`` was added to the weight of feature j."""


@noted.when(Last)
def _last_noted(keep, weights, j, amount):
    """Nothing to note."""


@noted.when(Average)
def _average_noted(keep, weights, j, amount):
    shift(weights, keep.sums, j, weights.now * amount)


@noted.when(Vote)
def _vote_noted(keep, weights, j, amount):
    written(weights, keep, j, amount)


@noted.when(Best)
def _best_noted(keep, weights, j, amount):
    """Nothing to note."""


@inlined
def _write(keep, j, k, amount):
    if amount != 0.0:
        n = keep.used[0]
        keep.features[n], keep.columns[n], keep.amounts[n] = j, k, amount
        keep.used[0] += 1


@generic(0)
def written(weights, keep, j, amount):
    """Write down a change of feature j."""


@written.when(Vector)
def _vector_written(weights, keep, j, amount):
    _write(keep, j, 0, amount)


@written.when(Column)
def _column_written(weights, keep, j, amount):
    _write(keep, j, weights.k, amount)


@written.when(Pair)
def _pair_written(weights, keep, j, amount):
    _write(keep, j, weights.plus, amount)
    _write(keep, j, weights.minus, -amount)


@generic(0)
def begin(weights):
    """Say that the next changes of these weights make a new version."""


@generic(0)
def nudge(weights, j, amount):
    """Add ``amount`` to the weight of feature j."""


def _begin(weights):
    replaced(weights.keep, weights)


def _nudge(weights, j, amount):
    shift(weights, weights.w, j, amount)
    noted(weights.keep, weights, j, amount)


for _kind in (Vector, Column, Pair):
    begin.when(_kind)(_begin)
    nudge.when(_kind)(_nudge)


@begin.when(Aside)
def _aside_begin(weights):
    """The weights stay as they are for now."""


@nudge.when(Aside)
def _aside_nudge(weights, j, amount):
    shift(weights.weights, weights.sums, j, amount)


@generic(0)
def scattered(weights):
    """Whether neighbouring features have their weights far apart, so that zeros are worth leaving
    out; side by side they are added faster than looked at.
    """


@scattered.when(Vector)
def _side_by_side(weights):
    return False


@scattered.when(Column)
@scattered.when(Pair)
def _far_apart(weights):
    return True


@scattered.when(Aside)
def _aside_scattered(weights):
    return scattered(weights.weights)


@generic(0)
def add_constant(weights, amount):
    """Add ``amount`` times the constant feature to its weight, the last."""


def _add_constant(weights, amount):
    nudge(weights, np.uint64(weights.w.shape[0] - 1), amount * weights.bias)


for _kind in (Vector, Column, Pair):
    add_constant.when(_kind)(_add_constant)


@add_constant.when(Aside)
def _aside_add_constant(weights, amount):
    w = weights.weights.w
    nudge(weights, np.uint64(w.shape[0] - 1), amount * weights.weights.bias)
