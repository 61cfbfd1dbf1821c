"""Display of fitted models: equations in the units of the data, scores by their terms, pictures."""

from collections.abc import Iterator
from math import fsum
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from linsep.errors import DataError
from linsep.estimators import labels
from linsep.estimators.frames import TakesFrames
from linsep.parameters import fitted_parameter
from linsep.sources.base import Source
from linsep.words import escaped

#: number of terms written; of more terms, the ones with the largest weights
MOST_TERMS = 20


class Function(NamedTuple):
    """A linear function of the columns of the data: the name of its value, or of the class that a
    positive sign means, weights of shape (features,) and the intercept, which include scaling.
    """

    name: str
    weights: np.ndarray
    intercept: float


class Equation(str):
    """The functions of a linear model as text, to four digits, and in ``functions`` with all;
    \\|x\\| is the length of a row, times which the intercept is if rows are scaled to length 1.
    """

    functions: list[Function]
    __repr__ = str.__str__


def linear_sum(weights: np.ndarray, features: list[str], *constant: str) -> str:
    """Return a sum of features times weights as text, after other terms."""
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
    least = _number(0.0 - intercept) + (unit if intercept else "")
    return f"{linear_sum(weights, features)} {sign} {least} means {escaped(means)}"


def _number(x: float) -> str:
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
        recipe, (features, signs) = getattr(self, "recipe_", {}), labels.words_and_signs(self)
        linear = linear_of(self)
        weights = np.atleast_2d(np.asarray(linear.coef_, dtype=np.float64))
        intercepts = np.atleast_1d(np.asarray(linear.intercept_, dtype=np.float64))
        unit = " |x|" if fitted_parameter(self, "normalize") and intercepts.any() else ""
        if scale := recipe.get("scale"):
            if unit or recipe.get("products"):
                raise AttributeError(
                    "Products of scaled columns, and scaled rows of length 1 with an intercept, "
                    "have no equation in the columns: fit without scaling."
                )
            moments = np.array([scale.get(name, (0.0, 1.0)) for name in features], dtype=np.float64)
            weights = weights / moments[:, 1]
            intercepts = intercepts - weights @ moments[:, 0]
        n, ovo = len(getattr(linear, "classes_", ())), fitted_parameter(self, "multiclass") == "ovo"
        several, logistic = n > 2, n > 1 and hasattr(linear, "log_likelihood_")
        threshold, sign = getattr(self, "threshold_", None), ">"
        if threshold is not None and not logistic:  # a log-odds is not what is predicted
            intercepts, sign = intercepts - threshold.score, ">="
        elif fitted_parameter(self, "tie") == "positive":
            sign = ">="
        lines, functions = [], []
        sides = zip(sides_of(self), weights * signs, intercepts.tolist(), strict=True)
        for (side, other), own, constant in sides:
            name = f"score of {side}" if several and not ovo else side
            if logistic:
                name = f"log-odds of {side}" + f" against {other}" * several
            if name == side and n:
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


def terms_of(
    model: Any, source: Source, number: int, X: Any, scores: Any, code: int | None,
    offset: float = 0.0,
) -> dict[str, Any]:  # fmt: skip
    """Return the terms of the score of a row, largest contribution first, as plain JSON; of several
    classes, of the predicted one or the most probable one that has weights. Values and weights are
    in units of the data: a contribution is a weight times a value, less the mean if it was scaled.
    """
    names, linear, known = machine_names(model), linear_of(model), deviations(model)
    k, score = _machine(model, np.ravel(scores), code, len(names))
    row = sp.csr_array(X)
    row.eliminate_zeros()
    seen = row.indices < model.n_features_in_
    columns, values = row.indices[seen], row.data[seen].astype(np.float64)
    weights, length = np.reshape(linear.coef_, (len(names), -1))[k][columns], 1.0
    intercept = float(np.atleast_1d(linear.intercept_)[k])
    if normalized := fitted_parameter(model, "normalize"):
        from linsep.mistake_bounds.bounds import length as length_of

        length = length_of(values) or 1.0
    sure: list[Any] = [None] * (columns.size + 1)
    if known is not None:
        sure = [*known[0][k][columns].tolist(), float(known[1][k])]
    found: list[tuple[Any, ...]] = []
    moments = list((getattr(model, "recipe_", {}).get("scale") or {}).values())  # of first columns
    each = zip(columns.tolist(), values.tolist(), weights.tolist(), sure, strict=False)
    named = names_and_signs(model, source, number, columns.tolist())
    for (name, sign), (j, z, w, dev) in zip(named, each, strict=True):
        mean, spread = moments[j] if j < len(moments) else (None, 1.0)
        value = sign * z if mean is None else _unscaled(X.dtype.type(z), mean, spread)
        unit = spread * length
        found.append((name, value, mean, sign * w / unit, dev and dev / unit, z / length * w))
    found.append(("offset", 1.0, None, offset, None, offset))
    found.append(("intercept", 1.0, None, intercept, sure[-1], intercept))
    keys = "feature", "value", "mean", "weight", "standard_deviation", "contribution"
    terms: list[dict[str, Any]] = [
        {key: x for key, x in zip(keys, term, strict=True) if x is not None}
        for term in sorted(found, key=lambda term: -abs(term[-1])) if term[-1]
    ]  # fmt: skip
    parts = [term["contribution"] for term in terms]
    if not np.isfinite([score, *parts]).all():
        raise DataError("A product or the score of the row overflows float64.", code="overflow")
    return {
        "prediction": score if code is None else labels.plain_labels(model.classes_)[code],
        "score_of": names[k],
        "score": score,
        "terms": terms,
        **({"length": length} if normalized else {}),
        "rounding": fsum([score, *(-part for part in parts)]),
        "without_effect": int(columns.size + bool(intercept) - len(terms)),
    }


