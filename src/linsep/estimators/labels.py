"""What stands beside rows: labels, classes, weights and offsets; names of features and classes."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from linsep.batches import NO_IMPORTANCE, check_summable
from linsep.errors import DataError, FeatureOverflow, NoRows, hint, refuse, warn_caller
from linsep.parameters import fitted_parameter
from linsep.sources.base import Source
from linsep.validation import checks
from linsep.words import row_text

#: types of rows that are learned without a copy
FLOATS = (np.float64, np.float32)


def encode(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted classes, at least two, and the int32 class code of each label."""
    # Numbers are first matched with the classes of the first rows, to avoid sorting them all.
    classes = np.unique(y[:1024]) if y.dtype.kind in "biuf" else y
    codes = codes_in(classes, y) if classes.size <= 256 and classes is not y else None
    if codes is None or codes.max(initial=0) == classes.size:
        classes, codes = np.unique(y, return_inverse=True)
    checks.refuse_continuous(classes)
    checks.warn_of_many_classes(classes, len(y))
    check_two_classes(classes)
    return classes, codes.astype(np.int32, copy=False)


def codes_in(classes: np.ndarray, y: np.ndarray, name: str = "") -> np.ndarray:
    """Return the codes of labels among sorted classes, the number of classes for others; DataError
    if one set is text and the other numbers and ``name`` is the source of the labels.
    """
    if name and (classes.dtype.kind in "UO") != (y.dtype.kind in "UO"):
        raise DataError(
            f"{name} has labels such as {y[0]!r}, but the model learned such as {classes[0]!r}",
            "choose another file or column", code="label-type", path=name,
        )  # fmt: skip
    if classes.size == 2:  # for which searchsorted would take as long as a pass
        larger = y == classes[1]
        return np.where(larger | (y == classes[0]), larger.astype(np.int32), np.int32(2))
    codes = np.searchsorted(classes, y).astype(np.int32)
    codes[codes == classes.size] = 0
    return np.where(classes[codes] == y, codes, np.int32(classes.size))


def known_codes(classes: Any, y: np.ndarray, source: Any = None, first: int = 0) -> np.ndarray:
    """Return the codes of labels, of a source from its row ``first``; DataError for others."""
    codes = codes_in(classes, y, "" if source is None else source.name)
    if codes.max(initial=0) == classes.size:
        row = int(np.argmax(codes == classes.size))
        place = row_text(row) if source is None else source.where(first + row)
        raise DataError(
            place + f": the label {y[row]!r} is none of the classes {listed(classes.tolist())}",
            "leave the row out", hint("give all {} to the first partial_fit", classes=None),
            code="unknown-label", value=y[row],
        )  # fmt: skip
    return codes


def label_a_row(estimator: Any, y: Any, n_rows: int) -> np.ndarray:
    why = f"This {type(estimator).__name__} requires y to be passed, but the target y is None."
    refuse(DataError, (y is None, why, "no-labels", None))
    if (y := checks.labels_of(y)).shape[0] != n_rows:
        raise DataError(f"X has {n_rows} rows, but y {len(y)} labels.", code="shape", option="y")
    return y


def checked_rows(estimator: Any, X: Any, y: Any) -> tuple[Any, np.ndarray]:
    X = checks.rows_to_fit(X, estimator, FLOATS, order="C")
    return X, label_a_row(estimator, y, X.shape[0])


def plain_labels(labels: Any) -> list[Any]:
    plain = labels.tolist() if hasattr(labels, "tolist") else labels
    return [int(x) if isinstance(x, float) and x.is_integer() else x for x in plain]


def label_text(label: Any) -> str:
    return str(plain_labels(np.array([label]))[0])


def listed(labels: list[Any]) -> str:
    shown = [repr(label) if isinstance(label, str) else label_text(label) for label in labels[:8]]
    return ", ".join(shown) + (", ..." if len(labels) > 8 else "")


def feature_names(model: Any) -> list[str]:
    """Return the names of the features, a minus before words hashed with a negative sign."""
    return [x if sign > 0 else f"-{x}" for x, sign in zip(*words_and_signs(model), strict=True)]


