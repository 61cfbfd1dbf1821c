"""Gradient descent on any differentiable function."""

from collections import deque
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from linsep.drawing import display
from linsep.errors import DataError, ParameterError
from linsep.objectives import (
    Function,
    Objective,
    log_likelihood,
    perceptron_criterion,
    squared_error,
)
from linsep.parameters import rate_of

__all__ = [
    "Descent",
    "Objective",
    "check_gradient",
    "log_likelihood",
    "minimize",
    "numerical_gradient",
    "perceptron_criterion",
    "squared_error",
]

SCHEDULES = ("constant", "inverse", "inverse_sqrt")
#: steps in a row, each longer than the one before and making J worse, that are treated as
#: divergence
WORSE = 10
#: relative length of a step below which rounding of x hides it
LOST = 8 * float(np.finfo(float).eps)
#: relative step of central differences, which balances truncation and rounding in float64
NUDGE = float(np.finfo(float).eps) ** (1 / 3)
#: relative tolerance between a given gradient and the numerical one
AGREEMENT = 1e-5


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
        """Draw the path on the function that was minimized.

        Parameters
        ----------
        J : function, as for :func:`minimize`; None for the path alone
        **kwargs : passed to :meth:`linsep.plot.DescentDisplay.from_descent`

        Returns
        -------
        linsep.plot.DescentDisplay
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

    It finds a local minimum, which is the global one if J is convex. If the rate is too small,
    convergence is slow; if it is too large, the steps overshoot and the points oscillate or
    diverge. The result reports which of these happened and whether to raise or lower the rate.

    Parameters
    ----------
    J : function from an array of the same shape as x0 to a number
    x0 : number or array of any shape, the starting point
    grad : function from x to an array of the same shape, or None
        If None, central differences are used, at the cost of two values of J per weight and step.
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
    >>> found = minimize(lambda x: (x - 3) ** 2, 0.0, lambda x: 2 * (x - 3), learning_rate=0.25)
    >>> print(found)
    converged after 21 steps, J = 2.0463631e-12: the next step would be no longer than tol=1e-06
    >>> found.path[:4].tolist()
    [0.0, 1.5, 2.25, 2.625]
    >>> print(minimize(lambda x: (x - 3) ** 2, 0.0, learning_rate=1.1).reason)
    diverged
    >>> minimize(lambda x: x**2, 1.0, lambda x: 2 * x, learning_rate=1.0).path.tolist()
    [1.0, -1.0, 1.0]
    """
    _check(learning_rate, schedule, tol, max_iter)
    x = np.array(x0, dtype=np.float64)
    if not np.isfinite(x).all():
        raise DataError("x0 is not finite: start from numbers.", code="not-finite", option="x0")
    slope = _Slope(J, grad)
    with np.errstate(all="ignore"):  # a divergence is noticed, not warned of
        value, gradient = slope.value(x), slope.gradient(x)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            raise DataError(
                f"J(x0) is {value} with gradient {gradient}: start elsewhere.",
                code="not-finite", option="x0",
            )  # fmt: skip
        if check_grad:
            check_gradient(J, slope.gradient, x)
        run = _Run(1.0 if maximize else -1.0, x, value, gradient, trace)
        return run.run(slope, learning_rate, schedule, float(tol), int(max_iter))


class _Slope(NamedTuple):
    """J and its gradient; raises if one returns an unexpected shape."""

    J: Function
    grad: Function | None

    def value(self, x: np.ndarray) -> float:
        value = np.asarray(self.J(x))
        if value.size != 1:
            raise DataError(
                f"J(x) has shape {value.shape}: it must be one number.", code="shape", option="J"
            )
        return float(value.reshape(()))

    def gradient(self, x: np.ndarray) -> np.ndarray:
        if self.grad is None:
            return numerical_gradient(self.value, x)
        gradient = np.asarray(self.grad(x), dtype=np.float64)
        if gradient.shape != x.shape:
            raise DataError(
                f"grad(x) has shape {gradient.shape}, but x has shape {x.shape}: return one "
                "derivative per weight.",
                code="shape", option="grad",
            )  # fmt: skip
        return gradient


