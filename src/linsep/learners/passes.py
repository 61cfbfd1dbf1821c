"""Run passes until a stopping criterion holds, for any rule, storage and file format."""

from collections.abc import Callable, Iterator
from contextlib import closing
from copy import deepcopy
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
from linsep.learners.keeping import CHANGES, KeepLast, count_changes
from linsep.learners.state import (
    TOO_LARGE,
    Arrays,
    Learner,
    State,
    Unlearnable,
    infinite_weight,
    too_large,
)
from linsep.rows.arrays import RowBatch, RowStream, longest_row, rows_per_slice, slices


def without_mistakes(learner: Learner, state: State, updates: int) -> StopReason:
    """Return why a run ends with a pass without a mistake, but perhaps with updates."""
    clean = updates or learner.leaves_zeros(state)
    return StopReason.CLEAN if clean else StopReason.CONVERGED


class Plan(NamedTuple):
    """Stopping criteria: ``max_iter`` passes, or ``patience`` passes without a better score on the
    held-out rows (None: no held-out rows). ``last`` is the reason of a run that makes all passes.
    """

    max_iter: int
    patience: int | None
    tie: str
    last: StopReason = StopReason.MAX_ITER


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
        #: the :class:`linsep.certificate.cycles.Cycle` that ended the run, if one did
        self.cycle: Any = None
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

    def waited(self, seconds: float, reads: bool) -> None:
        """Add the seconds that passed until rows came, to those of reading or of learning."""
        self.reading += seconds if reads else 0.0
        self.learning += 0.0 if reads else seconds

    @property
    def seconds(self) -> dict[str, float]:
        """The seconds spent reading and training."""
        return {"read": self.reading, "learn": self.learning}

    @property
    def rows(self) -> int:
        """Rows processed in the current pass so far."""
        return int(self.tally[ROWS])

    @property
    def mistakes(self) -> int:
        """Mistakes in the current pass so far."""
        return int(self.tally[MISTAKES])

    @property
    def updates(self) -> int:
        """Updates in the current pass so far."""
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
        state, keeping = deepcopy((self.state, self.keeping))
        return replace(self, state=state, keeping=keeping, reports=list(self.reports))

    def arrays(self) -> Arrays:
        """Return weights, counters and versions by name, as files have them."""
        changes = self.keeping.changes()
        return self.state.arrays() | {f"vote.{name}": part for name, part in changes.items()}

    def set_arrays(self, arrays: Arrays, rounds: int) -> None:
        """Restore what :meth:`arrays` returned; raise ValueError if it is inconsistent."""
        self.state.restore(self.state.with_arrays(arrays, rounds))
        if "first" in self.state.shaped:
            self.keeping.restore(self.state, {name: arrays[f"vote.{name}"] for name in CHANGES})


class Best(NamedTuple):
    """Weights to restore at the end of a run with held-out rows, and their score."""

    score: float
    state: State
    kept: Any


@dataclass
class Course:
    """A fit in progress: its run, its rows, its stopping criteria, and its position between two
    batches of rows.

    Attributes
    ----------
    stream : RowStream; for a fit in shards, the state between two passes
    number : int, completed passes
    learned : bool, whether all rows of the next pass are processed and its last update is made
    best, since_best : Best or None, and the passes since the best
    detection : :class:`linsep.learners.cycle_detection.CycleDetection` or None
    n_updates : int, updates in the completed passes
    """

    run: Run
    stream: Any
    plan: Plan
    progress: Progress
    saving: Saving
    number: int = 0
    learned: bool = False
    best: Best | None = None
    since_best: int = 0
    detection: Any = None

    def __post_init__(self) -> None:
        self.n_updates = self.run.state.n_updates

    @property
    def over(self) -> bool:
        """Whether the run has ended."""
        return bool(self.run.reports) and self.run.reports[-1].stop_reason is not None

    def last_again(self) -> PassReport:
        """Return the last report of a run that has ended."""
        *before, last = self.run.reports
        tally = np.array([last.mistakes, last.updates, last.errors, last.rows], np.int64)
        self.progress.resume(before, tally)
        self.progress.stage = "learning"
        return last

    def report(self, scores: Scores, reason: StopReason | None) -> PassReport:
        """Add the report of the current pass to the run, and return it."""
        mistakes, updates, errors, rows = self.progress.tally.tolist()
        report = PassReport(self.number, rows, mistakes, updates, errors, *scores, reason)
        self.run.reports.append(report)
        return report

    def advance(self) -> None:
        """Count a pass."""
        self.number, self.learned = self.number + 1, False
        self.n_updates = self.run.state.n_updates


