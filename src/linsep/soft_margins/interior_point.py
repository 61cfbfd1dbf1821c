"""The soft margin by an interior point method, for few rows or few features.

Predictor and corrector steps on the dual (S. Mehrotra, On the implementation of a primal-dual
interior point method, SIAM J. Optim. 2, 1992; M. Ferris and T. Munson, Interior-point methods for
massive support vector machines, SIAM J. Optim. 13, 2002). Correctors alone may cycle (C. Cartis,
Some disadvantages of a Mehrotra-type primal-dual corrector interior point algorithm for linear
programming, Applied Numerical Mathematics 59, 2009): a corrector without progress is replaced by a
step toward the central path. Weights are separate unknowns, since computing them as a sum of many
large terms would lose digits. Each step solves the smaller of two systems, in the features or in
the rows.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from linsep.compiled.rows import as_rows
from linsep.compiled.soft_margin import add_gram
from linsep.mistake_bounds.margins import augmented
from linsep.soft_margins.problem import Certificate, Problem, certified

#: steps in which neither the gap nor the distances from the best point fall by a tenth: only
#: rounding is left
PATIENCE, STUCK = 8, 0.9
MOST_STEPS = 500
#: above this gap the rounding of a step does not matter
ROUGH = 1e-3
#: the gap is computed once the products say that it may be this many times the goal
FAR = 100
#: most rows or features: their matrix has 72 MB
MOST_WIDE = 3_000
#: a step ends at this share of the way to the boundary
SHARE = 0.995
#: a corrected step must reduce the products below this share of their least sum so far; else the
#: step aims at products of this share of their mean, without second-order terms
FALL, CENTERED = 0.9, 0.3


class Move(NamedTuple):
    """Changes of the unknowns of a :class:`Point`."""

    a: np.ndarray
    z: np.ndarray
    v: np.ndarray
    w: np.ndarray
    b: float


def interior_point(
    problem: Problem, tol: float, told: Callable[[Certificate], bool] = lambda found: False,
    own: bool = False,
) -> Certificate:  # fmt: skip
    """Return weights whose gap is at most ``tol``, or the smallest gap reachable in floats, or the
    best so far when ``told`` (called with the best certificate) returns True. ``own``: the gap is
    that of the weights that follow from the dual variables.
    """
    point = Point(problem)
    best, since = certified(problem, point.a), 0
    least = np.array([best.gap, *point.distances()])
    for _ in range(MOST_STEPS):
        if best.gap <= tol or since >= PATIENCE or not point.step():
            break
        gap = np.inf
        if point.gap <= FAR * tol or since:
            weights = point.w if problem.bias else np.append(point.w, 0.0)
            found = certified(problem, point.a, None if own else weights)
            best, gap = min(best, found, key=lambda each: each.gap), found.gap
        if told(best):
            break
        now = np.array([gap, *point.distances()])
        fell = now < STUCK * least
        since, least = 0 if fell.any() else since + 1, np.where(fell, now, least)
    return best


def cost_of_steps(X: Any) -> float:
    """Return an estimate of the seconds for the usual number of steps; infinity if the rows, or the
    matrix of each step, are too large.
    """
    rows, features = X.shape
    small = min(rows, features)
    if small > MOST_WIDE:
        return float("inf")
    products = rows * features * small
    if sp.issparse(X) and features <= rows:
        products = 10.0 * float(np.square(np.diff(X.indptr), dtype=np.float64).sum())
    return 30 * (products + small**3 / 3 + 300.0 * rows) / 4e9


class Point:
    """Dual variables a between zero and the costs of the hinge and their distances s to the costs,
    with multipliers z and v of both, weights w, which follow them, and a free intercept b.
    """

    def __init__(self, problem: Problem):
        y, costs, self.bias = problem.signs, problem.costs, problem.bias
        X = problem.X.astype(np.float64, copy=False)
        if problem.free and not sp.issparse(X):
            X = X - X.mean(axis=0)  # which changes the free intercept alone
        elif self.bias:
            X = augmented(X)
        self.sums = Problem(X, y, costs, False, None)
        self.X = X.multiply(y[:, None]).tocsr() if sp.issparse(X) else X * y[:, None]
        self.T = self.X.T.tocsr() if sp.issparse(X) else self.X.T
        #: the products of all pairs of rows, if these are fewer than features
        self.Q = None
        if X.shape[0] <= X.shape[1]:
            self.Q = self.X @ self.T
            self.Q = self.Q.toarray() if sp.issparse(X) else self.Q
        self.y, self.free, self.boxed = y, problem.free, not problem.squared
        #: whether a matrix of the features was too near to singular for its Cholesky factor
        self.careful = False
        self.ridge = 0.5 / costs if problem.squared else 0.0
        self.upper = costs if self.boxed else np.full(len(y), np.inf)
        self.a = costs / 2
        if problem.free:
            sums = self.a[y > 0].sum(), self.a[y < 0].sum()
            self.a = self.a * np.where(y > 0, min(sums) / sums[0], min(sums) / sums[1])
        self.s, self.w, self.b = self.upper - self.a, self.combined(self.a), 0.0
        #: how many products of variables and multipliers there are, and their least sum so far
        self.count, self.least = len(y) * (1 + self.boxed), np.inf
        slopes = self.gradient()
        start = float(np.abs(slopes).mean()) + 1e-300
        self.z = np.maximum(slopes, 0.0) + start
        self.v = np.maximum(-slopes, 0.0) + start if self.boxed else np.zeros(len(y))

    def combined(self, a: np.ndarray) -> np.ndarray:
        """Return the weights of dual variables."""
        return self.sums.weights_of(a, True)[0][:-1]

    def gradient(self) -> np.ndarray:
        """Return the slope of minus the dual in each variable, without the free intercept."""
        found: np.ndarray = self.X @ self.w - 1.0 + self.ridge * self.a
        return found

    def residual(self) -> np.ndarray:
        """Return the residual of the gradient, zero at the optimum."""
        of_b = self.y * self.b if self.free else 0.0
        return -(self.gradient() + of_b - self.z + self.v)

    def products(self, move: Move | None = None, share: float = 0.0) -> float:
        """Return the sum of the products of variables and multipliers, zero at the best point;
        after a share of a move.
        """
        a, z, v, s = self.a, self.z, self.v, self.s
        if move is not None:
            a, z, v = a + share * move.a, z + share * move.z, v + share * move.v
            s = s - share * move.a
        return float(a @ z) + (float(s @ v) if self.boxed else 0.0)

    def distances(self) -> tuple[float, float]:
        """Return the mean product and the residual of the gradient, both zero at the best point."""
        return self.products() / self.count, float(np.abs(self.residual()).max())

    @property
    def gap(self) -> float:
        """The gap estimated from the products."""
        products = self.products()
        return products / (float(self.a.sum()) + products)

    @np.errstate(all="ignore")
    def step(self) -> bool:
        """Take a step toward the best point; return whether floats allowed it."""
        total = self.products()
        try:
            newton = self.newton()
            ahead = newton(0.0)
            left = self.products(ahead, self.length(ahead, 1.0))
            move = newton(total / self.count * (left / total) ** 3, ahead)
        except (scipy.linalg.LinAlgError, ZeroDivisionError):
            return False
        share, self.least = self.length(move, SHARE), min(self.least, total)
        if self.products(move, share) > FALL * self.least:
            move = newton(CENTERED * total / self.count)
            share = self.length(move, SHARE)
        self.a, self.w = self.a + share * move.a, self.w + share * move.w
        self.z, self.v = self.z + share * move.z, self.v + share * move.v
        self.b += share * move.b
        self.s = np.maximum(self.upper - self.a, np.finfo(float).tiny)
        return bool(np.isfinite(self.a).all() and np.isfinite(self.w).all())

    def newton(self) -> Callable[..., Move]:
        """Return a function that computes the move to products of ``goal``: to first order, or with
        the second-order terms of another move.
        """
        inverse, residual = 1.0 / self.s, self.residual()
        solve = self.solver(self.z / self.a + self.v * inverse + self.ridge)
        apart, missing = self.combined(self.a) - self.w, -float(self.y @ self.a)
        of_y = solve(self.y, np.zeros_like(self.w)) if self.free else None

        def move(goal: float, second: Move | None = None) -> Move:
            ra, rs, db = goal - self.a * self.z, np.zeros_like(self.a), 0.0
            if self.boxed:
                rs = goal - self.s * self.v
            if second is not None:
                ra, rs = ra - second.a * second.z, rs + second.a * second.v
            da, dw = solve(residual + ra / self.a - rs * inverse, apart)
            if of_y is not None:
                db = float((self.y @ da - missing) / (self.y @ of_y[0]))
                da, dw = da - db * of_y[0], dw - db * of_y[1]
            return Move(da, (ra - self.z * da) / self.a, (rs + self.v * da) * inverse, dw, db)

        return move

    def length(self, move: Move, share: float) -> float:
        """Return the share of a move to take: all, or this share of the way to the boundary."""
        moves = [(self.a, move.a), (self.z, move.z)]
        if self.boxed:
            moves += [(self.s, -move.a), (self.v, move.v)]
        ends = [(-x[dx < 0] / dx[dx < 0]).min(initial=np.inf) for x, dx in moves]
        return min(1.0, share * float(min(ends)))

    def solver(self, D: np.ndarray) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
        """Return a solver of D t + X v = r, v - X' t = q: by the Cholesky factor of a matrix of the
        rows, scaled so that large and small D keep their digits, or of I + X' diag(1/D) X, if need
        be by reflections without the squares, the heaviest rows first. Near the optimum it corrects
        the rounding of its first solution.
        """
        root, by_rows, sparse = 1.0 / np.sqrt(D), self.Q is not None, sp.issparse(self.X)
        if by_rows:
            M = self.Q * root * root[:, None]
        elif sparse:
            M = np.zeros((self.X.shape[1],) * 2)
            add_gram(as_rows(self.X), root * root, M)
        else:
            M = scipy.linalg.blas.dsyrk(1.0, (self.X * root[:, None]).T, lower=1)
        M.flat[:: len(M) + 1] += 1.0
        try:
            factor = scipy.linalg.cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            if by_rows or sparse:
                raise
            self.careful = True
        if self.careful:
            rooted = self.X * root[:, None]
            order = np.argsort(-np.abs(rooted).max(axis=1))
            stacked = np.vstack([rooted[order], np.eye(len(M))])
            (R,) = scipy.linalg.qr(stacked, mode="r", overwrite_a=True, check_finite=False)
            factor = R[: len(M)], False

        def solved(r: np.ndarray) -> np.ndarray:
            found: np.ndarray = scipy.linalg.cho_solve(factor, r, check_finite=False)
            return found

        def solve(r: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            if by_rows:
                t = root * solved(root * (r - self.X @ q))
                return t, q + self.T @ t
            v = solved(q + self.T @ (root * root * r))
            return root * root * (r - self.X @ v), v

        def again(r: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            t, v = solve(r, q)
            more = solve(r - D * t - self.X @ v, q + self.T @ t - v)
            return t + more[0], v + more[1]

        return solve if self.gap > ROUGH else again
