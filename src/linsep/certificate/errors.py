"""The fewest errors of any hyperplane, as an interval with the proofs of both ends, and its check.

The upper end is a hyperplane, whose errors are counted. The lower end is a tree. A *contradiction*
is a set of rows that no hyperplane classifies all correctly: with positive multipliers they add up
to zero (Gordan 1873); where rows on the hyperplane are not errors, they also span the space of all
weights. A leaf of the tree assigns shares to contradictions, with a total per row of at most the
row's weight: every hyperplane errs in each contradiction, so its errors weigh at least the sum of
the shares. A branch continues with a row being wrong, which adds its weight and removes its
contradictions, and with the same row being right, which removes its limit on shares. In few
dimensions the proof may be to try all hyperplanes again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, Any, NamedTuple

import numpy as np

from linsep.certificate.checking import Checker, Clock, need
from linsep.certificate.constraints import Combination, Constraints, Weights
from linsep.certificate.exhaustive import enumerated_minimum
from linsep.certificate.integers import dot, rank_found
from linsep.certificate.json_fields import (
    COUNT,
    LONG,
    Counts,
    Direction,
    Field,
    Long,
    by_number,
    well_formed,
)
from linsep.drawing import display

#: deepest tree
MOST_DEPTH = 200
#: most dimensions in which a claim is that all hyperplanes were tried
MOST_DIMENSIONS = 4


class Packing(NamedTuple):
    """Shares of contradictions: {number of the contradiction: share}, in the unit of weights."""

    shares: dict[int, Fraction]

    def total(self) -> Fraction:
        """Return the sum of the shares."""
        return sum(self.shares.values(), Fraction(0))


class Branch(NamedTuple):
    """A row, and the trees in which it is wrong and right."""

    row: int
    wrong: Tree
    right: Tree


class Exhaustive(NamedTuple):
    """Rows in few dimensions: a check tries all hyperplanes."""


Tree = Packing | Branch | Exhaustive


def _read_fraction(plain: Any) -> Fraction:
    found = Fraction(*map(LONG.read, plain))
    well_formed(found > 0, "a fraction is not positive")
    return found


FRACTION = Field(_read_fraction, lambda x: [hex(x.numerator), hex(x.denominator)])
SHARES = by_number(FRACTION)


def _read_tree(plain: Any, depth: int = 0) -> Tree:
    well_formed(depth <= MOST_DEPTH, "a tree is too deep")
    if "row" in plain:
        ways = (_read_tree(plain[way], depth + 1) for way in ("wrong", "right"))
        return Branch(COUNT.read(plain["row"]), *ways)
    if "exhaustive" in plain and not depth:
        return Exhaustive()
    return Packing(SHARES.read(plain["shares"]))


def _write_tree(tree: Tree) -> dict[str, Any]:
    if isinstance(tree, Packing):
        return {"shares": SHARES.write(tree.shares)}
    if isinstance(tree, Exhaustive):
        return {"exhaustive": True}
    return {"row": tree.row, "wrong": _write_tree(tree.wrong), "right": _write_tree(tree.right)}


@dataclass(frozen=True, repr=False)
class FewestErrors:
    """The least total weight of misclassified rows of any hyperplane, as an interval.

    Attributes
    ----------
    strict : bool
        Whether a row on the hyperplane is an error.
    unit : Fraction
        The unit of the numbers in the proof.
    weights : tuple of int or None
        The weight of every row of the data, in units; None if all are 1.
    least, most : int
        Both ends, in units: no hyperplane's errors weigh less than ``least``, and this hyperplane's
        weigh ``most``.
    hyperplane : dict
        Its weights as integers, {number of the weight: weight}, the intercept last.
    rows : tuple of int
        The rows that it misclassifies.
    copies : tuple of tuple of int
        Equal rows on the same side; the first represents them in the proof.
    contradictions : tuple of Combination
    tree : Packing, Branch or Exhaustive
    history : tuple of (seconds, low, high)
        The ends during the search. Not part of the proof: empty if read from a proof.
    """

    strict: bool
    unit: Annotated[Fraction, FRACTION]
    weights: tuple[Long, ...] | None
    least: Long
    most: Long
    hyperplane: Direction
    rows: Counts
    copies: tuple[Counts, ...]
    contradictions: tuple[Combination, ...]
    tree: Annotated[Tree, Field(_read_tree, _write_tree)]
    history: tuple[tuple[float, float, float], ...] = field(default=(), compare=False)

    @property
    def low(self) -> int | float:
        """Lower end: no hyperplane's errors weigh less; an integer if whole."""
        return _plain(self.least * self.unit)

    @property
    def high(self) -> int | float:
        """Upper end: the total weight of this hyperplane's errors."""
        return _plain(self.most * self.unit)

    @property
    def closed(self) -> bool:
        """Whether both ends are equal, so that no hyperplane has fewer errors."""
        return self.least == self.most

    def __repr__(self) -> str:
        return f"<FewestErrors: {self.ends()}>"

    def ends(self) -> str:
        """Return both ends as text, or one number if they are equal."""
        return f"{self.high:,}" if self.closed else f"{self.low:,} to {self.high:,}"

    def plot(self, **kwargs: Any) -> Any:
        """Plot the ends during the search with :class:`linsep.plot.FewestErrorsDisplay`."""
        return display("FewestErrorsDisplay").from_errors(self, **kwargs)

    def weight(self, row: int) -> int:
        """Return the weight of a row, in units."""
        return 1 if self.weights is None else self.weights[row]


