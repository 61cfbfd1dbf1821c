"""Example objectives with their gradients, for gradient descent."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linsep.errors import DataError
from linsep.validation.labels import check_beside, refuse_masked

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
    Z, codes = _rows(X, fit_intercept, y), _two(y)
    reflected = Z * (2.0 * codes - 1.0)[:, None]

    return Objective(
        lambda a: float(np.maximum(-(reflected @ a), 0.0).sum()),
        lambda a: -reflected[reflected @ a <= 0].sum(axis=0),
    )


def squared_error(X: Any, y: Any, fit_intercept: bool = True) -> Objective:
    """J(w) = sum of (y - <w, z>)^2, the residual sum of squares, to be minimized.

    Parameters
    ----------
    X : array of shape (rows, features)
    y : array of shape (rows,), numbers
    fit_intercept : bool, default=True
        Whether w has one more weight, the first, for a constant 1.
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
    X : array of shape (rows, features)
    y : array of shape (rows,), two labels, the larger is 1 and the other 0
    fit_intercept : bool, default=True
        Whether w has one more weight, the first, for a constant 1.
    """
    Z, codes = _rows(X, fit_intercept, y), _two(y)

    def value(w: np.ndarray) -> float:
        scores = Z @ w
        return float((codes * scores - np.logaddexp(0.0, scores)).sum())

    return Objective(value, lambda w: (codes - 0.5 * (1.0 + np.tanh(0.5 * (Z @ w)))) @ Z)


def _rows(X: Any, fit_intercept: bool, y: Any) -> np.ndarray:
    """Return the rows as floats, with a first column of ones for an intercept."""
    check_beside(X, y=y)
    refuse_masked(X, "Input X")
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[0] != np.size(y):
        raise DataError(
            f"X has shape {X.shape} and y {np.shape(y)}: give one label per row.", code="shape"
        )
    if not np.isfinite(X).all():
        raise DataError(
            "X contains NaN or infinity: every value must be a number.", code="not-finite"
        )
    return np.column_stack([np.ones(len(X)), X]) if fit_intercept else X


def _two(y: Any) -> np.ndarray:
    """Return 1.0 for the larger of two labels and 0.0 for the other."""
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    if classes.size != 2:
        raise DataError(
            f"y has {classes.size} different labels: two are needed.", code="class-count"
        )
    return codes.astype(np.float64)
