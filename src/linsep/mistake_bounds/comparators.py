"""Comparators: the weights that a mistake bound compares a learner with.

Any weights give a valid bound. A convex program searches for those with the smallest bound; the
norms and losses of the result are then computed with outward rounding.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit

from linsep.mistake_bounds.problems import Problem
from linsep.mistake_bounds.rounding import ROUNDING, length
from linsep.parallel import one_blas_thread

#: squares below lose more than their last digits
SMALLEST = 1e-290
#: decreasing widths of smoothing of the hinge
SMOOTHING = (1.0, 0.1, 0.01, 0.001)
#: rows whose directions are tried on the sphere, and searches from the best directions
MOST_STARTS, MOST_SEARCHES = 12, 4


class Comparator(NamedTuple):
    """Weights with their norm and losses, rounded up.

    Attributes
    ----------
    w : array
    square : float
        ||w||^2.
    hinge, squared_hinge : float
        Sums over the rows of max(0, 1 - <w, a>) and of its square.
    """

    w: np.ndarray
    square: float
    hinge: float
    squared_hinge: float


def comparator(problem: Problem, w: np.ndarray) -> Comparator:
    """Return the comparator of given weights."""
    w = np.asarray(w, dtype=np.float64)
    losses = np.maximum(0.0, 1.0 - problem.values(w))
    safe = 1 + ROUNDING * len(losses)
    square = float(w @ w) * (1 + problem.rounding)
    return Comparator(w, square, float(losses.sum()) * safe, float(losses @ losses) * safe)


def best_comparator(problem: Problem, price: float, given: np.ndarray | None = None) -> Comparator:
    """Search for the weights with the smallest ``||w||^2 + price * hinge(w)``.

    Parameters
    ----------
    problem : the rows
    price : float > 0
    given : weights whose multiples are tried; by default a convex program is solved (L-BFGS on
        a smoothed hinge), and the separator of widest margin is tried too
    """
    candidates = [np.zeros(problem.A.shape[1])]
    if given is not None:
        candidates += _multiples(problem, price, given)
    else:
        if problem.margin is not None:
            candidates += _multiples(problem, price, problem.separator)
        for w in _solved(problem, price):
            candidates += _multiples(problem, price, w)
    found = [comparator(problem, w) for w in candidates]
    return min(found, key=lambda one: one.square + price * one.hinge)


def comparator_of_length(problem: Problem, long: float, given: np.ndarray | None) -> Comparator:
    """Search for the weights with the smallest hinge loss among those of length ``long``.

    Parameters
    ----------
    problem : the rows
    long : float > 0
    given : weights that are scaled to this length; by default L-BFGS minimises a smoothed hinge on
        the sphere, from several directions
    """
    starts = [given] if given is not None else _directions(problem)
    units = [w / length(w) for w in starts if length(w) > 0]
    found = sorted((comparator(problem, long * u) for u in units), key=lambda one: one.hinge)
    if given is None:
        starts = [one.w / long for one in found[:MOST_SEARCHES]]
        found += [comparator(problem, long * _on_sphere(problem, long, u)) for u in starts]
    return min(found, key=lambda one: one.hinge)


def _directions(problem: Problem) -> list[np.ndarray]:
    """Return weights that point where few rows fall short: some of these have a length."""
    square = problem.longest**2 or 1.0
    found = [_solved(problem, price / square)[-1] for price in (0.01, 1.0, 100.0)]
    found += [problem.separator] if problem.margin is not None else []
    n, d = problem.A.shape
    # The loss is not convex on the sphere, where it has minima near single rows.
    rows = problem.A[np.unique(np.linspace(0, n - 1, min(n, MOST_STARTS)).astype(int))]
    found += list(rows.toarray() if sp.issparse(rows) else rows)
    return [*found, np.ravel(problem.A.sum(axis=0)), np.ones(d)]


@one_blas_thread  # threads would only wait for each other in the small steps of L-BFGS
def _on_sphere(problem: Problem, long: float, unit: np.ndarray) -> np.ndarray:
    """Return the direction with a small hinge loss at this length, from a direction."""
    A, v = problem.A, unit
    for width in SMOOTHING:

        def objective(v: np.ndarray, width: float = width) -> tuple[float, np.ndarray]:
            size = float(np.linalg.norm(v))
            u = v / size
            loss, share = _soft((1.0 - long * np.asarray(A @ u))[:, None] / width)
            slope = -long * np.asarray(A.T @ share.ravel())
            return width * float(loss.sum()), (slope - (slope @ u) * u) / size

        v = minimize(objective, v, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
        v = v / length(v)
    return v


def _multiples(problem: Problem, price: float, w: np.ndarray) -> list[np.ndarray]:
    """Return w, w scaled to zero hinge loss, and w scaled to the smallest sum."""
    values, square = problem.values(w), float(w @ w)
    if not SMALLEST < square < np.inf:
        return []
    factors = [1.0]
    if values.min() > 0:
        factors.append((1 + 1e-9) / float(values.min()))
    # The sum is convex in the factor: its slope is 2 s ||w||^2 - price * (values short of 1 / s).
    order = np.sort(values[values > 0])[::-1]
    with np.errstate(over="ignore"):
        ends = np.append(1.0 / order, np.inf)  # where one more row reaches 1
    left = np.append(np.cumsum(order[::-1])[::-1], 0.0) + values[values < 0].sum()
    stationary = price * left / (2 * square)
    starts = np.append(0.0, ends[:-1])
    factors += np.clip(stationary, starts, ends)[stationary <= ends][:1].tolist()
    return [factor * w for factor in factors if 0 < factor < np.inf]


@one_blas_thread  # threads would only wait for each other in the small steps of L-BFGS
def _solved(problem: Problem, price: float) -> list[np.ndarray]:
    """Return solutions of programs with less and less smoothing, with equilibrated columns."""
    A, rivals = problem.A, problem.rivals
    squares = np.ravel(A.multiply(A).sum(axis=0)) if sp.issparse(A) else (A**2).sum(axis=0)
    scale = 1.0 / np.sqrt(np.where(squares > 0, squares / A.shape[0], 1.0))
    found, v = [], np.zeros(A.shape[1])
    for width in SMOOTHING:

        def objective(v: np.ndarray, width: float = width) -> tuple[float, np.ndarray]:
            w = v * scale
            short = (1.0 - np.asarray(A @ w)).reshape(-1, rivals) / width
            loss, share = _soft(short)
            gradient = 2 * w - price * np.asarray(A.T @ share.ravel())
            return float(w @ w) + price * width * float(loss.sum()), gradient * scale

        v = minimize(objective, v, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
        found.append(v * scale)
    return found


def _soft(short: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return log(1 + sum exp(short)) of every row, and its derivatives."""
    if short.shape[1] == 1:
        return np.logaddexp(0.0, short), expit(short)
    top = np.maximum(short.max(axis=1, keepdims=True), 0.0)
    powers = np.exp(short - top)
    total = powers.sum(axis=1, keepdims=True) + np.exp(-top)
    return top + np.log(total), powers / total