def _plain(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 else float(number)


class ErrorsChecker(Checker):
    """Count the errors of the hyperplane; check the contradictions, and the tree's bound."""

    def __init__(self, verdict: Any, exact: bool, clock: Clock) -> None:
        self.claim: FewestErrors = verdict.errors
        claim, n = self.claim, verdict.subject.n_rows
        self._copies = [Combination(c, (0,) * len(c), (1,) * len(c)) for c in claim.copies]
        super().__init__(verdict, exact, clock, *claim.contradictions, *self._copies)
        need(not verdict.subject.multinomial, "fewest errors need two sides")
        if claim.weights is not None:
            fine = len(claim.weights) == n and min(claim.weights) >= 0
            need(fine, "there is not one weight of at least 0 for every row")
        self.check_columns(claim.hyperplane)
        need(claim.strict or claim.hyperplane, "all weights of the hyperplane are zero")
        need(0 <= claim.least <= claim.most, "the interval is empty")
        self.tried = isinstance(claim.tree, Exhaustive)
        few = not self.tried or self.question.size <= MOST_DIMENSIONS
        need(few, "not all hyperplanes can be tried in so many dimensions")
        self._weights = Weights(self.question, claim.hyperplane)
        self._wrong: list[int] = []
        self._step = 0
        #: the rows and their weights, if all hyperplanes are to be tried
        self._every: list[tuple[list[int], int]] = []

    def see_all(self, given: Constraints) -> None:
        """Collect the rows that the hyperplane misclassifies."""
        rows = (given.block.first + given.place).tolist()
        end = given.block.first + len(given.block.numbers)
        need(end <= self.verdict.subject.n_rows, "there are more rows")
        if not self.exact:
            return
        value, bound = self._weights.products(given)
        wrong = value < -bound
        for k, row in self.clock.over(enumerate(rows if self.tried else ())):
            a = given.exact(k)[0]
            vector = [a.get(j, 0) for j in range(self.question.size)]
            self._every.append((vector, self.claim.weight(row)))
        for k in self.clock.over(np.flatnonzero(np.abs(value) <= bound).tolist()):
            product = dot(given.exact(k)[0], self.claim.hyperplane)
            wrong[k] = product < 0 or (self.claim.strict and product == 0)
        self._wrong += (given.block.first + given.place[wrong]).tolist()
        self._step = math.gcd(self._step, *map(self.claim.weight, rows))

    def finish(self) -> None:
        """Check both ends."""
        claim, size = self.claim, self.question.size
        if not self.exact:
            return
        found = tuple(row for row in self._wrong if claim.weight(row))
        same = found == claim.rows and sum(map(claim.weight, found)) == claim.most
        need(same, "the hyperplane misclassifies other rows")
        room = self._room()
        for part in self.clock.over(claim.contradictions):
            rows = self.vanishes(part)
            full = claim.strict or rank_found(rows, range(size)) == size
            need(full, "a contradiction does not span the space of all weights")
            need(room.keys() >= set(part.rows), "a contradiction has a copy of a row")
        bounds = self._leaves(claim.tree, room, 0, frozenset())
        step = self._step or 1  # sums of weights are multiples of it
        least = min(self.clock.over(bounds))
        need(-(-least // step) * step >= claim.least, "the proof does not reach the lower end")

    def _room(self) -> dict[int, int]:
        """Return the weight of each row in the proof, with its copies."""
        named = {row for part in self.claim.contradictions for row in part.rows}
        room = {row: self.claim.weight(row) for row in named}
        seen: set[int] = set()
        for part in self._copies:
            rows, several = self.named(part), len(part.rows) > 1
            need(several and seen.isdisjoint(part.rows), "copies are missing or repeated")
            seen.update(part.rows)
            need(all(row[:2] == rows[0][:2] for row in rows), "copies of a row are not equal to it")
            for row in part.rows:
                room.pop(row, None)
            room[part.rows[0]] = sum(map(self.claim.weight, part.rows))
        return room

    def _leaves(
        self, tree: Tree, room: dict[int, int], paid: int, wrong: frozenset[int]
    ) -> Iterator[Fraction]:
        """Yield the least weight of the errors in each leaf; rows that are right are removed."""
        if isinstance(tree, Exhaustive):
            vectors, weights = zip(*self._every, strict=True)
            yield enumerated_minimum(vectors, weights, self.claim.strict, self.clock.over)
            return
        if isinstance(tree, Branch):
            known = tree.row in room and tree.row not in wrong
            need(known, "a tree branches on a row that is not in the proof")
            more = paid + room[tree.row]
            yield from self._leaves(tree.wrong, room, more, wrong | {tree.row})
            rest = {row: weight for row, weight in room.items() if row != tree.row}
            yield from self._leaves(tree.right, rest, paid, wrong)
            return
        last = max(tree.shares, default=-1)
        need(last < len(self.claim.contradictions), "a tree uses an unknown contradiction")
        borne: dict[int, Fraction] = {}
        for s, share in tree.shares.items():
            for row in self.claim.contradictions[s].rows:
                borne[row] = borne.get(row, Fraction(0)) + share
        need(wrong.isdisjoint(borne), "a contradiction has a row that is wrong already")
        fine = all(borne.get(row, 0) <= weight for row, weight in room.items())
        need(fine, "the shares of a row's contradictions exceed its weight")
        yield paid + tree.total()
