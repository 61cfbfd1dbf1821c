"""The soft margin of two classes: its objective, its dual, and the gap between them as a proof.

Primal: |w|^2 / 2 + sum_i u_i loss(1 - y_i (<w, x_i> + b)), where loss(t) is max(0, t) or its square
and u_i is C times the weight of row i. Dual: sum_i a_i - |sum_i a_i y_i x_i|^2 / 2, minus sum_i
a_i^2 / (4 u_i) for squares, over 0 <= a_i (<= u_i for the hinge), with sum_i a_i y_i = 0 where b is
free. With a penalized intercept, b is the weight of a feature that is always 1. The dual at any
such a is at most the primal at any (w, b) (C. Cortes and V. Vapnik, Support-vector networks,
Machine Learning 20, 1995), so the two bound the distance of (w, b) from the optimum.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

from linsep._system.interrupts import cached_property
from linsep.compiled.loop import score_vector
from linsep.compiled.rows import as_rows
from linsep.compiled.soft_margin import add_carefully, add_rows, largest_values, score_carefully

#: most bits of dual variables, which are multiples of one power of two: their sums are exact
BITS = 50
#: unit roundoff, and a number above all errors of underflow
EPS, TINY = 2.0**-53, 1e-290
#: multiples so near to 1 are 1
NEARLY = 1e-9
#: share of a gap that may be rounding
SHARE = 0.05


class Problem:
    """Rows of two classes, dense or CSR, with signs 1 and -1 and the costs of their errors, C times
    the weights of the rows; an intercept is "free", "penalized" or None.

    Weights are arrays of shape (features + 1,), whose last is a penalized intercept.
    """

    def __init__(
        self, X: Any, signs: np.ndarray, costs: np.ndarray, squared: bool, intercept: str | None
    ):
        self.X, self.signs, self.costs, self.squared = X, signs, costs, squared
        self.free, self.bias = intercept == "free", float(intercept == "penalized")

    @cached_property
    def rows(self) -> Any:
        """The rows in the form that compiled loops expect."""
        return as_rows(self.X)

    @cached_property
    def squares(self) -> np.ndarray:
        """The squared length of every row, without the penalized intercept."""
        return row_squares(self.X)

    @cached_property
    def largest(self) -> np.ndarray:
        """The largest absolute value of every feature."""
        found = np.zeros(self.X.shape[1] + 1)
        largest_values(self.rows, len(self.signs), found)
        found[-1] = self.bias
        return found

    def combined(self, dual: np.ndarray) -> np.ndarray:
        """Return sum_i a_i y_i x_i, the weights of dual variables."""
        found = np.zeros(self.X.shape[1] + 1)
        add_rows(self.rows, self.signs * dual, self.bias, found)
        return found

    def weights_of(self, dual: np.ndarray, careful: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the same with bounds on the errors; if ``careful``, in twice the precision."""
        unit = 2 * (int((dual > 0).sum()) + 4) * EPS
        if not careful:
            return self.combined(dual), unit * float(dual.sum()) * self.largest + TINY
        sums, rest, reach = np.zeros((3, self.X.shape[1] + 1))
        amounts = self.signs * dual
        add_carefully(self.rows, amounts, sums, rest, reach)
        if self.bias:
            sums[-1], reach[-1] = self.bias * math.fsum(amounts), self.bias * dual.sum()
        found = sums + rest
        return found, 2 * EPS * np.abs(found) + unit * unit * reach + TINY

    def scores(self, weights: np.ndarray, careful: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return <w, x> of every row, without a free intercept, with bounds on the errors; if
        ``careful``, in twice the precision.
        """
        scores, reach = np.empty((2, len(self.signs)))
        unit = 2 * (len(weights) + 4) * EPS
        if careful:
            score_carefully(self.rows, weights, self.bias, scores, reach)
            return scores, 2 * EPS * np.abs(scores) + unit * unit * reach + TINY
        score_vector(self.rows, len(scores), weights, self.bias, scores)
        length = float(np.sqrt(weights @ weights))
        return scores, unit * length * np.sqrt(self.squares + self.bias) + TINY

    def losses(self, shortfalls: np.ndarray) -> np.ndarray:
        """Return the loss of each row from 1 - y s, times its cost."""
        short = np.maximum(shortfalls, 0.0)
        return self.costs * (short * short if self.squared else short)

    def penalty(self, dual: np.ndarray) -> float:
        """Return the term of the dual for a squared loss."""
        return float((dual * dual / self.costs).sum()) / 4 if self.squared else 0.0

    def best_multiple(self, dual: np.ndarray, square: float) -> float:
        """Return the factor, up to 1 for the hinge, by which dual variables have the largest
        objective, given the square of their weights.
        """
        square += 2 * self.penalty(dual)
        if not 0.0 < square < math.inf:
            return 1.0
        found = float(dual.sum()) / square
        found = found if self.squared else min(1.0, found)
        return 1.0 if abs(found - 1.0) <= NEARLY else found


def row_squares(X: Any) -> np.ndarray:
    """Return the squared length of every row."""
    if not sp.issparse(X):  # without a copy of floats of single precision
        return np.einsum("ij,ij->i", X, X, dtype=np.float64)
    found: np.ndarray = row_norms(X.astype(np.float64, copy=False), squared=True)
    return found


def best_intercept(problem: Problem, scores: np.ndarray) -> float:
    """Return the free b of least loss for scores <w, x>; if not unique, the middle one.

    The slope of the loss in b is linear between kinks at y_i - s_i, below which rows of sign 1 have
    a loss, and above which rows of sign -1 do.
    """
    order = np.argsort(problem.signs - scores, kind="stable")
    at, u, up = (problem.signs - scores)[order], problem.costs[order], problem.signs[order] > 0
    if not problem.squared:
        slope = np.cumsum(u) - u[up].sum()
        rounding = EPS * len(u) * float(u.sum())
        first = int(np.searchsorted(slope, -rounding))
        last = int(np.searchsorted(slope, rounding, side="right"))
        return float((at[min(first, len(at) - 1)] + at[min(last, len(at) - 1)]) / 2)
    above, below = np.where(up, u, 0.0), np.where(up, 0.0, u)

    def slopes(values: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Sums over the rows with a loss just above each kink."""
        return np.append(np.cumsum(values[::-1])[::-1][1:], 0.0) + np.cumsum(others)

    weight, moment = slopes(above, below), slopes(above * at, below * at)
    k = int(np.searchsorted(weight * at - moment, 0.0))
    if k == 0:
        return float(at[0])
    # between kinks k - 1 and k
    return float(moment[k - 1] / weight[k - 1]) if weight[k - 1] > 0 else float(at[k - 1])


class Certificate(NamedTuple):
    """Weights, and a proof of their distance from the optimum: dual variables, feasible without
    rounding, a number that is at least their objective, and one that is at most the objective of
    any weights.
    """

    coef: np.ndarray
    intercept: float
    dual: np.ndarray
    primal: float
    bound: float

    @property
    def gap(self) -> float:
        """Upper bound on the relative distance of the objective from the optimum, rounded up."""
        return relative_gap(self.primal, self.bound)


def relative_gap(primal: float, bound: float) -> float:
    """Return an upper bound on the relative distance of an objective from the optimum, given a
    lower bound on the optimum, rounded up; 1 proves nothing.
    """
    if primal <= bound:
        return 0.0
    if not 0.0 < bound < primal < math.inf:
        return 1.0
    return min(1.0, math.nextafter((primal - bound) / primal, math.inf))


def of_one_class(problem: Any, width: int) -> Certificate | None:
    """Return weights of zero where a free intercept classifies all rows; else None."""
    if not problem.free or abs(problem.signs.sum()) < len(problem.signs):
        return None
    side, none = float(problem.signs[0]), np.zeros(len(problem.signs))
    return Certificate(np.zeros(width), side, none, 0.0, 0.0)


def certified(
    problem: Problem, dual: np.ndarray, weights: np.ndarray | None = None, enough: float = 0.0
) -> Certificate:
    """Return the certificate of dual variables, made feasible, and of weights, by default their
    own.

    ``dual`` may be any numbers; the closer to the optimum, the smaller the gap. Sums are computed
    in twice the precision if their rounding would increase a gap of more than ``enough``.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        dual, total = feasible(problem, dual)
        own = problem.combined(dual)
        multiple = problem.best_multiple(dual, float(own @ own))
        if multiple != 1.0:
            dual, total = feasible(problem, dual * multiple)
        found, rounding = _bounds(problem, dual, total, weights, False)
        if found.gap > enough and not rounding <= SHARE * (found.primal - found.bound):
            found, _ = _bounds(problem, dual, total, weights, True)
    return found


def _bounds(
    problem: Problem, dual: np.ndarray, total: float, weights: np.ndarray | None, careful: bool
) -> tuple[Certificate, float]:
    """Return a certificate, and the part of its gap due to rounding; ``total`` is the sum of the
    dual variables.
    """
    own, error = problem.weights_of(dual, careful)
    weights = own if weights is None else weights
    scores, error_of_scores = problem.scores(weights, careful)
    intercept = best_intercept(problem, scores) if problem.free else 0.0
    slack = error_of_scores + 4 * EPS * (np.abs(scores + intercept) + 1.0)
    short = 1.0 - problem.signs * (scores + intercept)
    above = 1.0 + 2 * (len(dual) + len(weights) + 12) * EPS
    losses = float(problem.losses(short + slack).sum())
    primal = (float(weights @ weights) / 2 + losses) * above + TINY
    square = float(np.square(np.abs(own) + error).sum()) / 2
    bound = total - (square + problem.penalty(dual)) * above - TINY
    rounding = losses - float(problem.losses(short).sum()) + square - float(own @ own) / 2
    found = Certificate(
        weights[:-1], float(intercept + problem.bias * weights[-1]), dual,
        math.nextafter(primal, math.inf), math.nextafter(bound, -math.inf),
    )  # fmt: skip
    return found, rounding


def feasible(problem: Any, dual: np.ndarray) -> tuple[np.ndarray, float]:
    """Return dual variables that satisfy the constraints without rounding, and their sum, rounded
    down.

    They are multiples of a power of two. If the intercept is free, the variables of the class with
    the larger sum are scaled down until both sums are equal.
    """
    dual = np.where((dual > 0.0) & (dual < math.inf), dual, 0.0)
    if not problem.squared:
        dual = np.minimum(dual, problem.costs)
    largest = float(dual.max(initial=0.0))
    if largest == 0.0:
        return np.zeros_like(dual), 0.0
    bits = min(BITS, 62 - len(dual).bit_length())
    unit = 2.0 ** max(math.frexp(largest)[1] - bits, -1022)
    units = np.floor(dual / unit).astype(np.int64)
    if problem.free:
        sides = [np.flatnonzero(problem.signs > 0), np.flatnonzero(problem.signs < 0)]
        light, heavy = sorted(sides, key=lambda side: int(units[side].sum()))
        least, most = int(units[light].sum()), int(units[heavy].sum())
        if most:
            units[heavy] = np.floor(units[heavy] * (least / most)).astype(np.int64)
        excess = int(units[heavy].sum()) - least
        _lower(units, heavy if excess > 0 else light, abs(excess))
    return units * unit, math.nextafter(float(int(units.sum())) * unit, -math.inf)


def _lower(units: np.ndarray, side: np.ndarray, excess: int) -> None:
    """Take ``excess`` units from a side, a few from each."""
    while excess:
        some = side[units[side] > 0]
        each = max(1, excess // len(some))
        taken = np.minimum(units[some], each)[: max(1, excess // each)]
        units[some[: len(taken)]] -= taken
        excess -= int(taken.sum())


def at_bounds(problem: Problem, found: Certificate) -> np.ndarray:
    """Return the dual variables of a certificate at the bounds that an interior point method never
    reaches: zero for rows that are apparently no support vectors, and costs inside the margin.
    """
    weights = np.append(found.coef, found.intercept if problem.bias else 0.0)
    scores = problem.scores(weights, True)[0] + (0.0 if problem.bias else found.intercept)
    beyond, share = problem.signs * scores - 1.0, found.dual / problem.costs
    dual = np.where(beyond > share, 0.0, found.dual)
    return dual if problem.squared else np.where(-beyond > 1.0 - share, problem.costs, dual)


def purified(problem: Problem, found: Certificate, tol: float) -> Certificate:
    """Return the certificate with dual variables at their bounds, if its gap is at most ``tol``;
    else the given certificate.
    """
    weights = np.append(found.coef, found.intercept if problem.bias else 0.0)
    better = certified(problem, at_bounds(problem, found), weights)
    return better if better.gap <= max(tol, found.gap) else found