class _Run:
    """A running descent; ``sign`` is -1 to minimize and 1 to maximize."""

    def __init__(self, sign: float, x: np.ndarray, value: float, gradient: np.ndarray, trace: bool):
        self.sign, self.trace, self.k = sign, trace, 0
        self.x, self.value, self.gradient = x, value, gradient
        self.path, self.values, self.rates = [x], [value], list[float]()
        #: for each of the last steps, whether it overshot: reversed direction or made J worse
        self.overshot: deque[bool] = deque(maxlen=WORSE)
        self.longer_and_worse = 0
        #: the point to compare with, to detect a cycle: the one after 0, 2, 4, 8, 16, ... steps
        self.mark = (0, x, gradient)

    def run(self, slope: _Slope, rate: Any, schedule: str, tol: float, max_iter: int) -> Descent:
        """Take steps until a stopping criterion holds."""
        constant = schedule == "constant" and not callable(rate)
        length = 0.0
        while True:
            eta = float(rate_of(rate, schedule, self.k + 1))
            before, length = length, eta * float(np.linalg.norm(self.gradient))
            lower = f"the learning rate ({eta:g}) is too large: lower it"
            falling = lower + ", or let it fall with schedule='inverse_sqrt'" * constant
            if length <= tol:
                said = f"the next step would be no longer than tol={tol:g}"
                return self._ended("converged", said)
            if self.k == max_iter:
                said = f"all {max_iter:,} steps allowed were made and the next would still be "
                advice = ": allow more, or raise the learning rate"
                if self._overshoots:
                    advice = f", and most of the last ones overshot: {falling}"
                return self._ended("max_iter", f"{said}{length:.3g} long{advice}")
            point = self.x + self.sign * eta * self.gradient
            value = slope.value(point)
            gradient = slope.gradient(point) if np.isfinite(value) else point * np.nan
            if not np.isfinite(gradient).all():
                what = "J" if not np.isfinite(value) else "the gradient"
                extremum = "maximum" if self.sign > 0 else "minimum"
                cause = lower if self._overshoots else f"J has no {extremum}, or {lower}"
                said = f"{what} is not a finite number after step {self.k + 1}: {cause}"
                return self._ended("diverged", said)
            self._step(point, value, gradient, eta, length > before)
            if self.longer_and_worse == WORSE:
                said = f"each of the last {WORSE} steps was longer than the one before and made J "
                return self._ended("diverged", f"{said}worse: {falling}")
            first, x, slope_there = self.mark  # Brent's cycle detection
            if constant and np.array_equal(x, self.x) and np.array_equal(slope_there, gradient):
                if length <= LOST * float(np.linalg.norm(x)):
                    said = f"steps of {length:.3g} are lost in the rounding of x"
                    return self._ended("converged", said)
                where = f"to where step {first:,} had ended" if first else "to x0"
                said = f"step {self.k:,} came back {where}, so the last {self.k - first:,} steps "
                return self._ended("cycle", f"{said}repeat forever: {falling}")

    @property
    def _overshoots(self) -> bool:
        """Whether most of the last steps overshot."""
        return 2 * sum(self.overshot) > len(self.overshot)

    def _step(
        self, point: np.ndarray, value: float, gradient: np.ndarray, eta: float, longer: bool
    ) -> None:
        worse = self.sign * (value - self.value) < 0
        self.overshot.append(worse or float(np.vdot(gradient, self.gradient)) < 0)
        self.longer_and_worse = self.longer_and_worse + 1 if worse and longer else 0
        if self.k & (self.k - 1) == 0 and self.k != 1:
            self.mark = (self.k, self.x, self.gradient)
        self.x, self.value, self.gradient, self.k = point, value, gradient, self.k + 1
        if self.trace:
            self.path.append(point)
            self.values.append(value)
            self.rates.append(eta)

    def _ended(self, reason: str, sentence: str) -> Descent:
        kept = [np.array(part) for part in (self.path, self.values, self.rates)]
        kept = kept if self.trace else []
        return Descent(self.x, self.value, self.gradient, self.k, reason, sentence, *kept)


def numerical_gradient(J: Function, x: Any) -> np.ndarray:
    """Return central differences, with steps of about ``6e-6 max(1, |x_j|)``.

    Parameters
    ----------
    J : function from an array of the shape of x to a number
    x : number or array

    Returns
    -------
    array of the same shape as x
        Accurate to about ten digits if J is smooth and of moderate size.
    """
    x = np.array(x, dtype=np.float64)
    gradient = np.empty_like(x)
    for j in np.ndindex(x.shape):
        ends = []
        for sign in (1.0, -1.0):
            point = x.copy()
            point[j] += sign * NUDGE * max(1.0, abs(float(x[j])))
            ends.append((float(point[j]), float(np.asarray(J(point)).reshape(()))))
        (right, above), (left, below) = ends
        gradient[j] = (above - below) / (right - left)
    return gradient


def check_gradient(J: Function, grad: Function, x: Any) -> None:
    """Raise DataError if a gradient differs from central differences at x.

    The tolerance is 1e-5 of the largest derivative, plus the rounding error of J.
    """
    x = np.array(x, dtype=np.float64)
    given, found = np.asarray(grad(x), dtype=np.float64), numerical_gradient(J, x)
    rounding = abs(float(np.asarray(J(x)).reshape(()))) * np.finfo(float).eps / NUDGE
    allowed = AGREEMENT * np.abs(found).max(initial=0.0) + 10 * rounding + 1e-12
    wrong = ~(np.abs(given - found) <= allowed)
    if wrong.any():
        j = tuple(int(i) for i in np.argwhere(wrong)[0])
        where = f" {j[0] if len(j) == 1 else j}" if j else ""
        raise DataError(
            f"Derivative{where} of grad at x0 is {given[j]:.8g}, but J changes by {found[j]:.8g} "
            "there: correct grad, or omit it.",
            code="bad-value", option="grad",
        )  # fmt: skip


def _check(learning_rate: Any, schedule: str, tol: Any, max_iter: Any) -> None:
    positive = isinstance(learning_rate, Real) and 0 < float(learning_rate) < np.inf
    for option, value, right, must in (
        ("learning_rate", learning_rate, callable(learning_rate) or positive,
         "it must be a finite number above 0 or a function of k"),
        ("schedule", schedule, schedule in SCHEDULES, f"choose among {', '.join(SCHEDULES)}"),
        ("tol", tol, isinstance(tol, Real) and 0 <= float(tol) < np.inf,
         "it must be a finite number of at least 0"),
        ("max_iter", max_iter, isinstance(max_iter, Integral) and int(max_iter) >= 1,
         "it must be a whole number of at least 1"),
    ):  # fmt: skip
        if not right:
            raise ParameterError(f"{option} is {value!r}: {must}.", option=option, value=value)
