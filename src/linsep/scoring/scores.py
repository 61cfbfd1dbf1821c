"""Scores of predictions as plain JSON: what ``linsep score --json`` prints."""

from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linsep.errors import ArgumentError, DataError
from linsep.estimators.frames import source_of, with_columns
from linsep.estimators.labels import plain_labels
from linsep.scoring.intervals import intervals_of
from linsep.scoring.metrics import baselines_of, confusion, metrics_of
from linsep.scoring.rows import Scored, answers, answers_in_memory, collected
from linsep.sources.base import Source, is_frame
from linsep.sources.opening import open_source
from linsep.sources.tables.frames import to_arrow

#: classes up to which the confusion matrix is whole
MOST_CLASSES = 100
#: most frequent confusions
MOST_CONFUSIONS = 20


def score(
    model: Any, data: Any, *, target: str | None = None, metrics: str | Iterable[str] | None = None,
    sample_weight: Any = None, groups: Any = None, offset: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """Score the predictions of a model on labeled rows; return plain JSON.

    Parameters
    ----------
    model : estimator or path
        A fitted estimator of linsep, or the file of a saved one.
    data : data frame, path or list of paths, Source, or tuple (X, y)
        Frames, files, folders, globs and URLs have the model's columns and are read like its
        training data.
    target : str, default None
        The label column; None means the label column of the training data.
    metrics : str or list of str, default None
        The metrics to return; None means all. For classes: "accuracy", "balanced_accuracy", "f1"
        (of the positive of two classes), "f1_macro", "f1_weighted", "mcc" (Matthews' correlation),
        "log_loss", "brier", "roc_auc" and "average_precision" (of the positive class; for several
        classes the mean over each against the others; for more than 100 classes only if named). For
        numbers: "r2", "rmse", "mae" and "max_error".
    sample_weight : array of shape (rows,) or str, default None
        Weights of the rows of a frame or (X, y), or the name of their column; None means the
        weight column of the training data, if there was one.
    groups : array of shape (rows,) or str, default None
        Groups of the same rows, or the name of their column. Intervals then resample whole groups.
    offset : array of shape (rows,), default None
        Offsets of the rows of (X, y), for regressions fitted with offsets; other data have offsets
        in a column.

    Returns
    -------
    dict
        "metrics" has for each name its "value", the "baseline" (of a model that predicts the most
        frequent class of these rows with the shares of the classes, or the mean) and the
        "interval", of two ends. "undefined" has the reason for each value that is None,
        "intervals" the method of the intervals, and "confusion" the "labels" and the "matrix", with
        a row for each true class. Other keys have the accuracy, or R^2 and errors, of all rows, and
        counts of rows and classes. See docs/how-to/metrics.md.

    Raises
    ------
    TypeError
        If the model or the data have another type.
    ParameterError
        For a name that is not a metric of such predictions.
    DataError
        If rows have no labels, or all have weight 0; for a named metric that is not defined.

    Examples
    --------
    >>> import linsep
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris(as_frame=True).frame
    >>> model = linsep.fit(iris[::2], target="target", learner="logistic", l2=1)
    >>> found = linsep.score(model, iris[1::2], metrics=["accuracy", "log_loss"])
    >>> found["metrics"]["accuracy"]["value"], found["metrics"]["accuracy"]["baseline"]
    (0.96, 0.3333333333333333)
    """
    if isinstance(model, str | Path):
        from linsep.model_files import loaded

        model = loaded(Path(model))
    if not hasattr(model, "predictions"):
        kind = type(model).__name__
        raise ArgumentError(f"model is of type {kind}: pass one that linsep fitted, or its path.")
    check_is_fitted(model)
    names = [metrics] if isinstance(metrics, str) else metrics
    beside = {"sample_weight": sample_weight, "groups": groups}
    columns = {"target": target, **beside, "offset": offset}
    if (source := source_of(data, offsets=True, **columns)) is not None:
        return scores_of(model, source, names)
    if isinstance(data, tuple) and len(data) == 2:
        if named := [name for name, value in columns.items() if isinstance(value, str)]:
            raise ArgumentError(f"{named[0]} names a column of (X, y): pass one value per row.")
        return _scores([answers_in_memory(model, *data, **beside, offset=offset)], "X", names)
    if offset is not None:
        raise ArgumentError("Offsets of a table or of files are a column: leave offset out.")
    return scores_of(model, _opened(model, data, target, beside), names)


def _opened(model: Any, data: Any, target: str | None, beside: dict[str, Any]) -> Source:
    recipe, table = getattr(model, "recipe_", None) or {"format": "arrays"}, is_frame(data)
    if recipe["format"] == "arrays" or not (table or isinstance(data, str | Path | list)):
        raise ArgumentError(
            f"data is of type {type(data).__name__}: pass what the model learned, rows and labels "
            "as (X, y), or a table or files."
        )
    roles = {"target": target, "weight": beside["sample_weight"], "group": beside["groups"]}
    arrays = {n: v for n, v in beside.items() if v is not None and not isinstance(v, str)}
    if arrays and not table:
        raise ArgumentError(f"{min(arrays)} of files is a column: pass its name.")
    if arrays:
        data, added = with_columns(to_arrow(data), arrays)
        roles |= added
    return open_source(data, recipe=recipe_with(recipe, **roles), target=target)


def recipe_with(recipe: dict[str, Any], **roles: str | None) -> dict[str, Any]:
    """Return a recipe that reads the target, weight or group from columns of these names."""
    named = {role: name for role, name in roles.items() if name is not None}
    if not named:
        return recipe
    if recipe["format"] != "table":
        column = min(named.values())
        why = f"'{column}' is not a column: the model was trained on rows without column names"
        raise DataError(why, "leave it out", code="unknown-column", column=column)
    found = recipe | named
    if "target" in named:  # instead of counts, and read like the other target
        called = {recipe.get("target"): named["target"]}
        how = recipe.get("converted", {}).items()
        found |= dict.fromkeys({"successes", "trials"} & recipe.keys())
        found["categorical"] = [called.get(n, n) for n in recipe.get("categorical", ())]
        found["converted"] = {called.get(n, n): kind for n, kind in how}
    return found


def gaps_of(source: Source, unread: Container[str] = ()) -> dict[str, Any]:
    """Return what the last reading left out or replaced, as plain JSON; ``unread`` are columns of
    the model that are not needed.
    """
    gaps = {"rows_dropped": source.dropped, "values_filled": dict(source.filled)}
    ignored = {x: where for x, where in source.ignored.items() if x not in unread}
    # a field that the model does not have may be a misspelling of another that is missing
    return gaps | {"fields_ignored": ignored if any(gaps.values()) else {}}


def scores_of(model: Any, source: Source, metrics: Iterable[str] | None = None) -> dict[str, Any]:
    """Return scores of the predictions of a source as plain JSON; metrics by name, else all."""
    prediction, unknown = model.predictions(source), list[str]()
    found = _scores(answers(prediction, unknown), source.name, metrics)
    if unknown:  # known after the reading
        found["first_unknown_label"] = unknown[0]
    return found | {"unknown_values": prediction.unknown, **gaps_of(source)}


def _scores(parts: Iterable[Scored], name: str, names: Iterable[str] | None) -> dict[str, Any]:
    # of rows as they come: all are summed up, and enough are kept for metrics
    sums, undefined = list[Any](), dict[str, str]()
    rows, chosen = collected(_summed(parts, sums), name), None if names is None else list(names)
    values = metrics_of(rows, chosen, undefined)
    baselines, (ends, about) = baselines_of(rows, chosen), intervals_of(rows, values)
    return (_of_numbers(*sums) if rows.classes is None else _of_classes(rows, *sums)) | {
        "metrics": {
            name: {"value": value, "baseline": baselines[name], "interval": ends[name]}
            for name, value in values.items()
        },
        "undefined": undefined,
        "intervals": about | {"every": rows.step},
    }


def _summed(parts: Iterable[Scored], sums: list[Any]) -> Iterator[Scored]:
    # the errors of numbers; or numbers and weights of the rows of each true and predicted class
    for part in parts:
        if part.classes is None:
            from linsep.linear.predictions import Residuals  # which other models do not need

            (before,) = sums or [Residuals()]
            sums[:] = [before.and_more(part.predicted, part.truth, part.weights)]
        else:
            counts, weights = sums or [0, 0]
            counts = counts + confusion(part, np.ones_like(part.truth))
            sums[:] = counts, weights + confusion(part, part.weights)
        yield part


def _of_numbers(found: Any) -> dict[str, Any]:
    return {
        "rows": found.rows,
        "weight": found.weight,
        "r_squared": found.r_squared,
        "root_mean_squared_error": float(np.sqrt(found.squared / found.weight)),
        "mean_absolute_error": found.absolute / found.weight,
        "largest_error": found.largest,
        "standard_deviation": float(np.sqrt(found.spread / found.weight)),
    }


def _of_classes(scored: Scored, counts: Any, weights: Any) -> dict[str, Any]:
    # labels that are no classes of the model are rows of their own, always wrong
    k, labels = scored.n_classes, plain_labels(scored.classes)
    rows, right, well = counts.sum(axis=1).tolist(), counts.diagonal().tolist(), weights.diagonal()
    truth, claimed, pairs = weights.sum(axis=1), weights.sum(axis=0), weights.tocoo()
    whole, most = truth.sum(), int(truth[:k].argmax())
    wrong = np.flatnonzero((pairs.row != pairs.col) & (pairs.row < k))
    wrong = wrong[np.argsort(-pairs.data[wrong], kind="stable")[:MOST_CONFUSIONS]]
    shown = weights if (counts != weights).nnz else counts
    matrix = shown.toarray().tolist() if k <= MOST_CLASSES else None
    return {
        "rows": sum(rows),
        "weight": float(whole),
        "accuracy": float(well.sum() / whole),
        "most_frequent": float(truth[most] / whole),
        "most_frequent_class": labels[most],
        "positive_class": labels[scored.positive] if k == 2 else None,
        "unknown_labels": rows[k],
        "classes": [
            {
                "label": label,
                "rows": rows[c],
                "right": right[c],
                "recall": _share(well[c], truth[c]),
                "precision": _share(well[c], claimed[c]),
            }
            for c, label in enumerate(labels)
        ],
        "confusion": {
            "labels": labels,
            "matrix": matrix and matrix[:k],
            "unknown": matrix and matrix[k],
            "most_frequent": [
                {"label": labels[c], "predicted": labels[other], "weight": shown[c, other].item()}
                for c, other in zip(pairs.row[wrong], pairs.col[wrong], strict=True)
            ],
        },
    }


def _share(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None
