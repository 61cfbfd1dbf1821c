"""Display of fitted models: linear models as equations in the features and units of the data,
classifiers as pictures.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linsep.drawing import display
from linsep.estimators._common.frames import TakesFrames
from linsep.estimators._common.labels import (
    label_text,
    pairs,
    positive_code,
    target_name,
    words_and_signs,
)
from linsep.parameters import fitted_parameter
from linsep.words import escaped

#: number of terms written; of more terms, the ones with the largest weights
MOST_TERMS = 20
#: numbers below this have no exponent
LARGE = 1e15


class Function(NamedTuple):
    """A linear function of the features.

    Attributes
    ----------
    value : str
        The name of its value, such as "pressure" or "log-odds of ill"; empty if only its sign
        matters.
    means : str
        The class that a positive sign means; empty if its value matters.
    otherwise : str
        The class that another sign means, if there are several functions; else empty.
    weights : array of shape (features,)
    intercept : float
    """

    value: str
    means: str
    otherwise: str
    weights: np.ndarray
    intercept: float


@dataclass(frozen=True)
class Equation:
    """The functions of a linear model; ``str`` writes one per line, to four digits.

    Weights and intercepts apply to the original columns of the data: if a table was scaled, they
    include the scaling.

    Attributes
    ----------
    features : list of str
    functions : list of Function
    sign : ">" or ">="
        The comparison of the score with 0 for the positive class.
    of_length : bool
        Whether intercepts are multiplied by the length of the row, since rows are scaled to length
        1; it is written \\|x\\|.
    decision : str
        How several functions decide; else empty.
    """

    features: list[str]
    functions: list[Function]
    sign: str = ">"
    of_length: bool = False
    decision: str = ""

    def __str__(self) -> str:
        lines = [self._line(function) for function in self.functions]
        return "\n".join([*lines, *([self.decision] if self.decision else [])])

    __repr__ = __str__

    def _line(self, function: Function) -> str:
        terms = _terms(function.weights, self.features)
        unit = " |x|" if self.of_length and function.intercept else ""
        if function.value:
            constant = [f"{_number(function.intercept)}{unit}"] if function.intercept else []
            return f"{escaped(function.value)} = {_sum([*constant, *terms])}"
        threshold = f"{_number(0.0 - function.intercept)}{unit}"
        rest = f", else {escaped(function.otherwise)}" if function.otherwise else ""
        return f"{_sum(terms)} {self.sign} {threshold} means {escaped(function.means)}{rest}"


def linear_sum(weights: np.ndarray, features: list[str]) -> str:
    """Return a sum of features times weights as text."""
    return _sum(_terms(weights, features))


def _terms(weights: np.ndarray, features: list[str]) -> list[str]:
    """Return the terms of the weights that are not zero, in the order of the features."""
    used = np.flatnonzero(weights)
    largest = used[np.argsort(-np.abs(weights[used]), kind="stable")[:MOST_TERMS]]
    texts = [(_number(weights[j]), escaped(features[j])) for j in np.sort(largest)]
    terms = [
        name if number == "1" else f"-{name}" if number == "-1" else f"{number} {name}"
        for number, name in texts
    ]
    left_out = used.size - largest.size
    return [*terms, *([f"{left_out:,} smaller terms"] if left_out else [])]


def _number(x: float) -> str:
    """Format a number with four digits, or with all digits of its integer part."""
    text = f"{x + 0.0:.4g}"
    return f"{x:.0f}" if "e+" in text and abs(x) < LARGE else text


def _sum(terms: list[str]) -> str:
    first, *rest = terms or ["0"]
    signed = (f" - {term[1:]}" if term.startswith("-") else f" + {term}" for term in rest)
    return first + "".join(signed)


class HasEquation(TakesFrames):
    """Mixin of the linear models."""

    @property
    def equation_(self) -> Equation:
        """The fitted model as an equation in the features and units of the data: print it."""
        check_is_fitted(self)
        return equation_of(self)


def equation_of(model: Any) -> Equation:
    """Return the equation of a fitted linear model.

    Raises
    ------
    AttributeError
        If the model has no equation: with ``keep="vote"``, and with an intercept if rows of scaled
        columns are normalized to length 1.
    """
    if fitted_parameter(model, "keep") == "vote":
        raise AttributeError(
            'A model with keep="vote" has several weight vectors and no single equation.'
        )
    recipe, (names, signs) = getattr(model, "recipe_", {}), words_and_signs(model)
    unit = bool(fitted_parameter(model, "normalize"))
    linear = model.to_logistic() if hasattr(model, "to_logistic") else model
    weights = np.atleast_2d(np.asarray(linear.coef_, dtype=np.float64))
    intercepts = np.atleast_1d(np.asarray(linear.intercept_, dtype=np.float64))
    of_length = unit and bool(intercepts.any())
    if scale := recipe.get("scale"):
        if recipe.get("products"):
            raise AttributeError(
                "Products of scaled columns cannot be written as an equation in the columns: fit "
                "without scaling."
            )
        if of_length:
            raise AttributeError(
                "With normalized rows of scaled columns and an intercept, there is no equation in "
                "the columns: fit without normalize, without an intercept, or without scaling."
            )
        weights, intercepts = _unscaled(weights, intercepts, names, scale)
    weights = weights * signs
    sides = _sides(linear, target_name(model) or "y")
    threshold = getattr(model, "threshold_", None)
    if _is_logistic(linear):  # which says a log-odds, and not what is predicted
        threshold = None
    if threshold is not None:
        intercepts = intercepts - threshold.score
    functions = [
        Function(*side, own, float(intercept))
        for side, own, intercept in zip(sides, weights, intercepts, strict=True)
    ]
    sign = ">=" if threshold is not None or fitted_parameter(model, "tie") == "positive" else ">"
    return Equation(names, functions, sign, of_length, _decision(linear))


def _unscaled(
    weights: np.ndarray, intercepts: np.ndarray, names: list[str], scale: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights and intercepts for columns that are not scaled."""
    moments = np.array([scale.get(name, (0.0, 1.0)) for name in names], dtype=np.float64)
    weights = weights / moments[:, 1]
    return weights, intercepts - weights @ moments[:, 0]


