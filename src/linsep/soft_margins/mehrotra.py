"""Predictor and corrector steps of an interior point method for convex quadratic programs.

S. Mehrotra, On the implementation of a primal-dual interior point method, SIAM J. Optim. 2 (1992).
Correctors alone may cycle (C. Cartis, Some disadvantages of a Mehrotra-type primal-dual corrector
interior point algorithm for linear programming, Applied Numerical Mathematics 59, 2009): a
corrector without progress is replaced by a step toward the central path.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

#: a step ends at this share of the way to the boundary
SHARE = 0.995
#: a corrected step must reduce the products below this share of their least sum so far; else the
#: step aims at products of this share of their mean, without second-order terms
FALL, CENTERED = 0.9, 0.3
#: what solves D t + X v = r, v - X't = q for (t, v), where X'X is the curvature
Solve = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


class Move(NamedTuple):
    """Changes of the unknowns of an :class:`InteriorPoint`."""

    a: np.ndarray
    z: np.ndarray
    v: np.ndarray
    w: np.ndarray
    b: float


class InteriorPoint(ABC):
    """A point between the bounds of a convex quadratic program in a, 0 <= a <= upper, y'a = total.

    It has variables ``a`` and their distances ``s`` to the upper bounds, multipliers ``z`` and
    ``v`` of both, and ``b`` of the constraint. Derived classes define the objective, which may
    depend on variables ``w`` that follow ``a``.

    Parameters
    ----------
    a : float64 array of shape (rows,), between the bounds
    upper : float64 array of shape (rows,), all finite or all infinite
    y : float64 array of shape (rows,), 1 or -1; None without the constraint
    total : float
    w : float64 array, default empty
    """

    def __init__(
        self, a: np.ndarray, upper: np.ndarray, y: np.ndarray | None, total: float,
        w: np.ndarray | None = None,
    ):  # fmt: skip
        self.a, self.upper, self.y, self.total, self.b = a, upper, y, total, 0.0
        self.w = np.zeros(0) if w is None else w
        self.boxed = bool(np.isfinite(upper).all())
        self.s = upper - a
        #: how many products of variables and multipliers there are
        self.count = len(a) * (1 + self.boxed)
        #: their least sum so far
        self.least = np.inf
        slopes = self.gradient()
        start = float(np.abs(slopes).mean()) + 1e-300
        self.z = np.maximum(slopes, 0.0) + start
        self.v = np.maximum(-slopes, 0.0) + start if self.boxed else np.zeros_like(slopes)

    @abstractmethod
    def gradient(self) -> np.ndarray:
        """Return the slope of the objective in each variable."""

    @abstractmethod
    def solver(self, D: np.ndarray) -> Solve:
        """Return a solver for the equations of a step, with D added to the curvature."""

    def apart(self) -> np.ndarray:
        """Return the difference between ``w`` and the value that follows from ``a``."""
        return self.w

    def missing(self) -> float:
        """Return the residual of the sum constraint."""
        return 0.0 if self.y is None else self.total - float(self.y @ self.a)

    def residual(self) -> np.ndarray:
        """Return the residual of the gradient, zero at the optimum."""
        of_b = 0.0 if self.y is None else self.y * self.b
        return -(self.gradient() + of_b - self.z + self.v)

    def products(self) -> float:
        """Return the sum of the products of variables and multipliers, zero at the best point."""
        return float(self.a @ self.z) + (float(self.s @ self.v) if self.boxed else 0.0)

    def step(self) -> None:
        """Take a step toward the best point."""
        total, newton = self.products(), self.newton()
        mean, self.least = total / self.count, min(self.least, total)
        ahead = newton(0.0)
        left = self.products_after(ahead, self.length(ahead, 1.0))
        move = newton(mean * (left / (mean * self.count)) ** 3, ahead)
        share = self.length(move, SHARE)
        if self.products_after(move, share) > FALL * self.least:
            move = newton(CENTERED * mean)
            share = self.length(move, SHARE)
        self.go(move, share)

    def newton(self) -> Callable[..., Move]:
        """Return a function that computes the move to products of ``goal``: to first order, or with
        the second-order terms of another move.
        """
        inverse, residual, missing = 1.0 / self.s, self.residual(), self.missing()
        solve, apart = self.solver(self.z / self.a + self.v * inverse), self.apart()
        of_y = None if self.y is None else solve(self.y, np.zeros_like(self.w))

        def move(goal: float, second: Move | None = None) -> Move:
            ra = goal - self.a * self.z
            rs = goal - self.s * self.v if self.boxed else np.zeros_like(self.a)
            if second is not None:
                ra = ra - second.a * second.z
                rs = rs + second.a * second.v if self.boxed else rs
            da, dw = solve(residual + ra / self.a - rs * inverse, apart)
            db = 0.0
            if of_y is not None and self.y is not None:
                db = float((self.y @ da - missing) / (self.y @ of_y[0]))
                da, dw = da - db * of_y[0], dw - db * of_y[1]
            return Move(da, (ra - self.z * da) / self.a, (rs + self.v * da) * inverse, dw, db)

        return move

    def length(self, move: Move, share: float) -> float:
        """Return the share of a move to take: all, or this share of the way to the boundary."""
        moves = [(self.a, move.a), (self.z, move.z)]
        if self.boxed:
            moves += [(self.s, -move.a), (self.v, move.v)]
        most = 1.0
        for x, dx in moves:
            down = dx < 0
            if down.any():
                most = min(most, share * float((-x[down] / dx[down]).min()))
        return most

    def products_after(self, move: Move, share: float) -> float:
        """Return the sum of the products after a share of a move."""
        found = float((self.a + share * move.a) @ (self.z + share * move.z))
        if self.boxed:
            found += float((self.s - share * move.a) @ (self.v + share * move.v))
        return found

    def go(self, move: Move, share: float) -> None:
        """Move by a share of a move."""
        self.a = self.a + share * move.a
        self.w = self.w + share * move.w
        self.b += share * move.b
        self.z = self.z + share * move.z
        if self.boxed:
            self.s = np.maximum(self.upper - self.a, np.finfo(float).tiny)
            self.v = self.v + share * move.v
