"""The shortest convex combination of rows, in floats.

Wolfe, "Finding the nearest point in a polytope" (1976), for one polytope or for the difference of
two. For sign-flipped rows a_i let ``p = sum x_i a_i`` be the shortest vector with x >= 0 and x
summing to 1 within each group. Then ``<p, a> >= |p|^2`` for all rows, and no weights of length 1
have a margin above |p| over the number of groups.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, lapack

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
    """

    multipliers: np.ndarray
    point: np.ndarray


class Polytopes(NamedTuple):
    """Rows in groups: ``sides`` has a column for each group, with ones at its rows.

    ``precise`` is slower, and keeps all digits.
    """

    rows: np.ndarray
    sides: np.ndarray
    weight: float
    precise: bool = False

    def on_plane(self, used: np.ndarray) -> np.ndarray | None:
        """Return multipliers of any sign, summing to 1 within each group, of the shortest
        combination of some rows; None if floats fail.

        With E the group indicators and ``M = A A^T + s E E^T``, which changes no optimum, they are
        ``M^-1 E (E^T M^-1 E)^-1 1``.
        """
        A, E = self.rows[used], self.sides[used]
        # LAPACK itself, which checks nothing: the systems are small and many.
        if self.precise:
            root = np.sqrt(self.weight)
            tall = np.hstack([A, root * E, root * RIDGE * np.eye(len(A))]).T
            factor = np.triu(lapack.dgeqrf(tall)[0][: len(A)])
            found, failed = lapack.dpotrs(factor, E)
        else:
            table = A @ A.T + self.weight * (E @ E.T)
            table.flat[:: len(table) + 1] += self.weight * RIDGE
            _, found, failed = lapack.dposv(table.T, E, overwrite_a=True)
        if failed or not np.isfinite(found).all():
            return None
        _, _, shares, failed = lapack.dgesv(E.T @ found, np.ones(E.shape[1]))
        return None if failed else found @ shares

    def with_rows(self, x: np.ndarray, entering: np.ndarray) -> np.ndarray | None:
        """Return the shortest combination of the active rows and some others.

        All rows with multipliers <= 0 leave at once, which is fast but may fail: the result is then
        None or a longer combination.
        """
        chosen = x != 0
        chosen[entering] = True
        used = np.flatnonzero(chosen)
        for _ in range(MOST_ENTERING):
            target = self.on_plane(used)
            if target is None or not self.sides[used[target > 0]].any(axis=0).all():
                return None
            if (target > 0).all():
                found = np.zeros(len(x))
                found[used] = target
                return found
            used = used[target > 0]
        return None

    def with_row(self, x: np.ndarray, entering: int) -> np.ndarray:
        """Return the shortest combination of the active rows and one more: Wolfe's minor cycle."""
        chosen = x != 0
        chosen[entering] = True
        used = np.flatnonzero(chosen)
        x = x.copy()
        while (target := self.on_plane(used)) is not None:
            falling = np.flatnonzero((target <= 0) & (x[used] > target))
            if not falling.size:
                x[used] = np.maximum(target, 0.0)
                return x
            now = x[used]
            steps = now[falling] / (now[falling] - target[falling])
            now = np.maximum(now + min(1.0, steps.min()) * (target - now), 0.0)
            now[falling[steps.argmin()]] = 0.0
            x[used] = now
            used = used[now > 0]
        return x


def nearest(
    rows: np.ndarray, groups: np.ndarray, tolerance: float, start: np.ndarray, most: int = 5_000
) -> Nearest:
    """Return the shortest combination of rows, to a ``tolerance`` relative to its length."""
    given = rows
    if rows.shape[1] > 2 * len(rows):  # the same lengths and angles, in fewer columns
        sizes, vectors = eigh(rows @ rows.T)
        rows = vectors * np.sqrt(np.maximum(sizes, 0.0))
    squares = np.einsum("ij,ij->i", rows, rows)
    several = groups[:, None] == np.unique(groups)
    given_sides = [np.flatnonzero(side) for side in several.T]
    polytopes = Polytopes(rows, several.astype(float), float(squares.max(initial=0.0)))
    x = start.copy()
    for side in given_sides:
        if not x[side].sum() > 0:
            x[side[squares[side].argmin()]] = 1.0
        x[side] /= x[side].sum()
    floor = 64 * np.finfo(float).eps * np.sqrt(polytopes.weight)
    length, bold = np.inf, True
    for _ in range(most):
        check_time()
        before, point = length, x @ rows
        length = float(np.sqrt(point @ point))
        scores = rows @ point
        behind = [float(x[side] @ scores[side] - scores[side].min()) for side in given_sides]
        if length <= floor or sum(behind) <= tolerance * length**2:
            break
        if length >= before * (1 - 1e-14):
            if polytopes.precise:
                break
            polytopes, length = polytopes._replace(precise=True), np.inf
        side = given_sides[int(np.argmax(behind))]
        low = side[np.argsort(scores[side], kind="stable")[:MOST_ENTERING]]
        more = polytopes.with_rows(x, low[scores[low] < x[side] @ scores[side]]) if bold else None
        bold = more is not None and float(np.linalg.norm(more @ rows)) < length * (1 - 1e-3)
        x = more if bold and more is not None else polytopes.with_row(x, int(low[0]))
    return Nearest(x, x @ given)
