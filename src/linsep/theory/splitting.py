"""A split of the working set that holds exactly: guessed by a linear program, then proved.

Goldman and Tucker (1956): any rows fall into two kinds in one way only. Some weights w are positive
on the *free* rows and zero on the others; a combination with positive multipliers on the *bound*
rows vanishes. All free: separable. All bound: overlapping. Both: quasi-separable.
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from linsep.theory import gordan
from linsep.theory.elimination import (
    independent,
    null_combination,
    reduced,
    vanishing,
    well_placed,
)
from linsep.theory.programs import Split, few_rows
from linsep.theory.row_space import Reduced
from linsep.theory.whole import Row, dot, whole_numbers
from linsep.theory.working_set import Member


class Proof(NamedTuple):
    """Both sides of the theorem.

    Attributes
    ----------
    direction : Row
        Whole numbers, positive on the free rows and zero on the bound ones.
    members : list of Member
        Bound rows that span the space of all of them.
    multipliers : list of Fraction
        Positive; the members times these add up to zero.
    span : Reduced
        The space of the bound rows.
    """

    direction: Row
    members: list[Member]
    multipliers: list[Fraction]
    span: Reduced


def proved(members: list[Member], A: np.ndarray, columns: np.ndarray, guess: Split | None) -> Proof:
    """The exact split of the members, near the guess if it is right.

    Raises
    ------
    gordan.TooLarge
        Where the guess is wrong and the members are too many for exact arithmetic alone.
    """
    proof = None if guess is None else _near(members, A, columns, guess)
    if proof is not None:
        return proof
    rows = [member.whole[0] for member in members]
    direction, multipliers, span = gordan.exact_split(rows)
    used = [members[i] for i in multipliers]
    return Proof(direction, used, _true_scale(used, list(multipliers.values())), span)


def _near(members: list[Member], A: np.ndarray, columns: np.ndarray, guess: Split) -> Proof | None:
    bound = np.flatnonzero(~guess.free)
    rows = [members[i].whole[0] for i in bound]
    span = reduced(rows)
    multipliers = _near_multipliers(A[bound], columns, rows, [members[i] for i in bound], span)
    if multipliers is None:
        return None
    free = [members[i].whole[0] for i in np.flatnonzero(guess.free)]
    weights = {int(j): w for j, w in zip(columns, guess.w, strict=True) if int(j) not in span.rows}
    direction = _near_direction(free, weights, span)
    if direction is None:
        return None
    used = [k for k, x in enumerate(multipliers) if x]
    chosen = [members[bound[k]] for k in used]
    return Proof(direction, chosen, _true_scale(chosen, [multipliers[k] for k in used]), span)


def _near_multipliers(
    A: np.ndarray, columns: np.ndarray, rows: list[Row], members: list[Member], span: Reduced
) -> list[Fraction] | None:
    """Exact multipliers of few rows that span the space; None where floats do not lead there."""
    if not span.rows:
        return [Fraction(1)] * len(rows)  # rows of zeros
    basis = well_placed(A[:, np.searchsorted(columns, sorted(span.rows))], len(span.rows))
    floor = np.zeros(len(rows))
    floor[basis] = 1.0
    floats = few_rows(A, floor)
    if floats is None:
        return None
    start = [
        Fraction(x) * Fraction(2) ** member.whole[1]
        for x, member in zip(floats.tolist(), members, strict=True)
    ]
    exact = vanishing(rows, start, span, basis.tolist())
    return None if exact is None or min(exact) < 0 or not all(exact[i] for i in basis) else exact


def _near_direction(free: list[Row], weights: dict[int, float], span: Reduced) -> Row | None:
    """Whole numbers near the weights, as few digits as will do; None where none will."""
    if not free:
        return {}
    columns, floats = list(weights), np.array(list(weights.values()))
    mantissas, exponents = np.frexp(floats)
    for bits in (4, 10, 24, 53):
        rounded = np.ldexp(np.round(np.ldexp(mantissas, bits)), exponents - bits)
        whole, _ = whole_numbers(rounded)
        direction = span.orthogonal({j: m for j, m in zip(columns, whole, strict=True) if m})
        if all(dot(row, direction) > 0 for row in free):
            return direction
    return None


def _true_scale(members: list[Member], multipliers: list[Fraction]) -> list[Fraction]:
    """Multipliers of the rows as they are, from those of their whole numbers."""
    scaled = zip(members, multipliers, strict=True)
    return [x / Fraction(2) ** member.whole[1] for member, x in scaled]


def witness(proof: Proof, A: np.ndarray, members: list[Member]) -> Proof:
    """The same claim with the fewest rows that are found: at most one more than there are weights.

    ``A`` holds the floats of bound ``members``, among which the rows are looked for.
    """
    floats = few_rows(A, np.zeros(len(A)))
    if floats is not None:
        used = [members[i] for i in np.flatnonzero(floats)]
        found = _signed(null_combination([member.whole[0] for member in used]))
        if found is not None:
            return proof._replace(members=used, multipliers=_true_scale(used, found))
    return _reduced_support(proof)


def _signed(multipliers: list[Fraction] | None) -> list[Fraction] | None:
    """All positive, after a change of sign if need be; else None."""
    if multipliers is None or not all(multipliers):
        return None
    if all(x < 0 for x in multipliers):
        return [-x for x in multipliers]
    return multipliers if all(x > 0 for x in multipliers) else None


def _reduced_support(proof: Proof) -> Proof:
    """Rows taken away one by one as Caratheodory's theorem (1907) allows."""
    members, x = list(proof.members), list(proof.multipliers)
    while True:
        rows = [member.whole[0] for member in members]
        first = _first_dependent(rows)
        null = null_combination(rows[: first + 1])
        assert null is not None
        change = _true_scale(members[: first + 1], null)
        if len(members) == first + 1:
            return proof._replace(members=members, multipliers=x)
        if max(change) <= 0:
            change = [-c for c in change]
        step = min(x[i] / c for i, c in enumerate(change) if c > 0)
        x = [x[i] - step * c for i, c in enumerate(change)] + x[first + 1 :]
        members = [member for member, m in zip(members, x, strict=True) if m]
        x = [m for m in x if m]


def _first_dependent(rows: list[Row]) -> int:
    """The number of the first row that the rows before it span."""
    basis = independent(rows)
    return next((i for i, k in enumerate(basis) if i != k), len(basis))
