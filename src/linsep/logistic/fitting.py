"""Fit a logistic regression: standardization, starting weights, maximization."""

from dataclasses import dataclass, replace
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp

from linsep.errors import DataError
from linsep.logistic import ascent, preparing
from linsep.logistic.ascent import Ascent, Goal, Penalty, solved
from linsep.logistic.existence import UNIT, column_without_maximum, separates
from linsep.logistic.likelihood import Likelihood, Point, SparseTerms, Terms
from linsep.logistic.outcomes import (
    Around,
    FitOutcome,
    Report,
    Sharpness,
    Steps,
    no_report,
    unchecked,
)
from linsep.logistic.preparing import Standardization, refuse_overflow, sampled, standardization
from linsep.logistic.rows import Batches, RowLanes, Task
from linsep.logistic.vanishing import down_ridges, is_large

if TYPE_CHECKING:
    from linsep.descent import Descent

#: Newton steps to prove that there is a maximum, after other steps came near
LAST = 20
#: and after an ascent that stopped early
QUESTION = 100
#: distance to the maximum, in standard errors, at which Newton's method takes over
NEAR = 0.01


@dataclass(frozen=True)
class Fit:
    """A fitted regression, in the raw features.

    Attributes
    ----------
    weights : array of shape (q, width), the intercept last
    log_likelihood : float, without the penalty
    covariance : array of shape (q width, q width) or None
        The inverse of the information, 0 for features left out; None with too many weights.
    n_iter : int
    reason, distance, proved, suspect : as in :class:`linsep.logistic.ascent.Ascent`
    B : array of shape (q, width), the weights of the standardized features
    standardization : Standardization
    ridge : int or None, the index of the vanishing ridge whose weights these are
    clusters : int or None, their number if the covariance is summed over clusters
    rounded : indices of features that are combinations of others up to rounding, if the classes
        overlap without them and only they may separate the classes
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
    ridge: int | None = None
    clusters: int | None = None
    rounded: tuple[int, ...] = ()

    @property
    def around(self) -> Around:
        """The scores at a center of the raw features."""
        return self.standardization.around(self.B)

    def outcome(self, limits: np.ndarray) -> FitOutcome:
        """Return the fit as an outcome."""
        return FitOutcome(
            self.weights, limits, self.log_likelihood, self.covariance, self.reason, self.n_iter,
            distance=self.distance, around=self.around, clusters=self.clusters,
        )  # fmt: skip

    def without_proof(self, limits: np.ndarray) -> FitOutcome:
        """Return the fit if its likelihood may have no maximum, so that nothing can be inferred."""
        reason = "suspect" if self.suspect and self.reason == "converged" else self.reason
        return replace(self.outcome(unchecked(limits)), covariance=None, reason=reason)


def goal_of(task: Task) -> Goal:
    """Return the stopping criteria; existence of a maximum has to be proved unless l2 is given."""
    rows = task.n_rows / float(task.totals.sum())
    return Goal(
        rows, task.tol, task.max_iter, task.factored, prove=not task.l2, penalized=task.l2 > 0.0
    )


def fitted(task: Task, steps: Steps) -> Fit:
    """Maximize the (penalized) likelihood.

    The ascent starts from the weights fitted to a sample, so that all rows are read only a few
    times. It stops if a maximum does not seem to exist. A single class has probability 1.
    """
    if not task.q:
        plain, none = (
            Standardization(np.zeros(task.n_features), np.ones(task.n_features)),
            np.zeros((0, 0)),
        )
        B = np.zeros((0, task.width))
        return Fit(B, 0.0, none, 0, "converged", 0.0, True, False, B, plain)
    sample, whole = sampled(task.batches, max(20_000, 20 * task.q * task.width))
    how = estimate_scaling(task, sample, whole)
    start, report = _start(task, how, sample, whole), reporter(task, how, steps)
    ridge = None
    # conjugate gradients read the rows more often, so these have to be in memory
    slow = is_large(task) and whole and task.solver == "newton"
    if slow and task.l2:
        found = _penalized(task, how, start, report)
    elif slow and column_without_maximum(task):
        found, ridge = _of_ridge(task, how, report)
    else:
        found = _maximize(task, how, start, report)
    nearly = not found.suspect and _nearly(task, how)
    fit = fit_of(task, how, found._replace(suspect=found.suspect or nearly))
    return replace(fit, ridge=ridge, rounded=how.nearly if nearly and found.proved else ())


def _penalized(task: Task, how: Standardization, start: np.ndarray, report: Report) -> Ascent:
    """Maximize by conjugate gradients, for a penalty needs no Hessian, which is slow to sum; where
    they are slower than the Hessian, continue with it.
    """
    problem, goal = problem_of(task, how), goal_of(task)
    rough = goal._replace(factored=False)
    found = ascent.newton_cg(*problem, start, rough, report, else_stuck=True)
    if found.reason != "stuck":
        return found
    left = goal._replace(max_iter=max(1, goal.max_iter - found.n_iter))
    last = ascent.newton(*problem, found.B, left, report)
    return last._replace(n_iter=found.n_iter + last.n_iter)


def _of_ridge(task: Task, how: Standardization, report: Report) -> tuple[Ascent, int]:
    """Return the weights of a small ridge, for there is no maximum, and its index."""
    likelihood, penalty = problem_of(task, how)
    path = down_ridges(task, likelihood, penalty, report=report)
    value = likelihood.at(path.B, hessian=False).value
    return Ascent(path.B, value, None, path.n_iter, "suspect", np.nan, False, True), path.ridge


def reporter(task: Task, how: Standardization, steps: Steps) -> Report:
    """Return the callback for an ascent in standardized features."""
    return steps.of(lambda B: how.raw(B, task.intercept), how.dependent, how.around)


def resume(task: Task, fit: Fit, steps: Steps) -> Fit:
    """Continue a fit to its maximum, which is known to exist."""
    problem = problem_of(task, fit.standardization)
    left = max(1, task.max_iter - fit.n_iter)
    goal = goal_of(task)._replace(prove=False, max_iter=left)
    newton = ascent.newton if task.factored else ascent.newton_cg
    found = newton(*problem, fit.B, goal, reporter(task, fit.standardization, steps))
    return fit_of(task, fit.standardization, found._replace(n_iter=fit.n_iter + found.n_iter))


def estimate_scaling(task: Task, sample: Batches, whole: bool) -> Standardization:
    """Return the standardization; with too many weights, only a scaling."""
    if not task.factored:
        return preparing.sized(task.batches, task.n_features, not task.l2)
    form = task.n_features, task.intercept
    return standardization(sample, task.batches, whole, *form, not task.l2)


def _start(task: Task, how: Standardization, sample: Batches, whole: bool) -> np.ndarray:
    """Return starting weights: those given, those fitted to the sample, or intercepts only."""
    if task.start is not None:
        return how.standard(task.start[0], task.intercept, task.start[1])
    B = np.zeros((task.q, task.width))
    if task.intercept:
        B[:, -1] = task.null.intercepts
    if whole or not task.factored:
        return B
    part = next(iter(sample()))
    share = (part.size if part.weights is None else part.weights.sum()) / task.totals.sum()
    few = replace(task, batches=sample, lanes=None, l2=task.l2 * share, totals=task.totals * share)
    # The maximum of a sample differs from the maximum of all rows: closer steps to it are wasted.
    goal = goal_of(few)._replace(tol=NEAR, max_iter=20, rows=goal_of(task).rows)
    found = ascent.newton(*problem_of(few, how), B, goal)
    return found.B if found.reason == "converged" else B


def _nearly(task: Task, how: Standardization) -> bool:
    """Return whether nearly dependent features that were left out may separate the classes."""
    if not how.nearly:
        return False
    all_of_them = preparing.whole(task.batches, task.n_features, task.intercept)
    problem = problem_of(task, all_of_them)
    goal = goal_of(task)._replace(max_iter=QUESTION, only=True)
    return not ascent.newton(*problem, np.zeros(problem[0].shape), goal).proved


def problem_of(task: Task, how: Standardization) -> tuple[Likelihood, Penalty]:
    """Return the likelihood to maximize and the penalty to subtract."""
    kind = SparseTerms if not task.factored and _sparse(task.batches) else Terms
    terms = kind(task.q, how.centers, how.scales, task.intercept)
    likelihood = Likelihood(lanes_as(task, how), terms, how.noise, task.journal)
    factors = np.zeros(task.width)
    factors[: task.n_features] = task.l2 * how.scales**2
    factors[list(how.dependent)] = 1.0  # keeps the weight of a column of zeros at 0
    return likelihood, Penalty(factors, task.share)


def lanes_as(task: Task, how: Standardization) -> RowLanes:
    """Return the rows of a task with the columns that the standardization replaces."""
    return (task.lanes or RowLanes(task.batches)).replaced(how)


def _maximize(
    task: Task,
    how: Standardization,
    start: np.ndarray,
    report: Report = no_report,
) -> Ascent:
    """Maximize with the solver of the task, then check that there is a maximum."""
    problem, goal = problem_of(task, how), goal_of(task)
    if task.solver != "lbfgs":
        newton = ascent.newton if task.factored else ascent.newton_cg
        return with_existence(*problem, newton(*problem, start, goal, report), goal)
    if not task.factored:
        return with_existence(*problem, ascent.lbfgs(*problem, start, goal, report), goal)
    found = ascent.lbfgs(*problem, start, goal._replace(tol=max(goal.tol, NEAR)), report)
    if found.reason in ("converged", "stuck"):  # Newton's method takes the last steps
        most = LAST if found.reason == "converged" else max(1, goal.max_iter - found.n_iter)
        last = ascent.newton(*problem, found.B, goal._replace(max_iter=most), report)
        found = last._replace(n_iter=found.n_iter + last.n_iter)
    return with_existence(*problem, found, goal)


def with_existence(likelihood: Likelihood, penalty: Penalty, found: Ascent, goal: Goal) -> Ascent:
    """Return the ascent with ``proved`` or ``suspect`` set.

    If neither is, Newton steps follow until one proves that there is a maximum. Without a Hessian
    they prove nothing; weights on the right side of every row are suspect.
    """
    if found.proved or found.suspect:
        return found
    if not goal.factored:
        if separates(likelihood.moves(found.B)):
            return found._replace(suspect=True)
        few = goal._replace(max_iter=LAST, tol=goal.tol / 1000)
        found_again = ascent.newton_cg(likelihood, penalty, found.B, few)
        return found._replace(suspect=found_again.suspect)
    only = goal._replace(max_iter=QUESTION, only=True)
    found_again = ascent.newton(likelihood, penalty, found.B, only)
    distance = found_again.distance if np.isnan(found.distance) else found.distance
    proved = found_again.proved
    return found._replace(proved=proved, suspect=not proved, distance=distance)


def _sparse(batches: Batches) -> bool:
    return sp.issparse(next(iter(batches())).X)


def fit_of(task: Task, how: Standardization, found: Ascent) -> Fit:
    """Convert an ascent to a fit in the raw features."""
    covariance = None
    if found.information is not None:
        covariance = raw_covariance(task, how, inverted(found.information))
    return Fit(
        how.raw(found.B, task.intercept), found.value, covariance, found.n_iter, found.reason,
        found.distance, found.proved, found.suspect, found.B, how,
    )  # fmt: skip


def raw_covariance(task: Task, how: Standardization, inverse: np.ndarray) -> np.ndarray:
    """Return the inverse information of the raw features, given the one of the standardized
    features.
    """
    T = np.kron(np.eye(task.q), how.matrix(task.intercept))
    return np.asarray(T @ inverse @ T.T)


def inverted(H: np.ndarray) -> np.ndarray:
    """Return the inverse of a positive semidefinite matrix, the pseudo-inverse if singular."""
    diagonal = np.diag(H)
    roots = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = H * roots * roots[:, None]
    try:
        factor = sla.cho_factor(scaled)
        inverse = sla.cho_solve(factor, np.eye(len(H)))
    except np.linalg.LinAlgError:
        inverse = np.linalg.pinv(scaled, rcond=1e-12, hermitian=True)
    return inverse * roots * roots[:, None]


def gradient_ascent(
    task: Task, learning_rate: Any, schedule: str, trace: bool, steps: Steps
) -> tuple[Fit, "Descent"]:
    """Maximize from zero, in the raw features, then check that there is a maximum.

    Weights of dependent features stay at zero.

    Raises
    ------
    ValueError
        If the learning rate is so large that the ascent diverges or cycles.
    """
    refuse_overflow(task.batches, task.n_features, task.intercept)
    how = estimate_scaling(task, *sampled(task.batches, 20 * task.q * task.width + 20_000))
    free = np.ones(task.width, dtype=bool)
    free[list(how.dependent)] = False
    report = steps.of(lambda W: W, how.dependent)
    found = _ascend(task, learning_rate, schedule, trace, free, report)
    if found.reason in {"cycle", "diverged"}:
        raise DataError(f"Gradient ascent diverged: {found.sentence}.", code="not-converged")
    problem = problem_of(task, how)
    B = how.standard(found.x, task.intercept)
    there = problem[0].at(B, hessian=task.factored)
    information = None
    if there.hessian is not None:
        information = there.hessian + problem[1].matrix(task.q)
    reason = "converged" if found.reason == "converged" else "max_iter"
    ended = Ascent(B, there.value, information, found.n_iter, reason, np.nan, task.l2 > 0.0)
    fit = fit_of(task, how, with_existence(*problem, ended, goal_of(task)))
    x, path = (_in_order(values, task) for values in (found.x, found.path))
    gradient = _in_order(found.gradient, task)
    return replace(fit, weights=found.x), replace(found, x=x, gradient=gradient, path=path)


def _in_order(values: Any, task: Task) -> Any:
    """Return weights with the intercept first, without an axis of classes if there are two."""
    if values is None:
        return None
    values = np.roll(values, 1, axis=-1) if task.intercept else values
    return values[..., 0, :] if task.q == 1 else values


def _ascend(
    task: Task, learning_rate: Any, schedule: str, trace: bool, free: np.ndarray, report: Report
) -> "Descent":
    """Run gradient ascent on the free columns."""
    from linsep.descent import minimize

    plain = Standardization(np.zeros(task.n_features), np.ones(task.n_features))
    terms = Terms(task.q, plain.centers, plain.scales, task.intercept)
    likelihood = Likelihood(lanes_as(task, plain), terms, journal=task.journal)
    factors = np.zeros(task.width)
    factors[: task.n_features] = task.l2
    penalty = Penalty(factors, task.share)
    if isinstance(learning_rate, str):
        learning_rate = 1.0 / (_steepest(task, likelihood) or 1.0)
    once = _LastPoint(likelihood, report)
    return minimize(
        lambda B: once(B).value - penalty.value(B),
        np.zeros(likelihood.shape) if task.start is None else task.start[0] * free,
        lambda B: free * (once(B).gradient - penalty.times(B)),
        learning_rate=learning_rate, schedule=schedule, tol=task.tol, maximize=True,
        trace=trace, max_iter=task.max_iter,
    )  # fmt: skip


def _steepest(task: Task, likelihood: Likelihood) -> float:
    """Return Böhning's (1992) bound on the curvature of the objective."""
    if not task.factored:
        return 0.5 * likelihood.sum(likelihood.terms.squares, add) + task.l2
    plain = Likelihood(likelihood.lanes, replace(likelihood.terms, q=1, offsets=False))
    quarter = plain.at(np.zeros(plain.shape)).hessian
    assert quarter is not None
    top = float(np.linalg.eigvalsh(quarter)[-1])
    return (1.0 if task.q == 1 else 2.0) * top + task.l2


