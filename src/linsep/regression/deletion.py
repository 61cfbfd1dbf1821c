"""Deletion diagnostics: externally studentized residuals and Cook's distances.

Both follow from residuals and leverages (Belsley, Kuh and Welsch, Regression Diagnostics, 1980,
section 2.1). These formulas lose all digits if a row's leverage is nearly 1 or hardly any residual
sum of squares is left without it. Then the fit is repeated without the row: its rank shows whether
the leverage is 1, and whether the fit is perfect is decided as for any fit.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from linsep.regression.blocks import Block
from linsep.regression.inference import Inference
from linsep.regression.least_squares.result import LeastSquares
from linsep.regression.least_squares.solving import least_squares

#: smallest 1 - leverage (or share of a sum of squares) that keeps eight of sixteen digits
CANCELLED = 1e-8


class Deletion(NamedTuple):
    """Deletion diagnostics of each row; arrays of shape (rows,).

    Attributes
    ----------
    studentized : externally studentized residuals
    cooks_distance : Cook's distances
    decided : bool
        Whether the leverage is 1: the fit goes through the row whatever its y, and both are NaN.
    perfect_without : bool
        Whether the fit without the row is perfect: the residual variance is zero, and the
        studentized residual is NaN.
    """

    studentized: np.ndarray
    cooks_distance: np.ndarray
    decided: np.ndarray
    perfect_without: np.ndarray


def deletion(
    fit: LeastSquares, block: Block, residuals: np.ndarray, leverage: np.ndarray
) -> Deletion:
    """Compute the deletion diagnostics.

    Parameters
    ----------
    fit : LeastSquares
        With more rows than estimates, and not perfect.
    block : Block, the rows of the fit
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
    cooks[decided] = studentized[decided] = np.nan
    perfect = np.zeros(fit.n_rows, dtype=bool)
    close = ~decided & ((free <= CANCELLED) | ((without <= CANCELLED) & (df > 1)))
    for row in rows[close].tolist():
        again = _without(fit, block, [row])
        error, spread = _on_row(again, fit, block, row)
        cooks[row] = error**2 * (1 - 1 / spread) * (df / fit.rank)
        perfect[row] = again.perfect
        left = again.residual_norm / fit.residual_norm if not again.perfect else np.nan
        studentized[row] = error / left * np.sqrt((df - 1) / spread)
    return Deletion(studentized if df > 1 else np.full(rows.size, np.nan), cooks, decided, perfect)


def _decided(fit: LeastSquares, block: Block, rows: np.ndarray) -> np.ndarray:
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


def _on_row(again: LeastSquares, fit: LeastSquares, block: Block, row: int) -> tuple[float, float]:
    """Return the deleted residual of a row, in residual norms, and 1 + its leverage in that fit."""
    one = _some(fit, block, slice(row, row + 1))
    weight = 1.0 if one.weights is None else float(one.weights[0])
    error = float(again.residuals(one.dense(), one.y)[0]) / fit.residual_norm
    return error * np.sqrt(weight), 1 + weight * float(Inference(again).leverage(one.dense())[0])


def _without(fit: LeastSquares, block: Block, rows: list[int]) -> LeastSquares:
    """Return the fit without some rows, on the features kept."""
    return least_squares(lambda: _pieces(fit, block, rows), fit_intercept=fit.fit_intercept)


def _pieces(fit: LeastSquares, block: Block, rows: list[int]) -> Iterator[Block]:
    """Yield the blocks between the rows left out, which are sorted."""
    for before, after in pairwise([-1, *rows, fit.n_rows]):
        if after - before > 1:
            yield _some(fit, block, slice(before + 1, after))


def _some(fit: LeastSquares, block: Block, span: slice) -> Block:
    X = block.X[span] if fit.kept.all() else block.X[span][:, fit.kept]
    return Block(X, block.y[span], None if block.weights is None else block.weights[span])
