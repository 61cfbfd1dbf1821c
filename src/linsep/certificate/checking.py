"""Check verdicts from their evidence alone, in one reading of the rows.

The check is independent of the search, and the hash covers exactly the checked rows. Integer
arithmetic decides; floats decide only where the rounding bound of
:meth:`linsep.certificate.constraints.Weights.products` allows it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

import numpy as np

from linsep.certificate.canonical import Block, Reading, read_whole, rows_of
from linsep.certificate.constraints import (
    Combination,
    Constraints,
    Membership,
    Question,
    Subject,
    Weights,
    constraints_of,
    question_of,
)
from linsep.certificate.integers import (
    Row,
    Space,
    combination,
    dot,
    in_lowest_terms,
    rank_at_most,
    rank_found,
    squared_bound,
    whole_numbers,
)
from linsep.certificate.numbers import exact_rows, padded
from linsep.words import row_text

#: default time limit, in seconds, of the exact arithmetic in a check
TIME_LIMIT = 60.0
#: numbers that a check makes of claimed counts before they are compared with the data
MOST_NUMBERS = 1 << 20
#: differences of values of a Gram matrix that should be equal, relative to the largest: sums may
#: be rounded
ASYMMETRY = 2.0**-26

T = TypeVar("T")


class Check(NamedTuple):
    """Result of a check: True, False or None (unknown), with the reason.

    ``bool(check)`` is True only if it holds.
    """

    holds: bool | None
    reason: str

    def __bool__(self) -> bool:
        return self.holds is True


class Claim:
    """Base class of what can be checked against data."""

    def verify(
        self, X: Any, y: Any = None, exact: bool = True, time_limit: float | None = TIME_LIMIT
    ) -> Check:
        """Check the claims against data, from the evidence alone, in one pass over the rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, features), or source
            Of a claim about a Gram matrix, or a kernel perceptron, the matrix.
        y : array of shape (rows,), not for a source
        exact : bool, default=True
            True: check in integer arithmetic, without tolerance, which is a proof. False: check in
            float64, which can refute a verdict but never prove it. Cycles are always exact.
        time_limit : float or None, default=60.0
            Time limit for exact arithmetic, in seconds, excluding the reading of rows. None: no
            limit.

        Returns
        -------
        Check
            ``holds`` is True, False or None (unknown), with a ``reason``; ``bool(check)`` is True
            only if the claims hold.
        """
        try:
            return self.verified(*rows_of(X, y), exact, Clock(time_limit))
        except Fails as failure:
            return Check(False, f"It does not hold: {failure}.")
        except TooLong as reason:
            return Check(None, f"The check is incomplete: {reason}. Raise the time limit.")

    def verified(self, X: Any, y: Any, exact: bool, clock: Clock) -> Check:
        """Return the check, or raise Fails or TooLong; the rows are no data frame with text."""
        raise NotImplementedError


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

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items and time the work on each; raise TooLong when the limit is exceeded."""
        last = time.monotonic()
        for item in items:
            yield item
            now = time.monotonic()
            self._spent += now - max(last, self._counted)  # what a loop inside counted, once
            last = self._counted = now
            if self._spent > self.limit:
                raise TooLong(f"exact arithmetic takes longer than {self.limit:g} s")


