"""Weights that predict where a likelihood has no maximum: those of a ridge that vanishes.

As the factor of a ridge goes to zero, the weights of separable classes, divided by their length,
converge to those of the widest margin (Rosset, Zhu and Hastie, Margin maximizing loss functions,
NIPS 16, 2004), and the scores of the rows on a boundary to those of the limit. The weights of an
unpenalised ascent come near only after very many steps; a ridge has one maximum, which Newton's
method finds in a few steps from those of larger ridges.
"""

from dataclasses import replace

import numpy as np

from linsep.logistic import ascent
from linsep.logistic.ascent import Goal, Penalty
from linsep.logistic.existence import separates
from linsep.logistic.fitting import NEAR, Fit, problem_of
from linsep.logistic.preparing import Standardization, of_all
from linsep.logistic.rows import Task

#: factors of the ridge on the way and at the end, per unit of weight of the rows
RIDGES = tuple(10.0**-k for k in range(2, 9))
#: share of the penalty that the last step of each factor may gain
GAIN = 1e-2
#: most weights for a Hessian, which is worth its time here for fewer weights than inference needs
MOST_FACTORED = 400
#: most steps for one factor
STEPS = 50


def predicting(task: Task, fit: Fit) -> Fit:
    """Return the fit with the weights of the smallest ridge.

    Its coefficients are those per standard deviation, of columns of zeros and ones per unit, and
    columns that depend on others have their share. With too many weights for a Hessian the columns
    are those of the fit, as where its replacements of nearly dependent ones separate the classes.
    """
    if not task.factored:
        return _by_ridges(task, fit, fit.standardization)[0]
    how = of_all(task.batches, task.n_features, task.intercept)
    found, right = _by_ridges(task, fit, how)
    if right or fit.standardization.straight is None:
        return found
    return _by_ridges(task, fit, fit.standardization)[0]


def _by_ridges(task: Task, fit: Fit, how: Standardization) -> tuple[Fit, bool]:
    """Return the fit with the weights of the smallest ridge in features standardised so, and
    whether all rows are on the right side.
    """
    total = float(task.totals.sum())
    likelihood, plain = problem_of(replace(task, l2=0.0), how)
    factored = task.factored and task.q * task.width <= MOST_FACTORED
    climb = ascent.newton if factored else ascent.newton_cg
    free = (np.arange(task.width) < task.n_features) & (plain.factors == 0)
    levels = tuple(np.array(of) for of in task.levels if of and free[list(of)].all())
    rows = task.n_rows / total
    B = before = np.zeros(likelihood.shape)
    for k, ridge in enumerate(RIDGES):
        factors = np.where(free, ridge * total, plain.factors)
        penalty = Penalty(factors, 1.0 / (task.q + 1) if task.several else 0.0, levels)
        start = B if k < 2 else 2.0 * B - before  # weights grow as the logarithm of the factor
        tol = float(np.sqrt(GAIN * penalty.value(start) * rows)) if k else NEAR
        goal = Goal(rows, tol, STEPS, factored, prove=False, penalised=True)
        before, B = B, climb(likelihood, penalty, start, goal).B
    found = replace(fit, weights=how.raw(B, task.intercept), B=B, standardization=how)
    return found, separates(likelihood.moves(B))
