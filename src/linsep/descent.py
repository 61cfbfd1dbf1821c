"""Gradient descent on any differentiable function, and three functions to try it on."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from linsep.textbook.rates import rate_of

SCHEDULES = ("constant", "inverse", "inverse_sqrt")
#: so many steps in a row that are longer than the one before and make J worse are a divergence
WORSE = 10
#: relative step of central differences: what balances their two errors in float64
NUDGE = float(np.finfo(float).eps) ** (1 / 3)
#: how far, relatively, a given gradient may be from the numerical one
AGREEMENT = 1e-5

Function = Callable[[np.ndarray], Any]


class Objective(NamedTuple):
    """A function of weights and its gradient: ``minimize(objective.J, x0, objective.grad)``.

    Attributes
    ----------
    J : function from an array of shape (weights,) to a number
    grad : function from the same to an array of the same shape
    """

    J: Function
    grad: Function


@dataclass(frozen=True)
class Descent:
    """Where a descent ended, and why.

    Attributes
    ----------
    x : array of the shape of x0, the last point
    value : float, J(x)
    gradient : array of the shape of x0, of J at x
    n_iter : int, how many steps were made
    reason : "converged", "max_iter" or "diverged"
    sentence : str, the reason for people
    path : array of shape (n_iter + 1, *shape of x0), all points from x0 to x; None without trace
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
        """Whether the steps became as short as was asked for."""
        return self.reason == "converged"

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
    """Walk downhill: x <- x - eta(k) grad J(x) while eta(k) |grad J(x)| > tol.

    It finds local minima only, and of a convex J the minimum. Too small a rate crawls; too large
    a rate overshoots, further each time: that is noticed, and said.

    Parameters
    ----------
    J : function from an array of the shape of x0 to a number
    x0 : number or array of any shape, where to start
    grad : function from x to an array of its shape, or None
        Without it, central differences are taken: two values of J for every weight and step.
    learning_rate : float, or function from k = 1, 2, ... to the rate of step k, default=0.1
    schedule : {"constant", "inverse", "inverse_sqrt"}, default="constant"
        The rate of step k where learning_rate is a number: that, divided by k, or by sqrt(k).
    tol : float, default=1e-6
        Stop when the next step would be no longer than this (Euclidean).
    maximize : bool, default=False
        Walk uphill instead (gradient ascent).
    trace : bool, default=True
        Keep every point with its value and rate.
    max_iter : int, default=10000
        At most so many steps.
    check_grad : bool, default=False
        First compare grad(x0) with central differences.

    Returns
    -------
    Descent
        Its ``reason`` is "converged"; "max_iter"; or "diverged": J or its gradient left the floats,
        or ten steps in a row made J worse and were each longer than the one before.

    Raises
    ------
    ValueError
        For a gradient of another shape than x, one that differs from the numerical one, a value or
        gradient at x0 that is not finite, or a parameter that is none.

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
    """
    _check(learning_rate, schedule, tol, max_iter)
    x = np.array(x0, dtype=np.float64)
    if not np.isfinite(x).all():
        raise ValueError("x0 is not finite: start from numbers.")
    slope = _Slope(J, grad)
    with np.errstate(all="ignore"):  # a divergence is noticed, not warned of
        value, gradient = slope.value(x), slope.gradient(x)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            raise ValueError(f"J(x0) is {value} with gradient {gradient}: start elsewhere.")
        if check_grad:
            check_gradient(J, slope.gradient, x)
        walk = _Walk(1.0 if maximize else -1.0, x, value, gradient, [x], [value], [])
        return walk.run(slope, learning_rate, schedule, float(tol), int(max_iter), trace)


class _Slope(NamedTuple):
    """J and its gradient, their answers checked."""

    J: Function
    grad: Function | None

    def value(self, x: np.ndarray) -> float:
        value = np.asarray(self.J(x))
        if value.size != 1:
            raise ValueError(f"J(x) has shape {value.shape}: it must be one number.")
        return float(value.reshape(()))

    def gradient(self, x: np.ndarray) -> np.ndarray:
        if self.grad is None:
            return numerical_gradient(self.value, x)
        gradient = np.asarray(self.grad(x), dtype=np.float64)
        if gradient.shape != x.shape:
            raise ValueError(
                f"grad(x) has shape {gradient.shape}, but x has shape {x.shape}: give one "
                "derivative for every weight."
            )
        return gradient


