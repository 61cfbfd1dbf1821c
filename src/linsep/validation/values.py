"""Rows that scikit-learn refuses: the column, the row and the remedy."""

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import date, time, timedelta
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from linsep.errors import DataError, Hint, LinsepError
from linsep.validation.labels import MISSING_TYPES, refuse_masked
from linsep.validation.sparse import as_csr
from linsep.words import row_text

#: whole numbers up to here are doubles
EXACT = 2**53
_FILL = "fill it (for example with scikit-learn's SimpleImputer)", "leave the row out"
_BOUND = "give a finite number", "leave the row out"
_ENCODE = (
    "encode it as numbers (for example with scikit-learn's OneHotEncoder)",
    "give a data frame to linsep.fit(frame, target=...), which reads text",
)
#: what arrays of a kind hold, and the remedy
_OTHERS = {
    "M": ("Input X holds dates", ("give numbers, such as the days since the first one",)),
    "m": ("Input X holds durations", ("give numbers, such as seconds",)),
    "t": ("Input X holds times of day", ("give numbers, such as the seconds since midnight",)),
    "c": (
        "Complex data not supported: they are",
        ("give the real and the imaginary part as two features",),
    ),
}

#: what leaves out how a model makes its features
AS_THEY_ARE = "arrays are used as they are: pass a data frame or a file with these columns"
IN_PARTS = "partial_fit needs batches: linsep.open_source(data, recipe=model.recipe_).batches()"
AGAIN = "fit and clone leave that out: call linsep.fit again, with cv= for folds"
#: beginnings of types of dates, durations and times of day, of numpy, pandas, Arrow and polars
_TIMES = {"timestamp": "M", "timedelta": "m", "date": "M", "duration": "m", "time": "t"}
#: values of an array that are checked here, not by scikit-learn
FEW = 1 << 16


def rows_to_fit(
    X: Any, estimator: Any, dtypes: tuple[Any, ...], order: str | None = None, *,
    checked: bool = True, columns: bool = True, reset: bool = True,
) -> Any:  # fmt: skip
    """Return X as an array or CSR matrix of finite numbers, as scikit-learn's ``validate_data``
    does, which takes longer for a few hundred rows than training, and returns suitable arrays
    unchanged.

    Parameters
    ----------
    X : as given to ``fit``, or to a method of a fitted estimator
    estimator : its ``n_features_in_`` and ``feature_names_in_`` are set, or with ``reset=False``
        compared
    dtypes : types of numbers that are not converted
    order : "C" for rows that are contiguous
    checked, columns : False leaves the checks of finiteness, and of column indices, to the reader
        of the rows
    """
    if _is_ready(X, dtypes) and (not checked or bool(np.isfinite(X).all())):
        if reset:
            vars(estimator).pop("feature_names_in_", None)
            estimator.n_features_in_ = X.shape[1]
            return X
        if "feature_names_in_" not in vars(estimator) and X.shape[1] == estimator.n_features_in_:
            return X
    with faults_named(X, estimator):
        return validate_data(
            estimator, as_csr(X, columns=columns), accept_sparse="csr", dtype=dtypes, order=order,
            ensure_all_finite=checked, reset=reset,
            ensure_min_features=1 if reset else min(1, estimator.n_features_in_),  # of a formula
        )  # fmt: skip


