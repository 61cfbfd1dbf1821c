"""What stands beside rows: labels, classes, weights and offsets; names of features and classes."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from linsep.batches import NO_IMPORTANCE, check_summable
from linsep.errors import DataError, FeatureOverflow, NoRows, hint, warn_caller
from linsep.parameters import fitted_parameter
from linsep.sources.base import Source
from linsep.validation.labels import (
    check_beside,
    is_missing,
    labels_of,
    refuse_continuous,
    warn_of_many_classes,
)
from linsep.validation.values import rows_to_fit
from linsep.words import row_text

#: types of rows that are learned without a copy
FLOATS = (np.float64, np.float32)
#: name of the intercept among the parameters of a regression
INTERCEPT = "intercept"


PEEK = 1024


def encode(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted classes and the int32 class code of each label.

    Numbers are first matched with the classes of the first rows, to avoid sorting them all.
    """
    codes = None
    if y.dtype.kind in "biuf" and (classes := np.unique(y[:PEEK])).size <= PEEK // 4:
        codes = encode_with(y, classes)
    refuse_continuous(y if codes is None else y[:PEEK])
    if codes is None:
        classes, codes = np.unique(y, return_inverse=True)
    warn_of_many_classes(classes, len(y))
    return classes, codes.astype(np.int32, copy=False)


def encode_with(y: np.ndarray, classes: np.ndarray) -> np.ndarray | None:
    """Return the int32 codes of ``y`` among sorted ``classes``; None if it has another label."""
    # the most common case, for which searchsorted would take as long as a pass
    if classes.size == 2:
        larger, smaller = y == classes[1], y == classes[0]
        known = np.count_nonzero(larger) + np.count_nonzero(smaller) == y.size
        return larger.astype(np.int32) if known else None
    codes = np.searchsorted(classes, y).astype(np.int32)
    codes[codes == classes.size] = 0
    return codes if np.array_equal(classes[codes], y) else None


def label_a_row(estimator: Any, y: Any, n_rows: int) -> np.ndarray:
    """Return y as one label per row; raise ValueError if y is missing or has a different length."""
    if y is None:
        raise DataError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y "
            "is None.", code="no-labels",
        )  # fmt: skip
    y = labels_of(y)
    if y.shape[0] != n_rows:
        raise DataError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} "
            f"rows, y has {y.shape[0]}.", code="shape", option="y",
        )  # fmt: skip
    return y


def checked_rows(estimator: Any, X: Any, y: Any) -> tuple[Any, np.ndarray]:
    """Return X and y checked for fitting; raise ValueError if they are unusable."""
    if y is None:
        label_a_row(estimator, y, 0)
    X = rows_to_fit(X, estimator, FLOATS, order="C")
    return X, label_a_row(estimator, y, X.shape[0])


def unknown_labels(y: np.ndarray, classes: np.ndarray) -> str:
    """Return the labels of ``y`` that are not in ``classes``, as text."""
    return listed(np.setdiff1d(y, classes)[:3].tolist())


def label_text(label: Any) -> str:
    """Return a label as text: 1 rather than 1.0."""
    plain = label.item() if isinstance(label, np.generic) else label
    return str(int(plain)) if isinstance(plain, float) and plain.is_integer() else str(plain)


def plain_labels(labels: Any) -> list[Any]:
    """Return labels for JSON, with 1 rather than 1.0."""
    plain = labels.tolist() if hasattr(labels, "tolist") else labels
    return [int(x) if isinstance(x, float) and x.is_integer() else x for x in plain]


def listed(labels: list[Any]) -> str:
    """Return at most eight labels as text, strings in quotes."""
    shown = [repr(label) if isinstance(label, str) else label_text(label) for label in labels[:8]]
    return ", ".join(shown) + (", ..." if len(labels) > 8 else "")


def feature_names(model: Any) -> list[str]:
    """Return the feature names of a fitted model, or x0, x1, ... (counted as in the source) if it
    has no names. Hashed columns are named by their words, with a minus for a negative sign.
    """
    names, signs = words_and_signs(model)
    return [name if sign > 0 else f"-{name}" for name, sign in zip(names, signs, strict=True)]


