"""Exact rows from arrays, data frames and nested lists: no number is rounded.

Numbers that fit one of numpy's types come in an array of that type. Otherwise (integers beyond
2^53 beside floats, decimals, fractions, long doubles) the array holds Python's int, float and
Fraction objects.
"""

import math
import sys
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
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
#: what reads columns of text
OPENED = "linsep.open_source(frame, target=...), which reads text"
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
    arrow = sys.modules.get("pyarrow")  # a table of Arrow can exist only if it is loaded
    if arrow is not None and isinstance(X, arrow.Table | arrow.RecordBatch):
        return _stacked([_of_arrow(X.column(j), name) for j, name in enumerate(names_of(X) or ())])
    if hasattr(X, "dtypes") and hasattr(X, "iloc"):
        return _of_frame(X)
    if sp.issparse(X):
        return _of_sparse(X)
    given = X if hasattr(X, "dtype") else _of_lists(X)
    if given.dtype != object and given.dtype not in (np.longdouble, *KEPT_TYPES):
        given = np.asarray(given)
    if given.dtype == np.longdouble and np.longdouble(1).nbytes > 8:
        given = check_array(given, dtype=None)
        if _is_double(given):
            return check_array(given.astype(np.float64), order="C")
    elif given.dtype != object:
        return _checked(given)
    given = check_array(given, dtype=None, ensure_all_finite=False)
    return _stacked([_of_objects(given[:, j], j) for j in range(given.shape[1])])


class Labeled(NamedTuple):
    """Rows, the sorted labels, each row's index into them, and feature names or None."""

    X: Any
    classes: np.ndarray
    codes: np.ndarray
    names: list[str] | None


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
    if numbers.dtype == object:
        return all(map(_fits, numbers.ravel()))
    if numbers.dtype.kind == "f" or numbers.dtype.itemsize < 8 or not numbers.size:
        return True
    if max(int(numbers.max()), -int(numbers.min())) <= EXACT:
        return True
    far = numbers[(numbers > EXACT) | (numbers < -EXACT if numbers.dtype.kind == "i" else False)]
    return all(int(float(x)) == x for x in far.tolist())


def _checked(X: Any) -> Any:
    """Apply scikit-learn's checks to an array of a supported type."""
    with np.errstate(over="ignore", invalid="ignore"):  # it sums all numbers
        return check_array(as_csr(X), accept_sparse="csr", dtype=KEPT_TYPES, order="C")


def _of_lists(X: Any) -> np.ndarray:
    """Return nested lists as an array of objects where numpy would round long integers."""
    found = np.asarray(X)
    if found.dtype.kind == "f" and found.ndim == 2:
        with np.errstate(invalid="ignore"):
            if (np.abs(found) >= EXACT).any():
                return np.array(X, dtype=object)
    return found


def _of_sparse(X: Any) -> Any:
    """Return a sparse matrix with values of a type that is kept."""
    if X.dtype in (np.longdouble, object):
        X = as_csr(X)
        values = _of_objects(X.data, "of stored values")
        if values.dtype == object:
            long = next(x for x in values if not _fits(x))
            raise DataError(
                f"X holds {long}, which is not exactly representable as float64: pass a dense "
                "array.", code="not-exact", option="X", value=long,
            )  # fmt: skip
        X = sp.csr_matrix((values, X.indices, X.indptr), X.shape)
    return _checked(X)


def _of_frame(X: Any) -> Any:
    """Return a pandas frame as an array: at once if one type holds all columns, else by column."""
    kinds = list(X.dtypes)
    if all(isinstance(kind, np.dtype) and kind in KEPT_TYPES for kind in kinds) and kinds:
        common = np.result_type(*kinds)
        long = any(kind.kind in "iu" and kind.itemsize == 8 for kind in kinds)
        if common.kind != "f" or not long:
            return _checked(X)
    if kinds and all(hasattr(kind, "subtype") and hasattr(kind, "fill_value") for kind in kinds):
        return _of_sparse(X.sparse.to_coo())
    columns = (X.iloc[:, j] for j in range(len(kinds)))
    return _stacked([_of_series(one, name) for one, name in zip(columns, X.columns, strict=True)])


def _of_series(column: Any, name: Any) -> np.ndarray:
    if not isinstance(column.dtype, np.dtype):
        import pyarrow as pa

        return _of_arrow(pa.Array.from_pandas(column), name)
    values = column.to_numpy()
    if values.dtype in (object, np.longdouble):
        return _of_objects(values, name)
    return _plain(values, name)


