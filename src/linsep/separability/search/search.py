"""The search for a verdict: a working set of rows that grows by those that a guess got wrong.

Verdicts made of its results are checked independently, from their evidence alone (checking.py).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from linsep.separability.exact.spans import Span
from linsep.separability.exact.splitting import Proof, proved
from linsep.separability.problem.data import Data, Pass
from linsep.separability.problem.pieces import Piece
from linsep.separability.problem.questions import Question, Scan, Values, scan_below
from linsep.separability.problem.whole_numbers import (
    Row,
    constraint,
    dense_floats,
    dot,
    power_of_two,
    whole_numbers,
)
from linsep.separability.problem.working_set import Lowest, Member, Ranked, WorkingSet, lowest
from linsep.separability.programs import pushes, split
from linsep.separability.search.hinge import quick_weights
from linsep.separability.search.nearest import nearest, polished
from linsep.separability.time_limit import TooLarge, Work

#: values below this share of the lengths are zero to a linear program
NOISE = 1e-9
MOST_ROUNDS = 1_000
#: least and most constraints that enter the working set in a round
LEAST_ADDED, MOST_ADDED = 64, 1_024
#: constraints that enter the working set together if floats do not decide
MOST_FILLED = 5_000
#: with more weights, accept any separator unless margin="max"
MOST_WEIGHTS = 400
#: given weights separate only if floats leave no more constraints of neighbouring lanes open
MOST_OPEN = 10_000


class Separated(NamedTuple):
    """Weights that are positive on every constraint, and rows that bound every margin.

    ``w`` has the size of the question: floats, or Python integers if floats are too short. The
    length of ``members`` times ``multipliers``, which sum to 1 within each side, over the number of
    sides is an upper bound on every margin.
    """

    w: np.ndarray
    members: list[Member]
    multipliers: np.ndarray


class Blocked(NamedTuple):
    """No weights are positive on every constraint.

    The proof, its working set, and the numbers of the boundary rows (None: all rows).
    """

    proof: Proof
    members: list[Member]
    boundary: tuple[int, ...] | None


def search(data: Data, question: Question, tolerance: float | None) -> Separated | Blocked:
    """Decide a question.

    With a ``tolerance``, a separator is improved until its margin is that close to the widest.

    Raises
    ------
    TooLarge
        If floats cannot decide and exact arithmetic would take too long.
    """
    working = WorkingSet(data, question)
    working.sample(first_members(question))
    find: Widest | Quick
    few = question.blocks == 1 and question.size <= MOST_WEIGHTS
    find = Widest(tolerance) if tolerance or few else Quick()
    for _ in range(MOST_ROUNDS):
        weights, target = find.weights(working)
        if weights is None:
            weights = _by_program(working)
        if weights is None:
            return blocked_by(working, find.last)
        if not np.isfinite(weights).all():
            return blocked_by(working, find.last)
        count, wrong = len(working.members), grow(working, weights, target)
        if len(working.members) > count:
            continue
        if wrong:  # members too close for floats
            return blocked_by(working, find.last)
        return Separated(weights, working.members[: len(find.last)], find.last)
    raise TooLarge(f"{MOST_ROUNDS:,} rounds do not decide")


def first_members(question: Question) -> int:
    """Return the initial size of a working set, which is also the most added in a round."""
    return int(np.clip(4 * question.size, LEAST_ADDED, MOST_ADDED))


def _by_program(working: WorkingSet) -> np.ndarray | None:
    """Return weights that a linear program finds for the working set, or None."""
    guess = split(working.table())
    return guess.w if guess is not None and guess.free.all() else None


class Quick:
    """Weights for the working set by L-BFGS, with a warm start."""

    def __init__(self) -> None:
        self.last = np.zeros(0)
        self._start: np.ndarray | None = None

    def weights(self, working: WorkingSet) -> tuple[np.ndarray | None, None]:
        """Return weights that are positive on the working set, or None.

        The rows with the smallest values bound the margin of all weights.
        """
        found, missing = quick_weights(working.table(), self._start)
        self._start = self._start if found is None else found
        groups = working.groups()
        for side in np.unique(groups):
            chosen = groups == side
            missing[chosen] += not missing[chosen].any()
            # Short numbers are enough: shares of a side, which must not be rounded away as a whole.
            missing[chosen] = np.round(missing[chosen] * (2.0**16 / missing[chosen].max()))
        self.last = missing
        return found, None


class Widest:
    """The weights of widest margin on the working set, with a warm start.

    Computed to the ``tolerance``, or without one only until they separate.
    """

    def __init__(self, tolerance: float | None) -> None:
        self.last = np.zeros(0)
        self.tolerance = tolerance

    def weights(self, working: WorkingSet) -> tuple[np.ndarray | None, float | None]:
        """Return weights (None if there seem to be none) and the value all rows should reach."""
        question, table = working.question, working.table()
        columns = np.unique(table.indices)
        sides = 2 if question.intercept else 1
        if question.intercept:
            columns = columns[columns != question.width - 1]
        A, power = near_one(table[:, columns].toarray())
        groups = working.groups() if question.intercept else np.zeros(len(A), dtype=int)
        start = np.append(self.last, np.zeros(len(A) - len(self.last)))
        fine = 0.1 if self.tolerance is None else self.tolerance / 2
        found = nearest(A, groups, fine / 2, start)
        if found.gap > fine:
            found = polished(A, groups, found, fine, Work(1.0))
        self.last = found.multipliers
        scores = A @ found.point
        w = np.zeros(question.size)
        w[columns] = found.point
        if question.intercept:
            bias = (scores[groups < 0].min() - scores[groups > 0].min()) / 2
            scores = scores + groups * bias
            w[-1] = np.ldexp(bias, power)
        square = float(found.point @ found.point)
        if scores.min() <= 1e-13 * np.sqrt(square) * np.abs(A).max(initial=0.0):
            return None, None
        target = (1 - self.tolerance / 2) * square / sides if self.tolerance else None
        return w, None if target is None else float(np.ldexp(target, power))


def near_one(A: np.ndarray) -> tuple[np.ndarray, int]:
    """Divide rows by a power of two if their squares would overflow or underflow; return both."""
    power = int(np.frexp(np.abs(A).max(initial=0.0))[1])
    return (np.ldexp(A, -power), power) if abs(power) > 300 else (A, 0)


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


def blocked_by(working: WorkingSet, last: np.ndarray) -> Blocked | Separated:
    """Grow the working set until its proof holds for all rows, and return it.

    Separating weights that floats could not find are found here too, as a direction that no row
    bounds.
    """
    question = working.question
    for _ in range(MOST_ROUNDS):
        guess, more = None, False
        for weights, split_by in pushes(working.table()):
            guess, more = split_by, bool(weights.any()) and _grow_by_clear(working, weights)
            if more:
                break
        if more:
            continue
        proof = proved(working, guess)
        if len(proof.span.rows) == question.size:
            return Blocked(proof, working.members, None)
        boundary = boundary_of(working, proof)
        if boundary is not None and not proof.members:
            w = np.array([proof.direction.get(j, 0) for j in range(question.size)], dtype=object)
            return Separated(w, working.members[: len(last)], last)
        if boundary is not None:
            return Blocked(proof, working.members, boundary)
        if working.work.begun:  # exact arithmetic costs more than a few rows
            working.fill(MOST_FILLED)
    raise TooLarge(f"{MOST_ROUNDS:,} rounds do not decide")


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


def _grow_by_clear(working: WorkingSet, weights: np.ndarray) -> bool:
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


def boundary_of(working: WorkingSet, proof: Proof) -> tuple[int, ...] | None:
    """Return the rows in the span of the bound rows if the direction is positive on all others.

    Else return None, after adding constraints that the direction violates.
    """
    question = working.question
    scan = Scan(question, dense_floats(proof.direction, question.size))
    span, most = Span(proof.span, question), first_members(question)
    worst, inside = working.data.ask(AtBoundary(scan, proof.direction, span, most))
    new = working.include_lowest(worst)
    return None if new else tuple(inside.tolist())


def exact_rows(
    question: Question, piece: Piece, values: Values, places: np.ndarray
) -> Iterator[tuple[int, tuple[Row, Fraction]]]:
    """Yield constraints of a piece as (index, (integers, factor))."""
    for i in places.tolist():
        yield i, constraint(question, piece, int(values.row[i]), int(values.which[i]))
