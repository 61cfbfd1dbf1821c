"""Checks of rows in memory, and of labels, weights and counts beside them."""

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import date, time, timedelta
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import column_or_1d, validate_data

from linsep.errors import DataError, Hint, LinsepError, Located, warn_caller
from linsep.words import row_text

#: values of an array that are checked here, not by scikit-learn
FEW = 1 << 16
#: whole numbers up to here are doubles
EXACT = 2**53
#: codes of numbers that are not finite
GAPS = {"missing-value", "not-finite"}
#: codes of what conversions to floats would change
_CHANGED = {"not-exact", "column-type"}
#: what is no finite number, by the code of its error: the problem, and what to do
_FAULTS = {
    "missing-value": ("is missing (NaN)", "fill it (such as with scikit-learn's SimpleImputer)"),
    "not-finite": ("is infinite", "give a finite number"),
    "not-exact": ("is {value}, which no float64 equals", "subtract a constant from the column"),
    "not-a-number": (
        "is text, {value!r:.22}", "encode it as numbers (as scikit-learn's OneHotEncoder does)",
        "give a data frame to linsep.fit(frame, target=...), which reads text",
    ),
    "column-type": ("is {value}; dates, times and Complex data not supported", "give numbers"),
}  # fmt: skip
CONTINUOUS = (
    "the label {!r} is continuous (Unknown label type: continuous); a classifier needs classes, so "
    "choose another target, round it, fit a linear regression, or counts of successes= and trials="
)
_OTHER_TYPES = (date, timedelta, time, np.datetime64, np.timedelta64, complex, np.complexfloating)


def refuse_faults(
    values: np.ndarray, codes: Set[str] = GAPS, name: str = "y", advice: str = "give a number",
    place: Callable[[int], str] = row_text,
) -> None:  # fmt: skip
    """Raise DataError for the first value that is no finite number, by one of these codes."""
    rows: Any = range(values.size)
    if values.dtype.kind == "f":
        rows = np.flatnonzero(~np.isfinite(values)).tolist()
    elif values.dtype.kind in "biu":
        rows = np.flatnonzero((values > EXACT) | (values < -EXACT)).tolist()
    for row in rows:
        if (code := _fault_of(value := values[row])) in codes:
            problem, *remedies = _FAULTS[code]
            raise DataError(
                place(row) + f": {name} {problem.format(value=value)}",
                *([advice] if advice else remedies), "leave the row out",
                code=code, value=value, option=name,
            ) from None  # fmt: skip


