"""Learners as the passes know them: the compiled rule for the next rows, and what a pass closes.

What a learner counts stands in the state, so a learner itself is nothing but its parameters.
"""

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from linsep.compiled.rates import Constant, Inverse, InverseRoot, Table
from linsep.compiled.rows import Csr, Dense, Unit, values_of
from linsep.compiled.settle import settle
from linsep.compiled.steps import BatchRule, MarginRule, PassiveAggressiveRule, PerceptronRule
from linsep.compiled.winnow import BalancedWinnowRule, WinnowRule
from linsep.engine.state import State
from linsep.errors import LinsepError, ParameterError, way

# A sum of weights may be rounded upwards; no bound fails by that.
ROUNDING = 1.0 + 1e-9
TOO_LARGE = "the score is beyond floating point; scale the features"


class BadRow(LinsepError):
    """A row that a learner cannot learn. ``row`` is its number among the rows shown; ``said`` has
    a place for the ``feature``, the number of which is ``column``.
    """

    def __init__(self, row: int, column: int, said: str):
        super().__init__(said.format(feature=f"feature {column}"))
        self.row, self.column, self._said = row, column, said

    def said_of(self, feature: str) -> str:
        """The same with the name of the feature."""
        return self._said.format(feature=feature)


def too_large(rows: Any, row: int) -> BadRow | None:
    """What is said of a row whose score is beyond floating point: its largest value; None of rows
    that have no features.
    """
    rows = rows.rows if isinstance(rows, Unit) else rows
    if isinstance(rows, Dense):
        values, columns = rows.values[row], None
    elif isinstance(rows, Csr):
        part = slice(rows.starts[row], rows.starts[row + 1])
        values, columns = rows.values[part], rows.columns[part]
    else:
        return None
    if not values.size or not np.isfinite(values).all():
        return None
    at = int(np.argmax(np.abs(values)))
    said = f"the score is beyond floating point, {{feature}} being {values[at]:.3g}; scale the "
    return BadRow(row, at if columns is None else int(columns[at]), said + "features")


class Unlearnable(LinsepError):
    """A row that cannot be learnt. ``row`` is its number in the data, None if unknown; ``bad``
    tells more where it was looked at by the learner.
    """

    def __init__(self, row: int | None, said: str = TOO_LARGE, bad: BadRow | None = None):
        super().__init__(said)
        self.row, self.not_finite, self.bad = row, said == TOO_LARGE, bad


def infinite_weight(W: np.ndarray, of_features: bool) -> Unlearnable:
    """What is said of weights beyond floating point: the feature of the first of them.

    Parameters
    ----------
    W : array of shape (features + 1, ...), the intercept last; or weights of examples
    of_features : bool, whether they are those of features
    """
    at = int(np.argwhere(~np.isfinite(W))[0, 0])
    rest = "is beyond floating point; scale the features"
    if not of_features:
        return Unlearnable(None, f"A weight of an example {rest}")
    if at == len(W) - 1:
        return Unlearnable(None, f"The intercept {rest}")
    bad = BadRow(0, at, f"The weight of {{feature}} {rest}")
    return Unlearnable(None, str(bad), bad)


class BadSchedule(LinsepError, ValueError):
    """A learning rate that is none."""


class Learner:
    """Its parameters, and how they act on a state; this one's rule never changes."""

    #: weight of a feature before it was seen
    fill = 0.0
    #: at most so many rows may be walked with one rule
    rows_at_once: int | None = None
    #: whether a pass makes one update, at its end
    by_pass = False
    #: whether the number of features must be known before learning
    needs_width = False
    #: whether the lengths of rows matter, so that no column may stand twice in one
    needs_lengths = False

    def __init__(self, rule: Any = None):
        self._rule = rule

    def begin(self, state: State) -> None:
        """Set up a new state, before its weights are set to any that are given."""

    def check_initial(
        self, coef: np.ndarray | None, intercept: np.ndarray | None, warm: bool
    ) -> None:
        """Raise ValueError for initial weights this learner cannot start from; ``warm`` says that
        those not given are of an earlier run.
        """

    def start(self, state: State) -> None:
        """Set up a state whose weights are those to start with."""

    def rule(self, state: State) -> Any:
        """The compiled rule for the next rows."""
        return self._rule

    def check(self, rows: Dense | Csr | Unit) -> None:
        """Raise BadRow for the first row this learner cannot learn."""

    def complaint(self, rows: Dense | Csr | Unit, row: int) -> str:
        """Why the walk stopped before this row."""
        return TOO_LARGE

    def check_updates(self, state: State) -> None:
        """Rows have been walked; raise where an update was made that is none."""

    def close_pass(self, state: State, scheme: Any, keep: Any) -> int:
        """A pass has ended; returns how many updates are made now."""
        return 0

    def criterion(self, state: State) -> float | None:
        """The value of the criterion in the pass that has just ended, None if there is none."""
        return None

    def went_on(self, state: State) -> bool:
        """Whether, after a pass with mistakes, learning has been started again otherwise."""
        return False


