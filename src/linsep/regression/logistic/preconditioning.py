"""Approximate inverse Hessian of a logistic regression, to precondition conjugate gradients."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sla

from linsep.regression.logistic.likelihood import Likelihood
from linsep.regression.logistic.terms import Point


class Penalty(NamedTuple):
    """L2 penalty: half the weighted squared norm of the weights.

    With several classes the weights of all classes, shifted to sum to zero, are penalised, so that
    the choice of the reference does not matter.

    Attributes
    ----------
    factors : array of shape (width,), factors of the squared weights
    share : 1 / classes for several classes, 0 for two
    """

    factors: np.ndarray
    share: float

    def times(self, B: np.ndarray) -> np.ndarray:
        """Return the gradient at B."""
        return self.factors * (B - self.share * B.sum(axis=0))

    def value(self, B: np.ndarray) -> float:
        """Return the penalty of B."""
        return 0.5 * float((B * self.times(B)).sum())

    def matrix(self, q: int) -> np.ndarray:
        """Return the Hessian."""
        return np.kron(np.eye(q) - self.share, np.diag(self.factors))

    def diagonal(self, q: int) -> np.ndarray:
        """Return the diagonal of the Hessian, in the shape of the weights."""
        return np.tile(self.factors * (1.0 - self.share), (q, 1))


Inverse = Callable[[np.ndarray], np.ndarray]


class Root(NamedTuple):
    """Functions that multiply gradients by the inverse of A' and steps by the inverse of A, where
    A' A approximates the Hessian.
    """

    down: Inverse
    up: Inverse


#: most values in the factors of all classes; with more weights only the diagonal is used
MOST_VALUES = 1 << 24
#: rows per feature to estimate correlations from, and their shrinkage factor
ROWS_A_FEATURE, BELIEVED = 6, 0.97
#: log-change of a class's diagonal above which its factor is recomputed
STALE = 0.3


class Preconditioner:
    """Block-diagonal preconditioner with a block per class: feature correlations of a sample with
    the exact diagonal; with too many weights only the diagonal.

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
        """Return the inverse at a point, and the largest diagonal entry."""
        factors, diagonal = self._factors(point)
        most = float(diagonal.max(initial=0.0))
        if not factors:
            inverse = 1.0 / diagonal
            return (lambda slope: inverse * slope), most
        return _by_class(factors, partial(sla.cho_solve, check_finite=False)), most

    def root(self, point: Point) -> Root:
        """Return the inverse in two factors."""
        factors, diagonal = self._factors(point)
        if not factors:
            roots = 1.0 / np.sqrt(diagonal)
            return Root(lambda slope: roots * slope, lambda step: roots * step)

        def half(trans: str) -> Any:
            return lambda f, s: sla.solve_triangular(
                f[0], s, lower=True, trans=trans, check_finite=False
            )

        return Root(_by_class(factors, half("N")), _by_class(factors, half("T")))

    def _factors(self, point: Point) -> tuple[list[Any], np.ndarray]:
        """Return a Cholesky factor for each class, if any, and the diagonal of the Hessian."""
        counted = self.likelihood.diagonal(point)
        penalty = self.penalty.diagonal(self.likelihood.q)
        diagonal = counted + penalty
        most = float(diagonal.max(initial=0.0))
        if self.correlations is None or not (diagonal > 1e-12 * most).all():
            return [], np.maximum(diagonal, 1e-12 * max(most, 1e-288))
        factors = []
        for own, held in zip(np.sqrt(counted), penalty, strict=True):
            block = self.correlations * own * own[:, None]
            block[np.diag_indices(len(own))] += held
            factors.append(sla.cho_factor(block, lower=True, overwrite_a=True, check_finite=False))
        return factors, diagonal


def _by_class(factors: list[Any], solve: Callable[[Any, np.ndarray], np.ndarray]) -> Inverse:
    """Return a function that solves for each row with the factor of its class."""
    return lambda slope: np.array([solve(f, s) for f, s in zip(factors, slope, strict=True)])
