"""Learning from a source by a kernel, which needs every row again: they are read into memory."""

from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.elsewhere import elsewhere
from linsep.engine.stop import StopReason
from linsep.estimators.labels import check_two_classes
from linsep.interrupts import held, window
from linsep.kernels.naming import described
from linsep.sources.base import Source


def whole(source: Source) -> tuple[Any, np.ndarray]:
    """All rows of a source, as one array or CSR matrix, and their labels."""
    parts: list[Any] = []
    labels: list[Any] = []
    for batch in elsewhere(source.batches()):
        parts.append(batch.X)
        labels.append(batch.y)
    width = parts[-1].shape[1]
    if not any(sp.issparse(part) for part in parts):
        wide = [np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in parts]
        return np.concatenate(wide), np.concatenate(labels)
    for part in parts:
        part.resize(part.shape[0], width)
    return sp.vstack(parts, format="csr"), np.concatenate(labels)


def fit_source(estimator: Any, source: Source) -> None:
    """Fit ``estimator`` to the rows of ``source``; sets ``recipe_`` beside the usual attributes."""
    started = perf_counter()
    estimator.training_accuracy_ = None
    with held():
        X, y = whole(source)
        if sp.issparse(X) and not described(estimator.kernel).sparse:
            X = X.toarray()
        reading = perf_counter() - started
        check_two_classes(np.unique(y), source.name)
        try:
            with window():
                estimator._fit_rows(X, y, None)
            clean = estimator.stop_reason_ == StopReason.CONVERGED and estimator.keep == "last"
            estimator.progress_.stage = "measuring"
            with window():
                # Before the features have names, for those of X, which is an array, have none.
                estimator.training_accuracy_ = 1.0 if clean else estimator.score(X, y)
            estimator.training_rows_ = len(y)
            estimator.training_baseline_ = float(np.unique(y, return_counts=True)[1].max() / len(y))
        finally:
            if hasattr(estimator, "progress_"):
                estimator.progress_.reading += reading
            if hasattr(estimator, "_state"):
                _describe(estimator, source)


def _describe(estimator: Any, source: Source) -> None:
    """Set how the rows of the source became features, and how these are called."""
    estimator.recipe_ = source.recipe()
    estimator.__dict__.pop("feature_names_in_", None)
    if source.feature_names:
        estimator.feature_names_in_ = np.array(source.feature_names, dtype=object)
