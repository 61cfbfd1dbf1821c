"""Passive-aggressive learning as a scikit-learn estimator."""

from collections.abc import Sequence
from math import log2
from typing import Any, Literal

import numpy as np

from linsep.compiled.rules.passive_aggressive import PassiveAggressiveRule
from linsep.learners.classifier import LinearClassifier
from linsep.learners.state import Learner
from linsep.parameters import Control, Demonstration, parameter

Loss = Literal["hinge", "squared_hinge"]
CRAMMER = "K. Crammer et al., Online passive-aggressive algorithms, JMLR 7 (2006), theorems 2, 4, 5"


class PassiveAggressive(LinearClassifier):
    """Passive-aggressive learning: the smallest change of the weights that gives a row margin 1.

    The results equal scikit-learn's ``PassiveAggressiveClassifier`` on dense rows of equal weight
    in the same order. (On sparse rows, scikit-learn updates the intercept at a hundredth of the
    rate.) In addition, there are three multiclass strategies and a choice of weights to keep.

    The weight of a row (``sample_weight`` times ``class_weight``) multiplies its C, as in an SVM. A
    large weight therefore never moves a score beyond the margin 1. (scikit-learn multiplies the
    step, which overshoots and diverges for weights above 2.)

    The other parameters and attributes are the same as for :class:`linsep.Perceptron`. A mistake is
    a row with a margin below 1.

    Parameters
    ----------
    C : float, default=1.0
        Largest step of PA-I (infinity: plain PA); a smaller C regularizes more.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        "hinge" is PA-I, which bounds each step by C; "squared_hinge" is PA-II, which damps it by
        1 / (2C).

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

    command_name = "pa"
    grid_example = "C=0.01,0.1,1"
    mixable = True
    demonstrations = (
        Demonstration(
            name="passive-aggressive", title="passive-aggressive",
            controls=(Control(parameter="C", label="Aggressiveness C"),),
        ),
    )  # fmt: skip

    C: float = parameter(
        default=1.0,
        above=0.0,
        also=(np.inf,),
        help="largest step; smaller values tolerate more noise",
    )
    loss: Loss = parameter(
        default="hinge", help="PA-I with bounded steps, or PA-II with damped steps"
    )

    def learner(self) -> Learner:
        """Return the learner of these parameters; raise ValueError if they are incompatible."""
        return PassiveAggressiveLearner(float(self.C), self.loss)

    def twin(self) -> Any:
        """Return the rule of :mod:`linsep.textbook` with these parameters."""
        from linsep.teaching.textbook.passive_aggressive import PassiveAggressive

        return PassiveAggressive(self.C, self.loss)

    def theorems(self, case: Any) -> list[Any]:
        """Return the bound on errors for a given C; there is no bound in advance."""
        from linsep.mistake_bounds.bounding import Theorem
        from linsep.mistake_bounds.bounds import Unknown

        def most() -> float:
            if len(case.problems) > 1:
                raise Unknown("errors of single binary classifiers are not counted")
            C, soft = self.premises()
            return most_errors(case.problems, case.run.passes, C, soft, case.weights)

        return [Theorem("passive-aggressive", most, "errors", CRAMMER)]

    def premises(self) -> tuple[Any, ...]:
        """Return C, and the term that softens the steps of PA-II."""
        C = float(self.C)
        return C, 1 / (2 * C) if self.loss == "squared_hinge" else 0.0

    def obstacle(self) -> str | None:
        """Return why mistake bounds do not apply to this run, or None if they do."""
        if hasattr(self, "_run") and self._run.mixture is not None:
            return "the theorem of mixing applies only to the perceptron"
        if self.fit_intercept:
            return (
                "its steps exclude the constant feature from the length of a row, as in "
                "scikit-learn; with a column of ones and no intercept, the bounds apply"
            )
        return super().obstacle()

    def beyond_floats(self, case: Any) -> str | None:
        """Return why underflow may have affected steps up to C, as long as a row is short."""
        from linsep.mistake_bounds.margins import lengths

        for problem in case.problems:
            found = lengths(problem.A)
            shortest = 2 * problem.log2(float(found[found > 0].min(initial=1.0)))
            longest = log2(float(self.C)) + 2 * problem.log2(problem.longest)
            if (why := problem.underflow(shortest, longest)) is not None:
                return str(why)
        return None


class PassiveAggressiveLearner(Learner):
    """PA-I ("hinge"; PA with an infinite C) or PA-II ("squared_hinge")."""

    needs_lengths = True
    step = "C"

    def __init__(self, C: float, loss: str):
        soft = loss == "squared_hinge"
        most = np.inf if soft else float(C)
        super().__init__(PassiveAggressiveRule(most, 1.0 / (2.0 * C) if soft else 0.0))


def most_errors(
    problems: Sequence[Any], passes: int, C: float, soft: float, given: np.ndarray | None = None
) -> float:
    """Return the bound on errors of PA-I (``soft`` 0) and PA-II (infinite ``C``)."""
    from linsep.mistake_bounds.bounding import brought, novikoff
    from linsep.mistake_bounds.bounds import Unknown
    from linsep.mistake_bounds.problems import best_comparator
    from linsep.mistake_bounds.rounding import ROUNDING

    total = 0.0
    for problem in problems:
        square, w = problem.longest**2 * (1 + ROUNDING), brought(problem, given)
        # Rows over 2^e and C times 4^e make the same mistakes.
        most, softened = np.ldexp(C, 2 * problem.exponent), np.ldexp(soft, -2 * problem.exponent)
        if not 0 < most < np.inf and np.isfinite(C):
            raise Unknown("C relative to the length of the rows overflows float64")
        if softened:
            # The bound is in squared losses; weights that minimize the hinge are good enough.
            best = best_comparator(problem, passes / softened, w)
            loss = passes / softened * best.squared_hinge
            total += (square + softened) * (best.square + loss)
        elif np.isfinite(most):
            best = best_comparator(problem, 2 * most * passes, w)
            total += max(square, 1 / most) * (best.square + 2 * most * passes * best.hinge)
        else:
            total += novikoff([problem])
    return total * (1 + ROUNDING)
