"""Linear regression by least squares with statistical inference, as a scikit-learn estimator."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from linsep._system.interrupts import interrupts_deferred
from linsep._system.threads import one_blas_thread
from linsep.batches import Batch
from linsep.drawing import display
from linsep.errors import DataError, ParameterError, hint, warn_caller
from linsep.estimators import fitted_state, labels
from linsep.estimators.fitted_state import Array, as_it_is, count, flag, number, restored
from linsep.estimators.frames import describe, to_learn, to_predict, to_score
from linsep.estimators.reading import Reading, StopReason
from linsep.inference import robust
from linsep.inference.results import Bands, check_level, stored_signature
from linsep.lanes import Lanes
from linsep.linear.inference import LinearResults, dependence
from linsep.linear.least_squares import DependentFeaturesWarning, least_squares
from linsep.linear.predictions import LinearPrediction, numbers, rows_of_weight, source_blocks
from linsep.linear.several import SeveralTargets, columns_of, one_target
from linsep.linear.solution import LeastSquares
from linsep.parameters import (
    INTERVALS,
    HasParameters,
    check_parameters,
    fitted_parameter,
    parameter,
)
from linsep.sources.base import Source
from linsep.validation.checks import check_prepared, rows_to_fit

if TYPE_CHECKING:
    from linsep.inference.diagnostics import Assumptions, Diagnostics


#: what a model file holds: fields of LeastSquares (of ``combinations`` a row for each feature left
#: out), the root of a robust covariance and its number of clusters, the name of y, whether Ctrl-C
#: ended the reading, and whether there was an offset
STATE: dict[str, Any] = {
    "coef": Array("features"),
    "kept": Array("features", np.bool_),
    "means": Array("features"),
    "spread": Array("features"),
    "means_rest": Array("1 + features"),
    "root": Array("rank, 1 + features"),
    "combinations": Array("dependent, 1 + features"),
    "robust": Array("rank, rank", optional=True),
    "two_values": Array("2", optional=True),
    **{
        f"fit.{name}": number
        for name in ("intercept", "mean_y", "residual_norm", "y_norm", "explained_norm",
                     "total_weight", "log_weights", "l2")
    },
    "fit.perfect": flag,
    "fit.fit_intercept": flag,
    "fit.n_rows": partial(count, least=1),
    "target": as_it_is,
    "interrupted": flag,
    "signature": stored_signature,
    "offset": flag,
    "clusters": as_it_is,
}  # fmt: skip


class LinearRegression(LinearResults, RegressorMixin, HasParameters, BaseEstimator):
    """Least squares regression with standard errors, tests, intervals and tests of assumptions.

    Solved by a QR factorization of the rows, refined where features are correlated. A feature that
    is a linear combination of earlier ones is left out with a warning, as in R's ``lm``.

    Parameters
    ----------
    l2 : float, default=0.0
        Ridge penalty (scikit-learn's alpha): minimize the sum of squared residuals + l2 times that
        of squared coefficients, without the intercept. There are then no standard errors, tests or
        intervals; degrees of freedom are effective: the trace of the hat matrix.
    fit_intercept : bool, default=True
        Learn an intercept.
    weight_type : "precision" or "frequency", default="precision"
        Meaning of a row weight w: the variance of the row is sigma^2 / w, or it stands for w equal
        rows. The number of rows is then their count, or the sum of the weights.
    covariance : {"HC0", "HC1", "HC2", "HC3", "CR1"} or None, default=None
        Covariance of the estimates, from which standard errors, tests, intervals and F follow.
        None: of rows of equal variance. "HC0" to "HC3": rows may differ in variance; the squared
        residuals are multiplied by 1, n / (n - k), 1 / (1 - h) or 1 / (1 - h)^2, for n rows, k
        estimates and leverages h. "CR1": rows may also depend on each other within clusters; the
        sum over G clusters is multiplied by G / (G - 1) (n - 1) / (n - k), and t has G - 1 degrees
        of freedom.

    Attributes
    ----------
    coef_ : array of shape (features,) or (targets, features); zero for features left out
    intercept_ : float, or array of shape (targets,)
    targets_ : list of str, for several targets: the column names of y, or y0, y1, ...
    equation_ : the fit as an equation in the features; print it
    params_, standard_errors_, statistics_, p_values_ : arrays of shape (parameters,)
        The intercept first, if there is one; the statistics are t. NaN for features left out.
        With names of features ``params_`` is a Series or a frame of pandas, if that is installed.
    covariance_ : array or frame of shape (parameters, parameters)
    residuals_ : array of shape (rows,), after a fit of one target in memory
    param_names_ : list of str
    r_squared_, adjusted_r_squared_, f_statistic_, f_p_value_ : float
    residual_variance_, residual_error_, rss_, df_residual_, df_model_, n_rows_ : float or int
    log_likelihood_, aic_, bic_ : float
    solution_ : linsep.linear.solution.LeastSquares
    correlation_, moments_ : Pearson's r and moments of y and a single feature
    n_features_in_ : int
    feature_names_in_ : array of shape (features,), if X has names
    training_deviation_ : float, the standard deviation of y
    recipe_ : dict, if fitted to a source
    stop_reason_ : "interrupted" if Ctrl-C ended the reading of a source: the model is fitted to the
        rows read so far, and ``fit`` raised KeyboardInterrupt; else not set

    References
    ----------
    H. White, Econometrica 48 (1980) 817-838. J. MacKinnon and H. White, Journal of Econometrics 29
    (1985) 305-325. K.-Y. Liang and S. Zeger, Biometrika 73 (1986) 13-22.

    Examples
    --------
    >>> from linsep import LinearRegression
    >>> model = LinearRegression().fit([[1], [2], [-1], [3], [4]], [2, 4, 0, 4, 6])
    >>> print(f"{model.coef_[0]:.5f} {model.intercept_:.5f}")
    1.16216 1.10811
    >>> print(f"{model.correlation_:.5f} {model.rss_:.5f}")
    0.98032 0.81081
    """

    l2: float = parameter(default=0.0, at_least=0.0, help="penalty on squared coefficients")
    fit_intercept: bool = parameter(default=True, help="fit an intercept")
    weight_type: Literal["precision", "frequency"] = parameter(
        default="precision",
        help="meaning of weights: inverse variances, or numbers of equal rows",
    )
    covariance: robust.OfLinear | None = parameter(default=None, help=robust.HELP)

    EXCLUDING = (("covariance", "l2", None),)

    _with_offset = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, clusters: Any = None,
        offset: Any = None,
    ) -> Self:  # fmt: skip
        """Fit the weights by least squares.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), or a Source
            A source (:func:`linsep.open_source`) has its own y and is read once or twice, in
            constant memory.
        y : array of shape (rows,) or (rows, targets)
            With several targets, ``coef_``, ``params_`` and what follows from them have one row,
            and predictions one column, per target.
        sample_weight : array of shape (rows,), default ones; see ``weight_type``
        clusters : array of shape (rows,), labels of any type, default None
            For ``covariance="CR1"``; ``group=`` of linsep.fit and open_source names their column.
        offset : array of shape (rows,), or a number; default None
            A known part of the prediction of each row. R^2 and F refer to y - offset (those of R's
            ``lm`` to fits with the offset).

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If rows, values of y, weights or offsets are invalid.

        Warns
        -----
        DependentFeaturesWarning
            If features are linear combinations of earlier ones.
        """
        check_parameters(self)
        names = "feature_names_in_ recipe_ stop_reason_ targets_ _several _with_offset _residuals"
        for name in names.split():
            self.__dict__.pop(name, None)
        columns = columns_of(y)
        if self.covariance is not None or clusters is not None:
            robust.check_clusters(self, X, clusters, sample_weight, several=columns is not None)
            clusters = None if clusters is None else robust.cluster_numbers(X, clusters)
        if columns is not None:
            labels.refuse_offset(offset is not None, "y has several columns")
            return self._take_several(SeveralTargets.fitted(self, X, columns, sample_weight))
        beside = {"offset": offset, "clusters": clusters}
        source = to_learn(
            self, X, y, sample_weight, reference=self.fit_intercept, offsets=True, **beside
        )
        if source is not None:
            self._fit_source(source)
        else:
            self._fit_rows(X, y, sample_weight, **beside)
        self._warn_of_dependence()
        return self

    def _take_several(self, several: SeveralTargets) -> Self:
        kept = ("n_features_in_", "feature_names_in_", "recipe_")
        self.__dict__.update({n: x for n, x in vars(several.first).items() if n in kept})
        self.__dict__.pop("_fitted", None)
        self._several, self.targets_ = several, several.names
        self._learned_with = self.get_params(deep=False)
        self.coef_, self.intercept_ = several.each("coef_"), several.each("intercept_")
        return self

    def _warn_of_dependence(self) -> None:
        if not self._fitted.kept.all():
            first, *more = dependence(self._fitted, labels.words_and_signs(self)[0])
            note = f"{first} (and {len(more)} more, in summary())" if more else first
            warn_caller(DependentFeaturesWarning(note))

    def _fit_rows(self, X: Any, y: Any, sample_weight: Any, offset: Any, clusters: Any) -> None:
        block = self._block(X, y, sample_weight, offset, reset=True)._replace(groups=clusters)
        self._with_offset = offset is not None
        with labels.features_named(self):
            self._take(Lanes(lambda: iter([block])))
        self._residuals = block.y - self._fitted.predicted(block.X)
        self._target = None if getattr(y, "name", None) is None else str(y.name)

    def _block(self, X: Any, y: Any, sample_weight: Any, offset: Any, *, reset: bool) -> Batch:
        """Return the checked rows of positive weight as a block; y is minus the offset."""
        if not reset:
            check_prepared(self)
        X, y = rows_to_fit(X, self, labels.FLOATS, reset=reset), numbers(y)
        if y.size != X.shape[0]:
            raise DataError(
                f"Found input variables with inconsistent numbers of samples: X has {X.shape[0]} "
                f"rows, y has {y.size}.", code="shape",
            )  # fmt: skip
        weights = labels.check_sample_weight(sample_weight, X.shape[0])
        known = labels.check_offset if reset else partial(labels.offset_to_predict, self)
        kind = self.weight_type if reset else fitted_parameter(self, "weight_type")
        rows = Batch(
            X, y, weights=weights if weights.size else None, offset=known(offset, X.shape[0])
        )
        return rows_of_weight(rows, kind == "frequency")

    def _fit_source(self, source: Source) -> None:
        if source.counts:
            raise DataError(
                f"{source.name} has successes and trials, which least squares does not accept",
                hint("choose another {}", learner=None), code="unsupported", path=source.name,
            )  # fmt: skip
        reading = Reading()
        with interrupts_deferred():
            self._take(Lanes(source_blocks(self, source, reading)))
            self._with_offset = source.offsets
            describe(self, source, self.coef_.size)
            reading.finish(self, source.name)

    def _take(self, lanes: Lanes) -> None:
        fitted = least_squares(lanes, fit_intercept=self.fit_intercept, l2=float(self.l2))
        whole = self.weight_type == "frequency"
        if whole:
            fitted = replace(fitted, n_rows=round(fitted.total_weight), log_weights=0.0)
        if self.covariance is not None:
            with one_blas_thread:
                work = partial(
                    robust.linear_scores, fit=fitted, name=self.covariance, frequency=whole
                )
                scores = lanes.sum(work, robust.added_scores)
            fitted.robust = robust.Robust.of(self.covariance, scores, fitted.n_rows, fitted.rank)
        self._target = None
        self._keep(fitted)

    def _keep(self, fitted: LeastSquares) -> None:
        self._fitted, self._learned_with = fitted, self.get_params(deep=False)
        self.coef_, self.intercept_ = fitted.coef, fitted.intercept

    def get_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the fitted state for a model file: arrays, and facts as plain JSON."""
        if self._several is not None:
            return self._several.get_state()
        fit, d = self._fitted, self.n_features_in_
        left_out = [fit.combinations[j] for j in sorted(fit.combinations)]
        of_fit = {
            "combinations": np.reshape(left_out, (-1, 1 + d)), "target": self._target,
            "interrupted": hasattr(self, "stop_reason_"), "offset": labels.has_offset(self),
            "robust": None if fit.robust is None else fit.robust.root,
            "clusters": None if fit.robust is None else fit.robust.clusters,
        }  # fmt: skip
        return fitted_state.state_of(STATE, vars(fit) | of_fit)

    def set_state(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        """Set what :meth:`get_state` returned; ValueError, LookupError or TypeError if damaged."""
        if "targets" in facts:
            self._take_several(SeveralTargets.of_state(self, arrays, facts))
            return
        sizes = {"rank": int(arrays["kept"].sum()) + bool(facts["fit"]["fit_intercept"])}
        sizes["dependent"] = arrays["kept"].size - int(arrays["kept"].sum())
        found = restored(STATE, arrays, facts, **sizes)
        interrupted, self._target = found.pop("interrupted"), found.pop("target")
        self._with_offset, clusters = found.pop("offset"), found.pop("clusters")
        left_out = np.flatnonzero(~found["kept"]).tolist()
        found["combinations"] = dict(zip(left_out, found["combinations"], strict=True))
        found["robust"] = robust.Robust.stored(self.covariance, found["robust"], clusters)
        self._keep(LeastSquares(**found))
        self.n_features_in_ = found["coef"].size
        if interrupted:
            self.stop_reason_ = StopReason.INTERRUPTED

    def predict(
        self, X: Any, interval: str | None = None, level: float = 0.95,
        missing: str | None = None, offset: Any = None,
    ) -> Any:  # fmt: skip
        """Predict y.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), or a Source
        interval : None, "confidence" or "prediction"
            Of the mean of y given the features, or of y of one new row of weight 1, whose variance
            is not known with a robust ``covariance``.
        level : float between 0 and 1, default=0.95
        missing : None, or "skip": predict NaN for a row with a missing value
        offset : array of shape (rows,), or a number, for a model that was fitted with an offset
            Sources, frames and files that hold the training columns have their own.

        Returns
        -------
        array of shape (rows,) or (rows, targets), or with an interval
            :class:`linsep.inference.results.Bands`: arrays ``prediction``, ``low``, ``high``,
            NaN without residual degrees of freedom, and for a perfect fit.
        """
        check_is_fitted(self)
        if interval is not None and interval not in INTERVALS:
            why = f"interval is {interval!r}: choose None, 'confidence' or 'prediction'."
            raise ParameterError(why, option="interval", value=interval)
        if interval is not None and fitted_parameter(self, "l2"):
            why, how = (
                "Intervals of predictions are not known with l2",
                hint("leave {} out", l2=None),
            )
            raise ParameterError(why, how, code="unsupported", option="l2")
        level, X = check_level(level), to_predict(self, X, missing, offset)
        if not isinstance(X, Source):
            from linsep.sources.arrays import ArraySource

            check_prepared(self)
            X = rows_to_fit(X, self, labels.FLOATS, reset=False)
            known = labels.offset_to_predict(self, offset, X.shape[0])
            X = ArraySource(X, offset=known, batch_rows=8192)
        if self._several is not None:
            return self._several.predicted(lambda one: one.predict(X, interval, level))
        parts = list(self.predictions(X).bands(interval, level))
        if interval is None:
            return np.concatenate(parts)
        return Bands(*map(np.concatenate, zip(*parts, strict=True)))

    def predictions(self, source: Source) -> LinearPrediction:
        """Return the predictions for the rows of a source."""
        one_target(self, "a file")
        return LinearPrediction(self, source)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None) -> float:
        """Return R^2: 1 - squared errors of the predictions / squared errors of the mean.

        Parameters
        ----------
        X, offset : as in :meth:`predict`
        y, sample_weight : arrays of shape (rows,); in X if that has the training columns
        """
        if (source := to_score(self, X, y, sample_weight, offset)) is None:
            from sklearn.metrics import r2_score

            weights = sample_weight
            if weights is not None:
                weights = labels.check_sample_weight(weights, len(y))
            return float(r2_score(y, self.predict(X, offset=offset), sample_weight=weights))
        check_is_fitted(self)
        return self.predictions(source).residuals().r_squared

    def plot(self, X: Any, y: Any, *, ax: Any = None, **kwargs: Any) -> Any:
        """Plot the line over one feature with its bands and the rows, or the coefficients.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, features)
        y : array of shape (rows,)
        ax : matplotlib Axes, default None
            Axes to draw on; None creates a figure.
        **kwargs : passed to ``from_estimator`` of the picture

        Returns
        -------
        linsep.plot.RegressionDisplay, or CoefficientDisplay
            The former of one feature, or with ``feature=`` a name or number.
        """
        check_is_fitted(self)
        one_target(self, "a picture")
        if self.n_features_in_ == 1 or "feature" in kwargs:
            return display("RegressionDisplay").from_estimator(self, X, y, ax=ax, **kwargs)
        return display("CoefficientDisplay").from_estimator(self, ax=ax, **kwargs)

    def assumptions(
        self, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None
    ) -> "Assumptions":
        """Test the assumptions of the inference on the rows of the fit.

        Parameters
        ----------
        X, y, sample_weight, offset : the arguments of the last fit, rows in the same order, or the
            frame or file with its columns

        Returns
        -------
        linsep.inference.diagnostics.Assumptions

        Raises
        ------
        ValueError
            If these are not the rows of the fit.
        """
        from linsep.inference.diagnostics import Assumptions

        return Assumptions(self, *self._rows_of_fit(X, y, sample_weight, offset))

    def diagnostics(
        self, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None
    ) -> "Diagnostics":
        """Return residuals, leverages and influences of the rows of the fit, and collinearity.

        Parameters
        ----------
        X, y, sample_weight, offset : as in :meth:`assumptions`; fitted values refer to y - offset

        Returns
        -------
        linsep.inference.diagnostics.Diagnostics
        """
        from linsep.inference.diagnostics import linear_diagnostics

        return linear_diagnostics(self, *self._rows_of_fit(X, y, sample_weight, offset))

    def _rows_of_fit(
        self, X: Any, y: Any, sample_weight: Any, offset: Any
    ) -> tuple[Batch, np.ndarray, np.ndarray]:
        """Return the rows of the fit as a block, and their numbers and labels in the given data."""
        check_is_fitted(self)
        one_target(self, "a table of rows")
        if self._fitted.l2:
            raise ParameterError(
                "Assumptions and diagnostics need least squares without a penalty",
                hint("leave {} out", l2=None), code="unsupported", option="l2",
            )  # fmt: skip
        with self.fitted_rows(X, y, sample_weight, offset) as (rows, targets, given, known, named):
            block = self._block(rows, targets, given, known, reset=False)
            numbers = np.arange(block.size)
            if given is not None:
                numbers = np.flatnonzero(labels.check_sample_weight(given, len(targets)))
        if fitted_parameter(self, "weight_type") == "frequency" and block.weights is not None:
            copies = np.repeat(np.arange(block.size), block.weights.astype(np.int64))
            block, numbers = block.rows(copies)._replace(weights=None), numbers[copies]
        if block.size != self._fitted.n_rows:
            raise DataError(
                f"These are {block.size:,} rows of positive weight: pass the "
                f"{self._fitted.n_rows:,} rows of the fit.", code="other-rows",
            )  # fmt: skip
        return block, *named(numbers)


def fit_lanes(model: LinearRegression, lanes: Lanes) -> None:
    """Fit a regression to the rows of files, or of a cluster."""
    model._take(lanes)
    model._warn_of_dependence()
