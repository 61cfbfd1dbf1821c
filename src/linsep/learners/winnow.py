"""Winnow and balanced Winnow as scikit-learn estimators."""

from typing import Any, ClassVar

import numpy as np

from linsep.compiled.rows import Csr, Dense, Unit, without_duplicates
from linsep.compiled.rules.winnow import BalancedWinnowRule, WinnowRule
from linsep.errors import DataError, ParameterError, refuse
from linsep.learners.online import LinearClassifier
from linsep.learners.state import Learner, State, Unlearnable, Weights
from linsep.parameters import parameter


class Winnow(LinearClassifier):
    """Winnow: multiplicative updates, with a mistake bound logarithmic in irrelevant features.

    Features must be at least 0, and all weights start at 1. A row is positive if <w, x> exceeds the
    threshold; a mistake multiplies each weight by promotion^(y x_j). Weights saturate at 1e150 and
    1e-150. With features of 0 and 1, promotion 2 and threshold d/2, a disjunction of k of d
    features takes less than 3 k log2(d) + 4 mistakes. (The bound 2 k log2(d) + 2 applies to
    Winnow1, which sets a weight to zero where this algorithm, Winnow2, halves it.)

    Parameters
    ----------
    promotion : float above 1, default=2.0
        Factor of a weight in an update, for a feature of 1.
    threshold : float or None, default=None
        Score that a positive row exceeds, minus the intercept; by default half the number of
        features. The native rule for several classes has no threshold.

    References
    ----------
    N. Littlestone, Learning quickly when irrelevant attributes abound: a new linear-threshold
    algorithm, Machine Learning 2 (1988), Winnow2.

    Examples
    --------
    >>> from linsep import Winnow
    >>> X = [[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1], [0, 0, 1, 0]]
    >>> w = Winnow(shuffle=False).fit(X, [1, 1, 0, 0])  # the first or the second feature
    >>> w.coef_.tolist(), w.mistakes_.tolist()
    ([[2.0, 2.0, 0.25, 1.0]], [2, 2, 0])
    """

    positive_only = True

    promotion: float = parameter(default=2.0, above=1.0)
    threshold: float | None = parameter(default=None)
    fit_intercept: ClassVar[bool] = True  # type: ignore[misc]  # minus the threshold, never learned

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # unless the target is a disjunction of features
        return tags

    def learner(self) -> Learner:
        threshold = None if self.threshold is None else float(self.threshold)
        return WinnowLearner(float(self.promotion), threshold)


class BalancedWinnow(LinearClassifier):
    """Winnow with weights of either sign and features of either sign.

    The weights are w = u - v with u = exp(L) and v = exp(-L), so w = 2 sinh(L) starts at 0. A
    mistake adds y x_j ln(promotion) to L_j, also for the constant feature.

    Parameters
    ----------
    promotion : float above 1, default=2.0
        Factor of u_j in an update, for a feature of 1.

    References
    ----------
    N. Littlestone, Mistake bounds and logarithmic linear-threshold learning algorithms, PhD thesis
    (1989); J. Kivinen and M. Warmuth, Exponentiated gradient versus gradient descent for linear
    predictors, Information and Computation 132 (1997).

    Examples
    --------
    >>> from linsep import BalancedWinnow
    >>> w = BalancedWinnow().fit([[1, -1], [-1, 1], [2, 0]], [1, 0, 1])
    >>> w.predict([[3, -3], [-1, 2]]).tolist(), str(w.stop_reason_)
    ([1, 0], 'converged')
    """

    promotion: float = parameter(default=2.0, above=1.0)

    def learner(self) -> Learner:
        return Learner(BalancedWinnowRule(float(self.promotion)))


class WinnowLearner(Learner):
    """Multiplicative updates of weights that start at 1, with a threshold."""

    fill = 1.0

    def __init__(self, promotion: float, threshold: float | None):
        super().__init__(WinnowRule(promotion))
        self.threshold, self.needs_width = threshold, threshold is None

    def start(self, state: State, coef: Weights, intercept: Weights) -> None:
        refuse(DataError, (
            coef is not None and not (coef > 0).all(),
            "coef_init of Winnow must be above 0 everywhere.", "out-of-range", "coef_init",
        ))  # fmt: skip
        why = "Winnow's intercept is minus its threshold: set threshold instead."
        refuse(ParameterError, (intercept is not None, why, "unsupported", "intercept_init"))
        if state.n_machines == state.n_columns:  # the native rule has no threshold
            state.W[-1] = -(state.n_features / 2 if self.threshold is None else self.threshold)

    def check(self, rows: Dense | Csr | Unit) -> None:
        rows = rows.rows if isinstance(rows, Unit) else rows
        if isinstance(rows, Csr) and rows.values.min(initial=0) < 0:
            rows = without_duplicates(rows)
        if not rows.values.min(initial=0) < 0:  # NaN shows in the score
            return
        at = np.argwhere(rows.values < 0)[0]
        row, column = at[0], at[-1]
        if isinstance(rows, Csr):
            row, column = np.searchsorted(rows.starts, row, side="right") - 1, rows.columns[row]
        message = (
            f"Negative values in data: {{feature}} is {rows.values[tuple(at)]:g}, but Winnow needs "
            "features of at least 0; use the balanced Winnow, or shift the feature"
        )
        raise Unlearnable(int(row), message, int(column), "out-of-range")