def _unscaled(z: Any, mean: float, spread: float) -> float:
    """Return the shortest number that is z after scaling in the type of z."""
    exact, kind = float(z) * spread + mean, type(z)
    rounded = (float(f"{exact:.{digits}g}") for digits in range(1, 18))
    same = (x for x in rounded if (kind(x) - kind(mean)) / kind(spread) == z)
    return next(same, exact)


def is_curved(model: Any) -> bool:
    """Return whether a model is naive Bayes with log-odds that are quadratic, without weights."""
    return hasattr(model, "to_logistic") and np.ndim(model.variances_) == 2


def linear_of(model: Any) -> Any:
    return model.to_logistic() if hasattr(model, "to_logistic") else model


def deviations(model: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the standard deviations of weights, shape (binary classifiers, features), and of
    intercepts, for a learner with variances; else None.
    """
    if not hasattr(model, "intercept_variances_"):
        return None
    return np.sqrt(np.atleast_2d(model.variances_)), np.sqrt(model.intercept_variances_)


def without_weights(model: Any) -> str | None:
    """Return why the features of a model have no weights; None if they have."""
    if fitted_parameter(model, "keep") == "vote":
        return "votes"
    if is_curved(model):
        return "has separate variances for each class"
    return None if hasattr(linear_of(model), "coef_") else "has a kernel"


def sides_of(model: Any) -> list[tuple[str, str]]:
    """Return for which class ("" for others against) the rows of ``coef_`` are, or which target."""
    if not hasattr(model, "classes_"):
        several = getattr(model, "targets_", None)
        return [(name, "") for name in several or [labels.target_name(model) or "y"]]
    names, linear = [labels.label_text(x) for x in model.classes_.tolist()], linear_of(model)
    known = getattr(linear, "reference_", model.classes_[0] if len(names) == 2 else None)
    if known is not None:
        reference = labels.label_text(known)
        return [(name, reference) for name in names if name != reference]
    if fitted_parameter(linear, "multiclass") == "ovo":
        return [(names[b], names[a]) for a, b in labels.pairs(len(names))]
    return [(name, "") for name in names]


def machine_names(model: Any) -> list[str]:
    return [f"{own} against {other}" if other else own for own, other in sides_of(model)]


def _machine(model: Any, scores: np.ndarray, known: int | None, n: int) -> tuple[int, float]:
    linear, code = linear_of(model), known or 0
    if n == 1:  # scores are positive for the larger class, whatever the weights mean
        turned = known is not None and not labels.positive_code(linear)
        return 0, float(0.0 - scores[0] if turned else scores[0])
    if getattr(linear, "multiclass", "") == "ovo":
        why = "One-vs-one models have no per-class score: fit the model with --multiclass ovr."
        raise DataError(why, code="unsupported", option="multiclass")
    if n == scores.size:
        return code, float(scores[code])
    reference = model.classes_.tolist().index(linear.reference_)
    others = np.delete(scores, reference) - scores[reference]
    return int(others.argmax()), float(others.max())


def names_and_signs(model: Any, source: Any, number: int, columns: list[int]) -> Iterator[Any]:
    """Yield the names of some features of a row of a source, or of none, and 1, or -1 for words
    hashed with a negative sign.
    """
    names, recipe = getattr(model, "feature_names_in_", None), getattr(model, "recipe_", {})
    if hasattr(source, "rules"):  # several names in a line of Vowpal Wabbit may share a column
        own = source.names(source.line(number)[2])
        yield from ((" + ".join(own[column]), 1) for column in columns)
    elif recipe.get("words") and names is None:
        from linsep.sources.feature_names import FeatureNames

        yield from map(FeatureNames(recipe).of, columns)
    else:
        first = recipe.get("index_base", 0)
        yield from ((str(j + first) if names is None else str(names[j]), 1) for j in columns)


class PlotsDecision(TakesFrames):
    """Mixin of classifiers."""

    classes_: Any

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
        from linsep.drawing import display

        check_is_fitted(self)
        name, n_features = "DecisionDisplay", getattr(self, "n_features_in_", 0)
        if len(self.classes_) == 2 and hasattr(type(self), "predict_log_proba"):
            name = "LogisticDisplay" if n_features <= 2 else name
        elif len(self.classes_) == 2 and n_features == 1 and hasattr(self, "coef_"):
            name = "AugmentationDisplay"
        return display(name).from_estimator(self, X, y, ax=ax, **kwargs)
