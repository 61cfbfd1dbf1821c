"""Passes until there is a reason to stop. It knows no rule, no storage and no file format."""

from collections.abc import Iterator
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from linsep.compiled.rows import Csr, Dense
from linsep.compiled.schemes import ERRORS, MISTAKES, UPDATES
from linsep.compiled.steps import Watch
from linsep.compiled.walk import walk
from linsep.engine.feed import Feed, Visit
from linsep.engine.order import slices
from linsep.engine.state import State
from linsep.engine.stop import StopReason
from linsep.errors import DataError, LinsepError

# About a twentieth of a second of work between two looks at Ctrl-C and the progress bar.
VALUES_PER_SLICE = 1 << 24


class NotFinite(LinsepError):
    """A row's score is not a finite number, or a weight at the end.

    ``row`` is the number of the row in the data, None if unknown or if it is a weight.
    """

    def __init__(self, row: int | None):
        super().__init__("a score is not a finite number")
        self.row = row


class Plan(NamedTuple):
    """When to stop: after ``max_iter`` passes, or ``patience`` passes without a better score on
    the held-out rows (None looks at no held-out rows).
    """

    max_iter: int
    patience: int | None
    tie: str


class Progress:
    """Where a run is, to be read from another thread while it goes on.

    ``tally`` holds the running pass's counts of mistakes, updates and errors.
    """

    def __init__(self) -> None:
        self.pass_number = self.rows = 0
        self.total: int | None = None
        self.tally = np.zeros(3, dtype=np.int64)
        self.reading = self.learning = 0.0

    def begin(self, pass_number: int, total: int | None) -> None:
        """Start counting a pass over ``total`` rows (None while unknown)."""
        self.pass_number, self.rows, self.total = pass_number, 0, total
        self.tally = np.zeros(3, dtype=np.int64)

    @property
    def seconds(self) -> dict[str, float]:
        """Where the time went: waiting for rows, and walking over them."""
        return {"read": self.reading, "learn": self.learning}

    @property
    def mistakes(self) -> int:
        """Mistakes in the running pass so far."""
        return int(self.tally[MISTAKES])

    @property
    def updates(self) -> int:
        """Updates in the running pass so far."""
        return int(self.tally[UPDATES])


class PassReport(NamedTuple):
    """What one pass did. ``errors`` are rows predicted wrongly before they were learnt;
    ``validation_score`` is the accuracy on the held-out rows afterwards, None without any.
    """

    number: int
    rows: int
    mistakes: int
    updates: int
    errors: int
    validation_score: float | None
    stop_reason: StopReason | None


def walk_visit(state: State, rule: Any, scheme: Any, visit: Visit, progress: Progress) -> None:
    """Learn from the rows of one visit, in slices; raises NotFinite at a row without a score."""
    state.grow(visit.n_features)
    started = perf_counter()
    for piece in slices(visit.order, rows_per_slice(visit.rows, state.n_columns)):
        done = walk(
            scheme, rule, state.W, state.bias, visit.rows, visit.codes, visit.importance, piece,
            progress.tally,
        )  # fmt: skip
        progress.rows += done
        if done < piece.size:
            raise NotFinite(None if visit.first is None else visit.first + int(piece[done]))
    progress.learning += perf_counter() - started


def rows_per_slice(rows: Dense | Csr, columns: int) -> int:
    """How many rows make a slice, from their average length."""
    if isinstance(rows, Dense):
        width = rows.values.shape[1]
    else:
        width = rows.values.size / max(1, rows.starts.size - 1)
    return max(1, int(VALUES_PER_SLICE / (width + 1) / columns))


def accuracy(state: State, visits: Iterator[Visit], tie: str) -> float:
    """Share of the visited rows that the weights, as they are, predict rightly."""
    progress, scheme = Progress(), state.scheme(tie, count_errors=True)
    for visit in visits:
        walk_visit(state, Watch(0.0), scheme, visit, progress)
    if progress.rows == 0:
        raise DataError(
            "No row is held out for early stopping; raise validation_fraction or bring more rows."
        )
    return 1.0 - progress.tally[ERRORS] / progress.rows


def timed(visits: Iterator[Visit], progress: Progress) -> Iterator[Visit]:
    """The same visits, the time spent waiting for them added to ``progress.reading``."""
    started = perf_counter()
    for visit in visits:
        progress.reading += perf_counter() - started
        yield visit
        started = perf_counter()
    progress.reading += perf_counter() - started


def passes(
    state: State, rule: Any, feed: Feed, plan: Plan, progress: Progress
) -> Iterator[PassReport]:
    """Pass after pass over ``feed``, changing ``state``; a report after each.

    The last report carries the stop reason. On Ctrl-C a report of the unfinished pass is yielded
    (stop reason ``interrupted``) before KeyboardInterrupt goes on its way. With ``patience``, the
    weights of the best held-out score are put back when the passes end, unless they converged:
    then the last weights are what the stop reason speaks of.
    """
    best_score, best_weights, since_best = -1.0, None, 0

    def report(score: float | None, reason: StopReason | None) -> PassReport:
        mistakes, updates, errors = (int(n) for n in progress.tally)
        return PassReport(number, progress.rows, mistakes, updates, errors, score, reason)

    try:
        for number in range(plan.max_iter):
            try:
                score = one_pass(state, rule, feed, plan, progress, number)
            except KeyboardInterrupt:
                state.n_updates += progress.updates
                yield report(None, StopReason.INTERRUPTED)
                raise
            state.n_updates += progress.updates
            since_best += 1
            if score is not None and score > best_score:
                best_score, best_weights, since_best = score, state.W.copy(), 0
            reason = None
            if progress.mistakes == 0:
                reason, best_weights = StopReason.CONVERGED, None
            elif plan.patience is not None and since_best >= plan.patience:
                reason = StopReason.EARLY_STOP
            elif number + 1 == plan.max_iter:
                reason = StopReason.MAX_ITER
            # An infinite weight of a feature that no later row has shows in no score.
            if reason is not None and not np.isfinite([state.W.min(), state.W.max()]).all():
                raise NotFinite(None)
            yield report(score, reason)
            if reason is not None:
                return
    finally:
        if best_weights is not None:
            state.W = best_weights


def one_pass(
    state: State, rule: Any, feed: Feed, plan: Plan, progress: Progress, number: int
) -> float | None:
    """Learn from every row once; returns the accuracy on the held-out rows, if they matter."""
    progress.begin(number, feed.n_rows)
    scheme = state.scheme(plan.tie, count_errors=number == 0)
    for visit in timed(feed.visits(number), progress):
        walk_visit(state, rule, scheme, visit, progress)
    if progress.rows == 0:
        raise DataError(
            "No row is left to learn from: all have weight 0 or are held out; lower "
            "validation_fraction or check the weights."
        )
    return None if plan.patience is None else accuracy(state, feed.held_out(), plan.tie)
