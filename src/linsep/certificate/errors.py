"""The fewest errors of any hyperplane, as an interval with the proofs of both ends, and its check.

The upper end is a hyperplane, whose errors are counted. The lower end is a tree. A *contradiction*
is a set of rows that no hyperplane classifies all correctly: with positive multipliers they add up
to zero (Gordan 1873); where rows on the hyperplane are not errors, they also span the space of all
weights. A leaf of the tree assigns shares to contradictions, with a total per row of at most the
row's weight: every hyperplane errs in each contradiction, so its errors weigh at least the sum of
the shares. A branch continues with a row being wrong, which adds its weight and removes its
contradictions, and with the same row being right, which removes its limit on shares. In few
dimensions the proof may be to try all hyperplanes again.

To try them all: rows are normals of planes through 0. A cell between planes has a side on one of
them, where it is a cell between the lines in which the others meet it: the same problem with one
dimension less. So the fewest errors are the minimum over all planes of the fewest errors in the
plane plus (strictly) the errors of its own rows that a step off it cannot remove. Weakly, moving to
a corner of the cell never adds errors. Two dimensions are a circle, gone round by sorted slopes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import gcd, inf
from typing import Annotated, Any, NamedTuple

import numpy as np

from linsep.certificate.constraints import (
    Case,
    Checking,
    Combination,
    Direction,
    Weights,
    dot,
    need,
    rank_found,
)
from linsep.certificate.json_fields import COUNT, LONG, Counts, Field, Long, by_number, well_formed
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


Tree = Packing | Branch


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
    return Packing(SHARES.read(plain["shares"]))


def _write_tree(tree: Tree | Exhaustive) -> dict[str, Any]:
    if isinstance(tree, Exhaustive):
        return {"exhaustive": True}
    if isinstance(tree, Packing):
        return {"shares": SHARES.write(tree.shares)}
    return {"row": tree.row, "wrong": _write_tree(tree.wrong), "right": _write_tree(tree.right)}


TREE = Field(
    lambda plain: Exhaustive() if "exhaustive" in plain else _read_tree(plain), _write_tree
)


@dataclass(frozen=True, repr=False)
class FewestErrors:
    """The least total weight of misclassified rows of any hyperplane, as an interval.

    Attributes
    ----------
    strict : bool
        Whether a row on the hyperplane is an error.
    unit, weights : Fraction, and tuple of int or None
        The weight of every row of the data, in units; None if all are 1.
    least, most : int
        Both ends, in units.
    hyperplane, rows : dict and tuple of int
        The weights whose errors weigh ``most``, as integers, {number of the weight: weight}, the
        intercept last; and the rows that they misclassify.
    copies : tuple of tuple of int
        Equal rows on the same side; the first represents them in the proof.
    contradictions : tuple of Combination
    tree : Packing, Branch or Exhaustive
    history : tuple of (seconds, low, high)
        The ends during the search; empty if read from a proof.
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
    tree: Annotated[Tree | Exhaustive, TREE]
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
        """Whether both ends are equal."""
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

    def check(self, case: Case) -> Checking:
        """Count the errors of the hyperplane; check the contradictions, and the tree's bound."""
        about, clock, n = case.subject, case.clock, case.subject.n_rows
        copies = [Combination(c, (0,) * len(c), (1,) * len(c)) for c in self.copies]
        case.keep(*self.contradictions, *copies)
        need(not about.multinomial, "fewest errors need two sides")
        fine = self.weights is None or (len(self.weights) == n and min(self.weights) >= 0)
        need(fine, "there is not one weight of at least 0 for every row")
        case.check_columns(self.hyperplane)
        need(self.strict or self.hyperplane, "all weights of the hyperplane are zero")
        need(0 <= self.least <= self.most, "the interval is empty")
        tried = isinstance(self.tree, Exhaustive)
        need(not tried or about.size <= MOST_DIMENSIONS, "there are too many dimensions to try all")
        weights, step = Weights(about, self.hyperplane), 0
        found: list[int] = []  # the rows that the hyperplane misclassifies
        every: list[tuple[list[int], int]] = []  # rows and weights, if all hyperplanes are tried
        while given := (yield):
            rows = (given.block.first + given.place).tolist()
            need(given.block.first + len(given.block.numbers) <= n, "there are more rows")
            if not case.exact:
                continue
            value, bound = weights.products(given)
            wrong = value < -bound
            for k, row in clock.over(enumerate(rows if tried else ())):
                a = given.exact(k)[0]
                every.append(([a.get(j, 0) for j in range(about.size)], self.weight(row)))
            for k in clock.over(np.flatnonzero(np.abs(value) <= bound).tolist()):
                product = dot(given.exact(k)[0], self.hyperplane)
                wrong[k] = product < 0 or (self.strict and product == 0)
            found += [row for row, errs in zip(rows, wrong, strict=True) if errs]
            step = gcd(step, *map(self.weight, rows))
        if not case.exact:
            return
        counted = tuple(row for row in found if self.weight(row))
        same = counted == self.rows and sum(map(self.weight, counted)) == self.most
        need(same, "the hyperplane misclassifies other rows")
        room = self._room(case, copies)
        for part in clock.over(self.contradictions):
            members = case.vanishes(part)
            full = self.strict or rank_found(members, range(about.size)) == about.size
            need(full, "a contradiction does not span the space of all weights")
            need(room.keys() >= set(part.rows), "a contradiction has a copy of a row")
        if isinstance(self.tree, Exhaustive):
            vectors, costs = zip(*every, strict=True)
            least = Fraction(enumerated_minimum(vectors, costs, self.strict, clock.over))
        else:
            least = min(clock.over(self._leaves(self.tree, room, Fraction(0), frozenset())))
        step = step or 1  # sums of weights are multiples of it
        need(-(-least // step) * step >= self.least, "the proof does not reach the lower end")

    def _room(self, case: Case, copies: Sequence[Combination]) -> dict[int, int]:
        """Return the weight of each row in the proof, with its copies."""
        room = {row: self.weight(row) for part in self.contradictions for row in part.rows}
        seen: set[int] = set()
        for part in copies:
            rows = case.named(part)
            need(len(rows) > 1 and seen.isdisjoint(part.rows), "copies are missing or repeated")
            seen.update(part.rows)
            need(all(row == rows[0] for row in rows), "copies of a row are not equal to it")
            for row in part.rows:
                room.pop(row, None)
            room[part.rows[0]] = sum(map(self.weight, part.rows))
        return room

    def _leaves(
        self, tree: Tree, room: dict[int, int], paid: Fraction, wrong: frozenset[int]
    ) -> Iterator[Fraction]:
        """Yield the least weight of the errors in each leaf; rows that are right are removed."""
        if isinstance(tree, Branch):
            known = tree.row in room and tree.row not in wrong
            need(known, "a tree branches on a row that is not in the proof")
            more = paid + room[tree.row]
            yield from self._leaves(tree.wrong, room, more, wrong | {tree.row})
            rest = {row: weight for row, weight in room.items() if row != tree.row}
            yield from self._leaves(tree.right, rest, paid, wrong)
            return
        last = max(tree.shares, default=-1)
        need(last < len(self.contradictions), "a tree uses an unknown contradiction")
        borne: dict[int, Fraction] = {}
        for s, share in tree.shares.items():
            for row in self.contradictions[s].rows:
                borne[row] = borne.get(row, Fraction(0)) + share
        need(wrong.isdisjoint(borne), "a contradiction has a row that is wrong already")
        fine = all(borne.get(row, 0) <= weight for row, weight in room.items())
        need(fine, "the shares of a row's contradictions exceed its weight")
        yield paid + tree.total()


def _plain(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 else float(number)


# All hyperplanes.

#: quotients of smaller integers are different floats if they differ
SMALL = 2**26


def enumerated_minimum(rows: Any, weights: Any, strict: bool = True, each: Any = iter) -> int:
    """Return the least total weight of errors of any w on sign-flipped rows, in a time that grows
    as n^(size - 1) log n. Strictly an error is ``<row, w> <= 0``; weakly it is ``<row, w> < 0``,
    and w is not zero. ``each`` wraps the loops over planes.
    """
    kind = np.int64 if sum(weights) < 2**62 else object
    table, errors = np.array(rows, object), np.array([(weight, 0) for weight in weights], kind)
    used = (table != 0).any(axis=1)
    zeros = int(errors[~used].sum())
    return zeros * strict + _fewest(table[used], errors[used], strict, each)


def _fewest(normals: np.ndarray, errors: np.ndarray, strict: bool, each: Any) -> int:
    """Return the fewest errors of planes, given the errors on the negative and positive side."""
    if not len(normals):
        return 0
    normals = normals // np.gcd.reduce(np.abs(normals), axis=1)[:, None]
    normals = normals.astype(np.int64 if np.abs(normals).max() < SMALL else object)
    size = normals.shape[1]
    if size == 2:
        return _round(normals, errors, strict)
    best, left = int(errors.sum()), np.ones(len(normals), dtype=bool)
    for k in each(range(len(normals))):
        if not left[k]:  # the plane of a row before
            continue
        plane, pivot = normals[k], int(np.abs(normals[k]).argmax())
        lines = plane[pivot] * normals - normals[:, [pivot]] * plane
        on = ~(lines != 0).any(axis=1)
        left &= ~on
        same = normals[on][:, [pivot]] * plane[pivot] > 0
        own = int(np.where(same, errors[on], errors[on][:, ::-1]).sum(axis=0).min())
        if size == 1:
            return own
        lines = np.delete(lines[~on], pivot, axis=1)
        best = min(best, _fewest(lines, errors[~on], strict, each) + strict * own)
    return best


def _round(normals: np.ndarray, errors: np.ndarray, strict: bool) -> int:
    """Return the fewest errors round a circle: between lines (strict), or on one of them."""
    x, y = normals.T
    if normals.dtype == object:
        slopes = np.array([Fraction(b, a) if a else inf for a, b in normals.tolist()], object)
    else:
        slopes = np.divide(y, x, out=np.full(len(x), inf), where=x != 0)
    order, right = np.argsort(slopes), (x > 0) | ((x == 0) & (y > 0))
    errors, slopes = np.where(right[:, None], errors, errors[:, ::-1])[order], slopes[order]
    new = np.append(True, slopes[1:] != slopes[:-1])
    n, p = np.add.reduceat(errors, np.flatnonzero(new)).T
    total = n.sum() + p.sum()
    between = p.sum() + np.append(0, np.cumsum(n - p))  # at first w is on the positive sides
    if strict:
        return int(min(between.min(), total - between.max()))
    return int(min((between[:-1] - p).min(), (total - between[:-1] - n).min()))
