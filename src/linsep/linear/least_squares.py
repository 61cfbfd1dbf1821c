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
from dataclasses import replace
from functools import reduce
from math import fsum, hypot, isclose, isfinite, isqrt, sqrt
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import blas, lapack

from linsep._system.threads import one_blas_thread
from linsep.batches import Batch, Batches
from linsep.errors import DataError, FeatureOverflow, hint, warn_caller
from linsep.inference.results import Signature
from linsep.lanes import Lanes, no_weight
from linsep.linear.solution import LeastSquares

#: a split of a float into halves
SPLIT = float(2**27 + 1)
EPS = float(np.finfo(np.float64).eps)
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
#: size of a column below which squares of its values underflow
LEAST = 1e-145
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
    """Raise DataError for features whose products do not fit in three quarters of the memory."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if features > (most := min(MOST_FEATURES, isqrt(memory * 3 // (4 * PRODUCT_BYTES)))):
        bits = most.bit_length() - 1
        raise DataError(
            f"Least squares of {features:,} features needs all their products, which do not fit "
            "in memory",
            f"choose at most {most:,} features",
            hint("hash into fewer with {}", hash_bits=bits),
            hint("with {}", text_bits=bits),
            code="too-large",
        )


class Factor(NamedTuple):
    """The factor R of some rows, sums of their weights and the logarithms, and a signature."""

    R: np.ndarray
    weight: float
    log_weights: float
    signature: Signature

    def widened(self, columns: int) -> np.ndarray:
        """Return R for more columns, which are zero in these rows."""
        more = columns - self.R.shape[1]
        return np.pad(self.R, ((0, 0), (0, more))) if more else self.R


def added_factors(one: Factor, other: Factor) -> Factor:
    """Return the factor of the rows of both; missing features are zero."""
    width = max(one.R.shape[1], other.R.shape[1])
    return Factor(
        stacked(one.widened(width), other.widened(width)), one.weight + other.weight,
        one.log_weights + other.log_weights, one.signature + other.signature,
    )  # fmt: skip


def triangle(Z: np.ndarray) -> np.ndarray:
    """Return the triangular factor of rows by Householder's method, or its first rows."""
    return np.triu(lapack.dgeqrf(Z)[0][: Z.shape[1]])


