"""Adaptive regularization of weights as a scikit-learn estimator, and learners with variances."""

from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from linsep.compiled.rules.confidence import AROWRule
from linsep.learners.online import LinearClassifier
from linsep.learners.state import Arrays, Learner, State
from linsep.parameters import parameter

#: the array of a state that says how well weights are known
KNOWN = "known"


class ConfidenceLearner(Learner):
    """A learner with variances of its weights.

    Precisions (inverse variances) grow by the sum of their growth in the shards. The mean of a
    weight over shards is weighted by that growth, so a feature that only one shard has seen keeps
    its weight. (In a product of normal distributions, without covariances, steps of shards along
    correlated features would add up, and grow from pass to pass.)
    """

    needs_lengths = True
    beside = MappingProxyType({KNOWN: "sum"})

    def __init__(self, make_rule: Callable[[np.ndarray], Any]):
        self.make_rule = make_rule

    def rule(self, state: State) -> Any:
        return self.make_rule(state.like_weights(KNOWN))

    def say(self, before: Arrays, after: Arrays) -> np.ndarray:
        return after[KNOWN] - before[KNOWN]


class ConfidenceClassifier(LinearClassifier):
    """Base class of the learners with a :class:`ConfidenceLearner`.

    Attributes
    ----------
    variances_ : array with the shape of ``coef_``, the variance of each weight
    intercept_variances_ : array with the shape of ``intercept_``
    """

    mixable = True

    @property
    def variances_(self) -> np.ndarray:
        return self._variances()[0]

    @property
    def intercept_variances_(self) -> np.ndarray:
        return self._variances()[1]

    def _variances(self) -> tuple[np.ndarray, np.ndarray]:
        state = self.fitted_run().state
        return state.split(1.0 / (1.0 + state.like_weights(KNOWN)))


class AROW(ConfidenceClassifier):
    """Adaptive regularization of weights: the more often a weight was updated, the less it changes.

    Every weight has a mean, used for scores, and a variance, initially 1. A row z with a margin m =
    y <w, z> below 1 causes an update: with v = sum of variance_j z_j^2, w_j grows by y variance_j
    z_j (1 - m) / (v + r), and 1 / variance_j by z_j^2 / r, as after an observation with noise of
    variance r. One pass is often enough for text and other wide sparse data. Only m <= 0 is a
    mistake; no bound on their number is known. With the native rule of several classes, a row is
    compared with its best rival, and v is the sum over both classes.

    Parameters
    ----------
    r : float, default=1.0
        Noise variance of a row; larger values reduce the effect of each row.

    References
    ----------
    K. Crammer, A. Kulesza and M. Dredze, Adaptive regularization of weight vectors, NIPS 22 (2009),
    sections 3 and 4, and Machine Learning 91 (2013).

    Examples
    --------
    >>> from linsep import AROW
    >>> p = AROW(max_iter=1, shuffle=False).fit([[1.0, 1.0], [3.0, 2.0]], ["no", "yes"])
    >>> p.coef_.tolist(), p.variances_.round(3).tolist()
    ([[0.21875, 0.0625]], [[0.091, 0.167]])
    """

    grid_example = "r=0.1,1,10"

    r: float = parameter(default=1.0, above=0.0)

    def learner(self) -> Learner:
        return ConfidenceLearner(partial(AROWRule, float(self.r)))