@dataclass
class _Walk:
    """A descent on its way; ``sign`` is -1 downhill."""

    sign: float
    x: np.ndarray
    value: float
    gradient: np.ndarray
    path: list[np.ndarray]
    values: list[float]
    rates: list[float]

    def run(
        self, slope: _Slope, rate: Any, schedule: str, tol: float, max_iter: int, trace: bool
    ) -> Descent:
        """Step until there is a reason to stop."""
        worse = k = 0
        length = 0.0
        while True:
            eta = float(rate_of(rate, schedule, k + 1))
            before, length = length, eta * float(np.linalg.norm(self.gradient))
            longer = length > before
            if length <= tol:
                said = f"the next step would be no longer than tol={tol:g}"
                return self._ended(k, "converged", said, trace)
            if k == max_iter:
                said = (
                    f"all {max_iter:,} steps allowed were made and the next would still be "
                    f"{length:.3g} long: allow more, or raise the learning rate"
                )
                return self._ended(k, "max_iter", said, trace)
            point = self.x + self.sign * eta * self.gradient
            value = slope.value(point)
            gradient = slope.gradient(point) if np.isfinite(value) else point * np.nan
            if not np.isfinite(gradient).all():
                return self._ended(k, "diverged", self._beyond(value, k), trace)
            got_worse = self.sign * (value - self.value) < 0
            worse = worse + 1 if got_worse and longer else 0
            self.x, self.value, self.gradient, k = point, value, gradient, k + 1
            if trace:
                self.path.append(point)
                self.values.append(value)
                self.rates.append(eta)
            if worse == WORSE:
                said = (
                    f"each of the last {WORSE} steps was longer than the one before and made J "
                    f"worse, so the learning rate ({eta:.3g}) is too large: take a smaller one"
                )
                return self._ended(k, "diverged", said, trace)

    def _beyond(self, value: float, k: int) -> str:
        what = "J" if not np.isfinite(value) else "the gradient"
        return (
            f"{what} is not a finite number after step {k + 1}: the learning rate is too large, or "
            f"J has no {'maximum' if self.sign > 0 else 'minimum'}"
        )

    def _ended(self, k: int, reason: str, sentence: str, trace: bool) -> Descent:
        kept = [np.array(part) for part in (self.path, self.values, self.rates)] if trace else []
        return Descent(self.x, self.value, self.gradient, k, reason, sentence, *kept)