class Checker:
    """The check of one verdict: :meth:`see` receives each row once, :meth:`finish` decides.

    ``parts`` are all combinations that the verdict names.
    """

    def __init__(self, verdict: Any, exact: bool, clock: Clock, *parts: Combination) -> None:
        self.verdict, self.exact, self.clock = verdict, exact, clock
        self.question: Question = question_of(verdict.subject)
        named = [row for part in parts for row in part.rows]
        last = max(named, default=0)
        need(last < verdict.subject.n_rows, "a combination has rows that are not in the data")
        self._named = np.unique(np.array(named, dtype=np.int64))
        self._rows: dict[tuple[int, int], tuple[Row, Fraction, int]] = {}

    def see_all(self, given: Constraints) -> None:
        """Check the constraints of some rows."""
        raise NotImplementedError

    def finish(self) -> None:
        """Check the claims that depend on the named rows."""
        raise NotImplementedError

    def see(self, block: Block, codes: np.ndarray) -> None:
        """Check some rows with these class codes; keep those that the verdict names."""
        given = constraints_of(self.question, block, codes)
        self.see_all(given)
        ends = np.searchsorted(self._named, [block.first, block.first + len(codes)])
        for row in self.clock.over(self._named[slice(*ends)].tolist()):
            for k in np.flatnonzero(given.place == row - block.first).tolist():
                side = int(self.question.signs[given.code[k]][given.which[k]][0])
                self._rows[row, int(given.which[k])] = (*given.exact(k), side)

    def refuse(self, given: Constraints, wrong: np.ndarray, why: str) -> None:
        """Raise Fails if some constraints are wrong."""
        if wrong.any():
            raise Fails(f"{row_text(given.number(int(wrong.argmax())))} {why}")

    def named(self, part: Combination) -> list[tuple[Row, Fraction, int]]:
        """Return the constraints of a combination as integers, with their scales and sides."""
        try:
            return [self._rows[key] for key in zip(part.rows, part.which, strict=True)]
        except KeyError as missing:
            raise Fails(f"{row_text(missing.args[0][0])} has no such constraint") from None

    def sum_of(self, part: Combination) -> Row:
        """Return the sum of the rows of a combination, times a positive number."""
        rows = self.named(part)
        need(rows, "a combination is empty")
        scales = [m * scale for m, (_, scale, _) in zip(part.multipliers, rows, strict=True)]
        terms = in_lowest_terms(dict(enumerate(scales)))
        return combination(self.clock.over((terms[k], row) for k, (row, _, _) in enumerate(rows)))

    def vanishes(self, part: Combination) -> list[Row]:
        """Return the rows of a combination; Fails unless they add up to zero."""
        need(not self.sum_of(part), "a combination that should be zero is not")
        return [row for row, _, _ in self.named(part)]

    def spans(self, rows: Sequence[Row], space: Space) -> None:
        """Raise Fails unless the rows span the space."""
        outside = any(space.remainder(row) for row in self.clock.over(rows))
        columns = sorted(space.rows)
        full = not outside and rank_found(rows, columns, self.clock.over) == len(columns)
        need(full, "some rows do not span the space that is claimed")

    def space(self, space: Space) -> Membership:
        """Return the test of which rows lie outside a space."""
        self.check_columns(j for row in space.rows.values() for j in row)
        return Membership(space, self.question.size)

    def check_columns(self, columns: Iterable[int]) -> None:
        """Raise Fails unless there are weights with these numbers."""
        known = all(0 <= j < self.question.size for j in columns)
        need(known, "there are columns that are not in the data")


class SeparableChecker(Checker):
    """Check that every row is on the correct side by the margin, and that no margin is wider."""

    def __init__(self, verdict: Any, exact: bool, clock: Clock) -> None:
        super().__init__(verdict, exact, clock, verdict.support)
        constant = self.question.intercept
        blocks = zip(verdict.coef, verdict.intercept, strict=True)
        w = [x for row, b in blocks for x in (*row, *[b] * constant)]
        try:
            whole = in_lowest_terms(dict(enumerate(map(Fraction, w))))
        except (ValueError, OverflowError):
            raise Fails("a weight is not a finite number") from None
        need(whole, "all weights are zero")
        need(constant or not any(verdict.intercept), "there is an intercept")
        self.weights = Weights(self.question, whole)
        self.low, self.high = verdict.margin
        plain = self.question.blocks == 1 and verdict.subject.columns is None
        sound = 0 <= self.low <= self.high and self.low < math.inf
        sound = sound and (self.high < math.inf) == bool(verdict.support.rows)
        sound = sound and (plain or verdict.margin == (0.0, math.inf))
        need(sound, "the margin is malformed, has no support rows, or is of no two sides")
        below, above = self.weights.length()
        self._needed = self.low * below * (1 - 1e-15), self.low * above * (1 + 1e-15) + 2.0**-1000

    def see_all(self, given: Constraints) -> None:
        """Check that rows are on the correct side by the margin."""
        value, bound = self.weights.products(given)
        wrong = (value + bound < self._needed[0]) | (value + bound <= 0)
        unsure = np.flatnonzero(~(value - bound > self._needed[1]) & ~wrong & self.exact)
        for k in self.clock.over(unsure.tolist()):
            row, scale = given.exact(k)
            product = dot(row, self.weights.exact) * scale
            enough = product**2 >= Fraction(self.low) ** 2 * self.weights.square
            wrong[k] = product <= 0 or not enough
        self.refuse(given, wrong, "is not on the correct side by the margin")

    def finish(self) -> None:
        """Check that no weights can have a wider margin."""
        if self.high == math.inf:
            return
        d, constant = self.verdict.subject.n_features, self.question.intercept
        rows = self.named(self.verdict.support)
        sides = [side if constant else 0 for _, _, side in rows]
        need(len(set(sides)) == 1 + constant, "the support rows are all on one side")
        features = [({j: m for j, m in row.items() if j < d}, scale) for row, scale, _ in rows]
        square = squared_bound(features, sides, self.verdict.support.multipliers)
        need(square <= Fraction(self.high) ** 2, "the support rows allow a wider margin")


