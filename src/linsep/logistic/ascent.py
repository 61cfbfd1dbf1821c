"""Maximize a log-likelihood: Newton's method, by a Cholesky factor or conjugate gradients, and
L-BFGS. All maximize value(B) - penalty(B) in standardized features.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sla

from linsep.logistic.existence import examined, one_sided
from linsep.logistic.likelihood import Likelihood, Point
from linsep.logistic.outcomes import Report, no_report


class Penalty(NamedTuple):
    """L2 penalty: half the weighted squared norm of the weights.

    With several classes the weights of all classes, shifted to sum to zero, are penalized, so that
    the choice of the reference does not matter.

    Attributes
    ----------
    factors : array of shape (width,), factors of the squared weights
    share : 1 / classes for several classes, 0 for two
    levels : arrays of column numbers, of equal factors each
        Columns of the levels of a text column but one: the weights of all levels, shifted to sum to
        zero, are penalized, so that the choice of the reference level does not matter.
    """

    factors: np.ndarray
    share: float
    levels: tuple[np.ndarray, ...] = ()

    def times(self, B: np.ndarray) -> np.ndarray:
        """Return the gradient at B."""
        found = self.factors * (B - self.share * B.sum(axis=0))
        for of in self.levels:
            found[:, of] -= found[:, of].sum(axis=1, keepdims=True) / (len(of) + 1)
        return found

    def value(self, B: np.ndarray) -> float:
        """Return the penalty of B."""
        return 0.5 * float((B * self.times(B)).sum())

    def matrix(self, q: int) -> np.ndarray:
        """Return the Hessian."""
        of_class = np.diag(self.factors)
        for of in self.levels:
            of_class[np.ix_(of, of)] -= self.factors[of] / (len(of) + 1)
        return np.kron(np.eye(q) - self.share, of_class)

    def diagonal(self, q: int) -> np.ndarray:
        """Return the diagonal of the Hessian, in the shape of the weights."""
        of_class = self.factors * (1.0 - self.share)
        for of in self.levels:
            of_class[of] *= len(of) / (len(of) + 1)
        return np.tile(of_class, (q, 1))


Inverse = Callable[[np.ndarray], np.ndarray]


class Root(NamedTuple):
    """Functions that multiply gradients by the inverse of A' and steps by the inverse of A, where
    A' A approximates the Hessian.
    """

    down: Inverse
    up: Inverse


#: most values in the factors of all classes; with more weights only the diagonal is used
MOST_VALUES = 1 << 24
#: rows per feature to estimate correlations from, fewest, and their shrinkage factor
ROWS_A_FEATURE, LEAST_A_FEATURE, BELIEVED = 6, 2, 0.97


class Preconditioner:
    """Block-diagonal preconditioner with a block per class: feature correlations of a sample with
    the exact diagonal; with too many weights, or too few rows, only the diagonal.

    For several classes the reference has a block as well: with weights of all classes that add up
    to zero, the Hessian is nearer to its blocks than with differences from a reference.

    Parameters
    ----------
    likelihood : Likelihood
    penalty : Penalty
    """

    def __init__(self, likelihood: Likelihood, penalty: Penalty):
        self.likelihood, self.penalty = likelihood, penalty
        self.correlations: np.ndarray | None = None
        self._inverses: np.ndarray | None = None
        width = likelihood.width
        enough = likelihood.first_rows() >= LEAST_A_FEATURE * width
        if enough and 1 < likelihood.q * width**2 <= MOST_VALUES:
            moments = likelihood.moments(ROWS_A_FEATURE * width)
            roots = np.sqrt(np.diag(moments))
            roots[roots == 0.0] = 1.0
            self.correlations = BELIEVED * moments / roots / roots[:, None]
            self.correlations[np.diag_indices(width)] = 1.0

    def at(self, point: Point, anew: bool = True) -> tuple[Inverse, float]:
        """Return the inverse at a point, and the largest diagonal entry; unless ``anew``, with the
        correlations within blocks of the point before.
        """
        q = self.likelihood.q
        classes = q if q == 1 else q + 1
        blocks, diagonal = self._blocks(point, classes, np.float32)
        most = float(diagonal.max(initial=0.0))
        if blocks is None:
            self._inverses = None
        elif anew or self._inverses is None:
            self._inverses = np.array([_inverse(block) for block in blocks])
        of_each = _scaled_inverse(self._inverses, diagonal)
        if q == 1:
            return of_each, most

        def times(slope: np.ndarray) -> np.ndarray:
            found = of_each(np.vstack([slope, -slope.sum(axis=0)]))
            return found[:-1] - found[-1]

        return times, most

    def root(self, point: Point) -> Root:
        """Return the inverse in two factors."""
        blocks, diagonal = self._blocks(point, self.likelihood.q, np.float64)
        roots = 1.0 / np.sqrt(diagonal)
        if blocks is None:
            return Root(lambda slope: roots * slope, lambda step: roots * step)
        factors = [sla.cholesky(block, lower=True, check_finite=False) for block in blocks]

        def half(slope: np.ndarray, trans: str) -> np.ndarray:
            pairs = zip(factors, slope, strict=True)
            how: dict[str, Any] = {"lower": True, "trans": trans, "check_finite": False}
            return np.array([sla.solve_triangular(f, s, **how) for f, s in pairs])

        return Root(lambda slope: half(roots * slope, "N"), lambda step: roots * half(step, "T"))

    def _blocks(
        self, point: Point, classes: int, dtype: Any
    ) -> tuple[Iterator[np.ndarray] | None, np.ndarray]:
        """Return a block for each class, if any, scaled to a unit diagonal, and the diagonal of the
        Hessian; ``classes`` counts the reference if its block is wanted.
        """
        counted = self.likelihood.diagonal(point)[:classes]
        penalty = self.penalty
        if classes > self.likelihood.q:  # the weights of all classes add up to zero
            penalty = penalty._replace(share=0.0)
        diagonal = counted + penalty.diagonal(classes)
        most = float(diagonal.max(initial=0.0))
        correlations = self.correlations
        if correlations is None or not (diagonal > 1e-12 * most).all():
            return None, np.maximum(diagonal, 1e-12 * max(most, 1e-288))
        shares = np.sqrt(counted / diagonal)

        def block(own: np.ndarray) -> np.ndarray:
            found = (correlations * own * own[:, None]).astype(dtype)
            found[np.diag_indices(len(own))] = 1.0
            return found

        return map(block, shares), diagonal


def _scaled_inverse(inverses: np.ndarray | None, diagonal: np.ndarray) -> Inverse:
    """Return the inverse of a matrix from the inverses of its blocks, scaled to a unit diagonal, or
    from the diagonal.
    """
    if inverses is None:
        inverse = 1.0 / diagonal
        return lambda slope: inverse * slope
    scale = 1.0 / np.sqrt(diagonal)

    def times(slope: np.ndarray) -> np.ndarray:
        short = (slope * scale).astype(np.float32)
        return np.matmul(inverses, short[:, :, None])[:, :, 0] * scale

    return times


def _inverse(block: np.ndarray) -> np.ndarray:
    """Return the inverse of a symmetric matrix of single precision, well conditioned."""
    factor, failed = sla.lapack.spotrf(block, lower=1, overwrite_a=1)
    if failed:
        return np.eye(len(block), dtype=np.float32)
    half, _ = sla.lapack.spotri(factor, lower=1, overwrite_c=1)
    return np.tril(half) + np.tril(half, -1).T


#: consecutive steps that shrink more slowly than Newton steps near a maximum, which cause a check
SLOW = 3
#: steps of L-BFGS between two updates of the preconditioner
ANEW = 30
VALUE_ONLY = {"hessian": False}
#: most products with the Hessian for a step by conjugate gradients, and the number up to which the
#: next step has the same blocks
MOST_PRODUCTS, ENOUGH_PRODUCTS = 200, 10
#: values of a Hessian from which on the line search begins without it
MOST_AT_ONCE = 1 << 16
#: factors of the step in the line search
PARTS = (*(0.5**k for k in range(5)), *(0.5**k for k in range(8, 200, 4)))
#: distance left by a step, as a share of the tolerance, at which conjugate gradients may stop
ENOUGH = 0.01
#: smallest acceptable diagonal entry of a Cholesky factor; values then added to the diagonal, in
#: turn
LEAST_PIVOT = 1e-7
DAMPINGS = (1e-13, 1e-10, 1e-7, 1e-4, 1.0)
#: relative rounding error of a log-likelihood
ROUNDING = 1e-13


class Goal(NamedTuple):
    """Stopping criteria of an ascent.

    Attributes
    ----------
    rows : float
        The number of rows with weight, divided by their total weight.
    tol : float
        Distance to the maximum, in standard errors, from which the last step may begin.
    max_iter : int
    factored : bool
        Whether there are few enough weights for a Hessian.
    prove : bool
        Whether the existence of a maximum has to be proved.
    penalized : bool
        Whether a penalty makes the Hessian regular.
    only : bool
        Whether to stop once existence is proved.
    """

    rows: float
    tol: float
    max_iter: int
    factored: bool
    prove: bool
    penalized: bool = False
    only: bool = False

    def distance(self, gain: float) -> float:
        """Return the length of a Newton step in standard errors, given the step times the gradient.

        This is the Newton decrement, the square root of that product (Boyd and Vandenberghe, Convex
        Optimization, 2004, section 9.5): no linear combination of the weights moves by more of its
        standard errors. Row weights are scaled to mean 1.
        """
        return float(np.sqrt(max(gain, 0.0) * self.rows))


class Ascent(NamedTuple):
    """Result of an ascent.

    Attributes
    ----------
    B : array of shape (weight rows, width)
    value : the log-likelihood at B, without the penalty
    information : the negative Hessian of the objective, at B or just before the last step
    n_iter : int, number of steps
    reason : "converged", "max_iter", "stuck", or "suspect": stopped since a maximum may not exist
    distance : to the maximum from where the last step began, in standard errors; NaN if unknown
    proved, suspect : bool, whether a maximum is proved to exist; whether it may not exist
    """

    B: np.ndarray
    value: float
    information: np.ndarray | None
    n_iter: int
    reason: str
    distance: float
    proved: bool
    suspect: bool = False


class _Watch:
    """Decides after every Newton step whether to stop.

    If there is a maximum, the steps converge quadratically, and one of them proves it. If there is
    none, each step moves the scores of the separated rows by one and the possible gain falls by the
    factor e: such a fit is suspect if no row moves back.
    """

    def __init__(self, likelihood: Likelihood, goal: Goal):
        self.likelihood, self.goal = likelihood, goal
        self.gains: list[float] = []
        self.proved, self.distance = not goal.prove, float("nan")

    def reason(self, point: Point, step: np.ndarray, slope: np.ndarray) -> str:
        """Return the reason to stop with this step, or an empty string to continue."""
        self.gains.append(float((step * slope).sum()))
        self.distance = self.goal.distance(self.gains[-1])
        small, slow = self._small(point.value), self._slow()
        if point.hessian is None:  # nothing can be proved
            suspect = self.goal.prove and slow and one_sided(self.likelihood.moves(step))
        elif not self.proved and (small or slow or self.goal.only):
            self.proved, seems_none = examined(self.likelihood, point, step)
            suspect = not self.proved and (small or (slow and seems_none))
        else:
            suspect = False
        if suspect:
            return "suspect"
        return "converged" if small or (self.proved and self.goal.only) else ""

    def _small(self, value: float) -> bool:
        """Return whether the step is small enough, or steps no longer shrink and gain less than the
        rounding error of the value.
        """
        gain, before = self.gains[-1], ([np.nan, *self.gains])[-2]
        lost = 0.25 * before < gain <= ROUNDING * max(1.0, -value)
        return self.distance <= self.goal.tol or bool(lost)

    def _slow(self) -> bool:
        """Return whether the last steps shrink as slowly as if there were no maximum."""
        last = self.gains[-SLOW - 1 :]
        pairs = zip(last[1:], last[:-1], strict=True)
        return len(last) > SLOW and last[0] < 1.0 and all(b > 0.1 * a for a, b in pairs)


def newton(
    likelihood: Likelihood, penalty: Penalty, start: np.ndarray, goal: Goal,
    report: Report = no_report,
) -> Ascent:  # fmt: skip
    """Maximize by Newton's method with a Cholesky factor and step halving.

    The last step is taken even if it is tiny.
    """
    B, watch, curvature = start, _Watch(likelihood, goal), penalty.matrix(likelihood.q)
    point = likelihood.at(B)
    for n_iter in range(1, goal.max_iter + 1):
        slope = point.gradient - penalty.times(B)
        H = point.hessian + curvature
        step, sure = solved(H, slope)
        reason = watch.reason(point, step, slope)
        known = B, point.value, H, n_iter, reason, watch.distance, watch.proved
        if reason == "suspect" or (reason and goal.only):
            first = goal.distance(watch.gains[0]) if goal.only else watch.distance
            found = Ascent(*known, suspect=reason == "suspect")
            return found._replace(distance=first, n_iter=n_iter - 1)
        if reason:
            gain = 0.5 * watch.gains[-1] + penalty.value(B + step) - penalty.value(B)
            reason = reason if sure or goal.penalized else "stuck"
            report(B + step, point.value + gain, watch.distance)
            return Ascent(*known)._replace(B=B + step, value=point.value + gain, reason=reason)
        better = _searched(likelihood, penalty, B, point, step)
        if better is None:  # only rounding errors are left
            lost = watch.gains[-1] <= ROUNDING * max(1.0, -point.value)
            return Ascent(*known)._replace(reason="converged" if lost else "stuck")
        B, point = better
        report(B, point.value, watch.distance)
    return Ascent(B, point.value, point.hessian, goal.max_iter, "max_iter", watch.distance,
                  watch.proved)  # fmt: skip


def solved(H: np.ndarray, slope: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return the Newton step, and whether H is numerically positive definite."""
    factor, roots, sure = damped(H)
    step, _ = sla.lapack.dpotrs(factor, roots * slope.ravel(), lower=1)
    return (roots * step).reshape(slope.shape), sure


