"""Train models of one learner side by side: rows are read once for all of them.

Rows are held out as early stopping does, the same for every model. After passes 1, 2, 4, 8, ...
the worse half of the models is dropped, except those whose accuracy on the held-out rows is less
than two standard errors (from pass 4 on: one) behind the best: successive halving (K. Jamieson and
A. Talwalkar, Non-stochastic best arm identification and hyperparameter optimization, AISTATS 2016)
with passes as the budget, and with a guard for models that the held-out rows cannot distinguish.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from math import sqrt
from typing import Any, Literal

import numpy as np

from linsep._system import interruption_point, interrupts_deferred, thread_count
from linsep.batches import weight_totals
from linsep.compiled.rows import Dense, Unit
from linsep.errors import DataError, hint
from linsep.estimators import StopReason, check_two_classes, is_turned
from linsep.learners.from_source import source_stream
from linsep.learners.passes import NO_SCORES, Course, close_pass, learn_batch, nothing_learned
from linsep.learners.state import KeepLast, Unlearnable
from linsep.parameters import check_parameters
from linsep.rows.arrays import RowBatch
from linsep.rows.source_stream import SourceStream, StartAgain
from linsep.sources import Source


class Missed:
    """Which held-out rows a model predicts wrongly (1, else 0), and their weights."""

    def __init__(self) -> None:
        self.wrong, self.weights = np.empty(0), np.empty(0)

    def add(self, missed: np.ndarray, weights: np.ndarray) -> None:
        """Add rows; empty ``weights`` are ones."""
        weights = weights if weights.size else np.ones(missed.size)
        self.wrong = np.append(self.wrong, missed)
        self.weights = np.append(self.weights, weights)

    @property
    def accuracy(self) -> float:
        """Share of the weight of the rows predicted rightly, summed as a fit does."""
        if not self.weights.any():
            raise DataError(
                "No row is held out to compare models on",
                hint("raise {}", validation_fraction=None), "add rows",
                code="no-rows", option="validation_fraction",
            )  # fmt: skip
        sums = (np.cumsum(self.weights[self.wrong == k])[-1:].sum() for k in (1, 0))
        missed, right = map(float, sums)
        return 1.0 - missed / (missed + right)

    def behind(self, best: "Missed") -> tuple[float, float]:
        """Return how far the accuracy is behind that of ``best``, and its standard error."""
        apart, weights = self.wrong - best.wrong, self.weights
        return float((weights * apart).sum() / weights.sum()), standard_error(apart, weights)


def standard_error(values: np.ndarray, weights: np.ndarray) -> float:
    """Return the standard error of the weighted mean of independent values."""
    total = weights.sum()
    mean = (weights * values).sum() / total
    return sqrt(float(((weights * (values - mean)) ** 2).sum())) / float(total)


def own_buffer(rows: Any) -> Any:
    """Return the same rows with a buffer of their own, for a thread."""
    if isinstance(rows, Unit):
        return rows._replace(rows=own_buffer(rows.rows))
    return rows._replace(room=np.empty_like(rows.room)) if isinstance(rows, Dense) else rows


class Model:
    """A model of the grid: its ``values``, an ``estimator`` with them, the ``passes`` it has made,
    and which held-out rows it ``missed`` after the last of them.
    """

    #: how far its accuracy was behind the best, and the standard error of this, if it was dropped
    behind: tuple[float, float] | None = None
    #: why it makes no other pass, if it does not
    stop_reason: StopReason | Literal["dropped"] | None = None

    def __init__(self, values: dict[str, Any], estimator: Any):
        self.values, self.estimator = values, estimator
        self.passes, self.missed = 0, Missed()


class Fit:
    """Trains one model, or two that differ only in keeping last or averaged weights: the first of
    ``models`` decides which are kept. ``course`` is the fit in progress.
    """

    course: Course

    def __init__(self, model: Model):
        self.models = [model]

    @property
    def running(self) -> list[Model]:
        """The models that will make another pass."""
        return [model for model in self.models if model.stop_reason is None]

    def start(self, stream: SourceStream) -> None:
        """Create the state before the first pass."""
        estimator = self.models[0].estimator
        width = max(stream.n_features, len(stream.feature_names or ()))
        run = estimator.start_run(estimator.learner(), np.sort(stream.classes), width)
        self.course = Course(run, stream, estimator.tie, estimator.max_iter)

    def learn(self, batch: RowBatch) -> None:
        """Learn the rows of a batch."""
        learn_batch(self.course, batch._replace(rows=own_buffer(batch.rows)))

    def close_pass(self, stream: SourceStream) -> None:
        """Finish a pass; DataError if no row was learned."""
        course, run = self.course, self.course.run
        if not course.rows:
            raise nothing_learned()
        close_pass(course)
        run.keeping.close_pass(run.state, stream.training_rows, course.tie)
        for model in self.running:
            model.passes, model.missed = course.number + 1, Missed()

    def score(self, rows: RowBatch) -> None:
        """Predict held-out rows."""
        run, tie = self.course.run, self.course.tie
        for model in self.running:
            keeping = run.keeping if model is self.models[0] else KeepLast()
            model.missed.add(keeping.missed(run.state, rows, tie), rows.importance)

    def decide(self) -> None:
        """Find out whether it is done, or starts again with other parameters."""
        reason = self.course.finish(NO_SCORES).stop_reason
        for model in self.running:
            model.stop_reason = reason


def fits_of(models: list[Model]) -> list[Fit]:
    """Return the fits that the models need."""
    averages: dict[str, Fit] = {}
    fits: list[Fit] = []
    for model in sorted(models, key=lambda model: model.estimator.keep == "last"):
        others = repr(model.estimator.get_params(deep=False) | {"keep": None})
        if model.estimator.keep == "last" and others in averages:
            averages[others].models.append(model)
            continue
        fits.append(Fit(model))
        if model.estimator.keep == "average":
            averages[others] = fits[-1]
    return fits


#: standard errors behind the best within which a model is not dropped, at first and later: slow
#: starters may still win
FIRST_GUARD, GUARD, LATER = 2.0, 1.0, 4
#: seconds between looks for Ctrl-C
SECONDS = 0.1


class SideBySide:
    """Fits to one source of pairs of grid values and an estimator with them.

    The estimators are of one class, stop early, and share the held-out rows: ``random_state``,
    ``class_weight``, ``reference`` and ``validation_fraction`` are the same.
    """

    #: number of rows, None before they are all read, and share of the most frequent held-out class
    n_rows: int | None = None
    baseline = 0.0
    #: an estimator that learns after them, if progress displays are to show it
    final: Any = None

    def __init__(self, estimators: list[tuple[dict[str, Any], Any]], source: Source):
        self.source = source
        self.models = [Model(*pair) for pair in estimators]
        for model in self.models:
            check_parameters(model.estimator)
        self.max_iter = max(model.estimator.max_iter for model in self.models)
        self.fits = fits_of(self.models)
        # Rows of length 1 come first: the stream that reads for them sums duplicate columns.
        self._sets: dict[tuple[bool, bool], list[Fit]] = {}
        for fit in sorted(self.fits, key=lambda fit: not fit.models[0].estimator.normalize):
            estimator = fit.models[0].estimator
            visited = bool(estimator.normalize), bool(estimator.shuffle)
            self._sets.setdefault(visited, []).append(fit)

    @property
    def progress_(self) -> Course | None:
        """The first fit that is learning, None before any is."""
        courses = [getattr(fit, "course", None) for fit in self.fits]
        running = (course for course, fit in zip(courses, self.fits, strict=True) if fit.running)
        return next(running, getattr(self.final, "progress_", courses[0]))

    @property
    def best(self) -> Model:
        """The first of the models with the highest accuracy, of those that were not dropped."""
        return self.ranked[0]

    @property
    def ranked(self) -> list[Model]:
        """The models from the best to the worst; those that were dropped last, later ones first."""

        def rank(model: Model) -> tuple[bool, int, float]:
            dropped = model.behind is not None
            return dropped, -model.passes * dropped, -model.missed.accuracy

        return sorted(self.models, key=rank)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the models from the best to the worst, as plain JSON."""
        found = []
        for model in self.ranked:
            behind, error = model.behind or model.missed.behind(self.best.missed)
            found.append({
                "parameters": model.values, "mean": model.missed.accuracy,
                "standard_error": standard_error(model.missed.wrong, model.missed.weights),
                "behind": behind, "behind_standard_error": error, "passes": model.passes,
                "stop_reason": model.stop_reason,
            })  # fmt: skip
        return found

    def run(self, finish: Callable[[Any], Any] = lambda source: None) -> Any:
        """Train; return the result of ``finish`` for the source, which has kept its rows."""
        (fit, *_), *_ = self._sets.values()
        reader = fit.models[0].estimator
        first = source_stream(reader, self.source, None)
        self._pool = ThreadPoolExecutor(thread_count())
        with interrupts_deferred(), closing(first), self._pool:
            first.begin()
            check_two_classes(first.classes, first.source.name)
            is_turned(reader.reference, np.sort(first.classes))  # or refuses
            try:
                self._passes(first)
            except Unlearnable as problem:
                first.stop_reading()
                raise problem.in_source(self.source) from None
            self.source.kept_rows = first
            try:
                return finish(self.source)
            finally:
                self.source.kept_rows = None

    def _passes(self, stream: SourceStream) -> None:
        while True:
            try:
                streams = self._first_pass(stream)
                for number in range(1, self.max_iter):
                    self._drop(number)
                    for own, fits in zip(streams, self._sets.values(), strict=True):
                        self._one_pass(own, fits)
                return
            except StartAgain:  # a class was seen late, in the first pass of the first fits
                continue

    def _first_pass(self, stream: SourceStream) -> list[SourceStream]:
        """Read and learn; a second set of models learns from the rows that were kept."""
        streams: list[SourceStream] = []
        for (unit, shuffle), fits in self._sets.items():
            if streams:
                fraction = self.models[0].estimator.validation_fraction
                stream = streams[0].again(shuffle=shuffle, unit=unit, fraction=fraction)
            stream.start()
            for fit in fits:
                fit.start(stream)
            streams.append(stream)
            self._one_pass(stream, fits)
        return streams

    def _one_pass(self, stream: SourceStream, fits: list[Fit]) -> None:
        """Let the fits that are running learn every row once, and score the models."""
        if not (fits := [fit for fit in fits if fit.running]):
            return
        for fit in fits:
            fit.course.begin()
        learning: list[Future[None]] = []
        try:
            for batch in stream.row_batches(fits[0].course.number):  # the next is read meanwhile
                self._wait(learning)
                learning = [self._pool.submit(fit.learn, batch) for fit in fits]
        finally:
            self._wait(learning)
        for fit in fits:
            fit.close_pass(stream)
        totals = np.zeros(stream.classes.size)
        for batch in stream.held_out(alone=True):
            self._wait([self._pool.submit(fit.score, batch) for fit in fits])
            totals = weight_totals(totals, batch.codes, batch.importance)
        self.n_rows, self.baseline = stream.n_rows, float(totals.max() / (totals.sum() or 1.0))
        for fit in fits:
            fit.decide()

    def _wait(self, running: list[Future[None]]) -> None:
        """Wait for threads; Ctrl-C takes effect when those that have begun are done."""
        try:
            while wait(running, SECONDS).not_done:
                interruption_point()
        finally:
            for future in running:
                future.cancel()
            wait(running)
        for future in running:
            future.result()

    def _drop(self, passes: int) -> None:
        """Drop the worse half after passes 1, 2, 4, 8, ..., but for those near the best."""
        if passes & (passes - 1):
            return
        guard = GUARD if passes >= LATER else FIRST_GUARD
        left = [model for model in self.ranked if model.behind is None]
        for model in left[(len(left) + 1) // 2 :]:
            if model.stop_reason is None:
                behind, error = model.missed.behind(left[0].missed)
                if behind > guard * error:
                    model.behind, model.stop_reason = (behind, error), "dropped"
