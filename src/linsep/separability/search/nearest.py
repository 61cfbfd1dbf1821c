"""The shortest combination of rows: the widest margin, and its proof.

Wolfe, "Finding the nearest point in a polytope" (1976), for one polytope or for the difference of
two. For reflected rows a_i the shortest ``p = sum x_i a_i`` with x >= 0, and x adding to 1 within
each group, separates as well as any weights can: ``<p, a> >= |p|^2`` for all rows at the optimum,
and no weights of length 1 do better than |p| over the number of groups.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh, lstsq

from linsep.separability.exact.elimination import equality_point
from linsep.separability.problem.whole_numbers import whole_numbers
from linsep.separability.time_limit import TooLarge, Work, check_time

#: so many rows come into use together, until that no longer helps
MOST_ENTERING = 16
#: relative to the longest row: rows that depend on others do no harm
RIDGE = 1e-11


class Nearest(NamedTuple):
    """The shortest combination that was found.

    Attributes
    ----------
    multipliers : float array
        Not negative, adding up to 1 within each group.
    point : float array
        The rows times these.
    gap : float
        How much shorter, relative to its length, any combination can be at most.
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
    """The shortest combination of some rows, to a relative ``tolerance`` of its length."""
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
    """Rows of fewer columns, where there are many, with the same lengths and angles."""
    if rows.shape[1] <= 2 * len(rows):
        return rows
    sizes, vectors = eigh(rows @ rows.T)
    return vectors * np.sqrt(np.maximum(sizes, 0.0))


def polished(
    rows: np.ndarray, groups: np.ndarray, found: Nearest, tolerance: float, work: Work
) -> Nearest:
    """The same without rounding in the multipliers: for rows that are nearly dependent.

    Rows come into use or go out of it until those in use are right; gives up when ``work`` is done.
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
        behind = np.array([level[g] for g in groups]) - scores
        gap = float(sum(behind[groups == g].max() for g in level) / sum(level.values()))
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
    """The shortest combination of the rows in use and the farthest behind on one side.

    All that hinder go together, which is quick but may lead nowhere: None then, or a longer one.
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
    """The shortest combination of the rows in use and one more: Wolfe's minor cycle."""
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
    """Shortest affine combinations from the rows' products with each other: quick.

    With E the members of the groups and ``M = A A^T + s E E^T``, which changes no optimum, the
    multipliers are ``M^-1 E (E^T M^-1 E)^-1 1``. Half of the digits are lost.
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
        """Multipliers of any sign, adding to 1 within each group, of the shortest combination."""
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
        """The products of rows that come into use with each other and with those known."""
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
    """Shortest affine combinations by an orthogonal factorisation: slower, to full precision."""

    def __init__(self, rows: np.ndarray, groups: np.ndarray) -> None:
        self.rows, self.groups = rows, groups

    def shortest(self, used: np.ndarray) -> np.ndarray:
        """Multipliers of any sign, adding to 1 within each group, of the shortest combination."""
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
