"""The signs of coefficients on the recession cone of a likelihood: guessed, and proved.

The recession cone consists of the weights with no row on the wrong side: along them the likelihood
never decreases (Geyer, Likelihood inference in exponential families and directions of recession,
2009). Some vector of the cone is positive on every row that is not always on the boundary, so a
linear function that is not zero on the cone has the same sign there as at that vector, or both
signs. By Farkas (1902), either another vector of the cone gives it the other sign, or rows with
positive multipliers add up to it, modulo the space of the boundary.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.certificate.constraints import Membership, Row, Space, Weights, dot, floats_of
from linsep.certificate.verdicts import QuasiSeparable, Separable
from linsep.separability.data import Data, constraints, off_boundary, scan, sparse_floats
from linsep.separability.exact import alternative
from linsep.separability.integers import (
    far_apart,
    independent,
    null_combination,
    orthogonal,
    positive_rounding,
    reduced,
    remainders,
    seconds_of,
)
from linsep.separability.programs import alternatives
from linsep.separability.time_limit import TooLarge, Work, check_time, within_time
from linsep.separability.working_set import Member, WorkingSet, boundary_of, first_members

#: approximate limit in seconds for the signs of all coefficients
MOST_WORK = 3.0
#: what is worked on
SIGNS = "signs of coefficients"
#: most rows of a lane that are added to a space at once
MOST_OUTSIDE = 100


class Sign(NamedTuple):
    """A proof that a linear function has this sign, 1 or -1, or is zero, on the whole cone.

    The members times the multipliers, all positive, add up to a positive multiple of the function
    times its sign, modulo the space of the boundary.
    """

    value: int
    members: list[Member]
    multipliers: list[Fraction]


def cone_of(verdict: Separable | QuasiSeparable, data: Data) -> Cone:
    """Return the recession cone of the data of a verdict."""
    subject = verdict.subject
    if isinstance(verdict, Separable):
        return Cone(WorkingSet(data, subject), Space({}), verdict.weights().exact)
    rest, _ = off_boundary(data, subject, verdict.boundary)
    return Cone(WorkingSet(rest, subject), verdict.space, verdict.direction)


class Cone:
    """The weights with no row on the wrong side: zero on the rows of the space ``boundary``, and
    among them ``inside``, which are positive on all other rows. The working set grows as needed.
    """

    def __init__(self, working: WorkingSet, boundary: Space, inside: Row) -> None:
        self.working, self.boundary, self._one = working, boundary, boundary.one
        working.sample(first_members(working.subject))
        self._found = [inside]
        self._free = [j for j in range(working.subject.size) if j not in boundary.rows]
        self._seen = 0
        #: members off the boundary, and their remainders modulo its space
        self._members: list[Member] = []
        self._rests: list[tuple[Row, Fraction]] = []
        self._table = sp.csr_matrix((0, len(self._free)))
        self.work = Work(MOST_WORK)
        self._too_large: TooLarge | None = None
        #: by column, a member whose remainder has no other
        self._alone: dict[int, Member] | None = None

    def everything(self) -> tuple[Space, list[Member]]:
        """Return the space of all rows, and rows that span it with the boundary."""
        subject, data = self.working.subject, self.working.data
        space, found = self.boundary, list[Member]()
        self._take_new_members()
        more = [self._members[i] for i in far_apart(self._table)]
        while True:
            if more:
                rests = [row for row, _ in remainders([member.whole[0] for member in more], space)]
                new = independent(rests) or [0]
                found += [more[k] for k in new]
                space = reduced([*space.rows.values(), *(rests[k] for k in new)])
            if len(space.rows) == subject.size:
                return space, found
            more, inside = [], Membership(space, subject.size)
            for seen in scan(data, Weights(subject, {})):
                place, which = seen.given.place, seen.given.which
                out = seen.given.outside(inside, np.arange(len(place)), within_time)
                for k in np.flatnonzero(out)[:MOST_OUTSIDE].tolist():
                    more.append(Member(subject, seen.batch, int(place[k]), int(which[k])))
            if not more:
                return space, found

    def sign(self, function: Row) -> Sign | None:
        """Return the sign of a linear function, {number of a weight: number}; None if it is zero on
        the cone or has both signs. TooLarge if the work for all functions together has run out.
        """
        left = self.boundary.remainder(function, self._one)
        here = dot(left, self._found[0])
        if not here or any(here * dot(left, w) < 0 for w in self._found):
            return None
        side = 1 if here > 0 else -1
        if self._too_large is not None:
            raise self._too_large
        try:
            if self._alone is None:
                self._alone = self._rows_alone()
            if len(left) == 1 and min(left) in self._alone:
                return Sign(side, [self._alone[min(left)]], [Fraction(1)])
            while True:
                check_time()
                self._take_new_members()
                found = self._against({j: -side * m for j, m in left.items()}, side)
                if isinstance(found, Sign):
                    return found
                if boundary_of(self.working, found, self.boundary) is not None:
                    self._found.append(found)
                    return None
        except TooLarge as reason:
            self._too_large = reason  # nor is there work left for others
            raise

    def _rows_alone(self) -> dict[int, Member]:
        """Return, by column, a row whose remainder modulo the boundary has no other column: such a
        row proves the sign of a coefficient by itself, whatever work is left.
        """
        subject, found = self.working.subject, dict[int, Member]()
        zero = np.array([len(self.boundary.rows.get(j, ())) == 1 for j in range(subject.size)])
        for seen in scan(self.working.data, Weights(subject, {})):
            place, which = seen.given.place, seen.given.which
            A = constraints(subject, seen.batch, place, which)
            A.data[zero[A.indices]] = 0.0
            A.eliminate_zeros()
            rows = np.flatnonzero(np.diff(A.indptr) == 1)
            columns, first = np.unique(A.indices[A.indptr[rows]], return_index=True)
            for j, k in zip(columns.tolist(), rows[first].tolist(), strict=True):
                if j not in found and j not in self.boundary.rows:
                    found[j] = Member(subject, seen.batch, int(place[k]), int(which[k]))
        return found

    def _take_new_members(self) -> None:
        new = self.working.members[self._seen :]
        self._seen += len(new)
        rests = remainders([member.whole[0] for member in new], self.boundary)
        off = [k for k, (row, _) in enumerate(rests) if row]
        self._members += [new[k] for k in off]
        self._rests += [rests[k] for k in off]
        floats = sparse_floats([rests[k][0] for k in off], self.working.subject.size)
        self._table = sp.vstack([self._table, floats[:, self._free]], format="csr")

    def _against(self, target: Row, side: int) -> Sign | Row:
        """Return weights positive on the target and all known rows, or the proof of the sign."""
        goal = sparse_floats([target], self.working.subject.size)[:, self._free]
        table = sp.vstack([self._table, goal], format="csr")
        self.work.pay(table.nnz * (table.shape[1] + 50) * 1e-8, SIGNS)
        free, floats = alternatives(table)
        direction = self._inside(free, np.ravel(goal.toarray()), target) if free.any() else None
        if direction is not None:
            return direction
        used = np.flatnonzero(floats[:-1]).tolist()
        rows = [*(self._rests[i][0] for i in used), target]
        bits = max(abs(m).bit_length() for row in rows for m in row.values())
        self.work.pay(seconds_of(len(rows), bits), SIGNS)
        exact = null_combination(rows)
        if exact is None:
            rows = [*(row for row, _ in self._rests), target]
            inside, found = alternative(rows, self.work)
            if inside is not None:
                return orthogonal(self.boundary, inside)
            used = [i for i in found if i < len(self._rests)]
            exact = [found[i] for i in used]
        members = [self._members[i] for i in used]
        terms = zip(members, used, exact, strict=False)
        shares = [x * self._rests[i][1] / member.whole[1] for member, i, x in terms]
        return Sign(side, members, shares)

    def _inside(self, free: np.ndarray, goal: np.ndarray, target: Row) -> Row | None:
        """Return integers near some free weights, positive on all known rows and the target."""
        w, middle = np.zeros((2, self.working.subject.size))
        middle[list(self._found[0])] = floats_of(self._found[0].values())
        middle[list(self.boundary.rows)] = 0.0
        w[self._free] = free
        with np.errstate(all="ignore"):
            w += middle * (abs(goal @ free) / abs(goal @ middle[self._free]) / 2)
        if not np.isfinite(w).all():
            return None
        return positive_rounding(w, self.boundary, [*(row for row, _ in self._rests), target])
