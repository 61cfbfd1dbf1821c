"""Scores of predictions as plain JSON: what ``linsep score --json`` prints."""

from collections.abc import Callable, Container, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from linsep.batches import weight_totals
from linsep.errors import ArgumentError, DataError
from linsep.estimators.labels import plain_labels
from linsep.scoring.intervals import intervals_of
from linsep.scoring.metrics import baselines_of, confusion, values_of
from linsep.scoring.rows import Beside, Collector, Scored, ScoredNumbers, answers, answers_in_memory
from linsep.sources.base import Source, is_frame
from linsep.sources.opening import open_source

if TYPE_CHECKING:
    from linsep.linear.predictions import Residuals

#: classes up to which the confusion matrix is whole
MOST_CLASSES = 100
#: most frequent confusions
MOST_CONFUSIONS = 20


def score(
    model: Any,
    data: Any,
    *,
    target: str | None = None,
    metrics: str | Iterable[str] | None = None,
    sample_weight: Any = None,
    groups: Any = None,
    offset: Any = None,
) -> dict[str, Any]:
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
        Weights of the rows, or the name of their column; None means the weight column of the
        training data, if there was one.
    groups : array of shape (rows,) or str, default None
        Groups of rows, or the name of their column. Intervals then resample whole groups.
    offset : array of shape (rows,), default None
        Offsets of the rows of (X, y), for regressions fitted with offsets; other data have offsets
        in a column.

    Returns
    -------
    dict
        "metrics" has for each name its "value", the "baseline" (the value for a model that
        predicts the most frequent class of these rows with the shares of the classes for
        probabilities, or the mean) and the "interval", of two ends. "undefined" has the reason for
        each value that is None, and "intervals" the method of the intervals. "confusion" has the
        "labels" and the "matrix", with a row for each true class and a column for each predicted
        class. Other keys have the accuracy, or R^2 and errors, of all rows, and counts of rows and
        classes. See docs/how-to/metrics.md.

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
        raise ArgumentError(
            f"model is of type {type(model).__name__}: pass a fitted estimator of linsep, or the "
            "path of a saved one."
        )
    check_is_fitted(model)
    names = [metrics] if isinstance(metrics, str) else metrics
    if isinstance(data, tuple) and len(data) == 2:
        _refuse_columns(target=target, sample_weight=sample_weight, groups=groups)
        parts = answers_in_memory(model, *data, Beside.of(sample_weight, groups), offset)
        return _scores(model, parts, "X", names, lambda: sample_weight is not None)
    if offset is not None:
        raise ArgumentError(
            "Offsets are only passed with (X, y); here they are a column: leave out."
        )
    weights = sample_weight if isinstance(sample_weight, str) else None
    grouped = groups if isinstance(groups, str) else None
    beside = Beside.of(
        None if weights is not None else sample_weight, None if grouped is not None else groups
    )
    source = _opened(model, data, target, weights, grouped)
    return scores_of(model, source, names, beside)


def _refuse_columns(**given: Any) -> None:
    for name, value in given.items():
        if isinstance(value, str):
            raise ArgumentError(
                f"{name} is {value!r}, but (X, y) has no columns with names: "
                + ("leave it out." if name == "target" else "pass one value per row.")
            )


def _opened(
    model: Any, data: Any, target: str | None, weight: str | None, group: str | None
) -> Source:
    """Open data like a model's training data, with other columns for labels and weights."""
    named = {"target": target, "weight": weight, "group": group}
    if isinstance(data, Source):
        _refuse_columns(**named)
        return data
    recipe = getattr(model, "recipe_", None) or {"format": "arrays"}
    if recipe["format"] == "arrays" or not (is_frame(data) or isinstance(data, str | Path | list)):
        raise ArgumentError(
            f"data is of type {type(data).__name__}, and the model "
            + ("learned arrays" if recipe["format"] == "arrays" else "learned a table or files")
            + ": pass rows and labels as (X, y)."
        )
    return open_source(data, recipe=recipe_with(recipe, **named), target=target)


