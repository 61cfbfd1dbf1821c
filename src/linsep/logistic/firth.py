"""Firth's penalized likelihood: its objective, its maximum, and its maxima with some weights at 0.

Firth's likelihood is l*(b) = l(b) + ln |I(b)| / 2, the likelihood times Jeffreys' prior, whose
maximum is finite whatever the data (D. Firth, Bias reduction of maximum likelihood estimates,
Biometrika 80, 1993; finite: I. Kosmidis and D. Firth, Jeffreys-prior penalty, finiteness and
shrinkage in binomial-response generalized linear models, Biometrika 108, 2021); of several classes:
S. Bull, C. Mak and C. Greenwood, A modified score function estimator for multinomial logistic
regression in small samples, Computational Statistics and Data Analysis 39 (2002).
"""

from functools import cached_property
from itertools import islice
from operator import add
from typing import Any

import numpy as np
from scipy.linalg import null_space
from scipy.special import softmax

from linsep._system.interrupts import interruption_point
from linsep.batches import Batch
from linsep.compiled import logistic
from linsep.errors import DataError, ParameterError, hint
from linsep.logistic.newton import (
    FEW,
    LEAST_PIVOT,
    Goal,
    inverse_of,
    inverses,
    newton,
    objective_of,
)
from linsep.logistic.objective import Objective, Point, columns_of
from linsep.logistic.solution import Solution, State
from linsep.logistic.task import MOST_WEIGHTS, Task, block_rows

#: longest step of a weight, in standardized features, far from which a quadratic model is poor
LONGEST = 5.0
#: distance to the maximum, in standard errors, from which the last step begins at the latest
NEAREST = 1e-8


class Flat:
    """An objective of the weights of independent columns, flat, with Firth's penalty or without.

    Attributes
    ----------
    used : array of int, the numbers of these weights among all
    rows : rows in one block with few columns, standardized, and their batch; or None
    raw : array of shape (all weights, weights), which converts to weights of the raw features
    few : these rows if there are two classes, their codes, weights and offsets; or None
    """

    def __init__(self, objective: Objective, penalized: bool):
        self.objective, self.penalized = objective, penalized
        self.used = np.flatnonzero(np.tile(objective.used, objective.q))
        self.size, self.few, terms = len(self.used), None, objective.terms
        self.rows: tuple[np.ndarray, Batch] | None = None
        first, *more = islice(objective.lanes.batches(), 2)
        if self.size <= FEW and first.size <= block_rows(len(terms.scales)) and not more:
            ((_, Z),) = terms.blocks(first)
            Z = np.ascontiguousarray(Z[:, objective.used])
            self.rows = Z, first
            if objective.q == 1:
                offset = np.empty(0) if first.offset is None else first.offset.ravel()
                self.few = Z, first.y, first.importance, offset

    def leverage(self, b: np.ndarray) -> float:
        """Return the largest leverage of a row, weighted by its variance; 0 for many rows."""
        if self.rows is None:
            return 0.0
        Z, rows = self.rows
        shares = _shares(Z, self.wide(b)[:, self.objective.used], rows.offset)
        spread = 1.0 - np.square(shares).sum(axis=1)
        spread *= rows.importance if rows.importance.size else 1.0
        inverse = inverse_of((Z * spread[:, None]).T @ Z)
        return 1.0 if inverse is None else float((((Z @ inverse) * Z).sum(axis=1) * spread).max())

    @cached_property
    def raw(self) -> np.ndarray:
        """See above."""
        return self.objective.terms.matrix()[:, self.used]

    def standard(self, weights: np.ndarray) -> np.ndarray:
        """Return weights of the raw features, shape (q, width), as those of this objective."""
        return self.objective.terms.standard(weights).ravel()[self.used]

    def wide(self, b: np.ndarray) -> np.ndarray:
        """Return the weights of all columns, shape (q, width)."""
        found = np.zeros(self.objective.q * self.objective.width)
        found[self.used] = b
        return found.reshape(self.objective.shape)

    def at(self, b: np.ndarray, **_: Any) -> Point:
        """Evaluate the objective; its value is -inf where the information is singular."""
        return Point._make(None if part is None else part[0] for part in self.many(b[None]))

    def many(self, B: np.ndarray) -> Point:
        """Evaluate the objective at weights of shape (points, weights), in arrays."""
        interruption_point()
        if self.few is not None:
            found = logistic.terms_of_few(
                *self.few, np.ascontiguousarray(B), LEAST_PIVOT, self.penalized
            )
            value, slope, information, plain, pull = found
            return Point(value, slope, information, None, plain, pull)
        points, places = [self.objective.at(self.wide(b)) for b in B], self.used
        value = np.array([point.log_likelihood for point in points])
        slope = np.array([point.gradient.ravel()[places] for point in points])
        information = np.array([point.hessian[np.ix_(places, places)] for point in points])
        if not self.penalized:
            return Point(value, slope, information, None, value, np.zeros_like(slope))
        inverse, log_det, fine = inverses(information)
        pull = np.zeros_like(slope)
        for k in np.flatnonzero(fine):
            pull[k] = self._pull(self.wide(B[k]), inverse[k]).ravel()[self.used]
        penalized = np.where(fine, value + log_det / 2, -np.inf)
        return Point(penalized, slope * fine[:, None] + pull, information, None, value, pull)

    def _pull(self, B: np.ndarray, inverse: np.ndarray) -> np.ndarray:
        covariance, q = np.zeros((B.size, B.size)), len(B)
        covariance[np.ix_(self.used, self.used)] = inverse
        blocks = covariance.reshape(*B.shape, *B.shape)

        def of_lane(lane: Batch) -> np.ndarray:
            """Return the gradient of ln |I| / 2 of the rows of a lane."""
            found = np.zeros(B.shape)
            for start, Z in self.objective.terms.blocks(lane):
                here = slice(start, start + len(Z))
                p = _shares(Z, B, None if lane.offset is None else lane.offset[here])[:, :q]
                # z' (block of classes k and l) z of every row, and its derivative by the scores:
                # the sum of the third cumulants of the classes times H; of two
                # p (1 - p) h (1/2 - p)
                H = np.einsum("nklj,nj->nkl", np.tensordot(Z, blocks, (1, 1)), Z)
                own, Hp = np.einsum("nkk->nk", H), np.einsum("nkl,nl->nk", H, p)
                both = 2.0 * (p * Hp).sum(axis=1, keepdims=True)
                pull = p * (own - 2.0 * Hp - (p * own).sum(axis=1, keepdims=True) + both) / 2.0
                found += (pull if lane.weights is None else pull * lane.weights[here, None]).T @ Z
            return found

        return np.asarray(self.objective.sum(of_lane, add))


