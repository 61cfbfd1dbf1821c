"""The working set of the search: a few constraints, both as floats and as integers."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain
from operator import itemgetter

import numpy as np
import scipy.sparse as sp

from linsep.separability.problem.data import Data, Pass
from linsep.separability.problem.pieces import Piece
from linsep.separability.problem.questions import Question
from linsep.separability.problem.whole_numbers import Row, whole_row
from linsep.separability.time_limit import Work, check_time

#: a constraint: the number of its row, and its number within the row
Key = tuple[int, int]
#: lanes whose lowest constraints are compared at once
MOST_NEW = 8


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
        self._signs = question.coefficients[piece.codes[row]][which].copy()
        self._space = question.width, question.intercept
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
        return whole_row(*self._row, self._signs, *self._space)


#: constraints, each with a number
Ranked = list[tuple[float, Member]]


class Lowest:
    """The constraints with the lowest numbers so far; of equal ones those that came first."""

    def __init__(self, question: Question, most: int) -> None:
        self._question, self._most = question, most
        self._kept: Ranked = []
        #: numbers and constraints not yet compared with those kept, and their rows
        self._new: list[tuple[np.ndarray, np.ndarray, Piece]] = []
        self._limit = np.inf

    def offer(self, piece: Piece, number: np.ndarray, row: np.ndarray, which: np.ndarray) -> None:
        """Keep those of some constraints of a piece that are among the lowest."""
        near = np.flatnonzero(number < self._limit)
        if near.size:
            near = near[np.argsort(number[near], kind="stable")[: self._most]]
            self._new.append((number[near], which[near], piece.at(row[near])))
        if len(self._new) > MOST_NEW:
            self.found()

    def found(self) -> Ranked:
        """Return them in order."""
        new = [
            (piece, row, kind)
            for _, which, piece in self._new
            for row, kind in enumerate(which.tolist())
        ]
        count = len(self._kept)
        numbers = np.concatenate([[x for x, _ in self._kept], *(x for x, *_ in self._new)])
        order = np.argsort(numbers, kind="stable")[: self._most].tolist()
        self._kept = [
            self._kept[k] if k < count else
            (float(numbers[k]), Member(self._question, *new[k - count]))
            for k in order
        ]  # fmt: skip
        self._new = []
        if len(order) == self._most:
            self._limit = self._kept[-1][0]
        return self._kept


def lowest(parts: Iterable[Ranked], most: int) -> Ranked:
    """Return the lowest of several; of equal ones the first."""
    return sorted(chain(*parts), key=itemgetter(0))[:most]


@dataclass(frozen=True)
class Sample(Pass[list[Ranked]]):
    """Some constraints of every class, one of each row that is drawn.

    A row is drawn if its number, shuffled, is among the lowest of its class, so that the sample
    does not depend on the blocks in which rows come.
    """

    question: Question
    share: int

    def of(self, lanes: Iterable[Piece]) -> list[Ranked]:
        """Return those of each class."""
        active = np.flatnonzero(self.question.active).tolist()
        kept = {code: Lowest(self.question, self.share) for code in active}
        for piece in lanes:
            check_time()
            drawn = shuffled(piece.numbers)
            for code in active:
                rows = np.flatnonzero(piece.codes == code)
                kinds = len(self.question.coefficients[code])
                which = shuffled(drawn[rows]) % np.uint64(kinds)
                kept[code].offer(piece, drawn[rows] * 2.0**-64, rows, which)
        return [kept[code].found() for code in active]

    def merged(self, parts: list[list[Ranked]]) -> list[Ranked]:
        """Return those of each class."""
        return [lowest(of_class, self.share) for of_class in zip(*parts, strict=True)]


def shuffled(numbers: np.ndarray) -> np.ndarray:
    """Return pseudorandom 64-bit numbers, different for different integers.

    The finalizer of SplitMix64 (Steele, Lea and Flood, Fast splittable pseudorandom number
    generators, 2014).
    """
    z = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return z ^ z >> np.uint64(31)


@dataclass(frozen=True)
class Every(Pass[list[Member]]):
    """All constraints."""

    question: Question

    def of(self, lanes: Iterable[Piece]) -> list[Member]:
        """Return those of the lanes."""
        found = []
        for piece in lanes:
            check_time()
            for row, code in enumerate(piece.codes.tolist()):
                kinds = range(len(self.question.coefficients[code]))
                found += [Member(self.question, piece, row, which) for which in kinds]
        return found

    def merged(self, parts: list[list[Member]]) -> list[Member]:
        """Return all."""
        return list(chain(*parts))


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

    def include(self, members: Iterable[Member]) -> bool:
        """Add constraints; return whether any is new."""
        count = len(self.members)
        for member in members:
            if member.key not in self._known:
                self._known.add(member.key)
                self.members.append(member)
        return len(self.members) > count

    def include_lowest(self, found: Ranked) -> bool:
        """Add constraints, the lowest first; return whether any is new."""
        return self.include(member for _, member in found)

    def sample(self, wanted: int) -> None:
        """Add some constraints of every class, drawn evenly over the data."""
        share = max(1, wanted // int(np.count_nonzero(self.question.active)))
        for drawn in self.data.ask(Sample(self.question, share)):
            self.include_lowest(drawn)

    def fill(self, most: int) -> None:
        """Add all constraints if there are at most ``most``."""
        if self.data.n_rows * max(map(len, self.question.coefficients)) <= most:
            every: list[Member] = self.data.ask(Every(self.question))
            self.include(every)

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
