"""Linear regression in a model file: weights and everything for inference."""

from typing import Any

import numpy as np

from linsep.estimators._common.stop_reasons import StopReason
from linsep.estimators._common.stored import count, finite
from linsep.linear.result import LeastSquares

NORMS = ("residual_norm", "y_norm", "explained_norm")
NUMBERS = ("intercept", "mean_y", *NORMS, "total_weight", "log_weights")
FLAGS = ("perfect", "fit_intercept")


def contents(model: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the arrays of a fitted regression, and the rest as plain JSON."""
    fit = model._fitted
    out, d = sorted(fit.combinations), fit.coef.size
    arrays = {
        "coef": fit.coef,
        "kept": fit.kept,
        "root": fit.root,
        "means": fit.means,
        "means_rest": fit.means_rest,
        "spread": fit.spread,
        "out": np.array(out, dtype=np.int64),
        "combinations": np.array([fit.combinations[j] for j in out]).reshape(len(out), 1 + d),
    }
    numbers = {name: getattr(fit, name) for name in (*NUMBERS, *FLAGS, "n_rows", "method")}
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}, {
        "fit": numbers,
        "two_values": model._two_values,
        "target": getattr(model, "_target", None),
        "interrupted": hasattr(model, "stop_reason_"),
    }


def rebuild(model: Any, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> int:
    """Set the fitted attributes of ``model`` and return its number of features."""
    numbers, kept, two = about["fit"], arrays["kept"], about["two_values"]
    d = arrays["coef"].size
    rank = int(kept.sum()) + bool(numbers["fit_intercept"])
    if kept.shape != (d,) or kept.dtype != bool:
        raise ValueError(f"kept of {kept.dtype} {kept.shape}")
    if not all(isinstance(numbers[name], float | int) for name in NUMBERS):
        raise ValueError("an invalid number")
    out = np.flatnonzero(~kept)
    if arrays["out"].tolist() != out.tolist():
        raise ValueError("combinations of other features")
    parts = finite(arrays, "combinations", (out.size, 1 + d))
    model._fitted = LeastSquares(
        coef=finite(arrays, "coef", (d,)),
        kept=kept,
        root=finite(arrays, "root", (rank, 1 + d)),
        means=finite(arrays, "means", (d,)),
        means_rest=finite(arrays, "means_rest", (1 + d,)),
        spread=finite(arrays, "spread", (d,)),
        combinations=dict(zip(out.tolist(), parts, strict=True)),
        **dict[str, Any]({name: float(numbers[name]) for name in NUMBERS}),
        perfect=numbers["perfect"] is True,
        fit_intercept=numbers["fit_intercept"] is True,
        n_rows=count(numbers["n_rows"], 1),
        method=str(numbers["method"] if "method" in numbers else numbers["way"]),  # older name
    )
    model._two_values = None if two is None else (float(two[0]), float(two[1]))
    model._target = None if about.get("target") is None else str(about["target"])
    if about["interrupted"] is True:
        model.stop_reason_ = StopReason.INTERRUPTED
    model.coef_, model.intercept_ = model._fitted.coef, model._fitted.intercept
    model._learnt_with = model.get_params(deep=False)
    return d