class _LastPoint:
    """Value and gradient at a point, computed together; reports each step."""

    def __init__(self, likelihood: Likelihood, report: Report):
        self.likelihood, self.report = likelihood, report
        self.last: tuple[np.ndarray, Point] | None = None

    def __call__(self, B: np.ndarray) -> Point:
        if self.last is None or not np.array_equal(self.last[0], B):
            begun, self.last = self.last is not None, (B, self.likelihood.at(B, hessian=False))
            if begun and np.isfinite(self.last[1].value):
                self.report(B, self.last[1].value, np.nan)
        return self.last[1]


def sharpened(task: Task, fit: Fit) -> tuple[Fit, Sharpness]:
    """Return a fit with the covariance at its weights, not before the last step, and how well
    floats determine its maximum, in three passes.
    """
    likelihood, penalty = problem_of(task, fit.standardization)
    point = likelihood.at(fit.B)
    H = point.hessian + penalty.matrix(likelihood.q)
    step, sure = solved(H, point.gradient)
    left, reached = likelihood.moves(step), likelihood.moves(fit.B)
    inverse, noise = inverted(H), np.tile(likelihood.noise, likelihood.q)
    # a term of the gradient is w r z, and the sum of w r^2 z^2 is at most about the term of the
    # Hessian
    slope = UNIT * np.sqrt(np.abs(np.diag(H))) + point.sums.weight * noise
    weights = (np.abs(inverse) @ slope).reshape(likelihood.shape)
    off = left.apart + float((weights @ reached.reach).max())
    rounding = UNIT * float((np.abs(fit.B) @ reached.reach).max())
    overlap = (max(reached.backward, 0.0) + 2.0 * rounding) / max(reached.forward, rounding)
    covariance = raw_covariance(task, fit.standardization, inverse)
    sharp = Sharpness(min(overlap, 1.0), off if sure else np.inf)
    return replace(fit, covariance=covariance), sharp
