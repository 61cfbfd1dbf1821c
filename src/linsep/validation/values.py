"""Rows as arrays or CSR matrices of finite numbers; errors name column, row and remedy."""

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from linsep.errors import DataError, Hint, LinsepError
from linsep.validation.labels import first_fault, refuse_masked
from linsep.validation.sparse import as_csr
from linsep.words import row_text

#: values of an array that are checked here, not by scikit-learn
FEW = 1 << 16
#: what is no finite number, by the code of its error: the problem and what to do
_FAULTS = {
    "missing-value": (
        "contains NaN in {place}, {row}",
        "fill it (for example with scikit-learn's SimpleImputer)", "leave the row out",
    ),
    "not-finite": (
        "contains infinity in {place}, {row}", "give a finite number", "leave the row out",
    ),
    "not-exact": (
        "contains {value} in {place}, {row}, which is not exactly representable as float64",
        "subtract a constant from the whole column, such as its first value",
        "leave the column out",
    ),
    "not-a-number": (
        "holds text in {place} ({value!r:.22} in {row})",
        "encode it as numbers (for example with scikit-learn's OneHotEncoder)",
        "give a data frame to linsep.fit(frame, target=...), which reads text",
    ),
    "column-type": (
        "of {place}: {type} data not supported", "give numbers, such as days since the first one",
    ),
}  # fmt: skip
#: what conversions to floats would change
_CHANGED = {"not-exact", "column-type"}


def rows_to_fit(
    X: Any, estimator: Any, dtypes: tuple[Any, ...], order: str | None = None, *,
    checked: bool = True, columns: bool = True, reset: bool = True,
) -> Any:  # fmt: skip
    """Return X as an array or CSR matrix of finite numbers, as scikit-learn's ``validate_data``
    does, which takes longer for a few hundred rows than training, and returns suitable arrays
    unchanged.

    Numbers of other types than ``dtypes`` are converted. Without ``checked`` and ``columns``, the
    checks of finiteness and of column indices are left to the reader of the rows. With ``reset``,
    the number and names of the features of the estimator are set, otherwise compared.
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
            estimator, as_csr(X, columns=columns), accept_sparse="csr", dtype=dtypes, order=order,
            ensure_all_finite=checked, reset=reset,
            ensure_min_features=1 if reset else min(1, estimator.n_features_in_),  # of a formula
        )  # fmt: skip


@contextmanager
def faults_named(X: Any, estimator: Any = None, exact: bool = False) -> Iterator[None]:
    """Name column and row of X where scikit-learn's checks refuse one of its values; what they
    would convert, such as dates and whole numbers that no double equals, is refused before, the
    latter unless ``exact``. The ``feature_names_in_`` of the estimator name columns of an array.
    """
    refuse_masked(X, "Input X")
    if hasattr(X, "to_frame") and np.ndim(X) == 1:
        raise DataError(
            f"X is a {type(X).__name__}, which has one dimension, but rows of features have two: "
            "pass X.to_frame() if it is one feature.",
            code="shape",
        )
    check_names("the table", column_names(X))
    kept = {"not-exact"} if exact else set()
    refuse_rounded(X, getattr(estimator, "feature_names_in_", None), _CHANGED - kept)
    try:
        yield
    except (TypeError, ValueError, OverflowError) as problem:
        other = "feature names" in str(problem)  # of other columns than in fit
        if other or isinstance(problem, LinsepError):
            raise
        names = getattr(estimator, "feature_names_in_", None)  # not those of an earlier fit
        try:
            refuse_rounded(X, names, _FAULTS.keys() - kept)
        except DataError as fault:
            raise fault from None
        raise


def refuse_rounded(X: Any, names: Any = None, codes: Set[str] = _CHANGED) -> None:
    """Raise DataError for the first value of X with a fault of these codes: by default, what a
    conversion to floats would change; ``names`` are the column names of an array.
    """
    names = column_names(X) or names
    for values, place_of in _parts(X, floats="not-finite" in codes):
        if (fault := first_fault(values, codes)) is None:
            continue
        at, code = fault
        row, column = place_of(at)
        named = names is not None and column < len(names)
        label, value = names[column] if named else column, values[at]
        message, *advice = _FAULTS[code]
        words = {
            "place": f"column {label!r}" if named else f"feature {label}", "row": row_text(row),
            "value": value, "type": type(value).__name__.rstrip("0123456789").capitalize(),
        }  # fmt: skip
        cell = {} if code == "column-type" else {"row": row + 1, "value": value}
        raise DataError(
            f"Input X {message.format(**words)}", *advice, code=code, column=label, **cell
        )


def _parts(X: Any, floats: bool) -> Iterator[tuple[np.ndarray, Callable[[int], tuple[int, int]]]]:
    """Yield values of X, and the function that returns the row and the column of one. Without
    ``floats``, those that are floats are left out.
    """
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
        X = as_csr(X, columns=False).tocoo()
        yield X.data, lambda at: (int(X.row[at]), int(X.col[at]))
    else:
        yield np.ravel(X), lambda at: divmod(at, X.shape[1])


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


def check_prepared(
    model: Any,
    but: str = "arrays are used as they are: pass a data frame or a file with these columns",
) -> None:
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
        again = "fit and clone leave that out: call linsep.fit again, with cv= for folds"
        check_prepared(model, again)


def check_columns(model: Any, X: Any) -> None:
    """Check names and number of the columns of X as ``predict`` of a fitted model does, before
    functions that only read its weights; raise ValueError for others, and as check_prepared.
    """
    if isinstance(model, BaseEstimator) and hasattr(model, "n_features_in_"):
        check_prepared(model)
        check_names("the table", column_names(X))
        validate_data(model, X, reset=False, skip_check_array=True)
