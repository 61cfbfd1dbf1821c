"""The log-likelihood of a logistic regression, plain or with Firth's penalty, and its maximum over
all weights or a subspace.

Firth's penalised likelihood is l*(b) = l(b) + ln |I(b)| / 2, the likelihood times Jeffreys' prior,
whose maximum is finite whatever the data (D. Firth, Bias reduction of maximum likelihood estimates,
Biometrika 80, 1993; finite: I. Kosmidis and D. Firth, Jeffreys-prior penalty, finiteness and
shrinkage in binomial-response generalized linear models, Biometrika 108, 2021); of several classes:
S. Bull, C. Mak and C. Greenwood, A modified score function estimator for multinomial logistic
regression in small samples, Computational Statistics and Data Analysis 39 (2002).
"""

from operator import add
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import softmax

from linsep.batches import Batch
from linsep.logistic.likelihood import Likelihood
from linsep.logistic.outcomes import Report, no_report

#: longest step of a weight, in standardised features, far from which a quadratic model is poor
LONGEST = 5.0
#: a step that gains less than this is the last; its own error is far smaller
ENOUGH = 1e-15
HALVINGS = 30
#: relative rounding error of a sum of logarithms
ROUNDING = 1e-13
#: a smaller pivot of a matrix with unit diagonal is a rounding error
PIVOT = 1e-7
#: less information about a direction counts as none
NOTHING = 1e-200
#: a curvature correction that is a smaller share of its terms is noise
NOISE = 1e-8


class Known(NamedTuple):
    """An objective evaluated at some weights.

    Attributes
    ----------
    value : float, the penalised log-likelihood, -inf if the information is singular
    log_likelihood : float
    slope : array of shape (weights,), the gradient of the value
    pull : array of shape (weights,), the penalty's part of the gradient
    information : array of shape (weights, weights)
    """

    value: float
    log_likelihood: float
    slope: np.ndarray
    pull: np.ndarray
    information: np.ndarray


class Maximum(NamedTuple):
    """Maximum of an objective.

    Attributes
    ----------
    b : array of shape (weights,)
    known : Known, at b
    bend : array of shape (weights, weights), approximate negative Hessian of the penalty
    reason : "converged", "max_iter" or "stuck"
    n_iter : int
    """

    b: np.ndarray
    known: Known
    bend: np.ndarray
    reason: str
    n_iter: int

    @property
    def value(self) -> float:
        """The largest value."""
        return self.known.value


class Objective:
    """The log-likelihood of weights in standardised features, with Firth's penalty or without.

    Parameters
    ----------
    likelihood : Likelihood
    used : array of bool of shape (width,), the independent columns
    penalised : bool
    """

    def __init__(self, likelihood: Likelihood, used: np.ndarray, penalised: bool):
        self.likelihood, self.penalised = likelihood, penalised
        self.used = np.flatnonzero(np.tile(used, likelihood.q))

    @property
    def size(self) -> int:
        """Number of weights."""
        return len(self.used)

    def wide(self, b: np.ndarray) -> np.ndarray:
        """Return the weights of all columns, shape (q, width)."""
        found = np.zeros(self.likelihood.q * self.likelihood.width)
        found[self.used] = b
        return found.reshape(self.likelihood.shape)

    def at(self, b: np.ndarray) -> Known:
        """Evaluate the objective."""
        B, nothing = self.wide(b), np.zeros(len(b))
        point = self.likelihood.at(B)
        slope = point.gradient.ravel()[self.used]
        assert point.hessian is not None
        information = point.hessian[np.ix_(self.used, self.used)]
        if not self.penalised:
            return Known(point.value, point.value, slope, nothing, information)
        inverse = inverse_of(information)
        if inverse is None:
            return Known(-np.inf, point.value, nothing, nothing, information)
        covariance = np.zeros(2 * (B.size,))
        covariance[np.ix_(self.used, self.used)] = inverse
        pull = pulls(self.likelihood, B, covariance).ravel()[self.used]
        value = point.value + np.linalg.slogdet(information)[1] / 2
        return Known(value, point.value, slope + pull, pull, information)


def inverse_of(matrix: np.ndarray) -> np.ndarray | None:
    """Return the inverse of a positive definite matrix; None if numerically singular."""
    if not matrix.size:  # which older releases of scipy do not take
        return matrix.copy()
    diagonal = np.diag(matrix)
    if not ((diagonal > 0) & np.isfinite(diagonal)).all():
        return None
    roots = 1.0 / np.sqrt(diagonal)
    try:
        factor = cho_factor(matrix * roots * roots[:, None], lower=True)
    except LinAlgError:
        return None
    if np.diag(factor[0]).min() < PIVOT:
        return None
    with np.errstate(over="ignore"):
        inverse = cho_solve(factor, np.diag(roots)) * roots[:, None]
    return inverse if np.isfinite(inverse).all() else None


