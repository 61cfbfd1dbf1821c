"""Adaptive regularization of weights (AROW) in plain Python.

References: K. Crammer, A. Kulesza and M. Dredze, Adaptive regularization of weight vectors, NIPS
22 (2009), sections 3 and 4, and Machine Learning 91 (2013).
"""

from dataclasses import dataclass

from linsep.teaching.textbook.covariance import Covariance, Gaussian
from linsep.teaching.textbook.machine import Example, Machine, Number, dot, ratio


@dataclass(frozen=True)
class AROW(Gaussian):
    """Update on every example with m = y s < 1, most strongly for features with uncertain weights.

    The weights have a mean, used for scores, and a covariance Sigma, initially the identity. With v
    = z'Sigma z and alpha = (1 - m) / (v + r), an update adds alpha y Sigma z to the mean, with the
    old Sigma, and then updates Sigma by an observation of z with noise of variance r. Only m <= 0
    is a mistake: an update reduces 1 - m to r / (v + r) of itself, so rows keep causing updates.

    Native learning keeps one Sigma per class, each with its own v in its update (LIBOL shares one
    Sigma among the classes). A row of weight c has noise of variance r / c.

    Parameters
    ----------
    r : above 0; an initial covariance c I with r is the identity with r / c
    """

    r: Number = 1

    def __post_init__(self) -> None:
        if not self.r > 0:
            raise ValueError(f"r must be above 0, got {self.r!r}.")

    def asks(self, machine: Machine, example: Example) -> bool:
        return example.wrong or example.y * example.score < 1

    def update(self, machine: Machine, example: Example) -> bool:
        """W += alpha y Sigma z, then 1 / s_j += importance z_j^2 / r."""
        sigma = machine.memory or Covariance.first(example)
        direction = sigma.times(example)
        v, r = dot(example.z, direction.z), ratio(self.r, example.importance)
        if v == 0:
            return False
        m = example.y * example.score
        machine.add(direction, ratio(1 - m, v + r) * example.y)
        machine.memory = sigma.after(example, r)
        return True
