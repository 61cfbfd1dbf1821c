"""Rows in memory, dense, sparse or scaled, and the few things a learner does with one row.

Everything else is written once, in terms of these. The last weight belongs to the constant
feature ``bias`` (1 with an intercept, 0 without): learning an intercept is learning one more
weight, so no rule needs to know about it.
"""

from typing import Any, NamedTuple

import numpy as np

from linsep.compiled.core.jit import compiled, generic, inlined, prefetch
from linsep.compiled.core.weights import add_constant, begin, nudge, scattered

# Unsigned indices spare the check for negative ones, which costs more than the load itself.
U = np.uint64
TINY, HUGE = 1e-280, 1e280  # outside, sums of squares have few digits left, or none


class Dense(NamedTuple):
    """Rows of a C-contiguous array of shape (rows, features), float32 or float64.

    ``room`` has place for the features of a row.
    """

    values: np.ndarray
    room: np.ndarray


class Csr(NamedTuple):
    """Rows in compressed form: row i has ``values[starts[i]:starts[i+1]]`` at those ``columns``."""

    values: np.ndarray
    columns: np.ndarray
    starts: np.ndarray


class Whole(NamedTuple):
    """Dense rows, every value looked at."""

    values: np.ndarray


class Picked(NamedTuple):
    """Dense rows of which only the values in the first ``many`` of ``columns`` are looked at."""

    values: np.ndarray
    columns: np.ndarray
    many: int


class Unit(NamedTuple):
    """Other rows, each multiplied by its scale: 1 / ||x||, or 1 for a row of zeros."""

    rows: Any
    scales: np.ndarray


@generic(0)
def dot(rows, i, w):
    """<w, x> of row i for one weight vector, the intercept left out."""


@dot.when(Dense, reorder=True)
def _dense_dot(rows, i, w):
    total = 0.0
    for j in range(U(rows.values.shape[1])):
        total += w[j] * rows.values[i, j]
    return total


@inlined
def _term(rows, w, at):
    return w[U(rows.columns[at])] * rows.values[at]


@dot.when(Csr)
def _sparse_dot(rows, i, w):
    # Eight sums run side by side: one alone would wait for its last addition at every value.
    begin, end = U(rows.starts[i]), U(rows.starts[i + U(1)])
    a = b = c = d = e = f = g = h = 0.0
    at = begin
    while at + U(8) <= end:
        a, b = a + _term(rows, w, at), b + _term(rows, w, at + U(1))
        c, d = c + _term(rows, w, at + U(2)), d + _term(rows, w, at + U(3))
        e, f = e + _term(rows, w, at + U(4)), f + _term(rows, w, at + U(5))
        g, h = g + _term(rows, w, at + U(6)), h + _term(rows, w, at + U(7))
        at += U(8)
    if at + U(4) <= end:
        a, b = a + _term(rows, w, at), b + _term(rows, w, at + U(1))
        c, d = c + _term(rows, w, at + U(2)), d + _term(rows, w, at + U(3))
        at += U(4)
    while at < end:
        a += _term(rows, w, at)
        at += U(1)
    return ((a + b) + (c + d)) + ((e + f) + (g + h))


@dot.when(Unit)
def _scaled_dot(rows, i, w):
    return rows.scales[i] * dot(rows.rows, i, w)


@generic(0)
def span(rows, i):
    """The first place of row i, and the one after its last."""


@span.when(Dense)
@span.when(Whole)
def _dense_span(rows, i):
    return U(0), U(rows.values.shape[1])


@span.when(Picked)
def _picked_span(rows, i):
    return U(0), U(rows.many)


@span.when(Csr)
def _sparse_span(rows, i):
    return U(rows.starts[i]), U(rows.starts[i + U(1)])


@generic(0)
def entry(rows, i, at):
    """The feature and the value in one place of row i."""


@entry.when(Dense)
@entry.when(Whole)
def _dense_entry(rows, i, at):
    return at, np.float64(rows.values[i, at])


@entry.when(Picked)
def _picked_entry(rows, i, at):
    j = U(rows.columns[at])
    return j, np.float64(rows.values[i, j])


@entry.when(Csr)
def _sparse_entry(rows, i, at):
    return U(rows.columns[at]), np.float64(rows.values[at])


