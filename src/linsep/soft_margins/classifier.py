"""Shared code of the linear and kernel soft margins as scikit-learn estimators."""

from collections.abc import Callable, Iterator
from copy import copy
from functools import partial
from math import inf, nan
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from linsep._system.interrupts import interruption_point, interrupts_deferred
from linsep.errors import ParameterError, hint, warn_caller
from linsep.estimators import labels
from linsep.estimators.fitted_state import (
    Array,
    as_it_is,
    calls_back,
    classes_from,
    count,
    described,
    number,
    restored,
    state_of,
)
from linsep.estimators.frames import to_learn
from linsep.estimators.reading import StopReason
from linsep.learners.online import PredictsOnline
from linsep.learners.passes import Run
from linsep.learners.state import KeepLast, Learner, State
from linsep.learners.stored import calibration_arrays, calibration_of
from linsep.logistic.task import Callbacks, Stopped
from linsep.parameters import HasParameters, TwoSided, check_parameters, parameter
from linsep.soft_margins.problem import Certificate, relative_gap
from linsep.sources.base import Source
from linsep.validation.checks import rows_to_fit, tidy

Loss = Literal["hinge", "squared_hinge"]

#: attributes that a fit sets, or may set
LEARNED = (
    "_run", "support_positions_", "stop_reason_", "training_accuracy_", "training_rows_",
    "training_baseline_", "training_sampled_", "training_balanced_accuracy_", "calibration_",
    "threshold_", "recipe_",
)  # fmt: skip


class Machine(NamedTuple):
    """Rows of two classes, with weight above 0, their signs, and the costs of errors in them."""

    rows: np.ndarray
    signs: np.ndarray
    costs: np.ndarray


def machines_of(
    codes: np.ndarray, n_classes: int, multiclass: str, costs: np.ndarray
) -> Iterator[Machine]:
    """Yield the binary problems of classes: one for two, else one for each class or pair of
    classes.
    """
    sides: list[Any] = [(1,)] if n_classes == 2 else [(k,) for k in range(n_classes)]
    if n_classes > 2 and multiclass == "ovo":
        sides = labels.pairs(n_classes)
    for side in sides:
        rows = np.flatnonzero((costs > 0) & (np.isin(codes, side) | (len(side) == 1)))
        yield Machine(rows, np.where(codes[rows] == side[-1], 1.0, -1.0), costs[rows])


#: what a model file holds, beside the curves of a calibration
STATE: dict[str, Any] = {
    "coef": Array("machines, features"),
    "intercept": Array("machines"),
    "trace": Array("steps, 3"),
    "objectives": Array("machines", finite=False),
    "bounds": Array("machines", finite=False),
    "support": Array("machines", np.int64),
    "bounded": Array("machines", np.int64),
    "classes": classes_from,
    "n_rows": partial(count, least=1),
    "stop_reason": StopReason,
    "accuracy": lambda value: value if value is None else number(value),
    "calibration": as_it_is,
}


def warn_of_gap(model: Any, where: str = "The") -> None:
    """Warn that the objective is not proved to be within ``tol`` of the optimum."""
    warn_caller(
        ConvergenceWarning(
            f"{where} objective is within {model.duality_gap_:.1g} of the optimum, but "
            f"tol={model.tol:g} is smaller: raise max_iter or tol, or scale the features."
        )
    )


