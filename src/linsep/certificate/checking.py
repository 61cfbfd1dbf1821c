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
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np

from linsep.certificate.canonical import Block, Reading
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
ASYMMETRY = Fraction(1, 2**26)

T = TypeVar("T")


class Check(NamedTuple):
    """Result of a check: True, False or None (unknown), with the reason.

    ``bool(check)`` is True only if it holds.
    """

    holds: bool | None
    reason: str

    def __bool__(self) -> bool:
        return self.holds is True


class Fails(Exception):
    """The claim does not hold."""


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
    """The check of one verdict: :meth:`see` receives each row once, :meth:`finish` decides."""

    def __init__(self, verdict: Any, exact: bool, clock: Clock) -> None:
        subject = verdict.subject
        self.verdict, self.exact, self.clock = verdict, exact, clock
        self.question: Question = question_of(subject)
        named = [row for part in self._combinations() for row in part.rows]
        if min(named, default=0) < 0 or max(named, default=0) >= subject.n_rows:
            raise Fails("a combination has rows that are not in the data")
        self._named = np.unique(np.array(named, dtype=np.int64))
        self._rows: dict[tuple[int, int], tuple[Row, Fraction, int]] = {}

    def _combinations(self) -> list[Combination]:
        raise NotImplementedError

    def _see_all(self, given: Constraints) -> None:
        """Check the constraints of some rows."""
        raise NotImplementedError

    def finish(self) -> None:
        """Check the claims that depend on the named rows."""
        raise NotImplementedError

    def see(self, block: Block, codes: np.ndarray) -> None:
        """Check some rows with these class codes; keep those that the verdict names."""
        given = constraints_of(self.question, block, codes)
        self._see_all(given)
        ends = np.searchsorted(self._named, [block.first, block.first + len(codes)])
        for row in self.clock.over(self._named[slice(*ends)].tolist()):
            for k in np.flatnonzero(given.place == row - block.first).tolist():
                side = int(self.question.signs[given.code[k]][given.which[k]][0])
                self._rows[row, int(given.which[k])] = (*given.exact(k), side)

    def named(self, part: Combination) -> list[tuple[Row, Fraction, int]]:
        """Return the constraints of a combination as integers, with their scales and sides."""
        if not part.rows or not len(part.rows) == len(part.which) == len(part.multipliers):
            raise Fails("a combination is empty, or its multipliers do not match its rows")
        if min(part.multipliers) <= 0:
            raise Fails("a multiplier is not positive")
        keys = list(zip(part.rows, part.which, strict=True))
        if any(low >= high for low, high in pairwise(keys)):
            raise Fails("the rows of a combination are not in order")
        for key in keys:
            if key not in self._rows:
                raise Fails(f"{row_text(key[0])} has no such constraint")
        return [self._rows[key] for key in keys]

    def vanishes(self, part: Combination) -> list[Row]:
        """Return the rows of a combination; Fails unless they add up to zero."""
        rows = self.named(part)
        scales = [m * scale for m, (_, scale, _) in zip(part.multipliers, rows, strict=True)]
        terms = in_lowest_terms(dict(enumerate(scales)))
        if combination(self.clock.over((terms[k], row) for k, (row, _, _) in enumerate(rows))):
            raise Fails("a combination that should be zero is not")
        return [row for row, _, _ in rows]

    def spans(self, rows: Sequence[Row], space: Space) -> None:
        """Raise Fails unless the rows span the space."""
        columns = sorted(space.rows)
        for row in self.clock.over(rows):
            if space.remainder(row):
                raise Fails("some rows are not in the space that they should span")
        if rank_found(rows, columns, self.clock.over) < len(columns):
            raise Fails("some rows do not span the space that is claimed")

    def space(self, space: Space) -> Membership:
        """Return the test of which rows lie outside a space."""
        columns = {j for row in space.rows.values() for j in row}
        if columns and max(columns) >= self.question.size:
            raise Fails("a space has columns that are not in the data")
        return Membership(space, self.question.size)


