"""Fit a logistic regression: standardization, starting weights, maximization, covariance."""

from dataclasses import dataclass, replace
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from linsep.batches import Batch
from linsep.errors import DataError
from linsep.inference.robust import (
    CLUSTERED,
    Robust,
    Scores,
    added_scores,
    clusters_in,
    scores_of,
    without_noise,
)
from linsep.logistic.newton import Goal, inverse_of, newton, solved
from linsep.logistic.objective import (
    Columns,
    Objective,
    Penalty,
    Point,
    SparseTerms,
    Terms,
    columns_of,
    sampled,
)
from linsep.logistic.solution import Report, Solution, State, Steps, limits_without
from linsep.logistic.task import UNIT, Batches, RowLanes, Task

if TYPE_CHECKING:
    from linsep.descent import Descent

#: Newton steps to prove that there is a maximum, after an ascent without a Hessian, and with one
LAST, QUESTION = 20, 100
#: distance to the maximum of a sample, in standard errors, that is near enough to start
NEAR = 0.01


def goal_of(task: Task, **more: Any) -> Goal:
    """Return the stopping criteria; existence of a maximum has to be proved unless l2 is given."""
    rows = task.n_rows / float(task.totals.sum())
    plain = Goal(task.tol, task.max_iter, rows, prove=not task.l2, penalized=task.l2 > 0.0)
    return plain._replace(**more)


def fitted(task: Task, steps: Steps) -> Solution:
    """Maximize the (penalized) likelihood.

    The ascent starts from the weights fitted to a sample, so that all rows are read only a few
    times. It stops if a maximum does not seem to exist. A single class has probability 1.
    """
    if not task.q:
        d, B, none = task.n_features, np.zeros((0, task.width)), np.zeros((0, 0))
        alone = Solution(B, Point(0.0, B, none, None, 0.0), State.CONVERGED, 0, 0.0)
        return solution_of(task, Columns(np.zeros(d), np.ones(d)), alone)
    sample, whole = sampled(task)
    how = columns_of(task, sample, whole)
    start, report = _start(task, how, sample, whole), reporter(task, how, steps)
    objective = objective_of(task, how)
    found = newton(objective, start, goal_of(task), report, conjugate=not task.factored)
    return solution_of(task, how, with_existence(task, objective, found))


def reporter(task: Task, how: Columns, steps: Steps) -> Report:
    """Return the callback for an ascent in standardized features."""
    return steps.of(lambda B: how.raw(B, task.intercept), how.dependent)


def resume(task: Task, fit: Solution, steps: Steps) -> Solution:
    """Continue a fit to its maximum, which is known to exist."""
    goal = goal_of(task, prove=False, max_iter=max(1, task.max_iter - fit.n_iter))
    objective, report = objective_of(task, fit.columns), reporter(task, fit.columns, steps)
    found = newton(objective, fit.B, goal, report, conjugate=not task.factored)
    return solution_of(task, fit.columns, found._replace(n_iter=fit.n_iter + found.n_iter))


def _start(task: Task, how: Columns, sample: Batches, whole: bool) -> np.ndarray:
    """Return starting weights: those given, those fitted to the sample, or intercepts only."""
    if task.start is not None:
        return how.standard(task.start, task.intercept)
    B = np.zeros((task.q, task.width))
    if task.intercept:
        B[:, -1] = task.null.intercepts
    if whole or not task.factored:
        return B
    part = next(iter(sample()))
    share = (part.size if part.weights is None else part.weights.sum()) / task.totals.sum()
    few = replace(
        task, batches=sample, lanes=None, l2=task.l2 * share, totals=task.totals * share,
        journal=None,
    )  # fmt: skip
    # The maximum of a sample differs from the maximum of all rows: closer steps to it are wasted.
    goal = goal_of(few, tol=NEAR, max_iter=20, rows=goal_of(task).rows)
    found = newton(objective_of(few, how), B, goal)
    return found.B if found.state is State.CONVERGED else B


def objective_of(task: Task, how: Columns, factors: np.ndarray | None = None,
                 levels: tuple[np.ndarray, ...] = ()) -> Objective:  # fmt: skip
    """Return the objective in standardized features; ``factors`` of a penalty other than l2."""
    kind = SparseTerms if not task.factored and sp.issparse(next(iter(task.batches())).X) else Terms
    share = task.share if factors is None else 1.0 / (task.q + 1) if task.several else 0.0
    if factors is None:
        factors = np.zeros(task.width)
        factors[: task.n_features] = task.l2 * how.scales**2
        factors[list(how.dependent)] = 1.0  # keeps the weight of a column of zeros at 0
    terms = kind(task.q, how.centers, how.scales, task.intercept, how.turn)
    return Objective(task.row_lanes, terms, Penalty(factors, share, levels), task.journal)


