"""Linear regression by least squares, with what it lets one infer, as a scikit-learn estimator."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import assert_all_finite, check_is_fitted, column_or_1d, validate_data

from linsep.errors import DataError, ParameterError
from linsep.estimators._common.checking import (
    INTERCEPT,
    check_parameters,
    check_sample_weight,
    feature_names,
    features_named,
)
from linsep.estimators._common.from_source import Reading
from linsep.estimators._common.predicting import brings_labels
from linsep.estimators._common.predicting_sources import LinearPrediction, Residuals, numbers
from linsep.interrupts import held
from linsep.online.passes import StopReason
from linsep.regression.blocks import Block, Blocks
from linsep.regression.diagnostics import Assumptions, check_assumptions
from linsep.regression.inference import Bands, Inference, dependence
from linsep.regression.least_squares.result import LeastSquares
from linsep.regression.least_squares.solving import (
    EXACT_VALUES,
    EXACT_WIDTH,
    DependentFeaturesWarning,
    least_squares,
)
from linsep.regression.summary import Summary
from linsep.sources.base import Source
from linsep.sparse_rows import as_csr

INTERVALS = ("confidence", "prediction")


class LinearRegression(RegressorMixin, BaseEstimator):
    """Least squares with standard errors, tests, intervals and checks of its assumptions.

    The weights with the least sum of squared residuals, computed as the data need it: some hundred
    thousand values in up to thirty columns exactly, so that every digit is right; others by
    products in floats, refined, where these vouch for their digits, and by products of 106 bits
    where they do not. A feature that is a combination of earlier ones is left out, with a
    warning, as R's ``lm`` does it.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Learn an intercept.

    Attributes
    ----------
    coef_ : array of shape (features,)
        Zero for a feature that is left out.
    intercept_ : float
    summary_ : linsep.regression.summary.Summary
        The table: print it, or take its ``to_dict()``.
    inference_ : linsep.regression.inference.Inference
        Its numbers as arrays: ``standard_errors``, ``t``, ``p_values``, ``intervals(level)``,
        ``covariance``, ``r_squared``, ``f``, ``log_likelihood``, ``aic``, ``bic``.
    n_features_in_ : int
    feature_names_in_ : array of shape (features,), where X has names
    recipe_ : dict, where it was learnt from a source
    stop_reason_ : "interrupted" where Ctrl-C ended the reading of a source: all is of the rows
        before, and ``fit`` raised KeyboardInterrupt; else there is none
    training_deviation_ : float, where it was learnt from a source
        The standard deviation of y, which is the rms error of always saying the mean.

    Examples
    --------
    >>> from linsep import LinearRegression
    >>> model = LinearRegression().fit([[1], [2], [-1], [3], [4]], [2, 4, 0, 4, 6])
    >>> print(f"{model.coef_[0]:.5f} {model.intercept_:.5f}")
    1.16216 1.10811
    >>> print(f"{model.inference_.correlation:.5f} {model.inference_.fit.rss:.5f}")
    0.98032 0.81081
    """

    _parameters = (INTERCEPT,)
    _fitted: LeastSquares

    def __init__(self, *, fit_intercept: bool = True):
        self.fit_intercept = fit_intercept

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "LinearRegression":
        """Find the weights with the least sum of squared residuals.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), or a Source
            Read in blocks and never copied. Digits of ``numpy.longdouble`` beyond those of floats
            count where there are few rows. A source (:func:`linsep.open_source`) brings its own y
            and is read once or twice, in flat memory.
        y : array of shape (rows,)
            Numbers.
        sample_weight : array of shape (rows,), default ones
            A row of weight w has the variance sigma^2 / w. A row of weight 0 is left out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For rows, values of y or weights that cannot be learnt from; the message says which,
            where, and what to do.

        Warns
        -----
        DependentFeaturesWarning
            For features that are combinations of earlier ones.
        """
        check_parameters(self, self._parameters)
        self.__dict__.pop("stop_reason_", None)
        if brings_labels(X, y, sample_weight):
            self._fit_source(X)
        else:
            self._fit_rows(X, y, sample_weight)
        if not self._fitted.kept.all():
            said = dependence(self._fitted, feature_names(self))
            more = f" (and {len(said) - 3} more such features)" if len(said) > 3 else ""
            warnings.warn(" ".join(said[:3]) + more, DependentFeaturesWarning, stacklevel=2)
        return self

    def _fit_rows(self, X: Any, y: Any, sample_weight: Any) -> None:
        block = self._block(X, y, sample_weight, reset=True)
        self.__dict__.pop("recipe_", None)
        values = TwoValues()
        values.see(block.y)
        with features_named(self):
            fitted = least_squares(lambda: iter([block]), fit_intercept=self.fit_intercept)
        self._take(fitted, values)

    def _block(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Block:
        """Rows as least squares takes them: checked, those of weight 0 left out."""
        X = self._features(X, reset)
        y = self._targets(y, X.shape[0])
        weights = check_sample_weight(sample_weight, X.shape[0])
        if weights.size and not weights.all():
            X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
        if X.dtype == np.longdouble and (
            (X.shape[1] + 2) * X.shape[0] > EXACT_VALUES or X.shape[1] + 2 > EXACT_WIDTH
        ):
            X = X.astype(np.float64)
        y = y.astype(np.longdouble if X.dtype == np.longdouble else np.float64, copy=False)
        return Block(X, y, weights if weights.size else None)

    def _features(self, X: Any, reset: bool) -> Any:
        kinds = (np.float64, np.float32, np.longdouble)
        return validate_data(self, as_csr(X), accept_sparse="csr", dtype=kinds, reset=reset)

    def _targets(self, y: Any, n_rows: int) -> np.ndarray:
        """y as one finite number a row."""
        if y is None:
            raise ValueError(
                "This LinearRegression estimator requires y to be passed, but the target y is None."
            )
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] > 1:
            raise ValueError(
                f"y has {y.shape[1]} columns: give one number a row, and fit a regression for "
                "each column."
            )
        y = column_or_1d(y, warn=True)
        if y.dtype.kind not in "biuf":
            try:
                y = y.astype(np.float64)
            except (TypeError, ValueError):
                raise ValueError(
                    "y has values that are no numbers: a regression needs one number a row, and "
                    "classes are for a classifier."
                ) from None
        assert_all_finite(y, input_name="y")
        if y.size != n_rows:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {n_rows} "
                f"rows, y has {y.size}."
            )
        return y

    def _fit_source(self, source: Source) -> None:
        values, reading = TwoValues(), Reading()
        with held():
            blocks = source_blocks(source, values, reading)
            fitted = least_squares(blocks, fit_intercept=self.fit_intercept, reread=False)
            self._take(fitted, values)
            self.training_deviation_ = values.deviation
            self.n_features_in_, self.recipe_ = fitted.coef.size, source.recipe()
            self.__dict__.pop("feature_names_in_", None)
            if source.feature_names:
                self.feature_names_in_ = np.array(source.feature_names, dtype=object)
            if reading.interrupted:
                reading.tell(self, source.name)

    def _take(self, fitted: LeastSquares, values: "TwoValues") -> None:
        self._fitted, self._two_values = fitted, values.both()
        self.coef_, self.intercept_ = fitted.coef, fitted.intercept

    @property
    def inference_(self) -> Inference:
        """Standard errors, tests, intervals, likelihood of the last fit."""
        check_is_fitted(self)
        return Inference(self._fitted)

    @property
    def summary_(self) -> Summary:
        """The table of the last fit."""
        check_is_fitted(self)
        notes = []
        if getattr(self, "stop_reason_", None) == StopReason.INTERRUPTED:
            notes.append(
                f"The reading was interrupted: these are the first {self._fitted.n_rows:,} rows."
            )
        if self._two_values is not None:
            low, high = self._two_values
            notes.append(
                f"y has only two values, {low:g} and {high:g}: their probabilities are for "
                "LogisticRegression, since residuals of two values are neither normal nor of one "
                "variance."
            )
        target = getattr(self, "recipe_", {}).get("target") or ""
        return self.inference_.summary(feature_names(self), notes, target)

    def predict(self, X: Any, interval: str | None = None, level: float = 0.95) -> Any:
        """What y is expected to be, and between which values.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), or a Source
        interval : None, "confidence" or "prediction"
            For the mean of all rows with these features, or for the y of one new row of weight 1.
        level : float, default=0.95
            Share of such intervals that hold it, between 0 and 1.

        Returns
        -------
        array of shape (rows,), or with an interval
            :class:`linsep.regression.inference.Bands`: arrays ``prediction``, ``low``, ``high``,
            NaN where no row was left to estimate the variance from.
        """
        check_is_fitted(self)
        if interval is not None and interval not in INTERVALS:
            raise ParameterError(
                f"interval is {interval!r}: choose None, 'confidence' or 'prediction'."
            )
        if not 0 < level < 1:
            raise ParameterError(f"level is {level!r}: give a share between 0 and 1, such as 0.95.")
        if isinstance(X, Source):
            parts = list(self._prediction(X).bands(interval, level))
        else:
            X = self._features(X, reset=False)
            parts = [
                self._predict(X[first : first + 8192], interval, level)
                for first in range(0, X.shape[0], 8192)
            ]
        if interval is None:
            return np.concatenate(parts)
        return Bands(*map(np.concatenate, zip(*parts, strict=True)))

    def _predict(self, X: Any, interval: str | None, level: float) -> Any:
        more = self.coef_.size - X.shape[1]  # rows of a sparse source may be narrower
        if more:
            X = sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], self.coef_.size))
        predicted = self._fitted.predicted(X)
        if interval is None:
            return predicted
        return self.inference_.bands(X, predicted, interval, level)

    def _prediction(self, source: Source) -> LinearPrediction:
        """The rows of a source as this model sees them."""
        return LinearPrediction(self, source)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R^2 of the predictions: 1 less their squared errors over those of the mean.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), or a Source, which brings its own y
        y : array of shape (rows,)
        sample_weight : array of shape (rows,), default ones
        """
        if not brings_labels(X, y, sample_weight):
            return float(RegressorMixin.score(self, X, y, sample_weight))
        check_is_fitted(self)
        return self._prediction(X).residuals().r_squared

    def assumptions(self, X: Any, y: Any, sample_weight: Any = None) -> Assumptions:
        """What the rows of the fit say for and against the assumptions of the tests.

        Parameters
        ----------
        X, y, sample_weight : those of the last fit, in their order

        Returns
        -------
        linsep.regression.diagnostics.Assumptions
            Print it; its numbers are attributes.
        """
        check_is_fitted(self)
        block = self._block(X, y, sample_weight, reset=False)
        if block.y.size != self._fitted.n_rows:
            raise ValueError(
                f"The model was fitted to {self._fitted.n_rows:,} rows of positive weight, and "
                f"these are {block.y.size:,}: give those of the fit."
            )
        return check_assumptions(self._fitted, block)


