"""Data frames whose columns are no features yet: they become a source, as a file would."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from linsep.batches import join, joined
from linsep.errors import DataError, ParameterError
from linsep.estimators._common.labels import FLOATS, brings_labels
from linsep.estimators._common.offsets import (
    check_offset,
    has_offset,
    offset_to_predict,
    refuse_beside_source,
)
from linsep.sources.base import Source, is_frame
from linsep.validation.labels import check_beside
from linsep.validation.sparse import as_csr
from linsep.validation.values import check_prepared


class Rows(NamedTuple):
    """Rows in memory with their labels and weights; ``names`` of features that were made of columns
    of text or categories, else None.
    """

    X: Any
    y: Any
    sample_weight: Any
    names: list[str] | None


def in_memory(X: Any, y: Any = None, sample_weight: Any = None) -> Rows:
    """Return rows as they are or, of a frame with columns of text or categories, with a feature for
    each of their values.
    """
    source, *_ = with_features(X, y, sample_weight)
    if not isinstance(source, Source) or source is X:
        return Rows(X, y, sample_weight, None)
    read = joined(list(source.batches()))
    return Rows(read.X, read.y, read.weights, source.feature_names)


class TakesFrames:
    """Mixin of estimators, for functions that read their weights."""

    n_features_in_: int

    def features_of(self, X: Any) -> Any:
        """Return rows as they are or, of a frame that holds the columns which the model learned
        from, their features.
        """
        source = to_predict(self, X)
        if not isinstance(source, Source) or source is X:
            return X
        parts = [batch.X for batch in source.batches()]
        return join(parts, max(part.shape[1] for part in parts))

    @contextmanager
    def drawn_features_of(self, X: Any) -> Iterator[Any]:
        """Give what :meth:`features_of` returns to a picture, which predicts them without names."""
        features = self.features_of(X)
        with warnings.catch_warnings():
            if features is not X:
                warnings.filterwarnings("ignore", "X does not have valid feature names")
            yield features

    @contextmanager
    def fitted_rows(
        self, X: Any, y: Any, sample_weight: Any, offset: Any = None
    ) -> Iterator[tuple[Any, Any, Any, Any]]:
        """Give the features, labels, weights and offsets of the rows of the fit, as ``fit`` takes
        them or, of a fit to columns that became features, the frame or file that holds them.
        """
        source = to_score(self, X, y)
        with warnings.catch_warnings():
            if brings_labels(source, y, sample_weight, offset, offsets=has_offset(self)):
                read = joined(list(source.batches()), self.n_features_in_)
                X, y, sample_weight, offset = read.X, read.y, read.weights, read.offset
                warnings.filterwarnings("ignore", "X does not have valid feature names")
            elif (features := self.features_of(X)) is not X:
                X = features
                warnings.filterwarnings("ignore", "X does not have valid feature names")
            yield X, y, sample_weight, offset


def to_learn(
    X: Any, y: Any, sample_weight: Any = None, reference: bool = False, **others: Any
) -> tuple[Any, Any, Any]:
    """Return what :func:`with_features` does; raises TypeError for the name of a file."""
    if isinstance(X, str | Path):
        raise TypeError(
            f"fit takes rows, not the name of a file: linsep.fit({str(X)!r}, target=...) learns "
            "from files."
        )
    call = "linsep.fit(frame, target=..."
    return with_features(X, y, sample_weight, reference, call, **others)


def to_regress(
    X: Any, y: Any, sample_weight: Any, others: dict[str, Any], reference: bool
) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Return what :func:`to_learn` does, and ``others`` beside the rows, such as their offsets, by
    name; None for each if they are in its source.
    """
    found = to_learn(X, y, sample_weight, reference, **others)
    return *found, others if found[0] is X else dict.fromkeys(others)


