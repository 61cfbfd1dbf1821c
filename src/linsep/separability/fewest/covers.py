"""The lower end: contradictions packed into the rows, and trees of packings.

Any hyperplane errs in every contradiction, so its errors are a cover of all of them. By linear
programming duality shares of the contradictions, with a total in each row of at most its weight,
bound every cover from below. A tree refines that: a row is wrong, and pays, or right, and leaves
its contradictions to the other rows. The trees are the claim's, about groups of equal rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from linsep.certificate.errors import MOST_DEPTH, Branch, Packing, Tree
from linsep.separability.fewest.contradictions import Contradiction
from linsep.separability.fewest.rows import WeightedRows
from linsep.separability.programs import FINE, solved
from linsep.separability.time_limit import TooLarge

#: shares below this are zero; sums within it of a whole number reach it
TINY = 1e-9
#: largest denominator of a share of an exact packing
MOST_PARTS = 1_000


class Unproved(Exception):
    """The contradictions do not prove the target: ``cover``, in whole rows, is cheaper."""

    def __init__(self, cover: np.ndarray) -> None:
        super().__init__()
        self.cover = cover


class Contradictions:
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
        left = [s for s, one in enumerate(self.found) if wrong.isdisjoint(one.groups)]
        cover = np.zeros(len(self.rows))
        cover[list(wrong)] = 1.0
        free = [[g for g in self.found[s].groups if g not in right] for s in left]
        for s, groups in zip(left, free, strict=True):
            if not groups:  # these rows cannot all be right: any bound holds
                return Packing({s: Fraction(sum(self.rows.weights) + 1)}), cover
        if not left:
            return Packing({}), cover
        used = sorted({g for groups in free for g in groups})
        place = {g: k for k, g in enumerate(used)}
        columns = [place[g] for groups in free for g in groups]
        starts = np.cumsum([0, *map(len, free)])
        M = sp.csr_matrix((np.ones(len(columns)), columns, starts), (len(left), len(used)))
        result = solved(self.rows.costs[used], M, (1.0, np.inf), (0.0, np.inf), FINE)
        assert result is not None
        cover[used] = result.x
        shares = dict(zip(left, result.multipliers.tolist(), strict=True))
        free_of = dict(zip(left, free, strict=True))
        return self._exact(shares, free_of), cover

    def packed(self) -> Packing:
        """Return a packing without a linear program: all that has room, one after another."""
        return self._exact({}, dict(enumerate(one.groups for one in self.found)))

    def _exact(self, shares: dict[int, float], free: Mapping[int, Sequence[int]]) -> Packing:
        """Return exact shares near the given ones that no row exceeds."""
        top = max(self.rows.weights, default=0)
        room = {g: Fraction(self.rows.weights[g]) for groups in free.values() for g in groups}
        wanted = {
            s: Fraction(x).limit_denominator(MOST_PARTS) * top
            for s, x in sorted(shares.items(), key=lambda pair: -pair[1])
            if x > TINY
        }
        found: dict[int, Fraction] = {}
        for s, share in (*wanted.items(), *((s, Fraction(top)) for s in free)):
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

    def proof(self, target: int) -> Tree:
        """Return a tree that proves that no hyperplane's errors weigh less than the target.

        Raises
        ------
        Unproved
            With a cover that is cheaper, in whole rows.
        """
        return self._node(target, frozenset(), frozenset())

    def _node(self, target: int, wrong: frozenset[int], right: frozenset[int]) -> Tree:
        if len(wrong) + len(right) > MOST_DEPTH:
            raise TooLarge(f"a proof is deeper than {MOST_DEPTH} branches")
        paid = sum(self.rows.weights[g] for g in wrong)
        if paid >= target:
            return Packing({})
        packing, cover = self.packing(wrong, right)
        if self.rounded_up(paid + packing.total()) >= target:
            return packing
        open_ = np.flatnonzero((cover > 1e-6) & (cover < 1 - 1e-6))
        if not open_.size:
            raise Unproved(cover)
        near = np.abs(cover[open_] - 0.5) - 1e-3 * self.rows.costs[open_]
        g = int(open_[np.argmin(near)])
        first = self._node(target, wrong | {g}, right)
        return Branch(g, first, self._node(target, wrong, right | {g}))
