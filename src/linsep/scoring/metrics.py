"""Metrics of predictions and of a baseline, computed by scikit-learn."""

import warnings
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.errors import DataError, Hint, ParameterError
from linsep.estimators.labels import label_text
from linsep.scoring.rows import Scored, ScoredNumbers

#: classes up to which metrics of scores are computed without being named
MOST_RANKED = 100


class Metric(NamedTuple):
    """A metric."""

    title: str  #: its name in a table
    compute: Callable[[Any], float]  #: of rows; may raise :class:`Undefined`
    is_share: bool = False  #: whether it is written in percent


class Undefined(DataError):
    """A metric that is not defined for the rows, or for the model."""

    code = "undefined"


def metrics_of(scored: Any, names: Iterable[str] | None = None) -> dict[str, float | None]:
    """Return metrics as scikit-learn defines them, with the weights of the rows.

    Parameters
    ----------
    scored : :class:`Scored` or :class:`ScoredNumbers`
    names : names of metrics of classes, or of numbers; default all, but for more than 100 classes
        without "roc_auc" and "average_precision"

    Returns
    -------
    Values by name. If all metrics are returned, a metric that is not defined for these rows, or
    this model, is None. ``f1`` and, for two classes, ``average_precision`` refer to the positive
    class; ``roc_auc`` and ``average_precision`` for several classes are means over the classes with
    rows, each against all others, by probabilities if there are any, else by scores.

    A label that is not a class of the model is treated as an additional class, which is never
    predicted; metrics of scores and of probabilities leave out its rows.

    Raises
    ------
    ParameterError
        For a name that is not a metric of such predictions.
    DataError
        For a named metric that is not defined.
    """
    found, why = values_of(scored, names)
    if names is not None and why:
        raise next(iter(why.values()))
    return found


def values_of(
    scored: Any, names: Iterable[str] | None = None
) -> tuple[dict[str, float | None], dict[str, Undefined]]:
    """Return values by name, None for undefined ones, and the reasons."""
    known, found, why = known_metrics(scored), dict[str, float | None](), dict[str, Undefined]()
    counting = that_count(scored)
    compared = counting if isinstance(scored, ScoredNumbers) else _pairs(counting)
    for name in check_names(scored, names):
        try:
            value = known[name].compute(compared if name in OF_CLASSES else counting)
            if not np.isfinite(value):
                raise Undefined(f"{name} overflows float64: scale the numbers.", code="overflow")
            found[name] = float(value)
        except Undefined as problem:
            found[name], why[name] = None, problem
    return found, why


def known_metrics(scored: Any) -> dict[str, Metric]:
    """Return the metrics of classes, or of numbers, by name."""
    return NUMBER_METRICS if isinstance(scored, ScoredNumbers) else CLASS_METRICS


def check_names(scored: Any, names: Iterable[str] | None) -> list[str]:
    """Return names of metrics, by default all, but for very many classes without metrics of scores,
    which are slow; ParameterError for an unknown name.
    """
    known = known_metrics(scored)
    if names is None and isinstance(scored, Scored) and scored.classes.size > MOST_RANKED:
        return [name for name in known if name not in OF_SCORES]
    chosen = [names] if isinstance(names, str) else list(known if names is None else names)
    for name in chosen:
        if name not in known:
            what = "numbers" if isinstance(scored, ScoredNumbers) else "classes"
            like = get_close_matches(name, known, 1)
            meant = f"did you mean {like[0]!r}? Choose" if like else "choose"
            raise ParameterError(
                f"{name!r} is not a metric of predicted {what}: {meant} from {', '.join(known)}.",
                option="metrics", value=name,
            )  # fmt: skip
    return chosen


def that_count(scored: Any) -> Any:
    """Return the rows of positive weight."""
    return scored if scored.weights.all() else scored.rows(scored.weights > 0)


def baselines_of(scored: Any, names: Iterable[str] | None = None) -> dict[str, float | None]:
    """Return the metrics of a model with the same prediction for every row.

    It predicts the class of the largest weight, with the shares of the classes for probabilities
    and equal scores; or the mean, for numbers. Arguments: as for :func:`metrics_of`.
    """
    counting, chosen = that_count(scored), check_names(scored, names)
    if isinstance(scored, ScoredNumbers):
        mean = float(np.average(counting.truth, weights=counting.weights))
        same = counting._replace(predicted=np.full(counting.truth.size, mean))
        return values_of(same, chosen)[0]
    # One row per class, with the weight of its rows.
    k = counting.classes.size
    totals = np.bincount(counting.truth, counting.weights, minlength=k)
    (truth,) = np.nonzero(totals)
    rows, shares = truth.size, totals[:k] / (totals[:k].sum() or 1.0)
    told = None if counting.probabilities is None else np.tile(shares, (rows, 1))
    same = Scored(
        counting.classes, truth, np.full(rows, totals[:k].argmax()), totals[truth],
        np.zeros(rows if k == 2 else (rows, k)), told, None, counting.positive,
    )  # fmt: skip
    return values_of(same, chosen)[0]


def _pairs(scored: Scored) -> Scored:
    """Return a row for each pair of a true and a predicted class, with the weight of its rows."""
    k = scored.classes.size
    found = confusion(scored.truth, scored.predicted, scored.weights, k).tocoo()
    return scored._replace(truth=found.row, predicted=found.col, weights=found.data)