def _shares(Z: np.ndarray, B: np.ndarray, offset: np.ndarray | None) -> np.ndarray:
    scores = Z @ B.T
    scores += 0.0 if offset is None else offset.reshape(len(Z), -1)
    return np.asarray(softmax(np.column_stack([scores, np.zeros(len(Z))]), axis=1))


def maximum(
    flat: Flat, start: np.ndarray, task: Task, free: np.ndarray | None = None, **more: Any
) -> Solution:
    """Return the maximum of a flat objective that Newton's method reaches."""
    if free is not None and not free.shape[1]:
        return Solution(start, flat.at(start), State.CONVERGED, 0)
    goal = Goal(max(task.tol, NEAREST), int(task.model.max_iter), longest=LONGEST)
    bend = more.pop("bend", np.zeros((len(start),) * 2))
    return newton(flat, start, goal, free=free, bend=bend, **more)


def opened(task: Task, penalized: bool) -> Flat:
    """Return the objective of a task."""
    return Flat(objective_of(task, columns_of(task)), penalized)


def begun(task: Task, flat: Flat) -> Solution:
    """Return the maximum of the model without features, where the maximization begins.

    Without offsets all rows have the same probabilities, so that ln |I| is the sum of their
    logarithms times the number of columns, but for a constant.
    """
    start, columns = np.zeros((task.q, task.width)), flat.size / task.q
    if task.intercept:
        totals = task.known.totals + columns / 2.0
        start[:, -1] = task.null[0] if task.offsets else np.log(totals[:-1] / totals[-1])
    constant = flat.used % task.width == task.n_features
    free = np.eye(flat.size)[:, constant & task.offsets]
    return maximum(flat, start.ravel()[flat.used], task, free)


def in_memory(task: Task) -> Task:
    """Return the task with its rows in memory; raise ParameterError if they do not fit."""
    kept, model = task.in_memory() if task.factored else None, task.model
    if kept is None:
        what = "Firth's penalized likelihood is" if model.penalty else "Profile intervals are"
        instead: dict[str, Any] = {"l2": None} if model.penalty else {"intervals": "wald"}
        raise ParameterError(
            f"{what} for rows that fit in memory and at most {MOST_WEIGHTS:,} weights; this fit "
            f"has {task.n_rows:,} rows and {task.q * task.width:,} weights",
            hint("use {} instead", **instead), code="too-large",
        )  # fmt: skip
    return kept


def held_at_zero(
    task: Task, terms: list[list[int]]
) -> tuple[int, float, float, list[tuple[float, int]]]:
    """Return the number of rows, the log-likelihood at the maximum of Firth's likelihood, this
    maximum, and for each of the lists of features (``terms``) the maximum with their coefficients
    held at zero, NaN if not reached, and the number of these.
    """
    flat = opened(task, penalized=True)
    none = begun(task, flat)
    top, found = maximum(flat, none.B, task), []
    for features in terms:
        places = np.arange(task.q)[:, None] * task.width + np.array(features)
        held = flat.raw[places.ravel()]
        held = held[held.any(axis=1)]  # without features that are left out
        if not len(held):
            found.append((top.point.value, 0))
            continue
        free = null_space(held / np.linalg.norm(held, axis=1, keepdims=True))
        starts = [free @ (free.T @ b) for b in (top.B, none.B)]
        best = max(starts, key=lambda b: flat.at(b).value)
        end = maximum(flat, best, task, free, bend=top.bend)
        reached = top.state is State.CONVERGED and end.state is State.CONVERGED
        found.append((end.point.value if reached else np.nan, len(held)))
    return task.n_rows, top.point.log_likelihood, top.point.value, found


def scored(model: Any, task: Task) -> tuple[int, float, float, int]:
    """Return Rao's score statistic of the weights of a model, with zeros for the features that a
    task has beyond its own: the number of rows, the log-likelihood, the statistic, and the number
    of independent parameters.
    """
    flat = opened(task, penalized=False)
    d, weights = model.coef_.shape[1], np.zeros((task.q, task.width))
    weights[:, :d] = model.coef_[task.known.fitted]
    if task.intercept:
        weights[:, -1] = model.intercept_[task.known.fitted]
    there = flat.at(flat.standard(weights))
    inverse = inverse_of(there.hessian)
    if inverse is None:
        raise DataError(
            "The information of the larger model is singular at the estimates, so the score test "
            "is not defined: leave out columns that are nearly linear combinations of others.",
            code="no-estimate",
        )
    statistic = float(there.gradient @ inverse @ there.gradient)
    return task.n_rows, there.log_likelihood, statistic, flat.size
