"""Problems of the convergence theory, and the weights that a bound compares a learner with.

A problem is the sign-flipped rows of one binary classifier, on which separators are positive. Any
weights give a valid bound. L-BFGS on smoothed hinge losses searches for the weights with the
smallest bound, the *comparator*; their norms and losses are then computed with outward rounding.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import logsumexp

from linsep._system.threads import one_blas_thread
from linsep.certificate.verdicts import Separable
from linsep.errors import DataError
from linsep.mistake_bounds.margins import lengths, scaled
from linsep.mistake_bounds.rounding import ROUNDING, length, share_of
from linsep.separability.deciding import separation

#: largest numbers of rows that are handled
SIZES = 1e-100, 1e100
#: lengths with which the best weights have squares of usual size
USUAL = 1e-30, 1e30
#: most numbers in the constraints of the joint rule, which has one for every rival
MOST_NUMBERS = 100_000_000
#: decreasing widths of smoothing of the hinge
SMOOTHING = (1.0, 0.1, 0.01, 0.001)
#: rows whose directions are tried for a given length, and searches from the best directions
MOST_STARTS, MOST_SEARCHES = 12, 4


class Problem:
    """The problem of one binary classifier: sign-flipped rows a of A, all with ``<w, a> > 0`` if w
    separates.

    ``rivals`` consecutive constraints belong to one row of the data: one per rival for the joint
    rule, else 1. ``longest`` bounds the length of the rows of A, and of updates at a rate of 1;
    ``rounding`` bounds the rounding error of a sum over a row, as a share of its terms. Weights
    that are ``supposed`` are used instead of searching for the best.
    """

    def __init__(self, A: Any, rivals: int = 1) -> None:
        self.A, self.rivals = A, rivals
        self.supposed: np.ndarray | None = None
        if (top := float(abs(A).max())) and not SIZES[0] <= top <= SIZES[1]:
            raise DataError(
                f"The largest number is {top:.4g}, which is not between 1e-100 and 1e100: scale "
                "the features.", code="overflow",
            )  # fmt: skip
        self.rounding = share_of(A.shape[1])
        self.longest = float(lengths(A).max()) * (1 + self.rounding)

    def values(self, w: np.ndarray) -> np.ndarray:
        """Return the smallest <w, a> of each row of the data, rounded down."""
        sure = np.asarray(self.A @ w) - self.rounding * self.longest * length(w)
        return sure.reshape(-1, self.rivals).min(axis=1)

    @cached_property
    def margin(self) -> tuple[float, float] | None:
        """An interval that contains the widest margin of A; None if no ``separator`` is known."""
        if self.supposed is not None:
            self.separator, long = self.supposed, length(self.supposed) * (1 + self.rounding)
            low = float(self.values(self.separator).min()) / (long or 1.0) * (1 - ROUNDING)
            return (low, float("inf")) if low > 0 else None
        # separation needs two classes: the first row once more, turned
        signs = np.append(np.ones(self.A.shape[0]), -1.0)
        rows = scaled(self.A[np.append(np.arange(self.A.shape[0]), 0)], signs)
        found = separation(rows, signs, fit_intercept=False, margin="max")
        if not isinstance(found, Separable):
            return None
        top = Fraction(max(map(abs, found.coef[0])))  # floats may be too short for them
        self.separator = np.array([float(Fraction(one) / top) for one in found.coef[0]])
        return found.margin


def problems_of(Z: Any, codes: np.ndarray, n_classes: int, multiclass: str) -> list[Problem]:
    """Return the problems of a learner's binary classifiers: one, or one per class or pair of
    classes; of the joint rule (Collins 2002) the constraints <w_own - w_rival, z> > 0.
    """
    sides: list[Any] = [(k,) for k in range(n_classes)] if n_classes > 2 else [(1,)]
    if n_classes > 2 and multiclass == "ovo":
        sides = [*combinations(range(n_classes), 2)]
    if n_classes == 2 or multiclass != "native":
        places = [np.flatnonzero(np.isin(codes, side) | (len(side) == 1)) for side in sides]
        signs = [np.where(codes[own] == side[-1], 1.0, -1.0)
                 for own, side in zip(places, sides, strict=True)]  # fmt: skip
        return [Problem(scaled(Z[own], y)) for own, y in zip(places, signs, strict=True) if y.size]
    Z = sp.csr_matrix(Z)
    if 2 * Z.nnz * (n_classes - 1) > MOST_NUMBERS:
        raise DataError(
            "The joint rule of this many classes, rows and features needs too much memory here; "
            'the bounds of multiclass="ovr" need less.', code="too-large",
        )  # fmt: skip
    differences = np.eye(n_classes)[codes][:, None] - np.eye(n_classes)  # own class and every other
    C = differences[np.arange(n_classes) != codes[:, None]]
    rows = np.repeat(np.arange(len(codes)), n_classes - 1)
    blocks = [sp.diags(column) @ Z[rows] for column in C.T]
    return [Problem(sp.csr_matrix(sp.hstack(blocks)), n_classes - 1)]


class Comparator(NamedTuple):
    """Weights w with ||w||^2 and the sum of max(0, 1 - <w, a>) over the rows, rounded up."""

    w: np.ndarray
    square: float
    hinge: float

    @property
    def distance(self) -> float | None:
        """The total distance that rows must be moved for the margin 1/||w||: hinge(w)/||w||."""
        long = length(self.w)
        return self.hinge / long * (1 + ROUNDING) if long else None


def comparator(problem: Problem, w: np.ndarray) -> Comparator:
    """Return the comparator of given weights."""
    w = np.asarray(w, dtype=np.float64)
    losses = np.maximum(0.0, 1.0 - problem.values(w))
    square = float(w @ w) * (1 + problem.rounding)
    return Comparator(w, square, float(losses.sum()) * (1 + ROUNDING * len(losses)))


def best_comparator(problem: Problem, price: float) -> Comparator:
    """Search for the weights with the smallest ``||w||^2 + price * hinge(w)``: among multiples of
    those supposed, or else of those that a search finds and of the separator of widest margin.
    """
    starts = [problem.supposed] if problem.supposed is not None else _searched(problem, price)
    if problem.supposed is None and problem.margin is not None:
        starts.append(problem.separator)
    candidates = [w for start in starts for w in _multiples(problem, price, start)]
    found = [comparator(problem, w) for w in (np.zeros(problem.A.shape[1]), *candidates)]
    return min(found, key=lambda one: one.square + price * one.hinge)


def comparator_of_length(problem: Problem, long: float) -> Comparator:
    """Search for weights of length ``long`` with the smallest hinge loss: those supposed, scaled,
    or else from directions in which few rows fall short, among them single rows, near which the
    loss has minima.
    """
    starts, searches = [problem.supposed] if problem.supposed is not None else [], 0
    if not starts:
        square, (n, d) = problem.longest**2 or 1.0, problem.A.shape
        starts, searches = [np.ravel(problem.A.sum(axis=0))], MOST_SEARCHES
        starts += [_searched(problem, price / square)[-1] for price in (0.01, 1.0, 100.0)]
        starts += [problem.separator] if problem.margin is not None else []
        rows = problem.A[np.unique(np.linspace(0, n - 1, min(n, MOST_STARTS)).astype(int))]
        starts += [*(rows.toarray() if sp.issparse(rows) else rows), np.ones(d)]
    units = [w / length(w) for w in starts if length(w) > 0]
    found = sorted((comparator(problem, long * u) for u in units), key=lambda one: one.hinge)
    for one in found[:searches]:
        direction = _searched(problem, 1.0, long, one.w / long)[-1]
        found.append(comparator(problem, long / length(direction) * direction))
    return min(found, key=lambda one: one.hinge)


def _multiples(problem: Problem, price: float, w: np.ndarray) -> list[np.ndarray]:
    """Return w, w scaled to zero hinge loss, and w scaled to the smallest sum."""
    values, square = problem.values(w), float(w @ w)
    if not square:
        return []
    factors = [1.0]
    if values.min() > 0:
        factors.append((1 + 1e-9) / float(values.min()))
    # The sum is convex in the factor: its slope is 2 s ||w||^2 - price * (values short of 1 / s).
    order = np.sort(values[values > 0])[::-1]
    ends = np.append(1.0 / order, np.inf)  # where one more row reaches 1
    left = np.append(np.cumsum(order[::-1])[::-1], 0.0) + values[values < 0].sum()
    stationary = price * left / (2 * square)
    starts = np.append(0.0, ends[:-1])
    factors += np.clip(stationary, starts, ends)[stationary <= ends][:1].tolist()
    return [factor * w for factor in factors if factor > 0]


@one_blas_thread  # threads would only wait for each other in the small steps of L-BFGS
def _searched(
    problem: Problem, price: float, long: float | None = None, start: np.ndarray | None = None
) -> list[np.ndarray]:
    """Return weights with small ``||w||^2 + price * hinge(w)``, with decreasing smoothing and
    equilibrated columns; or directions of small hinge loss at a length, which is not convex.
    """
    A, rivals = problem.A, problem.rivals
    squares = np.ravel(A.multiply(A).sum(axis=0)) if sp.issparse(A) else (A**2).sum(axis=0)
    scale = 1.0 / np.sqrt(np.where(squares > 0, squares / A.shape[0], 1.0))
    # L-BFGS ends where changes are small beside 1.
    unit = 1.0 if USUAL[0] < problem.longest < USUAL[1] else problem.longest**2 or 1.0
    if long is not None:
        scale, unit = np.ones(A.shape[1]), 1.0
    found, v = [], np.zeros(A.shape[1]) if start is None else start
    for width in SMOOTHING:

        def objective(v: np.ndarray, width: float = width) -> tuple[float, np.ndarray]:
            factor = scale if long is None else long / float(np.linalg.norm(v))
            w = v * factor
            short = (1.0 - np.asarray(A @ w)).reshape(-1, rivals) / width
            loss = logsumexp(np.insert(short, 0, 0.0, axis=1), axis=1, keepdims=True)
            slope = -price * np.asarray(A.T @ np.exp(short - loss).ravel())
            value = price * width * float(loss.sum())
            if long is None:
                value, slope = value + float(w @ w), slope + 2 * w
            else:  # along the sphere
                slope -= (slope @ w) * w / long**2
            return unit * value, unit * slope * factor

        v = minimize(objective, v, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
        found.append(v * scale)
    return found