def learn_batch(run: Run, scheme: Any, row_batch: RowBatch, progress: Progress) -> None:
    """Train on the rows of a batch, in slices; raise Unlearnable for the first invalid row."""
    state, learner, keeping = run.state, run.learner, run.keeping
    state.grow(row_batch.n_features)
    started, longest = perf_counter(), longest_row(row_batch.rows)
    most = [learner.rows_at_once, keeping.rows_at_once(state, longest)]
    at_once = min([rows_per_slice(row_batch.rows, state.n_columns), *(m for m in most if m)])
    if isinstance(row_batch.rows, Block):  # few rows, whose changes are collected at their end
        at_once = len(row_batch.order)
    for piece in slices(row_batch.order, at_once):
        interruption_point()
        rest = piece
        while rest.size:
            changes = rest.size * count_changes(state, longest)
            # Where a pass makes one update, the versions in between are not to be kept.
            keep = Last() if learner.by_pass else keeping.compiled(state, changes)
            rule = learner.rule(state)
            with interrupts_deferred():  # weights and counts must stay consistent
                done = pass_loop(
                    scheme, rule, keep, state.W, state.bias, row_batch.rows,
                    row_batch.codes, row_batch.importance, rest, state.rounds, progress.tally,
                )  # fmt: skip
                state.rounds += 0 if learner.by_pass else done
                keeping.take(state)
            learner.check_updates(state)
            rest = rest[done:]
            if is_waiting(row_batch.rows):
                row_batch.provide(rest)
            elif rest.size:
                row, message = int(rest[0]), learner.complaint(row_batch.rows, int(rest[0]))
                if message == TOO_LARGE:
                    raise too_large(row_batch.rows, row).beyond(row_batch.first)
                raise Unlearnable(row, message, code="bad-value").beyond(row_batch.first)
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
    run, stream, plan, progress = course.run, course.stream, course.plan, course.progress
    state, saving = run.state, course.saving
    # With held-out rows, earlier weights may be restored; in a new order, passes do not repeat.
    if plan.patience is None and not stream.shuffle:
        from linsep.learners.cycle_detection import cycle_detection_for

        course.detection = cycle_detection_for(state, run.learner, run.keeping, stream, plan.tie)
    saving.resume(course)
    try:
        if course.over:
            last = course.last_again()
            if last.stop_reason == StopReason.CYCLE and course.detection is not None:
                progress.cycle = course.detection.after(state, stream, course.number)
            yield last
            return
        reason = None
        while reason is None:
            try:
                scores = (one or one_pass)(course)
            except KeyboardInterrupt:
                state.n_updates += progress.updates
                if progress.rows or course.number == 0:  # else the pass had not begun
                    yield course.report(NO_SCORES, StopReason.INTERRUPTED)
                raise
            state.n_updates += progress.updates
            reason = after_pass(course, scores)
            # An infinite weight of a feature that no later row has does not affect any score.
            if reason is not None and not np.isfinite([state.W.min(), state.W.max()]).all():
                raise infinite_weight(state.W, stream.of_features)
            report = course.report(scores, reason)
            course.advance()
            if reason is not None:
                saving.ended(course)
                saving = Saving()  # the caller may be interrupted in the yield: it is saved
            yield report
    except (KeyboardInterrupt, GeneratorExit):
        saving.interrupted(course)
        raise
    finally:
        if course.best is not None:
            state.restore(course.best.state)
            run.keeping.put_back(course.best.kept)


def one_pass(course: Course) -> Scores:
    """Train on every row once; return the scores of the kept weights, if needed."""
    run, stream, progress, tie = course.run, course.stream, course.progress, course.plan.tie
    number = course.number
    progress.begin(number, stream.n_rows)
    scheme = run.state.scheme(tie, count_errors=number == 0)

    if not course.learned:
        waiting = perf_counter()
        for row_batch in stream.row_batches(number, progress.rows):
            progress.waited(perf_counter() - waiting, stream.reads)
            if number == 0 and type(run.learner).check is not Learner.check:
                check_batch(run.learner, row_batch)
            course.saving.pause(course)
            learn_batch(run, scheme, row_batch, progress)
            waiting = perf_counter()
        progress.waited(perf_counter() - waiting, stream.reads)
        check_some_rows(progress)
        if run.learner.by_pass:
            progress.tally[UPDATES] += close_pass(run, scheme)
        course.learned = True
    run.keeping.close_pass(run.state, stream.training_rows, tie)
    criterion = run.learner.criterion(run.state)
    if course.plan.patience is None:
        return None, None, criterion
    held_out, learned = held_out_accuracy(run, stream, tie), stream.training_rows()
    if learned is None:
        return held_out, None, criterion
    unweighted = (batch._replace(importance=NO_IMPORTANCE) for batch in learned)
    errors, rows = run.keeping.errors(run.state, unweighted, tie)
    return held_out, 1.0 - errors / rows, criterion


