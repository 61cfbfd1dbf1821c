# ruff: noqa: E741
"""The smallest sum of hinge losses over weights of length at most 1, by an interior point method.

Primal: sum_i c_i max(0, gamma - <u, a_i>) over |u| <= 1. Dual: gamma sum_i l_i - |sum_i l_i a_i|
over 0 <= l_i <= c_i. The steps follow S. Mehrotra, On the implementation of a primal-dual interior
point method, SIAM J. Optim. 2 (1992), with |u| <= 1 as an additional quadratic constraint.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from linsep._system.interrupts import interruption_point
from linsep._system.threads import one_blas_thread

#: a step ends at this share of the way to the boundary
SHARE = 0.99
#: the gap to stop at, as a share of the sum, and the most steps
DIGITS, MOST_STEPS = 1e-10, 100
#: so many steps without a smaller gap are the last
PATIENCE = 8


class Ends(NamedTuple):
    """Weights and dual variables, and their sums in floats.

    Attributes
    ----------
    high, low : float, sums of losses: of the weights, and a lower bound for any weights
    u : array of shape (features,), of length below 1
    l : array of shape (rows,), between 0 and the costs
    """

    high: float
    low: float
    u: np.ndarray
    l: np.ndarray


class Point:
    """A point inside of all constraints, with s - x = A u - gamma: s l, x (c - l) and
    lam (1 - |u|^2) / 2 are zero at the best.
    """

    def __init__(self, A: Any, costs: np.ndarray, gamma: float):
        self.A, self.costs, self.gamma = A, costs, gamma
        self.u = np.zeros(A.shape[1])
        self.s, self.x = np.full(len(costs), gamma), np.full(len(costs), 2 * gamma)
        self.l = costs / 2
        self.lam = 2 * max(float(np.linalg.norm(A.T @ self.l)), gamma * float(costs.mean()))

    def ends(self) -> Ends:
        """Return the two sums of this point."""
        short = np.maximum(0.0, self.gamma - self.A @ self.u)
        length = float(np.linalg.norm(self.A.T @ self.l))
        low = self.gamma * float(self.l.sum()) - length
        return Ends(float(self.costs @ short), low, self.u, self.l)

    def room(self) -> float:
        """Return (1 - |u|^2) / 2."""
        return (1.0 - float(self.u @ self.u)) / 2

    def step(self) -> None:
        """Take a step toward the best point."""
        mean = self.mean(self, 0.0, np.zeros(0))
        solve = self.newton()
        ahead = solve(0.0, None)
        left = self.mean(self, self.longest(ahead, 1.0), *ahead)
        move = solve(mean * min(1.0, left / mean) ** 3, ahead)
        share = self.longest(move, SHARE)
        if share < 0.1:  # the corrector leads astray: toward the central path instead
            move = solve(mean * 0.5, None)
            share = self.longest(move, SHARE)
        for name, change in zip("usxl", move, strict=False):
            setattr(self, name, getattr(self, name) + share * change)
        self.lam += share * move[4]

    @staticmethod
    def mean(at: Point, share: float, du: Any, *more: Any) -> float:
        """Return the mean product after a share of a move."""
        if not share:
            s, x, l, lam, u = at.s, at.x, at.l, at.lam, at.u
        else:
            ds, dx, dl, dlam = more
            s, x, l = at.s + share * ds, at.x + share * dx, at.l + share * dl
            lam, u = at.lam + share * dlam, at.u + share * du
        total = s @ l + x @ (at.costs - l) + lam * (1.0 - u @ u) / 2
        return float(total) / (2 * len(s) + 1)

    def longest(self, move: Any, share: float) -> float:
        """Return the share of a move that stays inside the constraints."""
        du, ds, dx, dl, dlam = move
        rest = self.costs - self.l
        pairs = ((self.s, ds), (self.x, dx), (self.l, dl), (rest, -dl), (self.lam, dlam))
        far = max(float(np.max(-change / value)) for value, change in pairs)
        a, b = float(du @ du), float(self.u @ du)
        if a > 0:  # |u + t du| = 1
            room = 2 * self.room()
            far = max(far, (b + np.sqrt(b * b + a * room)) / room)
        return min(1.0, share / far) if far > 0 else 1.0

    def newton(self) -> Any:
        """Return a function that computes the move to products of ``goal``, with or without
        second-order terms of another move.
        """
        A, u, lam, l, s, x = self.A, self.u, self.lam, self.l, self.s, self.x
        rest, room = self.costs - self.l, self.room()
        D = 1.0 / (s / l + x / rest)
        M = _weighted(A, D)
        M += (lam / room) * np.outer(u, u)
        M.flat[:: len(M) + 1] += lam
        factor = scipy.linalg.cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
        apart = lam * u - A.T @ l
        short = s - x

        def solve(goal: float, second: Any) -> Any:
            of_s, of_x, of_room, of_u = goal, goal, goal, apart
            if second is not None:
                du, ds, dx, dl, dlam = second
                of_s, of_x = goal - ds * dl, goal + dx * dl
                of_room = goal + lam * (du @ du) / 2 + dlam * (u @ du)
                of_u = apart + dlam * du
            e = of_s / l - of_x / rest - short
            right = A.T @ (D * e) - of_u - u * ((of_room - lam * room) / room)
            du = scipy.linalg.cho_solve(factor, right, check_finite=False)
            dl = D * (e - A @ du)
            ds = (of_s - l * s - s * dl) / l
            dx = (of_x - rest * x + x * dl) / rest
            dlam = (of_room - lam * room + lam * float(u @ du)) / room
            return du, ds, dx, dl, dlam

        return solve


def _weighted(A: Any, weights: np.ndarray) -> np.ndarray:
    """Return A' diag(weights) A."""
    if sp.issparse(A):
        found: np.ndarray = (A.T @ A.multiply(weights[:, None]).tocsr()).toarray()
        return found
    rooted = A * np.sqrt(weights)[:, None]
    return rooted.T @ rooted


@one_blas_thread
def smallest_sum(A: Any, costs: np.ndarray, gamma: float) -> Ends:
    """Return weights and dual variables with nearly equal sums.

    Parameters
    ----------
    A : float64 array or CSR matrix of shape (rows, features), rows of length about 1
    costs : float64 array of shape (rows,), above 0
    gamma : float > 0
    """
    basis = None
    if A.shape[0] < A.shape[1]:  # the best weights are combinations of the rows
        dense = A.toarray() if sp.issparse(A) else A
        basis, R = scipy.linalg.qr(dense.T, mode="economic", check_finite=False)
        A = np.ascontiguousarray(R.T)
    point = Point(A, costs, gamma)
    best, waited = point.ends(), 0
    low = best
    with np.errstate(all="ignore"):
        for _ in range(MOST_STEPS):
            interruption_point()
            try:
                point.step()
            except (scipy.linalg.LinAlgError, ZeroDivisionError):
                break
            now = point.ends()
            if not np.isfinite([now.high, now.low]).all():
                break
            better = now.high < best.high or now.low > low.low
            best, low = min(best, now, key=lambda p: p.high), max(low, now, key=lambda p: p.low)
            waited = 0 if better else waited + 1
            if best.high - max(low.low, 0.0) <= DIGITS * best.high or waited == PATIENCE:
                break
    u = best.u if basis is None else basis @ best.u
    return Ends(best.high, low.low, u, low.l)
