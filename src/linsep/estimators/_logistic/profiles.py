"""Firth's estimates and profile intervals of a logistic regression."""

from dataclasses import replace
from typing import Any

import numpy as np

from linsep.errors import ParameterError, hint
from linsep.estimators._logistic.fit_progress import firth_outcome
from linsep.estimators._logistic.rows import BatchRows, Rows
from linsep.estimators._logistic.separation import FitOutcome
from linsep.regression.logistic.fitting import MOST_WEIGHTS, Task
from linsep.regression.logistic.profiles import firth_fitted, profiled
from linsep.regression.logistic.steps import Steps

#: reasons of fits that reached a maximum, or the limit of a likelihood without one
FINISHED = ("converged", "separable", "quasi-separable")


def refuse_together(model: Any) -> None:
    """Raise ParameterError for incompatible parameters."""
    if model.on_separation == "firth":
        raise ParameterError(
            "Firth's penalty for separable data only biases the estimates; its estimates are "
            "always finite", hint("take {}", penalty="firth"),
        )  # fmt: skip
    if model.penalty and model.l2:
        raise ParameterError("Firth's penalty and l2 exclude each other", "leave one of them out")
    if model.penalty and model.solver != "newton":
        raise ParameterError(
            "Firth's penalised likelihood is maximised by Newton's method only",
            hint("take {}", solver="newton"),
        )
    if model.intervals and model.l2:
        raise ParameterError(
            "Standard errors, tests and intervals are not known with l2", "leave l2 out",
            hint("leave {} out", intervals=None),
        )  # fmt: skip


def by_profile(model: Any) -> bool:
    """Return whether intervals and tests come from profile likelihoods."""
    return model.intervals == "profile" or bool(model.penalty and model.intervals is None)


def _in_memory(model: Any, task: Task, rows: Rows | BatchRows) -> Task:
    """Return the task with its rows in memory; raise ParameterError if they do not fit."""
    kept = rows.in_memory(task) if task.factored else None
    if kept is None:
        what = "Firth's penalised likelihood is" if model.penalty else "Profile intervals are"
        instead = (
            hint("take {} instead", l2=None) if model.penalty else hint("take {}", intervals="wald")
        )
        raise ParameterError(
            f"{what} for rows that fit in memory and at most {MOST_WEIGHTS:,} weights, and these "
            f"are {task.n_rows:,} rows and {task.q * task.width:,} weights",
            instead,
        )
    return task if kept is rows else kept.task(model)


def by_firth(model: Any, task: Task, rows: Rows | BatchRows, steps: Steps) -> FitOutcome:
    """Maximise Firth's penalised likelihood, which always has a maximum."""
    profiles = by_profile(model)
    fit = firth_fitted(_in_memory(model, task, rows), model.level if profiles else None, steps)
    found = firth_outcome(fit)
    return found if fit.ends is None else replace(found, intervals={model.level: fit.ends})


def with_profiles(
    model: Any, task: Task, rows: Rows | BatchRows, found: FitOutcome, steps: Steps
) -> FitOutcome:
    """Add profile intervals and tests to an outcome, NaN if the fit did not end at a maximum."""
    steps.finished = found
    known = _in_memory(model, task, rows)
    ends = tuple(np.full(found.weights.shape, np.nan) for _ in range(3))
    if found.reason in FINISHED and found.at_limit:
        ends = profiled(
            known, found.weights, found.limits, found.log_likelihood, model.level, steps,
            found.around,
        )  # fmt: skip
    return replace(found, intervals={model.level: ends})
