"""Firth's penalized likelihood, and profiles of a likelihood: its maximum with one weight fixed.

Firth's likelihood is l*(b) = l(b) + ln |I(b)| / 2, the likelihood times Jeffreys' prior, whose
maximum is finite whatever the data (D. Firth, Bias reduction of maximum likelihood estimates,
Biometrika 80, 1993; finite: I. Kosmidis and D. Firth, Jeffreys-prior penalty, finiteness and
shrinkage in binomial-response generalized linear models, Biometrika 108, 2021); of several classes:
S. Bull, C. Mak and C. Greenwood, A modified score function estimator for multinomial logistic
regression in small samples, Computational Statistics and Data Analysis 39 (2002).

The profile at a value v is the largest (penalized) log-likelihood with one weight fixed at v. Twice
its difference to the maximum is approximately chi-squared with one degree of freedom, which tests a
value; the values that are not rejected form an interval (D. Venzon and S. Moolgavkar, A method for
computing profile-likelihood-based confidence intervals, Applied Statistics 37, 1988; with Firth's
penalty: G. Heinze and M. Schemper, A solution to the problem of separation in logistic regression,
Statistics in Medicine 21, 2002).
"""

from dataclasses import replace
from itertools import islice
from operator import add
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack, null_space
from scipy.special import chdtrc, chdtri

from linsep._system.interrupts import interruption_point
from linsep.batches import Batch
from linsep.compiled import logistic
from linsep.errors import DataError, ParameterError, hint
from linsep.inference.refitting import FirthTests, Scored
from linsep.logistic.fitting import lanes_as
from linsep.logistic.likelihood import Likelihood, Terms
from linsep.logistic.outcomes import (
    Around,
    Ends,
    FitOutcome,
    Report,
    Steps,
    ends_of,
    limits_without,
    no_report,
)
from linsep.logistic.preparing import Standardization, sampled, standardization
from linsep.logistic.rows import MOST_WEIGHTS, BatchRows, FittedClasses, Rows, Task

#: longest step of a weight, in standardized features, far from which a quadratic model is poor
LONGEST = 5.0
#: a step that gains less than this is the last; its own error is far smaller
LEAST_GAIN = 1e-15
HALVINGS = 30
#: relative rounding error of a sum of logarithms
ROUNDING = 1e-13
#: a smaller pivot of a matrix with unit diagonal is a rounding error
PIVOT = 1e-7
#: most weights for which LAPACK is slower than a loop
FEW = 32
#: less information about a direction is treated as zero
NOTHING = 1e-200
#: a curvature correction that is a smaller share of its terms is noise
NOISE = 1e-8


class Evaluated(NamedTuple):
    """An objective evaluated at some weights.

    Attributes
    ----------
    value : float, the penalized log-likelihood, -inf if the information is singular
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
    known : Evaluated, at b
    bend : array of shape (weights, weights), approximate negative Hessian of the penalty
    reason : "converged", "max_iter" or "stuck"
    n_iter : int
    """

    b: np.ndarray
    known: Evaluated
    bend: np.ndarray
    reason: str
    n_iter: int

    @property
    def value(self) -> float:
        """The largest value."""
        return self.known.value