class TwoValues:
    """Whether y has two values only, and how far it is from its mean, seen block by block."""

    def __init__(self) -> None:
        self._values: np.ndarray | None = np.zeros(0)
        self._about_mean = Residuals()

    @property
    def deviation(self) -> float:
        """The standard deviation of y: the rms error of always saying the mean."""
        return float(np.sqrt(self._about_mean.spread / max(1, self._about_mean.rows)))

    def see(self, y: np.ndarray) -> None:
        """Some more values; all of them may be seen again."""
        self._about_mean = self._about_mean.and_more(y, y)
        if self._values is None or not y.size:
            return
        both = np.unique(np.concatenate([self._values, [y.min(), y.max()]]))
        known = (y == both[0]) | (y == both[-1])
        self._values = both if both.size < 3 and known.all() else None

    def both(self) -> tuple[float, float] | None:
        """The two, or None."""
        values = self._values
        return None if values is None or values.size != 2 else (float(values[0]), float(values[1]))


def source_blocks(source: Source, values: TwoValues, reading: Reading) -> Blocks:
    """The rows of a source, as wide in the end as it has features; ``values`` sees every y."""

    def walk() -> Iterator[Block]:
        for batch in reading.of(iter(source.batches())):
            y = numbers(batch.y, source, batch.first)
            values.see(y)
            reading.count(y.size)
            yield Block(batch.X, y, None)
        if not reading.rows:
            raise DataError(f"{source.name} has no rows to learn from.")

    return walk
