"""Row primitives: dense, sparse and scaled rows, and the operations of a learner on one row.

Everything else is written in terms of these. The last weight belongs to the constant feature
``bias`` (1 with an intercept, 0 without): an intercept is learned as one more weight, so no rule
treats it specially.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.compiled.jit import compiled, generic, inlined, prefetch
from linsep.compiled.weights import add_constant, begin, nudge, scattered, shift

# Unsigned indices avoid the check for negative ones, which costs more than the load itself.
U = np.uint64


class Dense(NamedTuple):
    """Rows of a C-contiguous array of shape (rows, features), float32 or float64.

    ``room`` is a buffer for the features of a row.
    """

    values: np.ndarray
    room: np.ndarray


class Csr(NamedTuple):
    """CSR rows: row i has ``values[starts[i]:starts[i+1]]`` in the ``columns`` of that slice."""

    values: np.ndarray
    columns: np.ndarray
    starts: np.ndarray


class Whole(NamedTuple):
    """Dense rows, with every value used."""

    values: np.ndarray


class Picked(NamedTuple):
    """Dense rows of which only the values in the first ``many`` of ``columns`` are used."""

    values: np.ndarray
    columns: np.ndarray
    many: int


class Unit(NamedTuple):
    """Other rows, each multiplied by its scale: 1 / ||x||, or 1 for a zero row."""

    rows: Any
    scales: np.ndarray


@generic(0)
def dot(rows, i, w):
    """Return <w, x> of row i for one weight vector, without the intercept."""


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
    # Eight independent sums hide the latency of the additions.
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


dot.when(Unit)(lambda rows, i, w: rows.scales[i] * dot(rows.rows, i, w))


@generic(0)
def span(rows, i):
    """Return the first position of row i and the one after its last."""


@span.when(Dense, Whole)
def _dense_span(rows, i):
    return U(0), U(rows.values.shape[1])


span.when(Picked)(lambda rows, i: (U(0), U(rows.many)))
span.when(Csr)(lambda rows, i: (U(rows.starts[i]), U(rows.starts[i + U(1)])))


@generic(0)
def entry(rows, i, at):
    """Return feature and value at one position of row i."""


@entry.when(Dense, Whole)
def _dense_entry(rows, i, at):
    return at, np.float64(rows.values[i, at])


@entry.when(Picked)
def _picked_entry(rows, i, at):
    j = U(rows.columns[at])
    return j, np.float64(rows.values[i, j])


entry.when(Csr)(lambda rows, i, at: (U(rows.columns[at]), np.float64(rows.values[at])))


@inlined
def _eight(rows, i, at):
    a, b = entry(rows, i, at), entry(rows, i, at + U(1))
    c, d = entry(rows, i, at + U(2)), entry(rows, i, at + U(3))
    e, f = entry(rows, i, at + U(4)), entry(rows, i, at + U(5))
    return a, b, c, d, e, f, entry(rows, i, at + U(6)), entry(rows, i, at + U(7))


@inlined
def _part(W, k, eight):
    """Sum eight values times their weights in column k as a tree, to hide latency."""
    a, b, c, d, e, f, g, h = eight
    first = (a[1] * W[a[0], k] + b[1] * W[b[0], k]) + (c[1] * W[c[0], k] + d[1] * W[d[0], k])
    return first + (
        (e[1] * W[e[0], k] + f[1] * W[f[0], k]) + (g[1] * W[g[0], k] + h[1] * W[h[0], k])
    )


@generic(0)
def plain(rows):
    """Return rows without their scales."""


@generic(0)
def scale(rows, i):
    """Return what the values of row i are multiplied by."""


plain.when(Dense, Csr)(lambda rows: rows)
plain.when(Unit)(lambda rows: rows.rows)
scale.when(Dense, Csr)(lambda rows, i: 1.0)
scale.when(Unit)(lambda rows, i: rows.scales[i])


class Every(NamedTuple):
    """All columns of a matrix that has so ``many``."""

    many: int


class Some(NamedTuple):
    """The columns with these ``numbers``."""

    numbers: np.ndarray


@generic(0)
def many(chosen):
    """Return the number of columns that are chosen."""


@generic(0)
def column(chosen, q):
    """Return the q-th of them."""


many.when(Every)(lambda chosen: U(chosen.many))
many.when(Some)(lambda chosen: U(chosen.numbers.size))
column.when(Every)(lambda chosen, q: U(q))
column.when(Some)(lambda chosen, q: U(chosen.numbers[q]))


@inlined
def dots(rows, i, W, scores):
    """Write <w, x> of row i for every column of W to ``scores``."""
    dots_at(rows, i, W, Every(W.shape[1]), scores)


@generic(0)
def dots_at(rows, i, W, chosen, scores):
    """Write <w, x> of row i for the chosen columns of W to ``scores``."""


@dots_at.when(Whole, Picked, Csr)
def _dots_at(rows, i, W, chosen, scores):
    # Adjacent columns use SIMD; eight values at a time, so that scores are loaded once.
    at, end = span(rows, i)
    scores[: many(chosen)] = 0.0
    while at + U(8) <= end:
        eight = _eight(rows, i, at)
        for q in range(many(chosen)):
            scores[q] += _part(W, column(chosen, q), eight)
        at += U(8)
    while at < end:
        j, x = entry(rows, i, at)
        for q in range(many(chosen)):
            scores[q] += x * W[j, column(chosen, q)]
        at += U(1)


@inlined
def picked(rows, i):
    """Count the nonzero values of a row and write their features to the buffer; -1 if over half."""
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


@dots_at.when(Dense)
def _dense_dots_at(rows, i, W, chosen, scores):
    count = picked(rows, i)
    if count < 0:
        dots_at(Whole(rows.values), i, W, chosen, scores)
    else:
        dots_at(Picked(rows.values, rows.room, count), i, W, chosen, scores)


@dots_at.when(Unit)
def _scaled_dots_at(rows, i, W, chosen, scores):
    dots_at(rows.rows, i, W, chosen, scores)
    for q in range(many(chosen)):
        scores[q] *= rows.scales[i]


@generic(0)
def square(rows, i):
    """Return ||x||^2 of a row, without the constant feature.

    A step calls ``square(rows, i)`` with its own arguments: the rows of a batch, and the index of
    one of them.
    """


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


square.when(Unit)(lambda rows, i: rows.scales[i] * rows.scales[i] * square(rows.rows, i))


@generic(0)
def add_features(rows, i, weights, amount):
    """Add ``amount`` times row i to the weights, without the constant feature."""


@add_features.when(Dense)
def _dense_add(rows, i, weights, amount):
    for j in range(U(rows.values.shape[1])):
        if not scattered(weights) or rows.values[i, j] != 0.0:
            nudge(weights, j, amount * rows.values[i, j])


@add_features.when(Csr)
def _sparse_add(rows, i, weights, amount):
    for at in range(U(rows.starts[i]), U(rows.starts[i + U(1)])):
        nudge(weights, U(rows.columns[at]), amount * rows.values[at])


add_features.when(Unit)(
    lambda rows, i, weights, amount: add_features(rows.rows, i, weights, amount * rows.scales[i])
)


@inlined
def add(rows, i, weights, amount):
    """Add ``amount`` times row i with its constant feature to the weights: a new version."""
    begin(weights)
    add_features(rows, i, weights, amount)
    add_constant(weights, amount)


@generic(0)
def ahead(rows, i):
    """Prefetch row i."""


# The processor prefetches dense rows itself, and doing it costs a fifth.
ahead.when(Dense)(lambda rows, i: None)
ahead.when(Unit)(lambda rows, i: ahead(rows.rows, i))


@ahead.when(Csr)
def _sparse_ahead(rows, i):
    begin, end = U(rows.starts[i]), U(rows.starts[i + U(1)])
    for at in range(begin, end, U(64 // rows.values.itemsize)):
        prefetch(rows.values, at)
    for at in range(begin, end, U(64 // rows.columns.itemsize)):
        prefetch(rows.columns, at)


@generic(0)
def inside(rows, i, width):
    """Return whether all features of row i are below ``width``."""


inside.when(Dense)(lambda rows, i, width: True)


@inside.when(Csr)
def _sparse_inside(rows, i, width):
    begin, end = U(rows.starts[i]), U(rows.starts[i + U(1)])
    lowest = highest = rows.columns.dtype.type(0)
    for at in range(begin, end):
        lowest, highest = min(lowest, rows.columns[at]), max(highest, rows.columns[at])
    return begin == end or (lowest >= 0 and highest < width)


inside.when(Unit)(lambda rows, i, width: inside(rows.rows, i, width))


@compiled
def scales(rows, n_rows):
    """Return 1 / ||x|| of every row, 1 for a zero row; shape (n_rows,)."""
    found = np.ones(n_rows)
    for i in range(U(n_rows)):
        total = square(rows, i)
        if total > 0.0:  # NaN shows in the score
            found[i] = 1.0 / np.sqrt(total) if total < np.inf else np.nan
    return found


class Block(NamedTuple):
    """Rows known only by their kernel values, processed one after another.

    In the space of a kernel the weights are sum_j a_j phi(x_j), so every example is a feature of
    its own with weight a_j, which a step changes. A step needs only the score of a row, and the
    effect of each change on the scores of later rows, which is a row of the Gram matrix.

    ``scores`` has the shape of the weights, (rows,) or (rows, columns), and is updated as they
    change; row i is the feature ``features[i]``, and ``gram[i]`` has its kernel values with all
    rows. Unless ``known[i]``, a change is not yet in the scores: it is added to ``owed``, of shape
    (1,) or (1, columns), ``waiting[0]`` is i, and no other row is learned.
    """

    scores: np.ndarray
    gram: np.ndarray
    features: np.ndarray
    known: np.ndarray
    owed: np.ndarray
    waiting: np.ndarray


def block(scores: np.ndarray, gram: np.ndarray, features: np.ndarray, known: np.ndarray) -> Block:
    """Return a block that is not waiting for kernel values."""
    return Block(scores, gram, features, known, np.zeros_like(scores[:1]), np.full(1, -1))


dot.when(Block)(lambda rows, i, w: rows.scores[i])


@dots_at.when(Block)
def _block_dots_at(rows, i, W, chosen, scores):
    for q in range(many(chosen)):
        scores[q] = rows.scores[i, column(chosen, q)]


@add_features.when(Block)
def _block_add(rows, i, weights, amount):
    nudge(weights, U(rows.features[i]), amount)
    if not rows.known[i]:
        rows.waiting[0] = i
        shift(weights, rows.owed, 0, amount)
        return
    for j in range(U(rows.gram.shape[1])):
        shift(weights, rows.scores, j, amount * rows.gram[U(i), j])


ahead.when(Block)(lambda rows, i: None)  # it is small enough to be in the cache
inside.when(Block)(lambda rows, i, width: rows.waiting[0] < 0)


@compiled
def catch_up(gram, first, places, columns, amounts, scores):
    """Update the scores of rows by the changes that they lack, those from number ``first[i]`` on.

    A change adds its amount times ``gram[i, place]``, a kernel value with a support, to its column.
    """
    for i in range(U(scores.shape[0])):
        for e in range(U(first[i]), U(places.size)):
            scores[i, columns[e]] += amounts[e] * gram[i, places[e]]


def settle(rows: Block, values: np.ndarray) -> None:
    """Add the changes owed to a block to its scores, given the kernel values it waited for."""
    columns = np.flatnonzero(rows.owed)
    catch_up(
        values[:, None], np.zeros(values.size, np.int64), np.zeros_like(columns), columns,
        rows.owed.reshape(-1)[columns], rows.scores.reshape(values.size, -1),
    )  # fmt: skip
    rows.owed[:], rows.waiting[:] = 0.0, -1


#: most indices that are copied rather than compiled for
FEW_INDICES = 1 << 20


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a read-only view, so that numba compiles for one array type only."""
    view = array.view()
    view.flags.writeable = False
    return view


