"""Least squares by the fastest method that is accurate for the data.

Three methods, each used only where it is accurate:

- *exact*: up to some hundred thousand values in up to thirty columns are summed without rounding
  and solved in FLINT's balls, whose radii prove the digits: the exact solution for these floats,
  rounded.
- *floats*: sums of products by BLAS, one pass, and one more to refine. Columns are shifted to about
  mean zero while they are in the cache, so that the sums do not cancel, and the correlation matrix
  is factored by Cholesky's method. That squares the condition number, so it is only done if
  LAPACK's estimate promises a loss of at most six of sixteen digits (1e6) and residuals exceed
  rounding errors; the residuals of the rows then restore the lost digits (iterative refinement:
  Higham, Accuracy and Stability of Numerical Algorithms, 2002, sections 12 and 20.5).
- *doubled*: all other data, by sums of products of 106 bits of exactly centered columns. A QR
  factorization loses digits with the condition number, normal equations with its square; with twice
  as many digits they are as accurate, and BLAS forms the sums in one pass over the rows in constant
  memory.
"""

import operator
import os
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from math import fsum, isqrt
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import blas, lapack

from linsep._system.threads import one_blas_thread, one_precision
from linsep.batches import Batch, Batches, joined
from linsep.errors import DataError, FeatureOverflow, hint, warn_caller
from linsep.lanes import Lanes
from linsep.linear.columns import (
    ScaledColumns,
    added_ranges,
    digits_of,
    exact_zeros,
    independent,
    ranges_of,
    slices_suffice,
    whole_products,
)
from linsep.linear.extended_precision import (
    ROWS,
    Elimination,
    Pair,
    balls,
    eliminate,
    floats,
    pairs,
    products,
    two_sum,
)
from linsep.linear.result import LeastSquares, Targets

#: bytes at the peak for each product of two features, measured: in floats and in 106 bits
FLOATS_BYTES, DOUBLED_BYTES = 170, 380
#: features whose products are too many for any memory
MOST_FEATURES = 1 << 14


def refuse_too_many(features: int, product_bytes: int) -> None:
    """Raise DataError for features whose products need more than three quarters of the memory."""
    most = _most_features(product_bytes)
    if features > most:
        bits = _most_features(DOUBLED_BYTES).bit_length() - 1  # so many are never refused
        inexact = " with 106 bits" if product_bytes == DOUBLED_BYTES else ""
        raise DataError(
            f"Least squares of {features:,} features needs all their products{inexact}, which do "
            "not fit in memory",
            f"choose at most {most:,} features",
            hint("hash into fewer with {}", hash_bits=bits),
            hint("with {}", text_bits=bits),
            code="too-large",
        )


