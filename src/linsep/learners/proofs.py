"""Proofs about a fit: mistake bounds, and an upper bound on the margin of separators."""

from copy import copy
from math import inf
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.errors import DataError, refuse
from linsep.estimators.reading import StopReason
from linsep.learners.state import KeepLast
from linsep.parameters import Parameter
from linsep.validation.checks import check_beside

#: relative error of norms of weights, beside 2^-50 for each update
ROUNDING = 1e-9
#: smaller updates may be rounded to zero
SMALLEST = 1e-100
#: weights learned from dense and from sparse rows differ by rounding
TOLERANCE = 1e-6


def report_of(model: Any) -> Any:
    """Return :attr:`report_` of a fitted linear classifier.

    For any separator u of length 1, every update adds at least the rate times the margin to <w, u>
    <= ||w||. With several binary classifiers, the smallest margin is at most the sum of the lengths
    over the sum of the mistakes.
    """
    from linsep.mistake_bounds.bounds import Bound, Bounds, length

    run, fit = model.fitted_run(), in_its_fit(model)
    rate, mistakes, known = fit.learner().constant_rate, int(model.mistakes_.sum()), list[Bound]()
    total = counted_of(run) or 0.0
    if rate is not None:  # the batch rule adds all mistakes of a pass; shards count their share
        mixed = run.mixture
        total = rate * (mistakes if mixed is None else (mixed.shares * mixed.mistakes).sum())
    held_out = fit.early_stopping and run.trial is None and "total" not in run.state.counts
    restored = held_out and model.stop_reason_ != StopReason.CONVERGED
    why = run.obstacle()
    if why is None and (restored or total <= mistakes * SMALLEST):
        why = "it needs examples added at a constant rate, and weights that were not restored"
    if why is None:
        rounded = 1 + ROUNDING + mistakes * 2.0**-50
        widest = sum(map(length, run.state.machines())) / total * rounded
        source = "A. Novikoff, On convergence proofs for perceptrons (1962)"
        known.append(Bound("||w||/M", widest, "margin", type(model).__name__, source))
    interval = getattr(model, "margin_interval_", None)
    return Bounds(
        tuple(known), {} if known else {"||w||/M": why},
        margin=None if interval is None else (interval[0] or 0.0, interval[1]),
        mistakes=mistakes, passes=model.n_iter_,
    )  # fmt: skip


def bounds_of(model: Any, X: Any, y: Any, literals: int | None, majority: int) -> Any:
    """Return the mistake bounds of a fitted linear classifier on its rows."""
    from linsep.mistake_bounds.bounds import Bounds
    from linsep.mistake_bounds.theorems import Case, obstacle_of

    run, features = model.fitted_run(), model.features_of(X)
    check_literals(literals, majority)
    arrays = "Bounds need arrays: read the source into memory first."
    refuse(DataError, (hasattr(X, "batches"), arrays, "unsupported", None))
    check_beside(X, y=y)
    fit, report = in_its_fit(model), report_of(model)
    if features is not X:  # arrays, which have no names
        vars(fit).pop("feature_names_in_", None)
    _, y = fit.checked_rows(features, y, run.learner, reset=False, checked=True)
    _, codes, _ = fit._labeled_so_far(y, None, None)
    why = obstacle_of(fit) or why_not_again(model)
    if why is not None:
        return Bounds((), {"mistake bounds": why}, mistakes=report.mistakes)
    _refuse_others(fit, features, y)
    return Case(
        fit, features, codes, len(model.classes_), run.state.multiclass, fit.learns_intercept,
        report, int(counted_of(run) or run.state.n_updates), literals, majority,
    ).bounds()  # fmt: skip


def counted_of(run: Any) -> float | None:
    """Return the sum of the weights of the updates of a run with rate 1; None if not counted."""
    total = run.state.counts.get("total")
    return None if total is None else float(total.sum())


def check_literals(literals: Any, majority: Any = 1) -> None:
    """Raise ValueError unless both are whole and 1 <= ``majority`` <= ``literals``, or None."""
    for name, value, also, most in (
        ("literals", literals, (None,), inf), ("majority", majority, (), literals or 1),
    ):  # fmt: skip
        Parameter(name=name, kind=int, at_least=1, at_most=most, also=also).check(value)


def in_its_fit(model: Any) -> Any:
    """Return a shallow copy of a model with the parameters of its fit."""
    then = copy(model)
    vars(then).update(model._learned_with)
    return then


def runs_otherwise(model: Any) -> bool:
    """Return whether proofs of the fit do not hold for a run with the current parameters."""
    from linsep.mistake_bounds.theorems import PREMISES

    then, now = model._learned_with, vars(model)
    return hasattr(model, "bounds") and any(then.get(k) != now.get(k) for k in PREMISES)


def why_not_again(model: Any) -> str | None:
    """Return why a fit cannot be repeated, or None if it can."""
    run = model.fitted_run()
    held_out = run.trial is None and type(run.keeping) is not KeepLast and run.scored
    more = run.open_mistakes is not None and run.reports
    if model.stop_reason_ == StopReason.INTERRUPTED or more or held_out:
        return "it was interrupted, rows were held out, or partial_fit used more of them"
    return None


def _refuse_others(model: Any, X: Any, y: Any) -> None:
    """Raise DataError unless fitting X and y again gives the same mistakes and weights."""
    run = model.fitted_run()  # dense and sparse rows are summed in different orders
    for rows in (X, X.toarray() if sp.issparse(X) else sp.csr_matrix(X)):
        again = type(model)(**model.get_params(deep=False))
        if run.open_mistakes is not None:
            again.partial_fit(rows, y, classes=model.classes_)
        else:  # after a trial all rows were learned
            again.max_iter = model.n_iter_
            again.early_stopping = model.early_stopping and run.trial is None
            again.fit_rows(rows, y, seed=run.seed)
        W, V = (np.column_stack(state.split(state.W)) for state in (again._run.state, run.state))
        same = np.array_equal(again.mistakes_, model.mistakes_) and W.shape == V.shape
        if same and np.abs(W - V).max() <= TOLERANCE * np.abs(V).max():
            return
    known, found = (f"{m.mistakes_.sum():,} mistakes in {m.n_iter_:,}" for m in (model, again))
    raise DataError(
        f"X and y are not the training rows: a fit to them makes {found} passes and other "
        f"weights, but the fit made {known}. Pass the training rows in their order; the bounds "
        "need them.", code="other-rows",
    )  # fmt: skip
