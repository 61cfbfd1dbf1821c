"""Newton's method with step halving: steps by a Cholesky factor, or by conjugate gradients for too
many weights for one. The fit of a task: scaling, starting weights, maximization, covariance.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from operator import add
from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp

from linsep._system.interrupts import interruption_point
from linsep.compiled import logistic
from linsep.errors import DataError
from linsep.inference.robust import Robust, added_scores, without_noise
from linsep.logistic.existence import BACKWARD, examined
from linsep.logistic.objective import Objective, Penalty, Point, Terms, columns_of
from linsep.logistic.task import (
    UNIT,
    RowLanes,
    Solution,
    State,
    Steps,
    Task,
    limits_without,
)

#: consecutive steps that shrink more slowly than Newton steps near a maximum, which cause a check
SLOW = 3
#: most products with the Hessian for a step, and those up to which the next has the same blocks
MOST_PRODUCTS, ENOUGH_PRODUCTS = 200, 10
#: factors of the step in the line search
PARTS = (*(0.5**k for k in range(5)), *(0.5**k for k in range(8, 200, 4)))
#: distance left by a step, as a share of the tolerance, at which conjugate gradients may stop
ENOUGH = 0.01
LEAST_PIVOT = 1e-7  #: smallest pivot of a Cholesky factor of a matrix with unit diagonal
DAMPINGS = (1e-13, 1e-10, 1e-7, 1e-4, 1.0)  #: values then added to the diagonal, in turn
ROUNDING = 1e-13  #: relative rounding error of a log-likelihood
FEW = 32  #: most weights for which LAPACK is slower than a loop
NOISE = 1e-8  #: a curvature correction that is a smaller share of its terms is noise
#: most values in the factors of all classes; with more weights only the diagonal is used
MOST_VALUES = 1 << 24
#: rows per feature to estimate correlations from, fewest, and their shrinkage factor
ROWS_A_FEATURE, LEAST_A_FEATURE, BELIEVED = 6, 2, 0.97
#: Newton steps to prove that there is a maximum, after an ascent without a Hessian, and with one
LAST, QUESTION = 20, 100
#: distance to the maximum of a sample, in standard errors, that is near enough to start
NEAR = 0.01


@dataclass
class Goal:
    """When one ascent stops. If there is a maximum, Newton steps converge quadratically, and one of
    them proves it. If there is none, each step moves the scores of the separated rows by one and
    the possible gain falls by the factor e: such a fit is suspect if no row moves back.

    ``tol`` is the distance to the maximum, in standard errors, from which the last step may begin;
    ``rows`` their number divided by their weight; ``proved`` whether a maximum exists or need not.
    """

    tol: float
    max_iter: int
    rows: float = 1.0
    proved: bool = True
    penalized: bool = False
    longest: float = np.inf
    gains: list[float] = field(default_factory=list)

    @property
    def distance(self) -> float:
        """The length of the last step in standard errors: the Newton decrement, the square root of
        the step times the gradient (Boyd and Vandenberghe, Convex Optimization, 2004, section 9.5),
        for row weights of mean 1. No linear combination of the weights moves by more.
        """
        return float(np.sqrt(max(self.gains[-1], 0.0) * self.rows)) if self.gains else np.nan

    def state(self, objective: Any, point: Point, step: np.ndarray) -> State | None:
        """Return the state in which to stop with this step, or None to continue."""
        gain, before = float(np.vdot(step, point.gradient)), ([np.nan, *self.gains])[-1]
        self.gains.append(gain)
        # small enough, or no longer shrinking, with a gain below the rounding error of the value
        small = self.distance <= self.tol or (
            0.25 * before < gain <= ROUNDING * max(1.0, abs(point.value))
        )
        last = self.gains[-SLOW - 1 :]
        slow = len(last) > SLOW and last[0] < 1.0 and all(b > 0.1 * a for a, b in pairwise(last))
        if not self.proved and (small or slow):
            if point.hessian is not None:
                self.proved, seems_none = examined(objective, point, step)
                if not self.proved and (small or seems_none):
                    return State.SUSPECT
            elif slow and (moves := objective.moves(step)).backward <= BACKWARD * moves.forward:
                return State.SUSPECT
        return State.CONVERGED if small else None


def newton(
    objective: Any, start: np.ndarray, goal: Goal,
    report: Callable[..., None] = lambda *step: None, *, conjugate: bool = False,
    free: np.ndarray | None = None, bend: np.ndarray | None = None,
) -> Solution:  # fmt: skip
    """Maximize an objective from some weights; the last step of a Cholesky factor is taken without
    another evaluation. ``conjugate``: by conjugate gradients, inexact (Dembo and Steihaug 1983) and
    preconditioned; ``free``, of orthonormal columns: directions to which steps are confined;
    ``bend``: what the negative Hessian is beside ``hessian``, approximately, updated by changes of
    the gradient's ``pull`` (symmetric rank-one updates; A. Conn, N. Gould and P. Toint,
    Mathematical Programming 50, 1991).
    """
    B, needs = start, {"hessian": not conjugate, "shares": conjugate}
    point, state, sure = objective.at(B, **needs), None, True
    steps = Conjugate(objective, goal) if conjugate else None
    for n_iter in range(1, goal.max_iter + 1):
        step, sure = steps.step(point) if steps else direction(point, free, bend, goal.longest)
        if not np.isfinite(point.value):
            return Solution(B, point, State.STUCK, n_iter, bend=bend)
        state = goal.state(objective, point, step)
        if state is State.SUSPECT:
            return Solution(B, point, state, n_iter - 1, goal.distance, goal.proved, bend)
        if state and steps is None and bend is None:
            B, value = B + step, point.value + 0.5 * goal.gains[-1]
            likely = value + objective.penalty.value(B) if objective.penalized else value
            report(B, likely, goal.distance)
            state = state if sure or goal.penalized else State.STUCK
            point = point._replace(value=value, log_likelihood=likely)
            break
        better = _searched(objective, B, point, step, needs)
        if better is None:  # only rounding errors are left
            least = ROUNDING * max(1.0, abs(point.value))
            state = State.CONVERGED if state or goal.gains[-1] <= least else State.STUCK
            break
        if bend is not None:
            moved, change = better[0] - B, point.pull - better[1].pull
            (bend,) = updated(bend[None], moved[None], change[None])
        B, point = better
        report(B, point.log_likelihood, goal.distance)
        if state:
            break
    return Solution(B, point, state or State.MAX_ITER, n_iter, goal.distance, goal.proved, bend)


def direction(
    point: Point, free: np.ndarray | None, bend: np.ndarray | None, longest: float
) -> tuple[np.ndarray, bool]:
    """Return the Newton step, and whether the Hessian is numerically positive definite; by the
    information alone where the objective is not concave.
    """
    H, slope, sure = point.hessian, point.gradient.ravel(), True
    curved = H if bend is None else H + bend
    if free is not None:
        H, curved, slope = free.T @ H @ free, free.T @ curved @ free, free.T @ slope
    inverse = None if bend is None else inverse_of(curved)
    if inverse is None:
        inverse, sure = damped_inverse(H)
    step = inverse @ slope if free is None else free @ (inverse @ slope)
    step *= min(1.0, longest / max(np.abs(step).max(initial=0.0), 1e-300))
    return step.reshape(point.gradient.shape), sure


def with_unit_diagonal(H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a matrix with its rows and columns scaled to a diagonal of ones, and the scales."""
    diagonal = H.diagonal()
    roots = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    return H * roots * roots[:, None], roots


