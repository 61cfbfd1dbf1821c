"""The signs of coefficients on the recession cone of a likelihood: guessed, and proved.

The recession cone consists of the weights with no row on the wrong side: along them the likelihood
never decreases (Geyer, Likelihood inference in exponential families and directions of recession,
2009). Some vector of the cone is positive on every row that is not always on the boundary, so a
linear function that is not zero on the cone has the same sign there as at that vector, or both
signs. By Farkas (1902), either another vector of the cone gives it the other sign, or rows with
positive multipliers add up to it, modulo the space of the boundary.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.batches import Batch
from linsep.certificate.constraints import Membership, Question, question_of
from linsep.certificate.integers import Row, Space, dot, in_lowest_terms
from linsep.certificate.verdicts import QuasiSeparable, Separable
from linsep.separability.central import MOST_PRODUCTS, beyond_center
from linsep.separability.data import (
    Data,
    Scan,
    dense_floats,
    doubles,
    every_constraint,
    off_boundary,
    outside,
    sparse_floats,
    values,
)
from linsep.separability.elimination import (
    far_apart,
    independent,
    null_combination,
    orthogonal,
    reduced,
    remainders,
    seconds_of,
    shortened,
)
from linsep.separability.programs import alternatives, equilibrated
from linsep.separability.splitting import all_positive, alternative, roundings, signed, true_scale
from linsep.separability.time_limit import (
    TooLarge,
    Work,
    check_time,
    within_time,
)
from linsep.separability.working_set import (
    Member,
    Ranked,
    WorkingSet,
    boundary_of,
    first_members,
    lowest,
    members_outside,
    table_of,
)

#: approximate limit in seconds for the signs of all coefficients
MOST_WORK = 3.0
#: what is worked on
SIGNS = "signs of coefficients"
#: values below this share of the largest are treated as zero
CLEAR = 1e-6
#: entries of remainders below this share of the terms are zero
NOISE = 2.0**-40
#: ratios of numbers below it, or above its inverse, are not computed in floats
SMALLEST = Fraction(1, 2**1000)
#: most rows of a lane that are added to a space at once
MOST_OUTSIDE = 100
#: ratios that are nearly the same; rows that are compared exactly with one function
SAME_RATIO, MOST_CANDIDATES = 1e-9, 8
#: the entries of a row in lowest terms, in order, the first positive
Line = tuple[tuple[int, int], ...]


class Sign(NamedTuple):
    """A proof that a linear function has this sign, 1 or -1, or is zero, on the whole cone.

    The members times the multipliers, all positive, add up to a positive multiple of the function
    times its sign, modulo the space of the boundary.
    """

    value: int
    members: list[Member]
    multipliers: list[Fraction]


def line_of(row: Row) -> Line:
    """Return what all multiples of a row that is not zero have in common."""
    first = min(row)
    whole = shortened({j: m if row[first] > 0 else -m for j, m in row.items()})
    return tuple(sorted(whole.items()))


def _of_ratios(
    question: Question, probes: np.ndarray, ratios: np.ndarray, lanes: Iterable[Batch]
) -> list[Ranked]:
    """Return constraints whose products with two probes have nearly one of the sorted ratios."""
    found: list[Ranked] = [[] for _ in ratios]
    for lane in within_time(lanes):
        rows = np.flatnonzero(question.active[lane.y])
        X, codes = doubles(lane.X)[rows], lane.y[rows]
        one, other = (values(question, X, codes, w) for w in probes.T)
        used = np.flatnonzero((one.value != 0) & (other.value != 0))
        ratio = one.value[used] / other.value[used]
        row, which = rows[one.row[used]], one.which[used]
        after = np.searchsorted(ratios, ratio)
        for place in ((after - 1).clip(0), after.clip(0, len(ratios) - 1)):
            with np.errstate(all="ignore"):
                off = np.abs(ratio / ratios[place] - 1.0)
            near = np.flatnonzero(off < SAME_RATIO)
            near = near[np.argsort(off[near], kind="stable")]
            for k in np.unique(place[near]).tolist():
                found[k] += [
                    (float(off[i]), Member(question, lane, int(row[i]), int(which[i])))
                    for i in near[place[near] == k][:MOST_CANDIDATES].tolist()
                ]
    return [lowest(MOST_CANDIDATES, [ranked]) for ranked in found]


def _outside(data: Data, question: Question, space: Membership) -> list[Member]:
    """Return some constraints of each lane that lie outside a space."""
    found = []
    for lane, every in Scan(question, np.zeros(question.size)).values(data):
        out = outside(space, question, lane, every, np.arange(len(every.row)))
        out = np.flatnonzero(out)[:MOST_OUTSIDE]
        places = zip(every.row[out].tolist(), every.which[out].tolist(), strict=True)
        found += [Member(question, lane, *place) for place in places]
    return found


def cone_of(verdict: Separable | QuasiSeparable, data: Data) -> Cone:
    """Return the recession cone of the data of a verdict."""
    question = question_of(verdict.subject)._replace(rounded=data.rounded)
    if isinstance(verdict, QuasiSeparable):
        data = off_boundary(data, question, verdict.boundary).data
    working = WorkingSet(data, question)
    working.sample(first_members(question))
    if isinstance(verdict, QuasiSeparable):
        return Cone(working, verdict.space, verdict.direction)
    d, constant = verdict.subject.n_features, verdict.subject.fit_intercept
    blocks = zip(verdict.coef, verdict.intercept, strict=True)
    inside = [x for row, b in blocks for x in (*row[:d], *[b] * constant)]
    return Cone(working, Space({}), in_lowest_terms(dict(enumerate(map(Fraction, inside)))))


class Cone:
    """The weights with no row on the wrong side.

    Parameters
    ----------
    working : WorkingSet
        Some of the rows; it grows as needed.
    boundary : Space
        The space of the rows on which all these weights are zero.
    inside : Row
        Weights of the cone that are positive on all other rows.
    """

    def __init__(self, working: WorkingSet, boundary: Space, inside: Row) -> None:
        self.working, self.boundary, self._one = working, boundary, boundary.one
        self._found = [inside]
        self._seen = 0
        self._members: list[Member] = []
        size = working.question.size
        self._free = np.setdiff1d(np.arange(size), list(boundary.rows))
        self._basis = self._vectors_of_free_weights()
        #: floats of the rows, and of their remainders modulo the boundary in the free columns
        self._given = sp.csr_matrix((0, size))
        self._table = sp.csr_matrix((0, len(self._free)))
        self.work = Work(MOST_WORK)
        self._too_large: TooLarge | None = None
        #: members that are multiples of a linear function modulo the boundary, by its line
        self._alone: dict[Line, Member] = {}

    def _vectors_of_free_weights(self) -> sp.csr_matrix | None:
        """Return the matrix that gives all weights, zero on the boundary, from the free ones: those
        without a pivot. None if floats do not hold it.
        """
        place = dict(zip(self._free.tolist(), range(len(self._free)), strict=True))
        entries = [(j, k, 1.0) for j, k in place.items()]
        for pivot, row in self.boundary.rows.items():
            for j, m in row.items():
                if j != pivot:
                    share = Fraction(-m, row[pivot])
                    if not SMALLEST < abs(share) < 1 / SMALLEST:
                        return None
                    entries.append((pivot, place[j], float(share)))
        lines, columns, numbers = zip(*entries, strict=True) if entries else ((), (), ())
        shape = (self.working.question.size, len(place))
        return sp.csr_matrix((np.array(numbers, float), (lines, columns)), shape=shape)

    def everything(self) -> tuple[Space, list[Member]]:
        """Return the space of all rows, and rows that span it with the boundary."""
        question, data = self.working.question, self.working.data
        space, found = self.boundary, list[Member]()
        self._take_new_members()
        more = [self._members[i] for i in far_apart(self._table)]
        while True:
            if more:
                rests = [row for row, _ in remainders([member.whole[0] for member in more], space)]
                new = independent(rests) or [0]
                found += [more[k] for k in new]
                space = reduced([*space.rows.values(), *(rests[k] for k in new)])
            if len(space.rows) == question.size:
                return space, found
            more = _outside(data, question, Membership(space, question.size))
            if not more:
                return space, found

    def look_for_single_rows(self, functions: list[Row]) -> None:
        """Look, in one reading of all rows, for rows that prove the signs of linear functions.

        A row that is a multiple of a function, modulo the space of the boundary, is a proof by
        itself. Rows are compared in floats, by the ratio of their products with two random weight
        vectors that are zero on the boundary, and those that agree exactly.
        """
        lefts = (self.boundary.remainder(function, self._one) for function in functions)
        lines = sorted({line_of(left) for left in lefts if left})
        if not lines:
            return
        question = self.working.question
        goals = sparse_floats([dict(line) for line in lines], question.size)
        probes = self._probes()
        with np.errstate(all="ignore"):
            ratios = np.divide(*(goals @ probes).T)
        order = np.argsort(ratios)
        try:
            found = _of_ratios(question, probes, ratios[order], self.working.data.lanes())
        except TooLarge as reason:
            self._too_large = reason
            return
        near = [(lines[k], m) for k, ranked in zip(order, found, strict=True) for _, m in ranked]
        rests = remainders([member.whole[0] for _, member in near], self.boundary)
        for (line, member), (rest, _) in zip(near, rests, strict=True):
            if rest and line_of(rest) == line:
                self._alone.setdefault(line, member)

    def _probes(self) -> np.ndarray:
        """Return two random weight vectors that are zero on the boundary, as columns.

        Their products with entries of usual size in each column are of one size.
        """
        size, free = self.working.question.size, self._free
        top = np.ravel(abs(self.working.table()).max(axis=0).todense())[free]
        powers = np.where(top > 0, np.frexp(top)[1], 0)
        powers = (powers.max(initial=0) - powers).tolist()
        rng = np.random.default_rng(20261127)
        found = []
        for _ in range(2):
            drawn = rng.integers(1 << 20, 1 << 21, len(free)) * rng.choice([-1, 1], len(free))
            columns = zip(free.tolist(), drawn.tolist(), powers, strict=True)
            w = {j: m << power for j, m, power in columns}
            found.append(dense_floats(orthogonal(self.boundary, w), size))
        return np.column_stack(found)

    def sign(self, function: Row) -> Sign | None:
        """Return the sign of a linear function, {number of a weight: number}.

        None if it is zero on the cone or has both signs.

        Raises
        ------
        TooLarge
            If the work for all functions together has run out before the sign was found.
        """
        left = self.boundary.remainder(function, self._one)
        here = dot(left, self._found[0])
        if not here or self.has_both_signs(function):
            return None
        side = 1 if here > 0 else -1
        alone = self._alone.get(line_of(left))
        if alone is not None:
            return Sign(side, [alone], [Fraction(1)])
        if self._too_large is not None:
            raise self._too_large
        target = {j: -side * m for j, m in left.items()}
        try:
            return self._sign_against(target, side)
        except TooLarge as reason:
            self._too_large = reason  # nor is there work left for others
            raise

    def _sign_against(self, target: Row, side: int) -> Sign | None:
        while True:
            self._take_new_members()
            found = self._against(target, side)
            if isinstance(found, Sign):
                return found
            if boundary_of(self.working, found, self.boundary) is not None:
                self._found.append(found)
                return None

    def _take_new_members(self) -> None:
        """Reduce new members of the working set modulo the boundary, in floats."""
        new = self.working.members[self._seen :]
        self._seen += len(new)
        if new:
            question = self.working.question
            table = table_of(new, question)
            outside = members_outside(self.boundary, question, new, table)
            new, table = [new[k] for k in np.flatnonzero(outside)], table[outside]
            self._members += new
            self._given = sp.vstack([self._given, table], format="csr")
            self._table = sp.vstack([self._table, self._remainders(new, table)], format="csr")

    def _remainders(self, members: list[Member], table: sp.csr_matrix) -> sp.csr_matrix:
        """Return the floats of remainders of members, whose floats are given, in free columns."""
        if self._basis is not None:
            with np.errstate(all="ignore"):
                rests, sizes = table @ self._basis, abs(table) @ abs(self._basis)
            if np.isfinite(rests.data).all() and np.isfinite(sizes.data).all():
                return rests.multiply(abs(rests) > NOISE * sizes)
        exact = remainders([member.whole[0] for member in members], self.boundary)
        return sparse_floats([row for row, _ in exact], table.shape[1])[:, self._free]

    def _against(self, target: Row, side: int) -> Sign | Row:
        """Return weights positive on the target and all known rows, or the proof of the sign."""
        goal = sparse_floats([target], self.working.question.size)
        table = sp.vstack([self._table, goal[:, self._free]], format="csr")
        self.work.pay(table.nnz * (table.shape[1] + 50) * 1e-8, SIGNS)
        free, multipliers = alternatives(table)
        if free.any():
            w = np.zeros(goal.shape[1])
            w[self._free] = free
            direction = self._inside(w, np.ravel(goal.toarray()), target)
            if direction is not None:
                return direction
        used = [self._members[i] for i in np.flatnonzero(multipliers[:-1])]
        rests = remainders([member.whole[0] for member in used], self.boundary)
        exact = self._vanishing([*(row for row, _ in rests), target])
        if exact is None:
            used = self._members
            rests = remainders([member.whole[0] for member in used], self.boundary)
            inside, found = alternative([*(row for row, _ in rests), target], self.work)
            if inside is not None:
                return orthogonal(self.boundary, inside)
            exact = [found.get(i, Fraction(0)) for i in range(len(used))]
        scaled = {i: x * rests[i][1] for i, x in enumerate(exact[: len(used)]) if x}
        members = [used[i] for i in scaled]
        return Sign(side, members, true_scale(members, list(scaled.values())))

    def _vanishing(self, rows: list[Row]) -> list[Fraction] | None:
        """Return positive multipliers of all rows whose combination is zero, or None."""
        columns = {j for row in rows for j in row}
        bits = max((abs(m).bit_length() for row in rows for m in row.values()), default=0)
        self.work.pay(seconds_of(len(columns), len(rows), bits), SIGNS)
        return signed(null_combination(rows))

    def has_both_signs(self, function: Row) -> bool:
        """Return whether weights found so far show that a linear function has both signs."""
        values = [dot(function, w) for w in self._found]
        return any(values[0] * value < 0 for value in values)

    def look_for_both_signs(self, functions: list[Row]) -> None:
        """Look for weights of the cone that show both signs of as many linear functions as is easy.

        Floats guess the weights from the center of the cone; integers near them are checked on all
        rows.

        Parameters
        ----------
        functions : {number of a weight: number} each
        """
        functions = [f for f in functions if dot(f, self._found[0]) and not self.has_both_signs(f)]
        for function, w in zip(functions, self._beyond_center(functions), strict=True):
            if np.isfinite(w).all() and not self.has_both_signs(function):
                self._take_if_inside(function, w)

    def _take_if_inside(self, function: Row, w: np.ndarray) -> None:
        """Add integers near some weights if they are in the cone, and show another sign."""
        left = self.boundary.remainder(function, self._one)
        here = dot(left, self._found[0])
        if not here:
            return
        target = {j: -m if here > 0 else m for j, m in left.items()}
        w[list(self.boundary.rows)] = 0.0  # these weights follow from the others
        goal = np.ravel(sparse_floats([target], len(w)).toarray())
        while True:
            check_time()
            self._take_new_members()
            found = self._inside(w, goal, target)
            if found is None:
                return
            if boundary_of(self.working, found, self.boundary) is not None:
                self._found.append(found)
                return

    def _beyond_center(self, functions: list[Row]) -> np.ndarray:
        """Guess weights of the cone where functions have not their sign at its center.

        Returns
        -------
        array of shape (functions, weights); NaN where a guess would take too long
        """
        question, data = self.working.question, self.working.data
        nothing = np.full((len(functions), question.size), np.nan)
        most = data.n_rows * max(map(len, question.signs))
        free, basis = self._free, self._basis
        if basis is None or most * len(free) * max(len(free), len(functions)) > MOST_PRODUCTS:
            return nothing
        table, _, powers = equilibrated(_every_constraint(data, question))
        scale = np.ldexp(1.0, powers.astype(int).clip(-1000, 1000))
        with np.errstate(all="ignore"):
            inner = sp.diags(1.0 / scale) @ basis @ sp.diags(scale[free])
            rows = (table @ inner).toarray()
            sizes = np.asarray((abs(table) @ abs(inner)).max(axis=1).todense())
            rows = rows[np.abs(rows).max(axis=1, initial=0.0) > CLEAR * sizes.ravel()]
            goals = (sparse_floats(functions, question.size) @ sp.diags(scale) @ inner).toarray()
            found = np.ravel(sparse_floats(self._found[:1], question.size).toarray())
            inside = found[free] / scale[free]
            if all(np.isfinite(part).all() for part in (rows, goals, inside)):
                nothing[:, free] = beyond_center(rows, goals, inside) * scale[free]
                nothing[:, list(self.boundary.rows)] = 0.0
        return nothing

    def _inside(self, w: np.ndarray, goal: np.ndarray, target: Row) -> Row | None:
        """Return integers near some weights, positive on all known rows and the target, or None."""
        middle = np.ravel(sparse_floats(self._found[:1], len(w)).toarray())
        middle[list(self.boundary.rows)] = 0.0
        with np.errstate(all="ignore"):
            w = w + middle * (abs(goal @ w) / abs(goal @ middle) / 2)
        if not np.isfinite(w).all():
            return None
        weights = {j: x for j, x in enumerate(w.tolist()) if x}
        for direction in roundings(weights, self.boundary):
            if dot(target, direction) > 0 and all_positive(self._members, self._given, direction):
                return direction
        return None


def _every_constraint(data: Data, question: Question) -> sp.csr_matrix:
    parts = [every_constraint(question, lane) for lane in within_time(data.lanes())]
    return sp.vstack(parts, format="csr")
