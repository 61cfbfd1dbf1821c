"""What stands beside rows in memory, in their order: labels, all of one type, and numbers; and the
faults of their values, and of those of the rows.
"""

import math
from collections.abc import Callable, Set
from datetime import date, time, timedelta
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from linsep.errors import DataError, warn_caller
from linsep.words import row_text

#: classes up to which no warning is given
FEW_CLASSES = 10
#: whole numbers up to here are doubles
EXACT = 2**53
CONTINUOUS = (
    "the label {!r} is continuous, not a whole number; a classifier needs classes, so choose "
    "another target, round it, or fit a linear regression"
)
#: codes of numbers that are not finite
GAPS = {"missing-value", "not-finite"}
_OTHER_TYPES = (date, timedelta, time, np.datetime64, np.timedelta64, complex, np.complexfloating)


def first_fault(values: np.ndarray, codes: Set[str]) -> tuple[int, str] | None:
    """Return the position of the first value that is no finite number for a reason with one of
    these codes of errors, and the code.
    """
    rows: Any = range(values.size)
    if values.dtype.kind == "f":
        rows = np.flatnonzero(~np.isfinite(values)).tolist()
    elif values.dtype.kind in "biu":
        rows = np.flatnonzero((values > EXACT) | (values < -EXACT)).tolist()
    return next(((row, code) for row in rows if (code := _fault_of(values[row])) in codes), None)


