"""The perceptron as a scikit-learn estimator."""

from collections.abc import Callable
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np

from linsep.compiled.rules.perceptron import (
    BatchRule,
    Constant,
    Inverse,
    InverseRoot,
    PerceptronRule,
    Table,
    apply_batch_update,
)
from linsep.errors import LinsepError, ParameterError
from linsep.estimators._common.checking import (
    COMMON,
    INTERCEPT,
    KEEP,
    NORMALIZE,
    SCHEDULES,
    Multiclass,
    Parameter,
    ScheduleName,
    Tie,
)
from linsep.estimators._common.fitting import LinearClassifier
from linsep.online.keeping import Keep
from linsep.online.learner import Learner, State

Update = Literal["single", "batch"]


class Perceptron(LinearClassifier):
    """Rosenblatt's perceptron: on a mistake, add the example to the weights.

    It stops at the first pass without a mistake (``stop_reason_ == "converged"``), which comes
    exactly when the rows are linearly separable, or after ``max_iter`` passes. A score of zero is
    a mistake while learning. With a constant rate, ``shuffle=False`` and ``keep="last"`` it also
    stops where the weights at the start of a pass come back, of several machines those of each
    (``"cycle"``): ``cycle_`` then proves that no number of passes will separate the rows.

    Parameters
    ----------
    multiclass : {"native", "ovr", "ovo"}, default="native"
        More than two classes: one joint rule (on a mistake the true class gains the example, the
        predicted one loses it), one machine a class against the rest, or one machine a pair.
    fit_intercept : bool, default=True
        Learn an intercept, that is the weight of one more feature that is always 1.
    max_iter : int, default=1000
        At most this many passes over the data.
    shuffle : bool, default=True
        Visit the rows in random order in every pass after the first.
    random_state : int, RandomState or None, default=0
        Seed of the shuffling, of the held-out rows and of random ties.
    learning_rate : float or callable, default=1.0
        What the first update of a machine is multiplied by. From zero weights and with a constant
        schedule it changes no prediction in exact arithmetic; in floats only powers of 2 are sure
        not to. Or a function from k = 1, 2, ... to the rate of update k.
    schedule : {"constant", "inverse", "inverse_sqrt"}, default="constant"
        The rate of update k: constant, divided by k, or by its square root.
    update : {"single", "batch"}, default="single"
        Update at every mistake, or once a pass by the sum of all its mistakes: the batch rule on
        the perceptron criterion J_p, which ``criterion_`` has of every pass.
    keep : {"last", "average", "vote", "best"}, default="last"
        The weights to predict with. "average": their mean over all rounds (examples seen).
        "vote": every version of the weights votes with the number of rounds it survived.
        "best": the pocket with ratchet; after each pass the longest-lived weights and the last
        are counted out on all rows, and the fewest mistakes so far win. (To find the fewest of
        all is NP-hard.) In partial_fit, which sees no row twice, the longest-lived are kept.
    vote_mb : float, default=256
        ``keep="vote"`` remembers, of every row that caused an update, 16 bytes a value and 20 for
        the row; a prediction goes over them all. Beyond this much memory fit ends with an error.
    normalize : bool, default=False
        See every row as if scaled to unit length, here and in predictions, without a copy.
    early_stopping : bool, default=False
        Hold rows out and stop when their accuracy has not improved for ``n_iter_no_change``
        passes; the weights of the best pass are kept, unless a clean pass ended the run. In that
        accuracy a row counts its sample weight, not the weight of its class.
    validation_fraction : float, default=0.1
        Share of every class to hold out, with ``early_stopping``.
    n_iter_no_change : int, default=5
        Passes without improvement before stopping early.
    class_weight : dict, "balanced" or None, default=None
        Updates for a class are multiplied by its weight. "balanced": total weight of the rows /
        (classes * weight of the rows of the class); rows of weight 0 do not count.
    warm_start : bool, default=False
        ``fit`` goes on from the weights of the last fit.
    verbose : int, default=0
        1 prints a line a pass.
    tie : {"negative", "positive", "random"}, default="negative"
        The class of a row whose score is exactly zero, or the same for several classes: the
        smaller, the larger, or a draw by seed and row (see :meth:`predict`). Native learning counts
        a tie that might be drawn as a mistake; a match of one-vs-one at zero that might be drawn is
        half a win for each.

    Attributes
    ----------
    coef_ : array of shape (1, features), (classes, features) or (pairs, features)
    intercept_ : array of shape (1,), (classes,) or (pairs,)
    classes_ : array of the labels, sorted
    n_iter_ : passes made
    mistakes_ : array of shape (n_iter_,), mistakes in each pass; with ovr and ovo, summed over
        the machines
    n_updates_ : int, how often the weights were changed
    stop_reason_ : "converged", "cycle", "max_iter", "early_stop" or "interrupted"; None after
        partial_fit
    stop_sentence_ : the same in a sentence
    cycle_ : the cycle that ended the run, with ``verify(X, y)``, or None
    report_ : what the run alone proves: ||w||/M; ``bounds(X, y)`` adds what needs the rows
    criterion_ : array of shape (n_iter_,), J_p at the start of each pass; with update="batch"
    validation_scores_, validation_curve_ : with early_stopping, accuracy on the held-out rows and
        the errors on rows learnt and held out, after each pass
    progressive_accuracy_ : share of the rows of the first pass predicted rightly before learning
    n_features_in_ : number of features
    feature_names_in_ : their names, when X had names that are all strings

    References
    ----------
    F. Rosenblatt, The perceptron, Psychological Review 65 (1958). A. Novikoff, On convergence
    proofs for perceptrons (1962): at most (R / margin)^2 mistakes on separable rows. Y. Freund and
    R. Schapire, Large margin classification using the perceptron algorithm, Machine Learning 37
    (1999), for average and vote. S. Gallant, Perceptron-based learning algorithms, IEEE Trans.
    Neural Networks 1 (1990), for the pocket.

    Examples
    --------
    Versicolor and virginica overlap. There the last weights depend on the rows visited last, and
    the average, which serves most data, does not; the default is the textbook's, the last:

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

    _parameters = (
        *COMMON,
        INTERCEPT,
        *SCHEDULES,
        Parameter(
            "update",
            str,
            "at every mistake, or once a pass by the sum of all its mistakes",
            choices=get_args(Update),
        ),
        *KEEP,
        NORMALIZE,
    )

    def __init__(
        self,
        *,
        multiclass: Multiclass = "native",
        fit_intercept: bool = True,
        max_iter: int = 1000,
        shuffle: bool = True,
        random_state: Any = 0,
        learning_rate: Any = 1.0,
        schedule: ScheduleName = "constant",
        update: Update = "single",
        keep: Keep = "last",
        vote_mb: float = 256.0,
        normalize: bool = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        tie: Tie = "negative",
    ):
        self.multiclass = multiclass
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.update = update
        self.keep = keep
        self.vote_mb = vote_mb
        self.normalize = normalize
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.verbose = verbose
        self.tie = tie

    def _learner(self) -> Learner:
        if callable(self.learning_rate) and self.schedule != "constant":
            raise ParameterError(
                "A learning_rate that is a function is the whole schedule: leave schedule at "
                f"'constant', got {self.schedule!r}."
            )
        schedule = Schedule(self.learning_rate, self.schedule)
        asked = self.__dict__.setdefault("_schedule", schedule)
        if (asked.rate, asked.kind) == (schedule.rate, schedule.kind):
            schedule = asked  # calls of partial_fit ask a function for no rate twice
        self._schedule = schedule
        return (BatchLearner if self.update == "batch" else PerceptronLearner)(schedule)

    def _theorems(self) -> tuple[str, dict[str, Any]]:
        return "perceptron", {"rate": self._rate()}

    def _obstacle(self) -> str | None:
        if self._rate() is None:
            return "its rate is not constant"
        if self.update == "batch":
            return "they are about an update at every mistake"
        return super()._obstacle()

    def _rate(self) -> float | None:
        """The rate, if it is the same at every update."""
        constant = self.schedule == "constant" and not callable(self.learning_rate)
        return float(self.learning_rate) if constant else None

    def _total_rate(self, learner: str) -> float | None:
        rate = self._rate()
        # The batch rule adds every mistake of a pass at once, with the same rate.
        return None if rate is None else rate * float(self.mistakes_.sum())


class BadSchedule(LinsepError, ValueError):
    """A learning rate that is none."""


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
        """How many rows can be learnt before more rates have to be worked out."""
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

    replayed = "single"

    def __init__(self, schedule: Schedule):
        super().__init__()
        self.schedule, self.rows_at_once = schedule, schedule.rows_at_once

    def rule(self, state: State) -> Any:
        """With the rates that can come."""
        return PerceptronRule(self.schedule.compiled(state.per_machine("updates")))

    def check_updates(self, state: State) -> None:
        """Raise for a rate that was used and is none."""
        self.schedule.check(int(state.per_machine("updates").max()))


class BatchLearner(Learner):
    """One update a pass: the sum of all mistakes."""

    replayed = "batch"

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
            apply_batch_update(scheme, keep, state.W, state.bias, sums, amounts, state.rounds)
        made = int((asked > 0).sum())
        sums[:], asked[:] = 0.0, 0
        self._last, self._criterion[0] = float(self._criterion[0]), 0.0
        return made

    def criterion(self, state: State) -> float | None:
        """J_p with the weights of the start of the pass."""
        return self._last
