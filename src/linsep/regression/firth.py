"""Firth's penalised likelihood of a logistic regression: finite estimates whatever the data.

l*(b) = l(b) + ln |I(b)| / 2, the likelihood times Jeffreys' prior (D. Firth, Bias reduction of
maximum likelihood estimates, Biometrika 80, 1993); for separated data, and intervals from its
profile: G. Heinze and M. Schemper, A solution to the problem of separation in logistic regression,
Statistics in Medicine 21 (2002).
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import chi2

#: the longest step of a weight, in standardised features: the likelihood is far from a parabola
LONGEST = 5.0
MOST_STEPS = 500


class FirthFit(NamedTuple):
    """The weights of the largest penalised likelihood.

    Attributes
    ----------
    weights : array of shape (width,)
    penalised : float, l* there
    log_likelihood : float, l there
    covariance : array of shape (width, width), the inverse of the information
    converged : bool
    n_iter : int
    """

    weights: np.ndarray
    penalised: float
    log_likelihood: float
    covariance: np.ndarray
    converged: bool
    n_iter: int


class _Known(NamedTuple):
    penalised: float
    likelihood: float
    slope: np.ndarray
    information: np.ndarray


def _known(Z: np.ndarray, y: np.ndarray, weights: np.ndarray, b: np.ndarray) -> _Known:
    scores = Z @ b
    p, rest = expit(scores), expit(-scores)
    curvature = weights * p * rest
    root = Z * np.sqrt(curvature)[:, None]
    information = root.T @ root
    sign, determinant = np.linalg.slogdet(information)
    likelihood = float((weights * (y * scores - np.logaddexp(0.0, scores))).sum())
    if sign <= 0:
        return _Known(-np.inf, likelihood, np.zeros_like(b), information)
    leverage = np.einsum("ij,ij->i", root @ np.linalg.inv(information), root)
    residuals = weights * np.where(y > 0, rest, -p) + leverage * (rest - p) / 2
    return _Known(likelihood + determinant / 2, likelihood, residuals @ Z, information)


def firth(
    Z: np.ndarray, y: np.ndarray, weights: np.ndarray, fixed: dict[int, float] | None = None,
    start: np.ndarray | None = None,
) -> FirthFit:  # fmt: skip
    """The weights of the largest penalised likelihood.

    Parameters
    ----------
    Z : array of shape (rows, width), columns independent and of moderate size, any intercept
        among them
    y : array of shape (rows,), 0 and 1
    weights : array of shape (rows,), none negative
    fixed : numbers of weights and their values, or None
        For profiles: all others are maximised over.
    start : array of shape (width,), default zeros
    """
    b = np.zeros(Z.shape[1]) if start is None else start.copy()
    free = np.ones(len(b), dtype=bool)
    for j, value in (fixed or {}).items():
        free[j], b[j] = False, value
    known = _known(Z, y, weights, b)
    converged, n_iter = not free.any(), 0
    while not converged and n_iter < MOST_STEPS:
        n_iter += 1
        slope = known.slope[free]
        step = np.linalg.solve(known.information[np.ix_(free, free)], slope)
        if float(step @ slope) <= 1e-20 * max(1.0, weights.sum()):
            converged = True
            break
        step *= min(1.0, LONGEST / np.abs(step).max())
        for halving in range(30):
            moved = b.copy()
            moved[free] += step / 2**halving
            there = _known(Z, y, weights, moved)
            if there.penalised >= known.penalised - 1e-13 * max(1.0, abs(known.penalised)):
                break
        else:
            converged = float(step @ slope) <= 1e-10
            break
        b, known = moved, there
    covariance = np.linalg.inv(known.information)
    return FirthFit(b, known.penalised, known.likelihood, covariance, converged, n_iter)


def profile(
    Z: np.ndarray, y: np.ndarray, weights: np.ndarray, fit: FirthFit, j: int, level: float
) -> tuple[float, float, float]:
    """The interval of a weight by its profile penalised likelihood, and the p-value of zero.

    The ends are where 2 (l* - profile of l*) is the ``level`` quantile of chi-squared with one
    degree of freedom.
    """
    high = float(chi2.ppf(level, 1))

    def lost(value: float) -> float:
        return 2.0 * (fit.penalised - firth(Z, y, weights, {j: value}, fit.weights).penalised)

    def end(side: float) -> float:
        inner, reach = fit.weights[j], float(np.sqrt(fit.covariance[j, j] * high))
        outer = inner + side * reach
        for _ in range(60):
            if lost(outer) > high:
                return float(brentq(lambda v: lost(v) - high, inner, outer, xtol=1e-10))
            inner, outer = outer, outer + 2 * (outer - fit.weights[j])
        return side * float("inf")

    p_value = float(chi2.sf(max(0.0, lost(0.0)), 1))
    return end(-1.0), end(1.0), p_value
