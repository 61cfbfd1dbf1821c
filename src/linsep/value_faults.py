"""Rows that scikit-learn refuses: which column and which row it is, and what to do."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.errors import DataError, LinsepError

_FILL = "fill it, with scikit-learn's SimpleImputer for example", "leave the row out"
_BOUND = "give a finite number", "leave the row out"
_ENCODE = (
    "encode it as numbers, with scikit-learn's OneHotEncoder for example",
    "write the table to a file for linsep.open_source, which reads text",
)
#: what arrays of a kind hold, and what to do
_OTHERS = {
    "M": ("Input X holds dates", ("give numbers, such as the days since the first one",)),
    "m": ("Input X holds durations", ("give numbers, such as seconds",)),
    "c": (
        "Complex data not supported: they are",
        ("give real and imaginary part, a feature each",),
    ),
}

#: what is wrong, and what to do
Fault = tuple[str, tuple[str, ...]]


@contextmanager
def faults_named(X: Any, estimator: Any = None) -> Iterator[None]:
    """Name column and row of X where scikit-learn's checks refuse one of its values.

    Parameters
    ----------
    X : what is checked; rows are looked at after it was refused only
    estimator : whose ``feature_names_in_``, if there are any, name the columns of an array
    """
    try:
        yield
    except LinsepError:
        raise
    except (TypeError, ValueError) as problem:
        if "feature names" in str(problem):  # of other columns than those of fit
            raise
        fault = _fault_of(X, getattr(estimator, "feature_names_in_", None))
        if fault is None:
            raise
        raise DataError(fault[0], *fault[1]) from None


def _fault_of(X: Any, names: Any) -> Fault | None:
    if sp.issparse(X):
        return _of_sparse(X.tocoo(), names) if X.ndim == 2 and X.dtype.kind == "f" else None
    columns: Iterator[Any]
    if hasattr(X, "iloc"):  # pandas
        names, columns = list(X.columns), (X.iloc[:, j] for j in range(X.shape[1]))
    elif hasattr(X, "get_columns"):  # polars
        names, columns = X.columns, iter(X.get_columns())
    else:
        try:
            columns = iter(np.asarray(X).T if np.ndim(X) == 2 else ())
        except ValueError:  # rows of several lengths
            return None
    for j, column in enumerate(columns):
        place = f"feature {j}" if names is None or len(names) <= j else f"column {names[j]!r}"
        if fault := _of_column(np.asarray(column), place):
            return fault
    return None


def _of_sparse(X: Any, names: Any) -> Fault | None:
    bad = np.flatnonzero(~np.isfinite(X.data))
    if not bad.size:
        return None
    first = bad[np.lexsort((X.row[bad], X.col[bad]))[0]]
    j = X.col[first]
    place = f"feature {j}" if names is None else f"column {names[j]!r}"
    return _not_finite(X.data[first], int(X.row[first]), place)


def _of_column(column: np.ndarray, place: str) -> Fault | None:
    kind = column.dtype.kind
    if kind in _OTHERS:
        what, advice = _OTHERS[kind]
        return f"{what} in {place}", advice
    if kind == "f":
        bad = np.flatnonzero(~np.isfinite(column))
        return _not_finite(column[bad[0]], int(bad[0]), place) if bad.size else None
    if kind in "OUST":
        for row, value in enumerate(column.tolist()):
            if fault := _of_value(value, row, place):
                return fault
    return None


def _of_value(value: Any, row: int, place: str) -> Fault | None:
    """Return what is wrong with an object; None also if scikit-learn has to say it."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return _not_finite(np.nan, row, place)
    if isinstance(value, date | timedelta):
        what, advice = _OTHERS["m" if isinstance(value, timedelta) else "M"]
        return f"{what} in {place}", advice
    try:
        number = float(value)
    except (TypeError, OverflowError):
        return None
    except ValueError:
        text = repr(value if len(value) <= 20 else value[:19] + "…")
        return f"Input X holds text in {place} ({text} in row {row}, counted from 0)", _ENCODE
    return None if np.isfinite(number) else _not_finite(number, row, place)


def _not_finite(value: float, row: int, place: str) -> Fault:
    what, advice = ("NaN", _FILL) if np.isnan(value) else ("infinity", _BOUND)
    return f"Input X contains {what} in {place}, row {row} (counted from 0)", advice
