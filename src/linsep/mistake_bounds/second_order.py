"""Bounds of learners with the full matrix of their update rows: AROW with a full covariance matrix,
and the second-order perceptron.

For any weights u, with H(u) their hinge loss over all steps, both have the form

    M <= sqrt((r |u|^2 + u'X u) (ln det(I + X / r) + U)) + H(u) - U

where X is the sum of z z' over the updates, and U the number of updates without a mistake (0 for
the second-order perceptron, whose r is called a; its margin gamma is 1 / |u| here). Sums over
updates are replaced by sums over all steps, which are not smaller. Then u may be chosen: with sums
over updates, u = 0 gives M itself.
"""

from __future__ import annotations

from math import log2
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cholesky
from scipy.special import expit

from linsep.mistake_bounds.bounding import Theorem, brought
from linsep.mistake_bounds.bounds import Unknown
from linsep.mistake_bounds.margins import lengths
from linsep.mistake_bounds.problems import Problem, comparator, minimized
from linsep.mistake_bounds.rounding import ROUNDING, length, share_of

#: relative rounding error of one operation
EPSILON = float(np.finfo(np.float64).eps)
#: as many as learners with whole matrices take, with the intercept
MOST_WEIGHTS = 4001
CRAMMER = (
    "K. Crammer, A. Kulesza and M. Dredze, Adaptive regularization of weight vectors, NIPS 22 "
    "(2009), theorem 2"
)
CESA_BIANCHI = (
    "N. Cesa-Bianchi, A. Conconi and C. Gentile, A second-order perceptron algorithm, SIAM J. "
    "Comput. 34 (2005), theorem 3.1"
)


class Seen(NamedTuple):
    """The rows of a problem, repeated for all passes, with noise of variance ``r``.

    ``r`` is in the units of the rows of the problem, which may be rescaled.
    """

    problem: Problem
    rounds: int
    r: float

    @classmethod
    def of(cls, problem: Problem, rounds: int, r: float) -> Seen:
        """Return the rows with r in the units of the data."""
        with np.errstate(over="ignore"):
            scaled = float(np.ldexp(r, -2 * problem.exponent))
        if not 0 < scaled < np.inf:
            raise Unknown("r relative to the length of the rows overflows float64")
        return cls(problem, rounds, scaled)

    def log_det(self) -> float:
        """Return ln det(I + X / r), rounded up: by a Cholesky decomposition or, if its error is too
        large, by Hadamard's inequality, the product of the diagonal.
        """
        A, factor = self.problem.A, self.rounds / self.r
        n, d = A.shape
        if d > MOST_WEIGHTS:
            raise Unknown(f"the matrix of more than {MOST_WEIGHTS:,} weights is too large")
        gram = A.T @ A
        matrix = factor * (gram.toarray() if sp.issparse(gram) else np.asarray(gram))
        safe = 1 + share_of(n)
        hadamard = float(np.log1p(matrix.diagonal() * safe).sum()) * (1 + share_of(d))
        matrix[np.diag_indices(d)] += 1.0
        # All eigenvalues are 1 or more, so that an error E of the matrix changes the logarithm by
        # less than d |E| / (1 - |E|); |E| is below this share of the trace.
        error = (n + d + 2) * EPSILON * float(np.trace(matrix)) * safe
        if not error < 0.5:
            return hadamard
        decomposed = cholesky(matrix, check_finite=False)
        found = 2 * float(np.log(decomposed.diagonal()).sum())
        return min(hadamard, (found + d * error / (1 - error)) * (1 + share_of(d)))

    def square(self, u: np.ndarray) -> float:
        """Return r |u|^2 + u'X u, rounded up."""
        values = np.abs(np.asarray(self.problem.A @ u))
        sure = values + self.problem.rounding * self.problem.longest * length(u)
        own = self.r * float(u @ u) * (1 + self.problem.rounding)
        return (own + self.rounds * float(sure @ sure)) * (1 + share_of(len(values)))


