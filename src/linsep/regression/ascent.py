"""Where a log-likelihood is largest: Newton's method, with a factor or by conjugate gradients, and
L-BFGS. All maximise value(B) - penalty(B) in standardised features.
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg as sla
from scipy.optimize import minimize

from linsep.regression.likelihood import Likelihood, Point
from linsep.regression.penalty import Penalty
from linsep.regression.preconditioning import Inverse, Preconditioner

#: a step shorter than this, in standard errors, ends Newton's method after it is made; for few rows
#: it must be shorter by the root of their number, as each of them tells much of the information
SHORT, SHORT_OF_ROWS = 1e-7, 1e-10
#: so many steps in a row that shrink by less than a healthy Newton step does are suspicious
SLOW = 3
HALVINGS = 40
#: a factor with a smaller number on its diagonal has lost most digits; what is then added to the
#: diagonal, one after the other
LEAST_PIVOT = 1e-7
DAMPINGS = (1e-13, 1e-10, 1e-7, 1e-4, 1.0)
#: a sum of so many rows' logarithms is sure to about this share
ROUNDING = 1e-13


class Ascent(NamedTuple):
    """Where an ascent ended.

    Attributes
    ----------
    B : array of shape (weight rows, width)
    value : the log-likelihood there, the penalty left out
    information : the Hessian of what is minimised, at B or a tiny step before
    n_iter : int, passes over all rows that chose a new direction
    reason : "converged", "max_iter", "suspect" (as if there were no maximum) or "stuck"
    largest : the largest component of the gradient, by row, in standardised features
    """

    B: np.ndarray
    value: float
    information: np.ndarray | None
    n_iter: int
    reason: str
    largest: float


def newton(
    likelihood: Likelihood,
    penalty: Penalty,
    start: np.ndarray,
    total: float,
    tol: float,
    max_iter: int,
    suspicious: bool = True,
) -> Ascent:
    """Newton's method with a Cholesky factor, steps halved where they go too far.

    It ends where the gradient by row is within ``tol`` and the next step, which is made, is
    tiny. Where there is a maximum the steps shrink ever faster at the end. Where there is
    none, each step pushes the scores of the rows that run away by one, and what there is to be
    gained falls by the factor e: that is the suspicion.
    """
    B = start
    point = likelihood.at(B)
    gains: list[float] = []
    short = min(SHORT, SHORT_OF_ROWS * np.sqrt(total)) ** 2
    for n_iter in range(1, max_iter + 1):
        slope = point.gradient - penalty.times(B)
        H = point.hessian + penalty.matrix(likelihood.q)
        largest = float(np.abs(slope).max(initial=0.0)) / total
        step, sure = solved(H, slope)
        gains.append(float((step * slope).sum()))
        if (gains[-1] <= short and largest <= tol) or _only_rounding(gains, point.value):
            if suspicious and not sure:
                return Ascent(B, point.value, H, n_iter, "suspect", largest)
            gain = 0.5 * gains[-1] + penalty.value(B + step) - penalty.value(B)
            return Ascent(B + step, point.value + gain, H, n_iter, "converged", largest)
        if suspicious and _slow(gains):
            return Ascent(B, point.value, H, n_iter, "suspect", largest)
        better = _searched(likelihood, penalty, B, point, step)
        if better is None:  # nothing is left but rounding
            reason = "converged" if gains[-1] <= ROUNDING * max(1.0, -point.value) else "stuck"
            return Ascent(B, point.value, H, n_iter, reason, largest)
        B, point = better
    return Ascent(B, point.value, point.hessian, max_iter, "max_iter", largest)


def solved(H: np.ndarray, slope: np.ndarray) -> tuple[np.ndarray, bool]:
    """The Newton step, and whether H is positive definite in floats.

    Where it is not, as much is added to its diagonal as makes it so (Levenberg 1944).
    """
    diagonal = np.diag(H)
    roots = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = H * roots * roots[:, None]
    for more in (0.0, *DAMPINGS):
        factor, failed = sla.lapack.dpotrf(scaled + more * np.eye(len(H)), lower=1)
        if not failed and np.diag(factor).min(initial=1.0) > LEAST_PIVOT:
            break
    step = sla.cho_solve((factor, True), roots * slope.ravel())
    return (roots * step).reshape(slope.shape), not more


def _slow(gains: list[float]) -> bool:
    """Whether the last steps shrink as they do where there is no maximum."""
    last = gains[-SLOW - 1 :]
    pairs = zip(last[1:], last[:-1], strict=True)
    return len(last) > SLOW and last[0] < 1.0 and all(b > 0.1 * a for a, b in pairs)


def _only_rounding(gains: list[float], value: float) -> bool:
    """Whether steps do not shrink any more, and gain less than the value is sure to."""
    return len(gains) > 1 and 0.25 * gains[-2] < gains[-1] <= ROUNDING * max(1.0, -value)


def _searched(
    likelihood: Likelihood, penalty: Penalty, B: np.ndarray, point: Point, step: np.ndarray
) -> tuple[np.ndarray, Point] | None:
    """The first of step, step / 2, ... that does not lose, and what is known there."""
    before = point.value - penalty.value(B)
    slack = ROUNDING * max(1.0, abs(before))
    for halving in range(HALVINGS):
        moved = B + step / 2**halving
        there = likelihood.at(moved)
        if there.value - penalty.value(moved) >= before - slack:
            return moved, there
    return None


def lbfgs(
    likelihood: Likelihood,
    penalty: Penalty,
    start: np.ndarray,
    total: float,
    tol: float,
    max_iter: int,
) -> Ascent:
    """Limited-memory BFGS (Byrd, Lu, Nocedal and Zhu 1995, scipy's)."""
    shape = likelihood.shape

    def negative(flat: np.ndarray) -> tuple[float, np.ndarray]:
        B = flat.reshape(shape)
        point = likelihood.at(B, hessian=False)
        value = penalty.value(B) - point.value
        return value / total, (penalty.times(B) - point.gradient).ravel() / total

    options = {"maxiter": max_iter, "maxfun": 10 * max_iter, "gtol": tol, "ftol": 1e-16}
    found = minimize(negative, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    B = found.x.reshape(shape)
    largest = float(np.abs(found.jac).max(initial=0.0))
    # where rounding ends the search first, the gradient is as small as it gets
    done = largest <= tol or (found.status == 0 and largest <= 1e3 * tol)
    reason = "converged" if done else "max_iter" if found.nit >= max_iter else "stuck"
    value = penalty.value(B) - total * float(found.fun)
    return Ascent(B, value, None, int(found.nit), reason, largest)


def newton_cg(
    likelihood: Likelihood,
    penalty: Penalty,
    start: np.ndarray,
    total: float,
    tol: float,
    max_iter: int,
    suspicious: bool = True,
) -> Ascent:
    """Newton's method with its steps from conjugate gradients, for too many weights for a factor.

    As exact as the gradient is small (Dembo and Steihaug 1983), preconditioned, with halved steps.
    """
    B, preconditioner = start, Preconditioner(likelihood, penalty)
    point = likelihood.at(B, hessian=False, shares=True)
    gains: list[float] = []
    for n_iter in range(max_iter + 1):
        slope = point.gradient - penalty.times(B)
        largest = float(np.abs(slope).max(initial=0.0)) / total
        if largest <= tol or n_iter == max_iter:
            reason = "converged" if largest <= tol else "max_iter"
            return Ascent(B, point.value, None, n_iter, reason, largest)
        inverse, most = preconditioner.at(point)
        # a tenth of what is left, or a share that shrinks with the gradient: then it ends fast
        share = min(0.1, np.sqrt(np.abs(slope).max() / max(1.0, most)))
        ends = share, 0.1 * tol * total
        step = _conjugate(likelihood, penalty, point, slope, inverse, ends)
        gains.append(float((step * slope).sum()))
        if suspicious and _slow(gains):
            return Ascent(B, point.value, None, n_iter, "suspect", largest)
        before = point.value - penalty.value(B)
        slack = ROUNDING * max(1.0, abs(before))
        for halving in range(HALVINGS):
            moved = B + step / 2**halving
            there = likelihood.at(moved, hessian=False, shares=True)
            if there.value - penalty.value(moved) >= before - slack:
                break
        else:
            return Ascent(B, point.value, None, n_iter, "stuck", largest)
        B, point = moved, there
    raise AssertionError("the loop ends by itself")


def _conjugate(
    likelihood: Likelihood, penalty: Penalty, point: Point, slope: np.ndarray, inverse: Inverse,
    ends: tuple[float, float],
) -> np.ndarray:  # fmt: skip
    """About the Newton step, by preconditioned conjugate gradients, which end where what is left
    is a share of the slope, or small.
    """
    share, enough = ends
    step, residual = np.zeros_like(slope), slope.copy()
    z = inverse(residual)
    direction, size = z.copy(), float((residual * z).sum())
    first = size
    for _ in range(200):
        product = likelihood.curved(point, direction) + penalty.times(direction)
        bend = float((direction * product).sum())
        if bend <= 0.0:
            break
        length = size / bend
        step += length * direction
        residual -= length * product
        z = inverse(residual)
        size, before = float((residual * z).sum()), size
        if size <= share**2 * first or np.abs(residual).max() <= enough:
            break
        direction = z + size / before * direction
    return step if step.any() else inverse(slope)
