"""How far the fit of a logistic regression has come, and what it is where it is ended there.

Ctrl-C ends it, or a callback that asks to.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from linsep.estimators._logistic.separation import FitOutcome, unchecked, unsettled
from linsep.interrupts import window
from linsep.online.passes import StopReason
from linsep.regression.logistic.fitting import Task
from linsep.regression.logistic.profiles import FirthFit, ends_of
from linsep.regression.logistic.steps import SoFar, Steps, Stopped


class Course:
    """The course of a fit.

    Parameters
    ----------
    model : LogisticRegression
    task : Task
    look : function without arguments, called after each step of a climb

    Attributes
    ----------
    steps : Steps
        ``asked`` is a fit with its limits, ``ended`` a result without intervals.
    """

    def __init__(self, model: Any, task: Task, look: Callable[[], None]) -> None:
        self.model, self.task, self.steps = model, task, Steps(look)

    def ended(self, reason: StopReason) -> FitOutcome | None:
        """The result where the fit is ended now; None before the first step."""
        if self.steps.ended is not None:
            return self._without_intervals()
        if self.steps.asked is not None:
            fit, limits = self.steps.asked
            found = unsettled(fit, unchecked(limits))
            return replace(found, covariance=None, reason=reason, broken_off="question")
        if self.steps.so_far is None:
            return None
        return self._climbed(self.steps.so_far, reason)

    def _climbed(self, so_far: SoFar, reason: StopReason) -> FitOutcome:
        """The weights so far, of which nothing can be inferred."""
        limits = np.full(so_far.weights.shape, "finite", dtype="U11")
        limits[:, list(so_far.dependent)] = "dependent"
        sure = self.model.l2 or self.model.penalty
        return FitOutcome(
            so_far.weights, limits if sure else unchecked(limits), so_far.log_likelihood, None,
            reason, so_far.n_iter, distance=so_far.distance, broken_off="climb",
        )  # fmt: skip

    def _without_intervals(self) -> FitOutcome:
        """The whole result with those intervals that there are."""
        found: Any = self.steps.ended
        if isinstance(found, FirthFit):
            found = firth_outcome(found)
        ends = ends_of(self.steps, found.weights.shape)
        return replace(found, intervals={self.model.level: ends}, broken_off="intervals")


def firth_outcome(fit: FirthFit) -> FitOutcome:
    """Firth's estimates as a result, the intervals left out."""
    limits = np.full(fit.weights.shape, "finite", dtype="U11")
    limits[:, list(fit.dependent)] = "dependent"
    return FitOutcome(
        fit.weights, limits, fit.log_likelihood, fit.covariance, fit.reason, fit.n_iter,
        gained=fit.gained,
    )  # fmt: skip


class Watchers:
    """scikit-learn's callbacks of one fit: a task for it, and one for each iteration.

    Parameters
    ----------
    model : LogisticRegression
    known : what hooks may ask for beside it: X, y and metadata
    """

    def __init__(self, model: Any, known: dict[str, Any]) -> None:
        self.model, self.known = model, {"estimator": model} | known
        # how many iterations there will be is not known, nor bounded by max_iter alone
        self.root = model._init_callback_context(max_subtasks=None)
        with window():
            self.root.call_on_fit_task_begin(**self.known)

    def iterated(self, snapshot: Callable[[], dict[str, Any]]) -> None:
        """Tell of one iteration; raises Stopped where a callback asks to stop."""
        task = self.root.subcontext(task_name="iteration")
        with window():
            task.call_on_fit_task_begin(**self.known)
            if task.call_on_fit_task_end(**self.known, reconstruction_attributes=snapshot):
                raise Stopped

    def ended(self, snapshot: Callable[[], dict[str, Any]]) -> None:
        """Tell of the end of the fit."""
        self.root.call_on_fit_task_end(**self.known, reconstruction_attributes=snapshot)
