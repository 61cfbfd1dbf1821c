"""Soft confidence-weighted learning as a scikit-learn estimator."""

from functools import partial
from statistics import NormalDist

import numpy as np

from linsep.compiled.rules.confidence import SCWRule
from linsep.learners.arow import ConfidenceClassifier, ConfidenceLearner
from linsep.learners.state import Learner
from linsep.parameters import TwoSided, parameter


class SCW(ConfidenceClassifier):
    """Soft confidence-weighted learning: the smallest change that makes a row probably right.

    Weights are normally distributed, initially with mean 0 and variance 1; the means are used for
    scores. The margin m = y <w, z> of a row then has the variance v = sum of variance_j z_j^2, and
    a row causes an update unless it is right with a probability of at least ``eta``: m >= phi
    sqrt(v) for the quantile phi of ``eta``. The new distribution minimizes its divergence from the
    old one plus C times the loss max(0, phi sqrt(v) - m); 1 / variance_j grows like the diagonal of
    the inverse covariance matrix of the paper. One pass is often enough for text and other wide
    sparse data. Only m <= 0 is a mistake; no bound on their number is known. The weight of a row
    multiplies its C.

    Parameters
    ----------
    C : float, default=1.0
        Largest step; smaller values tolerate more noise. It weighs the loss of a row; infinity is
        confidence-weighted learning, which makes every row right.
    eta : float, default=0.9
        Required probability that a row is right, above 0.5 and below 1.
    multiclass : {"ovr", "ovo"}, default="ovr"
        Strategy for more than two classes: each against the rest, or each pair.

    References
    ----------
    J. Wang, P. Zhao and S. Hoi, Exact soft confidence-weighted learning, ICML (2012),
    proposition 1.

    Examples
    --------
    >>> from linsep import SCW
    >>> X, y = [[1, 1], [3, 2], [2, 4], [3, 4], [2, 3]], ["no", "yes", "yes", "yes", "no"]
    >>> p = SCW(eta=0.95, max_iter=1, shuffle=False).fit(X, y)
    >>> p.coef_.round(3).tolist(), p.variances_.round(3).tolist()
    ([[0.346, 0.03]], [[0.038, 0.024]])
    """

    grid_example = "C=0.1,1,10"

    C: float = parameter(default=1.0, above=0.0, also=(np.inf,))
    eta: float = parameter(default=0.9, above=0.5, below=1.0)
    multiclass: TwoSided = parameter(default="ovr")

    def learner(self) -> Learner:
        phi = NormalDist().inv_cdf(float(self.eta))
        return ConfidenceLearner(partial(SCWRule, phi, float(self.C)))
