"""Rows with the same features on both sides: the shortest proof that nothing separates them."""

import numpy as np

from linsep.theory.data import Data
from linsep.theory.fingerprint import column_numbers, row_numbers
from linsep.theory.questions import Question
from linsep.theory.whole import combination, constraint


def opposite_twins(data: Data, question: Question) -> tuple[int, int] | None:
    """The first pair of equal rows of two opposite sides, by their numbers; None where none is.

    Only for two sides. Equal rows have equal fingerprints; that the rows are equal is checked.
    """
    sides = np.array([int(C[0, 0]) if len(C) else 0 for C in question.coefficients])
    odd = column_numbers(data)
    marks = np.concatenate([row_numbers(piece, odd) for piece in data.pieces()])
    signs = np.concatenate([sides[piece.codes] for piece in data.pieces()])
    _, group = np.unique(marks, return_inverse=True)
    both = np.bincount(group[signs > 0], minlength=len(marks)).astype(bool)
    both &= np.bincount(group[signs < 0], minlength=len(marks)).astype(bool)
    rows = np.flatnonzero(both[group] & (signs != 0))
    for first in rows.tolist():
        twin = rows[(group[rows] == group[first]) & (signs[rows] == -signs[first])][0]
        pair = np.sort([first, int(twin)])
        found = [constraint(question, piece, at, 0)[0] for _, piece, at in data.rows(pair)]
        if not combination((1, a) for a in found):
            return int(pair[0]), int(pair[1])
    return None
