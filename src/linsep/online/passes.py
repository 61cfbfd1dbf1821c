"""Run passes until a stopping criterion holds, for any rule, storage and file format."""

from collections.abc import Callable, Iterator
from enum import StrEnum
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from linsep.compiled.core.loop import MISTAKES, UPDATES, pass_loop
from linsep.compiled.core.weights import Last
from linsep.errors import DataError, hint
from linsep.interrupts import checkpoint, held
from linsep.online.cycle_detection import cycle_detection_for
from linsep.online.keeping import KeepLast, count_changes
from linsep.online.learner import (
    TOO_LARGE,
    BadRow,
    Learner,
    State,
    Unlearnable,
    infinite_weight,
    too_large,
)
from linsep.online.rows.array import RowBatch, RowStream, longest_row, rows_per_slice, slices


class StopReason(StrEnum):
    """Why a run ended; compares equal to its name, e.g. ``"converged"``."""

    CONVERGED = "converged"
    CYCLE = "cycle"
    MAX_ITER = "max_iter"
    EARLY_STOP = "early_stop"
    INTERRUPTED = "interrupted"

    @property
    def sentence(self) -> str:
        """The reason in one sentence."""
        return _SENTENCES[self]


#: the command line adds other advice than Python
ALL_PASSES = "all passes allowed were made and the last still had mistakes"
_SENTENCES = {
    StopReason.CONVERGED: "a whole pass made no mistake: its weights separate the rows",
    StopReason.CYCLE: "the weights came back, so no number of passes will separate these rows",
    StopReason.MAX_ITER: (f"{ALL_PASSES}; linsep.separation(X, y) says if rows are separable"),
    StopReason.EARLY_STOP: (
        "held-out rows were predicted no better for some passes, or a callback asked"
    ),
    StopReason.INTERRUPTED: "it was interrupted; what was learnt until then is kept",
}


class Plan(NamedTuple):
    """Stopping criteria: ``max_iter`` passes, or ``patience`` passes without a better score on the
    held-out rows (None: no held-out rows).
    """

    max_iter: int
    patience: int | None
    tie: str


class Progress:
    """Progress of a run, to be read by another thread.

    ``tally`` holds the running pass's counts of mistakes, updates and errors, ``curve`` the
    mistakes of the passes before it.
    """

    def __init__(self) -> None:
        self.pass_number = self.rows = 0
        self.total: int | None = None
        #: the :class:`linsep.certificate.cycles.Cycle` that ended the run, if one did
        self.cycle: Any = None
        self.tally = np.zeros(3, dtype=np.int64)
        self.curve: list[int] = []
        self.reading = self.learning = 0.0
        #: "reading" before the first pass, "learning", "measuring" after the last
        self.stage = "reading"

    def begin(self, pass_number: int, total: int | None) -> None:
        """Start a pass over ``total`` rows (None if unknown)."""
        if self.stage == "learning":
            self.curve.append(self.mistakes)
        self.stage = "learning"
        self.pass_number, self.rows, self.total = pass_number, 0, total
        self.tally = np.zeros(3, dtype=np.int64)

    @property
    def seconds(self) -> dict[str, float]:
        """Return the seconds spent reading and learning."""
        return {"read": self.reading, "learn": self.learning}

    @property
    def mistakes(self) -> int:
        """Mistakes in the current pass so far."""
        return int(self.tally[MISTAKES])

    @property
    def updates(self) -> int:
        """Updates in the current pass so far."""
        return int(self.tally[UPDATES])


class Scores(NamedTuple):
    """Scores of the weights kept after a pass: accuracy on held-out and training rows, and the
    learner's criterion; None if not computed.
    """

    held_out: float | None
    training: float | None
    criterion: float | None


NO_SCORES = Scores(None, None, None)


