"""Linear regression by least squares with statistical inference, as a scikit-learn estimator."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from linsep._system.interrupts import interrupts_deferred
from linsep._system.threads import one_blas_thread
from linsep.batches import Batch
from linsep.drawing import display
from linsep.errors import DataError, ParameterError, hint, warn_caller
from linsep.estimators._common.fitted_state import count, finite
from linsep.estimators._common.frames import to_predict, to_regress, to_score
from linsep.estimators._common.labels import (
    brings_labels,
    check_sample_weight,
    feature_names,
    features_named,
    words_and_signs,
)
from linsep.estimators._common.offsets import (
    check_offset,
    has_offset,
    offset_of_facts,
    offset_to_predict,
    refuse_offset_of_several,
)
from linsep.estimators._common.predicting import weights_to_score
from linsep.estimators._common.reading import Reading, describe
from linsep.estimators._common.stop_reasons import StopReason
from linsep.inference import signatures
from linsep.inference.robust import (
    HELP,
    LinearScores,
    OfLinear,
    Robust,
    added_scores,
    check_clusters,
    check_length,
    cluster_numbers,
    refuse_robust,
)
from linsep.inference.summary import check_level
from linsep.lanes import Lanes
from linsep.linear.inference import Bands, LinearResults, dependence
from linsep.linear.least_squares import DependentFeaturesWarning, LeastSquares, least_squares
from linsep.linear.predictions import (
    LinearPrediction,
    check_whole,
    plus_offset,
    refuse_counts,
    source_blocks,
)
from linsep.linear.several import SeveralTargets, columns_of, one_target
from linsep.parameters import (
    INTERVALS,
    HasParameters,
    check_parameters,
    fitted_parameter,
    parameter,
)
from linsep.sources.base import Source
from linsep.validation.labels import one_column, refuse_gaps
from linsep.validation.sparse import as_csr
from linsep.validation.values import (
    check_prepared,
    faults_named,
    refuse_rounded_targets,
    rows_to_fit,
)
from linsep.words import row_text

if TYPE_CHECKING:
    from linsep.inference.diagnostics import Diagnostics
    from linsep.linear.diagnostics import Assumptions


#: state of a solution: its arrays, numbers and flags
ARRAYS = ("coef", "kept", "means", "spread", "means_rest", "root")
NUMBERS = (
    "intercept", "mean_y", "residual_norm", "y_norm", "explained_norm", "total_weight",
    "log_weights", "l2",
)  # fmt: skip
FLAGS = ("perfect", "fit_intercept")


class LinearRegression(LinearResults, RegressorMixin, HasParameters, BaseEstimator):
    """Least squares regression with standard errors, tests, intervals and tests of assumptions.

    Solved by a QR factorization of the rows, refined where features are correlated, with residuals
    in twice the precision of floats. A feature that is a linear combination of earlier features is
    left out with a warning, as in R's ``lm``.

    Parameters
    ----------
    l2 : float, default=0.0
        Ridge penalty: minimize the sum of squared residuals + l2 times the sum of squared
        coefficients, without the intercept (scikit-learn's alpha). The estimates are then biased,
        and there are no standard errors, tests or intervals. Degrees of freedom are effective: the
        trace of the hat matrix.
    fit_intercept : bool, default=True
        Learn an intercept.
    weight_type : "precision" or "frequency", default="precision"
        Meaning of a row weight w. "precision": the variance of the row is sigma^2 / w. "frequency":
        the row stands for w equal rows, with a whole number w. The estimates are the same, but for
        standard errors, tests and likelihoods the number of rows is the count of rows, or the sum
        of the weights.

    covariance : {"HC0", "HC1", "HC2", "HC3", "CR1"} or None, default=None
        Covariance of the estimates, from which standard errors, tests, intervals and F follow.
        None: assumes rows of equal variance. "HC0" to "HC3": rows may differ in variance; the
        squared residuals are multiplied by 1, n / (n - k), 1 / (1 - h) or 1 / (1 - h)^2, for n
        rows, k estimates and leverages h. "CR1": rows may also depend on each other within
        clusters; the sum over G clusters is multiplied by G / (G - 1) (n - 1) / (n - k), and t has
        G - 1 degrees of freedom.

    Attributes
    ----------
    coef_ : array of shape (features,) or (targets, features)
        Zero for a feature that is left out.
    intercept_ : float or array of shape (targets,)
    targets_ : list of str, for several targets: the column names of y, or y0, y1, ...
    equation_ : linsep.estimators._common.showing.Equation
        The fit as an equation in the features; print it.
    params_, standard_errors_, statistics_, p_values_ : arrays of shape (parameters,)
        The intercept first, if there is one; the statistics are t. NaN for features left out.
    covariance_ : array of shape (parameters, parameters)
    param_names_ : list of str
    r_squared_, adjusted_r_squared_, f_statistic_, f_p_value_ : float
    residual_variance_, residual_error_, rss_, df_residual_, df_model_, n_rows_ : float or int
    log_likelihood_, aic_, bic_ : float
    solution_ : linsep.linear.least_squares.LeastSquares
    correlation_, moments_ : Pearson's r and moments of y and a single feature
    n_features_in_ : int
    feature_names_in_ : array of shape (features,), if X has names
    recipe_ : dict, if fitted to a source
    stop_reason_ : "interrupted" if Ctrl-C ended the reading of a source: the model is fitted to the
        rows read so far, and ``fit`` raised KeyboardInterrupt; else not set
    training_deviation_ : float, if fitted to a source
        The standard deviation of y: the RMS error of predicting its mean.

    References
    ----------
    H. White, A heteroskedasticity-consistent covariance matrix estimator and a direct test for
    heteroskedasticity, Econometrica 48 (1980). J. MacKinnon and H. White, Some
    heteroskedasticity-consistent covariance matrix estimators with improved finite sample
    properties, Journal of Econometrics 29 (1985). K.-Y. Liang and S. Zeger, Longitudinal data
    analysis using generalized linear models, Biometrika 73 (1986).

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
    covariance: OfLinear | None = parameter(default=None, help=HELP)

    #: whether it was fitted with an offset, which predictions then need, too
    _with_offset = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
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
            Not copied. A source (:func:`linsep.open_source`) has its own y and is read once or
            twice, in constant memory.
        y : array of shape (rows,) or (rows, targets)
            The targets, as numbers. With several targets, ``coef_``, ``params_`` and all attributes
            computed from them have one row per target; ``predict`` returns one column per target.
        sample_weight : array of shape (rows,), default ones
            See ``weight_type``. Rows of weight 0 are left out.
        clusters : array of shape (rows,), default None
            For ``covariance="CR1"``: the cluster of each row, as labels of any type. For a source,
            name the column with ``open_source(group=...)`` instead.
        offset : array of shape (rows,), or a number; default None
            A known part of the prediction of each row. The model is fitted to y - offset, rounded
            once; R^2 and F also refer to y - offset (those of R's ``lm`` to fits with the offset).

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
            If features are linear combinations of earlier features.
        """
        check_parameters(self)
        for name in ("stop_reason_", "targets_", "_several", "_with_offset"):
            self.__dict__.pop(name, None)
        columns = columns_of(y)
        refuse_robust(self, columns)
        check_clusters(self.covariance, X, clusters, sample_weight)
        if columns is not None:
            refuse_offset_of_several(offset)
            return self._take_several(SeveralTargets.fitted(self, X, columns, sample_weight))
        beside = {"offset": offset, "clusters": cluster_numbers(X, clusters)}
        X, y, sample_weight, beside = to_regress(
            self, X, y, sample_weight, beside, self.fit_intercept
        )
        if brings_labels(X, y, sample_weight, offsets=True, offset=beside["offset"]):
            self._fit_source(X)
        else:
            self._fit_rows(X, y, sample_weight, **beside)
        self._warn_of_dependence()
        return self

    def _take_several(self, several: SeveralTargets) -> Self:
        """Keep the fits of several targets."""
        first = several.first
        for name in ("n_features_in_", "feature_names_in_", "recipe_"):
            self.__dict__.pop(name, None)
            if hasattr(first, name):
                setattr(self, name, getattr(first, name))
        self.__dict__.pop("_fitted", None)
        self._several, self.targets_ = several, several.names
        self._learned_with = self.get_params(deep=False)
        self.coef_, self.intercept_ = several.each("coef_"), several.each("intercept_")
        return self

    def _warn_of_dependence(self) -> None:
        """Warn if features are linear combinations of earlier ones."""
        if not self._fitted.kept.all():
            notes = dependence(self._fitted, words_and_signs(self)[0])
            more = f" (and {len(notes) - 3} more, in summary())" if len(notes) > 3 else ""
            warn_caller(DependentFeaturesWarning(" ".join(notes[:3]) + more))

    def _fit_rows(self, X: Any, y: Any, sample_weight: Any, offset: Any, clusters: Any) -> None:
        block = self._block(X, y, sample_weight, offset, reset=True)._replace(groups=clusters)
        check_length(clusters, block.size)
        self._with_offset = offset is not None
        self.__dict__.pop("recipe_", None)
        name = getattr(y, "name", None)
        with features_named(self):
            self._take(Lanes(lambda: iter([block])), None if name is None else str(name))

    def _block(self, X: Any, y: Any, sample_weight: Any, offset: Any, *, reset: bool) -> Batch:
        """Return the checked rows of positive weight as a block; y is minus the offset."""
        X = self._features(X, reset)
        y = self._targets(y, X.shape[0])
        weights = check_sample_weight(sample_weight, X.shape[0])
        known = check_offset if reset else partial(offset_to_predict, self)
        offset = known(offset, X.shape[0])
        if (self.weight_type if reset else fitted_parameter(self, "weight_type")) == "frequency":
            check_whole(weights, lambda row: row_text(row).capitalize())
        y = y.astype(np.float64, copy=False)
        y = y if offset is None else y - offset
        if weights.size and not weights.all():
            X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
        return Batch(X, y, weights=weights if weights.size else None)

    def _features(self, X: Any, reset: bool) -> Any:
        kinds = (np.float64, np.float32)
        if reset:
            return rows_to_fit(X, self, kinds)
        check_prepared(self)
        with faults_named(X, self):
            return validate_data(
                self, as_csr(X), accept_sparse="csr", dtype=kinds, reset=False,
                ensure_min_features=min(1, self.n_features_in_),  # a formula may have none
            )  # fmt: skip

    def _targets(self, y: Any, n_rows: int) -> np.ndarray:
        """Return y as one finite number per row."""
        if y is None:
            raise DataError(
                "This LinearRegression estimator requires y to be passed, but the target y is "
                "None.", code="no-labels",
            )  # fmt: skip
        y = one_column(np.asarray(y))
        if y.dtype.kind in "mM":
            what = "dates" if y.dtype.kind == "M" else "durations"
            raise DataError(
                f"y holds {what}: give one number per row, such as the seconds since the first "
                "one.", code="not-a-number",
            )  # fmt: skip
        refuse_rounded_targets(y, lambda row: row_text(row).capitalize())
        if y.dtype.kind not in "biuf":
            try:
                y = y.astype(np.float64)
            except (TypeError, ValueError):
                raise DataError(
                    "y has values that are not numbers. A regression needs one number per row; "
                    "for class labels, use a classifier.", code="not-a-number",
                ) from None  # fmt: skip
        refuse_gaps(y, "give the number, or leave the row out")
        if y.size != n_rows:
            raise DataError(
                f"Found input variables with inconsistent numbers of samples: X has {n_rows} "
                f"rows, y has {y.size}.", code="shape",
            )  # fmt: skip
        return y

    def _fit_source(self, source: Source) -> None:
        refuse_counts(source)
        reading = Reading()
        with interrupts_deferred():
            whole = self.weight_type == "frequency"
            self._take_rows(Lanes(source_blocks(source, reading, whole, self.covariance)))
            self._with_offset = source.offsets
            describe(self, source, self.coef_.size)
            if reading.interrupted:
                reading.finish_interrupted(self, source.name)

    def _take_rows(self, lanes: Lanes) -> None:
        """Fit to rows of files."""
        self._take(lanes)
        self.training_deviation_ = self._fitted.deviation

    def _take(self, lanes: Lanes, target: str | None = None) -> None:
        fitted = least_squares(lanes, fit_intercept=self.fit_intercept, l2=float(self.l2))
        if self.weight_type == "frequency":
            fitted = replace(fitted, n_rows=round(fitted.total_weight), log_weights=0.0)
        if self.covariance is not None:
            fitted = self._with_robust(fitted, lanes)
        self._target, self._learned_with = target, self.get_params(deep=False)
        self._fitted = fitted
        self.coef_, self.intercept_ = fitted.coef, fitted.intercept

    def _with_robust(self, fitted: LeastSquares, lanes: Lanes) -> LeastSquares:
        """Return the fit with the robust covariance, for which the rows are read once more."""
        work = LinearScores(fitted, str(self.covariance), self.weight_type == "frequency")
        with one_blas_thread:
            found = lanes.sum(work, added_scores)
        return replace(fitted, robust=Robust.of(work.name, found, fitted.n_rows, fitted.rank))

    def get_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the fitted state for a model file: arrays, and facts as plain JSON.

        Returns
        -------
        arrays : dict
            For d features of which r estimates remain (with the intercept) and o are left out:
            ``coef``, ``kept`` (bool), ``means`` and ``spread`` of shape (d,), ``means_rest``
            (1 + d,), ``root`` (r, 1 + d) and ``combinations`` (o, 1 + d); see
            :class:`~linsep.linear.least_squares.LeastSquares`. With a robust covariance ``robust``
            (r, r), see :class:`linsep.inference.robust.Robust`.
        facts : dict
            ``fit`` (the numbers of the solution), ``two_values`` (of y, or None), ``target`` (the
            name of y, or None), ``interrupted`` (whether Ctrl-C ended the reading), ``signature``
            (of the rows, 16 hexadecimal digits), ``offset`` (true, if the fit had one) and, with a
            robust covariance, ``clusters`` (their number, or None).
        """
        if self._several is not None:
            return self._several.get_state()
        fit = self._fitted
        arrays = {name: getattr(fit, name) for name in ARRAYS}
        combinations = [fit.combinations[j] for j in sorted(fit.combinations)]
        arrays["combinations"] = np.reshape(combinations, (-1, 1 + fit.coef.size))
        facts: dict[str, Any] = {
            "fit": {name: getattr(fit, name) for name in (*NUMBERS, *FLAGS, "n_rows")},
            "two_values": fit.two_values,
            "target": self._target,
            "interrupted": hasattr(self, "stop_reason_"),
            "signature": fit.signature,
            **({"offset": True} if has_offset(self) else {}),
        }
        if fit.robust is not None:
            arrays["robust"], facts["clusters"] = fit.robust.root, fit.robust.clusters
        return {name: np.ascontiguousarray(array) for name, array in arrays.items()}, facts

    def set_state(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        """Set what :meth:`get_state` returned, after checking it.

        Raises
        ------
        ValueError, LookupError or TypeError
            If a part is missing, or has another shape or type.
        """
        if "targets" in facts:
            self._take_several(SeveralTargets.of_state(self, arrays, facts))
            return
        numbers, kept, two = facts["fit"], arrays["kept"], facts["two_values"]
        d = arrays["coef"].size
        rank = int(kept.sum()) + bool(numbers["fit_intercept"])
        if kept.shape != (d,) or kept.dtype != bool:
            raise ValueError(f"kept of {kept.dtype} {kept.shape}")
        values = {name: float(numbers[name]) for name in NUMBERS}
        if not np.isfinite([*values.values()]).all() or values["l2"] < 0:
            raise ValueError("an invalid number")
        shapes = {"means_rest": (1 + d,), "root": (rank, 1 + d)}
        found = {n: finite(arrays, n, shapes.get(n, (d,))) for n in ARRAYS if n != "kept"}
        out = np.flatnonzero(~kept)
        combinations = finite(arrays, "combinations", (out.size, 1 + d))
        self._fitted = LeastSquares(
            **dict[str, Any](found),
            **dict[str, Any](values),
            **dict[str, Any]({name: numbers[name] is True for name in FLAGS}),
            kept=kept,
            n_rows=count(numbers["n_rows"], 1),
            combinations=dict(zip(out.tolist(), combinations, strict=True)),
            two_values=None if two is None else (float(two[0]), float(two[1])),
            signature=signatures.checked(facts.get("signature")),
            robust=Robust.stored(self.covariance, arrays, (rank, rank), facts.get("clusters")),
        )
        self._target = None if facts.get("target") is None else str(facts["target"])
        self._with_offset = offset_of_facts(facts)
        if facts["interrupted"] is True:
            self.stop_reason_ = StopReason.INTERRUPTED
        self.coef_, self.intercept_ = self._fitted.coef, self._fitted.intercept
        self.n_features_in_, self._learned_with = d, self.get_params(deep=False)

    def predict(
        self, X: Any, interval: str | None = None, level: float = 0.95,
        missing: str | None = None, offset: Any = None,
    ) -> Any:  # fmt: skip
        """Predict y, optionally with intervals.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), or a Source
        interval : None, "confidence" or "prediction"
            "confidence": an interval for the mean of y given the features. "prediction": an
            interval for y of one new row of weight 1; not with a robust ``covariance``, where rows
            may differ in variance.
        level : float, default=0.95
            Coverage of the intervals, between 0 and 1.
        missing : None or "skip"
            "skip": predict NaN for a row with a missing value, instead of raising an error.
        offset : array of shape (rows,), or a number
            Added to predictions and ends of intervals. Required by a model that was fitted with an
            offset. Sources, frames and files that hold the training columns have their own.

        Returns
        -------
        array of shape (rows,) or (rows, targets), or with an interval
            :class:`linsep.linear.inference.Bands`: arrays ``prediction``, ``low``, ``high``,
            NaN without residual degrees of freedom, and for a perfect fit.
        """
        check_is_fitted(self)
        if interval is not None and interval not in INTERVALS:
            raise ParameterError(
                f"interval is {interval!r}: choose None, 'confidence' or 'prediction'.",
                option="interval", value=interval,
            )  # fmt: skip
        if interval is not None and fitted_parameter(self, "l2"):
            raise ParameterError(
                "Intervals of predictions are not known with l2",
                hint("leave {} out", l2=None), code="unsupported", option="l2",
            )  # fmt: skip
        level, X = check_level(level), to_predict(self, X, missing, offset)
        if not isinstance(X, Source):
            X = self._features(X, reset=False)
            offset = offset_to_predict(self, offset, X.shape[0])
        if self._several is not None:
            return self._several.predicted(lambda one: one._predicted(X, None, interval, level))
        return self._predicted(X, offset, interval, level)

    def _predicted(
        self, X: Any, offset: np.ndarray | None, interval: str | None, level: float
    ) -> Any:
        """Predict checked rows, or the rows of a source."""
        if isinstance(X, Source):
            parts = list(self.predictions(X).bands(interval, level))
        else:
            parts = []
            for first in range(0, X.shape[0], 8192):
                some = slice(first, first + 8192)
                found = self._predict(X[some], interval, level)
                found = plus_offset(found, None if offset is None else offset[some])
                parts.append(self._checked(found, first, row_text))
        if interval is None:
            return np.concatenate(parts)
        return Bands(*map(np.concatenate, zip(*parts, strict=True)))

    def _predict(self, X: Any, interval: str | None, level: float) -> Any:
        more = self.coef_.size - X.shape[1]  # rows of a sparse source may be narrower
        if more:
            X = sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], self.coef_.size))
        with np.errstate(over="ignore", invalid="ignore"):  # see _checked
            predicted = self._fitted.predicted(X)
            if interval is None:
                return predicted
            return self._inference.bands(X, predicted, interval, level)

    def _checked(self, found: Any, first: int, where: Callable[[int], str]) -> Any:
        """Return the predictions of ``_predict``; raise DataError if one overflows float64.

        ``where`` names a row by its number; the first row here has the number ``first``.
        """
        known = np.isfinite(found[0] if isinstance(found, Bands) else found)
        if isinstance(found, Bands) and not np.isnan(self._inference.error):
            known &= np.isfinite(found.high)
        if not known.all():
            row = first + int(np.argmin(known))
            raise DataError(
                f"The prediction of {where(row)} overflows float64; scale the features.",
                code="overflow",
            )
        return found

    def predictions(self, source: Source) -> LinearPrediction:
        """Return the predictions for the rows of a source."""
        one_target(self, "a file")
        return LinearPrediction(self, source)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None) -> float:
        """Return R^2: 1 - squared errors of the predictions / squared errors of the mean.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), Source, data frame or file
            Sources, and frames and files that hold the training columns, have their own y.
        y : array of shape (rows,)
        sample_weight : array of shape (rows,), default ones
        offset : array of shape (rows,), or a number, as in :meth:`predict`
        """
        X = to_score(self, X, y)
        if not brings_labels(X, y, sample_weight, offset, offsets=has_offset(self)):
            weights = weights_to_score(sample_weight, y)
            if offset is None:
                return float(RegressorMixin.score(self, X, y, weights))
            from sklearn.metrics import r2_score

            return float(r2_score(y, self.predict(X, offset=offset), sample_weight=weights))
        check_is_fitted(self)
        return self.predictions(X).residuals().r_squared

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
        linsep.plot.RegressionDisplay
            For a model of one feature, or with ``feature=`` a name or number.
        linsep.plot.CoefficientDisplay
            Else.
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
        linsep.linear.diagnostics.Assumptions
            Print it, call ``plot()``, or use its attributes.

        Raises
        ------
        ValueError
            If these are not the rows of the fit: another number of rows or features, or another
            residual sum of squares.
        """
        with self._rows_of_fit(X, y, sample_weight, offset) as (block, numbers, index):
            from linsep.linear.diagnostics import check_assumptions

            return check_assumptions(self._fitted, block, numbers, index)

    def diagnostics(
        self, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None
    ) -> "Diagnostics":
        """Return residuals, leverages and influences of the rows of the fit, and collinearity.

        Parameters
        ----------
        X, y, sample_weight, offset : the arguments of the last fit, rows in the same order, or the
            frame or file with its columns; fitted values refer to y - offset

        Returns
        -------
        linsep.inference.diagnostics.Diagnostics
            Print it, call ``plot()`` or ``tidy()``, or use its attributes.

        Raises
        ------
        ValueError
            If these are not the rows of the fit, as in :meth:`assumptions`.
        """
        with self._rows_of_fit(X, y, sample_weight, offset) as (block, numbers, index):
            from linsep.inference.factors import terms_of
            from linsep.linear.diagnostics import diagnosed

            names, terms = feature_names(self), terms_of(self)
            return diagnosed(self._fitted, block, numbers, index, names, terms)

    @contextmanager
    def _rows_of_fit(
        self, X: Any, y: Any, sample_weight: Any, offset: Any
    ) -> Iterator[tuple[Batch, np.ndarray, np.ndarray]]:
        """Return the rows of the fit as a block, and their numbers and labels in the given data;
        raise DataError for another number of rows.
        """
        check_is_fitted(self)
        one_target(self, "a table of rows")
        if self._fitted.l2:
            raise ParameterError(
                "Assumptions and diagnostics need least squares without a penalty",
                hint("leave {} out", l2=None), code="unsupported", option="l2",
            )  # fmt: skip
        with self.fitted_rows(X, y, sample_weight, offset) as (rows, targets, given, known, named):
            block = self._block(rows, targets, given, known, reset=False)
            numbers = np.arange(block.y.size)
            if given is not None:
                numbers = np.flatnonzero(check_sample_weight(given, len(targets)))
            if fitted_parameter(self, "weight_type") == "frequency" and block.weights is not None:
                copies = np.repeat(np.arange(block.y.size), block.weights.astype(np.int64))
                block, numbers = Batch(block.X[copies], block.y[copies]), numbers[copies]
            if block.y.size != self._fitted.n_rows:
                raise DataError(
                    f"The model was fitted to {self._fitted.n_rows:,} rows of positive weight, "
                    f"but {block.y.size:,} were given: pass the rows of the fit.",
                    code="other-rows",
                )
            yield block, *named(numbers)


def fit_lanes(model: LinearRegression, lanes: Lanes) -> None:
    """Fit a regression to lanes of rows."""
    model._take_rows(lanes)
    model._warn_of_dependence()
