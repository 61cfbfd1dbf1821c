"""Proofs about a fit: mistake bounds, and an upper bound on the margin of separators."""

from copy import copy
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.checkpoints.saving import Saving
from linsep.errors import DataError, ParameterError
from linsep.estimators._common import labels
from linsep.estimators._common.stop_reasons import StopReason
from linsep.learners.keeping import KeepLast
from linsep.validation.labels import check_beside
from linsep.validation.values import check_columns

#: relative error of norms of weights, beside 2^-50 for each update
ROUNDING = 1e-9
#: an update that underflows loses less than this of a weight
LOST = 2.0**-1000


def report_of(model: Any) -> Any:
    """Return :attr:`report_` of a fitted linear classifier."""
    from linsep.mistake_bounds.bounds import Bound, Bounds

    model.fitted_run()
    widest, why = widest_margin(in_its_fit(model))
    interval = getattr(model, "margin_interval_", None)
    return Bounds(
        () if widest is None else (
            Bound("||w||/M", widest, "margin", type(model).__name__,
                  "A. Novikoff, On convergence proofs for perceptrons (1962)"),
        ),
        {} if widest is not None else {"||w||/M": why},
        margin=None if interval is None else (interval[0] or 0.0, interval[1]),
        mistakes=int(model.mistakes_.sum()),
        passes=model.n_iter_,
    )  # fmt: skip


def bounds_of(model: Any, X: Any, y: Any, literals: int | None, majority: int) -> Any:
    """Return the mistake bounds of a fitted linear classifier on its rows."""
    from linsep.mistake_bounds.bounds import Bounds
    from linsep.mistake_bounds.theorems import Case, obstacle_of

    run = model.fitted_run()
    check_literals(literals, majority)
    given, (X, codes) = model.features_of(X), same_data(model, X, y)
    fit, report = in_its_fit(model), report_of(model)
    why = obstacle_of(fit) or why_not_again(model)
    if why is not None:
        return Bounds((), {"mistake bounds": why}, mistakes=report.mistakes)
    refuse_others(fit, given, y)
    return Case(
        fit, X, codes, len(model.classes_), run.state.multiclass, fit.learns_intercept, report,
        int(fit._counted_updates()), literals, majority,
    ).bounds()  # fmt: skip


def check_literals(literals: Any, majority: Any = 1) -> None:
    """Raise ValueError unless both are whole and 1 <= ``majority`` <= ``literals``, or None."""
    for name, value in (("literals", 1 if literals is None else literals), ("majority", majority)):
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not (whole and value >= 1):
            raise ParameterError(
                f"{name} is {value!r}: it must be a whole number of at least 1.",
                code="bad-option", option=name, value=value,
            )  # fmt: skip
    if majority > (literals or 1):
        raise ParameterError(
            f"majority is {majority}, but literals {literals}: literals must be at least majority.",
            code="bad-option", option="majority", value=majority,
        )  # fmt: skip


def in_its_fit(model: Any) -> Any:
    """Return a shallow copy of a model with the parameters of its fit."""
    then = copy(model)
    for name, value in model._learned_with.items():
        setattr(then, name, value)
    return then


def runs_otherwise(model: Any) -> bool:
    """Return whether proofs of the fit do not hold for a run with the current parameters."""
    from linsep.mistake_bounds.theorems import PREMISES

    if not hasattr(model, "bounds"):
        return False
    then = in_its_fit(model)
    return any(getattr(model, name, None) != getattr(then, name, None) for name in PREMISES)