def second_order_bound(
    seen: Seen, others: int = 0, given: np.ndarray | None = None, log_det: float | None = None
) -> float:
    """Return the bound on mistakes, rounded up, with the best weights found.

    Parameters
    ----------
    seen : the rows of all steps
    others : int
        U, the number of updates without a mistake; for several binary classifiers an upper bound
        for each.
    given : weights to compare with, in the units of the rows of the problem; None searches
    log_det : of ``seen``, if it is known
    """
    L = seen.log_det() if log_det is None else log_det
    candidates = [given] if given is not None else _searched(seen, np.sqrt(L + others))
    return min(_value(seen, u, L, others, others) for u in candidates)


def second_order_theorem(case: Any, r: float, source: str) -> Theorem:
    """Return the theorem about a :class:`linsep.mistake_bounds.bounding.Case` of a learner with the
    noise variance r, or the initial diagonal r.
    """

    def most() -> float:
        run = case.run
        if case.joint:
            raise Unknown(
                "it assumes one matrix for the weights of all classes, but the native rule has "
                "one per class"
            )
        if run.mistakes is None or run.updates is None:
            raise Unknown("it needs the updates of a run")
        seen = [Seen.of(problem, run.passes, r) for problem in case.problems]
        if any(not lengths(one.problem.A).all() for one in seen):
            raise Unknown("rows of zeros are mistakes without an update")
        others = run.updates - run.mistakes
        if len(seen) > 1:
            return sum_of_bounds(seen, others)
        return second_order_bound(seen[0], others, brought(seen[0].problem, case.weights))

    return Theorem("second order", most, "mistakes", source)


def too_small(case: Any, r: float) -> str | None:
    """Return why underflow may have affected a run whose noise has the variance r, or None."""
    for problem in case.problems:
        found = lengths(problem.A)
        shortest = problem.log2(float(found[found > 0].min(initial=1.0)))
        if (why := problem.underflow(2 * shortest, 2 * shortest - log2(r))) is not None:
            return why
    return None


def sum_of_bounds(seen: list[Seen], others: int) -> float:
    """Return the sum of the bounds of several binary classifiers, for which only the total number
    of updates without a mistake, ``others``, is known.
    """
    total = 0.0
    for one in seen:
        L = one.log_det()
        total += min(_value(one, u, L, 0, others) for u in _searched(one, np.sqrt(L + others)))
    return total * (1 + ROUNDING)


def _value(seen: Seen, u: np.ndarray, log_det: float, least: int, most: int) -> float:
    """Return the bound with weights u for the worst U between two numbers."""
    a, hinge = seen.square(u), seen.rounds * comparator(seen.problem, u).hinge
    # sqrt(a (L + U)) - U is concave in U, and highest at a / 4 - L.
    worst = float(np.clip(a / 4 - log_det, least, most))
    return (float(np.sqrt(a * (log_det + worst))) + hinge) * (1 + ROUNDING) - worst * (1 - ROUNDING)


def _searched(seen: Seen, slope: float) -> list[np.ndarray]:
    """Return weights with small ``slope sqrt(r |u|^2 + u'X u) + H(u)``, with decreasing smoothing
    of both terms.
    """
    A, rounds = seen.problem.A, seen.rounds

    def smoothed(u: np.ndarray, width: float) -> tuple[float, np.ndarray]:
        scores = np.asarray(A @ u)
        root = np.sqrt(seen.r * (u @ u) + rounds * (scores @ scores) + width**2)
        short = (1.0 - scores) / width
        loss, share = np.logaddexp(0.0, short).sum(), expit(short)
        pull = rounds * (slope * scores / root - share)
        gradient = slope * seen.r * u / root + np.asarray(A.T @ pull)
        return slope * root + rounds * width * float(loss), gradient

    found = minimized(A, smoothed)
    if seen.problem.margin is not None:
        separator = seen.problem.separator
        least = float(seen.problem.values(separator).min())
        found += [separator * (1 + 1e-9) / least] * (least > 0)
    return found
