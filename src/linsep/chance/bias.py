"""Bias of the estimates of a logistic regression as columns and rows grow together."""

from math import log, pi, sqrt
from typing import NamedTuple

import numpy as np
from scipy.optimize import root
from scipy.special import expit

from linsep.chance.transition import density, normal_nodes, number, phase_transition
from linsep.errors import LinsepError, ParameterError
from linsep.words import counted

#: most steps of Newton's method to a proximal operator, and the longest of them
STEPS, LONGEST = 100, 4.0
#: by what factor the ratio grows while a solution is followed
FACTOR = 1.5
#: nodes of the trapezoidal rule, which converges exponentially for functions so smooth
GRID = np.linspace(-8.4, 8.4, 57)
#: largest signal; logarithms of signals that are looked for, and where a search starts
MOST_SIGNAL, LOG_SIGNALS, STARTS = 20.0, (-7.0, log(20.0)), (1.0, 0.25, 2.5, 5.0)
#: log-likelihood of a row without columns, of two classes of which one has 30% of the rows
UNEQUAL = 0.61
#: residual of the equations that is treated as zero
SOLVED = 1e-7


class HighDimensionalMLE(NamedTuple):
    """Limits of maximum likelihood estimates as rows and columns grow together.

    Attributes
    ----------
    alpha : float
        Factor by which the estimates are too large: their mean is alpha times the coefficient.
    sigma : float
        Standard deviation of an estimate, times sqrt(n) times the standard deviation of the part of
        its column that the other columns do not explain.
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
        ``alpha``, ``sigma``, ``lambda_``, ``log_likelihood`` and ``understated``. In classical
        theory, ``alpha`` and ``understated`` are 1.

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
    kappa, gamma = number("ratio", ratio), number("signal", signal, 0.0, MOST_SIGNAL)
    most = phase_transition(0.0, gamma)
    if not 0.0 < kappa < most:
        raise ParameterError(
            f"ratio (columns / rows) is {ratio!r}: with signal {gamma:g} estimates exist above 0 "
            f"and below {most:.6g}.", option="ratio", value=ratio,
        )  # fmt: skip
    alpha, sigma, lambda_ = found = _solved(kappa, gamma)
    mean, understated = _expectations(found, kappa, gamma)[3], sigma * sqrt(kappa / lambda_)
    return HighDimensionalMLE(*map(float, (alpha, sigma, lambda_, mean, understated)))


def signal_of(ratio: float, log_likelihood: float) -> float | None:
    """Return the signal with which the mean log-likelihood at the estimates tends to the fit's: 0
    if it is larger even without signal; None if no signal explains it.
    """

    def residual(logs: np.ndarray) -> np.ndarray:
        gamma, found = float(np.exp(np.clip(logs[3], *LOG_SIGNALS))), np.exp(logs[:3])
        too_large = np.log(_expectations(found, ratio, gamma)[3] / log_likelihood)
        return np.append(_residual(logs[:3], ratio, gamma), too_large)

    if _expectations(_solved(ratio, 0.0), ratio, 0.0)[3] >= log_likelihood:
        return 0.0
    for gamma in STARTS:
        if ratio < phase_transition(0.0, gamma):
            start = np.log([*_solved(ratio, gamma), gamma])
            found = root(residual, start, tol=1e-8)
            if np.abs(found.fun).max() < SOLVED and found.x[3] < LOG_SIGNALS[1]:
                return float(np.exp(found.x[3]))
    return None


def note_of_bias(n_rows: int, n_columns: int, mean: float, null: float) -> str:
    """Return a sentence on the bias of the estimates due to many columns; empty if it is unknown
    because the fit is nearly separated.

    Parameters
    ----------
    n_rows, n_columns : int, without the intercept
    mean, null : float
        Mean log-likelihood of the rows at the estimates, and without columns. For classes of
        unequal sizes the first is scaled as if the second were -log(2).
    """
    ratio = n_columns / n_rows
    if ratio >= 0.5 or not null < mean < 0.0:
        return ""
    signal = signal_of(ratio, -log(2.0) * mean / null)
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
    z, weights = normal_nodes()
    curvature = float(weights @ (expit(gamma * z) * expit(-gamma * z)))
    start = np.array([1.0, curvature**-0.5, kappa / curvature])
    found = root(_residual, np.log(start), (kappa, gamma), tol=1e-11)
    if np.abs(found.fun).max() > SOLVED:
        start = _solved(kappa / FACTOR, gamma)
        found = root(_residual, np.log(start), (kappa, gamma), tol=1e-11)
    if not np.abs(found.fun).max() <= SOLVED:
        raise LinsepError(
            f"The equations for ratio {kappa:g} and signal {gamma:g} were not solved: the ratio "
            "is too near the phase transition.",
            code="not-converged",
        )
    return np.exp(found.x)


def _residual(logs: np.ndarray, kappa: float, gamma: float) -> np.ndarray:
    """Return the residuals of the three equations."""
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
    z, weights = normal_nodes(0.0, lambda_ / deviation, width=pi / deviation)
    t = proximal(deviation * z, lambda_)
    p = expit(t)
    # Q1 given Q2 is normal.
    mean, spread = -alpha * gamma**2 / deviation * z, gamma * sigma * sqrt(kappa) / deviation
    slope = expit(mean[:, None] + spread * GRID)
    inner = density(GRID) * (GRID[1] - GRID[0])
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
