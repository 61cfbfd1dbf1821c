"""The one loop: rows in a given order, each learnt from, none of it knowing any rule."""

from linsep.compiled.jit import compiled
from linsep.compiled.memory import borrow
from linsep.compiled.rows import U, ahead, dot, dots
from linsep.compiled.schemes import ERRORS, MISTAKES, UPDATES, learn

# How many rows ahead the memory is asked: enough to hide its latency, few enough to stay cached.
AHEAD = 6


@compiled
def walk(scheme, rule, keep, W, bias, rows, codes, importance, order, now, tally):
    """Learn from the rows listed in ``order``; returns how many were learnt.

    Parameters
    ----------
    scheme, rule, keep : NamedTuples of :mod:`schemes`, :mod:`steps` and :mod:`keep`
    W : float64 weights, shape (features + 1,) for two classes, else (features + 1, columns)
    bias : float, value of the constant feature whose weight is the last
    rows : Dense, Csr or Unit
    codes : int32 class of each row
    importance : float64 weight of each row, or empty where all are 1
    order : int64 row numbers
    now : how many rows were learnt from before
    tally : int64 counts [mistakes, updates, errors], added to

    Returns
    -------
    Fewer than ``order.size`` when the row after the last learnt has no finite score; nothing has
    been learnt from that row.
    """
    scheme, rule, keep = borrow(scheme), borrow(rule), borrow(keep)
    rows, W = borrow(rows), borrow(W)
    mistakes = updates = errors = done = 0
    for t in range(order.size):
        i = U(order[t])
        ahead(rows, U(order[min(t + AHEAD, order.size - 1)]))
        weight = importance[i] if importance.size else 1.0
        counts = learn(scheme, rule, keep, W, bias, rows, i, codes[i], weight, now + t)
        if counts[MISTAKES] < 0:
            break
        mistakes, updates = mistakes + counts[MISTAKES], updates + counts[UPDATES]
        errors, done = errors + counts[ERRORS], t + 1
    tally[MISTAKES] += mistakes
    tally[UPDATES] += updates
    tally[ERRORS] += errors
    return done


@compiled
def score_vector(rows, n_rows, w, bias, scores):
    """Scores of all rows by one weight vector, with the very sums that learning uses."""
    rows = borrow(rows)
    for i in range(U(n_rows)):
        scores[i] = dot(rows, i, w) + w[w.shape[0] - 1] * bias


@compiled
def score_matrix(rows, n_rows, W, bias, scores):
    """Scores of all rows by every column of W, with the very sums that learning uses."""
    last = W.shape[0] - 1
    rows = borrow(rows)
    for i in range(U(n_rows)):
        dots(rows, i, W, scores[i])
        for k in range(W.shape[1]):
            scores[i, k] += W[last, k] * bias