def with_existence(task: Task, objective: Objective, found: Solution) -> Solution:
    """Return the ascent as proved or suspect.

    If it is neither, Newton steps follow until one proves that there is a maximum. Without a
    Hessian they prove nothing; weights on the right side of every row are suspect.
    """
    if found.proved or found.state is State.SUSPECT:
        return found
    if not task.factored:
        few = goal_of(task, max_iter=LAST, tol=task.tol / 1000)
        suspect = (
            objective.moves(found.B).separates
            or newton(objective, found.B, few, conjugate=True).state is State.SUSPECT
        )
        return found._replace(state=State.SUSPECT) if suspect else found
    if not newton(objective, found.B, goal_of(task, max_iter=QUESTION)).proved:
        return found._replace(state=State.SUSPECT)
    if np.isnan(found.distance):
        step, _ = solved(found.point.hessian, found.point.gradient)
        distance = goal_of(task).distance(float(np.vdot(step, found.point.gradient)))
        found = found._replace(distance=distance)
    return found._replace(proved=True)


def solution_of(task: Task, how: Columns, found: Solution) -> Solution:
    """Convert a solution to the raw features."""
    covariance, shape = None, (task.q, task.width)
    if found.point.hessian is not None:
        covariance = raw_covariance(task, how, inverted(found.point.hessian))
    return found._replace(
        columns=how, weights=how.raw(found.B, task.intercept), covariance=covariance,
        limits=limits_without(how.dependent, shape), log_likelihood=found.point.log_likelihood,
    )  # fmt: skip


def raw_covariance(task: Task, how: Columns, inverse: np.ndarray) -> np.ndarray:
    """Return the inverse information of the raw features, given that of the standardized ones."""
    T = how.matrix(task.q, task.intercept)
    return np.asarray(T @ inverse @ T.T)


def inverted(H: np.ndarray) -> np.ndarray:
    """Return the inverse of a positive semidefinite matrix, the pseudo-inverse if singular."""
    inverse = inverse_of(H)
    if inverse is not None:
        return inverse
    diagonal = np.diag(H)
    roots = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = H * roots * roots[:, None]
    return np.linalg.pinv(scaled, rcond=1e-12, hermitian=True) * roots * roots[:, None]


def gradient_ascent(
    task: Task, learning_rate: Any, schedule: str, trace: bool, steps: Steps
) -> tuple[Solution, "Descent"]:
    """Maximize from zero, in the raw features, then check that there is a maximum.

    Weights of dependent features stay at zero.

    Raises
    ------
    DataError
        If the learning rate is so large that the ascent diverges or cycles.
    """
    from linsep.descent import minimize

    d = task.n_features
    how = columns_of(task, *sampled(task))
    free = np.append(
        np.isin(np.arange(d), list(how.dependent), invert=True), [True] * task.intercept
    )
    report = steps.of(lambda W: W, how.dependent)
    raw = objective_of(task, Columns(np.zeros(d), np.ones(d)))
    if isinstance(learning_rate, str):
        learning_rate = 1.0 / (_steepest(task, raw.terms, raw.lanes) or 1.0)
    last: list[Any] = [None, None]

    def once(B: np.ndarray) -> Point:
        """Return the point, of which value and gradient are asked for one after the other."""
        if last[0] is None or not np.array_equal(last[0], B):
            begun = last[0] is not None
            last[:] = B, raw.at(B, hessian=False)
            if begun and np.isfinite(last[1].value):
                report(B, last[1].log_likelihood, np.nan)
        return last[1]

    ascent = minimize(
        lambda B: once(B).value,
        np.zeros(raw.shape) if task.start is None else task.start * free,
        lambda B: free * once(B).gradient,
        learning_rate=learning_rate, schedule=schedule, tol=task.tol, maximize=True,
        trace=trace, max_iter=task.max_iter,
    )  # fmt: skip
    if ascent.reason in {"cycle", "diverged"}:
        raise DataError(f"Gradient ascent diverged: {ascent.sentence}.", code="not-converged")
    problem, B = objective_of(task, how), how.standard(ascent.x, task.intercept)
    state = State.CONVERGED if ascent.reason == "converged" else State.MAX_ITER
    there = problem.at(B, hessian=task.factored)
    found = Solution(B, there, state, ascent.n_iter, proved=task.l2 > 0.0)
    fit = solution_of(task, how, with_existence(task, problem, found))

    def shown(values: Any) -> Any:
        """Return weights with the intercept first, for two classes without an axis of classes."""
        values = np.roll(values, 1, axis=-1) if task.intercept else values
        return values[..., 0, :] if task.q == 1 else values

    path = None if ascent.path is None else shown(ascent.path)
    told = replace(ascent, x=shown(ascent.x), gradient=shown(ascent.gradient), path=path)
    return fit._replace(weights=ascent.x), told