class OverlappingChecker(Checker):
    """Check that the infeasibility certificate (witness) and the spanning combination vanish, that
    the latter spans the space, and that all rows lie in it.
    """

    def __init__(self, verdict: Any, exact: bool, clock: Clock, *parts: Combination) -> None:
        super().__init__(verdict, exact, clock, verdict.witness, verdict.spanning, *parts)
        self.inside = self.everything = self.space(verdict.space)

    def see_all(self, given: Constraints) -> None:
        """Check that rows lie in the space of all rows."""
        if self.exact:
            every = np.arange(len(given.place))
            outside = given.outside(self.everything, every, self.clock.over)
            self.refuse(given, outside, "is not in the space")

    def finish(self) -> None:
        """Check that the combinations vanish, and that the spanning one spans the space."""
        self.vanishes(self.verdict.witness)
        self.spans(self.vanishes(self.verdict.spanning), self.verdict.space)


class QuasiSeparableChecker(OverlappingChecker):
    """Check that the direction is positive on the rows outside the space, the boundary."""

    def __init__(self, verdict: Any, exact: bool, clock: Clock) -> None:
        rows, which = zip(*verdict.basis, strict=True) if verdict.basis else ((), ())
        self.basis = Combination(rows, which, (1,) * len(rows))
        super().__init__(verdict, exact, clock, self.basis, *verdict.signs.values())
        self.check_columns(verdict.direction)
        turned = any(dot(row, verdict.direction) for row in clock.over(verdict.space.rows.values()))
        need(not turned, "the direction is not zero on the boundary")
        self.weights = Weights(self.question, verdict.direction)
        self.everything = self.space(verdict.everything)
        self.boundary: set[int] = set()
        self.free = False

    def see_all(self, given: Constraints) -> None:
        """Check that no row is on the wrong side; collect the rows on the boundary."""
        value, bound = self.weights.products(given)
        wrong = value < -bound
        if self.exact:
            unsure = np.flatnonzero(~(value > bound) & ~wrong)
            outside = given.outside(self.inside, unsure, self.clock.over)
            for k in self.clock.over(unsure[outside].tolist()):
                wrong[k] = dot(given.exact(k)[0], self.verdict.direction) <= 0
            self.free |= len(unsure) < len(value) or bool(outside.any())
            self.boundary.update((given.block.first + given.place[unsure[~outside]]).tolist())
        super().see_all(given)
        self.refuse(given, wrong, "is on the wrong side")

    def finish(self) -> None:
        """Check also the basis of all rows, the boundary and the signs: modulo the space, rows sum
        to a coefficient with the sign of the direction, so it has that sign, or is zero, for all
        weights with no row on the wrong side.
        """
        super().finish()
        verdict, space = self.verdict, self.verdict.space
        self.spans([row for row, _, _ in self.named(self.basis)], verdict.everything)
        kept = verdict.everything.coefficients(self.question.width, self.question.intercept)
        for j, part in self.clock.over(verdict.signs.items()):
            need(j in kept, "a dependent column has a sign")
            wanted, left = space.remainder(kept[j]), space.remainder(self.sum_of(part))
            times = {Fraction(left.get(i, 0), m) for i, m in wanted.items()}
            side = dot(kept[j], verdict.direction)
            same = left.keys() == wanted.keys() and len(times) == 1 and min(times) * side > 0
            need(same, "rows do not sum to the coefficient whose sign is claimed")
        rest = kept.keys() - verdict.signs.keys()
        need(rest >= set(verdict.unchecked), "an unchecked coefficient is dependent, or has a sign")
        if self.exact:
            same = self.free and sorted(self.boundary) == list(verdict.boundary)
            need(same, "the boundary rows differ")


