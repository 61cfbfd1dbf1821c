"""What a logistic regression is if its likelihood seems to have no maximum.

Along a direction with no row on the wrong side the likelihood keeps growing. In the limit the rows
on the right side have probability 1 and no information; those on the boundary determine the
coefficients that stay finite (Albert and Anderson 1984; Geyer 2009: the limiting conditional
model). Coefficients that diverge predict by the weights of a ridge that vanishes: those of
separable classes, divided by their length, converge to the direction of the widest margin (Rosset,
Zhu and Hastie, Margin maximizing loss functions, NIPS 16, 2004), and the scores of the rows on a
boundary to their limits.
"""

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep._system.interrupts import interrupts_allowed
from linsep.batches import Batch
from linsep.certificate.verdicts import QuasiSeparable, Separable, Separations, Undecided
from linsep.errors import SeparationError, SeparationWarning, warn_caller
from linsep.inference.table import OPPOSITE
from linsep.logistic.newton import (
    Goal,
    covariance_of,
    fitted,
    goal_of,
    newton,
    sharpened,
    with_robust,
)
from linsep.logistic.objective import Objective, Penalty, Terms, moments
from linsep.logistic.task import (
    BY_L2,
    DIVERGING,
    FINITE,
    MOST_WEIGHTS as MOST_FACTORED,
    UNKNOWN,
    UNSIGNED,
    RowLanes,
    Solution,
    State,
    Steps,
    Task,
)
from linsep.separability.data import Data, data_of
from linsep.separability.deciding import separated_by, separation
from linsep.separability.recession import cone_of
from linsep.separability.search import MOST_WEIGHTS
from linsep.separability.time_limit import Task as Timed, TooLarge, limited

TIME_LIMIT = 10.0  #: seconds for a verdict in a fit, which :func:`linsep.separation` may exceed
#: difference of scores that saturates the probabilities, and one that does in floats
CERTAIN, INFINITE = 40.0, 1e3
TIE = 1e-9  #: a difference of scores below this share of their terms is treated as zero
#: less information about a direction, as a share of the largest, is treated as none
NOTHING = 1e-10
#: loss of log-likelihood, in rows of mean weight, below which the classes may be separable
FEW = 10.0
#: factors of the ridge on the way and at the end, per unit of weight of the rows
RIDGES = tuple(10.0**-k for k in range(2, 9))
#: distance to the first maximum, share of a later penalty that the last step may gain, most steps
NEAR, GAIN, STEPS = 0.01, 1e-2, 50
FEW_WEIGHTS = 400  #: most weights for Cholesky factors


def contrasts(order: list[int]) -> np.ndarray:
    """Return the classes of a regression against the last of the codes in ``order`` as sums of a
    verdict's, which are code 1 of two against 0, or all codes but the last against that; shape
    (classes - 1, classes - 1).
    """
    every = np.eye(len(order), dtype=int)
    blocks = every[:, 1:] if len(order) == 2 else every[:, :-1]
    return np.asarray(blocks[order[:-1]] - blocks[order[-1]])


def limits_of(verdict: Any, data: Data, order: list[int], width: int) -> np.ndarray:
    """Return the limit of every weight, "not checked" after the time limit. With more than 2,500
    weights no sign is searched for; of separable classes every weight can then diverge.
    """
    sides, apart = contrasts(order).tolist(), isinstance(verdict, Separable)
    limits = np.full((len(sides), width), UNKNOWN, dtype="U16")
    moving = sum(map(np.count_nonzero, verdict.coef)) if apart else len(verdict.direction)
    many = moving > MOST_FACTORED  # columns of zeros have weight 0
    if many and apart:
        return np.full_like(limits, UNSIGNED)
    with suppress(TooLarge):  # limits found so far are valid
        cone = None if many else cone_of(verdict, data)
        space = verdict.space if cone is None else cone.boundary
        for row, j in np.ndindex(*limits.shape):
            function = {block * width + j: side for block, side in enumerate(sides[row]) if side}
            diverges = bool(space.remainder(function))
            limits[row, j] = UNSIGNED if diverges else "finite"
            if diverges and cone is not None:
                with suppress(TooLarge):
                    sign = cone.sign(function)
                    word = "infinite" if sign is None else "+inf" if sign.value > 0 else "-inf"
                    limits[row, j] = word
    return limits


