"""Result of least squares, with everything that inference needs."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.batches import Batch
from linsep.inference.robust import Robust
from linsep.inference.signatures import Signature
from linsep.lanes import no_weight


class Targets(NamedTuple):
    """Counts of some rows.

    Attributes
    ----------
    rows : int
    weight, log_weights : float, sums of the weights and of their logarithms
    mean, spread : float, of y: its weighted mean, and the sum of squares around it
    low, high : float, the smallest and the largest y
    two : bool, whether every y is one of these
    signature : Signature of the rows
    """

    rows: int
    weight: float
    log_weights: float
    mean: float
    spread: float
    low: float
    high: float
    two: bool
    signature: Signature

    @classmethod
    def of(cls, block: Batch) -> "Targets":
        """Count the rows of a block; DataError if all were of weight 0."""
        if not block.y.size:
            raise no_weight()
        y, weights = block.y.astype(np.float64, copy=False), block.weights
        low, high = float(y.min()), float(y.max())
        total, logs = float(y.size), 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            about = y - low
            if weights is None:
                mean = float(about.mean())
                about -= mean
                spread = float(about @ about)
            else:
                total, logs = float(weights.sum()), float(np.log(weights).sum())
                mean = float(weights @ about) / total
                spread = float(weights @ (about - mean) ** 2)
        some = y[:64]  # usually show a third value
        two = bool(((some == low) | (some == high)).all() and ((y == low) | (y == high)).all())
        signature = Signature.of(y, weights)
        return cls(y.size, total, logs, low + mean, spread, low, high, two, signature)

    def and_more(self, more: "Targets") -> "Targets":
        """Return the counts of both; means are merged by their difference, for accuracy."""
        weight = self.weight + more.weight
        shift, share = more.mean - self.mean, more.weight / weight
        values = {self.low, self.high, more.low, more.high}
        return Targets(
            self.rows + more.rows, weight, self.log_weights + more.log_weights,
            self.mean + share * shift, self.spread + more.spread + self.weight * share * shift**2,
            min(values), max(values), self.two and more.two and len(values) < 3,
            self.signature + more.signature,
        )  # fmt: skip

    @property
    def deviation(self) -> float:
        """The standard deviation of y: the RMS error of predicting its mean."""
        return float(np.sqrt(self.spread / self.weight))

    @property
    def both(self) -> tuple[float, float] | None:
        """The two values of y, if it has no others, else None."""
        return (self.low, self.high) if self.two and self.low < self.high else None


#: largest ratio of coefficients times means to y: rounding then loses two digits of a prediction
NEAR = 128.0


@dataclass
class LeastSquares:
    """Weighted least squares solution.

    Attributes
    ----------
    coef : array of shape (features,), zero for features left out
    intercept : float
    kept : bool array of shape (features,)
        False if a feature is a combination of earlier ones and the intercept.
    combinations : dict of feature to array of shape (1 + features,)
        Coefficients of the intercept and the other features that give each feature left out.
    root : array of shape (rank, 1 + features)
        root' root is the inverse of the sums of products of the intercept and the features kept;
        multiplied by the residual variance, it is the covariance of the estimates. Its first row
        belongs to the intercept at the means, if there is one.
    means : array of shape (features,), zeros without an intercept
    mean_y : float, zero without an intercept
    means_rest : array of shape (1 + features,)
        Rounding errors of the means of y and the features: the mean of 1.7e15, 1.7e15 + 1, ... has
        more digits than a float.
    spread : array of shape (features,)
        Square roots of the sums of squares of the features (centered with an intercept).
    residual_norm, y_norm, explained_norm : float
        Square roots of the weighted sums of squares of the residuals, of y and of the predictions,
        the latter two about the mean of y with an intercept. Unlike their squares they cannot
        overflow.
    perfect : bool
        Whether the residuals are rounding errors of the data; residual_norm is then zero.
    n_rows : int, number of rows of positive weight
    total_weight, log_weights : float, sums of the weights and of their logarithms
    fit_intercept : bool
    method : "exact", "floats" or "doubled"
    l2 : float, the penalty of a ridge, which is then included in the products behind ``root``
    two_values : the two values of y; None if it has others, or for a model from a file
    deviation : float, the standard deviation of y; NaN for a model from a file
    signature : str, of the rows; None for a model from a file that has none
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
    method: str
    l2: float = 0.0
    combinations: dict[int, np.ndarray] = field(default_factory=dict)
    two_values: tuple[float, float] | None = None
    deviation: float = np.nan
    signature: str | None = None
    robust: Robust | None = None

    @property
    def rank(self) -> int:
        """Number of estimates: features kept, and the intercept."""
        return len(self.root)

    @property
    def effective_df(self) -> float:
        """Trace of the hat matrix; without a penalty, the number of estimates (Hastie, Tibshirani
        and Friedman, The Elements of Statistical Learning, 2009, equation 3.50, and 1 for the
        intercept).
        """
        first = int(self.fit_intercept)
        return self.rank - self.l2 * float(np.square(self.root[first:, 1:]).sum())

    @property
    def rss(self) -> float:
        """The weighted sum of squared residuals."""
        return self.residual_norm * self.residual_norm

    @property
    def tss(self) -> float:
        """The weighted sum of squares of y, about its mean with an intercept."""
        return self.y_norm * self.y_norm

    @property
    def inflation(self) -> np.ndarray:
        """Variance inflation factors.

        An array of shape (features,): 1 without correlations, NaN for features left out (Belsley,
        Kuh and Welsch, Regression Diagnostics, 1980, section 3.1).
        """
        factors = np.square(self.root[:, 1:] * self.spread).sum(axis=0)
        return np.where(self.kept, factors, np.nan)

    @property
    def far(self) -> bool:
        """Whether products at zero lose digits, so that predictions are computed at the means."""
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
        about = (y - self.mean_y) - self.means_rest[0]
        return np.asarray(about - self.centered(X) @ self.coef, dtype=np.float64)

    def centered(self, X: Any) -> np.ndarray:
        """Return the rows minus the means of the features."""
        X = X.toarray() if sp.issparse(X) else X
        return (X - self.means) - self.means_rest[1:]

    def orthonormal(self, X: Any) -> np.ndarray:
        """Return the rows in orthonormal columns: ``root`` times [1, x], shape (rows, rank)."""
        first = int(self.fit_intercept)
        found = self.centered(X) @ self.root[first:, 1:].T
        if not first:
            return np.asarray(found)
        return np.column_stack([np.full(len(found), self.root[0, 0]), found])
