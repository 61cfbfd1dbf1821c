"""Contradictions, sets of rows that no hyperplane gets all right, and what they prove together.

Positive multipliers whose combination of the rows vanishes prove a contradiction (Gordan 1873). A
corner of the program of such multipliers has at most one more row than weights; its costs say which
rows to prefer (Gleeson and Ryan, Identifying minimally infeasible subsystems of inequalities,
1990). Where rows on the hyperplane are no errors, a contradiction must also span the space of all
weights, so that none but zero is orthogonal to all of it.

Any hyperplane errs in every contradiction, so its errors are a cover of all of them (Amaldi,
Pfetsch and Trotter, On the maximum feasible subsystem problem, 2003). By the duality of linear
programs, shares of the contradictions, with a total in each row of at most its weight, bound every
cover from below. A tree refines that: a row is wrong, and pays, or right, and leaves its
contradictions to the other rows. The trees are the claim's, about groups of equal rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.certificate.errors import MOST_DEPTH, Branch, Packing, Tree
from linsep.separability.data import sparse_floats
from linsep.separability.exact import corner
from linsep.separability.integers import joined_multipliers, reduced, remainders
from linsep.separability.programs import FINE, solved
from linsep.separability.time_limit import TooLarge
from linsep.separability.weighted_rows import WeightedRows

#: shares below this are zero
TINY = 1e-9
#: largest denominator of a share of an exact packing
MOST_PARTS = 1_000


class Contradiction(NamedTuple):
    """Groups of rows, and positive multipliers of their whole numbers; the sum vanishes."""

    groups: tuple[int, ...]
    multipliers: tuple[Fraction, ...]


def contradiction(rows: WeightedRows, among: np.ndarray, cost: np.ndarray) -> Contradiction | None:
    """Return a contradiction among some groups, of low cost; None if floats find none.

    If it must span all weights, rows are added that vanish together modulo the span of those
    before; as these have a vanishing positive combination, some multiple of it makes all
    multipliers positive.
    """
    multipliers: dict[int, Fraction] = {}
    if rows.strict:
        found = corner(rows.table[among], cost[among], lambda k: rows.whole(int(among[k])))
        multipliers = {int(among[k]): x for k, x in (found or {}).items()}
    span = reduced([])
    while not rows.strict and len(span.rows) < rows.question.size:
        left = [g for g in among.tolist() if g not in multipliers]
        rests = zip(left, remainders([rows.whole(g) for g in left], span), strict=True)
        outside = [(g, row, factor) for g, (row, factor) in rests if row]
        table = sparse_floats([row for _, row, _ in outside], rows.question.size)
        prices = cost[[g for g, *_ in outside]]
        found = corner(table, prices, lambda k: outside[k][1])  # noqa: B023
        if found is None:
            return None
        more = {outside[k][0]: x * outside[k][2] for k, x in found.items()}
        whole = {g: rows.whole(g) for g in (*multipliers, *more)}
        multipliers = joined_multipliers(whole, multipliers, more)
        span = reduced(list(whole.values()))
    groups = tuple(sorted(multipliers))
    return Contradiction(groups, tuple(multipliers[g] for g in groups)) if groups else None


class Unproved(Exception):
    """The argument, a cover in whole rows, is cheaper than the target."""


class Pool:
    """All contradictions that were found, each once."""

    def __init__(self, rows: WeightedRows) -> None:
        self.rows = rows
        self.found: list[Contradiction] = []
        self._known: set[tuple[int, ...]] = set()

    def add(self, new: Contradiction) -> bool:
        """Add a contradiction; return whether it is new."""
        if new.groups in self._known:
            return False
        self._known.add(new.groups)
        self.found.append(new)
        return True

    def packing(
        self, wrong: frozenset[int] = frozenset(), right: frozenset[int] = frozenset()
    ) -> tuple[Packing, np.ndarray]:
        """Return an exact packing, nearly the best, and the cover that is its dual.

        Wrong groups cover their contradictions; right groups cover none.
        """
        cover = np.zeros(len(self.rows))
        cover[list(wrong)] = 1.0
        free = {
            s: [g for g in one.groups if g not in right]
            for s, one in enumerate(self.found)
            if wrong.isdisjoint(one.groups)
        }
        for s, groups in free.items():
            if not groups:  # these rows cannot all be right: any bound holds
                return Packing({s: Fraction(sum(self.rows.weights) + 1)}), cover
        if not free:
            return Packing({}), cover
        columns = [g for groups in free.values() for g in groups]
        starts = np.cumsum([0, *map(len, free.values())])
        M = sp.csr_matrix((np.ones(len(columns)), columns, starts), (len(free), len(cover)))
        used = np.unique(columns)
        result = solved(self.rows.costs[used], M[:, used], (1.0, np.inf), (0.0, np.inf), FINE)
        assert result is not None
        cover[used] = result.x
        return self._exact(dict(zip(free, result.multipliers.tolist(), strict=True)), free), cover

    def packed(self) -> Packing:
        """Return a packing without a linear program: all that has room, one after another."""
        return self._exact({}, dict(enumerate(one.groups for one in self.found)))

    def _exact(self, shares: dict[int, float], free: Mapping[int, Sequence[int]]) -> Packing:
        """Return exact shares near the given ones, the largest first, that no row exceeds."""
        top = max(self.rows.weights, default=0)
        room = {g: Fraction(self.rows.weights[g]) for groups in free.values() for g in groups}
        wanted = [
            (s, Fraction(x).limit_denominator(MOST_PARTS) * top)
            for s, x in sorted(shares.items(), key=lambda pair: -pair[1])
            if x > TINY
        ]
        found: dict[int, Fraction] = {}
        for s, share in (*wanted, *((s, Fraction(top)) for s in free)):
            more = min(share, *(room[g] for g in free[s]))
            if more > 0:
                found[s] = found.get(s, Fraction(0)) + more
                for g in free[s]:
                    room[g] -= more
        return Packing(found)

    def rounded_up(self, bound: Fraction) -> int:
        """Return the least sum of weights that is not below a bound."""
        step = self.rows.step
        return -int(-bound // step) * step

    def proof(
        self, target: int, wrong: frozenset[int] = frozenset(), right: frozenset[int] = frozenset()
    ) -> Tree:
        """Return a tree that proves that no hyperplane's errors weigh less than the target; raise
        :class:`Unproved` if a cover does.
        """
        if len(wrong) + len(right) > MOST_DEPTH:
            raise TooLarge(f"a proof is deeper than {MOST_DEPTH} branches")
        paid = sum(self.rows.weights[g] for g in wrong)
        if paid >= target:
            return Packing({})
        packing, cover = self.packing(wrong, right)
        if self.rounded_up(paid + packing.total()) >= target:
            return packing
        undecided = np.flatnonzero((cover > 1e-6) & (cover < 1 - 1e-6))
        if not undecided.size:
            raise Unproved(cover)
        near = np.abs(cover[undecided] - 0.5) - 1e-3 * self.rows.costs[undecided]
        g = int(undecided[np.argmin(near)])
        first = self.proof(target, wrong | {g}, right)
        return Branch(g, first, self.proof(target, wrong, right | {g}))