def direction_of(verdict: Any, order: list[int], how: Terms) -> np.ndarray:
    """Return a direction of standardized features along which the likelihood keeps growing, scaled
    to maximum 1; intercepts at the centers are exact.
    """
    weights = np.zeros(how.q * how.width, dtype=object)
    if isinstance(verdict, QuasiSeparable):
        weights[list(verdict.direction)] = list(verdict.direction.values())
    else:
        d, parts = len(how.scales), zip(verdict.coef, verdict.intercept, strict=True)
        weights[:] = [x for row, b in parts for x in [*row[:d], *[b] * how.intercept]]
    lines = contrasts(order).astype(object) @ weights.reshape(how.shape)
    if how.intercept:
        lines[:, -1] += lines[:, :-1] @ np.array([*map(Fraction, how.centers)], dtype=object)
    top = max(map(abs, lines.flat), default=0) or 1
    direction = np.vectorize(lambda x: float(Fraction(x) / top), otypes=[float])(lines)
    direction[:, : len(how.scales)] /= np.where(how.scales > 0, how.scales, 1.0)
    return np.asarray(direction / (np.abs(direction).max(initial=0.0) or 1.0))


def _gaps(W: np.ndarray, Z: np.ndarray, codes: np.ndarray, offset: Any) -> np.ndarray:
    """Return how far the score of each row's class is above the scores of all classes."""
    scores = np.column_stack([Z @ W.T + np.reshape(offset, (-1, 1)), np.zeros(len(Z))])
    return scores[np.arange(len(Z)), codes][:, None] - scores