class Schedule:
    """Rates by the number of the update.

    Parameters
    ----------
    rate : the first rate, or a function from k = 1, 2, ... to the rate of update k
    kind : "constant", "inverse" or "inverse_sqrt"
    """

    #: a function is asked for so many updates beforehand
    ASKED_AHEAD = 1024

    def __init__(self, rate: float | Callable[[int], float], kind: str):
        self.rate, self.kind = rate, kind
        self._table = np.zeros(1)
        #: the first update that has no rate, and why
        self._without: tuple[int, Exception] | None = None

    @property
    def is_constant(self) -> bool:
        """Whether all rates are the same."""
        return self.kind == "constant" and not callable(self.rate)

    @property
    def rows_at_once(self) -> int | None:
        """How many rows can be walked before more rates have to be worked out."""
        return self.ASKED_AHEAD // 2 if callable(self.rate) else None

    def compiled(self, updates: np.ndarray) -> Any:
        """The schedule of compiled code; ``updates`` counts those of each machine."""
        if callable(self.rate):
            most = int(updates.max())
            if most + self.ASKED_AHEAD // 2 >= self._table.size:
                self._ask_until(most + self.ASKED_AHEAD)
            return Table(self._table, updates)
        kinds = {"inverse": Inverse, "inverse_sqrt": InverseRoot}
        first = float(self.rate)
        return kinds[self.kind](first, updates) if self.kind in kinds else Constant(first)

    def next(self, update: int) -> float:
        """The rate of this update."""
        if callable(self.rate):
            self._ask_until(update)
            self.check(update)
            return float(self._table[update])
        power = {"constant": 0.0, "inverse": 1.0, "inverse_sqrt": 0.5}[self.kind]
        return float(self.rate) / update**power

    def check(self, update: int) -> None:
        """Raise what is wrong with the rates of the updates up to this one."""
        if self._without is not None and update >= self._without[0]:
            raise self._without[1]

    def _ask_until(self, update: int) -> None:
        """Ask for the rates up to this update, no rate twice; those that are none become 0."""
        more = np.zeros(max(0, update + 1 - self._table.size))
        for n, k in enumerate(range(self._table.size, update + 1)):
            if self._without is None:
                try:
                    more[n] = self._asked(k)
                except Exception as problem:  # it matters only if this update is ever made
                    self._without = k, problem
        self._table = np.concatenate([self._table, more])

    def _asked(self, k: int) -> float:
        value = self.rate(k)  # type: ignore[operator]
        if not (isinstance(value, Real) and np.isfinite(float(value)) and float(value) > 0):
            raise BadSchedule(
                f"learning_rate({k}) is {value!r}; a learning rate must be a finite number above 0."
            )
        return float(value)


class PerceptronLearner(Learner):
    """Update at each mistake, by a schedule."""

    def __init__(self, schedule: Schedule):
        super().__init__()
        self.schedule, self.rows_at_once = schedule, schedule.rows_at_once

    def rule(self, state: State) -> Any:
        """With the rates that can come."""
        return PerceptronRule(self.schedule.compiled(state.per_machine("updates")))

    def check_updates(self, state: State) -> None:
        """Raise for a rate that was used and is none."""
        self.schedule.check(int(state.per_machine("updates").max()))


class DualLearner(PerceptronLearner):
    """The perceptron in the space of a kernel, where its rate changes nothing but the scale."""

    def __init__(self) -> None:
        super().__init__(Schedule(1.0, "constant"))


class BatchLearner(Learner):
    """One update a pass: the sum of all mistakes."""

    by_pass = True

    def __init__(self, schedule: Schedule):
        super().__init__()
        self.schedule, self._criterion, self._last = schedule, np.zeros(1), 0.0

    def rule(self, state: State) -> Any:
        """Sums up what the pass asks for."""
        sums, asked = state.like_weights("asked_for"), state.per_machine("asked")
        return BatchRule(sums, asked, self._criterion)

    def close_pass(self, state: State, scheme: Any, keep: Any) -> int:
        """Make the update."""
        asked, updates = state.per_machine("asked"), state.per_machine("updates")
        updates += asked > 0
        amounts = np.array(
            [self.schedule.next(int(k)) if n else 0.0 for k, n in zip(updates, asked, strict=True)]
        )
        sums = state.like_weights("asked_for")
        if asked.any():
            settle(scheme, keep, state.W, state.bias, sums, amounts, state.rounds)
        made = int((asked > 0).sum())
        sums[:], asked[:] = 0.0, 0
        self._last, self._criterion[0] = float(self._criterion[0]), 0.0
        return made

    def criterion(self, state: State) -> float | None:
        """J_p with the weights of the start of the pass."""
        return self._last


