"""Whether rows are those of a run: learning from them once more must make the same mistakes."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.engine.stop import StopReason
from linsep.errors import DataError

#: weights of dense and of sparse rows differ by their rounding
TOLERANCE = 1e-6


def why_not_again(model: Any) -> str | None:
    """Why a run cannot be made once more, as a phrase; None where it can."""
    if model.stop_reason_ == StopReason.INTERRUPTED:
        return "it was interrupted within a pass"
    if model._open_mistakes is not None and model._passes:
        return "rows were learnt by fit and more by partial_fit"
    return None


def refuse_others(model: Any, X: Any, y: Any) -> None:
    """Raise DataError unless learning from X and y gives what the model has learnt.

    Dense and sparse rows are summed in another order, so both forms are tried.
    """
    for rows in (X, other_form(X)):
        again = learnt_again(model, rows, y)
        if same(again, model):
            return
    known, found = (f"{m.mistakes_.sum():,} mistakes in {m.n_iter_:,}" for m in (model, again))
    raise DataError(
        f"X and y are not the rows of the fit: learning from them makes {found} passes and other "
        f"weights, the fit made {known}. Give its rows in their order; bounds are about no others."
    )


def learnt_again(model: Any, X: Any, y: Any) -> Any:
    """Another estimator that learns from X and y as the model did."""
    again = type(model)(**model.get_params(deep=False))
    again.warm_start, again.verbose = False, 0
    if model._open_mistakes is not None:
        return again.partial_fit(X, y, classes=model.classes_)
    again.max_iter, again._given_seed = model.n_iter_, model._run_seed
    return again.fit(X, y)


def other_form(X: Any) -> Any:
    """Sparse rows as dense ones, and dense as sparse."""
    return X.toarray() if sp.issparse(X) else sp.csr_matrix(X)


def same(one: Any, other: Any) -> bool:
    """Whether both made the same mistakes, and have the same weights but for rounding."""
    if not np.array_equal(one.mistakes_, other.mistakes_):
        return False
    W, V = (model._state.W.reshape(len(model._state.W), -1) for model in (one, other))
    n = min(len(W), len(V)) - 1
    scale = max(np.abs(V).max(), np.finfo(float).tiny)
    used = [np.vstack([A[:n], A[-1:]])[:, : other._state.n_columns] / scale for A in (W, V)]
    rest = np.abs(W[n:-1]).max(initial=0.0) / scale
    return bool(np.abs(used[0] - used[1]).max() <= TOLERANCE and rest <= TOLERANCE)
