"""Run passes until a stopping criterion holds, for any rule, storage and file format."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from linsep._system.interrupts import interruption_point, interrupts_deferred
from linsep.batches import NO_IMPORTANCE
from linsep.checkpoints.saving import Saving
from linsep.compiled.loop import MISTAKES, ROWS, UPDATES, pass_loop
from linsep.compiled.rows import Block, is_waiting
from linsep.compiled.weights import Last
from linsep.errors import DataError, hint
from linsep.estimators._common.stop_reasons import StopReason
from linsep.learners.keeping import KeepLast, KeepVote
from linsep.learners.state import (
    Learner,
    State,
    Unlearnable,
    infinite_weight,
)
from linsep.rows.arrays import RowBatch, RowStream, row_lengths, rows_per_slice, slices


def nothing_counted() -> np.ndarray:
    """Return the counts of a pass before its first row, as :func:`pass_loop` updates them."""
    return np.zeros(4, np.int64)


class Progress:
    """Progress of a run, to be read by another thread.

    ``tally`` holds the running pass's counts of mistakes, updates, errors and rows, ``curve`` the
    mistakes of the passes before it.
    """

    #: of a run that learns all rows after a trial: its passes, and the rows of the trial's
    most_passes: int | None = None
    rows_before = 0

    def __init__(self) -> None:
        self.total: int | None = None
        #: seconds spent
        self.reading = self.learning = 0.0
        self.begin_again()

    def begin_again(self) -> None:
        """Start a run: no pass has begun."""
        #: "reading" before the first pass, "learning", "measuring" after the last
        self.stage, self._resumed = "reading", False
        self.pass_number, self.tally, self.curve = 0, nothing_counted(), list[int]()

    def resume(self, reports: "list[PassReport]", tally: np.ndarray) -> None:
        """Continue an earlier run within the pass after these reports."""
        self.pass_number, self.tally, self._resumed = len(reports), tally, True
        self.curve = [report.mistakes for report in reports]

    def begin(self, pass_number: int, total: int | None) -> None:
        """Start a pass over ``total`` rows (None if unknown), or continue a resumed pass."""
        if self.stage == "learning":
            self.curve.append(self.mistakes)
        self.stage, self.total = "learning", total
        if not self._resumed:
            self.pass_number, self.tally = pass_number, nothing_counted()
        self._resumed = False

    @property
    def seconds(self) -> dict[str, float]:
        return {"read": self.reading, "learn": self.learning}

    @property
    def rows(self) -> int:
        return int(self.tally[ROWS])

    @property
    def mistakes(self) -> int:
        return int(self.tally[MISTAKES])

    @property
    def updates(self) -> int:
        return int(self.tally[UPDATES])


#: accuracy on held-out and on training rows, and the learner's criterion; None if not computed
Scores = tuple[float | None, float | None, float | None]
NO_SCORES: Scores = (None, None, None)


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
    """An online fit: its state, the weights kept, and its history.

    Attributes
    ----------
    state, learner, keeping
        The weights and counters, the learner that changes them, and the weights to predict with.
    reports : list of PassReport, of the passes of ``fit``
    seed : int or None
        Seed of the order of rows and of the held-out rows; None without ``fit``.
    fresh : bool
        Whether it started from the learner's own initial weights.
    weighted, left_out : bool
        Whether rows had weights, and whether some were held out or skipped.
    open_mistakes : int or None
        Mistakes in the rows of ``partial_fit``; None before the first call.
    cycle : :class:`linsep.certificate.cycles.Cycle` or None, the one that ended it
    mixture : :class:`linsep.learners.mixing.Mixture` or None, of a fit in shards
    trial : list of PassReport or None
        Reports of earlier passes without the held-out rows, see :func:`all_passes`.
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
        """Reports of the passes after which held-out rows were scored."""
        reports = self.reports if self.trial is None else self.trial
        return [report for report in reports if report.validation_score is not None]

    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients (columns, features) and intercepts for prediction."""
        return self.state.split(self.keeping.weights(self.state))

    def obstacle(self) -> str | None:
        """Return why no theorem applies to it; None if one may."""
        if not self.fresh:
            return (
                "it did not start from the learner's own initial weights, mixed other weights, or "
                "changed its parameters"
            )
        return "its rows or classes have weights" if self.weighted else None

    def snapshot(self) -> "Run":
        """Return a copy that later passes do not change."""
        return replace(self, state=self.state.snapshot(), reports=list(self.reports))

    def clean_reason(self, updates: int) -> StopReason:
        """Return why it ends with a pass without a mistake, but perhaps with updates."""
        clean = updates or self.learner.leaves_zeros(self.state)
        return StopReason.CLEAN if clean else StopReason.CONVERGED

    def check_finite(self, of_features: bool = True) -> None:
        """Raise Unlearnable for an infinite weight, which only rows with its feature show."""
        W = self.state.W
        if not np.isfinite([W.min(), W.max()]).all():
            raise infinite_weight(W, of_features)


@dataclass
class Course:
    """A fit in progress: a run, its rows and stopping criteria, and its position between two
    batches of rows.

    Attributes
    ----------
    stream : RowStream; for a fit in shards, the state between two passes
    max_iter, patience : most passes, and most without a better score on held-out rows; None without
    last : reason of a run that makes all passes
    number : int, completed passes
    learned : bool, whether all rows of the next pass are processed and its last update is made
    best, since_best : the best score on held-out rows and its state, and the passes since
    detection : :class:`linsep.learners.cycle_detection.CycleDetection` or None
    """

    run: Run
    stream: Any
    progress: Progress
    saving: Saving
    tie: str
    max_iter: int
    patience: int | None = None
    last: StopReason = StopReason.MAX_ITER
    number: int = 0
    learned: bool = False
    best: tuple[float, State] | None = None
    since_best: int = 0
    detection: Any = None

    def report(self, scores: Scores, reason: StopReason | None) -> PassReport:
        """Add the report of the current pass to the run, and return it."""
        mistakes, updates, errors, rows = self.progress.tally.tolist()
        report = PassReport(self.number, rows, mistakes, updates, errors, *scores, reason)
        self.run.reports.append(report)
        return report

    def reason(self, scores: Scores) -> StopReason | None:
        """Return why the run ends with this pass, or None; keep the weights of the best score."""
        run, state, mistakes = self.run, self.run.state, self.progress.mistakes
        cycle = None
        if mistakes and self.detection is not None:
            cycle = self.detection.after(state, self.stream, self.number + 1)
        # The weights of this pass are scored before the learner may start again from zero.
        self.since_best += 1
        if scores[0] is not None and (self.best is None or scores[0] > self.best[0]):
            self.best, self.since_best = (scores[0], state.snapshot()), 0
        if mistakes == 0:
            reason = run.clean_reason(self.progress.updates)
            self.best = None if reason == StopReason.CONVERGED else self.best
            return reason
        if cycle is not None:
            run.cycle = cycle
            return StopReason.CYCLE
        if self.patience is not None and self.since_best >= self.patience:
            return StopReason.EARLY_STOP
        if self.number + 1 == self.max_iter:
            return self.last
        if run.learner.restarts(state):
            self.best, self.since_best = None, 0
        return None


#: most changes of a vote that a slice of rows may cause
CHANGES_AT_ONCE = 1 << 20


def learn_batch(run: Run, scheme: Any, row_batch: RowBatch, progress: Progress) -> None:
    """Train on the rows of a batch, in slices; raise Unlearnable for the first invalid row."""
    state, learner, keeping, rows = run.state, run.learner, run.keeping, row_batch.rows
    if progress.pass_number == 0:
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
    at_once = rows_per_slice(rows, state.n_columns)
    if isinstance(rows, Block):  # few rows, whose changes are collected at their end
        at_once = len(row_batch.order)
    else:
        at_once = min(at_once, learner.rows_at_once or at_once)
        if changes:
            at_once = min(at_once, max(1, CHANGES_AT_ONCE // changes))
    for piece in slices(row_batch.order, at_once):
        interruption_point()
        rest = piece
        while rest.size:
            # Where a pass makes one update, the versions in between are not to be kept.
            keep = Last() if learner.by_pass else keeping.compiled(state, rest.size * changes)
            rule = learner.rule(state)
            with interrupts_deferred():  # weights and counts must stay consistent
                before = progress.updates
                done = pass_loop(
                    scheme, rule, keep, state.W, state.bias, rows, row_batch.codes,
                    row_batch.importance, rest, state.rounds, progress.tally,
                )  # fmt: skip
                state.rounds += 0 if learner.by_pass else done
                state.n_updates += progress.updates - before
                keeping.take(state)
            learner.check_updates(state)
            rest = rest[done:]
            if is_waiting(rows):
                row_batch.provide(rest)
            elif rest.size:
                raise learner.complaint(rows, int(rest[0])).beyond(row_batch.first)
    progress.learning += perf_counter() - started


def held_out_accuracy(run: Run, stream: RowStream, tie: str) -> float:
    """Return the weighted accuracy of the kept weights on the held-out rows."""
    errors, total = run.keeping.errors(run.state, stream.held_out(), tie)
    if total == 0:
        raise DataError(
            "No row is held out for early stopping",
            hint("raise {}", validation_fraction=None),
            "add rows", code="too-few-rows", option="validation_fraction",
        )  # fmt: skip
    return 1.0 - errors / total


def passes(course: Course, one: Callable[[Course], Scores] | None = None) -> Iterator[PassReport]:
    """Run passes, by ``one`` or :func:`one_pass`, which change the state of the run; yield a report
    after each.

    The last report has the stop reason. On Ctrl-C a report of the unfinished pass, if any row was
    processed, is yielded with stop reason ``interrupted`` before KeyboardInterrupt is raised. With
    ``patience``, the weights of the best held-out score are restored at the end, unless the run
    converged, which refers to the last weights. If an earlier run is continued, its passes are not
    reported again, except the last pass of a run that has ended.
    """
    run, stream, progress = course.run, course.stream, course.progress
    state, saving = run.state, course.saving
    # With held-out rows, earlier weights may be restored; in a new order, passes do not repeat.
    if course.patience is None and not stream.shuffle:
        from linsep.learners.cycle_detection import cycle_detection_for

        course.detection = cycle_detection_for(state, run.learner, run.keeping, stream, course.tie)
    saving.resume(course)
    try:
        reason = run.reports[-1].stop_reason if run.reports else None
        if reason is not None:  # it had ended
            *before, last = run.reports
            progress.resume(before, np.array([last.mistakes, last.updates, last.errors, last.rows]))
            progress.stage = "learning"
            if reason == StopReason.CYCLE and course.detection is not None:
                run.cycle = course.detection.after(state, stream, course.number)
            yield last
        while reason is None:
            try:
                scores = (one or one_pass)(course)
            except KeyboardInterrupt:
                if progress.rows or course.number == 0:  # else the pass had not begun
                    yield course.report(NO_SCORES, StopReason.INTERRUPTED)
                raise
            reason = course.reason(scores)
            if reason is not None:
                run.check_finite(stream.of_features)
            report = course.report(scores, reason)
            course.number, course.learned = course.number + 1, False
            if reason is not None:
                saving.ended(course)
                saving = Saving()  # the caller may be interrupted in the yield: it is saved
            yield report
    except (KeyboardInterrupt, GeneratorExit):
        saving.interrupted(course)
        raise
    finally:
        if course.best is not None:
            state.restore(course.best[1])


def one_pass(course: Course) -> Scores:
    """Train on every row once; return the scores of the kept weights, if needed."""
    run, stream, progress, number = course.run, course.stream, course.progress, course.number
    progress.begin(number, stream.n_rows)
    scheme = run.state.scheme(course.tie, count_errors=number == 0)
    if not course.learned:
        began = perf_counter() - progress.learning
        try:
            for row_batch in stream.row_batches(number, progress.rows):
                course.saving.pause(course)
                learn_batch(run, scheme, row_batch, progress)
        finally:
            waited = perf_counter() - progress.learning - began
            progress.reading += waited if stream.reads else 0.0
            progress.learning += 0.0 if stream.reads else waited
        check_some_rows(progress)
        close_pass(run, scheme, progress)
        course.learned = True
    run.keeping.close_pass(run.state, stream.training_rows, course.tie)
    criterion = run.learner.criterion(run.state)
    if course.patience is None:
        return None, None, criterion
    held_out, learned = held_out_accuracy(run, stream, course.tie), stream.training_rows()
    if learned is None:
        return held_out, None, criterion
    unweighted = (batch._replace(importance=NO_IMPORTANCE) for batch in learned)
    errors, rows = run.keeping.errors(run.state, unweighted, course.tie)
    return held_out, 1.0 - errors / rows, criterion


def check_some_rows(progress: Progress) -> None:
    """Raise DataError if no row was used in a pass."""
    if progress.rows == 0:
        raise DataError(
            "No row is left for training: all rows have weight 0 or are held out",
            hint("lower {}", validation_fraction=None),
            "check the weights",
            code="no-rows",
        )


def close_pass(run: Run, scheme: Any, progress: Progress) -> None:
    """Make the update at the end of a pass, if any."""
    state, learner, keeping = run.state, run.learner, run.keeping
    if not learner.by_pass:
        return
    keep = keeping.compiled(state, state.W.size)
    with interrupts_deferred():
        made = learner.close_pass(state, scheme, keep)
        keeping.take(state)
        state.rounds, state.n_updates = state.rounds + 1, state.n_updates + made
        progress.tally[UPDATES] += made
        if state.multiclass == "ovo" and state.n_classes > 2:
            state.per_machine("rounds")[:] = state.rounds


def all_passes(model: Any, stream: RowStream, saving: Saving) -> Iterator[PassReport]:
    """Run the passes of the fit that a model has begun, like :func:`passes`.

    With early stopping, a trial without the held-out rows finds the best number of passes, and is
    followed by a new run on all rows with as many, in the same order as without early stopping; but
    not if the last weights are kept, which depend on the last rows: those of the pass that is best
    on held-out rows predict better than the last after all rows. Over 24 tables,
    with six splits each, training on all rows cost the last weights 0.5 points of accuracy, and
    gained averaged weights 0.6 and the best weights 1.2, with standard errors of 0.4, 0.2 and 0.2
    (``benchmarks/early_stopping.py``).

    Only the last report has a stop reason. An interrupted trial has its best weights.
    """
    run, progress = model._run, model.progress_
    course = Course(run, stream, progress, saving, model.tie, model.max_iter)
    if not model.early_stopping:
        yield from passes(course)
        return
    trying = replace(course, patience=model.n_iter_no_change)
    if type(run.keeping) is KeepLast:
        run.left_out = True
        yield from passes(trying)
        return
    begun, trial = run.snapshot(), saving.trial
    if trial is None:
        run.left_out = True
        with closing(passes(trying)) as made:  # type: ignore[type-var]
            for report in made:
                interrupted = report.stop_reason == StopReason.INTERRUPTED
                yield report if interrupted else report._replace(stop_reason=None)
        trial = run.reports
    run.state, run.left_out, run.reports, run.trial = begun.state, begun.left_out, [], trial
    stream.learn_all(run.state, run.keeping)
    progress.begin_again()
    progress.most_passes, progress.rows_before = len(trial), sum(report.rows for report in trial)
    last = StopReason.MAX_ITER if len(trial) == model.max_iter else StopReason.EARLY_STOP
    yield from passes(replace(course, max_iter=len(trial), last=last))
