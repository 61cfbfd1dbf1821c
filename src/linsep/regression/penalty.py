"""The penalty on the weights of a logistic regression."""

from typing import NamedTuple

import numpy as np


class Penalty(NamedTuple):
    """Half the weighted square of the weights.

    Several classes are penalised as if the reference had weights, too, and they all added up to
    zero: then it does not matter which class is the reference.

    Attributes
    ----------
    factors : array of shape (width,), what the square of each weight counts
    share : 1 / classes for several classes, 0 for two
    """

    factors: np.ndarray
    share: float

    def times(self, B: np.ndarray) -> np.ndarray:
        """The gradient at B."""
        return self.factors * (B - self.share * B.sum(axis=0))

    def value(self, B: np.ndarray) -> float:
        """The penalty of B."""
        return 0.5 * float((B * self.times(B)).sum())

    def matrix(self, q: int) -> np.ndarray:
        """Its Hessian."""
        return np.kron(np.eye(q) - self.share, np.diag(self.factors))

    def diagonal(self, q: int) -> np.ndarray:
        """The diagonal of its Hessian, as the weights are shaped."""
        return np.tile(self.factors * (1.0 - self.share), (q, 1))
