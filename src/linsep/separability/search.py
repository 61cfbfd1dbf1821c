"""The search for a verdict: a working set of rows that grows by those that a guess got wrong; the
guess of a linear program is made exact, with short proofs that nothing separates.

Verdicts made of its results are checked independently, from their evidence alone.
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.batches import joined
from linsep.certificate.constraints import Row, Space, Subject
from linsep.separability.data import MOST_COPIED, Data, off_boundary, sides_of
from linsep.separability.exact import alternative, corner, exact_split
from linsep.separability.integers import (
    far_apart,
    independent,
    null_combination,
    positive_rounding,
    reduced,
    vanishing,
)
from linsep.separability.margin import Separated
from linsep.separability.programs import few_rows, pushes
from linsep.separability.time_limit import TooLarge, Work, doing
from linsep.separability.working_set import (
    Member,
    WorkingSet,
    boundary_of,
    descended,
    first_members,
    grow,
    grow_by_clear,
    members_outside,
    nearest,
    quick_weights,
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


class Proof(NamedTuple):
    """Both sides of the theorem of Goldman and Tucker: a direction that is positive on the free
    rows and zero on the bound ones; and bound rows that span all of them, with positive multipliers
    whose combination vanishes.
    """

    direction: Row
    members: list[Member]
    multipliers: list[Fraction]
    span: Space


class Inseparable(NamedTuple):
    """The proof that no weights are positive on every constraint, its working set, and the numbers
    of the rows on the boundary, unless nothing is off it.
    """

    proof: Proof
    members: list[Member]
    boundary: tuple[int, ...]


def search(data: Data, subject: Subject, tolerance: float | None) -> Separated | Inseparable:
    """Decide a question; with a ``tolerance``, a separator is improved until its margin is that
    close to the widest. TooLarge if floats cannot decide and exact arithmetic would take too long.
    """
    working = WorkingSet(data, subject)
    working.sample(first_members(subject))
    quick = subject.blocks == 1 and subject.size <= MOST_WEIGHTS
    widest, last, start = quick or tolerance is not None, np.zeros(0), None
    for turn in range(MOST_ROUNDS):
        weights, target = None, None
        if turn == QUICK_ROUNDS and not widest and subject.blocks == 1:
            doing("coordinate descent")
            weights = descended(data, subject)
            doing("the working set")
        quick = quick and turn < FIRST_ROUNDS and data.n_rows > len(working.members)
        if weights is None and (quick or not widest):
            weights, short = quick_weights(working.table(), start)
            start = start if weights is None else weights
            last = last if widest else _shares_of(short, working.groups())
        if weights is None and widest:
            weights, last, target = widest_weights(working, last, tolerance)
        proof = crossing(working, last) if weights is None and not data.sparse else None
        if proof is not None:
            return Inseparable(proof, proof.members, ())
        if weights is None or not np.isfinite(weights).all():
            return blocked_by(working, last)
        count, wrong = len(working.members), grow(working, weights, target)
        if len(working.members) == count and not quick:
            if wrong:  # members too close for floats
                return blocked_by(working, last)
            return Separated(weights, working.members[: len(last)], last)
        quick = quick and len(working.members) > count
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
    subject, table = working.subject, working.table()
    columns = np.unique(table.indices)
    sides = 2 if subject.fit_intercept else 1
    if subject.fit_intercept:
        columns = columns[columns != subject.width - 1]
    A = table[:, columns].toarray()
    power = int(np.frexp(np.abs(A).max(initial=0.0))[1])
    power = power if abs(power) > 300 else 0  # squares would overflow or underflow
    A = np.ldexp(A, -power)
    groups = working.groups() if subject.fit_intercept else np.zeros(len(A), dtype=int)
    start = np.append(last, np.zeros(len(A) - len(last)))
    found = nearest(A, groups, 0.05 if tolerance is None else tolerance / 4, start)
    point = found @ A
    scores, w = A @ point, np.zeros(subject.size)
    w[columns] = point
    if subject.fit_intercept:
        bias = (scores[groups < 0].min() - scores[groups > 0].min()) / 2
        scores = scores + groups * bias
        w[-1] = np.ldexp(bias, power)
    square = float(point @ point)
    if scores.min() <= 1e-13 * np.sqrt(square) * np.abs(A).max(initial=0.0):
        return None, found, None
    target = (1 - tolerance / 2) * square / sides if tolerance else None
    return w, found, None if target is None else float(np.ldexp(target, power))


def blocked_by(working: WorkingSet, last: np.ndarray) -> Inseparable | Separated:
    """Grow the working set until its proof holds for all rows, and return it.

    Separating weights that floats could not find are found here too, as a direction that no row
    bounds.
    """
    data, subject = working.data, working.subject
    if data.sparse and subject.blocks == 1 and (found := by_peeling(data, subject)) is not None:
        return found
    for _ in range(MOST_ROUNDS):
        guess, w = None, np.zeros(0)
        for w, free, last_push in pushes(working.table()):
            if w.any() and grow_by_clear(working, w):
                break
            guess = free if last_push else None
        else:
            proof = proved(working, guess, w)
            everything = len(proof.span.rows) == subject.size
            boundary = () if everything else boundary_of(working, proof.direction, proof.span)
            if boundary is None:
                working.fill(MOST_FILLED)
            elif proof.members:
                return Inseparable(proof, working.members, boundary)
            else:
                w = np.array([proof.direction.get(j, 0) for j in range(subject.size)], object)
                return Separated(w, working.members[: len(last)], last)
    raise TooLarge(f"{MOST_ROUNDS:,} rounds do not decide")


def by_peeling(data: Data, subject: Subject) -> Inseparable | None:
    """Return the proof that nothing separates from sparse rows without those of a column of one
    sign, looked for again and again; None without such columns, or if it fails. The weight of such
    a column decides its rows, whatever the weights of later ones are.
    """
    if sum(lane.X.nnz for lane in data.lanes()) > MOST_COPIED:
        return None
    batch = joined(list(data.lanes()))
    sides = sides_of(subject)[batch.y].astype(np.float64)
    A, left = sp.csr_matrix(batch.X, dtype=np.float64, copy=True), sides != 0
    A.data *= np.repeat(sides, np.diff(A.indptr))
    A.eliminate_zeros()
    above, below = (
        np.bincount(A.indices[of], minlength=A.shape[1]) for of in (A.data > 0, A.data < 0)
    )
    pure = np.flatnonzero((above == 0) != (below == 0)).tolist()
    if not pure:
        return None
    by_column, columns = A.tocsc(), list[tuple[int, np.ndarray]]()
    while pure:
        j = pure.pop()
        rows = by_column.indices[by_column.indptr[j] : by_column.indptr[j + 1]]
        rows = rows[left[rows]]
        if rows.size:
            columns.append((j, rows))
            left[rows], gone = False, A[rows]
            np.subtract.at(above, gone.indices[gone.data > 0], 1)
            np.subtract.at(below, gone.indices[gone.data < 0], 1)
            touched = np.unique(gone.indices)
            pure += touched[(above[touched] == 0) != (below[touched] == 0)].tolist()
    rows_left, numbers = off_boundary(data, subject, np.flatnonzero(~left))
    if len(set(sides[left].tolist())) < 2 or rows_left is data:
        return None
    rest = WorkingSet(rows_left, subject)
    rest.sample(first_members(subject))
    found = blocked_by(rest, np.zeros(0))
    proof, w = getattr(found, "proof", None), np.zeros(subject.size)
    if proof is None or max(map(abs, proof.direction.values()), default=0) >= 2**53:
        return None
    w[list(proof.direction)] = list(proof.direction.values())
    for j, rows in reversed(columns):
        of_column = np.ravel(A[rows, [j]])
        values = A[rows] @ w[: A.shape[1]] + sides[rows] * w[-1] * subject.fit_intercept
        w[j] = np.sign(of_column[0]) * max(1.0, np.floor((-values / np.abs(of_column)).max()) + 1)
    if not np.abs(w).max() < 2**53:
        return None
    direction = {j: int(m) for j, m in enumerate(w.tolist()) if m}
    boundary = boundary_of(WorkingSet(data, subject), direction, proof.span)
    for member in {id(m): m for m in (*found.members, *proof.members)}.values():
        member.key = (int(numbers[member.key[0]]), member.key[1])
    proof = proof._replace(direction=direction)
    return None if boundary is None else Inseparable(proof, found.members, boundary)


# The exact split.


def proof_of(
    direction: Row, members: list[Member], multipliers: dict[int, Fraction], span: Space
) -> Proof:
    """Return a proof from the multipliers of the integers of some members."""
    used = [members[i] for i in multipliers]
    terms = zip(used, multipliers.values(), strict=True)
    return Proof(direction, used, [x / member.whole[1] for member, x in terms], span)


def proved(working: WorkingSet, free: np.ndarray | None, w: np.ndarray) -> Proof:
    """Return the exact split of the working set, near the guess if it is right: that ``w`` is
    positive on the ``free`` rows and zero on the others.
    """
    if free is not None and (proof := _near(working, free, w)) is not None:
        return proof
    whole = [member.whole[0] for member in working.members]
    direction, multipliers, span = exact_split(whole, Work())
    return proof_of(direction, working.members, multipliers, span)


def _near(working: WorkingSet, free: np.ndarray, w: np.ndarray) -> Proof | None:
    table, bound = working.table(), np.flatnonzero(~free)
    members, A = [working.members[i] for i in bound], table[bound]
    span, basis = spanned(members, A, working.subject)
    multipliers = dict.fromkeys(range(len(members)), Fraction(1))  # of rows of zeros, if all are
    if span.rows:  # few rows with the basis among them
        floor = np.zeros(len(members))
        floor[basis] = 1.0
        floats = few_rows(A, floor)
        if floats is None or not floats[basis].all():
            return None
        used = np.flatnonzero(floats).tolist()
        start = [Fraction(floats[i]) * members[i].whole[1] for i in used]
        places = [used.index(i) for i in basis]
        exact = vanishing([members[i].whole[0] for i in used], start, places)
        if exact is None or min(exact) <= 0:
            return None
        multipliers = dict(zip(used, exact, strict=True))
    others = [working.members[i].whole[0] for i in np.flatnonzero(free)]
    direction = positive_rounding(w, span, others) if others else {}
    return None if direction is None else proof_of(direction, members, multipliers, span)


def spanned(members: list[Member], A: sp.csr_matrix, subject: Subject) -> tuple[Space, list[int]]:
    """Return the span of some rows, and the indices of a basis among them."""
    basis = far_apart(A[: 3 * subject.size + 8]).tolist()
    while True:
        rows = [members[i].whole[0] for i in basis]
        basis = [basis[k] for k in independent(rows)]  # independent in floats only
        span = reduced(rows)
        outside = members_outside(span, subject, members, A)
        if not outside.any():
            return span, basis
        basis += np.flatnonzero(outside)[: subject.size].tolist()


def crossing(working: WorkingSet, last: np.ndarray) -> Proof | None:
    """Return the proof that nothing separates by one row more than there are weights, which span
    them all: those of the ``last`` multipliers, or by a linear program; None if floats find none.
    """
    size = working.subject.size
    for guess in (lambda: last, lambda: few_rows(working.table(), np.zeros(len(working.members)))):
        if (floats := guess()) is None or np.count_nonzero(floats) != size + 1:
            continue
        members = [working.members[i] for i in np.flatnonzero(floats)]
        exact = null_combination([member.whole[0] for member in members])
        if exact is not None:
            everything = Space({j: {j: 1} for j in range(size)})
            return proof_of({}, members, dict(enumerate(exact)), everything)
    return None


def witness(proof: Proof, A: sp.csr_matrix, members: list[Member]) -> Proof:
    """Return a proof with few rows that nothing separates: at most one more than weights.

    ``A`` holds the floats of the bound ``members``, among which the rows are chosen.
    """
    few = len(proof.span.rows) + 1
    if len(members) == len(proof.members) == few:
        return proof  # no other combination of these rows vanishes
    found = corner(A, None, lambda k: members[k].whole[0])
    if found is None and len(proof.members) > few:
        members = proof.members
        rows = [member.whole[0] for member in members]
        empty = [k for k, row in enumerate(rows) if not row]
        found = {empty[0]: Fraction(1)} if empty else alternative(rows, Work())[1]
    return proof if found is None else proof_of({}, members, found, proof.span)