def confusion(truth: np.ndarray, predicted: np.ndarray, weights: np.ndarray, k: int) -> Any:
    """Return the weight of the rows of each true class, also the unknown one, and each predicted
    one, as a sparse array of shape (k + 1, k).
    """
    return sp.coo_array((weights, (truth, predicted)), shape=(k + 1, k)).tocsr()


def _computed(name: str, truth: Any, answers: Any, weights: Any, **options: Any) -> float:
    """Return a metric of scikit-learn, without its warnings: about classes that are never predicted
    or have no row, about single rows, and about sums of probabilities that are rounded.
    """
    import sklearn.metrics

    told = {} if weights is None else {"sample_weight": weights}
    with warnings.catch_warnings(), np.errstate(over="ignore", invalid="ignore"):
        warnings.simplefilter("ignore")
        return float(getattr(sklearn.metrics, name)(truth, answers, **told, **options))


def _of_classes(name: str, **options: Any) -> Callable[[Scored], float]:
    """Return a metric that compares classes."""
    return lambda rows: _computed(name, rows.truth, rows.predicted, rows.weights, **options)


def _f1(scored: Scored) -> float:
    """Return the F1 score of the positive of two classes."""
    if scored.classes.size != 2:
        raise Undefined(
            f"f1 needs two classes, but the model has {scored.classes.size}",
            "choose f1_macro", "f1_weighted", code="class-count"
        )  # fmt: skip
    options = {"labels": [scored.positive], "average": "macro", "zero_division": 0.0}
    return _of_classes("f1_score", **options)(scored)


def known_rows(scored: Scored, metric: str) -> Scored:
    """Return the rows whose labels are classes of the model; Undefined if there are none."""
    known = scored.truth < scored.classes.size
    if not known.any():
        raise Undefined(f"{metric} is not defined: no row has a known label.")
    return scored if known.all() else scored.rows(known)


def _of_probabilities(scored: Scored, name: str, called: str) -> float:
    """Return a metric of probabilities."""
    if scored.probabilities is None:
        raise Undefined(
            f"{called} needs probabilities, which the model does not have",
            Hint("add them with {}", {"calibrate": None}, again=True),
            code="unsupported",
        )
    known = known_rows(scored, called)
    labels = np.arange(known.classes.size)
    return _computed(name, known.truth, known.probabilities, known.weights, labels=labels)


def ranked(scored: Scored, metric: str) -> tuple[Scored, list[int]]:
    """Return the rows with known labels, and the codes of the classes of which a metric of scores
    is the mean; Undefined where all rows are of one class.
    """
    known = known_rows(scored, metric)
    present = np.unique(known.truth).tolist()
    if len(present) < 2:
        label = label_text(scored.classes[present[0]])
        raise Undefined(
            f"{metric} is not defined: it compares rows of different classes, but all labels are "
            f"{label}."
        )
    return known, [scored.positive] if scored.classes.size == 2 else present


def _of_scores(scored: Scored, name: str, called: str) -> float:
    """Return a metric of the scores of each class against the others."""
    known, codes = ranked(scored, called)
    return float(np.mean([
        _computed(name, known.truth == code, known.column(code), known.weights) for code in codes
    ]))  # fmt: skip


def _of_numbers(scored: ScoredNumbers, name: str) -> float:
    """Return a metric of numbers."""
    if name == "r2_score" and scored.truth.size < 2:
        raise Undefined("r2 is not defined: it needs at least two rows.")
    weights = None if name == "max_error" else scored.weights
    return _computed(name, scored.truth, scored.predicted, weights)


#: metrics that compare classes
OF_CLASSES = {
    "accuracy": Metric("accuracy", _of_classes("accuracy_score"), True),
    "balanced_accuracy": Metric("balanced accuracy", _of_classes("balanced_accuracy_score"), True),
    "f1": Metric("F1", _f1, True),
    "f1_macro": Metric(
        "F1, macro", _of_classes("f1_score", average="macro", zero_division=0.0), True
    ),
    "f1_weighted": Metric(
        "F1, weighted", _of_classes("f1_score", average="weighted", zero_division=0.0), True
    ),
    "mcc": Metric("MCC", _of_classes("matthews_corrcoef")),
}
#: metrics of scores
OF_SCORES = {
    "roc_auc": Metric("ROC AUC", partial(_of_scores, name="roc_auc_score", called="roc_auc")),
    "average_precision": Metric(
        "average precision",
        partial(_of_scores, name="average_precision_score", called="average_precision"),
    ),
}
#: metrics of classes
CLASS_METRICS = (
    OF_CLASSES
    | {
        "log_loss": Metric(
            "log loss", partial(_of_probabilities, name="log_loss", called="log_loss")
        ),
        "brier": Metric(
            "Brier score", partial(_of_probabilities, name="brier_score_loss", called="brier")
        ),
    }
    | OF_SCORES
)
#: metrics of numbers
NUMBER_METRICS = {
    "r2": Metric("R^2", partial(_of_numbers, name="r2_score")),
    "rmse": Metric("rms error", partial(_of_numbers, name="root_mean_squared_error")),
    "mae": Metric("mean absolute error", partial(_of_numbers, name="mean_absolute_error")),
    "max_error": Metric("largest error", partial(_of_numbers, name="max_error")),
}
METRICS = CLASS_METRICS | NUMBER_METRICS
