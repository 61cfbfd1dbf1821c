"""The subject of a verdict as constraints on weights: exact, and in floats with rounding bounds.
The case in which a claim about them is checked. Sums, spaces and ranks of rows in whole numbers,
which proofs, their check and the search share.

A row x of class k stands for one or more *constraints* ``<w, a> > 0``. Two sides: one per row, the
sign-flipped row ``a = y [x; 1]``. The multinomial formulation: one for each rival class, in order,
with the weights of all classes but the last, whose weights are zero, stacked into one vector. Both
are ``a = c (x) [x; 1]``, the Kronecker product with a vector of -1, 0 and 1.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from math import gcd, lcm
from operator import or_
from typing import Annotated, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep._system.interrupts import cached_property
from linsep.certificate.canonical import EXACT, TINY, Block
from linsep.certificate.json_fields import LONG, Count, Field, Long, by_number, well_formed
from linsep.words import row_text

#: the nonzero entries of a row: {column: integer}
Row = dict[int, int]
#: products of two smaller numbers fit 64 bits; not 2**31 - 1, which divides minors of such rows
PRIME = 1618033961
#: half a unit in the last place of 1.0
UNIT = 2.0**-53
#: separability of several classes: each against the rest, each pair, all at once
FORMULATIONS = ("ovr", "ovo", "multinomial")


@dataclass(frozen=True)
class Subject:
    """The data and the question that a verdict is about.

    Attributes
    ----------
    classes : tuple
        All labels of the data, sorted.
    positive, negative : tuple
        The labels of the two sides; empty in the multinomial formulation, where every class has
        weights of its own and the weights of the last are zero.
    sha256 : str
        Hash of rows and labels in the form that :mod:`linsep.certificate.canonical` describes.
    columns : tuple of int or None
        Of a Gram matrix: the weights are the a_j in sum_j a_j K(x, x_j) over these columns, which
        span all if nothing separates.
    chance : Chance or None
        Whether random labels would be separable. Not part of the proof: None if read from a proof.
    """

    classes: tuple[Any, ...]
    positive: tuple[Any, ...]
    negative: tuple[Any, ...]
    fit_intercept: bool
    n_rows: int
    n_features: int
    names: tuple[str, ...] | None
    sha256: str
    columns: tuple[int, ...] | None = None
    chance: Any = field(default=None, compare=False)

    def of_sides(self, positive: tuple[Any, ...], negative: tuple[Any, ...]) -> Subject:
        """Return the subject with other sides."""
        return replace(self, positive=positive, negative=negative)

    @property
    def multinomial(self) -> bool:
        """Whether every class has weights of its own and must score above every other."""
        return not self.positive

    @property
    def blocks(self) -> int:
        """Number of weight vectors."""
        return len(self.classes) - 1 if self.multinomial else 1

    @property
    def width(self) -> int:
        """Number of weights of one class: the features, and the intercept."""
        return self.n_features + self.fit_intercept

    @property
    def size(self) -> int:
        """Number of weights."""
        return self.blocks * self.width

    @cached_property
    def signs(self) -> list[np.ndarray]:
        """The vectors c of each class, of shape (constraints of a row, blocks of weights)."""
        if self.multinomial:
            one = np.eye(len(self.classes), dtype=np.int8)[:, :-1]
            return [np.delete(row - one, own, axis=0) for own, row in enumerate(one)]
        sign = dict.fromkeys(self.positive, ((1,),)) | dict.fromkeys(self.negative, ((-1,),))
        return [np.array(sign.get(k, np.empty((0, 1))), np.int8) for k in self.classes]

    @property
    def active(self) -> np.ndarray:
        """For every class, whether its rows have constraints."""
        return np.array([len(C) > 0 for C in self.signs])

    def signs_of(self, codes: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Return the vectors c of some constraints: class codes, and numbers within a row."""
        starts = np.cumsum([0, *map(len, self.signs)])
        return np.concatenate(self.signs)[starts[codes] + which]

    def matrix(self, X: Any, signs: np.ndarray) -> sp.csr_matrix:
        """Return ``c (x) [x; 1]`` of rows and vectors c as floats, without stored zeros."""
        Z = sp.csr_matrix(X, dtype=np.float64)
        if self.fit_intercept:
            Z = sp.hstack([Z, sp.csr_matrix(np.ones((Z.shape[0], 1)))], format="csr")
        each = np.repeat(signs, np.diff(Z.indptr), axis=0)
        parts = [sp.csr_matrix((Z.data * c, Z.indices, Z.indptr), Z.shape) for c in each.T]
        A = sp.hstack(parts, format="csr")
        A.eliminate_zeros()
        return A

    @property
    def feature_names(self) -> list[str]:
        """The names of the features: ``x0``, ``x1``, ... if they have none."""
        if self.columns is not None:
            return [f"row {j}" for j in self.columns]
        return list(self.names or (f"x{j}" for j in range(self.n_features)))

    def coefficient_names(self) -> list[str]:
        """Return a name for every weight, in order; the intercept comes last within each class."""
        names = self.feature_names + ["intercept"] * self.fit_intercept
        classes = self.classes[:-1] if self.multinomial else ()
        return [f"{label}: {name}" for label in classes for name in names] or names


