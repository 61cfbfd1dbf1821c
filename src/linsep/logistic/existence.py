"""Prove in floats that a likelihood has a maximum, from a step of Newton's method.

A row of class k gives the constraints a = (e_k - e_m) x z, one for each other class m, where z is
the standardized row. At any weights B the gradient g is the sum of the constraints times
l = w p_m > 0, and the Hessian H maps a step to the sum of constraints times c = w p_m (u - u_m),
where the step changes the scores of the row by u_m, with mean u. So if the exact step H^-1 g moves
no two scores of a row apart by 1 or more, all l - c are positive, and a strictly positive
combination of all constraints vanishes. By Stiemke's theorem (1915) the only weights with no row on
the wrong side are zero on all rows: the classes overlap, and the likelihood has a maximum (Albert
and Anderson 1984), a unique one if H is regular. Without a maximum there is no such step: each
moves the scores of some rows apart by 1.

The probabilities need not be exact: any positive numbers prove it. Rounding errors are bounded
(Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1), and a Cholesky factor
of H minus a multiple of the unit matrix proves that H is regular (Rump, Verification of positive
definiteness, BIT 46, 2006).
"""

import numpy as np
import scipy.linalg as sla

from linsep.logistic.objective import Moves, Objective, Point, Terms
from linsep.logistic.task import UNIT, block_rows

TERM = 80  #: number of roundings of one term, without the roundings of the classes and of the sum
#: ratio of the largest backward to the largest forward move below which the classes seem separable
BACKWARD = 1e-3


def examined(objective: Objective, point: Point, step: np.ndarray) -> tuple[bool, bool]:
    """Return whether a Newton step proves that a maximum exists, and whether it may not exist; the
    columns in use have no penalty.
    """
    if not objective.used.any():  # no weights, so the likelihood is at its maximum
        return True, False
    moves = objective.moves(step)
    proved = moves.apart < 1.0 and reach(objective, point, step, moves) < 1.0
    return proved, moves.backward <= BACKWARD * moves.forward


def reach(objective: Objective, point: Point, step: np.ndarray, moves: Moves) -> float:
    """Bound how far the exact step, scaled to a unit diagonal of the Hessian, moves two scores of a
    row apart, given the moves by an approximate one; infinite if H cannot be proved regular.
    """
    used, terms = objective.used, objective.terms
    every, noise = np.tile(used, objective.q), _noise(terms, moves.reach)[used]
    H = point.hessian[np.ix_(every, every)]
    diagonal, n = np.diag(H), len(H)
    if not (diagonal > 0.0).all():
        return np.inf
    roots = 1.0 / np.sqrt(diagonal)
    unit = 1.01 * UNIT * (block_rows(len(terms.scales)) + moves.blocks + objective.q + TERM)
    # effect of the features' noise on the Hessian, whose curvature is at most w / 4
    scaled_noise = np.sqrt(moves.weight) * np.tile(noise, objective.q) * roots
    unit_of_hessian = 2.0 * unit + (1.0 + float(scaled_noise.max())) ** 2 - 1.0
    M = H * roots * roots[:, None]
    lowest = lowest_eigenvalue(M) - n * unit_of_hessian
    if lowest <= 0.0:
        return np.inf
    y, slope = step[:, used].ravel() / roots, roots * point.gradient[:, used].ravel()
    rounding = (unit_of_hessian + n * UNIT) * float(np.abs(y).sum()) + n * UNIT * np.abs(slope)
    rounding += unit * np.sqrt(moves.weight * np.tile(moves.squares[used], objective.q)) * roots
    # the residual gradient at the approximate step
    left = np.abs(slope - M @ y) + rounding + scaled_noise * np.sqrt(moves.weight)
    of_class = roots.reshape(objective.q, -1)
    far = np.linalg.norm(moves.reach[used] * of_class.max(axis=0)) * np.linalg.norm(left) / lowest
    weights = np.abs(step[:, used]).max(axis=0)
    own = UNIT * (len(weights) + TERM) * moves.reach[used] + noise
    return float(1.01 * (moves.apart + np.sqrt(2.0) * far + 2.0 * float(weights @ own)))


def _noise(terms: Terms, reach: np.ndarray) -> np.ndarray:
    """Bound the errors of columns that were turned, beside rounding, by their largest values."""
    found = np.zeros(terms.width)
    if terms.turn is not None:
        d, kept = len(terms.scales), np.flatnonzero(terms.scales > 0)
        turn = terms.turn[np.ix_(kept, kept)]
        before = reach[kept] @ np.abs(sla.solve_triangular(turn, np.eye(len(kept))))
        found[kept] = 2.0 * (d + 3) * UNIT * (before @ np.abs(turn))
    return found


def lowest_eigenvalue(M: np.ndarray) -> float:
    """Return a lower bound on the eigenvalues of a symmetric matrix with unit diagonal, or 0."""
    n = len(M)
    factor, failed = sla.lapack.dpotrf(M, lower=1)
    if failed:
        return 0.0
    norm = float(np.abs(M).sum(axis=0).max())
    share, _ = sla.lapack.dpocon(factor, norm, uplo="L")
    shift = 0.25 * float(share) * norm
    _, failed = sla.lapack.dpotrf(M - shift * np.eye(n), lower=1)
    return 0.0 if failed else max(0.0, shift - 1.1 * n * (n + 3) * UNIT)
