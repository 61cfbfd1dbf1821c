"""A fit in progress: passes over the rows, and a report after each, until one says why it ends."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from linsep._system.interrupts import interruption_point, interrupts_deferred
from linsep.batches import NO_IMPORTANCE
from linsep.compiled.loop import MISTAKES, ROWS, UPDATES, pass_loop
from linsep.compiled.rows import Block
from linsep.compiled.weights import Last
from linsep.errors import DataError, hint
from linsep.estimators.reading import StopReason
from linsep.learners.state import SCALE, KeepLast, KeepVote, Learner, State, Unlearnable
from linsep.rows.arrays import RowBatch, row_lengths, rows_per_slice, slices

#: accuracy on held-out and on training rows, and the learner's criterion; None if not computed
Scores = tuple[float | None, float | None, float | None]
NO_SCORES: Scores = (None, None, None)
NO_CRITERION = np.array([None])


class PassReport(NamedTuple):
    """Report of one pass. ``errors`` counts rows predicted wrongly before the model was updated
    with them; the scores are of the weights kept after it.
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


@dataclass
class Run:
    """The result of a fit, also of one in progress.

    It is ``fresh`` if it started from the learner's initial weights and had the same parameters
    throughout, ``weighted`` if rows or classes have weights, ``left_out`` if a training row was
    never learned. ``open_mistakes`` are those of partial_fit, ``mixture`` is of a fit in shards,
    and ``trial`` has the passes without the held-out rows, see :func:`all_passes`.
    """

    state: State
    learner: Learner
    keeping: KeepLast
    reports: list[PassReport] = field(default_factory=list)
    seed: int | None = None
    fresh: bool = True
    weighted: bool = False
    left_out: bool = False
    open_mistakes: int | None = None
    cycle: Any = None
    mixture: Any = None
    trial: list[PassReport] | None = None

    @property
    def scored(self) -> list[PassReport]:
        reports = self.reports if self.trial is None else self.trial
        return [report for report in reports if report.validation_score is not None]

    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients (columns, features) and intercepts for prediction."""
        return self.state.split(self.keeping.weights(self.state))

    def obstacle(self) -> str | None:
        """Return why no theorem applies to it; None if one may."""
        if self.fresh and not self.weighted:
            return None
        return (
            "it mixed other weights, or had initial ones, weighted rows or parameters that changed"
        )

    def snapshot(self) -> "Run":
        return replace(self, state=self.state.snapshot(), reports=list(self.reports))


@dataclass
class Course:
    """A fit in progress, whose counts another thread may read, between two slices of rows.

    ``patience`` is the most passes without a better score on held-out rows, ``last`` the reason of
    a run that makes all passes. ``number`` passes are complete; the next has counted a ``tally``,
    and is ``learned`` if only its scores are missing. The ``stage`` is "reading" before the first
    pass, then "learning", in the end "measuring".
    """

    run: Run
    stream: Any
    tie: str
    max_iter: int = 1
    saving: Any = None
    patience: int | None = None
    last: StopReason = StopReason.MAX_ITER
    number: int = 0
    seconds: dict[str, float] = field(default_factory=partial(dict, read=0.0, learn=0.0))
    learned: bool = field(default=False, init=False)
    best: tuple[float, State] | None = field(default=None, init=False)
    since_best: int = field(default=0, init=False)
    detection: Any = field(default=None, init=False)
    tally: np.ndarray = field(default_factory=partial(np.zeros, 4, np.int64), init=False)
    stage: str = field(default="reading", init=False)

    @property
    def rows(self) -> int:
        return self.tally.item(ROWS)

    @property
    def mistakes(self) -> int:
        return self.tally.item(MISTAKES)

    def begin(self) -> None:
        self.stage = "learning"
        self.scheme = self.run.state.scheme(self.tie, count_errors=self.number == 0)

    def report(self, scores: Scores, reason: StopReason | None) -> PassReport:
        mistakes, updates, errors, rows = self.tally.tolist()
        report = PassReport(self.number, rows, mistakes, updates, errors, *scores, reason)
        self.run.reports.append(report)
        return report

    def finish(self, scores: Scores) -> PassReport:
        """Add the report of a pass, with the reason if the run ends, and begin to count the next;
        keep the weights of the best score.
        """
        run, state, reason = self.run, self.run.state, None
        mistakes, updates, _, _ = self.tally.tolist()
        if mistakes and self.detection is not None:
            run.cycle = self.detection.after(state, self.stream, self.number + 1)
        # The weights of this pass are scored before the learner may start again from zero.
        self.since_best += 1
        if scores[0] is not None and (self.best is None or scores[0] > self.best[0]):
            self.best, self.since_best = (scores[0], state.snapshot()), 0
        if not mistakes and (updates or np.any(state.counts.get("spared", 0))):
            reason = StopReason.CLEAN
        elif not mistakes:
            reason, self.best = StopReason.CONVERGED, None
        elif run.cycle is not None:
            reason = StopReason.CYCLE
        elif self.patience is not None and self.since_best >= self.patience:
            reason = StopReason.EARLY_STOP
        elif self.number + 1 == self.max_iter:
            reason = self.last
        elif run.learner.restarts(state):
            self.best, self.since_best = None, 0
        if reason is not None and not np.isfinite([state.W.min(), state.W.max()]).all():
            raise Unlearnable(None, f"A weight overflows float64; {SCALE}")
        report = self.report(scores, reason)
        self.number, self.learned, self.tally = self.number + 1, False, np.zeros_like(self.tally)
        return report


#: most changes of a vote that a slice of rows may cause
CHANGES_AT_ONCE = 1 << 20


def learn_batch(course: Course, row_batch: RowBatch) -> None:
    """Train on the rows of a batch, in slices; raise Unlearnable for the first invalid row."""
    run, tally, rows = course.run, course.tally, row_batch.rows
    state, learner, keeping = run.state, run.learner, run.keeping
    if course.number == 0:
        try:
            learner.check(rows)
        except Unlearnable as bad:
            raise bad.beyond(row_batch.first) from None
    state.grow(row_batch.n_features)
    started = perf_counter()
    changes = 0  # in a vote, the most weights that one row may change
    if isinstance(keeping, KeepVote):
        longest = int(row_lengths(rows).max(initial=0))
        changes = (longest + 1) * min(state.n_columns, state.n_classes)
    at_once = min(rows_per_slice(rows, state.n_columns), CHANGES_AT_ONCE // max(1, changes))
    at_once = max(1, min(at_once, learner.rows_at_once or at_once))
    if isinstance(rows, Block):  # few rows, whose changes are collected at their end
        at_once = len(row_batch.order)
    for piece in slices(row_batch.order, at_once):
        interruption_point()
        rest = piece
        while rest.size:
            # Where a pass makes one update, the versions in between are not to be kept.
            keep = Last() if learner.by_pass else keeping.compiled(state, rest.size * changes)
            rule = learner.rule(state)
            with interrupts_deferred():  # weights and counts must stay consistent
                before = tally.item(UPDATES)
                done = pass_loop(
                    course.scheme, rule, keep, state.W, state.bias, rows, row_batch.codes,
                    row_batch.importance, rest, state.rounds, tally,
                )  # fmt: skip
                state.n_updates += tally.item(UPDATES) - before
                if not learner.by_pass:
                    state.rounds += done
                    keeping.take(state)
            learner.check_updates(state)
            rest = rest[done:]
            if isinstance(rows, Block) and rows.waiting[0] >= 0:
                row_batch.provide(rest)
            elif rest.size:
                raise learner.complaint(rows, int(rest[0])).beyond(row_batch.first)
    course.seconds["learn"] += perf_counter() - started


def close_pass(course: Course) -> None:
    """Make the update at the end of a pass, if any."""
    state, learner, keeping = course.run.state, course.run.learner, course.run.keeping
    if not learner.by_pass:
        return
    keep = keeping.compiled(state, state.W.size)
    with interrupts_deferred():
        made = learner.close_pass(state, course.scheme, keep)
        keeping.take(state)
        state.rounds, state.n_updates = state.rounds + 1, state.n_updates + made
        course.tally[UPDATES] += made
        if state.multiclass == "ovo" and state.n_classes > 2:
            state.per_machine("rounds")[:] = state.rounds


def nothing_learned() -> DataError:
    """Return the error of a pass that used no row."""
    return DataError(
        "No row is left for training: all rows have weight 0 or are held out",
        hint("lower {}", validation_fraction=None), "check the weights", code="no-rows",
    )  # fmt: skip


def one_pass(course: Course) -> Scores:
    """Train on every row once; return the scores of the kept weights, if needed."""
    run, stream, seconds = course.run, course.stream, course.seconds
    course.begin()
    if not course.learned:
        began = perf_counter() - seconds["learn"]
        try:
            for row_batch in stream.row_batches(course.number, course.rows):
                if course.saving is not None and course.saving.due:
                    course.saving.save(course)
                learn_batch(course, row_batch)
        finally:
            waited = perf_counter() - began - seconds["learn"]
            seconds["read" if stream.reads else "learn"] += waited
        if not course.tally.item(ROWS):
            raise nothing_learned()
        close_pass(course)
        course.learned = True
    run.keeping.close_pass(run.state, stream.training_rows, course.tie)
    criterion = run.state.counts.get("last_criterion", NO_CRITERION).tolist()[0]
    if course.patience is None:
        return None, None, criterion
    held_out = run.keeping.accuracy(run.state, stream.held_out(), course.tie)
    if held_out is None:
        raise DataError(
            "No row is held out for early stopping", hint("raise {}", validation_fraction=None),
            "add rows", code="too-few-rows", option="validation_fraction",
        )  # fmt: skip
    if (learned := stream.training_rows()) is None:
        return held_out, None, criterion
    unweighted = (batch._replace(importance=NO_IMPORTANCE) for batch in learned)
    return held_out, run.keeping.accuracy(run.state, unweighted, course.tie), criterion


def passes(course: Course, one: Callable[[Course], Scores] | None = None) -> Iterator[PassReport]:
    """Run passes, by ``one`` or :func:`one_pass`, which change the state of the run; yield a report
    after each, which has the stop reason if it is the last of the fit.

    Ctrl-C adds a report of the unfinished pass to the run, if any row was processed. With
    ``patience``, the weights of the best held-out score are restored at the end, unless the run
    converged. Of a run that is resumed, earlier passes are not reported, but the last if it ended.
    """
    run, stream, saving = course.run, course.stream, course.saving
    # Held out rows may restore earlier weights; in a new order, passes do not repeat.
    if course.patience is None and not stream.shuffle:
        from linsep.learners.cycle_detection import cycle_detection_for

        course.detection = cycle_detection_for(run, stream, course.tie)
    if saving is not None:
        saving.resume(course)
    try:
        reason = run.reports[-1].stop_reason if run.reports else None
        if reason is not None:  # it had ended
            if reason == StopReason.CYCLE and course.detection is not None:
                run.cycle = course.detection.after(run.state, stream, course.number)
            yield run.reports[-1]
        while reason is None:
            try:
                report = course.finish((one or one_pass)(course))
            except KeyboardInterrupt:
                if course.rows or course.number == 0:  # else the pass had not begun
                    course.report(NO_SCORES, StopReason.INTERRUPTED)
                raise
            reason = report.stop_reason
            if reason is not None:
                if saving is not None and saving.keep:
                    saving.save(course)
                saving = None  # the caller may be interrupted in the yield: it is saved
            # A trial is followed by a run on all rows.
            ends = course.patience is None or type(run.keeping) is KeepLast
            yield report if ends else report._replace(stop_reason=None)
    except (KeyboardInterrupt, GeneratorExit):
        if saving is not None:
            saving.save(course)
        raise
    finally:
        if course.best is not None:
            run.state.restore(course.best[1])


def all_passes(model: Any, course: Course) -> Iterator[PassReport]:
    """Run the passes of the fit that a model has begun, like :func:`passes`.

    With early stopping, a trial without the held-out rows finds the best number of passes, and is
    followed by a new run on all rows with as many, in the same order as without early stopping; but
    not if the last weights are kept: over 24 tables, all rows cost them 0.5 points of accuracy, and
    gained averaged weights 0.6 and the best weights 1.2 (docs/explanation/training.md).
    """
    run, trial = course.run, course.saving and course.saving.trial
    if model.early_stopping:
        begun = run.snapshot()
        if trial is None:
            run.left_out = True
            model.progress_ = replace(course, patience=model.n_iter_no_change)
            yield from passes(model.progress_)
            if type(run.keeping) is KeepLast:
                return
            trial = run.reports
        run.state, run.left_out, run.reports, run.trial = begun.state, begun.left_out, [], trial
        course.stream.learn_all(run.state, run.keeping)
        last = StopReason.MAX_ITER if len(trial) == model.max_iter else StopReason.EARLY_STOP
        course = replace(course, max_iter=len(trial), last=last)
    model.progress_ = course
    yield from passes(course)
