"""What predictions of labelled rows are worth: metrics of classes and of numbers, which
scikit-learn computes.
"""

import warnings
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from linsep.batches import check_summable, weight_totals
from linsep.errors import DataError, ParameterError, hint
from linsep.estimators._common.labels import plain_labels, positive_code
from linsep.estimators._common.predicting import probabilities_of
from linsep.sources.base import Source

#: computes a metric
Metric: TypeAlias = Callable[[Any], float]


class Scored(NamedTuple):
    """What a classifier says of labelled rows, in their order.

    Attributes
    ----------
    classes : array of shape (k,), the sorted labels
    truth : int array of shape (rows,), codes of the labels; k is a label that is not in `classes`
    predicted : int array of shape (rows,), codes of the predictions
    weights : float array of shape (rows,), ones for rows without weights
    scores : decision values, for two classes of shape (rows,) and positive for the second, else
        (rows, k)
    probabilities : array of shape (rows, k), or None if the model has none
    groups : uint64 array of shape (rows,), the same number for rows of one group, or None
    positive : code of the class that metrics of one of two classes are about
    """

    classes: np.ndarray
    truth: np.ndarray
    predicted: np.ndarray
    weights: np.ndarray
    scores: np.ndarray
    probabilities: np.ndarray | None
    groups: np.ndarray | None
    positive: int = 1

    def rows(self, chosen: Any) -> "Scored":
        """Return the rows that a mask or an array of indices selects."""
        names = ("truth", "predicted", "weights", "scores", "probabilities", "groups")
        given = {name: getattr(self, name) for name in names}
        values: dict[str, Any] = {n: None if v is None else v[chosen] for n, v in given.items()}
        return self._replace(**values)

    @property
    def columns(self) -> np.ndarray:
        """A score a class, shape (rows, k): probabilities of several classes, if there are any."""
        if self.scores.ndim == 1:
            return np.column_stack([-self.scores, self.scores])
        return self.scores if self.probabilities is None else self.probabilities


class ScoredNumbers(NamedTuple):
    """What a regression says of rows with known numbers, in their order.

    Attributes
    ----------
    truth, predicted, weights : float arrays of shape (rows,)
    groups : uint64 array of shape (rows,), or None
    """

    truth: np.ndarray
    predicted: np.ndarray
    weights: np.ndarray
    groups: np.ndarray | None

    def rows(self, chosen: Any) -> "ScoredNumbers":
        """Return the rows that a mask or an array of indices selects."""
        values: list[Any] = [None if values is None else values[chosen] for values in self]
        return ScoredNumbers(*values)


def scored(model: Any, source: Source) -> Any:
    """Return what a model says of the rows of a source, in one reading.

    Returns
    -------
    :class:`Scored`, or :class:`ScoredNumbers` of a regression. All scores are in memory.

    Raises
    ------
    DataError
        If there are no labels, or all rows have weight 0.
    """
    return _collected(model, model.predictions(source))


def _collected(model: Any, prediction: Any) -> Any:
    """Return the same of a :class:`Prediction`, which counts unknown values meanwhile."""
    classes = getattr(model, "classes_", None)
    parts, groups = [], []
    for batch, truth, predicted, *scores in _compared(prediction):
        weights = np.ones(truth.size) if batch.weights is None else batch.weights
        parts.append((truth, predicted, weights, *scores))
        groups += [] if batch.groups is None else [batch.groups]
    truth, predicted, weights, *scores = (np.concatenate(part) for part in zip(*parts, strict=True))
    _check_weights(weights, prediction.source.name)
    grouped = np.concatenate(groups) if groups else None
    if classes is None:
        return ScoredNumbers(truth, predicted, weights, grouped)
    found = probabilities_of(model, scores[0]) if hasattr(model, "predict_proba") else None
    positive = positive_code(model) if classes.size == 2 else 1
    return Scored(classes, truth, predicted, weights, scores[0], found, grouped, positive)


