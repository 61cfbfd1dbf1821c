"""What readings of all rows tell beside a verdict: whether random labels would be separable, equal
rows on different sides, and columns that decide alone.

Equal rows are found by 64-bit hashes. That different rows share one is unlikely.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from flint import nmod_mat

from linsep.certificate.constraints import Subject, combination
from linsep.certificate.verdicts import DecidingColumns, QuasiSeparable, Separable, Verdict
from linsep.chance.counting import Chance
from linsep.separability.data import Data, sides_of
from linsep.separability.time_limit import TooLarge, within_time
from linsep.separability.working_set import Member

#: most pairs of rows with equal hashes that are compared
MOST_PAIRS = 8
#: columns by which dense rows are compared first
FIRST_COLUMNS = 3
#: prime below 2^31 with which ranks are computed; the order of 2 modulo it is large
PRIME = 2147483629
#: most numbers of rows whose rank is computed
MOST_NUMBERS = 1 << 22
#: distinct rows beside four for each weight that make a separation by chance impossible
ENOUGH = 64
#: least rows that are looked at together
AT_ONCE = 8_192

AVerdict = TypeVar("AVerdict", bound=Verdict)


# Equal rows.


def row_marks(X: Any) -> np.ndarray:
    """Return a 64-bit hash of every row; zeros add nothing, so that storage does not matter.

    The bits of floats are mixed first: small integers end in many zero bits, which multiplication
    by the odd number of a column would keep.
    """
    drawn = np.random.default_rng(20261121).integers(2**63, size=X.shape[1], dtype=np.uint64)
    odd = drawn * np.uint64(2) + np.uint64(1)
    numbers = X.data if sp.issparse(X) else X
    bits = (numbers.astype(np.float64) + 0.0).view(np.uint64)
    bits = bits ^ bits >> np.uint64(32)
    bits *= np.uint64(0x9E3779B97F4A7C15)
    bits ^= bits >> np.uint64(29)
    if not sp.issparse(X):
        return np.einsum("ij,j->i", bits, odd)
    total = np.append(np.uint64(0), np.cumsum(bits * odd[X.indices], dtype=np.uint64))
    return total[X.indptr[1:]] - total[X.indptr[:-1]]


def first_of_each(marks: list[np.ndarray], rows: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return each hash once, and the first row that has it."""
    different, first = np.unique(np.concatenate(marks), return_index=True)
    return different, np.concatenate(rows)[first]


def contradictory_pair(data: Data, subject: Subject) -> tuple[int, int] | None:
    """Return the first pair of equal rows on opposite sides, or None; only for two sides."""
    sides = sides_of(subject)
    for columns in (slice(None),) if data.sparse else (slice(FIRST_COLUMNS), slice(None)):
        parts = [(row_marks(lane.X[:, columns]), sides[lane.y]) for lane in data.lanes()]
        marks, of_row = (np.concatenate(both) for both in zip(*parts, strict=True))
        of_sides = [np.flatnonzero(of_row == side) for side in (1, -1)]
        (above, first), (below, second) = (first_of_each([marks[k]], [k]) for k in of_sides)
        _, i, j = np.intersect1d(above, below, assume_unique=True, return_indices=True)
        if not i.size:
            return None
    pairs = np.sort(np.column_stack([first[i], second[j]]), axis=1)
    for pair in pairs[np.argsort(pairs[:, 1])][:MOST_PAIRS]:
        both = [Member(subject, batch, at, 0).whole[0] for _, batch, at in data.rows(pair)]
        if not combination((1, a) for a in both):
            return int(pair[0]), int(pair[1])
    return None


# Chance.


def chance_of(data: Data, subject: Subject) -> Chance:
    """Return whether random labels of the rows of a question would be separable.

    Reading stops as soon as the number of distinct rows shows that the probability is nearly 0.
    """
    width, intercept = subject.width, subject.fit_intercept
    most = 4 * width + ENOUGH
    marks, rows = np.empty(0, np.uint64), np.empty(0, np.int64)
    for part in (part for lane in data.lanes() for part in lane.cut(max(most, AT_ONCE))):
        chosen = np.flatnonzero(subject.active[part.y])
        X = part.X if len(chosen) == part.size else part.X[chosen]
        marks, rows = first_of_each([marks, row_marks(X)], [rows, part.first + chosen])
        if len(rows) >= most:
            return Chance(most, True, min(width, most) - intercept, True, False, intercept)
    d, known, tied = min(width, len(rows)) - intercept, False, False
    if len(rows) * width <= MOST_NUMBERS:
        parts = [batch.X for batch in data.some(np.sort(rows))]
        X = np.vstack([X.toarray() if sp.issparse(X) else X for X in parts])
        d, known = rank(X, intercept), True
        # some column that is not constant has a value in several rows
        tied = any(1 < len(set(column.tolist())) < len(column) for column in X.T)
        tied = tied and len(rows) > d + intercept
    return Chance(len(rows), False, d, known, tied, intercept)