def pulls(likelihood: Likelihood, B: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return the gradient of ln |I| / 2, of the shape of the weights B.

    Parameters
    ----------
    likelihood : Likelihood
    B : array of shape (q, width)
    covariance : array of shape (q width, q width), the inverse of the information at B
    """
    q, width = likelihood.shape
    blocks = covariance.reshape(q, width, q, width)

    def pull_of(lane: Batch) -> np.ndarray:
        found = np.zeros(likelihood.shape)
        for start, Z in likelihood.terms.blocks(lane):
            p = softmax(np.column_stack([Z @ B.T, np.zeros(len(Z))]), axis=1)[:, :q]
            # z' (block of classes k and l) z of every row, and its derivative by the scores
            H = np.empty((len(Z), q, q))
            for k in range(q):
                for m in range(k + 1):
                    H[:, k, m] = H[:, m, k] = ((Z @ blocks[k, :, m]) * Z).sum(axis=1)
            pull = _pull(p, H)
            if lane.weights is not None:
                pull *= lane.weights[start : start + len(Z), None]
            found += pull.T @ Z
        return found

    return likelihood.sum(pull_of, add)


def _pull(p: np.ndarray, H: np.ndarray) -> np.ndarray:
    """Return half the derivative of ln |I| by the scores of each row, divided by its weight.

    The sum of the third cumulants of the classes times H; for two classes p (1 - p) h (1/2 - p).
    """
    own = np.einsum("nkk->nk", H)
    Hp = np.einsum("nkl,nl->nk", H, p)
    both = (p * Hp).sum(axis=1, keepdims=True)
    return p * (own - 2 * Hp - (p * own).sum(axis=1, keepdims=True) + 2 * both) / 2


def maximised(
    objective: Objective, start: np.ndarray, free: np.ndarray | None = None, *,
    known: Known | None = None, bend: np.ndarray | None = None, enough: float = ENOUGH,
    tol: float = np.inf, max_iter: int = 500, report: Report = no_report,
) -> Maximum:  # fmt: skip
    """Maximise an objective.

    Newton's method with step halving. The Hessian of the likelihood is the information; that of the
    penalty is approximated from changes of its gradient (symmetric rank-one updates; A. Conn,
    N. Gould and P. Toint, Mathematical Programming 50, 1991).

    Parameters
    ----------
    objective : Objective
    start : array of shape (weights,)
    free : array of shape (weights, free directions) or None
        Orthonormal basis of the allowed directions; None allows all.
    known : Known or None, at ``start``
    bend : array of shape (weights, weights) or None
        Initial approximation of the negative Hessian of the penalty.
    enough : a step that gains less is the last
    tol : largest allowed component of the gradient in those directions
    max_iter : int
    report : function called after each step
    """
    b, known = start, known or objective.at(start)
    bend = np.zeros((len(b), len(b))) if bend is None else bend
    basis = np.eye(len(b)) if free is None else free
    if not basis.shape[1]:
        return Maximum(b, known, bend, "converged", 0)
    for n_iter in range(1, max_iter + 1):
        if not np.isfinite(known.value):
            return Maximum(b, known, bend, "stuck", n_iter)
        slope = basis.T @ known.slope
        step = basis @ _newton(basis, known.information, bend, slope)
        step *= min(1.0, LONGEST / max(np.abs(step).max(), 1e-300))
        gain = float(step @ known.slope)
        better = _uphill(objective, b, known, step)
        last = gain <= enough and np.abs(slope).max() <= tol
        if better is None:
            reason = "converged" if gain <= ROUNDING * max(1.0, abs(known.value)) else "stuck"
            return Maximum(b, known, bend, reason, n_iter)
        moved, there = better
        bend = _updated(bend, moved - b, known.pull - there.pull)
        b, known = moved, there
        report(b, known.log_likelihood, np.nan)
        if last:
            return Maximum(b, known, bend, "converged", n_iter)
    return Maximum(b, known, bend, "max_iter", max_iter)


def _newton(
    basis: np.ndarray, information: np.ndarray, bend: np.ndarray, slope: np.ndarray
) -> np.ndarray:
    """Return Newton's step; uses the information alone if the objective is not concave there.

    There is no step in directions without information.
    """
    for matrix in (information + bend, information):
        inverse = inverse_of(basis.T @ matrix @ basis)
        if inverse is not None:
            return inverse @ slope
    curvature = basis.T @ information @ basis
    diagonal = np.diag(curvature)
    roots = np.where(diagonal > NOTHING, 1.0 / np.sqrt(np.maximum(diagonal, NOTHING)), 0.0)
    scaled = np.linalg.pinv(curvature * roots * roots[:, None], rcond=1e-12, hermitian=True)
    return roots * (scaled @ (roots * slope))


def _uphill(
    objective: Objective, b: np.ndarray, known: Known, step: np.ndarray
) -> tuple[np.ndarray, Known] | None:
    """Return the first of the step, half of it, a quarter ... that does not decrease the value."""
    for halving in range(HALVINGS):
        moved = b + step / 2**halving
        there = objective.at(moved)
        if there.value >= known.value - ROUNDING * max(1.0, abs(known.value)):
            return moved, there
    return None


def _updated(bend: np.ndarray, moved: np.ndarray, lost: np.ndarray) -> np.ndarray:
    """Return the rank-one update of ``bend`` for a change of the penalty's gradient; unchanged if
    the update would be noise.
    """
    error = lost - bend @ moved
    size = float(error @ moved)
    if abs(size) <= NOISE * np.linalg.norm(error) * np.linalg.norm(moved):
        return bend
    return bend + np.outer(error, error) / size
