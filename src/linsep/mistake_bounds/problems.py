"""Problems of the convergence theory, and the weights that a bound compares a learner with.

A problem is the sign-flipped rows of one binary classifier, on which separators are positive. Any
weights give a valid bound. A convex program searches for the weights with the smallest bound, the
*comparator*; their norms and losses are then computed with outward rounding.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

from linsep._system.threads import one_blas_thread
from linsep.certificate.verdicts import Separable
from linsep.errors import DataError
from linsep.mistake_bounds.margins import augmented, checked_rows, lengths, scaled, unit_rows
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
#: rows whose directions are tried on the sphere, and searches from the best directions
MOST_STARTS, MOST_SEARCHES = 12, 4


class Problem:
    """The problem of one binary classifier: sign-flipped rows a, all with ``<w, a> > 0`` if w
    separates.

    Attributes
    ----------
    A : array or CSR matrix of shape (constraints, weights)
    rivals : int
        Consecutive constraints that belong to one row of the data: one per rival for the joint
        rule, else 1.
    longest : float
        Upper bound on the length of the rows of A, and of updates at a rate of 1.
    rounding : float
        Bound on the rounding error of a sum over a row, as a share of its terms.
    verdict : str
        The verdict of :func:`linsep.separation`, once ``margin`` has been computed.
    """

    def __init__(self, A: Any, rivals: int = 1) -> None:
        self.A, self.rivals, self.verdict = A, rivals, "separable"
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
        """An interval that contains the widest margin of A; None if no separator is known."""
        # separation needs two classes: the first row once more, turned
        signs = np.append(np.ones(self.A.shape[0]), -1.0)
        rows = scaled(self.A[np.append(np.arange(self.A.shape[0]), 0)], signs)
        found = separation(rows, signs, fit_intercept=False, margin="max")
        if not isinstance(found, Separable):
            self.verdict = found.kind  # type: ignore[union-attr]
            return None
        coef, top = found.coef[0], max(map(abs, found.coef[0]))
        if isinstance(top, int):  # if floats are too short
            coef = tuple(float(Fraction(weight) / top) for weight in coef)
        self.separator = np.array(coef)
        return found.margin

    def suppose(self, w: np.ndarray) -> None:
        """Use these weights as the separator instead of searching for the best."""
        long = length(w) * (1 + self.rounding)
        low = float(self.values(w).min()) / long * (1 - ROUNDING) if long else 0.0
        self.separator = w
        self.__dict__["margin"] = (low, float("inf")) if low > 0 else None
        self.verdict = "not separated by the given weights" if low <= 0 else "separable"


def seen_rows(X: Any, fit_intercept: bool, unit: bool, unit_augmented: bool) -> Any:
    """Return z for every row, scaled to length 1 before or after adding the constant feature."""
    X = checked_rows(X)
    if unit:
        X = unit_rows(X)
    if fit_intercept:
        X = augmented(X)
    return unit_rows(X) if unit_augmented else X


def problems_of(Z: Any, codes: np.ndarray, n_classes: int, multiclass: str) -> list[Problem]:
    """Return the problems of a learner's binary classifiers: one, or one per class or pair of
    classes.
    """
    if n_classes == 2:
        return [Problem(scaled(Z, np.where(codes == 1, 1.0, -1.0)))]
    if multiclass == "ovr":
        return [Problem(scaled(Z, np.where(codes == k, 1.0, -1.0))) for k in range(n_classes)]
    if multiclass == "ovo":
        pairs = [
            (np.isin(codes, pair), np.where(codes == pair[1], 1.0, -1.0))
            for pair in combinations(range(n_classes), 2)
        ]
        return [Problem(scaled(Z[own], signs[own])) for own, signs in pairs if own.any()]
    return [_problem_of_joint_rule(Z, codes, n_classes)]


def _problem_of_joint_rule(Z: Any, codes: np.ndarray, k: int) -> Problem:
    """Return the constraints <w_own - w_rival, z> > 0 on all weights at once (Collins 2002)."""
    Z = sp.csr_matrix(Z)
    if 2 * Z.nnz * (k - 1) > MOST_NUMBERS:
        raise DataError(
            "The joint rule of this many classes, rows and features needs too much memory here; "
            'the bounds of multiclass="ovr" need less.', code="too-large",
        )  # fmt: skip
    differences = np.eye(k)[codes][:, None] - np.eye(k)  # of the own class and of every other
    rivals = np.arange(k) != codes[:, None]
    rows = np.repeat(np.arange(len(codes)), k - 1)
    blocks = [sp.diags(differences[rivals][:, c]) @ Z[rows] for c in range(k)]
    return Problem(sp.csr_matrix(sp.hstack(blocks)), k - 1)


class Comparator(NamedTuple):
    """Weights with their norm and loss, rounded up.

    Attributes
    ----------
    w : array
    square : float
        ||w||^2.
    hinge : float
        The sum over the rows of max(0, 1 - <w, a>).
    """

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


def best_comparator(problem: Problem, price: float, given: np.ndarray | None = None) -> Comparator:
    """Search for the weights with the smallest ``||w||^2 + price * hinge(w)``.

    Parameters
    ----------
    problem : the rows
    price : float > 0
    given : weights whose multiples are tried; by default a convex program is solved (L-BFGS on
        a smoothed hinge), and the separator of widest margin is also tried
    """
    starts = [given] if given is not None else _solved(problem, price)
    if given is None and problem.margin is not None:
        starts.append(problem.separator)
    multiples = [w for start in starts for w in _multiples(problem, price, start)]
    candidates = [np.zeros(problem.A.shape[1]), *multiples]
    found = [comparator(problem, w) for w in candidates]
    return min(found, key=lambda one: one.square + price * one.hinge)


def comparator_of_length(problem: Problem, long: float, given: np.ndarray | None) -> Comparator:
    """Search for weights of length ``long`` with the smallest hinge loss.

    Parameters
    ----------
    problem : the rows
    long : float > 0
    given : weights that are scaled to this length; by default L-BFGS minimizes a smoothed hinge on
        the sphere, where it is not convex, from several directions
    """
    starts = [given] if given is not None else _directions(problem)
    units = [w / length(w) for w in starts if length(w) > 0]
    found = sorted((comparator(problem, long * u) for u in units), key=lambda one: one.hinge)
    if given is None:
        starts = [one.w / long for one in found[:MOST_SEARCHES]]
        found += [comparator(problem, long * _on_sphere(problem, long, u)) for u in starts]
    return min(found, key=lambda one: one.hinge)


def _directions(problem: Problem) -> list[np.ndarray]:
    """Return initial directions in which few rows fall short, among them single rows, near which
    the loss has minima.
    """
    square = problem.longest**2 or 1.0
    found = [_solved(problem, price / square)[-1] for price in (0.01, 1.0, 100.0)]
    found += [problem.separator] if problem.margin is not None else []
    n, d = problem.A.shape
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
            short = (1.0 - long * np.asarray(A @ (v / size))) / width
            slope = -long * np.asarray(A.T @ expit(short))
            slope -= (slope @ v) * v / size**2
            return width * float(np.logaddexp(0.0, short).sum()), slope / size

        v = minimize(objective, v, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
        v = v / length(v)
    return v


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
def _solved(problem: Problem, price: float) -> list[np.ndarray]:
    """Return solutions of programs with decreasing smoothing and equilibrated columns."""
    A, rivals = problem.A, problem.rivals
    # L-BFGS ends where changes are small beside 1.
    unit = 1.0 if USUAL[0] < problem.longest < USUAL[1] else problem.longest**2 or 1.0
    squares = np.ravel(A.multiply(A).sum(axis=0)) if sp.issparse(A) else (A**2).sum(axis=0)
    scale = 1.0 / np.sqrt(np.where(squares > 0, squares / A.shape[0], 1.0))
    found, v = [], np.zeros(A.shape[1])
    for width in SMOOTHING:

        def objective(v: np.ndarray, width: float = width) -> tuple[float, np.ndarray]:
            w = v * scale
            short = (1.0 - np.asarray(A @ w)).reshape(-1, rivals) / width
            loss = logsumexp(np.insert(short, 0, 0.0, axis=1), axis=1, keepdims=True)
            gradient = 2 * w - price * np.asarray(A.T @ np.exp(short - loss).ravel())
            value = float(w @ w) + price * width * float(loss.sum())
            return unit * value, unit * gradient * scale

        v = minimize(objective, v, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
        found.append(v * scale)
    return found