class PassReport(NamedTuple):
    """Report of one pass. ``errors`` counts rows predicted wrongly before they were learnt; for the
    scores see :class:`Scores`.
    """

    number: int
    rows: int
    mistakes: int
    updates: int
    errors: int
    validation_score: float | None
    training_score: float | None
    criterion: float | None
    stop_reason: StopReason | None


class Run(NamedTuple):
    """State, learner and keeper of weights of one run."""

    state: State
    learner: Learner
    keeping: KeepLast

    def remember(self) -> Callable[[], None]:
        """Copy the state and return a function that restores it."""
        weights, kept = self.state.remember(), self.keeping.remember()

        def restore() -> None:
            weights()
            kept()

        return restore


def learn_batch(run: Run, scheme: Any, row_batch: RowBatch, progress: Progress) -> None:
    """Learn the rows of a batch, in slices; raise Unlearnable for the first invalid row."""
    state, learner, keeping = run
    state.grow(row_batch.n_features)
    started, longest = perf_counter(), longest_row(row_batch.rows)
    most = [learner.rows_at_once, keeping.rows_at_once(state, longest)]
    at_once = min([rows_per_slice(row_batch.rows, state.n_columns), *(m for m in most if m)])
    for piece in slices(row_batch.order, at_once):
        checkpoint()
        changes = len(piece) * count_changes(state, longest)
        keep = Last() if learner.by_pass else keeping.compiled(state, changes)
        rule = learner.rule(state)
        with held():  # weights and counts must stay consistent
            done = pass_loop(
                scheme, rule, keep, state.W, state.bias, row_batch.rows,
                row_batch.codes, row_batch.importance, piece, state.rounds, progress.tally,
            )  # fmt: skip
            state.rounds += 0 if learner.by_pass else done
            progress.rows += done
            keeping.take(state)
        learner.check_updates(state)
        if done < piece.size:
            row, first = int(piece[done]), row_batch.first
            message = learner.complaint(row_batch.rows, row)
            bad = too_large(row_batch.rows, row) if message == TOO_LARGE else None
            raise Unlearnable(None if first is None else first + row, message, bad)
    progress.learning += perf_counter() - started


def checked(row_batches: Iterator[RowBatch], learner: Learner) -> Iterator[RowBatch]:
    """Yield the batches after checking their rows; raise Unlearnable for an invalid one."""
    for row_batch in row_batches:
        try:
            learner.check(row_batch.rows)
        except BadRow as bad:
            row = None if row_batch.first is None else row_batch.first + bad.row
            raise Unlearnable(row, str(bad), bad) from None
        yield row_batch


def accuracy(run: Run, row_batches: Iterator[RowBatch], tie: str) -> float:
    """Return the accuracy of the weights kept on these rows."""
    errors, rows = run.keeping.errors(run.state, row_batches, tie)
    return 1.0 - errors / rows


def held_out_accuracy(run: Run, stream: RowStream, tie: str) -> float:
    """Return the weighted accuracy of the weights kept on the held-out rows."""
    errors, total = run.keeping.weighed_errors(run.state, stream.held_out(), tie)
    if total == 0:
        raise DataError(
            "No row is held out for early stopping",
            hint("raise {}", validation_fraction=None),
            "bring more rows",
        )
    return 1.0 - errors / total


def timed(row_batches: Iterator[RowBatch], progress: Progress, reads: bool) -> Iterator[RowBatch]:
    """Yield the batches and add the time spent waiting for them to reading or learning."""
    started = perf_counter()

    def add() -> None:
        waited = perf_counter() - started
        progress.reading += waited if reads else 0.0
        progress.learning += 0.0 if reads else waited

    for row_batch in row_batches:
        add()
        yield row_batch
        started = perf_counter()
    add()