def _is_ready(X: Any, dtypes: tuple[Any, ...]) -> bool:
    """Return whether X is a small plain array of one of the types."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and 0 < X.size <= FEW
        and X.dtype.isnative
        and X.dtype.type in dtypes
        and X.itemsize <= 8
        and X.flags.c_contiguous
    )


@contextmanager
def faults_named(X: Any, estimator: Any = None, exact: bool = False) -> Iterator[None]:
    """Name column and row of X where scikit-learn's checks refuse one of its values.

    Columns of dates and durations are refused before these checks, which would read them as counts
    of seconds or nanoseconds, and missing values as numbers.

    Parameters
    ----------
    X : the input; rows are only inspected after it was refused
    estimator : whose ``feature_names_in_``, if there are any, name the columns of an array
    exact : whether whole numbers are kept unchanged; otherwise, whole numbers that no double equals
        are refused
    """
    refuse_series(X)
    refuse_repeated_names(X)
    names = getattr(estimator, "feature_names_in_", None)
    for part in _parts(X, names):
        kind = next((kind for start, kind in _TIMES.items() if part.type.startswith(start)), "")
        if kind:
            raise part.other(kind, 0)
    if not exact:
        refuse_rounded(X, names)
    try:
        yield
    except LinsepError:
        raise
    except (TypeError, ValueError) as problem:
        if "feature names" in str(problem):  # of other columns than in fit
            raise
        names = getattr(estimator, "feature_names_in_", None)  # not those of an earlier fit
        fault = _of_sparse(X, names) if sp.issparse(X) else _of_parts(X, names)
        if fault is None:
            raise
        raise fault from None


class _Part(NamedTuple):
    """A column of rows, or all columns of an array: the number of the first, the names of all if
    there are any, the type in lower case, and a function that returns the values.
    """

    first: int
    names: Any
    type: str
    values: Callable[[], np.ndarray]

    def label(self, column: int) -> Any:
        """Return the name of a column, or its number."""
        return self.first + column if self.names is None else self.names[column]

    def place(self, column: int) -> str:
        """Return the column in words."""
        label = self.label(column)
        return f"feature {label}" if self.names is None else f"column {label!r}"

    def other(self, kind: str, column: int) -> DataError:
        """Return the error for a column that holds what is no number."""
        what, advice = _OTHERS[kind]
        return DataError(
            f"{what} in {self.place(column)}", *advice, code="column-type",
            column=self.label(column),
        )  # fmt: skip


def _parts(X: Any, names: Any) -> Iterator[_Part]:
    """Yield the columns of rows of any kind; ``names`` are those of an array, if there are any."""
    if sp.issparse(X):
        yield _Part(0, None, str(X.dtype), lambda: _stored(X))
    elif hasattr(X, "iloc") and X.ndim == 2:  # pandas
        for j, (name, kind) in enumerate(zip(X.columns, X.dtypes, strict=True)):
            yield _Part(j, [name], str(kind).lower(), partial(_values, X, j))
    elif hasattr(X, "schema"):  # Arrow, polars
        schema = X.schema
        types = schema.values() if hasattr(schema, "items") else schema.types
        for j, (name, kind) in enumerate(zip(_names(X), types, strict=True)):
            yield _Part(j, [name], str(kind).lower(), partial(_values, X, name))
    elif hasattr(X, "dtype") or isinstance(X, list | tuple):
        with suppress(ValueError):  # rows of several lengths
            found = np.asarray(X)
            if isinstance(X, list | tuple) and _is_far(found):
                found = np.array(X, dtype=object)
            if found.ndim == 2:
                names = None if names is None or len(names) < found.shape[1] else names
                yield _Part(0, names, str(found.dtype), lambda: found)


def _values(X: Any, column: Any) -> np.ndarray:
    return np.asarray(X.iloc[:, column] if hasattr(X, "iloc") else X[column])


def _names(X: Any) -> list[Any]:
    """Return the names of the columns of a data frame or table; none for other rows."""
    arrow = getattr(getattr(X, "schema", None), "names", None)
    return arrow if isinstance(arrow, list) else list(getattr(X, "columns", ()))


def refuse_series(X: Any) -> None:
    """Raise DataError for a Series or an Index of pandas or polars, which is one column, and for
    masked values.
    """
    refuse_masked(_stored(X) if sp.issparse(X) else X, "Input X")
    if hasattr(X, "to_frame") and np.ndim(X) == 1:
        raise DataError(
            f"X is a {type(X).__name__}, which has one dimension, but rows of features have two: "
            "pass X.to_frame() if it is one feature.",
            code="shape",
        )


def refuse_repeated_names(X: Any) -> None:
    """Raise DataError for a data frame with two columns of the same name."""
    check_names("the table", [str(name) for name in _names(X)])


def check_names(place: Any, names: list[str], *advice: Hint) -> None:
    """Raise DataError when two columns have the same name; ``place`` is the file or the table."""
    for name, times in Counter(names).items():
        if times > 1:
            raise DataError(
                f"{place} has {times} columns named '{name}'",
                "rename all but one", *advice, code="duplicate-name", path=place, column=name,
            )  # fmt: skip


def refuse_rounded(X: Any, names: Any = None) -> None:
    """Raise DataError for a whole number that no double equals, which would be rounded.

    ``names`` are the column names of an array.
    """
    for part in _parts(X, names):
        if "int64" not in part.type and part.type not in ("object", "category"):
            continue
        values = part.values()
        if (at := _first_rounded(values)) is None:
            continue
        row, column = divmod(at, values.shape[1]) if values.ndim == 2 else (at, 0)
        stored = sp.issparse(X)
        raise DataError(
            f"Input X contains {values.flat[at]} in "
            f"{'stored values' if stored else f'{part.place(column)}, {row_text(row)}'}, which is "
            "not exactly representable as float64",
            "subtract a constant from the whole column, such as its first value",
            "leave the column out",
            code="not-exact", **({} if stored else {"row": row + 1, "column": part.label(column)}),
        )  # fmt: skip


def _stored(X: Any) -> np.ndarray:
    """Return the stored values of a sparse matrix of any format."""
    if X.format == "lil":  # its columns are checked later
        return np.array([value for row in X.data for value in row], dtype=X.dtype)
    return np.array([*X.values()], dtype=X.dtype) if X.format == "dok" else np.asarray(X.data)


def _is_far(values: np.ndarray) -> bool:
    with np.errstate(invalid="ignore"):
        return values.dtype.kind == "f" and bool((np.abs(values) >= EXACT).any())


def refuse_rounded_targets(y: np.ndarray, place: Callable[[int], str]) -> None:
    """Raise DataError for a target of a regression that is a whole number which no double equals.

    ``place`` returns where a row stands.
    """
    if (at := _first_rounded(y)) is not None:
        raise DataError(
            place(at) + f" has the target {y[at]}, which is not exactly representable as float64",
            "subtract a constant from all targets, such as the first one",
            code="not-exact", value=y[at],
        )  # fmt: skip


def _first_rounded(values: np.ndarray) -> int | None:
    """Return the flat position of the first whole number that no double equals, or None."""
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8 and values.size:
        if max(int(values.max()), -int(values.min())) <= EXACT:
            return None
    elif values.dtype != object:
        return None
    for at, value in enumerate(values.ravel().tolist()):
        if isinstance(value, int) and abs(value) > EXACT and _double(value) != value:
            return at
    return None


def _double(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf


def _of_parts(X: Any, names: Any) -> DataError | None:
    """Return the error for the first value that is no finite number; None if scikit-learn has to
    say it.
    """
    for part in _parts(X, names):
        values = part.values()
        for j, column in enumerate(values.T if values.ndim == 2 else values[None]):
            if fault := _of_column(column, part, j):
                fault.column = part.label(j)
                return fault
    return None


def _of_sparse(X: Any, names: Any) -> DataError | None:
    X = X.tocoo()
    bad = np.flatnonzero(~np.isfinite(X.data)) if X.ndim == 2 and X.dtype.kind == "f" else X.row[:0]
    if not bad.size:
        return None
    first = bad[np.lexsort((X.row[bad], X.col[bad]))[0]]
    part, j = _Part(0, names, "", lambda: X.data), int(X.col[first])
    fault = _not_finite(X.data[first], int(X.row[first]), part.place(j))
    fault.column = part.label(j)
    return fault


def _of_column(column: np.ndarray, part: _Part, j: int) -> DataError | None:
    kind = column.dtype.kind
    if kind in _OTHERS:
        return part.other(kind, j)
    if kind == "f":
        bad = np.flatnonzero(~np.isfinite(column))
        return _not_finite(column[bad[0]], int(bad[0]), part.place(j)) if bad.size else None
    for row, value in enumerate(column.tolist() if kind in "OUST" else ()):
        if value is None or type(value).__name__ in MISSING_TYPES:
            return _not_finite(np.nan, row, part.place(j))
        for types, other in ((date, "M"), (timedelta, "m"), (time, "t")):
            if isinstance(value, types):
                return part.other(other, j)
        if type(value).__name__ == "Period":  # pandas
            return part.other("M", j)
        try:
            number = float(value)
        except (TypeError, OverflowError):
            continue
        except ValueError:
            text = repr(value if len(value) <= 20 else value[:19] + "…")
            message = f"Input X holds text in {part.place(j)} ({text} in {row_text(row)})"
            return DataError(message, *_ENCODE, code="not-a-number", row=row + 1, value=value)
        if not np.isfinite(number):
            return _not_finite(number, row, part.place(j))
    return None


def _not_finite(value: float, row: int, place: str) -> DataError:
    what, advice = ("NaN", _FILL) if np.isnan(value) else ("infinity", _BOUND)
    code = "missing-value" if np.isnan(value) else "not-finite"
    message = f"Input X contains {what} in {place}, {row_text(row)}"
    return DataError(message, *advice, code=code, row=row + 1)


_OF_FEATURES = ContextVar("arrays are features", default=False)


@contextmanager
def of_features() -> Iterator[None]:
    """Let arrays be the features of a model, without names."""
    token = _OF_FEATURES.set(True)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            yield
    finally:
        _OF_FEATURES.reset(token)


def check_prepared(model: Any, but: str = AS_THEY_ARE) -> None:
    """Raise DataError if a model does more with the columns of a table than picking them, for what
    leaves that out.
    """
    recipe = getattr(model, "recipe_", None) or {}
    made = ("scale", "text", "formula", "products", "words")
    converted = set(recipe.get("numeric", ())) & {*recipe.get("converted", ())}
    if (converted or any(map(recipe.get, made))) and not _OF_FEATURES.get():
        raise DataError(
            f"This {type(model).__name__} makes its features from the columns of a table, such as "
            f"by scaling, but {but}.",
            code="unsupported",
        )


def check_again(model: Any) -> None:
    """Raise DataError if a model would be fitted again, but not to features made as before."""
    if not getattr(model, "_encodes", False):
        check_prepared(model, AGAIN)


def check_columns(model: Any, X: Any) -> None:
    """Check names and number of the columns of X as ``predict`` of a fitted model does, before
    functions that only read its weights.

    Raises
    ------
    ValueError
        If the columns of a DataFrame have different names than in the fit, or another order.
    DataError
        As :func:`check_prepared`.
    """
    if isinstance(model, BaseEstimator) and hasattr(model, "n_features_in_"):
        check_prepared(model)
        refuse_repeated_names(X)
        validate_data(model, X, reset=False, skip_check_array=True)