def csr_rows(values: np.ndarray, columns: np.ndarray, starts: np.ndarray) -> Csr:
    """Return the arrays of a CSR matrix as rows.

    A few indices of 64 bits are copied to 32, for which loops are compiled anyway: that takes a
    millisecond, and compiling them for 64 bits seconds.
    """
    return Csr(read_only(values), *(read_only(narrow(places)) for places in (columns, starts)))


def narrow(places: np.ndarray) -> np.ndarray:
    """Return at most :data:`FEW_INDICES` indices as int32 if all fit, others as they are."""
    few = places.dtype == np.int64 and 0 < places.size <= FEW_INDICES
    # Negative numbers are large as unsigned ones, and stay for the loops to find.
    if few and places.view(np.uint64).max() <= np.iinfo(np.int32).max:
        return places.astype(np.int32)
    return places


def without_duplicates(rows: Csr) -> Csr:
    """Return the rows with the values of each column summed, in the order of columns."""
    width = int(rows.columns.max(initial=-1)) + 1
    X = sp.csr_array(rows, shape=(rows.starts.size - 1, width), copy=True)
    X.sum_duplicates()
    return csr_rows(X.data, X.indices, X.indptr)


def as_rows(X: Any, unit: bool = False) -> Dense | Csr | Unit:
    """Wrap an array or a CSR matrix, not copied, as rows; ``unit`` scales them to length 1."""
    if hasattr(X, "indptr"):
        rows: Dense | Csr = csr_rows(X.data, X.indices, X.indptr)
    else:
        rows = Dense(read_only(X), np.empty(X.shape[1] + 1, np.int32))
    return Unit(rows, scales(rows, X.shape[0])) if unit else rows


