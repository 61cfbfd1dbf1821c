"""The solution of a least squares problem, and inference from it, for independent normal residuals.

The formulas are standard (Seber and Lee, Linear Regression Analysis, 2003, chapters 3 to 5): a row
of weight w has the variance sigma^2 / w. They use norms rather than sums of squares, which could
overflow where standard errors do not.
"""

from dataclasses import dataclass, field
from math import inf, log, nan, pi, sqrt
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.errors import ParameterError, hint
from linsep.inference.results import Bands, check_level, t_reach, upper_tail
from linsep.inference.robust import Robust

#: relative rounding error of a few operations in floats
ROUNDING = 64 * float(np.finfo(np.float64).eps)
#: largest ratio of coefficients times means to y: rounding then loses two digits of a prediction
NEAR = 128.0


class Moments(NamedTuple):
    """Moments of one feature and y over rows of weight 1; variances divide by rows - 1."""

    mean_x: float
    mean_y: float
    variance_x: float
    variance_y: float
    covariance: float


@dataclass
class LeastSquares:
    """Weighted least squares solution.

    Attributes
    ----------
    coef : array of shape (features,), zero for features left out
    intercept : float
    kept : bool array of shape (features,), false for combinations of earlier features
    combinations : dict of feature to array of shape (1 + features,)
        Coefficients of the intercept and the other features that give each feature left out.
    root : array of shape (rank, 1 + features)
        root' root is the inverse of the sums of products of the intercept and the features kept
        (with the penalty), the covariance of the estimates divided by the residual variance. Its
        first row belongs to the intercept at the means, if there is one.
    means, mean_y : array of shape (features,) and float, zeros without an intercept
    means_rest : array of shape (1 + features,), rounding errors of the means of y and the features
    spread : array of shape (features,)
        Square roots of the sums of squares of the features (centered with an intercept).
    residual_norm, y_norm, explained_norm : float
        Square roots of the weighted sums of squares of the residuals, of y and of the predictions,
        the latter two about the mean of y with an intercept.
    perfect : bool, whether the residuals are rounding errors of the data, and residual_norm zero
    n_rows : int, number of rows of positive weight
    total_weight, log_weights : float, sums of the weights and of their logarithms
    fit_intercept : bool
    l2 : float, the penalty
    two_values : array of the two values of y; None if it has others
    deviation : float, the standard deviation of y; NaN for a model from a file
    signature : str, of the rows, or None
    robust : Robust, the inner part of a robust covariance, or None
    """

    coef: np.ndarray
    intercept: float
    kept: np.ndarray
    root: np.ndarray
    means: np.ndarray
    mean_y: float
    means_rest: np.ndarray
    spread: np.ndarray
    residual_norm: float
    y_norm: float
    explained_norm: float
    perfect: bool
    n_rows: int
    total_weight: float
    log_weights: float
    fit_intercept: bool
    l2: float = 0.0
    combinations: dict[int, np.ndarray] = field(default_factory=dict)
    two_values: np.ndarray | None = None
    deviation: float = np.nan
    signature: str | None = None
    robust: Robust | None = None

    @property
    def rank(self) -> int:
        """Number of estimates: features kept, and the intercept."""
        return len(self.root)

    @property
    def rss(self) -> float:
        """The weighted sum of squared residuals."""
        return self.residual_norm * self.residual_norm

    @property
    def inflation(self) -> np.ndarray:
        """Variance inflation factors of shape (features,), NaN for features left out."""
        factors = np.square(self.root[:, 1:] * self.spread).sum(axis=0)
        return np.where(self.kept, factors, np.nan)

    @property
    def far(self) -> bool:
        """Whether predictions are computed at the means, as products at zero lose digits."""
        sizes = np.abs(self.coef) @ np.abs(self.means)
        return bool(sizes > NEAR * (abs(self.mean_y) + self.y_norm / np.sqrt(self.total_weight)))

    @property
    def at_means(self) -> float:
        """The prediction at ``means``, which are rounded."""
        return float(self.mean_y + (self.means_rest[0] - self.coef @ self.means_rest[1:]))

    def predicted(self, X: Any) -> np.ndarray:
        """Return predictions for rows X, an array or CSR matrix of shape (rows, features)."""
        if not self.far:
            return np.asarray(X @ self.coef, dtype=np.float64) + self.intercept
        return self.mean_y + (self.centered(X) @ self.coef + self.means_rest[0])

    def residuals(self, X: Any, y: np.ndarray) -> np.ndarray:
        """Return y minus the predictions, computed without cancellation at the means."""
        return np.asarray((y - self.mean_y) - self.means_rest[0] - self.centered(X) @ self.coef)

    def centered(self, X: Any) -> np.ndarray:
        """Return the rows minus the means of the features."""
        X = X.toarray() if sp.issparse(X) else X
        return (X - self.means) - self.means_rest[1:]

    def orthonormal(self, X: Any) -> np.ndarray:
        """Return the rows in orthonormal columns: ``root`` times [1, x], shape (rows, rank)."""
        first = int(self.fit_intercept)
        found = self.centered(X) @ self.root[first:, 1:].T
        return np.column_stack([*np.full((first, len(found)), self.root[:first, :1]), found])

    @property
    def estimates(self) -> np.ndarray:
        """The weights, NaN for features left out."""
        coef = np.where(self.kept, self.coef, np.nan)
        return np.append([self.intercept] * self.fit_intercept, coef)

    @property
    def n_parameters(self) -> float:
        """Number of estimates; with a penalty the trace of the hat matrix (Hastie, Tibshirani and
        Friedman, The Elements of Statistical Learning, 2009, equation 3.50).
        """
        first = int(self.fit_intercept)
        return self.rank - self.l2 * float(np.square(self.root[first:, 1:]).sum())

    @property
    def df_residual(self) -> float:
        """Degrees of freedom of the residuals: rows minus ``n_parameters``."""
        return self.n_rows - self.n_parameters

    @property
    def df_model(self) -> float:
        """Degrees of freedom of the model: estimates without the intercept."""
        return self.n_parameters - int(self.fit_intercept)

    @property
    def degrees(self) -> float:
        """Degrees of freedom of t: of the residuals, or clusters - 1."""
        clusters = None if self.robust is None else self.robust.clusters
        return self.df_residual if clusters is None else clusters - 1

    @property
    def residual_variance(self) -> float:
        """Estimated variance of a row of weight 1; NaN without degrees of freedom."""
        return self.residual_error * self.residual_error

    @property
    def residual_error(self) -> float:
        """The residual standard error, the square root of the residual variance."""
        df = self.df_residual
        return self.residual_norm / sqrt(df) if df > 0 else nan

    @property
    def error(self) -> float:
        """The factor of ``error_root``; NaN for a perfect fit, and with a penalty."""
        if self.perfect or self.l2:
            return nan
        robust = self.robust is not None and self.df_residual > 0
        return self.residual_norm if robust else self.residual_error

    @property
    def error_root(self) -> np.ndarray:
        """A matrix B of shape (rank, estimates): B'B times the square of ``error`` is the
        covariance of the estimates.
        """
        found = root = self.root[:, 1 - int(self.fit_intercept) :]
        if self.robust is not None:
            found = self.robust.root @ root
            sizes = np.linalg.norm(found, axis=0), np.linalg.norm(root, axis=0)
            found[:, sizes[0] <= self.rounding * sizes[1]] = 0.0
        return found

    @property
    def rounding(self) -> float:
        """Rounding errors of the residuals, relative to their norm."""
        size = self.y_norm + np.abs(self.coef) @ self.spread
        return ROUNDING * (1 + size / self.residual_norm) if self.residual_norm else 0.0

    @property
    def standard_errors(self) -> np.ndarray:
        """Square roots of the diagonal of the covariance."""
        lengths = np.linalg.norm(self.error_root, axis=0)
        return np.where(np.isnan(self.estimates), nan, self.error * lengths)

    @property
    def r_squared(self) -> float:
        """Explained share of the variance of y (without an intercept, of its mean square)."""
        return min(1.0, (self.explained_norm / self.y_norm) ** 2) if self.y_norm else nan

    @property
    def adjusted_r_squared(self) -> float:
        """R^2 with unbiased estimates of both variances."""
        if not self.y_norm or self.df_residual <= 0:
            return nan
        df_total = self.n_rows - int(self.fit_intercept)
        return 1 - (self.residual_norm / self.y_norm) ** 2 * df_total / self.df_residual

    @property
    def f(self) -> float:
        """F statistic of the hypothesis that all weights but the intercept are zero: Wald's, with
        the covariance of the fit. NaN if that is singular, as with too few clusters.
        """
        df, first = self.df_model, int(self.fit_intercept)
        if not df or not self.residual_error > 0 or self.l2:
            return nan
        if self.robust is None:
            ratio = self.explained_norm / self.residual_error
            return ratio * ratio / df
        # b' C^-1 b of the coefficients b and their covariance C = A'R'R A, in the orthonormal
        # columns, where only R can be singular
        A = self.root[first:, 1:][:, self.kept]
        inner = np.linalg.solve(A.T, self.coef[self.kept] / self.residual_norm)
        _, sizes, V = np.linalg.svd(self.robust.root[:, first:])
        if sizes[-1] <= self.rounding:
            return nan
        return float(np.square((V @ inner) / sizes).sum()) / df

    @property
    def f_p_value(self) -> float:
        """p-value of the F statistic."""
        a, b = self.df_model, max(self.degrees, 1)
        return upper_tail(self.f, a, b) if a and not self.l2 else nan

    @property
    def correlation(self) -> float:
        """Pearson's r of y and a single feature; NaN for several features or no intercept."""
        if self.kept.tolist() != [True] or not self.fit_intercept or not self.y_norm:
            return nan
        return float(np.clip(self.coef[0] * (self.spread[0] / self.y_norm), -1, 1))

    @property
    def moments(self) -> Moments | None:
        """Moments of y and a single feature; None for several, no intercept, one row, or weights
        other than 1.
        """
        n, ones = self.n_rows, self.total_weight == self.n_rows and self.log_weights == 0
        if self.coef.size != 1 or not self.fit_intercept or not ones or n < 2:
            return None
        variance = float(self.spread[0] * (self.spread[0] / (n - 1)))
        of_y, covariance = self.y_norm * (self.y_norm / (n - 1)), float(self.coef[0]) * variance
        return Moments(float(self.means[0]), self.mean_y, variance, of_y, covariance)

    @property
    def log_likelihood(self) -> float:
        """Maximum log-likelihood of normal residuals; infinite for a perfect fit."""
        if self.perfect:
            return inf
        constant = 1 + log(2 * pi) + 2 * log(self.residual_norm) - log(self.n_rows)
        return float(-self.n_rows / 2 * constant + self.log_weights / 2)

    @property
    def aic(self) -> float:
        """Akaike's criterion, without the variance, as in statsmodels: 2 less than R's."""
        return 2 * self.n_parameters - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Schwarz's criterion, which counts what ``aic`` does: ln(rows) less than R."""
        return self.n_parameters * log(self.n_rows) - 2 * self.log_likelihood

    @np.errstate(over="ignore", invalid="ignore")
    def bands(self, X: np.ndarray, predicted: np.ndarray, of: str, level: float) -> Bands:
        """Return intervals of the mean ("confidence") or of new rows of weight 1 ("prediction",
        ParameterError with a robust covariance).
        """
        parts = self.orthonormal(X)
        if self.robust is not None:
            if of == "prediction":
                why = f"With {self.robust.name} the variance of a new row is not known"
                how = hint("use {}", interval="confidence")
                raise ParameterError(why, how, code="conflict", option="interval", value=of)
            parts = parts @ self.robust.root.T
        variance = np.square(parts).sum(axis=1) + (of == "prediction")
        reach = t_reach(check_level(level), self.degrees) * self.error * np.sqrt(variance)
        return Bands(predicted, predicted - reach, predicted + reach)