def damped_inverse(H: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return the inverse of H, and whether H is numerically positive definite; if it is not, its
    diagonal is increased until it is (Levenberg 1944).
    """
    diagonal = H.diagonal()
    for more in (0.0, *DAMPINGS):
        damped = H + more * np.diag(np.where(diagonal > 0, diagonal, 1.0)) if more else H
        if (inverse := inverse_of(damped)) is not None:
            return inverse, not more
    return np.eye(len(H)), False


def inverses(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the inverses of a stack, the logarithms of determinants, and which are regular."""
    if matrices.shape[1] <= FEW:
        found: Any = logistic.inverses_of_few(matrices, LEAST_PIVOT)
        return found
    inverse, log_det = np.empty_like(matrices), np.zeros(len(matrices))
    fine = np.isfinite(matrices).all(axis=(1, 2))
    for k in np.flatnonzero(fine):
        scaled, roots = with_unit_diagonal(matrices[k])
        factor, failed = sla.lapack.dpotrf(scaled, lower=1)
        fine[k] = not failed and factor.diagonal().min() >= LEAST_PIVOT
        if fine[k]:
            log_det[k] = 2.0 * float((np.log(factor.diagonal()) - np.log(roots)).sum())
            half, _ = sla.lapack.dpotri(factor, lower=1)
            inverse[k] = (np.tril(half) + np.tril(half, -1).T) * roots * roots[:, None]
    return inverse, log_det, fine


def inverse_of(matrix: np.ndarray) -> np.ndarray | None:
    """Return the inverse of a positive definite matrix; None if numerically singular."""
    found, _, fine = inverses(matrix[None])
    return found[0] if fine[0] else None


def updated(bend: np.ndarray, moved: np.ndarray, lost: np.ndarray) -> np.ndarray:
    """Return ``bend`` after steps with changes of ``pull``, unless the update is noise."""
    error = lost - np.einsum("mij,mj->mi", bend, moved)
    size = (error * moved).sum(axis=1)
    noise = NOISE * NOISE * (error * error).sum(axis=1) * (moved * moved).sum(axis=1)
    share = np.where(size * size > noise, 1.0 / np.where(size == 0.0, 1.0, size), 0.0)
    return bend + error[:, :, None] * (share[:, None] * error)[:, None, :]


def _searched(
    objective: Any, B: np.ndarray, point: Point, step: np.ndarray, needs: dict[str, bool]
) -> tuple[np.ndarray, Point] | None:
    least = point.value - ROUNDING * max(1.0, abs(point.value))
    for part in PARTS:
        moved, whole = B + part * step, part == 1.0
        # A whole step is nearly always taken; of shorter ones first the value, which costs less.
        there = objective.at(moved, **(needs if whole else {"hessian": False}))
        if there.value >= least:
            return moved, there if whole else objective.at(moved, **needs)
    return None


class Conjugate:
    """Newton steps by conjugate gradients, preconditioned by a block for each class: feature
    correlations of a sample with the exact diagonal; with too many weights, or too few rows, only
    the diagonal. Of several classes the reference has a block, too: weights then add up to zero.
    """

    def __init__(self, objective: Objective, goal: Goal):
        self.objective, self.goal, width = objective, goal, objective.width
        self.correlations: np.ndarray | None = None
        self._inverses: np.ndarray | None = None
        self._n_products = MOST_PRODUCTS
        rows = next(iter(objective.lanes.batches()))
        if rows.size >= LEAST_A_FEATURE * width and 1 < objective.q * width**2 <= MOST_VALUES:
            step = max(1, rows.size // (ROWS_A_FEATURE * width))
            products = objective.terms.products(rows.rows(np.arange(0, rows.size, step)))
            scaled, _ = with_unit_diagonal(products)
            self.correlations = BELIEVED * scaled + (1.0 - BELIEVED) * np.eye(width)

    def step(self, point: Point) -> tuple[np.ndarray, bool]:
        """Return a step whose residual is at most a tenth of the gradient, or less as it shrinks,
        to converge fast, or, preconditioned, a small share of the tolerance; and True.
        """
        slope, goal, most = point.gradient, self.goal, self.move(point)
        share = min(0.1, np.sqrt(np.abs(slope).max() / max(1.0, most)))
        step, residual = np.zeros_like(slope), slope.copy()
        along = self.times(residual)
        size = float((residual * along).sum())
        enough = max(share**2 * size, (ENOUGH * goal.tol) ** 2 / goal.rows)
        for self._n_products in range(1, MOST_PRODUCTS + 1):
            interruption_point()
            product = self.objective.curved(point, along)
            curvature = float((along * product).sum())
            if curvature <= 0.0:
                break
            step += size / curvature * along
            residual -= size / curvature * product
            z, before = self.times(residual), size
            size = float((residual * z).sum())
            if size <= enough:
                break
            along = z + size / before * along
        return step if step.any() else self.times(slope), True

    def move(self, point: Point) -> float:
        """Precondition for a point, and return the largest entry of the diagonal there; if the last
        step took few products, correlations within blocks stay those of the point before.
        """
        q, penalty = self.objective.q, self.objective.penalty
        if q > 1:  # the weights of all classes add up to zero
            q, penalty = q + 1, penalty._replace(share=0.0)
        counted = self.objective.diagonal(point)
        diagonal = counted + penalty.diagonal(q)
        most = float(diagonal.max(initial=0.0))
        if self.correlations is None or not (diagonal > 1e-12 * most).all():
            self._inverses = None
        elif self._inverses is None or self._n_products > ENOUGH_PRODUCTS:
            self._inverses = np.array([self._block(own) for own in np.sqrt(counted / diagonal)])
        self._scale = 1.0 / np.sqrt(np.maximum(diagonal, 1e-12 * max(most, 1e-288)))
        return most

    def times(self, slope: np.ndarray) -> np.ndarray:
        """Return the approximate inverse of the Hessian at the point, times ``slope``."""
        two = len(slope) == 1
        short = slope if two else np.vstack([slope, -slope.sum(axis=0)])
        short = short * self._scale
        if self._inverses is not None:
            short = np.matmul(self._inverses, short.astype(np.float32)[:, :, None])[:, :, 0]
        found = short * self._scale
        return found if two else found[:-1] - found[-1]

    def _block(self, own: np.ndarray) -> np.ndarray:
        """Return the inverse of the correlations, for the shares of the penalized diagonal."""
        block = (self.correlations * own * own[:, None]).astype(np.float32)
        block[np.diag_indices(len(own))] = 1.0
        factor, _ = sla.lapack.spotrf(block, lower=1, overwrite_a=1)
        half, _ = sla.lapack.spotri(factor, lower=1, overwrite_c=1)
        return np.tril(half) + np.tril(half, -1).T


def goal_of(task: Task, **more: Any) -> Goal:
    """Return the stopping criteria; existence of a maximum has to be proved unless l2 is given."""
    l2 = float(task.model.l2)
    own = {"tol": task.tol, "max_iter": int(task.model.max_iter), "proved": l2 > 0.0}
    return Goal(**(own | more), rows=task.n_rows / task.total, penalized=l2 > 0.0)


def fitted(task: Task, steps: Steps, before: Solution | None = None) -> Solution:
    """Maximize the (penalized) likelihood; ``before``: steps to a maximum that is known to exist.

    The ascent starts from the weights fitted to a sample, so that all rows are read only a few
    times. It stops if a maximum does not seem to exist.
    """
    terms = before.terms if before else columns_of(task)
    start, made = (before.B, before.n_iter) if before else (_start(task, terms), 0)
    goal = goal_of(task, max_iter=max(1, int(task.model.max_iter) - made))
    goal.proved = goal.proved or before is not None
    objective, report = objective_of(task, terms), partial(steps.report, terms.raw, terms)
    found = newton(objective, start, goal, report, conjugate=not task.factored)
    found = found._replace(n_iter=made + found.n_iter)
    return solution_of(terms, with_existence(task, objective, found))


def _start(task: Task, terms: Terms) -> np.ndarray:
    if task.start is not None:
        return terms.standard(task.start)
    B, sample = np.zeros(terms.shape), task.sample
    if task.intercept:
        B[:, -1] = np.log(task.known.totals[:-1] / task.known.totals[-1])
    if sample is None or not task.factored:
        return B
    share = (sample.size if sample.weights is None else sample.weights.sum()) / task.total
    few = Objective(RowLanes(lambda: [sample]), terms, objective_of(task, terms, share).penalty)
    # The maximum of a sample differs from the maximum of all rows: closer steps to it are wasted.
    found = newton(few, B, goal_of(task, tol=NEAR, max_iter=20))
    return found.B if found.state is State.CONVERGED else B


def objective_of(task: Task, terms: Terms, part: float = 1.0) -> Objective:
    """Return the objective, whose penalty is that of a ``part`` of the rows."""
    factors, l2 = np.zeros(task.width), float(task.model.l2)
    factors[: task.n_features] = l2 * part * terms.scales**2
    factors[list(terms.dependent)] = 1.0  # keeps the weight of a column of zeros at 0
    square = np.diag(factors) if task.factored else sp.diags_array(factors, format="csr")
    penalty = Penalty(square, task.share if l2 else 0.0)
    return Objective(task.lanes, terms, penalty, task.journal)


def with_existence(task: Task, objective: Objective, found: Solution) -> Solution:
    """Return the ascent as proved or suspect, by more Newton steps until one proves that there is
    a maximum. Without a Hessian weights on the right side of every row are suspect.
    """
    if found.proved or found.state is State.SUSPECT:
        return found
    if not task.factored:
        goal = goal_of(task, max_iter=LAST, tol=task.tol / 1000)
        moves = objective.moves(found.B)  # do the weights have every row on its side?
        suspect = moves.backward <= 0.0 < moves.forward
        suspect = suspect or newton(objective, found.B, goal, conjugate=True).state is State.SUSPECT
        return found._replace(state=State.SUSPECT) if suspect else found
    goal = goal_of(task, max_iter=QUESTION)
    if not newton(objective, found.B, goal).proved:
        return found._replace(state=State.SUSPECT)
    goal.gains = goal.gains[:1]
    known = not np.isnan(found.distance)
    return found._replace(proved=True, distance=found.distance if known else goal.distance)


def solution_of(terms: Terms, found: Solution) -> Solution:
    """Convert a solution to the raw features."""
    hessian, covariance = found.point.hessian, None
    if hessian is not None:
        T = terms.matrix()
        covariance = T @ damped_inverse(hessian)[0] @ T.T
    return found._replace(
        terms=terms, weights=terms.raw(found.B), log_likelihood=found.point.log_likelihood,
        limits=limits_without(terms, terms.shape), covariance=covariance,
    )  # fmt: skip


def gradient_ascent(task: Task, steps: Steps) -> tuple[Solution, Any]:
    """Maximize from zero, in the raw features, then check that there is a maximum; also return the
    :class:`linsep.descent.Descent`. Weights of dependent features stay at zero.
    """
    from linsep.descent import descended

    d, model, terms = task.n_features, task.model, columns_of(task)
    free = np.append(terms.scales > 0, [True] * task.intercept)
    plain = replace(terms, centers=np.zeros(d), scales=np.ones(d), turn=None, dependent={})
    raw = objective_of(task, plain)
    start = np.zeros(raw.shape) if task.start is None else task.start * free
    rate = model.learning_rate
    if isinstance(rate, str):  # 1 / (Böhning's (1992) bound on the curvature)
        if task.factored:
            top = float(np.linalg.eigvalsh(raw.sum(plain.products, add))[-1])
        else:
            top = float(raw.sum(plain.weighted_squares, add))
        rate = 1.0 / (top * (0.25 if task.q == 1 else 0.5) + float(model.l2) or 1.0)

    def at(B: np.ndarray) -> tuple[float, np.ndarray]:
        point = raw.at(B, hessian=False)
        if B is not start and np.isfinite(point.value):
            steps.report(lambda W: W, terms, B, point.log_likelihood)
        return point.value, free * point.gradient

    ascent = descended(
        at, start, learning_rate=rate, schedule=model.schedule, tol=task.tol, maximize=True,
        trace=bool(model.trace), max_iter=int(model.max_iter),
    )  # fmt: skip
    if ascent.reason in {"cycle", "diverged"}:
        raise DataError(f"Gradient ascent diverged: {ascent.sentence}.", code="not-converged")
    objective, B = objective_of(task, terms), terms.standard(ascent.x)
    state = State.CONVERGED if ascent.reason == "converged" else State.MAX_ITER
    there = objective.at(B, hessian=task.factored)
    found = Solution(B, there, state, ascent.n_iter, proved=model.l2 > 0.0)
    fit = solution_of(terms, with_existence(task, objective, found))

    def shown(values: Any) -> Any:
        """Return weights with the intercept first, for two classes without an axis of classes."""
        values = np.roll(values, 1, axis=-1) if task.intercept else values
        return values[..., 0, :] if task.q == 1 else values

    told = replace(
        ascent, x=shown(ascent.x), gradient=shown(ascent.gradient),
        path=None if ascent.path is None else shown(ascent.path),
    )  # fmt: skip
    return fit._replace(weights=ascent.x), told


def sharpened(task: Task, fit: Solution) -> Solution:
    """Return a fit with the covariance at its weights, and how many digits floats determine."""
    objective = objective_of(task, fit.terms)
    point = objective.at(fit.B)
    inverse, sure = damped_inverse(point.hessian)
    # a term of the gradient is w r z; the sum of w r^2 z^2 is at most about that of the Hessian
    slope = UNIT * np.sqrt(np.abs(np.diag(point.hessian)))
    left = (np.abs(inverse) @ slope).reshape(objective.shape)
    moves = objective.moves((inverse @ point.gradient.ravel()).reshape(objective.shape))
    off = moves.apart + float((left @ moves.reach).max()) if sure else np.inf
    digits = int(np.clip(np.floor(-np.log10(max(off, UNIT))), 0, 16))
    return solution_of(fit.terms, fit._replace(point=point, digits=digits))


def with_robust(task: Task, fit: Solution) -> Solution:
    """Return a fit at its maximum with the robust covariance that the task names, if any."""
    if task.model.covariance is None or fit.covariance is None:
        return fit
    terms, objective = fit.terms, objective_of(task, fit.terms)
    inverse, _ = damped_inverse(objective.at(fit.B).hessian)
    if task.clustered is not None:
        objective.lanes = RowLanes(task.clustered)
    width = task.width - len(terms.dependent)
    covariance, many = covariance_of(task, objective, fit.B, inverse, terms.matrix(), width)
    return fit._replace(covariance=covariance, clusters=many)


def covariance_of(
    task: Task, objective: Objective, B: np.ndarray, inverse: np.ndarray, back: np.ndarray,
    width: int,
) -> tuple[np.ndarray, int | None]:  # fmt: skip
    """Return the covariance that the task names of flat weights times ``back``, where the inverse
    information is given, of ``width`` estimates a class, and the number of clusters, if any.
    """
    plain, name = back @ inverse @ back.T, task.model.covariance
    if name is None:
        return plain, None
    scores = partial(
        objective.terms.row_scores, B=B, covariance=name, pairs=task.groups is not None
    )
    found = objective.sum(scores, added_scores)
    robust = Robust.of(name, found, task.n_counted, task.q * width)
    root = robust.root @ inverse @ back.T
    return without_noise(root.T @ root, plain), robust.clusters


def null_likelihood(task: Task) -> float:
    """Return the log-likelihood of the model without features, but with the offsets of the rows."""
    totals = task.known.totals
    if not task.offsets:
        shares = totals / task.total if task.intercept else 1.0 / len(totals)
        return float((totals * np.log(shares)).sum())
    rows = [batch._replace(X=np.empty((batch.size, 0))) for batch in task.batches()]
    terms = Terms(1, np.empty(0), np.empty(0), task.intercept)
    start = np.full(terms.shape, np.log(totals[0] / totals[1]))
    found = newton(Objective(RowLanes(lambda: rows), terms), start, Goal(1e-9, 1000))
    return float(found.point.log_likelihood)


def pearson_of(task: Task, found: Solution) -> float:
    """Return Pearson's chi-squared of counts, NaN for single rows."""
    if task.groups is None:
        return np.nan
    d = task.n_features
    plain = Terms(task.q, np.zeros(d), np.ones(d), task.intercept)
    return float(task.lanes.sum(partial(plain.pearson, B=found.weights), add, plain.lane_rows))