def _fault_of(value: Any) -> str:
    if is_missing(value):
        return "missing-value"
    if isinstance(value, _OTHER_TYPES) or type(value).__name__ == "Period":  # of pandas
        return "column-type"
    try:
        number = float(value)
    except (ArithmeticError, TypeError, ValueError) as problem:  # scikit-learn has words for others
        return "not-a-number" if isinstance(problem, ValueError) else ""
    if isinstance(value, int | np.integer) and number != int(value):
        return "not-exact"
    return "" if math.isfinite(number) else "not-finite"


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN or a missing value of pandas."""
    nan = isinstance(value, float | np.floating) and math.isnan(value)
    return value is None or nan or type(value).__name__ in ("NAType", "NaTType")


def refuse_masked(values: Any, name: str) -> None:
    """Raise DataError if a mask, also in a list, hides a value, which plain arrays expose."""
    rows = values if isinstance(values, list | tuple | np.ma.MaskedArray) else ()
    for row, one in enumerate(rows):
        if np.ma.is_masked(one):
            raise DataError(
                f"{name} has a masked value in " + row_text(row), "fill it, such as by .filled(0)",
                "leave the row out", code="missing-value", row=row + 1,
            )  # fmt: skip


def rows_to_fit(
    X: Any, estimator: Any, dtypes: tuple[Any, ...], order: str | None = None, *,
    checked: bool = True, reset: bool = True,
) -> Any:  # fmt: skip
    """Return X as an array or CSR matrix of finite numbers of one of the types, as scikit-learn's
    ``validate_data`` does, which takes longer for a few hundred rows than training.

    Without ``checked``, finiteness is left to the reader of the rows. With ``reset``, the features
    of the estimator are set, otherwise compared.
    """
    ready = type(X) is np.ndarray and X.ndim == 2 and 0 < X.size <= FEW and X.dtype.isnative
    ready = ready and X.dtype.type in dtypes and X.itemsize <= 8 and X.flags.c_contiguous
    if ready and (not checked or np.isfinite(X).all()):
        if reset:
            vars(estimator).pop("feature_names_in_", None)
            estimator.n_features_in_ = X.shape[1]
            return X
        if "feature_names_in_" not in vars(estimator) and X.shape[1] == estimator.n_features_in_:
            return X
    with faults_named(X, estimator):
        return validate_data(
            estimator, as_csr(X), accept_sparse="csr", dtype=dtypes, order=order,
            ensure_all_finite=checked, reset=reset,
            ensure_min_features=1 if reset else min(1, estimator.n_features_in_),  # of a formula
        )  # fmt: skip


@contextmanager
def faults_named(X: Any, estimator: Any = None, exact: bool = False) -> Iterator[None]:
    """Name column and row of X where scikit-learn's checks refuse one of its values; what they
    would change, such as dates and, unless ``exact``, long whole numbers, is refused before.
    """
    refuse_masked(X, "X")
    if hasattr(X, "to_frame") and np.ndim(X) == 1:
        raise DataError("X is one column, not a table", "pass X.to_frame()", code="shape")
    if isinstance(X, list) and X and isinstance(X[0], dict):
        raise DataError("X is a list of records", "pass pandas.DataFrame(X)", code="shape")
    check_names("the table", column_names(X))
    kept = {"not-exact"} if exact else set()
    refuse_rounded(X, estimator, _CHANGED - kept)
    try:
        yield
    except (TypeError, ValueError, OverflowError) as problem:
        if not isinstance(problem, LinsepError) and "feature names" not in str(problem):
            refuse_rounded(X, estimator, _FAULTS.keys() - kept)
        raise


def refuse_rounded(X: Any, estimator: Any = None, codes: Set[str] = _CHANGED) -> None:
    """Raise DataError for the first value of X that, by default, floats would change."""
    names: Any = column_names(X) or getattr(estimator, "feature_names_in_", [])
    for values, at in _parts(X, floats="not-finite" in codes):

        def place(number: int, at: Any = at) -> str:
            row, column = at(number)
            label = names[column] if column < len(names) else column
            where = f"column {label!r}" if column < len(names) else f"feature {label}"
            return Located(f"{row_text(row)}, {where}", row=row + 1, column=label)

        refuse_faults(values, codes, "X", "", place)


def _parts(X: Any, floats: bool) -> Iterator[tuple[np.ndarray, Callable[[int], tuple[int, int]]]]:
    """Yield values of X, without ``floats`` others, and what returns the row and column of one."""
    if hasattr(X, "columns"):
        import narwhals.stable.v2 as nw

        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            for j, column in enumerate(frame.iter_columns()):
                if floats or not (column.dtype.is_float() or column.dtype == nw.Boolean):
                    yield column.to_numpy(), lambda row, j=j: (row, j)  # type: ignore[misc]
            return
    if isinstance(X, list | tuple):
        with suppress(ValueError):  # rows of several lengths
            X = np.array(X, dtype=object)
    if getattr(X, "ndim", 0) != 2 or not (floats or np.dtype(X.dtype).kind not in "fb"):
        return
    if sp.issparse(X):
        X = as_csr(X).tocoo()
        yield X.data, lambda at: (int(X.row[at]), int(X.col[at]))
    else:
        yield np.ravel(X), lambda at: divmod(at, X.shape[1])


def as_csr(X: Any) -> Any:
    """Return a two-dimensional sparse matrix as CSR, and anything else unchanged; DataError for
    indices out of range, by which compiled loops, scipy's included, would use other memory.
    """
    if not sp.issparse(X) or X.ndim != 2:
        return X
    try:
        if X.format == "coo":  # which is checked when it is made
            return type(X)((X.data, (X.row, X.col)), shape=X.shape).tocsr()
        X = X if X.format in ("csr", "csc", "bsr") else X.tocsr()
        X.check_format()
    except ValueError as problem:
        raise DataError(
            f"X is no sparse matrix of shape {X.shape} ({problem})", "build it again",
            code="out-of-range",
        ) from None  # fmt: skip
    return X.tocsr()


def tidy(X: Any) -> Any:
    """Return CSR rows without repeated entries, and other rows unchanged."""
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def labels_of(y: Any) -> np.ndarray:
    """Return one label for each row, objects that are all numbers as an array of numbers; DataError
    for one that is missing, infinite, or neither text nor a number, and for text beside numbers.
    """
    given, y = y, one_column(y)
    if y.dtype.kind in "OST":
        y = _of_objects(y.astype(object))
        y = np.array(y.tolist()) if isinstance(given, list | tuple) else y
    if y.dtype.kind in "fmM":
        refuse_faults(y if y.dtype.kind == "f" else np.where(np.isnat(y), np.nan, 0.0))
    return y + 0.0 if y.dtype.kind == "f" else y  # -0.0 is 0.0


def one_column(y: Any) -> np.ndarray:
    """Return y as one value for each row; a list as objects, of which numpy would make text, or
    floats that merge long numbers.
    """
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biuf":
        return y  # the same as after these checks, which take longer than small fits
    refuse_masked(y, "y")
    y = np.array(y, dtype=object) if isinstance(y, list | tuple) else np.asarray(y)
    if y.dtype.kind == "c":
        raise DataError("Complex data not supported: y holds complex numbers.", code="label-type")
    return column_or_1d(y, warn=True)


def _of_objects(y: np.ndarray) -> np.ndarray:
    """Return objects that are all text as they are, and numbers as an array of numbers."""
    refuse_faults(y, {"missing-value"})
    values: Any = y.tolist()
    texts = sum(isinstance(value, str) for value in values)
    mixed, found = 0 < texts < len(values), y if texts else np.array(values)
    most: Any = 1 << 63 if found.dtype.kind == "O" else np.inf
    for row, (value, number) in enumerate(zip(values, found.tolist(), strict=True)):
        known = not mixed and isinstance(value, str | int | float | np.number | np.bool_)
        if not known or not (texts or (value == number and -most < value < most)):
            raise DataError(
                f"y holds {value!r:.40}, of type {type(value).__name__}, in {row_text(row)}, but "
                "labels are all text or all numbers of 64 bits",
                "give str(label) for each label", row=row + 1,
                code="not-exact" if known else "label-type",
            )  # fmt: skip
    return found


def numbers_beside(
    values: Any, n_rows: int, name: str, least: float = -np.inf,
    place: Callable[[int], str] = row_text,
) -> np.ndarray:  # fmt: skip
    """Return the numbers beside rows, one for each or one for all, as float64 of shape (n_rows,);
    DataError for others, or below ``least``.
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