@inlined
def _eight(rows, i, at):
    """Eight entries."""
    a, b = entry(rows, i, at), entry(rows, i, at + U(1))
    c, d = entry(rows, i, at + U(2)), entry(rows, i, at + U(3))
    e, f = entry(rows, i, at + U(4)), entry(rows, i, at + U(5))
    return a, b, c, d, e, f, entry(rows, i, at + U(6)), entry(rows, i, at + U(7))


@inlined
def _part(W, k, eight):
    """Eight values times their weights in column k, summed as a tree, which waits for nothing."""
    a, b, c, d, e, f, g, h = eight
    first = (a[1] * W[a[0], k] + b[1] * W[b[0], k]) + (c[1] * W[c[0], k] + d[1] * W[d[0], k])
    return first + (
        (e[1] * W[e[0], k] + f[1] * W[f[0], k]) + (g[1] * W[g[0], k] + h[1] * W[h[0], k])
    )


@generic(0)
def dots(rows, i, W, scores):
    """<w, x> of row i for every column of W, into ``scores``."""


def _dots(rows, i, W, scores):
    # Columns side by side are SIMD; eight values at a time, so that scores are fetched but once.
    at, end = span(rows, i)
    scores[:] = 0.0
    while at + U(8) <= end:
        eight = _eight(rows, i, at)
        for k in range(U(W.shape[1])):
            scores[k] += _part(W, k, eight)
        at += U(8)
    while at < end:
        j, x = entry(rows, i, at)
        for k in range(U(W.shape[1])):
            scores[k] += x * W[j, k]
        at += U(1)


@generic(0)
def dots_at(rows, i, W, chosen, scores):
    """<w, x> of row i for the columns of W listed in ``chosen``, into ``scores``."""


def _dots_at(rows, i, W, chosen, scores):
    at, end = span(rows, i)
    scores[: chosen.size] = 0.0
    while at + U(8) <= end:
        eight = _eight(rows, i, at)
        for q in range(U(chosen.size)):
            scores[q] += _part(W, U(chosen[q]), eight)
        at += U(8)
    while at < end:
        j, x = entry(rows, i, at)
        for q in range(U(chosen.size)):
            scores[q] += x * W[j, U(chosen[q])]
        at += U(1)


for _form in (Whole, Picked, Csr):
    dots.when(_form)(_dots)
    dots_at.when(_form)(_dots_at)


@inlined
def picked(rows, i):
    """How many values of a row are not zero, their features in the room; -1 if more than half."""
    width = U(rows.values.shape[1])
    count = 0
    for j in range(width):
        count += int(rows.values[i, j] != 0.0)
    if 2 * count > rows.values.shape[1]:
        return -1
    at = U(0)
    for j in range(width):
        rows.room[at] = j
        at += U(rows.values[i, j] != 0.0)
    return count


@dots.when(Dense)
def _dense_dots(rows, i, W, scores):
    count = picked(rows, i)
    if count < 0:
        dots(Whole(rows.values), i, W, scores)
    else:
        dots(Picked(rows.values, rows.room, count), i, W, scores)


@dots_at.when(Dense)
def _dense_dots_at(rows, i, W, chosen, scores):
    count = picked(rows, i)
    if count < 0:
        dots_at(Whole(rows.values), i, W, chosen, scores)
    else:
        dots_at(Picked(rows.values, rows.room, count), i, W, chosen, scores)


@dots.when(Unit)
def _scaled_dots(rows, i, W, scores):
    dots(rows.rows, i, W, scores)
    for k in range(W.shape[1]):
        scores[k] *= rows.scales[i]


@dots_at.when(Unit)
def _scaled_dots_at(rows, i, W, chosen, scores):
    dots_at(rows.rows, i, W, chosen, scores)
    for q in range(chosen.size):
        scores[q] *= rows.scales[i]


@generic(0)
def square(rows, i):
    """||x||^2 of row i, the constant feature left out."""


@square.when(Dense, reorder=True)
def _dense_square(rows, i):
    total = 0.0
    for j in range(U(rows.values.shape[1])):
        total += np.float64(rows.values[i, j]) * rows.values[i, j]
    return total


@square.when(Csr)
def _sparse_square(rows, i):
    total = 0.0
    for at in range(U(rows.starts[i]), U(rows.starts[i + U(1)])):
        total += np.float64(rows.values[at]) * rows.values[at]
    return total


@square.when(Unit)
def _scaled_square(rows, i):
    return rows.scales[i] * rows.scales[i] * square(rows.rows, i)


@generic(0)
def add_features(rows, i, weights, amount):
    """Weights += amount * x of row i, the constant feature left out."""


