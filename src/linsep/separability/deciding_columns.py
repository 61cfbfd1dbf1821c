"""The columns that decide a verdict: columns that separate alone, and minimal sets.

A column separates two classes alone if the ranges of its numbers have no point in common, and
quasi-separates them if they have one. Sets of columns are decided as all columns are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp

from linsep.batches import Batch, joined as one_batch
from linsep.certificate.constraints import question_of
from linsep.certificate.details import DecidingColumns
from linsep.certificate.integers import in_lowest_terms
from linsep.certificate.verdicts import QuasiSeparable, Separable, Verdict
from linsep.separability.data import (
    Data,
    LocalData,
    dense_floats,
    doubles,
    joined,
    sides_of,
)
from linsep.separability.margin import Separated
from linsep.separability.search import search
from linsep.separability.time_limit import TooLarge, doing, within_time

#: rows of a lane that are looked at before the others: they rule out most columns
FIRST_ROWS = 512


AVerdict = TypeVar("AVerdict", bound=Verdict)


class Ranges(NamedTuple):
    """The smallest and largest number of each column in each group of rows.

    Before any number is seen they are infinity and minus infinity. Where a column certainly does
    not separate the groups, they are minus infinity and infinity.
    """

    low: np.ndarray
    high: np.ndarray

    def apart(self, intercept: bool) -> np.ndarray:
        """Return for each column whether some groups lie below all others, as far as seen."""
        low, high = self.low, self.high
        if intercept:
            low, high = self._in_order()
            return np.any(np.maximum.accumulate(high, axis=0)[:-1] <= low[1:], axis=0)
        below, above = high <= 0, low >= 0
        return np.all(below | above, axis=0) & np.any(below, axis=0) & np.any(above, axis=0)

    def kinds(self, intercept: bool) -> np.ndarray:
        """Return for each column 2 if it separates the groups, 1 if it quasi-separates them, or 0.

        A weight for each group makes its rows score highest if no ranges overlap. Weights that
        differ have no row on the wrong side if some groups lie below all others.
        """
        low, high = self._in_order() if intercept else self
        if intercept:
            strict = (np.maximum.accumulate(high, axis=0)[:-1] < low[1:]).all(axis=0)
            off = low[0] < high.max(axis=0)
        else:  # of more than two groups, two are on the same side of zero
            strict = ((low > 0) | (high < 0)).all(axis=0) & (len(low) == 2)
            off = ((low < 0) | (high > 0)).any(axis=0)
        return np.where(self.apart(intercept) & off, 1 + strict, 0)

    def _in_order(self) -> Ranges:
        """Return the ranges of each column from the lowest to the highest."""
        order = np.argsort(self.high, axis=0, kind="stable")
        second = np.argsort(np.take_along_axis(self.low, order, axis=0), axis=0, kind="stable")
        order = np.take_along_axis(order, second, axis=0)
        return Ranges(*(np.take_along_axis(ends, order, axis=0) for ends in self))


def with_columns_alone(data: Data, verdict: AVerdict) -> AVerdict:
    """Return a separable or quasi-separable verdict with the columns that separate alone.

    Other verdicts, and those on a Gram matrix, are returned as they are, and all of them if the
    time is up.
    """
    subject = verdict.subject
    if subject.columns is not None or not isinstance(verdict, Separable | QuasiSeparable):
        return verdict
    question = question_of(subject)
    if question.blocks == 1:
        group = {1: 0, -1: 1, 0: -1}
        groups = np.array([group[side] for side in sides_of(question).tolist()])
    else:
        groups = np.arange(len(question.signs))
    try:
        found = data.ask(partial(_ranges, groups, question.intercept), _of_all)
    except TooLarge:
        return verdict
    kinds = found.kinds(question.intercept)
    alone, touching = (tuple(np.flatnonzero(kinds == kind).tolist()) for kind in (2, 1))
    columns = DecidingColumns(alone, touching, subject.n_features, subject.names)
    return replace(verdict, deciding_columns=columns)


def _ranges(groups: np.ndarray, intercept: bool, lanes: Iterable[Batch]) -> Ranges:
    """Return the ranges of the columns, which end when no column can separate the groups."""
    found: Ranges | None = None
    left = np.zeros(0, dtype=np.intp)
    for lane in within_time(lanes):
        if found is None:
            shape = groups.max() + 1, lane.X.shape[1]
            found = Ranges(np.full(shape, np.inf), np.full(shape, -np.inf))
            left = np.arange(shape[1])
        for start, stop in ((0, FIRST_ROWS), (FIRST_ROWS, lane.size)):
            if start < lane.size:
                part = lane.between(start, stop)
                found, left = _wider(found, left, groups, intercept, part)
            if not left.size:
                return found
    assert found is not None
    return found


def _wider(
    found: Ranges, left: np.ndarray, groups: np.ndarray, intercept: bool, part: Batch
) -> tuple[Ranges, np.ndarray]:
    """Return the ranges with some more rows, and the columns that still may separate."""
    low, high = found
    if part.X.dtype.kind != "f":  # compared as Python's numbers, exactly
        low, high = low.astype(object), high.astype(object)
    of_row = groups[part.y]
    if sp.issparse(part.X):
        _widen_by_entries(low, high, part.X, of_row)
    else:
        X = part.X if left.size == low.shape[1] else part.X[:, left]
        for g in np.unique(of_row[of_row >= 0]).tolist():
            own = of_row == g
            rows = X if own.all() else X[own]
            low[g, left] = np.minimum(low[g, left], rows.min(axis=0))
            high[g, left] = np.maximum(high[g, left], rows.max(axis=0))
    may = Ranges(low[:, left], high[:, left]).apart(intercept)
    low[:, left[~may]], high[:, left[~may]] = -np.inf, np.inf
    return Ranges(low, high), left[may]


def _widen_by_entries(low: np.ndarray, high: np.ndarray, X: sp.csr_matrix, g: np.ndarray) -> None:
    """Widen ranges by sparse rows of the groups ``g``, -1 for no group."""
    of_entry = np.repeat(g, np.diff(X.indptr))
    used = of_entry >= 0
    cells = of_entry[used] * low.shape[1] + X.indices[used]
    np.minimum.at(low.ravel(), cells, X.data[used])
    np.maximum.at(high.ravel(), cells, X.data[used])
    filled = np.bincount(cells, minlength=low.size).reshape(low.shape)
    zeros = filled < np.bincount(g[g >= 0], minlength=len(low))[:, None]
    low[zeros], high[zeros] = np.minimum(low[zeros], 0.0), np.maximum(high[zeros], 0.0)


def _of_all(parts: list[Ranges]) -> Ranges:
    low, high = zip(*parts, strict=True)
    return Ranges(np.minimum.reduce(low), np.maximum.reduce(high))


def with_sufficient_columns(data: Data, verdict: Verdict) -> Verdict:
    """Return a verdict with a minimal set of columns that suffice for it, and with the columns that
    are in every such set.

    All rows are read into memory. The search begins with the largest weights of the verdict, times
    the range of their columns, and leaves out one column after another. If the time is up, the set
    is the smallest that was found. Verdicts without columns that decide are returned as they are.
    """
    found = verdict.deciding_columns
    if found is None or not isinstance(verdict, Separable | QuasiSeparable):
        return verdict
    alone = found.alone if isinstance(verdict, Separable) else found.touching
    sets = ColumnSearch(data, verdict)
    try:
        sets.read()
        sets.known = [(j,) for j in alone] or [sets.largest_first()]
        if not alone:
            sets.shrink()
        found = replace(found, sufficient=sets.smallest(), minimal=True)
        found = replace(found, needed=sets.needed())
    except TooLarge:
        if sets.known and not found.minimal:
            found = replace(found, sufficient=sets.smallest())
    return replace(verdict, deciding_columns=found)


def all_rows(data: Data) -> Batch:
    """Return all rows, in memory."""
    return one_batch(data.ask(list, joined))


def some_columns(data: Data, rows: Batch, columns: Sequence[int]) -> LocalData:
    """Return all rows of data with some of the columns."""
    some = rows._replace(X=rows.X[:, list(columns)])
    names = None if data.names is None else [data.names[j] for j in columns]
    found = LocalData(lambda: [some], data.classes, some.X.shape, names)
    found.sparse, found.rounded = data.sparse, data.rounded
    return found


class ColumnSearch:
    """The rows of a verdict in memory, decided with some of their columns.

    Attributes
    ----------
    known : list of tuple of int
        Sets of columns that have the same verdict as all columns, each smaller than the one before
        unless it has one column.
    """

    def __init__(self, data: Data, verdict: Separable | QuasiSeparable) -> None:
        self.verdict = verdict
        question = question_of(verdict.subject)
        self.question = question._replace(rounded=data.rounded)
        self.known: list[tuple[int, ...]] = []
        self._data = data

    def read(self) -> None:
        """Read all rows."""
        doing("the columns that suffice")
        self._rows = all_rows(self._data)

    def smallest(self) -> tuple[int, ...]:
        """Return the smallest known set, in order."""
        return tuple(sorted(self.known[-1] if len(self.known[0]) > 1 else self.known[0]))

    def shrink(self) -> None:
        """Leave out columns of the last known set until none can be left out."""
        (columns,), size = self.known, 1
        while size < len(columns) and not self.suffices(columns[:size]):
            size *= 2
        columns = columns[:size]
        self.known.append(columns)
        for j in reversed(columns):
            fewer = tuple(k for k in self.known[-1] if k != j)
            if self.suffices(fewer):
                self.known.append(fewer)

    def needed(self) -> tuple[int, ...]:
        """Return the columns without which all others do not suffice: they are in every set."""
        every = range(self._data.n_features)
        common = set(every).intersection(*self.known)
        return tuple(
            j for j in sorted(common) if not self.suffices(tuple(k for k in every if k != j))
        )

    def suffices(self, columns: tuple[int, ...]) -> bool:
        """Return whether some columns have the same verdict as all."""
        if not columns:
            return False
        doing(f"{len(columns):,} of the columns")
        some = some_columns(self._data, self._rows, columns)
        width = len(columns) + self.question.intercept
        found = search(some, self.question._replace(width=width), None)
        if isinstance(found, Separated):
            return True
        return isinstance(self.verdict, QuasiSeparable) and bool(found.proof.direction)

    def largest_first(self) -> tuple[int, ...]:
        """Return the columns with weights in the verdict, those that matter most first."""
        verdict, d = self.verdict, self._data.n_features
        if isinstance(verdict, QuasiSeparable):
            direction, width = verdict.direction, self.question.width
        else:
            weights = [x for row in verdict.coef for x in row]
            direction, width = in_lowest_terms(dict(enumerate(map(Fraction, weights)))), d
        W = dense_floats(direction, self.question.blocks * width).reshape(-1, width)[:, :d]
        X = doubles(self._rows.X)
        low, high = X.min(axis=0), X.max(axis=0)
        if sp.issparse(X):
            low, high = np.ravel(low.todense()), np.ravel(high.todense())
        with np.errstate(over="ignore", under="ignore"):
            spread = np.abs(W).max(axis=0) * (high / 2 - low / 2)
        used = sorted({j % width for j in direction} - {d})
        return tuple(sorted(used, key=lambda j: -spread[j]))