def words_and_signs(model: Any) -> tuple[list[str], np.ndarray]:
    """Return the names of the features, and their signs: -1 for words hashed with a negative one.
    Without names they are x0, x1, ... as the source counts.
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
    """Return the names of the intercept and of features, of which one may have its name."""
    return ["intercept", *(f"{x} (column)" if x == "intercept" else x for x in names)]


def target_name(model: Any) -> str:
    return getattr(model, "recipe_", {}).get("target") or getattr(model, "_target", None) or ""


@contextmanager
def features_named(model: Any) -> Iterator[None]:
    try:
        yield
    except FeatureOverflow as problem:
        raise FeatureOverflow(problem.column, feature_names(model)[problem.column]) from None


def check_two_classes(classes: np.ndarray, where: str = "y") -> None:
    if classes.size < 2:
        only = listed(classes.tolist()) or "none"
        raise DataError(f"Only one class ({only}) is in {where}, not two.", code="class-count")


def source_labels(source: Source, y: np.ndarray | None, weights: Any = None) -> np.ndarray:
    """Return the labels of the rows of a source that can be learned."""
    if y is None:
        raise DataError(f"{source.name} has no labels to train on.", code="no-labels")
    from linsep.rows.source_stream import LabelBook

    book = LabelBook()
    numbers = book.numbers(y, source.where)
    check_two_classes(book.classes, source.name)
    if weights is not None and not weights.any():
        raise NoRows(f"{source.name} has weight 0 in every row: check the weights.")
    return book.classes[book.codes[numbers]]


def check_sample_weight(
    sample_weight: Any, n_rows: int, all_may_be_zero: bool = False
) -> np.ndarray:
    if sample_weight is None:
        return NO_IMPORTANCE
    weights = checks.numbers_beside(sample_weight, n_rows, "sample_weight", least=0)
    if not weights.any() and not all_may_be_zero:
        raise NoRows("All values of sample_weight are zero.", option="sample_weight")
    check_summable(weights, "sample_weight")
    return weights


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


def weigh_classes(class_weight: Any, classes: np.ndarray, totals: Any, **place: Any) -> np.ndarray:
    """Return the weight of each class as float64. "balanced" gives all classes, with these totals
    of row weights, the same total and keeps the overall total (G. King and L. Zeng, Logistic
    regression in rare events data, Political Analysis 9, 2001).
    """
    known = classes.tolist()
    if isinstance(class_weight, str) and class_weight == "balanced":
        share = totals.sum() / np.count_nonzero(totals)
        return np.divide(share, totals, out=np.zeros(len(known)), where=totals > 0)
    if not isinstance(class_weight, dict):  # scikit-learn would read the string "1" as a number
        raise DataError(
            f"class_weight is {class_weight!r:.60}: give a dict of weights by label or 'balanced'.",
            code="bad-option", option="class_weight", value=class_weight,
        )  # fmt: skip
    others = [label for label in class_weight if label not in known]
    if others and len(class_weight) - len(others) < len(known):
        raise DataError(
            f"class_weight names {listed(others)}, but the classes are {listed(known)}.",
            code="unknown-label", option="class_weight", **place,
        )  # fmt: skip
    given, name = [class_weight.get(label, 1.0) for label in known], "class_weight"
    return checks.numbers_beside(given, len(known), name, 0, lambda k: f"class {known[k]!r}")


def warn_of_weightless(classes: np.ndarray, totals: np.ndarray) -> None:
    if totals.any() and not totals.all():
        lost = f"All rows of class {listed(classes[totals == 0].tolist())} have weight 0"
        warn_caller(f"{lost}, so the model learns nothing about it.")


def labeled(model: Any, y: np.ndarray, sample_weight: Any) -> tuple[np.ndarray, ...]:
    """Return the classes of y, the learner's codes, and weights with those of the classes."""
    classes, codes = encode(y)
    weights = check_sample_weight(sample_weight, len(y))
    weights = importance(model.class_weight, classes, codes, weights)
    if weights.size:
        if not weights.any():
            raise NoRows("No row is left for training: all rows have weight 0.")
        warn_of_weightless(classes, np.bincount(codes, weights, classes.size))
    return classes, codes_given(model, classes, codes), weights


