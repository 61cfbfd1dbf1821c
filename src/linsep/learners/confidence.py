"""What the learners share that know how sure they are of their weights."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from linsep.compiled.rules.covariance import Diagonal, Full
from linsep.errors import DataError, Hint, hint
from linsep.learners.classifier import LinearClassifier
from linsep.learners.state import Learner, State

CovarianceType = Literal["diagonal", "diagonal-drop", "full"]
#: the arrays of a state that say how well weights are known, and how they depend on each other
KNOWN, MIXED = "known", "mixed"
#: most features of a whole matrix, which takes 128 MB per machine then
MOST_IN_FULL = 4000


class ConfidenceLearner(Learner):
    """A learner with variances of its weights, or with whole covariance matrices.

    Parameters
    ----------
    covariance_type : "diagonal", "diagonal-drop" or "full"
    make_rule : function from what a rule knows of the weights to the rule
    step : what the parameter is called that limits updates, or ""
    """

    needs_lengths = True
    #: what to do with too many features
    instead: str | Hint = hint("choose {}", covariance_type="diagonal")

    def __init__(self, covariance_type: str, make_rule: Callable[[Any], Any], step: str = ""):
        super().__init__()
        self.drop = covariance_type == "diagonal-drop"
        self.moves_all_features = covariance_type == "full"
        self.beside = (KNOWN, MIXED) if self.moves_all_features else (KNOWN,)
        self.make_rule, self.step = make_rule, step

    def check_width(self, n_features: int) -> None:
        """Raise DataError if there are too many features for a matrix."""
        if self.moves_all_features and n_features > MOST_IN_FULL:
            raise DataError(
                f"A covariance matrix is for at most {MOST_IN_FULL:,} features, and there are "
                f"{n_features:,}",
                self.instead,
            )

    def rule(self, state: State) -> Any:
        """Return the rule with what is known of the weights."""
        known = state.like_weights(KNOWN)
        if not self.moves_all_features:
            return self.make_rule(Diagonal(known, self.drop))
        room = np.empty((3, len(known)))
        return self.make_rule(Full(known, state.square(MIXED), room[:2], room[2]))


class ConfidenceClassifier(LinearClassifier):
    """Base of the learners with a :class:`ConfidenceLearner`."""

    @property
    def variances_(self) -> np.ndarray:
        """Variances of the current weights, of the shape of ``coef_``."""
        return self._variances()[0]

    @property
    def intercept_variances_(self) -> np.ndarray:
        """Variances of the current intercepts, of the shape of ``intercept_``."""
        return self._variances()[1]

    def _variances(self) -> tuple[np.ndarray, np.ndarray]:
        state = self.fitted_run().state
        coef, intercept = state.split(1.0 / (1.0 + state.like_weights(KNOWN)))
        if MIXED not in state.shaped:
            return coef, intercept
        # The diagonal of U D U', where a square has row i of U in its column i.
        apart = np.column_stack([coef, intercept])
        mixed = state.trimmed(MIXED)
        apart = apart + np.einsum("kji,kji,kj->ki", mixed, mixed, apart)
        return apart[:, :-1], apart[:, -1]
