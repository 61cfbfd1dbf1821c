"""Learn models of one learner side by side: what is read once is learnt by all of them.

Rows are held out as early stopping does, the same for every model. After passes 1, 2, 4, 8, ...
the worse half of the models is dropped, except those whose accuracy on the held-out rows is less
than two standard errors (from pass 4 on: one) behind the best: successive halving (K. Jamieson and
A. Talwalkar, Non-stochastic best arm identification and hyperparameter optimization, AISTATS 2016)
with passes as the budget, and with a guard for models that the held-out rows cannot tell apart.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from itertools import product
from typing import Any

import numpy as np

from linsep.checkpoints.saving import Saving
from linsep.errors import DataError
from linsep.estimators._common.reference import is_turned
from linsep.interrupts import checkpoint, held
from linsep.learners.from_source import SourceRun, refuse_one_class
from linsep.learners.passes import Progress
from linsep.learners.state import Unlearnable
from linsep.parallel import thread_count
from linsep.parameters import check_parameters
from linsep.rows.again import RowsAgain
from linsep.rows.arrays import RowBatch
from linsep.rows.sample import added
from linsep.rows.source_stream import SourceStream, StartAgain
from linsep.sources.base import Source
from linsep.tuning.held_out import held_out_rows
from linsep.tuning.models import Fit, Model, fits_of

#: standard errors behind the best within which a model is not dropped, at first and later: slow
#: starters may still win
FIRST_GUARD, GUARD, LATER = 2.0, 1.0, 4
#: seconds between looks for Ctrl-C
SECONDS = 0.1


def combinations(grid: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Return every choice of one value a parameter, the last parameter varying fastest."""
    return [dict(zip(grid, chosen, strict=True)) for chosen in product(*grid.values())]


class Visited:
    """Fits that visit the rows of a stream in the same order and scale."""

    def __init__(self, stream: SourceStream, fits: list[Fit]):
        self.stream, self.fits = stream, fits
        self._in_memory: list[RowBatch] | None = None

    def held_out(self) -> Iterable[RowBatch]:
        """Return the held-out rows alone; those of rows in memory are copied once."""
        if not self.stream.in_memory:
            return held_out_rows(self.stream)
        if self._in_memory is None:
            self._in_memory = list(held_out_rows(self.stream))
        return self._in_memory


class SideBySide:
    """Fits of many estimators to one source.

    Parameters
    ----------
    estimators : pairs of grid values and an estimator with them
        All of one class; they may differ in any parameter but ``random_state``, ``class_weight``,
        ``reference`` and ``validation_fraction``, and have ``early_stopping`` set, whose held-out
        rows they share. They make ``max_iter`` passes, or stop at one without a mistake.
    source : Source

    Attributes
    ----------
    models : list of Model, as given
    fits : what learns for them
    n_rows : number of rows, None before they are all read
    baseline : share of the most frequent class among the held-out rows
    final : an estimator that learns after them, if progress displays are to show it
    max_iter, progress_ : for progress displays
    """

    n_rows: int | None = None
    baseline = 0.0
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
    def progress_(self) -> Progress:
        """The progress of the first fit that is learning."""
        learning: Progress = getattr(self.final, "progress_", self.fits[0].progress)
        return next((fit.progress for fit in self.fits if fit.running), learning)

    @property
    def best(self) -> Model:
        """The first of the models with the highest accuracy, of those that were not dropped."""
        return self.ranked[0]

    @property
    def ranked(self) -> list[Model]:
        """The models from the best to the worst; those that were dropped come last, the later ones
        first.
        """

        def rank(model: Model) -> tuple[bool, int, float]:
            return model.dropped, -model.passes if model.dropped else 0, -model.missed.accuracy

        return sorted(self.models, key=rank)

    def run(self, finish: Callable[[Any], Any] = lambda source: None) -> Any:
        """Learn; return what ``finish`` makes of the source, which has kept its rows.

        Raises DataError as a fit of one of the estimators does.
        """
        (fit, *_), *_ = self._sets.values()
        reader = fit.models[0].estimator
        first = SourceRun(reader, self.source, None, None, Saving())
        first.stream.draws_sample = False  # the fit of the best draws its own
        with held(), closing(first.stream), ThreadPoolExecutor(thread_count()) as self._pool:
            first.stream.begin()
            refuse_one_class(first.stream)
            is_turned(reader.reference, np.sort(first.stream.classes))  # or refuses
            try:
                self._passes(first.stream)
            except Unlearnable as problem:
                first.stream.stop_reading()
                raise self._described(problem) from None
            self.source.stream = first.stream
            try:
                return finish(self.source)
            finally:
                self.source.stream = None

    def _described(self, problem: Unlearnable) -> DataError:
        source, bad = self.source, problem.bad
        where = source.name if problem.row is None else source.where(problem.row)
        message = str(problem) if bad is None else bad.message_for(source.feature(bad.column))
        return DataError(f"{where}: {message}.")

    def _passes(self, stream: SourceStream) -> None:
        while True:
            for model in self.models:
                model.begin()
            try:
                groups = self._first_pass(stream)
                for number in range(1, self.max_iter):
                    self._drop(number)
                    for group in groups:
                        self._one_pass(group)
                return
            except StartAgain:  # a class was seen late
                continue

    def _first_pass(self, stream: SourceStream) -> list[Visited]:
        """Read and learn; a second group of models learns from the rows that were kept."""
        groups: list[Visited] = []
        for (unit, shuffle), fits in self._sets.items():
            own = stream
            if groups:
                fraction = self.models[0].estimator.validation_fraction
                own = RowsAgain(stream, shuffle=shuffle, unit=unit, fraction=fraction)
            own.start()
            for fit in fits:
                fit.start(own)
            groups.append(Visited(own, fits))
            self._one_pass(groups[-1])
        return groups

    def _one_pass(self, group: Visited) -> None:
        """Let the fits of a group that are running learn every row once, and score the models."""
        stream, fits = group.stream, [fit for fit in group.fits if fit.running]
        if not fits:
            return
        for fit in fits:
            fit.begin_pass(stream.n_rows)
        learning: list[Future[None]] = []
        try:
            for row_batch in stream.row_batches(fits[0].passes):  # the next one is read meanwhile
                self._wait(learning)
                learning = self._start(Fit.learn, fits, row_batch)
        finally:
            self._wait(learning)
        for fit in fits:
            fit.close_pass(stream)
        totals = np.zeros(stream.classes.size)
        for rows in group.held_out():
            self._wait(self._start(Fit.score, fits, rows))
            totals = added(totals, rows.codes, rows.importance)
        self.n_rows, self.baseline = stream.n_rows, float(totals.max() / (totals.sum() or 1.0))
        for fit in fits:
            fit.decide()

    def _start(
        self, work: Callable[..., None], fits: list[Fit], rows: RowBatch
    ) -> list[Future[None]]:
        """Let threads do ``work`` for every fit."""
        return [self._pool.submit(work, fit, rows) for fit in fits]

    def _wait(self, running: list[Future[None]]) -> None:
        """Wait for threads; Ctrl-C takes effect when those that have begun are done."""
        try:
            while wait(running, SECONDS).not_done:
                checkpoint()
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
        left = [model for model in self.ranked if not model.dropped]
        for model in left[(len(left) + 1) // 2 :]:
            if model.running:
                behind, error = model.missed.behind(left[0].missed)
                if behind > guard * error:
                    model.behind = behind, error
