"""Rows known by their kernel values only: a block and its own Gram matrix.

In the space of a kernel the weights are sum_j a_j phi(x_j), so every example is a feature of its
own with weight a_j, which a step changes. A step needs only the score of a row, and the effect of
each change on the scores of later rows, which is a row of the Gram matrix.
"""

from typing import NamedTuple

import numpy as np

from linsep.compiled.core.jit import compiled
from linsep.compiled.core.rows import U, add_features, ahead, dot, dots, dots_at, inside, square
from linsep.compiled.core.weights import nudge, shift


class Block(NamedTuple):
    """Rows that are learnt one after another.

    ``scores`` has the shape of the weights, (rows,) or (rows, columns), and is updated as they
    change; ``gram`` has shape (rows, rows); row i is the feature ``features[i]``.
    """

    scores: np.ndarray
    gram: np.ndarray
    features: np.ndarray


@dot.when(Block)
def _block_dot(rows, i, w):
    return rows.scores[i]


@dots.when(Block)
def _block_dots(rows, i, W, scores):
    for k in range(scores.size):
        scores[k] = rows.scores[i, k]


@dots_at.when(Block)
def _block_dots_at(rows, i, W, chosen, scores):
    for q in range(chosen.size):
        scores[q] = rows.scores[i, chosen[q]]


@square.when(Block)
def _block_square(rows, i):
    return np.float64(rows.gram[i, i])


@add_features.when(Block)
def _block_add(rows, i, weights, amount):
    nudge(weights, U(rows.features[i]), amount)
    for j in range(U(rows.gram.shape[1])):
        shift(weights, rows.scores, j, amount * rows.gram[i, j])


@ahead.when(Block)
def _block_ahead(rows, i):
    """Do nothing: a block is small enough to be in the cache."""


@inside.when(Block)
def _block_inside(rows, i, width):
    return True


@compiled
def catch_up(gram, first, places, columns, amounts, scores):
    """Update the scores of some rows by all changes since each was last updated.

    Parameters
    ----------
    gram : shape (rows, supports), kernel values
    first : int64, for each row the first change that its scores lack
    places, columns, amounts : for each change, in order: the support, the column and the amount
    scores : float64 of shape (rows, columns), updated in place
    """
    for i in range(U(scores.shape[0])):
        for e in range(U(first[i]), U(places.size)):
            scores[i, columns[e]] += amounts[e] * gram[i, places[e]]
