"""Fit an estimator to a source: batch by batch, or to all its rows in memory."""

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep._system.interrupts import interrupts_allowed, interrupts_deferred
from linsep._system.threads import in_background
from linsep.batches import joined, weight_totals
from linsep.estimators import labels
from linsep.estimators.frames import describe
from linsep.estimators.reading import Reading, StopReason
from linsep.learners.passes import Course, PassReport, Run, all_passes
from linsep.learners.state import Unlearnable
from linsep.rows.source_stream import SourceStream, StartAgain
from linsep.sources.arrays import ArraySource
from linsep.sources.base import Source
from linsep.validation.checks import warn_of_many_classes


def _measure(model: Any, stream: SourceStream, accuracy: float | None = None) -> None:
    """Measure a fit on all rows read, or without its ``accuracy`` on them, on a sample."""
    stream.source.stage = "measuring"
    sample, weight = stream.sample, getattr(model, "class_weight", None)
    n_rows, totals = int(sample.counts.sum()), sample.totals
    warn_of_many_classes(stream.classes, n_rows)
    counted = totals if stream.source.weighted else np.ones(stream.classes.size)
    if isinstance(weight, dict):
        counted = counted * labels.weigh_classes(weight, stream.classes, totals)
    labels.warn_of_weightless(stream.classes, counted)
    some = sample.rows(model.n_features_in_)
    rows = ArraySource(some.X, stream.classes[some.y], some.weights, offset=some.offset)
    measured = n_rows
    if accuracy is None:
        accuracy, measured = model.predictions(rows).accuracies()[0], some.size
        totals = weight_totals(np.zeros(stream.classes.size), some.y, some.importance)
    _measured(model, accuracy, totals, rows, measured)
    model.training_sampled_ = measured < n_rows


def _measured(
    model: Any, accuracy: float | None, totals: np.ndarray, rows: ArraySource, n_rows: int
) -> None:
    # Class weights are meant to raise the balanced accuracy.
    baseline, balanced = float(totals.max() / (totals.sum() or 1.0)), None
    weighted = getattr(model, "class_weight", None) is not None
    if weighted and accuracy is not None and accuracy < baseline:
        balanced = model.predictions(rows).accuracies()[1]
    model.training_accuracy_, model.training_baseline_ = accuracy, baseline
    model.training_balanced_accuracy_, model.training_rows_ = balanced, n_rows


def fit_in_memory(model: Any, source: Source, fit: Callable[..., Any]) -> None:
    """Fit to all rows of a source in memory by ``fit(X, y, weights, groups)``, and measure the fit;
    ``support_`` are rows in the data as given, ``support_positions_`` among those that were read.
    """
    started = perf_counter()
    with interrupts_deferred():
        X, y, _, weights, groups, *_ = joined(list(in_background(source.batches())))
        if sp.issparse(X) and model.__sklearn_tags__().input_tags.pairwise:
            X = X.toarray()
        labels.source_labels(source, y, weights)
        numbers, reading = source.numbers(len(y)), perf_counter() - started
        model.training_accuracy_ = None
        try:
            with interrupts_allowed():
                fit(X, y, weights, groups)
                # Before feature names are set, because X is an array without names.
                totals = np.bincount(np.unique(y, return_inverse=True)[1], weights)
                accuracy, rows = model.score(X, y, weights), ArraySource(X, y, weights)
                _measured(model, accuracy, totals, rows, len(y))
            model.training_sampled_ = False
        finally:  # also after Ctrl-C
            if hasattr(model, "progress_"):
                model.progress_.seconds["read"] += reading
            if hasattr(model, "_run"):
                model.support_positions_ = model.support_
                for name in {"support_", "bounded_support_"} & vars(model).keys():
                    setattr(model, name, numbers[getattr(model, name)])
                describe(model, source, model.n_features_in_)


