"""Calibration of scores, and thresholds of two classes, by held-out rows."""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linsep.errors import DataError, ParameterError
from linsep.estimators import labels
from linsep.estimators.frames import to_score
from linsep.estimators.predicting import divided, probabilities_of
from linsep.steps import of_learner

#: of sums of weights, relative
ROUNDING = 1e-12
#: how many numbers a rule has
_NUMBERS = {"recall": 1, "precision": 1, "cost": 2, "f1": 0, "balanced_accuracy": 0}


class Calibration(NamedTuple):
    """Maps scores to probabilities by "sigmoid" or "isotonic" curves: one for two classes, else one
    per class, whose probabilities are divided by their sum.

    A sigmoid is a and b in 1 / (1 + exp(a * score + b)); an isotonic curve the scores and
    probabilities of its corners, shape (2, corners).
    """

    method: str
    curves: list[np.ndarray]

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return probabilities, shape (rows, classes), for the output of ``decision_function``."""
        from scipy.special import expit  # much to import, for few models

        isotonic, columns = self.method == "isotonic", scores.reshape(len(scores), -1).T
        found = np.column_stack([
            np.interp(column, *curve) if isotonic else expit(-(curve[0] * column + curve[1]))
            for curve, column in zip(self.curves, columns, strict=True)
        ])  # fmt: skip
        return np.hstack([1.0 - found, found]) if len(self.curves) == 1 else divided(found)


@of_learner
def calibrate(
    model: Any, X: Any, y: Any = None, *, method: str = "sigmoid", sample_weight: Any = None
) -> Any:
    """Calibrate a fitted online classifier in place, adding ``predict_proba``, and return it.

    The probabilities are those of scikit-learn's ``CalibratedClassifierCV`` with a
    ``FrozenEstimator``. ``predict`` is unchanged, so it may differ from the most probable class.
    The calibration is saved with the model, and dropped when the model is trained further.

    Parameters
    ----------
    model : fitted online classifier
    X : array or sparse matrix of shape (rows, features), or a Source
        Rows not used for training. A source, opened with ``recipe=model.recipe_``, has its own
        labels, so omit y and sample_weight.
    y, sample_weight : arrays of shape (rows,), weights by default ones
    method : "sigmoid" (Platt 1999) or "isotonic" (Zadrozny and Elkan 2002)
        Isotonic regression overfits with fewer than a few hundred rows.

    Raises
    ------
    ParameterError
        If the method is unknown.
    DataError
        If the model already has probabilities, or a class has no rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import linsep
    >>> X, y = load_iris(return_X_y=True)
    >>> model = linsep.Perceptron(keep="average").fit(X[::2], y[::2])
    >>> linsep.calibrate(model, X[1::2], y[1::2]).predict_proba(X[:1]).round(2).tolist()
    [[0.95, 0.03, 0.03]]
    """
    if method not in ("sigmoid", "isotonic"):
        why = f"method is {method!r}: choose sigmoid or isotonic."
        raise ParameterError(why, option="method", value=method)
    check_is_fitted(model)
    if not isinstance(model, labels.HasReference) or hasattr(type(model), "predict_log_proba"):
        raise DataError(
            f"A {type(model).__name__} cannot be calibrated: only online classifiers can, whose "
            "scores are not probabilities.", code="unsupported",
        )  # fmt: skip
    from sklearn.calibration import _SigmoidCalibration
    from sklearn.isotonic import IsotonicRegression

    scores, codes, weights, _ = seen(model, X, y, sample_weight)
    _check_all_classes(model, codes, weights, "the rows of the calibration")
    columns, curves = scores.reshape(len(scores), -1).T, []
    for k, column in enumerate(columns, int(len(columns) == 1)):
        own: Any = (codes == k).astype(int)
        if method == "isotonic":
            fit = IsotonicRegression(out_of_bounds="clip").fit(column, own, weights)
            curves.append(np.array([fit.X_thresholds_, fit.y_thresholds_]))
        else:
            fit = _SigmoidCalibration().fit(column, own, weights)
            curves.append(np.array([fit.a_, fit.b_]))
    model.calibration_ = Calibration(method, curves)
    return model


def seen(model: Any, X: Any, y: Any, sample_weight: Any, offset: Any = None) -> tuple[Any, ...]:
    """Return decision values, class codes and weights of the rows with weight, and their name."""
    if (source := to_score(model, X, y, sample_weight, offset)) is not None:
        parts = []
        for batch, values, _ in model.predictions(source).codes():
            given = labels.label_a_row(model, batch.y, batch.size)
            codes = labels.known_codes(model.classes_, given, source, batch.first)
            own = np.ones(batch.size) if batch.weights is None else batch.weights
            parts.append((values, codes, own))
        scores, codes, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
    else:
        scores = model.decision_function(X, **({} if offset is None else {"offset": offset}))
        codes = labels.known_codes(model.classes_, labels.label_a_row(model, y, len(scores)))
        weights = labels.check_sample_weight(sample_weight, codes.size)
        weights = weights if weights.size else np.ones(codes.size)
    counts, on = weights > 0, "the rows" if source is None else source.name
    return scores[counts], codes[counts], weights[counts], on


def _check_all_classes(model: Any, codes: np.ndarray, weights: np.ndarray, on: str) -> None:
    of = np.bincount(codes, weights, minlength=model.classes_.size)
    if not of.all():
        missing = model.classes_[int(np.argmin(of))]
        raise DataError(
            f"{on} have no row of class {labels.label_text(missing)}: pass rows of every class.",
            code="class-count", value=missing,
        )  # fmt: skip


class Rule(NamedTuple):
    """The rule of a threshold: its name, or "fixed"; the least recall or precision, the cost of a
    missed positive, or the number given; and the cost of a false alarm.
    """

    name: str
    value: float = 0.0
    alarm: float = 0.0

    @classmethod
    def of(cls, given: Any) -> Self:
        with suppress(TypeError, ValueError):
            if np.isfinite(number := float(given)):
                return cls("fixed", number)
        name, _, rest = str(given).partition("=")
        with suppress(ValueError):
            values = [float(value) for value in rest.split(":") if value]
            most = np.inf if name == "cost" else 1
            if len(values) == _NUMBERS.get(name) and all(0 < x <= most for x in values):
                return cls(name, *values)
        raise ParameterError(
            f"threshold is {given!r:.80}: choose recall=0.9, precision=0.8, cost=10:1 (of a missed "
            "positive and of a false alarm, above 0), f1, balanced_accuracy, or a number, as 0.3.",
            option="threshold", value=given,
        )  # fmt: skip

    def __str__(self) -> str:
        values = ":".join(f"{x:g}" for x in self[1:][: _NUMBERS.get(self.name, 0)])
        text = f"{self.name}={values}" if values else self.name
        return repr(self.value) if self.name == "fixed" else text


class Cuts(NamedTuple):
    """Predictions of rows, of weight ``right`` and ``wrong``, that have a score of ``at`` or more,
    at every cut from above all scores (with a precision of NaN) down; ``alarms`` and ``share`` are
    their shares of the negative and of all rows.
    """

    at: np.ndarray
    right: np.ndarray
    wrong: np.ndarray
    recall: np.ndarray
    alarms: np.ndarray
    precision: np.ndarray
    share: np.ndarray
    f1: np.ndarray

    @classmethod
    def of(cls, positive: np.ndarray, scores: np.ndarray, weights: np.ndarray) -> Self:
        from sklearn.metrics import confusion_matrix_at_thresholds

        _, wrong, _, right, at = confusion_matrix_at_thresholds(
            positive.astype(int), scores.astype(np.float64), pos_label=1, sample_weight=weights
        )
        at = np.append(np.nextafter(at[0], np.inf), at)
        right, wrong = np.append(0.0, right), np.append(0.0, wrong)
        said, (positives, negatives) = right + wrong, (right[-1], wrong[-1])
        precision = np.divide(right, said, out=np.full_like(said, np.nan), where=said > 0)
        return cls(
            at, right, wrong, right / positives, wrong / negatives, precision,
            said / (positives + negatives), 2 * right / (said + positives),
        )  # fmt: skip

    def cost(self, rule: Rule) -> np.ndarray:
        return rule.value * (self.right[-1] - self.right) + rule.alarm * self.wrong

    def best(self, rule: Rule) -> int:
        """Return the cut that a rule chooses, the highest of equally good ones."""
        least = rule.value * (1 - ROUNDING)
        values = {
            "recall": np.where(self.recall >= least, self.precision, -1.0),
            "precision": np.where(self.precision >= least, self.recall, -1.0),
            "cost": -self.cost(rule), "f1": self.f1, "balanced_accuracy": self.recall - self.alarms,
        }[rule.name]  # fmt: skip
        if rule.name == "precision" and values.max() < 0:
            raise DataError(
                f"threshold is {rule}, but the highest precision on the held-out rows is "
                f"{np.nanmax(self.precision):.4g}.", code="unsupported", option="threshold",
            )  # fmt: skip
        room = ROUNDING * max(1.0, float(np.abs(values).max()))
        return int(np.argmax(values >= values.max() - room))

    def between(self, k: int) -> float:
        """Return the threshold for cut ``k``: halfway to the next lower score, if there is one."""
        if k in (0, len(self.at) - 1):
            return float(self.at[k])
        low, high = self.at[k + 1].item(), self.at[k].item()
        middle = low + (high - low) / 2
        return middle if low < middle else high


class Threshold(NamedTuple):
    """The decision threshold of two classes.

    Attributes
    ----------
    score : float, the smallest score with which the positive class is predicted
    positive : int, the code of the positive class, which is not the reference
    rule : str, such as "recall=0.9"
    measured : dict or None
        Results on the rows on which it was chosen: ``rows``, ``on`` (which rows), and ``chosen``
        and ``default``, each with ``recall``, ``precision``, ``share`` (of rows predicted
        positive), and ``cost`` for a rule with costs. None if it was given.
    """

    score: float
    positive: int
    rule: str
    measured: dict[str, Any] | None = None

    def codes(self, scores: np.ndarray) -> np.ndarray:
        own = scores if self.positive else -scores
        return np.where(own >= self.score, self.positive, 1 - self.positive)

    def number(self, model: Any) -> float:
        """Return the threshold as a probability of the positive class, or else as its score."""
        if not hasattr(model, "predict_proba"):
            return self.score
        value = np.array([self.score if self.positive else -self.score])
        with np.errstate(over="ignore"):  # at the ends of floats
            return float(probabilities_of(model, value)[0, self.positive])

    @classmethod
    def from_json(cls, model: Any, stored: dict[str, Any]) -> Self:
        found = cls(**stored)
        check_two(model)
        Rule.of(found.rule)
        valid = type(found.score) is float and np.isfinite(found.score)
        if not valid or found.positive not in (0, 1) or not isinstance(found.measured, dict | None):
            raise ValueError("an invalid threshold")
        return found


def threshold_of(model: Any) -> dict[str, Any]:
    threshold = getattr(model, "threshold_", None)
    if threshold is None:
        return {}
    about = {"positive": labels.plain_labels(model.classes_)[threshold.positive]}
    about |= {"of": "probability" if hasattr(model, "predict_proba") else "score"}
    return {"threshold": threshold._asdict() | about | {"at": threshold.number(model)}}


def check_two(model: Any) -> int:
    """Return the code of the positive class of a model; DataError unless it has two classes."""
    n = np.size(getattr(model, "classes_", ()))
    if n != 2:
        code = "class-count" if n else "unsupported"
        raise DataError(f"A threshold needs two classes, but the model has {n}.", code=code)
    return labels.positive_code(model)


def given_threshold(model: Any, rule: Rule) -> Threshold:
    positive, score = check_two(model), rule.value
    if hasattr(model, "predict_proba"):
        if not 0 <= rule.value <= 1:
            why = f"threshold is {rule}, but the model has probabilities: choose one from 0 to 1."
            raise ParameterError(why, option="threshold", value=rule.value)
        score = _smallest_float(lambda x: Threshold(x, positive, "").number(model) >= rule.value)
    return Threshold(score, positive, str(rule))


def _smallest_float(holds: Callable[[float], bool]) -> float:
    def at(n: int) -> float:  # floats of one sign are ordered like their bit patterns
        return float(np.int64(n).view(np.float64))

    last = int(np.array(np.finfo(np.float64).max).view(np.int64))
    if holds(0.0):
        below = bisect_left(range(last + 1), True, key=lambda n: not holds(0.0 - at(n)))
        return 0.0 - at(below - 1)
    return at(bisect_left(range(last), True, key=lambda n: holds(at(n))))


def chosen_threshold(model: Any, rule: Rule, rows: Iterable[np.ndarray], on: str) -> Threshold:
    """Return the threshold that a rule chooses on rows as :func:`seen`; ``on`` is their name."""
    positive, (scores, codes, weights) = labels.positive_code(model), rows
    _check_all_classes(model, codes, weights, on)
    cuts = Cuts.of(codes == positive, scores if positive else -scores, weights)
    chosen, default = cuts.best(rule), max(int((cuts.at > 0).sum()) - 1, 0)
    curves = {"recall": cuts.recall, "precision": cuts.precision, "share": cuts.share}
    curves |= {"cost": cuts.cost(rule)} if rule.name == "cost" else {}
    at = {
        name: {x: None if np.isnan(curve[k]) else float(curve[k]) for x, curve in curves.items()}
        for name, k in (("chosen", chosen), ("default", default))
    }
    measured = {"rows": int((weights > 0).sum()), "on": on, **at}
    return Threshold(cuts.between(chosen), positive, str(rule), measured)


@of_learner
def set_threshold(
    model: Any, rule: Any, X: Any = None, y: Any = None, *, sample_weight: Any = None,
    offset: Any = None,
) -> Any:  # fmt: skip
    """Set the decision threshold of a fitted classifier of two classes, ``model.threshold_``, a
    :class:`linsep.estimators.thresholds.Threshold`, and return the model.

    It is saved and exported with the model, and dropped when the model is trained further.
    ``training_accuracy_``, measured with another threshold, becomes None.

    Parameters
    ----------
    model : fitted classifier of two classes
        The positive class is the one that is not the reference, by default the larger.
    rule : str, float or None
        - a number: the least probability of the positive class or, for a model without
          probabilities, its least score; needs no rows
        - "recall=0.9": the highest precision among thresholds with at least this recall
        - "precision=0.8": the highest recall among thresholds with at least this precision
        - "cost=10:1": the lowest cost, where a missed positive costs 10 and a false alarm 1
        - "f1", "balanced_accuracy": the highest value of the metric
        - None: no threshold

        Of equally good thresholds the highest, halfway between two scores of the rows, the lowest
        score if all rows are predicted positive, and above the highest score if none is.
    X : array, sparse matrix or data frame of shape (rows, features); or, without y, a Source, file
        or frame with the labels, as in ``model.score(X)``
        Rows not used for training; they may be those of the calibration.
    y, sample_weight : arrays of shape (rows,), weights by default ones
    offset : array of shape (rows,), or a number, for models that were fitted with offsets

    Raises
    ------
    ParameterError
        If the rule is invalid.
    DataError
        If the model does not have two classes, no threshold reaches the precision, a class has no
        row, or the rule needs rows and X is missing.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import linsep
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = linsep.GaussianNaiveBayes().fit(X[:300], y[:300] == 0)
    >>> model = linsep.set_threshold(model, "recall=0.97", X[300:], y[300:] == 0)
    >>> round(model.threshold_.measured["chosen"]["recall"], 3)
    0.974
    """
    check_is_fitted(model)
    if rule is None:
        return with_threshold(model, None)
    chosen = rule if isinstance(rule, Rule) else Rule.of(rule)
    if chosen.name == "fixed":
        return with_threshold(model, given_threshold(model, chosen))
    check_two(model)
    if X is None:
        raise DataError(f"{chosen} needs rows: pass X and y.", code="needs-option", option="X")
    *rows, on = seen(model, X, y, sample_weight, offset)
    return with_threshold(model, chosen_threshold(model, chosen, rows, on))


def with_threshold(model: Any, threshold: Threshold | None) -> Any:
    if threshold != vars(model).pop("threshold_", None):
        model.training_accuracy_ = model.training_balanced_accuracy_ = None
    if threshold is not None:
        model.threshold_ = threshold
    return model
