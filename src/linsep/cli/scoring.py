"""Predictions of a model beside the labels in a file: accuracy, recall, precision."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from linsep.cli.progress import watching
from linsep.engine.decide import predicted
from linsep.errors import DataError
from linsep.estimators.from_source import decisions
from linsep.sources.base import Batch, Source
from linsep.sources.opening import open_source


def open_like(model: Any, path: Path | None, data: list[str], labelled: bool) -> Source:
    """The files ``data``, read the way the model's training data were."""
    if not hasattr(model, "recipe_"):
        raise DataError(
            f"{path} was not learnt from a file, so linsep does not know how to read one for it; "
            "use it in Python."
        )
    return open_source(data, recipe=model.recipe_, labelled=labelled)


def predictions(model: Any, source: Source) -> Iterator[tuple[Batch, np.ndarray, np.ndarray]]:
    """Each batch with its decision values and class codes, the same however it is cut."""
    draws = check_random_state(model.random_state) if model.tie == "random" else None
    for batch, values in decisions(model, source):
        yield batch, values, predicted(values, model.tie, draws)


def score_source(model: Any, source: Source) -> dict[str, Any]:
    """Accuracy over all rows and, for each class, how many there are, were right, were predicted.

    A label that is no class of the model counts as a row of its own that is always wrong.
    """
    k = model.classes_.size
    rows = np.zeros(k + 1, dtype=np.int64)
    right, claimed = np.zeros(k, dtype=np.int64), np.zeros(k, dtype=np.int64)
    with watching(source):
        for batch, _, codes in predictions(model, source):
            truth = true_codes(model.classes_, batch.y, source)
            rows += np.bincount(truth, minlength=k + 1)
            right += np.bincount(codes[codes == truth], minlength=k)
            claimed += np.bincount(codes, minlength=k)
    total = int(rows.sum())
    if total == 0:
        raise DataError(f"{source.name} has no rows to score.")
    return {
        "rows": total,
        "accuracy": right.sum() / total,
        "most_frequent": rows[:k].max() / total,
        "unknown_labels": int(rows[k]),
        "classes": [
            {
                "label": label.item() if isinstance(label, np.generic) else label,
                "rows": int(rows[c]),
                "right": int(right[c]),
                "recall": right[c] / rows[c] if rows[c] else None,
                "precision": right[c] / claimed[c] if claimed[c] else None,
            }
            for c, label in enumerate(model.classes_)
        ],
    }


def true_codes(classes: np.ndarray, y: np.ndarray | None, source: Source) -> np.ndarray:
    """Class code of each label; labels that are no class get the number of classes."""
    if y is None:
        raise DataError(f"{source.name} has no labels to compare predictions with.")
    text = classes.dtype.kind in "UO", y.dtype.kind in "UO"
    if text[0] != text[1]:
        raise DataError(
            f"{source.name} has {'text' if text[1] else 'numbers'} for labels, but the model "
            f"learnt {'text' if text[0] else 'numbers'}: is it the right file and column?"
        )
    codes = np.searchsorted(classes, y)
    codes[codes == classes.size] = 0
    return np.where(classes[codes] == y, codes, classes.size)
