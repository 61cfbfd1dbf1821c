"""How a logistic regression is fitted: climbed, asked about separation, told of, and kept."""

from copy import copy
from typing import Any

import numpy as np

from linsep.errors import SeparationError, SeparationWarning
from linsep.estimators._common import checking as labels
from linsep.estimators._common.fitted_classes import FittedClasses
from linsep.estimators._logistic.course import Course, Watchers
from linsep.estimators._logistic.profiles import by_firth, with_profiles
from linsep.estimators._logistic.rows import Rows, StreamRows
from linsep.estimators._logistic.separation import (
    FINITE,
    FitOutcome,
    ended,
    refuse_unclimbed,
    separation_sentence,
    settled,
    unchecked,
    unsettled,
    warn_caller,
    widened,
)
from linsep.interrupts import held
from linsep.online.passes import StopReason
from linsep.regression.logistic.fitting import Task, fitted, null_log_likelihood
from linsep.regression.logistic.gradient_ascent import climbed
from linsep.regression.logistic.steps import Steps, Stopped

#: what a fit sets, of the attributes that say what was learnt
LEARNT = (
    "coef_", "intercept_", "limits_", "log_likelihood_", "null_log_likelihood_", "covariance_",
    "n_iter_", "n_rows_", "stop_reason_", "stop_sentence_", "ascent_", "_intervals", "_gained",
    "training_accuracy_", "training_rows_", "training_baseline_", "training_sampled_",
)  # fmt: skip


class LogisticFitting:
    """What :meth:`linsep.LogisticRegression.fit` does once rows and classes are known."""

    solver: str
    l2: float
    penalty: str | None
    on_separation: str
    intervals: str | None
    learning_rate: Any
    schedule: str
    trace: bool
    separation_: Any
    weight_names: Any

    def _fit(self, rows: Rows | StreamRows, given: dict[str, Any]) -> None:
        """Climb, tell callbacks of it, and keep what there is where somebody ends it."""
        with held():
            task = rows.task(self)
            self._begin(rows.known)
            watchers = Watchers(self, given)

            def snapshot() -> dict[str, Any]:
                twin, found = copy(self), course.ended(StopReason.EARLY_STOP)
                assert found is not None
                twin._take(task, found, rows.known)
                return dict(vars(twin))

            course, pressed = Course(self, task, lambda: watchers.iterated(snapshot)), False
            rows.steps = course.steps
            try:
                with labels.features_named(self):
                    found = self._found(task, rows, course.steps)
            except (KeyboardInterrupt, Stopped) as ending:
                pressed = isinstance(ending, KeyboardInterrupt)
                reason = StopReason.INTERRUPTED if pressed else StopReason.EARLY_STOP
                so_far = course.ended(reason)
                if so_far is None:
                    raise
                found = so_far
            self._take(task, found, rows.known)
            self._tell(found)
            if pressed:
                raise KeyboardInterrupt
            watchers.ended(lambda: dict(vars(self)))

    def _begin(self, known: FittedClasses) -> None:
        """Forget an earlier fit: where this one fails there is none."""
        for name in LEARNT:
            self.__dict__.pop(name, None)
        self.classes_, self._order_of_classes = known.classes, known.order
        self.reference_ = self.classes_.tolist()[self._order_of_classes[-1]]
        self.separation_, self.method_ = None, "maximum likelihood"
        if self.l2:
            self.method_ = "penalised likelihood"

    def _found(self, task: Task, rows: Rows | StreamRows, steps: Steps) -> FitOutcome:
        """The weights, and what can be inferred from them."""
        if self.penalty and task.q:
            self.method_ = "Firth"
            return by_firth(self, task, rows, steps)
        found = self._climbed(task, rows, steps)
        if self.intervals == "profile" and task.q:
            return with_profiles(self, task, rows, found, steps)
        return found

    def _climbed(self, task: Task, rows: Rows | StreamRows, steps: Steps) -> FitOutcome:
        """The largest likelihood, penalised by l2 or not, or what it comes to."""
        if self.solver == "gradient_ascent" and task.q:
            rates = self.learning_rate, self.schedule, bool(self.trace)
            fit, self.ascent_ = climbed(task, *rates, steps)
        else:
            fit = fitted(task, steps)
        limits = np.full((task.q, task.width), "finite", dtype="U11")
        limits[:, list(fit.standardization.dependent)] = "dependent"
        if fit.doubted:
            found = settled(task, rows, fit, limits, steps)
            self._say_separable(found, rows.known)
            return found
        return unsettled(fit, limits if fit.proved else unchecked(limits))

    def _say_separable(self, found: FitOutcome, known: FittedClasses) -> None:
        """Keep the verdict; warn, or raise, where there is no maximum."""
        self.separation_ = found.verdict
        if found.reason not in ("separable", "quasi-separable"):
            return
        lost = widened(found, known).limits.ravel().tolist()
        names = dict(zip(self.weight_names(), lost, strict=True))
        said, about = separation_sentence(found.reason, names), {"limits": names}
        if self.on_separation == "raise":
            raise SeparationError(said, *FINITE, verdict=found.verdict, **about)
        warn_caller(SeparationWarning(said, *FINITE, verdict=found.verdict, **about))

    def _take(self, task: Task, found: FitOutcome, known: FittedClasses) -> None:
        """Set the attributes."""
        null = null_log_likelihood(task.totals, task.intercept)
        refuse_unclimbed(found.reason, found.log_likelihood, null)
        d = task.n_features
        fitted_ones = found.weights[:, d] if task.intercept else np.zeros(task.q)
        self.intercept_ = known.intercepts(fitted_ones)
        found = widened(found, known)
        self.coef_ = found.weights[:, :d].copy()
        self._intervals, self._gained = found.intervals, found.gained
        self.limits_, self.log_likelihood_ = found.limits, float(found.log_likelihood)
        self.covariance_ = None if self.l2 else found.covariance
        self.null_log_likelihood_ = null
        self.n_iter_, self.n_rows_ = found.n_iter, task.n_rows
        self.stop_reason_ = found.reason
        self.stop_sentence_, _ = ended(self, found)

    def _tell(self, found: FitOutcome) -> None:
        """Warn of an end that is not at a maximum."""
        _, warning = ended(self, found)
        if warning is not None:
            warn_caller(warning)