def _sides(model: Any, target: str) -> list[tuple[str, str, str]]:
    """Return, for each row of ``coef_``, the name of its value or the classes of its sign."""
    if not hasattr(model, "classes_"):
        return [(name, "", "") for name in getattr(model, "targets_", [target])]
    labels = [label_text(label) for label in model.classes_.tolist()]
    if _is_logistic(model):
        reference = label_text(model.reference_)
        against = f" against {reference}" if len(labels) > 2 else ""
        return [(f"log-odds of {x}{against}", "", "") for x in labels if x != reference]
    if len(labels) == 2:
        return [("", labels[positive_code(model)], "")]
    if fitted_parameter(model, "multiclass") == "ovo":
        return [("", labels[b], labels[a]) for a, b in pairs(len(labels))]
    return [(f"score of {label}", "", "") for label in labels]


def _is_logistic(model: Any) -> bool:
    """Return whether scores are log-odds; scores of calibrated learners are not."""
    return hasattr(model, "log_likelihood_")


def _decision(model: Any) -> str:
    """Return how several functions decide, as a sentence."""
    if len(getattr(model, "classes_", ())) < 3 or _is_logistic(model):
        return ""
    if fitted_parameter(model, "multiclass") == "ovo":
        return "The class that wins the most pairs is predicted."
    return "The class with the largest score is predicted."


class PlotsDecision(TakesFrames):
    """Mixin of classifiers."""

    classes_: Any
    n_features_in_: int

    def plot(self, X: Any, y: Any = None, *, ax: Any = None, **kwargs: Any) -> Any:
        """Draw the decision regions, or the probability of a class, and the rows; a single feature
        of a classifier without probabilities is drawn with the constant feature.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, features)
        y : array of shape (rows,), default None
            The classes, to show mistakes; required for one feature, and for probabilities.
        ax : matplotlib Axes, default None
            Where to draw; None creates a new figure.
        **kwargs : passed to ``from_estimator`` of the display

        Returns
        -------
        linsep.plot.LogisticDisplay
            For a classifier with probabilities, two classes and one or two features.
        linsep.plot.AugmentationDisplay
            For a linear classifier without probabilities, two classes and one feature.
        linsep.plot.DecisionDisplay
            Otherwise.
        """
        check_is_fitted(self)
        name = "DecisionDisplay" if len(self.classes_) > 2 else self._picture()
        return display(name).from_estimator(self, X, y, ax=ax, **kwargs)

    def _picture(self) -> str:
        one = getattr(self, "n_features_in_", 0) == 1 and hasattr(self, "coef_")
        return "AugmentationDisplay" if one else "DecisionDisplay"


class PlotsProbability(PlotsDecision):
    """Mixin of classifiers with probabilities."""

    def _picture(self) -> str:
        return "LogisticDisplay" if self.n_features_in_ <= 2 else "DecisionDisplay"
