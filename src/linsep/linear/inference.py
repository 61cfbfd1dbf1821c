"""Inference from least squares, for independent normal residuals of equal variance.

The formulas are standard (Seber and Lee, Linear Regression Analysis, 2003, chapters 3 to 5): a row
of weight w has the variance sigma^2 / w. They use norms rather than sums of squares, which could
overflow where standard errors do not.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linsep.errors import ParameterError, hint
from linsep.estimators._common.labels import target_name, words_and_signs
from linsep.estimators._common.offsets import note_of_offset
from linsep.estimators._common.stop_reasons import StopReason
from linsep.inference.results import Bands, HasInference
from linsep.inference.robust import NOTHING, robust_words
from linsep.inference.table import Facts, check_level
from linsep.inference.tails import f_tail, t_reach
from linsep.linear.least_squares import LeastSquares
from linsep.linear.several import SeveralTargets, one_target
from linsep.parameters import fitted_parameter

#: rounding of the root of a covariance, as a share
ROOT_NOISE = 1e-13
#: variance inflation above which a note on the reliable digits is printed
MUCH_INFLATION = 1e8
#: relative rounding error of a few operations in floats
ROUNDING = 64 * float(np.finfo(np.float64).eps)


class Moments(NamedTuple):
    """Moments of one feature x and y over rows of weight 1; variances divide by rows - 1."""

    mean_x: float
    mean_y: float
    variance_x: float
    variance_y: float
    covariance: float


@dataclass(frozen=True)
class Inference:
    """Tests and intervals of a fit.

    Arrays have one value for the intercept, if there is one, and then one for each feature. Values
    of features left out are NaN, as are values that need a residual variance if there is none, as
    for a perfect fit.

    Attributes
    ----------
    fit : LeastSquares
    """

    fit: LeastSquares

    @property
    def _from(self) -> int:
        return 0 if self.fit.fit_intercept else 1

    @property
    def estimates(self) -> np.ndarray:
        """The weights, NaN for features left out."""
        coef = np.where(self.fit.kept, self.fit.coef, np.nan)
        return np.concatenate([[self.fit.intercept], coef])[self._from :]

    @property
    def df_residual(self) -> float:
        """Degrees of freedom of the residuals: rows minus estimates, with a penalty minus the
        effective degrees of freedom.
        """
        return self.fit.n_rows - self.n_parameters

    @property
    def n_parameters(self) -> float:
        """Number of estimates; with a penalty the effective degrees of freedom."""
        return self.fit.effective_df if self.fit.l2 else self.fit.rank

    @property
    def df_model(self) -> float:
        """Degrees of freedom of the model: estimates without the intercept."""
        return self.n_parameters - int(self.fit.fit_intercept)

    @property
    def residual_variance(self) -> float:
        """Estimated variance of a row of weight 1; NaN without degrees of freedom."""
        return self.residual_error * self.residual_error

    @property
    def residual_error(self) -> float:
        """The residual standard error, the square root of the residual variance."""
        df = self.df_residual
        return self.fit.residual_norm / float(np.sqrt(df)) if df > 0 else float("nan")

    @property
    def degrees(self) -> float:
        """Degrees of freedom of t: of the residuals, or clusters - 1."""
        clusters = None if self.fit.robust is None else self.fit.robust.clusters
        return self.df_residual if clusters is None else clusters - 1

    @property
    def error(self) -> float:
        """The factor of ``root``; NaN for a perfect fit."""
        if self.fit.perfect:
            return float("nan")
        robust = self.fit.robust is not None and self.df_residual > 0
        return self.fit.residual_norm if robust else self.residual_error

    @property
    def root(self) -> np.ndarray:
        """A matrix B of shape (rank, 1 + features): B'B times the square of ``error`` is the
        covariance of the intercept and the features.

        A robust error is zero where the scores of every cluster, or row, cancel.
        """
        root = self.fit.root
        if self.fit.robust is None:
            return root
        found = self.fit.robust.root @ root
        sizes = np.linalg.norm(found, axis=0), np.linalg.norm(root, axis=0)
        found[:, sizes[0] <= self.rounding * sizes[1]] = 0.0
        return found

    @property
    def rounding(self) -> float:
        """Rounding errors of the residuals, relative to their norm."""
        fit = self.fit
        if not fit.residual_norm:
            return 0.0
        return ROUNDING * (1 + (fit.y_norm + np.abs(fit.coef) @ fit.spread) / fit.residual_norm)

    @property
    def covariance(self) -> np.ndarray:
        """Covariance matrix of the estimates, NaN for features left out."""
        if self.fit.l2:
            return np.full((self.estimates.size,) * 2, np.nan)
        root = self.error * self.root[:, self._from :]
        covariance = root.T @ root
        out = np.isnan(self.estimates)
        covariance[out], covariance[:, out] = np.nan, np.nan
        return covariance

    @property
    def standard_errors(self) -> np.ndarray:
        """Square roots of the diagonal of the covariance."""
        lengths = np.linalg.norm(self.root[:, self._from :], axis=0)
        lengths[np.isnan(self.estimates) | (self.fit.l2 > 0)] = np.nan
        return self.error * lengths

    @property
    def r_squared(self) -> float:
        """Explained share of the variance of y (without an intercept, of its mean square)."""
        if self.fit.y_norm == 0:
            return float("nan")
        return min(1.0, (self.fit.explained_norm / self.fit.y_norm) ** 2)

    @property
    def adjusted_r_squared(self) -> float:
        """R^2 with unbiased estimates of both variances."""
        if self.fit.y_norm == 0 or self.df_residual <= 0:
            return float("nan")
        df_total = self.fit.n_rows - int(self.fit.fit_intercept)
        return 1 - (self.fit.residual_norm / self.fit.y_norm) ** 2 * df_total / self.df_residual

    @property
    def f(self) -> float:
        """F statistic of the hypothesis that all weights but the intercept are zero: Wald's, with
        the covariance of the fit. NaN if that is singular, as with too few clusters.
        """
        error, df = self.residual_error, self.df_model
        if self.fit.robust is not None and df and error > 0:
            return self._wald(self.fit.robust.root) / df
        if not df or not error > 0 or self.fit.l2:
            return float("nan")
        ratio = self.fit.explained_norm / error
        return ratio * ratio / df

    def _wald(self, R: np.ndarray) -> float:
        """Return b' C^-1 b of the coefficients b and their covariance C = A'R'R A, computed in the
        orthonormal columns, where only R can be singular.
        """
        fit, first = self.fit, int(self.fit.fit_intercept)
        A = fit.root[first:, 1:][:, fit.kept]
        inner = np.linalg.solve(A.T, fit.coef[fit.kept] / fit.residual_norm)
        _, sizes, V = np.linalg.svd(R[:, first:])
        if sizes[-1] <= self.rounding:
            return float("nan")
        return float(np.square((V @ inner) / sizes).sum())

    @property
    def f_p_value(self) -> float:
        """p-value of the F statistic."""
        a, b = self.df_model, max(self.degrees, 1)
        return float(f_tail(self.f, a, b)) if a and not self.fit.l2 else float("nan")

    @property
    def correlation(self) -> float:
        """Pearson's r of y and a single feature; NaN for several features or no intercept."""
        if self.fit.coef.size != 1 or not self.fit.fit_intercept or self.fit.y_norm == 0:
            return float("nan")
        r = self.fit.coef[0] * (self.fit.spread[0] / self.fit.y_norm)
        return float(np.clip(r, -1, 1)) if self.fit.kept[0] else float("nan")

    @property
    def moments(self) -> Moments | None:
        """Moments of y and a single feature.

        None for several features, no intercept, one row, or rows of weights other than 1.
        """
        fit = self.fit
        ones = fit.total_weight == fit.n_rows and fit.log_weights == 0
        if not (fit.coef.size == 1 and fit.fit_intercept and ones and fit.n_rows > 1):
            return None
        x, y = fit.spread[0], fit.y_norm / (fit.n_rows - 1)
        variance = float(x * (x / (fit.n_rows - 1)))
        return Moments(
            float(fit.means[0]), fit.mean_y, variance, fit.y_norm * y, float(fit.coef[0]) * variance
        )

    @property
    def log_likelihood(self) -> float:
        """Maximum log-likelihood for normal residuals; infinite for a perfect fit."""
        n = self.fit.n_rows
        if self.fit.perfect:
            return float("inf")
        constant = 1 + np.log(2 * np.pi) + 2 * np.log(self.fit.residual_norm) - np.log(n)
        return float(-n / 2 * constant + self.fit.log_weights / 2)

    @property
    def aic(self) -> float:
        """Akaike's criterion, which counts the weights but not the variance, as in statsmodels: 2
        less than R's.
        """
        return 2 * self.n_parameters - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Schwarz's criterion, which counts what ``aic`` does: ln(rows) less than R."""
        return self.n_parameters * float(np.log(self.fit.n_rows)) - 2 * self.log_likelihood

    def leverage(self, X: np.ndarray) -> np.ndarray:
        """Return x' (X' W X)^-1 x of rows: the variance of their predictions over sigma^2.

        An array of shape (rows,). Multiplied by the weights, it is the leverage of the rows of the
        fit.
        """
        first = int(self.fit.fit_intercept)
        parts = self.fit.orthonormal(X)[:, first:]
        return np.square(parts).sum(axis=1) + (1 / self.fit.total_weight if first else 0.0)

    def bands(self, X: np.ndarray, predicted: np.ndarray, of: str, level: float) -> Bands:
        """Return intervals of the mean ("confidence") or of new rows of weight 1 ("prediction").

        ParameterError for new rows, whose variance is not known, with a robust covariance.
        """
        if self.fit.robust is not None and of == "prediction":
            raise ParameterError(
                f"With {self.fit.robust.name} rows may differ in variance, so a new row has no "
                "prediction interval",
                hint("use {}", interval="confidence"), code="conflict", option="interval", value=of
            )  # fmt: skip
        if self.fit.robust is None:
            variance = self.leverage(X) + (1.0 if of == "prediction" else 0.0)
        else:
            variance = np.square(self.fit.orthonormal(X) @ self.fit.robust.root.T).sum(axis=1)
        half = t_reach(check_level(level), self.degrees) * self.error
        reach = half * np.sqrt(variance)
        return Bands(predicted, predicted - reach, predicted + reach)

    def header(self, x: str, y: str) -> Facts:
        """Return the statistics of the fit; x is the name of the first feature, y of the target."""
        robust, found = self.fit.robust, self.moments
        of_two: Facts = []
        if found is not None:
            names = (
                f"mean of {x}", f"mean of {y}", f"variance of {x}", f"variance of {y}", "covariance"
            )  # fmt: skip
            of_two = list(zip(names, found, strict=True))
        if self.fit.coef.size == 1 and self.fit.fit_intercept:
            of_two.append(("correlation r", self.correlation))
        errors: Facts = [] if robust is None else [("standard errors", robust.name)]
        if robust is not None and robust.clusters is not None:
            errors.append(("clusters", robust.clusters))
        return [
            ("rows", self.fit.n_rows),
            *errors,
            *of_two,
            ("degrees of freedom, residuals", self.df_residual),
            *([("effective degrees of freedom", self.n_parameters)] if self.fit.l2 else []),
            ("degrees of freedom, model", self.df_model),
            ("residual sum of squares", self.fit.rss),
            ("residual variance", self.residual_variance),
            ("residual standard error", self.residual_error),
            ("R^2", self.r_squared),
            ("adjusted R^2", self.adjusted_r_squared),
            ("F", self.f),
            ("p of F", self.f_p_value),
            ("log-likelihood", self.log_likelihood),
            ("AIC", self.aic),
            ("BIC", self.bic),
        ]

    def notes(self) -> list[str]:
        """Return sentences on the limits of the statistics."""
        fit, robust, nothing = self.fit, self.fit.robust, self.fit.y_norm == 0
        undefined = "standard errors, t, F and intervals are not defined."
        what = "is the same in all rows" if fit.fit_intercept else "is zero in all rows"
        inflation = np.nanmax(fit.inflation, initial=1.0)
        digit = max(1, int(16 - np.log10(np.sqrt(inflation))))
        measured = robust is not None and self.df_residual > 0 and not fit.perfect
        said = [
            (nothing, f"y {what}, so there is no variance to explain: {undefined}"),
            (
                not nothing and fit.perfect and self.df_residual > 0,
                f"The fit is perfect: the residuals are zero, or rounding errors of the data, so "
                f"{undefined}",
            ),
            (fit.l2, f"Penalized with l2={fit.l2:g}: standard errors and tests are not known."),
            (
                self.df_residual <= 0 and not nothing,
                f"There are as many estimates as rows ({fit.n_rows}), so the variance cannot be "
                "estimated: use more rows or fewer features.",
            ),
            (robust, "" if robust is None else robust_words(robust.name, robust.clusters)),
            (measured and (self.standard_errors == 0).any(), NOTHING),
            (
                measured and self.df_model and np.isnan(self.f),
                f"F is not defined: the covariance of the {self.df_model:,} coefficients is "
                "singular, as with fewer clusters than coefficients.",
            ),
            (
                inflation > MUCH_INFLATION,
                f"Features are nearly collinear: the variance of an estimate is inflated "
                f"{inflation:.2g} times, and rounding the data in the last digit changes the "
                f"estimate in digit {digit}.",
            ),
            (
                not fit.fit_intercept,
                "Without an intercept, R^2 and F are relative to predicting zero.",
            ),
        ]
        return [text for applies, text in said if applies]