def rank(X: np.ndarray, intercept: bool) -> int:
    """Return the rank of rows; with an intercept, the rank of ``[X, 1]`` minus 1.

    Modulo a prime it is never more, and less only if the prime divides all largest minors.
    """
    residues = np.hstack([modulo(X), np.ones((len(X), int(intercept)), np.int64)])
    return int(nmod_mat(residues.tolist(), PRIME).rank()) - intercept


def modulo(X: np.ndarray) -> np.ndarray:
    """Return numbers modulo the prime: floats exactly as stored, as integers times powers of 2."""
    if X.dtype == object:
        exact = [Fraction(value) for value in X.ravel().tolist()]
        residues = [m.numerator * pow(m.denominator, -1, PRIME) % PRIME for m in exact]
        return np.array(residues, np.int64).reshape(X.shape)
    mantissas, exponents = np.frexp(X.astype(np.float64))
    whole = np.ldexp(mantissas, 53).astype(np.int64) % PRIME
    used, place = np.unique(exponents, return_inverse=True)
    powers = np.array([pow(2, int(e) - 53, PRIME) for e in used], np.int64)
    return whole * powers[place].reshape(X.shape) % PRIME


# Columns.


def with_columns_alone(data: Data, verdict: AVerdict) -> AVerdict:
    """Return a separable or quasi-separable verdict with the columns that separate alone: those
    whose ranges in the classes do not meet, or touch.

    Other verdicts, and those on a Gram matrix, are returned as they are, and all of them if the
    time is up.
    """
    subject = verdict.subject
    if subject.columns is not None or not isinstance(verdict, Separable | QuasiSeparable):
        return verdict
    groups = np.arange(len(subject.signs))
    if subject.blocks == 1:
        groups = np.choose(sides_of(subject) + 1, [1, -1, 0])
    low = np.full((groups.max() + 1, data.n_features), np.inf)
    high = -low
    try:
        for lane in within_time(data.lanes()):
            of_row = groups[lane.y]
            for g in np.unique(of_row[of_row >= 0]).tolist():
                own = lane.X if (of_row == g).all() else lane.X[of_row == g]
                ends = own.min(axis=0), own.max(axis=0)
                least, most = (end.toarray().ravel() if sp.issparse(end) else end for end in ends)
                low[g], high[g] = np.minimum(low[g], least), np.maximum(high[g], most)
            apart, kinds = _kinds(low, high, subject.fit_intercept)
            if not apart.any():
                break
    except TooLarge:
        return verdict
    alone, touching = (tuple(np.flatnonzero(kinds == kind).tolist()) for kind in (2, 1))
    columns = DecidingColumns(alone, touching, subject.names)
    return replace(verdict, deciding_columns=columns)


def _kinds(low: np.ndarray, high: np.ndarray, intercept: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return for each column, from the smallest and largest numbers of each group: whether some
    groups lie below all others, as far as seen; and 2 if the column separates the groups, 1 if it
    quasi-separates them, or 0.

    A weight for each group makes its rows score highest if no ranges overlap. Weights that differ
    have no row on the wrong side if some groups lie below all others.
    """
    if intercept:
        order = np.lexsort((high, low), axis=0)
        low, high = (np.take_along_axis(ends, order, axis=0) for ends in (low, high))
        top = np.maximum.accumulate(high, axis=0)
        apart = np.any(top[:-1] <= low[1:], axis=0)
        strict = np.all(top[:-1] < low[1:], axis=0)
        off = low[0] < top[-1]
    else:  # of more than two groups, two are on the same side of zero
        below, above = high <= 0, low >= 0
        apart = np.all(below | above, axis=0) & np.any(below, axis=0) & np.any(above, axis=0)
        strict = np.all((low > 0) | (high < 0), axis=0) & (len(low) == 2)
        off = np.any((low < 0) | (high > 0), axis=0)
    return apart, np.where(apart & off, 1 + strict, 0)