def recipe_with(
    recipe: dict[str, Any], *, target: str | None = None, weight: str | None = None,
    group: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return a recipe that reads labels, weights or groups from columns of these names.

    DataError if rows have no named columns.
    """
    given = {"target": target, "weight": weight, "group": group}
    named = {role: name for role, name in given.items() if name is not None}
    if not named:
        return recipe
    if recipe["format"] != "table":
        raise DataError(
            f"'{next(iter(named.values()))}' is not a column: the model was trained on rows "
            "without column names; leave it out.",
            code="unknown-column", column=next(iter(named.values())),
        )  # fmt: skip
    found = recipe | named
    if target is not None:  # instead of counts
        found |= dict.fromkeys({"successes", "trials"} & recipe.keys())
    learned = recipe.get("target")
    if target not in (None, learned):  # it is read like the other one
        called = {learned: target}
        found["categorical"] = [called.get(n, n) for n in recipe.get("categorical", ())]
        how = recipe.get("converted", {}).items()
        found["converted"] = {called.get(n, n): kind for n, kind in how}
    return found


def gaps_of(source: Source, unread: Container[str] = ()) -> dict[str, Any]:
    """Return what the last reading left out or replaced, as plain JSON; ``unread`` are columns of
    the model that are not needed.

    A field that the model does not have matters if another is missing: it may be a misspelling.
    """
    gaps = {"rows_dropped": source.dropped, "values_filled": dict(source.filled)}
    ignored = {x: where for x, where in source.ignored.items() if x not in unread}
    return gaps | {"fields_ignored": ignored if any(gaps.values()) else {}}


def scores_of(
    model: Any, source: Source, metrics: Iterable[str] | None = None, beside: Beside | None = None
) -> dict[str, Any]:
    """Return scores of the predictions of a source, of classes or numbers, as plain JSON.

    ``metrics`` are names, by default all, and ``beside`` has weights and groups of the rows.
    """
    prediction, unknown = model.predictions(source), list[str]()

    def weighted() -> bool:  # lines of text have them
        return source.weighted or (beside is not None and beside.weights is not None)

    found = _scores(model, answers(prediction, beside, unknown), source.name, metrics, weighted)
    # known after the reading
    found |= {"first_unknown_label": unknown[0]} if unknown else {}
    return found | {"unknown_values": prediction.unknown, **gaps_of(source)}


def _scores(
    model: Any, parts: Iterator[ScoredNumbers], name: str, metrics: Iterable[str] | None,
    weighted: Callable[[], bool],
) -> dict[str, Any]:  # fmt: skip
    """Return the same of rows as they come; all are counted, and enough are kept for the rest."""
    rows, classes = Collector(model), getattr(model, "classes_", None)
    if classes is None:
        from linsep.linear.predictions import Residuals  # which other models do not need

        totals: Any = Residuals()
    else:
        totals = _Counts(classes.size)
    for part in parts:
        rows.take(part)
        totals = totals.and_more(part.predicted, part.truth, part.weights)
    scored = rows.scored(name)
    about = _of_numbers if classes is None else _of_classes
    return about(scored, totals, weighted()) | _metrics(scored, metrics, rows.step)


def _metrics(scored: Any, names: Iterable[str] | None, step: int) -> dict[str, Any]:
    """Return metrics with their baselines and intervals."""
    chosen = None if names is None else list(names)
    values, why = values_of(scored, chosen)
    if chosen is not None and why:
        raise next(iter(why.values()))
    baselines, intervals = baselines_of(scored, chosen), intervals_of(scored, chosen)
    found = {}
    for name, value in values.items():
        ends = intervals.ends[name]
        interval = None if ends is None else list(ends)
        found[name] = {"value": value, "baseline": baselines[name], "interval": interval}
    return {
        "metrics": found,
        "undefined": {name: str(problem) for name, problem in why.items()},
        "intervals": {
            "level": intervals.level, "of": intervals.units, intervals.units: intervals.n_units,
            "resamples": intervals.resamples, "every": step,
        },
    }  # fmt: skip


def _of_numbers(scored: Any, found: "Residuals", weighted: bool) -> dict[str, Any]:
    return {
        "rows": found.rows,
        "weight": found.weight if weighted else None,
        "r_squared": found.r_squared,
        "root_mean_squared_error": float(np.sqrt(found.squared / found.weight)),
        "mean_absolute_error": found.absolute / found.weight,
        "largest_error": found.largest,
        "standard_deviation": float(np.sqrt(found.spread / found.weight)),
    }


def _of_classes(scored: Scored, found: "_Counts", weighted: bool) -> dict[str, Any]:
    """Return the accuracy and, for each class, counts of rows, right rows and predictions.

    Labels that are not classes of the model are rows of their own, always wrong. Shares are those
    of the weights of the rows.
    """
    k, rows, weight = scored.classes.size, found.rows, found.weights.sum()
    labels = plain_labels(scored.classes)
    return {
        "rows": int(rows.sum()),
        "weight": float(weight) if weighted else None,
        "accuracy": float(found.weights_right.sum() / weight),
        "brier": values_of(scored, ["brier"])[0]["brier"],
        "most_frequent": float(found.weights[:k].max() / weight),
        "most_frequent_class": labels[int(found.weights[:k].argmax())],
        "positive_class": labels[scored.positive] if k == 2 else None,
        "unknown_labels": int(rows[k]),
        "classes": [
            {
                "label": label,
                "rows": int(rows[c]),
                "right": int(found.right[c]),
                "recall": _share(found.weights_right[c], found.weights[c]),
                "precision": _share(found.weights_right[c], found.weights_claimed[c]),
            }
            for c, label in enumerate(labels)
        ],
        "confusion": _confusion(found.pairs, labels, weighted),
    }


def _confusion(pairs: Any, labels: list[Any], weighted: bool) -> dict[str, Any]:
    """Return the confusion matrix of up to 100 classes, and the most frequent confusions."""
    found = pairs if weighted else pairs.astype(np.int64)
    k, known = len(labels), found.tocoo()
    wrong = np.flatnonzero((known.row != known.col) & (known.row < k))
    most = wrong[np.argsort(-known.data[wrong], kind="stable")[:MOST_CONFUSIONS]]
    return {
        "labels": labels,
        "matrix": found[:k].toarray().tolist() if k <= MOST_CLASSES else None,
        "unknown": found[[k]].toarray()[0].tolist() if k <= MOST_CLASSES else None,
        "most_frequent": [
            {"label": labels[known.row[j]], "predicted": labels[known.col[j]],
             "weight" if weighted else "rows": known.data[j].item()}
            for j in most
        ],
    }  # fmt: skip


class _Counts:
    """Rows and their weights by true class, by class if predicted correctly, by predicted class,
    and by pair of classes.

    ``rows`` and ``weights`` have one entry more, for unknown labels.
    """

    def __init__(self, k: int):
        self.rows, self.weights = np.zeros(k + 1, dtype=np.int64), np.zeros(k + 1)
        self.right, self.weights_right = np.zeros(k, dtype=np.int64), np.zeros(k)
        self.weights_claimed, self.pairs = np.zeros(k), sp.csr_array((k + 1, k))

    def and_more(self, codes: np.ndarray, truth: np.ndarray, weights: np.ndarray) -> "_Counts":
        """Return the counts with more rows of these predicted and true classes."""
        well, k = codes == truth, self.right.size
        self.rows += np.bincount(truth, minlength=k + 1)
        self.right += np.bincount(codes[well], minlength=k)
        self.weights = weight_totals(self.weights, truth, weights)
        self.weights_right = weight_totals(self.weights_right, codes[well], weights[well])
        self.weights_claimed = weight_totals(self.weights_claimed, codes, weights)
        self.pairs = self.pairs + confusion(truth, codes, weights, k)
        return self


def _share(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None