@dataclass(frozen=True, repr=False)  # no long integers
class Combination:
    """Rows whose sign-flipped copies, times positive integers, add up to exactly zero; ValueError
    unless the rows are in order and the multipliers positive and in lowest terms.

    Attributes
    ----------
    rows : tuple of int
        Row numbers.
    which : tuple of int
        Zeros; in the multinomial formulation, the number of the rival class among the row's rivals.
    multipliers : tuple of int
    """

    rows: tuple[Count, ...]
    which: tuple[Count, ...]
    multipliers: tuple[Long, ...]

    def __post_init__(self) -> None:
        keys = list(zip(self.rows, self.which, strict=True))
        fine = keys == sorted(set(keys)) and len(keys) == len(self.multipliers)
        if not fine or min(self.multipliers, default=1) < 1 or math.gcd(*self.multipliers) > 1:
            raise ValueError("the rows and multipliers of a combination do not match")

    def shares(self) -> list[float]:
        """Return the multipliers divided by their sum."""
        total = sum(self.multipliers)
        return [multiplier / total for multiplier in self.multipliers]


class Constraints(NamedTuple):
    """The constraints of a block: position and class code of the row, number within the row."""

    subject: Subject
    block: Block
    place: np.ndarray
    code: np.ndarray
    which: np.ndarray

    def exact(self, k: int) -> tuple[Row, Fraction]:
        """Return a constraint in whole numbers, and the positive fraction to multiply them by."""
        about, row = self.subject, self.block.row(int(self.place[k]))
        signs = about.signs[self.code[k]][self.which[k]]
        return whole_row(*row, signs, about.width, about.fit_intercept)

    def outside(self, space: Membership, chosen: np.ndarray, each: Any = iter) -> np.ndarray:
        """Return which chosen constraints lie outside a space, as :class:`Membership` does."""
        if space.is_everything or not chosen.size:
            return np.zeros(len(chosen), dtype=bool)
        signs = self.subject.signs_of(self.code[chosen], self.which[chosen])
        A = self.subject.matrix(self.block.floats[self.place[chosen]], signs)
        rounded = self.block.X.dtype == object
        return space.outside(A, lambda k: self.exact(int(chosen[k]))[0], rounded, each)


def constraints_of(subject: Subject, block: Block, codes: np.ndarray) -> Constraints:
    """Return the constraints of a block whose rows have these class codes."""
    counts = np.array([len(signs) for signs in subject.signs])[codes]
    place = np.repeat(np.arange(len(codes)), counts)
    which = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)
    return Constraints(subject, block, place, codes[place], which)


