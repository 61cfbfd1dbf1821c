"""About the inverse of the Hessian of a logistic regression, for conjugate gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg as sla

from linsep.regression.likelihood import Likelihood, Point
from linsep.regression.penalty import Penalty

Inverse = Callable[[np.ndarray], np.ndarray]
#: values of the factors of all classes together; with more weights the diagonal alone counts
MOST_VALUES = 1 << 24
#: rows that correlations are taken from, for each feature, and how far they are believed
ROWS_A_FEATURE, BELIEVED = 6, 0.97
#: logarithm of the change of a class's diagonal from which its factor is worked out anew
STALE = 0.3


class Preconditioner:
    """The blocks of the classes: how features are correlated in a sample of the rows, with the
    diagonal as it is. Where weights are too many for that, the diagonal.

    Parameters
    ----------
    likelihood : Likelihood
    penalty : Penalty
    """

    def __init__(self, likelihood: Likelihood, penalty: Penalty):
        self.likelihood, self.penalty = likelihood, penalty
        self.correlations: np.ndarray | None = None
        self.factors: list[Any] = []
        self.sums = np.ones(likelihood.q)
        width = likelihood.width
        if 1 < likelihood.q * width**2 <= MOST_VALUES:
            moments = likelihood.moments(ROWS_A_FEATURE * width)
            roots = np.sqrt(np.diag(moments))
            roots[roots == 0.0] = 1.0
            self.correlations = BELIEVED * moments / roots / roots[:, None]
            self.correlations[np.diag_indices(width)] = 1.0

    def at(self, point: Point) -> tuple[Inverse, float]:
        """What to multiply with at a point, and the largest number of the diagonal."""
        counted = self.likelihood.diagonal(point)
        penalty = self.penalty.diagonal(self.likelihood.q)
        diagonal = counted + penalty
        most = float(diagonal.max(initial=0.0))
        if self.correlations is None or not (diagonal > 1e-12 * most).all():
            inverse = 1.0 / np.maximum(diagonal, 1e-12 * max(most, 1e-288))
            return (lambda slope: inverse * slope), most
        factors = []
        for own, held in zip(np.sqrt(counted), penalty, strict=True):
            block = self.correlations * own * own[:, None]
            block[np.diag_indices(len(own))] += held
            factors.append(sla.cho_factor(block, lower=True, overwrite_a=True, check_finite=False))

        def solved(slope: np.ndarray) -> np.ndarray:
            return np.array(
                [
                    sla.cho_solve(f, s, check_finite=False)
                    for f, s in zip(factors, slope, strict=True)
                ]
            )

        return solved, most
