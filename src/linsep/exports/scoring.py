"""The description of a model for exports: its scores, their decisions, and its columns."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linsep import LinearRegression
from linsep.catalog import CLASSES, class_named
from linsep.errors import Hint, LinsepError
from linsep.estimators import labels
from linsep.linear.several import one_target
from linsep.sources.tables import from_recipe
from linsep.words import a


class ExportError(LinsepError, ValueError):
    """A format does not support a model, or a package for it is not installed."""


@dataclass(frozen=True)
class Rule:
    """How scores become a prediction.

    Attributes
    ----------
    name : "number" (a regression), "sign", "largest" or "pairs", see :meth:`sentence`
    classes : labels in the order of codes, 1 rather than 1.0; empty for a regression
    ties_high : whether equal scores, or a score equal to ``cut``, select the larger class
    probabilities : whether scores are log-odds
    normalize : whether a row is divided by its length first
    cut : threshold of the score of the larger of two classes
    """

    name: str
    classes: tuple[Any, ...]
    ties_high: bool = False
    probabilities: bool = False
    normalize: bool = False
    cut: float = 0.0

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Codes (a, b) of each score of the rule "pairs", which is positive for b."""
        return labels.pairs(len(self.classes))

    def names(self) -> list[str]:
        """Return the meaning of each score, in words."""
        texts = [labels.label_text(label) for label in self.classes]
        if self.name == "pairs":
            return [f"{texts[b]} against {texts[a]}" for a, b in self.pairs]
        return {"number": ["prediction"], "sign": texts[1:]}.get(self.name, texts)

    def sentence(self) -> str:
        """Return the rule in words."""
        if self.name == "number":
            return "the score is the prediction"
        if self.name == "sign":
            above = f"{'at least' if self.ties_high else 'above'} {self.cut:g}"
            high, low = labels.label_text(self.classes[1]), labels.label_text(self.classes[0])
            return f"{high} if the score is {above}, else {low}"
        decided = "the class of the largest score"
        if self.name == "pairs":
            decided = (
                "each score decides between two classes; the class with most wins, then the "
                "largest sum of scores"
            )
        return f"{decided}; the {'last' if self.ties_high else 'first'} class of equal ones"


@dataclass(frozen=True)
class NumericColumn:
    """A numeric column, which enters as (x - ``subtract``) / ``divide``.

    ``name`` is the name of a column, its number in an array, or the number of a feature. ``fill``
    replaces a missing value; None if no value may be missing. Without scaling ``divide`` is None.
    ``truth``: whether the column holds true and false, encoded as 1 and 0.
    """

    name: str | int
    fill: float | None = None
    subtract: float = 0.0
    divide: float | None = None
    truth: bool = False


@dataclass(frozen=True)
class ModelColumns:
    """The conversion of the columns of rows to features.

    Attributes
    ----------
    kind : "table", whose columns have names; "array", of numbers in order; "svmlight", of numbered
        features, where missing ones are zero
    numeric : the numeric columns, whose features come first
    text : dict of text column to dict of value to feature; rare values share a feature
    empty : text columns in which empty text was seen in training; in others it is missing
    fill_text : whether a text may be missing
    single : whether numbers are read and scaled in float32
    categorical : text columns whose values may be written as numbers
    """

    kind: str
    numeric: list[NumericColumn]
    text: dict[str, dict[str, int]] = field(default_factory=dict)
    empty: tuple[str, ...] = ()
    fill_text: bool = True
    single: bool = False
    categorical: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scoring:
    """Linear scores ``coef`` x + ``intercept`` of features x, with a row of ``coef`` for each."""

    rule: Rule
    coef: np.ndarray
    intercept: np.ndarray
    columns: ModelColumns


def supported(model: Any) -> Any:
    """Return the model to export, naive Bayes as a logistic regression, or raise ExportError."""
    if class_named(type(model).__name__) is not type(model):
        raise ExportError(
            f"{a(type(model).__name__, True)} of {type(model).__module__.partition('.')[0]} cannot "
            f"be exported, only {', '.join(CLASSES)} of linsep."
        )
    check_is_fitted(model, msg="This %(name)s is not fitted: call fit before exporting it.")
    if hasattr(model, "check_same_parameters"):
        model.check_same_parameters("export")
    this = a(type(model).__name__, True)
    if hasattr(model, "to_logistic"):
        recipe, model = getattr(model, "recipe_", None), model.to_logistic()
        if recipe is not None:
            model.recipe_ = recipe
    if hasattr(model, "kernel_"):
        raise ExportError(
            f"{this} has a kernel and no column weights: use it in Python, or serve it."
        )
    if labels.has_offset(model):
        raise ExportError(f"{this} needs the offset of each row: predict with linsep.")
    for option, value, instead in (("tie", "random", "negative"), ("keep", "vote", "average")):
        if getattr(model, option, "") == value:
            raise ExportError(
                f'{this} with {option}="{value}" cannot be exported',
                Hint("retrain the model with {}", {option: instead}, again=True), option=option,
            )  # fmt: skip
    for label in np.asarray(getattr(model, "classes_", [])).tolist():
        if not isinstance(label, str | int | float | bool):
            raise ExportError(
                f"The label {label!r} is neither text nor a number or boolean: convert the labels.",
                code="label-type", value=label,
            )  # fmt: skip
    return model