def squared_bound(subject: Subject, rows: Any, multipliers: Sequence[int]) -> Fraction:
    """Return the square of an upper bound on the margin of all weights, for two sides.

    Each row, times its fraction, is a constraint. The multipliers are shares of the sum of their
    group. With an intercept the groups are the sides, the combination is the difference of two
    points of their convex hulls, and half its length is the bound; without one its length is.
    """
    d = subject.n_features
    groups = [row.get(d, 0) > 0 for row, _ in rows]
    sums = dict.fromkeys(groups, 0)
    for group, m in zip(groups, multipliers, strict=True):
        sums[group] += m
    shares = [m * s / sums[g] for (_, s), g, m in zip(rows, groups, multipliers, strict=True)]
    below = lcm(*(share.denominator for share in shares))
    point = combination((int(x * below), row) for x, (row, _) in zip(shares, rows, strict=True))
    square = sum(m * m for j, m in point.items() if j < d)
    return Fraction(square, (below * len(sums)) ** 2)


class Weights:
    """Weights as integers, and as ``floats`` of shape (blocks, width), divided by a power of two
    near the largest: each within half a unit in its last place, or within TINY. Without intercepts,
    ``square`` is the squared length of the integers, and ``length`` bounds that of the floats.
    """

    def __init__(self, subject: Subject, exact: Row) -> None:
        self.exact, self.subject = exact, subject
        dense = np.zeros(subject.size)
        dense[list(exact)] = floats_of(exact.values())
        dense[np.abs(dense) < TINY] = 0.0
        self.floats = dense.reshape(subject.blocks, subject.width)
        self.square = sum(m * m for j, m in exact.items() if j % subject.width < subject.n_features)
        squares = np.einsum("ij,ij->i", self.floats, self.floats)
        self._lengths = np.sqrt(squares + subject.width * TINY)
        W = self.floats[:, : subject.n_features]
        root = float(np.sqrt(np.einsum("ij,ij->", W, W)))
        slack, tiny = 4 * (subject.size + 8) * UNIT, math.sqrt(subject.size * TINY)
        self.length = max(0.0, root * (1 - slack) - tiny), root * (1 + slack) + tiny

    def products(self, given: Constraints) -> tuple[np.ndarray, np.ndarray]:
        """Return ``<w, a>`` of constraints in floats, and a bound on each rounding error.

        The bound follows Higham, Accuracy and Stability of Numerical Algorithms (2002), section
        3.1: a sum of n products in float64, in any order, is off by at most n u / (1 - n u) times
        the sum of their absolute values, which is at most the product of the two lengths. Further
        roundings are added for the weights, for numbers that are not doubles, and for the lengths
        and the bound itself. Numbers that underflow are off by TINY each, even if the processor
        flushes them to zero. If anything overflows, the bound is infinite.
        """
        subject, block, d = self.subject, given.block, self.subject.n_features
        n = subject.width + subject.blocks + 16
        with np.errstate(all="ignore"):
            scores = block.floats @ np.ascontiguousarray(self.floats[:, :d].T)
            scores = scores + self.floats[:, d] if subject.fit_intercept else scores
            norms = np.hypot(block.lengths, float(subject.fit_intercept))
            C = subject.signs_of(given.code, given.which).astype(np.float64)
            value = np.einsum("ij,ij->i", scores[given.place], C)
            reach = norms[given.place] * (np.abs(C) @ self._lengths)
            share = n * UNIT / (1 - n * UNIT) * (1 + 8 * n * UNIT)
            tiny = 4 * n * TINY * (1 + norms[given.place])
            bound = share * reach + tiny
        known = np.isfinite(value) & np.isfinite(bound) if n * UNIT < 0.01 else False
        return np.where(known, value, 0.0), np.where(known, bound, np.inf)


