"""The soft margin by an interior point method, where rows or features are few.

Mehrotra's predictor and corrector steps on the dual (M. Ferris and T. Munson, Interior-point
methods for massive support vector machines, SIAM J. Optim. 13, 2002). Weights are unknowns of their
own, since a sum of many large terms would lose their digits. Each step solves with the smaller of
two matrices, of the features or of the rows.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from linsep.compiled.rows import as_rows
from linsep.compiled.soft_margin import add_gram
from linsep.soft_margins.blocks import Blocks
from linsep.soft_margins.problem import Certificate, Problem, certified

#: a step ends at this share of the way to the boundary
SHARE = 0.995
#: steps in which neither the gap nor the distances from the best point fall by a tenth: only
#: rounding is left
PATIENCE, FALL = 8, 0.9
MOST_STEPS = 200
#: above this gap the rounding of a step does not matter
ROUGH = 1e-3
#: the gap is computed once the products say that it may be this many times the goal
FAR = 100
#: products of a matrix that reflections may take two or three times as long for
REFLECTED = 1_000_000
#: most rows or features: their matrix has 72 MB
MOST_WIDE = 3_000


def interior_point(
    problem: Problem, tol: float, told: Callable[[Certificate], bool] = lambda found: False
) -> Certificate:
    """Return weights whose gap is at most ``tol``, or the smallest that floats reach, or the best
    when ``told``, which hears of the best so far, returns True.
    """
    point = Point(problem)
    best, since = certified(problem, point.a), 0
    least = np.array([best.gap, *point.distances()])
    for _ in range(MOST_STEPS):
        if best.gap <= tol or since >= PATIENCE or not point.stepped():
            break
        gap = np.inf
        if point.gap <= FAR * tol or since:
            found = certified(problem, point.a, point.weights())
            best, gap = min(best, found, key=lambda each: each.gap), found.gap
        if told(best):
            break
        now = np.array([gap, *point.distances()])
        since = 0 if (now < FALL * least).any() else since + 1
        least = np.fmin(least, now)
    return best


def cost_of_steps(X: Any) -> float:
    """Return about how many seconds the usual number of steps take; infinity if the rows, or the
    matrix of each step, are too large.
    """
    rows, features = X.shape
    small = min(rows, features)
    if small > MOST_WIDE or isinstance(X, Blocks):
        return float("inf")
    products = rows * features * small
    if sp.issparse(X) and features <= rows:
        products = 10.0 * float(np.square(np.diff(X.indptr), dtype=np.float64).sum())
    return 30 * (products + small**3 / 3 + 300.0 * rows) / 4e9


class Direction(NamedTuple):
    """Changes of a, of the weights and of the free intercept."""

    a: np.ndarray
    w: np.ndarray
    b: float


class Point:
    """Dual variables a and their distances s to the upper bounds, with multipliers z and v, and
    weights w with a free intercept b.
    """

    def __init__(self, problem: Problem):
        self.free, self.bias = problem.free, problem.bias
        y, costs, self.boxed = problem.signs, problem.costs, not problem.squared
        X = problem.X.astype(np.float64, copy=False)
        if self.free and not sp.issparse(X):
            X = X - X.mean(axis=0)  # which changes the free intercept alone
        elif self.bias:
            ones = np.ones((X.shape[0], 1))
            X = sp.hstack([X, ones]).tocsr() if sp.issparse(X) else np.hstack([X, ones])
        self.basis = None if sp.issparse(X) else basis_of(X)
        if self.basis is not None:
            X = np.ascontiguousarray(X @ self.basis)
        self.problem = Problem(X, y, costs, False, None)
        self.costs, self.y = costs, y
        self.X = X.multiply(y[:, None]).tocsr() if sp.issparse(X) else X * y[:, None]
        self.T = self.X.T.tocsr() if sp.issparse(X) else self.X.T
        #: whether matrices are factored by reflections, which keep more digits
        self.careful = not sp.issparse(X) and X.size * X.shape[1] < REFLECTED
        wide = sp.issparse(X) and X.shape[0] < X.shape[1]
        self.Q = (self.X @ self.T).toarray() if wide else None
        self.ridge = 0.0 if self.boxed else 0.5 / costs
        self.a = costs / 2
        if self.free:
            sums = self.a[y > 0].sum(), self.a[y < 0].sum()
            self.a[y > 0] *= min(sums) / sums[0]
            self.a[y < 0] *= min(sums) / sums[1]
        self.s = costs - self.a if self.boxed else np.full_like(self.a, np.inf)
        self.w, self.b = self.combined(), 0.0
        g = self.gradient()
        start = float(np.abs(g).mean()) + 1e-300
        self.z = np.maximum(g, 0.0) + start
        self.v = np.maximum(-g, 0.0) + start if self.boxed else np.zeros_like(g)

    def combined(self) -> np.ndarray:
        """Return the weights of the dual variables."""
        return self.problem.weights_of(self.a, True)[0][:-1]

    def weights(self) -> np.ndarray:
        """Return the weights as problems have them."""
        found = self.w if self.basis is None else self.basis @ self.w
        return found if self.bias else np.append(found, 0.0)

    def gradient(self) -> np.ndarray:
        """Return the slope of minus the dual in each variable, without the free intercept."""
        found: np.ndarray = self.X @ self.w - 1.0 + self.ridge * self.a
        return found

    def residual(self) -> np.ndarray:
        """Return how far the gradient is from that of the best point."""
        return -(self.gradient() + self.y * self.b - self.z + self.v)

    def distances(self) -> tuple[float, float]:
        """Return the mean product and the residual of the gradient, both zero at the best point."""
        return self.mean, float(np.abs(self.residual()).max())

    @property
    def mean(self) -> float:
        """The mean product of variables and their multipliers, which goes to zero."""
        total = float(self.a @ self.z)
        if not self.boxed:
            return total / len(self.a)
        return (total + float(self.s @ self.v)) / (2 * len(self.a))

    @property
    def gap(self) -> float:
        """About the gap, as far as the products say."""
        products = self.mean * len(self.a) * (1 + self.boxed)
        return products / (float(self.a.sum()) + products)

    def stepped(self) -> bool:
        """Take a step towards the best point; return whether floats allowed it."""
        with np.errstate(all="ignore"):
            try:
                self.step()
            except (scipy.linalg.LinAlgError, ZeroDivisionError):
                if self.careful or sp.issparse(self.X):
                    return False
                self.careful = True
                return self.stepped()
        return bool(np.isfinite(self.a).all() and np.isfinite(self.w).all())

    def step(self) -> None:
        """Take a step towards the best point."""
        inverse_s, none = 1.0 / self.s, np.zeros_like(self.a)
        residual, apart = self.residual(), self.combined() - self.w
        solve = self.refined(self.z / self.a + self.v * inverse_s + self.ridge)
        of_y = solve(self.y, np.zeros_like(self.w)) if self.free else None

        def direction(ra: np.ndarray, rs: np.ndarray) -> tuple[Direction, np.ndarray, np.ndarray]:
            da, dw = solve(residual + ra / self.a - rs * inverse_s, apart)
            db = 0.0
            if of_y is not None:
                db = float((self.y @ da + self.y @ self.a) / (self.y @ of_y[0]))
                da, dw = da - db * of_y[0], dw - db * of_y[1]
            found = Direction(da, dw, db)
            return found, (ra - self.z * da) / self.a, (rs + self.v * da) * inverse_s

        mean, boxed = self.mean, self.boxed
        (da, _, _), dz, dv = direction(-self.a * self.z, -self.s * self.v if boxed else none)
        share = self.length(da, dz, dv, 1.0)
        ahead = float((self.a + share * da) @ (self.z + share * dz))
        if boxed:
            ahead += float((self.s - share * da) @ (self.v + share * dv))
        goal = mean * (ahead / (mean * len(da) * (1 + boxed))) ** 3
        move, dz, dv = direction(
            goal - self.a * self.z - da * dz, goal - self.s * self.v + da * dv if boxed else none
        )
        self.go(move, dz, dv, self.length(move.a, dz, dv, SHARE))

    def go(self, move: Direction, dz: np.ndarray, dv: np.ndarray, share: float) -> None:
        """Move by a share of a direction."""
        self.a = self.a + share * move.a
        self.w = self.w + share * move.w
        self.b += share * move.b
        self.z = self.z + share * dz
        if self.boxed:
            self.s = np.maximum(self.costs - self.a, np.finfo(float).tiny)
            self.v = self.v + share * dv

    def length(self, da: np.ndarray, dz: np.ndarray, dv: np.ndarray, share: float) -> float:
        """Return how far a step may go with all variables above zero."""
        moves = [(self.a, da), (self.z, dz)]
        if self.boxed:
            moves += [(self.s, -da), (self.v, dv)]
        most = 1.0
        for x, dx in moves:
            down = dx < 0
            if down.any():
                most = min(most, share * float((-x[down] / dx[down]).min()))
        return most

    def refined(self, D: np.ndarray) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
        """Return what solves D t + X v = r, v - X' t = q, and, near the best point, corrects the
        rounding of its first answer.
        """
        solve = self.solver(D)
        if self.gap > ROUGH:
            return solve

        def again(r: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            t, v = solve(r, q)
            more = solve(r - D * t - self.X @ v, q + self.T @ t - v)
            return t + more[0], v + more[1]

        return again

    def solver(self, D: np.ndarray) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
        """Return what solves the same once."""
        if self.Q is not None:
            root = 1.0 / np.sqrt(D)  # scaled, so that large and small D keep their digits
            factor = _factor(self.Q * root * root[:, None])

            def by_rows(r: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                t = root * _solved(factor, root * (r - self.X @ q))
                return t, q + self.T @ t

            return by_rows
        inverse = 1.0 / D
        factor = self.factor_of_features(inverse)

        def by_features(r: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            v = _solved(factor, q + self.T @ (inverse * r))
            return inverse * (r - self.X @ v), v

        return by_features

    def factor_of_features(self, weights: np.ndarray) -> Any:
        """Return the Cholesky factor of I + X' diag(weights) X."""
        if not self.careful:
            return _factor(self.weighted(weights))
        # The same by reflections, without the squares, the heaviest rows first.
        rooted = self.X * np.sqrt(weights)[:, None]
        order = np.argsort(-np.abs(rooted).max(axis=1))
        stacked = np.vstack([rooted[order], np.eye(self.X.shape[1])])
        (R,) = scipy.linalg.qr(stacked, mode="r", overwrite_a=True, check_finite=False)
        return R[: self.X.shape[1]], False

    def weighted(self, weights: np.ndarray) -> np.ndarray:
        """Return the lower half of X' diag(weights) X; sparse rows may write to the upper, too."""
        if not sp.issparse(self.X):
            rooted = self.X * np.sqrt(weights)[:, None]
            return scipy.linalg.blas.dsyrk(1.0, rooted.T, lower=1)
        found = np.zeros((self.X.shape[1],) * 2)
        add_gram(as_rows(self.X), weights, found)
        return found


def basis_of(X: np.ndarray) -> np.ndarray:
    """Return the right singular vectors of an array, in which small and large directions of the
    rows are different features: there a Cholesky factor keeps the digits of the small ones.
    """
    wide = X.shape[0] < X.shape[1]
    if wide:
        rows, R = scipy.linalg.qr(X.T, mode="economic", check_finite=False)
        return rows @ scipy.linalg.svd(R.T, check_finite=False)[2].T
    (R,) = scipy.linalg.qr(X, mode="r", check_finite=False)
    found: np.ndarray = scipy.linalg.svd(R[: X.shape[1]], check_finite=False)[2].T
    return found


def _factor(M: np.ndarray) -> Any:
    """Return the Cholesky factor of I + M, which is overwritten."""
    M.flat[:: len(M) + 1] += 1.0
    return scipy.linalg.cho_factor(M, lower=True, overwrite_a=True, check_finite=False)


def _solved(factor: Any, r: np.ndarray) -> np.ndarray:
    found: np.ndarray = scipy.linalg.cho_solve(factor, r, check_finite=False)
    return found