def words_and_signs(model: Any) -> tuple[list[str], np.ndarray]:
    """Return the names and signs of what the features count: -1 for words hashed with a negative
    sign. The weight of a word is the weight of its feature times the sign.
    """
    names, recipe = getattr(model, "feature_names_in_", None), getattr(model, "recipe_", {})
    if names is None and recipe.get("words"):
        from linsep.sources.feature_names import FeatureNames

        return FeatureNames(recipe).all()
    if names is None:
        first = recipe.get("index_base") or 0
        names = [f"x{j + first}" for j in range(model.n_features_in_)]
    return [str(name) for name in names], np.ones(len(names), dtype=np.int64)


def with_intercept(names: Iterable[str]) -> list[str]:
    """Return the names of parameters: the intercept, and features, of which one that has its name
    is "intercept (column)".
    """
    return [INTERCEPT, *(f"{name} (column)" if name == INTERCEPT else name for name in names)]


def target_name(model: Any) -> str:
    """Return the name of y of a fitted model; empty if y has no name."""
    return getattr(model, "recipe_", {}).get("target") or getattr(model, "_target", None) or ""


def standardized(model: Any) -> list[str]:
    """Return the names of the features that the recipe of a model has standardized."""
    scaled = (getattr(model, "recipe_", None) or {}).get("scale")
    return feature_names(model)[: len(scaled)] if scaled else []  # which come first


@contextmanager
def features_named(model: Any) -> Iterator[None]:
    """Context manager that names the feature in a FeatureOverflow."""
    try:
        yield
    except FeatureOverflow as problem:
        names = getattr(model, "feature_names_in_", None)
        if names is None:
            raise
        feature = f"Feature {str(names[problem.column])!r}"
        raise FeatureOverflow(problem.column, feature, small=problem.small) from None


def brings_labels(
    X: Any, y: Any, sample_weight: Any, offset: Any = None, *, offsets: bool = False, **counts: Any
) -> bool:
    """Return whether X is a source; raise ValueError if y is also given, or if the rows have
    offsets but ``offsets`` is False. ``counts`` may replace y.
    """
    check_beside(X, y=y, sample_weight=sample_weight, offset=offset, **counts)
    if not isinstance(X, Source):
        return False
    refuse_beside_source(X, offset)
    if not offsets:
        refuse_offsets_of(X)
    if any(values is not None for values in counts.values()):
        raise DataError(
            "A source has its own counts: open it with successes= and trials=, the names of their "
            "columns.",
            code="conflict",
        )
    if y is not None or sample_weight is not None:
        raise DataError(
            "A source has its own labels: omit y and sample_weight.", code="conflict", option="y"
        )
    return True


def check_two_classes(classes: np.ndarray, where: str = "y") -> None:
    """Raise ValueError unless there are at least two classes."""
    if classes.size < 2:
        raise DataError(
            f"Only one class ({listed(classes.tolist()) or 'none'}) is in {where}; a classifier "
            "needs rows of at least two classes.",
            code="class-count",
        )


def source_labels(source: Source, y: np.ndarray | None, weights: Any = None) -> np.ndarray:
    """Return the labels of the rows of a source as an array of text or numbers; DataError unless
    they are two or more classes, and some row has weight.
    """
    if y is None:
        raise DataError(f"{source.name} has no labels to train on.", code="no-labels")
    from linsep.rows.label_book import LabelBook

    book = LabelBook()
    numbers = book.numbers(y, source.where)
    check_two_classes(book.classes, source.name)
    check_some_weight(source, weights)
    return book.classes[book.codes[numbers]]


def check_some_weight(source: Source, weights: np.ndarray | None) -> None:
    """Raise NoRows if all rows of a source have weight 0."""
    if weights is not None and not weights.any():
        raise NoRows(f"{source.name} has weight 0 in every row: check the weights.")


