"""The upper end: hyperplanes with few errors, found by exact searches along lines.

Along ``w + t u`` a row changes sides at one t, so that sorting gives the best t of all (the minimum
of a piecewise constant function; Nguyen and Sanner, Algorithms for direct 0-1 loss optimization in
binary classification, 2013). Directions are the axes, rows that are wrong, and random ones.
"""

import time

import numpy as np
from scipy.sparse.linalg import lsqr

from linsep.separability.fewest.rows import WeightedRows

#: directions without success after which a search ends, for each weight
PATIENCE = 6
#: values below this share of the largest are on the hyperplane
ZERO = 1e-12


def improved(
    rows: WeightedRows, w: np.ndarray, rng: np.random.Generator, seconds: float
) -> np.ndarray:
    """Return weights of the table with no more errors than the given ones, after some seconds."""
    until = time.monotonic() + seconds
    A, size = rows.table, len(w)

    def cost(values: np.ndarray) -> float:
        return float(rows.costs[values <= ZERO * np.abs(values).max(initial=0.0)].sum())

    values, idle = A @ w, 0
    best = cost(values)
    while idle < PATIENCE * size and best > 0 and time.monotonic() < until:
        wrong = np.flatnonzero(values <= 0)
        if idle < size:
            u = np.eye(1, size, idle)[0]
        elif idle % 2 and wrong.size:
            u = np.ravel(A[int(rng.choice(wrong))].toarray())
        else:
            u = rng.standard_normal(size)
        idle += 1
        moved = w + _best_step(values, A @ u, rows.costs) * u
        found = cost(A @ moved)
        # a step that changes nothing is taken too: the next direction starts elsewhere
        if found <= best + 1e-12:
            idle = 0 if found < best - 1e-12 else idle
            w = moved / (np.abs(moved).max() or 1.0)
            values, best = A @ w, found
    return w


def _best_step(values: np.ndarray, slopes: np.ndarray, costs: np.ndarray) -> float:
    """Return the t with the least cost of rows with ``values + t slopes <= 0``, in the middle of
    the widest of the best intervals; 0 if no row depends on t.
    """
    moves = np.abs(slopes) > ZERO
    if not moves.any():
        return 0.0
    at, up = -values[moves] / slopes[moves], slopes[moves] > 0
    order = np.argsort(at, kind="stable")
    at, change = at[order], np.where(up, -1.0, 1.0)[order] * costs[moves][order]
    cost = costs[moves][up].sum() + np.append(0.0, np.cumsum(change))
    reach = np.abs(at).max() + 1.0
    ends = np.concatenate([[-2 * reach], at, [2 * reach]])
    width = np.diff(ends)
    wide = width > ZERO * reach
    k = int(np.argmax(np.where(wide & (cost <= cost[wide].min() + 1e-12), width, -1.0)))
    return float((ends[k] + ends[k + 1]) / 2)


def least_squares(rows: WeightedRows) -> np.ndarray:
    """Return the weights whose values on all rows are nearest to 1."""
    w: np.ndarray = lsqr(rows.table, np.ones(len(rows)), iter_lim=100)[0]
    return w if np.isfinite(w).all() else np.zeros(len(w))