def _most_features(product_bytes: int) -> int:
    return min(MOST_FEATURES, isqrt(_memory() * 3 // (4 * product_bytes)))


def _memory() -> int:
    """Return the bytes of memory of this machine, or 8 GB if unknown."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 8 << 30


#: largest acceptable condition number of the correlation matrix
WORST_CONDITION = 1e6
#: smallest acceptable share of a sum of squares after centering
LEAST_LEFT = 1e-3
#: condition number below which, and unexplained share of variance above which, no refinement is
#: needed
GOOD_CONDITION, GOOD_SHARE = 100.0, 1e-3


class Products(NamedTuple):
    """Sums of products of some rows, and what is counted of them.

    Attributes
    ----------
    total, lost : lower triangles of shape (width, width), their sum and its rounding errors
    y : Targets
    """

    total: np.ndarray
    lost: np.ndarray
    y: Targets


def added_products(a: Products, b: Products) -> Products:
    """Return the sums over the rows of both; missing features are zero."""
    width = max(len(a.total), len(b.total))
    total, rest = two_sum(_widened(a.total, width), _widened(b.total, width))
    rest += _widened(a.lost, width)
    rest += _widened(b.lost, width)
    return Products(total, rest, a.y.and_more(b.y))


def _widened(matrix: np.ndarray, width: int) -> np.ndarray:
    """Return a matrix with more rows and columns of zeros, if it has fewer."""
    more = width - len(matrix)
    return np.pad(matrix, (0, more)) if more else matrix


class Shifted(NamedTuple):
    """Columns 1, y and the features, minus ``shift`` (zero unless centered) and then divided by
    ``scale``, a power of two; features that are not in them are neither shifted nor scaled.
    """

    shift: np.ndarray
    scale: np.ndarray

    @classmethod
    def of_first(cls, first: Batch, center: bool) -> "Shifted":
        """Shift by the means of the first lane, and scale columns that could overflow."""
        width = 2 + first.X.shape[1]
        shift = np.zeros(width)
        if center:
            shift[1] = np.mean(first.y)
        if not first.sparse:
            X = first.dense()
            if center:
                shift[2:] = X.mean(axis=0, dtype=np.float64)
            tops = np.abs(X - shift[2:]).max(axis=0)
        else:
            tops = abs(first.X).max(axis=0).toarray().ravel()
        tops = np.concatenate([[1.0, np.abs(first.y - shift[1]).max()], tops])
        exponents = np.frexp(np.where(tops > 0, tops, 1.0))[1]
        return cls(shift, np.ldexp(1.0, np.where(np.abs(exponents) > 60, exponents, 0)))

    def wider(self, width: int) -> "Shifted":
        """Return the same with more columns, or with fewer."""
        more = max(0, width - len(self.shift))
        return Shifted(
            np.pad(self.shift, (0, more))[:width],
            np.pad(self.scale, (0, more), constant_values=1.0)[:width],
        )

    def __call__(self, lane: Batch) -> Products:
        """Return the sums of products of a lane."""
        refuse_too_many(lane.X.shape[1], FLOATS_BYTES)
        if self.keeps_zeros(lane):
            X, ones = self.sparse_columns(lane)
            product = np.zeros((2 + X.shape[1], 2 + X.shape[1]))
            product[:2, :2] = ones.T @ ones
            product[2:, :2] = X.T @ ones
            product[2:, 2:] = (X.T @ X).toarray()
            product = np.tril(product)
        else:
            product = blas.dsyrk(1.0, self.columns(lane).T, lower=1)
        return Products(product, np.zeros_like(product), Targets.of(lane))

    def keeps_zeros(self, lane: Batch) -> bool:
        """Return whether a lane stays sparse: its features are not shifted."""
        return lane.sparse and not self.shift[2:].any()

    def columns(self, lane: Batch) -> np.ndarray:
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

    def sparse_columns(self, lane: Batch) -> tuple[Any, np.ndarray]:
        """Return the features, scaled but not shifted, and the columns 1 and y, of some rows."""
        X, (shift, scale) = sp.csr_array(lane.X), self.wider(2 + lane.X.shape[1])
        ones = np.column_stack([np.ones(lane.y.size), (lane.y - shift[1]) / scale[1]])
        values = X.data / scale[2:][X.indices]
        if lane.weights is not None:
            root = np.sqrt(lane.weights)
            values, ones = values * np.repeat(root, np.diff(X.indptr)), ones * root[:, None]
        return sp.csr_array((values, X.indices, X.indptr), shape=X.shape), ones


#: a buffer for each thread
_local = threading.local()


class Residues(NamedTuple):
    """Products of all columns with the residuals for ``beta``, and the sum of their squares, each
    with its rounding errors.
    """

    columns: Shifted
    beta: np.ndarray

    def __call__(self, lane: Batch) -> np.ndarray:
        """Return the products of a lane: one column for sums and one for errors; the squares come
        last.
        """
        found = np.zeros((len(self.beta) + 1, 2))
        if self.columns.keeps_zeros(lane):
            X, ones = self.columns.sparse_columns(lane)
            end = 2 + X.shape[1]
            r = -(ones @ self.beta[:2] + X @ self.beta[2:end])
            found[:end, 0] = np.concatenate([ones.T @ r, X.T @ r])
        else:
            Z = self.columns.columns(lane)
            r = -(Z @ self.beta[: Z.shape[1]])
            found[: Z.shape[1], 0] = Z.T @ r
        found[-1, 0] = r @ r
        return found


def added_residues(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the sums over the rows of both."""
    total, rest = two_sum(a[:, 0], b[:, 0])
    return np.column_stack([total, a[:, 1] + b[:, 1] + rest])


class Moments:
    """Sums of products of the columns 1, y and the features, of all rows.

    Attributes
    ----------
    columns : Shifted, with all features
    y : Targets
    dtype : data type of the features
    """

    def __init__(self, rows: Any, center: bool) -> None:
        first = rows.first()
        self._rows, self.dtype = rows, first.X.dtype
        columns = Shifted.of_first(first, center)
        found: Products = rows.sum(columns, added_products)
        refuse_too_many(rows.width, FLOATS_BYTES)  # the last may be zero in the rows so far
        more = max(0, 2 + rows.width - len(found.total))  # features that are zero in all rows
        self._total, self._lost = np.pad(found.total, (0, more)), np.pad(found.lost, (0, more))
        self.columns, self.y = columns.wider(len(self._total)), found.y
        self.shift, self.scale = self.columns
        self.weight = float(found.total[0, 0])

    def sums(self) -> np.ndarray:
        """Return the total as a full symmetric matrix, rounded once."""
        lower = np.tril(self._total + self._lost)
        return lower + np.tril(lower, -1).T

    def residual_products(self, beta: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the products of all columns with the residuals, and the sum of their squares."""
        found = self._rows.sum(Residues(self.columns, beta), added_residues).sum(axis=1)
        return found[:-1], float(found[-1])


@dataclass
class Solved:
    """Solution in the shifted and scaled columns.

    Attributes
    ----------
    beta : array of shape (width,)
        Coefficients of the columns 1, y (always -1) and the features; rows times beta are minus
        the residuals.
    inverse_root : array of shape (features, features)
        A with A S A' = 1, where S are the centered sums of products of the features.
    means : array of shape (1 + features,), of y and the features; zeros without an intercept
    spread : array of shape (features,), square roots of the diagonal of S
    rss, tss, explained : float
        Sums of squares of the residuals, of y and of the predictions, the latter two about the mean
        of y with an intercept.
    """

    beta: np.ndarray
    inverse_root: np.ndarray
    means: np.ndarray
    spread: np.ndarray
    rss: float
    tss: float
    explained: float

    def vouches(self, least: float) -> bool:
        """Return whether residuals exceed this share of the terms they are differences of."""
        size = np.sqrt(self.tss) + np.abs(self.beta[2:]) @ self.spread
        return bool(self.rss > (least * size) ** 2)


def solve(
    moments: Moments, fit_intercept: bool, always_refine: bool, l2: float = 0.0
) -> Solved | None:
    """Solve from the moments of all rows; return None if floats are not accurate enough.

    Parameters
    ----------
    moments : Moments
    fit_intercept : bool
    always_refine : bool
        False saves the second pass if the first is accurate enough.
    l2 : float
        Times the squared coefficients of the original features, added to the squared residuals.
    """
    G = moments.sums()
    if not np.isfinite(G).all():
        return None
    raw = np.diag(G).copy()
    means = G[0] / G[0, 0] if fit_intercept else np.zeros(len(G))
    S = G - np.outer(means, means) * G[0, 0]
    features = np.arange(2, len(G))
    left = np.diag(S)[2:]
    if (left <= LEAST_LEFT * raw[2:]).any():
        return None
    spread, ridge = np.sqrt(left), np.zeros(features.size)
    if l2:
        ridge = l2 / np.square(moments.scale[2:])
    correlations = (S[2:, 2:] + np.diag(ridge)) / np.outer(spread, spread)
    factor, info = lapack.dpotrf(correlations, lower=1, clean=1)
    if info:
        return None
    norm = np.abs(correlations).sum(axis=0).max(initial=0.0)
    condition = 1 / lapack.dpocon(factor, norm, uplo="L")[0] if features.size else 1.0
    if not condition <= WORST_CONDITION:
        return None

    def back(g: np.ndarray) -> np.ndarray:
        """Return the correction of beta for products g of the columns with the residuals."""
        about = g[2:] - means[2:] * g[0] if fit_intercept else g[2:]
        step = np.zeros(len(G))
        if features.size:
            step[2:] = lapack.dpotrs(factor, about / spread, lower=1)[0] / spread
        step[0] = g[0] / G[0, 0] - means[2:] @ step[2:] if fit_intercept else 0.0
        return step

    beta, tss = back(G[:, 1]), float(S[1, 1])
    rss = tss - float(beta[2:] @ S[2:, 1]) - float(ridge @ beta[2:] ** 2)
    beta[1] = -1.0
    if always_refine or condition > GOOD_CONDITION or rss < GOOD_SHARE * tss:
        rss_refined = _refine(moments, beta, back, spread, ridge)
        if rss_refined is None:
            return None
        rss = rss_refined
    inverse = lapack.dtrtri(factor, lower=1)[0] if features.size else factor
    explained = float(np.square(factor.T @ (beta[2:] * spread)).sum())
    if l2:  # residuals and predictions are not orthogonal
        explained = max(tss - rss, 0.0)
    return Solved(beta, inverse / spread, means[1:], spread, rss, tss, explained)


def _refine(
    moments: Moments, beta: np.ndarray, back: Any, spread: np.ndarray, ridge: np.ndarray
) -> float | None:
    """Correct ``beta`` by the products of the columns with the residuals.

    Returns the sum of squared residuals, or None if the corrections do not converge.
    """
    for _ in range(3):
        g, squares = moments.residual_products(beta)
        pull = ridge * beta[2:]
        step = back(np.concatenate([g[:2], g[2:] - pull]))
        beta += step
        moved = np.abs(step[2:] * spread).max(initial=0.0)
        rss = squares - float(step[0] * g[0] + step[2:] @ (g[2:] + pull + ridge * step[2:]))
        if moved <= 1e-11 * np.abs(beta[2:] * spread).max(initial=0.0) + 1e-13 * np.sqrt(squares):
            return max(rss, 0.0)
    return None


#: most values and most columns for the exact method
EXACT_VALUES, EXACT_WIDTH = 1 << 17, 32
#: bits of the balls; quadrupled until they prove 64 bits of every number
PRECISION = 640
#: relative length that rounded sums of 106 bits cannot distinguish from zero
DOUBLED_TOLERANCE = 2.0**-48
#: their rounding error, relative to the squared lengths summed
DOUBLED_ERROR = 2.0**-104
#: smallest relative length of residuals that are accurate enough in floats
LEAST_RESIDUAL = 1e-8


class DependentFeaturesWarning(UserWarning):
    """Features are linear combinations of others, so their weights are undetermined."""


class IllConditionedWarning(UserWarning):
    """Features are so nearly dependent that fewer than eight digits of the weights are reliable."""


def least_squares(
    blocks: Batches | Lanes, *, fit_intercept: bool = True, reread: bool = True, l2: float = 0.0
) -> LeastSquares:
    """Return the least squares solution for the rows of ``blocks``; with ``l2``, a ridge's.

    Parameters
    ----------
    blocks : function that returns an iterator over all rows, or Lanes
        At least one row, all values finite.
    fit_intercept : bool
    reread : bool
        Whether rows are cheap to read again, for refinement; else they are reread only if needed.
    l2 : float
        Times the squared coefficients, added to the squared residuals.

    Raises
    ------
    DataError
        If the products of the features do not fit in three quarters of the memory, or squares of
        values overflow.
    """
    rows = blocks if isinstance(blocks, Lanes) else Lanes(blocks)
    few = rows.few(_too_many)
    # whatever other threads do: with more BLAS threads, the bits would depend on their number
    with one_blas_thread, np.errstate(over="ignore", invalid="ignore"):
        found = (
            _by_sums(rows, fit_intercept, reread, l2)
            if few is None
            else _by_balls(few, fit_intercept, l2)
        )
        sizes = [found.intercept, found.rss]
    lost = ~(np.isfinite(found.means) & np.isfinite(found.spread))
    if lost.any():
        raise FeatureOverflow(int(np.argmax(lost)))
    if not (np.isfinite(found.coef).all() and np.isfinite(sizes).all()):
        raise DataError(
            "The weights, or the squared residuals, overflow float64: scale the features and y.",
            code="overflow",
        )
    return found


def _by_sums(rows: Lanes, fit_intercept: bool, reread: bool, l2: float) -> LeastSquares:
    """Solve in floats, or in sums of 106 bits if floats are not accurate enough."""
    moments = Moments(rows, fit_intercept)
    solved = None
    if moments.y.low < moments.y.high or not fit_intercept:
        solved = solve(moments, fit_intercept, reread, l2)
    if solved is not None and solved.vouches(LEAST_RESIDUAL):
        return _from_floats(solved, moments, fit_intercept, l2)
    return _doubled(rows, moments, fit_intercept, l2)


def _too_many(rows: int, features: int) -> bool:
    """Return whether rows are too many for the exact method."""
    width = features + 2
    return width > EXACT_WIDTH or rows * width > EXACT_VALUES


def _by_balls(found: list[Batch], fit_intercept: bool, l2: float) -> LeastSquares:
    """Solve in balls, with increasing precision until every digit is proved."""
    from flint import ctx

    y = Targets.of(joined(list(found)))
    ranges = reduce(added_ranges, map(ranges_of, found))
    columns = ScaledColumns(ranges, fit_intercept, _digits(found[-1].X.dtype))
    with one_precision, ctx.workprec(PRECISION):
        if slices_suffice(ranges, found):
            how = columns.exponents, columns.centers, balls
            G = reduce(operator.add, (products(part, *how) for part in _parts(found)))
        else:
            G = whole_products(found, columns.exponents)
        ordered, precision = columns.penalized(columns.ordered(G), l2), PRECISION
        about = columns.about_means(G)
        rules = columns.rules(
            G, about, nothing=lambda kept, j: not independent(ordered, [*kept, j])
        )
    while True:
        with one_precision, ctx.workprec(precision):
            done = eliminate(ordered, balls, rules)
            if _proved(done, ordered):
                if precision > PRECISION:
                    about = columns.about_means(G)
                return columns.fit(done, G, about, y, "exact", l2)
        precision *= 4


def _proved(done: Elimination, G: np.ndarray) -> bool:
    """Return whether every number of the result is known to 64 bits, or to be zero."""
    if not all(_proved_to_64_bits(done.left[row]) for row in done.kept):
        return False
    parts = [ball for row in done.kept for ball in done.parts[row, : row + 1]]
    if not all(
        _proved_to_64_bits(ball) or (ball.contains(0) and ball.rad() < 1e-60) for ball in parts
    ):
        return False
    unsure = np.array([not _proved_to_64_bits(ball) for ball in done.parts[-1]])
    unsure[[j for j in range(unsure.size) if j not in done.kept]] = False
    return not unsure.any() or bool(exact_zeros(G, done.kept)[unsure].all())


def _proved_to_64_bits(ball: Any) -> bool:
    return ball.rel_accuracy_bits() >= 64


def _doubled(rows: Lanes, moments: Moments, fit_intercept: bool, l2: float) -> LeastSquares:
    """Solve by sums of 106 bits."""
    refuse_too_many(rows.width, DOUBLED_BYTES)
    ranges = rows.sum(ranges_of, added_ranges).wider(1 + rows.width)
    columns = ScaledColumns(ranges, fit_intercept, _digits(moments.dtype), centered=True)
    G = rows.sum(Doubled(columns.exponents, columns.centers), operator.add)
    about = columns.about_means(G)
    rules = columns.rules(G, about, noise=DOUBLED_TOLERANCE)
    done = eliminate(columns.penalized(columns.ordered(G), l2), pairs, rules)
    _check_digits(done)
    return columns.fit(done, G, about, moments.y, "doubled", l2)


def _check_digits(done: Elimination) -> None:
    """Warn if the residual of a column is close to the rounding errors of its sums."""
    kept = [j for j in done.kept if j < len(done.left) - 1]
    left = floats(done.left)[kept]
    lost = DOUBLED_ERROR * (done.sizes[kept] ** 2 / left).max(initial=0.0)
    if lost > 1e-8:
        message = (
            f"Features are so nearly combinations of others that only about {-np.log10(lost):.0f} "
            "digits of their weights are reliable: leave some out, or subtract a common part."
        )
        warn_caller(IllConditionedWarning(message))


class Doubled(NamedTuple):
    """Sums of products of 106 bits, of columns minus centers over powers of two."""

    exponents: np.ndarray
    centers: np.ndarray

    def __call__(self, lane: Batch) -> Pair:
        """Return the products of a lane."""
        parts = [products(part, *self, pairs) for part in lane.cut(ROWS)]
        return reduce(operator.add, parts)


def _digits(dtype: np.dtype) -> int:
    """Return the number of reliable bits in the values of features, at most those in a float."""
    return min(53, digits_of(dtype))


def _parts(blocks: Iterable[Batch]) -> Iterator[Batch]:
    for block in blocks:
        yield from block.cut(ROWS)


def _from_floats(solved: Solved, moments: Moments, fit_intercept: bool, l2: float) -> LeastSquares:
    """Convert the result for shifted and scaled columns to the original columns."""
    scale, unit_y, total = moments.scale[2:], moments.scale[1], moments.weight
    shift, shift_y = moments.shift[2:], moments.shift[1]
    coef = solved.beta[2:] * (unit_y / scale)
    means, rest = two_sum(shift, solved.means[1:] * scale)
    mean_y, rest_y = two_sum(shift_y, solved.means[0] * unit_y)
    inner = solved.inverse_root / scale
    root = np.column_stack([-(inner @ means), inner])
    intercept = 0.0
    if fit_intercept:
        root = np.vstack([np.eye(1, 1 + shift.size) / np.sqrt(total), root])
        intercept = fsum([shift_y, solved.beta[0] * unit_y, *(-coef * shift)])
    return LeastSquares(
        coef=coef,
        intercept=float(intercept),
        kept=np.ones(shift.size, dtype=bool),
        root=root,
        means=means,
        mean_y=float(mean_y),
        means_rest=np.concatenate([[rest_y], rest]),
        spread=solved.spread * scale,
        residual_norm=float(np.sqrt(solved.rss) * unit_y),
        y_norm=float(np.sqrt(solved.tss) * unit_y),
        explained_norm=float(np.sqrt(solved.explained) * unit_y),
        perfect=False,
        n_rows=moments.y.rows,
        total_weight=total,
        log_weights=moments.y.log_weights,
        fit_intercept=fit_intercept,
        method="floats",
        l2=l2,
        two_values=moments.y.both,
        deviation=moments.y.deviation,
        signature=moments.y.signature.text,
    )
