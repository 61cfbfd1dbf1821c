"""The soft margin by an interior point method, for few rows or few features.

Mehrotra's predictor and corrector steps on the dual (M. Ferris and T. Munson, Interior-point
methods for massive support vector machines, SIAM J. Optim. 13, 2002). Weights are separate
unknowns, since computing them as a sum of many large terms would lose digits. Each step solves the
smaller of two systems, in the features or in the rows.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from linsep.compiled.rows import as_rows
from linsep.compiled.soft_margin import add_gram
from linsep.soft_margins.blocks import Blocks
from linsep.soft_margins.mehrotra import InteriorPoint, Solve
from linsep.soft_margins.problem import Certificate, Problem, certified

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
    """Return weights whose gap is at most ``tol``, or the smallest gap reachable in floats, or the
    best so far when ``told`` (called with the best certificate) returns True.
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
    """Return an estimate of the seconds for the usual number of steps; infinity if the rows, or the
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


class Point(InteriorPoint):
    """Dual variables a between zero and the costs of the hinge, with weights w, which follow them,
    and a free intercept b.
    """

    def __init__(self, problem: Problem):
        self.bias, y, costs = problem.bias, problem.signs, problem.costs
        X = problem.X.astype(np.float64, copy=False)
        if problem.free and not sp.issparse(X):
            X = X - X.mean(axis=0)  # which changes the free intercept alone
        elif self.bias:
            ones = np.ones((X.shape[0], 1))
            X = sp.hstack([X, ones]).tocsr() if sp.issparse(X) else np.hstack([X, ones])
        self.basis = None if sp.issparse(X) else basis_of(X)
        if self.basis is not None:
            X = np.ascontiguousarray(X @ self.basis)
        self.problem = Problem(X, y, costs, False, None)
        self.X = X.multiply(y[:, None]).tocsr() if sp.issparse(X) else X * y[:, None]
        self.T = self.X.T.tocsr() if sp.issparse(X) else self.X.T
        #: whether matrices are factored by reflections, which keep more digits
        self.careful = not sp.issparse(X) and X.size * X.shape[1] < REFLECTED
        wide = sp.issparse(X) and X.shape[0] < X.shape[1]
        self.Q = (self.X @ self.T).toarray() if wide else None
        self.ridge = 0.5 / costs if problem.squared else 0.0
        a = costs / 2
        if problem.free:
            sums = a[y > 0].sum(), a[y < 0].sum()
            a[y > 0] *= min(sums) / sums[0]
            a[y < 0] *= min(sums) / sums[1]
        upper = np.full_like(a, np.inf) if problem.squared else costs
        super().__init__(a, upper, y if problem.free else None, 0.0, self.combined(a))

    def combined(self, a: np.ndarray) -> np.ndarray:
        """Return the weights of dual variables."""
        return self.problem.weights_of(a, True)[0][:-1]

    def apart(self) -> np.ndarray:
        """Return the difference between the weights and the weights of the dual variables."""
        return self.combined(self.a) - self.w

    def weights(self) -> np.ndarray:
        """Return the weights in the form of problems."""
        found = self.w if self.basis is None else self.basis @ self.w
        return found if self.bias else np.append(found, 0.0)

    def gradient(self) -> np.ndarray:
        """Return the slope of minus the dual in each variable, without the free intercept."""
        found: np.ndarray = self.X @ self.w - 1.0 + self.ridge * self.a
        return found

    def distances(self) -> tuple[float, float]:
        """Return the mean product and the residual of the gradient, both zero at the best point."""
        return self.products() / self.count, float(np.abs(self.residual()).max())

    @property
    def gap(self) -> float:
        """The gap estimated from the products."""
        products = self.products()
        return products / (float(self.a.sum()) + products)

    def stepped(self) -> bool:
        """Take a step toward the best point; return whether floats allowed it."""
        with np.errstate(all="ignore"):
            try:
                self.step()
            except (scipy.linalg.LinAlgError, ZeroDivisionError):
                if self.careful or sp.issparse(self.X):
                    return False
                self.careful = True
                return self.stepped()
        return bool(np.isfinite(self.a).all() and np.isfinite(self.w).all())

    def solver(self, D: np.ndarray) -> Solve:
        """Return a solver of D t + X v = r, v - X' t = q that, near the optimum, corrects the
        rounding of its first solution.
        """
        D = D + self.ridge
        solve = self.solver_once(D)
        if self.gap > ROUGH:
            return solve

        def again(r: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            t, v = solve(r, q)
            more = solve(r - D * t - self.X @ v, q + self.T @ t - v)
            return t + more[0], v + more[1]

        return again

    def solver_once(self, D: np.ndarray) -> Solve:
        """Return a solver of the same system without a correction."""
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
    """Return the right singular vectors of an array. In these coordinates, small and large
    directions of the rows are different features, so a Cholesky factor keeps the digits of small
    ones.
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