def values_of(rows: Dense | Csr | Unit, row: int) -> np.ndarray:
    """Return the stored values of one row."""
    if isinstance(rows, Unit):
        return values_of(rows.rows, row)
    if isinstance(rows, Dense):
        return rows.values[row]
    return rows.values[rows.starts[row] : rows.starts[row + 1]]


@compiled
def _count_stored(rows, n_rows, starts):
    width = rows.values.shape[1]
    for i in range(U(n_rows)):
        count = picked(rows, i)
        starts[i + U(1)] = starts[i] + (width if count < 0 else count)


@compiled
def _fill_packed(rows, n_rows, starts, columns, values):
    for i in range(U(n_rows)):
        at, whole = U(starts[i]), picked(rows, i) < 0
        for q in range(U(starts[i + U(1)]) - at):
            j = U(q) if whole else U(rows.room[q])
            columns[at + q], values[at + q] = j, rows.values[i, j]


#: values from which on packing saves more time than loading its loops takes
WORTH_PACKING = 1 << 16


def packed(rows: Any) -> Any:
    """Pack dense rows that are mostly zeros, once for many passes; return rows unchanged if that
    would not halve the stored values.

    A packed row is summed like the dense one (:func:`dots`): without its zeros if these are at
    least half of it, else with them. So the scores are bit-identical.
    """
    if not isinstance(rows, Dense) or rows.values.size < WORTH_PACKING:
        return rows
    n_rows = rows.values.shape[0]
    starts = np.zeros(n_rows + 1, dtype=np.int64)
    _count_stored(rows, n_rows, starts)
    if 2 * starts[-1] > rows.values.size:
        return rows
    if starts[-1] < 2**31:  # so that the loops for CSR matrices serve these too
        starts = starts.astype(np.int32)
    columns = np.empty(starts[-1], np.int32)
    values = np.empty(starts[-1], rows.values.dtype)
    _fill_packed(rows, n_rows, starts, columns, values)
    return csr_rows(values, columns, starts)
