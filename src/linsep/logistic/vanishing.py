"""Weights of a ridge that vanishes, which predict where a likelihood has no maximum.

As the factor of a ridge goes to zero, the weights of separable classes, divided by their length,
converge to the direction of the widest margin (Rosset, Zhu and Hastie, Margin maximizing loss
functions, NIPS 16, 2004), and the scores of the rows on a boundary to their limits. The weights of
an unpenalized ascent come near only after very many steps; a ridge has one maximum, which Newton's
method finds in a few steps from the weights of larger ridges.

The more rows and weights, the longer the smallest ridges take, and the less these matter: with
many, the path ends early.
"""

from typing import NamedTuple

import numpy as np

from linsep.logistic import ascent
from linsep.logistic.ascent import Goal, Penalty
from linsep.logistic.existence import separates
from linsep.logistic.likelihood import Likelihood
from linsep.logistic.outcomes import Report, no_report
from linsep.logistic.rows import Task

#: factors of the ridge on the way and at the end, per unit of weight of the rows
RIDGES = tuple(10.0**-k for k in range(2, 9))
#: distance to the maximum of the first, in standard errors
NEAR = 0.01
#: share of the penalty that the last step of each factor may gain
GAIN = 1e-2
#: most weights for a Hessian, which is worth its time here for fewer weights than inference needs,
#: and with more weights the most products of it and its factor: rows and weights, times squared
#: weights
MOST_FACTORED, MOST_PRODUCTS = 400, 2e9
#: most steps for one factor
STEPS = 50
#: number of factors for more products, and distance to the maximum of the first, in standard errors
FIRST, FAR = 3, 1.0


class Path(NamedTuple):
    """The end of a path down ridges.

    Attributes
    ----------
    B : array of the shape of the weights
    ridge : int, index of the last ridge
    n_iter : int, number of steps
    right : bool, whether these weights have every row on their side
    """

    B: np.ndarray
    ridge: int
    n_iter: int
    right: bool


def is_large(task: Task) -> bool:
    """Return whether there may be a Hessian, but it is slow to sum."""
    n_weights = task.q * task.width
    products = (task.n_rows + n_weights) * n_weights**2
    return task.factored and n_weights > MOST_FACTORED and products > MOST_PRODUCTS


def down_ridges(
    task: Task, likelihood: Likelihood, plain: Penalty, start: np.ndarray | None = None,
    first: int = 0, report: Report = no_report,
) -> Path:  # fmt: skip
    """Return the weights of the smallest ridge; if the Hessian is slow to sum, the weights of the
    third, or of the first that classifies every row correctly.

    Parameters
    ----------
    task : Task
    likelihood, plain : the likelihood and its penalty without a ridge
    start : array of the shape of the weights, default zeros
    first : int, index of the first ridge
    report : called after each step
    """
    total, large = float(task.totals.sum()), is_large(task)
    factored = task.factored and not large
    climb = ascent.newton if factored else ascent.newton_cg
    free = (np.arange(task.width) < task.n_features) & (plain.factors == 0)
    levels = tuple(np.array(of) for of in task.levels if of and free[list(of)].all())
    rows, n_iter, right, k = task.n_rows / total, 0, False, first
    B = before = np.zeros(likelihood.shape) if start is None else start
    for k in range(first, FIRST if large else len(RIDGES)):
        factors = np.where(free, RIDGES[k] * total, plain.factors)
        penalty = Penalty(factors, 1.0 / (task.q + 1) if task.several else 0.0, levels)
        # weights grow as the logarithm of the factor
        begun = B if k < first + 2 else 2.0 * B - before
        tol = float(np.sqrt(GAIN * penalty.value(begun) * rows)) if k else FAR if large else NEAR
        goal = Goal(rows, tol, STEPS, factored, prove=False, penalized=True)
        found = climb(likelihood, penalty, begun, goal, report)
        before, B, n_iter = B, found.B, n_iter + found.n_iter
        right = large and separates(likelihood.moves(B))
        if right:
            break
    return Path(B, k, n_iter, right or (not large and separates(likelihood.moves(B))))
