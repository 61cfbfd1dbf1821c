"""How good a classifier is on the rows that it learnt from a source, and how good saying always the
same would be.
"""

from typing import Any

import numpy as np

from linsep.engine.sample import Sample
from linsep.engine.stream import SourceFeed
from linsep.sources.arrays import ArraySource
from linsep.theory.data import warn_of_many_classes


def measure(model: Any, feed: SourceFeed, accuracy: float | None = None) -> None:
    """Set what is measured on the rows of the first pass: ``training_accuracy_``,
    ``training_baseline_`` (the share of the most frequent class) and ``training_rows_``.

    ``accuracy`` is that on all rows where it is known; else it is measured on a sample of them.
    """
    feed.source.stage = "measuring"
    sample, counts = feed.sample, feed.sample.counts
    warn_of_many_classes(feed.classes, int(counts.sum()))
    if accuracy is None:
        accuracy, counts = _on_sample(model, feed, sample)
    model.training_accuracy_, model.training_rows_ = accuracy, int(counts.sum())
    model.training_baseline_ = float(counts.max() / max(1, counts.sum()))


def _on_sample(model: Any, feed: SourceFeed, sample: Sample) -> tuple[float | None, np.ndarray]:
    if not sample.counts.any():
        return None, sample.counts
    X, codes = sample.rows(model.n_features_in_)
    source = ArraySource(X, feed.classes[codes])
    right = sum(int((said == truth).sum()) for said, truth in model._prediction(source).compared())
    return right / len(codes), np.bincount(codes, minlength=feed.classes.size)