def passes(run: Run, stream: RowStream, plan: Plan, progress: Progress) -> Iterator[PassReport]:
    """Run passes over ``stream``, which change the state; yield a report after each.

    The last report has the stop reason. On Ctrl-C a report of the unfinished pass, if any row was
    learnt, is yielded with stop reason ``interrupted`` before KeyboardInterrupt is raised. With
    ``patience``, the weights of the best held-out score are restored at the end, unless the run
    converged, which refers to the last weights.
    """
    state, best_score, put_back, since_best = run.state, -1.0, None, 0
    alone = plan.patience is None  # else earlier weights may be restored
    detection = (
        cycle_detection_for(state, run.learner, run.keeping, stream, plan.tie) if alone else None
    )

    def report(scores: Scores, reason: StopReason | None) -> PassReport:
        mistakes, updates, errors = (int(n) for n in progress.tally)
        return PassReport(number, progress.rows, mistakes, updates, errors, *scores, reason)

    try:
        for number in range(plan.max_iter):
            try:
                scores = one_pass(run, stream, plan, progress, number)
            except KeyboardInterrupt:
                state.n_updates += progress.updates
                if progress.rows or number == 0:  # else the pass had not begun
                    yield report(NO_SCORES, StopReason.INTERRUPTED)
                raise
            state.n_updates += progress.updates
            since_best += 1
            if scores.held_out is not None and scores.held_out > best_score:
                best_score, put_back, since_best = scores.held_out, run.remember(), 0
            reason = None
            if progress.mistakes == 0:
                reason, put_back = StopReason.CONVERGED, None
            elif detection and (cycle := detection.after(state, stream, number + 1)):
                reason, progress.cycle = StopReason.CYCLE, cycle
            elif plan.patience is not None and since_best >= plan.patience:
                reason = StopReason.EARLY_STOP
            elif number + 1 == plan.max_iter:
                reason = StopReason.MAX_ITER
            elif run.learner.restarts(state):
                run.keeping.start_again(state)
                best_score, put_back, since_best = -1.0, None, 0
            # An infinite weight of a feature that no later row has does not affect any score.
            if reason is not None and not np.isfinite([state.W.min(), state.W.max()]).all():
                raise infinite_weight(state.W, stream.of_features)
            yield report(scores, reason)
            if reason is not None:
                return
    finally:
        if put_back is not None:
            put_back()


def one_pass(run: Run, stream: RowStream, plan: Plan, progress: Progress, number: int) -> Scores:
    """Learn from every row once; return the scores of the weights kept, if needed."""
    progress.begin(number, stream.n_rows)
    state, learner, keeping = run
    scheme = state.scheme(plan.tie, count_errors=number == 0)
    row_batches = timed(stream.row_batches(number), progress, stream.reads)
    for row_batch in checked(row_batches, learner) if number == 0 else row_batches:
        learn_batch(run, scheme, row_batch, progress)
    check_some_rows(progress)
    progress.tally[UPDATES] += close_pass(run, scheme)
    keeping.close_pass(state, stream.learnt, plan.tie)
    criterion = learner.criterion(state)
    if plan.patience is None:
        return Scores(None, None, criterion)
    held_out, learnt = held_out_accuracy(run, stream, plan.tie), stream.learnt()
    return Scores(held_out, None if learnt is None else accuracy(run, learnt, plan.tie), criterion)


def check_some_rows(progress: Progress) -> None:
    """Raise DataError if no row was learnt in a pass."""
    if progress.rows == 0:
        raise DataError(
            "No row is left to learn from, for all have weight 0 or are held out",
            hint("lower {}", validation_fraction=None),
            "check the weights",
        )


def close_pass(run: Run, scheme: Any) -> int:
    """Apply the update at the end of a pass, if any; return the number of machines it changed."""
    state, learner, keeping = run
    if not learner.by_pass:
        return 0
    keep = keeping.compiled(state, state.W.size)
    with held():
        made = learner.close_pass(state, scheme, keep)
        keeping.take(state)
        state.rounds += 1
        if state.multiclass == "ovo" and state.n_classes > 2:
            state.per_machine("rounds")[:] = state.rounds
    return made