def check_sample_weight(
    sample_weight: Any, n_rows: int, all_may_be_zero: bool = False
) -> np.ndarray:
    """Return row weights as float64 of shape (n_rows,), empty for None; check them."""
    if sample_weight is None:
        return NO_IMPORTANCE
    weights = _numbers(sample_weight, "sample_weight holds values that are not numbers")
    if weights.ndim == 0:
        weights = np.full(n_rows, weights)
    if weights.shape != (n_rows,):
        raise DataError(
            f"sample_weight has shape {weights.shape}, but X has {n_rows} rows: pass one weight "
            "per row.", code="shape", option="sample_weight",
        )  # fmt: skip
    if not np.isfinite(weights).all() or (weights < 0).any():
        row = int(np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))[0])
        raise DataError(
            f"sample_weight of {row_text(row)} is {weights[row]}; weights must be finite and at "
            "least 0.", code="out-of-range", row=row + 1, option="sample_weight",
        )  # fmt: skip
    if not weights.any() and not all_may_be_zero:
        raise DataError(
            "All values of sample_weight are zero, so there are no rows to train on.",
            code="no-rows", option="sample_weight",
        )  # fmt: skip
    check_summable(weights, "sample_weight")
    return weights


def _numbers(given: Any, refusal: str) -> np.ndarray:
    """Return weights as float64; raise DataError if they are not real numbers."""
    try:
        found = np.asarray(given)
        if found.dtype.kind in "biufO":
            return found.astype(np.float64, copy=False)
    except (TypeError, ValueError):  # lists of several lengths, or objects
        pass
    raise DataError(refusal, "pass numbers of at least 0", code="not-a-number")


