"""Columns of a table, and the learner of their features, as a scikit-learn pipeline."""

from functools import wraps
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from linsep.batches import Batch, join
from linsep.errors import ArgumentError
from linsep.estimators.frames import warn_of_unknown, with_columns
from linsep.sources.base import Source, is_frame
from linsep.sources.feature_names import FeatureNames
from linsep.sources.formats import FILLED
from linsep.sources.opening import open_source
from linsep.sources.tables.columns import word_counters
from linsep.sources.tables.formulas import parsed
from linsep.sources.tables.frames import to_arrow
from linsep.sources.tables.reading_options import DEFAULTS, OF_CSV
from linsep.validation.checks import column_names, of_features

#: options of files, which frames have not
OF_FILES = {"format", *OF_CSV} - {"null_values"}
#: the parameters of an encoder with their defaults
OPTIONS = {"format": None} | DEFAULTS


class TableEncoder(TransformerMixin, BaseEstimator):
    """Columns of a table as features: the first step of a model of :func:`linsep.fit`.

    Its parameters are the options of :func:`linsep.open_source` for tables and CSV files. Columns
    that they name as ``target``, ``weight``, ``group``, ``offset``, ``successes`` and ``trials``
    are no features. As a step of other pipelines, it drops no rows: where ``missing`` is "error" or
    "drop", a missing value is an error.

    Attributes
    ----------
    recipe_ : dict
        How columns become features, as plain JSON.
    feature_names_in_ : array of the names of the columns
    n_features_in_ : their number

    Raises
    ------
    DataError
        For columns and values that cannot be features, as in :func:`linsep.open_source`.

    Examples
    --------
    >>> import pandas as pd
    >>> from linsep import TableEncoder
    >>> table = pd.DataFrame({"size": [1.0, 3.0], "color": ["red", "blue"]})
    >>> encoder = TableEncoder(scale="standard").fit(table)
    >>> encoder.transform(table).toarray().tolist()
    [[-1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'color=blue', 'color=red']
    """

    def __init__(self, **options: Any):
        if unknown := sorted(options.keys() - OPTIONS.keys()):
            raise ArgumentError(f"TableEncoder has no parameter {unknown[0]!r}.")
        self.__dict__.update(OPTIONS | options)

    __init__.__signature__ = Signature([  # type: ignore[attr-defined]
        Parameter("self", Parameter.POSITIONAL_ONLY),
        *(Parameter(name, Parameter.KEYWORD_ONLY, default=value)
          for name, value in OPTIONS.items()),
    ])  # fmt: skip

    def open(self, X: Any, y: Any = None, **beside: Any) -> Source:
        """Return the rows of a frame, an array or files as a source, with what is given beside
        them: y, ``sample_weight`` and ``offset``, arrays of shape (rows,).
        """
        if isinstance(X, Source):
            return X
        options = self.get_params(deep=False)
        if are_files(X):
            return open_source(X, **options)
        options = {name: value for name, value in options.items() if name not in OF_FILES}
        X, label, beside = X if is_frame(X) else self._as_table(X), self._label, {"y": y, **beside}
        if any(values is not None for values in beside.values()):
            named = {"target": label, "weight": self.weight, "offset": self.offset}
            X, roles = with_columns(to_arrow(X), beside, named)
            label = roles.pop("target", label)
            options |= roles | ({} if self.formula else {"target": label})
        return open_source(X, labeled=bool({label, self.successes} & {*column_names(X)}), **options)

    @property
    def _label(self) -> str | None:
        return parsed(self.formula, ["other"]).target if self.formula else self.target

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn levels, means and deviations of the columns of X.

        Parameters
        ----------
        X : data frame, Arrow table or array of shape (rows, columns)
        y : labels, which only rows with a missing label depend on
        """
        source = self.open(X, y if self._label else None)
        for _ in source.batches():  # which checks all values
            pass
        return self.learned(source)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.input_tags.allow_nan = self.missing in FILLED
        return tags

    def learned(self, source: Any) -> Self:
        """Take the recipe of a source that :meth:`open` returned."""
        recipe = source.recipe()
        beside = {recipe.get(role) for role in ("weight", "offset") if getattr(self, role) is None}
        beside.add(recipe.get("target"))
        return self._fitted(recipe, [name for name in source.column_names if name not in beside])

    def _fitted(self, recipe: dict[str, Any], names: list[str]) -> Self:
        self.recipe_, self.n_features_in_ = recipe, len(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        return self

    def to_json(self) -> dict[str, Any]:
        """Return the parameters that are not at their defaults, and the names of the columns."""
        given = self.get_params(deep=False).items()
        options = {name: value for name, value in given if value != OPTIONS[name]}
        if options.get("text"):
            options["text"] = {n: c.parameters for n, c in word_counters(self.text).items()}
        return {"options": options, "names": self.feature_names_in_.tolist()}

    @classmethod
    def from_json(cls, stored: dict[str, Any], recipe: dict[str, Any]) -> Self:
        """Return the encoder that :meth:`to_json` described; ValueError, KeyError or TypeError if
        it is damaged.
        """
        options = dict(stored["options"])
        if text := options.get("text"):
            from linsep.sources.text import Text  # which compiles loops

            options["text"] = {name: Text(**how) for name, how in text.items()}
        return cls(**options)._fitted(recipe, [str(name) for name in stored["names"]])

    def transform(self, X: Any) -> Any:
        """Return the features of rows with the columns of the fit, in any order, or of an array
        with them in their order: an array of shape (rows, features), CSR if there is text.
        """
        check_is_fitted(self)
        source = open_source(self.table(X), recipe=self.recipe_, labeled=False)
        parts = [batch.X for batch in source.batches()]
        warn_of_unknown(source, source.unseen)
        return join(parts, max(part.shape[1] for part in parts))

    def table(self, X: Any) -> Any:
        """Return a frame or files as they are, an array with the names of the columns."""
        if is_frame(X) or isinstance(X, Source) or are_files(X):
            return X
        with of_features():  # arrays have no names
            return self._as_table(X, self.feature_names_in_, reset=False)

    def _as_table(self, X: Any, names: Any = None, **how: Any) -> pa.Table:
        finite = "allow-nan" if self.missing in FILLED else True
        X = validate_data(self, X, dtype=None, ensure_all_finite=finite, **how)
        columns = (column.tolist() if X.dtype == object else column for column in X.T)
        arrays = [pa.array(column, from_pandas=True) for column in columns]
        names = [f"x{k}" for k in range(X.shape[1])] if names is None else map(str, names)
        return pa.Table.from_arrays(arrays, list(names))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the features, as text."""
        check_is_fitted(self)
        return np.array(FeatureNames(self.recipe_).all()[0], dtype=object)


