"""The working set of the search: a few constraints, both as floats and as integers."""

from fractions import Fraction
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from linsep.separability.problem.data import Data, Piece
from linsep.separability.problem.questions import Question
from linsep.separability.problem.whole_numbers import Row, whole_row
from linsep.separability.time_limit import Work, check_time

#: a constraint: the number of its row, and its number within the row
Key = tuple[int, int]


class Member:
    """One constraint, copied from the data, as floats and exactly.

    Attributes
    ----------
    key : pair of ints
    group : int
        1 or -1, the side of its row (two sides only).
    columns, floats : arrays
    """

    def __init__(self, question: Question, piece: Piece, row: int, which: int) -> None:
        self.key = (int(piece.numbers[row]), which)
        self._question = question
        self._signs = question.coefficients[piece.codes[row]][which]
        self.group = int(self._signs[0])
        columns, numbers = piece.row(row)
        self._row = (columns.copy(), numbers.copy())
        floats = numbers.astype(np.float64)
        if question.intercept:
            columns = np.append(columns, question.width - 1)
            floats = np.append(floats, 1.0)
        blocks = np.flatnonzero(self._signs)
        self.columns = np.concatenate([columns + b * question.width for b in blocks])
        self.floats = np.concatenate([floats * self._signs[b] for b in blocks])

    @cached_property
    def whole(self) -> tuple[Row, Fraction]:
        """The constraint as integers and the positive fraction to multiply them by."""
        return whole_row(self._question, *self._row, self._signs)


class WorkingSet:
    """Constraints of a question, in the order in which they were added."""

    def __init__(self, data: Data, question: Question) -> None:
        self.data, self.question = data, question
        self.members: list[Member] = []
        self.work = Work()
        self._known: set[Key] = set()
        self._table: sp.csr_matrix | None = None

    def __len__(self) -> int:
        return len(self.members)

    def include(self, member: Member) -> bool:
        """Add a constraint; return whether it is new."""
        if member.key in self._known:
            return False
        self._known.add(member.key)
        self.members.append(member)
        return True

    def sample(self, wanted: int) -> None:
        """Add some constraints of every class, drawn evenly over the data."""
        random = np.random.default_rng(0)
        active = np.flatnonzero(self.question.active).tolist()
        share = max(1, wanted // len(active))
        counts = dict.fromkeys(active, 0)
        for piece in self.data.pieces():
            check_time()
            part = piece.X.shape[0] / self.data.n_rows
            for code in active:
                rows = random.permutation(np.flatnonzero(piece.codes == code))
                rows = rows[: min(max(2, round(2 * share * part)), share - counts[code])]
                counts[code] += len(rows)
                which = random.integers(len(self.question.coefficients[code]), size=len(rows))
                for row, kind in zip(rows.tolist(), which.tolist(), strict=True):
                    self.include(Member(self.question, piece, row, kind))
            if min(counts.values()) >= share:
                return

    def fill(self, most: int) -> None:
        """Add all constraints if there are at most ``most``."""
        coefficients = self.question.coefficients
        if self.data.n_rows * max(map(len, coefficients)) > most:
            return
        for piece in self.data.pieces():
            check_time()
            for row, code in enumerate(piece.codes.tolist()):
                for which in range(len(coefficients[code])):
                    self.include(Member(self.question, piece, row, which))

    def table(self) -> sp.csr_matrix:
        """Return the floats of all members, one row each."""
        if self._table is None or self._table.shape[0] < len(self.members):
            self._table = table_of(self.members, self.question.size)
        return self._table

    def groups(self) -> np.ndarray:
        """Return the side of every member."""
        return np.array([member.group for member in self.members])


def table_of(members: list[Member], size: int) -> sp.csr_matrix:
    """Return the floats of some members as a matrix without stored zeros, one row each."""
    starts = np.cumsum([0, *(len(member.columns) for member in members)])
    columns = np.concatenate([member.columns for member in members])
    floats = np.concatenate([member.floats for member in members])
    table = sp.csr_matrix((floats, columns, starts), shape=(len(members), size))
    table.eliminate_zeros()
    return table
