"""Online logistic regression as a scikit-learn estimator."""

from typing import Any

import numpy as np

from linsep.compiled.rules.online_logistic import OnlineLogisticRule
from linsep.learners.online import LinearClassifier
from linsep.learners.state import Arrays, Learner, State
from linsep.parameters import Keep, fitted_parameter, parameter


class OnlineLogistic(LinearClassifier):
    """Logistic regression with one step per row: AdaGrad, normalized, importance invariant.

    A row x with y = -1 or +1 has the loss ln(1 + exp(-m)), where m = y <w, x>, and makes one step
    along its gradient, in this order:

    1. If abs(x_j) exceeds the scale s_j, its largest value so far, w_j is multiplied by
       s_j / abs(x_j), and s_j becomes abs(x_j).
    2. The gradient g_j = -y x_j / (1 + exp(m)) is taken at these weights. G_j grows by g_j^2, the
       number t of rows by 1, and N by the sum of x_j^2 / s_j^2.
    3. The rate of weight j is r_j = eta sqrt(t / N) / (s_j sqrt(G_j)). Rare features therefore
       take long steps, and the units of features do not matter.
    4. w_j grows by y (d / q) r_j x_j, where q is the sum of r_j x_j^2, and d + e^m (e^d - 1) = q:
       the limit of infinitely many small steps along the row. No step overshoots, and a row of
       weight 2 is nearly equivalent to the row twice.

    Every row causes a step, but only rows predicted wrong are mistakes. The weight of a row
    multiplies its part in G_j, t, N, the step and the penalty. Several classes are trained by the
    softmax with ``multiclass="native"``.

    Scores are log-odds, and :meth:`predict_proba` is available: for two classes 1 / (1 +
    exp(-score)), for several the softmax of the scores; with "ovr" the probabilities of the binary
    classifiers, divided by their sum. For "ovo" and votes, see :func:`linsep.calibrate`.

    Parameters
    ----------
    learning_rate : float, default=0.5
        Step size of a row, eta; larger values change the weights more.
    l2 : float, default=0.0
        Penalty of each row on the squared weights of its features. It is l2 w_j^2 / 2, except for
        the constant feature: w_j is divided by 1 + l2 r_j after its step.
    adaptive : bool, default=True
        Give each weight its own rate, which falls with its updates. If not, r_j is eta (t / N) /
        s_j^2, and weights are multiplied by the square in step 1.
    rescale : bool, default=True
        Adapt rates to the scales of features, so units do not matter. If not, there is no step 1,
        and r_j is eta / sqrt(G_j), or eta without ``adaptive``.
    invariant : bool, default=True
        Make each step the limit of many small ones, which never overshoots. If not, w_j falls by
        r_j g_j.
    keep : {"last", "average", "vote", "best"}, default="average"
        Weights to predict with: the last, the mean, a vote of all, or the best so far.

    References
    ----------
    J. Duchi, E. Hazan and Y. Singer, Adaptive subgradient methods for online learning and
    stochastic optimization, JMLR 12 (2011). S. Ross, P. Mineiro and J. Langford, Normalized online
    learning, UAI (2013), algorithm 2. N. Karampatziakis and J. Langford, Online importance weight
    aware updates, UAI (2011).

    Examples
    --------
    >>> from linsep import OnlineLogistic
    >>> X, y = [[1.0, 1.0], [3.0, 2.0], [2.0, 4.0]], ["no", "yes", "yes"]
    >>> p = OnlineLogistic(max_iter=10, shuffle=False).fit(X, y)
    >>> p.predict_proba(X).round(2).tolist()
    [[0.41, 0.59], [0.31, 0.69], [0.28, 0.72]]
    """

    mixable = True
    grid_example = "learning_rate=0.1,0.5,2"

    learning_rate: float = parameter(default=0.5, above=0.0)
    l2: float = parameter(default=0.0, at_least=0.0)
    adaptive: bool = parameter(default=True)
    rescale: bool = parameter(default=True)
    invariant: bool = parameter(default=True)
    keep: Keep = parameter(default="average")

    def learner(self) -> Learner:
        return OnlineLogisticLearner(
            float(self.learning_rate), bool(self.adaptive), bool(self.rescale),
            bool(self.invariant), float(self.l2),
        )  # fmt: skip

    @property
    def scores_are_log_odds(self) -> bool:
        if fitted_parameter(self, "keep") == "vote":
            return False
        two = len(getattr(self, "classes_", ())) == 2
        return two or fitted_parameter(self, "multiclass") != "ovo"


#: arrays of a state: sums of squares of gradients, and largest values of features
SQUARES, SCALES = "squares", "scales"
#: numbers of each machine: its examples, and the sum of their squared lengths by these scales
SEEN, LENGTHS = "seen", "lengths"


class OnlineLogisticLearner(Learner):
    """The scale of a feature becomes the largest over shards, and weights are divided by it as in
    training, before the mean is taken over the shards that have seen the feature. Sums of squares
    are also averaged, because the mean of the weights is about as far along as one shard.
    """

    needs_lengths = True

    def __init__(
        self, learning_rate: float, adaptive: bool, rescale: bool, invariant: bool, l2: float
    ):
        self.beside = {SQUARES: "mean", SCALES: "largest", SEEN: "mean", LENGTHS: "mean"}
        self.parameters = learning_rate, adaptive, rescale, invariant, l2
        #: which power of the scales weights are divided by when these grow
        self.power = (1 if adaptive else 2) if rescale else 0

    def rule(self, state: State) -> Any:
        return OnlineLogisticRule(
            *self.parameters, state.like_weights(SQUARES), state.like_weights(SCALES),
            state.per_machine(SEEN, np.float64), state.per_machine(LENGTHS, np.float64),
            np.empty(state.n_columns),
        )  # fmt: skip

    def say(self, before: Arrays, after: Arrays) -> np.ndarray:
        return (after[SQUARES] > 0.0).astype(np.float64)

    def units(self, state: State, arrays: Arrays) -> np.ndarray:
        scales = arrays[SCALES]
        if state.n_machines < state.n_columns:  # of a joint rule they are in the first column
            scales = scales[:, :1]
        return np.where(arrays[SQUARES] > 0.0, scales, 1.0) ** self.power  # of seen features
