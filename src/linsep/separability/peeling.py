"""Rows that single columns decide, before any program is solved.

A column whose entries in all constraints have one sign gives the constraints that it touches
positive values, if its weight is large. Among the others, more columns may have one sign. The rows
that are left in the end contain the boundary, and a direction for them becomes one for all rows by
weights that are larger for earlier rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from math import frexp
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.batches import Batch
from linsep.certificate.constraints import Question
from linsep.certificate.integers import Row
from linsep.separability.data import (
    Data,
    SomeRows,
    dense_floats,
    doubles,
    every_constraint,
    some_rows,
)
from linsep.separability.time_limit import within_time
from linsep.separability.working_set import WorkingSet

#: most rounds, each of which reads all rows
MOST_ROUNDS = 20


class Peeled(NamedTuple):
    """The rows that are left.

    Attributes
    ----------
    rounds : int array of shape (weights,)
        The round in which a column had one sign, counted from 1; 0 for the other columns.
    sides : int array of shape (weights,)
        That sign, 1 or -1, or 0.
    rows : SomeRows
        The rows with a constraint that no such column touches.
    """

    rounds: np.ndarray
    sides: np.ndarray
    rows: SomeRows

    def lifted(self, data: Data, question: Question, direction: Row) -> Row | None:
        """Return a direction for all rows from one for those that are left, to be checked.

        None if floats overflow.
        """
        last, pushed = int(self.rounds.max()), np.flatnonzero(self.rounds)
        kept = {j: m for j, m in direction.items() if not self.rounds[j]}
        W = np.zeros((question.size, last + 1))
        W[:, 0] = dense_floats(kept, question.size)
        W[pushed, self.rounds[pushed]] = self.sides[pushed]
        against = _against(question, W, data.lanes())
        if not np.isfinite(against).all():
            return None
        powers = [0] * (last + 1)  # of two: each round's weights, the direction's first
        for k in range(last, 0, -1):
            later = [0, *range(k + 1, last + 1)]
            needed = [powers[q] + frexp(x)[1] for q in later if (x := against[k, q]) > 0]
            powers[k] = max(needed, default=0) + len(later).bit_length()
        top = max((abs(m).bit_length() for m in kept.values()), default=0)
        spare = max(0, -top - min(powers))
        found = {j: m << spare for j, m in kept.items()}
        for j in pushed.tolist():
            found[j] = int(self.sides[j]) << (top + spare + powers[self.rounds[j]])
        return found


def peeled(working: WorkingSet) -> Peeled | None:
    """Return what is left of all rows; None if no column has one sign, or if too much is left.

    For most data the rows of the working set show that no column has.
    """
    data, question = working.data, working.question
    table = working.table()
    if (_signs_of(table.indices, table.data, question.size).sum(axis=0) == 2).all():
        return None
    rounds, sides = np.zeros((2, question.size), dtype=np.int64)
    for k in range(1, MOST_ROUNDS + 1):
        up, down = _signs(question, rounds > 0, data.lanes())
        new = up ^ down
        if not new.any():
            break
        rounds[new], sides[new] = k, np.where(up, 1, -1)[new]
    if not rounds.any():
        return None
    left = some_rows(data, partial(_left, question, rounds > 0))
    return None if left is None else Peeled(rounds, sides, left)


def _signs_of(columns: np.ndarray, numbers: np.ndarray, size: int) -> np.ndarray:
    """Return which columns have positive numbers, and which have negative ones."""
    sides = (columns[numbers > 0], columns[numbers < 0])
    return np.array([np.bincount(side, minlength=size) > 0 for side in sides])


def _untouched(
    question: Question, pushed: np.ndarray, lane: Batch, X: sp.csr_matrix
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield each vector c of a lane with the rows whose constraints no pushed column touches."""
    blocks = pushed.reshape(question.blocks, question.width).astype(float)
    pattern = sp.csr_matrix(((X.data != 0).astype(float), X.indices, X.indptr), X.shape)
    touched = (pattern @ blocks[:, : X.shape[1]].T > 0) | (blocks[:, X.shape[1] :].sum(1) > 0)
    for code in np.flatnonzero(question.active).tolist():
        rows = np.flatnonzero(lane.y == code)
        for c in question.signs[code] if rows.size else ():
            yield c, rows[~touched[rows][:, c != 0].any(axis=1)]


def _signs(question: Question, pushed: np.ndarray, lanes: Iterable[Batch]) -> np.ndarray:
    """Return which columns have positive entries where no pushed column touches, and negative."""
    seen = np.zeros((2, question.blocks, question.width), dtype=bool)
    for lane in within_time(lanes):
        X = sp.csr_matrix(doubles(lane.X))
        for c, rows in _untouched(question, pushed, lane, X):
            some = X if rows.size == X.shape[0] else X[rows]
            of_columns = np.zeros((2, question.width), dtype=bool)
            of_columns[:, : X.shape[1]] = _signs_of(some.indices, some.data, X.shape[1])
            of_columns[0, X.shape[1] :] = rows.size > 0
            seen[:, c > 0] |= of_columns[:, None]
            seen[:, c < 0] |= of_columns[::-1, None]
    return seen.reshape(2, -1)


def _left(question: Question, pushed: np.ndarray, lane: Batch) -> np.ndarray:
    """Return which rows of a lane have a constraint that no pushed column touches."""
    left = np.zeros(lane.size, dtype=bool)
    for _, rows in _untouched(question, pushed, lane, sp.csr_matrix(doubles(lane.X))):
        left[rows] = True
    return left


def _against(question: Question, W: np.ndarray, lanes: Iterable[Batch]) -> np.ndarray:
    """Return an upper bound on the loss of each round's values due to the weights of later rounds.

    Column 0 of ``W`` has the weights for the rows that are left, the others have the weights of
    each round.
    """
    most = np.zeros((W.shape[1], W.shape[1]))
    for lane in within_time(lanes):
        values = every_constraint(question, lane) @ W
        values = values[(values[:, 1:] != 0).any(axis=1)]
        first = (values[:, 1:] != 0).argmax(axis=1) + 1
        with np.errstate(all="ignore"):
            taken = -values / values[np.arange(len(first)), first][:, None]
        np.maximum.at(most, first, taken)
    return most
