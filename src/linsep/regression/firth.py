"""Firth's penalised likelihood of a logistic regression: finite estimates whatever the data.

l*(B) = l(B) + ln |I(B)| / 2, the likelihood times Jeffreys' prior (D. Firth, Bias reduction of
maximum likelihood estimates, Biometrika 80, 1993); for separated data, and intervals from its
profile: G. Heinze and M. Schemper, A solution to the problem of separation in logistic regression,
Statistics in Medicine 21 (2002); of several classes: S. Bull, C. Mak and C. Greenwood, A modified
score function estimator for multinomial logistic regression in small samples, Computational
Statistics and Data Analysis 39 (2002).
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import brentq
from scipy.special import chdtrc, chdtri, log_softmax

#: the longest step of a weight, in standardised features: the likelihood is far from a parabola
LONGEST = 5.0
MOST_STEPS = 500
#: by which a weight, relative to its size, is moved for second derivatives
DIFFERENCE = 1e-6
#: what the last step may add to l*, twice, after which there is far less to gain; and in a profile,
#: whose weights nobody reads
ENOUGH, ENOUGH_ASIDE = 1e-13, 1e-9
#: after so many steps second derivatives are taken anew
OFTEN = 20
#: a profile is followed in steps of so many times the reach of Wald's interval
STRIDE = 0.5
MOST_STRIDES = 100
#: stands for a loss that is beyond floating point
MUCH = 1e6


class Data(NamedTuple):
    """What a regression is fitted to.

    Attributes
    ----------
    Z : array of shape (rows, width), columns independent and of moderate size, any intercept
        among them
    places : array of shape (rows,), the class of each row, the reference being the last
    weights : array of shape (rows,), none negative
    q : int, classes but the reference
    """

    Z: np.ndarray
    places: np.ndarray
    weights: np.ndarray
    q: int


class FirthFit(NamedTuple):
    """The weights of the largest penalised likelihood, class by class.

    Attributes
    ----------
    weights : array of shape (q width,)
    penalised : float, l* there, -inf where the information has no inverse
    log_likelihood : float, l there
    covariance : array of shape (q width, q width), the inverse of the information
    curvature : array of that shape, about minus the second derivatives of l*
    converged : bool
    n_iter : int
    """

    weights: np.ndarray
    penalised: float
    log_likelihood: float
    covariance: np.ndarray
    curvature: np.ndarray
    converged: bool
    n_iter: int


class _Known(NamedTuple):
    penalised: float
    likelihood: float
    slope: np.ndarray
    information: np.ndarray
    covariance: np.ndarray


def _known(data: Data, b: np.ndarray) -> _Known:
    Z, places, weights, q = data
    n, width = Z.shape
    logs = log_softmax(np.column_stack([Z @ b.reshape(q, width).T, np.zeros(n)]), axis=1)
    likelihood = float(weights @ logs[np.arange(n), places])
    p = np.exp(logs)
    information = _information(data, p)
    sign, determinant = np.linalg.slogdet(information)
    nothing = np.zeros_like(b)
    if sign <= 0 or not np.isfinite(determinant):
        return _Known(-np.inf, likelihood, nothing, information, np.full_like(information, np.nan))
    covariance = np.linalg.inv(information)
    blocks = covariance.reshape(q, width, q, width)
    # z' (block of classes k and l) z of every row, and what it does as scores change
    H = np.empty((n, q, q))
    for k in range(q):
        for m in range(k + 1):
            H[:, k, m] = H[:, m, k] = ((Z @ blocks[k, :, m]) * Z).sum(axis=1)
    residuals = (places[:, None] == np.arange(q)) - p[:, :q] + _pull(p[:, :q], H)
    slope = ((weights[:, None] * residuals).T @ Z).ravel()
    return _Known(likelihood + determinant / 2, likelihood, slope, information, covariance)


def _information(data: Data, p: np.ndarray) -> np.ndarray:
    """Sum over the rows of weight (p_k [k = l] - p_k p_l) z z', 1 - p_k without cancellation."""
    Z, _, weights, q = data
    width = Z.shape[1]
    found = np.empty((q, width, q, width))
    for k in range(q):
        for m in range(k + 1):
            others = np.delete(p, k, axis=1).sum(axis=1) if k == m else -p[:, m]
            found[k, :, m] = (Z * (weights * p[:, k] * others)[:, None]).T @ Z
            found[m, :, k] = found[k, :, m].T
    return found.reshape(q * width, q * width)


def _pull(p: np.ndarray, H: np.ndarray) -> np.ndarray:
    """Half the derivative of ln |I| by the scores of each row, which is its weight's multiple.

    The third cumulants of the classes times H, summed: of two classes h (1/2 - p).
    """
    own = np.einsum("nkk->nk", H)
    Hp = np.einsum("nkl,nl->nk", H, p)
    both = (p * Hp).sum(axis=1, keepdims=True)
    return p * (own - 2 * Hp - (p * own).sum(axis=1, keepdims=True) + 2 * both) / 2


