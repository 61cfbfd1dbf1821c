"""Least squares by a QR factorization of the rows in lanes, and everything inference needs of it.

The triangular factor R of the columns 1, y and the features has R'R = the sums of their products.
That of a lane is computed by Householder's method, or in a quarter of the time by Cholesky's from
the products if their condition number loses at most six of sixteen digits; the factors of lanes are
stacked and factored again in the tree of the lanes. Columns are about the means of the first lane.
A column is a combination of those before it if what they leave of it is rounding error. Where
columns are correlated, one step of refinement follows, with residuals and their products in pairs
of floats (A. Bjorck, BIT 7, 1967, 257-278): estimates are then as good as the rows as they stand.
"""

import os
import threading
from dataclasses import dataclass, field, replace
from functools import reduce
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import blas, lapack

from linsep._system.threads import one_blas_thread
from linsep.batches import Batch, Batches
from linsep.errors import DataError, FeatureOverflow, hint, warn_caller
from linsep.inference.robust import Robust
from linsep.inference.signatures import Signature
from linsep.lanes import Lanes, no_weight

#: a split of a float into halves
SPLIT = float(2**27 + 1)
EPS = float(np.finfo(np.float64).eps)

Pair = tuple[Any, Any]


def two_sum(a: Any, b: Any) -> Pair:
    """Return the rounded sum and its exact rounding error (Knuth)."""
    whole = a + b
    part = whole - a
    return whole, (a - (whole - part)) + (b - part)


