"""The rows on two sides of a hyperplane, with their weights; equal rows are one group."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from math import gcd
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.batches import Batch
from linsep.certificate.constraints import Question
from linsep.certificate.integers import Row, dot, whole_numbers
from linsep.separability.data import Data, constraint, dense_floats, doubles, values
from linsep.separability.evidence import column_numbers, row_marks
from linsep.separability.time_limit import within_time

#: columns whose mean is more than this many standard deviations from zero are centered
FAR = 4.0


def _of_question(question: Question, lanes: Iterable[Batch]) -> list[tuple[np.ndarray, Batch]]:
    """Return the numbers of the rows of a question, and the rows, of each lane."""
    found = []
    for lane in within_time(lanes):
        places = np.flatnonzero(question.active[lane.y])
        if places.size:
            found.append((lane.first + places, lane.rows(places)))
    return found


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
    table : array or csr_matrix of shape (groups, weights)
        The sign-flipped rows [x; 1] of length 1, in coordinates that :meth:`unscaled` undoes.
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
        parts = _of_question(question, data.lanes())
        numbers = np.concatenate([numbers for numbers, _ in parts])
        batches = [batch for _, batch in parts]
        stack = sp.vstack if data.sparse else np.concatenate
        X = stack([batch.X for batch in batches])
        codes = np.concatenate([batch.y for batch in batches])
        self.of_row = dict.fromkeys(numbers.tolist(), 1) if weights is None else {
            row: weights[row] for row in numbers.tolist() if weights[row]
        }  # fmt: skip
        kept = np.array([row in self.of_row for row in numbers.tolist()])
        X = sp.csr_matrix(X[kept]) if data.sparse else X[kept]
        self.numbers, self.batch = numbers[kept], Batch(X, codes[kept])
        first, group = self._groups(data.rounded)
        self.copies: list[list[int]] = [[] for _ in first]
        for row, g in zip(self.numbers.tolist(), group.tolist(), strict=True):
            self.copies[g].append(row)
        self.weights = [sum(self.of_row[row] for row in rows) for rows in self.copies]
        self.step = gcd(*self.of_row.values()) or 1
        self.first = first
        self.table, self._shift, self._power = self._scaled(first)
        self._exact: dict[int, tuple[Row, Fraction]] = {}

    def _groups(self, rounded: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the place of the first row of each group, and the group of each row."""
        X, signs = self.batch.X, self.sides()
        if rounded:
            seen: dict[Any, int] = {}
            keys = [(s, *row) for s, row in zip(signs.tolist(), X.tolist(), strict=True)]
            place = np.array([seen.setdefault(key, k) for k, key in enumerate(keys)])
        else:
            marks = row_marks(X, column_numbers(X.shape[1])) * np.uint64(2) + (signs > 0)
            _, first, inverse = np.unique(marks, return_index=True, return_inverse=True)
            place = first[inverse]
            same = _equal_rows(X, place) & (signs == signs[place])
            place = np.where(same, place, np.arange(len(place)))  # another row, the same hash
        first, group = np.unique(place, return_inverse=True)
        return first, group

    def _scaled(self, first: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return the table, what was subtracted from the columns, and their powers of two."""
        question, d = self.question, self.question.width - self.question.intercept
        X = doubles(self.batch.X[first])
        side = self.sides()[first].astype(float)
        shift = np.zeros(question.width)
        sparse = sp.issparse(X)
        if not sparse and question.intercept and len(X):
            with np.errstate(all="ignore"):
                mean, spread = X.mean(axis=0), X.std(axis=0)
            far = np.isfinite(mean) & (np.abs(mean) > FAR * spread)
            shift[:d] = np.where(far, mean, 0.0)
            X = X - shift[:d]
        most = abs(X).max(axis=0)
        most = most.toarray().ravel() if sparse else most
        power = np.zeros(question.width, dtype=int)
        power[:d] = np.where(most > 0, np.frexp(most)[1], 0)
        factor = np.ldexp(1.0, -power)
        if sparse:
            parts = [X @ sp.diags(factor[:d])]
            parts += [sp.csr_matrix(np.ones((X.shape[0], 1)))] if question.intercept else []
            A = sp.csr_matrix(sp.diags(side) @ sp.hstack(parts, format="csr"))
            length = np.sqrt(np.ravel(A.multiply(A).sum(axis=1)))
            A = sp.csr_matrix(sp.diags(1.0 / np.where(length > 0, length, 1.0)) @ A)
            return A, shift, power
        A = np.ldexp(X, -power[:d])
        A = np.column_stack([A, np.ones(len(A))]) if question.intercept else A
        A = A * side[:, None]
        length = np.linalg.norm(A, axis=1, keepdims=True)
        return A / np.where(length > 0, length, 1.0), shift, power

    def sides(self) -> np.ndarray:
        """Return the side of each row, 1 or -1."""
        signs = np.array([int(C[0, 0]) if len(C) else 0 for C in self.question.signs])
        of_rows: np.ndarray = signs[self.batch.y]
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
            self._exact[group] = constraint(self.question, self.batch, int(self.first[group]), 0)
        return self._exact[group]

    def whole(self, group: int) -> Row:
        """Return a sign-flipped row in whole numbers, up to a positive factor."""
        return self.exact(group)[0]

    def unscaled(self, w: np.ndarray) -> Row:
        """Return weights of the table's columns as weights of the rows, in whole numbers."""
        whole, _ = whole_numbers(np.ldexp(w, -self._power))
        if not self._shift.any():
            return {j: m for j, m in enumerate(whole) if m}
        shift, scale = whole_numbers(self._shift)
        moved = scale * sum(m * s for m, s in zip(whole, shift, strict=True))
        below = moved.denominator
        found = {j: m * below for j, m in enumerate(whole) if m}
        last = self.question.width - 1
        found[last] = found.get(last, 0) - moved.numerator
        return {j: m for j, m in found.items() if m}

    def judged(self, weights: Row) -> Hyperplane:
        """Return the exact errors of weights in whole numbers."""
        if not weights:  # all rows lie on no hyperplane at all
            rows = tuple(sorted(self.of_row)) * self.strict
            return Hyperplane(weights, sum(self.of_row.values()) * self.strict, rows)
        floats = dense_floats(weights, self.question.size)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            found = values(self.question, doubles(self.batch.X), self.batch.y, floats)
        order = np.argsort(found.row, kind="stable")
        value, bound = found.value[order], found.bound[order]
        wrong = value < -bound
        for k in np.flatnonzero(np.abs(value) <= bound).tolist():
            product = dot(constraint(self.question, self.batch, k, 0)[0], weights)
            wrong[k] = product < 0 or (self.strict and product == 0)
        rows = self.numbers[wrong].tolist()
        return Hyperplane(weights, sum(self.of_row[row] for row in rows), tuple(sorted(rows)))


def _equal_rows(X: Any, place: np.ndarray) -> np.ndarray:
    if sp.issparse(X):
        apart = (X - X[place]).tocsr()
        apart.eliminate_zeros()
        equal: np.ndarray = np.diff(apart.indptr) == 0
        return equal
    return np.all(X[place] == X, axis=1)