def check(verdicts: Sequence[Any], X: Any, y: Any, exact: bool, clock: Clock) -> Check:
    """Check whether all verdicts about the same rows hold; undecided verdicts have no claim.

    Verdicts about columns of a Gram matrix are checked on these columns. A claim that nothing
    separates then covers the whole matrix.
    """
    decided = [verdict for verdict in verdicts if verdict.checkers()]
    if not decided:
        return Check(None, "There is no claim: the verdict is undecided.")
    columns = verdicts[0].subject.columns
    if columns is not None:
        K, y = _gram_of(X, y)
        X = K[:, [j for j in columns if j < len(K)]]
    n_rows = _check(decided, X, y, exact, clock)
    if columns is not None and exact and any(hasattr(one, "space") for one in decided):
        _check_spanned(K, columns, clock)
    where = f"checked over {n_rows:,} rows in {'exact arithmetic' if exact else 'floats'}."
    if exact and len(decided) == len(verdicts):
        what = decided[0].kind if len(verdicts) == 1 else f"all {len(decided)} verdicts"
        return Check(True, f"It holds: {what}, {where}")
    why = f"{len(verdicts) - len(decided):,} verdicts are undecided, and the others hold"
    return Check(None, f"{why if exact else 'Not refuted (only exact=True proves)'}, {where}")


def _check(verdicts: Sequence[Any], X: Any, y: Any, exact: bool, clock: Clock) -> int:
    """Raise Fails unless all verdicts hold; return the number of rows."""
    subject = verdicts[0].subject
    same = all(verdict.subject.same_data(subject) for verdict in verdicts)
    need(same, "the verdicts are about different data")
    # What a check allocates for claimed counts: if much, they are compared with the data before.
    spaces = (one.subject.blocks * one.subject.width for one in verdicts if hasattr(one, "space"))
    signs = (len(subject.classes) * one.subject.blocks**2 for one in verdicts)
    if sum(spaces) + sum(signs) > MOST_NUMBERS:
        _same_data(subject, read_whole(X, y))
    # One reading for hash and checks: rows that change in between cannot pass.
    reading, failure = Reading(X, y), None
    checkers = [kind(one, exact, clock) for one in verdicts for kind in one.checkers()]
    classes = {(type(label), label): code for code, label in enumerate(subject.classes)}
    blocks = reading.blocks()
    try:
        for block in blocks:
            need(block.X.shape[1] <= subject.n_features, "the rows have more features")
            codes = np.array([classes[type(k), k] for k in reading.labels])
            wide = Block(padded(block.X, subject.n_features), block.numbers, block.first)
            for checker in checkers:
                checker.see(wide, codes[block.numbers])
    except KeyError:
        failure = Fails("the labels differ")
    except Fails as first_failure:
        failure = first_failure
    for _ in blocks:  # the hash may give a better reason
        pass
    _same_data(subject, reading)
    if failure is not None:
        raise failure
    for checker in checkers:
        checker.finish()
    return reading.n_rows


def _same_data(subject: Subject, reading: Reading) -> None:
    """Raise Fails if the rows differ from the rows of the subject."""
    found, about = (
        f"{one.n_rows:,} rows of {one.n_features:,} features" for one in (reading, subject)
    )
    need(found == about, f"it is about {about}, but the data have {found}")
    ours = [(type(label), label) for label in sorted(reading.labels)]
    need(ours == [(type(label), label) for label in subject.classes], "the labels differ")
    named = reading.names and subject.names
    need(not named or reading.names == subject.names, "the features have other names")
    need(reading.sha256() == subject.sha256, "the rows or labels differ, or their order does")


def _gram_of(K: Any, y: Any) -> tuple[np.ndarray, Any]:
    """Return a Gram matrix, its numbers unchanged, and labels; raise Fails if it is not one.

    Without labels, K is a source of both.
    """
    if y is None and hasattr(K, "exactly"):
        batches = [(X.toarray() if hasattr(X, "toarray") else X, y) for X, y, *_ in K.exactly()]
        K, y = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    try:
        K = np.asarray(exact_rows(K))
    except (TypeError, ValueError) as problem:
        raise Fails(str(problem)) from None
    need(K.shape[0] == K.shape[1], "it is about a Gram matrix, which is square")
    floats = K.astype(np.float64)
    close = (np.abs(floats - floats.T) <= ASYMMETRY * np.abs(floats).max()).all()
    need(close, "it is about a Gram matrix, which is symmetric")
    return K, y


def _check_spanned(K: np.ndarray, columns: Sequence[int], clock: Clock) -> None:
    """Raise Fails if columns of a Gram matrix do not span the others."""
    rows = []
    for row in clock.over(K):  # a positive factor changes no rank
        rows.append({j: m for j, m in enumerate(whole_numbers(row)[0]) if m})
    rank = rank_found(rows, columns, clock.over)
    spanned = len(columns) == len(K) or rank_at_most(rows, len(K), rank, clock.over)
    need(spanned, "the named columns of the Gram matrix do not span the others")