class Membership:
    """Exact test of which constraints lie outside a space, vectorized where floats are exact.

    In the *free* columns, without a pivot, the remainder of a row is its product with ``table``,
    which is exact below 2^53. A row with a number in a free column that is zero in the space lies
    outside. Others are tested one by one.
    """

    def __init__(self, space: Space, size: int) -> None:
        self.space = space
        free = {j: k for k, j in enumerate(j for j in range(size) if j not in space.rows)}
        self.is_everything = not free
        longer = {pivot: row for pivot, row in space.rows.items() if len(row) > 1}
        below = lcm(*(row[pivot] for pivot, row in longer.items()))
        entries = [(j, k, below) for j, k in free.items()]
        for pivot, row in longer.items():
            factor = below // row[pivot]
            entries += [(pivot, free[j], -m * factor) for j, m in row.items() if j != pivot]
        used = {j for row in longer.values() for j in row}
        self._alone = np.array([j for j in free if j not in used], dtype=np.int64)
        self._table = None
        if all(abs(m) < EXACT for _, _, m in entries):
            lines, columns, numbers = np.array(entries, float).reshape(-1, 3).T
            self._table = sp.csr_matrix((numbers, (lines, columns)), (size, len(free)))

    def outside(self, A: Any, whole: Callable[[int], Row], rounded: bool, each: Any = iter) -> Any:
        """Return which rows of a matrix without stored zeros lie outside the space; ``whole(k)`` is
        row k in integers, which decide if its floats are ``rounded``, or too long.
        """
        if self.is_everything or not A.shape[0]:
            return np.zeros(A.shape[0], dtype=bool)
        found = np.diff(A[:, self._alone].indptr) > 0
        doubtful = ~found
        if not rounded and self._table is not None:
            sizes = abs(self._table) @ np.ones(self._table.shape[1])
            odd = A.copy()
            odd.data = (odd.data != np.rint(odd.data)).astype(float)
            doubtful &= (odd @ sizes > 0) | ~(abs(A) @ sizes < EXACT)
            left = sp.csr_matrix(A @ self._table)
            left.eliminate_zeros()
            found |= np.diff(left.indptr) > 0
        for k in each(np.flatnonzero(doubtful).tolist()):
            found[k] = bool(self.space.remainder(whole(k)))
        return found


# The check of a claim.


class Fails(Exception):
    """The claim does not hold."""


def need(good: Any, why: str) -> None:
    """Raise Fails with this reason unless a condition holds."""
    if not good:
        raise Fails(why)


class TooLong(Exception):
    """Exact arithmetic exceeds its time limit."""


class Clock:
    """A stopwatch for the time spent in exact arithmetic."""

    def __init__(self, limit: float | None) -> None:
        self.limit = math.inf if limit is None else limit
        self._spent, self._counted = 0.0, -math.inf

    def over(self, items: Iterable[Any]) -> Iterator[Any]:
        """Yield the items and time the work on each; raise TooLong when the limit is exceeded."""
        last = time.monotonic()
        for item in items:
            yield item
            now = time.monotonic()
            self._spent += now - max(last, self._counted)  # what a loop inside counted, once
            last = self._counted = now
            if self._spent > self.limit:
                raise TooLong(f"exact arithmetic takes longer than {self.limit:g} s")


#: the check of a claim: it is sent the constraints of each block of rows, and None after the last
Checking = Generator[None, Constraints | None, None]


