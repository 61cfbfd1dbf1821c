"""Gradient descent on any differentiable function, and functions to try it on."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, get_args

import numpy as np
from sklearn.utils import check_array

from linsep.drawing import display
from linsep.errors import DataError, refuse
from linsep.parameters import Parameter, ScheduleName, rate_of
from linsep.validation.checks import check_beside, faults_named

__all__ = [
    "Descent", "Objective", "check_gradient", "log_likelihood", "minimize", "numerical_gradient",
    "perceptron_criterion", "squared_error",
]  # fmt: skip
PARAMETERS = (
    Parameter(name="learning_rate", kind=float, above=0, called_with="k"),
    Parameter(name="schedule", choices=get_args(ScheduleName)),
    Parameter(name="tol", kind=float, at_least=0),
    Parameter(name="max_iter", kind=int, at_least=1),
)
#: steps in a row, each longer than the one before and making J worse, that are treated as
#: divergence
WORSE = 10
#: relative length of a step below which rounding of x hides it
LOST = 8 * float(np.finfo(float).eps)
#: relative step of central differences, which balances truncation and rounding in float64
NUDGE = float(np.finfo(float).eps) ** (1 / 3)
#: relative tolerance between a given gradient and the numerical one
AGREEMENT = 1e-5

Function = Callable[[np.ndarray], Any]


class Objective(NamedTuple):
    """A function of an array of shape (weights,), and its gradient, of the same shape."""

    J: Function
    grad: Function


@dataclass(frozen=True)
class Descent:
    """Result of :func:`minimize`: the last point and why the descent stopped.

    Attributes
    ----------
    x : array of the same shape as x0, the last point
    value : float, J(x)
    gradient : array of the same shape as x0, the gradient of J at x
    n_iter : int, number of steps
    reason : "converged", "max_iter", "cycle" or "diverged"
    sentence : str, the reason as a sentence
    path : array of shape (n_iter + 1, ...), all points from x0 to x; None without trace
    values : array of shape (n_iter + 1,), J at each of them; None without trace
    rates : array of shape (n_iter,), the learning rate of each step; None without trace
    """

    x: np.ndarray
    value: float
    gradient: np.ndarray
    n_iter: int
    reason: str
    sentence: str
    path: np.ndarray | None = None
    values: np.ndarray | None = None
    rates: np.ndarray | None = None

    @property
    def converged(self) -> bool:
        """Whether the next step would be no longer than ``tol``."""
        return self.reason == "converged"

    def plot(self, J: Function | None = None, **kwargs: Any) -> Any:
        """Draw the path on the function that was minimized, or alone, by
        :meth:`linsep.plot.DescentDisplay.from_descent` with the arguments.
        """
        return display("DescentDisplay").from_descent(self, J, **kwargs)

    def __str__(self) -> str:
        return f"{self.reason} after {self.n_iter:,} steps, J = {self.value:.8g}: {self.sentence}"


def minimize(
    J: Function,
    x0: Any,
    grad: Function | None = None,
    *,
    learning_rate: Any = 0.1,
    schedule: str = "constant",
    tol: float = 1e-6,
    maximize: bool = False,
    trace: bool = True,
    max_iter: int = 10_000,
    check_grad: bool = False,
) -> Descent:
    """Minimize J by ``x <- x - eta(k) grad J(x)``, while ``eta(k) |grad J(x)| > tol``.

    It finds a local minimum. The result says why it stopped, and whether to raise or lower the
    rate.

    Parameters
    ----------
    J : function from an array of the same shape as x0 to a number
    x0 : number or array of any shape, the starting point
    grad : function from x to an array of the same shape; None for central differences
    learning_rate : float, or function from k = 1, 2, ... to the rate of step k, default=0.1
    schedule : {"constant", "inverse", "inverse_sqrt"}, default="constant"
        The rate of step k if learning_rate is a number: the number itself, divided by k, or divided
        by sqrt(k).
    tol : float, default=1e-6
        Stop when the next step would be no longer than this (Euclidean).
    maximize : bool, default=False
        Maximize J instead (gradient ascent).
    trace : bool, default=True
        Keep every point with its value and learning rate.
    max_iter : int, default=10000
        Maximum number of steps.
    check_grad : bool, default=False
        Compare grad(x0) with central differences before the first step.

    Returns
    -------
    Descent
        Its ``reason`` is "converged"; "max_iter"; "cycle": at a constant rate, a step returned to
        an earlier point, so the same steps repeat forever; or "diverged": J or its gradient
        overflowed, or ten steps in a row made J worse and were each longer than the one before.

    Raises
    ------
    ValueError
        If the gradient and x have different shapes, if the gradient differs from central
        differences, if J or its gradient is not finite at x0, or if a parameter is invalid.

    References
    ----------
    A. Cauchy, Méthode générale pour la résolution des systèmes d'équations simultanées, Comptes
    rendus 25 (1847).

    Examples
    --------
    >>> print(minimize(lambda x: (x - 3) ** 2, 0.0, lambda x: 2 * (x - 3), learning_rate=0.25))
    converged after 21 steps, J = 2.0463631e-12: the next step would be no longer than tol=1e-06
    """
    for one, value in zip(PARAMETERS, (learning_rate, schedule, tol, max_iter), strict=True):
        one.check(value)
    x = np.array(x0, dtype=np.float64)
    _check(np.isfinite(x).all(), "x0 is not finite: start from numbers.", "not-finite", "x0")
    if check_grad and grad is not None:
        check_gradient(J, grad, x)
    return descended(
        partial(_at, J, grad), x, learning_rate=learning_rate, schedule=schedule, tol=float(tol),
        maximize=maximize, trace=trace, max_iter=int(max_iter),
    )  # fmt: skip


def _check(right: Any, why: str, code: str, option: str | None = None) -> None:
    refuse(DataError, (not right, why, code, option))


def _at(J: Function, grad: Function | None, x: np.ndarray) -> tuple[float, np.ndarray]:
    """Return J and its gradient, NaN where J is not finite."""
    value = np.asarray(J(x), dtype=np.float64)
    _check(value.size == 1, f"J(x) has shape {value.shape}: it must be one number.", "shape", "J")
    if not np.isfinite(value).all():
        return value.item(), x * np.nan
    slope = numerical_gradient(J, x) if grad is None else np.asarray(grad(x), dtype=np.float64)
    said = f"grad(x) has shape {slope.shape}, but x has shape {x.shape}."
    _check(slope.shape == x.shape, said, "shape", "grad")
    return value.item(), slope


@np.errstate(all="ignore")  # a divergence is noticed, not warned of
def descended(
    at: Callable[[np.ndarray], tuple[float, np.ndarray]], x: np.ndarray, *, learning_rate: Any,
    schedule: str, tol: float, maximize: bool, trace: bool, max_iter: int,
) -> Descent:  # fmt: skip
    """Take steps as :func:`minimize`; ``at`` returns J and its gradient."""
    (value, gradient), sign = at(x), 1.0 if maximize else -1.0
    said = f"J(x0) is {value} with gradient {gradient}: start elsewhere."
    _check(np.isfinite(gradient).all(), said, "not-finite", "x0")
    constant = schedule == "constant" and not callable(learning_rate)
    path, values, rates = [x], [value], list[float]()
    #: for each of the last steps, whether it overshot: reversed direction or made J worse
    overshot: deque[bool] = deque(maxlen=WORSE)
    # the point to compare with, to detect a cycle: the one after 0, 2, 4, 8, 16, ... steps
    k, length, longer_and_worse, mark = 0, 0.0, 0, (0, x, gradient)

    def ended(reason: str, sentence: str, lower: bool = False) -> Descent:
        kept = [np.array(part) for part in (path, values, rates)] if trace else []
        if lower:
            sentence += f" the learning rate ({rate:g}) is too large: lower it"
            sentence += ", or let it fall with schedule='inverse_sqrt'" * constant
        return Descent(x, value, gradient, k, reason, sentence, *kept)

    while True:
        rate = float(rate_of(learning_rate, schedule, k + 1))
        before, length = length, rate * float(np.linalg.norm(gradient))
        overshoots = 2 * sum(overshot) > len(overshot)
        if length <= tol:
            return ended("converged", f"the next step would be no longer than tol={tol:g}")
        if k == max_iter:
            said = f"all {max_iter:,} steps allowed were made and the next would still be "
            how = ": allow more, or raise the learning rate"
            how = ", and most of the last ones overshot:" if overshoots else how
            return ended("max_iter", f"{said}{length:.3g} long{how}", overshoots)
        point = x + sign * rate * gradient
        there, slope = at(point)
        if not np.isfinite(slope).all():
            none = f" J has no {'maximum' if maximize else 'minimum'}, or" * (not overshoots)
            said = f"J or its gradient is not finite after step {k + 1}:{none}"
            return ended("diverged", said, lower=True)
        worse = sign * (there - value) < 0
        overshot.append(worse or float(np.vdot(slope, gradient)) < 0)
        longer_and_worse = longer_and_worse + 1 if worse and length > before else 0
        if k & (k - 1) == 0 and k != 1:
            mark = k, x, gradient
        x, value, gradient, k = point, there, slope, k + 1
        if trace:
            path.append(x)
            values.append(value)
            rates.append(rate)
        if longer_and_worse == WORSE:
            said = f"each of the last {WORSE} steps was longer than the one before and made J "
            return ended("diverged", f"{said}worse:", lower=True)
        first, seen, slope_there = mark  # Brent's cycle detection
        if constant and np.array_equal(seen, x) and np.array_equal(slope_there, gradient):
            if length <= LOST * float(np.linalg.norm(x)):
                return ended("converged", f"steps of {length:.3g} are lost in the rounding of x")
            where = f"to where step {first:,} had ended" if first else "to x0"
            said = f"step {k:,} came back {where}, so the last {k - first:,} steps repeat forever:"
            return ended("cycle", said, lower=True)


def numerical_gradient(J: Function, x: Any) -> np.ndarray:
    """Return central differences, with steps of about ``6e-6 max(1, |x_j|)``.

    They are an array of the shape of x, a number or array, and accurate to about ten digits if J is
    smooth and of moderate size.
    """
    x = np.array(x, dtype=np.float64)
    gradient = np.empty_like(x)
    for j in np.ndindex(x.shape):
        right, left = x.copy(), x.copy()
        right[j] += NUDGE * max(1.0, abs(float(x[j])))
        left[j] -= NUDGE * max(1.0, abs(float(x[j])))
        rise = np.asarray(J(right)).item() - np.asarray(J(left)).item()
        gradient[j] = rise / (right[j] - left[j])
    return gradient


def check_gradient(J: Function, grad: Function, x: Any) -> None:
    """Raise DataError if a gradient differs from central differences at x.

    The tolerance is 1e-5 of the largest derivative, plus the rounding error of J.
    """
    x = np.array(x, dtype=np.float64)
    given, found = np.asarray(grad(x), dtype=np.float64), numerical_gradient(J, x)
    rounding = abs(np.asarray(J(x)).item()) * np.finfo(float).eps / NUDGE
    allowed = AGREEMENT * np.abs(found).max(initial=0.0) + 10 * rounding + 1e-12
    for j in map(tuple, np.argwhere(~(np.abs(given - found) <= allowed))[:1].tolist()):
        where = " ".join(["Derivative", *map(str, j)])
        said = f"{where} of grad at x0 is {given[j]:.8g}, but J changes by {found[j]:.8g} there"
        _check(False, f"{said}: correct grad, or omit it.", "bad-value", "grad")


def perceptron_criterion(X: Any, y: Any, fit_intercept: bool = True) -> Objective:
    """J_p(a) = sum of -<a, y z> over the rows with <a, y z> <= 0, to be minimized.

    Parameters
    ----------
    X : array of shape (rows, features)
    y : array of shape (rows,), two labels, the larger is +1 and the other -1
    fit_intercept : bool, default=True
        Whether a has one more weight, the first, for a constant 1.

    Returns
    -------
    Objective
        A row with <a, y z> = 0 is a mistake, as everywhere in the library: it adds -y z to the
        gradient, although J_p is not differentiable there.
    """
    reflected = _rows(X, fit_intercept, y) * (2.0 * _two(y) - 1.0)[:, None]

    return Objective(
        lambda a: float(np.maximum(-(reflected @ a), 0.0).sum()),
        lambda a: -reflected[reflected @ a <= 0].sum(axis=0),
    )


def misclassified_rows(X: Any, y: Any, fit_intercept: bool = True) -> Objective:
    """J(a), the number of rows with <a, y z> <= 0, with parameters as :func:`perceptron_criterion`.

    It is constant around almost every a, so its gradient is zero, and a descent ends where it
    starts: the number of mistakes cannot be minimized this way.
    """
    reflected = _rows(X, fit_intercept, y) * (2.0 * _two(y) - 1.0)[:, None]

    return Objective(lambda a: float((reflected @ a <= 0).sum()), np.zeros_like)


def squared_error(X: Any, y: Any, fit_intercept: bool = True) -> Objective:
    """J(w) = sum of (y - <w, z>)^2, the residual sum of squares, to be minimized.

    Parameters
    ----------
    X, fit_intercept : as of :func:`perceptron_criterion`
    y : array of shape (rows,), numbers
    """
    Z, target = _rows(X, fit_intercept, y), np.asarray(y, dtype=np.float64)
    return Objective(
        lambda w: float(((target - Z @ w) ** 2).sum()), lambda w: -2.0 * (target - Z @ w) @ Z
    )


def log_likelihood(X: Any, y: Any, fit_intercept: bool = True) -> Objective:
    """l(w) = sum of y <w, z> - ln(1 + exp(<w, z>)), to be maximized.

    The conditional log-likelihood of a logistic regression, with P(y=1 | x) = 1 / (1 +
    exp(-<w, z>)).

    Parameters
    ----------
    X, fit_intercept : as of :func:`perceptron_criterion`
    y : array of shape (rows,), two labels, the larger is 1 and the other 0
    """
    Z, codes = _rows(X, fit_intercept, y), _two(y)
    return Objective(
        lambda w: float((codes * (scores := Z @ w) - np.logaddexp(0.0, scores)).sum()),
        lambda w: (codes - 0.5 * (1.0 + np.tanh(0.5 * (Z @ w)))) @ Z,
    )


def _rows(X: Any, fit_intercept: bool, y: Any) -> np.ndarray:
    check_beside(X, y=y)
    said = f"X has shape {np.shape(X)} and y {np.shape(y)}: give one label per row."
    _check(np.ndim(X) == 2 and len(X) == np.size(y), said, "shape")
    with faults_named(X):
        X = check_array(X, dtype=np.float64)
    return np.column_stack([np.ones(len(X)), X]) if fit_intercept else X


def _two(y: Any) -> np.ndarray:
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    said = f"y has {classes.size} different labels: two are needed."
    _check(classes.size == 2, said, "class-count")
    return codes.astype(np.float64)
