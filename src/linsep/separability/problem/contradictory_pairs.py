"""Equal rows on opposite sides: the shortest proof that nothing separates the classes."""

import numpy as np
import scipy.sparse as sp

from linsep.separability.problem.data import Data, Piece
from linsep.separability.problem.questions import Question
from linsep.separability.problem.whole_numbers import combination, constraint

#: most pairs with equal hashes that are compared
MOST_PAIRS = 8


def contradictory_pair(data: Data, question: Question) -> tuple[int, int] | None:
    """Return the first pair of equal rows on opposite sides, or None.

    Only for two sides. Rows are sorted by 64-bit hashes, and one pair per hash is compared number
    by number. If different rows share a hash, which is unlikely, a pair may be missed, and the
    witness is longer than necessary.
    """
    sides = np.array([int(C[0, 0]) if len(C) else 0 for C in question.coefficients])
    odd = _column_numbers(data.n_features)
    marks = np.concatenate([row_marks(piece, odd) for piece in data.pieces()])
    signs = np.concatenate([sides[piece.codes] for piece in data.pieces()])
    first = [_first_places(marks, np.flatnonzero(signs == side)) for side in (1, -1)]
    _, above, below = np.intersect1d(*(marks[rows] for rows in first), return_indices=True)
    pairs = np.sort(np.column_stack([first[0][above], first[1][below]]), axis=1)
    for pair in pairs[np.argsort(pairs[:, 1])][:MOST_PAIRS]:
        found = [constraint(question, piece, at, 0)[0] for _, piece, at in data.rows(pair)]
        if not combination((1, a) for a in found):
            return int(pair[0]), int(pair[1])
    return None


def _first_places(marks: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the first of the rows with each hash."""
    return rows[np.unique(marks[rows], return_index=True)[1]]


def _column_numbers(n_features: int) -> np.ndarray:
    """Return a fixed pseudorandom odd number for every column."""
    drawn = np.random.default_rng(20261121).integers(2**63, size=n_features, dtype=np.uint64)
    return drawn * np.uint64(2) + np.uint64(1)


def row_marks(piece: Piece, odd: np.ndarray) -> np.ndarray:
    """Return a 64-bit hash of every row; zeros add nothing, so that storage does not matter.

    The bits of floats are mixed first: those of small integers end in many zeros, which
    multiplication would keep.
    """
    X = piece.X
    if sp.issparse(X):
        terms = _mixed(X.data) * odd[X.indices]
        total = np.append(np.uint64(0), np.cumsum(terms, dtype=np.uint64))
        return total[X.indptr[1:]] - total[X.indptr[:-1]]
    return np.einsum("ij,j->i", _mixed(X), odd)


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Return the mixed bits of float64 numbers; 0 stays 0."""
    bits = (numbers.astype(np.float64) + 0.0).view(np.uint64)
    bits = bits ^ bits >> np.uint64(32)
    bits *= np.uint64(0x9E3779B97F4A7C15)
    bits ^= bits >> np.uint64(29)
    return bits