def _of_arrow(column: Any, name: Any) -> np.ndarray:
    """Return an Arrow column of numbers or booleans as an array."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if column.null_count:
        raise _missing(name, column.is_null().to_pylist().index(True))
    if pa.types.is_decimal(column.type):
        return _of_objects(column.to_pylist(), name)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise DataError(
            f"Column {name!r} is of type {column.type}: convert it to numbers, leave it out, "
            f"or pass {OPENED}.", code="column-type", column=name,
        )  # fmt: skip
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return _plain(whole.to_numpy(zero_copy_only=False), name)


def _plain(values: np.ndarray, name: Any) -> np.ndarray:
    """Return a numpy column in a type that is kept."""
    if values.dtype.kind not in "biuf":
        raise DataError(
            f"Column {name!r} is of type {values.dtype}: convert it to numbers, or leave it out.",
            code="column-type", column=name,
        )  # fmt: skip
    if values.dtype.kind == "f":
        with np.errstate(all="ignore"):
            suspect = not np.isfinite(values.sum())
        if suspect and not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise _missing(name, row, values[row])
    return values if values.dtype in KEPT_TYPES else values.astype(np.float64)


def _of_objects(values: Iterable[Any], name: Any) -> np.ndarray:
    """Return a column of Python's or numpy's numbers as an array."""
    return _in_simplest_type([_number(x, name, i) for i, x in enumerate(values)])


def _number(value: Any, name: Any, row: int) -> int | float | Fraction:
    """Return the exact value of a cell as a Python number."""
    if isinstance(value, bool | np.bool_ | int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating | Decimal):
        if not (value.is_finite() if isinstance(value, Decimal) else np.isfinite(value)):
            raise _missing(name, row, value)
        if isinstance(value, float | np.float32 | np.float16):
            return float(value)
        if isinstance(value, Decimal) and value and abs(value.adjusted()) > MOST_POWER:
            raise _beyond(_place(name, row), value, row=row + 1, column=name)
        exact = Fraction(*value.as_integer_ratio())
    elif isinstance(value, Rational):
        exact = Fraction(int(value.numerator), int(value.denominator))
    elif value is None or str(value) in ("<NA>", "NaT"):
        raise _missing(name, row)
    else:
        kind = type(value).__name__
        opened = f", or pass {OPENED}" * (kind == "str" and isinstance(name, str))
        raise DataError(
            f"{_place(name, row)} is {str(value)[:40]!r} of type {kind}: convert it to a number, "
            f"or leave the column out{opened}.",
            code="not-a-number", row=row + 1, column=name, value=value,
        )  # fmt: skip
    if not exact or Fraction(1, LARGEST) < abs(exact) < LARGEST:
        return float(exact) if _fits(exact) else exact
    if Fraction(1, LARGEST**2) < abs(exact) < 2**1024 - 2**970 and _fits(exact):
        return float(exact)
    raise _beyond(_place(name, row), value, row=row + 1, column=name)


def _fits(x: Any) -> bool:
    """Return whether a number within the range of doubles equals one."""
    return bool(float(x) == x)


def _in_simplest_type(numbers: Sequence[int | float | Fraction]) -> np.ndarray:
    if all(isinstance(x, int) for x in numbers):
        least, most = min(numbers, default=0), max(numbers, default=0)
        for kind, low, high in (("i8", -(2**63), 2**63 - 1), ("u8", 0, 2**64 - 1)):
            if low <= least and most <= high:
                return np.array(numbers, dtype=kind)
    too_long = next((x for x in numbers if isinstance(x, int) and abs(x) >= LARGEST), None)
    if too_long is not None:
        raise _beyond("A value", too_long)
    if all(isinstance(x, float) or _fits(x) for x in numbers):
        return np.array(numbers, dtype=np.float64)
    return _objects(numbers)


def _objects(numbers: Iterable[Any]) -> np.ndarray:
    numbers = list(numbers)
    found = np.empty(len(numbers), dtype=object)
    found[:] = numbers
    return found


def _stacked(columns: list[np.ndarray]) -> np.ndarray:
    """Return the columns as one array, in a common exact type."""
    kinds = [column.dtype for column in columns]
    if columns and object not in kinds:
        common = np.result_type(*kinds)
        if common.kind != "f" or all(map(same_as_doubles, columns)):
            lines = np.empty((len(columns), len(columns[0])), dtype=common)
            for line, column in zip(lines, columns, strict=True):
                line[:] = column
            return _checked(lines.T)
    rows = len(columns[0]) if columns else 0
    found = np.empty((rows, len(columns)), dtype=object)
    for j, column in enumerate(columns):
        found[:, j] = column.tolist()
    return np.asarray(check_array(found, dtype=None, ensure_all_finite=False))


def _is_double(numbers: np.ndarray) -> bool:
    """Return whether every long double equals a double."""
    with np.errstate(over="ignore", under="ignore"):
        return bool((numbers.astype(np.float64) == numbers).all())


def _place(name: Any, row: int) -> str:
    return f"{row_text(row).capitalize()}, column {name!r}"


def _missing(name: Any, row: int, value: Any = None) -> DataError:
    """Return an error about a missing or infinite number."""
    absent = value is None or math.isnan(value)
    what = "has no value" if absent else f"is {value}"
    return DataError(
        f"{_place(name, row)} {what} (it must be a finite number): fill it, or leave the row out.",
        code="missing-value" if absent else "not-finite", row=row + 1, column=name,
    )  # fmt: skip


def _beyond(place: str, value: Any, **fields: Any) -> DataError:
    shown = f"{value:.6g}" if isinstance(value, Decimal) else _shortened(Fraction(value))
    return DataError(
        f"{place} is {shown}, outside the range of float64: scale the column.",
        code="overflow", value=value, **fields,
    )  # fmt: skip


def _shortened(value: Fraction) -> str:
    """Return the size of a number as a power of two."""
    power = value.numerator.bit_length() - value.denominator.bit_length()
    return f"about {'-' * (value < 0)}2**{power}"
