"""Fit a logistic regression: maximise, check for separation, warn, and set the attributes."""

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from linsep.checkpoints.saving import Saving
from linsep.errors import Hint, SeparationError, SeparationWarning
from linsep.estimators._common import checking as labels
from linsep.estimators._common.fitted_classes import FittedClasses
from linsep.estimators._common.stop_reasons import StopReason
from linsep.estimators._logistic.fit_progress import Callbacks, FitProgress
from linsep.estimators._logistic.profiles import by_firth, with_profiles
from linsep.estimators._logistic.rows import BatchRows, Rows
from linsep.estimators._logistic.separation import (
    BY_L2,
    FINITE,
    SEPARATED,
    FitOutcome,
    ending_of,
    outcome_of,
    outcome_of_suspect,
    refuse_no_progress,
    separation_sentence,
    warn_caller,
    widened,
    without_proof,
)
from linsep.interrupts import held
from linsep.parallel import one_blas_thread
from linsep.regression.logistic.fitting import Task, fitted, null_log_likelihood
from linsep.regression.logistic.gradient_ascent import climbed
from linsep.regression.logistic.steps import Steps, Stopped
from linsep.regression.summary import OPPOSITE

#: attributes that a fit sets
LEARNT = (
    "coef_", "intercept_", "_centred", "limits_", "log_likelihood_", "null_log_likelihood_",
    "covariance_", "n_iter_", "n_rows_", "stop_reason_", "stop_sentence_", "ascent_", "_intervals",
    "_gained", "_total_weight", "training_accuracy_", "training_rows_", "training_baseline_",
    "training_sampled_",
)  # fmt: skip


class LogisticFitting:
    """The part of :meth:`linsep.LogisticRegression.fit` after rows and classes are checked."""

    solver: str
    l2: float
    penalty: str | None
    on_separation: str
    intervals: str | None
    learning_rate: Any
    schedule: str
    trace: bool
    separation_: Any
    get_params: Any
    _words_and_signs: Any
    _keep_centred: Any

    def _fit(
        self, rows: Rows | BatchRows, given: dict[str, Any], saving: Saving | None = None
    ) -> None:
        """Maximise the likelihood, call callbacks, and keep the weights so far if stopped early."""
        with held(), one_blas_thread:
            task = rows.task(self)
            if saving is not None:
                task, saving.rows_per_pass = replace(task, journal=saving.journal), task.n_rows
            self._begin(rows.known)
            callbacks = Callbacks(self, given)

            def snapshot() -> dict[str, Any]:
                model, found = copy(self), progress.outcome(StopReason.EARLY_STOP)
                assert found is not None
                model._set_attributes(task, found, rows.known)
                return dict(vars(model))

            progress = FitProgress(self, task, lambda: callbacks.iterated(snapshot))
            rows.steps, interrupted = progress.steps, False
            try:
                with labels.features_named(self):
                    found = self._found(task, rows, progress.steps)
            except (KeyboardInterrupt, Stopped) as ending:
                interrupted = isinstance(ending, KeyboardInterrupt)
                reason = StopReason.INTERRUPTED if interrupted else StopReason.EARLY_STOP
                so_far = progress.outcome(reason)
                if so_far is None:
                    raise
                found = so_far
            self._set_attributes(task, found, rows.known)
            self._warn_unfinished(found)
            if interrupted:
                raise KeyboardInterrupt
            callbacks.ended(lambda: dict(vars(self)))

    def _begin(self, known: FittedClasses) -> None:
        """Delete the attributes of an earlier fit, in case this one fails."""
        for name in LEARNT:
            self.__dict__.pop(name, None)
        self._learnt_with = self.get_params(deep=False)
        self.classes_, self._order_of_classes = known.classes, known.order
        self.reference_ = self.classes_.tolist()[self._order_of_classes[-1]]
        self.separation_, self.method_ = None, "maximum likelihood"
        if self.l2:
            self.method_ = "penalised likelihood"

    def _found(self, task: Task, rows: Rows | BatchRows, steps: Steps) -> FitOutcome:
        """Return the fitted weights with their covariance or intervals."""
        if self.penalty and task.q:
            self.method_ = "Firth"
            return by_firth(self, task, rows, steps)
        found = self._maximised(task, rows, steps)
        if self.intervals == "profile" and task.q:
            return with_profiles(self, task, rows, found, steps)
        return found

    def _maximised(self, task: Task, rows: Rows | BatchRows, steps: Steps) -> FitOutcome:
        """Maximise the (penalised) likelihood, or find its limit if there is no maximum."""
        if self.solver == "gradient_ascent" and task.q:
            rates = self.learning_rate, self.schedule, bool(self.trace)
            fit, self.ascent_ = climbed(task, *rates, steps)
        else:
            fit = fitted(task, steps)
        limits = np.full((task.q, task.width), "finite", dtype="U11")
        limits[:, list(fit.standardization.dependent)] = "dependent"
        if fit.suspect:
            found = outcome_of_suspect(task, rows, fit, limits, steps)
            self._warn_separable(found, rows.known, FINITE if task.factored else (BY_L2,))
            return found
        return outcome_of(fit, limits) if fit.proved else without_proof(fit, limits)

    def _warn_separable(
        self, found: FitOutcome, known: FittedClasses, hints: tuple[Hint, ...]
    ) -> None:
        """Keep the verdict; warn or raise if there is no maximum."""
        self.separation_ = found.verdict
        if found.reason not in SEPARATED:
            return
        lost = widened(found, known).limits.ravel().tolist()
        words, signs = self._words_and_signs()
        names = {
            name: OPPOSITE.get(word, word) if sign < 0 else word
            for name, word, sign in zip(words, lost, signs, strict=True)
        }
        message, about = separation_sentence(found.reason, names), {"limits": names}
        if self.on_separation == "raise":
            raise SeparationError(message, *hints, verdict=found.verdict, **about)
        warn_caller(SeparationWarning(message, *hints, verdict=found.verdict, **about))

    def _set_attributes(self, task: Task, found: FitOutcome, known: FittedClasses) -> None:
        """Set the fitted attributes."""
        null = null_log_likelihood(task.totals, task.intercept)
        refuse_no_progress(found.reason, found.log_likelihood, null)
        d = task.n_features
        fitted_ones = found.weights[:, d] if task.intercept else np.zeros(task.q)
        self.intercept_ = known.intercepts(fitted_ones)
        centre, at = found.around or (None, fitted_ones)
        found = widened(found, known)
        self.coef_ = found.weights[:, :d].copy()
        self._keep_centred(centre, known.intercepts(at))
        self._intervals, self._gained = found.intervals, found.gained
        self.limits_, self.log_likelihood_ = found.limits, float(found.log_likelihood)
        self.covariance_ = None if self.l2 else found.covariance
        self.null_log_likelihood_ = null
        self.n_iter_, self.n_rows_ = found.n_iter, task.n_rows
        self._total_weight = float(task.totals.sum())
        self.stop_reason_ = found.reason
        self.stop_sentence_, _ = ending_of(self, found)

    def _warn_unfinished(self, found: FitOutcome) -> None:
        """Warn if the fit did not end at a maximum."""
        _, warning = ending_of(self, found)
        if warning is not None:
            warn_caller(warning)
