"""Progress of a logistic regression fit, and its outcome if it is stopped early.

Ctrl-C or a callback stops it.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from linsep.estimators._common.stop_reasons import StopReason
from linsep.estimators._logistic.separation import FitOutcome, outcome_of, unchecked
from linsep.interrupts import window
from linsep.regression.logistic.fitting import Task
from linsep.regression.logistic.profiles import FirthFit, ends_of
from linsep.regression.logistic.steps import SoFar, Steps, Stopped


class FitProgress:
    """Progress of a fit.

    Parameters
    ----------
    model : LogisticRegression
    task : Task
    after_step : function without arguments, called after each step

    Attributes
    ----------
    steps : Steps
    """

    def __init__(self, model: Any, task: Task, after_step: Callable[[], None]) -> None:
        self.model, self.task, self.steps = model, task, Steps(after_step)

    def outcome(self, reason: StopReason) -> FitOutcome | None:
        """Return the result of a fit stopped now; None before the first step."""
        if self.steps.finished is not None:
            return self._without_intervals()
        if self.steps.suspect is not None:
            fit, limits = self.steps.suspect
            found = outcome_of(fit, unchecked(limits))
            return replace(found, covariance=None, reason=reason, stopped_in="verdict")
        if self.steps.so_far is None:
            return None
        return self._maximised(self.steps.so_far, reason)

    def _maximised(self, so_far: SoFar, reason: StopReason) -> FitOutcome:
        """Return the weights so far, without inference."""
        limits = np.full(so_far.weights.shape, "finite", dtype="U11")
        limits[:, list(so_far.dependent)] = "dependent"
        sure = self.model.l2 or self.model.penalty
        return FitOutcome(
            so_far.weights, limits if sure else unchecked(limits), so_far.log_likelihood, None,
            reason, so_far.n_iter, distance=so_far.distance, stopped_in="ascent",
            around=so_far.around,
        )  # fmt: skip

    def _without_intervals(self) -> FitOutcome:
        """Return the finished fit with the intervals computed so far."""
        found: Any = self.steps.finished
        if isinstance(found, FirthFit):
            found = firth_outcome(found)
        ends = ends_of(self.steps, found.weights.shape)
        return replace(found, intervals={self.model.level: ends}, stopped_in="intervals")


def firth_outcome(fit: FirthFit) -> FitOutcome:
    """Return Firth's estimates as an outcome, without intervals."""
    limits = np.full(fit.weights.shape, "finite", dtype="U11")
    limits[:, list(fit.dependent)] = "dependent"
    return FitOutcome(
        fit.weights, limits, fit.log_likelihood, fit.covariance, fit.reason, fit.n_iter,
        gained=fit.gained, around=fit.around,
    )  # fmt: skip


class Callbacks:
    """scikit-learn's callbacks of one fit: a task for the fit and one for each iteration.

    Parameters
    ----------
    model : LogisticRegression
    known : other arguments of the hooks: X, y and metadata
    """

    def __init__(self, model: Any, known: dict[str, Any]) -> None:
        self.model, self.known = model, {"estimator": model} | known
        # the number of iterations is unknown, and max_iter alone does not bound it
        self.root = model._init_callback_context(max_subtasks=None)
        with window():
            self.root.call_on_fit_task_begin(**self.known)

    def iterated(self, snapshot: Callable[[], dict[str, Any]]) -> None:
        """Report one iteration; raise Stopped if a callback asks to stop."""
        task = self.root.subcontext(task_name="iteration")
        with window():
            task.call_on_fit_task_begin(**self.known)
            if task.call_on_fit_task_end(**self.known, reconstruction_attributes=snapshot):
                raise Stopped

    def ended(self, snapshot: Callable[[], dict[str, Any]]) -> None:
        """Report the end of the fit."""
        self.root.call_on_fit_task_end(**self.known, reconstruction_attributes=snapshot)
