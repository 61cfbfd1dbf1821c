"""A proof in floats that a likelihood has its maximum, from a step of Newton's method.

Let a row of class k be seen as its constraints a = (e_k - e_m) x z, one for each rival class m, z
being the standardised row. At any weights B the gradient g is the sum of the constraints times
l = w p_m, positive numbers; and the Hessian H takes any step to the sum of the constraints times
c = w p_m (u - u_m), where the step moves the scores of the row by u_m, and by u in the mean. So if
the exact step H^-1 g moves no two scores of a row apart by 1 or more, all l - c are positive, and a
strictly positive combination of all constraints vanishes. By Stiemke's theorem (1915) no weights
have all rows on the right side, but those that are zero on all: the classes overlap, and the
likelihood has a maximum (Albert and Anderson 1984), a single one where H is regular. Without a
maximum there is no such step anywhere: each pushes some rows by 1.

It does not matter how exact p is: any positive numbers prove it. What rounding can do is bounded
(Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1); that H is regular is
proved by a Cholesky factor of H less a multiple of the unit matrix (Rump, Verification of positive
definiteness, BIT 46, 2006).
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg as sla

from linsep.regression.logistic.likelihood import Likelihood, Moves, Point, Sums

#: half a unit in the last place of 1.0
UNIT = 2.0**-53
#: roundings of one term of a sum, but for the classes and the sum itself
TERM = 80
#: so much smaller than the largest move forward is the largest backward, where all rows seem to be
#: on the right side
BACKWARD = 1e-3


#: squares beyond these, and smaller than 1 / them, are too near to where floats end
HUGE = 1e200


def examined(likelihood: Likelihood, point: Point, step: np.ndarray) -> tuple[bool, bool]:
    """Whether the Newton step at a point proves that there is a maximum; whether there may be none.

    Parameters
    ----------
    likelihood : without penalty
    point : of it, with a Hessian
    step : array of the shape of the weights, about the Hessian's inverse times the gradient
    """
    proof = _Proof.begun(likelihood, point, step)
    if proof is not None and proof.by_curvature() < 1.0:
        return True, False
    moves = likelihood.moves(step)
    if proof is not None and proof.by_moves(moves) < 1.0:
        return True, False
    return False, one_sided(moves)


def one_sided(moves: Moves) -> bool:
    """Whether hardly any row moves back."""
    return moves.backward <= BACKWARD * moves.forward


class _Proof(NamedTuple):
    """Bounds, all in weights that are scaled so that the diagonal of the Hessian is 1.

    Attributes
    ----------
    sums : of the point
    used : bool array, the columns that are not left out; all arrays here have these alone
    noise : array of shape (width,), of the likelihood
    roots : array of shape (q, width), what the gradient is multiplied by, and the weights divided
    step, left : arrays of shape (q width,), the step and what it leaves of the gradient
    square : float, the square of the step in the metric of the Hessian, at most
    lowest : float, the least eigenvalue of the Hessian, at least
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
    def begun(cls, likelihood: Likelihood, point: Point, step: np.ndarray) -> "_Proof | None":
        """None where the Hessian cannot be proved to be regular."""
        used, sums = likelihood.used, point.sums
        every, noise = np.tile(used, likelihood.q), likelihood.noise[used]
        H = point.hessian[np.ix_(every, every)]  # type: ignore[index]
        diagonal, n = np.diag(H), len(H)
        if not ((diagonal > 1.0 / HUGE) & (diagonal < HUGE)).all():
            return None
        roots = 1.0 / np.sqrt(diagonal)
        unit = 1.01 * UNIT * (likelihood.most_rows + sums.blocks + likelihood.q + TERM)
        # what noise of the features makes of the Hessian, whose curvature is at most w / 4
        scaled_noise = np.sqrt(sums.weight) * np.tile(noise, likelihood.q) * roots
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
        shape = likelihood.q, len(noise)
        return cls(sums, used, noise, roots.reshape(shape), y, left, square, lowest, unit)

    def by_curvature(self) -> float:
        """How far scores of a row move apart, at most: the curvature of each row is a part of the
        Hessian, so a row of some curvature moves no further than the step is long. Between classes
        of probabilities p and r it is w p r / (p + r), at least w min(p, r) / 2.
        """
        least, inverses = self.sums.least / 2.0, self.sums.inverses
        if not (least > 0.0 and np.isfinite(inverses)):
            return np.inf
        # by Cauchy and Schwarz the terms of the gradient add up to no more than the second root
        rest = np.linalg.norm(self.left + self.unit * np.sqrt(inverses))
        reach = np.sqrt(max(self.square, 0.0)) + rest / np.sqrt(self.lowest)
        return float(1.01 * reach / np.sqrt(least))

    def by_moves(self, moves: Moves) -> float:
        """The same where the moves of all rows are known."""
        reach, squares, roots = moves.reach[self.used], moves.squares[self.used], self.roots
        terms = np.minimum(np.sqrt(self.sums.weight * squares) * roots, np.sqrt(self.sums.inverses))
        rest = np.linalg.norm(self.left + self.unit * terms.ravel())
        far = np.sqrt(2.0) * np.linalg.norm(reach * roots.max(axis=0)) * rest / self.lowest
        weights = np.abs(self.step.reshape(roots.shape) * roots).max(axis=0)
        unit = UNIT * (len(weights) + TERM)
        rounding = 2.0 * float(weights @ (unit * reach + self.noise))
        return float(1.01 * (moves.apart + far + rounding))


def lowest_eigenvalue(M: np.ndarray) -> float:
    """A number that no eigenvalue of a symmetric matrix with a unit diagonal is below, or 0."""
    n = len(M)
    factor, failed = sla.lapack.dpotrf(M, lower=1)
    if failed:
        return 0.0
    norm = float(np.abs(M).sum(axis=0).max())
    share, _ = sla.lapack.dpocon(factor, norm, uplo="L")
    shift = 0.25 * float(share) * norm
    _, failed = sla.lapack.dpotrf(M - shift * np.eye(n), lower=1)
    return 0.0 if failed else max(0.0, shift - 1.1 * n * (n + 3) * UNIT)
