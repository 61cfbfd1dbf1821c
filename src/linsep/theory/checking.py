"""Checks of verdicts, from their evidence alone: nothing here knows how they were found.

In whole numbers nothing is rounded. Values that floats are sure of, by the bound of
``questions.values``, are not computed again: that is a proof, too.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from linsep.theory.data import Data
from linsep.theory.fingerprint import fingerprint
from linsep.theory.questions import Question, multinomial, scans, two_sides
from linsep.theory.row_space import rank_at_least, to_whole
from linsep.theory.spans import Span
from linsep.theory.verdicts import (
    Blocked,
    Combination,
    Overlapping,
    QuasiSeparable,
    Separable,
    Subject,
    Undecided,
    Verdict,
)
from linsep.theory.whole import Row, combination, constraint, dense_floats, dot

#: a sum may be that much smaller than its terms, and not zero, in a check that is not exact
TOLERANCE = 10**7


class Check(NamedTuple):
    """Whether a claim holds, and why not; true or false in an ``if``."""

    holds: bool
    reason: str

    def __bool__(self) -> bool:
        return self.holds


class Fails(Exception):
    """The claim does not hold."""


def check(verdict: Verdict, data: Data, exact: bool) -> Check:
    """Whether a verdict holds for the data."""
    how = "in exact arithmetic" if exact else "in float64; exact=True makes it a proof"
    try:
        if isinstance(verdict, Undecided):
            raise Fails("nothing is claimed: the question is undecided")
        _same_data(verdict.subject, data)
        question = question_of(verdict.subject, data)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # bounds see to it
            KINDS[type(verdict)](verdict, data, question, exact)
    except Fails as failure:
        return Check(False, f"It does not hold: {failure}.")
    return Check(True, f"It holds: {verdict.kind}, checked over {data.n_rows:,} rows {how}.")


def refused(why: str) -> Check:
    """What a check says of data that the claim cannot be about."""
    return Check(False, f"It does not hold: {why}")


def question_of(subject: Subject, data: Data) -> Question:
    """The question that a verdict answers, for data with the same classes."""
    if subject.multinomial:
        return multinomial(data, subject.fit_intercept)
    code = {label: k for k, label in enumerate(data.labels())}
    positive = [code[label] for label in subject.positive]
    negative = [code[label] for label in subject.negative]
    return two_sides(data, positive, negative, subject.fit_intercept)


def _same_data(subject: Subject, data: Data) -> None:
    shape = (subject.n_rows, subject.n_features)
    if (data.n_rows, data.n_features) != shape:
        raise Fails(
            f"it is about {shape[0]:,} rows of {shape[1]:,} features, these are "
            f"{data.n_rows:,} of {data.n_features:,}"
        )
    if data.labels() != list(subject.classes):
        raise Fails("the labels are others")
    if data.names and subject.names and tuple(data.names) != subject.names:
        raise Fails("the features have other names")
    if fingerprint(data) != subject.fingerprint:
        raise Fails("it is about other rows or labels, or the same in another order")


def _separable(verdict: Separable, data: Data, question: Question, exact: bool) -> None:
    weights = _weights(verdict, question)
    w = dense_floats(weights, question.size)
    length = float(np.linalg.norm(w[: data.n_features])) * (1 + 1e-12)
    low, high = verdict.margin
    if not 0 <= low <= high or low == math.inf:
        raise Fails("the margin interval is none")
    if question.blocks > 1 and verdict.margin != (0.0, math.inf):
        raise Fails("several classes together have no margin")
    squares = sum(m * m for j, m in weights.items() if j < data.n_features)
    for piece, values in scans(data, question, w, low * length):
        needed = low * length
        for i in np.flatnonzero(values.value - values.bound <= needed).tolist():
            row, which = int(values.row[i]), int(values.which[i])
            floats = needed * (1 - 1e-11) - values.bound[i]  # they cannot tell more
            fine = not values.value[i] < floats
            if exact:
                a, power = constraint(question, piece, row, which)
                product = dot(a, weights)
                distance = Fraction(product) * Fraction(2) ** power
                fine = product > 0 and distance**2 >= Fraction(low) ** 2 * squares
            if not fine:
                raise Fails(f"row {piece.numbers[row]} is not on its side by the margin")
    if np.isfinite(high):
        _margin_bound(verdict, data, question)


def _weights(verdict: Separable, question: Question) -> Row:
    """The weights in the same proportion as whole numbers, one block after another."""
    if len(verdict.coef) != len(verdict.intercept):
        raise Fails("there are not as many intercepts as rows of weights")
    if not question.intercept and any(verdict.intercept):
        raise Fails("there is an intercept where none was asked for")
    blocks = list(zip(verdict.coef, verdict.intercept, strict=True))
    w = [x for row, b in blocks for x in (*row, *([b] if question.intercept else []))]
    try:
        exact = {j: Fraction(x) for j, x in enumerate(w)}
    except (ValueError, OverflowError):
        raise Fails("a weight is not a finite number") from None
    if len(w) != question.size:
        raise Fails("the weights are not as many as the features ask for")
    if not any(exact.values()):
        raise Fails("all weights are zero")
    return to_whole(exact)


def _margin_bound(verdict: Separable, data: Data, question: Question) -> None:
    """No weights do better than the shortest combination that is given."""
    rows = _rows(verdict.support, data, question)
    high = verdict.margin[1]
    if (
        square_of(rows, verdict.support.multipliers, question, data.n_features)
        > Fraction(high) ** 2
    ):
        raise Fails("the support rows allow a wider margin than is claimed")


def square_of(
    rows: list[tuple[tuple[Row, int], int]],
    multipliers: Sequence[int],
    question: Question,
    n_features: int,
) -> Fraction:
    """The squared length, over the number of sides, of a combination of rows (row, exponent), side.

    The multipliers are taken as shares of their sum; with an intercept, of the sum of each side.
    """
    lowest = min(power for (_, power), _ in rows)
    sums: dict[int, int] = {}
    totals: dict[int, Row] = {}
    for ((row, power), side), m in zip(rows, multipliers, strict=True):
        group = side if question.intercept else 0
        sums[group] = sums.get(group, 0) + m
        total = totals.setdefault(group, {})
        for j, x in row.items():
            if j < n_features:
                total[j] = total.get(j, 0) + (m * x << (power - lowest))
    if question.intercept and len(sums) != 2:
        raise Fails("the support rows are all of one side")
    whole = math.prod(sums.values())
    point = combination((whole // sums[group], total) for group, total in totals.items())
    square = sum(x * x for x in point.values())
    return Fraction(square, (whole * len(sums)) ** 2) * Fraction(4) ** lowest


def _rows(given: Combination, data: Data, question: Question) -> list[tuple[tuple[Row, int], int]]:
    """The rows of a combination, in its order, in whole numbers, and their sides."""
    if not given.rows or not len(given.rows) == len(given.which) == len(given.multipliers):
        raise Fails("a combination has no rows, or not as many multipliers as rows")
    if min(given.multipliers) <= 0:
        raise Fails("a multiplier is not positive")
    if min(given.rows) < 0 or max(given.rows) >= data.n_rows:
        raise Fails("a combination has rows that the data do not have")
    wanted = np.unique(np.array(given.rows))
    places = {n: (piece.only(_one(piece.codes, at)), 0) for n, piece, at in data.rows(wanted)}
    found = []
    for row, which in zip(given.rows, given.which, strict=True):
        piece, at = places[row]
        signs = question.coefficients[piece.codes[at]]
        if not 0 <= which < len(signs):
            raise Fails(f"row {row} takes no part in the question")
        found.append((constraint(question, piece, at, which), int(signs[which][0])))
    return found


def _one(codes: np.ndarray, place: int) -> np.ndarray:
    chosen = np.zeros(len(codes), dtype=bool)
    chosen[place] = True
    return chosen


def _vanishes(given: Combination, data: Data, question: Question, exact: bool) -> list[Row]:
    """The rows of a combination in whole numbers, after a check that they add up to zero."""
    rows = [row for row, _ in _rows(given, data, question)]
    lowest = min(power for _, power in rows)
    terms = [
        (m << (power - lowest), row)
        for m, (row, power) in zip(given.multipliers, rows, strict=True)
    ]
    left = combination(terms)
    if left and not exact:
        sizes = combination((m, {j: abs(x) for j, x in row.items()}) for m, row in terms)
        left = {j: x for j, x in left.items() if abs(x) * TOLERANCE > sizes[j]}
    if left:
        raise Fails("a combination that should be zero is not")
    return [row for row, _ in rows]


def _blocked(verdict: Blocked, data: Data, question: Question, exact: bool) -> Span:
    """The common part: the witness, and the space that the spanning rows span."""
    _vanishes(verdict.witness, data, question, exact)
    rows = _vanishes(verdict.spanning, data, question, exact)
    space, columns = verdict.space, sorted(verdict.space.rows)
    if columns and not 0 <= columns[0] <= columns[-1] < question.size:
        raise Fails("the space has columns that the data do not have")
    if any(space.remainder(row) for row in rows):
        raise Fails("the spanning rows are not in the space that is claimed")
    if not rank_at_least(rows, columns, len(columns)):
        raise Fails("the spanning rows do not span the space that is claimed")
    return Span(space, question)


def _overlapping(verdict: Overlapping, data: Data, question: Question, exact: bool) -> None:
    span = _blocked(verdict, data, question, exact)
    if len(verdict.space.rows) == question.size:
        return
    for piece, values in scans(data, question, np.zeros(question.size)):
        wrong = span.outside(piece, values, np.arange(len(values.row)))
        if wrong.any():
            row = piece.numbers[values.row[wrong.argmax()]]
            raise Fails(f"row {row} is not in the space of the spanning rows")


def _quasi(verdict: QuasiSeparable, data: Data, question: Question, exact: bool) -> None:
    span = _blocked(verdict, data, question, exact)
    if not verdict.direction or not all(0 <= j < question.size for j in verdict.direction):
        raise Fails("the direction is none")
    w = dense_floats(verdict.direction, question.size)
    boundary: list[int] = []
    free = 0
    for piece, values in scans(data, question, w):
        sure = values.value > values.bound
        for i in np.flatnonzero(values.value < -values.bound).tolist():
            raise Fails(f"row {piece.numbers[values.row[i]]} is on the wrong side")
        doubtful = np.flatnonzero(~sure)
        outside = span.outside(piece, values, doubtful)
        for i in doubtful[outside].tolist():
            a, _ = constraint(question, piece, int(values.row[i]), int(values.which[i]))
            if dot(a, verdict.direction) <= 0:
                raise Fails(f"row {piece.numbers[values.row[i]]} is not on the right side")
        free += int(sure.sum() + outside.sum())
        boundary += piece.numbers[values.row[doubtful[~outside]]].tolist()
    for pivot, entries in verdict.space.rows.items():
        line = {pivot: Fraction(1), **entries}
        if sum(x * verdict.direction.get(j, 0) for j, x in line.items()):
            raise Fails("the direction is not zero on the boundary")
    everything = Span(verdict.everything, question)
    for piece, values in scans(data, question, w):
        if everything.outside(piece, values, np.arange(len(values.row))).any():
            raise Fails("some rows are outside of the space that is said to hold all")
    _spans(verdict, data, question)
    _signs(verdict, data, question)
    if not free or sorted(set(boundary)) != list(verdict.boundary):
        raise Fails("the boundary rows are others")


def _spans(verdict: QuasiSeparable, data: Data, question: Question) -> None:
    """The rows that are said to span the space of all rows do."""
    columns = sorted(verdict.everything.rows)
    rows, which = zip(*verdict.basis, strict=True) if verdict.basis else ((), ())
    found = _rows(Combination(rows, which, (1,) * len(rows)), data, question)
    if not rank_at_least([row for (row, _), _ in found], columns, len(columns)):
        raise Fails("some rows are said to span more than they do")


def _signs(verdict: QuasiSeparable, data: Data, question: Question) -> None:
    """Each coefficient that is said to have one sign is what its rows add up to."""
    kept = verdict.everything.coefficients(question.width, question.intercept)
    for j, given in verdict.signs.items():
        if j not in kept:
            raise Fails("a dependent column is said to have a sign")
        rows = _rows(given, data, question)
        lowest = min(power for (_, power), _ in rows)
        total = combination(
            (m << (power - lowest), row)
            for m, ((row, power), _) in zip(given.multipliers, rows, strict=True)
        )
        wanted, left = verdict.space.remainder(kept[j]), verdict.space.remainder(total)
        side = sum(x * verdict.direction.get(i, 0) for i, x in kept[j].items())
        times = {left.get(i, 0) / x for i, x in wanted.items()}
        if left.keys() != wanted.keys() or len(times) != 1 or min(times) * side <= 0:
            raise Fails("rows do not add up to the coefficient that is said to have one sign")


KINDS: dict[type, Callable[..., None]] = {
    Separable: _separable,
    Overlapping: _overlapping,
    QuasiSeparable: _quasi,
}