def numerical_gradient(J: Function, x: Any) -> np.ndarray:
    """Central differences: (J(x + h e_j) - J(x - h e_j)) / 2h, h about 6e-6 max(1, |x_j|).

    Parameters
    ----------
    J : function from an array of the shape of x to a number
    x : number or array

    Returns
    -------
    array of the shape of x, right to about ten digits where J is smooth and of moderate size
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
    """Raise ValueError where a gradient is not the one that central differences find at x.

    They may differ by a hundred-thousandth of the longest derivative, and by what the rounding of
    J allows.
    """
    x = np.array(x, dtype=np.float64)
    given, found = np.asarray(grad(x), dtype=np.float64), numerical_gradient(J, x)
    rounding = abs(float(np.asarray(J(x)).reshape(()))) * np.finfo(float).eps / NUDGE
    allowed = AGREEMENT * np.abs(found).max(initial=0.0) + 10 * rounding + 1e-12
    wrong = ~(np.abs(given - found) <= allowed)
    if wrong.any():
        j = tuple(int(i) for i in np.argwhere(wrong)[0])
        where = f" {j[0] if len(j) == 1 else j}" if j else ""
        raise ValueError(
            f"Derivative{where} of grad at x0 is {given[j]:.8g}, but J changes by {found[j]:.8g} "
            "there: mend grad, or leave it out."
        )


def perceptron_criterion(X: Any, y: Any, fit_intercept: bool = True) -> Objective:
    """J_p(a) = sum of -<a, y z> over the rows with <a, y z> <= 0, to be minimised.

    Parameters
    ----------
    X : array of shape (rows, features)
    y : array of shape (rows,), two labels, the larger is +1 and the other -1
    fit_intercept : bool, default=True
        Whether a has one more weight, the last, for a constant 1.

    Returns
    -------
    Objective
        A row with <a, y z> = 0 is a mistake as everywhere in the library: it adds -y z to the
        gradient, where J_p has a corner.
    """
    Z, codes = _rows(X, fit_intercept, y), _two(y)
    reflected = Z * (2.0 * codes - 1.0)[:, None]

    def value(a: np.ndarray) -> float:
        return float(np.maximum(-(reflected @ a), 0.0).sum())

    def gradient(a: np.ndarray) -> np.ndarray:
        return -reflected[reflected @ a <= 0].sum(axis=0)

    return Objective(value, gradient)


def squared_error(X: Any, y: Any, fit_intercept: bool = True) -> Objective:
    """J(w) = sum of (y - <w, z>)^2, the residual sum of squares, to be minimised.

    Parameters
    ----------
    X : array of shape (rows, features)
    y : array of shape (rows,), numbers
    fit_intercept : bool, default=True
        Whether w has one more weight, the last, for a constant 1.
    """
    Z, target = _rows(X, fit_intercept, y), np.asarray(y, dtype=np.float64)

    def value(w: np.ndarray) -> float:
        return float(((target - Z @ w) ** 2).sum())

    def gradient(w: np.ndarray) -> np.ndarray:
        return -2.0 * (target - Z @ w) @ Z

    return Objective(value, gradient)


def log_likelihood(X: Any, y: Any, fit_intercept: bool = True) -> Objective:
    """l(w) = sum of y <w, z> - ln(1 + exp(<w, z>)), to be maximised.

    The conditional log-likelihood of a logistic regression, with P(y=1 | x) = 1 / (1 +
    exp(-<w, z>)).

    Parameters
    ----------
    X : array of shape (rows, features)
    y : array of shape (rows,), two labels, the larger is 1 and the other 0
    fit_intercept : bool, default=True
        Whether w has one more weight, the last, for a constant 1.
    """
    Z, codes = _rows(X, fit_intercept, y), _two(y)

    def value(w: np.ndarray) -> float:
        scores = Z @ w
        return float((codes * scores - np.logaddexp(0.0, scores)).sum())

    def gradient(w: np.ndarray) -> np.ndarray:
        return (codes - 0.5 * (1.0 + np.tanh(0.5 * (Z @ w)))) @ Z

    return Objective(value, gradient)


def _rows(X: Any, fit_intercept: bool, y: Any) -> np.ndarray:
    """The rows, each with a 1 at its end where there is an intercept."""
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[0] != np.size(y):
        raise ValueError(f"X has shape {X.shape} and y {np.shape(y)}: give a label for every row.")
    if not np.isfinite(X).all():
        raise ValueError("X contains NaN or infinity: every value must be a number.")
    return np.column_stack([X, np.ones(len(X))]) if fit_intercept else X


def _two(y: Any) -> np.ndarray:
    """1.0 for the larger of two labels, else 0.0."""
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    if classes.size != 2:
        raise ValueError(f"y has {classes.size} different labels: two are needed.")
    return codes.astype(np.float64)


def _check(learning_rate: Any, schedule: str, tol: Any, max_iter: Any) -> None:
    positive = isinstance(learning_rate, Real) and 0 < float(learning_rate) < np.inf
    if not (callable(learning_rate) or positive):
        raise ValueError(
            f"learning_rate is {learning_rate!r}: it must be a finite number above 0 or a function "
            "of k."
        )
    if schedule not in SCHEDULES:
        raise ValueError(f"schedule is {schedule!r}: choose among {', '.join(SCHEDULES)}.")
    if not (isinstance(tol, Real) and 0 <= float(tol) < np.inf):
        raise ValueError(f"tol is {tol!r}: it must be a finite number of at least 0.")
    if not (isinstance(max_iter, Integral) and int(max_iter) >= 1):
        raise ValueError(f"max_iter is {max_iter!r}: it must be a whole number of at least 1.")
