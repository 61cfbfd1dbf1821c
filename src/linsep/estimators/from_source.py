"""Learning from a source: the same run, fed batch by batch."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.compiled.rows import as_rows
from linsep.engine.loop import NotFinite, PassReport, Plan, accuracy, passes
from linsep.engine.stop import StopReason
from linsep.engine.stream import SourceFeed, StartAgain
from linsep.errors import DataError
from linsep.estimators.decide import decision
from linsep.estimators.labels import check_two_classes, weigh_classes
from linsep.sources.base import Batch, Source


def class_importance(class_weight: Any) -> Callable[[np.ndarray, np.ndarray | None], np.ndarray]:
    """What a row of each class counts, as a function of the classes and their row counts."""

    def weights(classes: np.ndarray, counts: np.ndarray | None) -> np.ndarray:
        if counts is not None:
            return counts.sum() / (classes.size * counts)
        return weigh_classes(class_weight, classes, classes)

    return weights


def fit_source(estimator: Any, source: Source, coef_init: Any, intercept_init: Any) -> None:
    """Fit ``estimator`` to the rows of ``source``; sets ``recipe_`` beside the usual attributes."""
    weighted = estimator.class_weight is not None
    held_out = estimator.validation_fraction if estimator.early_stopping else None
    feed = SourceFeed(
        source,
        seed=estimator._seed(),
        shuffle=bool(estimator.shuffle),
        keep=estimator.max_iter > 1 or held_out is not None,
        fraction=held_out,
        importance=class_importance(estimator.class_weight) if weighted else None,
        counts=estimator.class_weight == "balanced" if weighted else False,
    )
    with closing(feed):
        feed.begin()

        def start() -> None:
            check_two_classes(feed.classes)
            feed.start()
            width = 0 if coef_init is None else np.shape(coef_init)[-1]
            estimator._start(feed.classes, max(feed.n_features, width), coef_init, intercept_init)

        def run(plan: Plan) -> Iterator[PassReport]:
            while True:
                try:
                    yield from passes(
                        estimator._state, estimator._rule(), feed, plan, estimator.progress_
                    )
                    return
                except StartAgain:
                    start()

        start()
        try:
            estimator._run(run, None, None, None)
        except NotFinite as problem:
            where = source.name if problem.row is None else source.where(problem.row)
            raise DataError(
                f"{where}: the score is beyond floating point; scale the features."
            ) from None
        finally:
            _describe(estimator, feed)
        estimator.training_accuracy_ = _training_accuracy(estimator, feed)


def _training_accuracy(estimator: Any, feed: SourceFeed) -> float | None:
    """Accuracy of the final weights on the rows learnt, None if they would be parsed again."""
    if estimator.stop_reason_ == StopReason.CONVERGED and not estimator.early_stopping:
        return 1.0
    visits = feed.learnt()
    return None if visits is None else accuracy(estimator._state, visits, estimator.tie)


def _describe(estimator: Any, feed: SourceFeed) -> None:
    """Set what is known of the features once they have been read."""
    if not hasattr(estimator, "_state"):
        return
    estimator.n_features_in_ = estimator._state.n_features
    estimator.recipe_ = feed.recipe()
    estimator.__dict__.pop("feature_names_in_", None)
    if feed.feature_names:
        estimator.feature_names_in_ = np.array(feed.feature_names, dtype=object)


def decisions(estimator: Any, source: Source) -> Iterator[tuple[Batch, np.ndarray]]:
    """Each batch of ``source`` with its decision values, as decision_function gives them.

    Rows may be narrower or wider than the model: features that learning never saw have no weight.
    """
    state = estimator._state
    for batch in source.batches():
        scores = state.scores(as_rows(fitted_width(batch.X, state.n_features)), batch.X.shape[0])
        if not np.isfinite(scores).all():
            row = int(np.argwhere(~np.isfinite(scores))[0, 0])
            where = source.where(batch.first + row)
            raise DataError(f"{where}: the score is beyond floating point; scale the features.")
        yield batch, decision(state, scores)


def fitted_width(X: Any, n_features: int) -> Any:
    """X with columns beyond the model's left out; missing ones are zeros that need no room."""
    if X.shape[1] <= n_features or not sp.issparse(X):
        return X
    return X[:, :n_features]