def importance(
    class_weight: Any, classes: np.ndarray, codes: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return class weight times sample weight of each row; empty if all are 1."""
    if class_weight is None:
        return weights
    totals = np.bincount(codes, weights if weights.size else None, minlength=classes.size)
    per_row = weigh_classes(class_weight, classes, totals)[codes]
    with np.errstate(over="ignore"):
        found = per_row * weights if weights.size else per_row
    check_summable(found, "class weights times sample_weight")
    return found


def weigh_classes(
    class_weight: Any, classes: np.ndarray, totals: np.ndarray | None, **place: Any
) -> np.ndarray:
    """Return the weight of each class as float64; raise ValueError if they are invalid.

    ``totals`` are the summed row weights of each class, needed for "balanced" only: it gives all
    classes (except classes of total 0) the same total weight and keeps the overall total (G. King
    and L. Zeng, Logistic regression in rare events data, Political Analysis 9, 2001).
    """
    known = classes.tolist()
    if isinstance(class_weight, str) and class_weight == "balanced":
        assert totals is not None
        share = totals.sum() / np.count_nonzero(totals)
        weights = np.divide(share, totals, out=np.zeros(len(known)), where=totals > 0)
    elif isinstance(class_weight, dict):  # scikit-learn would read the string "1" as a number
        missing = [label for label in known if label not in class_weight]
        if missing and len(known) - len(missing) < len(class_weight):
            raise DataError(
                f"class_weight names {listed([one for one in class_weight if one not in known])}, "
                f"but the classes are {listed(known)}.",
                code="unknown-label", option="class_weight", **place,
            )  # fmt: skip
        given = [class_weight.get(label, 1.0) for label in known]
        weights = _numbers(given, "class_weight holds values that are not numbers")
    else:
        raise DataError(
            "class_weight must be a dict of weights by label, 'balanced' or None, got "
            f"{class_weight!r}.", code="bad-option", option="class_weight", value=class_weight,
        )  # fmt: skip
    for label, weight in zip(known, weights.tolist(), strict=True):
        if not (np.isfinite(weight) and weight >= 0):
            raise DataError(
                f"The class weight of {label!r} is {weight}; weights must be finite and at least "
                "0.", code="out-of-range", option="class_weight", value=weight,
            )  # fmt: skip
    return weights


def warn_of_weightless(classes: np.ndarray, totals: np.ndarray) -> None:
    """Warn about classes whose rows all have weight 0, unless that is true of every class."""
    without = classes[totals == 0].tolist()
    if not without or len(without) == len(classes):
        return
    which, it = ("class", "it") if len(without) == 1 else ("classes", "them")
    warn_caller(
        f"All rows of {which} {listed(without)} have weight 0, so the model learns nothing about "
        f"{it}."
    )


def labeled(
    model: Any, y: np.ndarray, sample_weight: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the classes of y, the learner's code of each row, and its weight: the class weight
    times the row weight (empty if all are 1).
    """
    classes, codes = encode(y)
    check_two_classes(classes)
    weights = check_sample_weight(sample_weight, len(y))
    weights = importance(model.class_weight, classes, codes, weights)
    if weights.size:
        if not weights.any():
            raise DataError("No row is left for training: all rows have weight 0.", code="no-rows")
        warn_of_weightless(classes, np.bincount(codes, weights, classes.size))
    return classes, codes_given(model, classes, codes), weights


# Offsets of regressions: known parts of the linear predictor, which have no coefficient.


def check_offset(offset: Any, n_rows: int) -> np.ndarray | None:
    """Return offsets as float64 of shape (n_rows,), None for None.

    Raises
    ------
    DataError
        If they are not finite numbers, one per row or one for all rows; the message names the row.
    """
    if offset is None:
        return None
    given = np.asarray(offset)
    if given.ndim and given.shape != (n_rows,):
        raise DataError(
            f"offset has shape {given.shape}, but X has {n_rows} rows: pass one number per row.",
            code="shape", option="offset",
        )  # fmt: skip
    given = np.broadcast_to(given, n_rows)
    plain = given if given.dtype.kind in "biufO" else np.full(n_rows, np.nan)
    try:
        found = plain.astype(np.float64)
    except (TypeError, ValueError):  # of objects
        found = np.array([float(x) if isinstance(x, int | float) else np.nan for x in plain])
    if not np.isfinite(found).all():
        row = int(np.argmin(np.isfinite(found)))
        value = given[row]
        what = "missing" if is_missing(value) else str(value)
        raise DataError(
            f"The offset of {row_text(row)} is {what}: offsets must be finite numbers, so provide "
            f"one or remove the row.",
            code="missing-value" if is_missing(value) else "not-finite",
            option="offset",
            row=row + 1,
        )
    return found


def offset_to_predict(model: Any, offset: Any, n_rows: int) -> np.ndarray | None:
    """Return the offsets of rows to predict; DataError unless the model and the rows both have
    offsets, or neither.
    """
    if offset is None and has_offset(model):
        raise DataError(
            f"This {type(model).__name__} was fitted with an offset, so predictions need one: "
            f"pass offset, one number per row.", code="needs-option", option="offset",
        )  # fmt: skip
    if offset is not None and not has_offset(model):
        raise DataError(
            f"This {type(model).__name__} was fitted without an offset: omit offset.",
            code="unsupported", option="offset",
        )  # fmt: skip
    return check_offset(offset, n_rows)


def note_of_offset(model: Any, what: str) -> list[str]:
    """Return a sentence about ``what`` for the table of a model with an offset."""
    if not has_offset(model):
        return []
    name = getattr(model, "recipe_", {}).get("offset")
    return [f"Offset{f' {name}' if name else ''}: {what}."]


def has_offset(model: Any) -> bool:
    """Return whether a model was fitted with an offset."""
    return bool(getattr(model, "_with_offset", False))


def refuse_beside_source(X: Any, offset: Any) -> None:
    """Raise DataError for offsets beside a source, which has its own."""
    if isinstance(X, Source) and offset is not None:
        raise DataError(
            "A source has its own offsets: open it with offset=, the name of their column.",
            code="conflict", option="offset",
        )  # fmt: skip


def refuse_with_offset(model: Any, what: str) -> None:
    """Raise DataError for results that are not defined for a model with an offset."""
    if has_offset(model):
        raise DataError(
            f"{what} are not available for fits with an offset: fit without it, or use the "
            "estimates of the summary.", code="unsupported", option="offset",
        )  # fmt: skip


def refuse_offset_of_several(offset: Any) -> None:
    """Raise DataError for an offset of several targets."""
    if offset is not None:
        raise DataError(
            "An offset needs a single target: fit a regression for each column of y, or omit "
            "offset.", code="unsupported", option="offset",
        )  # fmt: skip


def refuse_offsets_of(X: Any) -> None:
    """Raise DataError for a source with offsets, for models without offsets."""
    if isinstance(X, Source) and X.offsets:
        raise unknown_offsets(X.name)


def unknown_offsets(name: str) -> DataError:
    """Return the error for rows with offsets, in ``name``, for models without offsets."""
    return DataError(
        f"{name} has offsets, which only linear and logistic regressions support",
        hint("leave out {}", offset=None),
        hint("choose another {}", learner=None), code="unsupported", option="offset", path=name,
    )  # fmt: skip


def refuse_several_with_offsets(classes: np.ndarray, offsets: bool) -> None:
    """Raise DataError for offsets of rows of more than two classes."""
    if offsets and len(classes) > 2:
        raise DataError(
            f"An offset needs two classes, but y has {len(classes)}: omit offset.",
            code="class-count", option="offset",
        )  # fmt: skip


class InitialShape(DataError):
    """Initial weights whose shape does not match the data.

    Attributes
    ----------
    needed : tuple of int
        The required shape: (weight vectors, features) of ``coef_init``.
    """

    code = "shape"

    def __init__(self, name: str, given: tuple[int, ...], needed: tuple[int, ...]):
        super().__init__(f"{name} has shape {given}, but these data need {needed}.", option=name)
        self.needed = needed


def initial(given: Any, shape: tuple[int, ...], name: str) -> np.ndarray | None:
    """Return initial weights as float64 of ``shape``; a single binary classifier needs no first
    axis.
    """
    if given is None:
        return None
    given = np.reshape(given, (1,)) if np.ndim(given) == 0 else given
    array = check_array(given, dtype=np.float64, ensure_2d=False, allow_nd=True, input_name=name)
    if shape not in (array.shape, (1, *array.shape)):
        raise InitialShape(name, array.shape, shape)
    return array.reshape(shape)


def pairs(n_classes: int) -> list[tuple[int, int]]:
    """Return the class pairs of one-vs-one in order: (0,1), (0,2), ..., (1,2), ..."""
    return [(a, b) for a in range(n_classes) for b in range(a + 1, n_classes)]


# A learner knows two classes by the codes 0, which is -1, and 1. If ``reference`` names the larger
# class as -1, codes and scores are turned where they go in and come out.


def place_of(reference: Any, classes: np.ndarray) -> int:
    """Return the index of the reference class; DataError unless it is one of two classes."""
    if classes.size > 2:
        raise DataError(
            f"A reference needs two classes, but these rows have {classes.size}.",
            code="class-count", option="reference",
        )  # fmt: skip
    if reference not in classes.tolist():
        raise DataError(
            f"The reference {reference!r} is not a class: the classes are "
            f"{listed(classes.tolist())}.",
            code="unknown-label", option="reference", value=reference,
        )  # fmt: skip
    return classes.tolist().index(reference)


def is_turned(reference: Any, classes: np.ndarray) -> bool:
    """Return whether the reference (-1) is the larger of two sorted classes."""
    return reference is not None and place_of(reference, classes) == 1


def positive_code(model: Any) -> int:
    """Return the index of the class that positive scores by ``coef_`` mean."""
    return int(getattr(model, "reference_", None) != model.classes_.tolist()[1])


def codes_given(model: Any, classes: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return a learner's codes for codes of the sorted classes, before the fit."""
    return 1 - codes if is_turned(getattr(model, "reference", None), classes) else codes


class HasReference:
    """Mixin of the online learners that swaps signs if the reference is the larger class."""

    classes_: np.ndarray
    calibration_: Any
    _learned_with: dict[str, Any]

    @property
    def reference_(self) -> Any:
        """The class with target -1; None for several classes."""
        check_is_fitted(self)
        classes = self.classes_.tolist()
        return classes[int(self._turned)] if len(classes) == 2 else None

    @property
    def _turned(self) -> bool:
        return is_turned(fitted_parameter(self, "reference"), self.classes_)

    def codes_turned(self, codes: Any) -> Any:
        """Return a learner's codes for codes of the sorted classes, or the reverse."""
        return 1 - codes if self._turned else codes

    def scores_turned(self, scores: np.ndarray) -> np.ndarray:
        """Convert the learner's scores to scores that are positive for the larger class."""
        return 0.0 - scores if self._turned else scores

    def _cycle_turned(self, cycle: Any) -> Any:
        """Return the cycle of a run with the classes of its sides."""
        return cycle.turned() if cycle is not None and self._turned else cycle
