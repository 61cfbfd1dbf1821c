"""Fitting a logistic regression: what to see of the features, where to start, how to climb."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg as sla

from linsep.regression import ascent
from linsep.regression.ascent import Ascent
from linsep.regression.likelihood import Batches, Likelihood, SparseLikelihood, working
from linsep.regression.penalty import Penalty
from linsep.regression.preparing import Seen, sampled, seen

#: up to so many weights a Hessian is made, which inference needs
MOST_WEIGHTS = 2500
#: Newton steps that tell a maximum from none
LAST = 10


@dataclass(frozen=True)
class Task:
    """What is to be fitted.

    Attributes
    ----------
    batches : function that gives the batches, the codes of the reference being ``q``
    n_features, q : int, how many features, and classes but the reference
    totals : array of shape (q + 1,), the weights of the rows of every class, the reference last
    n_rows : int, rows whose weight is not 0
    intercept : bool
    l2 : float
    solver : "newton" or "lbfgs"
    tol : float
    max_iter : int
    several : bool, whether there are more than two classes, those without weight included
    start : array of shape (q, width) or None, weights to start from
    """

    batches: Batches
    n_features: int
    q: int
    totals: np.ndarray
    n_rows: int
    intercept: bool
    l2: float
    solver: str
    tol: float
    max_iter: int
    several: bool
    start: np.ndarray | None = None

    @property
    def width(self) -> int:
        """Weights of a class."""
        return self.n_features + self.intercept

    @property
    def factored(self) -> bool:
        """Whether there are few enough weights for a Hessian."""
        return self.q * self.width <= MOST_WEIGHTS

    @property
    def share(self) -> float:
        """What :class:`linsep.regression.penalty.Penalty` takes off for the reference."""
        return 1.0 / (self.q + 1) if self.several and self.l2 else 0.0


@dataclass(frozen=True)
class Fit:
    """A fitted regression, in the features as they are.

    Attributes
    ----------
    weights : array of shape (q, width), the intercept last
    log_likelihood : float, the penalty left out
    covariance : array of shape (q width, q width) or None
        The inverse of the information, 0 for features left out; None for too many weights.
    n_iter : int
    reason : "converged", "max_iter", "suspect" or "stuck"
    largest : the largest component of the gradient, by row, in standardised features
    seen : how features were seen
    """

    weights: np.ndarray
    log_likelihood: float
    covariance: np.ndarray | None
    n_iter: int
    reason: str
    largest: float
    seen: Seen


def fitted(task: Task, suspicious: bool = True) -> Fit:
    """The weights of the largest (penalised) likelihood, as far as there are such.

    ``suspicious`` is whether to stop where there seems to be no maximum. A sample of the rows
    gives the weights to start from, so that all of them are walked only a few times. A single class
    is certain.
    """
    if not task.q:
        plain = Seen(np.zeros(task.n_features), np.ones(task.n_features), ())
        return Fit(np.zeros((0, task.width)), 0.0, np.zeros((0, 0)), 0, "converged", 0.0, plain)
    with working() as pool:
        most = max(20_000, 20 * task.q * task.width)
        sample, whole = sampled(task.batches, most)
        find = not task.l2 and task.factored
        if task.factored:
            how = seen(sample, task.batches, whole, *_form(task), find, pool)
        else:
            how = _only_scaled(task)
        start = _start(task, how, sample, whole, pool)
        found = _climbed(task, how.batches(task.batches), how, start, pool, suspicious)
        return _told(task, how, found)


def _form(task: Task) -> tuple[int, bool]:
    return task.n_features, task.intercept


def _only_scaled(task: Task) -> Seen:
    """Of many features nothing is known."""
    return Seen(np.zeros(task.n_features), np.ones(task.n_features))


def _start(
    task: Task, how: Seen, sample: Batches, whole: bool, pool: ThreadPoolExecutor
) -> np.ndarray:
    """Weights to start from: given ones, those of the sample, or those that know no features."""
    if task.start is not None:
        return how.standard(task.start, task.intercept)
    B = np.zeros((task.q, task.width))
    if task.intercept:
        B[:, -1] = np.log(task.totals[:-1] / task.totals[-1])
    if whole or not task.factored:
        return B
    part = next(iter(sample()))
    share = (part.weights.sum() if part.weights.size else part.size) / task.totals.sum()
    few = replace(task, l2=task.l2 * share, tol=1e-3, max_iter=20, totals=task.totals * share)
    found = _climbed(few, how.batches(sample), how, B, pool, True)
    return found.B if found.reason == "converged" else B


def _climbed(
    task: Task, batches: Batches, how: Seen, start: np.ndarray, pool: ThreadPoolExecutor,
    suspicious: bool,
) -> Ascent:  # fmt: skip
    kind = Likelihood
    if not task.factored and _sparse(batches):
        kind = SparseLikelihood
    likelihood = kind(batches, task.q, how.centres, how.scales, task.intercept, pool)
    factors = np.zeros(task.width)
    factors[: task.n_features] = task.l2 * how.scales**2
    factors[list(how.dependent)] = 1.0  # nothing else holds the weight of a column of zeros at 0
    penalty = Penalty(factors, task.share)
    given = likelihood, penalty, start, float(task.totals.sum()), task.tol, task.max_iter
    if task.solver == "lbfgs":
        found = ascent.lbfgs(*given)
        if not task.factored:
            if task.l2 or not suspicious:
                return found
            total, tol = given[3], task.tol / 1000  # at a maximum one step gets there, else seven
            last_few = ascent.newton_cg(likelihood, penalty, found.B, total, tol, LAST)
            return last_few if last_few.reason == "suspect" else found
        last = float(task.totals.sum()), task.tol, suspicious and not task.l2
        return _checked(likelihood, penalty, found, last)
    if task.factored:
        return ascent.newton(*given, suspicious and not task.l2)
    return ascent.newton_cg(*given, suspicious and not task.l2)


def _sparse(batches: Batches) -> bool:
    return hasattr(next(iter(batches())).rows, "starts")


def _checked(likelihood: Likelihood, penalty: Penalty, found: Ascent, given: Any) -> Ascent:
    """The same with its information; where it is a maximum, after a last step of Newton's method.

    Without a maximum, Newton's method would go on for ever, and that is noticed.
    """
    total, tol, suspicious = given
    if found.reason != "max_iter":
        last = ascent.newton(likelihood, penalty, found.B, total, tol, LAST, suspicious)
        if last.reason in ("converged", "suspect"):
            return last._replace(n_iter=found.n_iter)
    information = likelihood.at(found.B).hessian + penalty.matrix(likelihood.q)
    return found._replace(information=information)


def _told(task: Task, how: Seen, found: Ascent) -> Fit:
    """What was found, in the features as they are."""
    covariance = None
    if found.information is not None:
        inverse = inverted(found.information)
        T = np.kron(np.eye(task.q), how.matrix(task.intercept))
        covariance = T @ inverse @ T.T
    return Fit(
        how.raw(found.B, task.intercept), found.value, covariance, found.n_iter, found.reason,
        found.largest, how,
    )  # fmt: skip


def inverted(H: np.ndarray) -> np.ndarray:
    """The inverse of a positive semidefinite matrix, of its regular part where it is singular."""
    diagonal = np.diag(H)
    roots = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = H * roots * roots[:, None]
    try:
        factor = sla.cho_factor(scaled)
        inverse = sla.cho_solve(factor, np.eye(len(H)))
    except np.linalg.LinAlgError:
        inverse = np.linalg.pinv(scaled, rcond=1e-12, hermitian=True)
    return inverse * roots * roots[:, None]


def null_log_likelihood(totals: np.ndarray, intercept: bool) -> float:
    """The log-likelihood without features: each class as often as it is, or all alike."""
    total = totals.sum()
    if not intercept:
        return -float(total) * float(np.log(len(totals)))
    return float((totals * np.log(totals / total)).sum())