def _number(name: str) -> Any:
    """Return an attribute of the estimator that its inference computes."""

    def get(self: "LinearResults") -> Any:
        if self._several is None:
            return getattr(self._inference, name)
        return np.stack([getattr(one._inference, name) for one in self._several])

    get.__doc__ = getattr(Inference, name).__doc__
    return property(get)


class LinearResults(HasInference):
    """Inference from a fitted linear regression."""

    coef_: np.ndarray
    intercept_: Any
    stop_reason_: str
    targets_: list[str]
    _fitted: LeastSquares
    _several: SeveralTargets | None = None

    r_squared_, adjusted_r_squared_ = _number("r_squared"), _number("adjusted_r_squared")
    f_statistic_, f_p_value_ = _number("f"), _number("f_p_value")
    df_residual_, df_model_ = _number("df_residual"), _number("df_model")
    residual_variance_, residual_error_ = _number("residual_variance"), _number("residual_error")
    log_likelihood_, aic_, bic_ = _number("log_likelihood"), _number("aic"), _number("bic")
    correlation_, moments_ = _number("correlation"), _number("moments")
    n_parameters_ = _number("n_parameters")
    _params, standard_errors_ = _number("estimates"), _number("standard_errors")

    def _glanced(self) -> dict[str, Any]:
        names = "r_squared adjusted_r_squared residual_error f_statistic f_p_value df_model"
        return {name: getattr(self, f"{name}_") for name in names.split()}

    @property
    def _covariance_matrix(self) -> np.ndarray:
        return self._inference.covariance if self._several is None else self._several.covariance()

    _equation = "target"

    @property
    def _equations(self) -> list[str]:
        return [] if self._several is None else self.targets_

    @property
    def _inference(self) -> Inference:
        if not hasattr(self, "_fitted"):  # for small fits, the check takes as long as an estimate
            check_is_fitted(self)
        return Inference(self._fitted)

    @property
    def n_rows_(self) -> int:
        """Number of rows of positive weight; with frequency weights their sum."""
        check_is_fitted(self)
        return (self if self._several is None else self._several.first).solution_.n_rows

    @property
    def solution_(self) -> LeastSquares:
        """The solution for a single target, with all that inference needs."""
        check_is_fitted(self)
        one_target(self, "a solution")
        return self._fitted

    @property
    def rss_(self) -> Any:
        """The weighted sum of squared residuals."""
        return self.solution_.rss if self._several is None else self._several.each("rss_")

    @property
    def _degrees(self) -> float:
        one = self if self._several is None else self._several.first
        found: float = one._inference.degrees
        return found

    @property
    def _words(self) -> np.ndarray:
        return np.where(np.isnan(self._params), "dependent", "")

    def _without_errors(self) -> str:
        if fitted_parameter(self, "l2"):
            return "Standard errors are not known with l2: leave l2 out."
        if self._degrees <= 0:
            return (
                f"There are as many estimates as rows ({self.n_rows_}), so standard errors are "
                "not known: use more rows or fewer features."
            )
        if self._several is None and self._fitted.perfect:
            return "The fit is perfect, so it has no residual variance and no standard errors."
        return ""

    def _covariance_root(self) -> tuple[np.ndarray, float]:
        if self._several is not None:
            return self._several.covariance_root(), ROOT_NOISE
        found = self._inference
        noise = ROOT_NOISE if found.fit.robust is None else max(ROOT_NOISE, found.rounding)
        return found.error * found.root[:, found._from :], noise

    @property
    def rows_signature_(self) -> str | None:
        """A signature of the rows of the fit: of y and the weights in their order; None for several
        targets, and for a model from a file of an earlier version.
        """
        return self.solution_.signature if self._several is None else None

    def _headed(self) -> tuple[str, Facts, list[str]]:
        from linsep.inference.factors import notes_of_one_level

        if self._several is not None:
            return self._several.headed()
        names, target = words_and_signs(self)[0], target_name(self)
        fit, found, y = self._fitted, self._inference, target or "y"
        notes = dependence(fit, names) + notes_of_one_level(self)
        if getattr(self, "stop_reason_", None) == StopReason.INTERRUPTED:
            notes.append(
                f"The reading was interrupted: the model is fitted to the first {fit.n_rows:,} "
                "rows."
            )
        if fit.two_values is not None and fit.robust is None:
            low, high = fit.two_values
            notes.append(
                f"y has only two values, {low:g} and {high:g}, so residuals are neither normal "
                "nor of equal variance: use robust standard errors, or LogisticRegression."
            )
        x = names[0] if names and names[0] != y else "the feature"
        title = "Linear regression" + f" of {target}" * bool(target)
        notes += note_of_offset(self, f"estimates, R^2 and F refer to {y} minus the offset")
        return title, found.header(x, y), [*notes, *found.notes()]