class SeparableChecker(Checker):
    """Check that every row is on the correct side by the margin, and that no margin is wider."""

    def __init__(self, verdict: Any, exact: bool, clock: Clock) -> None:
        super().__init__(verdict, exact, clock)
        self.weights = Weights(self.question, self._weights())
        self.low, self.high = verdict.margin
        if not 0 <= self.low <= self.high or self.low == math.inf:
            raise Fails("the margin interval is malformed")
        plain = self.question.blocks == 1 and verdict.subject.columns is None
        if not plain and verdict.margin != (0.0, math.inf):
            raise Fails("a margin needs two sides and no Gram matrix")
        if self.high == math.inf and verdict.support.rows:
            raise Fails("support rows and the upper bound of the margin must be given together")
        below, above = self.weights.length()
        self._needed = self.low * below * (1 - 1e-15), self.low * above * (1 + 1e-15) + 2.0**-1000

    def _weights(self) -> Row:
        """Return the weights as integers in the same proportion, block after block."""
        coef, intercept = self.verdict.coef, self.verdict.intercept
        d = self.verdict.subject.n_features
        if len(coef) != self.question.blocks or {len(row) for row in coef} != {d}:
            raise Fails("the number of weights does not match the number of features")
        if len(intercept) != len(coef):
            raise Fails("the number of intercepts differs from the number of rows of weights")
        if not self.question.intercept and any(intercept):
            raise Fails("it has an intercept despite fit_intercept=False")
        constant = self.question.intercept
        w = [x for row, b in zip(coef, intercept, strict=True) for x in (*row, *[b] * constant)]
        try:
            exact = in_lowest_terms(dict(enumerate(map(Fraction, w))))
        except (ValueError, OverflowError):
            raise Fails("a weight is not a finite number") from None
        if not exact:
            raise Fails("all weights are zero")
        return exact

    def _combinations(self) -> list[Combination]:
        return [self.verdict.support]

    def _see_all(self, given: Constraints) -> None:
        value, bound = self.weights.products(given)
        if not self.exact:
            wrong = (value + bound < self._needed[0]) | (value + bound <= 0)
            if wrong.any():
                self._fail(given, int(wrong.argmax()))
            return
        for k in self.clock.over(np.flatnonzero(~(value - bound > self._needed[1])).tolist()):
            if not self._is_right(*given.exact(k)):
                self._fail(given, k)

    def _is_right(self, row: Row, scale: Fraction) -> bool:
        product = dot(row, self.weights.exact) * scale
        return product > 0 and product**2 >= Fraction(self.low) ** 2 * self.weights.square

    def _fail(self, given: Constraints, k: int) -> None:
        raise Fails(f"{row_text(given.number(k))} is not on the correct side by the margin")

    def finish(self) -> None:
        """Check that no weights can have a wider margin."""
        if self.high == math.inf:
            return
        d = self.verdict.subject.n_features
        rows = self.named(self.verdict.support)
        sides = [side if self.question.intercept else 0 for _, _, side in rows]
        if self.question.intercept and len(set(sides)) != 2:
            raise Fails("the support rows are all on one side")
        features = [({j: m for j, m in row.items() if j < d}, scale) for row, scale, _ in rows]
        square = squared_bound(features, sides, self.verdict.support.multipliers)
        if square > Fraction(self.high) ** 2:
            raise Fails("the support rows allow a wider margin than is claimed")


class BlockedChecker(Checker):
    """Check that the infeasibility certificate (witness) and the spanning combination vanish, and
    that the latter spans the space.
    """

    def __init__(self, verdict: Any, exact: bool, clock: Clock) -> None:
        super().__init__(verdict, exact, clock)
        self.inside = self.space(verdict.space)

    def _combinations(self) -> list[Combination]:
        return [self.verdict.witness, self.verdict.spanning]

    def finish(self) -> None:
        """Check that the combinations vanish, and that the spanning one spans the space."""
        self.vanishes(self.verdict.witness)
        self.spans(self.vanishes(self.verdict.spanning), self.verdict.space)


