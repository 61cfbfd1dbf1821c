"""Decision thresholds of two classes: given, or chosen on rows not used for training."""

from bisect import bisect_left
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linsep.errors import DataError, ParameterError
from linsep.estimators._common.labels import label_text, plain_labels, positive_code
from linsep.estimators._common.predicting import probabilities_of
from linsep.sources.base import Source

FORMS = "recall=0.9, precision=0.8, cost=10:1, f1, balanced_accuracy, or a number such as 0.3"
#: of sums of weights, relative
ROUNDING = 1e-12


class Rule(NamedTuple):
    """The rule of a threshold.

    Attributes
    ----------
    name : "recall", "precision", "cost", "f1", "balanced_accuracy" or "fixed"
    value : float
        The least recall or precision; the given probability or score; the cost of a missed
        positive; else 0.
    alarm : float
        The cost of a false alarm.
    """

    name: str
    value: float = 0.0
    alarm: float = 0.0

    @property
    def needs_rows(self) -> bool:
        """Whether the threshold is chosen on rows, not given."""
        return self.name != "fixed"

    @classmethod
    def of(cls, given: Any) -> Self:
        """Return the rule given as text or number; ParameterError if it is invalid."""
        number = _number(given)
        if number is not None:
            return cls("fixed", number)
        if given in ("f1", "balanced_accuracy"):
            return cls(given)
        name, _, rest = str(given).partition("=")
        values = [_number(value) for value in rest.split(":")]
        numbers = [value for value in values if value is not None and value > 0]
        wanted = {"recall": 1, "precision": 1, "cost": 2}.get(name, 0)
        if not len(values) == len(numbers) == wanted or (name != "cost" and numbers[0] > 1):
            raise ParameterError(
                f"threshold is {given!r:.80}: choose {FORMS}; recall and precision are at most 1, "
                "and costs, of a missed positive and of a false alarm, above 0.",
                option="threshold", value=given,
            )  # fmt: skip
        return cls(name, *numbers)

    def __str__(self) -> str:
        if self.name == "fixed":
            return repr(self.value)
        if self.name == "cost":
            return f"cost={self.value:g}:{self.alarm:g}"
        return f"{self.name}={self.value:g}" if self.value else self.name


def _number(given: Any) -> float | None:
    try:
        found = float(given)
    except (TypeError, ValueError):
        return None
    return found if np.isfinite(found) else None


class Cuts(NamedTuple):
    """Predictions of rows at every cut of their scores, the highest cut first.

    Attributes
    ----------
    at : array of shape (cuts,)
        Rows with at least this score are predicted positive; the first cut is above all.
    right, wrong : arrays of shape (cuts,)
        The weight of the positive and the negative rows among them.
    """

    at: np.ndarray
    right: np.ndarray
    wrong: np.ndarray

    @classmethod
    def of(cls, positive: np.ndarray, scores: np.ndarray, weights: np.ndarray) -> Self:
        """Return all cuts of weighted rows; ``positive`` marks the positive rows."""
        from sklearn.metrics import confusion_matrix_at_thresholds

        some = weights > 0
        _, wrong, _, right, at = confusion_matrix_at_thresholds(
            positive[some].astype(int), scores[some].astype(np.float64), pos_label=1,
            sample_weight=None if (weights[some] == 1).all() else weights[some],
        )  # fmt: skip
        above = np.nextafter(at[:1], np.inf)
        return cls(*(np.concatenate(p) for p in ((above, at), ([0.0], right), ([0.0], wrong))))

    @property
    def recall(self) -> np.ndarray:
        """The share of the positive rows that are predicted positive."""
        return self.right / self.right[-1]

    @property
    def alarms(self) -> np.ndarray:
        """The share of the negative rows that are predicted positive."""
        return self.wrong / self.wrong[-1]

    @property
    def precision(self) -> np.ndarray:
        """The share of positive rows among those predicted positive; NaN if no rows are."""
        found = self.right + self.wrong
        return np.divide(self.right, found, out=np.full_like(found, np.nan), where=found > 0)

    @property
    def share(self) -> np.ndarray:
        """The share of rows that are predicted positive."""
        return (self.right + self.wrong) / (self.right[-1] + self.wrong[-1])

    @property
    def f1(self) -> np.ndarray:
        """The harmonic mean of recall and precision."""
        return 2 * self.right / (self.right + self.wrong + self.right[-1])

    def cost(self, rule: Rule) -> np.ndarray:
        """The cost of all rows, for a rule with costs."""
        return rule.value * (self.right[-1] - self.right) + rule.alarm * self.wrong

    def between(self, k: int) -> float:
        """Return the threshold for cut ``k``: halfway to the next lower score, so that rounding
        does not matter for similar rows; the lowest score for the last cut.
        """
        if k in (0, len(self.at) - 1):
            return float(self.at[k])
        low, high = self.at[k + 1].item(), self.at[k].item()
        middle = low + (high - low) / 2
        return middle if low < middle else high

    def best(self, rule: Rule) -> int:
        """Return the cut that a rule chooses, the highest of equally good cuts; DataError if no cut
        satisfies the rule.
        """
        if rule.name == "recall":
            return _largest(np.where(_reaches(self.recall, rule.value), self.precision, -1.0))
        if rule.name == "precision":
            enough = _reaches(self.precision, rule.value)
            if not enough.any():
                k = _largest(np.append(-1.0, self.precision[1:]))
                raise DataError(
                    f"threshold is {rule}, but no threshold reaches that on the held-out rows: the "
                    f"highest precision is {self.precision[k]:.4g}, with recall "
                    f"{self.recall[k]:.4g}; choose a lower precision.",
                    code="unsupported", option="threshold",
                )  # fmt: skip
            return _largest(np.where(enough, self.recall, -1.0))
        if rule.name == "cost":
            return _largest(-self.cost(rule))
        if rule.name == "f1":
            return _largest(self.f1)
        return _largest(self.recall - self.alarms)


