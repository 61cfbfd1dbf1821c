"""Display of fitted models: linear models as equations in the features and units of the data,
classifiers as pictures.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linsep.drawing import display
from linsep.estimators.explaining import linear_of, sides_of
from linsep.estimators.frames import TakesFrames
from linsep.estimators.labels import words_and_signs
from linsep.parameters import fitted_parameter
from linsep.words import escaped

#: number of terms written; of more terms, the ones with the largest weights
MOST_TERMS = 20


class Function(NamedTuple):
    """A linear function of the original columns of the data: if a table was scaled, weights and
    intercept include the scaling.

    Attributes
    ----------
    name : str
        The name of its value, or the class that a positive sign means.
    weights : array of shape (features,)
    intercept : float
    """

    name: str
    weights: np.ndarray
    intercept: float


class Equation(str):
    """The functions of a linear model as text, one per line, to four digits; ``functions`` is the
    list of them with all digits. \\|x\\| is the length of a row, by which intercepts are multiplied
    if rows are scaled to length 1.
    """

    functions: list[Function]
    __repr__ = str.__str__


def linear_sum(weights: np.ndarray, features: list[str], *constant: str) -> str:
    """Return a sum of features times weights as text, after other terms, without weights of 0."""
    used = np.flatnonzero(weights)
    largest = used[np.argsort(-np.abs(weights[used]), kind="stable")[:MOST_TERMS]]
    terms = list(constant)
    for j in np.sort(largest):
        number = {"1": "", "-1": "-"}.get(text := _number(weights[j]), f"{text} ")
        terms.append(number + escaped(features[j]))
    if left_out := used.size - largest.size:
        terms.append(f"{left_out:,} smaller terms")
    first, *rest = terms or ["0"]
    signed = (f" - {term[1:]}" if term.startswith("-") else f" + {term}" for term in rest)
    return first + "".join(signed)


def inequality(
    weights: np.ndarray, features: list[str], intercept: float, means: str, sign: str = ">",
    unit: str = "",
) -> str:  # fmt: skip
    """Return when a score is positive as text, and the class that it means."""
    least = _number(0.0 - intercept) + (unit if intercept else "")
    return f"{linear_sum(weights, features)} {sign} {least} means {escaped(means)}"


def _number(x: float) -> str:
    """Format a number with four digits, or with all digits of its integer part."""
    text = f"{x + 0.0:.4g}"
    return f"{x:.0f}" if "e+" in text and abs(x) < 1e15 else text


class HasEquation(TakesFrames):
    """Mixin of the linear models."""

    @property
    def equation_(self) -> Equation:
        """The fitted model as an equation in the features and units of the data: print it."""
        check_is_fitted(self)
        if fitted_parameter(self, "keep") == "vote":
            raise AttributeError('A model with keep="vote" has no single equation.')
        return _equation_of(self, linear_of(self))


def _equation_of(model: Any, linear: Any) -> Equation:
    recipe, (features, signs) = getattr(model, "recipe_", {}), words_and_signs(model)
    weights = np.atleast_2d(np.asarray(linear.coef_, dtype=np.float64))
    intercepts = np.atleast_1d(np.asarray(linear.intercept_, dtype=np.float64))
    unit = " |x|" if fitted_parameter(model, "normalize") and intercepts.any() else ""
    if scale := recipe.get("scale"):
        if unit or recipe.get("products"):
            raise AttributeError(
                "Products of scaled columns, and scaled rows of length 1 with an intercept, have "
                "no equation in the columns: fit without scaling."
            )
        moments = np.array([scale.get(name, (0.0, 1.0)) for name in features], dtype=np.float64)
        weights = weights / moments[:, 1]
        intercepts = intercepts - weights @ moments[:, 0]
    labels, ovo = getattr(linear, "classes_", ()), fitted_parameter(model, "multiclass") == "ovo"
    several, logistic = len(labels) > 2, len(labels) > 1 and hasattr(linear, "log_likelihood_")
    threshold, sign = getattr(model, "threshold_", None), ">"
    if threshold is not None and not logistic:  # a log-odds is not what is predicted
        intercepts, sign = intercepts - threshold.score, ">="
    elif fitted_parameter(model, "tie") == "positive":
        sign = ">="
    lines, functions = [], []
    sides = zip(sides_of(model), weights * signs, intercepts.tolist(), strict=True)
    for (side, other), own, constant in sides:
        name = side
        if logistic:
            name = f"log-odds of {side}" + f" against {other}" * several
        elif several and not ovo:
            name = f"score of {side}"
        if name == side and len(labels):
            line = inequality(own, features, constant, side, sign, unit)
            lines.append(line + f", else {escaped(other)}" * several)
        else:
            first = [_number(constant) + unit] if constant else []
            lines.append(f"{escaped(name)} = {linear_sum(own, features, *first)}")
        functions.append(Function(name, own, constant))
    if several and not logistic:
        wins = "that wins the most pairs" if ovo else "with the largest score"
        lines.append(f"The class {wins} is predicted.")
    equation = Equation("\n".join(lines))
    equation.functions = functions
    return equation


class PlotsDecision(TakesFrames):
    """Mixin of classifiers."""

    classes_: Any
    n_features_in_: int

    def plot(self, X: Any, y: Any = None, *, ax: Any = None, **kwargs: Any) -> Any:
        """Draw the decision regions, or the probability of a class, and the rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, features)
        y : array of shape (rows,), default None
            The classes, to show mistakes; required for one feature, and for probabilities.
        ax : matplotlib Axes, by default of a new figure
        **kwargs : passed to ``from_estimator`` of the display

        Returns
        -------
        linsep.plot.LogisticDisplay, for two classes with probabilities, one or two features;
        AugmentationDisplay, for two classes without them and one feature, drawn with the constant
        feature; else DecisionDisplay
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