def damped(H: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return a Cholesky factor of H scaled to a unit diagonal, the scale, and whether H is
    numerically positive definite.

    If it is not, its diagonal is increased until it is (Levenberg 1944).
    """
    diagonal = H.diagonal()
    roots = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = H * roots * roots[:, None]
    for more in (0.0, *DAMPINGS):
        factor, failed = sla.lapack.dpotrf(
            scaled + more * np.eye(len(H)) if more else scaled, lower=1
        )
        if not failed and factor.diagonal().min(initial=1.0) > LEAST_PIVOT:
            break
    return factor, roots, not more


def _searched(
    likelihood: Likelihood, penalty: Penalty, B: np.ndarray, point: Point, step: np.ndarray
) -> tuple[np.ndarray, Point] | None:
    """Return the first shortened step that does not decrease the objective, and its point."""
    before = point.value - penalty.value(B)
    slack = ROUNDING * max(1.0, abs(before))
    needs = {"hessian": point.shares is None, "shares": point.shares is not None}
    slow = point.hessian is not None and point.hessian.size > MOST_AT_ONCE
    for part in PARTS:
        moved = B + part * step
        # A whole step is nearly always taken; of shorter ones, or of those with a Hessian that is
        # slow to sum, first the value, which costs less.
        at_once = part == 1.0 and not slow
        there = likelihood.at(moved, **(needs if at_once else VALUE_ONLY))
        if there.value - penalty.value(moved) >= before - slack:
            return moved, there if at_once else likelihood.at(moved, **needs)
    return None


def lbfgs(
    likelihood: Likelihood, penalty: Penalty, start: np.ndarray, goal: Goal,
    report: Report = no_report,
) -> Ascent:  # fmt: skip
    """Maximize by preconditioned L-BFGS (Byrd, Lu, Nocedal and Zhu 1995, scipy's): in coordinates
    in which the Hessian, updated now and then, is nearly the unit matrix.
    """
    preconditioner = None if goal.factored else Preconditioner(likelihood, penalty)
    B, n_iter, proved = start, 0, not goal.prove
    while True:
        point = likelihood.at(B, hessian=goal.factored, shares=not goal.factored)
        H = None if point.hessian is None else point.hessian + penalty.matrix(likelihood.q)
        root = preconditioner.root(point) if preconditioner else rooted(H, likelihood.shape)
        slope = point.gradient - penalty.times(B)
        down = root.down(slope)
        gain = float((down**2).sum())
        lost = gain <= ROUNDING * max(1.0, -point.value)
        distance = goal.distance(gain)
        suspect = False
        if not proved and n_iter and H is not None:
            proved, suspect = examined(likelihood, point, root.up(down))
        elif not proved and n_iter:  # all rows on the right side: no maximum
            suspect = likelihood.moves(B).backward <= 0.0
        known = B, point.value, H, n_iter
        if distance <= goal.tol or lost or suspect or n_iter >= goal.max_iter:
            reason = "suspect" if suspect else "converged" if n_iter < goal.max_iter else "max_iter"
            return Ascent(*known, reason, distance, proved, suspect)
        few = goal._replace(max_iter=min(ANEW, goal.max_iter - n_iter))
        B, more = _quasi_newton(likelihood, penalty, B, root, few, report)
        if not more:
            return Ascent(*known, "stuck", distance, proved)
        n_iter += more


def rooted(H: np.ndarray | None, shape: tuple[int, int]) -> Root:
    """Return the two factors of a Hessian."""
    assert H is not None
    factor, roots, _ = damped(H)

    def down(slope: np.ndarray) -> np.ndarray:
        found = sla.solve_triangular(factor, roots * slope.ravel(), lower=True, check_finite=False)
        return found.reshape(shape)

    def up(step: np.ndarray) -> np.ndarray:
        found = sla.solve_triangular(factor, step.ravel(), lower=True, trans="T")
        return (roots * found).reshape(shape)

    return Root(down, up)


def _quasi_newton(
    likelihood: Likelihood, penalty: Penalty, start: np.ndarray, root: Root, goal: Goal,
    report: Report,
) -> tuple[np.ndarray, int]:  # fmt: skip
    """Return the weights after steps of L-BFGS, and the number of steps."""
    from scipy.optimize import minimize  # slow to import, and other methods do without it

    last = [0.0, 0.0]

    def weights(flat: np.ndarray) -> np.ndarray:
        return start + root.up(flat.reshape(start.shape))

    def negative(flat: np.ndarray) -> tuple[float, np.ndarray]:
        B = weights(flat)
        point = likelihood.at(B, hessian=False)
        down = root.down(point.gradient - penalty.times(B)).ravel()
        last[:] = float(down @ down), point.value
        return penalty.value(B) - point.value, -down

    def enough(intermediate_result: Any) -> None:
        gain, value = last
        report(weights(intermediate_result.x), value, goal.distance(gain))
        if goal.distance(4.0 * gain) <= goal.tol or gain <= 0.25 * ROUNDING * max(1.0, -value):
            raise StopIteration

    options = {"maxiter": goal.max_iter, "maxfun": 20 * goal.max_iter, "gtol": 0.0, "ftol": 0.0}
    found = minimize(
        negative, np.zeros(start.size), jac=True, method="L-BFGS-B", options=options,
        callback=enough,
    )  # fmt: skip
    return weights(found.x), int(found.nit)


def newton_cg(
    likelihood: Likelihood, penalty: Penalty, start: np.ndarray, goal: Goal,
    report: Report = no_report, else_stuck: bool = False,
) -> Ascent:  # fmt: skip
    """Maximize by Newton's method with conjugate gradients, for too many weights for a factor.

    Inexact steps (Dembo and Steihaug 1983), preconditioned, with step halving. ``else_stuck``: end
    before a step for which the most conjugate gradients do not suffice.
    """
    B, preconditioner = start, Preconditioner(likelihood, penalty)
    watch, n_products = _Watch(likelihood, goal), MOST_PRODUCTS
    point = likelihood.at(B, hessian=False, shares=True)
    for n_iter in range(1, goal.max_iter + 1):
        slope = point.gradient - penalty.times(B)
        inverse, most = preconditioner.at(point, anew=n_products > ENOUGH_PRODUCTS)
        # relative tolerance of the step: a tenth, or less as the gradient shrinks, to converge fast
        share = min(0.1, np.sqrt(np.abs(slope).max() / max(1.0, most)))
        enough = (ENOUGH * goal.tol) ** 2 / goal.rows
        step, n_products = _conjugate(likelihood, penalty, point, slope, inverse, share, enough)
        reason = watch.reason(point, step, slope)
        known = B, point.value, None, n_iter, reason, watch.distance, watch.proved
        if else_stuck and n_products == MOST_PRODUCTS:
            return Ascent(*known)._replace(reason="stuck", n_iter=n_iter - 1)
        if reason == "suspect":
            return Ascent(*known, suspect=True)._replace(n_iter=n_iter - 1)
        better = _searched(likelihood, penalty, B, point, step)
        if better is None:
            return Ascent(*known)._replace(reason=reason or "stuck")
        B, point = better
        report(B, point.value, watch.distance)
        if reason:
            return Ascent(*known)._replace(B=B, value=point.value)
    return Ascent(B, point.value, None, goal.max_iter, "max_iter", watch.distance, watch.proved)


def _conjugate(
    likelihood: Likelihood, penalty: Penalty, point: Point, slope: np.ndarray, inverse: Inverse,
    share: float, enough: float,
) -> tuple[np.ndarray, int]:  # fmt: skip
    """Return an approximate Newton step by preconditioned conjugate gradients, which stop when the
    residual is at most ``share`` of the slope, or its square, preconditioned, is ``enough``; and
    the number of products with the Hessian.
    """
    step, residual = np.zeros_like(slope), slope.copy()
    z = inverse(residual)
    direction, size = z.copy(), float((residual * z).sum())
    first = size
    n_products = 0
    while n_products < MOST_PRODUCTS:
        n_products += 1
        product = likelihood.curved(point, direction) + penalty.times(direction)
        bend = float((direction * product).sum())
        if bend <= 0.0:
            break
        length = size / bend
        step += length * direction
        residual -= length * product
        z = inverse(residual)
        size, before = float((residual * z).sum()), size
        if size <= max(share**2 * first, enough):
            break
        direction = z + size / before * direction
    return (step if step.any() else inverse(slope)), n_products