class Objective:
    """The log-likelihood of weights in standardized features, with Firth's penalty or without.

    Parameters
    ----------
    likelihood : Likelihood
    used : array of bool of shape (width,), the independent columns
    penalized : bool

    Attributes
    ----------
    is_small : bool, whether there are few rows and weights
    """

    def __init__(self, likelihood: Likelihood, used: np.ndarray, penalized: bool):
        self.likelihood, self.penalized = likelihood, penalized
        self.used = np.flatnonzero(np.tile(used, likelihood.q))
        self._few = _few_rows(likelihood, self.used)
        rows = sum(batch.size for batch in islice(likelihood.lanes.batches(), 2))
        self.is_small = rows <= SMALL_ROWS and self.size <= SMALL_SIZE

    @property
    def size(self) -> int:
        """Number of weights."""
        return len(self.used)

    def wide(self, b: np.ndarray) -> np.ndarray:
        """Return the weights of all columns, shape (q, width)."""
        found = np.zeros(self.likelihood.q * self.likelihood.width)
        found[self.used] = b
        return found.reshape(self.likelihood.shape)

    def _of_used(self, matrix: np.ndarray) -> np.ndarray:
        return matrix if self.size == len(matrix) else matrix[np.ix_(self.used, self.used)]

    def at(self, b: np.ndarray) -> Evaluated:
        """Evaluate the objective."""
        if self._few is not None:
            interruption_point()
            return self._at_few(*self._few, b)
        B, nothing = self.wide(b), np.zeros(len(b))
        point = self.likelihood.at(B)
        slope = point.gradient.ravel()[self.used]
        assert point.hessian is not None
        information = self._of_used(point.hessian)
        if not self.penalized:
            return Evaluated(point.value, point.value, slope, nothing, information)
        inverse = inverse_of(information)
        if inverse is None:
            return Evaluated(-np.inf, point.value, nothing, nothing, information)
        covariance = inverse
        if self.size < B.size:
            covariance = np.zeros(2 * (B.size,))
            covariance[np.ix_(self.used, self.used)] = inverse
        pull = penalty_gradient(self.likelihood, B, covariance).ravel()[self.used]
        value = point.value + np.linalg.slogdet(information)[1] / 2
        return Evaluated(value, point.value, slope + pull, pull, information)

    def _at_few(
        self, columns: np.ndarray, codes: np.ndarray, weights: np.ndarray, b: np.ndarray
    ) -> Evaluated:
        """Evaluate the objective of two classes for few rows, which are standardized."""
        value, slope, information, scores, curvature = logistic.two_class_terms(
            columns, codes, weights, b
        )
        nothing = np.zeros(len(b))
        if not self.penalized:
            return Evaluated(value, value, slope, nothing, information)
        inverse = inverse_of(information)
        if inverse is None:
            return Evaluated(-np.inf, value, nothing, nothing, information)
        pull = logistic.penalty_slope(columns, scores, curvature, inverse)
        log_det = np.linalg.slogdet(information)[1]
        return Evaluated(value + log_det / 2, value, slope + pull, pull, information)


