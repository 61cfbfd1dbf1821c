"""Metrics of predictions and of a baseline, computed by scikit-learn."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.errors import DataError, Hint, ParameterError
from linsep.estimators.labels import label_text
from linsep.scoring.rows import Scored

#: metrics of scores, and classes up to which they are computed without being named
RANKS, MOST_RANKED = ("roc_auc", "average_precision"), 100
#: true and given values, and options, of calls of a function of scikit-learn
Calls = list[tuple[np.ndarray, np.ndarray, dict[str, Any]]]


class Metric(NamedTuple):
    """A metric: the mean of calls of a function of scikit-learn."""

    title: str  #: its name in a table
    function: str
    calls: Callable[[Scored, str], Calls]  #: of rows and its name; may raise :class:`Undefined`
    is_share: bool = False  #: whether it is written in percent
    options: Mapping[str, Any] = MappingProxyType({})


class Undefined(DataError):
    """A metric that is not defined for the rows, or for the model."""

    code = "undefined"


def metrics_of(
    scored: Scored, names: Iterable[str] | None = None, undefined: dict[str, str] | None = None
) -> dict[str, float | None]:
    """Return metrics by name as scikit-learn defines them, with the weights of the rows: those
    named, else all, for more than 100 classes without those of scores.

    If all are returned, a metric that is not defined is None, and ``undefined`` takes the reason;
    a named one is a DataError. ``f1`` and, for two classes, ``average_precision`` refer to the
    positive class; ``roc_auc`` and ``average_precision`` for several classes are means over the
    classes with rows, each against all others. A label that is no class of the model is an
    additional class, which is never predicted; metrics of scores leave out its rows.
    """
    import sklearn.metrics

    found: dict[str, float | None] = {}
    for name in _chosen(scored, names):
        _, function, calls, _, options = METRICS[name]
        compute = getattr(sklearn.metrics, function)
        try:
            # warnings of classes without rows or predictions, single rows, and rounded sums
            with warnings.catch_warnings(action="ignore"):
                values = [compute(*rows, **options, **more) for *rows, more in calls(scored, name)]
            found[name] = float(np.mean(values))
        except Undefined as problem:
            if names is not None:
                raise
            found[name] = None
            if undefined is not None:
                undefined[name] = str(problem)
    return found


def _chosen(scored: Scored, names: Iterable[str] | None) -> list[str]:
    numbers = scored.classes is None
    what, known = ("numbers", NUMBER_METRICS) if numbers else ("classes", CLASS_METRICS)
    if names is None:
        return [name for name in known if name not in RANKS or scored.n_classes <= MOST_RANKED]
    chosen = [names] if isinstance(names, str) else list(names)
    for name in chosen:
        if name not in known:
            why = f"{name!r} is not a metric of predicted {what}: choose from {', '.join(known)}."
            raise ParameterError(why, option="metrics", value=name)
    return chosen


def baselines_of(scored: Scored, names: Iterable[str] | None = None) -> dict[str, float | None]:
    """Return the metrics of a model that predicts the class of the largest weight for every row,
    with the shares of the classes for probabilities and equal scores; or the mean, for numbers.
    """
    truth, weights, k = scored.truth, scored.weights, scored.n_classes
    if scored.classes is None:
        same = np.full(truth.size, np.average(truth, weights=weights))
        return metrics_of(scored._replace(predicted=same), names)
    # One row per class, with the weight of its rows.
    totals = np.bincount(truth, weights, minlength=k)
    truth = np.flatnonzero(totals)
    same = np.tile(totals[:k] / (totals[:k].sum() or 1.0), (truth.size, 1))
    rows = scored._replace(
        truth=truth, predicted=np.full(truth.size, totals[:k].argmax()), weights=totals[truth],
        scores=same, probabilities=None if scored.probabilities is None else same,
    )  # fmt: skip
    return metrics_of(rows, names)


def confusion(scored: Scored, weights: np.ndarray) -> Any:
    """Return weights by true class, the unknown one last, and predicted class, sparse."""
    k = scored.n_classes
    return sp.coo_array((weights, (scored.truth, scored.predicted)), shape=(k + 1, k)).tocsr()


def _classes(scored: Scored, name: str) -> Calls:
    k, pairs = scored.n_classes, confusion(scored, scored.weights).tocoo()  # a row for each pair
    if name == "f1" and k != 2:
        why = f"{name} needs two classes, but the model has {k}"
        raise Undefined(why, "choose f1_macro", "f1_weighted", code="class-count")
    of = {"labels": [scored.positive]} if name == "f1" else {}
    return [(pairs.row, pairs.col, {"sample_weight": pairs.data, **of})]


def _known(scored: Scored, name: str) -> Scored:
    known = scored.truth < scored.n_classes
    if not known.any():
        raise Undefined(f"{name} is not defined: no row has a known label.")
    return scored if known.all() else scored.rows(known)


def _probabilities(scored: Scored, name: str) -> Calls:
    if scored.probabilities is None:
        raise Undefined(
            f"{name} needs probabilities, which the model does not have",
            Hint("add them with {}", {"calibrate": None}, again=True),
            code="unsupported",
        )
    known = _known(scored, name)
    options = {"sample_weight": known.weights, "labels": np.arange(scored.n_classes)}
    return [(known.truth, known.probabilities, options)]


def ranked(scored: Scored) -> list[int]:
    """Return the codes of the classes of which a metric of scores is the mean."""
    if scored.n_classes == 2:
        return [scored.positive]
    return np.unique(scored.truth[scored.truth < scored.n_classes]).tolist()


def _ranks(scored: Scored, name: str) -> Calls:
    known = _known(scored, name)
    if np.ptp(known.truth) == 0:
        raise Undefined(
            f"{name} is not defined: it compares rows of different classes, but all labels are "
            f"{label_text(known.classes[known.truth[0]])}."
        )
    options = {"sample_weight": known.weights}
    return [(known.truth == code, known.column(code), options) for code in ranked(known)]


def _numbers(scored: Scored, name: str) -> Calls:
    if name == "r2" and scored.truth.size < 2:
        raise Undefined("r2 is not defined: it needs at least two rows.")
    options = {} if name == "max_error" else {"sample_weight": scored.weights}
    return [(scored.truth, scored.predicted, options)]


MACRO: dict[str, Any] = {"average": "macro", "zero_division": 0.0}
WEIGHTED = MACRO | {"average": "weighted"}
#: metrics of classes
CLASS_METRICS = {
    "accuracy": Metric("accuracy", "accuracy_score", _classes, True),
    "balanced_accuracy": Metric("balanced accuracy", "balanced_accuracy_score", _classes, True),
    "f1": Metric("F1", "f1_score", _classes, True, MACRO),
    "f1_macro": Metric("F1, macro", "f1_score", _classes, True, MACRO),
    "f1_weighted": Metric("F1, weighted", "f1_score", _classes, True, WEIGHTED),
    "mcc": Metric("MCC", "matthews_corrcoef", _classes),
    "log_loss": Metric("log loss", "log_loss", _probabilities),
    "brier": Metric("Brier score", "brier_score_loss", _probabilities),
    "roc_auc": Metric("ROC AUC", "roc_auc_score", _ranks),
    "average_precision": Metric("average precision", "average_precision_score", _ranks),
}
#: metrics of numbers
NUMBER_METRICS = {
    "r2": Metric("R^2", "r2_score", _numbers),
    "rmse": Metric("rms error", "root_mean_squared_error", _numbers),
    "mae": Metric("mean absolute error", "mean_absolute_error", _numbers),
    "max_error": Metric("largest error", "max_error", _numbers),
}
METRICS = CLASS_METRICS | NUMBER_METRICS
