"""The rows on two sides of a hyperplane, with their weights; equal rows are one group."""

from __future__ import annotations

from fractions import Fraction
from math import gcd
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep._system.interrupts import cached_property
from linsep.batches import Batch, joined
from linsep.certificate.canonical import Block
from linsep.certificate.constraints import Row, Subject, Weights, constraints_of, dot, whole_numbers
from linsep.errors import DataError
from linsep.separability.data import Data, sides_of
from linsep.separability.programs import equilibrated
from linsep.separability.time_limit import within_time
from linsep.separability.working_set import Member, table_of


class Asked(NamedTuple):
    """What is asked: whether rows on the hyperplane are errors, and the weights of all rows.

    The weights are whole numbers times a unit; None if each row counts 1.
    """

    strict: bool = True
    weights: list[int] | None = None
    unit: Fraction = Fraction(1)


def asked(strict: bool, weights: Any, n_rows: int) -> Asked:
    """Return what is asked, with weights of any kind of number; raise DataError unless there is one
    finite weight of at least 0 per row, and one of them is positive.
    """
    if weights is None:
        return Asked(strict)
    given = np.asarray(weights)

    def fault(code: str, text: str, **fields: Any) -> DataError:
        return DataError(f"sample_weight {text}", code=code, option="sample_weight", **fields)

    if given.shape != (n_rows,):
        raise fault("shape", f"has shape {given.shape}: pass a number for each of {n_rows:,} rows.")
    try:
        whole, unit = whole_numbers(given if given.dtype.kind in "iu" else given.astype(object))
    except (AttributeError, TypeError, ValueError, OverflowError):
        raise fault("not-finite", "has values that are not finite numbers.") from None
    common, row = gcd(*whole), int(np.argmin(whole))
    if whole[row] < 0:
        raise fault("out-of-range", f"of row {row + 1} is negative: pass 0 or more.", row=row + 1)
    if not common:
        raise fault("no-rows", "is 0 in every row: set a positive weight in some row.")
    return Asked(strict, [m // common for m in whole], unit * common)


class Hyperplane(NamedTuple):
    """Weights in whole numbers, the total weight of their errors, and the rows they err on."""

    weights: Row
    errors: int
    rows: tuple[int, ...]


class WeightedRows:
    """Rows of two sides that are all in memory, as floats for guesses and as whole numbers for
    proofs; those of weight 0 are left out.

    ``table`` holds a sign-flipped row [x; 1] of each group, scaled, in coordinates that
    :meth:`unscaled` undoes; ``weights`` are the total weights of the groups, all multiples of
    ``step``; ``copies`` their row numbers, in order.
    """

    def __init__(self, data: Data, subject: Subject, asked: Asked) -> None:
        self.subject, self.strict = subject, asked.strict
        every = joined([*within_time(data.lanes())])
        counts = np.array(asked.weights or [1] * every.size, dtype=object)
        self.numbers = np.flatnonzero(subject.active[every.y] & (counts != 0))
        self.batch = Batch(every.X[self.numbers], every.y[self.numbers])
        self.sides = sides_of(subject)[self.batch.y]
        self.of_row = dict(zip(self.numbers.tolist(), counts[self.numbers].tolist(), strict=True))
        every_member = [Member(subject, self.batch, place, 0) for place in range(self.batch.size)]
        groups: dict[Any, list[int]] = {}
        for place, member in enumerate(every_member):
            row = zip(*(part.tolist() for part in member.row), strict=True)
            groups.setdefault((member.group, *((j, x) for j, x in row if x)), []).append(place)
        self.members = [every_member[places[0]] for places in groups.values()]
        self.copies = [self.numbers[places].tolist() for places in groups.values()]
        self.weights = [sum(self.of_row[row] for row in rows) for rows in self.copies]
        self.step = gcd(*self.of_row.values()) or 1
        self._shift = np.zeros(subject.width)
        A = table_of(self.members, subject)
        if subject.fit_intercept and not data.sparse and groups:  # far from zero, rows are alike
            whole = A.toarray()
            with np.errstate(all="ignore"):
                mean = (whole[:, :-1] * whole[:, -1:]).mean(axis=0)
                self._shift[:-1] = np.where(np.isfinite(mean), mean, 0.0)
                A = sp.csr_matrix(whole - np.outer(whole[:, -1], self._shift))
        self.table, _, self._powers = equilibrated(A)

    def __len__(self) -> int:
        return len(self.weights)

    @cached_property
    def costs(self) -> np.ndarray:
        """The weights of the groups as floats, the largest being 1."""
        top = max(self.weights, default=1)
        return np.array([float(Fraction(c, top)) for c in self.weights])

    def whole(self, group: int) -> Row:
        """Return a sign-flipped row in whole numbers, up to a positive factor."""
        return self.members[group].whole[0]

    def unscaled(self, w: np.ndarray) -> Row:
        """Return weights of the table's columns as weights of the rows, in whole numbers."""
        whole, _ = whole_numbers(np.nan_to_num(np.ldexp(w, self._powers)))
        shift, scale = whole_numbers(self._shift)
        moved = scale * sum(m * s for m, s in zip(whole, shift, strict=True))
        found = [m * moved.denominator for m in whole]
        found[-1] -= moved.numerator
        return {j: m for j, m in enumerate(found) if m}

    def judged(self, weights: Row) -> Hyperplane:
        """Return the exact errors of weights in whole numbers."""
        if not weights:  # all rows lie on no hyperplane at all
            rows = tuple(sorted(self.of_row)) * self.strict
            return Hyperplane(weights, sum(self.of_row.values()) * self.strict, rows)
        given = constraints_of(self.subject, Block(self.batch.X, self.batch.y, 0), self.batch.y)
        value, bound = Weights(self.subject, weights).products(given)
        wrong = value < -bound
        for k in np.flatnonzero(np.abs(value) <= bound).tolist():
            wrong[k] = dot(given.exact(k)[0], weights) < self.strict
        rows = tuple(self.numbers[wrong].tolist())
        return Hyperplane(weights, sum(self.of_row[row] for row in rows), rows)
