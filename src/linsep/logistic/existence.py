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

from typing import NamedTuple

import numpy as np
import scipy.linalg as sla

from linsep.logistic.columns import UNIT
from linsep.logistic.objective import Moves, Objective, Point, Sums

#: number of roundings of one term, without the roundings of the classes and of the sum
TERM = 80
#: ratio of the largest backward to the largest forward move below which the classes seem separable
BACKWARD = 1e-3


#: largest squares (and inverse of the smallest) that are safe from overflow
HUGE = 1e200


def examined(objective: Objective, point: Point, step: np.ndarray) -> tuple[bool, bool]:
    """Return whether a Newton step proves that a maximum exists, and whether it may not exist.

    Parameters
    ----------
    objective : Objective, without a penalty of the columns in use
    point : Point, with a Hessian
    step : array of the shape of the weights, approximately the inverse Hessian times the gradient
    """
    if not objective.used.any():  # no weights, so the likelihood is at its maximum
        return True, False
    proof = _Proof.begun(objective, point, step)
    if proof is not None and proof.by_curvature() < 1.0:
        return True, False
    moves = objective.moves(step)
    if proof is not None and proof.by_moves(moves) < 1.0:
        return True, False
    return False, one_sided(moves)


def one_sided(moves: Moves) -> bool:
    """Return whether hardly any score moves backward."""
    return moves.backward <= BACKWARD * moves.forward


class _Proof(NamedTuple):
    """Error bounds, with weights scaled so that the Hessian has a unit diagonal.

    Attributes
    ----------
    sums : of the point
    used : bool array, the columns not left out; all arrays here have only these
    noise : array of shape (width,), of the objective
    roots : array of shape (q, width), factors of the gradient and divisors of the weights
    step, left : arrays of shape (q width,), the step and a bound on the residual gradient
    square : float, upper bound on the squared step in the metric of the Hessian
    lowest : float, lower bound on the least eigenvalue of the Hessian
    unit : float, relative rounding error of sums over rows
    """

    sums: Sums
    used: np.ndarray
    noise: np.ndarray
    roots: np.ndarray
    step: np.ndarray
    left: np.ndarray
    square: float
    lowest: float
    unit: float

    @classmethod
    def begun(cls, objective: Objective, point: Point, step: np.ndarray) -> "_Proof | None":
        """Compute the bounds; return None if the Hessian cannot be proved regular."""
        used, sums = objective.used, point.sums
        every, noise = np.tile(used, objective.q), objective.noise[used]
        H = point.hessian[np.ix_(every, every)]
        diagonal, n = np.diag(H), len(H)
        if not ((diagonal > 1.0 / HUGE) & (diagonal < HUGE)).all():
            return None
        roots = 1.0 / np.sqrt(diagonal)
        unit = 1.01 * UNIT * (objective.terms.block_rows + sums.blocks + objective.q + TERM)
        # effect of the features' noise on the Hessian, whose curvature is at most w / 4
        scaled_noise = np.sqrt(sums.weight) * np.tile(noise, objective.q) * roots
        largest_noise = float(scaled_noise.max())
        unit_of_hessian = 2.0 * unit + 2.0 * largest_noise + largest_noise**2
        M = H * roots * roots[:, None]
        lowest = lowest_eigenvalue(M) - n * unit_of_hessian
        if lowest <= 0.0:
            return None
        y = step[:, used].ravel() / roots
        size, product = float(np.abs(y).sum()), M @ y
        slope = roots * point.gradient[:, used].ravel()
        rounding = (unit_of_hessian + n * UNIT) * size + n * UNIT * np.abs(slope)
        left = np.abs(slope - product) + rounding + scaled_noise * np.sqrt(sums.weight)
        square = float(y @ product) + 2.0 * unit_of_hessian * size**2 + n * UNIT * size**2
        shape = objective.q, len(noise)
        return cls(sums, used, noise, roots.reshape(shape), y, left, square, lowest, unit)

    def by_curvature(self) -> float:
        """Bound how far scores of a row move apart, by the length of the step: the curvature of a
        row is a part of the Hessian. Between classes of probabilities p and r it is
        w p r / (p + r), at least w min(p, r) / 2.
        """
        least, inverses = self.sums.least / 2.0, self.sums.inverses
        if not (least > 0.0 and np.isfinite(inverses)):
            return np.inf
        # by Cauchy-Schwarz the terms of the gradient sum to no more than the second root
        rest = np.linalg.norm(self.left + self.unit * np.sqrt(inverses))
        reach = np.sqrt(max(self.square, 0.0)) + rest / np.sqrt(self.lowest)
        return float(1.01 * reach / np.sqrt(least))

    def by_moves(self, moves: Moves) -> float:
        """Bound how far scores of a row move apart, given the moves of all rows."""
        reach, squares, roots = moves.reach[self.used], moves.squares[self.used], self.roots
        terms = np.minimum(np.sqrt(self.sums.weight * squares) * roots, np.sqrt(self.sums.inverses))
        rest = np.linalg.norm(self.left + self.unit * terms.ravel())
        far = np.sqrt(2.0) * np.linalg.norm(reach * roots.max(axis=0)) * rest / self.lowest
        weights = np.abs(self.step.reshape(roots.shape) * roots).max(axis=0)
        unit = UNIT * (len(weights) + TERM)
        rounding = 2.0 * float(weights @ (unit * reach + self.noise))
        return float(1.01 * (moves.apart + far + rounding))


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
