"""The search for a verdict: a working set of rows that grows by those that a guess got wrong.

Verdicts made of its results are checked independently, from their evidence alone.
"""

from typing import NamedTuple

import numpy as np

from linsep.certificate.constraints import Question
from linsep.separability.data import Data
from linsep.separability.guesses import descended, nearest, quick_weights
from linsep.separability.margin import Separated
from linsep.separability.programs import pushes
from linsep.separability.splitting import Proof, crossing, proved
from linsep.separability.time_limit import TooLarge, doing
from linsep.separability.working_set import (
    Member,
    WorkingSet,
    boundary_of,
    first_members,
    grow,
    grow_by_clear,
)

MOST_ROUNDS = 1_000
#: constraints that enter the working set together if floats do not decide
MOST_FILLED = 5_000
#: with more weights, accept any separator unless margin="max"
MOST_WEIGHTS = 400
#: rounds of quick weights, which see a few rows, before all rows are visited
QUICK_ROUNDS = 8
#: rounds of quick weights before the widest margin is looked for, which takes longer
FIRST_ROUNDS = 4


class Inseparable(NamedTuple):
    """The proof that no weights are positive on every constraint, its working set, and the numbers
    of the boundary rows (None: all rows).
    """

    proof: Proof
    members: list[Member]
    boundary: tuple[int, ...] | None


def search(data: Data, question: Question, tolerance: float | None) -> Separated | Inseparable:
    """Decide a question; with a ``tolerance``, a separator is improved until its margin is that
    close to the widest. TooLarge if floats cannot decide and exact arithmetic would take too long.
    """
    working = WorkingSet(data, question)
    working.sample(first_members(question))
    few = question.blocks == 1 and question.size <= MOST_WEIGHTS
    widest, last = few or tolerance is not None, np.zeros(0)
    first_rounds, start = FIRST_ROUNDS * few, None
    for turn in range(MOST_ROUNDS):
        weights, target = None, None
        quick = turn < first_rounds and data.n_rows > len(working.members)
        if turn == QUICK_ROUNDS and not widest and question.blocks == 1:
            doing("coordinate descent")
            weights = descended(data, question)
            doing("the working set")
        if quick:
            weights, _ = quick_weights(working.table(), None)
        elif not widest and weights is None:
            weights, short = quick_weights(working.table(), start)
            start = start if weights is None else weights
            last = _shares_of(short, working.groups())
        if weights is None and widest:
            weights, last, target = widest_weights(working, last, tolerance)
        proof = crossing(working, last) if weights is None and not data.sparse else None
        if proof is not None:
            return Inseparable(proof, proof.members, None)
        if weights is None or not np.isfinite(weights).all():
            return blocked_by(working, last)
        count, wrong = len(working.members), grow(working, weights, target)
        if len(working.members) > count:
            continue
        if quick:
            first_rounds = 0
            continue
        if wrong:  # members too close for floats
            return blocked_by(working, last)
        return Separated(weights, working.members[: len(last)], last)
    raise TooLarge(f"{MOST_ROUNDS:,} rounds do not decide")


def _shares_of(short: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the rows with the smallest values, which bound the margin of all weights.

    Short numbers are enough: shares of a side, which must not be rounded away as a whole.
    """
    for side in np.unique(groups):
        chosen = groups == side
        short[chosen] += not short[chosen].any()
        short[chosen] = np.round(short[chosen] * (2.0**16 / short[chosen].max()))
    return short


def widest_weights(
    working: WorkingSet, last: np.ndarray, tolerance: float | None
) -> tuple[np.ndarray | None, np.ndarray, float | None]:
    """Return the weights of widest margin on the working set (None if they seem not to exist), the
    multipliers of its rows, and the value all rows should reach.

    To the tolerance, or without one only until they separate; from the ``last`` multipliers.
    """
    question, table = working.question, working.table()
    columns = np.unique(table.indices)
    sides = 2 if question.intercept else 1
    if question.intercept:
        columns = columns[columns != question.width - 1]
    A, power = near_one(table[:, columns].toarray())
    groups = working.groups() if question.intercept else np.zeros(len(A), dtype=int)
    start = np.append(last, np.zeros(len(A) - len(last)))
    found = nearest(A, groups, 0.05 if tolerance is None else tolerance / 4, start)
    point = found @ A
    scores, w = A @ point, np.zeros(question.size)
    w[columns] = point
    if question.intercept:
        bias = (scores[groups < 0].min() - scores[groups > 0].min()) / 2
        scores = scores + groups * bias
        w[-1] = np.ldexp(bias, power)
    square = float(point @ point)
    if scores.min() <= 1e-13 * np.sqrt(square) * np.abs(A).max(initial=0.0):
        return None, found, None
    target = (1 - tolerance / 2) * square / sides if tolerance else None
    return w, found, None if target is None else float(np.ldexp(target, power))


def near_one(A: np.ndarray) -> tuple[np.ndarray, int]:
    """Divide rows by a power of two if their squares would overflow or underflow; return both."""
    power = int(np.frexp(np.abs(A).max(initial=0.0))[1])
    return (np.ldexp(A, -power), power) if abs(power) > 300 else (A, 0)


def blocked_by(working: WorkingSet, last: np.ndarray) -> Inseparable | Separated:
    """Grow the working set until its proof holds for all rows, and return it.

    Separating weights that floats could not find are found here too, as a direction that no row
    bounds.
    """
    question = working.question
    for _ in range(MOST_ROUNDS):
        guess, w, more = None, np.zeros(0), False
        for w, free, last_push in pushes(working.table()):
            more = bool(w.any()) and grow_by_clear(working, w)
            if more:
                break
            guess = free if last_push else None
        if more:
            continue
        proof = proved(working, guess, w)
        if len(proof.span.rows) == question.size:
            return Inseparable(proof, working.members, None)
        boundary = boundary_of(working, proof.direction, proof.span)
        if boundary is not None and not proof.members:
            w = np.array([proof.direction.get(j, 0) for j in range(question.size)], dtype=object)
            return Separated(w, working.members[: len(last)], last)
        if boundary is not None:
            return Inseparable(proof, working.members, boundary)
        if working.work.begun:  # exact arithmetic costs more than a few rows
            working.fill(MOST_FILLED)
    raise TooLarge(f"{MOST_ROUNDS:,} rounds do not decide")
