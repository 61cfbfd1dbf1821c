"""Learning from a source: the same run, batch by batch."""

import copy
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from linsep.errors import DataError
from linsep.estimators._common.checking import (
    check_two_classes,
    listed,
    warn_of_weightless,
    weigh_classes,
)
from linsep.interrupts import held, window
from linsep.online.learner import Unlearnable
from linsep.online.passes import PassReport, Plan, StopReason, accuracy, passes
from linsep.online.rows.array import RowBatch
from linsep.online.rows.sample import Sample
from linsep.online.rows.stream import SourceStream, StartAgain
from linsep.separability.problem.data import warn_of_many_classes
from linsep.sources.arrays import ArraySource
from linsep.sources.base import Source


class Measured(NamedTuple):
    """The share of some rows that are predicted rightly, None of no rows, and how many of them each
    class has.
    """

    accuracy: float | None
    counts: np.ndarray


def measure(model: Any, stream: SourceStream, on_all: Measured | None = None) -> None:
    """Set what is measured on the rows read, held-out ones and those of weight 0 among them:
    ``training_accuracy_``, ``training_baseline_`` (the share of the most frequent class),
    ``training_rows_`` and ``training_sampled_``, whether these are a sample of the rows.

    A sample is measured where it is not known how the model does ``on_all`` rows.
    """
    stream.source.stage = "measuring"
    total = int(stream.sample.counts.sum())
    warn_of_many_classes(stream.classes, total)
    accuracy, counts = on_all or _on_sample(model, stream)
    model.training_accuracy_, model.training_rows_ = accuracy, int(counts.sum())
    model.training_baseline_ = float(counts.max() / max(1, counts.sum()))
    model.training_sampled_ = model.training_rows_ < total


def _on_sample(model: Any, stream: SourceStream) -> Measured:
    sample: Sample = stream.sample
    if not sample.counts.any():
        return Measured(None, sample.counts)
    X, codes = sample.rows(model.n_features_in_)
    source = ArraySource(X, stream.classes[codes])
    right = sum(int((said == truth).sum()) for said, truth in model._prediction(source).compared())
    return Measured(right / len(codes), np.bincount(codes, minlength=stream.classes.size))


def class_importance(
    class_weight: Any, name: str
) -> Callable[[np.ndarray, np.ndarray | None], np.ndarray]:
    """What a row of each class of the source ``name`` counts, by classes and their row counts."""

    told = False

    def weights(classes: np.ndarray, counts: np.ndarray | None) -> np.ndarray:
        nonlocal told
        if isinstance(class_weight, dict):
            known = classes.tolist()
            strangers = [label for label in class_weight if label not in known]
            if strangers and not class_weight.keys() >= set(known):
                raise DataError(
                    f"A class weight is given for {listed(strangers)}, which is no class of "
                    f"{name}: its classes are {listed(known)}."
                )
        found = weigh_classes(class_weight, classes, counts)
        if not told:  # passes may start again
            warn_of_weightless(classes, found)
        told = True
        return found

    return weights


def refuse_one_class(stream: SourceStream) -> None:
    """Raise DataError where there is nothing to tell apart."""
    check_two_classes(stream.classes, stream.source.name)


def fit_source(estimator: Any, source: Source, coef_init: Any, intercept_init: Any) -> None:
    """Fit ``estimator`` to the rows of ``source``; sets ``recipe_`` beside the usual attributes."""
    run = SourceRun(estimator, source, coef_init, intercept_init)
    estimator.training_accuracy_ = None
    with held(), closing(run.stream):
        started = perf_counter()
        run.stream.begin()
        run.start()
        reading = perf_counter() - started
        try:
            estimator._run(run.passes, None, None, None)
        except Unlearnable as problem:
            where = source.name if problem.row is None else source.where(problem.row)
            bad = problem.bad
            said = str(problem) if bad is None else bad.said_of(source.feature(bad.column))
            raise DataError(f"{where}: {said}.") from None
        finally:
            estimator.progress_.reading += reading
            _describe(estimator, run.stream)
        estimator.progress_.stage = "measuring"
        measure(estimator, run.stream, _on_all(run))


