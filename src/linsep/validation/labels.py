"""Labels of rows in memory: one per row, without missing values, all of one type, in the order of
the rows."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from linsep.errors import DataError, warn_caller
from linsep.words import row_text

#: names of the types of pandas' missing values
MISSING_TYPES = ("NAType", "NaTType")
#: classes up to which no warning is given
FEW_CLASSES = 10
CONTINUOUS = (
    "the label {!r} is continuous, not a whole number; a classifier needs classes, so choose "
    "another target, round it, or fit a linear regression"
)

_LEAVE = "give the label, or leave the row out"


def labels_of(y: Any) -> np.ndarray:
    """Return one label for each row.

    Parameters
    ----------
    y : array, list or column of shape (rows,), or (rows, 1) with scikit-learn's warning

    Returns
    -------
    array of shape (rows,)
        Objects that are all numbers are returned as an array of numbers.

    Raises
    ------
    ValueError
        If y has another shape; as a DataError that names row and value if a label is missing,
        infinite, or neither text nor a number, and if text and numbers are mixed.
    """
    if not _is_plain(y):
        refuse_masked(y, "Input y")
        y = one_column(_as_given(y) if isinstance(y, list | tuple) else _whole(y))
    kind = y.dtype.kind
    if kind == "f":
        refuse_gaps(y, _LEAVE)
        return y + 0.0  # -0.0 is 0.0
    if kind == "S":
        raise DataError(
            "y holds bytes, not text",
            "decode it, such as by numpy.char.decode(y, 'utf-8')",
            code="label-type",
        )
    if kind == "T":  # numpy's own text
        return _of_objects(np.array(y.tolist(), dtype=object))
    if kind in "mM" and np.isnat(y).any():
        raise _missing(int(np.argmax(np.isnat(y))), "NaT")
    return _of_objects(y) if kind == "O" else y


def refuse_masked(values: Any, name: str) -> None:
    """Raise DataError if the mask of a masked array, or of one in a list, hides a value, which
    numpy exposes when the array is used as a plain one.
    """
    if isinstance(values, list | tuple):
        row = next((k for k, one in enumerate(values) if np.ma.is_masked(one)), None)
    elif isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        row = int(np.argwhere(np.atleast_1d(np.ma.getmaskarray(values)))[0, 0])
    else:
        return
    if row is not None:
        raise DataError(
            f"{name} has a masked value in {row_text(row)}",
            "fill it, such as by .filled(0)",
            "leave the row out", code="missing-value", row=row + 1,
        )  # fmt: skip


def check_beside(X: Any, **others: Any) -> None:
    """Refuse masked labels or weights, and pandas labels or weights with the index of X in another
    order, because rows are matched by position. If one of the two indexes is the default index, 0
    to rows - 1, this is a warning.

    Parameters
    ----------
    X : rows; without an index of pandas there is nothing to compare
    **others : arrays with one value per row, or None, by name
    """
    for name, other in others.items():
        if other is not None and type(other) is not np.ndarray:
            refuse_masked(other, name)
    index = _index_of(X) if hasattr(X, "iloc") else None
    if index is None:
        return
    for name, other in others.items():
        found = _index_of(other)
        if found is None or found.equals(index) or not _same_labels(index, found):
            continue
        said = f"{name} has the index of X in a different order, but rows are matched by position"
        order, plain = f"give {name}.loc[X.index]", f"{name}.to_numpy() if its order is right"
        if not (_is_fresh(index) or _is_fresh(found)):
            raise DataError(said, order, plain, code="shape", option=name)
        warn_caller(f"{said}: {order} or {plain}.")
        return


def _index_of(values: Any) -> Any:
    index = getattr(values, "index", None) if hasattr(values, "iloc") else None
    return index if type(index).__module__.startswith("pandas") else None


def row_labels(X: Any) -> np.ndarray | None:
    """Return the labels of rows in their index of pandas; None without one, or for the default."""
    index = _index_of(X)
    return None if index is None or _is_fresh(index) else index.to_numpy(dtype=object)


def _same_labels(one: Any, other: Any) -> bool:
    if len(one) != len(other) or one.nlevels != other.nlevels:
        return False
    return bool(one.isin(other).all() and other.isin(one).all())


def _is_fresh(index: Any) -> bool:
    """Return whether an index is the default index."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def warn_of_many_classes(classes: np.ndarray, n_rows: int) -> None:
    """Warn if a numeric target has more than ten classes, and more than a tenth as many as rows."""
    n = len(classes)
    if classes.dtype.kind in "iuf" and n > max(FEW_CLASSES, n_rows / 10):
        warn_caller(
            f"The target holds {n:,} different numbers in {n_rows:,} rows, and each is treated "
            "as a class. For measurements, fit a linear regression, or divide them into a few "
            "classes."
        )