class MarginLearner(Learner):
    """The margin perceptron for a margin that is given, or found by halving."""

    needs_lengths = True

    def __init__(self, gamma: float | None, epsilon: float):
        super().__init__()
        self.gamma, self.epsilon = gamma, epsilon

    def check_initial(
        self, coef: np.ndarray | None, intercept: np.ndarray | None, warm: bool
    ) -> None:
        """Halving starts from zero again and again."""
        if self.gamma is None and (warm or coef is not None or intercept is not None):
            raise ValueError(
                "coef_init, intercept_init and warm_start need a gamma that is given, not 'auto'."
            )

    def start(self, state: State) -> None:
        """Note how long the weights are."""
        state.per_machine("gamma", np.float64)[:] = 0.5 if self.gamma is None else self.gamma
        W = state.W.reshape(len(state.W), -1)[:, : state.n_columns]
        lengths = (W**2).sum(axis=0)
        joint = state.n_machines < state.n_columns
        state.per_machine("squares", np.float64)[:] = lengths.sum() if joint else lengths

    def rule(self, state: State) -> Any:
        """With the margin that is tried now."""
        gamma = state.per_machine("gamma", np.float64)
        if self.gamma is not None:  # it may have been set anew between calls of partial_fit
            gamma[:] = self.gamma
        numbers = (state.per_machine(name, np.float64) for name in ("squares", "total", "heaviest"))
        return MarginRule((1.0 - self.epsilon) * gamma[0], *numbers)

    def complaint(self, rows: Dense | Csr | Unit, row: int) -> str:
        """A row of zeros has no margin."""
        if not values_of(rows, row).any():
            return "it is all zeros and has no margin; leave such rows out or fit an intercept"
        return TOO_LARGE

    def went_on(self, state: State) -> bool:
        """Halve a margin that has cost more updates than it could, and start from zero again."""
        gamma = float(state.per_machine("gamma", np.float64)[0])
        total, heaviest = (state.per_machine(name, np.float64) for name in ("total", "heaviest"))
        most = most_updates(gamma, self.epsilon) * ROUNDING
        if self.gamma is not None or (total <= most * heaviest).all():
            return False
        state.start_again()
        state.per_machine("failed", np.float64)[:] = gamma
        state.per_machine("gamma", np.float64)[:] = gamma / 2
        return True


def most_updates(gamma: float, epsilon: float) -> float:
    """Updates of the margin perceptron on rows of unit length separable with margin gamma.

    8 / gamma^2 for epsilon = 1/2 (Blum, lecture 4), in general 2 / (epsilon gamma)^2: each update
    adds gamma to <w, w*>, but to ||w||, once that is above 1 / (epsilon gamma), at most
    (1 - epsilon / 2) gamma. Where rows have weights, the same holds of the sum of the weights over
    all updates, divided by the largest of them.
    """
    return 2.0 / (epsilon * gamma) ** 2


class WinnowLearner(Learner):
    """Multiplied weights, all 1 at first, against a threshold."""

    fill = 1.0

    def __init__(self, promotion: float, threshold: float | None):
        super().__init__(WinnowRule(promotion))
        self.threshold, self.needs_width = threshold, threshold is None

    def begin(self, state: State) -> None:
        """Set the threshold; the native rule, which compares classes, needs none."""
        threshold = state.n_features / 2 if self.threshold is None else self.threshold
        native = state.n_machines < state.n_columns
        state.W[-1] = 0.0 if native else -threshold

    def check_initial(
        self, coef: np.ndarray | None, intercept: np.ndarray | None, warm: bool
    ) -> None:
        """Only what is above zero can be multiplied; the intercept is never learnt."""
        if coef is not None and not (coef > 0).all():
            raise ValueError("coef_init of Winnow must be above 0 everywhere.")
        if intercept is not None:
            raise ValueError("Winnow's intercept is minus its threshold: give threshold instead.")

    def check(self, rows: Dense | Csr | Unit) -> None:
        """Features must not be negative."""
        if isinstance(rows, Unit):
            return self.check(rows.rows)
        if not rows.values.size or not rows.values.min() < 0:  # NaN shows in the score
            return None
        at = tuple(np.argwhere(rows.values < 0)[0].tolist())
        if isinstance(rows, Dense):
            row, column = at
        else:
            row = int(np.searchsorted(rows.starts, at[0], side="right")) - 1
            column = int(rows.columns[at[0]])
        value = rows.values[at]
        raise BadRow(
            row,
            column,
            f"Negative values in data: {{feature}} is {value:g}, but Winnow learns from features "
            "of at least 0; use the balanced Winnow, or shift the feature",
        )


class BalancedWinnowLearner(Learner):
    """Multiplied weights of either sign, all 0 at first."""

    def __init__(self, promotion: float, threshold: float):
        super().__init__(BalancedWinnowRule(promotion, threshold))
        self.threshold = threshold

    def begin(self, state: State) -> None:
        """Take the threshold off the weight of the constant feature."""
        if self.threshold and state.n_machines < state.n_columns:
            raise ParameterError(
                "The native rule compares the scores of classes and has no threshold",
                way("leave it at {}", threshold=0),
                way("choose {}", multiclass="ovr"),
                way("{}", multiclass="ovo"),
            )
        state.W[-1] -= self.threshold


class PassiveAggressiveLearner(Learner):
    """PA-I ("hinge"; PA with an infinite C) or PA-II ("squared_hinge")."""

    needs_lengths = True

    def __init__(self, C: float, loss: str):
        soft = loss == "squared_hinge"
        most = np.inf if soft else float(C)
        super().__init__(PassiveAggressiveRule(most, 1.0 / (2.0 * C) if soft else 0.0))