def check_counts(successes: np.ndarray, trials: np.ndarray, place: Callable[[int], str]) -> None:
    """Raise DataError unless counts, as float64, are whole numbers, 0 <= successes <= trials."""
    for name, counts in (("successes", successes), ("trials", trials)):
        good = (counts >= 0) & (counts <= EXACT) & (counts == np.floor(counts))
        fits = (trials >= successes) | (name == "successes")
        if not (good & fits).all():
            row = int(np.argmin(good & fits))
            raise DataError(
                place(row) + f" has {counts[row]:g} as {name}, but {successes[row]:g} successes: "
                "give whole numbers of at least 0, no more successes than trials.",
                code="out-of-range" if good[row] else "bad-value", option=name,
            )  # fmt: skip


def check_beside(X: Any, **others: Any) -> None:
    """Refuse masked labels or weights, and those with the index of pandas of X in another order:
    rows are matched by position. If one of the two is the default index, this is a warning.
    """
    for name, other in others.items():
        if other is None or type(other) is np.ndarray:
            continue
        refuse_masked(other, name)
        (index, fresh), (found, also_fresh) = _index_of(X), _index_of(other)
        if index is None or found is None or found.equals(index):
            continue
        if len(found) != len(index) or set(found) != set(index):
            continue
        said = f"{name} has the index of X in a different order, but rows are matched by position"
        order, plain = f"give {name}.loc[X.index]", f"{name}.to_numpy() if its order is right"
        if not (fresh or also_fresh):
            raise DataError(said, order, plain, code="shape", option=name)
        warn_caller(f"{said}: {order} or {plain}.")