def two_product(a: Any, b: Any) -> Pair:
    """Return the rounded product and its exact rounding error (Dekker)."""
    whole = a * b
    a_up, b_up = SPLIT * a, SPLIT * b
    a_hi, b_hi = a_up - (a_up - a), b_up - (b_up - b)
    a_lo, b_lo = a - a_hi, b - b_hi
    return whole, ((a_hi * b_hi - whole) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo


def pair_sum(hi: np.ndarray, lo: np.ndarray) -> Pair:
    """Return the sums of pairs of floats along the last axis, pairwise."""
    while (n := hi.shape[-1]) > 1:
        half = n // 2
        whole, lost = two_sum(hi[..., :half], hi[..., half : 2 * half])
        lost += lo[..., :half] + lo[..., half : 2 * half]
        hi = np.concatenate([whole, hi[..., 2 * half :]], axis=-1)
        lo = np.concatenate([lost, lo[..., 2 * half :]], axis=-1)
    return hi.sum(axis=-1), lo.sum(axis=-1)


class Targets(NamedTuple):
    """Counts of some rows: the sums of their weights and of the logarithms of these; the mean of y
    and the sum of squares around it; whether each y is the smallest or the largest; a signature.
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
    l2 : float, the penalty of a ridge, which is then included in the products behind ``root``
    two_values : the two values of y; None if it has others
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


#: bytes at the peak for each product of two features, measured, and features that are too many for
#: any memory
PRODUCT_BYTES, MOST_FEATURES = 130, 1 << 14
#: values of a lane from which its factor may be computed from products, and the largest condition
#: number of their correlations
MANY_VALUES, WORST_CONDITION = 1 << 16, 1e6
#: rows whose residuals are computed at a time in pairs of floats
ROWS = 2048
#: share of the size of a column below which its spread is rounding error
CONSTANT = 1e-12
#: rounding errors that may separate a column from exact dependence
ROUNDINGS = 16.0
#: unexplained share of the length of y above which a fit is not perfect
UNEXPLAINED = 2.0**-20
#: values of rows that are few, for which each digit counts, and largest variance inflations of
#: these and of more without a refinement; terms of the intercept over their sum
FEW_VALUES, INFLATED, MUCH_INFLATED, CANCELED = 1 << 17, 10.0, 1e4, 3e3
#: condition number above which the digits of weights are few
NO_CONDITION = 1e14


class DependentFeaturesWarning(UserWarning):
    """Features are linear combinations of others, so their weights are undetermined."""


class IllConditionedWarning(UserWarning):
    """The condition number of the features is above 1e14, so few digits of weights are reliable."""


def refuse_too_many(features: int) -> None:
    """Raise DataError for features whose products need more than three quarters of the memory."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        memory = 8 << 30
    most = min(MOST_FEATURES, isqrt(memory * 3 // (4 * PRODUCT_BYTES)))
    if features > most:
        bits = most.bit_length() - 1
        raise DataError(
            f"Least squares of {features:,} features needs all their products, which do not fit "
            "in memory",
            f"choose at most {most:,} features",
            hint("hash into fewer with {}", hash_bits=bits),
            hint("with {}", text_bits=bits),
            code="too-large",
        )


def triangle(Z: np.ndarray) -> np.ndarray:
    """Return the triangular factor of rows by Householder's method, or its first rows."""
    return np.triu(lapack.dgeqrf(Z)[0][: Z.shape[1]])


def by_products(G: np.ndarray) -> np.ndarray | None:
    """Return the factor from the products, lower triangle; None if it would lose more than six
    digits.
    """
    sizes = np.sqrt(np.diag(G))
    some = sizes > 0
    S = G[some][:, some] / np.outer(sizes[some], sizes[some])
    factor, info = lapack.dpotrf(S, lower=1, clean=1)
    if info or not len(S):
        return None
    norm = np.abs(S).sum(axis=0).max()
    if not WORST_CONDITION * lapack.dpocon(factor, norm, uplo="L")[0] >= 1:
        return None
    R = np.zeros((len(S), len(G)))
    R[:, some] = factor.T * sizes[some]
    return R


class Factor(NamedTuple):
    """A factor R of the columns 1, y and the features, and what is counted of the rows."""

    R: np.ndarray
    y: Targets

    def widened(self, width: int) -> np.ndarray:
        """Return R for more features, which are zero in these rows."""
        more = width - self.R.shape[1]
        return np.pad(self.R, ((0, 0), (0, more))) if more else self.R


def added_factors(one: Factor, other: Factor) -> Factor:
    """Return the factor of the rows of both; missing features are zero."""
    width = max(one.R.shape[1], other.R.shape[1])
    both = np.vstack([one.widened(width), other.widened(width)])
    return Factor(triangle(both) if len(both) > width else both, one.y.and_more(other.y))


class Columns(NamedTuple):
    """Columns 1, y and the features, minus ``shift`` (zero unless centered) and then divided by
    ``scale``, a power of two; features that are not in them are neither shifted nor scaled.
    """

    shift: np.ndarray
    scale: np.ndarray

    @classmethod
    def of_first(cls, first: Batch, center: bool) -> "Columns":
        """Shift by the means of the first lane, and scale columns that could overflow."""
        shift, some = np.zeros(2 + first.X.shape[1]), first.between(0, min(64, first.size))
        if center:
            shift[1] = np.mean(first.y)
        if first.sparse:
            tops = abs(some.X).max(axis=0).toarray().ravel()
        else:
            if center:
                shift[2:] = first.dense().mean(axis=0, dtype=np.float64)
            tops = np.abs(some.dense() - shift[2:]).max(axis=0)
        tops = np.concatenate([[1.0, np.abs(first.y[:64] - shift[1]).max()], tops])
        exponents = np.frexp(np.where(tops > 0, tops, 1.0))[1]
        return cls(shift, np.ldexp(1.0, np.where(np.abs(exponents) > 60, exponents, 0)))

    def wider(self, width: int) -> "Columns":
        """Return the same with more columns, or with fewer."""
        more = np.zeros(max(0, width - len(self.shift)))
        return Columns(
            np.append(self.shift, more)[:width], np.append(self.scale, more + 1.0)[:width]
        )

    def __call__(self, lane: Batch) -> Factor:
        """Return the factor of a lane."""
        refuse_too_many(lane.X.shape[1])
        many, R = lane.y.size * (2 + lane.X.shape[1]) >= MANY_VALUES, None
        if lane.sparse and not self.shift[2:].any():
            R = by_products(self._sparse_products(lane)) if many else None
            if R is None:
                rows = max(512, MANY_VALUES // (2 + lane.X.shape[1]))
                R = reduce(_more_rows, map(self.dense, lane.cut(rows)), np.zeros((0, 0)))
            return Factor(R, Targets.of(lane))
        Z = self.dense(lane)
        R = by_products(blas.dsyrk(1.0, Z.T, lower=1)) if many else None
        return Factor(triangle(Z) if R is None else R, Targets.of(lane))

    def _sparse_products(self, lane: Batch) -> np.ndarray:
        """Return the products of sparse columns."""
        X, (shift, scale) = sp.csr_array(lane.X), self.wider(2 + lane.X.shape[1])
        ones = np.column_stack([np.ones(lane.y.size), (lane.y - shift[1]) / scale[1]])
        values = X.data / scale[2:][X.indices]
        if lane.weights is not None:
            root = np.sqrt(lane.weights)
            values, ones = values * np.repeat(root, np.diff(X.indptr)), ones * root[:, None]
        X = sp.csr_array((values, X.indices, X.indptr), shape=X.shape)
        left = np.vstack([ones.T @ ones, X.T @ ones])
        return np.hstack([left, np.vstack([left[2:].T, (X.T @ X).toarray()])])

    def dense(self, lane: Batch) -> np.ndarray:
        """Return the shifted and scaled columns of some rows, in a buffer reused by each thread."""
        features, rows = lane.dense(), lane.y.size
        end, width = 2 + features.shape[1], max(2 + features.shape[1], len(self.shift))
        shift, scale = self.wider(width)
        if len(getattr(_local, "buffer", "")) < rows * width:
            _local.buffer = np.empty(rows * width)
        Z = _local.buffer[: rows * width].reshape(rows, width)
        Z[:, 0] = 1.0
        Z[:, 1] = lane.y
        Z[:, 1] -= shift[1]
        np.subtract(features, shift[2:end], out=Z[:, 2:end])
        Z[:, end:] = -shift[end:]  # features that are zero in all rows of the lane
        if (scale != 1.0).any():
            Z[:, 1:] /= scale[1:]
        if lane.weights is not None:
            Z *= np.sqrt(lane.weights)[:, None]
        return Z


#: a buffer for each thread
_local = threading.local()


def _more_rows(R: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return triangle(np.vstack([R, Z]) if len(R) else Z)


class Residuals(NamedTuple):
    """Products of the columns 1 and the features with the residuals, and the sum of their squares,
    as pairs of floats.
    """

    coef: np.ndarray
    intercept: Pair

    def __call__(self, lane: Batch) -> np.ndarray:
        """Return the products of a lane, shape (features + 2, 2); the squares come last."""
        return reduce(added_residuals, map(self._of, lane.cut(ROWS)))

    def _of(self, part: Batch) -> np.ndarray:
        X = part.dense().T.astype(np.float64)  # [features, rows]
        hi, lo = two_product(X, -self.coef[: len(X), None])
        about, lost = two_sum(part.y.astype(np.float64), -self.intercept[0])
        hi, lo = np.vstack([about, hi]), np.vstack([lost - self.intercept[1], lo])
        hi, lo = two_sum(*pair_sum(hi.T, lo.T))
        weighted, rest = hi, lo
        if part.weights is not None:
            weighted, rest = two_product(hi, part.weights)
            rest += lo * part.weights
        found = np.zeros((self.coef.size + 2, 2))
        found[0] = pair_sum(weighted, rest)
        products, lost = two_product(X, weighted)
        found[1 : 1 + len(X)] = np.transpose(pair_sum(products, lost + X * rest))
        found[-1, 0] = weighted @ hi
        return found


def added_residuals(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the sums over the rows of both."""
    total, lost = two_sum(one[:, 0], other[:, 0])
    return np.column_stack([total, one[:, 1] + other[:, 1] + lost])


def least_squares(
    blocks: Batches | Lanes, *, fit_intercept: bool = True, l2: float = 0.0
) -> LeastSquares:
    """Return the least squares solution for the rows of ``blocks``, all finite; with ``l2``, a
    ridge's. DataError if the products of the features do not fit in three quarters of the memory,
    or squares of values overflow.
    """
    rows = blocks if isinstance(blocks, Lanes) else Lanes(blocks)
    # whatever other threads do: with more BLAS threads, the bits would depend on their number
    with one_blas_thread, np.errstate(over="ignore", invalid="ignore"):
        first = rows.first()
        columns = Columns.of_first(first, fit_intercept)
        found: Factor = rows.sum(columns, added_factors)
        refuse_too_many(rows.width)  # the last features may be zero in the rows so far
        R, columns = found.widened(2 + rows.width), columns.wider(2 + rows.width)
        if lost := np.flatnonzero(~np.isfinite(R).all(axis=0)).tolist():
            raise FeatureOverflow(lost[-1] - 2) if lost[-1] > 1 else _overflow()
        precision = float(np.finfo(first.X.dtype).eps)
        fit = _solved(R, columns, found.y, fit_intercept, l2, precision)
        if _is_unsure(fit):
            fit = _refined(fit, rows)
        if not np.isfinite([*fit.coef, fit.intercept, fit.rss]).all():
            raise _overflow()
        size = (
            _raw(fit) @ (np.abs(fit.coef) * precision)
            + np.hypot(fit.y_norm, fit.mean_y * np.sqrt(fit.total_weight)) * EPS
        )
    if fit.residual_norm <= min(size, UNEXPLAINED * fit.y_norm):
        return replace(fit, perfect=True, residual_norm=0.0, explained_norm=fit.y_norm)
    return fit


def _overflow() -> DataError:
    return DataError(
        "The weights, or the squared residuals, overflow float64: scale the features and y.",
        code="overflow",
    )


def _raw(fit: LeastSquares) -> np.ndarray:
    """Return the lengths of the features about zero."""
    return np.hypot(fit.spread, fit.means * np.sqrt(fit.total_weight))


def _solved(
    R: np.ndarray, columns: Columns, y: Targets, fit_intercept: bool, l2: float, precision: float
) -> LeastSquares:
    """Return the solution from a factor of all rows; ``precision``: of the features."""
    first, total = int(fit_intercept), y.weight
    order = [*[0] * first, *range(2, len(columns.shift)), 1]
    lengths = np.linalg.norm(R[:, order], axis=0)
    lengths[lengths == 0] = 1.0
    T, units = triangle(R[:, order] / lengths), columns.scale[order] * lengths
    T = np.vstack([T, np.zeros((len(order) - len(T), len(order)))])
    about = T[0] / T[0, 0] * (units / units[0]) if first else np.zeros(len(order))
    means, rest = two_sum(columns.shift[order], about)
    C, units, means, rest = T[first:, first:], units[first:], means[first:], rest[first:]
    own = np.linalg.norm(C, axis=0)
    raw = np.hypot(own, means * np.sqrt(total) / units)
    if first:
        own[own <= CONSTANT * raw] = 0.0
    C, d = np.where(own > 0, C, 0.0), len(units) - 1
    kept, others = list[int](), dict[int, np.ndarray]()
    if l2:
        C = triangle(np.vstack([C, np.diag(np.append(np.sqrt(l2) / units[:-1], 0.0))]))

    def dependent(j: int, left: float, part: np.ndarray) -> bool:
        size = raw[j] + np.abs(part) @ raw[kept]
        return left <= min(precision**0.75 * own[j], ROUNDINGS * precision * size)

    if (np.abs(np.diag(C))[:-1] > precision**0.75 * own[:-1]).all():
        kept = list(range(d))
    else:
        C = _eliminated(C, dependent, kept, others)
    C = C * np.copysign(1.0, np.diag(C))[:, None]
    U, q, u = C[: len(kept), : len(kept)], C[: len(kept), -1], units[kept]
    inverse = lapack.dtrtri(U)[0] if kept else U
    b = inverse @ q if own[-1] else np.zeros(len(kept))
    coef, inner, is_kept = np.zeros(d), np.zeros((len(kept), d)), np.zeros(d, dtype=bool)
    coef[kept], inner[:, kept], is_kept[kept] = b * units[-1] / u, inverse.T / u, True
    if kept and (rcond := lapack.dtrcon(U / np.linalg.norm(U, axis=0))[0]) * NO_CONDITION < 1:
        message = (
            f"The condition number of the features is {1 / max(rcond, EPS**2):.0e}, so few digits "
            "of the weights are reliable: leave some out, or subtract a common part."
        )
        warn_caller(IllConditionedWarning(message))
    root = np.column_stack([-(inner @ means[:-1]), inner])
    if first:
        root = np.vstack([np.eye(1, 1 + d) / np.sqrt(total), root])
    residual, explained = np.abs(C[-1, -1]) * (own[-1] > 0), np.linalg.norm(q)
    if l2:  # what is left is the squared residuals and the penalty
        residual = np.sqrt(max(residual**2 - l2 * np.square(b / u).sum(), 0.0))
        explained = np.sqrt(max(own[-1] ** 2 - residual**2, 0.0))
    combinations = {}
    for j, part in others.items():
        row = combinations[j] = np.zeros(1 + d)
        row[1 + np.array(kept[: part.size], dtype=np.intp)] = part * units[j] / u[: part.size]
        row[0] = means[j] - means[:-1] @ row[1:]
    fit = LeastSquares(
        coef=coef + 0.0,  # no negative zero
        intercept=0.0,
        kept=is_kept,
        root=root,
        means=means[:-1],
        mean_y=float(means[-1]),
        means_rest=np.append(rest[-1], rest[:-1]),
        spread=own[:-1] * units[:-1],
        residual_norm=float(residual * units[-1]),
        y_norm=float(own[-1] * units[-1]),
        explained_norm=float(explained * units[-1]),
        perfect=False,
        n_rows=y.rows,
        total_weight=total,
        log_weights=y.log_weights,
        fit_intercept=fit_intercept,
        l2=l2,
        combinations=combinations,
        two_values=y.both,
        deviation=y.deviation,
        signature=y.signature.text,
    )
    return replace(fit, intercept=float(sum(_intercept(fit))))


def _eliminated(
    C: np.ndarray, dependent: Any, kept: list[int], others: dict[int, np.ndarray]
) -> np.ndarray:
    """Return the factor of y, the last column, and those that are no combinations of earlier ones,
    by Householder's method; ``kept`` and ``others`` are filled.
    """
    T = C[C.any(axis=1)]
    for j in range(T.shape[1] - 1):
        r, column = len(kept), T[len(kept) :, j].copy()
        left = float(np.linalg.norm(column))
        part = lapack.dtrtrs(T[:r, kept], T[:r, j])[0] if r else np.zeros(0)
        if dependent(j, left, part):
            others[j] = part
            continue
        column[0] += np.copysign(left, column[0])
        T[r:, j:] -= np.outer(column * (2.0 / (column @ column)), column @ T[r:, j:])
        kept.append(j)
    r = len(kept)
    rest = np.append(np.zeros(r), np.linalg.norm(T[r:, -1]))
    return np.triu(np.vstack([T[:r, [*kept, -1]], rest]))


def _intercept(fit: LeastSquares) -> Pair:
    """Return the intercept as a pair of floats."""
    parts, lost = two_product(fit.means, -fit.coef)
    lost -= fit.means_rest[1:] * fit.coef
    return two_sum(*pair_sum(np.append(fit.mean_y, parts), np.append(fit.means_rest[0], lost)))


def _is_unsure(fit: LeastSquares) -> bool:
    """Return whether estimates may have lost digits, or the fit may be perfect."""
    if not fit.y_norm or not fit.kept.any():
        return False
    terms = abs(fit.mean_y) + np.abs(fit.coef) @ np.abs(fit.means)
    few = fit.n_rows * (2 + fit.coef.size) <= FEW_VALUES
    return bool(
        np.nanmax(fit.inflation) > (INFLATED if few else MUCH_INFLATED)
        or (few and terms > CANCELED * abs(fit.intercept) > 0)
        or fit.residual_norm <= UNEXPLAINED * fit.y_norm
    )


def _refined(fit: LeastSquares, rows: Lanes) -> LeastSquares:
    """Correct the estimates by the products of the columns with the residuals."""
    before, inner = _intercept(fit), fit.root[int(fit.fit_intercept) :, 1:]
    found = rows.sum(Residuals(fit.coef, before), added_residuals)
    total, g, moved = found[0], found[1:-1], 0.0
    if fit.fit_intercept:
        parts, lost = two_product(fit.means, -total[0])
        lost -= fit.means * total[1] + fit.means_rest[1:] * total[0]
        hi, rest = two_sum(g[:, 0], parts)
        g, moved = np.column_stack([hi, rest + (g[:, 1] + lost)]), total.sum() / fit.total_weight
    about, pull = g.sum(axis=1), fit.l2 * fit.coef
    step = inner.T @ (inner @ (about - pull))
    squares = found[-1].sum() - (moved * total.sum() + step @ (about + pull + fit.l2 * step))
    coef, residual = fit.coef + step, float(np.sqrt(max(squares, 0.0)))
    explained = np.sqrt(max((fit.y_norm - residual) * (fit.y_norm + residual), 0.0))
    if explained < 0.5 * fit.y_norm and not fit.l2:  # which has lost digits
        explained = np.linalg.norm(np.linalg.solve(inner[:, fit.kept].T, coef[fit.kept]))
    intercept = sum(before) + (moved - fit.means @ step) if fit.fit_intercept else 0.0
    return replace(
        fit, coef=coef, intercept=float(intercept), residual_norm=residual,
        explained_norm=float(explained),
    )  # fmt: skip
