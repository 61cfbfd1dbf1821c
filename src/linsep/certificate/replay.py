"""Replaying a perceptron in integers, independently of the search for cycles."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from linsep.certificate.blocks import Reading

if TYPE_CHECKING:
    from linsep.certificate.cycles import Cycle


class Row(NamedTuple):
    """The columns and values of a row, and the index of its label among the sorted labels."""

    columns: list[int]
    values: list[int]
    code: int


class Rows(NamedTuple):
    """All rows as integers, or None if some value has more digits; and their counts."""

    rows: list[Row] | None
    n_rows: int
    n_features: int
    n_classes: int


def read_rows(cycle: Cycle, X: Any, y: Any, over: Callable[[Iterable[Any]], Iterable[Any]]) -> Rows:
    """Read every value times ``base ** power``; base 10 takes floats as the decimals they print.

    ``over`` wraps the loop over the blocks of rows. No rows are kept if they are not those of the
    cycle by their counts.
    """
    reading, rows = Reading(X, y), list[Row]()
    base, power, whole = cycle.base, cycle.power, True
    for block in over(reading.blocks()):
        found = reading.canonical
        if found.n_rows > cycle.n_rows or found.n_features > cycle.n_features:
            continue
        for place, number in enumerate(block.numbers.tolist()):
            columns, given = block.row(place)
            exact = given.tolist() if base == 2 or given.dtype.kind in "iu" else map(str, given)
            values = [Fraction(x) * base**power for x in exact]
            whole = whole and all(x.denominator == 1 for x in values)
            rows.append(Row(columns.tolist(), [int(x) for x in values], number))
    found, labels = reading.canonical, reading.canonical.labels
    codes = {label: code for code, label in enumerate(sorted(labels))}
    coded = [row._replace(code=codes[labels[row.code]]) for row in rows]
    return Rows(coded if whole else None, found.n_rows, found.n_features, len(labels))


def replay(
    cycle: Cycle, rows: list[Row], over: Callable[[Iterable[Row]], Iterable[Row]]
) -> tuple[list[list[int]], int]:
    """Replay the passes of a cycle; return the final weights (or scores) and the mistakes.

    ``over`` wraps the loop over the rows, and may raise to end it.
    """
    vectors, mistakes = cycle.vectors(), 0
    for _ in range(cycle.passes):
        deferred = []  # updates of the batch rule, made after the pass
        for i, row in enumerate(over(rows)):
            update = _update(cycle, [_score(cycle, vector, i, row) for vector in vectors], row.code)
            mistakes += bool(update)
            if cycle.update == "single":
                _add(cycle, vectors, row, update)
            else:
                deferred.append((row, update))
        for row, update in deferred:
            _add(cycle, vectors, row, update)
    return vectors, mistakes


def _score(cycle: Cycle, vector: list[int], i: int, row: Row) -> int:
    """Return the score of row ``i`` by one weight vector."""
    if cycle.gram:
        return vector[i]
    score = cycle.one * vector[-1]
    for j, x in zip(row.columns, row.values, strict=True):
        score += x * vector[j]
    return score


def _update(cycle: Cycle, scores: list[int], code: int) -> dict[int, int]:
    """Return {vector: sign with which the row is added to it}, empty if it is no mistake."""
    if cycle.positive:
        y = (code in cycle.positive) - (code in cycle.negative)
        # The sides on which a score of zero is no mistake.
        spared = {"mistake": (), "negative": (-1,), "correct": (-1, 1)}[cycle.zero]
        right = y * scores[0] > 0 or (not scores[0] and y in spared)
        return {0: y} if y and not right else {}
    best = [k for k in range(len(scores)) if scores[k] == max(scores)]
    if cycle.tie == "random" and code in best:  # a mistake if a wrong class may be drawn
        best.remove(code)
        best = best or [code]
    predicted = best[-1] if cycle.tie == "positive" else best[0]
    return {} if predicted == code else {code: 1, predicted: -1}


def _add(cycle: Cycle, vectors: list[list[int]], row: Row, update: dict[int, int]) -> None:
    """Add ``step`` times the row to each vector, with its sign."""
    for k, sign in update.items():
        for j, x in zip(row.columns, row.values, strict=True):
            vectors[k][j] += sign * cycle.step * x
        if cycle.one:
            vectors[k][-1] += sign * cycle.step * cycle.one
