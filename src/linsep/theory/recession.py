"""The sign that a coefficient has over a whole recession cone, proved.

The recession cone of a likelihood holds the weights that have no row on the wrong side: along them
it never falls (Geyer, Likelihood inference in exponential families and directions of recession,
2009). One vector of the cone is positive on every row that is not on the boundary under all of
them, so a linear function that is not zero on the cone has the sign there that it has at that
vector, or both signs. Farkas (1902): either another vector of the cone gives it the other sign, or
rows with positive multipliers add up to it, but for a row of the boundary's space.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from linsep.theory.elimination import null_combination, remainders
from linsep.theory.programs import opposite
from linsep.theory.row_space import Reduced, to_whole
from linsep.theory.search import boundary_of
from linsep.theory.simplex import TooLarge, alternative
from linsep.theory.spans import Span
from linsep.theory.splitting import Proof, all_positive, roundings, signed, true_scale
from linsep.theory.whole import Row, dot, sparse_floats
from linsep.theory.working_set import Member, WorkingSet, table_of

#: a linear function of the weights: {number of the weight: number}
Function = Mapping[int, Fraction | int]


class Sign(NamedTuple):
    """A linear function has this sign, 1 or -1, or is zero, on the whole cone.

    The members times the multipliers, all positive, add up to a positive multiple of the function
    times its sign, but for a row of the boundary's space.
    """

    value: int
    members: list[Member]
    multipliers: list[Fraction]


class Cone:
    """The weights that have no row on the wrong side.

    Parameters
    ----------
    working : WorkingSet
        Some of the rows; it grows.
    boundary : Reduced
        The space of the rows on which all these weights are zero.
    inside : Row
        Weights of the cone that are positive on all other rows.
    """

    def __init__(self, working: WorkingSet, boundary: Reduced, inside: Row) -> None:
        self.working, self.boundary = working, boundary
        self._span = Span(boundary, working.question)
        self._found = [inside]
        self._seen = 0
        self._members: list[Member] = []
        self._rows: list[tuple[Row, Fraction]] = []

    def sign(self, function: Function) -> Sign | None:
        """The sign of a function; None where it is zero on the cone, or has both signs.

        None, too, where exact arithmetic would take too long to tell.
        """
        left = to_whole(self.boundary.remainder(function))
        here = dot(left, self._found[0])
        if not here or any(here * dot(left, w) < 0 for w in self._found):
            return None
        side = 1 if here > 0 else -1
        target = {j: -side * m for j, m in left.items()}
        while True:
            self._take_new_members()
            try:
                found = self._against(target, side)
            except TooLarge:
                return None
            if isinstance(found, Sign):
                return found
            if boundary_of(self.working, Proof(found, [], [], self.boundary)) is not None:
                self._found.append(found)
                return None

    def _take_new_members(self) -> None:
        """What the boundary's space leaves of the working set's other rows."""
        new = self.working.members[self._seen :]
        self._seen += len(new)
        if new:
            table = table_of(new, self.working.question.size)
            outside = self._span.outside_rows(table, lambda k: new[k].whole[0])
            new = [new[k] for k in np.flatnonzero(outside)]
            self._members += new
            self._rows += remainders([member.whole[0] for member in new], self.boundary)

    def _against(self, target: Row, side: int) -> Sign | Row:
        """Weights that are positive on the target and all known rows; or why there are none."""
        rows = [row for row, _ in self._rows]
        table = sparse_floats([*rows, target], self.working.question.size)
        w, multipliers = opposite(table[:-1], np.ravel(table[-1].toarray()))
        if w.any():
            direction = self._inside(w, table, target)
            if direction is not None:
                return direction
        used = np.flatnonzero(multipliers).tolist()
        exact = signed(null_combination([*(rows[i] for i in used), target])) if used else None
        if exact is not None:
            return self._sign(side, dict(zip(used, exact, strict=False)))
        direction, found = alternative([*rows, target], self.working.work)
        if direction is not None:
            return self.boundary.orthogonal(direction)
        del found[len(rows)]
        return self._sign(side, found)

    def _sign(self, side: int, multipliers: dict[int, Fraction]) -> Sign:
        members = [self._members[i] for i in multipliers]
        scaled = [x * self._rows[i][1] for i, x in multipliers.items()]
        return Sign(side, members, true_scale(members, scaled))

    def _inside(self, w: np.ndarray, table: Any, target: Row) -> Row | None:
        """Whole numbers near some weights, positive on all known rows and the target."""
        middle = np.ravel(sparse_floats(self._found[:1], len(w)).toarray())
        middle[list(self.boundary.rows)] = 0.0
        goal = np.ravel(table[-1].toarray())
        with np.errstate(all="ignore"):
            w = w + middle * (abs(goal @ w) / abs(goal @ middle) / 2)
        if not np.isfinite(w).all():
            return None
        weights = {j: x for j, x in enumerate(w.tolist()) if x}
        whole = table_of(self._members, len(w))
        for direction in roundings(weights, self.boundary):
            if dot(target, direction) > 0 and all_positive(self._members, whole, direction):
                return direction
        return None
