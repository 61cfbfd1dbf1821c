"""How well floating point determines a maximum that barely exists.

If the classes overlap by a few units in the last place, the likelihood is so flat along some
direction that the rounding errors of its gradient, or a last step that is short in standard errors,
change the scores and with them the information, from which standard errors come. An error of e in
the scores changes the information by a factor of up to exp(e).
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from linsep.parallel import workers
from linsep.regression.logistic.ascent import solved
from linsep.regression.logistic.existence import UNIT
from linsep.regression.logistic.fitting import Fit, Task, inverted, problem_of, raw_covariance

#: digits of an estimate that are enough to say nothing
ENOUGH = 4


class Sharpness(NamedTuple):
    """How well floats determine a maximum.

    Attributes
    ----------
    overlap : float
        Upper bound on how far rows are on the wrong side of the boundary, as a share of the largest
        distance of a row on the right side.
    error : float
        Estimate of how much the scores of a row may be off, beside each other.
    """

    overlap: float
    error: float

    @property
    def digits(self) -> int:
        """Number of digits of standard errors that are determined."""
        return int(np.clip(np.floor(-np.log10(max(self.error, UNIT))), 0, 16))

    @property
    def enough(self) -> bool:
        """Whether there is nothing to say."""
        return self.digits >= ENOUGH

    @property
    def sentence(self) -> str:
        """What there is to say, without the full stop."""
        digits = f"only about {self.digits} digits" if self.digits > 1 else "hardly a digit"
        return (
            "A maximum exists, but the classes overlap by no more than "
            f"{self.overlap:.1g} of the largest distance from the boundary: floating point "
            f"determines {digits} of the estimates and standard errors"
        )


def sharpened(task: Task, fit: Fit) -> tuple[Fit, Sharpness]:
    """Return a fit with the covariance at its weights, not before the last step, and how well
    floats determine its maximum, in three passes.
    """
    with workers() as pool:
        likelihood, penalty = problem_of(task, fit.standardization, pool)
        point = likelihood.at(fit.B)
        H = point.hessian + penalty.matrix(likelihood.q)
        step, sure = solved(H, point.gradient)
        left, reached = likelihood.moves(step), likelihood.moves(fit.B)
    inverse, noise = inverted(H), np.tile(likelihood.noise, likelihood.q)
    # a term of the gradient is w r z, and the sum of w r^2 z^2 is at most about that of the Hessian
    slope = UNIT * np.sqrt(np.abs(np.diag(H))) + point.sums.weight * noise
    weights = (np.abs(inverse) @ slope).reshape(likelihood.shape)
    off = left.apart + float((weights @ reached.reach).max())
    rounding = UNIT * float((np.abs(fit.B) @ reached.reach).max())
    overlap = (max(reached.backward, 0.0) + 2.0 * rounding) / max(reached.forward, rounding)
    covariance = raw_covariance(task, fit.standardization, inverse)
    sharp = Sharpness(min(overlap, 1.0), off if sure else np.inf)
    return replace(fit, covariance=covariance), sharp
