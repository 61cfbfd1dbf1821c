"""The perceptron as a scikit-learn estimator."""

import sys
from collections.abc import Callable
from numbers import Real
from typing import Any, Literal

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
from linsep.errors import ParameterError, hint
from linsep.learners.online import LinearClassifier
from linsep.learners.state import Learner, State, Weights, sparing
from linsep.parameters import ScheduleName, parameter


class Perceptron(LinearClassifier):
    """Rosenblatt's perceptron: on a mistake, add the example to the weights.

    Training stops at the first pass without a mistake (``stop_reason_ == "converged"``), which is
    reached if and only if the rows are linearly separable, or after ``max_iter`` passes. During
    training, a score of zero is a mistake by default (see ``zero``). With a constant rate,
    ``shuffle=False`` and ``keep="last"`` it also stops if the weights at the start of a pass (of
    each binary classifier) have occurred before (``"cycle"``): ``cycle_`` then proves that no
    number of passes will separate the rows.

    Parameters
    ----------
    multiclass : {"native", "ovr", "ovo"}, default="native"
        For more than two classes: one joint rule (a mistake adds the example to the true class and
        subtracts it from the predicted one), one binary classifier per class against the rest, or
        one per pair.
    fit_intercept : bool, default=True
        Whether to fit an intercept: the weight of an additional feature that is always 1.
    max_iter : int, default=1000
        Maximum number of passes over the data.
    shuffle : bool, default=True
        Visit the rows in random order in every pass after the first.
    random_state : int, RandomState or None, default=0
        Seed for shuffling, held-out rows and random ties.
    learning_rate : float or callable, default=1.0
        Rate of the first update, or a function from k = 1, 2, ... to the rate of update k. With
        zero initial weights, a constant rate does not change predictions in exact arithmetic (in
        floats, this is certain only for powers of 2).
    schedule : {"constant", "inverse", "inverse_sqrt"}, default="constant"
        The rate of update k: constant, divided by k, or divided by its square root.
    update : {"single", "batch"}, default="single"
        Update at every mistake, or once per pass by the sum of all mistakes: gradient descent on
        the perceptron criterion J_p, see ``criterion_``.
    zero : {"mistake", "negative", "correct"}, default="mistake"
        The treatment of a score of zero during training, for each binary classifier: a mistake; a
        prediction of -1, and so a mistake for label +1; or correct. With the latter two, a pass
        without a mistake may leave scores of zero, and the run stops as "clean", not "converged".
        "correct" needs nonzero initial weights, since zero weights would never change. The native
        rule of several classes compares scores, and ``tie`` decides between equal ones: it requires
        "mistake".
    keep : {"last", "average", "vote", "best"}, default="last"
        The weights for prediction. "average": the mean over all steps (examples seen). "vote": each
        version of the weights votes with the number of steps it survived. "best": the pocket
        algorithm with ratchet; after each pass the mistakes of the longest-surviving and the last
        weights on all rows are counted, and the weights with the fewest so far are kept.
        (Minimizing the number of mistakes is NP-hard.) partial_fit, which sees each row once, keeps
        the longest-surviving weights.
    vote_mb : float, default=256
        Memory limit in MB for ``keep="vote"``, which stores every row that caused an update (20
        bytes plus 16 per value) and reads them all to predict. If the limit is exceeded, fit raises
        an error.
    normalize : bool, default=False
        Scale every row to unit length in training and prediction, without a copy.
    early_stopping : bool, default=False
        Whether to hold rows out and stop when their accuracy has not improved for
        ``n_iter_no_change`` passes. With ``keep="last"`` the weights of the best pass are kept,
        unless the run converged. For other values of ``keep``, which depend less on the last rows,
        the model is then trained again on all rows for as many passes, or fewer if a pass makes no
        mistake. The accuracy uses sample weights, not class weights.
    validation_fraction : float, default=0.1
        Fraction of each class to hold out, with ``early_stopping``.
    n_iter_no_change : int, default=5
        Passes without improvement before stopping early.
    class_weight : dict, "balanced" or None, default=None
        Multiplies the updates for a class. "balanced": total weight of the rows / (classes * weight
        of the rows of the class); rows of weight 0 are ignored.
    reference : label or None, default=None
        The class with target -1 (two classes only), which determines the signs of weights. None:
        the smaller class. As in scikit-learn, :meth:`decision_function` is always positive for the
        larger class.
    warm_start : bool, default=False
        Whether ``fit`` starts from the weights of the last fit.
    verbose : int, default=0
        1 prints one line per pass.
    tie : {"negative", "positive", "random"}, default="negative"
        The class predicted for a row whose score is exactly zero, or equal for several classes: the
        smaller (the reference of two classes), the larger, or a draw by seed and row (see
        :meth:`predict`); for two classes, ``zero`` decides whether such a row is a mistake during
        training. With "random", the native rule treats a tie as a mistake during training, and a
        one-vs-one score of zero is half a win for each class.

    Attributes
    ----------
    equation_ : the weights as a printable equation in the features and units of the data
    coef_ : array of shape (1, features), (classes, features) or (pairs, features), the weights used
        to predict (with ``keep="vote"`` the last version)
    intercept_ : array of shape (1,), (classes,) or (pairs,)
    classes_ : array of the sorted labels
    reference_ : the class with target -1; None for several classes
    n_iter_ : number of passes made
    mistakes_ : array of shape (passes,), mistakes in each pass; with ovr and ovo, summed over
        the binary classifiers; all rows passed to partial_fit are one pass
    n_updates_ : int, number of updates
    calibration_ : the calibration of :func:`linsep.calibrate`, required for ``predict_proba``
    stop_reason_ : "converged", "clean" (without a mistake, but with scores of zero), "cycle",
        "max_iter", "early_stop" or "interrupted"; None after partial_fit
    stop_sentence_ : the stop reason as a sentence; known after fit, not partial_fit
    cycle_ : the :class:`linsep.certificate.cycles.Cycle` that ended the run, with ``verify(X, y)``,
        or None; with ovr and ovo the ``Cycles`` of the binary classifiers
    report_ : the bound that the run proves without the rows, a
        :class:`linsep.mistake_bounds.bounds.Bounds`: after M mistakes no separator has a margin
        above ||w||/M; ``bounds(X, y)`` adds the bounds that need the rows
    criterion_ : array of shape (passes,), J_p at the start of each pass; with update="batch"
    validation_scores_ : array of shape (passes,), accuracy on the held-out rows after each pass
        without them; with early_stopping. This and the next two are at score 0, whatever the
        ``threshold_``
    validation_curve_ : array of shape (passes, 2), error rates of the weights kept after each of
        these passes on training rows and on held-out rows
    progressive_accuracy_ : share of the rows of the first pass predicted correctly before learning
    n_features_in_ : number of features
    feature_names_in_ : names of the features, if X has only string names

    References
    ----------
    F. Rosenblatt, The perceptron, Psychological Review 65 (1958). A. Novikoff, On convergence
    proofs for perceptrons (1962): at most (R / margin)^2 mistakes on separable rows. Y. Freund and
    R. Schapire, Large margin classification using the perceptron algorithm, Machine Learning 37
    (1999), for average and vote. S. Gallant, Perceptron-based learning algorithms, IEEE Trans.
    Neural Networks 1 (1990), for the pocket.

    Examples
    --------
    Versicolor and virginica overlap, so the last weights depend on the last rows. The average is
    better on most data; the default is the textbook algorithm:

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

    command_name = "perceptron"
    mixable = True

    learning_rate: float | Callable[[int], float] = parameter(
        default=1.0, above=0.0, called_with="k", help="initial learning rate"
    )
    schedule: ScheduleName = parameter(
        default="constant",
        help="learning rate of update k: constant, divided by k, or by its square root",
    )
    update: Literal["single", "batch"] = parameter(
        default="single",
        help="update at every mistake, or once per pass by the sum of all mistakes",
    )
    zero: Literal["mistake", "negative", "correct"] = parameter(
        default="mistake",
        help="meaning of a score of zero during training: a mistake, a prediction of class -1, or "
        "correct",
    )

    def learner(self) -> Learner:
        if callable(self.learning_rate) and self.schedule != "constant":
            raise ParameterError(
                "A learning_rate function defines the whole schedule: schedule must be "
                f"'constant', got {self.schedule!r}.",
                code="conflict", option="schedule", value=self.schedule,
            )  # fmt: skip
        kind = BatchLearner if self.update == "batch" else PerceptronLearner
        return kind(self.learning_rate, self.schedule, self.zero)

    def _total_rate(self) -> float | None:
        rate, mixture = self.learner().constant_rate, self.fitted_run().mixture
        # The batch rule adds all mistakes of a pass with the same rate; shards count their share.
        added = float(self.mistakes_.sum()) if mixture is None else mixture.weighted_mistakes
        return None if rate is None else rate * added


#: rates computed in advance by a function
COMPUTED_AHEAD = 1024
#: schedules in compiled code, and the power of the number of the update that divides the rate
SCHEDULES = {
    "constant": (lambda rate, updates: Constant(rate), 0.0),
    "inverse": (Inverse, 1.0),
    "inverse_sqrt": (InverseRoot, 0.5),
}


class PerceptronLearner(Learner):
    """Update at each mistake, with the parameters of :class:`Perceptron`."""

    replayed = "single"

    def __init__(
        self, rate: float | Callable[[int], float] = 1.0, schedule: str = "constant",
        zero: str = "mistake",
    ):  # fmt: skip
        self.rate, self.schedule, self.zero = rate, schedule, zero
        self.constant_rate = None if callable(rate) or schedule != "constant" else float(rate)
        #: rates of a function by the update, and the first without a valid one, with its error
        self._rates = np.zeros(1)
        self._without: tuple[int, Exception] = sys.maxsize, ValueError()
        if callable(rate):  # before more rates must be computed
            self.rows_at_once = COMPUTED_AHEAD // 2

    def _compute(self, update: int) -> None:
        """Compute the missing rates of a function up to this update; invalid ones become 0."""
        known = self._rates
        self._rates = np.append(known, np.zeros(max(0, update + 1 - known.size)))
        for k in range(known.size, min(update + 1, self._without[0])):
            try:
                value = self.rate(k)  # type: ignore[operator]
                if not (isinstance(value, Real) and 0 < float(value) < np.inf):
                    raise ParameterError(
                        f"learning_rate({k}) is {value!r}; a learning rate must be a finite number "
                        "above 0.", option="learning_rate", value=value,
                    )  # fmt: skip
                self._rates[k] = float(value)
            except Exception as problem:  # raised only if this update is made
                self._without = k, problem
                break

    def start(self, state: State, coef: Weights, intercept: Weights, warm: bool) -> None:
        given = [array for array in (coef, intercept) if array is not None]
        zeros = not warm and not (given and np.column_stack(given).any(axis=1).all())
        if self.zero == "correct" and zeros:
            raise ParameterError(
                "If scores of zero are correct, zero weights never change",
                "set initial weights (coef_init, or --init-weights)",
                hint("choose another {}", zero=None), code="conflict", option="zero",
            )  # fmt: skip
        if self.zero != "mistake" and state.n_machines < state.n_columns:
            raise ParameterError(
                "The native rule of several classes compares scores, and zero has no meaning",
                hint("choose {}", multiclass="ovr"), hint("{}", zero="mistake"),
                code="conflict", option="zero",
            )  # fmt: skip
        super().start(state, coef, intercept, warm)

    def rule(self, state: State) -> Any:
        updates = state.per_machine("updates")
        if callable(self.rate):
            most = int(updates.max())
            if most + COMPUTED_AHEAD // 2 >= self._rates.size:
                self._compute(most + COMPUTED_AHEAD)
            schedule: Any = Table(self._rates, updates)
        else:
            schedule = SCHEDULES[self.schedule][0](float(self.rate), updates)
        return self._sparing(PerceptronRule(schedule), state)

    def _sparing(self, rule: Any, state: State) -> Any:
        spares = self.zero != "mistake"
        return sparing(rule, self.zero, state.per_machine("spared")) if spares else rule

    def leaves_zeros(self, state: State) -> bool:
        return self.zero != "mistake" and bool(state.per_machine("spared").any())

    def check_updates(self, state: State) -> None:
        if callable(self.rate) and state.per_machine("updates").max() >= self._without[0]:
            raise self._without[1]


class BatchLearner(PerceptronLearner):
    """One update per pass: the sum of all mistakes."""

    replayed = "batch"
    by_pass = True

    def __init__(self, *how: Any):
        super().__init__(*how)
        self.rows_at_once = None  # no rate is needed before the end of a pass

    def rule(self, state: State) -> Any:
        sums, asked = state.like_weights("asked_for"), state.per_machine("asked")
        rule = BatchRule(sums, asked, state.per_machine("criterion", np.float64))
        return self._sparing(rule, state)

    def close_pass(self, state: State, scheme: Any, keep: Any) -> int:
        asked, updates = state.per_machine("asked"), state.per_machine("updates")
        due, sums = asked > 0, state.like_weights("asked_for")
        updates += due
        if callable(self.rate):
            self._compute(int(updates.max()))
            self.check_updates(state)
            rates = self._rates[updates]
        else:
            power = SCHEDULES[self.schedule][1]
            rates = np.array([float(self.rate) / max(k, 1) ** power for k in updates.tolist()])
        amounts = np.where(due, rates, 0.0)
        if due.any():
            apply_batch_update(scheme, keep, state.W, state.bias, sums, amounts, state.rounds)
        if self.zero != "mistake":
            state.per_machine("spared")[due] = 0
        criterion = state.per_machine("criterion", np.float64)
        state.per_machine("last_criterion", np.float64)[:] = criterion
        sums[:], asked[:], criterion[:] = 0.0, 0, 0.0
        return int(due.sum())

    def criterion(self, state: State) -> float | None:
        return float(state.per_machine("last_criterion", np.float64)[0])
