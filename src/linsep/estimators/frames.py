"""What estimators are given: arrays, or sources, which files and frames with text become."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import wraps
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

import linsep
from linsep.batches import Batch, join, joined
from linsep.errors import ArgumentError, DataError, ParameterError, warn_caller
from linsep.estimators import labels
from linsep.estimators.fitted_state import Method
from linsep.sources.base import Source, is_frame
from linsep.validation import checks
from linsep.words import counted

#: roles of columns of a table, by what is given beside the rows
_ROLES = {
    "y": "target", "sample_weight": "weight", "offset": "offset", "successes": "successes",
    "trials": "trials", "clusters": "group", "groups": "group",
}  # fmt: skip


def _opened(data: Any, **how: Any) -> Source:
    from linsep.sources.opening import open_source  # which loads every format

    return open_source(data, **how)


def source_of(X: Any, *, offsets: bool = False, **beside: Any) -> Source | None:
    """Return a source as it is, None for other rows; DataError if what a source holds is given
    beside it, or if it has offsets but not ``offsets``.
    """
    checks.check_beside(X, **beside)
    if not isinstance(X, Source):
        return None
    for name, values in beside.items():
        if values is not None:
            raise DataError(
                f"A source has its own labels, weights, offsets and counts: omit {name}, and name "
                "its column when the source is opened.", code="conflict", option=name,
            )  # fmt: skip
    if X.offsets and not offsets:
        raise labels.unknown_offsets(X.name)
    return X


def to_learn(
    model: Any, X: Any, y: Any, sample_weight: Any = None, *, reference: bool = False,
    offsets: bool = False, **others: Any,
) -> Source | None:  # fmt: skip
    """Return the rows with all that is given beside them as a source, if they are a source or a
    data frame with text or categorical columns; None for other rows.
    """
    if isinstance(X, str | Path):
        how = f"call linsep.fit({str(X)!r}, target=...)"
        raise ArgumentError(f"fit takes rows, not a file name: for a file, {how}.")
    beside = {"y": y, "sample_weight": sample_weight, **others}
    found = encoded(X, reference, **beside)
    return source_of(X, offsets=offsets, **beside) if found is None else found


def encoded(X: Any, reference: bool = False, **beside: Any) -> Source | None:
    """Return a data frame with text or categorical columns as a source, together with what is given
    beside it; None for other rows. With ``reference`` the first level of each text column has no
    feature: all indicators of a column add up to the intercept.
    """
    if type(X) is np.ndarray or not is_frame(X):
        return None
    checks.check_names("the table", names := checks.column_names(X))
    if not names:
        raise DataError("X has no columns", "pass at least one feature", code="no-columns")
    import narwhals.stable.v2 as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    text = (nw.String, nw.Categorical, nw.Enum)
    if isinstance(frame, nw.DataFrame) and not any(kind in text for kind in frame.schema.dtypes()):
        return None
    checks.check_beside(X, **beside)
    from linsep.sources.tables.frames import to_arrow

    table = to_arrow(X)
    beside["offset"] = labels.check_offset(beside.get("offset"), table.num_rows)
    table, roles = with_columns(table, beside)
    return _opened(
        table, **{"target": None} | roles, reference_level="first" if reference else None
    )


def with_columns(
    table: Any, beside: dict[str, Any], named: Mapping[str, str | None] = MappingProxyType({})
) -> tuple[Any, dict[str, str]]:
    """Return an Arrow table with what is given beside its rows as more columns, and their names by
    role, those ``named``, which replace columns, or new ones.
    """
    import pyarrow as pa

    roles: dict[str, str] = {}
    for called, values in beside.items():
        if values is None:
            continue
        column = called == "y" and np.ndim(values) == 2
        given, role = checks.labels_of(values) if column else np.asarray(values), _ROLES[called]
        given = given if given.ndim else np.full(table.num_rows, given)
        if given.shape != (table.num_rows,):
            raise DataError(
                f"X has {table.num_rows} rows, but {called} has shape {given.shape}",
                "pass one value per row", code="shape", option=called,
            )  # fmt: skip
        name = named.get(role) or str(getattr(values, "name", None) or role)
        if name == named.get(role):
            table = table.drop_columns({name} & {*table.column_names})
        while name in table.column_names:
            name += "_"
        table = table.append_column(name, pa.array(given.tolist(), from_pandas=True))
        roles[role] = name
    return table, roles


def describe(model: Any, read: Any, n_features: int) -> None:
    """Set what a model knows of the features of a source, or stream, that was read."""
    names = read.feature_names or []
    model.n_features_in_, model.recipe_ = max(n_features, len(names)), read.recipe()
    model.__dict__.pop("feature_names_in_", None)
    if names:
        model.feature_names_in_ = np.array(names, dtype=object)


def with_features(X: Any, y: Any = None) -> tuple[Any, Any]:
    """Return rows and labels as they are or, as :func:`encoded`, a source of both, and None."""
    source = encoded(X, y=y)
    return (X, y) if source is None else (source, None)


def in_memory(X: Any, y: Any = None, sample_weight: Any = None) -> tuple[Any, ...]:
    """Return rows, labels, weights and None, or as :func:`encoded` with features and names."""
    if (source := encoded(X, y=y, sample_weight=sample_weight)) is None:
        return X, y, sample_weight, None
    read = joined(list(source.batches()))
    return read.X, read.y, read.weights, source.feature_names


def adds_rows(partial_fit: Method) -> Method:
    """Return a method ``partial_fit`` that also takes a batch of a source, whose rows are features,
    which a model that makes them from columns demands.
    """

    @wraps(partial_fit)
    def added(
        self: Any, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Any:
        if not isinstance(X, Batch):
            how = "linsep.open_source(data, recipe=model.recipe_).batches()"
            checks.check_prepared(self, f"partial_fit needs batches: {how}")
            return partial_fit(self, X, y, classes, sample_weight)
        weights = X.weights if sample_weight is None else sample_weight
        with checks.of_features():
            return partial_fit(self, X.X, X.y if y is None else y, classes, weights)

    return cast(Method, added)


def _recipe_of(model: Any, X: Any) -> dict[str, Any]:
    """Return the recipe by which a model reads a file or a data frame; empty for other rows."""
    recipe = getattr(model, "recipe_", None) or {"format": "arrays"}
    file = isinstance(X, str | Path) and recipe["format"] != "arrays"
    table = recipe["format"] == "table" and is_frame(X) and not checks.takes_features(model)
    return recipe if file or table else {}


def to_score(
    model: Any, X: Any, y: Any, sample_weight: Any = None, offset: Any = None
) -> Source | None:
    """Return rows and their labels as a source, if they are a source or, without separate labels, a
    data frame or file that holds both; None for other rows.
    """
    recipe = {} if y is not None else _recipe_of(model, X)
    label = recipe.get("target") or recipe.get("successes")
    if recipe and (not is_frame(X) or label in checks.column_names(X)):
        X = _opened(X, recipe=recipe)
    beside = {"y": y, "sample_weight": sample_weight, "offset": offset}
    return source_of(X, offsets=labels.has_offset(model), **beside)


def to_predict(
    model: Any, X: Any, missing: str | None = None, offset: Any = None, weighted: bool = False
) -> Any:
    """Return rows as they are or, for a data frame or file with the training columns, a source that
    converts them to features; with ``missing="skip"`` always a source. It is ``weighted`` by the
    weight column, if the model and the rows have one.
    """
    source_of(X, offsets=True, offset=offset)
    if missing not in (None, "skip", "error"):
        why = f"missing is {missing!r}: choose 'skip' or 'error', or omit it."
        raise ParameterError(why, option="missing", value=missing)
    recipe, names = _recipe_of(model, X), getattr(model, "feature_names_in_", ())
    made = ("scale", "converted", "formula", "products")
    picked = recipe.get("missing") == "error" and not any(map(recipe.get, made))
    if not recipe or (is_frame(X) and picked and checks.column_names(X) == list(names)):
        return _with_gaps(model, X, offset) if missing == "skip" else X
    if missing == "error":  # also where the model fills gaps
        recipe = recipe | {"missing": missing}
    if offset is not None and isinstance(X, str | Path):
        why = f"{X} is a file, which has its own column of offsets: omit offset."
        raise DataError(why, code="conflict", option="offset", path=X)
    if offset is not None:
        import pyarrow as pa

        from linsep.sources.tables.frames import to_arrow

        table, name = to_arrow(X), model.recipe_["offset"]
        values = pa.array(labels.offset_to_predict(model, offset, table.num_rows))
        X = table.drop_columns({name} & {*table.column_names}).append_column(name, values)
    with_label = not is_frame(X) or recipe.get("target") in checks.column_names(X)
    labeled = (bool(recipe.get("weight")) or None) if weighted and with_label else False
    return _opened(X, recipe=recipe, labeled=labeled, missing=missing or "error")


def _with_gaps(model: Any, X: Any, offset: Any) -> Source:
    """Return rows of features as a source in which rows with NaN get no prediction."""
    if isinstance(X, Source):
        why = 'The rows are a source: open it with missing="skip" instead.'
        raise ParameterError(why, code="conflict", option="missing")
    checks.check_prepared(model)
    from linsep.sources.arrays import ArraySource

    X = checks.rows_to_fit(X, model, labels.FLOATS, "C", checked=False, reset=False).copy()
    gaps, values = X != X, X.data if sp.issparse(X) else X  # noqa: PLR0124
    values[np.isnan(values)] = 0
    known = labels.offset_to_predict(model, offset, X.shape[0])
    return ArraySource(X, unanswered=np.ravel(gaps.sum(axis=1)) > 0, offset=known)


class TakesFrames:
    """Mixin of estimators for functions that read their weights."""

    n_features_in_: int

    def features_of(self, X: Any) -> Any:
        """Return rows as they are, or the features of a data frame with the training columns."""
        source = to_predict(self, X)
        if not isinstance(source, Source) or source is X:
            return X
        parts = [batch.X for batch in source.batches()]
        warn_of_unknown(source, source.unseen)
        return join(parts, max(part.shape[1] for part in parts))

    def report(self) -> Any:
        """Return what ``linsep fit`` prints of the model: ``print`` it, or call ``to_dict()``."""
        return resolve_name(linsep.TOOLS["report"])(self)

    @contextmanager
    def fitted_rows(
        self, X: Any, y: Any, sample_weight: Any, offset: Any = None
    ) -> Iterator[tuple[Any, ...]]:
        """Return the features, labels, weights and offsets of the training rows, and a function of
        their indices that returns their numbers, from 0, in the data as given, and their labels in
        its index (of pandas, else the numbers).
        """
        source, index = to_score(self, X, y, sample_weight, offset), checks.row_labels(X)
        numbers = None
        if source is None:
            rows = self.features_of(X), y, sample_weight, offset
        else:
            batches, width = list(source.batches()), self.n_features_in_
            read = joined(batches, max(width, *(batch.X.shape[1] for batch in batches)))
            warn_of_unknown(source, source.unseen)
            rows = read.X[:, :width], read.y, read.weights, read.offset
            numbers = source.numbers(read.size)

        def named(chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            found = chosen if numbers is None else numbers[chosen]
            return found, found if index is None else index[found]

        with nullcontext() if rows[0] is X else checks.of_features():
            yield *rows, named


def unknown_text(unknown: dict[str, int], recipe: dict[str, Any]) -> str:
    """Return the numbers, by column, of values that are not in the training data, as text."""
    parts = [
        f"{counted(n, 'value')} of " + ("features" if name == "features" else f"column '{name}'")
        for name, n in unknown.items()
    ]
    levels = recipe.get("reference", {})
    known = ", ".join(f"{name}={levels[name]}" for name in unknown if name in levels)
    how = f"as the reference {known}" if known else "without them"
    return f"{', '.join(parts)} not seen in training; predicted {how}"


def warn_of_unknown(source: Source, unknown: dict[str, int]) -> None:
    if unknown and source.warns:
        warn_caller(f"{unknown_text(unknown, source.recipe())}.")