def prediction_rule(model: Any) -> Rule:
    """Return how the scores that are exported of a fitted model become predictions, or raise
    ExportError.
    """
    model = supported(model)
    if not hasattr(model, "classes_"):
        return Rule("number", ())
    classes = tuple(labels.plain_labels(model.classes_))
    binary = len(classes) == 2
    cut, ties = 0.0, None
    if (threshold := getattr(model, "threshold_", None)) is not None:
        # the score of the smaller class is minus the larger's
        ties = threshold.positive == 1
        cut = threshold.score if ties else 0.0 - threshold.score
    if not hasattr(model, "multiclass"):
        kind = "sign" if binary else "largest"
        return Rule(kind, classes, bool(ties), probabilities=True, cut=cut)
    name = "sign" if binary else "pairs" if model.multiclass == "ovo" else "largest"
    high = (model.tie == "positive") != is_turned(model) if ties is None else ties
    # One-vs-rest has other probabilities than softmax, and only linsep has calibrations.
    own = getattr(model, "scores_are_log_odds", False) and not hasattr(model, "calibration_")
    own = own and (binary or model.multiclass == "native")
    unit = bool(getattr(model, "normalize", False))
    return Rule(name, classes, high, probabilities=own, normalize=unit, cut=cut)


def is_turned(model: Any) -> bool:
    """Return whether positive scores by ``coef_`` select the smaller of two classes."""
    return len(getattr(model, "classes_", ())) == 2 and not labels.positive_code(model)


def read_scoring(model: Any) -> Scoring:
    """Return the linear scores of a model; for two classes they belong to the larger. ExportError
    if its scores are not linear, or its columns have no known names or numbers.
    """
    model = supported(model)
    one_target(model, "an export")
    rule, columns = prediction_rule(model), read_columns(model)
    coef = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    if isinstance(model, LinearRegression) and model.solution_.far:
        # Columns subtract their centers, but texts and scaled columns are near zero.
        numeric, center = list(columns.numeric), model.solution_.means.copy()
        for j, column in enumerate(numeric):
            if column.divide is None:
                numeric[j], center[j] = replace(column, subtract=float(center[j])), 0.0
        intercept = np.array([model.solution_.at_means]) - coef @ center
        return Scoring(rule, coef, intercept, replace(columns, numeric=numeric))
    intercept = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))
    if not np.isfinite(intercept).all():
        raise ExportError(
            "A class whose rows all have weight 0 cannot be exported: leave out its rows and "
            "train the model again."
        )
    if len(rule.classes) > 2 and not hasattr(model, "multiclass"):
        # Rows of weights belong to the other classes in order; the reference has weights of zero.
        reference = model.classes_.tolist().index(model.reference_)
        coef = np.insert(coef, reference, 0.0, axis=0)
        intercept = np.insert(intercept, reference, 0.0)
    sign = -1.0 if is_turned(model) else 1.0
    return Scoring(rule, sign * coef, sign * intercept, columns)


def read_columns(model: Any) -> ModelColumns:
    """Return the conversion of rows to features; raise ExportError if only linsep can do it."""
    recipe, d = getattr(model, "recipe_", None) or {"format": "arrays"}, model.n_features_in_
    if recipe["format"] == "arrays":
        if not hasattr(model, "feature_names_in_"):
            return ModelColumns("array", [NumericColumn(k) for k in range(d)])
        names = [str(name) for name in model.feature_names_in_]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ExportError(
                f"Two columns are called '{twice[0]}': give each its own name.",
                code="duplicate-name", column=twice[0],
            )  # fmt: skip
        return ModelColumns("table", [NumericColumn(name) for name in names])
    if recipe["format"] == "svmlight":
        first = recipe.get("index_base", 0)
        return ModelColumns("svmlight", [NumericColumn(k + first, 0.0) for k in range(d)])
    if recipe["format"] != "table":
        raise ExportError(
            f"The features of this model come from {recipe['format']} text, and only linsep finds "
            "their columns: train it on a table or on svmlight text."
        )
    read = from_recipe(recipe)
    own = next(iter(read.words), next(iter(read.text), None))
    date = next((name for name, how in read.converted.items() if how != "number"), None)
    for made, what, column in (
        (read.formula, "The formula makes features", None),
        (read.products, "Products of columns are features", None),
        (read.words, f"The words of column '{own}' are features", own),
        (read.text and read.hash_bits, f"The values of column '{own}' are hashed", own),
        (date is not None, f"Column '{date}' holds dates", date),
        (read.missing == "indicator", "Missing values have features", None),
    ):
        if made:
            raise ExportError(
                f"{what}, which only linsep computes: train the model on precomputed columns.",
                column=column,
            )
    refuse = read.missing in ("error", "drop")
    numeric = []
    for name, kind in read.numeric.items():
        subtract, divide = read.scale.get(name, (0.0, None))
        fill = None if refuse else read.means.get(name, 0.0)
        numeric.append(NumericColumn(name, fill, subtract, divide, kind == "bool"))
    text = {name: read.features_of(name) for name in read.text}
    with_empty = tuple(name for name in text if read.level(name, "") is not None)
    return ModelColumns(
        "table", numeric, text, with_empty, not refuse,
        read.dtype == "float32", tuple(name for name in read.categorical if name in read.text),
    )  # fmt: skip