def widest_margin(model: Any) -> tuple[float | None, str]:
    """Return ||w||/M, an upper bound on every separator's margin, or why it is not known.

    For any separator u of length 1, every update adds at least the rate times the margin to <w, u>
    <= ||w||. With several binary classifiers, the smallest margin is at most the sum of the lengths
    over the sum of the mistakes.
    """
    from linsep.mistake_bounds.bounds import length

    run = model.fitted_run()
    why = run.obstacle()
    if why is not None:
        return None, why
    total = model._total_rate()
    if total is None:
        return None, "it applies to learners that add examples at a constant rate"
    held_out = model.early_stopping and run.trial is None
    stopped_early = held_out and model.stop_reason_ != StopReason.CONVERGED
    if stopped_early and not model.counts_rates:
        return None, "weights of an earlier pass were restored"
    if not total:
        return None, "no mistake was made"
    state = run.state
    machines, mistakes = state.machines(), float(model.mistakes_.sum())
    long = sum(map(length, machines))
    if long < mistakes * sum(weights.size for weights in machines) * LOST:
        return None, "updates are so small that they may have been rounded to zero"
    return long / total * (1 + ROUNDING + mistakes * 2.0**-50), ""


def same_data(model: Any, X: Any, y: Any) -> tuple[Any, np.ndarray]:
    """Return rows and label codes; raise DataError if shapes or labels are not the fit's."""
    from linsep.mistake_bounds.margins import checked_rows

    if hasattr(X, "batches"):
        raise DataError(
            "Bounds need arrays: read the source into memory first.", code="unsupported"
        )
    given, features, width = X, model.features_of(X), model.fitted_run().state.n_features
    X, y = checked_rows(features), np.asarray(y)
    if X.shape[1] != width or y.shape != (X.shape[0],):
        raise DataError(
            f"X of shape {X.shape} and y of shape {y.shape} do not match the fit, which "
            f"needs {width} features and one label per row.",
            code="shape",
        )
    if features is given:
        check_columns(model, given)
    codes = labels.encode_with(y, model.classes_)
    if codes is None:
        unknown = labels.unknown_labels(y, model.classes_)
        raise DataError(
            f"y has labels that are not classes of the model: {unknown}.", code="unknown-label"
        )
    return X, model.codes_turned(codes)


#: weights learned from dense and from sparse rows differ by rounding
TOLERANCE = 1e-6


def why_not_again(model: Any) -> str | None:
    """Return why a fit cannot be repeated, or None if it can."""
    if model.stop_reason_ == StopReason.INTERRUPTED:
        return "it was interrupted within a pass"
    if model._run.open_mistakes is not None and model._run.reports:
        return "rows were used by fit and more by partial_fit"
    run = model._run
    if run.trial is None and type(run.keeping) is not KeepLast and run.scored:
        return "it ended while rows were held out"
    return None


def refuse_others(model: Any, X: Any, y: Any) -> None:
    """Raise DataError unless fitting X and y again gives the same mistakes and weights, up to
    rounding.

    Dense and sparse rows are summed in different orders, so both are tried.
    """
    run, saving = model.fitted_run(), Saving()
    saving.seed = run.seed
    check_beside(X, y=y)
    for rows in (X, X.toarray() if sp.issparse(X) else sp.csr_matrix(X)):
        again = type(model)(**model.get_params(deep=False))
        again.warm_start, again.verbose = False, 0
        if run.open_mistakes is not None:
            again.partial_fit(rows, y, classes=model.classes_)
        else:
            again.max_iter = model.n_iter_
            if run.trial is not None:  # then all rows were learned
                again.early_stopping = False
            again.fit_rows(rows, y, saving=saving)
        W, V = (np.column_stack(state.split(state.W)) for state in (again._run.state, run.state))
        scale = max(np.abs(V).max(), np.finfo(float).tiny)
        same = np.array_equal(again.mistakes_, model.mistakes_) and W.shape == V.shape
        if same and np.abs(W - V).max() <= TOLERANCE * scale:
            return
    known, found = (f"{m.mistakes_.sum():,} mistakes in {m.n_iter_:,}" for m in (model, again))
    raise DataError(
        f"X and y are not the training rows: a fit to them makes {found} passes and other "
        f"weights, but the fit made {known}. Pass the training rows in their order; the bounds "
        f"need them.",
        code="other-rows",
    )
