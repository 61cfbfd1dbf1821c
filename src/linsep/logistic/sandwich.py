"""The robust covariance of a logistic regression at its maximum: one pass over the scores of rows.

The score of a row of weight w is w (y - p) x, for several classes one of each beside the reference.
"""

from dataclasses import dataclass, replace

import numpy as np

from linsep.batches import Batch
from linsep.inference.robust import (
    CLUSTERED,
    Robust,
    Scores,
    added_scores,
    clusters_in,
    scores_of,
    without_noise,
)
from linsep.logistic.fitting import Fit, inverted, problem_of
from linsep.logistic.likelihood import Terms
from linsep.logistic.rows import RowLanes, Task


@dataclass(frozen=True)
class RowScores:
    """The scores of the rows of a lane at weights B, in standardized features.

    Attributes
    ----------
    terms : Terms
    B : array of the shape of the weights
    covariance : str, its name
    """

    terms: Terms
    B: np.ndarray
    covariance: str

    def __call__(self, lane: Batch) -> Scores:
        """Return the sum of a lane."""
        found: Scores | None = None
        for start, Z in self.terms.blocks(lane):
            _, residuals, _, _ = self.terms.residuals(lane, start, Z, self.B)
            part = slice(start, start + len(Z))
            groups = clusters_in(lane, self.covariance)
            some = scores_of(each_class(residuals, Z), None if groups is None else groups[part])
            found = some if found is None else added_scores(found, some)
        assert found is not None
        return found


def each_class(residuals: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Return the products of the residuals of each class with the features, shape (rows,
    weights).
    """
    return (residuals[:, :, None] * Z[:, None, :]).reshape(len(Z), -1)


def with_robust(task: Task, fit: Fit) -> Fit:
    """Return a fit at its maximum with the robust covariance that the task names, if any."""
    if task.covariance is None or fit.covariance is None or not task.q:
        return fit
    how, (likelihood, _) = fit.standardization, problem_of(task, fit.standardization)
    information = likelihood.at(fit.B).hessian
    assert information is not None
    lanes = likelihood.lanes
    if task.covariance == CLUSTERED and task.lanes is None:
        assert task.clustered is not None
        lanes = RowLanes(task.clustered).replaced(how)
    work = RowScores(likelihood.terms, fit.B, task.covariance)
    found = lanes.sum(work, added_scores, likelihood.terms.lane_rows)
    robust = robust_of(task, found, task.width - len(how.dependent))
    back = np.kron(np.eye(task.q), how.matrix(task.intercept))
    inverse = inverted(information)
    root, plain = robust.root @ inverse @ back.T, back @ inverse @ back.T
    covariance = without_noise(root.T @ root, plain)
    return replace(fit, covariance=covariance, clusters=robust.clusters)


def robust_of(task: Task, found: Scores, width: int) -> Robust:
    """Return the inner part of the covariance of ``width`` estimates a class."""
    return Robust.of(str(task.covariance), found, task.n_rows, task.q * width)
