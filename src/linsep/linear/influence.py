"""Residuals of the rows of a linear regression, and the fit without a row."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from linsep.batches import Batch
from linsep.errors import DataError
from linsep.inference.collinearity import Collinearity, collinearity
from linsep.inference.diagnostics import (
    CANCELLED,
    Diagnostics,
    check_size,
    in_parts,
    of_leverage_one,
    partial_residuals,
)
from linsep.inference.factors import Term
from linsep.inference.summary import number_text
from linsep.linear.inference import Inference
from linsep.linear.least_squares import LeastSquares, least_squares

#: relative change of a residual norm that rounding of the rows may make
SAME = 1e-3


class Deletion(NamedTuple):
    """Deletion diagnostics of each row; arrays of shape (rows,), NaN where the leverage is 1.

    Attributes
    ----------
    free : 1 - leverage
    standardized : internally studentized residuals
    studentized : externally studentized residuals
    cooks_distance : Cook's distances
    decided : bool
        Whether the leverage is 1: the fit goes through the row whatever its y.
    perfect_without : bool
        Whether the fit without the row is perfect: the residual variance is zero, and the
        studentized residual is NaN.
    """

    free: np.ndarray
    standardized: np.ndarray
    studentized: np.ndarray
    cooks_distance: np.ndarray
    decided: np.ndarray
    perfect_without: np.ndarray


def deletion(
    fit: LeastSquares, block: Batch, residuals: np.ndarray, leverage: np.ndarray
) -> Deletion:
    """Compute the deletion diagnostics.

    Parameters
    ----------
    fit : LeastSquares
        With more rows than estimates, and not perfect.
    block : Batch, the rows of the fit
    residuals : array of shape (rows,)
        Multiplied by the square roots of the weights, divided by the residual norm.
    leverage : array of shape (rows,), multiplied by the weights
    """
    df, rows = fit.n_rows - fit.rank, np.arange(fit.n_rows)
    free = 1 - leverage
    decided = _decided(fit, block, rows[free <= CANCELLED])
    with np.errstate(divide="ignore", invalid="ignore"):
        cooks = np.square(residuals / free) * leverage * (df / fit.rank)
        without = 1 - residuals * (residuals / free)
        studentized = residuals * np.sqrt((df - 1) / (np.maximum(without, 0) * free))
        standardized = residuals * np.sqrt(df / np.maximum(free, 0))
    for values in (free, standardized, cooks, studentized):
        values[decided] = np.nan
    perfect = np.zeros(fit.n_rows, dtype=bool)
    close = ~decided & ((free <= CANCELLED) | ((without <= CANCELLED) & (df > 1)))
    for row in rows[close].tolist():
        again = _without(fit, block, [row])
        error, spread = _on_row(again, fit, block, row)
        free[row], standardized[row] = 1 / spread, error * np.sqrt(df / spread)
        cooks[row] = error**2 * (1 - 1 / spread) * (df / fit.rank)
        perfect[row] = again.perfect
        left = again.residual_norm / fit.residual_norm if not again.perfect else np.nan
        studentized[row] = error / left * np.sqrt((df - 1) / spread)
    if df == 1:
        studentized = np.full(rows.size, np.nan)
    return Deletion(free, standardized, studentized, cooks, decided, perfect)


def _decided(fit: LeastSquares, block: Batch, rows: np.ndarray) -> np.ndarray:
    """Return which rows have leverage 1: the rank falls by one if such a row is left out."""
    found = np.zeros(fit.n_rows, dtype=bool)
    groups = [rows] if rows.size else []
    while groups:
        group = groups.pop()
        if _without(fit, block, group.tolist()).rank == fit.rank - group.size:
            found[group] = True
        elif group.size > 1:
            groups += np.array_split(group, 2)
    return found


def _on_row(again: LeastSquares, fit: LeastSquares, block: Batch, row: int) -> tuple[float, float]:
    """Return the deleted residual of a row, in residual norms, and 1 + its leverage in that fit."""
    one = _rows_of(fit, block, slice(row, row + 1))
    weight = 1.0 if one.weights is None else float(one.weights[0])
    error = float(again.residuals(one.dense(), one.y)[0]) / fit.residual_norm
    return error * np.sqrt(weight), 1 + weight * float(Inference(again).leverage(one.dense())[0])


def _without(fit: LeastSquares, block: Batch, rows: list[int]) -> LeastSquares:
    """Return the fit without some rows, on the features kept."""
    return least_squares(lambda: _pieces(fit, block, rows), fit_intercept=fit.fit_intercept)


def _pieces(fit: LeastSquares, block: Batch, rows: list[int]) -> Iterator[Batch]:
    """Yield the blocks between the rows left out, which are sorted."""
    for before, after in pairwise([-1, *rows, fit.n_rows]):
        if after - before > 1:
            yield _rows_of(fit, block, slice(before + 1, after))


def _rows_of(fit: LeastSquares, block: Batch, span: slice) -> Batch:
    X = block.X[span] if fit.kept.all() else block.X[span][:, fit.kept]
    weights = None if block.weights is None else block.weights[span]
    return Batch(X, block.y[span], weights=weights)


class Examined(NamedTuple):
    """Residuals of the rows of a fit, and the effect of leaving each out; arrays of shape (rows,).

    Attributes
    ----------
    raw : residuals, zeros of a perfect fit
    residuals : multiplied by the square roots of the weights
    shares : these divided by the residual norm
    leverage : multiplied by the weights
    gone : Deletion
    undefined : why residuals cannot be tested; empty if they can
    """

    raw: np.ndarray
    residuals: np.ndarray
    shares: np.ndarray
    leverage: np.ndarray
    gone: Deletion
    undefined: str


def examined(fit: LeastSquares, block: Batch) -> Examined:
    """Compute the residuals of a fit on its rows, and the deletion diagnostics.

    Raises
    ------
    DataError
        If their residual sum of squares differs from the fit's.
    """
    weights = np.ones(block.y.size) if block.weights is None else block.weights
    raw = np.concatenate([fit.residuals(part.dense(), part.y) for part in block.cut(8192)])
    check_rows(fit, block.y * np.sqrt(weights), raw * np.sqrt(weights))
    raw = np.zeros_like(raw) if fit.perfect else raw
    residuals, leverage = raw * np.sqrt(weights), leverages(fit, block.X, weights)
    # Ratios depend on shapes, not sizes, and squares of unscaled residuals might overflow.
    shares = np.zeros_like(residuals) if fit.perfect else residuals / fit.residual_norm
    undefined = undefined_residuals(fit)
    nothing, no = np.full(raw.size, np.nan), np.zeros(raw.size, dtype=bool)
    gone = Deletion(nothing, nothing, nothing, nothing, no, no)
    if not undefined:
        gone = deletion(fit, block, shares, leverage)
    return Examined(raw, residuals, shares, leverage, gone, undefined)


def check_rows(fit: LeastSquares, y: np.ndarray, residuals: np.ndarray) -> None:
    """Raise DataError if residuals belong to other rows; y is multiplied like them."""
    largest = float(np.abs(y).max()) or 1.0
    found, known = float(np.linalg.norm(residuals / largest)), fit.residual_norm / largest
    if abs(found - known) > SAME * (known + float(np.linalg.norm(y / largest)) * SAME):
        norm = found * largest
        raise DataError(
            "These are not the rows of the fit: their residual sum of squares is "
            f"{number_text(norm * norm)}, not {number_text(fit.rss)}.",
            code="other-rows",
        )


def undefined_residuals(fit: LeastSquares) -> str:
    """Return why residuals cannot be tested; empty if they can."""
    if not fit.rank:
        return "not defined: no weights were estimated"
    if fit.n_rows <= fit.rank:
        return "not defined: no residual degrees of freedom are left"
    return "not defined: the fit is perfect, so the residual variance is zero" * fit.perfect


def diagnosed(
    fit: LeastSquares, block: Batch, numbers: np.ndarray, index: np.ndarray,
    features: Sequence[str], terms: Sequence[Term],
) -> Diagnostics:  # fmt: skip
    """Return the diagnostics of a fit on its rows.

    Parameters
    ----------
    fit : LeastSquares
    block : Batch, all rows of the fit in their order
    numbers, index : arrays of shape (rows,), the numbers and the labels of the rows
    features : names of the features
    terms : which features belong together
    """
    check_size(block.y.size, fit.coef.size)
    seen = examined(fit, block)
    with np.errstate(invalid="ignore", divide="ignore"):
        moved = (seen.gone.studentized / np.sqrt(seen.gone.free))[:, None]
    weights = np.ones(block.y.size) if block.weights is None else block.weights
    coef = np.where(fit.kept, fit.coef, np.nan)
    rows = index[seen.gone.decided].tolist()
    notes = [f"Standardized residuals and influences are {seen.undefined}."] * bool(seen.undefined)
    if seen.gone.perfect_without.any():
        row = index[np.argmax(seen.gone.perfect_without)]
        notes.append(
            f"Without row {row} the fit is perfect, so its studentized residual and DFBETAS are "
            "not defined."
        )
    return Diagnostics(
        title="Diagnostics of a linear regression", numbers=numbers, index=index,
        y=block.y, weights=weights, fitted=fit.predicted(block.X), pearson=seen.residuals,
        deviance=seen.residuals, working=seen.raw,
        partial=partial_residuals(block.X, coef, seen.raw, fit.fit_intercept),
        leverage=seen.leverage, standardized=seen.gone.standardized,
        standardized_deviance=seen.gone.standardized, studentized=seen.gone.studentized,
        dfbetas=directions(fit, block.X, weights) * moved, cooks_distance=seen.gone.cooks_distance,
        params=Inference(fit).estimates, collinearity=collinearity_of(fit, features, terms),
        notes=[*notes, *of_leverage_one(rows)], X=block.X,
    )  # fmt: skip


def leverages(fit: LeastSquares, X: Any, weights: np.ndarray) -> np.ndarray:
    """Return the leverages of the rows of a fit, of shape (rows,)."""
    inference = Inference(fit)
    return weights * in_parts(lambda rows: inference.leverage(rows)[:, None], X, 1)[:, 0]


def directions(fit: LeastSquares, X: Any, weights: np.ndarray) -> np.ndarray:
    """Return for each row and estimate the derivative of the estimate, in standard deviations of a
    residual variance of 1, by the residual times the square root of the weight.

    An array of shape (rows, parameters), the intercept first if there is one, NaN for features left
    out: (X' W X)^-1 x sqrt(w), each divided by the square root of the diagonal of (X' W X)^-1.
    """
    first = int(fit.fit_intercept)
    root = fit.root[:, 1 - first :]
    sizes = np.abs(root).max(axis=0, initial=0.0)
    sizes[sizes == 0] = np.nan
    units = root / sizes
    units /= np.sqrt(np.square(units).sum(axis=0))
    features = fit.root[first:, 1:].T

    def of(rows: np.ndarray) -> np.ndarray:
        parts = np.asarray(fit.centered(rows) @ features, dtype=np.float64)
        alike = np.full((len(parts), first), 1 / np.sqrt(fit.total_weight))
        return np.asarray(np.column_stack([alike, parts]) @ units)

    return in_parts(of, X, root.shape[1]) * np.sqrt(weights)[:, None]


def collinearity_of(
    fit: LeastSquares, features: Sequence[str], terms: Sequence[Term]
) -> Collinearity:
    """Return the collinearity of the columns of a fit."""
    first, ones = int(fit.fit_intercept), np.sqrt(fit.total_weight)
    lengths = np.concatenate([[ones] * first, np.hypot(fit.spread, ones * fit.means)])
    return collinearity(fit.root[:, 1 - first :], lengths, fit.inflation, features, terms)
