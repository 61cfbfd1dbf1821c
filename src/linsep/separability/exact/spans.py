"""Which rows lie in a row space: exactly, and vectorised where floats are exact.

Integers below 2^53 are exact in floats, and so are their sums and products below it: on integer
data one matrix product tests a whole piece. Other rows are tested one by one.
"""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from linsep.separability.problem.pieces import Piece
from linsep.separability.problem.questions import Question, Values
from linsep.separability.problem.whole_numbers import Reduced, Row, constraint
from linsep.separability.time_limit import check_time

EXACT = 2.0**53


class Span:
    """A row space, and the test of which constraints of a piece lie outside it."""

    def __init__(self, reduced: Reduced, question: Question) -> None:
        self.reduced, self.question = reduced, question
        self._table, self._whole = _remainders(reduced, question.size)
        self._below, self._lines = reduced.one, reduced.rows

    def outside(self, piece: Piece, values: Values, places: np.ndarray) -> np.ndarray:
        """Return which of the constraints of a piece at ``places`` lie outside the space."""
        if not places.size or self._table.shape[1] == 0:
            return np.zeros(len(places), dtype=bool)
        A = constraints(self.question, piece, values.row[places], values.which[places])

        def whole(k: int) -> Row:
            row, which = int(values.row[places[k]]), int(values.which[places[k]])
            return constraint(self.question, piece, row, which)[0]

        return self.outside_rows(A, whole)

    def outside_rows(self, A: sp.csr_matrix, whole: Callable[[int], Row]) -> np.ndarray:
        """Return which rows of a matrix lie outside; ``whole(k)`` returns row k in integers."""
        if self._exact(A):
            remainders = sp.csr_matrix(A @ self._table)
            remainders.eliminate_zeros()
            return np.diff(remainders.indptr) > 0
        return np.array([self._leaves(whole(k)) for k in range(A.shape[0])], dtype=bool)

    def _leaves(self, a: Row) -> bool:
        """Return whether a row has a nonzero remainder, column by column, in integers."""
        check_time()
        inside = [(m, self._lines[j]) for j, m in a.items() if j in self._lines]
        columns = a.keys() | {j for _, line in inside for j in line}
        return any(
            self._below * a.get(j, 0) != sum(m * line[j] for m, line in inside if j in line)
            for j in columns
            if j not in self._lines
        )

    def _exact(self, A: sp.csr_matrix) -> bool:
        if self.question.rounded:
            return False
        if self._table.nnz == self._table.shape[1] and self._whole == 1:
            return True  # no sums: a remainder is a copy of some entries
        used = np.diff(self._table.indptr) > 0
        numbers = A.data[used[A.indices]]
        if not (np.abs(numbers) < EXACT).all() or not (numbers == np.rint(numbers)).all():
            return False
        most = abs(A[:, used]) @ abs(self._table[used]) if numbers.size else np.zeros(1)
        return bool(most.max() < EXACT)


def constraints(
    question: Question, piece: Piece, rows: np.ndarray, which: np.ndarray
) -> sp.csr_matrix:
    """Return some constraints of a piece as a matrix without stored zeros."""
    X = sp.csr_matrix(piece.X[rows], dtype=np.float64)
    if question.intercept:
        X = sp.hstack([X, np.ones((len(rows), 1))], format="csr")
    starts = np.cumsum([0, *(len(C) for C in question.coefficients)])[:-1]
    signs = np.concatenate(question.coefficients)[starts[piece.codes[rows]] + which]
    A = sp.hstack(
        [sp.diags(signs[:, b].astype(float)) @ X for b in range(question.blocks)], format="csr"
    )
    A.eliminate_zeros()
    return A


def _remainders(reduced: Reduced, size: int) -> tuple[sp.csr_matrix, int]:
    """Return the matrix that maps rows to remainders times an integer, and that integer."""
    whole = reduced.one
    free = [j for j in range(size) if j not in reduced.rows]
    numbers = (x for row in reduced.rows.values() for x in row.values())
    if whole >= EXACT or any(abs(x) >= EXACT for x in numbers):
        whole = 0  # too long for floats: NaN makes the test of exactness fail
    place = {j: k for k, j in enumerate(free)}
    one = float(whole) if whole else np.nan
    entries = [(j, place[j], one) for j in free]
    for pivot, row in reduced.rows.items():
        entries += [(pivot, place[j], -float(x) if whole else one) for j, x in row.items()]
    lines, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
    return sp.csr_matrix((values, (lines, columns)), shape=(size, len(free))), whole
