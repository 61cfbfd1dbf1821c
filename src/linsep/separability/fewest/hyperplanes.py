"""The upper end: hyperplanes with few errors, found by exact searches along lines.

Along ``w + t u`` a row changes sides at one t, so that sorting gives the best t of all (the minimum
of a piecewise constant function; Nguyen and Sanner, Algorithms for direct 0-1 loss optimization in
binary classification, 2013). Directions are the axes, rows that are wrong, and random ones.
"""

import time
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import lsqr

from linsep.separability.fewest.rows import WeightedRows

#: directions without success after which a search ends, for each weight
PATIENCE = 6
#: values below this share of the largest are on the hyperplane
ZERO = 1e-12


def errors_of(rows: WeightedRows, values: np.ndarray) -> float:
    """Return the cost of the errors, in floats; rows near the hyperplane are errors."""
    limit = ZERO * float(np.abs(values).max(initial=0.0))
    return float(rows.costs[values <= limit].sum())


def improved(
    rows: WeightedRows, w: np.ndarray, rng: np.random.Generator, seconds: float
) -> np.ndarray:
    """Return weights of the table with no more errors than the given ones, after some seconds."""
    until = time.monotonic() + seconds
    A, size = rows.table, rows.table.shape[1]
    values = A @ w
    best, idle = errors_of(rows, values), 0
    while idle < PATIENCE * size and best > 0 and time.monotonic() < until:
        u = _direction(rows, values, idle, rng)
        slopes = A @ u
        t, cost = _best_step(values, slopes, rows.costs)
        idle += 1
        if not np.isfinite(t):
            continue
        moved = values + t * slopes
        # a step that changes nothing is taken too: the next direction starts elsewhere
        if cost <= best + 1e-12 and errors_of(rows, moved) <= best + 1e-12:
            idle = 0 if cost < best - 1e-12 else idle
            w = w + t * u
            scale = np.abs(w).max()
            w = w / scale if scale > 0 else w
            values = A @ w
            best = errors_of(rows, values)
    return w


def _direction(
    rows: WeightedRows, values: np.ndarray, turn: int, rng: np.random.Generator
) -> np.ndarray:
    A, size = rows.table, rows.table.shape[1]
    if turn < size:
        return np.eye(1, size, turn)[0]
    wrong = np.flatnonzero(values <= 0)
    if turn % 2 and wrong.size:
        row = A[int(rng.choice(wrong))]
        return np.asarray(row.toarray()).ravel() if sp.issparse(A) else row
    return rng.standard_normal(size)


def _best_step(values: np.ndarray, slopes: np.ndarray, costs: np.ndarray) -> tuple[float, float]:
    """Return the t with the least cost of rows with ``values + t slopes <= 0``, and the cost.

    In the middle of the widest of the best intervals; NaN if no row depends on t.
    """
    moves = np.abs(slopes) > ZERO
    if not moves.any():
        return np.nan, np.inf
    at = -values[moves] / slopes[moves]
    up = slopes[moves] > 0
    order = np.argsort(at, kind="stable")
    at, change = at[order], np.where(up, -1.0, 1.0)[order] * costs[moves][order]
    start = costs[moves][up].sum() + costs[~moves & (values <= 0)].sum()
    cost = start + np.concatenate([[0.0], np.cumsum(change)])
    reach = np.abs(at).max() + 1.0
    ends = np.concatenate([[-2 * reach], at, [2 * reach]])
    width = np.diff(ends)
    wide = width > ZERO * reach
    least = cost[wide].min()
    k = int(np.argmax(np.where(wide & (cost <= least + 1e-12), width, -1.0)))
    return float((ends[k] + ends[k + 1]) / 2), float(cost[k])


def least_squares(A: Any) -> np.ndarray:
    """Return the weights whose values on all rows are nearest to 1."""
    w: np.ndarray = lsqr(A, np.ones(A.shape[0]), iter_lim=100)[0]
    return w if np.isfinite(w).all() else np.zeros(A.shape[1])
