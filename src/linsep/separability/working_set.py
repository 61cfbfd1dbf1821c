"""The working set of the search: a few constraints, both as floats and as integers.

It grows by constraints that weights get wrong. A pass over all rows finds them: in floats where
rounding cannot matter, else in integers. Guesses of weights in floats, which callers check.
"""

from collections.abc import Iterable
from fractions import Fraction
from operator import itemgetter
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, lapack
from scipy.optimize import minimize

from linsep._system.interrupts import cached_property
from linsep.batches import Batch
from linsep.certificate.canonical import Block
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
from linsep.separability.data import Data, Scanned, doubles, exact_row, scan, sides_of
from linsep.separability.time_limit import check_time, within_time

#: values below this share of the lengths are zero to a linear program
NOISE = 1e-9
#: least and most constraints that enter the working set in a round
LEAST_ADDED, MOST_ADDED = 64, 1_024
#: given weights separate only if floats leave no more constraints of neighboring lanes open
MOST_OPEN = 10_000
#: ridge, relative to the longest row, which makes dependent rows harmless
RIDGE = 1e-11
#: most rows that enter the shortest combination
MOST_STEPS = 20_000
#: visits of all rows that are not set aside, before the errors are counted
VISITS = 10
#: the fewest errors must fall by this factor within some counts
FALL, COUNTS = 1.1, 4


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


# Guesses: weights in floats that may separate. Few rows: the squared hinge loss is minimized, or
# the shortest convex combination found. All rows of many columns: coordinate descent.


def quick_weights(
    A: sp.csr_matrix, start: np.ndarray | None
) -> tuple[np.ndarray | None, np.ndarray]:
    """Return weights that are positive on all rows, or None, and each row's distance to 1.

    Minimizes the squared hinge loss ``sum max(0, 1 - A w)^2`` over rows of length 1 by L-BFGS. Its
    minimum is zero if and only if the rows are separable.
    """
    lengths = np.sqrt(np.ravel(A.multiply(A).sum(axis=1)))
    if not lengths.all() or not np.isfinite(lengths).all():
        return None, np.zeros(len(lengths))
    rows = sp.csr_matrix(sp.diags(1 / lengths) @ A)
    turned = sp.csr_matrix(rows.T)

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        short = np.maximum(0.0, 1.0 - rows @ w)
        return float(short @ short), -2.0 * (turned @ short)

    def enough(intermediate_result: Any) -> None:
        check_time()
        if (rows @ intermediate_result.x).min() > 0.25:
            raise StopIteration

    first = np.zeros(A.shape[1]) if start is None else start
    limits = {"maxiter": 500, "gtol": 1e-12, "ftol": 0.0}
    w = minimize(loss, first, jac=True, method="L-BFGS-B", callback=enough, options=limits).x
    values = rows @ w
    fine = values.min() > 1e-9 * np.abs(w).max(initial=1.0)
    return (w if fine else None), np.maximum(0.0, 1.0 - values) / lengths


def on_plane(A: np.ndarray, E: np.ndarray, weight: float, precise: bool) -> np.ndarray | None:
    """Return multipliers of any sign, summing to 1 within each group, of the shortest combination
    of rows; None if floats fail. ``precise`` is slower, and keeps all digits.

    With E the group indicators and ``M = A A^T + s E E^T``, which changes no optimum, they are
    ``M^-1 E (E^T M^-1 E)^-1 1``. LAPACK itself, which checks nothing: the systems are small and
    many.
    """
    if precise:
        root = np.sqrt(weight)
        tall = np.hstack([A, root * E, root * RIDGE * np.eye(len(A))]).T
        factor = np.triu(lapack.dgeqrf(tall)[0][: len(A)])
        found, failed = lapack.dpotrs(factor, E)
    else:
        table = A @ A.T + weight * (E @ E.T)
        table.flat[:: len(table) + 1] += weight * RIDGE
        _, found, failed = lapack.dposv(table.T, E, overwrite_a=True)
    if failed or not np.isfinite(found).all():
        return None
    _, _, shares, failed = lapack.dgesv(E.T @ found, np.ones(E.shape[1]))
    return None if failed else found @ shares


