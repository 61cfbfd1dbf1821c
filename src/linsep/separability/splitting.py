"""The exact split of a working set near the guess of a linear program, and short proofs that
nothing separates.
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.certificate.constraints import Question
from linsep.certificate.integers import Row, Space, dot
from linsep.separability.data import dense_floats
from linsep.separability.exact import (
    alternative,
    exact_split,
    far_apart,
    independent,
    null_combination,
    reduced,
    roundings,
    signed,
    vanishing,
)
from linsep.separability.programs import Split, few_rows
from linsep.separability.time_limit import Work
from linsep.separability.working_set import Member, WorkingSet, members_outside


class Proof(NamedTuple):
    """Both sides of the theorem of Goldman and Tucker.

    Attributes
    ----------
    direction : Row
        Integers, positive on the free rows and zero on the bound ones.
    members : list of Member
        Bound rows that span the space of all of them.
    multipliers : list of Fraction
        Positive; the members times these add up to zero.
    span : Space
        The span of the bound rows.
    """

    direction: Row
    members: list[Member]
    multipliers: list[Fraction]
    span: Space


def proved(working: WorkingSet, guess: Split | None) -> Proof:
    """Return the exact split of the working set, near the guess if it is right.

    Raises
    ------
    TooLarge
        If the guess is wrong and exact arithmetic alone would take too long.
    """
    proof = None if guess is None else _near(working, guess)
    if proof is not None:
        return proof
    members = working.members
    direction, multipliers, span = exact_split([m.whole[0] for m in members], working.work)
    used = [members[i] for i in multipliers]
    return Proof(direction, used, true_scale(used, list(multipliers.values())), span)


def _near(working: WorkingSet, guess: Split) -> Proof | None:
    table = working.table()
    bound, free = np.flatnonzero(~guess.free), np.flatnonzero(guess.free)
    members = [working.members[i] for i in bound]
    span, basis = spanned(members, table[bound], working.question)
    multipliers = _multipliers(members, table[bound], span, basis) if members else {}
    if multipliers is None:
        return None
    direction: Row | None = {}
    if free.size:
        others, A = [working.members[i].whole[0] for i in free], table[free]
        near = (w for w in roundings(guess.w, span) if all_positive(others, A, w))
        direction = next(near, None)
    if direction is None:
        return None
    chosen = [members[k] for k in multipliers]
    return Proof(direction, chosen, true_scale(chosen, list(multipliers.values())), span)


def spanned(members: list[Member], A: sp.csr_matrix, question: Question) -> tuple[Space, list[int]]:
    """Return the span of some rows, and the indices of a basis among them."""
    if not members:
        return Space({}), []
    basis = far_apart(A[: 3 * question.size + 8]).tolist()
    while True:
        rows = [members[i].whole[0] for i in basis]
        basis = [basis[k] for k in independent(rows)]  # independent in floats only
        span = reduced(rows)
        outside = members_outside(span, question, members, A)
        if not outside.any():
            return span, basis
        basis += np.flatnonzero(outside)[: question.size].tolist()


def _multipliers(
    members: list[Member], A: sp.csr_matrix, span: Space, basis: list[int]
) -> dict[int, Fraction] | None:
    """Return exact multipliers of few rows that span the space, or None if floats fail."""
    if not span.rows:
        return dict.fromkeys(range(len(members)), Fraction(1))  # rows of zeros
    floor = np.zeros(len(members))
    floor[basis] = 1.0
    floats = few_rows(A, floor)
    if floats is None or not floats[basis].all():
        return None
    used = np.flatnonzero(floats).tolist()
    start = [Fraction(floats[i]) * members[i].whole[1] for i in used]
    rows = [members[i].whole[0] for i in used]
    exact = vanishing(rows, start, span, [used.index(i) for i in basis])
    return None if exact is None or min(exact) <= 0 else dict(zip(used, exact, strict=True))


def all_positive(rows: list[Row], A: sp.csr_matrix, direction: Row) -> bool:
    """Return whether all rows, whose floats are given, have positive products."""
    w, sizes = dense_floats(direction, A.shape[1]), abs(A)
    with np.errstate(all="ignore"):
        value, reach = A @ w, sizes @ np.abs(w)
        # weights that underflow, times the row
        tiny = 2.0**-1000 * (1 + np.asarray(sizes.sum(axis=1)).ravel())
        sure = np.isfinite(value) & (value > 4 * A.shape[1] * 2.0**-53 * reach + tiny)
    return all(dot(rows[i], direction) > 0 for i in np.flatnonzero(~sure))


def true_scale(members: list[Member], multipliers: list[Fraction]) -> list[Fraction]:
    """Return the multipliers of the rows, from the multipliers of their integers."""
    scaled = zip(members, multipliers, strict=True)
    return [x / member.whole[1] for member, x in scaled]


def crossing(working: WorkingSet, last: np.ndarray) -> Proof | None:
    """Return the proof that nothing separates by one row more than there are weights, which span
    them all: those of the ``last`` multipliers, or by a linear program; None if floats find none.
    """
    size = working.question.size
    everything = Space({j: {j: 1} for j in range(size)})
    start = [Fraction(0)] * size + [Fraction(1)]
    for given in (last, None):
        floats = few_rows(working.table(), np.zeros(len(working))) if given is None else given
        if floats is None or np.count_nonzero(floats) != size + 1:
            continue
        members = [working.members[i] for i in np.flatnonzero(floats)]
        rows = [member.whole[0] for member in members]
        exact = vanishing(rows, start, everything, list(range(size)))
        if exact is not None and min(exact) > 0:
            return Proof({}, members, true_scale(members, exact), everything)
    return None


def witness(proof: Proof, A: sp.csr_matrix, members: list[Member]) -> Proof:
    """Return a proof with few rows that nothing separates: at most one more than weights.

    ``A`` holds the floats of the bound ``members``, among which the rows are chosen.
    """
    if len(members) == len(proof.members) == len(proof.span.rows) + 1:
        return proof  # no other combination of these rows vanishes
    floats = few_rows(A, np.zeros(len(members)))
    if floats is not None:
        used = [members[i] for i in np.flatnonzero(floats)]
        found = signed(null_combination([member.whole[0] for member in used]))
        if found is not None:
            return proof._replace(members=used, multipliers=true_scale(used, found))
    if len(proof.members) <= len(proof.span.rows) + 1:
        return proof
    empty = [member for member in members if not member.whole[0]]
    if empty:
        return proof._replace(members=empty[:1], multipliers=[Fraction(1)])
    _, exact = alternative([member.whole[0] for member in proof.members], Work())
    used = [proof.members[i] for i in exact]
    return proof._replace(members=used, multipliers=true_scale(used, list(exact.values())))
