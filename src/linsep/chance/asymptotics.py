"""Logistic regression as columns and rows grow together: where no estimate exists, and the bias."""

from math import inf, isfinite, log, pi, sqrt
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy.optimize import brentq, minimize, root
from scipy.special import expit, ndtr

from linsep.errors import LinsepError, ParameterError
from linsep.words import counted

#: the normal distribution is integrated from minus to plus this, in panels of so many nodes
FAR, NODES = 8.5, 16
#: nodes of the trapezoidal rule, which converges exponentially for functions so smooth
GRID = np.linspace(-8.4, 8.4, 57)
#: most steps of Newton's method to a proximal operator, and the longest of them
STEPS, LONGEST = 100, 4.0
#: by what factor the ratio grows while a solution is followed, and residuals treated as zero
FACTOR, SOLVED = 1.5, 1e-7
#: largest signal, and the share of the largest with an estimate up to which one is looked for
MOST_SIGNAL, NEAR = 20.0, 0.99
#: log-likelihood of a row without columns, of two classes of which one has 30% of the rows
UNEQUAL = 0.61


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
        kappa = h(b0, gamma), at most 1/2. As rows n and dimensions d grow with d / n tending to a
        limit, the logistic regression with an intercept has an estimate with probability tending to
        1 if the limit is below kappa; if it is above, the rows are separable.

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

    Examples
    --------
    >>> round(phase_transition(), 6), round(phase_transition(0, 2), 6)
    (0.5, 0.34493)
    """
    b0, gamma = _number("intercept", intercept), _number("signal", signal, 0.0)
    x, weights = _normal_nodes(-b0 / gamma, width=pi / gamma) if gamma else _normal_nodes()
    x, y = np.tile(x, 2), np.repeat([1.0, -1.0], len(x))
    weights = np.tile(weights, 2) * expit(y * (b0 + gamma * x))
    A = y[:, None] * np.column_stack([np.ones_like(x), x])

    def expected(t: np.ndarray) -> tuple[float, np.ndarray]:
        c = A @ t
        slope = c * ndtr(c) + _density(c)
        return float(weights @ (ndtr(c) + c * slope)), 2.0 * (weights * slope) @ A

    return float(minimize(expected, np.zeros(2), jac=True, method="BFGS", tol=1e-10).fun)


class HighDimensionalMLE(NamedTuple):
    """Limits of maximum likelihood estimates; in classical theory, alpha and understated are 1.

    Attributes
    ----------
    alpha : float
        Factor by which the estimates are too large: their mean is alpha times the coefficient.
    sigma : float
        Standard deviation of an estimate, times sqrt(n) and that of its column given the others.
    lambda_ : float
        For a coefficient of 0, twice the log-likelihood ratio tends to kappa sigma^2 / lambda times
        chi-squared with one degree of freedom, instead of chi-squared.
    log_likelihood : float
        Mean log-likelihood of the rows at the estimates; at zero coefficients it is -log(2).
    understated : float
        sqrt(kappa sigma^2 / lambda), the factor by which classical standard errors are too small.
    """

    alpha: float
    sigma: float
    lambda_: float
    log_likelihood: float
    understated: float


def high_dimensional_mle(ratio: float, signal: float) -> HighDimensionalMLE:
    """Return the bias of logistic regression estimates when there are many columns.

    Parameters
    ----------
    ratio : float
        kappa = d / n, the ratio of columns to rows, above 0 and below ``phase_transition(0,
        signal)``.
    signal : float
        gamma, the standard deviation of the log-odds of the rows, from 0 to 20.

    Returns
    -------
    HighDimensionalMLE

    Raises
    ------
    ParameterError
        If a number is out of range, or no estimate exists.
    LinsepError
        If the solution is not found, near the phase transition.

    Notes
    -----
    The numbers solve the three equations of Sur and Candès, A modern maximum-likelihood theory for
    high-dimensional logistic regression, PNAS 116, 2019, equation 5: with rho(t) = log(1 + exp(t)),
    normal Q1 and Q2 with variances gamma^2 and alpha^2 gamma^2 + kappa sigma^2 and covariance
    -alpha gamma^2, and P = prox_{lambda rho}(Q2),

    - sigma^2 kappa^2 = E[2 rho'(Q1) (lambda rho'(P))^2],
    - 0 = E[rho'(Q1) Q1 lambda rho'(P)],
    - 1 - kappa = E[2 rho'(Q1) / (1 + lambda rho''(P))].

    The rows are normal with any covariance, there is **no intercept**, and both classes are equally
    likely; with an intercept near 0 the numbers are similar. Stein's lemma turns the second
    equation into alpha kappa = 2 E[rho''(Q1) lambda rho'(P)], which also determines alpha without
    signal.

    Examples
    --------
    >>> found = high_dimensional_mle(0.2, 5**0.5)
    >>> round(found.alpha, 4), round(found.sigma, 4), round(found.lambda_, 4)
    (1.4994, 4.7436, 3.0269)
    """
    kappa, gamma = _number("ratio", ratio), _number("signal", signal, 0.0, MOST_SIGNAL)
    most = phase_transition(0.0, gamma)
    if not 0.0 < kappa < most:
        raise ParameterError(
            f"ratio (columns / rows) is {ratio!r}: with signal {gamma:g} estimates exist above 0 "
            f"and below {most:.6g}.", option="ratio", value=ratio,
        )  # fmt: skip
    found = _solved(kappa, gamma)
    (alpha, sigma, lambda_), mean = found.tolist(), float(_expectations(found, kappa, gamma)[3])
    return HighDimensionalMLE(alpha, sigma, lambda_, mean, sigma * sqrt(kappa / lambda_))


def signal_of(ratio: float, log_likelihood: float) -> float | None:
    """Return the signal with which the mean log-likelihood at the estimates tends to the fit's: 0
    if it is larger even without signal; None if no signal explains it.
    """

    def gap(gamma: float) -> float:
        return float(_expectations(_solved(ratio, gamma), ratio, gamma)[3]) - log_likelihood

    most = MOST_SIGNAL
    if phase_transition(0.0, most) < ratio:
        most = NEAR * brentq(lambda gamma: phase_transition(0.0, gamma) - ratio, 0.0, most)
    if gap(0.0) >= 0.0:
        return 0.0
    return float(brentq(gap, 0.0, most)) if gap(most) > 0.0 else None


def note_of_bias(n_rows: int, n_columns: int, mean: float, null: float) -> str:
    """Return a sentence on the bias of the estimates, given the mean log-likelihood at them and
    without columns; empty if it is unknown because the fit is nearly separated.
    """
    ratio, signal = n_columns / n_rows, None
    if ratio < 0.5 and null < mean < 0.0:
        signal = signal_of(ratio, -log(2.0) * mean / null)  # as if the classes were of equal size
    if signal is None:
        return ""
    found = high_dimensional_mle(ratio, signal)
    least = "at least " * (-null < UNEQUAL)
    return (
        f"With {counted(n_columns, 'column')} and {counted(n_rows, 'row')}, estimates are "
        f"{least}about {found.alpha:.2f} times too large, and their standard errors "
        f"{found.understated:.2f} times too small (Sur and Candès 2019, for normal columns)."
    )


def _solved(kappa: float, gamma: float) -> np.ndarray:
    """Return alpha, sigma and lambda, starting from classical theory or from a smaller ratio."""
    z, weights = _normal_nodes()
    curvature = float(weights @ (expit(gamma * z) * expit(-gamma * z)))
    start = np.array([1.0, curvature**-0.5, kappa / curvature])
    found = root(_residual, np.log(start), (kappa, gamma), tol=1e-11)
    if np.abs(found.fun).max() > SOLVED:
        found = root(_residual, np.log(_solved(kappa / FACTOR, gamma)), (kappa, gamma), tol=1e-11)
    if not np.abs(found.fun).max() <= SOLVED:
        raise LinsepError(
            f"The equations for ratio {kappa:g} and signal {gamma:g} were not solved: the ratio "
            "is too near the phase transition.", code="not-converged",
        )  # fmt: skip
    return np.exp(found.x)


def _residual(logs: np.ndarray, kappa: float, gamma: float) -> np.ndarray:
    alpha, sigma, _ = found = np.exp(np.clip(logs, -30.0, 30.0))
    first, second, third, _ = _expectations(found, kappa, gamma)
    return np.array([
        np.log(first / (sigma * kappa) ** 2), np.log(second / (alpha * kappa)),
        (third - 1.0) / kappa + 1.0,
    ])  # fmt: skip


def _expectations(found: np.ndarray, kappa: float, gamma: float) -> np.ndarray:
    """Return the expectations of the three equations, and the mean log-likelihood."""
    alpha, sigma, lambda_ = found.tolist()
    deviation = sqrt((alpha * gamma) ** 2 + kappa * sigma**2)
    # The proximal operator bends where its argument is 0, and where it is lambda.
    z, weights = _normal_nodes(0.0, lambda_ / deviation, width=pi / deviation)
    t = proximal(deviation * z, lambda_)
    p = expit(t)
    # Q1 given Q2 is normal.
    mean, spread = -alpha * gamma**2 / deviation * z, gamma * sigma * sqrt(kappa) / deviation
    slope = expit(mean[:, None] + spread * GRID)
    inner = _density(GRID) * (GRID[1] - GRID[0])
    curvature = 2.0 * weights * ((slope * (1.0 - slope)) @ inner)
    slope = 2.0 * weights * (slope @ inner)
    return np.array([
        slope @ (lambda_ * p) ** 2, curvature @ (lambda_ * p),
        slope @ (1.0 / (1.0 + lambda_ * p * (1.0 - p))), -(slope @ np.logaddexp(0.0, t)),
    ])  # fmt: skip


def proximal(z: np.ndarray, scale: float) -> np.ndarray:
    """Return the t with t + scale / (1 + exp(-t)) = z."""
    t = np.minimum(z, 0.0) + np.maximum(z - scale, 0.0)
    for _ in range(STEPS):
        p = expit(t)
        step = (t + scale * p - z) / (1.0 + scale * p * (1.0 - p))
        t = t - np.clip(step, -LONGEST, LONGEST)
        if np.abs(step).max() < 1e-13 * (1.0 + np.abs(t).max()):
            break
    return t


def _normal_nodes(*centers: float, width: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
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
    return x, (half * weights).ravel() * _density(x)


def _density(z: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(-0.5 * z * z) / sqrt(2.0 * pi))


def _number(name: str, value: Any, least: float = -inf, most: float = inf) -> float:
    if not isinstance(value, Real) or not isfinite(value) or not least <= float(value) <= most:
        raise ParameterError(
            f"{name} must be a finite number from {least:g} to {most:g}, got {value!r}.",
            option=name, value=value,
        )  # fmt: skip
    return float(value)