def source_stream(estimator: Any, source: Source, saving: Any) -> SourceStream:
    """Return the passes over a source of an online estimator."""
    if source.offsets:
        raise labels.unknown_offsets(source.name)
    learner, weight, reference = estimator.learner(), estimator.class_weight, estimator.reference
    held_out = estimator.validation_fraction if estimator.early_stopping else None
    visited: dict[str, Any] = {
        "shuffle": bool(estimator.shuffle), "unit": bool(estimator.normalize), "fraction": held_out,
    }  # fmt: skip
    if source.kept_rows is not None:
        kept: SourceStream = source.kept_rows.again(**visited)
        return kept
    # Classes named by a parameter or the fit to resume are expected before the first row.
    expected = list(weight) if isinstance(weight, dict) else []
    expected += [] if reference is None else [reference]
    return SourceStream(
        source, **visited, seed=estimator.draw_seed(saving), reference=reference,
        keep=estimator.max_iter > 1 or held_out is not None or estimator.keep == "best",
        importance=None
        if weight is None else partial(labels.weigh_classes, weight, path=source.name),
        counts=weight == "balanced" or learner.needs_width,
        expected=[*expected, *(saving.classes if saving else ())],
        lengths=bool(estimator.normalize) or learner.needs_lengths,
    )  # fmt: skip


def _passes(estimator: Any, course: Course, start: Callable[[], Run]) -> Iterator[PassReport]:
    try:
        while True:
            try:
                yield from all_passes(estimator, course)
                return
            except StartAgain:  # a class was seen late
                course = replace(course, run=start(), number=0)
    finally:  # what is known of the source must not change while the model is described
        course.stream.stop_reading()


def fit_source(
    estimator: Any, source: Source, coef_init: Any, intercept_init: Any, saving: Any
) -> None:
    """Fit an online estimator to a source, batch by batch; the fit is described and measured."""
    if saving is not None:
        saving.check_source(source)
    stream, learner = source_stream(estimator, source, saving), estimator.learner()

    def start() -> Run:
        labels.check_two_classes(stream.classes, source.name)
        classes = np.sort(stream.classes)
        labels.is_turned(estimator.reference, classes)  # raises an error for an unknown class
        stream.start()
        width, names = stream.n_features, stream.feature_names
        if coef_init is not None:
            # The width of svmlight text is known only at its end, and may be another.
            width = (1, *np.shape(coef_init))[-1] if names is None else len(names)
        run: Run = estimator.start_run(learner, classes, width, coef_init, intercept_init)
        run.seed = stream.seed
        return run

    estimator.training_accuracy_ = None
    with interrupts_deferred(), closing(stream):
        started = perf_counter()
        stream.begin()
        course = Course(start(), stream, estimator.tie, estimator.max_iter, saving)
        course.seconds["read"] = perf_counter() - started
        try:
            estimator.run_passes(course, _passes(estimator, course, start))
        except Unlearnable as problem:
            raise problem.in_source(source) from None
        finally:
            if hasattr(estimator, "_run"):
                state = estimator.fitted_run().state
                describe(estimator, stream, max(stream.n_features, state.n_features))
                # After an interrupt, rows that were read but not learned may have more features.
                state.grow(estimator.n_features_in_)
        run, accuracy = estimator.fitted_run(), None
        clean = estimator.stop_reason_ == StopReason.CONVERGED and not run.left_out
        # Rows are not parsed again, and random predictions are those of the estimator.
        rows = None if estimator.tie == "random" else stream.training_rows("all")
        if clean and estimator.keep in ("last", "best"):  # a pass without a mistake
            accuracy = 1.0
        elif rows is not None:
            with suppress(StartAgain, Unlearnable):  # a row that was skipped may be too large
                accuracy = run.keeping.accuracy(run.state, rows, estimator.tie)
        _measure(estimator, stream, accuracy)


def fit_stream(
    model: Any, source: Source, read: Callable[[SourceStream], Any],
    learn: Callable[[SourceStream, Any], None], reading: Reading | None = None, **how: Any,
) -> None:  # fmt: skip
    """Fit a classifier to a source; the fit is described and measured.

    ``read`` reads the rows of a stream, again if a class is seen late, and ``learn`` gets what it
    returned. Ctrl-C ends ``reading`` early. ``how`` are arguments of :class:`SourceStream`.
    """
    stream = SourceStream(source, seed=0, shuffle=False, lengths=True, **how)
    with interrupts_deferred(), closing(stream):
        with interrupts_allowed():
            stream.begin()
        found = None
        while found is None:
            stream.start()
            with suppress(StartAgain):
                found = read(stream)
        labels.check_two_classes(stream.classes, source.name)
        describe(model, stream, stream.n_features)
        learn(stream, found)
        _measure(model, stream)
        if reading is not None:
            reading.finish(model, source.name)
