"""The working set of the search: a few constraints, both as floats and as integers.

It grows by constraints that weights get wrong. A pass over all rows finds them: in floats where
rounding cannot matter, else in integers.
"""

from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from operator import itemgetter

import numpy as np
import scipy.sparse as sp

from linsep.batches import Batch
from linsep.certificate.constraints import (
    Membership,
    Row,
    Space,
    Subject,
    Weights,
    dot,
    whole_numbers,
    whole_row,
)
from linsep.separability.data import Data, Scanned, exact_row, scan
from linsep.separability.time_limit import within_time

#: values below this share of the lengths are zero to a linear program
NOISE = 1e-9
#: least and most constraints that enter the working set in a round
LEAST_ADDED, MOST_ADDED = 64, 1_024
#: given weights separate only if floats leave no more constraints of neighboring lanes open
MOST_OPEN = 10_000


class Member:
    """One constraint, copied from the data, as floats and exactly.

    The ``key`` is the number of its row, and its number within the row; the ``group``, for two
    sides, 1 or -1; ``row`` has columns and values, and ``signs`` its vector c.
    """

    def __init__(self, subject: Subject, batch: Batch, row: int, which: int) -> None:
        self.key = (int(batch.first + row), which)
        self.signs = subject.signs[batch.y[row]][which]
        self._space = subject.width, subject.fit_intercept
        self.group = int(self.signs[0])
        columns, numbers = exact_row(batch.X, row)
        self.row = (columns.copy(), numbers.copy())

    @cached_property
    def whole(self) -> tuple[Row, Fraction]:
        """The constraint as integers and the positive fraction to multiply them by."""
        return whole_row(*self.row, self.signs, *self._space)


class Lowest:
    """The constraints with the lowest numbers so far; of equal ones those that came first."""

    def __init__(self, subject: Subject, most: int) -> None:
        self._question, self._most = subject, most
        self._found: list[tuple[float, Member]] = []

    def offer(self, batch: Batch, number: np.ndarray, row: np.ndarray, which: np.ndarray) -> None:
        """Keep the lowest constraints of a batch."""
        limit = self._found[-1][0] if len(self._found) == self._most else np.inf
        near = np.argsort(number, kind="stable")[: self._most]
        new = [
            (float(number[k]), Member(self._question, batch, int(row[k]), int(which[k])))
            for k in near[number[near] < limit].tolist()
        ]
        self._found = sorted([*self._found, *new], key=itemgetter(0))[: self._most]

    def offer_some(self, seen: Scanned, chosen: np.ndarray) -> None:
        """Keep the chosen constraints with the lowest values relative to the lengths of rows."""
        k = np.flatnonzero(chosen)
        if k.size:
            relative = seen.value[k] / seen.norm[k]
            self.offer(seen.batch, relative, seen.given.place[k], seen.given.which[k])

    def members(self) -> list[Member]:
        """Return the constraints, the lowest first."""
        return [member for _, member in self._found]


def shuffled(numbers: np.ndarray) -> np.ndarray:
    """Return pseudorandom 64-bit numbers, different for different integers.

    The finalizer of SplitMix64 (Steele, Lea and Flood, Fast splittable pseudorandom number
    generators, 2014).
    """
    z = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return z ^ z >> np.uint64(31)