def row_labels(X: Any) -> np.ndarray | None:
    """Return the labels of rows in their index of pandas; None without one, or for the default."""
    index, fresh = _index_of(X)
    return None if index is None or fresh else index.to_numpy(dtype=object)


def _index_of(values: Any) -> tuple[Any, bool]:
    """Return the index of pandas, if there is one, and whether it is the default index."""
    index: Any = getattr(values, "index", None)
    fresh = type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1
    return (index if type(index).__module__.startswith("pandas") else None), fresh


def warn_of_many_classes(classes: np.ndarray, n_rows: int) -> None:
    """Warn if a numeric target has more than ten classes, and more than a tenth as many as rows."""
    n = len(classes)
    if classes.dtype.kind in "iuf" and n > max(10, n_rows / 10):
        warn_caller(
            f"The target holds {n:,} different numbers in {n_rows:,} rows, and each is treated "
            "as a class. For measurements, fit a linear regression."
        )


def refuse_continuous(y: np.ndarray, where: Callable[[int], str] = row_text) -> None:
    """Raise DataError for a number with a fraction, which is not a class."""
    if y.dtype.kind == "f" and (parts := y != np.trunc(y)).any():
        row = int(np.argmax(parts))
        why = CONTINUOUS.format(y[row].item())
        raise DataError(f"{where(row)}: {why}.", code="label-type")


def column_names(X: Any) -> list[Any]:
    """Return the names of the columns of a data frame or table; none for other rows."""
    return list(getattr(X, "column_names", getattr(X, "columns", ())))


def check_names(place: Any, names: Iterable[Any], *advice: Hint) -> None:
    """Raise DataError when two columns have the same name; ``place`` is the file or the table."""
    for name, times in Counter(map(str, names)).items():
        if times > 1:
            raise DataError(
                f"{place} has {times} columns named '{name}'",
                "rename all but one", *advice, code="duplicate-name", path=place, column=name,
            )  # fmt: skip


_OF_FEATURES = ContextVar[bool | None]("rows are features, or columns of a table", default=None)


@contextmanager
def of_features(yes: bool = True) -> Iterator[None]:
    """Let arrays be the features of a model, without names; or frames be tables again, if it is in
    a pipeline.
    """
    token = _OF_FEATURES.set(yes or bool(_OF_FEATURES.get()))
    try:
        with warnings.catch_warnings():
            if yes:
                warnings.filterwarnings("ignore", "X does not have valid feature names")
            yield
    finally:
        _OF_FEATURES.reset(token)


def takes_features(model: Any) -> bool:
    """Return whether rows in memory are features of a model, rather than columns of a table: they
    are for the last step of a :class:`linsep.TablePipeline` by itself.
    """
    said = _OF_FEATURES.get()
    return getattr(model, "_is_step", False) if said is None else said


def check_prepared(
    model: Any,
    but: str = "arrays are used as they are: pass a data frame or a file with these columns",
) -> None:
    """Raise DataError if a model does more with the columns of a table than picking them."""
    recipe = getattr(model, "recipe_", None) or {}
    made = ("scale", "text", "formula", "products", "words")
    converted = set(recipe.get("numeric", ())) & {*recipe.get("converted", ())}
    if (converted or any(map(recipe.get, made))) and not takes_features(model):
        raise DataError(
            f"This {type(model).__name__} makes its features from the columns of a table, such as "
            f"by scaling, but {but}.", code="unsupported",
        )  # fmt: skip


def check_columns(model: Any, X: Any) -> None:
    """Check the columns of X as ``predict`` of a fitted model does, before functions that only read
    its weights.
    """
    if isinstance(model, BaseEstimator) and hasattr(model, "n_features_in_"):
        check_prepared(model)
        check_names("the table", column_names(X))
        validate_data(model, X, reset=False, skip_check_array=True)
