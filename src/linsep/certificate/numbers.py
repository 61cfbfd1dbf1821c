"""Exact rows from arrays, data frames and nested lists: no number is rounded.

Numbers that fit one of numpy's types come in an array of that type. Otherwise (integers beyond
2^53 beside floats, decimals, fractions, long doubles) the array holds Python's int, float and
Fraction objects.
"""

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from linsep.errors import DataError
from linsep.validation.labels import check_beside, labels_of
from linsep.validation.sparse import as_csr
from linsep.validation.values import refuse_series
from linsep.words import row_text

#: types that are kept: exact, and supported by numpy's products
KEPT_TYPES = [np.float64, np.float32, *(np.dtype(f"{s}{b}") for s in "iu" for b in (1, 2, 4, 8))]
#: integers up to here are exact in floats
EXACT = 2**53
#: numbers that are not doubles lie between its inverse and it: they round to normal numbers
LARGEST = 2**1000
#: decimals with larger powers of ten are out of range
MOST_POWER = 400


def exact_rows(X: Any) -> Any:
    """Return the numbers of an array, nested lists, a matrix or a data frame, without rounding.

    Raises
    ------
    ValueError
        For missing and infinite numbers, and values that cannot be read exactly: a DataError with
        column, row and value.
    """
    refuse_series(X)
    if hasattr(X, "column_names"):  # a table of Arrow
        return _joined(zip(X.column_names, X.columns, strict=True))
    if hasattr(X, "iloc"):
        if not len(X.dtypes) or not all(hasattr(kind, "fill_value") for kind in X.dtypes):
            return _joined((name, X.iloc[:, j]) for j, name in enumerate(X.columns))
        X = X.sparse.to_coo()
    if sp.issparse(X):
        return _of_sparse(X)
    given = X if hasattr(X, "dtype") else np.asarray(X)
    if given is not X and given.dtype.kind == "f" and (np.abs(given) >= EXACT).any():
        given = np.array(X, dtype=object)  # numpy rounds long integers beside floats
    if given.dtype in (object, np.longdouble) and given.dtype != np.float64:
        return _joined(enumerate(check_array(given, dtype=None, ensure_all_finite=False).T))
    return _checked(given if given.dtype in KEPT_TYPES else np.asarray(given))


class Labeled(NamedTuple):
    """Rows, the sorted labels, each row's index into them, and feature names or None."""

    X: Any
    classes: np.ndarray
    codes: np.ndarray
    names: list[str] | None

    def coded(self) -> list[tuple[Any, np.ndarray]]:
        """Return rows and label indices as one batch, as those of open data."""
        return [(self.X, self.codes)]


def check_labels(n_rows: int, n_labels: int) -> None:
    """Raise DataError unless there is a label for every row."""
    if n_rows != n_labels:
        raise DataError(
            f"X has {n_rows:,} rows, but y has {n_labels:,} labels: pass one label per row.",
            code="shape", option="y",
        )  # fmt: skip


def labeled_rows(X: Any, y: Any) -> Labeled:
    """Return rows and labels; raise ValueError for missing values and different lengths."""
    if y is None:
        raise DataError("The labels y are missing: pass y with X.", code="no-labels", option="y")
    check_beside(X, y=y)
    names, rows = names_of(X), tidy(exact_rows(X))
    y = labels_of(y)
    check_labels(rows.shape[0], len(y))
    classes, codes = np.unique(y, return_inverse=True)
    return Labeled(rows, classes, codes, names)


def tidy(X: Any) -> Any:
    """Return CSR rows without repeated entries, and other rows unchanged."""
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def padded(X: Any, width: int) -> Any:
    """Return the rows with zero columns for features that appear in later batches."""
    if X.shape[1] == width:
        return tidy(X)
    if sp.issparse(X):
        return tidy(sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], width)))
    return np.hstack([X, np.zeros((X.shape[0], width - X.shape[1]), X.dtype)])


def names_of(X: Any) -> list[str] | None:
    """Return the column names of a data frame, or None."""
    names = X.column_names if hasattr(X, "column_names") else getattr(X, "columns", None)
    return None if names is None else [str(name) for name in names]


def same_as_doubles(X: Any) -> bool:
    """Return whether every number equals a double."""
    numbers = X.data if sp.issparse(X) else X
    if numbers.dtype.kind == "f" or (numbers.dtype != object and numbers.dtype.itemsize < 8):
        return True
    if numbers.dtype != object:
        numbers = numbers[np.abs(numbers.astype(np.float64)) >= EXACT]
    return all(map(_fits, numbers.ravel().tolist()))


def _checked(X: Any) -> Any:
    """Apply scikit-learn's checks to an array of a supported type."""
    with np.errstate(over="ignore", invalid="ignore"):  # it sums all numbers
        return check_array(as_csr(X), accept_sparse="csr", dtype=KEPT_TYPES, order="C")


