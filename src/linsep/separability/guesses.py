"""Weights in floats that may separate, by three methods; callers check them.

Few rows: the squared hinge loss is minimized, or the widest margin is found by the shortest convex
combination of the rows. All rows of many columns: coordinate descent.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, lapack
from scipy.optimize import minimize

from linsep.certificate.canonical import Block
from linsep.certificate.constraints import Subject
from linsep.separability.data import Data, doubles, sides_of
from linsep.separability.time_limit import check_time, within_time

#: ridge, relative to the longest row, which makes dependent rows harmless
RIDGE = 1e-11
#: most rows that enter the shortest combination
MOST_STEPS = 20_000
#: visits of all rows that are not set aside, before the errors are counted
VISITS = 10
#: the fewest errors must fall by this factor within some counts
FALL, COUNTS = 1.1, 4


def quick_weights(
    A: sp.csr_matrix, start: np.ndarray | None
) -> tuple[np.ndarray | None, np.ndarray]:
    """Return weights that are positive on all rows, or None, and each row's distance to 1.

    Minimizes the squared hinge loss ``sum max(0, 1 - A w)^2`` over rows of length 1 by L-BFGS. Its
    minimum is zero if and only if the rows are separable.
    """
    lengths = np.sqrt(np.ravel(A.multiply(A).sum(axis=1)))
    if not lengths.all() or not np.isfinite(lengths).all():
        return None, np.zeros(len(lengths))
    rows = sp.csr_matrix(sp.diags(1 / lengths) @ A)
    turned = sp.csr_matrix(rows.T)

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        short = np.maximum(0.0, 1.0 - rows @ w)
        return float(short @ short), -2.0 * (turned @ short)

    def enough(intermediate_result: Any) -> None:
        check_time()
        if (rows @ intermediate_result.x).min() > 0.25:
            raise StopIteration

    first = np.zeros(A.shape[1]) if start is None else start
    limits = {"maxiter": 500, "gtol": 1e-12, "ftol": 0.0}
    w = minimize(loss, first, jac=True, method="L-BFGS-B", callback=enough, options=limits).x
    values = rows @ w
    fine = values.min() > 1e-9 * np.abs(w).max(initial=1.0)
    return (w if fine else None), np.maximum(0.0, 1.0 - values) / lengths


def on_plane(A: np.ndarray, E: np.ndarray, weight: float, precise: bool) -> np.ndarray | None:
    """Return multipliers of any sign, summing to 1 within each group, of the shortest combination
    of rows; None if floats fail. ``precise`` is slower, and keeps all digits.

    With E the group indicators and ``M = A A^T + s E E^T``, which changes no optimum, they are
    ``M^-1 E (E^T M^-1 E)^-1 1``. LAPACK itself, which checks nothing: the systems are small and
    many.
    """
    if precise:
        root = np.sqrt(weight)
        tall = np.hstack([A, root * E, root * RIDGE * np.eye(len(A))]).T
        factor = np.triu(lapack.dgeqrf(tall)[0][: len(A)])
        found, failed = lapack.dpotrs(factor, E)
    else:
        table = A @ A.T + weight * (E @ E.T)
        table.flat[:: len(table) + 1] += weight * RIDGE
        _, found, failed = lapack.dposv(table.T, E, overwrite_a=True)
    if failed or not np.isfinite(found).all():
        return None
    _, _, shares, failed = lapack.dgesv(E.T @ found, np.ones(E.shape[1]))
    return None if failed else found @ shares


def nearest(
    rows: np.ndarray, groups: np.ndarray, tolerance: float, start: np.ndarray
) -> np.ndarray:
    """Return the multipliers, at least 0 and summing to 1 within each group, of the shortest
    combination of rows, to a ``tolerance`` relative to its length.

    Wolfe, "Finding the nearest point in a polytope" (1976), for one polytope or for the difference
    of two. For sign-flipped rows a_i let ``p = sum x_i a_i`` be the shortest vector. Then
    ``<p, a> >= |p|^2`` for all rows, and no weights of length 1 have a margin above |p| over the
    number of groups.
    """
    if rows.shape[1] > 2 * len(rows):  # the same lengths and angles, in fewer columns
        sizes, vectors = eigh(rows @ rows.T)
        rows = vectors * np.sqrt(np.maximum(sizes, 0.0))
    squares = np.einsum("ij,ij->i", rows, rows)
    E = (groups[:, None] == np.unique(groups)).astype(float)
    sides, weight = [np.flatnonzero(side) for side in E.T], float(squares.max(initial=0.0))
    x = start.copy()
    for side in sides:
        if not x[side].sum() > 0:
            x[side[squares[side].argmin()]] = 1.0
        x[side] /= x[side].sum()
    floor = 64 * np.finfo(float).eps * np.sqrt(weight)
    length, precise = np.inf, False
    for _ in range(MOST_STEPS):
        check_time()
        before, point = length, x @ rows
        length = float(np.sqrt(point @ point))
        scores = rows @ point
        behind = [float(x[side] @ scores[side] - scores[side].min()) for side in sides]
        if length <= floor or sum(behind) <= tolerance * length**2:
            break
        if length >= before * (1 - 1e-14):
            if precise:
                break
            precise, length = True, np.inf
        side = sides[int(np.argmax(behind))]
        entering = side[scores[side].argmin()]
        used = np.flatnonzero((x != 0) | (np.arange(len(x)) == entering))
        while (target := on_plane(rows[used], E[used], weight, precise)) is not None:
            falling = np.flatnonzero((target <= 0) & (x[used] > target))
            if not falling.size:
                x[used] = np.maximum(target, 0.0)
                break
            now = x[used]
            steps = now[falling] / (now[falling] - target[falling])
            now = np.maximum(now + min(1.0, steps.min()) * (target - now), 0.0)
            now[falling[steps.argmin()]] = 0.0
            x[used] = now
            used = used[now > 0]
    return x


def descended(data: Data, subject: Subject) -> np.ndarray | None:
    """Return weights that separate two sides of all rows in floats; None as soon as the number of
    errors no longer falls fast.

    Hsieh and others, "A dual coordinate descent method for large-scale linear SVM" (ICML 2008),
    without an upper bound on the dual variables, on rows scaled to length 1.
    """
    from linsep.compiled.rows import as_rows
    from linsep.compiled.soft_margin import descend

    bias, random = float(subject.fit_intercept), np.random.default_rng(0)
    w = np.zeros(subject.width + (not subject.fit_intercept))
    lanes: dict[int, tuple[np.ndarray, ...]] = {}  # rows to visit, dual variables, signs, ones
    never, fewest, since = np.array([np.inf, -np.inf]), float("inf"), 0  # no row is set aside
    while since < COUNTS and np.isfinite(w).all():
        for visit in range(VISITS + 1):
            errors = 0
            for batch in within_time(data.lanes()):
                X = doubles(batch.X)
                if batch.first not in lanes:
                    order = np.flatnonzero(subject.active[batch.y])
                    lengths = np.hypot(Block(X, batch.y, 0).lengths, bias)
                    signs, one = sides_of(subject)[batch.y] / lengths, np.ones(batch.size)
                    lanes[batch.first] = order, np.zeros(batch.size), signs, one
                order, dual, signs, one = lanes[batch.first]
                if visit == VISITS:
                    scores = X @ w[: X.shape[1]] + bias * w[-1]
                    errors += int(np.count_nonzero(~(scores * signs > 0)[order]))
                else:
                    random.shuffle(order)
                    descend(
                        as_rows(X), order, dual, signs, np.inf * one, one, w, bias, False, never
                    )
        if not errors:
            return w[: subject.size]
        falling = errors * FALL <= fewest
        fewest, since = (errors, 0) if falling else (fewest, since + 1)
    return None
