"""Rows whose labels deserve a second look, with reasons: rows in contradictions, rows that alone
keep the classes from being separable, and rows that make the margin narrow.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from linsep._system.threads import one_blas_thread
from linsep.certificate.verdicts import Separable, table_html
from linsep.drawing import display
from linsep.errors import ArgumentError
from linsep.estimators.frames import with_features
from linsep.layout import table_lines
from linsep.separability.data import data_of, weights_of
from linsep.separability.deciding import decide, subject_of
from linsep.separability.fewest import Search
from linsep.separability.time_limit import Task, limited
from linsep.separability.weighted_rows import WeightedRows, asked
from linsep.sources.base import Source
from linsep.validation.checks import row_labels
from linsep.words import counted

#: most rows whose removal is tried, one at a time
MOST_TRIED = 12


class SuspiciousLabel(NamedTuple):
    """A row, its label, how suspicious it is from 0 to 1, and why.

    ``row`` counts the rows of the data as given from 0. ``contradictions`` is the number of
    contradictions found that contain it, and ``smallest`` the number of rows of the smallest of
    them, or 0.
    """

    row: int
    label: Any
    score: float
    contradictions: int
    smallest: int
    reason: str


class SuspiciousLabels(list[SuspiciousLabel]):
    """Suspicious rows, the most suspicious first; printed as a table, with rows counted from 1 or
    with ``row_labels``, the index of the data frame.
    """

    row_labels: np.ndarray | None = None

    def name(self, one: SuspiciousLabel) -> str:
        return f"{one.row + 1:,}" if self.row_labels is None else str(self.row_labels[one.row])

    def table(self) -> list[list[str]]:
        lines = [[self.name(one), str(one.label), f"{one.score:.2f}", one.reason] for one in self]
        return [["row", "label", "score", "why"], *lines]

    def scores(self, n_rows: int) -> np.ndarray:
        """Return the score of each of ``n_rows`` rows; 0 for rows that are not suspicious."""
        found = np.zeros(n_rows)
        found[[one.row for one in self]] = [one.score for one in self]
        return found

    def plot(self, **kwargs: Any) -> Any:
        """Draw the scores, by :class:`linsep.plot.SuspiciousLabelsDisplay`."""
        return display("SuspiciousLabelsDisplay").from_labels(self, **kwargs)

    def __str__(self) -> str:
        lines = table_lines(self.table(), [False] * 4, sentences=True)
        return "\n".join(lines) if self else "no suspicious labels"

    def _repr_html_(self) -> str:
        return table_html(self.table())


def suspicious_labels(
    X: Any,
    y: Any = None,
    *,
    fit_intercept: bool = True,
    sample_weight: Any = None,
    time_limit: float = 10.0,
) -> SuspiciousLabels:
    """Rank the rows whose labels deserve a second look.

    For classes that overlap, a row's score is the mean of two numbers: its share in the cheapest
    fractional cover of the contradictions found (sets of rows that no hyperplane gets all right),
    and whether the best hyperplane found misclassifies it. For separable classes, it is the
    fraction of the widest margin that the row costs: 1 - (margin) / (margin without the row).

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (rows, features), or source
    y : array of shape (rows,), not for a source
        With several classes, each is compared with the rest, and the highest score is used.
    fit_intercept : bool, default=True
    sample_weight : array of shape (rows,), or None
        The cost of an error in each row; rows of weight 0 are ignored.
    time_limit : float, default=10.0
        Seconds for the search. A longer search finds more contradictions.

    Returns
    -------
    SuspiciousLabels
        A list of (row, label, score, contradictions, smallest, reason), the most suspicious first.

    Raises
    ------
    ValueError
        As :func:`linsep.separation` does.

    Notes
    -----
    Where classes overlap, correctly labeled rows have high scores too. The covers are due to
    Amaldi, Pfetsch and Trotter (2003).
    """
    if isinstance(X, str):
        raise ArgumentError("suspicious_labels takes rows or a source, not a file name.")
    weights = weights_of(X) if y is None and sample_weight is None else sample_weight
    given, (X, y) = X, with_features(X, y)
    data = data_of(X, y)
    wanted, labels = asked(True, weights, data.n_rows), data.labels()
    codes = np.concatenate([lane.y for lane in data.lanes()])
    whole, best = subject_of(data, fit_intercept), dict[int, SuspiciousLabel]()
    positive = labels[1:] if len(labels) == 2 else labels
    with one_blas_thread:
        for label in positive:
            rest = tuple(other for other in labels if other != label)
            rows = WeightedRows(data, whole.of_sides((label,), rest), wanted)
            for one in _of_sides(rows, Task(time_limit / len(positive))):
                best[one.row] = max(best.get(one.row, one), one, key=lambda one: one.score)
    numbers = X.numbers(data.n_rows).tolist() if isinstance(X, Source) else range(data.n_rows)
    ranked = SuspiciousLabels(
        one._replace(row=numbers[one.row], label=labels[codes[one.row]])
        for one in sorted(best.values(), key=lambda one: (-one.score, -one.contradictions, one.row))
    )
    ranked.row_labels = row_labels(given)
    return ranked


def _of_sides(rows: WeightedRows, task: Task) -> Iterator[SuspiciousLabel]:
    search = Search(rows)
    with limited(task):
        search.run()
    if not search.best.errors:
        yield from _of_margin(rows, task)
        return
    cover, wrong, found = search.pool.packing()[1], set(search.best.rows), search.pool.found
    sizes = defaultdict[int, list[int]](list)  # of the contradictions of every group of equal rows
    for one in found:
        for g in one:
            sizes[g].append(len(one))
    common = [g for g in np.argsort(-cover, kind="stable").tolist() if len(sizes[g]) == len(found)]
    alone = [g for g in common[:MOST_TRIED] if len(rows.copies[g]) == 1
             and isinstance(_verdict(rows, task, None, rows.copies[g][0]), Separable)]  # fmt: skip
    for g, copies in enumerate(rows.copies):
        count, least, is_wrong = len(sizes[g]), min(sizes[g], default=0), copies[0] in wrong
        score = (min(float(cover[g]), 1.0) + is_wrong) / 2
        why = [f"in {counted(count, 'contradiction')}, the smallest of {least} rows"] * bool(count)
        why += ["an error of the best hyperplane found"] * is_wrong
        if g in alone:
            score, why = 1.0, ["without it a hyperplane separates the classes"]
        if score > 0:
            for row in copies:
                yield SuspiciousLabel(row, None, score, count, least, "; ".join(why))


def _of_margin(rows: WeightedRows, task: Task) -> Iterator[SuspiciousLabel]:
    """Yield the rows that bound the margin of separable classes, with their cost."""
    widest = _verdict(rows, task, "max")
    if not isinstance(widest, Separable):
        return
    low = widest.margin[0]
    shares = sorted(zip(widest.support.shares(), widest.support.rows, strict=True), reverse=True)
    for _, place in shares[:MOST_TRIED]:
        row = int(rows.numbers[place])
        without = _verdict(rows, task, "max", row)
        if isinstance(without, Separable) and without.margin[0] > low * (1 + 1e-5):
            reason = f"without it the margin is {without.margin[0]:.4g} instead of {low:.4g}"
            yield SuspiciousLabel(row, None, 1 - low / without.margin[0], 0, 0, reason)


def _verdict(rows: WeightedRows, task: Task, margin: str | None, without: int = -1) -> Any:
    kept = rows.numbers != without
    side, seconds = rows.sides[kept], task.until - time.monotonic()
    if seconds <= 0 or len(np.unique(side)) < 2:
        return None
    data = data_of(rows.batch.X[kept], side)
    return decide(data, rows.subject.fit_intercept, margin, task=Task(seconds))