def _fault_of(value: Any) -> str:
    if is_missing(value):
        return "missing-value"
    if isinstance(value, _OTHER_TYPES) or type(value).__name__ == "Period":  # of pandas
        return "column-type"
    try:
        number = float(value)
    except ValueError:
        return "not-a-number"
    except (TypeError, OverflowError):  # for which scikit-learn has the words
        return ""
    if isinstance(value, int | np.integer):
        return "" if number == int(value) else "not-exact"
    return "" if math.isfinite(number) else "not-finite"


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN or a missing value of pandas."""
    nan = isinstance(value, float | np.floating) and math.isnan(value)
    return value is None or nan or type(value).__name__ in ("NAType", "NaTType")


def refuse_faults(
    values: np.ndarray, codes: Set[str] = GAPS, name: str = "y", advice: str = "give a number",
    place: Callable[[int], str] = row_text,
) -> None:  # fmt: skip
    """Raise DataError for the first of the values beside rows with a fault of these codes."""
    if (fault := first_fault(values, codes)) is not None:
        row, code = fault
        why = ", which is not exactly representable as float64" if code == "not-exact" else ""
        raise DataError(
            place(row) + f": {name} is {values[row]}{why}", advice, "leave the row out", code=code,
            value=values[row], option=name,
        )  # fmt: skip


def refuse_masked(values: Any, name: str) -> None:
    """Raise DataError if the mask of a masked array, or of one in a list, hides a value, which
    numpy exposes when the array is used as a plain one.
    """
    rows = values if isinstance(values, list | tuple | np.ma.MaskedArray) else ()
    if (row := next((k for k, one in enumerate(rows) if np.ma.is_masked(one)), None)) is not None:
        raise DataError(
            f"{name} has a masked value in {row_text(row)}",
            "fill it, such as by .filled(0)",
            "leave the row out", code="missing-value", row=row + 1,
        )  # fmt: skip


def numbers_beside(
    values: Any, n_rows: int, name: str, least: float = -np.inf,
    place: Callable[[int], str] = row_text,
) -> np.ndarray:  # fmt: skip
    """Return the numbers beside rows, one for each or one for all, as float64 of shape (n_rows,);
    raise DataError if they have another shape or type, are not finite, or below ``least``.
    """
    found = np.asarray(values)
    if found.dtype.kind == "O":
        refuse_faults(found.ravel(), GAPS | {"not-a-number", "column-type"}, name, place=place)
    elif found.dtype.kind not in "biuf":
        raise DataError(f"{name} holds no numbers: give numbers.", code="not-a-number", option=name)
    found = found.astype(np.float64, copy=False) if found.ndim else np.full(n_rows, float(found))
    if found.shape != (n_rows,):
        raise DataError(
            f"{name} has shape {found.shape}, but X has {n_rows} rows: pass one number per row.",
            code="shape", option=name,
        )  # fmt: skip
    if least > -np.inf and not (good := np.isfinite(found) & (found >= least)).all():
        row = int(np.argmin(good))
        raise DataError(
            place(row) + f": {name} is {found[row]}", f"give a finite number of at least {least}",
            code="out-of-range", option=name, value=found[row],
        )  # fmt: skip
    refuse_faults(found, name=name, place=place)
    return found


def labels_of(y: Any) -> np.ndarray:
    """Return one label for each row of an array, list or column, objects that are all numbers as an
    array of numbers; ValueError for another shape, and DataError, which names row and value, for a
    label that is missing, infinite, or neither text nor a number, and for text beside numbers.
    """
    given, y = y, one_column(y)
    if y.dtype.kind in "OST":
        y = _of_objects(y.astype(object))
        y = np.array(y.tolist()) if isinstance(given, list | tuple) else y
    if y.dtype.kind in "mM":
        refuse_faults(np.where(np.isnat(y), np.nan, 0.0))
    if y.dtype.kind != "f":
        return y
    refuse_faults(y)
    return y + 0.0  # -0.0 is 0.0


def one_column(y: Any) -> np.ndarray:
    """Return y as one value for each row, with scikit-learn's checks and warning; a list as
    objects, of which numpy would make text, or floats that merge long numbers.
    """
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biuf":
        return y  # the same as after these checks, which take longer than small fits
    refuse_masked(y, "Input y")
    y = np.array(y, dtype=object) if isinstance(y, list | tuple) else np.asarray(y)
    if y.dtype.kind == "c":
        raise DataError("Complex data not supported: y holds complex numbers.", code="label-type")
    return column_or_1d(y, warn=True)


def _of_objects(y: np.ndarray) -> np.ndarray:
    """Return objects that are all text as they are, and numbers as an array of numbers."""
    refuse_faults(y, {"missing-value"})
    values: Any = y.tolist()
    texts = sum(isinstance(value, str) for value in values)
    found = np.array(values) if not texts else y
    most: Any = 1 << 63 if found.dtype.kind == "O" else np.inf
    for row, (value, number) in enumerate(zip(values, found.tolist(), strict=True)):
        code, what = "", f"a value of type {type(value).__name__}"
        if not isinstance(value, str | int | float | np.number | np.bool_):
            code = "label-type"
        elif 0 < texts < len(values):
            code, what = "label-type", "both text and numbers, such as the value"
        elif not texts and (value != number or not -most < value < most):
            code, what = "not-exact", "a number with too many digits"
        if code:
            raise DataError(
                f"y holds {what} in {row_text(row)}",
                "give text or numbers, such as str(label) for each label", code=code, row=row + 1,
            )  # fmt: skip
    return found


def check_beside(X: Any, **others: Any) -> None:
    """Refuse masked labels or weights, and those with the index of pandas of X in another order,
    because rows are matched by position. If one of the two indexes is the default index, 0 to rows
    - 1, this is a warning.
    """
    index = _index_of(X)
    for name, other in others.items():
        if other is None or type(other) is np.ndarray:
            continue
        refuse_masked(other, name)
        found = None if index is None else _index_of(other)
        if found is None or found.equals(index) or len(found) != len(index):
            continue
        if found.nlevels != index.nlevels or not (found.isin(index) & index.isin(found)).all():
            continue
        said = f"{name} has the index of X in a different order, but rows are matched by position"
        order, plain = f"give {name}.loc[X.index]", f"{name}.to_numpy() if its order is right"
        if not (_is_fresh(index) or _is_fresh(found)):
            raise DataError(said, order, plain, code="shape", option=name)
        warn_caller(f"{said}: {order} or {plain}.")


def _index_of(values: Any) -> Any:
    """Return the index of a frame or column of pandas, else None."""
    index = getattr(values, "index", None)
    return index if type(index).__module__.startswith("pandas") else None


def row_labels(X: Any) -> np.ndarray | None:
    """Return the labels of rows in their index of pandas; None without one, or for the default."""
    index = _index_of(X)
    return None if index is None or _is_fresh(index) else index.to_numpy(dtype=object)


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


def refuse_continuous(y: np.ndarray, where: Callable[[int], str] = row_text) -> None:
    """Raise DataError for a number with a fraction, which is not a class; ``where`` returns the
    place of a row.
    """
    if y.dtype.kind == "f" and (parts := y != np.trunc(y)).any():
        row = int(np.argmax(parts))
        counts = "; for proportions, fit counts of successes= and trials="
        more = f"{counts}. Unknown label type: continuous" * (where is row_text)
        why = CONTINUOUS.format(y[row].item())
        raise DataError(f"{where(row)}: {why}{more}.", code="label-type")
