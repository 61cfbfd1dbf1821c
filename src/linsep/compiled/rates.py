"""How much of an example is added at the k-th update of a machine, k = 1, 2, ..."""

from typing import NamedTuple

import numpy as np

from linsep.compiled.jit import generic


class Constant(NamedTuple):
    """The same at every update."""

    first: float


class Inverse(NamedTuple):
    """first / k; ``updates`` counts them, one a machine."""

    first: float
    updates: np.ndarray


class InverseRoot(NamedTuple):
    """first / sqrt(k)."""

    first: float
    updates: np.ndarray


class Table(NamedTuple):
    """``rates[k]``, worked out beforehand for as many updates as can come."""

    rates: np.ndarray
    updates: np.ndarray


@generic(0)
def rate(schedule, m):
    """The rate of the next update of machine m, which is counted."""


@rate.when(Constant)
def _constant(schedule, m):
    return schedule.first


@rate.when(Inverse)
def _inverse(schedule, m):
    schedule.updates[m] += 1
    return schedule.first / schedule.updates[m]


@rate.when(InverseRoot)
def _inverse_root(schedule, m):
    schedule.updates[m] += 1
    return schedule.first / np.sqrt(schedule.updates[m])


@rate.when(Table)
def _table(schedule, m):
    schedule.updates[m] += 1
    return schedule.rates[schedule.updates[m]]
