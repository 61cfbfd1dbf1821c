"""The perceptron as a scikit-learn estimator."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal

import numpy as np

from linsep.compiled.rules import perceptron as rules
from linsep.errors import ParameterError, hint, refuse
from linsep.learners.online import LinearClassifier
from linsep.learners.state import Learner, State, Weights
from linsep.parameters import ScheduleName, parameter, rate_of


class Perceptron(LinearClassifier):
    """Rosenblatt's perceptron: on a mistake, add the example to the weights.

    Training stops at the first pass without a mistake ("converged"), which is reached if and only
    if the rows are linearly separable, or after ``max_iter`` passes. With a constant rate,
    ``shuffle=False`` and ``keep="last"`` it also stops if the weights at the start of a pass (of
    each binary classifier) have occurred before ("cycle"): ``cycle_`` then proves that no number of
    passes will separate the rows.

    Parameters
    ----------
    learning_rate : float or callable, default=1.0
        Rate of the first update, or a function of k that returns the rate of update k from 1. With
        zero initial weights, a constant rate does not change predictions in exact arithmetic (in
        floats, this is certain only for powers of 2).
    schedule : {"constant", "inverse", "inverse_sqrt"}, default="constant"
        Rate of update k: constant, divided by k, or by its square root.
    update : {"single", "batch"}, default="single"
        Update at every mistake, or once per pass by the sum of all mistakes. That is gradient
        descent on the perceptron criterion J_p, see ``criterion_``.
    zero : {"mistake", "negative", "correct"}, default="mistake"
        Meaning of a score of zero during training: a mistake, a prediction of class -1, or correct.
        With the latter two, for binary classifiers only, a pass without a mistake may leave scores
        of zero, and the run stops as "clean", not "converged". "correct" needs nonzero initial
        weights, since zero weights would never change.

    Attributes
    ----------
    criterion_ : array of shape (passes,), J_p at the start of each pass; with update="batch"

    References
    ----------
    F. Rosenblatt, The perceptron, Psychological Review 65 (1958). A. Novikoff, On convergence
    proofs for perceptrons (1962): at most (R / margin)^2 mistakes on separable rows. Y. Freund and
    R. Schapire, Large margin classification using the perceptron algorithm, Machine Learning 37
    (1999), for average and vote. S. Gallant, Perceptron-based learning algorithms, IEEE Trans.
    Neural Networks 1 (1990), for the pocket.

    Examples
    --------
    The average is better on most data that overlap; the default is the textbook algorithm:

    >>> from sklearn.datasets import load_iris
    >>> from linsep import Perceptron
    >>> X, y = (part[50:] for part in load_iris(return_X_y=True))
    >>> Perceptron(keep="average").fit(X, y).score(X, y), Perceptron().fit(X, y).score(X, y)
    (0.97, 0.95)

    A textbook run, on rows that are separable:

    >>> X = [[4, 0], [1, 1], [0, 1], [-2, -2]]
    >>> p = Perceptron(fit_intercept=False, shuffle=False).fit(X, ["+", "-", "-", "+"])
    >>> p.coef_.tolist(), p.mistakes_.tolist(), str(p.stop_reason_)
    ([[-1.0, 3.0]], [3, 0], 'converged')
    """

    mixable = True

    learning_rate: float | Callable[[int], float] = parameter(
        default=1.0, above=0.0, called_with="k"
    )
    schedule: ScheduleName = parameter(default="constant")
    update: Literal["single", "batch"] = parameter(default="single")
    zero: Literal["mistake", "negative", "correct"] = parameter(default="mistake")

    def learner(self) -> Learner:
        if callable(self.learning_rate) and self.schedule != "constant":
            raise ParameterError(
                "A learning_rate function defines the whole schedule: schedule must be "
                f"'constant', got {self.schedule!r}.",
                code="conflict", option="schedule", value=self.schedule,
            )  # fmt: skip
        kind = BatchLearner if self.update == "batch" else PerceptronLearner
        return kind(self.learning_rate, self.schedule, self.zero)


#: rates of a function that are computed in advance
COMPUTED_AHEAD = 1024


class PerceptronLearner(Learner):
    """Update at each mistake, with the parameters of :class:`Perceptron`."""

    replayed = "single"

    def __init__(
        self, rate: float | Callable[[int], float] = 1.0, schedule: str = "constant",
        zero: str = "mistake",
    ):  # fmt: skip
        self.rate, self.schedule, self.zero = rate, schedule, zero
        self.constant_rate = None if callable(rate) or schedule != "constant" else float(rate)
        #: rates of a function by the update, 0 for an error, which is raised if the update is made
        self._rates = np.zeros(1)
        if callable(rate):  # before more rates must be computed
            self.rows_at_once = COMPUTED_AHEAD // 2

    def _rate(self, update: int) -> float:
        return float(rate_of(self.rate, self.schedule, update))

    def start(self, state: State, coef: Weights, intercept: Weights) -> None:
        refuse(
            ParameterError,
            (self.zero == "correct" and not all(machine.any() for machine in state.machines()),
             "If scores of zero are correct, zero weights never change", "conflict", "zero",
             "set initial weights (coef_init, or --init-weights)",
             hint("choose another {}", zero=None)),
            (self.zero != "mistake" and state.n_machines < state.n_columns,
             "The native rule of several classes compares scores, and zero has no meaning",
             "conflict", "zero", hint("choose {}", multiclass="ovr"), hint("{}", zero="mistake")),
        )  # fmt: skip

    def rule(self, state: State) -> Any:
        updates = state.per_machine("updates")
        if callable(self.rate):
            schedule: Any = rules.Table(self._rates_for(int(updates.max())), updates)
        elif self.constant_rate is not None:
            schedule = rules.Constant(self.constant_rate)
        else:
            kind = rules.Inverse if self.schedule == "inverse" else rules.InverseRoot
            schedule = kind(float(self.rate), updates)
        return self._sparing(rules.PerceptronRule(schedule), state)

    def _rates_for(self, update: int) -> np.ndarray:
        """Return the rates of a function up to more updates than the next rows can make."""
        if update + COMPUTED_AHEAD // 2 >= self._rates.size:
            more = np.zeros(update + COMPUTED_AHEAD + 1 - self._rates.size)
            for at in range(more.size):
                with suppress(Exception):
                    more[at] = self._rate(self._rates.size + at)
            self._rates = np.append(self._rates, more)
        return self._rates

    def _sparing(self, rule: Any, state: State) -> Any:
        if self.zero == "mistake":
            return rule
        return rules.SparingRule(rule, self.zero == "correct", state.per_machine("spared"))

    def check_updates(self, state: State) -> None:
        if callable(self.rate):
            made = self._rates[1 : state.per_machine("updates").max() + 1]
            for at in np.flatnonzero(made == 0)[:1]:
                self._rate(int(at) + 1)


class BatchLearner(PerceptronLearner):
    """One update per pass: the sum of all mistakes."""

    replayed = "batch"
    by_pass = True

    def __init__(self, *how: Any):
        super().__init__(*how)
        self.rows_at_once = None  # no rate is needed before the end of a pass

    def rule(self, state: State) -> Any:
        sums, asked = state.like_weights("asked_for"), state.per_machine("asked")
        rule = rules.BatchRule(sums, asked, state.per_machine("criterion", np.float64))
        return self._sparing(rule, state)

    def close_pass(self, state: State, scheme: Any, keep: Any) -> int:
        asked, updates = state.per_machine("asked"), state.per_machine("updates")
        due, sums = asked > 0, state.like_weights("asked_for")
        updates += due
        amounts = np.zeros(due.size)
        for machine in np.flatnonzero(due):
            amounts[machine] = self._rate(int(updates[machine]))
        if due.any():
            rules.apply_batch_update(scheme, keep, state.W, state.bias, sums, amounts, state.rounds)
        if self.zero != "mistake":
            state.per_machine("spared")[due] = 0
        criterion = state.per_machine("criterion", np.float64)
        state.per_machine("last_criterion", np.float64)[:] = criterion
        sums[:], asked[:], criterion[:] = 0.0, 0, 0.0
        return int(due.sum())
