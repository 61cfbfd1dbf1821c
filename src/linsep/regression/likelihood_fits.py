"""Firth's estimates of a regression, and what profiles of its likelihood say of every weight."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from linsep.regression.firth import Maximum, Objective, inverse_of, maximised
from linsep.regression.likelihood import Likelihood, working
from linsep.regression.logistic import Task
from linsep.regression.preparing import Seen, sampled, seen
from linsep.regression.profiles import Interval, Profile
from linsep.regression.steps import Steps

#: limits of weights that have no finite estimate
RUNAWAY = ("+inf", "-inf", "infinite")
#: numbers of an interval: its ends, and the p-value of zero
Ends = tuple[np.ndarray, np.ndarray, np.ndarray]


class FirthFit(NamedTuple):
    """Firth's estimates, in the features as they are.

    Attributes
    ----------
    weights : array of shape (q, width), the intercept last; 0 for features left out
    log_likelihood : float, the penalty left out
    covariance : array of shape (q width, q width), the inverse of the information
    reason : "converged", "max_iter" or "stuck"
    n_iter : int
    gained : float, twice what the features add to the penalised log-likelihood
    dependent : tuple of int, the features left out
    ends : (low, high, p) of every weight by profiles, arrays of the shape of the weights; None
        where they were not asked for
    """

    weights: np.ndarray
    log_likelihood: float
    covariance: np.ndarray
    reason: str
    n_iter: int
    gained: float
    dependent: tuple[int, ...]
    ends: Ends | None


@contextmanager
def _opened(task: Task, penalised: bool) -> Iterator[tuple[Objective, Seen, np.ndarray]]:
    """The objective of a task, how features are seen, and the matrix that turns its weights into
    those of the features as they are.
    """
    with working() as pool:
        sample, whole = sampled(task.batches, max(20_000, 20 * task.q * task.width))
        form = task.n_features, task.intercept
        how = seen(sample, task.batches, whole, *form, True, pool)
        likelihood = Likelihood(
            how.batches(task.batches), task.q, how.centres, how.scales, task.intercept, pool
        )
        used = np.append(how.scales > 0.0, [True] * task.intercept)
        objective = Objective(likelihood, used, penalised)
        raw = np.kron(np.eye(task.q), how.matrix(task.intercept))[:, objective.used]
        yield objective, how, raw


def firth_fitted(task: Task, level: float | None, steps: Steps) -> FirthFit:
    """Maximise Firth's penalised likelihood.

    Parameters
    ----------
    task : Task, of rows in memory and no more weights than a Hessian is made for
    level : of the profile intervals, None for none
    steps : what is told; ``ended`` becomes the fit without them
    """
    with _opened(task, penalised=True) as (objective, how, raw):
        start = np.zeros((task.q, task.width))
        if task.intercept:
            start[:, -1] = np.log(task.totals[:-1] / task.totals[-1])
        flat = start.ravel()[objective.used]
        tol = task.tol * float(task.totals.sum())
        told = steps.of(lambda b: (raw @ b).reshape(task.q, task.width), how.dependent)
        top = maximised(objective, flat, tol=tol, max_iter=task.max_iter, told=told)
        constant = objective.used % task.width == task.n_features
        none = maximised(objective, flat * constant, np.eye(objective.size)[:, constant])
        inverse = inverse_of(top.known.information)
        shape = task.q, task.width
        covariance = np.full(2 * (len(raw),), np.nan) if inverse is None else raw @ inverse @ raw.T
        found = FirthFit(
            (raw @ top.b).reshape(shape), top.known.log_likelihood, covariance, top.reason,
            top.n_iter, 2.0 * (top.value - none.value), how.dependent, None,
        )  # fmt: skip
        if level is None:
            return found
        steps.ended = found
        _profile(objective, top, raw, level, np.full(shape, ""), steps)
        return found._replace(ends=ends_of(steps, shape))


def profiled(
    task: Task, weights: np.ndarray, limits: np.ndarray, log_likelihood: float, level: float,
    steps: Steps,
) -> Ends:  # fmt: skip
    """Intervals and tests of every weight by profiles of the plain likelihood.

    Parameters
    ----------
    task : as for :func:`firth_fitted`
    weights : array of shape (q, width)
        Of the largest likelihood; where there is none, so large that rows which run away have their
        class with certainty.
    limits : array of str of that shape, what becomes of each weight
    log_likelihood : float, the largest, or the supremum
    level : of the intervals
    steps : what is told
    """
    with _opened(task, penalised=False) as (objective, how, raw):
        flat = how.standard(weights, task.intercept).ravel()[objective.used]
        if np.isin(limits, RUNAWAY).any():
            known = objective.at(flat)._replace(value=log_likelihood)
            top = Maximum(flat, known, np.zeros(2 * (len(flat),)), "converged", 0)
        else:
            top = maximised(objective, flat, tol=task.tol * float(task.totals.sum()))
        _profile(objective, top, raw, level, limits, steps)
        return ends_of(steps, limits.shape)


def _profile(
    objective: Objective, top: Maximum, raw: np.ndarray, level: float, limits: np.ndarray,
    steps: Steps,
) -> None:  # fmt: skip
    """Work out the intervals of all weights, one after another; NaN for those left out."""
    found = steps.intervals
    for of, limit in zip(raw, limits.ravel().tolist(), strict=True):
        if not of.any():
            found.append(Interval(np.nan, np.nan, np.nan))
            continue
        runs = limit if limit in RUNAWAY else ""
        found.append(Profile(objective, top, of).interval(level, runs))


def ends_of(steps: Steps, shape: tuple[int, ...]) -> Ends:
    """The intervals as arrays, NaN for those that were not worked out."""
    missing = int(np.prod(shape)) - len(steps.intervals)
    found = [*steps.intervals, *[Interval(np.nan, np.nan, np.nan)] * missing]
    low, high, p = (np.array(part).reshape(shape) for part in zip(*found, strict=True))
    return low, high, p