class OverlappingChecker(BlockedChecker):
    """Check that all rows lie in the space."""

    def _see_all(self, given: Constraints) -> None:
        if self.inside.is_everything or not self.exact:
            return
        outside = given.outside(self.inside, np.arange(len(given.place)), self.clock.over)
        if outside.any():
            raise Fails(f"{row_text(given.number(int(outside.argmax())))} is not in the space")


class QuasiSeparableChecker(OverlappingChecker):
    """Check that the direction is positive on the rows outside the space, the boundary."""

    def __init__(self, verdict: Any, exact: bool, clock: Clock) -> None:
        super().__init__(verdict, exact, clock)
        direction = verdict.direction
        if not direction or not all(0 <= j < self.question.size for j in direction):
            raise Fails("the direction is empty or has columns that are not in the data")
        for row in clock.over(verdict.space.rows.values()):
            if dot(row, direction):
                raise Fails("the direction is not zero on the boundary")
        self.weights = Weights(self.question, direction)
        self.everything = self.space(verdict.everything)
        self.boundary: set[int] = set()
        self.free = False

    def _combinations(self) -> list[Combination]:
        return [*super()._combinations(), self._basis(), *self.verdict.signs.values()]

    def _basis(self) -> Combination:
        rows, which = zip(*self.verdict.basis, strict=True) if self.verdict.basis else ((), ())
        return Combination(rows, which, (1,) * len(rows))

    def _see_all(self, given: Constraints) -> None:
        value, bound = self.weights.products(given)
        wrong = value < -bound
        if wrong.any():
            raise Fails(f"{row_text(given.number(int(wrong.argmax())))} is on the wrong side")
        if not self.exact:
            return
        unsure = np.flatnonzero(~(value > bound))
        outside = given.outside(self.inside, unsure, self.clock.over)
        for k in self.clock.over(unsure[outside].tolist()):
            if dot(given.exact(k)[0], self.verdict.direction) <= 0:
                raise Fails(f"{row_text(given.number(k))} is not on the correct side")
        self.free |= len(unsure) < len(value) or bool(outside.any())
        self.boundary.update((given.block.first + given.place[unsure[~outside]]).tolist())
        if given.outside(self.everything, np.arange(len(value)), self.clock.over).any():
            raise Fails("some rows are outside the space of all rows")

    def _check_sign(self, coefficient: Row, part: Combination) -> None:
        """Check that rows sum to a coefficient, modulo the space, with the sign of the direction.

        So it has that sign, or is zero, for all weights with no row on the wrong side.
        """
        rows, space = self.named(part), self.verdict.space
        scales = [m * scale for m, (_, scale, _) in zip(part.multipliers, rows, strict=True)]
        terms = in_lowest_terms(dict(enumerate(scales)))
        total = combination((terms[k], row) for k, (row, _, _) in enumerate(rows))
        wanted, left = space.remainder(coefficient), space.remainder(total)
        times = {Fraction(left.get(j, 0), m) for j, m in wanted.items()}
        side = dot(coefficient, self.verdict.direction)
        if left.keys() != wanted.keys() or len(times) != 1 or min(times) * side <= 0:
            raise Fails("rows do not sum to the coefficient whose sign is claimed")

    def finish(self) -> None:
        """Check also the basis of all rows, the signs and the boundary."""
        super().finish()
        self.spans([row for row, _, _ in self.named(self._basis())], self.verdict.everything)
        kept = self.verdict.everything.coefficients(self.question.width, self.question.intercept)
        for j, part in self.clock.over(self.verdict.signs.items()):
            if j not in kept:
                raise Fails("a dependent column has a sign")
            self._check_sign(kept[j], part)
        if not set(self.verdict.unchecked) <= kept.keys() - self.verdict.signs.keys():
            raise Fails("a coefficient whose sign was not checked is dependent, or has a sign")
        if self.exact and (not self.free or sorted(self.boundary) != list(self.verdict.boundary)):
            raise Fails("the boundary rows differ")


