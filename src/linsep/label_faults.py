"""Labels of rows in memory: one a row, none missing, all of one type."""

import math
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from linsep.errors import DataError

#: names of the types of pandas' missing values
MISSING_TYPES = ("NAType", "NaTType")

_LEAVE = "give the label, or leave the row out"


def labels_of(y: Any) -> np.ndarray:
    """Return one label for each row.

    Parameters
    ----------
    y : array, list or column of shape (rows,), or (rows, 1) with scikit-learn's warning

    Returns
    -------
    array of shape (rows,)
        Objects that are all numbers come as an array of numbers.

    Raises
    ------
    ValueError
        If y has another shape; as a DataError that names row and value if a label is missing,
        infinite, or neither text nor a number, and if text is beside numbers.
    """
    y = one_column(_whole(y))
    kind = y.dtype.kind
    if kind == "f":
        refuse_gaps(y, _LEAVE)
    if kind in "mM" and np.isnat(y).any():
        raise _missing(int(np.argmax(np.isnat(y))), "NaT")
    return _of_objects(y) if kind == "O" else y


def refuse_gaps(y: np.ndarray, advice: str) -> None:
    """Raise DataError with the advice if a value of y is NaN or infinite."""
    if not np.isfinite(y).all():
        row = int(np.argmin(np.isfinite(y)))
        raise _missing(row, "NaN" if np.isnan(y[row]) else "infinity", advice)


def one_column(y: Any) -> np.ndarray:
    """Return y as one real value for each row, with scikit-learn's checks and warning."""
    try:
        return column_or_1d(y, warn=True)
    except ValueError as problem:
        if not str(problem).startswith("Complex data"):  # which shows all of them
            raise
        raise DataError(
            "Complex data not supported: y holds complex numbers", "give real ones"
        ) from None


def _whole(y: Any) -> Any:
    """Return whole numbers and booleans of pandas' own types as an array, because scikit-learn
    makes floats of them, which merge long numbers.
    """
    types = np.ravel(np.asarray(getattr(y, "dtypes", getattr(y, "dtype", None)), dtype=object))
    return np.asarray(y) if all(getattr(one, "kind", "") in set("biu") for one in types) else y


def _of_objects(y: np.ndarray) -> np.ndarray:
    values = y.tolist()
    try:
        distinct = set(values)
    except TypeError:  # lists, for which scikit-learn has the words
        return y
    if any(map(_is_missing, distinct)):
        row = next(row for row, value in enumerate(values) if _is_missing(value))
        raise _missing(row, "NaN" if isinstance(values[row], float) else str(values[row]))
    for row, value in enumerate(values):
        if not isinstance(value, str | int | float | np.number | np.bool_):
            raise DataError(
                f"y holds a value of type {type(value).__name__} in row {row} (counted from 0)",
                "give text or numbers, such as str(label) for each label",
            )
    numbers = [isinstance(value, str) for value in distinct].count(False)
    if 0 < numbers < len(distinct):
        raise DataError(
            "y holds both text and numbers", "give all labels as text, such as y.astype(str)"
        )
    return _as_numbers(values) if numbers else y


def _as_numbers(values: list[Any]) -> np.ndarray:
    """Return labels that are all numbers as an array of numbers."""
    found = np.array(values)
    unfit = found.dtype.kind == "O"  # one is beyond integers of 64 bits
    for row, (value, number) in enumerate(zip(values, found.tolist(), strict=True)):
        if abs(value) >= 1 << 63 if unfit else value != number:
            raise DataError(
                f"y holds a number of too many digits in row {row} (counted from 0)",
                "give all labels as text, such as str(label) for each label",
            )
    return found


def _is_missing(value: Any) -> bool:
    nan = isinstance(value, float) and math.isnan(value)
    return value is None or nan or type(value).__name__ in MISSING_TYPES


def _missing(row: int, what: str, advice: str = _LEAVE) -> DataError:
    return DataError(f"Input y contains {what} in row {row} (counted from 0)", advice)