def nearest(
    rows: np.ndarray, groups: np.ndarray, tolerance: float, start: np.ndarray
) -> np.ndarray:
    """Return the multipliers, at least 0 and summing to 1 within each group, of the shortest
    combination of rows, to a ``tolerance`` relative to its length.

    Wolfe, "Finding the nearest point in a polytope" (1976), for one polytope or for the difference
    of two. For sign-flipped rows a_i let ``p = sum x_i a_i`` be the shortest vector. Then
    ``<p, a> >= |p|^2`` for all rows, and no weights of length 1 have a margin above |p| over the
    number of groups.
    """
    if rows.shape[1] > 2 * len(rows):  # the same lengths and angles, in fewer columns
        sizes, vectors = eigh(rows @ rows.T)
        rows = vectors * np.sqrt(np.maximum(sizes, 0.0))
    squares = np.einsum("ij,ij->i", rows, rows)
    E = (groups[:, None] == np.unique(groups)).astype(float)
    sides, weight = [np.flatnonzero(side) for side in E.T], float(squares.max(initial=0.0))
    x = start.copy()
    for side in sides:
        if not x[side].sum() > 0:
            x[side[squares[side].argmin()]] = 1.0
        x[side] /= x[side].sum()
    floor = 64 * np.finfo(float).eps * np.sqrt(weight)
    length, precise = np.inf, False
    for _ in range(MOST_STEPS):
        check_time()
        before, point = length, x @ rows
        length = float(np.sqrt(point @ point))
        scores = rows @ point
        behind = [float(x[side] @ scores[side] - scores[side].min()) for side in sides]
        if length <= floor or sum(behind) <= tolerance * length**2:
            break
        if length >= before * (1 - 1e-14):
            if precise:
                break
            precise, length = True, np.inf
        side = sides[int(np.argmax(behind))]
        entering = side[scores[side].argmin()]
        used = np.flatnonzero((x != 0) | (np.arange(len(x)) == entering))
        while (target := on_plane(rows[used], E[used], weight, precise)) is not None:
            falling = np.flatnonzero((target <= 0) & (x[used] > target))
            if not falling.size:
                x[used] = np.maximum(target, 0.0)
                break
            now = x[used]
            steps = now[falling] / (now[falling] - target[falling])
            now = np.maximum(now + min(1.0, steps.min()) * (target - now), 0.0)
            now[falling[steps.argmin()]] = 0.0
            x[used] = now
            used = used[now > 0]
    return x


def descended(data: Data, subject: Subject) -> np.ndarray | None:
    """Return weights that separate two sides of all rows in floats; None as soon as the number of
    errors no longer falls fast.

    Hsieh and others, "A dual coordinate descent method for large-scale linear SVM" (ICML 2008),
    without an upper bound on the dual variables, on rows scaled to length 1.
    """
    from linsep.compiled.rows import as_rows
    from linsep.compiled.soft_margin import descend

    bias, random = float(subject.fit_intercept), np.random.default_rng(0)
    w = np.zeros(subject.width + (not subject.fit_intercept))
    lanes: dict[int, tuple[np.ndarray, ...]] = {}  # rows to visit, dual variables, signs, ones
    never, fewest, since = np.array([np.inf, -np.inf]), float("inf"), 0  # no row is set aside
    while since < COUNTS and np.isfinite(w).all():
        for visit in range(VISITS + 1):
            errors = 0
            for batch in within_time(data.lanes()):
                X = doubles(batch.X)
                if batch.first not in lanes:
                    order = np.flatnonzero(subject.active[batch.y])
                    lengths = np.hypot(Block(X, batch.y, 0).lengths, bias)
                    signs, one = sides_of(subject)[batch.y] / lengths, np.ones(batch.size)
                    lanes[batch.first] = order, np.zeros(batch.size), signs, one
                order, dual, signs, one = lanes[batch.first]
                if visit == VISITS:
                    scores = X @ w[: X.shape[1]] + bias * w[-1]
                    errors += int(np.count_nonzero(~(scores * signs > 0)[order]))
                else:
                    random.shuffle(order)
                    descend(
                        as_rows(X), order, dual, signs, np.inf * one, one, w, bias, False, never
                    )
        if not errors:
            return w[: subject.size]
        falling = errors * FALL <= fewest
        fewest, since = (errors, 0) if falling else (fewest, since + 1)
    return None