@add_features.when(Dense)
def _dense_add(rows, i, weights, amount):
    for j in range(U(rows.values.shape[1])):
        if not scattered(weights) or rows.values[i, j] != 0.0:
            nudge(weights, j, amount * rows.values[i, j])


@add_features.when(Csr)
def _sparse_add(rows, i, weights, amount):
    for at in range(U(rows.starts[i]), U(rows.starts[i + U(1)])):
        nudge(weights, U(rows.columns[at]), amount * rows.values[at])


@add_features.when(Unit)
def _scaled_add(rows, i, weights, amount):
    add_features(rows.rows, i, weights, amount * rows.scales[i])


@inlined
def add(rows, i, weights, amount):
    """Weights += amount * z, where z is row i with its constant feature: a new version."""
    begin(weights)
    add_features(rows, i, weights, amount)
    add_constant(weights, amount)


@generic(0)
def ahead(rows, i):
    """Ask the memory for row i, which comes up soon; changes nothing."""


@ahead.when(Dense)
def _dense_ahead(rows, i):
    """Nothing: the processor finds the next dense row by itself, and asking costs a fifth."""


@ahead.when(Csr)
def _sparse_ahead(rows, i):
    begin, end = U(rows.starts[i]), U(rows.starts[i + U(1)])
    for at in range(begin, end, U(64 // rows.values.itemsize)):
        prefetch(rows.values, at)
    for at in range(begin, end, U(64 // rows.columns.itemsize)):
        prefetch(rows.columns, at)


@ahead.when(Unit)
def _scaled_ahead(rows, i):
    ahead(rows.rows, i)


@generic(0)
def inside(rows, i, width):
    """Whether row i has features below ``width`` only; beyond is other memory."""


@inside.when(Dense)
def _dense_inside(rows, i, width):
    return True


@inside.when(Csr)
def _sparse_inside(rows, i, width):
    begin, end = U(rows.starts[i]), U(rows.starts[i + U(1)])
    lowest = highest = rows.columns.dtype.type(0)
    for at in range(begin, end):
        lowest, highest = min(lowest, rows.columns[at]), max(highest, rows.columns[at])
    return begin == end or (lowest >= 0 and highest < width)


@inside.when(Unit)
def _scaled_inside(rows, i, width):
    return inside(rows.rows, i, width)


@compiled
def scales(rows, n_rows):
    """1 / ||x|| of every row, 1 for a row of zeros; shape (n_rows,)."""
    found = np.ones(n_rows)
    for i in range(U(n_rows)):
        total = square(rows, i)
        if TINY < total < HUGE:
            found[i] = 1.0 / np.sqrt(total)
        else:
            found[i] = _careful_scale(rows, i)
    return found


@inlined
def _careful_scale(rows, i):
    """1 / ||x|| where the squares have lost their digits: those of x / largest have not."""
    first, end = span(rows, i)
    largest = total = 0.0
    for at in range(first, end):
        largest = max(largest, abs(entry(rows, i, at)[1]))
    if largest == 0.0:
        return 1.0
    for at in range(first, end):
        total += (entry(rows, i, at)[1] / largest) ** 2
    return 1.0 / (largest * np.sqrt(total))


def read_only(array: np.ndarray) -> np.ndarray:
    """A view that is not written to: to numba a type of its own, for which all is compiled once."""
    view = array.view()
    view.flags.writeable = False
    return view


def csr_rows(values: np.ndarray, columns: np.ndarray, starts: np.ndarray) -> Csr:
    """The parts of a CSR matrix as rows."""
    return Csr(read_only(values), read_only(columns), read_only(starts))


def as_rows(X: Any, unit: bool = False) -> Dense | Csr | Unit:
    """See an array or a CSR matrix as rows, without a copy; ``unit`` scales them to length 1."""
    if hasattr(X, "indptr"):
        rows: Dense | Csr = csr_rows(X.data, X.indices, X.indptr)
    else:
        rows = Dense(read_only(X), np.empty(X.shape[1] + 1, np.int32))
    return Unit(rows, scales(rows, X.shape[0])) if unit else rows


def values_of(rows: Dense | Csr | Unit, row: int) -> np.ndarray:
    """The stored values of one row."""
    if isinstance(rows, Unit):
        return values_of(rows.rows, row)
    if isinstance(rows, Dense):
        return rows.values[row]
    return rows.values[rows.starts[row] : rows.starts[row + 1]]