class SoftMarginClassifier(
    PredictsOnline, CallbackSupportMixin, ClassifierMixin, HasParameters, BaseEstimator
):
    """Base class of the soft margins: parameters, several classes, certificates, files.

    A subclass defines how rows are checked and how a binary problem is solved.
    """

    C: float = parameter(
        default=1.0, above=0.0, also=(inf,), help="cost of errors, against the squared weights"
    )
    loss: Loss = parameter(
        default="hinge", help="loss of a row inside the margin: its distance, or the square"
    )
    fit_intercept: bool = parameter(default=True, help="fit an intercept")
    penalize_intercept: bool = parameter(
        default=False, help="penalize the intercept as a weight, as LIBLINEAR does"
    )
    multiclass: TwoSided = parameter(
        default="ovr", help="strategy for several classes: one against the rest, or pairs"
    )
    tol: float = parameter(
        default=1e-4, above=0.0,
        help="stop when the objective is within this relative gap of the optimum",
    )  # fmt: skip
    max_iter: int = parameter(default=1000, at_least=1, help="maximum number of passes over rows")
    random_state: Any = 0
    class_weight: Any = None
    reference: Any = None

    # What online learners choose: scores of zero are the smaller class.
    tie = "negative"
    #: whether the kernel is known not to be positive semidefinite
    _indefinite = False
    keep = "last"

    def _checked(self, X: Any) -> Any:
        return tidy(rows_to_fit(X, self, labels.FLOATS, order="C"))

    def _solver(self, X: Any) -> Callable[[Machine, Any], Certificate]:
        """Return a solver for binary problems of these rows, given a function of the best
        certificate so far.
        """
        raise NotImplementedError

    def _take(self, X: Any, found: list[Certificate]) -> None:
        coef = np.array([one.coef for one in found])
        self._hold(coef, np.array([one.intercept for one in found]))

    @calls_back
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the soft margin of the rows, and prove how close its objective is to the optimum.

        Parameters
        ----------
        X : array or sparse matrix of shape (rows, features), or a Source
            A source is read into memory; it has its own labels, so omit y.
        y : array of shape (rows,)
            Labels of any type; with two classes, the one that is not the ``reference`` is +1.
        sample_weight : array of shape (rows,), default ones
            Multiplies the cost of the row.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter, row, label or weight is invalid; the message names it, its position, and
            a remedy.

        Warns
        -----
        ConvergenceWarning
            If the gap is larger than ``tol``.
        """
        check_parameters(self)
        if inf == self.C:
            raise ParameterError(
                "An infinite C requires a hard margin, which `linsep separate --margin max` and "
                "linsep.separation prove for separable classes",
                hint("set {} to a finite number", C=None), option="C", value=self.C,
            )  # fmt: skip
        if (source := self._to_learn(X, y, sample_weight)) is not None:
            self._fit_source(source)
        else:
            self._fit_rows(X, y, sample_weight)
        return self

    def _to_learn(self, X: Any, y: Any, sample_weight: Any) -> Source | None:
        return to_learn(self, X, y, sample_weight)

    def _fit_rows(self, X: Any, y: Any, sample_weight: Any) -> None:
        given, X = X, self._checked(X)
        y = labels.label_a_row(self, y, X.shape[0])
        classes, codes, weights = labels.labeled(self, y, sample_weight)
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        with interrupts_deferred():
            self._fit_codes(X, classes, codes, weights, {"X": given, "y": y, "metadata": metadata})

    def _fit_codes(
        self, X: Any, classes: np.ndarray, codes: np.ndarray, weights: np.ndarray,
        given: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """Fit to rows with codes of their classes, and weights unless all are 1: solve the binary
        problems one after the other, with callbacks, which get ``given``, for the steps of each.
        """
        for name in LEARNED:
            self.__dict__.pop(name, None)
        self._learned_with = self.get_params(deep=False)
        self.classes_, self.n_rows_ = classes, len(codes)
        #: the best so far of the problem that is being solved
        self._at: Certificate | None = None
        costs = self.C * (weights if weights.size else np.ones(len(codes)))
        machines = [*machines_of(codes, classes.size, self.multiclass, costs)]
        found: list[Certificate] = []
        steps: list[tuple[int, float, float]] = []
        callbacks = Callbacks(self, given or {"X": None, "y": None, "metadata": None})

        def snapshot(so_far: Certificate) -> dict[str, Any]:
            model = copy(self)
            model._finish(X, machines, [*found, so_far], steps)
            return dict(vars(model))

        def told(so_far: Certificate) -> bool:
            interruption_point()
            self._at = so_far
            steps.append((len(found), so_far.primal, so_far.bound))
            try:
                callbacks.iterated(lambda: snapshot(so_far))
            except Stopped:
                self.stop_reason_ = StopReason.EARLY_STOP
            return hasattr(self, "stop_reason_")

        solve = self._solver(X)
        try:
            for one in machines:
                # classes without weight cost nothing
                found.append(solve(one, told) if one.rows.size else self._nothing(one, 0.0))
                self._at = None
        except KeyboardInterrupt:
            if self._at is None:
                raise
            self.stop_reason_ = StopReason.INTERRUPTED
            self._finish(X, machines, [*found, self._at], steps)
            raise
        self._finish(X, machines, found, steps)
        if self.stop_reason_ == StopReason.MAX_ITER and not self._indefinite:
            warn_of_gap(self)
        callbacks.ended(lambda: dict(vars(self)))

    def _nothing(self, machine: Machine, primal: float = inf) -> Certificate:
        coef = np.zeros(getattr(self, "n_features_in_", 0))
        return Certificate(coef, 0.0, np.zeros(machine.rows.size), primal, 0.0)

    def _finish(
        self, X: Any, machines: list[Machine], found: list[Certificate],
        steps: list[tuple[int, float, float]],
    ) -> None:  # fmt: skip
        """Store the solution; problems that are not solved have weights of zero."""
        found = [*found, *map(self._nothing, machines[len(found) :])]
        rows, signs, costs = map(np.concatenate, zip(*machines, strict=True))
        dual = np.concatenate([one.dual for one in found])
        which = np.repeat(np.arange(len(machines)), [one.rows.size for one in machines])
        used = dual > 0
        full = used & (self.loss == "hinge") & (dual >= costs * (1 - 1e-9))  # up to rounding
        self.support_, self.bounded_support_ = np.unique(rows[used]), np.unique(rows[full])
        self._dual_coef = np.zeros((len(machines), self.support_.size))
        places = np.searchsorted(self.support_, rows[used])
        self._dual_coef[which[used], places] = (signs * dual)[used]
        self._solution = {
            "objectives": np.array([one.primal for one in found]),
            "bounds": np.array([one.bound for one in found]),
            "support": np.bincount(which[used], minlength=len(machines)),
            "bounded": np.bincount(which[full], minlength=len(machines)),
        }
        self.trace_ = np.array(steps, dtype=np.float64).reshape(-1, 3)
        self._take(X, found)
        if not hasattr(self, "stop_reason_"):
            near = self.duality_gap_ <= self.tol
            self.stop_reason_ = StopReason.CONVERGED if near else StopReason.MAX_ITER

    def _fit_source(self, source: Source) -> None:
        from linsep.learners.from_source import fit_in_memory

        def fit(X: Any, y: Any, weights: Any, groups: Any) -> None:
            source.stage, source.doing, self._at = "fitting", self._doing, None
            try:
                self._fit_rows(X, y, weights)
            finally:
                source.doing = None
            source.stage = "measuring"

        fit_in_memory(self, source, fit)

    def _doing(self) -> str:
        at = self._at
        return "" if at is None or at.gap == 1.0 else f"within {at.gap:.1g} of the optimum"

    def _hold(self, coef: np.ndarray, intercept: np.ndarray) -> None:
        state = State(self.multiclass, self.classes_.size, coef.shape[1], bool(self.fit_intercept))
        state.set_weights(coef, intercept)
        self._run = Run(state, Learner(), KeepLast())

    # What is known of a fit.

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts of the binary classifiers."""
        return self.fitted_run().weights()[1]

    def _solved(self, name: str) -> np.ndarray:
        """Return an array of shape (binary classifiers,) of a model that is fitted: objectives or
        bounds, or the number of support vectors, or of those at their bound.
        """
        self.fitted_run()
        return self._solution[name]

    @property
    def objective_(self) -> float:
        """``|w|^2 / 2`` + C times the losses, rounded up, summed over the binary classifiers."""
        return float(self._solved("objectives").sum())

    @property
    def lower_bound_(self) -> float:
        """The dual objective, rounded down and summed; NaN if the kernel proves nothing."""
        bound = float(self._solved("bounds").sum())
        return nan if self._indefinite else bound

    @property
    def duality_gap_(self) -> float:
        """The largest relative distance from the optimum; NaN if the kernel proves nothing."""
        ends = self._solved("objectives").tolist(), self._solved("bounds").tolist()
        return nan if self._indefinite else max(map(relative_gap, *ends))

    @property
    def n_support_(self) -> np.ndarray:
        """Number of support vectors of each binary classifier."""
        return self._solved("support")

    @property
    def n_bounded_(self) -> np.ndarray:
        """The same, of those at their bound; zeros for the squared hinge loss, which has none."""
        return self._solved("bounded")

    @property
    def dual_coef_(self) -> np.ndarray:
        """y_i a_i of the support vectors, shape (binary classifiers, support vectors)."""
        self.fitted_run()
        return self._dual_coef

    @property
    def n_iter_(self) -> int:
        """Number of steps after which the gap was computed, over all binary classifiers."""
        self.fitted_run()
        return max(1, len(self.trace_))

    @property
    def stop_sentence_(self) -> str:
        """Why the fit ended, in one sentence."""
        self.fitted_run()
        near = f"the objective is within {self.duality_gap_:.1g} of the optimum"
        if self._indefinite:
            return "the kernel is not positive semidefinite, so no gap to the optimum is proved"
        if self.stop_reason_ == StopReason.CONVERGED:
            return near
        why: dict[Any, str] = {
            StopReason.EARLY_STOP: "a callback stopped the fit",
            StopReason.INTERRUPTED: "it was interrupted",
            StopReason.MAX_ITER: "the maximum number of passes was reached, or rounding prevents "
            "further progress",
        }
        return f"{why[self.stop_reason_]}; {near}"

    # Files.

    def get_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the fitted state as arrays and plain JSON, of the names in
        :data:`linsep.soft_margins.classifier.STATE`, and the curves of a calibration.
        """
        coef, intercept = self.fitted_run().weights()
        values = self._solution | {
            "coef": coef, "intercept": intercept, "trace": self.trace_, "n_rows": self.n_rows_,
            "classes": described(self.classes_), "stop_reason": self.stop_reason_,
            "accuracy": getattr(self, "training_accuracy_", None),
            "calibration": getattr(getattr(self, "calibration_", None), "method", None),
        }  # fmt: skip
        arrays, facts = state_of(STATE, values)
        return arrays | calibration_arrays(self), facts

    def set_state(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        """Set the state from :meth:`get_state`; raise ValueError if it is inconsistent."""
        k = len(facts["classes"]["values"])
        machines = 1 if k == 2 else k if self.multiclass == "ovr" else k * (k - 1) // 2
        found = restored(STATE, arrays, facts, machines=machines)
        self._solution = {
            name: found[name] for name in ("objectives", "bounds", "support", "bounded")
        }
        numbers = np.array([*self._solution.values()])
        if np.isnan(numbers).any() or (numbers[2:] < 0).any():
            raise ValueError("invalid certificates")
        self.classes_ = found["classes"]
        labels.is_turned(self.reference, self.classes_)  # raises an error for an unknown class
        self._learned_with = self.get_params(deep=False)
        self.n_rows_, self.stop_reason_ = found["n_rows"], found["stop_reason"]
        self._hold(found["coef"], found["intercept"])
        self.trace_, self.training_accuracy_ = found["trace"], found["accuracy"]
        self.n_features_in_ = found["coef"].shape[1]
        if found["calibration"] is not None:
            self.calibration_ = calibration_of(self, arrays, found["calibration"])

    def seed(self) -> int:
        """Return the seed of the order in which rows are visited."""
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
