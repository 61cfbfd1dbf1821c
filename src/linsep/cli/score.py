"""The command ``score``: comparing predictions with the labels or numbers in a file."""

from pathlib import Path
from typing import Any

import numpy as np

from linsep.cli import file_options, options, report
from linsep.cli.file_options import Files
from linsep.cli.gaps import gaps_of, unscored_pairs
from linsep.cli.progress import watching
from linsep.cli.screen import print_pairs
from linsep.cli.standard_input import reads_data
from linsep.errors import DataError
from linsep.estimators._common.checking import plain_labels
from linsep.estimators._common.predicting_sources import probabilities_of
from linsep.model_files import format as model_file
from linsep.rows.sample import added
from linsep.sources.base import Source
from linsep.sources.opening import open_source


@reads_data
@file_options.added
def score(
    model: options.ModelIn,
    data: options.Data,
    *,
    files: Files,
    as_json: options.AsJson = False,
) -> None:
    """Compare predictions with the labels in DATA.

    Example: linsep score species.linsep test.csv
    """
    estimator = model_file.load(model)
    source = open_like(estimator, model, data, **files)
    result = score_source(estimator, source)
    if as_json:
        report.print_json(result)
    elif "accuracy" in result:
        report.print_score(result, estimator)
    else:
        print_residuals(result, estimator)


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

    Labels that are not classes of the model are rows of their own, always wrong. Shares are those
    of the weights of the rows.
    """
    k = model.classes_.size
    counts = _Counts(k)
    prediction, squared = model.predictions(source), 0.0
    with watching(source):
        for codes, truth, weights, scores in prediction.compared():
            counts.add(codes, truth, weights)
            squared += float(_squared_errors(model, scores, truth) @ weights)
    rows, right = counts.rows, counts.right
    total, weight = int(rows.sum()), counts.weights.sum()
    if not weight:
        raise DataError(f"{source.name} has no rows to score: all have weight 0.")
    return {
        "rows": total,
        "weight": float(weight) if source.weighted else None,
        "accuracy": counts.weights_right.sum() / weight,
        "brier": float(squared / weight) if hasattr(model, "predict_proba") else None,
        "most_frequent": counts.weights[:k].max() / weight,
        "unknown_labels": int(rows[k]),
        "unknown_values": prediction.unknown,
        **gaps_of(source),
        "classes": [
            {
                "label": label,
                "rows": int(rows[c]),
                "right": int(right[c]),
                "recall": _share(counts.weights_right[c], counts.weights[c]),
                "precision": _share(counts.weights_right[c], counts.weights_claimed[c]),
            }
            for c, label in enumerate(plain_labels(model.classes_))
        ],
    }


def _squared_errors(model: Any, scores: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return the squared error of the probabilities of each row, of two classes that of one."""
    k = model.classes_.size
    if not hasattr(model, "predict_proba"):
        return np.zeros(truth.size)
    errors = probabilities_of(model, scores) - np.eye(k + 1)[truth, :k]
    return (errors**2).sum(axis=1) / (2 if k == 2 else 1)


class _Counts:
    """Rows and their weights by class: all, those predicted right, and those of the prediction.

    ``rows`` and ``weights`` have one entry more, for unknown labels.
    """

    def __init__(self, k: int):
        self.rows, self.weights = np.zeros(k + 1, dtype=np.int64), np.zeros(k + 1)
        self.right, self.weights_right = np.zeros(k, dtype=np.int64), np.zeros(k)
        self.weights_claimed = np.zeros(k)

    def add(self, codes: np.ndarray, truth: np.ndarray, weights: np.ndarray) -> None:
        """Add rows of these predicted and true classes."""
        well, k = codes == truth, self.right.size
        self.rows += np.bincount(truth, minlength=k + 1)
        self.right += np.bincount(codes[well], minlength=k)
        self.weights = added(self.weights, truth, weights)
        self.weights_right = added(self.weights_right, codes[well], weights[well])
        self.weights_claimed = added(self.weights_claimed, codes, weights)


def _share(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None


def score_source(model: Any, source: Source) -> dict[str, Any]:
    """Return scores of the predictions of a source, of classes or numbers."""
    if hasattr(model, "classes_"):
        return score_classes(model, source)
    prediction = model.predictions(source)
    with watching(source):
        found = prediction.residuals()
    return {
        "rows": found.rows,
        "weight": found.weight if source.weighted else None,
        "r_squared": found.r_squared,
        "root_mean_squared_error": float(np.sqrt(found.squared / found.weight)),
        "mean_absolute_error": found.absolute / found.weight,
        "largest_error": found.largest,
        "standard_deviation": float(np.sqrt(found.spread / found.weight)),
        "unknown_values": prediction.unknown,
        **gaps_of(source),
    }


def print_residuals(result: dict[str, Any], model: Any) -> None:
    """Print the output of ``linsep score`` for predictions of numbers."""
    print_pairs(
        [
            ("R^2", f"{result['r_squared']:.6g} of {report.rows_text(result)}"),
            ("rms error", f"{result['root_mean_squared_error']:.6g}"),
            ("mean error", f"{result['mean_absolute_error']:.6g}, without sign"),
            ("largest", f"{result['largest_error']:.6g}"),
            ("baseline", f"{result['standard_deviation']:.6g} rms, always the mean"),
            *unscored_pairs(result, model),
        ]
    )