def check_batch(learner: Learner, row_batch: RowBatch) -> None:
    """Raise Unlearnable for the first invalid row."""
    try:
        learner.check(row_batch.rows)
    except Unlearnable as bad:
        raise bad.beyond(row_batch.first) from None


def after_pass(course: Course, scores: Scores) -> StopReason | None:
    """Return why the run ends with this pass, or None; keep the weights of the best score."""
    run, plan, progress, state = course.run, course.plan, course.progress, course.run.state
    cycle = None
    if progress.mistakes and course.detection is not None:
        cycle = course.detection.after(state, course.stream, course.number + 1)
    # The weights of this pass are scored before the learner may start again from zero.
    course.since_best += 1
    best = -1.0 if course.best is None else course.best.score
    if scores[0] is not None and scores[0] > best:
        course.best = Best(scores[0], deepcopy(state), run.keeping.remember())
        course.since_best = 0
    if progress.mistakes == 0:
        reason = without_mistakes(run.learner, state, progress.updates)
        course.best = None if reason == StopReason.CONVERGED else course.best
        return reason
    if cycle is not None:
        progress.cycle = cycle
        return StopReason.CYCLE
    if plan.patience is not None and course.since_best >= plan.patience:
        return StopReason.EARLY_STOP
    if course.number + 1 == plan.max_iter:
        return plan.last
    if run.learner.restarts(state):
        run.keeping.start_again(state)
        course.best, course.since_best = None, 0
    return None


def check_some_rows(progress: Progress) -> None:
    """Raise DataError if no row was used in a pass."""
    if progress.rows == 0:
        raise DataError(
            "No row is left for training: all rows have weight 0 or are held out",
            hint("lower {}", validation_fraction=None),
            "check the weights",
            code="no-rows",
        )


def close_pass(run: Run, scheme: Any) -> int:
    """Apply the update at the end of a pass, if any; return the number of binary classifiers
    changed.
    """
    state, learner, keeping = run.state, run.learner, run.keeping
    keep = keeping.compiled(state, state.W.size)
    with interrupts_deferred():
        made = learner.close_pass(state, scheme, keep)
        keeping.take(state)
        state.rounds += 1
        if state.multiclass == "ovo" and state.n_classes > 2:
            state.per_machine("rounds")[:] = state.rounds
    return made


def all_passes(
    run: Run, stream: RowStream, plan: Plan, progress: Progress, saving: Saving
) -> Iterator[PassReport]:
    """Run the passes of a fit, like :func:`passes`.

    With ``patience`` and steady weights, a trial without the held-out rows finds the best number of
    passes, and is followed by a new run on all rows with as many, in the same order as without
    early stopping. The last weights are not steady: they depend on the last rows, and those of the
    pass that is best on held-out rows predict better than the last after all rows. Over 24 tables,
    with six splits each, training on all rows cost the last weights 0.5 points of accuracy, and
    gained averaged weights 0.6 and the best weights 1.2, with standard errors of 0.4, 0.2 and 0.2
    (``benchmarks/early_stopping.py``).

    Only the last report has a stop reason. An interrupted trial has its best weights.
    """
    if plan.patience is None or not run.keeping.steady:
        run.left_out |= plan.patience is not None
        yield from passes(Course(run, stream, plan, progress, saving))
        return
    begun, trial, left_out = run.snapshot(), saving.trial, run.left_out
    if trial is None:
        run.left_out, made = True, passes(Course(run, stream, plan, progress, saving))
        with closing(made):  # type: ignore[type-var]
            for report in made:
                interrupted = report.stop_reason == StopReason.INTERRUPTED
                yield report if interrupted else report._replace(stop_reason=None)
        trial = run.reports
    run.state, run.keeping, run.left_out, run.reports = begun.state, begun.keeping, left_out, []
    run.trial = trial
    stream.learn_all(run.state, run.keeping)
    progress.begin_again()
    progress.most_passes, progress.rows_before = len(trial), sum(report.rows for report in trial)
    last = StopReason.MAX_ITER if len(trial) == plan.max_iter else StopReason.EARLY_STOP
    again = plan._replace(max_iter=len(trial), patience=None, last=last)
    yield from passes(Course(run, stream, again, progress, saving))
