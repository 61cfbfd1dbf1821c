"""The rows that the search thinks with: a few, at hand both as floats and as whole numbers."""

from functools import cached_property

import numpy as np

from linsep.theory.data import Data, Piece
from linsep.theory.questions import Question
from linsep.theory.whole import Row, constraint

#: a constraint: the number of its row, and which of the row's constraints it is
Key = tuple[int, int]


class Member:
    """One constraint, apart from the data: its columns, its floats, and exactly.

    Attributes
    ----------
    key : pair of ints
    group : int
        1 or -1: the side of its row, where there are two.
    columns, floats : arrays
    """

    def __init__(self, question: Question, piece: Piece, row: int, which: int) -> None:
        self.key = (int(piece.numbers[row]), which)
        self._question = question
        one = slice(row, row + 1)
        self._alone = Piece(piece.X[one].copy(), piece.codes[one], piece.numbers[one])
        signs = question.coefficients[piece.codes[row]][which]
        self.group = int(signs[0])
        columns, numbers = self._alone.row(0)
        if question.intercept:
            columns = np.append(columns, piece.X.shape[1])
            numbers = np.append(numbers.astype(np.float64), 1.0)
        blocks = np.flatnonzero(signs)
        self.columns = np.concatenate([columns + b * question.width for b in blocks])
        self.floats = np.concatenate([numbers.astype(np.float64) * signs[b] for b in blocks])
        self._which = which

    @cached_property
    def whole(self) -> tuple[Row, int]:
        """The whole numbers, and their exponent: the constraint is these times 2**exponent."""
        return constraint(self._question, self._alone, 0, self._which)


class WorkingSet:
    """Constraints of a question, one after another as they were added."""

    def __init__(self, data: Data, question: Question) -> None:
        self.data, self.question = data, question
        self.members: list[Member] = []
        self._known: set[Key] = set()

    def __len__(self) -> int:
        return len(self.members)

    def include(self, member: Member) -> bool:
        """One more constraint, unless it is here already; says whether it is new."""
        if member.key in self._known:
            return False
        self._known.add(member.key)
        self.members.append(member)
        return True

    def sample(self, wanted: int) -> None:
        """Some constraints of every class, drawn evenly over the data."""
        random = np.random.default_rng(0)
        active = np.flatnonzero(self.question.active).tolist()
        share = max(1, wanted // len(active))
        counts = dict.fromkeys(active, 0)
        for piece in self.data.pieces():
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

    def matrix(self, columns: np.ndarray) -> np.ndarray:
        """The floats, in these columns only (sorted)."""
        return floats_of(self.members, columns)

    def columns(self) -> np.ndarray:
        """The columns in use, sorted."""
        return columns_of(self.members)

    def groups(self) -> np.ndarray:
        """The side of every row."""
        return np.array([member.group for member in self.members])


def columns_of(members: list[Member]) -> np.ndarray:
    """The columns that some members have entries in, sorted."""
    return np.unique(np.concatenate([member.columns for member in members]))


def floats_of(members: list[Member], columns: np.ndarray) -> np.ndarray:
    """The members as rows of floats, in these columns only (sorted)."""
    dense = np.zeros((len(members), len(columns)))
    for i, member in enumerate(members):
        inside = np.isin(member.columns, columns, assume_unique=True)
        dense[i, np.searchsorted(columns, member.columns[inside])] = member.floats[inside]
    return dense