class Claim(Protocol):
    """A verdict and its checker, which is None for a verdict without a claim."""

    kind: ClassVar[str]

    def checkers(self) -> list[type[Checker]]:
        """Return the checker."""

    @property
    def subject(self) -> Subject:
        """The data and the question."""


def check(
    verdicts: Sequence[Claim], X: Any, y: Any, exact: bool, time_limit: float | None
) -> Check:
    """Check whether all verdicts about the same rows hold; undecided verdicts have no claim.

    Verdicts about columns of a Gram matrix are checked on these columns. A claim that nothing
    separates then covers the whole matrix.
    """
    columns, K = verdicts[0].subject.columns, None
    if columns is not None:
        try:
            K, y = _gram_of(X, y)
        except (TypeError, ValueError) as problem:
            return Check(False, f"It does not hold: it is about a Gram matrix: {problem}")
        X = K[:, [j for j in columns if j < len(K)]]
    decided = [verdict for verdict in verdicts if verdict.checkers()]
    if not decided:
        return Check(None, "There is no claim: the verdict is undecided.")
    found = _check(decided, X, y, exact, time_limit, K)
    if found and len(decided) < len(verdicts):
        missing = f"{len(verdicts) - len(decided):,} of {len(verdicts):,} subproblems are undecided"
        return Check(None, f"{missing}. {found.reason}")
    return found


def _check(
    verdicts: Sequence[Claim],
    X: Any,
    y: Any,
    exact: bool,
    time_limit: float | None,
    K: np.ndarray | None,
) -> Check:
    clock = Clock(time_limit)
    # One reading for hash and checks: rows that change in between cannot pass.
    reading = Reading(X, y)
    try:
        if (
            _numbers_claimed(verdicts) > MOST_NUMBERS
        ):  # what is claimed is compared before it is expanded
            first = Reading(X, y)
            for _ in first.blocks():
                pass
            _same_data(verdicts[0].subject, first)
        _read_rows(verdicts, reading, exact, clock)
        if K is not None and exact:
            _spanned(verdicts, K, clock)
    except Fails as failure:
        return Check(False, f"It does not hold: {failure}.")
    except TooLong as reason:
        return Check(None, f"The check is incomplete: {reason}. Raise the time limit.")
    rows = f"{reading.canonical.n_rows:,} rows"
    many = len(verdicts) > 1
    if not exact:
        what = f"all {len(verdicts)} verdicts" if many else verdicts[0].kind
        return Check(
            None,
            f"Not refuted: {what}, checked over {rows} in floats. Pass exact=True for a proof.",
        )
    what = f"All {len(verdicts)} verdicts hold," if many else f"It holds: {verdicts[0].kind},"
    return Check(True, f"{what} checked over {rows} in exact arithmetic.")


def _numbers_claimed(verdicts: Sequence[Claim]) -> int:
    """Return how many numbers a check allocates for counts that a proof claims without evidence."""
    total = 0
    for verdict in verdicts:
        subject = verdict.subject
        weights = subject.blocks * subject.width * _is_blocked(verdict)
        total += weights + len(subject.classes) * subject.blocks**2
    return total


def _read_rows(verdicts: Sequence[Claim], reading: Reading, exact: bool, clock: Clock) -> None:
    """Read the rows once for all verdicts; failures about the data take precedence."""
    subject = verdicts[0].subject
    checkers = [kind(one, exact, clock) for one in verdicts for kind in one.checkers()]
    classes = {(type(label), label): code for code, label in enumerate(subject.classes)}
    failure = _different_subjects(verdicts)
    for block in reading.blocks():
        if failure is not None:
            continue  # the hash may give a better reason
        labels = reading.canonical.labels
        if reading.canonical.n_features > subject.n_features:
            failure = Fails("the rows have more features")
        elif not all((type(label), label) in classes for label in labels):
            failure = Fails("the labels differ")
        else:
            numbers = np.array([classes[type(label), label] for label in labels])
            wide = Block(padded(block.X, subject.n_features), block.numbers, block.first)
            try:
                for checker in checkers:
                    checker.see(wide, numbers[block.numbers])
            except Fails as first:
                failure = first
    _same_data(subject, reading)
    if failure is not None:
        raise failure
    for checker in checkers:
        checker.finish()


