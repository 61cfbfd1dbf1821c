"""Soft confidence-weighted learning (SCW) in plain Python.

Reference: J. Wang, P. Zhao and S. Hoi, Exact soft confidence-weighted learning, ICML (2012),
proposition 1.
"""

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

from linsep.teaching.textbook.covariance import Covariance, Gaussian
from linsep.teaching.textbook.machine import Example, Machine, Number, dot


@dataclass(frozen=True)
class SCW(Gaussian):
    """Change a normal distribution of weights just enough to get the example right with probability
    ``eta``.

    With weights of mean w and covariance Sigma (initially the identity), y <w, z> has mean m = y s
    and variance v = z'Sigma z, and is positive with probability ``eta`` if m = phi sqrt(v), phi =
    Phi^-1(eta). The loss is max(0, phi sqrt(v) - m), and every example with a loss causes an
    update. It is a mistake only if m <= 0. The new distribution minimizes the divergence from the
    old one plus C times the loss. The weight of a row multiplies C.

    As in JSAT, 1 / s_j += alpha phi z_j^2 / sqrt(u): this does not minimize over diagonal matrices,
    since alpha is computed for the full matrix.

    Parameters
    ----------
    eta : above 1/2 (at 1/2, zero weights never change) and below 1
    C : aggressiveness, above 0
    """

    eta: float = 0.9
    C: Number = 1.0
    native = None

    def __post_init__(self) -> None:
        if not 0.5 < self.eta < 1:
            raise ValueError(f"eta must be above 0.5 and below 1, got {self.eta!r}.")
        if not self.C > 0:
            raise ValueError(f"C must be above 0, got {self.C!r}.")

    @property
    def phi(self) -> float:
        """The number of standard deviations at which an example is right with probability eta."""
        return NormalDist().inv_cdf(float(self.eta))

    def asks(self, machine: Machine, example: Example) -> bool:
        reached, least = self.margin(machine, example)
        return example.wrong or least > reached

    def margin(self, machine: Machine, example: Example) -> tuple:
        """Return y s, and phi standard deviations of the score."""
        sigma = machine.memory or Covariance.first(example)
        deviation = sqrt(dot(example.z, sigma.times(example).z))
        return example.y * example.score, self.phi * deviation

    def update(self, machine: Machine, example: Example) -> bool:
        """W += alpha y Sigma z, then 1 / s_j += alpha phi z_j^2 / sqrt(u)."""
        sigma = machine.memory or Covariance.first(example)
        direction = sigma.times(example)
        v = dot(example.z, direction.z)
        m, C = example.y * example.score, self.C * example.importance
        alpha = self.step(m, v, C) if v > 0 else 0.0
        if alpha == 0:
            return False
        part = alpha * v * self.phi
        root = (sqrt(part * part + 4 * v) - part) / 2  # sqrt(u)
        machine.add(direction, alpha * example.y)
        machine.memory = sigma.after(example, root / (alpha * self.phi))
        return True

    def step(self, m: Number, v: Number, C: Number) -> float:
        """Return alpha for an example with y s = m and z'Sigma z = v."""
        square = self.phi * self.phi
        psi, zeta = 1 + square / 2, 1 + square
        root = sqrt(m * m * square * square / 4 + v * square * zeta)
        return min(C, max(0.0, (root - m * psi) / (v * zeta)))