def _reaches(values: np.ndarray, least: float) -> np.ndarray:
    return values >= least * (1 - ROUNDING)


def _largest(values: np.ndarray) -> int:
    """Return the first of the largest values, up to rounding."""
    room = ROUNDING * max(1.0, float(np.abs(values).max()))
    return int(np.argmax(values >= values.max() - room))


class Threshold(NamedTuple):
    """The decision threshold of two classes.

    Attributes
    ----------
    score : float
        The smallest score with which the positive class is predicted.
    positive : int
        The code of the positive class, which is not the reference.
    rule : str
        The rule as given, such as "recall=0.9".
    measured : dict or None
        Results on the rows on which it was chosen: ``rows``, ``on`` (which rows), ``weight``, and
        ``chosen`` and ``default``, each with ``recall``, ``precision``, ``share`` (of rows
        predicted positive), and ``cost`` for a rule with costs. None if it was given.
    """

    score: float
    positive: int
    rule: str
    measured: dict[str, Any] | None = None

    def codes(self, scores: np.ndarray) -> np.ndarray:
        """Return the codes of the classes of rows with these decision values."""
        own = scores if self.positive else -scores
        return np.where(own >= self.score, self.positive, 1 - self.positive)

    def number(self, model: Any) -> float:
        """Return the threshold for display: the probability, or score, of the positive class."""
        return number_of(model, self.positive, self.score)

    @classmethod
    def from_json(cls, model: Any, stored: dict[str, Any]) -> Self:
        """Return a threshold of a model file; raise ValueError if it is invalid."""
        found = cls(**stored)
        check_two(model)
        if type(found.score) is not float or not np.isfinite(found.score):
            raise ValueError(f"a threshold of {found.score!r}")
        if found.positive not in (0, 1) or not isinstance(found.measured, dict | None):
            raise ValueError("an invalid threshold")
        Rule.of(found.rule)
        return found


def has_probabilities(model: Any) -> bool:
    """Return whether a threshold of a model is a probability rather than a score."""
    return hasattr(model, "predict_proba")


def threshold_of(model: Any) -> dict[str, Any]:
    """Return the threshold of a model as plain JSON; empty without a threshold."""
    threshold = getattr(model, "threshold_", None)
    if threshold is None:
        return {}
    about = threshold._asdict() | {
        "positive": plain_labels(model.classes_)[threshold.positive],
        "of": "probability" if has_probabilities(model) else "score",
        "at": threshold.number(model),
    }
    return {"threshold": about}


def number_of(model: Any, positive: int, score: float) -> float:
    """Return the probability of the positive class at one of its scores; for a model without
    probabilities, the score itself.
    """
    if not has_probabilities(model):
        return score
    value = np.array([score if positive else -score])
    with np.errstate(over="ignore"):  # at the ends of floats
        return float(probabilities_of(model, value)[0, positive])


def check_two(model: Any) -> int:
    """Return the code of the positive class of a model; DataError unless it has two classes."""
    kind = type(model).__name__
    if not hasattr(model, "classes_"):
        raise DataError(
            f"A {kind} predicts numbers, but a threshold needs two classes.", code="unsupported"
        )
    labels = model.classes_.tolist()
    if len(labels) != 2:
        raise DataError(
            f"A threshold needs two classes, but this {kind} has {len(labels)}.", code="class-count"
        )
    return positive_code(model)


def given_threshold(model: Any, rule: Rule) -> Threshold:
    """Return the threshold at a probability, or at a score of a model without probabilities."""
    positive, kind = check_two(model), type(model).__name__
    if not has_probabilities(model):
        return Threshold(float(rule.value), positive, str(rule))
    if not 0 <= rule.value <= 1:
        raise ParameterError(
            f"threshold is {rule}, but this {kind} has probabilities: choose one from 0 to 1.",
            option="threshold", value=rule.value,
        )  # fmt: skip

    def reached(score: float) -> bool:
        return number_of(model, positive, score) >= rule.value

    return Threshold(_smallest(reached), positive, str(rule))


