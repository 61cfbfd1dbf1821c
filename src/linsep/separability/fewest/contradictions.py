"""Contradictions: small sets of rows that no hyperplane gets all right, with their proof.

A corner of the program "multipliers >= 0 that sum to 1 and whose combination of the rows vanishes"
has at most one more row than weights. Its costs say which rows to prefer (Gleeson and Ryan,
Identifying minimally infeasible subsystems of inequalities, 1990). Where rows on the hyperplane are
no errors, a contradiction must also span the space of all weights, so that none but zero is
orthogonal to all of it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from linsep.separability.data import sparse_floats
from linsep.separability.exact import (
    joined_multipliers,
    null_combination,
    reduced,
    remainders,
    signed,
)
from linsep.separability.fewest.rows import WeightedRows
from linsep.separability.programs import few_rows


class Contradiction(NamedTuple):
    """Groups of rows, and positive multipliers of their whole numbers; the sum vanishes."""

    groups: tuple[int, ...]
    multipliers: tuple[Fraction, ...]


def contradiction(rows: WeightedRows, among: np.ndarray, cost: np.ndarray) -> Contradiction | None:
    """Return a contradiction among some groups, of low cost; None if floats find none.

    Parameters
    ----------
    among : int array
        Groups to choose from.
    cost : array of shape (groups,)
        Positive.
    """
    if not rows.strict:
        return _spanning(rows, among, cost)
    if not among.size:
        return None
    found = few_rows(rows.table[among], np.zeros(len(among)), cost[among])
    if found is None:
        return None
    used = among[np.flatnonzero(found)].tolist()
    exact = signed(null_combination([rows.whole(g) for g in used]))
    return None if exact is None else Contradiction(tuple(used), tuple(exact))


def _spanning(rows: WeightedRows, among: np.ndarray, cost: np.ndarray) -> Contradiction | None:
    """Return a contradiction that spans the space of all weights.

    Rows are added that vanish together modulo the span of those before; as these have a vanishing
    positive combination, some multiple of it makes all multipliers positive.
    """
    size = rows.question.size
    whole = {g: rows.whole(g) for g in among.tolist()}
    multipliers: dict[int, Fraction] = {}
    span = reduced([])
    while len(span.rows) < size:
        left = np.setdiff1d(among, list(multipliers))
        rest = remainders([whole[g] for g in left.tolist()], span)
        outside = [k for k, (row, _) in enumerate(rest) if row]
        if not outside:
            return None
        table = sparse_floats([rest[k][0] for k in outside], size)
        found = few_rows(table, np.zeros(len(outside)), cost[left[outside]])
        if found is None:
            return None
        new = [outside[k] for k in np.flatnonzero(found)]
        added = signed(null_combination([rest[k][0] for k in new]))
        if added is None:
            return None
        scaled = {int(left[k]): x * rest[k][1] for k, x in zip(new, added, strict=True)}
        multipliers = joined_multipliers(whole, multipliers, scaled)
        span = reduced([whole[g] for g in multipliers])
    groups = sorted(multipliers)
    return Contradiction(tuple(groups), tuple(multipliers[g] for g in groups))
