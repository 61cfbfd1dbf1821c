"""An exact split of the working set: guessed by a linear program, then proved.

Goldman and Tucker (1956): any set of rows has a unique partition into *free* and *bound* rows such
that some weights w are positive on the free rows and zero on the bound ones, and a combination with
positive multipliers on all bound rows vanishes. All free: separable. All bound: overlapping. Both:
quasi-separable.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.separability.exact import simplex as gordan
from linsep.separability.exact.elimination import (
    far_apart,
    independent,
    null_combination,
    reduced,
    vanishing,
)
from linsep.separability.exact.simplex import alternative
from linsep.separability.exact.spans import Span
from linsep.separability.problem.questions import Question
from linsep.separability.problem.whole_numbers import Reduced, Row, dense_floats, dot, whole_numbers
from linsep.separability.problem.working_set import Member, WorkingSet
from linsep.separability.programs import Split, few_rows, split
from linsep.separability.time_limit import TooLarge, Work


class Proof(NamedTuple):
    """Both sides of the theorem.

    Attributes
    ----------
    direction : Row
        Integers, positive on the free rows and zero on the bound ones.
    members : list of Member
        Bound rows that span the space of all of them.
    multipliers : list of Fraction
        Positive; the members times these add up to zero.
    span : Reduced
        The span of the bound rows.
    """

    direction: Row
    members: list[Member]
    multipliers: list[Fraction]
    span: Reduced


def proved(working: WorkingSet, guess: Split | None) -> Proof:
    """Return the exact split of the working set, near the guess if it is right.

    Raises
    ------
    simplex.TooLarge
        If the guess is wrong and there are too many members for exact arithmetic alone.
    """
    for another in (guess, None):
        near = another or split(working.table())
        proof = None if near is None else _near(working, near)
        if proof is not None:
            return proof
    members = working.members
    direction, multipliers, span = gordan.exact_split(
        [member.whole[0] for member in members], working.work
    )
    used = [members[i] for i in multipliers]
    return Proof(direction, used, true_scale(used, list(multipliers.values())), span)


def _near(working: WorkingSet, guess: Split) -> Proof | None:
    """Return the proof near a guess, or None if the guess is wrong."""
    table = working.table()
    bound, free = np.flatnonzero(~guess.free), np.flatnonzero(guess.free)
    members = [working.members[i] for i in bound]
    span, basis = spanned(members, table[bound], working.question)
    multipliers = _multipliers(members, table[bound], span, basis) if members else {}
    if multipliers is None:
        return None
    weights = {j: w for j, w in enumerate(guess.w.tolist()) if w and j not in span.rows}
    direction = _direction([working.members[i] for i in free], table[free], weights, span)
    if direction is None:
        return None
    chosen = [members[k] for k in multipliers]
    return Proof(direction, chosen, true_scale(chosen, list(multipliers.values())), span)


def spanned(
    members: list[Member], A: sp.csr_matrix, question: Question
) -> tuple[Reduced, list[int]]:
    """Return the span of some rows, and the indices of a basis among them."""
    if not members:
        return Reduced({}), []
    some = A[: 3 * question.size + 8]
    basis = far_apart(some).tolist()
    while True:
        rows = [members[i].whole[0] for i in basis]
        basis = [basis[k] for k in independent(rows)]  # independent in floats only
        span = reduced(rows)
        outside = Span(span, question).outside_rows(A, lambda k: members[k].whole[0])
        if not outside.any():
            return span, basis
        basis += np.flatnonzero(outside)[: question.size].tolist()


def _multipliers(
    members: list[Member], A: sp.csr_matrix, span: Reduced, basis: list[int]
) -> dict[int, Fraction] | None:
    """Return exact multipliers of few rows that span the space, or None if floats fail."""
    if not span.rows:
        return dict.fromkeys(range(len(members)), Fraction(1))  # rows of zeros
    floor = np.zeros(len(members))
    floor[basis] = 1.0
    floats = few_rows(A, floor)
    if floats is None:
        return None
    used = np.flatnonzero(floats).tolist()
    start = [Fraction(floats[i]) * members[i].whole[1] for i in used]
    places = {i: k for k, i in enumerate(used)}
    if not places.keys() >= set(basis):
        return None
    rows = [members[i].whole[0] for i in used]
    exact = vanishing(rows, start, span, [places[i] for i in basis])
    return None if exact is None or min(exact) <= 0 else dict(zip(used, exact, strict=True))


def _direction(
    members: list[Member], A: sp.csr_matrix, weights: dict[int, float], span: Reduced
) -> Row | None:
    """Return integers near the weights, with the fewest sufficient digits, or None."""
    if not members:
        return {}
    for direction in roundings(weights, span):
        if all_positive(members, A, direction):
            return direction
    return None


def roundings(weights: dict[int, float], span: Reduced) -> Iterator[Row]:
    """Yield integer vectors ever closer to the weights, orthogonal to a space."""
    columns, floats = list(weights), np.array(list(weights.values()))
    mantissas, exponents = np.frexp(floats)
    for bits in (4, 10, 24, 53):
        rounded = np.ldexp(np.round(np.ldexp(mantissas, bits)), exponents - bits)
        whole, _ = whole_numbers(rounded)
        yield span.orthogonal({j: m for j, m in zip(columns, whole, strict=True) if m})


def all_positive(members: list[Member], A: sp.csr_matrix, direction: Row) -> bool:
    """Return whether all rows have positive products, decided in floats where they are certain."""
    w, sizes = dense_floats(direction, A.shape[1]), abs(A)
    with np.errstate(all="ignore"):
        value, reach = A @ w, sizes @ np.abs(w)
        # weights that underflow, times the row
        tiny = 2.0**-1000 * (1 + np.asarray(sizes.sum(axis=1)).ravel())
        sure = np.isfinite(value) & (value > 4 * A.shape[1] * 2.0**-53 * reach + tiny)
    return all(dot(members[i].whole[0], direction) > 0 for i in np.flatnonzero(~sure))


def true_scale(members: list[Member], multipliers: list[Fraction]) -> list[Fraction]:
    """Return the multipliers of the rows, from those of their integers."""
    scaled = zip(members, multipliers, strict=True)
    return [x / member.whole[1] for member, x in scaled]


def witness(proof: Proof, A: sp.csr_matrix, members: list[Member]) -> Proof:
    """Return a proof with few rows that nothing separates: at most one more than weights.

    ``A`` holds the floats of the bound ``members``, among which the rows are chosen.
    """
    floats = few_rows(A, np.zeros(len(members)))
    if floats is not None:
        used = [members[i] for i in np.flatnonzero(floats)]
        found = signed(null_combination([member.whole[0] for member in used]))
        if found is not None:
            return proof._replace(members=used, multipliers=true_scale(used, found))
    try:
        return _corner(proof, members)
    except TooLarge:
        return _reduced_support(proof)


def _corner(proof: Proof, members: list[Member]) -> Proof:
    """Return the basis of the exact simplex method: at most one more row than weights."""
    empty = [member for member in members if not member.whole[0]]
    if empty:
        return proof._replace(members=empty[:1], multipliers=[Fraction(1)])
    _, found = alternative([member.whole[0] for member in members], Work())
    used = [members[i] for i in found]
    return proof._replace(members=used, multipliers=true_scale(used, list(found.values())))


def signed(multipliers: list[Fraction] | None) -> list[Fraction] | None:
    """Return multipliers of one sign as positive ones, else None."""
    if multipliers is None or not all(multipliers):
        return None
    if all(x < 0 for x in multipliers):
        return [-x for x in multipliers]
    return multipliers if all(x > 0 for x in multipliers) else None


def _reduced_support(proof: Proof) -> Proof:
    """Remove rows one by one, by Caratheodory's theorem (1907)."""
    members, x = list(proof.members), list(proof.multipliers)
    while True:
        rows = [member.whole[0] for member in members]
        first = _first_dependent(rows)
        null = null_combination(rows[: first + 1])
        assert null is not None
        change = true_scale(members[: first + 1], null)
        if len(members) == first + 1:
            return proof._replace(members=members, multipliers=x)
        if max(change) <= 0:
            change = [-c for c in change]
        step = min(x[i] / c for i, c in enumerate(change) if c > 0)
        x = [x[i] - step * c for i, c in enumerate(change)] + x[first + 1 :]
        members = [member for member, m in zip(members, x, strict=True) if m]
        x = [m for m in x if m]


def _first_dependent(rows: list[Row]) -> int:
    """Return the index of the first row in the span of the rows before it."""
    basis = independent(rows)
    return next((i for i, k in enumerate(basis) if i != k), len(basis))