def _compared(prediction: Any) -> Iterator[tuple[Any, ...]]:
    """Yield each batch, what is true and what is predicted, and the scores of classes."""
    if not hasattr(prediction.model, "classes_"):
        yield from prediction.with_targets()
        return
    for batch, scores, codes in prediction.codes():
        yield batch, prediction.true_codes(batch.y), codes, scores


def _check_weights(weights: np.ndarray, name: str) -> None:
    check_summable(weights)
    if not weights.any():
        raise DataError(f"{name} has no rows to score: all have weight 0.")


def metrics_of(scored: Any, names: Iterable[str] | None = None) -> dict[str, float | None]:
    """Return metrics, which are those of scikit-learn with the weights of the rows.

    Parameters
    ----------
    scored : :class:`Scored` or :class:`ScoredNumbers`
    names : names of some metrics of classes, or of numbers; default all

    Returns
    -------
    Values by name. One that is not defined for these rows, or this model, is None if all are
    returned. ``f1`` and, of two classes, ``average_precision`` are those of the positive class;
    ``roc_auc`` and ``average_precision`` of several classes are means over those with rows, each
    against all others, by probabilities where there are any, else by scores.

    A label that is not a class of the model counts as one more class, which is never predicted;
    metrics of scores and of probabilities leave its rows out.

    Raises
    ------
    ParameterError
        For a name that is no metric of such predictions.
    DataError
        For a metric that is named and not defined.
    """
    known = NUMBER_METRICS if isinstance(scored, ScoredNumbers) else CLASS_METRICS
    chosen = list(known if names is None else names)
    for name in chosen:
        if name not in known:
            raise ParameterError(f"{name!r} is no metric here: choose from {', '.join(known)}.")
    counting = scored.rows(scored.weights > 0) if not scored.weights.all() else scored
    found: dict[str, float | None] = {}
    for name in chosen:
        try:
            found[name] = float(known[name](counting))
        except Undefined:
            if names is not None:
                raise
            found[name] = None
    return found


class Undefined(DataError):
    """A metric that is not defined for the rows, or for the model."""


def _of_classes(name: str, **options: Any) -> Metric:
    """Return a metric of scikit-learn that compares classes."""

    def metric(scored: Scored) -> float:
        import sklearn.metrics

        with warnings.catch_warnings():  # of classes that are never predicted, or have no row
            warnings.simplefilter("ignore")
            found: float = getattr(sklearn.metrics, name)(
                scored.truth, scored.predicted, sample_weight=scored.weights, **options
            )
        return found

    return metric


def _f1(scored: Scored) -> float:
    """Return the F1 score of the positive of two classes."""
    if scored.classes.size != 2:
        raise Undefined(
            f"f1 is of two classes, and the model has {scored.classes.size}",
            "choose f1_macro", "f1_weighted",
        )  # fmt: skip
    options = {"labels": [scored.positive], "average": "macro", "zero_division": 0.0}
    return _of_classes("f1_score", **options)(scored)


def _known(scored: Scored, metric: str) -> Scored:
    """Return the rows whose labels are classes of the model."""
    known = scored.truth < scored.classes.size
    if not known.any():
        raise Undefined(f"{metric} is not defined: no row has a label that the model knows.")
    return scored if known.all() else scored.rows(known)


def _of_probabilities(name: str, called: str, **options: Any) -> Metric:
    """Return a metric of scikit-learn of probabilities."""

    def metric(scored: Scored) -> float:
        import sklearn.metrics

        if scored.probabilities is None:
            raise Undefined(
                f"{called} needs probabilities, and the model has none",
                hint("learn them with {}", calibrate=None),
            )
        known = _known(scored, called)
        found: float = getattr(sklearn.metrics, name)(
            known.truth, known.probabilities, sample_weight=known.weights,
            labels=np.arange(known.classes.size), **options,
        )  # fmt: skip
        return found

    return metric