class Question:
    """Whether the likelihood of a fit has a maximum, and its limit if it has none.

    ``rows`` are the task with its rows in memory, or None; ``data`` those of a verdict, without
    dependent features; ``columns`` the numbers of the weights of each class that it is about;
    ``dependent``: some of these are linear combinations of others.
    """

    def __init__(self, task: Task, fit: Solution):
        self.task, self.rows, d = task, task.in_memory(), task.n_features
        self.columns, self.dependent, lost = np.arange(task.width), False, fit.terms.dependent
        if self.rows is None:
            with interrupts_allowed():
                self.data = data_of(task.source)
            # columns of a source cannot be left out; columns of zeros, among many, need not be
            self.dependent = task.factored and bool(lost)
            return
        batch, kept, X = self.rows.counted(), np.setdiff1d(np.arange(d), list(lost)), None
        if hasattr(self.rows.given, "columns") and batch.size == self.rows.given.shape[0]:
            X = self.rows.given  # keeps the names of a data frame
        X = batch.X[:, kept] if lost else batch.X if X is None else X
        self.data = data_of(X, task.known.labels[batch.y])
        self.columns = np.concatenate([kept, [d] * task.intercept]).astype(int)

    def by_weights(self, fit: Solution) -> Any:
        """Return the verdict that the weights of the fit prove, or None."""
        back = np.rint(np.linalg.inv(contrasts(self.task.known.order)))
        weights = back @ fit.weights[:, self.columns]
        with interrupts_allowed():
            return separated_by(self.data, weights.ravel(), self.task.intercept)

    def limit(self, ridge: Solution, verdict: Any, limits: np.ndarray) -> Solution:
        """Return the limit of the likelihood, by the verdict that there is no maximum. The weights
        of the ridge are kept without rows in memory, for many weights, and if they separate all.
        """
        task, rows, columns = self.task, self.rows, self.columns
        apart, lost = isinstance(verdict, Separable), limits.copy()
        with interrupts_allowed():
            lost[:, columns] = UNSIGNED if self.dependent else limits_of(
                verdict, self.data, task.known.order, len(columns)
            )  # fmt: skip
        if rows is None:  # whose columns cannot be left out
            lost = np.where(limits == "dependent", limits, lost)
        found = ridge._replace(
            limits=lost, log_likelihood=0.0 if apart else ridge.log_likelihood, covariance=None,
            verdict=verdict, state=State(verdict.kind),
        )  # fmt: skip
        if rows is None or not task.factored:
            return found
        batch = rows.counted()
        Z = np.concatenate([block.copy() for _, block in ridge.terms.blocks(batch)])
        ahead = _gaps(ridge.B, Z, batch.y, np.zeros(1) if batch.offset is None else batch.offset)
        if apart and (ahead[np.arange(task.q + 1) != batch.y[:, None]] > 0).all():
            return found._replace(covariance=np.full((task.q * task.width,) * 2, np.nan))
        with interrupts_allowed():
            return self._conditional(found, batch, Z)

    def _conditional(self, found: Solution, batch: Batch, Z: np.ndarray) -> Solution:
        """Return the limiting conditional model: rows right of the boundary have classes without
        them, whose scores are infinitely far below the others by an offset.
        """
        task, columns, q, how = self.task, self.columns, self.task.q, found.terms
        kept, codes, verdict = columns[columns < task.n_features], batch.y, found.verdict
        own = Terms(q, how.centers[kept], how.scales[kept], task.intercept)
        direction, used = np.zeros(how.shape), np.isin(np.arange(task.width), columns)
        direction[:, columns] = direction_of(verdict, task.known.order, own)
        terms = replace(how, scales=how.scales * used[: task.n_features])
        last, Z = Z @ found.B.T, Z * used
        offset = np.zeros(batch.size) if batch.offset is None else batch.offset
        gaps = _gaps(direction, Z, codes, 0.0)
        sizes = np.column_stack([np.abs(Z) @ np.abs(direction).T, np.zeros(len(Z))])
        right = gaps > TIE * (sizes.max(axis=1, keepdims=True) + 1e-300)
        if q == 1 and isinstance(verdict, QuasiSeparable):  # which is exact in this case
            right = np.arange(2) != codes[:, None]
            right[list(verdict.boundary)] = False
        below = np.where(right, -INFINITE, 0.0)

        def at_offset(more: Any) -> Objective:
            rows = batch._replace(offset=below[:, :q] - below[:, q:] + more)
            return Objective(RowLanes(lambda: iter([rows])), terms)

        # directions that change a choice
        sizes, vectors = np.linalg.eigh(at_offset(0.0).at(np.zeros(terms.shape)).hessian)
        basis = vectors[:, sizes > NOTHING * sizes.max(initial=0.0)]
        boundary = at_offset(np.reshape(offset, (-1, 1)))
        top = newton(boundary, np.zeros(terms.shape), Goal(1e-9, 100), free=basis)
        # weights of these columns, which span all, with the scores of the ridge
        B, rest = top.B, (np.linalg.lstsq(Z, last, rcond=None)[0].T - top.B).ravel()
        W = B + (rest - basis @ (basis.T @ rest)).reshape(terms.shape)
        if not (_gaps(W, Z, codes, offset)[right] > 0).all():  # the ridge was not small enough
            with np.errstate(divide="ignore", invalid="ignore"):
                far = ((CERTAIN - _gaps(B, Z, codes, offset)[right]) / gaps[right]).max(initial=0.0)
            W = B + max(0.0, float(far)) * direction
        inverse = basis @ np.linalg.inv(basis.T @ boundary.at(B).hessian @ basis) @ basis.T
        if task.groups is not None and self.rows is not None:  # pairs of rows, also of weight 0
            (pairs,) = self.rows.batches()
            offsets = np.zeros((pairs.size, q))
            offsets[pairs.importance > 0] = next(iter(boundary.lanes.batches())).offset
            pairs = pairs._replace(offset=offsets)
            boundary = Objective(RowLanes(lambda: iter([pairs])), terms)
        back, width = terms.matrix(), len(columns)
        covariance, many = covariance_of(task, boundary, B, inverse, back, width)
        # separable in exact arithmetic, even where floats are equal
        likelihood = 0.0 if found.state is State.SEPARABLE else top.point.log_likelihood
        return found._replace(
            weights=np.where(found.limits == "finite", terms.raw(B), terms.raw(W)),
            clusters=many, log_likelihood=likelihood, covariance=covariance,
        )  # fmt: skip


