"""The working set of the search: a few constraints, both as floats and as integers.

It grows by constraints that weights get wrong. A pass over all rows finds them: in floats where
rounding cannot matter, else in integers.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain
from operator import itemgetter

import numpy as np
import scipy.sparse as sp

from linsep.certificate.integers import Row, dot
from linsep.separability.data import Data, Pass, Piece
from linsep.separability.elimination import Reduced
from linsep.separability.questions import (
    Question,
    Scan,
    Span,
    Values,
    constraint,
    dense_floats,
    power_of_two,
    scan_below,
    whole_numbers,
    whole_row,
)
from linsep.separability.time_limit import Work, check_time

#: values below this share of the lengths are zero to a linear program
NOISE = 1e-9
#: least and most constraints that enter the working set in a round
LEAST_ADDED, MOST_ADDED = 64, 1_024
#: given weights separate only if floats leave no more constraints of neighbouring lanes open
MOST_OPEN = 10_000
#: a constraint: the number of its row, and its number within the row
Key = tuple[int, int]
#: lanes whose lowest constraints are compared at once
MOST_NEW = 8
#: constraints, each with a number
Ranked = list[tuple[float, "Member"]]


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


def first_members(question: Question) -> int:
    """Return the initial size of a working set, which is also the most added in a round."""
    return int(np.clip(4 * question.size, LEAST_ADDED, MOST_ADDED))


def exact_rows(
    question: Question, piece: Piece, values: Values, places: np.ndarray
) -> Iterator[tuple[int, tuple[Row, Fraction]]]:
    """Yield constraints of a piece as (index, (integers, factor))."""
    for i in places.tolist():
        yield i, constraint(question, piece, int(values.row[i]), int(values.which[i]))


def as_row(weights: np.ndarray) -> tuple[Row, int]:
    """Return weights as integers times a power of two: the integers and the exponent.

    Integer weights are divided by the power of two that ``dense_floats`` divides by.
    """
    whole, power = whole_numbers(weights)
    if weights.dtype == object:
        power = -max(abs(m).bit_length() for m in whole)
    return {j: m for j, m in enumerate(whole) if m}, power


class Worst(Lowest):
    """The lowest constraints so far, relative to the lengths of their rows."""

    def offer_some(self, piece: Piece, values: Values, chosen: np.ndarray) -> None:
        """Keep those of the chosen constraints that are among the lowest."""
        places = np.flatnonzero(chosen)
        relative = values.value[places] / values.norm[places]
        self.offer(piece, relative, values.row[places], values.which[places])


@dataclass(frozen=True)
class Below(Pass[tuple[bool, Ranked]]):
    """Whether any value is not positive, and the lowest constraints among those that are not
    positive, or below the number of the scan.

    Attributes
    ----------
    scan : Scan
    whole, power : the weights as :func:`as_row` returns them
    most : int
    """

    scan: Scan
    whole: Row
    power: int
    most: int

    def of(self, lanes: Iterable[Piece]) -> tuple[bool, Ranked]:
        """Return those of the lanes."""
        found, worst = False, Worst(self.scan.question, self.most)
        above = self.scan.above
        for piece, values in self.scan.values(lanes):
            clear = values.value < above - values.bound
            unsure = np.abs(values.value - above) <= values.bound
            unsure |= np.abs(values.value) <= values.bound
            found |= bool((values.value < -values.bound).any())
            wrong = np.zeros(len(values.value), dtype=bool)
            close = np.flatnonzero(unsure)
            for i, (row, scale) in exact_rows(self.scan.question, piece, values, close):
                product = dot(row, self.whole)
                found |= product <= 0
                wrong[i] = product <= 0 or product * scale * power_of_two(self.power) < above
            worst.offer_some(piece, values, clear & ~unsure)
            worst.offer_some(piece, values, wrong)
        return found, worst.found()

    def merged(self, parts: list[tuple[bool, Ranked]]) -> tuple[bool, Ranked]:
        """Return the lowest of all."""
        found, worst = zip(*parts, strict=True)
        return any(found), lowest(worst, self.most)


def grow(working: WorkingSet, weights: np.ndarray, target: float | None) -> bool:
    """Add the constraints with the lowest values among those not positive, or below ``target``.

    Returns whether any is not positive, new or not.
    """
    question = working.question
    whole, power = as_row(weights)
    floats = dense_floats(whole, len(weights)) if weights.dtype == object else weights
    scan = scan_below(working.data, question, floats, 0.0 if target is None else target)
    found, worst = working.data.ask(Below(scan, whole, power, first_members(question)))
    working.include_lowest(worst)
    return found


@dataclass(frozen=True)
class AllPositive(Pass[bool]):
    """Whether weights are positive on every constraint; False if integers would take too long.

    Attributes
    ----------
    scan : Scan
    whole : the weights as integers
    """

    scan: Scan
    whole: Row

    def of(self, lanes: Iterable[Piece]) -> bool:
        """Return whether they are on the lanes; the rest of them is not read after a "no"."""
        left = MOST_OPEN
        for piece, values in self.scan.values(lanes):
            close = np.flatnonzero(values.value <= values.bound)
            left -= len(close)
            if left < 0 or (values.value < -values.bound).any():
                return False
            rows = exact_rows(self.scan.question, piece, values, close)
            if any(dot(row, self.whole) <= 0 for _, (row, _) in rows):
                return False
        return True

    def merged(self, parts: list[bool]) -> bool:
        """Return whether all are."""
        return all(parts)


def separates(data: Data, question: Question, weights: np.ndarray) -> bool:
    """Return whether floats are proved, in one pass, to be positive on every constraint."""
    if not np.isfinite(weights).all():
        return False
    scan = scan_below(data, question, weights, 0.0)
    return data.ask(AllPositive(scan, as_row(weights)[0]))


@dataclass(frozen=True)
class Clear(Pass[Ranked]):
    """The lowest constraints among those that weights of some length clearly violate."""

    scan: Scan
    length: float
    most: int

    def of(self, lanes: Iterable[Piece]) -> Ranked:
        """Return those of the lanes."""
        worst = Worst(self.scan.question, self.most)
        for piece, values in self.scan.values(lanes):
            slack = np.maximum(values.bound, NOISE * self.length * values.norm)
            worst.offer_some(piece, values, values.value < -slack)
        return worst.found()

    def merged(self, parts: list[Ranked]) -> Ranked:
        """Return the lowest of all."""
        return lowest(parts, self.most)


def grow_by_clear(working: WorkingSet, weights: np.ndarray) -> bool:
    """Add constraints that the weights clearly violate; return whether any is new."""
    scan = Scan(working.question, weights)
    length = float(np.linalg.norm(weights))
    worst = working.data.ask(Clear(scan, length, first_members(working.question)))
    return working.include_lowest(worst)


@dataclass(frozen=True)
class AtBoundary(Pass[tuple[Ranked, np.ndarray]]):
    """The lowest constraints that a direction violates, and the rows in a space."""

    scan: Scan
    direction: Row
    span: Span
    most: int

    def of(self, lanes: Iterable[Piece]) -> tuple[Ranked, np.ndarray]:
        """Return those of the lanes, and the numbers of the rows."""
        question, worst = self.scan.question, Worst(self.scan.question, self.most)
        inside = [np.zeros(0, dtype=np.int64)]
        for piece, values in self.scan.values(lanes):
            worst.offer_some(piece, values, values.value < -values.bound)
            close = np.flatnonzero(np.abs(values.value) <= values.bound)
            outside = self.span.outside(piece, values, close)
            inside.append(np.unique(piece.numbers[values.row[close[~outside]]]))
            wrong = np.zeros(len(values.value), dtype=bool)
            for i, (row, _) in exact_rows(question, piece, values, close[outside]):
                wrong[i] = dot(row, self.direction) <= 0
            worst.offer_some(piece, values, wrong)
        return worst.found(), np.concatenate(inside)

    def merged(self, parts: list[tuple[Ranked, np.ndarray]]) -> tuple[Ranked, np.ndarray]:
        """Return the lowest, and all rows."""
        worst, inside = zip(*parts, strict=True)
        return lowest(worst, self.most), np.concatenate(inside)


def boundary_of(working: WorkingSet, direction: Row, space: Reduced) -> tuple[int, ...] | None:
    """Return the rows in the space of the bound rows if the direction is positive on all others.

    Else return None, after adding constraints that the direction violates.
    """
    question = working.question
    scan = Scan(question, dense_floats(direction, question.size))
    span, most = Span(space, question), first_members(question)
    worst, inside = working.data.ask(AtBoundary(scan, direction, span, most))
    new = working.include_lowest(worst)
    return None if new else tuple(inside.tolist())