def _of_sparse(X: Any) -> Any:
    """Return a sparse matrix with values of a type that is kept."""
    if X.dtype in (np.longdouble, object):
        X = as_csr(X)
        values = _column(X.data, "of stored values")
        if values.dtype == object:
            raise DataError(
                "X holds numbers that are not exactly representable as float64: pass a dense "
                "array.", code="not-exact", option="X",
            )  # fmt: skip
        X = sp.csr_matrix((values, X.indices, X.indptr), X.shape)
    return _checked(X)


def _joined(columns: Iterable[tuple[Any, Any]]) -> Any:
    """Return columns, given with their names, as one array in a common exact type."""
    exact = [_column(values, name) for name, values in columns]
    common = np.result_type(*exact) if exact else np.dtype(object)
    if common.kind == "f" and not all(map(same_as_doubles, exact)):
        common = np.dtype(object)
    found = np.empty((len(exact[0]) if exact else 0, len(exact)), dtype=common)
    for j, column in enumerate(exact):
        found[:, j] = column.tolist() if common.kind == "O" else column
    if common.kind != "O":
        return _checked(found)
    return np.asarray(check_array(found, dtype=None, ensure_all_finite=False))


def _column(values: Any, name: Any) -> np.ndarray:
    """Return a column of numpy, pandas or Arrow as an array of an exact type."""
    if not isinstance(getattr(values, "dtype", None), np.dtype):
        values = _of_arrow(values)
    values = np.asarray(values)
    if values.dtype.kind == "f" and not (finite := np.isfinite(values)).all():
        row = int(np.argmin(finite))
        raise _missing(name, row, values[row])
    if values.dtype in KEPT_TYPES:
        return values
    with np.errstate(over="ignore", under="ignore"):
        if values.dtype.kind in "bf" and (values == (near := values.astype(np.float64))).all():
            return near
    numbers = [_number(x, name, i) for i, x in enumerate(values)]
    if all(isinstance(x, int) for x in numbers):
        for kind in (np.int64, np.uint64):
            ends = np.iinfo(kind)
            if ends.min <= min(numbers, default=0) and max(numbers, default=0) <= ends.max:
                return np.array(numbers, dtype=kind)
    if all(map(_fits, numbers)):
        return np.array(numbers, dtype=np.float64)
    return _objects(numbers)


def _of_arrow(column: Any) -> Any:
    """Return a column of Arrow, or of pandas' own types, as an array of numbers or of objects."""
    import pyarrow as pa

    column = pa.Array.from_pandas(column) if hasattr(column, "dtype") else column
    number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    return column if number and not column.null_count else _objects(column.to_pylist())


def _objects(values: Sequence[Any]) -> np.ndarray:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def _number(value: Any, name: Any, row: int) -> int | float | Fraction:
    """Return the exact value of a cell as a Python number."""
    plain = value.item() if isinstance(value, np.generic) else value
    if plain is None or str(plain) in ("<NA>", "NaT"):
        raise _missing(name, row)
    place = f"{row_text(row).capitalize()}, column {name!r}"
    far = isinstance(plain, Decimal) and plain.is_finite() and abs(plain.adjusted()) > MOST_POWER
    try:
        exact = Fraction(LARGEST) if far else Fraction(*plain.as_integer_ratio())
    except AttributeError:
        raise DataError(
            f"{place} is {str(value)[:40]!r} of type {type(value).__name__}: convert it to a "
            "number, leave the column out, or pass linsep.open_source(frame, target=...), which "
            "reads text.", code="not-a-number", row=row + 1, column=name, value=value,
        ) from None  # fmt: skip
    except (ValueError, OverflowError):
        raise _missing(name, row, plain) from None
    if isinstance(plain, float) or (isinstance(plain, int) and abs(plain) < LARGEST):
        return +plain
    if not exact or Fraction(1, LARGEST) < abs(exact) < LARGEST:
        return float(exact) if _fits(exact) else exact
    raise DataError(
        f"{place} is outside the range of float64: scale the column.",
        code="overflow", row=row + 1, column=name, value=value,
    )  # fmt: skip


def _fits(x: Any) -> bool:
    """Return whether a number within the range of doubles equals one."""
    return bool(float(x) == x)


def _missing(name: Any, row: int, value: Any = None) -> DataError:
    """Return an error about a missing or infinite number."""
    absent = value is None or math.isnan(value)
    what = "has no value" if absent else f"is {value}"
    return DataError(
        f"{row_text(row).capitalize()}, column {name!r} {what} (it must be a finite number): fill "
        "it, or leave the row out.",
        code="missing-value" if absent else "not-finite", row=row + 1, column=name,
    )  # fmt: skip
