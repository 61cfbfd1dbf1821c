"""Fitting a logistic regression: what to see of the features, where to start, how to climb."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as sla

from linsep.parallel import workers
from linsep.regression.logistic import ascent, preparing
from linsep.regression.logistic.ascent import Ascent, Goal
from linsep.regression.logistic.likelihood import Batches, Likelihood
from linsep.regression.logistic.preconditioning import Penalty
from linsep.regression.logistic.preparing import Standardization, sampled, standardization
from linsep.regression.logistic.sparse_likelihood import SparseLikelihood
from linsep.regression.logistic.steps import Report, Steps, no_report

#: up to so many weights a Hessian is made, which inference needs
MOST_WEIGHTS = 2500
#: Newton steps that tell a maximum from none, after other steps led near
LAST = 20
#: and after steps that were given up
QUESTION = 100
#: how far from the maximum, in standard errors, weights are that Newton's method goes on from
NEAR = 0.01
#: how far from it the last step may begin where nobody says: with inference, and without
WITH_INFERENCE, WITHOUT = 1e-8, 1e-3


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
    given_tol : float, how far from the maximum the last step may begin, in standard errors, or None
    max_iter : int
    several : bool, whether there are more than two classes, those without weight included
    """

    batches: Batches
    n_features: int
    q: int
    totals: np.ndarray
    n_rows: int
    intercept: bool
    l2: float
    solver: str
    given_tol: float | None
    max_iter: int
    several: bool

    @property
    def width(self) -> int:
        """Weights of a class."""
        return self.n_features + self.intercept

    @property
    def factored(self) -> bool:
        """Whether there are few enough weights for a Hessian."""
        return self.q * self.width <= MOST_WEIGHTS

    @property
    def tol(self) -> float:
        """How far from the maximum the last step may begin, in standard errors."""
        default = WITH_INFERENCE if self.factored else WITHOUT
        return default if self.given_tol is None else self.given_tol

    @property
    def share(self) -> float:
        """What :class:`linsep.regression.logistic.preconditioning.Penalty` takes off for the
        reference.
        """
        return 1.0 / (self.q + 1) if self.several and self.l2 else 0.0

    @property
    def goal(self) -> Goal:
        """When to stop, where it is in question that there is a maximum unless l2 is given."""
        rows = self.n_rows / float(self.totals.sum())
        return Goal(
            rows, self.tol, self.max_iter, self.factored, prove=not self.l2, penalised=self.l2 > 0.0
        )


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
    reason, distance, proved, suspect : as of an :class:`linsep.regression.logistic.ascent.Ascent`
    B : array of shape (q, width), the weights of the features as they are seen
    seen : how features were seen
    """

    weights: np.ndarray
    log_likelihood: float
    covariance: np.ndarray | None
    n_iter: int
    reason: str
    distance: float
    proved: bool
    suspect: bool
    B: np.ndarray
    standardization: Standardization


def fitted(task: Task, steps: Steps) -> Fit:
    """The weights of the largest (penalised) likelihood, as far as there are such.

    A sample of the rows gives the weights to start from, so that all of them are read only a few
    times. Stops where there seems to be no maximum. A single class is certain.
    """
    if not task.q:
        plain, none = (
            Standardization(np.zeros(task.n_features), np.ones(task.n_features)),
            np.zeros((0, 0)),
        )
        B = np.zeros((0, task.width))
        return Fit(B, 0.0, none, 0, "converged", 0.0, True, False, B, plain)
    with workers() as pool:
        most = max(20_000, 20 * task.q * task.width)
        sample, whole = sampled(task.batches, most)
        how = looked(task, sample, whole, pool)
        start = _start(task, how, sample, whole, pool)
        found = _climbed(task, how, start, pool, reporter(task, how, steps))
        return fit_of(task, how, found._replace(suspect=found.suspect or _nearly(task, how, pool)))


def reporter(task: Task, how: Standardization, steps: Steps) -> Report:
    """What a climb in features that are seen so should tell."""
    return steps.of(lambda B: how.raw(B, task.intercept), how.dependent)


def climbed_on(task: Task, fit: Fit, steps: Steps) -> Fit:
    """The same fit, climbed on to the maximum that it is known to have."""
    with workers() as pool:
        problem = problem_of(task, fit.standardization, pool)
        left = max(1, task.max_iter - fit.n_iter)
        goal = task.goal._replace(prove=False, max_iter=left)
        newton = ascent.newton if task.factored else ascent.newton_cg
        found = newton(*problem, fit.B, goal, reporter(task, fit.standardization, steps))
        return fit_of(task, fit.standardization, found._replace(n_iter=fit.n_iter + found.n_iter))


def looked(task: Task, sample: Batches, whole: bool, pool: ThreadPoolExecutor) -> Standardization:
    """How to see the features; of many no more than their sizes."""
    if not task.factored:
        return preparing.sized(task.batches, task.n_features)
    form = task.n_features, task.intercept
    return standardization(sample, task.batches, whole, *form, not task.l2, pool)


def _start(
    task: Task, how: Standardization, sample: Batches, whole: bool, pool: ThreadPoolExecutor
) -> np.ndarray:
    """Weights to start from: those of the sample, or those that know no features."""
    B = np.zeros((task.q, task.width))
    if task.intercept:
        B[:, -1] = np.log(task.totals[:-1] / task.totals[-1])
    if whole or not task.factored:
        return B
    part = next(iter(sample()))
    share = (part.weights.sum() if part.weights.size else part.size) / task.totals.sum()
    few = replace(task, batches=sample, l2=task.l2 * share, totals=task.totals * share)
    goal = few.goal._replace(tol=NEAR, max_iter=20, rows=task.goal.rows)
    found = ascent.newton(*problem_of(few, how, pool), B, goal)
    return found.B if found.reason == "converged" else B


def _nearly(task: Task, how: Standardization, pool: ThreadPoolExecutor) -> bool:
    """Whether features that are left out, as others nearly add up to them, may be all that
    separates the classes.
    """
    if not how.nearly:
        return False
    all_of_them = preparing.whole(task.batches, task.n_features, task.intercept)
    problem = problem_of(task, all_of_them, pool)
    goal = task.goal._replace(max_iter=QUESTION, only=True)
    return not ascent.newton(*problem, np.zeros(problem[0].shape), goal).proved


def problem_of(
    task: Task, how: Standardization, pool: ThreadPoolExecutor
) -> tuple[Likelihood, Penalty]:
    """What is to be made large, and what is subtracted from it."""
    kind = SparseLikelihood if not task.factored and _sparse(task.batches) else Likelihood
    likelihood = kind(
        how.batches(task.batches), task.q, how.centres, how.scales, task.intercept, pool, how.noise
    )
    factors = np.zeros(task.width)
    factors[: task.n_features] = task.l2 * how.scales**2
    factors[list(how.dependent)] = 1.0  # nothing else holds the weight of a column of zeros at 0
    return likelihood, Penalty(factors, task.share)


def _climbed(
    task: Task,
    how: Standardization,
    start: np.ndarray,
    pool: ThreadPoolExecutor,
    report: Report = no_report,
) -> Ascent:
    """Up by the solver of the task; then the question whether there is a maximum."""
    problem, goal = problem_of(task, how, pool), task.goal
    if task.solver != "lbfgs":
        newton = ascent.newton if task.factored else ascent.newton_cg
        return answered(*problem, newton(*problem, start, goal, report), goal)
    if not task.factored:
        return answered(*problem, ascent.lbfgs(*problem, start, goal, report), goal)
    found = ascent.lbfgs(*problem, start, goal._replace(tol=max(goal.tol, NEAR)), report)
    if found.reason in ("converged", "stuck"):  # Newton's method knows the last steps
        most = LAST if found.reason == "converged" else max(1, goal.max_iter - found.n_iter)
        last = ascent.newton(*problem, found.B, goal._replace(max_iter=most), report)
        found = last._replace(n_iter=found.n_iter + last.n_iter)
    return answered(*problem, found, goal)


def answered(likelihood: Likelihood, penalty: Penalty, found: Ascent, goal: Goal) -> Ascent:
    """The same with an answer to the question whether there is a maximum.

    Where that is still open, steps of Newton's method go on from there until they tell. Without
    second derivatives they prove nothing.
    """
    if found.proved or found.suspect:
        return found
    if not goal.factored:
        few = goal._replace(max_iter=LAST, tol=goal.tol / 1000)
        found_again = ascent.newton_cg(likelihood, penalty, found.B, few)
        return found._replace(suspect=found_again.suspect)
    only = goal._replace(max_iter=QUESTION, only=True)
    found_again = ascent.newton(likelihood, penalty, found.B, only)
    distance = found_again.distance if np.isnan(found.distance) else found.distance
    proved = found_again.proved
    return found._replace(proved=proved, suspect=not proved, distance=distance)


def _sparse(batches: Batches) -> bool:
    return hasattr(next(iter(batches())).rows, "starts")


def fit_of(task: Task, how: Standardization, found: Ascent) -> Fit:
    """What was found, in the features as they are."""
    covariance = None
    if found.information is not None:
        inverse = inverted(found.information)
        T = np.kron(np.eye(task.q), how.matrix(task.intercept))
        covariance = T @ inverse @ T.T
    return Fit(
        how.raw(found.B, task.intercept), found.value, covariance, found.n_iter, found.reason,
        found.distance, found.proved, found.suspect, found.B, how,
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