def refuse_continuous(y: np.ndarray, where: Callable[[int], str] | None = None) -> None:
    """Raise DataError for a number with a fraction, which is not a class; ``where`` returns the
    place of a row of a file.
    """
    if y.dtype.kind != "f" or (whole := y == np.trunc(y)).all():
        return
    row = int(np.argmin(whole))
    if where is not None:
        message = where(row) + f": {CONTINUOUS.format(y[row].item())}."
        raise DataError(message, code="label-type")
    more = "."
    if y.min() >= 0 and y.max() <= 1:
        more = (
            "; for proportions, fit counts of successes and trials (--successes and --trials, "
            "in Python linsep.fit(data, successes=..., trials=...))."
        )
    raise DataError(
        "Unknown label type: continuous. y holds numbers with fractions, but a classifier "
        "needs classes: use linsep.LinearRegression, or bin y into classes" + more,
        code="label-type",
    )


def refuse_gaps(y: np.ndarray, advice: str) -> None:
    """Raise DataError with the advice if a value of y is NaN or infinite."""
    if not np.isfinite(y).all():
        row = int(np.argmin(np.isfinite(y)))
        raise _missing(row, "NaN" if np.isnan(y[row]) else "infinity", advice)


def one_column(y: Any) -> np.ndarray:
    """Return y as one real value for each row, with scikit-learn's checks and warning."""
    if _is_plain(y):
        return y  # the same as after these checks, which take longer than small fits
    try:
        return column_or_1d(y, warn=True)
    except ValueError as problem:
        if not str(problem).startswith("Complex data"):  # which shows all of them
            raise
        raise DataError(
            "Complex data not supported: y holds complex numbers",
            "give real numbers",
            code="label-type",
        ) from None


def _is_plain(y: Any) -> bool:
    return type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biuf"


def _whole(y: Any) -> Any:
    """Return whole numbers and booleans of pandas' own types as an array, because scikit-learn
    makes floats of them, which merge long numbers.
    """
    types = np.ravel(np.asarray(getattr(y, "dtypes", getattr(y, "dtype", None)), dtype=object))
    return np.asarray(y) if all(getattr(one, "kind", "") in set("biu") for one in types) else y


def _as_given(y: Any) -> Any:
    """Return a list as an array of objects where numpy would make text of numbers, or merge long
    numbers as floats.
    """
    try:
        found = np.asarray(y)
    except ValueError:  # lists of several lengths, for which scikit-learn has the words
        return y
    kind = found.dtype.kind if found.ndim == 1 else ""
    text = kind in "US" and kind and not all(isinstance(value, str) for value in y)
    long = kind == "f" and bool((np.abs(found) >= 2.0**53).any())
    return np.array(y, dtype=object) if text or long else found


def _of_objects(y: np.ndarray) -> np.ndarray:
    values = y.tolist()
    try:
        distinct = set(values)
    except TypeError:  # lists, for which scikit-learn has the words
        return y
    if any(map(is_missing, distinct)):
        row = next(row for row, value in enumerate(values) if is_missing(value))
        raise _missing(row, "NaN" if isinstance(values[row], float) else str(values[row]))
    for row, value in enumerate(values):
        if not isinstance(value, str | int | float | np.number | np.bool_):
            raise DataError(
                f"y holds a value of type {type(value).__name__} in {row_text(row)}",
                "give text or numbers, such as str(label) for each label",
                code="label-type", row=row + 1,
            )  # fmt: skip
    numbers = [isinstance(value, str) for value in distinct].count(False)
    if 0 < numbers < len(distinct):
        raise DataError(
            "y holds both text and numbers",
            "give all labels as text, such as y.astype(str)",
            code="label-type",
        )
    return _as_numbers(values) if numbers else y


def _as_numbers(values: list[Any]) -> np.ndarray:
    """Return labels that are all numbers as an array of numbers."""
    found = np.array(values)
    unfit = found.dtype.kind == "O"  # one exceeds 64-bit integers
    for row, (value, number) in enumerate(zip(values, found.tolist(), strict=True)):
        if abs(value) >= 1 << 63 if unfit else value != number:
            raise DataError(
                f"y holds a number with too many digits in {row_text(row)}",
                "give all labels as text, such as str(label) for each label",
                code="not-exact", row=row + 1,
            )  # fmt: skip
    return found


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN or a missing value of pandas."""
    nan = isinstance(value, float) and math.isnan(value)
    return value is None or nan or type(value).__name__ in MISSING_TYPES


def _missing(row: int, what: str, advice: str = _LEAVE) -> DataError:
    code = "not-finite" if what == "infinity" else "missing-value"
    return DataError(f"Input y contains {what} in {row_text(row)}", advice, code=code, row=row + 1)