class Case:
    """The subject of a claim, and the constraints that its evidence names, as scaled integers."""

    def __init__(self, subject: Subject, check: Any, exact: bool, clock: Clock) -> None:
        self.subject, self.exact, self.clock = subject, exact, clock
        self._rows: dict[tuple[int, int], tuple[Row, Fraction]] = {}
        self.checking: Checking = check(self)
        next(self.checking)

    def keep(self, *parts: Combination) -> None:
        """Keep the constraints of these combinations, when they are seen."""
        named = [row for part in parts for row in part.rows]
        last = max(named, default=0)
        need(last < self.subject.n_rows, "a combination has rows that are not in the data")
        self._named = np.unique(np.array(named, dtype=np.int64))

    def see(self, block: Block, codes: np.ndarray) -> None:
        """Check some rows with these class codes."""
        given = constraints_of(self.subject, block, codes)
        ends = np.searchsorted(self._named, [block.first, block.first + len(codes)])
        for row in self.clock.over(self._named[slice(*ends)].tolist()):
            for k in np.flatnonzero(given.place == row - block.first).tolist():
                self._rows[row, int(given.which[k])] = given.exact(k)
        self.checking.send(given)

    def named(self, part: Combination) -> list[tuple[Row, Fraction]]:
        """Return the constraints of a combination."""
        try:
            return [self._rows[key] for key in zip(part.rows, part.which, strict=True)]
        except KeyError as missing:
            raise Fails(f"{row_text(missing.args[0][0])} has no such constraint") from None

    def sum_of(self, part: Combination) -> Row:
        """Return the sum of the rows of a combination, times a positive number."""
        rows = self.named(part)
        need(rows, "a combination is empty")
        scales = [m * scale for m, (_, scale) in zip(part.multipliers, rows, strict=True)]
        terms = in_lowest_terms(dict(enumerate(scales)))
        return combination(self.clock.over((terms[k], row) for k, (row, _) in enumerate(rows)))

    def vanishes(self, part: Combination) -> list[Row]:
        """Return the rows of a combination; Fails unless they add up to zero."""
        need(not self.sum_of(part), "a combination that should be zero is not")
        return [row for row, _ in self.named(part)]

    def spans(self, rows: Sequence[Row], space: Space) -> None:
        """Raise Fails unless the rows span the space."""
        outside = any(space.remainder(row) for row in self.clock.over(rows))
        columns = sorted(space.rows)
        full = not outside and rank_found(rows, columns, self.clock.over) == len(columns)
        need(full, "some rows do not span the space that is claimed")

    def space(self, space: Space) -> Membership:
        """Return the test of which rows lie outside a space."""
        self.check_columns(j for row in space.rows.values() for j in row)
        return Membership(space, self.subject.size)

    def check_columns(self, columns: Iterable[int]) -> None:
        """Raise Fails unless there are weights with these numbers."""
        known = all(0 <= j < self.subject.size for j in columns)
        need(known, "there are columns that are not in the data")


def refuse(given: Constraints, wrong: np.ndarray, why: str) -> None:
    """Raise Fails if some constraints are wrong."""
    if wrong.any():
        first = given.block.first + int(given.place[wrong.argmax()])
        raise Fails(f"{row_text(first)} {why}")


# Rows in whole numbers.


