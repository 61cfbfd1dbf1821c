"""The exact split of a working set near the guess of a linear program, and short proofs that
nothing separates.
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.certificate.constraints import Question
from linsep.certificate.integers import Row, Space
from linsep.separability.exact import alternative, corner, exact_split
from linsep.separability.integers import (
    far_apart,
    independent,
    null_combination,
    positive_rounding,
    reduced,
    vanishing,
)
from linsep.separability.programs import few_rows
from linsep.separability.time_limit import Work
from linsep.separability.working_set import Member, WorkingSet, members_outside


class Proof(NamedTuple):
    """Both sides of the theorem of Goldman and Tucker: a direction that is positive on the free
    rows and zero on the bound ones; and bound rows that span all of them, with positive multipliers
    whose combination vanishes.
    """

    direction: Row
    members: list[Member]
    multipliers: list[Fraction]
    span: Space


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
    proof = None if free is None else _near(working, free, w)
    if proof is None:
        whole = [member.whole[0] for member in working.members]
        direction, multipliers, span = exact_split(whole, working.work)
        proof = proof_of(direction, working.members, multipliers, span)
    return proof


def _near(working: WorkingSet, free: np.ndarray, w: np.ndarray) -> Proof | None:
    table, bound = working.table(), np.flatnonzero(~free)
    members, A = [working.members[i] for i in bound], table[bound]
    span, basis = spanned(members, A, working.question)
    multipliers = _multipliers(members, A, span, basis)
    if multipliers is None:
        return None
    others = [working.members[i].whole[0] for i in np.flatnonzero(free)]
    direction = positive_rounding(w, span, others) if others else {}
    return None if direction is None else proof_of(direction, members, multipliers, span)


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
    exact = vanishing(rows, start, [used.index(i) for i in basis])
    return None if exact is None or min(exact) <= 0 else dict(zip(used, exact, strict=True))


def crossing(working: WorkingSet, last: np.ndarray) -> Proof | None:
    """Return the proof that nothing separates by one row more than there are weights, which span
    them all: those of the ``last`` multipliers, or by a linear program; None if floats find none.
    """
    size = working.question.size
    for floats in (last, None):
        if floats is None:
            floats = few_rows(working.table(), np.zeros(len(working.members)))  # noqa: PLW2901
        if floats is None or np.count_nonzero(floats) != size + 1:
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
