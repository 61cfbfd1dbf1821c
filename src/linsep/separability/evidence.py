"""Turning results of the search into verdicts, with the evidence that a check needs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from linsep.certificate.constraints import Combination, Question, Subject
from linsep.certificate.integers import Row, in_lowest_terms
from linsep.certificate.verdicts import Overlapping, QuasiSeparable, Separable, Verdict
from linsep.separability.data import Data, off_boundary, root_above
from linsep.separability.margin import Separated, lowest_margin, square_of
from linsep.separability.recession import Cone, Sign
from linsep.separability.search import Inseparable
from linsep.separability.splitting import Proof, witness
from linsep.separability.surveys import contradictory_pair
from linsep.separability.time_limit import TooLarge, doing
from linsep.separability.working_set import WorkingSet, members_outside, table_of

#: margin and support of a separator without a computed margin
NO_MARGIN = (0.0, float("inf")), Combination((), (), ())


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
    rest, numbers = off_boundary(data, question, boundary)
    cone = Cone(WorkingSet(rest, question), proof.span, proof.direction)
    everything, more = cone.everything()
    basis = [member.key for member in proof.members]
    basis += [(int(numbers[row]), which) for row, which in (member.key for member in more)]
    kept = everything.coefficients(question.width, question.intercept)
    signs, unchecked = _signs(cone, kept, numbers)
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