def are_files(X: Any) -> bool:
    """Return whether X is the name of a file, or a list of names."""
    first = X[0] if isinstance(X, list | tuple) and X else X
    return isinstance(first, str | Path)


def _of_learner(name: str) -> Any:
    def method(self: "TablePipeline", X: Any, *args: Any, **given: Any) -> Any:
        return self.__getattr__(name)(self[0].table(X), *args, **given)

    method.__name__ = name
    method.__doc__ = f"``{name}`` of the learner, of frames, files, or arrays of all columns."
    return available_if(lambda self: hasattr(self.learner, name))(method)


class TablePipeline(Pipeline):
    """A :class:`TableEncoder` and a learner: what :func:`linsep.fit` returns for tables.

    It is fitted to frames, arrays and files, which are read batch by batch, and has the attributes
    and methods of the learner (``coef_``, ``summary()``, ``plot()``), whose features are those that
    the encoder makes. Clones encode again, so cross-validation in scikit-learn refits all that is
    learned of columns; a threshold and a calibration belong to the fitted model, not to clones.

    Parameters
    ----------
    steps : list of ("columns", TableEncoder) and ("learner", estimator)

    Examples
    --------
    >>> import linsep
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = linsep.fit(X.assign(kind=y), target="kind")
    >>> bool(cross_val_score(model, X, y).mean() > 0.95)
    True
    """

    #: what :func:`linsep.steps.learner_of` knows it by
    of_table = True

    @classmethod
    def of(cls, learner: Any, source: Any) -> "TablePipeline":
        """Return the pipeline of a learner that was fitted to a source of a table."""
        encoder = TableEncoder(**source.given_options).learned(source)
        return cls([("columns", encoder), ("learner", learner)]).joined()

    def joined(self) -> Self:
        """Let rows in memory be features for the fitted learner by itself."""
        self.learner._is_step = True
        return self

    @property
    def learner(self) -> Any:
        """The fitted estimator, whose features are what the encoder makes."""
        return self.steps[-1][1]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "steps" not in vars(self):
            raise AttributeError(name)
        found = getattr(self.learner, name)
        if not callable(found):
            return found

        @wraps(found)
        def of_tables(*args: Any, **given: Any) -> Any:
            with of_features(False):
                return found(*args, **given)

        return of_tables

    def fit(self, X: Any, y: Any = None, **beside: Any) -> Self:
        """Fit the encoder and the learner.

        Parameters
        ----------
        X : data frame, Arrow table, array of shape (rows, columns), or files
        y : labels of shape (rows,); None if they are a column of X, see ``columns__target``
        **beside : ``sample_weight`` and ``offset`` of shape (rows,)
        """
        source = self[0].open(X, y, **beside)
        self.learner.fit(source)
        self[0].learned(source)
        return self.joined()

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the learner's features, of shape (features,)."""
        return self[0].get_feature_names_out()

    @available_if(lambda self: hasattr(self.learner, "partial_fit"))
    def partial_fit(self, X: Any, y: Any = None, **given: Any) -> Self:
        """Learn more rows, whose columns become features as before, or a batch of a source."""
        batch = X if isinstance(X, Batch) else Batch(self[0].transform(X), None)
        self.learner.partial_fit(batch, y, **given)
        return self


for _name in ("predict", "predict_proba", "predict_log_proba", "decision_function", "score"):
    setattr(TablePipeline, _name, _of_learner(_name))
