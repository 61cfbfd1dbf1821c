"""Points of a cone of full dimension, in floats, where linear functions have the other sign.

The analytic center of the cone A u >= 0 is where the sum of the logarithms of A u less half the
squared length of u is largest. A step from there, in the metric of the barrier (Nesterov and
Nemirovskii, Interior-Point Polynomial Algorithms, 1994), against the value of a function ends on
the boundary of the cone; if the function changes its sign on the way, it has both.
"""

import numpy as np
import scipy.linalg as sla

from linsep.separability.time_limit import check_time

#: most products of numbers in a step of Newton's method
MOST_PRODUCTS = 2e9
#: Newton steps to the center; decrement that is near enough
STEPS, NEAR = 30, 1e-3
#: share of the value at the center that the value of the other sign has at least
CLEAR = 1e-6


def beyond_center(A: np.ndarray, goals: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Return a point for every function where its sign is not that at the center.

    The points are halfway between where the function is zero and the boundary of the cone.

    Parameters
    ----------
    A : array of shape (rows, columns), the cone is where all products are positive
    goals : array of shape (functions, columns)
    inside : array of shape (columns,), a point of the cone

    Returns
    -------
    array of shape (functions, columns); NaN for a function without such a point, and for all if
    that would take too long
    """
    nothing = np.full(goals.shape, np.nan)
    if len(A) * A.shape[1] * max(A.shape[1], len(goals)) > MOST_PRODUCTS:
        return nothing
    with np.errstate(all="ignore"):
        lengths = np.sqrt((A**2).sum(axis=1, keepdims=True))
        A = A / np.where(lengths > 0, lengths, 1.0)
        center = _center(A, inside)
        if center is None:
            return nothing
        u, factor = center
        values = goals @ u
        ways = sla.cho_solve(factor, goals.T, check_finite=False) * -np.sign(values)
        nearer = -(A @ ways) / (A @ u)[:, None]
        far = 1.0 / np.maximum(nearer.max(axis=0), 1e-300)
        fall = (goals.T * ways).sum(axis=0)
        reached = values + far * fall
        points = u + ((far - values / fall) / 2.0 * ways).T
        seen = np.isfinite(points).all(axis=1) & (reached * values < -CLEAR * values**2)
        return np.where(seen[:, None], points, np.nan)


def _center(A: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, bool]] | None:
    """Return the center and a factor of the Hessian there, or None if floats fail."""
    n, d = A.shape
    u = u * np.sqrt(1.0 / max(float(u @ u), 1e-300))
    for _ in range(STEPS):
        check_time()
        products = A @ u
        if not (products > 0.0).all():
            return None
        scaled = A / products[:, None]
        H = scaled.T @ scaled
        H[np.diag_indices(d)] += n
        try:
            factor = sla.cho_factor(H, check_finite=False)
        except (np.linalg.LinAlgError, ValueError):
            return None
        slope = scaled.sum(axis=0) - n * u
        step = sla.cho_solve(factor, slope, check_finite=False)
        decrement = float(np.sqrt(max(slope @ step, 0.0)))
        if not np.isfinite(decrement) or decrement < NEAR:
            break
        u = u + step / (1.0 + decrement)  # stays inside: the barrier is self-concordant
    return (u, factor) if np.isfinite(u).all() else None
