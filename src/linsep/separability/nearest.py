"""The shortest convex combination of rows, in floats.

Wolfe, "Finding the nearest point in a polytope" (1976), for one polytope or for the difference of
two. For sign-flipped rows a_i let ``p = sum x_i a_i`` be the shortest vector with x >= 0 and x
summing to 1 within each group. Then ``<p, a> >= |p|^2`` for all rows, and no weights of length 1
have a margin above |p| over the number of groups.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, lapack, lstsq

from linsep.separability.time_limit import check_time

#: most rows that enter the active set at once
MOST_ENTERING = 16
#: ridge, relative to the longest row, which makes dependent rows harmless
RIDGE = 1e-11


class Nearest(NamedTuple):
    """The shortest combination found.

    Attributes
    ----------
    multipliers : float array
        Nonnegative, summing to 1 within each group.
    point : float array
        The rows times the multipliers.
    gap : float
        Bound on how much shorter any combination can be, relative to the length of ``point``.
    """

    multipliers: np.ndarray
    point: np.ndarray
    gap: float


def nearest(
    rows: np.ndarray,
    groups: np.ndarray,
    tolerance: float,
    start: np.ndarray | None = None,
    most_steps: int = 5_000,
) -> Nearest:
    """Return the shortest combination of rows, to a ``tolerance`` relative to its length."""
    given, rows = rows, _rotated(rows)
    size = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    sides = {g: np.flatnonzero(groups == g) for g in np.unique(groups)}
    if start is None or not all(start[side].sum() > 0 for side in sides.values()):
        start = np.zeros(len(rows))
        start[[side[size[side].argmin()] for side in sides.values()]] = 1.0
    x = start.copy()
    for side in sides.values():
        x[side] /= x[side].sum()
    floor = 64 * np.finfo(float).eps * size.max()
    affine: ByProducts | ByLeastSquares = ByProducts(rows, groups)
    length, bold = np.inf, True
    for _ in range(most_steps):
        check_time()
        before, point = length, x @ rows
        length = float(np.sqrt(point @ point))
        scores = rows @ point
        lowest = {g: int(side[scores[side].argmin()]) for g, side in sides.items()}
        behind = {g: x[side] @ scores[side] - scores[lowest[g]] for g, side in sides.items()}
        gap = sum(behind.values()) / length**2 if length > floor else 0.0
        if gap <= tolerance:
            break
        if length >= before * (1 - 1e-14):
            if isinstance(affine, ByLeastSquares):
                break
            affine, length = ByLeastSquares(rows, groups), np.inf
        group = max(behind, key=lambda g: behind[g])
        more = _with_rows(affine, x, scores, sides[group]) if bold else None
        bold = more is not None and float(np.linalg.norm(more @ rows)) < length * (1 - 1e-3)
        x = more if bold and more is not None else _with_row(affine, x, lowest[group])
    return Nearest(x, x @ given, gap)


def _rotated(rows: np.ndarray) -> np.ndarray:
    """Return rows with the same lengths and angles, in fewer columns if there are many."""
    if rows.shape[1] <= 2 * len(rows):
        return rows
    sizes, vectors = eigh(rows @ rows.T)
    return vectors * np.sqrt(np.maximum(sizes, 0.0))


def _with_rows(
    affine: ByProducts | ByLeastSquares, x: np.ndarray, scores: np.ndarray, side: np.ndarray
) -> np.ndarray | None:
    """Return the shortest combination of the active rows and the farthest behind on one side.

    All rows with multipliers <= 0 leave at once, which is fast but may fail: the result is then
    None or a longer combination.
    """
    behind = side[scores[side] < x[side] @ scores[side]]
    entering = behind[np.argsort(scores[behind], kind="stable")[:MOST_ENTERING]]
    chosen = x != 0
    chosen[entering] = True
    used = np.flatnonzero(chosen)
    for _ in range(MOST_ENTERING):
        target = affine.shortest(used)
        if (target > 0).all():
            found = np.zeros(len(x))
            found[used] = target
            return found
        used = used[target > 0]
        if len(np.unique(affine.groups[used])) < len(np.unique(affine.groups)):
            return None
    return None


def _with_row(affine: ByProducts | ByLeastSquares, x: np.ndarray, entering: int) -> np.ndarray:
    """Return the shortest combination of the active rows and one more (Wolfe's minor cycle)."""
    chosen = x != 0
    chosen[entering] = True
    used = np.flatnonzero(chosen)
    x = x.copy()
    while True:
        target = affine.shortest(used)
        now = x[used]
        bad = target <= 0
        if not bad.any():
            x[used] = target
            return x
        falling = bad & (now > target)
        if not falling.any():
            return x
        step = min(1.0, (now[falling] / (now[falling] - target[falling])).min())
        now = now + step * (target - now)
        now[np.flatnonzero(falling)[now[falling].argmin()]] = 0.0
        now[now < 0] = 0.0
        x[used] = now
        left = used[now > 0]
        if len(left) == len(used) or not len(left):
            return x
        used = left


class ByProducts:
    """Shortest affine combinations from the rows' Gram matrix: fast, to half of the digits.

    With E the group indicators and ``M = A A^T + s E E^T``, which changes no optimum, the
    multipliers are ``M^-1 E (E^T M^-1 E)^-1 1``.
    """

    def __init__(self, rows: np.ndarray, groups: np.ndarray) -> None:
        self.rows, self.groups = rows, groups
        self.sides = (groups[:, None] == np.unique(groups)).astype(float)
        self.precise = ByLeastSquares(rows, groups)
        self._weight = float(np.einsum("ij,ij->i", rows, rows).max(initial=0.0))
        self._known = np.zeros(0, dtype=int)
        self._place = np.full(len(rows), -1)
        self._products = np.zeros((0, 0))

    def shortest(self, used: np.ndarray) -> np.ndarray:
        """Return multipliers of any sign, summing to 1 within each group."""
        places, sides = self._place[used], self.sides[used]
        if places.min() < 0:
            self._learn(used[places < 0])
            places = self._place[used]
        # LAPACK itself, which checks nothing: the systems are small and many.
        table = self._products[places[:, None], places]
        table.flat[:: len(table) + 1] += self._weight * RIDGE
        _, found, failed = lapack.dposv(table.T, sides, overwrite_a=True)
        if failed:
            return self.precise.shortest(used)
        _, _, shares, failed = lapack.dgesv(sides.T @ found, np.ones(sides.shape[1]))
        return self.precise.shortest(used) if failed else found @ shares

    def _learn(self, new: np.ndarray) -> None:
        """Add the products of new active rows with each other and with the known ones."""
        before, n = len(self._known), len(self._known) + len(new)
        self._place[new] = np.arange(before, n)
        self._known = np.append(self._known, new)
        fresh = self.rows[self._known] @ self.rows[new].T
        fresh += self._weight * (self.sides[self._known] @ self.sides[new].T)
        if n > len(self._products):
            table = np.zeros((2 * n, 2 * n))
            table[:before, :before] = self._products[:before, :before]
            self._products = table
        self._products[:n, before:n] = fresh
        self._products[before:n, :n] = fresh.T


class ByLeastSquares:
    """Shortest affine combinations by an orthogonal factorization: slower, in full precision."""

    def __init__(self, rows: np.ndarray, groups: np.ndarray) -> None:
        self.rows, self.groups = rows, groups

    def shortest(self, used: np.ndarray) -> np.ndarray:
        """Return multipliers of any sign, summing to 1 within each group."""
        rows, groups = self.rows[used], self.groups[used]
        base = {g: int(np.flatnonzero(groups == g)[0]) for g in np.unique(groups)}
        bases = np.array([base[g] for g in groups])
        others = np.flatnonzero(bases != np.arange(len(rows)))
        origin = rows[list(base.values())].sum(axis=0)
        found = np.zeros(len(rows))
        found[list(base.values())] = 1.0
        if others.size:
            differences = (rows[others] - rows[bases[others]]).T
            part = lstsq(differences, -origin, lapack_driver="gelsy", check_finite=False)[0]
            found[others] = part
            np.subtract.at(found, bases[others], part)
        return found
