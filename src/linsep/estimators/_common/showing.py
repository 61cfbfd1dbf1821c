"""Display of fitted models: linear models as equations in the features and units of the data,
classifiers as pictures.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linsep.drawing import display
from linsep.estimators._common.explaining import linear_of, sides_of
from linsep.estimators._common.frames import TakesFrames
from linsep.estimators._common.labels import words_and_signs
from linsep.parameters import fitted_parameter
from linsep.words import escaped

#: number of terms written; of more terms, the ones with the largest weights
MOST_TERMS = 20


class Function(NamedTuple):
    """A linear function of the features.

    Attributes
    ----------
    value : str
        The name of its value, such as "pressure" or "log-odds of ill"; empty if only its sign
        matters.
    means, otherwise : str
        The class that a positive sign means and, if there are several functions, the class that
        another sign means; else empty.
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
    sign : ">" or ">=", the comparison of the score with 0 for the positive class
    of_length : bool
        Whether intercepts are multiplied by the length of the row, since rows are scaled to length
        1; it is written \\|x\\|.
    decision : str, how several functions decide; else empty
    """

    features: list[str]
    functions: list[Function]
    sign: str = ">"
    of_length: bool = False
    decision: str = ""

    def __str__(self) -> str:
        lines = [self._line(function) for function in self.functions]
        return "\n".join([*lines, self.decision] if self.decision else lines)

    __repr__ = __str__

    def _line(self, function: Function) -> str:
        intercept, terms = function.intercept, _terms(function.weights, self.features)
        unit = " |x|" if self.of_length and intercept else ""
        if function.value:
            constant = [f"{_number(intercept)}{unit}"] if intercept else []
            return f"{escaped(function.value)} = {_sum([*constant, *terms])}"
        rest = f", else {escaped(function.otherwise)}" if function.otherwise else ""
        least = f"{_number(-intercept)}{unit}"
        return f"{_sum(terms)} {self.sign} {least} means {escaped(function.means)}{rest}"


def linear_sum(weights: np.ndarray, features: list[str]) -> str:
    """Return a sum of features times weights as text."""
    return _sum(_terms(weights, features))


def _terms(weights: np.ndarray, features: list[str]) -> list[str]:
    """Return the terms of the weights that are not zero, in the order of the features."""
    used = np.flatnonzero(weights)
    largest = used[np.argsort(-np.abs(weights[used]), kind="stable")[:MOST_TERMS]]
    terms = []
    for j in np.sort(largest):
        number = {"1": "", "-1": "-"}.get(text := _number(weights[j]), f"{text} ")
        terms.append(number + escaped(features[j]))
    left_out = used.size - largest.size
    return [*terms, f"{left_out:,} smaller terms"] if left_out else terms


def _number(x: float) -> str:
    """Format a number with four digits, or with all digits of its integer part."""
    text = f"{x + 0.0:.4g}"
    return f"{x:.0f}" if "e+" in text and abs(x) < 1e15 else text


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
    """Return the equation of a fitted linear model; AttributeError if it has none: with
    ``keep="vote"``, with products of scaled columns, and with an intercept if rows of scaled
    columns are normalized to length 1.
    """
    if fitted_parameter(model, "keep") == "vote":
        raise AttributeError('A model with keep="vote" has several weight vectors, no equation.')
    recipe, (names, signs) = getattr(model, "recipe_", {}), words_and_signs(model)
    linear = linear_of(model)
    weights = np.atleast_2d(np.asarray(linear.coef_, dtype=np.float64))
    intercepts = np.atleast_1d(np.asarray(linear.intercept_, dtype=np.float64))
    of_length = bool(fitted_parameter(model, "normalize") and intercepts.any())
    if scale := recipe.get("scale"):
        if of_length or recipe.get("products"):
            raise AttributeError(
                "Products of scaled columns, and scaled rows of length 1 with an intercept, have "
                "no equation in the columns: fit without scaling."
            )
        moments = np.array([scale.get(name, (0.0, 1.0)) for name in names], dtype=np.float64)
        weights = weights / moments[:, 1]
        intercepts = intercepts - weights @ moments[:, 0]
    labels, ovo = getattr(linear, "classes_", ()), fitted_parameter(model, "multiclass") == "ovo"
    several, logistic = len(labels) > 2, len(labels) > 1 and hasattr(linear, "log_likelihood_")
    threshold = getattr(model, "threshold_", None)
    if logistic:  # which says a log-odds, and not what is predicted
        threshold = None
    if threshold is not None:
        intercepts = intercepts - threshold.score
    functions = []
    for (own, other), *function in zip(sides_of(model), weights * signs, intercepts, strict=True):
        value, means, otherwise = own, "", ""
        if logistic:
            value = f"log-odds of {own}" + f" against {other}" * several
        elif several and not ovo:
            value = f"score of {own}"
        elif len(labels):
            value, means, otherwise = "", own, other * several
        functions.append(Function(value, means, otherwise, *function))
    sign = ">=" if threshold is not None or fitted_parameter(model, "tie") == "positive" else ">"
    wins = "that wins the most pairs" if ovo else "with the largest score"
    decision = f"The class {wins} is predicted." * (several and not logistic)
    return Equation(names, functions, sign, of_length, decision)


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