def _steepest(task: Task, terms: Terms, lanes: RowLanes) -> float:
    """Return Böhning's (1992) bound on the curvature of the objective."""
    if not task.factored:
        squares = lanes.sum(terms.weighted_squares, add, terms.lane_rows)
        return 0.5 * float(squares) + task.l2
    products = lanes.sum(terms.products, add, terms.lane_rows)
    top = float(np.linalg.eigvalsh(products)[-1]) / 4.0
    return (1.0 if task.q == 1 else 2.0) * top + task.l2


def sharpened(task: Task, fit: Solution) -> Solution:
    """Return a fit with the covariance at its weights, not before the last step, and how many
    digits of it floats determine.
    """
    objective = objective_of(task, fit.columns)
    point = objective.at(fit.B)
    step, sure = solved(point.hessian, point.gradient)
    inverse = inverted(point.hessian)
    # a term of the gradient is w r z, and the sum of w r^2 z^2 is at most about the term of the
    # Hessian
    slope = UNIT * np.sqrt(np.abs(np.diag(point.hessian)))
    left = (np.abs(inverse) @ slope).reshape(objective.shape)
    moves = objective.moves(step)
    off = moves.apart + float((left @ moves.reach).max()) if sure else np.inf
    digits = int(np.clip(np.floor(-np.log10(max(off, UNIT))), 0, 16))
    covariance = raw_covariance(task, fit.columns, inverse)
    return fit._replace(covariance=covariance, digits=digits)


@dataclass(frozen=True)
class RowScores:
    """The scores of the rows of a lane at weights B, in standardized features: w (y - p) x of each
    class beside the reference.
    """

    terms: Terms
    B: np.ndarray
    covariance: str

    def __call__(self, lane: Batch) -> Scores:
        """Return the sum of a lane."""
        found: Scores | None = None
        for start, Z in self.terms.blocks(lane):
            _, residuals, _, _ = self.terms.residuals(lane, start, Z, self.B)
            groups = clusters_in(lane, self.covariance)
            part = None if groups is None else groups[start : start + len(Z)]
            rows = (residuals[:, :, None] * Z[:, None, :]).reshape(len(Z), -1)
            some = scores_of(rows, part)
            found = some if found is None else added_scores(found, some)
        assert found is not None
        return found


def with_robust(task: Task, fit: Solution) -> Solution:
    """Return a fit at its maximum with the robust covariance that the task names, if any."""
    if task.covariance is None or fit.covariance is None or not task.q:
        return fit
    how, objective = fit.columns, objective_of(task, fit.columns)
    inverse, back = inverted(objective.at(fit.B).hessian), how.matrix(task.q, task.intercept)
    if task.covariance == CLUSTERED and task.lanes is None:
        assert task.clustered is not None
        objective.lanes = RowLanes(task.clustered)
    width = task.width - len(how.dependent)
    covariance, clusters = covariance_of(task, objective, fit.B, inverse, back, width)
    return fit._replace(covariance=covariance, clusters=clusters)


def covariance_of(
    task: Task, objective: Objective, B: np.ndarray, inverse: np.ndarray, back: np.ndarray,
    width: int,
) -> tuple[np.ndarray, int | None]:  # fmt: skip
    """Return the covariance that the task names of flat weights times ``back``, where the inverse
    information is given, of ``width`` estimates a class, and the number of clusters, if any.
    """
    plain = back @ inverse @ back.T
    if task.covariance is None:
        return plain, None
    found = objective.sum(RowScores(objective.terms, B, task.covariance), added_scores)
    robust = Robust.of(task.covariance, found, task.n_rows, task.q * width)
    root = robust.root @ inverse @ back.T
    return without_noise(root.T @ root, plain), robust.clusters
