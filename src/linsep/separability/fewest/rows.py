"""The rows on two sides of a hyperplane, with their weights; equal rows are one group."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from math import gcd
from typing import Any, NamedTuple

import numpy as np

from linsep.batches import Batch, joined
from linsep.certificate.canonical import Block
from linsep.certificate.constraints import Question, Weights, constraints_of
from linsep.certificate.integers import Row, dot, whole_numbers
from linsep.separability.data import (
    Data,
    constraint,
    constraints,
    doubles,
    exact_row,
    sides_of,
)
from linsep.separability.programs import equilibrated
from linsep.separability.time_limit import within_time


class Hyperplane(NamedTuple):
    """Weights in whole numbers, the total weight of their errors, and the rows they err on."""

    weights: Row
    errors: int
    rows: tuple[int, ...]


class WeightedRows:
    """Rows that are all in memory, as floats for guesses and as whole numbers for proofs.

    Parameters
    ----------
    data : Data
    question : Question
        Of two sides.
    weights : sequence of int, or None
        The weight of each row of the data; None for 1. Rows of weight 0 are left out.
    strict : bool
        Whether a row on the hyperplane is an error.

    Attributes
    ----------
    table : csr_matrix of shape (groups, weights)
        The sign-flipped rows [x; 1], scaled, in coordinates that :meth:`unscaled` undoes.
    weights : list of int
        The total weight of each group.
    copies : list of list of int
        The row numbers of each group, in order.
    step : int
        All weights are multiples of it, and so are sums of errors.
    """

    def __init__(
        self, data: Data, question: Question, weights: list[int] | None, strict: bool
    ) -> None:
        self.question, self.strict = question, strict
        every = joined([*within_time(data.lanes())])
        counts = np.ones(every.size, dtype=object) if weights is None else np.array(weights, object)
        self.numbers = np.flatnonzero(question.active[every.y] & (counts != 0))
        self.batch = Batch(every.X[self.numbers], every.y[self.numbers])
        self.of_row = dict(zip(self.numbers.tolist(), counts[self.numbers].tolist(), strict=True))
        groups: dict[Any, list[int]] = {}
        for place, side in enumerate(self.sides().tolist()):
            row = zip(*(part.tolist() for part in exact_row(self.batch.X, place)), strict=True)
            groups.setdefault((side, *((j, x) for j, x in row if x)), []).append(place)
        self.first = [places[0] for places in groups.values()]
        self.copies = [self.numbers[places].tolist() for places in groups.values()]
        self.weights = [sum(self.of_row[row] for row in rows) for rows in self.copies]
        self.step = gcd(*self.of_row.values()) or 1
        self._exact: dict[int, tuple[Row, Fraction]] = {}
        first = self.batch.rows(np.array(self.first, dtype=int))
        self._shift = np.zeros(question.width)
        if question.intercept and not data.sparse and first.size:  # far from zero, rows are alike
            with np.errstate(all="ignore"):
                mean = doubles(first.X).mean(axis=0)
            self._shift[:-1] = np.where(np.isfinite(mean), mean, 0.0)
            first = first._replace(X=doubles(first.X) - self._shift[:-1])
        A = constraints(question, first, np.arange(first.size), np.zeros(first.size, dtype=int))
        self.table, _, self._powers = equilibrated(A)

    def sides(self) -> np.ndarray:
        """Return the side of each row, 1 or -1."""
        of_rows: np.ndarray = sides_of(self.question)[self.batch.y]
        return of_rows

    def __len__(self) -> int:
        return len(self.weights)

    @cached_property
    def costs(self) -> np.ndarray:
        """The weights of the groups as floats, the largest being 1."""
        top = max(self.weights, default=1)
        return np.array([float(Fraction(c, top)) for c in self.weights])

    def exact(self, group: int) -> tuple[Row, Fraction]:
        """Return a sign-flipped row in whole numbers, and the fraction to multiply them by."""
        if group not in self._exact:
            self._exact[group] = constraint(self.question, self.batch, self.first[group], 0)
        return self._exact[group]

    def whole(self, group: int) -> Row:
        """Return a sign-flipped row in whole numbers, up to a positive factor."""
        return self.exact(group)[0]

    def unscaled(self, w: np.ndarray) -> Row:
        """Return weights of the table's columns as weights of the rows, in whole numbers."""
        whole, _ = whole_numbers(np.ldexp(w, self._powers.astype(int)))
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
        block = Block(self.batch.X, self.batch.y, 0)
        given = constraints_of(self.question, block, self.batch.y)
        value, bound = Weights(self.question, weights).products(given)
        wrong = value < -bound
        for k in np.flatnonzero(np.abs(value) <= bound).tolist():
            product = dot(given.exact(k)[0], weights)
            wrong[k] = product < 0 or (self.strict and product == 0)
        rows = self.numbers[wrong].tolist()
        return Hyperplane(weights, sum(self.of_row[row] for row in rows), tuple(sorted(rows)))
