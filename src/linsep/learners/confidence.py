"""Shared code of the learners with variances of their weights."""

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np

from linsep.learners.online import LinearClassifier
from linsep.learners.state import Arrays, Learner, State

#: the array of a state that says how well weights are known
KNOWN = "known"


class ConfidenceLearner(Learner):
    """A learner with variances of its weights.

    Observations of shards add up: precisions (inverse variances) grow by the sum of their growth in
    the shards. The mean of a weight over shards is weighted by that growth, so a feature that only
    one shard has seen keeps its weight. (The product of the shards' normal distributions is not
    used: without covariances, steps of shards along correlated features would add up, and grow from
    pass to pass.)
    """

    needs_lengths = True
    beside = MappingProxyType({KNOWN: "sum"})

    def __init__(self, make_rule: Callable[[np.ndarray], Any]):
        self.make_rule = make_rule

    def rule(self, state: State) -> Any:
        return self.make_rule(state.like_weights(KNOWN))

    def say(self, state: State, before: Arrays, after: Arrays) -> np.ndarray:
        return after[KNOWN] - before[KNOWN]


class ConfidenceClassifier(LinearClassifier):
    """Base class of the learners with a :class:`ConfidenceLearner`."""

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
