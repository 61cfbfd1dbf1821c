"""The phase transition of logistic regression: the ratio of columns to rows above which no maximum
likelihood estimate exists.
"""

from math import inf, isfinite, pi, sqrt
from numbers import Real
from typing import Any

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy.optimize import minimize
from scipy.special import expit, ndtr

from linsep.errors import ParameterError

#: the normal distribution is integrated from minus to plus this, in panels of so many nodes
FAR, NODES = 8.5, 16


def phase_transition(intercept: float = 0.0, signal: float = 0.0) -> float:
    """Return the ratio of columns to rows above which no maximum likelihood estimate exists.

    Parameters
    ----------
    intercept : float, default=0.0
        b0, the log-odds of the positive class where all columns are at their means.
    signal : float, default=0.0
        gamma, the standard deviation of the log-odds of the rows; 0 if labels are random.

    Returns
    -------
    float
        kappa = h(b0, gamma), at most 1/2. As the numbers of rows n and dimensions d grow with d / n
        tending to a limit, the logistic regression with an intercept has an estimate with
        probability tending to 1 if the limit is below kappa; if it is above, the rows are
        separable.

    Raises
    ------
    ParameterError
        If a number is not finite, or the signal is negative.

    Notes
    -----
    Valid for rows of a normal distribution with any covariance (Candès and Sur, The phase
    transition for the existence of the maximum likelihood estimate in high-dimensional logistic
    regression, Annals of Statistics 48, 2020, section 2):

    h(b0, gamma) = min over t0, t1 of E[max(0, t0 Y + t1 V - Z)^2], with P(Y = 1) = 1 - P(Y = -1) =
    1 / (1 + exp(-b0 - gamma X)), V = Y X, and X and Z standard normal and independent.

    Without signal and with equal classes it is 1/2: Cover's two rows per weight.

    Examples
    --------
    >>> round(phase_transition(), 6), round(phase_transition(0, 2), 6)
    (0.5, 0.34493)
    """
    b0, gamma = number("intercept", intercept), number("signal", signal, 0.0)
    x, weights = normal_nodes(-b0 / gamma, width=pi / gamma) if gamma else normal_nodes()
    x, y = np.tile(x, 2), np.repeat([1.0, -1.0], len(x))
    weights = np.tile(weights, 2) * expit(y * (b0 + gamma * x))
    A = y[:, None] * np.column_stack([np.ones_like(x), x])

    def expected(t: np.ndarray) -> tuple[float, np.ndarray]:
        c = A @ t
        slope = c * ndtr(c) + density(c)
        return float(weights @ (ndtr(c) + c * slope)), 2.0 * (weights * slope) @ A

    def hessian(t: np.ndarray) -> np.ndarray:
        return (A.T * (2.0 * weights * ndtr(A @ t))) @ A

    best = minimize(
        expected, np.zeros(2), jac=True, hess=hessian, method="trust-exact",
        options={"gtol": 1e-10, "max_trust_radius": 1e6},
    )  # fmt: skip
    return float(best.fun)


def normal_nodes(*centers: float, width: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights that integrate over the standard normal distribution.

    Panels are short around ``centers`` where an integrand changes within a ``width``, and grow with
    the distance from them.
    """
    steps = width * np.append(0.0, 2.0 ** np.arange(20))
    ends = [end for center in centers for end in (center + steps, center - steps)]
    edges = np.unique(np.clip(np.concatenate([np.linspace(-FAR, FAR, 25), *ends]), -FAR, FAR))
    nodes, weights = leggauss(NODES)
    half, middle = np.diff(edges)[:, None] / 2, (edges[1:] + edges[:-1])[:, None] / 2
    x = (middle + half * nodes).ravel()
    return x, (half * weights).ravel() * density(x)


def density(z: np.ndarray) -> np.ndarray:
    """Return the density of the standard normal distribution."""
    return np.asarray(np.exp(-0.5 * z * z) / sqrt(2.0 * pi))


def number(name: str, value: Any, least: float = -inf, most: float = inf) -> float:
    """Return a number as a float; raise ParameterError unless it is finite and within bounds."""
    if not isinstance(value, Real) or not isfinite(value) or not least <= float(value) <= most:
        raise ParameterError(
            f"{name} must be a finite number from {least:g} to {most:g}, got {value!r}.",
            option=name, value=value,
        )  # fmt: skip
    return float(value)