def check_offset(offset: Any, n_rows: int) -> np.ndarray | None:
    return None if offset is None else checks.numbers_beside(offset, n_rows, "offset")


def has_offset(model: Any) -> bool:
    return bool(getattr(model, "_with_offset", False))


def offset_to_predict(model: Any, offset: Any, n_rows: int, path: Any = None) -> np.ndarray | None:
    if (needed := has_offset(model)) != (offset is not None):
        raise DataError(
            f"{type(model).__name__} was fitted with{'' if needed else 'out'} an offset",
            "pass offset, or name its column" if needed else "omit offset",
            code="needs-option" if needed else "unsupported", option="offset", path=path,
        )  # fmt: skip
    return check_offset(offset, n_rows)


def note_of_offset(model: Any, what: str) -> list[str]:
    name = getattr(model, "recipe_", {}).get("offset")
    return [f"Offset{f' {name}' if name else ''}: {what}."] if has_offset(model) else []


def refuse_offset(wrong: bool, why: str, code: str = "unsupported") -> None:
    refuse(DataError, (wrong, f"{why}: omit offset.", code, "offset"))


def unknown_offsets(name: str) -> DataError:
    return DataError(
        f"{name} has offsets, which only linear and logistic regressions support",
        hint("leave out {}", offset=None), hint("choose another {}", learner=None),
        code="unsupported", option="offset", path=name,
    )  # fmt: skip


def initial(given: Any, shape: tuple[int, ...], name: str) -> np.ndarray | None:
    """Return initial weights; a single binary classifier needs no first axis."""
    if given is None:
        return None
    how = {"dtype": np.float64, "ensure_2d": False, "allow_nd": True, "input_name": name}
    array = check_array(np.atleast_1d(given), **how)
    if shape not in (array.shape, (1, *array.shape)):
        why = f"{name} has shape {array.shape}, but these data need {shape}."
        raise DataError(why, code="shape", option=name)
    return array.reshape(shape)


def pairs(n_classes: int) -> list[tuple[int, int]]:
    return list(combinations(range(n_classes), 2))


# A learner knows two classes by the codes 0, which is -1, and 1. If ``reference`` names the larger
# class as -1, codes and scores are turned where they go in and come out.


def is_turned(reference: Any, classes: np.ndarray) -> bool:
    """Return whether the reference is the larger of two sorted classes; DataError if it is none."""
    if reference is None:
        return False
    known = classes.tolist()
    if len(known) > 2 or reference not in known:
        raise DataError(
            f"The reference {reference!r} is not one of two classes, but these: {listed(known)}.",
            code="class-count" if len(known) > 2 else "unknown-label", option="reference",
            value=reference,
        )  # fmt: skip
    return bool(known.index(reference))


def positive_code(model: Any) -> int:
    """Return the index of the class that positive scores by ``coef_`` mean."""
    return int(getattr(model, "reference_", None) != model.classes_.tolist()[1])


def codes_given(model: Any, classes: np.ndarray, codes: np.ndarray) -> np.ndarray:
    return 1 - codes if is_turned(getattr(model, "reference", None), classes) else codes


class HasReference:
    """Mixin of the online learners."""

    classes_: np.ndarray
    calibration_: Any

    @property
    def reference_(self) -> Any:
        """The class with target -1; None for several classes."""
        check_is_fitted(self)
        return self.classes_.tolist()[int(self._turned)] if len(self.classes_) == 2 else None

    @property
    def _turned(self) -> bool:
        return is_turned(fitted_parameter(self, "reference"), self.classes_)

    def codes_turned(self, codes: Any) -> Any:
        return 1 - codes if self._turned else codes

    def scores_turned(self, scores: np.ndarray) -> np.ndarray:
        return 0.0 - scores if self._turned else scores

    def _cycle_turned(self, cycle: Any) -> Any:
        return cycle.turned() if cycle is not None and self._turned else cycle
