"""Least squares from sums of products in floats: one pass at the speed of BLAS, one to refine.

The columns are shifted to about mean zero while they are in the cache, so that sums of products do
not cancel, and the correlation matrix is factored by Cholesky's method. That squares the condition
number, so it is only done if LAPACK's estimate promises a loss of at most six of sixteen digits;
the residuals of the rows then restore the lost digits (iterative refinement: Higham, Accuracy and
Stability of Numerical Algorithms, 2002, sections 12 and 20.5).
"""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from math import fsum
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import blas, lapack

from linsep.errors import DataError
from linsep.parallel import in_order
from linsep.regression.blocks import Block, Blocks
from linsep.regression.least_squares.slices import two_sum

#: largest acceptable condition number of the correlation matrix
WORST_CONDITION = 1e6
#: smallest acceptable share of a sum of squares after centring
LEAST_LEFT = 1e-3
#: most features: products of more would not fit in memory
MOST_FEATURES = 1 << 14
#: condition number below which, and unexplained share of variance above which, no refinement is
#: needed
GOOD_CONDITION, GOOD_SHARE = 100.0, 1e-3


class Moments:
    """Sums of products of the columns 1, y and the features, of all rows read so far.

    Attributes
    ----------
    total : array of shape (width, width)
        Products of columns shifted by ``shift`` (zero unless centred) and then divided by
        ``scale``, a power of two. Use :meth:`sums` to read it.
    n_rows : int
    log_weights : float, the sum of the logarithms of the weights
    dtype : that of the features
    low_y, high_y : float, the smallest and the largest y
    """

    def __init__(self, centre: bool) -> None:
        self._centre = centre
        self.n_rows, self.log_weights, self.dtype = 0, 0.0, np.dtype(np.float64)
        self.low_y, self.high_y = np.inf, -np.inf
        self.shift, self.scale = np.zeros(2), np.ones(2)
        self.total, self._lost = np.zeros((2, 2)), np.zeros((2, 2))
        self._local = threading.local()

    def read(self, blocks: Blocks) -> None:
        """Add all rows, in one pass."""
        for product in in_order(self._products, self._parts(blocks)):
            width = len(product)
            self.total[:width, :width], lost = two_sum(self.total[:width, :width], product)
            self._lost[:width, :width] += lost

    def count(self, block: Block) -> None:
        """Update the counts, weights, range of y and dtype."""
        self.n_rows, self.dtype = self.n_rows + block.y.size, block.X.dtype
        self.low_y = min(self.low_y, float(block.y.min()))
        self.high_y = max(self.high_y, float(block.y.max()))
        if block.weights is not None:
            self.log_weights += float(np.log(block.weights).sum())

    def sums(self) -> np.ndarray:
        """Return the total as a full symmetric matrix, rounded once."""
        lower = np.tril(self.total + self._lost)
        return lower + np.tril(lower, -1).T

    def residual_products(self, blocks: Blocks, beta: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the products of all columns with the residuals, and the sum of their squares."""

        def work(part: Block) -> tuple[np.ndarray, float]:
            if part.sparse:
                X, ones = self._sparse_columns(part)
                r = -(ones @ beta[:2] + X @ beta[2 : 2 + X.shape[1]])
                return np.concatenate([ones.T @ r, X.T @ r]), float(r @ r)
            Z = self._columns(part)
            r = -(Z @ beta)
            return Z.T @ r, float(r @ r)

        g, lost, squares = np.zeros(len(beta)), np.zeros(len(beta)), []
        for product, square in in_order(work, (p for block in blocks() for p in self._cut(block))):
            g[: product.size], rest = two_sum(g[: product.size], product)
            lost[: product.size] += rest
            squares.append(square)
        return g + lost, fsum(squares)

    def _parts(self, blocks: Blocks) -> Iterator[Block]:
        """Yield the rows in parts that fit in the cache, and count them."""
        for block in blocks():
            if self.n_rows == 0:
                self._begin(block)
            self._grow(2 + block.X.shape[1])
            self.count(block)
            yield from self._cut(block)

    def _cut(self, block: Block) -> Iterator[Block]:
        return block.cut(1 << 16 if block.sparse else max(512, (1 << 18) // len(self.total)))

    def _begin(self, block: Block) -> None:
        """Set the shift to the means of the first rows, and scale columns that could overflow."""
        first = next(block.cut(8192))
        self._grow(2 + block.X.shape[1])
        if self._centre:
            self.shift[1] = np.mean(first.y)
        if not block.sparse:
            X = first.dense()
            if self._centre:
                self.shift[2:] = X.mean(axis=0, dtype=np.float64)
            tops = np.abs(X - self.shift[2:]).max(axis=0)
        else:
            tops = abs(first.X).max(axis=0).toarray().ravel()
        tops = np.concatenate([[1.0, np.abs(first.y - self.shift[1]).max()], tops])
        exponents = np.frexp(np.where(tops > 0, tops, 1.0))[1]
        self.scale = np.ldexp(1.0, np.where(np.abs(exponents) > 60, exponents, 0))

    def _grow(self, width: int) -> None:
        """Add new features, which were zero so far."""
        if width - 2 > MOST_FEATURES:
            raise DataError(
                f"Least squares of {width - 2:,} features needs all their products, which are too "
                f"many for memory: choose at most {MOST_FEATURES:,} features."
            )
        more = width - len(self.total)
        if more > 0:
            self.total = np.pad(self.total, (0, more))
            self._lost = np.pad(self._lost, (0, more))
            self.scale = np.pad(self.scale, (0, more), constant_values=1.0)
            self.shift = np.pad(self.shift, (0, more))

    def _products(self, part: Block) -> np.ndarray:
        """Return the lower triangle of the sums of products of some rows."""
        if not part.sparse:
            return blas.dsyrk(1.0, self._columns(part).T, lower=1)
        X, ones = self._sparse_columns(part)
        product = np.zeros((2 + X.shape[1], 2 + X.shape[1]))
        product[:2, :2] = ones.T @ ones
        product[2:, :2] = X.T @ ones
        product[2:, 2:] = (X.T @ X).toarray()
        return np.tril(product)

    def _columns(self, part: Block) -> np.ndarray:
        """Return the shifted and scaled columns of some rows, in a buffer reused by each thread."""
        shift, scale = self.shift, self.scale
        width, rows = len(shift), part.y.size
        if getattr(self._local, "width", None) != width or len(self._local.buffer) < rows:
            self._local.width, self._local.buffer = width, np.empty((rows, width))
        Z, end = self._local.buffer[:rows], 2 + part.X.shape[1]
        Z[:, 0] = 1.0
        Z[:, 1] = part.y
        Z[:, 1] -= shift[1]
        np.subtract(part.dense(), shift[2:end], out=Z[:, 2:end])
        Z[:, end:] = 0.0
        if (scale != 1.0).any():
            Z[:, 1:] /= scale[1:width]
        if part.weights is not None:
            Z *= np.sqrt(part.weights)[:, None]
        return Z

    def _sparse_columns(self, part: Block) -> tuple[Any, np.ndarray]:
        """Return the features, scaled but not shifted, and the columns 1 and y, of some rows."""
        X = sp.csr_array(part.X)
        ones = np.column_stack([np.ones(part.y.size), (part.y - self.shift[1]) / self.scale[1]])
        values = X.data / self.scale[2:][X.indices]
        if part.weights is not None:
            root = np.sqrt(part.weights)
            values, ones = values * np.repeat(root, np.diff(X.indptr)), ones * root[:, None]
        return sp.csr_array((values, X.indices, X.indptr), shape=X.shape), ones


@dataclass
class Solved:
    """Solution in the shifted and scaled columns.

    Attributes
    ----------
    beta : array of shape (width,)
        Coefficients of the columns 1, y (always -1) and the features; rows times beta are minus
        the residuals.
    inverse_root : array of shape (features, features)
        A with A S A' = 1, where S are the centred sums of products of the features.
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
    blocks: Blocks, moments: Moments, fit_intercept: bool, always_refine: bool
) -> Solved | None:
    """Solve from the moments of all rows; return None if floats are not accurate enough.

    Parameters
    ----------
    blocks : the rows, for refinement
    moments : Moments
    fit_intercept : bool
    always_refine : bool
        False saves the second pass if the first is accurate enough.
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
    spread = np.sqrt(left)
    factor, info = lapack.dpotrf(S[2:, 2:] / np.outer(spread, spread), lower=1, clean=1)
    if info:
        return None
    norm = np.abs(S[2:, 2:] / np.outer(spread, spread)).sum(axis=0).max(initial=0.0)
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
    rss = tss - float(beta[2:] @ S[2:, 1])
    beta[1] = -1.0
    if always_refine or condition > GOOD_CONDITION or rss < GOOD_SHARE * tss:
        rss_refined = _refine(blocks, moments, beta, back, spread)
        if rss_refined is None:
            return None
        rss = rss_refined
    inverse = lapack.dtrtri(factor, lower=1)[0] if features.size else factor
    explained = float(np.square(factor.T @ (beta[2:] * spread)).sum())
    return Solved(beta, inverse / spread, means[1:], spread, rss, tss, explained)


def _refine(
    blocks: Blocks, moments: Moments, beta: np.ndarray, back: Any, spread: np.ndarray
) -> float | None:
    """Correct ``beta`` by the products of the columns with the residuals.

    Returns the sum of squared residuals, or None if the corrections do not converge.
    """
    for _ in range(3):
        g, squares = moments.residual_products(blocks, beta)
        step = back(g)
        beta += step
        moved = np.abs(step[2:] * spread).max(initial=0.0)
        rss = squares - float(step[0] * g[0] + step[2:] @ g[2:])
        if moved <= 1e-11 * np.abs(beta[2:] * spread).max(initial=0.0) + 1e-13 * np.sqrt(squares):
            return max(rss, 0.0)
    return None