def _of_scores(name: str, called: str) -> Metric:
    """Return a metric of scikit-learn of the scores of one class against the others."""

    def metric(scored: Scored) -> float:
        import sklearn.metrics

        known = _known(scored, called)
        present = np.unique(known.truth)
        if present.size < 2:
            label = plain_labels(scored.classes)[present[0]]
            raise Undefined(
                f"{called} is not defined: all rows are of class {label}, and it compares rows of "
                "different classes."
            )
        of = [scored.positive] if scored.classes.size == 2 else present.tolist()
        columns = known.columns
        each = [
            getattr(sklearn.metrics, name)(
                known.truth == code, columns[:, code], sample_weight=known.weights
            )
            for code in of
        ]
        return float(np.mean(each))

    return metric


def _of_numbers(name: str) -> Metric:
    """Return a metric of scikit-learn of numbers."""

    def metric(scored: ScoredNumbers) -> float:
        import sklearn.metrics

        weights = {} if name == "max_error" else {"sample_weight": scored.weights}
        with warnings.catch_warnings():  # of a single row
            warnings.simplefilter("ignore")
            found: float = getattr(sklearn.metrics, name)(scored.truth, scored.predicted, **weights)
        return found

    return metric


#: metrics of classes
CLASS_METRICS: dict[str, Metric] = {
    "accuracy": _of_classes("accuracy_score"),
    "balanced_accuracy": _of_classes("balanced_accuracy_score"),
    "f1": _f1,
    "f1_macro": _of_classes("f1_score", average="macro", zero_division=0.0),
    "f1_weighted": _of_classes("f1_score", average="weighted", zero_division=0.0),
    "mcc": _of_classes("matthews_corrcoef"),
    "log_loss": _of_probabilities("log_loss", "log_loss"),
    "brier": _of_probabilities("brier_score_loss", "brier"),
    "roc_auc": _of_scores("roc_auc_score", "roc_auc"),
    "average_precision": _of_scores("average_precision_score", "average_precision"),
}
#: metrics of numbers
NUMBER_METRICS: dict[str, Metric] = {
    "r2": _of_numbers("r2_score"),
    "mae": _of_numbers("mean_absolute_error"),
    "rmse": _of_numbers("root_mean_squared_error"),
    "max_error": _of_numbers("max_error"),
}


def gaps_of(source: Source, unread: Container[str] = ()) -> dict[str, Any]:
    """Return what the last reading left out or replaced, as plain JSON; ``unread`` are columns of
    the model that were not to be read.

    A field that the model does not have matters where another is missing: it may be a misspelling.
    """
    gaps = {"rows_dropped": source.dropped, "values_filled": dict(source.filled)}
    ignored = {x: where for x, where in source.ignored.items() if x not in unread}
    return gaps | {"fields_ignored": ignored if any(gaps.values()) else {}}


def scores_of(model: Any, source: Source) -> dict[str, Any]:
    """Return scores of the predictions of a source, of classes or numbers, as plain JSON."""
    if hasattr(model, "classes_"):
        return _scores_of_classes(model, source)
    prediction = model.predictions(source)
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


def _scores_of_classes(model: Any, source: Source) -> dict[str, Any]:
    """Return the accuracy and, for each class, counts of rows, right rows and predictions.

    Labels that are not classes of the model are rows of their own, always wrong. Shares are those
    of the weights of the rows.
    """
    k = model.classes_.size
    counts = _Counts(k)
    prediction, squared = model.predictions(source), 0.0
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
        "accuracy": float(counts.weights_right.sum() / weight),
        "brier": float(squared / weight) if hasattr(model, "predict_proba") else None,
        "most_frequent": float(counts.weights[:k].max() / weight),
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
        self.weights = weight_totals(self.weights, truth, weights)
        self.weights_right = weight_totals(self.weights_right, codes[well], weights[well])
        self.weights_claimed = weight_totals(self.weights_claimed, codes, weights)


def _share(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None