def whole_numbers(values: Any) -> tuple[list[int], Fraction]:
    """Return integers m without a common power of two, and a positive fraction s, with
    ``values == m * s`` exactly.
    """
    pairs = [x.as_integer_ratio() for x in np.asarray(values).tolist()]
    denominators = {q for _, q in pairs}
    below = lcm(*denominators)
    factors = {q: below // q for q in denominators}
    numbers = [p * factors[q] for p, q in pairs]
    bits = reduce(or_, numbers, 0)
    zeros = max(0, (bits & -bits).bit_length() - 1)  # at the end of all numbers
    return [m >> zeros for m in numbers], Fraction(1 << zeros, below)


def whole_row(
    columns: np.ndarray, values: np.ndarray, signs: np.ndarray, width: int, intercept: bool
) -> tuple[Row, Fraction]:
    """Return ``signs (x) [x; 1]`` for a row x as integers and the positive fraction to multiply
    them by; ``width`` counts the weights of one sign, the intercept last.
    """
    if intercept:
        columns = np.append(columns, width - 1)
        values = np.append(values, np.ones(1, values.dtype))
    used = np.flatnonzero(values)
    whole, scale = whole_numbers(values[used])
    z = list(zip(columns[used].tolist(), whole, strict=True))
    blocks = [(b * width, s) for b, s in enumerate(signs.tolist()) if s]
    return {start + j: s * m for start, s in blocks for j, m in z}, scale


def floats_of(numbers: Iterable[int]) -> list[float]:
    """Return integers of any length as floats, divided by a power of two near the largest."""
    numbers = list(numbers)
    top = max((abs(m).bit_length() for m in numbers), default=0)
    spare = [max(0, abs(m).bit_length() - 128) for m in numbers]
    return [math.ldexp(m >> k, k - top) for m, k in zip(numbers, spare, strict=True)]


def dot(a: Row, w: Row) -> int:
    """``<a, w>``."""
    return sum(m * w[j] for j, m in a.items() if j in w)


def combination(terms: Iterable[tuple[int, Row]]) -> Row:
    """Return the sum of the rows times their numbers, without zeros."""
    total: Row = {}
    for number, row in terms:
        for j, m in row.items():
            total[j] = total.get(j, 0) + number * m
    return {j: m for j, m in total.items() if m}


def in_lowest_terms(numbers: dict[int, Any]) -> Row:
    """Return the smallest integers in the same proportion, without zeros."""
    exact = {j: Fraction(x) for j, x in numbers.items() if x}
    below = lcm(*(x.denominator for x in exact.values()))
    whole = {j: int(x * below) for j, x in exact.items()}
    common = gcd(*whole.values())
    return {j: m // common for j, m in whole.items()}


@dataclass(frozen=True, repr=False)  # no long integers
class Space:
    """A row space in reduced echelon form: ``rows[p]``, integers in lowest terms, has its first
    entry, which is positive, in the pivot column p, and the others in columns without pivot.
    """

    rows: dict[int, Row]

    @property
    def one(self) -> int:
        """The smallest common multiple of all pivots."""
        return lcm(*(row[pivot] for pivot, row in self.rows.items()))

    def remainder(self, a: Row, below: int | None = None) -> Row:
        """Return the remainder of a row, empty if it lies in the space, times ``below`` or the
        smallest positive number that makes it whole.
        """
        used = [(a[j], self.rows[j], self.rows[j][j]) for j in a if j in self.rows]
        below = below or lcm(*(pivot for _, _, pivot in used))
        return combination([(below, a), *((-m * (below // p), row) for m, row, p in used)])

    def coefficients(self, width: int, intercept: bool) -> dict[int, Row]:
        """Return the coefficients that rows of this space determine: {number of the weight: row of
        the space, which is a linear function that gives it, times a positive number}.

        Of dependent columns the first is kept, and the weights of the others are zero; the
        constant, the last of each ``width``, comes before all others.
        """
        found = dict(self.rows)
        top = max((j for row in found.values() for j in row), default=-1)
        for one in range(width - 1, top + 1, width) if intercept else ():
            holders = [p for p, row in found.items() if one in row and p != one]
            if not holders:
                continue
            out = found.pop(max(holders))
            out = {j: m if out[one] > 0 else -m for j, m in out.items()}
            for p in (p for p in holders if p in found):
                terms = [(out[one], found[p]), (-found[p][one], out)]
                found[p] = in_lowest_terms(combination(terms))
            found[one] = out
        return found


def rank_found(rows: Sequence[Row], columns: Sequence[int], each: Any = iter) -> int:
    """Return a lower bound on the rank of some rows in some columns: the rank modulo a prime."""
    left = np.array([[row.get(j, 0) % PRIME for j in columns] for row in rows], dtype=np.int64)
    left, found = left.reshape(len(rows), len(columns)), 0
    for column in each(range(len(columns))):
        places = np.flatnonzero(left[:, column])
        if places.size:
            pivot = left[places[0]] * pow(int(left[places[0], column]), -1, PRIME) % PRIME
            left = np.delete(left, places[0], axis=0)
            left = (left - left[:, [column]] * pivot % PRIME) % PRIME
            found += 1
    return found


def _read_space(plain: Any) -> Space:
    found = Space(by_number(ROW).read(plain))
    for pivot, row in found.rows.items():
        reduced = row.keys() & found.rows.keys() == {pivot} == {min(row)} and row[pivot] > 0
        well_formed(reduced, "a space is not in reduced echelon form")
    return found


ROW = Field(lambda plain: in_lowest_terms(by_number(LONG).read(plain)), by_number(LONG).write)
Direction = Annotated[Row, ROW]
SpaceOfRows = Annotated[Space, Field(_read_space, lambda space: by_number(ROW).write(space.rows))]