class WorkingSet:
    """Constraints of a question, in the order in which they were added."""

    def __init__(self, data: Data, subject: Subject) -> None:
        self.data, self.subject = data, subject
        self.members: list[Member] = []
        self._known: set[tuple[int, int]] = set()
        self._table: sp.csr_matrix | None = None

    def include(self, members: Iterable[Member]) -> bool:
        """Add constraints; return whether any is new."""
        new = {member.key: member for member in members if member.key not in self._known}
        self._known.update(new)
        self.members += new.values()
        return bool(new)

    def sample(self, wanted: int) -> None:
        """Add some constraints of every class, drawn evenly over the data, one of each row.

        A row is drawn if its number, shuffled, is among the lowest of its class, so that the sample
        does not depend on the blocks in which rows come.
        """
        active = np.flatnonzero(self.subject.active).tolist()
        share = max(1, wanted // len(active))
        kept = {code: Lowest(self.subject, share) for code in active}
        for lane in within_time(self.data.lanes()):
            drawn = shuffled(np.arange(lane.first, lane.first + lane.size))
            for code in active:
                rows = np.flatnonzero(lane.y == code)
                which = shuffled(drawn[rows]) % np.uint64(len(self.subject.signs[code]))
                kept[code].offer(lane, drawn[rows] * 2.0**-64, rows, which)
        for code in active:
            self.include(kept[code].members())

    def fill(self, most: int) -> None:
        """Add all constraints if there are at most ``most``."""
        subject = self.subject
        if self.data.n_rows * max(map(len, subject.signs)) <= most:
            self.include(
                Member(subject, lane, row, which)
                for lane in within_time(self.data.lanes())
                for row, code in enumerate(lane.y.tolist())
                for which in range(len(subject.signs[code]))
            )

    def table(self) -> sp.csr_matrix:
        """Return the floats of all members, one row each."""
        if self._table is None or self._table.shape[0] < len(self.members):
            self._table = table_of(self.members, self.subject)
        return self._table

    def groups(self) -> np.ndarray:
        """Return the side of every member."""
        return np.array([member.group for member in self.members])


def table_of(members: list[Member], subject: Subject) -> sp.csr_matrix:
    """Return the floats of some members as a matrix without stored zeros, one row each."""
    columns, numbers = zip(*(member.row for member in members), strict=True)
    starts = np.cumsum([0, *map(len, columns)])
    table = np.concatenate(numbers).astype(np.float64), np.concatenate(columns), starts
    X = sp.csr_matrix(table, (len(members), subject.n_features))
    return subject.matrix(X, np.array([member.signs for member in members]))


def members_outside(
    space: Space, subject: Subject, members: list[Member], table: sp.csr_matrix
) -> np.ndarray:
    """Return which members lie outside a space; ``table`` has their floats."""
    inside = Membership(space, subject.size)
    rounded = any(member.row[1].dtype == object for member in members)
    return inside.outside(table, lambda k: members[k].whole[0], rounded, within_time)


def first_members(subject: Subject) -> int:
    """Return the initial size of a working set, which is also the most added in a round."""
    return int(np.clip(4 * subject.size, LEAST_ADDED, MOST_ADDED))


def as_row(weights: np.ndarray) -> Row:
    """Return weights as integers, in proportion."""
    return {j: m for j, m in enumerate(whole_numbers(weights)[0]) if m}


def grow(working: WorkingSet, weights: np.ndarray, target: float | Fraction | None) -> bool:
    """Add the constraints with the lowest values among those not positive, or below ``target``.

    Returns whether any is not positive, new or not.
    """
    subject = working.subject
    whole, goal = as_row(weights), Fraction(target or 0) / whole_numbers(weights)[1]
    # the floats of Weights are divided by this power
    above = float(goal / 2 ** max((m.bit_length() for m in whole.values()), default=0))
    found, worst = False, Lowest(subject, first_members(subject))
    for seen in scan(working.data, Weights(subject, whole)):
        value, bound = seen.value, seen.bound
        unsure = (np.abs(value - above) <= bound) | (np.abs(value) <= bound)
        found |= bool((value < -bound).any())
        wrong = (value < above - bound) & ~unsure
        worst.offer_some(seen, wrong)
        wrong[:] = False
        for k, (row, scale) in seen.exactly(np.flatnonzero(unsure)):
            product = dot(row, whole)
            found |= product <= 0
            wrong[k] = product <= 0 or product * scale < goal
        worst.offer_some(seen, wrong)
    working.include(worst.members())
    return found


def grow_by_clear(working: WorkingSet, weights: np.ndarray) -> bool:
    """Add constraints that the weights clearly violate; return whether any is new."""
    w = Weights(working.subject, as_row(weights))
    noise = NOISE * float(np.linalg.norm(w.floats))
    worst = Lowest(working.subject, first_members(working.subject))
    for seen in scan(working.data, w):
        worst.offer_some(seen, seen.value < -np.maximum(seen.bound, noise * seen.norm))
    return working.include(worst.members())


def separates(data: Data, subject: Subject, weights: np.ndarray) -> bool:
    """Return whether floats are proved, in one pass, to be positive on every constraint; False if
    integers would take too long. The rest of the lanes is not read after a "no".
    """
    if not np.isfinite(weights).all():
        return False
    whole, left = as_row(weights), MOST_OPEN
    for seen in scan(data, Weights(subject, whole)):
        close = np.flatnonzero(seen.value <= seen.bound)
        left -= len(close)
        if left < 0 or (seen.value < -seen.bound).any():
            return False
        if any(dot(row, whole) <= 0 for _, (row, _) in seen.exactly(close)):
            return False
    return True


def boundary_of(working: WorkingSet, direction: Row, space: Space) -> tuple[int, ...] | None:
    """Return the rows in the space of the bound rows if the direction is positive on all others.

    Else return None, after adding constraints that the direction violates.
    """
    subject = working.subject
    membership, worst = Membership(space, subject.size), Lowest(subject, first_members(subject))
    inside = [np.zeros(0, dtype=np.int64)]
    for seen in scan(working.data, Weights(subject, direction)):
        wrong = seen.value < -seen.bound
        worst.offer_some(seen, wrong)
        close = np.flatnonzero(np.abs(seen.value) <= seen.bound)
        out = seen.given.outside(membership, close, within_time)
        inside.append(seen.batch.first + np.unique(seen.given.place[close[~out]]))
        wrong[:] = False
        for k, (row, _) in seen.exactly(close[out]):
            wrong[k] = dot(row, direction) <= 0
        worst.offer_some(seen, wrong)
    return None if working.include(worst.members()) else tuple(np.concatenate(inside).tolist())