def _is_blocked(verdict: Claim) -> bool:
    return any(issubclass(kind, BlockedChecker) for kind in verdict.checkers())


def _spanned(verdicts: Sequence[Claim], K: np.ndarray, clock: Clock) -> None:
    """Raise Fails if columns of a Gram matrix do not separate and do not span the others."""
    columns = verdicts[0].subject.columns or ()
    if len(columns) == len(K) or not any(map(_is_blocked, verdicts)):
        return
    rows: list[Row] = []
    for row in clock.over(K):  # a positive factor changes no rank
        rows.append({j: m for j, m in enumerate(whole_numbers(row)[0]) if m})
    if not rank_at_most(rows, len(K), rank_found(rows, columns, clock.over), clock.over):
        raise Fails("the named columns of the Gram matrix do not span the others")


def _different_subjects(verdicts: Sequence[Claim]) -> Fails | None:
    """Return a failure if verdicts are about different data."""
    first = verdicts[0].subject
    same = all(verdict.subject.same_data(first) for verdict in verdicts)
    return None if same else Fails("the verdicts are about different data")


def _same_data(subject: Subject, reading: Reading) -> None:
    """Raise Fails if the rows differ from the rows of the subject."""
    found = reading.canonical
    shape = (subject.n_rows, subject.n_features)
    if (found.n_rows, found.n_features) != shape:
        raise Fails(
            f"it is about {shape[0]:,} rows of {shape[1]:,} features, but the data have "
            f"{found.n_rows:,} of {found.n_features:,}"
        )
    labels = sorted(found.labels)
    if _with_types(labels) != _with_types(subject.classes):
        raise Fails("the labels differ")
    if reading.names and subject.names and reading.names != subject.names:
        raise Fails("the features have other names")
    if found.sha256() != subject.sha256:
        rounded = (
            "; some numbers are not float64, and a proof of rounded rows is about X.astype(float)"
        )
        raise Fails(
            "the rows or labels differ, or their order does" + rounded * (not reading.doubles)
        )


def _with_types(labels: Sequence[Any]) -> list[tuple[type, Any]]:
    return [(type(label), label) for label in labels]


def _gram_of(K: Any, y: Any) -> tuple[np.ndarray, Any]:
    """Return a Gram matrix, its numbers unchanged, and labels; raise ValueError if it is not one.

    Without labels, K is a source of both.
    """
    if y is None and hasattr(K, "exactly"):
        batches = [(X.toarray() if hasattr(X, "toarray") else X, y) for X, y, *_ in K.exactly()]
        K, y = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    K = exact_rows(K)
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"K has shape {K.shape}, which is not square.")
    if not _is_symmetric(K):
        raise ValueError("K is not symmetric.")
    return np.asarray(K), y


def _is_symmetric(K: np.ndarray) -> bool:
    """Return whether K - K.T is zero, up to ASYMMETRY times the largest value."""
    with np.errstate(over="ignore", invalid="ignore"):
        floats = K.astype(np.float64)
        near = np.abs(floats - floats.T) < float(ASYMMETRY) / 2 * np.abs(floats).max()
    if near.all():
        return True
    rows = [list(map(Fraction, row)) for row in K.tolist()]
    most = ASYMMETRY * max(abs(x) for row in rows for x in row)
    return all(abs(rows[i][j] - rows[j][i]) <= most for i, j in np.argwhere(~near).tolist())