def with_features(
    X: Any, y: Any = None, sample_weight: Any = None, reference: bool = False,
    call: str = "linsep.open_source(frame, target=...", **others: Any,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return rows, labels and weights as they are or, of a frame with columns of text or
    categories, a source of all three, and of ``others`` beside the rows, and None twice.

    With ``reference`` the first level of each column of text has no feature: all indicators of a
    column add up to the intercept, so that a regression could not tell their parts. ``call`` is
    what has the options that errors name.
    """
    if is_frame(X) and not X.shape[1]:
        raise DataError("X is a frame without columns", "give at least one feature")
    if not is_frame(X) or not _needs_encoding(X):
        return X, y, sample_weight
    beside = {"y": y, "sample_weight": sample_weight, **others}
    check_beside(X, **beside)
    with _options_of(call):
        source = _with_labels(X, beside, "first" if reference else None)
    for name in ("batches", "exactly"):
        setattr(source, name, _spelled(getattr(source, name), call))
    return source, None, None


@contextmanager
def _options_of(call: str) -> Iterator[None]:
    """Say where the options are that errors about a frame name: its reader has none of them."""
    try:
        yield
    except DataError as problem:
        raise problem.of_call(call) from None


def _spelled(read: Any, call: str) -> Any:
    def batches(*how: Any) -> Iterator[Any]:
        with _options_of(call):
            yield from read(*how)

    return batches


def to_predict(model: Any, X: Any, missing: str | None = None, offset: Any = None) -> Any:
    """Return rows as they are or, of a frame that holds the columns which the model learned from, a
    source that makes its features of them.

    With ``missing="skip"`` it is a source in any case, whose rows with a missing value get no
    prediction. Offsets that are given become a column of a frame that is read.
    """
    refuse_beside_source(X, offset)
    if missing not in (None, "skip"):
        raise ParameterError(f"missing is {missing!r}: choose 'skip', or leave it out.")
    recipe = getattr(model, "recipe_", None) or {}
    of_frame = recipe.get("format") == "table" and is_frame(X)
    of_path = isinstance(X, str | Path) and recipe.get("format", "arrays") != "arrays"
    if of_path or (of_frame and not _holds_features(model, X, recipe)):
        X = X if offset is None else _with_offset(model, X, offset)
        return _opened(X, recipe=recipe, labeled=False, missing=missing or "error")
    return X if missing is None else _with_gaps(model, X, offset)


def _with_offset(model: Any, X: Any, offset: Any) -> Any:
    """Return a frame with offsets in the column in which the model had them."""
    if isinstance(X, str | Path):
        raise DataError(f"{X} is a file, which has a column of offsets: leave offset out.")
    import pyarrow as pa

    from linsep.sources.tables.frames import to_arrow

    table, name = to_arrow(X), model.recipe_.get("offset")
    values = offset_to_predict(model, offset, table.num_rows)
    if name is None:
        raise DataError("The model was not fitted to a column of offsets: give it features.")
    if name in table.column_names:
        table = table.drop_columns([name])
    return table.append_column(name, pa.array(values))


def to_score(model: Any, X: Any, y: Any) -> Any:
    """Return rows as they are or, without labels beside them, the frame or file that holds both, as
    a source.
    """
    recipe = getattr(model, "recipe_", None) or {}
    if y is not None or recipe.get("format", "arrays") == "arrays":
        return X
    label = recipe.get("target") or recipe.get("successes")
    if isinstance(X, str | Path) or (is_frame(X) and label in _names(X)):
        return _opened(X, recipe=recipe)
    return X


def to_average(model: Any, X: Any) -> Any:
    """Return rows as they are or, of a frame or file that holds the columns which the model learned
    from, a source: with the weights of rows if the model has a column of them and labels are there.
    """
    recipe = getattr(model, "recipe_", None) or {}
    of_path = isinstance(X, str | Path) and recipe.get("format", "arrays") != "arrays"
    if of_path or (is_frame(X) and recipe.get("target") in _names(X)):
        return _opened(X, recipe=recipe, labeled=True if recipe.get("weight") else None)
    return to_predict(model, X)


def _with_gaps(model: Any, X: Any, offset: Any) -> Source:
    """Return rows of features as a source in which those with NaN get no prediction."""
    if isinstance(X, Source):
        raise ParameterError('The rows are a source: open it with missing="skip" instead.')
    check_prepared(model, X)
    X = validate_data(
        model, as_csr(X), accept_sparse="csr", dtype=FLOATS, order="C", reset=False,
        ensure_all_finite="allow-nan",
    ).copy()  # fmt: skip
    values = X.data if sp.issparse(X) else X
    unknown = np.isnan(values)
    gaps = sp.csr_array((unknown, X.indices, X.indptr), X.shape) if sp.issparse(X) else unknown
    values[unknown] = 0
    from linsep.sources.arrays import ArraySource

    known = offset_to_predict(model, offset, X.shape[0])
    return ArraySource(X, unanswered=np.asarray(gaps.sum(axis=1)) > 0, offset=known)


def _holds_features(model: Any, X: Any, recipe: dict[str, Any]) -> bool:
    """Return whether the columns are the features of a model, and not what these are made of."""
    made = recipe["scale"] or recipe["missing"] != "error"
    made = made or any(recipe.get(name) for name in ("converted", "formula", "products"))
    names = getattr(model, "feature_names_in_", None)
    return not made and names is not None and _names(X) == list(names)


def _needs_encoding(frame: Any) -> bool:
    """Return whether a column of a frame holds text or categories, or the frame is no array."""
    if hasattr(frame, "iloc"):
        return any(_holds_text(frame.iloc[:, k]) for k in range(frame.shape[1]))
    if not hasattr(frame, "__array__"):
        return True
    import pyarrow as pa

    from linsep.sources.tables.column_types import family_of

    return any(family_of(kind) == "text" for kind in pa.table(frame).schema.types)


def _holds_text(column: Any) -> bool:
    """Return whether a column of pandas holds categories, or text and nothing else."""
    if hasattr(column, "cat"):
        return True
    filled = column.dropna() if column.dtype.kind == "O" else ()
    return len(filled) > 0 and all(isinstance(value, str) for value in filled)


def _names(frame: Any) -> list[str]:
    names = getattr(getattr(frame, "schema", None), "names", None)  # of Arrow
    return names if isinstance(names, list) else list(frame.columns)


#: roles of columns of a table, by what is given beside the rows
_ROLES = {
    "y": "target", "sample_weight": "weight", "offset": "offset", "successes": "successes",
    "trials": "trials", "clusters": "group",
}  # fmt: skip


def _with_labels(X: Any, beside: dict[str, Any], reference_level: str | None) -> Any:
    """Return a source of the rows with their labels, weights and offsets, given by name."""
    import pyarrow as pa

    from linsep.sources.tables.frames import to_arrow

    roles: dict[str, str] = {}
    table = to_arrow(X)
    beside |= {"offset": check_offset(beside.get("offset"), table.num_rows)}
    for called, values in beside.items():
        if values is None:
            continue
        given, role = np.asarray(values), _ROLES[called]
        if called == "trials" and given.ndim == 0:
            given = np.full(table.num_rows, given)
        if given.shape != (table.num_rows,):
            raise DataError(
                f"X has {table.num_rows} rows, but the shape of {called} is {given.shape}",
                "give one value a row",
            )
        name = _free_name(getattr(values, "name", None) or role, table.column_names)
        table, roles[role] = (
            table.append_column(name, pa.array(given.tolist(), from_pandas=True)),
            name,
        )
    return _opened(table, **{"target": None, **roles}, reference_level=reference_level)


def _free_name(name: Any, taken: list[str]) -> str:
    name = str(name)
    while name in taken:
        name += "_"
    return name


def _opened(data: Any, **how: Any) -> Source:
    # What opens files loads every format: only where one is opened.
    from linsep.sources.opening import open_source

    return open_source(data, **how)