def firth(
    data: Data, fixed: dict[int, float] | None = None, near: FirthFit | None = None
) -> FirthFit:
    """The weights of the largest penalised likelihood.

    Parameters
    ----------
    data : Data
    fixed : numbers of weights and their values, or None
        For profiles: all others are maximised over.
    near : FirthFit with other values, default None
        To start from: the others follow its tangent.
    """
    b = np.zeros(data.q * data.Z.shape[1]) if near is None else near.weights.copy()
    free = np.ones(len(b), dtype=bool)
    for j, value in (fixed or {}).items():
        if near is not None:
            b += (value - b[j]) * near.covariance[:, j] / near.covariance[j, j]
        free[j], b[j] = False, value
    known, n_iter, enough = _known(data, b), 0, ENOUGH if near is None else ENOUGH_ASIDE
    if not np.isfinite(known.penalised):
        return FirthFit(b, known.penalised, known.likelihood, known.covariance, known.covariance,
                        False, 0)  # fmt: skip
    curvature = _curvature(data, b, known) if near is None else near.curvature
    converged, fresh = not free.any(), near is None
    while not converged and n_iter < MOST_STEPS:
        n_iter += 1
        step = _step(curvature, known, free)
        gain = float(step @ known.slope)
        found = _uphill(data, b, known, step)
        if found is None and (fresh or gain <= enough):
            converged = gain <= enough
            break
        if found is None or (n_iter % OFTEN == 0 and not fresh):
            curvature, fresh = _curvature(data, b, known), True
            continue
        moved, there = found
        curvature = _updated(curvature, moved - b, known.slope - there.slope)
        b, known, fresh, converged = moved, there, False, gain <= enough
    return FirthFit(b, known.penalised, known.likelihood, known.covariance, curvature, converged,
                    n_iter)  # fmt: skip


def _step(curvature: np.ndarray, known: _Known, free: np.ndarray) -> np.ndarray:
    """Newton's step of the free weights; with the information where l* is not curved downwards."""
    step = np.zeros(len(free))
    for matrix in (curvature, known.information):
        try:
            factor = cho_factor(matrix[np.ix_(free, free)])
        except LinAlgError:
            continue
        step[free] = cho_solve(factor, known.slope[free])
        break
    return step * min(1.0, LONGEST / max(np.abs(step).max(), 1e-300))


def _uphill(
    data: Data, b: np.ndarray, known: _Known, step: np.ndarray
) -> tuple[np.ndarray, _Known] | None:
    """The first of the step, its half, its quarter ... that does not lose anything."""
    for halving in range(30):
        moved = b + step / 2**halving
        there = _known(data, moved)
        if there.penalised >= known.penalised - 1e-13 * max(1.0, abs(known.penalised)):
            return moved, there
    return None


def _curvature(data: Data, b: np.ndarray, known: _Known) -> np.ndarray:
    """Minus the second derivatives of l*, by differences of slopes. (The information alone makes
    for small steps where the penalty is as curved as the likelihood.)
    """
    columns = []
    for j in range(len(b)):
        moved = b.copy()
        moved[j] += DIFFERENCE * max(1.0, abs(b[j]))
        columns.append((known.slope - _known(data, moved).slope) / (moved[j] - b[j]))
    found = np.array(columns)
    return (found + found.T) / 2


def _updated(curvature: np.ndarray, moved: np.ndarray, lost: np.ndarray) -> np.ndarray:
    """The curvature that explains what the slope lost by a move (Broyden, Fletcher, Goldfarb,
    Shanno 1970); as it was where that would not be one of a summit.
    """
    seen, known = float(moved @ lost), curvature @ moved
    before = float(moved @ known)
    if seen <= 1e-8 * np.linalg.norm(moved) * np.linalg.norm(lost) or before <= 0.0:
        return curvature
    return curvature + np.outer(lost, lost) / seen - np.outer(known, known) / before


def profile(data: Data, fit: FirthFit, j: int, level: float) -> tuple[float, float, float]:
    """The interval of a weight by its profile penalised likelihood, and the p-value of zero.

    The ends are where 2 (l* - profile of l*) is the ``level`` quantile of chi-squared with one
    degree of freedom.
    """
    high = float(chdtri(1, 1.0 - level))
    best, stride = fit.weights[j], STRIDE * float(np.sqrt(fit.covariance[j, j] * high))

    def lost(value: float, near: FirthFit) -> tuple[float, FirthFit]:
        """What the likelihood loses with this value, the other weights following from ``near``."""
        there = firth(data, {j: value}, near)
        if not np.isfinite(there.penalised):
            return MUCH, near
        return min(MUCH, 2.0 * (fit.penalised - there.penalised)), there

    def past(near: FirthFit, value: float) -> float:
        return lost(value, near)[0] - high

    def end(side: float) -> float:
        inner, near = best, fit
        for _ in range(MOST_STRIDES):
            outer = inner + side * stride * max(1.0, abs(inner - best) / stride / 2)
            loss, there = lost(outer, near)
            if loss > high:
                return float(brentq(partial(past, near), inner, outer, xtol=1e-10, rtol=1e-9))
            inner, near = outer, there
        return side * float("inf")

    def at_zero() -> float:
        """The loss at zero, walked to stride by stride."""
        value, near, loss = best, fit, 0.0
        while value and loss < MUCH:
            value = 0.0 if abs(value) <= stride else value - np.sign(value) * stride
            loss, near = lost(value, near)
            if loss > 50 * high:  # what is left of the way only adds to it
                break
        return max(0.0, loss)

    return end(-1.0), end(1.0), float(chdtrc(1, at_zero()))
