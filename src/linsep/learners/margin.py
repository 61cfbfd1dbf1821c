"""The margin perceptron as a scikit-learn estimator."""

from typing import Any, ClassVar, Literal

import numpy as np

from linsep.compiled.rows import Csr, Dense, Unit, values_of
from linsep.compiled.rules.margin import MarginRule
from linsep.errors import ParameterError, refuse
from linsep.learners.online import LinearClassifier
from linsep.learners.state import ROUNDING, Learner, State, Unlearnable, Weights
from linsep.parameters import fitted_parameter, parameter


class MarginPerceptron(LinearClassifier):
    """A perceptron that also updates on correct rows if their margin is too small.

    Rows, with their constant feature, are scaled to unit length. There is an update unless y <w, z>
    >= (1 - epsilon) gamma ||w||. On rows separable with margin gamma it makes at most 2 / (epsilon
    gamma)^2 updates, which is 8 / gamma^2 for epsilon = 1/2, and a pass without an update proves
    that every row has a margin of (1 - epsilon) gamma. For weighted rows, the bound holds for the
    sum of the weights over all updates, divided by the largest weight. Every update is a mistake.

    Parameters
    ----------
    gamma : float in (0, 1] or "auto", default="auto"
        Target margin of rows scaled to length 1; "auto" finds it by halving. When a pass with 1/2,
        1/4, ... ends with more updates than that margin allows, training restarts with half of it.
        partial_fit, which has no passes, stays at 1/2.
    epsilon : float in (0, 1), default=0.5
        Share of the margin that may be lost.

    Attributes
    ----------
    gamma_ : float, the margin tried last
    margin_interval_ : (low, high), proved bounds on the largest margin of the unit-length rows: at
        least ``low`` and less than ``high`` (1 if no gamma failed); with several binary
        classifiers, on the smallest of their margins. ``low`` is (1 - epsilon) gamma minus
        rounding; None before a pass without an update, and if rows were held out or had weight 0

    References
    ----------
    A. Blum, Machine Learning Theory (15-859B), lecture 4 (2014).

    Examples
    --------
    >>> from linsep import MarginPerceptron
    >>> X = [[1.0, 0.2], [0.8, -0.1], [-1.0, 0.1], [-0.7, -0.3]]
    >>> p = MarginPerceptron(gamma=0.5, fit_intercept=False).fit(X, [1, 1, 0, 0])
    >>> low, high = p.margin_interval_
    >>> str(p.stop_reason_), p.n_updates_ <= 8 / 0.5**2, round(low, 9), high
    ('converged', True, 0.25, 1.0)
    """

    grid_example = "gamma=0.01,0.1"

    gamma: float | Literal["auto"] = parameter(default="auto", above=0.0, at_most=1.0)
    epsilon: float = parameter(default=0.5, above=0.0, below=1.0)
    normalize: ClassVar[bool] = False  # type: ignore[misc]  # the rule scales rows by itself

    def learner(self) -> Learner:
        gamma = None if isinstance(self.gamma, str) else float(self.gamma)
        return MarginLearner(gamma, float(self.epsilon))

    @property
    def gamma_(self) -> float:
        return float(self.fitted_run().state.counts["gamma"][0])

    @property
    def margin_interval_(self) -> tuple[float | None, float]:
        failed = float(self.fitted_run().state.counts.get("failed", [0.0])[0])
        known = self.stop_reason_ == "converged" and not self._run.left_out
        if not known:
            return None, failed or 1.0
        from linsep.mistake_bounds.bounds import length, share_of

        state = self._run.state  # a pass without an update proves a margin, minus rounding errors
        lengths = np.array([length(machine) for machine in state.machines()])
        kept = np.sqrt(state.per_machine("squares", np.float64)) / lengths
        rounding = share_of(state.n_features)
        part = 1.0 - fitted_parameter(self, "epsilon")
        low = float(part * self.gamma_ * kept.min() - rounding) * (1.0 - rounding)
        return low, failed or 1.0


class MarginLearner(Learner):
    """The margin perceptron for a given margin, or a margin found by halving."""

    needs_lengths = True

    def __init__(self, gamma: float | None, epsilon: float):
        self.gamma, self.epsilon = gamma, epsilon

    def start(self, state: State, coef: Weights, intercept: Weights) -> None:
        given = coef is not None or intercept is not None
        why = "Initial weights need a number as gamma."
        refuse(ParameterError, (self.gamma is None and given, why, "conflict", "gamma"))
        state.per_machine("gamma", np.float64)[:] = 0.5 if self.gamma is None else self.gamma
        lengths = (np.column_stack(state.machines()) ** 2).sum(axis=0)
        squares = lengths.reshape(state.n_machines, -1).sum(axis=1)
        state.per_machine("squares", np.float64)[:] = squares

    def rule(self, state: State) -> Any:
        gamma = state.per_machine("gamma", np.float64)
        if self.gamma is not None:  # may have changed between calls to partial_fit
            gamma[:] = self.gamma
        numbers = (state.per_machine(name, np.float64) for name in ("squares", "total", "heaviest"))
        return MarginRule((1.0 - self.epsilon) * gamma[0], *numbers)

    def complaint(self, rows: Dense | Csr | Unit, row: int) -> Unlearnable:
        if values_of(rows, row).any():
            return super().complaint(rows, row)
        why = "it is all zeros and has no margin; remove such rows or fit an intercept"
        return Unlearnable(row, why, code="bad-value")

    def restarts(self, state: State) -> bool:
        gamma = float(state.per_machine("gamma", np.float64)[0])
        total, heaviest = (state.per_machine(name, np.float64) for name in ("total", "heaviest"))
        # Each update adds at least gamma to <w, w*>, but at most (1 - epsilon / 2) gamma to ||w||
        # once that exceeds 1 / (epsilon gamma): 8 / gamma^2 updates for epsilon = 1/2 (Blum).
        square = (self.epsilon * gamma) ** 2
        most = ROUNDING * (2.0 / square if square else np.inf)
        if self.gamma is not None or (total <= most * heaviest).all():
            return False
        state.clear()
        state.per_machine("failed", np.float64)[:] = gamma
        state.per_machine("gamma", np.float64)[:] = gamma / 2
        return True