#: coefficients below this share of the largest are rounding errors
NEGLIGIBLE = 1e-9
#: what is said of a feature of zeros
ZERO = "is zero in all rows"


def dependence(fit: LeastSquares, names: list[str]) -> list[str]:
    """Return a sentence for each feature that is left out; one for all that are zero."""
    found = {feature: _what_repeats(fit, names, feature) for feature in fit.combinations}
    zeros = [names[feature] for feature, what in found.items() if what == ZERO]
    sentences = [
        f"{names[feature]} {what}: it is dropped (redundant)."
        for feature, what in found.items()
        if what != ZERO or len(zeros) == 1
    ]
    if len(zeros) > 1:
        sentences.append(f"{_listed(zeros)} are zero in all rows: they are dropped (redundant).")
    return sentences


def _what_repeats(fit: LeastSquares, names: list[str], feature: int) -> str:
    row = fit.combinations[feature]
    sizes = np.abs(row[1:]) * fit.spread
    used = np.flatnonzero(sizes > NEGLIGIBLE * sizes.max())
    if not used.size or not fit.spread[feature]:
        constant = fit.fit_intercept and fit.means[feature]
        return "is constant, like the intercept" if constant else ZERO
    length = np.sqrt(fit.total_weight)  # of the intercept's column
    largest = sizes.max() + length * np.abs(row[1:] * fit.means).max()
    shifted = abs(row[0]) * length > NEGLIGIBLE * largest
    if used.size == 1 and not shifted and abs(row[1 + used[0]] - 1) < NEGLIGIBLE:
        return f"repeats {names[used[0]]}"
    parts = [names[j] for j in used] + (["the intercept"] if shifted else [])
    return f"is a linear combination of {_listed(parts)}"


def _listed(names: list[str]) -> str:
    if len(names) > 6:
        return ", ".join(names[:6]) + f" and {len(names) - 6} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
