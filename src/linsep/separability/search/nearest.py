"""The shortest convex combination of rows, which gives the widest margin and its proof.

Wolfe, "Finding the nearest point in a polytope" (1976), for one polytope or for the difference of
two. For reflected rows a_i let ``p = sum x_i a_i`` be the shortest vector with x >= 0 and x summing
to 1 within each group. Then ``<p, a> >= |p|^2`` for all rows, and no weights of length 1 have a
margin above |p| over the number of groups.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh, lstsq

from linsep.separability.exact.elimination import equality_point
from linsep.separability.problem.whole_numbers import whole_numbers
from linsep.separability.time_limit import TooLarge, Work, check_time

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
    affine: Affine = ByProducts(rows, groups)
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


def polished(
    rows: np.ndarray, groups: np.ndarray, found: Nearest, tolerance: float, work: Work
) -> Nearest:
    """Improve a combination with exact multipliers, for rows that are nearly dependent.

    Rows enter and leave the active set until it is optimal, or until ``work`` is used up.
    """
    used = np.flatnonzero(found.multipliers).tolist()
    best = found
    for _ in range(200):
        whole, _ = whole_numbers(rows[used].ravel())
        bits = max(abs(m).bit_length() for m in whole)
        try:
            work.pay(len(used) ** 3 * (1e-7 + len(used) * bits * 1e-9), "multipliers")
        except TooLarge:
            return best
        exact = equality_point(whole, groups[used].tolist())
        if exact is None:
            return best
        if min(exact.multipliers) <= 0:
            used.pop(int(np.argmin([float(x) for x in exact.multipliers])))
            continue
        x = np.zeros(len(rows))
        x[used] = [float(multiplier) for multiplier in exact.multipliers]
        length = max(abs(m) for m in exact.point) or 1
        point = np.array([float(Fraction(m, length)) for m in exact.point])
        scores = rows @ point
        level = {g: float(scores[used][groups[used] == g].mean()) for g in np.unique(groups)}
        square = sum(level.values())
        if square <= 0.0:
            return best
        behind = np.array([level[g] for g in groups]) - scores
        gap = float(sum(behind[groups == g].max() for g in level) / square)
        if gap < best.gap:
            best = Nearest(x, x[used] @ rows[used], gap)._replace(
                point=point * (np.linalg.norm(x[used] @ rows[used]) / np.linalg.norm(point))
            )
        if gap <= tolerance:
            return best
        entering = int(behind.argmax())
        if entering in used:
            return best
        used.append(entering)
    return best


def _with_rows(
    affine: Affine, x: np.ndarray, scores: np.ndarray, side: np.ndarray
) -> np.ndarray | None:
    """Return the shortest combination of the active rows and the farthest behind on one side.

    All rows with multipliers <= 0 leave at once, which is fast but may fail: the result is then
    None or a longer combination.
    """
    behind = side[scores[side] < x[side] @ scores[side]]
    entering = behind[np.argsort(scores[behind], kind="stable")[:MOST_ENTERING]]
    used = np.union1d(np.flatnonzero(x), entering)
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


def _with_row(affine: Affine, x: np.ndarray, entering: int) -> np.ndarray:
    """Return the shortest combination of the active rows and one more (Wolfe's minor cycle)."""
    used = np.union1d(np.flatnonzero(x), entering)
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
        self._known: list[int] = []
        self._place = np.full(len(rows), -1)
        self._products = np.zeros((0, 0))

    def shortest(self, used: np.ndarray) -> np.ndarray:
        """Return multipliers of any sign, summing to 1 within each group."""
        self._learn(used[self._place[used] < 0].tolist())
        places, sides = self._place[used], self.sides[used]
        try:
            table = self._products[np.ix_(places, places)]
            table.flat[:: len(table) + 1] += self._weight * RIDGE
            factor = cho_factor(table, check_finite=False)
        except LinAlgError:
            return self.precise.shortest(used)
        found = cho_solve(factor, sides, check_finite=False)
        return found @ np.linalg.solve(sides.T @ found, np.ones(sides.shape[1]))

    def _learn(self, new: list[int]) -> None:
        """Add the products of new active rows with each other and with the known ones."""
        if not new:
            return
        self._place[new] = range(len(self._known), len(self._known) + len(new))
        self._known += new
        fresh = self.rows[self._known] @ self.rows[new].T
        fresh += self._weight * (self.sides[self._known] @ self.sides[new].T)
        n = len(self._known)
        table = np.zeros((n, n))
        table[: n - len(new), : n - len(new)] = self._products
        table[:, n - len(new) :] = fresh
        table[n - len(new) :, :] = fresh.T
        self._products = table


class ByLeastSquares:
    """Shortest affine combinations by an orthogonal factorisation: slower, in full precision."""

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


Affine = ByProducts | ByLeastSquares
