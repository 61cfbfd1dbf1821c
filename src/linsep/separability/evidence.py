"""Turning results of the search into verdicts, with the evidence that a check needs."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.batches import Batch
from linsep.certificate.constraints import Combination, Question, Subject
from linsep.certificate.integers import Row, combination, in_lowest_terms
from linsep.certificate.verdicts import Overlapping, QuasiSeparable, Separable, Verdict
from linsep.separability.data import (
    Data,
    constraint,
    off_boundary,
    root_above,
    sides_of,
)
from linsep.separability.margin import Separated, lowest_margin, square_of
from linsep.separability.recession import Cone, Sign
from linsep.separability.search import Inseparable
from linsep.separability.splitting import Proof, witness
from linsep.separability.time_limit import TooLarge, doing
from linsep.separability.working_set import (
    WorkingSet,
    members_outside,
    table_of,
)

#: margin and support of a separator without a computed margin
NO_MARGIN = (0.0, float("inf")), Combination((), (), ())
#: most pairs with equal hashes that are compared
MOST_PAIRS = 8
#: columns by which dense rows are compared first
FIRST_COLUMNS = 3


def separable_verdict(
    data: Data, question: Question, found: Separated, subject: Subject
) -> Separable:
    """Return the verdict of separating weights, with their margin if defined and time allows."""
    W = found.w.reshape(question.blocks, question.width)
    d = data.n_features
    try:
        margin, support = _margin(data, question, found, subject)
    except TooLarge:
        margin, support = NO_MARGIN
    return Separable(
        subject,
        tuple(tuple(row) for row in W[:, :d].tolist()),
        tuple(W[:, d].tolist()) if question.intercept else (0.0,) * question.blocks,
        margin,
        support,
    )


def _margin(
    data: Data, question: Question, found: Separated, subject: Subject
) -> tuple[tuple[float, float], Combination]:
    """Return the margin interval, and the rows that prove its upper end."""
    if question.blocks > 1 or subject.columns is not None or not found.members:
        return NO_MARGIN
    doing("the margin")
    used = np.flatnonzero(found.multipliers).tolist()
    used.sort(key=lambda i: found.members[i].key)
    members = [found.members[i] for i in used]
    shares = in_lowest_terms({k: Fraction(found.multipliers[i]) for k, i in enumerate(used)})
    support = Combination(
        tuple(member.key[0] for member in members),
        tuple(member.key[1] for member in members),
        tuple(shares.values()),
    )
    high = root_above(square_of(members, support.multipliers, question))
    return (min(high, lowest_margin(data, question, found.w)), high), support


def blocked_verdict(
    data: Data, question: Question, found: Inseparable, subject: Subject
) -> Verdict:
    """Return the verdict that nothing separates: an infeasibility certificate (witness), and the
    space of the boundary.
    """
    doing("a short proof")
    proof = found.proof
    table = table_of(found.members, question)
    bound = np.flatnonzero(~members_outside(proof.span, question, found.members, table))
    contradictory = contradictory_pair(data, question) if question.blocks == 1 else None
    if contradictory:
        few = Combination(contradictory, (0, 0), (1, 1))
    else:
        few = _combination(witness(proof, table[bound], [found.members[i] for i in bound]))
    evidence = (few, _combination(proof), proof.span)
    if not proof.direction:
        return Overlapping(subject, *evidence)
    boundary = found.boundary or ()
    rest = off_boundary(data, question, boundary)
    cone = Cone(WorkingSet(rest.data, question), proof.span, proof.direction)
    everything, more = cone.everything()
    basis = [member.key for member in proof.members]
    basis += [(int(rest.numbers[row]), which) for row, which in (member.key for member in more)]
    kept = everything.coefficients(question.width, question.intercept)
    signs, unchecked = _signs(cone, kept, rest.numbers)
    direction = in_lowest_terms(proof.direction)
    return QuasiSeparable(
        subject, *evidence, direction, boundary, everything, tuple(sorted(basis)), signs, unchecked
    )


def _signs(
    cone: Cone, kept: dict[int, Row], numbers: np.ndarray
) -> tuple[dict[int, Combination], tuple[int, ...]]:
    """Return the coefficients with one sign under all weights with no row on the wrong side, and
    those for which the work limit ended before that was known.
    """
    doing("the signs of coefficients")
    signs: dict[int, Combination] = {}
    unchecked = []
    for j, function in sorted(kept.items()):
        try:
            sign = cone.sign(function)
        except TooLarge:
            unchecked.append(j)
            continue
        if sign is not None:
            signs[j] = _combination(sign, numbers)
    return signs, tuple(unchecked)


def _combination(proof: Proof | Sign, numbers: np.ndarray | None = None) -> Combination:
    """Return the rows of a proof in order, with the smallest integer multipliers; ``numbers`` are
    the numbers of the rows that contain the members.
    """
    order = sorted(range(len(proof.members)), key=lambda i: proof.members[i].key)
    whole = in_lowest_terms({i: proof.multipliers[i] for i in order})
    keys = [proof.members[i].key for i in order]
    rows = [row if numbers is None else int(numbers[row]) for row, _ in keys]
    return Combination(tuple(rows), tuple(which for _, which in keys), tuple(whole.values()))


class Marks(NamedTuple):
    """Hashes of rows, sorted and different, and the number of the first row with each."""

    marks: np.ndarray
    rows: np.ndarray


def _marked(question: Question, columns: slice, lanes: Iterable[Batch]) -> tuple[Marks, ...]:
    """Return the hashes of the rows on the positive side, and of those on the negative side."""
    sides, odd = sides_of(question), column_numbers(question.width - question.intercept)[columns]
    found = []
    for lane in lanes:
        X = lane.X if sp.issparse(lane.X) else lane.X[:, columns]
        marks, signs = row_marks(X, odd), sides[lane.y]
        of_sides = (np.flatnonzero(signs == side) for side in (1, -1))
        found.append(tuple(Marks(marks[rows], lane.first + rows) for rows in of_sides))
    return tuple(first_of_each(of_side) for of_side in zip(*found, strict=True))


def first_of_each(parts: tuple[Marks, ...]) -> Marks:
    """Return each hash of some parts once, with the first row that has it."""
    marks, rows = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    different, first = np.unique(marks, return_index=True)
    return Marks(different, rows[first])


def contradictory_pair(data: Data, question: Question) -> tuple[int, int] | None:
    """Return the first pair of equal rows on opposite sides, or None.

    Only for two sides. Rows are sorted by 64-bit hashes, and one pair per hash is compared number
    by number. If different rows share a hash, which is unlikely, a pair may be missed, and the
    certificate is longer than necessary. Dense rows that differ in their first columns are not
    equal.
    """
    for columns in (slice(None),) if data.sparse else (slice(FIRST_COLUMNS), slice(None)):
        above, below = _marked(question, columns, data.lanes())
        _, *places = np.intersect1d(
            above.marks, below.marks, assume_unique=True, return_indices=True
        )
        if not places[0].size:
            return None
    pairs = np.sort(np.column_stack([above.rows[places[0]], below.rows[places[1]]]), axis=1)
    for pair in pairs[np.argsort(pairs[:, 1])][:MOST_PAIRS]:
        found = [constraint(question, batch, at, 0)[0] for _, batch, at in data.rows(pair)]
        if not combination((1, a) for a in found):
            return int(pair[0]), int(pair[1])
    return None


def column_numbers(n_features: int) -> np.ndarray:
    """Return a fixed pseudorandom odd number for every column."""
    drawn = np.random.default_rng(20261121).integers(2**63, size=n_features, dtype=np.uint64)
    return drawn * np.uint64(2) + np.uint64(1)


def row_marks(X: Any, odd: np.ndarray) -> np.ndarray:
    """Return a 64-bit hash of every row; zeros add nothing, so that storage does not matter.

    The bits of floats are mixed first: small integers end in many zero bits, which multiplication
    would keep.
    """
    if sp.issparse(X):
        terms = _mixed_bits(X.data) * odd[X.indices]
        total = np.append(np.uint64(0), np.cumsum(terms, dtype=np.uint64))
        return total[X.indptr[1:]] - total[X.indptr[:-1]]
    return np.einsum("ij,j->i", _mixed_bits(X), odd)


def _mixed_bits(numbers: np.ndarray) -> np.ndarray:
    bits = (numbers.astype(np.float64) + 0.0).view(np.uint64)
    bits = bits ^ bits >> np.uint64(32)
    bits *= np.uint64(0x9E3779B97F4A7C15)
    bits ^= bits >> np.uint64(29)
    return bits
