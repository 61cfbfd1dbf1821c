"""The soft margin in the space of a kernel: its rows, known by their kernel values, and its proof.

Floating-point kernel values are treated as exact. Values of a positive semidefinite kernel are
inner products of rows, so :mod:`linsep.soft_margins.problem` holds for them.
"""

import math
from typing import Any, Self

import numpy as np

from linsep._system.interrupts import interruption_point, interrupts_allowed
from linsep.compiled.rows import as_rows
from linsep.compiled.soft_margin import score_carefully
from linsep.kernels.foreign import GramRows
from linsep.soft_margins.problem import (
    EPS,
    TINY,
    Certificate,
    Problem,
    best_intercept,
    feasible,
)

#: kernel values computed at once
AT_ONCE = 1 << 21


class KernelRows:
    """Rows in the space of a kernel.

    Parameters
    ----------
    kernel : a fitted :class:`linsep.kernels.Kernel`
    prepared : rows prepared by it
    shift : float, a constant added to all kernel values: the square of a constant feature
    """

    def __init__(self, kernel: Any, prepared: Any, shift: float = 0.0):
        self.kernel, self.prepared, self.shift = kernel, prepared, shift
        self.squares = self.kernel.diagonal(prepared) + shift
        self._whole: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.squares)

    def some(self, rows: np.ndarray) -> Self:
        """Return the space of some of the rows, by their numbers."""
        if rows.size == len(self):
            return self
        found = type(self)(self.kernel, self.prepared[rows], self.shift)
        if self._whole is not None:
            found._whole = self._whole[np.ix_(rows, rows)]
        return found

    def between(self, a: Any, b: Any) -> np.ndarray:
        """Return kernel values of two sets of rows, by their numbers or slices."""
        if self._whole is not None:
            return self._whole[a][:, b]
        interruption_point()
        with interrupts_allowed():  # a kernel may be a user's function
            left = self.prepared[a]
            found = self.kernel.gram(left, left if a is b else self.prepared[b])
        if self.shift:
            found += self.shift
        return found

    def whole(self) -> np.ndarray:
        """Return kernel values of all pairs of rows (cached)."""
        if self._whole is None:
            given = self.prepared.whole if isinstance(self.prepared, GramRows) else None
            if given is None or self.shift:
                everything = np.arange(len(self))
                given = np.ascontiguousarray(self.between(everything, everything))
            self._whole = given
        return self._whole

    def add_products(
        self, rows: np.ndarray | None, columns: np.ndarray, amounts: np.ndarray, out: np.ndarray,
        careful: bool = False,
    ) -> None:  # fmt: skip
        """Add to ``out`` the products of ``rows`` (None: all) with sum_j amounts_j x_j over
        ``columns``.

        The rounding error of each is below ``unit_of(columns.size)`` times sqrt(K(x, x)) times
        sum_j |amounts_j| sqrt(K(x_j, x_j)). If ``careful``, sums are in twice the precision: it is
        below the square of that unit, and two roundings of the product.
        """
        step = max(1, AT_ONCE // max(1, columns.size))
        right = None if self._whole is not None else self.prepared[columns]
        size = len(self) if rows is None else rows.size
        for start in range(0, size, step):
            part = slice(start, min(start + step, size))
            these = part if rows is None else rows[part]
            if right is None:
                values = self._whole[these][:, columns]  # type: ignore[index]
            else:
                interruption_point()
                with interrupts_allowed():
                    values = self.kernel.gram(self.prepared[these], right)
                if self.shift:
                    values += self.shift
            out[these] += _twofold(values, amounts) if careful else _in_parts(values, amounts)


def _twofold(values: np.ndarray, amounts: np.ndarray) -> np.ndarray:
    """Return the product of a matrix and a vector, in twice the precision, rounded."""
    found, reach = np.empty((2, len(values)))
    rows = as_rows(np.ascontiguousarray(values))
    score_carefully(rows, np.append(amounts, 0.0), 0.0, found, reach)
    return found


def _in_parts(values: np.ndarray, amounts: np.ndarray) -> np.ndarray:
    """Return the product of a matrix and a vector, in sums of a few terms each."""
    found, step = np.zeros(len(values)), _terms(amounts.size)
    for start in range(0, amounts.size, step):
        found += values[:, start : start + step] @ amounts[start : start + step]
    return found


def _terms(size: int) -> int:
    """Return how many terms of a sum BLAS may add in any order; such partial sums are added in
    order.
    """
    return max(16, math.isqrt(size))


def unit_of(terms: int) -> float:
    """Return an upper bound on the relative rounding error of :meth:`KernelRows.add_products`."""
    return 2 * (_terms(terms) + terms // _terms(terms) + 4) * EPS


class KernelProblem(Problem):
    """A :class:`linsep.soft_margins.problem.Problem` whose rows ``X`` are :class:`KernelRows`; the
    constant feature of a penalized intercept is included in them.
    """

    X: KernelRows


def certified(
    problem: KernelProblem, dual: np.ndarray, scores: np.ndarray, error: float
) -> Certificate:
    """Return the certificate of dual variables, made feasible, and of their implicit weights sum_i
    a_i y_i phi(x_i).

    Parameters
    ----------
    problem : KernelProblem
    dual : float64 array of shape (rows,), any numbers
    scores : float64 array of shape (rows,), sum_j a_j y_j K(x_j, x_i) of these dual variables
    error : float, the error of scores is at most this many times sqrt(K(x_i, x_i))
    """
    roots = np.sqrt(np.maximum(problem.X.squares, 0.0)) * (1 + 4 * EPS)
    y, rows = problem.signs, len(dual)
    with np.errstate(over="ignore", invalid="ignore"):
        square = float((dual * y) @ scores) + 2 * problem.penalty(dual)
        multiple = float(dual.sum()) / square if 0.0 < square < math.inf else 1.0
        multiple = multiple if problem.squared else min(1.0, multiple)
        found, total = feasible(problem, dual * multiple)
        scores = scores * multiple
        # the products of what was added to the dual variables, by the inequality of Cauchy
        moved = np.abs(found - multiple * dual) + 2 * EPS * multiple * dual
        error = (multiple * error + float(moved @ roots)) * (1 + 2 * (rows + 4) * EPS)
        slack = error * roots * (1 + 8 * EPS) + 4 * EPS * np.abs(scores) + TINY
        near = 1.0 + 2 * (rows + 16) * EPS
        square = float((found * y) @ scores) + float(found @ slack) * near
        square += 2 * (rows + 4) * EPS * float(found @ np.abs(scores))
        intercept = best_intercept(problem, scores) if problem.free else 0.0
        short = 1.0 - y * (scores + intercept) + slack
        short += 8 * EPS * (1.0 + abs(intercept) + np.abs(scores))
        primal = square / 2 + float(problem.losses(short).sum()) * near
        bound = total - (square / 2 + problem.penalty(found) * near)
        primal += 4 * EPS * abs(primal) + TINY
        bound = max(0.0, bound - 4 * EPS * (abs(total) + abs(square)) - TINY)
    return Certificate(np.empty(0), float(intercept), found, primal, bound)
