"""The check of each kind of verdict: every row is visited once, and integer arithmetic decides.

Floats decide only where the rounding bound of
:meth:`linsep.certificate.values.Weights.products` allows it.
"""

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from linsep.certificate.blocks import Block
from linsep.certificate.integers import (
    Row,
    Space,
    combination,
    dot,
    in_lowest_terms,
    rank_found,
    squared_bound,
)
from linsep.certificate.values import (
    Constraints,
    Membership,
    Problem,
    Weights,
    constraints_of,
    problem_of,
)
from linsep.certificate.verdicts import (
    Blocked,
    Combination,
    Overlapping,
    QuasiSeparable,
    Separable,
)

T = TypeVar("T")


class Fails(Exception):
    """The claim does not hold."""


class TooLong(Exception):
    """Exact arithmetic exceeds its time limit."""


class Clock:
    """A stopwatch for the time spent in exact arithmetic."""

    def __init__(self, limit: float | None) -> None:
        self.limit = math.inf if limit is None else limit
        self._spent = 0.0

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items and time the work on each; raise TooLong when the limit is exceeded."""
        last = time.monotonic()
        for item in items:
            yield item
            now = time.monotonic()
            self._spent += now - last
            last = now
            if self._spent > self.limit:
                raise TooLong(f"exact arithmetic takes longer than {self.limit:g} s")


class Checker:
    """The check of one verdict: :meth:`see` gets every row once, :meth:`finish` decides."""

    def __init__(self, verdict: Any, exact: bool, clock: Clock) -> None:
        subject = verdict.subject
        self.verdict, self.exact, self.clock = verdict, exact, clock
        self.problem: Problem = problem_of(
            subject.classes, subject.positive, subject.negative, subject.n_features,
            subject.fit_intercept,
        )  # fmt: skip
        named = [row for part in self._combinations() for row in part.rows]
        if min(named, default=0) < 0 or max(named, default=0) >= subject.n_rows:
            raise Fails("a combination has rows that the data do not have")
        self._named = np.unique(np.array(named, dtype=np.int64))
        self._rows: dict[tuple[int, int], tuple[Row, Fraction, int]] = {}

    def _combinations(self) -> list[Combination]:
        """Return the combinations of the verdict."""
        raise NotImplementedError

    def _see_all(self, given: Constraints) -> None:
        """Check the constraints of some rows."""
        raise NotImplementedError

    def finish(self) -> None:
        """Check the claims that depend on the named rows."""
        raise NotImplementedError

    def see(self, block: Block, codes: np.ndarray) -> None:
        """Check some rows with these class codes; keep those that the verdict names."""
        given = constraints_of(self.problem, block, codes)
        self._see_all(given)
        ends = np.searchsorted(self._named, [block.first, block.first + len(codes)])
        for row in self.clock.over(self._named[slice(*ends)].tolist()):
            for k in np.flatnonzero(given.place == row - block.first).tolist():
                side = int(self.problem.signs[given.code[k]][given.which[k]][0])
                self._rows[row, int(given.which[k])] = (*given.exact(k), side)

    def named(self, part: Combination) -> list[tuple[Row, Fraction, int]]:
        """Return the constraints of a combination as integers, with their scales and sides."""
        if not part.rows or not len(part.rows) == len(part.which) == len(part.multipliers):
            raise Fails("a combination has no rows, or another number of multipliers than rows")
        if min(part.multipliers) <= 0:
            raise Fails("a multiplier is not positive")
        keys = list(zip(part.rows, part.which, strict=True))
        if any(low >= high for low, high in pairwise(keys)):
            raise Fails("the rows of a combination are not in order")
        for key in keys:
            if key not in self._rows:
                raise Fails(f"row {key[0]} has no such constraint")
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
        if columns and max(columns) >= self.problem.size:
            raise Fails("a space has columns that the data do not have")
        return Membership(space, self.problem)


class SeparableChecker(Checker):
    """Check that every row is on its side by the margin, and that none can be wider."""

    def __init__(self, verdict: Separable, exact: bool, clock: Clock) -> None:
        super().__init__(verdict, exact, clock)
        self.weights = Weights(self.problem, self._weights())
        self.low, self.high = verdict.margin
        if not 0 <= self.low <= self.high or self.low == math.inf:
            raise Fails("the margin interval is malformed")
        plain = self.problem.blocks == 1 and verdict.subject.columns is None
        if not plain and verdict.margin != (0.0, math.inf):
            raise Fails("it has a margin, which needs two sides and no Gram matrix")
        if self.high == math.inf and verdict.support.rows:
            raise Fails("support rows and an upper bound of the margin go together")
        below, above = self.weights.length()
        self._needed = self.low * below * (1 - 1e-15), self.low * above * (1 + 1e-15) + 2.0**-1000

    def _weights(self) -> Row:
        """Return the weights as integers in the same proportion, block after block."""
        coef, intercept = self.verdict.coef, self.verdict.intercept
        d = self.verdict.subject.n_features
        if len(coef) != self.problem.blocks or {len(row) for row in coef} != {d}:
            raise Fails("the number of weights does not match the number of features")
        if len(intercept) != len(coef):
            raise Fails("the number of intercepts differs from the number of rows of weights")
        if not self.problem.intercept and any(intercept):
            raise Fails("there is an intercept despite fit_intercept=False")
        constant = self.problem.intercept
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
        raise Fails(f"row {given.number(k)} is not on its side by the margin")

    def finish(self) -> None:
        """Check that no weights can have a wider margin."""
        if self.high == math.inf:
            return
        d = self.verdict.subject.n_features
        rows = self.named(self.verdict.support)
        sides = [side if self.problem.intercept else 0 for _, _, side in rows]
        if self.problem.intercept and len(set(sides)) != 2:
            raise Fails("the support rows are all on one side")
        features = [({j: m for j, m in row.items() if j < d}, scale) for row, scale, _ in rows]
        square = squared_bound(features, sides, self.verdict.support.multipliers)
        if square > Fraction(self.high) ** 2:
            raise Fails("the support rows allow a wider margin than is claimed")


class BlockedChecker(Checker):
    """Check that witness and spanning combination vanish, and that the latter spans the space."""

    def __init__(self, verdict: Blocked, exact: bool, clock: Clock) -> None:
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
        outside = self._outside(given, self.inside)
        if outside.any():
            raise Fails(f"row {given.number(int(outside.argmax()))} is not in the space")

    def _outside(self, given: Constraints, space: Membership) -> np.ndarray:
        return space.outside(given, np.arange(len(given.place)), self.clock.over)


class QuasiSeparableChecker(OverlappingChecker):
    """Check that the direction is positive on the rows outside the space, the boundary."""

    def __init__(self, verdict: QuasiSeparable, exact: bool, clock: Clock) -> None:
        super().__init__(verdict, exact, clock)
        direction = verdict.direction
        if not direction or not all(0 <= j < self.problem.size for j in direction):
            raise Fails("the direction is empty or has columns that the data do not have")
        for row in clock.over(verdict.space.rows.values()):
            if dot(row, direction):
                raise Fails("the direction is not zero on the boundary")
        self.weights = Weights(self.problem, direction)
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
            raise Fails(f"row {given.number(int(wrong.argmax()))} is on the wrong side")
        if not self.exact:
            return
        unsure = np.flatnonzero(~(value > bound))
        outside = self.inside.outside(given, unsure, self.clock.over)
        for k in self.clock.over(unsure[outside].tolist()):
            if dot(given.exact(k)[0], self.verdict.direction) <= 0:
                raise Fails(f"row {given.number(k)} is not on the right side")
        self.free |= len(unsure) < len(value) or bool(outside.any())
        self.boundary.update((given.block.first + given.place[unsure[~outside]]).tolist())
        if not self.everything.is_everything and self._outside(given, self.everything).any():
            raise Fails("some rows are outside the space of all rows")

    def _check_sign(self, coefficient: Row, part: Combination) -> None:
        """Check that rows sum to a coefficient, modulo the space, with the sign of the direction.

        So it has that sign, or is zero, under all weights with no row on the wrong side.
        """
        rows, space = self.named(part), self.verdict.space
        scales = [m * scale for m, (_, scale, _) in zip(part.multipliers, rows, strict=True)]
        terms = in_lowest_terms(dict(enumerate(scales)))
        total = combination((terms[k], row) for k, (row, _, _) in enumerate(rows))
        wanted, left = space.remainder(coefficient), space.remainder(total)
        times = {Fraction(left.get(j, 0), m) for j, m in wanted.items()}
        side = dot(coefficient, self.verdict.direction)
        if left.keys() != wanted.keys() or len(times) != 1 or min(times) * side <= 0:
            raise Fails("rows do not add up to the coefficient whose sign is claimed")

    def finish(self) -> None:
        """Check also the basis of all rows, the signs and the boundary."""
        super().finish()
        self.spans([row for row, _, _ in self.named(self._basis())], self.verdict.everything)
        kept = self.verdict.everything.coefficients(self.problem.width, self.problem.intercept)
        for j, part in self.clock.over(self.verdict.signs.items()):
            if j not in kept:
                raise Fails("a dependent column has a sign")
            self._check_sign(kept[j], part)
        if not set(self.verdict.unchecked) <= kept.keys() - self.verdict.signs.keys():
            raise Fails("a coefficient whose sign was not checked is dependent, or has a sign")
        if self.exact and (not self.free or sorted(self.boundary) != list(self.verdict.boundary)):
            raise Fails("the boundary rows differ")


CHECKERS: dict[type, type[Checker]] = {
    Separable: SeparableChecker,
    Overlapping: OverlappingChecker,
    QuasiSeparable: QuasiSeparableChecker,
}