def _smallest(holds: Callable[[float], bool]) -> float:
    """Return the smallest float from which a condition holds, or the largest float."""
    bits = np.array(np.finfo(np.float64).max).view(np.int64).item()

    def size(n: int) -> float:
        return float(np.array(n, dtype=np.int64).view(np.float64))

    if holds(0.0):  # floats of one sign are ordered like their bit patterns
        return 0.0 - size(
            bits - bisect_left(range(bits), True, key=lambda n: holds(-size(bits - n)))
        )
    return size(bisect_left(range(bits), True, key=lambda n: holds(size(n))))


def chosen_threshold(
    model: Any, rule: Rule, rows: tuple[np.ndarray, np.ndarray, np.ndarray], on: str
) -> Threshold:
    """Return the threshold that a rule chooses on rows not used for training.

    Parameters
    ----------
    model : fitted classifier
    rule : Rule, not a fixed number
    rows : their decision values, codes of their classes, and weights
    on : what the rows are, in words
    """
    positive = check_two(model)
    scores, codes, weights = rows
    own, truth = scores if positive else -scores, codes == positive
    of = np.bincount(codes, weights, minlength=2)
    if not of.all():
        missing = label_text(model.classes_[int(np.argmin(of))])
        raise DataError(
            f"Choosing a threshold needs rows of both classes, but {on} has no row of class "
            f"{missing}: pass rows of both classes.",
            code="class-count",
        )
    cuts, said = Cuts.of(truth, own, weights), own > 0
    k = cuts.best(rule)
    usual = Cuts(np.zeros(2), *(_totals(said, side, weights) for side in (truth, ~truth)))
    measured = {
        "rows": int((weights > 0).sum()), "on": on, "chosen": _measures(cuts, k, rule),
        "default": _measures(usual, 0, rule),
    }  # fmt: skip
    return Threshold(cuts.between(k), positive, str(rule), measured)


def _totals(said: np.ndarray, side: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weight of the rows of one side predicted positive, and of all its rows."""
    return np.array([weights[said & side].sum(), weights[side].sum()])


def _measures(cuts: Cuts, k: int, rule: Rule) -> dict[str, float | None]:
    found = {name: float(getattr(cuts, name)[k]) for name in ("recall", "precision", "share")}
    found |= {"cost": float(cuts.cost(rule)[k])} if rule.name == "cost" else {}
    return {name: None if np.isnan(value) else value for name, value in found.items()}


def set_threshold(
    model: Any, rule: Any, X: Any = None, y: Any = None, *, sample_weight: Any = None,
    offset: Any = None,
) -> Any:  # fmt: skip
    """Set the decision threshold of a fitted classifier of two classes.

    The threshold is set in place, saved and exported with the model, and dropped when the model is
    trained further. ``training_accuracy_``, measured with another threshold, becomes None.
    ``model.threshold_`` is a NamedTuple: ``score``, the smallest score with which the positive
    class is predicted; ``positive``, its code; ``rule``; and ``measured``, results on the rows on
    which it was chosen.

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

        Among equally good thresholds, the highest is chosen. It is halfway between two scores of
        the rows; the lowest score if all rows are predicted positive, and above the highest score
        if no row is.
    X : array, sparse matrix or data frame of shape (rows, features); or, without y, a Source, file
        or frame with the labels, as in ``model.score(X)`` Rows not used for training. Only the
        order of their scores matters, so they may be the rows used for calibration.
    y : array of shape (rows,)
    sample_weight : array of shape (rows,), default ones
    offset : array of shape (rows,), or a number
        For models that were fitted with offsets.

    Returns
    -------
    model

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
    check_two(model)
    if not chosen.needs_rows:
        return with_threshold(model, given_threshold(model, chosen))
    if X is None:
        raise DataError(
            f"threshold is {chosen}, which needs rows: pass X and y.",
            code="needs-option", option="X",
        )  # fmt: skip
    from linsep.estimators._common.calibration import seen
    from linsep.estimators._common.frames import to_score

    X = to_score(model, X, y)
    rows = seen(model, X, y, sample_weight, offset)
    on = X.name if isinstance(X, Source) else "the rows"
    return with_threshold(model, chosen_threshold(model, chosen, rows, on))


def with_threshold(model: Any, threshold: Threshold | None) -> Any:
    """Return a model with this threshold, without the training accuracy at another threshold."""
    if threshold != getattr(model, "threshold_", None):
        model.threshold_ = threshold
        model.training_accuracy_ = model.training_balanced_accuracy_ = None
    if threshold is None:
        model.__dict__.pop("threshold_", None)
    return model
