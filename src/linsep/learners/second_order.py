"""The second-order perceptron as a scikit-learn estimator."""

from functools import partial
from typing import Any

from linsep.compiled.rules.confidence import SecondOrderRule
from linsep.learners.confidence import ConfidenceClassifier, ConfidenceLearner
from linsep.learners.state import Learner
from linsep.parameters import Control, Demonstration, TwoSided, parameter


class SecondOrderPerceptron(ConfidenceClassifier):
    """The second-order perceptron: a perceptron in coordinates that whiten its mistakes.

    On a mistake A += z z' and v += y z, initially with A = aI and v = 0; the weights are w = A^-1
    v. Features that occurred in few mistakes therefore take long steps, and correlated features
    share a step. (The paper scores a row by z'(A + z z')^-1 v, which has the sign of <w, z>.) A row
    takes time proportional to the square of the number of features, which is at most 4,000.

    :class:`linsep.AROW` with a full covariance matrix and r = a has the same weights if it is
    updated only on mistakes. The weight of a row (``sample_weight`` times ``class_weight``)
    multiplies z z' and y z.

    The other parameters and attributes are the same as for :class:`linsep.Perceptron`.

    Parameters
    ----------
    a : float, default=1.0
        The initial diagonal of A: the penalty of ridge regression on the mistakes. Larger values
        are closer to the perceptron.
    multiclass : {"ovr", "ovo"}, default="ovr"
        The strategy for several classes.

    Attributes
    ----------
    variances_ : array with the shape of ``coef_``, the diagonal of a A^-1
    intercept_variances_ : array with the shape of ``intercept_``

    References
    ----------
    N. Cesa-Bianchi, A. Conconi and C. Gentile, A second-order perceptron algorithm, SIAM Journal on
    Computing 34 (2005), figure 3 and theorem 3.1.

    Examples
    --------
    >>> from linsep import SecondOrderPerceptron
    >>> X, y = [[1, 1], [3, 2], [2, 4], [3, 4], [2, 3]], ["no", "yes", "yes", "yes", "no"]
    >>> p = SecondOrderPerceptron(max_iter=1, shuffle=False).fit(X, y)
    >>> p.coef_.round(2).tolist(), p.intercept_.round(2).tolist()
    ([[0.55, -0.45]], [-0.4])
    """

    command_name = "second-order"
    grid_example = "a=0.1,1,10"
    demonstrations = (
        Demonstration(
            name="second-order", title="second-order perceptron",
            controls=(Control(parameter="a", label="Penalty a"),),
        ),
    )  # fmt: skip

    a: float = parameter(default=1.0, above=0.0, help="ridge penalty of the regression on mistakes")
    multiclass: TwoSided = parameter(
        default="ovr",
        help="strategy for more than two classes: each against the rest, or each pair",
    )

    def learner(self) -> Learner:
        """Return the learner of these parameters; raise ValueError if they are incompatible."""
        return SecondOrderLearner("full", partial(SecondOrderRule, float(self.a)))

    def twin(self) -> Any:
        """Return the rule of :mod:`linsep.textbook` with these parameters."""
        from linsep.teaching.textbook.second_order import SecondOrderPerceptron

        return SecondOrderPerceptron(self.a)

    def theorems(self, case: Any) -> list[Any]:
        """Return the bound on mistakes."""
        from linsep.mistake_bounds.second_order import CESA_BIANCHI, second_order_theorem

        return [second_order_theorem(case, float(self.a), CESA_BIANCHI)]

    def premises(self) -> tuple[Any, ...]:
        """Return the parameter covered by its theorem."""
        return (float(self.a),)

    def beyond_floats(self, case: Any) -> str | None:
        """Return why underflow may have affected a run, or None."""
        from linsep.mistake_bounds.second_order import too_small

        return too_small(case, float(self.a))


class SecondOrderLearner(ConfidenceLearner):
    """The second-order perceptron, which always has a full matrix."""

    instead = "choose AROW, which can store variances only"