def stacked(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return rows that have the products of both, at most as many as columns."""
    both = np.concatenate([one, other])
    return triangle(both) if len(both) > both.shape[1] else both


def by_products(G: np.ndarray) -> np.ndarray | None:
    """Return the factor from the products, lower triangle; None if it would lose many digits."""
    sizes = np.sqrt(np.diag(G))
    some = sizes > 0
    S = G[some][:, some] / np.outer(sizes[some], sizes[some])
    factor, info = lapack.dpotrf(S, lower=1, clean=1)
    norm = np.abs(S).sum(axis=0).max(initial=0.0)
    if info or not norm or not WORST_CONDITION * lapack.dpocon(factor, norm, uplo="L")[0] >= 1:
        return None
    R = np.zeros((len(S), len(G)))
    R[:, some] = factor.T * sizes[some]
    return R


class Columns(NamedTuple):
    """The columns 1, y and the features minus ``shift``; features beyond it are not shifted."""

    shift: np.ndarray

    def of(self, rows: Batch) -> np.ndarray:
        """Return the columns times the roots of the weights; missing features are zero."""
        X, shift = rows.dense(), self.shift
        end = 2 + X.shape[1]
        shift = np.append(shift, np.zeros(max(0, end - shift.size)))
        Z = np.empty((rows.size, shift.size))
        Z[:, 0], Z[:, 1], Z[:, end:] = 1.0, rows.y - shift[1], -shift[end:]
        np.subtract(X, shift[2:end], out=Z[:, 2:end])
        if rows.weights is not None:
            Z *= np.sqrt(rows.weights)[:, None]
        return Z

    def products(self, lane: Batch) -> np.ndarray:
        """Return the products of the columns, lower triangle."""
        if not lane.sparse or self.shift[2:].any():
            return np.asarray(blas.dsyrk(1.0, self.of(lane).T, lower=1))
        dense = self._replace(shift=self.shift[:2]).of(lane._replace(X=np.empty((lane.size, 0))))
        X = sp.csr_array(lane.X)
        if lane.weights is not None:
            X = sp.diags_array(np.sqrt(lane.weights)) @ X
        left = np.vstack([dense.T @ dense, X.T @ dense])
        return np.hstack([left, np.vstack([left[2:].T, (X.T @ X).toarray()])])

    def __call__(self, lane: Batch) -> Factor:
        """Return the factor of a lane."""
        if not lane.size:
            raise no_weight()
        width = 2 + lane.X.shape[1]
        refuse_too_many(width - 2)
        R = by_products(self.products(lane)) if lane.size * width >= MANY_VALUES else None
        if R is None:
            parts = lane.cut(max(512, MANY_VALUES // width))
            R = reduce(stacked, map(self.of, parts), triangle(self.of(next(parts))))
        weights = np.ones(lane.size) if lane.weights is None else lane.weights
        sums = float(weights.sum()), float(np.log(weights).sum())
        return Factor(R, *sums, Signature.of(lane))


def two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the rounded sum and its exact rounding error (Knuth)."""
    whole = a + b
    part = whole - a
    return whole, (a - (whole - part)) + (b - part)


def two_product(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the rounded product and its exact rounding error (Dekker)."""
    whole = a * b
    a_up, b_up = SPLIT * a, SPLIT * b
    a_hi, b_hi = a_up - (a_up - a), b_up - (b_up - b)
    a_lo, b_lo = a - a_hi, b - b_hi
    return whole, ((a_hi * b_hi - whole) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo


def pair_sum(hi: np.ndarray, lo: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of pairs of floats along the last axis, pairwise."""
    while (n := hi.shape[-1]) > 1:
        half = n // 2
        whole, lost = two_sum(hi[..., :half], hi[..., half : 2 * half])
        lost += lo[..., :half] + lo[..., half : 2 * half]
        hi = np.concatenate([whole, hi[..., 2 * half :]], axis=-1)
        lo = np.concatenate([lost, lo[..., 2 * half :]], axis=-1)
    return hi.sum(axis=-1), lo.sum(axis=-1)


class Residuals(NamedTuple):
    """Products of the columns 1 and the features with the residuals, then the sum of the squares of
    these, as pairs of floats of shape (features + 2, 2).
    """

    coef: np.ndarray
    intercept: tuple[float, float]

    def __call__(self, lane: Batch) -> np.ndarray:
        """Return the products of a lane."""
        return reduce(added_pairs, map(self._of, lane.cut(ROWS)))

    def _of(self, part: Batch) -> np.ndarray:
        X = part.dense().T.astype(np.float64)  # [features, rows]
        hi, lo = two_product(X, -self.coef[: len(X), None])
        about, lost = two_sum(part.y.astype(np.float64), -self.intercept[0])
        hi, lo = np.vstack([about, hi]), np.vstack([lost - self.intercept[1], lo])
        hi, lo = two_sum(*pair_sum(hi.T, lo.T))
        weights = np.ones(part.size) if part.weights is None else part.weights
        weighted, rest = two_product(hi, weights)
        rest += lo * weights
        found = np.zeros((self.coef.size + 2, 2))
        found[0] = pair_sum(weighted, rest)
        products, lost = two_product(X, weighted)
        found[1 : 1 + len(X)] = np.transpose(pair_sum(products, lost + X * rest))
        found[-1, 0] = weighted @ hi
        return found


def added_pairs(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the sums of pairs of floats, shape (any, 2)."""
    total, lost = two_sum(one[:, 0], other[:, 0])
    return np.column_stack([total, one[:, 1] + other[:, 1] + lost])


def least_squares(
    blocks: Batches | Lanes, *, fit_intercept: bool = True, l2: float = 0.0
) -> LeastSquares:
    """Return the least squares solution for the rows of ``blocks``, all finite, with the penalty
    ``l2``.
    """
    rows = blocks if isinstance(blocks, Lanes) else Lanes(blocks)
    # whatever other threads do: with more BLAS threads, the bits would depend on their number
    with one_blas_thread, np.errstate(over="ignore", invalid="ignore"):
        first = rows.first()
        shift = np.zeros(2 + first.X.shape[1])
        if fit_intercept:
            shift[1] = first.y.sum() / first.size
            if not first.sparse:
                shift[2:] = first.dense().sum(axis=0, dtype=np.float64) / first.size
        found: Factor = rows.sum(Columns(shift), added_factors)
        refuse_too_many(rows.width)  # the last features may be zero in the rows so far
        R = found.widened(2 + rows.width)
        shift = np.append(shift, np.zeros(R.shape[1] - shift.size))
        precision = float(np.finfo(first.X.dtype).eps)
        fit = _solved(found._replace(R=R), shift, fit_intercept, l2, precision)
        # Between two values no rows vary as much as those that have no others (Bhatia and Davis).
        low, high, mean = float(first.y.min()), float(first.y.max()), shift[1] + R[0, 1] / R[0, 0]
        if low < high and isclose((mean - low) * (high - mean), fit.deviation**2, rel_tol=1e-12):
            fit.two_values = np.array([low, high])
        if _is_unsure(fit):
            fit = _refined(fit, rows)
        if not (isfinite(fit.coef.sum() + fit.intercept) and isfinite(fit.rss)):
            raise _overflow()
    length = sqrt(fit.total_weight)
    noise = np.hypot(fit.spread, fit.means * length) @ np.abs(fit.coef) * precision
    if fit.residual_norm <= min(
        noise + hypot(fit.y_norm, fit.mean_y * length) * EPS, UNEXPLAINED * fit.y_norm
    ):
        return replace(fit, perfect=True, residual_norm=0.0, explained_norm=fit.y_norm)
    return fit


def _overflow() -> DataError:
    return DataError(
        "The weights, or squares of y, overflow or underflow float64: scale the features and y.",
        code="overflow",
    )


def _solved(
    found: Factor, shift: np.ndarray, fit_intercept: bool, l2: float, precision: float
) -> LeastSquares:
    """Return the solution from a factor of all rows; ``precision``: of the features."""
    R, total, d = found.R, found.weight, len(shift) - 2
    order = [*range(2, 2 + d), 1]
    about = R[0, order] / R[0, 0] if fit_intercept else np.zeros(1 + d)
    means, rest = two_sum(shift[order], about)
    C = R[int(fit_intercept) :, order]
    sizes = np.sqrt(np.square(C).sum(axis=0))
    raw = np.hypot(sizes, means * np.sqrt(total))
    if (lost := (raw < LEAST) & C.any(axis=0) | ~np.isfinite(raw)).any():
        j = int(np.argmax(lost))
        raise FeatureOverflow(j) if j < d else _overflow()
    if fit_intercept:
        sizes[sizes <= CONSTANT * raw] = 0.0
    units = np.where(sizes > 0, sizes, 1.0)
    C = C * (sizes > 0) / units
    if l2:
        C = np.vstack([C, np.diag(np.append(np.sqrt(l2) / units[:-1], 0.0))])
    C = triangle(np.concatenate([C, np.zeros((max(0, 1 + d - len(C)), 1 + d))]))
    kept, others = list(range(d)), dict[int, np.ndarray]()
    if np.abs(C.diagonal()[:-1]).min(initial=1.0) <= precision**0.75:
        C, kept, others = _eliminated(C, raw / units, precision)
    C = C * np.copysign(1.0, C.diagonal())[:, None]
    U, q, u, of_y = C[:-1, :-1], C[:-1, -1], units[kept], float(units[-1])
    inverse = lapack.dtrtri(U)[0] if kept else U
    b = inverse @ q
    coef, inner, is_kept = np.zeros(d), np.zeros((len(kept), d)), np.zeros(d, dtype=bool)
    coef[kept], inner[:, kept], is_kept[kept] = b * of_y / u, inverse.T / u, True
    if not np.isfinite(coef).all():
        raise _overflow()
    unit = U / np.linalg.norm(U, axis=0) if l2 else U
    if kept and (share := lapack.dtrcon(unit)[0]) * NO_CONDITION < 1:
        warn_caller(IllConditionedWarning(
            f"The condition number of the features is {1 / max(share, EPS**2):.0e}, so few digits "
            "of the weights are reliable: leave some out, or subtract a common part."
        ))  # fmt: skip
    root = np.column_stack([-(inner @ means[:-1]), inner])
    if fit_intercept:
        root = np.vstack([np.eye(1, 1 + d) / np.sqrt(total), root])
    residual, explained = abs(C[-1, -1]), np.linalg.norm(q)
    if l2:  # what is left is the squared residuals and the penalty
        residual = np.sqrt(max(residual**2 - l2 * np.square(b / u).sum(), 0.0))
        explained = np.sqrt(max((sizes[-1] > 0) - residual**2, 0.0))
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
        spread=sizes[:-1],
        residual_norm=float(residual * of_y),
        y_norm=float(sizes[-1]),
        explained_norm=float(explained * of_y),
        perfect=False,
        n_rows=found.signature.rows,
        total_weight=total,
        log_weights=found.log_weights,
        fit_intercept=fit_intercept,
        l2=l2,
        combinations=combinations,
        deviation=float(np.linalg.norm(R[1:, 1]) / np.sqrt(total)),
        signature=str(found.signature),
    )
    fit.intercept = _intercept(fit)[0]
    return fit


def _eliminated(
    C: np.ndarray, raw: np.ndarray, precision: float
) -> tuple[np.ndarray, list[int], dict[int, np.ndarray]]:
    """Return the factor of y, the last column, and those that are no combinations of earlier ones;
    these, and the others as combinations of these.
    """
    T, kept, others = C[C.any(axis=1)], list[int](), dict[int, np.ndarray]()
    for j in range(T.shape[1] - 1):
        r, column = len(kept), T[len(kept) :, j].copy()
        left = float(np.linalg.norm(column))
        part = lapack.dtrtrs(T[:r, kept], T[:r, j])[0] if r else np.zeros(0)
        rounding = ROUNDINGS * precision * (raw[j] + np.abs(part) @ raw[kept])
        if left <= min(precision**0.75, rounding):
            others[j] = part
            continue
        column[0] += np.copysign(left, column[0])
        T[r:, j:] -= np.outer(column * (2.0 / (column @ column)), column @ T[r:, j:])
        kept.append(j)
    r = len(kept)
    rest = np.append(np.zeros(r), np.linalg.norm(T[r:, -1]))
    return np.triu(np.vstack([T[:r, [*kept, -1]], rest])), kept, others


def _intercept(fit: LeastSquares) -> tuple[float, float]:
    """Return the intercept as a pair of floats."""
    if not fit.fit_intercept:
        return 0.0, 0.0
    parts, lost = two_product(fit.means, -fit.coef)
    lost -= fit.means_rest[1:] * fit.coef
    terms = [fit.mean_y, float(fit.means_rest[0]), *parts.tolist(), *lost.tolist()]
    whole = fsum(terms)
    return whole, fsum([*terms, -whole])


def _is_unsure(fit: LeastSquares) -> bool:
    """Return whether estimates may have lost digits, or the fit may be perfect."""
    if not fit.y_norm or not fit.kept.any():
        return False
    terms = abs(fit.mean_y) + np.abs(fit.coef) @ np.abs(fit.means)
    few = fit.n_rows * (2 + fit.coef.size) <= FEW_VALUES
    return bool(
        np.square(fit.root[:, 1:] * fit.spread).sum(axis=0).max()
        > (INFLATED if few else MUCH_INFLATED)
        or (few and terms > CANCELED * abs(fit.intercept) > 0)
        or fit.residual_norm <= UNEXPLAINED * fit.y_norm
    )


def _refined(fit: LeastSquares, rows: Lanes) -> LeastSquares:
    """Correct the estimates by the products of the columns with the residuals."""
    before, inner = _intercept(fit), fit.root[int(fit.fit_intercept) :, 1:]
    found = rows.sum(Residuals(fit.coef, before), added_pairs)
    total, g, moved = found[0], found[1:-1], 0.0
    if fit.fit_intercept:
        parts, lost = two_product(fit.means, -total[0])
        lost -= fit.means * total[1] + fit.means_rest[1:] * total[0]
        g = added_pairs(g, np.column_stack([parts, lost]))
        moved = total.sum() / fit.total_weight
    about, pull = g.sum(axis=1), fit.l2 * fit.coef
    step = inner.T @ (inner @ (about - pull))
    squares = found[-1].sum() - (moved * total.sum() + step @ (about + pull + fit.l2 * step))
    coef, residual = fit.coef + step, float(np.sqrt(max(squares, 0.0)))
    explained = np.sqrt(max((fit.y_norm - residual) * (fit.y_norm + residual), 0.0))
    if explained < 0.5 * fit.y_norm and not fit.l2:  # which has lost digits
        explained = np.linalg.norm(np.linalg.solve(inner[:, fit.kept].T, coef[fit.kept]))
    intercept = sum(before) + (moved - fit.means @ step)
    return replace(
        fit, coef=coef, intercept=float(intercept), residual_norm=residual,
        explained_norm=float(explained),
    )  # fmt: skip