def outcome_of_suspect(task: Task, fit: Solution, steps: Steps) -> Solution:
    """Decide separability, within a time limit; if there is a maximum, continue to it, else compute
    the limit. Unless a verdict is quick, the weights at hand are checked exactly first, and those
    of the ridge if they may classify all rows correctly.
    """
    steps.begin("verdict", fit)
    if task.source is None and task.in_memory() is None:
        return fit.unproved()._replace(state=State.UNDECIDED)
    asked, verdict = Question(task, fit), None
    ridge = cache(lambda: of_ridge(task, fit))
    if asked.rows is None or task.q > 1 or len(asked.columns) > MOST_WEIGHTS:
        little = -fit.log_likelihood < FEW * task.total / task.n_rows
        verdict = asked.by_weights(fit) or (asked.by_weights(ridge()) if little else None)
    if verdict is None and asked.dependent:
        return fit.unproved()
    with limited(Timed(TIME_LIMIT)):
        if verdict is None:
            with interrupts_allowed():
                verdict = separation(
                    asked.data, fit_intercept=task.intercept, formulations=("multinomial",)
                )
            verdict = verdict.multinomial if isinstance(verdict, Separations) else verdict
        if isinstance(verdict, Separable | QuasiSeparable):
            return asked.limit(ridge(), verdict, fit.limits)
    steps.begin("ascent", fit)
    fit = fitted(task, steps, fit)
    if not isinstance(verdict, Undecided):
        if task.factored and fit.state in (State.CONVERGED, State.STUCK):
            fit = sharpened(task, fit)
        return with_robust(task, fit)._replace(verdict=verdict)
    separated = asked.by_weights(fit)
    if separated is None:
        return fit.unproved()._replace(verdict=verdict, state=State.UNDECIDED)
    with limited(Timed(TIME_LIMIT)):
        return asked.limit(ridge(), separated, fit.limits)


def tell_separable(
    model: Any, task: Task, found: Solution, words: list[str], signs: np.ndarray
) -> None:
    """Warn that the classes are separable, or raise an error, as the model has it."""
    lost = model._arranged(found.limits).ravel().tolist()
    limits = {
        name: OPPOSITE.get(word, word) if sign < 0 else word
        for name, word, sign in zip(words, lost, signs, strict=True)
    }
    shown = [f"{name} ({word})" for name, word in limits.items() if word in DIVERGING]
    listed = ", ".join(shown[:8]) + ", ..." * (len(shown) > 8) or "not known in the time limit"
    rest = f"; the other {finite} are finite" if (finite := lost.count("finite")) else ""
    message = f"The data are {found.state}, so the likelihood has no maximum: it keeps growing as"
    message += f" these coefficients diverge: {listed}{rest}"
    hints = FINITE if task.factored else (BY_L2,)
    if model.on_separation == "raise":
        raise SeparationError(message, *hints, verdict=found.verdict, limits=limits)
    warn_caller(SeparationWarning(message, *hints, verdict=found.verdict, limits=limits))


def of_ridge(task: Task, fit: Solution) -> Solution:
    """Return the fit with the weights of a vanishing ridge, with many weights of the third, or the
    first that classifies every row correctly; per standard deviation, or unit of 0/1 columns.
    """
    how = moments(task, task.batches, marks=True) if task.factored else fit.terms
    conjugate = not task.factored or task.q * task.width > FEW_WEIGHTS
    square = sp.diags_array(1.0 * (np.arange(task.width) < task.n_features), format="lil")
    recipe = getattr(task.model, "recipe_", None) or {}
    for name, levels in (recipe.get("text") or {}).items():
        if levels and name in (recipe.get("reference") or {}):  # as if that had a weight, too
            of = list(levels.values())
            square[np.ix_(of, of)] -= np.full((len(of), len(of)), 1.0 / (len(of) + 1))
    B = before = np.zeros((task.q, task.width))
    for k, ridge in enumerate(RIDGES):
        penalty = Penalty(ridge * task.total * square.tocsr(), task.share)
        # weights grow as the logarithm of the factor
        begun = B if k < 2 else 2.0 * B - before
        allowed = GAIN * penalty.value(begun) * task.n_rows / task.total
        tol = float(np.sqrt(allowed)) if k else NEAR
        goal = goal_of(task, tol=tol, max_iter=STEPS, proved=True)
        objective = Objective(task.lanes, how, penalty, task.journal)
        found = newton(objective, begun, goal, conjugate=conjugate)
        before, B = B, found.B
    weights, likelihood = how.raw(B), found.point.log_likelihood
    return fit._replace(B=B, terms=how, weights=weights, log_likelihood=likelihood)
