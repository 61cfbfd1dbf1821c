"""Naive Bayes in a model file: class probabilities, means and variances."""

from typing import Any

import numpy as np

from linsep.estimators._common.stop_reasons import StopReason
from linsep.estimators._common.stored import classes_of, count, described, finite


def contents(model: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the arrays of a fitted classifier, and the rest as plain JSON."""
    arrays = {"priors": model.priors_, "means": model.means_, "variances": model.variances_}
    arrays["means_rest"] = model._means_rest
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}, {
        "classes": described(model.classes_),
        "n_rows": int(model.n_rows_),
        "pairs": True,
        "interrupted": hasattr(model, "stop_reason_"),
    }


def rebuild(model: Any, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> int:
    """Set the fitted attributes of ``model`` and return its number of features."""
    model.classes_ = classes_of(**about["classes"])
    k, d = model.classes_.size, arrays["variances"].size
    model.priors_, model.means_ = finite(arrays, "priors", (k,)), finite(arrays, "means", (k, d))
    model._means_rest = np.zeros((k, d))
    if "pairs" in about:  # earlier versions wrote means without their rounding errors
        model._means_rest = finite(arrays, "means_rest", (k, d))
    model.variances_, model.n_rows_ = finite(arrays, "variances", (d,)), count(about["n_rows"])
    if not (model.priors_ >= 0).all() or (model.variances_ < 0).any():
        raise ValueError("invalid class probabilities or variances")
    if about["interrupted"] is True:
        model.stop_reason_ = StopReason.INTERRUPTED
    return d