class SourceRun:
    """The passes of one fit over a source, and how they start again."""

    def __init__(self, estimator: Any, source: Source, coef_init: Any, intercept_init: Any):
        self.estimator, self.coef_init, self.intercept_init = estimator, coef_init, intercept_init
        self.learner = estimator._learner()
        self.before = estimator.__dict__.get("_state") if estimator.warm_start else None
        weight = estimator.class_weight
        held_out = estimator.validation_fraction if estimator.early_stopping else None
        # Classes that somebody spoke of should be known before learning.
        expected = [] if self.before is None else estimator.classes_.tolist()
        expected += list(weight) if isinstance(weight, dict) else []
        self.stream = SourceStream(
            source,
            seed=estimator._seed(),
            shuffle=bool(estimator.shuffle),
            keep=estimator.max_iter > 1 or held_out is not None or estimator.keep == "best",
            fraction=held_out,
            importance=None if weight is None else class_importance(weight, source.name),
            counts=weight == "balanced" or self.learner.needs_width,
            expected=expected,
            unit=bool(estimator.normalize),
            lengths=bool(estimator.normalize) or self.learner.needs_lengths,
        )

    def start(self) -> None:
        """Fix the classes and make the first state."""
        stream, estimator = self.stream, self.estimator
        refuse_one_class(stream)
        stream.start()
        if self.before is not None:  # untouched, for each new start
            estimator._state = copy.deepcopy(self.before)
        elif estimator.warm_start:
            estimator.__dict__.pop("_state", None)
        # Initial weights may be narrower than the source: how wide that is shows at its end.
        width = stream.n_features if self.coef_init is None else (1, *np.shape(self.coef_init))[-1]
        self.run = estimator._start(
            self.learner, stream.classes, width, self.coef_init, self.intercept_init
        )

    def passes(self, plan: Plan) -> Iterator[PassReport]:
        """A report a pass, each told once even where the passes have to start again."""
        estimator, told = self.estimator, 0
        while True:
            made = passes(self.run, self.stream, plan, estimator.progress_)
            try:
                with closing(made):  # type: ignore[type-var]
                    for report in made:
                        # After a new start, what was told already comes out the same.
                        if report.number < told and report.stop_reason is None:
                            estimator._passes.append(report)
                            continue
                        told += 1
                        yield report
                return
            except StartAgain:
                self.start()


def _on_all(run: SourceRun) -> Measured | None:
    """How the weights kept do on all rows; None where these would be parsed again, and where a
    prediction is drawn.
    """
    estimator, stream = run.estimator, run.stream
    if knows_all_rows(estimator):
        return Measured(1.0, stream.sample.counts)
    row_batches = None if estimator.tie == "random" else stream.every_row()
    if row_batches is None:
        return None
    counts = np.zeros(stream.classes.size, dtype=np.int64)
    try:
        right = accuracy(run.run, _counting(row_batches, counts), estimator.tie)
    except (StartAgain, Unlearnable):  # damaged since, or a row that was not learnt is too large
        return None
    return Measured(right, counts)


def knows_all_rows(estimator: Any) -> bool:
    """Whether a clean pass over all rows has shown that the weights kept predict each rightly."""
    converged = estimator.stop_reason_ == StopReason.CONVERGED
    return converged and estimator.keep in ("last", "best") and not estimator._left_out


def _counting(row_batches: Iterator[RowBatch], counts: np.ndarray) -> Iterator[RowBatch]:
    """The same batches; the rows of each class are added to ``counts``."""
    for row_batch in row_batches:
        counts += np.bincount(row_batch.codes, minlength=counts.size)
        yield row_batch


def _describe(estimator: Any, stream: SourceStream) -> None:
    """Set what is known of the features once they have been read."""
    if not hasattr(estimator, "_state"):
        return
    names = stream.feature_names or []
    # When interrupted, rows may have been read that were not learnt, and showed more features.
    estimator._state.grow(max(stream.n_features, len(names)))
    estimator.n_features_in_ = estimator._state.n_features
    estimator.recipe_ = stream.recipe()
    estimator.__dict__.pop("feature_names_in_", None)
    if names:
        estimator.feature_names_in_ = np.array(names, dtype=object)


class Reading:
    """Readings of the rows of a source; Ctrl-C in the first ends it, and later ones end there too.

    To be used within :class:`linsep.interrupts.held`, so that it takes effect nowhere else. In a
    later reading, or before the first row, it is raised: what was read is no use then.

    Attributes
    ----------
    interrupted : bool
    rows : int, how many were read by the last reading
    """

    def __init__(self) -> None:
        self.interrupted, self.rows = False, 0
        self._limit: int | None = None
        self._whole = False

    def of(self, items: Iterator[Any]) -> Generator[Any, None, None]:
        """The same items as long as nobody interrupts; :meth:`count` is told their rows."""
        self.rows = 0
        with closing(items):  # type: ignore[type-var]
            while self._limit is None or self.rows < self._limit:
                try:
                    with window():
                        item = next(items, None)
                except KeyboardInterrupt:
                    if self._whole or self._limit is not None or not self.rows:
                        raise
                    self._limit, self.interrupted = self.rows, True
                    return
                if item is None:
                    self._whole = True
                    return
                yield item

    def count(self, rows: int) -> None:
        """Note that so many rows were taken in."""
        self.rows += rows

    def tell(self, model: Any, name: str) -> None:
        """Say of a model that was interrupted what its estimates are, and let Ctrl-C go on."""
        model.stop_reason_ = StopReason.INTERRUPTED
        warnings.warn(
            f"The reading was interrupted: the estimates are those of the first {self.rows:,} rows "
            f"of {name}.",
            stacklevel=4,
        )
        raise KeyboardInterrupt
