"""Fit an online estimator to a source, batch by batch."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import islice
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep._system.interrupts import interrupts_allowed, interrupts_deferred
from linsep._system.threads import in_background
from linsep.batches import joined, weight_totals
from linsep.estimators.labels import (
    check_two_classes,
    is_turned,
    source_labels,
    unknown_offsets,
    warn_of_weightless,
    weigh_classes,
)
from linsep.estimators.reading import Reading, StopReason, describe
from linsep.learners.passes import Course, PassReport, Run, all_passes
from linsep.learners.state import Unlearnable
from linsep.rows.source_stream import SourceStream
from linsep.rows.stored import Sample, StartAgain
from linsep.sources.arrays import ArraySource
from linsep.sources.base import Source
from linsep.validation.checks import warn_of_many_classes


def measure(model: Any, stream: SourceStream, accuracy: float | None = None) -> None:
    """Set ``training_accuracy_``, ``training_baseline_`` (the share of the most frequent class),
    ``training_rows_`` and ``training_sampled_`` (whether these are a sample), measured on the rows
    read, including held-out rows, with row weights. If class weights have made the accuracy worse
    than the baseline, also set ``training_balanced_accuracy_``, which they are meant to raise.

    Without the ``accuracy`` on all rows, a sample is used.
    """
    stream.source.stage = "measuring"
    sample: Sample = stream.sample
    n_rows, totals = int(sample.counts.sum()), sample.totals
    all_rows, weight = n_rows, getattr(model, "class_weight", None)
    counted = totals if stream.source.weighted else np.ones(stream.classes.size)
    if isinstance(weight, dict):
        counted = counted * weigh_classes(weight, stream.classes, totals)
    warn_of_weightless(stream.classes, counted)

    def some() -> ArraySource:
        rows = sample.rows(model.n_features_in_)
        return ArraySource(rows.X, stream.classes[rows.y], rows.weights, offset=rows.offset)

    if accuracy is None and n_rows:
        rows = sample.rows(model.n_features_in_)
        totals = weight_totals(np.zeros(stream.classes.size), rows.y, rows.importance)
        accuracy, n_rows = model.predictions(some()).share_right(), rows.size
    _take(model, accuracy, totals, n_rows, some)
    model.training_sampled_ = n_rows < all_rows


def fit_in_memory(model: Any, source: Source, fit: Callable[..., Any]) -> None:
    """Fit to all rows of a source in memory by ``fit(X, y, weights, groups)``; also set the same,
    and ``support_positions_``, the numbers of support vectors among the rows that were read, where
    ``support_`` has those in the data as given.
    """
    started = perf_counter()
    with interrupts_deferred():
        X, y, _, weights, groups, *_ = joined(list(in_background(source.batches())))
        if sp.issparse(X) and model.__sklearn_tags__().input_tags.pairwise:
            X = X.toarray()
        source_labels(source, y, weights)
        numbers, reading = source.numbers(len(y)), perf_counter() - started
        model.training_accuracy_ = pressed = None
        try:
            with interrupts_allowed():
                fit(X, y, weights, groups)
                # Before feature names are set, because X is an array without names.
                accuracy = model.score(X, y, weights)
                totals = np.bincount(np.unique(y, return_inverse=True)[1], weights)
                _take(model, accuracy, totals, len(y), lambda: ArraySource(X, y, weights))
            model.training_sampled_ = False
        except KeyboardInterrupt as interrupt:
            pressed = interrupt
        if hasattr(model, "progress_"):
            model.progress_.seconds["read"] += reading
        if hasattr(model, "_run"):
            model.support_positions_ = model.support_
            for name in {"support_", "bounded_support_"} & vars(model).keys():
                rows = getattr(model, name)
                setattr(model, name, np.where(rows < 0, rows, numbers[rows]))
            describe(model, source, model.n_features_in_)
        if pressed is not None:
            raise pressed


def _take(
    model: Any, accuracy: float | None, totals: np.ndarray, rows: int,
    some: Callable[[], ArraySource],
) -> None:  # fmt: skip
    model.training_accuracy_, model.training_rows_ = accuracy, rows
    model.training_baseline_ = float(totals.max() / (totals.sum() or 1.0))
    model.training_balanced_accuracy_ = None
    weighted = getattr(model, "class_weight", None) is not None
    if weighted and accuracy is not None and accuracy < model.training_baseline_:
        model.training_balanced_accuracy_ = model.predictions(some()).balanced_accuracy()


def source_stream(estimator: Any, source: Source, saving: Any) -> SourceStream:
    """Return the passes over a source of an online estimator."""
    if source.offsets:
        raise unknown_offsets(source.name)
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
        source,
        **visited,
        seed=estimator.draw_seed(saving),
        keep=estimator.max_iter > 1 or held_out is not None or estimator.keep == "best",
        importance=None if weight is None else partial(weigh_classes, weight, path=source.name),
        counts=weight == "balanced" or learner.needs_width,
        expected=[*expected, *(saving.classes if saving else ())],
        reference=reference,
        lengths=bool(estimator.normalize) or learner.needs_lengths,
    )


def _passes(estimator: Any, course: Course, start: Callable[[], Run]) -> Iterator[PassReport]:
    """Yield one report per pass, each once even if the passes must start again."""
    done = 0
    try:
        while True:
            try:
                with closing(all_passes(estimator, course)) as made:  # type: ignore[type-var]
                    # After a restart, earlier passes give the same reports again.
                    for report in islice(made, done, None):
                        done += 1
                        yield report
                return
            except StartAgain:
                course = replace(course, run=start(), number=0)
    finally:  # what is known of the source must not change while the model is described
        course.stream.stop_reading()


def fit_source(
    estimator: Any, source: Source, coef_init: Any, intercept_init: Any, saving: Any
) -> None:
    """Fit ``estimator`` to a source; also sets ``recipe_`` and the training accuracy."""
    if saving is not None:
        saving.check_source(source)
    stream, learner = source_stream(estimator, source, saving), estimator.learner()

    def start() -> Run:
        check_two_classes(stream.classes, source.name)
        classes = np.sort(stream.classes)
        is_turned(estimator.reference, classes)  # raises an error for an unknown class
        stream.hold_out(estimator.validation_fraction if estimator.early_stopping else None)
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
        warn_of_many_classes(stream.classes, int(stream.sample.counts.sum()))
        measure(estimator, stream, _on_all(estimator, stream))


def fit_stream(
    model: Any, source: Source, read: Callable[[SourceStream], Any],
    learn: Callable[[SourceStream, Any], None], reading: Reading | None = None, **how: Any,
) -> None:  # fmt: skip
    """Fit a classifier to a source; its ``recipe_`` and the training accuracy are set, too.

    ``read`` reads the rows of a stream, again if a class is seen late; ``learn`` gets the stream,
    now described, and what ``read`` returned. Ctrl-C ends ``reading`` early. ``how`` are arguments
    of :class:`SourceStream`.
    """
    stream = SourceStream(source, seed=0, shuffle=False, lengths=True, **how)
    with interrupts_deferred(), closing(stream):
        with interrupts_allowed():
            stream.begin()
        while True:
            stream.start()
            try:
                found = read(stream)
                break
            except StartAgain:
                continue
        check_two_classes(stream.classes, source.name)
        describe(model, stream, stream.n_features)
        warn_of_many_classes(stream.classes, int(stream.sample.counts.sum()))
        learn(stream, found)
        measure(model, stream)
        if reading is not None:
            reading.finish(model, source.name)


def _on_all(estimator: Any, stream: SourceStream) -> float | None:
    """Return the accuracy of the kept weights on all rows; None if the rows would have to be parsed
    again, or predictions may be random.
    """
    run = estimator.fitted_run()
    clean = estimator.stop_reason_ == StopReason.CONVERGED and not run.left_out
    if clean and estimator.keep in ("last", "best"):  # a pass without a mistake
        return 1.0
    row_batches = None if estimator.tie == "random" else stream.every_row()
    if row_batches is None:
        return None
    try:
        wrong, total = run.keeping.errors(run.state, row_batches, estimator.tie)
    except (StartAgain, Unlearnable):  # damaged meanwhile, or a skipped row is too large
        return None
    return 1.0 - wrong / total if total else None
