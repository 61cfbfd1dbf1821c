"""The total distance that rows must move to have a margin: an interval with proofs of both ends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import brentq
from sklearn.utils.extmath import row_norms

from linsep._system.interrupts import interruption_point, interrupts_deferred
from linsep.batches import joined
from linsep.certificate.canonical import check_labels
from linsep.certificate.verdicts import Check
from linsep.errors import DataError, ParameterError
from linsep.estimators.frames import in_memory, source_of
from linsep.estimators.labels import (
    check_sample_weight,
    encode,
    source_labels,
)
from linsep.mistake_bounds.bounds import SIZES, above, length, shown
from linsep.mistake_bounds.margins import seen_rows
from linsep.soft_margins.problem import EPS, Problem
from linsep.soft_margins.solving import solve
from linsep.validation.checks import faults_named, labels_of

#: soft margins are fitted, to this gap, until the ends are so near; most fits
GAP, ENDS, MOST_FITS = 1e-7, 1e-11, 40
#: steps of the logarithm of the cost until weights are too long, or too short; most of them
STEP, MOST_STEPS = math.log(16.0), 30


@dataclass(frozen=True, eq=False)
class TotalDistance:
    """The least total distance that rows must move to have a margin, as an interval.

    For z = [x; 1] (x without an intercept) and y = 1 or -1 it is the minimum of
    T(u) = sum_i c_i max(0, gamma - y_i <u, z_i>) over all u with |u| <= 1.

    Attributes
    ----------
    gamma : float
        The margin.
    low, high : float
        Ends of the interval, rounded outward. ``high`` is at least T(u) for ``coef`` and
        ``intercept``, and ``low`` at most gamma sum_i l_i - |sum_i l_i y_i z_i| for the
        ``multipliers`` l, or 0.
    coef : array of shape (features,)
    intercept : float
        The weights u and the intercept, together of length at most 1.
    multipliers : array of shape (rows,)
        l, from 0 to the weight of each row.
    classes : array of shape (2,)
        The labels; the second is y = 1.
    fit_intercept : bool
    """

    gamma: float
    low: float
    high: float
    coef: np.ndarray
    intercept: float
    multipliers: np.ndarray
    classes: np.ndarray
    fit_intercept: bool

    @property
    def most_errors(self) -> float:
        """Upper bound on the weight of the rows that u misclassifies, high / gamma: each of them
        has y <u, z> <= 0 and is at least gamma from the margin.
        """
        return above(Fraction(self.high) / Fraction(self.gamma))

    def __str__(self) -> str:
        ends = " to ".join(dict.fromkeys((f"{self.low:.4g}", f"{self.high:.4g}")))
        return (
            f"rows are {ends} in total from the margin {self.gamma:g}, and its weights make "
            f"at most {shown(self.most_errors)} errors"
        )

    def verify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Check:
        """Recompute both ends, in exact fractions.

        Parameters
        ----------
        X, y, sample_weight : as passed to :func:`linsep.total_distance`

        Returns
        -------
        Check
            Whether the interval is valid, with the reason. A million numbers take seconds.

        Raises
        ------
        ValueError
            If the rows are invalid.
        """
        Z, signs, costs, classes = _taken(X, y, sample_weight, self.fit_intercept)
        u = [*map(Fraction, self.coef.tolist())]
        u += [Fraction(self.intercept)] * self.fit_intercept
        if Z.shape != (len(self.multipliers), len(u)) or not np.array_equal(classes, self.classes):
            return Check(False, "It does not hold: the rows differ.")
        gamma, distance, totals = Fraction(self.gamma), Fraction(0), [Fraction(0)] * len(u)
        for i, amount in enumerate(map(Fraction, self.multipliers.tolist())):
            interruption_point()
            row = Z[i].toarray().ravel() if sp.issparse(Z) else Z[i]
            values = [(j, int(signs[i]) * Fraction(row[j])) for j in np.flatnonzero(row).tolist()]
            score = sum(u[j] * value for j, value in values)
            distance += Fraction(costs[i]) * max(Fraction(0), gamma - score)
            for j, value in values if amount else ():
                totals[j] += amount * value
        room = gamma * sum(map(Fraction, self.multipliers.tolist())) - Fraction(self.low)
        for wrong, reason in (
            (((self.multipliers < 0) | (self.multipliers > costs)).any(),
             "a multiplier is not from 0 to a row's weight"),
            (sum(one * one for one in u) > 1, "the weights are longer than 1"),
            (distance > Fraction(self.high), "the weights need a larger distance"),
            (self.low > 0 and not (room >= 0 and sum(one * one for one in totals) <= room**2),
             "the multipliers prove less"),
        ):  # fmt: skip
            if wrong:
                return Check(False, f"It does not hold: {reason}.")
        return Check(True, "It holds: both ends, in exact arithmetic.")


def total_distance(
    X: Any, y: Any = None, gamma: float = 1.0, *, fit_intercept: bool = True,
    sample_weight: Any = None,
) -> TotalDistance:  # fmt: skip
    """Find the total distance that the rows must move to be separated with a margin.

    For weights u of length at most 1, T(u) is the sum of max(0, gamma - y <u, z>) over the rows,
    with z = [x; 1] (or z = x). The total distance TD is the least T(u), as in the mistake bound
    R^2/gamma^2 + 2 TD/gamma of :func:`linsep.bounds`. It also bounds the errors of a hyperplane: u
    makes at most T(u) / gamma errors, and unlike the fewest errors, u is found without a search.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (rows, features), or source
        A source of :mod:`linsep.sources` has its own labels and weights, and is read into memory.
    y : array of shape (rows,)
        Labels of two classes. The larger one is the positive side.
    gamma : float > 0, default=1.0
        The margin, in the units of the features. Its float value is used exactly.
    fit_intercept : bool, default=True
        Whether z is [x; 1]. The length of u includes the intercept.
    sample_weight : array of shape (rows,), default ones
        Multiplies the distance of each row.

    Returns
    -------
    TotalDistance
        An interval with weights that prove its upper end and multipliers that prove its lower end.
        Its relative width is usually below 1e-6. It is wider if rounding exceeds that, and
        sometimes if there are more than 3,000 rows and more than 3,000 features.

    Raises
    ------
    ValueError
        If ``gamma`` is not a finite number above 0 or differs too much in scale from the rows, and
        for NaN, infinity, labels that are not of two classes, and arrays of different lengths.
    KeyboardInterrupt
        Soon after Ctrl-C.

    References
    ----------
    Y. Freund and R. Schapire, Large margin classification using the perceptron algorithm, Machine
    Learning 37 (1999); A. Blum, Machine Learning Theory, lecture 4 (2014).

    Examples
    --------
    >>> X, y = [(1, 1), (1, -1), (-1, 1), (-1, -1)], [1, -1, -1, 1]  # exclusive or
    >>> found = total_distance(X, y, 0.5)
    >>> round(found.low, 6), round(found.high, 6)
    (2.0, 2.0)
    >>> print(found)
    rows are 2 in total from the margin 0.5, and its weights make at most 4 errors
    >>> bool(found.verify(X, y))
    True
    """
    if not (isinstance(gamma, Real) and 0 < gamma < math.inf):
        raise ParameterError(
            f"gamma is {gamma!r}: it must be a finite number above 0.", option="gamma", value=gamma
        )
    gamma = float(gamma)
    Z, signs, costs, classes = _taken(X, y, sample_weight, fit_intercept)
    used, longest = costs > 0, float(row_norms(Z).max()) or gamma
    if not (SIZES[0] < longest < SIZES[1] and SIZES[0] < gamma / longest < SIZES[1]):
        raise DataError(
            f"gamma is {gamma:g} and the longest row {longest:.4g}, but sizes beyond 1e100 are not "
            "handled; scale the features.", code="overflow", option="gamma", value=gamma,
        )  # fmt: skip
    problem = Problem(Z[used], signs[used], costs[used], False, None)
    with interrupts_deferred():
        low, high, u, dual = _best(problem, gamma, longest)
    multipliers = np.zeros(len(costs))
    multipliers[used] = dual
    coef, intercept = (u[:-1], float(u[-1])) if fit_intercept else (u, 0.0)
    return TotalDistance(gamma, low, high, coef, intercept, multipliers, classes, fit_intercept)


def _taken(
    X: Any, y: Any, sample_weight: Any, fit_intercept: bool
) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """Return z, sign and weight of every row, and the two classes."""
    if source_of(X, y=y, sample_weight=sample_weight) is not None:
        read = joined(list(X.batches()))
        source_labels(X, read.y)
        X, y, sample_weight = read.X, read.y, read.weights
    else:
        X, y, sample_weight, _ = in_memory(X, y, sample_weight)
    with faults_named(X):
        Z = seen_rows(X, fit_intercept, False)
    classes, codes = encode(y := labels_of(y))
    check_labels(Z.shape[0], len(y))
    if len(classes) > 2:
        raise DataError(
            f"y has {len(classes):,} classes, but the total distance needs two: pass y == one of "
            f"them against the rest.", code="class-count", value=len(classes),
        )  # fmt: skip
    costs = check_sample_weight(sample_weight, len(y))
    return Z, 2.0 * codes - 1.0, costs if costs.size else np.ones(len(y)), classes


def _best(
    problem: Problem, gamma: float, longest: float
) -> tuple[float, float, np.ndarray, np.ndarray]:
    """Return both ends, and the weights and multipliers that prove them, of soft margins: as the
    cost of an error grows, so do the weights, up to the length 1 / gamma.
    """
    rows, scale = problem.X / longest, float(problem.costs.max())
    low, high, u, dual = 0.0, math.inf, np.zeros(0), np.zeros(len(problem.signs))

    def excess(power: float) -> float:
        """Return by how much the weights of a cost are too long; 0 if the ends meet."""
        nonlocal low, high, u, dual
        cost = math.exp(power) * gamma / longest
        some = Problem(rows, problem.signs, problem.costs / scale * cost, False, None)
        found = solve(some, GAP, 1000)
        w, multipliers = found.coef * (gamma / longest), found.dual * (scale / cost)
        weights = inside(w)
        above, below = upper_end(problem, weights, gamma), lower_end(problem, multipliers, gamma)
        if above < high:
            high, u = above, weights
        if below > low:
            low, dual = below, np.clip(multipliers, 0.0, problem.costs)
        return 0.0 if high - low <= ENDS * high else float(np.linalg.norm(w)) - 1.0

    ends, step = [0.0], STEP if (first := excess(0.0)) < 0 else -STEP
    while len(ends) < MOST_STEPS and first and first * excess(ends[-1] + step) > 0:
        ends.append(ends[-1] + step)
    if first and len(ends) < MOST_STEPS:
        brentq(excess, ends[-1], ends[-1] + step, xtol=1e-13, maxiter=MOST_FITS, disp=False)
    return low, high, u, dual


def inside(u: np.ndarray) -> np.ndarray:
    """Return weights of length at most 1, shortened if necessary."""
    while (length := length_above(u)) > 1:
        u = u * ((1 - 4 * EPS) / length)
    return u


def length_above(values: np.ndarray, errors: Any = 0.0) -> float:
    """Return an upper bound on the length of numbers with errors up to ``errors``."""
    return length(np.abs(values) + errors) * (1 + (2 * len(values) + 16) * EPS)


def upper_end(problem: Problem, u: np.ndarray, gamma: float) -> float:
    """Return the sum of the distances of the rows for weights, rounded up."""
    scores, errors = problem.scores(np.append(u, 0.0), True)
    short = gamma - problem.signs * scores + errors * (1 + 8 * EPS)
    terms = problem.costs * np.maximum(short, 0.0) * (1 + 8 * EPS)
    total = math.fsum(terms)
    return math.nextafter(total, math.inf) if total else 0.0


def lower_end(problem: Problem, multipliers: np.ndarray, gamma: float) -> float:
    """Return the lower bound that multipliers prove for any weights, rounded down, or 0."""
    dual = np.clip(multipliers, 0.0, problem.costs)
    sums, errors = problem.weights_of(dual, True)
    length = length_above(sums, errors)
    total = math.nextafter(math.fsum(dual), -math.inf)
    if not 0 < total < math.inf:
        return 0.0
    return max(0.0, -above(Fraction(length) - Fraction(gamma) * Fraction(total)))
