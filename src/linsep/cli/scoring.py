"""Predictions of a model beside the labels in a file: accuracy, recall, precision."""

from pathlib import Path
from typing import Any

import numpy as np

from linsep.cli.progress import watching
from linsep.cli.screen import plain_labels
from linsep.errors import DataError
from linsep.sources.base import Source
from linsep.sources.opening import open_source


def open_like(model: Any, path: Path | None, data: list[str], **how: Any) -> Source:
    """The files ``data``, read the way the model's training data were.

    ``how`` is what :func:`linsep.open_source` takes besides: the format and so on.
    """
    if not hasattr(model, "recipe_"):
        raise DataError(
            f"{path} was not learnt from a file, so linsep does not know how to read one for it; "
            "use it in Python."
        )
    return open_source(data, recipe=model.recipe_, **how)


def score_classes(model: Any, source: Source) -> dict[str, Any]:
    """Accuracy over all rows and, for each class, how many there are, were right, were predicted.

    A label that is no class of the model counts as a row of its own that is always wrong.
    """
    k = model.classes_.size
    rows = np.zeros(k + 1, dtype=np.int64)
    right, claimed = np.zeros(k, dtype=np.int64), np.zeros(k, dtype=np.int64)
    prediction = model._prediction(source)
    with watching(source):
        for codes, truth in prediction.compared():
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
        "unknown_values": prediction.unknown,
        "rows_dropped": source.dropped,
        "classes": [
            {
                "label": label,
                "rows": int(rows[c]),
                "right": int(right[c]),
                "recall": right[c] / rows[c] if rows[c] else None,
                "precision": right[c] / claimed[c] if claimed[c] else None,
            }
            for c, label in enumerate(plain_labels(model.classes_))
        ],
    }
