"""The search for a verdict: a working set of rows, which grows by those that a guess got wrong.

Nothing here is believed: what is returned is checked again from the evidence alone (checking.py).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from linsep.theory import gordan
from linsep.theory.data import Data, Piece
from linsep.theory.nearest import Nearest, nearest, polished
from linsep.theory.programs import split
from linsep.theory.questions import Question, Values, scans
from linsep.theory.spans import Span
from linsep.theory.splitting import Proof, proved
from linsep.theory.whole import Row, constraint, dot, nearest_floats, whole_numbers
from linsep.theory.working_set import Member, WorkingSet

#: values of a float combination below so much of the lengths are zero for a linear program
NOISE = 1e-9
MOST_ROUNDS = 1_000


class Separated(NamedTuple):
    """Weights that are positive on every constraint, and rows that bound every margin.

    ``w`` has the size of the question; ``members`` times ``multipliers``, which add up to 1 within
    each side, are no longer than any separator's margin times the number of sides.
    """

    w: np.ndarray
    members: list[Member]
    multipliers: np.ndarray


class Blocked(NamedTuple):
    """No weights are positive on every constraint: the proof, and the working set it is from."""

    proof: Proof
    members: list[Member]


def search(data: Data, question: Question, tolerance: float | None) -> Separated | Blocked:
    """Decide a question.

    With a ``tolerance`` a separator is improved until its margin is that near to the widest.

    Raises
    ------
    gordan.TooLarge
        Where floats cannot decide and exact arithmetic would take too long.
    """
    working = WorkingSet(data, question)
    working.sample(int(np.clip(2 * question.size, 64, 512)))
    last: np.ndarray = np.zeros(0)
    for _ in range(MOST_ROUNDS):
        weights, found = widest(working, last, tolerance)
        last = found.multipliers
        if weights is None:
            weights = _by_program(working)
        if weights is None:
            return blocked_by(working)
        if not grow(working, weights, _target(question, found, tolerance)):
            return Separated(weights, working.members[: len(last)], last)
    raise gordan.TooLarge(f"{MOST_ROUNDS} rounds")


def _by_program(working: WorkingSet) -> np.ndarray | None:
    """Weights that a linear program finds for the working set, None where it finds none."""
    columns = working.columns()
    guess = split(working.matrix(columns))
    if guess is None or not guess.free.all():
        return None
    weights = np.zeros(working.question.size)
    weights[columns] = guess.w
    return weights


def widest(
    working: WorkingSet, last: np.ndarray, tolerance: float | None
) -> tuple[np.ndarray | None, Nearest]:
    """The weights of widest margin on the working set, None where there seem to be none."""
    question = working.question
    columns = working.columns()
    sided = question.intercept and question.blocks == 1
    if sided:
        columns = columns[columns != question.width - 1]
    A = working.matrix(columns)
    groups = working.groups() if sided else np.zeros(len(A), dtype=int)
    start = np.append(last, np.zeros(len(A) - len(last))) if last.size else None
    found = nearest(A, groups, 0.1 if tolerance is None else tolerance / 4, start)
    if found.gap > (0.1 if tolerance is None else tolerance / 2):
        found = polished(A, groups, found, tolerance or 0.1)
    scores = A @ found.point
    weights = np.zeros(question.size)
    weights[columns] = found.point
    if sided:
        up, down = scores[groups > 0].min(), scores[groups < 0].min()
        weights[-1] = (down - up) / 2
        scores = scores + groups * weights[-1]
    right = scores.min() > 1e-13 * np.linalg.norm(found.point) * np.abs(A).max(initial=0.0)
    return (weights if right else None), found


def _target(question: Question, found: Nearest, tolerance: float | None) -> float | None:
    """The value that every constraint should have, None where positive is enough."""
    if tolerance is None:
        return None
    sides = 2 if question.intercept and question.blocks == 1 else 1
    return (1 - tolerance / 2) * float(found.point @ found.point) / sides


def grow(working: WorkingSet, weights: np.ndarray, target: float | None) -> bool:
    """Add the constraints whose values are lowest, of those that are not positive.

    With a target, of those below it. False where there are none.
    """
    whole: Row = {}
    worst = Worst(working)
    above = 0.0 if target is None else target
    for piece, values in scans(working.data, working.question, weights, above):
        if target is not None:
            worst.offer(piece, values, values.value < target)
            continue
        worst.offer(piece, values, values.value < -values.bound)
        doubtful = np.flatnonzero(np.abs(values.value) <= values.bound)
        whole = whole or (as_row(weights) if doubtful.size else {})
        wrong = np.zeros(len(values.value), dtype=bool)
        for i, row in exact_rows(working.question, piece, values, doubtful):
            wrong[i] = dot(row, whole) <= 0
        worst.offer(piece, values, wrong)
    return worst.add()


def as_row(weights: np.ndarray) -> Row:
    """Weights as whole numbers, times some power of two."""
    return {j: m for j, m in enumerate(whole_numbers(weights)[0]) if m}


class Worst:
    """The lowest constraints offered so far, relative to the lengths of their rows."""

    def __init__(self, working: WorkingSet) -> None:
        self.working = working
        self.most = int(np.clip(2 * working.question.size, 64, 512))
        self.found: list[tuple[float, int, Member]] = []
        self.limit = np.inf

    def offer(self, piece: Piece, values: Values, chosen: np.ndarray) -> None:
        """Take the chosen constraints where they are among the lowest."""
        places = np.flatnonzero(chosen)
        if not places.size:
            return
        relative = values.value[places] / values.norm[places]
        order = np.argsort(relative, kind="stable")[: self.most]
        for k in order[relative[order] < self.limit].tolist():
            row, which = int(values.row[places[k]]), int(values.which[places[k]])
            member = Member(self.working.question, piece, row, which)
            self.found.append((float(relative[k]), len(self.found), member))
        if len(self.found) > 2 * self.most:
            self._trim()

    def _trim(self) -> None:
        self.found = sorted(self.found)[: self.most]
        self.limit = self.found[-1][0] if len(self.found) == self.most else np.inf

    def add(self) -> bool:
        """Put them into the working set; says whether any is new."""
        self._trim()
        return any([self.working.include(member) for _, _, member in self.found])


def blocked_by(working: WorkingSet) -> Blocked:
    """The proof for all rows; the working set grows until it has it."""
    question = working.question
    for _ in range(MOST_ROUNDS):
        columns = working.columns()
        A = working.matrix(columns)
        guess = split(A)
        if guess is not None and np.linalg.matrix_rank(A[~guess.free]) < question.size:
            weights = np.zeros(question.size)
            weights[columns] = guess.w
            if _grow_by_clear(working, weights):
                continue
        proof = proved(working.members, A, columns, guess)
        if len(proof.span.rows) == question.size or not _grow_by_proof(working, proof):
            return Blocked(proof, working.members)
    raise gordan.TooLarge(f"{MOST_ROUNDS} rounds")


def _grow_by_clear(working: WorkingSet, weights: np.ndarray) -> bool:
    """Add constraints that the weights clearly get wrong."""
    worst = Worst(working)
    length = float(np.linalg.norm(weights))
    for piece, values in scans(working.data, working.question, weights):
        slack = np.maximum(values.bound, NOISE * length * values.norm)
        worst.offer(piece, values, values.value < -slack)
    return worst.add()


def _grow_by_proof(working: WorkingSet, proof: Proof) -> bool:
    """Add constraints that the direction of the proof gets wrong, exactly.

    A constraint is right where the direction makes it positive, or where the bound rows span it.
    """
    weights = dense_floats(proof.direction, working.question.size)
    span = Span(proof.span, working.question)
    worst = Worst(working)
    for piece, values in scans(working.data, working.question, weights):
        worst.offer(piece, values, values.value < -values.bound)
        doubtful = np.flatnonzero(np.abs(values.value) <= values.bound)
        doubtful = doubtful[span.outside(piece, values, doubtful)]
        wrong = np.zeros(len(values.value), dtype=bool)
        for i, row in exact_rows(working.question, piece, values, doubtful):
            wrong[i] = dot(row, proof.direction) <= 0
        worst.offer(piece, values, wrong)
    return worst.add()


def exact_rows(
    question: Question, piece: Piece, values: Values, places: np.ndarray
) -> Iterator[tuple[int, Row]]:
    """The whole numbers of some constraints of a piece."""
    for i in places.tolist():
        yield i, constraint(question, piece, int(values.row[i]), int(values.which[i]))[0]


def dense_floats(row: Row, size: int) -> np.ndarray:
    """The whole numbers over a power of two near the largest, each rounded once."""
    dense = np.zeros(size)
    if row:
        dense[list(row)] = nearest_floats(list(row.values()))
    return dense
