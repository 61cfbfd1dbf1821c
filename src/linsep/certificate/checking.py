"""Check verdicts from their evidence alone, in one reading of the rows.

The check is independent of the search, and the hash covers exactly the checked rows. Integer
arithmetic decides; floats decide only where the rounding bound of
:meth:`linsep.certificate.constraints.Weights.products` allows it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from linsep.certificate.canonical import Block, Reading, exact_rows, padded, read_whole, rows_of
from linsep.certificate.constraints import (
    Combination,
    Constraints,
    Membership,
    Row,
    Space,
    Subject,
    combination,
    constraints_of,
    in_lowest_terms,
    rank_found,
    whole_numbers,
)
from linsep.words import row_text

#: default time limit, in seconds, of the exact arithmetic in a check
TIME_LIMIT = 60.0
#: numbers that a check makes of claimed counts before they are compared with the data
MOST_NUMBERS = 1 << 20
#: differences of values of a Gram matrix that should be equal, relative to the largest: sums may
#: be rounded
ASYMMETRY = 2.0**-26


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
            return self.verified(*rows_of(X, y), exact, Clock(time_limit))  # type: ignore[attr-defined]
        except Fails as failure:
            return Check(False, f"It does not hold: {failure}.")
        except TooLong as reason:
            return Check(None, f"The check is incomplete: {reason}. Raise the time limit.")


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


def check(verdicts: Sequence[Any], X: Any, y: Any, exact: bool, clock: Clock) -> Check:
    """Check whether all verdicts about the same rows hold; undecided verdicts have no claim.

    Verdicts about columns of a Gram matrix are checked on these columns. A claim that nothing
    separates then covers the whole matrix.
    """
    decided = [verdict for verdict in verdicts if verdict.checks()]
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
    data = {verdict.subject.of_sides((), ()) for verdict in verdicts}
    need(len(data) == 1, "the verdicts are about different data")
    # What a check allocates for claimed counts: if much, they are compared with the data before.
    spaces = (one.subject.blocks * one.subject.width for one in verdicts if hasattr(one, "space"))
    signs = (len(subject.classes) * one.subject.blocks**2 for one in verdicts)
    if sum(spaces) + sum(signs) > MOST_NUMBERS:
        _same_data(subject, read_whole(X, y))
    # One reading for hash and checks: rows that change in between cannot pass.
    reading, failure = Reading(X, y), None
    classes = {(type(label), label): code for code, label in enumerate(subject.classes)}
    cases = [Case(one.subject, k, exact, clock) for one in verdicts for k in one.checks()]
    blocks = reading.blocks()
    try:
        for block in blocks:
            need(block.X.shape[1] <= subject.n_features, "the rows have more features")
            codes = np.array([classes.get((type(k), k), 0) for k in reading.labels])
            wide = Block(padded(block.X, subject.n_features), block.numbers, block.first)
            for case in cases:
                case.see(wide, codes[block.numbers])
    except Fails as first_failure:
        failure = first_failure
    for _ in blocks:  # the hash may give a better reason
        pass
    _same_data(subject, reading)
    if failure is not None:
        raise failure
    for case in cases:
        next(case.checking, None)
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
    """Return a Gram matrix, its numbers unchanged, and labels, of arrays or a source of both."""
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
    """Raise Fails if columns of a Gram matrix do not span the others, by elimination in whole
    numbers (Bareiss 1968).
    """
    # a positive factor of a row changes nothing
    left, last = np.array([whole_numbers(row)[0] for row in clock.over(K)], dtype=object), 1
    for j in clock.over(columns if len(columns) < len(K) else ()):
        places = np.flatnonzero(left[:, j])
        if places.size:
            pivot, left = left[places[0]], np.delete(left, places[0], axis=0)
            left = (left * pivot[j] - np.outer(left[:, j], pivot)) // last
            last = pivot[j]
    spanned = len(columns) == len(K) or not left.any()
    need(spanned, "the named columns of the Gram matrix do not span the others")
