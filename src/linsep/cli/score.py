"""The command ``score``: comparing predictions with the labels or numbers in a file."""

from pathlib import Path
from typing import Any

import numpy as np

from linsep.cli import options, report
from linsep.cli.progress import watching
from linsep.cli.report import unscored_pairs
from linsep.cli.screen import count, plain_labels, print_pairs
from linsep.cli.standard_input import reads_data
from linsep.errors import DataError
from linsep.model_files import format as model_file
from linsep.sources.base import Source
from linsep.sources.opening import open_source


@reads_data
def score(
    model: options.ModelIn,
    data: options.Data,
    *,
    format: options.DataFormat = None,
    delimiter: options.Delimiter = None,
    max_line: options.MaxLine = None,
    as_json: options.AsJson = False,
) -> None:
    """Compare predictions with the labels in DATA.

    Example: linsep score species.linsep test.csv
    """
    estimator = model_file.load(model)
    source = open_like(
        estimator, model, data, format=format, delimiter=delimiter, max_line=max_line
    )
    result = score_source(estimator, source)
    if as_json:
        report.print_json(result)
    elif "accuracy" in result:
        report.print_score(result)
    else:
        print_residuals(result)


def open_like(model: Any, path: Path | None, data: list[str], **how: Any) -> Source:
    """Open files to be read like the model's training data.

    ``how`` are further arguments of :func:`linsep.open_source`.
    """
    if not hasattr(model, "recipe_"):
        raise DataError(
            f"{path} was not learnt from a file, so linsep does not know how to read one for it; "
            "use it in Python."
        )
    return open_source(data, recipe=model.recipe_, **how)


def score_classes(model: Any, source: Source) -> dict[str, Any]:
    """Return the accuracy and, for each class, counts of rows, right rows and predictions.

    Labels that are not classes of the model are rows of their own, always wrong.
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


def score_source(model: Any, source: Source) -> dict[str, Any]:
    """Return scores of the predictions of a source, of classes or numbers."""
    if hasattr(model, "classes_"):
        return score_classes(model, source)
    prediction = model._prediction(source)
    with watching(source):
        found = prediction.residuals()
    return {
        "rows": found.rows,
        "r_squared": found.r_squared,
        "root_mean_squared_error": float(np.sqrt(found.squared / found.rows)),
        "mean_absolute_error": found.absolute / found.rows,
        "largest_error": found.largest,
        "standard_deviation": float(np.sqrt(found.spread / found.rows)),
        "unknown_values": prediction.unknown,
        "rows_dropped": source.dropped,
    }


def print_residuals(result: dict[str, Any]) -> None:
    """Print the output of ``linsep score`` for predictions of numbers."""
    print_pairs(
        [
            ("R^2", f"{result['r_squared']:.6g} of {count(result['rows'], 'row')}"),
            ("rms error", f"{result['root_mean_squared_error']:.6g}"),
            ("mean error", f"{result['mean_absolute_error']:.6g}, without sign"),
            ("largest", f"{result['largest_error']:.6g}"),
            ("baseline", f"{result['standard_deviation']:.6g} rms, always the mean"),
            *unscored_pairs(result),
        ]
    )