def _few_rows(
    likelihood: Likelihood, used: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return the standardized columns of rows of two classes without offsets, their codes and
    weights, if they are one block.
    """
    batches = list(islice(likelihood.lanes.batches(), 2))
    if likelihood.q > 1 or len(batches) > 1 or batches[0].size > likelihood.terms.block_rows:
        return None
    if batches[0].offset is not None:
        return None
    ((_, Z),) = likelihood.terms.blocks(batches[0])
    return np.ascontiguousarray(Z[:, used].T), batches[0].y, batches[0].importance


def inverse_of(matrix: np.ndarray) -> np.ndarray | None:
    """Return the inverse of a positive definite matrix; None if numerically singular."""
    if not matrix.size:  # which older releases of scipy do not take
        return matrix.copy()
    if len(matrix) <= FEW:
        inverse, regular = logistic.inverse_of_few(matrix, PIVOT)
        return inverse if regular else None
    diagonal = matrix.diagonal()
    if not (diagonal.min() > 0.0 and diagonal.max() < np.inf):  # nor NaN
        return None
    roots = 1.0 / np.sqrt(diagonal)
    factor, failed = lapack.dpotrf(matrix * roots * roots[:, None], lower=1, clean=0)
    if failed or factor.diagonal().min() < PIVOT:
        return None
    with np.errstate(over="ignore"):
        inverse = lapack.dpotrs(factor, np.diag(roots), lower=1)[0] * roots[:, None]
    return inverse if np.isfinite(inverse).all() else None


def penalty_gradient(likelihood: Likelihood, B: np.ndarray, covariance: np.ndarray) -> np.ndarray:
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
            scores = likelihood.terms.scores(lane, start, Z, B)
            p = _probabilities(np.column_stack([scores, np.zeros(len(Z))]))[:, :q]
            # z' (block of classes k and l) z of every row, and its derivative by the scores
            H = np.empty((len(Z), q, q))
            for k in range(q):
                for m in range(k + 1):
                    H[:, k, m] = H[:, m, k] = ((Z @ blocks[k, :, m]) * Z).sum(axis=1)
            pull = _slopes_of_penalty(p, H)
            if lane.weights is not None:
                pull *= lane.weights[start : start + len(Z), None]
            found += pull.T @ Z
        return found

    return likelihood.sum(pull_of, add)


def _probabilities(scores: np.ndarray) -> np.ndarray:
    """Return the class probabilities of each row, without the checks of scipy's softmax."""
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def _slopes_of_penalty(p: np.ndarray, H: np.ndarray) -> np.ndarray:
    """Return half the derivative of ln |I| by the scores of each row, divided by its weight.

    The sum of the third cumulants of the classes times H; for two classes p (1 - p) h (1/2 - p).
    """
    if p.shape[1] == 1:
        own = H[:, :, 0]
        Hp = own * p
        return p * (own - 2 * Hp - p * own + 2 * (p * Hp)) / 2
    own = np.einsum("nkk->nk", H)
    Hp = np.einsum("nkl,nl->nk", H, p)
    both = (p * Hp).sum(axis=1, keepdims=True)
    return p * (own - 2 * Hp - (p * own).sum(axis=1, keepdims=True) + 2 * both) / 2


def maximized(
    objective: Objective, start: np.ndarray, free: np.ndarray | None = None, *,
    known: Evaluated | None = None, bend: np.ndarray | None = None, enough: float = LEAST_GAIN,
    tol: float = np.inf, max_iter: int = 500, report: Report = no_report,
) -> Maximum:  # fmt: skip
    """Maximize an objective.

    Newton's method with step halving. The Hessian of the likelihood is the information; the
    penalty's is approximated from changes of its gradient (symmetric rank-one updates; A. Conn, N.
    Gould and P. Toint, Mathematical Programming 50, 1991).

    Parameters
    ----------
    objective : Objective
    start : array of shape (weights,)
    free : array of shape (weights, free directions) or None
        Orthonormal basis of the allowed directions; None allows all.
    known : Evaluated or None, at ``start``
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
    objective: Objective, b: np.ndarray, known: Evaluated, step: np.ndarray
) -> tuple[np.ndarray, Evaluated] | None:
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
    if size * size <= NOISE * NOISE * float(error @ error) * float(moved @ moved):
        return bend
    return bend + error[:, None] * (error / size)


#: largest last step toward an end, as a share of the half-width of Wald's interval; its error is
#: about the square
CLOSE = 1e-5
#: largest gain of the last step of a constrained maximization
PROFILE_GAIN = 1e-11
MOST_POINTS = 100
#: factor by which squared lengths of Newton steps to an end shrink at least, and of the last step,
#: in standard errors
SHRINKS, LAST_LENGTH = 4.0, 1e-12
#: largest factor by which the distance from the estimate grows per step
FARTHER = 4.0
#: an end further away than this, in half-widths of Wald's interval, is infinite: a plain likelihood
#: falls ever faster or not at all
FARTHEST = 1e6
#: most rows and weights of a small fit, where Firth's likelihood may have several local maxima with
#: one weight fixed
SMALL_ROWS, SMALL_SIZE = 500, 16
#: a loss lower by this is of another maximum, the gain of the last step to one, how often the
#: search continues, and from how many other points
OTHER_BRANCH, BRANCH_GAIN, MOST_BRANCHES, MOST_STARTS = 1e-4, 1e-6, 20, 8
#: log-likelihood below the maximum at which other starting weights are tried
FAR = 50.0


class Interval(NamedTuple):
    """Profile interval and test of a weight.

    Attributes
    ----------
    low, high : float, ends of the interval, -inf or inf if the profile does not fall enough, NaN if
        rounding hides them or they are not bracketed
    p : float, p-value of the hypothesis that the weight is zero
    """

    low: float
    high: float
    p: float


class ProfilePoint(NamedTuple):
    """A value, twice the loss of log-likelihood there, its derivative, and the maximum."""

    value: float
    loss: float
    slope: float
    top: Maximum


class Profile:
    """The profile of one linear function of the weights.

    Parameters
    ----------
    objective : Objective
    top : Maximum over all weights; if there is none, weights near the supremum
    of : array of shape (weights,), the coefficients of the function
    supremum : float, the largest log-likelihood; default: the one of ``top``
    """

    def __init__(
        self, objective: Objective, top: Maximum, of: np.ndarray, supremum: float | None = None
    ):
        self.objective, self.top, self.of = objective, top, of
        self.supremum = top.value if supremum is None else supremum
        self.free = _orthogonal(of)
        inverse = inverse_of(top.known.information)
        self.tangent = of if inverse is None else inverse @ of
        self.error = 0.0 if inverse is None else float(np.sqrt(of @ self.tangent))

    def at(self, value: float, near: Maximum) -> ProfilePoint:
        """Return the profile at a value, maximized starting from ``near``."""
        aside, start = value - self.of @ near.b, near.b
        start = start + aside / (self.of @ self.tangent) * self.tangent
        known = self.objective.at(start)
        if not known.value > self.supremum - FAR:
            plain = near.b + aside / (self.of @ self.of) * self.of
            starts = [start, plain, value / (self.of @ self.of) * self.of]
            all_known = [known, *map(self.objective.at, starts[1:])]
            best = int(np.argmax([known.value for known in all_known]))
            start, known = starts[best], all_known[best]
        top = maximized(
            self.objective,
            start,
            self.free,
            known=known,
            bend=near.bend,
            enough=PROFILE_GAIN,
        )
        return self._point(value, top)

    def _point(self, value: float, top: Maximum) -> ProfilePoint:
        loss = max(0.0, 2.0 * (self.supremum - top.value))
        slope = -2.0 * float(self.of @ top.known.slope) / float(self.of @ self.of)
        return ProfilePoint(value, loss, slope, top)

    def interval(self, level: float, runs: str = "") -> Interval:
        """Return the interval and the test.

        Parameters
        ----------
        level : float between 0 and 1
        runs : "+inf", "-inf" or "infinite" (to both sides) if the estimate of the function
            diverges, else empty
        """
        high = float(chdtri(1, 1.0 - level))
        if runs == "infinite":  # the supremum is reached at every value
            return Interval(-np.inf, np.inf, 1.0)
        zero, unit = self.at(0.0, self.top), float(np.linalg.norm(self.of))
        p = float(chdtrc(1, zero.loss))
        if runs == "+inf":
            return Interval(self._end(zero, -1.0, unit, high), np.inf, p)
        if runs == "-inf":
            return Interval(-np.inf, self._end(zero, 1.0, unit, high), p)
        middle = ProfilePoint(float(self.of @ self.top.b), 0.0, 0.0, self.top)
        stride = self.error * np.sqrt(high) or unit
        low, top = (
            self._newton_end(side, high) or self._end(middle, side, stride, high)
            for side in (-1.0, 1.0)
        )
        if self.objective.penalized and self.objective.is_small:
            low, top = self._beyond(low, -1.0, stride, high), self._beyond(top, 1.0, stride, high)
        return Interval(low, top, p)

    def _beyond(self, end: float, side: float, stride: float, high: float) -> float:
        """Return an end beyond which other maxima of the penalized likelihood lose more, too.

        It is not concave: with one weight fixed it may have several local maxima, and the one that
        the search followed from the estimate need not be the largest. The maximization is repeated
        from both sides and from other points; the search continues from a larger maximum.
        """
        for _ in range(MOST_BRANCHES):
            if not np.isfinite(end):
                return end
            outside = self.at(end + side * stride, self.top).top
            found = [self.at(end, near).top for near in (self.top, outside)]
            for start in self._starts(end):
                found.append(maximized(self.objective, start, self.free, enough=BRANCH_GAIN))
            point = self._point(end, max(found, key=lambda top: top.value))
            if not point.loss < high - OTHER_BRANCH:
                return end
            end = self._end(point, side, stride, high)
        return np.nan

    def _starts(self, value: float) -> list[np.ndarray]:
        """Return weights where the function has a value, the most likely of: multiples of the
        estimate and of the function, and the latter with half, once and four times as much added in
        each other direction.
        """
        b, shortest = self.top.b, self.of * (value / float(self.of @ self.of))
        aside = np.ascontiguousarray(self.free.T) * max(float(np.linalg.norm(shortest)), 1.0)
        at = float(self.of @ b)
        scaled = b * (value / at) if at else shortest
        some = [shortest + by * aside for by in (0.5, 1.0, 4.0, -0.5, -1.0, -4.0)]
        starts = [scaled, shortest, *np.concatenate(some)]
        return sorted(starts, key=lambda start: -self.objective.at(start).value)[:MOST_STARTS]

    def _newton_end(self, side: float, high: float) -> float | None:
        """Return the value on one side of the estimate where twice the loss is ``high``; None if
        Newton's method does not find it at once.

        A step is to the point where a quadratic model of the objective has that loss and is
        greatest among points of its value (Venzon and Moolgavkar 1988): the Newton step less a
        multiple of the information's inverse times the function.
        """
        b, known, bend, length = self.top.b, self.top.known, self.top.bend, np.inf
        while True:
            inverse = inverse_of(known.information + bend)
            if inverse is None:  # what is known of the penalty's curvature is noise
                bend, inverse = np.zeros_like(bend), inverse_of(known.information)
            if inverse is None:
                return None
            newton, tangent = inverse @ known.slope, inverse @ self.of
            size, gain = float(self.of @ tangent), float(known.slope @ newton)
            over = 2.0 * (known.value - self.supremum) + high + gain
            if not over > 0.0:
                return None
            by = side * np.sqrt(over / size)
            step = newton + by * tangent
            before, length = length, gain + by * (2.0 * float(self.of @ newton) + by * size)
            if not length < before / SHRINKS:
                return None
            b = b + step
            if length <= LAST_LENGTH:
                return float(self.of @ b)
            there = self.objective.at(b)
            bend, known = _updated(bend, step, known.pull - there.pull), there

    def _end(self, start: ProfilePoint, side: float, stride: float, high: float) -> float:
        """Return the value on one side of the estimate where twice the loss is ``high``.

        Uses Newton's method on the square root of the loss, which is nearly linear, bracketed by
        points with smaller and larger loss.
        """
        inner, outer = (start, None) if start.loss < high else (None, start)
        value = start.value + (side if outer is None else -side) * stride
        for _ in range(MOST_POINTS):
            point = self.at(value, (inner or start).top)
            inner, outer = (point, outer) if point.loss < high else (inner, point)
            flat = high - point.loss > side * point.slope * FARTHEST * stride
            if outer is None and flat and not self.objective.penalized:
                return side * np.inf
            before, value = value, self._next(point, start, inner, outer, high)
            if abs(value - before) <= CLOSE * stride:
                return value
        return np.nan

    def _next(
        self, point: ProfilePoint, start: ProfilePoint, inner: ProfilePoint | None,
        outer: ProfilePoint | None, high: float,
    ) -> float:  # fmt: skip
        """Return the next value: by a Newton step, by bisection, or further out."""
        root = np.sqrt(point.loss)
        with np.errstate(all="ignore"):
            value = point.value + (np.sqrt(high) - root) * 2.0 * root / point.slope
        if inner is not None and outer is not None:
            low, top = sorted((inner.value, outer.value))
            return float(value) if low < value < top else (low + top) / 2.0
        away = point.value - start.value
        farther = float(np.clip((value - start.value) / away, 1.5, FARTHER))
        return start.value + away * (FARTHER if np.isnan(farther) else farther)


def _orthogonal(of: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of a vector's orthogonal complement (Householder reflection)."""
    u = of / np.linalg.norm(of)
    u[0] += 1.0 if u[0] >= 0 else -1.0
    return (np.eye(len(of)) - 2.0 / (u @ u) * np.outer(u, u))[:, 1:]


#: values of ``limits`` for weights without finite estimate
RUNAWAY = ("+inf", "-inf", "infinite")


def _opened(task: Task, penalized: bool) -> tuple[Objective, Standardization, np.ndarray]:
    """Return the objective of a task, the standardization, and the matrix that converts weights to
    the raw features.
    """
    sample, whole = sampled(task.batches, max(20_000, 20 * task.q * task.width))
    form = task.n_features, task.intercept
    how = standardization(sample, task.batches, whole, *form, True)
    terms = Terms(task.q, how.centers, how.scales, task.intercept)
    likelihood = Likelihood(lanes_as(task, how), terms, journal=task.journal)
    used = np.append(how.scales > 0.0, [True] * task.intercept)
    objective = Objective(likelihood, used, penalized)
    return objective, how, np.kron(np.eye(task.q), how.matrix(task.intercept))[:, objective.used]


def firth_fitted(task: Task, level: float | None, steps: Steps) -> FitOutcome:
    """Maximize Firth's penalized likelihood.

    Parameters
    ----------
    task : Task, with rows in memory and few enough weights for a Hessian
    level : of the profile intervals, None for none
    steps : Steps; ``finished`` becomes the fit without intervals
    """
    objective, how, raw = _opened(task, penalized=True)
    flat, tol = _begun(task, objective), task.tol * float(task.totals.sum())
    report = steps.of(
        lambda b: (raw @ b).reshape(task.q, task.width), how.dependent,
        lambda b: how.around(objective.wide(b)),
    )  # fmt: skip
    top = maximized(objective, flat, tol=tol, max_iter=task.max_iter, report=report)
    constant = objective.used % task.width == task.n_features
    none = maximized(objective, flat * constant, np.eye(objective.size)[:, constant])
    inverse = inverse_of(top.known.information)
    shape = task.q, task.width
    covariance = np.full(2 * (len(raw),), np.nan) if inverse is None else raw @ inverse @ raw.T
    found = FitOutcome(
        (raw @ top.b).reshape(shape), limits_without(how.dependent, shape),
        top.known.log_likelihood, covariance, top.reason, top.n_iter,
        gained=2.0 * (top.value - none.value), around=how.around(objective.wide(top.b)),
    )  # fmt: skip
    if level is None:
        return found
    steps.finished = found
    if top.reason == "converged":
        _profile(objective, top, raw, level, np.full(shape, ""), steps)
    return replace(found, intervals={level: ends_of(steps, shape)})


def _begun(task: Task, objective: Objective) -> np.ndarray:
    """Return the weights of the model without features, where the maximization begins."""
    start = np.zeros((task.q, task.width))
    if task.intercept:
        start[:, -1] = task.null.intercepts
    return start.ravel()[objective.used]


def held_at_zero(task: Task, terms: list[list[int]]) -> FirthTests:
    """Return the maximum of Firth's likelihood, and its maxima with all coefficients of some
    features held at zero.

    Parameters
    ----------
    task : as for :func:`firth_fitted`
    terms : lists of features
    """
    objective, _, raw = _opened(task, penalized=True)
    begun, tol = _begun(task, objective), task.tol * float(task.totals.sum())
    top, found = maximized(objective, begun, tol=tol, max_iter=task.max_iter), []
    for features in terms:
        places = np.arange(task.q)[:, None] * task.width + np.array(features)
        held = raw[places.ravel()]
        held = held[held.any(axis=1)]  # without features that are left out
        if not len(held):
            found.append((top.value, 0))
            continue
        free = null_space(held / np.linalg.norm(held, axis=1, keepdims=True))
        starts = [free @ (free.T @ b) for b in (top.b, begun)]
        known = [objective.at(b) for b in starts]
        best = int(np.argmax([one.value for one in known]))
        end = maximized(
            objective, starts[best], free, known=known[best], bend=top.bend, tol=tol,
            max_iter=task.max_iter,
        )  # fmt: skip
        reached = "converged" in (top.reason, end.reason) and top.reason == end.reason
        found.append((end.value if reached else np.nan, len(held)))
    return FirthTests(task.n_rows, top.known.log_likelihood, top.value, found)


def scored(model: Any, near: Any, task: Task, known: FittedClasses) -> Scored:
    """Return Rao's score statistic of the weights of a model, with zeros for the features that a
    task has beyond its own; ``near`` has its scores around a center, or is None.
    """
    objective, how, _ = _opened(task, penalized=False)
    d, weights = model.coef_.shape[1], np.zeros((task.q, task.width))
    weights[:, :d] = model.coef_[known.fitted]
    if task.intercept:
        weights[:, -1] = model.intercept_[known.fitted]
    around = None
    if near is not None:
        around = np.pad(near.wide, (0, task.n_features - d)), near.at[known.fitted]
    there = objective.at(how.standard(weights, task.intercept, around).ravel()[objective.used])
    inverse = inverse_of(there.information)
    if inverse is None:
        raise DataError(
            "The information of the larger model is singular at the estimates, so the score test "
            "is not defined: leave out columns that are nearly linear combinations of others.",
            code="no-estimate",
        )
    statistic = float(there.slope @ inverse @ there.slope)
    return Scored(task.n_rows, there.log_likelihood, statistic, objective.size)


def profiled(
    task: Task, weights: np.ndarray, limits: np.ndarray, log_likelihood: float, level: float,
    steps: Steps, around: Around = None,
) -> Ends:  # fmt: skip
    """Return profile intervals and tests of every weight, of the plain likelihood.

    Parameters
    ----------
    task : as for :func:`firth_fitted`
    weights : array of shape (q, width)
        At the maximum; without a maximum, the weights of a very small ridge.
    limits : array of str of that shape, the limit of each weight
    log_likelihood : float, the maximum or the supremum
    level : of the intervals
    steps : Steps
    around : a point and the scores there, if they are known
    """
    objective, how, raw = _opened(task, penalized=False)
    flat = how.standard(weights, task.intercept, around).ravel()[objective.used]
    if np.isin(limits, RUNAWAY).any():
        known = objective.at(flat)._replace(value=log_likelihood)
        top = Maximum(flat, known, np.zeros(2 * (len(flat),)), "converged", 0)
    else:
        top = maximized(objective, flat, tol=task.tol * float(task.totals.sum()))
    _profile(objective, top, raw, level, limits, steps)
    return ends_of(steps, limits.shape)


def _profile(
    objective: Objective, top: Maximum, raw: np.ndarray, level: float, limits: np.ndarray,
    steps: Steps,
) -> None:  # fmt: skip
    """Compute the intervals of all weights, one after another; NaN for those left out."""
    found = steps.intervals
    for of, limit in zip(raw, limits.ravel().tolist(), strict=True):
        if not of.any():
            found.append(Interval(np.nan, np.nan, np.nan))
            continue
        runs = limit if limit in RUNAWAY else ""
        found.append(Profile(objective, top, of).interval(level, runs))


#: reasons of fits that reached a maximum, or the limit of a likelihood without one
FINISHED = ("converged", "separable", "quasi-separable")


def _in_memory(model: Any, task: Task, rows: Rows | BatchRows) -> Task:
    """Return the task with its rows in memory; raise ParameterError if they do not fit."""
    kept = rows.in_memory(task) if task.factored else None
    if kept is None:
        what = "Firth's penalized likelihood is" if model.penalty else "Profile intervals are"
        instead = (
            hint("use {} instead", l2=None) if model.penalty else hint("use {}", intervals="wald")
        )
        raise ParameterError(
            f"{what} for rows that fit in memory and at most {MOST_WEIGHTS:,} weights; this fit "
            f"has {task.n_rows:,} rows and {task.q * task.width:,} weights",
            instead,
            code="too-large",
        )
    return task if kept is rows else kept.task(model)


def by_firth(model: Any, task: Task, rows: Rows | BatchRows, steps: Steps) -> FitOutcome:
    """Maximize Firth's penalized likelihood, which always has a maximum."""
    profiles = model.intervals in (None, "profile")
    return firth_fitted(_in_memory(model, task, rows), model.level if profiles else None, steps)


def with_profiles(
    model: Any, task: Task, rows: Rows | BatchRows, found: FitOutcome, steps: Steps
) -> FitOutcome:
    """Add profile intervals and tests to an outcome, NaN if the fit did not end at a maximum."""
    steps.finished = found
    known = _in_memory(model, task, rows)
    ends = tuple(np.full(found.weights.shape, np.nan) for _ in range(3))
    if found.reason in FINISHED and found.at_limit:
        ends = profiled(
            known, found.weights, found.limits, found.log_likelihood, model.level, steps,
            found.around,
        )  # fmt: skip
    return replace(found, intervals={model.level: ends})
