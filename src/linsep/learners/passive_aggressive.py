"""Passive-aggressive learning as a scikit-learn estimator."""

from typing import Literal

import numpy as np

from linsep.compiled.rules.passive_aggressive import PassiveAggressiveRule
from linsep.learners.online import LinearClassifier
from linsep.learners.state import Learner
from linsep.parameters import parameter


class PassiveAggressive(LinearClassifier):
    """Passive-aggressive learning: the smallest change of the weights that gives a row margin 1.

    A mistake is a row with a margin below 1. The results equal scikit-learn's
    ``PassiveAggressiveClassifier`` on dense rows of equal weight in the same order. (On sparse
    rows, scikit-learn updates the intercept at a hundredth of the rate.) The weight of a row
    multiplies its C, as in an SVM, so it never moves a score beyond the margin 1. (scikit-learn
    multiplies the step, which overshoots and diverges for weights above 2.)

    Parameters
    ----------
    C : float, default=1.0
        Largest step; smaller values tolerate more noise. Infinity is plain PA.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        Algorithm PA-I, which bounds each step by C, or PA-II, which damps it by 1 / (2C).

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz and Y. Singer, Online passive-aggressive
    algorithms, JMLR 7 (2006), figure 1; for the native rule section 9, against the best rival. For
    row weights, N. Karampatziakis and J. Langford, Online importance weight aware updates, UAI
    (2011).

    Examples
    --------
    >>> from linsep import PassiveAggressive
    >>> p = PassiveAggressive(max_iter=20).fit([[0.0, 2.0], [1.0, 0.0]], ["a", "b"])
    >>> p.predict([[0.1, 1.9]]).tolist(), str(p.stop_reason_)
    (['a'], 'converged')
    """

    grid_example = "C=0.01,0.1,1"
    mixable = True

    C: float = parameter(default=1.0, above=0.0, also=(np.inf,))
    loss: Literal["hinge", "squared_hinge"] = parameter(default="hinge")

    def learner(self) -> Learner:
        soft, C = self.loss == "squared_hinge", float(self.C)
        learner = Learner(PassiveAggressiveRule(np.inf if soft else C, 0.5 / C if soft else 0.0))
        learner.needs_lengths = True
        return learner
